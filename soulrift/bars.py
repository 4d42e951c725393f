"""Bar charts of what a query answered: labels and numbers, as lines of text or as a picture."""

from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from math import isfinite
from typing import Any
from warnings import catch_warnings, simplefilter

import click
from msgspec import Struct
from rich.text import Text

from soulrift.answer_forms import Answer, FormError, as_table, cell
from soulrift.terminal import spelled_out

MOST = 40
"""So many bars a chart has room for."""

WIDTH = 50
"""Characters of the longest bar."""

PICTURES = (".png", ".svg")
"""How the name of a picture may end."""

_NOTHING: Any = {".png": {"Software": None}, ".svg": {"Date": None}}
"""What matplotlib would write into a file beside the picture."""


class Chart(Struct, frozen=True):
    """The columns that label the bars of a chart, the one of its numbers, and labels and number of each bar."""

    labels: tuple[str, ...]
    value: str
    rows: list[tuple[tuple[str, ...], Any]]

    @property
    def lengths(self) -> list[float]:
        """The length of each bar; 0 where there is no number."""
        return [float(value) if value is not None and isfinite(value) else 0.0 for _, value in self.rows]


def chart(answer: Answer) -> Chart:
    """The last column that holds numbers, labelled by as many of the first ones as tell the bars apart.

    Raises:
        FormError: there is none, or too many rows.

    """
    place = max((place for place, number in enumerate(answer.numbers) if number), default=0)
    if not place:
        raise FormError("a chart needs two columns: labels first, and numbers")
    rows = list(islice(answer.rows, MOST + 1))
    if len(rows) > MOST:
        raise FormError(f"a chart has room for {MOST} rows, and these are more: add LIMIT {MOST}, or group them")
    labels = [tuple(map(cell, row[:place])) for row in rows]
    width = next((width for width in range(1, place) if len({each[:width] for each in labels}) == len(rows)), place)
    bars = [(each[:width], row[place]) for each, row in zip(labels, rows, strict=True)]
    return Chart(answer.columns[:width], answer.columns[place], bars)


# ------------------------------------------------------------ as text


def lines(drawn: Chart) -> Iterator[Text]:
    """The chart as text, a line a bar; those below zero go to the left of it."""
    lengths = drawn.lengths
    low, high = min([0.0, *lengths]), max([0.0, *lengths])
    scale = WIDTH / ((high - low) or 1)
    zero = round(-low * scale)
    rows = (
        (*labels, value, _bar(round(length * scale), zero))
        for (labels, value), length in zip(drawn.rows, lengths, strict=True)
    )
    left = (False,) * len(drawn.labels)
    return as_table(Answer((*drawn.labels, drawn.value, ""), (*left, True, False), rows))


def _bar(length: int, zero: int) -> str:
    return " " * (zero + min(length, 0)) + "█" * abs(length)


# ------------------------------------------------------------ as a picture


def picture(drawn: Chart, ending: str) -> bytes:
    """The chart as the content of a picture; the same chart as the same bytes.

    Raises:
        click.UsageError: what draws it is not installed.

    """
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        from soulrift.picturing import COLOURS, STYLE
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"matplotlib", "numpy", "scipy"}:
            raise
        raise click.UsageError("a picture needs an extra: pip install 'soulrift[analytics]'") from None
    content = BytesIO()
    with rc_context(STYLE), catch_warnings():
        simplefilter("ignore")  # letters that its font lacks
        figure = Figure(figsize=(7, 0.9 + 0.22 * len(drawn.rows)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.barh(range(len(drawn.rows)), drawn.lengths, color=COLOURS[1], height=0.7)
        axes.set_yticks(range(len(drawn.rows)), [", ".join(labels) for labels, _ in drawn.rows])
        axes.invert_yaxis()
        axes.set(xlabel=spelled_out(drawn.value), ylabel=spelled_out(", ".join(drawn.labels)))
        axes.axvline(0, color="black", linewidth=0.8)
        figure.savefig(content, format=ending[1:], dpi=100, metadata=_NOTHING[ending])
    return content.getvalue()
