"""Studies: the same matches played in several cases, and what differs between these.

Every case plays the same match numbers of the same seed, so that the seating, the shuffles and the draws are the same
as far as the cases let them: common random numbers. A match is then compared with itself in another case, and what
chance does to both of them cancels out. All intervals and tests are those of SciPy.
"""

from collections.abc import Callable, Iterator, Sequence
from math import ceil, nan
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import stats

from simulation.decks import SHIPPED as DECKS
from simulation.policies import SHIPPED as POLICIES
from simulation.runs import ANY, Run
from simulation.tally import RANKS, MatchTally, PlayerTally

CONFIDENCE = 0.95
POWER = 0.8
"""The chance to tell a difference of the measured size with as many matches as are said to be needed."""

FEW = 30
"""With fewer matches than this, no interval of a mean or of a difference is to be relied on."""

METHODS = {
    "shares": "Wilson score interval, scipy.stats.binomtest(...).proportion_ci(method='wilson')",
    "means": "Student's t interval, scipy.stats.ttest_1samp(...).confidence_interval",
    "differences": "paired t test and interval over the differences match by match, scipy.stats.ttest_rel",
    "correction": "Benjamini-Hochberg over all differences, scipy.stats.false_discovery_control(method='bh')",
    "needed": "((z(1 - level / 2) + z(power)) * spread / difference) ** 2, z = scipy.stats.norm.ppf; "
    "level = (1 - confidence) / number of differences",
}
"""How everything is computed, by what is computed."""

SOURCES = ("overpay", "fizzle", "rift")

Numbers = NDArray[np.float32]


class Case(Struct, frozen=True):
    """A case of a study: what it is called, and the run that plays it."""

    name: str
    run: Run


class Figure(Struct, frozen=True):
    """A figure that every match has: its name, what tells it, and its unit.

    `of` computes it: of a "share" 1 or 0, of a "mean" any number; nan for a match to which it does not apply.
    """

    name: str
    tells: str
    kind: Literal["share", "mean"]
    of: Callable[[MatchTally], float]
    unit: str = ""

    @property
    def label(self) -> str:
        """What tells it, with its unit; a share is told in percent."""
        unit = "%" if self.kind == "share" else self.unit
        return f"{self.tells}, {unit}" if unit else self.tells

    @property
    def times(self) -> int:
        """By what it is multiplied to be told in its unit."""
        return 100 if self.kind == "share" else 1


class Estimate(Struct, frozen=True):
    """A figure in a case: a share from 0 to 1, or a mean; `low` and `high` bound its interval.

    `matches` are those to which it applies, `spread` is their standard deviation. Null where too few of them are there.
    """

    case: str
    matches: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    spread: float | None = None


class Difference(Struct):
    """A figure in a case less the same in the base, over the `matches` to which it applies in both.

    `spread` is the standard deviation of the differences match by match; `worth` says how many times as many matches
    it would take without pairing. `p` is the chance of a difference this large if there were none, `adjusted` the same
    after the correction; `told` says whether that is small enough to tell it from nothing. `needed` is the number of
    matches of a study that would tell a difference of this size with the chance `POWER`. Null where it cannot be
    computed.
    """

    case: str
    matches: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    spread: float | None = None
    worth: float | None = None
    p: float | None = None
    adjusted: float | None = None
    told: bool = False
    needed: int | None = None

    @property
    def none(self) -> bool:
        """Whether no match differs at all."""
        return self.value == self.spread == 0


class Row(Struct):
    """A figure in every case, and the difference of every other case to the first one."""

    figure: Figure
    cases: list[Estimate]
    differences: list[Difference]


class Common(Struct, frozen=True):
    """What the matches of a case have in common with those of the base: the shares (0 to 1) of them, but for those
    that failed, in which the same seat began, and in which no figure at all differs.
    """

    case: str
    began: float
    alike: float


class Findings(Struct):
    """What a study found: figures and differences, how many differences were looked at, and what to beware of."""

    rows: list[Row]
    common: list[Common]
    compared: int
    warnings: list[str]


class Sample:
    """The matches of a case. `values` holds a number a figure (row) and match (column), nan for what does not apply
    or failed: 4 bytes each; `began` the place of who began, 0 for a match that failed.
    """

    def __init__(self, case: Case, figures: Sequence[Figure], matches: int) -> None:
        self.case = case
        self.values: Numbers = np.full((len(figures), matches), nan, np.float32)
        self.began = np.zeros(matches, np.int8)
        self._of = [figure.of for figure in figures]

    def take(self, match: MatchTally) -> None:
        """Take in a match."""
        self.values[:, match.number - 1] = [of(match) for of in self._of]
        self.began[match.number - 1] = _place(match, match.first)

    @property
    def failed(self) -> int:
        """How many matches failed."""
        return int(np.count_nonzero(self.began == 0))


