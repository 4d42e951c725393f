"""Observations: what a player may see of a match, as a vector of figures whose places are the same in every match.

Lives here: the layout, and how it is filled. It takes the own hand, and of others no more than how many cards they
have; of libraries how many are left. It must not look at anything else that is hidden. docs/gym.md has it as tables.
"""

from array import array
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from domain.rules import State
from domain.rules.state import Card as OnTable
from simulation.action_numbers import AIMED, EXTRA, MAIN, MEANINGS, MOST_SEATS, RANKS
from simulation.decks import pool
from simulation.offers import CHOICES, PAYMENTS
from simulation.seats import Seat
from simulation.views import Action

CARDS = tuple(pool())
"""All cards that come along, in the order of the pool."""

TABLE = ("turn", "own_turn", "event_unused", "free_cards", "actions_left", "rift", "rift_highest")
PLAYERS = (
    *("seated", "defeated", "life", "hand", "library", "missed_draws", "on_turn", "unsettled"),
    *("creatures", "strength", "ready", "sealed", "soulless"),
)
OFFERED = ("offered", "excess", "souls", "reaped")
AIM = ("card", "strength", "rank", "sealed", "soulless", "souls", "seat")

SOUL_RANKS = 4
HIGHEST_COST = max(*RANKS, *(card.soulrift for card in pool().values()))

LIMIT = 2**24
"""No figure is above this or, with a minus, below it: so far every whole number is exact."""

_SHAPES: dict[str, tuple[int, ...]] = {
    "table": (len(TABLE),),
    "aether": (SOUL_RANKS,),
    "hand": (len(MAIN),),
    "extra": (len(EXTRA),),
    "players": (MOST_SEATS, len(PLAYERS)),
    "souls": (MOST_SEATS, SOUL_RANKS),
    "ranks": (MOST_SEATS, SOUL_RANKS),
    "board": (MOST_SEATS, len(CARDS)),
    "payments": (HIGHEST_COST, PAYMENTS, len(OFFERED)),
    "targets": (len(AIMED), CHOICES, len(AIM)),
}


class Part(Struct, frozen=True):
    """A part of the vector: where it begins, and its shape."""

    start: int
    shape: tuple[int, ...]

    @property
    def end(self) -> int:
        """The place after its last."""
        return self.start + prod(self.shape)


def _layout() -> dict[str, Part]:
    found, start = dict[str, Part](), 0
    for name, shape in _SHAPES.items():
        found[name] = Part(start, shape)
        start = found[name].end
    return found


LAYOUT = _layout()
"""The parts of the vector, in order."""

SIZE = max(part.end for part in LAYOUT.values())

_AETHER, _HAND, _EXTRA, _PLAYERS, _SOULS, _RANKS, _BOARD, _PAYMENTS, _TARGETS = (
    part.start for name, part in LAYOUT.items() if name != "table"
)
_CREATURES = PLAYERS.index("creatures")
_IN_HAND = {key: _HAND + place for place, key in enumerate(MAIN)}
_IN_EXTRA = {key: _EXTRA + place for place, key in enumerate(EXTRA)}
_NUMBERS: dict[str | None, int] = {key: place for place, key in enumerate(CARDS)}
_STRENGTHS = [card.attack for card in pool().values()]
_AIMS = {key: _TARGETS + place * CHOICES * len(AIM) for place, key in enumerate(AIMED)}
_EMPTY = array("f", bytes(4 * SIZE))


