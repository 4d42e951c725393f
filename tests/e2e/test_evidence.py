"""`checkpoint`, `verify --checkpoint`, `prove` and `consistency`, as people and programs call them."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from replays.checkpoints import Checkpoint, parse_checkpoint
from replays.merkle import EMPTY
from replays.notes import verifier_key
from replays.proofs import parse_inclusion
from tests.evidence import CHEATER, SERVER, note, signed, text_of
from tests.recordings import (
    DUEL,
    Done,
    archive_of,
    duel,
    file_of,
    in_process,
    lines,
    refolded,
    root_of,
    running,
    unlined,
)

LINES = lines(DUEL)

SIZE = len(LINES)

SHORT = lines([*DUEL[:3], {"type": "concede", "player": "ada"}])
FALSE = [*LINES[:-1], lines([*DUEL[:-1], {"type": "concede", "player": "ada"}])[-1]]
"""A record that re-executes, and was not played."""


def script_of(commands: list[dict[str, Any]], **start: Any) -> str:
    """A match script; with other values for fields of its first command."""
    return "".join(json.dumps(command) + "\n" for command in [{**commands[0], **start}, *commands[1:]])


class Table(NamedTuple):
    """A store with the duel, a folder with one key that signs, and what was made with both."""

    folder: Path
    store: str
    keys: Path
    key: str
    old: Path
    new: Path
    record: Path
    proof: Path

    @property
    def label(self) -> str:
        """The name and the ID of the key."""
        return "+".join(self.key.split("+")[:2])

    @property
    def env(self) -> dict[str, str]:
        """What `run` needs to know."""
        return {"SOULRIFT_DB": self.store, "SOULRIFT_KEYS": str(self.keys)}


def soulrift(*arguments: str, env: dict[str, str], stdin: str = "") -> str:
    """What the program prints; it succeeds."""
    command = [sys.executable, "-m", "soulrift", *arguments]
    done = subprocess.run(
        command, input=stdin, capture_output=True, env=os.environ | env, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Made once; nobody changes it."""
    folder = tmp_path_factory.mktemp("evidence")
    names = ("games.db", "keys", "old.note", "new.note", "duel.jsonl", "entry-3.tlog-proof")
    store, keys, old, new, record, proof = (folder / name for name in names)
    env = {"SOULRIFT_DB": str(store), "SOULRIFT_KEYS": str(keys)}
    soulrift("play", "-", env=env, stdin=script_of(DUEL))
    key = soulrift("keys", "new", "games.example/eu", env=env).splitlines()[-1]
    soulrift("checkpoint", "duel", "--at", "4", "-o", str(old), env=env)
    soulrift("checkpoint", "duel", "-o", str(new), env=env)
    soulrift("export", "duel", "-o", str(record), env=env)
    soulrift("prove", "duel", "3", "-o", str(proof), env=env)
    return Table(folder, str(store), keys, key, old, new, record, proof)


@pytest.fixture
def ask(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], table: Table, tmp_path: Path
) -> Callable[..., Done]:
    """The program in this process, from its entry point on, in a folder of its own, with that store and those keys."""
    program = in_process(monkeypatch, capfd)
    monkeypatch.chdir(tmp_path)

    def asked(*arguments: object, **more: str) -> Done:
        for name, value in {**table.env, **more}.items():
            monkeypatch.setenv(name, value)
        return program(*arguments)

    return asked


