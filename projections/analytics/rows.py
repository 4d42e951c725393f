"""The rows of one match, table by table, from its entries: what the read models make of them, brought together.

Lives here: how each row follows from the record. Must not know: files, folders, or where entries come from.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Struct

from domain.codec import CorruptRecordError
from domain.entry import Entry
from domain.rules import AnyEvent, State, evolve
from domain.rules import events as e
from projections import life, payments, players, rifts, soulburn, souls
from projections.read_model import Changes, LoggedEntry, ReadModel
from replays.merkle import root_of

Row = tuple[Any, ...]

Values = list[Any]
"""The values of rows, row after row, each in the order of its table's columns; `match` is left out, the same in all."""


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


# ------------------------------------------------------------ events

_N = None

_EVENTS: Mapping[type[e.Event], Callable[[Any], Row]] = {
    # player, card, soul, payment, rift, rank, power, delta, life, detail
    e.MatchStarted: lambda _: (_N, _N, _N, _N, _N, _N, _N, _N, _N, _N),
    e.TurnBegan: lambda x: (x.player, _N, _N, _N, _N, _N, _N, _N, _N, _N),
    e.EventTaken: lambda x: (x.player, _N, _N, _N, _N, _N, _N, _N, _N, x.event),
    e.CardEntered: lambda x: (x.controller, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.definition),
    e.CreatureSealed: lambda x: (_N, x.card, _N, _N, _N, _N, _N, _N, _N, _N),
    e.CreatureUnsealed: lambda x: (_N, x.card, _N, _N, _N, _N, _N, _N, _N, _N),
    e.SoullessSet: lambda x: (_N, x.card, _N, _N, _N, _N, _N, _N, _N, "soulless" if x.soulless else "not soulless"),
    e.RankSet: lambda x: (_N, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.ControlChanged: lambda x: (x.to, x.card, _N, _N, _N, _N, _N, _N, _N, x.from_),
    e.CreatureDestroyed: lambda x: (x.controller, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.CardDestroyed: lambda x: (x.controller, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.CardLeft: lambda x: (x.controller, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.to),
    e.SoulCollected: lambda x: (_N, x.creature, x.soul, _N, _N, x.rank, _N, _N, _N, _N),
    e.SoulReleased: lambda x: (x.by, _N, x.soul, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.SoulReaped: lambda x: (x.by, x.card, x.soul, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.SoulReturned: lambda x: (_N, x.card, x.soul, _N, _N, x.rank, _N, _N, _N, _N),
    e.SoulLost: lambda x: (_N, x.card, x.soul, _N, _N, x.rank, _N, _N, _N, _N),
    e.CostPaid: lambda x: (x.player, _N, _N, x.payment, _N, _N, x.power, _N, _N, x.effect or x.cost),
    e.SoulburnTaken: lambda x: (x.player, _N, _N, x.payment, x.rift, _N, x.power, -x.damage, x.life, x.rule),
    e.EffectResolved: lambda x: (x.player, _N, _N, x.payment, _N, _N, _N, _N, _N, x.effect),
    e.EffectFizzled: lambda x: (x.player, _N, _N, x.payment, _N, _N, _N, _N, _N, x.effect),
    e.RiftOpened: lambda x: (x.player, _N, _N, x.payment, x.rift, x.rank, _N, _N, _N, _N),
    e.CreatureSummoned: lambda x: (x.controller, x.card, _N, _N, x.rift, x.rank, _N, _N, _N, x.definition),
    e.RiftClosed: lambda x: (x.player, _N, _N, _N, x.rift, x.highest, x.burned, _N, _N, _N),
    e.LifeChanged: lambda x: (x.player, _N, _N, _N, _N, _N, _N, x.delta, x.life, x.reason),
    e.PlayerDefeated: lambda x: (x.player, _N, _N, _N, _N, _N, _N, _N, _N, x.because),
    e.MatchEnded: lambda x: (x.winner, _N, _N, _N, _N, _N, _N, _N, _N, x.reason),
    e.RulingMade: lambda x: (_N, _N, _N, _N, _N, _N, _N, _N, _N, x.reason),
}

# ------------------------------------------------------------ cards, and what is said once


class _Stay:
    """A card on the battlefield, until it is gone."""

    def __init__(self, came: e.CardEntered | e.CreatureSummoned, rift: int | None) -> None:
        self.came = came
        self.rift = rift
        self.reaped = 0
        self.soul: int | None = None
        self.gone: e.CreatureDestroyed | e.CardDestroyed | e.CardLeft | None = None


class _Told:
    """What events say of cards, and once a match or once a player."""

    def __init__(self) -> None:
        self.stays: list[_Stay] = []
        self.here: dict[str, _Stay] = {}
        self.destroyed: dict[str, _Stay] = {}
        self.fallen: dict[str, str] = {}
        self.released_by: dict[int, str | None] = {}
        self.rulings: set[int] = set()
        self.first: str | None = None
        self.ended: str | None = None
        self.started: e.MatchStarted | None = None

    def match_started(self, event: e.MatchStarted) -> None:
        self.started = event

    def turn_began(self, event: e.TurnBegan) -> None:
        self.first = self.first or event.player

    def came(self, event: e.CardEntered | e.CreatureSummoned) -> None:
        rift = event.rift if isinstance(event, e.CreatureSummoned) else None
        self.here[event.card] = stay = _Stay(event, rift)
        self.stays.append(stay)

    def went(self, event: e.CreatureDestroyed | e.CardDestroyed | e.CardLeft) -> None:
        self.destroyed[event.card] = stay = self.here.pop(event.card)
        stay.gone = event

    def reaped(self, event: e.SoulReaped) -> None:
        self.here[event.card].reaped += 1

    def collected(self, event: e.SoulCollected) -> None:
        self.destroyed[event.creature].soul = event.soul

    def released(self, event: e.SoulReleased) -> None:
        self.released_by[event.soul] = event.by

    def defeated(self, event: e.PlayerDefeated) -> None:
        self.fallen[event.player] = event.because

    def match_ended(self, event: e.MatchEnded) -> None:
        self.ended = event.reason

    def ruling_made(self, event: e.RulingMade) -> None:
        self.rulings.add(event.n)
        for correction in event.corrections:
            if correction.defeated is not UNSET:
                self.fallen[correction.defeated.player] = "ruling"


_TOLD: Mapping[type[e.Event], Callable[[_Told, Any], None]] = {
    e.MatchStarted: _Told.match_started,
    e.TurnBegan: _Told.turn_began,
    e.CardEntered: _Told.came,
    e.CreatureSummoned: _Told.came,
    e.CreatureDestroyed: _Told.went,
    e.CardDestroyed: _Told.went,
    e.CardLeft: _Told.went,
    e.SoulReaped: _Told.reaped,
    e.SoulCollected: _Told.collected,
    e.SoulReleased: _Told.released,
    e.PlayerDefeated: _Told.defeated,
    e.MatchEnded: _Told.match_ended,
    e.RulingMade: _Told.ruling_made,
}

# ------------------------------------------------------------ a match

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


_TAGS = {kind: str(kind.__struct_config__.tag) for kind in _EVENTS}
_HANDLERS = {
    kind: (_TAGS[kind], row, tuple(model.handlers[kind] for model in MODELS if kind in model.handlers), _TOLD.get(kind))
    for kind, row in _EVENTS.items()
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
        self._state = State()
        self._changes = Changes()
        self._lines: list[bytes] = []
        self._told = _Told()
        self._turns: list[int] = []
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
        state, changes, told, events = self._state, self._changes, self._told, entry.events
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
        self._turns.append(turn)
        sent = _sent(entry.command_json)
        meta = sent.meta or _NO_META
        if number == 1:
            self._first_meta = meta
        self._last_at = at = _moment(meta.at)
        who = sent.player or sent.by or sent.controller
        self._entries += (number, turn, sent.type, who, len(events), meta.actor, at, entry.command_json)

    def made(self) -> MatchRows:
        state, started = self._state, self._told.started
        meta = self._first_meta
        if started is None or meta is None:
            message = f"{self._match} has no entry"
            raise CorruptRecordError(message)
        (run, number), root = _run_of(self._match, meta.actor), root_of(self._lines).hex()
        made = {
            "matches": [*self._match_row(started, run and run.run, number, root)],
            "players": self._players(started, simulated=run is not None),
            "entries": self._entries,
            "events": self._events,
            "souls": self._souls(),
            "soul_moves": self._moves(),
            "payments": self._payments(),
            "soulburns": self._soulburns(),
            "rifts": self._rifts(),
            "summons": self._summons(),
            "cards": self._cards(),
            "life": self._life(),
        }
        return MatchRows(self._match, made, run, state.status == "ended", state.entries, state.events, root)

    def _match_row(self, started: e.MatchStarted, run: str | None, number: int | None, root: str) -> Row:
        state, origin, rules = self._state, started.origin, started.ruleset
        return (
            self._match,
            run,
            number,
            state.status,
            state.winner,
            self._told.ended if state.status == "ended" else None,
            len(started.players),
            self._told.first,
            self._turns[-1],
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

    def _players(self, started: e.MatchStarted, *, simulated: bool) -> Values:
        state, rows = self._state, Values()
        tallies = {row[1]: row[2:] for row in players.TALLIES.merged(self._changes[players.TALLIES])}
        paid, wasted = defaultdict[str, int](int), defaultdict[str, int](int)
        for payment in self._changes[payments.PAYMENTS]:
            paid[payment[3]] += payment[4]
        for burn in self._changes[soulburn.SOULBURN]:
            wasted[burn[3]] += burn[6]
        for seat, player in enumerate(started.players):
            name = player.player
            now = state.players[name]
            deck, comma, policy = (player.name or "").rpartition(", ")
            known = simulated and comma
            collected, spent, *burned = tallies[name]
            rows.extend(
                (
                    name,
                    seat,
                    player.name,
                    deck if known else None,
                    policy if known else None,
                    _result(state, name),
                    name == self._told.first,
                    now.life,
                    self._told.fallen.get(name, "ruling") if now.defeated else None,
                    collected,
                    spent,
                    paid[name],
                    *burned[:3],
                    wasted[name],
                    *burned[3:],
                )
            )
        return rows

    def _souls(self) -> Values:
        changes, turns, rows = self._changes, self._turns, Values()
        lives = defaultdict[int, list[Row]](list)
        for step in changes[souls.STEPS]:
            lives[step[1]].append(step)
        by_creature = {stay.soul: stay for stay in self._told.stays if stay.soul}
        payers = {payment[1]: payment[3] for payment in changes[payments.PAYMENTS]}
        for _, soul, entry, rank, source, creature, creature_rank, modifiers, cause in changes[souls.SOULS]:
            stay, fate, counts = by_creature.get(soul), "aether", dict.fromkeys(("card", "aether", "control"), 0)
            last_rank, end, payment = rank, None, None
            for step in lives[soul]:
                what = step[5]
                if what in counts and step[2] not in self._told.rulings:
                    counts[what] += 1
                if what == "rank":
                    last_rank = step[9]
                elif what != "control":
                    fate = what
                if what in {"spent", "lost"}:
                    end, payment = step[4], step[8]
            gone = stay.gone if stay else None
            rows.extend(
                (
                    soul,
                    entry,
                    turns[entry - 1],
                    rank,
                    source,
                    creature,
                    gone and gone.definition,
                    gone.controller if gone else self._told.released_by.get(soul),
                    creature_rank,
                    gone and gone.sealed,
                    0 if modifiers == "[]" else _sum_of(modifiers),
                    cause,
                    counts["card"],
                    counts["aether"] - (source != "ruling"),
                    counts["control"],
                    last_rank,
                    fate,
                    end,
                    end and turns[end - 1],
                    payment,
                    payers.get(payment),
                )
            )
        return rows

    def _moves(self) -> Values:
        turns, rows = self._turns, Values()
        payers = {payment[1]: payment[3] for payment in self._changes[payments.PAYMENTS]}
        ranks = {soul[1]: soul[3] for soul in self._changes[souls.SOULS]}
        places: dict[int, str] = {}
        for _, soul, n, part, entry, step, card, controller, payment, rank in self._changes[souls.STEPS]:
            came_from = places.get(soul, "new")
            if step == "rank":
                ranks[soul] = rank
            elif step != "control":
                places[soul] = step
            who = payers[payment] if payment else controller
            rows.extend((soul, n, part, entry, turns[entry - 1], step, came_from, card, who, payment, ranks[soul]))
        return rows

    def _payments(self) -> Values:
        changes, turns, rows = self._changes, self._turns, Values()
        ends = {end[1]: end[2:] for end in changes[payments.ENDS]}
        opened = {rift[5]: rift[1] for rift in changes[rifts.RIFTS]}
        burned, wasted = defaultdict[int, int](int), defaultdict[int, int](int)
        of_rifts = defaultdict[int, int](int)
        for burn in changes[soulburn.SOULBURN]:
            if burn[10]:
                burned[burn[10]] += burn[8]
                wasted[burn[10]] += burn[6]
            else:
                of_rifts[burn[11]] += burn[6]
        for _, number, entry, player, amount, power, effect, cost, source, spent, least in changes[payments.PAYMENTS]:
            rift = opened.get(number)
            kind = "effect" if effect is not None else "cost" if cost is not None else "rift"
            end, outcome, reason = ends.get(number, (None, "open" if kind == "effect" else "settled", None))
            consumed = payments.spent_souls(spent)
            rows.extend(
                (
                    number,
                    entry,
                    turns[entry - 1],
                    player,
                    kind,
                    effect,
                    cost,
                    source,
                    rift,
                    amount,
                    power,
                    len(consumed),
                    sum(each.card is not None for each in consumed),
                    outcome,
                    end,
                    reason,
                    burned[number],
                    least,
                    wasted[number] + (of_rifts[rift] if rift else 0),
                )
            )
        return rows

    def _soulburns(self) -> Values:
        changes, turns, rows = self._changes, self._turns, Values()
        paid = {payment[1]: payment for payment in changes[payments.PAYMENTS]}
        opened = {rift[1]: rift for rift in changes[rifts.RIFTS]}
        for _, n, entry, player, source, rule, power, per_power, damage, left, payment, rift in changes[
            soulburn.SOULBURN
        ]:
            whole = opened[rift][4] if source == "rift" else paid[payment][5 if source == "overpay" else 4]
            rows.extend(
                (
                    n,
                    entry,
                    turns[entry - 1],
                    player,
                    source,
                    rule,
                    whole,
                    whole - power,
                    power,
                    per_power,
                    damage,
                    left,
                    payment,
                    rift,
                )
            )
        return rows

    def _rifts(self) -> Values:
        changes, turns, rows = self._changes, self._turns, Values()
        ends = {end[1]: end[2:] for end in changes[rifts.ENDS]}
        powers = {payment[1]: payment[5] for payment in changes[payments.PAYMENTS]}
        came, highest, burned = defaultdict[int, int](int), defaultdict[int, int](int), defaultdict[int, int](int)
        for _, rift, _n, _part, _entry, card, _name, rank in changes[rifts.SUMMONS]:
            came[rift] += card is not None
            highest[rift] = rank if card is None else max(highest[rift], rank)
        for burn in changes[soulburn.SOULBURN]:
            if burn[11]:
                burned[burn[11]] += burn[8]
        for _, rift, entry, player, rank, payment in changes[rifts.RIFTS]:
            end, outcome, top, unused = ends.get(rift, (None, "open", highest[rift], None))
            rows.extend(
                (
                    rift,
                    entry,
                    turns[entry - 1],
                    player,
                    rank,
                    payment,
                    powers[payment],
                    came[rift],
                    top,
                    unused,
                    outcome,
                    end,
                    burned[rift],
                )
            )
        return rows

    def _life(self) -> Values:
        turns, rows = self._turns, Values()
        for _, n, part, entry, *rest in self._changes[life.LIFE]:
            rows.extend((n, part, entry, turns[entry - 1], *rest))
        return rows

    def _summons(self) -> Values:
        turns, ranks, rows = self._turns, {rift[1]: rift[4] for rift in self._changes[rifts.RIFTS]}, Values()
        for stay in self._told.stays:
            came = stay.came
            if stay.rift:
                rows.extend(
                    (
                        came.n,
                        came.entry,
                        turns[came.entry - 1],
                        stay.rift,
                        came.controller,
                        came.card,
                        came.definition,
                        came.rank,
                        ranks[stay.rift],
                    )
                )
        return rows

    def _cards(self) -> Values:
        turns, state = self._turns, self._state
        rows = Values()
        for stay in self._told.stays:
            came, gone = stay.came, stay.gone
            last = gone or state.battlefield[came.card]
            left = isinstance(gone, e.CardLeft)
            rows.extend(
                (
                    came.n,
                    came.entry,
                    turns[came.entry - 1],
                    came.card,
                    came.name,
                    came.definition,
                    came.kind,
                    came.deck,
                    last.rank,
                    last.soulless,
                    last.sealed,
                    came.owner,
                    came.controller,
                    last.controller,
                    stay.rift,
                    stay.reaped,
                    len(last.souls),
                    ("left" if left else "destroyed") if gone else "there",
                    gone and gone.entry,
                    gone and turns[gone.entry - 1],
                    gone and gone.by,
                    (gone.to if isinstance(gone, e.CardLeft) else gone.cause) if gone else None,
                    stay.soul,
                )
            )
        return rows


_MOST = 2**63 - 1


def _sum_of(modifiers: str) -> int:
    """The sum of modifiers, held within what a column holds: there may be as many of them as fill a line."""
    return max(-_MOST, min(_MOST, sum(each.delta for each in souls.modifiers_of(modifiers))))


def _result(state: State, player: str) -> str:
    if state.status != "ended":
        return "running"
    if state.winner is None:
        return "drawn"
    return "won" if state.winner == player else "lost"


def _run_of(match: str, actor: str | None) -> tuple[Run | None, int | None]:
    """The run that a match was simulated in, and its number there, if its name and its first command's actor say so."""
    found = _ACTOR.fullmatch(actor or "")
    if not found or match != f"run-{found[3]}-{found[4]}":
        return None, None
    simulator, generator, seed, number = found.groups()
    return Run(f"run-{seed}", seed, int(simulator), generator), int(number)
