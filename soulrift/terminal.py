"""What goes to standard output and standard error: colour on a terminal, plain text in a pipe, UTF-8 everywhere."""

import io
import sys
from collections.abc import Iterable
from typing import TypeVar

import msgspec
from rich.console import Console
from rich.progress import track
from rich.text import Text

from domain.rules.refusal import Refusal

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


def use_utf8() -> None:
    """Let no name, in whatever script, fail at a terminal or pipe of another encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


class Output:
    """Lines of text on standard output."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=True)

    def line(self, text: Text | str = "") -> None:
        """Write one line."""
        if self._console.is_terminal:
            self._console.print(text)
        else:
            sys.stdout.write(f"{text.plain if isinstance(text, Text) else text}\n")

    def data(self, value: object) -> None:
        """Write a value as one line of JSON."""
        sys.stdout.write(_encode(value).decode() + "\n")


def progress(steps: Iterable[T], what: str) -> Iterable[T]:
    """The same steps, with a bar on standard error if that is a terminal, for what prints nothing until it is done."""
    console = Console(stderr=True)
    return track(steps, what, total=None, console=console, transient=True, disable=not console.is_terminal)


def complain(message: str) -> None:
    """Write one line to standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(message, style="red"))


def told(refusal: Refusal) -> str:
    """A refusal in one line: rule, place, message."""
    place = f" at {refusal.path}" if refusal.path else ""
    return f"{refusal.rule}{place}: {refusal.message}"