def put(folder: Path, content: bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


# ------------------------------------------------------------ checkpoint


class TestCheckpoint:
    """`soulrift checkpoint`."""

    def test_to_standard_output(self, ask: Callable[..., Done], table: Table) -> None:
        """The signed note, and nothing else: the whole record as it is, at this time, by the only key."""
        done = ask("checkpoint", "duel")
        assert (done.status, done.err) == (0, "")
        found, its_note = parse_checkpoint(done.out.encode())
        assert (found.match, found.size, found.root) == ("duel", SIZE, root_of(LINES))
        assert its_note.signed_by([verifier_key(table.key)])
        assert found.at is not None
        assert found.origin == parse_checkpoint(table.old.read_bytes())[0].origin

    def test_to_a_file(self, ask: Callable[..., Done], tmp_path: Path) -> None:
        """With -o it is said what was written; a file that is there is replaced by --force alone."""
        done = ask("checkpoint", "duel", "-o", "duel.note")
        assert done.out.startswith("duel.note: duel as of entry 11, signed by games.example/eu+")
        first = (tmp_path / "duel.note").read_bytes()
        done = ask("checkpoint", "duel", "--at", "3", "-o", "duel.note")
        assert (done.status, done.out) == (2, "")
        assert "--force" in done.err
        assert (tmp_path / "duel.note").read_bytes() == first
        assert ask("checkpoint", "duel", "--at", "3", "-o", "duel.note", "--force").status == 0
        assert parse_checkpoint((tmp_path / "duel.note").read_bytes())[0].size == 3

    @pytest.mark.parametrize("at", [1, 7, SIZE])
    def test_as_of_an_entry(self, ask: Callable[..., Done], at: int) -> None:
        """It says what the record was then."""
        found, _ = parse_checkpoint(ask("checkpoint", "duel", "--at", at).out.encode())
        assert (found.size, found.root) == (at, root_of(LINES[:at]))

    def test_by_one_of_several_keys(self, ask: Callable[..., Done], table: Table, tmp_path: Path) -> None:
        """Where several keys sign, it has to be said which, by name or by name and ID."""
        keys = str(shutil.copytree(table.keys, tmp_path / "k"))
        ask("keys", "new", "other", SOULRIFT_KEYS=keys)
        assert ask("checkpoint", "duel", SOULRIFT_KEYS=keys).status == 2
        for name in ("games.example/eu", table.label):
            content = ask("checkpoint", "duel", "--key", name, SOULRIFT_KEYS=keys).out.encode()
            assert parse_checkpoint(content)[1].signed_by([verifier_key(table.key)])

    @pytest.mark.parametrize(
        ("arguments", "status"),
        [
            (("nobody",), 1),
            (("duel", "--at", "0"), 2),
            (("duel", "--at", "12"), 2),
            (("duel", "--at", "-1"), 2),
            (("duel", "--at", str(2**70)), 2),
            (("duel", "--key", "nobody"), 2),
            (("duel", "--keys", "nowhere"), 2),
            (("duel", "-o", "no/where"), 2),
            (("duel", "--db", "nowhere.db"), 2),
        ],
    )
    def test_what_cannot_be_signed(self, ask: Callable[..., Done], arguments: tuple[str, ...], status: int) -> None:
        """What is not there is told in words, and nothing is printed or made."""
        done = ask("checkpoint", *arguments)
        assert (done.status, done.out) == (status, "")
        assert done.err

    def test_into_the_store_itself(self, ask: Callable[..., Done], table: Table) -> None:
        """Not even --force lets a checkpoint take the place of the store."""
        assert ask("checkpoint", "duel", "-o", table.store, "--force").status == 2

    def test_compressed(self, ask: Callable[..., Done], table: Table) -> None:
        """Whatever the file is called, it is one that this program takes for a checkpoint."""
        for name in ("duel.note.gz", "duel.note.zst"):
            if ask("checkpoint", "duel", "-o", name).status == 0:
                assert ask("verify", table.record, "--checkpoint", name).status == 0

    def test_what_does_not_re_execute_is_not_signed(
        self, ask: Callable[..., Done], table: Table, tmp_path: Path
    ) -> None:
        """A record that was changed in the store gets no checkpoint and no proof, but its verdict."""
        store = str(shutil.copy(table.store, tmp_path / "changed.db"))
        with closing(sqlite3.connect(store)) as connection, connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            change = "UPDATE stored_events SET state=CAST(replace(CAST(state AS TEXT), '-2', '-3') AS BLOB) "
            assert connection.execute(change + "WHERE topic='life_changed.v1'").rowcount == 1
        for command in (("checkpoint", "duel"), ("prove", "duel", "1", "-o", "proof")):
            done = ask(*command, SOULRIFT_DB=store)
            assert (done.status in {1, 4}, done.out) == (True, "")
            assert not (tmp_path / "proof").exists()


# ------------------------------------------------------------ verify


class TestVerify:
    """`soulrift verify --checkpoint`, by exit status."""

    @pytest.mark.parametrize(
        ("content", "checkpoint", "verdict", "status"),
        [
            (duel(), signed(LINES), "exact", 0),
            (
                file_of("duel", refolded(LINES, 8, lambda entry: entry["events"][0].update(delta=-9))),
                signed(LINES),
                "diverged",
                1,
            ),
            (unlined(duel().splitlines()[:4]), signed(LINES), "damaged", 4),
            (duel(), b"nonsense", "damaged", 4),
            (duel(), signed(LINES, by=CHEATER), "unsigned", 5),
            (file_of("duel", LINES[:5], "running"), signed(LINES), "incomplete", 7),
            (file_of("duel", FALSE), signed(LINES), "another-history", 8),
            (duel(), signed(LINES, "another"), "another-history", 8),
            (running(), signed(LINES), "another-history", 8),
            (b'{"match":"duel","replay":2}\n' + duel()[duel().index(b"\n") + 1 :], signed(LINES), "unverifiable", 3),
        ],
    )
    def test_each_verdict(
        self, ask: Callable[..., Done], tmp_path: Path, content: bytes, checkpoint: bytes, verdict: str, status: int
    ) -> None:
        """The verdict is told in words, as data, and as the exit status."""
        file, held = put(tmp_path, content), put(tmp_path, checkpoint, "held.note")
        arguments = ("verify", file, "--checkpoint", held, "--key", SERVER.text)
        done = ask(*arguments)
        assert done.status == status
        assert f": {verdict}: " in done.out
        done = ask(*arguments, "--format", "json")
        assert done.status == status
        assert json.loads(done.out)["verdict"] == verdict

    def test_as_data(self, ask: Callable[..., Done], table: Table) -> None:
        """What each checkpoint says, who signed it, and what it is worth."""
        done = ask("verify", table.record, "--checkpoint", table.new, "--checkpoint", table.old, "--format", "json")
        data = json.loads(done.out)
        (match,) = data["matches"]
        assert (data["verdict"], match["verdict"], match["entries"]) == ("exact", "exact", SIZE)
        for found, path in zip(match["checkpoints"], (table.new, table.old), strict=True):
            checkpoint, _ = parse_checkpoint(path.read_bytes())
            assert found == {
                "checkpoint": str(path),
                "verdict": "exact",
                "reason": found["reason"],
                "origin": checkpoint.origin,
                "size": checkpoint.size,
                "root": checkpoint.root.hex(),
                "at": checkpoint.at,
                "signed_by": [table.label],
            }

    def test_which_keys_count(self, ask: Callable[..., Done], table: Table, tmp_path: Path) -> None:
        """Those of --key, instead of the folder's; else those of --keys; with none, nothing is signed."""
        against = ("verify", table.record, "--checkpoint", table.new)
        assert ask(*against).status == 0
        assert ask(*against, "--key", table.key).status == 0
        assert ask(*against, "--key", SERVER.text).status == 5
        assert ask(*against, "--key", SERVER.text, "--key", table.key).status == 0
        assert ask(*against, "--keys", tmp_path / "nowhere").status == 5
        assert ask(*against, "--keys", tmp_path / "nowhere", "--key", table.key).status == 0

    def test_retired_key(self, ask: Callable[..., Done], table: Table, tmp_path: Path) -> None:
        """What a key signed before it was retired is exact for ever."""
        keys = str(shutil.copytree(table.keys, tmp_path / "k"))
        assert ask("keys", "retire", "games.example/eu", SOULRIFT_KEYS=keys).status == 0
        assert ask("verify", table.record, "--checkpoint", table.new, SOULRIFT_KEYS=keys).status == 0
        done = ask("checkpoint", "duel", SOULRIFT_KEYS=keys)
        assert (done.status, done.out) == (2, "")

    def test_archive(self, ask: Callable[..., Done], tmp_path: Path) -> None:
        """Each match of an archive is compared with its own checkpoints."""
        file = put(tmp_path, archive_of(duel(), running()))
        held = put(tmp_path, signed(LINES), "held.note")
        cut = put(tmp_path, archive_of(file_of("duel", LINES[:4], "running"), running()), "cut")
        against = ("--checkpoint", held, "--key", SERVER.text, "--format", "json")
        assert [each["verdict"] for each in json.loads(ask("verify", file, *against).out)["matches"]] == ["exact"] * 2
        done = ask("verify", cut, *against)
        assert done.status == 7
        assert [each["verdict"] for each in json.loads(done.out)["matches"]] == ["incomplete", "exact"]

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--checkpoint", "nowhere"),
            ("--checkpoint", "."),
            ("--checkpoint", "held.note", "--key", "nonsense"),
            ("--checkpoint", "held.note", "--key", SERVER.label),
            ("--checkpoint", "held.note", "--keys", "held.note"),
        ],
    )
    def test_what_cannot_be_compared(
        self, ask: Callable[..., Done], table: Table, tmp_path: Path, arguments: tuple[str, ...]
    ) -> None:
        """Files that are not there, and keys that are none, are usage errors."""
        put(tmp_path, table.new.read_bytes(), "held.note")
        done = ask("verify", table.record, *arguments)
        assert (done.status, done.out) == (2, "")

    @pytest.mark.parametrize("name", ["%FF", "%ED%A0%80", "a/b", "%64uel", "😀"])
    def test_origin_that_is_written_to_confuse(self, ask: Callable[..., Done], tmp_path: Path, name: str) -> None:
        """Whatever stands in a checkpoint is answered in words."""
        text = text_of(LINES).replace(b"/duel\n", f"/{name}\n".encode())
        file, held = put(tmp_path, duel()), put(tmp_path, note(text, SERVER), "held.note")
        for command, status in ((("verify", file, "--checkpoint", held), 8), (("consistency", held, held), 0)):
            done = ask(*command, "--key", SERVER.text)
            assert done.status == status
            assert "fault of our own" not in done.err