def parts(observation: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """The parts of an observation in their shapes; no copies: what is changed there changes in the vector."""
    return {name: observation[part.start : part.end].reshape(part.shape) for name, part in LAYOUT.items()}


def bounds() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The least and the greatest of each figure. Only life goes below zero."""
    least, greatest = np.zeros(SIZE, np.float32), np.full(SIZE, LIMIT, np.float32)
    parts(least)["players"][:, PLAYERS.index("life")] = -LIMIT
    return least, greatest


class Sight(Struct, frozen=True):
    """What an observation is made of: the table, the `place` of who looks, and the seats, of which all but the own
    hand, the own extra deck and numbers of cards stays unseen.

    `after` says how many places after who looks each player sits. `began` is the entry with which the turn began,
    `left` how many actions it still has. `offered` are the actions of who looks, by number; none unless it is asked.
    """

    state: State
    seats: Sequence[Seat]
    place: int
    after: Mapping[str, int]
    began: int
    left: int
    offered: Mapping[int, Action]


def observed(sight: Sight) -> NDArray[np.float32]:
    """What the player may see: `SIZE` whole numbers, laid out as in `LAYOUT`. The array is the caller's own."""
    values, after = _EMPTY[:], sight.after
    _see_table(values, sight)
    _see_own(values, sight.seats[sight.place])
    for seat in sight.seats:
        _see_player(values, after[seat.player], seat, sight.state)
    for payment in sight.state.payments.values():
        values[_PLAYERS + after[payment.player] * len(PLAYERS) + PLAYERS.index("unsettled")] += payment.amount
    for name, card in sight.state.battlefield.items():
        number = _NUMBERS[sight.state.descriptions[name].definition]
        _see_card(values, after[card.controller], card, number, ready=card.entered < sight.began)
    for number, action in sight.offered.items():
        _see_offer(values, number, action, sight.state, after)
    return np.frombuffer(values, np.float32)


def _see_table(values: "array[float]", sight: Sight) -> None:
    state, own = sight.state, sight.seats[sight.place]
    if state.turn is not None:
        values[0] = state.turn.number
        values[2] = state.turn.event is None
        if state.turn.player == own.player:
            values[1], values[3], values[4] = 1, own.free_cards, sight.left
    if state.rift is not None:
        values[5], values[6] = state.rift.rank, state.rift.highest
    for soul in state.aether.values():
        values[_AETHER + soul.rank] += 1


def _see_own(values: "array[float]", own: Seat) -> None:
    for key in own.hand:
        values[_IN_HAND[key]] += 1
    for key in own.extra:
        values[_IN_EXTRA[key]] += 1


def _see_player(values: "array[float]", place: int, seat: Seat, state: State) -> None:
    at, player = _PLAYERS + place * len(PLAYERS), state.players[seat.player]
    values[at] = 1
    values[at + 1], values[at + 2] = player.defeated, player.life
    values[at + 3], values[at + 4], values[at + 5] = len(seat.hand), len(seat.library), seat.exhausted
    values[at + 6] = state.turn is not None and state.turn.player == seat.player


def _see_card(values: "array[float]", place: int, card: OnTable, number: int, *, ready: bool) -> None:
    values[_BOARD + place * len(CARDS) + number] += 1
    for soul in card.souls:
        values[_SOULS + place * SOUL_RANKS + soul.rank] += 1
    if card.kind == "creature":
        at, strength = _PLAYERS + place * len(PLAYERS) + _CREATURES, _STRENGTHS[number]
        values[at] += 1
        values[at + 1] += strength
        values[at + 2] += strength * ready
        values[at + 3] += card.sealed
        values[at + 4] += card.soulless
        values[_RANKS + place * SOUL_RANKS + (card.rank or 0)] += 1


def _see_offer(values: "array[float]", number: int, action: Action, state: State, after: Mapping[str, int]) -> None:
    """What a number means just now: what its payment takes, and what is in its target's place."""
    meaning, payment = MEANINGS[number], action.payment
    if payment is not None:
        cost = payment.power - payment.excess
        at = _PAYMENTS + ((cost - 1) * PAYMENTS + meaning.payment - 1) * len(OFFERED)
        values[at], values[at + 1] = 1, payment.excess
        values[at + 2], values[at + 3] = len(payment.souls), payment.reaped
    if meaning.target and action.card is not None and action.target is not None:
        at = _AIMS[action.card] + (meaning.target - 1) * len(AIM)
        card = state.battlefield[action.target]
        known = _NUMBERS[state.descriptions[action.target].definition]
        values[at], values[at + 1], values[at + 2] = known + 1, _STRENGTHS[known], card.rank or 0
        values[at + 3], values[at + 4] = card.sealed, card.soulless
        values[at + 5] = sum([soul.rank + 1 for soul in card.souls])
        values[at + 6] = after[card.controller]
