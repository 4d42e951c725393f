"""Deciders of cards and of the Souls that come and go with them: S-1, C-1 to C-12, A-1 to A-6."""

from collections.abc import Iterable

from msgspec import UNSET

from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.lookups import (
    creature,
    defeated,
    no_card,
    no_player,
    on_battlefield,
    on_battlefield_already,
    seat,
    souls_at_hand,
)
from domain.rules.refusal import Refusal, bad_input
from domain.rules.state import Card, State

MAX_RANK = 3


def enter(state: State, command: c.Enter) -> tuple[e.AnyEvent, ...]:
    if command.card in state.battlefield:
        raise on_battlefield_already(command.card)
    controller = state.players.get(command.controller)
    if controller is None:
        raise no_player(state, command.controller, "controller")
    owner = command.controller if command.owner is UNSET else seat(state, command.owner, "owner").player
    if controller.defeated:
        raise defeated(controller)
    if command.kind == "creature":
        creature_rank(command.card, command.deck, command.rank)
    entry = state.entries + 1
    return (
        e.CardEntered(
            entry,
            state.events + 1,
            command.card,
            command.controller,
            command.deck,
            command.definition,
            entry,
            command.kind,
            command.name,
            owner,
            command.rank,
            False,
            command.soulless,
            (),
        ),
    )


def creature_rank(card: str, deck: str, rank: int | None) -> None:
    """C-6, then C-5: the ranks that a creature of this deck can have."""
    if rank is not None and rank > MAX_RANK:
        raise Refusal("C-6", f"{card} cannot be of rank {rank}: creatures go up to rank 3", rank=rank, highest=MAX_RANK)
    if deck == "extra" and not rank:
        told = "without a rank" if rank is None else "of rank 0"
        raise Refusal("C-5", f"{card} cannot be {told}: a creature of the extra deck has rank 1, 2 or 3", rank=rank)


def seal(state: State, command: c.Seal) -> tuple[e.AnyEvent, ...]:
    if creature(state, command.card).sealed:
        raise bad_input("/card", f"{command.card} is Sealed already")
    return (e.CreatureSealed(state.entries + 1, state.events + 1, command.card),)


def unseal(state: State, command: c.Unseal) -> tuple[e.AnyEvent, ...]:
    if not creature(state, command.card).sealed:
        raise bad_input("/card", f"{command.card} is not Sealed")
    return (e.CreatureUnsealed(state.entries + 1, state.events + 1, command.card),)


def set_soulless(state: State, command: c.SetSoulless) -> tuple[e.AnyEvent, ...]:
    if creature(state, command.card).soulless == command.soulless:
        already = "Soulless already" if command.soulless else "not Soulless"
        raise bad_input("/soulless", f"{command.card} is {already}")
    return (e.SoullessSet(state.entries + 1, state.events + 1, command.card, command.soulless),)


def set_rank(state: State, command: c.SetRank) -> tuple[e.AnyEvent, ...]:
    card = creature(state, command.card)
    if card.rank == command.rank:
        already = "has no rank" if card.rank is None else f"is of rank {card.rank}"
        raise bad_input("/rank", f"{command.card} {already} already", rank=card.rank)
    creature_rank(card.card, card.deck, command.rank)
    return (e.RankSet(state.entries + 1, state.events + 1, command.card, command.cause, command.rank),)


def change_control(state: State, command: c.ChangeControl) -> tuple[e.AnyEvent, ...]:
    card = on_battlefield(state, command.card)
    to = seat(state, command.to, "to")
    if card.controller == command.to:
        raise bad_input("/to", f"{command.to} controls {command.card} already")
    if to.defeated:
        raise defeated(to)
    return (e.ControlChanged(state.entries + 1, state.events + 1, command.card, card.controller, command.to),)


def destroy(state: State, command: c.Destroy) -> tuple[e.AnyEvent, ...]:
    """C-12: all leave together, each judged as it was; then, in the command's order, each gives up its Souls."""
    cards = []
    for name in command.cards:
        card = state.battlefield.get(name)
        if card is None:
            raise no_card(name, "cards", command.cards.index(name))
        cards.append(card)
    modifiers: dict[str, list[c.NamedModifier]] = {}
    for index, modifier in enumerate(command.modifiers or ()):
        creature(state, modifier.card, "modifiers", index, "card")
        modifiers.setdefault(modifier.card, []).append(modifier)
    by = command.by
    if by is not None:
        seat(state, by, "by")
    events: list[e.AnyEvent] = []
    n = state.events
    for card in cards:
        n += 1
        kind: type[e.CreatureDestroyed | e.CardDestroyed] = (
            e.CreatureDestroyed if card.kind == "creature" else e.CardDestroyed
        )
        events.append(_gone(kind, state, n, card, by, command.cause))
    numbered = state.numbered.souls
    for card in cards:
        if card.souls:
            n = _give_up_souls(state, events, n, card, e.SoulReturned)
        if card.kind == "creature" and not card.soulless:  # C-2, C-10
            n += 1
            numbered += 1
            events.append(_collected(state, n, card, modifiers.get(card.card, ()), numbered))
    return tuple(events)


