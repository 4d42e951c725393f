"""Processes that write to one store at the same time: `python -m tests.writers`, and how to start and ask them.

A writer says when it is ready, and begins when it is told to, so that all of them begin at once.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import psycopg

from domain import Refusal
from domain.application import Matches
from domain.check import Check
from soulrift import store as stores

if TYPE_CHECKING:
    from domain.batch import Answer

ROOT = Path(__file__).parents[1]

DEADLINE = 60.0
"""How many seconds anything may take that is waited for."""


def start(match: str | None = "duel", **more: Any) -> str:
    """The command that begins a match of two."""
    named = {"match": match} if match else {}
    return json.dumps({"type": "start_match", **named, "players": [{"player": "ada"}, {"player": "bo"}], **more})


def release(rank: int = 0, **meta: Any) -> str:
    """A command that makes one event."""
    return json.dumps({"type": "release", "rank": rank, **({"meta": meta} if meta else {})})


# ------------------------------------------------------------ looking into a store


def sql(store: str, statement: str) -> list[tuple[Any, ...]]:
    """What the database itself answers to a statement, beside the program."""
    if stores.is_postgres(store):
        with psycopg.connect(store, autocommit=True) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []
    with closing(sqlite3.connect(store)) as file, file:
        return file.execute(statement).fetchall()


def log_of(matches: Matches) -> list[tuple[Any, ...]]:
    """All rows of the record in the order of the log: position, match, version."""
    recorder = matches.recorder
    return recorder.query(
        f"SELECT {recorder.POSITION}, originator_id, originator_version FROM stored_events ORDER BY 1"
    )


def assert_sound(store: str, *, entries: int, rows: int) -> None:
    """Every match has its entries from 1 on and nothing else, as straight play makes them; so many in all."""
    with stores.open_to_read(store) as matches:
        check = Check(matches.recorder)
        assert [str(fault) for fault in check.faults()] == []
        assert (check.entries, check.rows) == (entries, rows)


# ------------------------------------------------------------ other processes


def program(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run `soulrift` to its end."""
    return finished(begun("soulrift", *arguments, **environment))


def begun(module: str, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
    """Start a module as a program."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "SOULRIFT_DB"} | environment,
        text=True,
    )


def finished(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
    """The end of a program that was started."""
    try:
        out, err = process.communicate(timeout=DEADLINE)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    assert "Traceback" not in out + err, err
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_until(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Wait for something to be so.

    Raises:
        TimeoutError: it took too long.

    """
    last = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > last:
            message = f"waited for {seconds} seconds"
            raise TimeoutError(message)
        time.sleep(0.001)


class Writer:
    """A process that has the store open and is ready to write."""

    def __init__(self, *arguments: str) -> None:
        self._process = begun("tests.writers", *arguments)

    def tell(self, line: str = "go") -> None:
        """Tell it a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        """The next line that it says."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def end(self) -> None:
        """See that it ends well."""
        done = finished(self._process)
        assert (done.returncode, done.stderr) == (0, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def writers(all_arguments: Sequence[Sequence[str]]) -> Iterator[list[Writer]]:
    """Writers, all of them ready; none is left afterwards."""
    started = list[Writer]()
    try:
        started += [Writer(*arguments) for arguments in all_arguments]
        for writer in started:
            assert writer.hear() == "ready"
        yield started
    finally:
        for writer in started:
            writer.__exit__()


def players(store: str, rounds: int, all_matches: Sequence[Sequence[str]]) -> AbstractContextManager[list[Writer]]:
    """A writer for each of these lists of matches, ready to play so many rounds in them, in turn."""
    return writers([("play", store, f"w{n}", str(rounds), *names) for n, names in enumerate(all_matches)])


def play_at_once(store: str, rounds: int, all_matches: Sequence[Sequence[str]]) -> None:
    """Let all of them play at the same time, to their ends."""
    with players(store, rounds, all_matches) as started:
        for writer in started:
            writer.tell()
        for writer in started:
            writer.end()


# ------------------------------------------------------------ what a writer does

COMMANDS, EVENTS = 5, 8
"""Of a round: two cards come, fall together and leave two Souls, which are spent; nothing stays in play."""


def _round(matches: Matches, match: str, name: str) -> None:
    def give(kind: str, of_interest: str = "", **fields: Any) -> list[Any]:
        events = matches.give(match, json.dumps({"type": kind, **fields})).entry.event_jsons
        return [event for event in map(json.loads, events) if event["type"] == of_interest]

    cards = [f"{name}-a", f"{name}-b"]
    for card in cards:
        give("enter", card=card, controller="ada")
    collected = give("destroy", "soul_collected", cards=cards, cause="combat")
    souls = [event["soul"] for event in collected]
    (paid,) = give("pay", "cost_paid", player="ada", amount=2, souls=souls, effect="Flame Dart")
    give("resolve", payment=paid["payment"])


def _relay(matches: Matches) -> None:
    """Give each command that is told, a match and its JSON, and say what came of it."""
    for line in sys.stdin:
        match, command = line.split("\t")
        try:
            answer: Answer = matches.give(match, command)
        except Refusal as refusal:
            print(f"refused at {refusal.path}", flush=True)  # noqa: T201 - into the pipe
        else:
            print(f"{'repeated' if answer.repeated else 'new'} {answer.entry.number}", flush=True)  # noqa: T201


def main(what: str, store: str, *arguments: str) -> None:
    """Write as told."""
    with stores.open_to_write(store) as matches:
        print("ready", flush=True)  # noqa: T201 - into the pipe
        if what == "relay":
            _relay(matches)
        else:
            sys.stdin.readline()
            for match in islice(cycle(arguments[2:]), int(arguments[1])):
                _round(matches, match, arguments[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
