"""What each read model answers of small matches, worked out by hand from the rule book.

The start of a match is its entry 1; every command after it makes one more.
"""

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest
from msgspec.structs import replace

from domain.rules.events import SpentSoul
from projections import census, life, matches, payments, players, rifts, soulburn, souls
from projections.census import Census
from projections.life import LifeChange
from projections.matches import MatchRow
from projections.payments import PaymentMade
from projections.players import PlayerRow
from projections.rifts import RiftRecord, Summoned
from projections.soulburn import Soulburn, SoulburnTotal
from tests.kit import Json, fits, of
from tests.read_models import Hall, shown
from tests.unit.rules.moves import (
    close_rift,
    concede,
    control,
    defeated,
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
    resolve,
    result,
    ruling,
    summon,
    turn,
)
from tests.unit.rules.moves import life as life_by

AETHER = "aether"


@pytest.fixture
def hall() -> Iterator[Hall]:
    """An empty store with its views."""
    hall = Hall()
    yield hall
    hall.close()


# ------------------------------------------------------------------------------------------------ Souls


def histories(hall: Hall, soul: int | None = None) -> list[Json]:
    """The lives of the Souls of match m, as JSON."""
    rows: list[Json] = shown(hall.ask(souls.history, "m", soul))
    return rows


def moves(*places: tuple[int, str]) -> list[Json]:
    """Moves, each an entry and where to."""
    return [{"entry": entry, "to": to} for entry, to in places]


def to_soul(number: int, to: Any) -> Json:
    """The correction of where a Soul is."""
    return {"soul": {"soul": number, "to": to}}


def to_rank(number: int, rank: int) -> Json:
    """The correction of a Soul's rank."""
    return {"rank": {"soul": number, "rank": rank}}


def new_soul(rank: int, to: Any = AETHER) -> Json:
    """The correction that a Soul should be there."""
    return {"new_soul": {"rank": rank, "to": to}}


def test_a_soul_is_told_in_full(hall: Hall) -> None:
    """A Soul's life in JSON: released, moved onto a card, controlled, re-ranked, spent with another, and gone."""
    hall.start(
        *(enter("k", rank=1), of("seal", card="k"), enter("altar", "b", kind="other")),  # 2 to 4
        destroy("k", modifiers=[modifier("k", "rite", -1)], cause="Pyre"),  # 5: Soul 1 of rank 1 + 1 - 1
        *(reap("altar", 1), control("altar", "a")),  # 6, 7
        *(ruling(to_rank(1, 2)), *releases(0)),  # 8, 9: power 3; Soul 2
        *(pay("a", 4, 1, 2, effect="drain"), resolve(1)),  # 10, 11
    )
    assert histories(hall, 1) == [
        {
            "soul": 1,
            "rank": 2,
            "released": {
                "entry": 5,
                "rank": 1,
                "source": "creature",
                "creature": "k",
                "creature_rank": 1,
                "modifiers": [{"delta": 1, "name": "sealed"}, {"delta": -1, "name": "rite"}],
                "cause": "Pyre",
            },
            "moves": moves((5, AETHER), (6, "altar")),
            "controlled": [
                {"entry": 6, "card": "altar", "player": "b"},
                {"entry": 7, "card": "altar", "player": "a"},
            ],
            "reranked": [{"entry": 8, "rank": 2}],
            "used": {
                "entry": 10,
                "payment": 1,
                "player": "a",
                "power": 4,
                "amount": 4,
                "effect": "drain",
                "cost": None,
                "with": [2],
                "outcome": "resolved",
                "burned": 0,
            },
            "lost": None,
            "now": "gone",
        }
    ]


@pytest.mark.parametrize(
    ("rank", "deltas", "bonus", "expected"),
    [
        (3, {}, 1, 3),  # 4 is held at 3
        (2, {"rite": 2, "curse": -4}, 1, 1),
        (3, {"curse": -1}, 1, 3),
        (None, {"curse": -2}, 1, 0),  # no rank counts as 0 (C-4); -1 is held at 0
        (0, {}, 3, 3),
        (1, {}, 0, 1),
    ],
)
def test_a_collected_soul_tells_what_made_its_rank(
    hall: Hall, rank: int | None, deltas: dict[str, int], bonus: int, expected: int
) -> None:
    """The creature's own rank, Sealed first, then the command's modifiers in order; the sum held within 0 to 3."""
    named = [modifier("k", name, delta) for name, delta in deltas.items()]
    hall.start(enter("k", rank=rank), of("seal", card="k"), destroy("k", modifiers=named), sealed_bonus=bonus)
    (told,) = histories(hall)
    assert told["rank"] == expected
    assert told["released"] == {
        "entry": 4,
        "rank": expected,
        "source": "creature",
        "creature": "k",
        "creature_rank": rank,
        "modifiers": [
            {"name": "sealed", "delta": bonus},
            *[{"name": name, "delta": delta} for name, delta in deltas.items()],
        ],
        "cause": None,
    }
    assert (told["moves"], told["now"]) == (moves((4, AETHER)), AETHER)


def test_a_soul_is_collected_of_the_creature_as_it_was_destroyed(hall: Hall) -> None:
    """A creature's rank is that of its last moment; each of several gives its own Soul, and a Soulless one none."""
    hall.start(
        *(enter("x", rank=3), enter("y", "b", rank=1), enter("z", soulless=True)),
        of("set_rank", card="x", rank=1),
        destroy("y", "z", "x", modifiers=[modifier("x", "rite", 1)]),
    )
    told = [(row["rank"], row["released"]["creature"], row["released"]["creature_rank"]) for row in histories(hall)]
    assert told == [(1, "y", 1), (2, "x", 1)]
    assert [row["released"]["modifiers"] for row in histories(hall)] == [[], [{"name": "rite", "delta": 1}]]


def test_a_soul_released_by_an_effect_has_no_creature(hall: Hall) -> None:
    """By an effect a Soul comes to the Aether with its cause, at the rank named or else that of the ruleset."""
    hall.start(of("release", rank=2, cause="Lantern"), of("release"), release_rank=1)
    for told, rank, entry, cause in zip(histories(hall), (2, 1), (2, 3), ("Lantern", None), strict=True):
        assert told == {
            "soul": entry - 1,
            "rank": rank,
            "released": {
                "entry": entry,
                "rank": rank,
                "source": "effect",
                "creature": None,
                "creature_rank": None,
                "modifiers": [],
                "cause": cause,
            },
            "moves": moves((entry, AETHER)),
            "controlled": [],
            "reranked": [],
            "used": None,
            "lost": None,
            "now": AETHER,
        }


