"""Lines that a command must not be: each is refused with a path and a message that can be shown, and nothing breaks."""

import json
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.rules import AnyCommand, Refusal, decode_command
from domain.rules import commands as c
from domain.rules.shape import as_a_whole

EXAMPLES = settings().max_examples  # of the profile that conftest.py chose
MAX_LINE = 2**20
POINTER = re.compile(r"(/([^~/]|~[01])*)*")
JOINER = "\u200d"

META = {"id": "1", "at": "2024-02-29T23:59:59Z", "actor": "server", "expect": 3}
CORRECTIONS: list[dict[str, Any]] = [
    {"life": {"player": "a", "delta": -2}},
    {"soul": {"soul": 1, "to": "gone"}},
    {"soul": {"soul": 1, "to": {"card": "k"}}},
    {"new_soul": {"rank": 1, "to": "aether"}},
    {"new_soul": {"rank": 1, "to": {"card": "k"}}},
    {"rank": {"soul": 1, "rank": 0}},
    {"event": {"event": None}},
    {"payment": {"payment": 1}},
    {"rift": {"highest": 0}},
    {"rift": {"close": True}},
    {"defeated": {"player": "a", "defeated": True}},
    {"result": {"status": "ended", "winner": "a"}},
]
VALID: list[dict[str, Any]] = [
    {
        "type": "start_match",
        "match": "m",
        "players": [{"player": "a", "name": "Anna"}, {"player": "b"}],
        "ruleset": {"starting_life": 20, "overpay": "any", "souls_on_leaving": "lost", "rift_min_rank": 0},
        "origin": {"match": "n", "entry": 2},
        "private": True,
    },
    {"type": "begin_turn", "player": "a"},
    {"type": "take_event", "player": "a", "event": "feast"},
    {
        "type": "enter",
        "card": "k",
        "controller": "a",
        "owner": "b",
        "kind": "creature",
        "deck": "extra",
        "rank": 2,
        "soulless": True,
        "name": "Wynn",
        "definition": "wynn",
    },
    {"type": "seal", "card": "k", "meta": META},
    {"type": "unseal", "card": "k"},
    {"type": "set_soulless", "card": "k", "soulless": False},
    {"type": "set_rank", "card": "k", "rank": None, "cause": "curse"},
    {"type": "change_control", "card": "k", "to": "b"},
    {
        "type": "destroy",
        "cards": ["k", "l"],
        "modifiers": [{"card": "k", "name": "rite", "delta": -1}],
        "cause": "battle",
        "by": "a",
    },
    {"type": "leave", "card": "k", "to": "hand", "by": "a"},
    {"type": "release", "rank": 3, "cause": "lantern", "by": "b"},
    {"type": "reap", "souls": [1, 2], "card": "k", "cause": "reaper", "by": "a"},
    {"type": "pay", "player": "a", "amount": 2, "souls": [1, 2], "effect": "drain", "source": "k"},
    {"type": "pay", "player": "a", "amount": 2, "souls": [1, 2], "cost": "toll"},
    {"type": "resolve", "payment": 1},
    {"type": "fizzle", "payment": 1, "reason": "no target"},
    {"type": "fizzle", "effect": "drain"},
    {"type": "open_rift", "player": "a", "rank": 3, "souls": [1]},
    {"type": "summon", "player": "a", "card": "k", "rank": 1, "deck": "main", "owner": "b", "soulless": True},
    {"type": "close_rift", "player": "a"},
    {"type": "change_life", "changes": [{"player": "a", "delta": -3}], "reason": "combat"},
    {"type": "concede", "player": "a"},
    {"type": "end_match", "winner": None, "reason": "time"},
    {"type": "ruling", "judge": "j", "reason": "r", "about": 1, "corrections": CORRECTIONS},
]
TYPES = {command["type"] for command in VALID}


