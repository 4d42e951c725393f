"""One match as a stream of the event store: what is appended, and how it is rebuilt.

This is the only file that knows the library's aggregate protocol. The stream's version is the number of the match's
last event, so that the uniqueness of versions guards every append.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import Any

import msgspec
from eventsourcing.persistence import AggregateRecorder, EventStore, Mapper, StoredEvent
from msgspec import Struct

from domain.codec import Codec, CorruptRecordError, Row, replay
from domain.entry import Entry, play
from domain.recorder import MatchRecorder
from domain.rules.commands import AnyCommand
from domain.rules.events import AnyEvent, CardEntered, CreatureSummoned, MatchStarted
from domain.rules.state import Description, State, state_hash

SNAPSHOT_TOPIC = "snapshot.v1"
"""Snapshots of another version are passed over: the match is folded from its events."""


class AppendedEvent(Struct, frozen=True, gc=False):
    """An event on its way into the store, encoded: with the fields of a stored one, and made in a sixth of the time."""

    originator_id: str
    originator_version: int
    topic: str
    state: bytes


class MatchSnapshot(Struct, frozen=True):
    """The state of a match as it was after the event `originator_version`, the last one of its entry."""

    originator_id: str
    originator_version: int
    state: State


class Match:
    """A match that takes commands; what they append is pending until the application saves it."""

    def __init__(self, name: str, state: State, codec: Codec) -> None:
        self.id = name
        self.state = state
        self.last_row: bytes | None = None
        """The state of the last event's row, where it is known: whether the store still has what this match knows."""
        self.moment: int | None = None
        """The recorder's moment at which it was up to date."""
        self.whole = False
        """Whether it is known that no import of it is unfinished."""
        self._codec = codec
        self._pending: list[AppendedEvent] = []

    @property
    def version(self) -> int:
        """The number of the last event."""
        return self.state.events

    def give(self, command: AnyCommand) -> Entry:
        """Judge a command and change the state by it.

        Raises:
            Refusal: the command is refused; nothing has changed.

        """
        entry = play(self.state, command)
        self._keep(entry)
        return entry

    def catch_up(self, batches: Iterable[list[Row]]) -> bool:
        """Take in the store's rows from the last one known on; whether that one is there, and as it was.

        Raises:
            CorruptRecordError: a row is not what was written.

        """
        known = False
        for rows in batches:
            if not known and (rows[0][0] != self.version or self.last_row not in {None, rows[0][2]}):
                return False
            replay(self._codec.events(rows if known else rows[1:], self.version), self.state)
            self.last_row, known = rows[-1][2], True
        return known

    def take(self, entry: Entry) -> None:
        """Take in an entry that was recorded elsewhere, whose events follow those of this match."""
        replay(entry.events, self.state)
        self._keep(entry)

    def _keep(self, entry: Entry) -> None:
        for version, topic, state in self._codec.rows(entry):
            self._pending.append(AppendedEvent(self.id, version, topic, state))
        self.last_row = state

    def collect_events(self) -> Sequence[AppendedEvent]:
        """What is to be saved, once."""
        pending, self._pending = self._pending, []
        return pending

    def snapshot(self) -> MatchSnapshot:
        """The state as it is now, for a later rebuild."""
        return MatchSnapshot(self.id, self.version, self.state)


class MatchMapper(Mapper[str]):
    """Appended events and snapshots to stored rows, and snapshots back."""

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        """The stored row of an appended event or a snapshot."""
        if isinstance(domain_event, MatchSnapshot):
            state = msgspec.json.encode(domain_event.state)
            return StoredEvent(domain_event.originator_id, domain_event.originator_version, SNAPSHOT_TOPIC, state)
        return domain_event  # type: ignore[no-any-return]  # an AppendedEvent

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        """The snapshot that a stored row holds; null if it is one of another version, or none at all."""
        state = snapshot_state(stored_event.topic, stored_event.state)
        if state is None:
            return None
        return MatchSnapshot(str(stored_event.originator_id), stored_event.originator_version, state)


_decode_state = msgspec.json.Decoder(State).decode


def snapshot_state(topic: str, state: bytes) -> State | None:
    """The state that a stored snapshot holds; null if it is one of another version, or none at all."""
    try:
        return _decode_state(state) if topic == SNAPSHOT_TOPIC else None
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None


