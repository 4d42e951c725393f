"""`soulrift study`: the same matches in several cases; what differs, as tables, as data, as a chart."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from itertools import chain
from math import floor, log10
from pathlib import Path
from typing import Any, Literal

import click
from msgspec import Struct
from rich.text import Text

from domain.rules.ruleset import Ruleset
from soulrift.board import table
from soulrift.files import field_of_ruleset
from soulrift.running import Where, done
from soulrift.terminal import Output, complain

try:
    import scipy

    from simulation.batches import batches, play_batch
    from simulation.chance import GENERATOR
    from simulation.runners import BrokenRunError, RunnerError
    from simulation.runs import SIMULATOR, Failed, Run
    from simulation.study import (
        CONFIDENCE,
        METHODS,
        POWER,
        Case,
        Difference,
        Estimate,
        Figure,
        Findings,
        Row,
        Sample,
        figures_of,
        findings,
    )
    from soulrift import simulating
except ImportError as error:
    if (error.name or "").partition(".")[0] not in {"numpy", "scipy"}:
        raise
    NEEDED = "a study needs an extra: pip install 'soulrift[study]'"
    raise click.UsageError(NEEDED) from None

Varied = Literal["ruleset", "decks", "policies"]

CHARTS = (".png", ".svg")
"""How the name of a chart may end."""


class Fixed(Struct, frozen=True):
    """What is the same in every case, but for what varies."""

    seed: int
    decks: tuple[str, ...]
    policies: tuple[str, ...]
    rulesets: list[dict[str, Any]]


class Wanted(Struct, frozen=True):
    """What is wanted of a study: how many matches of each case, its answer in which form, and a chart."""

    matches: int
    form: str
    chart: Path | None
    replace: bool


class Study(Struct, frozen=True):
    """A study that was done: what varied, in which cases, of how many matches, and what was found."""

    vary: Varied
    cases: list[Case]
    matches: int
    found: Findings

    @property
    def title(self) -> str:
        """What it is, and by what it can be done again."""
        seed = self.cases[0].run.seed
        return (
            f"{self.matches:,} match{'es' * (self.matches > 1)} of seed {seed} in each of {len(self.cases)} cases "
            f"(soulrift {version('soulrift')}, simulator {SIMULATOR}, {GENERATOR})"
        )

    @property
    def fixed(self) -> str:
        """What is the same in every case."""
        run = self.cases[0].run
        told = {
            "ruleset": " and in turn ".join(map(_ruleset, run.rulesets)),
            "decks": ",".join(run.decks),
            "policies": ",".join(run.policies),
        }
        return "in every case: " + "; ".join(f"{what} {value}" for what, value in told.items() if what != self.vary)

    def told_of(self, case: Case) -> str:
        """What a case is."""
        return _ruleset(case.run.rulesets[0]) if self.vary == "ruleset" else ",".join(getattr(case.run, self.vary))


def _ruleset(fields: dict[str, Any]) -> str:
    return ",".join(f"{field}={value}" for field, value in fields.items()) or "usual"


# ------------------------------------------------------------ the cases


def cases_of(vary: Varied, texts: tuple[str, ...], fixed: Fixed) -> list[Case]:
    """The cases, each from NAME=…: what varies is taken from them, everything else is fixed.

    Raises:
        click.UsageError: there are fewer than two of them, or one cannot be.

    """
    if len(texts) < 2:  # noqa: PLR2004 - it takes two to compare
        message = "a study compares: give --case twice or more often"
        raise click.UsageError(message)
    cases = [_case(vary, text, fixed) for text in texts]
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            message = f"two cases are called {name}"
            raise click.UsageError(message)
    if len({len(case.run.decks) for case in cases}) > 1:
        message = "all cases must have the same number of seats, or nothing of them can be compared"
        raise click.UsageError(message)
    return cases


def _case(vary: Varied, text: str, fixed: Fixed) -> Case:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        message = f"--case {text} is not NAME=…, as in {_EXAMPLES[vary]}"
        raise click.UsageError(message)
    try:
        return Case(name, _run(vary, value, fixed))
    except click.UsageError as error:
        message = f"case {name}: {error.message}"
        raise click.UsageError(message) from None


_EXAMPLES = {
    "ruleset": "--case 2=soulburn_per_power=2",
    "decks": "--case A=rift,reap",
    "policies": "--case A=greedy,random",
}


def _run(vary: Varied, value: str, fixed: Fixed) -> Run:
    parts = tuple(part.strip() for part in value.split(","))
    seed, decks, policies, rulesets = fixed.seed, fixed.decks, fixed.policies, fixed.rulesets
    if vary == "ruleset":
        rulesets = [{} if value == "usual" else dict(map(field_of_ruleset, parts))]
    elif parts[0].partition("=")[0] in Ruleset.__struct_fields__:
        message = f"{value} is a ruleset, but the {vary} vary"
        raise click.UsageError(message)
    elif vary == "decks":
        decks = parts
    else:
        policies = parts
    return simulating.run_of(seed, decks, policies, rulesets, cover=False)


def chart_of(name: str | None, *, replace: bool) -> Path | None:
    """Where a chart is to come, if one is wanted.

    Raises:
        click.UsageError: it cannot be drawn, or cannot come there.

    """
    if name is None:
        return None
    path = Path(name)
    if path.suffix not in CHARTS:
        message = f"a chart is a {' or a '.join(CHARTS)} file, not {path.name}"
        raise click.UsageError(message)
    from soulrift import picturing  # or it would be missing when all is played

    del picturing
    simulating.see_place(path, replace=replace)
    return path


# ------------------------------------------------------------ the study


def study(vary: Varied, cases: list[Case], wanted: Wanted, where: Where) -> int:
    """Play all cases, and tell what is found; 1 if a match failed, 130 if it was interrupted."""
    figures = figures_of(cases)
    try:
        samples, failed = _played(cases, figures, wanted.matches, where)
    except BrokenRunError as error:
        complain(str(error))
        return 1
    except RunnerError as error:
        raise click.UsageError(str(error)) from None
    except KeyboardInterrupt:
        complain("interrupted: nothing is known before all cases are played")
        return 130
    for case, of_it in zip(cases, failed, strict=True):
        if of_it:
            complain(f"in case {case.name}:")
            simulating.complain_of(of_it)
    done = Study(vary, cases, wanted.matches, findings(figures, samples))
    if wanted.chart is not None:
        from soulrift import picturing

        with simulating.replacing():
            picturing.draw(done.found, f"{done.title}\n{done.fixed}", wanted.chart, replace=wanted.replace)
    _tell(done, wanted)
    return int(any(failed))


def _played(
    cases: list[Case], figures: tuple[Figure, ...], matches: int, where: Where
) -> tuple[list[Sample], list[list[Failed]]]:
    """The samples of all cases, which are played one after the other, and of each the matches that failed."""
    samples, failed = [Sample(case, figures, matches) for case in cases], [list[Failed]() for _ in cases]
    work = chain.from_iterable(batches(case.run, matches, record=False, cover=False) for case in cases)
    with closing(done(play_batch, work, where)) as results, simulating.bar(matches * len(cases)) as advance:
        at = 0
        for result in results:
            for match in result.tallies:
                samples[at].take(match)
            failed[at] += result.failed
            at += result.last == matches
            advance(result.last - result.first + 1)
    return samples, failed


# ------------------------------------------------------------ telling


def _tell(done: Study, wanted: Wanted) -> None:
    output = Output()
    if wanted.form == "json":
        output.data(as_data(done))
    else:
        for line in lines(done):
            output.line(line)
        if wanted.chart is not None:
            output.line(f"{wanted.chart}: the chart")
    output.end()


def as_data(done: Study) -> dict[str, Any]:
    """A study as JSON holds it."""
    run = done.cases[0].run
    return {
        "soulrift": version("soulrift"),
        "simulator": SIMULATOR,
        "generator": GENERATOR,
        "scipy": scipy.__version__,
        "seed": str(run.seed),
        "matches": done.matches,
        "vary": done.vary,
        "cases": [{"case": case.name, **_options(case.run)} for case in done.cases],
        "methods": {"confidence": CONFIDENCE, "power": POWER, **METHODS},
        "figures": [
            {
                "figure": row.figure.name,
                "tells": row.figure.tells,
                "kind": row.figure.kind,
                "cases": row.cases,
                "differences": row.differences,
            }
            for row in done.found.rows
        ],
        "common": done.found.common,
        "compared": done.found.compared,
        "warnings": done.found.warnings,
    }


def _options(run: Run) -> dict[str, Any]:
    return {"decks": run.decks, "policies": run.policies, "rulesets": run.rulesets}


def lines(done: Study) -> Iterator[Text | str]:
    """A study as text."""
    found, base = done.found, done.cases[0].name
    yield Text(done.title, style="bold")
    yield f"  {done.fixed}"
    yield from table(
        ((case.name, done.told_of(case), "" if at else "the base") for at, case in enumerate(done.cases)),
        ("case", done.vary, ""),
    )
    yield Text(f"Each case, with {_percent(CONFIDENCE)} intervals", style="bold")
    yield from table(
        ((row.figure.label, *_estimates(row)) for row in found.rows),
        ("a match", *(case.name for case in done.cases)),
    )
    for at, common in enumerate(found.common):
        yield Text(f"{common.case} less {base}, match by match", style="bold")
        yield from table(
            ((row.figure.label, *_difference(row, at)) for row in found.rows),
            ("a match", "difference", f"{_percent(CONFIDENCE)} interval", "p", "adjusted", "told from nothing?"),
        )
        yield f"  in {_percent(common.alike, 1)} of the matches no figure differs"
    yield Text("How", style="bold")
    yield from _methods(found)
    for warning in found.warnings:
        yield Text(f"Beware: {warning}", style="yellow")


def _percent(share: float, decimals: int = 0) -> str:
    return f"{100 * share:.{decimals}f} %"


def _methods(found: Findings) -> Iterator[str]:
    yield f"  shares: {METHODS['shares']}"
    yield f"  means: {METHODS['means']}"
    yield f"  differences: {METHODS['differences']}"
    yield f"  {found.compared} differences were looked at; adjusted p: {METHODS['correction']}"
    yield f"  told from nothing: adjusted p of {1 - CONFIDENCE:.2f} or less"
    yield (
        f"  it would take: matches that tell a difference of the measured size and spread in {_percent(POWER)} of all "
        f"studies, if it were the only one among {found.compared}; an estimate by scipy.stats.norm"
    )


def _digits(figure: Figure, found: Sequence[Estimate | Difference], sign: str = "") -> Callable[[float], str]:
    """Writes these, shares in percent, all with as many decimals as the narrowest of their intervals deserves."""
    bounds = [(each.low, each.high) for each in found]
    widths = [high - low for low, high in bounds if low is not None and high is not None and high > low]
    decimals = min(max(1 - floor(log10(figure.times * min(widths, default=1) / 2)), 1), MOST_DECIMALS)
    return lambda value: f"{figure.times * value:{sign}.{decimals}f}"


MOST_DECIMALS = 4


def _estimates(row: Row) -> Iterator[str]:
    digits = _digits(row.figure, row.cases)
    for each in row.cases:
        if each.value is None:
            yield "-"
        elif each.low is None or each.high is None:
            yield digits(each.value)
        else:
            yield f"{digits(each.value)} ({digits(each.low)} to {digits(each.high)})"


def _difference(row: Row, at: int) -> tuple[str, str, str, str, str]:
    digits, found = _digits(row.figure, row.differences, "+"), row.differences[at]
    if found.value is None:
        return "-", "", "", "", "it is in one of them only"
    if found.low is None or found.high is None or found.p is None or found.adjusted is None:
        return digits(found.value), "", "", "", "no: all differ by the same" if found.matches > 1 else "no"
    interval = f"{digits(found.low)} to {digits(found.high)}"
    return digits(found.value), interval, _small(found.p), _small(found.adjusted), _verdict(found)


def _small(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"  # noqa: PLR2004 - the last that is told


def _verdict(found: Difference) -> str:
    if found.told:
        return "yes"
    if found.none:
        return "no match differs"
    if found.needed is None:
        return "no"
    return f"no; it would take {'more than ' * (found.needed > MOST)}{about(min(found.needed, MOST)):,}"


MOST = 100_000_000
"""As many matches as anybody will play."""


def about(number: int) -> int:
    """A number rounded to two digits."""
    unit: int = 10 ** max(len(str(number)) - 2, 0)
    return round(number / unit) * unit
