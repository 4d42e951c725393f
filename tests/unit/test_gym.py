"""The gym: PettingZoo's own tests, what actions mean, rewards, recordings, seeds."""

import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Generator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from replays.verify import verify
from simulation import gym_match
from simulation.action_numbers import MEANINGS, Meaning
from simulation.chance import Chance
from simulation.decks import pool
from simulation.gym import env
from simulation.observations import AIM, LAYOUT, OFFERED, PLAYERS, SIZE, TABLE
from simulation.policies import policy
from simulation.runs import Run, play_match
from simulation.seats import Seat
from simulation.table import Table
from simulation.views import Action
from tests.gyms import Walk, at_random, number_of, raw

ROOT = Path(__file__).parents[2]

A_DICT = pytest.mark.filterwarnings(
    # PettingZoo keeps a list of its own environments whose observations are dictionaries with a mask, as it wants them
    # where actions are masked, and warns of those of everybody else
    "ignore:Observation is not a NumPy array:UserWarning",
    "ignore:Observation space for each agent probably should be gymnasium.spaces.box:UserWarning",
)


@pytest.fixture(scope="module")
def tests_of_pettingzoo() -> Any:
    """PettingZoo's own tests. They load one of its environments in a way that it has deprecated itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The old environment creation API", DeprecationWarning)
        return import_module("pettingzoo.test")


# ------------------------------------------------------------ PettingZoo's own tests


@A_DICT
@pytest.mark.parametrize("seats", [2, 3, 4])
def test_environment_is_one_as_pettingzoo_tests_them(
    tests_of_pettingzoo: Any, seats: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """It passes PettingZoo's test of its interface, with any number of players."""
    tests_of_pettingzoo.api_test(env(seats=seats), num_cycles=300)
    assert "Passed API test" in capsys.readouterr().out


@pytest.mark.parametrize("seats", [2, 4])
def test_seeds_are_seeds_as_pettingzoo_tests_them(tests_of_pettingzoo: Any, seats: int) -> None:
    """It passes PettingZoo's test of two environments with one seed."""
    tests_of_pettingzoo.seed_test(lambda: env(seats=seats), num_cycles=200)


def test_rendering_is_text_as_pettingzoo_tests_it(tests_of_pettingzoo: Any) -> None:
    """It passes PettingZoo's test of rendering, which begins with a mode "human" that is not offered here."""
    tests_of_pettingzoo.render_test(
        lambda render_mode: env(render_mode=None if render_mode == "human" else render_mode)
    )


# ------------------------------------------------------------ actions


class Watched(Table):
    """A table that tells what it offered last, and what it was sent."""

    last: "Watched"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.offered: list[Action] = []
        self.sent: list[Action] = []
        Watched.last = self

    def decisions(self) -> Generator[tuple[Seat, list[Action]], Action, None]:
        """The same decisions."""
        decisions = super().decisions()
        seat, self.offered = next(decisions)
        while True:
            self.sent.append((yield seat, self.offered))
            try:
                seat, self.offered = decisions.send(self.sent[-1])
            except StopIteration:
                return


