"""What other projects published: Merkle proofs of transparency-dev, roots of RFC 6962, the example of signed-note.

The proofs are read from a folder that SOULRIFT_VECTORS names, with `inclusion.json` and `consistency.json` in it.
"""

import json
import os
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from replays.merkle import EMPTY, ProvingTree, extends, includes, leaf_hash
from replays.notes import NoteError, VerifierKey, parse_note, verifier_key
from tests.unit.test_merkle import LEAVES, ROOTS

FOLDER = Path(os.environ.get("SOULRIFT_VECTORS", ""))

PROBES = {"inclusion": 98, "consistency": 98}
"""How many there are in each file."""

HOLDING = 6
"""So many of each must be accepted; all others must be refused."""


def probes(name: str) -> list[Any]:
    """The probes of a file, which the test is skipped without."""
    path = FOLDER / f"{name}.json"
    if "SOULRIFT_VECTORS" not in os.environ:
        pytest.skip("SOULRIFT_VECTORS is not set; it names the folder of the published vectors")
    if not path.is_file():
        pytest.skip(f"there is no {path}, though SOULRIFT_VECTORS names its folder")
    found: list[Any] = json.loads(path.read_bytes())
    assert len(found) == PROBES[name]
    assert [probe["wantErr"] for probe in found].count(False) == HOLDING
    return found


def hashes(proof: list[str] | None) -> list[bytes]:
    return [b64decode(each, validate=True) for each in proof or ()]


def test_inclusion() -> None:
    """Every published probe of an inclusion proof is accepted or refused as its publishers say."""
    for probe in probes("inclusion"):
        root, leaf = b64decode(probe["root"]), b64decode(probe["leafHash"])
        held = includes(root, probe["treeSize"], probe["leafIdx"], leaf, hashes(probe["proof"]))
        assert held == (not probe["wantErr"]), probe["case"]


def test_consistency() -> None:
    """Every published probe of a consistency proof is accepted or refused as its publishers say."""
    for probe in probes("consistency"):
        old_root, new_root = b64decode(probe["root1"]), b64decode(probe["root2"])
        held = extends(old_root, probe["size1"], new_root, probe["size2"], hashes(probe["proof"]))
        assert held == (not probe["wantErr"]), probe["case"]


def test_published_proofs_are_what_this_program_proves() -> None:
    """The proofs of the tree over the published leaves, "happy paths" to their publishers, are made here just so."""
    tree = ProvingTree(list(map(leaf_hash, LEAVES)))
    for probe in probes("inclusion"):
        if probe["desc"] == "happy path":
            index, size = probe["leafIdx"], probe["treeSize"]
            assert tree.root(size) == b64decode(probe["root"])
            assert tree.inclusion_proof(index, size) == hashes(probe["proof"]), probe["case"]
    for probe in probes("consistency"):
        if probe["desc"] == "happy path":
            old, new = probe["size1"], probe["size2"]
            assert (tree.root(old), tree.root(new)) == (b64decode(probe["root1"]), b64decode(probe["root2"]))
            assert tree.consistency_proof(old, new) == hashes(probe["proof"]), probe["case"]


def test_roots() -> None:
    """A proving tree has the roots that Certificate Transparency published for its leaves, at every size from 0 on."""
    tree = ProvingTree(list(map(leaf_hash, LEAVES)))
    assert tuple(tree.root(size).hex() for size in range(9)) == ROOTS


@pytest.mark.parametrize(("old", "new"), [(0, 0), (0, 1), (0, 8)])
def test_size_0_is_refused_before_sizes_are_compared(old: int, new: int) -> None:
    """Whoever follows RFC 9162 to the letter accepts that a tree of no leaves extends itself; it is refused."""
    roots = list(map(bytes.fromhex, ROOTS))
    assert not extends(roots[old], old, roots[new], new, [])
    assert not extends(roots[new], old, roots[new], new, [])
    assert not includes(EMPTY, 0, 0, EMPTY, [])


# ------------------------------------------------------------ the example of C2SP signed-note.md

KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"

TEXT = b"This is an example message.\n"

SIGNATURE = "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM="


def note_of(text: bytes) -> bytes:
    return text + f"\n— example.com/foo {SIGNATURE}\n".encode()


def test_published_key() -> None:
    """The published key is read, told by its ID, and written as it was."""
    key = verifier_key(KEY)
    assert (key.name, key.key_id.hex(), str(key)) == ("example.com/foo", "530d903a", KEY)
    assert key.public == b64decode("AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")[1:]


def test_published_note() -> None:
    """The published note is signed by the published key."""
    note = parse_note(note_of(TEXT))
    assert note.text == TEXT
    assert note.signed_by([verifier_key(KEY)]) == [verifier_key(KEY)]


def test_published_signature_of_another_text() -> None:
    """Any other text under the published signature is not signed by the published key."""
    for at in range(len(TEXT) - 1):
        text = TEXT[:at] + b"#" + TEXT[at + 1 :]
        assert parse_note(note_of(text)).signed_by([verifier_key(KEY)]) == []


def test_published_signature_with_any_bit_flipped() -> None:
    """Another signature under the published text is not the published key's."""
    key, raw = verifier_key(KEY), b64decode(SIGNATURE)
    for bit in range(32, len(raw) * 8):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        assert not key.verifies(TEXT, bytes(changed[4:]))


def test_published_key_with_another_id() -> None:
    """A key whose ID is not made of its name and its bytes is refused: it was mistyped, or somebody else's."""
    for text in (KEY.replace("530d903a", "530d903b"), KEY.replace("/foo", "/fop"), KEY[:-1] + "l"):
        with pytest.raises(NoteError):
            verifier_key(text)
    other = VerifierKey("example.com/fop", verifier_key(KEY).public)
    assert parse_note(note_of(TEXT)).signed_by([other]) == []
