"""The verdicts on a record, in words: one list for everything that judges one.

Whether it re-executes is judged first; a checkpoint is looked at where it does.
"""

from typing import Literal, get_args

from msgspec import Struct

Verdict = Literal[
    "diverged",  # a command leads to other events than are recorded
    "tampered",  # what goes with a record says other things than the record
    "damaged",  # not as it was written
    "unverifiable",  # by rules, or in a format, that this version does not know
    "another-history",  # not what was signed: it has other entries, or is another match
    "incomplete",  # shorter than what was signed
    "unsigned",  # no known key signed the checkpoint, which so proves nothing
    "first-use",  # as it was signed, but by a key that came along with it
    "exact",  # it re-executes and, where checkpoints were given, is what pinned keys signed
]

GRAVEST_FIRST: tuple[Verdict, ...] = get_args(Verdict)
"""Of several verdicts the first of these is that of all together."""


class Judged(Struct, frozen=True):
    """The verdict on a checkpoint, or on a proof. It is null where the record could not be read so far.

    `origin`, `size`, `root` and `at` are what it says, null where it is none; `signed_by` are the keys, NAME+ID, whose
    signatures count.
    """

    checkpoint: str
    verdict: Verdict | None
    reason: str
    origin: str | None = None
    size: int | None = None
    root: str | None = None
    at: str | None = None
    signed_by: tuple[str, ...] = ()


def gravest(verdicts: set[Verdict]) -> Verdict:
    """The verdict of all of these together, of which there is one at least."""
    return next(each for each in GRAVEST_FIRST if each in verdicts)
