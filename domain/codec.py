"""Between the match and its stored bytes: stable names, versions, upcasters.

One stored row an event: its topic is the event's type and the version of its shape ("soul_collected.v1"), its state a
JSON object with the event's canonical JSON under `event`. The first row of an entry holds `command`, `line_sha256` and
`state_hash` as well. What is stored is never encoded again: a shape of an older version is upcast for the fold only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec
from msgspec import Struct

from domain.entry import Entry
from domain.rules.commands import tag_of
from domain.rules.events import AnyEvent

Row = tuple[str, bytes]
"""The topic and the state of a stored event."""

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""From the JSON object of an event in one version to that of the next."""


class CorruptRecordError(Exception):
    """Stored bytes that cannot be what this program or an older one wrote."""


class _Event(Struct, frozen=True, gc=False):
    event: AnyEvent


class _Whole(Struct, frozen=True, gc=False):
    event: msgspec.Raw
    command: msgspec.Raw = msgspec.Raw()
    line_sha256: str | None = None
    state_hash: str | None = None


class Codec:
    """Encodes and decodes rows by a table of the events' versions and a chain of upcasters.

    Raises:
        ValueError: the chain has a gap, or an upcaster that leads nowhere.

    """

    def __init__(
        self, versions: Mapping[str, int] | None = None, upcasters: Mapping[tuple[str, int], Upcaster] | None = None
    ) -> None:
        self._versions = {tag_of(kind.__name__): 1 for kind in get_args(AnyEvent)} | dict(versions or {})
        self._upcasters = dict(upcasters or {})
        wanted = {(kind, old) for kind, newest in self._versions.items() for old in range(1, newest)}
        if wanted != self._upcasters.keys():
            missing, idle = sorted(wanted - self._upcasters.keys()), sorted(self._upcasters.keys() - wanted)
            message = f"the upcaster chain is broken: no upcaster from {missing}, upcasters of no use from {idle}"
            raise ValueError(message)
        self._topics = {kind: f"{kind}.v{newest}" for kind, newest in self._versions.items()}
        self._current = frozenset(self._topics.values())
        self._decode = msgspec.json.Decoder(_Event).decode
        self._decode_many = msgspec.json.Decoder(list[_Event]).decode
        self._decode_whole = msgspec.json.Decoder(_Whole).decode

    def rows(self, entry: Entry) -> list[Row]:
        """The rows of an entry, in order."""
        states = [b'{"event":%b}' % event for event in entry.event_jsons]
        states[0] = b'{"command":%b,"event":%b,"line_sha256":"%b","state_hash":"%b"}' % (
            entry.command_json,
            entry.event_jsons[0],
            entry.line_hash.encode(),
            entry.state_hash.encode(),
        )
        topics = self._topics
        return [
            (topics[tag_of(type(event).__name__)], state) for event, state in zip(entry.events, states, strict=True)
        ]

    def events(self, rows: Sequence[Row]) -> list[AnyEvent]:
        """The events of these rows.

        Raises:
            CorruptRecordError: a row is not what was written, or of a version that this program does not know.

        """
        if self._current.issuperset([topic for topic, _ in rows]):
            try:
                return [row.event for row in self._decode_many(b"[%b]" % b",".join([state for _, state in rows]))]
            except msgspec.MsgspecError:
                pass  # one by one, to say which
        return [self._event(topic, state) for topic, state in rows]

    def _event(self, topic: str, state: bytes) -> AnyEvent:
        kind, _, version = topic.rpartition(".v")
        newest = self._versions.get(kind)
        if newest is None or not version.isdecimal():
            message = f"there is no event of the topic {topic!r}"
            raise CorruptRecordError(message)
        if int(version) > newest:
            message = f"{topic} was written by a newer Soulrift; this one knows {kind} up to version {newest}"
            raise CorruptRecordError(message)
        try:
            if int(version) == newest:
                return self._decode(state).event
            shape = msgspec.json.decode(state)["event"]
            for old in range(int(version), newest):
                shape = self._upcasters[kind, old](shape)
            event: AnyEvent = msgspec.convert(shape, AnyEvent)
            return event  # noqa: TRY300 - the type is said once, here
        except (msgspec.MsgspecError, KeyError, TypeError) as error:
            message = f"a row of the topic {topic} cannot be read: {error}"
            raise CorruptRecordError(message) from error

    def entries(self, rows: Iterable[Row]) -> Iterator[Entry]:
        """The entries of these rows, which begin with the first row of one.

        Raises:
            CorruptRecordError: as `events`; or an entry without its first row.

        """
        head: _Whole | None = None
        events: list[AnyEvent] = []
        jsons: list[bytes] = []
        for topic, state in rows:
            event = self._event(topic, state)
            whole = self._decode_whole(state)
            if bytes(whole.command):
                if head is not None:
                    yield _stored(head, events, jsons)
                head, events, jsons = whole, [], []
            events.append(event)
            jsons.append(bytes(whole.event))
        if head is not None:
            yield _stored(head, events, jsons)


def _stored(head: _Whole, events: list[AnyEvent], jsons: list[bytes]) -> Entry:
    if head.state_hash is None or head.line_sha256 is None or events[0].entry != events[-1].entry:
        message = f"entry {events[0].entry} is not whole: its first row is missing or has lost a field"
        raise CorruptRecordError(message)
    return Entry(events[0].entry, tuple(events), bytes(head.command), tuple(jsons), head.state_hash, head.line_sha256)
