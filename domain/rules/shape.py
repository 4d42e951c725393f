"""The edge: from a line of JSON to a command, strictly.

Lives here: everything that can be said of a command without looking at a match. msgspec reads the line and judges the
types. Where it refuses, or may have passed something over, `strict_json.py` reads the line again and `faults.py` finds
the field. What no single field can say is judged below.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET

from domain.rules import commands as c
from domain.rules.faults import command_type, faults, with_shared_parts
from domain.rules.lookups import named_twice
from domain.rules.refusal import bad_input, pointer, printable, quoted
from domain.rules.ruleset import ChosenRuleset
from domain.rules.strict_json import MAX_LINE_BYTES, Key, parse


def decode_command(line: bytes | str) -> c.AnyCommand:
    """The command that this JSON text holds, in its normal form: fields at their default left out.

    Raises:
        Refusal: by "input", with the path of the field.

    """
    return as_a_whole(_at_once(line) or _searched(line))


_decode = msgspec.json.Decoder(c.AnyCommand).decode
_encode = msgspec.json.Encoder().encode


def _at_once(line: bytes | str) -> c.AnyCommand | None:
    """The command of a line that msgspec reads, if it passed nothing over; else null.

    What it would pass over is a key that is given twice, and an unknown field in parts that events share. But spaces
    apart, no command's JSON is longer than what the command was read from: a field stands in it once, and not at all
    where it is at its default, and no number or text has a shorter form. If it is as long, all of the line is in it.
    """
    if isinstance(line, str):
        line = line.encode("utf-8", "surrogatepass")
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        command: c.AnyCommand = _decode(line)
    except (msgspec.MsgspecError, RecursionError):
        return None
    json = _encode(command)
    return command if len(json) - json.count(b" ") == len(line) - line.count(b" ") else None


def _searched(line: bytes | str) -> c.AnyCommand:
    """The command of any line, found field by field, so that the first fault can be told."""
    value = parse(line)
    kind = command_type(value)  # msgspec would look through the union of all of them, each time anew
    try:
        command: c.AnyCommand = msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise next(faults(value, kind, ()), None) or bad_input("", printable(str(error))) from None
    if type(command) in with_shared_parts():
        for fault in faults(value, type(command), ()):
            raise fault
    return command


def as_a_whole(command: c.AnyCommand) -> c.AnyCommand:
    """A command whose fields have their types, judged as a whole and brought to its normal form."""
    if command.meta is not None:
        if command.meta.at is not None:
            _rfc3339(command.meta.at)
        if command.meta == c.CommandMeta():
            command = msgspec.structs.replace(command, meta=None)
    check = _WHOLE.get(type(command))
    return check(command) if check else command


_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:)(\d\d)(?:\.\d+)?(?:[Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)


def _rfc3339(at: str) -> None:
    found = _RFC3339.fullmatch(at)
    try:  # the calendar knows which days there are; a leap second is one that it does not know
        known = found is not None and datetime.fromisoformat(found[1] + found[2].replace("60", "59"))
    except ValueError:
        known = False
    if not known:
        raise bad_input("/meta/at", f"must be an RFC 3339 time with its offset, not {quoted(at)}")


def _each_once(values: Sequence[object], *path: Key, under: str | None = None) -> None:
    index = named_twice(values)
    if index is not None:
        place = pointer(*path, index, under) if under else pointer(*path, index)
        raise bad_input(place, f"{quoted(values[index])} is named twice")


def _either(command: c.Command, first: str, second: str) -> None:
    has_first, has_second = getattr(command, first) is not UNSET, getattr(command, second) is not UNSET
    if not has_first and not has_second:
        raise bad_input(pointer(first), f"{first} or {second} is missing: name one of them")
    if has_first and has_second:
        raise bad_input(pointer(second), f"{first} is given already: name either {first} or {second}, not both")


def _start_match(command: c.StartMatch) -> c.StartMatch:
    _each_once([new.player for new in command.players], "players", under="player")
    if command.ruleset == ChosenRuleset():
        return msgspec.structs.replace(command, ruleset=None)
    return command


def _take_event(command: c.TakeEvent) -> c.TakeEvent:
    if command.event == c.RIFT_SUMMONING:
        raise bad_input("/event", "Rift Summoning is taken by open_rift, which says how it is paid")
    return command


def _enter(command: c.Enter) -> c.Enter:
    if command.kind == "other":
        if command.rank is not None:
            raise bad_input("/rank", "only a creature has a rank")
        if command.soulless:
            raise bad_input("/soulless", "only a creature can be Soulless")
    return msgspec.structs.replace(command, owner=UNSET) if command.owner == command.controller else command


def _summon(command: c.Summon) -> c.Summon:
    if command.owner == command.player:
        command = msgspec.structs.replace(command, owner=UNSET)
    return msgspec.structs.replace(command, deck=UNSET) if command.deck == c.deck_of(command.rank) else command


def _destroy(command: c.Destroy) -> c.Destroy:
    _each_once(command.cards, "cards")
    modifiers = command.modifiers
    if not modifiers:
        return command
    cards = frozenset(command.cards)
    for index, modifier in enumerate(modifiers):
        if modifier.card not in cards:
            raise bad_input(
                pointer("modifiers", index, "card"), f"{quoted(modifier.card)} is not among the destroyed cards"
            )
        if modifier.name == "sealed":
            raise bad_input(pointer("modifiers", index, "name"), "the engine adds the modifier sealed by itself")
    twice = named_twice([(modifier.card, modifier.name) for modifier in modifiers])
    if twice is not None:
        modifier = modifiers[twice]
        raise bad_input(
            pointer("modifiers", twice, "name"),
            f"the modifier {quoted(modifier.name)} is named twice for {quoted(modifier.card)}",
        )
    return command


def _reap(command: c.Reap) -> c.Reap:
    _each_once(command.souls, "souls")
    return command


def _pay(command: c.Pay) -> c.Pay:
    _either(command, "effect", "cost")
    return command


def _fizzle(command: c.Fizzle) -> c.Fizzle:
    _either(command, "payment", "effect")
    return command


def _change_life(command: c.ChangeLife) -> c.ChangeLife:
    _each_once([change.player for change in command.changes], "changes", under="player")
    return command


def _ruling(command: c.Ruling) -> c.Ruling:
    for index, correction in enumerate(command.corrections):
        kinds = [name for name in correction.__struct_fields__ if getattr(correction, name) is not UNSET]
        if len(kinds) != 1:
            told = "has nothing to correct" if not kinds else f"must be one of {', '.join(kinds)}"
            raise bad_input(pointer("corrections", index), f"this correction {told}; name exactly one thing")
        _one_correction(correction, pointer("corrections", index, kinds[0]))
    return command


def _one_correction(correction: c.Correction, path: str) -> None:
    if correction.rift is not UNSET:
        if (correction.rift.close is UNSET) == (correction.rift.highest is UNSET):
            raise bad_input(path, "either highest or close, just one of them")
        if correction.rift.close is False:
            raise bad_input(path + "/close", "must be true")
    if (
        correction.result is not UNSET
        and correction.result.status == "running"
        and correction.result.winner is not None
    ):
        raise bad_input(path + "/winner", "a running match has no winner")


_WHOLE: dict[type[c.Command], Callable[[Any], Any]] = {
    c.StartMatch: _start_match,
    c.TakeEvent: _take_event,
    c.Enter: _enter,
    c.Summon: _summon,
    c.Destroy: _destroy,
    c.Reap: _reap,
    c.Pay: _pay,
    c.Fizzle: _fizzle,
    c.ChangeLife: _change_life,
    c.Ruling: _ruling,
}
