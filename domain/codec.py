"""Between the match and its stored bytes: stable names, versions, upcasters.

One stored row an event: its topic is the event's type and the version of its shape ("soul_collected.v1"), its state the
event's canonical JSON. The first row of an entry holds one more key before the others, `@entry`, with the entry's
`command`, `line_sha256` and `state_hash`. What is stored is never encoded again: a shape of an older version is
upcast for the fold only.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, get_args

import msgspec
from msgspec import Struct, field

from domain.entry import Entry, line_of
from domain.rules.commands import AnyCommand, tag_of
from domain.rules.events import AnyEvent, MatchStarted
from domain.rules.evolve import fold
from domain.rules.refusal import quoted
from domain.rules.state import State

Row = tuple[int, str, bytes]
"""A stored event: its version (the number of the event in its match), topic and state."""

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""From the JSON object of an event in one version to that of the next."""


class CorruptRecordError(Exception):
    """Stored bytes that cannot be what this program or an older one wrote."""


class NewerRecordError(CorruptRecordError):
    """A row of a version that this program does not know yet."""


class _EntryHead(Struct, frozen=True, gc=False):
    command: bytes
    line_sha256: str
    state_hash: str


class _RawHead(Struct, frozen=True, gc=False):
    command: msgspec.Raw
    line_sha256: str
    state_hash: str


class _FirstRow(Struct, frozen=True, gc=False):
    head: msgspec.Raw = field(name="@entry")


class Seal(Struct, frozen=True, gc=False):
    """What identifies a recorded entry, the SHA-256 of its line, and the `meta.at` of its command, if it has one."""

    line_hash: str
    at: str | None


class _At(Struct, frozen=True, gc=False):
    at: str | None = None


class _SealedCommand(Struct, frozen=True, gc=False):
    meta: _At | None = None


class _SealedHead(Struct, frozen=True, gc=False):
    command: _SealedCommand
    line_sha256: str


class _SealedRow(Struct, frozen=True, gc=False):
    head: _SealedHead = field(name="@entry")


HEAD = b'{"@entry":'
"""How the state of an entry's first row begins."""

_FIRST_ROW = b'{"@entry":{"command":%b,"line_sha256":"%b","state_hash":"%b"},%b'
_BEFORE_COMMAND, _BEFORE_LINE, _BEFORE_STATE, _BEHIND, _ = _FIRST_ROW.split(b"%b")

_TOPIC = re.compile(r"[a-z]+(_[a-z]+)+\.v[1-9][0-9]{0,8}")

_UNREADABLE = (msgspec.MsgspecError, KeyError, TypeError, ValueError, RecursionError)
"""What comes of bytes that nobody wrote: SQL can store text for bytes, and anything else."""

_first_row = msgspec.json.Decoder(_FirstRow).decode
_raw_head = msgspec.json.Decoder(_RawHead).decode
_sealed_head = msgspec.json.Decoder(_SealedRow).decode


