"""`soulrift ruling`: what a judge's ruling would change, and then the ruling itself (J-1 to J-3)."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import click
import msgspec
from msgspec import Struct
from rich.text import Text

from domain.application import Matches
from domain.entry import Entry, play
from domain.rules import State, decode_command
from domain.rules.events import SoulburnTaken
from replays.differences import Difference, differences_of
from soulrift import keyrings, store
from soulrift.notation import Names, Notation
from soulrift.terminal import Output
from soulrift.verifying import differences_table


class Change(Struct, frozen=True):
    """A place in the state, as a JSON Pointer, with what is there before the ruling and after it."""

    path: str
    before: Any
    after: Any


class Preview(Struct, frozen=True):
    """A ruling as a command, the events that it leads to, and what it changes in the state."""

    command: msgspec.Raw
    events: list[msgspec.Raw]
    changes: tuple[Change, ...]
    given: bool


def rule(match: str, ruling: dict[str, Any], db: str, form: str, *, give: bool) -> None:
    """Tell what a ruling changes; and give it, if that is wanted.

    Raises:
        Refusal: it is refused.
        click.UsageError: it is about an entry that is not there; or it corrects nothing.

    """
    with store.open_to_go_on(db) if give else store.open_to_read(db) as matches:
        before = matches.state(match)
        _see_entry(before, ruling["about"])
        if not ruling["corrections"]:
            raise click.UsageError(_nothing(matches, match, ruling["about"]))
        given = {"id": _id(ruling), "expect": before.entries, **({"at": keyrings.now()} if give else {})}
        command = decode_command(msgspec.json.encode({"type": "ruling", **ruling, "meta": given}))
        after = before.copy()
        entry = play(after, command)
        if give:
            answer = matches.give(match, command)
            if answer.repeated:
                message = f"this very ruling was given already, in entry {answer.entry.number}; nothing was appended"
                raise click.UsageError(message)
            entry = answer.entry
    _tell(before, after, entry, form, given=give)


def _id(ruling: dict[str, Any]) -> str:
    """What makes a ruling that is given twice one: the same words are the same ruling."""
    return f"ruling {sha256(msgspec.json.encode(ruling, order='sorted')).hexdigest()[:32]}"


def _see_entry(state: State, about: int | None) -> None:
    if about is not None and not 1 <= about <= state.entries:
        message = f"{state.match} has the entries 1 to {state.entries}, not {about}"
        raise click.BadParameter(message, param_hint="--about")


def _nothing(matches: Matches, match: str, about: int | None) -> str:
    """That there is nothing to correct, and what would give back the life that burned in the entry."""
    burned = [
        event
        for entry in matches.entries(match)
        if entry.number == about
        for event in entry.events
        if isinstance(event, SoulburnTaken)
    ]
    message = "say what is to be corrected, with --correct"
    if not burned:
        return message
    back = ({"life": {"delta": event.damage, "player": event.player}} for event in burned)
    told = " ".join(f"--correct '{msgspec.json.encode(each).decode()}'" for each in back)
    return f"{message}; what burned in entry {about} is given back by {told}"


def _changes(before: State, after: State) -> Iterator[Difference]:
    """The changes of a state, but for its counts and its hash."""
    for change in differences_of(before.view(), after.view()):
        if change.path not in {"/entries", "/state_hash"}:
            yield change


def _tell(before: State, after: State, entry: Entry, form: str, *, given: bool) -> None:
    output = Output()
    changes = tuple(_changes(before, after))
    if form == "json":
        events = [msgspec.Raw(event) for event in entry.event_jsons]
        told = tuple([Change(each.path, each.expected, each.found) for each in changes])
        output.data(Preview(msgspec.Raw(entry.command_json), events, told, given))
    else:
        for line in _lines(before, entry, changes, given=given):
            output.line(line)
    output.end()


def _lines(before: State, entry: Entry, changes: tuple[Difference, ...], *, given: bool) -> Iterator[Text | str]:
    yield Notation(Names.of(before)).line(entry)
    yield Text("The ruling changes:" if given else "The ruling would change:", style="bold")
    yield from differences_table(changes, "before", "after", "in the state")
    if not given:
        yield Text("Nothing is recorded yet: --give appends the ruling. As a command, for play --match:", style="dim")
        yield entry.command_json.decode()


def correction(text: str) -> Any:
    """A correction from its JSON.

    Raises:
        click.BadParameter: it is none.

    """
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        message = f'{text} is no JSON object: {error}; one is {{"life":{{"player":"ada","delta":3}}}}'
        raise click.BadParameter(message, param_hint="--correct") from None
