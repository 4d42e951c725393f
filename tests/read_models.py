"""Matches in a store in memory, what its read models answer of them, and such matches at random."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, zip_longest
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import msgspec
from hypothesis import strategies as st

from domain.application import Matches
from domain.batch import Answer
from domain.rules import AnyCommand, AnyEvent, Refusal, State, fold
from domain.rules import commands as c
from domain.rules.ruleset import ChosenRuleset
from domain.sqlite import sqlite_settings
from projections.follower import Follower
from projections.opening import views_in_memory
from projections.views import Views
from tests.kit import Json, of
from tests.strategies import (
    PLAYERS,
    commands,
    correction,
    one_in,
    opening,
    outcome,
    pick,
    starts,
    texts,
    well_formed,
)

T = TypeVar("T")
P = ParamSpec("P")


class Hall:
    """A store in memory and its views."""

    def __init__(self) -> None:
        self.matches = Matches(sqlite_settings(":memory:"))
        self.views = views_in_memory()
        self.follower = Follower(self.matches, self.views)

    def start(self, *commands: Json, match: str = "m", players: str = "ab", **ruleset: Any) -> Self:
        """A match of these players begins, as entry 1; then these commands are played."""
        seats = [{"player": name} for name in players]
        self.matches.start(json.dumps(of("start_match", match=match, players=seats, ruleset=ruleset)))
        return self.play(*commands, match=match)

    def play(self, *commands: Json, match: str = "m") -> Self:
        """These commands are accepted, an entry each."""
        for answer in self.matches.give_all(match, [json.dumps(command) for command in commands]):
            assert isinstance(answer, Answer), answer.view()
        return self

    def ask(self, query: Callable[Concatenate[Views, P], Iterator[T]], *asked: P.args, **more: P.kwargs) -> list[T]:
        """What a read model answers now."""
        with self.follower.answering() as views:
            return list(query(views, *asked, **more))

    def states(self, match: str) -> list[State]:
        """The state after each entry; that before the first one is the unstarted one."""
        states = [State()]
        for events in self.events(match):
            states.append(fold(events, states[-1].copy()))
        return states

    def events(self, match: str) -> list[tuple[AnyEvent, ...]]:
        """The events of each entry."""
        return [entry.events for entry in self.matches.entries(match)]

    def close(self) -> None:
        """Forget all of it."""
        self.views.close()
        self.matches.close()


def shown(rows: object) -> Any:
    """Rows as they look in JSON."""
    return json.loads(msgspec.json.encode(rows))


# ------------------------------------------------------------------------------------------------ at random

Store = dict[str, list[AnyCommand]]
"""Commands for each match of a store, all of which are accepted; the first is a start_match."""


@st.composite
def stores(draw: st.DrawFn) -> Store:
    """A long match, and perhaps a short one in which the same players may be; rulings are frequent."""
    names = draw(st.lists(st.sampled_from(("m", *PLAYERS)), min_size=1, max_size=2, unique=True))
    return {name: draw(_played(name, longest)) for name, longest in zip(names, (40, 10), strict=False)}


@st.composite
def _played(draw: st.DrawFn, name: str, longest: int) -> list[AnyCommand]:
    start = msgspec.structs.replace(draw(starts()), match=name)
    if one_in(draw, 2):
        seats = [msgspec.structs.replace(seat, player=few) for seat, few in zip(start.players, PLAYERS, strict=False)]
        start = msgspec.structs.replace(start, players=tuple(seats))
    if one_in(draw, 3):
        ruleset = msgspec.structs.replace(start.ruleset or ChosenRuleset(), souls_on_leaving="lost")
        start = msgspec.structs.replace(start, ruleset=ruleset)
    state, accepted, ids = State(), list[AnyCommand](), set[str | None]()
    dealt = opening(start, pick(draw, (1, 2, 2, 0)))
    more = draw(st.integers(longest // 2, longest))  # a match with much in it is worth more here than a simple one
    for command in chain((start, *dealt), (_command(draw, state) for _ in range(more))):
        formed = well_formed(command)
        command_id = command.meta.id if command.meta else None
        if isinstance(formed, Refusal) or command_id in ids or isinstance(outcome(state, formed), Refusal):
            continue
        accepted.append(formed)
        ids |= {command_id} - {None}
    return accepted


def _command(draw: st.DrawFn, state: State) -> AnyCommand:
    if one_in(draw, 8):
        corrected = [correction(draw, state) for _ in range(draw(st.integers(1, 2)))]
        return c.Ruling(judge="judge", reason=draw(texts()), corrections=tuple(corrected))
    return draw(commands(state))


@contextmanager
def hall_of(store: Store) -> Iterator[Hall]:
    """A hall in which these matches were played, a command of each in turn."""
    hall = Hall()
    try:
        for turn in zip_longest(*store.values()):
            for match, command in zip(store, turn, strict=True):
                if command is store[match][0]:
                    hall.matches.start(msgspec.json.encode(command))
                elif command is not None:
                    hall.matches.give(match, command)
        yield hall
    finally:
        hall.close()
