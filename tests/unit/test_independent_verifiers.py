"""What this program signs and proves convinces programs of others, and what is changed does not.

`proofbundle` judges notes and Merkle proofs of C2SP and RFC 9162; OpenSSL judges Ed25519 signatures.
"""

import shutil
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from proofbundle.checkpoint import verify_checkpoint
from proofbundle.errors import BundleFormatError
from proofbundle.merkle import verify_consistency, verify_inclusion
from proofbundle.tlogproof import verify_tlog_proof

from replays.checkpoints import Checkpoint, origin_of, parse_checkpoint
from replays.merkle import ProvingTree
from replays.notes import SignerKey
from replays.proofs import inclusion_file
from tests.evidence import ANOTHER, AT, IMPOSTOR, SERVER, STORE
from tests.recordings import DUEL, lines

LINES = lines(DUEL)

SIZE = len(LINES)

OTHER = lines([*DUEL[:-1], {"type": "concede", "player": "ada"}])[-1]
"""A line that is no leaf."""

KEY = SignerKey(SERVER.name, SERVER.private)

MATCHES = ["duel", "a/b", "the long duel", "100%", "名前 😀", "a+b"]


@pytest.fixture(scope="module")
def tree() -> ProvingTree:
    """The duel as this program proves it."""
    tree = ProvingTree()
    for line in LINES:
        tree.append(line)
    return tree


def checkpoint(tree: ProvingTree, match: str = "duel", size: int = SIZE) -> bytes:
    """The checkpoint that this program signs."""
    return Checkpoint(origin_of(STORE, match), size, tree.root(size), AT).signed(KEY)


def flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


# ------------------------------------------------------------ proofbundle


class TestProofbundle:
    """The verifier of another project, which was written from the same specifications."""

    def test_inclusion(self, tree: ProvingTree) -> None:
        """It accepts the proof of each entry at each size, and none of another line, hash, place or root."""
        for size in range(1, SIZE + 1):
            root = tree.root(size)
            for index in range(size):
                line, proof = LINES[index], tree.inclusion_proof(index, size)
                assert verify_inclusion(line, index, size, proof, root)
                assert not verify_inclusion(OTHER, index, size, proof, root)
                assert not verify_inclusion(line, index, size, proof, flipped(root))
                assert not verify_inclusion(line, index + 1, size, proof, root)
                assert not proof or not verify_inclusion(line, index, size, [*proof[:-1], flipped(proof[-1])], root)

    def test_consistency(self, tree: ProvingTree) -> None:
        """It accepts the proof between each two sizes, and none with another hash or root."""
        for new in range(1, SIZE + 1):
            for old in range(1, new + 1):
                proof, roots = tree.consistency_proof(old, new), (tree.root(old), tree.root(new))
                assert verify_consistency(old, new, proof, *roots)
                assert not verify_consistency(old, new, proof, flipped(roots[0]), roots[1])
                assert not verify_consistency(old, new, proof, roots[0], flipped(roots[1]))
                assert not proof or not verify_consistency(old, new, [*proof[:-1], flipped(proof[-1])], *roots)

    @pytest.mark.parametrize("match", MATCHES)
    def test_checkpoint(self, tree: ProvingTree, match: str) -> None:
        """It accepts a checkpoint of any match by the key's text, and reads from it what was written."""
        found = verify_checkpoint(checkpoint(tree, match).decode(), str(KEY.verifier))
        assert found["ok"]
        assert (found["origin"], found["tree_size"], found["root"]) == (origin_of(STORE, match), SIZE, tree.root())

    @pytest.mark.parametrize("key", [ANOTHER, IMPOSTOR])
    def test_checkpoint_by_another_key(self, tree: ProvingTree, key: object) -> None:
        """It accepts no checkpoint by another key."""
        assert not verify_checkpoint(checkpoint(tree).decode(), getattr(key, "text", ""))["ok"]

    @pytest.mark.parametrize(
        ("old", "new"), [("\n11\n", "\n10\n"), ("/duel", "/dual"), ("11-30", "12-30"), ("at ", "At ")]
    )
    def test_changed_checkpoint(self, tree: ProvingTree, old: str, new: str) -> None:
        """It accepts none of which another line says something else."""
        content = checkpoint(tree).decode()
        assert old in content
        assert not verify_checkpoint(content.replace(old, new), str(KEY.verifier))["ok"]

    def test_proof_file(self, tree: ProvingTree) -> None:
        """It accepts the file of a proof for the line of the entry, and for no other line, key, origin or hash."""
        hashes = tree.inclusion_proof(2, SIZE)
        content = inclusion_file(LINES[2], 2, hashes, checkpoint(tree)).decode()
        key, origin = str(KEY.verifier), origin_of(STORE, "duel")
        assert verify_tlog_proof(content, LINES[2], key, expected_origin=origin)["ok"]
        assert not verify_tlog_proof(content, OTHER, key)["ok"]
        assert not verify_tlog_proof(content, LINES[2], ANOTHER.text)["ok"]
        assert not verify_tlog_proof(content, LINES[2], key, expected_origin=origin_of(STORE, "other"))["ok"]
        assert not verify_tlog_proof(content.replace("index 2", "index 3"), LINES[2], key)["ok"]
        changed = content.replace(b64encode(hashes[0]).decode(), b64encode(flipped(hashes[0])).decode())
        assert not verify_tlog_proof(changed, LINES[2], key)["ok"]

    def test_key_that_is_not_as_it_was_written(self, tree: ProvingTree) -> None:
        """It takes our key's text for a key, and one with another ID for none."""
        changed = str(KEY.verifier).replace(KEY.verifier.key_id.hex(), "00000000")
        with pytest.raises(BundleFormatError):
            verify_checkpoint(checkpoint(tree).decode(), changed)


