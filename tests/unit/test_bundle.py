"""Bundles as zip files: one way to write each, and whatever else comes is refused in words."""

import io
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from replays import bundle
from replays.bundle import BundleError, packed, unpacked
from tests.bundles import (
    AUDIT,
    KEYS,
    NOTE,
    README,
    REPLAY,
    REPORT,
    SUMS,
    VERIFY,
    duel_bundle,
    judged,
    remade,
    sums_of,
    unzipped,
    zipped,
)
from tests.evidence import SERVER, pinned

PROOFS = ("proofs/entry-7.tlog-proof", "proofs/entry-61.tlog-proof")

FILES = {
    README: b"read\n",
    VERIFY: b"pass\n",
    REPLAY: b"{}\n",
    KEYS: b"",
    NOTE: b"a note",
    "checkpoints/2.note": b"a note",
    "checkpoints/10.note": b"a note",
    PROOFS[0]: b"a proof",
    PROOFS[1]: b"a proof",
    AUDIT: b"{}",
    REPORT: b"",
}
"""Files of every kind that a bundle has, in its order: numbers are numbers there, 2 before 10 and 7 before 61."""

WHOLE = {**FILES, SUMS: sums_of(FILES)}

CONTENT = zipped(WHOLE)


def refused(content: bytes) -> str:
    """Why these bytes are no bundle."""
    with pytest.raises(BundleError) as error:
        unpacked(content)
    return str(error.value)


class TestPacked:
    """How a bundle is written."""

    def test_one_order(self) -> None:
        """Whatever order the files come in, they stand in one, with their SHA-256 behind them."""
        for given in (FILES, dict(sorted(FILES.items())), dict(reversed(FILES.items()))):
            assert packed(given) == CONTENT
        assert list(unzipped(CONTENT)) == [*FILES, SUMS]

    def test_sums(self) -> None:
        """SHA256SUMS is as `sha256sum` writes it."""
        lines = unzipped(packed(FILES))[SUMS].decode().splitlines()
        assert lines[0] == "".join((sha256(FILES[README]).hexdigest(), "  README.txt"))
        assert len(lines) == len(FILES)

    def test_members_tell_nothing_of_the_machine(self) -> None:
        """Nothing is compressed; dates, rights and systems are the same everywhere."""
        with zipfile.ZipFile(io.BytesIO(packed(FILES))) as found:
            assert found.comment == b""
            for info in found.infolist():
                assert (info.compress_type, info.date_time) == (zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0))
                assert (info.create_system, info.external_attr, info.extra) == (3, 0o644 << 16, b"")

    def test_unpacked_again(self) -> None:
        """What is packed is unpacked."""
        assert unpacked(CONTENT) == WHOLE

    @pytest.mark.parametrize("name", ["notes.txt", "checkpoints/0.note", "checkpoints/01.note", "proofs/61", ""])
    def test_no_other_files(self, name: str) -> None:
        """A file that belongs to no bundle is packed into none."""
        with pytest.raises(BundleError):
            packed({**FILES, name: b""})


def renamed(old: str, new: str) -> dict[str, bytes]:
    return {new if name == old else name: data for name, data in WHOLE.items()}


def recomputed(old: str, new: str) -> bytes:
    """A file renamed, with the sums made anew."""
    return remade({new if name == old else name: data for name, data in FILES.items()})


def moved_to_front() -> bytes:
    return zipped({REPORT: FILES[REPORT], **WHOLE})


