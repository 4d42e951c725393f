"""Soul histories: each Soul's whole life, from what released it to what became of it (S-1 to S-3, C-1 to C-9)."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct

from domain.rules import State
from domain.rules.commands import OnCard
from domain.rules.events import (
    ControlChanged,
    CostPaid,
    CreatureDestroyed,
    Modifier,
    RulingMade,
    SoulCollected,
    SoulLost,
    SoulReaped,
    SoulReleased,
    SoulReturned,
)
from projections.payments import COLUMNS, Outcome, spent_souls
from projections.read_model import Changes, LoggedEntry, ReadModel
from projections.tables import Table
from projections.views import Views

SOULS = Table(
    "souls",
    {
        "match": "text",
        "soul": "bigint",
        "entry": "bigint",
        "rank": "bigint",
        "source": "text",
        "creature": "text",
        "creature_rank": "bigint",
        "modifiers": "text",
        "cause": "text",
    },
    key=2,
)
"""`modifiers` is JSON, as in `soul_collected`; the rank is the one that the Soul came with."""

STEPS = Table(
    "soul_steps",
    {
        "match": "text",
        "soul": "bigint",
        "n": "bigint",
        "part": "bigint",
        "entry": "bigint",
        "step": "text",
        "card": "text",
        "controller": "text",
        "payment": "bigint",
        "rank": "bigint",
    },
    key=4,
)
"""What happened to each Soul."""

Step = Literal["aether", "card", "control", "spent", "lost", "rank"]
"""It went to the Aether, or onto a card; its card's controller changed; it was consumed; it was lost; a ruling gave it
another rank.
"""


class Release(Struct, frozen=True):
    """How a Soul came: in which entry, with which rank, by what, and for what cause, if one was given.

    Of a "creature" its own rank (null counts as 0, C-4) and the modifiers explain that of the Soul (C-3, C-7, C-8); it
    may also be released by an "effect" (C-9), or by a "ruling" (J-2).
    """

    entry: int
    rank: int
    source: Literal["creature", "effect", "ruling"]
    creature: str | None
    creature_rank: int | None
    modifiers: tuple[Modifier, ...]
    cause: str | None


class Move(Struct, frozen=True):
    """Where a Soul went in an entry: "aether", or the card."""

    entry: int
    to: str


class Control(Struct, frozen=True):
    """From this entry on, `player` controlled the card that the Soul was on, and alone could use it (A-2, A-3)."""

    entry: int
    card: str
    player: str


class Reranked(Struct, frozen=True):
    """From this entry on a Soul has another rank, by a judge's ruling (J-2)."""

    entry: int
    rank: int


class Use(Struct, frozen=True):
    """The payment in which a Soul was consumed: its `power` of all Souls, for Soulrift `amount`, `with_` which others.

    `burned` is the damage of that payment's overpay and fizzling together (B-2, B-3).
    """

    entry: int
    payment: int
    player: str
    power: int
    amount: int
    effect: str | None
    cost: str | None
    with_: tuple[int, ...] = msgspec.field(name="with")
    outcome: Outcome
    burned: int


class SoulHistory(Struct, frozen=True):
    """A Soul's life. `rank` is the one that it has now, or had last; `moves` begin with its release.

    `lost` is the entry in which it was lost with its card (A-6), or taken away by a ruling; `now` is "aether", the
    card, or "gone".
    """

    soul: int
    rank: int
    released: Release
    moves: tuple[Move, ...]
    controlled: tuple[Control, ...]
    reranked: tuple[Reranked, ...]
    used: Use | None
    lost: int | None
    now: str


class _Life:
    """A Soul's life as its steps add up."""

    def __init__(self) -> None:
        self.moves: list[Move] = []
        self.controlled: list[Control] = []
        self.reranked: list[Reranked] = []
        self.lost: int | None = None
        self.now = "aether"

    def take(self, entry: int, step: Step, card: Any, controller: Any, rank: Any) -> None:
        if step == "spent":
            self.now = "gone"
        elif step == "lost":
            self.lost, self.now = entry, "gone"
        elif step == "rank":
            self.reranked.append(Reranked(entry, rank))
        elif step == "aether":
            self.now = "aether"
            self.moves.append(Move(entry, "aether"))
        else:
            if step == "card":
                self.now = card
                self.moves.append(Move(entry, card))
            self.controlled.append(Control(entry, card, controller))


modifiers_of = msgspec.json.Decoder(tuple[Modifier, ...]).decode
"""The modifiers of a Soul, as its row holds them."""

_encode = msgspec.json.encode