def _gone(
    kind: type[e.CreatureDestroyed | e.CardDestroyed | e.CardLeft],
    state: State,
    n: int,
    card: Card,
    by: str | None,
    last: str | None,
) -> e.CreatureDestroyed | e.CardDestroyed | e.CardLeft:
    """The event by which a card goes, with the whole card as it was; `last` is the kind's own last field."""
    described = state.descriptions[card.card]
    return kind(
        state.entries + 1,
        n,
        card.card,
        card.controller,
        card.deck,
        described.definition,
        card.entered,
        card.kind,
        described.name,
        card.owner,
        card.rank,
        card.sealed,
        card.soulless,
        tuple(card.souls),
        by,
        last,  # type: ignore[arg-type]  # null only for the kinds that allow it
    )


def _give_up_souls(
    state: State, events: list[e.AnyEvent], n: int, card: Card, how: type[e.SoulReturned] | type[e.SoulLost]
) -> int:
    """A-4, A-6: append what becomes of the Souls on a card that goes, by number; return the last event's number."""
    for index, soul in enumerate(card.souls, n + 1):
        events.append(how(state.entries + 1, index, card.card, soul.rank, soul.soul))
    return n + len(card.souls)


def _collected(state: State, n: int, card: Card, modifiers: Iterable[c.NamedModifier], soul: int) -> e.SoulCollected:
    """C-1, C-3 to C-8: the new Soul, of the creature's rank and all modifiers, held within 0 and 3 only at the end."""
    rank = card.rank or 0
    applied: tuple[e.Modifier, ...] = ()
    if card.sealed:
        rank += state.ruleset.sealed_bonus
        applied = (e.Modifier(state.ruleset.sealed_bonus, "sealed"),)
    for modifier in modifiers:
        rank += modifier.delta
        applied += (e.Modifier(modifier.delta, modifier.name),)
    if rank < 0:
        rank = 0
    elif rank > MAX_RANK:
        rank = MAX_RANK
    return e.SoulCollected(state.entries + 1, n, card.card, applied, rank, soul)


def leave(state: State, command: c.Leave) -> tuple[e.AnyEvent, ...]:
    card = on_battlefield(state, command.card)
    if command.by is not None:
        seat(state, command.by, "by")
    n = state.events + 1
    events: list[e.AnyEvent] = [_gone(e.CardLeft, state, n, card, command.by, command.to)]
    how = e.SoulReturned if state.ruleset.souls_on_leaving == "return" else e.SoulLost
    _give_up_souls(state, events, n, card, how)
    return tuple(events)


def release(state: State, command: c.Release) -> tuple[e.AnyEvent, ...]:
    if command.by is not None:
        seat(state, command.by, "by")
    rank = state.ruleset.release_rank if command.rank is UNSET else command.rank
    if not 0 <= rank <= MAX_RANK:
        raise Refusal("S-1", f"a Soul has a rank from 0 to 3, not {rank}", rank=rank, lowest=0, highest=MAX_RANK)
    return (
        e.SoulReleased(state.entries + 1, state.events + 1, command.by, command.cause, rank, state.numbered.souls + 1),
    )


def reap(state: State, command: c.Reap) -> tuple[e.AnyEvent, ...]:
    souls_at_hand(state, command.souls)
    on_battlefield(state, command.card)
    if command.by is not None:
        seat(state, command.by, "by")
    for soul in command.souls:
        if soul in state.holders:
            raise Refusal(
                "A-5",
                f"Soul {soul} is on {state.holders[soul]}: Souls are reaped from the Aether only",
                soul=soul,
                card=state.holders[soul],
            )
    aether = state.aether
    events: list[e.AnyEvent] = []
    for n, soul in enumerate(command.souls, state.events + 1):
        rank = aether[soul].rank
        events.append(e.SoulReaped(state.entries + 1, n, command.by, command.card, command.cause, rank, soul))
    return tuple(events)
