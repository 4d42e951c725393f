"""What agents see in the gym: all that a player sees, and nothing that is hidden."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

from simulation import gym_match
from simulation.action_numbers import AIMED, EXTRA, MAIN, MEANINGS
from simulation.decks import pool
from simulation.gym import env
from simulation.observations import CARDS, PLAYERS, TABLE, parts
from tests.gyms import Walk, at_random, raw


def figures(names: tuple[str, ...], values: Any) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


@pytest.mark.parametrize("seats", [2, 4])
def test_observation_tells_what_the_player_sees(seats: int) -> None:
    """At every step it agrees with the view that policies get, figure by figure."""
    environment = env(seats=seats)
    environment.reset(seed=8)
    match = raw(environment).match
    strength = {key: card.attack for key, card in pool().items()}
    taken: Counter[int] = Counter()

    def choose(agent: str, seen: dict[str, Any]) -> int:
        told, view = parts(seen["observation"]), match.table.view(match.seat)
        state, own = view.table, view.player
        assert own == agent.replace("player_", "p")
        assert state.turn is not None
        table = figures(TABLE, told["table"])
        assert (table["turn"], table["own_turn"]) == (state.turn.number, 1)
        assert table["event_unused"] == (state.turn.event is None)
        assert (table["rift"], table["rift_highest"]) == (
            (state.rift.rank, state.rift.highest) if state.rift else (0, 0)
        )
        assert table["free_cards"] == match.seat.free_cards
        taken[state.turn.number] += 1
        assert table["actions_left"] == 13 - taken[state.turn.number]
        assert told["aether"].tolist() == [
            sum(soul.rank == rank for soul in state.aether.values()) for rank in range(4)
        ]
        assert dict(zip(MAIN, told["hand"], strict=True)) == {key: view.hand.count(key) for key in MAIN}
        assert dict(zip(EXTRA, told["extra"], strict=True)) == {key: view.extra.count(key) for key in EXTRA}
        names = list(state.players)
        for after in range(4):
            player = figures(PLAYERS, told["players"][after])
            if after >= seats:
                assert not any(told[part][after].any() for part in ("players", "souls", "ranks", "board"))
                continue
            name = names[(names.index(own) + after) % seats]
            cards = [card for card in state.battlefield.values() if card.controller == name]
            definitions = [state.descriptions[card.card].definition for card in cards]
            creatures = [card for card in cards if card.kind == "creature"]
            assert (player["seated"], player["on_turn"]) == (1, name == own)
            assert player["life"] == state.players[name].life
            assert player["defeated"] == state.players[name].defeated
            assert (player["hand"], player["library"]) == (view.hands[name], view.libraries[name])
            owed = sum(payment.amount for payment in state.payments.values() if payment.player == name)
            assert (player["unsettled"], player["creatures"]) == (owed, len(creatures))
            assert player["strength"] == sum(
                strength[str(state.descriptions[card.card].definition)] for card in creatures
            )
            assert player["sealed"] == sum(card.sealed for card in creatures)
            assert player["soulless"] == sum(card.soulless for card in creatures)
            assert told["board"][after].tolist() == [definitions.count(key) for key in CARDS]
            souls = [soul.rank for card in cards for soul in card.souls]
            assert told["souls"][after].tolist() == [souls.count(rank) for rank in range(4)]
            ranks = [card.rank or 0 for card in creatures]
            assert told["ranks"][after].tolist() == [ranks.count(rank) for rank in range(4)]
        attacks = any(MEANINGS[number].kind == "attack" for number in match.offered)
        assert (figures(PLAYERS, told["players"][0])["ready"] > 0) == attacks or state.rift is not None
        return at_random(state.entries)(agent, seen)

    Walk(environment, choose)


def test_observation_tells_what_payments_take_and_what_targets_are() -> None:
    """For each action offered, its payment and its target are told in the places of its number, and no others are."""
    environment = env(seats=3)
    seen_targets = 0

    def choose(agent: str, seen: dict[str, Any]) -> int:
        nonlocal seen_targets
        told, match = parts(seen["observation"]), raw(environment).match
        payments, targets = np.zeros_like(told["payments"]), np.zeros_like(told["targets"])
        names = list(match.state.players)
        for number, action in match.offered.items():
            meaning, payment = MEANINGS[number], action.payment
            if payment:
                cost = action.rank or pool()[str(action.card)].soulrift
                payments[cost - 1, meaning.payment - 1] = (1, payment.excess, len(payment.souls), payment.reaped)
            if meaning.target:
                card = match.state.battlefield[str(action.target)]
                key = str(match.state.descriptions[card.card].definition)
                souls = sum(soul.rank + 1 for soul in card.souls)
                seat = (names.index(card.controller) - names.index(match.seat.player)) % 3
                figures = (
                    *(CARDS.index(key) + 1, pool()[key].attack, card.rank or 0, card.sealed, card.soulless),
                    *(souls, seat),
                )
                targets[AIMED.index(str(action.card)), meaning.target - 1] = figures
                seen_targets += 1
        assert np.array_equal(told["payments"], payments)
        assert np.array_equal(told["targets"], targets)
        return at_random(match.state.entries)(agent, seen)

    environment.reset(seed=2)
    for _ in range(5):
        Walk(environment, choose)
        environment.reset()
    assert seen_targets > 20


def hide_otherwise(match: gym_match.Match, place: int, chance: Random) -> None:
    """Change all that the player at this place cannot know: what others hold, every library, what all is called."""
    for other, seat in enumerate(match.seats):
        seat.library[:] = [chance.choice(MAIN) for _ in seat.library]
        if other != place:
            seat.hand[:] = [chance.choice(MAIN) for _ in seat.hand]
            seat.extra[:] = [chance.choice(EXTRA) for _ in range(chance.randrange(9))]
    match.name = match.state.match = f"gym-{chance.random()}-1"
    match.state.names = {player: f"somebody {chance.random()}" for player in match.state.names}


def as_bytes(seen: Any) -> dict[str, bytes]:
    return {name: figures.tobytes() for name, figures in seen.items()}


@pytest.mark.parametrize("seats", [2, 4])
def test_two_matches_that_differ_in_hidden_things_look_the_same(seats: int) -> None:
    """Through a whole turn, whatever a player does, all that it is shown has the same bytes in a twin of the match in
    which others hold other cards, every library is another one, and match and players are called otherwise.
    """
    environment, twin = env(seats=seats), env(seats=seats)
    environment.reset(seed=6)
    match, taken, turns = raw(environment).match, list[int](), list[int]()

    def choose(agent: str, seen: dict[str, Any]) -> int:
        assert match.state.turn is not None
        if turns[-1:] != [match.state.turn.number]:
            turns.append(match.state.turn.number)
            twin.reset(seed=6)
            for number in taken:
                step(twin, number)
            hide_otherwise(raw(twin).match, match.places[match.seat.player], Random(len(taken)))
        assert as_bytes(twin.observe(agent)) == as_bytes(seen)
        taken.append(at_random(len(taken))(agent, seen))
        step(twin, taken[-1])
        return taken[-1]

    Walk(environment, choose)
    assert len(turns) > 5


def step(environment: Any, number: int) -> None:
    """A step, and those of the agents whose part ends by it."""
    environment.step(number)
    while environment.agents and (
        environment.terminations[environment.agent_selection] or environment.truncations[environment.agent_selection]
    ):
        environment.step(None)


@pytest.mark.parametrize("seats", [2, 4])
def test_onlookers_see_no_more_than_players(seats: int) -> None:
    """Nor does an agent that is not asked see anything hidden, at any step; its mask allows nothing."""
    environment = env(seats=seats)
    environment.reset(seed=9)
    match = raw(environment).match

    def choose(agent: str, seen: dict[str, Any]) -> int:
        for place, other in enumerate(raw(environment).possible_agents):
            kept = [(seat.hand[:], seat.extra[:], seat.library[:]) for seat in match.seats]
            shown = raw(environment).observe(other)
            hide_otherwise(match, place, Random(place))
            assert as_bytes(raw(environment).observe(other)) == as_bytes(shown)
            assert shown["action_mask"].any() == (other == agent)
            for seat, (hand, extra, library) in zip(match.seats, kept, strict=True):
                seat.hand[:], seat.extra[:], seat.library[:] = hand, extra, library
        return at_random(match.state.entries)(agent, seen)

    Walk(environment, choose)


def test_observations_are_the_callers_own() -> None:
    """What is done to an observation changes neither the match nor another observation."""
    environment = env()
    environment.reset(seed=1)
    first, second = raw(environment).observe("player_1"), raw(environment).observe("player_1")
    first["observation"][:] = -1
    first["action_mask"][:] = 1
    assert as_bytes(second) == as_bytes(raw(environment).observe("player_1"))
    assert raw(environment).observation_space("player_1").contains(second)


def test_infos_tell_nothing_until_the_part_is_over() -> None:
    """While an agent plays, its info is empty; in the end it has the number of entries."""
    environment = env(seats=4, record=True)
    environment.reset(seed=3)

    def choose(agent: str, seen: dict[str, Any]) -> int:
        assert not any(environment.infos.values())
        return at_random(len(agent))(agent, seen)

    walk = Walk(environment, choose)
    assert [set(info) for info in walk.infos.values()] == [{"entries"}] * 4
    assert max(info["entries"] for info in walk.infos.values()) == raw(environment).match.state.entries
