"""`soulrift check` as an operator uses it."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from domain.postgres import PostgresMatchRecorder
from domain.sqlite import SQLiteMatchRecorder
from soulrift import store as stores
from soulrift.cli import main
from tests.e2e.conftest import Run, script

EXAMPLES = Path(__file__).parents[2] / "examples"

RELEASE: dict[str, Any] = {"type": "release", "rank": 1}

DIVERGED = """UPDATE stored_events SET state=CAST(replace(state, '"rank":1,"soul":1', '"rank":2,"soul":1') AS BLOB)
              WHERE originator_id='one' AND originator_version=2"""
DAMAGED = "DELETE FROM stored_events WHERE originator_id='two' AND originator_version=2"
UNVERIFIABLE = "UPDATE stored_events SET topic='soul_released.v9' WHERE originator_id='three' AND originator_version=3"


def played(store: str, *scripts: str) -> None:
    with stores.create(store) as matches:
        for commands in (script.splitlines() for script in scripts):
            match = matches.start(commands[0]).match
            matches.give_all(match, commands[1:])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of three matches of three entries, with one event each, that stays open to nobody."""
    path = tmp_path / "soulrift.db"
    played(str(path), *(script(RELEASE, RELEASE, match=match) for match in ("one", "two", "three")))
    return path


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            assert connection.execute(statement).rowcount == 1


def checked(store: str) -> object:
    """The exit status of a check in this process."""
    with pytest.raises(SystemExit) as ended:
        main(["check", "--db", store, "--format", "json"], standalone_mode=False)
    return ended.value.code


def on_disk(path: Path) -> tuple[bytes, bytes]:
    """The bytes of the database, and those of its write-ahead log: none where there is no such file."""
    log = Path(f"{path}-wal")
    return path.read_bytes(), log.read_bytes() if log.exists() else b""