def test_a_soul_released_by_a_ruling_goes_where_it_says(hall: Hall) -> None:
    """A ruling's new Soul begins in the Aether or on a card, for the judge's reason."""
    hall.start(enter("k", "b", owner="a"), ruling(new_soul(1), new_soul(3, {"card": "k"})))
    free, laid = histories(hall)
    assert fits(free, {"soul": 1, "rank": 1, "moves": moves((3, AETHER)), "controlled": [], "now": AETHER})
    assert fits(laid, {"soul": 2, "rank": 3, "moves": moves((3, "k")), "now": "k"})
    assert laid["controlled"] == [{"entry": 3, "card": "k", "player": "b"}]
    for told in (free, laid):
        assert told["released"] == {
            "entry": 3,
            "rank": told["rank"],
            "source": "ruling",
            "creature": None,
            "creature_rank": None,
            "modifiers": [],
            "cause": "missed trigger",
        }


@pytest.mark.parametrize("goes", [destroy("k"), leave("k", "hand")])
def test_a_soul_goes_back_from_a_card(hall: Hall, goes: Json) -> None:
    """Reaped and returned (A-1, A-4, A-6), a Soul is in the Aether again, as often as it happens."""
    hall.start(*releases(1), enter("k"), reap("k", 1), goes, enter("k", "b"), reap("k", 1))
    told = histories(hall)[0]
    assert told["moves"] == moves((2, AETHER), (4, "k"), (5, AETHER), (7, "k"))
    assert told["now"] == "k"
    assert told["controlled"] == [
        {"entry": 4, "card": "k", "player": "a"},
        {"entry": 7, "card": "k", "player": "b"},
    ]
    assert (told["lost"], told["used"], told["released"]["entry"]) == (None, None, 2)


def test_a_soul_is_lost_with_its_card_where_the_ruleset_says(hall: Hall) -> None:
    """Under `souls_on_leaving` "lost" a card that leaves takes its Souls along; a destroyed one does not (A-4)."""
    hall.start(
        *releases(1, 2),  # 2, 3
        *(enter("k"), enter("l", kind="other"), reap("k", 1), reap("l", 2)),  # 4 to 7
        *(leave("k"), destroy("l")),  # 8, 9
        souls_on_leaving="lost",
    )
    lost, back = histories(hall)
    assert fits(lost, {"lost": 8, "now": "gone", "used": None, "moves": moves((2, AETHER), (6, "k"))})
    assert fits(back, {"lost": None, "now": AETHER, "moves": moves((3, AETHER), (7, "l"), (9, AETHER))})


def test_a_soul_is_moved_by_rulings(hall: Hall) -> None:
    """A ruling takes a Soul from the Aether to a card, from card to card, back, and away for good; several at once in
    its order.
    """
    hall.start(
        *(*releases(0), enter("x"), enter("y", "b")),  # 2 to 4
        *(ruling(to_soul(1, {"card": "x"})), ruling(to_soul(1, {"card": "y"})), ruling(to_soul(1, AETHER))),  # 5 to 7
        ruling(to_soul(1, {"card": "y"}), to_rank(1, 3), to_soul(1, {"card": "x"})),  # 8
    )
    (told,) = histories(hall)
    assert told["moves"] == moves((2, AETHER), (5, "x"), (6, "y"), (7, AETHER), (8, "y"), (8, "x"))
    assert [(row["entry"], row["card"], row["player"]) for row in told["controlled"]] == [
        *((5, "x", "a"), (6, "y", "b")),
        *((8, "y", "b"), (8, "x", "a")),
    ]
    assert (told["rank"], told["now"], told["lost"]) == (3, "x", None)
    hall.play(ruling(to_soul(1, "gone")))
    (told,) = histories(hall)
    assert fits(told, {"now": "gone", "lost": 9, "used": None, "rank": 3})
    assert told["moves"][-1] == {"entry": 8, "to": "x"}


def test_a_soul_is_ranked_anew_by_rulings(hall: Hall) -> None:
    """Its rank is the last one that a ruling gave it, and each is told; its power as payment is by that one."""
    hall.start(*releases(0), ruling(to_rank(1, 3), to_rank(1, 1)), ruling(to_rank(1, 2)), pay("a", 3, 1))
    (told,) = histories(hall)
    assert (told["rank"], told["released"]["rank"]) == (2, 0)
    assert told["reranked"] == [{"entry": 3, "rank": 3}, {"entry": 3, "rank": 1}, {"entry": 4, "rank": 2}]
    assert (told["used"]["power"], told["used"]["burned"], told["now"]) == (3, 0, "gone")


def test_control_of_a_souls_card_changes(hall: Hall) -> None:
    """`controlled` has whoever held the Soul's card from the entry on in which it came there, and only while it lay
    there: of all Souls on it, and not of those in the Aether.
    """
    hall.start(
        *(*releases(0, 0, 0), enter("k")),  # 2 to 5
        *(control("k", "b"), reap("k", 1, 2), control("k", "a"), control("k", "b")),  # 6 to 9
        *(pay("b", 1, 2), control("k", "a"), leave("k"), enter("k"), control("k", "b")),  # 10 to 14
    )
    first, second, third = [
        [(row["entry"], row["card"], row["player"]) for row in told["controlled"]] for told in histories(hall)
    ]
    assert first == [(7, "k", "b"), (8, "k", "a"), (9, "k", "b"), (11, "k", "a")]
    assert second == [(7, "k", "b"), (8, "k", "a"), (9, "k", "b")]
    assert third == []


