"""Which store: the one place that turns a store's name into an application."""

import sqlite3
from pathlib import Path

import click

from domain.application import Matches, sqlite_settings
from domain.sqlite import TABLE, tables

DEFAULT = "soulrift.db"
MEMORY = ":memory:"


def open_to_write(store: str) -> Matches:
    """The application over this store, which is made where it is missing.

    Raises:
        click.UsageError: it cannot be a store.

    """
    if store == MEMORY:
        return Matches(sqlite_settings(store))
    path = _file(store)
    if not path.absolute().parent.is_dir():
        message = f"there is no folder for the store {store}"
        raise click.UsageError(message)
    there = _tables(path) if path.exists() else set()
    if there and TABLE not in there:
        message = f"{store} is no store: it is another program's database"
        raise click.UsageError(message)
    return Matches(sqlite_settings(str(path.absolute())))


def open_to_read(store: str) -> Matches:
    """The application over this store, which must be there.

    Raises:
        click.UsageError: it is not.

    """
    path = _file(store)
    if not path.exists():
        message = f"there is no store {store}; `soulrift play` makes one, --db or SOULRIFT_DB names another"
        raise click.UsageError(message)
    if TABLE not in _tables(path):
        message = f"{store} is no store: it has no table {TABLE}"
        raise click.UsageError(message)
    return Matches(sqlite_settings(str(path.absolute()), create=False))


def _tables(path: Path) -> set[str]:
    try:
        return tables(path)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        message = f"{path} cannot be opened as a store: {error}"
        raise click.UsageError(message) from None


def _file(store: str) -> Path:
    if "://" in store:
        message = f"{store.split('://', 1)[0]}:// names no kind of store that this version knows; name a file"
        raise click.UsageError(message)
    return Path(store)
