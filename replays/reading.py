"""Replay files read line by line: matches one after the other, and where the file is not as it was written."""

import re
from collections.abc import Collection, Iterator
from typing import BinaryIO

import msgspec
from msgspec import Struct

from domain.rules.commands import Name
from replays import lines
from replays.files import DamagedFileError
from replays.lines import Archive, ArchiveEnd, End, EntryLine, Header, Line, Openings

_OUTSIDE = (Archive, Header, ArchiveEnd)
"""The kinds of lines that stand in no match."""

_OTHERS = {
    b"PK\x03\x04": "it is a zip; of a bundle, it is the file replay.soulrift.jsonl in it",
    b"SQLite format 3\x00": "it is a store, for --db; `soulrift export` makes replay files of its matches",
    b"#": "it is a match script, which `soulrift play` plays",
    b'{"type":': "it is a match script, which `soulrift play` plays",
}
"""What other files of ours begin with, and what to do with them."""

_NEWLINE = 10

LONGEST_REASON = 500
"""Characters; what a decoder says may hold what it decoded."""

MOST_DAMAGES = 100
"""So many places of a file are told that are damaged beside its matches."""

LONGEST_LINE = 1 << 26
"""Bytes; no entry comes near it."""


class DamageError(Exception):
    """A file is not as it was written, from here on: `line` counts from 1, `byte` of the uncompressed file from 0."""

    def __init__(self, line: int, byte: int, reason: str) -> None:
        super().__init__(line, byte, reason)
        self.line = line
        self.byte = byte
        self.reason = reason if len(reason) <= LONGEST_REASON else reason[:LONGEST_REASON] + "…"

    def __str__(self) -> str:
        return f"line {self.line}, byte {self.byte}: {self.reason}"


class Found(Struct, gc=False):
    """A line as it stands in a file, without its newline, and what kind of line it seems to be."""

    number: int
    byte: int
    content: bytes
    kind: type[Line] | None

    def damage(self, reason: str, at: int = 0) -> DamageError:
        """That it is not as it was written, from its byte `at` on."""
        return DamageError(self.number, self.byte + at, reason)


class Recording:
    """A match of a file, whose entries can be read once, in order, before the next match is asked for."""

    def __init__(self, reader: "Reader", header: Found, match: str, version: int) -> None:
        self.header = header
        self.match = match
        self.version = version
        """That of the format."""
        self.end: tuple[End, Found] | None = None
        """Its last line, once all entries are read."""
        self.openings: tuple[Openings, Found] | None = None
        """What its commitments stand for and the line that says so, likewise, if there is one; still to be proven."""
        self._reader = reader
        self._entries = 0

    def lines(self) -> Iterator[Found]:
        """The lines of the entries, which are still to be decoded; then `end` is there.

        Raises:
            DamageError: a line is none of an entry, and not the end of this match.

        """
        next_of_match = self._reader.next_of_match
        while found := next_of_match():
            if found.kind is EntryLine and self.openings is None:
                self._entries += 1
                yield found
                continue
            line = decoded(found)
            if isinstance(line, End):
                self._check_end(line, found)
                self.end = line, found
                return
            if self.openings is not None:
                raise found.damage("only the end of the match can follow its openings")
            if not isinstance(line, Openings):
                raise found.damage("this line cannot stand in a match")
            self.openings = line, found
        raise self._reader.here(f"the file is cut off: the match has no end after entry {self._entries}")

    def entries(self) -> Iterator[tuple[Found, EntryLine]]:
        """The entries, decoded, each with its line.

        Raises:
            DamageError: the next line is not what must follow.

        """
        for number, found in enumerate(self.lines(), 1):
            yield found, entry_line(found, number)

    def see_openings(self, hidden: Collection[str]) -> None:
        """See that each opening proves itself, and is of a commitment that stands in the match, which are `hidden`.

        Raises:
            DamageError: one is another.

        """
        if self.openings is None:
            return
        line, found = self.openings
        last = ""
        for opening in line.openings:
            at = found.content.find(opening.commitment.encode())
            if opening.commitment <= last:
                raise found.damage("the openings are not sorted by commitment, each once", at)
            if not opening.holds():
                raise found.damage(f"the salt and the value are not those of {opening.commitment}", at)
            if opening.commitment not in hidden:
                raise found.damage(f"{opening.commitment} stands nowhere in the match", at)
            last = opening.commitment

    def _check_end(self, end: End, found: Found) -> None:
        if not lines.is_sealed(self.header.content, end):
            raise found.damage(
                "the header or the end of the match is not as it was written: the checksum is another one"
            )
        if end.entries != self._entries:
            raise found.damage(f"the match has {self._entries} entries, and not {end.entries} as its end says")


def decoded(found: Found) -> Line:
    """What a line says.

    Raises:
        DamageError: it is not a line as it must be written.

    """
    try:
        found.content.decode()
        return lines.decode(found.content)
    except UnicodeDecodeError as error:
        raise found.damage("not UTF-8", error.start) from None
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        place = re.search(r"\(byte (\d+)\)", str(error))
        raise found.damage(str(error), int(place[1]) if place else 0) from None


def entry_line(found: Found, number: int) -> EntryLine:
    """The entry of a line, which must have this number.

    Raises:
        DamageError: it has not, or the line is not as it must be written.

    """
    line = decoded(found)
    if not isinstance(line, EntryLine):
        raise found.damage("this is not the line of an entry")
    if line.entry != number:
        raise found.damage(f"entry {line.entry} stands where entry {number} must be")
    return line


