"""The store on PostgreSQL.

Writers of one match queue on an advisory lock of that match, before they read its tail; all writers queue on an
advisory lock of the log for the moment of their insert and commit, so that positions appear in the order of commits and
a reader that follows the log misses nothing. Neither lock needs more than the right to INSERT. A command takes two
round trips, or three if it has an id: lock and tail, then insert and commit.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from eventsourcing.persistence import AggregateRecorder, InterfaceError, Notification, OperationalError, StoredEvent
from eventsourcing.postgres import (
    BasePostgresFactory,
    PostgresAggregateRecorder,
    PostgresApplicationRecorder,
    PostgresFactory,
)
from psycopg import Connection
from psycopg.rows import tuple_row

from domain.postgres_sessions import ANSWER_SECONDS, LIMITS, Datastore, display_name, is_lost
from domain.recorder import (
    EVENTS,
    ID_TABLES,
    IDENTITY,
    INCOMPLETE,
    LATER_TABLES,
    OPENINGS,
    SETTINGS,
    SNAPSHOTS,
    ConnectionLostError,
    MatchRecorder,
    OutcomeUnknownError,
    StoreError,
)

WRITERS = "store_writers"
"""The table that is PostgreSQL's alone: for each open application, the number of its last append."""

_BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED"
"""Whatever the database's default is: what is read behind a lock must be as it is once the lock is there."""

_LOCK_LOG = b"SELECT pg_advisory_xact_lock(1, 'stored_events'::regclass::oid::int)"
_LOCK_SCHEMA = b"SELECT pg_advisory_xact_lock(2, hashtext(current_schema()))"
_NO_LIMIT = b"SELECT set_config('statement_timeout', '0', true) WHERE current_setting('statement_timeout') = %s"
_CREATE_WRITERS = b"CREATE TABLE IF NOT EXISTS store_writers (writer text PRIMARY KEY, appends bigint NOT NULL)"
_TABLES = (
    b"SELECT relname FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid "
    b"WHERE relname = ANY(%s) AND nspname = %s"
)


_ELSEWHERE = (
    b"SELECT min(nspname) FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid "
    b"WHERE relname = 'store_format' AND nspname <> %s AND "
    b"(SELECT source FROM pg_settings WHERE name = 'search_path') IN ('default', 'configuration file')"
)
_SHADOWED = (
    b"SELECT min(relname) FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid "
    b"WHERE pg_class.oid = ANY (SELECT to_regclass(name) FROM unnest(%s::text[]) AS wanted (name)) AND nspname <> %s"
)


def postgres_settings(conninfo: str, *, create: bool = False) -> dict[str, str]:
    """Settings for a store in the PostgreSQL database of a connection string, in any form that libpq reads.

    Raises:
        StoreError: it reads none of it.

    """
    return {
        "PERSISTENCE_MODULE": "domain.postgres:Factory",
        "STORE": display_name(conninfo),
        "POSTGRES_CONNINFO": conninfo,
        "CREATE_TABLE": "y" if create else "n",
        **SETTINGS,
    }


class _Inserting(PostgresAggregateRecorder):
    """Inserts rows as arrays, and asks once: the library would ask ten times, and take its own rows for another's."""

    datastore: Datastore

    def _insert(self, connection: Connection[Any], stored_events: Sequence[StoredEvent], returning: str = "") -> Any:
        ids, versions, topics, states = zip(
            *((row.originator_id, row.originator_version, row.topic, row.state) for row in stored_events), strict=True
        )
        return connection.cursor(row_factory=tuple_row).execute(
            f"INSERT INTO {self.events_table_name} (originator_id, originator_version, topic, state) "  # noqa: S608
            f"SELECT * FROM unnest(%b::text[], %b::bigint[], %b::text[], %b::bytea[]){returning}".encode(),
            (list(ids), list(versions), list(topics), list(states)),
        )

    def select_events(self, *asked: Any, **more: Any) -> Sequence[StoredEvent]:
        """The library's, asked in our way."""
        return self.datastore.asked_again(lambda: _SELECT_EVENTS(self, *asked, **more))


