import pytest

from tests.kit import Json, Table, of
from tests.unit.rules.moves import (
    close_rift,
    concede,
    control,
    destroy,
    enter,
    fizzle,
    life,
    lives,
    open_rift,
    pay,
    reap,
    releases,
    ruling,
    summon,
    turn,
)

FURTHEST = 2**53 - 1


def test_L1_every_player_starts_with_30_life() -> None:
    """The match begins with 30 life for everyone, in the order in which the players were named."""
    table = Table(players="cab")
    table.then(
        of("match_started", match="m", players=[{"player": p, "name": None} for p in "cab"], rules=1, entry=1, n=1)
    )
    table.holds(players={p: {"life": 30, "defeated": False, "name": None} for p in "cab"}, status="running", turn=None)
    assert list(table.state.view()["players"]) == ["c", "a", "b"]


def test_L2_life_changes_by_what_the_game_reports() -> None:
    """Combat and healing change several lives at once, with their reason, above the start too."""
    table = Table().when(lives(b=-7, a=12))
    table.then(
        of("life_changed", player="b", delta=-7, life=23, reason="combat"),
        of("life_changed", player="a", delta=12, life=42, reason="combat"),
    )
    table.holds(players={"a": {"life": 42}, "b": {"life": 23}})


def test_L2_life_is_never_clipped() -> None:
    """Life goes below zero, and on from there."""
    table = Table(lives(a=-45), players="abc").holds(players={"a": {"life": -15}})
    table.given(lives(a=5)).holds(players={"a": {"life": -10}})


def test_L2_life_stays_within_exact_numbers() -> None:
    """A life beyond 2^53 - 1 either way is refused, at its own change; up to there it is taken."""
    table = Table(players="abc").when(lives(b=1, a=FURTHEST)).refused("input", "/changes/1/delta", highest=FURTHEST)
    table.given(lives(a=FURTHEST - 30)).holds(players={"a": {"life": FURTHEST}})
    table.given(lives(b=-FURTHEST)).when(lives(b=-31)).refused("input", "/changes/0/delta", highest=FURTHEST)
    table.given(lives(b=-30)).holds(players={"b": {"life": -FURTHEST}})


@pytest.mark.parametrize(("delta", "fallen"), [(-29, False), (-30, True), (-31, True)])
def test_L3_player_at_0_or_less_is_defeated(delta: int, *, fallen: bool) -> None:
    """1 life is enough, 0 is not."""
    table = Table(players="abc").when(lives(a=delta))
    defeat = [of("player_defeated", player="a", because="life")] if fallen else []
    table.then(of("life_changed", life=30 + delta), *defeat).holds(players={"a": {"defeated": fallen}})


def test_L3_is_judged_after_everything_that_the_command_does() -> None:
    """All changes of life come before the first defeat, and the defeats come in the order of the players."""
    table = Table(players="abcd").when(lives(c=-30, b=-1, a=-40))
    table.then(
        of("life_changed", player="c"),
        of("life_changed", player="b"),
        of("life_changed", player="a"),
        of("player_defeated", player="a", because="life"),
        of("player_defeated", player="c", because="life"),
    )


@pytest.mark.parametrize("last", [fizzle(1), close_rift("a")], ids=["fizzle", "rift"])
def test_L3_soulburn_defeats(last: Json) -> None:
    """Every kind of Soulburn takes the last life; the defeat follows it."""
    table = Table(turn(), *releases(1, 1), pay("a", 2, 1), open_rift("a", 2, 2), lives(a=-24), players="abc")
    table.when(last)
    events = [of("effect_fizzled")] if last["type"] == "fizzle" else [of("rift_closed", burned=2)]
    defeat = of("player_defeated", player="a", because="life")
    closed = [of("rift_closed", burned=0)] if last["type"] == "fizzle" else []
    table.then(*events, of("soulburn_taken", power=2, damage=6, life=0), defeat, *closed)


def test_L3_defeated_player_takes_no_more_soulburn() -> None:
    """The open payment of a defeated player fizzles, and the life stays what it was."""
    table = Table(*releases(0), pay("a", 1, 1), lives(a=-32), players="abc").when(fizzle(1))
    table.then(of("effect_fizzled", payment=1)).holds(players={"a": {"life": -2}})


def test_L3_life_gained_later_brings_nobody_back() -> None:
    """A defeated player's life still changes, but the defeat stays and is not declared twice."""
    table = Table(lives(a=-30), players="abc").when(lives(a=50)).then(of("life_changed", player="a", life=50))
    table.holds(players={"a": {"life": 50, "defeated": True}})
    table.when(lives(a=-60)).then(of("life_changed", player="a", life=-10))
    table.when(turn("a")).refused("L-5", life=-10)


