import json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isnan, nan, sqrt
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from scipy import stats

from domain.rules import events as e
from simulation.chance import Chance
from simulation.policies import policy
from simulation.runs import Run, play_match
from simulation.study import (
    FEW,
    Case,
    Difference,
    Estimate,
    Figure,
    Findings,
    Sample,
    correct,
    difference,
    estimate,
    figures_of,
    findings,
    needed,
)
from simulation.tally import MatchTally, PlayerTally
from simulation.views import Action, View

MATCHES = 60
USUAL = Case("3", Run(5, ("any", "any"), ("greedy", "greedy"), ({},)))
DEARER = Case("4", Run(5, ("any", "any"), ("greedy", "greedy"), ({"soulburn_per_power": 4},)))
SHARE = Figure("won", "won", "share", lambda match: match.winner == "p1")
MEAN = Figure("turns", "turns", "mean", lambda match: match.turns)


def numbers(*values: float) -> "np.ndarray[Any, np.dtype[np.float32]]":
    return np.array(values, np.float32)


def sample_of(case: Case, matches: int = MATCHES) -> Sample:
    """The sample of the first matches of a case, played here."""
    sample = Sample(case, figures_of([USUAL, DEARER]), matches)
    for number in range(1, matches + 1):
        tally = play_match(case.run, number).tally
        assert tally is not None
        sample.take(tally)
    return sample


@pytest.fixture(scope="module")
def usual() -> Sample:
    return sample_of(USUAL)


@pytest.fixture(scope="module")
def dearer() -> Sample:
    return sample_of(DEARER)


def found(*samples: Sample) -> Findings:
    return findings(figures_of([USUAL, DEARER]), samples)


# ------------------------------------------------------------ intervals


def test_share_has_wilsons_interval_of_the_textbooks() -> None:
    """81 of 263 (Newcombe, 1998) is 0.3080, from 0.2553 to 0.3662."""
    values = numbers(*[1.0] * 81, *[0.0] * 182)
    result = estimate(SHARE, "3", values)
    assert (result.matches, round(result.value or 0, 4)) == (263, 0.3080)
    assert (round(result.low or 0, 4), round(result.high or 0, 4)) == (0.2553, 0.3662)


GROUP_1 = numbers(0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0)
GROUP_2 = numbers(1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4)
"""Hours of sleep that ten patients gained by two drugs (Student, 1908)."""


def test_mean_has_students_interval() -> None:
    """The mean of the first drug is 0.75 with a spread of 1.789, and 2.262 is the quantile of t for 9 degrees."""
    result = estimate(MEAN, "3", GROUP_1)
    half = 2.2622 * 1.7890 / sqrt(10)
    assert (result.value, result.spread) == pytest.approx((0.75, 1.7890), abs=1e-4)
    assert (result.low, result.high) == pytest.approx((0.75 - half, 0.75 + half), abs=1e-3)


def test_paired_difference_is_that_of_students_sleep() -> None:
    """Student's own example: 1.58 hours more, from 0.7001 to 2.4599, p = 0.002833."""
    result = difference("2", GROUP_2, GROUP_1)
    assert (result.value, result.low, result.high) == pytest.approx((1.58, 0.7001142, 2.4598858), abs=1e-6)
    assert result.p == pytest.approx(0.002833, abs=1e-6)


def test_intervals_are_those_of_scipy(usual: Sample, dearer: Sample) -> None:
    """Every interval of a study is what SciPy gives for the same numbers of all its matches."""
    places = {figure.name: at for at, figure in enumerate(figures_of([USUAL, DEARER]))}
    for row in found(usual, dearer).rows:
        at = places[row.figure.name]
        one, other = usual.values[at].astype(float), dearer.values[at].astype(float)
        known, differences = one[~np.isnan(one)], (other - one)[~np.isnan(other - one)]
        if row.figure.kind == "share":
            expected = stats.binomtest(int(known.sum()), len(known)).proportion_ci(method="wilson")
            assert (row.cases[0].low, row.cases[0].high) == pytest.approx(tuple(expected))
        elif known.any():
            assert (row.cases[0].low, row.cases[0].high) == pytest.approx(student(known))
        if differences.any():
            assert (row.differences[0].low, row.differences[0].high) == pytest.approx(student(differences))


