"""Small charts for a terminal: how a figure goes over the entries of a match, in one line."""

import sys
from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

WIDTH = 60
_BLOCKS = "▁▂▃▄▅▆▇█"


class Chart:
    """Lines of blocks, one a name, over a number of entries; all to one scale."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._width = min(WIDTH, entries)
        self._series: dict[str, list[int | None]] = {}
        self._first: dict[str, int] = {}

    def add(self, name: str, entry: int, value: int) -> None:
        """From this entry on the figure of this name has this value."""
        if name not in self._series:
            self._series[name] = [None] * self._width
            self._first[name] = value
        self._series[name][(entry - 1) * self._width // self._entries] = value

    def lines(self) -> Iterator[Text]:
        """The chart; none where there is no terminal."""
        if not sys.stdout.isatty():
            return
        values = [value for series in self._series.values() for value in series if value is not None]
        if not values:
            return
        low, high = min(*values, 0), max(*values, 0)
        label = max(map(cell_len, self._series))
        for name, series in self._series.items():
            blocks, value = "", self._first[name]
            for here in series:
                value = value if here is None else here
                blocks += _BLOCKS[(value - low) * (len(_BLOCKS) - 1) // max(1, high - low)]
            line = Text("  " + name + " " * (label - cell_len(name)) + "  ")
            line.append(blocks, style="cyan")
            line.append(f"  {value}")
            yield line
        yield Text(f"  entries 1 to {self._entries}, from {low} to {high}", style="dim")
