"""Batches: some hundred matches of a run as one piece of work, which may be done anywhere, and again."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from domain.entry import Entry
from replays.files import packed, unpacked
from replays.writing import match_lines
from simulation.coverage import Coverage
from simulation.runs import Failed, Run, play_match
from simulation.tally import MatchTally

if TYPE_CHECKING:
    from projections.analytics.making import Made

SIZE = 200
"""Matches of a batch."""

SIZE_OF_TABLES = 1_000
"""Matches of a batch whose tables are wanted, which are files of their own."""


class Tables(Struct, frozen=True):
    """Where the tables of batches are written: in which folder, as part of which commit of it."""

    address: str
    token: str
    commit: int


class Batch(Struct, frozen=True):
    """Matches `first` to `last` of a run, and what is wanted of them beside their tallies."""

    run: Run
    first: int
    last: int
    record: bool = False
    cover: bool = False
    tables: Tables | None = None


class Result(Struct):
    """What came of a batch: the tallies of its matches, those that failed, and what was wanted.

    `recorded` holds the lines of each match as they stand in a replay file, compressed; null if none were wanted.
    `made` tells of the tables, whose files are written.
    """

    first: int
    last: int
    tallies: list[MatchTally]
    failed: list[Failed]
    recorded: bytes | None
    counts: dict[str, int]
    made: Any = None

    @property
    def lines(self) -> bytes:
        """The lines of all its matches, as they stand in a replay file."""
        return unpacked(self.recorded) if self.recorded else b""

    def matches(self) -> Iterator[list[bytes]]:
        """The lines of each match, without their newlines."""
        match = list[bytes]()
        for line in self.lines.split(b"\n"):
            if line:
                match.append(line)
                if line.startswith(b'{"checksum":'):
                    yield match
                    match = []


def batches_for_tables(
    run: Run, matches: int, tables: Tables, done: list[tuple[int, int]], *, cover: bool
) -> Iterator[Batch]:
    """A run of so many matches, in batches for tables, but for those from each first to each last one that are done."""
    first = 1
    for start, last in [*done, (matches + 1, matches + 1)]:
        end = min(start - 1, matches)
        for at in range(first, end + 1, SIZE_OF_TABLES):
            yield Batch(run, at, min(at + SIZE_OF_TABLES - 1, end), cover=cover, tables=tables)
        first = last + 1


def batches(run: Run, matches: int, *, record: bool, cover: bool, after: int = 0) -> Iterator[Batch]:
    """A run of so many matches, in batches; those behind the first `after`, which are whole batches."""
    for first in range(after + 1, matches + 1, SIZE):
        yield Batch(run, first, min(first + SIZE - 1, matches), record, cover)


def play_batch(batch: Batch) -> Result:
    """Play a batch. It leaves nothing behind, so that it may be played again."""
    result = Result(batch.first, batch.last, [], [], None, {})
    counts, lines, entries = Counter[str](), list[bytes](), list[tuple[str, list[Entry]]]()
    for number in range(batch.first, batch.last + 1):
        coverage = Coverage()
        watch = coverage.watch if batch.cover else None
        played = play_match(batch.run, number, record=batch.record or batch.tables is not None, watch=watch)
        if played.tally is None or played.failed:
            if played.failed:
                result.failed.append(played.failed)
            continue
        result.tallies.append(played.tally)
        coverage.counts["P-6"] += played.unaffordable
        counts.update(coverage.counts)
        if batch.record:
            lines += match_lines(batch.run.match_name(number), played.entries)
        if batch.tables:
            entries.append((batch.run.match_name(number), played.entries))
    if batch.record:
        result.recorded = packed(b"".join(line + b"\n" for line in lines))
    if batch.cover:
        result.counts = dict(counts)
    if batch.tables:
        result.made = _tabled(batch, batch.tables, entries)
    return result


def _tabled(batch: Batch, tables: Tables, entries: list[tuple[str, list[Entry]]]) -> "Made":
    """The part of the tables that these matches make."""
    from projections.analytics.making import Work, part_of_entries

    name = f"{batch.run.name}-{batch.first:09}-{batch.last:09}"
    return part_of_entries(Work(tables.address, tables.token, name, tables.commit), entries)
