"""A scene: the table of a match in the gym, in a few lines of text."""

from collections import Counter
from collections.abc import Iterable

from domain.rules import State
from domain.rules.events import Soul
from domain.rules.state import Card
from simulation.decks import pool
from simulation.gym_match import Match


def scene(match: Match) -> str:
    """Who plays, with how much life and what on the battlefield; the Aether; the hand of the one who is asked."""
    state, turn = match.state, match.state.turn
    lines = [f"turn {turn.number}, of {turn.player}" if turn else "no turn yet"]
    for seat in match.seats:
        player = state.players[seat.player]
        how = "defeated" if player.defeated else f"{player.life} life"
        cards = [_card(state, name, card) for name, card in state.battlefield.items() if card.controller == seat.player]
        lines.append(f"  {seat.player}: {how}, {len(seat.hand)} in hand, {len(seat.library)} in the library")
        lines += [f"    {card}" for card in cards]
    lines.append(f"Aether: {_souls(state.aether.values()) or 'empty'}")
    if state.rift is not None:
        lines.append(f"open: a Rift of rank {state.rift.rank}")
    if match.ended:
        return "\n".join([*lines, f"won by {state.winner}" if state.winner else "a draw"])
    hand = Counter(pool()[key].name for key in match.seat.hand)
    shown = ", ".join(name if count == 1 else f"{count} {name}" for name, count in hand.items())
    return "\n".join([*lines, f"{match.seat.player} is to act, and holds {shown or 'nothing'}"])


def _card(state: State, name: str, card: Card) -> str:
    marks = [f"rank {card.rank}"] if card.rank is not None else []
    marks += [word for word, holds in (("Sealed", card.sealed), ("Soulless", card.soulless)) if holds]
    marks += [_souls(card.souls)] if card.souls else []
    return ", ".join([state.descriptions[name].name or name, *marks])


def _souls(souls: Iterable[Soul]) -> str:
    """How many Souls of which rank there are; nothing if there are none."""
    ranks = Counter(soul.rank for soul in souls)
    counts = ", ".join(f"{ranks[rank]} of rank {rank}" for rank in sorted(ranks))
    return f"Souls {counts}" if counts else ""