def student(values: "np.ndarray[Any, np.dtype[np.float64]]") -> tuple[float, float]:
    """The t interval, by the quantiles of SciPy."""
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    return float(low), float(high)


def test_correction_is_that_of_benjamini_and_hochberg() -> None:
    """Of the fifteen p-values in their article (1995), the four smallest can be told at 5 %, and no others."""
    published = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528]
    tested = [Difference("2", 100, 1.0, spread=1.0, p=p) for p in [*published, 0.7590, 1.0]]
    untested = Difference("2", 0)
    assert correct([*tested, untested], 100) == 15
    assert [each.told for each in tested] == [True] * 4 + [False] * 11
    assert not untested.told
    assert untested.adjusted is None


def test_needed_is_the_formula_of_the_textbooks() -> None:
    """At 5 % and 80 %, half a spread takes 4 (1.95996 + 0.84162)² = 31.4 pairs; a tenth takes 785."""
    assert needed(0.5, 1.0, 0.05) == 32
    assert needed(-0.1, 1.0, 0.05) == 785
    assert needed(0.0, 1.0, 0.05) is None


def test_needed_counts_the_matches_of_the_study() -> None:
    """A figure that half of the matches have takes twice as many matches."""
    halved, whole = (Difference("2", matches, 0.1, spread=1.0, p=0.5) for matches in (50, 100))
    correct([halved, whole], 100)
    assert whole.needed
    assert halved.needed == 2 * whole.needed


# ------------------------------------------------------------ cases, match by match


def test_case_compared_with_itself_differs_by_nothing(usual: Sample) -> None:
    """The same run as another case has differences of exactly 0, which are not told from nothing."""
    result = found(usual, sample_of(Case("again", USUAL.run)))
    for row in result.rows:
        (each,) = row.differences
        assert (each.value, each.low, each.high, each.p, each.told) == (0.0, 0.0, 0.0, 1.0, False)
        assert each.none
    assert (result.common[0].began, result.common[0].alike) == (1.0, 1.0)
    assert not result.warnings


def test_pairs_spread_less_than_strangers(usual: Sample, dearer: Sample) -> None:
    """Match by match, differences of wins, length and Soulburn spread less than those of matches that nobody paired."""
    rows = {row.figure.name: row for row in found(usual, dearer).rows}
    for name in ("won.seat.1", "won.first", "turns", "entries", "soulburn"):
        row = rows[name]
        unpaired = sqrt(sum((case.spread or 0) ** 2 for case in row.cases))
        assert row.differences[0].spread is not None
        assert row.differences[0].spread < 0.8 * unpaired, name
        assert row.differences[0].worth == pytest.approx((unpaired / row.differences[0].spread) ** 2)


class Watching:
    """Ends its turns, and keeps the first hand that each player sees."""

    seen: ClassVar[list[tuple[str, tuple[str, ...], dict[str, int]]]] = []
    blind = False

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._new = True

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """The last action."""
        if self._new:
            self.seen.append((view.player, view.hand, view.libraries))
            self._new = False
        return actions[-1]


def test_cases_have_seating_and_opening_hands_in_common() -> None:
    """In each case, the same decks sit at the same seats, the same seat begins, and the same cards are drawn first."""
    name = "tests.unit.test_study:Watching"
    seen = getattr(policy(name), "seen")  # noqa: B009 - of the class as it was loaded by that name
    told = []
    for fields in ({}, {"soulburn_per_power": 4}):
        seen.clear()
        run = Run(9, ("any", "any"), (name, name), (fields,))
        tallies = [play_match(run, number).tally for number in range(1, 11)]
        told.append(([*seen], [[(each.deck, each.policy) for each in tally.players] for tally in tallies if tally]))
    assert told[0] == told[1]
    assert len(told[0][0]) == 20
    assert len({deck for seats in told[0][1] for deck, _ in seats}) == 3


def test_seat_that_begins_otherwise_is_told() -> None:
    """Where another seat begins in a case, a warning says so: what is paired has less in common."""
    samples = [Sample(case, [MEAN], 40) for case in (USUAL, DEARER)]
    for number in range(1, 41):
        for sample, first in zip(samples, ("p1", "p2" if number <= 10 else "p1"), strict=True):
            sample.take(tally_of(number, first=first))
    result = findings([MEAN], samples)
    assert result.common[0].began == 0.75
    assert any("another seat began in 25 % of the matches" in each for each in result.warnings)


