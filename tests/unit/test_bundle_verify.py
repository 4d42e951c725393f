"""The program in a bundle: what it needs, what it computes, and which exit status meets each tampering."""

import ast
import hashlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replays.merkle import ProvingTree, Tree, leaf_hash
from soulrift import bundle_verify
from tests.bundles import (
    NOTE,
    VERIFY,
    Check,
    checked,
    checking,
    duel_files,
    forged,
    laid_out,
    made,
    proof,
    unzipped,
    whole,
)
from tests.evidence import SERVER, signed
from tests.recordings import DUEL, lines, root_of

SOURCE = Path(bundle_verify.__file__)

FILES = duel_files()

LINES = lines(DUEL)

PROOF, OTHER_PROOF = "proofs/entry-7.tlog-proof", "proofs/entry-8.tlog-proof"

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl on this machine")


@pytest.fixture
def program(tmp_path: Path) -> Check:
    """The program, in a folder of its own."""
    return checking(tmp_path)


PINNED = ("--key", SERVER.text)


class TestNeeds:
    """What it asks for of a machine."""

    def test_only_the_standard_library(self) -> None:
        """It imports nothing but modules of Python's own, and none of this project's."""
        imported = set[str]()
        for node in ast.walk(ast.parse(SOURCE.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                imported.add(str(node.module).partition(".")[0])
        assert imported <= sys.stdlib_module_names

    def test_an_old_python(self) -> None:
        """It is written in the Python that its README asks for, 3.9."""
        ast.parse(SOURCE.read_text("utf-8"), feature_version=(3, 9))

    def test_no_network_and_no_eval(self) -> None:
        """It opens no connection, and runs nothing of what it reads; openssl is all that it starts."""
        tree = ast.parse(SOURCE.read_text("utf-8"))
        called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "id")}
        assert not called & {"eval", "exec", "compile", "__import__"}
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not names & {"socket", "urllib.request", "http.client", "ctypes", "pickle"}

    def test_it_is_the_one_in_the_bundle(self) -> None:
        """What is tested here lies in every bundle."""
        assert FILES[VERIFY] == SOURCE.read_bytes()


class TestHashes:
    """Its roots and proofs are those of the program that writes them."""

    @pytest.mark.parametrize("size", [*range(1, 20), 31, 32, 33, 63, 64, 65])
    def test_equal(self, size: int) -> None:
        """The same roots, and each proof leads to them, by both implementations and by the RFC's own words."""
        leaves = [b"line %d" % n for n in range(size)]
        tree, proving = Tree(), ProvingTree()
        for line in leaves:
            tree.append(line)
            proving.append(line)
        hashes = [bundle_verify.leaf(line) for line in leaves]
        assert hashes == [leaf_hash(line) for line in leaves]
        assert bundle_verify.root(hashes) == tree.root() == root_of(leaves)
        for index in range(size):
            path = list(proving.inclusion_proof(index, size))
            assert bundle_verify.root_by_proof(index, size, hashes[index], path) == tree.root()
            assert bundle_verify.root_by_proof(index, size, hashes[index], [*path, bytes(32)]) != tree.root()
            assert not path or bundle_verify.root_by_proof(index, size, hashes[index], path[:-1]) != tree.root()

    def test_no_leaves(self) -> None:
        """A tree without leaves has the hash of nothing."""
        assert bundle_verify.root([]) == hashlib.sha256().digest()


