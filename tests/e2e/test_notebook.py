"""The notebook runs from its first cell to its last, and tells what the matches tell of themselves."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from simulation.runs import Run, play_match

NOTEBOOK = Path(__file__).parents[2] / "examples" / "three_questions.ipynb"
MATCHES = int(os.environ.get("SOULRIFT_MATCHES", "2000"))
RECKLESS = Run(2, policies=("reckless", "reckless"))
"""The second of the notebook's two runs, which has half of the matches."""


def executed(folder: Path) -> dict[str, Any]:
    """The notebook with its outputs."""
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", str(folder)]
    environment = os.environ | {"SOULRIFT_MATCHES": str(MATCHES)}
    done = subprocess.run([*command, str(NOTEBOOK)], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return read(folder / NOTEBOOK.name)


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text())
    return notebook


def outputs(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", ())]


def test_it_is_kept_without_outputs() -> None:
    """No output and no count of executions is in it, so that only what was written by hand changes."""
    notebook = read(NOTEBOOK)
    assert outputs(notebook) == []
    assert {cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"} == {None}


def test_every_cell_runs_and_tells_what_the_matches_tell(tmp_path: Path) -> None:
    """No cell fails, warns or prints: what comes out are tables, four charts, and words.

    How often who began won, by deck, is what the matches of that run tell when they are played once more.
    """
    found = outputs(executed(tmp_path))
    assert {output["output_type"] for output in found} == {"display_data"}
    assert sum("image/png" in output["data"] for output in found) == 4
    told = ["".join(output["data"].get("text/markdown", ())) for output in found]
    assert sum(map(bool, told)) == 8
    decided, won = Counter[str](), Counter[str]()
    for number in range(1, MATCHES // 2 + 1):
        tally = play_match(RECKLESS, number).tally
        assert tally
        one, other = tally.players
        if one.deck == other.deck and tally.winner:
            decided[one.deck] += 1
            won[one.deck] += tally.winner == tally.first
    shown = re.findall(r"^\| reckless \| (blaze|reap|rift) \| ([\d,]+) \| (\d+) \| ([\d.]+) \(", told[0], re.MULTILINE)
    assert shown == [
        (deck, f"{decided[deck]:,}", str(won[deck]), f"{100 * won[deck] / decided[deck]:.1f}")
        for deck in sorted(decided)
    ]
