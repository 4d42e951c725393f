"""The application: rebuild -> decide -> append, and what is read back of a match.

Nothing else writes. An entry is appended whole, in one transaction, or not at all; when another writer was first, the
command is decided again on what that writer left.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, count, takewhile
from threading import RLock
from typing import TYPE_CHECKING, cast

import msgspec
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.persistence import EventStore, IntegrityError, PersistenceError
from eventsourcing.utils import Environment
from msgspec import UNSET, Struct

from domain.codec import Codec, CorruptRecordError
from domain.entry import Entry, content
from domain.match import Match, MatchEventStore, MatchMapper, MatchSnapshot, SnapshotStore, projector, replay
from domain.rules.commands import AnyCommand, Command, StartMatch
from domain.rules.refusal import Refusal, bad_input, quoted
from domain.rules.shape import decode_command
from domain.rules.state import State
from domain.sqlite import MatchRecorder

if TYPE_CHECKING:
    from domain.rules.events import AnyEvent

SNAPSHOT_INTERVAL = 500
"""A snapshot is taken at the first entry that passes another so many events."""

CONFLICTS_BORNE = 100
"""How often in a row other writers may be first before a command is given up."""


class MatchNotFoundError(Exception):
    """There is no match of this name in the store."""


class EntryNotFoundError(Exception):
    """The match has no entry of this number."""


class Answer(Struct, frozen=True):
    """What a command led to, in which match.

    `repeated`: it was a retry; the entry is that of the first time, and nothing was appended.
    """

    match: str
    entry: Entry
    repeated: bool


class Matches(Application[str]):
    """The matches of one store.

    `settings` are the library's, by their names; the process's environment has no say. Safe to use from several
    threads.
    """

    name = "soulrift"

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._codec = Codec()
        self._one_writer = RLock()
        super().__init__(dict(settings))

    def start(self, command: StartMatch | bytes | str, unnamed: str = "match") -> Answer:
        """Begin a match, by a command or its JSON. One that gets no name in it is called `unnamed`, made unique.

        Raises:
            Refusal: the command is refused, its name being taken among the reasons; nothing is appended.

        """
        start = _well_formed(command)
        if not isinstance(start, StartMatch):
            raise bad_input("/type", "the first command of a match is its start_match")
        if start.match is not UNSET:
            return self._decided(start.match, start, new=True)
        for number in count(2):
            name = unnamed if number == 2 else f"{unnamed[: 63 - len(str(number - 1))]}-{number - 1}"  # noqa: PLR2004
            try:
                return self._decided(name, msgspec.structs.replace(start, match=name), new=True)
            except Refusal as refusal:
                if refusal.path not in {"/match", "/meta/id"}:  # else the name is another match's
                    raise
        raise AssertionError

    def give(self, match: str, command: AnyCommand | bytes | str) -> Answer:
        """Give a command, or its JSON, to a match and append its entry.

        Raises:
            Refusal: the command is refused; nothing is appended.
            MatchNotFoundError: there is no such match.

        """
        return self._decided(match, _well_formed(command), new=False)

    def _decided(self, match: str, command: AnyCommand, *, new: bool) -> Answer:
        if isinstance(command, StartMatch) and command.match is UNSET:
            command = msgspec.structs.replace(command, match=match)
        with self._one_writer:
            for _ in range(CONFLICTS_BORNE):
                repeated = self._first_answer(match, command)
                if repeated:
                    return Answer(match, repeated, repeated=True)
                entry = self._append(match, command, new=new)
                if entry:
                    return Answer(match, entry, repeated=False)
        message = f"{CONFLICTS_BORNE} times in a row another writer of {match} was first"
        raise TimeoutError(message)

    def _append(self, name: str, command: AnyCommand, *, new: bool) -> Entry | None:
        """Decide a command and append its entry; null if another writer was first, to be decided again on its tail."""
        match = self._to_judge(name, command, new=new)
        before = match.version
        command_id = command.meta.id if command.meta else None
        try:
            entry = match.give(command)
            self.save(match, command_ids=[(name, command_id, before + 1)] if command_id else ())
        except Refusal:
            raise
        except IntegrityError:
            self._forget(name)
            return None
        except BaseException:
            self._forget(name)  # its state may be ahead of the store
            raise
        if match.version // SNAPSHOT_INTERVAL > before // SNAPSHOT_INTERVAL and self.snapshots:
            with suppress(PersistenceError):  # the entry is stored; a match does without a snapshot
                self.snapshots.put([match.snapshot()])
        return entry

    def _to_judge(self, name: str, command: AnyCommand, *, new: bool) -> Match:
        """The match that the command is for, with as many entries as its sender believes."""
        match = Match(name, State(), self._codec) if new and not self.has(name) else self._match(name)
        entries = match.state.entries
        expect = command.meta.expect if command.meta else None
        if expect is not None and expect != entries:
            raise bad_input("/meta/expect", f"{expect} entries are expected, but {name} has {entries}", entries=entries)
        if new and entries:
            raise bad_input(
                "/match", f"there is a match {quoted(name)} already; choose another name, or go on with it by meta.id"
            )
        return match

    def _first_answer(self, match: str, command: AnyCommand) -> Entry | None:
        """The entry that a command with this `meta.id` made before."""
        if command.meta is None or command.meta.id is None:
            return None
        version = self.recorder.version_of_command(match, command.meta.id)
        if version is None:
            return None
        first = next(self._entries(match, version - 1), None)
        if first is None:
            message = f"the id {quoted(command.meta.id)} of {match} leads to event {version}, which is not there"
            raise CorruptRecordError(message)
        if content(self._codec.command(first)) != content(command):
            raise bad_input(
                "/meta/id",
                f"the id {quoted(command.meta.id)} was given to another command before, in entry {first.number}",
                entry=first.number,
            )
        return first

    def _match(self, name: str) -> Match:
        try:
            match: Match = self.repository.get(
                name, projector_func=projector(name, self._codec), deepcopy_from_cache=False
            )
        except AggregateNotFoundError:
            raise self._not_found(name) from None
        except CorruptRecordError:
            self._forget(name)  # folded half way
            raise
        return match

    def _not_found(self, name: str) -> MatchNotFoundError:
        return MatchNotFoundError(f"there is no match {quoted(name)} in {self.env['SQLITE_DBNAME']}")

    def _forget(self, name: str) -> None:
        if self.repository.cache is not None:
            try:
                self.repository.cache.get(name, evict=True)
            except KeyError:
                return

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
        with self._one_writer:
            current = self._match(match).state
            if at is None:
                return current.copy()
        if not 1 <= at <= current.entries:
            message = f"{quoted(match)} has the entries 1 to {current.entries}, not {at}"
            raise EntryNotFoundError(message)
        state = State()
        if self.snapshots:  # entries have one event or more: a snapshot at event `at` is not past entry `at`
            for snapshot in self.snapshots.get(match, lte=at, desc=True, limit=1):
                state = cast("MatchSnapshot", snapshot).state
        events = cast("Iterator[AnyEvent]", self.events.get(match, gt=state.events))
        return replay(takewhile(lambda event: event.entry <= at, events), state)

    def entries(self, match: str) -> Iterator[Entry]:
        """The entries of a match, in order, read as they are asked for.

        Raises:
            MatchNotFoundError: there is no such match.
            CorruptRecordError: a row is not what was written.

        """
        if not self.has(match):
            raise self._not_found(match)
        return self._entries(match)

    def _entries(self, match: str, after_version: int = 0) -> Iterator[Entry]:
        return self._codec.entries(chain.from_iterable(self.recorder.select_rows(match, after_version)), after_version)

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
        return MatchEventStore(self.construct_mapper(), self.recorder, self._codec)

    def construct_snapshot_store(self) -> EventStore[str]:
        """A store of our snapshots."""
        snapshots = self.factory.aggregate_recorder(purpose="snapshots")
        return SnapshotStore(self.construct_mapper(), snapshots, self.recorder, self._codec)


def _well_formed(command: AnyCommand | bytes | str) -> AnyCommand:
    """A command from its JSON; one that was made in Python passes the same edge."""
    if not isinstance(command, Command | bytes | str):
        message = f"a command is JSON text or a Command, not a {type(command).__name__}"  # type: ignore[unreachable]  # callers do
        raise TypeError(message)
    if isinstance(command, Command):
        try:
            command = msgspec.json.encode(command)
        except TypeError as error:
            raise bad_input("", f"not a command: {error}") from None
    return decode_command(command)


def sqlite_settings(path: str, *, create: bool = True) -> dict[str, str]:
    """Settings for a store in this SQLite file, or in memory (":memory:"); `create`: make its tables where missing."""
    return {
        "PERSISTENCE_MODULE": "eventsourcing.sqlite",
        "APPLICATION_RECORDER_TOPIC": "domain.sqlite:MatchRecorder",
        "SQLITE_DBNAME": path,
        "ORIGINATOR_ID_TYPE": "text",
        "CREATE_TABLE": "y" if create else "n",
        "IS_SNAPSHOTTING_ENABLED": "y",
        "AGGREGATE_CACHE_MAXSIZE": "1000",
        "DEEPCOPY_FROM_AGGREGATE_CACHE": "n",
    }
