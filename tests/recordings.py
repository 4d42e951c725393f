"""Recordings to be read, changed and broken: a small duel, files made of any lines by the published format alone, and
what a cheater does to them.

`python -m tests.recordings STORE FILE N` imports a file, N entries in a transaction, and says when each are stored.
"""

import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from domain import AnyEvent, Entry, State, decode_command, fold, play, state_hash
from domain.application import Matches
from replays.verify import Verified, verify
from soulrift import archives, cli

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.jsonl"))

SEATS = [{"player": "ada", "name": "Ada"}, {"player": "bo", "name": "Bo Ångström"}]

DUEL: list[dict[str, Any]] = [
    {"type": "start_match", "match": "duel", "players": SEATS, "meta": {"id": "c-1"}},
    {"type": "begin_turn", "player": "ada"},
    {"type": "enter", "card": "k1", "controller": "ada"},
    {"type": "enter", "card": "k2", "controller": "bo", "rank": 2},
    {"type": "destroy", "cards": ["k1", "k2"], "cause": "combat"},  # two creatures fall and give a Soul each
    {"type": "release", "rank": 1, "meta": {"id": "c-6", "at": "2026-05-09T11:00:12Z", "actor": "table-1"}},
    {"type": "pay", "player": "bo", "amount": 3, "souls": [2], "effect": "Flame"},
    {"type": "change_life", "changes": [{"player": "ada", "delta": -2}], "reason": "combat"},
    {"type": "resolve", "payment": 1},
    {"type": "release", "rank": 2},
    {"type": "concede", "player": "bo"},  # defeated, and the match ends
]
"""Commands of every kind of field, that leave a match which has ended."""

LIFE_CHANGED = 8
"""The entry of the duel in which somebody loses life in combat."""

RUNNING: list[dict[str, Any]] = [
    {"type": "start_match", "match": "running", "players": SEATS},
    *({"type": "release", "rank": rank} for rank in (0, 1, 2, 3)),
]
"""Commands that leave a match which goes on; each makes one event."""

_event = msgspec.json.Decoder(AnyEvent).decode


# ------------------------------------------------------------ recordings


def script(path: Path) -> list[str]:
    """The commands of a match script."""
    return [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]


def played(commands: Iterable[str | dict[str, Any]]) -> list[Entry]:
    """The entries that commands make."""
    state = State()
    texts = (command if isinstance(command, str) else json.dumps(command) for command in commands)
    return [play(state, decode_command(text)) for text in texts]


def lines(commands: Iterable[str | dict[str, Any]]) -> list[bytes]:
    """The lines that commands make."""
    return [entry.line for entry in played(commands)]


def releases(match: str, count: int, **ids: str) -> list[dict[str, Any]]:
    """Commands that make so many entries in all; with an `id`, each has one of its own."""
    commands: list[dict[str, Any]] = [{"type": "start_match", "match": match, "players": SEATS}]
    for number in range(1, count):
        commands += [{"type": "release"}, {"type": "begin_turn", "player": "ada"}][number % 2 : number % 2 + 1]
    if ids:
        commands = [{**command, "meta": {"id": f"{ids['id']}-{n}"}} for n, command in enumerate(commands, 1)]
    return commands


# ------------------------------------------------------------ the format, as it is described


def canonical(value: Any) -> bytes:
    """JSON as RFC 8785 has it, where all keys are ASCII and all numbers integers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The Merkle tree hash, word by word as RFC 6962 defines it."""
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + root_of(leaves[:split]) + root_of(leaves[split:])).digest()


def file_of(match: str, entries: Sequence[bytes], status: str = "ended", /, **changed: Any) -> bytes:
    """A file of one match, whole and sealed, whatever its lines say; with other values for fields of its two ends."""
    header = {"match": match, "replay": 1}
    end = {"entries": len(entries), "root": root_of(entries).hex(), "status": status, "writer": "another program"}
    for part in (header, end):
        part.update({name: changed[name] for name in part.keys() & changed.keys()})
    first = canonical(header)
    checksum = sha256(first + b"\n" + canonical({**end, "checksum": "0" * 64})).hexdigest()
    return unlined([first, *entries, canonical({**end, "checksum": checksum})])


def archive_of(*files: bytes) -> bytes:
    """An archive of files of one match each."""
    return b'{"archive":1}\n' + b"".join(files) + b'{"matches":%d}\n' % len(files)


def unlined(parts: Iterable[bytes]) -> bytes:
    """Lines as they stand in a file."""
    return b"".join(part + b"\n" for part in parts)


@cache
def duel() -> bytes:
    """The file of the duel."""
    return file_of("duel", lines(DUEL))


@cache
def running() -> bytes:
    """The file of the match that goes on."""
    return file_of("running", lines(RUNNING), "running")


# ------------------------------------------------------------ what a cheater does


def edited(entries: Sequence[bytes], number: int, change: Callable[[dict[str, Any]], object]) -> list[bytes]:
    """The same lines, of which entry `number` is changed, and nothing else."""
    return [_edited(line, change) if n == number else line for n, line in enumerate(entries, 1)]


def refolded(entries: Sequence[bytes], number: int, change: Callable[[dict[str, Any]], object]) -> list[bytes]:
    """The same lines with entry `number` changed, and the state hashes of it and all after it made anew."""
    state, made = State(), []
    for line in edited(entries, number, change):
        entry = json.loads(line)
        fold([_event(canonical(event)) for event in entry["events"]], state)
        made.append(canonical({**entry, "state_hash": state_hash(state)}))
    return made


def _edited(line: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    entry = json.loads(line)
    change(entry)
    return canonical(entry)


# ------------------------------------------------------------ verdicts


def verdicts(content: bytes) -> list[Verified]:
    """The verdicts on the uncompressed bytes of a file."""
    return list(verify(io.BytesIO(content)))


def names(found: Iterable[Verified]) -> list[str]:
    """The verdicts, by their names alone."""
    return [verified.verdict for verified in found]


# ------------------------------------------------------------ the program


class Done(NamedTuple):
    """What a command of the program came to."""

    status: int
    out: str
    err: str


Program = Callable[..., Done]
"""The program, which is called with its arguments."""


def in_process(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    """The program in this process, with all that its entry point does; it foresees every error."""
    monkeypatch.delenv("SOULRIFT_DB", raising=False)

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["soulrift", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.run()
        out, err = capfd.readouterr()
        assert "a fault of our own" not in err, err
        return Done(int(ended.value.code or 0), out, err)

    return run


# ------------------------------------------------------------ an import that can be killed between its transactions


def main(store: str, path: str, at_once: str) -> int:
    """Import so many entries in a transaction; say `begun` before each and `stored` after it."""
    vars(archives)["AT_ONCE"] = int(at_once)
    record = Matches.record

    def told(*arguments: Any, **options: Any) -> None:
        print("begun", flush=True)  # noqa: T201 - into the pipe
        record(*arguments, **options)
        print("stored", flush=True)  # noqa: T201 - into the pipe

    Matches.record = told  # type: ignore[method-assign]
    return archives.import_(Path(path), store, "text", salvage=False)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
