"""What a store of matches promises, whichever database keeps it.

Tables: `stored_events` is the record, `stored_snapshots` a way around long folds (both are the library's);
`command_ids` says at which row of the record a command with a `meta.id` begins, and `store_format` holds the one number
that says how to read the others; `openings` says what the commitments of private matches stand for. The databases
differ in how a transaction is made; what is asked of them stands here.
"""

import logging
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any, ClassVar

from eventsourcing.persistence import ApplicationRecorder, OperationalError

from domain.codec import HEAD, Row
from domain.privacy import Opening

log = logging.getLogger("soulrift.store")
"""What stores have to say; silent unless the program that uses them wants to hear it."""

log.addHandler(logging.NullHandler())

FORMAT = 1
"""The format of the stores that this program writes. It reads those of older ones, and refuses newer ones."""

EVENTS, SNAPSHOTS, COMMAND_IDS, STORE_FORMAT = "stored_events", "stored_snapshots", "command_ids", "store_format"
"""The tables."""

SETTINGS = {
    "IS_SNAPSHOTTING_ENABLED": "y",
    "AGGREGATE_CACHE_MAXSIZE": "1000",
    "AGGREGATE_CACHE_FASTFORWARD": "n",
    "DEEPCOPY_FROM_AGGREGATE_CACHE": "n",
}
"""The library's settings that every store has: a cache, brought up to date by the application itself, and snapshots."""

RECONNECT_SECONDS = 10
"""For how long a server that went away is asked again."""

PAUSE = 0.1
"""Seconds between two such attempts."""

BATCH = 1_000
"""How many rows are read at a time."""

AT_ONCE = 100
"""How many openings are inserted at a time; few matches have more."""

ID_TABLES = (
    (
        f"CREATE TABLE IF NOT EXISTS {COMMAND_IDS} (originator_id TEXT NOT NULL, command_id TEXT NOT NULL, "
        "originator_version BIGINT NOT NULL, PRIMARY KEY (originator_id, command_id))"
    ),
    f"CREATE TABLE IF NOT EXISTS {STORE_FORMAT} (format INTEGER NOT NULL PRIMARY KEY)",
    f"INSERT INTO {STORE_FORMAT} SELECT {FORMAT} WHERE NOT EXISTS (SELECT 1 FROM {STORE_FORMAT})",  # noqa: S608
)
"""What makes the tables that are ours, in SQL that every store understands."""


INCOMPLETE = "incomplete_imports"
"""The table of matches of which not all entries are in the store yet. Stores made before there were imports lack it."""

CREATE_INCOMPLETE = (
    f"CREATE TABLE IF NOT EXISTS {INCOMPLETE} (originator_id TEXT NOT NULL PRIMARY KEY, root TEXT NOT NULL)"
)

OPENINGS = "openings"
"""The table of what the commitments of private matches stand for. Stores made before there were any lack it."""

CREATE_OPENINGS = (
    f"CREATE TABLE IF NOT EXISTS {OPENINGS} (originator_id TEXT NOT NULL, commitment TEXT NOT NULL, "
    "salt TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (originator_id, commitment))"
)

IDENTITY = "store_identity"
"""The table of the 16 hexadecimal digits that tell a store, and its restored copies, from every other one."""

CREATE_IDENTITY = f"CREATE TABLE IF NOT EXISTS {IDENTITY} (identity TEXT NOT NULL PRIMARY KEY)"

LATER_TABLES = (CREATE_INCOMPLETE, CREATE_OPENINGS, CREATE_IDENTITY)
"""What makes the tables that came after format 1: new stores have them, in older ones they are made when needed."""


LogRow = tuple[int, str, int, str, bytes]
"""A row of the log: position, match, version, topic, state."""


def is_head(row: LogRow) -> bool:
    """Whether an entry begins with this row."""
    return isinstance(row[4], bytes) and row[4].startswith(HEAD)


def whole_entries(rows: list[LogRow], *, more: bool) -> list[list[LogRow]]:
    """Rows of the log, those of an entry together; without the last one's if there are `more`, which may be its."""
    starts = [place for place, row in enumerate(rows) if not place or is_head(row) or row[1] != rows[place - 1][1]]
    if not more:
        starts.append(len(rows))
    return [rows[start:end] for start, end in pairwise(starts)]


