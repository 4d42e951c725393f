"""`soulrift simulate`: runs of simulated matches, into archives, stores, or counts."""

import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from domain.application import Matches
from domain.match import Match
from domain.rules import Refusal, State, decode_command
from domain.rules.book import WORDS
from domain.rules.events import MatchStarted
from replays.files import written
from replays.lines import End
from replays.stepping import entry_of
from replays.writing import match_lines
from soulrift import store
from soulrift.board import table
from soulrift.running import Where, done
from soulrift.terminal import Output, complain

if TYPE_CHECKING:
    from projections.analytics.of_run import RunTables

try:
    from simulation.batches import Result, Tables, batches, batches_for_tables, play_batch
    from simulation.chance import GENERATOR
    from simulation.coverage import COMMANDS, EVENTS, JUDGES, unused
    from simulation.decks import SHIPPED, DeckError, read_deck
    from simulation.parts import Parts, PartsError
    from simulation.policies import PolicyNameError, policy
    from simulation.runners import BrokenRunError, RunnerError
    from simulation.runs import ANY, SIMULATOR, Failed, Run, play_match
    from simulation.statistics import Share, Statistics
except ImportError as error:
    if (error.name or "").partition(".")[0] != "numpy":
        raise
    NEEDED = "simulation needs an extra: pip install 'soulrift[simulation]'"
    raise click.UsageError(NEEDED) from None


class Wanted(Struct, frozen=True):
    """What is to come of a run: how many matches, into which archive, store or tables, counted or told how."""

    matches: int
    out: str | None
    store: str | None
    tables: str | None
    cover: bool
    form: str
    replace: bool


def run_of(
    seed: int, decks: tuple[str, ...], policies: tuple[str, ...], rulesets: list[dict[str, Any]], *, cover: bool
) -> Run:
    """A run with these options.

    Raises:
        click.UsageError: one of them cannot be.

    """
    if len(policies) == 1:
        policies *= len(decks)
    if len(policies) != len(decks):
        message = f"there are {len(decks)} decks and {len(policies)} policies: one a seat each, or one policy for all"
        raise click.UsageError(message)
    if not 2 <= len(decks) <= 16:  # noqa: PLR2004 - as many as a match seats
        message = "a match has 2 to 16 seats, with a deck each"
        raise click.UsageError(message)
    if cover and not rulesets:
        rulesets = [{}, {"souls_on_leaving": "lost"}]  # or nothing would ever be lost
    for ruleset in rulesets:
        _see_ruleset(ruleset)
    try:
        own = {name: read_deck(name) for name in decks if name not in (*SHIPPED, ANY)}
        for name in set(policies) - {ANY}:
            policy(name)
    except (DeckError, PolicyNameError) as error:
        raise click.UsageError(str(error)) from None
    return Run(seed, decks, policies, tuple(rulesets) or ({},), own)


def _see_ruleset(ruleset: dict[str, Any]) -> None:
    start = {"type": "start_match", "match": "m", "players": [{"player": "a"}, {"player": "b"}], "ruleset": ruleset}
    try:
        decode_command(msgspec.json.encode(start))
    except Refusal as refusal:
        message = f"{refusal.path}: {refusal.message}"
        raise click.BadParameter(message, param_hint="--ruleset") from None


# ------------------------------------------------------------ one match


def one(run: Run, number: int, out: str | None, form: str, *, replace: bool) -> int:
    """Play one match of a run again, and tell it or write it; 1 if it fails."""
    played = play_match(run, number, record=True)
    if played.failed:
        complain(_failed(played.failed))
    lines = match_lines(run.match_name(number), played.entries)
    if out is not None:
        with replacing(), written(Path(out), replace=replace) as file:
            file.writelines(line + b"\n" for line in lines)
        return int(played.failed is not None)
    output = Output()
    if form == "json":
        for line in lines:
            output.json(line)
    else:
        from soulrift.notation import Notation

        notation = Notation()
        for entry in played.entries:
            output.line(notation.line(entry))
    output.end()
    return int(played.failed is not None)


@contextmanager
def replacing() -> Iterator[None]:
    """Says how to replace a file that is there already."""
    try:
        yield
    except FileExistsError as error:
        message = f"{error}; --force replaces it"
        raise click.UsageError(message) from None


