"""Answers of many rows: as lines for people, as one JSON array, or as CSV; written as they come."""

import csv
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from rich.text import Text

from soulrift.terminal import Output

Row = TypeVar("Row", bound=Struct)

FORMS = ("text", "json", "csv")

_encode = msgspec.json.Encoder().encode


def answer(
    rows: Iterable[Row], kind: type[Row], form: str, lines: Callable[[Iterable[Row]], Iterable[Text | str]]
) -> None:
    """Write rows of this kind in one of the `FORMS`; for people, as the lines that `lines` makes of them."""
    output = Output()
    if form == "text":
        first = next(iter(rows := iter(rows)), None)
        for line in lines(chain([first], rows)) if first is not None else ["  none"]:
            output.line(line)
    elif form == "json":
        _as_json(output, rows)
    else:
        _as_csv(output, rows, kind)
    output.end()


def _as_json(output: Output, rows: Iterable[Struct]) -> None:
    """One array, with a row a line."""
    before = b"["
    for row in rows:
        output.json(before)
        before = _encode(row) + b","
    if before == b"[":
        output.json(b"[]")
    else:
        output.json(before[:-1])
        output.json(b"]")


def _as_csv(output: Output, rows: Iterable[Struct], kind: type[Struct]) -> None:
    """A line a row, under one with the columns; null is empty, and what is no plain value is JSON."""
    columns = list(_columns(kind))
    writer = csv.writer(_Lines(output), lineterminator="")
    writer.writerow(".".join(path) for path in columns)
    for row in rows:
        value = msgspec.to_builtins(row)
        writer.writerow(_cell(value, path) for path in columns)


class _Lines:
    def __init__(self, output: Output) -> None:
        self._output = output

    def write(self, line: str) -> None:
        self._output.json(line.encode())


def _columns(kind: type[Struct]) -> Iterator[tuple[str, ...]]:
    """The fields of a row; those of a struct in it one by one."""
    for field in msgspec.structs.fields(kind):
        inner = msgspec.inspect.type_info(field.type)
        for choice in getattr(inner, "types", [inner]):
            if isinstance(choice, msgspec.inspect.StructType):
                yield from ((field.encode_name, each.encode_name) for each in choice.fields)
                break
        else:
            yield (field.encode_name,)


def _cell(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if value is None:
            return None
        value = value[key]
    return _encode(value).decode() if isinstance(value, list | tuple | dict) else value