@pytest.mark.parametrize(
    ("after", "outcome", "burned"),
    [
        ((), "open", 3),
        ((resolve(1),), "resolved", 3),
        ((fizzle(1),), "fizzled", 3 + 6),
        ((ruling({"payment": {"payment": 1}}),), "closed", 3),
        ((lives(a=-50), fizzle(1)), "fizzled", 3),  # a defeated payer does not burn
    ],
)
def test_a_soul_spent_for_an_effect(hall: Hall, after: tuple[Json, ...], outcome: str, burned: int) -> None:
    """A Soul on a card, of power 3 for Soulrift 2 of an effect: what became of it, and what it burned in all."""
    hall.start(*releases(1, 0, 2), enter("k"), reap("k", 3), pay("a", 2, 3, effect="drain"), *after, players="abc")
    used = [row["used"] for row in histories(hall)]
    assert used[:2] == [None, None]
    assert used[2] == {
        "entry": 7,
        "payment": 1,
        "player": "a",
        "power": 3,
        "amount": 2,
        "effect": "drain",
        "cost": None,
        "with": [],
        "outcome": outcome,
        "burned": burned,
    }


def test_a_soul_spent_with_others_for_another_cost(hall: Hall) -> None:
    """Of three Souls each tells the two others, the power of all three, and that the cost was settled at once (E-2)."""
    hall.start(*releases(1, 1, 1), pay("b", 5, 1, 2, 3, cost="ward"))
    expected = {"entry": 5, "payment": 1, "player": "b", "power": 6, "amount": 5, "effect": None, "cost": "ward"}
    for told, others in zip(histories(hall), ([2, 3], [1, 3], [1, 2]), strict=True):
        assert told["used"] == {**expected, "with": others, "outcome": "settled", "burned": 3}


def test_a_soul_spent_for_a_rift(hall: Hall) -> None:
    """A Rift's payment has neither effect nor cost and is settled; it burned its overpay, not what the Rift did."""
    hall.start(turn(), *releases(3), open_rift("a", 2, 1), close_rift("a"))
    (told,) = histories(hall)
    assert told["used"] == {
        "entry": 4,
        "payment": 1,
        "player": "a",
        "power": 4,
        "amount": 2,
        "effect": None,
        "cost": None,
        "with": [],
        "outcome": "settled",
        "burned": 6,
    }


def test_one_soul_of_a_match_can_be_asked_for(hall: Hall) -> None:
    """By its number there is one history; of a number or a match that is not there, none."""
    hall.start(*releases(0, 2)).start(*releases(1), match="other")
    assert [(row["soul"], row["rank"]) for row in histories(hall, 2)] == [(2, 2)]
    assert histories(hall, 3) == []
    assert hall.ask(souls.history, "nowhere") == []


# ------------------------------------------------------------------------------------------------ life


def change(entry: int, player: str, delta: int, now: int, cause: str, rule: str, **more: Any) -> LifeChange:
    """A change of life without what it is not about."""
    none: dict[str, Any] = {"reason": None, "payment": None, "rift": None}
    return LifeChange(entry, player, delta, now, cause, rule, **none | more)  # type: ignore[arg-type]  # str: a cause


def test_life_from_the_start_on(hall: Hall) -> None:
    """All players begin with the ruleset's life, in the match's order (L-1)."""
    hall.start(players="cab", starting_life=7)
    assert hall.ask(life.life, "m") == [change(1, name, 7, 7, "start", "L-1") for name in "cab"]


def test_life_burned_by_each_source(hall: Hall) -> None:
    """Soulburn tells its source, rule, and the payment or Rift: overpay B-2, fizzle B-3, an unused Rift B-4."""
    hall.start(
        *(*releases(1, 2, 0, 0), turn("b")),  # 2 to 6
        *(pay("a", 1, 1), fizzle(1)),  # 7: 1 over; 8: the cost of 1
        *(open_rift("b", 2, 2), close_rift("b")),  # 9: 1 over; 10: rank 2 unused
    )
    assert hall.ask(life.life, "m")[2:] == [
        change(7, "a", -3, 27, "overpay", "B-2", payment=1),
        change(8, "a", -3, 24, "fizzle", "B-3", payment=1),
        change(9, "b", -3, 27, "overpay", "B-2", payment=2),
        change(10, "b", -6, 21, "rift", "B-4", rift=1),
    ]


def test_life_that_burns_by_nothing_is_told_too(hall: Hall) -> None:
    """Where the ruleset takes no life for Soulburn, the change is one of 0."""
    hall.start(*releases(1), pay("a", 1, 1), soulburn_per_power=0)
    assert hall.ask(life.life, "m")[2:] == [change(3, "a", 0, 30, "overpay", "B-2", payment=1)]


def test_life_that_the_game_changes(hall: Hall) -> None:
    """One command may change several players' life, for its reason, by nothing as well, and below zero (L-2)."""
    hall.start(
        lives(c=-4, a=2, b=0),
        of("change_life", changes=[{"player": "b", "delta": -50}], reason="Dragon"),
        of("change_life", changes=[{"player": "b", "delta": 60}], reason="healing"),  # too late for b (L-3)
        players="abc",
    )
    assert hall.ask(life.life, "m")[3:] == [
        change(2, "c", -4, 26, "change", "L-2", reason="combat"),
        change(2, "a", 2, 32, "change", "L-2", reason="combat"),
        change(2, "b", 0, 30, "change", "L-2", reason="combat"),
        change(3, "b", -50, -20, "change", "L-2", reason="Dragon"),
        change(4, "b", 60, 40, "change", "L-2", reason="healing"),
    ]


def test_life_that_rulings_correct(hall: Hall) -> None:
    """Several corrections of one ruling are told one by one, each with what it leaves; those of other kinds are not."""
    hall.start(
        ruling(life_by("a", -5), new_soul(0), life_by("b", 1), life_by("a", 2)),
        lives(a=-1),
        ruling(new_soul(1), life_by("a", 4)),
    )
    expected = {"cause": "ruling", "rule": "J-1", "reason": "missed trigger"}
    assert hall.ask(life.life, "m")[2:] == [
        change(2, "a", -5, 25, **expected),
        change(2, "b", 1, 31, **expected),
        change(2, "a", 2, 27, **expected),
        change(3, "a", -1, 26, "change", "L-2", reason="combat"),
        change(4, "a", 4, 30, **expected),
    ]


# ------------------------------------------------------------------------------------------------ the Soulburn ledger

BURNING = (
    *(*releases(2, 1, 1), turn("b"), *releases(3)),  # 2 to 6
    *(pay("a", 1, 1), fizzle(1)),  # 7: 3 - 1 over; 8: all of 1
    *(open_rift("b", 3, 4), summon("b", "k", 1), close_rift("b")),  # 9: 4 - 3 over; 11: 3 - 1 unused
    *(pay("a", 2, 2), fizzle(3)),  # 12: nothing over; 13: all of 2
    pay("b", 1, 3, cost="ward"),  # 14: 2 - 1 over
)


