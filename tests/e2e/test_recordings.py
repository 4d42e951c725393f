"""`replay`, `diff`, `fork`, `whatif` and `play --match`, as people and programs call them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with the long duel."""
    path = str(tmp_path_factory.mktemp("recordings") / "games.db")
    command = [sys.executable, "-m", "soulrift", "play", str(EXAMPLES / "long-duel.jsonl"), "--db", path]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture
def recording(run: Run, store: str, tmp_path: Path) -> str:
    """The long duel as a file."""
    path = str(tmp_path / "duel.soulrift.jsonl.zst")
    assert run("export", "long-duel", "-o", path, "--db", store).returncode == 0
    return path


def test_a_file_needs_no_store(run: Run, store: str, recording: str) -> None:
    """What `show` and `events` say of the match in the store, `replay` says of its file where there is no store."""
    for arguments in (("--at", "43"), ("--at", "43", "--format", "json")):
        shown = run("show", "long-duel", *arguments, "--db", store).stdout
        assert run("replay", recording, *arguments).stdout == shown
    told = run("events", "long-duel", "--db", store).stdout
    assert run("replay", recording).stdout == told
    assert run("replay", "long-duel", "--db", store).stdout == told
    assert run("replay", recording, "--from", "50", "--to", "61").stdout == "".join(
        line + "\n" for line in told.splitlines()[49:61]
    )


def test_entries_as_json_are_their_lines(run: Run, recording: str, store: str, tmp_path: Path) -> None:
    """`replay --format json` prints the lines that stand in the file."""
    run("export", "long-duel", "-o", str(tmp_path / "plain"), "--db", store)
    assert (
        run("replay", recording, "--format", "json").stdout.splitlines()
        == ((tmp_path / "plain").read_text().splitlines()[1:-1])
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--at", "0"),
        ("--at", "90"),
        ("--from", "90"),
        ("--from", "5", "--to", "3"),
        ("--at", "1", "--from", "1"),
        ("--match", "another"),
    ],
)
def test_what_cannot_be_shown(run: Run, recording: str, arguments: tuple[str, ...]) -> None:
    """Entries and matches that are not there are usage errors, and print nothing."""
    done = run("replay", recording, *arguments)
    assert (done.returncode, done.stdout) == (2, "")


def test_archive_wants_a_match(run: Run, store: str, tmp_path: Path) -> None:
    """One match of an archive is chosen by name."""
    path = str(tmp_path / "all.gz")
    run("export", "--all", "-o", path, "--db", store)
    done = run("replay", path, "--at", "1")
    assert done.returncode == 2
    assert "--match" in done.stderr
    assert run("replay", path, "--match", "long-duel", "--at", "89").stdout.startswith("long-duel, after entry 89")


def test_damaged_recording_can_be_seen_so_far(run: Run, store: str, tmp_path: Path) -> None:
    """A file that is cut off is shown up to there, and it is said; the status is 1."""
    path = tmp_path / "plain"
    run("export", "long-duel", "-o", str(path), "--db", store)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:31]))
    done = run("replay", str(path))
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 30
    assert "up to entry 30" in done.stderr


