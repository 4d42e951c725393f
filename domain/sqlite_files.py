"""SQLite files as they lie on the disk: opened to read alone, looked at, copied."""

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
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


def read_only_connection(path: Path, lock_timeout: float = LOCK_SECONDS) -> sqlite3.Connection:
    """A connection that changes neither the file nor its write-ahead log.

    Where nothing can be written and nothing is in the log, SQLite needs to be told that nobody else writes either.
    """
    name = path.absolute().as_uri()

    def opened(how: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{name}?{how}", uri=True, check_same_thread=False, isolation_level=None, timeout=lock_timeout
        )

    connection = opened("mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        log = Path(f"{path}-wal")
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY or not path.exists() or (log.exists() and log.stat().st_size):
            raise
        connection = opened("mode=ro&immutable=1")
    return connection


def look_at(path: Path, *, missing_ok: bool) -> None:
    """See that a file is empty, or has the tables of a store; it is only looked at.

    Raises:
        StoreError: it is something else, or not there and not to be made, or cannot be made there.

    """
    if not path.exists():
        if not missing_ok:
            message = f"there is no store {path}"
            raise StoreError(message)
        if not path.absolute().parent.is_dir():
            message = f"there is no folder for the store {path}"
            raise StoreError(message)
        return
    if path.is_dir():
        message = "it is a folder"
        raise StoreError(message)
    try:
        with closing(read_only_connection(path)) as connection:
            there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    except sqlite3.OperationalError as error:
        raise OperationalError(LOCKED if error.sqlite_errorcode == sqlite3.SQLITE_BUSY else error) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        message = f"it cannot be read: {error}"
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
            ours.execute("PRAGMA journal_mode=DELETE")
        with partial.open("rb+") as written:
            os.fsync(written.fileno())
        os.link(partial, copy)  # unlike a rename, it replaces nothing
    folder_of = os.open(copy.absolute().parent, os.O_RDONLY)
    os.fsync(folder_of)
    os.close(folder_of)
