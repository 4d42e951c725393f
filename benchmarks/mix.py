"""A table of random players: legal commands of every common kind, from a seed, without end.

The game's own part (cards that come and go, combat, effects) is random, in about the proportions of the long duel among
the examples; what the rules leave to a player is chosen at random from `options`. Nothing is tried and refused.
"""

from random import Random
from typing import TYPE_CHECKING

from domain.rules import commands as c
from domain.rules.decide import decide
from domain.rules.evolve import evolve
from domain.rules.options import options
from domain.rules.quotes import best_payments, open_piles
from domain.rules.state import State

if TYPE_CHECKING:
    from collections.abc import Callable

BOARD = 10
"""How many cards lie on the battlefield before some are swept away."""


CROWD = 8
"""How many Souls are in the Aether before a great work takes many of them."""

LOW_LIFE = 20
"""Below this a player is healed, so that the match goes on."""


class Table:
    """Players `p1` and `p2` and a deck without end; `choose` gives the next command for a state of their match."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random
        self.dealt = 0
        weights: dict[Callable[[State], c.AnyCommand | None], int] = {
            self._player: 24,
            self._turn: 20,
            self._enter: 16,
            self._life: 14,
            self._destroy: 12,
            self._pay: 7,
            self._close_payment: 7,
            self._reap: 4,
            self._release: 1,
            self._seal: 1,
            self._control: 1,
            self._leave: 1,
            self._rank: 1,
        }
        self._kinds = [kind for kind, weight in weights.items() for _ in range(weight)]

    @staticmethod
    def start(match: str = "mix") -> c.StartMatch:
        """The command that begins the match of this table."""
        return c.StartMatch(match=match, players=(c.NewPlayer(player="p1"), c.NewPlayer(player="p2")))

    def choose(self, state: State) -> c.AnyCommand:
        """A legal command, chosen at random."""
        if state.turn is None:
            return c.BeginTurn(player="p1")
        if len(state.battlefield) > BOARD:
            return c.Destroy(cards=tuple(list(state.battlefield)[:3]))
        for player in state.players.values():
            if player.life < LOW_LIFE:
                return c.ChangeLife(changes=(c.LifeChange(player=player.player, delta=25),), reason="healing")
        while True:
            command = self._kinds[int(self.random() * len(self._kinds))](state)
            if command is not None:
                return command

    def _card(self, state: State) -> str | None:
        cards = list(state.battlefield)
        return cards[int(self.random() * len(cards))] if cards else None

    def _enter(self, _state: State) -> c.AnyCommand:
        self.dealt += 1
        lot = self.random()
        controller = "p1" if lot < 0.5 else "p2"
        if lot * 10 % 1 < 0.7:
            return c.Enter(card=f"c{self.dealt}", controller=controller, name="Ash Hound", rank=int(lot * 100) % 3)
        return c.Enter(card=f"c{self.dealt}", controller=controller, kind="other", name="Old Altar")

    def _destroy(self, state: State) -> c.AnyCommand | None:
        card = self._card(state)
        return c.Destroy(cards=(card,), cause="battle") if card else None

    def _player(self, state: State) -> c.AnyCommand | None:
        player = state.turn.player  # type: ignore[union-attr]  # `choose` begins one first
        open_now = options(state, player)
        lot = self.random()
        if open_now.close_rift:
            if lot < 0.5:
                return c.CloseRift(player=player)
            self.dealt += 1
            rank = open_now.summon[int(lot * len(open_now.summon))]
            return c.Summon(player=player, card=f"c{self.dealt}", rank=rank, name="Rift Walker")
        if open_now.rifts and lot < 0.4:
            rift = open_now.rifts[int(lot / 0.4 * len(open_now.rifts))]
            return c.OpenRift(player=player, rank=rift.rank, souls=rift.payments[0].souls)
        return c.TakeEvent(player=player, event="omen") if open_now.take_event else None

    def _pay(self, state: State) -> c.AnyCommand | None:
        player = "p1" if self.random() < 0.5 else "p2"
        if len(state.aether) > CROWD:
            return self._great_work(state, player)
        amount = 1 + int(self.random() * 3)
        payments, _ = best_payments(open_piles(state, player), state.ruleset, amount)
        if not payments:
            return None
        return c.Pay(player=player, amount=amount, souls=payments[0].souls, effect="drain")

    def _great_work(self, state: State, player: str) -> c.AnyCommand:
        """Now and then a great work clears a crowded Aether: the strongest Souls, as many as it takes."""
        souls, power = [], 0
        for soul in sorted(state.aether.values(), key=lambda soul: -soul.rank):
            souls.append(soul.soul)
            power += soul.rank + 1
            if power >= CROWD:
                break
        return c.Pay(player=player, amount=CROWD, souls=tuple(souls), cost="great work")

    def _close_payment(self, state: State) -> c.AnyCommand | None:
        for payment in state.payments:
            return c.Resolve(payment=payment) if self.random() < 0.85 else c.Fizzle(payment=payment)
        return None

    def _turn(self, state: State) -> c.AnyCommand | None:
        if state.rift:
            return None
        return c.BeginTurn(player="p2" if state.turn.player == "p1" else "p1")  # type: ignore[union-attr]  # as above

    def _reap(self, state: State) -> c.AnyCommand | None:
        card = self._card(state)
        if card is None or not state.aether:
            return None
        return c.Reap(souls=(next(iter(state.aether)),), card=card, cause="harvest")

    def _life(self, _state: State) -> c.AnyCommand:
        player = "p1" if self.random() < 0.5 else "p2"
        return c.ChangeLife(changes=(c.LifeChange(player=player, delta=-2),), reason="combat")

    def _release(self, _state: State) -> c.AnyCommand:
        return c.Release(cause="lantern")

    def _creature(self, state: State) -> str | None:
        card = self._card(state)
        return card if card and state.battlefield[card].kind == "creature" else None

    def _seal(self, state: State) -> c.AnyCommand | None:
        card = self._creature(state)
        if card is None:
            return None
        return c.Unseal(card=card) if state.battlefield[card].sealed else c.Seal(card=card)

    def _control(self, state: State) -> c.AnyCommand | None:
        card = self._card(state)
        if card is None:
            return None
        return c.ChangeControl(card=card, to="p2" if state.battlefield[card].controller == "p1" else "p1")

    def _leave(self, state: State) -> c.AnyCommand | None:
        card = self._card(state)
        return c.Leave(card=card, to="hand") if card else None

    def _rank(self, state: State) -> c.AnyCommand | None:
        card = self._creature(state)
        if card is None or state.battlefield[card].rank == 3:
            return None
        return c.SetRank(card=card, rank=3)


def recorded(count: int, seed: int = 1) -> list[c.AnyCommand]:
    """The first `count` commands of one endless match."""
    table, state = Table(seed), State()
    commands: list[c.AnyCommand] = [Table.start()]
    while True:
        for event in decide(state, commands[-1]):
            evolve(state, event)
        if len(commands) == count:
            return commands
        commands.append(table.choose(state))
