"""The panels that pictures are drawn on, each as wide as a phone, and how they become SVG whose text stays text.

Lives here: places, axes, rows with names, keys, and what stands in a page. Must not know: which pictures there are.
"""

import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from msgspec import Struct
from rich.cells import cell_len

from soulrift.picturing import STYLE
from soulrift.terminal import spelled_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 400
"""Units of width, of which one is about a pixel on a phone."""

LONGEST = 28
"""Cells of a name that fit beside its figure."""

_BROAD = frozenset("MWmw@%")

_PANEL = STYLE | {
    "font.size": 11.0,
    "svg.fonttype": "none",
    "hatch.linewidth": 0.7,
    "axes.edgecolor": "#555555",
    "xtick.color": "#333333",
    "ytick.color": "#333333",
}
_SIDE = 14
AXIS, KEY = 40, 18
"""Units of height that an axis below takes, and a line of a key above."""

_COVER = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
_NOTHING = {"Creator": None, "Date": None, "Format": None, "Type": None}
_referred = re.compile(r"#(\w+)").findall
_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"

Look = tuple[str, str]
"""A colour and a hatch."""


class Words(Struct, frozen=True):
    """What stands with a picture: its own name among all on the page, its title, what it shows in words, its unit."""

    name: str
    title: str
    told: str
    unit: str


class Row(Struct, frozen=True):
    """A row of a picture: what it is called, its figure as text, as a number, or in parts, and its interval.

    `even` is what it would be if nothing mattered. `weak` says that it is of too few to tell anything: its mark is
    hollow.
    """

    name: str
    told: str
    value: float = 0.0
    parts: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    even: float | None = None
    weak: bool = False


# ------------------------------------------------------------ places


class _Panel(Figure):
    """A picture, and what it is as SVG once it is done."""

    told = ""


@contextmanager
def panel(words: Words, height: float) -> Iterator[_Panel]:
    """A picture of so many units of height, drawn within; then it is told."""
    with rc_context(_PANEL | {"svg.hashsalt": f"soulrift {words.name}"}):
        figure = _Panel(figsize=(WIDTH / 72, height / 72))
        FigureCanvasSVG(figure)
        yield figure
        written = BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that a font misses a glyph, which the reader's has
            figure.savefig(written, format="svg", metadata=_NOTHING, transparent=True)
        figure.told = _inline(written.getvalue(), words)


def place(figure: Figure, left: float, right: float, bottom: float, top: float) -> "Axes":
    """Axes with so many units around them."""
    width, height = (72 * inches for inches in figure.get_size_inches())
    return figure.add_axes((left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height))


def rows_of(figure: Figure, rows: Sequence[Row], high: float, top: float = 0) -> "Axes":
    """Axes with a name and a figure above each row's place."""
    axes = place(figure, _SIDE, _SIDE, AXIS, top)
    axes.set_ylim(high * len(rows), 0)
    for at, row in enumerate(rows):
        across: Any = {"transform": axes.get_yaxis_transform(), "va": "baseline"}
        axes.text(0, high * at + 13, short(row.name), ha="left", fontweight="bold", **across)
        axes.text(1, high * at + 13, row.told, ha="right", bbox=_COVER, **across)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return axes


def plot(figure: Figure, top: float = 0) -> "Axes":
    """Axes for lines and areas."""
    return place(figure, _SIDE, _SIDE, AXIS, top + 8)


def value_axis(axes: "Axes", unit: str) -> None:
    """Values below."""
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(_ticked)
    axes.grid(axis="x", color="#dddddd", linewidth=0.7, zorder=-1)
    axes.set_axisbelow(True)
    axes.set_xlabel(unit)


def turn_axis(axes: "Axes", unit: str) -> None:
    """Turns below, values on the left, with as much room as these need."""
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(_ticked)
    axes.margins(x=0.01)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(unit)
    longest = max(len(_ticked(value, 0)) for value in axes.get_yticks())
    box, left = axes.get_position(), (12 + 7 * longest) / WIDTH
    axes.set_position((left, box.y0, box.x1 - left, box.height))


def _ticked(value: float, _: float) -> str:
    return f"{value:,.10g}"


def filled(look: Look) -> Any:
    """How something is filled."""
    colour, hatch = look
    dark = colour not in {"#e8e8e8", "#d9e8f3"}
    return {"facecolor": colour, "hatch": hatch, "edgecolor": "white" if dark else "#777777", "linewidth": 0.6}


def number(axes: "Axes", x: float, y: float, told: str) -> None:
    """A number on what is filled."""
    axes.text(x, y, told, ha="center", va="center_baseline", fontsize=10, bbox=_COVER)


def key(figure: Figure, names: Sequence[str], looks: Sequence[Look]) -> None:
    """What colours and hatches mean, above."""
    handles = [Patch(label=name, **filled(look)) for name, look in zip(names, looks, strict=False)]
    figure.legend(
        handles=handles,
        loc="upper left",
        ncols=_across(names),
        frameon=False,
        borderaxespad=0,
        handlelength=1.6,
        columnspacing=1.2,
    )


def _across(names: Sequence[str]) -> int:
    """How many names of a key fit beside each other."""
    return len(names) if sum(len(name) + 5 for name in names) <= LONGESTKEY else 3


LONGESTKEY = 60
"""Characters of a line of a key, each name with what stands before it."""


def key_height(names: Sequence[str]) -> float:
    """Units of height that a key takes."""
    return KEY * ceil(len(names) / _across(names)) + 4


def short(name: str, longest: int = LONGEST) -> str:
    """A name as it fits into a picture, in so many cells."""
    seen = spelled_out(name)
    if _cells(seen) <= longest:
        return seen
    kept = seen[:longest]
    while _cells(kept) >= longest:
        kept = kept[:-1]
    return kept + "…"


def _cells(text: str) -> float:
    """How many cells a text takes in a picture, where letters are as broad as they are."""
    return cell_len(text) + sum(0.5 if letter in _BROAD else 0.2 * letter.isupper() for letter in text)


# ------------------------------------------------------------ SVG


def _inline(written: bytes, words: Words) -> str:
    """A picture as it stands within a page: with a text for whoever cannot see it, and no names but its own."""
    picture = ET.fromstring(written)  # noqa: S314 - our own
    referred = {name for part in picture.iter() for value in part.attrib.values() for name in _referred(value)}
    for part in picture.iter():
        part.tag = part.tag.removeprefix(_SVG)
        part.tail = None
        if part.tag != "text":
            part.text = None
        if part.get("id") not in referred:
            part.attrib.pop("id", None)
        if _LINK in part.attrib:
            part.set("href", part.attrib.pop(_LINK))
        if "d" in part.attrib:
            part.set("d", part.attrib["d"].replace(" \n", "").replace("\n", ""))
    picture.remove(picture[0])  # a style for all that is on the page
    described = ET.Element("title"), ET.Element("desc")
    described[0].text, described[1].text = words.title, spelled_out(words.told)
    picture[:0] = described
    picture.attrib = {"viewBox": picture.attrib["viewBox"], "role": "img", "aria-label": words.title}
    return ET.tostring(picture, encoding="unicode")
