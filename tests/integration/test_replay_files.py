"""Replay files on the disk and compressed, and matches that go through them from store to store."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

import domain.application
from domain import Refusal, State, canonical_form, fold
from domain.application import IncompleteMatchError, Matches
from domain.check import Check
from domain.sqlite_files import backup
from replays.files import opened, written
from replays.reading import Reader
from replays.stepping import Steps
from replays.verify import Verified, verify_file
from soulrift import archives
from soulrift import store as stores
from tests.recordings import (
    DUEL,
    EXAMPLES,
    LIFE_CHANGED,
    RUNNING,
    SEATS,
    Program,
    archive_of,
    duel,
    file_of,
    in_process,
    lines,
    names,
    refolded,
    releases,
    running,
    script,
    unlined,
)
from tests.writers import COMMANDS, players, sql

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ENDINGS = ("", ".gz", ".zst")

RELEASE = '{"type": "release"}'

RULING = {
    "type": "ruling",
    "judge": "Mo",
    "reason": "noted",
    "corrections": [{"new_soul": {"rank": 0, "to": "aether"}}],
}
"""A command that any match takes, an ended one too."""

LONG = 600
"""Entries of a match that has a snapshot."""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    """The program, in this process."""
    return in_process(monkeypatch, capfd)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with all examples and a long match, to be read only."""
    store = str(tmp_path_factory.mktemp("source") / "store.db")
    with stores.create(store) as matches:
        for commands in [*map(script, EXAMPLES), [json.dumps(each) for each in releases("long", LONG, id="l")]]:
            match = matches.start(commands[0]).match
            matches.give_all(match, commands[1:])
    return store


@pytest.fixture
def archive(source: str, tmp_path: Path, program: Program) -> Path:
    """An archive of that store."""
    path = tmp_path / "all.soulrift.jsonl"
    assert program("export", "--all", "--db", source, "-o", path).status == 0
    return path


