"""The README keeps its word: its blocks are run, its excerpt is compared, its commands are the project's."""

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.e2e.conftest import Run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(kind: str, content: str = README) -> list[str]:
    """The fenced blocks of a kind, in order."""
    found: list[str] = re.findall(rf"```{kind}\n(.*?)```", content, re.DOTALL)
    return found


def test_excerpt_is_what_the_program_prints(run: Run) -> None:
    """The story in the README is the output of the command that the comment above it names."""
    found = re.search(
        r"<!-- excerpt: soulrift events (\S+), entries (\d+) to (\d+) -->\n```text\n(.*?)```", README, re.DOTALL
    )
    assert found
    match, first, last, excerpt = found.groups()
    assert run("play", str(ROOT / "examples" / f"{match}.jsonl")).returncode == 0
    lines = run("events", match).stdout.splitlines(keepends=True)
    assert "".join(lines[int(first) - 1 : int(last)]) == excerpt


@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_python_example_prints_what_is_shown(document: str) -> None:
    """The last Python block runs as it stands, and prints the block after it."""
    content = (ROOT / document).read_text()
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(blocks("python", content)[-1], document, "exec"), {})  # noqa: S102 - that it runs is the promise
    assert printed.getvalue() == blocks("text", content)[-1]


def test_console_commands_work(run: Run) -> None:
    """Each `soulrift` line of the README's console blocks works, in the order given."""
    commands = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ soulrift")]
    assert len(commands) >= 4
    for command in commands:
        fewer = re.sub(r"--matches \d+", "--matches 200", command)  # the rest takes minutes
        arguments = [a.replace("examples/", f"{ROOT}/examples/") for a in shlex.split(fewer)[1:]]
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_two_commands_are_targets_of_the_makefile() -> None:
    """`make run` and `make test` are what the README names, and the Makefile has both."""
    makefile = (ROOT / "Makefile").read_text()
    named = re.findall(r"^\$ make (\S+)$", README, re.MULTILINE)
    assert named == ["run", "test"]
    for target in named:
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE)
