"""Private matches without a store: commitments, what a record shows of them, and openings in replay files."""

import io
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import Entry, State, decode_command, play
from domain.privacy import Commitment, Opening, commitment, hidden_in, opened, opening, replaced
from domain.rules.commands import AnyCommand, StartMatch, is_commitment
from domain.rules.events import MatchStarted
from replays.reading import Reader
from replays.verify import verify
from replays.writing import match_lines, write_archive
from soulrift.board import board
from soulrift.notation import Names, Notation
from tests.kit import of
from tests.recordings import DUEL, canonical, duel, lines, names, played, root_of, unlined, verdicts
from tests.strategies import texts

SALT = bytes(range(16))

HIDDEN = commitment(SALT, "Ada")

OPENINGS = [opening(bytes([number] * 16), value) for number, value in enumerate(("Ada", "Bo Ångström", "table-1"))]


def hidden(text: str) -> str:
    """The commitment of a text in these tests."""
    return next(each.commitment for each in OPENINGS if each.value == text)


def private(commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same commands as a private match records them."""
    made = []
    for command in commands:
        recorded = replaced(decode_command(json.dumps(command)), hidden)
        made.append(json.loads(msgspec.json.encode(recorded)))
    return [made[0] | {"private": True}, *made[1:]]


PRIVATE = private(DUEL)


def file_with(openings: Any, commands: list[dict[str, Any]] = PRIVATE) -> bytes:
    """A whole file of a match, with this value for its openings."""
    *body, end = match_lines("duel", played(commands))
    return unlined([*body, canonical({"openings": openings}), end])


def as_json(*openings: Opening) -> list[dict[str, str]]:
    """Openings as a line has them, sorted by commitment."""
    return sorted(json.loads(msgspec.json.encode(openings)), key=lambda each: str(each["commitment"]))


# ------------------------------------------------------------ commitments


def test_commitment_is_the_hash_of_salt_and_value() -> None:
    """It is "sha256:" and the hexadecimal SHA-256 of the 16 bytes of the salt and the value's UTF-8 behind them."""
    salt = bytes.fromhex("00112233445566778899aabbccddeeff")
    value = "Bo Ångström 決闘"
    assert commitment(salt, value) == "sha256:" + sha256(salt + value.encode("utf-8")).hexdigest()
    assert len(commitment(salt, value)) == 71
    made = opening(salt, value)
    assert (made.commitment, made.salt, made.value) == (commitment(salt, value), salt.hex(), value)


@pytest.mark.parametrize("salt", [b"", b"\0" * 15, b"\0" * 17, b"0" * 32])
def test_salt_of_another_length_is_no_salt(salt: bytes) -> None:
    """A salt has 16 bytes; with any other number of them one value could stand for another."""
    with pytest.raises(ValueError, match="16 bytes"):
        commitment(salt, "Ada")


@given(texts(), texts(), st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16))
def test_opening_opens_its_own_commitment_alone(one: str, other: str, salt: bytes, pepper: bytes) -> None:
    """An opening holds as it was made, and with no other value or salt."""
    made = opening(salt, one)
    assert made.holds()
    assert is_commitment(made.commitment)
    assert msgspec.structs.replace(made, value=other).holds() is (one == other)
    assert msgspec.structs.replace(made, salt=pepper.hex()).holds() is (salt == pepper)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HIDDEN.upper(), id="upper case"),
        pytest.param(HIDDEN[:-1], id="a digit too few"),
        pytest.param(HIDDEN + "0", id="a digit too many"),
        pytest.param(HIDDEN + "\n", id="a line break behind it"),
        pytest.param(" " + HIDDEN, id="a space in front"),
        pytest.param(HIDDEN.replace("sha256", "sha512"), id="another hash"),
        pytest.param(HIDDEN.removeprefix("sha256:"), id="no name of the hash"),
        pytest.param("Ada", id="a name"),
        pytest.param("", id="nothing"),
    ],
)
def test_other_texts_are_no_commitments(text: str) -> None:
    """Only "sha256:" and 64 lower-case hexadecimal digits have the form of a commitment; a reader knows no other."""
    assert is_commitment(HIDDEN)
    assert not is_commitment(text)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, Commitment)
    assert not Opening(text, SALT.hex(), "Ada").holds()


