"""The commands of replay files: export, import, verify, replay, diff."""

import re
import sys
from pathlib import Path

import click

from soulrift import arguments

_file = click.Path(path_type=Path)


@click.command(epilog=arguments.example("export long-duel -o long-duel.soulrift.jsonl.zst"))
@click.argument("names", metavar="[MATCH]...", nargs=-1, type=arguments.Name())
@click.option("--all", "everything", is_flag=True, help="Every match of the store.")
@click.option(
    "-o", "--out", required=True, metavar="FILE", help="Where to; .gz or .zst compresses, - is standard output."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--redact", is_flag=True, help="Leave out whose names the commitments of private matches are.")
@arguments.db
def export(
    names: tuple[str, ...],
    everything: bool,
    out: str,
    force: bool,
    redact: bool,
    db: str,
) -> None:
    """Write matches into a replay file.

    One match makes a file of its own; several, or --all, make an archive.
    """
    from soulrift import archives

    if everything == bool(names):
        message = "name the matches to export, or say --all"
        raise click.UsageError(message)
    try:
        sys.exit(archives.export(names, db, out, everything=everything, replace=force, redact=redact))
    except FileExistsError as error:
        message = f"{error}; --force replaces it"
        raise click.UsageError(message) from None


@click.command("import", epilog=arguments.example("import long-duel.soulrift.jsonl --db games.db"))
@click.argument("file", type=_file)
@click.option("--salvage", is_flag=True, help="Of matches that are damaged or diverge, import what is proven.")
@arguments.db
@arguments.form("text", "json")
def import_(file: Path, salvage: bool, db: str, form: str) -> None:
    """Store the matches of a replay file, once each is proven.

    Importing a file again changes nothing; if it was cut short, it is completed.
    """
    from soulrift import archives

    sys.exit(archives.import_(file, db, form, salvage=salvage))


@click.command(epilog=arguments.example("verify long-duel.soulrift.jsonl --checkpoint long-duel.note"))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_file)
@arguments.compared
@arguments.form("text", "json")
def verify(
    files: tuple[Path, ...], checkpoints: tuple[Path, ...], trusted: tuple[str, ...], folder: Path, form: str
) -> None:
    """Play every command of replay files and bundles again and compare; judge proofs that an entry is in a record.

    Exit status: 0 exact; 1 diverged (events that do not follow from their commands), tampered (what goes with a
    record says otherwise); 3 unverifiable (by rules or in a format that this version does not know); 4 damaged. With
    checkpoints: 5 unsigned (by any key that is trusted); 6 first-use (the key came along); 7 incomplete (shorter than
    what was signed); 8 another-history.
    """
    from soulrift import verifying

    if checkpoints and len(files) > 1:
        message = "checkpoints are compared with one file at a time"
        raise click.UsageError(message)
    sys.exit(verifying.verify(files, form, verifying.Against(checkpoints, trusted, folder)))


_match = click.option("--match", type=arguments.Name(), help="Which match of an archive.")


@click.command(epilog=arguments.example("replay long-duel --at 40"))
@click.argument("name", metavar="FILE|MATCH", type=arguments.Name())
@_match
@click.option("--at", type=int, metavar="N", help="The board after entry N; 1 is the first.")
@click.option("--from", "first", type=int, metavar="N", help="The entries from N on.")
@click.option("--to", "last", type=int, metavar="N", help="The entries up to N.")
@arguments.db
@arguments.form("text", "json")
def replay(
    name: str, match: str | None, at: int | None, first: int | None, last: int | None, db: str, form: str
) -> None:
    """Step through a recording, or show a part of it.

    On a terminal, without options, it is stepped through: ? tells the keys. A recording is watched from its events, so
    that one that does not verify can be seen as well.
    """
    from soulrift import replaying

    if at is not None and (first is not None or last is not None):
        message = "--at shows the board, --from and --to tell a part; choose"
        raise click.UsageError(message)
    if first is not None and last is not None and last < first:
        message = f"it is before --from {first}"
        raise click.BadParameter(message, param_hint="--to")
    replaying.replay(name, db, match, at=at, first=first, last=last, form=form)


