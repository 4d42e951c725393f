"""What many matches come to: sums that grow match by match, in memory that does not."""

from typing import Any

from msgspec import Struct, field

from simulation.tally import RANKS, MatchTally, PlayerTally


class Share(Struct):
    """How somebody fared: matches played and won, and the sums of a player's tally over them."""

    matches: int = 0
    won: int = 0
    lost: int = 0
    overpay: int = 0
    fizzle: int = 0
    rift: int = 0
    wasted: int = 0
    reaped: int = 0
    rifts: list[int] = field(default_factory=lambda: [0] * RANKS)
    empty: int = 0

    def take(self, player: PlayerTally, winner: str | None) -> None:
        """Take in a match of somebody."""
        self.matches += 1
        self.won += winner == player.player
        self.lost += player.fell is not None
        self.overpay += player.overpay
        self.fizzle += player.fizzle
        self.rift += player.rift
        self.wasted += player.wasted
        self.reaped += player.reaped
        self.empty += player.empty
        for at, count in enumerate(player.rifts):
            self.rifts[at] += count


class Statistics(Struct):
    """Sums over matches: by deck, by policy, by who began; what brought players down; how matches ended."""

    matches: int = 0
    entries: int = 0
    events: int = 0
    turns: int = 0
    souls: int = 0
    draws: int = 0
    first_won: int = 0
    hoards_stolen: int = 0
    decks: dict[str, Share] = {}
    policies: dict[str, Share] = {}
    fell: dict[str, int] = {}
    ended: dict[str, int] = {}
    failed: int = 0

    def take(self, match: MatchTally) -> None:
        """Take in a match."""
        self.matches += 1
        self.entries += match.entries
        self.events += match.events
        self.turns += match.turns
        self.souls += match.souls
        self.draws += match.winner is None
        self.first_won += match.winner is not None and match.winner == match.first
        _count(self.ended, match.ended or "")
        for player in match.players:
            self.decks.setdefault(player.deck, Share()).take(player, match.winner)
            self.policies.setdefault(player.policy, Share()).take(player, match.winner)
            self.hoards_stolen += player.hoards_stolen
            if player.fell is not None:
                _count(self.fell, player.fell)


def _count(counts: dict[str, int], what: Any) -> None:
    counts[what] = counts.get(what, 0) + 1
