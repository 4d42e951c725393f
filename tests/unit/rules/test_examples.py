from tests.kit import Table, of
from tests.unit.rules.moves import (
    close_rift,
    destroy,
    enter,
    fizzle,
    open_rift,
    pay,
    reap,
    releases,
    soul,
    summon,
    turn,
)


def test_C1_example_rank_0_creature_dies() -> None:
    """A rank 0 creature dies: one rank 0 Soul in the Aether."""
    Table(enter("x", rank=0), destroy("x")).holds(aether=[soul(1, 0)])


def test_C7_example_sealed_rank_2_and_rank_3_creatures_die() -> None:
    """A Sealed rank 2 and a Sealed rank 3 creature die: a rank 3 Soul both times."""
    sealed = (of("seal", card="x"), of("seal", card="y"))
    table = Table(enter("x", rank=2), enter("y", rank=3), *sealed, destroy("x"), destroy("y"))
    table.holds(aether=[soul(1, 3), soul(2, 3)])


def test_P1_example_soulrift_2() -> None:
    """Soulrift 2: one rank 1 Soul pays it; so do two rank 0 Souls."""
    table = Table(*releases(1, 0, 0)).when(pay("a", 2, 1)).then(of("cost_paid", power=2))
    table.when(pay("b", 2, 2, 3)).then(of("cost_paid", power=2))


def test_B2_example_soulrift_1_paid_with_a_rank_2_soul() -> None:
    """Soulrift 1 paid with a rank 2 Soul, of power 3: 6 damage."""
    table = Table(*releases(2)).when(pay("a", 1, 1)).then(of("cost_paid", power=3), of("soulburn_taken", damage=6))
    table.holds(players={"a": {"life": 24}})


def test_B3_example_exact_soulrift_1_fizzles() -> None:
    """Soulrift 1 paid exactly, the effect fizzles: 3 damage."""
    table = Table(*releases(0), pay("a", 1, 1)).when(fizzle(1))
    table.then(of("effect_fizzled"), of("soulburn_taken", damage=3)).holds(players={"a": {"life": 27}})


def test_B4_example_rank_3_rift_with_one_rank_1_creature() -> None:
    """A rank 3 Rift, one rank 1 creature summoned: 6 damage."""
    table = Table(turn(), *releases(2), open_rift("a", 3, 1), summon("a", "x", 1)).when(close_rift("a"))
    table.then(of("rift_closed"), of("soulburn_taken", damage=6)).holds(players={"a": {"life": 24}})


def test_R6_example_rank_3_rift_with_nothing_summoned() -> None:
    """A rank 3 Rift, nothing summoned: 9 damage, Event used."""
    table = Table(turn(), *releases(2), open_rift("a", 3, 1)).when(close_rift("a"))
    table.then(of("rift_closed"), of("soulburn_taken", damage=9))
    table.holds(players={"a": {"life": 21}}, turn={"event": "rift_summoning"})


def test_A4_example_creature_with_two_souls_dies() -> None:
    """A creature with two Souls on it dies: three Souls go to the Aether."""
    table = Table(enter("x", rank=1), *releases(0, 2), reap("x", 1, 2)).holds(aether=[])
    table.given(destroy("x")).holds(aether=[soul(1, 0), soul(2, 2), soul(3, 1)])
