"""The command line: options, exit statuses, output for people and for programs."""

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.conftest import Run, script

HOARD = (
    {"type": "begin_turn", "player": "ada"},
    {"type": "enter", "card": "w-1", "controller": "ada", "name": "Wynn Seer", "rank": 1},
    {"type": "release", "rank": 1},
    {"type": "release", "rank": 0},
    {"type": "reap", "souls": [2], "card": "w-1", "by": "ada"},
)


@pytest.fixture(autouse=True)
def played(run: Run) -> None:
    assert run("play", "-", stdin=script(*HOARD)).returncode == 0


class TestExitStatus:
    """0 for success, 1 for refusals and unknown matches, 2 for usage errors; one line says why."""

    @pytest.mark.parametrize(
        ("arguments", "status", "told"),
        [
            (["show", "nobody"], 1, 'there is no match "nobody"'),
            (["events", "nobody"], 1, 'there is no match "nobody"'),
            (["quote", "nobody", "--player", "ada", "--amount", "1"], 1, 'there is no match "nobody"'),
            (["show", "duel", "--at", "7"], 2, "the entries 1 to 6, not 7"),
            (["show", "duel", "--at", "0"], 2, "the entries 1 to 6, not 0"),
            (["show", "duel", "--at", "-1"], 2, "the entries 1 to 6, not -1"),
            (["show", "duel", "--at", "x"], 2, "'x' is not a valid integer"),
            (["show", "duel", "--format", "xml"], 2, "'xml' is not one of"),
            (["show"], 2, "Missing argument 'MATCH'"),
            (["show", "duel", "--db", "missing.db"], 2, "there is no store missing.db"),
            (
                ["show", "duel", "--db", "text.txt"],
                2,
                "text.txt cannot be opened as a store: it cannot be read: file is not a database",
            ),
            (
                ["show", "duel", "--db", "empty.db"],
                2,
                "empty.db cannot be opened as a store: it has no tables of a store; `soulrift init` makes them",
            ),
            (
                ["show", "duel", "--db", "foreign.db"],
                2,
                "foreign.db cannot be opened as a store: it is another program's database",
            ),
            (["show", "duel", "--db", "."], 2, ". cannot be opened as a store"),
            (["show", "duel", "--db", "mysql://x/y"], 2, "mysql:// names no kind of store"),
            (["play", "missing.jsonl"], 2, "No such file"),
            (["play", "."], 2, "Is a directory"),
            (["play", "text.txt", "--db", "no/such/folder/x.db"], 2, "there is no folder for the store"),
            (["play", "text.txt", "--db", "."], 2, ". cannot be opened as a store"),
            (["play", "text.txt", "--db", "text.txt"], 2, "text.txt cannot be opened as a store"),
            (["play", "text.txt", "--db", "foreign.db"], 2, "another program's database"),
            (["dance"], 2, "No such command 'dance'"),
            (["--loud"], 2, "No such option"),
            (["quote", "duel", "--player", "nobody", "--amount", "1"], 1, "only ada and bo"),
            (["quote", "duel", "--player", "ada", "--amount", "0"], 1, "P-1: Soulrift 0 is no cost"),
            (["quote", "duel", "--player", "ada"], 2, "Missing option '--amount'"),
        ],
    )
    def test_error(self, run: Run, tmp_path: Path, arguments: list[str], status: int, told: str) -> None:
        """The error is on standard error, nothing on standard output, and the status says of what kind it is."""
        (tmp_path / "text.txt").write_text("no database at all, and longer than any header of one would be\n" * 9)
        (tmp_path / "empty.db").touch()
        with closing(sqlite3.connect(tmp_path / "foreign.db")) as connection:
            connection.execute("CREATE TABLE things (thing)")
        before = (tmp_path / "foreign.db").read_bytes()
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (status, "")
        assert told in done.stderr
        assert not (tmp_path / "missing.db").exists()
        assert (tmp_path / "foreign.db").read_bytes() == before
        assert (tmp_path / "empty.db").read_bytes() == b""

    def test_reader_that_goes_away_is_no_error_text(self, tmp_path: Path, run: Run) -> None:
        """`soulrift events … | head -1` says nothing on standard error."""
        many = script(*[{"type": "release"}] * 3000, match="long")
        assert run("play", "-", stdin=many).returncode == 0
        done = subprocess.run(
            f"{sys.executable} -m soulrift events long | head -1",
            shell=True,
            capture_output=True,
            cwd=tmp_path,
            check=False,
        )
        assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")

    def test_refused_question_is_data_in_json(self, run: Run) -> None:
        """With --format json a refusal is on standard output, as an object."""
        done = run("quote", "duel", "--player", "zoe", "--amount", "1", "--format", "json")
        assert (done.returncode, done.stderr) == (1, "")
        assert json.loads(done.stdout) == {
            "rule": "input",
            "message": 'there is no player "zoe" in this match, only ada and bo',
            "path": "/player",
            "details": {},
        }

    @pytest.mark.parametrize("target", [">&-", ">/dev/full", "| head -1"])
    def test_script_is_played_to_its_end_whoever_listens(self, run: Run, tmp_path: Path, target: str) -> None:
        """Closed, full or broken standard output costs no command, and makes no traceback."""
        (tmp_path / "long.jsonl").write_text(script(*[{"type": "release"}] * 2000, match="long"))
        done = subprocess.run(
            f"{sys.executable} -m soulrift play long.jsonl {target}",
            shell=True,
            capture_output=True,
            cwd=tmp_path,
            check=False,
        )
        assert b"Traceback" not in done.stderr
        assert (b"No space left" in done.stderr) == (target == ">/dev/full")
        assert json.loads(run("show", "long", "--format", "json").stdout)["entries"] == 2001

    @pytest.mark.parametrize("target", [">&-", ">/dev/full"])
    @pytest.mark.parametrize("question", ["show duel", "events duel", "events duel --format json"])
    def test_question_nobody_can_hear_is_no_traceback(self, tmp_path: Path, question: str, target: str) -> None:
        """Closed or full standard output is told in one line at most."""
        done = subprocess.run(
            f"{sys.executable} -m soulrift {question} {target}",
            shell=True,
            capture_output=True,
            cwd=tmp_path,
            check=False,
        )
        assert len(done.stderr.splitlines()) <= 1
        assert b"Traceback" not in done.stderr

    def test_corrupt_record_is_told_in_one_line(self, run: Run, tmp_path: Path) -> None:
        """No question about a damaged match is answered, or ends in a traceback; events are told up to the damage."""
        with closing(sqlite3.connect(tmp_path / "soulrift.db")) as connection, connection:
            connection.execute("DELETE FROM stored_events WHERE originator_version=3")
        for question in (["show", "duel"], ["events", "duel"], ["quote", "duel", "--player", "ada", "--amount", "1"]):
            done = run(*question)
            told = "    1       duel begins: Ada and Bo, 30 life each\n" if question[0] == "events" else ""
            assert (done.returncode, done.stdout) == (1, told)
            assert done.stderr in {
                "error: the 5 events from 1 on end with event 6, in row 6: some are missing\n",
                "error: event 3 is missing: event 4 is in its place, in row 4\n",
            }

    def test_named_by_option_environment_or_default(self, run: Run, tmp_path: Path) -> None:
        """--db wins over SOULRIFT_DB, which wins over soulrift.db in this folder."""
        assert (tmp_path / "soulrift.db").exists()
        run("play", "-", stdin=script(match="two"), SOULRIFT_DB="two.db")
        run("play", "-", "--db", "three.db", stdin=script(match="three"), SOULRIFT_DB="two.db")
        assert run("show", "two", "--db", "two.db").returncode == 0
        assert run("show", "three", SOULRIFT_DB="three.db").returncode == 0
        assert run("show", "three", SOULRIFT_DB="two.db").returncode == 1

    def test_file_names_of_any_kind(self, run: Run) -> None:
        """A store's name with blanks, a question mark, a colon or a percent sign is a file like any other."""
        for name in ("my store.db", "a?b=c.db", "file:x.db", "100%.db", "決闘.db"):
            assert run("play", "-", "--db", name, stdin=script()).returncode == 0
            assert run("show", "duel", "--db", name).returncode == 0

    def test_reading_leaves_the_record_as_it_was(self, run: Run, tmp_path: Path) -> None:
        """Questions change no row."""

        def dump() -> list[str]:
            with closing(sqlite3.connect(tmp_path / "soulrift.db")) as connection:
                return list(connection.iterdump())

        before = dump()
        run("show", "duel")
        run("events", "duel")
        run("quote", "duel", "--player", "ada", "--amount", "1")
        assert dump() == before


