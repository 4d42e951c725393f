"""Commands of one match that are judged together, and what comes of each."""

import logging
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from domain.entry import Entry
from domain.match import Match
from domain.recorder import log
from domain.rules.commands import AnyCommand, Command
from domain.rules.refusal import Refusal, bad_input, quoted
from domain.rules.shape import decode_command


class Answer(Struct, frozen=True):
    """What a command led to, in which match.

    `repeated`: it was a retry; the entry is that of the first time, and nothing was appended.
    """

    match: str
    entry: Entry
    repeated: bool


Outcome = Answer | Refusal
"""What became of a command."""


class Batch:
    """Commands of one match that are judged together: what came of them, and what is to be appended."""

    def __init__(self, name: str, *, new: bool) -> None:
        self.name = name
        self.new = new
        self.match: Match | None = None
        self.before = 0
        self.outcomes: list[Outcome] = []
        self.made: dict[str | None, Entry] = {}
        self.command_ids: list[tuple[str, str, int]] = []


def judged(match: Match, command: AnyCommand, *, taken: bool) -> Entry:
    """The entry of a command for a match that has as many entries as its sender believes.

    `taken`: the match was to be a new one, and is not.
    """
    entries = match.state.entries
    expect = command.meta.expect if command.meta else None
    if expect is not None and expect != entries:
        raise bad_input("/meta/expect", f"{expect} entries are expected, but {match.id} has {entries}", entries=entries)
    if taken:
        raise bad_input(
            "/match", f"there is a match {quoted(match.id)} already; choose another name, or go on with it by meta.id"
        )
    return match.give(command)


def log_outcomes(match: str, outcomes: Sequence[Outcome]) -> None:
    """Say what became of commands, to those who want to hear that much."""
    if log.isEnabledFor(logging.DEBUG):
        for outcome in outcomes:
            if isinstance(outcome, Refusal):
                log.debug("refused", extra={"match": match, "rule": outcome.rule, "path": outcome.path})
            else:
                what = {"match": match, "entry": outcome.entry.number, "repeated": outcome.repeated}
                log.debug("accepted", extra=what)


def command_or_refusal(command: AnyCommand | bytes | str) -> AnyCommand | Refusal:
    """A command from its JSON, or why it is none."""
    try:
        return well_formed(command)
    except Refusal as refusal:
        return refusal


def well_formed(command: AnyCommand | bytes | str) -> AnyCommand:
    """A command from its JSON; one that was made in Python passes the same edge.

    Raises:
        Refusal: by "input", with the path of the field.

    """
    if not isinstance(command, Command | bytes | str):
        message = f"a command is JSON text or a Command, not a {type(command).__name__}"  # type: ignore[unreachable]  # callers do
        raise TypeError(message)
    if isinstance(command, Command):
        try:
            command = msgspec.json.encode(command)
        except TypeError as error:
            raise bad_input("", f"not a command: {error}") from None
    return decode_command(command)
