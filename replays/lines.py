"""The lines of a replay file, one struct a kind, and how each is written (docs/replay-format.md).

    {"archive":1}                                                           the beginning of an archive of matches
    {"match":"long-duel","replay":1}                                        the header of a match
    {"command":{…},"entry":1,"events":[…],"state_hash":"…"}                 an entry, as it is hashed
    {"openings":[{"commitment":"sha256:…","salt":"…","value":"…"}]}         whose names a private match hides, or not
    {"checksum":"…","entries":89,"root":"…","status":"ended","writer":"…"}  the end of the match
    {"matches":2}                                                           the end of an archive

All are canonical JSON (RFC 8785): there is one way to write each, so that any other byte shows.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from domain.entry import line_of
from domain.privacy import Opening
from domain.rules.commands import Name

FORMAT = 1
"""The version of the format that this program writes."""

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]

Count = Annotated[int, Meta(ge=1)]

Status = Literal["running", "ended"]


class Header(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The first line of a match: its name, and the version of the format."""

    match: Name
    replay: Count


class EntryLine(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An entry: the command and its events as bytes, which are decoded when they are needed."""

    command: Raw
    entry: Count
    events: list[Raw]
    state_hash: Sha256

    def as_written(self) -> bytes:
        """The line that these parts make."""
        events = tuple(bytes(event) for event in self.events)
        return line_of(self.entry, bytes(self.command), events, self.state_hash)


class Openings(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What the commitments of a private match stand for, sorted by commitment, each once.

    It is no leaf of the Merkle tree, and no checksum is over it: each opening proves itself.
    """

    openings: Annotated[list[Opening], Meta(min_length=1)]


class End(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The last line of a match: how many entries it has, the root of the Merkle tree over their lines, how it stood,
    and what wrote the file. The checksum is over the header and this line.
    """

    checksum: Sha256
    entries: Count
    root: Sha256
    status: Status
    writer: Annotated[str, Meta(min_length=1, max_length=100)]


class Archive(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The first line of an archive, a file for any number of matches: the version of the format."""

    archive: Count


class ArchiveEnd(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The last line of an archive: how many matches there are."""

    matches: Count


Line = Archive | Header | EntryLine | Openings | End | ArchiveEnd

encode = msgspec.json.Encoder(order="sorted").encode
"""The bytes of a line, without its newline."""

_FIRST_KEYS: dict[bytes, type[Line]] = {
    b'{"command":': EntryLine,
    b'{"match":': Header,
    b'{"openings":': Openings,
    b'{"checksum":': End,
    b'{"archive":': Archive,
    b'{"matches":': ArchiveEnd,
}
_DECODERS = {key: msgspec.json.Decoder(kind).decode for key, kind in _FIRST_KEYS.items()}


def kind_of(line: bytes) -> type[Line] | None:
    """What kind of line this is, by its first key."""
    if line.startswith(b'{"command":'):  # nearly all of them
        return EntryLine
    return _FIRST_KEYS.get(line[: line.find(b":") + 1])


def decode(line: bytes) -> Line:
    """A line that is written as it should be.

    Raises:
        ValueError: it is none; the message says why.

    """
    decoder = _DECODERS.get(line[: line.find(b":") + 1])
    if decoder is None:
        message = "no line of a replay file begins like this"
        raise ValueError(message)
    decoded: Line = decoder(line)
    if (decoded.as_written() if isinstance(decoded, EntryLine) else encode(decoded)) != line:
        message = "not written in the canonical form"
        raise ValueError(message)
    return decoded


def header_line(match: str) -> bytes:
    """The header of a match."""
    return encode(Header(match, FORMAT))


def openings_line(openings: Iterable[Opening]) -> bytes:
    """The line of these openings, of which there is one or more."""
    by_commitment = {opening.commitment: opening for opening in openings}
    return encode(Openings([by_commitment[commitment] for commitment in sorted(by_commitment)]))


def end_line(header: bytes, entries: int, root: bytes, status: Status, writer: str) -> bytes:
    """The end of the match with this header."""
    return encode(_sealed(header, End("0" * 64, entries, root.hex(), status, writer)))


def is_sealed(header: bytes, end: End) -> bool:
    """Whether an end belongs to this header, and both are as they were written."""
    return _sealed(header, end).checksum == end.checksum


def _sealed(header: bytes, end: End) -> End:
    """The same end with the SHA-256 of the header, a newline, and the end with 64 zeros for its checksum."""
    blank = encode(msgspec.structs.replace(end, checksum="0" * 64))
    return msgspec.structs.replace(end, checksum=sha256(header + b"\n" + blank).hexdigest())


ARCHIVE = encode(Archive(FORMAT))


def matches_line(matches: int) -> bytes:
    """The end of an archive of so many matches."""
    return encode(ArchiveEnd(matches))
