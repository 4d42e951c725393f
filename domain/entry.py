"""The entry: one accepted command with its events, and its line.

The line of an entry is its JSON as it stands in a record, without the newline: `command`, `entry`, `events`,
`state_hash`, with sorted keys, as RFC 8785 has it. It is what gets hashed, and it is composed of bytes that are never
encoded again.
"""

from hashlib import sha256

import msgspec
from msgspec import Struct

from domain.rules.commands import AnyCommand, Command
from domain.rules.events import AnyEvent
from domain.rules.state import State, state_hash
from domain.rules.versions import rules_of

_encode = msgspec.json.Encoder(order="sorted").encode


class Entry(Struct, frozen=True, gc=False):
    """An entry as it is recorded: what happened, and the bytes that say so."""

    number: int
    events: tuple[AnyEvent, ...]
    command_json: bytes
    event_jsons: tuple[bytes, ...]
    state_hash: str
    line_hash: str
    """The SHA-256 of the line, in hexadecimal."""
    line: bytes


def play(state: State, command: AnyCommand) -> Entry:
    """Judge a command by the rules of its match, change `state` by its events, and return the entry that they make.

    Raises:
        Refusal: the command is refused; the state is as it was.
        UnknownRulesError: the match is played by rules of a version that this program does not know.

    """
    events, command_json, event_jsons, state_hash_after, line = played(state, command)
    return Entry(state.entries, events, command_json, event_jsons, state_hash_after, sha256(line).hexdigest(), line)


def played(state: State, command: AnyCommand) -> tuple[tuple[AnyEvent, ...], bytes, tuple[bytes, ...], str, bytes]:
    """What `play` makes an entry of: the events, the command's JSON, the events' JSON, the state hash, the line.

    Raises:
        Refusal, UnknownRulesError: as `play`.

    """
    rules = rules_of(state.rules)
    events = rules.decide(state, command)
    rules.fold(events, state)
    command_json = _encode(command)
    event_jsons = tuple([_encode(event) for event in events])
    state_hash_after = state_hash(state)
    line = line_of(state.entries, command_json, event_jsons, state_hash_after)
    return events, command_json, event_jsons, state_hash_after, line


def line_of(number: int, command_json: bytes, event_jsons: tuple[bytes, ...], state_hash_after: str) -> bytes:
    """The line of an entry, composed of the bytes of its parts."""
    return b'{"command":%b,"entry":%d,"events":[%b],"state_hash":"%b"}' % (
        command_json,
        number,
        b",".join(event_jsons),
        state_hash_after.encode(),
    )


def content(command: Command) -> bytes:
    """What a command says, without its `meta`: two commands with the same content are the same command."""
    return _encode(msgspec.structs.replace(command, meta=None))
