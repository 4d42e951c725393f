"""The order of events within one command, where it is not the subject of a single rule."""

from itertools import count

from tests.kit import Table, of
from tests.unit.rules.moves import (
    close_rift,
    concede,
    destroy,
    enter,
    fizzle,
    leave,
    lives,
    open_rift,
    pay,
    reap,
    releases,
    ruling,
    summon,
    turn,
)


def test_every_event_is_numbered_and_knows_its_entry() -> None:
    """`n` counts the events of the match from 1 up, `entry` the accepted commands; refusals count for neither."""
    table, numbers = Table(), count(2)
    commands = (
        (turn(), 1),
        (enter("x"), 1),
        (enter("y"), 1),
        (destroy("x", "y"), 4),
        (lives(a=1, b=2), 2),
        (enter("z"), 1),
        (reap("z", 1, 2), 2),
        (leave("z"), 3),
        (open_rift("a", 1, 1), 3),
        (concede("a"), 3),
    )
    for entry, (command, events) in enumerate(commands, 2):
        table.when(of("seal", card="nobody")).refused("input", "/card")
        table.when(command).then(*(of(said["type"], entry=entry, n=next(numbers)) for said in table.answer))
        assert len(table.answer) == events
    table.holds(entries=11)


def test_payment_that_ends_the_match_with_a_rift_open() -> None:
    """Cost, Soulburn, the defeat, the open Rift of the other one, the end."""
    table = Table(turn(), *releases(0, 3), open_rift("a", 1, 1), lives(b=-24)).when(pay("b", 2, 2))
    table.then(
        of("cost_paid", player="b"),
        of("soulburn_taken", player="b", life=0),
        of("player_defeated", player="b"),
        of("rift_closed", player="a", burned=0),
        of("match_ended", winner="a", reason="L-4"),
    )


def test_fizzle_that_ends_the_match() -> None:
    """The fizzle, its Soulburn, the defeat, the payer's own Rift, the end: closed once."""
    table = Table(turn(), *releases(0, 0), pay("a", 1, 1), open_rift("a", 1, 2), lives(a=-28)).when(fizzle(1))
    table.then(
        of("effect_fizzled"),
        of("soulburn_taken", life=-1, rule="B-3"),
        of("player_defeated", player="a"),
        of("rift_closed", burned=0),
        of("match_ended", winner="b"),
    )


def test_closing_that_ends_the_match() -> None:
    """The Rift closes, burns, and takes the last life: it does not close twice."""
    table = Table(turn(), *releases(2), open_rift("a", 3, 1), lives(a=-21)).when(close_rift("a"))
    table.then(
        of("rift_closed", burned=3),
        of("soulburn_taken", life=0, rule="B-4"),
        of("player_defeated", player="a"),
        of("match_ended", winner="b"),
    )


def test_several_defeats_the_rift_owner_in_the_middle_and_a_draw() -> None:
    """The last three of four fall at once: the Rift closes after its owner's defeat, the match is a draw."""
    table = Table(turn("c"), *releases(1), open_rift("c", 2, 1), summon("c", "x", 1), concede("b"), players="abcd")
    table.when(lives(d=-30, c=-30, b=-5, a=-30)).then(
        of("life_changed", player="d", life=0),
        of("life_changed", player="c", life=0),
        of("life_changed", player="b", life=25),
        of("life_changed", player="a", life=0),
        of("player_defeated", player="a"),
        of("player_defeated", player="c"),
        of("rift_closed", rift=1, highest=1, unused=1, burned=0),
        of("player_defeated", player="d"),
        of("match_ended", winner=None, reason="L-4"),
    )


def test_nothing_follows_the_end() -> None:
    """`match_ended` is the last event of its command; effects that are still open neither resolve nor fizzle."""
    table = Table(*releases(0), pay("a", 1, 1), concede("a")).holds(payments={"1": {"player": "a"}})
    assert table.answer[-1]["type"] == "match_ended"
    table.when(of("resolve", payment=1)).refused("L-5")
    table.when(fizzle(1)).refused("L-5")


def test_destroying_the_cards_of_the_defeated() -> None:
    """Cards of several players, Souls on them, one Soulless, one no creature: the whole order of C-12."""
    table = Table(
        enter("x", "a", rank=1),
        enter("y", "b", rank=2, soulless=True),
        enter("o", "a", kind="other"),
        of("seal", card="x"),
        *releases(0, 0, 0),
        reap("y", 2),
        reap("o", 3, 1),
        concede("a"),
        players="abc",
    )
    table.when(destroy("o", "y", "x")).then(
        of("card_destroyed", card="o", controller="a"),
        of("creature_destroyed", card="y", controller="b"),
        of("creature_destroyed", card="x", controller="a"),
        of("soul_returned", soul=1, card="o"),
        of("soul_returned", soul=3, card="o"),
        of("soul_returned", soul=2, card="y"),
        of("soul_collected", soul=4, creature="x", rank=2),
    )


def test_ruling_stands_for_all_that_it_changes() -> None:
    """Corrections make no events of their own: after `ruling_made` comes only what follows from it."""
    corrections = (
        {"new_soul": {"rank": 1, "to": {"card": "x"}}},
        {"soul": {"soul": 1, "to": "gone"}},
        {"life": {"player": "b", "delta": -3}},
        {"payment": {"payment": 1}},
        {"event": {"event": "omen"}},
    )
    table = Table(turn(), enter("x"), *releases(0, 0), pay("a", 1, 2)).when(ruling(*corrections))
    table.then(of("ruling_made")).holds(payments={}, gone=2, turn={"event": "omen"}, players={"b": {"life": 27}})