# ------------------------------------------------------------ prove


class TestProve:
    """`soulrift prove`, and the verdict on what it wrote."""

    def test_proof(self, ask: Callable[..., Done], table: Table) -> None:
        """A proof has the line of the entry and a checkpoint of now, and is exact without record or store."""
        proof = parse_inclusion(table.proof.read_bytes())
        assert (proof.line, proof.index, proof.checkpoint.size) == (LINES[2], 2, SIZE)
        done = ask("verify", table.proof, SOULRIFT_DB="nowhere.db")
        assert done.status == 0
        assert ": duel: exact: entry 3 is among the 11" in done.out
        data = json.loads(ask("verify", table.proof, "--format", "json").out)
        assert (data["verdict"], data["matches"][0]["checkpoints"][0]["size"]) == ("exact", SIZE)

    def test_for_a_checkpoint_that_is_held(self, ask: Callable[..., Done], table: Table, tmp_path: Path) -> None:
        """With --checkpoint it is proven for that one, byte for byte, and no key is needed."""
        done = ask("prove", "duel", "2", "--checkpoint", table.old, "-o", "proof", "--keys", "nowhere")
        assert done.status == 0
        assert (tmp_path / "proof").read_bytes().endswith(b"\n\n" + table.old.read_bytes())
        assert ask("verify", "proof").status == 0

    def test_to_standard_output(self, ask: Callable[..., Done], table: Table) -> None:
        """`-o -` writes the proof there, and nothing else."""
        done = ask("prove", "duel", "2", "--checkpoint", table.old, "-o", "-")
        assert parse_inclusion(done.out.encode()).holds()

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            (lambda content: content.replace(b"\n11\n", b"\n12\n"), 5),
            (lambda content: content.replace(b64encode(LINES[2]), b64encode(LINES[2].replace(b"k1", b"k7"))), 8),
            (lambda content: content.replace(b"index 2\n", b"index 3\n"), 4),
            (lambda content: content[:-1], 4),
            (lambda content: content[:40], 4),
            (lambda content: content[: content.index(b"index")] + content[content.index(b"soulrift/") :], 4),
        ],
    )
    def test_changed_proof(
        self, ask: Callable[..., Done], table: Table, tmp_path: Path, change: Callable[[bytes], bytes], status: int
    ) -> None:
        """Whatever is changed, it is unsigned, or another history, or damaged."""
        path = put(tmp_path, change(table.proof.read_bytes()), "changed")
        assert ask("verify", path).status == status
        done = ask("verify", path, "--format", "json")
        assert (done.status, len(json.loads(done.out)["matches"])) == (status, 1)

    @pytest.mark.parametrize("content", [b"nonsense", signed(FALSE)])
    def test_proof_against_a_checkpoint(
        self, ask: Callable[..., Done], table: Table, tmp_path: Path, content: bytes
    ) -> None:
        """A checkpoint that is given with a proof is compared or refused; it is not passed over in silence."""
        held = put(tmp_path, content, "held.note")
        assert ask("verify", table.proof, "--checkpoint", held).status != 0

    def test_proof_by_a_stranger(self, ask: Callable[..., Done], table: Table) -> None:
        """A proof is worth what its checkpoint's signature is."""
        assert ask("verify", table.proof, "--key", SERVER.text).status == 5
        assert ask("verify", table.proof, "--keys", "nowhere").status == 5

    @pytest.mark.parametrize(
        ("arguments", "status"),
        [
            (("duel", "3"), 2),
            (("duel", "0", "-o", "p"), 2),
            (("duel", "12", "-o", "p"), 2),
            (("duel", "x", "-o", "p"), 2),
            (("nobody", "1", "-o", "p"), 1),
            (("duel", "5", "--checkpoint", "OLD", "-o", "p"), 2),
            (("duel", "3", "--checkpoint", "nowhere", "-o", "p"), 2),
            (("duel", "3", "--keys", "nowhere", "-o", "p"), 2),
            (("duel", "3", "--checkpoint", "FALSE", "-o", "p"), 8),
            (("duel", "3", "--checkpoint", "ANOTHER", "-o", "p"), 8),
            (("duel", "3", "--checkpoint", "LONGER", "-o", "p"), 7),
            (("duel", "3", "--checkpoint", "NONSENSE", "-o", "p"), 4),
        ],
    )
    def test_what_cannot_be_proven(
        self, ask: Callable[..., Done], table: Table, tmp_path: Path, arguments: tuple[str, ...], status: int
    ) -> None:
        """Entries that are not there, and checkpoints of another record, are told in words; nothing is written."""
        held = {
            "OLD": table.old.read_bytes(),
            "FALSE": signed(FALSE),
            "ANOTHER": signed(LINES, "another"),
            "LONGER": signed([*LINES, b"more"]),
            "NONSENSE": b"nonsense",
        }
        done = ask("prove", *(put(tmp_path, held[each], "held") if each in held else each for each in arguments))
        assert (done.status, done.out) == (status, "")
        assert done.err
        assert not (tmp_path / "p").exists()

    def test_existing_file(self, ask: Callable[..., Done], table: Table, tmp_path: Path) -> None:
        """A file that is there is replaced by --force alone."""
        path = put(tmp_path, b"mine")
        prove = ("prove", "duel", "2", "--checkpoint", table.old, "-o", path)
        assert ask(*prove).status == 2
        assert path.read_bytes() == b"mine"
        assert ask(*prove, "--force").status == 0
        assert parse_inclusion(path.read_bytes()).holds()


