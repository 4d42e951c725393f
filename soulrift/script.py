"""Match scripts: files with one command a line (JSON Lines), as a game server writes them."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from domain.rules.refusal import FORBIDDEN
from domain.rules.strict_json import MAX_LINE_BYTES

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def commands(script: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that hold a command, with their numbers from 1 up.

    Empty lines and lines that start with `#` are passed over. Of a line longer than any command only the beginning is
    read into memory: enough to be refused for its length.
    """
    number = 0
    while line := script.readline(MAX_LINE_BYTES + 3):
        number += 1
        if not line.endswith(b"\n"):
            _skip_rest_of_line(script)
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if (line.strip(b" \t\r") or len(line) > MAX_LINE_BYTES) and not line.startswith(b"#"):
            yield number, line


def _skip_rest_of_line(script: BinaryIO) -> None:
    while (rest := script.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
        pass


def name_from(path: str) -> str:
    """The name of the match in a script whose `start_match` gives none: the file's stem, as far as a name can be it."""
    stem = "stdin" if path in {"-", "<stdin>"} else Path(path).stem
    return FORBIDDEN.sub("_", stem)[:64] or "match"