def doubled() -> bytes:
    content = io.BytesIO(CONTENT)
    with zipfile.ZipFile(content, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr(AUDIT, b'{"verdict":"exact"}')
    return content.getvalue()


def compressed() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in WHOLE.items():
            file.writestr(name, data)
    return content.getvalue()


def commented() -> bytes:
    content = io.BytesIO(CONTENT)
    with zipfile.ZipFile(content, "a") as file:
        file.comment = b"exact"
    return content.getvalue()


CHANGES: dict[str, Callable[[], bytes]] = {
    "a name twice": doubled,
    "reordered": moved_to_front,
    "reordered, with sums to match": lambda: zipped(
        {**dict(reversed(FILES.items())), SUMS: sums_of(dict(reversed(FILES.items())))}
    ),
    "compressed": compressed,
    "a comment": commented,
    "bytes in front": lambda: b"\x00" + CONTENT,
    "a program in front": lambda: b"#!/bin/sh\nexit 0\n" + CONTENT,
    "bytes behind": lambda: CONTENT + b"\x00",
    "twice": lambda: CONTENT + CONTENT,
    "a file renamed": lambda: zipped(renamed(NOTE, "checkpoints/3.note")),
    "another date": lambda: zipped(WHOLE, date_time=(2026, 5, 9, 11, 0, 12)),
    "other rights": lambda: zipped(WHOLE, external_attr=0o777 << 16),
    "another system": lambda: zipped(WHOLE, create_system=0),
    "a field": lambda: zipped(WHOLE, extra=b"\x99\x99\x00\x00"),
    "a comment of a file": lambda: zipped(WHOLE, comment=b"x"),
    "another sum": lambda: zipped({**WHOLE, README: b"Read\n"}),
    "no sums": lambda: zipped(FILES),
    "no files": lambda: zipped({}),
    "nothing": lambda: b"",
    "the beginning alone": lambda: bundle.START,
    "cut": lambda: CONTENT[:-1],
    "no zip": lambda: b"PK\x03\x04" + b"x" * 1_000,
}


class TestUnpacked:
    """What is no bundle."""

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
    def test_changed(self, change: Callable[[], bytes]) -> None:
        """A zip file in which the same files stand otherwise is none."""
        assert refused(change())

    @pytest.mark.parametrize(
        "name",
        [
            "../checkpoints/1.note",
            "checkpoints/../../1.note",
            "/etc/passwd",
            "checkpoints\\1.note",
            "C:\\1.note",
            "checkpoints/",
            "checkpoints/1.note/",
            "./checkpoints/1.note",
            "checkpoints/1.NOTE",
            "checkpoints/٣.note",
            "checkpoints/1.note\n",
            "checkpoints/1.notex",
            "",
        ],
    )
    def test_names_that_lead_elsewhere(self, name: str) -> None:
        """No name leads out of the folder into which somebody unpacks, whatever the sums say."""
        assert refused(recomputed(NOTE, name))
        assert refused(remade({**FILES, name: b"x"}))

    @pytest.mark.parametrize("name", ["checkpoints/" + "9" * 5_000 + ".note", "proofs/entry-" + "1" * 60_000])
    def test_long_names(self, name: str) -> None:
        """A name with more digits than any number has is refused in words."""
        assert refused(remade({**FILES, name: b"x"}))

    @pytest.mark.parametrize("name", [README, VERIFY, REPLAY, KEYS, AUDIT, REPORT])
    def test_missing(self, name: str) -> None:
        """A bundle without one of its files is none, and it is told which."""
        assert name in refused(remade({other: data for other, data in FILES.items() if other != name}))

    def test_cut_anywhere(self) -> None:
        """A bundle that is cut off is none."""
        for size in range(0, len(CONTENT), 17):
            refused(CONTENT[:size])

    def test_any_byte_flipped(self) -> None:
        """No bit of it can be another one."""
        for at in range(len(CONTENT)):
            refused(CONTENT[:at] + bytes([CONTENT[at] ^ 1 << at % 8]) + CONTENT[at + 1 :])

    @pytest.mark.parametrize("value", [0, 1, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF])
    @pytest.mark.parametrize("offset", [16, 20, 24, 28, 30, 32, 42])
    def test_any_size_declared(self, offset: int, value: int) -> None:
        """Whatever the directory says of a file, sums, sizes, lengths, places: it is refused."""
        at = CONTENT.index(b"PK\x01\x02") + offset
        width = 2 if 28 <= offset < 36 else 4
        written = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
        if written != CONTENT[at : at + width]:
            refused(CONTENT[:at] + written + CONTENT[at + width :])

    @pytest.mark.parametrize("value", [0, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
    def test_any_size_of_64_bits(self, value: int) -> None:
        """Nor does it matter what large zip files may say."""
        for fields in (1, 2, 3):
            refused(zip64(value, fields))

    def test_files_that_overlap(self) -> None:
        """A small file that unpacks into a huge one is refused before it does."""
        content = bomb(200, 1 << 20)
        assert len(content) < 2 << 20
        tracemalloc.start()
        try:
            refused(content)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 20 << 20


def zip64(value: int, fields: int) -> bytes:
    """A zip file whose directory says of a file, in 64 bits, so many of: its size, its packed size, its place."""
    name = REPLAY.encode()
    extra = struct.pack("<HH", 1, 8 * fields) + struct.pack("<Q", value) * fields
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 45, 0, 0, 0, 33, zlib.crc32(b"x"), 1, 1, len(name), 0)
    sizes = [0xFFFFFFFF if fields > 1 else 1, 0xFFFFFFFF if fields > 0 and fields != 1 else 1]
    place = 0xFFFFFFFF if fields in {1, 3} else 0
    head = (b"PK\x01\x02", 45, 3, 45, 0, 0, 0, 0, 33, zlib.crc32(b"x"), *sizes, len(name), len(extra))
    entry = struct.pack("<4s4B4HL2L5H2L", *head, 0, 0, 0, 0, place) + name + extra
    body = local + name + b"x"
    return body + entry + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(body), 0)


def bomb(count: int, size: int) -> bytes:
    """A zip file in which each file holds all those behind it, and so many bytes more."""
    entries, tails = list[tuple[bytes, int, int]](), bytes(size)
    for number in range(count, 0, -1):
        name = f"checkpoints/{number}.note".encode()
        crc = zlib.crc32(tails)
        header = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 33, crc, len(tails), len(tails), len(name), 0)
        entries.append((name, crc, len(tails)))
        tails = header + name + tails
    content, directory, place = tails, b"", 0
    for name, crc, length in reversed(entries):
        head = (b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 33, crc, length, length, len(name), 0, 0, 0, 0, 0o644 << 16)
        directory += struct.pack("<4s4B4HL2L5H2L", *head, place) + name
        place += 30 + len(name)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(content), 0)
    return content + directory + end


