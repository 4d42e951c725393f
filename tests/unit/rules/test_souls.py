from typing import Any

import pytest

from tests.kit import Table, of
from tests.unit.rules.moves import control, destroy, enter, fizzle, leave, pay, reap, releases, soul
from tests.unit.rules.walks import WALKS, walk


@pytest.mark.parametrize(("rank", "power"), [(0, 1), (1, 2), (2, 3), (3, 4)])
def test_S1_power_is_rank_plus_one(rank: int, power: int) -> None:
    """A Soul of rank 0 to 3 pays with power 1 to 4."""
    table = Table(*releases(rank)).when(pay("a", power, 1))
    table.then(of("cost_paid", power=power, souls=[{"soul": 1, "power": power, "card": None}]))


@pytest.mark.parametrize("rank", [-1, 4])
def test_S1_no_soul_has_another_rank(rank: int) -> None:
    """A Soul below rank 0 or above rank 3 is not released."""
    Table().when(of("release", rank=rank)).refused("S-1", rank=rank, lowest=0, highest=3)


def test_S2_soul_is_in_one_place_at_a_time() -> None:
    """From the Aether to a card, back, and consumed: a Soul is never in two places and never in none."""
    table = Table(enter("x"), *releases(2)).holds(aether=[soul(1, 2)], gone=0)
    table.given(reap("x", 1)).holds(aether=[], battlefield={"x": {"souls": [soul(1, 2)]}}, gone=0)
    table.given(leave("x")).holds(aether=[soul(1, 2)], battlefield={}, gone=0)
    table.given(pay("a", 3, 1)).holds(aether=[], battlefield={}, gone=1)


@pytest.mark.parametrize("seed", WALKS)
def test_S2_every_entry_leaves_every_soul_in_one_place(seed: int) -> None:
    """After every entry of a random match the Souls here and the Souls gone are all that were ever numbered."""
    for state in walk(seed):
        view = state.view()
        places: list[list[dict[str, Any]]] = [view["aether"], *(card["souls"] for card in view["battlefield"].values())]
        here = [held["soul"] for place in places for held in place]
        assert len(set(here)) == len(here)
        assert len(here) + view["gone"] == view["numbered"]["souls"]
        assert all(held["rank"] in range(4) for place in places for held in place)


@pytest.mark.parametrize("command", ["consume", "move_soul", "remove_soul", "create_soul", "soul_released"])
def test_S2_no_command_moves_souls_otherwise(command: str) -> None:
    """Nothing but the commands of the rules creates, moves or removes a Soul."""
    Table(*releases(0)).when(of(command, soul=1)).refused("input", "/type")


def test_S3_soul_keeps_number_and_rank() -> None:
    """Wherever it goes and whoever controls it, a Soul keeps its number and its rank until it is gone."""
    table = Table(enter("x"), enter("y", "b", soulless=True), *releases(1, 3))
    table.given(reap("x", 2), control("x", "b"), destroy("x"))
    table.holds(aether=[soul(1, 1), soul(2, 3), soul(3, 0)])
    table.given(reap("y", 2), destroy("y")).holds(aether=[soul(1, 1), soul(2, 3), soul(3, 0)])


def test_S3_number_of_a_gone_soul_is_never_given_again() -> None:
    """A gone Soul cannot be named any more, and the next Soul has a number of its own."""
    table = Table(*releases(0), pay("a", 1, 1), fizzle(1))
    table.when(pay("a", 1, 1)).refused("input", "/souls/0", soul=1)
    table.when(of("release")).then(of("soul_released", soul=2, rank=0))
