from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from json import dumps
from random import Random
from typing import Any

import msgspec
import pytest

from domain.rules import Refusal, State, decide, decode_command, quote, quotes, state_hash
from tests.kit import Table, of
from tests.unit.rules.moves import concede, control, enter, pay, reap, releases

ALL = 10**6
OVERPAY = pytest.mark.parametrize("overpay", ["needed", "any", "least"])
BOARDS = pytest.mark.parametrize("seed", range(25))
HOLDERS = {"x": "a", "y": "a", "o": "a", "z": "b"}
"""Who controls the cards that Souls may be on: a three of them, b one."""

Soul = tuple[int, int, str | None]
"""Number, power, and the card that it is on."""


def random_board(seed: int, most: int, **ruleset: Any) -> tuple[State, list[Soul]]:
    """A match with a few random Souls in the Aether and on cards of both players, and those that are open to a."""
    random = Random(seed)
    table = Table(*(enter(card, controller) for card, controller in HOLDERS.items()), **ruleset)
    open_souls: list[Soul] = []
    for number in range(1, random.randint(2, most) + 1):
        rank, card = random.randint(0, 3), random.choice([None, None, None, *HOLDERS])
        table.given(*releases(rank), *([reap(card, number)] if card else []))
        if card != "z":
            open_souls.append((number, rank + 1, card))
    return table.state, open_souls


def subsets(souls: list[Soul]) -> Iterator[tuple[Soul, ...]]:
    """All ways to name some of these Souls, in ascending order."""
    for count in range(len(souls) + 1):
        yield from combinations(souls, count)


def power(souls: tuple[Soul, ...]) -> int:
    """What these Souls add up to."""
    return sum(soul[1] for soul in souls)


def allowed(open_souls: list[Soul], amount: int, overpay: str) -> list[tuple[Soul, ...]]:
    """The payments of this amount that are by the rules (P-1, P-5)."""
    enough = [souls for souls in subsets(open_souls) if power(souls) >= amount]
    if overpay == "needed":
        return [souls for souls in enough if all(power(souls) - soul[1] < amount for soul in souls)]
    if overpay == "least":
        least = min(map(power, enough), default=0)
        return [souls for souls in enough if power(souls) == least]
    return enough


def expected_quote(open_souls: list[Soul], amount: int, overpay: str) -> list[tuple[int, int, int, list[int]]]:
    """All distinct payments (of one place and rank the oldest Souls), best first: excess, reaped, count, numbers."""
    distinct: dict[frozenset[tuple[tuple[int, str | None], int]], tuple[Soul, ...]] = {}
    for souls in allowed(open_souls, amount, overpay):
        taken = frozenset(Counter(soul[1:] for soul in souls).items())
        distinct[taken] = min(distinct.get(taken, souls), souls)
    return sorted(
        (power(souls) - amount, sum(soul[2] is not None for soul in souls), len(souls), [soul[0] for soul in souls])
        for souls in distinct.values()
    )


@BOARDS
@OVERPAY
def test_quote_is_what_brute_force_finds(seed: int, overpay: str) -> None:
    """On small random boards a quote lists each distinct payment, in the order of the best, with its figures."""
    state, open_souls = random_board(seed, 9, overpay=overpay)
    total = power(tuple(open_souls))
    for amount in range(1, total + 2):
        quoted = quote(state, "a", amount, ALL)
        found = [(each.excess, each.reaped, len(each.souls), list(each.souls)) for each in quoted.payments]
        assert found == expected_quote(open_souls, amount, overpay)
        assert (quoted.available, quoted.more) == (total, False)
        for each in quoted.payments:
            assert (each.power, each.damage) == (amount + each.excess, 3 * each.excess)


@BOARDS
@OVERPAY
def test_quote_beyond_its_limit_is_the_beginning_of_the_full_one(seed: int, overpay: str) -> None:
    """The best-first search, which is taken when there are more payments than the limit, finds the same ones."""
    state, open_souls = random_board(seed, 9, overpay=overpay)
    for amount in range(1, power(tuple(open_souls)) + 1):
        full = quote(state, "a", amount, ALL).payments
        for limit in (1, 2, 3, len(full) - 1, len(full), len(full) + 1):
            if limit > 0:
                quoted = quote(state, "a", amount, limit)
                assert quoted.payments == full[:limit]
                assert quoted.more is (len(full) > limit)


@pytest.mark.parametrize("seed", range(100, 112))
@OVERPAY
def test_pay_accepts_what_is_allowed_and_nothing_else(seed: int, overpay: str) -> None:
    """Every set of Souls that the rules allow is accepted by `pay`, and every other one is refused."""
    state, open_souls = random_board(seed, 6, overpay=overpay)
    for amount in range(1, power(tuple(open_souls)) + 1):
        good = set(allowed(open_souls, amount, overpay))
        for souls in subsets(open_souls):
            command = decode_command(dumps(pay("a", amount, *(soul[0] for soul in souls))))
            try:
                accepted = bool(decide(state, command))
            except Refusal:
                accepted = False
            assert accepted is (souls in good)


