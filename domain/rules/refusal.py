"""How the rules say no.

Lives here: the one exception that a refused command raises. A refusal is an answer, not an accident: it names the rule,
says in a player's words what is wrong with this very command, and carries the figures of its message for programs.
"""

import re
from typing import Any

import msgspec

FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""A character that no text of a command may hold: a control character, or a lone surrogate."""

LONGEST_PATH = 200
"""How much of a JSON Pointer is shown to people."""


class Refusal(Exception):  # noqa: N818 - a refusal is an answer of the game, not an error of the program
    """A command that is not accepted. Nothing has changed and nothing was appended.

    `rule` is a number of the rule book ("P-5") or "input"; `path` is a JSON Pointer to the field of an "input"
    refusal ("" for the whole command), null otherwise; `details` holds the figures of the message.
    """

    def __init__(self, rule: str, message: str, path: str | None = None, **details: Any) -> None:
        super().__init__(rule, message, path)
        self.rule = rule
        self.message = message
        self.path = path
        self.details = details

    def __str__(self) -> str:
        """In one line for people: rule, place, message."""
        path = printable(self.path or "")
        place = f" at {path if len(path) <= LONGEST_PATH else path[:LONGEST_PATH] + '…'}" if path else ""
        return f"{self.rule}{place}: {self.message}"

    def view(self) -> dict[str, Any]:
        """The refusal as it stands on the wire: `rule`, `message`, `path`, `details`."""
        return {"rule": self.rule, "message": self.message, "path": self.path, "details": self.details}


def bad_input(path: str, message: str, **details: Any) -> Refusal:
    """A refusal of the command itself: unreadable, out of place, or naming what is not there."""
    return Refusal("input", message, path, **details)


def pointer(*keys: str | int) -> str:
    """A JSON Pointer (RFC 6901) to the value under these keys, with characters spelled out that no text may hold."""
    return "".join("/" + FORBIDDEN.sub(_spelled, str(key)).replace("~", "~0").replace("/", "~1") for key in keys)


def _spelled(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def printable(text: str) -> str:
    """`text` with all that cannot be seen spelled out, so that it may be shown and encoded."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\u200d" else c.encode("unicode_escape").decode() for c in text)


def quoted(value: object, limit: int = 60) -> str:
    """A value of a command as JSON, cut to `limit` characters, to be quoted in a message."""
    if isinstance(value, str):
        text = '"' + printable(value[: limit + 1]) + '"'
    else:
        try:
            text = msgspec.json.encode(value).decode()
        except (TypeError, UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
            text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"
