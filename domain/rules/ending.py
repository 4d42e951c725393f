"""Soulburn, defeat and the end: what may follow from any command (B-1, L-3, L-4, R-10)."""

from collections.abc import Mapping
from typing import Literal

from domain.rules import events as e
from domain.rules.state import Player, Rift, State

Because = Literal["life", "concede", "ruling"]
_RULES: dict[str, Literal["B-2", "B-3", "B-4"]] = {"overpay": "B-2", "fizzle": "B-3", "rift": "B-4"}


def burn(
    state: State,
    events: list[e.AnyEvent],
    player: Player,
    power: int,
    source: Literal["overpay", "fizzle", "rift"],
    *,
    payment: int | None = None,
    rift: int | None = None,
) -> int:
    """B-1: append the Soulburn of this power level, above 0, and return the life that it leaves."""
    damage = power * state.ruleset.soulburn_per_power
    life = player.life - damage
    events.append(
        e.SoulburnTaken(
            state.entries + 1,
            state.events + len(events) + 1,
            damage,
            life,
            payment,
            player.player,
            power,
            rift,
            _RULES[source],
            source,
        )
    )
    return life


def burn_out(
    state: State,
    events: list[e.AnyEvent],
    player: Player,
    power: int,
    source: Literal["overpay", "fizzle"],
    payment: int,
) -> bool:
    """The Soulburn of a payment and, where it takes the last life, the defeat (L-3). True if it did."""
    if burn(state, events, player, power, source, payment=payment) > 0:
        return False
    defeat(state, events, {player.player: "life"}, state.rift)
    return True


def defeat(state: State, events: list[e.AnyEvent], fallen: Mapping[str, Because], rift: Rift | None) -> None:
    """L-3, L-4: append the defeats and, when at most one player is left, the end.

    `rift` is the Rift that is open at this point of the command.
    """
    rift = fall(state, events, fallen, rift)
    left = [name for name, player in state.players.items() if not player.defeated and name not in fallen]
    if len(left) <= 1:
        end(state, events, left[0] if left else None, "L-4", rift)


def fall(state: State, events: list[e.AnyEvent], fallen: Mapping[str, Because], rift: Rift | None) -> Rift | None:
    """Append the defeats in the order of the match's players; return the Rift that is open after them (R-10)."""
    for name in state.players:
        if name in fallen:
            events.append(e.PlayerDefeated(state.entries + 1, state.events + len(events) + 1, fallen[name], name))
            if rift and rift.player == name:
                close_unburned(state, events, rift)
                rift = None
    return rift


def end(state: State, events: list[e.AnyEvent], winner: str | None, reason: str | None, rift: Rift | None) -> None:
    """Append the end of the match, after that of the Rift if one is open (R-10)."""
    if rift:
        close_unburned(state, events, rift)
    events.append(e.MatchEnded(state.entries + 1, state.events + len(events) + 1, reason, winner))


def close_unburned(state: State, events: list[e.AnyEvent], rift: Rift) -> None:
    """R-10: append the closing of a Rift for which nothing burns."""
    events.append(
        e.RiftClosed(
            state.entries + 1,
            state.events + len(events) + 1,
            0,
            rift.highest,
            rift.player,
            rift.rift,
            rift.rank - rift.highest,
        )
    )
