"""Replay files written: a match as lines, byte for byte as its entries are recorded."""

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from typing import BinaryIO

from msgspec import UNSET

from domain.entry import Entry
from domain.privacy import Opening, hidden_in
from domain.rules.events import MatchEnded, MatchStarted, RulingMade
from replays.lines import ARCHIVE, Status, end_line, header_line, matches_line, openings_line
from replays.merkle import Tree

WRITER = f"soulrift {version('soulrift')}"
"""What this program calls itself in the files that it writes."""


def match_lines(
    match: str, entries: Iterable[Entry], writer: str = WRITER, openings: Iterable[Opening] = ()
) -> Iterator[bytes]:
    """The lines of a match, without their newlines: header, entries, openings, end.

    Of the openings of a private match those are written whose commitments occur; without any there is no such line.
    """
    closed = {opening.commitment: opening for opening in openings}
    occurring = list[Opening]()
    header, tree = header_line(match), Tree()
    status: Status = "running"
    yield header
    for entry in entries:
        line = entry.line
        tree.append(line)
        status = status_after(entry, status)
        if closed:
            occurring += [closed.pop(text) for text in hidden_in(entry.command_json) if text in closed]
        yield line
    if occurring:
        yield openings_line(occurring)
    yield end_line(header, tree.size, tree.root(), status, writer)


def no_openings(_match: str) -> Iterable[Opening]:
    """No openings, of whatever match."""
    return ()


def write_archive(
    file: BinaryIO,
    matches: Iterable[tuple[str, Iterable[Entry]]],
    openings: Callable[[str], Iterable[Opening]] = no_openings,
) -> int:
    """Write matches as an archive, each with its `openings`, asked for before its entries; how many there are."""
    file.write(ARCHIVE + b"\n")
    number = 0
    for number, (match, entries) in enumerate(matches, 1):  # noqa: B007 - the last one is wanted
        write_match(file, match, entries, openings(match))
    file.write(matches_line(number) + b"\n")
    return number


def write_match(file: BinaryIO, match: str, entries: Iterable[Entry], openings: Iterable[Opening] = ()) -> None:
    """Write a match."""
    file.writelines(line + b"\n" for line in match_lines(match, entries, openings=openings))


def status_after(entry: Entry, status: Status) -> Status:
    """How a match stands after an entry, before which it stood so: a ruling can end it, and let it go on."""
    for event in entry.events:
        if isinstance(event, MatchStarted):
            status = "running"
        elif isinstance(event, MatchEnded):
            status = "ended"
        elif isinstance(event, RulingMade):
            for correction in event.corrections:
                if correction.result is not UNSET:
                    status = correction.result.status
    return status
