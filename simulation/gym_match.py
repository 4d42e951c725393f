"""A match of the gym: played decision by decision, by whoever gives the actions.

Lives here: how it is dealt (as match `number` of a run with this seed is), whose decision it is, what is recorded, and
what each player sees. Must not know: PettingZoo, rewards.
"""

from collections.abc import Generator, Sequence
from functools import partial
from typing import NoReturn

from domain.entry import Entry
from domain.entry import play as played
from domain.rules import AnyCommand, State, decide, fold
from domain.rules import commands as c
from domain.rules.ruleset import ChosenRuleset
from simulation.action_numbers import numbered
from simulation.chance import GENERATOR, Chance
from simulation.decks import SHIPPED as DECKS
from simulation.decks import pool, shipped_deck
from simulation.observations import Sight
from simulation.runs import SIMULATOR, drawn_for
from simulation.seats import Seat
from simulation.table import MOST_ACTIONS, Table
from simulation.views import Action, View


class Agent:
    """Who plays in the gym. It is asked from outside, never by the table."""

    blind = True

    def choose(self, view: View, actions: Sequence[Action]) -> NoReturn:
        """Nothing: the table does not ask."""
        raise NotImplementedError


class Match:
    """A match with all that is hidden in it. It waits for `seat`, which has a decision to make: one of those `offered`,
    by number. Once the match has ended, nothing is offered. `entries` are recorded if they are wanted.
    """

    def __init__(
        self, seed: int, number: int, decks: Sequence[str], ruleset: ChosenRuleset | None, *, record: bool
    ) -> None:
        self.name = f"gym-{seed}-{number}"
        self.state = State()
        self.entries: list[Entry] = []
        self.offered: dict[int, Action] = {}
        self._record = record
        self._began = self._left = 0
        chance = partial(Chance, seed, number)
        names = [f"p{place}" for place in range(1, len(decks) + 1)]
        drawn = [drawn_for(chance, f"deck of {name}", deck, DECKS) for name, deck in zip(names, decks, strict=True)]
        self.seats = [_seat(name, deck, chance(f"library of {name}")) for name, deck in zip(names, drawn, strict=True)]
        self.places = {seat.player: place for place, seat in enumerate(self.seats)}
        self._after = [_after(self.seats, place) for place in range(len(self.seats))]
        told = f"gym, simulator {SIMULATOR}, {GENERATOR}, seed {seed}, match {number}"
        self._give(_start(self.name, drawn, ruleset, told))
        self.table = Table(self.seats, self.state, self._give, chance("table"))
        self._decisions: Generator[tuple[Seat, list[Action]], Action, None] = self.table.decisions()
        self._wait_for(*next(self._decisions))

    def _give(self, command: AnyCommand) -> None:
        if self._record:
            self.entries.append(played(self.state, command))
        else:
            fold(decide(self.state, command), self.state)
        if isinstance(command, c.BeginTurn):
            self._began, self._left = self.state.entries, MOST_ACTIONS

    def _wait_for(self, seat: Seat, actions: list[Action]) -> None:
        self.seat = seat
        self.offered = numbered(actions, self._after[self.places[seat.player]])

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to decide."""
        return self.state.status == "ended"

    def choose(self, number: int) -> None:
        """Take an action, by its number, and play on to the next decision or the end.

        Raises:
            KeyError: it is not offered; nothing has changed.

        """
        action = self.offered[number]
        self.offered = {}
        self._left -= 1
        try:
            decision = self._decisions.send(action)
        except StopIteration:
            return
        self._wait_for(*decision)

    def sight(self, place: int) -> Sight:
        """What the player at a place, from 0, looks at."""
        offered = self.offered if self.offered and self.seat is self.seats[place] else {}
        return Sight(self.state, self.seats, place, self._after[place], self._began, self._left, offered)


def _seat(player: str, deck_name: str, chance: Chance) -> Seat:
    deck = shipped_deck(deck_name)
    library = chance.shuffled([key for key, count in deck.main.items() for _ in range(count)])
    extra = [key for key, count in deck.extra.items() for _ in range(count)]
    return Seat(player, library, extra, Agent(), pool())


def _after(seats: Sequence[Seat], place: int) -> dict[str, int]:
    """How many places after this one each player sits."""
    return {seat.player: (other - place) % len(seats) for other, seat in enumerate(seats)}


def _start(match: str, decks: Sequence[str], ruleset: ChosenRuleset | None, told: str) -> c.StartMatch:
    """The command that begins a match: it says how to deal the match again."""
    players = [c.NewPlayer(player=f"p{place}", name=f"{deck}, agent") for place, deck in enumerate(decks, 1)]
    return c.StartMatch(match=match, players=tuple(players), ruleset=ruleset, meta=c.CommandMeta(actor=told))
