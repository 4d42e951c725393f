"""Full and read-only disks, files that are locked, damaged or cut off: it is told, and nothing is lost."""

import io
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from eventsourcing.persistence import PersistenceError

import domain.application
import domain.postgres_sessions
from domain.application import Matches
from domain.sqlite_files import read_only_connection
from soulrift import store as stores
from soulrift.cli import run as run_program
from tests.e2e.conftest import Run
from tests.postgres import Server
from tests.torture import Chapter, Player, Tally, library, restart

PAGE = 4096

Told = tuple[int, str, str]
"""The exit status, and what was said on standard output and standard error."""

ENTRY = re.compile(r"^ +\d+  ", re.MULTILINE)

SMALL = 4
"""Turns that make 29 entries."""


@contextmanager
def mounted(place: Path, *how: str) -> Iterator[None]:
    """Something mounted at a place, and gone afterwards."""
    done = subprocess.run(["mount", *how, str(place)], capture_output=True, text=True, check=False)  # noqa: S607
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)  # noqa: S607


@contextmanager
def disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A small disk of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    place.mkdir(exist_ok=True)
    with mounted(place, "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs"):
        yield place


def remount(place: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(place)], check=True)  # noqa: S607


def fill(place: Path, leaving: int = 0) -> None:
    """Fill a disk, but for so many kilobytes."""
    gap = place / "gap"
    gap.write_bytes(bytes(leaving * 1024))
    filler = next(path for number in count() if not (path := place / f"filler-{number}").exists())
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(PAGE))
    gap.unlink()


def free(place: Path) -> None:
    for filler in place.glob("filler-*"):
        filler.unlink()


