"""Chance: a stream of draws for each match and each use of it, which a run's seed and the match's number give again.

The generator is Philox 4x64 with 10 rounds (Salmon and others, 2011), counter-based, from NumPy, which keeps its raw
numbers the same for ever. Its key is the SHA-256 of what the stream is for, so that what is drawn from one stream tells
nothing of another; only who knows the seed, or guesses it, can compute them all.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

from numpy.random import Philox

T = TypeVar("T")

GENERATOR = "philox4x64-10/1"
"""The name and version of the generator, as runs record it: another way of drawing is another version."""

MOST_SEED = 2**64 - 1
"""Seeds go from 0 to this. In JSON they are strings, as not every reader keeps them exact."""

_AT_ONCE = 64


class Chance:
    """The draws of one stream: of match `match`, from 1, of the run with this seed, for this `use`."""

    def __init__(self, seed: int, match: int, use: str) -> None:
        key = sha256(f"soulrift {GENERATOR} seed {seed} match {match} {use}".encode()).digest()
        self._key = int.from_bytes(key[:16], "little")
        self._bits: Philox | None = None
        self._drawn: list[int] = []

    def below(self, number: int) -> int:
        """A number from 0 to `number` - 1, each as likely (to within one part in 2^64 / `number`)."""
        if not self._drawn:
            self._bits = self._bits or Philox(key=self._key)
            self._drawn = self._bits.random_raw(_AT_ONCE).tolist()[::-1]
        return self._drawn.pop() * number >> 64

    def pick(self, choices: Sequence[T]) -> T:
        """One of these, each as likely."""
        return choices[self.below(len(choices))]

    def shuffled(self, cards: Sequence[T]) -> list[T]:
        """The same in random order (Fisher and Yates)."""
        mixed = list(cards)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed
