"""The commands of evidence: keys, checkpoint, prove, consistency."""

import sys
from pathlib import Path

import click

from soulrift import arguments


@click.group(epilog=arguments.example("keys new games.example/eu"))
def keys() -> None:
    """Make and look after the keys that sign checkpoints, and those that are trusted."""


@keys.command(epilog=arguments.example("keys new games.example/eu"))
@click.argument("name", type=arguments.Name())
@arguments.keys
def new(name: str, folder: Path) -> None:
    """Make a key that signs, and tell the text by which others trust it.

    A name is best the address of whoever signs; it has no spaces and no +.
    """
    from soulrift import keyrings

    keyrings.new(name, folder)


@keys.command(epilog=arguments.example("keys add games.example/eu+3c1d5e7f+AVqq1N…"))
@click.argument("key", metavar="VKEY", type=arguments.Name())
@arguments.keys
def add(key: str, folder: Path) -> None:
    """Trust the key of somebody else, by its text NAME+ID+BASE64."""
    from soulrift import keyrings

    keyrings.add(key, folder)


@keys.command("list", epilog=arguments.example("keys list"))
@arguments.keys
@arguments.form("text", "json")
def list_(folder: Path, form: str) -> None:
    """List the keys that are trusted, and which of them sign."""
    from soulrift import keyrings

    keyrings.listed(folder, form)


@keys.command(epilog=arguments.example("keys retire games.example/eu"))
@click.argument("name", type=arguments.Name())
@arguments.keys
def retire(name: str, folder: Path) -> None:
    """Let a key, by its NAME or NAME+ID, sign no more. What it signed before stays valid; its secret is deleted."""
    from soulrift import keyrings

    keyrings.retire(name, folder)


@click.command(epilog=arguments.example("checkpoint long-duel -o long-duel.note"))
@click.argument("match", type=arguments.Name())
@click.option("--at", type=int, metavar="N", help="As it was after entry N; 1 is the first.")
@arguments.signer
@arguments.out("Where to; standard output, unless told.")
@arguments.keys
@arguments.db
def checkpoint(
    match: str, at: int | None, signer: str | None, out: str | None, force: bool, folder: Path, db: str
) -> None:
    """Sign what the record of a match is now: how many entries it has, and the root over them.

    Whoever holds the checkpoint can later tell whether a record begins with those entries (soulrift verify FILE
    --checkpoint NOTE). It is signed only if the record re-executes.
    """
    from soulrift import proving

    proving.checkpoint(match, at, signer, out, folder, db, replace=force)


@click.command(epilog=arguments.example("prove long-duel 41 -o entry-41.tlog-proof"))
@click.argument("match", type=arguments.Name())
@click.argument("entry", type=int)
@arguments.out("Where to; - is standard output.", required=True)
@click.option(
    "--checkpoint", "held", type=arguments.note, help="Prove it for this checkpoint, instead of one that is signed now."
)
@arguments.signer
@arguments.keys
@arguments.db
def prove(
    match: str,
    entry: int,
    out: str,
    held: Path | None,
    signer: str | None,
    force: bool,
    folder: Path,
    db: str,
) -> None:
    """Prove that an entry is in the record of a match, to somebody who has not got the record.

    The proof holds the entry and a checkpoint; soulrift verify judges it.
    """
    from soulrift import proving

    proving.prove(match, entry, out, held, signer, folder, db, replace=force)


@click.command(epilog=arguments.example("consistency monday.note friday.note --record long-duel.soulrift.jsonl"))
@click.argument("old", type=arguments.note)
@click.argument("new", type=arguments.note)
@click.option(
    "--record", type=arguments.Name(), metavar="FILE|MATCH", help="The record; the store's match, unless told."
)
@click.option("--proof", type=arguments.note, help="A proof instead of a record.")
@click.option("--match", type=arguments.Name(), help="Which match of an archive.")
@arguments.out("Write a proof, for those who have not got the record.")
@arguments.trusted
@arguments.keys
@arguments.db
@arguments.form("text", "json")
def consistency(
    old: Path,
    new: Path,
    record: str | None,
    proof: Path | None,
    match: str | None,
    out: str | None,
    force: bool,
    trusted: tuple[str, ...],
    folder: Path,
    db: str,
    form: str,
) -> None:
    """Tell whether the record of the checkpoint NEW begins with that of OLD, unchanged.

    Exit status: 0 it does; 4 damaged; 5 not signed by a known key; 7 the record is shorter than NEW; 8 another history.
    """
    from soulrift import keyrings, proving

    if proof is not None and (record is not None or out is not None):
        message = "--proof takes the place of a record; choose"
        raise click.UsageError(message)
    whose = proving.Source(record, match, proof, db)
    sys.exit(proving.consistency(old, new, whose, out, keyrings.trust(trusted, folder), form, replace=force))


COMMANDS = (keys, checkpoint, prove, consistency)
