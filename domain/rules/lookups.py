"""What every decider asks first: does what the command names exist, and may this player act at all (L-5)?"""

from collections.abc import Iterable

from domain.rules.refusal import Refusal, bad_input, pointer, quoted
from domain.rules.state import Card, Player, State


def seat(state: State, name: str, *path: str | int) -> Player:
    """The player of this name, defeated or not; `path` leads to the field, unless it is `player`."""
    player = state.players.get(name)
    if player is None:
        at = pointer(*path or ("player",))
        raise bad_input(at, f"there is no player {quoted(name)} in this match, only {listed(state.players)}")
    return player


def able(state: State, name: str, *path: str | int) -> Player:
    """The player of this name, who must not be defeated (L-5)."""
    player = seat(state, name, *path)
    if player.defeated:
        raise defeated(player)
    return player


def defeated(player: Player) -> Refusal:
    """L-5: the refusal of a player who is defeated."""
    return Refusal("L-5", f"{player.player} is defeated and does nothing more", life=player.life)


def on_battlefield(state: State, name: str, *path: str | int) -> Card:
    """The card of this name on the battlefield; `path` leads to the field, unless it is `card`."""
    card = state.battlefield.get(name)
    if card is None:
        raise bad_input(pointer(*path or ("card",)), f"there is no card {quoted(name)} on the battlefield")
    return card


def creature(state: State, name: str, *path: str | int) -> Card:
    """The creature of this name on the battlefield; `path` leads to the field, unless it is `card`."""
    card = on_battlefield(state, name, *path)
    if card.kind != "creature":
        raise bad_input(pointer(*path or ("card",)), f"{name} is no creature")
    return card


def not_on_battlefield(state: State, name: str) -> None:
    """Refuse the name of a card that is on the battlefield already."""
    if name in state.battlefield:
        raise bad_input("/card", f"a card named {quoted(name)} is on the battlefield already; choose another name")


def numbered_payment(state: State, payment: int, *path: str | int) -> None:
    """Refuse a payment number that was never given out; `path` leads to the field, unless it is `payment`."""
    if not 1 <= payment <= state.numbered.payments:
        raise bad_input(
            pointer(*path or ("payment",)),
            f"there is no payment {payment}: {state.numbered.payments} were made so far",
            payments=state.numbered.payments,
        )


def souls_at_hand(state: State, souls: tuple[int, ...]) -> None:
    """Refuse Souls that never were or are gone, in the field `souls`."""
    aether = state.aether
    for soul in souls:
        if soul not in aether and soul not in state.holders:
            raise missing_soul(state, soul, "souls", souls.index(soul))


def missing_soul(state: State, soul: int, *path: str | int) -> Refusal:
    """The refusal of a Soul that is neither in the Aether nor on a card."""
    if 1 <= soul <= state.numbered.souls:
        return bad_input(pointer(*path), f"Soul {soul} is gone", soul=soul)
    return bad_input(
        pointer(*path), f"there is no Soul {soul}: {state.numbered.souls} came so far", souls=state.numbered.souls
    )


def listed(names: Iterable[object]) -> str:
    """Names as a player would say them: "a, b and c"."""
    words = [str(name) for name in names]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
