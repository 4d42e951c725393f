"""`soulrift verify`, `export` and `import` as their users meet them; imports are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from threading import Thread
from typing import Self

import pytest
from psycopg.conninfo import make_conninfo

from domain.check import Check
from soulrift import store as stores
from tests.e2e.conftest import Run, script
from tests.recordings import (
    DUEL,
    LIFE_CHANGED,
    Program,
    archive_of,
    duel,
    file_of,
    in_process,
    lines,
    refolded,
    releases,
    running,
)
from tests.torture import DEADLINE, KILLS, ROOT, SEED, _wait_for_its_sessions, wait_until

FORGED = file_of("duel", refolded(lines(DUEL), LIFE_CHANGED, lambda entry: entry["events"][0].update(life=30)))
NEWER = file_of("duel", lines(DUEL), replay=2)
NEWER_RULES = file_of("duel", refolded(lines(DUEL), 1, lambda entry: entry["events"][0].update(rules=2)))
CUT = duel()[: duel().index(b'"entry":7,')]
ODD = duel().replace(b'"life":28', b'"life":1e999')

STATUS = {"exact": 0, "diverged": 1, "unverifiable": 3, "damaged": 4}


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Program:
    """The program, in this process and a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capfd)


@pytest.fixture
def put(tmp_path: Path) -> Path:
    """A folder with a file of each kind."""
    contents = {
        "exact": duel(),
        "archive": archive_of(duel(), running()),
        "diverged": FORGED,
        "unverifiable": NEWER,
        "newer-rules": NEWER_RULES,
        "damaged": CUT,
        "odd": ODD,
        "mixed": archive_of(FORGED, NEWER, running(), CUT + b"\n", running()),
        "empty": b"",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.usefixtures("put")
class TestVerify:
    """The verdicts on files."""

    @pytest.mark.parametrize(
        ("files", "verdict"),
        [
            (["exact"], "exact"),
            (["archive"], "exact"),
            (["diverged"], "diverged"),
            (["unverifiable"], "unverifiable"),
            (["newer-rules"], "unverifiable"),
            (["damaged"], "damaged"),
            (["empty"], "damaged"),
            (["exact", "archive"], "exact"),
            (["exact", "unverifiable"], "unverifiable"),
            (["damaged", "unverifiable", "exact"], "damaged"),
            (["exact", "damaged", "diverged", "unverifiable"], "diverged"),
            (["mixed"], "diverged"),
        ],
        ids=lambda files: "+".join(files) if isinstance(files, list) else None,
    )
    def test_exit_status(self, program: Program, files: list[str], verdict: str) -> None:
        """The exit status and the verdict over all are those of the gravest match of all files."""
        done = program("verify", *files, "--format", "json")
        assert (done.status, done.err) == (STATUS[verdict], "")
        told = json.loads(done.out)
        assert told["verdict"] == verdict
        assert verdict in {each["verdict"] for each in told["matches"]}
        assert list(dict.fromkeys(each["file"] for each in told["matches"])) == files

    def test_in_words(self, program: Program) -> None:
        """In words there is a line for each match, with the places that differ below it."""
        done = program("verify", "exact", "diverged", "unverifiable", "damaged", "archive")
        told = done.out.splitlines()
        assert [line.split(": ")[:3] for line in told if not line.startswith("  ")] == [
            ["exact", "duel", "exact"],
            ["diverged", "duel", "diverged"],
            ["unverifiable", "duel", "unverifiable"],
            ["damaged", "duel", "damaged"],
            ["archive", "duel", "exact"],
            ["archive", "running", "exact"],
        ]
        assert told[0].endswith(f"{len(DUEL)} entries, each re-executed")
        assert "entry 8, line 9" in told[1]
        assert "the first 7 entries are proven" in told[1]
        assert told[3].split() == ["/events/0/life", "28", "30"]
        assert "up to 1" in told[4]
        assert "the first 6 entries are proven" in told[5]

    def test_as_data(self, program: Program) -> None:
        """As data there is all of it: place, reason, and what differs."""
        (told,) = json.loads(program("verify", "diverged", "--format", "json").out)["matches"]
        assert told.pop("reason")
        assert told == {
            "file": "diverged",
            "match": "duel",
            "verdict": "diverged",
            "entries": 7,
            "entry": 8,
            "line": 9,
            "byte": FORGED.index(lines(DUEL)[7][:20]),
            "differences": [{"path": "/events/0/life", "expected": 28, "found": 30}],
            "checkpoints": [],
        }

    def test_bad_match_hides_no_other(self, program: Program) -> None:
        """Each match of an archive has its verdict, in order, whatever the others are."""
        told = json.loads(program("verify", "mixed", "--format", "json").out)["matches"]
        assert [(each["match"], each["verdict"]) for each in told if each["match"]] == [
            ("duel", "diverged"),
            ("duel", "unverifiable"),
            ("running", "exact"),
            ("duel", "damaged"),
            ("running", "exact"),
        ]

    def test_odd_number_is_no_fault_of_ours(self, program: Program) -> None:
        """A number that no computer holds is a fault of the file, and does not hide the files after it."""
        done = program("verify", "odd", "exact")
        assert "fault of our own" not in done.err
        assert done.status in {1, 4}
        assert f"exact: duel: exact: {len(DUEL)} entries" in done.out

    @pytest.mark.parametrize("file", ["nowhere", ".", "/proc/self/mem"])
    def test_what_cannot_be_read(self, program: Program, file: str) -> None:
        """A file that is not there, a folder, and a file that the system does not let be read, are usage errors."""
        if file.startswith("/") and not Path(file).exists():
            pytest.skip(f"there is no {file}")
        done = program("verify", file)
        assert done.status == 2
        assert f"{file} cannot be read" in done.err

    def test_no_file(self, program: Program) -> None:
        """There must be one."""
        assert program("verify").status == 2


class TestImportOfOddFiles:
    """Files that cannot be imported."""

    @pytest.mark.parametrize(
        ("content", "status"),
        [(FORGED, 1), (NEWER, 3), (NEWER_RULES, 3), (CUT, 4), (b"", 4), (b"\n" * 100, 4), (b"\xff" * 100, 4)],
        ids=["diverged", "newer", "newer rules", "cut", "empty", "newlines", "bytes"],
    )
    def test_exit_status(self, program: Program, tmp_path: Path, content: bytes, status: int) -> None:
        """The exit status says what is wrong, as that of `verify` does, and so does a line of the error output."""
        (tmp_path / "file").write_bytes(content)
        done = program("import", "file")
        assert (done.status, done.out) == (status, "")
        assert len(done.err.splitlines()) == 1

    @pytest.mark.parametrize("file", ["nowhere", "."])
    def test_what_cannot_be_read(self, program: Program, tmp_path: Path, file: str) -> None:
        """What cannot be read is told by its name, and no store is made."""
        done = program("import", file)
        assert done.status in {1, 2}
        assert file in done.err
        assert not (tmp_path / "soulrift.db").exists()


class TestThroughPipes:
    """Files to and from other programs."""

    @pytest.fixture(autouse=True)
    def _played(self, program: Program, tmp_path: Path) -> None:
        commands = "".join(json.dumps(command) + "\n" for command in releases("long", 400))
        (tmp_path / "script").write_text(commands)
        assert program("play", "script", "--batch", 1000).status == 0

    def _shell(self, folder: Path, rest: str) -> "subprocess.CompletedProcess[bytes]":
        command = f"{sys.executable} -m soulrift export --all -o - {rest}"
        return subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=False)

    def test_standard_output(self, program: Program, tmp_path: Path) -> None:
        """`export -o -` writes the bytes of the file, and nothing else."""
        assert program("export", "--all", "-o", "file").out == "file: 1 match\n"
        done = self._shell(tmp_path, "")
        assert (done.returncode, done.stdout, done.stderr) == (0, (tmp_path / "file").read_bytes(), b"")

    def test_pipe_that_nobody_reads_to_the_end(self, tmp_path: Path) -> None:
        """A reader that goes away is no error to be told."""
        done = self._shell(tmp_path, "| head -c 100")
        assert (len(done.stdout), done.stderr) == (100, b"")

    def test_full_disk(self, tmp_path: Path) -> None:
        """A device that takes no bytes is one line, and an exit status."""
        if not Path("/dev/full").exists():
            pytest.skip("there is no /dev/full")
        done = self._shell(tmp_path, "> /dev/full")
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert b"No space left" in done.stderr


