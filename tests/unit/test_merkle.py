"""The Merkle tree is that of RFC 6962: published vectors, its recursive definition, and what it tells apart."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replays.merkle import EMPTY, Tree
from tests.recordings import root_of

LEAVES = [
    bytes.fromhex(leaf)
    for leaf in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]

ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
"""Of the first 0 to 8 of these leaves, as published with Certificate Transparency."""


def tree_of(leaves: list[bytes]) -> Tree:
    tree = Tree()
    for leaf in leaves:
        tree.append(leaf)
    return tree


@pytest.mark.parametrize("size", range(9))
def test_published_vectors(size: int) -> None:
    """The roots over the published leaves are the published ones."""
    assert tree_of(LEAVES[:size]).root().hex() == ROOTS[size]
    assert root_of(LEAVES[:size]).hex() == ROOTS[size]


def test_definition_at_every_size() -> None:
    """At each size, asked for or not at those before, the root is that of the recursive definition."""
    chance, tree, leaves = Random(6962), Tree(), list[bytes]()
    for size in range(200):
        assert (tree.size, tree.root()) == (size, root_of(leaves))
        assert tree_of(leaves).root() == tree.root()
        leaves.append(chance.randbytes(chance.randrange(40)))
        tree.append(leaves[-1])


@given(st.lists(st.binary(max_size=8), max_size=40))
def test_definition_of_any_leaves(leaves: list[bytes]) -> None:
    """Leaves that are empty, alike, or look like inner nodes make the root of the recursive definition too."""
    assert tree_of(leaves).root() == root_of(leaves)


def test_nothing_is_the_hash_of_nothing() -> None:
    """A tree without leaves has the root that the RFC gives it."""
    assert Tree().root() == EMPTY == root_of([])


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=20, unique=True), st.randoms(use_true_random=False))
def test_every_leaf_and_its_place_counts(leaves: list[bytes], chance: Random) -> None:
    """One leaf more, less or changed, or two swapped, make another root."""
    root, at, other = tree_of(leaves).root(), chance.randrange(len(leaves)), chance.randrange(len(leaves))
    swapped = list(leaves)
    swapped[at], swapped[other] = leaves[other], leaves[at]
    assert tree_of([*leaves[:at], leaves[at] + b"\x00", *leaves[at + 1 :]]).root() != root
    assert tree_of([*leaves[:at], *leaves[at + 1 :]]).root() != root
    assert tree_of([*leaves, leaves[at]]).root() != root
    assert (tree_of(swapped).root() == root) == (at == other)
