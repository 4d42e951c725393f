"""Tables of recordings: a match is taken in unless the tables have it, or a longer record of it."""

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec
from msgspec import Struct

from projections.analytics.folder import RUNNING, Folder, Manifest, TablesError
from projections.analytics.history import Known, commands, known, root_of, without
from projections.analytics.making import Advance, Count, Made, Making, Runner, Work, part_of_lines
from projections.analytics.parts import ENTRIES, Part
from replays import merkle
from replays.files import packed
from replays.reading import Recording


class Lines(Struct):
    """The lines of a recording, and what its end says of them."""

    match: str
    lines: list[bytes]
    root: str
    ended: bool

    def root_of(self, entries: int) -> str:
        """The root over the first entries."""
        return merkle.root_of(islice(self.lines, entries)).hex()


def lines_of(recording: Recording) -> Lines:
    """The lines of a recording, all of them.

    Raises:
        DamageError: it is not as it was written.

    """
    lines = [found.content for found in recording.lines()]
    end, found = recording.end  # type: ignore[misc]  # it is there once the lines are read
    read = Lines(recording.match, lines, end.root, end.status == "ended")
    if read.root_of(len(lines)) != end.root:
        raise found.damage("the lines of the match are not as they were written: the root over them is another one")
    return read


def of_recordings(
    folder: Folder,
    recordings: Iterable[Lines],
    run: Runner[Work, Made] = map,
    advance: Advance = lambda _: None,
) -> Count:
    """Take matches of replay files into tables; where there are none, make them.

    Raises:
        TablesError: they are of a store, or have another match of the same name; or another program writes them.
        CorruptRecordError: a match cannot be read; what was written before it stays.

    """
    with folder.writing() as before:
        return _OfRecordings(folder, before, advance).make(recordings, run)


class _OfRecordings(Making):
    def __init__(self, folder: Folder, before: Manifest, advance: Advance) -> None:
        super().__init__(folder, before)
        self._advance = advance
        self._under_way: dict[str, str] = {}
        """From a match to its root, until it is in the manifest."""
        self._later: list[Lines] = []
        """What cannot be judged or written before all that is under way."""
        self._running: dict[str, Lines] = {}
        self._count = Count()
        if before.source:
            message = f"{folder.address} was made of a store: give recordings a folder of their own"
            raise TablesError(message)

    def make(self, recordings: Iterable[Lines], run: Runner[Work, Made]) -> Count:
        """Write what is new and has ended; then what goes on from what was there; then what is running."""
        for made in run(part_of_lines, self._works(recordings)):
            self._add(made)
        self._go_on()
        self._add_running()
        return self._count

    def _add(self, made: Made) -> None:
        for name in made.matches:
            self._under_way.pop(name, None)
        self.add(made)
        self._count.written += made.part.matches
        self._advance(made.part.events)

    def _works(self, recordings: Iterable[Lines]) -> Iterator[Work]:
        rest = iter(recordings)
        while chunk := list(_filling(rest)):
            there = self._known(chunk)
            new = [each for each in chunk if self._is_new(each, there)]
            if new:
                yield self.work(self.next_batch(), lines=_packed(new))

    def _known(self, chunk: Iterable[Lines]) -> dict[str, Known]:
        return known(self.folder, self.manifest.all_parts(), {each.match for each in chunk})

    def _is_new(self, read: Lines, there: dict[str, Known]) -> bool:
        """Whether a match can be written at once; if not, it is kept for later, or is there."""
        if read.match in self._under_way:
            if self._under_way[read.match] == read.root:
                self._count.there += 1
            else:
                self._later.append(read)
        elif read.match in there:
            if there[read.match].root == read.root:
                self._count.there += 1
            else:
                self._later.append(read)
        elif read.ended:
            self._under_way[read.match] = read.root
            return True
        else:
            self._later.append(read)
        return False

    def _go_on(self) -> None:
        """Take in the longest record of each match of which tables have a shorter one, or none yet."""
        longest = dict[str, Lines]()
        for each in sorted(self._later, key=lambda each: len(each.lines)):
            if each.match in longest:
                self._see_same(each, longest[each.match].root, len(longest[each.match].lines))
            longest[each.match] = each
        there = self._known(longest.values())
        new = [each for each in longest.values() if self._goes_on(each, there.get(each.match))]
        if not new:
            return
        gone = [there[each.match] for each in new if each.match in there]
        out_of_running = {each.match for each in gone if each.part == RUNNING}
        parts = self.take_out(each for each in gone if each.part != RUNNING)
        running = self.manifest.running
        if running and out_of_running:
            running = without(self.folder, running, out_of_running, self.manifest.commits + 1)
        self._running = {each.match: each for each in new if not each.ended}
        ended, added = [each for each in new if each.ended], tuple[Part, ...]()
        runs = self.manifest.runs
        if ended:
            made = part_of_lines(self.work(self.next_batch(), lines=_packed(ended)))
            runs, added = self.runs_with(made.runs), (made.part,)
            self._count.written += made.part.matches
        self.commit(parts=(*parts, *added), running=running, runs=runs)

    def _goes_on(self, read: Lines, there: Known | None) -> bool:
        """Whether a record is longer than the one that the tables have, if they have one."""
        if there is None:
            return True
        if len(read.lines) > there.entries:
            self._see_same(read, there.root, there.entries)
            return True
        part = next(part for part in self.manifest.all_parts() if part.name == there.part)
        given = next(given for match, given in commands(self.folder, part) if match == read.match)
        if root_of(given[: len(read.lines)]) != read.root:
            raise _another(self.folder, read)
        self._count.there += 1
        return False

    def _see_same(self, read: Lines, root: str, entries: int) -> None:
        """See that a record begins with the entries over which there is this root."""
        if read.root_of(entries) != root:
            raise _another(self.folder, read)

    def _add_running(self) -> None:
        """Add running matches to those that are there."""
        if not self._running:
            return
        made = part_of_lines(self.work(RUNNING, lines=_packed(self._running.values()), running=True))
        part, before = made.part, self.manifest.running
        if before:
            part = Part(
                RUNNING,
                before.files + part.files,
                before.matches + part.matches,
                before.entries + part.entries,
                before.events + part.events,
            )
        self._count.running = part.matches
        self.commit(running=part, runs=self.runs_with(made.runs))


def _another(folder: Folder, read: Lines) -> TablesError:
    return TablesError(
        f"{folder.address} has another match of the name {read.match}: give these recordings a folder of their own"
    )


def _filling(rest: Iterator[Lines]) -> Iterator[Lines]:
    """As many recordings as fill a part."""
    entries = 0
    for each in rest:
        yield each
        entries += len(each.lines)
        if entries >= ENTRIES:
            return


def _packed(recordings: Iterable[Lines]) -> bytes:
    """Names, as JSON, each with its lines."""
    return packed(b"\n".join(line for each in recordings for line in (msgspec.json.encode(each.match), *each.lines)))
