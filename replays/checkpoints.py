"""Checkpoints: what a match's record was at some moment, signed (C2SP tlog-checkpoint.md).

    soulrift/9f2b6c01d4e83a57/long-duel     the origin: which match of which store
    89                                      the size: how many entries it had
    t4b2…=                                  the root of the Merkle tree over their lines
    at 2026-11-30T18:04:11Z                 when it was signed, as the signer says

    — games.example/eu uJ4lO8…

Whoever holds one can later tell whether a record still begins with those entries.
"""

import re
from base64 import b64encode
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from replays.merkle import HASH_SIZE
from replays.notes import Note, NoteError, SignerKey, base64_bytes, parse_note

_ORIGIN = re.compile(r"soulrift/([0-9a-f]{16})/([^/]+)")
_SIZE = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_AT = "at "


class Checkpoint(Struct, frozen=True):
    """The size of a record, 0 or more entries, and the root over their lines; `origin` says of which match it is.

    `at` is the time of signing in RFC 3339, where the signer told one; `more` are lines that mean nothing here.
    """

    origin: str
    size: int
    root: bytes
    at: str | None = None
    more: tuple[str, ...] = ()

    @property
    def match(self) -> str | None:
        """The match, where the origin is one that this program writes."""
        return _split_origin(self.origin)[1]

    @property
    def store(self) -> str | None:
        """The store, likewise."""
        return _split_origin(self.origin)[0]

    def text(self) -> bytes:
        """The text that is signed."""
        at = [_AT + self.at] if self.at is not None else []
        lines = [self.origin, str(self.size), b64encode(self.root).decode(), *at, *self.more]
        return "".join(line + "\n" for line in lines).encode()

    def signed(self, key: SignerKey) -> bytes:
        """The signed note of it."""
        return key.sign(self.text())


def origin_of(store: str, match: str) -> str:
    """The origin of a match of this name in the store with this identity (16 hexadecimal digits)."""
    return f"soulrift/{store}/{quote(match, safe='')}"


def _split_origin(origin: str) -> tuple[str | None, str | None]:
    found = _ORIGIN.fullmatch(origin)
    if not found:
        return None, None
    try:
        match = unquote_to_bytes(found[2]).decode()
    except UnicodeDecodeError:
        return None, None
    return (found[1], match) if origin_of(found[1], match) == origin else (None, None)


def parse_checkpoint(content: bytes) -> tuple[Checkpoint, Note]:
    """The checkpoint that a signed note says, whoever signed it.

    Raises:
        NoteError: the bytes are no signed note, or its text is no checkpoint.

    """
    note = parse_note(content)
    origin, size, root, more = _lines(note.text.decode())
    at = more[0].removeprefix(_AT) if more and more[0].startswith(_AT) else None
    checkpoint = Checkpoint(origin, size, root, at, tuple(more if at is None else more[1:]))
    return checkpoint, note


def _lines(text: str) -> tuple[str, int, bytes, list[str]]:
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 3 or not all(lines):  # noqa: PLR2004 - origin, size, root
        message = "its text is no checkpoint: origin, size and root, a line each"
        raise NoteError(message)
    origin, size, root, *more = lines
    if not _SIZE.fullmatch(size):
        message = f"{size[:100]!r} is no size"
        raise NoteError(message)
    hashed = base64_bytes(root)
    if len(hashed) != HASH_SIZE:
        message = "its root is no SHA-256"
        raise NoteError(message)
    return origin, int(size), hashed, more
