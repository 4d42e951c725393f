"""The commands of a disputed game: why, audit, ruling, bundle."""

import sys
from pathlib import Path

import click

from soulrift import arguments


@click.command(epilog=arguments.example("why long-duel 106"))
@click.argument("name", metavar="FILE|MATCH", type=arguments.Name())
@click.argument("event", metavar="[EVENT]", type=int, required=False)
@click.option("--entry", type=int, metavar="N", help="All events of entry N, instead of one by its number.")
@click.option("--life", "player", type=arguments.Name(), metavar="PLAYER", help="Every change of this player's life.")
@click.option("--match", type=arguments.Name(), help="Which match of an archive.")
@arguments.db
@arguments.form("text", "json")
def why(
    name: str, event: int | None, entry: int | None, player: str | None, match: str | None, db: str, form: str
) -> None:
    """Tell why something happened, through all that led to it, down to the commands.

    With the arithmetic, and the rules in their words. EVENT is an event's number in the match, 1 for the first.
    """
    from replays.why import why_entry, why_event, why_life
    from soulrift import explaining

    if [event, entry, player].count(None) != 2:  # noqa: PLR2004 - of three
        message = "say what is to be explained: the number of an EVENT, or --entry N, or --life PLAYER; one of them"
        raise click.UsageError(message)
    if event is not None:
        number = event
        explaining.why(name, db, match, lambda lines: why_event(lines, number), form)
    elif entry is not None:
        explaining.why(name, db, match, lambda lines: why_entry(lines, entry), form)
    else:
        explaining.why(name, db, match, lambda lines: why_life(lines, str(player)), form)


@click.command(epilog=arguments.example("audit long-duel --format html -o long-duel.html"))
@click.argument("name", metavar="FILE|MATCH", type=arguments.Name())
@click.option("--match", type=arguments.Name(), help="Which match of an archive.")
@arguments.compared
@arguments.out("Where to; standard output, unless told.")
@arguments.db
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "html")),
    help="Else what the ending of FILE says (.html .json), else text.",
)
def audit(
    name: str,
    match: str | None,
    checkpoints: tuple[Path, ...],
    trusted: tuple[str, ...],
    folder: Path,
    out: str | None,
    force: bool,
    db: str,
    form: str | None,
) -> None:
    """Judge a match: can its record be trusted, and what happened to everybody's life.

    The verdict comes first, in words and as the exit status: 0 exact; 1 diverged; 3 unverifiable; 4 damaged; and with
    checkpoints 5 unsigned, 6 first-use, 7 incomplete, 8 another-history. Everything is computed from the entries alone.
    """
    from soulrift import auditing
    from soulrift.verifying import Against

    against = Against(checkpoints, trusted, folder)
    sys.exit(auditing.run(name, db, match, against, auditing.form_of(form, out), out, replace=force))


@click.command(epilog=arguments.example("bundle long-duel --entry 61 -o long-duel.zip"))
@click.argument("match", type=arguments.Name())
@click.option("--entry", "entries", type=int, multiple=True, metavar="N", help="An entry to prove; repeatable.")
@click.option(
    "--checkpoint",
    "checkpoints",
    type=arguments.note,
    multiple=True,
    metavar="NOTE",
    help="A checkpoint to put in, instead of one that is signed now; repeatable.",
)
@click.option("--redact", is_flag=True, help="Leave out whose names a private match hides.")
@arguments.out("Where to; - is standard output.", required=True)
@arguments.signer
@arguments.keys
@arguments.db
def bundle(
    match: str,
    entries: tuple[int, ...],
    checkpoints: tuple[Path, ...],
    redact: bool,
    out: str,
    force: bool,
    signer: str | None,
    folder: Path,
    db: str,
) -> None:
    """Pack everything into a zip file by which a stranger can check a match.

    The record, checkpoints, proofs of the disputed entries, keys, the judgment, and a program in plain Python that says
    step by step what it checks. soulrift verify judges a bundle too, and plays every command again.
    """
    from soulrift import bundling

    request = bundling.Request(match, tuple(sorted(set(entries))), checkpoints, signer, folder, redact)
    bundling.make(request, out, db, replace=force)


@click.command(epilog=arguments.example("ruling long-duel --about 82 --judge 'R. Oda' --reason 'misread card'"))
@click.argument("match", type=arguments.Name())
@click.option("--about", type=int, metavar="N", help="The entry that it is about.")
@click.option("--judge", type=arguments.Name(), required=True, help="Who rules.")
@click.option("--reason", type=arguments.Name(), required=True, help="Why.")
@click.option(
    "--correct",
    "corrections",
    type=arguments.Name(),
    multiple=True,
    metavar="JSON",
    help='What is corrected, such as {"life":{"player":"ada","delta":3}}; repeatable, in order.',
)
@click.option("--give", is_flag=True, help="Append the ruling; without this it is only shown.")
@arguments.db
@arguments.form("text", "json")
def ruling(
    match: str,
    about: int | None,
    judge: str,
    reason: str,
    corrections: tuple[str, ...],
    give: bool,
    db: str,
    form: str,
) -> None:
    """Show what a judge's ruling would change in a match, and give it with --give.

    Nothing that is recorded is changed or removed: a ruling is appended. Without --correct, it is told how the life
    that burned in the entry is given back.
    """
    from soulrift import ruling as rulings

    made = {
        "about": about,
        "judge": judge,
        "reason": reason,
        "corrections": [rulings.correction(each) for each in corrections],
    }
    rulings.rule(match, made, db, form, give=give)


COMMANDS = (why, audit, ruling, bundle)
