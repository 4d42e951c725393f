"""Players and databases are killed at random moments; nothing that was acknowledged is lost, nothing is done twice."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import psycopg
import pytest
from eventsourcing.persistence import Notification

import domain.postgres_sessions
from domain.check import Check
from soulrift import store as stores
from tests.postgres import Server, fresh_schema, server
from tests.torture import (
    KILLS,
    SEED,
    SERVER_KILLS,
    Chapter,
    Player,
    Tally,
    command_line,
    kill_players,
    kill_server,
    library,
    program,
    restart,
    wait_until,
)

RELEASE = '{"type": "release"}'

HELD_COMMIT = """
CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER held AFTER INSERT ON stored_events DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION held();
"""
"""Lets each COMMIT of events wait, before anything is committed, for as long as somebody holds lock 7."""


def start(match: str) -> str:
    return json.dumps({"type": "start_match", "match": match, "players": [{"player": "ada"}, {"player": "bo"}]})


def assert_kept(tally: Tally) -> None:
    assert not tally.faults, "\n".join(tally.faults)
    assert tally.acknowledged <= tally.found


class TestKilledPlayer:
    """A player is killed, and the next one goes on with the same script from its start."""

    def test_nothing_acknowledged_is_lost_and_nothing_is_done_twice(self, durable_store: str, tmp_path: Path) -> None:
        """The entries after each kill are those acknowledged, whole, and in the end every command has one effect."""
        tally = kill_players(durable_store, tmp_path)
        assert_kept(tally)
        assert tally.kills == KILLS
        assert tally.unfinished >= KILLS // 2
        assert tally.snapshots

    def test_store_that_was_being_made(self, tmp_path: Path) -> None:
        """A player killed while it makes its store leaves none, or one that the next player makes whole."""
        chance, tally = Random(SEED), Tally("while a store is made", SEED)
        for number in range(max(KILLS // 3, 2)):
            chapter, path = Chapter(tmp_path, f"birth-{number}", turns=2), tmp_path / f"{number}.db"
            store = str(path)
            with Player(command_line(store, chapter.path)) as player:
                wait_until(path.exists)
                time.sleep(chance.uniform(0, 0.01))
                player.kill()
                player.end()
            tally.kills += 1
            stored = tally.entries(store, chapter)
            assert player.acknowledged <= stored <= player.acknowledged + 1, f"seed {SEED}"
            assert program("play", str(chapter.path), "--db", store).returncode == 0
            tally.everything_once(store, chapter)
        assert_kept(tally)


class TestKilledServer:
    """PostgreSQL is killed while matches are played."""

    def test_nothing_acknowledged_is_lost_and_nothing_is_done_twice(self, tmp_path: Path) -> None:
        """Players get over it: with `meta.id` every command has one effect; without, none is lost or done twice."""
        with server("--no-sync") as running:
            tally = kill_server(running, tmp_path)
        assert_kept(tally)
        assert tally.kills == SERVER_KILLS
        assert tally.unfinished >= SERVER_KILLS // 2
        assert set(tally.errors) <= {"ConnectionLostError", "OperationalError", "OutcomeUnknownError"}

    def test_outage_is_waited_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A command is tried again for as long as is promised, though the wait for a connection ends before that."""
        monkeypatch.setattr(domain.postgres_sessions, "CONNECT_SECONDS", 0.8)  # the promise is 10 seconds
        with server("--no-sync") as running, stores.create(running.url) as matches, ThreadPoolExecutor(1) as thread:
            matches.start(start("duel"))
            running.kill()
            giving = thread.submit(matches.give, "duel", RELEASE)
            with pytest.raises(TimeoutError):
                giving.result(1.2)
            restart(running)
            assert giving.result().entry.number == 2


@pytest.fixture(scope="module")
def forgetful() -> Iterator[Server]:
    """A server that does not write down by itself which ids it gave."""
    with server("--no-sync", options=("-c", "wal_writer_delay=10s", "-c", "autovacuum=off")) as started:
        yield started


