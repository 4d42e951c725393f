"""What evidence costs: the tree and the line hash beside an append, checkpoints, proofs, the audit."""

import io
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.harness import Row, Timed, micro, paired, rate
from benchmarks.mix import Table, recorded
from benchmarks.stores import BUILD
from domain.application import Matches
from domain.entry import Entry, play, played
from domain.rules import AnyCommand, State
from domain.sqlite import sqlite_settings
from replays.audit import audit
from replays.checkpoints import Checkpoint, origin_of, parse_checkpoint
from replays.merkle import ProvingTree, Tree
from replays.notes import SignerKey
from replays.proofs import inclusion_file, parse_inclusion
from replays.reading import Reader
from replays.verify import verify
from replays.writing import match_lines

COMMANDS, BATCH = 4_000, 100
AUDITED = 10_000
AT = "2026-01-01T00:00:00Z"
ORIGIN = origin_of("0123456789abcdef", "mix")


def evidence() -> list[Row]:
    """Appending with and without, checkpoints, proofs, the audit."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        appended = _appended(Path(folder))
    entries = _entries(AUDITED)
    return [appended, *_checkpoints(), *_proofs(entries), _audit(entries)]


def _entries(number: int) -> list[Entry]:
    state = State()
    return [play(state, command) for command in recorded(number)]


def _without_line_hash(state: State, command: AnyCommand) -> Entry:
    """What `play` does, but for the SHA-256 of the line."""
    events, command_json, event_jsons, state_hash, line = played(state, command)
    return Entry(state.entries, events, command_json, event_jsons, state_hash, "0" * 64, line)


def _appended(folder: Path) -> Row:
    """Commands into a store, a hundred at a time, with their line hashes and the tree, and without either."""
    commands, names = recorded(COMMANDS), count()

    def append(matches: Matches) -> int:
        name = f"m{next(names)}"
        matches.start(Table.start(name))
        for at in range(1, COMMANDS, BATCH):
            matches.give_all(name, commands[at : at + BATCH])
        return COMMANDS

    with (
        Matches(sqlite_settings(str(folder / "with.db"))) as ours,
        Matches(sqlite_settings(str(folder / "without.db"))) as peer,
    ):
        trees: dict[str, Tree] = {}

        def grow(match: str, entries: Sequence[Entry]) -> None:
            tree = trees.setdefault(match, Tree())
            for entry in entries:
                tree.append(entry.line)

        ours.on_appended = grow

        def without() -> int:
            with patch("domain.match.play", _without_line_hash):
                return append(peer)

        with_both, plain, ratio = paired(lambda: append(ours), without, rounds=9)
    what = "entry appended in a batch of 100, with tree and line hash : without either"
    return Row(what, micro(with_both), micro(plain), 1 / ratio, "<=", 1.25)


def _checkpoints() -> list[Row]:
    """Checkpoints signed and judged, against Ed25519 alone over as many bytes."""
    key, raw = SignerKey.generate("games.example/eu"), Ed25519PrivateKey.generate()
    root = sha256(b"").digest()
    note = Checkpoint(ORIGIN, AUDITED, root, AT).signed(key)
    text = parse_checkpoint(note)[1].text
    signature, public = raw.sign(text), raw.public_key()

    def sign() -> int:
        for size in range(500):
            Checkpoint(ORIGIN, size, root, AT).signed(key)
        return 500

    def sign_alone() -> int:
        for _ in range(500):
            raw.sign(text)
        return 500

    def judge() -> int:
        for _ in range(500):
            _, parsed = parse_checkpoint(note)
            parsed.signed_by([key.verifier])
        return 500

    def verify_alone() -> int:
        for _ in range(500):
            public.verify(signature, text)
        return 500

    return [
        _row("checkpoint signed : Ed25519 alone", sign, sign_alone, 1.5),
        _row("checkpoint read and verified : Ed25519 alone", judge, verify_alone, 1.5),
    ]


def _row(what: str, ours: Timed, peer: Timed, bar: float) -> Row:
    each, alone, ratio = paired(ours, peer)
    return Row(what, rate(each), rate(alone), 1 / ratio, "<=", bar)


def _proofs(entries: list[Entry]) -> list[Row]:
    """Proofs made and judged, against hashing as many nodes as they hold."""
    tree = ProvingTree()
    for entry in entries:
        tree.append(entry.line)
    note = Checkpoint(ORIGIN, tree.size, tree.root(), AT).signed(SignerKey.generate("games.example/eu"))
    files = [_proof(tree, entry, note) for entry in entries[:500]]
    node, hashes = sha256(b"").digest(), tree.size.bit_length()

    def make() -> int:
        for entry in entries[:500]:
            _proof(tree, entry, note)
        return 500

    def judge() -> int:
        return sum(parse_inclusion(file).holds() for file in files)

    def hash_nodes() -> int:
        for _ in range(500 * hashes):
            sha256(b"\x01" + node + node).digest()
        return 500

    return [
        _row(f"proof of an entry made : {hashes} nodes hashed", make, hash_nodes, 4),
        _row(f"proof of an entry read and followed : {hashes} nodes hashed", judge, hash_nodes, 12),
    ]


def _proof(tree: ProvingTree, entry: Entry, note: bytes) -> bytes:
    index = entry.number - 1
    return inclusion_file(entry.line, index, tree.inclusion_proof(index, tree.size), note)


def _audit(entries: list[Entry]) -> Row:
    """The whole judgment on a match, against verifying it."""
    content = b"".join(line + b"\n" for line in match_lines("mix", entries))

    def judge() -> int:
        recording = next(Reader(io.BytesIO(content)).recordings())
        return audit(recording).entries

    def prove() -> int:
        (verified,) = verify(io.BytesIO(content))
        return verified.entries

    each, alone, ratio = paired(judge, prove, rounds=5)
    what = f"audit of {AUDITED:,} entries : verify"
    return Row(what, f"{each * AUDITED:.2f} s", f"{alone * AUDITED:.2f} s", 1 / ratio, "<=", 2.5)
