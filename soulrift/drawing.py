"""Charts as SVG, for pages that hold everything they show: how figures go over the entries of a match."""

from collections.abc import Iterator, Sequence
from html import escape

from msgspec import Struct

from soulrift.terminal import spelled_out

WIDTH = 720
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 130, 12, 28

_LABEL = 14
"""Units of height that the name of a figure takes."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c6d1f")
"""Told apart by those who see some colours alike (Okabe and Ito's), and by the dashes in print."""

_DASHES = ("", "7 3", "2 3", "9 3 2 3")

Point = tuple[int, int]


class Line(Struct, frozen=True):
    """A figure: what it is called, and its value after each entry in which it changed, in order."""

    name: str
    points: Sequence[Point]


def steps(title: str, lines: Sequence[Line], entries: int) -> str:
    """A chart of figures that change in steps, over `entries` entries, with a text for whoever cannot see it."""
    values = [value for line in lines for _, value in line.points]
    low, high = min(0, *values), max(1, *values)
    chart = _Chart(entries, low, high, max(220, _TOP + _BOTTOM + _LABEL * len(lines)))
    told = "; ".join(f"{spelled_out(line.name)} from {line.points[0][1]} to {line.points[-1][1]}" for line in lines)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {chart.height}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title><desc>{escape(f'{title}: {told}')}</desc>",
        *chart.axes(),
        *(part for index, line in enumerate(lines) for part in chart.line(line, index)),
        *chart.labels(lines),
        "</svg>",
    ]
    return "".join(parts)


class _Chart:
    def __init__(self, entries: int, low: int, high: int, height: int) -> None:
        self.height = height
        self._entries = entries
        self._low = low
        self._high = high

    def _x(self, entry: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (entry - 1) / max(self._entries - 1, 1), 1)

    def _y(self, value: float) -> float:
        return round(_TOP + (self.height - _TOP - _BOTTOM) * (self._high - value) / (self._high - self._low), 1)

    def axes(self) -> Iterator[str]:
        """Lines at round values, and the numbers of entries below."""
        for value in _ticks(self._low, self._high):
            y = self._y(value)
            yield f'<path class="{"zero" if value == 0 else "grid"}" d="M{_LEFT} {y}H{WIDTH - _RIGHT}"/>'
            yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{value:,}</text>'
        for entry in (t for t in _ticks(1, self._entries) if 1 <= t <= self._entries):
            yield f'<text x="{self._x(entry)}" y="{self.height - 8}" text-anchor="middle">{entry:,}</text>'

    def line(self, line: Line, index: int) -> Iterator[str]:
        """A figure, as long as it is told."""
        (first, value), *rest = line.points
        path = [f"M{self._x(first)} {self._y(value)}"]
        path += [f"H{self._x(entry)}V{self._y(each)}" for entry, each in self._thinned(rest)]
        colour, dash = COLOURS[index % len(COLOURS)], _DASHES[(index + index // len(COLOURS)) % len(_DASHES)]
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        yield f'<path class="line" stroke="{colour}"{dashed} d="{"".join(path)}H{self._x(self._entries)}"/>'

    def _thinned(self, points: Sequence[Point]) -> Iterator[Point]:
        """Of the points that fall on one place of the picture, the lowest, the highest and the last."""
        column = list[Point]()
        for point in points:
            if column and int(self._x(point[0])) != int(self._x(column[0][0])):
                yield from _extremes(column)
                column = []
            column.append(point)
        yield from _extremes(column)

    def labels(self, lines: Sequence[Line]) -> Iterator[str]:
        """What each figure is called, beside its end, one below the other."""
        ends = sorted((self._y(line.points[-1][1]), index) for index, line in enumerate(lines))
        at = 0.0
        for place, (y, index) in enumerate(ends):
            below = _LABEL * (len(ends) - 1 - place)
            at = max(at + _LABEL, min(y + 4, self.height - _BOTTOM - below))
            name = lines[index].name
            short = spelled_out(name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…")
            colour = COLOURS[index % len(COLOURS)]
            yield f'<text x="{WIDTH - _RIGHT + 6}" y="{at:.1f}" fill="{colour}">{escape(short)}</text>'


LONGEST_LABEL = 18
"""Characters that fit beside a chart."""


def _extremes(column: Sequence[Point]) -> list[Point]:
    if not column:
        return []
    by_value = sorted(column, key=lambda point: point[1])
    return sorted({by_value[0], by_value[-1], column[-1]})


def _ticks(low: int, high: int) -> Iterator[int]:
    """Round values between two, four to eight of them."""
    step = 1
    for step in (10**power * digit for power in range(17) for digit in (1, 2, 5)):
        if (high - low) / step <= 7:  # noqa: PLR2004 - see above
            break
    return iter(range(-(-low // step) * step, high + 1, step))
