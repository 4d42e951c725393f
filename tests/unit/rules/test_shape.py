"""The strict edge, field by field: what is refused, with the path, and what is not."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from domain.rules import Refusal, decode_command
from tests.kit import Json, of
from tests.unit.rules.full_commands import FIELDS, FULL, MAX, META, META_FIELDS
from tests.unit.rules.moves import destroy, enter, fizzle, life, lives, modifier, pay, reap, ruling, summon

NOT_A_NUMBER = ("1.0", "1e0", "-0.5", "1E400", "NaN", "Infinity", "-Infinity", '"1"', "true", "[]", "{}", "9" * 5000)
BEYOND = (str(MAX + 1), str(-MAX - 1), "1" + "0" * 30)
NOT_A_STRING = ("1", "1.0", "false", "[]", "{}", "NaN")
CONTROLS = ('"a\\u0000"', '"\\u001f"', '"a\\u007fb"', '"\\u0085"', '"a\x7f"', '"\x85"', '"a\\n"')
SURROGATES = ('"\\ud800"', '"a\\udc00b"', '"\\udc00\\ud800"')
ANY_TEXT = ('"a"', '"\\ud83d\\ude00"', '" "', '"null"', '"\\u00a0"', '"a,\'|\\\\\\""', '"\\u202e\\u2028"')


def text_of(character: str, times: int) -> str:
    """Raw JSON: the character so many times."""
    return f'"{character * times}"'


class Kind(msgspec.Struct, frozen=True):
    """Raw JSON values that fields of this kind hold, and that they refuse."""

    good: tuple[str, ...]
    bad: tuple[str, ...]


KINDS = {
    "name": Kind(
        (*ANY_TEXT, text_of("n", 64), text_of("\U0001f600", 64)),
        (*NOT_A_STRING, *CONTROLS, *SURROGATES, '""', text_of("n", 65)),
    ),
    "text": Kind(
        (*ANY_TEXT, text_of("t", 500), text_of("\U0001f600", 500)),
        (*NOT_A_STRING, *CONTROLS, *SURROGATES, '""', text_of("t", 501)),
    ),
    "among": Kind(('"x"', '"y"'), (*NOT_A_STRING, *CONTROLS, *SURROGATES, '""', '"z"')),
    "integer": Kind(("0", "-0", "1", "-1", str(MAX), str(-MAX)), (*NOT_A_NUMBER, *BEYOND)),
    "number": Kind(("1", str(MAX)), (*NOT_A_NUMBER, *BEYOND)),
    "bool": Kind(("true",), ("0", "1", "1.0", '"true"', "[]", "{}")),
    "list": Kind((), ("{}", '"x"', "1", "1.0", "true")),
    "object": Kind((), ("[]", '"x"', "1", "1.0", "true")),
}


def kind_of(told: str) -> Kind:
    """The kind that a word of the table of fields names."""
    told = told.rstrip("!?")
    if told in KINDS:
        return KINDS[told]
    if ".." in told:
        low, high = map(int, told.split(".."))
        return Kind((str(low), str(high)), (*NOT_A_NUMBER, *BEYOND, str(low - 1), str(high + 1)))
    words = [word for word in told.split("|") if word]
    return Kind(tuple(f'"{word}"' for word in words), (*NOT_A_STRING[:3], NOT_A_STRING[3], '""', '"Main"', '"\\ud800"'))


def raw(command: Json, path: str, text: str) -> str:
    """The command's line with this raw JSON at the path."""
    changed, keys = deepcopy(command), path[1:].split("/")
    at = holder(changed, keys)
    at[int(keys[-1]) if isinstance(at, list) else keys[-1]] = "@"
    return json.dumps(changed, ensure_ascii=False).replace('"@"', text)


def holder(command: Json, keys: list[str]) -> Any:
    """The object or list of the command that holds the last of these keys."""
    at: Any = command
    for key in keys[:-1]:
        at = at[int(key)] if isinstance(at, list) else at[key]
    return at