def burning(per_power: int, starting_life: int = 100) -> list[Soulburn]:
    """The ledger of those commands."""
    expected = list[Soulburn]()
    left = dict.fromkeys("ab", starting_life)
    for entry, player, source, rule, of_, less, payment, rift in (
        (7, "a", "overpay", "B-2", 3, 1, 1, None),
        (8, "a", "fizzle", "B-3", 1, 0, 1, None),
        (9, "b", "overpay", "B-2", 4, 3, 2, None),
        (11, "b", "rift", "B-4", 3, 1, None, 1),
        (13, "a", "fizzle", "B-3", 2, 0, 3, None),
        (14, "b", "overpay", "B-2", 2, 1, 4, None),
    ):
        left[player] -= (of_ - less) * per_power
        arithmetic = of_, less, of_ - less, per_power, (of_ - less) * per_power, left[player]
        expected.append(Soulburn(entry, player, source, rule, *arithmetic, payment, rift))  # type: ignore[arg-type]  # str: a source
    return expected


@pytest.mark.parametrize("per_power", [3, 0, 7])
def test_every_soulburn_with_its_arithmetic(hall: Hall, per_power: int) -> None:
    """Overpay is the power less the cost, fizzling the whole cost, a Rift its rank less the highest that came; times
    the ruleset's life for each level. Where that is 0, the Soulburn is there all the same.
    """
    hall.start(*BURNING, starting_life=100, soulburn_per_power=per_power)
    assert hall.ask(soulburn.soulburn, "m") == burning(per_power)


def test_soulburn_of_a_rift_after_a_ruling_on_it(hall: Hall) -> None:
    """The highest rank that came through is the one that a judge gave (J-2), and burns accordingly."""
    hall.start(turn(), *releases(2), open_rift("a", 3, 1), ruling({"rift": {"highest": 2}}), close_rift("a"))
    assert hall.ask(soulburn.soulburn, "m") == [Soulburn(6, "a", "rift", "B-4", 3, 2, 1, 3, 3, 27, None, 1)]


def test_no_soulburn_where_nothing_burns(hall: Hall) -> None:
    """A full Rift, an exact payment and an effect that cost nothing are not in the ledger; nor is an unknown match."""
    hall.start(
        *(turn(), *releases(2, 0), open_rift("a", 3, 1), summon("a", "k", 3), close_rift("a")),
        *(pay("a", 1, 2), resolve(2), of("fizzle", effect="lantern")),
    )
    assert hall.ask(soulburn.soulburn, "m") == []
    assert hall.ask(soulburn.totals, "m") == []
    assert hall.ask(soulburn.soulburn, "nowhere") == []


def test_totals_of_soulburn(hall: Hall) -> None:
    """How often, at what level and for how much life each player burned by each source: in a match, and in all."""
    hall.start(*BURNING, starting_life=100).start(
        *(*releases(3, 1), pay("b", 2, 1), pay("c", 1, 2)), match="n", players="bc", soulburn_per_power=7
    )
    here = [
        SoulburnTotal("a", "overpay", "B-2", 1, 2, 6),
        SoulburnTotal("a", "fizzle", "B-3", 2, 3, 9),
        SoulburnTotal("b", "overpay", "B-2", 2, 2, 6),
        SoulburnTotal("b", "rift", "B-4", 1, 2, 6),
    ]
    assert hall.ask(soulburn.totals, "m") == here
    there = [SoulburnTotal("b", "overpay", "B-2", 1, 2, 14), SoulburnTotal("c", "overpay", "B-2", 1, 1, 7)]
    assert hall.ask(soulburn.totals, "n") == there
    assert hall.ask(soulburn.totals) == [
        *here[:2],
        SoulburnTotal("b", "overpay", "B-2", 3, 4, 20),
        *(here[3], there[1]),
    ]


# ------------------------------------------------------------------------------------------------ payments


def spent(soul: int, power: int, card: str | None = None) -> SpentSoul:
    """A Soul of a payment."""
    return SpentSoul(card, power, soul)


def test_payments_and_what_became_of_them(hall: Hall) -> None:
    """Each payment with its Souls, from where, in the command's order; its outcome, when and why; a Rift's as well."""
    hall.start(
        *(*releases(0, 1, 2, 0, 0, 3, 0), enter("k"), reap("k", 2), turn("b")),  # 2 to 11
        pay("a", 3, 2, 1, effect="drain", source="Dart"),  # 12: 2 + 1
        pay("b", 2, 3, effect="lantern"),  # 13: 3, 1 over, of which Souls 4 and 5 would have spared all
        *(pay("a", 1, 4, effect="omen"), pay("a", 1, 5, cost="ward")),  # 14, 15
        *(open_rift("b", 3, 6), pay("b", 1, 7, effect="echo")),  # 16: 4, 1 over; 3 could not be paid otherwise; 17
        *(fizzle(2, reason="no target"), ruling({"payment": {"payment": 3}}), resolve(1)),  # 18 to 20
        of("fizzle", effect="drain", reason="free"),  # nobody paid for it
    )
    # payment, entry, player, amount, power, overpay, Souls, effect, cost, outcome, burned, ended, reason, source, least
    ward, echo = (spent(5, 1),), (spent(7, 1),)
    assert hall.ask(payments.payments, "m") == [
        PaymentMade(
            *(1, 12, "a", 3, 3, 0, (spent(2, 2, "k"), spent(1, 1)), "drain", None, "resolved", 0, 20, None, "Dart", 0)
        ),
        PaymentMade(2, 13, "b", 2, 3, 1, (spent(3, 3),), "lantern", None, "fizzled", 3 + 6, 18, "no target", None, 0),
        PaymentMade(3, 14, "a", 1, 1, 0, (spent(4, 1),), "omen", None, "closed", 0, 19, "missed trigger", None, 0),
        PaymentMade(4, 15, "a", 1, 1, 0, ward, None, "ward", "settled", 0, None, None, None, 0),
        PaymentMade(5, 16, "b", 3, 4, 1, (spent(6, 4),), None, None, "settled", 3, None, None, None, 3),
        PaymentMade(6, 17, "b", 1, 1, 0, echo, "echo", None, "open", 0, None, None, None, 0),
    ]


