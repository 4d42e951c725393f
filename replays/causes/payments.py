"""Why costs were paid, effects closed, and what burned: P-1 to P-7, B-1 to B-4, E-1 to E-3."""

from typing import Any

from domain.rules import commands as c
from domain.rules import events as e
from replays.causes.words import (
    Tellers,
    Told,
    added,
    in_brackets,
    in_order,
    less,
    place_of,
    ranked_by,
    recorded,
    varied,
)
from replays.provenance import Provenance


def _cost_paid(record: Provenance, event: e.CostPaid) -> Told:
    for_what = event.effect or event.cost or f"a Rift of rank {event.amount}"
    parts = tuple(_spent(record, event, spent) for spent in event.souls)
    powers = [spent.power for spent in event.souls]
    power = added(powers[0], *((each, "") for each in powers[1:])) if powers[1:] else f"{sum(powers)}"
    over, ruled = _over(record, event)
    rules = ["P-1", *["P-3"] * bool(over), "P-4"]
    rules += ["P-5"] if over and record.ruleset.overpay != "any" else []
    who = record.player(event.player)
    what = f"{who} pays Soulrift {event.amount} for {for_what} (payment {event.payment}) with power {power}"
    kind = ("E-1",) if event.effect else ("E-2",) if event.cost else ("R-2",)
    wrong = recorded(sum(powers), event.power)
    return Told(f"{what}{wrong}{over}", (*rules, *kind), (*ruled, *parts))


def _over(record: Provenance, event: e.CostPaid) -> tuple[str, tuple[int, ...]]:
    """What a payment has beyond its cost, and why the rules allow it."""
    over = event.power - event.amount
    if over <= 0:
        return "", ()
    otherwise, ruled = varied(record, "overpay")
    allowed = {
        "needed": "; without any one of its Souls it would fall short",
        "any": "; whether each of its Souls is needed is not asked",
        "least": "; no smaller power that reaches the cost was open",
    }[record.ruleset.overpay]
    return f", {over} more than the cost{allowed}{otherwise}", ruled


def _spent(record: Provenance, event: e.CostPaid, spent: e.SpentSoul) -> Told:
    """One Soul of a payment: its power, where it was, and why its payer could use it."""
    rank = record.before(("soul", spent.soul), event.n).value
    place = record.before(("place", spent.soul), event.n)
    because, rules, open_to = {*ranked_by(record, spent.soul, event.n), place.n}, ["S-1", "P-2"], ""
    if spent.card is not None:
        control = record.before(("control", spent.card), event.n)
        stolen = isinstance(record.events[control.n - 1], e.ControlChanged)
        because.add(control.n)
        rules.append("A-3" if stolen else "A-2")
        open_to = f", which {record.player(control.value)} controls"
    at = place_of(record, c.OnCard(card=spent.card) if spent.card is not None else "aether", event.n)
    power = f"rank {rank}, so power {added(rank, (1, ''))}{recorded(rank + 1, spent.power)}"
    return Told(f"Soul {spent.soul} has {power}; it is {at}{open_to}", tuple(rules), in_order(*because))


def _soulburn_taken(record: Provenance, event: e.SoulburnTaken) -> Told:
    cause, level = _level(record, event)
    per_power = record.ruleset.soulburn_per_power
    otherwise, ruled = varied(record, "soulburn_per_power")
    each = f"{per_power} life{otherwise or ' (soulburn_per_power)'}"
    before, damage = record.before(("life", event.player), event.n).value, event.power * per_power
    what = (
        f"{record.player(event.player)} takes {event.damage} Soulburn: {level}; "
        f"{event.power} x {each} = {damage}{recorded(damage, event.damage)}; "
        f"{added(before, (-event.damage, ''))}{recorded(before - event.damage, event.life)}"
    )
    return Told(what, (event.rule, "B-1"), (*ruled, cause))


def _level(record: Provenance, event: e.SoulburnTaken) -> tuple[int, str]:
    """What a Soulburn is for, and how its power level is found."""
    if event.rift is not None:
        closed: Any = record.events[event.n - 2]
        rank = closed.highest + closed.unused
        return closed.n, f"rank {less(rank, 'highest', closed.highest)}{recorded(closed.unused, event.power)}"
    paid = record.before(("payment", event.payment or 0), event.n).n
    payment: Any = record.events[paid - 1]
    if event.source == "fizzle":
        return event.n - 1, f"the whole cost, {payment.amount}{recorded(payment.amount, event.power)}"
    over = payment.power - payment.amount
    return paid, f"power {less(payment.power, 'cost', payment.amount)}{recorded(over, event.power)}"


def _effect_resolved(record: Provenance, event: e.EffectResolved) -> Told:
    paid = record.before(("payment", event.payment), event.n).n
    what = f"{event.effect} resolves, and payment {event.payment} of {record.player(event.player)} is closed"
    return Told(what, ("E-1",), (paid,))


def _effect_fizzled(record: Provenance, event: e.EffectFizzled) -> Told:
    what = f"{event.effect} fizzles{in_brackets(event.reason)}"
    if event.payment is None or event.player is None:
        return Told(f"{what}; no Souls were paid for it, so nobody burns", ("E-3",))
    paid = record.before(("payment", event.payment), event.n).n
    what = f"{what}, and payment {event.payment} of {record.player(event.player)} is closed"
    defeated = record.before(("defeated", event.player), event.n)
    if defeated.value:
        return Told(f"{what}; the defeated do not burn", ("E-1", "L-3"), in_order(paid, defeated.n))
    return Told(what, ("E-1", "B-3"), (paid,))


TELLERS: Tellers = {
    e.CostPaid: _cost_paid,
    e.SoulburnTaken: _soulburn_taken,
    e.EffectResolved: _effect_resolved,
    e.EffectFizzled: _effect_fizzled,
}
