"""Several processes write to one store at once: none waits in vain, nothing is lost, doubled or torn apart."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from itertools import chain, groupby
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import psycopg
import pytest

from domain import decode_command, play
from domain.application import Logged, Matches
from domain.batch import Answer
from domain.codec import Codec
from soulrift import store
from tests.writers import (
    COMMANDS,
    EVENTS,
    assert_sound,
    begun,
    finished,
    log_of,
    play_at_once,
    players,
    program,
    release,
    start,
    wait_until,
    writers,
)

ROUNDS = int(os.environ.get("SOULRIFT_TEST_COMMANDS", "500")) // COMMANDS
"""How many rounds of five commands each process plays."""


def make(name: str, matches: list[str]) -> None:
    """A store with these matches."""
    with store.create(name) as opened:
        for match in matches:
            opened.start(start(match))


class TestWriters:
    """Four processes."""

    def test_one_match(self, durable_store: str) -> None:
        """In one match: all commands are there once, numbered from 1, each with its own events in a row."""
        make(durable_store, ["duel"])
        play_at_once(durable_store, ROUNDS, [["duel"]] * 4)
        assert_sound(durable_store, entries=1 + 4 * COMMANDS * ROUNDS, rows=1 + 4 * EVENTS * ROUNDS)
        with store.open_to_read(durable_store) as matches:
            numbers = [entry.number for entry in matches.entries("duel")]
            assert numbers == list(range(1, 2 + 4 * COMMANDS * ROUNDS))
            assert_contiguous(log_of(matches), matches)

    def test_many_matches(self, durable_store: str) -> None:
        """In 25 matches of its own each: all commands are there once, and entries do not mix in the log."""
        names = [[f"{writer}-{n}" for n in range(25)] for writer in range(4)]
        make(durable_store, [*chain.from_iterable(names)])
        play_at_once(durable_store, ROUNDS, names)
        assert_sound(durable_store, entries=100 + 4 * COMMANDS * ROUNDS, rows=100 + 4 * EVENTS * ROUNDS)
        with store.open_to_read(durable_store) as matches:
            assert_contiguous(log_of(matches), matches)

    def test_matches_begun_at_once(self, durable_store: str) -> None:
        """Threads that begin nameless matches at once get a name each."""
        store.create(durable_store).close()
        answers = at_once(durable_store, [lambda matches: matches.start(start(None))] * 4, rounds=5)
        names = sorted(answer.match for answer in chain.from_iterable(answers))
        assert names == sorted(["match", *(f"match-{n}" for n in range(2, 21))])


def assert_contiguous(log: list[tuple[Any, ...]], matches: Matches) -> None:
    """The rows of every entry are next to each other in the log, in order."""
    entry_of = {
        (match, event.n): (match, entry.number)
        for match in {match for _, match, _ in log}
        for entry in matches.entries(match)
        for event in entry.events
    }
    in_a_row = [entry for entry, _ in groupby(entry_of[match, version] for _, match, version in log)]
    assert len(in_a_row) == len(set(in_a_row))
    versions = dict[str, int]()
    for _, match, version in log:
        assert version == versions.get(match, 0) + 1
        versions[match] = version


def at_once(name: str, asked: list[Callable[[Matches], Answer]], rounds: int) -> list[list[Answer]]:
    """Threads with applications of their own ask each a thing at the same moment, again and again."""
    barrier, answers = Barrier(len(asked), timeout=30), list[list[Answer]]()

    def ask(matches: Matches, what: Callable[[Matches], Answer], given: list[Answer]) -> None:
        for _ in range(rounds):
            barrier.wait()
            given.append(what(matches))

    with ExitStack() as stack:
        threads = list[Thread]()
        for what in asked:
            answers.append([])
            opened = stack.enter_context(store.open_to_write(name))
            threads.append(Thread(target=ask, args=(opened, what, answers[-1])))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [len(given) for given in answers] == [rounds] * len(asked)
    return answers


class TestRetriesAtOnce:
    """The same `meta.id`, twice at the same time."""

    def test_has_one_effect(self, durable_store: str) -> None:
        """Two processes give the same command at once: one of them makes the entry, the other is told of it."""
        make(durable_store, ["duel"])
        rounds = 100
        with writers([("relay", durable_store)] * 2) as both:
            for number in range(2, rounds + 2):
                for writer in both:
                    writer.tell("duel\t" + release(id=f"{number}"))
                assert sorted(writer.hear() for writer in both) == [f"new {number}", f"repeated {number}"]
        assert_sound(durable_store, entries=rounds + 1, rows=rounds + 1)

    def test_with_other_content_is_refused_to_one(self, durable_store: str) -> None:
        """Two processes give different commands with the same id at once: one is stored, the other refused."""
        make(durable_store, ["duel"])
        with writers([("relay", durable_store)] * 2) as both:
            for number in range(2, 32):
                for rank, writer in enumerate(both):
                    writer.tell("duel\t" + release(rank, id=f"{number}"))
                assert sorted(writer.hear() for writer in both) == [f"new {number}", "refused at /meta/id"]
        assert_sound(durable_store, entries=31, rows=31)

    def test_expect_lets_one_through(self, durable_store: str) -> None:
        """Of two processes that expect the same number of entries one is first, and the other is refused."""
        make(durable_store, ["duel"])
        with writers([("relay", durable_store)] * 2) as both:
            for number in range(2, 32):
                for writer in both:
                    writer.tell("duel\t" + release(expect=number - 1))
                assert sorted(writer.hear() for writer in both) == [f"new {number}", "refused at /meta/expect"]
        assert_sound(durable_store, entries=31, rows=31)


class TestMakingAStore:
    """Several processes make the same store at once."""

    def test_init(self, durable_store: str) -> None:
        """Eight `soulrift init` at once all succeed, and say the same; the store can be used."""
        ends = [finished(process) for process in [begun("soulrift", "init", "--db", durable_store) for _ in range(8)]]
        assert [(end.returncode, end.stderr) for end in ends] == [(0, "")] * 8
        assert len({end.stdout for end in ends}) == 1
        with store.open_to_write(durable_store) as matches:
            matches.start(start())
        assert_sound(durable_store, entries=1, rows=1)

    def test_create(self, durable_store: str, tmp_path: Path) -> None:
        """Eight threads at once make a store where there is none, time after time."""
        barrier, failed = Barrier(8, timeout=30), list[BaseException]()

        def create(place: str) -> None:
            barrier.wait()
            try:
                store.create(place).close()
            except BaseException as error:  # noqa: BLE001 - told below
                failed.append(error)

        places = [durable_store] if store.is_postgres(durable_store) else [str(tmp_path / f"{n}.db") for n in range(20)]
        for place in places:
            threads = [Thread(target=create, args=(place,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failed == []
            store.open_to_read(place).close()

    def test_play_into_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        """Eight `soulrift play` at once make one file, and each plays its script into it."""
        path = str(tmp_path / "store.db")
        for n in range(8):
            lines = [start(f"duel-{n}"), *(release(id=f"{m}") for m in range(n + 10))]
            (tmp_path / f"{n}.jsonl").write_text("\n".join(lines))
        playing = [begun("soulrift", "play", str(tmp_path / f"{n}.jsonl"), "--db", path) for n in range(8)]
        ends = [finished(process) for process in playing]
        assert [(end.returncode, end.stderr) for end in ends] == [(0, "")] * 8
        entries = sum(n + 11 for n in range(8))
        assert entries == 116
        assert_sound(path, entries=entries, rows=entries)
        assert program("check", "--db", path).returncode == 0


class TestFollowers:
    """Who follows the log while others write."""

    def test_miss_nothing(self, durable_store: str) -> None:
        """A reader that always asks for what comes after the last position sees each row once, in order."""
        make(durable_store, ["duel", "other"])
        seen, told = list[tuple[Any, ...]](), list[Logged]()
        with (
            store.open_to_read(durable_store) as reader,
            players(durable_store, 25, [["duel"], ["other"], ["duel", "other"], ["other", "duel"]]) as playing,
        ):
            for writer in playing:
                writer.tell()
            ended = False
            while not ended:
                ended = all(writer.has_ended() for writer in playing)
                follow(reader, seen)
                told += reader.logged(told[-1].position if told else 0)
            for writer in playing:
                writer.end()
            assert seen == log_of(reader)
            assert len(seen) == 2 + 4 * 25 * EVENTS
            assert_contiguous(seen, reader)
            assert sum(len(each.entry.events) for each in told) == len(seen)
            for match in ("duel", "other"):
                assert [each.entry for each in told if each.match == match] == list(reader.entries(match))


def follow(reader: Matches, seen: list[tuple[Any, ...]]) -> None:
    """What is new in the log."""
    while new := reader.recorder.select_notifications(seen[-1][0] if seen else 0, 30, inclusive_of_start=False):
        seen += [(row.id, row.originator_id, row.originator_version) for row in new]


class TestForeignWriters:
    """On PostgreSQL somebody may insert without queueing."""

    @pytest.mark.parametrize("command", [release(3), release(2, id="a")], ids=["another command", "the same command"])
    def test_command_is_decided_again(self, postgres_store: str, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
        """A row that comes between the reading of the tail and the insert is neither lost nor doubled."""
        with store.create(postgres_store) as matches:
            matches.start(start())
            state = matches.state("duel")
            with monkeypatch.context() as once:
                insert = matches.recorder.insert_events

                def insert_late(*rows: Any, **more: Any) -> Any:
                    once.undo()
                    insert_beside(postgres_store, play(state, decode_command(command)), command)
                    return insert(*rows, **more)

                once.setattr(matches.recorder, "insert_events", insert_late)
                answer = matches.give("duel", release(2, id="a"))
            same = command == release(2, id="a")
            assert (answer.repeated, answer.entry.number) == (same, 2 if same else 3)
            assert [soul.rank for soul in matches.state("duel").aether.values()] == ([2] if same else [3, 2])
        assert_sound(postgres_store, entries=2 if same else 3, rows=2 if same else 3)


def insert_beside(name: str, entry: Any, command: str) -> None:
    """Insert the rows of an entry as a stranger does."""
    with psycopg.connect(name) as connection:
        for version, topic, state in Codec().rows(entry):
            connection.execute(
                "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (%s, %s, %s, %s)",
                ("duel", version, topic, state),
            )
        if command_id := json.loads(command).get("meta", {}).get("id"):
            connection.execute("INSERT INTO command_ids VALUES (%s, %s, %s)", ("duel", command_id, entry.events[0].n))


def test_waiting_writer_is_seen_to_wait(postgres_store: str) -> None:
    """While one transaction has a match, a writer of it waits, and one of another match does not."""
    with (
        store.create(postgres_store) as first,
        store.open_to_write(postgres_store) as second,
        psycopg.connect(postgres_store, autocommit=True) as asking,
    ):
        for match in ("duel", "other"):
            first.start(start(match))
        waiting = Thread(target=second.give, args=("duel", release()))
        with first.recorder.writing("duel"):
            assert first.recorder.query("SELECT 1") == [(1,)]  # from here on it is the first one's turn
            waiting.start()
            question = b"SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
            wait_until(lambda: asking.execute(question).fetchone() is not None)
            with store.open_to_write(postgres_store) as third:
                assert third.give("other", release()).entry.number == 2
            assert second.recorder.query("SELECT count(*) FROM stored_events") == [(3,)]
        waiting.join()
        assert first.state("duel").entries == 2
