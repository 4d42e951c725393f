"""A player at a table: the cards that nobody else sees, and who plays."""

from collections.abc import Mapping

from simulation.decks import Card, Effect
from simulation.policies import Policy


class Seat:
    """A player's seat: library (the next card last), hand, extra deck; which cards there are; and the policy."""

    def __init__(
        self, player: str, library: list[str], extra: list[str], policy: Policy, cards: Mapping[str, Card]
    ) -> None:
        self.player = player
        self.library = library
        self.hand: list[str] = []
        self.extra = extra
        self.policy = policy
        self.cards = cards
        self.blind = bool(getattr(policy, "blind", False))
        self.aimed: dict[str, Effect | None] = {}
        """Of the cards that were looked at: the effect that chooses a card."""
        self.exhausted = 0
        """How often a card was to be drawn, and there was none."""
        self.free_cards = 0
        """How many cards that cost no Souls may still be played in this turn."""
