"""What a report finds in tables: each figure with the sentence that says it, how to read it, and the numbers behind it.

Lives here: what a finding is, and what they have in common. The numbers come from the named queries, which
docs/metrics.md defines; the pictures from `figures`, the intervals from `estimates`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from markupsafe import Markup
from msgspec import Struct

from simulation.study import FEW
from soulrift.estimates import Estimate, percent, told
from soulrift.panels import Row, short

Record = dict[str, Any]
"""A row that a query found, by the names of its columns."""

MOST = 12
"""So many decks, policies or players are shown, those with the most matches."""

LAST_TURN = 1 / 20
"""Turns are shown as far as this share of the matches went."""


MOST_TURNS = 61
"""So many turns are shown, at most."""


class Ask(Protocol):
    """Asks a named query."""

    def __call__(self, name: str, by: str | None = None, most: int = 0) -> list[Record]:
        """Its rows; or the greatest by a column, at most so many, each of which says in `of` how many there are."""


class Grid(Struct, frozen=True):
    """A table of numbers: which query they come from, the head, the rows, and how many more there are."""

    query: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    more: int = 0


class Picture(Struct, frozen=True):
    """A picture with its title."""

    title: str
    svg: Markup


class Finding(Struct, frozen=True):
    """A figure of the report: where to link to, what it says, how it is read, what to beware of, and what it shows."""

    anchor: str
    says: Markup
    reads: str = ""
    pictures: Sequence[Picture] = ()
    grids: Sequence[Grid] = ()
    beware: Sequence[str] = ()


KINDS = {"deck": "By deck", "policy": "By policy", "player": "By player, in recorded matches"}
"""By what players are told apart."""

# ------------------------------------------------------------ what findings have in common


def picture(title: str, svg: str) -> Picture:
    """A picture with its title."""
    return Picture(title, Markup(svg))  # noqa: S704 - it escapes what it shows


def mark(name: str, of: Estimate, *, shares: bool, even: float | None = None) -> Row:
    """A figure as a row of a picture, shares in percent."""
    times = 100 if shares else 1
    low, high = (None if bound is None else times * bound for bound in (of.low, of.high))
    return Row(name, told(of, shares=shares), times * of.value, low=low, high=high, even=even, weak=of.few)


def spoken(rows: Sequence[Row]) -> str:
    """The rows of a picture as a text."""
    return "; ".join(f"{row.name}: {row.told}" for row in rows)


def shown(matches: Mapping[int, int]) -> list[int]:
    """The turns that enough of the matches had."""
    most = max(matches.values())
    return [turn for turn, count in sorted(matches.items()) if count >= LAST_TURN * most][:MOST_TURNS]


def some(turns: Sequence[int]) -> Sequence[int]:
    """Some ten of the turns, for whoever has to listen to all of them."""
    return turns[:: max(len(turns) // 10, 1)]


def told_apart(found: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Those of enough matches to be told apart."""
    return {name: of for name, of in found.items() if not of.few}


def few_matches(matches: int) -> list[str]:
    """A warning, if there are too few matches."""
    told_so = f"of {matches:,} match{'es' * (matches != 1)} only, too few to tell anything yet."
    return [told_so] if matches < FEW else []


def left_out(found: Sequence[Mapping[str, Estimate]]) -> str:
    """A sentence, if some are drawn, and others are not as they are of too few matches."""
    apart = [told_apart(each) for each in found]
    if any(apart) and any(len(few) < len(each) for few, each in zip(apart, found, strict=True)):
        return f" What has fewer than {FEW} matches is left to the numbers."
    return ""


def hollow(found: Sequence[Mapping[str, Estimate]]) -> list[str]:
    """A warning, if all of them are of too few matches, so that they are drawn all the same."""
    few = found and not any(told_apart(each) for each in found)
    return [f"all of this is of fewer than {FEW} matches each, and tells next to nothing yet."] if few else []


# ------------------------------------------------------------ who stands out


def ranked(found: Mapping[str, Estimate]) -> list[tuple[str, Estimate]]:
    """The greatest first."""
    return sorted(found.items(), key=lambda each: (-each[1].value, each[0]))


def compared(found: Mapping[str, Estimate], one: str, does: str, what: str) -> list[Markup]:
    """Which of two or more stands out, if one does beyond doubt."""
    order = ranked(told_apart(found))
    if len(order) < 2:  # noqa: PLR2004 - it takes two to compare
        return [Markup("Too few matches to tell which {} {} most").format(one, does)] if len(found) > 1 else []
    (first, most), (_, second) = order[:2]
    (_, before), (last, least) = order[-2:]
    if most.above(second):
        return [Markup("The {} {} {} most: {} {}").format(one, _name(first), does, percent(most.value), what)]
    if before.above(least):
        return [Markup("The {} {} {} least: {} {}").format(one, _name(last), does, percent(least.value), what)]
    told_so = Markup("No {} clearly {} most or least: from {} to {} {}")
    return [told_so.format(one, does, percent(least.value), percent(most.value), what)]


def _name(name: str) -> Markup:
    return Markup("<bdi>{}</bdi>").format(short(name))
