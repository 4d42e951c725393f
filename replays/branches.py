"""What if: the recorded commands played on changed ground, and what that leads to. Nothing is written."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from domain.codec import CorruptRecordError
from domain.rules import AnyCommand, AnyEvent, Refusal, State, decode_command
from domain.rules.commands import StartMatch, tag_of
from domain.rules.shape import as_a_whole
from domain.rules.versions import rules_of
from replays.diff import Standing, standing
from replays.differences import Difference, differences_of
from replays.stepping import take


class Change(Struct, frozen=True):
    """What is otherwise: another command `instead` of that of entry `at`, other fields of the ruleset, other rules."""

    at: int | None = None
    instead: AnyCommand | None = None
    ruleset: dict[str, Any] = {}
    rules: int | None = None


class Illegal(Struct, frozen=True):
    """A recorded command that is refused on the changed ground, and left out there."""

    entry: int
    command: str
    rule: str
    message: str


class Changed(Struct, frozen=True):
    """An entry whose command now leads to something else: where its events differ, but for numbers and for what they
    leave behind (`life`), which go on differing once something has.
    """

    entry: int
    command: str
    differences: tuple[Difference, ...]


class WhatIf(Struct, frozen=True):
    """What a change leads to: what becomes illegal, which entries have other events, and how both stand in the end."""

    illegal: tuple[Illegal, ...]
    changed: tuple[Changed, ...]
    recorded: Standing
    otherwise: Standing


class _Recorded(Struct, gc=False):
    command: AnyCommand
    entry: int


_recorded = msgspec.json.Decoder(_Recorded).decode


def what_if(lines: Iterable[bytes], change: Change) -> WhatIf:
    """Play a recording, from the lines of its entries, with a change.

    Raises:
        Refusal: the change itself is refused.
        UnknownRulesError: there are no rules of the version asked for.
        CorruptRecordError: a line cannot be read, or does not follow from those before.

    """
    state, other = State(), State()
    illegal, changed = list[Illegal](), list[Changed]()
    for line in lines:
        events = take(line, state)
        recorded = _recorded_command(line, state.entries)
        if recorded.entry == 1:
            other.rules = state.rules if change.rules is None else change.rules
        command, told = _command(recorded, change), tag_of(type(recorded.command).__name__)
        try:
            otherwise = rules_of(other.rules).decide(other, command)
        except Refusal as refusal:
            if command is not recorded.command:
                raise
            illegal.append(Illegal(recorded.entry, told, refusal.rule, refusal.message))
            continue
        rules_of(other.rules).fold(otherwise, other)
        differences = tuple(differences_of(_facts(events), _facts(otherwise)))
        if command is recorded.command and differences:
            changed.append(Changed(recorded.entry, told, differences))
    return WhatIf(tuple(illegal), tuple(changed), standing(state), standing(other))


def _recorded_command(line: bytes, number: int) -> _Recorded:
    try:
        recorded = _recorded(line)
        return _Recorded(as_a_whole(recorded.command), recorded.entry)
    except (msgspec.MsgspecError, RecursionError, Refusal) as error:
        message = f"the command of entry {number} cannot be read: {error}"
        raise CorruptRecordError(message) from None


def _command(recorded: _Recorded, change: Change) -> AnyCommand:
    """The command of an entry on the changed ground."""
    command = recorded.command
    if change.instead is not None and recorded.entry == change.at:
        command = change.instead
    if isinstance(command, StartMatch) and isinstance(recorded.command, StartMatch):
        if command.match is UNSET:
            command = msgspec.structs.replace(command, match=recorded.command.match)
        if change.ruleset:
            start = msgspec.to_builtins(command)
            start["ruleset"] = {**(start.get("ruleset") or {}), **change.ruleset}
            command = decode_command(msgspec.json.encode(start))
    return command


_PASSED_OVER = {"entry", "n", "number", "entered", "soul", "payment", "rift", "life"}


def _facts(events: Iterable[AnyEvent]) -> Any:
    """What happened, without numbers that follow from what came before."""
    return _without_numbers(msgspec.to_builtins(tuple(events)))


def _without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_numbers(inner) for key, inner in value.items() if key not in _PASSED_OVER}
    return [_without_numbers(inner) for inner in value] if isinstance(value, list | tuple) else value
