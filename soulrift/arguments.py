"""What commands of the command line have in common: how a name is read, which store, which form of an answer."""

import os
from collections.abc import Callable
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
