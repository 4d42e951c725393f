"""What a player may do at a table now: everything that is offered is accepted."""

from collections.abc import Sequence
from itertools import islice

from domain.rules import Payment, State
from domain.rules.cards import MAX_RANK
from domain.rules.quotes import Pile, best_payments, open_piles, power_of
from simulation.decks import TARGETED, Card, Effect
from simulation.effects import targets
from simulation.seats import Seat
from simulation.views import Action

PAYMENTS, CHOICES = 3, 4
"""So many payments of a cost, and so many cards to be chosen, are offered."""

DESPAIR = 6
"""A player with this much life or less may concede."""

CLOSE, CONCEDE, END = Action("close"), Action("concede"), Action("end")

_NONE: Sequence[None] = (None,)


class Offers:
    """Offers actions at one table, as its state changes."""

    def __init__(self, state: State) -> None:
        self.unaffordable = 0
        """How often a card could not be played since its cost could not be paid (P-6)."""
        self._state = state
        self._aimed: dict[str, Effect | None] = {}

    def actions(self, seat: Seat, attacked: Sequence[str]) -> list[Action]:
        """What this player may do; `attacked` are those whom the player's creatures could attack."""
        state = self._state
        if state.rift is not None:
            rank = state.rift.rank
            fitting = [key for key in dict.fromkeys(seat.extra) if (seat.cards[key].rank or 0) <= rank]
            return [*(Action("summon", key) for key in fitting), CLOSE]
        piles = open_piles(state, seat.player)
        event_is_free = state.turn is not None and state.turn.event is None
        quotes: dict[int, tuple[Payment, ...]] = {}
        found = self._plays(seat, piles, quotes, event_is_free=event_is_free)
        if event_is_free:
            for rank in range(1, min(MAX_RANK, power_of(piles)) + 1):
                found += [Action("open", None, payment, rank) for payment in self._payments(piles, quotes, rank)]
        found += [Action("attack", None, None, None, player) for player in attacked]
        if state.players[seat.player].life <= DESPAIR:
            found.append(CONCEDE)
        found.append(END)
        return found

    def _plays(
        self, seat: Seat, piles: list[Pile], quotes: dict[int, tuple[Payment, ...]], *, event_is_free: bool
    ) -> list[Action]:
        """The ways in which the cards of the hand may be played."""
        found: list[Action] = []
        for key in dict.fromkeys(seat.hand):
            card = seat.cards[key]
            payments: Sequence[Payment | None] = _NONE
            if card.event and not event_is_free:
                continue
            if card.soulrift:
                payments = self._payments(piles, quotes, card.soulrift)
                self.unaffordable += not payments
            elif not seat.free_cards:
                continue
            if payments:
                aims = self.aims(seat, key, card)
                found += [Action("play", key, payment, None, aim) for payment in payments for aim in aims]
        return found

    def _payments(self, piles: list[Pile], quotes: dict[int, tuple[Payment, ...]], amount: int) -> tuple[Payment, ...]:
        found = quotes.get(amount)
        if found is None:
            found = quotes[amount] = best_payments(piles, self._state.ruleset, amount, PAYMENTS)[0]
        return found

    def aims(self, seat: Seat, key: str, card: Card) -> Sequence[str | None]:
        """What a card may be aimed at; nothing, if it chooses none, or if it is more than its effect."""
        if not card.effects:
            return _NONE
        try:
            effect = self._aimed[key]
        except KeyError:
            effect = self._aimed[key] = next((each for each in card.effects if each.does in TARGETED), None)
        if effect is None:
            return _NONE
        return list(islice(targets(effect, self._state, seat.player), CHOICES)) or (
            () if card.kind == "spell" else _NONE
        )
