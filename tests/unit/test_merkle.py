"""The Merkle tree is that of RFC 6962: published vectors, its recursive definition, and what it tells apart; and its
proofs convince of what is so, and of nothing else.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replays import merkle
from replays.merkle import EMPTY, ProvingTree, Tree, extends, includes, leaf_hash, node_hash
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
        assert tree_of(leaves).root() == merkle.root_of(leaves) == tree.root()
        leaves.append(chance.randbytes(chance.randrange(40)))
        tree.append(leaves[-1])


@given(st.lists(st.binary(max_size=8), max_size=40))
def test_definition_of_any_leaves(leaves: list[bytes]) -> None:
    """Leaves that are empty, alike, or look like inner nodes make the root of the recursive definition too."""
    assert tree_of(leaves).root() == merkle.root_of(leaves) == root_of(leaves)


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


# ------------------------------------------------------------ proofs

LARGEST = 40
"""The leaves of the largest tree of which everything is proven."""

SOME = [b"leaf %d" % number for number in range(LARGEST)]

LEAF = list(map(leaf_hash, SOME))

PROVING = ProvingTree(LEAF)

ROOT = [root_of(SOME[:size]) for size in range(LARGEST + 1)]
"""By size, and by the recursive definition."""

SIZES = range(1, LARGEST + 1)


def largest_power_below(size: int) -> int:
    return max(1 << bits for bits in range(size.bit_length()) if 1 << bits < size)


def path(index: int, leaves: list[bytes]) -> list[bytes]:
    """The inclusion proof, word by word as RFC 6962, section 2.1.1, defines PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    k = largest_power_below(len(leaves))
    if index < k:
        return [*path(index, leaves[:k]), root_of(leaves[k:])]
    return [*path(index - k, leaves[k:]), root_of(leaves[:k])]


def subproof(old: int, leaves: list[bytes], *, whole: bool = True) -> list[bytes]:
    """The consistency proof, word by word as RFC 6962, section 2.1.2, defines SUBPROOF(m, D[n], b)."""
    if old == len(leaves):
        return [] if whole else [root_of(leaves)]
    k = largest_power_below(len(leaves))
    if old <= k:
        return [*subproof(old, leaves[:k], whole=whole), root_of(leaves[k:])]
    return [*subproof(old - k, leaves[k:], whole=False), root_of(leaves[:k])]


def test_proving_tree_has_the_root_of_every_size() -> None:
    """At each of its sizes it has every root that the tree had before, by the recursive definition."""
    tree = ProvingTree()
    assert (tree.size, tree.root()) == (0, EMPTY)
    for size, leaf in enumerate(SOME, 1):
        tree.append(leaf)
        assert (tree.size, tree.root()) == (size, ROOT[size])
        assert [tree.root(below) for below in range(size + 1)] == ROOT[: size + 1]
    assert [PROVING.root(size) for size in range(LARGEST + 1)] == ROOT


@given(st.lists(st.binary(max_size=8), max_size=40))
def test_proving_tree_of_any_leaves(leaves: list[bytes]) -> None:
    """Leaves that are empty, alike, or look like inner nodes make the root of the recursive definition too."""
    tree, sizes = ProvingTree(list(map(leaf_hash, leaves))), range(len(leaves) + 1)
    assert [tree.root(size) for size in sizes] == [root_of(leaves[:size]) for size in sizes]


@pytest.mark.parametrize("size", SIZES)
def test_inclusion_of_every_leaf(size: int) -> None:
    """The proof of each leaf, in a tree of each size, is that of the RFC, and convinces."""
    for index in range(size):
        proof = PROVING.inclusion_proof(index, size)
        assert proof == path(index, SOME[:size])
        assert includes(ROOT[size], size, index, LEAF[index], proof)


@pytest.mark.parametrize("new", SIZES)
def test_consistency_of_every_pair(new: int) -> None:
    """The proof that each tree begins with each smaller one, or is it, is that of the RFC, and convinces."""
    for old in range(1, new + 1):
        proof = PROVING.consistency_proof(old, new)
        assert proof == subproof(old, SOME[:new])
        assert extends(ROOT[old], old, ROOT[new], new, proof)