class TestKilledServerAndTransactionIds:
    """The server forgets the ids of transactions that a crash took, and gives them to the next ones."""

    @pytest.mark.parametrize("others", ["none", "committed", "in progress"])
    def test_commit_that_a_crash_took_is_made_again(self, forgetful: Server, tmp_path: Path, others: str) -> None:
        """A command whose COMMIT a crash undid is given again, whatever became of the one that got its id."""
        door = tmp_path / "door"  # to the server's socket: one that can be closed
        door.symlink_to(forgetful.folder)
        with (
            fresh_schema(forgetful.url, others.replace(" ", "_")) as store,
            stores.create(store.replace(str(forgetful.folder), str(door))) as matches,
            ThreadPoolExecutor(1) as thread,
            psycopg.connect(store, autocommit=True) as asking,
        ):
            matches.start(start("duel"))
            asking.execute(HELD_COMMIT)
            asking.execute("SELECT pg_advisory_lock(7)")
            giving = thread.submit(matches.give, "duel", RELEASE)
            held = b"SELECT backend_xid::text FROM pg_stat_activity WHERE wait_event = 'advisory'"
            wait_until(lambda: asking.execute(held).fetchone() is not None)
            ((lost,),) = asking.execute(held)
            forgetful.kill()
            door.unlink()
            restart(forgetful)
            with psycopg.connect(store) as other:
                if others != "none":
                    assert other.execute("SELECT pg_current_xact_id()::text").fetchone() == (lost,)
                if others == "committed":
                    other.commit()
                door.symlink_to(forgetful.folder)
                assert giving.result().entry.number == 2
                assert [entry.number for entry in matches.entries("duel")] == [1, 2]
                assert other.execute("SELECT 1").fetchone() == (1,)


CLOCK = """
import itertools, time
now, hours = time.time, itertools.count()
time.time = lambda: now() - 3600 * next(hours)
"""
"""A clock that is put back by an hour whenever somebody looks at it."""


def date_backwards(script: Path) -> None:
    """Give each command of a script an earlier `meta.at` than the one before."""
    commands = [json.loads(line) for line in script.read_text().splitlines()]
    for number, command in enumerate(commands):
        command["meta"] = {"at": f"2026-03-14T18:{59 - number // 60:02}:{59 - number % 60:02}Z"}
    script.write_text("".join(f"{json.dumps(command)}\n" for command in commands))


def test_clock_that_goes_backwards_changes_no_order(durable_store: str, tmp_path: Path) -> None:
    """Entries and positions rise though the clock and `meta.at` fall; a reader by position misses no event."""
    (tmp_path / "sitecustomize.py").write_text(CLOCK)
    clock = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
    falls = [sys.executable, "-c", "import time; assert time.time() - time.time() > 3000"]
    assert subprocess.run(falls, env=os.environ | clock, check=False).returncode == 0
    stores.create(durable_store).close()
    chapters = [Chapter(tmp_path, name, turns=20) for name in ("one", "two")]  # 141 commands, 201 events each
    for chapter in chapters:
        date_backwards(chapter.path)
    seen = list[Notification]()
    with (
        stores.open_to_read(durable_store) as matches,
        Player(library(durable_store, chapters[0].path), **clock) as one,
        Player(command_line(durable_store, chapters[1].path, batch=7), **clock) as two,
    ):
        for last_look in iter(lambda: one.has_ended() and two.has_ended(), None):
            while more := matches.recorder.select_notifications(seen[-1].id + 1 if seen else None, 10):
                seen += more
            if last_look:
                break
        assert (one.end(), two.end()) == (0, 0)
        assert (one.acknowledged, two.acknowledged) == (141, 141)
        assert list(Check(matches.recorder).faults()) == []
    positions = [event.id for event in seen]
    assert positions == sorted(set(positions))
    for name in ("one", "two"):
        assert [event.originator_version for event in seen if event.originator_id == name] == [*range(1, 202)]
