"""What tables are of: how many matches, of which runs, decks and rulesets, when they were played; what to beware of.

Lives here: what the head and the foot of a report say. No metric is defined here.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import duckdb
from msgspec import Struct

from domain.rules.ruleset import Ruleset
from projections.analytics.folder import Manifest
from projections.analytics.named import named
from soulrift.estimates import Estimate, interval, mean, number, percent, share
from soulrift.findings import Record, few_matches

SHOWN = 8
"""So many runs, decks, policies and rulesets are named."""


class Tile(Struct, frozen=True):
    """A figure at the head of the page, with its interval."""

    what: str
    value: str
    interval: str


class Tables:
    """Tables that are asked."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def rows(self, sql: str) -> list[Record]:
        """All rows of a query."""
        found = self._connection.execute(sql)
        columns = [column[0] for column in found.description or []]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def named(self, name: str, by: str | None = None, most: int = 0) -> list[Record]:
        """The rows of a named query (see `findings.Ask`)."""
        sql = named(name).sql
        if by is None:
            return self.rows(sql)
        return self.rows(
            f'SELECT *, count(*) OVER () AS "of" FROM ({sql}) ORDER BY {by} DESC, 1 LIMIT {most}'  # noqa: S608 - ours
        )


class Head(Struct, frozen=True):
    """What the matches come to that have ended, and how many are `running`; times in microseconds since 1970 began."""

    ended: int
    running: int
    simulated: int
    drawn: int
    begun: int
    first_won: int
    private: int
    forks: int
    dated: int
    began_at: int | None
    last_at: int | None
    turns: float | None
    spread: float | None
    entries: int
    events: int
    souls: int
    payments: int
    rifts: int

    @property
    def recorded(self) -> int:
        """Those that were played, not simulated."""
        return self.ended - self.simulated


_HEAD = """
WITH ended AS (SELECT * FROM matches WHERE status = 'ended')
SELECT
    count(*) AS ended,
    (SELECT count(*) FROM matches WHERE status = 'running') AS running,
    count(run) AS simulated,
    count(*) FILTER (WHERE winner IS NULL) AS drawn,
    count(first) AS begun,
    count(*) FILTER (WHERE winner = first) AS first_won,
    count(*) FILTER (WHERE private) AS private,
    count(origin_match) AS forks,
    count(began_at) AS dated,
    epoch_us(min(began_at)) AS began_at,
    epoch_us(max(last_at)) AS last_at,
    avg(turns) AS turns,
    stddev_samp(turns) AS spread,
    coalesce(sum(entries), 0)::BIGINT AS entries,
    coalesce(sum(events), 0)::BIGINT AS events,
    coalesce(sum(souls), 0)::BIGINT AS souls,
    coalesce(sum(payments), 0)::BIGINT AS payments,
    coalesce(sum(rifts), 0)::BIGINT AS rifts
FROM ended
"""

_FIELDS = ", ".join(Ruleset.__struct_fields__)

_RULESETS = f"""
SELECT {_FIELDS}, count(*) AS matches
FROM matches
WHERE status = 'ended'
GROUP BY ALL
ORDER BY matches DESC, {_FIELDS}
"""  # noqa: S608 - its columns are ours

_RUNS = """
SELECT run, seed, simulator, generator, decks, policies, count(*) AS matches
FROM runs
JOIN matches USING (run)
WHERE status = 'ended'
GROUP BY ALL
ORDER BY matches DESC, run
"""


def _seats(column: str) -> str:
    return f"""
SELECT {column} AS called, count(*) AS seats
FROM players
WHERE result <> 'running' AND {column} IS NOT NULL
GROUP BY {column}
ORDER BY seats DESC, called
"""  # noqa: S608 - the column is ours


def head(tables: Tables) -> Head:
    """What the matches come to."""
    (row,) = tables.rows(_HEAD)
    return Head(**row)