class TestShow:
    """The state of a match."""

    def test_board(self, run: Run) -> None:
        """Players and life, the Aether, the battlefield with the Souls on each card, and the hash, aligned."""
        lines = run("show", "duel").stdout.splitlines()
        assert lines[:-1] == [
            "duel, after entry 6: turn 1, Ada's, Event unused",
            "  player   life",
            "  Ada      30",
            "  Bo       30",
            "Aether: Soul 1★",
            "Battlefield:",
            "  card        controller   owner   is       Souls on it",
            "  Wynn Seer   Ada                  rank 1   Soul 2",
            "Souls: 2 came, 0 gone",
        ]
        assert re.fullmatch(r"State hash: [0-9a-f]{64}", lines[-1])

    def test_earlier_entry(self, run: Run) -> None:
        """`--at N` shows the state after entry N."""
        state = json.loads(run("show", "duel", "--at", "4", "--format", "json").stdout)
        assert (state["entries"], state["aether"]) == (4, [{"soul": 1, "rank": 1}])
        assert state["battlefield"]["w-1"]["souls"] == []


class TestQuote:
    """What a player may pay with."""

    def test_for_people(self, run: Run) -> None:
        """Best first: nothing burns, then the shared Soul that overpays; with what it burns and leaves."""
        assert run("quote", "duel", "--player", "ada", "--amount", "1").stdout.splitlines() == [
            "Ada has Souls of power 3 to pay Soulrift 1, best first; of Souls alike the oldest stands for all:",
            "      Souls                power   over   life it burns (B-2)",
            "  1   Soul 2 (Wynn Seer)   1       -      -",
            "  2   Soul 1★ (Aether)     2       1      3, leaves 27",
        ]
        done = run("quote", "duel", "--player", "bo", "--amount", "3")
        assert (done.returncode, done.stdout) == (
            0,
            "Bo cannot pay Soulrift 3: the Souls open to Bo have power 2 (P-6)\n",
        )

    def test_for_programs(self, run: Run) -> None:
        """Each payment has its Souls as in cost_paid, and what it would burn."""
        done = run("quote", "duel", "--player", "ada", "--amount", "1", "--limit", "1", "--format", "json")
        assert json.loads(done.stdout) == {
            "match": "duel",
            "player": "ada",
            "amount": 1,
            "available": 3,
            "payments": [
                {
                    "souls": [{"soul": 2, "power": 1, "card": "w-1"}],
                    "power": 1,
                    "excess": 0,
                    "damage": 0,
                    "reaped": 1,
                }
            ],
            "more": True,
        }


