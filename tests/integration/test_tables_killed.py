"""Whoever makes tables is killed at random moments: no row is lost, and none is there twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from projections.analytics.folder import MANIFEST, Folder, TablesError
from soulrift import store as stores
from tests.exports import END, Making, assert_same, assert_whole, names, rows_of
from tests.makers import Maker, Players, kill_makers
from tests.torture import KILLS, SEED, wait_until
from tests.unit.rules.moves import releases

ROOT = Path(__file__).parents[2]


def test_killed_maker_leaves_each_row_once(durable_store: str, tmp_path: Path) -> None:
    """After each kill the tables that count are whole and hold each match once at most, as it was at some moment, while
    others play on; run to the end, they are those that are made at once.
    """
    tally = kill_makers(durable_store, tmp_path)
    assert not tally.faults, "\n".join(tally.faults)
    assert tally.kills == KILLS
    assert tally.unfinished >= KILLS // 2
    assert 0 < tally.acknowledged <= tally.found


@pytest.fixture
def made(tmp_path: Path) -> Making:
    """A store with matches in a file, and a place for tables."""
    with stores.create(str(tmp_path / "store.db")) as matches:
        players = Players(matches, Random(SEED))
        for _ in range(60):
            players.do()
    return Making(stores.open_to_write(str(tmp_path / "store.db")), Folder(str(tmp_path / "tables")))


def is_there(made: Making) -> bool:
    """Whether there are tables."""
    return Path(made.folder.root, MANIFEST).exists()


def test_nobody_else_makes_them_until_it_is_killed(made: Making, tmp_path: Path) -> None:
    """While one is at it, another process is refused; once the first is killed, whoever comes next is not."""
    maker = Maker(tmp_path / "said", "tables", "--db", tmp_path / "store.db", "-o", made.folder.root, "--jobs", 1)
    wait_until(lambda: is_there(made))
    assert maker.process.pid is not None
    os.kill(maker.process.pid, signal.SIGSTOP)
    with pytest.raises(TablesError, match="another program is writing"):
        made.make()
    assert maker.end(0) == -signal.SIGKILL
    made.make()
    made.exact()


def test_killed_with_its_processes_at_work(postgres_store: str, tmp_path: Path) -> None:
    """Killed while processes of its own make parts, which live on for a moment: they spoil nothing of the next run."""
    with stores.create(postgres_store) as matches:
        made = Making(matches, Folder(str(tmp_path / "tables")))
        for number in range(20):
            made.begin(f"match-{number}", *releases(1), END)
        maker = Maker(tmp_path / "said", "tables", "--db", postgres_store, "-o", made.folder.root, "--jobs", 2)
        wait_until(lambda: is_there(made))
        assert maker.end(0) == -signal.SIGKILL
        made.make()
        made.exact()


DASK = """
import os, signal, sys
from dask.distributed import Client
from projections.analytics import of_store
from projections.analytics.making import Making
from soulrift import tabling
from soulrift.running import Where

def main(store, tables):
    of_store.ENTRIES = 1
    add, killed = Making.add, []

    def add_and_kill(making, *told, **changed):
        add(making, *told, **changed)
        if not killed:
            killed.append(sorted(Client.current().run(os.getpid).values())[0])
            os.kill(killed[0], signal.SIGKILL)

    Making.add = add_and_kill
    tabling.make_of_store(store, tables, Where(2, "dask"), "text")
    assert killed

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


def test_worker_of_a_cluster_is_killed(made: Making, tmp_path: Path) -> None:
    """What it was making is made by another one; no part is less or more."""
    script = tmp_path / "cluster.py"
    script.write_text(DASK)
    arguments = [sys.executable, str(script), str(tmp_path / "store.db"), made.folder.root]
    done = subprocess.run(arguments, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    made.exact()


def test_killed_simulation_goes_on(tmp_path: Path) -> None:
    """A run that is killed while it writes tables has those of whole batches, and goes on with what is missing."""
    chance, folder = Random(SEED), Folder(str(tmp_path / "tables"))
    command = ("simulate", "--matches", 21, "--seed", 5, "--policies", "greedy", "--jobs", 1, "--tables")
    for _ in range(max(3, KILLS // 3)):
        maker = Maker(tmp_path / "said", *command, folder.root, part=3, step=int(2 ** chance.uniform(2, 8)))
        assert maker.end() in {0, -signal.SIGKILL}, maker.said
        if Path(folder.root, MANIFEST).exists():
            assert len(names(assert_whole(folder))) % 3 == 0
    for place in (folder.root, tmp_path / "fresh"):
        maker = Maker(tmp_path / "said", *command, place, part=3)
        assert maker.end() == 0, maker.said
    assert_same(assert_whole(folder), rows_of(Folder(str(tmp_path / "fresh"))))
    assert len(names(rows_of(folder))) == 21
