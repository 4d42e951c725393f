"""The shell of `soulrift sql`: queries typed one after the other, and what else can be typed there."""

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress

import click
import duckdb
from rich.text import Text

from projections.analytics.asking import queries
from projections.analytics.schemas import TABLES
from soulrift.answer_forms import Answer, FormError, as_table
from soulrift.board import table
from soulrift.querying import FAILURES, Wanted, library, opened, tell, text_of
from soulrift.terminal import Output, complain

with suppress(ImportError):
    import readline  # noqa: F401 - where there is one, lines are edited with it, and come back

PROMPT, MORE = "soulrift> ", "     ...> "

HELP = (
    ("SELECT ... ;", "a query, over as many lines as it takes: it ends with ;"),
    (".tables", "the tables, and what a row of each is"),
    (".columns TABLE", "the columns of a table, with unit and meaning"),
    (".named", "the named queries"),
    (".named NAME", "asks one of them"),
    (".help", "this"),
    (".quit", "leaves, as Ctrl-D does; Ctrl-C drops what was typed"),
)


def shell(address: str, wish: Wanted) -> None:
    """Answer what is typed, until nothing more is.

    Raises:
        click.UsageError: there are no tables.
        click.ClickException: a file of theirs cannot be read.

    """
    with closing(opened(address)) as connection:
        _put([f"the tables in {address}; .help tells what can be typed"])
        while True:
            try:
                typed = _typed()
                if typed is None or typed.strip() == ".quit":
                    return
                _obey(address, connection, typed.strip(), wish)
            except FAILURES as error:
                complain(f"error: {error}")
            except click.UsageError as error:
                complain(f"error: {error.message}")
            except KeyboardInterrupt:
                complain("interrupted")


def _put(lines: Iterable[Text | str]) -> None:
    output = Output()
    for line in lines:
        output.line(line)
    output.end()


# ------------------------------------------------------------ typing


def _typed() -> str | None:
    """A command, or queries up to a `;` at the end of a line; nothing once there is no more."""
    text = ""
    while not _whole(text):
        try:
            text += input(MORE if text.strip() else PROMPT) + "\n"
        except EOFError:
            _put([""])
            return None
        except KeyboardInterrupt:
            _put([""])
            text = ""
        except UnicodeError:
            complain("error: that is no text in UTF-8")
            text = ""
    return text


def _whole(text: str) -> bool:
    """Whether nothing is missing at the end."""
    content = text.encode("utf-8", "replace")
    ends = [place for place, kind in duckdb.tokenize(text) if kind != duckdb.token_type.comment]
    return text.lstrip().startswith(".") or (bool(ends) and content[ends[-1] :].startswith(b";"))


# ------------------------------------------------------------ obeying


def _obey(address: str, connection: duckdb.DuckDBPyConnection, typed: str, wish: Wanted) -> None:
    match typed.split() if typed.startswith(".") else []:
        case []:
            _ask(address, connection, typed, wish)
        case [".tables"]:
            _put(_tables(connection))
        case [".columns", name]:
            _put(_columns(connection, name))
        case [".named"]:
            _put(library())
        case [".named", name]:
            _ask(address, connection, text_of(name), wish)
        case [".help"]:
            _put(table(HELP, ("type", "for")))
        case [command, *_]:
            raise FormError(f"{command} is nothing that can be typed like this; .help tells what can be")


def _ask(address: str, connection: duckdb.DuckDBPyConnection, text: str, wish: Wanted) -> None:
    for statement in queries(text):
        tell(address, connection, statement, wish)


def _tables(connection: duckdb.DuckDBPyConnection) -> Iterator[Text]:
    counts = (connection.execute(f"SELECT count(*) FROM {each.name}").fetchall()[0][0] for each in TABLES)  # noqa: S608
    rows = ((each.name, count, each.row) for each, count in zip(TABLES, counts, strict=True))
    return as_table(Answer(("table", "rows", "a row is"), (False, True, False), rows))


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[Text]:
    found = next((each for each in TABLES if each.name == name), None)
    if found is None:
        raise FormError(f"there is no table {name}; there are {', '.join(each.name for each in TABLES)}")
    known = {column.name: column for column in found.columns}
    there = connection.execute(f"DESCRIBE {name}").fetchall()
    told = (
        (column, kind, known[column].unit, known[column].meaning) if column in known else (column, kind, "", "")
        for column, kind, *_ in there
    )
    return table(told, ("column", "type", "unit", "meaning"))
