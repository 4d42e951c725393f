"""The application: rebuild -> decide -> append, and what is read back of a match.

Nothing else writes. An entry is appended whole, in one transaction, or not at all; when another writer was first, the
command is decided again on what that writer left.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count, islice, takewhile
from threading import RLock
from typing import TYPE_CHECKING, cast

import msgspec
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.persistence import EventStore, IntegrityError, PersistenceError
from eventsourcing.utils import Environment
from msgspec import UNSET, Struct

from domain.batch import Answer, Batch, Commitments, Outcome, command_or_refusal, log_outcomes, well_formed
from domain.codec import Codec, CorruptRecordError, replay
from domain.entry import Entry, content
from domain.match import Match, MatchEventStore, MatchMapper, MatchSnapshot, SnapshotStore, projector
from domain.privacy import Opening
from domain.recorder import BATCH, PAUSE, RECONNECT_SECONDS, ConnectionLostError, MatchRecorder, log, whole_entries
from domain.rules.commands import MAX_INTEGER, AnyCommand, Origin, StartMatch
from domain.rules.refusal import Refusal, bad_input, quoted
from domain.rules.state import State

if TYPE_CHECKING:
    from domain.rules.events import AnyEvent

SNAPSHOT_INTERVAL = 500
"""A snapshot is taken at the first entry that passes another so many events."""

CONFLICTS_BORNE = 100
"""How often in a row a writer outside of the queue may be first before a command is given up."""

ROWS_OF_AN_ENTRY = 32
"""How many rows are read for one entry; few have more."""


class MatchNotFoundError(Exception):
    """There is no match of this name in the store."""


class IncompleteMatchError(Exception):
    """A record of which only a part was imported: it takes no commands until the rest is."""


class EntryNotFoundError(Exception):
    """The match has no entry of this number."""


class Logged(Struct, frozen=True, gc=False):
    """An entry of some match in the log of a store; `position` is that of its last row, from which one goes on."""

    position: int
    match: str
    entry: Entry


class Matches(Application[str]):
    """The matches of one store.

    `settings` are those of `sqlite_settings` or `postgres_settings`; the process's environment has no say. Safe to use
    from several threads.

    Raises:
        StoreError: there is no store, or one of a newer format.
        TypeError: these are no settings, but a name.

    """

    name = "soulrift"

    def __init__(self, settings: Mapping[str, str]) -> None:
        if not isinstance(settings, Mapping):
            message = "a store is opened by its settings: sqlite_settings(path)"  # type: ignore[unreachable]  # callers do
            raise TypeError(message)
        self.codec = Codec()
        self._one_writer = RLock()
        self.on_appended: Callable[[str, Sequence[Entry]], object] | None = None
        """Is told of the entries of a match that are stored now; what it raises is logged, for they stay stored."""
        super().__init__(dict(settings))
        try:
            self.recorder.refuse_other_formats()
        except BaseException:
            self.close()
            raise
        log.info("store opened", extra={"store": self.env["STORE"]})

    def start(self, command: StartMatch | bytes | str, unnamed: str = "match") -> Answer:
        """Begin a match, by a command or its JSON. One that gets no name in it is called `unnamed`, made unique.

        Raises:
            Refusal: the command is refused, its name being taken among the reasons; nothing is appended.

        """
        start = well_formed(command)
        if not isinstance(start, StartMatch):
            raise bad_input("/type", "the first command of a match is its start_match")
        if start.match is not UNSET:
            return self._decided(start.match, start, new=True)
        well_formed(msgspec.structs.replace(start, match=unnamed))
        for number in count(2):
            name = unnamed if number == 2 else f"{unnamed[: 63 - len(str(number - 1))]}-{number - 1}"  # noqa: PLR2004
            try:
                return self._decided(name, msgspec.structs.replace(start, match=name), new=True)
            except Refusal as refusal:
                taken = {"/match", "/meta/id", "/meta/expect"} if self.has(name) else set()
                if refusal.path not in taken:  # else the name is another match's
                    raise
        raise AssertionError

    def fork(self, match: str, at: int, name: str) -> Answer:
        """Begin a match of this name with the first `at` commands of another one, which are judged again.

        Its `start_match` says of what it is a fork. The names of a private match stay hidden as they are; their
        openings are copied. All of it is stored in one transaction.

        Raises:
            MatchNotFoundError, EntryNotFoundError: there is no such match, or it has no such entry.
            Refusal: the name is taken, or is none.

        """
        if self.has(name):
            raise bad_input("/match", f"there is a match {quoted(name)} already; choose another name")
        recorded = islice(self.entries(match), min(max(at, 0), MAX_INTEGER))
        commands = [self.codec.command(entry) for entry in recorded]
        if len(commands) < max(at, 1):
            raise self._no_entry(match, len(commands) if at > 0 else self.state(match).entries, at)
        start = msgspec.structs.replace(commands[0], match=name, origin=Origin(match=match, entry=at))
        source = partial(self.openings, match)
        *_, last = self._transact(name, [well_formed(start), *commands[1:]], new=True, recorded_with=source)
        if isinstance(last, Refusal):
            raise last
        return last

    def give(self, match: str, command: AnyCommand | bytes | str) -> Answer:
        """Give a command, or its JSON, to a match and append its entry.

        Raises:
            Refusal: the command is refused; nothing is appended.
            MatchNotFoundError: there is no such match.

        """
        return self._decided(match, well_formed(command), new=False)

    def give_all(
        self, match: str, commands: Iterable[AnyCommand | bytes | str], *, keep_going: bool = False
    ) -> list[Outcome]:
        """Give commands, or their JSON, to a match and append their entries in one transaction: all of them, or none.

        What came of each is returned when all is stored. They end with the first that is refused, unless told to
        `keep_going`; the entries before it are stored in any case.

        Raises:
            MatchNotFoundError: there is no such match.

        """
        return self._transact(match, [command_or_refusal(command) for command in commands], keep_going=keep_going)

    def _decided(self, match: str, command: AnyCommand, *, new: bool) -> Answer:
        (outcome,) = self._transact(match, [command], new=new)
        if isinstance(outcome, Refusal):
            raise outcome
        return outcome

    def _transact(
        self,
        name: str,
        commands: Sequence[AnyCommand | Refusal],
        *,
        new: bool = False,
        keep_going: bool = False,
        recorded_with: Callable[[], Sequence[Opening]] | None = None,
    ) -> list[Outcome]:
        """Judge commands and append their entries; decided again where another writer was first, or the server away.

        Commands that are taken from a record come `recorded_with` the openings of that.
        """
        openings = recorded_with or partial(self.recorder.openings, name)
        last = time.monotonic() + RECONNECT_SECONDS
        with self._one_writer:
            for _ in range(CONFLICTS_BORNE):
                batch = Batch(name, Commitments(openings, recorded=recorded_with is not None), new=new)
                try:
                    with self.recorder.writing(name):
                        self._judge(batch, commands, keep_going=keep_going)
                        if batch.match:
                            self._keep(name, list(batch.commitments.kept.values()))
                            self.events.put(batch.match.collect_events(), command_ids=batch.command_ids)
                except (IntegrityError, ConnectionLostError) as error:
                    self._forget(name)
                    if isinstance(error, ConnectionLostError) and time.monotonic() > last:
                        raise
                    log.warning("nothing was stored; deciding again", extra={"match": name, "reason": str(error)})
                    time.sleep(PAUSE if isinstance(error, ConnectionLostError) else 0)
                except BaseException:
                    self._forget(name)  # its state may be ahead of the store
                    raise
                else:
                    if batch.match:
                        self._take_snapshot(batch.match, batch.before)
                    log_outcomes(name, batch.outcomes)
                    self._tell_appended(name, batch.outcomes)
                    return batch.outcomes
        message = f"{CONFLICTS_BORNE} times in a row another writer of {name} was first"
        raise TimeoutError(message)

    def _tell_appended(self, match: str, outcomes: Sequence[Outcome]) -> None:
        if self.on_appended is None:
            return
        entries = [each.entry for each in outcomes if not isinstance(each, Refusal) and not each.repeated]
        if entries:
            try:
                self.on_appended(match, entries)
            except Exception as error:  # noqa: BLE001 - whatever it is, the entries are stored
                log.error("who is told of new entries failed", extra={"match": match, "reason": str(error)})

    def _judge(self, batch: Batch, commands: Sequence[AnyCommand | Refusal], *, keep_going: bool) -> None:
        ids = [command.meta.id for command in commands if not isinstance(command, Refusal) and command.meta]
        known = self.recorder.versions_of_commands(batch.name, [command_id for command_id in ids if command_id])
        for command in commands:
            try:
                if isinstance(command, Refusal):
                    raise command
                batch.outcomes.append(self._outcome(batch, command, known))
            except Refusal as refusal:
                batch.outcomes.append(refusal)
                if not keep_going:
                    return

    def _outcome(self, batch: Batch, command: AnyCommand, known: Mapping[str, int]) -> Answer:
        if isinstance(command, StartMatch) and command.match is UNSET:
            command = msgspec.structs.replace(command, match=batch.name)
        command_id = command.meta.id if command.meta else None
        if command_id in batch.made:
            first = batch.made[command_id]
        elif command_id is not None and command_id in known:
            first = self._first_answer(batch.name, command_id, known[command_id])
        else:
            if batch.match is None:
                batch.match = self._to_judge(batch.name, new=batch.new)
                batch.before = batch.match.version
            return Answer(batch.name, batch.give(batch.match, command), repeated=False)
        if content(self._as_given(batch, first)) != content(command):
            raise bad_input(
                "/meta/id",
                f"the id {quoted(command_id)} was given to another command before, in entry {first.number}",
                entry=first.number,
            )
        return Answer(batch.name, first, repeated=True)

    def _as_given(self, batch: Batch, entry: Entry) -> AnyCommand:
        """The command of an entry as it was given: in a private match, with the names that it was given with."""
        recorded = self.codec.command(entry)
        hidden = isinstance(recorded, StartMatch) and recorded.private
        return batch.commitments.shown(recorded) if hidden else recorded

    def _keep(self, match: str, openings: Sequence[Opening]) -> int:
        return self.recorder.add_openings(match, openings) if openings else 0

    def _first_answer(self, match: str, command_id: str, version: int) -> Entry:
        """The entry that the command with this `meta.id` made, which begins with this event."""
        rows = chain.from_iterable(self.recorder.select_rows(match, version - 1, batch=ROWS_OF_AN_ENTRY))
        first = next(self.codec.entries(rows, version - 1), None)
        if first is None:
            message = f"the id {quoted(command_id)} of {match} leads to event {version}, which is not there"
            raise CorruptRecordError(message)
        return first

    def _to_judge(self, name: str, *, new: bool) -> Match:
        if new and not self.has(name):
            return Match(name, State(), self.codec)
        match = self._match(name)
        if not match.whole:
            if self.recorder.incomplete(name):
                message = (
                    f"only a part of {quoted(name)} was imported: import the same file again, and it takes commands"
                )
                raise IncompleteMatchError(message)
            match.whole = True
        return match

    def _take_snapshot(self, match: Match, before: int) -> None:
        """A snapshot, where a match passed another interval since event `before`; it does without it if that fails."""
        if self.snapshots and match.version // SNAPSHOT_INTERVAL > before // SNAPSHOT_INTERVAL:
            try:
                self.snapshots.put([match.snapshot()])
            except PersistenceError as error:
                log.warning("no snapshot could be taken", extra={"match": match.id, "reason": str(error)})

    def _match(self, name: str) -> Match:
        """The match as it is now: from the cache, or rebuilt, and what others appended since.

        A store that has not what the cache knows was restored, or lost its newest rows: then the cache is wrong.
        """
        try:
            for _ in range(2):
                match: Match = self.repository.get(
                    name, projector_func=projector(name, self.codec), deepcopy_from_cache=False
                )
                moment = self.recorder.moment()
                if moment is not None and moment == match.moment:
                    return match
                if match.catch_up(self.recorder.select_rows(name, match.version - 1)):
                    match.moment = moment
                    return match
                self._forget(name)
        except AggregateNotFoundError:
            raise self.not_found(name) from None
        except CorruptRecordError:
            self._forget(name)  # folded half way
            raise
        message = f"the newest rows of {quoted(name)} change as they are read"
        raise CorruptRecordError(message)

    def not_found(self, name: str) -> MatchNotFoundError:
        """The error that there is no match of this name in this store."""
        return MatchNotFoundError(f"there is no match {quoted(name)} in {self.env['STORE']}")

    def _forget(self, name: str) -> None:
        if self.repository.cache is not None:
            try:
                self.repository.cache.get(name, evict=True)
            except KeyError:
                return

    def record(
        self, match: Match, entries: Sequence[Entry], root: str, *, whole: bool, openings: Sequence[Opening] = ()
    ) -> None:
        """Append entries that were recorded and proven elsewhere, as they are, in one transaction.

        `match` is as the entries before them left it, and is brought up to date. Unless the record with this Merkle
        `root` is `whole` with them, the match takes no commands until it is. Its `openings`, if it is private, are
        stored with them.

        Raises:
            IntegrityError: the store has other entries of a match of this name.

        """
        before = match.version
        for entry in entries:
            match.take(entry)
        ids = [(match.id, command_id, entry.events[0].n) for entry in entries if (command_id := self._id_of(entry))]
        events, last = match.collect_events(), time.monotonic() + RECONNECT_SECONDS
        with self._one_writer:
            while True:
                try:
                    with self.recorder.writing(match.id):
                        if self.recorder.last_version(match.id) != before:
                            message = f"another record of {quoted(match.id)} has begun meanwhile"
                            raise IntegrityError(message)
                        self._keep(match.id, openings)
                        self.events.put(events, command_ids=ids)
                        if not whole or before:
                            self.recorder.mark_incomplete(match.id, None if whole else root)
                except ConnectionLostError as error:
                    if time.monotonic() > last:
                        raise
                    log.warning("nothing was stored; trying again", extra={"match": match.id, "reason": str(error)})
                    time.sleep(PAUSE)
                else:
                    break
        self._take_snapshot(match, before)

    def add_openings(self, match: str, openings: Sequence[Opening]) -> int:
        """Keep openings of a private match that is in the store, which were proven to belong to it; how many are new.

        Those that there are stay as they are.
        """
        with self._one_writer, self.recorder.writing(match):
            return self._keep(match, openings)

    def _id_of(self, entry: Entry) -> str | None:
        if b'"id":' not in entry.command_json:
            return None
        meta = self.codec.command(entry).meta
        return meta.id if meta else None

    # ------------------------------------------------------------ reading

    def has(self, match: str) -> bool:
        """Whether there is a match of this name."""
        return self.recorder.has_match(match)

    def state(self, match: str, at: int | None = None) -> State:
        """The state of a match now, or after entry `at` (1 to the last). It is the caller's own.

        Raises:
            MatchNotFoundError: there is no such match.
            EntryNotFoundError: it has no such entry.

        """
        if at is None:
            with self._one_writer:
                return self._match(match).state.copy()
        state = State()
        if self.snapshots:  # entries have one event or more: a snapshot at event `at` is not past entry `at`
            for snapshot in self.snapshots.get(match, lte=min(at, MAX_INTEGER), desc=True, limit=1):
                state = cast("MatchSnapshot", snapshot).state
        events = cast("Iterator[AnyEvent]", self.events.get(match, gt=state.events))
        replay(takewhile(lambda event: event.entry <= at, events), state)
        if at < 1 or state.entries < at:
            raise self._no_entry(match, self.state(match).entries, at)
        return state

    def _no_entry(self, match: str, entries: int, at: int) -> EntryNotFoundError:
        return EntryNotFoundError(f"{quoted(match)} has the entries 1 to {entries}, not {at}")

    def entries(self, match: str, after: int = 0) -> Iterator[Entry]:
        """The entries of a match, in order, read as they are asked for; those behind event number `after`.

        Raises:
            MatchNotFoundError: there is no such match.
            CorruptRecordError: a row is not what was written.

        """
        batches = self.recorder.select_rows(match, after)
        first = next(batches, [])
        if not first and not self.has(match):
            raise self.not_found(match)
        return self.codec.entries(chain(first, chain.from_iterable(batches)), after)

    def logged(self, after: int = 0) -> Iterator[Logged]:
        """The entries of all matches, in the order of their commits; those behind position `after` of the log.

        They are read as they are asked for, up to the last one there is. What is stored later has higher positions: to
        follow the log, ask again from the last one seen on. Nothing is missed or told twice, whoever writes meanwhile.

        Raises:
            CorruptRecordError: a row is not what was written, or `after` is the position of no entry's last row.

        """
        limit = BATCH
        while rows := self.recorder.select_log(after + 1, limit):
            more = len(rows) == limit
            entries = whole_entries(rows, more=more)
            for some in entries:
                after, match, first = some[-1][0], some[0][1], some[0][2]
                for entry in self.codec.entries([row[2:] for row in some], first - 1):
                    yield Logged(after, match, entry)
            if not more:
                return
            limit = BATCH if entries else limit * 2

    def openings(self, match: str) -> list[Opening]:
        """What the commitments of a private match stand for, as far as the store knows; sorted by commitment.

        Raises:
            MatchNotFoundError: there is no such match.

        """
        if not self.has(match):
            raise self.not_found(match)
        return self.recorder.openings(match)

    # ------------------------------------------------------------ what the library builds for us

    recorder: MatchRecorder

    def construct_env(self, name: str, env: Mapping[str, str] | None = None) -> Environment:
        """The settings given, and nothing from the process's environment."""
        return Environment(name, dict(env or {}))

    def construct_mapper(self) -> MatchMapper:
        """A mapper of our rows."""
        return MatchMapper(transcoder=None)  # type: ignore[arg-type]  # rows are encoded already

    def construct_event_store(self) -> EventStore[str]:
        """An event store of our rows."""
        return MatchEventStore(self.construct_mapper(), self.recorder, self.codec)

    def construct_snapshot_store(self) -> EventStore[str]:
        """A store of our snapshots."""
        snapshots = self.factory.aggregate_recorder(purpose="snapshots")
        return SnapshotStore(self.construct_mapper(), snapshots, self.recorder, self.codec)
