"""What read models cost: following the log, and asking."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import stock_projection
from benchmarks.filling import many_matches, one_match
from benchmarks.harness import Row, Timed, micro, most_memory, paired, rate
from benchmarks.mix import recorded
from benchmarks.stock import StockMatches
from benchmarks.stores import BUILD, library_settings
from domain.application import Matches
from domain.entry import play
from domain.postgres import postgres_settings
from domain.rules import AnyEvent, State
from domain.sqlite import sqlite_settings
from projections import census, life, matches, payments, rifts, soulburn, souls
from projections.follower import Follower
from projections.models import MODELS
from projections.opening import views_of
from projections.read_model import ReadModel
from projections.views import Views
from tests.postgres import fresh_schema, server

COMMANDS = 40_000
STOCK_COMMANDS = 1_000
"""The library's runner takes a second for as few."""

SHORT, LONG = 50_000, 500_000
"""Events of the logs whose following may take as much memory as each other."""

EVENTS_A_COMMAND = 1.33

MANY, FEW = 100_000, 100
"""Matches in the stores of which the first page is asked."""

PAGE = 50

QUESTIONS: dict[str, Callable[[Views, str], Iterator[Any]]] = {
    "history": souls.history,
    "life": life.life,
    "soulburn": soulburn.soulburn,
    "payments": payments.payments,
    "rifts": rifts.rifts,
    "census": lambda views, match: census.census(views, match, matches.match_row(views, match).entries),
}


def views() -> list[Row]:
    """Following against the library's own means; memory; questions."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        return [*_postgres(), _sqlite(Path(folder)), _memory(Path(folder)), *_questions(Path(folder))]


@contextmanager
def _following(store: Matches, models: tuple[ReadModel, ...] = MODELS) -> Iterator[Follower]:
    with closing(views_of(store, models)) as opened:
        yield Follower(store, opened)


def _postgres() -> list[Row]:
    """One read model and all of them on PostgreSQL, against the library's runner with one."""
    commands = recorded(COMMANDS)
    with server() as running, fresh_schema(running.url, "views") as url:
        state = State()
        events = [event for command in commands[:STOCK_COMMANDS] for event in play(state, command).events]
        stock = _Stock(running.url, library_settings(running.url), events)
        rows = []
        with Matches(postgres_settings(url, create=True)) as store:
            one_match(store, "mix", commands)
            for what, models, bar in (("life", (matches.MODEL, life.MODEL), 30), ("all", MODELS, 10)):
                with _following(store, models) as follower:
                    ours, peer, ratio = paired(follower.rebuild, stock.run, rounds=3)
                name = "read models" if what == "all" else "read model"
                row = f"event taken in, PostgreSQL, {what} {name} : the library's runner with one"
                rows.append(Row(row, rate(ours), rate(peer), ratio, ">=", bar))
    return rows


class _Stock:
    """The library's runner, over the events of one of its aggregates; each run begins anew, in a schema of its own."""

    def __init__(self, url: str, settings: dict[str, str], events: list[AnyEvent]) -> None:
        self._url, self._settings, self._events = url, settings, len(events)
        self._numbers = count(1)
        with StockMatches(settings) as stock:
            stock.record(events)

    def run(self) -> int:
        """The events taken in."""
        schema = f"stock_{next(self._numbers)}"
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        stock_projection.run(self._settings | {"STOCKLIFE_POSTGRES_SCHEMA": schema}, self._events)
        return self._events


def _sqlite(folder: Path) -> Row:
    """All read models on SQLite, against the library reading the same log and doing nothing with it."""
    with Matches(sqlite_settings(str(folder / "following.db"))) as store, _following(store) as follower:
        one_match(store, "mix", recorded(COMMANDS))

        def read() -> int:
            rows = position = 0
            while found := store.recorder.select_notifications(position + 1, 1_000):
                rows, position = rows + len(found), found[-1].id
            return rows

        ours, peer, ratio = paired(follower.rebuild, read)
    what = "event taken in, SQLite, all read models : the library's reading alone"
    return Row(what, micro(ours), micro(peer), 1 / ratio, "<=", 4)


def _memory(folder: Path) -> Row:
    """The most memory of a process that makes the views of a long log, against a shorter one."""

    def most(events: int) -> float:
        path = str(folder / f"{events}.db")
        with Matches(sqlite_settings(path)) as store:
            one_match(store, "mix", recorded(int(events / EVENTS_A_COMMAND)))
        return most_memory("projections", "rebuild", "--db", path)

    short, long = most(SHORT), most(LONG)
    what = f"memory to follow {LONG:,} events : {SHORT:,}"
    return Row(what, f"{long:.0f} MB", f"{short:.0f} MB", long / short, "<=", 1.2)


def _questions(folder: Path) -> list[Row]:
    """Each question about a match ten times as long; and the first page of a thousand times as many matches."""
    with Matches(sqlite_settings(str(folder / "asked.db"))) as store, _following(store) as follower:
        commands = recorded(10_000)
        one_match(store, "long", commands)
        one_match(store, "short", commands[:1_000])

        def asked(question: Callable[[Views, str], Iterator[Any]], match: str, times: int) -> Timed:
            def ask() -> int:
                for _ in range(times):
                    with follower.answering(match) as found:
                        for _ in question(found, match):
                            pass
                return times

            return ask

        rows = []
        for name, question in QUESTIONS.items():
            ours, peer, ratio = paired(asked(question, "long", 2), asked(question, "short", 20), rounds=5)
            what = f"question of a match of 10,000 entries : of 1,000, {name}"
            rows.append(Row(what, micro(ours), micro(peer), 1 / ratio, "<=", 12))
    worst = max(rows, key=lambda row: row.ratio)
    with ExitStack() as stack:
        pages = []
        for number in (MANY, FEW):
            store = stack.enter_context(Matches(sqlite_settings(str(folder / f"matches-{number}.db"))))
            many_matches(store, number)
            follower = stack.enter_context(_following(store))
            follower.up_to_date()
            pages.append(_page(follower))
        ours, peer, ratio = paired(pages[0], pages[1], rounds=11)
    what = f"first page of {MANY:,} matches : of {FEW}"
    return [worst, Row(what, micro(ours), micro(peer), 1 / ratio, "<=", 1.5)]


def _page(follower: Follower) -> Timed:
    def page() -> int:
        for _ in range(20):
            with follower.answering() as found:
                list(matches.matches(found, limit=PAGE))
        return 20

    return page
