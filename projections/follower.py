"""The follower: reads the log of a store in batches of whole entries, and writes what each read model makes of them.

A batch's rows and the position behind it are written in one transaction, so each entry is taken in exactly once. The
log is read from the first row of the last entry known, whose hash tells whether it is still the log that was followed.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from eventsourcing.persistence import InterfaceError, OperationalError
from msgspec import Struct

from domain.application import EntryNotFoundError, Matches, MatchNotFoundError
from domain.codec import Codec, CorruptRecordError, Seal
from domain.recorder import PAUSE, RECONNECT_SECONDS, LogRow, is_head, log, whole_entries
from domain.rules import State
from projections.read_model import Changes, LoggedEntry, Taker
from projections.views import OvertakenError, Progress, ProjectionError, RebuildNeededError, Views, ViewsError

BATCH = 2_000
"""Rows of the log taken in at a time, unless one entry has more."""

KNOWN = 1_000
"""Matches whose states are kept at hand between batches."""

POLL = 0.1
"""Seconds between two looks at the end of the log."""

PATIENCE = 60
"""Seconds for which another follower may stand still before a question is given up."""

PATIENCE_TO_READ = 1
"""The same for views that this process may only read: there may be no other follower."""

Advance = Callable[[int], object]
"""Told how many more rows of the log were taken in."""


class _Followed(NamedTuple):
    number: int
    state: State


class Status(Struct, frozen=True):
    """How the views stand: how many rows of the log they have taken in, of how many matches, and how many they lack.

    `followed`: a process holds the lease. `events_per_second` is how fast it takes rows in now, 0 when there are none.
    """

    views: str
    position: int
    matches: int
    events: int
    lag: int
    followed: bool
    events_per_second: int


class Follower:
    """Keeps the views of a store up to date, which have the read model `matches` among them. One thread at a time."""

    def __init__(self, matches: Matches, views: Views) -> None:
        self._matches = matches
        self._log = matches.recorder
        self._views = views
        self._taker = Taker(views.models)
        self._codec = Codec()
        self._progress: Progress | None = None
        self._followed: dict[str, _Followed] = {}

    @contextmanager
    def answering(self, match: str | None = None, advance: Advance = lambda _: None) -> Iterator[Views]:
        """The views as of one moment, with all that was in the log when this began; those of a match, if one is named.

        Raises:
            MatchNotFoundError: there is no such match.
            ViewsError, RebuildNeededError, ProjectionError, TimeoutError: as `up_to_date`.

        """
        self.up_to_date(advance)
        with self._views.reading():
            if match is not None:
                self._see_match(match)
            yield self._views

    def up_to_date(self, advance: Advance = lambda _: None) -> None:
        """See that the views tell all that is in the log at this moment, by whoever follows it.

        Raises:
            RebuildNeededError: they tell of another log.
            ProjectionError: an event cannot be taken in.
            ViewsError: they are behind, nobody follows, and this process may not write.
            TimeoutError: another process follows, but stands still.

        """
        end = self._log.end()
        last, moved = None, 0.0
        while (progress := self._views.progress()).position < end:
            if progress != last:
                last, moved = progress, time.monotonic()
            try:
                if not self._go_on(end, advance, time.monotonic() - moved):
                    break
            except (OperationalError, InterfaceError):
                if time.monotonic() > moved + RECONNECT_SECONDS:
                    raise
                time.sleep(PAUSE)
        self._new_rows(progress, 1)

    def _go_on(self, end: int, advance: Advance, waited: float) -> bool:
        """Catch up, or let somebody else do so; whether it is worth another look."""
        if not self._views.writable:
            if waited > PATIENCE_TO_READ:
                message = f"the views in {self._views.name} are behind the log, and may not be written"
                raise ViewsError(message)
            time.sleep(POLL)
            return True
        with self._views.lease() as held:
            if held():
                self._forget()
                with suppress(OvertakenError):
                    return self._catch_up(end, advance) > 0
                return True
        if waited > PATIENCE:
            message = f"another process follows the log, but has stood still for {PATIENCE} seconds"
            raise TimeoutError(message)
        time.sleep(POLL / 10)
        return True

    def follow(self) -> Iterator[int | None]:
        """Follow the log for ever: how many rows each look at it took in; null while another process follows.

        It goes on when the database was away.

        Raises:
            RebuildNeededError, ProjectionError: as `up_to_date`.

        """
        while True:
            try:
                with self._views.lease() as held:
                    self._forget()
                    if not held():
                        yield None
                    while held():
                        taken = self._step()
                        yield taken
                        if not taken:
                            time.sleep(POLL)
            except OvertakenError:
                log.info("another process has followed meanwhile")
            except (OperationalError, InterfaceError, TimeoutError) as error:
                log.warning("the database cannot be followed; trying again", extra={"reason": str(error)})
            time.sleep(POLL)

    def rebuild(self, advance: Advance = lambda _: None) -> int:
        """Make the views anew, from the whole log as it is now; how many rows that were.

        Raises:
            TimeoutError: another process follows, and does not stop.
            ProjectionError: an event cannot be taken in.

        """
        last = time.monotonic() + RECONNECT_SECONDS
        while True:
            with self._views.lease() as held:
                if held():
                    self._views.clear()
                    self._forget()
                    return self._catch_up(self._log.end(), advance)
            if time.monotonic() > last:
                message = "another process follows the log; end it first"
                raise TimeoutError(message)
            time.sleep(PAUSE)

    def status(self) -> Status:
        """How the views stand. This counts all rows of the log.

        Raises:
            RebuildNeededError: they tell of another log.

        """
        self.see_all_counted()
        before = self._views.progress()
        with self._views.lease() as held:
            followed = self._views.writable and not held()
        end = self._log.end()
        lag = self._log.rows_up_to(end) - before.events
        seconds = 0.5
        if followed and lag:
            time.sleep(seconds)
        after = self._views.progress()
        speed = int((after.events - before.events) / seconds)
        return Status(self._views.name, before.position, before.matches, before.events, lag, followed, speed)

    def see_all_counted(self) -> None:
        """See that the log has as many rows as the views have taken in; this counts them.

        Raises:
            RebuildNeededError: it has not.

        """
        progress = self._views.progress()
        rows = self._log.rows_up_to(progress.position)
        if rows != progress.events:
            raise RebuildNeededError(
                f"the views were made of {progress.events:,} events, of which the store has {rows:,}"
            )
        self._new_rows(progress, 1)

    def _see_match(self, match: str) -> None:
        """See that the views tell of the match that is in the store under this name.

        Raises:
            MatchNotFoundError: there is none.
            RebuildNeededError: it is another one.

        """
        found = self._views.query("SELECT events, line_hash FROM matches WHERE match=?", (match,))
        if not found and not self._matches.has(match):
            raise self._matches.not_found(match)
        row = self._log.first_row_of_entry_at(match, found[0][0]) if found else None
        try:
            same = row is not None and self._codec.seal(row).line_hash == found[0][1]
        except CorruptRecordError:
            same = False
        if not same:
            raise RebuildNeededError(f"the views tell of another match {match} than the store")

    # ------------------------------------------------------------ a batch

    def _forget(self) -> None:
        self._progress = None
        self._followed.clear()

    def _catch_up(self, end: int, advance: Advance) -> int:
        rows = 0
        while True:
            taken = self._step()
            rows += taken
            advance(taken)
            if not taken or (self._progress and self._progress.position >= end):
                return rows

    def _step(self) -> int:
        """Take in a batch; how many rows that were."""
        before = self._progress or self._views.progress()
        try:
            entries = self._new_entries(before)
            if not entries:
                self._progress = before
                return 0
            self._progress = self._take_in(before, entries)
        except RebuildNeededError as error:
            self._forget()
            if self._views.progress() != before:
                raise OvertakenError from error
            raise
        except BaseException:
            self._forget()  # what is known may be ahead of what was written
            raise
        for match in list(self._followed)[: max(0, len(self._followed) - KNOWN)]:
            del self._followed[match]
        return self._progress.events - before.events

    def _take_in(self, before: Progress, entries: list[list[LogRow]]) -> Progress:
        """Write what entries make; how far the views tell then. Where one cannot be taken in, those before it are."""
        changes, matches = Changes(), before.matches
        for place, rows in enumerate(entries):
            try:
                matches = max(matches, self._take(changes, rows, matches + 1))
            except ProjectionError:
                self._followed.clear()  # that entry has left its traces
                if place:
                    self._take_in(before, entries[:place])
                raise
        self._taker.finish(changes)
        last = entries[-1]
        events = before.events + sum(map(len, entries))
        progress = Progress(last[-1][0], last[0][0], len(last), _digest(last), events, matches)
        self._views.write(changes, before, progress)
        return progress

    def _new_entries(self, progress: Progress) -> list[list[LogRow]]:
        """The rows of the next entries, each whole."""
        limit = BATCH
        while True:
            rows, more = self._new_rows(progress, limit)
            entries = whole_entries(rows, more=more)
            if entries or not more:
                return entries
            limit *= 2

    def _new_rows(self, progress: Progress, limit: int) -> tuple[list[LogRow], bool]:
        """Rows behind a position, and whether there may be more.

        Raises:
            RebuildNeededError: what is at the position is not what was taken in.

        """
        limit += progress.entry_rows
        rows = self._log.select_log(progress.entry_position, limit)
        known, new = rows[: progress.entry_rows], rows[progress.entry_rows :]
        if progress.events and _digest(known) != progress.digest:
            raise RebuildNeededError("the log was cut or replaced since the views were made")
        return new, len(rows) == limit

    def _take(self, changes: Changes, rows: list[LogRow], next_number: int) -> int:
        """Take in an entry; the number of its match, which is the next one if it is new."""
        first = rows[0]
        match = first[1]
        if not is_head(first):
            raise _stopped(first, CorruptRecordError("it belongs to no entry: the first row of one is missing"))
        followed = self._followed.pop(match, None) or self._load(match, next_number)
        number, state = followed
        if first[2] <= state.events:
            raise RebuildNeededError(f"the match {match} has begun anew in the log")
        try:
            events = self._codec.events([row[2:] for row in rows], state.events)
            self._taker.take(changes, LoggedEntry(match, number, events, partial(self._seal, first)), state)
        except Exception as error:
            raise _stopped(self._culprit(rows, state), error) from error
        self._followed[match] = followed
        return number

    def _culprit(self, rows: list[LogRow], state: State) -> LogRow:
        """The row of an entry that cannot be taken in by a match in this state."""
        for row in rows:
            try:
                self._codec.event(row[3], row[4])
            except CorruptRecordError:
                return row
        return next((row for row in rows if row[2] > state.events), rows[-1])

    def _seal(self, first_row: LogRow) -> Seal:
        try:
            return self._codec.seal(first_row[4])
        except CorruptRecordError as error:
            raise _stopped(first_row, error) from error

    def _load(self, match: str, next_number: int) -> _Followed:
        """The match as the views know it, or a new one."""
        found = self._views.query("SELECT number, entries, events FROM matches WHERE match=?", (match,))
        if not found:
            return _Followed(next_number, State())
        number, entries, events = found[0]
        try:
            state = self._matches.state(match, entries)
        except (MatchNotFoundError, EntryNotFoundError):
            state = State()
        except CorruptRecordError as error:
            message = f"the match {match} cannot be read up to entry {entries}: {error}"
            raise ProjectionError(message) from error
        if state.events != events:
            raise RebuildNeededError(f"the match {match} is not as it was when the views were made")
        return _Followed(number, state)


def _digest(rows: list[LogRow]) -> str:
    """What identifies rows of the log, whatever somebody stored in them."""
    return sha256(repr(rows).encode(errors="surrogatepass")).hexdigest()


def _stopped(row: LogRow, error: Exception) -> ProjectionError:
    position, match, version, *_ = row
    reason = error if isinstance(error, CorruptRecordError) else repr(error)
    return ProjectionError(f"event {version} of {match}, in row {position} of the log, cannot be taken in: {reason}")
