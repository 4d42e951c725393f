"""The events: what happened in a match, one fact each, in the past tense.

Lives here: one struct an event. Must not know: whether any of it was allowed (the deciders judge) or what it changes
(`evolve.py`). These names and fields are the storage format: they are added to, never renamed or dropped.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from domain.rules.commands import CardKind, Correction, Deck, NewSoul, Origin, tag_of
from domain.rules.ruleset import Ruleset

Rank = Annotated[int, Meta(ge=0, le=3)]
"""The rank of a Soul (S-1)."""
Power = Annotated[int, Meta(ge=1, le=4)]
"""The power of a Soul (S-1)."""


class Fact(Struct, frozen=True, gc=False):
    """A JSON object inside an event."""


class Event(Fact, frozen=True, tag_field="type", tag=tag_of):
    """The base of all events: `entry` is the entry that it belongs to, `n` its number in the match, both from 1 up."""

    entry: int
    n: int


class Soul(Fact, frozen=True):
    """A Soul: its number and its rank, 0 to 3 (S-1)."""

    rank: Rank
    soul: int


class SeatedPlayer(Fact, frozen=True):
    """A player as the match began; `name` is for display."""

    name: str | None
    player: str


class MatchStarted(Event, frozen=True):
    """The first event of every match. `rules` is the version of the rules that judges it.

    In a `private` match, which says so by true or not at all, commitments stand for the players' names.
    """

    match: str
    origin: Origin | None
    players: tuple[SeatedPlayer, ...]
    rules: int
    ruleset: Ruleset
    private: Literal[True] | UnsetType = UNSET


class TurnBegan(Event, frozen=True):
    """Turn `number` of the match, with a fresh Event (L-6)."""

    number: int
    player: str


class EventTaken(Event, frozen=True):
    """The turn's Event is used up (R-1)."""

    event: str
    player: str


class WholeCard(Event, frozen=True):
    """The base of events that show a card with all its fields, as in the state."""

    card: str
    controller: str
    deck: Deck
    definition: str | None
    entered: int
    kind: CardKind
    name: str | None
    owner: str
    rank: int | None
    sealed: bool
    soulless: bool
    souls: tuple[Soul, ...]


class CardEntered(WholeCard, frozen=True):
    """A card is on the battlefield."""


class CreatureSealed(Event, frozen=True):
    """A creature is Sealed."""

    card: str


class CreatureUnsealed(Event, frozen=True):
    """A creature is no longer Sealed."""

    card: str


class SoullessSet(Event, frozen=True):
    """A creature is, or is no longer, Soulless."""

    card: str
    soulless: bool


class RankSet(Event, frozen=True):
    """A creature's own rank is another one now; null: none."""

    card: str
    cause: str | None
    rank: int | None


class ControlChanged(Event, frozen=True):
    """A card has another controller, who alone can use the Souls on it (A-3)."""

    card: str
    from_: str = field(name="from")
    to: str


class CreatureDestroyed(WholeCard, frozen=True):
    """A creature was destroyed; the card as it was just before."""

    by: str | None
    cause: str | None


class CardDestroyed(WholeCard, frozen=True):
    """A card that is no creature was destroyed; the card as it was just before."""

    by: str | None
    cause: str | None


class CardLeft(WholeCard, frozen=True):
    """A card left the battlefield without being destroyed; the card as it was just before."""

    by: str | None
    to: str


class Modifier(Fact, frozen=True):
    """A named part of a Soul's rank (C-7, C-8)."""

    delta: int
    name: str


class SoulCollected(Event, frozen=True):
    """A destroyed creature's Soul is in the Aether (C-1)."""

    creature: str
    modifiers: tuple[Modifier, ...]
    rank: Rank
    soul: int


class SoulReleased(Event, frozen=True):
    """An effect put a Soul into the Aether (C-9)."""

    by: str | None
    cause: str | None
    rank: Rank
    soul: int