def test_import_from_a_pipe(run: Run) -> None:
    """A file that can be read only once is imported, or it is said that it is not."""
    if not Path("/dev/stdin").exists():
        pytest.skip("there is no /dev/stdin")
    done = run("import", "/dev/stdin", stdin=duel())
    assert (done.returncode == 0) == ("duel: imported" in done.stdout)


def test_verify_from_a_pipe(run: Run) -> None:
    """What can be read only once is not judged by what is left of it."""
    if not Path("/dev/stdin").exists():
        pytest.skip("there is no /dev/stdin")
    done = run("verify", "/dev/stdin", stdin=duel())
    assert (done.returncode, done.stdout) == (2, "")
    assert "no plain file" in done.stderr


# ------------------------------------------------------------ imports are killed

AT_ONCE = 25
ENTRIES = 400

MOMENTS = 8
"""Beginnings and ends of transactions, of which one is waited for before a kill."""


class Import:
    """An import in a process of its own, that tells of its transactions."""

    def __init__(self, store: str, path: Path) -> None:
        self.told = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.recordings", store, str(path), str(AT_ONCE)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        self._listener = Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.told += line in {b"begun\n", b"stored\n"}

    def wait_for(self, told: int) -> None:
        """Wait until it has told so much of its transactions, or has ended."""
        wait_until(lambda: self.told >= told or self._process.poll() is not None)

    def kill(self) -> int:
        """Kill it, unless it has ended; how it ended."""
        self._process.kill()
        status = self._process.wait(DEADLINE)
        self._listener.join()
        return status

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()


