"""Whether a store is sound: everything in it read, decoded, judged again and compared.

An entry is sound when judging its command again, on the state that the ones before it lead to, makes the very rows
that are stored: then they decode, are canonical, and have the hashes of their line and state. Only where something
differs is it asked what: events that do not follow from the command have *diverged*; where commands and events agree,
the record is *damaged*; and what this program does not know is *unverifiable*.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from domain.codec import HEAD, Codec, CorruptRecordError, NewerRecordError, Row
from domain.entry import Entry, play
from domain.match import SNAPSHOT_TOPIC, snapshot_state
from domain.recorder import COMMAND_IDS, EVENTS, IDENTITY, INCOMPLETE, OPENINGS, SNAPSHOTS, MatchRecorder
from domain.rules.commands import AnyCommand, StartMatch, tag_of
from domain.rules.events import AnyEvent, MatchStarted
from domain.rules.refusal import Refusal, quoted
from domain.rules.ruleset import RULES_VERSION
from domain.rules.state import State
from domain.schema import may_read, misshapen

Kind = Literal["diverged", "damaged", "unverifiable"]

_SNAPSHOT_TOPIC = re.compile(r"snapshot\.v[1-9][0-9]{0,8}")
_IDENTITY = re.compile("[0-9a-f]{16}")


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
        self.total = 0
        """How many rows the record has, once the first of them is read."""
        self._recorder = recorder
        self._codec = Codec()
        self._advance = advance

    def faults(self) -> Iterator[Fault]:
        """Every fault, as it is found; the store is seen as it was at one moment.

        Raises:
            PersistenceError: the database cannot read its own files.

        """
        for message in self._recorder.integrity():
            yield Fault("damaged", None, None, None, message)
        with self._recorder.reading():
            for message in misshapen(self._recorder):
                yield Fault("damaged", None, None, None, message)
            self.total = self._recorder.query(f"SELECT count(*) FROM {EVENTS}")[0][0]  # noqa: S608 - a name of ours
            yield from self._matches()
            if self.rows != self.total:
                yield Fault("damaged", None, None, None, f"{self.total - self.rows} rows have no match or no number")
            yield from self._openings()
            yield from self._strays()
            yield from self._identity()

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
        streams = {match: _Stream(match, self._codec, self._snapshots_at) for match in matches}
        if not streams:
            return streams
        marks = ", ".join("?" * len(streams))
        for match, version in self._recorder.query(
            f"SELECT originator_id, originator_version FROM {SNAPSHOTS} WHERE originator_id IN ({marks})",  # noqa: S608
            list(streams),
        ):
            if match in streams:  # a broken index leads to others; SQLite's own check has told of it
                streams[match].snapshots.add(version)
                self.snapshots += 1
        for match, command_id, version in self._recorder.query(
            f"SELECT originator_id, command_id, originator_version FROM {COMMAND_IDS} "  # noqa: S608
            f"WHERE originator_id IN ({marks})",
            list(streams),
        ):
            if match in streams:
                streams[match].command_ids[command_id] = version
        if self._recorder.has_table(OPENINGS):
            for match, commitment in self._recorder.query(
                f"SELECT originator_id, commitment FROM {OPENINGS} WHERE originator_id IN ({marks})",  # noqa: S608
                list(streams),
            ):
                if match in streams:
                    streams[match].openings.add(commitment)
        return streams

    def _snapshots_at(self, match: str, version: int) -> list[tuple[Any, ...]]:
        """The topic and the state of each stored snapshot of this event; there is one."""
        sql = f"SELECT topic, state FROM {SNAPSHOTS} WHERE originator_id=? AND originator_version=?"  # noqa: S608
        return self._recorder.query(sql, (match, version))

    def _openings(self) -> Iterator[Fault]:
        """The openings that open nothing; there may be none of a commitment."""
        for openings in self._recorder.select_all_openings():
            for match, opening in openings:
                if not opening.holds():
                    message = f"{OPENINGS} has another salt or value than those of {quoted(opening.commitment, 80)}"
                    yield Fault("damaged", shown(match), None, None, message)

    def _strays(self) -> Iterator[Fault]:
        later = [table for table in (OPENINGS, INCOMPLETE) if self._recorder.has_table(table)]
        for table in (SNAPSHOTS, COMMAND_IDS, *later):
            for (match,) in self._recorder.query(
                f"SELECT DISTINCT originator_id FROM {table} AS other "  # noqa: S608
                f"WHERE NOT EXISTS (SELECT 1 FROM {EVENTS} WHERE originator_id = other.originator_id)"
            ):
                yield Fault("damaged", shown(match), None, None, f"{table} has rows of it, but there is no such match")

    def _identity(self) -> Iterator[Fault]:
        """A store has none before anybody needs it; who only reads need not be let see it."""
        found = self._recorder.query(f"SELECT identity FROM {IDENTITY}") if may_read(self._recorder, IDENTITY) else []  # noqa: S608
        if len(found) > 1 or not all(isinstance(each, str) and _IDENTITY.fullmatch(each) for (each,) in found):
            yield Fault("damaged", None, None, None, f"{IDENTITY} does not hold one row of 16 hexadecimal digits")


class _Stream:
    """The rows of one match, in order, on their way through the check."""

    def __init__(self, match: Any, codec: Codec, snapshots_at: Callable[[Any, int], list[Any]]) -> None:
        self._name = match
        self.match = shown(match)
        self.entries = 0
        self.snapshots: set[int] = set()
        self.command_ids: dict[str, int] = {}
        self.openings: set[str] = set()
        """The commitments that are opened, without those that a command before has."""
        self._codec = codec
        self._snapshots_at = snapshots_at
        self._state: State | None = State()  # null once it is not known any more
        self._rows: list[Row] = []
        self._number = 0  # of the entry whose rows are being gathered
        self._counted = True  # not after a row that could not be read: it may have been the first of an entry
        self._version = 0
        self._position: int | None = None

    def take(self, version: Any, topic: Any, state: Any, position: int) -> Iterator[Fault]:
        """The next row."""
        if (type(version), type(topic), type(state)) != (int, str, bytes):
            self._state = None
            row = version if isinstance(version, int) else self._version + 1
            said = self._event(str(topic), state.encode(errors="surrogateescape") if isinstance(state, str) else state)
            message = "its number, topic or state is of another type"
            yield self._fault("damaged", row, message, said.entry if said else None)
            self._version, self._counted = row, False
            return
        if version < 1:
            self._state = None
            said = self._event(topic, state)
            message = f"there is a row of the number {version}"
            yield self._fault("damaged", said.n if said else version, message, said.entry if said else None)
            return
        if version != self._version + 1 or not self._counted:
            yield from self._gap(version, topic, state)
        elif state.startswith(HEAD):
            yield from self._entry()
            self._number += 1
        if self._position is not None and position <= self._position:
            message = f"its position {position} is not after that of the row before, {self._position}"
            yield self._fault("damaged", version, message)
        self._version, self._position = version, position
        self._rows.append((version, topic, state))

    def _gap(self, version: int, topic: str, state: bytes) -> Iterator[Fault]:
        self._state = None
        yield from self._entry()
        said = self._event(topic, state)
        self._number = said.entry if said else self._number + 1
        if version != self._version + 1:
            message = f"the rows from {self._version + 1} up to it are missing"
            yield self._fault("damaged", version, message, said.entry if said else None)
        self._counted = True

    def end(self) -> Iterator[Fault]:
        """No more rows."""
        yield from self._entry()
        if self._state is None:
            return
        for version in sorted(self.snapshots, key=str):
            yield self._fault("damaged", version, "there is a snapshot of it, but no entry ends with it", None)
        for command_id, version in self.command_ids.items():
            message = f"{COMMAND_IDS} has {quoted(command_id)} here, but no command has it"
            yield self._fault("damaged", version, message, None)
        for commitment in sorted(self.openings, key=str):
            message = f"{OPENINGS} has one of {quoted(commitment, 80)}, but no command has that"
            yield self._fault("damaged", None, message, None)

    def _entry(self) -> Iterator[Fault]:
        """Judge the rows of an entry, which are all there."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        self.entries += 1
        faults = list(self._entry_faults(rows))
        newer = self._newer(rows) if any(fault.kind != "damaged" for fault in faults) else None
        yield from [newer] if newer else faults
        yield from self._snapshot_fits(rows[-1][0])

    def _entry_faults(self, rows: list[Row]) -> Iterator[Fault]:
        try:
            command = self._codec.command_of(rows[0])
            if self._state is None:
                yield from self._line_fault(rows)
            else:
                yield from self._judged_again(self._state, command, rows)
            yield from self._id_known(command, rows[0][0])
            names = [player.name for player in command.players] if isinstance(command, StartMatch) else []
            self.openings.difference_update([*names, command.meta and command.meta.actor])
        except CorruptRecordError as error:
            self._state = None
            yield self._newer(rows) or self._fault("damaged", rows[0][0], str(error))
        if rows[0][0] == 1 and self._state and self._state.match != self.match:
            yield self._fault("damaged", 1, f"it is the record of {quoted(self._state.match)}, under another name")

    def _line_fault(self, rows: list[Row]) -> Iterator[Fault]:
        """What can still be said of an entry where the state is not known: whether its line has its hash."""
        for row in rows:
            try:
                self._codec.event(row[1], row[2])
            except CorruptRecordError as error:
                yield self._newer(rows) or self._fault("damaged", row[0], str(error))
                return
        for _ in self._codec.entries(rows, rows[0][0] - 1):
            return

    def _judged_again(self, state: State, command: AnyCommand, rows: list[Row]) -> Iterator[Fault]:
        try:
            played = play(state, command)
        except Refusal as refusal:
            self._state = None
            yield self._fault("diverged", rows[0][0], f"its command is refused: {refusal}")
        except Exception as error:  # noqa: BLE001 - the rules are not made for what never passed the edge
            self._state = None
            yield self._fault("diverged", rows[0][0], f"its command is no command that was ever taken: {error!r}")
        else:
            made = self._codec.rows(played)
            if made != rows:
                yield from self._differences(played, made, rows)

    def _differences(self, played: Entry, made: list[Row], rows: list[Row]) -> Iterator[Fault]:
        """What differs in an entry that is not what its command makes now."""
        rewritten = None
        for index, row in enumerate(rows):
            if index < len(made) and row == made[index]:
                continue
            fault = self._difference(played, index, row)
            if fault:
                self._state = None
                yield fault
                return
            if row[1] == made[index][1]:
                rewritten = row[0] if rewritten is None else rewritten
        if len(rows) < len(made):
            self._state = None
            message = f"the entry ends with it, but its command leads to {len(made)} events, not {len(rows)}"
            yield self._fault("diverged", rows[-1][0], message)
        elif rewritten is not None:
            message = "it says what its command leads to, but not in the bytes that were written"
            yield self._fault("damaged", rewritten, message)
        else:
            yield from self._line_fault(rows)  # of an older shape

    def _difference(self, played: Entry, index: int, row: Row) -> Fault | None:
        """Why a row is not the one that the command makes; null if it tells the same event."""
        version, topic, state = row
        superfluous = index >= len(played.events)
        try:
            event = self._codec.event(topic, state)
        except CorruptRecordError as error:
            kind: Kind = "unverifiable" if isinstance(error, NewerRecordError) else "damaged"
            return self._fault(kind, version, str(error), None if superfluous else self._number)
        if event.entry != self._number:
            message = f"it belongs to entry {event.entry}, whose first row is missing or no such row any more"
            return self._fault("damaged", version, message, event.entry if superfluous else self._number)
        if superfluous:
            return self._fault("diverged", version, f"its command leads to {len(played.events)} events, and not to it")
        if isinstance(event, MatchStarted) and event.rules != RULES_VERSION:
            message = f"the match is played by version {event.rules} of the rules, which is not known here"
            return self._fault("unverifiable", version, message)
        differs = _difference(event, played.events[index])
        return self._fault("diverged", version, differs) if differs else None

    def _id_known(self, command: AnyCommand, version: int) -> Iterator[Fault]:
        command_id = command.meta.id if command.meta else None
        if command_id is not None and self.command_ids.pop(command_id, None) != version:
            message = f"{COMMAND_IDS} does not lead from {quoted(command_id)} to it: a retry would take effect again"
            yield self._fault("damaged", version, message)

    def _snapshot_fits(self, version: int) -> Iterator[Fault]:
        if version not in self.snapshots:
            return
        self.snapshots.remove(version)
        found = self._snapshots_at(self._name, version)
        if len(found) > 1:
            yield self._fault("damaged", version, f"there are {len(found)} snapshots of it")
        for topic, state in found:
            if not isinstance(topic, str) or not _SNAPSHOT_TOPIC.fullmatch(topic):
                message = f"there is something of the topic {quoted(topic)} in the place of its snapshot"
                yield self._fault("damaged", version, message)
            elif self._state is not None and topic == SNAPSHOT_TOPIC and snapshot_state(topic, state) != self._state:
                yield self._fault("damaged", version, "the snapshot of it is not the state that the events add up to")

    def _event(self, topic: str, state: bytes) -> AnyEvent | None:
        """What a row says, if it can be read."""
        try:
            return self._codec.event(topic, state)
        except CorruptRecordError:
            return None

    def _newer(self, rows: list[Row]) -> Fault | None:
        """The fault of an entry of which a newer version wrote a row: then nothing in it is known to be wrong."""
        for version, topic, state in rows:
            try:
                self._codec.event(topic, state)
            except NewerRecordError as error:
                return self._fault("unverifiable", version, str(error))
            except CorruptRecordError:
                continue
        return None

    def _fault(self, kind: Kind, row: Any, message: str, entry: int | None = -1) -> Fault:
        """A fault in this match; in the entry whose rows are gathered, unless another one or none is named."""
        entry = self._number or None if entry == -1 else entry
        return Fault(kind, self.match, entry, row if isinstance(row, int) else None, message)


def shown(match: Any) -> str:
    """What stands for a match in a fault, whatever is stored as its name."""
    return match.encode(errors="backslashreplace").decode() if isinstance(match, str) else repr(match)


def _difference(found: AnyEvent, expected: AnyEvent) -> str | None:
    """How an event differs from the one that its command leads to; null if it does not."""
    if type(found) is not type(expected):
        kinds = tag_of(type(found).__name__), tag_of(type(expected).__name__)
        return f"it is {kinds[0]}, but its command leads to {kinds[1]}"
    for name in found.__struct_fields__:
        is_, should = getattr(found, name), getattr(expected, name)
        if is_ != should:
            return f"its {name} is {_json(is_)}, but its command leads to {_json(should)}"
    return None


def _json(value: object) -> str:
    return quoted(msgspec.to_builtins(value))
