"""The store on SQLite: one file, or memory.

A writer begins with BEGIN IMMEDIATE, so that writers queue before they read; a commit returns when the disk has it.
A reader of a file opens it read-only, and changes neither the database nor its write-ahead log.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from pathlib import Path
from threading import RLock, local
from typing import Any

from eventsourcing.persistence import AggregateRecorder, InterfaceError, OperationalError, StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
    SQLiteFactory,
    SQLiteTransaction,
)

from domain.recorder import COMMAND_IDS, ID_TABLES, LATER_TABLES, SETTINGS, SNAPSHOTS, MatchRecorder
from domain.sqlite_files import (
    LOCK_SECONDS,
    LOCKED,
    Reader,
    identity,
    look_at,
    opened_in_turn,
    read_only_connection,
    undo_interrupted,
)

MEMORY = ":memory:"

ROWS_AT_ONCE = 16
"""How many rows one statement inserts where there are so many: a fifth faster than each by its own."""

_ROWS = ", ".join(["(?, ?, ?, ?)"] * ROWS_AT_ONCE)


def sqlite_settings(path: str, *, create: bool = True, read_only: bool = False) -> dict[str, str]:
    """Settings for a store in this SQLite file, or in memory (":memory:"); `create`: make its tables where missing."""
    return {
        "PERSISTENCE_MODULE": "domain.sqlite:Factory",
        "STORE": path,
        "SQLITE_DBNAME": path,
        "SQLITE_LOCK_TIMEOUT": str(LOCK_SECONDS),
        "SQLITE_READ_ONLY": "y" if read_only else "n",
        "CREATE_TABLE": "y" if create and not read_only else "n",
        **SETTINGS,
    }


class _Pool(SQLiteConnectionPool):
    read_only = False

    @staticmethod
    def detect_memory_mode(db_name: str) -> bool:
        """Whether the store is in memory: it has that very name, for a file may be called anything else."""
        return db_name == MEMORY

    def new_connection(self) -> SQLiteConnection:
        """A connection that is not one of the pool's."""
        return self._create_connection()

    def _create_connection(self) -> SQLiteConnection:
        wait = self.lock_timeout or LOCK_SECONDS
        connection = (
            read_only_connection(Path(self.db_name), wait) if self.read_only else opened_in_turn(self._connected)
        )
        connection.row_factory = sqlite3.Row
        return SQLiteConnection(connection, max_age=self.max_age)

    def _connected(self) -> sqlite3.Connection:
        """A connection that keeps the statements that it has prepared: the library's keeps one."""
        wait = self.lock_timeout or LOCK_SECONDS
        try:
            connection = sqlite3.connect(self.db_name, check_same_thread=False, isolation_level=None, timeout=wait)
        except sqlite3.Error as error:
            raise InterfaceError(error) from error
        if not self.is_sqlite_memory_mode:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection


