"""What recordings cost: proving, reading, seeking, keeping, and moving them in and out of stores."""

import io
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import count
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from benchmarks.filling import many_matches
from benchmarks.harness import Row, Timed, micro, most_memory, paired, rate
from benchmarks.mix import recorded
from benchmarks.stores import BUILD
from domain.application import Matches
from domain.entry import Entry, play
from domain.rules import AnyEvent, State
from domain.sqlite import sqlite_settings
from replays.files import written
from replays.reading import Reader
from replays.stepping import Steps, take
from replays.verify import verify, verify_file
from replays.writing import match_lines, write_archive
from soulrift.archives import import_

COMMANDS = 20_000
SHORT, LONG = 1_000, 100_000
MOVED = 1_000
"""Matches that are exported and imported."""

HUGE = 1_000_000
"""Entries of the archive whose peak memory is measured."""

HUNDRED = 100

MOST_MEMORY = 200
"""MB."""


def recordings() -> list[Row]:
    """Verify, read, seek, sizes, export and import, memory."""
    BUILD.mkdir(exist_ok=True)
    entries = _entries(COMMANDS)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        return [
            _verify(entries),
            _read(entries),
            *_seek(),
            *_sizes(entries, Path(folder)),
            *_moved(Path(folder)),
            *_memory(Path(folder)),
        ]


def _entries(number: int) -> list[Entry]:
    state = State()
    return [play(state, command) for command in recorded(number)]


def _file(entries: list[Entry]) -> bytes:
    return b"".join(line + b"\n" for line in match_lines("mix", entries))


def _verify(entries: list[Entry]) -> Row:
    """Proving a recording, against playing its commands in memory with all hashes."""
    content, commands = _file(entries), recorded(COMMANDS)

    def prove() -> int:
        (verified,) = verify(io.BytesIO(content))
        return verified.entries

    def play_all() -> int:
        state = State()
        for command in commands:
            play(state, command)
        return COMMANDS

    ours, peer, ratio = paired(prove, play_all)
    return Row("entry verified : played in memory with its hashes", micro(ours), micro(peer), 1 / ratio, "<=", 1.6)


class _Line(Struct, gc=False):
    command: Raw
    entry: int
    events: tuple[AnyEvent, ...]
    state_hash: str


def _read(entries: list[Entry]) -> Row:
    """Reading a recording and stepping through it without hashes, against msgspec decoding the same lines alone."""
    content, lines = _file(entries), [entry.line for entry in entries]
    decode = msgspec.json.Decoder(_Line).decode

    def step() -> int:
        state = State()
        for recording in Reader(io.BytesIO(content)).recordings():
            for found in recording.lines():
                take(found.content, state)
        return state.entries

    def decode_only() -> int:
        for line in lines:
            decode(line)
        return len(lines)

    ours, peer, ratio = paired(step, decode_only)
    return Row("entry stepped over : msgspec decoding its line", micro(ours), micro(peer), 1 / ratio, "<=", 3)


def _seek() -> list[Row]:
    """Seeking to random entries of a long recording, against a short one; and what the index costs."""
    lines = [entry.line for entry in _entries(LONG)]
    tracemalloc.start()
    long = Steps(lines)
    kept = tracemalloc.get_traced_memory()[0] / LONG
    tracemalloc.stop()
    short = Steps(lines[:SHORT])
    ours, peer, ratio = paired(_seeks(long), _seeks(short))
    rows = [Row(f"seek to an entry of {LONG:,} : of {SHORT:,}", micro(ours), micro(peer), 1 / ratio, "<=", 2)]

    def build() -> int:
        return Steps(lines).entries

    def step() -> int:
        state = State()
        for line in lines:
            take(line, state)
        return LONG

    ours, peer, ratio = paired(build, step, rounds=3)
    rows.append(Row("entry indexed : stepped over", micro(ours), micro(peer), 1 / ratio, "<=", 2))
    plain = sum(map(len, lines)) / LONG
    what = "memory of the index, an entry : its line"
    return [*rows, Row(what, f"{kept:.0f} B", f"{plain:.0f} B", kept / plain, "<=", 0.5)]


def _seeks(steps: Steps) -> Timed:
    numbers = (number * 7_919 % steps.entries + 1 for number in count())

    def seek() -> int:
        for _ in range(200):
            steps.state(next(numbers))
        return 200

    return seek


def _sizes(entries: list[Entry], folder: Path) -> list[Row]:
    """Bytes an entry in a file, compressed and plain."""
    content = _file(entries)
    plain = len(content) / len(entries)
    rows = []
    for ending, bar in ((".gz", 0.3), (".zst", 0.3)):
        path = folder / f"mix{ending}"
        with written(path, replace=True) as file:
            file.write(content)
        size = path.stat().st_size / len(entries)
        rows.append(Row(f"entry in {ending} : plain", f"{size:.0f} B", f"{plain:.0f} B", size / plain, "<=", bar))
    return rows


def _moved(folder: Path) -> list[Row]:
    """Export of many short matches against reading them from the store, import against verifying them."""
    path, numbers = folder / "moved.jsonl", count()
    with Matches(sqlite_settings(str(folder / "moved.db"))) as matches:
        many_matches(matches, MOVED)
        names = sorted(matches.recorder.matches())

        def export() -> int:
            with written(path, replace=True) as file:
                write_archive(file, ((name, matches.entries(name)) for name in names))
            return MOVED

        def read() -> int:
            for name in names:
                for _ in matches.entries(name):
                    pass
            return MOVED

        ours, peer, ratio = paired(export, read, rounds=5)
    rows = [Row("match exported : read from the store", rate(ours), rate(peer), 1 / ratio, "<=", 3)]

    def bring_in() -> int:
        with redirect_stdout(io.StringIO()):
            import_(path, str(folder / f"import-{next(numbers)}.db"), "json", salvage=False)
        return MOVED

    def prove() -> int:
        return len(list(verify_file(path)))

    ours, peer, ratio = paired(bring_in, prove, rounds=5)
    return [*rows, Row("match imported : verified", rate(ours), rate(peer), 1 / ratio, "<=", 6)]


def _memory(folder: Path) -> list[Row]:
    """The most memory of programs that export, verify and import an archive of a million entries."""
    entries = _entries(HUGE // HUNDRED)
    archive, store, again = folder / "huge.jsonl", folder / "huge.db", folder / "again.jsonl"
    with written(archive, replace=True) as file:
        write_archive(file, ((name, _under(name, entries)) for name in map("m{:02}".format, range(HUNDRED))))
    rows = []
    for what, arguments in (
        ("verify", ["verify", str(archive)]),
        ("import", ["import", str(archive), "--db", str(store)]),
        ("export", ["export", "--all", "-o", str(again), "--db", str(store)]),
    ):
        most = most_memory(*arguments)
        told = f"memory to {what} {HUGE:,} entries : {MOST_MEMORY} MB"
        rows.append(Row(told, f"{most:.0f} MB", "", most / MOST_MEMORY, "<=", 1))
    return rows


def _under(name: str, entries: list[Entry]) -> Iterator[Entry]:
    """The same match under another name: its name is in the first line alone, and in no hash of a state."""
    yield play(State(), msgspec.structs.replace(recorded(1)[0], match=name))
    yield from entries[1:]
