from typing import Any

import pytest

from tests.kit import Json, Table, of
from tests.unit.rules.moves import (
    concede,
    defeated,
    enter,
    life,
    lives,
    open_rift,
    pay,
    reap,
    releases,
    result,
    ruling,
    soul,
    summon,
    turn,
)

BOARD = (turn(), enter("x"), enter("y", "b"), *releases(0, 1, 2, 1), reap("x", 2), pay("a", 3, 3), open_rift("a", 2, 4))
"""Souls 1 in the Aether and 2 on x, 3 and 4 gone; payment 1 open, 2 settled; a rank 2 Rift of a, the Event used."""


def to_card(card: str) -> Json:
    """The place of a Soul on this card."""
    return {"card": card}


def test_J1_ruling_is_recorded_and_changes_nothing_recorded() -> None:
    """A ruling names judge, reason, entry and corrections, and is appended as one event that stands for them all."""
    table = Table(*releases(0)).when(ruling(life("a", -2), {"rank": {"soul": 1, "rank": 3}}, about=2))
    table.then(
        of(
            "ruling_made",
            entry=3,
            n=3,
            judge="judge",
            reason="missed trigger",
            about=2,
            corrections=[life("a", -2), {"rank": {"soul": 1, "rank": 3}}],
        )
    )
    table.holds(players={"a": {"life": 28}}, aether=[soul(1, 3)], entries=3)
    table.when(ruling(life("a", 2))).then(of("ruling_made", about=None)).holds(players={"a": {"life": 30}})


@pytest.mark.parametrize("about", [0, -1, 3])
def test_J1_ruling_is_about_an_entry_that_is_there(about: int) -> None:
    """With two entries in the match, a ruling is about the first or the second."""
    table = Table(*releases(0))
    table.when(ruling(life("a", 1), about=about)).refused("input", "/about", entry=about, entries=2)
    table.given(ruling(life("a", 1), about=2), ruling(life("a", 1), about=1))


@pytest.mark.parametrize(
    ("correction", "after"),
    [
        (life("b", -4), {"players": {"a": {"life": 30}, "b": {"life": 26}}}),
        (life("b", 4), {"players": {"b": {"life": 34}}}),
        ({"soul": {"soul": 2, "to": "aether"}}, {"aether": [soul(1, 0), soul(2, 1)], "gone": 2}),
        ({"soul": {"soul": 1, "to": "gone"}}, {"aether": [], "gone": 3}),
        ({"soul": {"soul": 2, "to": "gone"}}, {"battlefield": {"x": {"souls": []}}, "gone": 3}),
        ({"soul": {"soul": 1, "to": to_card("x")}}, {"battlefield": {"x": {"souls": [soul(1, 0), soul(2, 1)]}}}),
        (
            {"soul": {"soul": 2, "to": to_card("y")}},
            {"battlefield": {"x": {"souls": []}, "y": {"souls": [soul(2, 1)]}}},
        ),
        ({"rank": {"soul": 1, "rank": 3}}, {"aether": [soul(1, 3)]}),
        ({"rank": {"soul": 2, "rank": 0}}, {"battlefield": {"x": {"souls": [soul(2, 0)]}}}),
        ({"event": {"event": None}}, {"turn": {"number": 1, "player": "a", "event": None}}),
        ({"event": {"event": "omen"}}, {"turn": {"number": 1, "player": "a", "event": "omen"}}),
        ({"payment": {"payment": 1}}, {"payments": {}, "players": {"a": {"life": 30}}}),
        ({"rift": {"highest": 2}}, {"rift": {"rift": 1, "player": "a", "rank": 2, "highest": 2}}),
        (
            {"rift": {"close": True}},
            {"rift": None, "players": {"a": {"life": 30}}, "turn": {"event": "rift_summoning"}},
        ),
    ],
    ids=str,
)
def test_J1_each_correction_changes_what_it_says(correction: Json, after: Json) -> None:
    """Every kind of correction changes its part of the state; the ruling is all that is recorded."""
    table = Table(*BOARD).when(ruling(correction))
    table.then(of("ruling_made", corrections=[correction])).holds(**after)


