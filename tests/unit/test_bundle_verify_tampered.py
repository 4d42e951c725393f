"""What a cheater may do to a bundle, by the program that lies in it: the status of each, and never a traceback."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bundles import (
    AUDIT,
    KEYS,
    NOTE,
    REPLAY,
    REPORT,
    SUMS,
    Check,
    Files,
    Json,
    checking,
    duel_files,
    forged,
    made,
    proof,
    summed,
    unzipped,
    whole,
    without,
)
from tests.evidence import ANOTHER, CHEATER, IMPOSTOR, SERVER, signed
from tests.recordings import DUEL, LIFE_CHANGED, canonical, edited, file_of, lines, refolded

FILES = duel_files()

LINES = lines(DUEL)

PROOF, OTHER_PROOF = "proofs/entry-7.tlog-proof", "proofs/entry-8.tlog-proof"

PINNED = ("--key", SERVER.text)

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl on this machine")


@pytest.fixture
def program(tmp_path: Path) -> Check:
    """The program, in a folder of its own."""
    return checking(tmp_path)


def life_changed(delta: int) -> Callable[[Json], object]:
    return lambda entry: entry["events"][0].update(delta=delta, life=30 + delta)


def audit_with(change: Callable[[Json], object]) -> bytes:
    judgment = json.loads(FILES[AUDIT])
    change(judgment)
    return canonical(judgment)


def a_player_more(judgment: Json) -> None:
    judgment["players"].append({**judgment["players"][0], "player": "eve"})


def shorter() -> Files:
    """The record without its last entry, under the checkpoint of the whole one."""
    return whole(LINES[:-1], {NOTE: signed(LINES, at=None)})


def other_record() -> Files:
    """Another record of the match, sealed as it should be, under the checkpoint of the true one."""
    changed = refolded(LINES, LIFE_CHANGED, life_changed(-3))
    return whole(changed, {NOTE: signed(LINES, at=None)})


def other_match() -> Files:
    """The record of other commands, of the same match's name."""
    return whole(lines([*DUEL[:-2], {"type": "release", "rank": 3}, DUEL[-1]]), {NOTE: signed(LINES, at=None)})


def without_proofs(files: Files) -> Files:
    return {name: data for name, data in files.items() if not name.startswith("proofs/")}


def another_entry() -> bytes:
    """A proof of entry 7 as nobody recorded it."""
    return proof(edited(LINES, 7, lambda entry: entry["command"].update(amount=2)), 7, FILES[NOTE])


def another_path() -> bytes:
    """A proof with the path of another entry."""
    head, _, note = FILES[PROOF].partition(b"\n\n")
    path = FILES[OTHER_PROOF].partition(b"\n\n")[0].split(b"\n")[3:]
    return b"\n".join([*head.split(b"\n")[:3], *path]) + b"\n\n" + note


def outside() -> Files:
    """Sums that name a file of the machine."""
    digest = hashlib.sha256(Path("/etc/passwd").read_bytes()).hexdigest()
    return {**FILES, SUMS: FILES[SUMS] + f"{digest}  /etc/passwd\n".encode()}


def with_openings(**opening: Any) -> bytes:
    *front, end = FILES[REPLAY].splitlines(keepends=True)
    made = {"openings": [{"commitment": "sha256:" + "0" * 64, **opening}]}
    return b"".join([*front, canonical(made) + b"\n", end])