@needs_openssl
class TestHonest:
    """Bundles with which nothing is wrong."""

    def test_first_use(self, program: Check) -> None:
        """By the keys that came along it is a first use, and it says where to ask."""
        status, told = program(FILES)
        assert status == 6
        assert "came along" in told

    def test_pinned(self, program: Check) -> None:
        """By the key that somebody named, it is whole; spaces around the key do no harm."""
        assert program(FILES, *PINNED)[0] == 0
        assert program(FILES, "--key", f" {SERVER.text}\n")[0] == 0

    def test_written_by_the_format_alone(self, program: Check) -> None:
        """A bundle that the published formats alone made is one."""
        note = signed(LINES, at=None)
        files = whole(LINES, {NOTE: note, "proofs/entry-3.tlog-proof": proof(LINES, 3, note)})
        assert program(files, *PINNED)[0] == 0

    def test_older_checkpoint(self, program: Check) -> None:
        """A checkpoint may be about the first entries only, and a time may be told."""
        assert program(whole(LINES, {NOTE: signed(LINES[:5])}), *PINNED)[0] == 0

    def test_it_says_what_it_does_not_check(self, program: Check) -> None:
        """Whether the events follow from the commands is left to the other program, which is said."""
        assert "NOT checked: whether the events follow" in program(FILES, *PINNED)[1]

    @pytest.mark.parametrize("version", ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"])
    def test_every_python(self, version: str, tmp_path: Path) -> None:
        """Each Python that is on this machine runs it."""
        python = shutil.which(f"python{version}")
        if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
            pytest.skip(f"there is no Python {version} on this machine")
        assert checked(laid_out(tmp_path, FILES), *PINNED, python=python).returncode == 0


@pytest.mark.parametrize("arguments", [("x",), ("--key",), ("--keys", "x"), ("--key", "x", "y")])
def test_usage(arguments: tuple[str, ...], program: Check) -> None:
    """Other arguments than a key are a usage error."""
    status, told = program(FILES, *arguments)
    assert (status, told) == (2, "")


def test_help(program: Check) -> None:
    """Who asks how it is called is told so."""
    status, told = program(FILES, "--help")
    assert (status, told) == (0, "usage: python3 -I verify.py [--key NAME+ID+BASE64]\n")


@pytest.mark.parametrize("key", ["nonsense", SERVER.text[:-4], SERVER.label, ""])
def test_key_that_is_none(key: str, program: Check) -> None:
    """So is a key that is none: nothing is wrong with the bundle."""
    assert program(FILES, "--key", key)[0] == 2


class TestOpenssl:
    """Where openssl is missing, or cannot do what it is asked."""

    def test_missing(self, program: Check) -> None:
        """Without openssl it says that nobody checked who signed, and does not claim it: 5."""
        for arguments in ((), PINNED):
            status, told = program(FILES, *arguments, PATH="/nonexistent")
            assert status == 5
            assert "NOT checked whether" in told
            assert "signed it\n" not in told.replace("NOT checked whether", "")
            assert "it is signed by" not in told

    def test_forged_and_missing(self, program: Check) -> None:
        """Nor does it for a signature that is none."""
        assert program(whole(LINES, {NOTE: forged()}), *PINNED, PATH="/nonexistent")[0] == 5

    @pytest.mark.skipif(os.name == "nt", reason="its openssl is a shell script")
    def test_too_old(self, program: Check, tmp_path_factory: pytest.TempPathFactory) -> None:
        """An openssl that does not know Ed25519 has checked nothing: nobody is accused of a false signature."""
        path = tmp_path_factory.mktemp("old") / "openssl"
        path.write_text("#!/bin/sh\necho 'pkeyutl: Unrecognized flag rawin' >&2\nexit 1\n")
        path.chmod(0o755)
        status, told = program(FILES, *PINNED, PATH=f"{path.parent}:/usr/bin:/bin")
        assert status == 5
        assert "is not its own" not in told
        assert "NOT checked" in told.partition("whether the events")[0]


def test_terminal_of_another_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that a terminal, or a file on an old machine, cannot show is told somehow, without an error."""
    start = {**DUEL[0], "match": "Ångström \U0001f525"}
    laid_out(tmp_path, unzipped(made(tmp_path, [start, {"type": "release"}])))
    for path in tmp_path.glob("bundle*"):
        path.unlink()
    shutil.rmtree(tmp_path / "keys")
    spec = importlib.util.spec_from_file_location("verify", tmp_path / VERIFY)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert module.main([]) in {5, 6}