LEAST = [
    # amount, ranks in the Aether, on a's card, on b's card, the Souls that a pays with, least overpay
    ("an exact one lay there", 2, (2, 1), (), (), (1,), 0),
    ("two together would have been exact", 2, (2, 0, 0), (), (), (1,), 0),
    ("nothing was cheaper", 2, (3, 2), (), (), (2,), 1),
    ("a weaker one was cheaper", 1, (3, 2), (), (), (1,), 2),
    ("an exact one lay on a card of the payer's", 2, (3,), (1,), (), (1,), 0),
    ("an exact one lay on another's card", 2, (3,), (), (1,), (1,), 2),
    ("mixed, two were exact", 3, (3, 0), (1,), (2,), (1,), 0),
    ("paid from the card, the exact one in the Aether", 1, (0,), (2,), (), (2,), 0),
    ("the whole of it was needed", 6, (2,), (3,), (), (1, 2), 1),
]


@pytest.mark.parametrize("overpay", ["needed", "any"])
@pytest.mark.parametrize(("amount", "free", "mine", "theirs", "paid", "least"), [row[1:] for row in LEAST])
def test_least_burn_is_that_of_the_cheapest_payment(
    hall: Hall,
    overpay: str,
    amount: int,
    free: tuple[int, ...],
    mine: tuple[int, ...],
    theirs: tuple[int, ...],
    paid: tuple[int, ...],
    least: int,
) -> None:
    """The overpay of the cheapest payment with the Souls in the Aether and on the payer's own cards (P-2), times the
    ruleset's life; and as much for a Rift as for an effect.
    """
    first, second = len(free) + 1, len(free) + len(mine) + 1
    hall.start(
        *(turn(), *releases(*free, *mine, *theirs), enter("k"), enter("l", "b")),
        *([reap("k", *range(first, first + len(mine)))] if mine else []),
        *([reap("l", *range(second, second + len(theirs)))] if theirs else []),
        open_rift("a", amount, *paid) if amount <= 3 else pay("a", amount, *paid),
        players="ba",
        overpay=overpay,
        soulburn_per_power=5,
    )
    (row,) = hall.ask(payments.payments, "m")
    power = sum((*free, *mine)[soul - 1] + 1 for soul in paid)
    assert (row.overpay, row.burned, row.least_burn) == (power - amount, 5 * (power - amount), 5 * least)


def test_least_burn_where_idle_souls_may_be_paid(hall: Hall) -> None:
    """Under `overpay` "any" a payment of all Souls is compared with the cheapest: here one Soul, exactly."""
    hall.start(*releases(0, 0, 3), pay("a", 1, 1, 2, 3), overpay="any")
    (row,) = hall.ask(payments.payments, "m")
    assert (row.burned, row.least_burn) == (3 * 5, 0)


def test_least_burn_where_only_the_least_may_be_paid(hall: Hall) -> None:
    """Under `overpay` "least" what was burned is the least."""
    hall.start(*releases(3, 2, 2), pay("a", 2, 2), overpay="least", soulburn_per_power=7)
    (row,) = hall.ask(payments.payments, "m")
    assert (row.burned, row.least_burn) == (7, 7)


def test_least_burn_is_of_its_moment(hall: Hall) -> None:
    """Souls that were spent before, or that came later, or cards gained later, do not count."""
    hall.start(
        *(*releases(1, 2, 1), enter("k", "b"), reap("k", 3)),  # 2 to 6
        *(pay("b", 2, 1), pay("a", 2, 2), *releases(1), control("k", "a")),
    )
    assert [row.least_burn for row in hall.ask(payments.payments, "m")] == [0, 3]


def test_nobody_has_paid_in_a_match_without_payments(hall: Hall) -> None:
    """An effect that nobody paid for leaves no payment, and other matches' payments are not this one's."""
    hall.start(of("fizzle", effect="lantern")).start(*releases(0), pay("a", 1, 1), match="other")
    assert hall.ask(payments.payments, "m") == []
    assert len(hall.ask(payments.payments, "other")) == 1


# ------------------------------------------------------------------------------------------------ Rifts


def rift_of(entry: int, rank: int, power: int, soul: int = 1, **figures: Any) -> RiftRecord:
    """The first Rift of a match, a's, opened with one Soul: open, and with nothing come through, but for these."""
    rift = RiftRecord(1, entry, "a", rank, 1, power, (spent(soul, power),), (), "open", None, 0, None, 0)
    return replace(rift, **figures)


def test_a_rift_tells_who_came_through(hall: Hall) -> None:
    """Its summons in order; ranks unused are those above the highest that came, each of which burns (B-4)."""
    hall.start(turn(), *releases(3), open_rift("a", 3, 1), summon("a", "x", 2, name="Wisp"), summon("a", "y", 1))
    came = (Summoned(5, "x", "Wisp", 2), Summoned(6, "y", None, 1))
    assert hall.ask(rifts.rifts, "m") == [rift_of(4, 3, 4, summoned=came, highest=2)]
    hall.play(close_rift("a"))
    closed: dict[str, Any] = {"outcome": "closed", "ended": 7, "unused": 1, "burned": 3}
    assert hall.ask(rifts.rifts, "m") == [rift_of(4, 3, 4, summoned=came, highest=2, **closed)]


def test_R5_rift_used_to_the_full_burns_nothing(hall: Hall) -> None:
    """One creature of the Rift's rank suffices, though it is gone again before the closing."""
    hall.start(turn(), *releases(1), open_rift("a", 2, 1), summon("a", "x", 2), destroy("x"), close_rift("a"))
    came = (Summoned(5, "x", None, 2),)
    assert hall.ask(rifts.rifts, "m") == [
        rift_of(4, 2, 2, summoned=came, outcome="closed", ended=7, highest=2, unused=0)
    ]


@pytest.mark.parametrize("per_power", [3, 0, 20])
def test_R6_rift_left_empty_burns_its_rank(hall: Hall, per_power: int) -> None:
    """With nothing come through, the whole rank is unused and burns, though it takes the last life, or none."""
    hall.start(turn(), *releases(1), open_rift("a", 2, 1), close_rift("a"), soulburn_per_power=per_power)
    figures: dict[str, Any] = {"unused": 2, "burned": 2 * per_power}
    assert hall.ask(rifts.rifts, "m") == [rift_of(4, 2, 2, outcome="closed", ended=5, **figures)]