def test_fork_is_played_on_and_differs(run: Run, store: str, recording: str) -> None:
    """A fork takes commands of its own by `play --match`; `diff` says where it went another way."""
    assert run("fork", "long-duel", "--at", "50", "--as", "fork", "--db", store).returncode == 0
    assert run("fork", "long-duel", "--at", "50", "--as", "fork", "--db", store).returncode == 1
    same = run("diff", recording, "long-duel", "--db", store)
    assert (same.returncode, same.stdout) == (0, "the same, in all 89 entries\n")
    played = run("play", "-", "--match", "fork", "--db", store, stdin='{"type":"concede","player":"ilse"}')
    assert played.returncode == 0
    assert "Ilse Marrow" in played.stdout.splitlines()[0]
    done = run("diff", recording, "fork", "--db", store, "--format", "json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["entry"], found["part"], found["second"]["winner"]) == (51, "command", "tomas")
    assert run("play", "-", "--match", "nobody", "--db", store, stdin='{"type":"release"}').returncode == 1


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ((), 2),
        (("--at", "4"), 2),
        (("--instead", "{}"), 2),
        (("--ruleset", "soulburn_per_power"), 2),
        (("--ruleset", "soulburn_per_power=abc"), 1),
        (("--ruleset", "colour=3"), 1),
        (("--rules-version", "99"), 1),
        (("--at", "4", "--instead", "{"), 1),
        (("--at", "400", "--instead", '{"type":"release"}'), 2),
        (("--at", "43", "--instead", '{"type":"pay","player":"ilse","amount":1,"souls":[99],"effect":"x"}'), 1),
    ],
)
def test_what_no_match_can_be(run: Run, recording: str, arguments: tuple[str, ...], status: int) -> None:
    """A change that makes no sense is told in one line, and prints nothing else."""
    done = run("whatif", recording, *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr


def test_whatif_writes_nothing(run: Run, store: str) -> None:
    """The match in the store is as it was, whatever was asked."""
    before = run("events", "long-duel", "--db", store, "--format", "json").stdout
    done = run("whatif", "long-duel", "--ruleset", "soulburn_per_power=9", "--db", store)
    assert done.returncode == 0
    assert "28 recorded commands become illegal" in done.stdout
    assert run("events", "long-duel", "--db", store, "--format", "json").stdout == before


NESTED = b'"x":' + b"[" * 5_000 + b"]" * 5_000 + b","


@pytest.mark.parametrize(
    "change",
    [
        (5, b'"entry":5', b'"entry":9999'),
        (5, b'"command":{', b'"command":{' + NESTED),
        (5, b'"events":[{', b'"events":[{' + NESTED),
        (5, b'"command":{', b'"command":null,"y":{'),
        (5, b'"events":[', b'"events":[null,'),
        (5, b'"events":[', b'"events":[],"y":['),
        (5, b'"events":', b'"events":null,"y":'),
        (5, b'"type":"', b'"type":"x'),
        (5, b'"type":"', b'"type":"\xff'),
        (0, b'{"match":', b"{" + NESTED + b'"match":'),
        (1, b'"rules":1', b'"rules":"one"'),
    ],
)
def test_whatever_stands_in_a_file_is_answered_in_words(
    run: Run, store: str, tmp_path: Path, change: tuple[int, bytes, bytes]
) -> None:
    """A file with nonsense in it is no success for any command, and no fault of the program."""
    path = tmp_path / "plain"
    run("export", "long-duel", "-o", str(path), "--db", store)
    number, old, new = change
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number] = lines[number].replace(old, new)
    bad = tmp_path / "bad"
    bad.write_bytes(b"".join(lines))
    for command in (
        ("verify", "bad"),
        ("verify", "bad", "--format", "json"),
        ("replay", "bad"),
        ("replay", "bad", "--format", "json"),
        ("diff", "bad", "plain"),
        ("whatif", "bad", "--ruleset", "overpay=any"),
        ("import", "bad", "--db", "new.db"),
    ):
        done = run(*command)
        assert done.returncode != 0, command
        assert "fault of our own" not in done.stderr, command
        assert done.stderr or "damaged" in done.stdout or "unverifiable" in done.stdout or "diverged" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("whatif", "FILE", "--rules-version", "0"),
        ("whatif", "FILE", "--ruleset", "soulburn_per_power=--5"),
        ("whatif", "FILE", "--ruleset", "soulburn_per_power=" + "9" * 5_000),
        ("whatif", "FILE", "--ruleset", b"overpay=\xff"),
        ("fork", "long-duel", "--at", str(2**63), "--as", "x"),
        ("fork", "long-duel", "--at", "10", "--as", "long-duel"),
    ],
)
def test_odd_arguments(run: Run, store: str, recording: str, arguments: tuple[str | bytes, ...]) -> None:
    """They are refused in words, whatever stands in them."""
    of_store = ("--db", store) if arguments[0] == "fork" else ()
    done = run(*(recording if each == "FILE" else each for each in arguments), *of_store)
    assert done.returncode in {1, 2}
    assert (done.stdout, "fault of our own" in done.stderr) == ("", False)