class Codec:
    """Encodes and decodes rows by a table of the events' versions and a chain of upcasters.

    Raises:
        ValueError: the chain has a gap, or an upcaster that leads nowhere.

    """

    def __init__(
        self, versions: Mapping[str, int] | None = None, upcasters: Mapping[tuple[str, int], Upcaster] | None = None
    ) -> None:
        self._kinds: dict[str, type[AnyEvent]] = {tag_of(kind.__name__): kind for kind in get_args(AnyEvent)}
        self._versions = dict.fromkeys(self._kinds, 1) | dict(versions or {})
        self._upcasters = dict(upcasters or {})
        if self._versions.keys() != self._kinds.keys():
            message = f"the upcaster chain is broken: no events {sorted(self._versions.keys() - self._kinds.keys())}"
            raise ValueError(message)
        wanted = {(kind, old) for kind, newest in self._versions.items() for old in range(1, newest)}
        if wanted != self._upcasters.keys():
            missing, idle = sorted(wanted - self._upcasters.keys()), sorted(self._upcasters.keys() - wanted)
            message = f"the upcaster chain is broken: no upcaster from {missing}, upcasters of no use from {idle}"
            raise ValueError(message)
        self._topics = {kind: f"{tag}.v{self._versions[tag]}" for tag, kind in self._kinds.items()}
        self._decode_command = msgspec.json.Decoder(AnyCommand).decode
        self._decoders = {topic: msgspec.json.Decoder(kind).decode for kind, topic in self._topics.items()}

    def rows(self, entry: Entry) -> list[Row]:
        """The rows of an entry, in order."""
        events, jsons, topics = entry.events, entry.event_jsons, self._topics
        head = (entry.command_json, entry.line_hash.encode(), entry.state_hash.encode(), jsons[0][1:])
        rows = [(events[0].n, topics[type(events[0])], _FIRST_ROW % head)]
        for index in range(1, len(events)):
            event = events[index]
            rows.append((event.n, topics[type(event)], jsons[index]))
        return rows

    def events(self, rows: Sequence[Row], after: int = 0) -> list[AnyEvent]:
        """The events of these rows, the first of which comes after event number `after` of its match.

        Raises:
            CorruptRecordError: a row is not what was written, or of a version that this program does not know.

        """
        decoders = self._decoders
        try:
            events = [decoders[topic](state) for _, topic, state in rows]
        except _UNREADABLE:  # an older shape, or a fault: one by one
            events = [self.event(topic, state) for _, topic, state in rows]
        if events and not rows[0][0] == events[0].n == after + 1:
            message = f"event {after + 1} is missing: event {events[0].n} is in its place, in row {rows[0][0]}"
            raise CorruptRecordError(message)
        if events and not rows[-1][0] == events[-1].n == after + len(events):
            message = (
                f"the {len(events)} events from {after + 1} on end with event {events[-1].n}, in row {rows[-1][0]}: "
                "some are missing"
            )
            raise CorruptRecordError(message)
        if after == 0 and events and not isinstance(events[0], MatchStarted):
            message = "a match that does not begin with match_started"
            raise CorruptRecordError(message)
        return events

    def command(self, entry: Entry) -> AnyCommand:
        """The command of an entry.

        Raises:
            CorruptRecordError: it cannot be read.

        """
        return self._command(entry.command_json, entry.events[0].n)

    def command_of(self, first_row: Row) -> AnyCommand:
        """The command of the entry with this first row.

        Raises:
            CorruptRecordError: it cannot be read.

        """
        version, _, state = first_row
        return self._command(_split(state, version)[0].command, version)

    def _command(self, json: bytes, version: int) -> AnyCommand:
        try:
            return self._decode_command(json)
        except _UNREADABLE as error:
            message = f"the command of the entry that begins with event {version} cannot be read: {error}"
            raise CorruptRecordError(message) from error

    def seal(self, first_row: bytes) -> Seal:
        """The seal of the entry with this first row.

        Raises:
            CorruptRecordError: the row cannot be read.

        """
        try:
            head = _sealed_head(first_row).head
        except _UNREADABLE as error:
            message = f"the head of an entry cannot be read: {error}"
            raise CorruptRecordError(message) from error
        return Seal(head.line_sha256, head.command.meta.at if head.command.meta else None)

    def state_hash(self, first_row: bytes) -> str | None:
        """The state hash that the first row of an entry holds; null if it cannot be read."""
        try:
            return _split(first_row, 0)[0].state_hash
        except CorruptRecordError:
            return None

    def event(self, topic: str, state: bytes) -> AnyEvent:
        """The event of a row, upcast if it is of an older version.

        Raises:
            NewerRecordError: it is of a version that this program does not know.
            CorruptRecordError: it cannot be read.

        """
        kind, _, version = topic.rpartition(".v")
        newest = self._versions.get(kind)
        if not isinstance(state, bytes):
            message = f"a row of the topic {topic} holds no bytes"  # type: ignore[unreachable]  # SQL can do it
            raise CorruptRecordError(message)
        if not _TOPIC.fullmatch(topic):
            message = f"there is no event of the topic {quoted(topic)}"
            raise CorruptRecordError(message)
        if newest is None:
            message = f"{topic} was written by a newer Soulrift; this one knows no event {kind}"
            raise NewerRecordError(message)
        if int(version) > newest:
            message = f"{topic} was written by a newer Soulrift; this one knows {kind} up to version {newest}"
            raise NewerRecordError(message)
        try:
            if int(version) == newest:
                return self._decoders[topic](state)
            shape = msgspec.json.decode(state, type=dict[str, Any])
            for old in range(int(version), newest):
                shape = self._upcasters[kind, old](shape)
            return msgspec.convert(shape, self._kinds[kind])
        except _UNREADABLE as error:
            message = f"a row of the topic {topic} cannot be read: {error}"
            raise CorruptRecordError(message) from error

    def entries(self, rows: Iterable[Row], after: int = 0) -> Iterator[Entry]:
        """The entries of these rows, which begin with the first row of one, after event number `after` of its match.

        Raises:
            CorruptRecordError: as `events`; or an entry without its first row, or whose line has not the recorded hash.

        """
        head: _EntryHead | None = None
        events: list[AnyEvent] = []
        jsons: list[bytes] = []
        decoders = self._decoders
        for n, (version, topic, state) in enumerate(rows, after + 1):
            try:
                event = decoders[topic](state) if isinstance(state, bytes) else self.event(topic, state)
            except _UNREADABLE:  # an older shape, or a fault
                event = self.event(topic, state)
            if not version == event.n == n:
                message = f"event {n} is missing: event {event.n} is in its place, in row {version}"
                raise CorruptRecordError(message)
            if state.startswith(HEAD):
                if head is not None:
                    yield _entry(head, events, jsons)
                head, json = _split(state, event.n)
                events, jsons = [], []
            elif head is None or event.entry != events[0].entry:
                message = f"event {event.n} belongs to an entry whose first row is missing"
                raise CorruptRecordError(message)
            else:
                json = state
            events.append(event)
            jsons.append(json)
        if head is not None:
            yield _entry(head, events, jsons)