def test_proofs_of_a_tree_of_seven_by_hand() -> None:
    """The proofs that RFC 6962, section 2.1.3, spells out for its tree of seven leaves, d0 to d6."""
    a, b, c, d, e, f, j = LEAF[:7]
    g, h, i = node_hash(a, b), node_hash(c, d), node_hash(e, f)
    k, last = node_hash(g, h), node_hash(i, j)
    assert PROVING.inclusion_proof(0, 7) == [b, h, last]
    assert PROVING.inclusion_proof(3, 7) == [c, g, last]
    assert PROVING.inclusion_proof(4, 7) == [f, j, k]
    assert PROVING.inclusion_proof(6, 7) == [i, k]
    assert PROVING.consistency_proof(3, 7) == [c, d, g, last]
    assert PROVING.consistency_proof(4, 7) == [last]
    assert PROVING.consistency_proof(6, 7) == [i, j, k]


class Inclusion(NamedTuple):
    """What `includes` is asked."""

    root: bytes
    size: int
    at: int
    leaf: bytes
    proof: list[bytes]


class Extension(NamedTuple):
    """What `extends` is asked."""

    old_root: bytes
    old: int
    new_root: bytes
    new: int
    proof: list[bytes]


@st.composite
def inclusions(draw: st.DrawFn) -> Inclusion:
    size = draw(st.integers(1, LARGEST))
    index = draw(st.integers(0, size - 1))
    return Inclusion(ROOT[size], size, index, LEAF[index], PROVING.inclusion_proof(index, size))


@st.composite
def extensions(draw: st.DrawFn) -> Extension:
    new = draw(st.integers(1, LARGEST))
    old = draw(st.integers(1, new))
    return Extension(ROOT[old], old, ROOT[new], new, PROVING.consistency_proof(old, new))


def flipped(content: bytes, bit: int) -> bytes:
    at = bit // 8 % len(content)
    return content[:at] + bytes([content[at] ^ 1 << bit % 8]) + content[at + 1 :]


def spoilt(proof: list[bytes], chance: Random) -> list[list[bytes]]:
    """A proof with a bit flipped, a hash left out, doubled or added, cut short, or two different ones swapped."""
    bit, other, more = chance.randrange(256), chance.randbytes(32), chance.randrange(len(proof) + 1)
    made = [[*proof[:more], other, *proof[more:]]]
    if proof:
        at, to = chance.randrange(len(proof)), chance.randrange(len(proof))
        swapped = list(proof)
        swapped[at], swapped[to] = proof[to], proof[at]
        made += [
            [*proof[:at], flipped(proof[at], bit), *proof[at + 1 :]],
            [*proof[:at], *proof[at + 1 :]],
            [*proof[:at], proof[at], *proof[at:]],
            [*proof[:at], proof[at][:31], *proof[at + 1 :]],
            [*proof[:at], proof[at] + b"\x00", *proof[at + 1 :]],
            *([swapped] if swapped != proof else []),
        ]
    return made


@given(inclusions(), st.randoms(use_true_random=False), st.integers(0, 255))
def test_spoilt_inclusion_is_refused(asked: Inclusion, chance: Random, bit: int) -> None:
    """No bit of root, leaf or proof may be another one, and no hash of the proof missing, double or elsewhere."""
    assert includes(*asked)
    assert not includes(*asked._replace(root=flipped(asked.root, bit)))
    assert not includes(*asked._replace(leaf=flipped(asked.leaf, bit)))
    assert not includes(*asked._replace(root=asked.root[:31]))
    assert not includes(*asked._replace(leaf=asked.leaf + b"\x00"))
    for proof in spoilt(asked.proof, chance):
        assert not includes(*asked._replace(proof=proof))


@given(inclusions(), st.integers(-3, LARGEST + 3))
def test_inclusion_elsewhere_is_refused(asked: Inclusion, index: int) -> None:
    """A proof is of one place: no other index has it, in the tree or beside it."""
    assert includes(*asked._replace(at=index)) == (index == asked.at)


@given(inclusions(), st.integers(1, LARGEST))
def test_inclusion_in_another_tree_is_refused(asked: Inclusion, size: int) -> None:
    """A proof is of one tree: one of another size, with the root of that, does not hold the same way up."""
    other = asked._replace(size=size, root=ROOT[size])
    assert includes(*other) == (size == asked.size)
    assert not includes(*asked._replace(size=0))
    assert not includes(*asked._replace(size=-asked.size))


