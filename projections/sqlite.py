"""Views in a SQLite file beside the store, or in memory."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from domain.sqlite import MEMORY
from domain.sqlite_files import LOCK_SECONDS, read_only_connection
from projections.read_model import Changes, ReadModel
from projections.tables import Record
from projections.views import PROGRESS, OvertakenError, Progress, RebuildNeededError, Views, ViewsError

_CODE = 0xFF
"""The bits of an extended error code that say what kind it is."""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_FORBIDDEN = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


class SQLiteViews(Views):
    """Views in this file, which is made if it can be; opened to read alone where it cannot be written.

    Raises:
        ViewsError: there is none, and none can be made.

    """

    def __init__(self, path: str, models: Iterable[ReadModel]) -> None:
        super().__init__(models)
        self.name = path
        self._lock = None if path == MEMORY else FileLock(f"{path}.lease")
        try:
            self._connection = self._open()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _CODE not in _FORBIDDEN:
                raise
            self.writable = False
            self._connection = self._open_to_read(error)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.name, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")  # a power cut may cost the last rows, which are read again
            with _transaction(connection):
                if not _tables(connection):
                    self._create(connection)
        except sqlite3.OperationalError:
            connection.close()
            raise
        except sqlite3.DatabaseError as error:  # whoever asks it is told so, and a rebuild can mend it
            if error.sqlite_errorcode & _CODE not in _DAMAGED:
                connection.close()
                raise
        return connection

    def _open_to_read(self, reason: Exception) -> sqlite3.Connection:
        try:
            return read_only_connection(Path(self.name))
        except sqlite3.OperationalError:
            raise ViewsError(f"no views can be made in {self.name}: {reason}") from None

    def _create(self, connection: sqlite3.Connection) -> None:
        for table in (PROGRESS, *self.tables):
            for statement in table.create(options=" WITHOUT ROWID"):
                connection.execute(statement)
        _insert(connection, PROGRESS.name, [self._row(Progress())])

    def query(self, sql: str, asked: Sequence[Any] = ()) -> list[Record]:
        """The rows of a SELECT."""
        with self._telling_of_damage():
            return self._connection.execute(sql, asked).fetchall()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One moment of the file."""
        with self._telling_of_damage(), _transaction(self._connection, "BEGIN"):
            yield

    @contextmanager
    def lease(self) -> Iterator[bool]:
        """A lock of the operating system on a file beside the views, which ends with the process."""
        if self._lock is None:
            yield True
            return
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            self._lock.release()

    def write(self, changes: Changes, before: Progress, after: Progress) -> None:
        """Write new rows and the new position."""
        with self._telling_of_damage(), _transaction(self._connection):
            if self.progress() != before:
                raise OvertakenError
            for table, rows in changes.items():
                _insert(self._connection, table.name, table.merged(rows), table.on_conflict)
            _insert(self._connection, PROGRESS.name, [self._row(after)], PROGRESS.on_conflict)

    def clear(self) -> None:
        """Make all tables anew; a file that cannot be mended is replaced."""
        try:
            with _transaction(self._connection):
                for table in _tables(self._connection):
                    self._connection.execute(f'DROP TABLE "{table}"')
                self._create(self._connection)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & _CODE not in _DAMAGED:
                raise
            self._connection.close()
            for end in ("", "-wal", "-shm"):
                Path(self.name + end).unlink(missing_ok=True)
            self._connection = self._open()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _telling_of_damage(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & _CODE
            no_table = code == sqlite3.SQLITE_ERROR and "no such" in str(error)
            if code in _DAMAGED or no_table:
                raise RebuildNeededError(f"the views in {self.name} are damaged ({error})") from error
            raise


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _tables(connection: sqlite3.Connection) -> list[str]:
    with closing(connection.execute("SELECT name FROM sqlite_master WHERE type='table'")) as found:
        return [name for (name,) in found]


def _insert(connection: sqlite3.Connection, table: str, rows: list[Record], on_conflict: str = "") -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks}){on_conflict}", rows)  # noqa: S608 - names of ours
