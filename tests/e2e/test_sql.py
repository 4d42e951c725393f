"""`soulrift sql`, as its users call it."""

import gzip
import importlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Self
from xml.etree import ElementTree as ET

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from domain.application import Matches
from domain.sqlite import sqlite_settings
from projections.analytics.asking import read_only
from projections.analytics.named import named, names
from projections.analytics.schemas import TABLES
from soulrift.answer_forms import Answer, cell
from soulrift.bars import chart
from soulrift.cli import main
from tests.e2e.conftest import Run
from tests.recordings import EXAMPLES, script
from tests.tables import tables_of

BURNS = "SELECT entry, source, damage FROM soulburns ORDER BY entry"
"""What burned in the long duel; the README tells it, too."""

Ask = Callable[..., Result]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the long duel."""
    folder = tmp_path_factory.mktemp("sql") / "tables"
    (duel,) = (path for path in EXAMPLES if path.stem == "long-duel")
    with Matches(sqlite_settings(":memory:")) as matches:
        start, *commands = script(duel)
        matches.start(start)
        matches.give_all("long-duel", commands)
        tables_of(matches, folder)
    return folder


@pytest.fixture
def ask(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks these tables, in a folder of its own; without an error, unless one is expected."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOULRIFT_TABLES", str(tables))

    def asked(*arguments: str, stdin: str | bytes = "", status: int = 0) -> Result:
        done = CliRunner().invoke(main, ["sql", *arguments], input=stdin)
        assert (done.exit_code, isinstance(done.exception, None | SystemExit)) == (status, True), done.output
        if status:
            assert done.stdout == ""
        return done

    return asked


# ------------------------------------------------------------ forms


def test_table_has_numbers_to_the_right(ask: Ask) -> None:
    """For people, in aligned columns; numbers stand below each other, null is said."""
    assert ask(BURNS).stdout == (
        "  entry   source    damage\n"
        "     21   fizzle         3\n"
        "     61   rift           6\n"
        "     82   overpay        3\n"
    )
    mixed = "VALUES ('龍', 10.5::DOUBLE, NULL), ('ab' || chr(10), -0.00001::DOUBLE, [1, 2])"
    assert ask(f"FROM ({mixed}) AS t (name, 数, c)").stdout == (
        "  name            数   c\n"
        "  龍         10.5000   null\n"
        "  ab\\u000a    -1e-05   [1,2]\n"
    )  # fmt: skip


def test_numbers_of_a_table() -> None:
    """Four digits behind the point; four in all of what is nearer to zero; whole numbers and decimals as they are."""
    numbers = [2 / 3, -1234.5, 0.0, 0.0001, 0.00009, 3.8163916471489756e-17, -3e-09, 7, Decimal("0.000015")]
    told = ["0.6667", "-1234.5000", "0.0000", "0.0001", "9e-05", "3.816e-17", "-3e-09", "7", "0.000015"]
    assert list(map(cell, numbers)) == told


def test_all_rows_go_into_a_pipe(ask: Ask) -> None:
    """Where nobody looks on, a table has all of its rows; without any, it says so."""
    assert len(ask("FROM range(3000)").stdout.splitlines()) == 3001
    assert ask("FROM matches WHERE false").stdout.splitlines()[1:] == ["  none"]


def test_csv(ask: Ask) -> None:
    """A line a row, under one with the columns."""
    assert ask(BURNS, "--format", "csv").stdout == "entry,source,damage\n21,fizzle,3\n61,rift,6\n82,overpay,3\n"
    odd = "SELECT NULL AS a, '' AS b, 'x, \"y\"' || chr(10) || 'z' AS c, true AS d, 0.1::DOUBLE AS e, {'f': [1]} AS f"
    assert ask(odd, "--format", "csv").stdout == 'a,b,c,d,e,f\n,,"x, ""y""\nz",true,0.1,"{""f"":[1]}"\n'


def test_json(ask: Ask) -> None:
    """One array with a row a line; moments in RFC 3339, and every integer exact."""
    done = ask(BURNS, "--format", "json")
    assert done.stdout == (
        '[\n{"entry":21,"source":"fizzle","damage":3},\n'
        '{"entry":61,"source":"rift","damage":6},\n'
        '{"entry":82,"source":"overpay","damage":3}\n]\n'
    )
    assert ask("SELECT 1 AS a WHERE false", "--format", "json").stdout == "[]\n"
    began = json.loads(ask("SELECT began_at FROM matches", "--format", "json").stdout)
    assert began == [{"began_at": "2026-03-14T18:30:12Z"}]
    odd = "SELECT 170141183460469231731687303715884105727 AS a, [2::HUGEINT ** 0, 1::HUGEINT << 100] AS b, 1.50 AS c"
    told = ask(f"{odd}, 'nan'::DOUBLE AS d, DATE '2026-11-30' AS e, NULL AS f", "--format", "json").stdout
    assert '"a":170141183460469231731687303715884105727,' in told
    assert '"c":1.50,"d":null,"e":"2026-11-30","f":null}' in told


def test_columns_of_one_name(ask: Ask) -> None:
    """Where each column needs a name of its own, it is asked for; where it does not, both are there."""
    for form in ("json", "parquet"):
        done = ask("SELECT 1 AS a, 2 AS a", "--format", form, "-o", "x", status=1)
        assert done.stderr == "error: two columns are called a: give one another name, by AS\n"
    assert ask("SELECT 1 AS a, 2 AS a", "--format", "csv").stdout == "a,a\n1,2\n"


def test_parquet(ask: Ask, tmp_path: Path) -> None:
    """Parquet goes into a file, with the types that the columns have."""
    assert ask(BURNS, "--format", "parquet", "-o", "burns.parquet").stdout == ""
    found = pq.read_table(tmp_path / "burns.parquet")
    assert found.schema.types == [pa.int32(), pa.string(), pa.int64()]
    assert found.to_pydict() == {"entry": [21, 61, 82], "source": ["fizzle", "rift", "overpay"], "damage": [3, 6, 3]}
    assert "Parquet needs a file: -o FILE" in ask(BURNS, "--format", "parquet", status=2).stderr


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_file_has_what_would_be_printed(ask: Ask, tmp_path: Path, form: str) -> None:
    """With -o, an answer goes into a file, which may be compressed."""
    printed = ask(BURNS, "--format", form).stdout
    assert ask(BURNS, "--format", form, "-o", "answer").stdout == ""
    assert (tmp_path / "answer").read_text() == printed
    ask(BURNS, "--format", form, "-o", "answer.gz")
    assert gzip.decompress((tmp_path / "answer.gz").read_bytes()).decode() == printed


ENDINGS = {
    "a.csv": "csv",
    "a.json": "json",
    "a.parquet": "parquet",
    "a.svg": "chart",
    "a.PNG": "chart",
    "a.csv.gz": "csv",
    "a.json.zst": "json",
    "a.txt": "table",
    "a.gz": "table",
    "csv": "table",
}
"""By the name of a file: the form of the answer in it."""


@pytest.mark.parametrize("name", ENDINGS)
def test_form_follows_from_the_ending(ask: Ask, tmp_path: Path, name: str) -> None:
    """Where no form is given, the ending of the file says it, also in front of that of a compression."""
    assert ask(BURNS, "-o", name).stdout == ""
    content = (tmp_path / name).read_bytes()
    ask(BURNS, "-o", name, "--format", ENDINGS[name], "--force")
    assert (tmp_path / name).read_bytes() == content
    begins = {
        "a.csv": b"entry,source",
        "a.json": b"[\n",
        "a.parquet": b"PAR1",
        "a.svg": b"<?xml",
        "a.PNG": b"\x89PNG",
        "a.csv.gz": b"\x1f\x8b",
        "a.json.zst": b"\x53\x2a\x4d\x18",
        "a.gz": b"\x1f\x8b",
    }
    assert content.startswith(begins.get(name, b"  entry   source"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("-o", "a.csv", "--format", "json"), "a.csv ends as csv does, and --format says json"),
        (("-o", "a.parquet", "--format", "table"), "a.parquet ends as parquet does, and --format says table"),
        (("-o", "a.json.gz", "--format", "csv"), "a.json.gz ends as json does, and --format says csv"),
        (("-o", "a.svg", "--format", "csv"), "a.svg ends as chart does, and --format says csv"),
        (("-o", "a.parquet.gz"), "Parquet is compressed in itself, and a.parquet.gz would be once more"),
        (("-o", "a.zst", "--format", "parquet"), "Parquet is compressed in itself, and a.zst would be once more"),
        (("-o", "a.svg.gz"), "the name of a chart ends with .svg or .png, and a.svg.gz does not"),
        (("-o", "a", "--format", "chart"), "the name of a chart ends with .svg or .png, and a does not"),
    ],
)
def test_ending_that_contradicts_the_form(ask: Ask, tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    """A file that would hold something else than its ending says is not written."""
    assert told in " ".join(ask(BURNS, *options, status=2).stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_file_is_replaced_with_force_alone(ask: Ask, tmp_path: Path) -> None:
    """A file that is there stays, unless --force is given; and if the query fails then, it stays all the same."""
    (tmp_path / "burns.csv").write_text("mine")
    options = ("--format", "csv", "-o", "burns.csv")
    assert "there is a burns.csv already; --force replaces it" in ask(BURNS, *options, status=2).stderr
    late = "SELECT CASE WHEN range = 9999 THEN error('too late') ELSE 1 END AS a FROM range(10000)"
    assert ask(late, *options, "--force", status=1).stderr == "error: Invalid Input Error: too late\n"
    assert (tmp_path / "burns.csv").read_text() == "mine"
    ask(BURNS, *options, "--force")
    assert (tmp_path / "burns.csv").read_text().startswith("entry,source")
    assert [path.name for path in tmp_path.iterdir()] == ["burns.csv"]
    assert "there is no folder for no/burns.csv" in ask(BURNS, "-o", "no/burns.csv", status=2).stderr


# ------------------------------------------------------------ charts


def test_chart_as_text(ask: Ask) -> None:
    """The first column against the last one of numbers; the longest bar has 50 characters."""
    query = "SELECT source, damage, rule FROM soulburns ORDER BY entry"
    assert ask(query, "--format", "chart").stdout == (
        "  source    damage\n"
        f"  fizzle         3   {'█' * 25}\n"
        f"  rift           6   {'█' * 50}\n"
        f"  overpay        3   {'█' * 25}\n"
    )
    values = "SELECT * FROM (VALUES ('a', 3), ('b', -1), ('c', NULL), ('d', 0)) AS t (what, life)"
    assert ask(values, "--format", "chart").stdout == (
        "  what   life\n"
        f"  a         3   {' ' * 12}{'█' * 38}\n"  # 50 characters for 4 life, zero after the 12th
        f"  b        -1   {'█' * 12}\n"
        "  c      null\n"
        "  d         0\n"
    )


def test_chart_tells_its_bars_apart(ask: Ask) -> None:
    """Bars are labelled by as many of the first columns as it takes: by all but that of the bars, if they do not do."""
    burns = "('rift', 1, 9, 4), ('rift', 2, 9, 8), ('fizzle', 1, 9, 2)"
    query = f"SELECT * FROM (VALUES {burns}) AS t (source, level, times, burned)"
    assert ask(query, "--format", "chart").stdout == (
        "  source   level   burned\n"
        f"  rift     1            4   {'█' * 25}\n"
        f"  rift     2            8   {'█' * 50}\n"
        f"  fizzle   1            2   {'█' * 12}\n"
    )
    twice = f"{query} UNION ALL SELECT 'rift', 2, 9, 6 ORDER BY burned"
    assert ask(twice, "--format", "chart").stdout.startswith("  source   level   times   burned\n")
    ask(query, "-o", "burns.svg")
    assert chart(Answer(("a", "b", "c"), (True,) * 3, iter([(1, None, 5), (1, [2], 6)]))).labels == ("a", "b")


@pytest.mark.parametrize("name", ["soulburn-by-level", "rifts-by-highest", "waste", "win-rate-by-matchup"])
def test_charts_of_named_queries_tell_their_bars_apart(tables: Path, name: str) -> None:
    """No two bars of a named query have the same label."""
    with read_only(tables) as connection:
        asked = connection.execute(named(name).sql)
        columns = asked.description or []
        numbers = tuple(column[1] != "VARCHAR" for column in columns)
        drawn = chart(Answer(tuple(column[0] for column in columns), numbers, iter(asked.fetchall())))
    labels = [labels for labels, _ in drawn.rows]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_chart_as_a_picture(ask: Ask, tmp_path: Path, ending: str) -> None:
    """With -o, it is drawn; the same answer as the same bytes, whatever letters there are in it."""
    query = "SELECT source || ' $ 龍 🦊' AS source, damage FROM soulburns ORDER BY entry"
    for name in ("one", "two"):
        ask(query, "--format", "chart", "-o", f"{name}.{ending}")
    content = (tmp_path / f"one.{ending}").read_bytes()
    assert content == (tmp_path / f"two.{ending}").read_bytes()
    if ending == "svg":
        assert ET.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own
    else:
        assert content.startswith(b"\x89PNG")


def test_chart_that_cannot_be_drawn(ask: Ask) -> None:
    """Too many bars, none, or a file of another kind: it is said what would go."""
    too_many = ask("SELECT 'x', range FROM range(41)", "--format", "chart", status=1).stderr
    assert too_many == "error: a chart has room for 40 rows, and these are more: add LIMIT 40, or group them\n"
    assert len(ask("SELECT 'x', range FROM range(40)", "--format", "chart").stdout.splitlines()) == 41
    for query in ("SELECT 1 AS a", "SELECT 1 AS a, 'b' AS b"):
        done = ask(query, "--format", "chart", status=1)
        assert done.stderr == "error: a chart needs two columns: labels first, and numbers\n"
    done = ask(BURNS, "--format", "chart", "-o", "chart.pdf", status=2)
    assert "the name of a chart ends with .svg or .png, and chart.pdf does not" in done.stderr


# ------------------------------------------------------------ what is asked


def test_named_query(ask: Ask) -> None:
    """A query of the library is asked by its name."""
    assert ask("--named", "soulburn-by-source", "--format", "csv").stdout.splitlines() == [
        "source,times,power,burned,share,per_match",
        "rift,1,2,6,0.5,6.0",
        "fizzle,1,1,3,0.25,3.0",
        "overpay,1,1,3,0.25,3.0",
    ]
    assert "there is no query wast; there are aether-by-turn, " in ask("--named", "wast", status=2).stderr


def test_library_is_told(ask: Ask) -> None:
    """--list tells each query with its title, and with a name the whole of it; no tables are needed for that."""
    listed = ask("--list", "--tables", "none").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["name", *names()]
    assert re.fullmatch(r"  waste +Power wasted, by deck and source", listed[1 + names().index("waste")])
    whole = ask("--list", "--named", "waste").stdout
    assert whole.startswith("-- Power wasted, by deck and source\n--\n")
    assert ask(stdin=whole).stdout == ask("--named", "waste").stdout


def test_standard_input(ask: Ask) -> None:
    """Queries are read from a pipe, if there is - for them, or nothing."""
    expected = ask(BURNS).stdout
    for arguments in ((), ("-",)):
        assert ask(*arguments, stdin=f"-- what burned\n{BURNS};\n").stdout == expected
    assert ask(stdin=b"\xef\xbb\xbfSELECT 'h\xc3\xa9' AS a").stdout == "  a\n  hé\n"
    assert "standard input is no text in UTF-8" in ask(stdin=b"SELECT '\xff'", status=2).stderr


def test_several_queries(ask: Ask) -> None:
    """Tables of several queries come one after the other; other forms have room for one."""
    assert ask("SELECT 1 AS a; SELECT 2 AS b;").stdout == "  a\n  1\n\n  b\n  2\n"
    for options in (("--format", "csv"), ("--format", "json"), ("-o", "x")):
        told = ask("SELECT 1; SELECT 2", *options, status=2).stderr
        assert "these are 2 queries, and only tables on standard output tell several" in told


def test_plan_is_drawn(ask: Ask) -> None:
    """The plan of a query is told as it is drawn, line by line."""
    assert "│ Function: READ_PARQUET" in ask("EXPLAIN FROM matches").stdout


USAGE = [
    ((), "there is no query: give one, or name one of those that --list tells"),
    (("",), "there is no query"),
    (("/* nothing */",), "there is no query"),
    ((BURNS, "--named", "waste"), "give a QUERY, or --named one of the library, or --list these"),
    ((BURNS, "--list"), "give a QUERY, or --named one of the library, or --list these"),
    ((BURNS, "--format", "xml"), "'xml' is not one of"),
    ((BURNS, "--tables", "none"), "there are no tables in none"),
    ((BURNS, "--tables", "nowhere://x"), "nowhere://x cannot be used"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_usage(ask: Ask, arguments: tuple[str, ...], message: str) -> None:
    """What cannot be meant is told with status 2."""
    assert message in " ".join(ask(*arguments, status=2).stderr.split())


REFUSED = [
    ("COPY matches TO 'x.csv'", "COPY is no query: tables are only read here, by SELECT, DESCRIBE, SHOW, SUMMARIZE"),
    ("SELECT 1; DROP VIEW matches", "DROP is no query"),
    ("SLECT 1", 'Parser Error: syntax error at or near "SLECT"'),
    (
        "SELECT souls FROM rifts",
        'Binder Error: Referenced column "souls" not found in FROM clause! Candidate bindings: ',
    ),
    ("FROM soulburn", "Catalog Error: Table with name soulburn does not exist! Did you mean "),
    ("SELECT 'x'::INTEGER", "Conversion Error: Could not convert string 'x' to INT32"),
    ("SELECT 1 + 'x'", "Binder Error: Could not choose a best candidate function"),
    ("FROM read_csv('secret.csv')", 'Permission Error: Cannot access file "secret.csv"'),
    ("WITH a AS (COPY (SELECT 1) TO 'tables://x' (use_tmp_file false)) FROM a", "tables are only read here"),
]


@pytest.mark.parametrize(("query", "message"), REFUSED)
def test_query_that_fails(ask: Ask, tmp_path: Path, query: str, message: str) -> None:
    """What is no query, or cannot be answered, is told in one line, with status 1, and nothing was done."""
    (tmp_path / "secret.csv").write_text("a\n1\n")
    told = ask(query, status=1).stderr
    assert told.startswith(f"error: {message}")
    assert told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


@pytest.mark.parametrize("missing", ["duckdb", "pyarrow", "fsspec"])
def test_missing_extra_is_told(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one of its libraries, it is said what to install."""
    monkeypatch.setitem(sys.modules, missing, None)
    for module in list(sys.modules):
        if module == "soulrift.querying" or module.startswith(("projections.analytics", f"{missing}.")):
            monkeypatch.delitem(sys.modules, module)
    with pytest.raises(click.UsageError) as told:
        importlib.import_module("soulrift.querying")
    assert told.value.message == "analytics needs an extra: pip install 'soulrift[analytics]'"