def bare(value: object) -> bytes:
    """JSON without spaces, every character beyond ASCII as itself."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def outcome(line: bytes | str) -> AnyCommand | Refusal:
    """What becomes of a line; a refusal is checked for everything that one must have. No other error is let by."""
    try:
        return decode_command(line)
    except Refusal as refusal:
        check_shown(refusal)
        return refusal


def check_shown(refusal: Refusal) -> None:
    """A refusal of a line names "input" and a pointer, and can be printed on one line, encoded and sent."""
    assert refusal.rule == "input"
    assert refusal.path is not None
    assert POINTER.fullmatch(refusal.path)
    assert 0 < len(refusal.message) < 1000
    for shown in (refusal.message, str(refusal)):
        assert all(character.isprintable() or character == JOINER for character in shown)
    for sent in (refusal.message, refusal.path):
        assert sent.encode("utf-8").decode("utf-8") == sent
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", sent)
    view = refusal.view()
    assert list(view) == ["rule", "message", "path", "details"]
    assert json.loads(msgspec.json.encode(view)) == view


def refused(line: bytes | str) -> Refusal:
    """The refusal of a line that must be refused."""
    result = outcome(line)
    assert isinstance(result, Refusal), result
    return result


# ------------------------------------------------------------------------------------------------ the examples are good


def test_the_examples_are_commands_of_every_type() -> None:
    """The corpus starts from commands that are accepted, at least one of each type that there is."""
    for valid in VALID:
        command = decode_command(bare(valid))
        assert command.__struct_config__.tag == valid["type"]
    kinds: tuple[type[c.Command], ...] = c.AnyCommand.__args__
    assert {kind.__struct_config__.tag for kind in kinds} == TYPES


def test_white_space_around_a_command_is_allowed() -> None:
    """JSON allows blanks around a value, and a line may end in CRLF."""
    for valid in VALID:
        assert decode_command(b" \t" + bare(valid) + b" \r\n") == decode_command(bare(valid))


# ------------------------------------------------------------------------------------------------ the corpus


@pytest.mark.parametrize("valid", VALID, ids=lambda valid: valid["type"])
def test_truncated_at_each_place(valid: dict[str, Any]) -> None:
    """A command cut anywhere, in a character too, is refused as a whole."""
    line = bare({**valid, "meta": {"actor": "\U0001f469 \u00e9"}})
    for end in range(len(line)):
        assert refused(line[:end]).path == ""
    for start in range(1, len(line)):
        refused(line[start:])


def paths_of(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every value in this one."""
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths_of(inner, (*path, key))


def swapped(value: Any, path: tuple[str | int, ...], new: object) -> Any:
    """The value with another one in that place."""
    if not path:
        return new
    changed: Any = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = swapped(value[path[0]], path[1:], new)
    return changed


def pointer_of(path: tuple[str | int, ...]) -> str:
    """The JSON Pointer to a place."""
    return "".join(f"/{key}" for key in path)


RAW = {
    "a point": "1.0",
    "a fraction": "0.5",
    "an exponent": "1e0",
    "a large exponent": "1E400",
    "a negative exponent": "10e-1",
    "-0.0": "-0.0",
    "just too large": str(2**53),
    "just too small": str(-(2**53)),
    "5 digits beyond": "9007199254740991" + "00000",
    "5000 digits": "9" * 5000,
    "-5000 digits": "-" + "9" * 5000,
    "NaN": "NaN",
    "Infinity": "Infinity",
    "-Infinity": "-Infinity",
    "an object": "{}",
    "an object in a list": "[{}]",
    "a list of lists": "[[]]",
    "a control character": '"a\\u0000b"',
    "a C1 control character": '"a\\u0085b"',
    "a newline": '"a\\nb"',
    "DEL": '"\\u007f"',
    "a raw C1 control character": '"\u0085"',
    "a lone high surrogate": '"\\ud83d"',
    "a lone low surrogate": '"\\udc00 \\ud83d"',
    "an empty text": '""',
    "a long text": '"' + "x" * 501 + '"',
}
"""What is right nowhere in a command."""


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
def test_wrong_values_everywhere(raw: str) -> None:
    """What no field takes is refused in each field of each command, by the path of that very field or of one in it."""
    for valid in VALID:
        for path in paths_of(valid):
            if not path or (path[-1] in {"ruleset", "meta"} and raw == "{}"):  # these may be empty
                continue
            line = bare(swapped(valid, path, "<here>")).replace(b'"<here>"', raw.encode())
            assert (refused(line).path or "").startswith(pointer_of(path)), (valid, path)


