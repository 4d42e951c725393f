"""Views in a SQLite file beside the store, or in memory."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from domain.sqlite import MEMORY
from domain.sqlite_files import LOCK_SECONDS, PRIMARY_CODE, opened_in_turn, read_only_connection
from projections.read_model import Changes, ReadModel
from projections.tables import Record
from projections.views import NO_VIEWS, PROGRESS, OvertakenError, Progress, RebuildNeededError, Views, ViewsError

_FORBIDDEN = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NOT_OURS = ("no such table", "no such column", "unsupported file format", "malformed database schema")


class SQLiteViews(Views):
    """Views in this file, which is made if it can be; opened to read alone where it cannot be written.

    Raises:
        ViewsError: there is none, and none can be made.

    """

    def __init__(self, path: str, models: Iterable[ReadModel]) -> None:
        super().__init__(models)
        self.name = path
        self._lock = None if path == MEMORY else FileLock(f"{path}.lease")
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        path = Path(self.name)
        self.writable = self._lock is None or (
            os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
        )
        try:
            if not self.writable:
                return read_only_connection(path)
            connection = sqlite3.connect(self.name, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)
            self._prepare(connection)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & PRIMARY_CODE in _FORBIDDEN:
                raise ViewsError(f"{NO_VIEWS} {self.name}: {error}") from error
            raise
        self._inode = self._inode_now()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables of a new file; one that is damaged is left to whoever asks it, and to a rebuild."""
        try:
            self._refuse_others(connection)
            connection.execute("PRAGMA synchronous=NORMAL")  # a power cut may cost the last rows, which are read again
            if not _tables(connection):
                opened_in_turn(lambda: connection.execute("PRAGMA journal_mode=WAL"))
                with _transaction(connection):
                    if not _tables(connection):
                        self._create(connection)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                connection.close()
                raise

    def _refuse_others(self, connection: sqlite3.Connection) -> None:
        """See that a file has no tables but those of views: a rebuild drops what is there."""
        there = set(_tables(connection))
        if PROGRESS.name not in there and there - {table.name for table in self.tables}:
            connection.close()
            raise ViewsError(f"{self.name} is another program's file, or a store; views are not made there")

    def _inode_now(self) -> int | None:
        try:
            return None if self._lock is None else Path(self.name).stat().st_ino
        except FileNotFoundError:
            return 0

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
    def lease(self) -> Iterator[Callable[[], bool]]:
        """A lock of the operating system on a file beside the views, which ends with the process."""
        if self._lock is None:
            yield lambda: True
            return
        try:
            if not self.writable:
                raise Timeout(self.name)  # noqa: TRY301 - nobody who may not write follows
            self._lock.acquire(blocking=False)
        except Timeout:
            yield lambda: False
            return
        try:
            if self._inode != self._inode_now():  # somebody deleted the file, or put another one in its place
                self._connection.close()
                self._connection = self._open()
            yield lambda: self._inode == self._inode_now()
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
            if not _is_damage(error):
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
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & PRIMARY_CODE
            if _is_damage(error):
                raise RebuildNeededError(f"the views in {self.name} are damaged ({error})") from error
            if code in _BUSY:
                message = f"another program has kept {self.name} locked for {LOCK_SECONDS} seconds"
                raise TimeoutError(message) from error
            if code in _FORBIDDEN:
                raise ViewsError(f"{NO_VIEWS} {self.name}: {error}") from error
            raise


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether SQLite says of a file that it is not what this program made."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & PRIMARY_CODE
    return code in _DAMAGED or (code == sqlite3.SQLITE_ERROR and any(said in str(error) for said in _NOT_OURS))


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
        return [name for (name,) in found if not name.startswith("sqlite_")]


def _insert(connection: sqlite3.Connection, table: str, rows: list[Record], on_conflict: str = "") -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks}){on_conflict}", rows)  # noqa: S608 - names of ours
