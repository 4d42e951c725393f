"""What a policy gets: what its player may see, and what its player may do."""

from typing import Literal

from msgspec import Struct

from domain.rules import Payment, State
from simulation.decks import Card

Kind = Literal["play", "open", "summon", "close", "attack", "end", "concede"]


class Action(Struct, frozen=True, gc=False):
    """What a player may do now.

    "play": a `card` of the hand, with its `payment` if it costs Souls, on a `target` (a card on the battlefield) if it
    has one. "open": a Rift of this `rank`, with its payment. "summon": a card of the extra deck, through it. "close":
    that Rift. "attack": the player `target`, which ends the turn. "end": the turn, without that. "concede".
    """

    kind: Kind
    card: str | None = None
    payment: Payment | None = None
    rank: int | None = None
    target: str | None = None

    @property
    def burns(self) -> int:
        """The life that its payment burns at once (B-2)."""
        return self.payment.damage if self.payment else 0


class View(Struct, frozen=True):
    """What a player may see: the own hand and extra deck, how many cards others have, and the whole table.

    `table` is the state of the match as everybody sees it, without its name; `cards` tells what each card of the hand
    and of the extra deck is. All of it is the policy's own.
    """

    player: str
    hand: tuple[str, ...]
    extra: tuple[str, ...]
    hands: dict[str, int]
    libraries: dict[str, int]
    table: State
    cards: dict[str, Card]
