"""The Merkle tree over a match's lines (RFC 6962, section 2.1): leaf i is entry i + 1, and nothing else is a leaf.

Lives here: the tree, the proofs that it gives, and how a proof is judged (RFC 9162, sections 2.1.3 and 2.1.4). Must not
know: what a line says, or who signed a root.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

EMPTY = sha256().digest()
"""The root of a tree without leaves."""

HASH_SIZE = 32
"""Bytes of a hash."""


def leaf_hash(line: bytes) -> bytes:
    """The hash of the leaf that this line is."""
    return sha256(b"\x00" + line).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of the node over two others."""
    return sha256(b"\x01" + left + right).digest()


class Tree:
    """A tree that grows leaf by leaf; it keeps the roots of its full subtrees only, of which there are O(log n)."""

    def __init__(self) -> None:
        self.size = 0
        self._full: list[bytes] = []
        """One for each bit of the size that is set, the largest first."""

    def append(self, line: bytes) -> None:
        """Add the line of the next entry."""
        node, size = leaf_hash(line), self.size
        while size & 1:
            node, size = node_hash(self._full.pop(), node), size >> 1
        self._full.append(node)
        self.size += 1

    def root(self) -> bytes:
        """The root over all leaves so far."""
        if not self._full:
            return EMPTY
        *rest, root = self._full
        for left in reversed(rest):
            root = node_hash(left, root)
        return root


def root_of(lines: Iterable[bytes]) -> bytes:
    """The root over these lines, level by level: that of a `Tree`, in less time where all of them are at hand."""
    level = [sha256(b"\x00" + line).digest() for line in lines]
    while len(level) > 1:
        pairs = [sha256(b"\x01" + left + right).digest() for left, right in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0] if level else EMPTY


class ProvingTree:
    """A tree that keeps the roots of all its full subtrees, 64 bytes a leaf, and proves in O(log n) what it holds."""

    def __init__(self, leaf_hashes: Sequence[bytes] = ()) -> None:
        self._levels: list[list[bytes]] = [[]]
        """By height: the roots of the full subtrees of that height, from the left."""
        for leaf in leaf_hashes:
            self._add(leaf)

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return len(self._levels[0])

    def append(self, line: bytes) -> None:
        """Add the line of the next entry."""
        self._add(leaf_hash(line))

    def _add(self, node: bytes) -> None:
        self._levels[0].append(node)
        height = 0
        while len(level := self._levels[height]) % 2 == 0:
            height += 1
            if height == len(self._levels):
                self._levels.append([])
            self._levels[height].append(node_hash(level[-2], level[-1]))

    def root(self, size: int | None = None) -> bytes:
        """The root over the first `size` leaves, 0 to all of them; over all, unless told."""
        size = self.size if size is None else size
        _see(0 <= size <= self.size, f"a tree of {self.size} leaves has no root over {size}")
        return self._over(0, size) if size else EMPTY

    def inclusion_proof(self, index: int, size: int) -> list[bytes]:
        """That leaf `index`, from 0, is among the first `size`: the hashes beside its way up, the lowest first."""
        _see(0 <= index < size <= self.size, f"leaf {index} is not among the first {size} of {self.size}")
        start, end, proof = 0, size, list[bytes]()
        while end - start > 1:
            middle = start + _split(end - start)
            if index < middle:
                proof.append(self._over(middle, end))
                end = middle
            else:
                proof.append(self._over(start, middle))
                start = middle
        return proof[::-1]

    def consistency_proof(self, old: int, new: int) -> list[bytes]:
        """That the first `new` leaves begin with the first `old`, 1 or more: the hashes that both roots follow from."""
        _see(0 < old <= new <= self.size, f"no tree of {new} of {self.size} leaves extends one of {old}")
        start, end, whole, proof = 0, new, True, list[bytes]()
        while end != old:
            middle = start + _split(end - start)
            if old <= middle:
                proof.append(self._over(middle, end))
                end = middle
            else:
                proof.append(self._over(start, middle))
                start, whole = middle, False
        if not whole:
            proof.append(self._over(start, end))
        return proof[::-1]

    def _over(self, start: int, end: int) -> bytes:
        """The root over leaves `start` to `end`, which a tree of some size has as a subtree."""
        height = (end - start - 1).bit_length()
        if end - start == 1 << height:
            return self._levels[height][start >> height]
        middle = start + _split(end - start)
        return node_hash(self._over(start, middle), self._over(middle, end))


def _split(size: int) -> int:
    """The largest power of two below a size of 2 or more."""
    return 1 << (size - 1).bit_length() - 1


def _see(true: bool, message: str) -> None:  # noqa: FBT001 - what is seen
    if not true:
        raise ValueError(message)


def includes(root: bytes, size: int, index: int, leaf: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that a tree of this root and size has this leaf hash at `index`, from 0."""
    if not 0 <= index < size or not _all_hashes([root, leaf, *proof]):
        return False
    at, last, node = index, size - 1, leaf
    for beside in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            node = node_hash(beside, node)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            node = node_hash(node, beside)
        at, last = at >> 1, last >> 1
    return last == 0 and node == root


def extends(old_root: bytes, old: int, new_root: bytes, new: int, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that a tree begins with the leaves of an older one, which has at least one."""
    if not 0 < old <= new or not _all_hashes(proof):
        return False
    if old == new:
        return not proof and old_root == new_root
    hashes = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not hashes:
        return False
    at, last = old - 1, new - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    older = newer = hashes[0]
    for beside in hashes[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            older, newer = node_hash(beside, older), node_hash(beside, newer)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            newer = node_hash(newer, beside)
        at, last = at >> 1, last >> 1
    return last == 0 and older == old_root and newer == new_root


def _all_hashes(hashes: Sequence[bytes]) -> bool:
    return all(len(each) == HASH_SIZE for each in hashes)
