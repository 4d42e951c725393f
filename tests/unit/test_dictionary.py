"""docs/tables.md says what the tables have: it is made from the schemas, and what it shows runs."""

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import msgspec
import pytest

from domain.application import Matches
from domain.match import Match
from domain.rules import State
from domain.rules.book import WORDS
from domain.sqlite import sqlite_settings
from projections.analytics.asking import connect
from projections.analytics.dictionary import BEGIN, END, TYPES, PageError, dictionary, with_dictionary
from projections.analytics.folder import Manifest, Source
from projections.analytics.named import names
from projections.analytics.parts import File, Part
from projections.analytics.schemas import _ARROW, TABLES, Column, Table
from replays.merkle import root_of
from simulation.runs import Run, play_match
from tests.recordings import EXAMPLES, script
from tests.tables import tables_of

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
COLUMNS = [(table, column) for table in TABLES for column in table.columns]
MATCHES = 20


def each(value: object) -> str:
    return value.name if isinstance(value, Column | Table) else str(value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of simulated matches and of the examples, of which some are running."""
    folder, run = tmp_path_factory.mktemp("dictionary"), Run(5)
    with Matches(sqlite_settings(":memory:")) as matches:
        for number in range(1, MATCHES + 1):
            entries = play_match(run, number, record=True).entries
            root = root_of([entry.line for entry in entries]).hex()
            matches.record(Match(run.match_name(number), State(), matches.codec), entries, root, whole=True)
        for path in EXAMPLES:
            first, *rest = script(path)
            matches.give_all(matches.start(first).match, rest)
        tables_of(matches, folder / "tables")
    return folder


# ------------------------------------------------------------ what is made


def test_page_is_up_to_date() -> None:
    """The dictionary in docs/tables.md is that of the schemas and the named queries as they are now."""
    page = PAGE.read_text()
    if with_dictionary(page) != page:
        pytest.fail(f"{PAGE} is out of date; run: python -m projections.analytics.dictionary docs/tables.md")


def test_it_is_written_by_the_command_that_is_told(tmp_path: Path) -> None:
    """The command writes between the comments and leaves the rest, or says what is missing."""
    page, command = tmp_path / "page.md", [sys.executable, "-m", "projections.analytics.dictionary"]
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    subprocess.run([*command, str(page)], check=True)
    assert page.read_text() == f"before\n{BEGIN}\n\n{dictionary()}\n{END}\nafter\n"
    page.write_text(f"before\n{BEGIN}\n")
    done = subprocess.run([*command, str(page)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{page}: it has no lines ")
    assert page.read_text() == f"before\n{BEGIN}\n"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("usage: python -m projections.analytics.dictionary PAGE")


def test_page_without_a_place_for_it_is_refused() -> None:
    """Neither half a place nor none is filled."""
    for page in ("", f"{BEGIN}\n", f"{END}\n", f"{END}\n{BEGIN}\n"):
        with pytest.raises(PageError):
            with_dictionary(page)


def test_every_table_column_and_query_is_in_it() -> None:
    """Each table has its chapter with a line for each column, and each named query its line."""
    chapters = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##)", dictionary(), re.MULTILINE | re.DOTALL))
    assert list(chapters) == [table.name for table in TABLES]
    for table in TABLES:
        told = re.findall(r"^\| `(\w+)` \|", chapters[table.name], re.MULTILINE)
        assert told == [column.name for column in table.columns]
    _, _, queries = dictionary().partition("## Named queries")
    assert re.findall(r"^\| `([\w-]+)` \|", queries, re.MULTILINE) == names()


def test_joins_find_one_row(folder: Path) -> None:
    """Where the page says that columns lead to a table, it has one row for them: never two, and none in vain."""
    joins = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| `(\w+)` \| (.*) \|$", dictionary(), re.MULTILINE)
    assert len(joins) == 8
    with connect(folder / "tables") as tables:
        for by, to, told in joins:
            columns = ", ".join(re.findall(r"\w+", by))
            again = f"SELECT {columns} FROM {to} GROUP BY {columns} HAVING count(*) > 1"
            assert tables.sql(again).fetchall() == [], to
            present = " AND ".join(f"{name} IS NOT NULL" for name in columns.split(", "))
            of = [table.name for table in TABLES[2:]] if told.startswith("all but") else re.findall(r"\w+", told)
            for table in of:
                lost = f"SELECT {columns} FROM {table} ANTI JOIN {to} USING ({columns}) WHERE {present}"
                assert tables.sql(lost).fetchall() == [], (table, to)


# ------------------------------------------------------------ what schemas say


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=each)
def test_every_column_has_a_meaning(table: Table, column: Column) -> None:
    """It is a sentence or more, fits a line of a table, and cites only rules that there are."""
    assert column.meaning[0].isupper() or column.meaning[0] == "`"
    assert column.meaning.endswith(".")
    assert "|" not in column.meaning + column.unit
    assert set(re.findall(r"\b[A-Z]-\d+\b", column.meaning)) <= set(WORDS)
    assert 1 <= column.version <= table.version


@pytest.mark.parametrize("table", TABLES, ids=each)
def test_no_name_needs_quotes(table: Table) -> None:
    """Tables and columns are named so that SQL of DuckDB takes them as they are, wherever a name can stand."""
    columns = [column.name for column in table.columns]
    assert len(set(columns)) == len(columns)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in (table.name, *columns))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {table.name} ({', '.join(f'{name} INTEGER' for name in columns)})")
        for name in columns:
            connection.execute(f"SELECT {name}, {table.name}.{name}, {name} + 1 AS {name} FROM {table.name}")
            connection.execute(f"SELECT count(*) FROM {table.name} WHERE {name} > 0 GROUP BY {name} ORDER BY {name}")
            connection.execute(f"SELECT * FROM {table.name} AS one JOIN {table.name} AS other USING ({name})")


def test_types_are_told() -> None:
    """Each kind of column has a name for its type, which the page explains."""
    assert set(TYPES) == set(_ARROW)
    for name in TYPES.values():
        assert f"\n| {name} | " in PAGE.read_text()


def test_page_tells_every_field_of_the_manifest() -> None:
    """Each field of the manifest, and of the parts and files in it, is told in the chapter of the folder."""
    _, _, chapter = PAGE.read_text().partition("## The folder")
    for struct in (Manifest, Part, File, Source):
        for field in msgspec.structs.fields(struct):
            assert f"`{field.encode_name}`" in chapter, field.encode_name


# ------------------------------------------------------------ what is shown


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL))
def test_sql_of_the_page_finds_something(query: str, folder: Path) -> None:
    """Each query in docs/tables.md runs, and has rows."""
    with connect(folder / "tables") as tables:
        assert tables.sql(query).fetchall()


def test_python_of_the_page_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The Python blocks run one after the other, and every engine has the same sums as `connect`."""
    monkeypatch.chdir(folder)
    with connect("tables") as tables:
        burned = tables.sql("SELECT source, sum(damage)::BIGINT FROM soulburns GROUP BY source ORDER BY source")
        expected = burned.fetchall()
    assert {source for source, _ in expected} == {"fizzle", "overpay", "rift"}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    known: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), known)  # noqa: S102 - that it runs is the promise
        printed = capfd.readouterr().out
        if "print(" in block:
            assert all(source in printed and str(life) in printed for source, life in expected), printed
