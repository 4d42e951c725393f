"""Processes that follow a store (`python -m tests.followers`), and what views must hold by the plain function.

`recomputed` knows nothing of batches, positions or databases of views: it folds the entries of a store one by one.
"""

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import projections.follower
from domain.application import Matches
from domain.codec import Seal
from domain.entry import Entry
from domain.rules import State
from projections.follower import Follower
from projections.models import MODELS
from projections.opening import views_in_memory, views_of
from projections.read_model import Changes, LoggedEntry, ReadModel, Taker
from projections.tables import Record, Table
from projections.views import Progress, Views
from soulrift import store as stores
from tests.writers import begun, log_of, wait_until

Rows = dict[str, list[Record]]
"""The rows of each table, by its name, in the order of their keys."""


# ------------------------------------------------------------ what views hold, and what they must hold


def rows_of(views: Views) -> Rows:
    """All that views hold, but for how far they tell."""
    return {
        table.name: _by_key(table, views.query(f"SELECT {', '.join(table.columns)} FROM {table.name}"))
        for table in views.tables
    }


def recomputed(matches: Matches, models: Iterable[ReadModel] = MODELS, up_to: int | None = None) -> Rows:
    """What views of the log up to this position must hold, or of all of it."""
    models = tuple(models)
    rows = dict[Table, list[Record]]()
    last = {(match, version): position for position, match, version in log_of(matches)}
    names = dict.fromkeys(match for match, _ in last)  # in the order in which they began
    for number, match in enumerate(names, 1):
        state = State()
        for entry in matches.entries(match):
            if up_to is None or last[match, entry.events[-1].n] <= up_to:
                for table, more in _taken(models, match, number, entry, state).items():
                    rows[table] = table.merged(rows.get(table, []) + more)
    return {table.name: _by_key(table, rows.get(table, [])) for model in models for table in model.tables}


def _taken(models: Iterable[ReadModel], match: str, number: int, entry: Entry, state: State) -> Changes:
    """The rows of an entry by itself."""
    at = (json.loads(entry.command_json).get("meta") or {}).get("at")
    changes, taker = Changes(), Taker(models)
    taker.take(changes, LoggedEntry(match, number, entry.events, lambda: Seal(entry.line_hash, at)), state)
    taker.finish(changes)
    return changes


def _by_key(table: Table, rows: list[Record]) -> list[Record]:
    return sorted(rows, key=lambda row: row[: table.key])


def where_they_differ(rows: Rows, expected: Rows) -> list[str]:
    """The tables whose rows are not those expected, and how."""
    names = rows.keys() | expected.keys()
    return [
        f"{name}: {[row for row in rows.get(name, []) if row not in expected.get(name, [])]} instead of "
        f"{[row for row in expected.get(name, []) if row not in rows.get(name, [])]}"
        for name in sorted(names)
        if rows.get(name) != expected.get(name)
    ]


def assert_as_recomputed(matches: Matches, views: Views) -> None:
    """The views hold what the plain function makes of the whole log, and tell that they do."""
    assert where_they_differ(rows_of(views), recomputed(matches, MODELS)) == []
    log = log_of(matches)
    progress = views.progress()
    assert (progress.position, progress.events) == (log[-1][0], len(log))
    assert progress.matches == len({match for _, match, _ in log})


def assert_as_rebuilt(matches: Matches, views: Views) -> None:
    """The views hold what others hold that are made of the whole log at once."""
    with opened(matches, in_memory=True) as (other, follower):
        follower.up_to_date()
        assert where_they_differ(rows_of(views), rows_of(other)) == []
        assert views.progress() == other.progress()


# ------------------------------------------------------------ followers of this process


@contextmanager
def opened(
    matches: Matches, models: Iterable[ReadModel] = MODELS, *, in_memory: bool = False
) -> Iterator[tuple[Views, Follower]]:
    """The views of these matches with a follower of its own, closed afterwards."""
    views = views_in_memory(models) if in_memory else views_of(matches, models)
    try:
        yield views, Follower(matches, views)
    finally:
        views.close()


def brought_up_to_date(matches: Matches) -> Progress:
    """Bring the views of these matches up to date; how far they tell then."""
    with opened(matches) as (views, follower):
        follower.up_to_date()
        return views.progress()


# ------------------------------------------------------------ followers that are processes


class FollowerProcess:
    """A process that has the views of a store open, and follows it for ever."""

    def __init__(self, store: str, batch: int, **environment: str) -> None:
        self._process = begun("tests.followers", "follow", store, str(batch), **environment)
        self.said = list[int]()
        """How many rows it has taken in, as it said."""

    def hear(self) -> str:
        """The next line that it says: "ready", then how many rows it has taken in so far."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def hear_of(self, rows: int) -> None:
        """Wait until it has taken in so many rows."""
        while not self.said or self.said[-1] < rows:
            said = self.hear()
            assert said, self._process.communicate()
            self.said.append(int(said.split()[0]))

    def send(self, how: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(how)

    def stop(self) -> None:
        """Let it stand still, and wait until it does."""
        self.send(signal.SIGSTOP)
        wait_until(lambda: os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT | os.WNOHANG) is not None)

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        self._process.kill()
        self._process.communicate()

    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None


@contextmanager
def following(store: str, batch: int = 2_000, **environment: str) -> Iterator[FollowerProcess]:
    """A process that follows, ready; it is gone afterwards."""
    process = FollowerProcess(store, batch, **environment)
    try:
        assert process.hear() == "ready"
        yield process
    finally:
        process.kill()


def _grown(numbers: Iterable[int | None]) -> Iterator[int]:
    """The sum of all numbers so far, whenever it is another one."""
    total = 0
    for number in filter(None, numbers):
        total += number
        yield total


def main(what: str, store: str, *arguments: str) -> None:
    """Open the views of a store as soon as told to, or "follow" it for ever, saying how many rows were taken in."""
    if what == "open":
        _say("ready")
        sys.stdin.readline()
    with stores.open_to_read(store) as matches, opened(matches) as (views, follower):
        if what == "follow":
            vars(projections.follower)["BATCH"] = int(arguments[0])
            _say("ready")
            for taken in _grown(follower.follow()):
                _say(f"{taken}  rows of the log")
        follower.up_to_date()
        _say(views.progress().events)
        if what == "stay":
            sys.stdin.readline()


def _say(what: Any) -> None:
    print(what, flush=True)  # noqa: T201 - into the pipe


if __name__ == "__main__":
    main(*sys.argv[1:])