def put(folder: Path, content: bytes, name: str = "file.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def compressed(folder: Path, content: bytes, ending: str) -> Path:
    """A file that this program compressed."""
    path = folder / f"file{ending}"
    with written(path, replace=False) as file:
        file.write(content)
    return path


def flipped(content: bytes, at: int, bit: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


def content_of(path: Path) -> bytes:
    with opened(path) as file:
        return file.read()


def record_of(store: str, match: str) -> list[bytes]:
    """The lines of a match in a store."""
    with stores.open_to_read(store) as matches:
        return [entry.line for entry in matches.entries(match)]


def log(store: str) -> list[tuple[Any, ...]]:
    """Everything that a store holds of its matches."""
    tables = ("stored_events", "stored_snapshots", "command_ids", "incomplete_imports")
    return [row for table in tables for row in sql(store, f"SELECT * FROM {table} ORDER BY 1, 2")]


def assert_sound(store: str) -> Check:
    with stores.open_to_read(store) as matches:
        check = Check(matches.recorder)
        assert [str(fault) for fault in check.faults()] == []
        return check


# ------------------------------------------------------------ compressed files


class TestCompressed:
    """Files that are compressed."""

    @pytest.mark.parametrize("ending", [".gz", ".zst"])
    def test_any_flipped_bit(self, ending: str, tmp_path: Path) -> None:
        """No bit of a file that this program compressed can be another one; those of its ends are all tried."""
        path = compressed(tmp_path, file_of("running", lines(RUNNING[:2]), "running"), ending)
        assert names(verify_file(path)) == ["exact"]
        content, unnoticed = path.read_bytes(), []
        for at in range(len(content)):
            at_the_ends = at < 64 or at >= len(content) - 16
            for bit in range(8) if at_the_ends else (at % 8,):
                path.write_bytes(flipped(content, at, bit))
                found = names(verify_file(path))
                assert found
                if set(found) == {"exact"}:
                    unnoticed.append((at, bit))
        assert unnoticed == []

    @pytest.mark.parametrize("ending", [".gz", ".zst"])
    def test_any_flipped_bit_of_an_archive(self, ending: str, tmp_path: Path) -> None:
        """Nor can one of a compressed archive."""
        path = compressed(tmp_path, archive_of(running(), duel()), ending)
        assert names(verify_file(path)) == ["exact", "exact"]
        content = path.read_bytes()
        for at in range(0, len(content), 2):
            path.write_bytes(flipped(content, at, at // 2 % 8))
            assert set(names(verify_file(path))) != {"exact"}, at

    @pytest.mark.parametrize("ending", [".gz", ".zst"])
    def test_cut_anywhere(self, ending: str, tmp_path: Path) -> None:
        """A compressed file that is cut anywhere is damaged."""
        path = compressed(tmp_path, duel(), ending)
        content = path.read_bytes()
        for size in [*range(64), *range(64, len(content), 7), len(content) - 1]:
            path.write_bytes(content[:size])
            assert "damaged" in names(verify_file(path)), size

    @pytest.mark.parametrize("ending", [".gz", ".zst"])
    @pytest.mark.parametrize("rest", [b"x", b"\x00", b"\x00" * 100, b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\n"])
    def test_bytes_behind_the_end(self, ending: str, rest: bytes, tmp_path: Path) -> None:
        """Bytes behind the end of a file that this program compressed are damage."""
        path = compressed(tmp_path, duel(), ending)
        path.write_bytes(path.read_bytes() + rest)
        assert names(verify_file(path))[-1] == "damaged"

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_any_size(self, ending: str, tmp_path: Path) -> None:
        """What is written is read again, byte for byte, whether it is nothing or larger than any buffer."""
        for number, size in enumerate((0, 1, 1 << 18, (1 << 18) + 1, 3_000_000)):
            folder = tmp_path / str(number)
            folder.mkdir()
            content = Random(size).randbytes(size // 2) + b"a" * (size - size // 2)
            assert content_of(compressed(folder, content, ending)) == content

    @pytest.mark.parametrize("ending", [".gz", ".zst"])
    def test_large_file(self, ending: str, tmp_path: Path) -> None:
        """A change of a large file is noticed at its end as well, behind everything that is exact."""
        content = file_of("long", lines(releases("long", 1_500)), "running")
        assert len(content) > 1 << 18
        path = compressed(tmp_path, content, ending)
        assert list(verify_file(path)) == [Verified("long", "exact", 1_500)]
        raw = path.read_bytes()
        for at in (len(raw) - 1, len(raw) - 5, 30, len(raw) // 2):
            path.write_bytes(flipped(raw, at, 0))
            assert "damaged" in names(verify_file(path)), at

    def test_other_programs_read_it(self, tmp_path: Path) -> None:
        """The hash in front disturbs no other reader."""
        assert gzip.decompress(compressed(tmp_path, duel(), ".gz").read_bytes()) == duel()
        assert zstd.decompress(compressed(tmp_path, duel(), ".zst").read_bytes()) == duel()
        for name, ending in (("gzip", ".gz"), ("zstd", ".zst")):
            if shutil.which(name):
                with (tmp_path / f"file{ending}").open("rb") as file:
                    done = subprocess.run([name, "-dc"], stdin=file, capture_output=True, check=True)
                assert done.stdout == duel()

    @pytest.mark.parametrize("level", range(10))
    @pytest.mark.parametrize("mtime", [0, 1, 1_700_000_000])
    def test_gzip_of_others(self, level: int, mtime: int, tmp_path: Path) -> None:
        """Files that Python's gzip made, at any level and time, are exact; a damaged one is damaged."""
        content = gzip.compress(duel(), level, mtime=mtime)
        path = put(tmp_path, content)
        assert list(verify_file(path)) == [Verified("duel", "exact", len(DUEL))]
        path.write_bytes(flipped(content, len(content) - 5, 0))  # of its CRC-32
        assert "damaged" in names(verify_file(path))

    @pytest.mark.parametrize("level", [-7, -1, 1, 3, 12, 19])
    @pytest.mark.parametrize("checked", [0, 1])
    def test_zstandard_of_others(self, level: int, checked: int, tmp_path: Path) -> None:
        """Files of any level of Zstandard, with a checksum or without, in one frame or several, are exact."""
        options = {
            int(zstd.CompressionParameter.compression_level): level,
            int(zstd.CompressionParameter.checksum_flag): checked,
        }
        path = put(tmp_path, zstd.compress(duel(), options=options))
        assert list(verify_file(path)) == [Verified("duel", "exact", len(DUEL))]
        both = zstd.compress(duel()[:500], options=options) + zstd.compress(duel()[500:], options=options)
        assert names(verify_file(put(tmp_path, both))) == ["exact"]

    @pytest.mark.parametrize(
        "command", ["gzip -1", "gzip -9", "gzip -n", "zstd -q -1", "zstd -q -19", "zstd -q --no-check"]
    )
    def test_programs(self, command: str, tmp_path: Path) -> None:
        """So are those that the usual programs made, of a name and from a pipe."""
        name, *options = command.split()
        if not shutil.which(name):
            pytest.skip(f"there is no {name}")
        path = put(tmp_path, archive_of(running(), duel()))
        by_name = subprocess.run([name, *options, "-c", str(path)], capture_output=True, check=True)
        piped = subprocess.run([name, *options, "-c"], input=path.read_bytes(), capture_output=True, check=True)
        for content in (by_name.stdout, piped.stdout):
            assert names(verify_file(put(tmp_path, content))) == ["exact", "exact"]

    def test_members_one_after_another(self, tmp_path: Path) -> None:
        """A gzip file of several members is one file."""
        content = gzip.compress(duel()[:500]) + gzip.compress(duel()[500:])
        assert names(verify_file(put(tmp_path, content))) == ["exact"]

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_name_says_nothing(self, ending: str, tmp_path: Path) -> None:
        """How a file is compressed is told by its bytes, whatever its name."""
        content = compressed(tmp_path, duel(), ending).read_bytes()
        for name in ("file.jsonl", "file.gz", "file.zst", "file"):
            assert names(verify_file(put(tmp_path, content, name))) == ["exact"]

    @pytest.mark.parametrize("content", [b"\x1f\x8b", b"\x1f", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18", b"PK\x03\x04"])
    def test_only_the_beginning(self, content: bytes, tmp_path: Path) -> None:
        """A file that ends within the head of its format is damaged."""
        assert set(names(verify_file(put(tmp_path, content)))) == {"damaged"}


class TestWritten:
    """A file appears when it is whole."""

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_failure_leaves_nothing(self, ending: str, tmp_path: Path) -> None:
        """Writing that fails half way leaves no file, and an old one as it was."""
        path = tmp_path / f"file{ending}"
        for old in (None, b"old"):
            if old is not None:
                path.write_bytes(old)
            with pytest.raises(ZeroDivisionError), written(path, replace=True) as file:  # noqa: PT012 - within the block
                file.write(b"x" * 1_000_000)
                raise ZeroDivisionError
            assert [found.name for found in tmp_path.iterdir()] == ([] if old is None else [path.name])
            assert old is None or path.read_bytes() == old

    def test_not_there_before_it_is_whole(self, tmp_path: Path) -> None:
        """Nobody sees a part of a file under its name."""
        path = tmp_path / "file"
        with written(path, replace=False) as file:
            file.write(b"x" * 1_000_000)
            assert not path.exists()
        assert path.stat().st_size == 1_000_000
        with pytest.raises(FileExistsError), written(path, replace=False):
            pass


# ------------------------------------------------------------ from store to store


class TestRoundTrip:
    """Matches leave a store and come into another."""

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_all_matches(self, source: str, durable_store: str, ending: str, tmp_path: Path, program: Program) -> None:
        """All matches of a store come through a file into another one byte for byte, whatever database and form."""
        first, second = tmp_path / f"first.jsonl{ending}", tmp_path / f"second.jsonl{ending}"
        assert program("export", "--all", "--db", source, "-o", first).status == 0
        assert program("verify", first).status == 0
        stores.create(durable_store).close()
        assert program("import", first, "--db", durable_store).status == 0
        assert program("export", "--all", "--db", durable_store, "-o", second).status == 0
        assert first.read_bytes() == second.read_bytes()
        check = assert_sound(durable_store)
        assert check.matches == len(EXAMPLES) + 1
        assert check.snapshots
        assert program("check", "--db", durable_store).status == 0

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_single_matches(self, source: str, ending: str, tmp_path: Path, program: Program) -> None:
        """So does each match in a file of its own, which has neither beginning nor end of an archive."""
        store = tmp_path / "other.db"
        for path in EXAMPLES:
            first, second = tmp_path / f"{path.stem}{ending}", tmp_path / f"{path.stem}-again{ending}"
            assert program("export", path.stem, "--db", source, "-o", first).status == 0
            assert program("import", first, "--db", store).status == 0
            assert program("export", path.stem, "--db", store, "-o", second).status == 0
            assert first.read_bytes() == second.read_bytes()
            assert content_of(first).startswith(b'{"match":')
        assert assert_sound(str(store)).matches == len(EXAMPLES)

    def test_some_matches(self, source: str, tmp_path: Path, program: Program) -> None:
        """Several matches that are named make an archive, in the order in which they were named."""
        path = tmp_path / "two"
        assert program("export", "long-duel", "disputed", "--db", source, "-o", path).status == 0
        assert [found.match for found in verify_file(path)] == ["long-duel", "disputed"]
        assert path.read_bytes().startswith(b'{"archive":1}\n')

    def test_standard_output(self, source: str, archive: Path, program: Program) -> None:
        """`-o -` writes the same bytes to standard output, and nothing else."""
        done = program("export", "--all", "--db", source, "-o", "-")
        assert done == (0, archive.read_text("utf-8"), "")

    def test_import_repeated(self, durable_store: str, archive: Path, program: Program) -> None:
        """Importing a file again changes nothing, and says so."""
        stores.create(durable_store).close()
        program("import", archive, "--db", durable_store)
        before = log(durable_store)
        done = program("import", archive, "--db", durable_store)
        assert (done.status, done.err) == (0, "")
        assert done.out.count("was there already") == len(EXAMPLES) + 1
        assert log(durable_store) == before

    def test_match_twice_in_a_file(self, tmp_path: Path, program: Program) -> None:
        """A match that is twice in an archive is imported once; another of the same name is refused."""
        store, other = tmp_path / "store.db", lines([DUEL[0], {"type": "release", "rank": 3}])
        path = put(tmp_path, archive_of(duel(), duel(), file_of("duel", other, "running")))
        done = program("import", path, "--db", store, "--format", "json")
        outcomes = [each["outcome"] for each in json.loads(done.out)["matches"]]
        assert (done.status, outcomes) == (1, ["imported", "there", "refused"])
        assert record_of(str(store), "duel") == lines(DUEL)

    def test_another_record_of_that_name(self, durable_store: str, tmp_path: Path, program: Program) -> None:
        """A match whose name another record has is refused, and the others of the file are imported."""
        with stores.create(durable_store) as matches:
            matches.start(json.dumps(DUEL[0]))
            matches.give("duel", json.dumps({"type": "release", "rank": 3}))
        before = record_of(durable_store, "duel")
        done = program("import", put(tmp_path, archive_of(duel(), running())), "--db", durable_store)
        assert done.status == 1
        assert "entry 2 differs" in done.err
        assert record_of(durable_store, "duel") == before
        assert record_of(durable_store, "running") == lines(RUNNING)
        assert_sound(durable_store)

    def test_match_that_was_played_on(self, durable_store: str, tmp_path: Path, program: Program) -> None:
        """A match that went on since it was exported is there; what was played stays."""
        stores.create(durable_store).close()
        path = put(tmp_path, running())
        program("import", path, "--db", durable_store)
        with stores.open_to_write(durable_store) as matches:
            matches.give("running", RELEASE)
        done = program("import", path, "--db", durable_store)
        assert (done.status, done.out.strip()) == (0, f"running: was there already, {len(RUNNING)} entries")
        assert len(record_of(durable_store, "running")) == len(RUNNING) + 1

    def test_longer_record_of_the_same_match(self, durable_store: str, tmp_path: Path, program: Program) -> None:
        """A match of which the store has the beginning, as a whole, is not written on by a file."""
        with stores.create(durable_store) as matches:
            matches.start(json.dumps(RUNNING[0]))
        done = program("import", put(tmp_path, running()), "--db", durable_store)
        assert done.status == 1
        assert "only the first 1 of its 5 entries" in done.err
        assert len(record_of(durable_store, "running")) == 1

    def test_retries_by_id(self, durable_store: str, archive: Path, program: Program) -> None:
        """A command with the `meta.id` of one that was imported is a retry, or refused if it says something else."""
        stores.create(durable_store).close()
        program("import", archive, "--db", durable_store)
        commands = releases("long", LONG, id="l")
        with stores.open_to_write(durable_store) as matches:
            for number in (1, 2, 333, LONG):
                command = json.dumps(commands[number - 1])
                answer = matches.start(command) if number == 1 else matches.give("long", command)
                assert (answer.repeated, answer.entry.number) == (True, number)
            with pytest.raises(Refusal, match="was given to another command before, in entry 333"):
                matches.give("long", json.dumps({"type": "release", "rank": 3, "meta": {"id": "l-333"}}))
            assert matches.give("long", RELEASE).entry.number == LONG + 1
        assert_sound(durable_store)

    def test_snapshots(self, durable_store: str, archive: Path, program: Program) -> None:
        """An imported match has snapshots that are believed, and its states are those of a straight fold."""
        stores.create(durable_store).close()
        program("import", archive, "--db", durable_store)
        with stores.open_to_read(durable_store) as matches:
            assert matches.snapshots
            believed = list(matches.snapshots.get("long"))
            assert [snapshot.originator_version for snapshot in believed]
            entries = list(matches.entries("long"))
            for at in (1, LONG // 2, LONG - 1, LONG):
                straight = fold([event for entry in entries[:at] for event in entry.events], State())
                assert canonical_form(matches.state("long", at)) == canonical_form(straight)

    def test_steps_are_the_stores(self, source: str, archive: Path) -> None:
        """Stepping through a file shows the states and entries that the store has."""
        chance = Random(8)
        with stores.open_to_read(source) as matches, opened(archive) as file:
            for recording in Reader(file).recordings():
                steps, entries = (
                    Steps(found.content for found in recording.lines()),
                    [*matches.entries(recording.match)],
                )
                assert (steps.entries, steps.problem) == (len(entries), None)
                assert list(steps.between(1)) == entries
                for at in {1, len(entries), *(chance.randint(1, len(entries)) for _ in range(4))}:
                    assert canonical_form(steps.state(at)) == canonical_form(matches.state(recording.match, at))


class TestNotExact:
    """What is imported of files that are not exact."""

    FORGED = file_of("duel", refolded(lines(DUEL), LIFE_CHANGED, lambda entry: entry["events"][0].update(life=30)))

    @pytest.mark.parametrize(
        ("content", "status", "outcome"),
        [
            (FORGED, 1, "diverged"),
            (unlined(duel().splitlines()[:-1]), 4, "damaged"),
            (file_of("duel", lines(DUEL), replay=2), 3, "unverifiable"),
            (file_of("duel", lines(DUEL), root="0" * 64), 4, "damaged"),
        ],
        ids=["diverged", "cut", "newer", "root"],
    )
    def test_is_not_imported(self, content: bytes, status: int, outcome: str, tmp_path: Path, program: Program) -> None:
        """A match that is not proven is not imported; the proven ones of the same file are."""
        store, path = tmp_path / "store.db", put(tmp_path, archive_of(content, running()))
        done = program("import", path, "--db", store, "--format", "json")
        told = {each["match"]: each["outcome"] for each in json.loads(done.out)["matches"]}
        assert (done.status, told["duel"], told["running"]) == (status, outcome, "imported")
        with stores.open_to_read(str(store)) as matches:
            assert list(matches.recorder.matches()) == ["running"]
        assert_sound(str(store))

    @pytest.mark.parametrize(
        ("content", "kept", "status"),
        [
            (FORGED, LIFE_CHANGED - 1, 1),
            (duel()[: duel().index(b'"entry":5,"events"')], 4, 4),
            (duel()[:-20], len(DUEL), 4),
            (file_of("duel", lines(DUEL), root="0" * 64), len(DUEL), 4),
            (file_of("duel", lines(DUEL), "running"), len(DUEL), 4),
        ],
        ids=["diverged", "cut", "cut at the end", "root", "status"],
    )
    def test_salvage(
        self, content: bytes, kept: int, status: int, durable_store: str, tmp_path: Path, program: Program
    ) -> None:
        """`--salvage` imports the entries that are proven, which make a sound match that takes commands."""
        stores.create(durable_store).close()
        path = put(tmp_path, content)
        done = program("import", path, "--db", durable_store, "--salvage")
        assert done.status == status
        assert record_of(durable_store, "duel") == lines(DUEL)[:kept]
        assert_sound(durable_store)
        before = log(durable_store)
        assert program("import", path, "--db", durable_store, "--salvage").status == status
        assert log(durable_store) == before
        with stores.open_to_write(durable_store) as matches:
            assert matches.give("duel", json.dumps(RULING)).entry.number == kept + 1

    def test_nothing_to_salvage(self, tmp_path: Path, program: Program) -> None:
        """Where no entry is proven, there is nothing to salvage."""
        store, content = tmp_path / "store.db", duel().replace(b'"entry":1,', b'"entry":2,', 1)
        assert program("import", put(tmp_path, content), "--db", store, "--salvage").status == 4
        assert not store.exists()

    @pytest.mark.parametrize("ending", [".gz", ".zst"])
    def test_compressed_bytes_of_another_hash(self, ending: str, tmp_path: Path, program: Program) -> None:
        """A file whose compressed bytes are not those that were written is told as damaged."""
        path = compressed(tmp_path, duel(), ending)
        content = path.read_bytes()
        path.write_bytes(flipped(content, 20, 0))
        assert program("import", path, "--db", tmp_path / "store.db").status == 4


class TestExport:
    """Export as its user meets it."""

    def test_no_overwriting(self, source: str, tmp_path: Path, program: Program) -> None:
        """A file that is there is replaced only with `--force`."""
        path = put(tmp_path, b"dear")
        done = program("export", "disputed", "--db", source, "-o", path)
        assert (done.status, path.read_bytes()) == (2, b"dear")
        assert "--force" in done.err
        assert program("export", "disputed", "--db", source, "-o", path, "--force").status == 0
        assert names(verify_file(path)) == ["exact"]

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_failing_export(self, source: str, ending: str, tmp_path: Path, program: Program) -> None:
        """An export of a damaged record fails, leaves no partial file, and an old one as it was."""
        store, folder = tmp_path / "store.db", tmp_path / "out"
        folder.mkdir()
        backup(Path(source), store, lambda *_: None)
        sql(str(store), "DELETE FROM stored_events WHERE originator_id='long' AND originator_version=300")
        for old in (None, b"dear"):
            path = folder / f"file{ending}"
            if old is not None:
                path.write_bytes(old)
            done = program("export", "disputed", "long", "--db", store, "-o", path, "--force")
            assert done.status == 1
            assert "300" in done.err
            assert [found.name for found in folder.iterdir()] == ([] if old is None else [path.name])
            assert old is None or path.read_bytes() == old

    @pytest.mark.parametrize("arguments", [(), ("--all", "disputed")])
    def test_neither_or_both(self, arguments: tuple[str, ...], source: str, tmp_path: Path, program: Program) -> None:
        """It is matches by name, or all."""
        assert program("export", *arguments, "--db", source, "-o", tmp_path / "x").status == 2
        assert not (tmp_path / "x").exists()

    def test_unknown_match(self, source: str, tmp_path: Path, program: Program) -> None:
        """A match that is not there is told, and nothing is written."""
        done = program("export", "disputed", "nope", "--db", source, "-o", tmp_path / "x")
        assert done.status == 1
        assert '"nope"' in done.err
        assert not (tmp_path / "x").exists()

    def test_empty_store(self, durable_store: str, tmp_path: Path, program: Program) -> None:
        """A store without matches makes no file."""
        stores.create(durable_store).close()
        assert program("export", "--all", "--db", durable_store, "-o", tmp_path / "x").status == 1
        assert not (tmp_path / "x").exists()


# ------------------------------------------------------------ imports that end early, and others who write


AT_ONCE = 40


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    """A file of one match with ids."""
    return put(tmp_path, file_of("long", lines(releases("long", 300, id="l")), "running"), "long.jsonl")


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "AT_ONCE", AT_ONCE)
    monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 70)


class _PowerCutError(BaseException):
    pass


def import_until(monkeypatch: pytest.MonkeyPatch, store: str, path: Path, transactions: int) -> None:
    """Import a file, and end after so many transactions as if the power went."""
    record, left = Matches.record, [None] * transactions

    def recorded(*arguments: Any, **options: Any) -> None:
        if not left:
            raise _PowerCutError
        left.pop()
        record(*arguments, **options)

    with monkeypatch.context() as patched, pytest.raises(_PowerCutError):  # noqa: PT012 - patched within the block
        patched.setattr(Matches, "record", recorded)
        archives.import_(path, store, "text", salvage=False)


@pytest.mark.usefixtures("small_steps")
class TestIncomplete:
    """An import that ended between two of its transactions."""

    @pytest.fixture
    def store(self, durable_store: str, long_file: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        """A store in which two transactions of an import are."""
        stores.create(durable_store).close()
        import_until(monkeypatch, durable_store, long_file, 2)
        return durable_store

    def test_takes_no_commands(self, store: str, program: Program, tmp_path: Path) -> None:
        """It can be read and is sound, but takes no commands; the error says what to do."""
        assert record_of(store, "long") == lines(releases("long", 300, id="l"))[: 2 * AT_ONCE]
        assert_sound(store)
        with stores.open_to_write(store) as matches:
            assert matches.state("long").entries == 2 * AT_ONCE
            for _ in range(2):
                with pytest.raises(IncompleteMatchError, match="import the same file again"):
                    matches.give("long", RELEASE)
                with pytest.raises(IncompleteMatchError):
                    matches.give_all("long", [RELEASE])
            assert matches.give("long", json.dumps(releases("long", 300, id="l")[4])).repeated
        commands = put(tmp_path, b"".join(json.dumps(each).encode() + b"\n" for each in releases("long", 301, id="l")))
        done = program("play", commands, "--db", store)
        assert done.status == 1
        assert 'only a part of "long" was imported' in done.err
        assert len(record_of(store, "long")) == 2 * AT_ONCE

    def test_is_completed(self, store: str, long_file: Path, program: Program, tmp_path: Path) -> None:
        """The next import of the same file completes it byte for byte, and it takes commands and retries."""
        again = tmp_path / "again"
        with stores.open_to_write(store) as server:
            with pytest.raises(IncompleteMatchError):
                server.give("long", RELEASE)
            assert program("import", long_file, "--db", store).status == 0
            assert record_of(store, "long") == lines(releases("long", 300, id="l"))
            assert assert_sound(store).snapshots
            assert server.give("long", json.dumps(releases("long", 300, id="l")[299])).repeated
            assert program("export", "long", "--db", store, "-o", again).status == 0
            assert server.give("long", RELEASE).entry.number == 301
        assert content_of(again).splitlines()[:-1] == long_file.read_bytes().splitlines()[:-1]

    def test_mark_on_a_match_that_is_whole(
        self, store: str, long_file: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A check tells a part from a match that only has its mark; the same file takes that away, and it plays on."""
        assert program("check", "--db", store).status == 0
        ((root,),) = sql(store, "SELECT root FROM incomplete_imports")
        program("import", long_file, "--db", store)
        assert program("check", "--db", store).status == 0
        for mark, at_once in (("any", 7), (root, 10)):
            sql(store, f"INSERT INTO incomplete_imports VALUES ('long', '{mark}')")
            monkeypatch.setattr(archives, "AT_ONCE", at_once)
            checked = program("check", "--db", store)
            assert (checked.status, checked.err.count('damaged: "long": incomplete_imports has it, but ')) == (4, 1)
            assert "long: was there already" in program("import", long_file, "--db", store).out
            assert program("check", "--db", store).status == 0
        with stores.open_to_write(store) as matches:
            assert matches.give("long", RELEASE).entry.number == 301

    def test_mark_of_a_longer_record_stays(self, store: str, program: Program, tmp_path: Path) -> None:
        """What an import has left unfinished is not finished by the file of an earlier day."""
        earlier = lines(releases("long", AT_ONCE + 5, id="l"))
        done = program("import", put(tmp_path, file_of("long", earlier, "running")), "--db", store)
        assert "long: was there already" in done.out
        with stores.open_to_write(store) as matches:
            assert matches.recorder.incomplete("long")

    def test_from_a_file_of_another_form(self, store: str, long_file: Path, program: Program, tmp_path: Path) -> None:
        """The same record completes it too if it comes compressed, or in an archive."""
        path = put(tmp_path, gzip.compress(archive_of(running(), long_file.read_bytes())))
        assert program("import", path, "--db", store).status == 0
        assert record_of(store, "long") == lines(releases("long", 300, id="l"))

    @pytest.mark.parametrize("entries", [2 * AT_ONCE + 1, 299, 301])
    def test_another_file_of_the_same_beginning(
        self, store: str, entries: int, program: Program, tmp_path: Path
    ) -> None:
        """Another record, even one that begins alike, does not complete it, and it can be completed afterwards."""
        other = lines([*releases("long", entries - 1, id="l"), {"type": "release", "rank": 3}])
        before = log(store)
        done = program("import", put(tmp_path, file_of("long", other, "running")), "--db", store)
        assert done.status == 1
        assert "refused" in done.err
        assert log(store) == before

    def test_ended_again(self, store: str, long_file: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        """An import that is to complete it may end early too."""
        for transactions in (0, 1, 2):
            import_until(monkeypatch, store, long_file, transactions)
            assert_sound(store)
            with stores.open_to_write(store) as matches, pytest.raises(IncompleteMatchError):
                matches.give("long", RELEASE)
        assert len(record_of(store, "long")) == 5 * AT_ONCE
        assert program("import", long_file, "--db", store).status == 0
        assert record_of(store, "long") == lines(releases("long", 300, id="l"))

    def test_export(self, store: str, program: Program, tmp_path: Path) -> None:
        """A part of a match is not exported as if it were the match."""
        done = program("export", "long", "--db", store, "-o", tmp_path / "part")
        assert done.status != 0
        assert not (tmp_path / "part").exists()

    @pytest.mark.parametrize("transactions", range(8))
    def test_any_transaction(
        self, transactions: int, tmp_path: Path, long_file: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After any number of transactions a match is absent, incomplete or whole; the next import completes all."""
        store, path = str(tmp_path / "other.db"), put(tmp_path, archive_of(long_file.read_bytes(), duel()))
        import_until(monkeypatch, store, path, transactions)
        with stores.open_to_write(store) as matches:
            assert matches.has("long") == (transactions > 0)
            assert (matches.recorder.incomplete("long") is not None) == (0 < transactions < 8)
            assert not matches.has("duel")
        if transactions:
            assert_sound(store)
        assert program("import", path, "--db", store).status == 0
        assert record_of(store, "long") == lines(releases("long", 300, id="l"))
        assert record_of(store, "duel") == lines(DUEL)


@pytest.mark.usefixtures("small_steps")
class TestOthers:
    """Others write into the store meanwhile."""

    def test_another_program_plays(self, durable_store: str, long_file: Path, program: Program, tmp_path: Path) -> None:
        """A player and an import that write at once disturb each other in nothing."""
        with stores.create(durable_store) as matches:
            matches.start(json.dumps({"type": "start_match", "match": "theirs", "players": SEATS}))
        path = put(tmp_path, archive_of(long_file.read_bytes(), duel(), running()))
        with players(durable_store, 40, [["theirs"]]) as (player,):
            player.tell()
            assert program("import", path, "--db", durable_store).status == 0
            player.end()
        assert record_of(durable_store, "long") == lines(releases("long", 300, id="l"))
        assert len(record_of(durable_store, "theirs")) == 1 + 40 * COMMANDS
        assert assert_sound(durable_store).matches == 4

    @pytest.mark.parametrize("transactions", [0, 1])
    def test_match_of_that_name_begins_meanwhile(
        self, durable_store: str, long_file: Path, transactions: int, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who was first keeps the name; the import is refused, or the player is, and nothing is mixed."""
        stores.create(durable_store).close()
        record, calls = Matches.record, list[None]()

        def recorded(*arguments: Any, **options: Any) -> None:
            calls.append(None)
            if len(calls) == transactions + 1:
                with stores.open_to_write(durable_store) as other:
                    start = json.dumps({"type": "start_match", "match": "long", "players": SEATS})
                    try:
                        other.start(start)
                    except (Refusal, IncompleteMatchError):
                        assert transactions
            record(*arguments, **options)

        monkeypatch.setattr(Matches, "record", recorded)
        done = program("import", long_file, "--db", durable_store)
        assert done.status == (0 if transactions else 1)
        assert len(record_of(durable_store, "long")) == (300 if transactions else 1)
        assert_sound(durable_store)

    def test_two_imports_at_once(
        self, durable_store: str, long_file: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of two imports of one file, one stores the match; the other one mixes nothing in."""
        stores.create(durable_store).close()
        record, inner = Matches.record, list[int]()

        def recorded(*arguments: Any, **options: Any) -> None:
            if len(inner) == 0:
                inner.append(0)
                inner.append(archives.import_(long_file, durable_store, "text", salvage=False))
            record(*arguments, **options)

        monkeypatch.setattr(Matches, "record", recorded)
        done = program("import", long_file, "--db", durable_store)
        assert (inner, done.status) == ([0, 0], 1)
        assert record_of(durable_store, "long") == lines(releases("long", 300, id="l"))
        assert_sound(durable_store)

    def test_player_stays(self, durable_store: str, long_file: Path, program: Program) -> None:
        """A program that has the store open sees an imported match, and goes on with it."""
        with stores.create(durable_store) as server:
            assert not server.has("long")
            assert program("import", long_file, "--db", durable_store).status == 0
            assert server.state("long").entries == 300
            assert server.give("long", RELEASE).entry.number == 301

    def test_export_meanwhile(self, source: str, tmp_path: Path, program: Program) -> None:
        """What is exported while somebody plays is a whole beginning of each match."""
        store = tmp_path / "store.db"
        backup(Path(source), store, lambda *_: None)
        with players(str(store), 40, [["long"]]) as (player,):
            player.tell()
            for number in range(5):
                path = tmp_path / f"{number}.zst"
                assert program("export", "--all", "--db", store, "-o", path).status == 0
                assert set(names(verify_file(path))) == {"exact"}
            player.end()

    @pytest.mark.parametrize(
        "other",
        [
            file_of("running", lines([RUNNING[0], *[{"type": "release", "rank": 3}] * 4]), "running"),
            file_of("running", lines(RUNNING[:3]), "running"),
            unlined(running().splitlines()[:3]),
            duel(),
            b"",
        ],
        ids=["another", "shorter", "cut", "another match", "empty"],
    )
    @pytest.mark.parametrize("at_once", [2, 40])
    def test_file_changes_meanwhile(
        self, other: bytes, at_once: int, tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing but what was verified is stored of a file that became another one since, nor said to be."""
        path, store = put(tmp_path, running()), tmp_path / "store.db"
        verdicts = archives._proofs  # noqa: SLF001 - the moment in between

        def verified(*arguments: Any) -> Any:
            found = verdicts(*arguments)
            path.write_bytes(other)
            return found

        monkeypatch.setattr(archives, "AT_ONCE", at_once)
        monkeypatch.setattr(archives, "_proofs", verified)
        done = program("import", path, "--db", store)
        assert done.status != 0
        assert "imported" not in done.out
        with stores.open_to_read(str(store)) as matches:
            for name in matches.recorder.matches():
                assert matches.recorder.incomplete(name)
                stored = [entry.line for entry in matches.entries(name)]
                assert (name, stored) == ("running", lines(RUNNING)[: len(stored)])


@pytest.mark.usefixtures("small_steps")
class TestOddButExact:
    """Files that are exact, and yet are none that a store wrote."""

    @pytest.mark.parametrize("number", [5, AT_ONCE + 5], ids=["in one transaction", "in the second one"])
    def test_meta_id_twice(self, durable_store: str, number: int, tmp_path: Path, program: Program) -> None:
        """A match with a `meta.id` twice is imported, or refused in a player's words; it is not left in between."""
        stores.create(durable_store).close()
        commands = releases("long", 2 * AT_ONCE, id="l")
        commands[number - 1]["meta"]["id"] = "l-2"
        path = put(tmp_path, file_of("long", lines(commands), "running"))
        done = program("import", path, "--db", durable_store)
        with stores.open_to_read(durable_store) as matches:
            assert matches.recorder.incomplete("long") is None
            assert matches.has("long") == (done.status == 0)
        assert "constraint" not in done.err
        assert_sound(durable_store)

    def test_store_of_before_there_were_imports(
        self, durable_store: str, long_file: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A store that has no table of incomplete imports gets one when it needs it."""
        with stores.create(durable_store) as matches:
            matches.start(json.dumps(DUEL[0]))
        sql(durable_store, "DROP TABLE incomplete_imports")
        with stores.open_to_write(durable_store) as matches:
            assert matches.give("duel", RELEASE).entry.number == 2
        import_until(monkeypatch, durable_store, long_file, 2)
        with stores.open_to_write(durable_store) as matches:
            with pytest.raises(IncompleteMatchError):
                matches.give("long", RELEASE)
            assert matches.give("duel", RELEASE).entry.number == 3
        assert program("import", long_file, "--db", durable_store).status == 0
        assert record_of(durable_store, "long") == lines(releases("long", 300, id="l"))
        assert_sound(durable_store)
