import pytest

from tests.kit import Table, of
from tests.unit.rules.moves import control, destroy, enter, leave, pay, reap, releases, soul


@pytest.mark.parametrize("kind", ["creature", "other"])
def test_A1_named_souls_move_onto_a_card(kind: str) -> None:
    """The named Souls move from the Aether onto the card, a creature or not, in the order named."""
    table = Table(enter("x", kind=kind), *releases(0, 1, 2)).when(reap("x", 3, 1, cause="harvest", by="b"))
    table.then(
        of("soul_reaped", soul=3, card="x", cause="harvest", by="b"),
        of("soul_reaped", soul=1, card="x", cause="harvest", by="b"),
    )
    table.holds(aether=[soul(2, 1)], battlefield={"x": {"souls": [soul(1, 0), soul(3, 2)]}})


def test_A1_only_souls_and_cards_that_are_there() -> None:
    """A Soul that never was or is gone is not reaped, and none onto a card that is elsewhere."""
    table = Table(enter("x"), *releases(0, 0), pay("a", 1, 1))
    table.when(reap("x", 2, 3)).refused("input", "/souls/1", soul=3, souls=2)
    table.when(reap("x", 1)).refused("input", "/souls/0", soul=1)
    table.when(reap("y", 2)).refused("input", "/card")
    table.when(reap("x", 2, by="nobody")).refused("input", "/by")


def test_A2_only_the_controller_uses_them() -> None:
    """Whoever reaped it, a Soul on a card is open to the card's controller alone."""
    table = Table(enter("x", "b"), *releases(0), reap("x", 1, by="a"))
    table.when(pay("a", 1, 1)).refused("P-2", soul=1, card="x", controller="b")
    table.when(pay("b", 1, 1)).then(of("cost_paid", souls=[{"soul": 1, "power": 1, "card": "x"}]))


def test_A3_access_goes_with_control_at_once() -> None:
    """After a change of control the new controller can use the Souls, the old one cannot; the Souls stay on it."""
    table = Table(enter("x"), *releases(0), reap("x", 1)).when(control("x", "b"))
    table.then(of("control_changed", card="x", **{"from": "a"}, to="b"))
    table.holds(battlefield={"x": {"owner": "a", "controller": "b", "souls": [soul(1, 0)]}})
    table.when(pay("a", 1, 1)).refused("P-2", soul=1, card="x", controller="b")
    table.given(pay("b", 1, 1)).holds(gone=1)


def test_A3_control_changes_to_another_player_only() -> None:
    """A player who controls the card already does not gain control of it, a stranger never."""
    table = Table(enter("x"))
    table.when(control("x", "a")).refused("input", "/to")
    table.when(control("x", "nobody")).refused("input", "/to")
    table.when(control("y", "b")).refused("input", "/card")


def test_A4_souls_on_a_destroyed_card_return() -> None:
    """They are back in the Aether by number, open to all, beside the card's own new Soul."""
    table = Table(enter("x", rank=1), *releases(2, 3), reap("x", 2, 1)).when(destroy("x"))
    table.then(
        of("creature_destroyed", card="x", souls=[soul(1, 2), soul(2, 3)]),
        of("soul_returned", soul=1, card="x"),
        of("soul_returned", soul=2, card="x"),
        of("soul_collected", soul=3, creature="x", rank=1),
    )
    table.given(pay("b", 4, 2)).holds(aether=[soul(1, 2), soul(3, 1)])


def test_A4_soulless_card_gives_up_souls_too() -> None:
    """A Soulless creature gives no Soul of its own, but those on it return."""
    table = Table(enter("x", soulless=True), *releases(2), reap("x", 1)).when(destroy("x"))
    table.then(of("creature_destroyed"), of("soul_returned", soul=1, card="x")).holds(aether=[soul(1, 2)])


def test_A5_never_from_card_to_card() -> None:
    """A Soul on a card is not reaped, neither onto another card nor onto the same one."""
    table = Table(enter("x"), enter("y"), *releases(0, 0), reap("x", 2))
    table.when(reap("y", 1, 2)).refused("A-5", soul=2, card="x")
    table.when(reap("x", 2)).refused("A-5", soul=2, card="x")


def test_A6_souls_on_a_leaving_card_return() -> None:
    """A card that leaves in another way gives its Souls back to the Aether, by number."""
    table = Table(enter("x"), *releases(0, 1), reap("x", 2, 1)).when(leave("x", "deck"))
    table.then(
        of("card_left", card="x", to="deck", souls=[soul(1, 0), soul(2, 1)]),
        of("soul_returned", soul=1, card="x"),
        of("soul_returned", soul=2, card="x"),
    )
    table.holds(aether=[soul(1, 0), soul(2, 1)], gone=0)


@pytest.mark.parametrize("kind", ["creature", "other"])
def test_A6_souls_survive_every_journey(kind: str) -> None:
    """Control changed twice, then the card leaves: the Souls that were on it are those that return."""
    table = Table(enter("x", kind=kind), *releases(3, 1), reap("x", 1), reap("x", 2))
    table.given(control("x", "b"), control("x", "a"), leave("x")).holds(aether=[soul(1, 3), soul(2, 1)])
