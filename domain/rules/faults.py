"""Faults: where and how a decoded JSON value is not the command that it says it is.

msgspec judges; this is the walk over the types that finds the field and the words for what it refused, and the fields
that it passes over.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from domain.rules import commands as c
from domain.rules.refusal import Refusal, bad_input, pointer, quoted
from domain.rules.strict_json import DEEPEST, Key, Number, what


@cache
def command_types() -> dict[str, type[c.AnyCommand]]:
    """The commands by their `type`."""
    return {c.tag_of(kind.__name__): kind for kind in c.AnyCommand.__args__}


def command_type(value: dict[str, Any]) -> type[c.AnyCommand]:
    """The command that an object says it is.

    Raises:
        Refusal: it says none, or one that there is not.

    """
    if "type" not in value:
        raise bad_input("/type", "the command has no type")
    kind = value["type"]
    found = command_types().get(kind) if isinstance(kind, str) else None
    if found is None:
        raise bad_input("/type", f"there is no command of the type {_quoted_value(kind)}")
    return found


def faults(value: object, kind: object, path: tuple[Key, ...]) -> Iterator[Refusal]:
    """Every way in which `value` is not of this type, the first one first."""
    yield from _faults_of(value, type_info(kind), path)


@cache
def type_info(kind: object) -> msgspec.inspect.Type:
    """The description of a type, once."""
    return msgspec.inspect.type_info(kind)


def _faults_of(value: object, node: msgspec.inspect.Type, path: tuple[Key, ...]) -> Iterator[Refusal]:
    if isinstance(node, msgspec.inspect.UnionType):
        yield from _union_faults(value, node, path)
    elif isinstance(node, msgspec.inspect.StructType) and isinstance(value, dict):
        yield from _struct_faults(value, node, path)
    elif isinstance(node, msgspec.inspect.VarTupleType) and isinstance(value, list):
        if not (node.min_length or 0) <= len(value) <= (node.max_length or len(value)):
            figures = {**_figures(node), "given": len(value)}
            yield bad_input(pointer(*path), f"must be {_wanted(node)}, not of {len(value)}", **figures)
        for index, item in enumerate(value):
            yield from _faults_of(item, node.item_type, (*path, index))
    elif not _fits(value, node):
        yield _misfit(value, (node,), path)


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
        yield _misfit(value, choices, path)


def _misfit(value: object, choices: Sequence[msgspec.inspect.Type], path: tuple[Key, ...]) -> Refusal:
    """The refusal of a value that is of none of these types."""
    wanted = " or ".join(_wanted(choice) for choice in choices)
    figures = {name: figure for choice in choices for name, figure in _figures(choice).items()}
    if type(value) is int:
        figures["given"] = value
    return bad_input(pointer(*path), f"must be {wanted}, not {_quoted_value(value)}", **figures)


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


def _figures(node: msgspec.inspect.Type) -> dict[str, int]:
    """The least and the most that a type takes: of numbers, characters or items."""
    match node:
        case msgspec.inspect.IntType(ge=lowest, le=highest):
            pass
        case msgspec.inspect.StrType(min_length=lowest, max_length=highest):
            pass
        case msgspec.inspect.VarTupleType(min_length=lowest, max_length=highest):
            pass
        case _:
            return {}
    limits = {"lowest": lowest, "highest": highest}
    return {name: limit for name, limit in limits.items() if limit is not None and abs(limit) != c.MAX_INTEGER}


def _quoted_value(value: object) -> str:
    """A decoded JSON value, quoted as the sender wrote it."""
    return value.text if isinstance(value, Number) and len(value.text) <= DEEPEST * 2 else what(value)


@cache
def with_shared_parts() -> frozenset[type[c.Command]]:
    """The commands with parts in which msgspec passes over unknown fields, as events want it: our own walk refuses
    them.
    """
    return frozenset(kind for kind in command_types().values() if _has_shared_part(type_info(kind)))


def _has_shared_part(node: msgspec.inspect.Type) -> bool:
    match node:
        case msgspec.inspect.StructType(cls=kind, fields=fields):
            return issubclass(kind, c.SharedPart) or any(_has_shared_part(field.type) for field in fields)
        case msgspec.inspect.UnionType(types=types):
            return any(map(_has_shared_part, types))
        case msgspec.inspect.VarTupleType(item_type=item):
            return _has_shared_part(item)
    return False
