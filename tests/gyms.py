"""Matches in the gym, walked through to their ends."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, cast

import numpy as np

from simulation.action_numbers import MEANINGS, Meaning
from simulation.gym import raw_env

Chooses = Callable[[str, dict[str, Any]], int]
"""What number an agent chooses, by its name and observation."""


class Walk:
    """A match that is played to its end: what each agent got in all, and how its part ended."""

    def __init__(self, environment: Any, choose: Chooses) -> None:
        self.rewards: Counter[str] = Counter()
        self.ends: dict[str, tuple[bool, bool]] = {}
        self.infos: dict[str, dict[str, Any]] = {}
        self.order: list[str] = []
        self.numbers: list[int] = []
        for agent in environment.agent_iter():
            seen, reward, terminated, truncated, info = environment.last()
            self.order.append(agent)
            self.rewards[agent] += reward
            if terminated or truncated:
                self.ends[agent], self.infos[agent] = (terminated, truncated), info
                environment.step(None)
            else:
                self.numbers.append(choose(agent, seen))
                environment.step(self.numbers[-1])


def at_random(seed: int) -> Chooses:
    chance = Random(seed)
    return lambda _, seen: int(chance.choice(np.flatnonzero(seen["action_mask"])))


def raw(environment: Any) -> raw_env:
    return cast("raw_env", environment.unwrapped)


def number_of(meaning: Meaning) -> int:
    return MEANINGS.index(meaning)
