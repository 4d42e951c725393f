"""Where two JSON values differ."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from domain.rules.refusal import pointer


class Difference(Struct, frozen=True):
    """A place, as a JSON Pointer, with what was expected there and what was found; null: nothing."""

    path: str
    expected: Any
    found: Any


_NOTHING = object()


def differences_of(expected: Any, found: Any, *path: str | int) -> Iterator[Difference]:
    """The places in which two JSON values differ, the innermost ones."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            yield from differences_of(expected.get(key, _NOTHING), found.get(key, _NOTHING), *path, key)
    elif isinstance(expected, list) and isinstance(found, list):
        for place in range(max(len(expected), len(found))):
            there, here = (values[place] if place < len(values) else _NOTHING for values in (expected, found))
            yield from differences_of(there, here, *path, place)
    elif expected != found or type(expected) is not type(found):
        there, here = (None if value is _NOTHING else value for value in (expected, found))
        yield Difference(pointer(*path), there, here)
