"""Sessions with a PostgreSQL server: how they are begun, what they share, and what becomes of them when they break.

The answer to a COMMIT can get lost with the connection. So each transaction that appends also writes its number into
this writer's own row of `store_writers`; whether it took place is read there, once the match's lock says that it is
over. Nobody else's rows can be taken for ours, as they could by their content or, after a crash, by a transaction's id.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import local
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from eventsourcing.persistence import InterfaceError, OperationalError, PersistenceError
from eventsourcing.postgres import PostgresDatastore
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo, ConnStatus, TransactionStatus
from psycopg.rows import dict_row, tuple_row
from psycopg_pool import ConnectionPool, PoolTimeout

from domain.recorder import PAUSE, RECONNECT_SECONDS, ConnectionLostError, OutcomeUnknownError, StoreError, log

T = TypeVar("T")

CONNECT_SECONDS = 5
"""How long a connection may take to be made, unless the connection string says otherwise."""

ANSWER_SECONDS = 40
"""How long a statement may go without any answer: longer than the server's own limits below."""

SIGNS_OF_LIFE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
"""By which a server that vanished from the network is missed; all but the last, in ms, in seconds."""

LIMITS = {"statement_timeout": "30s", "lock_timeout": "10s", "idle_in_transaction_session_timeout": "30s"}
"""The server's limits for our sessions, where neither the connection string, nor the role, nor the server sets them."""

SHOWN = {"host", "hostaddr", "port", "dbname", "user", "service", "options"}
"""What is shown of a connection string; the rest may be secret."""

OLDEST_SERVER = 13
"""Older ones get no fixes any more, and are not tested."""


_SET_LIMITS = (
    b"SELECT set_config(name, wanted, false) FROM unnest(%s::text[], %s::text[]) AS limits (name, wanted) "
    b"JOIN pg_settings USING (name) WHERE source = 'default'"
)

_SESSION = b"SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END_SESSION = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid=? AND backend_start=?"

_LOCK_MATCH = "SELECT pg_advisory_xact_lock(hashtextextended(?, 'stored_events'::regclass::oid::bigint))"

_APPENDED = b"INSERT INTO store_writers VALUES (%s, %s) ON CONFLICT (writer) DO UPDATE SET appends = excluded.appends"

_LAST_APPEND = b"SELECT appends FROM store_writers WHERE writer = %s"

_SCHEMA = (
    b"SELECT coalesce((SELECT nspname FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid "
    b"WHERE pg_class.oid = to_regclass('stored_events')), current_schema())"
)


def display_name(conninfo: str) -> str:
    """The connection string without its secrets.

    Raises:
        StoreError: PostgreSQL's client cannot read it.

    """
    try:
        parts = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError as error:
        reason = str(error).strip()
        if not reason.startswith(("invalid URI query parameter", "invalid connection option")):
            reason = re.sub(r'"[^"]*"?', '"…"', reason)  # what it quotes may be a password
        message = f"not a PostgreSQL connection string: {reason}"
        raise StoreError(message) from None
    return make_conninfo("", **{name: value for name, value in parts.items() if name in SHOWN}) or "postgresql://"


class _Connection(Connection[Any]):
    """A connection that does not wait for ever for a server that has stopped answering, and knows its own session."""

    session: tuple[int, Any]
    """Its process on the server, and when that began."""

    patience: float | None = ANSWER_SECONDS

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        timeout = self.patience if timeout is None else timeout
        start = time.monotonic()
        try:
            return super().wait(gen, interval, timeout)
        except psycopg.OperationalError as error:
            if timeout is not None and time.monotonic() - start >= timeout:
                self.pgconn.finish()
                message = f"the server has not answered for {timeout} seconds"
                raise psycopg.OperationalError(message) from error
            raise


def _configure(connection: _Connection) -> None:
    connection.autocommit = True
    connection.execute(_SET_LIMITS, (list(LIMITS), list(LIMITS.values())))
    (session,) = connection.cursor(row_factory=tuple_row).execute(_SESSION).fetchall()
    connection.session = session


