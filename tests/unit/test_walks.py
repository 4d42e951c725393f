"""Walks over many simulated matches: whatever is offered is accepted, and the state changes by commands alone."""

from collections import Counter
from contextlib import suppress
from itertools import product

import msgspec
import pytest

from domain.entry import play
from domain.rules import AnyCommand, AnyEvent, State, decode_command, state_hash
from domain.rules import commands as c
from simulation.chance import Chance
from simulation.decks import SHIPPED, pool, shipped_deck
from simulation.policies import SHIPPED as POLICIES
from simulation.runs import Run, play_match
from simulation.seats import Seat
from simulation.table import MOST_ACTIONS, MOST_TURNS, Table

encode = msgspec.json.Encoder(order="sorted").encode


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("ruleset", [{}, {"overpay": "any"}, {"overpay": "least", "souls_on_leaving": "lost"}], ids=str)
def test_what_is_offered_is_accepted(policy: str, ruleset: dict[str, str]) -> None:
    """Every policy plays every deck against every deck, and nothing that it may do is refused."""
    for number, decks in enumerate(product(SHIPPED, SHIPPED), 1):
        for match in range(2 * number - 1, 2 * number + 1):
            played = play_match(Run(11, decks, (policy, "random"), (ruleset,)), match)
            assert played.failed is None, (decks, match)
            assert played.tally


@pytest.mark.parametrize("seats", [3, 4, 16])
def test_what_is_offered_is_accepted_at_larger_tables(seats: int) -> None:
    """So it is with more players, of whom some fall long before the end."""
    run = Run(12, ("any",) * seats, ("any",) * seats)
    fallen = Counter[int]()
    for match in range(1, 41):
        played = play_match(run, match)
        assert played.failed is None, match
        assert played.tally
        fallen[sum(player.fell is not None for player in played.tally.players)] += 1
    assert max(fallen) >= 2


class Walk:
    """A match of shipped decks that a chance of the test's own walks through; `give` notes the state after each."""

    def __init__(self, seed: int, decks: tuple[str, ...]) -> None:
        self.state, self.noted, self.given = State(), "", list[AnyCommand]()
        self.chance = Chance(seed, 1, "walk")
        self.seats = [self.sit(f"p{place}", name) for place, name in enumerate(decks, 1)]
        self.give(c.StartMatch(match="m", players=tuple(c.NewPlayer(player=seat.player) for seat in self.seats)))
        self.table = Table(self.seats, self.state, self.give, self.chance)

    def sit(self, player: str, name: str) -> Seat:
        """A seat with this deck."""
        deck = shipped_deck(name)
        library = self.chance.shuffled([key for key, count in deck.main.items() for _ in range(count)])
        extra = [key for key, count in deck.extra.items() for _ in range(count)]
        return Seat(player, library, extra, POLICIES["random"](self.chance), pool())

    def give(self, command: AnyCommand) -> None:
        """Take a command in as from a wire; before it, the state is as the last one left it."""
        assert state_hash(self.state.copy()) == self.noted or not self.given
        decoded = decode_command(encode(command))
        assert encode(decoded) == encode(command)
        play(self.state, decoded)
        self.given.append(command)
        self.noted = state_hash(self.state.copy())


@pytest.mark.parametrize("seed", range(12))
def test_state_changes_by_commands_alone(seed: int) -> None:
    """Offering, showing a view and choosing change nothing: the state is that of the last command, until the next.
    Every command is in its normal form, and passes the strict edge.
    """
    walk = Walk(seed, (SHIPPED[seed % 3], SHIPPED[seed // 3 % 3], SHIPPED[seed % 2])[: 2 + seed % 2])
    decisions = walk.table.decisions()
    seat, actions = next(decisions)
    of_turn = Counter[tuple[int, str]]()
    while True:
        entries = walk.state.entries
        view = walk.table.view(seat)
        assert state_hash(walk.state.copy()) == walk.noted
        assert (walk.state.entries, walk.state.match) == (entries, "m")
        assert view.table is not walk.state
        assert walk.state.turn
        assert walk.state.turn.player == seat.player == view.player
        of_turn[walk.state.turn.number, seat.player] += 1
        assert len(actions) == len(set(actions)) > 0
        try:
            seat, actions = decisions.send(walk.chance.pick(actions))
        except StopIteration:
            break
    assert walk.state.status == "ended"
    assert max(of_turn.values()) <= MOST_ACTIONS
    assert max(number for number, _ in of_turn) <= MOST_TURNS


def test_each_offered_action_is_accepted_where_it_was_offered() -> None:
    """At decisions of two matches every single action that is offered is taken, in a match that came there the same
    way: none is refused.
    """
    tried = Counter[str]()
    for seed in range(2):
        for steps in range(0, 48, 3):
            width, at = 1, 0
            while at < width:
                width, kind = taken_after(seed, steps, at)
                tried[kind] += 1
                at += 1
    assert {"play", "open", "summon", "close", "attack", "end"} <= set(tried)


def taken_after(seed: int, steps: int, at: int) -> tuple[int, str]:
    """So many steps of a walk, then the action at this place: how many there are, and its kind."""
    walk = Walk(seed, ("rift", "blaze"))
    choosing, decisions = Chance(seed, 2, "choosing"), walk.table.decisions()
    _, actions = next(decisions)
    try:
        for _ in range(steps):
            _, actions = decisions.send(choosing.pick(actions))
    except StopIteration:
        return 0, "over"
    action = actions[at]
    with suppress(StopIteration):
        decisions.send(action)
    return len(actions), action.kind


def test_watching_and_recording_change_nothing() -> None:
    """A match is the same whether it is recorded, watched, both or neither."""
    run = Run(13, ("rift", "reap"), ("searching", "random"))
    told = list[int]()

    def watch(state: State, _: AnyCommand, __: tuple[AnyEvent, ...]) -> None:
        told.append(state.entries)

    for match in range(1, 9):
        plain = play_match(run, match)
        assert not plain.entries
        told.clear()
        recorded = play_match(run, match, record=True, watch=watch)
        assert told == list(range(len(recorded.entries)))
        assert recorded.tally == plain.tally == play_match(run, match, watch=watch).tally
        assert recorded.entries == play_match(run, match, record=True).entries
        assert recorded.tally
        assert recorded.tally.entries == len(recorded.entries)
