"""`soulrift bundle`, and what a stranger does with one: by the other program, and by the README alone."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from soulrift import store as stores
from tests.bundles import KEYS, NOTE, README, REPLAY, REPORT, SUMS, VERIFY, key_folder, made, overwrite, unzipped
from tests.e2e.conftest import PLAYERS, Run
from tests.evidence import ANOTHER, SERVER, signed
from tests.recordings import DUEL, LIFE_CHANGED, Program, in_process, lines, refolded

LINES = lines(DUEL)

NOBODY = ("--keys", "nobody")
"""As somebody who knows no key."""

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl on this machine")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Program:
    """The program, in this process and in the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOULRIFT_KEYS", str(tmp_path / "keys"))
    return in_process(monkeypatch, capfd)


def stored(store: Path | str, commands: list[dict[str, Any]] = DUEL, **start: Any) -> None:
    first, *others = [json.dumps(command) for command in [{**commands[0], **start}, *commands[1:]]]
    with stores.create(str(store)) as matches:
        matches.give_all(matches.start(first).match, others)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store that has the duel, and the server's key."""
    stored(tmp_path / "soulrift.db")
    key_folder(tmp_path / "keys", SERVER)
    return tmp_path


@pytest.mark.usefixtures("folder")
class TestMade:
    """What is packed."""

    def test_told(self, run: Run, folder: Path) -> None:
        """It is told what is in it; its files stand in their order, with proofs of the entries asked for, each once."""
        done = run("bundle", "duel", "--entry", "8", "--entry", "7", "--entry", "8", "-o", "duel.zip")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "duel.zip: duel, 11 entries; checkpoints: 1, proofs: 2\n"
        files = unzipped((folder / "duel.zip").read_bytes())
        proofs = ["proofs/entry-7.tlog-proof", "proofs/entry-8.tlog-proof"]
        assert list(files) == [README, VERIFY, REPLAY, KEYS, NOTE, *proofs, "audit.json", REPORT, SUMS]
        assert [line for line in files[REPLAY].split(b"\n") if line.startswith(b'{"command":')] == LINES
        assert files[KEYS].decode() == f"{SERVER.text}\n"

    def test_same_bytes(self, program: Program, folder: Path) -> None:
        """Whoever packs it again gets the same bytes; a file that is there is replaced on demand."""
        assert program("bundle", "duel", "--entry", "8", "-o", "1.zip").status == 0
        assert program("bundle", "duel", "--entry", "8", "-o", "2.zip").status == 0
        assert (folder / "1.zip").read_bytes() == (folder / "2.zip").read_bytes()
        assert program("bundle", "duel", "-o", "1.zip").status == 2
        assert program("bundle", "duel", "-o", "1.zip", "--force").status == 0
        assert (folder / "1.zip").read_bytes() != (folder / "2.zip").read_bytes()

    def test_parts_are_what_other_commands_write(self, program: Program, folder: Path) -> None:
        """The record is the exported one, and the judgment is that of `audit` on both together."""
        program("bundle", "duel", "-o", "duel.zip")
        program("export", "duel", "-o", "duel.jsonl")
        files = unzipped((folder / "duel.zip").read_bytes())
        assert files[REPLAY] == (folder / "duel.jsonl").read_bytes()
        judged = json.loads(program("audit", "duel.zip", "--format", "json", *NOBODY).out)
        assert json.loads(files["audit.json"]) == judged

    def test_standard_output(self, folder: Path) -> None:
        """It may go into a pipe; a full disk is told in a line."""
        bundle = f"SOULRIFT_KEYS=keys {sys.executable} -m soulrift bundle duel -o -"
        subprocess.run(f"{bundle} > out.zip", shell=True, cwd=folder, check=True)
        assert zipfile.is_zipfile(folder / "out.zip")
        done = subprocess.run(f"{bundle} > /dev/full", shell=True, cwd=folder, capture_output=True, check=False)
        assert (done.returncode, done.stderr.count(b"\n"), b"Traceback" in done.stderr) == (1, 1, False)

    def test_checkpoints_that_are_held(self, program: Program, folder: Path) -> None:
        """Checkpoints that were signed before are packed as they are, and a proof is for the largest one."""
        for size in (8, 10):
            (folder / f"{size}.note").write_bytes(signed(LINES[:size]))
        notes = ("--checkpoint", "8.note", "--checkpoint", "10.note")
        assert program("bundle", "duel", *notes, "--entry", "9", "-o", "duel.zip").status == 0
        files = unzipped((folder / "duel.zip").read_bytes())
        assert files[NOTE] == signed(LINES[:8])
        assert files["proofs/entry-9.tlog-proof"].endswith(b"\n\n" + signed(LINES[:10]))
        assert program("verify", "duel.zip").status == 0
        assert program("bundle", "duel", *notes, "--entry", "11", "-o", "late.zip").status == 2
        assert not (folder / "late.zip").exists()

    @pytest.mark.parametrize(
        ("arguments", "status"),
        [
            (("nobody", "-o", "x.zip"), 1),
            (("duel",), 2),
            (("duel", "--entry", "0", "-o", "x.zip"), 2),
            (("duel", "--entry", "12", "-o", "x.zip"), 2),
            (("duel", "--entry", "7", "--entry", str(2**70), "-o", "x.zip"), 2),
            (("duel", "--checkpoint", "nowhere", "-o", "x.zip"), 2),
            (("duel", "--checkpoint", "another.note", "-o", "x.zip"), 8),
            (("duel", "--checkpoint", "later.note", "-o", "x.zip"), 7),
            (("duel", "--checkpoint", "false.note", "-o", "x.zip"), 8),
            (("duel", "--checkpoint", "bad.note", "-o", "x.zip"), 4),
            (("duel", "--checkpoint", "foreign.note", "-o", "x.zip"), 2),
            (("duel", "--key", "nobody", "-o", "x.zip"), 2),
            (("duel", "--keys", "nobody", "-o", "x.zip"), 2),
            (("duel", "-o", "no/such/folder.zip"), 2),
            (("duel", "-o", "soulrift.db", "--force"), 2),
        ],
    )
    def test_what_cannot_be_packed(
        self, program: Program, folder: Path, arguments: tuple[str, ...], status: int
    ) -> None:
        """What is missing, or does not fit the record, is told in words, and nothing is written."""
        (folder / "another.note").write_bytes(signed(LINES, "another"))
        (folder / "later.note").write_bytes(signed([*LINES, b"12"]))
        (folder / "false.note").write_bytes(signed([*LINES[:-1], b"11"]))
        (folder / "bad.note").write_bytes(b"nonsense")
        (folder / "foreign.note").write_bytes(signed(LINES, by=ANOTHER))
        done = program("bundle", *arguments)
        assert (done.status, done.out) == (status, "")
        assert done.err
        assert not (folder / "x.zip").exists()
        assert program("show", "duel").status == 0

    @pytest.mark.parametrize("name", ["a/b", "\U0001f525", "two words", "..", "{match}", "it's", "\u05d0\u202e"])
    def test_names(self, program: Program, folder: Path, name: str) -> None:
        """A match may be called anything: its bundle is made, and judged, under that name."""
        stored(folder / "named.db", match=name)
        done = program("bundle", "--db", "named.db", "--entry", "7", "-o", "x.zip", "--", name)
        assert done.status == 0
        assert program("verify", "x.zip").status == 0
        assert program("audit", "x.zip").status == 0
        assert name in unzipped((folder / "x.zip").read_bytes())[README].decode()

    def test_in_any_store(self, program: Program, folder: Path, durable_store: str) -> None:
        """A bundle is made of a match in every kind of store, and each store signs under an identity of its own."""
        stored(durable_store)
        assert program("bundle", "duel", "--db", durable_store, "-o", "1.zip").status == 0
        assert program("bundle", "duel", "--db", durable_store, "-o", "2.zip").status == 0
        assert (folder / "1.zip").read_bytes() == (folder / "2.zip").read_bytes()
        assert program("verify", "1.zip").status == 0


