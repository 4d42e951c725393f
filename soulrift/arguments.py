"""What commands of the command line have in common: how a name is read, which store, which form of an answer."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from soulrift import store

Command = TypeVar("Command", bound=Callable[..., Any])


class Name(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """A name, in UTF-8 whatever the locale makes of arguments."""

    name = "text"

    def convert(self, value: str, *_: object) -> str:
        """The name as it was meant."""
        return os.fsencode(value).decode("utf-8", "backslashreplace")


def db(command: Command) -> Command:
    """`--db`: the store."""
    return click.option(
        "--db",
        metavar="STORE",
        envvar="SOULRIFT_DB",
        default=store.DEFAULT,
        show_default=True,
        show_envvar=True,
        help="The store: a file, or a postgresql:// URL.",
    )(command)


def tables(command: Command) -> Command:
    """`--tables`: the folder of tables for analytics."""
    return click.option(
        "--tables",
        "address",
        metavar="DIR",
        envvar="SOULRIFT_TABLES",
        default="tables",
        show_default=True,
        show_envvar=True,
        help="The tables: a folder, or an address that fsspec knows.",
    )(command)


def form(*forms: str) -> Callable[[Command], Command]:
    """`--format`: one of these; the first unless told otherwise."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="For people, or for programs.",
    )


def example(line: str) -> str:
    """The end of a help text: the command as somebody would call it."""
    return f"\b\nExample:\n  soulrift {line}"


def keys(command: Command) -> Command:
    """`--keys`: the folder of keys."""
    return click.option(
        "--keys",
        "folder",
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="SOULRIFT_KEYS",
        default=lambda: Path(click.get_app_dir("soulrift"), "keys"),
        show_default="your configuration folder",
        show_envvar=True,
        help="The folder of keys.",
    )(command)


def signer(command: Command) -> Command:
    """`--key`: which key signs."""
    return click.option("--key", "signer", type=Name(), metavar="NAME", help="Which key signs, if several do.")(command)


def trusted(command: Command) -> Command:
    """`--key`, repeatable: the keys that are trusted, instead of those of the folder."""
    return click.option(
        "--key",
        "trusted",
        metavar="VKEY",
        multiple=True,
        help="A key that is trusted, NAME+ID+BASE64, instead of those of the folder; repeatable.",
    )(command)


note = click.Path(path_type=Path, exists=True, dir_okay=False)
"""The file of a checkpoint."""


def compared(command: Command) -> Command:
    """`--checkpoint`, repeatable, `--key` and `--keys`: what a record is compared with."""
    checkpoints = click.option(
        "--checkpoint",
        "checkpoints",
        type=note,
        multiple=True,
        metavar="NOTE",
        help="A checkpoint that the record is compared with; repeatable.",
    )
    return checkpoints(trusted(keys(command)))


def out(what: str, **more: Any) -> Callable[[Command], Command]:
    """`-o` and `--force`: into which file."""

    def with_out(command: Command) -> Command:
        force = click.option("--force", is_flag=True, help="Replace a file that is there.")
        return click.option("-o", "--out", metavar="FILE", help=what, **more)(force(command))

    return with_out


def where(command: Command) -> Command:
    """`--jobs`, `--runner` and `--scheduler`: where work is done that is cut in pieces."""
    jobs = click.option("--jobs", type=click.IntRange(1, 512), metavar="J", help="How many at once; one a processor.")
    runner = click.option(
        "--runner", type=click.Choice(("local", "processes", "dask")), help="Where; processes if there are jobs."
    )
    scheduler = click.option("--scheduler", metavar="URL", help="The Dask scheduler of a cluster.")
    return jobs(runner(scheduler(command)))


def see_scheduler(runner: str | None, scheduler: str | None) -> None:
    """See that a scheduler goes with the runner that needs one.

    Raises:
        click.UsageError: it does not.

    """
    if scheduler is not None and (runner != "dask" or not scheduler.strip()):
        message = "--scheduler belongs to --runner dask, and names an address"
        raise click.UsageError(message)