class Datastore(SQLiteDatastore):
    """A connection that writes, a pool of them to read, and the one transaction of a thread that its statements join.

    In memory all is done on the one connection: another one would be another store.
    """

    pool: _Pool

    def __init__(self, path: str, *, read_only: bool, lock_timeout: int) -> None:
        super().__init__(path, lock_timeout=lock_timeout, originator_id_type="text")
        self.pool = _Pool(db_name=path, lock_timeout=lock_timeout)
        self.pool.read_only = read_only
        self._writer: SQLiteConnection | None = None
        self._file: tuple[int, int] | None = None
        """Which file it writes."""
        self._writing = RLock()
        self._own = local()

    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[SQLiteCursor]:
        """The thread's transaction, or else one for this alone."""
        joined: SQLiteConnection | None = getattr(self._own, "connection", None)
        if joined:
            with joined.cursor() as cursor:
                yield SQLiteCursor(cursor)
        elif commit or self.pool.is_sqlite_memory_mode:
            with self.joined("BEGIN IMMEDIATE", commit=commit), self.transaction(commit=commit) as c:
                yield c
        else:
            with super().transaction(commit=False) as c:
                try:
                    yield c
                finally:
                    _see_alone(c.sqlite_cursor.connection)

    @contextmanager
    def joined(self, begin: str, *, commit: bool) -> Iterator[None]:
        """A transaction that all statements of this thread join."""
        with (
            self._connection(writes=commit or self.pool.is_sqlite_memory_mode) as connection,
            _Transaction(connection, begin, commit=commit),
        ):
            self._own.connection = connection
            try:
                yield
            finally:
                self._own.connection = None
                with connection.cursor() as cursor:
                    _see_alone(cursor.connection)

    @contextmanager
    def _connection(self, *, writes: bool) -> Iterator[SQLiteConnection]:
        if not writes:
            with self.get_connection(commit=False) as connection:
                yield connection
            return
        with self._writing:
            if self._writer is None:
                self._writer = self.pool.new_connection()
                self._file = self._looked_up()
            if self._looked_up() != self._file:
                message = f"{self.pool.db_name} was moved away or replaced while it was open: nothing is stored"
                raise OperationalError(message)
            yield self._writer

    def _looked_up(self) -> tuple[int, int] | None:
        return None if self.pool.is_sqlite_memory_mode else identity(Path(self.pool.db_name))

    @property
    def is_writing(self) -> bool:
        """Whether this thread is within a transaction of the connection that writes."""
        return self._writer is not None and getattr(self._own, "connection", None) is self._writer

    @property
    def is_joined(self) -> bool:
        """Whether this thread is within a transaction."""
        return getattr(self._own, "connection", None) is not None

    def close(self) -> None:
        """Close all connections."""
        super().close()
        writer: SQLiteConnection | None = getattr(self, "_writer", None)
        if writer:
            writer.close()
            self._writer = None


def _see_alone(connection: sqlite3.Connection) -> None:
    if isinstance(connection, Reader):
        connection.see_alone()


class _Transaction(SQLiteTransaction):
    def __init__(self, connection: SQLiteConnection, begin: str, *, commit: bool) -> None:
        super().__init__(connection, commit=commit)
        self._begin = begin

    def __enter__(self) -> SQLiteCursor:
        cursor = self.connection.cursor()
        try:
            cursor.execute(self._begin)
        except sqlite3.Error as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise OperationalError(LOCKED) from error
            self.__exit__(type(error), error, None)
        return cursor


