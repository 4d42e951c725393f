"""Views in a PostgreSQL database, in a schema of their own beside the store's."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from eventsourcing.persistence import PersistenceError
from psycopg import Connection, errors
from psycopg.sql import Identifier

from domain.postgres import PostgresMatchRecorder
from projections.read_model import Changes, ReadModel
from projections.tables import Record, Table
from projections.views import PROGRESS, OvertakenError, Progress, RebuildNeededError, Views, ViewsError

_LOCK_SCHEMA = "SELECT pg_advisory_xact_lock(3, hashtext(?))"
_LEASE = b"SELECT pg_try_advisory_lock(4, hashtext(%s)) AS held"
_RELEASE = b"SELECT pg_advisory_unlock(4, hashtext(%s))"
_HAS_SCHEMA = "SELECT 1 FROM pg_namespace WHERE nspname=?"
_MAY_WRITE = "SELECT has_table_privilege(?, 'INSERT')"
_SEARCH = "SELECT set_config('search_path', ?, true), set_config('idle_in_transaction_session_timeout', '0', true)"


class PostgresViews(Views):
    """Views in the schema `<the store's>_views`, which is made if it can be; to read alone for who may not write them.

    Raises:
        ViewsError: there is none, and none can be made.

    """

    def __init__(self, store: PostgresMatchRecorder, models: Iterable[ReadModel]) -> None:
        super().__init__(models)
        self._store = store
        self._datastore = store.datastore
        self._schema = f"{self._datastore.schema}_views"
        self.name = f"the schema {self._schema}"
        self._search_path = ", ".join(
            Identifier(schema).as_string() for schema in (self._schema, self._datastore.schema)
        )
        try:
            if not self._datastore.query(_HAS_SCHEMA, (self._schema,)):
                self._make()
            quoted = f"{Identifier(self._schema).as_string()}.{PROGRESS.name}"
            self.writable = self._datastore.query(_MAY_WRITE, (quoted,))[0][0]
        except PersistenceError as error:
            if isinstance(error.__cause__, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
                raise ViewsError(f"no views can be made in {self.name}: {error}") from None
            raise

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
            if isinstance(error.__cause__, errors.UndefinedTable | errors.UndefinedColumn | errors.InvalidSchemaName):
                raise RebuildNeededError(f"{self.name} is not one of views of this version ({error})") from error
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One moment of the database."""
        with self._telling_of_damage(), self._store.reading():
            self._datastore.query(_SEARCH, (self._search_path,))
            yield

    @contextmanager
    def lease(self) -> Iterator[bool]:
        """An advisory lock of a session, which ends with it."""
        with self._datastore.get_connection() as connection:
            held = connection.execute(_LEASE, (self._schema,)).fetchone()["held"]
            try:
                yield held
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
        """Make the schema anew."""
        self._make(anew=True)

    def _make(self, *, anew: bool = False) -> None:
        schema = Identifier(self._schema).as_string()
        with self._transaction() as connection:
            self._datastore.query(_LOCK_SCHEMA, (self._schema,))
            if anew:
                connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
            elif self._datastore.query(_HAS_SCHEMA, (self._schema,)):
                return  # another process made it meanwhile
            connection.execute(f"CREATE SCHEMA {schema}".encode())
            for table in (PROGRESS, *self.tables):
                for statement in table.create('text COLLATE "C"'):
                    connection.execute(statement.encode())
            _insert(connection, PROGRESS, [self._row(Progress())])

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