# ------------------------------------------------------------ the program


def test_program(run: Run, tables: Path) -> None:
    """The program answers, and ends quietly when nobody reads on."""
    assert run("sql", "SELECT 1 AS a", "--tables", str(tables)).stdout == "  a\n  1\n"
    piped = f"{sys.executable} -m soulrift sql 'FROM range(1000000)' --format csv --tables {tables} | head -n 1"
    done = subprocess.run(piped, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("range\n", "")


_IN_TERMINAL = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C comes here
from soulrift.__main__ import main
main()
"""


class Terminal:
    """The program in a terminal, to type at."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _IN_TERMINAL, "sql", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=os.environ | {"TERM": "dumb", "NO_COLOR": "1"},
            start_new_session=True,
        )
        os.close(theirs)

    def until(self, sign: str, *, within: float = 30, keys: str = "") -> str:
        """What is written, after these keys, up to a sign at the end."""
        self.write(keys)
        seen, end = "", time.monotonic() + within
        while not seen.endswith(sign):
            assert time.monotonic() < end, seen
            if select.select([self._ours], [], [], 0.1)[0]:
                seen += os.read(self._ours, 1 << 16).decode("utf-8", "replace").replace("\r\n", "\n")
        return seen

    def types(self, keys: str, sign: str = "soulrift> ") -> str:
        """What comes of these keys, up to the next prompt."""
        return self.until(sign, keys=keys).removesuffix(sign)

    def breaks(self) -> str:
        """What comes of Ctrl-C while it waits for keys. Just before it waits, Python sees that at the next key only."""
        try:
            return self.until("soulrift> ", within=5, keys="\x03")
        except AssertionError:
            return self.until("soulrift> ", keys="\x03")

    def write(self, keys: str) -> None:
        """Type these keys."""
        os.write(self._ours, keys.encode())

    def ends(self, keys: str) -> int:
        """The exit status, after these keys."""
        self.write(keys)
        return self._process.wait(30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal(tables: Path, tmp_path: Path) -> Iterator[Terminal]:
    """The shell, once it waits for what is typed."""
    with Terminal("--tables", str(tables), cwd=tmp_path) as opened:
        opened.until("soulrift> ")
        yield opened


def test_shell(terminal: Terminal) -> None:
    """Queries end with `;`, errors are told and it goes on, Ctrl-C drops what was typed, a thousand rows are shown of
    many, Ctrl-D ends.
    """
    assert terminal.types("SELECT 1 AS a,\r", "     ...> ").splitlines()[-1:] != ["  a"]
    assert terminal.types("2 AS b; -- so\r").endswith("\n  a   b\n  1   2\n")
    assert terminal.types("SELECT ';\r", "     ...> ")
    assert "error" not in terminal.breaks()
    assert terminal.types("SLECT;\r").endswith('\nerror: Parser Error: syntax error at or near "SLECT"\n')
    assert "DROP is no query" in terminal.types("DROP VIEW matches;\r")
    assert re.search(r"\n  rifts +3   A Rift that opened\.\n", terminal.types(".tables\r"))
    assert re.search(r"\n  rank +TINYINT +rank +Its rank, 1 to 3 \(R-2\)\.\n", terminal.types(".columns rifts\r"))
    known = ", ".join(table.name for table in TABLES)
    assert f"error: there is no table rift; there are {known}\n" in terminal.types(".columns rift\r")
    assert "\n  waste " in terminal.types(".named\r")
    assert re.search(r"\n  rift +1 +2 +6 +0\.5000 +6\.0000\n", terminal.types(".named soulburn-by-source\r"))
    assert "error: there is no query wast; there are " in terminal.types(".named wast\r")
    assert "\n  .columns TABLE " in terminal.types(".help\r")
    assert "error: .helm is nothing that can be typed like this; .help tells what can be\n" in terminal.types(".helm\r")
    shown = terminal.types("FROM range(1234);\r").splitlines()
    assert shown[-2:] == ["    999", "  … 1,000 of 1,234 rows; LIMIT and OFFSET choose others, -o writes them all"]
    assert terminal.ends("\x04") == 0


def test_ctrl_c_breaks_a_query_off(terminal: Terminal) -> None:
    """Whenever it is typed, a query that would take hours is broken off, and the next one is answered."""
    told = []
    for seconds in (0, 0.0003, 0.001, 0.003, 0.01, 0.3, 1):
        terminal.write("SELECT count(*) FROM range(1000000) a, range(1000000) b, range(9) c WHERE a = b + c;\r")
        terminal.until(";\n")  # the shell has it
        time.sleep(seconds)
        told.append(terminal.types("\x03"))
        assert terminal.types("SELECT 1 AS a;\r").endswith("\n  a\n  1\n")
    assert told[-1].endswith("interrupted\n")
    assert terminal.ends(".quit\r") == 0
