"""What a player may do at a table now: everything that is offered is accepted."""

from collections.abc import Sequence

from domain.rules import Payment, State
from domain.rules.cards import MAX_RANK
from domain.rules.quotes import Pile, best_payments, open_piles, power_of
from simulation.decks import TARGETED, Card
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
        self._piles: list[Pile] = []
        self._power = 0
        self._quotes: dict[int, tuple[Payment, ...]] = {}
        self._rifts: list[Action] | None = None

    def actions(self, seat: Seat, attacked: Sequence[str]) -> list[Action]:
        """What this player may do; `attacked` are those whom the player's creatures could attack."""
        state = self._state
        if state.rift is not None:
            rank = state.rift.rank
            fitting = [key for key in dict.fromkeys(seat.extra) if (seat.cards[key].rank or 0) <= rank]
            return [*(Action("summon", key) for key in fitting), CLOSE]
        piles = open_piles(state, seat.player)
        if piles != self._piles:  # else what costs can be paid with is known from the decision before
            self._piles, self._power, self._quotes, self._rifts = piles, power_of(piles), {}, None
        power = self._power
        event_is_free = state.turn is not None and state.turn.event is None
        found = self._plays(seat, power, event_is_free=event_is_free)
        if event_is_free:
            if self._rifts is None:
                ranks = range(1, min(MAX_RANK, power) + 1)
                self._rifts = [
                    Action("open", None, payment, rank) for rank in ranks for payment in self._payments(rank)
                ]
            found += self._rifts
        if attacked:
            found += [Action("attack", None, None, None, player) for player in attacked]
        if state.players[seat.player].life <= DESPAIR:
            found.append(CONCEDE)
        found.append(END)
        return found

    def _plays(self, seat: Seat, power: int, *, event_is_free: bool) -> list[Action]:
        """The ways in which the cards of the hand may be played, with so much power open to the player."""
        found: list[Action] = []
        cards, free_cards = seat.cards, seat.free_cards
        for key in dict.fromkeys(seat.hand):
            card = cards[key]
            cost = card.soulrift
            if card.event and not event_is_free:
                continue
            if cost > power:
                self.unaffordable += 1
            elif cost or free_cards:
                payments = self._payments(cost) if cost else _NONE
                aims = self.aims(seat, key, card)
                found += [Action("play", key, payment, None, aim) for payment in payments for aim in aims]
        return found

    def _payments(self, amount: int) -> Sequence[Payment | None]:
        found = self._quotes.get(amount)
        if found is None:
            found = self._quotes[amount] = best_payments(self._piles, self._state.ruleset, amount, PAYMENTS)[0]
        return found

    def aims(self, seat: Seat, key: str, card: Card) -> Sequence[str | None]:
        """What a card may be aimed at; nothing, if it chooses none, or if it is more than its effect."""
        if not card.effects:
            return _NONE
        try:
            effect = seat.aimed[key]
        except KeyError:
            effect = seat.aimed[key] = next((each for each in card.effects if each.does in TARGETED), None)
        if effect is None:
            return _NONE
        found = targets(effect, self._state, seat.player)[:CHOICES]
        return found or (() if card.kind == "spell" else _NONE)
