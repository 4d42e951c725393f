"""What was signed stays signed: the golden records begin with what the golden checkpoints say, in every version."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from domain.codec import Codec
from replays.checkpoints import parse_checkpoint
from replays.evidence import Evidence, Held, Trust
from replays.files import opened
from replays.keyring import KnownKey
from replays.notes import verifier_key
from replays.verify import Verified, verify, verify_file
from replays.writing import write_archive
from soulrift import store as stores
from tests.golden.make_checkpoints import FOLDER, IN_CORPUS, IN_STORES, KEY
from tests.golden.make_corpus import corpus
from tests.golden.make_stores import files
from tests.golden.test_stores import loaded

HASHES = {
    "corrections-15.note": "e7c5cbb002db38a730fce4919a0fab4c8b6e30db4a641ac15b7dec41129847c0",
    "disputed-23.note": "3fdda801af4f4a3770c29b258df1cbf4d6e3d7d2669a59d7ce6ebe3cf9d815ad",
    "disputed-5.note": "560d648a920db0f84bea4c4a1be4b230ecf9727a05dddf61411ceb85662dcff9",
    "hoard-7.note": "bba0caf2bd33585013b7bdf4d893e97e7d0672fefe91f5f8ad6349acca840648",
    "key": "4f50c288eb58affccaf6b6bb2451c40782bbf1a2354a6d9276687cb4aeda5bc8",
    "long-duel-1.note": "cf1e2d11dd0ecb8b4b3d0bf425179a048ba699570ce7a8c821e20292a13af9f8",
    "long-duel-40.note": "392ce683ae7cdb3e4772a4e3b745eb1c92d3b828f1dbbefc3c2c3052d3b3ab93",
    "long-duel-89.note": "11cb7c61f7cc06dfe87996c5cc6f43182a0df7506fc583a87de7912e996ec365",
    "odd-names-57.note": "2ee3926f1a723af5fd8ff986e6181b886d3b83660b308ee078e9b1ca47bf1f95",
    "sixteen-5.note": "9b1e8f4130c39f81ed7ee0e4653b502c74222a6da0051303e36d3ebdd3f1a498",
    "vector-32.note": "5793b9b91c46cc65f4fc90f2e6282951d4742cd7efbdfd4d606c1cf11750de9c",
    "vector-60.note": "1d6fe7bf226117099248c48b6801aba44715958238e0dcdc58a8be8e8b029537",
}
"""The SHA-256 of each file when it was made."""

NAMES = sorted(f"{name}-{size}.note" for name, (_, sizes) in (IN_STORES | IN_CORPUS).items() for size in sizes)


def held(*names: str) -> Evidence:
    """These checkpoints; the key that signed them is pinned."""
    trust = Trust((KnownKey(verifier_key(KEY.read_text("ascii").strip())),))
    return Evidence([Held(name, (FOLDER / name).read_bytes()) for name in names], trust)


def of_stores() -> list[str]:
    """Those of matches that the golden stores have."""
    return [name for name in NAMES if name.rsplit("-", 1)[0] in IN_STORES]


def told(found: list[Verified]) -> dict[str, str | None]:
    """The verdict on each checkpoint, after seeing that all records are exact."""
    assert {verified.verdict for verified in found} == {"exact"}
    return {judged.checkpoint: judged.verdict for verified in found for judged in verified.checkpoints}


@pytest.fixture(params=["sqlite", "postgres"])
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The golden store of format 1: a copy of the file, or the rows on PostgreSQL."""
    if request.param == "postgres":
        return loaded(request.getfixturevalue("postgres_store"), 1)
    return str(shutil.copy(files(1)[0], tmp_path / "golden.db"))


@pytest.fixture
def upcast(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """This program as if `soul_released` had another shape in version 2; a line for each row that was led to it."""
    steps: list[str] = []

    def lead_on(shape: dict[str, Any]) -> dict[str, Any]:
        steps.append("1 to 2")
        return shape

    monkeypatch.setattr(
        "domain.application.Codec", lambda: Codec({"soul_released": 2}, {("soul_released", 1): lead_on})
    )
    yield steps
    assert steps


def exported(store: str) -> bytes:
    """All matches of a store, as a replay file."""
    file = io.BytesIO()
    with stores.open_to_read(store) as matches:
        names = sorted(matches.recorder.matches())
        write_archive(file, ((name, matches.entries(name)) for name in names))
    return file.getvalue()


def test_they_are_as_they_were_made() -> None:
    """No file of them has changed, and none is missing."""
    assert {path.name: sha256(path.read_bytes()).hexdigest() for path in FOLDER.iterdir()} == HASHES
    assert sorted(HASHES) == sorted([*NAMES, "key"])


def test_they_are_not_made_anew() -> None:
    """Called again, the program that made them leaves them as they are, and says so."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden.make_checkpoints"],
        cwd=FOLDER.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        1,
        "checkpoints is there already; what was written once is not written anew\n",
    )
    assert {path.name: sha256(path.read_bytes()).hexdigest() for path in FOLDER.iterdir()} == HASHES


@pytest.mark.parametrize("name", NAMES)
def test_what_they_say(name: str) -> None:
    """Each is of the match and the size that it is called after."""
    checkpoint, note = parse_checkpoint((FOLDER / name).read_bytes())
    called, size = name.removesuffix(".note").rsplit("-", 1)
    assert (checkpoint.match, checkpoint.size) == ((IN_STORES | IN_CORPUS)[called][0], int(size))
    assert checkpoint.text() == note.text


def test_corpus() -> None:
    """The golden corpus, re-executed by this version, is what was signed."""
    assert told(list(verify_file(corpus(1), held(*NAMES)))) == dict.fromkeys(NAMES, "exact")


def test_stores(golden: str) -> None:
    """The golden stores, on either database, export what was signed."""
    content = exported(golden)
    assert told(list(verify(io.BytesIO(content), held(*of_stores())))) == dict.fromkeys(of_stores(), "exact")


def test_stores_that_a_later_version_reads(golden: str, upcast: list[str]) -> None:
    """So they do where a later version leads their events to another shape: lines are those that were recorded."""
    content = exported(golden)
    assert upcast
    assert told(list(verify(io.BytesIO(content), held(*of_stores())))) == dict.fromkeys(of_stores(), "exact")


def test_store_that_was_played_on(golden: str) -> None:
    """What is appended today takes nothing from what was signed."""
    with stores.open_to_write(golden) as matches:
        matches.give("disputed", '{"type": "release"}')
    content = exported(golden)
    assert told(list(verify(io.BytesIO(content), held(*of_stores())))) == dict.fromkeys(of_stores(), "exact")


def test_line_that_was_changed() -> None:
    """They tell records apart: with a byte more in its last line, a match is another history from there on."""
    with opened(corpus(1)) as file:
        lines = file.read().splitlines()
    start = lines.index(b'{"match":"disputed","replay":1}')
    recorded = lines[start + 1 : start + 24]
    assert [json.loads(line)["entry"] for line in recorded] == list(range(1, 24))
    comparison = held("disputed-5.note", "disputed-23.note").of("disputed")
    for line in [*recorded[:-1], recorded[-1].replace(b'"state_hash"', b' "state_hash"')]:
        comparison.seen(line)
    assert [judged.verdict for judged in comparison.judged(whole=True)] == ["exact", "another-history"]
