"""The answer to a query of tables, whose columns nobody knows before: as a table, as CSV, as JSON."""

import csv
from collections.abc import Iterator
from decimal import Decimal
from itertools import chain, islice
from typing import Any

import msgspec
from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from soulrift.board import MEASURED, table
from soulrift.terminal import spelled_out

PLACES = 4
"""Digits behind the point, for people, and all digits of what is nearer to zero; for programs numbers are exact."""

_encode = msgspec.json.Encoder(decimal_format="number").encode


class FormError(Exception):
    """An answer cannot be told in this form; the message says why."""


class Answer(Struct, frozen=True):
    """The columns of an answer, which of them hold numbers, and its rows as they come."""

    columns: tuple[str, ...]
    numbers: tuple[bool, ...]
    rows: Iterator[tuple[Any, ...]]


# ------------------------------------------------------------ as a table


def as_table(answer: Answer, shown: int | None = None) -> Iterator[Text]:
    """Rows in aligned columns, numbers to the right; no more of them than are to be shown, and how many there are."""
    cells = (tuple(map(cell, row)) for row in answer.rows)
    first = list(islice(cells, MEASURED))
    widths = [
        max(map(cell_len, each)) if number else 0
        for number, each in zip(answer.numbers, zip(answer.columns, *first, strict=True), strict=True)
    ]
    head, *first = [_to_the_right(row, widths) for row in (answer.columns, *first)]
    rows = chain(first, (_to_the_right(row, widths) for row in cells))
    yield from table(islice(rows, shown), head)
    if left := sum(1 for _ in rows):
        yield Text(f"  … {shown:,} of {(shown or 0) + left:,} rows; LIMIT and OFFSET choose others, -o writes them all")
    if not first:
        yield Text("  none")


def _to_the_right(row: tuple[str, ...], widths: list[int]) -> tuple[str, ...]:
    return tuple(" " * (width - cell_len(each)) + each for each, width in zip(row, widths, strict=True))


def cell(value: Any) -> str:
    """A value, for people."""
    if isinstance(value, float):
        return f"{value:.{PLACES}{'g' if 0 < abs(value) < 10**-PLACES else 'f'}}"
    return spelled_out(_plain(value))


def _plain(value: Any) -> str:
    """A value as text: what JSON has for it, but without quotation marks."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(value)
    told = _json(value)
    return msgspec.json.decode(told, type=str) if told.startswith(b'"') else told.decode()


# ------------------------------------------------------------ for programs


def as_csv(answer: Answer) -> Iterator[str]:
    """A line a row, under one with the columns; null is empty, and what is no plain value is JSON."""
    line = csv.writer(_Line(), lineterminator="").writerow
    yield str(line(answer.columns))
    for row in answer.rows:
        yield str(line("" if value is None else _plain(value) for value in row))


class _Line:
    """Where a line is written that is wanted back."""

    def write(self, line: str) -> str:
        return line


def as_json(answer: Answer) -> Iterator[str]:
    """One array, with a row a line."""
    see_names(answer.columns)
    before = "["
    for row in answer.rows:
        yield before
        before = _json(dict(zip(answer.columns, row, strict=True))).decode() + ","
    yield f"{before}]" if before == "[" else before.removesuffix(",")
    if before != "[":
        yield "]"


def see_names(columns: tuple[str, ...]) -> None:
    """See that each column has a name of its own.

    Raises:
        FormError: two have the same one.

    """
    for name in columns:
        if columns.count(name) > 1:
            raise FormError(f"two columns are called {name}: give one another name, by AS")


def _json(value: Any) -> bytes:
    """A value as JSON, integers of any size exact.

    Raises:
        FormError: JSON has nothing for it.

    """
    try:
        return _encode(value)
    except OverflowError:
        return _encode(_exact(value))
    except (TypeError, ValueError) as error:
        raise FormError(f"a value cannot be told: {error}; CAST it to VARCHAR") from None


def _exact(value: Any) -> Any:
    """The same value, with decimals for integers, which may have any size then."""
    match value:
        case bool():
            return value
        case int():
            return Decimal(value)
        case list() | tuple():
            return [_exact(each) for each in value]
        case dict():
            return {key: _exact(each) for key, each in value.items()}
    return value