class StoreError(Exception):
    """What was named is no store that this program can use; the message says why, and what to do."""


class ConnectionLostError(OperationalError):
    """The connection to the database broke; nothing of the transaction is stored."""


class OutcomeUnknownError(OperationalError):
    """The connection broke while a transaction was committed, and nobody can be asked whether it is stored."""


class MatchRecorder(ApplicationRecorder):
    """A store as the application and the check see it."""

    TABLES: ClassVar[frozenset[str]] = frozenset({EVENTS, SNAPSHOTS, COMMAND_IDS, STORE_FORMAT})

    POSITION: ClassVar[str]
    """The column of `stored_events` that holds a row's position in the log."""

    @abstractmethod
    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a SELECT with `?` for its parameters, within the thread's transaction if there is one."""

    @abstractmethod
    def writing(self, match: str) -> AbstractContextManager[None]:
        """A transaction that no other writer of this match runs at the same time; it is committed at the end.

        What this thread reads and inserts meanwhile belongs to it.

        Raises:
            IntegrityError: a writer outside of the queue was first; nothing is stored.
            ConnectionLostError: nothing is stored.
            OutcomeUnknownError: it may be stored, or not.

        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """A transaction in which this thread sees one moment of the store, and changes nothing."""

    def moment(self) -> int | None:
        """A number that is another one once somebody else has written; null where the database cannot say so at once.

        Asked for within `writing`, where nobody else writes.
        """
        return None

    @property
    def schema(self) -> str | None:
        """The schema in which the tables are, where the database has schemas."""
        return None

    @abstractmethod
    def integrity(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    @abstractmethod
    def tables(self) -> frozenset[str]:
        """Those of our tables that are there."""

    def refuse_other_formats(self) -> None:
        """See that this is a store, of a format that this program knows.

        Raises:
            StoreError: it is not.

        """
        missing = self.TABLES - self.tables()
        if missing == self.TABLES:
            message = "it has no tables of a store; `soulrift init` makes them"
            raise StoreError(message)
        if missing:
            message = f"it has no table {min(missing)}, so another program made it, or it is damaged"
            raise StoreError(message)
        found = self.query(f"SELECT format FROM {STORE_FORMAT}")  # noqa: S608 - a name of ours
        if len(found) != 1 or not isinstance(found[0][0], int) or found[0][0] < 1:
            message = f"its table {STORE_FORMAT} does not hold one number"
            raise StoreError(message)
        if found[0][0] > FORMAT:
            message = f"it has format {found[0][0]}, this Soulrift knows formats up to {FORMAT}; use a newer one"
            raise StoreError(message)

    def select_rows(self, match: str, gt: int = 0, batch: int = BATCH) -> Iterator[list[Row]]:
        """The rows of a match with a version above `gt`, in order and in batches."""
        while True:
            rows: list[Any] = self.query(
                f"SELECT originator_version, topic, state FROM {EVENTS} WHERE originator_id=? AND originator_version>? "  # noqa: S608
                "ORDER BY originator_version LIMIT ?",
                (match, gt, batch),
            )
            if rows:
                yield rows
            if len(rows) < batch:
                return
            gt = rows[-1][0]

    def select_rows_at(self, match: str, versions: Sequence[int]) -> list[Row]:
        """Those rows of a match that have these versions, in order of them."""
        rows: list[Any] = []
        for some in (versions[at : at + BATCH] for at in range(0, len(versions), BATCH)):
            rows += self.query(
                f"SELECT originator_version, topic, state FROM {EVENTS} WHERE originator_id=? "  # noqa: S608
                f"AND originator_version IN ({', '.join('?' * len(some))}) ORDER BY originator_version",
                (match, *some),
            )
        return rows

    def select_all_rows(self) -> Iterator[list[tuple[Any, ...]]]:
        """All rows of the record: match, version, topic, state, position; by match and version, in batches.

        Rows whose match or version is NULL are passed over. Meant for `reading()`: one moment of the store.
        """
        sql = (
            f"SELECT originator_id, originator_version, topic, state, {self.POSITION} FROM {EVENTS} "  # noqa: S608
            "WHERE (originator_id, originator_version) > (?, ?) ORDER BY originator_id, originator_version LIMIT ?"
        )
        match: Any = ""
        version: Any = 0
        while rows := self.query(sql, (match, version, BATCH)):
            yield rows
            match, version = rows[-1][:2]

    def select_log(self, start: int, limit: int) -> list[LogRow]:
        """Rows of the log from position `start` on, in the order of commits.

        An entry's rows follow each other.
        """
        rows: list[Any] = self.query(
            f"SELECT {self.POSITION}, originator_id, originator_version, topic, state FROM {EVENTS} "  # noqa: S608
            f"WHERE {self.POSITION}>=? ORDER BY {self.POSITION} LIMIT ?",
            (start, limit),
        )
        return rows

    def select_at(self, positions: Sequence[int]) -> list[LogRow]:
        """Those rows of the log that lie at these positions, some hundred at most; each as in `select_log`."""
        marks = ", ".join("?" * len(positions))
        rows: list[Any] = self.query(
            f"SELECT {self.POSITION}, originator_id, originator_version, topic, state FROM {EVENTS} "  # noqa: S608
            f"WHERE {self.POSITION} IN ({marks}) ORDER BY {self.POSITION}",
            positions,
        )
        return rows

    def select_marks(self, after: int, last: int, kinds: Sequence[str], limit: int) -> list[tuple[int, str, int, str]]:
        """Rows with an event of these kinds behind a position of the log, up to another, in the order of commits.

        Of each the position, match, version and topic.
        """
        topics = " OR ".join(["topic LIKE ?"] * len(kinds))
        rows: list[Any] = self.query(
            f"SELECT {self.POSITION}, originator_id, originator_version, topic FROM {EVENTS} "  # noqa: S608
            f"WHERE {self.POSITION}>? AND {self.POSITION}<=? AND ({topics}) ORDER BY {self.POSITION} LIMIT ?",
            (after, last, *(f"{kind}.v%" for kind in kinds), limit),
        )
        return rows

    def end(self) -> int:
        """The position of the last row of the log; 0 if there is none."""
        return self.max_notification_id() or 0

    def rows_up_to(self, position: int) -> int:
        """How many rows the log has up to a position. This reads them all."""
        found = self.query(f"SELECT count(*) FROM {EVENTS} WHERE {self.POSITION}<=?", (position,))  # noqa: S608
        return int(found[0][0])

    def first_row_of_entry_at(self, match: str, version: int) -> bytes | None:
        """The state of the first row of the entry whose last one has this version; null if it is not there."""
        found = self.query(
            f"SELECT state FROM {EVENTS} WHERE originator_id=? AND originator_version<=? "  # noqa: S608
            "AND substr(state, 1, ?)=? ORDER BY originator_version DESC LIMIT 1",
            (match, version, len(HEAD), HEAD),
        )
        return found[0][0] if found else None

    def versions_of_commands(self, match: str, command_ids: Sequence[str]) -> dict[str, int]:
        """The version of the first event of each command with one of these ids; those not known are not in it."""
        if not command_ids:
            return {}
        marks = ", ".join("?" * len(command_ids))
        return dict(
            self.query(
                f"SELECT command_id, originator_version FROM {COMMAND_IDS} "  # noqa: S608
                f"WHERE originator_id=? AND command_id IN ({marks})",
                (match, *command_ids),
            )
        )

    def matches(self) -> Iterator[str]:
        """The names of all matches, in the database's order."""
        name = ""
        while True:
            found = self.query(f"SELECT min(originator_id) FROM {EVENTS} WHERE originator_id > ?", (name,))  # noqa: S608
            if found[0][0] is None:
                return
            name = found[0][0]
            yield name

    @abstractmethod
    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """A statement with `?` for its parameters, within the thread's transaction, or in one of its own."""

    def make_table(self, statement: str) -> None:
        """Make a table that a store of before lacks, in a transaction; others may be about to do the same."""
        self.execute(statement)

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name."""

    def incomplete(self, match: str) -> str | None:
        """The root of the record of which only a part is in the store yet; null where the match is whole."""
        if not self.has_table(INCOMPLETE):
            return None
        found = self.query(f"SELECT root FROM {INCOMPLETE} WHERE originator_id=?", (match,))  # noqa: S608
        return found[0][0] if found else None

    def all_incomplete(self) -> list[str]:
        """The matches of which only a part of their record is in the store yet."""
        if not self.has_table(INCOMPLETE):
            return []
        found = self.query(f"SELECT originator_id FROM {INCOMPLETE} ORDER BY originator_id")  # noqa: S608
        return [match for (match,) in found]

    def mark_incomplete(self, match: str, root: str | None) -> None:
        """Note that only a part of a record is in the store yet; or, without a root, that all of it is."""
        if not self.has_table(INCOMPLETE):
            self.make_table(CREATE_INCOMPLETE)
        self.execute(f"DELETE FROM {INCOMPLETE} WHERE originator_id=?", (match,))  # noqa: S608
        if root is not None:
            self.execute(f"INSERT INTO {INCOMPLETE} VALUES (?, ?)", (match, root))  # noqa: S608

    def openings(self, match: str) -> list[Opening]:
        """What the commitments of a private match stand for, as far as the store knows; sorted by commitment."""
        if not self.has_table(OPENINGS):
            return []
        found = self.query(f"SELECT commitment, salt, value FROM {OPENINGS} WHERE originator_id=?", (match,))  # noqa: S608
        return [Opening(*row) for row in sorted(found)]

    def select_all_openings(self) -> Iterator[list[tuple[str, Opening]]]:
        """All openings, each with its match, in batches. Meant for `reading()`: one moment of the store."""
        sql = (
            f"SELECT originator_id, commitment, salt, value FROM {OPENINGS} "  # noqa: S608
            "WHERE (originator_id, commitment) > (?, ?) ORDER BY originator_id, commitment LIMIT ?"
        )
        match = commitment = ""
        while self.has_table(OPENINGS) and (rows := self.query(sql, (match, commitment, BATCH))):
            yield [(row[0], Opening(*row[1:])) for row in rows]
            match, commitment = rows[-1][:2]

    def add_openings(self, match: str, openings: Iterable[Opening]) -> int:
        """Keep openings of a match, but for those that are there already; how many were not."""
        there = {opening.commitment for opening in self.openings(match)}
        missing = [opening for opening in openings if opening.commitment not in there]
        if missing and not self.has_table(OPENINGS):
            self.make_table(CREATE_OPENINGS)
        for some in (missing[at : at + AT_ONCE] for at in range(0, len(missing), AT_ONCE)):
            marks = ", ".join(["(?, ?, ?, ?)"] * len(some))
            values = [value for each in some for value in (match, each.commitment, each.salt, each.value)]
            self.execute(f"INSERT INTO {OPENINGS} VALUES {marks} ON CONFLICT DO NOTHING", values)  # noqa: S608
        return len(missing)

    def identity(self) -> str | None:
        """What tells this store from every other one: 16 hexadecimal digits; null before anybody needed it."""
        if not self.has_table(IDENTITY):
            return None
        found = self.query(f"SELECT identity FROM {IDENTITY}")  # noqa: S608
        return found[0][0] if found else None

    def identify(self, drawn: str) -> str:
        """The identity of this store: what was `drawn` by chance, unless there is one already."""
        with self.writing(""):
            if not self.has_table(IDENTITY):
                self.make_table(CREATE_IDENTITY)
            known = self.identity()
            if known is None:
                self.execute(f"INSERT INTO {IDENTITY} VALUES (?)", (drawn,))  # noqa: S608
        return known or drawn

    def last_version(self, match: str) -> int:
        """The number of the last event of a match; 0 where there is no match of this name."""
        found = self.query(f"SELECT max(originator_version) FROM {EVENTS} WHERE originator_id=?", (match,))  # noqa: S608
        return found[0][0] or 0

    def has_match(self, match: str) -> bool:
        """Whether there is a match of this name."""
        return bool(self.query(f"SELECT 1 FROM {EVENTS} WHERE originator_id=? LIMIT 1", (match,)))  # noqa: S608
