"""Whatever is in a script, the program answers in its own words: no traceback, ever."""

import io
import json
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from soulrift.cli import run
from tests.e2e.conftest import script

COMMANDS = [
    json.loads(line)
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.jsonl"))
    for line in path.read_text().splitlines()
    if line and not line.startswith("#")
]
START = script().encode()

mangled = st.builds(
    lambda line, at, junk, length: line[:at] + junk + line[at + length :],
    st.sampled_from(COMMANDS).map(lambda command: json.dumps(command, ensure_ascii=False).encode()),
    st.integers(0, 120),
    st.binary(max_size=6),
    st.integers(0, 12),
)
lines = st.lists(st.one_of(st.binary(max_size=80), mangled), max_size=6).map(b"\n".join)


@given(body=lines, begun=st.booleans(), keep_going=st.booleans(), form=st.sampled_from(["text", "json"]))
def test_no_script_makes_a_traceback(body: bytes, form: str, *, begun: bool, keep_going: bool) -> None:
    """A script of any bytes ends with status 0 or 1; every refusal is one line, or data when JSON was asked for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.jsonl"
        path.write_bytes((START if begun else b"") + body)
        arguments = ["play", str(path), "--db", str(Path(folder) / "s.db"), "--format", form]
        out, err = io.StringIO(), io.StringIO()
        with (
            patch.object(sys, "argv", ["soulrift", *arguments, *(["--keep-going"] if keep_going else [])]),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                run()
            except SystemExit as stop:
                status = stop.code
    assert status in {0, 1}
    assert "Traceback" not in err.getvalue()
    if form == "json":
        answer = json.loads(out.getvalue())
        assert (status == 1) == bool(answer["refusals"])
        assert not err.getvalue()
    else:
        assert (status == 1) == bool(err.getvalue())
        assert all(line.startswith(str(path) + ":") for line in err.getvalue().split("\n")[:-1])
