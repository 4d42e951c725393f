"""Recordings by name: a match in a replay file, or one of the store."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from domain.codec import CorruptRecordError
from replays.files import DamagedFileError, opened
from replays.reading import DamageError, Reader
from soulrift import store


@contextmanager
def lines_of(name: str, db: str, match: str | None = None) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The name of a match, and the lines of its entries: of the file of this name, or else of the store's match.

    `match` says which one of an archive. Reading the lines of a file may raise DamageError.

    Raises:
        click.UsageError: there is no such match in the file, or it was not said which.
        MatchNotFoundError: there is neither a file nor a match of this name.

    """
    path = Path(name)
    if not _is_file(path):
        if match is not None:
            message = f"there is no file {name} of which --match could say a match"
            raise click.UsageError(message)
        with store.open_to_read(db) as matches:
            yield name, (entry.line for entry in matches.entries(name))
        return
    with _naming(path), opened(path) as file:
        reader = Reader(file)
        for recording in reader.recordings():
            if match is None and reader.archive:
                message = f"{name} is an archive; say which of its matches, with --match"
                raise click.UsageError(message)
            if match in {None, recording.match}:
                yield recording.match, (found.content for found in recording.lines())
                return
        if match is None and reader.damages:
            raise reader.damages[0]
        message = f"there is no match {match} in {name}"
        raise click.UsageError(message)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no file can have such a name, but a match can
        return False


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say of which file it is that something cannot be read."""
    try:
        yield
    except (DamageError, DamagedFileError, CorruptRecordError) as error:
        message = f"{path}: {error}"
        raise CorruptRecordError(message) from error
    except PermissionError:
        message = f"{path} cannot be read"
        raise click.UsageError(message) from None
