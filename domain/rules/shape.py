"""The edge: from a line of JSON to a command, strictly.

Lives here: everything that can be said of a command without looking at a match. The fast road is msgspec's; the slow
one, taken only to explain a refusal, walks the types and finds the field. On top of msgspec, which is silent about
them, come duplicate keys, the places of missing and unknown fields, and what no single field can say.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET

from domain.rules import commands as c
from domain.rules.lookups import named_twice
from domain.rules.refusal import Refusal, bad_input, pointer, printable, quoted
from domain.rules.rifts import RIFT_SUMMONING, deck_of
from domain.rules.ruleset import ChosenRuleset

MAX_LINE_BYTES = 2**20
_DEEPEST = 16
_LONGEST_INTEGER = 17

Key = str | int


def decode_command(line: bytes | str) -> c.AnyCommand:
    """The command that this JSON text holds, in its normal form: fields at their default left out.

    Raises:
        Refusal: by "input", with the path of the field.

    """
    value = _parse(line)
    try:
        command: c.AnyCommand = msgspec.convert(value, c.AnyCommand)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise _explained(value, str(error)) from None
    if type(command) in _with_shared_parts():
        for fault in _faults(value, type(command), ()):
            raise fault
    return _as_a_whole(command)


@cache
def _with_shared_parts() -> frozenset[type[c.Command]]:
    """The commands with parts in which msgspec passes over unknown fields, as events want it: our own walk refuses
    them.
    """
    return frozenset(kind for kind in _command_types().values() if "SharedPart" in _bases_within(_type_info(kind)))


def _bases_within(node: msgspec.inspect.Type) -> set[str]:
    inner: list[msgspec.inspect.Type] = []
    names = set()
    if isinstance(node, msgspec.inspect.StructType):
        names = {base.__name__ for base in node.cls.__mro__}
        inner = [field.type for field in node.fields]
    elif isinstance(node, msgspec.inspect.UnionType):
        inner = list(node.types)
    elif isinstance(node, msgspec.inspect.VarTupleType):
        inner = [node.item_type]
    return names.union(*map(_bases_within, inner))


def _as_a_whole(command: c.AnyCommand) -> c.AnyCommand:
    """A command whose fields have their types, judged as a whole and brought to its normal form."""
    if command.meta is not None:
        if command.meta.at is not None:
            _rfc3339(command.meta.at)
        if command.meta == c.CommandMeta():
            command = msgspec.structs.replace(command, meta=None)
    check = _WHOLE.get(type(command))
    return check(command) if check else command


# ------------------------------------------------------------ JSON


class _Number:
    """A number that no command may hold: with a point, an exponent, or too many digits; or NaN and its kin."""

    def __init__(self, text: str) -> None:
        self.text = text


def _integer(text: str) -> int | _Number:
    return int(text) if len(text) <= _LONGEST_INTEGER else _Number(text)


class _Object(dict[str, Any]):
    """A JSON object that remembers a key given twice."""

    twice: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    marked = _Object(value)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            marked.twice = key
            break
        seen.add(key)
    return marked


_parser = json.JSONDecoder(object_pairs_hook=_object, parse_float=_Number, parse_int=_integer, parse_constant=_Number)


def _parse(line: bytes | str) -> object:
    text = _text(line)
    try:
        value, end = _parser.raw_decode(text, len(text) - len(text.lstrip(" \t\r\n")))
    except json.JSONDecodeError as error:
        raise bad_input("", f"not JSON: {error.msg} at column {error.pos + 1}", column=error.pos + 1) from None
    except RecursionError:
        raise bad_input("", "not a command: nested too deeply") from None
    if text[end:].strip(" \t\r\n"):
        raise bad_input("", f"not JSON: something follows the object at column {end + 1}", column=end + 1)
    if not isinstance(value, dict):
        raise bad_input("", f"a command is a JSON object, not {_what(value)}")
    for path, twice in _duplicates(value, ()):
        raise bad_input(pointer(*path, twice), f"the key {quoted(twice)} is given twice in one object")
    return value


def _text(line: bytes | str) -> str:
    if isinstance(line, str):
        line = line.encode("utf-8", "surrogatepass")
    if len(line) > MAX_LINE_BYTES:
        raise bad_input("", f"the line is longer than {MAX_LINE_BYTES:,} bytes", longest=MAX_LINE_BYTES)
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise bad_input("", f"not UTF-8 at byte {error.start + 1}", byte=error.start + 1) from None


def _duplicates(value: object, path: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], str]]:
    if len(path) > _DEEPEST:  # deeper than any command: the types will refuse it
        return
    if isinstance(value, dict):
        if isinstance(value, _Object):
            yield path, value.twice
        for key, inner in value.items():
            if type(inner) in _CONTAINERS:
                yield from _duplicates(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if type(inner) in _CONTAINERS:
                yield from _duplicates(inner, (*path, index))


_CONTAINERS = {dict, list, _Object}


# ------------------------------------------------------------ explaining a refusal


def _explained(value: object, error: str) -> Refusal:
    command, fault = None, None
    if isinstance(value, dict):
        command, fault = _command_type(value)
        if command is not None:
            fault = next(_faults(value, command, ()), None)
    return fault or bad_input("", printable(error))


@cache
def _command_types() -> dict[str, type[c.Command]]:
    return {c.tag_of(kind.__name__): kind for kind in c.AnyCommand.__args__}


def _command_type(value: dict[str, Any]) -> tuple[type[c.Command] | None, Refusal | None]:
    if "type" not in value:
        return None, bad_input("/type", "the command has no type")
    kind = value["type"]
    found = _command_types().get(kind) if isinstance(kind, str) else None
    return found, None if found else bad_input("/type", f"there is no command of the type {quoted_value(kind)}")


def _faults(value: object, kind: object, path: tuple[Key, ...]) -> Iterator[Refusal]:
    """Every way in which `value` is not of this type, the first one first."""
    yield from _faults_of(value, _type_info(kind), path)


@cache
def _type_info(kind: object) -> msgspec.inspect.Type:
    return msgspec.inspect.type_info(kind)


def _faults_of(value: object, node: msgspec.inspect.Type, path: tuple[Key, ...]) -> Iterator[Refusal]:
    if isinstance(node, msgspec.inspect.UnionType):
        yield from _union_faults(value, node, path)
    elif isinstance(node, msgspec.inspect.StructType) and isinstance(value, dict):
        yield from _struct_faults(value, node, path)
    elif isinstance(node, msgspec.inspect.VarTupleType) and isinstance(value, list):
        if not (node.min_length or 0) <= len(value) <= (node.max_length or len(value)):
            yield bad_input(pointer(*path), f"must be {_wanted(node)}, not {len(value)}")
        for index, item in enumerate(value):
            yield from _faults_of(item, node.item_type, (*path, index))
    elif not _fits(value, node):
        yield bad_input(pointer(*path), f"must be {_wanted(node)}, not {quoted_value(value)}")


def _union_faults(value: object, node: msgspec.inspect.UnionType, path: tuple[Key, ...]) -> Iterator[Refusal]:
    choices = node.types
    for choice in choices:
        if isinstance(choice, msgspec.inspect.StructType) and isinstance(value, dict):
            yield from _struct_faults(value, choice, path)
            return
        if isinstance(choice, msgspec.inspect.VarTupleType) and isinstance(value, list):
            yield from _faults_of(value, choice, path)
            return
    if not any(_fits(value, choice) for choice in choices):
        wanted = " or ".join(_wanted(choice) for choice in choices)
        yield bad_input(pointer(*path), f"must be {wanted}, not {quoted_value(value)}")


def _struct_faults(value: dict[str, Any], node: msgspec.inspect.StructType, path: tuple[Key, ...]) -> Iterator[Refusal]:
    fields = {field.encode_name: field for field in node.fields}
    for key in value:
        if key not in fields and key != node.tag_field:
            known = ", ".join(fields)
            yield bad_input(pointer(*path, key), f"there is no field {quoted(key)} here, only {known}")
    for name, field in fields.items():
        if name in value:
            yield from _faults_of(value[name], field.type, (*path, name))
        elif field.required:
            yield bad_input(pointer(*path, name), f"the field {name} is missing")


def _fits(value: object, node: msgspec.inspect.Type) -> bool:
    if isinstance(node, msgspec.inspect.IntType):
        return type(value) is int and (node.ge is None or value >= node.ge) and (node.le is None or value <= node.le)
    if isinstance(node, msgspec.inspect.StrType):
        return (
            isinstance(value, str)
            and (node.min_length or 0) <= len(value) <= (node.max_length or len(value))
            and (node.pattern is None or re.search(node.pattern, value) is not None)
        )
    if isinstance(node, msgspec.inspect.LiteralType):
        return isinstance(value, str) and value in node.values
    if isinstance(node, msgspec.inspect.BoolType):
        return isinstance(value, bool)
    return isinstance(node, msgspec.inspect.NoneType) and value is None


def _wanted(node: msgspec.inspect.Type) -> str:
    match node:
        case msgspec.inspect.IntType(ge=ge, le=le):
            low = "" if ge in {None, -c.MAX_INTEGER} else f" of at least {ge}"
            high = f" up to {le}" if low and le != c.MAX_INTEGER else ""
            return f"a whole number{low}{high}" if low else "a whole number within 2^53 - 1 either way"
        case msgspec.inspect.StrType(min_length=low, max_length=high):
            return f"text of {low} to {high} characters without control characters"
        case msgspec.inspect.LiteralType(values=values):
            return " or ".join(quoted(value) for value in values)
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.NoneType():
            return "null"
        case msgspec.inspect.VarTupleType(min_length=low, max_length=high):
            return f"a list of {low or 0} " + (f"to {high}" if high else "or more")
    return "an object"


def quoted_value(value: object) -> str:
    """A decoded JSON value, quoted as the sender wrote it."""
    return value.text if isinstance(value, _Number) and len(value.text) <= _DEEPEST * 2 else _what(value)


def _what(value: object) -> str:
    if isinstance(value, _Number):
        return f"a number of {len(value.text)} characters"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return quoted(value)


# ------------------------------------------------------------- the command as a whole


_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:)(\d\d)(?:\.\d+)?(?:[Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)


def _rfc3339(at: str) -> None:
    found = _RFC3339.fullmatch(at)
    try:  # the calendar knows which days there are; a leap second is one that it does not know
        known = found is not None and datetime.fromisoformat(found[1] + found[2].replace("60", "59"))
    except ValueError:
        known = False
    if not known:
        raise bad_input("/meta/at", f"must be an RFC 3339 time with its offset, not {quoted(at)}")


def _each_once(values: Sequence[object], *path: Key, under: str | None = None) -> None:
    index = named_twice(values)
    if index is not None:
        place = pointer(*path, index, under) if under else pointer(*path, index)
        raise bad_input(place, f"{quoted(values[index])} is named twice")


def _either(command: c.Command, first: str, second: str) -> None:
    given = [name for name in (first, second) if getattr(command, name) is not UNSET]
    if not given:
        raise bad_input(pointer(first), f"either {first} or {second} is missing")
    if len(given) > 1:
        raise bad_input(pointer(second), f"there is {first} already: either {first} or {second}, not both")


def _start_match(command: c.StartMatch) -> c.StartMatch:
    _each_once([new.player for new in command.players], "players", under="player")
    if command.ruleset == ChosenRuleset():
        return msgspec.structs.replace(command, ruleset=None)
    return command


def _take_event(command: c.TakeEvent) -> c.TakeEvent:
    if command.event == RIFT_SUMMONING:
        raise bad_input("/event", "Rift Summoning is taken by open_rift, which says how it is paid")
    return command


def _enter(command: c.Enter) -> c.Enter:
    if command.kind == "other":
        if command.rank is not None:
            raise bad_input("/rank", "only a creature has a rank")
        if command.soulless:
            raise bad_input("/soulless", "only a creature can be Soulless")
    return msgspec.structs.replace(command, owner=UNSET) if command.owner == command.controller else command


def _summon(command: c.Summon) -> c.Summon:
    if command.owner == command.player:
        command = msgspec.structs.replace(command, owner=UNSET)
    return msgspec.structs.replace(command, deck=UNSET) if command.deck == deck_of(command.rank) else command


def _destroy(command: c.Destroy) -> c.Destroy:
    _each_once(command.cards, "cards")
    modifiers = command.modifiers or ()
    cards = frozenset(command.cards)
    for index, modifier in enumerate(modifiers):
        if modifier.card not in cards:
            raise bad_input(
                pointer("modifiers", index, "card"), f"{quoted(modifier.card)} is not among the destroyed cards"
            )
        if modifier.name == "sealed":
            raise bad_input(pointer("modifiers", index, "name"), "the engine adds the modifier sealed by itself")
    twice = named_twice((modifier.card, modifier.name) for modifier in modifiers)
    if twice is not None:
        modifier = modifiers[twice]
        raise bad_input(
            pointer("modifiers", twice, "name"),
            f"the modifier {quoted(modifier.name)} is named twice for {quoted(modifier.card)}",
        )
    return command


def _reap(command: c.Reap) -> c.Reap:
    _each_once(command.souls, "souls")
    return command


def _pay(command: c.Pay) -> c.Pay:
    _either(command, "effect", "cost")
    return command


def _fizzle(command: c.Fizzle) -> c.Fizzle:
    _either(command, "payment", "effect")
    return command


def _change_life(command: c.ChangeLife) -> c.ChangeLife:
    _each_once([change.player for change in command.changes], "changes", under="player")
    return command


def _ruling(command: c.Ruling) -> c.Ruling:
    for index, correction in enumerate(command.corrections):
        kinds = [name for name in correction.__struct_fields__ if getattr(correction, name) is not UNSET]
        if len(kinds) != 1:
            told = "has nothing to correct" if not kinds else f"must be one of {', '.join(kinds)}"
            raise bad_input(pointer("corrections", index), f"this correction {told}; name exactly one thing")
        _one_correction(correction, pointer("corrections", index, kinds[0]))
    return command


def _one_correction(correction: c.Correction, path: str) -> None:
    if correction.rift is not UNSET:
        if (correction.rift.close is UNSET) == (correction.rift.highest is UNSET):
            raise bad_input(path, "either highest or close, just one of them")
        if correction.rift.close is False:
            raise bad_input(path + "/close", "must be true")
    if (
        correction.result is not UNSET
        and correction.result.status == "running"
        and correction.result.winner is not None
    ):
        raise bad_input(path + "/winner", "a running match has no winner")


_WHOLE: dict[type[c.Command], Callable[[Any], Any]] = {
    c.StartMatch: _start_match,
    c.TakeEvent: _take_event,
    c.Enter: _enter,
    c.Summon: _summon,
    c.Destroy: _destroy,
    c.Reap: _reap,
    c.Pay: _pay,
    c.Fizzle: _fizzle,
    c.ChangeLife: _change_life,
    c.Ruling: _ruling,
}
