"""Checkpoints signed as a match goes on, and handed out, so that players hold them before anybody disputes anything."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import takewhile
from urllib.parse import quote

from msgspec import Struct

from domain.entry import Entry
from domain.rules.events import MatchEnded, TurnBegan
from replays.checkpoints import Checkpoint, origin_of
from replays.merkle import Tree
from replays.notes import SignerKey

MATCHES_AT_HAND = 1_000
"""Of so many matches the tree is kept; that of another one is made again from its record."""


LONGEST_NAME = 200
"""Bytes of a match's name as a part of a file's."""


class When(Struct, frozen=True):
    """After which entries a checkpoint is signed: every so many (0: not by number), at turns, at the end."""

    every: int = 0
    turns: bool = True
    end: bool = True

    def due(self, entry: Entry) -> bool:
        """Whether one is signed after this entry."""
        if self.every and entry.number % self.every == 0:
            return True
        return any(
            (self.turns and isinstance(event, TurnBegan)) or (self.end and isinstance(event, MatchEnded))
            for event in entry.events
        )


class Issued(Struct, frozen=True):
    """A checkpoint to be handed out: of which match, as of which entry, and the signed note."""

    match: str
    size: int
    note: bytes

    @property
    def file_name(self) -> str:
        """A name for its file, by which those of a match sort; of a long name the beginning, and a hash."""
        name = quote(self.match, safe="")
        if len(name) > LONGEST_NAME:
            name = f"{name[: LONGEST_NAME - 17]}-{sha256(self.match.encode()).hexdigest()[:16]}"
        return f"{name}-{self.size:06}.note"


class _Kept:
    """What is kept of a match: its tree, and its last entry, by the hash of its line and its first event's number."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.line_hash = ""
        self.first = 0

    def append(self, entry: Entry) -> None:
        self.tree.append(entry.line)
        self.line_hash, self.first = entry.line_hash, entry.events[0].n


class Issuer:
    """Signs checkpoints of the matches of one store, and hands them out.

    `store` is its identity, `clock` tells the time in RFC 3339; `entries` reads the record of a match behind an event's
    number, as `Matches.entries` does. Give its `appended` to `Matches.on_appended`.
    """

    def __init__(
        self,
        store: str,
        key: SignerKey,
        when: When,
        clock: Callable[[], str],
        entries: Callable[[str, int], Iterable[Entry]],
        hand_out: Callable[[Issued], object],
    ) -> None:
        self._store = store
        self._key = key
        self._when = when
        self._clock = clock
        self._entries = entries
        self._hand_out = hand_out
        self._matches = OrderedDict[str, _Kept]()

    def appended(self, match: str, entries: Sequence[Entry]) -> None:
        """Take in entries that are stored now, and hand out what is due after them.

        Raises whatever `hand_out` does; and ValueError where the record lacks entries before these.
        """
        kept = self._before(match, entries[0].number)
        for entry in entries:
            kept.append(entry)
            if self._when.due(entry):
                self._issue(match, kept.tree)

    def _before(self, match: str, number: int) -> _Kept:
        """What is kept of a match, brought up to the entry before this one."""
        kept = self._matches.pop(match, None) or _Kept()
        if number > 1:
            kept = self._caught_up(match, kept, number)
        elif kept.tree.size:
            kept = _Kept()
        self._matches[match] = kept
        if len(self._matches) > MATCHES_AT_HAND:
            self._matches.popitem(last=False)
        return kept

    def _caught_up(self, match: str, kept: _Kept, number: int) -> _Kept:
        """The same with what others appended; made anew where the store was put back to an earlier state meanwhile."""
        rest = iter(self._entries(match, kept.first - 1 if kept.tree.size else 0))
        if kept.tree.size:
            last = next(rest, None)
            if last is None or last.line_hash != kept.line_hash or kept.tree.size >= number:
                return self._caught_up(match, _Kept(), number)
        for entry in takewhile(lambda entry: entry.number < number, rest):
            kept.append(entry)
        if kept.tree.size != number - 1:
            message = f"the record of {match} has not the entries before {number}: nothing of it is signed"
            raise ValueError(message)
        return kept

    def _issue(self, match: str, tree: Tree) -> None:
        checkpoint = Checkpoint(origin_of(self._store, match), tree.size, tree.root(), self._clock())
        self._hand_out(Issued(match, tree.size, checkpoint.signed(self._key)))
