"""Views: the tables of read models beside a store, with the position in the log up to which they tell.

New rows and the new position are written in one transaction, so that a crash leaves both as they were. They are kept
apart from the store: whoever may only read it can still be answered, and making them anew blocks no writer.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Struct

from projections.read_model import Changes, ReadModel
from projections.tables import Record, Table

LAST = 2**62
"""More than any number in a view."""

PAGE = 1_000
"""How many rows are read at a time."""

PROGRESS = Table(
    "progress",
    {
        "id": "bigint",
        "position": "bigint",
        "entry_position": "bigint",
        "entry_rows": "bigint",
        "digest": "text",
        "events": "bigint",
        "matches": "bigint",
        "models": "text",
    },
    key=1,
    means="latest",
)


NO_VIEWS = "no views can be made or written in"
"""What is said to those who may not."""


class Progress(Struct, frozen=True):
    """How far views tell: the position of the last row of the log that was taken in, and how many rows and matches
    there were up to it.

    The last entry began at `entry_position`, had so many rows, and this `digest` of them: whether the log is still the
    one that was read.
    """

    position: int = 0
    entry_position: int = 0
    entry_rows: int = 0
    digest: str = ""
    events: int = 0
    matches: int = 0


class ViewsError(Exception):
    """The views can neither be made nor read; the message says why."""


class RebuildNeededError(Exception):
    """The views do not tell of this log, or cannot be read any more: they must be made anew."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; `soulrift projections rebuild` makes the views anew")


class ProjectionError(Exception):
    """An event cannot be taken in; the views stand before its entry, and nothing is skipped."""


class OvertakenError(Exception):
    """Somebody else has written to the views meanwhile; nothing was written."""


class Views(ABC):
    """The views of some read models. They are used by one thread."""

    name: str
    """What they are called in messages."""

    writable: bool = True

    def __init__(self, models: Iterable[ReadModel]) -> None:
        self.models = tuple(models)
        self.tables = tuple(table for model in self.models for table in model.tables)
        self._versions = " ".join(sorted(f"{model.name}.{model.version}" for model in self.models))

    def progress(self) -> Progress:
        """How far they tell.

        Raises:
            RebuildNeededError: they were made by other versions of these read models, or are damaged.

        """
        rows = self.query("SELECT position, entry_position, entry_rows, digest, events, matches, models FROM progress")
        if len(rows) != 1:
            raise RebuildNeededError(f"the views in {self.name} do not say how far they tell")
        *progress, versions = rows[0]
        if versions != self._versions:
            raise RebuildNeededError(f"the views in {self.name} are of other read models, or of other versions of them")
        return Progress(*progress)

    def stream(
        self,
        sql: str,
        asked: Sequence[Any],
        *,
        key: int,
        start: tuple[int, ...] | None = None,
        limit: int | None = None,
    ) -> Iterator[Record]:
        """The rows of a SELECT, read a page at a time.

        Its first `key` columns identify a row and give the order; its last parameters are those of the row to go on
        from, `start` at first. At most `limit` rows.
        """
        last: tuple[Any, ...] = start or (0,) * key
        left = LAST if limit is None else limit
        while left:
            page = min(PAGE, left)
            rows = self.query(f"{sql} LIMIT ?", (*asked, *last, page))
            yield from rows
            if len(rows) < page:
                return
            last, left = rows[-1][:key], left - page

    @abstractmethod
    def query(self, sql: str, asked: Sequence[Any] = ()) -> list[Record]:
        """The rows of a SELECT with `?` for its parameters.

        Raises:
            RebuildNeededError: the views are damaged.

        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """All that is asked within is answered of one moment."""

    @abstractmethod
    def lease(self) -> AbstractContextManager[Callable[[], bool]]:
        """Whether this process is the one that follows the log, to be asked at any time until the end of this."""

    @abstractmethod
    def write(self, changes: Changes, before: Progress, after: Progress) -> None:
        """Write new rows and the new position, or nothing.

        Raises:
            OvertakenError: the position is not `before`.

        """

    @abstractmethod
    def clear(self) -> None:
        """Make all tables anew, with nothing in them."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    def _row(self, progress: Progress) -> Record:
        return (
            1,
            progress.position,
            progress.entry_position,
            progress.entry_rows,
            progress.digest,
            progress.events,
            progress.matches,
            self._versions,
        )