class Reader:
    """Reads the matches of a file."""

    def __init__(self, file: BinaryIO) -> None:
        self.damages: list[DamageError] = []
        """What is wrong with the file beside its matches; complete once all recordings are read."""
        self.archive = False
        """Whether the file is an archive, once the first recording is there."""
        self.newer: int | None = None
        """The format of an archive, if it is not known; then nothing is read of it."""
        self._file = file
        self._matches: Iterator[Recording] = iter(())
        self._next: Found | None = None
        self._number, self._byte = 0, 0
        self._cut: DamageError | None = None
        self._cut_told = False
        self._advance()

    def recordings(self) -> Iterator[Recording]:
        """The matches of the file, those behind a damaged one among them. The entries of each are read meanwhile."""
        self._matches = self._recordings()
        return self._matches

    def finish(self) -> None:
        """Read what is left, so that `damages` are complete."""
        for _ in self._matches:
            pass

    def _recordings(self) -> Iterator[Recording]:  # noqa: C901, PLR0912 - what may follow what, in one place
        archive = self.archive = self._archive()
        if self.newer:
            return
        if self._next is not None and not archive and self._next.kind is None:
            content = self._next.content
            known = [what for start, what in _OTHERS.items() if content.startswith(start)]
            self._tell(
                self._next.damage(f"this is no replay file: {(known or ['it begins with none of its lines'])[0]}")
            )
            return
        matches, ended = 0, False
        while self._next is not None:
            found = self._next
            kind = found.kind
            follows = ended or (matches > 0 and not archive)
            if follows:
                what = "archive" if ended else "match"
                self._tell(found.damage(f"something follows the end of the {what}"))
            self._advance()
            if kind is Header:
                matches += 1
                recording = self._recording(found)
                if recording:
                    yield recording
                if recording is None or recording.end is None:
                    self._skip_the_rest()
            elif kind is ArchiveEnd and archive:
                ended = True
                self._check_count(found, matches)
            else:
                if not follows:
                    self._tell(self._stray(found))
                self._skip_the_rest()
        if archive and not ended:
            self._tell(self.here("the file is cut off: the archive has no end"))
        elif self._cut and not self._cut_told:
            self._tell(self._cut)
        elif not matches and not self.damages:
            self._tell(self.here("there is no match in this file"))

    def _archive(self) -> bool:
        """Take in the first line, if it begins an archive."""
        found = self._next
        if found is None or found.kind is not Archive:
            return False
        self._advance()
        try:
            line = decoded(found)
        except DamageError as damage:
            self._tell(damage)
        else:
            if isinstance(line, Archive) and line.archive > lines.FORMAT:
                self.newer = line.archive
        return True

    def _recording(self, header: Found) -> Recording | None:
        """The match of a header, unless that is damaged."""
        try:
            version = msgspec.json.decode(header.content, type=_AnyHeader)
            if version.replay <= lines.FORMAT:
                decoded(header)
        except (msgspec.MsgspecError, RecursionError) as error:
            self._tell(header.damage(str(error)))
        except DamageError as damage:
            self._tell(damage)
        else:
            return Recording(self, header, version.match, version.replay)
        return None

    def _check_count(self, found: Found, matches: int) -> None:
        try:
            line = decoded(found)
        except DamageError as damage:
            self._tell(damage)
            return
        if isinstance(line, ArchiveEnd) and line.matches != matches:
            self._tell(found.damage(f"there are {matches} matches, and not {line.matches}"))

    def _stray(self, found: Found) -> DamageError:
        try:
            decoded(found)
        except DamageError as damage:
            return damage
        return found.damage("this line belongs to no match")

    # ------------------------------------------------------------ lines

    def _tell(self, damage: DamageError) -> None:
        if len(self.damages) < MOST_DAMAGES:
            self.damages.append(damage)
        elif len(self.damages) == MOST_DAMAGES:
            self.damages.append(DamageError(damage.line, damage.byte, "and more from here on"))

    def next_of_match(self) -> Found | None:
        """The next line, unless it cannot belong to the match that is being read."""
        found = self._next
        if found is not None:
            if found.kind in _OUTSIDE:
                return None
            self._advance()
        return found

    def here(self, reason: str) -> DamageError:
        """That something is missing at this place."""
        if self._next is not None:
            return self._next.damage(reason)
        self._cut_told = True
        return self._cut or DamageError(self._number + 1, self._byte, reason)

    def _skip_the_rest(self) -> None:
        """Pass over what is left of a match."""
        while self.next_of_match():
            pass

    def _advance(self) -> None:
        self._next = None
        try:
            content = self._file.readline(LONGEST_LINE)
        except DamagedFileError as error:
            self._cut = DamageError(self._number + 1, self._byte, str(error))
            return
        if not content:
            return
        number, byte = self._number + 1, self._byte
        found = Found(number, byte, content[:-1], lines.kind_of(content))
        if content[-1] != _NEWLINE:
            cut = "the line is too long" if len(content) >= LONGEST_LINE else "the file is cut off in this line"
            self._cut = found.damage(cut, len(content))
            return
        self._number, self._byte, self._next = number, byte + len(content), found


class _AnyHeader(Struct):
    """As much of a header as every version of the format has."""

    match: Name
    replay: lines.Count
