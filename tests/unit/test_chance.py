"""Chance: which numbers the generator gives, for ever, and that they are fair."""

from collections import Counter
from hashlib import sha256
from itertools import product

import pytest
from numpy.random import Philox

from simulation.chance import GENERATOR, MOST_SEED, Chance

# The published vectors of Random123 (kat_vectors, philox4x64 10): counter, key, output.
ONES = 0xFFFFFFFFFFFFFFFF
PI = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)
MORE_PI = (0x452821E638D01377, 0xBE5466CF34E90C6C)
VECTORS = [
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B),
    ),
    (
        (ONES, ONES, ONES, ONES),
        (ONES, ONES),
        (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
    ),
    (
        PI,
        MORE_PI,
        (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
    ),
]

SEATING = [60, 82, 24, 68, 28, 44, 24, 95, 22, 14, 43, 84]
TABLE = [39, 41, 86, 42, 7, 59, 2, 66, 23, 85, 4, 52]
POLICY_1 = [22, 79, 5, 9, 75, 95, 37, 43, 11, 35, 7, 77]


def whole(words: tuple[int, ...]) -> int:
    """64-bit words as one number, the lowest first."""
    return sum(word << 64 * place for place, word in enumerate(words))


def philox(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """Philox 4x64 with 10 rounds, as the paper of Salmon and others has it: multiply, swap, bump the key."""
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
        a, b, c, d = (second >> 64) ^ b ^ k, second & ONES, (first >> 64) ^ d ^ m, first & ONES
        k, m = (k + 0x9E3779B97F4A7C15) & ONES, (m + 0xBB67AE8584CAA73B) & ONES
    return a, b, c, d


def key_of(seed: int, match: int, use: str) -> tuple[int, int]:
    """The key of a stream: the first 16 bytes of the SHA-256 of what it is for, as two words, the lowest byte first."""
    digest = sha256(f"soulrift philox4x64-10/1 seed {seed} match {match} {use}".encode()).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


def raw(seed: int, match: int, use: str, count: int) -> list[int]:
    """The raw numbers of a stream, by our own Philox; the first block is that of counter 1."""
    key = key_of(seed, match, use)
    blocks = [philox((block, 0, 0, 0), key) for block in range(1, count // 4 + 2)]
    return [word for block in blocks for word in block][:count]


@pytest.mark.parametrize(("counter", "key", "expected"), VECTORS, ids=["zeros", "ones", "pi"])
def test_generator_gives_the_published_vectors(
    counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """NumPy's Philox is Philox 4x64-10: it gives what Random123 publishes. It counts before the first block."""
    before = (whole(counter) - 1) % 2**256
    assert tuple(Philox(key=whole(key), counter=before).random_raw(4).tolist()) == expected
    assert philox(counter, key) == expected


def test_stream_is_that_of_its_key() -> None:
    """A stream is the raw numbers of Philox from counter 1 on, under the key that its seed, match and use give."""
    for seed, match, use in [(0, 1, "table"), (5, 1, "table"), (MOST_SEED, 99_999_999, "policy of p2")]:
        chance = Chance(seed, match, use)
        expected = raw(seed, match, use, 300)
        assert [chance.below(2**64) for _ in range(300)] == expected
        key = whole(key_of(seed, match, use))
        assert Philox(key=key).random_raw(300).tolist() == expected


def test_draw_is_the_upper_part_of_a_product() -> None:
    """A number below N is that many 2^64ths of the raw number, rounded down."""
    chance, numbers = Chance(5, 1, "table"), raw(5, 1, "table", 90)
    for place, number in enumerate(numbers):
        assert chance.below(place + 1) == number * (place + 1) // 2**64


def test_first_draws_stay_for_ever() -> None:
    """Seed 5, match 1: these are its first draws, on every machine and in every version of this generator."""
    assert GENERATOR == "philox4x64-10/1"
    deals = {"seating": SEATING, "table": TABLE, "policy of p1": POLICY_1}
    for use, expected in deals.items():
        chance = Chance(5, 1, use)
        assert [chance.below(100) for _ in range(12)] == expected
        assert [number * 100 >> 64 for number in raw(5, 1, use, 12)] == expected


def test_streams_differ() -> None:
    """Each seed, match and use has draws of its own."""
    uses = ("seating", "table", "policy of p1", "policy of p2")
    streams = {
        tuple(Chance(seed, match, use).below(2**64) for _ in range(4))
        for seed, match, use in product((0, 1, 5, MOST_SEED), (1, 2, 11, 100), uses)
    }
    assert len(streams) == 4 * 4 * 4


def test_streams_share_no_numbers() -> None:
    """Two streams of a match are no shifted copies of each other: no raw number is in both."""
    ours = {use: set(raw(5, 1, use, 2_000)) for use in ("table", "policy of p1", "policy of p2")}
    assert len(set[int]().union(*ours.values())) == 3 * 2_000


@pytest.mark.parametrize("number", [1, 2, 3, 6, 20, 100, 1_000])
def test_draws_are_in_range_and_unbiased(number: int) -> None:
    """Numbers below N are from 0 to N - 1, and none comes oftener than chance allows (chi-square, fixed seed)."""
    chance, draws = Chance(5, number, "fairness"), 40 * number + 2_000
    found = Counter(chance.below(number) for _ in range(draws))
    assert set(found) == set(range(number))
    expected = draws / number
    chi_square = sum((count - expected) ** 2 / expected for count in found.values())
    freedom = number - 1
    assert chi_square <= freedom + 4 * (2 * freedom) ** 0.5  # four standard deviations above its mean


def test_shuffle_is_a_permutation() -> None:
    """Shuffling loses and doubles nothing, leaves what it was given, and also takes none or one."""
    chance = Chance(5, 1, "shuffling")
    cards = [f"card-{number // 3}" for number in range(40)]
    mixed = chance.shuffled(cards)
    assert mixed != cards
    assert sorted(mixed) == sorted(cards)
    assert cards == [f"card-{number // 3}" for number in range(40)]
    assert chance.shuffled([]) == []
    assert chance.shuffled(["only"]) == ["only"]


def test_shuffle_makes_each_order_as_likely() -> None:
    """All 24 orders of four cards come, none oftener than chance allows."""
    chance = Chance(6, 1, "shuffling")
    found = Counter("".join(chance.shuffled("abcd")) for _ in range(4_800))
    assert len(found) == 24
    chi_square = sum((count - 200) ** 2 / 200 for count in found.values())
    assert chi_square <= 23 + 4 * 46**0.5


def test_shuffle_swaps_from_the_last_card_down() -> None:
    """The order of a shuffle follows from the draws, by Fisher and Yates: it belongs to the generator's version."""
    expected = list("abcdef")
    for last, number in zip(range(5, 0, -1), raw(5, 3, "shuffling", 5), strict=True):
        other = number * (last + 1) >> 64
        expected[last], expected[other] = expected[other], expected[last]
    assert Chance(5, 3, "shuffling").shuffled("abcdef") == expected


def test_pick_takes_one_draw() -> None:
    """To pick is to draw the place of what is picked."""
    picking, drawing = Chance(5, 1, "picking"), Chance(5, 1, "picking")
    assert [picking.pick("abcdefg") for _ in range(50)] == ["abcdefg"[drawing.below(7)] for _ in range(50)]
