"""Proof files: that an entry is in a record, and that a record extends an older one, for whoever has neither.

A proof of inclusion is a `.tlog-proof` file (C2SP tlog-proof.md), with the line of the entry for its extra data:

    c2sp.org/tlog-proof@v1          A proof of consistency has the form in which
    extra eyJjb21tYW5kIjp7…         witnesses are asked (C2SP tlog-witness.md):
    index 41
    gSKyXoYZ…                       old 40
    B95lDa8R…                       gSKyXoYZ…

    (the checkpoint)                (the newer checkpoint)
"""

import re
from base64 import b64encode
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from replays.checkpoints import Checkpoint, parse_checkpoint
from replays.lines import EntryLine, decode
from replays.merkle import extends, includes, leaf_hash
from replays.notes import Note, NoteError, base64_bytes

FIRST_LINE = b"c2sp.org/tlog-proof@v1\n"
"""How a proof of inclusion begins."""

_NUMBER = r"(0|[1-9][0-9]{0,17})"
_INCLUSION = re.escape(FIRST_LINE.decode()) + r"extra (\S+)\nindex " + _NUMBER + r"\n"

_HASHES = r"((?:[A-Za-z0-9+/=]+\n){0,130})\n"
"""A proof has two hashes at most for each bit of the size."""


class InclusionProof(Struct, frozen=True):
    """That `line` is that of entry `index` + 1, in the record that the checkpoint, signed in `note`, is about."""

    line: bytes
    index: int
    hashes: tuple[bytes, ...]
    checkpoint: Checkpoint
    note: Note

    def holds(self) -> bool:
        """Whether the hashes lead from the line to the root; not whether anybody signed that."""
        of = self.checkpoint
        return includes(of.root, of.size, self.index, leaf_hash(self.line), self.hashes)


class ConsistencyProof(Struct, frozen=True):
    """That the record of the checkpoint, signed in `note`, begins with the first `old` entries as they were."""

    old: int
    hashes: tuple[bytes, ...]
    checkpoint: Checkpoint
    note: Note

    def extends(self, older: Checkpoint) -> bool:
        """Whether the hashes lead from both roots to the same entries."""
        newer = self.checkpoint
        return self.old == older.size and extends(older.root, older.size, newer.root, newer.size, self.hashes)


def inclusion_file(line: bytes, index: int, hashes: Iterable[bytes], note: bytes) -> bytes:
    """A `.tlog-proof` file; `note` is the signed checkpoint, byte for byte."""
    return b"%bextra %b\nindex %d\n%b\n%b" % (FIRST_LINE, b64encode(line), index, _written(hashes), note)


def consistency_file(old: int, hashes: Iterable[bytes], note: bytes) -> bytes:
    """A file that proves that the checkpoint in `note` extends one over `old` entries."""
    return b"old %d\n%b\n%b" % (old, _written(hashes), note)


def _written(hashes: Iterable[bytes]) -> bytes:
    return b"".join(b64encode(each) + b"\n" for each in hashes)


def parse_inclusion(content: bytes) -> InclusionProof:
    """The proof in a `.tlog-proof` file.

    Raises:
        NoteError: it is none, or without the line of an entry.

    """
    head, hashes, checkpoint, note = _parts(content, _INCLUSION)
    line, index = base64_bytes(head[1]), int(head[2])
    if entry_number(line) != index + 1:
        message = f"its line is not that of entry {index + 1}"
        raise NoteError(message)
    return InclusionProof(line, index, hashes, checkpoint, note)


def parse_consistency(content: bytes) -> ConsistencyProof:
    """The proof in a file of `consistency_file`.

    Raises:
        NoteError: it is none.

    """
    head, hashes, checkpoint, note = _parts(content, r"old " + _NUMBER + r"\n")
    return ConsistencyProof(int(head[1]), hashes, checkpoint, note)


def _parts(content: bytes, head: str) -> tuple[re.Match[str], tuple[bytes, ...], Checkpoint, Note]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        message = "it is not UTF-8"
        raise NoteError(message) from None
    found = re.match(head + _HASHES, text)
    if not found:
        message = "it is no proof"
        raise NoteError(message)
    hashes = tuple([base64_bytes(line) for line in found[found.re.groups].split()])
    return found, hashes, *parse_checkpoint(content[len(found[0].encode()) :])


def entry_number(line: bytes) -> int | None:
    """The number of the entry with this line; null if it is none's."""
    try:
        decoded = decode(line)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None
    return decoded.entry if isinstance(decoded, EntryLine) else None
