"""The example that makes tables on a cluster tells what the matches tell of themselves."""

import subprocess
import sys
from pathlib import Path

from simulation.runs import Run, play_match

EXAMPLE = Path(__file__).parents[2] / "examples" / "tables_dask.py"
MATCHES, SEED = 50, 5
SMALL_BATCHES = """
import runpy, sys
from simulation import batches
batches.SIZE_OF_TABLES = 20
sys.argv = sys.argv[1:]
if __name__ == "__main__":
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_dask_example_counts_what_matches_burned(tmp_path: Path) -> None:
    """Of 50 matches in batches of 20, the cluster's workers count the life that each source took as tallies do."""
    program = tmp_path / "small_batches.py"
    program.write_text(SMALL_BATCHES)
    command = [sys.executable, str(program), str(EXAMPLE), str(MATCHES), str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # where Dask says how busy the machine is
    first, *rows = done.stdout.splitlines()
    assert first == "50 matches, of which 2 workers made tables"
    tallies = [player for n in range(MATCHES) for player in _tally(n + 1)]
    burned = {source: sum(getattr(each, source) for each in tallies) for source in ("overpay", "fizzle", "rift")}
    most_first = sorted(burned.items(), key=lambda each: -each[1])
    assert rows == [f"{source}: {life / MATCHES:.2f} life a match" for source, life in most_first]


def _tally(number: int) -> list[object]:
    tally = play_match(Run(SEED), number).tally
    assert tally
    return list(tally.players)