class SoulReaped(Event, frozen=True):
    """A Soul moved from the Aether onto a card (A-1)."""

    by: str | None
    card: str
    cause: str | None
    rank: Rank
    soul: int


class SoulReturned(Event, frozen=True):
    """A Soul is back in the Aether, from the card that was destroyed or left (A-4, A-6)."""

    card: str
    rank: Rank
    soul: int


class SoulLost(Event, frozen=True):
    """A Soul is gone with the card that left (A-6)."""

    card: str
    rank: Rank
    soul: int


class SpentSoul(Fact, frozen=True):
    """A Soul of a payment: its power, 1 to 4, and the card that it was on (null: the Aether)."""

    card: str | None
    power: Power
    soul: int


class CostPaid(Event, frozen=True):
    """Soulrift `amount` was paid with `power`. Both `effect` and `cost` are null for a Rift."""

    amount: int
    cost: str | None
    effect: str | None
    payment: int
    player: str
    power: int
    souls: tuple[SpentSoul, ...]
    source: str | None


class SoulburnTaken(Event, frozen=True):
    """Soulburn of power level `power` took `damage` life and left `life`. One of `payment` and `rift` says what for."""

    damage: int
    life: int
    payment: int | None
    player: str
    power: int
    rift: int | None
    rule: Literal["B-2", "B-3", "B-4"]
    source: Literal["overpay", "fizzle", "rift"]


class EffectResolved(Event, frozen=True):
    """The effect of a payment resolved; the payment is closed (E-1)."""

    effect: str
    payment: int
    player: str


class EffectFizzled(Event, frozen=True):
    """An effect fizzled. `payment` and `player` are null when no Soulrift was paid for it (E-3)."""

    effect: str
    payment: int | None
    player: str | None
    reason: str | None


class RiftOpened(Event, frozen=True):
    """A Rift of this rank is open (R-2)."""

    payment: int
    player: str
    rank: int
    rift: int


class CreatureSummoned(WholeCard, frozen=True):
    """A creature came through the Rift (R-3)."""

    rift: int


class RiftClosed(Event, frozen=True):
    """The Rift is closed. `unused` = its rank - `highest`; `burned`: the power level of the Soulburn (B-4), 0 in
    R-10.
    """

    burned: int
    highest: int
    player: str
    rift: int
    unused: int


class LifeChanged(Event, frozen=True):
    """Something other than Soulburn changed a player's life by `delta`, to `life` (L-2)."""

    delta: int
    life: int
    player: str
    reason: str


class PlayerDefeated(Event, frozen=True):
    """A player is out (L-3, L-4, J-1)."""

    because: Literal["life", "concede", "ruling"]
    player: str


class MatchEnded(Event, frozen=True):
    """The match is over; no winner means a draw. `reason` is "L-4", or what the command gave."""

    reason: str | None
    winner: str | None


class NumberedSoul(NewSoul, frozen=True, kw_only=True):
    """A ruling's new Soul with the number that it got."""

    soul: int


class MadeCorrection(Correction, frozen=True, kw_only=True):
    """A correction as it was made."""

    new_soul: NumberedSoul | UnsetType = UNSET


class RulingMade(Event, frozen=True):
    """A judge's ruling, which stands for all that its corrections change (J-1)."""

    about: int | None
    corrections: tuple[MadeCorrection, ...]
    judge: str
    reason: str


AnyEvent = (
    MatchStarted
    | TurnBegan
    | EventTaken
    | CardEntered
    | CreatureSealed
    | CreatureUnsealed
    | SoullessSet
    | RankSet
    | ControlChanged
    | CreatureDestroyed
    | CardDestroyed
    | CardLeft
    | SoulCollected
    | SoulReleased
    | SoulReaped
    | SoulReturned
    | SoulLost
    | CostPaid
    | SoulburnTaken
    | EffectResolved
    | EffectFizzled
    | RiftOpened
    | CreatureSummoned
    | RiftClosed
    | LifeChanged
    | PlayerDefeated
    | MatchEnded
    | RulingMade
)
