"""Replay files written: a match as lines, byte for byte as its entries are recorded."""

from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import BinaryIO

from msgspec import UNSET

from domain.entry import Entry
from domain.rules.events import MatchEnded, MatchStarted, RulingMade
from replays.lines import ARCHIVE, Status, end_line, header_line, matches_line
from replays.merkle import Tree

WRITER = f"soulrift {version('soulrift')}"
"""What this program calls itself in the files that it writes."""


def match_lines(match: str, entries: Iterable[Entry], writer: str = WRITER) -> Iterator[bytes]:
    """The lines of a match, without their newlines: header, entries, end."""
    header, tree = header_line(match), Tree()
    status: Status = "running"
    yield header
    for entry in entries:
        line = entry.line
        tree.append(line)
        status = _status_after(entry, status)
        yield line
    yield end_line(header, tree.size, tree.root(), status, writer)


def write_archive(file: BinaryIO, matches: Iterable[tuple[str, Iterable[Entry]]]) -> int:
    """Write matches as an archive; how many there are."""
    file.write(ARCHIVE + b"\n")
    number = 0
    for number, (match, entries) in enumerate(matches, 1):  # noqa: B007 - the last one is wanted
        write_match(file, match, entries)
    file.write(matches_line(number) + b"\n")
    return number


def write_match(file: BinaryIO, match: str, entries: Iterable[Entry]) -> None:
    """Write a match."""
    file.writelines(line + b"\n" for line in match_lines(match, entries))


def _status_after(entry: Entry, status: Status) -> Status:
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
