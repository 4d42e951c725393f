"""Runs: one seed makes one archive, wherever and however often it is played.

SOULRIFT_MATCHES=10000 looks at so many matches in the test of all matches.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from replays.files import opened
from simulation import runners
from simulation.batches import SIZE, Batch, Result, batches, play_batch
from simulation.chance import GENERATOR
from simulation.runs import Run

ROOT = Path(__file__).parents[2]

MATCHES = int(os.environ.get("SOULRIFT_MATCHES", "2000"))
RUN = Run(5, policies=("greedy", "any"))
SMALL = [(1, 25), (26, 50), (51, 51), (52, 100)]
"""Batches of a run of 100 matches, unlike those that the program makes."""

PATIENCE = 30
"""So many seconds, at most, are waited for what must come."""


def until(holds: Callable[[], bool]) -> bool:
    """Wait until this holds, or for too long."""
    for _ in range(PATIENCE * 50):
        if holds():
            return True
        time.sleep(0.02)
    return False


def work(run: Run = RUN) -> Iterator[Batch]:
    """The small batches."""
    for first, last in SMALL:
        yield Batch(run, first, last, record=True)


def digest(results: Iterator[Result]) -> str:
    """One digest over the lines and tallies of all matches, in their order."""
    hashed = sha256()
    for result in results:
        for match in result.matches():
            hashed.update(b"\n".join(match))
        hashed.update(repr(result.tallies).encode())
    return hashed.hexdigest()


@pytest.fixture(scope="module")
def expected() -> str:
    """The digest of the run, played in this process."""
    return digest(runners.local(play_batch, work(), 1))


# ------------------------------------------------------------ jobs, processes, machines


def test_batches_cover_a_run() -> None:
    """Each match is in one batch, in order, and none is after the last; going on begins after whole batches."""
    for matches in (1, SIZE - 1, SIZE, SIZE + 1, 5 * SIZE + 7):
        cut = list(batches(RUN, matches, record=False, cover=False))
        assert [n for batch in cut for n in range(batch.first, batch.last + 1)] == list(range(1, matches + 1))
        rest = batches(RUN, matches, record=False, cover=False, after=SIZE)
        assert list(rest) == cut[1:]


def test_batches_of_other_sizes_make_the_same_matches(expected: str) -> None:
    """How a run is cut changes nothing of its matches."""
    whole = next(runners.local(play_batch, iter([Batch(RUN, 1, 100, record=True)]), 1))
    cut = list(runners.local(play_batch, work(), 1))
    assert list(whole.matches()) == [match for result in cut for match in result.matches()]
    assert whole.tallies == [tally for result in cut for tally in result.tallies]
    assert digest(iter(cut)) == expected


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_processes_make_the_same_matches(jobs: int, expected: str) -> None:
    """So do one, two or four processes, whichever was first."""
    assert digest(runners.processes(play_batch, work(), jobs)) == expected


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_process_with_other_hashes_makes_the_same_matches(hash_seed: str, expected: str) -> None:
    """So does a process of its own, whose sets and dictionaries hash otherwise."""
    code = "from tests.integration.test_runs import *; print(digest(runners.local(play_batch, work(), 1)))"
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert done.stdout.decode().split() == [expected]


DASK = """
import os, signal
from dask.distributed import Client
from simulation import runners
from simulation.batches import play_batch
from tests.integration.test_runs import digest, work

def watched():
    results = runners.dask(play_batch, work(), 3)
    yield next(results)
    workers = Client.current().run(os.getpid)
    assert len(set(workers.values())) == 3, workers
    os.kill(sorted(workers.values())[0], signal.SIGKILL)
    yield from results

if __name__ == "__main__":
    print("digest", digest(watched()))