_SELECT_EVENTS, _SELECT_NOTIFICATIONS, _MAX_NOTIFICATION_ID = (
    getattr(method, "__wrapped__")  # noqa: B009 - the library's methods without its ten attempts
    for method in (
        PostgresAggregateRecorder.select_events,
        PostgresApplicationRecorder.select_notifications,
        PostgresApplicationRecorder.max_notification_id,
    )
)


class SnapshotRecorder(_Inserting):
    """The library's recorder of snapshots."""

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> None:
        """Insert snapshots."""
        if stored_events:
            with self.datastore.get_connection() as connection:
                self._insert(connection, stored_events)


class PostgresMatchRecorder(_Inserting, PostgresApplicationRecorder, MatchRecorder):
    """The library's recorder, with the thread's transaction, the commands' ids and no need of rights but INSERT."""

    POSITION = "notification_id"
    TABLES = MatchRecorder.TABLES | {WRITERS}

    def create_table(self) -> None:
        """Make the tables that are missing, all at once, whoever else is doing the same.

        Raises:
            StoreError: there are others of these names.

        """
        snapshots = PostgresAggregateRecorder(self.datastore, events_table_name=SNAPSHOTS)
        all_statements = [*self.sql_create_statements, *snapshots.sql_create_statements]
        tables = [
            made.as_bytes() for made in all_statements if made.as_bytes().startswith((b"CREATE TABLE", b"CREATE U"))
        ]
        with self.datastore.get_connection() as connection, connection.transaction():
            connection.execute(b"SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.execute(_LOCK_SCHEMA)
            there = {row["relname"] for row in connection.execute(_TABLES, (list(self.TABLES), self.datastore.schema))}
            if there == self.TABLES:
                return
            if there:
                message = f"the schema {self.datastore.schema} has another program's table {min(there)}"
                raise StoreError(message)
            self._refuse_elsewhere(f"; name the schema {self.datastore.schema} likewise to make another one there")
            ours = [*ID_TABLES, *LATER_TABLES]
            for statement in [*tables, _CREATE_WRITERS, *map(str.encode, ours)]:
                connection.execute(statement)

    def refuse_other_formats(self) -> None:
        """See that this is a store, of a format that this program knows, and the one that is meant.

        Raises:
            StoreError: it is not; or a table of it is hidden by another schema's, or the store is in another schema.

        """
        if not self.tables():
            self._refuse_elsewhere("")
        super().refuse_other_formats()
        names = [*self.TABLES, INCOMPLETE, OPENINGS, IDENTITY]
        ((shadowed,),) = self.query(_SHADOWED.decode().replace("%s", "?"), (names, self.datastore.schema))
        if shadowed is not None:
            message = (
                f"another schema in its search_path has a table {shadowed}, too, "
                f"in front of that of the schema {self.datastore.schema}"
            )
            raise StoreError(message)

    def _refuse_elsewhere(self, otherwise: str) -> None:
        """Refuse a connection whose search_path nobody chose, where there is a store in another schema.

        So it is with a database that was restored under another name.
        """
        schema = self.datastore.schema
        ((other,),) = self.query(_ELSEWHERE.decode().replace("%s", "?"), (schema,))
        if other is not None:
            message = (
                f"there is a store in the schema {other}, and none in {schema}: "
                f"name that schema, ?options=-csearch_path%3D{other}{otherwise}"
            )
            raise StoreError(message)

    @property
    def schema(self) -> str:
        """The schema in which the tables are."""
        return self.datastore.schema

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a SELECT."""
        return self.datastore.query(sql, parameters)

    @contextmanager
    def writing(self, match: str) -> Iterator[None]:
        """A transaction with the lock of this match from its beginning."""
        try:
            with self.datastore.joined(_BEGIN, match):
                yield
        except (OperationalError, InterfaceError) as error:
            if isinstance(error, ConnectionLostError | OutcomeUnknownError) or not is_lost(error):
                raise
            message = f"the connection broke; nothing was stored: {error}"
            raise ConnectionLostError(message) from error

    def select_notifications(self, *asked: Any, **more: Any) -> Sequence[Notification]:
        """The library's, asked in our way."""
        return self.datastore.asked_again(lambda: _SELECT_NOTIFICATIONS(self, *asked, **more))

    def max_notification_id(self) -> int | None:
        """The library's, asked in our way."""
        position: int | None = self.datastore.asked_again(lambda: _MAX_NOTIFICATION_ID(self))
        return position

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction that sees one moment of the database."""
        self.datastore.pool.check()  # sessions that have ended are found here, and not within the transaction
        begin = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with self.datastore.joined(begin), self.datastore.get_connection() as connection:
            connection.execute(_NO_LIMIT, (LIMITS["statement_timeout"],))  # counting a large table takes its time
            connection.patience = None
            try:
                yield
            finally:
                connection.patience = ANSWER_SECONDS

    def integrity(self) -> list[str]:
        """Nothing: PostgreSQL's own tools check its files (checksums, pg_amcheck)."""
        return []

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """A statement."""
        with self.datastore.get_connection() as connection:
            connection.execute(sql.replace("?", "%s").encode(), parameters)

    def make_table(self, statement: str) -> None:
        """Make a table that a store of before lacks; others who want to wait until this is done."""
        self.execute(_LOCK_SCHEMA.decode())
        self.execute(statement)

    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name."""
        return self.query("SELECT to_regclass(?)::oid", (name,)) != [(None,)]

    def tables(self) -> frozenset[str]:
        """Those of our tables that are there."""
        found = self.query(_TABLES.decode().replace("%s", "?"), (list(self.TABLES), self.datastore.schema))
        return frozenset(name for (name,) in found)

    def insert_events(
        self, stored_events: Sequence[StoredEvent], *, command_ids: Sequence[tuple[str, str, int]] = (), **_: Any
    ) -> Sequence[int] | None:
        """Insert rows: in the thread's transaction, or else in one of their own, for which positions are returned."""
        if self.datastore.is_joined:
            self._append(stored_events, command_ids)
            return None
        with self.datastore.joined(_BEGIN):
            inserted = self._append(stored_events, command_ids, " RETURNING notification_id")
            return [position for (position,) in inserted.fetchall()] if inserted else []

    def _append(
        self, stored_events: Sequence[StoredEvent], command_ids: Sequence[tuple[str, str, int]], returning: str = ""
    ) -> Any:
        if not stored_events:
            return None
        with self.datastore.get_connection() as connection:
            connection.execute(_LOCK_LOG)
            inserted = self._insert(connection, stored_events, returning)
            if command_ids:
                matches, ids, versions = map(list, zip(*command_ids, strict=True))
                connection.execute(
                    b"INSERT INTO command_ids SELECT * FROM unnest(%b::text[], %b::text[], %b::bigint[])",
                    (matches, ids, versions),
                )
            self.datastore.append_noted(connection)
            self._notify_channel(connection.cursor())
            return inserted


class Factory(PostgresFactory):
    """Builds the recorders for the application."""

    def __init__(self, env: Any) -> None:
        super(BasePostgresFactory, self).__init__(env)
        self.datastore = Datastore(self.env["POSTGRES_CONNINFO"])

    def application_recorder(self) -> PostgresMatchRecorder:
        """The recorder of the record; it makes all tables."""
        recorder = PostgresMatchRecorder(self.datastore, events_table_name=EVENTS)
        if self.env_create_table():
            recorder.create_table()
        return recorder

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """The recorder of snapshots; its table is made with the others."""
        return SnapshotRecorder(self.datastore, events_table_name="stored_" + purpose)
