"""Tables of the matches of a store: everything behind the position that the manifest names, each match once.

A match is written once it has ended. If a judge rules on it later, it is taken out of its part, and written anew. Those
that have not ended are written last, all of them anew, each time. The log is followed by position, never by time.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256

from domain.application import Matches
from domain.recorder import MatchRecorder
from projections.analytics.folder import RUNNING, Folder, Manifest, Source, TablesError
from projections.analytics.history import known
from projections.analytics.making import Advance, Count, Made, Making, Runner, Work, part_of_matches
from projections.analytics.parts import ENTRIES

MARKS = 1_000
"""Rows that are looked for at a time."""

_STARTED, _ENDED, _RULED = "match_started", "match_ended", "ruling_made"


def of_store(
    folder: Folder,
    matches: Matches,
    do: Callable[[Work], Made] | None = None,
    run: Runner[Work, Made] = map,
    advance: Advance = lambda _: None,
) -> Count:
    """Bring tables up to date with a store; where there are none, make them. `do` makes a part, in whatever process.

    Raises:
        TablesError: they are of another store, or of recordings; or another program writes them.
        CorruptRecordError: a match cannot be read; what was written before it stays.

    """
    with folder.writing() as before:
        return _OfStore(folder, before, matches.recorder, advance).make(
            do or (lambda work: part_of_matches(work, matches.entries)), run
        )


class _OfStore(Making):
    def __init__(self, folder: Folder, before: Manifest, log: MatchRecorder, advance: Advance) -> None:
        super().__init__(folder, before)
        self._log = log
        self._advance = advance
        self._open = dict.fromkeys(before.open)
        self._ruled = dict.fromkeys(before.ruled)
        self._count = Count()
        if before.parts and before.source is None:
            message = f"{folder.address} was made of recordings or simulations: give a store a folder of its own"
            raise TablesError(message)
        self._after = before.source.position if before.source else 0
        if before.source and self._digest(self._after) != before.source.digest:
            message = f"{folder.address} is of another store, or its log was cut: make tables anew in another folder"
            raise TablesError(message)
        self._end = log.end()

    def _digest(self, position: int) -> str:
        """What identifies the row at a position."""
        rows = self._log.select_log(position, 1) if position else []
        return sha256(repr(rows).encode(errors="surrogatepass")).hexdigest()

    def _source(self, position: int) -> Source:
        return Source(position, self._digest(position))

    def make(self, do: Callable[[Work], Made], run: Runner[Work, Made]) -> Count:
        """Write what has ended since, then what was ruled on, then what is running."""
        positions = list[int]()

        def works() -> Iterator[Work]:
            for first, last, names in self._batches():
                positions.append(last)
                yield self.work(f"{first:012}-{last:012}", matches=names)

        for place, made in enumerate(run(do, works())):
            self._add(made, positions[place])
        self._take_rulings(do)
        self._write_running(do)
        return self._count

    def _batches(self) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Matches that ended, as many as fill a part: the positions behind which and up to which they did."""
        names, first, events = dict[str, None](), self._after + 1, 0
        for position, match, version, topic in self._marks():
            if topic.startswith(_STARTED):
                self._open[match] = None
            elif topic.startswith(_RULED):
                self._ruled[match] = None
            elif match not in self._ruled:
                names[match] = None
                events += version
            if events >= ENTRIES:
                yield first, position, tuple(names)
                names, first, events = {}, position + 1, 0
        if names:
            yield first, position, tuple(names)

    def _marks(self) -> Iterator[tuple[int, str, int, str]]:
        """Where matches began, ended or were ruled on, behind the position of before."""
        after = self._after
        while marks := self._log.select_marks(after, self._end, (_STARTED, _ENDED, _RULED), MARKS):
            yield from marks
            after = marks[-1][0]

    def _add(self, made: Made, position: int) -> None:
        """Add a part of matches that ended up to a position. Those that run are told last; meanwhile there are none."""
        written = made.matches
        again = known(self.folder, self.manifest.parts, written)
        if again:
            message = (
                f"the match {min(again)} has begun anew in the store since tables were made of it: make them anew, "
                "in another folder"
            )
            raise TablesError(message)
        for name in written:
            self._open.pop(name, None)
        self.add(made, source=self._source(position), open=tuple(self._open), ruled=tuple(self._ruled), running=None)
        self._count.written += made.part.matches
        self._advance(made.part.events)

    def _take_rulings(self, do: Callable[[Work], Made]) -> None:
        """Write matches anew that a judge has ruled on, unless the ruling is in their rows already."""
        there = known(self.folder, self.manifest.parts, self._ruled)
        changed = [
            name for name in self._ruled if name not in there or there[name].events != self._log.last_version(name)
        ]
        self._ruled.clear()
        if not changed:
            return
        made = do(self.work(self.next_batch(), matches=tuple(changed)))
        parts = self.take_out(there[name] for name in changed if name in there)
        for name in made.matches:
            self._open.pop(name, None)
        self._open |= dict.fromkeys(made.left_out)
        self._count.written += made.part.matches
        self.commit(
            parts=(*parts, made.part) if made.part.matches else parts,
            runs=self.runs_with(made.runs),
            open=tuple(self._open),
            ruled=(),
            running=None,
        )

    def _write_running(self, do: Callable[[Work], Made]) -> None:
        """Write the matches that have not ended, and move the position to the end of the log as it was."""
        before = self.manifest
        if before.source and before.source.position == self._end and (before.running or not self._open):
            self._count.running = len(self._open)
            return
        there = tuple(filter(self._log.has_match, self._open))
        made = do(self.work(RUNNING, matches=there, running=True))
        self._count.running = made.part.matches
        running = made.part if made.part.matches else None
        runs = self.runs_with(made.runs)
        self.commit(source=self._source(self._end), open=there, ruled=(), running=running, runs=runs)
        self._advance(made.part.events)
