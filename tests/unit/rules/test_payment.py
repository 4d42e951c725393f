from itertools import permutations
from typing import Any

import pytest

from tests.kit import Table, of
from tests.unit.rules.moves import concede, control, enter, open_rift, pay, reap, releases, soul, turn


@pytest.mark.parametrize(("ranks", "amount"), [([0, 0], 2), ([1], 2), ([0, 1, 3], 7), ([3], 4)])
def test_P1_powers_add_up_to_the_amount(ranks: list[int], amount: int) -> None:
    """Souls whose powers add up to N pay Soulrift N; they are gone, and nothing burns."""
    souls = range(1, len(ranks) + 1)
    table = Table(*releases(*ranks)).when(pay("a", amount, *souls))
    table.then(of("cost_paid", payment=1, player="a", amount=amount, power=amount))
    table.holds(aether=[], gone=len(ranks), players={"a": {"life": 30}})


def test_P1_too_little_is_refused() -> None:
    """Power 3 does not pay Soulrift 4, though the player could reach 1 + 2 + 3 = 6."""
    table = Table(*releases(0, 1, 2)).when(pay("a", 4, 1, 2))
    table.refused("P-1", amount=4, power=3, short=1, available=6)
    table.when(pay("a", 4)).refused("P-1", amount=4, power=0, short=4, available=6)


@pytest.mark.parametrize("amount", [0, -1])
def test_P1_cost_is_at_least_1(amount: int) -> None:
    """There is no Soulrift 0 and none below."""
    Table(*releases(0)).when(pay("a", amount, 1)).refused("P-1", amount=amount, least=1)


def test_P2_aether_and_own_cards_in_any_mix() -> None:
    """One Soul from the Aether and two from cards of the player's own pay together, in the order given."""
    table = Table(enter("x"), enter("y", kind="other"), *releases(0, 1, 2), reap("x", 2), reap("y", 3))
    spent = [
        {"soul": 3, "power": 3, "card": "y"},
        {"soul": 1, "power": 1, "card": None},
        {"soul": 2, "power": 2, "card": "x"},
    ]
    table.when(pay("a", 6, 3, 1, 2)).then(of("cost_paid", power=6, souls=spent))
    table.holds(aether=[], battlefield={"x": {"souls": []}, "y": {"souls": []}}, gone=3)


def test_P2_never_a_soul_on_anothers_card() -> None:
    """A Soul on a card that another player controls now is refused, whoever owns the card or reaped the Soul."""
    table = Table(enter("x", "b", owner="a"), *releases(0, 3), reap("x", 2, by="a"))
    table.when(pay("a", 4, 2)).refused("P-2", soul=2, card="x", controller="b")
    table.given(control("x", "a")).when(pay("b", 4, 2)).refused("P-2", soul=2, card="x", controller="a")


def test_P3_soul_is_never_split() -> None:
    """A Soul of power 4 that pays Soulrift 1 is gone whole; the 3 above burn, no Soul is left of them."""
    table = Table(*releases(3)).when(pay("a", 1, 1))
    table.then(of("cost_paid", amount=1, power=4), of("soulburn_taken", power=3, damage=9, life=21))
    table.holds(aether=[], gone=1, numbered={"souls": 1})


@pytest.mark.parametrize("what", [{"effect": "drain"}, {"cost": "toll"}])
def test_P4_payment_says_for_which_cost(what: dict[str, str]) -> None:
    """The payment for an effect names the effect, that for another cost names it, with where it comes from."""
    table = Table(*releases(0)).when(pay("a", 1, 1, source="Old Altar", **what))
    table.then(of("cost_paid", **{"effect": None, "cost": None, **what}, source="Old Altar"))


def test_P4_payment_of_a_rift_names_neither() -> None:
    """The third thing that Souls are consumed for is a Rift."""
    table = Table(turn(), *releases(0)).when(open_rift("a", 1, 1))
    table.then(of("event_taken"), of("cost_paid", payment=1, effect=None, cost=None), of("rift_opened", payment=1))


@pytest.mark.parametrize(
    ("what", "path"), [({}, "/effect"), ({"effect": "drain", "cost": "toll"}, "/cost")], ids=["neither", "both"]
)
def test_P4_payment_for_nothing_or_for_two_things_is_refused(what: dict[str, str], path: str) -> None:
    """Souls are not consumed without saying for what, nor for an effect and another cost at once."""
    table = Table(*releases(0))
    table.when(of("pay", player="a", amount=1, souls=[1], **what)).refused("input", path)