@pytest.mark.parametrize("salt", ["", "0" * 31, "0" * 33, "x" * 32, "é" * 32, None, 7, b"0" * 32])
def test_salt_that_is_none_opens_nothing(salt: Any) -> None:
    """Whatever a store may hold for a salt, it is told that it opens nothing, and nothing breaks."""
    assert not Opening(HIDDEN, salt, "Ada").holds()
    assert not Opening(HIDDEN, SALT.hex(), salt).holds()


# ------------------------------------------------------------ names in commands


def test_names_and_actors_are_replaced_and_nothing_else() -> None:
    """Of all commands of a match only names and actors are replaced, and with openings they are as they were."""
    for command in DUEL:
        given_ = decode_command(json.dumps(command))
        recorded = replaced(given_, hidden)
        assert opened(recorded, OPENINGS) == given_
        text = msgspec.json.encode(recorded).decode()
        for each in OPENINGS:
            text = text.replace(each.commitment, each.value)
        assert json.loads(text) == json.loads(msgspec.json.encode(given_))
        told = {command.get("meta", {}).get("actor"), *(seat["name"] for seat in command.get("players", ()))} - {None}
        assert hidden_in(msgspec.json.encode(given_)) == told
        assert hidden_in(msgspec.json.encode(recorded)) == set(map(hidden, told))


def test_player_without_a_name_keeps_none() -> None:
    """Where there is no name and no actor, there is nothing to replace, and nobody is asked by what."""
    start = decode_command(
        '{"type": "start_match", "players": [{"player": "a"}, {"player": "b"}], "meta": {"id": "x"}}'
    )
    assert replaced(start, hidden) == start


def test_openings_that_are_missing_leave_the_commitment() -> None:
    """A command opens as far as there are openings: the others stay closed."""
    start = decode_command(json.dumps(PRIVATE[0]))
    shown = opened(start, OPENINGS[:1])
    assert isinstance(shown, StartMatch)
    assert [seat.name for seat in shown.players] == ["Ada", hidden("Bo Ångström")]


def test_bytes_that_are_no_command_hide_nothing() -> None:
    """Bytes that nobody wrote are passed over where commitments are looked for."""
    assert hidden_in(b'{"players":[{"name":1}]}') == hidden_in(b"{") == set()


# ------------------------------------------------------------ the rules


def started(**more: Any) -> State:
    state = State()
    play(state, decode_command(json.dumps(of("start_match", match="m", **more))))
    return state


def test_plain_name_in_a_private_match_is_refused() -> None:
    """`decide` takes no private match in which somebody's name stands: only the store's edge makes commitments."""
    for at, seats in enumerate([("Ada", HIDDEN), (HIDDEN, "Bo"), (HIDDEN, None, HIDDEN + "0")]):
        players = [{"player": str(n), **({"name": name} if name else {})} for n, name in enumerate(seats)]
        with pytest.raises(Exception, match="commitment") as refused:
            started(private=True, players=players)
        assert (refused.value.rule, refused.value.path) == ("input", f"/players/{at}/name")  # type: ignore[attr-defined]
        assert "Ada" not in str(refused.value)
        assert started(players=players).entries == 1


def test_private_match_says_so() -> None:
    """The command, the event and the view of a private match have `private`: true; nobody needs a name for it."""
    seats = [{"player": "a", "name": HIDDEN}, {"player": "b"}]
    state = State()
    entry = play(state, decode_command(json.dumps(of("start_match", match="m", private=True, players=seats))))
    assert json.loads(entry.command_json)["private"] is True
    assert b'"private":true,"rules":1' in entry.event_jsons[0]
    assert state.view()["private"] is True
    assert state.view()["players"]["a"]["name"] == HIDDEN


def test_ordinary_match_says_nothing_of_it() -> None:
    """False is the default and left out: command, event, view, snapshot and hash of other matches are as ever."""
    seats = [{"player": "a", "name": "Ada"}, {"player": "b"}]
    one, other = State(), State()
    first = play(one, decode_command(json.dumps(of("start_match", match="m", private=False, players=seats))))
    second = play(other, decode_command(json.dumps(of("start_match", match="m", players=seats))))
    assert first == second
    assert b"private" not in first.line
    assert "private" not in one.view()
    assert b"private" not in msgspec.json.encode(one)


