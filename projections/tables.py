"""Tables of read models: what they hold, in SQL that every database understands, and what becomes of new rows.

A read model only ever adds rows; what a row means beside the ones already there is the table's: a fact of its own, the
latest word on its key, or amounts that add up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any, Literal

Kind = Literal["text", "bigint"]
"""What a column holds, by a name that SQLite and PostgreSQL both know."""

Record = tuple[Any, ...]
"""A row of a table: a value a column."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a read model: its columns with their kinds, the first `key` of which identify a row.

    `means` says what a row is beside one with the same key: a "fact" never meets one, the "latest" takes its place,
    "amounts" are added to it.
    """

    name: str
    columns: Mapping[str, Kind]
    key: int
    means: Literal["fact", "latest", "amounts"] = "fact"
    indexes: tuple[tuple[str, ...], ...] = ()

    def create(self, text: str = "text", options: str = "") -> Iterator[str]:
        """The SQL that makes the table and its indexes; `text` and `options` are how a database has it."""
        columns = ", ".join(f"{name} {text if kind == 'text' else kind}" for name, kind in self.columns.items())
        yield f"CREATE TABLE {self.name} ({columns}, PRIMARY KEY ({self._keys})){options}"
        for index in self.indexes:
            yield f"CREATE INDEX {'_'.join((self.name, *index))} ON {self.name} ({', '.join(index)})"

    @cached_property
    def on_conflict(self) -> str:
        """What SQL is to do with a row whose key is there."""
        if self.means == "fact":
            return ""
        form = "{0} = excluded.{0}" if self.means == "latest" else "{0} = {1}.{0} + excluded.{0}"
        changes = ", ".join(form.format(column, self.name) for column in list(self.columns)[self.key :])
        return f" ON CONFLICT ({self._keys}) DO UPDATE SET {changes}"

    @cached_property
    def _keys(self) -> str:
        return ", ".join(list(self.columns)[: self.key])

    def merged(self, rows: list[Record]) -> list[Record]:
        """These rows, in order, as at most one for each key."""
        if self.means == "fact":
            return rows
        merged: dict[Record, Record] = {}
        for row in rows:
            key = row[: self.key]
            known = merged.get(key) if self.means == "amounts" else None
            merged[key] = row if known is None else key + tuple(map(add, known[self.key :], row[self.key :]))
        return list(merged.values())
