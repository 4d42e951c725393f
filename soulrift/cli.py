"""The command line. Errors go to standard error, data to standard output.

Exit status: 0 for success, 1 for refusals, unknown matches and failed checks, 2 for usage errors.
"""

import sqlite3
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import click
from eventsourcing.persistence import PersistenceError

from domain.application import EntryNotFoundError, IncompleteMatchError, MatchNotFoundError
from domain.codec import CorruptRecordError
from domain.recorder import StoreError
from domain.rules.commands import MAX_INTEGER
from domain.rules.refusal import Refusal
from domain.rules.versions import UnknownRulesError
from projections.views import ProjectionError, RebuildNeededError, ViewsError
from replays.files import DamagedFileError
from replays.reading import DamageError
from soulrift import analytics, arguments, disputes, evidence, files, logs, questions, simulations, store
from soulrift.terminal import Output, complain, discard_output, use_utf8

if TYPE_CHECKING:
    from soulrift import handing_out


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=arguments.example("play examples/long-duel.jsonl"),
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


@main.command(epilog=arguments.example("play examples/long-duel.jsonl --db games.db"))
@click.argument("script", type=click.File("rb"))
@arguments.db
@arguments.form("text", "json")
@click.option("--keep-going", is_flag=True, help="Report each refusal and go on; the exit status is 1 all the same.")
@click.option(
    "--batch",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Store N commands at a time, all or none of them: faster, and told later.",
)
@click.option("--match", type=arguments.Name(), help="Go on with this match: the script has no start_match.")
@click.option(
    "--checkpoints",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Sign a checkpoint at each turn and at the end, as a file in this folder; made where missing.",
)
@click.option(
    "--checkpoint-every",
    "every",
    type=click.IntRange(1),
    metavar="N",
    help="And after every N entries, if signed at all.",
)
@arguments.signer
@arguments.keys
def play(
    script: BinaryIO,
    db: str,
    form: str,
    keep_going: bool,
    batch: int,
    match: str | None,
    checkpoints: Path | None,
    every: int | None,
    signer: str | None,
    folder: Path,
) -> None:
    """Play a match script (one JSON command a line; - for standard input) into the store.

    Stops at the first refusal, with its line number; every line before it is kept.
    """
    from soulrift import playing

    handed_out = _handed_out(checkpoints, folder, signer) if checkpoints is not None else None
    with store.open_to_write(db) if match is None else store.open_to_go_on(db) as matches:
        if handed_out:
            handed_out.hand_out(matches, every or 0)
        steps = playing.play(matches, script, script.name, keep_going=keep_going, batch=batch, match=match)
        clean = playing.as_json(matches, steps) if form == "json" else playing.tell(matches, steps, script.name, match)
    if not clean or (handed_out and handed_out.failed):
        sys.exit(1)


def _handed_out(checkpoints: Path, keys: Path, signer: str | None) -> "handing_out.Folder":
    """The folder for checkpoints, made once there is a key that signs them."""
    from soulrift import handing_out, keyrings

    key = keyrings.signer(keys, signer)
    try:
        checkpoints.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"no folder {checkpoints} can be made: {error.strerror or error}"
        raise click.UsageError(message) from None
    return handing_out.Folder(checkpoints, key)


@main.command(epilog=arguments.example("show long-duel --at 40"))
@click.argument("match", type=arguments.Name())
@click.option("--at", type=int, metavar="N", help="After entry N instead of now; 1 is the first.")
@arguments.db
@arguments.form("text", "json")
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


@main.command(epilog=arguments.example("events long-duel"))
@click.argument("match", type=arguments.Name())
@arguments.db
@arguments.form("text", "json")
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


@main.command(epilog=arguments.example("quote long-duel --player ilse --amount 3"))
@click.argument("match", type=arguments.Name())
@click.option("--player", type=arguments.Name(), required=True, help="Who would pay.")
@click.option("--amount", required=True, type=int, metavar="N", help="The cost: Soulrift N.")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="How many to list.")
@arguments.db
@arguments.form("text", "json")
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


@main.command(epilog=arguments.example("init --db postgresql://localhost/games"))
@arguments.db
def init(db: str) -> None:
    """Make a store where there is none, and say which rights it needs. A store that is there stays as it is."""
    from soulrift import upkeep

    upkeep.init(db)


@main.command(epilog=arguments.example("check --db games.db"))
@arguments.db
@arguments.form("text", "json")
def check(db: str, form: str) -> None:
    """Read the whole store, play every command again, and prove that it is sound; it is left as it is.

    Exit status: 0 sound, 1 diverged (events that do not follow from their commands), 3 unverifiable (written by a newer
    version), 4 damaged.
    """
    from soulrift import checking

    sys.exit(checking.check(db, form))


@main.command(epilog=arguments.example("backup games-monday.db --db games.db"))
@click.argument("dest", type=click.Path(path_type=Path))
@arguments.db
def backup(dest: Path, db: str) -> None:
    """Copy the store to DEST while others play into it."""
    from soulrift import upkeep

    upkeep.back_up(db, dest)


for room in (questions, evidence, files, disputes, simulations, analytics):
    for command in room.COMMANDS:
        main.add_command(command)


def _words(error: Exception) -> str:
    """What an error says; of rights that PostgreSQL misses, what to do, and not the statement."""
    words = str(error)
    if words.startswith("permission denied for "):
        return f"{words.splitlines()[0]}; `soulrift init` tells the rights that roles need"
    return words


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
        IncompleteMatchError,
        UnknownRulesError,
        DamageError,
        DamagedFileError,
        CorruptRecordError,
        StoreError,
        ViewsError,
        RebuildNeededError,
        ProjectionError,
        PersistenceError,
        sqlite3.Error,
        TimeoutError,
        OSError,
    ) as error:
        status = _failed(f"error: {_words(error)}", error)
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