@pytest.mark.usefixtures("folder")
class TestJudged:
    """What a bundle is worth, by who asks."""

    def test_by_the_keys_that_are_known(self, run: Run) -> None:
        """0 by a pinned key, of the folder or named; 6 where none is known; `audit` says the same."""
        run("bundle", "duel", "--entry", "8", "-o", "duel.zip")
        for arguments, status in (((), 0), (("--key", SERVER.text), 0), (NOBODY, 6)):
            done = run("verify", "duel.zip", *arguments)
            assert done.returncode == status, done.stdout
            assert run("audit", "duel.zip", *arguments).returncode == status
        assert "came along" in run("verify", "duel.zip", *NOBODY).stdout

    def test_by_another_key(self, program: Program) -> None:
        """Who knows a key, but not the one that signed, is told that it is unsigned: 5."""
        program("bundle", "duel", "-o", "duel.zip")
        assert program("verify", "duel.zip", "--key", ANOTHER.text).status == 5
        assert program("audit", "duel.zip", "--key", ANOTHER.text).status == 5

    def test_by_a_retired_key(self, program: Program, folder: Path) -> None:
        """What a key signed before it was retired stays valid; it signs nothing any more."""
        program("bundle", "duel", "-o", "duel.zip")
        assert program("keys", "retire", SERVER.name).status == 0
        assert program("verify", "duel.zip").status == 0
        assert program("bundle", "duel", "-o", "late.zip").status == 2
        (folder / "before.note").write_bytes(signed(LINES, at="2001-01-01T00:00:00Z"))
        (folder / "after.note").write_bytes(signed(LINES, at="2999-01-01T00:00:00Z"))
        for name, status in (("before", 0), ("after", 5)):
            program("bundle", "duel", "--checkpoint", f"{name}.note", "-o", f"{name}.zip")
            assert program("verify", f"{name}.zip").status == status

    def test_with_a_checkpoint_of_ones_own(self, program: Program, folder: Path) -> None:
        """Whoever holds a checkpoint can hold the bundle against it: 8 where it is not the record that was signed."""
        program("bundle", "duel", "-o", "duel.zip")
        (folder / "good.note").write_bytes(signed(LINES[:9]))
        (folder / "false.note").write_bytes(signed([*LINES[:8], b"9"]))
        (folder / "later.note").write_bytes(signed([*LINES, b"12"]))
        for command in ("verify", "audit"):
            assert program(command, "duel.zip", "--checkpoint", "good.note").status == 0
            assert program(command, "duel.zip", "--checkpoint", "false.note").status == 8
            assert program(command, "duel.zip", "--checkpoint", "later.note").status == 7

    def test_forms(self, program: Program) -> None:
        """As data and as a page, too."""
        program("bundle", "duel", "-o", "duel.zip")
        (match,) = json.loads(program("verify", "duel.zip", "--format", "json").out)["matches"]
        assert (match["match"], match["verdict"], match["entries"]) == ("duel", "exact", 11)
        assert program("audit", "duel.zip", "--format", "html").out.startswith("<!DOCTYPE html>")
        assert program("audit", "duel.zip", "--match", "another").status == 2

    def test_nothing_is_written(self, program: Program, folder: Path) -> None:
        """Whoever judges a bundle needs no store, and makes none."""
        program("bundle", "duel", "-o", "duel.zip")
        (folder / "soulrift.db").unlink()
        before = sorted(path.name for path in folder.iterdir() if not path.name.startswith("soulrift.db-"))
        assert program("verify", "duel.zip").status == 0
        assert program("audit", "duel.zip").status == 0
        assert sorted(p.name for p in folder.iterdir() if not p.name.startswith("soulrift.db-")) == before

    def test_damaged_store_is_not_packed(self, program: Program, folder: Path) -> None:
        """A record that does not re-execute is not signed, and no bundle is made."""
        for line in refolded(LINES, LIFE_CHANGED, lambda entry: entry["events"][0].update(delta=-9))[
            LIFE_CHANGED - 1 :
        ]:
            overwrite(str(folder / "soulrift.db"), line)
        assert program("bundle", "duel", "-o", "duel.zip").status == 1
        overwrite(str(folder / "soulrift.db"), LINES[2], line_hash="0" * 64)
        assert program("bundle", "duel", "-o", "duel.zip").status == 4
        assert not (folder / "duel.zip").exists()