def _broken(connection: Connection[Any]) -> bool:
    return connection.closed or connection.pgconn.status == ConnStatus.BAD


def is_lost(error: BaseException) -> bool:
    """Whether an error of the library says that the connection broke, and not what was asked of the server."""
    cause = error.__cause__
    if not isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return cause.sqlstate is None or cause.sqlstate[:3] in {"080", "57P"}


@lru_cache(maxsize=256)
def _statement(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


class Datastore(PostgresDatastore):
    """The pool of connections, and the one transaction of a thread that all its statements join while it lasts."""

    def __init__(self, conninfo: str) -> None:
        super().__init__("", "", "", "", "", originator_id_type="text")
        self._own = local()
        self._writer = uuid4().hex
        self._appends = 0
        self._conninfo = _with_defaults(conninfo)
        self.pool = ConnectionPool(  # type: ignore[assignment]  # the library's own takes no connection string
            self._conninfo,
            connection_class=_Connection,
            kwargs={"row_factory": dict_row},
            min_size=1,
            max_size=10,
            open=False,
            configure=_configure,
            timeout=CONNECT_SECONDS,
        )
        self.schema = self._first_look()

    def _first_look(self) -> str:
        """The schema of the store. It says at once, and in the server's words, if there is no way in.

        Raises:
            OperationalError: there is none.
            StoreError: the server is too old.

        """
        try:
            with psycopg.connect(self._conninfo, autocommit=True) as connection:
                schema = connection.execute(_SCHEMA).fetchone()
                version = connection.info.server_version // 10_000
                encoding = connection.info.parameter_status("server_encoding")
                if connection.execute(b"SHOW synchronous_commit").fetchone() == ("off",):
                    log.warning("synchronous_commit is off: what was acknowledged can get lost in a crash")
        except psycopg.Error as error:
            raise OperationalError(str(error).strip()) from error
        if version < OLDEST_SERVER:
            message = f"the server is PostgreSQL {version}; {OLDEST_SERVER} is the oldest that will do"
            raise StoreError(message)
        if encoding != "UTF8":
            message = f"the database is in {encoding}, which cannot hold every name; make one with ENCODING 'UTF8'"
            raise StoreError(message)
        if schema is None or schema[0] is None:
            message = "the search_path of this connection names no schema that exists, or none that its role may use"
            raise StoreError(message)
        return str(schema[0])

    def register_type_adapters(self) -> None:
        """Nothing: rows are inserted as arrays of plain types."""

    @contextmanager
    def get_connection(self) -> Iterator[Any]:
        """The thread's connection, or else one from the pool.

        Raises:
            PersistenceError: the library's, for what PostgreSQL's client raises.

        """
        joined: Connection[Any] | None = getattr(self._own, "connection", None)
        if joined is not None:
            yield joined
            return
        try:
            with super().get_connection() as connection:
                yield connection
        except OperationalError as error:
            if isinstance(error.__cause__, PoolTimeout):
                self._first_look()  # with the reason, if there is one
            raise

    @property
    def is_joined(self) -> bool:
        """Whether this thread is within a transaction."""
        return getattr(self._own, "connection", None) is not None

    @contextmanager
    def joined(self, begin: bytes, match: str | None = None) -> Iterator[None]:
        """A transaction that all statements of this thread join; they are sent when an answer is asked for.

        With a `match` it has the lock of that match, and whether it took place is found out if the connection is lost.
        """
        with self.get_connection() as connection:
            committing, before = False, self._appends
            try:
                with connection.pipeline():
                    connection.execute(begin)
                    if match is not None:
                        connection.execute(_statement(_LOCK_MATCH), (match,))
                    self._own.connection = connection
                    try:
                        yield
                    finally:
                        self._own.connection = None
                    committing = match is not None and self._appends > before
                    connection.execute(b"COMMIT")
            except BaseException as error:
                if not _broken(connection):
                    if isinstance(error, psycopg.Error):  # of what was sent behind it nobody knows what is prepared
                        connection.close()
                    elif connection.info.transaction_status != TransactionStatus.IDLE:
                        connection.execute(b"ROLLBACK")
                    raise
                if not committing:
                    raise
                lost = error
            else:
                return
        log.warning("the answer to a commit got lost", extra={"match": match, "reason": str(lost)})
        if not self._took_place(str(match), connection.session):
            message = f"the connection broke; nothing was stored: {lost}"
            raise ConnectionLostError(message) from lost

    def append_noted(self, connection: Connection[Any]) -> None:
        """Note in the transaction that it is this writer's next append."""
        self._appends += 1
        connection.execute(_APPENDED, (self._writer, self._appends))

    def _took_place(self, match: str, session: tuple[int, Any]) -> bool:
        """Whether the last append was committed, in a session that lost us.

        It is asked by a new connection, for a server that hangs would let those of the pool wait for it once more.

        Raises:
            OutcomeUnknownError: the server cannot be asked.

        """

        def ask() -> Any:
            try:
                with _Connection.connect(self._conninfo) as connection:
                    _configure(connection)
                    connection.execute(_statement(_END_SESSION), session)  # it may still wait for us
                    connection.execute(_statement(_LOCK_MATCH), (match,))  # once we get it, that transaction is over
                    return connection.execute(_LAST_APPEND, (self._writer,)).fetchone()
            except psycopg.Error as error:
                raise OperationalError(str(error).strip()) from error

        try:
            found = self.asked_again(ask)
        except PersistenceError as error:
            message = (
                f"the connection broke in a commit, and the server cannot be asked what became of it: {error}; "
                "give the command again: with the same meta.id it has one effect"
            )
            raise OutcomeUnknownError(message) from error
        return bool(found == (self._appends,))

    def close(self) -> None:
        """Close all connections; this writer is no more."""
        if getattr(self, "_appends", 0):
            with suppress(psycopg.Error), self.pool.connection(timeout=1) as connection:
                connection.execute(b"DELETE FROM store_writers WHERE writer = %s", (self._writer,))
            self._appends = 0
        super().close()

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a SELECT."""

        def ask() -> list[tuple[Any, ...]]:
            with self.get_connection() as connection, connection.cursor(binary=True, row_factory=tuple_row) as cursor:
                rows: list[tuple[Any, ...]] = cursor.execute(_statement(sql), parameters).fetchall()
                return rows

        return self.asked_again(ask)

    def asked_again(self, ask: Callable[[], T]) -> T:
        """An answer; asked for again where the connection broke outside of a transaction, for `RECONNECT_SECONDS`."""
        last = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                return ask()
            except (OperationalError, InterfaceError) as error:
                if self.is_joined or not is_lost(error) or time.monotonic() > last:
                    raise
                log.warning("the connection broke; asking again", extra={"reason": str(error)})
                time.sleep(PAUSE)


def _with_defaults(conninfo: str) -> str:
    """The connection string, with a limit to the time of connecting and with signs of life, unless it has its own.

    What a service's file says of signs of life would be overruled by what stands in the string, so then it has none.
    The client's encoding is the one in which every text can be sent.
    """
    given = conninfo_to_dict(conninfo)
    defaults: dict[str, str | int] = {
        "fallback_application_name": "soulrift",
        "connect_timeout": os.environ.get("PGCONNECT_TIMEOUT") or CONNECT_SECONDS,
    }
    if "service" not in given and not os.environ.get("PGSERVICE"):
        defaults |= SIGNS_OF_LIFE
    missing = {name: value for name, value in defaults.items() if name not in given}
    return make_conninfo(conninfo, **missing, client_encoding="UTF8")


def is_keyword(word: str) -> bool:
    """Whether a connection string of keywords and values may begin with this word."""
    return any(option.keyword.decode() == word for option in Conninfo.get_defaults())