class MatchEventStore(EventStore[str]):
    """An event store that reads no more of a row than the fold needs."""

    recorder: MatchRecorder

    def __init__(self, mapper: MatchMapper, recorder: MatchRecorder, codec: Codec) -> None:
        super().__init__(mapper, recorder)
        self._codec = codec

    def get(
        self,
        originator_id: str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Iterator[Any]:
        """The events of a match, in order unless `desc`, read a batch at a time."""
        events: Iterable[AnyEvent] = self._in_order(originator_id, gt or 0)
        if lte is not None:
            events = takewhile(lambda event: event.n <= lte, events)
        return islice(reversed(list(events)) if desc else events, limit)

    def _in_order(self, match: str, version: int) -> Iterator[AnyEvent]:
        for rows in self.recorder.select_rows(match, version):
            yield from self._codec.events(rows, version)
            version += len(rows)


class _Place(Struct, frozen=True, gc=False):
    entry: int
    n: int


_decode_place = msgspec.json.Decoder(_Place).decode


class SnapshotStore(EventStore[str]):
    """A store of snapshots that believes only those that agree with the record, for what is played on them joins it.

    The hash that the record has at that entry holds most of a state; the rest of it is compared with the events.
    """

    def __init__(self, mapper: MatchMapper, snapshots: AggregateRecorder, record: MatchRecorder, codec: Codec) -> None:
        super().__init__(mapper, snapshots)
        self._record = record
        self._codec = codec

    def get(self, originator_id: str, **kwargs: Any) -> Iterator[Any]:
        """The snapshots asked for, those that can be believed among them."""
        return filter(self._believed, super().get(originator_id, **kwargs))

    def _believed(self, snapshot: Any) -> bool:
        if not isinstance(snapshot, MatchSnapshot):
            return False
        name, version, state = snapshot.originator_id, snapshot.originator_version, snapshot.state
        try:
            entry = self._entry_at(name, version)
            return (
                entry is not None
                and (state.match, state.entries, state.events) == (name, entry.number, version)
                and entry.events[-1].n == version
                and state_hash(state) == entry.state_hash
                and _fits_together(state)
                and self._has_its_names(state)
                and self._has_its_descriptions(state)
            )
        except (CorruptRecordError, msgspec.MsgspecError, TypeError):
            return False

    def _entry_at(self, match: str, version: int) -> Entry | None:
        """The entry of the match that this event belongs to."""
        row = self._record.first_row_of_entry_at(match, version)
        if row is None:
            return None
        before = _decode_place(row).n - 1
        rows = self._record.select_rows(match, before, batch=_ROWS_OF_AN_ENTRY)
        return next(self._codec.entries(chain.from_iterable(rows), before), None)

    def _has_its_names(self, state: State) -> bool:
        """Whether the players have the names with which the match began, and are as private."""
        started = next(iter(self._codec.events(self._record.select_rows_at(state.match, [1]))), None)
        return (
            isinstance(started, MatchStarted)
            and state.names == {seat.player: seat.name for seat in started.players}
            and state.private == started.private
        )

    def _has_its_descriptions(self, state: State) -> bool:
        """Whether the cards are described as they were when they came.

        A card comes with the first event of its entry. An entry has one event or more, so that there are not many that
        this can be: some of them tell between which it is, and so on, for all cards at once.
        """
        more = state.events - state.entries
        spans = {card.entered: (card.entered, card.entered + more) for card in state.battlefield.values()}
        while looks := {
            came: range(low, high, max(1, (high - low) // _LOOKS)) for came, (low, high) in spans.items() if low < high
        }:
            rows = self._record.select_rows_at(state.match, sorted(set(chain.from_iterable(looks.values()))))
            entry_of = {version: _decode_place(row).entry for version, _, row in rows}
            for came, versions in looks.items():
                before = [version for version in versions if entry_of.get(version, came) < came]
                behind = [version for version in versions if version not in before]
                low, high = spans[came]
                spans[came] = (before[-1] + 1 if before else low, behind[0] if behind else high)
        rows = self._record.select_rows_at(state.match, [low for low, _ in spans.values()])
        events = [self._codec.event(topic, row) for _, topic, row in rows]
        entered = [event for event in events if isinstance(event, CardEntered | CreatureSummoned)]
        return {card.card: card.entered for card in state.battlefield.values()} == {
            event.card: event.entry for event in entered
        } and state.descriptions == {event.card: Description(event.definition, event.name) for event in entered}


_ROWS_OF_AN_ENTRY = 32
"""How many rows are read for one entry; few have more."""


_LOOKS = 4
"""Into how many parts the events are cut among which one is looked for."""


def _fits_together(state: State) -> bool:
    """Whether players, cards, Souls and payments are found under what they are, as the hash does not say."""
    return (
        all(name == player.player for name, player in state.players.items())
        and all(name == card.card for name, card in state.battlefield.items())
        and all(number == soul.soul for number, soul in state.aether.items())
        and all(number == payment.payment for number, payment in state.payments.items())
        and state.holders == {soul.soul: name for name, card in state.battlefield.items() for soul in card.souls}
    )


def projector(name: str, codec: Codec) -> Any:
    """The function that rebuilds the match of this name, for the library's repository."""

    def project(match: Match | None, events: Iterable[MatchSnapshot | AnyEvent]) -> Match | None:
        state = match.state if match else State()
        rest = iter(events)
        first = next(rest, None)
        if isinstance(first, MatchSnapshot):
            state = first.state
        elif first is not None:
            rest = chain((first,), rest)
        replay(rest, state)  # type: ignore[arg-type]  # a snapshot comes first, or not at all
        if match is None and state.entries:
            match = Match(name, state, codec)
        return match

    return project
