"""What is taken in of a match, entry by entry, before its rows are made."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from domain.rules import State
from domain.rules import events as e
from projections.read_model import Changes

Row = tuple[Any, ...]

Values = list[Any]
"""The values of rows, row after row, each in the order of its table's columns; `match` is left out, the same in all."""


class Stay:
    """A card on the battlefield, until it is gone."""

    def __init__(self, came: e.CardEntered | e.CreatureSummoned, rift: int | None) -> None:
        self.came = came
        self.rift = rift
        self.reaped = 0
        self.soul: int | None = None
        self.gone: e.CreatureDestroyed | e.CardDestroyed | e.CardLeft | None = None


class Told:
    """What events say of cards, and once a match or once a player."""

    def __init__(self) -> None:
        self.stays: list[Stay] = []
        self.here: dict[str, Stay] = {}
        self.destroyed: dict[str, Stay] = {}
        self.fallen: dict[str, str] = {}
        self.released_by: dict[int, str | None] = {}
        self.rulings: set[int] = set()
        self.first: str | None = None
        self.ended: str | None = None
        self.started: e.MatchStarted | None = None

    def match_started(self, event: e.MatchStarted) -> None:
        """How it began."""
        self.started = event

    def turn_began(self, event: e.TurnBegan) -> None:
        """Who had the first turn."""
        self.first = self.first or event.player

    def came(self, event: e.CardEntered | e.CreatureSummoned) -> None:
        """A card is here."""
        rift = event.rift if isinstance(event, e.CreatureSummoned) else None
        self.here[event.card] = stay = Stay(event, rift)
        self.stays.append(stay)

    def went(self, event: e.CreatureDestroyed | e.CardDestroyed | e.CardLeft) -> None:
        """It is gone."""
        self.destroyed[event.card] = stay = self.here.pop(event.card)
        stay.gone = event

    def reaped(self, event: e.SoulReaped) -> None:
        """A Soul is on it."""
        self.here[event.card].reaped += 1

    def collected(self, event: e.SoulCollected) -> None:
        """It gave one."""
        self.destroyed[event.creature].soul = event.soul

    def released(self, event: e.SoulReleased) -> None:
        """Who released a Soul."""
        self.released_by[event.soul] = event.by

    def defeated(self, event: e.PlayerDefeated) -> None:
        """What defeated a player."""
        self.fallen[event.player] = event.because

    def match_ended(self, event: e.MatchEnded) -> None:
        """Why it ended."""
        self.ended = event.reason

    def ruling_made(self, event: e.RulingMade) -> None:
        """Which events are rulings, and whom they defeat."""
        self.rulings.add(event.n)
        for correction in event.corrections:
            if correction.defeated is not UNSET:
                self.fallen[correction.defeated.player] = "ruling"


TOLD: Mapping[type[e.Event], Callable[[Told, Any], None]] = {
    e.MatchStarted: Told.match_started,
    e.TurnBegan: Told.turn_began,
    e.CardEntered: Told.came,
    e.CreatureSummoned: Told.came,
    e.CreatureDestroyed: Told.went,
    e.CardDestroyed: Told.went,
    e.CardLeft: Told.went,
    e.SoulReaped: Told.reaped,
    e.SoulCollected: Told.collected,
    e.SoulReleased: Told.released,
    e.PlayerDefeated: Told.defeated,
    e.MatchEnded: Told.match_ended,
    e.RulingMade: Told.ruling_made,
}
"""What is told by which event."""


class Taken:
    """A match as it was taken in: its state, the read models' rows, what events told, and the turn of each entry."""

    def __init__(self) -> None:
        self.state = State()
        self.changes = Changes()
        self.told = Told()
        self.turns: list[int] = []
