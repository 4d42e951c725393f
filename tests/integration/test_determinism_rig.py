"""The same commands lead to the same bytes, in whatever process, from whatever copy, in whatever order of a dictionary.

SOULRIFT_WALKS=2000 takes so many random walks; 5001-6000 those with these seeds. A walk that fails is kept, as a
script of its own, in tests/golden/seeds, and played again by every run from then on.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest

from domain import Entry, Refusal, State, state_hash
from domain.application import Matches
from domain.check import Check
from domain.match import snapshot_state
from domain.sqlite import sqlite_settings
from replays.files import opened
from replays.reading import Reader
from tests.determinism import (
    SEEDS,
    NotTheSameError,
    answer,
    as_line,
    compare,
    keep,
    reordered,
    restored,
    scripts,
    steps,
    walk,
)
from tests.golden.make_corpus import EXAMPLES, corpus
from tests.kit import of

ROOT = Path(__file__).parents[2]
CORPUS = corpus(1)
KEPT = sorted(SEEDS.glob("*.jsonl"))

HASH_SEEDS = ("0", "1", "2", "4242", "random")

FEW_WALKS = 24
_FIRST, _, _LAST = os.environ.get("SOULRIFT_WALKS", str(FEW_WALKS)).rpartition("-")
WALKS = range(int(_FIRST or 1), int(_LAST) + 1)

EACH = 8
"""After one command in so many of the corpus all is asked that can be asked; after each one of a walk."""


def process(*arguments: str, hash_seed: str = "random") -> str:
    """What this part of `tests.determinism` prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.determinism", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def recorded() -> list[list[bytes]]:
    """The lines of each match of the corpus, as they stand there."""
    with opened(CORPUS) as file:
        return [[found.content for found in recording.lines()] for recording in Reader(file).recordings()]


def straight(script: Sequence[str]) -> list[Entry]:
    """The entries of a script, played past its refusals."""
    state = State()
    return [outcome for line in script if isinstance(outcome := answer(state, line), Entry)]


# ------------------------------------------------------------ the rig


class Rig:
    """Plays scripts in all ways, and keeps those that come out otherwise in one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def walk(self, seed: int) -> list[Entry]:
        """The entries of the walk of this seed."""
        script: list[str] = []
        name, what = f"seed-{seed}", f"the random walk of seed {seed}"
        try:
            for line in steps(seed):
                script.append(line)  # noqa: PERF402 - what there is when it breaks off is kept
        except Exception as error:  # noqa: BLE001 - whatever it is, it is to be seen again
            self._fail(script, name, what, error)
        return self.play(script, name, what, seed)

    def play(self, script: Sequence[str], name: str, what: str, seed: int = 0) -> list[Entry]:
        """The entries of a script."""
        try:
            return compare(script, seed)
        except Exception as error:  # noqa: BLE001 - the same
            step = error.step if isinstance(error, NotTheSameError) else len(script)
            self._fail(script[:step], name, what, error)

    def _fail(self, script: Sequence[str], name: str, what: str, error: Exception) -> NoReturn:
        path = keep(self.folder, name, script, what)
        told = f"{what} is not the same in every way; it is kept as {path}\n\n{type(error).__name__}: {error}"
        pytest.fail(told, pytrace=False)


@pytest.fixture
def rig() -> Rig:
    """The rig, which keeps what fails among the golden files."""
    return Rig(SEEDS)


@pytest.mark.parametrize("seed", WALKS)
def test_random_walks(rig: Rig, seed: int) -> None:
    """A random match is the same straight, saved and restored, on copies, in other orders, and from its record."""
    assert rig.walk(seed)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_walks_that_were_kept(path: Path) -> None:
    """What once failed, or was worth keeping, is played in all ways again, in the orders of its seed."""
    for script in scripts(path):
        assert compare(script, int(path.stem.removeprefix("seed-")))


@pytest.mark.parametrize("part", range(8))
def test_corpus_is_the_same_in_every_way(part: int) -> None:
    """Each match of the golden corpus has its lines straight, saved and restored, on copies, and in other orders."""
    for number, (script, lines) in enumerate(zip(scripts(CORPUS), recorded(), strict=True)):
        if number % 8 == part:
            assert [entry.line for entry in compare(script, number, EACH)] == lines


# ------------------------------------------------------------ processes


def test_five_hash_seeds_lead_to_the_recorded_bytes() -> None:
    """The corpus and the kept walks, refusals and answers too, are the same under five hash seeds, and as recorded."""
    printed = [process("digest", str(CORPUS), *map(str, KEPT), hash_seed=seed).splitlines() for seed in HASH_SEEDS]
    assert len({word for word, *_ in printed}) > 1, "the seeds do differ"
    assert len({tuple(digests) for _, *digests in printed}) == 1
    matches = recorded()
    expected = sha256(b"".join(line + b"\n" for line in chain.from_iterable(matches))).hexdigest()
    assert printed[0][1].split()[:3] == [str(len(matches)), str(sum(map(len, matches))), expected]
    assert len(printed[0]) == 2 + len(KEPT)


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Scripts to play in halves: the longest example, walks with their refusals, a part of the corpus."""
    folder = tmp_path_factory.mktemp("scripts")
    (long_duel,) = scripts(EXAMPLES / "long-duel.jsonl")
    chosen = [long_duel, *map(walk, range(1, 9)), *list(scripts(CORPUS))[11::16]]
    return [keep(folder, f"{number}", script, "to be played in halves") for number, script in enumerate(chosen)]


