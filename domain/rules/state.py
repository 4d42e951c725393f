"""The state of a match: what its events add up to, as its view and as its hash.

Lives here: the structs that the fold changes in place, copying them, and their two outward forms. Must not know: what
is allowed (the deciders) or what an event does (`evolve.py`).

The canonical form, over which the state hash is taken, is frozen with the version of the rules. Its structs declare
their fields in sorted order, so that encoding them as they stand is RFC 8785. What only describes (names,
definitions, whether names are hidden) is kept beside them in `names`, `descriptions` and `private`. Most commands leave
the battlefield or the Aether as they were: their JSON is kept until a change of either puts it away.
"""

from bisect import insort
from collections import Counter
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from domain.rules.commands import CardKind, Deck, is_commitment
from domain.rules.events import Soul
from domain.rules.ruleset import RULES_VERSION, Ruleset


class Player(Struct, gc=False):
    """A player's life, which may be below zero (L-2), and whether the player is defeated."""

    defeated: bool
    life: int
    player: str


class Card(Struct, gc=False):
    """A card on the battlefield. `entered` is the entry in which it came; `souls` are sorted by number."""

    card: str
    controller: str
    deck: Deck
    entered: int
    kind: CardKind
    owner: str
    rank: int | None
    sealed: bool
    soulless: bool
    souls: list[Soul]


class Description(Struct, frozen=True, gc=False):
    """What a card is called and which card of the card pool it is."""

    definition: str | None
    name: str | None


class Turn(Struct, gc=False):
    """The running turn; `event` is what its Event was taken for, or null."""

    event: str | None
    number: int
    player: str


class Rift(Struct, gc=False):
    """The open Rift; `highest` is the highest rank that came through, 0 when none did."""

    highest: int
    player: str
    rank: int
    rift: int


class OpenPayment(Struct, frozen=True, gc=False):
    """A payment whose effect has neither resolved nor fizzled yet (E-1)."""

    amount: int
    effect: str
    payment: int
    player: str
    power: int


class Numbered(Struct, gc=False):
    """How many payments, Rifts and Souls have been numbered so far."""

    payments: int = 0
    rifts: int = 0
    souls: int = 0


by_number = attrgetter("soul")
"""By which the Souls on a card are sorted."""