def test_event_is_never_private_by_halves() -> None:
    """`match_started` has `private` true or not at all; a record that says false was not written by the rules."""
    entry = played(PRIVATE)[0]
    assert msgspec.json.decode(entry.event_jsons[0], type=MatchStarted).private is True
    for other in (b"false", b"null", b"1"):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(
                entry.event_jsons[0].replace(b'"private":true', b'"private":' + other), type=MatchStarted
            )


@pytest.mark.parametrize("value", [1, 0, "true", None, [], {}])
def test_private_is_true_or_false(value: Any) -> None:
    """Anything else is refused at the edge, with the path of the field."""
    seats = [{"player": "a"}, {"player": "b"}]
    with pytest.raises(Exception, match="true or false") as refused:
        decode_command(json.dumps(of("start_match", players=seats, private=value)))
    assert refused.value.path == "/private"  # type: ignore[attr-defined]


def test_hiding_names_decides_nothing() -> None:
    """A private match goes as the same one in the open: the same events but for names, and the same state hashes."""
    for open_, closed in zip(played(DUEL), played(PRIVATE), strict=True):
        assert closed.state_hash == open_.state_hash
        told = b",".join(closed.event_jsons).decode().replace('"private":true,', "")
        for each in OPENINGS:
            told = told.replace(each.commitment, each.value)
        assert told == b",".join(open_.event_jsons).decode()


def test_private_match_is_held_fixed() -> None:
    """Under version 1 of the rules a private match has these bytes for ever: this is the root over its lines."""
    found = "c6fd7e049cb0157efea82ad55afa7797155741a78d858cdd17de87db87e3431c"
    assert root_of(lines(PRIVATE)).hex() == found
    first = lines(PRIVATE)[0]
    assert b'"player":"bo"}],"private":true,"type":"start_match"},"entry":1,' in first
    assert b'"player":"bo"}],"private":true,"rules":1,"ruleset":{"overpay":' in first


def test_state_keeps_that_it_is_private() -> None:
    """A copy and a snapshot of a private match's state are private; a snapshot of before there were any is not."""
    state = State()
    for command in PRIVATE:
        play(state, decode_command(json.dumps(command)))
    snapshot = msgspec.json.encode(state)
    assert state.copy().private is True
    assert msgspec.json.decode(snapshot, type=State) == state
    assert not msgspec.json.decode(snapshot.replace(b',"private":true', b""), type=State).private


# ------------------------------------------------------------ what people see


def test_people_see_ids_and_never_commitments() -> None:
    """In text a player whose name is hidden is called as in commands, on every line of the match and on the board."""
    state, notation = State(), Notation()
    shown = []
    for command in PRIVATE:
        entry = play(state, decode_command(json.dumps(command)))
        shown += [notation.line(entry).plain, *(line.plain for line in board(state))]
    text = "\n".join(shown)
    assert "sha256:" not in text
    assert "Ada" not in text
    assert "ada wins" in text
    assert "duel begins: ada and bo, 30 life each" in text


def test_same_hidden_name_is_no_doubt() -> None:
    """Two players with one commitment are told apart by their ids alone, as are those without a name."""
    seen = Names.seated({"a": HIDDEN, "b": HIDDEN, "c": "Cy", "d": None})
    assert [seen.player(player) for player in "abcd"] == ["a", "b", "Cy", "d"]


# ------------------------------------------------------------ replay files


def test_file_with_openings_and_redacted_file_are_exact_and_have_one_root() -> None:
    """Openings are a line between the last entry and the end; the other lines, root and checksum are the same."""
    entries = played(PRIVATE)
    redacted = list(match_lines("duel", entries))
    whole = list(match_lines("duel", entries, openings=OPENINGS))
    assert [*whole[:-2], whole[-1]] == redacted
    assert whole[-2] == canonical({"openings": as_json(*OPENINGS)})
    assert json.loads(whole[-1])["root"] == root_of(lines(PRIVATE)).hex()
    assert names(verdicts(unlined(whole))) == names(verdicts(unlined(redacted))) == ["exact"]
    recording = next(Reader(io.BytesIO(unlined(whole))).recordings())
    assert len(list(recording.lines())) == len(entries)
    assert recording.openings is not None
    assert recording.openings[0].openings == sorted(OPENINGS, key=lambda each: each.commitment)


