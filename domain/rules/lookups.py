"""What every decider asks first: does what the command names exist, and may this player act at all (L-5)?"""

from collections.abc import Iterable, Sequence

from domain.rules.refusal import Refusal, bad_input, pointer, quoted
from domain.rules.state import Card, Player, State

MOST_LISTED = 20


def seat(state: State, name: str, *path: str | int) -> Player:
    """The player of this name, defeated or not; `path` leads to the field, unless it is `player`."""
    player = state.players.get(name)
    if player is None:
        raise no_player(state, name, *path or ("player",))
    return player


def able(state: State, name: str, field: str = "player") -> Player:
    """The player of this name, who must not be defeated (L-5)."""
    player = state.players.get(name)
    if player is None:
        raise no_player(state, name, field)
    if player.defeated:
        raise defeated(player)
    return player


def no_player(state: State, name: str, *path: str | int) -> Refusal:
    """The refusal of a player who is not in the match."""
    there = listed(state.players)
    return bad_input(pointer(*path), f"there is no player {quoted(name)} in this match, only {there}")


def defeated(player: Player) -> Refusal:
    """L-5: the refusal of a player who is defeated."""
    return Refusal("L-5", f"{player.player} is defeated and does nothing more", life=player.life)


def on_battlefield(state: State, name: str, *path: str | int) -> Card:
    """The card of this name on the battlefield; `path` leads to the field, unless it is `card`."""
    card = state.battlefield.get(name)
    if card is None:
        raise no_card(name, *path or ("card",))
    return card


def no_card(name: str, *path: str | int) -> Refusal:
    """The refusal of a card that is not on the battlefield."""
    return bad_input(pointer(*path), f"there is no card {quoted(name)} on the battlefield")


def creature(state: State, name: str, *path: str | int) -> Card:
    """The creature of this name on the battlefield; `path` leads to the field, unless it is `card`."""
    card = state.battlefield.get(name)
    if card is None:
        raise no_card(name, *path or ("card",))
    if card.kind != "creature":
        raise bad_input(pointer(*path or ("card",)), f"{name} is no creature")
    return card


def on_battlefield_already(name: str) -> Refusal:
    """The refusal of a new card under a name that is on the battlefield already."""
    return bad_input("/card", f"a card named {quoted(name)} is on the battlefield already; choose another name")


def numbered_payment(state: State, payment: int, *path: str | int) -> None:
    """Refuse a payment number that was never given out; `path` leads to the field, unless it is `payment`."""
    if not 1 <= payment <= state.numbered.payments:
        raise bad_input(
            pointer(*path or ("payment",)),
            f"there is no payment {payment}: {state.numbered.payments} were made so far",
            payment=payment,
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
    came = state.numbered.souls
    return bad_input(pointer(*path), f"there is no Soul {soul}: {came} came so far", soul=soul, souls=came)


def named_twice(values: Sequence[object]) -> int | None:
    """The index of the first value that was there before; null when each is there once."""
    if len(set(values)) == len(values):
        return None
    seen = set()
    for index, value in enumerate(values):
        if value in seen:
            return index
        seen.add(value)
    raise AssertionError


def listed(names: Iterable[object]) -> str:
    """Names as a player would say them: "a, b and c"; of very many, the first ones and how many more."""
    words = [str(name) for name in names]
    if len(words) > MOST_LISTED:
        words = [*words[: MOST_LISTED - 1], f"{len(words) - MOST_LISTED + 1} more"]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
