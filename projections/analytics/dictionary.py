"""The data dictionary: what stands in docs/tables.md of each table, of how they join, and of the named queries.

    python -m projections.analytics.dictionary PAGE    writes it anew into this page, between two comments

It is made from the schemas and from the texts of the queries; the rest of the page is written by hand.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from projections.analytics.named import named, names
from projections.analytics.schemas import TABLES, Column, Table

BEGIN = "<!-- made by python -m projections.analytics.dictionary docs/tables.md -->"
END = "<!-- what is made ends here -->"
"""The comments of a page between which the dictionary stands."""

TYPES = {
    "text": "string",
    "word": "dictionary",
    "words": "list of string",
    "flag": "bool",
    "small": "int8",
    "count": "int32",
    "amount": "int64",
    "time": "timestamp",
}
"""What the types of Arrow are called here, by what a column holds."""

_JOINS = ("run", "match", "player", "entry", "n", "soul", "payment", "rift")
"""Columns that lead to the first table that has a row for each of them in a match."""


class PageError(Exception):
    """A page that has no place for the dictionary; the message says what it lacks."""


def dictionary() -> str:
    """The text between the comments: how tables join, each table with its columns, the named queries."""
    tables = ("## The tables, column by column\n", *(line for table in TABLES for line in _table(table)))
    return "\n".join([*_joins(), *tables, *_queries()])


def with_dictionary(page: str) -> str:
    """A page with the dictionary as it is now.

    Raises:
        PageError: the two comments are not in it.

    """
    before, begins, rest = page.partition(f"{BEGIN}\n")
    _, ends, after = rest.partition(f"{END}\n")
    if not begins or not ends:
        message = f"it has no lines {BEGIN!r} and {END!r}, between which the dictionary stands"
        raise PageError(message)
    return f"{before}{BEGIN}\n\n{dictionary()}\n{END}\n{after}"


# ------------------------------------------------------------ tables


def _joins() -> Iterator[str]:
    yield "## How they join\n"
    yield "| by | it leads to | from |\n| --- | --- | --- |"
    for name in _JOINS:
        by = (name,) if name in {"run", "match"} else ("match", name)
        to = next(table for table in TABLES if table.key == by)
        of = [table for table in TABLES if table is not to and name in (column.name for column in table.columns)]
        told = ", ".join(f"`{table.name}`" for table in of) if name != "match" else "all but `runs`"
        yield f"| {_list(by)} | `{to.name}` | {told} |"
    yield ""


def _table(table: Table) -> Iterator[str]:
    yield f"### `{table.name}`\n"
    yield f"{table.row} Key: {_list(table.key)}. Version {table.version}.\n"
    yield "| column | type | unit | meaning |\n| --- | --- | --- | --- |"
    yield from (_column(column) for column in table.columns)
    yield ""


def _column(column: Column) -> str:
    since = f" Since version {column.version}." if column.version > 1 else ""
    meaning = column.meaning.replace("|", "\\|")
    return f"| `{column.name}` | {TYPES[column.holds]} | {column.unit} | {meaning}{since} |"


def _list(columns: Sequence[str]) -> str:
    return ", ".join(f"`{column}`" for column in columns)


# ------------------------------------------------------------ queries


def _queries() -> Iterator[str]:
    yield "## Named queries\n"
    yield "| query | title | answers |\n| --- | --- | --- |"
    for query in map(named, names()):
        first = takewhile(bool, query.about.splitlines())
        yield f"| `{query.name}` | {query.title} | {' '.join(first)} |"
    yield ""


def main(arguments: Sequence[str]) -> str | None:
    """Write the dictionary into a page; what is wrong with the arguments."""
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        return "usage: python -m projections.analytics.dictionary PAGE, a file that is there"
    page = Path(arguments[0])
    try:
        page.write_text(with_dictionary(page.read_text("utf-8")), "utf-8")
    except PageError as error:
        return f"{page}: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
