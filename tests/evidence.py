"""Keys, signed checkpoints and proofs, put together by the published formats alone, with no chance and no clock."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from replays.evidence import Evidence, Held, Trust
from replays.keyring import KnownKey
from replays.notes import VerifierKey
from tests.recordings import root_of

STORE = "9f2b6c01d4e83a57"

ANOTHER_STORE = "0123456789abcdef"

AT = "2026-11-30T18:04:11Z"


class Signer(NamedTuple):
    """Somebody who signs notes: a name, and 32 secret bytes."""

    name: str
    secret: bytes

    @property
    def private(self) -> Ed25519PrivateKey:
        """The key that signs."""
        return Ed25519PrivateKey.from_private_bytes(self.secret)

    @property
    def public(self) -> bytes:
        """The 32 bytes that verify."""
        return self.private.public_key().public_bytes_raw()

    @property
    def key_id(self) -> bytes:
        """As signed-note has it: from the name, a line feed, the type 01 and the public bytes."""
        return sha256(self.name.encode() + b"\n\x01" + self.public).digest()[:4]

    @property
    def label(self) -> str:
        """Its name and ID."""
        return f"{self.name}+{self.key_id.hex()}"

    @property
    def text(self) -> str:
        """By what others trust it."""
        return f"{self.label}+" + b64encode(b"\x01" + self.public).decode()

    @property
    def verifier(self) -> VerifierKey:
        """The key that verifies."""
        return VerifierKey(self.name, self.public)

    def line(self, text: bytes) -> bytes:
        """The line of its signature under a text."""
        return self.line_of(self.private.sign(text))

    def line_of(self, signature: bytes) -> bytes:
        """The line of what is said to be its signature."""
        return b"\xe2\x80\x94 %b %b\n" % (self.name.encode(), b64encode(self.key_id + signature))


SERVER = Signer("games.example/eu", bytes(range(32)))
"""The server whose key is pinned."""

ANOTHER = Signer("games.example/us", bytes(range(1, 33)))
"""Another server."""

CHEATER = Signer("cheater.example", b"\x66" * 32)

IMPOSTOR = Signer(SERVER.name, b"\x77" * 32)
"""A key of the cheater's own, with the server's name."""


def note(text: bytes, *signers: Signer) -> bytes:
    """A note that these signed."""
    return text + b"\n" + b"".join(signer.line(text) for signer in signers)


def text_of(
    entries: Sequence[bytes], match: str = "duel", *, store: str = STORE, at: str | None = AT, more: str = ""
) -> bytes:
    """The text of a checkpoint as of these lines, which are all that there were."""
    told = f"at {at}\n" if at is not None else ""
    root = b64encode(root_of(entries)).decode()
    return f"soulrift/{store}/{quote(match, safe='')}\n{len(entries)}\n{root}\n{told}{more}".encode()


def signed(
    entries: Sequence[bytes], match: str = "duel", *, by: Signer = SERVER, store: str = STORE, at: str | None = AT
) -> bytes:
    """The checkpoint as of these lines, signed."""
    return note(text_of(entries, match, store=store, at=at), by)


def pinned(*signers: Signer) -> Trust:
    """Trust in these keys, at all times."""
    return Trust(tuple([KnownKey(signer.verifier) for signer in signers]))


def evidence(*notes: bytes, trust: Trust | None = None) -> Evidence:
    """These notes, called `note-1` and so on; the server's key is pinned, unless told otherwise."""
    held = [Held(f"note-{number}", content) for number, content in enumerate(notes, 1)]
    return Evidence(held, pinned(SERVER) if trust is None else trust)
