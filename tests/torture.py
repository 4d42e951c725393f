"""Matches are played while their player or their database is killed, and the store is held to what it acknowledged.

Scripts are deterministic: at any moment a store must hold a beginning of straight play, byte for byte, that reaches at
least as far as was acknowledged. Followers are killed too, and makers of tables: what they leave is held to the plain
function of the log.
`python -m tests.torture` tells what it did; its exit status is 1 if anything is lost.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, cycle, islice
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, Self

import click
import psycopg
from eventsourcing.persistence import PersistenceError
from psycopg.conninfo import make_conninfo

import domain.application
import domain.postgres_sessions
from domain import State, decode_command, play
from domain.application import Matches
from domain.batch import Answer
from domain.check import Check
from domain.codec import CorruptRecordError
from soulrift import store as stores
from tests.followers import opened, recomputed, rows_of, where_they_differ
from tests.postgres import Server, fresh_schema, server

ROOT = Path(__file__).parents[1]

KILLS = int(os.environ.get("SOULRIFT_KILLS", "10"))
"""How often a player is killed, on each kind of store."""

SERVER_KILLS = int(os.environ.get("SOULRIFT_SERVER_KILLS", "10"))
"""How often the server is killed."""

SEED = int(os.environ.get("SOULRIFT_SEED", "1"))
"""What chance begins with: for the same moments of killing, as far as a machine has them twice."""

TURNS = 60
"""Of a chapter: 421 commands make 601 events, so that a snapshot is taken on the way."""

STRIDE = 150
"""How many entries are stored between two kills, at most, but for those of a batch."""

FOLLOWED = 100
"""How many rows of the log are taken in between two kills of a follower, at most, but for those of a batch."""

DEADLINE = 60.0
"""How many seconds anything may take that is waited for."""

STOPPED = 3
"""The exit status of a player that stopped at the first error it was shown."""

SHOWN = "shown: "
"""How a player begins to say which error it was shown."""

_ENTRY = re.compile(r" *(\d+)  ")


class Chapter:
    """A match script in a file, and the lines of the entries that it makes."""

    def __init__(self, folder: Path, match: str, *, ids: bool = True, turns: int = TURNS) -> None:
        self.match = match
        self.path = folder / f"{match}.jsonl"
        commands = list(_commands(match, turns))
        if ids:
            commands = [{**command, "meta": {"id": f"{match}/{n}"}} for n, command in enumerate(commands, 1)]
        texts = [json.dumps(command) for command in commands]
        self.path.write_text("".join(f"{text}\n" for text in texts))
        state = State()
        self.lines = [play(state, decode_command(text)).line for text in texts]


def _commands(match: str, turns: int) -> Iterator[dict[str, Any]]:
    """Each turn two cards fall, another Soul comes, and all three are spent: what is in play stays small."""
    yield {"type": "start_match", "match": match, "players": [{"player": "ada"}, {"player": "bo"}]}
    for turn in range(1, turns + 1):
        cards, souls = [f"a{turn}", f"b{turn}"], [3 * turn - 2, 3 * turn - 1, 3 * turn]
        yield {"type": "begin_turn", "player": "ada" if turn % 2 else "bo"}
        yield {"type": "enter", "card": cards[0], "controller": "ada"}
        yield {"type": "enter", "card": cards[1], "controller": "bo"}
        yield {"type": "destroy", "cards": cards, "cause": "combat"}
        yield {"type": "release", "cause": "Grave Whisper"}
        yield {"type": "pay", "player": "ada", "amount": 3, "souls": souls, "effect": "Flame Dart"}
        yield {"type": "resolve", "payment": turn}


# ------------------------------------------------------------ players


def give(store: str, script: str, batch: str, patience: str, errors: str) -> int:
    """Play a script and acknowledge each entry once it is stored; `errors`: "stop" at one, or "retry"."""
    for module in (domain.application, domain.postgres_sessions):
        vars(module)["RECONNECT_SECONDS"] = float(patience)
    vars(domain.postgres_sessions)["CONNECT_SECONDS"] = min(domain.postgres_sessions.CONNECT_SECONDS, float(patience))
    commands = Path(script).read_bytes().splitlines()
    match = json.loads(commands[0])["match"]
    rest = iter(commands[1:])
    with stores.open_to_write(store) as matches:
        for some in ([commands[0]], *iter(lambda: list(islice(rest, int(batch))), [])):
            while True:
                try:
                    answers = _given(matches, match, some, first=some[0] is commands[0])
                except PersistenceError as error:
                    print(f"{SHOWN}{type(error).__name__}: {error}")  # noqa: T201 - into the pipe
                    if errors == "stop":
                        return STOPPED
                else:
                    break
            for answer in answers:
                print(f"{answer.entry.number}  {match}")  # noqa: T201 - into the pipe
    return 0


def _given(matches: Matches, match: str, commands: list[bytes], *, first: bool) -> list[Answer]:
    if first:
        return [matches.start(commands[0])]
    if len(commands) == 1:
        return [matches.give(match, commands[0])]
    return [outcome for outcome in matches.give_all(match, commands) if isinstance(outcome, Answer)]


def library(store: str, script: Path, batch: int = 1, patience: float = 10, errors: str = "retry") -> list[str]:
    """The command of a player that uses the library."""
    return ["tests.torture", "give", store, str(script), str(batch), str(patience), errors]


def command_line(store: str, script: Path, batch: int = 1) -> list[str]:
    """The command of a player that is the program itself."""
    return ["soulrift", "play", str(script), "--db", store, "--batch", str(batch)]


class Player:
    """A process that plays; `acknowledged` is the number of the last entry of which it said so."""

    def __init__(self, command: list[str], **environment: str) -> None:
        self.acknowledged = 0
        self.errors = list[str]()
        """The errors it was shown: `Name: message`."""
        self.said = list[str]()
        self._process = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | environment,
            text=True,
        )
        self._listener = Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(SHOWN):
                self.errors.append(line.removeprefix(SHOWN).strip())
            elif found := _ENTRY.match(line):
                self.acknowledged = int(found[1])
            elif not line.strip():
                break  # the program has played it, and shows the board
            self.said = [*self.said[-5:], line]
        self._process.stdout.read()

    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def wait_for(self, entry: int) -> None:
        """Wait until it has acknowledged this entry, or has ended."""
        wait_until(lambda: self.acknowledged >= entry or self.has_ended())

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self._process.kill()

    def end(self) -> int:
        """Wait for its end; then all that it acknowledged is known. Its exit status."""
        try:
            return self._process.wait(DEADLINE)
        finally:
            self.__exit__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.wait()
        self._listener.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something to be so.

    Raises:
        TimeoutError: it took too long.

    """
    last = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > last:
            message = f"waited for {DEADLINE} seconds"
            raise TimeoutError(message)
        time.sleep(0.0005)


