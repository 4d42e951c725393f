"""Cards and decks: files that a designer edits, read and judged before anything is played with them.

A card of the pool says what it is and what it does; a deck says how many of each it holds. Both are TOML; what each
field means is told in docs/simulation.md.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=1, le=20)]
Figure = Annotated[int, Meta(ge=0, le=50)]
Shown = Annotated[str, Meta(min_length=1, max_length=64)]

Does = Literal[
    "again",
    "banish",
    "bleed",
    "bounce",
    "destroy",
    "drain",
    "heal",
    "hollow",
    "raise",
    "reap",
    "release",
    "scorch",
    "seal",
    "steal",
    "strike",
    "sweep",
    "unseal",
    "wake",
]

TARGETED = frozenset({"banish", "bounce", "destroy", "hollow", "raise", "seal", "steal", "unseal", "wake"})
"""What is done to one card, which the player chooses; without one the effect fizzles."""

SMALLEST_DECK = 20


class Effect(Struct, frozen=True, forbid_unknown_fields=True):
    """What a card does when it is played: to `amount`, on a card of this kind, of these players.

    `modifier` is added to the rank of the Souls of what it destroys; `rank` is that of a Soul that it releases.
    """

    does: Does
    amount: Figure = 1
    on: Literal["creature", "relic"] = "creature"
    whose: Literal["theirs", "own", "all"] = "theirs"
    modifier: Annotated[int, Meta(ge=-3, le=3)] = 0
    rank: Annotated[int, Meta(ge=0, le=3)] | None = None


class Card(Struct, frozen=True, forbid_unknown_fields=True):
    """A card of the pool. One with a rank, 1 to 3, is of the extra deck and comes through Rifts.

    `soulrift` is its cost, paid for its effects or, if it `pays` a "cost", for the card itself; `event`: it takes the
    turn's Event; `delayed`: its effects wait until the player's next turn; `fickle`: in so many of a hundred cases they
    fizzle.
    """

    name: Shown
    kind: Literal["creature", "relic", "spell"]
    rank: Annotated[int, Meta(ge=1, le=3)] | None = None
    attack: Figure = 0
    soulless: bool = False
    sealed: bool = False
    soulrift: Annotated[int, Meta(ge=0, le=12)] = 0
    pays: Literal["effect", "cost"] = "effect"
    event: bool = False
    delayed: bool = False
    fickle: Annotated[int, Meta(ge=0, le=100)] = 0
    effects: tuple[Effect, ...] = ()


class Deck(Struct, frozen=True, forbid_unknown_fields=True):
    """A deck: how many of each card are in it, drawn from `main`, summoned through Rifts from `extra`.

    Its cards are those of the pool, and `cards` of its own.
    """

    name: Shown
    main: dict[str, Count]
    extra: dict[str, Count] = {}
    tells: str = ""
    cards: dict[str, Card] = {}


class _Pool(Struct, frozen=True, forbid_unknown_fields=True):
    cards: dict[str, Card]


class DeckError(Exception):
    """A file of cards or of a deck that cannot be played with; the message names file, place and remedy."""


SHIPPED = ("rift", "reap", "blaze")
"""The decks that come along."""

_HERE = files("simulation")


@cache
def pool() -> Mapping[str, Card]:
    """The cards that come along, by what decks call them."""
    return read_pool(_HERE.joinpath("pool.toml").read_bytes(), "pool.toml")


def read_pool(content: bytes, name: str) -> dict[str, Card]:
    """The cards of a file.

    Raises:
        DeckError: one cannot be.

    """
    return _without_fault(_decoded(content, name, _Pool).cards, name)


def _without_fault(cards: dict[str, Card], name: str) -> dict[str, Card]:
    for key, card in cards.items():
        fault = _fault(card)
        if fault:
            message = f"{name}: cards.{key}: {fault}"
            raise DeckError(message)
    return cards


def _fault(card: Card) -> str | None:
    """What is wrong with a card that no field says for itself."""
    targeted = [effect for effect in card.effects if effect.does in TARGETED]
    faults = {
        "only a creature has a rank; drop rank": card.rank is not None and card.kind != "creature",
        "only a creature attacks; drop attack": card.attack and card.kind != "creature",
        "only a creature is Soulless or Sealed": (card.soulless or card.sealed) and card.kind != "creature",
        "a spell does something; give it effects": card.kind == "spell" and not card.effects,
        "a card of the extra deck is paid for by its Rift; drop soulrift and event": card.rank is not None
        and (card.soulrift or card.event),
        "delayed effects are paid for; give it soulrift": card.delayed and (not card.soulrift or card.pays == "cost"),
        "what is paid as a cost cannot fizzle by itself; drop fickle": card.pays == "cost" and card.fickle,
        "one effect at most chooses a card": len(targeted) > 1,
    }
    return next((fault for fault, there in faults.items() if there), None)


@cache
def shipped_deck(name: str) -> Deck:
    """A deck that comes along."""
    return read_deck(name)


def read_deck(name: str) -> Deck:
    """A deck that comes along, by its name, or of a file ending in `.toml`.

    Raises:
        DeckError: there is none, or it cannot be played with.

    """
    if name in SHIPPED:
        content = _HERE.joinpath("decks", f"{name}.toml").read_bytes()
    else:
        try:
            content = Path(name).read_bytes()
        except OSError as error:
            message = f"there is no deck {name} ({error.strerror}); name a file, or one of {', '.join(SHIPPED)}"
            raise DeckError(message) from None
    deck: Deck = _decoded(content, name, Deck)
    shadowed = pool().keys() & deck.cards.keys()
    if shadowed:
        message = f"{name}: cards.{min(shadowed)}: the pool has a card of this name; choose another"
        raise DeckError(message)
    return _judged(deck, name, {**pool(), **_without_fault(deck.cards, name)})


def cards_of(deck: Deck) -> Mapping[str, Card]:
    """The cards that a deck can be made of, by what it calls them."""
    return {**pool(), **deck.cards} if deck.cards else pool()


def _judged(deck: Deck, name: str, cards: Mapping[str, Card]) -> Deck:
    for part, held, extra in (("main", deck.main, False), ("extra", deck.extra, True)):
        for key in held:
            if key not in cards:
                message = f"{name}: {part}.{key}: there is no such card in the pool"
                raise DeckError(message)
            if (cards[key].rank is not None) is not extra:
                other = "extra" if not extra else "main"
                message = f"{name}: {part}.{key}: a card {'with' if not extra else 'without'} rank belongs into {other}"
                raise DeckError(message)
    if sum(deck.main.values()) < SMALLEST_DECK:
        message = f"{name}: main: a deck has {SMALLEST_DECK} cards or more, not {sum(deck.main.values())}"
        raise DeckError(message)
    return deck


def _decoded(content: bytes, name: str, kind: type[msgspec.Struct]) -> Any:
    try:
        return msgspec.toml.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        message = f"{name}: {error}"
        raise DeckError(message) from None
