"""Stores of every format that was ever released are read as they were written, on SQLite and on PostgreSQL."""

import csv
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import psycopg
import pytest

import domain.application
from domain import Refusal, state_hash
from domain.check import Check
from domain.codec import Codec, CorruptRecordError, NewerRecordError
from domain.recorder import FORMAT
from soulrift import store as stores
from tests.golden import make_stores
from tests.golden.make_stores import files

FORMATS = sorted(int(path.stem.removeprefix("store-")) for path in make_stores.FOLDER.glob("store-*.db"))

Row = tuple[Any, ...]


def lines_of(number: int) -> dict[str, list[bytes]]:
    """The lines of each match, in order."""
    lines: dict[str, list[bytes]] = {}
    for told in files(number)[2].read_bytes().splitlines():
        match, line = told.split(b"\t", 1)
        lines.setdefault(match.decode(), []).append(line)
    return lines


def csv_rows(number: int) -> dict[str, list[list[str]]]:
    """The rows of each table for PostgreSQL; the first of them has the names of the columns."""
    tables: dict[str, list[list[str]]] = {}
    with files(number)[1].open(encoding="utf-8", newline="") as file:
        for table, *row in csv.reader(file):
            tables.setdefault(table, []).append(row)
    return tables


def sqlite_rows(path: Path, sql: str) -> list[Row]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def loaded(store: str, number: int) -> str:
    """The golden rows in a fresh store on PostgreSQL, with their positions, as a restore would have them."""
    stores.create(store).close()
    with psycopg.connect(store) as connection:
        for table, (columns, *rows) in csv_rows(number).items():
            connection.execute(f"DELETE FROM {table}".encode())
            marks = ", ".join(["%s"] * len(columns))
            insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
            connection.cursor().executemany(insert.encode(), rows)
        connection.execute(
            "SELECT setval('stored_events_notification_id_seq', (SELECT max(notification_id) FROM stored_events))"
        )
    return store


@pytest.fixture(params=FORMATS, ids=lambda number: f"format {number}")
def number(request: pytest.FixtureRequest) -> int:
    chosen: int = request.param
    return chosen