def test_rift_through_which_rank_0_came(hall: Hall) -> None:
    """Where the ruleset lets rank 0 through, such a creature came, and uses no rank."""
    hall.start(turn(), *releases(0), open_rift("a", 1, 1), summon("a", "x", 0), close_rift("a"), rift_min_rank=0)
    figures: dict[str, Any] = {"outcome": "closed", "ended": 6, "unused": 1, "burned": 3}
    assert hall.ask(rifts.rifts, "m") == [rift_of(4, 1, 1, summoned=(Summoned(5, "x", None, 0),), **figures)]


def test_R9_payer_who_falls_gets_no_rift(hall: Hall) -> None:
    """The payment is there, settled, with what it burned; a Rift is not, and the player has opened none."""
    hall.start(turn(), *releases(3), open_rift("a", 1, 1), starting_life=9)
    assert hall.ask(rifts.rifts, "m") == []
    (payment,) = hall.ask(payments.payments, "m")
    assert (payment.outcome, payment.burned, payment.effect, payment.cost) == ("settled", 9, None, None)
    (fallen,) = hall.ask(players.players, "a")
    assert (fallen.rifts_1, fallen.spent, fallen.burned_overpay, fallen.lost) == (0, 1, 9, 1)


@pytest.mark.parametrize(
    ("last", "seats"),
    [
        (concede("a"), "abc"),
        (lives(a=-30), "abc"),
        (concede("b"), "ab"),
        (of("end_match", winner="b"), "ab"),
        (ruling(defeated("a")), "abc"),
        (ruling(result("ended", winner="a")), "abc"),
    ],
)
def test_R10_rift_closes_by_itself(hall: Hall, last: Json, seats: str) -> None:
    """When its player is out or the match is over, a Rift is closed with what was unused, and burns nobody."""
    hall.start(turn(), *releases(2), open_rift("a", 3, 1), summon("a", "x", 1), last, players=seats)
    came = (Summoned(5, "x", None, 1),)
    figures: dict[str, Any] = {"outcome": "ended", "ended": 6, "highest": 1, "unused": 2, "burned": 0}
    assert hall.ask(rifts.rifts, "m") == [rift_of(4, 3, 3, summoned=came, **figures)]
    assert hall.ask(soulburn.soulburn, "m") == []


def test_a_ruling_on_the_highest_rank(hall: Hall) -> None:
    """A judge says what the highest rank was, up or down; what comes later may be above it; nobody came by that."""
    hall.start(turn(), *releases(2), open_rift("a", 3, 1), ruling({"rift": {"highest": 3}}, {"rift": {"highest": 2}}))
    assert hall.ask(rifts.rifts, "m") == [rift_of(4, 3, 3, highest=2)]
    hall.play(summon("a", "x", 1))
    came = [Summoned(6, "x", None, 1)]
    assert hall.ask(rifts.rifts, "m") == [rift_of(4, 3, 3, highest=2, summoned=tuple(came))]
    hall.play(ruling({"rift": {"highest": 0}}), summon("a", "y", 1))
    came += [Summoned(8, "y", None, 1)]
    assert hall.ask(rifts.rifts, "m") == [rift_of(4, 3, 3, highest=1, summoned=tuple(came))]
    hall.play(close_rift("a"))
    figures: dict[str, Any] = {"outcome": "closed", "ended": 9, "highest": 1, "unused": 2, "burned": 6}
    assert hall.ask(rifts.rifts, "m") == [rift_of(4, 3, 3, summoned=tuple(came), **figures)]


@pytest.mark.parametrize(
    ("corrections", "highest"),
    [(({"rift": {"close": True}},), 1), (({"rift": {"highest": 2}}, {"rift": {"close": True}}), 2)],
)
def test_a_ruling_closes_a_rift(hall: Hall, corrections: tuple[Json, ...], highest: int) -> None:
    """By a judge a Rift is closed without Soulburn, with the highest rank so far; the next one is another Rift."""
    hall.start(turn(), *releases(2, 1), open_rift("a", 3, 1), summon("a", "x", 1), ruling(*corrections))
    came = (Summoned(6, "x", None, 1),)
    figures: dict[str, Any] = {"outcome": "ruled", "ended": 7, "highest": highest, "unused": 3 - highest}
    ruled = rift_of(5, 3, 3, summoned=came, **figures)
    assert hall.ask(rifts.rifts, "m") == [ruled]
    hall.play(turn("b"), open_rift("b", 1, 2), summon("b", "y", 1))
    second = RiftRecord(
        *(2, 9, "b", 1, 2, 2, (spent(2, 2),), (Summoned(10, "y", None, 1),)),
        *("open", None, 1, None, 0),  # its overpay burned by its payment, not by the Rift
    )
    assert hall.ask(rifts.rifts, "m") == [ruled, second]


# ------------------------------------------------------------------------------------------------ the census


COUNTED = (
    *releases(0, 3, 3),  # 2 to 4
    *(enter("k", rank=1), reap("k", 3), enter("l", "b")),  # 5 to 7
    *(destroy("k"), reap("l", 1, 4)),  # 8: Soul 3 is back, Soul 4 of rank 1 is new; 9
    *(pay("b", 4, 2), leave("l")),  # 10, 11
    ruling(new_soul(2), to_rank(3, 0), to_soul(1, "gone")),  # 12
    of("begin_turn", player="a"),  # 13
)
CENSUS = [
    Census(1, (0, 0, 0, 0), (0, 0, 0, 0), 0),
    Census(2, (1, 0, 0, 0), (0, 0, 0, 0), 0),
    Census(3, (1, 0, 0, 1), (0, 0, 0, 0), 0),
    Census(4, (1, 0, 0, 2), (0, 0, 0, 0), 0),
    Census(6, (1, 0, 0, 1), (0, 0, 0, 1), 0),
    Census(8, (1, 1, 0, 2), (0, 0, 0, 0), 0),
    Census(9, (0, 0, 0, 2), (1, 1, 0, 0), 0),
    Census(10, (0, 0, 0, 1), (1, 1, 0, 0), 1),
    Census(11, (1, 1, 0, 1), (0, 0, 0, 0), 1),
    Census(12, (1, 1, 1, 0), (0, 0, 0, 0), 2),
]