@given(extensions(), st.randoms(use_true_random=False), st.integers(0, 255))
def test_spoilt_extension_is_refused(asked: Extension, chance: Random, bit: int) -> None:
    """No bit of the roots or the proof may be another one, and no hash of the proof missing, double or elsewhere."""
    assert extends(*asked)
    assert not extends(*asked._replace(old_root=flipped(asked.old_root, bit)))
    assert not extends(*asked._replace(new_root=flipped(asked.new_root, bit)))
    for proof in spoilt(asked.proof, chance):
        assert not extends(*asked._replace(proof=proof))


@given(extensions(), st.integers(-3, LARGEST), st.integers(-3, LARGEST))
def test_extension_of_other_trees_is_refused(asked: Extension, old: int, new: int) -> None:
    """A proof is of two trees: no other ones, with their own roots, have it."""
    fits = extends(ROOT[max(old, 0)], old, ROOT[max(new, 0)], new, asked.proof)
    assert fits == ((old, new) == (asked.old, asked.new) or (0 < old == new and not asked.proof))


@given(extensions(), st.integers(1, LARGEST))
def test_extension_with_a_root_of_another_size_is_refused(asked: Extension, size: int) -> None:
    """Neither root may be that of another size, nor the two be given the wrong way round."""
    assert extends(*asked._replace(old_root=ROOT[size])) == (size == asked.old)
    assert extends(*asked._replace(new_root=ROOT[size])) == (size == asked.new)
    turned = Extension(asked.new_root, asked.new, asked.old_root, asked.old, asked.proof)
    assert extends(*turned) == (asked.old == asked.new)


@pytest.mark.parametrize("old", [1, 2, 4, 8, 16, 32])
def test_extension_of_a_full_tree_leaves_out_the_old_root(old: int) -> None:
    """The proof for an old size that is a power of two begins with the old root, which is not written: it is known.

    Written all the same, it is no proof.
    """
    proof = PROVING.consistency_proof(old, old + 5)
    assert ROOT[old] not in proof
    assert not extends(ROOT[old], old, ROOT[old + 5], old + 5, [ROOT[old], *proof])
    assert not extends(ROOT[old + 1], old, ROOT[old + 5], old + 5, proof)


def test_equal_trees_need_no_proof_and_take_none() -> None:
    """A tree begins with itself, by an empty proof alone; another root of the same size is another tree."""
    assert extends(ROOT[5], 5, ROOT[5], 5, [])
    assert not extends(ROOT[5], 5, ROOT[5], 5, [ROOT[5]])
    assert not extends(ROOT[5], 5, ROOT[6], 5, [])


def test_no_proof_is_about_an_empty_tree() -> None:
    """An empty tree holds no leaf, and nothing shows that another one extends it, for each does."""
    for new in (0, 1, 7):
        assert not extends(EMPTY, 0, ROOT[new], new, [])
    assert not includes(EMPTY, 0, 0, LEAF[0], [])


def test_proof_alone_does_not_tell_the_size() -> None:
    """A proof of leaf 0 in a tree of 255 fits trees said to have 129 to 256, too: so many have eight nodes above it.

    That is why size and root are taken from one checkpoint, which is signed over both.
    """
    leaves = [b"%d" % number for number in range(255)]
    proof, root = ProvingTree(list(map(leaf_hash, leaves))).inclusion_proof(0, 255), root_of(leaves)
    fitting = [size for size in range(1, 600) if includes(root, size, 0, leaf_hash(leaves[0]), proof)]
    assert fitting == list(range(129, 257))


@pytest.mark.parametrize(
    "ask",
    [
        partial(PROVING.root, -1),
        partial(PROVING.root, LARGEST + 1),
        partial(PROVING.inclusion_proof, -1, 5),
        partial(PROVING.inclusion_proof, 5, 5),
        partial(PROVING.inclusion_proof, 0, 0),
        partial(PROVING.inclusion_proof, 0, LARGEST + 1),
        partial(PROVING.consistency_proof, 0, 5),
        partial(PROVING.consistency_proof, -1, 5),
        partial(PROVING.consistency_proof, 6, 5),
        partial(PROVING.consistency_proof, 5, LARGEST + 1),
    ],
)
def test_what_a_tree_cannot_prove(ask: Callable[[], object]) -> None:
    """Leaves and sizes that the tree does not have are the caller's error, and are not proven by guess."""
    with pytest.raises(ValueError, match=r"tree|leaf"):
        ask()
