"""Which store: the one place that turns a store's name into an application."""

import re
from pathlib import Path

import click

from domain.application import Matches
from domain.recorder import StoreError
from domain.sqlite import MEMORY, sqlite_settings

DEFAULT = "soulrift.db"

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")
_LIKE_URL = re.compile(r"\s*\w+:/")
_KEYWORD = re.compile(r"\s*(\w+)\s*=")
_COMMON_KEYWORDS = {"host", "hostaddr", "port", "dbname", "user", "password", "service", "options", "sslmode"}
"""What PostgreSQL's client would know better, where it is missing."""


def open_to_write(store: str) -> Matches:
    """The application over this store; one in a file or in memory is made where it is missing.

    Raises:
        click.UsageError: it cannot be a store.

    """
    return _opened(store, create=not is_postgres(store), read_only=False)


def open_to_go_on(store: str) -> Matches:
    """The application over this store, which must be there.

    Raises:
        click.UsageError: it is not.

    """
    return _opened(store, create=False, read_only=False)


def open_to_read(store: str) -> Matches:
    """The application over this store, which must be there and is left as it is.

    Raises:
        click.UsageError: it is not.

    """
    return _opened(store, create=False, read_only=True)


def create(store: str) -> Matches:
    """The application over this store, whose tables are made where they are missing.

    Raises:
        click.UsageError: they cannot be made.

    """
    return _opened(store, create=True, read_only=False)


def is_postgres(store: str) -> bool:
    """Whether the name is a connection string of PostgreSQL, as a URL or as keywords and values."""
    scheme = _SCHEME.match(store)
    if scheme and scheme[1].lower() not in {"postgresql", "postgres"}:
        message = f"{scheme[1]}:// names no kind of store; name a file, or a postgresql:// URL"
        raise click.UsageError(message)
    word = _KEYWORD.match(store)
    return bool(scheme or (word and _begins_connection_string(word[1])))


def _begins_connection_string(word: str) -> bool:
    if not _has_postgres():
        return word in _COMMON_KEYWORDS
    from domain.postgres_sessions import is_keyword

    return is_keyword(word)


def _has_postgres() -> bool:
    try:
        import psycopg
        import psycopg_pool
    except ImportError:  # they, or the C library under them
        return False
    return bool(psycopg and psycopg_pool)


def _opened(store: str, *, create: bool, read_only: bool) -> Matches:
    try:
        if is_postgres(store):
            return Matches(_postgres_settings(store, create=create))
        if store == MEMORY:
            return Matches(sqlite_settings(store))
        path = _file(store, create=create)
        return Matches(sqlite_settings(str(path), create=create, read_only=read_only))
    except PermissionError as error:
        message = f"{store} cannot be opened as a store: {error.strerror}: {error.filename}"
        raise click.UsageError(message) from None
    except StoreError as error:
        name = "the database" if is_postgres(store) else store  # a connection string may hold a password
        message = f"{name} cannot be opened as a store: {error}"
        raise click.UsageError(message) from None


def _postgres_settings(store: str, *, create: bool) -> dict[str, str]:
    if not _has_postgres():
        message = "a store on PostgreSQL needs an extra: pip install 'soulrift[postgres]'"
        raise click.UsageError(message)
    from domain.postgres import postgres_settings

    return postgres_settings(store, create=create)


def _file(store: str, *, create: bool) -> Path:
    if "@" in store and _LIKE_URL.match(store):  # with a password in it, perhaps
        message = "this is neither the name of a file nor a connection string, which begins with postgresql://"
        raise click.UsageError(message)
    path = Path(store).resolve()  # as SQLite takes it, which keeps its log beside the file itself
    if create and not path.parent.is_dir():
        message = f"there is no folder for the store {store}"
        raise click.UsageError(message)
    if not create and not path.exists():
        message = f"there is no store {store}; `soulrift play` makes one, --db or SOULRIFT_DB names another"
        raise click.UsageError(message)
    return path
