"""Batches: some hundred matches of a run as one piece of work, which may be done anywhere, and again."""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from replays.files import packed, unpacked
from replays.writing import match_lines
from simulation.coverage import Coverage
from simulation.runs import Failed, Run, play_match
from simulation.tally import MatchTally

SIZE = 200
"""Matches of a batch."""


class Batch(Struct, frozen=True):
    """Matches `first` to `last` of a run, and what is wanted of them beside their tallies."""

    run: Run
    first: int
    last: int
    record: bool = False
    cover: bool = False


class Result(Struct):
    """What came of a batch: the tallies of its matches, those that failed, and what was wanted.

    `recorded` holds the lines of each match as they stand in a replay file, compressed; null if none were wanted.
    """

    first: int
    last: int
    tallies: list[MatchTally]
    failed: list[Failed]
    recorded: bytes | None
    counts: dict[str, int]

    def matches(self) -> Iterator[list[bytes]]:
        """The lines of each match, without their newlines."""
        match = list[bytes]()
        for line in unpacked(self.recorded or packed(b"")).split(b"\n"):
            if line:
                match.append(line)
                if line.startswith(b'{"checksum":'):
                    yield match
                    match = []


def batches(run: Run, matches: int, *, record: bool, cover: bool, after: int = 0) -> Iterator[Batch]:
    """A run of so many matches, in batches; those behind the first `after`, which are whole batches."""
    for first in range(after + 1, matches + 1, SIZE):
        yield Batch(run, first, min(first + SIZE - 1, matches), record, cover)


def play_batch(batch: Batch) -> Result:
    """Play a batch. It leaves nothing behind, so that it may be played again."""
    result = Result(batch.first, batch.last, [], [], None, {})
    counts, lines = Counter[str](), list[bytes]()
    for number in range(batch.first, batch.last + 1):
        coverage = Coverage()
        watch = coverage.watch if batch.cover else None
        played = play_match(batch.run, number, record=batch.record, watch=watch)
        if played.tally is None or played.failed:
            if played.failed:
                result.failed.append(played.failed)
            continue
        result.tallies.append(played.tally)
        coverage.counts["P-6"] += played.unaffordable
        counts.update(coverage.counts)
        if batch.record:
            lines += match_lines(batch.run.match_name(number), played.entries)
    if batch.record:
        result.recorded = packed(b"".join(line + b"\n" for line in lines))
    if batch.cover:
        result.counts = dict(counts)
    return result
