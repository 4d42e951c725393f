"""The peer: the same events as the library's own declarative aggregate, with its JSON transcoder, on SQLite."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

from domain.rules.commands import tag_of
from domain.rules.events import AnyEvent

Fact = dict[str, Any]


class StockMatch(Aggregate):
    """A match as the library's documentation would write it: plain attributes, an event method for each event."""

    @event("Started")
    def __init__(self) -> None:
        self.life: dict[str, int] = {}
        self.aether: dict[int, int] = {}
        self.board: dict[str, Fact] = {}
        self.on_card: dict[int, str] = {}
        self.payments: dict[int, str] = {}
        self.rift: Fact | None = None
        self.turn: Fact | None = None
        self.gone = 0

    @event("MatchStarted")
    def match_started(self, fact: Fact) -> None:
        for seat in fact["players"]:
            self.life[seat["player"]] = fact["ruleset"]["starting_life"]

    @event("TurnBegan")
    def turn_began(self, fact: Fact) -> None:
        self.turn = fact

    @event("EventTaken")
    def event_taken(self, fact: Fact) -> None:
        self.turn["event"] = fact["event"]  # type: ignore[index]  # R-1: taken in a turn

    @event("CardEntered")
    def card_entered(self, fact: Fact) -> None:
        self.board[fact["card"]] = fact

    @event("CreatureSummoned")
    def creature_summoned(self, fact: Fact) -> None:
        self.board[fact["card"]] = fact

    @event("CreatureSealed")
    def creature_sealed(self, fact: Fact) -> None:
        self.board[fact["card"]]["sealed"] = True

    @event("CreatureUnsealed")
    def creature_unsealed(self, fact: Fact) -> None:
        self.board[fact["card"]]["sealed"] = False

    @event("RankSet")
    def rank_set(self, fact: Fact) -> None:
        self.board[fact["card"]]["rank"] = fact["rank"]

    @event("ControlChanged")
    def control_changed(self, fact: Fact) -> None:
        self.board[fact["card"]]["controller"] = fact["to"]

    @event("CreatureDestroyed")
    def creature_destroyed(self, fact: Fact) -> None:
        del self.board[fact["card"]]

    @event("CardDestroyed")
    def card_destroyed(self, fact: Fact) -> None:
        del self.board[fact["card"]]

    @event("CardLeft")
    def card_left(self, fact: Fact) -> None:
        del self.board[fact["card"]]

    @event("SoulCollected")
    def soul_collected(self, fact: Fact) -> None:
        self.aether[fact["soul"]] = fact["rank"]

    @event("SoulReleased")
    def soul_released(self, fact: Fact) -> None:
        self.aether[fact["soul"]] = fact["rank"]

    @event("SoulReaped")
    def soul_reaped(self, fact: Fact) -> None:
        del self.aether[fact["soul"]]
        self.on_card[fact["soul"]] = fact["card"]

    @event("SoulReturned")
    def soul_returned(self, fact: Fact) -> None:
        del self.on_card[fact["soul"]]
        self.aether[fact["soul"]] = fact["rank"]

    @event("CostPaid")
    def cost_paid(self, fact: Fact) -> None:
        for spent in fact["souls"]:
            self.aether.pop(spent["soul"], None)
            self.on_card.pop(spent["soul"], None)
            self.gone += 1
        if fact["effect"]:
            self.payments[fact["payment"]] = fact["effect"]

    @event("SoulburnTaken")
    def soulburn_taken(self, fact: Fact) -> None:
        self.life[fact["player"]] = fact["life"]

    @event("EffectResolved")
    def effect_resolved(self, fact: Fact) -> None:
        del self.payments[fact["payment"]]

    @event("EffectFizzled")
    def effect_fizzled(self, fact: Fact) -> None:
        del self.payments[fact["payment"]]

    @event("RiftOpened")
    def rift_opened(self, fact: Fact) -> None:
        self.rift = fact

    @event("RiftClosed")
    def rift_closed(self, fact: Fact) -> None:
        self.rift = None if fact["rift"] else self.rift

    @event("LifeChanged")
    def life_changed(self, fact: Fact) -> None:
        self.life[fact["player"]] = fact["life"]


class StockMatches(Application[UUID]):
    """The library's application, as it comes."""

    def record(self, events: list[AnyEvent]) -> UUID:
        """Save these events as one aggregate and return its id."""
        match = StockMatch()
        for start in range(0, len(events), 100):  # thousands at once never return on PostgreSQL
            self.append(match, events[start : start + 100])
        return match.id

    def append(self, match: StockMatch, events: Iterable[AnyEvent]) -> None:
        """Save these events of an aggregate that is kept in memory."""
        for happened in events:
            getattr(match, tag_of(type(happened).__name__))(fact=msgspec.to_builtins(happened))
        self.save(match)
