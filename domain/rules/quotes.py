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
    unfinished: list[tuple[int, int, int, tuple[int, ...]]] = [(0, 0, 0, ())]
    while unfinished:
        start, power, reaped, taken = unfinished.pop()
        for index in range(start, len(piles)):
            if power + rest[index] < amount:
                break
            pile = piles[index]
            reached, souls = power, taken
            for soul in pile.souls:
                reached += pile.power
                souls += (soul,)
                from_cards = reaped + len(souls) - len(taken) if pile.reaped else reaped
                if reached >= amount:
                    found.append((reached - amount, from_cards, len(souls), tuple(sorted(souls))))
                    if len(found) > limit:
                        return None
                    if not beyond:
                        break
                unfinished.append((index + 1, reached, from_cards, souls))
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


class _Step(Struct):
    """A place in the search: what is still to be found, and among which Souls.

    `tops` are the piles not passed for good, as (their top Soul, how many were taken above it, index of the pile), the
    oldest first; `at` is the next one to try. `counts` says how many Souls of each kind are on them from there on, and
    `hopeless` (a bit a kind) from which kinds no payment can be found here any more.
    """

    tops: list[tuple[int, int, int]]
    counts: list[int]
    power: int
    shared: int
    reaped: int
    at: int = 0
    hopeless: int = 0


def _kind(pile: Pile) -> int:
    """The place of a pile's Souls in `counts`: free ones of power 1 to 4, then reaped ones of power 1 to 4."""
    return pile.power + 3 if pile.reaped else pile.power - 1


def _oldest_first(piles: list[Pile], power: int, shared: int, reaped: int) -> Iterator[tuple[int, ...]]:
    """Payments of just this power and these numbers of Souls, those with the oldest Souls first.

    Each step takes the next Soul in ascending order, the top of a pile; piles whose top is older are passed for good.
    """
    counts = [0] * 8
    for pile in piles:
        counts[_kind(pile)] += len(pile.souls)
    if not _reachable(counts, power, shared, reaped):
        return
    tops = sorted([(pile.souls[0], 0, index) for index, pile in enumerate(piles)])
    taken: list[int] = []
    path = [_Step(tops, counts, power, shared, reaped)]
    while path:
        soul, deeper = _next_soul(piles, path[-1])
        if soul is None:
            path.pop()
            if path:
                taken.pop()
        elif deeper is None:
            yield (*taken, soul)
        else:
            taken.append(soul)
            path.append(deeper)


def _next_soul(piles: list[Pile], step: _Step) -> tuple[int | None, _Step | None]:
    """The next Soul that leads to a payment from here, and the step after it, if that Soul is not the last one."""
    counts, tops = step.counts, step.tops
    while step.at < len(tops) and any(n and not step.hopeless >> kind & 1 for kind, n in enumerate(counts)):
        soul, depth, index = tops[step.at]
        pile = piles[index]
        kind = _kind(pile)
        step.at += 1
        counts[kind] -= len(pile.souls) - depth
        if step.hopeless >> kind & 1:
            continue
        power, shared, reaped = step.power - pile.power, step.shared - (not pile.reaped), step.reaped - pile.reaped
        if power == shared == reaped == 0:
            return soul, None
        left = counts.copy()
        left[kind] += len(pile.souls) - depth - 1
        if _reachable(left, power, shared, reaped):
            remaining = tops[step.at :]
            if depth + 1 < len(pile.souls):
                insort(remaining, (pile.souls[depth + 1], depth + 1, index))
            return soul, _Step(remaining, left, power, shared, reaped)
        step.hopeless |= 1 << kind  # nor does a later Soul of this kind help: ever fewer follow it
    return None, None


def _reachable(counts: list[int], power: int, shared: int, reaped: int) -> bool:
    """Whether `shared` of the free Souls and `reaped` of the held ones can have just this power together."""
    free, held = counts[:4], counts[4:]
    if not (0 <= shared <= sum(free) and 0 <= reaped <= sum(held)):
        return False
    low, high = _extremes(free, shared)
    low2, high2 = _extremes(held, reaped)
    if not low + low2 <= power <= high + high2:
        return False
    of_held = list(_powers(held, reaped, power - high, power - low))
    for least, most, even in _powers(free, shared, power - high2, power - low2):
        for least2, most2, even2 in of_held:
            if least + least2 <= power <= most + most2 and not (even and even2 and (power - least - least2) % 2):
                return True
    return False


def _extremes(counts: list[int], souls: int) -> tuple[int, int]:
    """The lowest and the highest power that so many of these Souls can have together."""
    low, left = 0, souls
    for power, count in enumerate(counts, 1):
        taken = min(count, left)
        low, left = low + power * taken, left - taken
    high, left = 0, souls
    for power, count in zip((4, 3, 2, 1), reversed(counts), strict=True):
        taken = min(count, left)
        high, left = high + power * taken, left - taken
    return low, high


def _powers(counts: list[int], souls: int, least: int, most: int) -> Iterator[tuple[int, int, bool]]:
    """Which powers, `least` to `most`, so many of these Souls can have together: as ranges from lowest to highest, each
    with whether only every second value is in it.

    With the number of Souls of power 4 fixed, x2 + 2 x3 is what the others add to one each; it takes every value
    between its ends, unless no Soul of power 2 is there to move it by one.
    """
    ones, twos, threes, fours = counts
    first = max(0, souls - ones - twos - threes, least - 3 * souls)
    last = min(fours, souls, (most - souls) // 3)
    for four in range(first, last + 1):
        others = souls - four
        fewest = max(0, others - ones)  # of power 2 or 3
        two = min(twos, fewest)
        low = two + 2 * (fewest - two)
        three = min(threes, others)
        high = 2 * three + min(twos, others - three)
        base = souls + 3 * four
        yield base + low, base + high, twos == 0 or low == high
