"""The gym: matches in which agents play, as a PettingZoo environment over the same table, rules and record.

It needs PettingZoo: `pip install 'soulrift[rl]'`. docs/gym.md tells what agents see and what their actions mean.
"""

from collections.abc import Mapping, Sequence
from typing import Any, SupportsInt

import msgspec
import numpy as np
from numpy.typing import NDArray

from domain.rules.ruleset import ChosenRuleset
from replays.writing import match_lines
from simulation.action_numbers import MEANINGS, MOST_SEATS
from simulation.chance import MOST_SEED
from simulation.decks import SHIPPED as DECKS
from simulation.gym_match import Match
from simulation.observations import bounds, observed
from simulation.runs import ANY, SIMULATOR
from simulation.scene import scene

try:
    from gymnasium import logger, spaces
    from pettingzoo import AECEnv
    from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper
except ImportError as error:
    message = "the gym needs PettingZoo: pip install 'soulrift[rl]'"
    raise ImportError(message) from error

Observation = dict[str, NDArray[Any]]
"""`observation`: float32, whole numbers, as `simulation.observations.LAYOUT` has them. `action_mask`: int8, of the
length of `simulation.action_numbers.MEANINGS`, 1 for what may be chosen now; all 0 for whoever is not asked.
"""

RENDER_MODES = ("ansi",)


def env(
    decks: Sequence[str] | None = None,
    seats: int | None = None,
    ruleset: Mapping[str, Any] | None = None,
    *,
    record: bool = False,
    render_mode: str | None = None,
) -> AECEnv[str, Observation, SupportsInt | None]:
    """The environment as it is meant to be used: one that asserts that actions are numbers in range and calls come in
    order. Arguments and errors are those of `raw_env`.
    """
    raw = raw_env(decks, seats, ruleset, record=record, render_mode=render_mode)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(raw))