def inside(*arguments: str) -> Told:
    """What the program says, run within this process: for many questions."""
    out, err = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["soulrift", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            run_program()
        except SystemExit as stop:
            return int(stop.code or 0), out.getvalue(), err.getvalue()


def statuses(store: str) -> list[int]:
    """How showing, listing and checking end."""
    return [inside(*question, "--db", store)[0] for question in (("show", "one"), ("events", "one"), ("check",))]


def assert_everything_once(store: str, chapter: Chapter) -> None:
    """Every command of a chapter has taken effect once, and the store is sound."""
    tally = Tally("store", 0)
    tally.everything_once(store, chapter)
    assert not tally.faults


def assert_error_in_one_line(done: "subprocess.CompletedProcess[str]", *possible: str) -> None:
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith("error: ")
    assert any(what in done.stderr for what in possible), done.stderr


@pytest.fixture
def one(tmp_path: Path) -> Chapter:
    return Chapter(tmp_path, "one")


@pytest.fixture
def two(tmp_path: Path) -> Chapter:
    return Chapter(tmp_path, "two", turns=SMALL)


class TestFullDisk:
    """There is no room left."""

    @pytest.mark.parametrize(("room", "batch"), [(0, 1), (300, 1), (400, 50)])
    def test_under_a_match_in_play(self, tmp_path: Path, run: Run, one: Chapter, room: int, batch: int) -> None:
        """What was told is stored and readable, the rest is an error in one line; with room again the play goes on."""
        with disk(tmp_path / "disk", 10) as place:
            store = str(place / "store.db")
            fill(place, leaving=room)
            done = run("play", str(one.path), "--db", store, "--batch", str(batch))
            assert_error_in_one_line(done, "disk is full")
            told = len(ENTRY.findall(done.stdout))
            assert told < len(one.lines)
            assert (told > 0) == (room > 0)
            tally = Tally("full disk", 0)
            assert tally.entries(store, one) == told
            assert not tally.faults
            if told:
                assert statuses(store) == [0, 0, 0]
            free(place)
            assert run("play", str(one.path), "--db", store, "--batch", str(batch)).returncode == 0
            assert_everything_once(store, one)
            assert run("check", "--db", store).returncode == 0

    def test_under_a_store_at_rest(self, tmp_path: Path, run: Run, one: Chapter, two: Chapter) -> None:
        """A store that nobody has open is readable though there is no room at all, and playing says what is wrong."""
        with disk(tmp_path / "disk", 10) as place:
            store = str(place / "store.db")
            assert run("play", str(one.path), "--db", store).returncode == 0
            fill(place)
            assert statuses(store) == [0, 0, 0]
            assert_error_in_one_line(run("play", str(two.path), "--db", store), "disk is full", "disk I/O error")
            free(place)
            assert run("play", str(two.path), "--db", store).returncode == 0
            for chapter in (one, two):
                assert_everything_once(store, chapter)

    def test_under_a_server(self, monkeypatch: pytest.MonkeyPatch, one: Chapter) -> None:
        """A give() fails in reasonable time, PostgreSQL may bear it or break down; with room again all goes on."""
        for module in (domain.application, domain.postgres_sessions):
            monkeypatch.setattr(module, "RECONNECT_SECONDS", 1)
        monkeypatch.setattr(domain.postgres_sessions, "CONNECT_SECONDS", 1)
        with (
            tempfile.TemporaryDirectory(prefix="disk-") as folder,  # a short path: sockets have at most 107 characters
            disk(Path(folder), 120) as place,
            small_server(place) as running,
            stores.create(running.url) as matches,
        ):
            first, *commands = one.path.read_text().splitlines()
            matches.start(first)
            fill(place)
            given = given_until_an_error(matches, commands)
            assert given < len(commands)
            with suppress(psycopg.Error), psycopg.connect(running.url, autocommit=True) as connection:
                connection.execute("CHECKPOINT")  # a server may break down of it
            given += given_until_an_error(matches, commands[given:])
            fill(place)  # breaking down made room
            running.kill()
            assert given_until_an_error(matches, commands[given:]) == 0
            free(place)
            restart(running)
            for number, command in enumerate(commands, 2):
                answer = matches.give("one", command)
                assert answer.entry.number == number
                assert answer.repeated >= (number <= 1 + given)
            assert_everything_once(running.url, one)


def given_until_an_error(matches: Matches, commands: list[str]) -> int:
    """How many commands are answered before there is an error, which comes in reasonable time."""
    for given, command in enumerate(commands):
        begun = time.monotonic()
        try:
            matches.give("one", command)
        except PersistenceError:
            assert time.monotonic() - begun < 20
            return given
    return len(commands)


@contextmanager
def small_server(place: Path) -> Iterator[Server]:
    """A server that keeps little beside the record."""
    few = ("-c", "max_wal_size=4MB", "-c", "min_wal_size=2MB", "-c", "shared_buffers=1MB")
    running = Server(place, "--wal-segsize=1", "--no-sync", options=few)
    running.start()
    try:
        yield running
    finally:
        free(place)
        running.stop()


class TestReadOnly:
    """Nobody may write."""

    def test_folder(self, tmp_path: Path, run: Run, one: Chapter, two: Chapter) -> None:
        """What is in a folder that cannot be written is shown and checked; playing says in one line that it cannot."""
        with disk(tmp_path / "disk", 10) as place:
            store = str(place / "store.db")
            assert run("play", str(one.path), "--db", store).returncode == 0
            remount(place, "ro")
            assert statuses(store) == [0, 0, 0]
            for db in (store, str(place / "new.db")):
                assert_error_in_one_line(run("play", str(two.path), "--db", db), "unable to open", "readonly")
            assert_everything_once(store, one)

    def test_folder_with_an_empty_log(self, tmp_path: Path, run: Run, one: Chapter) -> None:
        """A log with nothing in it, as a reader leaves it beside a file, is no reason not to read on."""
        with disk(tmp_path / "disk", 10) as place:
            store = str(place / "store.db")
            assert run("play", str(one.path), "--db", store).returncode == 0
            Path(f"{store}-wal").touch()
            remount(place, "ro")
            assert statuses(store) == [0, 0, 0]

    def test_folder_that_a_killed_player_left(self, tmp_path: Path, run: Run, one: Chapter) -> None:
        """What is in the log only is seen without a write to it."""
        with disk(tmp_path / "disk", 10) as place:
            store = str(place / "store.db")
            with Player(library(store, one.path)) as player:
                player.wait_for(50)
                player.kill()
                player.end()
            remount(place, "ro")
            assert statuses(store) == [0, 0, 0]
            tally = Tally("read only", 0)
            assert player.acknowledged <= tally.entries(store, one) <= player.acknowledged + 1
            assert_error_in_one_line(run("play", str(one.path), "--db", store), "unable to open", "readonly")
            remount(place, "rw")
            assert run("play", str(one.path), "--db", store).returncode == 0
            assert_everything_once(store, one)

    def test_file(self, tmp_path: Path, run: Run, one: Chapter, two: Chapter) -> None:
        """A file that cannot be written, in a folder that can, is shown and checked; playing says that it cannot."""
        with disk(tmp_path / "disk", 10) as place:
            path = place / "store.db"
            assert run("play", str(one.path), "--db", str(path)).returncode == 0
            with mounted(path, "--bind", str(path)):
                subprocess.run(["mount", "-o", "remount,ro,bind", str(path)], check=True)  # noqa: S607
                assert statuses(str(path)) == [0, 0, 0]
                assert_error_in_one_line(run("play", str(two.path), "--db", str(path)), "readonly")
            assert_everything_once(str(path), one)

    def test_written_while_read(self, tmp_path: Path, run: Run, one: Chapter, two: Chapter) -> None:
        """Who may not see the writers is not shown two moments of the file as one, and gets no copy of it."""
        path, shown = tmp_path / "own" / "store.db", tmp_path / "shown"
        path.parent.mkdir()
        shown.mkdir()
        assert run("play", str(one.path), "--db", str(path)).returncode == 0
        with mounted(shown, "--bind", str(path.parent)):
            subprocess.run(["mount", "-o", "remount,ro,bind", str(shown)], check=True)  # noqa: S607
            with stores.open_to_read(str(shown / "store.db")) as reader:
                assert reader.has("one")
                told = pytest.raises(PersistenceError, match="while it was read")
                with told, reader.recorder.reading():
                    assert run("play", str(two.path), "--db", str(path)).returncode == 0
            with closing(read_only_connection(shown / "store.db")) as connection:
                run("play", "-", "--match", "two", "--db", str(path), stdin='{"type": "release"}')
                with pytest.raises(PersistenceError, match="while it was read"):
                    connection.see_alone()
            assert statuses(str(shown / "store.db")) == [0, 0, 0]

    def test_interrupted_transaction(self, tmp_path: Path, run: Run, one: Chapter) -> None:
        """What a transaction left half done is not shown: somebody who may write undoes it first."""
        with disk(tmp_path / "disk", 10) as place:
            path = place / "store.db"
            assert run("play", str(one.path), "--db", str(path)).returncode == 0
            with closing(sqlite3.connect(path)) as file:
                file.execute("PRAGMA journal_mode=DELETE")
            rows, copy = entries_of(path), place / "copy.db"
            with closing(sqlite3.connect(path, isolation_level=None)) as file:
                file.execute("PRAGMA cache_size=2")
                file.execute("BEGIN")
                file.execute("DELETE FROM stored_events WHERE originator_version > 1")
                for end in ("", "-journal"):
                    shutil.copy(f"{path}{end}", f"{copy}{end}")
                file.execute("ROLLBACK")
            remount(place, "ro")
            for command in (("check",), ("show", "one"), ("backup", str(tmp_path / "backup.db"))):
                done = run(*command, "--db", str(copy))
                assert (done.returncode, done.stdout) == (2, ""), command
                assert "interrupted transaction" in done.stderr
            remount(place, "rw")
            assert run("init", "--db", str(copy)).returncode == 0
            assert (entries_of(copy), statuses(str(copy))) == (rows, [0, 0, 0])


def entries_of(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as file:
        return file.execute("SELECT * FROM stored_events ORDER BY rowid").fetchall()


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_file_that_is_another_one(tmp_path: Path, run: Run, one: Chapter, two: Chapter, how: str) -> None:
    """Into a file that is not there any more under its name nothing is stored, and nothing is said to be."""
    path, other = tmp_path / "store.db", tmp_path / "other.db"
    assert run("play", str(two.path), "--db", str(other)).returncode == 0
    with stores.open_to_write(str(path)) as matches:
        start, *rest = one.path.read_text().splitlines()
        matches.start(start)
        if how == "removed":
            path.unlink()
        else:
            other.replace(path) if how == "replaced" else path.rename(tmp_path / "away.db")
        for command in rest[:2]:
            with pytest.raises(PersistenceError, match="moved away or replaced"):
                matches.give("one", command)


def test_store_by_a_link(tmp_path: Path, run: Run, one: Chapter, two: Chapter) -> None:
    """A link leads to the file and to the log beside it, of which nothing is overwritten."""
    path, link = tmp_path / "real" / "store.db", tmp_path / "link" / "games.db"
    path.parent.mkdir()
    link.parent.mkdir()
    link.symlink_to(path)
    with Player(library(str(path), one.path)) as player:
        player.wait_for(50)
        player.kill()
        player.end()
    assert Path(f"{path}-wal").stat().st_size
    done = run("export", "one", "-o", f"{path}-wal", "--force", "--db", str(link))
    assert done.returncode == 2
    assert "belongs to the store itself" in done.stderr
    with mounted(path.parent, "--bind", str(path.parent)):
        Path(f"{path}-shm").unlink(missing_ok=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", str(path.parent)], check=True)  # noqa: S607
        assert run("check", "--db", str(link)).returncode == run("check", "--db", str(path)).returncode != 0
    assert run("play", str(one.path), "--db", str(link)).returncode == 0
    assert run("play", str(two.path), "--db", str(link)).returncode == 0
    assert run("check", "--db", str(path)).stdout.startswith("sound: 2 matches")


@pytest.mark.parametrize("place", ["fifo", "/dev/null"])
def test_what_is_no_plain_file_is_no_store(tmp_path: Path, run: Run, place: str) -> None:
    """A pipe or a device is told to be no store, and is not waited for."""
    os.mkfifo(tmp_path / "fifo")
    for command in (("check",), ("init",), ("show", "one")):
        done = run(*command, "--db", str(tmp_path / place))
        assert (done.returncode, done.stdout) == (2, "")
        assert "no plain file" in done.stderr


@pytest.mark.parametrize("name", [":memory:.db", "a file?mode=memory"])
def test_file_that_is_called_like_memory(tmp_path: Path, run: Run, one: Chapter, name: str) -> None:
    """A file is a file, whatever is in its name: it has a log, and outlasts the program."""
    path = tmp_path / name
    assert run("play", str(one.path), "--db", str(path)).returncode == 0
    assert path.read_bytes()[18:20] == b"\x02\x02", "SQLite's sign of a write-ahead log"
    assert statuses(str(path)) == [0, 0, 0]


def test_locked_store_is_told_in_ten_seconds(tmp_path: Path, run: Run, one: Chapter, two: Chapter) -> None:
    """Playing gives up after about 10 s, reading is answered all the while; if even that is locked, it says so."""
    locks = {"writers": "BEGIN EXCLUSIVE", "everybody": "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE"}
    paths = {who: tmp_path / f"{who}.db" for who in locks}
    for path in paths.values():
        assert run("play", str(one.path), "--db", str(path)).returncode == 0

    def timed(*arguments: str) -> tuple["subprocess.CompletedProcess[str]", float]:
        begun = time.monotonic()
        return run(*arguments), time.monotonic() - begun

    with (
        ThreadPoolExecutor() as threads,
        closing(held(paths["writers"], locks["writers"])),
        closing(held(paths["everybody"], locks["everybody"])),
    ):
        asked = {
            (who, question[0]): threads.submit(timed, *question, "--db", str(path))
            for who, path in paths.items()
            for question in (("show", "one"), ("check",), ("play", str(two.path)))
        }
        told = {key: future.result() for key, future in asked.items()}
    for (who, question), (done, seconds) in told.items():
        if (who, question) in {("writers", "show"), ("writers", "check")}:
            assert done.returncode == 0
            assert seconds < 9
        else:
            assert_error_in_one_line(done, "locked")
            assert 9.5 < seconds < 30
    for path in paths.values():
        assert_everything_once(str(path), one)
        assert run("play", str(two.path), "--db", str(path)).returncode == 0


def held(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(how)
    return connection


# ------------------------------------------------------------ damage


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small store, one page or more for each table and index."""
    folder = tmp_path_factory.mktemp("good")
    path = folder / "store.db"
    assert inside("play", str(Chapter(folder, "one", turns=SMALL).path), "--db", str(path))[0] == 0
    content = path.read_bytes()
    assert len(content) >= 10 * PAGE
    return content


def record(path: Path) -> list[tuple[Any, ...]]:
    """What a store says: the events and the ids of commands."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            row
            for table in ("stored_events", "command_ids")
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
        ]


class Damage:
    """Damaged copies of a store, which nobody may take for sound."""

    def __init__(self, folder: Path, good: bytes) -> None:
        self._path, self._good = folder / "damaged.db", good
        self._path.write_bytes(good)
        self._record = record(self._path)

    def look(self, content: bytes, where: object) -> str:
        """What check says of these bytes: its verdict, or that it is no store at all."""
        for suffix in ("-wal", "-shm"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        self._path.write_bytes(content)
        for question in ("show", "one"), ("events", "one"), ("events", "one", "--format", "json"):
            status, _, told = inside(*question, "--db", str(self._path))
            self._assert_told(status, {0, 1, 2}, told, (question, where))
        status, verdict, told = inside("check", "--db", str(self._path))
        self._assert_told(status, {0, 1, 2, 3, 4}, told, ("check", where))
        statuses = {"sound": 0, "diverged": 1, "unverifiable": 3, "damaged": 4}
        if status == 2:
            assert "cannot be opened as a store: " in told, where
            return "no store"
        found = verdict.partition(":")[0]
        assert statuses.get(found) == status, f"{where}: check ends with {status} and says {verdict}{told}"
        if found == "sound":
            assert record(self._path) == self._record, f"{where}: check says sound"
        return found

    def _assert_told(self, status: int, possible: set[int], told: str, what: object) -> None:
        assert status in possible, (what, told)
        assert "Traceback" not in told, (what, told)
        assert "a fault of our own" not in told, (what, told)


@pytest.fixture
def damage(tmp_path: Path, good: bytes) -> Damage:
    return Damage(tmp_path, good)


class TestDamagedFile:
    """Bytes of an SQLite file are not what was written."""

    @pytest.mark.parametrize("at", [0, PAGE - 100], ids=["page begins", "page ends"])
    @pytest.mark.parametrize("with_what", ["chance", "zeros"])
    def test_page(self, damage: Damage, good: bytes, at: int, with_what: str) -> None:
        """A page of which the beginning or the end is overwritten, where there always is something, is noticed."""
        chance = Random(1)
        for number in range(len(good) // PAGE):
            begin = number * PAGE + at
            if not any(good[begin : begin + 100]):
                continue  # nothing is overwritten with nothing
            content = chance.randbytes(100) if with_what == "chance" else bytes(100)
            assert damage.look(good[:begin] + content + good[begin + 100 :], f"page {number}") != "sound"

    def test_somewhere(self, damage: Damage, good: bytes) -> None:
        """100 bytes overwritten anywhere are noticed, or were in use for nothing."""
        chance = Random(2)
        for begin in range(0, len(good), 1_000):
            damage.look(good[:begin] + chance.randbytes(100) + good[begin + 100 :], f"byte {begin}")

    def test_bit(self, damage: Damage, good: bytes) -> None:
        """A flipped bit is noticed, or was in use for nothing."""
        chance = Random(3)
        for _ in range(100):
            changed, at = bytearray(good), chance.randrange(PAGE, len(good))  # the first page says what tables are like
            changed[at] ^= 1 << chance.randrange(8)
            damage.look(bytes(changed), f"byte {at}")

    @pytest.mark.parametrize("id_", [b"one/2", b"one/21"])
    def test_index_that_names_another_match(self, damage: Damage, good: bytes, id_: bytes) -> None:
        """An index that leads to rows of another match, or of none, than the rows themselves say, is damage."""
        place = re.compile(b"one" + re.escape(id_) + rb"(?!\d)")
        found = [match.start() for match in place.finditer(good)]
        assert len(found) == 2  # the row and its index
        for at in found:
            assert damage.look(good[:at] + b"0" + good[at + 1 :], f"byte {at}") == "damaged"

    def test_file_that_ends_early(self, damage: Damage, good: bytes) -> None:
        """A file cut off, at a page's end or within a page, is noticed."""
        ends = {0, 1, 15, 16, 99, 100, 101, 512, len(good) - 1}
        for number in range(len(good) // PAGE):
            ends |= {number * PAGE, number * PAGE + 1, number * PAGE + PAGE // 2}
        for end in sorted(ends):
            assert damage.look(good[:end], f"{end} bytes") != "sound"

    @pytest.mark.parametrize("content", [b"", b"\x00", b"garbage\n" * 1_000, bytes(3 * PAGE), b"SQLite format 3\x00"])
    def test_what_never_was_a_store(self, damage: Damage, content: bytes) -> None:
        """An empty file, or garbage, is no store."""
        assert damage.look(content, "garbage") == "no store"


class TestHalfWrittenLog:
    """A write-ahead log ends where the power did."""

    FRAME = 24 + PAGE
    """A page in the log, with its head; in bytes 4 to 8 of it a commit says how many pages the file has then."""

    @pytest.fixture
    def left(self, tmp_path: Path) -> tuple[Path, Chapter]:
        """The store of a killed player, all of which is in the log."""
        chapter, path = Chapter(tmp_path, "one", turns=10), tmp_path / "killed.db"
        with Player(library(str(path), chapter.path)) as player:
            player.wait_for(30)
            player.kill()
            player.end()
        assert Path(f"{path}-wal").stat().st_size > 30 * self.FRAME
        return path, chapter

    def test_entries_whose_commit_is_whole_are_there(self, tmp_path: Path, left: tuple[Path, Chapter]) -> None:
        """Cut off anywhere, or written as zeros from there on, a log yields every entry whose commit is whole."""
        path, chapter = left
        log = Path(f"{path}-wal").read_bytes()
        ends = range(32 + self.FRAME, len(log) + 1, self.FRAME)
        commits = [end for end in ends if any(log[end - self.FRAME + 4 : end - self.FRAME + 8])]
        entries = self._entries(tmp_path / "whole", path, log, chapter)
        before = len(commits) - entries  # commits that made the tables
        assert entries >= 30
        assert 1 <= before <= 2
        chance = Random(4)
        cuts = {commits[before], commits[before] - 1, commits[-1] - 1, *(chance.randrange(len(log)) for _ in range(15))}
        for cut in sorted(cuts):
            expected = max(sum(end <= cut for end in commits) - before, 0)
            for name, content in ("cut", log[:cut]), ("zeros", log[:cut] + bytes(len(log) - cut)):
                if name == "zeros" and not any(log[cut : cut + self.FRAME]):
                    continue
                folder = tmp_path / f"{name}-{cut}"
                assert self._entries(folder, path, content, chapter) == expected, f"{name} at {cut}, commits {commits}"

    def _entries(self, folder: Path, path: Path, log: bytes, chapter: Chapter) -> int:
        folder.mkdir()
        copy = shutil.copy(path, folder)
        Path(f"{copy}-wal").write_bytes(log)
        tally = Tally("half-written log", 0)
        found = tally.entries(str(copy), chapter)
        assert not tally.faults
        return found
