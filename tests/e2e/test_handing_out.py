"""`play --checkpoints`, matches of any name, and the identity of a store, which its checkpoints tell."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from replays.checkpoints import parse_checkpoint
from soulrift import store as stores
from tests.e2e.conftest import Run
from tests.evidence import STORE, signed
from tests.golden.make_stores import files
from tests.golden.test_stores import loaded
from tests.recordings import DUEL, lines, root_of

LINES = lines(DUEL)

SIZE = len(LINES)


def script_of(commands: list[dict[str, Any]], **start: Any) -> str:
    """A match script; with other values for fields of its first command."""
    return "".join(json.dumps(command) + "\n" for command in [{**commands[0], **start}, *commands[1:]])


@pytest.fixture
def env(run: Run, tmp_path: Path) -> dict[str, str]:
    """A store that is not there yet, and a folder with one key that signs."""
    made = {"SOULRIFT_DB": "games.db", "SOULRIFT_KEYS": str(tmp_path / "keys")}
    assert run("keys", "new", "games.example/eu", **made).returncode == 0
    return made


# ------------------------------------------------------------ play --checkpoints


class TestPlay:
    """`soulrift play --checkpoints`."""

    @pytest.mark.parametrize(
        ("every", "sizes"), [((), [2, 11]), (("--checkpoint-every", "4"), [2, 4, 8, 11]), (("--batch", "100"), [2, 11])]
    )
    def test_as_a_match_is_played(
        self, run: Run, env: dict[str, str], tmp_path: Path, every: tuple[str, ...], sizes: list[int]
    ) -> None:
        """At turns, at the end and every so many entries a checkpoint is put into the folder; each is exact."""
        (tmp_path / "notes").mkdir()
        assert run("play", "-", "--checkpoints", "notes", *every, stdin=script_of(DUEL), **env).returncode == 0
        notes = sorted((tmp_path / "notes").iterdir())
        assert [path.name for path in notes] == [f"duel-{size:06}.note" for size in sizes]
        held = [word for path in notes for word in ("--checkpoint", str(path))]
        run("export", "duel", "-o", "record", **env)
        done = run("verify", "record", *held, "--format", "json", **env)
        assert [each["size"] for each in json.loads(done.stdout)["matches"][0]["checkpoints"]] == sizes
        assert done.returncode == 0

    @pytest.mark.parametrize("folder", ["notes", "to/be/made"])
    def test_folder_is_made(self, run: Run, env: dict[str, str], tmp_path: Path, folder: str) -> None:
        """A folder that is not there is made, with those above it."""
        assert run("play", "-", "--checkpoints", folder, stdin=script_of(DUEL), **env).returncode == 0
        assert [path.name for path in sorted((tmp_path / folder).iterdir())] == ["duel-000002.note", "duel-000011.note"]

    def test_folder_that_cannot_be_made(self, run: Run, env: dict[str, str], tmp_path: Path) -> None:
        """Where a file is in the way, nothing is played."""
        (tmp_path / "file").write_text("")
        for folder in ("file", "file/notes"):
            done = run("play", "-", "--checkpoints", folder, stdin=script_of(DUEL), **env)
            assert (done.returncode, done.stdout) == (2, "")
            assert folder in done.stderr
        assert not (tmp_path / env["SOULRIFT_DB"]).exists()

    def test_match_that_goes_on(self, run: Run, env: dict[str, str], tmp_path: Path) -> None:
        """Played on later, it gets checkpoints over the whole of it, of the same store."""
        (tmp_path / "notes").mkdir()
        run("play", "-", stdin=script_of(DUEL[:5]), **env)
        rest = "".join(json.dumps(command) + "\n" for command in DUEL[5:])
        done = run("play", "-", "--match", "duel", "--checkpoints", "notes", stdin=rest, **env)
        assert done.returncode == 0
        (path,) = (tmp_path / "notes").iterdir()
        found, _ = parse_checkpoint(path.read_bytes())
        assert (found.size, found.root) == (SIZE, root_of(LINES))
        assert found.origin == parse_checkpoint(run("checkpoint", "duel", **env).stdout.encode())[0].origin

    def test_checkpoint_that_cannot_be_put_there(self, run: Run, env: dict[str, str], tmp_path: Path) -> None:
        """What cannot be handed out is told, for whoever relies on it; the match is played all the same."""
        (tmp_path / "notes" / "duel-000011.note").mkdir(parents=True)
        done = run("play", "-", "--checkpoints", "notes", stdin=script_of(DUEL), **env)
        assert "duel-000011.note" in done.stderr
        assert done.returncode in {0, 1}
        assert len(run("events", "duel", **env).stdout.splitlines()) == SIZE
        assert (tmp_path / "notes" / "duel-000002.note").is_file()

    def test_without_a_key(self, run: Run, tmp_path: Path) -> None:
        """Where nobody can sign, nothing is played."""
        (tmp_path / "notes").mkdir()
        env = {"SOULRIFT_DB": "games.db", "SOULRIFT_KEYS": "nowhere"}
        done = run("play", "-", "--checkpoints", "notes", stdin=script_of(DUEL), **env)
        assert (done.returncode, done.stdout) == (2, "")
        assert run("show", "duel", **env).returncode != 0


# ------------------------------------------------------------ stores


@pytest.mark.parametrize("name", ["../a/b", "😀 the duel, 100% + more", "-", pytest.param("名" * 64, id="long")])
def test_names_of_matches(run: Run, env: dict[str, str], tmp_path: Path, name: str) -> None:
    """Whatever a match is called, it is played with checkpoints, signed, proven and verified."""
    (tmp_path / "notes").mkdir()
    done = run("play", "-", "--checkpoints", "notes", stdin=script_of(DUEL, match=name), **env)
    assert done.returncode == 0
    assert run("checkpoint", "-o", "old.note", "--at", "4", "--", name, **env).returncode == 0
    assert run("prove", "-o", "proof", "--checkpoint", "old.note", "--", name, "2", **env).returncode == 0
    assert run("export", "-o", "record", "--", name, **env).returncode == 0
    notes = sorted((tmp_path / "notes").iterdir())
    held = [word for path in (*notes, "old.note") for word in ("--checkpoint", str(path))]
    assert run("verify", "record", *held, **env).returncode == 0
    assert run("verify", "proof", **env).returncode == 0
    assert [parse_checkpoint(path.read_bytes())[0].match for path in notes] == [name] * 2
    assert run("consistency", "old.note", str(notes[-1]), **env).returncode == 0


def identity_of(done: Any) -> str:
    """Of which store a checkpoint is that was printed."""
    assert done.returncode == 0, done.stderr
    store = parse_checkpoint(done.stdout.encode())[0].store
    assert store is not None
    return store


class TestIdentity:
    """A store is told by its checkpoints from every other one, for as long as it lives."""

    def test_it_stays(self, run: Run, env: dict[str, str], durable_store: str) -> None:
        """It is drawn when it is first needed, and is the same after that, whoever opens the store."""
        env = env | {"SOULRIFT_DB": durable_store}
        run("init", **env)
        assert run("play", "-", stdin=script_of(DUEL), **env).returncode == 0
        with stores.open_to_read(durable_store) as matches:
            assert matches.recorder.identity() is None
        first = identity_of(run("checkpoint", "duel", **env))
        assert identity_of(run("checkpoint", "duel", **env)) == first
        with stores.open_to_go_on(durable_store) as matches:
            assert matches.recorder.identity() == matches.recorder.identify("0" * 16) == first
        assert run("check", **env).returncode == 0

    def test_two_at_once(self, run: Run, env: dict[str, str], durable_store: str) -> None:
        """Programs that need it at the same time for the first time get the same one."""
        env = env | {"SOULRIFT_DB": durable_store}
        run("init", **env)
        run("play", "-", stdin=script_of(DUEL), **env)
        if stores.is_postgres(durable_store):
            with psycopg.connect(durable_store) as connection:
                connection.execute("DROP TABLE IF EXISTS store_identity")
        else:
            with closing(sqlite3.connect(durable_store)) as file, file:
                file.execute("DROP TABLE IF EXISTS store_identity")
        command = [sys.executable, "-m", "soulrift", "checkpoint", "duel"]
        environment = os.environ | env
        started = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) for _ in range(4)
        ]
        told = [process.communicate() for process in started]
        assert [process.returncode for process in started] == [0] * 4, told
        assert len({parse_checkpoint(out)[0].store for out, _ in told}) == 1

    def test_copy_has_the_same(self, run: Run, env: dict[str, str]) -> None:
        """A backup is the same store: what was signed of the one is of the other; another store is another."""
        identities = []
        for store in ("games.db", "other.db"):
            run("play", "-", "--db", store, stdin=script_of(DUEL), **env)
            identities.append(identity_of(run("checkpoint", "duel", "--db", store, **env)))
        assert run("backup", "copy.db", "--db", "games.db").returncode == 0
        identities.append(identity_of(run("checkpoint", "duel", "--db", "copy.db", **env)))
        assert identities[2] == identities[0] != identities[1]

    @pytest.mark.parametrize("kind", ["sqlite", "postgres"])
    def test_store_of_an_older_version(
        self, run: Run, env: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest, kind: str
    ) -> None:
        """A store that has no place for it gets one, and keeps every row and its format; nothing else is made."""
        tables = ("stored_events", "stored_snapshots", "command_ids", "store_format")
        if kind == "sqlite":
            store = str(shutil.copy(files(1)[0], tmp_path / "golden.db"))

            def rows() -> list[Any]:
                with closing(sqlite3.connect(store)) as file:
                    there = file.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name").fetchall()
                    return [there, *(sorted(file.execute(f"SELECT * FROM {each}").fetchall()) for each in tables)]
        else:
            store = loaded(request.getfixturevalue("postgres_store"), 1)
            with psycopg.connect(store) as connection:
                connection.execute("DROP TABLE IF EXISTS store_identity")

            def rows() -> list[Any]:
                with psycopg.connect(store) as connection:
                    there = connection.execute(
                        "SELECT tablename FROM pg_tables WHERE schemaname=current_schema() ORDER BY 1"
                    ).fetchall()
                    found = (connection.execute(f"SELECT * FROM {each}".encode()).fetchall() for each in tables)
                    return [there, *map(sorted, found)]

        before = rows()
        env = env | {"SOULRIFT_DB": store}
        first = identity_of(run("checkpoint", "disputed", **env))
        after = rows()
        assert set(after[0]) - set(before[0]) == {("store_identity",)}
        assert after[1:] == before[1:]
        assert identity_of(run("checkpoint", "disputed", "--at", "5", **env)) == first
        assert run("check", **env).returncode == 0


def test_nothing_is_made_where_nothing_is_signed(run: Run, tmp_path: Path) -> None:
    """Without a key that signs, a store gets no identity; a proof for a checkpoint that is held needs none either."""
    store = str(shutil.copy(files(1)[0], tmp_path / "golden.db"))
    before = Path(store).read_bytes()
    assert run("checkpoint", "disputed", "--db", store, SOULRIFT_KEYS="nowhere").returncode == 2
    with stores.open_to_read(store) as matches:
        entries = [entry.line for entry in matches.entries("disputed")]
    held = tmp_path / "held.note"
    held.write_bytes(signed(entries, "disputed", store=STORE))
    assert run("prove", "disputed", "3", "--checkpoint", str(held), "-o", "p", "--db", store).returncode == 0
    assert Path(store).read_bytes() == before
