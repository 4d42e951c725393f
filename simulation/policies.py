"""Policies: who plays. One is a class with `choose`, which gets a view and the actions, and returns one of them.

    class Patient:
        def __init__(self, chance): ...
        def choose(self, view, actions):
            return actions[-1]

A policy that is `blind` gets no view, which is the faster. It may draw from its `chance`, from nothing else, so that a
match can be made again.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import ClassVar, Protocol, cast

from domain.rules import Refusal, State
from domain.rules import commands as c
from domain.rules.versions import rules_of
from simulation.chance import Chance
from simulation.views import Action, View


class Policy(Protocol):
    """Who plays."""

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """One of these actions, of which there is one at least."""
        ...


class PolicyNameError(Exception):
    """There is no policy of this name; the message says which there are."""


class RandomLegal:
    """Any action, each as likely."""

    blind: ClassVar[bool] = True

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    def choose(self, view: View, actions: Sequence[Action]) -> Action:  # noqa: ARG002 - it is blind
        """One of these actions."""
        return self._chance.pick(actions)


class _Ranked:
    """The action that a policy values most; the first of equals."""

    blind: ClassVar[bool] = False

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """One of these actions."""
        return max(actions, key=lambda action: self.value(view, action))

    def value(self, view: View, action: Action) -> float:
        raise NotImplementedError


class Greedy(_Ranked):
    """Burns as little as can be: plays what costs no more than it must, opens Rifts that it can use, and attacks."""

    def value(self, view: View, action: Action) -> float:
        """The more it does and the less it burns, the better."""
        worth = {"play": 5, "summon": 9, "open": 3, "attack": 2, "close": 1, "end": 0, "concede": -100}[action.kind]
        burns, rank = action.burns, action.rank or 0
        if action.kind == "open":
            usable = max((own for own in _ranks(view) if own <= rank), default=0)
            burns += view.table.ruleset.soulburn_per_power * (rank - usable)
            worth = worth if usable else -1  # a Rift for nobody, even where it burns nothing
        return worth + rank / 10 - burns


class Reckless(_Ranked):
    """Opens the biggest Rift that there is Souls for, whatever it burns and whether anything comes through."""

    def value(self, view: View, action: Action) -> float:  # noqa: ARG002 - it does not look
        """The biggest Rift first, and the most Souls for it."""
        worth = {"open": 50, "summon": 40, "play": 20, "attack": 10, "close": 5, "end": 0, "concede": -100}[action.kind]
        return worth + 10 * (action.rank or 0) + action.burns / 10


class Hoarder(_Ranked):
    """Reaps before all else, keeps its Souls, and pays with those of everybody."""

    def value(self, view: View, action: Action) -> float:
        """Cards that reap first; the fewer reaped Souls a payment takes the better."""
        worth = {"play": 10, "summon": 9, "open": 1, "attack": 3, "close": 1, "end": 2, "concede": -100}[action.kind]
        card = view.cards.get(action.card or "")
        reaps = card is not None and any(effect.does == "reap" for effect in card.effects)
        spends = action.payment.reaped if action.payment else 0
        return worth + 20 * reaps - 4 * spends - action.burns


class Searching:
    """Tries each action on a table of its own, and takes the one after which it stands best: one ply, in a budget."""

    blind: ClassVar[bool] = False
    NODES: ClassVar[int] = 24
    """So many actions, at most, are tried for a decision."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """One of these actions."""
        tried = actions if len(actions) <= self.NODES else self._chance.shuffled(actions)[: self.NODES]
        return max(tried, key=lambda action: self._after(view, action))

    def _after(self, view: View, action: Action) -> float:
        """How the player stands after an action, as far as the rules alone tell."""
        table = view.table.copy()
        for command in _commands(view, action):
            try:
                rules_of(table.rules).fold(rules_of(table.rules).decide(table, command), table)
            except Refusal:
                return -1_000.0
        bonus = {"play": 1.5, "summon": 4.0, "attack": 1.0, "open": 0.5, "concede": -1_000.0}.get(action.kind, 0.0)
        return bonus + _standing(table, view.player)


def _commands(view: View, action: Action) -> list[c.AnyCommand]:
    """What of an action is certain: its payment, and the creature that comes."""
    player, souls = view.player, action.payment.souls if action.payment else ()
    if action.kind == "open" and action.rank is not None:
        return [c.OpenRift(player=player, rank=action.rank, souls=souls)]
    if action.kind == "close":
        return [c.CloseRift(player=player)]
    if action.payment is not None:
        power = action.payment.power - action.payment.excess
        return [c.Pay(player=player, amount=power, souls=souls, cost="a card")]
    return []


def _standing(table: State, player: str) -> float:
    """The own life against that of the others, and the Souls that are open to nobody else."""
    life = {name: seat.life for name, seat in table.players.items()}
    others = [left for name, left in life.items() if name != player and not table.players[name].defeated]
    mine = sum(len(card.souls) for card in table.battlefield.values() if card.controller == player)
    ahead = life[player] - max(others, default=0)
    return ahead + 0.5 * mine + 0.1 * len(table.aether) - (500 if life[player] <= 0 else 0)


def _ranks(view: View) -> list[int]:
    """The ranks of the creatures that wait in the own extra deck."""
    return [view.cards[key].rank or 0 for key in view.extra if key in view.cards]


SHIPPED: dict[str, Callable[[Chance], Policy]] = {
    "random": RandomLegal,
    "greedy": Greedy,
    "reckless": Reckless,
    "hoarder": Hoarder,
    "searching": Searching,
}
"""The policies that come along, by name."""


def policy(name: str) -> Callable[[Chance], Policy]:
    """What makes a policy: one that comes along, or `module:Class` of the user's own.

    Raises:
        PolicyNameError: there is none of this name.

    """
    if name in SHIPPED:
        return SHIPPED[name]
    module, colon, attribute = name.partition(":")
    if colon:
        try:
            made = getattr(import_module(module), attribute)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever somebody's module does when it is loaded
            message = f"the policy {name} cannot be loaded: {told(error)}"
            raise PolicyNameError(message) from None
        if not callable(made):
            message = f"{name} is no class of a policy, but {told(made)}"
            raise PolicyNameError(message)
        return cast("Callable[[Chance], Policy]", made)
    message = f"there is no policy {name}; there are {', '.join(SHIPPED)}, and your own as module:Class"
    raise PolicyNameError(message)


MOST_TOLD = 200
"""So many characters, at most, are told of what a policy raised or chose."""


def told(what: object) -> str:
    """What somebody's object says of itself, whatever it does when it is asked: on one line, and not too long."""
    try:
        text = str.encode(repr(what), errors="backslashreplace").decode()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - whatever somebody's object does
        text = type.__repr__(type(what))
    line = " ".join(text.split())
    return line if len(line) <= MOST_TOLD else f"{line[:MOST_TOLD]}…"
