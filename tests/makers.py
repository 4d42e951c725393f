"""Processes that make tables and are killed, and one that goes on playing meanwhile.

They are forked from a process that has imported everything, so that a kill costs no start of a program.
"""

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from typing import Any

from fsspec.implementations.local import LocalFileSystem

import simulation.batches
from domain.application import Matches
from projections.analytics import of_store
from projections.analytics.folder import MANIFEST, Folder
from projections.analytics.parts import TableFile
from soulrift import cli, simulating, store, tabling
from tests.exports import END, END_BY_JUDGE, OPEN_AGAIN, REOPEN, Making, assert_consistent, assert_exact
from tests.torture import KILLS, SEED, Tally
from tests.unit.rules.moves import life, lives, releases, ruling

warnings.filterwarnings("ignore", "'tests.torture' found in sys.modules")  # where that started the one that forks

LOADED = (simulating, tabling)
"""What a command imports when it is called is here before it is."""

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.makers"])

PARTS = (1, 10, 100)
"""So many entries fill a part, so that kills fall between parts too."""

MANY = 60
"""So many matches are enough; then those that there are go on."""


# ------------------------------------------------------------ what may happen in a store


class Players:
    """They begin matches, go on with them and end them, and judges rule on them and open them again, by chance."""

    def __init__(self, matches: Matches, chance: Random) -> None:
        self._made = Making(matches, Folder("memory://nowhere"))
        self._chance = chance
        self._names = list(matches.recorder.matches())

    def do(self) -> None:
        """Anything of this."""
        chance, names, made = self._chance, self._names, self._made
        if not names or (len(names) < MANY and chance.random() < 0.2):
            names.append(f"match-{len(names)}")
            made.begin(names[-1], *releases(*range(chance.randrange(3))))
            return
        name = chance.choice(names)
        state = made.matches.state(name)
        if state.status == "ended":
            reopen = REOPEN if state.players["b"].defeated else OPEN_AGAIN
            made.give(name, chance.choice([reopen, ruling(life("a", 1)), ruling(life("b", -1))]))
        else:
            made.give(name, *chance.choice([releases(1), [lives(a=-1)], [ruling(life("a", 1))], [END], [END_BY_JUDGE]]))


def _play_on(name: str, seed: int, enough: Event) -> None:
    with store.open_to_write(name) as matches:
        players = Players(matches, Random(seed))
        while not enough.is_set():
            players.do()
            time.sleep(0.002)


@contextmanager
def playing_on(name: str, seed: int) -> Iterator[BaseProcess]:
    """A process plays into a store meanwhile."""
    enough = _CONTEXT.Event()
    process = _CONTEXT.Process(target=_play_on, args=(name, seed, enough))
    process.start()
    try:
        yield process
        enough.set()
        process.join(60)
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()


# ------------------------------------------------------------ whoever makes tables


class Maker:
    """A process that runs a command which makes tables, in parts of so many entries, or so many simulated matches.

    If it is to die at a step, it sends itself a SIGKILL then: before it writes rows, syncs, moves or removes a file.
    """

    def __init__(self, said: Path, *command: object, part: int = 1, step: int | None = None) -> None:
        self._said = said
        arguments = (str(said), [*map(str, command)], part, step)
        self.process = _CONTEXT.Process(target=_make, args=arguments)
        self.process.start()

    def end(self, seconds: float = 60) -> int:
        """Wait until it has ended, at most for so long; then it is killed. Its exit status."""
        self.process.join(seconds)
        self.process.kill()
        self.process.join()
        assert self.process.exitcode is not None
        return self.process.exitcode

    @property
    def said(self) -> str:
        """What it has said."""
        return self._said.read_text() if self._said.exists() else ""


def _make(said: str, command: list[str], part: int, step: int | None) -> None:
    vars(of_store)["ENTRIES"] = vars(simulation.batches)["SIZE_OF_TABLES"] = part
    with Path(said).open("w") as out:
        os.dup2(out.fileno(), sys.stdout.fileno())
        os.dup2(out.fileno(), sys.stderr.fileno())
    _die_at(step)
    sys.argv = ["soulrift", *command]
    cli.run()


def _die_at(step: int | None) -> None:
    steps = count(1)

    def watched(whole: Callable[..., Any]) -> Callable[..., Any]:
        def step_of_it(*arguments: Any, **options: Any) -> Any:
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(*arguments, **options)

        return step_of_it

    for where, name in ((TableFile, "write"), (Path, "replace"), (LocalFileSystem, "rm_file"), (Path, "rmdir")):
        setattr(where, name, watched(getattr(where, name)))
    os.fsync = watched(lambda _: None)  # nobody pulls the plug


# ------------------------------------------------------------ kills


def kill_makers(name: str, place: Path, kills: int = KILLS, seed: int = SEED) -> Tally:
    """Kill makers of tables at random moments, one after the other, while somebody plays into their store.

    Each leaves tables that hold every match once at most, as it was after one of its entries; in the end they hold all
    matches as they are. What they acknowledge are the events that tables tell of while there is playing.
    """
    tally = Tally(f"tables, {'PostgreSQL' if store.is_postgres(name) else 'SQLite'}", seed)
    chance, begun, tables = Random(seed), time.monotonic(), Folder(str(place / "tables"))
    place.mkdir(exist_ok=True)
    store.create(name).close()

    def killed(*, part: int, step: int | None = None, seconds: float = 60) -> bool:
        maker = Maker(place / "said", "tables", "--db", name, "-o", tables.root, "--jobs", 1, part=part, step=step)
        status = maker.end(seconds)
        tally.expect(status in {0, -signal.SIGKILL}, f"it ended with {status} and said {maker.said}")
        return status == -signal.SIGKILL

    with store.open_to_read(name) as matches:
        with playing_on(name, seed):
            while tally.kills < kills and not tally.faults:
                if chance.random() < 0.7:
                    is_killed = killed(part=chance.choice(PARTS), step=int(2 ** chance.uniform(0, 9)))
                else:
                    is_killed = killed(part=chance.choice(PARTS), seconds=chance.uniform(0, 0.3))
                tally.kills += is_killed
                lack = _lack(tally, tables, matches)
                tally.unfinished += is_killed and lack
            tally.expect(not killed(part=1), "it was killed by somebody else")
            _lack(tally, tables, matches)
            tally.acknowledged = _events(tables)
        tally.expect(not killed(part=1), "it was killed by somebody else")
        try:
            assert_exact(tables, matches)
        except AssertionError as error:
            tally.expect(kept=False, what=str(error))
        tally.found = _events(tables)
    tally.seconds = time.monotonic() - begun
    return tally


def _lack(tally: Tally, tables: Folder, matches: Matches) -> bool:
    """See that tables are consistent, if there are any; whether they lack something, or something lies beside them."""
    if not Path(tables.root, MANIFEST).exists():
        return True
    try:
        assert_consistent(tables, matches)
    except AssertionError as error:
        tally.expect(kept=False, what=str(error))
    manifest = tables.manifest()
    return not manifest.source or manifest.source.position < matches.recorder.end() or bool(tables.strays(manifest))


def _events(tables: Folder) -> int:
    return sum(part.events for part in tables.manifest().all_parts()) if Path(tables.root, MANIFEST).exists() else 0