def meaning_of(action: Action, offered: list[Action], seats: list[str], player: str) -> Meaning:
    """What its number should mean, found in another way than the numbering does."""
    alike = [each for each in offered if (each.kind, each.card, each.rank) == (action.kind, action.card, action.rank)]
    payments = list(dict.fromkeys(each.payment for each in alike if each.payment))
    targets = list(dict.fromkeys(each.target for each in alike if each.target))
    seat = 0
    if action.kind == "attack":
        seat = (seats.index(str(action.target)) - seats.index(player)) % len(seats)
    return Meaning(
        action.kind,
        action.card,
        action.rank or 0,
        payments.index(action.payment) + 1 if action.payment else 0,
        targets.index(action.target) + 1 if action.target and not seat else 0,
        seat,
    )


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_mask_allows_what_the_table_offers_and_nothing_else(seats: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every step of random matches, the numbers allowed are those that mean the actions offered; each does it."""
    monkeypatch.setattr(gym_match, "Table", Watched)
    environment, chance = env(seats=seats), Random(seats)
    allowed: set[int] = set()

    def choose(agent: str, seen: dict[str, Any]) -> int:
        table = Watched.last
        numbers = np.flatnonzero(seen["action_mask"]).tolist()
        names = [f"p{place}" for place in range(1, seats + 1)]
        player = agent.replace("player_", "p")
        meant = {number_of(meaning_of(each, table.offered, names, player)): each for each in table.offered}
        assert sorted(meant) == numbers
        assert len(meant) == len(table.offered)
        if expected:
            assert table.sent[-1] == expected[-1]
        allowed.update(numbers)
        number = chance.choice(numbers)
        expected.append(meant[number])
        return number

    environment.reset(seed=4)
    for _ in range(30):
        expected: list[Action] = []
        Walk(environment, choose)
        assert Watched.last.sent == expected
        environment.reset()
    assert {MEANINGS[number].kind for number in allowed} == {meaning.kind for meaning in MEANINGS}
    assert len(allowed) > len(MEANINGS) // 2


def test_no_two_numbers_mean_the_same() -> None:
    """Each number has a meaning of its own, and its text tells which."""
    assert len({str(meaning) for meaning in MEANINGS}) == len(MEANINGS)


def test_action_that_is_not_allowed_is_refused_and_changes_nothing() -> None:
    """Who chooses what the mask does not allow is told so, and may choose again: the match is as it was."""
    environment = env(record=True)
    environment.reset(seed=1)
    agent, before = environment.agent_selection, environment.last()[0]
    entries = raw(environment).recording()
    assert before is not None
    close = number_of(Meaning("close"))
    with pytest.raises(ValueError, match=rf"^{agent} may not do {close} \(close\) now; its action_mask allows 0, "):
        environment.step(close)
    with pytest.raises(ValueError, match=rf"^{agent} may not do None now"):
        raw(environment).step(None)
    with pytest.raises(AssertionError, match="action is not in action space"):
        environment.step(len(MEANINGS))
    after = environment.last()[0]
    assert after is not None
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert raw(environment).recording() == entries
    environment.step(0)
    assert len(raw(environment).recording()) > len(entries)


def test_whose_part_is_over_does_nothing() -> None:
    """At the end each agent steps once more, with null and nothing else; then there are none."""
    environment = env(ruleset={"starting_life": 5})
    environment.reset(seed=1)
    environment.step(number_of(Meaning("concede")))
    with pytest.raises(ValueError, match="the only valid action is None"):
        raw(environment).step(0)
    environment.step(None)
    environment.step(None)
    assert environment.agents == []


@pytest.mark.parametrize("name", ["random", "greedy", "hoarder"])
def test_gym_deals_and_plays_as_a_run_does(name: str) -> None:
    """Match N of a seed, played by the policies of a run, takes the same commands as match N of that run."""
    environment = env(seats=3, record=True)
    for number in (1, 2, 3):
        environment.reset(seed=11, options={"match": number})
        match = raw(environment).match
        players = {seat.player: policy(name)(Chance(11, number, f"policy of {seat.player}")) for seat in match.seats}

        def choose(
            agent: str, _: dict[str, Any], match: gym_match.Match = match, players: dict[str, Any] = players
        ) -> int:
            assert agent == match.seat.player.replace("p", "player_")
            chosen = players[match.seat.player].choose(match.table.view(match.seat), list(match.offered.values()))
            return next(number for number, action in match.offered.items() if action == chosen)

        Walk(environment, choose)
        run = play_match(Run(11, ("any",) * 3, (name,) * 3), number, record=True)
        assert [each.command_json for each in match.entries[1:]] == [each.command_json for each in run.entries[1:]]


# ------------------------------------------------------------ rewards and ends


CONCEDE = number_of(Meaning("concede"))
END = number_of(Meaning("end"))


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_winner_gets_one_and_others_lose_one(seats: int) -> None:
    """A match that is won gives +1 to the winner and -1 to each other one; all are terminated, none is truncated."""
    environment = env(seats=seats)
    environment.reset(seed=21)
    walk = Walk(environment, at_random(2))
    winner = raw(environment).match.state.winner
    assert winner is not None
    won = winner.replace("p", "player_")
    assert walk.rewards == {agent: 1 if agent == won else -1 for agent in raw(environment).possible_agents}
    assert set(walk.ends.values()) == {(True, False)}


def test_match_without_a_winner_in_time_is_truncated() -> None:
    """After the last turn that the table allows nobody gets anything, and nobody is terminated."""
    environment = env(ruleset={"starting_life": 1_000_000})
    environment.reset(seed=1)
    walk = Walk(environment, lambda *_: END)
    assert (walk.rewards, walk.ends) == (
        {"player_1": 0, "player_2": 0},
        dict.fromkeys(("player_1", "player_2"), (False, True)),
    )


@pytest.mark.parametrize("decks", [("rift", "blaze"), ("rift", "blaze", "rift")])
def test_players_who_fall_together_draw(decks: tuple[str, ...]) -> None:
    """Where the last ones fall at once (L-4), each is terminated and gets nothing."""
    wanted = [number for number, meaning in enumerate(MEANINGS) if meaning.card in {"twin-pyre", "lantern-keeper"}]
    environment = env(decks=decks, ruleset={"starting_life": 5})

    def choose(_: str, seen: dict[str, Any]) -> int:
        return next((number for number in wanted if seen["action_mask"][number]), END)

    for match in range(1, 20):
        environment.reset(seed=1, options={"match": match})
        walk = Walk(environment, choose)
        if set(walk.ends.values()) == {(True, False)}:
            break
    assert raw(environment).match.state.winner is None
    assert walk.rewards == dict.fromkeys(raw(environment).possible_agents, 0)
    assert set(walk.ends.values()) == {(True, False)}


@pytest.mark.parametrize("seats", [3, 4])
def test_who_falls_early_steps_once_more_and_is_gone(seats: int) -> None:
    """A defeated agent gets -1 in the very next step, is no agent any more, and the others play on, to the last."""
    environment = env(seats=seats, ruleset={"starting_life": 5})
    environment.reset(seed=1)
    fallen: list[str] = []

    def concede(agent: str, _: dict[str, Any]) -> int:
        assert environment.agents == [each for each in raw(environment).possible_agents if each not in fallen]
        fallen.append(agent)
        return CONCEDE

    walk = Walk(environment, concede)
    early = fallen[:-1]
    assert walk.order[: 2 * len(early) + 1] == [*(agent for agent in early for _ in range(2)), fallen[-1]]
    (winner,) = set(raw(environment).possible_agents) - set(fallen)
    assert walk.rewards == {**dict.fromkeys(fallen, -1), winner: 1}
    assert set(walk.ends.values()) == {(True, False)}
    assert environment.agents == []


def test_early_defeat_stays_one_when_the_others_draw() -> None:
    """Who fell before a draw has lost; only those who were left share it."""
    environment = env(seats=3, ruleset={"starting_life": 6})
    environment.reset(seed=1)
    walk = Walk(environment, lambda *_: END if len(environment.agents) < 3 else CONCEDE)
    fell = walk.order[0]
    assert walk.rewards == {agent: -float(agent == fell) for agent in raw(environment).possible_agents}
    assert walk.ends == {agent: (agent == fell, agent != fell) for agent in raw(environment).possible_agents}
    assert walk.infos[fell]["entries"] < raw(environment).match.state.entries


# ------------------------------------------------------------ recordings and seeds


@pytest.mark.parametrize("seats", [2, 4])
def test_recording_re_executes(seats: int) -> None:
    """What agents played verifies as exact, finished or not, under the name that tells seed and match."""
    environment = env(seats=seats, ruleset={"soulburn_per_power": 2}, record=True)
    environment.reset(seed=12)
    environment.step(END)
    lines = [raw(environment).recording()]
    environment.reset()
    Walk(environment, at_random(3))
    lines.append(raw(environment).recording())
    for number, match in enumerate(lines, 1):
        found = list(verify(BytesIO(b"".join(line + b"\n" for line in match))))
        assert [(each.match, each.verdict) for each in found] == [(f"gym-12-{number}", "exact")]
    assert b'"status":"ended"' in lines[1][-1]


def test_recording_is_made_only_where_it_was_asked_for() -> None:
    """Without `record`, or before a match, there is no recording, and it is said why."""
    environment = env()
    environment.reset(seed=1)
    for without in (environment, env(record=True)):
        with pytest.raises(ValueError, match="make the environment with record=True, and reset it"):
            raw(without).recording()


def test_matches_go_on_by_number_and_can_be_played_again() -> None:
    """Resets without a seed go on to the next match; seed and number deal the same one again; the first seed is 0."""
    environment = env()

    def dealt(**how: Any) -> tuple[str, list[list[str]]]:
        environment.reset(**how)
        match = raw(environment).match
        return match.name, [[*seat.hand, *seat.library] for seat in match.seats]

    first, second, third = dealt(seed=5), dealt(), dealt()
    names = [name for name, _ in (first, second, third)]
    assert names == ["gym-5-1", "gym-5-2", "gym-5-3"]
    assert first[1] != second[1] != third[1]
    assert dealt(seed=5) == first
    assert dealt(options={"match": 3}) == third
    assert dealt()[0] == "gym-5-4"
    assert dealt(seed=6)[1] != first[1]
    environment = env()
    assert dealt()[0] == "gym-0-1"
    assert dealt(seed=2**64 - 1)[0] == f"gym-{2**64 - 1}-1"


PLAY = """
from hashlib import sha256
from random import Random
import numpy as np
from simulation.gym import env

digest, chance, steps = sha256(), Random(3), 0
for seats in (2, 3, 4):
    environment = env(seats=seats, record=True)
    environment.reset(seed=77)
    for _ in range(4):
        for agent in environment.agent_iter():
            seen, reward, terminated, truncated, info = environment.last()
            digest.update(seen["observation"].tobytes() + seen["action_mask"].tobytes())
            digest.update(repr((agent, float(reward), terminated, truncated, info)).encode())
            steps += 1
            legal = np.flatnonzero(seen["action_mask"])
            environment.step(None if terminated or truncated else chance.choice(legal))
        digest.update(b"".join(environment.unwrapped.recording()))
        environment.reset()
print(hash("soul"), steps, digest.hexdigest())
"""
"""Plays, and prints a word's hash, how many steps there were, and a digest of all that agents saw and was recorded."""


def test_same_seed_is_the_same_in_every_process() -> None:
    """Two processes with other hash seeds show the same observations, rewards and recordings, byte for byte."""
    printed = []
    for seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PLAY]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
        printed.append(done.stdout.split())
    (word, *first), (other_word, *second) = printed
    assert word != other_word
    assert first == second
    assert int(first[0]) > 500