TAMPERED: dict[str, tuple[int, Callable[[], Files]]] = {
    "event changed": (4, lambda: {**FILES, REPLAY: file_of("duel", refolded(LINES, 8, life_changed(-3)))}),
    "event changed, sums to match": (
        4,
        lambda: summed(FILES, {REPLAY: FILES[REPLAY].replace(b'"life":28', b'"life":29')}),
    ),
    "event changed, and sealed": (8, other_record),
    "wrong root": (4, lambda: summed(FILES, {REPLAY: file_of("duel", LINES, root="0" * 64)})),
    "wrong number of entries": (4, lambda: summed(FILES, {REPLAY: file_of("duel", LINES, entries=12)})),
    "another match in its header": (4, lambda: summed(FILES, {REPLAY: file_of("another", LINES)})),
    "shorter record": (7, shorter),
    "other record": (8, other_match),
    "foreign key": (5, lambda: whole(LINES, by=CHEATER)),
    "own key of the same name": (5, lambda: whole(LINES, by=IMPOSTOR)),
    "signature in another's name": (5, lambda: whole(LINES, {NOTE: forged()})),
    "no checkpoint": (5, lambda: summed(without_proofs(without(NOTE)))),
    "checkpoint of another match": (8, lambda: whole(LINES, {NOTE: signed(LINES, "another", at=None)})),
    "checkpoint of nothing": (4, lambda: whole(LINES, {NOTE: b"soulrift/9f2b6c01d4e83a57/duel\n"})),
    "proof of another entry": (8, lambda: summed(FILES, {PROOF: another_entry()})),
    "proofs swapped": (1, lambda: summed(FILES, {PROOF: FILES[OTHER_PROOF], OTHER_PROOF: FILES[PROOF]})),
    "proof with another path": (8, lambda: summed(FILES, {PROOF: another_path()})),
    "proof for another checkpoint": (4, lambda: summed(FILES, {PROOF: proof(LINES, 7, signed(LINES, by=ANOTHER))})),
    "other life": (1, lambda: summed(FILES, {AUDIT: audit_with(lambda a: a["players"][0].update(life=30))})),
    "other life that adds up": (
        1,
        lambda: summed(FILES, {AUDIT: audit_with(lambda a: a["players"][0].update(life=30, changes=0))}),
    ),
    "other sums for the same life": (
        1,
        lambda: summed(FILES, {AUDIT: audit_with(lambda a: a["players"][0].update(start=31))}),
    ),
    "a player more": (1, lambda: summed(FILES, {AUDIT: audit_with(a_player_more)})),
    "another winner": (1, lambda: summed(FILES, {AUDIT: audit_with(lambda a: a.update(winner="bo"))})),
    "not ended": (1, lambda: summed(FILES, {AUDIT: audit_with(lambda a: a.update(status="running"))})),
    "another defeat": (1, lambda: summed(FILES, {AUDIT: audit_with(lambda a: a["players"][0].update(defeated=True))})),
    "another match in the judgment": (1, lambda: summed(FILES, {AUDIT: audit_with(lambda a: a.update(match="duet"))})),
    "no judgment": (4, lambda: summed(FILES, {AUDIT: b"{"})),
    "a file more": (4, lambda: {**FILES, "notes.txt": b"exact"}),
    "a file less": (4, lambda: without(PROOF)),
    "no sums": (4, lambda: without(SUMS)),
    "no record": (4, lambda: summed(without(REPLAY))),
    "garbage for sums": (4, lambda: {**FILES, SUMS: b"\xff\x00garbage\n"}),
    "sums of a file outside": (4, outside),
    "broken UTF-8 in the record": (4, lambda: summed(FILES, {REPLAY: b"\xff\xfe" + FILES[REPLAY]})),
    "broken UTF-8 in an entry": (4, lambda: whole([line.replace(b"combat", b"comb\xff\xfe") for line in LINES])),
    "broken UTF-8 in a checkpoint": (4, lambda: summed(FILES, {NOTE: b"\xff" + FILES[NOTE]})),
    "broken UTF-8 in the judgment": (4, lambda: summed(FILES, {AUDIT: b"\xff" + FILES[AUDIT]})),
    "a line that is no JSON": (4, lambda: whole([*LINES[:5], b'{"command":', *LINES[6:]])),
    "a line that is no object": (4, lambda: whole([*LINES[:5], b"5", *LINES[6:]])),
    "nothing": (4, lambda: summed(FILES, {REPLAY: b""})),
    "ends only": (4, lambda: summed(FILES, {REPLAY: b"{}\n{}\n"})),
    "a false opening": (4, lambda: summed(FILES, {REPLAY: with_openings(value="Ada", salt="00" * 16)})),
    "an opening without salt": (4, lambda: summed(FILES, {REPLAY: with_openings(value="Ada")})),
    "an opening of no text": (4, lambda: summed(FILES, {REPLAY: with_openings(value=5, salt="00")})),
}
"""What a cheater or the weather may do to a bundle, with the status that meets it where the server's key is named."""


