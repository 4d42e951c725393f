"""Deciders of costs and effects: P-1 to P-7, B-2, B-3, E-1 to E-3."""

from msgspec import UNSET

from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.ending import burn_out
from domain.rules.lookups import defeated, listed, named_twice, no_player, numbered_payment, souls_at_hand
from domain.rules.refusal import Refusal
from domain.rules.state import State


def pay(state: State, command: c.Pay) -> tuple[e.AnyEvent, ...]:
    player = state.players.get(command.player)
    if player is None:
        raise no_player(state, command.player, "player")
    souls_at_hand(state, command.souls)
    if player.defeated:
        raise defeated(player)
    if command.amount < 1:
        raise no_cost(command.amount)
    spent, power = judge_payment(state, command.player, command.amount, command.souls)
    payment = state.numbered.payments + 1
    events: list[e.AnyEvent] = [
        e.CostPaid(
            state.entries + 1,
            state.events + 1,
            command.amount,
            command.cost or None,
            command.effect or None,
            payment,
            command.player,
            power,
            spent,
            command.source,
        )
    ]
    if power > command.amount:
        burn_out(state, events, player, power - command.amount, "overpay", payment)
    return tuple(events)


def no_cost(amount: int) -> Refusal:
    """P-1: the refusal of an amount below 1."""
    return Refusal("P-1", f"Soulrift {amount} is no cost: the least is Soulrift 1", amount=amount, least=1)


def judge_payment(
    state: State, player: str, amount: int, souls: tuple[int, ...]
) -> tuple[tuple[e.SpentSoul, ...], int]:
    """P-7, P-2, P-6, P-1, P-5, in this order: the Souls as spent and their power, or a refusal."""
    if len(souls) > 1 and len(set(souls)) < len(souls):
        twice = souls[named_twice(souls) or 0]
        raise Refusal("P-7", f"Soul {twice} is named more than once in one payment", soul=twice)
    spent, power, aether = [], 0, state.aether
    for number in souls:
        free = aether.get(number)
        soul = _reaped(state, player, number) if free is None else e.SpentSoul(None, free.rank + 1, number)
        power += soul.power
        spent.append(soul)
    if power < amount:
        raise _too_little(state, player, amount, power)
    if power > amount:
        _nothing_superfluous(state, player, amount, spent, power)
    return tuple(spent), power


def _reaped(state: State, player: str, soul: int) -> e.SpentSoul:
    """P-2: a Soul on a card, which the player must control."""
    card = state.battlefield[state.holders[soul]]
    if card.controller != player:
        raise Refusal(
            "P-2",
            f"Soul {soul} is on {card.card}, which {card.controller} controls: "
            f"{player} may use Souls in the Aether and on cards of {player}'s own",
            soul=soul,
            card=card.card,
            controller=card.controller,
        )
    for held in card.souls:
        if held.soul == soul:
            return e.SpentSoul(card.card, held.rank + 1, soul)
    raise AssertionError(soul)  # S-2: the state says that it is there


def open_power(state: State, player: str) -> list[int]:
    """The powers of all Souls open to this player (P-2)."""
    powers = [soul.rank + 1 for soul in state.aether.values()]
    for card in state.battlefield.values():
        if card.controller == player:
            powers += [soul.rank + 1 for soul in card.souls]
    return powers


def _too_little(state: State, player: str, amount: int, power: int) -> Refusal:
    available = sum(open_power(state, player))
    if available < amount:
        return Refusal(
            "P-6",
            f"{player} cannot pay Soulrift {amount}: all Souls open to {player} have power {available} together",
            amount=amount,
            available=available,
        )
    return Refusal(
        "P-1",
        f"these Souls have power {power} together, {amount - power} short of Soulrift {amount}; "
        f"{player} could reach {available}",
        amount=amount,
        power=power,
        short=amount - power,
        available=available,
    )


def _nothing_superfluous(state: State, player: str, amount: int, spent: list[e.SpentSoul], power: int) -> None:
    """P-5, as the ruleset has it, for a payment that goes beyond the amount."""
    overpay = state.ruleset.overpay
    if overpay == "needed":
        excess = power - amount
        for soul in spent:
            if soul.power <= excess:
                raise _superfluous(spent, amount, power)
    elif overpay == "least":
        least = least_power(open_power(state, player), amount)
        if power > least:
            raise Refusal(
                "P-5",
                f"power {power} for Soulrift {amount} burns {power - amount}; {player} can pay it with power {least}",
                amount=amount,
                power=power,
                excess=power - amount,
                least=least,
            )


def _superfluous(spent: list[e.SpentSoul], amount: int, power: int) -> Refusal:
    excess = power - amount
    souls = [soul.soul for soul in spent if soul.power <= excess]
    told = (
        f"Soul {souls[0]} is not needed"
        if len(souls) == 1
        else f"any one of the Souls {listed(souls)} could be left out"
    )
    return Refusal(
        "P-5",
        f"{told}: power {power} for Soulrift {amount} leaves {excess} over",
        amount=amount,
        power=power,
        excess=excess,
        superfluous=souls,
    )


def least_power(powers: list[int], amount: int) -> int:
    """The least power, at least `amount`, to which some of these Souls add up; `amount` must be within reach."""
    reachable = 1  # bit s is set when some of the Souls add up to s
    for power in powers:
        reachable |= reachable << power
    above = reachable >> amount
    return amount + (above & -above).bit_length() - 1


def resolve(state: State, command: c.Resolve) -> tuple[e.AnyEvent, ...]:
    payment = state.payments.get(command.payment)
    if payment is None:
        raise _not_open(state, command.payment, "resolve")
    return (e.EffectResolved(state.entries + 1, state.events + 1, payment.effect, command.payment, payment.player),)


def _not_open(state: State, number: int, verb: str) -> Refusal:
    """E-1: only an open payment's effect can resolve or fizzle."""
    numbered_payment(state, number)
    return Refusal("E-1", f"payment {number} is not open: there is no effect of it that could {verb}", payment=number)


def fizzle(state: State, command: c.Fizzle) -> tuple[e.AnyEvent, ...]:
    if command.payment is UNSET:
        return (_unpaid_fizzle(state, str(command.effect), command.reason),)
    payment = state.payments.get(command.payment)
    if payment is None:
        raise _not_open(state, command.payment, "fizzle")
    events: list[e.AnyEvent] = [
        e.EffectFizzled(
            state.entries + 1, state.events + 1, payment.effect, command.payment, payment.player, command.reason
        )
    ]
    player = state.players[payment.player]
    if not player.defeated:
        burn_out(state, events, player, payment.amount, "fizzle", command.payment)
    return tuple(events)


def _unpaid_fizzle(state: State, effect: str, reason: str | None) -> e.EffectFizzled:
    """E-3: an effect for which nothing was paid; nobody burns."""
    paid = [payment.payment for payment in state.payments.values() if payment.effect == effect]
    if paid:
        raise Refusal(
            "E-1", f"payment {paid[0]} is open for {effect}: let that payment fizzle by its number", payments=paid
        )
    return e.EffectFizzled(state.entries + 1, state.events + 1, effect, None, None, reason)