def test_sound_store_is_said_to_be_sound(run: Run, durable_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Played matches are counted and sound: a line for people, an object for programs, status 0, nothing else."""
    examples = ("worked-3-soulrift-2-two-ways", "worked-1-rank-0-creature-dies")
    scripts = ((EXAMPLES / f"{example}.jsonl").read_text() for example in examples)
    played(durable_store, *(re.sub("^#.*\n", "", script, flags=re.MULTILINE) for script in scripts))
    told = run("check", "--db", durable_store)
    # 8 commands with one event each; and a start, a turn, a card, and its end with its Soul
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == "sound: 2 matches, 12 entries, 13 events, 0 snapshots, 0 faults\n"
    assert checked(durable_store) == 0
    out, err = capsys.readouterr()
    counts = {"matches": 2, "entries": 12, "events": 13, "snapshots": 0}
    assert (json.loads(out), err) == ({"verdict": "sound", **counts, "faults": []}, "")


@pytest.mark.parametrize(
    ("edits", "verdict", "status"),
    [
        ([DIVERGED], "diverged", 1),
        ([UNVERIFIABLE], "unverifiable", 3),
        ([DAMAGED], "damaged", 4),
        ([DAMAGED, UNVERIFIABLE], "damaged", 4),
        ([UNVERIFIABLE, DIVERGED], "diverged", 1),
        ([UNVERIFIABLE, DAMAGED, DIVERGED], "diverged", 1),
    ],
)
def test_gravest_fault_decides(
    path: Path, capsys: pytest.CaptureFixture[str], edits: list[str], verdict: str, status: int
) -> None:
    """Every fault is told; the status is that of the gravest: diverged, then damaged, then unverifiable."""
    edit(path, *edits)
    assert checked(str(path)) == status
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert (err, answer["verdict"]) == ("", verdict)
    of = {DIVERGED: ("diverged", "one"), DAMAGED: ("damaged", "two"), UNVERIFIABLE: ("unverifiable", "three")}
    assert {(fault["kind"], fault["match"]) for fault in answer["faults"]} == {of[one] for one in edits}
    assert all(list(fault) == ["kind", "match", "entry", "row", "message"] for fault in answer["faults"])


def test_people_are_told_every_fault_in_a_line(run: Run, path: Path) -> None:
    """Faults go to standard error, one line each, whatever a match is called; the verdict to standard output."""
    edit(path, DIVERGED, UNVERIFIABLE, "UPDATE stored_events SET originator_id='a\nb\u202e' WHERE rowid=4")
    done = run("check")
    lines = done.stderr.splitlines()
    assert all(line.split(": ")[0] in {"diverged", "damaged", "unverifiable"} for line in lines), lines
    assert 'diverged: "one", entry 2, row 2: its rank is 2, but its command leads to 1' in lines
    (newer,) = (line for line in lines if line.startswith('unverifiable: "three", entry 3, row 3: '))
    assert "written by a newer Soulrift" in newer
    assert any(line.startswith('damaged: "two", ') for line in lines)
    assert "\u202e" not in done.stderr
    assert done.stdout == f"diverged: 4 matches, 9 entries, 9 events, 0 snapshots, {len(lines)} faults\n"


def test_faults_on_postgresql_are_told_alike(run: Run, postgres_store: str) -> None:
    """The statuses and faults of a store on PostgreSQL are those of one in a file."""
    played(postgres_store, script(RELEASE, RELEASE, match="one"))
    with psycopg.connect(postgres_store, autocommit=True) as connection:
        connection.execute(
            "UPDATE stored_events SET state=replace(state::text, %s, %s)::bytea WHERE originator_version=2",
            (b'"rank":1,"soul":1'.hex(), b'"rank":2,"soul":1'.hex()),
        )
    done = run("check", "--db", postgres_store)
    assert (done.returncode, done.stdout) == (1, "diverged: 1 match, 3 entries, 3 events, 0 snapshots, 1 fault\n")
    assert done.stderr == 'diverged: "one", entry 2, row 2: its rank is 2, but its command leads to 1\n'


def test_names_that_are_not_utf8_get_a_verdict(path: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever bytes stand for a match beside the record, they are spelled out, and all of it is told."""
    name = "CAST(x'ff41' AS TEXT)"
    edit(
        path,
        f"INSERT INTO command_ids VALUES ({name}, 'a', 1)",
        f"INSERT INTO stored_snapshots VALUES ({name}, 1, 'snapshot.v1', x'00')",
        f"INSERT INTO openings VALUES ({name}, 'a', 'b', 'c')",
        f"INSERT INTO incomplete_imports VALUES ({name}, 'a')",
    )
    assert checked(str(path)) == 4
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert [fault["match"] for fault in faults] == ["\\udcffA"] * 5
    done = run("check")
    assert (done.returncode, len(done.stderr.splitlines())) == (4, 5)


def test_large_table_is_counted_without_a_limit(
    durable_store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements over the whole record are made where our limits of time do not hold."""
    played(durable_store, script(RELEASE))
    whole: list[bool] = []

    for kind in (SQLiteMatchRecorder, PostgresMatchRecorder):

        def seen(
            self: Any, sql: str, parameters: Any = (), query: Callable[..., list[tuple[Any, ...]]] = kind.query
        ) -> list[tuple[Any, ...]]:
            if "count(*)" in sql or "originator_id IN" in sql or "EXISTS" in sql:
                whole.append(self.datastore.is_joined)
            return query(self, sql, parameters)

        monkeypatch.setattr(kind, "query", seen)
    assert checked(durable_store) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "sound"
    assert len(whole) > 3
    assert all(whole)


class TestNothingToCheck:
    """What cannot be checked is never called sound."""

    def test_missing_store(self, run: Run, tmp_path: Path) -> None:
        """A store that is not there is a usage error, and is not made."""
        done = run("check", "--db", "missing.db")
        assert (done.returncode, done.stdout) == (2, "")
        assert "there is no store missing.db" in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_missing_tables(self, run: Run, postgres_store: str) -> None:
        """A database without a store is a usage error."""
        done = run("check", "--db", postgres_store)
        assert (done.returncode, done.stdout) == (2, "")
        assert "it has no tables of a store; `soulrift init` makes them" in done.stderr

    def test_store_without_matches(self, run: Run, durable_store: str) -> None:
        """Where there is nothing to check, nothing is proved: that is status 4."""
        played(durable_store)
        done = run("check", "--db", durable_store)
        assert (done.returncode, done.stdout) == (4, "damaged: 0 matches, 0 entries, 0 events, 0 snapshots, 1 fault\n")
        assert done.stderr == "damaged: the store: there is no match in it, so there was nothing to check\n"

    def test_file_that_is_cut_short(self, run: Run, path: Path) -> None:
        """A file that lost its end is a usage error with its reason."""
        path.write_bytes(path.read_bytes()[:-4096])
        done = run("check")
        assert (done.returncode, done.stdout) == (2, "")
        assert "soulrift.db cannot be opened as a store: it cannot be read: " in done.stderr

    @pytest.mark.parametrize("page", [1, -1], ids=["events", "format"])
    def test_broken_page(self, run: Run, path: Path, page: int) -> None:
        """A page that is overwritten is damage (4), or no store (2) if it says how to read the others."""
        pages = path.stat().st_size // 4096
        with path.open("rb+") as file:
            file.seek(page % pages * 4096)
            file.write(b"\xa5" * 4096)
        done = run("check", "--format", "json")
        assert done.returncode in {2, 4}, done.stderr
        assert (done.returncode == 2) == (done.stdout == "")
        assert not done.stdout or json.loads(done.stdout)["verdict"] == "damaged"

    def test_server_that_is_not_there(self, run: Run, tmp_path: Path) -> None:
        """A server that does not answer is an error without a verdict."""
        done = run("check", "--db", f"postgresql://nobody@/none?host={tmp_path}")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: ")


class TestChangesNothing:
    """A check leaves the store as it is."""

    def test_bytes_of_a_store_at_rest(self, run: Run, path: Path) -> None:
        """Database and log are the same bytes before and after, whatever is found."""
        for broken in (False, True):
            if broken:
                edit(path, DIVERGED)
            before = on_disk(path)
            assert run("check").returncode == broken
            assert on_disk(path) == before

    def test_bytes_while_a_writer_has_it_open(self, run: Run, path: Path) -> None:
        """Entries that are in the log only are seen; it is neither written nor moved into the database."""
        at_rest = path.read_bytes()
        with stores.open_to_write(str(path)) as writer:
            for number in range(2):
                writer.give("one", json.dumps(RELEASE))
                before = on_disk(path)
                assert before[0] == at_rest
                assert before[1]
                done = run("check", "--format", "json")
                assert (done.returncode, json.loads(done.stdout)["entries"]) == (0, 10 + number)
                assert on_disk(path) == before
            assert writer.give("one", json.dumps(RELEASE)).entry.number == 6
        assert json.loads(run("check", "--format", "json").stdout)["entries"] == 12

    def test_log_that_a_killed_writer_left(self, run: Run, path: Path, tmp_path: Path) -> None:
        """The entries in a log whose writer is gone are seen, and the log is there afterwards, byte for byte."""
        code = (
            "import os, signal, sys; from soulrift import store; m = store.open_to_write(sys.argv[1]);"
            "m.give('one', sys.argv[2]); os.kill(os.getpid(), signal.SIGKILL)"
        )
        killed = subprocess.run([sys.executable, "-c", code, str(path), json.dumps(RELEASE)], check=False)
        assert killed.returncode == -signal.SIGKILL
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for name in (path.name, f"{path.name}-wal"):
            shutil.copy(tmp_path / name, elsewhere)
        for place in (path, elsewhere / path.name):
            before = on_disk(place)
            assert before[1]
            done = run("check", "--db", str(place), "--format", "json")
            assert (done.returncode, json.loads(done.stdout)["entries"]) == (0, 10)
            assert on_disk(place) == before

    def test_right_to_read_is_enough(self, run: Run, postgres_store: str) -> None:
        """On PostgreSQL, a role that may do nothing but read may check."""
        played(postgres_store, script(RELEASE))
        schema = conninfo_to_dict(postgres_store)["options"]
        assert isinstance(schema, str)
        schema, role = schema.rpartition("=")[2], f"soulrift_reader_{os.getpid()}"
        with psycopg.connect(postgres_store, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {role} LOGIN".encode())
            try:
                connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}".encode())
                connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}".encode())
                done = run("check", "--db", make_conninfo(postgres_store, user=role))
            finally:
                connection.execute(f"DROP OWNED BY {role}".encode())
                connection.execute(f"DROP ROLE {role}".encode())
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "sound: 1 match, 2 entries, 2 events, 0 snapshots, 0 faults\n"
