"""Private matches as their players and readers meet them: scripts, questions, files."""

import json
from pathlib import Path
from typing import Any

import pytest

from soulrift import store as stores
from tests.e2e.conftest import PLAYERS, Run

START = {"type": "start_match", "match": "quiet", "private": True, "players": PLAYERS}

COMMANDS: list[dict[str, Any]] = [
    START | {"meta": {"id": "c-1", "actor": "table seven"}},
    {"type": "begin_turn", "player": "ada", "meta": {"id": "c-2", "actor": "Ada"}},
    {"type": "release", "rank": 2, "meta": {"id": "c-3", "actor": "table seven"}},
]

SECRETS = ("Ada", "Bo", "table seven")

SCRIPT = "".join(json.dumps(command) + "\n" for command in COMMANDS)


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    """A folder with a store in which the match was played."""
    done = run("play", "-", stdin=SCRIPT)
    assert (done.returncode, done.stderr) == (0, "")
    return tmp_path


@pytest.mark.usefixtures("folder")
class TestPlayed:
    """What is told of a private match."""

    @pytest.mark.parametrize(
        "arguments",
        [
            ("play", "-"),
            ("show", "quiet"),
            ("events", "quiet"),
            ("matches",),
            ("life", "quiet"),
            ("replay", "quiet", "--at", "3"),
            ("quote", "quiet", "--player", "ada", "--amount", "1"),
        ],
        ids=lambda arguments: arguments[0],
    )
    def test_in_words(self, run: Run, arguments: tuple[str, ...]) -> None:
        """In words players have their ids, and neither a name nor a commitment is told."""
        done = run(*arguments, stdin=SCRIPT)
        assert (done.returncode, done.stderr) == (0, "")
        assert "ada" in done.stdout
        assert "sha256:" not in done.stdout
        assert not any(secret in done.stdout for secret in SECRETS)

    def test_told_live(self, run: Run) -> None:
        """Who follows the match to its end is told of ids as well."""
        concede = {"type": "concede", "player": "bo", "meta": {"actor": "table seven"}}
        assert run("play", "-", "--match", "quiet", stdin=json.dumps(concede) + "\n").returncode == 0
        done = run("follow", "quiet")
        assert (done.returncode, done.stderr) == (0, "")
        assert "ada wins" in done.stdout
        assert not any(secret in done.stdout for secret in SECRETS)

    @pytest.mark.parametrize("arguments", [("show", "quiet"), ("events", "quiet"), ("matches",)], ids=lambda a: a[0])
    def test_as_data(self, run: Run, arguments: tuple[str, ...]) -> None:
        """As data commitments stand as they are recorded, without what would open them."""
        done = run(*arguments, "--format", "json")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("sha256:") >= 2
        assert "salt" not in done.stdout
        assert not any(secret in done.stdout for secret in SECRETS)

    def test_script_again(self, run: Run) -> None:
        """The script can be played again: every command is known, and nothing is appended."""
        assert run("play", "-", stdin=SCRIPT).returncode == 0
        assert json.loads(run("show", "quiet", "--format", "json").stdout)["entries"] == 3

    def test_check_and_fork(self, run: Run) -> None:
        """The store is sound, with a fork of the match as well."""
        assert run("fork", "quiet", "--at", "2", "--as", "branch").returncode == 0
        done = run("check")
        assert (done.returncode, done.stdout.split(":")[0]) == (0, "sound")


class TestRedact:
    """`soulrift export --redact` leaves out who played."""

    def test_other_store_learns_nobody(self, run: Run, folder: Path) -> None:
        """A redacted file verifies, and whoever imports it has the same record, but no names; they may come later."""
        assert run("export", "quiet", "-o", "redacted.jsonl.gz", "--redact").returncode == 0
        assert run("export", "quiet", "-o", "whole.jsonl").returncode == 0
        done = run("verify", "redacted.jsonl.gz", "whole.jsonl")
        assert (done.returncode, done.stderr) == (0, "")
        told = run("import", "redacted.jsonl.gz", "--db", "other.db")
        assert told.stdout == "quiet: imported, 3 entries\n"
        assert not any(secret.encode() in (folder / "other.db").read_bytes() for secret in SECRETS[2:])
        told = run("import", "whole.jsonl", "--db", "other.db")
        assert told.stdout == "quiet: was there already, 3 entries, 3 openings added\n"
        with (
            stores.open_to_read(str(folder / "other.db")) as other,
            stores.open_to_read(str(folder / "soulrift.db")) as own,
        ):
            assert other.openings("quiet") == own.openings("quiet")
            assert [entry.line for entry in other.entries("quiet")] == [entry.line for entry in own.entries("quiet")]

    def test_standard_output(self, run: Run, folder: Path) -> None:
        """On standard output, too; without the option everybody is named."""
        redacted = run("export", "quiet", "-o", "-", "--redact").stdout
        whole = run("export", "quiet", "-o", "-").stdout
        assert folder.exists()
        assert "openings" not in redacted
        assert not any(f'"{secret}"' in redacted for secret in SECRETS)
        assert all(f'"value":"{secret}"' in whole for secret in SECRETS)

    def test_ordinary_match(self, run: Run) -> None:
        """A match that is not private is the same file either way: its names are in its entries, and stay there."""
        assert run("play", "-", stdin=SCRIPT.replace('"private": true, ', "")).returncode == 0
        redacted, whole = run("export", "quiet", "-o", "-", "--redact"), run("export", "quiet", "-o", "-")
        assert redacted.returncode == 0
        assert redacted.stdout == whole.stdout
        assert '"name":"Ada"' in whole.stdout

    def test_changed_opening(self, run: Run, folder: Path) -> None:
        """Whoever writes another name into the file is found out, with the line: nothing of it is imported."""
        assert run("export", "quiet", "-o", "whole.jsonl").returncode == 0
        path = folder / "whole.jsonl"
        path.write_text(path.read_text().replace("table seven", "table eight"))
        done = run("verify", "whole.jsonl")
        assert done.returncode == 4
        assert "line 5" in done.stdout
        assert run("import", "whole.jsonl", "--db", "other.db").returncode == 4
        assert not (folder / "other.db").exists()
