"""`soulrift tables`: tables for analytics, made of stores and replay files, verified and migrated."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from replays.files import DamagedFileError, opened
from replays.reading import DamageError, Reader
from replays.verdicts import Verdict, gravest
from replays.verify import beside_matches
from simulation.runners import BrokenRunError, RunnerError
from soulrift import store
from soulrift.running import Where, done
from soulrift.terminal import Output, bar, complain
from soulrift.verifying import STATUS

try:
    from projections.analytics.folder import Folder, TablesError, UnreadableError
    from projections.analytics.making import Count, Made, Work, part_of_matches
    from projections.analytics.migrating import migrate
    from projections.analytics.of_recordings import Lines, lines_of, of_recordings
    from projections.analytics.of_run import RunTables, of_run
    from projections.analytics.of_store import of_store
    from projections.analytics.rows import Run as RunRow
    from projections.analytics.verifying import Fault, Proof
except ImportError as error:
    if (error.name or "").partition(".")[0] not in {"duckdb", "fsspec", "pyarrow"}:
        raise
    NEEDED = "analytics needs an extra: pip install 'soulrift[analytics]'"
    raise click.UsageError(NEEDED) from None

if TYPE_CHECKING:
    from simulation.runs import Run

FEW = 20_000
"""Events. So few are taken in faster than other processes begin."""


@contextmanager
def _told() -> Iterator[None]:
    """Tell what is wrong with tables, or with where work is done: as an error of use, unless a file is damaged."""
    try:
        yield
    except UnreadableError as error:
        raise click.ClickException(str(error)) from None
    except (TablesError, RunnerError) as error:
        raise click.UsageError(str(error)) from None
    except BrokenRunError as error:
        message = f"{error}; the same command goes on"
        raise click.ClickException(message) from None


def make_of_store(name: str, address: str, where: Where, form: str) -> None:
    """Bring the tables in a folder up to date with a store."""
    with _told(), store.open_to_read(name) as matches, bar("making tables") as advance:
        folder, log = Folder(address), matches.recorder
        total = log.end()
        alone = where == Where() and (name == ":memory:" or total < FEW)
        do = partial(part_of_store, name) if not alone else lambda work: part_of_matches(work, matches.entries)
        run = partial(done, where=where) if not alone else map
        count = of_store(folder, matches, do, run, lambda events: advance(events, total))
    _tell(address, count, form)


def part_of_store(name: str, work: Work) -> Made:
    """Make a part of a store's matches, in whatever process."""
    with store.open_to_read(name) as matches:
        return part_of_matches(work, matches.entries)


def make_of_files(files: Sequence[Path], address: str, where: Where, form: str) -> int:
    """Take the matches of replay files into the tables in a folder; 4 if a file is damaged."""
    damages = list[str]()
    with _told(), bar("making tables") as advance:
        run = partial(done, where=where) if where != Where() or sum(map(_size, files)) > FEW else map
        count = of_recordings(Folder(address), _recordings(files, damages), run, lambda events: advance(events, None))
    for damage in damages:
        complain(damage)
    _tell(address, count, form)
    return STATUS["damaged"] if damages else 0


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


def _recordings(files: Sequence[Path], damages: list[str]) -> Iterator[Lines]:
    """The matches of files that are whole; of the others `damages` tell."""
    for path in files:
        try:
            with opened(path) as file:
                reader = Reader(file)
                for recording in reader.recordings():
                    try:
                        yield lines_of(recording)
                    except DamageError as damage:
                        damages.append(f"{path}: {recording.match} is left out: {damage}")
                damages += [
                    f"{path}: line {each.line}, byte {each.byte}: {each.reason}" for each in beside_matches(reader)
                ]
        except DamagedFileError as damage:
            damages.append(f"{path}: {damage}")


def _tell(address: str, count: Count, form: str) -> None:
    output = Output()
    if form == "json":
        output.data({"tables": address, **msgspec.to_builtins(count)})
    else:
        there = f", {count.there:,} {'was' if count.there == 1 else 'were'} there" if count.there else ""
        output.line(f"{address}: {_counted(count.written, 'match', 'es')} written{there}, {count.running:,} running")
    output.end()


def _counted(number: int, what: str, ending: str = "s") -> str:
    """A number of something."""
    return f"{number:,} {what}{ending * (number != 1)}"


def verify(address: str, form: str) -> int:
    """Verify tables, and tell all that is wrong; the exit status is that of the gravest fault."""
    faults = list[Fault]()
    with _told(), bar("verifying") as advance:
        proof = Proof(Folder(address), lambda events: advance(events, total))
        total = sum(part.events for part in proof.manifest.all_parts())
        for fault in proof.faults():
            faults.append(fault)
            if form == "text":
                complain(str(fault))
    verdict: Verdict = gravest({fault.verdict for fault in faults}) if faults else "exact"
    output = Output()
    if form == "json":
        counts = {"files": proof.files, "matches": proof.matches, "rows": proof.rows}
        output.data({"verdict": verdict, **counts, "faults": msgspec.to_builtins(faults)})
    else:
        counted = (
            f"{_counted(proof.files, 'file')}, {_counted(proof.matches, 'match', 'es')}, {_counted(proof.rows, 'row')}"
        )
        wrong = f", {_counted(len(faults), 'fault')}" if faults else ""
        output.line(f"{address}: {verdict}, {counted}{wrong}")
    output.end()
    return STATUS[verdict]


def rewrite(address: str, form: str) -> None:
    """Write tables anew, with the columns of today and in fewer files."""
    with _told(), bar("migrating") as advance:
        folder = Folder(address)
        total = sum(part.events for part in folder.manifest().all_parts())
        after = migrate(folder, lambda events: advance(events, total))
    output = Output()
    files = sum(1 for _ in after.files())
    if form == "json":
        output.data({"tables": address, "files": files})
    else:
        output.line(f"{address}: {_counted(files, 'file')}")
    output.end()


@contextmanager
def run_tables(run: "Run", address: str) -> Iterator[RunTables]:
    """Tables that the batches of a run come into."""
    from simulation.chance import GENERATOR
    from simulation.runs import SIMULATOR

    options = msgspec.json.encode(run).decode()
    row = RunRow(run.name, str(run.seed), SIMULATOR, GENERATOR, run.decks, run.policies, options)
    try:
        with of_run(Folder(address), row) as tables:
            yield tables
    except UnreadableError as error:
        raise click.ClickException(str(error)) from None
    except TablesError as error:
        raise click.UsageError(str(error)) from None
