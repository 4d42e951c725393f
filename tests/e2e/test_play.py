"""`soulrift play` as a game server uses it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Run, script

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.jsonl"))
GOLDEN = (ROOT / "tests" / "golden" / "matches.jsonl").read_text().splitlines()

RELEASE: dict[str, Any] = {"type": "release", "rank": 2}
SUPERFLUOUS = {"type": "pay", "player": "ada", "amount": 1, "souls": [1, 2], "effect": "drain"}


def holds(expected: object, answer: object) -> bool:
    """Whether the answer has all that is expected; it may hold more fields."""
    if isinstance(expected, dict) and isinstance(answer, dict):
        return all(key in answer and holds(value, answer[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(answer, list):
        return len(expected) == len(answer) and all(map(holds, expected, answer))
    return type(expected) is type(answer) and expected == answer


def test_answer_in_json_has_just_the_documented_shape(run: Run) -> None:
    """One object: match, entries, events of this call, refusals as data, and the state after it."""
    done = run("play", "-", "--format", "json", "--keep-going", stdin=script(RELEASE, RELEASE, SUPERFLUOUS, RELEASE))
    assert (done.returncode, done.stderr) == (1, "")
    answer = json.loads(done.stdout)
    assert list(answer) == ["match", "entries", "events", "refusals", "state"]
    assert (answer["match"], answer["entries"]) == ("duel", 4)
    assert [(event["type"], event["entry"], event["n"]) for event in answer["events"]] == [
        ("match_started", 1, 1),
        ("soul_released", 2, 2),
        ("soul_released", 3, 3),
        ("soul_released", 4, 4),
    ]
    (refusal,) = answer["refusals"]
    assert list(refusal) == ["line", "rule", "message", "path", "details"]
    assert (refusal["line"], refusal["rule"], refusal["path"]) == (4, "P-5", None)
    assert refusal["details"] == {"amount": 1, "power": 6, "excess": 5, "superfluous": [1, 2]}
    state = answer["state"]
    assert list(state) == [
        *("match", "entries", "rules", "ruleset", "status", "winner", "turn", "players", "aether", "battlefield"),
        *("rift", "payments", "gone", "numbered", "state_hash"),
    ]
    assert state["players"]["ada"] == {"name": "Ada", "life": 30, "defeated": False}
    assert state["aether"] == [{"soul": number, "rank": 2} for number in (1, 2, 3)]


@pytest.mark.parametrize("line", GOLDEN, ids=lambda line: json.loads(line)["script"][0]["match"])
def test_golden_match_comes_out_exactly(run: Run, line: str) -> None:
    """The recorded scripts give the recorded events, refusals, states and hashes."""
    golden = json.loads(line)
    stdin = "".join(json.dumps(command) + "\n" for command in golden["script"])
    done = run("play", "-", "--format", "json", "--keep-going", stdin=stdin)
    assert holds(golden["expect"], json.loads(done.stdout))
    assert done.returncode == (1 if golden["expect"]["refusals"] else 0)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_plays_without_a_refusal(run: Run, example: Path) -> None:
    """Each shipped match plays through, as a story and as data, and `show` and `events` agree with it."""
    told = run("play", str(example))
    assert (told.returncode, told.stderr) == (0, "")
    done = run("play", str(example), "--format", "json", "--db", "other.db")
    answer = json.loads(done.stdout)
    assert answer["refusals"] == []
    name = answer["match"]
    assert json.loads(run("show", name, "--format", "json").stdout) == answer["state"]
    events = run("events", name, "--format", "json").stdout.splitlines()
    assert [json.loads(event) for event in events] == answer["events"]
    assert told.stdout.startswith(run("events", name).stdout)
    assert len(run("events", name).stdout.splitlines()) == answer["entries"]


def test_stops_at_the_first_refusal_and_keeps_what_came_before(run: Run) -> None:
    """Without --keep-going the script ends at the refused line; the lines before it are in the store."""
    done = run("play", "-", stdin=script(RELEASE, RELEASE, SUPERFLUOUS, RELEASE))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("<stdin>:4: P-5: any one of the Souls 1 and 2 could be left out")
    assert json.loads(run("show", "duel", "--format", "json").stdout)["entries"] == 3


def test_refused_first_command_ends_the_script(run: Run) -> None:
    """A script whose match does not begin goes no further, even with --keep-going."""
    done = run("play", "-", "--keep-going", "--format", "json", stdin='{"type":"release"}\n' + script())
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer == {"match": None, "entries": 0, "events": [], "refusals": answer["refusals"], "state": None}
    assert [(refusal["line"], refusal["path"]) for refusal in answer["refusals"]] == [(1, "/type")]


def test_match_without_a_name_is_called_like_its_file(run: Run, tmp_path: Path) -> None:
    """The file's stem is the name, made unique where it is taken."""
    (tmp_path / "round 1.jsonl").write_text(script(match=None))
    names = [json.loads(run("play", "round 1.jsonl", "--format", "json").stdout)["match"] for _ in range(3)]
    assert names == ["round 1", "round 1-2", "round 1-3"]
    assert json.loads(run("play", "-", "--format", "json", stdin=script(match=None)).stdout)["match"] == "stdin"


