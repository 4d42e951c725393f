"""Tables: made of a store, against reading it alone; their size; and questions over ten million rows."""

import tempfile
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import duckdb

from benchmarks.filling import one_match
from benchmarks.harness import Row, micro, most_memory, paired, rate
from benchmarks.mix import recorded
from domain.application import Matches
from domain.rules import commands as c
from domain.sqlite import sqlite_settings
from projections.analytics.asking import connect
from projections.analytics.folder import Folder, Manifest
from projections.analytics.of_store import of_store
from projections.analytics.parts import Part, TableFile
from projections.analytics.schemas import SOULBURNS
from soulrift.running import Where, done
from soulrift.tabling import part_of_store

BUILD = Path("build")
MATCHES = 100
ENTRIES = 2_000
"""Of each of them."""

ROWS = 10_000_000
OF_A_MATCH = 20
"""Soulburns of a match, among the ten million."""


def analytics() -> list[Row]:
    """All of it."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        return [*_made(Path(folder)), *_asked(Path(folder)), _memory(Path(folder))]


def _filled(path: Path, matches_in_all: int, entries: int) -> None:
    """A store of matches that have ended."""
    commands = [*recorded(entries), c.EndMatch()]
    with Matches(sqlite_settings(str(path))) as matches:
        for number in range(matches_in_all):
            one_match(matches, f"match-{number}", commands)


def _made(folder: Path) -> list[Row]:
    """From store to Parquet, in one process and in two, against reading the entries alone and decoding their events."""
    path, names = folder / "store.db", count()
    _filled(path, MATCHES, ENTRIES)
    with Matches(sqlite_settings(str(path), create=False, read_only=True)) as matches:
        events = matches.recorder.end()

        def read() -> int:
            return sum(len(entry.events) for name in matches.recorder.matches() for entry in matches.entries(name))

        def make(jobs: int) -> int:
            where = Where(jobs) if jobs > 1 else Where(1, "local")
            into = Folder(str(folder / f"tables-{next(names)}"))
            of_store(into, matches, partial(part_of_store, str(path)), partial(done, where=where))
            return events

        rows = []
        for jobs in (1, 2):
            ours, peer, ratio = paired(partial(make, jobs), read, rounds=3)
            what = f"store to Parquet, jobs: {jobs} : reading and decoding its entries alone"
            rows.append(Row(what, rate(ours), rate(peer), 1 / ratio, "<=", 3.5))
    size = sum(file.bytes for file in Folder(str(folder / "tables-0")).manifest().files()) / events
    stored = path.stat().st_size / events
    what = "bytes an event in Parquet : in SQLite"
    return [*rows, Row(what, f"{size:.1f}", f"{stored:.0f}", size / stored, "<=", 0.1)]


def _asked(folder: Path) -> list[Row]:
    """Questions over ten million Soulburns, against a plain sum over the same column."""
    address = str(folder / "soulburns")
    _ten_million(address)
    with connect(address) as tables:
        tables.sql("SET threads = 2")

        def asked(sql: str) -> Callable[[], int]:
            return lambda: len(tables.sql(sql).fetchall())

        rows = []
        for what, sql, bar in (
            ("by source", "SELECT source, sum(damage) FROM soulburns GROUP BY source", 8),
            (
                "by match, the ten greatest",
                "SELECT match, sum(damage) AS d FROM soulburns GROUP BY match ORDER BY d DESC LIMIT 10",
                15,
            ),
        ):
            ours, peer, ratio = paired(once(asked(sql)), once(asked("SELECT sum(damage) FROM soulburns")), rounds=5)
            row = f"10 million Soulburns {what} : their plain sum"
            rows.append(Row(row, micro(ours), micro(peer), 1 / ratio, "<=", bar))
        return rows


def once(work: Callable[[], int]) -> Callable[[], int]:
    """As one thing that is done."""

    def done_once() -> int:
        work()
        return 1

    return done_once


def _ten_million(address: str) -> None:
    """A folder of tables with as many Soulburns, of half a million matches."""
    folder = Folder(address)
    with folder.writing() as before, duckdb.connect() as base:
        path = folder.place(SOULBURNS, "0", 1)
        file = TableFile(SOULBURNS, path, folder.create(path))
        step = 1_000_000
        for first in range(0, ROWS, step):
            made = base.sql(_SOULBURNS.format(first=first, last=first + step, each=OF_A_MATCH))
            file.write(made.to_arrow_table().cast(SOULBURNS.arrow))
        written = file.close()
        folder.commit(Manifest(parts=(Part("0", (written,), ROWS // OF_A_MATCH, 0, 0),)), before)


_SOULBURNS = """
SELECT 'run-1-' || (i // {each}) AS match, i % {each} * 30 + 9 AS n, i % {each} * 20 + 7 AS entry, i % {each} AS turn,
  ['p1', 'p2'][1 + i // 7 % 2] AS player, ['overpay', 'fizzle', 'rift'][kind] AS source,
  ['B-2', 'B-3', 'B-4'][kind] AS rule, kind AS whole, 0 AS used, kind AS power, 3 AS per_power, 3 * kind AS damage,
  30 - 3 * (i % {each}) AS life, i % {each} AS payment, NULL AS rift
FROM (SELECT i, 1 + i * 7919 // 31 % 3 AS kind FROM range({first}, {last}) AS t(i))
"""


def _memory(folder: Path) -> Row:
    """The most memory for four times as many matches, against that for one part of them."""

    def most(matches: int) -> float:
        path = folder / f"memory-{matches}.db"
        _filled(path, matches, ENTRIES)
        return most_memory("tables", "--db", str(path), "-o", str(folder / f"memory-{matches}"), "--jobs", "1")

    many, few = most(MATCHES * 4), most(MATCHES)
    what = f"most memory to make tables of {MATCHES * 4 * ENTRIES:,} entries : of {MATCHES * ENTRIES:,}"
    return Row(what, f"{many:.0f} MB", f"{few:.0f} MB", many / few, "<=", 1.25)