def test_openings_may_be_some() -> None:
    """Whoever opens a few names leaves the others closed: any part of the openings makes an exact file."""
    for some in ([OPENINGS[0]], OPENINGS[1:]):
        assert names(verdicts(file_with(as_json(*some)))) == ["exact"]


def test_only_openings_that_occur_are_written() -> None:
    """Openings of what does not stand in the lines are left out, and a match without any has no such line."""
    stray = opening(SALT, "somebody else")
    entries = played(PRIVATE)
    assert list(match_lines("duel", entries, openings=[stray, *OPENINGS])) == list(
        match_lines("duel", entries, openings=OPENINGS)
    )
    beginning = list(match_lines("duel", entries[:2], openings=OPENINGS))  # nobody acted yet
    assert json.loads(beginning[-2]) == {"openings": as_json(*OPENINGS[:2])}
    assert list(match_lines("duel", entries, openings=[stray])) == list(match_lines("duel", entries))


def test_archive_asks_for_the_openings_of_each_match() -> None:
    """In an archive each match has its own openings, or none, and all are exact."""
    file = io.BytesIO()
    matches: list[tuple[str, list[Entry]]] = [("duel", played(PRIVATE)), ("duel", played(DUEL))]
    assert write_archive(file, matches, lambda name: OPENINGS if name == "duel" else []) == 2
    assert file.getvalue().count(b'{"openings":') == 1
    assert names(verdicts(file.getvalue())) == ["exact", "exact"]


FIRST, SECOND, THIRD = as_json(*OPENINGS)


@pytest.mark.parametrize(
    ("openings", "wrong"),
    [
        pytest.param([FIRST | {"salt": SALT.hex()}, SECOND, THIRD], 0, id="another salt"),
        pytest.param([FIRST, SECOND | {"value": "Somebody"}, THIRD], 1, id="another value"),
        pytest.param([FIRST, SECOND, THIRD | {"commitment": HIDDEN}], 2, id="another commitment"),
        pytest.param(as_json(*OPENINGS, opening(SALT, "Ada")), None, id="a foreign opening"),
        pytest.param([FIRST, SECOND, SECOND, THIRD], 1, id="an opening twice"),
        pytest.param([SECOND, FIRST, THIRD], 1, id="another order"),
    ],
)
def test_false_openings_are_damage(openings: list[dict[str, str]], wrong: int | None) -> None:
    """Openings that do not prove themselves, belong to nothing or are not in order: damaged, with line and byte."""
    content = file_with(openings)
    (found,) = verdicts(content)
    assert (found.verdict, found.entries, found.line) == ("damaged", len(DUEL), len(DUEL) + 2)
    at = content.index(b'{"openings":')
    assert found.byte is not None
    assert found.byte > at
    assert content[found.byte :].startswith(b"sha256:")
    if wrong is not None:
        assert content[found.byte :].startswith(openings[wrong]["commitment"].encode())


@pytest.mark.parametrize(
    "openings",
    [
        pytest.param([], id="none"),
        pytest.param(None, id="null"),
        pytest.param([{**FIRST, "more": 1}], id="an unknown field"),
        pytest.param([{"commitment": FIRST["commitment"], "value": FIRST["value"]}], id="no salt"),
        pytest.param([FIRST | {"salt": FIRST["salt"].upper() + "A"}], id="a salt that is none"),
        pytest.param([FIRST | {"value": ""}], id="an empty value"),
        pytest.param([FIRST | {"value": "A\x07"}], id="a control character"),
        pytest.param([FIRST | {"commitment": "Ada"}], id="a commitment that is none"),
    ],
)
def test_openings_that_are_none_are_damage(openings: Any) -> None:
    """A line with other keys or values than the format's is damaged."""
    (found,) = verdicts(file_with(openings))
    assert (found.verdict, found.line) == ("damaged", len(DUEL) + 2)