def test_taken_name_is_refused(run: Run) -> None:
    """A second match of one name is refused, with the field and the remedy."""
    run("play", "-", stdin=script())
    done = run("play", "-", stdin=script(RELEASE))
    assert done.returncode == 1
    told = 'there is a match "duel" already; choose another name, or go on with it by meta.id'
    assert (done.stdout, done.stderr) == ("", f"<stdin>:1: input at /match: {told}\n")


def test_script_played_twice_with_ids_has_one_effect(run: Run) -> None:
    """A script whose commands carry ids can be sent again: nothing is appended, no event is told again."""
    disputed = (ROOT / "examples" / "disputed.jsonl").read_text()
    first = json.loads(run("play", "-", "--format", "json", stdin=disputed).stdout)
    again = json.loads(run("play", "-", "--format", "json", stdin=disputed).stdout)
    assert again == {**first, "events": []}
    more = disputed + json.dumps({"type": "release", "cause": "a new line"}) + "\n"
    longer = json.loads(run("play", "-", "--format", "json", stdin=more).stdout)
    assert [event["type"] for event in longer["events"]] == ["soul_released"]
    assert longer["entries"] == first["entries"] + 1
    told = run("play", "-", stdin=more)
    assert told.returncode == 0
    assert told.stdout.splitlines()[0].endswith("Soul 6 is released (a new line)")


def test_lines_of_every_kind_of_file_are_read(run: Run) -> None:
    """A byte order mark, CRLF, comments, empty lines and a missing newline at the end are all well."""
    first, second = script(RELEASE).splitlines()
    stdin = (
        b"\xef\xbb\xbf# a comment\r\n#"
        + b"x" * 2**21
        + b"\r\n\r\n"
        + first.encode()
        + b"\r\n   \r\n#\r\n"
        + second.encode()
    )
    answer = json.loads(run("play", "-", "--format", "json", stdin=stdin).stdout)
    assert (answer["entries"], answer["refusals"]) == (2, [])


def test_line_numbers_count_every_line(run: Run) -> None:
    """A refusal names the line of the file, comments and empty lines counted."""
    stdin = "# one\n\n" + script() + "\n# five\n{}\n"
    answer = json.loads(run("play", "-", "--format", "json", stdin=stdin).stdout)
    assert [(refusal["line"], refusal["path"]) for refusal in answer["refusals"]] == [(6, "/type")]


def test_second_start_match_is_out_of_place(run: Run) -> None:
    """A script is one match: a second start_match is refused, whatever it calls its match; other lines are kept."""
    stdin = script(RELEASE) + script(RELEASE, match="another")
    answer = json.loads(run("play", "-", "--format", "json", "--keep-going", stdin=stdin).stdout)
    assert [(refusal["line"], refusal["path"]) for refusal in answer["refusals"]] == [(3, "/type")]
    assert answer["entries"] == 3


