"""What if: the recorded commands played on changed ground, and what that leads to. Nothing is written."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from domain.rules import AnyCommand, AnyEvent, Refusal, State, decode_command
from domain.rules.commands import tag_of
from domain.rules.events import MatchStarted
from domain.rules.versions import rules_of
from replays.diff import Standing, standing
from replays.stepping import events_of


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
    """An entry whose command now leads to other events; by their types, as recorded and as they would be."""

    entry: int
    command: str
    recorded: tuple[str, ...]
    otherwise: tuple[str, ...]


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
        msgspec.MsgspecError: a line cannot be read.

    """
    state, other = State(), State()
    illegal, changed = list[Illegal](), list[Changed]()
    for line in lines:
        recorded, events = _recorded(line), events_of(line)
        if recorded.entry == 1:
            state.rules = events[0].rules if isinstance(events[0], MatchStarted) else state.rules
            other.rules = change.rules or state.rules
        rules_of(state.rules).fold(events, state)
        command, told = _command(recorded, change), tag_of(type(recorded.command).__name__)
        try:
            otherwise = rules_of(other.rules).decide(other, command)
        except Refusal as refusal:
            if command is not recorded.command:
                raise
            illegal.append(Illegal(recorded.entry, told, refusal.rule, refusal.message))
            continue
        rules_of(other.rules).fold(otherwise, other)
        if command is recorded.command and list(map(_fact, events)) != list(map(_fact, otherwise)):
            changed.append(Changed(recorded.entry, told, _types(events), _types(otherwise)))
    return WhatIf(tuple(illegal), tuple(changed), standing(state), standing(other))


def _command(recorded: _Recorded, change: Change) -> AnyCommand:
    """The command of an entry on the changed ground."""
    if change.instead is not None and recorded.entry == change.at:
        return change.instead
    if recorded.entry == 1 and change.ruleset:
        start = msgspec.to_builtins(recorded.command)
        return decode_command(msgspec.json.encode({**start, "ruleset": {**start.get("ruleset", {}), **change.ruleset}}))
    return recorded.command


def _fact(event: AnyEvent) -> AnyEvent:
    """What happened, wherever it stands in the record."""
    return msgspec.structs.replace(event, entry=0, n=0)


def _types(events: Iterable[AnyEvent]) -> tuple[str, ...]:
    return tuple(tag_of(type(event).__name__) for event in events)