class TestPrivate:
    """Bundles of private matches."""

    COMMANDS = (
        {"type": "start_match", "match": "quiet", "private": True, "players": [*PLAYERS[:1], {"player": "bo"}]},
        {"type": "concede", "player": "bo", "meta": {"actor": "table seven"}},
    )

    def test_redacted(self, program: Program, tmp_path: Path) -> None:
        """With --redact nobody is named in any of its files; without it, everybody; both are sound."""
        stored(tmp_path / "soulrift.db", list(self.COMMANDS))
        key_folder(tmp_path / "keys", SERVER)
        assert program("bundle", "quiet", "--entry", "2", "-o", "whole.zip").status == 0
        assert program("bundle", "quiet", "--entry", "2", "-o", "redacted.zip", "--redact").status == 0
        whole, redacted = (unzipped((tmp_path / f"{name}.zip").read_bytes()) for name in ("whole", "redacted"))
        assert b'"table seven"' in whole[REPLAY]
        assert b"Ada" in whole[REPORT]
        for name, data in redacted.items():
            assert b"table seven" not in data, name
            assert b'"Ada"' not in data, name
            assert b">Ada<" not in data, name
        assert whole[NOTE] == redacted[NOTE]
        for name in ("whole", "redacted"):
            assert program("verify", f"{name}.zip").status == 0
            assert program("audit", f"{name}.zip").status == 0


