"""JSON Schemas of the lines of replay files, of commands and of events, for programs in other languages.

    python -m replays.schemas DIR    writes them into this folder

They are made from the structs that this program reads with. A schema says less than a reader knows: not what the match
as a whole tells, nor how the bytes of a line must stand.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from domain.rules import commands as c
from domain.rules.events import AnyEvent
from replays.lines import Archive, ArchiveEnd, Count, End, Header, Openings, Sha256

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


class _Entry(Struct, forbid_unknown_fields=True):
    """An entry: a command that was accepted, with its events and the hash of the state after it."""

    command: c.AnyCommand
    entry: Count
    events: Annotated[list[AnyEvent], Meta(min_length=1)]
    state_hash: Sha256


_FILES: dict[str, tuple[Any, str, str | None]] = {
    "archive": (Archive, "Replay file: the first line of an archive", None),
    "archive-end": (ArchiveEnd, "Replay file: the last line of an archive", None),
    "command": (c.AnyCommand, "Command", "What a game server may ask of a match: a line of a script."),
    "end": (End, "Replay file: the last line of a match", None),
    "entry": (_Entry, "Replay file: the line of an entry", None),
    "event": (AnyEvent, "Event", "A fact of a match. Fields that are not known are to be ignored."),
    "header": (Header, "Replay file: the first line of a match", None),
    "openings": (Openings, "Replay file: what the commitments of a private match stand for", None),
}
"""By the name of its file: the type, the title and, unless it is that of the struct, the description."""

_ONE = {"minProperties": 1, "maxProperties": 1}

_AS_A_WHOLE: dict[str, Schema] = {
    "Correction": _ONE,
    "Destroy": {"properties": {"cards": {"uniqueItems": True}}},
    "Fizzle": {"oneOf": [{"required": ["effect"]}, {"required": ["payment"]}]},
    "MadeCorrection": _ONE,
    "Pay": {"oneOf": [{"required": ["cost"]}, {"required": ["effect"]}]},
    "Reap": {"properties": {"souls": {"uniqueItems": True}}},
    "RiftCorrection": {"properties": {"close": {"const": True}}, **_ONE},
}
"""What no field of a struct says for itself, where a schema can say it."""

NO_CONTROLS = {"not": {"pattern": r"[\x00-\x1f\x7f-\x9f]"}}
"""The pattern of names and texts as every dialect of regular expressions has it."""


def schemas() -> dict[str, Schema]:
    """The schemas, by the names of their files without the ending."""
    return {name: _schema(*described) for name, described in _FILES.items()}


def encoded(schema: Schema) -> bytes:
    """The content of a schema's file."""
    return msgspec.json.format(msgspec.json.encode(schema, order="sorted")) + b"\n"


def _schema(kind: Any, title: str, description: str | None) -> Schema:
    (top,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for name, part in parts.items():
        _merge(part, _AS_A_WHOLE.get(name, {}))
        if kind is c.AnyCommand:
            part["additionalProperties"] = False  # in events, the same parts may have more
    if "$ref" in top:
        top = parts.pop(kind.__name__)
    made: Schema = _portable({**top, **({"$defs": parts} if parts else {})})
    return {**made, "$schema": DIALECT, "title": title, "description": description or made["description"]}


def _merge(into: Schema, more: Schema) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and key in into:
            _merge(into[key], value)
        else:
            into[key] = value


def _portable(schema: Any) -> Any:
    """A schema, or a part of one, without what only Python or only OpenAPI knows."""
    if isinstance(schema, list):
        return [_portable(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _portable(value) for key, value in schema.items() if key != "discriminator"}
    if made.get("pattern") == c.NO_CONTROLS:
        del made["pattern"]
        made |= NO_CONTROLS
    if isinstance(made.get("description"), str):
        made["description"] = " ".join(made["description"].split())
    return made


def main(arguments: Sequence[str]) -> str | None:
    """Write the files; what is wrong with the arguments."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        return "usage: python -m replays.schemas DIR, a folder that is there"
    for name, schema in schemas().items():
        (Path(arguments[0]) / f"{name}.json").write_bytes(encoded(schema))
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
