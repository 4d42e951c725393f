"""Which store: the one place that turns a store's name into an application."""

import sqlite3
from pathlib import Path

import click

from domain.application import Matches, sqlite_settings
from domain.sqlite import is_store

DEFAULT = "soulrift.db"
MEMORY = ":memory:"


def open_to_write(store: str) -> Matches:
    """The application over this store, which is made where it is missing."""
    return Matches(sqlite_settings(store if store == MEMORY else str(_file(store).absolute())))


def open_to_read(store: str) -> Matches:
    """The application over this store, which must be there.

    Raises:
        click.UsageError: it is not.

    """
    path = _file(store)
    if not path.exists():
        message = f"there is no store {store}; `soulrift play` makes one, --db or SOULRIFT_DB names another"
        raise click.UsageError(message)
    try:
        known = is_store(path)
    except sqlite3.Error as error:
        message = f"{store} is no store: {error}"
        raise click.UsageError(message) from None
    if not known:
        message = f"{store} is no store: it has no events table"
        raise click.UsageError(message)
    return Matches(sqlite_settings(str(path.absolute()), create=False))


def _file(store: str) -> Path:
    if "://" in store:
        message = f"{store.split('://', 1)[0]}:// names no kind of store that this version knows; name a file"
        raise click.UsageError(message)
    return Path(store)