class raw_env(AECEnv[str, Observation, SupportsInt | None]):  # noqa: N801 - the name that PettingZoo gives it
    """The environment: `player_1` to `player_4` play the seats `p1` to `p4` of a match.

    `decks` are those of the seats, 2 to 4, each one that comes along or "any"; without them `seats` (2) are drawn for
    each match. `ruleset` has fields of the rule book's ruleset. With `record`, `recording` tells each match.

    Raises:
        ValueError: there is no such deck, ruleset or mode, or the seats are fewer than 2, more than 4, or not as many
            as decks.

    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo reads it from the class, and declares it as of objects
        "name": f"soulrift_v{SIMULATOR}",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
    }

    def __init__(
        self,
        decks: Sequence[str] | None = None,
        seats: int | None = None,
        ruleset: Mapping[str, Any] | None = None,
        *,
        record: bool = False,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # of PettingZoo's, which does nothing
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"there is no render mode {render_mode}; there are None and {', '.join(RENDER_MODES)}")
        self.render_mode = render_mode
        self._decks = _decks(decks, seats)
        self._ruleset = _ruleset(ruleset)
        self._record = record
        self._seed, self._number = 0, 0
        self.possible_agents = [f"player_{place}" for place in range(1, len(self._decks) + 1)]
        self._places = {agent: place for place, agent in enumerate(self.possible_agents)}
        self.action_spaces = {agent: spaces.Discrete(len(MEANINGS)) for agent in self.possible_agents}
        self.observation_spaces = {agent: _observations() for agent in self.possible_agents}
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Space[Observation]:
        """What this agent may be shown: the same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The numbers of actions, 0 to `len(MEANINGS)` - 1: the same object at each call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a match: match 1 of this seed, or without a seed the next one of the last; that of `options["match"]`,
        if it is named. The first seed is 0. The same seed and number always deal the same match.

        Raises:
            ValueError: the seed is not from 0 to 2^64 - 1, or the number of the match is below 1.

        """
        if seed is not None:
            if not 0 <= seed <= MOST_SEED:
                raise ValueError(f"a seed is a whole number from 0 to {MOST_SEED}, not {seed}")
            self._seed, self._number = int(seed), 0
        number = int((options or {}).get("match", self._number + 1))
        if number < 1:
            raise ValueError(f"matches are numbered from 1: there is no match {number}")
        self._number = number
        self._begin()

    def _begin(self) -> None:
        self.match = Match(self._seed, self._number, self._decks, self._ruleset, record=self._record)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self._asked()

    def _asked(self) -> str:
        return self.possible_agents[self.match.places[self.match.seat.player]]

    def step(self, action: SupportsInt | None) -> None:
        """Take the action of `agent_selection`, by its number: null of one whose part is over.

        Raises:
            ValueError: it may not do that now, or its part is over and it does something; nothing has changed.

        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        number = self._legal(agent, action)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.match.choose(number)
        for other in self.agents:
            self._settle(other)
        self._accumulate_rewards()
        self.agent_selection = self._asked()
        self._deads_step_first()

    def _legal(self, agent: str, action: SupportsInt | None) -> int:
        number = -1 if action is None else int(action)
        if number in self.match.offered:
            return number
        meaning = f" ({MEANINGS[number]})" if 0 <= number < len(MEANINGS) else ""
        legal = ", ".join(map(str, sorted(self.match.offered)))
        raise ValueError(f"{agent} may not do {action}{meaning} now; its action_mask allows {legal}")

    def _settle(self, agent: str) -> None:
        """The part of a player ends by defeat or with the match. Only a draw for lack of time is no end of the game."""
        state, ended = self.match.state, self.match.ended
        player = state.players[self.match.seats[self._places[agent]].player]
        if not (ended or player.defeated):
            return
        drawn = ended and state.winner is None
        self.rewards[agent] = 1.0 if player.player == state.winner else -float(not drawn)
        self.truncations[agent] = drawn and not player.defeated
        self.terminations[agent] = not self.truncations[agent]
        self.infos[agent] = {"entries": state.entries}

    def observe(self, agent: str) -> Observation:
        """What this agent sees now; arrays of its own. Its mask allows nothing unless it is asked."""
        sight = self.match.sight(self._places[agent])
        mask = np.zeros(len(MEANINGS), np.int8)
        mask[list(sight.offered)] = 1
        return {"observation": observed(sight), "action_mask": mask}

    def render(self) -> str | None:
        """The table in a few lines, with the hand of the player who is asked; null without a mode."""
        if self.render_mode is None:
            logger.warn("there is nothing to render: make the environment with render_mode='ansi'")
            return None
        return scene(self.match)

    def recording(self) -> list[bytes]:
        """The lines of the match as far as it was played, as a replay file has them, without their newlines.

        Raises:
            ValueError: the environment was made without `record`, or there is no match yet.

        """
        if not self._record or not self._number:
            raise ValueError("nothing is recorded: make the environment with record=True, and reset it")
        return list(match_lines(self.match.name, self.match.entries))


def _observations() -> spaces.Space[Any]:
    least, greatest = bounds()
    mask = spaces.Box(0, 1, (len(MEANINGS),), np.int8)
    return spaces.Dict({"observation": spaces.Box(least, greatest, dtype=np.float32), "action_mask": mask})


def _decks(decks: Sequence[str] | None, seats: int | None) -> tuple[str, ...]:
    named = tuple(decks) if decks is not None else (ANY,) * (2 if seats is None else seats)
    if seats is not None and seats != len(named):
        raise ValueError(f"there are {seats} seats and {len(named)} decks")
    if not 2 <= len(named) <= MOST_SEATS:  # noqa: PLR2004 - it takes two
        raise ValueError(f"a match has 2 to {MOST_SEATS} seats, not {len(named)}")
    for deck in named:
        if deck not in (*DECKS, ANY):
            raise ValueError(f"there is no deck {deck}; there are {', '.join(DECKS)}, and {ANY}")
    return named


def _ruleset(fields: Mapping[str, Any] | None) -> ChosenRuleset | None:
    try:
        return msgspec.convert(dict(fields), ChosenRuleset) if fields else None
    except msgspec.ValidationError as error:
        raise ValueError(f"no match can be played with this ruleset: {error}") from None
