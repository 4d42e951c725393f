"""`soulrift verify`: the verdict on replay files, in words, data and exit status."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.text import Text

from replays.differences import Difference
from replays.verify import GRAVEST_FIRST, Verdict, Verified, verify_file
from soulrift.board import table
from soulrift.terminal import Output, bar

STATUS: dict[str, int] = {"exact": 0, "diverged": 1, "unverifiable": 3, "damaged": 4}
"""Exit statuses, as those of `soulrift check`."""

MOST_DIFFERENCES = 20
"""So many are shown to people."""


def verify(files: Sequence[Path], form: str) -> int:
    """Verify files, tell the verdict on each match in them; the exit status is that of the gravest."""
    output, found, verdicts = Output(), list[dict[str, Any]](), set[Verdict]()
    with bar("verifying") as advance:
        for path in files:
            for verified in _verified(path):
                advance(verified.entries, None)
                verdicts.add(verified.verdict)
                if form == "json":
                    name = os.fsencode(path).decode(errors="backslashreplace")
                    found.append({"file": name, **msgspec.to_builtins(verified)})
                else:
                    for line in _lines(path, verified):
                        output.line(line)
    verdict = next(each for each in GRAVEST_FIRST if each in verdicts)
    if form == "json":
        output.data({"verdict": verdict, "matches": found})
    output.end()
    return STATUS[verdict]


def _verified(path: Path) -> Iterator[Verified]:
    try:
        yield from verify_file(path)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise click.UsageError(message) from None


def _lines(path: Path, verified: Verified) -> Iterator[Text | str]:
    style = "green" if verified.verdict == "exact" else "bold red"
    place = f"{path}" if verified.match is None else f"{path}: {verified.match}"
    yield Text.assemble(f"{place}: ", (verified.verdict, style), f": {told(verified)}")
    if verified.differences:
        yield from differences_table(verified.differences, "must be", "is recorded as")


def differences_table(differences: Sequence[Difference], expected: str, found: str) -> Iterator[Text]:
    """Differences within an entry, side by side, under these headings; not more than people read."""
    first = differences[:MOST_DIFFERENCES]
    cells = ((each.path, shown(each.expected), shown(each.found)) for each in first)
    yield from table(cells, ("in the entry", expected, found))
    if len(differences) > len(first):
        yield Text(f"  and {len(differences) - len(first)} more places, with --format json")


def shown(value: Any) -> str:
    """A JSON value in a table; nothing as a dash."""
    return msgspec.json.encode(value).decode() if value is not None else "-"


def told(verified: Verified) -> str:
    """A verdict's reason, and how far the match is proven, in one line."""
    if verified.verdict == "exact":
        return f"{verified.entries:,} entries, each re-executed"
    entry = f"entry {verified.entry}, " if verified.entry is not None else ""
    place = f"{entry}line {verified.line}, byte {verified.byte}: " if verified.line is not None else ""
    proven = "entry 1 is" if verified.entries == 1 else f"the first {verified.entries:,} entries are"
    good = f"; {proven} proven" if verified.entries else ""
    return f"{place}{verified.reason}{good}"