@pytest.mark.parametrize(
    ("to", "after"),
    [
        ("aether", {"aether": [soul(1, 0), soul(5, 3)]}),
        (to_card("x"), {"battlefield": {"x": {"souls": [soul(2, 1), soul(5, 3)]}}}),
    ],
    ids=str,
)
def test_J2_new_soul_gets_the_next_number(to: object, after: Json) -> None:
    """A ruling puts a new Soul into the Aether or onto a card and records the number that it got."""
    table = Table(*BOARD).when(ruling({"new_soul": {"rank": 3, "to": to}}))
    table.then(of("ruling_made", corrections=[{"new_soul": {"rank": 3, "to": to, "soul": 5}}]))
    table.holds(**after, numbered={"souls": 5}, gone=2)


@pytest.mark.parametrize("rank", [-1, 4])
def test_J2_keeps_the_ranks_of_souls(rank: int) -> None:
    """Even by a ruling no Soul has a rank outside 0 to 3, a new one neither."""
    table = Table(*releases(0))
    figures: dict[str, Any] = {"rank": rank, "lowest": 0, "highest": 3}
    table.when(ruling({"rank": {"soul": 1, "rank": rank}})).refused("J-2", **figures)
    table.when(ruling(life("a", 1), {"new_soul": {"rank": rank, "to": "aether"}})).refused("J-2", **figures)


def test_J2_gone_soul_stays_gone() -> None:
    """No correction brings back a Soul that is gone or changes it; a new one stands in."""
    table = Table(*BOARD)
    table.when(ruling({"soul": {"soul": 3, "to": "aether"}})).refused("input", "/corrections/0/soul/soul", soul=3)
    table.when(ruling({"soul": {"soul": 3, "to": "gone"}})).refused("input", "/corrections/0/soul/soul", soul=3)
    table.when(ruling({"rank": {"soul": 3, "rank": 0}})).refused("input", "/corrections/0/rank/soul", soul=3)
    table.given(ruling({"new_soul": {"rank": 2, "to": "aether"}})).holds(aether=[soul(1, 0), soul(5, 2)], gone=2)


def test_J2_does_what_no_rule_allows() -> None:
    """A Soul moves from card to card, the Event is free again, and a Rift counts a rank that did not come through."""
    table = Table(*BOARD)
    table.given(
        ruling({"soul": {"soul": 2, "to": to_card("y")}}, {"event": {"event": None}}, {"rift": {"close": True}})
    )
    table.when(open_rift("a", 1, 1)).then(of("event_taken"), of("cost_paid", payment=3), of("rift_opened", rift=2))


@pytest.mark.parametrize(
    ("correction", "path", "details"),
    [
        (life("a", 0), "/life/delta", {"life": 30}),
        ({"soul": {"soul": 1, "to": "aether"}}, "/soul/to", {"soul": 1}),
        ({"soul": {"soul": 2, "to": to_card("x")}}, "/soul/to", {"soul": 2}),
        ({"rank": {"soul": 1, "rank": 0}}, "/rank/rank", {"soul": 1, "rank": 0}),
        ({"rank": {"soul": 2, "rank": 1}}, "/rank/rank", {"soul": 2, "rank": 1}),
        ({"event": {"event": "rift_summoning"}}, "/event/event", {}),
        ({"rift": {"highest": 0}}, "/rift/highest", {"highest": 0}),
        (defeated("a", to=False), "/defeated/defeated", {}),
        (result("running"), "/result", {}),
    ],
    ids=str,
)
def test_J1_correction_that_changes_nothing_is_refused(correction: Json, path: str, details: Json) -> None:
    """A correction to what is so already is no correction."""
    Table(*BOARD).when(ruling(correction)).refused("input", f"/corrections/0{path}", **details)


