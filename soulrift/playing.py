"""`soulrift play`: a match script into the store, and what came of it."""

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

import msgspec

from domain.application import Matches
from domain.batch import Answer
from domain.rules.refusal import Refusal, bad_input
from soulrift.board import Whereabouts, board
from soulrift.notation import Notation
from soulrift.script import commands, name_from
from soulrift.terminal import Output, complain, progress

Step = tuple[int, Answer | Refusal]
"""The number of a line, and what it led to."""


def play(
    matches: Matches, script: BinaryIO, path: str, *, keep_going: bool, batch: int = 1, match: str | None = None
) -> Iterator[Step]:
    """Give the commands of a script to its match, `batch` of them in one transaction, as the steps are asked for.

    Without a `match`, one begins with the first of them. It ends after the first refusal, unless told to `keep_going`;
    after that of a first command that does not begin one in any case.
    """
    lines = commands(script)
    if match is None:
        number, first = next(lines, (0, b""))
        try:
            if not first:
                raise bad_input("", "the script holds no command; its first one is a start_match")
            answer = matches.start(first, name_from(path))
        except Refusal as refusal:
            yield number or 1, refusal
            return
        yield number, answer
        match = answer.match
    while some := list(islice(lines, batch)):
        outcomes = matches.give_all(match, [line for _, line in some], keep_going=keep_going)
        for (number, _), outcome in zip(some, outcomes, strict=False):
            yield number, outcome
        if len(outcomes) < len(some) or (isinstance(outcomes[-1], Refusal) and not keep_going):
            return


def tell(matches: Matches, steps: Iterator[Step], path: str, match: str | None = None) -> bool:
    """Tell the steps as they are made, then how the match stands; whether nothing was refused.

    `match` is the one that had begun before, if it is known yet.
    """
    output, notation = Output(must_go_on=True), Notation()
    clean = True
    if match is not None:
        _learn_names(matches, match, notation)
    for number, outcome in steps:
        if isinstance(outcome, Refusal):
            clean = False
            complain(f"{path}:{number}: {outcome}")
        elif not outcome.repeated:
            output.line(notation.line(outcome.entry))
        elif match is None:  # a match that had begun before this call
            _learn_names(matches, outcome.match, notation)
        match = match or (outcome.match if isinstance(outcome, Answer) else None)
    if match is not None:
        _tell_end(matches, match, output)
    output.end()
    if output.lost and not isinstance(output.lost, BrokenPipeError):
        complain(f"error: {output.lost}; the script was played to its end, but not all of it could be told")
        return False
    return clean


def _learn_names(matches: Matches, match: str, notation: Notation) -> None:
    for entry in matches.entries(match):
        notation.names.learn(entry)
        notation.names.forget(entry)


def _tell_end(matches: Matches, match: str, output: Output) -> None:
    """How the match stands, and where each of its Souls went."""
    output.line()
    for line in board(matches.state(match)):
        output.line(line)
    output.line()
    whereabouts = Whereabouts()
    for entry in matches.entries(match):
        whereabouts.take(entry)
    for line in whereabouts.lines():
        output.line(line)


def as_json(matches: Matches, steps: Iterator[Step]) -> bool:
    """Print the one object that says what came of the steps; whether nothing was refused."""
    events: list[msgspec.Raw] = []
    refusals = []
    match = None
    for number, outcome in progress(steps, "playing"):
        if isinstance(outcome, Refusal):
            refusals.append({"line": number, **outcome.view()})
            continue
        match = outcome.match
        if not outcome.repeated:
            events.extend(map(msgspec.Raw, outcome.entry.event_jsons))
    state = matches.state(match).view() if match is not None else None
    Output().data(
        {
            "match": match,
            "entries": state["entries"] if state else 0,
            "events": events,
            "refusals": refusals,
            "state": state,
        }
    )
    return not refusals
