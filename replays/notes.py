"""Signed notes: a text with Ed25519 signatures under it, and the keys for both (C2SP signed-note.md).

    a text of one line or more

    — games.example/eu uJ4lO8…

Lives here: how a note and its keys are written, signed and judged. Must not know: what a text says, or where keys are
kept.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

ED25519 = b"\x01"
"""The type of the only signatures that this program makes and judges; others are passed over."""

MOST_SIGNATURES = 64
"""A note with more is refused."""

LONGEST_NOTE = 1 << 20
"""Bytes."""

_SIGNATURE = re.compile(r"— ([^ ]+) ([^ ]+)")
_VERIFIER_KEY = re.compile(r"([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)")
_SIGNER_KEY = re.compile(r"PRIVATE\+KEY\+" + _VERIFIER_KEY.pattern)


class NoteError(Exception):
    """Bytes that are no signed note, or a text that is no key; the message says why."""


class VerifierKey(Struct, frozen=True):
    """Who signed: the name of a key, and the 32 bytes of its public half. As text: `NAME+ID+BASE64`."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes that tell keys of one name apart."""
        return sha256(self.name.encode() + b"\n" + ED25519 + self.public).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{b64encode(ED25519 + self.public).decode()}"

    def verifies(self, text: bytes, signature: bytes) -> bool:
        """Whether this key signed a text so."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text)
        except (InvalidSignature, ValueError):
            return False
        return True


class Signature(Struct, frozen=True):
    """A signature under a note: by which key, and its bytes."""

    name: str
    key_id: bytes
    signature: bytes

    def is_by(self, key: VerifierKey) -> bool:
        """Whether it says that it is this key's; not whether it is."""
        return (self.name, self.key_id) == (key.name, key.key_id)


class Note(Struct, frozen=True):
    """A signed note: its text, with the last newline, and the signatures, which nobody has judged yet."""

    text: bytes
    signatures: tuple[Signature, ...]

    def signed_by(self, keys: Iterable[VerifierKey]) -> list[VerifierKey]:
        """Those of these keys that signed it; none where a signature in the name of one of them is not its own."""
        found = list[VerifierKey]()
        for key in keys:
            for signature in self.signatures:
                if signature.is_by(key):
                    if not key.verifies(self.text, signature.signature):
                        return []
                    if key not in found:
                        found.append(key)
        return found


class SignerKey:
    """A key that signs. As text: `PRIVATE+KEY+NAME+ID+BASE64`, which must stay secret.

    Raises:
        NoteError: no key can have this name.

    """

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        _see_name(name)
        self._private = private
        self.verifier = VerifierKey(name, private.public_key().public_bytes_raw())

    @classmethod
    def generate(cls, name: str) -> "SignerKey":
        """A new key."""
        return cls(name, Ed25519PrivateKey.generate())

    def __str__(self) -> str:
        verifier = self.verifier
        secret = b64encode(ED25519 + self._private.private_bytes_raw()).decode()
        return f"PRIVATE+KEY+{verifier.name}+{verifier.key_id.hex()}+{secret}"

    def sign(self, text: bytes) -> bytes:
        """A signed note of a text that ends with a newline."""
        raw = self.verifier.key_id + self._private.sign(text)
        return b"%b\n\xe2\x80\x94 %b %b\n" % (text, self.verifier.name.encode(), b64encode(raw))


def _see_name(name: str) -> None:
    unfit = next((letter for letter in name if letter.isspace() or letter == "+" or ord(letter) in _CONTROLS), None)
    if not name or unfit:
        what = f"may have no {unfit!r}" if unfit else "has a letter at least"
        message = f"the name of a key {what}; name it like games.example/eu"
        raise NoteError(message)


_CONTROLS = frozenset((*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)))


def verifier_key(text: str) -> VerifierKey:
    """The key that this text stands for.

    Raises:
        NoteError: it stands for none.

    """
    name, public = _key(_VERIFIER_KEY, text, "NAME+ID+BASE64")
    key = VerifierKey(name, public)
    if str(key) != text:
        message = f"the key of {name} is not as it was written: its ID is another one"
        raise NoteError(message)
    return key


def signer_key(text: str) -> SignerKey:
    """The secret key that this text stands for.

    Raises:
        NoteError: it stands for none.

    """
    name, secret = _key(_SIGNER_KEY, text, "PRIVATE+KEY+NAME+ID+BASE64")
    key = SignerKey(name, Ed25519PrivateKey.from_private_bytes(secret))
    if str(key) != text:
        message = f"the secret key of {name} is not as it was written: its ID is another one"
        raise NoteError(message)
    return key


def _key(form: re.Pattern[str], text: str, told: str) -> tuple[str, bytes]:
    found = form.fullmatch(text)
    if not found:
        message = f"this is no key of the form {told}"
        raise NoteError(message)
    _see_name(found[1])
    raw = base64_bytes(found[3])
    if raw[:1] != ED25519 or len(raw) != 33:  # noqa: PLR2004 - the type and 32 bytes
        message = f"the key of {found[1]} is none of Ed25519"
        raise NoteError(message)
    return found[1], raw[1:]


def parse_note(content: bytes) -> Note:
    """The note that these bytes are, whoever signed it.

    Raises:
        NoteError: they are none.

    """
    if len(content) > LONGEST_NOTE:
        message = "it is longer than any note"
        raise NoteError(message)
    try:
        decoded = content.decode()
    except UnicodeDecodeError:
        message = "it is not UTF-8"
        raise NoteError(message) from None
    if any(ord(letter) < 0x20 and letter != "\n" for letter in decoded):  # noqa: PLR2004 - the space
        message = "it has control characters"
        raise NoteError(message)
    text, blank, signatures = content.rpartition(b"\n\n")
    if not blank or not signatures.endswith(b"\n"):
        message = "it has no signatures after an empty line, at its end"
        raise NoteError(message)
    lines = signatures.decode().removesuffix("\n").split("\n")
    if len(lines) > MOST_SIGNATURES:
        message = f"it has more than {MOST_SIGNATURES} signatures"
        raise NoteError(message)
    return Note(text + b"\n", tuple([_signature(line) for line in lines]))


def _signature(line: str) -> Signature:
    found = _SIGNATURE.fullmatch(line)
    if not found:
        message = "a line under its text is no signature"
        raise NoteError(message)
    _see_name(found[1])
    raw = base64_bytes(found[2])
    if len(raw) <= 4:  # noqa: PLR2004 - the key ID
        message = "a signature is too short"
        raise NoteError(message)
    return Signature(found[1], raw[:4], raw[4:])


def base64_bytes(text: str) -> bytes:
    """The bytes that a base64 text stands for, which is the only one that does.

    Raises:
        NoteError: it is none.

    """
    try:
        raw = b64decode(text, validate=True)
    except (Base64Error, ValueError):
        raw = b""
    if b64encode(raw).decode() != text:
        message = f"{text[:100]!r} is no base64"
        raise NoteError(message)
    return raw