def _failed(failed: Failed) -> str:
    again = f"--seed {failed.seed} --only {failed.number}, with the same other options"
    return f"match {failed.number} could not be played on after entry {failed.entries}: {failed.reason} ({again})"


# ------------------------------------------------------------ a run


def simulate(run: Run, wanted: Wanted, where: Where) -> int:
    """Play a run, and tell what came of it; 1 if a match failed or it broke off, 130 if it was interrupted."""
    statistics, failed, counts = Statistics(), list[Failed](), Counter[str]()
    try:
        with _parts(run, wanted) as parts, _tables(run, wanted.tables) as tables:
            there = sum(last - first + 1 for first, last in tables.done()) if tables else 0
            with (
                closing(_results(run, wanted, where, parts or tables)) as results,
                _store(wanted.store) as keep,
                bar(wanted.matches) as advance,
            ):
                advance(there)
                for result in results:
                    keep(result)
                    for match in result.tallies:
                        statistics.take(match)
                    failed += result.failed
                    counts.update(result.counts)
                    advance(result.last - result.first + 1)
            complain_of(failed)
            if failed and not statistics.matches:
                complain("no match was played to its end" + (f": {wanted.out} is not written" if parts else ""))
                if parts:
                    parts.discard()
                    return 1
            if parts:
                with replacing():
                    parts.finish(replace=wanted.replace)
    except (RunnerError, PartsError) as error:
        raise click.UsageError(str(error)) from None
    except (BrokenRunError, KeyboardInterrupt) as error:
        again = "; the same command goes on with it" if wanted.out or wanted.store or wanted.tables else ""
        done = f"interrupted after {_counted(statistics.matches)}"
        why = done if isinstance(error, KeyboardInterrupt) else str(error)
        complain(f"{why}{again}")
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    statistics.failed = len(failed)
    _tell(run, wanted, statistics, counts, there)
    return int(bool(failed))


MOST_FAILED = 20
"""So many failed matches are told."""


def complain_of(failed: list[Failed]) -> None:
    """Tell which matches failed, and how to play each of them again."""
    for each in failed[:MOST_FAILED]:
        complain(_failed(each))
    if len(failed) > MOST_FAILED:
        more = len(failed) - MOST_FAILED
        complain(f"and {more:,} more match{'es' * (more > 1)} failed")


@contextmanager
def _parts(run: Run, wanted: Wanted) -> Iterator[Parts | None]:
    """Where what is done of an archive is kept; nothing where none is wanted."""
    if wanted.out is None:
        yield None
        return
    path = Path(wanted.out)
    see_place(path, replace=wanted.replace)
    with closing(Parts(path, run, wanted.matches, cover=wanted.cover)) as parts:
        yield parts


@contextmanager
def _tables(run: Run, address: str | None) -> Iterator["RunTables | None"]:
    """The tables that the matches come into; nothing where none are wanted."""
    if address is None:
        yield None
        return
    from soulrift.tabling import run_tables

    with run_tables(run, address) as tables:
        yield tables


def see_place(path: Path, *, replace: bool) -> None:
    """See that a file can come here, before the work for it is done.

    Raises:
        click.UsageError: there is no folder, or a file that is not to be replaced.

    """
    if not path.absolute().parent.is_dir():
        message = f"there is no folder for {path}"
        raise click.UsageError(message)
    if path.exists() and not replace:
        message = f"there is a {path} already; --force replaces it"
        raise click.UsageError(message)


def _results(run: Run, wanted: Wanted, where: Where, kept: "Parts | RunTables | None") -> Generator[Result, None, None]:
    """The results of all batches in order: those that are kept, if they can be told, and those still to be played."""
    record, after = wanted.out is not None or wanted.store is not None, 0
    if isinstance(kept, Parts):
        after = kept.done()
        yield from kept.results()
    if kept is None or isinstance(kept, Parts):
        work = batches(run, wanted.matches, record=record, cover=wanted.cover, after=after)
    else:
        place = Tables(kept.folder.address, kept.folder.token, kept.manifest.commits + 1)
        work = batches_for_tables(run, wanted.matches, place, kept.done(), cover=wanted.cover)
    with closing(done(play_batch, work, where)) as results:
        for result in results:
            if isinstance(kept, Parts):
                kept.keep(result)
            elif kept:
                kept.add_batch(result.made)
            yield result