# ------------------------------------------------------------ what is asked for wrongly


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"decks": ("rift", "mine.toml")}, "there is no deck mine.toml; there are rift, reap, blaze, and any"),
        ({"decks": ("rift",)}, "a match has 2 to 4 seats, not 1"),
        ({"seats": 5}, "a match has 2 to 4 seats, not 5"),
        ({"seats": 3, "decks": ("rift", "reap")}, "there are 3 seats and 2 decks"),
        ({"ruleset": {"starting_life": 0}}, r"no match can be played with this ruleset: .*starting_life"),
        ({"ruleset": {"luck": 7}}, r"no match can be played with this ruleset: .*luck"),
        ({"render_mode": "human"}, "there is no render mode human; there are None and ansi"),
    ],
)
def test_environment_that_cannot_be_is_refused(wrong: dict[str, Any], told: str) -> None:
    """Each argument that makes no sense is named, with what would."""
    with pytest.raises(ValueError, match=told):
        env(**wrong)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"seed": -1}, "a seed is a whole number from 0 to 18446744073709551615, not -1"),
        ({"seed": 2**64}, "a seed is a whole number from 0"),
        ({"options": {"match": 0}}, "matches are numbered from 1: there is no match 0"),
    ],
)
def test_match_that_cannot_be_is_refused(wrong: dict[str, Any], told: str) -> None:
    """A seed out of range and a number below 1 are refused, and the match before goes on."""
    environment = env()
    environment.reset(seed=4)
    with pytest.raises(ValueError, match=told):
        environment.reset(**wrong)
    assert raw(environment).match.name == "gym-4-1"
    environment.reset()
    assert raw(environment).match.name == "gym-4-2"