"""


def test_dask_makes_the_same_matches_though_a_worker_dies(tmp_path: Path, expected: str) -> None:
    """So does a cluster of three worker processes, of which one is killed in the middle."""
    script = tmp_path / "cluster.py"
    script.write_text(DASK)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, check=True)
    assert ["digest", expected] in [line.split() for line in done.stdout.decode().splitlines()]


# ------------------------------------------------------------ the program: interrupted, killed, gone on


OPTIONS = ("--seed", "5", "--decks", "any,any", "--policies", "greedy,random")
WHOLE = ("--matches", str(3 * SIZE))


def command(*arguments: str) -> list[str]:
    """How the program is started."""
    return [sys.executable, "-m", "soulrift", "simulate", *OPTIONS, *arguments]


def simulate(folder: Path, *arguments: str, status: int = 0) -> str:
    """Simulate in a folder; what is printed, errors behind it."""
    done = subprocess.run(command(*arguments), cwd=folder, capture_output=True, check=False)
    told = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == status, told
    assert "Traceback" not in told
    assert "fault of our own" not in told
    return told


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of three batches, made by one process without interruption."""
    folder = tmp_path_factory.mktemp("runs")
    simulate(folder, *WHOLE, "--jobs", "1", "-o", "run.soulrift.jsonl.zst")
    assert [path.name for path in folder.iterdir()] == ["run.soulrift.jsonl.zst"]
    return folder / "run.soulrift.jsonl.zst"


def parts(folder: Path) -> list[Path]:
    """The parts that are kept of a run that is not done."""
    return sorted(folder.glob("run.soulrift.jsonl.zst.parts/*.part"))


def started(folder: Path, jobs: int) -> "subprocess.Popen[bytes]":
    """A run of three batches that has finished one of them."""
    arguments = command(*WHOLE, "--jobs", str(jobs), "-o", "run.soulrift.jsonl.zst")
    with (folder / "told.txt").open("wb") as told:
        process = subprocess.Popen(
            arguments, cwd=folder, stdout=subprocess.DEVNULL, stderr=told, start_new_session=True
        )
    assert until(lambda: len(parts(folder)) > 0 or process.poll() is not None)
    return process


def ended(process: "subprocess.Popen[bytes]", folder: Path) -> str:
    """What a process told until it ended."""
    process.wait(PATIENCE)
    told = folder / "told.txt"
    try:
        return told.read_text()
    finally:
        told.unlink()


def children(pid: int) -> list[int]:
    """The processes that a process has started, without Python's resource tracker, which sees to itself."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            arguments = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == pid and b"resource_tracker" not in arguments:
            found.append(int(stat.parent.name))
    return found


def gone(pid: int) -> bool:
    """Whether a process is no longer there, or dead and not yet waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupted_run_goes_on(jobs: int, tmp_path: Path, archive: Path) -> None:
    """Interrupted, it says how to go on and keeps what is done; started again, the archive has the same bytes."""
    process = started(tmp_path, jobs)
    process.send_signal(signal.SIGINT)
    told = ended(process, tmp_path)
    assert process.returncode == 130
    assert "the same command goes on with it" in told
    assert "Traceback" not in told
    done = parts(tmp_path)
    assert 0 < len(done) < 3
    assert not (tmp_path / archive.name).exists()
    before = {path: path.stat().st_mtime_ns for path in done}
    simulate(tmp_path, *WHOLE, "--matches", str(4 * SIZE), "-o", archive.name, status=2)
    assert {path: path.stat().st_mtime_ns for path in parts(tmp_path)} == before
    simulate(tmp_path, *WHOLE, "--jobs", "2", "-o", archive.name)
    assert (tmp_path / archive.name).read_bytes() == archive.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == [archive.name]