def refused(line: str | bytes) -> str | None:
    """The path by which this line is refused as input."""
    with pytest.raises(Refusal) as refusal:
        decode_command(line)
    assert refusal.value.rule == "input"
    assert refusal.value.message.isprintable()
    msgspec.json.encode(refusal.value.view())
    return refusal.value.path


def every_field() -> Iterator[tuple[Json, str, str]]:
    """Each command with each of its fields and what the table says of it."""
    for kind, fields in FIELDS.items():
        for path, told in fields.items():
            yield FULL[kind], path, told
    for path, told in META_FIELDS.items():
        yield {**FULL["enter"], "meta": META}, path, told


EVERY_FIELD = [pytest.param(*field, id=f"{field[0]['type']}{field[1]}") for field in every_field()]
EVERY_NAMED_FIELD = [field for field in EVERY_FIELD if not str(field.values[1])[-1].isdigit()]
"""Those that are no items of a list."""
TYPES = pytest.mark.parametrize("kind", FULL)


@TYPES
def test_full_command_is_read(kind: str) -> None:
    """A command with all of its fields is what it says, and reads the same when written again."""
    command = decode_command(json.dumps({**FULL[kind], "meta": META}))
    assert json.loads(msgspec.json.encode(command)) == {**FULL[kind], "meta": META}
    assert decode_command(msgspec.json.encode(command)) == command


@TYPES
def test_table_of_fields_is_complete(kind: str) -> None:
    """Each field of the full command stands in the table."""
    assert {f"/{name}" for name in FULL[kind]} <= {*FIELDS[kind], "/type"}


@pytest.mark.parametrize(("command", "path", "told"), EVERY_FIELD)
def test_wrong_value_is_refused_at_its_field(command: Json, path: str, told: str) -> None:
    """Wrong types, numbers that are no integers or too large, texts too short, too long or with characters refused."""
    for text in kind_of(told).bad:
        assert refused(raw(command, path, text)) == path, text


@pytest.mark.parametrize(("command", "path", "told"), EVERY_FIELD)
def test_value_within_its_bounds_is_read(command: Json, path: str, told: str) -> None:
    """The longest text, the largest number, and every word of a choice are accepted."""
    for text in kind_of(told).good:
        decode_command(raw(command, path, text))


@pytest.mark.parametrize(("command", "path", "told"), EVERY_FIELD)
def test_null_is_accepted_where_it_is_the_default(command: Json, path: str, told: str) -> None:
    """An explicit null is the default where that is null, and refused everywhere else."""
    line = raw(command, path, "null")
    if "?" not in told:
        assert refused(line) == path
    else:
        read = json.loads(msgspec.json.encode(decode_command(line)))
        keys = path[1:].split("/")
        assert (keys[-1] in holder(read, keys)) is ("!" in told)


@pytest.mark.parametrize(("command", "path", "told"), EVERY_NAMED_FIELD)
def test_missing_field_is_refused_where_it_is_missing(command: Json, path: str, told: str) -> None:
    """What has no default must be there."""
    without, keys = deepcopy(command), path[1:].split("/")
    holder(without, keys).pop(keys[-1], None)
    if "!" in told:
        assert refused(json.dumps(without)) == path
    elif told not in {"number", "bool", "object"} and path not in {"/effect", "/payment"}:
        decode_command(json.dumps(without))


def objects(value: object, path: str = "") -> Iterator[str]:
    """The paths of all objects in a decoded JSON value."""
    if isinstance(value, dict):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from objects(inner, f"{path}/{key}")


ODD_KEYS = [("more", "more"), ("a/b~c", "a~1b~0c"), ("", ""), ("\U0001f600", "\U0001f600"), ("Type", "Type")]


@TYPES
@pytest.mark.parametrize(("key", "shown"), ODD_KEYS)
def test_unknown_field_is_refused_in_every_object(kind: str, key: str, shown: str) -> None:
    """An unknown field is refused wherever it stands, with its name escaped as a JSON Pointer has it."""
    command = {**FULL[kind], "meta": META}
    for path in objects(command):
        assert refused(raw(command, f"{path}/@@", "1").replace('"@@"', json.dumps(key))) == f"{path}/{shown}"


