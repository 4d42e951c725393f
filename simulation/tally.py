"""What is counted of a match: who won and why, what burned, what Rifts and Souls came to."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, field

from domain.rules import AnyEvent, State
from domain.rules import events as e

RANKS = 3


class PlayerTally(Struct):
    """A player's part. Life that Soulburn took is by its source; `wasted` is power that was paid for nothing: above a
    cost, for effects that fizzled, for ranks of Rifts that were not used.

    `rifts` and `through` are by rank, 1 to 3: Rifts opened, and creatures that came; `empty` are Rifts through which
    nothing came. `fell` is what brought the player down: a source of Soulburn, the reason of another change of life, or
    "concede"; null for who did not fall.
    """

    player: str
    deck: str
    policy: str
    life: int = 0
    overpay: int = 0
    fizzle: int = 0
    rift: int = 0
    wasted: int = 0
    paid: int = 0
    spent: int = 0
    reaped: int = 0
    hoards_stolen: int = 0
    rifts: list[int] = field(default_factory=lambda: [0] * RANKS)
    through: list[int] = field(default_factory=lambda: [0] * RANKS)
    empty: int = 0
    fell: str | None = None


class MatchTally(Struct):
    """A match: its number in the run, which of the rulesets it was played by, who began and who won (null: a draw), why
    it ended, and its length.
    """

    number: int
    ruleset: int
    players: list[PlayerTally]
    first: str = ""
    winner: str | None = None
    ended: str | None = None
    turns: int = 0
    entries: int = 0
    events: int = 0
    souls: int = 0


class Tally:
    """Counts a match as its events come; each is told once the state has changed by it."""

    def __init__(self, tally: MatchTally) -> None:
        self.tally = tally
        self._of = {player.player: player for player in tally.players}
        self._last: dict[str, str] = {}

    def take(self, events: Iterable[AnyEvent], state: State) -> None:
        """Take in the events of an entry."""
        for event in events:
            count = _COUNTS.get(type(event))
            if count:
                count(self, event, state)

    def end(self, state: State) -> MatchTally:
        """The tally of a match that is over."""
        tally = self.tally
        tally.turns = state.turn.number if state.turn else 0
        tally.entries, tally.events, tally.souls = state.entries, state.events, state.numbered.souls
        tally.winner = state.winner
        for player in tally.players:
            player.life = state.players[player.player].life
        return tally

    def turn_began(self, event: e.TurnBegan, _: State) -> None:
        """The first turn says who began."""
        self.tally.first = self.tally.first or event.player

    def soulburn_taken(self, event: e.SoulburnTaken, _: State) -> None:
        """Life that burned, and the power that it came from."""
        player = self._of[event.player]
        setattr(player, event.source, getattr(player, event.source) + event.damage)
        player.wasted += event.power
        self._last[event.player] = event.source

    def life_changed(self, event: e.LifeChanged, _: State) -> None:
        """Other changes of life."""
        self._last[event.player] = event.reason

    def cost_paid(self, event: e.CostPaid, _: State) -> None:
        """Costs and the Souls for them."""
        player = self._of[event.player]
        player.paid += event.amount
        player.spent += len(event.souls)

    def soul_reaped(self, event: e.SoulReaped, state: State) -> None:
        """Souls that are out of the others' reach."""
        self._of[state.battlefield[event.card].controller].reaped += 1

    def control_changed(self, event: e.ControlChanged, state: State) -> None:
        """Cards that are stolen with the Souls on them (A-3)."""
        if state.battlefield[event.card].souls:
            self._of[event.to].hoards_stolen += 1

    def rift_opened(self, event: e.RiftOpened, _: State) -> None:
        """Rifts by rank."""
        self._of[event.player].rifts[event.rank - 1] += 1

    def creature_summoned(self, event: e.CreatureSummoned, _: State) -> None:
        """What comes through them."""
        if event.rank:
            self._of[event.controller].through[event.rank - 1] += 1

    def rift_closed(self, event: e.RiftClosed, _: State) -> None:
        """Rifts that nobody used."""
        self._of[event.player].empty += event.highest == 0

    def player_defeated(self, event: e.PlayerDefeated, _: State) -> None:
        """What brought a player down."""
        self._of[event.player].fell = "concede" if event.because == "concede" else self._last.get(event.player)

    def match_ended(self, event: e.MatchEnded, _: State) -> None:
        """Why it ended."""
        self.tally.ended = event.reason


_COUNTS: dict[type[e.Event], Callable[[Tally, Any, State], None]] = {
    e.TurnBegan: Tally.turn_began,
    e.SoulburnTaken: Tally.soulburn_taken,
    e.LifeChanged: Tally.life_changed,
    e.CostPaid: Tally.cost_paid,
    e.SoulReaped: Tally.soul_reaped,
    e.ControlChanged: Tally.control_changed,
    e.RiftOpened: Tally.rift_opened,
    e.CreatureSummoned: Tally.creature_summoned,
    e.RiftClosed: Tally.rift_closed,
    e.PlayerDefeated: Tally.player_defeated,
    e.MatchEnded: Tally.match_ended,
}