def test_quote_shows_the_least_soulburn_first() -> None:
    """Least Soulburn, then shared Souls before reaped ones, then the fewest, then the oldest."""
    table = Table(enter("x"), *releases(3, 0, 0, 1, 0, 1), reap("x", 6))
    quoted = quote(table.state, "a", 2)
    assert [(each.excess, each.souls) for each in quoted.payments] == [(0, (4,)), (0, (2, 3)), (0, (6,)), (2, (1,))]
    assert [each.damage for each in quoted.payments] == [0, 0, 0, 6]
    assert [each.reaped for each in quoted.payments] == [0, 0, 1, 0]
    assert quoted.available == 4 + 1 + 1 + 2 + 1 + 2


def test_quote_of_an_excess_that_fewer_souls_could_carry() -> None:
    """Power 2 + 2 pays Soulrift 3 with 1 over, as no weaker Soul is there."""
    assert [each.souls for each in quote(Table(*releases(1, 1)).state, "a", 3).payments] == [(1, 2)]


def test_quote_of_what_is_out_of_reach_is_empty() -> None:
    """It says what power is open to the player."""
    table = Table(enter("x", "b"), *releases(1, 3), reap("x", 2))
    assert msgspec.to_builtins(quote(table.state, "a", 3)) == {"payments": (), "more": False, "available": 2}
    assert quote(table.state, "b", 3).available == 6


def test_quote_follows_control() -> None:
    """Souls on a card are quoted to who controls the card now."""
    table = Table(enter("x"), *releases(0), reap("x", 1), control("x", "b"))
    assert quote(table.state, "a", 1).payments == ()
    assert [each.souls for each in quote(table.state, "b", 1).payments] == [(1,)]


def test_quote_shows_the_damage_of_the_ruleset() -> None:
    """With 5 life a power level, power 4 for Soulrift 1 burns 15."""
    assert [each.damage for each in quote(Table(*releases(3), soulburn_per_power=5).state, "a", 1).payments] == [15]


def test_quote_is_only_a_suggestion() -> None:
    """It changes nothing, and what it lists first need not be paid."""
    table = Table(*releases(0, 1))
    before = table.state.copy(), state_hash(table.state)
    assert quote(table.state, "a", 1).payments[0].souls == (1,)
    assert (table.state, state_hash(table.state)) == before
    table.when(pay("a", 1, 2)).then(of("cost_paid"), of("soulburn_taken"))


@pytest.mark.parametrize(
    ("given", "player", "amount", "rule", "path"),
    [
        ((), "nobody", 1, "input", "/player"),
        ((concede("a"),), "a", 1, "L-5", None),
        ((of("end_match"),), "a", 1, "L-5", None),
        ((), "a", 0, "P-1", None),
    ],
    ids=["nobody", "defeated", "ended", "nothing"],
)
def test_quote_is_refused_like_the_payment(
    given: tuple[dict[str, Any], ...], player: str, amount: int, rule: str, path: str | None
) -> None:
    """Who cannot pay gets no quote, for the same reason."""
    with pytest.raises(Refusal) as refused:
        quote(Table(*given, players="abc").state, player, amount)
    assert (refused.value.rule, refused.value.path) == (rule, path)


def crowd(cards: int, **ruleset: Any) -> State:
    """A match with 500 Souls of all ranks, in the Aether or spread over so many cards of a."""
    names = [f"c{number}" for number in range(cards)]
    corrections: list[dict[str, Any]] = [
        {"new_soul": {"rank": number % 4, "to": {"card": names[number % cards]} if cards else "aether"}}
        for number in range(500)
    ]
    ruling = of("ruling", judge="judge", reason="a crowd", corrections=corrections)
    return Table(*(enter(name) for name in names), ruling, **ruleset).state


@OVERPAY
@pytest.mark.parametrize("cards", [0, 7, 200])
def test_quote_of_500_souls_is_bounded(cards: int, overpay: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more payments than could ever be listed, the first 100 come in order and all allowed, without wandering.

    A payment of n Souls takes n steps, and at each step each of the 8 kinds of Souls fails at most once.
    """
    state = crowd(cards, overpay=overpay)
    asked = []
    reachable = quotes._reachable  # noqa: SLF001 - what is counted is how often the search asks

    def counted(*arguments: Any) -> bool:
        asked.append(1)
        return reachable(*arguments)

    monkeypatch.setattr(quotes, "_reachable", counted)
    for amount in (1, 7, 625, 1249, 1250):
        asked.clear()
        quoted = quote(state, "a", amount)
        order = [(each.excess, each.reaped, len(each.souls), each.souls) for each in quoted.payments]
        assert order == sorted(order)
        assert len({each.souls for each in quoted.payments}) == len(order) <= 100
        for each in quoted.payments[::20]:
            assert decide(state, decode_command(dumps(pay("a", amount, *each.souls))))
        assert len(asked) <= 101 * 501 * 9