def held(store: str) -> dict[str, tuple[list[bytes], bool]]:
    """What a store holds of each match, and whether that is all; the store is sound."""
    with stores.open_to_read(store) as matches:
        assert [str(fault) for fault in Check(matches.recorder).faults()] == []
        return {
            name: ([entry.line for entry in matches.entries(name)], matches.recorder.incomplete(name) is None)
            for name in matches.recorder.matches()
        }


def matches_to_import(number: int) -> dict[str, list[bytes]]:
    """The lines of matches that nobody has imported yet: of two, many transactions are needed."""
    long, short = f"long-{number}", f"short-{number}"
    return {
        short: lines(releases(short, 3)),
        long: lines(releases(long, ENTRIES, id="l")),
        f"{long}-too": lines(releases(f"{long}-too", 100, id="a")),
        f"{short}-too": lines(releases(f"{short}-too", 3)),
    }


def archived(path: Path, matches: dict[str, list[bytes]]) -> Path:
    path.write_bytes(archive_of(*(file_of(name, record, "running") for name, record in matches.items())))
    return path


def killed(store: str, path: Path, moments: int, seconds: float = 0.0) -> int:
    """Kill an import at this moment; how it ended. Nothing of it goes on in the database."""
    name = f"torture-{os.getpid()}"
    with Import(make_conninfo(store, application_name=name) if stores.is_postgres(store) else store, path) as process:
        process.wait_for(moments)
        time.sleep(seconds)
        status = process.kill()
    _wait_for_its_sessions(store)
    return status


