"""`soulrift keys`, and which keys a command trusts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from replays.evidence import Trust
from replays.keyring import Keyring, KeyringError, KnownKey
from replays.notes import NoteError, SignerKey, verifier_key
from soulrift.board import table
from soulrift.terminal import Output


def now() -> str:
    """The time, as RFC 3339 has it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def _keyring(folder: Path) -> Iterator[Keyring]:
    """The keys of a folder; what is wrong with them is a usage error."""
    try:
        yield Keyring(folder)
    except KeyringError as error:
        raise click.UsageError(str(error)) from None


def new(name: str, folder: Path) -> None:
    """Make a key, and tell what others need to trust it."""
    with _keyring(folder) as keyring:
        key = keyring.new(name, now())
    _tell(f"{key.label} signs from now on; whoever is to trust it needs this:", str(key.verifier))


def add(text: str, folder: Path) -> None:
    """Trust somebody else's key."""
    with _keyring(folder) as keyring:
        key = keyring.add(text)
    retired = f", for what it signed until {key.until}" if key.until else ""
    _tell(f"{key.label} is trusted{retired}")


def retire(name: str, folder: Path) -> None:
    """Let a key sign no more."""
    with _keyring(folder) as keyring:
        key = keyring.retire(name, now())
    _tell(f"{key.label} is retired: what it signed until {key.until} stays valid")


def _tell(*lines: str) -> None:
    output = Output()
    for line in lines:
        output.line(line)
    output.end()


def listed(folder: Path, form: str) -> None:
    """Tell which keys there are."""
    with _keyring(folder) as keyring:
        keys = keyring.keys()
    output = Output()
    if form == "json":
        output.data([_data(key) for key in keys])
    elif not keys:
        output.line(f"there are no keys in {folder}; soulrift keys new NAME makes one")
    else:
        rows = ((key.label, _use(key), key.since or "", key.until or "", str(key.verifier)) for key in keys)
        for line in table(rows, ("key", "", "since", "until", "by which others trust it")):
            output.line(line)
    output.end()


def _data(key: KnownKey) -> dict[str, Any]:
    verifier = key.verifier
    return {
        "name": verifier.name,
        "id": verifier.key_id.hex(),
        "key": str(verifier),
        "use": _use(key),
        "since": key.since,
        "until": key.until,
    }


def _use(key: KnownKey) -> str:
    if key.until is not None:
        return "retired"
    return "signs" if key.signs else "trusted"


def signer(folder: Path, name: str | None) -> SignerKey:
    """The key of a folder that signs: the one of this name, or else the only one.

    Raises:
        click.UsageError: there is none, or it is not clear which.

    """
    with _keyring(folder) as keyring:
        return keyring.signer(name)


def trust(texts: Sequence[str], folder: Path) -> Trust:
    """These keys; or, if there are none, those of the folder.

    Raises:
        click.UsageError: one is no key.

    """
    if not texts:
        with _keyring(folder) as keyring:
            return Trust(tuple(keyring.keys()))
    try:
        return Trust(tuple([KnownKey(verifier_key(text.strip())) for text in texts]))
    except NoteError as error:
        raise click.BadParameter(str(error), param_hint="--key") from None
