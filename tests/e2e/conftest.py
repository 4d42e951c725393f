import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PLAYERS = [{"player": "ada", "name": "Ada"}, {"player": "bo", "name": "Bo"}]


def script(*commands: dict[str, Any], match: str | None = "duel") -> str:
    """A match script: a start_match and these commands."""
    start: dict[str, Any] = {"type": "start_match", "players": PLAYERS}
    if match:
        start["match"] = match
    return "".join(json.dumps(command) + "\n" for command in (start, *commands))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the program in a folder of its own, as a user would."""
    environment = {key: value for key, value in os.environ.items() if key not in {"SOULRIFT_DB", "FORCE_COLOR"}}

    environment["SOULRIFT_KEYS"] = str(tmp_path / "keys")

    def run_it(*arguments: str, stdin: str | bytes = "", **more: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "soulrift", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environment | more,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in out + err
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    return run_it
