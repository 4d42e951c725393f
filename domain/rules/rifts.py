"""Deciders of Rift Summoning: R-1 to R-10, B-4."""

from msgspec import UNSET

from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.cards import MAX_RANK
from domain.rules.ending import burn, burn_out, defeat
from domain.rules.lookups import able, defeated, on_battlefield_already, seat, souls_at_hand
from domain.rules.payments import judge_payment
from domain.rules.players import event_used, whose_turn
from domain.rules.refusal import Refusal
from domain.rules.state import Rift, State


def open_rift(state: State, command: c.OpenRift) -> tuple[e.AnyEvent, ...]:
    player = seat(state, command.player)
    souls_at_hand(state, command.souls)
    if player.defeated:
        raise defeated(player)
    _may_open(state, command.player, command.rank)
    spent, power = judge_payment(state, command.player, command.rank, command.souls)
    entry, n, payment = state.entries + 1, state.events + 1, state.numbered.payments + 1
    events: list[e.AnyEvent] = [
        e.EventTaken(entry, n, c.RIFT_SUMMONING, command.player),
        e.CostPaid(entry, n + 1, command.rank, None, None, payment, command.player, power, spent, None),
    ]
    if power > command.rank and burn_out(state, events, player, power - command.rank, "overpay", payment):
        return tuple(events)
    rift = state.numbered.rifts + 1
    events.append(e.RiftOpened(entry, n + len(events), payment, command.player, command.rank, rift))
    return tuple(events)


def _may_open(state: State, player: str, rank: int) -> None:
    """R-2, R-8, R-7, R-1, in this order."""
    if not 1 <= rank <= MAX_RANK:
        raise Refusal("R-2", f"a Rift has rank 1, 2 or 3, not {rank}", rank=rank, lowest=1, highest=MAX_RANK)
    if state.rift:
        raise Refusal(
            "R-8",
            f"one Rift is open at a time, and {state.rift.player}'s is",
            rift=state.rift.rift,
            player=state.rift.player,
        )
    if state.turn is None or state.turn.player != player:
        raise Refusal("R-7", f"{player} may open a Rift only on {player}'s own turn; {whose_turn(state)}")
    if state.turn.event is not None:
        raise event_used(state.turn)


def summon(state: State, command: c.Summon) -> tuple[e.AnyEvent, ...]:
    player = seat(state, command.player)
    if command.card in state.battlefield:
        raise on_battlefield_already(command.card)
    owner = command.player if command.owner is UNSET else seat(state, command.owner, "owner").player
    if player.defeated:
        raise defeated(player)
    rift, deck = _lets_through(state, command)
    entry = state.entries + 1
    summoned = e.CreatureSummoned(
        entry,
        state.events + 1,
        command.card,
        command.player,
        deck,
        command.definition,
        entry,
        "creature",
        command.name,
        owner,
        command.rank,
        False,
        command.soulless,
        (),
        rift.rift,
    )
    return (summoned,)


def _lets_through(state: State, command: c.Summon) -> tuple[Rift, c.Deck]:
    """R-3, then C-5: the player's open Rift and the deck, if a creature of this rank may come through."""
    rift = _open_rift_of(state, command.player, "R-3")
    lowest = state.ruleset.rift_min_rank
    if not lowest <= command.rank <= rift.rank:
        raise Refusal(
            "R-3",
            f"a rank {rift.rank} Rift lets ranks {lowest} to {rift.rank} through, not rank {command.rank}",
            rank=command.rank,
            lowest=lowest,
            highest=rift.rank,
        )
    deck = c.deck_of(command.rank) if command.deck is UNSET else command.deck
    if deck == "extra" and command.rank == 0:
        raise Refusal(
            "C-5", f"{command.card} cannot be of rank 0: a creature of the extra deck has rank 1, 2 or 3", rank=0
        )
    return rift, deck


def close_rift(state: State, command: c.CloseRift) -> tuple[e.AnyEvent, ...]:
    player = able(state, command.player)
    rift = _open_rift_of(state, command.player, "R-4")
    unused = rift.rank - rift.highest
    events: list[e.AnyEvent] = [
        e.RiftClosed(state.entries + 1, state.events + 1, unused, rift.highest, rift.player, rift.rift, unused)
    ]
    if unused and burn(state, events, player, unused, "rift", rift=rift.rift) <= 0:
        defeat(state, events, {command.player: "life"}, None)
    return tuple(events)


def _open_rift_of(state: State, player: str, rule: str) -> Rift:
    """The open Rift of this player; refused by `rule` if there is none or it is another's."""
    if state.rift is None:
        raise Refusal(rule, f"no Rift is open for {player}")
    if state.rift.player != player:
        raise Refusal(rule, f"the open Rift is {state.rift.player}'s, not {player}'s", player=state.rift.player)
    return state.rift
