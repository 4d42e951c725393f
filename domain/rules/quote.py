"""Quotes: what a player may pay a Soulrift cost with, best first. Only ever a suggestion; `pay` decides.

Souls of one place and rank are interchangeable, so they lie on one pile, of which a payment takes the oldest: two
payments are distinct when they take another number from some pile. Best is: least Soulburn, then the fewest reaped
Souls, then the fewest Souls, then the oldest (their numbers, in ascending order, compared from the first).

With many Souls the distinct payments outnumber anything: past the limit they are not all made and sorted, but
searched in the order wanted, without ever entering a branch that leads to none.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from itertools import accumulate, islice
from operator import attrgetter

from msgspec import Struct

from domain.rules.events import Soul
from domain.rules.lookups import defeated, seat
from domain.rules.payments import no_cost
from domain.rules.refusal import Refusal
from domain.rules.ruleset import Ruleset
from domain.rules.state import State

LIMIT = 100
"""How many payments a quote lists unless told otherwise."""


class Payment(Struct, frozen=True, gc=False):
    """One way to pay. `excess` is the power above the cost, `damage` the life that it burns (B-2), `reaped` how many of
    the Souls come from cards. `souls` are in ascending order.
    """

    excess: int
    reaped: int
    souls: tuple[int, ...]
    power: int
    damage: int


class Quote(Struct, frozen=True, gc=False):
    """The payments of a cost, best first, all of them unless there are `more`. `available` is the power open to the
    player.
    """

    payments: tuple[Payment, ...]
    more: bool
    available: int


class Pile(Struct, frozen=True, gc=False):
    """Souls of one place and power, the oldest first; `reaped`: they are on a card."""

    power: int
    reaped: bool
    souls: tuple[int, ...]


_Choice = tuple[int, int, int, tuple[int, ...]]  # excess, reaped Souls, Souls, their numbers: in the order of the best


def quote(state: State, player: str, amount: int, limit: int = LIMIT) -> Quote:
    """The distinct payments with which this player could pay Soulrift `amount` now, best first, at most `limit` of
    them.

    Raises:
        Refusal: there is no such player (input), it is defeated or the match has ended (L-5), or the amount is no
        cost (P-1).

    """
    asked = seat(state, player)
    if state.status == "ended":
        raise Refusal("L-5", "the match has ended: nothing is paid any more")
    if asked.defeated:
        raise defeated(asked)
    if amount < 1:
        raise no_cost(amount)
    piles = open_piles(state, player)
    available = power_of(piles)
    payments, more = best_payments(piles, state.ruleset, amount, limit)
    return Quote(payments, more, available)


def power_of(piles: list[Pile]) -> int:
    """The power of all Souls on these piles together."""
    return sum([pile.power * len(pile.souls) for pile in piles])


def best_payments(
    piles: list[Pile], ruleset: Ruleset, amount: int, limit: int = LIMIT
) -> tuple[tuple[Payment, ...], bool]:
    """The payments of an amount of 1 or more from these piles, and whether there are more than `limit`."""
    if power_of(piles) < amount:
        return (), False
    overpay = ruleset.overpay
    choices = _all_choices(piles, amount, limit, beyond=overpay == "any")
    if choices is None:
        choices = list(islice(_best_first(piles, amount, overpay), limit + 1))
    else:
        choices.sort()
    if overpay == "least":
        choices = [choice for choice in choices if choice[0] == choices[0][0]]
    burn = ruleset.soulburn_per_power
    payments = [
        Payment(excess, reaped, souls, amount + excess, excess * burn) for excess, reaped, _, souls in choices[:limit]
    ]
    return tuple(payments), len(choices) > limit


def open_piles(state: State, player: str) -> list[Pile]:
    """All Souls open to this player (P-2) on piles of one place and power, the strongest first."""
    aether = state.aether
    piles: list[Pile] = []
    if aether:
        _add_piles(piles, [aether[number] for number in sorted(aether)], reaped=False)
    for card in state.battlefield.values():
        if card.souls and card.controller == player:
            _add_piles(piles, card.souls, reaped=True)
    piles.sort(key=_power, reverse=True)
    return piles


_power = attrgetter("power")


def _add_piles(piles: list[Pile], souls: list[Soul], *, reaped: bool) -> None:
    by_rank: tuple[list[int], ...] = ([], [], [], [])
    for soul in souls:
        by_rank[soul.rank].append(soul.soul)
    for rank, numbers in enumerate(by_rank):
        if numbers:
            piles.append(Pile(rank + 1, reaped, tuple(numbers)))


# ------------------------------------------------------------ few: all of them


def _all_choices(piles: list[Pile], amount: int, limit: int, *, beyond: bool) -> list[_Choice] | None:
    """Every distinct payment, in any order; None when there are more than `limit`.

    Souls are taken from the strongest pile to the weakest. Unless the ruleset lets a payment go `beyond` need, it ends
    with the Soul that reaches the amount: then none in it is superfluous (P-5).
    """
    rest = [0] * (len(piles) + 1)
    for index in range(len(piles) - 1, -1, -1):
        rest[index] = rest[index + 1] + piles[index].power * len(piles[index].souls)
    found: list[_Choice] = []
    last = len(piles) - 1
    unfinished: list[tuple[int, int, int, tuple[int, ...]]] = [(0, 0, 0, ())]
    while unfinished:
        index, power, reaped, taken = unfinished.pop()
        pile = piles[index]
        most = len(pile.souls) if beyond else min(len(pile.souls), -((power - amount) // pile.power))
        for count in range(most + 1):
            reached = power + count * pile.power
            if reached + rest[index + 1] < amount:
                continue
            from_cards = reaped + count if pile.reaped else reaped
            souls = taken + pile.souls[:count]
            if reached < amount or (beyond and index < last):
                unfinished.append((index + 1, reached, from_cards, souls))
            else:
                ordered = souls if len(souls) < 2 else tuple(sorted(souls))  # noqa: PLR2004
                found.append((reached - amount, from_cards, len(souls), ordered))
                if len(found) > limit:
                    return None
    return found


# ------------------------------------------------------------- many: the best of them


def _best_first(piles: list[Pile], amount: int, overpay: str) -> Iterator[_Choice]:
    for excess in range(power_of(piles) - amount + 1):
        if overpay != "any":  # P-5: every Soul in it is stronger than the excess
            piles = [pile for pile in piles if pile.power > excess]
        shared = _ascending(piles, reaped=False)
        held = _ascending(piles, reaped=True)
        for reaped in range(len(held) + 1):
            weakest, strongest = sum(held[:reaped]), sum(held[len(held) - reaped :])
            for count in _counts(shared, amount + excess - strongest, amount + excess - weakest):
                for souls in _oldest_first(piles, amount + excess, count, reaped):
                    yield excess, reaped, count + reaped, souls
        if not piles:
            return


def _ascending(piles: list[Pile], *, reaped: bool) -> list[int]:
    return sorted([pile.power for pile in piles if pile.reaped is reaped for _ in pile.souls])


def _counts(powers: list[int], least: int, most: int) -> range:
    """How many of these Souls can have a power from `least` to `most` together; `powers` are ascending."""
    by_weakest = list(accumulate(powers, initial=0))
    by_strongest = list(accumulate(reversed(powers), initial=0))
    return range(bisect_left(by_strongest, least), bisect_right(by_weakest, most))


def _oldest_first(piles: list[Pile], power: int, shared: int, reaped: int) -> Iterator[tuple[int, ...]]:
    """Payments of just this power and these numbers of Souls, those with the oldest Souls first.

    Each step takes the next Soul in ascending order: the top of a pile. Piles whose top is older are passed for good.
    """
    tops = sorted([(pile.souls[0], 0, index) for index, pile in enumerate(piles)])
    if not _reachable(piles, tops, power, shared, reaped):
        return
    taken: list[int] = []
    path = [(tops, 0, power, shared, reaped)]
    while path:
        tops, at, power, shared, reaped = path.pop()
        if at == len(tops):
            if taken:
                taken.pop()
            continue
        path.append((tops, at + 1, power, shared, reaped))
        soul, depth, index = tops[at]
        pile = piles[index]
        power, shared, reaped = power - pile.power, shared - (not pile.reaped), reaped - pile.reaped
        if power < 0 or shared < 0 or reaped < 0:
            continue
        if shared == reaped == power == 0:
            yield (*taken, soul)
            continue
        left = tops[at + 1 :]
        if depth + 1 < len(pile.souls):
            insort(left, (pile.souls[depth + 1], depth + 1, index))
        if _reachable(piles, left, power, shared, reaped):
            taken.append(soul)
            path.append((left, 0, power, shared, reaped))


def _reachable(piles: list[Pile], tops: list[tuple[int, int, int]], power: int, shared: int, reaped: int) -> bool:
    """Whether `shared` and `reaped` Souls of these piles can have just this power together."""
    counts = [[0] * 5, [0] * 5]
    for _, depth, index in tops:
        pile = piles[index]
        counts[pile.reaped][pile.power] += len(pile.souls) - depth
    held = list(_powers(counts[True], reaped))
    for low, high, even in _powers(counts[False], shared):
        for low2, high2, even2 in held:
            if low + low2 <= power <= high + high2 and not (even and even2 and (power - low - low2) % 2):
                return True
    return False


def _powers(counts: list[int], souls: int) -> Iterator[tuple[int, int, bool]]:
    """Which powers so many Souls can have together, as ranges: lowest, highest, and whether only every second one.

    `counts[p]` Souls have power p. With the number of Souls of power 4 fixed, x2 + 2 x3 is what the others add to one
    each; it takes every value between its ends, unless no Soul of power 2 is there to move it by one.
    """
    _, ones, twos, threes, fours = counts
    for four in range(max(0, souls - ones - twos - threes), min(fours, souls) + 1):
        others = souls - four
        fewest = max(0, others - ones)  # of power 2 or 3
        two = min(twos, fewest)
        low = two + 2 * (fewest - two)
        three = min(threes, others)
        high = 2 * three + min(twos, others - three)
        base = souls + 3 * four
        yield base + low, base + high, twos == 0 or low == high