BURNED = [
    *DUEL[:2],
    {"type": "release", "rank": 2},
    {"type": "pay", "player": "ada", "amount": 1, "souls": [1], "effect": "drain"},  # 3 - 1 = 2 too much, 6 life (B-2)
    {"type": "fizzle", "payment": 1},  # for its cost of 1, 3 life (B-3)
    {
        "type": "ruling",
        "judge": "O",
        "reason": "the cost was 3",
        "corrections": [{"life": {"player": "ada", "delta": 6}}],
    },
]
"""A match in which ada loses 6 and 3 of 30 life, and is given 6 again."""

MISJUDGED: dict[str, Callable[[Json], object]] = {
    "no Soulburn": lambda a: a.update(soulburn=[]),
    "Soulburn by another rule": lambda a: a["soulburn"][0].update(rule="B-3"),
    "Soulburn of another player": lambda a: a["soulburn"][1].update(player="bo"),
    "other Soulburn for the same life": lambda a: a["players"][0].update(overpay=3, fizzle=6),
    "no ruling": lambda a: a.update(rulings=[]),
    "a ruling elsewhere": lambda a: a["rulings"][0].update(entry=5),
    "a ruling passed off as a change": lambda a: a["players"][0].update(changes=6, rulings=0),
    "an end that there was not": lambda a: a.update(status="ended", winner="bo"),
    "an entry less": lambda a: a.update(entries=5),
    "another root": lambda a: a.update(root="0" * 64),
}
"""What a judgment of that match may tell that is not so."""


