"""What goes to standard output and standard error: colour on a terminal, plain text in a pipe, UTF-8 everywhere."""

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from rich.console import Console
from rich.progress import Progress, TaskID, track
from rich.text import Text

T = TypeVar("T")


_BREAKING = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSEEN = {code: f"\\u{code:04x}" for code in _BREAKING}
"""Characters that a terminal obeys, that break a line, or turn the direction of text, spelled out for people."""


def spelled_out(text: str) -> str:
    """A text in which such characters are."""
    return text.translate(_UNSEEN)


_encode = msgspec.json.Encoder().encode


def use_utf8() -> None:
    """Let no name, in whatever script, fail at a terminal or pipe of another encoding."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


class Output:
    """Lines on standard output.

    With `must_go_on`, work is finished when nobody reads on or the disk is full; `lost` then holds the error.
    """

    def __init__(self, *, must_go_on: bool = False) -> None:
        self.lost: OSError | None = None
        self._must_go_on = must_go_on
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=True)

    def line(self, text: Text | str = "") -> None:
        """Write one line."""
        if self.lost:
            return
        plain = text.plain if isinstance(text, Text) else text
        seen = spelled_out(plain)
        try:
            if self._console.is_terminal:
                self._console.print(text if seen == plain else Text(seen))
            else:
                sys.stdout.write(seen + "\n")
        except OSError as error:
            self._lose(error)

    def data(self, value: object) -> None:
        """Write a value as one line of JSON."""
        self.json(_encode(value))

    def json(self, encoded: bytes) -> None:
        """Write JSON as one line, byte for byte."""
        if self.lost:
            return
        try:
            sys.stdout.write(encoded.decode() + "\n")
        except OSError as error:
            self._lose(error)

    def end(self) -> None:
        """See everything written."""
        try:
            sys.stdout.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        self.lost = error
        discard_output()
        if not self._must_go_on:
            raise error


def discard_output() -> None:
    """Send what is still to be printed nowhere, so that the interpreter's own last flush is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def progress(steps: Iterable[T], what: str) -> Iterable[T]:
    """The same steps, with a bar on standard error if that is a terminal, for what prints nothing until it is done."""
    console = Console(stderr=True)
    return track(steps, what, total=None, console=console, transient=True, disable=not sys.stderr.isatty())


class Bar:
    """What is told how far work has come."""

    def __init__(self, shown: Progress, task: TaskID) -> None:
        self._shown = shown
        self._task = task

    def __call__(self, done: int, total: int | None, *, absolute: bool = False) -> None:
        """`done` more of `total`, or `done` in all."""
        if absolute:
            self._shown.update(self._task, completed=done, total=total)
        else:
            self._shown.update(self._task, advance=done, total=total)


@contextmanager
def bar(what: str, *, worth_it: bool = True) -> Iterator[Bar]:
    """A bar on standard error, if that is a terminal, for work whose size is known and `worth_it`."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not (worth_it and sys.stderr.isatty())) as shown:
        yield Bar(shown, shown.add_task(what, total=None))


def complain(message: str) -> None:
    """Write one line to standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(spelled_out(message), style="red"))