# ------------------------------------------------------------ figures


def tally_of(number: int, *, winner: str | None = "p1", first: str = "p1", decks: str = "rift,reap") -> MatchTally:
    players = [PlayerTally(f"p{place}", deck, "greedy") for place, deck in enumerate(decks.split(","), 1)]
    return MatchTally(number, 0, players, first, winner, "L-4", turns=number)


def told_by_events(run: Run, number: int) -> dict[str, float]:
    """All figures of a match, from the events of its record alone."""
    played = play_match(run, number, record=True)
    events = [event for entry in played.entries for event in entry.events]
    start, end = events[0], next(event for event in events if isinstance(event, e.MatchEnded))
    assert isinstance(start, e.MatchStarted)
    decks = [str(seat.name).split(", ")[0] for seat in start.players]
    winner = int(end.winner[1:]) - 1 if end.winner else None
    turns = [event for event in events if isinstance(event, e.TurnBegan)]
    figures: Counter[str] = Counter()
    for event in events:
        figures.update(dict(_counted(event)))
    figures["soulburn"] = sum(figures[f"soulburn.{source}"] for source in ("overpay", "fizzle", "rift"))
    told: dict[str, float] = dict(figures) | {"won.policy.greedy": nan}
    for deck in ("blaze", "reap", "rift"):
        meets = deck in decks and len(set(decks)) > 1
        told[f"won.deck.{deck}"] = (winner is not None and decks[winner] == deck) if meets else nan
    told |= {"won.seat.1": winner == 0, "won.seat.2": winner == 1, "drawn": winner is None}
    told |= {"won.first": end.winner == turns[0].player, "turns": len(turns), "entries": len(played.entries)}
    return told | {"hoards_stolen": _stolen(events), "fell.soulburn": _fell(events)}


def _counted(event: e.AnyEvent) -> Iterator[tuple[str, int]]:
    match event:
        case e.SoulburnTaken():
            yield f"soulburn.{event.source}", event.damage
            yield "wasted", event.power
        case e.RiftOpened():
            yield f"rifts.{event.rank}", 1
        case e.RiftClosed(highest=0):
            yield "rifts.empty", 1
        case e.SoulReaped():
            yield "reaped", 1


def _stolen(events: list[e.AnyEvent]) -> int:
    """How often control changed of a card that Souls lay on."""
    held, stolen = Counter[str | None](), 0
    for event in events:
        match event:
            case e.SoulReaped():
                held[event.card] += 1
            case e.SoulReturned() | e.SoulLost():
                held[event.card] -= 1
            case e.CostPaid():
                held.subtract(spent.card for spent in event.souls)
            case e.ControlChanged():
                stolen += held[event.card] > 0
    return stolen


def _fell(events: list[e.AnyEvent]) -> bool:
    """Whether the last loss of somebody who fell, not by conceding, was Soulburn."""
    last: dict[str, bool] = {}
    for event in events:
        match event:
            case e.SoulburnTaken():
                last[event.player] = True
            case e.LifeChanged():
                last[event.player] = False
            case e.PlayerDefeated(because="life") if last[event.player]:
                return True
    return False


def test_figures_are_what_the_records_tell(dearer: Sample) -> None:
    """Every figure of every match is what plain counting of the events in its record gives."""
    names = [figure.name for figure in figures_of([USUAL, DEARER])]
    for number in range(1, 41):
        told = told_by_events(DEARER.run, number)
        for name, value in zip(names, dearer.values[:, number - 1], strict=True):
            expected = told.pop(name, 0)
            assert value == expected or (isnan(value) and isnan(expected)), (number, name)
        assert not told


def test_deck_against_itself_says_nothing_of_it() -> None:
    """A deck's wins are counted in matches with other decks only."""
    figures = figures_of([Case("A", Run(1, ("rift", "reap"), ("greedy", "greedy")))])
    (won,) = [figure for figure in figures if figure.name == "won.deck.rift"]
    assert won.of(tally_of(1)) == 1
    assert won.of(tally_of(1, winner=None)) == 0
    assert isnan(won.of(tally_of(1, decks="rift,rift")))


