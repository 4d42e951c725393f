"""Tables asked by SQL: just the files that the manifest names, nothing but them, and figures worked out by hand."""

import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import duckdb
import fsspec
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from domain.application import Matches
from domain.batch import Answer
from domain.sqlite import sqlite_settings
from projections.analytics.asking import QueryError, _Shared, connect, queries, read_only, said
from projections.analytics.folder import Folder, TablesError, UnreadableError
from projections.analytics.named import UnknownQueryError, named, names
from projections.analytics.parts import File, Part
from projections.analytics.schemas import MATCHES, SOULBURNS, TABLES
from tests.kit import Json, of
from tests.tables import tables_of


@pytest.fixture(scope="module", autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """Nobody pulls the plug here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


SIMULATED = {"p1": "rift, greedy", "p2": "reap, random"}

WON = (  # by p1, in turn 3
    of("begin_turn", player="p1"),
    of("release", rank=0),
    of("release", rank=2),
    of("pay", player="p1", amount=1, souls=[2], effect="Flame"),  # power 3: 2 burn, p1 at 24
    of("resolve", payment=1),
    of("begin_turn", player="p2"),
    of("enter", card="moth", controller="p2", rank=1, definition="rift-moth", name="Rift Moth"),
    of("pay", player="p2", amount=1, souls=[1], effect="Drain"),
    of("fizzle", payment=2),  # 1 burns, p2 at 27
    of("begin_turn", player="p1"),
    of("destroy", cards=["moth"]),  # Soul 3, of rank 1
    of("open_rift", player="p1", rank=2, souls=[3]),
    of("summon", player="p1", card="stalker", rank=1, definition="rift-stalker", name="Rift Stalker"),
    of("close_rift", player="p1"),  # 1 burns, p1 at 21
    of("change_life", changes=[{"player": "p2", "delta": -30}], reason="combat"),  # p2 at -3
)

CONCEDED = (  # by p1 to p2, who began, in turn 1
    of("begin_turn", player="p2"),
    of("release", rank=1),
    of("enter", card="moth-1", controller="p2", rank=1, definition="rift-moth", name="Rift Moth"),
    of("enter", card="moth-2", controller="p2", rank=1, definition="rift-moth", name="Rift Moth"),
    of("concede", player="p1"),
)

DRAWN = (  # a deck against itself, in turn 2
    of("begin_turn", player="p1"),
    of("release", rank=3),
    of("release", rank=0),
    of("enter", card="altar", controller="p1", kind="other"),
    of("reap", souls=[2], card="altar"),
    of("begin_turn", player="p2"),
    of("leave", card="altar", to="hand"),  # Soul 2 is in the Aether again
    of("ruling", judge="Oda", reason="a slip", corrections=[{"rank": {"soul": 1, "rank": 2}}]),
    of("end_match", reason="time"),
)

CLUB = (  # three players, and a match that was played; c wins in turn 1
    of("begin_turn", player="a"),
    of("release", rank=1),
    of("release", rank=2),
    of("pay", player="a", amount=4, souls=[1, 2], cost="toll"),  # power 2 and 3: 1 burns, a at 27
    of("release", rank=0),
    of("enter", card="lamp", controller="b", kind="other"),
    of("reap", souls=[3], card="lamp"),
    of("leave", card="lamp", to="hand"),  # Soul 3 is lost
    of("end_match", winner="c", reason="time"),
)

RUNNING = (  # has all of it, and counts nowhere
    of("begin_turn", player="p1"),
    of("release", rank=3),
    of("pay", player="p1", amount=1, souls=[1], effect="Flame"),
    of("enter", card="moth", controller="p1", rank=1, definition="rift-moth"),
    of("destroy", cards=["moth"]),
    of("open_rift", player="p1", rank=1, souls=[2]),
    of("close_rift", player="p1"),
)


def begun(matches: Matches, match: str, players: dict[str, str | None], *commands: Json, **ruleset: Any) -> None:
    """A match of these players, with their names, and these commands; simulated, if it is called so."""
    seats = [{"player": player, **({"name": name} if name else {})} for player, name in players.items()]
    run, _, number = match.removeprefix("run-").partition("-")
    meta = {"actor": f"simulator 1, philox4x64-10/1, seed {run}, match {number}"} if number else {}
    matches.start(json.dumps(of("start_match", match=match, players=seats, ruleset=ruleset, meta=meta)))
    for answer in matches.give_all(match, [json.dumps(command) for command in commands]):
        assert isinstance(answer, Answer), answer.view()


@pytest.fixture(scope="module")
def evening() -> Iterator[Matches]:
    """Five matches: three simulated ones, one that was played, and one that is running."""
    with Matches(sqlite_settings(":memory:")) as matches:
        begun(matches, "run-7-1", dict(SIMULATED), *WON)
        begun(matches, "run-7-2", {"p1": "rift, greedy", "p2": "blaze, random"}, *CONCEDED)
        begun(matches, "run-7-3", {"p1": "rift, greedy", "p2": "rift, greedy"}, *DRAWN)
        begun(matches, "club", {"a": None, "b": None, "c": None}, *CLUB, souls_on_leaving="lost")
        begun(matches, "run-7-4", dict(SIMULATED), *RUNNING)
        yield matches


@pytest.fixture(scope="module")
def folder(evening: Matches, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The tables of that evening."""
    return tables_of(evening, tmp_path_factory.mktemp("tables") / "evening")


@pytest.fixture(scope="module")
def tables(folder: Folder) -> Iterator[duckdb.DuckDBPyConnection]:
    """These tables, to be asked."""
    with read_only(folder.address) as opened:
        yield opened


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Tables without a row."""
    with Matches(sqlite_settings(":memory:")) as matches:
        folder = tables_of(matches, tmp_path_factory.mktemp("tables") / "empty")
    with read_only(folder.address) as opened:
        yield opened


# ------------------------------------------------------------ named queries

USUAL = (30, 3, 1, 0, 1)
ALL_OF_ONE, NONE_OF_ONE = (0.20654, 1.0), (0.0, 0.79346)
"""The interval of Wilson for 1 of 1, 1 / (1 + 1.96²) to 1, and for 0 of 1."""
HALF_OF_TWO = (0.09453, 0.90547)
"""1/2 ± 1.96 * sqrt(1/2 + 1.96²/4) / (2 + 1.96²)."""
TWO_OF_THREE = (0.20766, 0.93851)
"""(2 + 1.96²/2 ± 1.96 * sqrt(2/3 + 1.96²/4)) / (3 + 1.96²)."""

FIGURES: dict[str, list[tuple[Any, ...]]] = {
    "soulburn-by-source": [
        ("overpay", 2, 3, 9, 9 / 15, 9 / 4),
        ("fizzle", 1, 1, 3, 3 / 15, 3 / 4),
        ("rift", 1, 1, 3, 3 / 15, 3 / 4),
    ],
    "soulburn-by-rank": [  # the 3 life of the toll are shared as 2 to 3
        (0, 1, 1, 0, 3, 0, 3, 3),
        (1, 2, 4, 1.2, 0, 3, 4.2, 2.1),
        (2, 2, 6, 6 + 1.8, 0, 0, 7.8, 3.9),
    ],
    "win-rate-by-deck": [  # the deck against itself does not count
        ("blaze", 1, 1, 0, 0.5, *ALL_OF_ONE, 1),
        ("rift", 2, 1, 0, 0.5, *HALF_OF_TWO, 0.5),
        ("reap", 1, 0, 0, 0.5, *NONE_OF_ONE, 0),
    ],
    "win-rate-by-policy": [("greedy", 2, 1, 0, 0.5, *HALF_OF_TWO, 0.5), ("random", 2, 1, 0, 0.5, *HALF_OF_TWO, 0.5)],
    "win-rate-by-matchup": [
        ("blaze", "rift", 1, 1, 0, *ALL_OF_ONE, 1),
        ("reap", "rift", 1, 0, 0, *NONE_OF_ONE, 0),
        ("rift", "blaze", 1, 0, 0, *NONE_OF_ONE, 0),
        ("rift", "reap", 1, 1, 0, *ALL_OF_ONE, 1),
    ],
    "first-player-advantage": [(2, 3, 2, 1, 1 / 2, *TWO_OF_THREE, 2 / 3), (3, 1, 0, 0, 1 / 3, *NONE_OF_ONE, 0)],
    "life-by-turn": [
        (0, 3, 30, 30, 0),
        (1, 3, (24 + 30 + 30) / 3, (30 + 30 + 27 + 30) / 4, 28 - 29.25),
        (2, 1, 24, 27, -3),
        (3, 1, 21, -3, 24),
    ],
    "life-spread-by-turn": [
        (0, 3, 30, 30, 30, 30, 30, 30),
        (1, 3, 24, 30, 30, 27, 30, 30),
        (2, 1, 24, 24, 24, 27, 27, 27),
        (3, 1, 21, 21, 21, -3, -3, -3),
    ],
    "aether-by-turn": [
        (1, 4, 1 / 4, 1 / 4, 0, 1 / 4, 3 / 4),
        (2, 2, 1 / 2, 0, 1 / 2, 0, 1),  # by the ruling, Soul 1 of the draw has rank 2 then
        (3, 1, 0, 0, 0, 0, 0),
    ],
    "soul-value-by-rank": [
        (0, 3, 3 / 4, 1 / 3, 1 / 3, 1 / 3, 1, 0),
        (1, 3, 3 / 4, 2 / 3, 0, 1 / 3, 0, (1 / 2 + 4 / 5) / 2),
        (2, 2, 2 / 4, 1, 0, 0, 0, (1 / 3 + 4 / 5) / 2),
        (3, 1, 1 / 4, 0, 0, 1, None, None),
    ],
    "rifts-by-rank": [(2, 1, 1, 1, 1, 0, 0, 3)],
    "waste": [
        ("reap", "fizzle", 1, 1, 1),
        ("rift", "overpay", 2, 5, 2 / 5),
        ("rift", "rift", 1, 5, 1 / 5),
        (None, "overpay", 1, 5, 1 / 5),
    ],
    "effects": [("Drain", 1, 0, 1, 1, 1, 3, 1), ("Flame", 1, 1, 0, 1, 3, 6, 0)],
    "cards": [
        ("rift-moth", "Rift Moth", 3, 1, 1, 2, 1, *HALF_OF_TWO, 0.5),
        ("rift-stalker", "Rift Stalker", 1, 0, 0, 1, 1, *ALL_OF_ONE, 1),
    ],
    "match-length": [(2, 3, 1, 1, 1, 2, 3, 3, 3, 2), (3, 1, 1, 1, 1, 1, 1, 1, 1, 1)],
    "rulesets": [(*USUAL, "lost", "needed", 1, 1, 0, 3), (*USUAL, "return", "needed", 3, 2, 2 / 3, 12 / 3)],
}


@pytest.mark.parametrize("name", FIGURES)
def test_named_query_gives_the_figures_of_the_matches(tables: duckdb.DuckDBPyConnection, name: str) -> None:
    """What a named query answers of a few matches is what a reader of their commands works out."""
    found = tables.execute(named(name).sql).fetchall()
    assert len(found) == len(FIGURES[name])
    for row, expected in zip(found, FIGURES[name], strict=True):
        figures = [value if isinstance(value, str | None) else pytest.approx(value, abs=1e-5) for value in expected]
        assert list(row) == figures


@pytest.mark.parametrize("name", [name for name in FIGURES if "AS low" in named(name).sql])
def test_bounds_of_intervals_are_exact(tables: duckdb.DuckDBPyConnection, name: str) -> None:
    """Where nothing was won the interval begins at 0, where all was it ends at 1: exactly so, without a rest."""
    asked = f"SELECT low = 0, won = 0, high = 1, win_rate = 1 FROM ({named(name).sql})"
    found = tables.execute(asked).fetchall()
    assert found
    for begins, none, ends, every in found:
        assert (begins, ends) == (none, every)


@pytest.mark.parametrize("name", names())
def test_named_query_says_what_it_answers(tables: duckdb.DuckDBPyConnection, name: str) -> None:
    """In front of a named query stand its title, each of its columns in their order, and the definition it follows."""
    query = named(name)
    assert query.title.strip()
    assert re.search(r"^Definitions?: \w.*, version \d+$", query.about, re.MULTILINE)
    told = query.about.partition("Columns:\n")[2].partition("\n\n")[0]
    columns = [column[0] for column in tables.execute(queries(query.sql)[0]).description or []]
    assert re.findall(r"^  (\w+)  ", told, re.MULTILINE) == columns


@pytest.mark.parametrize("name", names())
def test_named_query_of_tables_without_a_row(empty: duckdb.DuckDBPyConnection, name: str) -> None:
    """Where no match has ended, a named query answers all the same."""
    empty.execute(named(name).sql).fetchall()


def test_unknown_named_query() -> None:
    """A name that the library does not have is answered by those that it has; no name leads to another file."""
    for name in ("wast", "../named", "waste.sql", ""):
        with pytest.raises(UnknownQueryError, match=f"there is no query {re.escape(name)}; there are .*, waste, "):
            named(name)


# ------------------------------------------------------------ views

DUCKDB = {
    "text": "VARCHAR",
    "word": "VARCHAR",
    "words": "VARCHAR[]",
    "flag": "BOOLEAN",
    "small": "TINYINT",
    "count": "INTEGER",
    "amount": "BIGINT",
    "time": "TIMESTAMP WITH TIME ZONE",
}


def test_each_table_is_a_view_with_the_columns_of_its_schema(
    tables: duckdb.DuckDBPyConnection, empty: duckdb.DuckDBPyConnection
) -> None:
    """All tables are there with all columns in their order and types, whether they have rows or not."""
    for asked in (tables, empty):
        for table in TABLES:
            described = asked.execute(f"DESCRIBE {table.name}").fetchall()
            assert [row[:2] for row in described] == [(each.name, DUCKDB[each.holds]) for each in table.columns]


def test_running_matches_are_there_too(tables: duckdb.DuckDBPyConnection) -> None:
    """The rows of a match that runs stand in the same views, once."""
    found = tables.execute("SELECT status, count(*), count(DISTINCT match) FROM matches GROUP BY 1 ORDER BY 1")
    assert found.fetchall() == [("ended", 4, 4), ("running", 1, 1)]


def test_answers_come_as_arrow_and_polars(folder: Folder) -> None:
    """A notebook takes an answer as a table of Arrow or of Polars."""
    polars = pytest.importorskip("polars")
    with connect(folder.address) as tables:
        asked = tables.sql("SELECT match, turns FROM matches WHERE status = 'ended' ORDER BY match")
        arrow, frame = asked.to_arrow_table(), asked.pl()
    turns = {"match": ["club", "run-7-1", "run-7-2", "run-7-3"], "turns": [1, 3, 1, 2]}
    assert arrow.to_pydict() == turns
    assert frame.equals(polars.DataFrame(turns), null_equal=True)


def test_only_files_of_the_manifest_are_read(evening: Matches, tmp_path: Path) -> None:
    """A file that lies among the others but not in the manifest counts for nothing, whatever it is called."""
    made = tables_of(evening, tmp_path / "tables")
    (file, *_) = made.manifest().files("matches")
    whole = Path(made.path(file.path))
    (whole.parent / "00000009.parquet").write_bytes(whole.read_bytes())
    (whole.parent.parent / "batch=other").mkdir()
    (whole.parent.parent / "batch=other" / whole.name).write_bytes(b"no Parquet")
    with connect(made.address) as tables:
        assert tables.execute("SELECT count(*) FROM matches").fetchall() == [(5,)]


@pytest.mark.parametrize("name", ["ta[b]le*s?", 'it\'s "quoted"', "{a,b}", "schema=9", "薄明 🦊"])
def test_folder_may_have_any_name(evening: Matches, tmp_path: Path, name: str) -> None:
    """No name of a folder is taken for a pattern, a quotation or a partition."""
    tables_of(evening, tmp_path / name)
    with read_only(tmp_path / name) as tables:
        assert tables.execute("SELECT count(*) FROM matches").fetchall() == [(5,)]


def test_object_store(evening: Matches, folder: Folder) -> None:
    """Tables at an address of fsspec answer as those in a folder do."""
    address = "memory://asking/ta[b]les"
    tables_of(evening, address)
    query = "SELECT match, player, life FROM players ORDER BY ALL"
    for opened in (connect, read_only):
        with opened(address) as far, opened(folder.address) as near:
            assert far.execute(query).fetchall() == near.execute(query).fetchall()
    fsspec.filesystem("memory").rm("/asking", recursive=True)


class Versioned(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """An object store with versions: its methods take theirs where others take something else, as those of s3fs do."""

    protocol = "versioned"

    def cat_file(
        self, path: str, version_id: str | None = None, start: int | None = None, end: int | None = None
    ) -> Any:
        """The bytes of a file, or some of them."""
        assert version_id is None
        return super().cat_file(path, start, end)


def test_object_store_with_versions(evening: Matches) -> None:
    """Tables are read from an object store whose methods take other arguments by their places."""
    fsspec.register_implementation("versioned", Versioned, clobber=True)
    made = tables_of(evening, "versioned://asking/tables")
    with connect(made.address) as tables:
        assert tables.execute("SELECT count(*) FROM matches").fetchall() == [(5,)]
    made.fs.rm(made.root, recursive=True)


def test_many_threads_read_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that read a file at once get what they asked for, each of them."""
    seek = _Shared.seek

    def seek_and_let_others(file: _Shared, place: int, whence: int = 0) -> int:
        sleep(1e-5)
        found = seek(file, place, whence)
        sleep(1e-5)
        return found

    monkeypatch.setattr(_Shared, "seek", seek_and_let_others)
    rows = 400_000
    damage = [n * 7 % 11 for n in range(rows)]
    columns = pa.table({"match": ["m"] * rows, "n": range(rows), "damage": damage})
    _add(Folder(str(tmp_path / "tables")), SOULBURNS.name, columns, version=1, row_group_size=4_000)
    with connect(tmp_path / "tables") as tables:
        tables.execute("SET threads = 8")
        for cached in ("true", "false"):
            tables.execute(f"SET enable_external_file_cache = {cached}")
            asked = tables.execute("SELECT sum(n), sum(damage), count(match) FROM soulburns").fetchall()
            assert asked == [(rows * (rows - 1) // 2, sum(damage), rows)]


# ------------------------------------------------------------ versions


def _add(folder: Folder, table: str, rows: pa.Table, version: int, **options: Any) -> File:
    """Add a file of a table, of this version, as another Soulrift would have written it."""
    content = io.BytesIO()
    pq.write_table(rows, content, **options)
    with folder.writing() as before:
        path = f"{table}/schema={version}/batch=other/{before.commits + 1:08}.parquet"
        with folder.create(path) as file:
            file.write(content.getvalue())
        made = File(path, table, version, len(rows), len(content.getvalue()), "")
        parts = (*before.parts, Part("other", (made,), 1, 1, 1))
        folder.commit(msgspec.structs.replace(before, parts=parts), before)
    return made


def test_older_and_newer_versions_are_read_together(evening: Matches, tmp_path: Path) -> None:
    """Columns that older files lack are null in their rows; those that newer ones add are there, null in all others."""
    made = tables_of(evening, tmp_path / "tables")
    _add(made, "matches", pa.table({"match": ["old"], "status": ["ended"], "turns": [9]}), version=0)
    newer = {"status": ["ended"], "match": ["new"], "weather": ["fog"], "root": ["f00d"]}
    _add(made, "matches", pa.table(newer), version=2)
    with connect(made.address) as tables:
        columns = [column[0] for column in tables.execute("DESCRIBE matches").fetchall()]
        found = tables.execute("SELECT match, turns, root, weather FROM matches WHERE match IN ('old', 'new', 'club')")
        rows = {row[0]: row[1:] for row in found.fetchall()}
    assert columns == [*(column.name for column in MATCHES.columns), "weather"]
    assert rows["old"] == (9, None, None)
    assert rows["new"] == (None, "f00d", "fog")
    assert rows["club"][0::2] == (1, None)


def test_old_files_alone(tmp_path: Path) -> None:
    """Columns that no file has are there all the same, with their types."""
    made = Folder(str(tmp_path / "tables"))
    _add(made, "matches", pa.table({"match": ["old", "old"]}), version=0)
    with connect(made.address) as tables:
        described = tables.execute("DESCRIBE matches").fetchall()
        assert [row[:2] for row in described] == [(each.name, DUCKDB[each.holds]) for each in MATCHES.columns]
        assert tables.execute("SELECT match, turns FROM matches").fetchall() == [("old", None), ("old", None)]


# ------------------------------------------------------------ what cannot be read


def test_there_are_no_tables(tmp_path: Path) -> None:
    """Where there is no folder, or one without a manifest, or with one that is none, a sentence says so."""
    (tmp_path / "other").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    for name, sentence in (("none", "there are no tables in "), ("other", "there are no tables in ")):
        with pytest.raises(TablesError, match=sentence):
            connect(tmp_path / name)
    with pytest.raises(TablesError, match=r"manifest\.json cannot be read"):
        connect(tmp_path / "broken")
    with pytest.raises(TablesError, match="nowhere://x cannot be used"):
        connect("nowhere://x")


@pytest.mark.parametrize("address", ["memory://asking-missing/tables", "local"])
def test_missing_file_is_named(evening: Matches, tmp_path: Path, address: str) -> None:
    """Where a file is missing that the manifest names, the sentence names it."""
    made = tables_of(evening, address if ":" in address else tmp_path / address)
    (file, *_) = made.manifest().files("souls")
    made.fs.rm_file(made.path(file.path))
    with pytest.raises(TablesError, match=r"^the table souls in .* cannot be read: .* is missing") as refused:
        connect(made.address)
    assert made.path(file.path) in str(refused.value)


def test_damaged_file_is_told(evening: Matches, tmp_path: Path) -> None:
    """A file that is shorter than the manifest says, or no Parquet, is told with the name of its table, in a line."""
    made = tables_of(evening, tmp_path / "tables")
    (file, *_) = made.manifest().files("souls")
    path = Path(made.path(file.path))
    content = path.read_bytes()
    for damaged in (content[:-20], bytes(len(content))):
        path.write_bytes(damaged)
        with pytest.raises(
            UnreadableError, match=r"^the table souls in .* cannot be read: [^\n]* is damaged[^\n]*$"
        ) as told:
            connect(made.address)
        assert str(path) in str(told.value)


def test_written_anew_meanwhile(evening: Matches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the files go because the tables are written anew just then, the new ones are read."""
    made = tables_of(evening, tmp_path / "tables")
    first = made.manifest()
    tables_of(evening, tmp_path / "tables")
    seen = iter([first])
    manifest = Folder.manifest
    monkeypatch.setattr(Folder, "manifest", lambda self: next(seen, None) or manifest(self))
    with connect(tmp_path / "tables") as tables:
        assert tables.execute("SELECT count(*) FROM matches").fetchall() == [(5,)]


# ------------------------------------------------------------ reading and nothing else


@pytest.fixture(scope="module")
def guarded(evening: Matches, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Folder]]:
    """A connection that is locked down, and the folder of its tables, which lies beside a secret."""
    place = tmp_path_factory.mktemp("guarded")
    (place / "secret.csv").write_text("a\nsecret\n")
    folder = tables_of(evening, place / "tables")
    with read_only(folder.address) as tables:
        yield tables, folder


COPY = "COPY (SELECT 1 AS a) TO 'tables://{path}' (use_tmp_file false)"
"""Over a file of the tables."""

FORBIDDEN = [
    "FROM 'secret.csv'",
    "FROM read_csv('secret.csv')",
    "FROM read_text('{folder}/manifest.json')",
    "FROM read_parquet('{folder}/{path}')",
    "FROM read_parquet('tables://../secret.csv')",
    "FROM read_csv('http://127.0.0.1:9/a.csv')",
    "FROM secret",
    "SET threads = 1",
    "SET lock_configuration = false",
    "SET enable_external_access = true",
    "INSTALL httpfs",
    "LOAD httpfs",
    "ATTACH 'other.db'",
    "COPY matches TO 'out.csv'",
    "EXPLAIN ANALYZE COPY matches TO 'out.csv'",
    "EXPORT DATABASE 'out'",
    "FROM enable_logging(storage = 'file', storage_path = 'log')",
    COPY,
    f"EXPLAIN ANALYZE {COPY}",
    f"WITH done AS ({COPY}) FROM done",
    "FROM json_execute_serialized_sql(json_serialize_sql('"
    + f"WITH done AS ({COPY}) FROM done".replace("'", "''")
    + "'))",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_nothing_else_is_reached(guarded: tuple[Any, Folder], statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other file is read, nothing is written, no setting is changed; nor by a SELECT with something else in it."""
    tables, folder = guarded
    secret = pa.table({"a": [1]})  # noqa: F841 - a variable, which DuckDB would find by its name
    (file, *_) = folder.manifest().files("matches")
    place = Path(folder.root).parent
    monkeypatch.chdir(place)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    with pytest.raises(duckdb.Error) as refused:
        tables.execute(statement.format(folder=folder.root, path=file.path)).fetchall()
    assert "\n" not in said(refused.value)
    assert "Traceback" not in said(refused.value)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_writing_is_refused_in_words(guarded: tuple[Any, Folder]) -> None:
    """Whoever tries to write over a file of the tables is told in a sentence that this does not go."""
    tables, _ = guarded
    with pytest.raises(duckdb.Error) as refused:
        tables.execute(f"WITH done AS ({COPY.format(path='x')}) FROM done")
    assert said(refused.value) == "tables are only read here"


QUERIES = [
    "SELECT 1",
    "VALUES (1)",
    "FROM matches",
    "TABLE matches",
    "(SELECT 1) UNION (SELECT 2)",
    "WITH a AS (SELECT 1) FROM a",
    "DESCRIBE matches",
    "SHOW TABLES",
    "SUMMARIZE matches",
    "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "PIVOT matches ON status IN ('ended', 'running') USING count(*) GROUP BY players",
    "UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b",
]

NO_QUERIES = {
    "COPY": "COPY matches TO 'x'",
    "CREATE": "CREATE TABLE x AS FROM matches",
    "ATTACH": "ATTACH 'x'",
    "LOAD": "LOAD httpfs",
    "INSTALL": "/* more */ INSTALL httpfs -- LOAD",
    "SET": "SET threads = 1",
    "INSERT": "INSERT INTO matches VALUES (1)",
    "DELETE": "DELETE FROM matches",
    "UPDATE": "UPDATE matches SET turns = 1",
    "DROP": "DROP VIEW matches",
    "PRAGMA": "PRAGMA version",
    "EXPORT": "EXPORT DATABASE 'x'",
    "BEGIN": "BEGIN",
    "USE": "USE x",
    "EXECUTE": "EXECUTE x",
}


@pytest.mark.parametrize("text", QUERIES)
def test_queries_are_taken(tables: duckdb.DuckDBPyConnection, text: str) -> None:
    """What only asks is answered."""
    (query,) = queries(f"-- a comment\n{text};")
    assert tables.execute(query).fetchall()


@pytest.mark.parametrize("kind", NO_QUERIES)
def test_what_is_no_query_is_refused(kind: str) -> None:
    """What does more than ask is refused in words, also behind a query."""
    for text in (NO_QUERIES[kind], f"SELECT 1; {NO_QUERIES[kind]}"):
        with pytest.raises(QueryError, match=f"^{kind} is no query: tables are only read here, by SELECT, "):
            queries(text)


def test_a_pivot_names_its_values() -> None:
    """A PIVOT that would have to look for its values first is refused, with what to write."""
    with pytest.raises(QueryError, match=r"has to name its values here: ON column IN \(value, \.\.\.\)"):
        queries("PIVOT matches ON status USING count(*)")


def test_text_that_cannot_be_read_is_told() -> None:
    """An error of syntax is told in a line."""
    with pytest.raises(QueryError, match=r'^Parser Error: syntax error at or near "SLECT"$'):
        queries("SLECT 1")
    assert queries(" -- nothing\n;") == []


def test_temporary_files_are_written_elsewhere(guarded: tuple[Any, Folder]) -> None:
    """What does not fit in memory goes to the folder for temporary files, and is gone with the connection."""
    tables, folder = guarded
    (place,) = tables.execute("SELECT current_setting('temp_directory')").fetchone()
    assert Path(place).name.startswith("soulrift-")
    assert not Path(place).is_relative_to(folder.root)
    assert not Path(place).exists()