@TYPES
@pytest.mark.parametrize("key", ["\\ud800", "\\u0000", "\\u0085", "player\\udfff"])
def test_key_with_characters_refused_is_an_unknown_field(kind: str, key: str) -> None:
    """Lone surrogates and control characters are refused in keys too; the path can be printed and encoded."""
    for path in objects(FULL[kind]):
        at = refused(raw(FULL[kind], f"{path}/@@", "1").replace("@@", key))
        assert at is not None
        assert at.startswith(f"{path}/")
        assert at.isprintable()


@TYPES
def test_key_given_twice_is_refused(kind: str) -> None:
    """In whatever object, also where both values are the same."""
    command = {**FULL[kind], "meta": META}
    for path in objects(command):
        keys = [*path[1:].split("/"), "x"] if path else ["x"]
        key, value = next(iter(holder(command, keys).items()))
        again = f'"{key}": {json.dumps(value)}'
        line = raw(command, f"{path}/@@", "1").replace('"@@": 1', again)
        assert refused(line) == f"{path}/{key}"


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ('{"type": "concede", "player": "a", "player": "b"}', "/player"),
        ('{"type": "concede", "player": "a", "pl\\u0061yer": "a"}', "/player"),
        ('{"type": "concede", "type": "concede", "player": "a"}', "/type"),
        ('{"type": "concede", "player": "a", "meta": {"id": "1", "id": "1"}}', "/meta/id"),
        ('{"type": "concede", "player": "a", "meta": {}, "meta": {}}', "/meta"),
        (
            '{"type": "change_life", "reason": "r", "changes": [{"player": "a", "delta": 1, "delta": 1}]}',
            "/changes/0/delta",
        ),
        ('{"type": "nothing", "a/b": {"~": [{"k": 1, "k": 2}]}}', "/a~1b/~0/0/k"),
    ],
)
def test_keys_are_compared_as_they_are_read(line: str, path: str) -> None:
    """An escape does not make another key; the path leads to the key, nested or not."""
    assert refused(line) == path


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        "nonsense",
        "{",
        '{"type": "concede", "player": "a",}',
        '{"type": "concede" "player": "a"}',
        "{'type': 'concede'}",
        '{"type": "concede", "player": "a"} {}',
        '{"type": "concede", "player": "a\tb"}',
        '{"type": "concede", "player": "a\x00"}',
        '\ufeff{"type": "concede", "player": "a"}',
        "[]",
        '"concede"',
        "1",
        "1.0",
        "NaN",
        "null",
        "[" * 100_000,
        '{"type": ' * 100_000,
        b'{"type": "concede", "player": "\xff"}',
        b'{"type": "concede", "player": "\xed\xa0\x80"}',
    ],
    ids=lambda line: repr(line[:40]),
)
def test_line_that_is_no_json_object_is_refused_as_a_whole(line: str | bytes) -> None:
    """The path of the whole line is empty."""
    assert refused(line) == ""


def test_line_is_at_most_1_mib_long() -> None:
    """A line of just 2^20 bytes is read, one byte more is refused; bytes count, not characters."""
    line = json.dumps(FULL["concede"])
    decode_command(line + " " * (2**20 - len(line)))
    assert refused(line + " " * (2**20 - len(line) + 1)) == ""
    wide = json.dumps(of("leave", card="x", to="\u00e9" * 500), ensure_ascii=False)
    assert refused(wide + " " * (2**20 - len(wide))) == ""


@pytest.mark.parametrize("depth", [20, 500])
def test_deep_values_are_refused_like_others(depth: int) -> None:
    """However deep a value is nested, it is no name."""
    assert refused(raw(FULL["concede"], "/player", "[" * depth + "]" * depth)) == "/player"


@pytest.mark.parametrize(
    "text", ['"consume"', '"Concede"', '""', "1", "1.0", "null", "[]", "{}", '"\\ud800"', '"match_started"']
)
def test_unknown_type_is_refused(text: str) -> None:
    """Only the commands of the contract are commands."""
    assert refused(raw(FULL["concede"], "/type", text)) == "/type"