# ------------------------------------------------------------ figures


def figures_of(cases: Sequence[Case]) -> tuple[Figure, ...]:
    """The figures of a study of these cases."""
    return (*_wins(cases), *_LENGTHS, *_SOULBURN, *_RIFTS, *_SOULS)


def _wins(cases: Sequence[Case]) -> Iterator[Figure]:
    for place in range(1, max(len(case.run.decks) for case in cases) + 1):
        yield Figure(f"won.seat.{place}", f"seat {place} won", "share", _won_by_seat(place))
    for kind, shipped in (("deck", DECKS), ("policy", tuple(POLICIES))):
        for name in _names(cases, kind, shipped):
            yield Figure(f"won.{kind}.{name}", f"{kind} {name} won, against others", "share", _won_by(kind, name))
    yield Figure("won.first", "who began won", "share", lambda match: match.winner is not None and _first_won(match))
    yield Figure("drawn", "nobody won", "share", lambda match: match.winner is None)


def _names(cases: Sequence[Case], kind: str, shipped: tuple[str, ...]) -> list[str]:
    """The decks or policies that play in these cases."""
    named = {name for case in cases for name in (case.run.decks if kind == "deck" else case.run.policies)}
    return sorted((named - {ANY}) | (set(shipped) if ANY in named else set()))


def _place(match: MatchTally, player: str | None) -> int:
    """The place, from 1, of a player; 0 of nobody."""
    return next((place for place, each in enumerate(match.players, 1) if each.player == player), 0)


def _won_by_seat(place: int) -> Callable[[MatchTally], float]:
    return lambda match: _place(match, match.winner) == place


def _first_won(match: MatchTally) -> bool:
    return match.winner == match.first


def _won_by(kind: str, name: str) -> Callable[[MatchTally], float]:
    """Whether a deck or policy won; of matches in which it meets another one, since against itself it always wins."""

    def won(match: MatchTally) -> float:
        of = {player.player: getattr(player, kind) for player in match.players}
        if name not in of.values() or len(set(of.values())) == 1:
            return nan
        return of.get(match.winner or "") == name

    return won


def _sum(of: Callable[[PlayerTally], int]) -> Callable[[MatchTally], float]:
    return lambda match: sum(map(of, match.players))


def _rifts(rank: int) -> Figure:
    return Figure(f"rifts.{rank}", f"Rifts of rank {rank}", "mean", _sum(lambda player: player.rifts[rank - 1]))


def _burned(player: PlayerTally) -> int:
    return player.overpay + player.fizzle + player.rift


def _fell(match: MatchTally) -> bool:
    return any(player.fell in SOURCES for player in match.players)


_LENGTHS = (
    Figure("turns", "turns", "mean", lambda match: match.turns),
    Figure("entries", "entries", "mean", lambda match: match.entries),
)
_SOULBURN = (
    Figure("soulburn", "Soulburn", "mean", _sum(_burned), "life"),
    Figure("soulburn.overpay", "Soulburn: paid too much", "mean", _sum(lambda player: player.overpay), "life"),
    Figure("soulburn.fizzle", "Soulburn: fizzled", "mean", _sum(lambda player: player.fizzle), "life"),
    Figure("soulburn.rift", "Soulburn: unused ranks", "mean", _sum(lambda player: player.rift), "life"),
    Figure("fell.soulburn", "a player fell to Soulburn", "share", _fell),
)
_RIFTS = (
    *(_rifts(rank) for rank in range(1, RANKS + 1)),
    Figure("rifts.empty", "Rifts left empty", "mean", _sum(lambda player: player.empty)),
)
_SOULS = (
    Figure("wasted", "power wasted", "mean", _sum(lambda player: player.wasted)),
    Figure("reaped", "Souls reaped", "mean", _sum(lambda player: player.reaped)),
    Figure("hoards_stolen", "hoards stolen", "mean", _sum(lambda player: player.hoards_stolen)),
)


# ------------------------------------------------------------ what is found


def findings(figures: Sequence[Figure], samples: Sequence[Sample]) -> Findings:
    """What is found in the samples of all cases, of which the first is the base; figures that never apply are left out.

    The same samples give the same findings, wherever and in whatever order their matches were played.
    """
    base, *others = samples
    rows = [
        Row(
            figure,
            [estimate(figure, sample.case.name, sample.values[at]) for sample in samples],
            [difference(sample.case.name, sample.values[at], base.values[at]) for sample in others],
        )
        for at, figure in enumerate(figures)
        if any(not np.isnan(sample.values[at]).all() for sample in samples)
    ]
    compared = correct([each for row in rows for each in row.differences], len(base.began))
    common = [_common(sample, base) for sample in others]
    return Findings(rows, common, compared, [*_warnings(rows, samples, common)])


