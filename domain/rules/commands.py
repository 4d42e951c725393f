"""The commands: what a game server may ask of a match.

Lives here: one struct a command, with the types and ranges of its fields. Must not know: any state. What one struct
cannot say of itself (two fields that exclude each other) is in `shape.py`; what the rules say is in the deciders.

These names and fields are the wire format and stand in every recorded entry.
"""

import re
from functools import cache
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from domain.rules.ruleset import ChosenRuleset

MAX_INTEGER = 2**53 - 1
"""The largest number, either way, that every JSON reader keeps exact."""

NO_CONTROLS = r"^[^\x00-\x1f\x7f-\x9f\ud800-\udfff]*\Z"
Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=NO_CONTROLS)]
"""What the caller calls a match, a player or a card: 1 to 64 characters."""
Text = Annotated[str, Meta(min_length=1, max_length=500, pattern=NO_CONTROLS)]
"""Any other text: 1 to 500 characters."""
Integer = Annotated[int, Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Natural = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]

_commitment = re.compile(r"sha256:[0-9a-f]{64}").fullmatch


def is_commitment(text: str) -> bool:
    """Whether a text has the form of a commitment: what stands for a name in a private match."""
    return _commitment(text) is not None


CardKind = Literal["creature", "other"]
Deck = Literal["main", "extra"]


@cache
def tag_of(class_name: str) -> str:
    """The `type` of a struct on the wire: its class name in snake case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_name).lower()


RIFT_SUMMONING = "rift_summoning"
"""The Event that only `open_rift` takes (R-1)."""


def deck_of(rank: int) -> Deck:
    """The deck from which a creature of this rank is summoned, when the command names none."""
    return "extra" if rank >= 1 else "main"


class Part(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """A JSON object inside a command."""


class SharedPart(Part, frozen=True, forbid_unknown_fields=False):
    """A JSON object that stands in events as well, whose readers ignore fields that they do not know.

    In a command its unknown fields are refused all the same: `shape.py` sees to it.
    """


class CommandMeta(Part, frozen=True, kw_only=True):
    """What goes with a command and decides nothing: `id` for retries, `expect` entries, `at` (RFC 3339), `actor`."""

    actor: Text | None = None
    at: Text | None = None
    expect: Natural | None = None
    id: Text | None = None


class Command(Part, frozen=True, kw_only=True, tag_field="type", tag=tag_of):
    """The base of all commands."""

    meta: CommandMeta | None = None


class NewPlayer(Part, frozen=True, kw_only=True):
    """A player who sits down: `player` is the name in commands, `name` the one to show."""

    name: Text | None = None
    player: Name


class Origin(SharedPart, frozen=True, kw_only=True):
    """Of which match, and after which entry of it, this one is a fork."""

    entry: Natural
    match: Name


class StartMatch(Command, frozen=True, kw_only=True):
    """Begins a match. `match` may be missing in a script, whose file then names it.

    In a `private` match commitments stand for the players' names and for actors.
    """

    match: Name | UnsetType = UNSET
    origin: Origin | None = None
    players: Annotated[tuple[NewPlayer, ...], Meta(min_length=2, max_length=16)]
    private: bool = False
    ruleset: ChosenRuleset | None = None


class BeginTurn(Command, frozen=True, kw_only=True):
    """A turn begins (L-6)."""

    player: Name


class TakeEvent(Command, frozen=True, kw_only=True):
    """A player uses the turn's Event for something else than Rift Summoning (R-1)."""

    event: Text
    player: Name


class Enter(Command, frozen=True, kw_only=True):
    """A card enters the battlefield."""

    card: Name
    controller: Name
    deck: Deck = "main"
    definition: Text | None = None
    kind: CardKind = "creature"
    name: Text | None = None
    owner: Name | UnsetType = UNSET
    rank: Natural | None = None
    soulless: bool = False


class Seal(Command, frozen=True, kw_only=True):
    """A creature becomes Sealed (C-7)."""

    card: Name


class Unseal(Command, frozen=True, kw_only=True):
    """A creature is no longer Sealed."""

    card: Name


class SetSoulless(Command, frozen=True, kw_only=True):
    """A creature becomes, or stops being, Soulless (C-2)."""

    card: Name
    soulless: bool


class SetRank(Command, frozen=True, kw_only=True):
    """An effect changes a creature's own rank (C-8)."""

    card: Name
    cause: Text | None = None
    rank: Natural | None


class ChangeControl(Command, frozen=True, kw_only=True):
    """Another player gains control of a card (A-3)."""

    card: Name
    to: Name


class NamedModifier(Part, frozen=True, kw_only=True):
    """A modifier (C-8) of the Soul that one card of a destruction will give."""

    card: Name
    delta: Integer
    name: Text


class Destroy(Command, frozen=True, kw_only=True):
    """Cards are destroyed together (C-1, C-12)."""

    by: Name | None = None
    cards: Annotated[tuple[Name, ...], Meta(min_length=1)]
    cause: Text | None = None
    modifiers: tuple[NamedModifier, ...] | None = None


class Leave(Command, frozen=True, kw_only=True):
    """A card leaves the battlefield without being destroyed (C-11, A-6)."""

    by: Name | None = None
    card: Name
    to: Text


