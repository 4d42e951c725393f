"""The commands of simulation: simulate."""

import sys
from typing import Any

import click

from soulrift import arguments
from soulrift.files import field_of_ruleset


def _names(_: Any, __: Any, value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(","))


@click.command(epilog=arguments.example("simulate --matches 1000 --seed 5 --decks rift,reap --policies greedy"))
@click.option("--matches", type=click.IntRange(1, 100_000_000), metavar="N", help="How many; needed unless --only.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=1, show_default=True, help="Of the run.")
@click.option(
    "--decks",
    default="any,any",
    show_default=True,
    metavar="A,B",
    callback=_names,
    help="One a seat: rift, reap, blaze, any, or a file of your own.",
)
@click.option(
    "--policies",
    default="any",
    show_default=True,
    metavar="P,Q",
    callback=_names,
    help="One a seat, or one for all: random, greedy, reckless, hoarder, searching, any, or your own as module:Class.",
)
@click.option(
    "--ruleset",
    "rulesets",
    multiple=True,
    metavar="FIELD=VALUE,…",
    help="Fields that differ; repeatable: then the matches are played by each in turn ('usual' is the usual one).",
)
@click.option("--jobs", type=click.IntRange(1, 512), metavar="J", help="How many at once; one a processor.")
@click.option("--runner", type=click.Choice(("local", "processes", "dask")), help="Where; processes if there are jobs.")
@click.option("--scheduler", metavar="URL", help="The Dask scheduler of a cluster.")
@click.option("--only", type=click.IntRange(1), metavar="M", help="Match M of the run alone: told, or written to -o.")
@arguments.out("Write the matches into an archive; .gz or .zst compresses. If it was interrupted, it goes on.")
@click.option("--store", metavar="STORE", help="Put the matches into this store.")
@click.option("--coverage", is_flag=True, help="Tell which commands, events and rules were used, and how often.")
@arguments.form("text", "json")
def simulate(
    matches: int | None,
    seed: int,
    decks: tuple[str, ...],
    policies: tuple[str, ...],
    rulesets: tuple[str, ...],
    jobs: int | None,
    runner: str | None,
    scheduler: str | None,
    only: int | None,
    out: str | None,
    force: bool,
    store: str | None,
    coverage: bool,
    form: str,
) -> None:
    """Play matches that nobody played yet, the same ones for the same seed.

    Without -o or --store they are counted only. The same options make the same matches, byte for byte, whatever the
    jobs and the runner.
    """
    from soulrift import simulating

    if (matches is None) is (only is None):
        message = "say how many --matches are to be played, or which one with --only"
        raise click.UsageError(message)
    if out is not None and store is not None:
        message = "-o writes an archive, --store fills a store; choose"
        raise click.UsageError(message)
    if scheduler is not None and runner != "dask":
        message = "--scheduler belongs to --runner dask"
        raise click.UsageError(message)
    varied = [dict(map(field_of_ruleset, each.split(","))) if each != "usual" else {} for each in rulesets]
    run = simulating.run_of(seed, decks, policies, varied, cover=coverage)
    if only is not None:
        sys.exit(simulating.one(run, only, out, form, replace=force))
    where = simulating.Where(jobs, runner, scheduler)
    wanted = simulating.Wanted(matches or 0, out, store, coverage, form, force)
    sys.exit(simulating.simulate(run, wanted, where))


COMMANDS = (simulate,)
