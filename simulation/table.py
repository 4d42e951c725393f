"""The table: the loop of a simulated match, from the first turn to its end.

What is here is the simulator's, not the rules': the game's page says nothing of decks, of drawing or of combat. A turn
goes so (docs/simulation.md tells it for designers):

1. The turn begins; what the player's delayed effects do, happens.
2. A card is drawn. Who has none left loses life instead, one more each time.
3. The player acts: cards, at most `FREE_CARDS` of those that cost no Souls; a Rift; until the player attacks or ends.
4. Combat: every creature that was there before the turn attacks, if the player attacks. Each creature of the attacked
   player blocks one attacker, the strongest the strongest. Of a pair the weaker one is destroyed, of equals both. What
   is not blocked takes life.

Whatever happens to Souls, life and cards goes through the commands of the rules; the table never touches the state.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from domain.rules import AnyCommand, Payment, State
from domain.rules import commands as c
from domain.rules.quotes import Pile, best_payments, open_piles, power_of
from simulation.chance import Chance
from simulation.decks import TARGETED, Card
from simulation.effects import Doing, commands, targets
from simulation.policies import Policy
from simulation.views import Action, View

HAND, MOST_IN_HAND = 4, 8
FREE_CARDS = 2
"""So many cards that cost no Souls may be played in a turn."""

MOST_ACTIONS = 12
"""So many actions, at most, has a turn."""

MOST_TURNS = 40
"""After so many turns the match is a draw."""

PAYMENTS, CHOICES = 3, 4
"""So many payments of a cost, and so many cards to be chosen, are offered."""

DESPAIR = 6
"""A player with this much life or less may concede."""

END = Action("end")
CLOSE = Action("close")
_LAST = {"attack", "end", "concede"}
"""After these a turn is over."""

CONCEDE = Action("concede")


class PolicyError(Exception):
    """A policy raised, or returned what it may not do: whose, and what."""


class Seat:
    """A player at the table: the cards that nobody else sees, and who plays."""

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
        self.exhausted = 0
        self.free_cards = 0


class Waiting(Struct):
    """A delayed effect: of which payment, of which card, and what it was aimed at."""

    seat: Seat
    payment: int
    card: Card
    source: str | None
    target: str | None


class Table:
    """A match between these seats. `give` judges a command and takes it in, changing `state`."""

    def __init__(self, seats: Sequence[Seat], state: State, give: Callable[[AnyCommand], Any], chance: Chance) -> None:
        self.unaffordable = 0
        """How often a card could not be played since its cost could not be paid (P-6)."""
        self._seats = list(seats)
        self._state = state
        self._give = give
        self._chance = chance
        self._waiting: list[Waiting] = []
        self._keys: dict[str, tuple[Seat, str]] = {}
        """Of each card on the battlefield: whose it is, and which card of the pool."""
        self._dealt = 0
        self._again: Seat | None = None
        self._turn_entry = 0

    # ------------------------------------------------------------ the match

    def play(self) -> None:
        """Play the match, which has been started, to its end; the policies of the seats decide.

        Raises:
            PolicyError: a policy failed; the match stands where it was.

        """
        decisions = self.decisions()
        try:
            seat, actions = next(decisions)
            while True:
                seat, actions = decisions.send(self._chosen(seat, actions))
        except StopIteration:
            return

    def decisions(self) -> Generator[tuple[Seat, list[Action]], Action, None]:
        """The decisions of the match: whose each is, and the actions, one of which is to be sent back."""
        for seat in self._seats:
            seat.hand = [seat.library.pop() for _ in range(HAND)]
        at = self._chance.below(len(self._seats))
        for _ in range(MOST_TURNS):
            seat = self._again or self._seats[at]
            if self._again is None:
                at = (at + 1) % len(self._seats)
            self._again = None
            if not self._is_in(seat):
                continue
            yield from self._turn(seat)
            if self._state.status == "ended":
                return
        self._give(c.EndMatch(reason=f"nobody has won after {MOST_TURNS} turns"))

    def _is_in(self, seat: Seat) -> bool:
        """Whether the match goes on with this player in it."""
        return self._state.status == "running" and not self._state.players[seat.player].defeated

    def _turn(self, seat: Seat) -> Generator[tuple[Seat, list[Action]], Action, None]:
        self._give(c.BeginTurn(player=seat.player))
        self._turn_entry = self._state.entries
        seat.free_cards = FREE_CARDS
        for waiting in [each for each in self._waiting if each.seat is seat]:
            self._waiting.remove(waiting)
            if self._state.status == "running":
                self._happen(waiting.seat, waiting.card, waiting.source, waiting.target, waiting.payment)
        if self._is_in(seat):
            self._draw(seat)
        for _ in range(MOST_ACTIONS):
            if not self._is_in(seat):
                return
            action = yield seat, self._actions(seat)
            self._do(seat, action)
            if action.kind in _LAST:
                break
        if self._state.rift is not None and self._is_in(seat):
            self._give(c.CloseRift(player=seat.player))

    def _draw(self, seat: Seat) -> None:
        if seat.library:
            card = seat.library.pop()
            if len(seat.hand) < MOST_IN_HAND:
                seat.hand.append(card)
            return
        seat.exhausted += 1
        loss = c.LifeChange(player=seat.player, delta=-seat.exhausted)
        self._give(c.ChangeLife(changes=(loss,), reason="no card is left to draw"))

    # ------------------------------------------------------------ actions

    def _do(self, seat: Seat, action: Action) -> None:
        """What a player has chosen happens."""
        match action.kind:
            case "play":
                self._play(seat, action)
            case "open":
                self._give(c.OpenRift(player=seat.player, rank=action.rank or 0, souls=_souls(action)))
            case "summon":
                self._summon(seat, str(action.card))
            case "close":
                self._give(c.CloseRift(player=seat.player))
            case "attack":
                self._attack(seat, str(action.target))
            case "concede":
                self._give(c.Concede(player=seat.player))

    def _chosen(self, seat: Seat, actions: list[Action]) -> Action:
        view = None if seat.blind else self.view(seat)
        try:
            chosen = seat.policy.choose(view, actions)  # type: ignore[arg-type]  # who is blind does not look
        except Exception as error:
            message = f"the policy of {seat.player} raised {error!r}"
            raise PolicyError(message) from error
        if chosen not in actions:
            message = f"the policy of {seat.player} chose what it may not do: {chosen!r}"
            raise PolicyError(message)
        return chosen

    def view(self, seat: Seat) -> View:
        """What a player may see."""
        table = self._state.copy()
        table.match = ""
        table.names = dict.fromkeys(table.names)
        hands = {each.player: len(each.hand) for each in self._seats}
        libraries = {each.player: len(each.library) for each in self._seats}
        return View(seat.player, tuple(seat.hand), tuple(seat.extra), hands, libraries, table)

    def _actions(self, seat: Seat) -> list[Action]:
        """What the player may do now: everything of it is legal."""
        if self._state.rift is not None:
            rank = self._state.rift.rank
            fitting = [key for key in dict.fromkeys(seat.extra) if (seat.cards[key].rank or 0) <= rank]
            return [*(Action("summon", key) for key in fitting), CLOSE]
        piles = open_piles(self._state, seat.player)
        quotes: dict[int, list[Payment]] = {}
        found = [action for key in dict.fromkeys(seat.hand) for action in self._plays(seat, key, piles, quotes)]
        if self._event_is_free():
            for rank in range(1, min(3, power_of(piles)) + 1):
                found += [Action("open", None, payment, rank) for payment in self._payments(piles, quotes, rank)]
        found += self._attacks(seat)
        if self._state.players[seat.player].life <= DESPAIR:
            found.append(CONCEDE)
        found.append(END)
        return found

    def _event_is_free(self) -> bool:
        return self._state.turn is not None and self._state.turn.event is None

    def _payments(self, piles: list[Pile], quotes: dict[int, list[Payment]], amount: int) -> list[Payment]:
        found = quotes.get(amount)
        if found is None:
            found = quotes[amount] = list(best_payments(piles, self._state.ruleset, amount, PAYMENTS)[0])
        return found

    def _plays(self, seat: Seat, key: str, piles: list[Pile], quotes: dict[int, list[Payment]]) -> list[Action]:
        """The ways in which a card of the hand may be played."""
        card = seat.cards[key]
        if (card.event and not self._event_is_free()) or (not card.soulrift and not seat.free_cards):
            return []
        aims = self._aims(seat, card)
        if not card.soulrift:
            return [Action("play", key, None, None, aim) for aim in aims]
        payments = self._payments(piles, quotes, card.soulrift)
        self.unaffordable += not payments
        return [Action("play", key, payment, None, aim) for payment in payments for aim in aims]

    def _aims(self, seat: Seat, card: Card) -> list[str] | list[None]:
        """What a card may be aimed at; nothing, if it chooses none, or if it is more than its effect."""
        for effect in card.effects:
            if effect.does in TARGETED:
                found = [
                    name for name, _ in zip(targets(effect, self._state, seat.player), range(CHOICES), strict=False)
                ]
                return found or ([None] if card.kind != "spell" else [])
        return [None]

    def _attacks(self, seat: Seat) -> list[Action]:
        if not self._attackers(seat):
            return []
        return [Action("attack", target=each.player) for each in self._seats if each is not seat and self._is_in(each)]

    # ------------------------------------------------------------ cards

    def _play(self, seat: Seat, action: Action) -> None:
        key = str(action.card)
        card = seat.cards[key]
        seat.hand.remove(key)
        seat.free_cards -= not card.soulrift
        player = seat.player
        if card.event:
            self._give(c.TakeEvent(player=player, event=card.name))
        if action.payment and card.pays == "cost":
            self._give(c.Pay(player=player, amount=card.soulrift, souls=_souls(action), cost=card.name))
            if not self._is_in(seat):
                return
        source = self._enter(seat, key, card) if card.kind != "spell" else None
        payment = None
        if action.payment and card.pays == "effect":
            pay = c.Pay(player=player, amount=card.soulrift, souls=_souls(action), effect=card.name, source=source)
            self._give(pay)
            payment = self._state.numbered.payments
            if self._state.status == "ended":
                return
        if card.delayed and payment is not None and self._is_in(seat):
            self._waiting.append(Waiting(seat, payment, card, source, action.target))
        elif card.effects:
            self._happen(seat, card, source, action.target, payment)

    def _enter(self, seat: Seat, key: str, card: Card) -> str:
        name = self._named(seat, key)
        self._give(
            c.Enter(
                card=name,
                controller=seat.player,
                definition=key,
                name=card.name,
                kind="creature" if card.kind == "creature" else "other",
                soulless=card.soulless,
            )
        )
        if card.sealed:
            self._give(c.Seal(card=name))
        return name

    def _named(self, seat: Seat, key: str) -> str:
        """A name for a card that comes to the battlefield."""
        self._dealt += 1
        name = f"{key}-{self._dealt}"
        self._keys[name] = (seat, key)
        return name

    def _summon(self, seat: Seat, key: str) -> None:
        card = seat.cards[key]
        seat.extra.remove(key)
        name = self._named(seat, key)
        rank = card.rank or 0
        self._give(
            c.Summon(player=seat.player, card=name, rank=rank, definition=key, name=card.name, soulless=card.soulless)
        )
        if card.sealed:
            self._give(c.Seal(card=name))
        if card.effects:
            self._happen(seat, card, name, self._aim(seat, card), None)

    def _aim(self, seat: Seat, card: Card) -> str | None:
        """What the effect of a summoned creature is done to: the first card that fits."""
        return next(iter(self._aims(seat, card)))

    def _happen(self, seat: Seat, card: Card, source: str | None, target: str | None, payment: int | None) -> None:
        """The effects of a card: they resolve and are done, or fizzle."""
        reason = self._fizzles(seat, card, source, target)
        if reason:
            what = {"payment": payment} if payment is not None else {"effect": card.name}
            self._give(c.Fizzle(reason=reason, **what))
            return
        if payment is not None:
            self._give(c.Resolve(payment=payment))
        for effect in card.effects:
            if not self._is_in(seat):
                return
            self._again = seat if effect.does == "again" else self._again
            for command in commands(effect, Doing(self._state, seat.player, source, card.name, target)) or ():
                self._give(command)
                if isinstance(command, c.Leave):
                    self._left(command)

    def _fizzles(self, seat: Seat, card: Card, source: str | None, target: str | None) -> str | None:
        """Why the effects of a card come to nothing, if they do."""
        if not self._is_in(seat):
            return f"{seat.player} is defeated"
        if card.fickle and self._chance.below(100) < card.fickle:
            return "it goes astray"
        first = card.effects[0]
        if commands(first, Doing(self._state, seat.player, source, card.name, target)) is None:
            return "there is nothing for it"
        return None

    def _left(self, command: c.Leave) -> None:
        owner, key = self._keys[command.card]
        if command.to == "hand":
            (owner.extra if owner.cards[key].rank is not None else owner.hand).append(key)

    # ------------------------------------------------------------ combat

    def _attackers(self, seat: Seat) -> list[tuple[int, str]]:
        return [each for each in self._creatures(seat.player, self._turn_entry) if each[0] > 0]

    def _creatures(self, player: str, before: int) -> list[tuple[int, str]]:
        """The strength and name of a player's creatures that came before this entry, the strongest first."""
        found = [
            (self._strength(name), name)
            for name, card in self._state.battlefield.items()
            if card.controller == player and card.kind == "creature" and card.entered < before
        ]
        found.sort(key=lambda each: -each[0])
        return found

    def _strength(self, name: str) -> int:
        seat, key = self._keys[name]
        return seat.cards[key].attack

    def _attack(self, seat: Seat, target: str) -> None:
        attackers = self._attackers(seat)
        blockers = self._creatures(target, self._state.entries + 1)
        fallen: list[str] = []
        for (strength, attacker), (other, blocker) in zip(attackers, blockers, strict=False):
            fallen += [attacker] * (strength <= other) + [blocker] * (other <= strength)
        through = sum(strength for strength, _ in attackers[len(blockers) :])
        if fallen:
            self._give(c.Destroy(cards=tuple(fallen), cause="combat", by=seat.player))
        if through:
            self._give(c.ChangeLife(changes=(c.LifeChange(player=target, delta=-through),), reason="combat"))


def _souls(action: Action) -> tuple[int, ...]:
    return action.payment.souls if action.payment else ()
