"""A recording to step through: any entry, and the state after it, at the cost of one interval.

The lines are kept in compressed blocks, with the state before each block, so that seeking never plays from the start. A
recording is watched from its events, whatever its commands say.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice

import msgspec
from msgspec import Raw, Struct

from domain.codec import CorruptRecordError, replay
from domain.entry import Entry
from domain.rules import AnyEvent, State
from domain.rules.events import TurnBegan
from replays.files import packed, unpacked
from replays.lines import EntryLine
from replays.reading import DamageError

INTERVAL = 250
"""Entries from one kept state to the next."""

_line = msgspec.json.Decoder(EntryLine).decode
_event = msgspec.json.Decoder(AnyEvent).decode
_decode_state = msgspec.json.Decoder(State).decode


class Steps:
    """The entries of a match, from their lines, which are read once, in order.

    Where they cannot be read on, `problem` says why, and the entries before that can be seen.
    """

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.entries = 0
        self.turns: list[int] = []
        """The entry in which each turn began."""
        self.problem: str | None = None
        self._blocks: list[bytes] = []
        self._states: list[bytes] = []
        rest, state = iter(lines), State()
        while self.problem is None and (block := self._block(rest, state)):
            self._blocks.append(packed(b"\n".join(block)))

    def _block(self, rest: Iterator[bytes], state: State) -> list[bytes]:
        """The lines of the next block, after which `state` is brought up to date."""
        before, block = msgspec.json.encode(state), list[bytes]()
        try:
            for line in islice(rest, INTERVAL):
                events = take(line, state)
                block.append(line)
                self.turns += [event.entry for event in events if isinstance(event, TurnBegan)]
        except (CorruptRecordError, DamageError) as error:
            self.problem = str(error)
        if block:
            self._states.append(before)
            self.entries += len(block)
        return block

    def state(self, at: int) -> State:
        """The state after entry `at`, 0 to the last. It is the caller's own."""
        block, into = divmod(max(at - 1, 0), INTERVAL)
        if not self._states:
            return State()
        state = _decode_state(self._states[block])
        for line in self._lines(block)[: into + 1 if at else 0]:
            take(line, state)
        return state

    def between(self, first: int, last: int | None = None) -> Iterator[Entry]:
        """The entries from `first` (1 or more) to `last`, or to the end, in order."""
        last = self.entries if last is None else min(last, self.entries)
        for block in range((first - 1) // INTERVAL, -(-last // INTERVAL)):
            number = block * INTERVAL
            for line in self._lines(block)[max(first - 1 - number, 0) : last - number]:
                yield entry_of(line)

    def _lines(self, block: int) -> list[bytes]:
        return unpacked(self._blocks[block]).split(b"\n")


def take(line: bytes, state: State) -> tuple[AnyEvent, ...]:
    """The events of a line, by which `state` has been changed: that after the entry before.

    Raises:
        CorruptRecordError: it is not the line of the next entry, or its events do not follow from those before.

    """
    number = state.entries + 1
    try:
        line.decode()
        read = _watched(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = f"entry {number} cannot be read: {error}"
        raise CorruptRecordError(message) from None
    events = read.events
    if not events:
        message = f"entry {number} has no events"
        raise CorruptRecordError(message)
    first, last = events[0], events[-1]
    if not (read.entry == first.entry == last.entry == number and last.n - first.n + 1 == len(events)):
        message = f"another entry stands where entry {number} must be"
        raise CorruptRecordError(message)
    if first.n != state.events + 1:
        message = f"event {first.n} stands where event {state.events + 1} must be"
        raise CorruptRecordError(message)
    replay(events, state)
    return events


def entry_of(line: bytes) -> Entry:
    """The entry of a line.

    Raises:
        CorruptRecordError: it is none, or has an event that this program does not know.

    """
    try:
        read = _line(line)
        jsons = tuple([bytes(event) for event in read.events])
        events = tuple([_event(event) for event in jsons])
    except (msgspec.MsgspecError, RecursionError) as error:
        message = f"an entry cannot be read: {error}"
        raise CorruptRecordError(message) from None
    return Entry(read.entry, events, bytes(read.command), jsons, read.state_hash, sha256(line).hexdigest(), line)


class _Watched(Struct, gc=False, forbid_unknown_fields=True):
    command: Raw
    entry: int
    events: tuple[AnyEvent, ...]
    state_hash: str


_watched = msgspec.json.Decoder(_Watched).decode