def test_two_processes_play_a_half_each(some: list[Path], tmp_path: Path) -> None:
    """A match that one process begins in a store and another one ends has the lines of straight play."""
    store = tmp_path / "halves.db"
    process("store", str(store), "first", *map(str, some), hash_seed="1")
    halfway = _entries(store)
    process("store", str(store), "second", *map(str, some), hash_seed="2")
    found = _entries(store)
    played = [straight(script) for path in some for script in scripts(path)]
    assert len(found) == len(played) == len(some)
    for (match, lines), entries in zip(found.items(), played, strict=True):
        assert lines == [entry.line for entry in entries]
        assert lines[: len(halfway[match])] == halfway[match]
    assert sum(map(len, halfway.values())) < sum(map(len, found.values())) * 2 / 3
    with Matches(sqlite_settings(str(store), create=False, read_only=True)) as matches:
        check = Check(matches.recorder)
        assert list(check.faults()) == []
        assert check.snapshots > len(found)
        for (match, _), entries in zip(found.items(), played, strict=True):
            assert state_hash(matches.state(match)) == entries[-1].state_hash


def _entries(store: Path) -> dict[str, list[bytes]]:
    """The lines of each match of a store, in the order in which they began."""
    with Matches(sqlite_settings(str(store), create=False, read_only=True)) as matches:
        began = matches.recorder.query(
            "SELECT originator_id FROM stored_events WHERE originator_version=1 ORDER BY rowid"
        )
        return {match: [entry.line for entry in matches.entries(match)] for (match,) in began}


# ------------------------------------------------------------ that it would be noticed


def sabotage_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies share their cards with what they were made from."""
    whole = State.copy

    def shallow(state: State) -> State:
        twin = whole(state)
        twin.battlefield = state.battlefield
        return twin

    monkeypatch.setattr(State, "copy", shallow)


def sabotage_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The canonical form has the cards and the Souls as they came."""
    monkeypatch.setattr("domain.rules.state.sorted", list, raising=False)


def sabotage_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Payments are listed as they are found."""
    monkeypatch.setattr("domain.rules.quotes.sorted", list, raising=False)


def sabotage_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that is read back knows of no Rift."""
    whole = snapshot_state

    def without_rift(topic: str, stored: bytes) -> State | None:
        state = whole(topic, stored)
        if state:
            state.rift = None
        return state

    monkeypatch.setattr("tests.determinism.snapshot_state", without_rift)


def sabotage_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Now and then the state has another hash."""
    calls = iter(range(1_000_000))
    monkeypatch.setattr("domain.entry.state_hash", lambda _: f"{int(next(calls) == 100):064}")


SABOTAGES = (sabotage_copy, sabotage_order, sabotage_quotes, sabotage_snapshots, sabotage_chance)


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: sabotage.__name__)
def test_what_is_not_the_same_is_noticed_and_kept(
    sabotage: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these faults fails a few walks; their seeds are told, and their scripts kept up to where it shows."""
    failed: dict[int, str] = {}
    whole = {seed: walk(seed) for seed in range(1, 9)}
    with monkeypatch.context() as patched:
        sabotage(patched)
        for seed, script in whole.items():
            try:
                Rig(tmp_path).play(script, f"seed-{seed}", f"the random walk of seed {seed}", seed)
            except pytest.fail.Exception as failure:  # some walks do not come to it
                failed[seed] = str(failure)
    assert failed
    for seed, told in failed.items():
        path = tmp_path / f"seed-{seed}.jsonl"
        assert f"the random walk of seed {seed} " in told
        assert str(path) in told
        (script,) = scripts(path)
        assert script == whole[seed][: len(script)]
        assert compare(script), "and it passes again without the fault"


def test_walk_that_breaks_off_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a command ends in an error, while a walk is still being made, the script up to that command is kept."""
    whole = walk(1)
    calls = iter(range(1_000_000))

    def broken(state: State, line: str) -> Entry | Refusal:
        if next(calls) == 20:
            raise KeyError(line)
        return answer(state, line)

    monkeypatch.setattr("tests.determinism.answer", broken)
    with pytest.raises(pytest.fail.Exception, match="KeyError"):
        Rig(tmp_path).walk(1)
    assert list(scripts(tmp_path / "seed-1.jsonl")) == [whole[:21]]


def test_other_orders_are_other_orders() -> None:
    """The rig does turn round what came first, and a restored state is another object."""
    state = State()
    cards = [of("enter", card=f"k{number}", controller="a") for number in range(6)]
    for command in (of("start_match", match="m", players=[{"player": "a"}, {"player": "b"}]), *cards):
        assert isinstance(answer(state, as_line(command)), Entry)
    random = Random(1)
    assert len({tuple(reordered(state, random).battlefield) for _ in range(20)}) > 10
    again = restored(state)
    assert again == state
    assert again is not state


def test_kept_walks_are_scripts_that_say_what_they_are() -> None:
    """Each begins with a comment, and has entries as well as refusals; there are two or more."""
    assert len(KEPT) >= 2
    for path in KEPT:
        assert path.read_text("utf-8").startswith("# ")
        for script in scripts(path):
            assert 0 < len(straight(script)) < len(script)