def estimate(figure: Figure, case: str, values: Numbers) -> Estimate:
    """A figure in a case, from a number a match; nan for matches to which it does not apply."""
    known = values[~np.isnan(values)].astype(np.float64)
    if not known.size:
        return Estimate(case, 0)
    value, spread = float(known.mean()), float(known.std(ddof=1)) if known.size > 1 else None
    low, high = _wilson(known) if figure.kind == "share" else _student(known)
    return Estimate(case, known.size, value, low, high, spread)


def _wilson(known: NDArray[np.float64]) -> tuple[float, float]:
    found = stats.binomtest(int(known.sum()), known.size).proportion_ci(CONFIDENCE, method="wilson")
    return float(found.low), float(found.high)


def _student(known: NDArray[np.float64]) -> tuple[float | None, float | None]:
    if known.size == 1:
        return None, None
    if (known == known[0]).all():  # where nothing varies, SciPy divides by nothing
        return float(known[0]), float(known[0])
    return _bounds(stats.ttest_1samp(known, 0))


def _bounds(test: Any) -> tuple[float, float]:
    found = test.confidence_interval(CONFIDENCE)
    return float(found.low), float(found.high)


def difference(case: str, values: Numbers, base: Numbers) -> Difference:
    """The paired difference of a figure in a case to the base, from a number a match in each, in the same order."""
    both = ~(np.isnan(values) | np.isnan(base))
    other, first = values[both].astype(np.float64), base[both].astype(np.float64)
    found = Difference(case, int(other.size))
    if not other.size:
        return found
    differences = other - first
    found.value = float(differences.mean())
    if other.size == 1:
        return found
    found.spread = float(differences.std(ddof=1))
    if (differences == differences[0]).all():
        if found.none:
            found.low, found.high, found.p = 0.0, 0.0, 1.0
        return found
    test = stats.ttest_rel(other, first)
    found.low, found.high = _bounds(test)
    found.p = float(test.pvalue)
    found.worth = float(other.var(ddof=1) + first.var(ddof=1)) / found.spread**2
    return found


def correct(differences: list[Difference], matches: int) -> int:
    """Correct the p-values for their number, which is returned, and judge the differences by that."""
    tested = [each for each in differences if each.p is not None]
    if not tested:
        return 0
    adjusted = stats.false_discovery_control([each.p for each in tested], method="bh")
    for each, corrected in zip(tested, adjusted, strict=True):
        each.adjusted = float(corrected)
        each.told = each.matches >= FEW and each.adjusted <= 1 - CONFIDENCE
        applying = needed(each.value or 0.0, each.spread or 0.0, (1 - CONFIDENCE) / len(tested))
        each.needed = applying and ceil(applying * matches / each.matches)
    return len(tested)


def needed(value: float, spread: float, level: float) -> int | None:
    """How many matches it takes to tell a difference of this size and spread from nothing, at this level (0 to 1) of a
    test to both sides and with the chance `POWER`; null for no difference. An estimate: it takes both as measured.
    """
    if not value:
        return None
    quantiles = float(stats.norm.ppf(1 - level / 2) + stats.norm.ppf(POWER))
    return max(FEW, ceil((quantiles * spread / value) ** 2))


def _common(sample: Sample, base: Sample) -> Common:
    both = (sample.began > 0) & (base.began > 0)
    one, other = sample.values[:, both], base.values[:, both]
    same = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=0)
    began = sample.began[both] == base.began[both]
    return Common(sample.case.name, *(float(each.mean()) if each.size else 1.0 for each in (began, same)))


def _warnings(rows: list[Row], samples: Sequence[Sample], common: list[Common]) -> Iterator[str]:
    base = samples[0]
    for sample in samples:
        if sample.failed:
            yield f"case {sample.case.name}: failed, and left out: {sample.failed:,} of {len(sample.began):,} matches"
    for each in common:
        if each.began < 1:
            otherwise = f"{100 * (1 - each.began):.0f} % of the matches"
            yield (
                f"{each.case} against {base.case.name}: another seat began in {otherwise}, "
                "since decks of other sizes use up other draws; pairing helps the less"
            )
    if len(base.began) < FEW:
        yield f"with fewer than {FEW} matches nothing is told from nothing, and intervals are not to be relied on"
    for at, sample in enumerate(samples[1:]):
        differences = [row.differences[at] for row in rows if row.differences[at].matches]
        untold = sum(not (each.told or each.none) for each in differences)
        if untold:
            yield (
                f"{sample.case.name} against {base.case.name}: these matches are too few to tell {untold} of "
                f"{len(differences)} differences from nothing; at each stands how many it would take, were it as large "
                "as measured"
            )
