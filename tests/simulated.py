"""Hand-made situations of simulated matches: cards made for them, a chance that is scripted, a table driven by hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec

from domain.rules import AnyCommand, State, decide, decode_command, fold, state_hash
from domain.rules import commands as c
from domain.rules.ruleset import ChosenRuleset
from simulation.chance import Chance
from simulation.decks import Card, Effect
from simulation.seats import Seat
from simulation.table import Table
from simulation.views import Action, View

Json = dict[str, Any]


def creature(attack: int, **more: Any) -> Card:
    """A creature of this attack."""
    return Card(name=f"Beast {attack}", kind="creature", attack=attack, **more)


def spell(*effects: Effect, **more: Any) -> Card:
    """A spell that does this."""
    return Card(name=more.pop("name", "Spell"), kind="spell", effects=effects, **more)


def relic(*effects: Effect, **more: Any) -> Card:
    """A relic that does this."""
    return Card(name=more.pop("name", "Relic"), kind="relic", effects=effects, **more)


CARDS: Mapping[str, Card] = {
    "beast0": creature(0),
    **{f"beast{attack}": creature(attack) for attack in range(1, 10)},
    "rift1": creature(3, rank=1),
    "rift2": creature(5, rank=2),
    "rift3": creature(8, rank=3),
    "dear": spell(Effect(does="strike"), name="Dear", soulrift=12),
}
"""Creatures of each attack, one of each rank, and a spell that nobody can pay."""


class ScriptedChance(Chance):
    """Gives these draws and no other: what is drawn must be below what is asked for, and none may be left."""

    def __init__(self, *draws: int) -> None:
        self.left = list(draws)

    def below(self, number: int) -> int:
        """The next draw of the script."""
        drawn = self.left.pop(0)
        assert 0 <= drawn < number
        return drawn


class Nobody:
    """A policy that is never asked: the test decides."""

    def __init__(self, chance: Chance | None = None) -> None:
        self.chance = chance

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """Nothing."""
        raise AssertionError(view, actions)


class Held:
    """What a player holds: four cards in hand (dear ones in the place of those not named), cards to draw, an extra
    deck.
    """

    def __init__(self, *hand: str, draws: Sequence[str] = ("dear",) * 60, extra: Sequence[str] = ()) -> None:
        self.hand = [*hand, *("dear",) * (4 - len(hand))]
        self.draws = list(draws)
        self.extra = list(extra)


class Situation:
    """A match whose decisions a test makes. `given` brings it about; `act` takes the action that fits."""

    def __init__(
        self,
        *held: Held,
        cards: Mapping[str, Card] | None = None,
        draws: Sequence[int] = (0,),
        own: Sequence[Mapping[str, Card]] = (),
        **ruleset: Any,
    ) -> None:
        self.state, self.chance, self.commands = State(), ScriptedChance(*draws), list[Json]()
        known = {**CARDS, **(cards or {})}
        self.seats = [
            Seat(
                f"p{place}",
                [*reversed(each.draws), *reversed(each.hand)],
                list(each.extra),
                Nobody(),
                {**known, **(own[place - 1] if own else {})},
            )
            for place, each in enumerate(held, 1)
        ]
        players = tuple(c.NewPlayer(player=seat.player) for seat in self.seats)
        chosen = msgspec.convert(ruleset, ChosenRuleset) if ruleset else None
        self.give(c.StartMatch(match="m", players=players, ruleset=chosen))
        self.table = Table(self.seats, self.state, self.give, self.chance)
        self.actions, self.seat, self._decisions = list[Action](), self.seats[0], self.table.decisions()

    def give(self, command: AnyCommand) -> None:
        """Judge a command by the strict edge and by the rules, and take it in."""
        content = msgspec.json.encode(command)
        self.commands.append(json.loads(content))
        fold(decide(self.state, decode_command(content)), self.state)

    def given(self, *commands: AnyCommand) -> Self:
        """These happened before the first turn, or between two actions."""
        for command in commands:
            self.give(command)
        return self

    def souls(self, *ranks: int) -> Self:
        """Souls of these ranks are in the Aether."""
        return self.given(*(c.Release(rank=rank) for rank in ranks))

    def start(self) -> Self:
        """Go to the first decision."""
        self.seat, self.actions = next(self._decisions)
        return self

    def offered(self, kind: str, **fields: Any) -> list[Action]:
        """The actions of this kind with these fields."""
        return [
            action
            for action in self.actions
            if action.kind == kind and all(getattr(action, name) == value for name, value in fields.items())
        ]

    def act(self, kind: str, **fields: Any) -> Self:
        """Take the first action of this kind with these fields, and go to the next decision; none once it is over."""
        found = self.offered(kind, **fields)
        assert found, f"no {kind} {fields} among {self.actions}"
        self.take(found[0])
        return self

    def take(self, action: Action) -> None:
        """Take this action."""
        try:
            self.seat, self.actions = self._decisions.send(action)
        except StopIteration:
            self.actions = []

    def ends(self, turns: int) -> Self:
        """So many turns end without anything else."""
        for _ in range(turns):
            self.act("end")
        return self

    def since(self, mark: int) -> list[Json]:
        """The commands given after the first `mark` ones."""
        return self.commands[mark:]

    def types(self, mark: int = 0) -> list[str]:
        """The types of the commands given after the first `mark` ones."""
        return [command["type"] for command in self.commands[mark:]]

    def on_table(self, player: str) -> list[str]:
        """Which cards a player controls."""
        return [name for name, card in self.state.battlefield.items() if card.controller == player]

    def life(self, player: str) -> int:
        """A player's life."""
        return self.state.players[player].life

    def hash(self) -> str:
        """The hash of the state."""
        return state_hash(self.state)