@dataclass  # not a Struct, whose fields take four times as long to assign
class State:
    """The whole state of one match. It is unstarted, with no entries, before its `match_started`."""

    match: str = ""
    entries: int = 0
    events: int = 0
    rules: int = RULES_VERSION
    ruleset: Ruleset = field(default_factory=Ruleset)
    status: Literal["unstarted", "running", "ended"] = "unstarted"
    winner: str | None = None
    turn: Turn | None = None
    players: dict[str, Player] = field(default_factory=dict)
    names: dict[str, str | None] = field(default_factory=dict)
    aether: dict[int, Soul] = field(default_factory=dict)
    battlefield: dict[str, Card] = field(default_factory=dict)
    descriptions: dict[str, Description] = field(default_factory=dict)
    holders: dict[int, str] = field(default_factory=dict)
    """On which card each reaped Soul is."""
    rift: Rift | None = None
    payments: dict[int, OpenPayment] = field(default_factory=dict)
    gone: int = 0
    numbered: Numbered = field(default_factory=Numbered)
    private: Literal[True] | UnsetType = UNSET
    """Whether commitments stand for names. Unset it is false, and in no snapshot, whose bytes stay as they were."""

    def __post_init__(self) -> None:
        self.aether_json: Raw | None = None
        self.battlefield_json: Raw | None = None

    def lay(self, soul: Soul, card: str) -> None:
        """Put a Soul, taken from elsewhere, on a card."""
        self.battlefield_json = None
        insort(self.battlefield[card].souls, soul, key=by_number)
        self.holders[soul.soul] = card

    def copy(self) -> "State":
        """A state of its own: nothing that happens to one of the two changes the other."""
        twin = copy(self)  # of the fields alone
        twin.__post_init__()
        twin.turn = self.turn and copy(self.turn)
        twin.players = {name: copy(player) for name, player in self.players.items()}
        twin.names = self.names.copy()
        twin.aether = self.aether.copy()
        twin.battlefield = {name: copy(card) for name, card in self.battlefield.items()}
        for card in twin.battlefield.values():
            card.souls = card.souls.copy()
        twin.descriptions = self.descriptions.copy()
        twin.holders = self.holders.copy()
        twin.rift = self.rift and copy(self.rift)
        twin.payments = self.payments.copy()
        twin.numbered = copy(self.numbered)
        return twin

    def view(self) -> dict[str, Any]:
        """The state as it stands on the wire, with its hash."""
        return {
            "match": self.match,
            "entries": self.entries,
            "rules": self.rules,
            "ruleset": msgspec.structs.asdict(self.ruleset),
            "status": self.status,
            "winner": self.winner,
            "turn": self.turn and msgspec.structs.asdict(self.turn),
            "players": {
                name: {"name": self.names[name], "life": player.life, "defeated": player.defeated}
                for name, player in self.players.items()
            },
            "aether": [msgspec.structs.asdict(self.aether[soul]) for soul in sorted(self.aether)],
            "battlefield": {name: self._card_view(card) for name, card in self.battlefield.items()},
            "rift": self.rift and msgspec.structs.asdict(self.rift),
            "payments": {
                str(number): {
                    "player": payment.player,
                    "amount": payment.amount,
                    "power": payment.power,
                    "effect": payment.effect,
                }
                for number, payment in self.payments.items()
            },
            "gone": self.gone,
            "numbered": msgspec.structs.asdict(self.numbered),
            "state_hash": state_hash(self),
            **({"private": True} if self.private else {}),
        }

    def _card_view(self, card: Card) -> dict[str, Any]:
        described = self.descriptions[card.card]
        fields = msgspec.structs.asdict(card)
        fields.pop("card")
        fields["souls"] = [msgspec.structs.asdict(soul) for soul in card.souls]
        return {"name": described.name, "definition": described.definition, **fields}


def called(names: Mapping[str, str | None]) -> dict[str, str]:
    """What players are called: the name for display where it says which one is meant, else as in commands.

    A commitment says nothing.
    """
    named = {player: None if name and is_commitment(name) else name for player, name in names.items()}
    shown = Counter(named.values())
    return {
        player: name or player if shown[name] == 1 or not name else f"{name} ({player})"
        for player, name in named.items()
    }


class _Canonical(Struct):
    aether: Raw
    battlefield: Raw
    gone: int
    numbered: Numbered
    payments: list[OpenPayment]
    players: list[Player]
    rift: Rift | None
    rules: int
    ruleset: Ruleset
    status: str
    turn: Turn | None
    winner: str | None


_encode = msgspec.json.Encoder().encode


def canonical_form(state: State) -> bytes:
    """The state as RFC 8785 JSON, without its name, its entry count and everything that only describes."""
    aether, battlefield = state.aether_json, state.battlefield_json
    if aether is None:
        souls = state.aether
        aether = state.aether_json = Raw(_encode([souls[soul] for soul in sorted(souls)]))
    if battlefield is None:
        cards = state.battlefield
        battlefield = state.battlefield_json = Raw(_encode([cards[card] for card in sorted(cards)]))
    return _encode(
        _Canonical(
            aether,
            battlefield,
            state.gone,
            state.numbered,
            list(state.payments.values()),
            list(state.players.values()),
            state.rift,
            state.rules,
            state.ruleset,
            state.status,
            state.turn,
            state.winner,
        )
    )


def state_hash(state: State) -> str:
    """The SHA-256 of the canonical form, in hexadecimal."""
    return sha256(canonical_form(state)).hexdigest()