def test_without_pettingzoo_it_is_said_what_to_install() -> None:
    """Where PettingZoo is missing, importing the gym says how to get it; the rest of the simulator needs none."""
    code = """
import sys
sys.modules["pettingzoo"] = None
import simulation.runs, simulation.observations
try:
    import simulation.gym
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "the gym needs PettingZoo: pip install 'soulrift[rl]'\n"


# ------------------------------------------------------------ rendering


def test_rendering_shows_the_table_and_only_the_hand_of_who_acts() -> None:
    """Each player's life, cards and numbers of cards, the Aether, and by name the hand of the one who is to act."""
    environment = env(decks=("rift", "blaze"), render_mode="ansi")
    environment.reset(seed=3)
    walk = Walk(environment, lambda *_: 0)
    assert walk.numbers
    environment.reset(seed=3)
    match = raw(environment).match
    hand = Counter(pool()[key].name for key in match.seat.hand)
    shown = environment.render()
    assert isinstance(shown, str)
    lines = shown.split("\n")
    assert lines[0] == f"turn 1, of {match.seat.player}"
    assert re.fullmatch(r"  p1: 30 life, [45] in hand, \d+ in the library", lines[1])
    assert lines[-2] == "Aether: empty"
    assert lines[-1].startswith(f"{match.seat.player} is to act, and holds ")
    assert all(name in lines[-1] for name in hand)