def test_P5_superfluous_soul_is_refused() -> None:
    """Power 1 + 2 for Soulrift 2 leaves 1 over: the Soul of power 1 could be left out."""
    table = Table(*releases(0, 1)).when(pay("a", 2, 1, 2))
    table.refused("P-5", amount=2, power=3, excess=1, superfluous=[1])


def test_P5_every_superfluous_soul_is_named() -> None:
    """Power 1 + 2 + 1 + 4 for Soulrift 6 leaves 2 over: each Soul of power up to 2 could be left out."""
    table = Table(*releases(0, 1, 0, 3)).when(pay("a", 6, 2, 1, 4, 3))
    table.refused("P-5", amount=6, power=8, excess=2, superfluous=[2, 1, 3])


def test_P5_strong_soul_is_the_players_choice() -> None:
    """Where a Soul of power 1 would do, one of power 4 is allowed: it is needed in this payment."""
    table = Table(*releases(0, 3)).when(pay("a", 1, 2)).then(of("cost_paid"), of("soulburn_taken", power=3))
    table.holds(aether=[soul(1, 0)])


def test_P5_soul_stronger_than_the_excess_is_needed() -> None:
    """Power 2 + 2 for Soulrift 3 leaves 1 over, and without either Soul 3 is out of reach."""
    Table(*releases(1, 1)).when(pay("a", 3, 1, 2)).then(of("cost_paid", power=4), of("soulburn_taken", power=1))


def test_P5_holds_for_rifts_and_reaped_souls() -> None:
    """A superfluous Soul on a card, in the payment of a Rift, is refused as well."""
    table = Table(turn(), enter("x"), *releases(2, 0), reap("x", 2)).when(open_rift("a", 3, 2, 1))
    table.refused("P-5", amount=3, power=4, excess=1, superfluous=[2])


def test_P6_cost_beyond_all_open_souls_cannot_be_paid() -> None:
    """The Aether's 1 + 2 and the 3 on an own card are 6 together; the 4 on another's card does not count."""
    table = Table(enter("x"), enter("y", "b"), *releases(0, 1, 2, 3), reap("x", 3), reap("y", 4))
    table.when(pay("a", 7, 1, 2, 3)).refused("P-6", amount=7, available=6)
    table.when(pay("b", 8, 4)).refused("P-6", amount=8, available=7)


def test_P6_without_souls_nothing_is_paid() -> None:
    """With no Souls at all the least cost is out of reach."""
    Table().when(pay("a", 1)).refused("P-6", amount=1, available=0)


@pytest.mark.parametrize(("souls", "twice"), [((1, 1), 1), ((2, 1, 3, 1, 2), 1)])
def test_P7_soul_is_named_once(souls: tuple[int, ...], twice: int) -> None:
    """A Soul that is named twice does not count twice."""
    Table(*releases(0, 0, 0)).when(pay("a", 2, *souls)).refused("P-7", soul=twice)


@pytest.mark.parametrize("order", list(permutations([1, 2, 3])))
def test_P1_order_of_souls_decides_nothing_but_their_record(order: tuple[int, ...]) -> None:
    """The Souls are recorded in the order in which the payment names them."""
    table = Table(*releases(0, 1, 2)).when(pay("a", 6, *order))
    table.then(of("cost_paid", souls=[{"soul": number, "power": number, "card": None} for number in order]))


def test_P2_defeated_player_pays_nothing() -> None:
    """Not with Souls of the Aether, nor with those on cards that the player still controls."""
    table = Table(enter("x"), *releases(0, 0), reap("x", 2), concede("a"), players="abc")
    table.when(pay("a", 1, 1)).refused("L-5", life=30)
    table.when(pay("a", 1, 2)).refused("L-5", life=30)
    table.when(pay("b", 1, 2)).refused("P-2", soul=2, card="x", controller="a")


@pytest.mark.parametrize("souls", [[0], [-1], [3], [1, 3]])
def test_P1_soul_that_never_was_is_refused(souls: list[int]) -> None:
    """Numbers that were never given out name no Soul."""
    details: dict[str, Any] = {"soul": souls[-1], "souls": 2}
    Table(*releases(0, 0)).when(pay("a", 1, *souls)).refused("input", f"/souls/{len(souls) - 1}", **details)
