"""The JSON Schemas say what the structs say: of every line that is written, of commands, and of what is neither."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from domain import Refusal, decode_command
from replays import lines
from replays.files import opened
from replays.lines import Archive, ArchiveEnd, End, EntryLine, Header, Openings
from replays.schemas import encoded, schemas
from replays.writing import match_lines
from tests.golden.make_corpus import EXAMPLES, corpus, matches
from tests.unit.test_hostile_input import VALID, bare

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "schemas"

SCHEMAS = schemas()
VALIDATORS = {name: Draft202012Validator(schema) for name, schema in SCHEMAS.items()}
FILE_OF = {
    Archive: "archive",
    Header: "header",
    EntryLine: "entry",
    Openings: "openings",
    End: "end",
    ArchiveEnd: "archive-end",
}

EACH = 25
"""One line in so many of the corpus is looked at: a validator takes milliseconds for each."""

COMMANDS: dict[str, dict[str, Any]] = {
    "start_match": {"type": "start_match", "players": [{"player": "a"}, {"player": "b"}]},
    "pay": {"type": "pay", "player": "a", "amount": 2, "souls": [1, 2], "effect": "drain"},
    "ruling": {"type": "ruling", "judge": "j", "reason": "r", "corrections": [{"rift": {"close": True}}]},
}


def fits(name: str, value: Any) -> bool:
    return bool(VALIDATORS[name].is_valid(value))


def validated(line: bytes) -> str:
    """The name of the schema of a line of a replay file, by which it must be valid."""
    kind = lines.kind_of(line)
    assert kind is not None
    name = FILE_OF[kind]
    VALIDATORS[name].validate(json.loads(line))
    return name


# ------------------------------------------------------------ the files


@pytest.mark.parametrize("name", SCHEMAS)
def test_files_are_up_to_date(name: str) -> None:
    """The schemas in docs/schemas are those of the structs as they are now."""
    path = FOLDER / f"{name}.json"
    if not path.exists() or path.read_bytes() != encoded(SCHEMAS[name]):
        pytest.fail(f"{path} is out of date; run: python -m replays.schemas docs/schemas", pytrace=False)


def test_no_other_files_are_there() -> None:
    """Every file in docs/schemas is made from a struct."""
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.json" for name in SCHEMAS}


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_a_schema(name: str) -> None:
    """Each is valid by the dialect that it names, says what it is of, and refers to nothing outside of it."""
    schema = SCHEMAS[name]
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)
    assert schema["title"]
    assert schema["description"]
    assert "$id" not in schema
    text = encoded(schema).decode()
    assert set(re.findall(r'"\$ref": "#/\$defs/(\w+)"', text)) == set(schema.get("$defs", ()))
    assert text.count('"$ref"') == text.count('"$ref": "#/$defs/')


def test_they_are_written_by_the_command_that_is_told(tmp_path: Path) -> None:
    """`python -m replays.schemas DIR` writes just these files, and says how it is used if it is used otherwise."""
    command = [sys.executable, "-m", "replays.schemas"]
    subprocess.run([*command, str(tmp_path)], check=True, cwd=ROOT)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        f"{name}.json": encoded(schema) for name, schema in SCHEMAS.items()
    }
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("usage: python -m replays.schemas DIR")


# ------------------------------------------------------------ what is valid


def test_lines_of_the_examples_are_valid() -> None:
    """Every line of the recordings of all examples is valid by the schema of its kind."""
    names = {path.stem for path in EXAMPLES.glob("*.jsonl")}
    recorded = list(islice(matches(), len(names)))
    assert {match for match, _ in recorded} == names
    for match, entries in recorded:
        kinds = [validated(line) for line in match_lines(match, entries)]
        assert kinds == ["header", *["entry"] * len(entries), "end"]


def test_lines_of_the_corpus_are_valid() -> None:
    """A sample of the golden corpus, of every kind of line, is valid by the schema of its kind."""
    with opened(corpus(1)) as file:
        content = file.read().splitlines()
    sample = [content[0], *(line for number, line in enumerate(content) if number % EACH == 0), content[-1]]
    sample += [line for line in content if lines.kind_of(line) in {Header, End}][::EACH]
    assert {validated(line) for line in sample} == set(FILE_OF.values()) - {"openings"}  # no match in it is private


@pytest.mark.parametrize("command", VALID, ids=lambda command: command["type"])
def test_commands_are_valid(command: dict[str, Any]) -> None:
    """Commands of every type, with every field and every kind of correction, are valid."""
    VALIDATORS["command"].validate(command)


# ------------------------------------------------------------ what is not


def places(value: Any) -> Iterator[Any]:
    """The objects within a value, from the outermost on."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from places(part)