@contextmanager
def bar(matches: int) -> Iterator[Callable[[int], object]]:
    """A bar over so many matches, with the rate and the time left, on standard error, if that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as shown:
        task = shown.add_task("", total=matches)
        yield lambda done: shown.advance(task, done)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """How many matches a second."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


@contextmanager
def _store(name: str | None) -> Iterator[Callable[[Result], object]]:
    """What puts the matches of a result into a store, those that it has not got yet; nothing where none is wanted."""
    if name is None:
        yield lambda _: None
        return
    with store.open_to_write(name) as matches:

        def keep(result: Result) -> None:
            for match in result.matches():
                _put(matches, match[1:-1], match[-1])

        yield keep


def _put(matches: Matches, lines: list[bytes], end: bytes) -> None:
    entries = [entry_of(line) for line in lines]
    started = entries[0].events[0]
    name = started.match if isinstance(started, MatchStarted) else ""
    if not matches.has(name):
        root = msgspec.json.decode(end, type=End).root
        matches.record(Match(name, State(), matches.codec), entries, root, whole=True)
    elif [entry.line for entry in matches.entries(name)] != lines:
        message = f"the store has another match {name}: take another seed, or another store"
        raise click.UsageError(message)


# ------------------------------------------------------------ telling


def _tell(run: Run, wanted: Wanted, statistics: Statistics, counts: Counter[str], there: int) -> None:
    output = Output()
    if wanted.form == "json":
        told = {"simulator": SIMULATOR, "generator": GENERATOR, "seed": str(run.seed), "run": _options(run)}
        told |= {"statistics": statistics, **({"coverage": counts, "unused": unused(counts)} if wanted.cover else {})}
        output.data(told)
    else:
        if statistics.matches:
            for line in chain(_lines(run, statistics), _covered(counts) if wanted.cover else ()):
                output.line(line)
        where = wanted.out or wanted.store or wanted.tables
        if where:
            output.line(f"{where}: {_counted(statistics.matches + there)}")
        if there and statistics.matches:
            output.line(f"{there:,} of them were there already; what is told above is of the others")
        elif there:
            output.line("all of them were there already")
    output.end()


def _counted(matches: int) -> str:
    return f"{matches:,} match{'es' * (matches != 1)}"


def _options(run: Run) -> dict[str, Any]:
    return {"decks": run.decks, "policies": run.policies, "rulesets": run.rulesets}


def _lines(run: Run, found: Statistics) -> Iterator[Text | str]:
    played, draws = found.matches, f"{found.draws:,} draw{'s' * (found.draws != 1)}"
    yield Text(f"{_counted(played)} of seed {run.seed} (simulator {SIMULATOR}, {GENERATOR})", style="bold")
    yield f"  {found.entries / played:.1f} entries and {found.turns / played:.1f} turns a match; {draws}"
    yield f"  who began won {100 * found.first_won / played:.1f} % of them"
    yield from _shares("deck", found.decks)
    yield from _shares("policy", found.policies)
    fell = sorted(found.fell.items(), key=lambda each: -each[1])
    yield from table(((what, f"{count:,}") for what, count in fell), ("brought down by", "times"))


def _shares(what: str, shares: dict[str, Share]) -> Iterator[Text]:
    rows = (
        (
            name,
            f"{share.matches:,}",
            f"{100 * share.won / share.matches:.1f} %",
            *(f"{burned / share.matches:.2f}" for burned in (share.overpay, share.fizzle, share.rift)),
            " ".join(f"{count / share.matches:.2f}" for count in share.rifts),
            f"{share.wasted / share.matches:.2f}",
        )
        for name, share in sorted(shares.items())
    )
    head = (what, "played", "won", "overpaid", "fizzled", "unused ranks", "Rifts of rank 1 2 3", "power wasted")
    return table(rows, head)


def _covered(counts: Counter[str]) -> Iterator[Text | str]:
    """How often everything was used, and what never was."""
    for title, names in (("Commands", COMMANDS), ("Events", EVENTS), ("Rules", tuple(WORDS))):
        yield Text(title, style="bold")
        yield from table(((name, f"{counts[name]:,}") for name in names if name not in JUDGES), ("", "used"))
    missing = unused(counts)
    yield Text(f"never used: {', '.join(missing)}" if missing else "all of it was used", style="bold")
