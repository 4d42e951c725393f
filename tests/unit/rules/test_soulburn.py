import pytest

from tests.kit import Table, of
from tests.unit.rules.moves import close_rift, fizzle, open_rift, pay, releases, resolve, summon, turn


@pytest.mark.parametrize(("rank", "power", "damage", "left"), [(1, 1, 3, 27), (2, 2, 6, 24), (3, 3, 9, 21)])
def test_B1_soulburn_takes_3_a_power_level(rank: int, power: int, damage: int, left: int) -> None:
    """Soulburn of power level L takes 3 L from the life of the payer, and of nobody else."""
    table = Table(*releases(rank)).when(pay("b", 1, 1))
    table.then(of("cost_paid"), of("soulburn_taken", player="b", power=power, damage=damage, life=left))
    table.holds(players={"a": {"life": 30}, "b": {"life": left}})


def test_B2_overpay_burns_at_the_moment_of_payment() -> None:
    """Power 4 for Soulrift 2 burns 2 with the payment; when the effect resolves nothing more burns."""
    table = Table(*releases(3)).when(pay("a", 2, 1))
    table.then(
        of("cost_paid", payment=1, amount=2, power=4),
        of(
            "soulburn_taken",
            player="a",
            power=2,
            damage=6,
            life=24,
            source="overpay",
            payment=1,
            rift=None,
            rule="B-2",
        ),
    )
    table.when(resolve(1)).then(of("effect_resolved", payment=1)).holds(players={"a": {"life": 24}})


def test_B2_exact_payment_burns_nothing() -> None:
    """No power above N, no Soulburn."""
    Table(*releases(1)).when(pay("a", 2, 1)).then(of("cost_paid")).holds(players={"a": {"life": 30}})


def test_B2_holds_for_other_costs_and_rifts() -> None:
    """What is paid for does not matter: 3 for a toll of 1 burns 2, 4 for a rank 3 Rift burns 1."""
    table = Table(turn(), *releases(2, 3)).when(pay("a", 1, 1, cost="toll"))
    table.then(of("cost_paid"), of("soulburn_taken", power=2, life=24, payment=1, source="overpay", rule="B-2"))
    table.when(open_rift("a", 3, 2)).then(
        of("event_taken"),
        of("cost_paid", payment=2),
        of("soulburn_taken", power=1, life=21, payment=2, rift=None, source="overpay", rule="B-2"),
        of("rift_opened"),
    )


def test_B3_fizzle_burns_the_amount() -> None:
    """The effect of an exact Soulrift 2 fizzles: 2 burn."""
    table = Table(*releases(1), pay("a", 2, 1)).when(fizzle(1, reason="no target"))
    table.then(
        of("effect_fizzled", payment=1, effect="drain", reason="no target"),
        of(
            "soulburn_taken",
            player="a",
            power=2,
            damage=6,
            life=24,
            source="fizzle",
            payment=1,
            rift=None,
            rule="B-3",
        ),
    )


def test_B3_comes_on_top_of_the_overpay() -> None:
    """Power 4 for Soulrift 1, then fizzled: 3 and 1 burn, in the end every point of the power 4."""
    table = Table(*releases(3), pay("a", 1, 1)).holds(players={"a": {"life": 21}})
    table.when(fizzle(1)).then(of("effect_fizzled"), of("soulburn_taken", power=1, damage=3, life=18, rule="B-3"))
    table.holds(players={"a": {"life": 30 - 3 * 4}})


@pytest.mark.parametrize(("ranks", "unused"), [((), 3), ((1,), 2), ((1, 2, 1), 1)])
def test_B4_unused_rift_ranks_burn(ranks: tuple[int, ...], unused: int) -> None:
    """A rank 3 Rift burns 3 minus the highest rank that came through, 0 when none did."""
    table = Table(turn(), *releases(2), open_rift("a", 3, 1))
    table.given(*(summon("a", f"x{index}", rank) for index, rank in enumerate(ranks))).when(close_rift("a"))
    table.then(
        of("rift_closed", rift=1, highest=3 - unused, unused=unused, burned=unused),
        of(
            "soulburn_taken",
            player="a",
            power=unused,
            damage=3 * unused,
            life=30 - 3 * unused,
            source="rift",
            payment=None,
            rift=1,
            rule="B-4",
        ),
    )


def test_B4_fully_used_rift_burns_nothing() -> None:
    """When a creature of the Rift's own rank came through, closing it burns nothing."""
    table = Table(turn(), *releases(1), open_rift("a", 2, 1), summon("a", "x", 2)).when(close_rift("a"))
    table.then(of("rift_closed", highest=2, unused=0, burned=0)).holds(players={"a": {"life": 30}})


@pytest.mark.parametrize("command", ["soulburn", "burn", "soulburn_taken"])
def test_B5_no_player_asks_for_soulburn(command: str) -> None:
    """There is no command for it."""
    Table().when(of(command, player="a", power=1)).refused("input", "/type")


def test_B5_nothing_else_burns() -> None:
    """A match in which everything is paid exactly, resolved and used up has no Soulburn."""
    table = Table(turn(), *releases(0, 1), pay("a", 1, 1), resolve(1), open_rift("a", 2, 2), summon("a", "x", 2))
    table.given(close_rift("a"), of("fizzle", effect="a free one"), turn("b"))
    assert not any("soulburn_taken" in line for line in table.history)