class TestKilled:
    """Imports and exports are killed, and the next ones go on."""

    def test_whole_absent_or_incomplete(self, durable_store: str, tmp_path: Path, program: Program) -> None:
        """After each kill every match is absent, incomplete or whole; in the end all are there, byte for byte."""
        stores.create(durable_store).close()
        chance, stored, interrupted = Random(SEED), 0, 0
        wanted = matches_to_import(0)
        path = archived(tmp_path / "file", wanted)
        for number in range(1, max(KILLS * 2 // 3, 3)):
            status = killed(durable_store, path, chance.randrange(MOMENTS), chance.uniform(0, 0.01))
            assert status in {0, -signal.SIGKILL}
            found = held(durable_store)
            for name, (record, whole) in found.items():
                assert record == wanted[name][: len(record)]
                assert whole == (len(record) == len(wanted[name])), (name, len(record))
            parts = sum(not whole for _, whole in found.values())
            entries = sum(len(record) for record, _ in found.values())
            assert parts <= 1
            assert entries >= stored
            interrupted, stored = interrupted + parts, entries
            if len(found) == len(wanted) and not parts:
                more = matches_to_import(number)
                wanted, path = wanted | more, archived(tmp_path / "file", more)
        assert interrupted
        assert program("import", path, "--db", durable_store).status == 0
        assert held(durable_store) == {name: (record, True) for name, record in wanted.items()}
        assert program("check", "--db", durable_store).out.startswith(f"sound: {len(wanted)} matches")

    def test_incomplete_match(self, durable_store: str, tmp_path: Path, program: Program) -> None:
        """A part of a match takes no commands and no other file; the same file completes it, and then it plays on."""
        stores.create(durable_store).close()
        record = lines(releases("long", ENTRIES, id="l"))
        path = archived(tmp_path / "file", {"long": record})
        longer = lines([*releases("long", ENTRIES, id="l"), {"type": "release"}])
        other = archived(tmp_path / "other", {"long": longer})
        commands = tmp_path / "commands"
        commands.write_text("".join(f"{json.dumps(each)}\n" for each in releases("long", ENTRIES + 1, id="l")))
        assert killed(durable_store, path, 5) == -signal.SIGKILL
        found = held(durable_store)
        assert not found["long"][1]
        played = program("play", commands, "--db", durable_store)
        assert played.status == 1
        assert "import the same file again" in played.err
        refused = program("import", other, "--db", durable_store)
        assert (refused.status, refused.out) == (1, "")
        assert "long: refused" in refused.err
        assert held(durable_store) == found
        assert program("import", path, "--db", durable_store).status == 0
        assert held(durable_store) == {"long": (record, True)}
        assert program("export", "long", "--db", durable_store, "-o", "again").status == 0
        assert (tmp_path / "again").read_bytes().splitlines()[1:-1] == record
        assert program("play", commands, "--db", durable_store, "--batch", 1000).status == 0
        assert len(held(durable_store)["long"][0]) == ENTRIES + 1

    def test_export_leaves_no_file(self, run: Run, tmp_path: Path) -> None:
        """An export that is killed leaves no file under its name, and the next one makes it."""
        run("play", "-", "--batch", "1000", stdin="".join(json.dumps(each) + "\n" for each in releases("long", 1_000)))
        for wait in (0.2, 0.3):
            command = [sys.executable, "-m", "soulrift", "export", "--all", "-o", "file.gz"]
            with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
                time.sleep(wait)
                process.kill()
            if (tmp_path / "file.gz").exists():
                assert run("verify", "file.gz").returncode == 0
                (tmp_path / "file.gz").unlink()
        assert run("export", "--all", "-o", "file.gz").returncode == 0
        assert run("verify", "file.gz").returncode == 0


# ------------------------------------------------------------ where an export may not go


def test_export_spares_the_store_and_what_is_no_plain_file(run: Run, tmp_path: Path) -> None:
    """Not even `--force` replaces the store, what belongs to it, a folder, a link or a pipe."""
    store = tmp_path / "games.db"
    assert run("play", "-", "--db", str(store), stdin=script({"type": "release"})).returncode == 0
    assert run("matches", "--db", str(store)).returncode == 0
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(store)
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    os.link(store, tmp_path / "twin")
    before = store.read_bytes()
    for name in ("games.db", "games.db.views", "folder", "link", "nowhere", "pipe", "twin", "missing/file"):
        done = run("export", "duel", "--db", str(store), "-o", str(tmp_path / name), "--force")
        assert (done.returncode, done.stdout) == (2, ""), name
    assert store.read_bytes() == before
    assert run("check", "--db", str(store)).returncode == 0


@pytest.mark.parametrize("command", [("fork", "duel", "--at", "1", "--as", "x"), ("play", "-", "--match", "duel")])
def test_nothing_is_made_for_a_match_that_is_not_there(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Commands that go on with a match want a store that is there."""
    done = run(*command, "--db", str(tmp_path / "none.db"), stdin='{"type":"release"}')
    assert done.returncode == 2
    assert not (tmp_path / "none.db").exists()


def test_a_match_may_have_a_name_that_no_file_can(run: Run, tmp_path: Path) -> None:
    """A name of 64 emoji is too long for a file, and is looked up in the store."""
    name, store = "\N{FOX FACE}" * 64, str(tmp_path / "games.db")
    assert run("play", "-", "--db", store, stdin=script({"type": "release"}, match=name)).returncode == 0
    assert run("replay", name, "--at", "2", "--db", store).returncode == 0
