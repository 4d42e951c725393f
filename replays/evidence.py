"""Whether a record is what somebody signed: checkpoints and proofs judged against the lines of a match."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from replays.checkpoints import Checkpoint, parse_checkpoint
from replays.keyring import KnownKey
from replays.merkle import Tree
from replays.notes import Note, NoteError, VerifierKey
from replays.proofs import InclusionProof
from replays.verdicts import Judged, Verdict

MOST_NAMED = 3
"""So many matches are named where a checkpoint is about none of them."""


class Trust(Struct, frozen=True):
    """Whose signatures count: `pinned` keys, known from elsewhere, and those that came `along` with a record."""

    pinned: tuple[KnownKey, ...] = ()
    along: tuple[VerifierKey, ...] = ()


class Held(Struct, frozen=True):
    """A checkpoint that somebody holds: what it is called, and the bytes of the signed note."""

    name: str
    content: bytes


class Signed(Struct, frozen=True):
    """Who signed a note, by keys that count, and what that is worth; the reason where it is nothing."""

    verdict: Literal["exact", "first-use", "unsigned"]
    by: tuple[str, ...]
    reason: str


def signed(note: Note, at: str | None, trust: Trust) -> Signed:
    """Who signed a note at the time that it tells. Where a pinned key is forged in it, nothing of it counts."""
    keys = [known.verifier for known in trust.pinned]
    by = note.signed_by(keys)
    forged = not by and any(each.is_by(key) for each in note.signatures for key in keys)
    pinned = [known for known in trust.pinned if known.verifier in by]
    good = [known.label for known in pinned if known.outside(at) is None]
    if good:
        return Signed("exact", tuple(good), f"signed by {', '.join(good)}")
    if pinned:
        return Signed("unsigned", (), f"it says that it was signed at {at}, but {pinned[0].outside(at)}")
    along = () if forged else tuple([KnownKey(key).label for key in note.signed_by(trust.along)])
    if along:
        return Signed("first-use", along, f"signed by {', '.join(along)}, a key that came along with it")
    names = ", ".join(f"{each.name}+{each.key_id.hex()}" for each in note.signatures)
    why = "a signature in its name is not its own" if forged else "that is no known key"
    return Signed("unsigned", (), f"it says that {names} signed it, but {why}")


_Parsed = tuple[Held, Checkpoint, Note]


class Evidence:
    """Checkpoints of matches, to be compared with the lines of a record as they are read."""

    def __init__(self, held: Iterable[Held], trust: Trust) -> None:
        self._trust = trust
        self._parsed: list[_Parsed] = []
        self._not_parsed: list[Judged] = []
        for each in held:
            try:
                self._parsed.append((each, *parse_checkpoint(each.content)))
            except NoteError as error:
                self._not_parsed.append(Judged(each.name, "damaged", f"it is no checkpoint: {error}"))

    def of(self, match: str) -> "Comparison":
        """Those of a match of this name."""
        return Comparison([each for each in self._parsed if each[1].match == match], self._trust)

    def strays(self, matches: Sequence[str]) -> tuple[Judged, ...]:
        """The verdicts on those that are about none of these matches, or no checkpoints at all."""
        others = [each for each in self._parsed if each[1].match not in matches]
        return (*self._not_parsed, *(self._stray(*each, matches) for each in others))

    def _stray(self, held: Held, of: Checkpoint, note: Note, matches: Sequence[str]) -> Judged:
        by = signed(note, of.at, self._trust)
        if by.verdict == "unsigned":
            return _told(held.name, of, by, "unsigned", by.reason)
        told = f"the match {of.match}" if of.match is not None else of.origin
        here = " or ".join(matches[:MOST_NAMED]) or "anything here"
        return _told(held.name, of, by, "another-history", f"it is about {told}, not about {here}")


class Comparison:
    """The checkpoints of one match, and the roots of a record of it at their sizes, as its lines are seen."""

    def __init__(self, checkpoints: Sequence[_Parsed], trust: Trust) -> None:
        self._checkpoints = checkpoints
        self._trust = trust
        self._tree = Tree()
        self._sizes = {of.size for _, of, _ in checkpoints}
        self._roots: dict[int, bytes] = {}
        self._note()

    def seen(self, line: bytes) -> None:
        """Take in the line of the next entry."""
        self._tree.append(line)
        self._note()

    def _note(self) -> None:
        if self._tree.size in self._sizes:
            self._roots[self._tree.size] = self._tree.root()

    def judged(self, *, whole: bool) -> tuple[Judged, ...]:
        """The verdicts; `whole`: all lines of the record were seen."""
        return tuple([self._judged(*each, whole=whole) for each in self._checkpoints])

    def _judged(self, held: Held, of: Checkpoint, note: Note, *, whole: bool) -> Judged:
        by = signed(note, of.at, self._trust)
        root = self._roots.get(of.size)
        verdict: Verdict | None = by.verdict
        if by.verdict == "unsigned":
            reason = by.reason
        elif root is None and not whole:
            verdict, reason = None, f"the record could not be read up to entry {of.size:,}"
        elif root is None:
            verdict = "incomplete"
            reason = f"the record has {self._tree.size:,} entries; {of.size:,} were {by.reason}"
        elif root != of.root:
            verdict = "another-history"
            reason = f"the record's first {of.size:,} entries are not as they were {by.reason}"
        else:
            reason = f"the record's first {of.size:,} entries are as they were {by.reason}"
        return _told(held.name, of, by, verdict, reason)


def _told(name: str, of: Checkpoint, by: Signed, verdict: Verdict | None, reason: str) -> Judged:
    return Judged(name, verdict, reason, of.origin, of.size, of.root.hex(), of.at, by.by)


def judge_inclusion(name: str, proof: InclusionProof, trust: Trust) -> Judged:
    """The verdict on a proof that an entry is in a record."""
    of, entry = proof.checkpoint, proof.index + 1
    by = signed(proof.note, of.at, trust)
    if by.verdict == "unsigned":
        return _told(name, of, by, "unsigned", by.reason)
    if not proof.holds():
        reason = f"the proof does not show that entry {entry} is among the {of.size:,} that were {by.reason}"
        return _told(name, of, by, "another-history", reason)
    return _told(name, of, by, by.verdict, f"entry {entry} is among the {of.size:,} that were {by.reason}")


class Opened(Struct, frozen=True):
    """A checkpoint as it was read from what is called so, and the note that signs it."""

    name: str
    checkpoint: Checkpoint
    note: Note


Extension = Literal["extends", "contradicts", "too short", "another record", "no proof"]
"""What is found of two roots: the newer tree begins with the older one, or it is shown that it does not; or nothing is
shown, since the record is too short or has not the newer root, or the proof does not lead from one to the other.
"""


def judge_extension(old: Opened, new: Opened, trust: Trust, found: Callable[[], Extension]) -> Judged:
    """The verdict on whether a checkpoint extends an older one, by what is `found` of their roots if that matters.

    Where both are signed, the verdict is on the newer one.
    """
    older, newer = old.checkpoint, new.checkpoint
    by_old, by = (signed(each.note, each.checkpoint.at, trust) for each in (old, new))
    for opened, by_whom in ((old, by_old), (new, by)):
        if by_whom.verdict == "unsigned":
            return _told(opened.name, opened.checkpoint, by_whom, "unsigned", by_whom.reason)
    if older.origin != newer.origin:
        reason = f"it is about {newer.origin}, and the older one about {older.origin}"
        return _told(new.name, newer, by, "another-history", reason)
    what, before = f"the {newer.size:,} entries {by.reason}", f"the {older.size:,} {by_old.reason}"
    nothing = "this says nothing about who signed"
    verdict: Verdict = "another-history"
    match found():
        case "extends":
            verdict = by_old.verdict if by_old.verdict == "first-use" else by.verdict
            reason = f"{what} begin with {before}"
        case "contradicts":
            reason = f"{what} do not begin with {before}: of these two one is not the match"
        case "too short":
            verdict, reason = "incomplete", f"the record is shorter than {what}"
        case "another record":
            reason = f"the record is not {what}; {nothing}"
        case "no proof":
            reason = f"the proof does not show that {what} begin with {before}; {nothing}"
    return _told(new.name, newer, by, verdict, reason)
