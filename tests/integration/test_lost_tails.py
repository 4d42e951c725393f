"""A program that remembers more of a match than its store: the store was restored, or lost its newest rows."""

from typing import Any

import pytest

from domain.application import Matches, MatchNotFoundError
from domain.check import Check
from soulrift import store

START = '{"type":"start_match","match":"duel","players":[{"player":"ada"},{"player":"bo"}]}'
TABLES = ("stored_events", "stored_snapshots", "command_ids")


def release(rank: int) -> str:
    return f'{{"type":"release","rank":{rank}}}'


def lose(name: str, after: int) -> None:
    """Rows with a greater number are gone, as after a crash of a server that did not wait for its disk."""
    with store.open_to_write(name) as other:
        datastore: Any = other.recorder.datastore  # type: ignore[attr-defined]  # both have one
        for table in TABLES:
            with datastore.transaction(commit=True) as c:
                c.execute(f"DELETE FROM {table} WHERE originator_version > {after}")


def ranks(matches: Matches) -> list[int]:
    return [soul.rank for soul in matches.state("duel").aether.values()]


def test_lost_tail_is_forgotten(durable_store: str) -> None:
    """The next command is decided on what the store has, and leaves no hole."""
    with store.create(durable_store) as matches:
        matches.start(START)
        for rank in (0, 1, 2):
            matches.give("duel", release(rank))
        lose(durable_store, after=2)
        assert matches.give("duel", release(3)).entry.number == 3
        assert ranks(matches) == [0, 3]
        assert list(Check(matches.recorder).faults()) == []


def test_other_tail_takes_the_place_of_the_known_one(durable_store: str) -> None:
    """Where others went on from the restored store, their events count and not those in memory."""
    with store.create(durable_store) as matches, store.open_to_write(durable_store) as other:
        matches.start(START)
        matches.give("duel", release(1))
        matches.give("duel", release(1))
        lose(durable_store, after=2)
        other.give("duel", release(2))
        other.give("duel", release(2))
        assert ranks(matches) == [1, 2, 2]
        assert matches.give("duel", release(3)).entry.number == 5
        assert list(Check(matches.recorder).faults()) == []


def test_deleted_match_is_gone(durable_store: str) -> None:
    """A match that was deleted under a program is not gone on with; its name is free."""
    with store.create(durable_store) as matches:
        matches.start(START)
        matches.give("duel", release(1))
        lose(durable_store, after=0)
        with pytest.raises(MatchNotFoundError):
            matches.give("duel", release(1))
        assert matches.start(START).entry.number == 1
        assert ranks(matches) == []
