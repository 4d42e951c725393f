"""Two agents that play at random: python examples/gym_random.py [MATCHES [SEED]]."""

import sys
from collections import Counter
from random import Random

import numpy as np

from simulation.gym import env


def play(matches: int = 50, seed: int = 1) -> Counter[str]:
    """How many matches each agent won; those that nobody won are under "nobody"."""
    won: Counter[str] = Counter()
    environment, chance = env(), Random(seed)
    for match in range(1, matches + 1):
        environment.reset(seed=seed, options={"match": match})
        winner = "nobody"
        for agent in environment.agent_iter():
            seen, reward, terminated, truncated, _ = environment.last()
            if reward > 0:
                winner = agent
            legal = np.flatnonzero(seen["action_mask"])
            environment.step(None if terminated or truncated else chance.choice(legal))
        won[winner] += 1
    return won


if __name__ == "__main__":
    won = play(*map(int, sys.argv[1:]))
    for agent, count in sorted(won.items()):
        print(f"{agent} won {count} of {won.total()} matches, {count / won.total():.0%}")
