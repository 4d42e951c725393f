"""Strict JSON: one object on one line, with all that lenient parsers let through marked or refused."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from domain.rules.refusal import bad_input, pointer, quoted

MAX_LINE_BYTES = 2**20
DEEPEST = 16
"""More levels than any command has."""
_LONGEST_INTEGER = 17

Key = str | int


class Number:
    """A number that no command may hold: with a point, an exponent, or too many digits; or NaN and its kin."""

    def __init__(self, text: str) -> None:
        self.text = text


def _integer(text: str) -> int | Number:
    return int(text) if len(text) <= _LONGEST_INTEGER else Number(text)


class _Object(dict[str, Any]):
    """A JSON object that remembers a key given twice."""

    twice: str


class _GivenTwiceError(ValueError):
    """A key stands twice in one object; which one, and where, a second reading tells."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _GivenTwiceError
    return value


def _marked_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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


def _parser(hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Callable[[str, int], tuple[Any, int]]:
    return json.JSONDecoder(
        object_pairs_hook=hook, parse_float=Number, parse_int=_integer, parse_constant=Number
    ).raw_decode


_parse, _parse_marked = _parser(_object), _parser(_marked_object)


def parse(line: bytes | str) -> dict[str, Any]:
    """The object on this line.

    Raises:
        Refusal: by "input", with the path of a key that is given twice.

    """
    text = _text(line)
    start = len(text) - len(text.lstrip(" \t\r\n"))
    twice = False
    try:
        try:
            value, end = _parse(text, start)
        except _GivenTwiceError:
            twice = True
            value, end = _parse_marked(text, start)
    except json.JSONDecodeError as error:
        raise bad_input("", f"not JSON: {error.msg} at column {error.pos + 1}", column=error.pos + 1) from None
    except RecursionError:
        raise bad_input("", "not a command: nested too deeply") from None
    if text[end:].strip(" \t\r\n"):
        raise bad_input("", f"not JSON: something follows the object at column {end + 1}", column=end + 1)
    if not isinstance(value, dict):
        raise bad_input("", f"a command is a JSON object, not {what(value)}")
    if twice:
        for path, key in _duplicates(value, ()):
            raise bad_input(pointer(*path, key), f"the key {quoted(key)} is given twice in one object")
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
    if len(path) > DEEPEST:  # deeper than any command: the types will refuse it
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


def what(value: object) -> str:
    """A decoded JSON value in a message: what it is, or the value itself if it is short."""
    if isinstance(value, Number):
        return f"a number of {len(value.text)} characters"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return quoted(value)
