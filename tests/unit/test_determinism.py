"""The same commands give the same bytes in every process, whatever Python's hash seed."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "matches.jsonl"
SEEDS = ("0", "1", "2", "3", "random")

PLAY = """
import json, sys
from hashlib import sha256
import msgspec
from domain import play
from domain.rules import Refusal, State, decode_command, options

digest = sha256()
with open(sys.argv[1], encoding="utf-8") as golden:
    scripts = [json.loads(line)["script"] for line in golden]
events = 0
for script in scripts:
    state = State()
    for line in script:
        try:
            entry = play(state, decode_command(json.dumps(line)))
        except Refusal as refusal:
            digest.update(msgspec.json.encode(refusal.view()))
            continue
        events += len(entry.events)
        digest.update(entry.line)
        digest.update(entry.line_hash.encode())
        digest.update(msgspec.json.encode(state.view()))
        for player in state.players:
            digest.update(msgspec.json.encode(options(state, player, 3)))
print(hash("soul"), len(scripts), events, digest.hexdigest())
"""
"""Plays every golden script and prints a word's hash under the seed, how much was played, and a digest of it all."""


def play(seed: str) -> list[str]:
    """What `PLAY` prints in a process of its own, under this hash seed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PLAY, str(GOLDEN)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_five_hash_seeds_give_identical_bytes() -> None:
    """Every golden match gives the same lines, refusals, options and hashes, byte for byte, under five seeds."""
    played = [play(seed) for seed in SEEDS]
    assert len({word for word, *_ in played}) > 1, "the seeds do differ"
    assert len({tuple(rest) for _, *rest in played}) == 1
    _, scripts, events, _ = played[0]
    assert int(scripts) == len(GOLDEN.read_text(encoding="utf-8").splitlines())
    assert int(events) > int(scripts)
