"""`soulrift init`, `soulrift backup` with a drill of the restore, and `soulrift play --batch`."""

import errno
import io
import json
import os
import re
import resource
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from threading import Thread
from typing import Any

import click
import psycopg
import pytest
from eventsourcing.persistence import PersistenceError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from domain import Refusal, State, decode_command, play
from domain.check import Check
from domain.sqlite_files import backup
from soulrift import playing, upkeep
from soulrift import store as stores
from tests.e2e.conftest import Run, script
from tests.postgres import _binaries

ROOT = Path(__file__).parents[2]
RELEASE: dict[str, Any] = {"type": "release", "rank": 2}
SUPERFLUOUS = {"type": "pay", "player": "ada", "amount": 1, "souls": [1, 2], "effect": "drain"}

TABLES = ("stored_events", "stored_snapshots", "command_ids", "store_format")
PASSWORD = "s3same"  # noqa: S105 - nobody's
DEADLINE = 60.0


def wait_until(condition: Callable[[], bool]) -> None:
    last = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.005)


def rows(path: Path | str) -> list[list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]


def lines_of(store: str, match: str) -> list[bytes]:
    with stores.open_to_read(store) as matches:
        return [entry.line for entry in matches.entries(match)]


def schema_of(url: str) -> str:
    return str(conninfo_to_dict(url)["options"]).rpartition("=")[2]


# ------------------------------------------------------------ init


def rights(told: str) -> list[list[str]]:
    """The rights that `init` tells, of those who play and of those who read, as they stand in a GRANT."""
    found = re.search(r"to play:(.*)to read:(.*)\nNobody", told, re.DOTALL)
    assert found
    return [
        [
            " ".join(right.split()).replace(" on the sequence ", " ON SEQUENCE ").replace(" on ", " ON ")
            for right in of_role.split(";")
        ]
        for of_role in found.groups()
    ]


class TestInit:
    """`soulrift init` makes a store where there is none."""

    def test_file_is_made_once(self, run: Run, tmp_path: Path) -> None:
        """The file has the tables and their format; a second time, and with matches in it, it stays as it is."""
        told = f"{tmp_path / 'games.db'} is a store of format 1\n"
        told += "Who plays needs to write the file and its folder; who reads needs to read them.\n"
        for _ in range(2):
            done = run("init", "--db", "games.db")
            assert (done.returncode, done.stdout, done.stderr) == (0, told, "")
            assert rows(tmp_path / "games.db") == [[], [], [], [(1,)]]
        run("play", "-", "--db", "games.db", stdin=script(RELEASE))
        before = rows(tmp_path / "games.db")
        assert run("init", "--db", "games.db").stdout == told
        assert rows(tmp_path / "games.db") == before

    def test_database_is_made_once(self, run: Run, postgres_store: str) -> None:
        """On PostgreSQL the tables are only made by `init`; it names the database without its password."""
        url = make_conninfo(postgres_store, password=PASSWORD)
        assert run("play", "-", "--db", url, stdin=script(RELEASE)).returncode == 2
        first, second = run("init", "--db", url), run("init", "--db", url)
        assert (first.returncode, first.stderr) == (0, "")
        assert (second.returncode, second.stderr, second.stdout) == (0, "", first.stdout)
        name, told = first.stdout.splitlines()[0].split(" is a store of ")
        assert conninfo_to_dict(name) == conninfo_to_dict(postgres_store)
        assert told == f"format 1, in the schema {str(conninfo_to_dict(postgres_store)['options']).split('=')[1]}"
        assert PASSWORD not in first.stdout
        to_play, to_read = rights(first.stdout)
        assert "SELECT, INSERT ON stored_events, stored_snapshots, command_ids, openings" in to_play
        tables = "stored_events, stored_snapshots, command_ids, store_format, incomplete_imports, openings"
        assert to_read == [f"SELECT ON {tables}"]
        assert run("play", "-", "--db", url, stdin=script(RELEASE)).returncode == 0
        assert len(lines_of(url, "duel")) == 2

    def test_rights_that_it_tells_are_enough(self, run: Run, postgres_store: str) -> None:
        """Roles with just the rights that it tells can play, past a snapshot, or read; a reader cannot play."""
        to_play, to_read = rights(run("init", "--db", postgres_store).stdout)
        player, reader = f"soulrift_player_{os.getpid()}", f"soulrift_onlooker_{os.getpid()}"
        with psycopg.connect(postgres_store, autocommit=True) as connection, ExitStack() as cleared:
            for role, granted in ((player, to_play), (reader, to_read)):
                connection.execute(f"CREATE ROLE {role} LOGIN".encode())
                cleared.callback(connection.execute, f"DROP OWNED BY {role}; DROP ROLE {role}".encode())
                for right in (f"USAGE ON SCHEMA {schema_of(postgres_store)}", *granted):
                    connection.execute(f"GRANT {right} TO {role}".encode())
            releases = [json.dumps({**RELEASE, "meta": {"id": f"r-{number}"}}) for number in range(510)]
            with stores.open_to_write(make_conninfo(postgres_store, user=player)) as matches:
                matches.start(script().strip())
                matches.give_all("duel", releases)
                assert matches.give("duel", releases[0]).repeated
                matches.start(json.dumps({**json.loads(script()), "match": "quiet", "private": True}))
            with stores.open_to_read(make_conninfo(postgres_store, user=reader)) as matches:
                assert matches.state("duel").entries == 511
                check = Check(matches.recorder)
                assert (list(check.faults()), check.entries, check.snapshots) == ([], 512, 1)
                assert [opening.value for opening in matches.openings("quiet")] != []
                with pytest.raises(PersistenceError, match="permission denied"):
                    matches.give("duel", json.dumps(RELEASE))

    def test_what_cannot_be_a_store_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A store in memory, a folder that is not there and another program's file: a usage error, nothing touched."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "text.db").write_text("no database\n" * 500)
        with closing(sqlite3.connect(tmp_path / "foreign.db")) as connection:
            connection.execute("CREATE TABLE games (name)")
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        for name, told in (
            (":memory:", "a store in memory lasts as long as its program"),
            ("missing/games.db", "there is no folder for the store missing/games.db"),
            ("text.db", "text.db cannot be opened as a store"),
            ("foreign.db", "it is another program's database"),
        ):
            with pytest.raises(click.UsageError, match=told):
                upkeep.init(name)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

    def test_tables_of_another_program_are_refused(self, run: Run, postgres_store: str) -> None:
        """A schema that has a table of such a name is left as it is."""
        with psycopg.connect(postgres_store, autocommit=True) as connection:
            connection.execute("CREATE TABLE stored_events (name text)")
            done = run("init", "--db", postgres_store)
            assert (done.returncode, done.stdout) == (2, "")
            assert "another program's table stored_events" in done.stderr
            tables = connection.execute(
                "SELECT relname FROM pg_class WHERE relkind='r' AND relname = ANY(%s)", (list(TABLES),)
            )
            assert connection.execute("SELECT * FROM stored_events").fetchall() == []
            assert tables.fetchall() == [("stored_events",)]