class TestOutput:
    """For eyes, pipes and programs."""

    def test_colour_on_a_terminal_only(self, run: Run, tmp_path: Path) -> None:
        """A terminal gets colour, a pipe plain text of the same words, and NO_COLOR is heeded."""
        plain = run("events", "duel").stdout
        assert "\x1b" not in plain
        on_terminal = _on_terminal(["events", "duel"], tmp_path, {})
        assert "\x1b[" in on_terminal
        assert re.sub(r"\x1b\[[0-9;]*m", "", on_terminal) == plain
        without = _on_terminal(["events", "duel"], tmp_path, {"NO_COLOR": "1"})
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]", without)

    def test_names_in_any_script_are_aligned(self, run: Run) -> None:
        """The column of who acts is as wide as the widest name on the screen, not as the one with most characters."""
        players = [{"player": "a", "name": "林小雨"}, {"player": "b", "name": "Zoe"}, {"player": "c", "name": "Kit 🦊"}]
        start = {"type": "start_match", "match": "wide", "players": players}
        turns = [{"type": "begin_turn", "player": player} for player in "abc"]
        run("play", "-", stdin="".join(json.dumps(command) + "\n" for command in (start, *turns)))
        assert run("events", "wide").stdout.splitlines()[1:] == [
            "    2  林小雨  turn 1",
            "    3  Zoe     turn 2",
            "    4  Kit 🦊  turn 3",
        ]

    def test_players_with_one_display_name_are_told_apart(self, run: Run) -> None:
        """Two players, or two cards, who are called the same are shown with their own names beside it."""
        players = [{"player": "a", "name": "Ada"}, {"player": "b", "name": "Ada"}]
        commands = [
            {"type": "start_match", "match": "twins", "players": players},
            {"type": "begin_turn", "player": "b"},
            {"type": "enter", "card": "k1", "controller": "a", "name": "Hound"},
            {"type": "enter", "card": "k2", "controller": "a", "name": "Hound"},
            {"type": "destroy", "cards": ["k1"]},
            {"type": "destroy", "cards": ["k2"]},
        ]
        run("play", "-", stdin="".join(json.dumps(command) + "\n" for command in commands))
        lines = [line.split("  ", 2)[-1].strip() for line in run("events", "twins").stdout.splitlines()]
        assert lines[1:] == [
            "2  Ada (b)  turn 1",
            "3  Ada (a)  Hound enters",
            "4  Ada (a)  Hound [k2] enters",
            "5           Hound [k1] is destroyed; Soul 1 rises from Hound [k1]",
            "6           Hound is destroyed; Soul 2 rises from Hound",
        ]

    def test_characters_that_would_garble_a_line_are_spelled_out(self, run: Run) -> None:
        """A line separator or a change of direction in a name stays within its line, and is exact in JSON."""
        name = "A\u2028B\u202eC"
        start = {"type": "start_match", "match": "odd", "players": [{"player": "a", "name": name}, {"player": "b"}]}
        run("play", "-", stdin=json.dumps(start) + "\n")
        (line,) = run("events", "odd").stdout.splitlines()
        assert "A\\u2028B\\u202eC and b" in line
        (event,) = run("events", "odd", "--format", "json").stdout.split("\n")[:-1]
        assert json.loads(event)["players"][0]["name"] == name
        refused = run("play", "-", stdin=script({"type": "release", "k" * 1000: 1}, match="odd-2"))
        assert len(refused.stderr) < 500

    def test_any_locale(self, run: Run) -> None:
        """Output is UTF-8 whatever the locale says: a name never stops the program."""
        players = [{"player": "a", "name": "Zoë 🦊"}, {"player": "b"}]
        stdin = json.dumps({"type": "start_match", "match": "zoë", "players": players}) + "\n"
        for locale in ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}):
            store = f"{len(locale)}.db"
            assert "Zoë 🦊" in run("play", "-", "--db", store, stdin=stdin, **locale).stdout
            assert run("show", "zoë", "--db", store, "--format", "json", **locale).returncode == 0

    @pytest.mark.parametrize("command", ["play", "show", "events", "quote"])
    def test_help_has_an_example(self, run: Run, command: str) -> None:
        """Each command's help text shows how it is used."""
        help_text = run(command, "--help").stdout
        assert f"Example:\n    soulrift {command} " in help_text
        assert "--db STORE" in help_text

    def test_version(self, run: Run) -> None:
        """The program says its version."""
        assert re.fullmatch(r"soulrift, version \d+\.\d+\.\d+\n", run("--version").stdout)


def _on_terminal(arguments: list[str], folder: Path, environment: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    usual = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "SOULRIFT_DB"}}
    process = subprocess.Popen(
        [sys.executable, "-m", "soulrift", *arguments],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env=usual | {"TERM": "xterm-256color"} | environment,
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # the terminal's end, once its last writer is gone
            break
        if not chunk:
            break
        written += chunk
    os.close(ours)
    assert process.wait() == 0
    return written.decode().replace("\r\n", "\n")