class SQLiteMatchRecorder(MatchRecorder, SQLiteApplicationRecorder):
    """The library's recorder, with the thread's transaction and the commands' ids."""

    POSITION = "rowid"
    datastore: Datastore

    def create_table(self) -> None:
        """Make the tables that are missing, all at once."""
        if self.tables() == self.TABLES:
            return
        snapshots = "CREATE TABLE IF NOT EXISTS " + SNAPSHOTS + " (originator_id TEXT, originator_version INTEGER, "
        snapshots += "topic TEXT, state BLOB, PRIMARY KEY (originator_id, originator_version)) WITHOUT ROWID"
        with self.datastore.joined("BEGIN IMMEDIATE", commit=True), self.datastore.transaction(commit=True) as c:
            for statement in (*self.create_table_statements, snapshots, *ID_TABLES, *LATER_TABLES):
                c.execute(statement)

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a SELECT."""
        with self.datastore.transaction(commit=False) as c:
            c.sqlite_cursor.row_factory = None  # tuples, and no names to look up
            try:
                return c.sqlite_cursor.execute(sql, parameters).fetchall()
            except UnicodeEncodeError:  # text that is no UTF-8, as `reading` gives it out
                return c.sqlite_cursor.execute(*_raw(sql, parameters)).fetchall()

    def writing(self, match: str) -> AbstractContextManager[None]:  # noqa: ARG002 - one writer at a time for all matches
        """A transaction with the write lock from its beginning."""
        return self.datastore.joined("BEGIN IMMEDIATE", commit=True)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction that sees one moment of the file, and text in it that is no UTF-8 as well."""
        with self.datastore.joined("BEGIN", commit=False), self.datastore.transaction(commit=False) as c:
            c.sqlite_cursor.connection.text_factory = lambda text: text.decode(errors="surrogateescape")
            try:
                yield
            finally:
                c.sqlite_cursor.connection.text_factory = str

    def moment(self) -> int | None:
        """SQLite's own count of what other connections did, as the one that writes sees it."""
        return int(self.query("PRAGMA data_version")[0][0]) if self.datastore.is_writing else None

    def integrity(self) -> list[str]:
        """What SQLite finds wrong with the file: pages, indexes, types."""
        return [message for (message,) in self.query("PRAGMA integrity_check(20)") if message != "ok"]

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """A statement."""
        with self.datastore.transaction(commit=True) as c:
            c.execute(sql, parameters)

    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name."""
        return bool(self.query("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", (name,)))

    def tables(self) -> frozenset[str]:
        """Those of our tables that are there."""
        found = self.query("SELECT name FROM sqlite_master WHERE type='table'")
        return self.TABLES & {name for (name,) in found}

    def insert_events(self, stored_events: Sequence[StoredEvent], **more: Any) -> Sequence[int] | None:
        """Insert rows: in the thread's transaction, or else in one of their own, for which positions are returned."""
        returning = bool(stored_events) and not self.datastore.is_joined
        with self.datastore.transaction(commit=True) as c:
            return self._insert_events(c, stored_events, returning=returning, **more)

    def _insert_events(
        self,
        c: SQLiteCursor,
        stored_events: Sequence[StoredEvent],
        *,
        command_ids: Sequence[tuple[str, str, int]] = (),
        returning: bool = False,
        **_: Any,
    ) -> Sequence[int] | None:
        rows = [(event.originator_id, event.originator_version, event.topic, event.state) for event in stored_events]
        together = len(rows) - len(rows) % ROWS_AT_ONCE
        for start in range(0, together, ROWS_AT_ONCE):
            some = list(chain.from_iterable(rows[start : start + ROWS_AT_ONCE]))
            c.execute(f"INSERT INTO {self.events_table_name} VALUES {_ROWS}", some)  # noqa: S608
        c.executemany(self.insert_events_statement, rows[together:])
        if command_ids:
            c.executemany(f"INSERT INTO {COMMAND_IDS} VALUES (?, ?, ?)", command_ids)  # noqa: S608
        if not returning:
            return None
        c.execute("SELECT max(rowid) FROM stored_events")
        last = c.fetchone()[0]
        return list(range(last - len(stored_events) + 1, last + 1))


def _raw(sql: str, parameters: Sequence[Any]) -> tuple[str, list[Any]]:
    """The same question with texts given as bytes, which SQLite takes for texts again."""
    marks = ["CAST(? AS TEXT)" if isinstance(value, str) else "?" for value in parameters]
    pieces = sql.split("?")
    asked = "".join(piece + mark for piece, mark in zip(pieces, [*marks, ""], strict=True))
    return asked, [value.encode(errors="surrogateescape") if isinstance(value, str) else value for value in parameters]


class Factory(SQLiteFactory):
    """Builds the recorders for the application."""

    application_recorder_class = SQLiteMatchRecorder

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        path = self.env["SQLITE_DBNAME"]
        if path != MEMORY:
            if self.env["SQLITE_READ_ONLY"] != "y":
                undo_interrupted(Path(path))
            look_at(Path(path), missing_ok=self.env["CREATE_TABLE"] == "y")
        self.datastore = Datastore(
            path,
            read_only=self.env["SQLITE_READ_ONLY"] == "y",
            lock_timeout=int(self.env["SQLITE_LOCK_TIMEOUT"]),
        )

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """The recorder of snapshots; its table is made with the others."""
        return self.aggregate_recorder_class(self.datastore, events_table_name="stored_" + purpose)