def wrong_types(value: object) -> list[object]:
    """Values of types that a field with this value does not take."""
    kinds: list[object] = [True, 7, "1", [1], {"x": 1}]
    return [kind for kind in kinds if type(kind) is not type(value)]


def test_wrong_types_everywhere() -> None:
    """A value of another JSON type is refused in each field that has none, by its path or one in it."""
    for valid in VALID:
        for path in paths_of(valid):
            value: Any = valid
            for key in path:
                value = value[key]
            if not path or value is None or path[-1] in {"to", "event", "rank"}:  # these take two types
                continue
            for wrong in wrong_types(value):
                found = refused(bare(swapped(valid, path, wrong)))
                assert (found.path or "").startswith(pointer_of(path)), (valid, path, wrong)


def test_minus_zero_is_zero() -> None:
    """-0 has no point and no exponent: it is the whole number 0, and is encoded as such."""
    command = decode_command('{"type":"release","rank":-0}')
    assert msgspec.json.encode(command, order="sorted") == b'{"rank":0,"type":"release"}'


@pytest.mark.parametrize("valid", VALID, ids=lambda valid: valid["type"])
def test_unknown_and_missing_and_duplicate_fields(valid: dict[str, Any]) -> None:
    """A field too many or one given twice is named in the path, in whatever object of the command it is."""
    for path in paths_of(valid):
        value: Any = valid
        for key in path:
            value = value[key]
        if not isinstance(value, dict):
            continue
        place = pointer_of(path)
        assert refused(bare(swapped(valid, path, {**value, "zzz": 1}))).path == place + "/zzz"
        assert refused(bare(swapped(valid, path, {**value, "a/b~c": 1}))).path == place + "/a~1b~0c"
        for key, inner in value.items():
            twice = bare(swapped(valid, path, {**value, "<twice>": inner})).replace(b'"<twice>"', bare(key))
            assert refused(twice).path == place + "/" + key
    for key in valid:
        found = outcome(bare({name: inner for name, inner in valid.items() if name != key}))
        assert not isinstance(found, Refusal) or (found.path or "").count("/") == 1


def test_a_key_twice_by_another_spelling() -> None:
    """An escaped key is the same key."""
    assert refused('{"type":"seal","card":"k","c\\u0061rd":"k"}').path == "/card"
    assert refused('{"type":"seal","typ\\u0065":"seal","card":"k"}').path == "/type"


