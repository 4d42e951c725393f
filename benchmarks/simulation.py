"""What simulated matches cost: beside other games with random play, into archives, and by jobs."""

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pyspiel
import rlcard
from pettingzoo.classic import connect_four_v3
from rlcard.agents import RandomAgent

from benchmarks.harness import Row, paired, rate
from benchmarks.stores import BUILD
from replays.files import written
from replays.lines import ARCHIVE
from simulation import runners
from simulation.batches import SIZE, batches, play_batch
from simulation.runs import Run, play_match

RANDOM = Run(1, policies=("random", "random"))
MATCHES = 100
SCALED = 20 * SIZE


def simulations() -> list[Row]:
    """Matches of random play: their speed beside others, into an archive, and with two jobs."""
    numbers = count(1)

    def whole_matches() -> int:
        played = [play_match(RANDOM, next(numbers)) for _ in range(MATCHES)]
        return sum(match.tally.entries for match in played if match.tally)

    ours, peer, ratio = paired(whole_matches, uno(), rounds=9)
    rows = [Row("commands of simulated matches, random play : rlcard uno", rate(ours), rate(peer), ratio, ">=", 2)]
    for name, other in (("PettingZoo connect four", _connect_four()), ("OpenSpiel gin rummy (C++)", _gin_rummy())):
        ours, peer, ratio = paired(whole_matches, other, rounds=5)
        what = f"commands of simulated matches : actions of {name}, told only"
        rows.append(Row(what, rate(ours), rate(peer), ratio, ">=", 0))
    return [*rows, _archive(), _scaling()]


def uno() -> Callable[[], int]:
    """Games of rlcard's uno, whose actions are counted."""
    env = rlcard.make("uno", config={"seed": 1})
    env.set_agents([RandomAgent(num_actions=env.num_actions) for _ in range(env.num_players)])

    def games() -> int:
        before = env.timestep
        for _ in range(100):
            env.run(is_training=False)
        return int(env.timestep - before)

    return games


def _connect_four() -> Callable[[], int]:
    env: Any = connect_four_v3.env()  # type: ignore[no-untyped-call]  # it has no types
    chance = Random(1)

    def games() -> int:
        actions = 0
        for _ in range(20):
            env.reset(seed=1)
            for _agent in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                legal = [number for number, is_legal in enumerate(observation["action_mask"]) if is_legal]
                env.step(None if terminated or truncated else chance.choice(legal))
                actions += 1
        return actions

    return games


def _gin_rummy() -> Callable[[], int]:
    game, chance = pyspiel.load_game("gin_rummy"), Random(1)

    def games() -> int:
        actions = 0
        for _ in range(20):
            state = game.new_initial_state()
            while not state.is_terminal():
                state.apply_action(chance.choice(state.legal_actions()))
                actions += 1
        return actions

    return games


def _archive() -> Row:
    """A match of random play into an archive, with all hashes, and counted only."""
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        path, run = Path(folder) / "run.soulrift.jsonl.zst", RANDOM

        def into_archive() -> int:
            with written(path, replace=True) as file:
                file.write(ARCHIVE + b"\n")
                for result in runners.local(play_batch, batches(run, SIZE, record=True, cover=False), 1):
                    file.write(result.lines)
            return SIZE

        def counted() -> int:
            return sum(
                len(each.tallies)
                for each in runners.local(play_batch, batches(run, SIZE, record=False, cover=False), 1)
            )

        ours, peer, ratio = paired(into_archive, counted, rounds=5)
    what = "simulated match, random play, into an archive : counted only"
    return Row(what, rate(ours), rate(peer), 1 / ratio, "<=", 3)


def _scaling() -> Row:
    """Two jobs against one, each in processes that are started for it."""

    def with_jobs(jobs: int) -> Callable[[], int]:
        def run() -> int:
            work = batches(RANDOM, SCALED, record=False, cover=False)
            return sum(len(each.tallies) for each in runners.processes(play_batch, work, jobs))

        return run

    two, one, ratio = paired(with_jobs(2), with_jobs(1), rounds=3)
    return Row("simulated matches with two jobs : with one", rate(two), rate(one), ratio, ">=", 1.5)
