"""The store on SQLite: the library's tables, read and written in batches, with an index of the commands' ids.

`stored_events` is the record. `command_ids` says at which row of it a command with a `meta.id` begins; it is written in
the same transaction, so that no id can have two effects.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteCursor

from domain.codec import HEAD, CorruptRecordError, Row

TABLE = "stored_events"
"""The table of the record."""

BATCH = 1_000
"""How many rows are read at a time."""


class MatchRecorder(SQLiteApplicationRecorder):
    """The library's recorder, with the rows of a match without their wrapping, and with commands' ids."""

    def construct_create_table_statements(self) -> list[str]:
        """The library's table and ours."""
        return [
            *super().construct_create_table_statements(),
            (
                "CREATE TABLE IF NOT EXISTS command_ids (originator_id TEXT, command_id TEXT, "
                "originator_version INTEGER, PRIMARY KEY (originator_id, command_id)) WITHOUT ROWID"
            ),
        ]

    def _insert_events(
        self,
        c: SQLiteCursor,
        stored_events: Sequence[StoredEvent],
        *,
        command_ids: Sequence[tuple[str, str, int]] = (),
        **_: Any,
    ) -> None:
        c.executemany(
            self.insert_events_statement,
            [(event.originator_id, event.originator_version, event.topic, event.state) for event in stored_events],
        )
        if command_ids:
            c.executemany("INSERT INTO command_ids VALUES (?, ?, ?)", command_ids)

    def select_rows(self, match: str, gt: int = 0) -> Iterator[list[Row]]:
        """The rows of a match with a version above `gt`, in order and in batches.

        A batch is a range of versions, so that no more than the fold needs is read of a row.

        Raises:
            CorruptRecordError: a version is missing.

        """
        last = self._last_version(match)
        for start in range(gt, last, BATCH):
            end = min(start + BATCH, last)
            with self.datastore.transaction(commit=False) as c:
                c.sqlite_cursor.row_factory = None  # tuples, and no names to look up
                c.execute(
                    "SELECT topic, state FROM stored_events WHERE originator_id=? "
                    "AND originator_version>? AND originator_version<=? ORDER BY originator_version",
                    (match, start, end),
                )
                rows = c.fetchall()
            if len(rows) != end - start:
                message = f"{end - start - len(rows)} of the events {start + 1} to {end} of {match} are missing"
                raise CorruptRecordError(message)
            yield rows

    def _last_version(self, match: str) -> int:
        with self.datastore.transaction(commit=False) as c:
            c.execute("SELECT max(originator_version) FROM stored_events WHERE originator_id=?", (match,))
            return c.fetchone()[0] or 0

    def first_row_of_entry_at(self, match: str, version: int) -> bytes | None:
        """The state of the first row of the entry whose last one has this version; null if it is not there."""
        with self.datastore.transaction(commit=False) as c:
            c.execute(
                "SELECT state FROM stored_events WHERE originator_id=? AND originator_version<=? "
                "AND substr(state, 1, ?)=? ORDER BY originator_version DESC LIMIT 1",
                (match, version, len(HEAD), HEAD),
            )
            found = c.fetchone()
        return found[0] if found else None

    def version_of_command(self, match: str, command_id: str) -> int | None:
        """The version of the first event of the command with this id; null if there is none."""
        with self.datastore.transaction(commit=False) as c:
            c.execute(
                "SELECT originator_version FROM command_ids WHERE originator_id=? AND command_id=?", (match, command_id)
            )
            found = c.fetchone()
        return found[0] if found else None

    def has_match(self, match: str) -> bool:
        """Whether there is a match of this name."""
        with self.datastore.transaction(commit=False) as c:
            c.execute("SELECT 1 FROM stored_events WHERE originator_id=? LIMIT 1", (match,))
            return c.fetchone() is not None


def tables(path: Path) -> set[str]:
    """The tables of this file, which is only looked at.

    Raises:
        sqlite3.Error: it is no SQLite file, or cannot be read.

    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
