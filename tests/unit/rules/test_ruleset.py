from typing import Any

import pytest

from tests.kit import Table, of
from tests.unit.rules.moves import (
    close_rift,
    destroy,
    enter,
    fizzle,
    leave,
    lives,
    modifier,
    open_rift,
    pay,
    reap,
    releases,
    ruling,
    soul,
    summon,
    turn,
)

DEFAULTS: dict[str, Any] = {
    "starting_life": 30,
    "soulburn_per_power": 3,
    "sealed_bonus": 1,
    "release_rank": 0,
    "rift_min_rank": 1,
    "souls_on_leaving": "return",
    "overpay": "needed",
}


@pytest.mark.parametrize(
    "chosen",
    [{}, {"sealed_bonus": 3}, {"overpay": "any", "starting_life": 30}, {name: DEFAULTS[name] for name in DEFAULTS}],
)
def test_ruleset_is_complete_in_event_and_state(chosen: dict[str, Any]) -> None:
    """What a match does not choose is the rule book's own value, and `match_started` and the state say all of it."""
    complete = {**DEFAULTS, **chosen}
    table = Table(**chosen)
    table.then(of("match_started", ruleset=complete)).holds(ruleset=complete)
    assert table.state.view()["ruleset"] == complete


@pytest.mark.parametrize(("per_power", "life"), [(0, 30), (1, 27), (3, 21), (1000, -2970)])
def test_B1_soulburn_per_power(per_power: int, life: int) -> None:
    """Soulburn of power level 3 takes 3 x 0, 1, 3 or 1,000 life; it is recorded also when it costs none."""
    table = Table(*releases(3), soulburn_per_power=per_power, players="abc").when(pay("a", 1, 1))
    fallen = [of("player_defeated", player="a", because="life")] if life <= 0 else []
    table.then(of("cost_paid"), of("soulburn_taken", power=3, damage=3 * per_power, life=life, rule="B-2"), *fallen)


def test_B1_soulburn_of_no_damage_is_taken_everywhere() -> None:
    """With 0 life a power level, fizzles and Rifts still record their Soulburn, and nobody loses life."""
    table = Table(turn(), *releases(0, 0), pay("a", 1, 1), open_rift("a", 1, 2), lives(a=-29), soulburn_per_power=0)
    table.when(fizzle(1)).then(of("effect_fizzled"), of("soulburn_taken", power=1, damage=0, life=1, rule="B-3"))
    table.when(close_rift("a")).then(
        of("rift_closed", burned=1), of("soulburn_taken", power=1, damage=0, life=1, rule="B-4")
    )


@pytest.mark.parametrize(("bonus", "rank"), [(0, 1), (1, 2), (2, 3), (3, 3)])
def test_C7_sealed_bonus(bonus: int, rank: int) -> None:
    """A Sealed rank 1 creature gives rank 1 + bonus, at most 3; the modifier is recorded with the bonus, 0 too."""
    table = Table(enter("x", rank=1), of("seal", card="x"), sealed_bonus=bonus).when(destroy("x"))
    table.then(
        of("creature_destroyed", sealed=True),
        of("soul_collected", rank=rank, modifiers=[{"name": "sealed", "delta": bonus}]),
    )


def test_C7_sealed_bonus_is_summed_before_the_rank_is_held() -> None:
    """3 + 3 - 4 = 2, not min(3, 6) - 4."""
    table = Table(enter("x", rank=3), of("seal", card="x"), sealed_bonus=3)
    table.given(destroy("x", modifiers=[modifier("x", "curse", -4)])).holds(aether=[soul(1, 2)])


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_C9_release_rank(rank: int) -> None:
    """A release that names no rank gives the ruleset's; one that names a rank gives that."""
    table = Table(of("release"), of("release", rank=0), release_rank=rank).holds(aether=[soul(1, rank), soul(2, 0)])
    table.when(of("release", rank=4)).refused("S-1", rank=4, lowest=0, highest=3)


def test_R3_rift_min_rank_0_lets_rank_0_through() -> None:
    """A creature of rank 0 comes from the main deck and uses none of the Rift's ranks."""
    table = Table(turn(), *releases(0), open_rift("a", 1, 1), rift_min_rank=0).when(summon("a", "x", 0))
    table.then(of("creature_summoned", card="x", rank=0, deck="main")).holds(rift={"highest": 0})
    table.when(summon("a", "y", -1)).refused("R-3", rank=-1, lowest=0, highest=1)
    table.when(close_rift("a")).then(of("rift_closed", highest=0, unused=1, burned=1), of("soulburn_taken", power=1))


def test_R3_rift_min_rank_1_stops_rank_0() -> None:
    """By the rule book, ranks start at 1."""
    table = Table(turn(), *releases(0), open_rift("a", 1, 1), rift_min_rank=1)
    table.when(summon("a", "x", 0)).refused("R-3", rank=0, lowest=1, highest=1)


