"""The pictures of a report, for the colour-blind and for print without colour.

Lives here: how marks, bars, bands, areas and cells are drawn. Must not know: what they mean, and where the numbers come
from.
"""

from collections.abc import Sequence

from matplotlib.patches import Rectangle
from msgspec import Struct

from soulrift.panels import (
    AXIS,
    KEY,
    Look,
    Row,
    Words,
    filled,
    key,
    key_height,
    number,
    panel,
    place,
    plot,
    rows_of,
    short,
    turn_axis,
    value_axis,
)
from soulrift.picturing import COLOURS

SOURCES = (("#0072b2", ""), ("#d55e00", "////"), ("#56b4e9", "\\\\\\\\"))
"""Colours and hatches of kinds that have no order, for three of them."""

RANKS = (("#d9e8f3", ""), ("#86bbdd", "////"), ("#2b83bd", ""), ("#0a3f66", "\\\\\\\\"))
"""Those of ranks 0 to 3: the higher, the darker, so that they are in order without colour, too."""

FATES = (("#0072b2", ""), ("#d55e00", "////"), ("#e8e8e8", ""), ("#000000", ""))
"""Those of what became of something: used, burned, left over, lost."""


class Band(Struct, frozen=True):
    """A figure over turns: what it is called, its middle, and what lies between its quartiles."""

    name: str
    low: Sequence[float]
    middle: Sequence[float]
    high: Sequence[float]


# ------------------------------------------------------------ pictures


def dots(rows: Sequence[Row], words: Words) -> str:
    """A mark with its interval in each row, and a dash across where it would be if nothing mattered."""
    with panel(words, 36 * len(rows) + AXIS) as figure:
        axes = rows_of(figure, rows, 36)
        for place, row in enumerate(rows):
            at = 36 * place + 26
            low, high = (row.value if bound is None else bound for bound in (row.low, row.high))
            axes.plot([low, high], [at, at], color=COLOURS[1], linewidth=2.5, solid_capstyle="butt")
            fill = "white" if row.weak else COLOURS[1]
            axes.plot([row.value], [at], "o", color=COLOURS[1], markerfacecolor=fill, markersize=7)
            if row.even is not None:
                axes.plot([row.even] * 2, [at - 9, at + 9], color=COLOURS[2], linewidth=1.5, linestyle=(0, (3, 2)))
            axes.margins(x=0.06)
        value_axis(axes, words.unit)
    return figure.told


def stacks(rows: Sequence[Row], parts: Sequence[str], looks: Sequence[Look], words: Words) -> str:
    """A bar in each row, stacked of parts, each with its number where there is room; the interval is of their sum."""
    largest = max(max(sum(row.parts), row.high or 0) for row in rows) or 1
    with panel(words, 42 * len(rows) + AXIS + key_height(parts)) as figure:
        axes = rows_of(figure, rows, 42, top=key_height(parts))
        for place, row in enumerate(rows):
            at, left = 42 * place + 27, 0.0
            for part, look in zip(row.parts, looks, strict=False):
                axes.barh(at, part, left=left, height=20, **filled(look))
                if part / largest > SMALLEST:
                    number(axes, left + part / 2, at, f"{part:.0f}" if largest > 10 else f"{part:.2f}")  # noqa: PLR2004
                left += part
            if row.low is not None and row.high is not None:
                axes.plot([row.low, row.high], [at, at], "-|", color="black", markersize=8)
        axes.set_xlim(0, largest * 1.02)
        value_axis(axes, words.unit)
        key(figure, parts, looks)
    return figure.told


SMALLEST = 0.11
"""The part of a picture's width in which a number has room."""


def bands(turns: Sequence[int], drawn: Sequence[Band], words: Words) -> str:
    """Lines over turns with bands around them."""
    names = [band.name for band in drawn]
    with panel(words, 250 + KEY) as figure:
        axes = plot(figure, top=KEY)
        for band, colour, dash, mark, hatch in zip(
            drawn, COLOURS[1:], ("-", (0, (5, 2))), "os", ("", "////"), strict=False
        ):
            axes.fill_between(
                turns, band.low, band.high, facecolor=colour + "2e", edgecolor=colour + "80", hatch=hatch, linewidth=0.6
            )
            step = max(len(turns) // 12, 1)
            axes.plot(
                turns,
                band.middle,
                color=colour,
                linestyle=dash,
                linewidth=2,
                marker=mark,
                markevery=step,
                label=band.name,
            )
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
        turn_axis(axes, words.unit)
        figure.legend(loc="upper left", ncols=len(names), frameon=False, borderaxespad=0, handlelength=3.2)
    return figure.told


def areas(turns: Sequence[int], layers: Sequence[Sequence[float]], names: Sequence[str], words: Words) -> str:
    """Figures over turns, one upon the other."""
    with panel(words, 250 + KEY) as figure:
        axes = plot(figure, top=KEY if len(names) > 1 else 0)
        below = [0.0] * len(turns)
        for layer, (colour, hatch) in zip(layers, RANKS if len(names) > 1 else RANKS[1:], strict=False):
            above = [low + more for low, more in zip(below, layer, strict=True)]
            edge = "white" if hatch and len(names) > 1 else "#333333"
            axes.fill_between(turns, below, above, facecolor=colour, edgecolor=edge, hatch=hatch, linewidth=0)
            axes.plot(turns, above, color="#333333", linewidth=0.7)
            below = above
        axes.set_ylim(bottom=0)
        turn_axis(axes, words.unit)
        if len(names) > 1:
            key(figure, names, RANKS)
    return figure.told


def cells(
    rows: Sequence[str],
    columns: Sequence[str],
    found: Sequence[Sequence[tuple[float, str]]],
    words: Words,
    *,
    framed: bool = False,
) -> str:
    """A table of cells, each with a share (0 to 1) that it is dark by, and its text; `-1` is a cell that cannot be.

    In each row the last cell that can be is `framed`, if that is asked for.
    """
    high = 54
    with panel(words, high * len(rows) + AXIS) as figure:
        axes = place(figure, MARGIN, 4, AXIS, 0)
        for down, row in enumerate(found):
            there = [column for column, (share, _) in enumerate(row) if share >= 0]
            for column in there:
                share, told = row[column]
                axes.add_patch(Rectangle((column, down), 0.96, 0.92, facecolor=_tint(share), edgecolor="#999999"))
                ink = "white" if share > DARK else "black"
                axes.text(column + 0.48, down + 0.46, told, ha="center", va="center", color=ink, linespacing=1.3)
            if framed:
                axes.add_patch(Rectangle((there[-1], down), 0.96, 0.92, fill=False, edgecolor="black", linewidth=2.2))
        axes.set_xlim(0, len(columns))
        axes.set_ylim(len(rows), 0)
        axes.set_xticks([column + 0.48 for column in range(len(columns))], [short(name, 11) for name in columns])
        axes.set_yticks([row + 0.46 for row in range(len(rows))], [short(name, 11) for name in rows])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel(words.unit)
    return figure.told


MARGIN = 76
"""Units beside cells, for the names of rows."""

DARK = 0.75
"""From this share on a cell is so dark that its text is white."""


def _tint(share: float) -> tuple[float, float, float]:
    """From white to a dark blue."""
    return 1 - 0.96 * share, 1 - 0.69 * share, 1 - 0.5 * share
