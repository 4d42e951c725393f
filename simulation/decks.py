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

from domain.rules.commands import NO_CONTROLS

Count = Annotated[int, Meta(ge=1, le=20)]
Figure = Annotated[int, Meta(ge=0, le=50)]
Shown = Annotated[str, Meta(min_length=1, max_length=64, pattern=NO_CONTROLS)]
Key = Annotated[str, Meta(max_length=40, pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z")]
"""What decks call a card: lower case letters, digits and hyphens, since cards on the battlefield are named after it."""

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
    cards: dict[str, Any]


class _DeckFile(Struct, frozen=True, forbid_unknown_fields=True):
    name: Shown
    main: dict[str, Any]
    extra: dict[str, Any] = {}
    tells: str = ""
    cards: dict[str, Any] = {}


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
    return _cards(_decoded(content, name, _Pool).cards, name)


def _cards(found: dict[str, Any], name: str) -> dict[str, Card]:
    cards = _each(found, Card, f"{name}: cards")
    for key, card in cards.items():
        fault = _fault(card)
        if fault:
            message = f"{name}: cards.{key}: {fault}"
            raise DeckError(message)
    return cards


def _each(found: dict[str, Any], kind: Any, place: str) -> dict[str, Any]:
    """The values of a table, each of this type, with keys that a card can have."""
    made = {}
    for key, value in found.items():
        try:
            made[msgspec.convert(key, Key)] = msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            message = f"{place}.{key}: {error}"
            raise DeckError(message) from None
    return made


def _fault(card: Card) -> str | None:
    """What is wrong with a card that no field says for itself."""
    creature = card.kind == "creature"
    targeted = [effect for effect in card.effects if effect.does in TARGETED]
    faults = {
        "only a creature has a rank; drop rank": card.rank is not None and not creature,
        "only a creature attacks; drop attack": card.attack and not creature,
        "only a creature is Soulless or Sealed": (card.soulless or card.sealed) and not creature,
        "a spell does something; give it effects": card.kind == "spell" and not card.effects,
        "a card of the extra deck is paid for by its Rift; drop soulrift and event": card.rank is not None
        and (card.soulrift or card.event),
        'what is paid for its effects has some; give it effects, or pays = "cost"': card.soulrift
        and card.pays == "effect"
        and not card.effects,
        "delayed effects are paid for; give it soulrift": card.delayed and (not card.soulrift or card.pays == "cost"),
        "what is paid as a cost cannot fizzle by itself; drop fickle": card.pays == "cost" and card.fickle,
        "one effect at most chooses a card": len(targeted) > 1,
        "the engine has a modifier sealed of its own; choose another name for the card": card.name == "sealed"
        and any(effect.modifier for effect in card.effects),
    }
    found = next((fault for fault, there in faults.items() if there), None)
    return found or next(filter(None, map(_fault_of_effect, card.effects)), None)


_ON_CREATURES = frozenset({"hollow", "raise", "seal", "unseal", "wake"})


def _fault_of_effect(effect: Effect) -> str | None:
    """What is wrong with an effect: a field that means nothing for what it does, or what the rules refuse."""
    chooses = effect.does in TARGETED
    faults = {
        f"{effect.does} chooses no card; drop on and whose": not chooses
        and (effect.on, effect.whose) != ("creature", "theirs"),
        f"{effect.does} is done to creatures; drop on": effect.does in _ON_CREATURES and effect.on != "creature",
        "steal takes from others; drop whose": effect.does == "steal" and effect.whose != "theirs",
        f"{effect.does} gives no Soul; drop modifier": effect.modifier and effect.does not in {"destroy", "sweep"},
        "a card that is no creature gives no Soul; drop modifier": effect.modifier and effect.on == "relic",
        f"{effect.does} releases no Soul; drop rank": effect.rank is not None and effect.does != "release",
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
    file: _DeckFile = _decoded(content, name, _DeckFile)
    main, extra = _each(file.main, Count, f"{name}: main"), _each(file.extra, Count, f"{name}: extra")
    deck = Deck(file.name, main, extra, file.tells, _cards(file.cards, name))
    shadowed = pool().keys() & deck.cards.keys()
    if shadowed:
        message = f"{name}: cards.{min(shadowed)}: the pool has a card of this name; choose another"
        raise DeckError(message)
    return _judged(deck, name, {**pool(), **deck.cards})


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
