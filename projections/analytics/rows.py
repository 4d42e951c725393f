"""The rows of one match, table by table, from its entries: what the read models make of them, brought together.

Lives here: how each row follows from the record. Must not know: files, folders, or where entries come from.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct

from domain.codec import CorruptRecordError
from domain.entry import Entry
from domain.rules import AnyEvent, evolve
from domain.rules import events as e
from projections import life, payments, players, rifts, soulburn, souls
from projections.analytics.event_rows import EVENT_ROWS, TAGS
from projections.analytics.play_rows import (
    card_rows,
    life_rows,
    payment_rows,
    player_rows,
    rift_rows,
    soulburn_rows,
    summon_rows,
)
from projections.analytics.soul_rows import move_rows, soul_rows
from projections.analytics.taken import TOLD, Row, Taken, Values
from projections.read_model import LoggedEntry, ReadModel
from replays.merkle import root_of


class Run(NamedTuple):
    """The run that a match was simulated in, as its row tells it."""

    run: str
    seed: str
    simulator: int
    generator: str
    decks: tuple[str, ...] | None = None
    policies: tuple[str, ...] | None = None
    options: str | None = None


class MatchRows(Struct, frozen=True):
    """The rows of a match, by table; the run that it belongs to, if there is one; whether it has ended."""

    match: str
    rows: dict[str, Values]
    run: Run | None
    ended: bool
    entries: int
    events: int
    root: str


_ACTOR = re.compile(r"simulator ([1-9][0-9]{0,8}), (\S{1,100}), seed (0|[1-9][0-9]{0,19}), match ([1-9][0-9]{0,8})")


class _Meta(Struct, frozen=True, gc=False):
    actor: str | None = None
    at: str | None = None


class _Sent(Struct, frozen=True, gc=False):
    """What the table of entries tells of a command."""

    type: str
    player: str | None = None
    by: str | None = None
    controller: str | None = None
    meta: _Meta | None = None


_sent = msgspec.json.Decoder(_Sent).decode


def _moment(at: str | None) -> datetime | None:
    """A moment of RFC 3339; null where it is none that a calendar has."""
    if at is None:
        return None
    try:
        moment = datetime.fromisoformat(at.upper())
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


MODELS: tuple[ReadModel, ...] = (
    souls.MODEL,
    life.MODEL,
    soulburn.MODEL,
    payments.MODEL,
    rifts.MODEL,
    players.MODEL,
)
"""What read models know of a match stands in the tables as they have it."""

_ORDINARY = (msgspec.MsgspecError, AttributeError, IndexError, KeyError, StopIteration, TypeError)
"""What comes of a record that was never played."""


def match_rows(match: str, entries: Iterable[Entry]) -> MatchRows:
    """The rows that the entries of a match make.

    Raises:
        CorruptRecordError: there are none, or one does not follow from those before it.

    """
    maker = _Maker(match, entries)
    try:
        return maker.made()
    except _ORDINARY as error:
        message = f"the events of {match} do not follow from each other: {error!r}"
        raise CorruptRecordError(message) from error


_HANDLERS = {
    kind: (TAGS[kind], row, tuple(model.handlers[kind] for model in MODELS if kind in model.handlers), TOLD.get(kind))
    for kind, row in EVENT_ROWS.items()
}


_NO_META = _Meta()


class _Logged(LoggedEntry):
    """The entry that is taken in, for handlers; one for all entries of a match, since making them takes its time."""

    def __init__(self, match: str) -> None:
        self.match = match
        self.match_number = 1
        self.number = 0
        self.events: Sequence[AnyEvent] = ()

    @property
    def destroyed(self) -> dict[str, e.CreatureDestroyed]:
        """The creatures that this entry destroyed."""
        return {event.card: event for event in self.events if isinstance(event, e.CreatureDestroyed)}


class _Maker:
    def __init__(self, match: str, entries: Iterable[Entry]) -> None:
        self._match = match
        self._taken = Taken()
        self._lines: list[bytes] = []
        self._entries: Values = []
        self._events: Values = []
        self._logged = _Logged(match)
        self._first_meta: _Meta | None = None
        self._last_at: datetime | None = None
        number = 0
        try:
            for number, entry in enumerate(entries, 1):
                self._take(number, entry)
        except _ORDINARY as error:
            message = f"entry {number} of {match} does not follow from the ones before: {error!r}"
            raise CorruptRecordError(message) from error

    def _take(self, number: int, entry: Entry) -> None:
        """Take in the next entry: all that is made of it while its state is at hand, in one loop."""
        taken, events = self._taken, entry.events
        state, changes, told = taken.state, taken.changes, taken.told
        if entry.number != number or not events or events[0].n != state.events + 1:
            message = f"entry {entry.number} of {self._match} stands where entry {number} must be"
            raise CorruptRecordError(message)
        logged, values = self._logged, self._events
        logged.number, logged.events = number, events
        first = events[0]
        turn = first.number if isinstance(first, e.TurnBegan) else state.turn.number if state.turn else 0
        for event in events:
            tag, row, handlers, tell = _HANDLERS[type(event)]
            values += (event.n, number, turn, tag)
            values += row(event)
            for handle in handlers:
                handle(changes, logged, state, event)
            if tell:
                tell(told, event)
            evolve(state, event)
        self._lines.append(entry.line)
        taken.turns.append(turn)
        sent = _sent(entry.command_json)
        meta = sent.meta or _NO_META
        if number == 1:
            self._first_meta = meta
        self._last_at = at = _moment(meta.at)
        who = sent.player or sent.by or sent.controller
        self._entries += (number, turn, sent.type, who, len(events), meta.actor, at, entry.command_json)

    def made(self) -> MatchRows:
        taken = self._taken
        state, started = taken.state, taken.told.started
        meta = self._first_meta
        if started is None or meta is None:
            message = f"{self._match} has no entry"
            raise CorruptRecordError(message)
        (run, number), root = _run_of(self._match, meta.actor), root_of(self._lines).hex()
        made = {
            "matches": [*self._match_row(started, run and run.run, number, root)],
            "players": player_rows(taken, started, simulated=run is not None),
            "entries": self._entries,
            "events": self._events,
            "souls": soul_rows(taken),
            "soul_moves": move_rows(taken),
            "payments": payment_rows(taken),
            "soulburns": soulburn_rows(taken),
            "rifts": rift_rows(taken),
            "summons": summon_rows(taken),
            "cards": card_rows(taken),
            "life": life_rows(taken),
        }
        return MatchRows(self._match, made, run, state.status == "ended", state.entries, state.events, root)

    def _match_row(self, started: e.MatchStarted, run: str | None, number: int | None, root: str) -> Row:
        taken = self._taken
        state, origin, rules = taken.state, started.origin, started.ruleset
        return (
            self._match,
            run,
            number,
            state.status,
            state.winner,
            taken.told.ended if state.status == "ended" else None,
            len(started.players),
            taken.told.first,
            taken.turns[-1],
            state.entries,
            state.events,
            state.numbered.souls,
            state.numbered.payments,
            state.numbered.rifts,
            _moment(self._first_meta.at) if self._first_meta else None,
            self._last_at,
            started.rules,
            rules.starting_life,
            rules.soulburn_per_power,
            rules.sealed_bonus,
            rules.release_rank,
            rules.rift_min_rank,
            rules.souls_on_leaving,
            rules.overpay,
            started.private is True,
            origin and origin.match,
            origin and origin.entry,
            root,
        )


def _run_of(match: str, actor: str | None) -> tuple[Run | None, int | None]:
    """The run that a match was simulated in, and its number there, if its name and its first command's actor say so."""
    found = _ACTOR.fullmatch(actor or "")
    if not found or match != f"run-{found[3]}-{found[4]}":
        return None, None
    simulator, generator, seed, number = found.groups()
    return Run(f"run-{seed}", seed, int(simulator), generator), int(number)
