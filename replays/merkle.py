"""The Merkle tree over a match's lines (RFC 6962, section 2.1): leaf i is entry i + 1, and nothing else is a leaf."""

from hashlib import sha256

EMPTY = sha256().digest()
"""The root of a tree without leaves."""


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
        node, size = sha256(b"\x00" + line).digest(), self.size
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
