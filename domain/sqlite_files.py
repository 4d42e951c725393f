"""SQLite files as they lie on the disk: opened to read alone, looked at, copied."""

import errno
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from eventsourcing.persistence import OperationalError

from domain.recorder import PAUSE, MatchRecorder, StoreError

BACKUP_PAGES = 1_000
"""How many pages are copied between two looks at the clock."""

LOCK_SECONDS = 10
"""How long a writer waits for the others before it gives up."""

PRIMARY_CODE = 0xFF
"""The bits of an extended error code that say what kind it is."""

LOCKED = f"another program has kept the store locked for {LOCK_SECONDS} seconds"


T = TypeVar("T")


def opened_in_turn(opening: Callable[[], T]) -> T:
    """What `opening` gives, tried until nobody else is at it: who turns a write-ahead log on is not made to wait.

    Raises:
        sqlite3.OperationalError: the file stays locked, or something else is wrong.

    """
    last = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return opening()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(PAUSE)


class Reader(sqlite3.Connection):
    """A connection that changes neither a file nor its write-ahead log."""

    _alone: tuple[Path, tuple[object, ...]] | None = None

    def expects_nobody(self, path: Path) -> None:
        """Note how the file is, of which SQLite was told that nobody writes it."""
        self._alone = path, _as_it_is(path)

    def see_alone(self) -> None:
        """See that really nobody has written meanwhile: what was read is of one moment.

        Raises:
            OperationalError: somebody has.

        """
        if self._alone and _as_it_is(self._alone[0]) != self._alone[1]:
            message = (
                f"somebody wrote {self._alone[0]} while it was read, and this user may not see who: try again, "
                "or let this user write its folder"
            )
            raise OperationalError(message)


def identity(path: Path) -> tuple[int, int] | None:
    """Which file there is under this name; null if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _as_it_is(path: Path) -> tuple[object, ...]:
    """What changes of a file and its log when somebody writes: who it is, size, time, SQLite's counter."""
    found = path.stat()
    with path.open("rb") as file:
        counter = file.read(28)[24:]
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, counter, _size(path, "-wal")


def _size(path: Path, ending: str) -> int:
    """The bytes of a file beside this one; 0 if there is none."""
    try:
        return Path(f"{path}{ending}").stat().st_size
    except FileNotFoundError:
        return 0


def read_only_connection(path: Path, lock_timeout: float = LOCK_SECONDS) -> Reader:
    """A connection that changes neither the file nor its write-ahead log, which may be a link's.

    Where nothing can be written and nothing is in the log, SQLite needs to be told that nobody else writes either; then
    it is seen by `see_alone` whether that was so.

    Raises:
        sqlite3.OperationalError: it cannot be opened.
        StoreError: a transaction that was interrupted must be undone first.

    """
    path = path.resolve()
    name = path.as_uri()

    def opened(how: str) -> Reader:
        return sqlite3.connect(
            f"{name}?{how}",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
            timeout=lock_timeout,
            factory=Reader,
        )

    connection = opened("mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & PRIMARY_CODE == sqlite3.SQLITE_BUSY or not path.exists() or _size(path, "-wal"):
            raise
        if _size(path, "-journal"):
            message = (
                f"{path}-journal holds what an interrupted transaction changed: "
                "`soulrift init`, by a user who may write the store, undoes it"
            )
            raise StoreError(message) from error
        connection = opened("mode=ro&immutable=1")
        connection.expects_nobody(path)
    return connection


def undo_interrupted(path: Path) -> None:
    """Let SQLite undo what a transaction left half done, as it does for who may write; else `look_at` tells of it."""
    path = path.resolve()
    if path.exists() and _size(path, "-journal"):
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def look_at(path: Path, *, missing_ok: bool) -> None:
    """See that a file is empty, or has the tables of a store; it is only looked at.

    Raises:
        StoreError: it is something else, or not there and not to be made, or cannot be made there.

    """
    try:
        there_is_one = path.exists()
    except PermissionError:
        message = f"this user may not look into the folder of {path}"
        raise StoreError(message) from None
    if not there_is_one:
        if not missing_ok:
            message = f"there is no store {path}"
            raise StoreError(message)
        if not path.absolute().parent.is_dir():
            message = f"there is no folder for the store {path}"
            raise StoreError(message)
        return
    if not path.is_file():
        message = "it is a folder" if path.is_dir() else "it is no plain file"
        raise StoreError(message)
    try:
        with closing(read_only_connection(path)) as connection:
            there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise OperationalError(LOCKED) from error
        reason = str(error) if os.access(path, os.R_OK) else "this user has no right to"
        message = f"it cannot be read: {reason}"
        raise StoreError(message) from None
    if there and not there >= MatchRecorder.TABLES:
        message = f"it is another program's database: it has no table {min(MatchRecorder.TABLES - there)}"
        raise StoreError(message)


def backup(source: Path, copy: Path, advance: Callable[[int, int], None]) -> None:
    """Copy a store as it is at one moment, while others write; `advance` is told pages done and pages in all.

    The copy appears under its name when it is whole and on the disk.

    Raises:
        FileExistsError: there is something of that name.
        sqlite3.Error, OSError: it cannot be read, or written.

    """
    for there in (copy, *(copy.with_name(copy.name + end) for end in ("-wal", "-shm", "-journal"))):
        if there.exists():  # SQLite would take another store's log for the copy's own
            message = f"there is a {there} already"
            raise FileExistsError(message)
    with tempfile.TemporaryDirectory(prefix=f".{copy.name}-", dir=copy.absolute().parent) as folder:
        partial = Path(folder) / copy.name
        with closing(read_only_connection(source)) as theirs, closing(sqlite3.connect(partial)) as ours:
            theirs.execute("BEGIN")
            theirs.execute("SELECT 1 FROM sqlite_master").fetchone()  # from here on it is one moment that is seen
            theirs.backup(ours, pages=BACKUP_PAGES, progress=lambda _, left, pages: advance(pages - left, pages))
            theirs.see_alone()
            ours.execute("PRAGMA journal_mode=DELETE")
        with partial.open("rb+") as written:
            os.fsync(written.fileno())
        try:
            os.link(partial, copy)  # unlike a rename, it replaces nothing
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}:
                raise
            copy.touch(exist_ok=False)  # a disk without links: the name is taken first
            partial.replace(copy)
    folder_of = os.open(copy.absolute().parent, os.O_RDONLY)
    os.fsync(folder_of)
    os.close(folder_of)