class Release(Command, frozen=True, kw_only=True):
    """An effect releases a Soul (C-9)."""

    by: Name | None = None
    cause: Text | None = None
    rank: Integer | UnsetType = UNSET


class Reap(Command, frozen=True, kw_only=True):
    """Souls move from the Aether onto a card (A-1)."""

    by: Name | None = None
    card: Name
    cause: Text | None = None
    souls: Annotated[tuple[Integer, ...], Meta(min_length=1)]


class Pay(Command, frozen=True, kw_only=True):
    """A player pays Soulrift `amount` for an effect or another cost (P-1)."""

    amount: Integer
    cost: Text | UnsetType = UNSET
    effect: Text | UnsetType = UNSET
    player: Name
    souls: tuple[Integer, ...]
    source: Text | None = None


class Resolve(Command, frozen=True, kw_only=True):
    """The effect of an open payment resolves (E-1)."""

    payment: Integer


class Fizzle(Command, frozen=True, kw_only=True):
    """An effect fizzles: one that was paid for, or one that was not (E-3)."""

    effect: Text | UnsetType = UNSET
    payment: Integer | UnsetType = UNSET
    reason: Text | None = None


class OpenRift(Command, frozen=True, kw_only=True):
    """A player takes the Event for Rift Summoning and pays for the Rift (R-2)."""

    player: Name
    rank: Integer
    souls: tuple[Integer, ...]


class Summon(Command, frozen=True, kw_only=True):
    """A creature comes through the open Rift (R-3)."""

    card: Name
    deck: Deck | UnsetType = UNSET
    definition: Text | None = None
    name: Text | None = None
    owner: Name | UnsetType = UNSET
    player: Name
    rank: Integer
    soulless: bool = False


class CloseRift(Command, frozen=True, kw_only=True):
    """The player of the open Rift is done (R-4)."""

    player: Name


class LifeChange(SharedPart, frozen=True, kw_only=True):
    """One player's part of a reported change of life."""

    delta: Integer
    player: Name


class ChangeLife(Command, frozen=True, kw_only=True):
    """Combat, healing or anything else that is no Soulburn (L-2)."""

    changes: Annotated[tuple[LifeChange, ...], Meta(min_length=1)]
    reason: Text


class Concede(Command, frozen=True, kw_only=True):
    """A player gives up (L-4)."""

    player: Name


class EndMatch(Command, frozen=True, kw_only=True):
    """The game's own word ends the match (L-7)."""

    reason: Text | None = None
    winner: Name | None = None


class OnCard(SharedPart, frozen=True, kw_only=True):
    """A place: the card that holds the Soul."""

    card: Name


class SoulMove(SharedPart, frozen=True, kw_only=True):
    """A correction: a Soul belongs elsewhere."""

    soul: Integer
    to: Literal["aether", "gone"] | OnCard


class NewSoul(SharedPart, frozen=True, kw_only=True):
    """A correction: a Soul that should be there. The engine gives it its number (`soul`) when it records the ruling."""

    rank: Integer
    to: Literal["aether"] | OnCard


class RankCorrection(SharedPart, frozen=True, kw_only=True):
    """A correction: a Soul's rank."""

    rank: Integer
    soul: Integer


class EventCorrection(SharedPart, frozen=True, kw_only=True):
    """A correction: what the running turn's Event was taken for, null for nothing."""

    event: Text | None


class PaymentCorrection(SharedPart, frozen=True, kw_only=True):
    """A correction: closes an open payment; nothing burns."""

    payment: Integer


class RiftCorrection(SharedPart, frozen=True, kw_only=True):
    """A correction of the open Rift: the highest rank that came through, or that it is closed; nothing burns."""

    close: bool | UnsetType = UNSET
    highest: Integer | UnsetType = UNSET


class DefeatCorrection(SharedPart, frozen=True, kw_only=True):
    """A correction: whether a player is defeated."""

    defeated: bool
    player: Name


class ResultCorrection(SharedPart, frozen=True, kw_only=True):
    """A correction of the match's status and winner."""

    status: Literal["running", "ended"]
    winner: Name | None = None


class Correction(SharedPart, frozen=True, kw_only=True):
    """One correction of a ruling: exactly one of its fields is there."""

    defeated: DefeatCorrection | UnsetType = UNSET
    event: EventCorrection | UnsetType = UNSET
    life: LifeChange | UnsetType = UNSET
    new_soul: NewSoul | UnsetType = UNSET
    payment: PaymentCorrection | UnsetType = UNSET
    rank: RankCorrection | UnsetType = UNSET
    result: ResultCorrection | UnsetType = UNSET
    rift: RiftCorrection | UnsetType = UNSET
    soul: SoulMove | UnsetType = UNSET


class Ruling(Command, frozen=True, kw_only=True):
    """A judge corrects the match (J-1)."""

    about: Integer | None = None
    corrections: Annotated[tuple[Correction, ...], Meta(min_length=1)]
    judge: Text
    reason: Text


AnyCommand = (
    StartMatch
    | BeginTurn
    | TakeEvent
    | Enter
    | Seal
    | Unseal
    | SetSoulless
    | SetRank
    | ChangeControl
    | Destroy
    | Leave
    | Release
    | Reap
    | Pay
    | Resolve
    | Fizzle
    | OpenRift
    | Summon
    | CloseRift
    | ChangeLife
    | Concede
    | EndMatch
    | Ruling
)