@pytest.fixture(params=["sqlite", "postgres"])
def golden(request: pytest.FixtureRequest, number: int, tmp_path: Path) -> str:
    """A golden store: a copy of the file, or the rows on PostgreSQL."""
    if request.param == "postgres":
        return loaded(request.getfixturevalue("postgres_store"), number)
    return str(shutil.copy(files(number)[0], tmp_path / "golden.db"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the newest golden file."""
    return Path(shutil.copy(files()[0], tmp_path / "golden.db"))


class TestEveryFormat:
    """A store stays readable, byte for byte, whatever comes after."""

    def test_lines_are_those_that_were_written(self, golden: str, number: int) -> None:
        """Every entry has its line, and folding the events, with and without snapshots, leads to its state hash."""
        expected = lines_of(number)
        assert (len(expected), sum(map(len, expected.values()))) == (11, 187)
        with stores.open_to_read(golden) as matches:
            for match, lines in expected.items():
                entries = list(matches.entries(match))
                assert [entry.line for entry in entries] == lines
                for entry in entries:
                    assert state_hash(matches.state(match, entry.number)) == json.loads(entry.line)["state_hash"]
                assert state_hash(matches.state(match)) == json.loads(lines[-1])["state_hash"]

    def test_check_finds_it_sound(self, golden: str, number: int) -> None:
        """Its commands, judged again by this version, lead to what was recorded by the one that wrote it."""
        expected = lines_of(number)
        events = sum(len(json.loads(line)["events"]) for lines in expected.values() for line in lines)
        with stores.open_to_read(golden) as matches:
            check = Check(matches.recorder)
            assert list(check.faults()) == []
        found = (check.matches, check.entries, check.rows, check.snapshots)
        assert found == (len(expected), sum(map(len, expected.values())), events, 2)

    def test_reading_changes_nothing(self, number: int, tmp_path: Path) -> None:
        """A file that may only be read is read, and left as it is."""
        path = Path(shutil.copy(files(number)[0], tmp_path / "golden.db"))
        path.chmod(0o444)
        with stores.open_to_read(str(path)) as matches:
            assert {match: len(list(matches.entries(match))) for match in lines_of(number)}["disputed"] == 23
        assert path.read_bytes() == files(number)[0].read_bytes()

    def test_it_is_played_on(self, golden: str, number: int) -> None:
        """Retries by the recorded ids are answered with the recorded entries, and new commands are appended."""
        lines = lines_of(number)["disputed"]
        commands = [json.dumps(json.loads(line)["command"]) for line in lines]
        with stores.open_to_write(golden) as matches:
            answers = [matches.start(commands[0]), *matches.give_all("disputed", commands[1:])]
            assert [not isinstance(answer, Refusal) and answer.repeated for answer in answers] == [True] * len(lines)
            assert [not isinstance(answer, Refusal) and answer.entry.line for answer in answers] == lines
            assert matches.give("disputed", '{"type": "release"}').entry.number == len(lines) + 1
            check = Check(matches.recorder)
            assert (list(check.faults()), check.entries) == ([], 188)

    def test_file_and_rows_are_the_same_record(self, number: int) -> None:
        """The golden file and the golden rows hold the same, in the same order of the log."""
        tables = csv_rows(number)
        in_order = sorted(tables["stored_events"][1:], key=lambda row: int(row[4]))
        events = [(*row[:3], bytes.fromhex(row[3].removeprefix("\\x"))) for row in in_order]
        found = sqlite_rows(files(number)[0], "SELECT * FROM stored_events ORDER BY rowid")
        assert [(match, str(version), topic, state) for match, version, topic, state in found] == events
        for table in ("command_ids", "store_format"):
            rows = sqlite_rows(files(number)[0], f"SELECT * FROM {table}")
            assert sorted(tables[table][1:]) == sorted([str(value) for value in row] for row in rows)
        assert tables["store_format"][1:] == [[str(number)]]


class TestThisFormat:
    """What this version writes is of the format that it says."""

    def test_golden_stores_are_there(self, tmp_path: Path) -> None:
        """Every format up to this one has its golden files; they are not made anew."""
        assert list(range(1, FORMAT + 1)) == FORMATS
        before = [path.read_bytes() for path in files()]
        done = subprocess.run(
            [sys.executable, "-m", "tests.golden.make_stores"],
            cwd=make_stores.FOLDER.parents[1],
            env={"TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr == (
            f"store-{FORMAT}.db, store-{FORMAT}.csv, store-{FORMAT}.lines are there already; "
            "what was written once is not written anew\n"
        )
        assert [path.read_bytes() for path in files()] == before

    def test_rows_are_written_as_ever(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The recorded commands, played today, leave the golden rows: other bytes would be another format."""
        monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", make_stores.INTERVAL)
        path = tmp_path / "today.db"
        with stores.open_to_write(str(path)) as matches:
            for match, lines in lines_of(FORMAT).items():
                commands = [json.dumps(json.loads(line)["command"]) for line in lines]
                matches.start(commands[0])
                for command in commands[1:]:
                    matches.give(match, command)
        for table in make_stores.TABLES:
            order = {"stored_events": "rowid", "store_format": "1"}.get(table, "1, 2")
            sql = f"SELECT * FROM {table} ORDER BY {order}"
            assert sqlite_rows(path, sql) == sqlite_rows(files()[0], sql)


# ------------------------------------------------------------ what is newer


class TestNewer:
    """What a newer Soulrift wrote is named as that, in one line."""

    @pytest.mark.parametrize(
        ("arguments", "status"),
        [
            (("show", "disputed"), 1),
            (("events", "disputed"), 1),
            (("play", "examples/disputed.jsonl"), 1),
            (("check",), 3),
        ],
    )
    def test_row_of_a_newer_version(self, copy: Path, arguments: tuple[str, ...], status: int) -> None:
        """Every command that reads such a row says so in one line, and does nothing else with it."""
        row = sum(len(json.loads(line)["events"]) for line in lines_of(FORMAT)["disputed"])  # the last, a turn's
        edit = f"UPDATE stored_events SET topic='turn_began.v9' WHERE topic='turn_began.v1' AND rowid={row}"
        with closing(sqlite3.connect(copy)) as connection, connection:
            assert connection.execute(edit).rowcount == 1
        before = sqlite_rows(copy, "SELECT * FROM stored_events")
        done = subprocess.run(
            [sys.executable, "-m", "soulrift", *arguments, "--db", str(copy)],
            cwd=make_stores.FOLDER.parents[1],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status
        (line,) = done.stderr.splitlines()
        assert line.startswith(
            f'unverifiable: "disputed", entry 23, row {row}: ' if arguments == ("check",) else "error: "
        )
        assert "was written by a newer Soulrift" in line
        assert sqlite_rows(copy, "SELECT * FROM stored_events") == before

    def test_store_of_a_newer_format(self, golden: str) -> None:
        """A store of a newer format is refused, to read and to write, before anything else of it is read."""
        sql = f"UPDATE store_format SET format={FORMAT + 1}"
        if stores.is_postgres(golden):
            with psycopg.connect(golden) as connection:
                connection.execute(sql.encode())
        else:
            with closing(sqlite3.connect(golden)) as file, file:
                file.execute(sql)
        for opened in (stores.open_to_read, stores.open_to_write, stores.create):
            with pytest.raises(
                click.UsageError, match=f"format {FORMAT + 1}, this Soulrift knows formats up to {FORMAT}"
            ):
                opened(golden)


class TestNextVersion:
    """A version to come, with an event of another shape, reads what this one wrote."""

    @pytest.fixture
    def upcast(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
        """This program as if `soul_released` had got its shape in version 3; how often each step was taken."""
        steps: list[str] = []

        def step(name: str) -> Any:
            def lead_on(shape: dict[str, Any]) -> dict[str, Any]:
                steps.append(name)
                return shape

            return lead_on

        upcasters = {("soul_released", 1): step("1 to 2"), ("soul_released", 2): step("2 to 3")}

        def next_codec() -> Codec:
            return Codec({"soul_released": 3}, upcasters)

        monkeypatch.setattr("domain.application.Codec", next_codec)
        monkeypatch.setattr("domain.check.Codec", next_codec)
        yield steps
        assert steps.count("1 to 2") == steps.count("2 to 3") > 0

    def test_it_reads_and_checks_and_plays_on(self, golden: str, number: int, upcast: list[str]) -> None:
        """Lines and states are those that were written; old rows are sound, and new ones are of the new version."""
        assert upcast == []
        with stores.open_to_write(golden) as matches:
            for match, lines in lines_of(number).items():
                assert [entry.line for entry in matches.entries(match)] == lines
                assert state_hash(matches.state(match)) == json.loads(lines[-1])["state_hash"]
            assert list(Check(matches.recorder).faults()) == []
            matches.give("disputed", '{"type": "release"}')
            topics = matches.recorder.query("SELECT topic FROM stored_events WHERE originator_id='disputed'")
            assert topics.count(("soul_released.v3",)) == 1
            assert topics.count(("soul_released.v1",)) > 1
            assert list(Check(matches.recorder).faults()) == []

    def test_present_version_refuses_what_the_next_wrote(self, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The way back is barred: the new rows are named, and not folded by guess."""
        with monkeypatch.context() as later:
            later.setattr("domain.application.Codec", lambda: Codec({"soul_released": 2}, {("soul_released", 1): dict}))
            with stores.open_to_write(str(copy)) as matches:
                matches.give("disputed", '{"type": "release"}')
        with stores.open_to_read(str(copy)) as matches:
            for read in (lambda: list(matches.entries("disputed")), lambda: matches.state("disputed")):
                with pytest.raises(NewerRecordError, match=r"soul_released\.v2 was written by a newer Soulrift"):
                    read()
            assert [fault.kind for fault in Check(matches.recorder).faults()] == ["unverifiable"]


class TestUpcasters:
    """A chain that leads nowhere is noticed before anything is read; one that fails, where it is read."""

    @pytest.mark.parametrize(
        ("versions", "upcasters"),
        [
            pytest.param({"soul_released": 4}, [("soul_released", 1), ("soul_released", 3)], id="gap"),
            pytest.param({"soul_released": 2}, [("soul_released", 1), ("soul_released", 2)], id="from the newest on"),
            pytest.param(
                {"soul_released": 2}, [("soul_released", 0), ("soul_released", 1)], id="from before the first"
            ),
            pytest.param({}, [("soul_released", 1)], id="to itself"),
            pytest.param({}, [("banished", 1)], id="from an unknown event"),
            pytest.param({"banished": 2}, [("banished", 1)], id="of an unknown event"),
        ],
    )
    def test_chain_that_leads_nowhere(self, versions: dict[str, int], upcasters: list[tuple[str, int]]) -> None:
        """A gap, a circle, a step that nobody takes, an event that is none: an error when the codec is built."""
        with pytest.raises(ValueError, match="upcaster chain is broken"):
            Codec(versions, dict.fromkeys(upcasters, dict))

    @pytest.mark.parametrize("state", [b"[]", b"{}", b"", b"{"])
    def test_old_row_that_is_no_such_object(self, state: bytes) -> None:
        """Damaged bytes of an old version are named as damage, whatever the upcaster makes of them."""
        codec = Codec({"soul_released": 2}, {("soul_released", 1): lambda shape: dict(shape.items())})
        with pytest.raises(CorruptRecordError, match=r"soul_released\.v1 cannot be read"):
            codec.event("soul_released.v1", state)