# ------------------------------------------------------------ OpenSSL

OPENSSL = shutil.which("openssl")


@pytest.mark.skipif(OPENSSL is None, reason="there is no openssl here, which would judge a signature")
class TestOpenSSL:
    """The key and the signature taken out of a checkpoint by hand, for a program that knows nothing of notes."""

    @staticmethod
    def _verify(folder: Path, key: bytes, text: bytes, signature: bytes) -> tuple[int, str]:
        """The exit status, and what it says."""
        spki = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00" + key  # RFC 8410: the header of an Ed25519 key
        pem = b"-----BEGIN PUBLIC KEY-----\n" + b64encode(spki) + b"\n-----END PUBLIC KEY-----\n"
        for name, content in (("key.pem", pem), ("text", text), ("signature", signature)):
            (folder / name).write_bytes(content)
        files = ("-inkey", "key.pem", "-rawin", "-in", "text", "-sigfile", "signature")
        command = [OPENSSL or "", "pkeyutl", "-verify", "-pubin", *files]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        return done.returncode, done.stdout.decode().strip()

    @staticmethod
    def _parts(note: bytes) -> tuple[bytes, bytes]:
        """The text and the signature of a note."""
        text, line = note.split(b"\n\n")
        return text + b"\n", b64decode(line.split()[2])[4:]

    def test_signature(self, tree: ProvingTree, tmp_path: Path) -> None:
        """It accepts the signature of a checkpoint by the 32 bytes at the end of the key's text."""
        key = b64decode(str(KEY.verifier).split("+", 2)[2])[1:]
        text, signature = self._parts(checkpoint(tree))
        assert self._verify(tmp_path, key, text, signature) == (0, "Signature Verified Successfully")

    def test_changed(self, tree: ProvingTree, tmp_path: Path) -> None:
        """It accepts no other text, no other signature, and no other key."""
        key = b64decode(str(KEY.verifier).split("+", 2)[2])[1:]
        text, signature = self._parts(checkpoint(tree))
        assert parse_checkpoint(checkpoint(tree))[1].text == text
        changed = [
            (key, text.replace(b"\n11\n", b"\n12\n"), signature),
            (key, text + b"\n", signature),
            (key, text[:-1], signature),
            (key, text, flipped(signature)),
            (ANOTHER.public, text, signature),
        ]
        for arguments in changed:
            status, told = self._verify(tmp_path, *arguments)
            assert status != 0
            assert "Successfully" not in told