def session(pid: int) -> list[int]:
    """The processes of the session that this one began, without those that are dead and not yet waited for."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, began_by = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(began_by) == pid and state != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("moment", [0, 0.3])
@pytest.mark.parametrize("runner", ["processes", "dask"])
def test_interrupt_of_all_processes_at_once(runner: str, moment: float, tmp_path: Path) -> None:
    """Ctrl-C in a terminal goes to the program and all that it started, also to what is just being started: so many
    seconds after the first worker process is there the program says so, nothing else, and leaves no process behind.
    """
    arguments = command("--matches", "100000", "--policies", "random", "--jobs", "2", "--runner", runner)
    process = subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True)
    assert until(lambda: len(children(process.pid)) > 0 or process.poll() is not None)
    time.sleep(moment)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told.decode().count("\n")) == (130, 1), told.decode()
    assert told.startswith(b"interrupted after ")
    assert until(lambda: not session(process.pid))


def test_killed_run_goes_on_and_leaves_no_process(tmp_path: Path, archive: Path) -> None:
    """Killed, it leaves parts that are whole, and no process that goes on by itself; then it goes on as well."""
    process = started(tmp_path, 2)
    workers = children(process.pid)
    assert len(workers) == 2
    process.kill()
    ended(process, tmp_path)
    try:
        assert until(lambda: all(map(gone, workers)))
    finally:
        for worker in workers:
            if not gone(worker):
                os.kill(worker, signal.SIGKILL)
    assert 0 < len(parts(tmp_path)) < 3
    simulate(tmp_path, *WHOLE, "--jobs", "1", "-o", archive.name)
    assert (tmp_path / archive.name).read_bytes() == archive.read_bytes()


def test_run_whose_worker_is_killed_says_so_and_goes_on(tmp_path: Path, archive: Path) -> None:
    """A worker process that is killed ends the run in words, with what is done kept; then it goes on."""
    process = started(tmp_path, 2)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    told = ended(process, tmp_path)
    assert process.returncode in {1, 2}
    assert "Traceback" not in told
    assert "fault of our own" not in told
    assert "process" in told
    simulate(tmp_path, *WHOLE, "--jobs", "1", "-o", archive.name)
    assert (tmp_path / archive.name).read_bytes() == archive.read_bytes()


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """A folder with what is left of a run that was killed after its first batch."""
    process = started(tmp_path, 1)
    process.kill()
    ended(process, tmp_path)
    assert parts(tmp_path)
    return tmp_path


def test_parts_of_another_run_are_refused(unfinished: Path) -> None:
    """With another number of matches, seed, deck, policy or ruleset, or with coverage, it is another run: that is told,
    and nothing is lost.
    """
    other = "holds parts of another run"
    name = "run.soulrift.jsonl.zst"
    before = [path.read_bytes() for path in parts(unfinished)]
    for options in (
        ("--matches", str(3 * SIZE + 1)),
        (*WHOLE, "--seed", "6"),
        (*WHOLE, "--decks", "rift,reap"),
        (*WHOLE, "--policies", "greedy"),
        (*WHOLE, "--ruleset", "overpay=any"),
        (*WHOLE, "--coverage"),
    ):
        assert other in simulate(unfinished, *options, "-o", name, status=2)
    assert [path.read_bytes() for path in parts(unfinished)] == before


def test_damaged_part_is_told(unfinished: Path) -> None:
    """A part that is not as it was written is told by its name, with what to do."""
    part = parts(unfinished)[0]
    part.write_bytes(part.read_bytes()[:-100])
    options = command(*WHOLE, "-o", "run.soulrift.jsonl.zst")
    done = subprocess.run(options, cwd=unfinished, capture_output=True, check=False)
    told = done.stderr.decode()
    assert done.returncode in {1, 2}
    assert "Traceback" not in told
    assert "fault of our own" not in told
    assert part.name in told


# ------------------------------------------------------------ one match, stores


def matches_of(archive: Path) -> list[list[bytes]]:
    """The lines of each match of an archive."""
    found: list[list[bytes]] = []
    with opened(archive) as file:
        for line in file.read().splitlines():
            if b'"replay":' in line:
                found.append([])
            if found:
                found[-1].append(line)
    found[-1].pop()  # the last line of the archive counts its matches
    return found


@pytest.mark.parametrize("number", [1, SIZE + 1, 3 * SIZE])
def test_one_match_alone_is_the_one_of_the_archive(number: int, tmp_path: Path, archive: Path) -> None:
    """`--only M` plays match M of the run again, the same lines, printed and written."""
    only = ("--only", str(number))
    printed = simulate(tmp_path, *only, "--format", "json").encode().splitlines()
    assert printed == matches_of(archive)[number - 1]
    simulate(tmp_path, *only, "-o", "one.soulrift.jsonl")
    assert (tmp_path / "one.soulrift.jsonl").read_bytes().splitlines() == printed


def soulrift(folder: Path, *arguments: str) -> str:
    """What another command prints."""
    done = subprocess.run([sys.executable, "-m", "soulrift", *arguments], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode()


def test_store_takes_each_match_once(tmp_path: Path, archive: Path) -> None:
    """A store that is filled is sound, has the matches of the archive, byte for byte, takes those that it lacks, and
    nothing twice; another run of the same names is refused.
    """
    simulate(tmp_path, "--matches", "40", "--store", "runs.db")
    assert "sound: 40 matches" in soulrift(tmp_path, "check", "--db", "runs.db")
    simulate(tmp_path, "--matches", "70", "--store", "runs.db")
    checked = soulrift(tmp_path, "check", "--db", "runs.db")
    assert "sound: 70 matches" in checked
    simulate(tmp_path, "--matches", "70", "--store", "runs.db", "--jobs", "2")
    assert soulrift(tmp_path, "check", "--db", "runs.db") == checked
    soulrift(tmp_path, "export", "run-5-70", "--db", "runs.db", "-o", "one.soulrift.jsonl")
    assert (tmp_path / "one.soulrift.jsonl").read_bytes().splitlines() == matches_of(archive)[69]
    told = simulate(tmp_path, "--matches", "3", "--policies", "reckless", "--store", "runs.db", status=2)
    assert "the store has another match run-5-1: take another seed, or another store" in told
    assert soulrift(tmp_path, "check", "--db", "runs.db") == checked


def test_interrupted_store_is_gone_on_with(tmp_path: Path) -> None:
    """Interrupted while it fills a store, it says how to go on; started again, the store has every match once."""
    arguments = command(*WHOLE, "--jobs", "1", "--store", "runs.db")
    process = subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE)
    log = tmp_path / "runs.db-wal"
    assert until(lambda: log.exists() and log.stat().st_size > 300_000)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=PATIENCE)[1].decode()
    assert process.returncode == 130
    assert told.startswith("interrupted after ")
    assert told.endswith(" matches; the same command goes on with it\n")
    simulate(tmp_path, *WHOLE, "--jobs", "1", "--store", "runs.db")
    assert f"sound: {3 * SIZE} matches" in soulrift(tmp_path, "check", "--db", "runs.db")


def test_store_refuses_matches_of_a_deck_that_was_edited(tmp_path: Path) -> None:
    """A deck of one's own under the same name that is another one now makes other matches: they are not passed over."""
    deck = tmp_path / "mine.toml"
    deck.write_text('name = "Mine"\n[main]\nash-hound = 20\n')
    mine = ("--decks", "mine.toml,rift", "--matches", "5", "--store", "runs.db")
    simulate(tmp_path, *mine)
    deck.write_text('name = "Mine"\n[main]\ngrave-whisper = 20\n')
    assert "the store has another match run-5-1" in simulate(tmp_path, *mine, status=2)


