"""Tables of the matches of a store: everything behind the position that the manifest names, each match once.

A match is written once it has ended. If a judge rules on it later, it is taken out of its part, and written anew. Those
that have not ended are written last, all of them anew, each time. The log is followed by position, never by time.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from math import ceil

from domain.application import Matches
from domain.recorder import MatchRecorder
from projections.analytics.folder import RUNNING, Folder, Manifest, Source, TablesError
from projections.analytics.history import Known, known
from projections.analytics.making import Advance, Count, Made, Making, Runner, Work, part_of_matches
from projections.analytics.parts import ENTRIES
from projections.analytics.rows import Run

MARKS = 1_000
"""Rows that are looked for at a time."""

SAMPLE = 500
"""Positions of a log, at most, whose rows tell it from another one."""

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
        self._begun = set[str]()
        """Matches that began behind the position of before: tables cannot have them, but for those that run."""
        self._parts = {part.name for part in before.parts}
        self._count = Count(there=sum(part.matches for part in before.parts))
        if before.commits and before.source is None:
            message = f"{folder.address} was made of recordings or simulations: give a store a folder of its own"
            raise TablesError(message)
        self._after = before.source.position if before.source else 0
        if before.source and self._digest(self._after) != before.source.digest:
            what = f"{folder.address} is of another store, or its log was cut or changed"
            message = f"{what}: make tables anew in another folder"
            raise TablesError(message)
        self._end = log.end()

    def _digest(self, position: int) -> str:
        """What identifies the log up to a position: rows there and, evenly spaced, before it; all of a short log."""
        rows = self._log.select_at(range(position, 0, -ceil(position / SAMPLE))) if position else []
        return sha256(repr(rows).encode(errors="surrogatepass")).hexdigest()

    def _source(self, position: int) -> Source:
        return Source(position, self._digest(position))

    def make(self, do: Callable[[Work], Made], run: Runner[Work, Made]) -> Count:
        """Write what has ended since, then what was ruled on, then what is running."""
        positions = list[int]()

        def works() -> Iterator[Work]:
            for first, last, names in self._batches():
                there = self._known(names)
                self._ruled |= dict.fromkeys(there)  # they came by a ruling that was read with what came after it
                positions.append(last)
                yield self.work(f"{first:012}-{last:012}", matches=tuple(name for name in names if name not in there))

        for place, made in enumerate(run(do, works())):
            self._add(made, positions[place])
        self._take_rest(do)
        return self._count

    def _known(self, names: Iterable[str]) -> dict[str, Known]:
        """Those of these matches that the tables have, but for those that run."""
        there = known(self.folder, self.manifest.parts, list(names))
        if again := there.keys() & self._begun:
            message = (
                f"the match {min(again)} has begun anew in the store since tables were made of it: make them anew, "
                "in another folder"
            )
            raise TablesError(message)
        return there

    def _batches(self) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Matches that ended, as many as fill a part: the positions behind which and up to which they did."""
        names, first, events = dict[str, None](), self._after + 1, 0
        for position, match, version, topic in self._marks():
            if topic.startswith(_STARTED):
                self._open[match] = None
                self._begun.add(match)
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
        for name in made.matches:
            self._open.pop(name, None)
        self._begun -= set(made.matches)
        self.add(made, source=self._source(position), open=tuple(self._open), ruled=tuple(self._ruled), running=None)
        self._count.written += made.part.matches
        self._advance(made.part.events)

    def _take_rest(self, do: Callable[[Work], Made]) -> None:
        """Write what was ruled on and is not in the rows yet, and what runs; then the position is the log's end.

        All of it counts at once: else a match could be in two places, or in none.
        """
        before, parts, runs = self.manifest, self.manifest.parts, list[Run]()
        there = self._known(self._ruled)
        changed = [
            name for name in self._ruled if name not in there or there[name].events != self._log.last_version(name)
        ]
        if changed:
            made = do(self.work(self.next_batch(), matches=tuple(changed)))
            gone = [there[name] for name in changed if name in there]
            self._count.there -= sum(each.part in self._parts for each in gone)
            parts = self.take_out(gone)
            parts = (*parts, made.part) if made.part.matches else parts
            for name in made.matches:
                self._open.pop(name, None)
            self._open |= dict.fromkeys(made.left_out)
            self._count.written += made.part.matches
            runs += made.runs
        elif before.source and before.source.position == self._end and (before.running or not self._open):
            self._count.running = len(self._open)
            return
        there_now = tuple(filter(self._log.has_match, self._open))
        self._known(there_now)
        made = do(self.work(RUNNING, matches=there_now, running=True))
        self._count.running = made.part.matches
        self.commit(
            parts=parts,
            source=self._source(self._end),
            open=there_now,
            ruled=(),
            running=made.part if made.part.matches else None,
            runs=self.runs_with([*runs, *made.runs]),
        )
        self._advance(made.part.events)