def test_missing_type_is_refused() -> None:
    """A command says what it is, first of all."""
    assert refused("{}") == refused('{"player": "a"}') == refused('{"more": NaN}') == "/type"


START = FULL["start_match"]
PLAYERS = [{"player": f"p{number}"} for number in range(17)]
TOGETHER: list[tuple[Json, str]] = [
    (of("start_match", match="m", players=PLAYERS[:1]), "/players"),
    (of("start_match", match="m", players=PLAYERS), "/players"),
    (of("start_match", match="m", players=[*PLAYERS[:3], PLAYERS[1]]), "/players/3/player"),
    (of("take_event", player="a", event="rift_summoning"), "/event"),
    (enter("x", kind="other", rank=0), "/rank"),
    (enter("x", kind="other", soulless=True), "/soulless"),
    (enter("x", rank=-1), "/rank"),
    (of("set_rank", card="x", rank=-1), "/rank"),
    (destroy(), "/cards"),
    (destroy("x", "y", "x"), "/cards/2"),
    (destroy("x", modifiers=[modifier("x", "curse", 1), modifier("y", "curse", 1)]), "/modifiers/1/card"),
    (destroy("x", modifiers=[modifier("x", "sealed", 1)]), "/modifiers/0/name"),
    (destroy("x", modifiers=[modifier("x", "curse", 1), modifier("x", "curse", 2)]), "/modifiers/1/name"),
    (reap("x"), "/souls"),
    (reap("x", 1, 2, 1), "/souls/2"),
    (of("pay", player="a", amount=1, souls=[1]), "/effect"),
    (pay("a", 1, 1, effect="drain", cost="toll"), "/cost"),
    (of("fizzle"), "/payment"),
    (fizzle(1, effect="drain"), "/effect"),
    (lives(), "/changes"),
    (
        of("change_life", reason="war", changes=[{"player": "a", "delta": 1}, {"player": "a", "delta": 2}]),
        "/changes/1/player",
    ),
    (ruling(), "/corrections"),
    (ruling(life("a", 1), {}), "/corrections/1"),
    (ruling({**life("a", 1), "event": {"event": None}}), "/corrections/0"),
    (ruling({"new_soul": {"rank": 1, "to": "gone"}}), "/corrections/0/new_soul/to"),
    (ruling({"soul": {"soul": 1, "to": "hand"}}), "/corrections/0/soul/to"),
    (ruling({"soul": {"soul": 1, "to": {}}}), "/corrections/0/soul/to/card"),
    (ruling({"new_soul": {"rank": 1, "to": "aether", "soul": 3}}), "/corrections/0/new_soul/soul"),
    (ruling({"rift": {}}), "/corrections/0/rift"),
    (ruling({"rift": {"highest": 1, "close": True}}), "/corrections/0/rift"),
    (ruling({"rift": {"close": False}}), "/corrections/0/rift/close"),
    (ruling({"result": {"status": "unstarted"}}), "/corrections/0/result/status"),
    (ruling({"result": {"status": "running", "winner": "a"}}), "/corrections/0/result/winner"),
]


@pytest.mark.parametrize(("command", "path"), TOGETHER, ids=str)
def test_fields_that_do_not_go_together_are_refused(command: Json, path: str) -> None:
    """What no field can say alone: each once, one of two, only for creatures, only among those named."""
    assert refused(json.dumps(command)) == path


@pytest.mark.parametrize(
    "command",
    [
        of("start_match", match="m", players=PLAYERS[:2]),
        of("start_match", match="m", players=PLAYERS[:16]),
        of("start_match", match="m", players=[{"player": "a", "name": "Ann"}, {"player": "b", "name": "Ann"}]),
        enter("x", kind="other", rank=None, soulless=False, deck="extra"),
        destroy("x", "y", modifiers=[modifier("x", "curse", 1), modifier("y", "curse", 1), modifier("y", "Sealed", 1)]),
        pay("a", 1),
        pay("a", 1, 1, 1),
        pay("a", -1, cost="toll"),
        of("fizzle", effect="drain"),
        of("open_rift", player="a", rank=9, souls=[]),
        summon("a", "x", 9),
        of("change_life", reason="war", changes=[{"player": "a", "delta": 0}]),
    ],
    ids=str,
)
def test_what_a_match_must_judge_is_not_the_edges_to_refuse(command: Json) -> None:
    """The shape of these commands is right; whether they are allowed is for the rules to say."""
    decode_command(json.dumps(command))


