"""Commands of one match that are judged together, and what comes of each."""

import json
import logging
import secrets
from collections.abc import Callable, Sequence
from operator import attrgetter

import msgspec
from msgspec import Struct

from domain.entry import Entry
from domain.match import Match
from domain.privacy import SALT_BYTES, Opening, opened, opening, replaced
from domain.recorder import log
from domain.rules.commands import AnyCommand, Command, StartMatch
from domain.rules.refusal import Refusal, bad_input, quoted
from domain.rules.shape import decode_command


class Answer(Struct, frozen=True, gc=False):
    """What a command led to, in which match.

    `repeated`: it was a retry; the entry is that of the first time, and nothing was appended.
    """

    match: str
    entry: Entry
    repeated: bool


Outcome = Answer | Refusal
"""What became of a command."""


class Commitments:
    """What stands for names and actors in the commands of a private match, and the openings that it leaves to keep."""

    def __init__(self, known: Callable[[], Sequence[Opening]], *, recorded: bool = False) -> None:
        """`known` are the openings that there are, asked for once a name is there.

        In commands that are `recorded` commitments stand already: of those the openings are kept.
        """
        self.kept: dict[str, Opening] = {}
        """By commitment."""
        self._ask, self._recorded = known, recorded
        self._known: Sequence[Opening] | None = None
        self._by_text: dict[str, Opening] = {}
        self._used: dict[str, Opening] = {}

    def hide(self, command: AnyCommand) -> AnyCommand:
        """A command as it is to be recorded; what it needs is kept if it is accepted."""
        self._used = {}
        return replaced(command, self._stand_in)

    def keep(self) -> None:
        """Keep what the last command needed."""
        self._by_text |= self._used
        self.kept |= {each.commitment: each for each in self._used.values()}

    def shown(self, command: AnyCommand) -> AnyCommand:
        """A recorded command as it was given, as far as that is known."""
        return command if self._recorded else opened(command, [*self._openings(), *self.kept.values()])

    def _stand_in(self, text: str) -> str:
        """One commitment for each value: the one that it has, else a new one. What is recorded stays."""
        self._openings()
        found = self._by_text.get(text) or self._used.get(text)
        if self._recorded:
            self._used |= {text: found} if found else {}
            return text
        if found is None:
            found = self._used[text] = opening(secrets.token_bytes(SALT_BYTES), text)
        return found.commitment

    def _openings(self) -> Sequence[Opening]:
        if self._known is None:
            self._known = self._ask()
            text_of = attrgetter("commitment" if self._recorded else "value")
            self._by_text = {text_of(each): each for each in reversed(self._known)}
        return self._known


class Batch:
    """Commands of one match that are judged together: what came of them, and what is to be appended."""

    def __init__(self, name: str, commitments: Commitments, *, new: bool) -> None:
        self.name = name
        self.commitments = commitments
        self.new = new
        self.match: Match | None = None
        self.before = 0
        self.outcomes: list[Outcome] = []
        self.made: dict[str | None, Entry] = {}
        self.command_ids: list[tuple[str, str, int]] = []

    def give(self, match: Match, command: AnyCommand) -> Entry:
        """Give the match a command that is new to it; in a private match its entry names nobody.

        Raises:
            Refusal: it is refused; nothing is left of it.

        """
        private = match.state.private or (isinstance(command, StartMatch) and command.private)
        recorded = self.commitments.hide(command) if private else command
        entry = judged(match, recorded, taken=self.new and self.before > 0)
        if private:
            self.commitments.keep()
        command_id = command.meta.id if command.meta else None
        if command_id:
            self.made[command_id] = entry
            self.command_ids.append((self.name, command_id, entry.events[0].n))
        return entry


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
        except UnicodeEncodeError:  # a lone surrogate, which is refused where it stands
            command = json.dumps(msgspec.to_builtins(command))
        except TypeError as error:
            raise bad_input("", f"not a command: {error}") from None
    return decode_command(command)