def _split(state: bytes, n: int) -> tuple[_EntryHead, bytes]:
    """The head of an entry and the JSON of its first event, from its first row."""
    command, _, rest = state.partition(_BEFORE_LINE)  # which stands in no text: there are quotes in it
    if command.startswith(_BEFORE_COMMAND) and rest[64:80] == _BEFORE_STATE and rest[144:147] == _BEHIND:
        head = _EntryHead(command[len(_BEFORE_COMMAND) :], str(rest[:64], "latin-1"), str(rest[80:144], "latin-1"))
        return head, b"{" + rest[147:]
    try:  # what this program has not written
        raw = bytes(_first_row(state).head)
        read = _raw_head(raw)
    except _UNREADABLE as error:
        message = f"the head of the entry that begins with event {n} cannot be read: {error}"
        raise CorruptRecordError(message) from error
    return _EntryHead(bytes(read.command), read.line_sha256, read.state_hash), b"{" + state[len(HEAD) + len(raw) + 1 :]


def _entry(head: _EntryHead, events: list[AnyEvent], jsons: list[bytes]) -> Entry:
    number, command, event_jsons = events[0].entry, head.command, tuple(jsons)
    line = line_of(number, command, event_jsons, head.state_hash)
    if sha256(line).hexdigest() != head.line_sha256:
        message = f"entry {number} is not as it was written: its line has another hash"
        raise CorruptRecordError(message)
    return Entry(number, tuple(events), command, event_jsons, head.state_hash, head.line_sha256, line)


def replay(events: Iterable[AnyEvent], state: State) -> State:
    """The fold over a stored match.

    Raises:
        CorruptRecordError: an event tells of something that the ones before it do not allow for.

    """
    try:
        return fold(events, state)
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError) as error:
        message = (
            f"an event after entry {state.entries} of {state.match} does not follow from the ones before: {error!r}"
        )
        raise CorruptRecordError(message) from error