@pytest.mark.parametrize(
    ("defaults", "plain"),
    [
        (
            enter("x", owner="a", kind="creature", deck="main", rank=None, soulless=False, name=None, definition=None),
            enter("x"),
        ),
        (summon("a", "x", 2, deck="extra", owner="a", soulless=False), summon("a", "x", 2)),
        (summon("a", "x", 0, deck="main"), summon("a", "x", 0)),
        (
            of(
                "start_match",
                match="m",
                players=PLAYERS[:2],
                origin=None,
                ruleset={"sealed_bonus": 1, "overpay": "needed"},
            ),
            of("start_match", match="m", players=PLAYERS[:2]),
        ),
        (
            of("start_match", match="m", players=PLAYERS[:2], ruleset={"sealed_bonus": 2, "release_rank": 0}),
            of("start_match", match="m", players=PLAYERS[:2], ruleset={"sealed_bonus": 2}),
        ),
        (destroy("x", modifiers=None, by=None, cause=None, meta=None), destroy("x")),
        (of("end_match", winner=None, reason=None, meta={}), of("end_match")),
        (of("release", by=None, cause=None, meta={"id": None}), of("release")),
        (ruling({"result": {"status": "ended", "winner": None}}, about=None), ruling({"result": {"status": "ended"}})),
    ],
    ids=str,
)
def test_fields_at_their_default_are_left_out(defaults: Json, plain: Json) -> None:
    """However a command spells its defaults, it is the same command, and is written without them."""
    command = decode_command(json.dumps(defaults))
    assert command == decode_command(json.dumps(plain))
    assert json.loads(msgspec.json.encode(command)) == plain


@pytest.mark.parametrize(
    "command",
    [
        summon("a", "x", 2, deck="main"),
        summon("a", "x", 0, deck="extra"),
        enter("x", owner="b"),
        of("release", rank=0),
        of("set_rank", card="x", rank=None),
        of("set_soulless", card="x", soulless=False),
        ruling({"event": {"event": None}}),
        ruling({"defeated": {"player": "a", "defeated": False}}),
    ],
    ids=str,
)
def test_what_is_no_default_is_kept(command: Json) -> None:
    """A null, a false or a rank that says something is written again."""
    assert json.loads(msgspec.json.encode(decode_command(json.dumps(command)))) == command


@pytest.mark.parametrize(
    "at",
    ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456+01:00", "2026-01-31T23:59:59-11:30", "2024-02-29T00:00:00.5Z"],
)
def test_time_is_rfc_3339(at: str) -> None:
    """A time with its offset is accepted and kept as it was written."""
    command = decode_command(json.dumps({**FULL["concede"], "meta": {"at": at}}))
    assert command.meta is not None
    assert command.meta.at == at


@pytest.mark.parametrize(
    "at",
    [
        "now",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00Z",
        "2026-02-30T12:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:00:00+0100",
        "20260131T120000Z",
        "2026-01-31T12:00:00Z ",
        "1769860800",
    ],
)
def test_time_that_is_not_rfc_3339_is_refused(at: str) -> None:
    """No date alone, no time without an offset, and none that no calendar has."""
    assert refused(json.dumps({**FULL["concede"], "meta": {"at": at}})) == "/meta/at"


@pytest.mark.parametrize("text", ["1", "1.0", "true", "[]", "{}", '""', '"\\u0000"'])
def test_time_is_a_text(text: str) -> None:
    """Seconds since an epoch are no time."""
    assert refused(raw({**FULL["concede"], "meta": {}}, "/meta/at", text)) == "/meta/at"