@needs_openssl
class TestStranger:
    """Somebody who has the zip file and Python, and has never seen any of this."""

    def commands(self, readme: str) -> list[str]:
        """The commands that the README says to run, in order."""
        return re.findall(r"[Rr]un:\s+(python3 .*)", readme)

    def test_follows_the_readme(self, tmp_path: Path) -> None:
        """The README's own commands, in an interpreter without this project: a first use, then signed by the key."""
        bare = tmp_path / "bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True, capture_output=True)
        python = bare / "bin" / "python"
        (tmp_path / "making").mkdir()
        content = made(tmp_path / "making", DUEL, prove=(8,))
        (tmp_path / "duel.zip").write_bytes(content)
        empty = tmp_path / "empty"
        subprocess.run([python, "-I", "-m", "zipfile", "-e", tmp_path / "duel.zip", empty], check=True)
        shutil.rmtree(tmp_path / "making")
        alone = subprocess.run([python, "-I", "-c", "import soulrift"], capture_output=True, check=False)
        assert b"ModuleNotFoundError" in alone.stderr
        told = []
        first, second = self.commands((empty / README).read_text("utf-8"))
        for command in (first, second.replace("NAME+ID+BASE64", SERVER.text)):
            _, *arguments = shlex.split(command)
            done = subprocess.run([python, *arguments], cwd=empty, capture_output=True, check=False)
            assert b"Traceback" not in done.stderr
            told.append((done.returncode, done.stdout.decode()))
        assert [status for status, _ in told] == [6, 0]
        assert "ok    proofs/entry-8.tlog-proof: entry 8 is among those that were signed" in told[0][1]
        assert "signed by the key that you named" in told[1][1]
        assert sorted(path.name for path in empty.iterdir()) == sorted(
            {name.partition("/")[0] for name in unzipped(content)}
        )

    def test_readme_lists_what_is_there(self, tmp_path: Path) -> None:
        """Every file that the README tells of is there, and each that is there is told of; so is every status."""
        files = unzipped(made(tmp_path, DUEL, prove=(8,)))
        readme = files[README].decode()
        listed = readme.partition("The files\n")[2].partition("\n\n")[0]
        names = {line.split()[0] for line in listed.splitlines()}
        assert names == {name.partition("/")[0] + "/" * ("/" in name) for name in files} - {README}
        told = {int(found) for found in re.findall(r"^   (\d)  ", readme, flags=re.MULTILINE)}
        assert told == {0, 1, 4, 5, 6, 7, 8}

    def test_sums_are_those_of_the_usual_tool(self, tmp_path: Path) -> None:
        """SHA256SUMS is for `sha256sum --check`, too."""
        if shutil.which("sha256sum") is None:
            pytest.skip("there is no sha256sum on this machine")
        content = made(tmp_path, DUEL)
        for name, data in unzipped(content).items():
            path = tmp_path / "empty" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=tmp_path / "empty", check=True)  # noqa: S607 - of the machine

    def test_with_the_other_program(self, run: Run, tmp_path: Path) -> None:
        """The command that the README gives for the rules plays every command again."""
        (tmp_path / "making").mkdir()
        content = made(tmp_path / "making", DUEL)
        (tmp_path / "BUNDLE.zip").write_bytes(content)
        (command,) = re.findall(r"^ +soulrift (.*)$", unzipped(content)[README].decode(), flags=re.MULTILINE)
        done = run(*shlex.split(command.replace("NAME+ID+BASE64", SERVER.text)))
        assert (done.returncode, "exact" in done.stdout) == (0, True)