# ------------------------------------------------------------ backup


def commands(match: str) -> Iterator[str]:
    """A script with ids that has no end."""
    start = {"type": "start_match", "match": match, "players": [{"player": "ada"}, {"player": "bo"}]}
    yield json.dumps({**start, "meta": {"id": "start"}})
    for soul in count(1):
        yield json.dumps({"type": "release", "cause": "Whisper", "meta": {"id": f"release {soul}"}})
        pay = {"type": "pay", "player": "bo", "amount": 1, "souls": [soul], "effect": "Flame"}
        yield json.dumps({**pay, "meta": {"id": f"pay {soul}"}})
        yield json.dumps({"type": "resolve", "payment": soul, "meta": {"id": f"resolve {soul}"}})


class Writer:
    """A process that plays such a script, one command at a time; what it says goes to a file."""

    def __init__(self, folder: Path, store: str, match: str) -> None:
        self.match = match
        self._said = folder / f"{match}.out"
        with self._said.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "soulrift", "play", "-", "--db", store],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )
        self._feeder = Thread(target=self._feed)
        self._feeder.start()

    def _feed(self) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):
            for command in commands(self.match):
                self._process.stdin.write(f"{command}\n".encode())

    @property
    def acknowledged(self) -> int:
        """The number of the last entry that it told of: it is stored."""
        numbers = re.findall(rb"^ *(\d+)  .*\n", self._said.read_bytes(), re.MULTILINE)
        return int(numbers[-1]) if numbers else 0

    def is_playing(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it, wherever it is."""
        self._process.kill()
        self._process.wait()
        self._feeder.join()
        assert self._process.stdin
        self._process.stdin.close()


@contextmanager
def four_writers(folder: Path, store: str) -> Iterator[list[Writer]]:
    """Four that play at the same time."""
    writers = [Writer(folder, store, match) for match in ("north", "east", "south", "west")]
    try:
        wait_until(lambda: all(writer.acknowledged >= 5 for writer in writers))
        yield writers
        assert all(writer.is_playing() for writer in writers), "they have played during all of it"
    finally:
        for writer in writers:
            writer.kill()


def prove_restored(run: Run, copy: str, writers: list[Writer], acknowledged: list[int]) -> None:
    """A restored store is sound, has what was acknowledged before, and can be played on with the same ids."""
    done = run("check", "--db", copy)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sound: 4 matches, ")
    entries = 0
    for writer, told in zip(writers, acknowledged, strict=True):
        stored = lines_of(copy, writer.match)
        assert told <= len(stored)
        script, state = list(islice(commands(writer.match), len(stored) + 30)), State()
        straight = [play(state, decode_command(command)).line for command in script]
        assert stored == straight[: len(stored)]
        with stores.open_to_write(copy) as matches:
            again = [matches.start(script[0]), *matches.give_all(writer.match, script[1:])]
        repeated = [not isinstance(answer, Refusal) and answer.repeated for answer in again]
        assert repeated == [True] * len(stored) + [False] * 30
        assert lines_of(copy, writer.match) == straight
        entries += len(straight)
    assert run("check", "--db", copy).stdout.startswith(f"sound: 4 matches, {entries:,} entries, {entries:,} events, ")


class TestBackup:
    """`soulrift backup` copies a store."""

    def test_drill_in_a_file(self, run: Run, tmp_path: Path) -> None:
        """A copy made while four play holds whole entries, all that were acknowledged before it, and can go on."""
        with four_writers(tmp_path, str(tmp_path / "soulrift.db")) as writers:
            acknowledged = [writer.acknowledged for writer in writers]
            done = run("backup", "copy.db")
        assert (done.returncode, done.stderr) == (0, "")
        size = f"{(tmp_path / 'copy.db').stat().st_size:,}"
        told = f"copy.db is a copy of soulrift.db ({size} bytes); `soulrift check --db copy.db` proves it sound\n"
        assert done.stdout == told
        prove_restored(run, str(tmp_path / "copy.db"), writers, acknowledged)
        assert run("check").stdout.startswith("sound: 4 matches, ")

    def test_drill_on_postgresql(self, run: Run, tmp_path: Path, postgres_url: str) -> None:
        """What `backup` says to do with PostgreSQL's own tools keeps the same promises."""
        here, there = (f"soulrift_drill_{os.getpid()}_{number}" for number in (1, 2))
        with psycopg.connect(postgres_url, autocommit=True) as connection, ExitStack() as cleared:
            for database in (here, there):
                connection.execute(f"CREATE DATABASE {database}".encode())
                cleared.callback(connection.execute, f"DROP DATABASE {database} WITH (FORCE)".encode())
            url, copy = (make_conninfo(postgres_url, dbname=name) for name in (here, there))
            assert run("init", "--db", url).returncode == 0
            with four_writers(tmp_path, url) as writers:
                acknowledged = [writer.acknowledged for writer in writers]
                told = run("backup", str(tmp_path / "dump"), "--db", url).stderr
                (command,) = (line.strip() for line in told.splitlines() if line.strip().startswith("pg_dump"))
                programs = {"PATH": f"{_binaries()[0]}{os.pathsep}{os.environ['PATH']}"}
                subprocess.run(command, shell=True, check=True, env=os.environ | programs)
            restore = ["pg_restore", "--exit-on-error", f"--dbname={copy}", str(tmp_path / "dump")]
            subprocess.run(restore, check=True, env=os.environ | programs)
            prove_restored(run, copy, writers, acknowledged)

    def test_postgresql_is_explained(self, run: Run, postgres_store: str) -> None:
        """A store on PostgreSQL is not copied: the tools that do are named, in status 2, with no password."""
        url = make_conninfo(postgres_store, password=PASSWORD)
        stores.create(url).close()
        done = run("backup", "games.dump", "--db", url)
        assert (done.returncode, done.stdout) == (2, "")
        assert "pg_dump --format=custom --file=games.dump" in done.stderr
        assert "pg_restore" in done.stderr
        assert PASSWORD not in done.stderr

    def test_command_that_is_told_can_be_pasted(self, run: Run, postgres_store: str) -> None:
        """File and database reach pg_dump as they are, also with spaces and quotes in them."""
        stores.create(postgres_store).close()
        options = f"-c search_path={schema_of(postgres_store)} -c application_name=it\\'s"
        for dest, url in (
            ("monday's games.dump", postgres_store),
            ("dump", make_conninfo(postgres_store, options=options)),
        ):
            told = run("backup", dest, "--db", url).stderr
            (command,) = (line.strip() for line in told.splitlines() if line.strip().startswith("pg_dump"))
            *first, conninfo = shlex.split(command)
            assert first == ["pg_dump", "--format=custom", f"--file={dest}"]
            assert conninfo_to_dict(conninfo) == conninfo_to_dict(url)

    def test_what_is_there_is_not_replaced(self, run: Run, tmp_path: Path) -> None:
        """A file, a folder, a link or the store itself under the name of the copy: refused, and untouched."""
        run("play", "-", stdin=script(RELEASE))
        (tmp_path / "file").write_bytes(b"precious")
        (tmp_path / "folder").mkdir()
        (tmp_path / "link").symlink_to("nowhere")
        before = sorted(tmp_path.iterdir()), (tmp_path / "soulrift.db").read_bytes()
        for dest in ("folder", "link", "soulrift.db"):
            with pytest.raises(FileExistsError, match=dest):
                backup(tmp_path / "soulrift.db", tmp_path / dest, lambda *_: None)
        done = run("backup", "file")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", done.stderr)
        assert "there is a file already; choose another name" in done.stderr
        assert (tmp_path / "file").read_bytes() == b"precious"
        after = sorted(path for path in tmp_path.iterdir() if path.name not in {"soulrift.db-shm", "soulrift.db-wal"})
        assert (after, (tmp_path / "soulrift.db").read_bytes()) == before

    def test_log_of_a_store_that_was_there_is_not_taken_for_its_own(self, run: Run, tmp_path: Path) -> None:
        """Beside the log of a store that is gone, a copy would be read as that store: it is refused, or safe."""
        run("play", "-", stdin=script(RELEASE))
        code = (
            "import os, signal, sys; from soulrift import store; m = store.open_to_write('copy.db');"
            "m.start(sys.argv[1]); m.give_all('stale', [sys.argv[2]] * 50); os.kill(os.getpid(), signal.SIGKILL)"
        )
        stale = [script(match="stale").strip(), json.dumps(RELEASE)]
        killed = subprocess.run([sys.executable, "-c", code, *stale], cwd=tmp_path, check=False)
        assert killed.returncode == -signal.SIGKILL
        (tmp_path / "copy.db").unlink()
        done = run("backup", "copy.db")
        if done.returncode == 0:
            assert len(lines_of(str(tmp_path / "copy.db"), "duel")) == 2
        else:
            assert "copy.db-wal" in done.stderr
            assert not (tmp_path / "copy.db").exists()

    def test_disk_without_links(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where a file cannot have two names, the copy gets its own one otherwise, and replaces nothing either."""
        run("play", "-", stdin=script(RELEASE))

        def link(*_: object) -> None:
            raise PermissionError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", link)
        backup(tmp_path / "soulrift.db", tmp_path / "copy.db", lambda *_: None)
        assert len(lines_of(str(tmp_path / "copy.db"), "duel")) == 2
        with pytest.raises(FileExistsError):
            backup(tmp_path / "soulrift.db", tmp_path / "copy.db", lambda *_: None)

    def test_folder_that_is_not_there(self, run: Run, tmp_path: Path) -> None:
        """A copy into no folder is an error in one line; none is made."""
        run("play", "-", stdin=script(RELEASE))
        done = run("backup", "missing/copy.db")
        assert (done.returncode, done.stdout) == (2, "")
        assert "there is no folder for missing/copy.db" in done.stderr
        assert not (tmp_path / "missing").exists()

    def test_what_is_no_store_is_not_copied(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """No store, an empty file and one in memory are usage errors; no copy is made."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "empty.db").touch()
        for name, told in (
            ("missing.db", "there is no store missing.db"),
            ("empty.db", "it has no tables of a store"),
            (":memory:", "a store in memory cannot be copied"),
        ):
            with pytest.raises(click.UsageError, match=told):
                upkeep.back_up(name, Path("copy.db"))
        assert not (tmp_path / "copy.db").exists()

    def test_copy_that_fails_leaves_nothing(self, tmp_path: Path) -> None:
        """Where the disk is full there is no half copy, under its name or another."""
        with stores.open_to_write(str(tmp_path / "soulrift.db")) as matches:
            matches.start(script().strip())
            matches.give_all("duel", [json.dumps(RELEASE)] * 400)
        limit = 100_000
        assert (tmp_path / "soulrift.db").stat().st_size > limit
        done = subprocess.run(
            [sys.executable, "-m", "soulrift", "backup", "copy.db"],
            capture_output=True,
            cwd=tmp_path,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch("error: .*\n", done.stderr)
        assert {path.name for path in tmp_path.iterdir()} <= {"soulrift.db", "soulrift.db-shm", "soulrift.db-wal"}


# ------------------------------------------------------------ batches

MISTAKES = [
    "# a comment",
    *script(RELEASE, RELEASE, SUPERFLUOUS, RELEASE).splitlines(),  # lines 2 to 6
    "",
    "{",
    *(json.dumps({**command, "meta": {"id": "again"}}) for command in (RELEASE, RELEASE, SUPERFLUOUS)),  # 9 to 11
    json.dumps({"type": "end_match", "meta": {"expect": 5}}),
    json.dumps(RELEASE),
]
REFUSED = [(5, "P-5", None), (8, "input", ""), (11, "input", "/meta/id"), (13, "L-5", None)]
"""The lines of the mistakes, their rules and paths."""


def steps(batch: int, *, keep_going: bool) -> list[tuple[int, Any]]:
    """What comes of each line: an entry's line and whether it was repeated, or the rule and path of a refusal."""
    found: list[tuple[int, Any]] = []
    with stores.open_to_write(":memory:") as matches:
        source = io.BytesIO("\n".join(MISTAKES).encode())
        for number, outcome in playing.play(matches, source, "x", keep_going=keep_going, batch=batch):
            if isinstance(outcome, Refusal):
                found.append((number, (outcome.rule, outcome.path)))
            else:
                found.append((number, (outcome.entry.line, outcome.repeated)))
        told = {line for _, (line, _) in found if isinstance(line, bytes)}
        assert {entry.line for entry in matches.entries("duel")} == told
    return found


class TestBatches:
    """`soulrift play --batch N` stores N commands at a time, and changes nothing else."""

    @pytest.mark.parametrize("keep_going", [True, False])
    def test_every_size_has_the_same_outcome(self, *, keep_going: bool) -> None:
        """Wherever a batch begins or ends, each line leads to the same entry, repetition or refusal as alone."""
        alone = steps(1, keep_going=keep_going)
        refused = [(number, *what) for number, what in alone if isinstance(what[0], str)]
        assert refused == (REFUSED if keep_going else REFUSED[:1])
        assert [number for number, what in alone if what[1] is True] == ([10] if keep_going else [])
        for batch in range(2, 12):
            assert steps(batch, keep_going=keep_going) == alone

    @pytest.mark.parametrize(("example", "batch"), [("disputed", 10_000), ("long-duel", 7)])
    def test_same_rows_and_story(self, run: Run, tmp_path: Path, example: str, batch: int) -> None:
        """A script in batches leaves the very rows, and tells the same, as one by one."""
        script_of = str(ROOT / "examples" / f"{example}.jsonl")
        alone = run("play", script_of, "--db", "1.db")
        assert alone.returncode == 0
        done = run("play", script_of, "--db", "2.db", "--batch", str(batch))
        assert (done.returncode, done.stdout, done.stderr) == (0, alone.stdout, "")
        assert rows(tmp_path / "2.db") == rows(tmp_path / "1.db")

    def test_refusal_within_a_batch(self, run: Run, durable_store: str) -> None:
        """The lines before it are kept, and its own number is told; without --keep-going it is the last."""
        stores.create(durable_store).close()
        play_it = ("play", "-", "--batch", "4", "--db", durable_store)
        done = run(*play_it, stdin="\n".join(MISTAKES))
        assert done.returncode == 1
        assert done.stderr.startswith("<stdin>:5: P-5: ")
        assert len(done.stderr.splitlines()) == 1
        assert len(lines_of(durable_store, "duel")) == 3
        other = "\n".join(MISTAKES).replace('"duel"', '"other"')
        done = run(*play_it, "--keep-going", "--format", "json", stdin=other)
        answer = json.loads(done.stdout)
        assert (done.returncode, done.stderr, answer["entries"]) == (1, "", 6)
        told = [(refusal["line"], refusal["rule"], refusal["path"]) for refusal in answer["refusals"]]
        assert told == REFUSED
        assert [(event["entry"], event["type"]) for event in answer["events"]] == [
            (1, "match_started"),
            (2, "soul_released"),
            (3, "soul_released"),
            (4, "soul_released"),
            (5, "soul_released"),
            (6, "match_ended"),
        ]

    @pytest.mark.parametrize("batch", ["0", "10001"])
    def test_number_that_is_none(self, run: Run, tmp_path: Path, batch: str) -> None:
        """A batch has 1 to 10,000 commands; anything else is a usage error, and nothing is played."""
        done = run("play", "-", "--batch", batch, stdin=script(RELEASE))
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{batch} is not in the range 1<=x<=10000" in done.stderr
        assert list(tmp_path.iterdir()) == []