def test_L4_last_player_wins() -> None:
    """When all but one are defeated, that one wins."""
    table = Table(lives(b=-30), players="abc").holds(status="running").when(lives(a=-30))
    table.then(
        of("life_changed"), of("player_defeated", player="a"), of("match_ended", winner="c", reason="L-4")
    ).holds(status="ended", winner="c")


def test_L4_all_at_once_is_a_draw() -> None:
    """When the last players fall by one command, nobody wins, the one who fell last neither."""
    table = Table(lives(c=-30), players="abc").when(lives(b=-30, a=-50))
    table.then(
        of("life_changed"),
        of("life_changed"),
        of("player_defeated", player="a"),
        of("player_defeated", player="b"),
        of("match_ended", winner=None, reason="L-4"),
    ).holds(status="ended", winner=None)


def test_L4_player_may_concede() -> None:
    """Conceding is a defeat at any life; with one player left it ends the match."""
    table = Table(players="abc").when(concede("b")).then(of("player_defeated", player="b", because="concede"))
    table.holds(players={"b": {"life": 30, "defeated": True}}, status="running")
    table.when(concede("c")).then(of("player_defeated", player="c"), of("match_ended", winner="a", reason="L-4"))


@pytest.mark.parametrize(
    "command",
    [
        turn("a"),
        of("take_event", player="a", event="omen"),
        enter("y", "a"),
        control("y", "a"),
        pay("a", 1, 1),
        open_rift("a", 1, 1),
        summon("a", "z", 1),
        close_rift("a"),
        concede("a"),
        of("end_match", winner="a"),
    ],
    ids=lambda command: command["type"],
)
def test_L5_defeated_player_does_nothing_more(command: Json) -> None:
    """A defeated player acts no more, gains control of nothing and is not named the winner."""
    table = Table(turn("a"), *releases(0), concede("a"), players="abc")
    if command["type"] == "change_control":
        table.given(enter("y", "b"))
    table.when(command).refused("L-5", life=30)


def test_L5_cards_of_a_defeated_player_stay() -> None:
    """They stay under the player's control until the game reports otherwise, and others may take or destroy them."""
    table = Table(enter("x", rank=1), enter("y"), concede("a"), players="abc")
    table.holds(battlefield={"x": {"controller": "a"}, "y": {"controller": "a"}})
    table.given(*releases(0), reap("x", 1), control("y", "b"), destroy("x"), enter("z", "c", owner="a"))
    table.holds(battlefield={"y": {"controller": "b"}, "z": {"controller": "c", "owner": "a"}})


@pytest.mark.parametrize(
    "command",
    [
        of("start_match", match="m", players=[{"player": "a"}, {"player": "b"}]),
        turn("b"),
        enter("y"),
        destroy("x"),
        *releases(0),
        pay("b", 1, 1),
        fizzle(1),
        of("fizzle", effect="free"),
        lives(a=5),
        concede("b"),
        of("end_match"),
    ],
    ids=lambda command: command["type"],
)
def test_L5_ended_match_takes_rulings_only(command: Json) -> None:
    """After the end every command is refused, whatever else is wrong with it; a ruling is taken."""
    table = Table(enter("x"), *releases(0, 0), pay("a", 1, 2), concede("a"))
    table.when(command).refused("L-5").given(ruling(life("a", 5)))


def test_L6_turns_follow_the_order_that_the_game_reports() -> None:
    """Turns are numbered as they come, extra turns included, and each begins with a fresh Event."""
    table = Table().when(turn("b")).then(of("turn_began", number=1, player="b"))
    table.given(of("take_event", player="b", event="omen")).holds(turn={"number": 1, "player": "b", "event": "omen"})
    table.when(turn("b")).then(of("turn_began", number=2, player="b"))
    table.holds(turn={"number": 2, "player": "b", "event": None})
    table.given(of("take_event", player="b", event="omen"), turn("a")).holds(turn={"number": 3, "player": "a"})


@pytest.mark.parametrize("winner", ["a", "b", None])
def test_L7_game_may_end_the_match(winner: str | None) -> None:
    """The game's word ends the match, with a winner or as a draw, for the reason that it gives."""
    table = Table().when(of("end_match", winner=winner, reason="time"))
    table.then(of("match_ended", winner=winner, reason="time")).holds(status="ended", winner=winner)


def test_L7_winner_must_play() -> None:
    """A stranger does not win; without a reason none is recorded."""
    table = Table().when(of("end_match", winner="nobody")).refused("input", "/winner")
    table.when(of("end_match")).then(of("match_ended", winner=None, reason=None))
