"""The keys that somebody trusts, and those with which they sign: a folder with two small files a key.

    games.example%2Feu+5a1b3c7d.json        the key that verifies, and from when to when it signs
    games.example%2Feu+5a1b3c7d.secret      the key that signs, for the owner's eyes alone

A key that is retired goes on verifying what it signed before; its secret is deleted.
"""

import os
import stat
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct

from replays.notes import NoteError, SignerKey, VerifierKey, signer_key, verifier_key

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""The rights of everybody but the owner."""


LONGEST_NAME = 200
"""Bytes of a key's name as a part of a file's."""


class KeyringError(Exception):
    """A folder of keys that does not hold what is needed; the message says what to do."""


class _KeyFile(Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    since: str | None = None
    until: str | None = None


class KnownKey(Struct, frozen=True):
    """A key that is trusted for what it signed from `since` to `until`, RFC 3339 times; null: no such limit.

    `signs`: its secret half is there too.
    """

    verifier: VerifierKey
    since: str | None = None
    until: str | None = None
    signs: bool = False

    @property
    def label(self) -> str:
        """Its name and ID."""
        return f"{self.verifier.name}+{self.verifier.key_id.hex()}"

    def outside(self, at: str | None) -> str | None:
        """Why it cannot have signed at a time; null if it can, or if no time is told."""
        if at is None:
            return None
        try:
            when = datetime.fromisoformat(at.upper())
            if self.since is not None and when < datetime.fromisoformat(self.since):
                return f"{self.label} was made at {self.since}, after that"
            if self.until is not None and when > datetime.fromisoformat(self.until):
                return f"{self.label} was retired at {self.until}, before that"
        except (ValueError, TypeError):
            return f"{at!r} is no time"
        return None


class Keyring:
    """The keys of a folder, which need not be there before the first key is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keys(self) -> list[KnownKey]:
        """All keys, by name; of one name the oldest first, and of one moment those that were retired first.

        Raises:
            KeyringError: a file is not what this program wrote.
            OSError: the folder cannot be read.

        """
        found = [self._known(path) for path in sorted(self.folder.glob("*.json"))]
        return sorted(
            found, key=lambda key: (key.verifier.name, key.since or "", key.until is None, key.until or "", key.label)
        )

    def _known(self, path: Path) -> KnownKey:
        try:
            file = msgspec.json.decode(path.read_bytes(), type=_KeyFile)
            verifier = verifier_key(file.key)
        except (msgspec.MsgspecError, NoteError, UnicodeDecodeError) as error:
            message = f"{path} is no file of a key: {error}"
            raise KeyringError(message) from None
        known = KnownKey(verifier, file.since, file.until, self._file(verifier, "secret").exists())
        if known.outside(known.since) or known.outside(known.until) or self._file(verifier, "json") != path:
            message = f"{path} is no file of a key: its name or its times do not fit"
            raise KeyringError(message)
        return known

    def _file(self, key: VerifierKey, ending: str) -> Path:
        return self.folder / f"{quote(key.name, safe='')}+{key.key_id.hex()}.{ending}"

    def new(self, name: str, now: str) -> KnownKey:
        """A new key of this name, which signs from now on.

        Raises:
            KeyringError: there is one of this name that signs; or none can have it.
            OSError: the files cannot be written.

        """
        if any(key.signs and key.until is None and key.verifier.name == name for key in self.keys()):
            message = f"there is a key {name} that signs already; retire it first, or choose another name"
            raise KeyringError(message)
        try:
            key = SignerKey.generate(name)
        except NoteError as error:
            raise KeyringError(str(error)) from None
        _see_short(name)
        self._write(self._file(key.verifier, "secret"), f"{key}\n".encode())
        return self._keep(KnownKey(key.verifier, now, None, signs=True))

    def add(self, text: str) -> KnownKey:
        """Trust somebody else's key, by its text `NAME+ID+BASE64`. One that is known stays as it is.

        Raises:
            KeyringError: it is no key.
            OSError: the file cannot be written.

        """
        try:
            verifier = verifier_key(text.strip())
        except NoteError as error:
            raise KeyringError(str(error)) from None
        _see_short(verifier.name)
        there = next((key for key in self.keys() if key.label == KnownKey(verifier).label), None)
        if there and there.verifier != verifier:
            message = f"another key has the name and the ID of {there.label}: do not trust whoever gave you this one"
            raise KeyringError(message)
        return there or self._keep(KnownKey(verifier))

    def retire(self, name: str, now: str) -> KnownKey:
        """Let a key, by its name or `NAME+ID`, sign no more: its secret is deleted.

        Raises:
            KeyringError: there is no such key, or it is retired.
            OSError: the files cannot be written.

        """
        key = self._one([key for key in self.keys() if key.until is None], name)
        until = max(now, key.since or now, key=datetime.fromisoformat)  # clocks may go back
        kept = self._keep(msgspec.structs.replace(key, until=until, signs=False))
        self._file(key.verifier, "secret").unlink(missing_ok=True)
        return kept

    def signer(self, name: str | None = None) -> SignerKey:
        """The key that signs: the one of this name, or `NAME+ID`; else the only one.

        Raises:
            KeyringError: there is none, or more than one; or others can read its secret.

        """
        signing = [key for key in self.keys() if key.signs and key.until is None]
        if name is None and not signing:
            message = f"there is no key in {self.folder} that could sign; soulrift keys new NAME makes one"
            raise KeyringError(message)
        key = self._one(signing, name)
        path = self._file(key.verifier, "secret")
        if path.stat().st_mode & _OTHERS:
            message = f"others have rights on {path}, which is secret: chmod 600 it, or retire the key"
            raise KeyringError(message)
        try:
            secret = signer_key(path.read_text("utf-8").strip())
        except (NoteError, UnicodeDecodeError) as error:
            message = f"{path} is no file of a secret key: {error}"
            raise KeyringError(message) from None
        if secret.verifier != key.verifier:
            message = f"{path} is the secret of another key"
            raise KeyringError(message)
        return secret

    def _one(self, keys: Sequence[KnownKey], name: str | None) -> KnownKey:
        fitting = [key for key in keys if name in {None, key.verifier.name, key.label}]
        if len(fitting) == 1:
            return fitting[0]
        labels = ", ".join(key.label for key in fitting or keys) or "none"
        what = "several keys sign; say which with --key" if fitting else f"there is no active key {name}; there are"
        message = f"{what}: {labels}"
        raise KeyringError(message)

    def _keep(self, key: KnownKey) -> KnownKey:
        file = _KeyFile(str(key.verifier), key.since, key.until)
        self._write(self._file(key.verifier, "json"), msgspec.json.encode(file) + b"\n")
        return key

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file for the owner alone, whole or not at all."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".", delete=False) as file:  # for the owner alone
            beside = Path(file.name)
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                beside.replace(path)
            except BaseException:
                beside.unlink(missing_ok=True)
                raise


def _see_short(name: str) -> None:
    if len(quote(name, safe="")) > LONGEST_NAME:
        message = (
            f"the name of a key is too long for a file: {LONGEST_NAME} bytes at most, with three for each / and accent"
        )
        raise KeyringError(message)
