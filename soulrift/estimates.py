"""Figures with their intervals, and how these are told.

Lives here: which interval belongs to which kind of figure, all of them by SciPy. Must not know: what is measured.
"""

from math import sqrt

from msgspec import Struct
from scipy import stats

from simulation.study import CONFIDENCE, FEW

METHODS = {
    "shares of matches": "Wilson score interval, scipy.stats.binomtest(…).proportion_ci(method='wilson')",
    "means": "Student's t interval, scipy.stats.t.interval",
    "shares of power": "the ratio of two sums over matches, or over seats, with a t interval by the "
    "spread of these around it (the linearized variance of a ratio), scipy.stats.t.interval",
}
"""How the interval of each kind of figure is computed."""


class Estimate(Struct, frozen=True):
    """A figure: a share from 0 to 1, or a mean; the bounds of its interval, null where it has none; and of how many
    matches or seats it is.
    """

    value: float
    low: float | None
    high: float | None
    of: int

    @property
    def few(self) -> bool:
        """Whether they are too few to rely on."""
        return self.of < FEW

    def above(self, other: "Estimate") -> bool:
        """Whether this one is greater beyond doubt: both intervals are there, do not meet, and are not of too few."""
        if self.few or other.few or self.low is None or other.high is None:
            return False
        return self.low > other.high


def share(found: int, of: int) -> Estimate:
    """A share, found so often of so many (at least 1), with Wilson's interval."""
    interval = stats.binomtest(found, of).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(found / of, float(interval.low), float(interval.high), of)


def mean(value: float, spread: float | None, of: int) -> Estimate:
    """A mean of so many, which have this standard deviation (null of one), with Student's interval; of too
    few it has none.
    """
    return ratio(value, None if spread is None else spread / sqrt(of), of)


def ratio(value: float, error: float | None, of: int) -> Estimate:
    """A ratio of sums over so many matches or seats, with this standard error (null of one); of too few
    it has no interval.
    """
    if error is None or of < FEW:
        return Estimate(value, None, None, of)
    if not error:  # where nothing varies, SciPy divides by nothing
        return Estimate(value, value, value, of)
    low, high = stats.t.interval(CONFIDENCE, of - 1, loc=value, scale=error)
    return Estimate(value, float(low), float(high), of)


# ------------------------------------------------------------ telling


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def number(value: float) -> str:
    """A mean, with as many decimals as people read."""
    return f"{value:,.2f}" if abs(value) < MANY else f"{value:,.0f}"


MANY = 1000


def interval(of: Estimate, *, shares: bool) -> str:
    """The bounds of an interval, shares in percent; nothing if it has none."""
    if of.low is None or of.high is None:
        return ""
    low, high = (f"{100 * bound:.1f}" if shares else number(bound) for bound in (of.low, of.high))
    return f"{low} to {high}"


def told(of: Estimate, *, shares: bool) -> str:
    """A figure with its interval."""
    value, bounds = percent(of.value) if shares else number(of.value), interval(of, shares=shares)
    return f"{value} ({bounds})" if bounds else value