def test_figure_that_is_in_one_case_only_has_no_difference() -> None:
    """Where a deck does not play in both cases, there is nothing to compare; one that never plays is left out."""
    cases = [Case("A", Run(1, ("rift", "reap"))), Case("B", Run(1, ("rift", "blaze")))]
    figures = figures_of(cases)
    samples = [Sample(case, figures, 30) for case in cases]
    for number in range(1, 31):
        for sample in samples:
            sample.take(tally_of(number, decks=",".join(sample.case.run.decks)))
    result = findings(figures, samples)
    assert not result.warnings
    rows = {row.figure.name: row for row in result.rows}
    assert [each.matches for each in rows["won.deck.reap"].cases] == [30, 0]
    assert rows["won.deck.reap"].cases[1] == Estimate("B", 0)
    assert rows["won.deck.reap"].differences == [Difference("B", 0)]
    assert rows["won.deck.rift"].differences[0].matches == 30
    assert "won.policy.greedy" not in rows


# ------------------------------------------------------------ what to beware of


def test_too_few_matches_warn() -> None:
    """Below 30 matches nothing is told from nothing, whatever was measured, and a warning says so."""
    samples = [Sample(case, [MEAN], FEW - 1) for case in (USUAL, DEARER)]
    for number in range(1, FEW):
        for sample, more in zip(samples, (0, 100 + number % 2), strict=True):
            tally = tally_of(number)
            tally.turns += more
            sample.take(tally)
    result = findings([MEAN], samples)
    (each,) = result.rows[0].differences
    assert (each.p or 0) < 1e-9
    assert not each.told
    assert result.warnings[0].startswith("with fewer than 30 matches nothing is told from nothing")


def test_differences_that_are_not_told_warn(usual: Sample, dearer: Sample) -> None:
    """A difference whose interval has 0 in it is not told, says how many matches it would take, and is warned of."""
    result = found(usual, dearer)
    untold = [row.differences[0] for row in result.rows if not (row.differences[0].told or row.differences[0].none)]
    assert untold
    for each in untold:
        assert each.value == 0 or (each.needed or 0) > MATCHES
    assert f"4 against 3: these matches are too few to tell {len(untold)} of" in result.warnings[-1]
    for row in result.rows:
        low, high = row.differences[0].low, row.differences[0].high
        assert low is not None
        assert high is not None
        assert not (row.differences[0].told and low <= 0 <= high)


def test_failed_matches_are_left_out_and_told() -> None:
    """A match that failed in one case is compared in none."""
    samples = [Sample(case, [MEAN], 40) for case in (USUAL, DEARER)]
    for number in range(1, 41):
        samples[0].take(tally_of(number))
        if number != 7:
            samples[1].take(tally_of(number))
    result = findings([MEAN], samples)
    assert [each.matches for each in result.rows[0].cases] == [40, 39]
    assert result.rows[0].differences[0].matches == 39
    assert result.common[0].began == 1
    assert result.warnings[0] == "case 4: failed, and left out: 1 of 40 matches"


@pytest.mark.parametrize(("values", "expected"), [((), None), ((3.0,), 3.0), ((3.0, 3.0, 3.0), 3.0)])
def test_what_does_not_vary_is_no_error(values: tuple[float, ...], expected: float | None) -> None:
    """No matches, one, or many that are all the same: SciPy would divide by nothing, and says so in warnings."""
    result = estimate(MEAN, "3", numbers(*values))
    assert result.value == expected
    assert (result.low, result.high) == ((3.0, 3.0) if len(values) > 1 else (None, None))
    shifted = difference("4", numbers(*values) + 1, numbers(*values))
    assert shifted.value == (None if expected is None else 1.0)
    assert (shifted.low, shifted.high, shifted.p) == (None, None, None)


def test_order_of_playing_makes_no_difference(usual: Sample, dearer: Sample) -> None:
    """Matches that were taken in from the last to the first give the same findings, byte for byte."""
    backwards = Sample(DEARER, figures_of([USUAL, DEARER]), MATCHES)
    for number in range(MATCHES, 0, -1):
        tally = play_match(DEARER.run, number).tally
        assert tally is not None
        backwards.take(tally)
    told = [
        msgspec.json.encode([(row.cases, row.differences) for row in found(usual, each).rows])
        for each in (dearer, backwards)
    ]
    assert told[0] == told[1]
    assert json.loads(told[0])