def test_openings_of_an_ordinary_match_are_damage() -> None:
    """Only a private match has commitments; in another one a name of that form is a name."""
    named = [DUEL[0] | {"players": [{"player": "ada", "name": OPENINGS[0].commitment}, {"player": "bo"}]}, *DUEL[1:]]
    (found,) = verdicts(file_with(as_json(OPENINGS[0]), named))
    assert (found.verdict, found.line) == ("damaged", len(DUEL) + 2)


def test_commitment_in_another_field_is_not_opened() -> None:
    """Commitments stand in names and actors; a text of that form in a reason belongs to nobody."""
    stray = opening(SALT, "somebody")
    mended = [{"new_soul": {"rank": 0, "to": "aether"}}]
    told = {"type": "ruling", "judge": "Mo", "reason": stray.commitment, "corrections": mended}
    (found,) = verdicts(file_with(as_json(stray), [*PRIVATE, told]))
    assert found.verdict == "damaged"
    assert "stands nowhere in the match" in str(found.reason)


BODY = list(match_lines("duel", played(PRIVATE), openings=OPENINGS))
HEADER, *ENTRIES, OPEN, END = BODY


@pytest.mark.parametrize(
    ("placed", "line"),
    [
        pytest.param([OPEN, HEADER, *ENTRIES, END], 1, id="in front of the header"),
        pytest.param([HEADER, OPEN, *ENTRIES, END], 3, id="before the entries"),
        pytest.param([HEADER, *ENTRIES[:4], OPEN, *ENTRIES[4:], END], 7, id="between entries"),
        pytest.param([HEADER, *ENTRIES, OPEN, OPEN, END], len(ENTRIES) + 3, id="twice"),
        pytest.param([HEADER, *ENTRIES, END, OPEN], len(ENTRIES) + 3, id="behind the end"),
        pytest.param([HEADER, *ENTRIES, OPEN], len(ENTRIES) + 3, id="without an end"),
    ],
)
def test_openings_in_another_place_are_damage(placed: list[bytes], line: int) -> None:
    """Openings stand between the last entry and the end of a match, once; anywhere else the file is damaged there."""
    found = [each for each in verdicts(unlined(placed)) if each.verdict != "exact"]
    assert {each.verdict for each in found} == {"damaged"}
    assert found[0].line == line


@pytest.mark.parametrize(
    "change", [lambda line: line[:-1] + b" }", lambda line: line.replace(b'"salt"', b' "salt"', 1)]
)
def test_openings_in_another_form_are_damage(change: Callable[[bytes], bytes]) -> None:
    """There is one way to write them: a byte more, and the line is damaged."""
    (found,) = verdicts(unlined([HEADER, *ENTRIES, change(OPEN), END]))
    assert (found.verdict, found.line) == ("damaged", len(ENTRIES) + 2)


def test_any_flipped_bit_of_the_openings() -> None:
    """No bit of the line of openings can be another one, though no checksum is over it."""
    content = unlined(BODY)
    start = content.index(OPEN)
    for at in range(start, start + len(OPEN) + 1):
        for bit in range(8):
            flipped = bytes([content[at] ^ 1 << bit])
            assert set(names(verify(io.BytesIO(content[:at] + flipped + content[at + 1 :])))) == {"damaged"}, (at, bit)


def test_plain_name_in_a_private_file_is_no_record() -> None:
    """A file of a private match in which a name stands in plain diverges: no store could have recorded that."""
    line = ENTRIES[0].replace(hidden("Ada").encode(), b"Ada")
    (found,) = verdicts(unlined([HEADER, line, *ENTRIES[1:], END]))
    assert found.verdict == "diverged"


def test_files_of_ordinary_matches_are_as_ever() -> None:
    """Whatever openings a caller has, the file of a match without commitments has none."""
    made: list[AnyCommand] = [decode_command(json.dumps(command)) for command in DUEL]
    assert len(made) == len(DUEL)
    written = unlined(match_lines("duel", played(DUEL), "another program", OPENINGS))
    assert written == duel()
