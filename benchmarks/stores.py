"""What a store costs: commands stored durably, matches rebuilt, and one match shown among many."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec
from psycopg.conninfo import conninfo_to_dict

from benchmarks.filling import many_matches
from benchmarks.harness import Row, Timed, micro, paired, rate
from benchmarks.mix import recorded
from benchmarks.stock import StockMatch, StockMatches
from domain.application import Matches
from domain.entry import play
from domain.postgres import postgres_settings
from domain.rules import AnyCommand, AnyEvent, State
from domain.sqlite import sqlite_settings
from tests.postgres import fresh_schema, server

GIVEN = 300
"""Commands of each round, one by one."""

BATCH = 100

MANY, FEW = 100_000, 10
"""Matches in the stores of which one is shown."""

BUILD = Path("build")
"""A folder on a disk: what is measured waits for one."""

Settings = dict[str, str]


def stores() -> list[Row]:
    """Both databases, against the library's application with its declarative aggregate on the same one."""
    BUILD.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=BUILD) as folder,
        server() as running,
        fresh_schema(running.url, "ours") as ours,
    ):
        sqlite = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": f"{folder}/stock.db"}
        postgres = library_settings(running.url)
        rows = _appends("SQLite", sqlite_settings(f"{folder}/ours.db"), sqlite)
        rows += _appends("PostgreSQL", postgres_settings(ours, create=True), postgres)
        rows.append(_rebuild("SQLite", sqlite_settings(f"{folder}/rebuilt.db"), sqlite, 12))
        rows.append(_rebuild("PostgreSQL", postgres_settings(ours), postgres, 4))
        rows.append(_one_among_many("SQLite", lambda name: sqlite_settings(f"{folder}/{name}.db")))
        with fresh_schema(running.url, "many") as many, fresh_schema(running.url, "few") as few:
            names = {"many": many, "few": few}
            rows.append(_one_among_many("PostgreSQL", lambda name: postgres_settings(names[name], create=True)))
    return rows


def library_settings(url: str) -> Settings:
    """The library's own settings for the server of a connection string."""
    parts = conninfo_to_dict(url)
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": str(parts["dbname"]),
        "POSTGRES_HOST": str(parts["host"]),
        "POSTGRES_USER": str(parts["user"]),
        "POSTGRES_PASSWORD": "none",
    }


def _appends(database: str, settings: Settings, stock_settings: Settings) -> list[Row]:
    commands = recorded(40_000)
    lines = [msgspec.json.encode(command) for command in commands]
    with Matches(settings) as matches, StockMatches(stock_settings) as stock:
        saved = _stock_saves(stock, commands)
        by_one, by_batch = _gives(matches, "one", lines, 1), _gives(matches, "batch", lines, BATCH)
        ours, peer, ratio = paired(by_one, saved, rounds=11)
        what = f"command stored durably, {database}"
        rows = [Row(f"{what} : the library's save", rate(ours), rate(peer), ratio, ">=", 1)]
        ours, peer, ratio = paired(by_batch, saved)
        rows.append(Row(f"{what}, --batch {BATCH} : the library's save", rate(ours), rate(peer), ratio, ">=", 10))
    return rows


def _stock_saves(stock: StockMatches, commands: list[AnyCommand]) -> Timed:
    state, match = State(), StockMatch()
    made: Iterator[tuple[AnyEvent, ...]] = iter([play(state, command).events for command in commands[:10_000]])

    def save() -> int:
        for _ in range(GIVEN):
            stock.append(match, next(made))
        return GIVEN

    return save


def _gives(matches: Matches, name: str, lines: list[bytes], batch: int) -> Timed:
    rest = iter(lines)
    matches.start(msgspec.json.encode({**msgspec.json.decode(next(rest)), "match": name}))
    rounds = GIVEN if batch == 1 else 10 * GIVEN

    def give() -> int:
        for _ in range(rounds // batch):
            if batch == 1:
                matches.give(name, next(rest))
            else:
                matches.give_all(name, [next(rest) for _ in range(batch)])
        return rounds

    return give


def _rebuild(database: str, settings: Settings, stock_settings: Settings, bar: float) -> Row:
    """A match of 5,000 commands rebuilt from its events, against the library's declarative aggregate."""
    commands = recorded(5_000)
    plain = {"IS_SNAPSHOTTING_ENABLED": "n", "AGGREGATE_CACHE_MAXSIZE": ""}
    with Matches(settings | plain) as matches, StockMatches(stock_settings) as stock:
        matches.start(msgspec.json.encode({**msgspec.to_builtins(commands[0]), "match": "rebuilt"}))
        matches.give_all("rebuilt", commands[1:])
        state = State()
        aggregate = stock.record([event for command in commands for event in play(state, command).events])

        def ours() -> int:
            return matches.state("rebuilt").events

        def peer() -> int:
            stock.repository.get(aggregate)
            return state.events

        each, other, ratio = paired(ours, peer)
    what = f"rebuild from {database} : the library's declarative aggregate"
    return Row(what, rate(each), rate(other), ratio, ">=", bar)


def _one_among_many(database: str, settings: Callable[[str], Settings]) -> Row:
    for name, matches_in_all in (("many", MANY), ("few", FEW)):
        with Matches(settings(name)) as matches:
            many_matches(matches, matches_in_all)
    with _shows(settings("many"), MANY) as among_many, _shows(settings("few"), FEW) as among_few:
        ours, peer, ratio = paired(among_many, among_few, rounds=11)
    what = f"show of a match among {MANY:,} : among {FEW}, {database}"
    return Row(what, micro(ours), micro(peer), 1 / ratio, "<=", 1.5)


@contextmanager
def _shows(settings: Settings, matches_in_all: int) -> Iterator[Timed]:
    numbers = (number * 7_919 % matches_in_all for number in count())
    with Matches(settings | {"AGGREGATE_CACHE_MAXSIZE": ""}) as matches:

        def show() -> int:
            for _ in range(200):
                matches.state(f"m{next(numbers)}").view()
            return 200

        yield show
