"""`soulrift init` and `soulrift backup`: what an operator does with a store."""

import shlex
from pathlib import Path

import click

from domain.recorder import FORMAT
from domain.sqlite import MEMORY
from domain.sqlite_files import backup
from soulrift import store
from soulrift.terminal import Output, bar

_ROLES = """\
Rights that roles need in its schema (USAGE on the schema, and):
  to play:  SELECT, INSERT on stored_events, stored_snapshots, command_ids, openings; SELECT on store_format,
            incomplete_imports; SELECT, INSERT, UPDATE, DELETE on store_writers; USAGE on the sequence
            stored_events_notification_id_seq
  to read:  SELECT on stored_events, stored_snapshots, command_ids, store_format, incomplete_imports, openings
Nobody needs to UPDATE, DELETE or TRUNCATE what is recorded; what no role may do, no accident does.
Who signs checkpoints reads, and needs SELECT on store_identity too; and INSERT for the first one.
Who imports matches plays, and needs INSERT and DELETE on incomplete_imports too. Who asks what is answered by views
(`soulrift matches` and others) reads, and needs to CREATE their schema once, or to SELECT there where others do.
Who must not learn whose names private matches hide gets no right on openings, exports with --redact, and checks not."""

_PG_DUMP = """\
a PostgreSQL store is backed up by PostgreSQL's own tools, while matches are played:
  pg_dump --format=custom --file={dest} {database}
It reads one moment of the database, and an entry is stored in one transaction: every entry is in the dump whole, or not
at all. Restore it with pg_restore into an empty database, then run `soulrift check` on that."""


def init(name: str) -> None:
    """Make a store where there is none, and tell what it needs."""
    if name == MEMORY:
        message = "a store in memory lasts as long as its program; there is nothing to make"
        raise click.UsageError(message)
    output = Output()
    with store.create(name) as matches:
        schema = matches.recorder.schema
        where = f", in the schema {schema}" if schema else ""
        output.line(f"{matches.env['STORE']} is a store of format {FORMAT}{where}")
    if store.is_postgres(name):
        for line in _ROLES.splitlines():
            output.line(line)
    else:
        output.line("Who plays needs to write the file and its folder; who reads needs to read them.")
    output.end()


def back_up(name: str, dest: Path) -> None:
    """Copy a store while others write to it."""
    if store.is_postgres(name):
        with store.open_to_read(name) as matches:
            message = _PG_DUMP.format(dest=shlex.quote(str(dest)), database=shlex.quote(matches.env["STORE"]))
        raise click.UsageError(message)
    if name == MEMORY:
        message = "a store in memory cannot be copied"
        raise click.UsageError(message)
    if not dest.absolute().parent.is_dir():
        message = f"there is no folder for {dest}"
        raise click.UsageError(message)
    with store.open_to_read(name):  # see that it is one
        pass
    try:
        with bar("copying") as advance:
            backup(Path(name), dest, lambda done, pages: advance(done, pages, absolute=True))
    except FileExistsError as error:
        message = f"{error}; choose another name"
        raise click.UsageError(message) from None
    output = Output()
    output.line(
        f"{dest} is a copy of {name} ({dest.stat().st_size:,} bytes); `soulrift check --db {dest}` proves it sound"
    )
    output.end()
