"""`soulrift keys`, as people and programs call it."""

import json
import stat
from pathlib import Path

import pytest

from replays.notes import verifier_key
from tests.e2e.conftest import Run
from tests.evidence import SERVER
from tests.recordings import in_process


class TestKeys:
    """`soulrift keys`."""

    def test_new_key(self, run: Run, tmp_path: Path) -> None:
        """A new key is told in words and, on a line of its own, as the text by which others trust it."""
        done = run("keys", "new", "games.example/eu", SOULRIFT_KEYS=str(tmp_path / "k"))
        told, text = done.stdout.splitlines()
        key = verifier_key(text)
        assert (done.returncode, key.name) == (0, "games.example/eu")
        assert told.startswith(f"games.example/eu+{key.key_id.hex()} signs from now on")
        assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "k").iterdir()} == {0o600}
        assert "PRIVATE" not in done.stdout + done.stderr

    def test_life_of_a_key(self, run: Run, tmp_path: Path) -> None:
        """Made, listed, retired, and another one of its name made; the list says which is which."""
        env = {"SOULRIFT_KEYS": str(tmp_path / "k")}
        assert "there are no keys" in run("keys", "list", **env).stdout
        assert json.loads(run("keys", "list", "--format", "json", **env).stdout) == []
        run("keys", "new", "a", **env)
        assert run("keys", "add", SERVER.text, **env).stdout == f"{SERVER.label} is trusted\n"
        assert "is retired" in run("keys", "retire", "a", **env).stdout
        assert run("keys", "new", "a", **env).returncode == 0
        found = json.loads(run("keys", "list", "--format", "json", **env).stdout)
        assert [(key["name"], key["use"]) for key in found] == [
            ("a", "retired"),
            ("a", "signs"),
            ("games.example/eu", "trusted"),
        ]
        retired, signing, trusted = found
        assert trusted == {
            "name": SERVER.name,
            "id": SERVER.key_id.hex(),
            "key": SERVER.text,
            "use": "trusted",
            "since": None,
            "until": None,
        }
        assert None not in {retired["since"], retired["until"], signing["since"]}
        assert signing["until"] is None
        text = run("keys", "list", **env).stdout
        assert all(key["key"] in text for key in found)
        assert "PRIVATE" not in text

    def test_keys_of_a_folder_by_option(self, run: Run, tmp_path: Path) -> None:
        """`--keys` names the folder, whatever the environment says."""
        run("keys", "new", "a", "--keys", "here", SOULRIFT_KEYS=str(tmp_path / "elsewhere"))
        assert (tmp_path / "here").is_dir()
        assert not (tmp_path / "elsewhere").exists()

    @pytest.mark.parametrize(
        "arguments",
        [
            ("new",),
            ("new", ""),
            ("new", "a b"),
            ("new", "a+b"),
            ("new", "x" * 201),
            ("new", "games.example/eu"),
            ("add", ""),
            ("add", "nonsense"),
            ("add", SERVER.text.replace("eu", "us")),
            ("retire", "nobody"),
            ("list", "more"),
            ("nonsense",),
        ],
    )
    def test_what_cannot_be(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
        tmp_path: Path,
        arguments: tuple[str, ...],
    ) -> None:
        """It is a usage error, told in a line, and no key is made, changed or lost."""
        soulrift = in_process(monkeypatch, capfd)
        monkeypatch.setenv("SOULRIFT_KEYS", str(tmp_path))
        assert soulrift("keys", "new", "games.example/eu").status == 0
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        done = soulrift("keys", *arguments)
        assert (done.status, done.out) == (2, "")
        assert done.err
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