# ------------------------------------------------------------ all of it


MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_matches() -> None:
    """Counting ten times as many matches takes hardly more memory: less than a tenth of it."""
    used = []
    for matches in (SIZE, 10 * SIZE):
        only_counted = command("--matches", str(matches), "--jobs", "1", "--policies", "random")
        done = subprocess.run([sys.executable, "-c", MEASURE, *only_counted], cwd=ROOT, capture_output=True, check=True)
        used.append(int(done.stdout))
    assert used[1] < 1.1 * used[0], used


def test_many_matches_are_proven_and_use_everything(tmp_path: Path) -> None:
    """Two thousand matches verify as exact, and use every command, event and rule but a judge's. Among them are draws,
    defeats by each kind of Soulburn, hoards that are stolen, and Rifts that are left empty.
    """
    told = json.loads(
        soulrift(
            tmp_path,
            *("simulate", "--matches", str(MATCHES), "--seed", "5", "--coverage", "--jobs", "2"),
            *("-o", "run.soulrift.jsonl.zst", "--format", "json"),
        )
    )
    statistics: dict[str, Any] = told["statistics"]
    assert (told["seed"], told["simulator"], told["generator"]) == ("5", 1, GENERATOR)
    assert told["unused"] == []
    assert told["coverage"]["start_match"] == statistics["matches"] == MATCHES
    assert "ruling" not in told["coverage"]
    assert statistics["failed"] == 0
    assert statistics["draws"] > 0
    assert all(statistics["fell"][kind] > 0 for kind in ("overpay", "fizzle", "rift"))
    assert statistics["hoards_stolen"] > 0
    assert all(deck["empty"] > 0 for deck in statistics["decks"].values())
    assert sum(deck["matches"] for deck in statistics["decks"].values()) == 2 * MATCHES
    assert sum(policy["won"] for policy in statistics["policies"].values()) == MATCHES - statistics["draws"]
    verified = json.loads(soulrift(tmp_path, "verify", "run.soulrift.jsonl.zst", "--format", "json"))
    assert verified["verdict"] == "exact"
    assert [each["match"] for each in verified["matches"]] == [f"run-5-{number}" for number in range(1, MATCHES + 1)]
    assert {each["verdict"] for each in verified["matches"]} == {"exact"}
    assert sum(each["entries"] for each in verified["matches"]) == statistics["entries"]