@pytest.mark.parametrize(
    ("correction", "path", "details"),
    [
        (life("nobody", 1), "/life/player", {}),
        (life("a", 2**53 - 1), "/life/delta", {"highest": 2**53 - 1}),
        ({"soul": {"soul": 5, "to": "aether"}}, "/soul/soul", {"soul": 5, "souls": 4}),
        ({"soul": {"soul": 1, "to": to_card("z")}}, "/soul/to/card", {}),
        ({"new_soul": {"rank": 0, "to": to_card("z")}}, "/new_soul/to/card", {}),
        ({"rank": {"soul": 0, "rank": 1}}, "/rank/soul", {"soul": 0, "souls": 4}),
        ({"payment": {"payment": 3}}, "/payment/payment", {"payment": 3, "payments": 2}),
        ({"payment": {"payment": 2}}, "/payment/payment", {"payment": 2}),
        ({"rift": {"highest": 3}}, "/rift/highest", {"given": 3, "highest": 2}),
        ({"rift": {"highest": -1}}, "/rift/highest", {"given": -1, "highest": 2}),
        (defeated("nobody"), "/defeated/player", {}),
        (result("ended", winner="nobody"), "/result/winner", {}),
    ],
    ids=str,
)
def test_J1_correction_of_what_is_not_there_is_refused(correction: Json, path: str, details: Json) -> None:
    """A correction names players, Souls, cards and payments of this match, and figures within their range."""
    table = Table(*BOARD).when(ruling(life("a", 1), correction))
    table.refused("input", f"/corrections/1{path}", **details)


@pytest.mark.parametrize(
    ("correction", "path"), [({"event": {"event": "omen"}}, "/event"), ({"rift": {"close": True}}, "/rift")], ids=str
)
def test_J1_no_turn_and_no_rift_to_correct(correction: Json, path: str) -> None:
    """Before the first turn there is no Event, without an open Rift none to correct."""
    Table().when(ruling(correction)).refused("input", f"/corrections/0{path}")


def test_J1_later_correction_sees_what_the_earlier_did() -> None:
    """Corrections apply in order: a new Soul can be moved, and a second move to the same place changes nothing."""
    new: Json = {"new_soul": {"rank": 1, "to": "aether"}}
    move: Json = {"soul": {"soul": 1, "to": to_card("x")}}
    table = Table(enter("x"))
    table.when(ruling(move, new)).refused("input", "/corrections/0/soul/soul", soul=1, souls=0)
    table.when(ruling(new, move, move)).refused("input", "/corrections/2/soul/to", soul=1)
    table.given(ruling(new, move, {"rank": {"soul": 1, "rank": 2}})).holds(battlefield={"x": {"souls": [soul(1, 2)]}})


def test_J1_there_and_back_are_two_changes() -> None:
    """Each correction changes something where it stands, though all of them together do not."""
    table = Table().given(ruling(life("a", 3), life("a", -3))).holds(players={"a": {"life": 30}})
    beyond = table.when(ruling(life("a", 2**53 - 31), life("a", 1)))
    beyond.refused("input", "/corrections/1/life/delta", highest=2**53 - 1)


def test_J3_defeat_and_end_are_judged_once_at_the_end() -> None:
    """Life may pass below zero between two corrections; only what it is at the end counts."""
    table = Table().when(ruling(life("a", -40), life("b", -30), life("a", 11)))
    table.then(
        of("ruling_made"),
        of("player_defeated", player="b", because="life"),
        of("match_ended", winner="a", reason="L-4"),
    )
    table.holds(players={"a": {"life": 1, "defeated": False}})


def test_J3_defeats_by_a_ruling_come_in_the_players_order() -> None:
    """Whom a correction marks is defeated by the ruling, whom it leaves no life by life; the Rift closes between."""
    table = Table(turn("b"), *releases(2), open_rift("b", 3, 1), players="abcd")
    table.when(ruling(defeated("c"), life("b", -30), defeated("a")))
    table.then(
        of("ruling_made"),
        of("player_defeated", player="a", because="ruling"),
        of("player_defeated", player="b", because="life"),
        of("rift_closed", rift=1, highest=0, unused=3, burned=0),
        of("player_defeated", player="c", because="ruling"),
        of("match_ended", winner="d", reason="L-4"),
    )


def test_J3_all_defeated_by_a_ruling_is_a_draw() -> None:
    """Nobody is left, so nobody wins."""
    table = Table().when(ruling(defeated("b"), defeated("a")))
    table.then(
        of("ruling_made"),
        of("player_defeated", player="a", because="ruling"),
        of("player_defeated", player="b", because="ruling"),
        of("match_ended", winner=None, reason="L-4"),
    )


def test_J3_marked_and_unmarked_is_not_defeated() -> None:
    """A player who is marked defeated and back again within one ruling is not."""
    table = Table().when(ruling(defeated("a"), defeated("a", to=False))).then(of("ruling_made"))
    table.holds(players={"a": {"defeated": False}}, status="running")


