"""The commands of replay files: export, import, verify, replay, diff."""

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
@arguments.db
def export(names: tuple[str, ...], everything: bool, out: str, force: bool, db: str) -> None:  # noqa: FBT001 - click passes by name
    """Write matches into a replay file.

    One match makes a file of its own; several, or --all, make an archive.
    """
    from soulrift import archives

    if everything == bool(names):
        message = "name the matches to export, or say --all"
        raise click.UsageError(message)
    try:
        archives.export(names, db, out, everything=everything, replace=force)
    except FileExistsError as error:
        message = f"{error}; --force replaces it"
        raise click.UsageError(message) from None


@click.command("import", epilog=arguments.example("import long-duel.soulrift.jsonl --db games.db"))
@click.argument("file", type=_file)
@click.option("--salvage", is_flag=True, help="Of matches that are damaged or diverge, import what is proven.")
@arguments.db
@arguments.form("text", "json")
def import_(file: Path, salvage: bool, db: str, form: str) -> None:  # noqa: FBT001 - click passes by name
    """Store the matches of a replay file, once each is proven.

    Importing a file again changes nothing; if it was cut short, it is completed.
    """
    from soulrift import archives

    sys.exit(archives.import_(file, db, form, salvage=salvage))


@click.command(epilog=arguments.example("verify *.soulrift.jsonl"))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_file)
@arguments.form("text", "json")
def verify(files: tuple[Path, ...], form: str) -> None:
    """Play every command of replay files again and compare.

    Exit status: 0 exact; 1 diverged (events that do not follow from their commands); 3 unverifiable (by rules or in a
    format that this version does not know); 4 damaged.
    """
    from soulrift import verifying

    sys.exit(verifying.verify(files, form))


COMMANDS = (export, import_, verify)