def history(views: Views, match: str, soul: int | None = None) -> Iterator[SoulHistory]:
    """The lives of the Souls of a match, by number; or of one of them, if there is one of that number."""
    only, asked = ("", (match,)) if soul is None else ("AND s.soul=? ", (match, soul))
    steps = views.stream(
        "SELECT s.soul, s.n, s.part, s.entry, s.step, s.card, s.controller, s.rank FROM soul_steps s "  # noqa: S608 - names of ours
        f"WHERE s.match=? {only}AND (s.soul, s.n, s.part) > (?, ?, ?) ORDER BY s.soul, s.n, s.part",
        asked,
        key=3,
    )
    step = next(steps, None)
    for number, entry, rank, source, creature, creature_rank, modifiers, cause, *payment in views.stream(
        "SELECT s.soul, s.entry, s.rank, s.source, s.creature, s.creature_rank, s.modifiers, s.cause, "  # noqa: S608 - the same
        f"{COLUMNS} FROM souls s "
        "LEFT JOIN soul_steps t ON t.match=s.match AND t.soul=s.soul AND t.step='spent' "
        "LEFT JOIN payments p ON p.match=t.match AND p.payment=t.payment "
        "LEFT JOIN payment_ends e ON e.match=p.match AND e.payment=p.payment "
        f"WHERE s.match=? {only}AND s.soul > ? ORDER BY s.soul",
        asked,
        key=1,
    ):
        life = _Life()
        while step is not None and step[0] == number:
            life.take(*step[3:])
            step = next(steps, None)
        yield SoulHistory(
            number,
            life.reranked[-1].rank if life.reranked else rank,
            Release(entry, rank, source, creature, creature_rank, modifiers_of(modifiers), cause),
            tuple(life.moves),
            tuple(life.controlled),
            tuple(life.reranked),
            None if payment[0] is None else _use(number, *payment),
            life.lost,
            life.now,
        )


def _use(
    soul: int,
    payment: int,
    entry: int,
    player: str,
    amount: int,
    power: int,
    souls: str,
    effect: str | None,
    cost: str | None,
    outcome: Outcome,
    burned: int,
) -> Use:
    others = tuple(spent.soul for spent in spent_souls(souls) if spent.soul != soul)
    return Use(entry, payment, player, power, amount, effect, cost, others, outcome, burned)


def _came(
    changes: Changes,
    entry: LoggedEntry,
    soul: int,
    rank: int,
    source: str,
    cause: str | None,
    creature: CreatureDestroyed | None = None,
    modifiers: tuple[Modifier, ...] = (),
) -> None:
    name, creature_rank = (creature.card, creature.rank) if creature else (None, None)
    explained = _encode(modifiers).decode()
    changes[SOULS].append((entry.match, soul, entry.number, rank, source, name, creature_rank, explained, cause))


def _step(
    changes: Changes,
    entry: LoggedEntry,
    soul: int,
    n: int,
    step: Step,
    *,
    part: int = 0,
    card: str | None = None,
    controller: str | None = None,
    payment: int | None = None,
    rank: int | None = None,
) -> None:
    changes[STEPS].append((entry.match, soul, n, part, entry.number, step, card, controller, payment, rank))


def _soul_collected(changes: Changes, entry: LoggedEntry, _: State, event: SoulCollected) -> None:
    creature = entry.destroyed[event.creature]
    _came(changes, entry, event.soul, event.rank, "creature", creature.cause, creature, event.modifiers)
    _step(changes, entry, event.soul, event.n, "aether")


def _soul_released(changes: Changes, entry: LoggedEntry, _: State, event: SoulReleased) -> None:
    _came(changes, entry, event.soul, event.rank, "effect", event.cause)
    _step(changes, entry, event.soul, event.n, "aether")


def _soul_reaped(changes: Changes, entry: LoggedEntry, state: State, event: SoulReaped) -> None:
    controller = state.battlefield[event.card].controller
    _step(changes, entry, event.soul, event.n, "card", card=event.card, controller=controller)


def _soul_returned(changes: Changes, entry: LoggedEntry, _: State, event: SoulReturned) -> None:
    _step(changes, entry, event.soul, event.n, "aether")


def _soul_lost(changes: Changes, entry: LoggedEntry, _: State, event: SoulLost) -> None:
    _step(changes, entry, event.soul, event.n, "lost")


def _control_changed(changes: Changes, entry: LoggedEntry, state: State, event: ControlChanged) -> None:
    for soul in state.battlefield[event.card].souls:
        _step(changes, entry, soul.soul, event.n, "control", card=event.card, controller=event.to)


def _cost_paid(changes: Changes, entry: LoggedEntry, _: State, event: CostPaid) -> None:
    for spent in event.souls:
        _step(changes, entry, spent.soul, event.n, "spent", payment=event.payment)


def _ruling_made(changes: Changes, entry: LoggedEntry, state: State, event: RulingMade) -> None:
    to: str | OnCard
    for part, correction in enumerate(event.corrections):
        if correction.rank is not UNSET:
            soul, rank = correction.rank.soul, correction.rank.rank
            _step(changes, entry, soul, event.n, "rank", part=part, rank=rank)
            continue
        if correction.new_soul is not UNSET:
            soul, to = correction.new_soul.soul, correction.new_soul.to
            _came(changes, entry, soul, correction.new_soul.rank, "ruling", event.reason)
        elif correction.soul is not UNSET:
            soul, to = correction.soul.soul, correction.soul.to
        else:
            continue
        if isinstance(to, OnCard):
            controller = state.battlefield[to.card].controller
            _step(changes, entry, soul, event.n, "card", part=part, card=to.card, controller=controller)
        else:
            _step(changes, entry, soul, event.n, "aether" if to == "aether" else "lost", part=part)


MODEL = ReadModel(
    "souls",
    1,
    (SOULS, STEPS),
    {
        SoulCollected: _soul_collected,
        SoulReleased: _soul_released,
        SoulReaped: _soul_reaped,
        SoulReturned: _soul_returned,
        SoulLost: _soul_lost,
        ControlChanged: _control_changed,
        CostPaid: _cost_paid,
        RulingMade: _ruling_made,
    },
)
