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

from collections.abc import Callable, Generator, Sequence
from typing import Any

from msgspec import Struct

from domain.rules import AnyCommand, State
from domain.rules import commands as c
from simulation.chance import Chance
from simulation.decks import Card
from simulation.effects import Doing, commands
from simulation.offers import Offers
from simulation.policies import told
from simulation.seats import Seat
from simulation.views import Action, View

HAND, MOST_IN_HAND = 4, 8
FREE_CARDS = 2
"""So many cards that cost no Souls may be played in a turn."""

MOST_ACTIONS = 12
"""So many actions, at most, has a turn."""

MOST_TURNS = 40
"""After so many turns the match is a draw."""

_LAST = {"attack", "end", "concede"}
"""After these a turn is over."""


class PolicyError(Exception):
    """A policy raised, or returned what it may not do: whose, and what."""


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
        self.offers = Offers(state)
        self._seats = list(seats)
        self._state = state
        self._give = give
        self._chance = chance
        self._waiting: list[Waiting] = []
        self._keys: dict[str, tuple[Seat, str]] = {}
        """Of each card on the battlefield: whose it is, and which card of the pool."""
        self._strength: dict[str, int] = {}
        """How strong each card is in combat; what is no creature is not."""
        self._dealt = 0
        self._again: Seat | None = None
        self._turns = 0
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
        while self._turns < MOST_TURNS:
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
        self._turns += 1
        self._give(c.BeginTurn(player=seat.player))
        self._turn_entry = self._state.entries
        seat.free_cards = FREE_CARDS
        for waiting in [each for each in self._waiting if each.seat is seat or not self._is_in(each.seat)]:
            self._waiting.remove(waiting)
            if self._state.status == "running":
                self._happen(waiting.seat, waiting.card, waiting.source, waiting.target, waiting.payment)
        if self._is_in(seat):
            self._draw(seat)
        for _ in range(MOST_ACTIONS):
            if not self._is_in(seat):
                return
            action = yield seat, self.offers.actions(seat, self._attacked(seat))
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
        """What the policy of a seat chooses: one of the actions, whatever it does to those that it gets."""
        view, offered = None if seat.blind else self.view(seat), tuple(actions)
        try:
            chosen = seat.policy.choose(view, list(offered))  # type: ignore[arg-type]  # who is blind does not look
            for action in offered:
                if action is chosen:
                    return action
            if type(chosen) is Action and chosen in offered:
                return offered[offered.index(chosen)]
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever somebody's policy does
            message = f"the policy of {seat.player} raised {told(error)}"
            raise PolicyError(message) from error
        what = told(chosen if type(chosen) is Action else type(chosen))
        message = f"the policy of {seat.player} chose what it may not do: {what}"
        raise PolicyError(message)

    def view(self, seat: Seat) -> View:
        """What a player may see."""
        table = self._state.copy()
        table.match = ""
        table.names = dict.fromkeys(table.names)
        hands = {each.player: len(each.hand) for each in self._seats}
        libraries = {each.player: len(each.library) for each in self._seats}
        cards = {key: seat.cards[key] for key in (*seat.hand, *seat.extra)}
        return View(seat.player, tuple(seat.hand), tuple(seat.extra), hands, libraries, table, cards)

    def _attacked(self, seat: Seat) -> list[str]:
        """Whom the player's creatures could attack."""
        player, before, strength = seat.player, self._turn_entry, self._strength
        for name, card in self._state.battlefield.items():
            if card.controller == player and card.entered < before and strength[name]:
                return [each.player for each in self._seats if each is not seat and self._is_in(each)]
        return []

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
        self._strength[name] = seat.cards[key].attack
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
            self._happen(seat, card, name, self.offers.aims(seat, key, card)[0], None)  # the first that fits

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
            (self._strength[name], name)
            for name, card in self._state.battlefield.items()
            if card.controller == player and card.kind == "creature" and card.entered < before
        ]
        found.sort(key=lambda each: -each[0])
        return found

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
