"""Commands that break two checks at once are refused by the one that comes first."""

import json

import pytest

from domain.rules import Refusal, State, decide, decode_command
from tests.kit import Json, Table, of
from tests.unit.rules.moves import (
    close_rift,
    concede,
    control,
    destroy,
    enter,
    fizzle,
    leave,
    life,
    lives,
    modifier,
    open_rift,
    pay,
    reap,
    releases,
    resolve,
    result,
    ruling,
    summon,
    turn,
)

INPUT = "input"
TABLE = (
    turn("a"),
    enter("x", "a", rank=1, deck="extra"),
    enter("o", "b", kind="other"),
    *releases(0, 0, 1, 3, 0),
    reap("o", 4),
    pay("b", 1, 5),
    concede("c"),
)
"""Souls 1, 2, 3 of power 1, 1, 2 in the Aether; 4 of power 4 on b's o; 5 gone. x is of the extra deck; c is out."""
RIFT = (of("take_event", player="a", event="omen"),)
OPEN = (open_rift("a", 1, 1),)

NAMES_FIRST: list[tuple[Json, str]] = [
    (enter("x", "c"), "/card"),
    (enter("x", "a", rank=4), "/card"),
    (enter("y", "nobody", rank=4), "/controller"),
    (enter("y", "c", owner="nobody"), "/owner"),
    (of("set_rank", card="o", rank=4), "/card"),
    (of("set_rank", card="y", rank=4), "/card"),
    (control("y", "c"), "/card"),
    (control("y", "nobody"), "/card"),
    (destroy("x", by="nobody"), "/by"),
    (leave("x", by="nobody"), "/by"),
    (of("release", rank=4, by="nobody"), "/by"),
    (reap("y", 4), "/card"),
    (reap("x", 4, by="nobody"), "/by"),
    (reap("x", 4, 5), "/souls/1"),
    (pay("nobody", 0), "/player"),
    (pay("c", 1, 5), "/souls/0"),
    (pay("a", 0, 6), "/souls/0"),
    (pay("a", 1, 1, 1, 5), "/souls/2"),
    (open_rift("nobody", 4), "/player"),
    (open_rift("c", 1, 5), "/souls/0"),
    (open_rift("a", 4, 6), "/souls/0"),
    (open_rift("b", 1, 1, 1, 5), "/souls/2"),
    (summon("c", "x", 1), "/card"),
    (summon("c", "y", 1, owner="nobody"), "/owner"),
    (summon("nobody", "y", 1), "/player"),
    (close_rift("nobody"), "/player"),
    (of("take_event", player="nobody", event="omen"), "/player"),
    (resolve(3), "/payment"),
    (fizzle(3), "/payment"),
    (ruling({"new_soul": {"rank": 4, "to": {"card": "y"}}}), "/corrections/0/new_soul/to/card"),
    (ruling({"rank": {"soul": 5, "rank": 4}}), "/corrections/0/rank/soul"),
    (ruling({"rank": {"soul": 1, "rank": 4}}, about=99), "/about"),
]


@pytest.mark.parametrize(("command", "path"), NAMES_FIRST, ids=str)
def test_names_and_numbers_come_before_defeat_and_rules(command: Json, path: str) -> None:
    """What does not exist, is taken, gone or so already is refused before anything is judged by a rule."""
    table = Table(*TABLE, players="abc").when(command)
    assert (table.answer["rule"], table.answer["path"]) == (INPUT, path), table.answer


L5_FIRST: list[Json] = [
    turn("c"),
    of("take_event", player="c", event="feast"),
    enter("y", "c", rank=4),
    enter("y", "c", deck="extra"),
    pay("c", 0, 2),
    pay("c", 2, 2, 2),
    pay("c", 9, 4),
    open_rift("c", 4, 2),
    open_rift("c", 1, 2, 2),
    summon("c", "y", 9),
    close_rift("c"),
]