def test_J3_brought_back_without_life_falls_again() -> None:
    """A defeated player is back only with life: at 0 or less the player is defeated again, by life."""
    table = Table(lives(a=-30), players="abc").when(ruling(defeated("a", to=False)))
    table.then(of("ruling_made"), of("player_defeated", player="a", because="life"))
    table.when(ruling(defeated("a", to=False), life("a", 1))).then(of("ruling_made"))
    table.holds(players={"a": {"life": 1, "defeated": False}}).given(turn("a"))


def test_J3_ruling_ends_a_running_match() -> None:
    """With the ruling's winner and reason, after the defeats that follow from it and the open Rift."""
    table = Table(turn(), *releases(0), open_rift("a", 1, 1), summon("a", "x", 1), players="abc")
    table.when(ruling(life("b", -30), result("ended", winner="c")))
    table.then(
        of("ruling_made"),
        of("player_defeated", player="b", because="life"),
        of("rift_closed", rift=1, highest=1, unused=0, burned=0),
        of("match_ended", winner="c", reason="missed trigger"),
    )
    table.holds(status="ended", winner="c", rift=None)


def test_J3_ruling_ends_a_running_match_as_a_draw() -> None:
    """A result without a winner is a draw, also when one player alone is left."""
    table = Table().when(ruling(defeated("a"), result("ended")))
    table.then(
        of("ruling_made"),
        of("player_defeated", player="a", because="ruling"),
        of("match_ended", winner=None, reason="missed trigger"),
    )


def test_J3_named_winner_may_be_defeated() -> None:
    """A judge may name any player of the match, a defeated one too."""
    table = Table(concede("a"), players="abc").when(ruling(result("ended", winner="a")))
    table.then(of("ruling_made"), of("match_ended", winner="a", reason="missed trigger"))


def test_J3_nothing_follows_from_a_ruling_after_the_end() -> None:
    """Unless it reopens the match: no defeat, no end, whatever it corrects."""
    table = Table(concede("a")).holds(status="ended", winner="b")
    corrections = (life("b", -50), defeated("a", to=False), result("ended", winner="a"))
    table.when(ruling(*corrections)).then(of("ruling_made", corrections=list(corrections)))
    table.holds(status="ended", winner="a", players={"a": {"defeated": False}, "b": {"life": -20, "defeated": False}})
    table.when(ruling(result("ended", winner="a"))).refused("input", "/corrections/0/result")
    table.when(ruling(result("ended"))).then(of("ruling_made")).holds(winner=None)


def test_J3_reopened_match_goes_on() -> None:
    """To make an ended match running again needs two players undefeated at that point; then play goes on."""
    table = Table(concede("a")).when(ruling(result("running"), defeated("a", to=False)))
    table.refused("input", "/corrections/0/result/status", undefeated=1)
    table.when(ruling(defeated("a", to=False), result("running"))).then(of("ruling_made"))
    table.holds(status="running", winner=None, players={"a": {"defeated": False}}).given(turn("a"))


def test_J3_reopened_match_is_judged_at_the_end_of_the_ruling() -> None:
    """Who has no life then is defeated, and the match may end at once again."""
    table = Table(lives(a=-30)).holds(winner="b").when(ruling(defeated("a", to=False), result("running")))
    table.then(
        of("ruling_made"),
        of("player_defeated", player="a", because="life"),
        of("match_ended", winner="b", reason="L-4"),
    )
    table.when(ruling(defeated("a", to=False), result("running"), life("a", 5))).then(of("ruling_made"))
    table.holds(status="running", players={"a": {"life": 5, "defeated": False}})


def test_J3_reopened_and_ended_again_stays_ended() -> None:
    """A ruling that reopens an ended match and ends it again leaves it ended; nothing follows."""
    table = Table(of("end_match", winner="a")).when(ruling(result("running"), result("ended", winner="b")))
    table.then(of("ruling_made")).holds(status="ended", winner="b")


def test_J3_ended_and_reopened_goes_on() -> None:
    """A ruling on a running match that ends it and makes it running again has not ended it."""
    table = Table().when(ruling(result("ended", winner="b"), result("running"))).then(of("ruling_made"))
    table.holds(status="running", winner=None)
