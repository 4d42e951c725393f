"""The commands of simulation: simulate, study."""

import sys
from typing import Any, Literal

import click
from click.core import ParameterSource

from soulrift import arguments
from soulrift.arguments import Command
from soulrift.files import field_of_ruleset


def _names(_: Any, __: Any, value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(","))


def _rulesets(_: Any, __: Any, values: tuple[str, ...]) -> list[dict[str, Any]]:
    return [dict(map(field_of_ruleset, each.split(","))) if each != "usual" else {} for each in values]


def _run(command: Command) -> Command:
    """`--seed`, `--decks`, `--policies` and `--ruleset`: which run."""
    seed = click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=1, show_default=True, help="Of the run.")
    decks = click.option(
        "--decks",
        default="any,any",
        show_default=True,
        metavar="A,B",
        callback=_names,
        help="One a seat: rift, reap, blaze, any, or a file of your own.",
    )
    policies = click.option(
        "--policies",
        default="any",
        show_default=True,
        metavar="P,Q",
        callback=_names,
        help="One a seat, or one for all: random, greedy, reckless, hoarder, searching, any, or your own as "
        "module:Class.",
    )
    ruleset = click.option(
        "--ruleset",
        "rulesets",
        multiple=True,
        metavar="FIELD=VALUE,…",
        callback=_rulesets,
        help="Fields that differ; repeatable: then the matches are played by each in turn ('usual' is the usual one).",
    )
    return seed(decks(policies(ruleset(command))))


@click.command(epilog=arguments.example("simulate --matches 1000 --seed 5 --decks rift,reap --policies greedy"))
@click.option("--matches", type=click.IntRange(1, 100_000_000), metavar="N", help="How many; needed unless --only.")
@_run
@arguments.where
@click.option("--only", type=click.IntRange(1), metavar="M", help="Match M of the run alone: told, or written to -o.")
@arguments.out("Write the matches into an archive; .gz or .zst compresses. If it was interrupted, it goes on.")
@click.option("--store", metavar="STORE", help="Put the matches into this store.")
@click.option("--tables", metavar="DIR", help="Make tables of the matches in this folder, or object store.")
@click.option("--coverage", is_flag=True, help="Tell which commands, events and rules were used, and how often.")
@arguments.form("text", "json")
def simulate(
    matches: int | None,
    seed: int,
    decks: tuple[str, ...],
    policies: tuple[str, ...],
    rulesets: list[dict[str, Any]],
    jobs: int | None,
    runner: str | None,
    scheduler: str | None,
    only: int | None,
    out: str | None,
    force: bool,
    store: str | None,
    tables: str | None,
    coverage: bool,
    form: str,
) -> None:
    """Play matches that nobody played yet, the same ones for the same seed.

    Without -o, --store or --tables they are counted only. The same options make the same matches, byte for byte,
    whatever the jobs and the runner.
    """
    from soulrift import simulating
    from soulrift.running import Where

    if (matches is None) is (only is None):
        message = "say how many --matches are to be played, or which one with --only"
        raise click.UsageError(message)
    if sum(each is not None for each in (out, store, tables)) > 1:
        message = "-o writes an archive, --store fills a store, --tables makes tables; choose"
        raise click.UsageError(message)
    if only is not None and (store is not None or tables is not None):
        message = "--only tells match M, or writes it with -o; --store and --tables take a run of --matches"
        raise click.UsageError(message)
    if out == "-":
        message = "-o names a file, such as run.soulrift.jsonl.zst; --only M without -o prints a match"
        raise click.UsageError(message)
    arguments.see_scheduler(runner, scheduler)
    run = simulating.run_of(seed, decks, policies, rulesets, cover=coverage)
    if only is not None:
        sys.exit(simulating.one(run, only, out, form, replace=force))
    where = Where(jobs, runner, scheduler)
    wanted = simulating.Wanted(matches or 0, out, store, tables, coverage, form, force)
    sys.exit(simulating.simulate(run, wanted, where))


@click.command(
    epilog=arguments.example("study --vary ruleset --case 3=usual --case 2=soulburn_per_power=2 -o burn.svg")
)
@click.option(
    "--vary",
    type=click.Choice(("ruleset", "decks", "policies")),
    required=True,
    help="What differs between the cases.",
)
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="NAME=…",
    help="A case: what it is called, and its ruleset (FIELD=VALUE,… or 'usual'), decks (A,B) or policies (P,Q); "
    "repeatable. The first is the base.",
)
@click.option(
    "--matches", type=click.IntRange(1, 10_000_000), default=1_000, show_default=True, metavar="N", help="Of each case."
)
@_run
@arguments.where
@arguments.out("Draw a chart into this file, .png or .svg.")
@arguments.form("text", "json")
@click.pass_context
def study(
    context: click.Context,
    vary: Literal["ruleset", "decks", "policies"],
    cases: tuple[str, ...],
    matches: int,
    seed: int,
    decks: tuple[str, ...],
    policies: tuple[str, ...],
    rulesets: list[dict[str, Any]],
    jobs: int | None,
    runner: str | None,
    scheduler: str | None,
    out: str | None,
    force: bool,
    form: str,
) -> None:
    """Compare rulesets, decks or policies in the same matches.

    Every case plays the same matches of the same seed: with the same seating, shuffles and draws, as far as the cases
    let them. So each match is compared with itself, and small differences show in few matches. Every figure has its
    interval, and every difference to the first case says whether it can be told from nothing.
    """
    from soulrift import studying
    from soulrift.running import Where

    arguments.see_scheduler(runner, scheduler)
    varied = "rulesets" if vary == "ruleset" else vary
    if context.get_parameter_source(varied) is not ParameterSource.DEFAULT:
        message = f"--{vary} is what varies: it stands in each --case"
        raise click.UsageError(message)
    compared = studying.cases_of(vary, cases, studying.Fixed(seed, decks, policies, rulesets))
    wanted = studying.Wanted(matches, form, studying.chart_of(out, replace=force), force)
    sys.exit(studying.study(vary, compared, wanted, Where(jobs, runner, scheduler)))


COMMANDS = (simulate, study)