class TestParts:
    """What stands in a bundle."""

    @pytest.mark.parametrize("text", [b"\xff", b"nonsense\n", SERVER.text.encode()[:-1] + b"\n", b"\n"])
    def test_no_keys(self, text: bytes) -> None:
        """What is no key is told."""
        with pytest.raises(BundleError, match=r"keys\.txt"):
            bundle.keys({KEYS: text})

    def test_keys(self) -> None:
        """A key a line."""
        assert bundle.keys({KEYS: f"{SERVER.text}\n".encode()}) == (SERVER.verifier,)
        assert bundle.keys({KEYS: b""}) == ()

    def test_no_proof(self) -> None:
        """What is no proof is told, with its name."""
        with pytest.raises(BundleError, match="entry-61"):
            bundle.proofs({PROOFS[1]: b"nonsense"})

    def test_names(self) -> None:
        """Checkpoints and proofs are called by their numbers."""
        assert (bundle.checkpoint_name(1), bundle.proof_name(61)) == (NOTE, PROOFS[1])


class TestJudged:
    """A bundle that this program made, by `soulrift verify`."""

    def test_as_it_is(self, tmp_path: Path) -> None:
        """It is exact where the key is pinned, and else as good as the key that came along."""
        assert judged(tmp_path, duel_bundle(), pinned(SERVER)).verdict == "exact"
        assert judged(tmp_path, duel_bundle()).verdict == "first-use"

    def test_any_byte_flipped(self, tmp_path: Path) -> None:
        """Wherever a byte is another one, it is refused."""
        content = duel_bundle()
        for at in [*range(0, len(content), 97), *range(len(content) - 30, len(content))]:
            flipped = content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]
            assert judged(tmp_path, flipped, pinned(SERVER)).verdict == "damaged", at

    def test_any_byte_of_a_file_changed(self, tmp_path: Path) -> None:
        """Nor can a byte be another one in any of its files where sums and zip file are made anew."""
        files = unzipped(duel_bundle())
        for name, data in files.items():
            if name != SUMS:
                for at in sorted({0, len(data) // 3, len(data) // 2, len(data) - 1}):
                    one: dict[str, Any] = {name: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]}
                    verdict = judged(tmp_path, remade({**files, **one}), pinned(SERVER)).verdict
                    assert verdict not in {"exact", "first-use"}, (name, at)

    def test_errors_are_told_in_words(self, tmp_path: Path) -> None:
        """What is no bundle is damaged, with a reason; a note or a proof that is none as well."""
        assert judged(tmp_path, b"PK\x03\x04").verdict == "damaged"
        files = unzipped(duel_bundle())
        for name in (KEYS, NOTE, "proofs/entry-7.tlog-proof", REPLAY):
            found = judged(tmp_path, remade({**files, name: b"\xff\xfe"}), pinned(SERVER))
            assert (found.verdict, bool(found.reason)) == ("damaged", True)