def test_rendering_without_a_mode_warns() -> None:
    """Without a mode nothing is rendered, and a warning says what to do."""
    environment = env()
    environment.reset(seed=1)
    with pytest.warns(UserWarning, match="make the environment with render_mode='ansi'"):
        assert environment.render() is None


# ------------------------------------------------------------ what is written about it


def told(name: str) -> list[list[str]]:
    """The rows of the table in docs/gym.md under this heading, cell by cell."""
    chapter = (ROOT / "docs" / "gym.md").read_text().split(f"## {name}\n")[1].split("\n## ")[0]
    rows = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in chapter.splitlines() if row[:1] == "|"]
    return [row for row in rows if not row[0].startswith("---")]


def test_documentation_has_every_number_of_an_action() -> None:
    """The tables of docs/gym.md give the first number of each action, and how many payments and targets it has."""
    written = {
        (kind, card): (int(first), int(last))
        for kind, card, first, last in ([*row[:2], *row[2:4]] for row in told("Actions")[1:])
    }
    meant: dict[tuple[str, str], tuple[int, int]] = {}
    for number, meaning in enumerate(MEANINGS):
        what = (meaning.kind, meaning.card or (f"rank {meaning.rank}" if meaning.rank else ""))
        meant[what] = (meant.get(what, (number, 0))[0], number)
    assert written == meant


def test_documentation_has_every_place_of_an_observation() -> None:
    """The tables of docs/gym.md give each part of the vector with its places and shape, and each named figure."""
    rows = {row[0]: (row[1], row[2]) for row in told("Observations")[1:] if len(row) == 4}
    assert rows == {
        name: (f"{part.start} to {part.end - 1}", " x ".join(map(str, part.shape))) for name, part in LAYOUT.items()
    }
    named = [row[0] for row in told("Observations")]
    for figure in (*TABLE, *PLAYERS, *OFFERED, *AIM):
        assert figure in named, figure
    text = (ROOT / "docs" / "gym.md").read_text()
    assert f"`Discrete({len(MEANINGS)})`" in text
    assert f"`({SIZE},)`" in text


@pytest.mark.parametrize(
    ("example", "names"), [("gym_random.py", {"player_1", "player_2"}), ("gym_greedy.py", {"greedy", "random"})]
)
def test_examples_print_who_won_how_often(example: str, names: set[str]) -> None:
    """Each example runs by itself, tells how many matches each won, and tells the same again for the same seed."""
    command = [sys.executable, str(ROOT / "examples" / example), "8", "3"]
    first, again = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert first == again
    won = {name: int(count) for name, count in re.findall(r"^(\w+) won (\d) of 8 matches, \d+%$", first, re.MULTILINE)}
    assert set(won) - {"nobody"} <= names
    assert sum(won.values()) == 8
    assert len(first.splitlines()) == len(won)
