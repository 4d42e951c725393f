"""Views in a PostgreSQL database, in a schema of their own beside the store's."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from eventsourcing.persistence import PersistenceError
from psycopg import Connection, errors
from psycopg.sql import Identifier

from domain.postgres import PostgresMatchRecorder
from projections.read_model import Changes, ReadModel
from projections.tables import Record, Table
from projections.views import NO_VIEWS, PROGRESS, OvertakenError, Progress, RebuildNeededError, Views, ViewsError

_LOCK_SCHEMA = "SELECT pg_advisory_xact_lock(3, hashtext(?))"
_LEASE = b"SELECT pg_try_advisory_lock(4, hashtext(%s)) AS held"
_RELEASE = b"SELECT pg_advisory_unlock(4, hashtext(%s))"
_HAS_SCHEMA = "SELECT 1 FROM pg_namespace WHERE nspname=?"
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname=?"
_COLUMNS = (
    "SELECT relname, attname FROM pg_attribute JOIN pg_class ON attrelid=pg_class.oid "
    "JOIN pg_namespace ON relnamespace=pg_namespace.oid "
    "WHERE nspname=? AND relkind='r' AND attnum > 0 AND NOT attisdropped"
)
_MAY = (
    "SELECT has_schema_privilege(?, 'USAGE') AND has_table_privilege(?, 'SELECT'), "
    "current_setting('transaction_read_only')='off' AND has_table_privilege(?, 'INSERT')"
)
_SEARCH = "SELECT set_config('search_path', ?, true), set_config('idle_in_transaction_session_timeout', '0', true)"
_ANOTHER_VERSION = errors.UndefinedTable | errors.UndefinedColumn | errors.InvalidSchemaName
_FORBIDDEN = errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction

_LONGEST_NAME = 63
"""Bytes of the name of a schema; PostgreSQL cuts off the rest."""


def schema_of_views(schema: str, name: str) -> str:
    """The schema of the views beside a store's: `<the store's>_<name>`, shortened where that would be too long."""
    wanted = f"{schema}_{name}"
    if len(wanted.encode()) <= _LONGEST_NAME:
        return wanted
    return f"{schema.encode()[:30].decode(errors='ignore')}_{sha256(wanted.encode()).hexdigest()[:16]}_{name[:15]}"


class PostgresViews(Views):
    """Views in a schema of this name, which is made if it can be; to read alone for who may not write them.

    Raises:
        ViewsError: there are none, and none can be made.

    """

    def __init__(self, store: PostgresMatchRecorder, schema: str, models: Iterable[ReadModel]) -> None:
        super().__init__(models)
        self._store = store
        self._datastore = store.datastore
        self._schema = schema
        self._quoted = Identifier(schema).as_string()
        self._search_path = f"{self._quoted}, {Identifier(self._datastore.schema).as_string()}"
        self.name = f"the schema {schema}"
        try:
            if not self._datastore.query(_TABLES, (schema,)):
                self._make()
            there = PROGRESS.name in self._tables()
            progress = f"{self._quoted}.{PROGRESS.name}"
            reads, writes = self._datastore.query(_MAY, (schema, progress, progress))[0] if there else (True, True)
        except PersistenceError as error:
            if isinstance(error.__cause__, _FORBIDDEN):
                raise ViewsError(f"{NO_VIEWS} {self.name}: {error}") from error
            raise
        if not reads:
            raise ViewsError(f"{self.name} may not be read by this role")
        self.writable = writes

    def _tables(self) -> list[str]:
        return [name for (name,) in self._datastore.query(_TABLES, (self._schema,))]

    def query(self, sql: str, asked: Sequence[Any] = ()) -> list[Record]:
        """The rows of a SELECT."""
        if self._datastore.is_joined:
            return self._datastore.query(sql, asked)

        def ask() -> list[Record]:
            with self._transaction(b"BEGIN READ ONLY"):
                return self._datastore.query(sql, asked)

        return self._datastore.asked_again(ask)

    @contextmanager
    def _transaction(self, begin: bytes = b"BEGIN") -> Iterator[Connection[Any]]:
        """A transaction that finds the tables of the views, and those of the store."""
        with (
            self._telling_of_damage(),
            self._datastore.joined(begin),
            self._datastore.get_connection() as connection,
        ):
            self._datastore.query(_SEARCH, (self._search_path,))
            yield connection

    @contextmanager
    def _telling_of_damage(self) -> Iterator[None]:
        try:
            yield
        except PersistenceError as error:
            if isinstance(error.__cause__, _ANOTHER_VERSION):
                raise RebuildNeededError(f"{self.name} is not one of views of this version ({error})") from error
            if isinstance(error.__cause__, _FORBIDDEN):
                raise ViewsError(f"{NO_VIEWS} {self.name}: {error}") from error
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One moment of the database."""
        with self._telling_of_damage(), self._store.reading():
            self._datastore.query(_SEARCH, (self._search_path,))
            yield

    @contextmanager
    def lease(self) -> Iterator[Callable[[], bool]]:
        """An advisory lock of a session, which ends with it."""
        if not self.writable:
            yield lambda: False
            return
        with self._datastore.get_connection() as connection:
            held = connection.execute(_LEASE, (self._schema,)).fetchone()["held"]
            try:
                yield lambda: held and bool(connection.execute(b"SELECT 1"))  # the session may have ended meanwhile
            finally:
                if held and not connection.closed:
                    connection.execute(_RELEASE, (self._schema,))

    def write(self, changes: Changes, before: Progress, after: Progress) -> None:
        """Write new rows and the new position."""
        with self._transaction() as connection:
            self._datastore.query("SELECT 1 FROM progress FOR UPDATE")
            if self.progress() != before:
                raise OvertakenError
            for table, rows in changes.items():
                _insert(connection, table, table.merged(rows))
            _insert(connection, PROGRESS, [self._row(after)])

    def clear(self) -> None:
        """Make all tables anew; where they are those of these read models they are emptied, and keep their rights."""
        self._make(anew=True, ours=self._are_ours())

    def _make(self, *, anew: bool = False, ours: bool = False) -> None:
        with self._transaction() as connection:
            self._datastore.query(_LOCK_SCHEMA, (self._schema,))
            there = self._tables()
            if there and not anew:
                return  # another process made them meanwhile
            if not self._datastore.query(_HAS_SCHEMA, (self._schema,)):
                connection.execute(f"CREATE SCHEMA {self._quoted}".encode())
            if ours:
                connection.execute(f"TRUNCATE {', '.join(there)}".encode())
            else:
                for table in there:
                    connection.execute(f"DROP TABLE {self._quoted}.{Identifier(table).as_string()}".encode())
                for made in (PROGRESS, *self.tables):
                    for statement in made.create('text COLLATE "C"'):
                        connection.execute(statement.encode())
            _insert(connection, PROGRESS, [self._row(Progress())])

    def _are_ours(self) -> bool:
        """Whether all tables are there, with the columns that these read models give them."""
        tables = (PROGRESS, *self.tables)
        wanted = {(table.name, column) for table in tables for column in table.columns}
        return set(self._datastore.query(_COLUMNS, (self._schema,))) == wanted

    def close(self) -> None:
        """Nothing: the sessions are the store's."""


def _insert(connection: Connection[Any], table: Table, rows: list[Record]) -> None:
    """Insert rows as an array a column."""
    if rows:
        arrays = ", ".join(f"%b::{kind}[]" for kind in table.columns.values())
        connection.execute(
            f"INSERT INTO {table.name} SELECT * FROM unnest({arrays}){table.on_conflict}".encode(),  # noqa: S608 - names of ours
            [list(column) for column in zip(*rows, strict=True)],
        )
