"""Tables asked by SQL: a DuckDB connection in which each table is a view of just those files that the manifest names.

DuckDB reads them through `_Listed`, on the local disk as in an object store. It knows the manifest's files by their
names in the folder and nothing else, so no pattern can match another file, and it cannot write: a SELECT of DuckDB may
hold a COPY that replaces a file. Its files may be read by several threads at once, which DuckDB does and those of
fsspec do not bear.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from threading import get_ident
from typing import Any
from uuid import uuid4

import duckdb
from fsspec import AbstractFileSystem

from projections.analytics.folder import Folder, Manifest, TablesError, UnreadableError
from projections.analytics.parts import File
from projections.analytics.schemas import TABLES, Table

_SCHEME = "tables"

_TYPES = {
    "text": "VARCHAR",
    "word": "VARCHAR",
    "words": "VARCHAR[]",
    "flag": "BOOLEAN",
    "small": "TINYINT",
    "count": "INTEGER",
    "amount": "BIGINT",
    "time": "TIMESTAMP WITH TIME ZONE",
}
"""By what a column holds."""

_COMMENT = re.compile(r"--.*|/\*[\s\S]*?\*/")

_LOCKED = {
    "allowed_directories": f"['{_SCHEME}://']",
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
"""Settings of a connection that reaches the tables and nothing else; the last one keeps them as they are."""


class QueryError(Exception):
    """What was asked is no query, or cannot be answered; the message says why."""


def connect(address: str | Path) -> duckdb.DuckDBPyConnection:
    """A connection to DuckDB, in memory, with a view for each table; also for those that have no rows yet.

    The views stay with the files that the manifest named when it was made. Times are in UTC. Ask it as
    `connect("tables").sql("SELECT ...")`, and take the answer as it is, or by `.df()`, `.to_arrow_table()` or `.pl()`.

    Raises:
        TablesError: there are no tables there, or a file of theirs is missing or damaged.

    """
    folder = Folder(str(address))
    manifest = folder.manifest()
    try:
        return _connection(folder, manifest)
    except TablesError:
        now = folder.manifest()
        if now == manifest:
            raise
        return _connection(folder, now)  # they were written meanwhile, and what they replaced is gone


def read_only(address: str | Path) -> duckdb.DuckDBPyConnection:
    """Such a connection by which nothing can be reached but the tables: no other file, no network, no setting.

    Raises:
        TablesError: as with `connect`.

    """
    connection = connect(address)
    for setting, value in _LOCKED.items():
        connection.execute(f"SET {setting} = {value}")
    return connection


def queries(text: str) -> list[duckdb.Statement]:
    """The queries of a text, in their order.

    Raises:
        QueryError: it cannot be read, or something in it is no query.

    """
    try:
        statements = duckdb.extract_statements(text)
    except duckdb.Error as error:
        raise QueryError(said(error)) from None
    for statement in statements:
        _see_query(statement)
    return statements


def _see_query(statement: duckdb.Statement) -> None:
    kind = statement.type
    if kind in {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}:
        return
    if kind == duckdb.StatementType.MULTI:
        raise QueryError("a PIVOT has to name its values here: ON column IN (value, ...)")
    words = re.findall(r"\w+", _COMMENT.sub(" ", statement.query.upper()))
    name = kind.name if kind.name in words else words[0]  # LOAD is DuckDB's name for INSTALL, too
    raise QueryError(f"{name} is no query: tables are only read here, by SELECT, DESCRIBE, SHOW, SUMMARIZE and EXPLAIN")


def why(address: str | Path, error: duckdb.Error) -> str:
    """Why tables do not answer: which file of theirs is missing or damaged, or else what DuckDB says."""
    folder = Folder(str(address))
    try:
        files = list(folder.manifest().files())
    except TablesError as gone:
        return str(gone)
    named = [file for file in files if f"{_SCHEME}://{file.path}" in str(error)]
    of_files = type(error) in {duckdb.Error, duckdb.IOException}  # the first is of what reads Parquet, and names none
    return _why(folder, named or (files if of_files else []), error)


def _why(folder: Folder, files: Iterable[File], error: duckdb.Error) -> str:
    return next(filter(None, map(folder.damage, files)), None) or said(error)


def said(error: Exception) -> str:
    """What an error of DuckDB says, in a line: without the place in the query, or the calls that led to it."""
    text = str(error).strip()
    if "Traceback (most recent call last)" in text:  # of this module
        return str((re.findall(r"^\w+Error: (.+)$", text, re.MULTILINE) or ["the files cannot be read"])[-1])
    first, *more = text.partition("\n\n")[0].splitlines() or [type(error).__name__]
    return " ".join([first, *(line.strip() for line in more[:1] if not line.endswith(":"))])


# ------------------------------------------------------------ views


def _connection(folder: Folder, manifest: Manifest) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register_filesystem(_Listed(folder, manifest))
    connection.execute("SET temp_directory = $1", [str(Path(gettempdir(), f"soulrift-{uuid4()}"))])
    connection.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        try:
            connection.execute(f"CREATE VIEW {table.name} AS {_rows(table, manifest.files(table.name))}")
        except duckdb.Error as error:
            because = _why(folder, manifest.files(table.name), error)
            raise UnreadableError(f"the table {table.name} in {folder.address} cannot be read: {because}") from None
    return connection


def _rows(table: Table, files: Iterable[File]) -> str:
    """The query for the rows of a table: all its columns, whatever the files have, and those that a newer one adds."""
    columns = ", ".join(f'NULL::{_TYPES[column.holds]} AS "{column.name}"' for column in table.columns)
    none = f"SELECT {columns} WHERE false"
    paths = ", ".join(_quoted(f"{_SCHEME}://{file.path}") for file in files)
    if not paths:
        return none
    read = f"read_parquet([{paths}], union_by_name = true, hive_partitioning = false)"
    return f"SELECT * FROM ({none}) UNION ALL BY NAME SELECT * FROM {read}"  # noqa: S608 - names and paths of ours


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# ------------------------------------------------------------ files


class _Listed(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The files that a manifest names, as a file system for DuckDB."""

    protocol = _SCHEME
    cachable = False

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        super().__init__()
        self._folder = folder
        self._files = {file.path: file for file in manifest.files()}

    def glob(self, path: str, **_: Any) -> list[str]:
        """The file of this name, if there is one: no name is a pattern."""
        return [path] if self._name(path) in self._files else []

    def open(self, path: str, mode: str = "rb", **_: Any) -> "_Shared":
        """A file, to be read."""
        if mode != "rb":
            raise PermissionError("tables are only read here")
        return _Shared(self._folder, self._file(path))

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """How large a file is, as the manifest says."""
        return {"name": path, "size": self._file(path).bytes, "type": "file"}

    def modified(self, path: str) -> datetime:
        """Always the same moment: a file never changes."""
        self._file(path)
        return datetime.fromtimestamp(0, UTC)

    def _name(self, path: str) -> str:
        return path.removeprefix(f"{_SCHEME}://")

    def _file(self, path: str) -> File:
        file = self._files.get(self._name(path))
        if file is None:
            raise FileNotFoundError(f"{path} is no file of these tables")
        return file


class _Shared:
    """A file that several threads read at once, by two calls, `seek` and `read`: each thread has its own place."""

    def __init__(self, folder: Folder, file: File) -> None:
        self._folder = folder
        self._file = file
        self._places: dict[int, int] = {}

    def seek(self, place: int, _: int = 0) -> int:
        """Go to a place, from the beginning."""
        self._places[get_ident()] = place
        return place

    def tell(self) -> int:
        """Where this thread is."""
        return self._places.get(get_ident(), 0)

    def read(self, size: int) -> bytes:
        """So many bytes from there."""
        start = self.tell()
        end = min(start + size, self._file.bytes)
        content = self._bytes(start, end)
        if len(content) != end - start:
            raise OSError(f"{self._whole} is shorter than the manifest says: make the tables anew")
        self.seek(end)
        return content

    def _bytes(self, start: int, end: int) -> bytes:
        try:
            return bytes(self._folder.fs.cat_file(self._whole, start=start, end=end))
        except FileNotFoundError:
            raise FileNotFoundError(f"{self._whole} is missing, which the manifest names") from None

    @property
    def _whole(self) -> str:
        return self._folder.path(self._file.path)

    def close(self) -> None:
        """Nothing is to be closed: each reading opens and closes the file."""