# ------------------------------------------------------------ consistency


class TestConsistency:
    """`soulrift consistency`, by the store, a file, or a proof."""

    def test_by_each_source(self, ask: Callable[..., Done], table: Table, tmp_path: Path) -> None:
        """Store, file, archive and proof say the same, in words and as data; a proof needs neither store nor record."""
        archive = put(tmp_path, archive_of(running(), duel()), "archive")
        made = ask("consistency", table.old, table.new, "-o", "proof")
        assert (made.status, made.out) == (0, f"proof: {table.new} extends {table.old}\n")
        for source in (
            (),
            ("--record", "duel"),
            ("--record", table.record),
            ("--record", archive, "--match", "duel"),
            ("--proof", "proof", "--db", "nowhere.db"),
        ):
            done = ask("consistency", table.old, table.new, *source)
            assert (done.status, done.err) == (0, "")
            assert ": exact: the 11 entries signed by " in done.out
            assert ",," not in done.out
            done = ask("consistency", table.old, table.new, *source, "--format", "json")
            data = json.loads(done.out)
            assert (data["verdict"], data["size"], data["checkpoint"]) == ("exact", SIZE, str(table.new))

    @pytest.mark.parametrize(
        ("old", "new", "source", "status"),
        [
            (signed(LINES[:4]), signed(LINES), duel(), 0),
            (signed(LINES), signed(LINES), duel(), 0),
            (signed([]), signed(LINES), duel(), 0),
            (signed(FALSE), signed(LINES), duel(), 8),
            (signed(FALSE[:4]), signed(FALSE), duel(), 8),
            (signed(LINES[:4]), signed(LINES), file_of("duel", LINES[:9], "running"), 7),
            (signed(LINES[:4], by=CHEATER), signed(LINES), duel(), 5),
            (signed(LINES[:4]), signed(LINES, by=CHEATER), duel(), 5),
            (signed(LINES[:4], store="0" * 16), signed(LINES), duel(), 8),
            (signed(LINES[:4], "another"), signed(LINES), duel(), 8),
            (b"nonsense", signed(LINES), duel(), 4),
            (signed(LINES[:4]), b"nonsense", duel(), 4),
            (signed(LINES[:4]), signed(LINES), unlined(duel().splitlines()[:6]), 4),
            (signed(LINES[:4]), signed(LINES), b"nonsense", 4),
            (signed(LINES), signed(LINES[:4]), duel(), 2),
        ],
    )
    def test_each_verdict(
        self, ask: Callable[..., Done], tmp_path: Path, old: bytes, new: bytes, source: bytes, status: int
    ) -> None:
        """The exit status tells the verdict; where it is none that holds, no proof is written."""
        paths = [put(tmp_path, content, name) for content, name in ((old, "old"), (new, "new"), (source, "record"))]
        trusted = ("--record", paths[2], "--key", SERVER.text)
        done = ask("consistency", *paths[:2], *trusted)
        assert done.status == status
        if status:
            assert ask("consistency", *paths[:2], *trusted, "-o", "proof").status == status
            assert not (tmp_path / "proof").exists()

    @pytest.mark.parametrize(
        ("old", "new", "source", "told"),
        [
            (signed(FALSE), signed(FALSE[:-1]), None, "name the older one first"),
            (signed(SHORT), signed(LINES), duel(), "do not begin with the 4 signed by"),
            (signed(LINES[:4]), signed(LINES), file_of("duel", FALSE), "the record is not the 11 entries signed by"),
            (signed(LINES[:4]), signed(FALSE), duel(), "the record is not the 11 entries signed by"),
        ],
    )
    def test_who_is_accused(
        self, ask: Callable[..., Done], tmp_path: Path, old: bytes, new: bytes, source: bytes | None, told: str
    ) -> None:
        """Only a record with the newer root and without the older one shows that two histories were signed."""
        paths = [put(tmp_path, content, name) for content, name in ((old, "old"), (new, "new"), (source or b"", "r"))]
        done = ask("consistency", *paths[:2], "--record", paths[2], "--key", SERVER.text)
        assert told in done.out + done.err
        assert ("says nothing about who signed" in done.out) is ("the record is not" in told)

    def test_changed_proof(self, ask: Callable[..., Done], table: Table, tmp_path: Path) -> None:
        """A proof that was changed, or is of other checkpoints, shows nothing; what is none is damaged."""
        ask("consistency", table.old, table.new, "-o", "proof")
        content = (tmp_path / "proof").read_bytes()
        first = content.splitlines()[1]
        for changed, status in (
            (content.replace(first, b64encode(bytes(32))), 8),
            (content.replace(b"old 4\n", b"old 5\n"), 8),
            (content.replace(first + b"\n", b""), 8),
            (content[: content.index(b"\n\n") + 2] + table.old.read_bytes(), 8),
            (content[:30], 4),
            (b"nonsense", 4),
        ):
            path = put(tmp_path, changed, "changed")
            done = ask("consistency", table.old, table.new, "--proof", path)
            assert done.status == status
            assert "do not begin with" not in done.out

    def test_older_checkpoint_of_nothing(self, ask: Callable[..., Done], table: Table, tmp_path: Path) -> None:
        """Every record extends that of no entries; there is nothing to be proven, and nothing to be said against it."""
        newer, _ = parse_checkpoint(table.new.read_bytes())
        old = put(tmp_path, note(Checkpoint(newer.origin, 0, EMPTY).text(), SERVER), "old")
        trusted = ("--key", SERVER.text, "--key", table.key)
        assert ask("consistency", old, table.new, *trusted).status == 0
        done = ask("consistency", old, table.new, *trusted, "-o", "proof")
        assert (done.status, (tmp_path / "proof").exists()) == (2, False)
        proof = put(tmp_path, b"old 0\n\n" + table.new.read_bytes(), "proof")
        assert ask("consistency", old, table.new, *trusted, "--proof", proof).status in {0, 2}

    @pytest.mark.parametrize("form", ["text", "json"])
    def test_file_name_that_is_no_text(self, ask: Callable[..., Done], table: Table, tmp_path: Path, form: str) -> None:
        """A file may have any bytes for its name."""
        name = os.fsdecode(b"\xff.note")
        shutil.copy(table.new, tmp_path / name)
        assert ask("consistency", table.old, name, "--format", form).status == 0
        assert ask("consistency", name, table.new, "--format", form).status == 0
        assert ask("verify", table.record, "--checkpoint", name, "--format", form).status == 0

    def test_file_that_is_called_like_the_match(self, ask: Callable[..., Done], table: Table, tmp_path: Path) -> None:
        """Without --record it is the store's match, whatever files there are: a checkpoint names no file to be read."""
        put(tmp_path, file_of("duel", FALSE), "duel")
        assert ask("consistency", table.old, table.new).status == 0

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--proof", "OLD", "--record", "duel"),
            ("--proof", "OLD", "-o", "x"),
            ("--proof", "nowhere"),
            ("--record", "ARCHIVE"),
            ("--record", "ARCHIVE", "--match", "nobody"),
            ("--match", "duel"),
            ("--key", "nonsense"),
            ("--db", "nowhere.db"),
        ],
    )
    def test_what_cannot_be_told(
        self, ask: Callable[..., Done], table: Table, tmp_path: Path, arguments: tuple[str, ...]
    ) -> None:
        """What is not there, or does not go together, is a usage error."""
        places = {"OLD": table.old, "ARCHIVE": put(tmp_path, archive_of(duel()), "archive")}
        done = ask("consistency", table.old, table.new, *(places.get(each, each) for each in arguments))
        assert (done.status, done.out) == (2, "")
