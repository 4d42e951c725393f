"""Timing in pairs, and the table of what came of it.

These machines are noisy, so nothing is compared with a figure of another run: each pair is timed in turn, A B A B,
and the ratio is the median of the rounds' ratios.
"""

import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.progress import track
from rich.table import Table

Timed = Callable[[], int]
"""Does a piece of work and returns how many things it did."""


class Row(Struct):
    """One line of the table. `ratio` is to be at least (`>=`) or at most (`<=`) `bar`."""

    what: str
    ours: str
    peer: str
    ratio: float
    sense: str
    bar: float

    @property
    def met(self) -> bool:
        """Whether the bar is met."""
        return self.ratio >= self.bar if self.sense == ">=" else self.ratio <= self.bar


def seconds_each(work: Timed) -> float:
    """Seconds for each thing that `work` does; what others left on the heap is collected before, and not looked at."""
    gc.collect()
    gc.freeze()
    start = time.perf_counter()
    done = work()
    seconds = time.perf_counter() - start
    gc.unfreeze()
    return seconds / done


def paired(ours: Timed, peer: Timed, rounds: int = 7) -> tuple[float, float, float]:
    """Median seconds a thing of ours and of the peer, and the median of peer / ours; one round is a warm-up."""
    ours(), peer()
    times = [(seconds_each(ours), seconds_each(peer)) for _ in range(rounds)]
    return median(a for a, _ in times), median(b for _, b in times), median(b / a for a, b in times)


def rate(seconds: float) -> str:
    """Things a second, with thousands separated."""
    return f"{1 / seconds:,.0f}/s"


def micro(seconds: float) -> str:
    """Microseconds."""
    return f"{seconds * 1e6:,.2f} µs"


def most_memory(*command: str) -> float:
    """The most MB that a command of the program has."""
    arguments = [sys.executable, "-m", "benchmarks.memory", *command]
    return float(subprocess.run(arguments, check=True, capture_output=True).stdout)  # noqa: S603 - ours


def report(groups: list[Callable[[], list[Row]]], out: Path) -> bool:
    """Run the groups, print the table, write it as JSON; whether every bar is met."""
    rows = [row for group in track(groups, "measuring", console=Console(stderr=True)) for row in group()]
    machine = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "processor": _processor(),
    }
    table = Table(title=", ".join(machine.values()))
    for column in ("what", "ours", "peer or bound", "ratio", "bar", ""):
        table.add_column(column, justify="left" if column == "what" else "right")
    for row in rows:
        verdict = "met" if row.met else "MISSED"
        table.add_row(row.what, row.ours, row.peer, f"{row.ratio:.2f}", f"{row.sense} {row.bar:g}", verdict)
    Console(width=130).print(table)
    data: dict[str, Any] = {"machine": machine, "rows": [{**msgspec.to_builtins(row), "met": row.met} for row in rows]}
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(data, indent=2) + "\n")
    return all(row.met for row in rows)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"
