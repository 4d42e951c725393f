"""`soulrift replay`, `diff` and `whatif`: recordings as people look at them."""

import sys
from collections.abc import Iterator

import click
from rich.text import Text

from replays import branches
from replays.branches import Change, Changed, WhatIf
from replays.diff import Diff, Standing
from replays.diff import diff as diff_of
from replays.stepping import Steps
from soulrift.board import board, table
from soulrift.notation import Names, Notation
from soulrift.recordings import lines_of
from soulrift.terminal import Output, complain
from soulrift.verifying import differences_table, entries_told, shown

MOST_LISTED = 20
"""So many commands that become illegal, and entries that go otherwise, are listed for people."""

MOST_TOLD = 3
"""So many differences of an entry are told."""


def replay(
    name: str, db: str, match: str | None, *, at: int | None, first: int | None, last: int | None, form: str
) -> None:
    """Show a recording: the board after entry `at`, or the entries from `first` to `last`; or step through it."""
    with lines_of(name, db, match) as (_, lines):
        steps = Steps(lines)
    if steps.problem:
        complain(f"{name} can be seen up to entry {steps.entries} only: {steps.problem}")
    output = Output()
    if at is not None:
        state = steps.state(_entry(steps, at, "--at"))
        if form == "json":
            output.data(state.view())
        else:
            for line in board(state):
                output.line(line)
    elif form == "text" and first is last is None and sys.stdin and sys.stdin.isatty() and sys.stdout.isatty():
        from soulrift.player import step_through

        step_through(steps)
    else:
        start = _entry(steps, first, "--from") if first is not None else 1
        end = _entry(steps, last, "--to") if last is not None else steps.entries
        _tell(output, steps, start, end, form)
    output.end()
    if steps.problem:
        sys.exit(1)


def _entry(steps: Steps, number: int, option: str) -> int:
    if not 1 <= number <= steps.entries:
        message = (
            f"the recording has {f'the entries 1 to {steps.entries}' if steps.entries else 'no entries'}, not {number}"
        )
        raise click.BadParameter(message, param_hint=option)
    return number


def _tell(output: Output, steps: Steps, first: int, last: int, form: str) -> None:
    notation = Notation(Names.of(steps.state(first - 1)))
    for entry in steps.between(first, last):
        if form == "json":
            output.json(entry.line)
        else:
            output.line(notation.line(entry))


def diff(first: str, second: str, db: str, match: str | None, form: str) -> int:
    """Tell where two recordings differ, and how they went on; 1 if they do."""
    with lines_of(first, db, match) as (_, one), lines_of(second, db, match) as (_, other):
        found = diff_of(one, other)
    output = Output()
    if form == "json":
        output.data(found)
    else:
        for line in _difference(found, first, second):
            output.line(line)
    output.end()
    return int(found.entry is not None)


def _difference(found: Diff, first: str, second: str) -> Iterator[Text | str]:
    if found.entry is None:
        number = found.first.entries
        yield f"the same, in {'all ' if number > 1 else ''}{entries_told(number)}"
        return
    if found.part == "length":
        longer, shorter = (first, second) if found.first.entries > found.second.entries else (second, first)
        yield Text(f"{shorter} ends before entry {found.entry}, {longer} goes on", style="bold")
    else:
        yield Text(f"they differ from entry {found.entry} on: in its {found.part}", style="bold")
        yield from differences_table(found.differences, first, second)
    columns = {f"before entry {found.entry}": found.before, first: found.first, second: found.second}
    yield from standings({name: at for name, at in columns.items() if at})


def standings(columns: dict[str, Standing]) -> Iterator[Text]:
    """How a match stands in several cases, side by side."""
    stands = list(columns.values())
    players = dict.fromkeys(player for at in stands for player in at.life)
    rows: list[tuple[str, ...]] = [("entries", *(f"{at.entries:,}" for at in stands))]
    rows.append(
        (
            "",
            *(at.status if at.status != "ended" else f"won by {at.winner}" if at.winner else "a draw" for at in stands),
        )
    )
    rows += [(f"life of {player}", *(str(at.life.get(player, "-")) for at in stands)) for player in players]
    rows += [
        (f"Souls {what}", *(str(getattr(at, field)) for at in stands))
        for what, field in (
            ("that came", "souls"),
            ("in the Aether", "aether"),
            ("on cards", "cards"),
            ("gone", "gone"),
        )
    ]
    return table(rows, ("", *columns))


def whatif(name: str, db: str, match: str | None, change: Change, form: str) -> None:
    """Play a recording with a change, and tell what that leads to."""
    with lines_of(name, db, match) as (_, lines):
        found = branches.what_if(lines, change)
    if change.at is not None and not 1 <= change.at <= found.recorded.entries:
        message = f"the recording has the entries 1 to {found.recorded.entries}, not {change.at}"
        raise click.BadParameter(message, param_hint="--at")
    output = Output()
    if form == "json":
        output.data(found)
    else:
        for line in _consequences(found):
            output.line(line)
    output.end()


def _consequences(found: WhatIf) -> Iterator[Text | str]:
    if found.illegal:
        several = f"{len(found.illegal):,} recorded commands become illegal, and are left out:"
        one = "1 recorded command becomes illegal, and is left out:"
        yield Text(several if len(found.illegal) > 1 else one, style="bold")
        illegal = ((str(each.entry), each.command, each.rule, each.message) for each in found.illegal[:MOST_LISTED])
        yield from table(illegal, ("entry", "command", "rule", ""))
        yield from _more(len(found.illegal))
    else:
        yield "every recorded command stays legal"
    if found.changed:
        go = "go" if len(found.changed) > 1 else "goes"
        yield Text(f"{entries_told(len(found.changed))} {go} otherwise:", style="bold")
        changed = ((str(each.entry), each.command, _told(each)) for each in found.changed[:MOST_LISTED])
        yield from table(changed, ("entry", "command", "as recorded -> otherwise"))
        yield from _more(len(found.changed))
    yield from standings({"as recorded": found.recorded, "otherwise": found.otherwise})


def _more(number: int) -> Iterator[str]:
    if number > MOST_LISTED:
        yield f"  and {number - MOST_LISTED:,} more, with --format json"


def _told(changed: Changed) -> str:
    """The first differences of an entry."""
    told = [f"{each.path} {shown(each.expected)} -> {shown(each.found)}" for each in changed.differences]
    return ", ".join(told[:MOST_TOLD]) + (" …" if len(told) > MOST_TOLD else "")