BAD_LINES: dict[str, tuple[str | bytes, str]] = {
    "truncated": ('{"type": "release", "rank": ', ""),
    "wrong type": ('{"type": "release", "rank": "2"}', "/rank"),
    "float": ('{"type": "release", "rank": 1.0}', "/rank"),
    "exponent": ('{"type": "release", "rank": 1e0}', "/rank"),
    "huge integer": ('{"type": "release", "rank": %s}' % ("9" * 5000), "/rank"),
    "beyond 2^53": ('{"type": "release", "rank": 9007199254740992}', "/rank"),
    "NaN": ('{"type": "release", "rank": NaN}', "/rank"),
    "duplicate field": ('{"type": "release", "rank": 1, "rank": 1}', "/rank"),
    "duplicate in meta": ('{"type": "release", "meta": {"id": "a", "id": "a"}}', "/meta/id"),
    "unknown field": ('{"type": "release", "power": 1}', "/power"),
    "missing field": ('{"type": "leave", "card": "x"}', "/to"),
    "control character": ('{"type": "release", "cause": "a\\u0007b"}', "/cause"),
    "newline in a name": ('{"type": "enter", "card": "a\\nb", "controller": "ada"}', "/card"),
    "raw control character": ('{"type": "release", "cause": "a\tb"}', ""),
    "surrogate": ('{"type": "release", "cause": "\\ud83d"}', "/cause"),
    "surrogate in a key": ('{"type": "release", "\\ud83d": 1}', "/\\ud83d"),
    "null": ('{"type": "release", "rank": null}', "/rank"),
    "array": ("[1, 2]", ""),
    "string": ('"release"', ""),
    "two objects": ('{"type": "release"} {"type": "release"}', ""),
    "no type": ("{}", "/type"),
    "unknown type": ('{"type": "resurrect"}', "/type"),
    "deep": ("[" * 100_000, ""),
    "deep object": ('{"type":' * 50_000, ""),
    "10 MB": ('{"type": "release", "cause": "%s"}' % ("x" * 10_000_000), ""),
    "binary": (b"\x00\x01\x02\xfe\xff", ""),
    "latin-1": ('{"type": "release", "cause": "Ségolène"}'.encode("latin-1"), ""),
    "utf-16": ('{"type": "release"}'.encode("utf-16"), ""),
    "a MiB of blanks before the command": (b" " * 2**20 + b'{"type": "release"}', ""),
    "a form feed": (b"\x0c", ""),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_bad_line_is_one_error_with_line_and_field(run: Run, kind: str) -> None:
    """A bad line is told in one line with its number and field; exit status 1, and what came before it is kept."""
    line, path = BAD_LINES[kind]
    bad = line if isinstance(line, bytes) else line.encode()
    stdin = script(RELEASE).encode() + bad + b"\n" + json.dumps(RELEASE).encode() + b"\n"
    done = run("play", "-", stdin=stdin)
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert told.startswith(f"<stdin>:3: input at {path}: " if path else "<stdin>:3: input: ")
    assert len(told) < 1000
    assert json.loads(run("show", "duel", "--format", "json").stdout)["entries"] == 2


@pytest.mark.parametrize("stdin", ["", "\n\n", "# only a comment\n", "\ufeff"])
def test_script_without_a_command_is_an_error(run: Run, stdin: str) -> None:
    """An empty script is never a success."""
    done = run("play", "-", stdin=stdin)
    assert (done.returncode, done.stdout) == (1, "")
    assert "its first one is a start_match" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_bad_start_match_is_one_error(run: Run) -> None:
    """A start_match that cannot be is told with its field, and begins nothing."""
    for start, path in (
        ('{"type": "start_match", "match": "m", "players": [{"player": "a"}]}', "/players"),
        ('{"type": "start_match", "match": "m", "players": [{"player": "a"}, {"player": "a"}]}', "/players/1/player"),
        (
            '{"type": "start_match", "players": [{"player": "a"}, {"player": "b"}], "ruleset": {"luck": 1}}',
            "/ruleset/luck",
        ),
    ):
        done = run("play", "-", "--keep-going", stdin=start + "\n" + json.dumps(RELEASE) + "\n")
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert done.stderr.startswith(f"<stdin>:1: input at {path}: ")