def test_the_census_changes_as_souls_move(hall: Hall) -> None:
    """After the first entry and each that moved a Soul: how many of each rank are in the Aether, on cards, and gone."""
    assert hall.start(*COUNTED).ask(census.changes, "m") == CENSUS


def test_the_census_after_each_entry(hall: Hall) -> None:
    """Entries that moved no Soul have the census of the one before."""
    by_entry = {row.entry: row for row in CENSUS}
    by_entry[5] = replace(by_entry[4], entry=5)
    by_entry[7] = replace(by_entry[6], entry=7)
    by_entry[13] = replace(by_entry[12], entry=13)
    expected = [by_entry[entry] for entry in range(1, 14)]
    assert hall.start(*COUNTED).ask(census.census, "m", 13) == expected
    assert hall.ask(census.census, "nowhere", 0) == []


def test_the_census_counts_souls_that_are_lost(hall: Hall) -> None:
    """Souls that go with their card are gone."""
    hall.start(*releases(2, 0, 2), enter("k"), reap("k", 1, 3), leave("k"), souls_on_leaving="lost")
    assert hall.ask(census.changes, "m")[-2:] == [
        Census(6, (1, 0, 0, 0), (0, 0, 2, 0), 0),
        Census(7, (1, 0, 0, 0), (0, 0, 0, 0), 2),
    ]


def test_the_census_does_not_change_where_no_soul_moves(hall: Hall) -> None:
    """A ruling that is about no Soul is no change of the census."""
    hall.start(*releases(1), ruling(life_by("a", 1)), lives(a=-1), *releases(0))
    assert [row.entry for row in hall.ask(census.changes, "m")] == [1, 2, 5]


# ------------------------------------------------------------------------------------------------ matches


def names(rows: list[MatchRow]) -> list[str]:
    """The names of these matches."""
    return [row.match for row in rows]


def test_a_match_from_its_start_to_its_end(hall: Hall) -> None:
    """Its number, players in their order with their names, status, winner, entries, and when the last entry was."""
    seats = [{"player": "cy", "name": "Cyra"}, {"player": "al"}]
    meta = {"at": "2026-03-14T18:30:12Z"}
    start = of("start_match", match="m", players=seats, meta=meta)
    hall.matches.start(json.dumps(start))
    (row,) = hall.ask(matches.matches)
    assert row == MatchRow("m", 1, {"cy": "Cyra", "al": None}, "running", None, 1, "2026-03-14T18:30:12Z")
    assert list(row.players) == ["cy", "al"]
    hall.play(of("concede", player="al", meta={"at": "2026-03-14T20:00:00.5+02:00"}))
    (ended,) = hall.ask(matches.matches)
    assert ended == replace(row, status="ended", winner="cy", entries=2, at="2026-03-14T20:00:00.5+02:00")
    with hall.follower.answering("m") as views:
        assert matches.match_row(views, "m") == ended
    hall.play(ruling(life_by("al", 1), meta={"actor": "judge"}))
    assert hall.ask(matches.matches) == [replace(ended, entries=3, at=None)]


@pytest.mark.parametrize(
    ("last", "status", "winner"),
    [
        (lives(a=-30, b=-31), "ended", None),  # both fall by one command (L-4)
        (lives(a=-30), "ended", "b"),
        (of("end_match"), "ended", None),
        (of("end_match", winner="a"), "ended", "a"),
        (ruling(result("ended", winner="b")), "ended", "b"),
        (ruling(result("ended")), "ended", None),
        (ruling(defeated("b")), "ended", "a"),
        (turn(), "running", None),
    ],
)
def test_how_a_match_stands(hall: Hall, last: Json, status: str, winner: str | None) -> None:
    """Running, won, or drawn: by life, by the game's word, or by a judge's."""
    hall.start(last)
    (row,) = hall.ask(matches.matches)
    assert (row.status, row.winner, row.entries) == (status, winner, 2)
    assert hall.ask(matches.matches, status="running") == ([row] if status == "running" else [])
    assert hall.ask(matches.matches, status="ended") == ([row] if status == "ended" else [])


def test_a_ruling_reopens_a_match(hall: Hall) -> None:
    """A match that a ruling lets go on is running and has no winner; its next end is the one that counts."""
    hall.start(concede("b"), ruling(defeated("b", to=False), result("running")))
    (row,) = hall.ask(matches.matches)
    assert (row.status, row.winner, row.entries) == ("running", None, 3)
    hall.play(concede("a"))
    (row,) = hall.ask(matches.matches)
    assert (row.status, row.winner) == ("ended", "b")


def test_matches_by_player_and_status(hall: Hall) -> None:
    """The last one begun comes first, whichever was played last; each filter leaves those to which it applies."""
    hall.start(match="one").start(match="two", players="bc").start(match="three", players="ca").start(match="four")
    hall.play(concede("a"), match="one").play(concede("c"), match="three").play(turn("b"), match="two")
    assert names(hall.ask(matches.matches)) == ["four", "three", "two", "one"]
    assert [row.number for row in hall.ask(matches.matches)] == [4, 3, 2, 1]
    assert names(hall.ask(matches.matches, player="a")) == ["four", "three", "one"]
    assert names(hall.ask(matches.matches, player="c")) == ["three", "two"]
    assert names(hall.ask(matches.matches, status="ended")) == ["three", "one"]
    assert names(hall.ask(matches.matches, status="running")) == ["four", "two"]
    assert names(hall.ask(matches.matches, player="b", status="ended")) == ["one"]
    assert names(hall.ask(matches.matches, player="d")) == []


def test_pages_of_matches(hall: Hall) -> None:
    """A page begins below the number at which another ended; together the pages are all matches, each once."""
    for number in range(1, 8):
        hall.start(match=f"m{number}", players="ab" if number % 2 else "bc")
    every = hall.ask(matches.matches)
    assert [row.number for row in every] == [7, 6, 5, 4, 3, 2, 1]
    paged, before = list[MatchRow](), 8
    for size in (3, 3, 1, 0):
        page = hall.ask(matches.matches, before=before, limit=3)
        assert len(page) == size
        paged += page
        before = page[-1].number if page else before
    assert paged == every
    assert [row.number for row in hall.ask(matches.matches, player="a", limit=2)] == [7, 5]
    assert [row.number for row in hall.ask(matches.matches, player="a", before=5, limit=2)] == [3, 1]
    assert [row.number for row in hall.ask(matches.matches, player="b", status="running", before=3)] == [2, 1]
    assert hall.ask(matches.matches, limit=0) == hall.ask(matches.matches, before=1) == []