def test_A6_souls_on_leaving_lost() -> None:
    """The Souls on a card that leaves without being destroyed are gone, by number."""
    table = Table(enter("x"), *releases(0, 1, 2), reap("x", 3, 1), souls_on_leaving="lost").when(leave("x"))
    table.then(
        of("card_left", card="x", souls=[soul(1, 0), soul(3, 2)]),
        of("soul_lost", soul=1, card="x"),
        of("soul_lost", soul=3, card="x"),
    )
    table.holds(aether=[soul(2, 1)], gone=2).when(pay("a", 1, 1)).refused("input", "/souls/0", soul=1)


def test_A6_souls_on_leaving_lost_spares_the_destroyed() -> None:
    """A destroyed card's Souls return in every ruleset (A-4)."""
    table = Table(enter("x", soulless=True), *releases(2), reap("x", 1), souls_on_leaving="lost").when(destroy("x"))
    table.then(of("creature_destroyed"), of("soul_returned", soul=1)).holds(aether=[soul(1, 2)], gone=0)


def test_A6_souls_on_leaving_return() -> None:
    """By the rule book they are back in the Aether."""
    table = Table(enter("x"), *releases(2), reap("x", 1), souls_on_leaving="return").when(leave("x"))
    table.then(of("card_left"), of("soul_returned", soul=1, card="x")).holds(aether=[soul(1, 2)], gone=0)


def test_P5_overpay_any_checks_nothing() -> None:
    """With "any", Souls that could be left out are consumed, and all power above N burns: 1 + 2 + 4 - 1 = 6."""
    table = Table(*releases(0, 1, 3), overpay="any").when(pay("a", 1, 1, 2, 3))
    table.then(of("cost_paid", power=7), of("soulburn_taken", power=6, damage=18, life=12))


def test_P5_overpay_needed_is_the_rule_books() -> None:
    """With "needed", a strong Soul is a choice, a superfluous one is not."""
    table = Table(*releases(0, 3), overpay="needed")
    table.when(pay("a", 1, 1, 2)).refused("P-5", amount=1, power=5, excess=4, superfluous=[1, 2])
    table.when(pay("a", 1, 2)).then(of("cost_paid", power=4), of("soulburn_taken", power=3))


def test_P5_overpay_least_takes_the_least_excess_in_reach() -> None:
    """With "least", power 4 for Soulrift 1 is refused while power 2 would do, on a card of the player's too."""
    table = Table(enter("x"), *releases(3, 1, 2), reap("x", 2), overpay="least")
    table.when(pay("a", 1, 1)).refused("P-5", amount=1, power=4, excess=3, least=2)
    table.when(pay("a", 5, 1, 2)).refused("P-5", amount=5, power=6, excess=1, least=5)
    table.when(pay("a", 5, 2, 3)).then(of("cost_paid", power=5))
    table.when(pay("a", 1, 1)).then(of("cost_paid", power=4), of("soulburn_taken", power=3))


def test_P5_overpay_least_is_what_this_player_could_reach() -> None:
    """Souls on another's card do not count: b has nothing but power 4 for Soulrift 1."""
    table = Table(enter("x"), *releases(3, 0), reap("x", 2), overpay="least")
    table.when(pay("a", 1, 1)).refused("P-5", amount=1, power=4, excess=3, least=1)
    table.when(pay("b", 1, 1)).then(of("cost_paid", power=4), of("soulburn_taken", power=3))


def test_P5_overpay_least_holds_for_rifts() -> None:
    """A rank 2 Rift paid with power 3 is refused while 1 + 1 would do."""
    table = Table(turn(), *releases(2, 0, 0), overpay="least")
    table.when(open_rift("a", 2, 1)).refused("P-5", amount=2, power=3, excess=1, least=2)
    table.when(open_rift("a", 2, 2, 3)).then(of("event_taken"), of("cost_paid", power=2), of("rift_opened"))


def test_P1_comes_before_overpay_in_every_mode() -> None:
    """Too little is too little, whatever the ruleset says of too much."""
    for overpay in ("needed", "any", "least"):
        table = Table(*releases(0, 3), overpay=overpay).when(pay("a", 2, 1))
        table.refused("P-1", amount=2, power=1, short=1, available=5)


@pytest.mark.parametrize("life", [1, 30, 1_000_000])
def test_L1_starting_life(life: int) -> None:
    """Every player starts with the ruleset's life, and 0 of it is left after just that much damage."""
    table = Table(starting_life=life, players="abc").holds(players={p: {"life": life} for p in "abc"})
    table.given(lives(b=1 - life) if life > 1 else lives(b=0)).holds(players={"b": {"life": 1, "defeated": False}})
    table.when(lives(b=-1)).then(of("life_changed", life=0), of("player_defeated", player="b"))


def test_J2_knows_no_variant() -> None:
    """A ruling's new Soul has the rank that it names, whatever `release_rank` is."""
    table = Table(ruling({"new_soul": {"rank": 1, "to": "aether"}}), release_rank=3)
    table.holds(aether=[soul(1, 1)])