# ------------------------------------------------------------ what is found


@dataclass
class Tally:
    """What a loop of kills did and found."""

    what: str
    seed: int
    kills: int = 0
    unfinished: int = 0
    """How many kills left a script unfinished."""
    acknowledged: int = 0
    found: int = 0
    snapshots: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    """The errors that players were shown."""
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def expect(self, kept: bool, what: str) -> None:  # noqa: FBT001 - it is the expectation
        """Note a fault, unless what was expected is so; one that stays is noted once."""
        if not kept and not any(fault.endswith(f": {what}") for fault in self.faults):
            self.faults.append(f"{self.what}: after kill {self.kills} of seed {self.seed}: {what}")

    def entries(self, store: str, chapter: Chapter) -> int:
        """How many entries of a chapter are stored, as its script makes them; the whole store is checked."""
        try:
            with stores.open_to_read(store) as matches:
                check = Check(matches.recorder)
                for fault in check.faults():
                    self.expect(kept=False, what=str(fault))
                self.snapshots = check.snapshots
                lines = [entry.line for entry in matches.entries(chapter.match)] if matches.has(chapter.match) else []
        except (click.UsageError, CorruptRecordError) as error:  # killed before there was a store, or a fault
            self.expect(isinstance(error, click.UsageError), str(error))
            return 0
        self.expect(lines == chapter.lines[: len(lines)], f"the {len(lines)} entries are not those of straight play")
        return len(lines)

    def everything_once(self, store: str, chapter: Chapter) -> None:
        """See that a chapter was played to its end, and that every command took effect once."""
        stored, commands = self.entries(store, chapter), len(chapter.lines)
        self.expect(stored == commands, f"{stored} entries of {commands} commands of {chapter.match}")