@pytest.mark.parametrize("command", L5_FIRST, ids=str)
def test_L5_comes_before_the_rules_of_the_command(command: Json) -> None:
    """A defeated player is refused as such, with a Rift of another open, and whatever rule is broken besides."""
    Table(*TABLE, *OPEN, players="abc").when(command).refused("L-5", life=30)


def test_L5_is_no_matter_of_owners_and_doers() -> None:
    """A defeated player may own what another controls, and be the one by whom something happens."""
    table = Table(*TABLE, players="abc")
    table.given(enter("y", "a", owner="c"), reap("y", 1, by="c"), of("release", by="c"), destroy("y", by="c"))
    table.given(leave("x", by="c"), lives(c=3), ruling(life("c", 1)))


RULES_IN_ORDER: list[tuple[tuple[Json, ...], Json, str]] = [
    ((), enter("y", deck="extra", rank=4), "C-6"),
    ((), of("set_rank", card="x", rank=4), "C-6"),
    ((), pay("a", 0, 1, 1), "P-1"),
    ((), pay("a", 0, 4), "P-1"),
    ((), pay("a", 1, 4, 4), "P-7"),
    ((), pay("a", 99, 1, 1), "P-7"),
    ((), pay("a", 99, 4), "P-2"),
    ((), pay("a", 1, 1, 4), "P-2"),
    ((), pay("a", 99, 1), "P-6"),
    ((), pay("a", 5, 1), "P-6"),
    ((), pay("a", 4, 1), "P-1"),
    ((), open_rift("b", 4, 1, 1), "R-2"),
    (OPEN, open_rift("b", 4, 2), "R-2"),
    (OPEN, open_rift("b", 1, 2, 2), "R-8"),
    (OPEN, open_rift("a", 1, 2), "R-8"),
    (RIFT, open_rift("b", 1, 1, 1), "R-7"),
    (RIFT, open_rift("a", 1, 1, 1), "R-1"),
    (RIFT, open_rift("a", 3, 4), "R-1"),
    ((), open_rift("a", 3, 4, 4), "P-7"),
    ((), open_rift("a", 3, 4), "P-2"),
    ((pay("b", 2, 3),), open_rift("a", 3, 1), "P-6"),
    ((), open_rift("a", 3, 1), "P-1"),
    ((), open_rift("a", 2, 1, 3), "P-5"),
    (OPEN, turn("b"), "R-8"),
    (OPEN, summon("a", "y", 0, deck="extra"), "R-3"),
    (OPEN, summon("b", "y", 9), "R-3"),
]


@pytest.mark.parametrize(("given", "command", "rule"), RULES_IN_ORDER, ids=str)
def test_rules_of_a_command_come_in_their_order(given: tuple[Json, ...], command: Json, rule: str) -> None:
    """Of two rules that a command breaks, the one that is listed first refuses it."""
    table = Table(*TABLE, *given, players="abc").when(command)
    assert table.answer["rule"] == rule, table.answer


SHAPE_FIRST: list[tuple[Json, str]] = [
    (of("take_event", player="nobody", event="rift_summoning"), "/event"),
    (enter("x", "nobody", kind="other", rank=1), "/rank"),
    (enter("x", "nobody", rank=-1), "/rank"),
    (destroy("y", "y"), "/cards/1"),
    (destroy("y", modifiers=[modifier("z", "curse", 1)]), "/modifiers/0/card"),
    (destroy("y", modifiers=[modifier("y", "sealed", 1)]), "/modifiers/0/name"),
    (reap("y", 9, 9), "/souls/1"),
    (pay("nobody", 1, 1, effect="drain", cost="toll"), "/cost"),
    (fizzle(9, effect="drain"), "/effect"),
    (lives() | {"changes": [{"player": "nobody", "delta": 1}] * 2}, "/changes/1/player"),
    (ruling(life("nobody", 1), {}), "/corrections/1"),
    (turn("b") | {"more": 1}, "/more"),
]