def test_more_matches_than_are_read_at_a_time(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit above, at and below what is read at a time holds; without one, all come."""
    monkeypatch.setattr("projections.views.PAGE", 2)
    for number in range(1, 6):
        hall.start(match=f"m{number}")
    for limit in range(7):
        assert [row.number for row in hall.ask(matches.matches, limit=limit)] == [5, 4, 3, 2, 1][:limit]
        assert [row.number for row in hall.ask(matches.matches, player="a", before=4, limit=limit)] == [3, 2, 1][:limit]
    assert [row.number for row in hall.ask(matches.matches)] == [5, 4, 3, 2, 1]


# ------------------------------------------------------------------------------------------------ players


def player_row(player: str, **figures: float) -> PlayerRow:
    """A player, all whose figures are 0 but these."""
    none = dict.fromkeys([field for field in PlayerRow.__struct_fields__ if field != "player"], 0)
    return PlayerRow(player, **none | figures)  # type: ignore[arg-type]  # only one figure is no whole number


def test_how_players_fare(hall: Hall) -> None:
    """Matches won, lost, drawn and running, of each player; a defeated player's match runs on until it ends."""
    hall.start(concede("b"), match="won by a")
    hall.start(lives(a=-30, b=-30), match="drawn")
    hall.start(concede("a"), match="runs on", players="abc")
    hall.start(of("end_match", winner="c"), match="won by c", players="ac")
    told = {row.player: row for row in hall.ask(players.players)}
    assert list(told) == ["a", "b", "c"]
    assert told["a"] == player_row("a", matches=4, won=1, lost=1, drawn=1, running=1)
    assert told["b"] == player_row("b", matches=3, lost=1, drawn=1, running=1)
    assert told["c"] == player_row("c", matches=2, won=1, running=1)


def test_a_ruling_takes_a_win_away(hall: Hall) -> None:
    """Results count as they are now: a win that a ruling gives to the other, makes a draw, or undoes."""
    hall.start(concede("b"))
    first, second = hall.ask(players.players)
    assert (first.won, first.lost, second.won, second.lost) == (1, 0, 0, 1)
    hall.play(ruling(result("ended", winner="b")))
    first, second = hall.ask(players.players)
    assert (first.won, first.lost, second.won, second.lost) == (0, 1, 1, 0)
    hall.play(ruling(result("ended")))
    assert hall.ask(players.players) == [player_row(name, matches=1, drawn=1) for name in "ab"]
    hall.play(ruling(defeated("b", to=False), result("running")))
    assert hall.ask(players.players) == [player_row(name, matches=1, running=1) for name in "ab"]


def test_what_players_do_over_several_matches(hall: Hall) -> None:
    """Souls collected, spent and burned, and Rifts by rank, are sums over all of a player's matches."""
    hall.start(*BURNING, match="m", starting_life=100)
    # a spends Souls 1 and 2, b Souls 4 and 3; a burns 6 by overpay and 9 by fizzling, b 3 + 3 by overpay and 6 by Rift
    hall.start(
        *(enter("x"), enter("y", "b"), enter("z", "b", soulless=True), enter("v", kind="other")),
        *(control("x", "b"), destroy("x", "y", "z", "v", by="a"), enter("w"), leave("w")),  # two Souls, both b's
        *(
            enter("u", owner="b"),
            enter("q", owner="b"),
            destroy("u", "q"),
        ),  # and two of a's, whoever owns the creatures
        *(turn(), *releases(0, 1), open_rift("a", 2, 1, 3), close_rift("a")),  # Souls of power 1; 14 burns
        *(turn(), open_rift("a", 1, 5), summon("a", "s", 1), close_rift("a")),
        *(turn(), open_rift("a", 2, 6), summon("a", "t", 2), close_rift("a")),
        match="n",
        soulburn_per_power=7,
    )
    told = hall.ask(players.players)
    assert told == [
        player_row(
            "a",
            matches=2,
            running=2,
            collected=2,
            spent=2 + 4,
            burned_overpay=6,
            burned_fizzle=9,
            burned_rift=14,
            rifts_1=1,
            rifts_2=2,
            damage_per_match=29 / 2,
        ),
        player_row(
            "b",
            matches=2,
            running=2,
            collected=2,
            spent=2,
            burned_overpay=6,
            burned_rift=6,
            rifts_3=1,
            damage_per_match=6.0,
        ),
    ]
    assert hall.ask(players.players, "b") == [told[1]]
    assert hall.ask(players.players, "c") == []


QUERIES = (souls.history, life.life, soulburn.soulburn, soulburn.totals, payments.payments, rifts.rifts, census.changes)


def test_a_match_is_told_as_if_it_were_alone(hall: Hall) -> None:
    """What is told of a match is the same whatever else is in the store, between its entries and under its numbers."""
    scripts = {"m": BURNING, "n": (*COUNTED, *releases(1), open_rift("a", 1, 6), close_rift("a"))}
    alone = {match: Hall().start(*script, starting_life=100) for match, script in scripts.items()}
    for match in scripts:
        hall.start(match=match, starting_life=100)
    for turns in zip_longest(*scripts.values()):
        for match, command in zip(scripts, turns, strict=True):
            hall.play(*([command] if command else []), match=match)
    for match, single in alone.items():
        for query in QUERIES:
            assert hall.ask(query, match) == single.ask(query, "m")
        single.close()


def test_asking_in_between_changes_no_answer(hall: Hall) -> None:
    """Asked after every command, a store tells in the end what it tells when it is asked once."""
    at_once = Hall().start(*BURNING, starting_life=100)
    hall.start(starting_life=100)
    for command in BURNING:
        hall.play(command).ask(players.players)
    for query in QUERIES:
        assert hall.ask(query, "m") == at_once.ask(query, "m")
    assert hall.ask(players.players) == at_once.ask(players.players)
    at_once.close()


def test_nobody_has_played_in_an_empty_store(hall: Hall) -> None:
    """Without matches there is nothing to tell, and that is told."""
    assert hall.ask(players.players) == []
    assert hall.ask(matches.matches) == []
    assert hall.ask(soulburn.totals) == []