def program(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end."""
    command = [sys.executable, "-m", "soulrift", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=DEADLINE, check=False)


def _play_again(store: str, chapter: Chapter, tally: Tally) -> None:
    """Give all commands of a chapter once more, from the start to the end."""
    done = program("play", str(chapter.path), "--db", store)
    tally.expect(done.returncode == 0, f"play said {done.stderr}")
    tally.everything_once(store, chapter)
    _expect_sound(store, tally)


def _expect_sound(store: str, tally: Tally) -> None:
    done = program("check", "--db", store)
    tally.expect((done.returncode, done.stdout[:7]) == (0, "sound: "), f"check said {done.stdout}{done.stderr}")


# ------------------------------------------------------------ kills of the player


def kill_players(store: str, folder: Path, kills: int = KILLS, seed: int = SEED) -> Tally:
    """Kill players at random moments, one after the other, on one store: the program and the library, in turn."""
    on_postgres = stores.is_postgres(store)
    tally, chance = Tally(f"player, {'PostgreSQL' if on_postgres else 'SQLite'}", seed), Random(seed)
    begun = time.monotonic()
    if on_postgres:
        store = make_conninfo(store, application_name=f"torture-{os.getpid()}")
        stores.create(store).close()
    ways = cycle([(command_line, 1), (library, 1), (command_line, 50), (library, 50)])
    for number in count(1):
        if tally.kills == kills or tally.faults:
            break
        chapter, stored, acknowledged = Chapter(folder, f"match-{number}"), 0, 0
        while tally.kills < kills and stored < len(chapter.lines) and not tally.faults:
            play_it, batch = next(ways)
            with Player(play_it(store, chapter.path, batch)) as player:
                _let_play(player, stored, batch, chance)
                player.kill()
                status = player.end()
            _wait_for_its_sessions(store)
            killed = status == -signal.SIGKILL
            tally.kills += killed
            tally.expect(killed or status == 0, f"the player ended with {status} and said {player.said}")
            acknowledged = max(stored, player.acknowledged)
            stored = tally.entries(store, chapter)
            tally.expect(
                acknowledged <= stored <= acknowledged + batch, f"{stored} entries, but {acknowledged} acknowledged"
            )
            tally.unfinished += killed and stored < len(chapter.lines)
        tally.acknowledged += acknowledged
        tally.found += stored
        if not tally.faults:
            _play_again(store, chapter, tally)
    tally.seconds = time.monotonic() - begun
    return tally


def _let_play(player: Player, stored: int, batch: int, chance: Random) -> None:
    """Until a random moment: mostly between two entries that are new, or within a batch; or at the beginning."""
    if chance.random() < 0.2:
        time.sleep(chance.uniform(0, 0.5))
    else:
        player.wait_for(stored + chance.randrange(1, STRIDE))
        time.sleep(chance.uniform(0, 0.003 if batch == 1 else 0.03))


def _wait_for_its_sessions(store: str) -> None:
    """Until the server has noticed that a player is gone: until then it may finish what it was told to."""
    if not stores.is_postgres(store):
        return
    question = b"SELECT 1 FROM pg_stat_activity WHERE application_name = %s"
    name = f"torture-{os.getpid()}"
    with psycopg.connect(make_conninfo(store, application_name="asking"), autocommit=True) as asking:
        wait_until(lambda: asking.execute(question, (name,)).fetchone() is None)


# ------------------------------------------------------------ kills of the follower


def kill_followers(store: str, folder: Path, kills: int = KILLS, seed: int = SEED) -> Tally:
    """Kill followers at random moments, one after the other, on one store; what they acknowledge are rows of its log.

    Each leaves views that hold what the plain function makes of the log as far as they tell, no row less or more.
    """
    on_postgres = stores.is_postgres(store)
    tally, chance = Tally(f"follower, {'PostgreSQL' if on_postgres else 'SQLite'}", seed), Random(seed)
    begun = time.monotonic()
    if on_postgres:
        store = make_conninfo(store, application_name=f"torture-{os.getpid()}")
    stores.create(store).close()
    batches, numbers, rows = cycle((1, 3, 20, 200)), count(1), 0
    while tally.kills < kills and not tally.faults:
        if tally.found == rows:
            rows += _written_at_once(store, Chapter(folder, f"followed-{next(numbers)}"))
        with Player(["tests.followers", "follow", store, str(next(batches))]) as follower:
            _let_follow(follower, rows - tally.found, chance)
            follower.kill()
            status = follower.end()
        _wait_for_its_sessions(store)
        tally.kills += 1
        tally.expect(status == -signal.SIGKILL, f"the follower ended with {status} and said {follower.said}")
        tally.acknowledged = tally.found + follower.acknowledged
        tally.found = _followed_rows(store, tally)
        tally.expect(tally.acknowledged <= tally.found, f"{tally.found} rows, but {tally.acknowledged} acknowledged")
        tally.unfinished += tally.found < rows
    _expect_views_caught_up(store, tally, rows)
    tally.seconds = time.monotonic() - begun
    return tally


def _written_at_once(store: str, chapter: Chapter) -> int:
    """Write a chapter for followers to take in; how many rows that are."""
    first, *rest = chapter.path.read_bytes().splitlines()
    with stores.open_to_write(store) as matches:
        matches.start(first)
        matches.give_all(chapter.match, rest)
        return matches.state(chapter.match).events


def _let_follow(follower: Player, rows: int, chance: Random) -> None:
    """Until a random moment: mostly between two batches that are new, or within one; or at the beginning."""
    if chance.random() < 0.2:
        time.sleep(chance.uniform(0, 0.5))
    else:
        follower.wait_for(chance.randrange(1, min(rows, FOLLOWED) + 1))
        time.sleep(chance.uniform(0, 0.01))


def _followed_rows(store: str, tally: Tally) -> int:
    """How many rows of the log the views tell of; what they hold is compared with the plain function."""
    with stores.open_to_read(store) as matches, opened(matches) as (views, _):
        progress = views.progress()
        for difference in where_they_differ(rows_of(views), recomputed(matches, up_to=progress.position)):
            tally.expect(kept=False, what=difference)
        return progress.events


def _expect_views_caught_up(store: str, tally: Tally, rows: int) -> None:
    """See that the last follower finds the rest, and that the views are then those of a rebuild."""
    with stores.open_to_read(store) as matches, opened(matches) as (views, follower):
        follower.up_to_date()
        tally.found = views.progress().events
        tally.expect(tally.found == rows, f"the views tell of {tally.found} rows of {rows}")
        caught_up = rows_of(views)
        follower.rebuild()
        for difference in where_they_differ(caught_up, rows_of(views)):
            tally.expect(kept=False, what=difference)


# ------------------------------------------------------------ kills of the server


class _Seat:
    """Where one player after the other plays one chapter after the other, and is judged at its end.

    The players of every other chapter have so little patience that they are shown errors. With `ids`, they give a
    command again after one; without, they stop.
    """

    player: Player | None = None
    _chapter: Chapter | None = None
    _is_patient = False

    def __init__(self, store: str, folder: Path, *, ids: bool) -> None:
        self._store, self._folder, self._ids = store, folder, ids
        self._numbers = count(1)

    def take(self, tally: Tally) -> Player:
        """A player that is at it, or will be."""
        if self.player is None or self.player.has_ended():
            self.leave(tally)
            number = next(self._numbers)
            self._chapter = Chapter(self._folder, f"{'with' if self._ids else 'no'}-ids-{number}", ids=self._ids)
            self._is_patient = number % 2 == 1
            patience, errors = 10 if self._is_patient else 0.2, "retry" if self._ids else "stop"
            self.player = Player(library(self._store, self._chapter.path, patience=patience, errors=errors))
        return self.player

    def leave(self, tally: Tally) -> None:
        """Let the player finish, and judge what it leaves."""
        if self.player is None or self._chapter is None:
            return
        status = self.player.end()
        stored, acknowledged = tally.entries(self._store, self._chapter), self.player.acknowledged
        tally.errors.update(error.split(":")[0] for error in self.player.errors)
        tally.expect(not (self._is_patient and self.player.errors), f"a patient player was shown {self.player.errors}")
        tally.acknowledged += acknowledged
        tally.found += stored
        if status == STOPPED and not self._ids:
            possible = {acknowledged, acknowledged + (self.player.errors[-1].startswith("OutcomeUnknownError"))}
            tally.expect(
                stored in possible,
                f"{stored} entries of {self._chapter.match}, {acknowledged} acknowledged, then {self.player.said[-1]}",
            )
            return
        tally.expect(status == 0, f"the player of {self._chapter.match} ended with {status}: {self.player.said}")
        tally.expect(acknowledged == len(self._chapter.lines), f"{acknowledged} acknowledged of {self._chapter.match}")
        tally.everything_once(self._store, self._chapter)

    def clear(self) -> None:
        """Nobody plays here any more."""
        if self.player is not None:
            self.player.__exit__()


def restart(running: Server) -> None:
    """Start a server that was killed; it will not start before the last of its old processes is gone."""

    def starts() -> bool:
        try:
            running.start()
        except RuntimeError as error:
            if "is still in use" not in str(error):
                raise
            return False
        return True

    wait_until(starts)


def kill_server(running: Server, folder: Path, kills: int = SERVER_KILLS, seed: int = SEED) -> Tally:
    """Kill the server at random moments, while one plays with `meta.id` and another without."""
    tally, chance = Tally("server, PostgreSQL", seed), Random(seed)
    begun = time.monotonic()
    stores.create(running.url).close()
    seats = [_Seat(running.url, folder, ids=True), _Seat(running.url, folder, ids=False)]
    try:
        for how in islice(cycle((signal.SIGKILL, signal.SIGQUIT)), kills):
            players = [seat.take(tally) for seat in seats]
            if tally.faults:
                break
            for player, entries in zip(players, (chance.randrange(1, STRIDE), 1), strict=True):
                player.wait_for(player.acknowledged + entries)
            time.sleep(chance.uniform(0, 0.005))
            tally.unfinished += not all(player.has_ended() for player in players)
            running.kill(how)
            tally.kills += 1
            time.sleep(chance.uniform(0, 0.8))
            restart(running)
        for seat in seats:
            seat.leave(tally)
    finally:
        for seat in seats:
            seat.clear()
    _expect_sound(running.url, tally)
    tally.seconds = time.monotonic() - begun
    return tally


# ------------------------------------------------------------ all of it


def main() -> int:
    """All kills, and a table of them; the exit status."""
    columns = "{:<20} {:>6} {:>11} {:>13} {:>8} {:>7} {:>8}\n"
    write = sys.stdout.write
    write(columns.format("killed", "kills", "unfinished", "acknowledged", "found", "faults", "seconds"))
    faults, errors = list[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as place, server("--no-sync") as running:
        folder = Path(place)
        for tally in _all_kills(folder, running):
            numbers = (tally.kills, tally.unfinished, tally.acknowledged, tally.found, len(tally.faults))
            write(columns.format(tally.what, *numbers, f"{tally.seconds:.1f}"))
            sys.stdout.flush()
            faults += tally.faults
            errors += tally.errors
    write(f"errors shown to players: {', '.join(f'{n} {name}' for name, n in sorted(errors.items())) or 'none'}\n")
    write("".join(f"{fault}\n" for fault in faults) or "nothing was lost, and nothing was done twice\n")
    return 1 if faults else 0


def _all_kills(folder: Path, running: Server) -> Iterator[Tally]:
    from tests.makers import kill_makers  # which imports much, and players do without it

    yield kill_players(str(folder / "store.db"), folder)
    with fresh_schema(running.url, "players") as store:
        yield kill_players(store, folder)
    yield kill_followers(str(folder / "followed.db"), folder)
    with fresh_schema(running.url, "followers") as store:
        yield kill_followers(store, folder)
    yield kill_makers(str(folder / "told.db"), folder / "told")
    with fresh_schema(running.url, "told") as store:
        yield kill_makers(store, folder / "told too")
    yield kill_server(running, folder)


if __name__ == "__main__":
    sys.exit(give(*sys.argv[2:]) if sys.argv[1:2] == ["give"] else main())