ODD_LINES: dict[str, bytes | str] = {
    "empty": b"",
    "blank": b" \t\r\n",
    "a BOM alone": "\ufeff",
    "a BOM before": "\ufeff" + '{"type":"seal","card":"k"}',
    "a BOM inside": '{\ufeff"type":"seal","card":"k"}',
    "a BOM after": '{"type":"seal","card":"k"}\ufeff',
    "a no-break space before": '\u00a0{"type":"seal","card":"k"}',
    "two commands": '{"type":"seal","card":"k"}{"type":"seal","card":"k"}',
    "a comment": '{"type":"seal","card":"k"} # why',
    "a trailing comma": '{"type":"seal","card":"k",}',
    "single quotes": "{'type':'seal','card':'k'}",
    "an unquoted key": '{type:"seal","card":"k"}',
    "a key that is a number": '{1:"seal"}',
    "a raw newline in a text": b'{"type":"seal","card":"k\nl"}',
    "a raw NUL in a text": b'{"type":"seal","card":"k\x00l"}',
    "a raw escape character in a key": b'{"type":"seal","k\x1b[31m":"k"}',
    "a NUL after": b'{"type":"seal","card":"k"}\x00',
    "a bad escape": '{"type":"seal","card":"\\x41"}',
    "half an escape": '{"type":"seal","card":"\\u12"}',
    "invalid UTF-8": b'{"type":"seal","card":"\xff"}',
    "an overlong slash": b'{"type":"seal","card":"\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"type":"seal","card":"\xed\xa0\x80"}',
    "beyond Unicode": b'{"type":"seal","card":"\xf4\x90\x80\x80"}',
    "UTF-16": '{"type":"seal","card":"k"}'.encode("utf-16"),
    "UTF-32": '{"type":"seal","card":"k"}'.encode("utf-32"),
    "every byte": bytes(range(256)),
    "zeros": bytes(1000),
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03",
    "a lone surrogate in a str": '{"type":"seal","card":"\ud800"}',
    "a list": b"[]",
    "a list of commands": b'[{"type":"seal","card":"k"}]',
    "a text": b'"seal"',
    "a surrogate alone": b'"\\ud800"',
    "a number": b"1",
    "a number with a point": b"-1.5e3",
    "a long number": b"7" * 5000,
    "true": b"true",
    "null": b"null",
    "NaN": b"NaN",
    "-Infinity": b"-Infinity",
    "brackets": b"[" * 100_000,
    "balanced brackets": b"[" * 100_000 + b"]" * 100_000,
    "nested objects": b'{"a":' * 100_000,
    "10 MB": b'{"type":"seal","card":"' + b"k" * 10_000_000 + b'"}',
    "10 MB in a str": '{"type":"seal","card":"' + "k" * 10_000_000 + '"}',
    "10 MB of blanks": b" " * 10_000_000,
    "just over 1 MiB": b'{"type":"seal","card":"k"}'.ljust(MAX_LINE + 1),
    "over 1 MiB in bytes only": '{"type":"seal","card":"k"}' + "\u2003" * (MAX_LINE // 2),
}


@pytest.mark.parametrize("line", ODD_LINES.values(), ids=ODD_LINES.keys())
def test_what_is_no_json_object_is_refused_as_a_whole(line: bytes | str) -> None:
    """What cannot be read as one JSON object of at most 1 MiB is refused with the path "", whichever way it came."""
    found = refused(line)
    assert found.path in {"", "/card"}
    if found.path:  # it could be read, but has a text that no command has
        assert "surrogate" in next(name for name, odd in ODD_LINES.items() if odd is line)


def test_a_line_of_just_1_mib_is_read() -> None:
    """The limit is 1 MiB, not less."""
    assert decode_command(b'{"type":"seal","card":"k"}'.ljust(MAX_LINE)) == c.Seal(card="k")


ODD_OBJECTS: dict[str, tuple[bytes | str, str]] = {
    "empty": (b"{}", "/type"),
    "no type": (b'{"card":"k"}', "/type"),
    "a type that there is not": (b'{"type":"cheat"}', "/type"),
    "a type in capitals": (b'{"type":"SEAL","card":"k"}', "/type"),
    "a type that is a number": (b'{"type":1}', "/type"),
    "a type that is null": (b'{"type":null}', "/type"),
    "a type that is a list": (b'{"type":["seal"]}', "/type"),
    "a type that is an object": (b'{"type":{"type":"seal"}}', "/type"),
    "a type that is a float": (b'{"type":1.5}', "/type"),
    "a type with a surrogate": (b'{"type":"\\ud800"}', "/type"),
    "a type with control characters": (b'{"type":"\\u0000\\n\\u2028"}', "/type"),
    "a type of 100,000 characters": (b'{"type":"' + b"x" * 100_000 + b'"}', "/type"),
    "a surrogate in a key": (b'{"type":"seal","card":"k","\\udfff":1}', "/\\udfff"),
    "a control character in a key": (b'{"type":"seal","card":"k","a\\nb":1}', "/a\\nb"),
    "a surrogate as a key given twice": (b'{"type":"seal","\\ud800":1,"\\ud800":1}', "/\\ud800"),
    "an empty key": (b'{"type":"seal","card":"k","":1}', "/"),
    "a key inside given twice": (
        b'{"type":"ruling","corrections":[{"life":{"delta":1,"delta":1}}]}',
        "/corrections/0/life/delta",
    ),
    "deep in a field": (b'{"type":"seal","card":' + b"[" * 500 + b"]" * 500 + b"}", "/card"),
    "deep in a list": (b'{"type":"reap","card":"k","souls":[' + b"[" * 500 + b"]" * 500 + b"]}", "/souls/0"),
    "deep in an unknown field": (b'{"type":"seal","card":"k","x":' + b'{"x":' * 300 + b"1" + b"}" * 301, "/x"),
    "50,000 unknown keys": (
        b'{"type":"seal","card":"k",' + b",".join(b'"x%d":1' % n for n in range(50_000)) + b"}",
        "/x0",
    ),
    "50,000 unknown keys in a ruleset": (
        b'{"type":"start_match","players":[{"player":"a"},{"player":"b"}],"ruleset":{'
        + b",".join(b'"x%d":1' % n for n in range(50_000))
        + b"}}",
        "/ruleset/x0",
    ),
    "100,000 Souls, the last of them a text": (
        b'{"type":"reap","card":"k","souls":[' + b",".join(b"%d" % n for n in range(100_000)) + b',"1"]}',
        "/souls/100000",
    ),
    "17 players": (
        bare({"type": "start_match", "match": "m", "players": [{"player": f"p{n}"} for n in range(17)]}),
        "/players",
    ),
    "one player": (b'{"type":"start_match","match":"m","players":[{"player":"a"}]}', "/players"),
    "a player twice": (
        b'{"type":"start_match","match":"m","players":[{"player":"a"},{"player":"a"}]}',
        "/players/1/player",
    ),
    "a time without an offset": (b'{"type":"seal","card":"k","meta":{"at":"2024-02-29T12:00:00"}}', "/meta/at"),
    "a day that there is not": (b'{"type":"seal","card":"k","meta":{"at":"2023-02-29T12:00:00Z"}}', "/meta/at"),
    "both effect and cost": (b'{"type":"pay","player":"a","amount":1,"souls":[1],"effect":"e","cost":"c"}', "/cost"),
    "neither effect nor cost": (b'{"type":"pay","player":"a","amount":1,"souls":[1]}', "/effect"),
    "a correction of nothing": (b'{"type":"ruling","judge":"j","reason":"r","corrections":[{}]}', "/corrections/0"),
    "no correction": (b'{"type":"ruling","judge":"j","reason":"r","corrections":[]}', "/corrections"),
    "no card": (b'{"type":"destroy","cards":[]}', "/cards"),
    "a 65th character": (bare({"type": "seal", "card": "\U0001f525" * 65}), "/card"),
}


@pytest.mark.parametrize(("line", "path"), ODD_OBJECTS.values(), ids=ODD_OBJECTS.keys())
def test_objects_that_are_no_commands(line: bytes | str, path: str) -> None:
    """An object that can be read is refused by the path of the first thing that is wrong with it."""
    assert refused(line).path == path


@pytest.mark.parametrize("key", ["a\u00a0b", "\u200b", "\u2028", "\ue000", "\U0001fae9", "~/"])
def test_path_is_the_pointer_of_the_key(key: str) -> None:
    """A path is made of the key itself, whether it can be seen or not; what is shown to people has it spelled out."""
    with pytest.raises(Refusal) as refused:
        decode_command(json.dumps({"type": "seal", "card": "x", key: 1}))
    assert refused.value.path == "/" + key.replace("~", "~0").replace("/", "~1")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(("key", "path"), [("a\nb", "/a\\nb"), ("\ud800", "/\\ud800")])
def test_path_spells_out_what_no_text_may_hold(key: str, path: str) -> None:
    """Control characters and lone surrogates stand in no path."""
    with pytest.raises(Refusal) as refused:
        decode_command(json.dumps({"type": "seal", "card": "x", key: 1}))
    assert refused.value.path == path


def test_64_characters_are_counted_in_code_points() -> None:
    """A name may have 64 characters, however many bytes each of them takes."""
    assert decode_command(bare({"type": "seal", "card": "\U0001f525" * 64})) == c.Seal(card="\U0001f525" * 64)


# ------------------------------------------------------------------------------------------------ no blowing up

BOMBS = {
    "brackets": b"[" * MAX_LINE,
    "objects": (b'{"a":' * MAX_LINE)[:MAX_LINE],
    "objects in lists": (b'[{"":' * MAX_LINE)[:MAX_LINE],
    "brackets in a command": (b'{"type":"seal","card":' + b"[" * MAX_LINE)[:MAX_LINE],
    "digits": b'{"type":"release","rank":' + b"9" * 1_000_000 + b"}",
    "a text": b'{"type":"seal","card":"' + b"k" * 1_000_000 + b'"}',
    "a key": b'{"type":"seal","card":"k","' + b"k" * 1_000_000 + b'":1}',
    "escapes": b'{"type":"seal","card":"' + b"\\u0000" * 170_000 + b'"}',
    "backslashes": b'{"type":"seal","card":"' + b"\\" * 1_000_000,
    "one key again and again": b'{"type":"seal",' + b",".join([b'"card":"k"'] * 90_000) + b"}",
    "empty objects": b'{"type":"ruling","judge":"j","reason":"r","corrections":[' + b"{}," * 50_000 + b"{}]}",
    "empty lists": b'{"type":"destroy","cards":[' + b"[]," * 100_000 + b"[]]}",
    "floats": b'{"type":"reap","card":"k","souls":[' + b"1.5," * 100_000 + b"1]}",
}


@pytest.mark.parametrize("line", BOMBS.values(), ids=BOMBS.keys())
def test_a_hostile_line_takes_bounded_work(line: bytes) -> None:
    """A line of up to 1 MiB costs calls and memory in proportion to its length, and no depth of calls of its own."""
    assert len(line) <= MAX_LINE
    calls, depth, deepest = 0, 0, 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls, depth, deepest
        if event == "call":
            calls, depth = calls + 1, depth + 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    tracemalloc.start()
    try:
        sys.setprofile(count)
        try:
            decode_command(line)
        except Refusal as refusal:
            found = refusal
        finally:
            sys.setprofile(None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    check_shown(found)
    assert calls < 4 * len(line)
    assert deepest < 50
    assert peak < 200 * MAX_LINE


class CountedName(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedName.compared += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


Names = list[CountedName]
LONG: dict[str, Callable[[Callable[[], Names]], AnyCommand]] = {
    "destroy": lambda names: c.Destroy(
        cards=tuple(names()),
        modifiers=tuple([c.NamedModifier(card=name, name="rite", delta=1) for name in reversed(names())]),
    ),
    "start_match": lambda names: c.StartMatch(
        match="m", players=tuple([c.NewPlayer(player=name) for name in names()[:16]])
    ),
    "change_life": lambda names: c.ChangeLife(
        reason="combat", changes=tuple([c.LifeChange(player=name, delta=1) for name in names()])
    ),
}


@pytest.mark.parametrize("kind", LONG)
def test_names_are_compared_a_bounded_number_of_times(kind: str) -> None:
    """A long list of names costs comparisons in proportion to its length, not to its square: 1 MiB holds 60,000."""
    count = 500
    command = LONG[kind](lambda: [CountedName(f"k{n}") for n in range(count)])
    CountedName.compared = 0
    assert as_a_whole(command) is command
    assert CountedName.compared < 10 * count


# ------------------------------------------------------------------------------------------------ fuzz


class Pairs(list[tuple[str, Any]]):
    """A JSON object that may have a key twice."""


def paired(value: object) -> Any:
    """JSON with its objects as `Pairs`, all of it to be changed freely."""
    if isinstance(value, dict):
        return Pairs((key, paired(inner)) for key, inner in value.items())
    return [paired(inner) for inner in value] if isinstance(value, list) else value


def written(value: object, *, ascii_only: bool) -> str:
    """The JSON text of paired JSON."""
    if isinstance(value, Pairs):
        inside = (
            json.dumps(key, ensure_ascii=ascii_only) + ":" + written(inner, ascii_only=ascii_only)
            for key, inner in value
        )
        return "{" + ",".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(inner, ascii_only=ascii_only) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


def containers(value: object) -> list[Any]:
    """Every list and object in it, the outermost first."""
    if not isinstance(value, list):
        return []
    inner = [item[1] for item in value] if isinstance(value, Pairs) else value
    return [value, *(found for item in inner for found in containers(item))]


ODD_TEXTS = st.text(st.characters(), max_size=5)  # surrogates and control characters too
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | ODD_TEXTS
    | st.sampled_from(
        ("a", "k", "aether", "gone", "running", "ended", "creature", "other", "main", "sealed", "x" * 501)
    )
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(ODD_TEXTS | st.sampled_from(("card", "soul", "type")), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = ODD_TEXTS | st.sampled_from(sorted({key for valid in VALID for key in valid}))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid command in which values were swapped, fields removed, added and doubled, and perhaps bytes flipped."""
    value = paired(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(0, 2))):
        places = [place for place in containers(value) if place]
        mutate(draw, draw(st.sampled_from(places or [value])))
    line = bytearray(written(value, ascii_only=draw(st.booleans())).encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 3)))):
        line[draw(st.integers(0, len(line) - 1))] = draw(st.integers(0, 255))
    return bytes(line)


def mutate(draw: st.DrawFn, place: Any) -> None:
    """One change to one list or object."""
    how = draw(st.sampled_from(("swap", "remove", "add", "double")))
    at = draw(st.integers(0, max(0, len(place) - 1)))
    if how == "add" or not place:
        new = paired(draw(JSON))
        place.insert(at, (draw(KEYS), new) if isinstance(place, Pairs) else new)
    elif how == "swap":
        new = paired(draw(JSON))
        place[at] = (place[at][0], new) if isinstance(place, Pairs) else new
    elif how == "remove":
        del place[at]
    else:
        place.append(place[at])


def known_object(line: bytes) -> bool:
    """Whether the line can be read, leniently, as an object with the type of a command."""
    try:
        value = json.loads(line.decode(), parse_int=len)
    except (ValueError, RecursionError):
        return False
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind in TYPES and len(line) <= MAX_LINE


def check_line(line: bytes) -> None:
    """A line is a command, which its own encoding gives again, or is refused, with a path if it can be read.

    It is the same whether it is read at once or field by field, as one that begins with a tab is.
    """
    found = outcome(line)
    searched = outcome(b"\t" + line)
    assert isinstance(found, Refusal) or found == searched
    if isinstance(found, Refusal):
        if known_object(line):
            assert found.path, f"no field is named: {found.message}"
        return
    encoded = msgspec.json.encode(found, order="sorted")
    assert decode_command(encoded) == found
    assert msgspec.json.encode(decode_command(encoded), order="sorted") == encoded
    assert decode_command(line.decode()) == found


@given(mutated())
@settings(max_examples=12 * EXAMPLES)
@example(b'{"type":"seal","card":null}')
@example(b'{"type":"enter","card":"k","controller":"a","owner":null}')
@example(b'{"type":"ruling","judge":"j","reason":"r","corrections":[{"soul":{"soul":1,"to":{}}}]}')
@example(b'{"type":"ruling","judge":"j","reason":"r","corrections":[{"soul":{"soul":1,"to":"nowhere"}}]}')
def test_mutated_commands_are_decoded_or_refused(line: bytes) -> None:
    """Whatever was done to a valid command, it is decoded to what its encoding gives again, or refused by a path."""
    check_line(line)


@given(st.binary(max_size=60) | ODD_TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=4 * EXAMPLES)
def test_random_bytes_are_refused(line: bytes) -> None:
    """No bytes make decoding fail otherwise than by a refusal."""
    check_line(line)


@given(JSON, st.sampled_from(sorted(TYPES)))
@settings(max_examples=4 * EXAMPLES)
def test_random_json_is_refused_or_decoded(value: object, kind: str) -> None:
    """Random JSON, as a whole or beside a type that there is, is refused by a path or decoded."""
    check_line(written(paired(value), ascii_only=True).encode())
    if isinstance(value, dict):
        check_line(written(paired({"type": kind, **value}), ascii_only=True).encode())


@given(st.text(st.characters(), max_size=40))
@settings(max_examples=4 * EXAMPLES)
def test_any_str_is_decoded_or_refused(text: str) -> None:
    """A line may come as a str too, with lone surrogates in it."""
    outcome(text)
    outcome('{"type":"seal","card":"' + text + '"}')
