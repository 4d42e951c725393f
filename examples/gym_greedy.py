"""An agent that burns as little as it can, then does as much as it can, against one that plays at random:
python examples/gym_greedy.py [MATCHES [SEED]].
"""

import sys
from collections import Counter
from random import Random
from typing import Any

import numpy as np

from simulation.action_numbers import EXTRA, MEANINGS, Meaning
from simulation.decks import pool
from simulation.gym import env
from simulation.observations import OFFERED, TABLE, parts

WORTH = {"summon": 9, "play": 5, "open": 3, "attack": 2, "close": 1, "end": 0, "concede": -100}
EXCESS = OFFERED.index("excess")
RANKS = [pool()[key].rank or 0 for key in EXTRA]


def greedy(seen: dict[str, Any]) -> int:
    """The number of the action that burns least and, of those, does most; the first of equals."""
    told = parts(seen["observation"])
    numbers = [int(number) for number in np.flatnonzero(seen["action_mask"])]
    return max(numbers, key=lambda number: (-burns(told, MEANINGS[number]), effect(MEANINGS[number])))


def burns(told: dict[str, Any], action: Meaning) -> int:
    """The power that an action burns: above its cost, and of ranks that nothing is there to use."""
    if action.kind == "open":
        usable = max(
            (rank for rank, held in zip(RANKS, told["extra"], strict=True) if held and rank <= action.rank), default=0
        )
        return int(told["payments"][action.rank - 1, action.payment - 1, EXCESS]) + action.rank - usable
    if action.kind == "close":
        return int(told["table"][TABLE.index("rift")] - told["table"][TABLE.index("rift_highest")])
    if action.card and action.payment:
        return int(told["payments"][pool()[action.card].soulrift - 1, action.payment - 1, EXCESS])
    return 0


def effect(action: Meaning) -> float:
    """How much an action does, roughly: what comes or happens, then the strength of the creature, or the rank."""
    strength = pool()[action.card].attack if action.card else action.rank
    return WORTH[action.kind] + strength / 100


def play(matches: int = 50, seed: int = 1) -> Counter[str]:
    """How many matches each won; those that nobody won are under "nobody". They change seats after each match."""
    won: Counter[str] = Counter()
    environment, chance = env(), Random(seed)
    for match in range(1, matches + 1):
        environment.reset(seed=seed, options={"match": match})
        greedy_one, winner = f"player_{match % 2 + 1}", "nobody"
        for agent in environment.agent_iter():
            seen, reward, terminated, truncated, _ = environment.last()
            if reward > 0:
                winner = "greedy" if agent == greedy_one else "random"
            if terminated or truncated:
                environment.step(None)
            elif agent == greedy_one:
                environment.step(greedy(seen))
            else:
                environment.step(chance.choice(np.flatnonzero(seen["action_mask"])))
        won[winner] += 1
    return won


if __name__ == "__main__":
    won = play(*map(int, sys.argv[1:]))
    for agent, count in sorted(won.items()):
        print(f"{agent} won {count} of {won.total()} matches, {count / won.total():.0%}")
