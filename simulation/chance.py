"""Chance: a stream of draws for each match and each use of it, which a run's seed and the match's number give again.

The generator is Philox 4x64 with 10 rounds (Salmon and others, 2011), counter-based, from NumPy, which keeps its raw
numbers the same for ever. Its key is the SHA-256 of what the stream is for, so that what is drawn from one stream tells
nothing of another; only who knows the seed, or guesses it, can compute them all.
"""

from collections.abc import Sequence
from hashlib import sha256
from threading import Lock
from typing import TypeVar

from numpy import array, uint64
from numpy.random import Philox

T = TypeVar("T")

GENERATOR = "philox4x64-10/1"
"""The name and version of the generator, as runs record it: another way of drawing is another version."""

MOST_SEED = 2**64 - 1
"""Seeds go from 0 to this. In JSON they are strings, as not every reader keeps them exact."""

_AT_ONCE = 32
"""Numbers that are made at a time; Philox makes four for each step of its counter."""

_PHILOX = Philox(key=0)
_IN_USE = Lock()
"""One generator makes the numbers of all streams: to make another costs ten times what it costs to turn it to one."""


def _made(key: Sequence[int], counter: int) -> list[int]:
    """The raw numbers of a stream behind so many steps of its counter, the last one first."""
    with _IN_USE:
        _PHILOX.state = {
            "bit_generator": "Philox",
            "state": {"counter": array([counter, 0, 0, 0], uint64), "key": array(key, uint64)},
            "buffer": _NO_BUFFER,
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }
        numbers: list[int] = _PHILOX.random_raw(_AT_ONCE).tolist()
    return numbers[::-1]


_NO_BUFFER = array([0, 0, 0, 0], uint64)


class Chance:
    """The draws of one stream: of match `match`, from 1, of the run with this seed, for this `use`."""

    def __init__(self, seed: int, match: int, use: str) -> None:
        key = sha256(f"soulrift {GENERATOR} seed {seed} match {match} {use}".encode()).digest()
        self._key = (int.from_bytes(key[:8], "little"), int.from_bytes(key[8:16], "little"))
        self._counter = 0
        self._drawn: list[int] = []

    def below(self, number: int) -> int:
        """A number from 0 to `number` - 1, each as likely (to within one part in 2^64 / `number`)."""
        if not self._drawn:
            self._drawn = _made(self._key, self._counter)
            self._counter += _AT_ONCE // 4
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
