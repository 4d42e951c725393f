"""The commands that ask read models, as people and programs call them."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples"
DUEL = "long-duel"

OF_A_MATCH = ("history", "life", "soulburn", "payments", "rifts", "census")

Store = str


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with the long duel and a draw of four."""
    path = str(tmp_path_factory.mktemp("questions") / "games.db")
    for example in (DUEL, "four-players"):
        command = [sys.executable, "-m", "soulrift", "play", str(EXAMPLES / f"{example}.jsonl"), "--db", path]
        subprocess.run(command, check=True, capture_output=True)
    return path


def asked(run: Run, store: Store, *arguments: str) -> Any:
    """The JSON that a command answers."""
    done = run(*arguments, "--db", store, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


class TestForms:
    """Text, JSON and CSV."""

    @pytest.mark.parametrize("command", OF_A_MATCH)
    def test_csv_says_what_json_says(self, run: Run, store: Store, command: str) -> None:
        """As many lines as rows, with the same fields; what is no plain value is JSON in its cell."""
        rows = asked(run, store, command, DUEL)
        table = list(csv.DictReader(io.StringIO(run(command, DUEL, "--db", store, "--format", "csv").stdout)))
        assert len(table) == len(rows) > 2
        for cells, row in zip(table, rows, strict=True):
            for column, cell in cells.items():
                value = row
                for key in column.split("."):
                    value = value and value[key]
                assert cell == ("" if value is None else str(value)) or json.loads(cell) == value

    @pytest.mark.parametrize("command", OF_A_MATCH)
    def test_text_in_a_pipe_is_plain(self, run: Run, store: Store, command: str) -> None:
        """No colour and no chart: what a pipe gets can be searched and cut."""
        told = run(command, DUEL, "--db", store).stdout
        assert "\x1b" not in told
        assert not set("▁▂▃▄▅▆▇█") & set(told)
        assert len(told.splitlines()) > 3

    @pytest.mark.parametrize("command", ["soulburn", "rifts", "payments"])
    def test_nothing_to_tell(self, run: Run, tmp_path: Path, command: str) -> None:
        """A match without any is answered with none: an empty array, a head alone, a word."""
        script = '{"type":"start_match","match":"new","players":[{"player":"a"},{"player":"b"}]}\n'
        assert run("play", "-", "--db", str(tmp_path / "new.db"), stdin=script).returncode == 0
        answers = [run(command, "new", "--db", str(tmp_path / "new.db"), "--format", form) for form in ("json", "csv")]
        assert json.loads(answers[0].stdout) == []
        assert len(answers[1].stdout.splitlines()) == 1
        assert run(command, "new", "--db", str(tmp_path / "new.db")).stdout.strip() == "none"


class TestMatches:
    """The list of matches."""

    def test_filters_and_pages(self, run: Run, store: Store) -> None:
        """The last one begun comes first; by player, by status, and one page after the other."""
        everything = asked(run, store, "matches")
        assert [(row["match"], row["number"], row["winner"]) for row in everything] == [
            ("four-players", 2, None),
            (DUEL, 1, "ilse"),
        ]
        assert asked(run, store, "matches", "--player", "ilse") == everything[1:]
        assert asked(run, store, "matches", "--status", "running") == []
        assert asked(run, store, "matches", "--limit", "1") == everything[:1]
        assert asked(run, store, "matches", "--before", "2") == everything[1:]
        assert "--before 2" in run("matches", "--limit", "1", "--db", store).stdout
        assert "--before" not in run("matches", "--limit", "2", "--db", store).stdout

    def test_what_was_just_played_is_there(self, run: Run, tmp_path: Path) -> None:
        """A question is answered with all that is in the store when it is asked."""
        db = str(tmp_path / "games.db")
        script = '{"type":"start_match","match":"new","players":[{"player":"a"},{"player":"b"}],"meta":{"id":"1"}}\n'
        for number in range(1, 4):
            script += f'{{"type":"release","meta":{{"id":"r{number}"}}}}\n'
            assert run("play", "-", "--db", db, stdin=script).returncode == 0
            (row,) = asked(run, db, "matches")
            assert row["entries"] == number + 1
            assert len(asked(run, db, "history", "new")) == number


def test_one_soul(run: Run, store: Store) -> None:
    """`--soul` tells of one alone, in an array all the same; one that never came is a usage error."""
    everything = asked(run, store, "history", DUEL)
    assert asked(run, store, "history", DUEL, "--soul", "5") == [everything[4]]
    for number in ("14", "0", "x", str(2**60)):
        done = run("history", DUEL, "--soul", number, "--db", store)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--soul" in done.stderr


@pytest.mark.parametrize("command", OF_A_MATCH)
def test_unknown_match(run: Run, store: Store, command: str) -> None:
    """A match that is not there is named, with status 1 and nothing on standard output."""
    done = run(command, "nobody's", "--db", store)
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no match" in done.stderr


def test_totals_are_the_sums_of_the_ledger(run: Run, store: Store) -> None:
    """`soulburn --totals` adds up what `soulburn` lists."""
    ledger, totals = asked(run, store, "soulburn", DUEL), asked(run, store, "soulburn", DUEL, "--totals")
    for total in totals:
        of_it = [row for row in ledger if (row["player"], row["source"]) == (total["player"], total["source"])]
        assert total["damage"] == sum(row["damage"] for row in of_it)
        assert total["times"] == len(of_it)
    assert sum(total["times"] for total in totals) == len(ledger)


def test_players(run: Run, store: Store) -> None:
    """Each player once, by name; ilse won the duel, the four drew."""
    rows = asked(run, store, "players")
    assert [row["player"] for row in rows] == sorted(row["player"] for row in rows)
    assert {
        row["player"]: (row["won"], row["lost"], row["drawn"]) for row in rows if row["player"] in "ilse tomas"
    } == {
        "ilse": (1, 0, 0),
        "tomas": (0, 1, 0),
    }
    assert sum(row["drawn"] for row in rows) == 4
    assert asked(run, store, "players", "--player", "tomas") == [row for row in rows if row["player"] == "tomas"]
    for command in ("players", "matches"):
        done = run(command, "--player", "Tomas Reyk", "--db", store)
        assert (done.returncode, done.stdout) == (0, "  none\n")
        assert done.stderr.startswith('no player is called "Tomas Reyk" in commands; `soulrift players` lists'), command


def test_card_that_is_called_like_a_place(run: Run, tmp_path: Path) -> None:
    """Souls on a card named `aether` are told to be on it."""
    commands = [
        {"type": "start_match", "match": "m", "players": [{"player": "ada"}, {"player": "bo"}]},
        {"type": "enter", "card": "aether", "controller": "ada"},
        {"type": "release"},
        {"type": "reap", "souls": [1], "card": "aether"},
        {"type": "change_control", "card": "aether", "to": "bo"},
        {"type": "leave", "card": "aether", "to": "hand"},
    ]
    db = str(tmp_path / "games.db")
    run("play", "-", "--db", db, stdin="".join(map("{}\n".format, map(json.dumps, commands))))
    assert run("history", "m", "--db", db).stdout.splitlines()[1:] == [
        "      4  onto aether, ada's",
        "      5  with aether, bo's now",
        "      6  back to the Aether",
    ]


class TestFollowing:
    """What goes on as long as it is let."""

    @contextmanager
    def start(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """The program, going on beside the test."""
        with subprocess.Popen(
            [sys.executable, "-m", "soulrift", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as started:
            try:
                yield started
            finally:
                started.kill()

    def test_match_is_told_live_until_it_ends(self, run: Run, tmp_path: Path) -> None:
        """Each entry is on the screen before the next one is given; with the end of the match the program ends."""
        db = str(tmp_path / "games.db")
        start = '{"type":"start_match","match":"new","players":[{"player":"a"},{"player":"b"}],"meta":{"id":"1"}}\n'
        run("play", "-", "--db", db, stdin=start)
        with self.start("follow", "new", "--db", db, "--format", "json") as following:
            assert following.stdout is not None
            assert json.loads(following.stdout.readline())["entry"] == 1
            run("play", "-", "--match", "new", "--db", db, stdin='{"type":"release"}')
            assert json.loads(following.stdout.readline())["entry"] == 2
            run("play", "-", "--match", "new", "--db", db, stdin='{"type":"concede","player":"a"}')
            assert json.loads(following.stdout.readline())["events"][-1]["type"] == "match_ended"
            assert following.wait(20) == 0

    def test_ended_match_that_was_ruled_on(self, run: Run, tmp_path: Path) -> None:
        """A ruling after the end goes on with nothing."""
        db = str(tmp_path / "games.db")
        commands = [
            {"type": "start_match", "match": "m", "players": [{"player": "a"}, {"player": "b"}]},
            {"type": "concede", "player": "b"},
            {"type": "ruling", "judge": "J", "reason": "r", "corrections": [{"life": {"player": "a", "delta": 1}}]},
        ]
        assert (
            run("play", "-", "--db", db, stdin="".join(map("{}\n".format, map(json.dumps, commands)))).returncode == 0
        )
        with self.start("follow", "m", "--db", db) as following:
            assert following.wait(20) == 0

    def test_views_are_kept_up_to_date(self, run: Run, store: Store) -> None:
        """While one follows, `status` says so; it ends when it is interrupted, and nothing is behind."""
        with self.start("projections", "follow", "--db", store) as following:
            deadline = time.monotonic() + 30
            while not asked(run, store, "projections", "status")["followed"]:
                assert time.monotonic() < deadline
            following.send_signal(signal.SIGINT)
            assert following.wait(20) == 130
        status = asked(run, store, "projections", "status")
        assert (status["lag"], status["followed"], status["matches"]) == (0, False, 2)

    def test_rebuild_answers_the_same(self, run: Run, store: Store) -> None:
        """Views made anew answer what the old ones did; so do those of a file that is no database any more."""
        before = [asked(run, store, command, DUEL) for command in OF_A_MATCH]
        assert "events taken in" in run("projections", "rebuild", "--db", store).stdout
        assert [asked(run, store, command, DUEL) for command in OF_A_MATCH] == before
        Path(f"{store}.views").write_bytes(os.urandom(50_000))
        done = run("life", DUEL, "--db", store)
        assert (done.returncode, done.stdout) == (1, "")
        assert "projections rebuild" in done.stderr
        assert run("projections", "rebuild", "--db", store).returncode == 0
        assert asked(run, store, OF_A_MATCH[0], DUEL) == before[0]
