"""Two recordings of what may be the same match: where they first differ, and how they went on after that."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from domain.codec import CorruptRecordError
from domain.rules import State
from replays.differences import Difference, differences_of
from replays.stepping import take

Part = Literal["command", "events", "state", "length"]


class Standing(Struct, frozen=True):
    """How a match stands: its players' life, and its Souls."""

    entries: int
    status: str
    winner: str | None
    life: dict[str, int]
    souls: int
    """How many have come."""
    aether: int
    cards: int
    gone: int


class Diff(Struct, frozen=True):
    """Where two recordings first differ: in which entry (null: nowhere) and in which part of it.

    In "events" the command is the same, in "state" the events are too; with "length" one of them ends before that
    entry. What names the match, and the `meta` of commands, are not compared. `before` is how both stood before it
    (null at the first entry), `first` and `second` how each stood in the end.
    """

    entry: int | None
    part: Part | None
    differences: tuple[Difference, ...]
    before: Standing | None
    first: Standing
    second: Standing


def standing(state: State) -> Standing:
    """How a match in this state stands."""
    life = {name: player.life for name, player in state.players.items()}
    return Standing(
        state.entries,
        state.status,
        state.winner,
        life,
        state.numbered.souls,
        len(state.aether),
        len(state.holders),
        state.gone,
    )


def diff(first: Iterable[bytes], second: Iterable[bytes]) -> Diff:
    """The difference of two recordings, from the lines of their entries.

    Raises:
        CorruptRecordError: a line cannot be read, or does not follow from those before.

    """
    one, other = iter(first), iter(second)
    state = State()
    left = right = None
    while (left := next(one, None)) is not None and (right := next(other, None)) is not None:
        found = None if left == right else _compared(left, right)
        if found:
            break
        take(left, state)
    else:
        right = None if left is not None else next(other, None)
        found = None if left is right is None else ("length", ())
    before = standing(state) if state.entries else None
    ends = (_end(state.copy(), left, one), _end(state, right, other))
    if found is None:
        return Diff(None, None, (), None, *ends)
    return Diff(before.entries + 1 if before else 1, *found, before, *ends)


def _end(state: State, line: bytes | None, rest: Iterator[bytes]) -> Standing:
    if line is not None:
        take(line, state)
    for later in rest:
        take(later, state)
    return standing(state)


def _compared(left: bytes, right: bytes) -> tuple[Part, tuple[Difference, ...]] | None:
    """The first part in which two lines differ, and where."""
    one, other = _content(left), _content(right)
    parts: tuple[Part, ...] = ("command", "events", "state")
    for part in parts:
        found = tuple(differences_of(one[part], other[part], part))
        if found:
            return part, found
    return None


def _content(line: bytes) -> dict[str, Any]:
    try:
        entry = msgspec.json.decode(line)
        command, events = entry["command"], entry["events"]
        command.pop("meta", None)
        for naming in (command, *events[:1]):
            if naming["type"] in {"start_match", "match_started"}:
                naming.pop("match", None)
                naming.pop("origin", None)
        return {"command": command, "events": events, "state": entry["state_hash"]}
    except (msgspec.MsgspecError, RecursionError, AttributeError, LookupError, TypeError) as error:
        message = f"an entry that differs cannot be read: {error!r}"
        raise CorruptRecordError(message) from None
