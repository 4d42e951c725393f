"""Tables made part by part: pieces of work that may be done anywhere, and the manifest that grows by what they made."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec
from msgspec import Struct

from domain.codec import CorruptRecordError
from domain.entry import Entry
from projections.analytics.folder import ALL, Folder, Manifest
from projections.analytics.history import Known, read, without
from projections.analytics.parts import Part, PartWriter
from projections.analytics.rows import MatchRows, Run, match_rows
from replays.files import unpacked
from replays.stepping import entry_of
from replays.writing import WRITER

W = TypeVar("W")
R = TypeVar("R")

Runner = Callable[[Callable[[W], R], Iterator[W]], Iterator[R]]
"""Does each piece of work, somewhere, and gives the results in order, as `map` does."""

Advance = Callable[[int], object]
"""Told how many more events are in the tables."""


class Work(Struct, frozen=True):
    """A part to be made: of these matches of a store, or of the lines of recordings, packed.

    `running`: matches that have not ended belong to it too, and else do not.
    """

    address: str
    token: str
    batch: str
    commit: int
    matches: tuple[str, ...] = ()
    lines: bytes = b""
    running: bool = False


class Made(Struct, frozen=True):
    """A part that was made, the runs that its matches belong to, its matches, and those that were left out."""

    part: Part
    runs: tuple[Run, ...]
    matches: tuple[str, ...]
    left_out: tuple[str, ...]


class Count(Struct):
    """What a call came to: matches that were written, that were there already, and that are running.

    Of a store all are there already that had ended before and are as they were; of recordings those of them that are.
    """

    written: int = 0
    there: int = 0
    running: int = 0


def part_of_matches(work: Work, entries: Callable[[str], Iterable[Entry]]) -> Made:
    """Make the part of these matches, whose `entries` are asked for one by one. It may be made again.

    Raises:
        CorruptRecordError: one cannot be read.

    """
    return _made(work, (_rows(match, entries) for match in work.matches))


def _rows(match: str, entries: Callable[[str], Iterable[Entry]]) -> MatchRows:
    try:
        return match_rows(match, entries(match))
    except CorruptRecordError as error:
        raise CorruptRecordError(f"the match {match} cannot be read: {error}") from None


def part_of_entries(work: Work, entries: Iterable[tuple[str, Iterable[Entry]]]) -> Made:
    """Make the part of matches that are at hand, each with its entries. It may be made again."""
    return _made(work, (match_rows(match, each) for match, each in entries))


def part_of_lines(work: Work) -> Made:
    """Make the part of these lines. It may be made again.

    Raises:
        CorruptRecordError: a match cannot be read.

    """
    entries: dict[str, list[Entry]] = {}
    name = ""
    for line in unpacked(work.lines).splitlines():
        if line.startswith(b'"'):
            name = msgspec.json.decode(line)
            entries[name] = []
        else:
            try:
                entries[name].append(entry_of(line))
            except (msgspec.MsgspecError, CorruptRecordError) as error:
                number = len(entries[name]) + 1
                raise CorruptRecordError(f"entry {number} of the match {name} cannot be read: {error}") from None
    return _made(work, (match_rows(match, each) for match, each in entries.items()))


def _made(work: Work, made: Iterator[MatchRows]) -> Made:
    folder, names, left_out, runs = Folder(work.address, work.token), list[str](), list[str](), dict[str, Run]()
    writer = PartWriter(work.batch, lambda table: folder.place(table, work.batch, work.commit), folder.create)
    with writer:
        for rows in made:
            if rows.ended or work.running:
                writer.add(rows)
                names.append(rows.match)
                if rows.run:
                    runs.setdefault(rows.run.run, rows.run)
            else:
                left_out.append(rows.match)
        return Made(writer.close(), tuple(runs.values()), tuple(names), tuple(left_out))


class Making:
    """The manifest as it grows."""

    def __init__(self, folder: Folder, before: Manifest) -> None:
        self.folder = folder
        self.manifest = before
        self.batches = before.batches

    def work(self, batch: str, *, matches: tuple[str, ...] = (), lines: bytes = b"", running: bool = False) -> Work:
        """A piece of work, for the next batch of this name."""
        folder, commit = self.folder, self.manifest.commits + 1
        return Work(folder.address, folder.token, batch, commit, matches, lines, running)

    def next_batch(self) -> str:
        """A name for a batch."""
        self.batches += 1
        return f"{self.batches:08}"

    def runs_with(self, new: Iterable[Run]) -> Part | None:
        """The part of runs, written anew if some are new."""
        before = self.manifest.runs
        there = [Run(*row.values()) for row in read(self.folder, before.files[0]).to_pylist()] if before else []
        known = {run.run for run in there}
        added = [run for run in new if run.run not in known]
        if not added:
            return before
        place, commit = self.folder.place, self.manifest.commits + 1
        with PartWriter(ALL, lambda table: place(table, ALL, commit), self.folder.create) as writer:
            writer.add_runs([*there, *added])
            return writer.close()

    def commit(self, **changed: object) -> None:
        """Make what has changed count."""
        after = msgspec.structs.replace(self.manifest, writer=WRITER, batches=self.batches, **changed)
        self.manifest = self.folder.commit(after, self.manifest)

    def add(self, made: Made, **changed: object) -> None:
        """Add a part, and make it count."""
        parts = (*self.manifest.parts, made.part) if made.part.matches else self.manifest.parts
        self.commit(parts=parts, runs=self.runs_with(made.runs), **changed)

    def take_out(self, matches: Iterable[Known]) -> tuple[Part, ...]:
        """The parts that are left without these matches."""
        gone: dict[str, set[str]] = {}
        for each in matches:
            gone.setdefault(each.part, set()).add(each.match)
        parts = (
            without(self.folder, part, gone[part.name], self.manifest.commits + 1) if part.name in gone else part
            for part in self.manifest.parts
        )
        return tuple(part for part in parts if part)
