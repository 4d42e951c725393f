"""The chart of a study: a small picture for each figure, with the interval of every case."""

from io import BytesIO
from itertools import cycle
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replays.files import written
from simulation.study import CONFIDENCE, Findings, Row

try:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
except ImportError as error:
    if (error.name or "").partition(".")[0] != "matplotlib":
        raise
    NEEDED = "a chart needs an extra: pip install 'soulrift[study]'"
    raise click.UsageError(NEEDED) from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
"""Those of Okabe and Ito, which the colour-blind can tell apart; yellow is left out, since it is faint on white."""

COLUMNS = 4
STYLE: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "font.size": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "soulrift",
    "text.parse_math": False,
}
_NOTHING = {".png": {"Software": None}, ".svg": {"Date": None}}
"""What matplotlib would write into a file beside the picture."""


def draw(found: Findings, title: str, path: Path, *, replace: bool) -> None:
    """Draw what a study found into a file, .png or .svg; the same findings as the same bytes.

    Raises:
        FileExistsError: there is one, which is not to be replaced.

    """
    picture = BytesIO()
    with rc_context(STYLE):
        figure = _figure(found, title)
        FigureCanvasAgg(figure)
        figure.savefig(picture, format=path.suffix[1:], dpi=100, metadata=_NOTHING[path.suffix])
    with written(path, replace=replace) as file:
        file.write(picture.getvalue())


def _figure(found: Findings, title: str) -> Figure:
    rows = found.rows
    down = ceil(len(rows) / COLUMNS) or 1
    high = down * (0.75 + 0.18 * (1 + len(found.common))) + 1.2
    figure = Figure(figsize=(11, high), layout="constrained")
    figure.suptitle(title, fontsize=9)
    axes = list(figure.subplots(down, COLUMNS, sharey=True, squeeze=False).flat)
    for row, each in zip(rows, axes, strict=False):
        _draw(row, each)
    for each in axes[len(rows) :]:
        each.set_axis_off()
    figure.legend(
        handles=_legend(rows[0].cases[0].case if rows else ""), loc="outside lower center", ncols=1, frameon=False
    )
    return figure


def _draw(row: Row, axes: "Axes") -> None:
    """A figure: each case with its interval, the base on top; filled where its difference to the base is told."""
    times = row.figure.times
    telling = [True, *(each.told for each in row.differences)]
    for place, (case, filled, colour) in enumerate(zip(row.cases, telling, cycle(COLOURS), strict=False)):
        if case.value is None:
            continue
        low, high = (case.value if bound is None else bound for bound in (case.low, case.high))
        axes.plot([times * low, times * high], [place, place], color=colour, linewidth=1.5, solid_capstyle="butt")
        axes.plot(
            [times * case.value],
            [place],
            "o" if place else "s",
            color=colour,
            markerfacecolor=colour if filled else "white",
            markersize=5,
        )
    axes.axvline(times * (row.cases[0].value or 0), color="#999999", linewidth=0.6, zorder=0)
    axes.set_yticks(range(len(row.cases)), [case.case for case in row.cases])
    axes.set_ylim(len(row.cases) - 0.5, -0.5)
    axes.set_title(row.figure.label, fontsize=8, loc="left")
    axes.locator_params(axis="x", nbins=5)


def _legend(base: str) -> list[Line2D]:
    marks = (
        ("s", "black", f"{base}: the base; bars are {100 * CONFIDENCE:.0f} % intervals of each case by itself"),
        ("o", "black", "the difference to the base, match by match, can be told from nothing"),
        ("o", "white", "it cannot"),
    )
    return [
        Line2D([], [], marker=mark, color="black", markerfacecolor=fill, linestyle="", markersize=5, label=label)
        for mark, fill, label in marks
    ]