def spoilt(command: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A command with an unknown field, or a list for a value, in each object of it; and without its type."""
    for place in range(len(list(places(command)))):
        unknown = deepcopy(command)
        list(places(unknown))[place]["unknown"] = 1
        yield unknown
        for field in list(places(command))[place]:
            other = deepcopy(command)
            list(places(other))[place][field] = [[]]
            yield other
    yield {field: value for field, value in command.items() if field != "type"}


@pytest.mark.parametrize("command", VALID, ids=lambda command: command["type"])
def test_spoilt_commands_are_not(command: dict[str, Any]) -> None:
    """What has an unknown field, or a value of another type, anywhere is not valid, and the engine refuses it, too."""
    for bad in spoilt(command):
        assert not fits("command", bad), bad
        with pytest.raises(Refusal):
            decode_command(bare(bad))


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        pytest.param("pay", {"cost": "toll"}, id="both of two"),
        pytest.param("pay", {"effect": ""}, id="empty text"),
        pytest.param("pay", {"effect": "a\n"}, id="line break at the end"),
        pytest.param("pay", {"effect": "\x9b1m"}, id="control character"),
        pytest.param("pay", {"effect": "x" * 501}, id="long text"),
        pytest.param("pay", {"player": "x" * 65}, id="long name"),
        pytest.param("pay", {"amount": 2**53}, id="large number"),
        pytest.param("pay", {"amount": 1.5}, id="part of a number"),
        pytest.param("pay", {"souls": "1"}, id="text for a list"),
        pytest.param("pay", {"souls": None}, id="null where it is no default"),
        pytest.param("pay", {"type": "Pay"}, id="unknown type"),
        pytest.param("pay", {"meta": {"id": 1}}, id="number for an id"),
        pytest.param("start_match", {"players": [{"player": "a"}]}, id="one player"),
        pytest.param("start_match", {"players": [{"player": str(n)} for n in range(17)]}, id="seventeen players"),
        pytest.param("start_match", {"ruleset": {"sealed_bonus": 4}}, id="figure of a ruleset"),
        pytest.param("start_match", {"ruleset": {"overpay": "all"}}, id="value of a ruleset"),
        pytest.param("start_match", {"origin": {"match": "m"}}, id="origin without its entry"),
        pytest.param("ruling", {"corrections": []}, id="no correction"),
        pytest.param("ruling", {"corrections": [{}]}, id="empty correction"),
        pytest.param(
            "ruling",
            {"corrections": [{"event": {"event": None}, "payment": {"payment": 1}}]},
            id="two in one correction",
        ),
        pytest.param("ruling", {"corrections": [{"rift": {"close": False}}]}, id="a Rift that is not closed"),
        pytest.param("ruling", {"corrections": [{"rift": {"close": True, "highest": 1}}]}, id="a Rift closed and more"),
        pytest.param("ruling", {"corrections": [{"soul": {"soul": 1, "to": "hand"}}]}, id="nowhere"),
    ],
)
def test_bad_commands_are_not(kind: str, changed: dict[str, Any]) -> None:
    """A good command with one thing changed for the worse is not valid, and the engine refuses it, too."""
    assert fits("command", COMMANDS[kind])
    bad = COMMANDS[kind] | changed
    assert not fits("command", bad)
    with pytest.raises(Refusal):
        decode_command(bare(bad))


@pytest.mark.parametrize(
    "command",
    [
        {"type": "destroy", "cards": ["k", "k"]},
        {"type": "reap", "card": "k", "souls": [1, 1]},
        {"type": "fizzle"},
        {"type": "pay", "player": "a", "amount": 2, "souls": [1]},
        {"type": "change_life", "reason": "r", "changes": []},
    ],
    ids=lambda command: command["type"],
)
def test_bad_lists_and_missing_halves_are_not(command: dict[str, Any]) -> None:
    """What is named twice, or a command without either of two fields, is not valid, and the engine refuses it, too."""
    assert not fits("command", command)
    with pytest.raises(Refusal):
        decode_command(bare(command))


@pytest.mark.parametrize("odd", ["\u2028", "\U0001f469\u200d\U0001f467", "x" * 64, "\U0010ffff" * 64, "\xa0", "\\"])
def test_odd_names_are_valid(odd: str) -> None:
    """What the engine takes for a name the schema takes, too: characters count as code points."""
    command = {"type": "concede", "player": odd}
    assert decode_command(bare(command))
    assert fits("command", command)
    assert fits("header", {"match": odd, "replay": 1})


ENTRY = {
    "command": {"type": "release", "rank": 1},
    "entry": 2,
    "events": [{"type": "soul_released", "entry": 2, "n": 2, "by": None, "cause": None, "rank": 1, "soul": 1}],
    "state_hash": "0f" * 32,
}
END = {"checksum": "ab" * 32, "entries": 1, "root": "00" * 32, "status": "running", "writer": "someone 1"}
OPENING = {"commitment": "sha256:" + "0f" * 32, "salt": "ab" * 16, "value": "Ada"}
LINES: dict[str, dict[str, Any]] = {
    "archive": {"archive": 1},
    "archive-end": {"matches": 1},
    "end": END,
    "entry": ENTRY,
    "event": ENTRY["events"][0],  # type: ignore[index]  # it is a list
    "header": {"match": "duel", "replay": 1},
    "openings": {"openings": [OPENING]},
}


@pytest.mark.parametrize("name", LINES)
def test_each_field_of_a_line_is_needed(name: str) -> None:
    """A line is valid with all of its fields, and not without any of them, nor of another type."""
    assert fits(name, LINES[name])
    for field in LINES[name]:
        assert not fits(name, {key: value for key, value in LINES[name].items() if key != field})
        assert not fits(name, LINES[name] | {field: [[]]})
    others: list[Any] = [None, [], "", 1, {}]
    assert not any(fits(name, other) for other in others)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        pytest.param("archive", {"archive": 0}, id="format 0"),
        pytest.param("archive", {"more": 1}, id="more in an archive's first line"),
        pytest.param("archive-end", {"matches": 0}, id="no match"),
        pytest.param("end", {"checksum": "AB" * 32}, id="capital letters in a hash"),
        pytest.param("end", {"root": "0" * 63}, id="short hash"),
        pytest.param("end", {"entries": 0}, id="no entry"),
        pytest.param("end", {"status": "unstarted"}, id="unknown status"),
        pytest.param("end", {"writer": ""}, id="nobody wrote it"),
        pytest.param("end", {"more": 1}, id="more in an end"),
        pytest.param("entry", {"entry": 0}, id="entry 0"),
        pytest.param("entry", {"events": []}, id="no event"),
        pytest.param("entry", {"events": [{"type": "soul_banished", "entry": 2, "n": 2}]}, id="unknown event"),
        pytest.param("entry", {"command": {"type": "release", "rank": "1"}}, id="command of another type"),
        pytest.param("entry", {"command": {"type": "release", "power": 1}}, id="unknown field of a command"),
        pytest.param("entry", {"state_hash": None}, id="no hash"),
        pytest.param("entry", {"more": 1}, id="more in an entry"),
        pytest.param("event", {"rank": 4}, id="rank 4"),
        pytest.param("event", {"type": "released"}, id="unknown type"),
        pytest.param("header", {"match": ""}, id="no name"),
        pytest.param("header", {"match": "a\tb"}, id="tab in a name"),
        pytest.param("header", {"replay": "1"}, id="text for a number"),
        pytest.param("header", {"more": 1}, id="more in a header"),
        pytest.param("openings", {"openings": []}, id="no opening"),
        pytest.param("openings", {"openings": [{**OPENING, "more": 1}]}, id="more in an opening"),
        pytest.param("openings", {"openings": [OPENING | {"salt": "AB" * 16}]}, id="capital letters in a salt"),
        pytest.param("openings", {"openings": [OPENING | {"commitment": "Ada"}]}, id="name for a commitment"),
        pytest.param("openings", {"openings": [OPENING | {"value": "A\n"}]}, id="line break in a value"),
    ],
)
def test_bad_lines_are_not(name: str, changed: dict[str, Any]) -> None:
    """A good line with one thing changed for the worse is not valid."""
    assert not fits(name, LINES[name] | changed)


def test_events_may_have_fields_to_come() -> None:
    """A field that is not known yet makes no event invalid: readers ignore it."""
    assert fits("event", LINES["event"] | {"more": 1})
    assert fits("entry", ENTRY | {"events": [LINES["event"] | {"more": 1}]})
