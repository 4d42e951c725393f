"""`why`, as people and programs call it."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Run, script

EXAMPLES = Path(__file__).parents[2] / "examples"
OVERPAID = 106
"""The event of the long duel in which Tomas Reyk burns for a Soul of power 2 that paid a cost of 1."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with the long duel and the disputed match."""
    path = str(tmp_path_factory.mktemp("why") / "games.db")
    for name in ("long-duel", "disputed"):
        command = [sys.executable, "-m", "soulrift", "play", str(EXAMPLES / f"{name}.jsonl"), "--db", path]
        subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture
def recording(run: Run, store: str, tmp_path: Path) -> Path:
    """The long duel as a file."""
    path = tmp_path / "duel.soulrift.jsonl"
    assert run("export", "long-duel", "-o", str(path), "--db", store).returncode == 0
    return path


def all_of(reason: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield reason
    for each in reason["because"]:
        yield from all_of(each)


def test_chain_is_told_with_rules_and_commands(run: Run, store: str) -> None:
    """A Soulburn in text: the arithmetic, what led to it a level deeper, the commands, and the words of the rules."""
    done = run("why", "long-duel", str(OVERPAID), "--db", store)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third, *rest = done.stdout.splitlines()
    assert first == (
        "event 106, entry 82: Tomas Reyk takes 3 Soulburn: power 2 - cost 1 = 1; "
        "1 x 3 life (soulburn_per_power) = 3; 9 - 3 = 6 [B-2, B-1]"
    )
    assert second.startswith(
        "  event 105, entry 82: Tomas Reyk pays Soulrift 1 for Flame Dart on Rift Moth (payment 9)"
    )
    assert third == "    Soul 11 has rank 1, so power 1 + 1 = 2; it is in the Aether [S-1, P-2]"
    assert [line.split('"type":')[1] for line in rest if '"type":' in line] == ['"summon"}', '"destroy"}', '"pay"}']
    words = rest[rest.index("The rules:") + 1 :]
    assert [line.split()[0] for line in words] == [
        "S-1",
        "C-1",
        "C-3",
        "P-1",
        "P-2",
        "P-3",
        "P-4",
        "P-5",
        "B-1",
        "B-2",
        "E-1",
        "R-3",
    ]


def test_file_and_store_tell_the_same(run: Run, store: str, recording: Path) -> None:
    """The file needs no store, and what is told of it is what is told of the match in the store."""
    for asked in ((str(OVERPAID),), ("--entry", "55"), ("--life", "tomas"), (str(OVERPAID), "--format", "json")):
        of_file = run("why", str(recording), *asked)
        assert of_file.returncode == 0
        assert of_file.stdout == run("why", "long-duel", *asked, "--db", store).stdout


def test_json_is_a_nested_tree(run: Run, store: str) -> None:
    """One object: each reason with its event, entry, sentence, rules, command and what is behind it."""
    done = run("why", "long-duel", str(OVERPAID), "--db", store, "--format", "json")
    reason = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (reason["event"], reason["entry"], reason["command"]) == (106, 82, None)
    assert [rule["rule"] for rule in reason["rules"]] == ["B-2", "B-1"]
    keys = {"event", "entry", "what", "rules", "command", "because"}
    assert all(each.keys() == keys for each in all_of(reason))
    commands = [each["command"] for each in all_of(reason) if each["command"]]
    assert [command["type"] for command in commands] == ["summon", "destroy", "pay"]
    assert commands[2]["meta"] == {"actor": "tomas", "at": "2026-03-14T18:46:30Z"}


def test_entry_tells_all_of_its_events(run: Run, store: str) -> None:
    """`--entry` explains each event of an entry, as `events` numbers them."""
    reason = json.loads(run("why", "long-duel", "--entry", "55", "--db", store, "--format", "json").stdout)
    assert (reason["event"], reason["entry"]) == (None, 55)
    assert [each["event"] for each in reason["because"]] == [68, 69, 70]


def test_life_is_the_sum_of_its_changes(run: Run, store: str) -> None:
    """`--life` in a match with a ruling: Tomas began with 30, burned 6, lost 3 and got 6 back."""
    done = run("why", "disputed", "--life", "tomas", "--db", store)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Tomas Reyk has 27 life: 30 at the start - 6 Soulburn + 6 by rulings - 3 reported = 27")
    told = [line for line in lines if line.startswith("  event")]
    assert [line.split()[1] for line in told] == ["1,", "15,", "18,", "19,"]
    assert "judge Marit Oke rules about entry 13" in told[3]


def test_every_event_of_the_examples_is_explained(run: Run, store: str) -> None:
    """There is an answer for each event of a whole match."""
    state = json.loads(run("show", "disputed", "--db", store, "--format", "json").stdout)
    for entry in range(1, state["entries"] + 1):
        assert run("why", "disputed", "--entry", str(entry), "--db", store).returncode == 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((), "--entry N, or --life PLAYER"),
        (("5", "--entry", "3"), "--entry N, or --life PLAYER"),
        (("5", "--life", "tomas"), "--entry N, or --life PLAYER"),
        (("--entry", "3", "--life", "tomas"), "--entry N, or --life PLAYER"),
        (("0",), "the events 1 to 117, not 0"),
        (("118",), "the events 1 to 117, not 118"),
        (("--", "-1"), "the events 1 to 117, not -1"),
        ((str(10**30),), "the events 1 to 117"),
        (("--entry", "0"), "the entries 1 to 89, not 0"),
        (("--entry", "90"), "the entries 1 to 89, not 90"),
        (("--life", "nobody"), "only ilse and tomas"),
        (("--life", ""), "only ilse and tomas"),
        (("five",), "five"),
        (("5", "--match", "another"), "another"),
    ],
)
def test_what_cannot_be_asked(run: Run, recording: Path, asked: tuple[str, ...], said: str) -> None:
    """One thing is asked, and of what is there: else a usage error says what to do, or what there is."""
    done = run("why", str(recording), *asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_bundle_is_opened_like_a_file(run: Run, store: str, recording: Path, tmp_path: Path) -> None:
    """What `why` tells of a bundle is what it tells of the record in it; so do the others that take a file."""
    run("keys", "new", "games.example")
    assert run("bundle", "long-duel", "-o", "duel.zip", "--db", store).returncode == 0
    for asked in (("why", str(OVERPAID)), ("replay", "--at", "43"), ("whatif", "--ruleset", "soulburn_per_power=2")):
        command, *rest = asked
        done = run(command, "duel.zip", *rest)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == run(command, str(recording), *rest).stdout
    assert run("diff", "duel.zip", str(recording)).returncode == 0
    (tmp_path / "cut.zip").write_bytes((tmp_path / "duel.zip").read_bytes()[:-100])
    done = run("why", "cut.zip", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: cut.zip: it is no whole zip file")


@pytest.mark.parametrize("name", ["./none", "no/where", "none.jsonl", "none.soulrift.jsonl.zst", "none.gz", "none.zip"])
def test_file_that_is_not_there(run: Run, store: str, name: str) -> None:
    """What is named like a file, by a folder or an ending, and is neither one nor a match: a usage error names it."""
    for db in (store, "none.db"):
        done = run("why", name, "1", "--db", db)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"there is no file {name}, and no match that is called so" in done.stderr


@pytest.mark.parametrize(
    "command", [("audit",), ("replay",), ("diff", "long-duel"), ("whatif", "--ruleset", "overpay=any")]
)
def test_all_commands_say_so(run: Run, store: str, command: tuple[str, ...]) -> None:
    """It is one rule for all that take a file or a match."""
    done = run(*command, "./none", "--db", store)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no file ./none," in done.stderr


def test_match_that_is_named_like_a_file(run: Run) -> None:
    """A match may be called so."""
    for name in ("../a/b", "none.jsonl"):
        run("play", "-", stdin=script({"type": "release"}, match=name))
        for command in ("why", name, "2"), ("audit", name):
            assert run(*command).returncode == 0


def test_match_that_is_not_there(run: Run, store: str) -> None:
    """Neither a file nor a match of this name: an error, as of other commands."""
    done = run("why", "nowhere", "1", "--db", store)
    assert (done.returncode, done.stdout) == (1, "")
    assert "nowhere" in done.stderr


def test_archive_wants_a_match(run: Run, store: str, tmp_path: Path) -> None:
    """One match of an archive is chosen by name."""
    path = str(tmp_path / "all.gz")
    run("export", "--all", "-o", path, "--db", store)
    done = run("why", path, "1")
    assert done.returncode == 2
    assert "--match" in done.stderr
    told = run("why", path, str(OVERPAID), "--match", "long-duel")
    assert told.stdout == run("why", "long-duel", str(OVERPAID), "--db", store).stdout


def test_damaged_file_explains_what_stands_before_the_damage(run: Run, recording: Path) -> None:
    """A file that was cut off is explained up to there; beyond, it is an error in one line."""
    recording.write_bytes(b"".join(recording.read_bytes().splitlines(keepends=True)[:31]))
    assert run("why", str(recording), "--entry", "30").returncode == 0
    for asked in (("--entry", "31"), (str(OVERPAID),), ("--life", "tomas")):
        done = run("why", str(recording), *asked)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("depth", [900, 5_000])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"entry":5', b'"entry":9999'),
        (b'"command":{', b'"command":{"x":NESTED,'),
        (b'"command":{', b'"command":null,"y":{'),
        (b'"command":{', b'"command":{"\\ud800":1,'),
        (b'"events":[{', b'"events":[{"x":NESTED,'),
        (b'"events":[', b'"events":[null,'),
        (b'"type":"', b'"type":"x'),
        (b'"type":"', b'"type":"\xff'),
    ],
)
def test_whatever_stands_in_a_file_is_answered_in_words(
    run: Run, recording: Path, old: bytes, new: bytes, depth: int
) -> None:
    """A line with nonsense in it is explained or is an error, and no fault of the program."""
    lines = recording.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].replace(old, new.replace(b"NESTED", b"[" * depth + b"]" * depth))
    recording.write_bytes(b"".join(lines))
    for form in ("text", "json"):
        done = run("why", str(recording), "--entry", "5", "--format", form)
        assert done.returncode in {0, 1}
        assert "fault of our own" not in done.stderr
        assert bool(done.stderr) == bool(done.returncode)


def test_names_of_any_script_are_told(run: Run) -> None:
    """Names that turn the direction of text or break lines stay within their line."""
    played = run(
        "play", "-", stdin=script({"type": "enter", "card": "\u202e\u2028k", "controller": "ada", "name": "[b]x"})
    )
    assert played.returncode == 0
    first = run("why", "duel", "2").stdout.split("\n")[0]
    assert first == "event 2, entry 2: [b]x [\\u202e\\u2028k] enters, Ada's: a creature without a rank [C-4]"


def test_terminal_shows_a_tree(store: str) -> None:
    """On a terminal the tree is drawn, each line within its width."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "soulrift", "why", "long-duel", str(OVERPAID), "--db", store]
    environment = os.environ | {"COLUMNS": "100", "TERM": "xterm", "NO_COLOR": "1"}
    done = subprocess.Popen(command, stdout=slave, stdin=subprocess.DEVNULL, env=environment)
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 65536):
            shown += part
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(master)
    assert done.wait() == 0
    tree = shown.decode().split("The rules:")[0]
    assert "└── " in tree
    assert "9 - 3 = 6" in tree