@pytest.fixture(scope="module")
def burned(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The bundle of that match."""
    return unzipped(made(tmp_path_factory.mktemp("burned"), BURNED))


@needs_openssl
class TestMisjudged:
    """Bundles whose judgment tells other things than the record."""

    def test_true_judgment(self, burned: Files, program: Check) -> None:
        """30 - 6 - 3 + 6 = 27."""
        status, told = program(burned, *PINNED)
        assert status == 0, told
        assert "life adds up: ada 27, bo 30;" in told

    @pytest.mark.parametrize("name", MISJUDGED)
    def test_false_judgment(self, name: str, burned: Files, program: Check) -> None:
        """What is told of the match is held against its events."""
        judgment = json.loads(burned[AUDIT])
        MISJUDGED[name](judgment)
        status, told = program(summed(burned, {AUDIT: canonical(judgment)}), *PINNED)
        assert status == 1, told
        assert "\nNO    audit.json tells another " in told

    def test_page_is_said_not_to_be_looked_at(self, burned: Files, program: Check) -> None:
        """A page that tells lies is nothing that it can see, and it says so."""
        status, told = program(summed(burned, {REPORT: b"<p>ada won"}), *PINNED)
        assert status == 0
        assert (
            "NOT checked: whether the events follow from the commands by the rules, and what report.html tells" in told
        )


@needs_openssl
class TestTampered:
    """Bundles with which something is wrong."""

    @pytest.mark.parametrize("name", TAMPERED)
    def test_status(self, name: str, program: Check) -> None:
        """Each tampering has its exit status, and is told in a line; never a traceback."""
        status, make = TAMPERED[name]
        found, told = program(make(), *PINNED)
        assert found == status, told
        assert "\nNO " in "\n" + told
        assert "all of it fits" not in told

    @pytest.mark.parametrize("name", ["event changed, and sealed", "shorter record", "other life", "a file more"])
    def test_without_a_pinned_key(self, name: str, program: Check) -> None:
        """What is no matter of keys has the same status without one."""
        status, make = TAMPERED[name]
        assert program(make())[0] == status

    def test_cheaters_own_key(self, program: Check) -> None:
        """Everything signed anew by a key that comes along is a first use, and no more."""
        assert program(whole(LINES, by=CHEATER))[0] == 6
        assert program(whole(LINES, by=CHEATER), "--key", CHEATER.text)[0] == 0

    @pytest.mark.parametrize("keys", [b"garbage\n", b"\xff\xfe\n", b"\n", SERVER.text.encode()[:-2]])
    def test_garbage_for_keys(self, keys: bytes, program: Check) -> None:
        """Keys that are none are damage, where it is by them that the bundle is judged."""
        assert program(summed(FILES, {KEYS: keys}))[0] == 4

    def test_no_keys(self, program: Check) -> None:
        """Where no key came along, nobody that is known signed it."""
        assert program(summed(FILES, {KEYS: b""}))[0] == 5

    @pytest.mark.parametrize("name", sorted({*FILES} - {SUMS}))
    def test_any_file_changed(self, name: str, program: Check) -> None:
        """A file that is not as it was listed is named."""
        status, told = program({**FILES, name: FILES[name] + b" "}, *PINNED)
        assert (status, f"{name} is not as it was written" in told) == (4, True)


def with_entry(number: int, **fields: Any) -> list[bytes]:
    return edited(LINES, number, lambda entry: entry.update(fields))


def numbered_match() -> Files:
    entries = edited(LINES, 1, lambda entry: entry["events"][0].update(match=5))
    return whole(entries, {REPLAY: file_of(5, entries)}, CHEATER)  # type: ignore[arg-type]  # which is the point


def named_match(name: str) -> Files:
    entries = [line.replace(b'"match":"duel"', b'"match":"%b"' % name.encode()) for line in LINES]
    file = file_of("duel", entries).replace(b'"match":"duel"', b'"match":"%b"' % name.encode())
    return whole(entries, {REPLAY: file}, CHEATER)


SIZE_OF_5000 = signed(LINES, at=None).replace(b"\n11\n", b"\n" + b"9" * 5_000 + b"\n")

NESTED = b"[" * 100_000 + b"]" * 100_000

HOSTILE: dict[str, Callable[[], Files]] = {
    "nested record": lambda: whole([*LINES[:5], b'{"command":' + NESTED + b"}", *LINES[6:]], by=CHEATER),
    "nested judgment": lambda: summed(FILES, {AUDIT: NESTED}),
    "events that are none": lambda: whole(with_entry(6, events=None), by=CHEATER),
    "an event without a type": lambda: whole(with_entry(6, events=[{}]), by=CHEATER),
    "an event that is a number": lambda: whole(with_entry(6, events=[5]), by=CHEATER),
    "Soulburn of nobody": lambda: whole(
        with_entry(6, events=[{"type": "soulburn_taken", "player": "eve", "damage": 3}]), by=CHEATER
    ),
    "life of text": lambda: whole(
        with_entry(6, events=[{"type": "life_changed", "player": "ada", "delta": "3"}]), by=CHEATER
    ),
    "a match that is a number": numbered_match,
    "a match that is half a letter": lambda: named_match("\\ud800"),
    "a long size": lambda: whole(LINES, {NOTE: SIZE_OF_5000}),
    "a long index": lambda: summed(FILES, {PROOF: FILES[PROOF].replace(b"index 6", b"index " + b"9" * 5_000)}),
    "a long number": lambda: summed(FILES, {AUDIT: FILES[AUDIT].replace(b'"life":28', b'"life":' + b"9" * 5_000)}),
    "a folder for a file": lambda: {**without(NOTE), f"{NOTE}/x": b""},
    "a letter that no terminal has": lambda: named_match("\u0085\u202e"),
}
"""Bundles made to make the program fail, with whatever signature they need."""


@needs_openssl
@pytest.mark.parametrize("name", HOSTILE)
def test_never_a_traceback(name: str, program: Check) -> None:
    """Whatever stands in a bundle, whoever signed it, the program ends with a verdict that is no good one."""
    status, told = program(HOSTILE[name]())
    assert status in {1, 4, 5, 7, 8}, told
    assert "\nVerdict: refused" in told
