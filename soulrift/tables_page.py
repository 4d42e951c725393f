"""`soulrift report`: what tables tell, as one page that holds everything it shows, to read, to print and to publish."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from replays.files import written
from replays.writing import WRITER
from soulrift.terminal import Output, bar, spelled_out

try:
    import duckdb
    import scipy

    from projections.analytics.asking import connect, why
    from projections.analytics.folder import Folder, Manifest, TablesError, UnreadableError
    from projections.analytics.named import named
    from simulation.study import CONFIDENCE
    from soulrift import findings_of_burning, findings_of_players, findings_of_souls, provenance
    from soulrift.estimates import METHODS
    from soulrift.provenance import Head, Tables, counted
    from soulrift.simulating import replacing, see_place
except ImportError as error:
    if (error.name or "").partition(".")[0] not in {"duckdb", "fsspec", "matplotlib", "numpy", "pyarrow", "scipy"}:
        raise
    NEEDED = "a report needs an extra: pip install 'soulrift[analytics]'"
    raise click.UsageError(NEEDED) from None

FINDINGS = (
    findings_of_players.wins,
    findings_of_players.life,
    findings_of_burning.soulburn,
    findings_of_souls.aether,
    findings_of_souls.value,
    findings_of_souls.rifts,
    findings_of_burning.waste,
)
"""What the page finds, in this order."""


MEMORY = "1GB"
"""What takes more is put on the disk meanwhile."""


def report(address: str, out: Path, title: str | None, *, replace: bool) -> None:
    """Write the page of the tables in a folder into a file, which appears when it is whole.

    Raises:
        click.UsageError: there are no tables, no match in them has ended, or the file cannot come there.
        click.ClickException: the tables cannot be read.

    """
    see_place(out, replace=replace)
    content, matches = page(address, title)
    with replacing(), written(out, replace=replace) as file:
        file.write(content)
    output = Output()
    output.line(f"{out}: {counted(matches)}, {len(content) / 1000:,.0f} kB")
    output.end()


def page(address: str, title: str | None = None) -> tuple[bytes, int]:
    """The page of the tables in a folder, and how many matches it is of: the same bytes for the same tables.

    Raises:
        click.UsageError: there are no tables, or no match in them has ended.
        click.ClickException: they cannot be read.

    """
    with _asking(address) as (tables, manifest):
        of = provenance.head(tables)
        if not of.ended:
            running = f": {of.running:,} still run" if of.running else ""
            message = f"no match in {address} has ended{running}, so there is nothing to report yet"
            raise click.UsageError(message)
        return _rendered(tables, of, title, manifest).encode(), of.ended


@contextmanager
def _asking(address: str) -> Iterator[tuple[Tables, Manifest]]:
    """Tables to be asked, and their manifest; what cannot be answered is told in a line."""
    try:
        folder = Folder(address)
        manifest = folder.manifest()
        with closing(connect(address)) as connection:
            connection.execute(f"SET memory_limit = '{MEMORY}'")
            try:
                yield Tables(connection), manifest
            finally:
                _see_same(folder, manifest)
    except UnreadableError as error:
        raise click.ClickException(str(error)) from None
    except TablesError as error:
        raise click.UsageError(str(error)) from None
    except duckdb.Error as error:
        message = f"the tables in {address} cannot be read: {why(address, error)}"
        raise click.ClickException(message) from None
    except RuntimeError as error:
        if "interrupted" not in str(error):
            raise
        raise KeyboardInterrupt from None


def _see_same(folder: Folder, manifest: Manifest) -> None:
    """See that all was asked of one state of the tables."""
    if folder.manifest() != manifest:
        message = f"{folder.address} was written meanwhile: ask again"
        raise click.ClickException(message) from None


def _rendered(tables: Tables, of: Head, title: str | None, manifest: Manifest) -> str:
    found = []
    with bar("finding out") as advance:
        for finding in FINDINGS:
            found.append(finding(tables.named))
            advance(1, len(FINDINGS))
    running = f" {of.running:,} more still run and are left out." if of.running else ""
    return (
        _environment()
        .get_template("tables_page.html")
        .render(
            title=title or f"What happened in {counted(of.ended)}",
            lead=f"{_kinds(of)} of Soulrift, with {of.events:,} events, from beginning to end.{running}",
            tiles=list(provenance.tiles(tables, of)),
            beware=list(provenance.beware(tables, of)),
            findings=found,
            made_of=list(provenance.made_of(tables, of, manifest)),
            confidence=f"{100 * CONFIDENCE:.0f} %",
            methods=METHODS,
            definition=_definition,
            writer=f"{WRITER}, SciPy {scipy.__version__}",
        )
    )


def _definition(query: str) -> str:
    """Which definition a named query follows."""
    return named(query).about.rpartition("Definition: ")[2]


def _kinds(of: Head) -> str:
    kinds = {"simulated": of.simulated, "recorded": of.recorded}
    told = " and ".join(f"{count:,} {kind}" for kind, count in kinds.items() if count)
    return f"{told} match{'es' * (of.ended != 1)}"


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finished,
    )


def _finished(value: Any) -> Any:
    """A value as the page shows it: no character that turns the direction of text, no number without its unit."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return spelled_out(value).replace(" %", "\N{NO-BREAK SPACE}%")
