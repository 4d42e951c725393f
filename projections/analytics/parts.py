"""Parts of the tables: the rows of some hundred or thousand matches, as one Parquet file a table."""

from collections.abc import Callable, Collection
from hashlib import sha256
from types import TracebackType
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from domain.codec import CorruptRecordError
from projections.analytics.rows import MatchRows
from projections.analytics.schemas import MATCHES, RUNS, TABLES, Table
from projections.analytics.taken import Row, Values

ROWS = 122_880
"""Rows that are compressed together, and read by one thread: as many as DuckDB likes best."""

ENTRIES = 200_000
"""A part is full once it has so many entries; its files are of some MiB then, which engines read well."""

COMPRESSION = {"compression": "zstd", "compression_level": 3}


class File(Struct, frozen=True):
    """A file of a table: where it lies in the folder, what is in it, and the SHA-256 of its bytes."""

    path: str
    table: str
    version: int
    rows: int
    bytes: int
    sha256: str


class Part(Struct, frozen=True):
    """A part: its name, the files of its tables, and how many matches, entries and events they tell of."""

    name: str
    files: tuple[File, ...]
    matches: int
    entries: int
    events: int


class _Hashed:
    """A file that is being written, and the hash of what was."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.hash = sha256()
        self.size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        self.hash.update(data)
        self.size += len(data)
        self.file.write(data)
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.closed = True


class TableFile:
    """A file of a table that is being written."""

    def __init__(self, table: Table, path: str, file: BinaryIO) -> None:
        self._table = table
        self._path = path
        self._hashed = _Hashed(file)
        self._rows = 0
        self._writer = pq.ParquetWriter(self._hashed, described(table), **COMPRESSION)

    def write(self, rows: pa.Table) -> None:
        """Write rows, as a group of their own."""
        self._writer.write_table(rows.replace_schema_metadata(described(self._table).metadata), row_group_size=ROWS)
        self._rows += len(rows)

    def close(self) -> File:
        """End it; what it came to."""
        self._writer.close()
        self._hashed.file.close()
        told = self._hashed
        return File(self._path, self._table.name, self._table.version, self._rows, told.size, told.hash.hexdigest())


def described(table: Table) -> pa.Schema:
    """The schema of a table's files, which says whose they are."""
    return table.arrow.with_metadata({"soulrift.table": table.name, "soulrift.version": str(table.version)})


class _Buffer:
    """Rows of a table that are still to be written, value by value, and how many of them are each match's."""

    def __init__(self, table: Table) -> None:
        self.rows = 0
        self._table = table
        self._width = len(table.columns) - (table not in {MATCHES, RUNS})  # which say which ones they are
        self._values = Values()
        self._matches: list[str] = []
        self._counts: list[int] = []

    def add(self, match: str, values: Values) -> None:
        self._values += values
        rows = len(values) // self._width
        self._matches.append(match)
        self._counts.append(rows)
        self.rows += rows

    @property
    def ends(self) -> str:
        """Between which matches the rows are."""
        return f"{self._matches[0]} to {self._matches[-1]}"

    def as_arrow(self) -> pa.Table:
        schema = self._table.arrow
        arrays = [self._match()] if self._width < len(schema) else []
        for place, field in enumerate(list(schema)[len(arrays) :]):
            arrays.append(pa.array(self._values[place :: self._width], field.type))
        return pa.Table.from_arrays(arrays, schema=schema)

    def _match(self) -> pa.Array:
        places = [place for place, count in enumerate(self._counts) for _ in range(count)]
        return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(self._matches, pa.string()))


class PartWriter:
    """Writes a part, match by match. A table without rows has no file."""

    def __init__(self, name: str, place: Callable[[Table], str], opened: Callable[[str], BinaryIO]) -> None:
        self._name = name
        self._place = place
        self._opened = opened
        self._buffers = {table.name: (table, _Buffer(table)) for table in TABLES}
        self._files: dict[str, TableFile] = {}
        self.matches = self.entries = self.events = 0

    def add(self, made: MatchRows) -> None:
        """Add the rows of a match."""
        for name, values in made.rows.items():
            if values:
                table, buffer = self._buffers[name]
                buffer.add(made.match, values)
                if buffer.rows >= ROWS:
                    self._flush(table, buffer)
        self.matches += 1
        self.entries += made.entries
        self.events += made.events

    def add_runs(self, runs: Collection[Row]) -> None:
        """Add rows of runs."""
        self._buffers[RUNS.name][1].add("", [value for run in runs for value in run])

    def _flush(self, table: Table, buffer: _Buffer) -> None:
        if table.name not in self._files:
            path = self._place(table)
            self._files[table.name] = TableFile(table, path, self._opened(path))
        try:
            rows = buffer.as_arrow()
        except (pa.ArrowInvalid, OverflowError) as error:
            raise CorruptRecordError(
                f"a number in one of the matches {buffer.ends} is none that can be: {error}"
            ) from None
        self._files[table.name].write(rows)
        self._buffers[table.name] = table, _Buffer(table)

    def close(self) -> Part:
        """Write what is left; what it came to."""
        for table, buffer in list(self._buffers.values()):
            if buffer.rows:
                self._flush(table, buffer)
        files = tuple(file.close() for file in self._files.values())
        self._files = {}
        return Part(self._name, files, self.matches, self.entries, self.events)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
