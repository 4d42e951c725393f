"""Checkpoints signed as a match goes on, and handed out, so that players hold them before anybody disputes anything."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote

from msgspec import Struct

from domain.entry import Entry
from domain.rules.events import MatchEnded, TurnBegan
from replays.checkpoints import Checkpoint, origin_of
from replays.merkle import Tree
from replays.notes import SignerKey

MATCHES_AT_HAND = 1_000
"""Of so many matches the tree is kept; that of another one is made again from its record."""


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
        """A name for its file, by which those of a match sort."""
        return f"{quote(self.match, safe='')}-{self.size:06}.note"


class Issuer:
    """Signs checkpoints of the matches of one store, and hands them out.

    `store` is its identity, `clock` tells the time in RFC 3339; `entries` reads the record of a match, where it was
    not seen from its beginning. Give its `appended` to `Matches.on_appended`.
    """

    def __init__(
        self,
        store: str,
        key: SignerKey,
        when: When,
        clock: Callable[[], str],
        entries: Callable[[str], Iterable[Entry]],
        hand_out: Callable[[Issued], object],
    ) -> None:
        self._store = store
        self._key = key
        self._when = when
        self._clock = clock
        self._entries = entries
        self._hand_out = hand_out
        self._trees = OrderedDict[str, Tree]()

    def appended(self, match: str, entries: Sequence[Entry]) -> None:
        """Take in entries that are stored now, and hand out what is due after them.

        Raises whatever `hand_out` does.
        """
        tree = self._tree(match, entries[0].number - 1)
        for entry in entries:
            tree.append(entry.line)
            if self._when.due(entry):
                self._issue(match, tree)

    def _tree(self, match: str, size: int) -> Tree:
        """The tree over the first `size` entries of a match."""
        tree = self._trees.pop(match, None)
        if tree is None or tree.size > size:  # the store was put back to an earlier state
            tree = Tree()
        if tree.size < size:
            self._catch_up(tree, match, size)
        self._trees[match] = tree
        if len(self._trees) > MATCHES_AT_HAND:
            self._trees.popitem(last=False)
        return tree

    def _catch_up(self, tree: Tree, match: str, last: int) -> None:
        """Take in what others appended, or this program before it was started anew."""
        for entry in self._entries(match):
            if entry.number > last:
                return
            if entry.number == tree.size + 1:
                tree.append(entry.line)

    def _issue(self, match: str, tree: Tree) -> None:
        checkpoint = Checkpoint(origin_of(self._store, match), tree.size, tree.root(), self._clock())
        self._hand_out(Issued(match, tree.size, checkpoint.signed(self._key)))
