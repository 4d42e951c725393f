"""Payments and effects: what each cost, what paid it, what became of it, and what it need not have burned."""

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import UNSET, Struct

from domain.rules import State
from domain.rules.events import CostPaid, EffectFizzled, EffectResolved, RulingMade, SpentSoul
from domain.rules.payments import least_power, open_power
from projections.read_model import Changes, LoggedEntry, ReadModel
from projections.tables import Table
from projections.views import Views

PAYMENTS = Table(
    "payments",
    {
        "match": "text",
        "payment": "bigint",
        "entry": "bigint",
        "player": "text",
        "amount": "bigint",
        "power": "bigint",
        "effect": "text",
        "cost": "text",
        "source": "text",
        "souls": "text",
        "least_burn": "bigint",
    },
    key=2,
)
"""`souls` is JSON, as in `cost_paid`."""

ENDS = Table(
    "payment_ends",
    {"match": "text", "payment": "bigint", "entry": "bigint", "outcome": "text", "reason": "text"},
    key=2,
)
"""What became of an effect that was paid for."""

Outcome = Literal["open", "resolved", "fizzled", "settled", "closed"]


class PaymentMade(Struct, frozen=True):
    """Soulrift `amount`, paid in `entry` with `power`; both `effect` and `cost` are null for a Rift.

    `outcome`: the effect is "open" (E-1), "resolved" or "fizzled", or a ruling "closed" it, in entry `ended` and for
    this `reason`; what is not paid for an effect is "settled" at once (E-2). `burned` is the damage of its overpay
    (B-2) and its fizzling (B-3) together, `least_burn` what the cheapest payment that was legal at that moment would
    have burned as overpay.
    """

    payment: int
    entry: int
    player: str
    amount: int
    power: int
    overpay: int
    souls: tuple[SpentSoul, ...]
    effect: str | None
    cost: str | None
    outcome: Outcome
    burned: int
    ended: int | None
    reason: str | None
    source: str | None
    least_burn: int


spent_souls = msgspec.json.Decoder(tuple[SpentSoul, ...]).decode
"""The Souls of a payment, as its row holds them."""

_encode = msgspec.json.encode

COLUMNS = (
    "p.payment, p.entry, p.player, p.amount, p.power, p.souls, p.effect, p.cost, "
    "coalesce(e.outcome, CASE WHEN p.effect IS NULL THEN 'settled' ELSE 'open' END), "
    "CAST(coalesce("
    "(SELECT sum(damage) FROM soulburn b WHERE b.match=p.match AND b.payment=p.payment), 0) AS bigint)"
)
"""What SQL says of a payment `p` and its end `e`."""


def payments(views: Views, match: str) -> Iterator[PaymentMade]:
    """The payments of a match, by number."""
    for number, entry, player, amount, power, souls, effect, cost, outcome, burned, *rest in views.stream(
        f"SELECT {COLUMNS}, e.entry, e.reason, p.source, p.least_burn "  # noqa: S608 - names of ours
        "FROM payments p LEFT JOIN payment_ends e ON e.match=p.match AND e.payment=p.payment "
        "WHERE p.match=? AND p.payment > ? ORDER BY p.payment",
        (match,),
        key=1,
    ):
        yield PaymentMade(
            number,
            entry,
            player,
            amount,
            power,
            power - amount,
            spent_souls(souls),
            effect,
            cost,
            outcome,
            burned,
            *rest,
        )


def _cost_paid(changes: Changes, entry: LoggedEntry, state: State, event: CostPaid) -> None:
    over = event.power - event.amount
    if over:
        over = least_power(open_power(state, event.player), event.amount) - event.amount
    changes[PAYMENTS].append(
        (
            entry.match,
            event.payment,
            event.entry,
            event.player,
            event.amount,
            event.power,
            event.effect,
            event.cost,
            event.source,
            _encode(event.souls).decode(),
            over * state.ruleset.soulburn_per_power,
        )
    )


def _effect_resolved(changes: Changes, entry: LoggedEntry, _: State, event: EffectResolved) -> None:
    changes[ENDS].append((entry.match, event.payment, event.entry, "resolved", None))


def _effect_fizzled(changes: Changes, entry: LoggedEntry, _: State, event: EffectFizzled) -> None:
    if event.payment is not None:  # E-3: nothing was paid
        changes[ENDS].append((entry.match, event.payment, event.entry, "fizzled", event.reason))


def _ruling_made(changes: Changes, entry: LoggedEntry, _: State, event: RulingMade) -> None:
    for correction in event.corrections:
        if correction.payment is not UNSET:
            changes[ENDS].append((entry.match, correction.payment.payment, event.entry, "closed", event.reason))


MODEL = ReadModel(
    "payments",
    1,
    (PAYMENTS, ENDS),
    {
        CostPaid: _cost_paid,
        EffectResolved: _effect_resolved,
        EffectFizzled: _effect_fizzled,
        RulingMade: _ruling_made,
    },
)