@pytest.mark.parametrize(("command", "path"), SHAPE_FIRST, ids=str)
@pytest.mark.parametrize("last", [(), (of("end_match"),)], ids=["running", "ended"])
def test_shape_comes_first(command: Json, path: str, last: tuple[Json, ...]) -> None:
    """What is wrong with the command itself is refused before names are looked up, and also after the end."""
    figures = {"/rank": {"lowest": 0, "given": -1}} if command.get("rank") == -1 else {}
    Table(*TABLE, *last, players="abc").when(command).refused(INPUT, path, **figures.get(path, {}))


AFTER_THE_END: list[Json] = [
    turn("nobody"),
    turn("c"),
    of("take_event", player="c", event="omen"),
    enter("x", "nobody"),
    of("seal", card="nobody"),
    of("unseal", card="x"),
    of("set_soulless", card="x", soulless=False),
    of("set_rank", card="x", rank=9),
    control("x", "a"),
    destroy("nobody"),
    leave("nobody"),
    of("release", rank=9),
    reap("nobody", 9),
    pay("c", 0, 9),
    resolve(9),
    fizzle(9),
    open_rift("c", 9),
    summon("c", "x", 9),
    close_rift("c"),
    lives(nobody=1),
    concede("nobody"),
    of("end_match", winner="nobody"),
    of("start_match", match="m", players=[{"player": "a"}, {"player": "b"}]),
]


@pytest.mark.parametrize("command", AFTER_THE_END, ids=lambda command: command["type"])
def test_L5_end_of_the_match_comes_before_names(command: Json) -> None:
    """In an ended match every command but a ruling is refused as too late, whatever it names."""
    Table(*TABLE, of("end_match"), players="abc").when(command).refused("L-5")


def test_L5_ended_match_still_checks_the_names_of_rulings() -> None:
    """Rulings are judged after the end as before it."""
    table = Table(*TABLE, of("end_match"), players="abc")
    table.when(ruling(life("nobody", 1))).refused(INPUT, "/corrections/0/life/player")
    table.when(ruling({"rank": {"soul": 1, "rank": 4}})).refused("J-2", rank=4, lowest=0, highest=3)
    table.when(ruling(result("ended"))).refused(INPUT, "/corrections/0/result")


SO_ALREADY: list[tuple[Json, str]] = [
    (control("x", "a"), "/to"),
    (of("set_rank", card="x", rank=1), "/rank"),
    (of("set_soulless", card="x", soulless=False), "/soulless"),
    (of("unseal", card="x"), "/card"),
]


@pytest.mark.parametrize(("command", "path"), SO_ALREADY, ids=str)
def test_things_that_are_already_so_are_refused(command: Json, path: str) -> None:
    """A command that would change nothing is refused at the field that says what is so already."""
    table = Table(*TABLE, players="abc").when(command)
    assert (table.answer["rule"], table.answer["path"]) == (INPUT, path), table.answer


def test_L5_comes_after_what_is_so_already() -> None:
    """A defeated player who controls the card already does not gain control of it: that is said first."""
    table = Table(enter("x", "c"), concede("c"), players="abc").when(control("x", "c"))
    table.refused(INPUT, "/to")


@pytest.mark.parametrize("command", [turn("a"), enter("x"), ruling(life("a", 1)), of("end_match")], ids=str)
def test_first_command_is_start_match(command: Json) -> None:
    """Before the match began there are no names to look up: the command is out of place."""
    with pytest.raises(Refusal) as refused:
        decide(State(), decode_command(json.dumps(command)))
    assert (refused.value.rule, refused.value.path, refused.value.details) == (INPUT, "/type", {})


def test_there_is_no_second_start_match() -> None:
    """A running match is not begun again."""
    start = of("start_match", match="m", players=[{"player": "a"}, {"player": "b"}])
    Table().when(start).refused(INPUT, "/type")


def test_match_needs_a_name() -> None:
    """A script's first command may leave the name to its file; a match without one does not begin."""
    command = decode_command(json.dumps(of("start_match", players=[{"player": "a"}, {"player": "b"}])))
    with pytest.raises(Refusal) as refused:
        decide(State(), command)
    assert (refused.value.rule, refused.value.path) == (INPUT, "/match")
