"""Whether a store is sound: everything in it read, decoded, judged again and compared.

An entry is sound when judging its command again, on the state that the ones before it lead to, makes the very rows
that are stored: then they decode, are canonical, and have the hashes of their line and state. Only where something
differs is it asked what: events that do not follow from the command have *diverged*; where commands and events agree,
the record is *damaged*; and what this program does not know is *unverifiable*.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from domain.codec import HEAD, Codec, CorruptRecordError, NewerRecordError, Row
from domain.entry import Entry, play
from domain.match import SNAPSHOT_TOPIC, snapshot_state
from domain.recorder import COMMAND_IDS, EVENTS, SNAPSHOTS, MatchRecorder
from domain.rules.commands import AnyCommand, tag_of
from domain.rules.events import AnyEvent, MatchStarted
from domain.rules.refusal import Refusal, quoted
from domain.rules.ruleset import RULES_VERSION
from domain.rules.state import State

Kind = Literal["diverged", "damaged", "unverifiable"]


class Fault(Struct, frozen=True):
    """Something that is not as it was written: in which match, at which entry and row (the number of the event)."""

    kind: Kind
    match: str | None
    entry: int | None
    row: int | None
    message: str

    def __str__(self) -> str:
        """In one line for people."""
        place = [
            quoted(self.match) if self.match is not None else "",
            f"entry {self.entry}" if self.entry is not None else "",
            f"row {self.row}" if self.row is not None else "",
        ]
        return f"{self.kind}: {', '.join(filter(None, place)) or 'the store'}: {self.message}"


class Check:
    """A check of a whole store; it counts what it has read as it goes. It changes nothing."""

    def __init__(self, recorder: MatchRecorder, advance: Callable[[int], None] = lambda _rows: None) -> None:
        """`advance` is called with numbers of rows as they are read."""
        self.matches = self.entries = self.rows = self.snapshots = 0
        self._recorder = recorder
        self._codec = Codec()
        self._advance = advance

    def total(self) -> int:
        """How many rows the record has."""
        return int(self._recorder.query(f"SELECT count(*) FROM {EVENTS}")[0][0])  # noqa: S608 - a name of ours

    def faults(self) -> Iterator[Fault]:
        """Every fault, as it is found; the store is seen as it was at one moment.

        Raises:
            PersistenceError: the database cannot read its own files.

        """
        for message in self._recorder.integrity():
            yield Fault("damaged", None, None, None, message)
        with self._recorder.reading():
            total = self.total()
            yield from self._matches()
            if self.rows != total:
                yield Fault("damaged", None, None, None, f"{total - self.rows} rows have no match or no number")
            yield from self._strays()

    def _matches(self) -> Iterator[Fault]:
        name: Any = None
        stream: _Stream | None = None
        for rows in self._recorder.select_all_rows():
            streams = self._streams({row[0] for row in rows} - {name})
            for match, version, topic, state, position in rows:
                if stream is None or match != name:
                    if stream:
                        yield from self._ended(stream)
                    name, stream = match, streams[match]
                yield from stream.take(version, topic, state, position)
            self.rows += len(rows)
            self._advance(len(rows))
        if stream:
            yield from self._ended(stream)

    def _ended(self, stream: "_Stream") -> Iterator[Fault]:
        yield from stream.end()
        self.matches += 1
        self.entries += stream.entries

    def _streams(self, matches: Iterable[str]) -> dict[str, "_Stream"]:
        """What is stored beside the rows of these matches, ready to be compared."""
        streams = {match: _Stream(match, self._codec, self._snapshot) for match in matches}
        if not streams:
            return streams
        marks = ", ".join("?" * len(streams))
        for match, version in self._recorder.query(
            f"SELECT originator_id, originator_version FROM {SNAPSHOTS} WHERE originator_id IN ({marks})",  # noqa: S608
            list(streams),
        ):
            streams[match].snapshots.add(version)
            self.snapshots += 1
        for match, command_id, version in self._recorder.query(
            f"SELECT originator_id, command_id, originator_version FROM {COMMAND_IDS} "  # noqa: S608
            f"WHERE originator_id IN ({marks})",
            list(streams),
        ):
            streams[match].command_ids[command_id] = version
        return streams

    def _snapshot(self, match: str, version: int) -> tuple[str, bytes]:
        """The topic and the state of a stored snapshot."""
        sql = f"SELECT topic, state FROM {SNAPSHOTS} WHERE originator_id=? AND originator_version=?"  # noqa: S608
        ((topic, state),) = self._recorder.query(sql, (match, version))
        return topic, state

    def _strays(self) -> Iterator[Fault]:
        for table in (SNAPSHOTS, COMMAND_IDS):
            for (match,) in self._recorder.query(
                f"SELECT DISTINCT originator_id FROM {table} AS other "  # noqa: S608
                f"WHERE NOT EXISTS (SELECT 1 FROM {EVENTS} WHERE originator_id = other.originator_id)"
            ):
                yield Fault("damaged", str(match), None, None, f"{table} has rows of it, but there is no such match")


class _Stream:
    """The rows of one match, in order, on their way through the check."""

    def __init__(self, match: Any, codec: Codec, snapshot: Callable[[str, int], tuple[str, bytes]]) -> None:
        self.match = match if isinstance(match, str) else repr(match)
        self.entries = 0
        self.snapshots: set[int] = set()
        self.command_ids: dict[str, int] = {}
        self._codec = codec
        self._snapshot = snapshot
        self._state: State | None = State()  # null once it is not known any more
        self._rows: list[Row] = []
        self._version = 0
        self._position = -1

    def take(self, version: Any, topic: Any, state: Any, position: int) -> Iterator[Fault]:
        """The next row."""
        if (type(version), type(topic), type(state)) != (int, str, bytes):
            self._state = None
            yield self._fault("damaged", self._version + 1, "its number, topic or state is of another type")
            return
        if state.startswith(HEAD):
            yield from self._entry()
        if version != self._version + 1:
            yield from self._entry()
            self._state = None
            yield self._fault("damaged", version, f"the rows from {self._version + 1} up to it are missing")
        if position <= self._position:
            yield self._fault(
                "damaged", version, f"its position {position} is not after {self._position}, the one before"
            )
        self._version, self._position = version, position
        self._rows.append((version, topic, state))

    def end(self) -> Iterator[Fault]:
        """No more rows."""
        yield from self._entry()
        if self._state is None:
            return
        for version in sorted(self.snapshots):
            yield self._fault("damaged", version, "there is a snapshot of it, but no entry ends with it")
        for command_id, version in self.command_ids.items():
            yield self._fault("damaged", version, f"{COMMAND_IDS} has {quoted(command_id)} here, but no command has it")

    def _entry(self) -> Iterator[Fault]:
        """Judge the rows of an entry, which are all there."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        self.entries += 1
        try:
            command = self._codec.command_of(rows[0])
            if self._state is None:
                yield from self._judged_alone(rows)
            else:
                yield from self._judged_again(self._state, command, rows)
            yield from self._id_known(command, rows[0][0])
        except NewerRecordError as error:
            self._state = None
            yield self._fault("unverifiable", rows[0][0], str(error))
        except CorruptRecordError as error:
            self._state = None
            yield self._fault("damaged", rows[0][0], str(error))
        yield from self._snapshot_fits(rows[-1][0])

    def _judged_alone(self, rows: list[Row]) -> Iterator[Fault]:
        """Where the state is not known any more: does the line have its hash?"""
        for _ in self._codec.entries(rows, rows[0][0] - 1):
            yield from ()

    def _judged_again(self, state: State, command: AnyCommand, rows: list[Row]) -> Iterator[Fault]:
        try:
            played = play(state, command)
        except Refusal as refusal:
            self._state = None
            yield self._fault("diverged", rows[0][0], f"its command is refused: {refusal}")
            return
        if self._codec.rows(played) != rows:
            yield from self._differences(played, rows)

    def _differences(self, played: Entry, rows: list[Row]) -> Iterator[Fault]:
        """What differs in an entry that is not what its command makes now."""
        events = [self._codec.event(topic, state) for _, topic, state in rows]
        first = events[0]
        if isinstance(first, MatchStarted) and first.rules != RULES_VERSION:
            self._state = None
            yield self._fault(
                "unverifiable", 1, f"played by version {first.rules} of the rules, which is not known here"
            )
            return
        if events != list(played.events):
            self._state = None
            yield self._fault("diverged", *_first_difference(rows, events, played.events))
            return
        for stored, made in zip(rows, self._codec.rows(played), strict=True):
            if stored[1] == made[1] and stored[2] != made[2]:
                yield self._fault(
                    "damaged", stored[0], "it says what its command leads to, but not in the bytes written"
                )
                return
        for _ in self._codec.entries(rows, rows[0][0] - 1):  # of an older shape
            return

    def _id_known(self, command: AnyCommand, version: int) -> Iterator[Fault]:
        command_id = command.meta.id if command.meta else None
        if command_id is not None and self.command_ids.pop(command_id, None) != version:
            message = f"{COMMAND_IDS} does not lead from {quoted(command_id)} to it: a retry would take effect again"
            yield self._fault("damaged", version, message)

    def _snapshot_fits(self, version: int) -> Iterator[Fault]:
        if version not in self.snapshots:
            return
        self.snapshots.remove(version)
        topic, state = self._snapshot(self.match, version)
        if self._state is not None and topic == SNAPSHOT_TOPIC and snapshot_state(topic, state) != self._state:
            yield self._fault("damaged", version, "the snapshot of it is not the state that the events add up to")

    def _fault(self, kind: Kind, row: int, message: str) -> Fault:
        return Fault(kind, self.match, self.entries or None, row, message)


def _first_difference(rows: list[Row], found: list[AnyEvent], expected: tuple[AnyEvent, ...]) -> tuple[int, str]:
    """The row with the first event that does not follow from the command, and how it differs."""
    for (version, _, _), event, wanted in zip(rows, found, expected, strict=False):
        if type(event) is not type(wanted):
            return (
                version,
                f"it is {tag_of(type(event).__name__)}, but its command leads to {tag_of(type(wanted).__name__)}",
            )
        for name in event.__struct_fields__:
            is_, should = getattr(event, name), getattr(wanted, name)
            if is_ != should:
                return version, f"its {name} is {_json(is_)}, but its command leads to {_json(should)}"
    return rows[-1][0], f"the entry has {len(found)} events, but its command leads to {len(expected)}"


def _json(value: object) -> str:
    return quoted(msgspec.to_builtins(value))