@click.command(epilog=arguments.example("diff yours.soulrift.jsonl mine.soulrift.jsonl"))
@click.argument("first", metavar="FILE|MATCH", type=arguments.Name())
@click.argument("second", metavar="FILE|MATCH", type=arguments.Name())
@_match
@arguments.db
@arguments.form("text", "json")
def diff(first: str, second: str, match: str | None, db: str, form: str) -> None:
    """Tell where two recordings first differ.

    In a command, its events or the state after it, and how life and Souls went on. What the match is called, and
    the meta of its commands, are not compared. Exit status: 0 the same, 1 different.
    """
    from soulrift import replaying

    sys.exit(replaying.diff(first, second, db, match, form))


@click.command(epilog=arguments.example("fork long-duel --at 50 --as long-duel-b"))
@click.argument("match", type=arguments.Name())
@click.option("--at", required=True, type=int, metavar="N", help="After entry N; 1 is the first.")
@click.option("--as", "name", required=True, type=arguments.Name(), help="What the new match is called.")
@arguments.db
def fork(match: str, at: int, name: str, db: str) -> None:
    """Begin a new match with the first commands of another one."""
    from soulrift import store
    from soulrift.terminal import Output

    with store.open_to_go_on(db) as matches:
        answer = matches.fork(match, at, name)
    output = Output()
    output.line(f"{name} is a fork of {match} after entry {answer.entry.number}; play --match {name} goes on with it")
    output.end()


@click.command(epilog=arguments.example("whatif long-duel --ruleset soulburn_per_power=2"))
@click.argument("name", metavar="FILE|MATCH", type=arguments.Name())
@_match
@click.option("--at", type=int, metavar="N", help="The entry whose command is another one.")
@click.option("--instead", type=arguments.Name(), metavar="JSON", help="The other command, with --at.")
@click.option(
    "--ruleset",
    type=arguments.Name(),
    multiple=True,
    metavar="FIELD=VALUE",
    help="Another value of a field of the ruleset; repeatable.",
)
@click.option("--rules-version", type=int, metavar="V", help="Another version of the rules.")
@arguments.db
@arguments.form("text", "json")
def whatif(
    name: str,
    match: str | None,
    at: int | None,
    instead: str | None,
    ruleset: tuple[str, ...],
    rules_version: int | None,
    db: str,
    form: str,
) -> None:
    """Play a recording on changed ground, and tell what follows.

    What becomes illegal and by which rule, what goes otherwise, and life in the end side by side. Nothing is written.
    """
    from domain.rules import decode_command
    from replays.branches import Change
    from soulrift import replaying

    if (at is None) is not (instead is None):
        message = "--at and --instead belong together: which entry, and the command that it gets"
        raise click.UsageError(message)
    if instead is None and not ruleset and rules_version is None:
        message = "say what is to be otherwise: --at with --instead, --ruleset or --rules-version"
        raise click.UsageError(message)
    fields = dict(field_of_ruleset(chosen) for chosen in ruleset)
    command = None if instead is None else decode_command(instead)
    replaying.whatif(name, db, match, Change(at, command, fields, rules_version), form)


def field_of_ruleset(chosen: str) -> tuple[str, int | str]:
    """A field of the ruleset and its value, from FIELD=VALUE.

    Raises:
        click.BadParameter: it is not of this form.

    """
    name, equals, value = chosen.partition("=")
    if not equals:
        message = f"{chosen} is not FIELD=VALUE"
        raise click.BadParameter(message, param_hint="--ruleset")
    return name, int(value) if _WHOLE_NUMBER.fullmatch(value) else value


_WHOLE_NUMBER = re.compile(r"-?\d{1,15}", re.ASCII)


COMMANDS = (export, import_, verify, replay, diff, fork, whatif)