def tiles(tables: Tables, of: Head) -> Iterator[Tile]:
    """The figures at the head of the page; there is at least one match."""
    burned = next(row for row in tables.named("soulburn-of-a-match") if row["source"] == "all")
    yield Tile("Matches", f"{of.ended:,}", f"{of.drawn:,} drawn")
    yield _tile("Turns a match", mean(of.turns or 0, of.spread, of.ended), shares=False)
    yield _tile("Soulburn, life a match", mean(burned["mean"], burned["spread"], burned["matches"]), shares=False)
    if of.begun:
        yield _tile("Won by who began", share(of.first_won, of.begun), shares=True)


def _tile(what: str, of: Estimate, *, shares: bool) -> Tile:
    return Tile(what, percent(of.value) if shares else number(of.value), interval(of, shares=shares))


def beware(tables: Tables, of: Head) -> Iterator[str]:
    """What to beware of in all that follows."""
    yield from few_matches(of.ended)
    rulesets = len(tables.rows(_RULESETS))
    if rulesets > 1:
        yield f"the matches were played by {rulesets} rulesets, and every figure is of all of them together."
    if of.forks:
        yield f"{of.forks:,} of the matches are forks, which have their first entries in common with other matches."


def made_of(tables: Tables, of: Head, manifest: Manifest) -> Iterator[tuple[str, list[str]]]:
    """What it is made of: titles, each with some lines."""
    yield (
        "Matches",
        [
            f"{of.ended:,} that have ended ({of.simulated:,} simulated, {of.recorded:,} recorded; {of.drawn:,} drawn)",
            *([f"{of.running:,} still run and are left out"] if of.running else []),
            *([f"{of.private:,} private, with commitments for names"] if of.private else []),
        ],
    )
    counts = (f"{of.entries:,} entries", f"{of.events:,} events", f"{of.souls:,} Souls", f"{of.payments:,} payments")
    yield "In them", [*counts, f"{of.rifts:,} Rifts"]
    if of.dated:
        yield "Played", [f"{_day(of.began_at)} to {_day(of.last_at)}, by the clocks of those who sent them"]
    yield from _some("Runs", [_run(row) for row in tables.rows(_RUNS)])
    for title, column in (("Decks", "deck"), ("Policies", "policy")):
        yield from _some(title, [f"{row['called']} at {row['seats']:,} seats" for row in tables.rows(_seats(column))])
    yield from _some("Rulesets", [f"{_ruleset(row)} in {counted(row['matches'])}" for row in tables.rows(_RULESETS)])
    hashes = sorted(file.sha256 for file in manifest.files())
    digest = sha256("".join(hashes).encode()).hexdigest()
    writer = [f"made by {manifest.writer}"] if manifest.writer else []
    yield "Tables", [f"{len(hashes):,} files", *writer, f"SHA-256 of their hashes: {digest}"]


def _some(title: str, lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Lines under a title, if there are any; not more than can be shown."""
    if lines:
        more = [f"and {len(lines) - SHOWN:,} more"] if len(lines) > SHOWN else []
        yield title, [*lines[:SHOWN], *more]


def counted(matches: int) -> str:
    """A number of matches."""
    return f"{matches:,} match{'es' * (matches != 1)}"


def _run(row: Record) -> str:
    options = (f"{what} {','.join(row[what])}" for what in ("decks", "policies") if row[what] is not None)
    told = (f"seed {row['seed']}", f"simulator {row['simulator']}", row["generator"], *options)
    return f"{row['run']} with {counted(row['matches'])} ({', '.join(told)})"


def _ruleset(row: Record) -> str:
    usual: Any = Ruleset()
    fields = (f"{field}={row[field]}" for field in Ruleset.__struct_fields__ if row[field] != getattr(usual, field))
    return ",".join(fields) or "usual"


def _day(microseconds: int | None) -> str:
    return "?" if microseconds is None else f"{datetime.fromtimestamp(microseconds // 1_000_000, UTC):%Y-%m-%d}"
