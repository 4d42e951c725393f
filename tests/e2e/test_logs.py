"""`soulrift --log`: structured lines on standard error, off unless asked for."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from eventsourcing.persistence import OperationalError
from psycopg.conninfo import make_conninfo

from soulrift import store as stores
from tests.e2e.conftest import Run, script

if TYPE_CHECKING:
    import subprocess

RELEASE: dict[str, Any] = {"type": "release", "rank": 2, "meta": {"id": "r-1"}}
SUPERFLUOUS = {"type": "pay", "player": "ada", "amount": 1, "souls": [1, 1], "effect": "drain"}
COMMANDS = script(RELEASE, SUPERFLUOUS, RELEASE)

PASSWORD = "s3same"  # noqa: S105 - nobody's


def log_of(done: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    """The lines of the log; what else is on standard error is what the program says without it."""
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]


def without_log(done: "subprocess.CompletedProcess[str]") -> tuple[int, str, str]:
    rest = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith("{")]
    return done.returncode, done.stdout, "".join(rest)


def test_every_step_is_a_json_object(run: Run, tmp_path: Path) -> None:
    """A line says when (in UTC), how grave, whose and what, then the particulars: store, match, entry, rule."""
    begun = datetime.now(UTC)
    done = run("--log", "debug", "play", "-", "--keep-going", stdin=COMMANDS)
    log = log_of(done)
    for line in log:
        assert list(line)[:4] == ["at", "level", "logger", "what"]
        assert line["logger"] == "soulrift.store"
        at = datetime.fromisoformat(line["at"])
        assert at.utcoffset() == timedelta(0)
        assert begun - timedelta(seconds=1) <= at <= datetime.now(UTC)
    told = [{key: value for key, value in line.items() if key not in {"at", "logger"}} for line in log]
    accepted = {"level": "debug", "what": "accepted", "match": "duel"}
    refusal = {"level": "debug", "what": "refused", "match": "duel", "rule": "P-7", "path": None}
    assert told == [
        {"level": "info", "what": "store opened", "store": str(tmp_path / "soulrift.db")},
        {**accepted, "entry": 1, "repeated": False},
        {**accepted, "entry": 2, "repeated": False},
        refusal,
        {**accepted, "entry": 2, "repeated": True},
    ]


@pytest.mark.parametrize("how", ["text", "json"])
def test_output_is_the_same_with_and_without(run: Run, how: str) -> None:
    """The log adds lines to standard error, and changes nothing else: not the output, not the status."""
    arguments = ("play", "-", "--keep-going", "--format", how)
    plain = run(*arguments, "--db", "1.db", stdin=COMMANDS)
    assert log_of(plain) == []
    assert plain.returncode == 1
    logged = run("--log", "debug", *arguments, "--db", "2.db", stdin=COMMANDS)
    assert len(log_of(logged)) == 5
    assert without_log(logged) == (plain.returncode, plain.stdout, plain.stderr)


def test_environment_asks_for_it(run: Run) -> None:
    """SOULRIFT_LOG is the option's default, for every command; the option has the last word."""
    run("play", "-", stdin=COMMANDS)
    for command in (("check",), ("init",), ("backup", "copy.db")):
        done = run(*command, SOULRIFT_LOG="info")
        assert [line["what"] for line in log_of(done)] == ["store opened"]
        assert without_log(done)[::2] == (0, "")
    assert log_of(run("--log", "warning", "show", "duel", SOULRIFT_LOG="debug")) == []


@pytest.mark.parametrize(("level", "lines"), [("info", 1), ("warning", 0)])
def test_level_is_the_least_that_is_written(run: Run, level: str, lines: int) -> None:
    """What is below the level is not written."""
    assert len(log_of(run("--log", level, "play", "-", "--keep-going", stdin=COMMANDS))) == lines


def test_level_that_is_none_is_refused(run: Run, tmp_path: Path) -> None:
    """A wrong level, as an option or in the environment, is a usage error that names the right ones."""
    for done in (
        run("--log", "loud", "play", "-", stdin=COMMANDS),
        run("play", "-", stdin=COMMANDS, SOULRIFT_LOG="loud"),
    ):
        assert (done.returncode, done.stdout) == (2, "")
        assert "is not one of 'debug', 'info', 'warning', 'error'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def no_snapshots(path: Path) -> str:
    """A store whose snapshots cannot be written, and a script that would take one."""
    with stores.create(str(path)):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TRIGGER t BEFORE INSERT ON stored_snapshots BEGIN SELECT RAISE(ABORT, 'full'); END")
    return script(*[{"type": "release"}] * 500)


def test_warning_is_a_line_of_the_log(run: Run, tmp_path: Path) -> None:
    """What the store warns of is a line with its reason, from the level `warning` on."""
    stdin = no_snapshots(tmp_path / "soulrift.db")
    for level, lines in (("warning", 1), ("error", 0)):
        done = run("--log", level, "play", "-", "--batch", "1000", stdin=stdin.replace("duel", level))
        assert without_log(done)[::2] == (0, "")
        log = [(line["level"], line["what"], line["match"], line["reason"]) for line in log_of(done)]
        assert log == [("warning", "no snapshot could be taken", "warning", "full")][:lines]


def test_warning_is_not_written_unasked(run: Run, tmp_path: Path) -> None:
    """Without --log nothing of the log is on standard error: a command that succeeds leaves it empty."""
    done = run("play", "-", "--batch", "1000", stdin=no_snapshots(tmp_path / "soulrift.db"))
    assert (done.returncode, done.stderr) == (0, "")


class TestPasswords:
    """What is written, in the log or beside it, holds no password."""

    def test_of_a_store_that_is_used(self, run: Run, postgres_store: str) -> None:
        """A password in the connection string, or in the environment, stands in no line."""
        url = make_conninfo(postgres_store, password=PASSWORD)
        for arguments in (
            ("init",),
            ("play", "-"),
            ("show", "duel"),
            ("check",),
            ("backup", "dump"),
            ("show", "nobody"),
        ):
            done = run("--log", "debug", *arguments, "--db", url, stdin=COMMANDS, PGPASSWORD=PASSWORD)
            assert {line["what"] for line in log_of(done)} >= {"store opened"}
            assert PASSWORD not in done.stdout + done.stderr

    @pytest.mark.parametrize(
        "store",
        [
            f"postgresql://me:{PASSWORD}@127.0.0.1:1/games",
            f"postgresql://me:{PASSWORD}@[::1/games",
            f"postgresql://me:100%{PASSWORD}@127.0.0.1:1/games",
            f"postgresql://127.0.0.1:1/games?password={PASSWORD}&colour=red",
            f"postgresql://127.0.0.1:1/games?sslpassword={PASSWORD}",
            f"host=127.0.0.1 port=1 password=a {PASSWORD}",
            f"host=127.0.0.1 port=1 password='a{PASSWORD}",
        ],
        ids=range(7),
    )
    def test_of_one_that_cannot_be_opened(self, store: str) -> None:
        """A connection string that is mistyped, or leads nowhere, is not repeated with its password in it."""
        with pytest.raises((click.UsageError, OperationalError)) as told:
            stores.open_to_read(store)
        assert PASSWORD not in str(told.value)
