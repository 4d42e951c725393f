"""The command line. Errors go to standard error, data to standard output.

Exit status: 0 for success, 1 for refusals, unknown matches and failed checks, 2 for usage errors.
"""

import os
import sqlite3
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

import click
from eventsourcing.persistence import PersistenceError

from domain.application import EntryNotFoundError, MatchNotFoundError
from domain.codec import CorruptRecordError
from domain.recorder import StoreError
from domain.rules.commands import MAX_INTEGER
from domain.rules.refusal import Refusal
from soulrift import logs, store
from soulrift.terminal import Output, complain, discard_output, use_utf8

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Utf8(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """A name, in UTF-8 whatever the locale makes of arguments."""

    name = "text"

    def convert(self, value: str, *_: object) -> str:
        return os.fsencode(value).decode("utf-8", "backslashreplace")


def _db(command: _Command) -> _Command:
    return click.option(
        "--db",
        metavar="STORE",
        envvar="SOULRIFT_DB",
        default=store.DEFAULT,
        show_default=True,
        show_envvar=True,
        help="The store: a file, or a postgresql:// URL.",
    )(command)


def _format(command: _Command) -> _Command:
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="For people, or for programs.",
    )(command)


_EXAMPLE = {
    command: f"\b\nExample:\n  soulrift {example}"
    for command, example in {
        "main": "play examples/long-duel.jsonl",
        "play": "play examples/long-duel.jsonl --db games.db",
        "show": "show long-duel --at 40",
        "events": "events long-duel",
        "quote": "quote long-duel --player ilse --amount 3",
        "init": "init --db postgresql://localhost/games",
        "check": "check --db games.db",
        "backup": "backup games-monday.db --db games.db",
    }.items()
}


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=_EXAMPLE["main"]
)
@click.version_option(package_name="soulrift")
@click.option(
    "--log",
    type=click.Choice(logs.LEVELS),
    envvar="SOULRIFT_LOG",
    show_envvar=True,
    help="Write what the store does to standard error, one JSON object a line, from this level up.",
)
def main(log: str | None) -> None:
    """Soulrift: matches of the Souls game as a record that explains every point of damage by rule."""
    if log:
        logs.start(log)


@main.command(epilog=_EXAMPLE["play"])
@click.argument("script", type=click.File("rb"))
@_db
@_format
@click.option("--keep-going", is_flag=True, help="Report each refusal and go on; the exit status is 1 all the same.")
@click.option(
    "--batch",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Store N commands at a time, all or none of them: faster, and told later.",
)
def play(script: BinaryIO, db: str, form: str, keep_going: bool, batch: int) -> None:  # noqa: FBT001 - click passes by name
    """Play a match script (one JSON command a line; - for standard input) into the store.

    Stops at the first refusal, with its line number; every line before it is kept.
    """
    from soulrift import playing

    with store.open_to_write(db) as matches:
        steps = playing.play(matches, script, script.name, keep_going=keep_going, batch=batch)
        clean = playing.as_json(matches, steps) if form == "json" else playing.tell(matches, steps, script.name)
    if not clean:
        sys.exit(1)


@main.command(epilog=_EXAMPLE["show"])
@click.argument("match", type=_Utf8())
@click.option("--at", type=int, metavar="N", help="After entry N instead of now; 1 is the first.")
@_db
@_format
def show(match: str, at: int | None, db: str, form: str) -> None:
    """Show the state of a match."""
    from soulrift.board import board

    with store.open_to_read(db) as matches:
        state = matches.state(match, at)
    output = Output()
    if form == "json":
        output.data(state.view())
    else:
        for line in board(state):
            output.line(line)
    output.end()


@main.command(epilog=_EXAMPLE["events"])
@click.argument("match", type=_Utf8())
@_db
@_format
def events(match: str, db: str, form: str) -> None:
    """List what happened in a match: one line an entry as text, one line an event as JSON."""
    from soulrift.notation import Notation

    output, notation = Output(), Notation()
    with store.open_to_read(db) as matches:
        for entry in matches.entries(match):
            if form == "text":
                output.line(notation.line(entry))
                continue
            for event in entry.event_jsons:
                output.json(event)
    output.end()


@main.command(epilog=_EXAMPLE["quote"])
@click.argument("match", type=_Utf8())
@click.option("--player", type=_Utf8(), required=True, help="Who would pay.")
@click.option("--amount", required=True, type=int, metavar="N", help="The cost: Soulrift N.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="How many to list.")
@_db
@_format
def quote(match: str, player: str, amount: int, limit: int, db: str, form: str) -> None:
    """List what a player may pay a cost with now, best first: least Soulburn, then the fewest reaped Souls."""
    from domain.rules.quotes import quote as quoted
    from soulrift.quoting import as_data, lines

    if abs(amount) > MAX_INTEGER:
        message = f"no cost is beyond {MAX_INTEGER}"
        raise click.BadParameter(message, param_hint="--amount")
    with store.open_to_read(db) as matches:
        state = matches.state(match)
    output = Output()
    try:
        found = quoted(state, player, amount, limit)
    except Refusal as refusal:
        if form == "text":
            raise
        output.data(refusal.view())
        output.end()
        sys.exit(1)
    if form == "json":
        output.data(as_data(state, player, amount, found))
    else:
        for line in lines(state, player, amount, found):
            output.line(line)
    output.end()


@main.command(epilog=_EXAMPLE["init"])
@_db
def init(db: str) -> None:
    """Make a store where there is none, and say which rights it needs. A store that is there stays as it is."""
    from soulrift import upkeep

    upkeep.init(db)


@main.command(epilog=_EXAMPLE["check"])
@_db
@_format
def check(db: str, form: str) -> None:
    """Read the whole store, play every command again, and prove that it is sound; it is left as it is.

    Exit status: 0 sound, 1 diverged (events that do not follow from their commands), 3 unverifiable (written by a newer
    version), 4 damaged.
    """
    from soulrift import checking

    sys.exit(checking.check(db, form))


@main.command(epilog=_EXAMPLE["backup"])
@click.argument("dest", type=click.Path(path_type=Path))
@_db
def backup(dest: Path, db: str) -> None:
    """Copy the store to DEST while others play into it."""
    from soulrift import upkeep

    upkeep.back_up(db, dest)


def run() -> NoReturn:
    """The entry point: every error becomes one line and an exit status; no traceback reaches a user."""
    use_utf8()
    try:
        status = main(prog_name="soulrift", standalone_mode=False) or 0
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except click.Abort:
        complain("interrupted")
        status = 130
    except EntryNotFoundError as error:
        complain(f"error: {error}")
        status = 2
    except Refusal as refusal:
        complain(str(refusal))
        status = 1
    except (
        MatchNotFoundError,
        CorruptRecordError,
        StoreError,
        PersistenceError,
        sqlite3.Error,
        TimeoutError,
        OSError,
    ) as error:
        status = _failed(f"error: {error}", error)
    except Exception as error:  # noqa: BLE001 - the last resort: even a fault of ours is told in one line
        place = traceback.extract_tb(error.__traceback__)[-1]
        told_so = (
            f"error: {error!r} at {Path(place.filename).name}:{place.lineno}; a damaged record, or a fault of our own"
        )
        status = _failed(told_so, error)
    sys.exit(status)


def _failed(message: str, error: Exception) -> int:
    if isinstance(error, BrokenPipeError):
        discard_output()  # nobody reads on; say nothing
    else:
        complain(" ".join(message.split()))  # PostgreSQL's have several lines
    return 1
