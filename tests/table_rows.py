"""The rows of matches as objects with a value a column, as tests expect them."""

from collections.abc import Iterable, Iterator
from typing import Any

from domain import Entry
from projections.analytics.rows import match_rows
from projections.analytics.schemas import TABLES
from tests.kit import Json

Rows = dict[str, list[Json]]
"""By table; without the column `match` but for that of matches, as it is the same in all."""

COLUMNS = {
    table.name: [column.name for column in table.columns][table.name not in {"matches", "runs"} :] for table in TABLES
}
"""The columns of each table that its rows have."""


def rows_of(entries: Iterable[Entry], match: str = "m") -> Rows:
    """The rows that the entries of a match make."""
    made = match_rows(match, entries)
    return {
        table: [_named(table, row) for row in batched(values, len(COLUMNS[table]))]
        for table, values in made.rows.items()
    }


def batched(values: list[Any], width: int) -> Iterator[list[Any]]:
    """Values as rows of so many."""
    return (values[at : at + width] for at in range(0, len(values), width))


def _named(table: str, values: Iterable[Any]) -> Json:
    texts = [value.decode() if isinstance(value, bytes) else value for value in values]
    return dict(zip(COLUMNS[table], texts, strict=True))


def row(table: str, **values: Any) -> Json:
    """A whole row: these values, and null in all other columns."""
    unknown = values.keys() - set(COLUMNS[table])
    assert not unknown, f"{table} has no {unknown}"
    return dict.fromkeys(COLUMNS[table]) | values


def columns(rows: Iterable[Json], *names: str) -> list[tuple[Any, ...]]:
    """These columns of rows."""
    return [tuple(each[name] for name in names) for each in rows]
