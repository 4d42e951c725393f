"""Recordings by name: a match in a replay file, or one of the store."""

import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import click

from domain.application import IncompleteMatchError, Matches
from domain.codec import CorruptRecordError
from replays import bundle
from replays.bundle import BundleError
from replays.files import DamagedFileError, opened
from replays.reading import DamageError, Reader, Recording
from replays.verify import newer_format
from replays.writing import write_match
from soulrift import store
from soulrift.verifying import begins_with

IN_MEMORY = 1 << 24
"""Bytes of a record that are kept in memory; a longer one is written into a temporary file."""

ENDINGS = (".jsonl", ".gz", ".zst", ".zip")
"""How replay files and bundles are called."""


@contextmanager
def lines_of(name: str, db: str, match: str | None = None) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The name of a match, and the lines of its entries: of the file of this name, or else of the store's match.

    `match` says which one of an archive. Reading the lines of a file may raise DamageError.

    Raises:
        click.UsageError: there is no such match in the file, or it was not said which; or there is neither a file nor a
            match of this name, which is that of a file.
        MatchNotFoundError: there is neither a file nor a match of this name.

    """
    path = Path(name)
    if is_file(path):
        with in_file(path, match) as (_, recording):
            yield recording.match, (found.content for found in recording.lines())
        return
    _see_no_choice(name, match)
    with _stored(name, db) as matches:
        yield name, (entry.line for entry in matches.entries(name))


@contextmanager
def recording_of(name: str, db: str, match: str | None = None) -> Iterator[tuple[Reader, Recording]]:
    """The recording of this name, in a file, or of the store as it would stand in a file; and what reads it.

    Raises:
        click.UsageError, MatchNotFoundError: as `lines_of`.
        IncompleteMatchError: only a part of the match is in the store.
        CorruptRecordError: what is in the store, or in front of the match in the file, is not what was written.

    """
    path = Path(name)
    if is_file(path):
        with in_file(path, match) as found:
            yield found
        return
    _see_no_choice(name, match)
    with _stored(name, db) as matches, in_store(matches, name) as found:
        yield found


@contextmanager
def in_file(path: Path, match: str | None) -> Iterator[tuple[Reader, Recording]]:
    """A match of a file or bundle, which one of an archive `match` says, and what reads it."""
    with _naming(path), _record(path) as file:
        reader = Reader(file)
        for recording in reader.recordings():
            if match is None and reader.archive:
                message = f"{path} is an archive; say which of its matches, with --match"
                raise click.UsageError(message)
            if match in {None, recording.match}:
                yield reader, recording
                return
        if reader.newer:
            message = f"{path}: {newer_format(reader.newer)}"
            raise click.UsageError(message)
        if reader.damages:
            raise reader.damages[0]
        message = f"there is no match {match} in {path}"
        raise click.UsageError(message)


@contextmanager
def _record(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a replay file, or of the one in a bundle."""
    if begins_with(path, bundle.START):
        yield io.BytesIO(bundle.unpacked(path.read_bytes())[bundle.REPLAY])
        return
    with opened(path) as file:
        yield file


@contextmanager
def in_store(matches: Matches, name: str) -> Iterator[tuple[Reader, Recording]]:
    """A match of the store, as it would stand in a file with all that is known of it."""
    see_whole(matches, [name])
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        content = cast("BinaryIO", file)
        write_match(content, name, matches.entries(name), matches.openings(name))
        content.seek(0)
        reader = Reader(content)
        yield reader, next(reader.recordings())


def see_whole(matches: Matches, names: Iterable[str]) -> None:
    """See that these matches are in the store, and not only in part.

    Raises:
        MatchNotFoundError, IncompleteMatchError: one is not.

    """
    for name in names:
        if not matches.has(name):
            raise matches.not_found(name)
        if matches.recorder.incomplete(name):
            message = f"only a part of {name} was imported; import the same file again, then there is a whole"
            raise IncompleteMatchError(message)


def is_file(path: Path) -> bool:
    """Whether there is a file of this name."""
    try:
        return path.is_file()
    except OSError:  # no file can have such a name, but a match can
        return False


@contextmanager
def _stored(name: str, db: str) -> Iterator[Matches]:
    """The store with the match of this name.

    Raises:
        click.UsageError: there is no store; or the name is that of a file, and no match is called so.

    """
    like_file = name.endswith(ENDINGS) or any(separator in name for separator in (os.sep, os.altsep) if separator)
    message = f"there is no file {name}, and no match that is called so"
    try:
        matches = store.open_to_read(db)
    except click.UsageError:
        if like_file:
            raise click.UsageError(message) from None
        raise
    with matches:
        if like_file and not matches.has(name):
            raise click.UsageError(message)
        yield matches


def _see_no_choice(name: str, match: str | None) -> None:
    if match is not None:
        message = f"there is no file {name} of which --match could say a match"
        raise click.UsageError(message)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say of which file it is that something cannot be read."""
    try:
        yield
    except (DamageError, DamagedFileError, BundleError, CorruptRecordError) as error:
        message = f"{path}: {error}"
        raise CorruptRecordError(message) from error
    except PermissionError:
        message = f"{path} cannot be read"
        raise click.UsageError(message) from None
