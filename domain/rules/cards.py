"""Deciders of cards and of the Souls that come and go with them: S-1, C-1 to C-12, A-1 to A-6."""

from typing import Any

from msgspec import UNSET

from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.lookups import (
    creature,
    not_on_battlefield,
    on_battlefield,
    seat,
    souls_at_hand,
    standing,
)
from domain.rules.refusal import Refusal, bad_input, pointer
from domain.rules.state import Card, State

MAX_RANK = 3


def enter(state: State, command: c.Enter) -> tuple[e.AnyEvent, ...]:
    not_on_battlefield(state, command.card)
    controller = seat(state, command.controller, "/controller")
    owner = command.controller if command.owner is UNSET else seat(state, command.owner, "/owner").player
    standing(controller)
    if command.kind == "creature":
        creature_rank(command.card, command.deck, command.rank)
    entry = state.entries + 1
    return (
        e.CardEntered(
            entry=entry,
            n=state.events + 1,
            card=command.card,
            controller=command.controller,
            deck=command.deck,
            definition=command.definition,
            entered=entry,
            kind=command.kind,
            name=command.name,
            owner=owner,
            rank=command.rank,
            sealed=False,
            soulless=command.soulless,
            souls=(),
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
    return (e.CreatureSealed(entry=state.entries + 1, n=state.events + 1, card=command.card),)


def unseal(state: State, command: c.Unseal) -> tuple[e.AnyEvent, ...]:
    if not creature(state, command.card).sealed:
        raise bad_input("/card", f"{command.card} is not Sealed")
    return (e.CreatureUnsealed(entry=state.entries + 1, n=state.events + 1, card=command.card),)


def set_soulless(state: State, command: c.SetSoulless) -> tuple[e.AnyEvent, ...]:
    if creature(state, command.card).soulless == command.soulless:
        already = "Soulless already" if command.soulless else "not Soulless"
        raise bad_input("/soulless", f"{command.card} is {already}")
    return (
        e.SoullessSet(
            entry=state.entries + 1, n=state.events + 1, card=command.card, soulless=command.soulless
        ),
    )


def set_rank(state: State, command: c.SetRank) -> tuple[e.AnyEvent, ...]:
    card = creature(state, command.card)
    if card.rank == command.rank:
        already = "has no rank" if card.rank is None else f"is of rank {card.rank}"
        raise bad_input("/rank", f"{command.card} {already} already", rank=card.rank)
    creature_rank(card.card, card.deck, command.rank)
    return (
        e.RankSet(
            entry=state.entries + 1, n=state.events + 1, card=command.card, cause=command.cause, rank=command.rank
        ),
    )


def change_control(state: State, command: c.ChangeControl) -> tuple[e.AnyEvent, ...]:
    card = on_battlefield(state, command.card)
    to = seat(state, command.to, "/to")
    if card.controller == command.to:
        raise bad_input("/to", f"{command.to} controls {command.card} already")
    standing(to)
    return (
        e.ControlChanged(
            entry=state.entries + 1, n=state.events + 1, card=command.card, from_=card.controller, to=command.to
        ),
    )


def destroy(state: State, command: c.Destroy) -> tuple[e.AnyEvent, ...]:
    """C-12: all leave together, each judged as it was; then, in the command's order, each gives up its Souls."""
    cards = [on_battlefield(state, name, pointer("cards", i)) for i, name in enumerate(command.cards)]
    modifiers = command.modifiers or ()
    for index, modifier in enumerate(modifiers):
        creature(state, modifier.card, pointer("modifiers", index, "card"))
    _known_by(state, command.by)
    events: list[e.AnyEvent] = []
    for card in cards:
        destroyed = e.CreatureDestroyed if card.kind == "creature" else e.CardDestroyed
        events.append(
            destroyed(
                entry=state.entries + 1,
                n=state.events + len(events) + 1,
                by=command.by,
                cause=command.cause,
                **_whole(state, card),
            )
        )
    released = state.numbered.souls
    for card in cards:
        _souls_leave(state, events, card, e.SoulReturned)
        if card.kind == "creature" and not card.soulless:
            released += 1
            events.append(_collected(state, card, modifiers, released, state.events + len(events) + 1))
    return tuple(events)


def _whole(state: State, card: Card) -> dict[str, Any]:
    described = state.descriptions[card.card]
    return {
        "card": card.card,
        "controller": card.controller,
        "deck": card.deck,
        "definition": described.definition,
        "entered": card.entered,
        "kind": card.kind,
        "name": described.name,
        "owner": card.owner,
        "rank": card.rank,
        "sealed": card.sealed,
        "soulless": card.soulless,
        "souls": tuple(card.souls),
    }


def _souls_leave(
    state: State, events: list[e.AnyEvent], card: Card, how: type[e.SoulReturned] | type[e.SoulLost]
) -> None:
    for soul in card.souls:
        events.append(
            how(
                entry=state.entries + 1,
                n=state.events + len(events) + 1,
                card=card.card,
                rank=soul.rank,
                soul=soul.soul,
            )
        )


def _collected(
    state: State, card: Card, modifiers: tuple[c.NamedModifier, ...], soul: int, n: int
) -> e.SoulCollected:
    """C-1, C-3 to C-8: the new Soul, of the creature's rank and all modifiers, held within 0 and 3 only at the end."""
    applied = [e.Modifier(delta=m.delta, name=m.name) for m in modifiers if m.card == card.card]
    if card.sealed:
        applied.insert(0, e.Modifier(delta=state.ruleset.sealed_bonus, name="sealed"))
    rank = (card.rank or 0) + sum([modifier.delta for modifier in applied])
    return e.SoulCollected(
        entry=state.entries + 1,
        n=n,
        creature=card.card,
        modifiers=tuple(applied),
        rank=min(max(rank, 0), MAX_RANK),
        soul=soul,
    )


def leave(state: State, command: c.Leave) -> tuple[e.AnyEvent, ...]:
    card = on_battlefield(state, command.card)
    _known_by(state, command.by)
    events: list[e.AnyEvent] = [
        e.CardLeft(
            entry=state.entries + 1, n=state.events + 1, by=command.by, to=command.to, **_whole(state, card)
        )
    ]
    _souls_leave(state, events, card, e.SoulReturned if state.ruleset.souls_on_leaving == "return" else e.SoulLost)
    return tuple(events)


def release(state: State, command: c.Release) -> tuple[e.AnyEvent, ...]:
    _known_by(state, command.by)
    rank = state.ruleset.release_rank if command.rank is UNSET else command.rank
    if not 0 <= rank <= MAX_RANK:
        raise Refusal("S-1", f"a Soul has a rank from 0 to 3, not {rank}", rank=rank, lowest=0, highest=MAX_RANK)
    return (
        e.SoulReleased(
            entry=state.entries + 1,
            n=state.events + 1,
            by=command.by,
            cause=command.cause,
            rank=rank,
            soul=state.numbered.souls + 1,
        ),
    )


def reap(state: State, command: c.Reap) -> tuple[e.AnyEvent, ...]:
    souls_at_hand(state, command.souls, "souls")
    on_battlefield(state, command.card)
    _known_by(state, command.by)
    for soul in command.souls:
        if soul in state.holders:
            raise Refusal(
                "A-5",
                f"Soul {soul} is on {state.holders[soul]}: Souls are reaped from the Aether only",
                soul=soul,
                card=state.holders[soul],
            )
    return tuple(
        [
            e.SoulReaped(
                entry=state.entries + 1,
                n=n,
                by=command.by,
                card=command.card,
                cause=command.cause,
                rank=state.aether[soul].rank,
                soul=soul,
            )
            for n, soul in enumerate(command.souls, state.events + 1)
        ]
    )


def _known_by(state: State, by: str | None) -> None:
    if by is not None:
        seat(state, by, "/by")
