"""Private matches: commitments in the place of names, and the openings that say whose they are.

Lives here: how a commitment is made and proven, and where names and actors stand in commands. Must not know: where
salts come from (they are arguments), nor where openings are kept.
"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from domain.rules.commands import AnyCommand, NewPlayer, StartMatch, Text

SALT_BYTES = 16
"""The length of a salt: too many to try them all."""

Commitment = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$", min_length=71, max_length=71)]
Salt = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", min_length=32, max_length=32)]


class Opening(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a commitment stands for: the value, 1 to 500 characters, and the salt, 32 hexadecimal digits."""

    commitment: Commitment
    salt: Salt
    value: Text

    def holds(self) -> bool:
        """Whether this salt and this value make this commitment."""
        try:
            return commitment(bytes.fromhex(self.salt), self.value) == self.commitment
        except (AttributeError, TypeError, ValueError):  # no salt, or no text, as only a store can hold them
            return False


def commitment(salt: bytes, value: str) -> str:
    """What stands for a value: "sha256:" and the SHA-256, in hexadecimal, of the 16 bytes of the salt and its UTF-8.

    Raises:
        ValueError: the salt has another length.

    """
    if len(salt) != SALT_BYTES:
        message = f"a salt has {SALT_BYTES} bytes, not {len(salt)}"
        raise ValueError(message)
    return f"sha256:{sha256(salt + value.encode()).hexdigest()}"


def opening(salt: bytes, value: str) -> Opening:
    """The opening of the commitment of a value with this salt, 16 bytes.

    Raises:
        ValueError: the salt has another length.

    """
    return Opening(commitment(salt, value), salt.hex(), value)


def replaced(command: AnyCommand, by: Callable[[str], str]) -> AnyCommand:
    """A command with other texts `by` this function for the names of its players, if it has any, and for its actor."""
    if isinstance(command, StartMatch):
        players = tuple([_renamed(player, by) for player in command.players])
        command = msgspec.structs.replace(command, players=players)
    meta = command.meta
    if meta is not None and meta.actor is not None:
        command = msgspec.structs.replace(command, meta=msgspec.structs.replace(meta, actor=by(meta.actor)))
    return command


def _renamed(player: NewPlayer, by: Callable[[str], str]) -> NewPlayer:
    return player if player.name is None else msgspec.structs.replace(player, name=by(player.name))


def opened(command: AnyCommand, openings: Iterable[Opening]) -> AnyCommand:
    """A recorded command with the values of its commitments, as far as there are openings of them."""
    values = {opening.commitment: opening.value for opening in openings}
    return replaced(command, lambda text: values.get(text, text))


class _Actor(Struct, frozen=True, gc=False):
    actor: str | None = None


class _Named(Struct, frozen=True, gc=False):
    name: str | None = None


class _Hidden(Struct, frozen=True, gc=False):
    meta: _Actor | None = None
    players: tuple[_Named, ...] = ()


_hidden = msgspec.json.Decoder(_Hidden).decode


def hidden_in(command_json: bytes) -> set[str]:
    """The texts that stand in a recorded command where a private match has commitments: its names and its actor."""
    try:
        command = _hidden(command_json)
    except msgspec.MsgspecError:  # no command that was ever taken
        return set()
    texts = {player.name for player in command.players} | {command.meta and command.meta.actor}
    return {text for text in texts if isinstance(text, str)}
