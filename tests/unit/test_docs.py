"""The documentation tells what is there: every command, event, field, file and measured figure that it should."""

import io
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import get_args

import click
import msgspec
import pytest

from domain import State, decode_command, play
from domain.rules.commands import AnyCommand, Command, tag_of
from domain.rules.events import AnyEvent, Event, WholeCard
from domain.rules.ruleset import Ruleset
from replays.verify import verify_file
from replays.writing import match_lines
from soulrift.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MARKDOWN = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.rglob("*.md")])
STRUCTS: list[type[Command] | type[Event]] = [*get_args(AnyCommand), *get_args(AnyEvent)]


def text(name: str) -> str:
    return (DOCS / name).read_text()


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: tag_of(struct.__name__))
def test_wire_format_describes_every_command_and_event(struct: type[Command]) -> None:
    """Each command and event has a table row in the wire format, which names each of its own fields."""
    rows = [
        line
        for line in text("wire-format.md").splitlines()
        if f"`{tag_of(struct.__name__)}`" in line.split("|")[1:2].__str__()
    ]
    assert rows, "no row in docs/wire-format.md"
    told = " ".join(rows)
    common = {"entry", "n", "meta", *(WholeCard.__struct_fields__ if "| the card" in told else ())}
    fields = {field.encode_name for field in msgspec.structs.fields(struct)} - common
    missing = {field for field in fields if f"`{field}`" not in told}
    assert not missing


def test_rules_and_wire_format_name_every_ruleset_field() -> None:
    """No field of the ruleset goes undocumented."""
    for name in ("rules.md", "wire-format.md"):
        for field in Ruleset.__struct_fields__:
            assert f"`{field}`" in text(name), name


def test_every_command_is_documented_with_its_options() -> None:
    """Each command is in the README's table and has its chapter, which names all its options."""
    readme = (ROOT / "README.md").read_text()
    common, *chapters = re.split(r"^## `soulrift ", text("command-line.md"), flags=re.MULTILINE)
    by_command = {chapter.split()[0].rstrip("`"): chapter for chapter in chapters}
    assert isinstance(main, click.Group)
    assert set(by_command) == set(main.commands)
    for name, command in main.commands.items():
        assert re.search(rf"^\| `{name}\b", readme, re.MULTILINE), name
        for path, each, chapter in _with_subcommands(name, command, by_command[name]):
            for option in [param for param in each.params if isinstance(param, click.Option)]:
                assert f"`{option.opts[0]}" in common + chapter, (path, option.opts)


def _with_subcommands(name: str, command: click.Command, chapter: str) -> Iterator[tuple[str, click.Command, str]]:
    """A command with its chapter, and those of a group, each with the chapter under that of the group."""
    yield name, command, chapter
    if isinstance(command, click.Group):
        under = re.split(rf"^### `soulrift {name} ", chapter, flags=re.MULTILINE)[1:]
        by_name = {each.split()[0].rstrip("`"): each for each in under}
        assert set(by_name) == set(command.commands), name
        for each, subcommand in command.commands.items():
            yield f"{name} {each}", subcommand, by_name[each]


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link of every document leads to a file or folder that is there, inside the project."""
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target
            assert (path.parent / target).resolve().is_relative_to(ROOT), target


@pytest.mark.parametrize("room", ["domain", "projections", "replays", "simulation"])
def test_architecture_names_the_modules_that_are_there(room: str) -> None:
    """Each module of a room that the architecture names exists, and none is left out."""
    named = set(re.findall(rf"`{room}/(\w+\.py)`", text("architecture.md")))
    there = {path.name for path in (ROOT / room).glob("*.py")}
    assert named == there - {"__init__.py"}


def test_architecture_names_the_files_of_the_command_line() -> None:
    """Each file of `soulrift/` is in the architecture's table of them, and none other is."""
    _, table = text("architecture.md").split("| in `soulrift/` | |\n| --- | --- |\n")
    rows = table.split("\n\n")[0].splitlines()
    named = {name for row in rows for name in re.findall(r"`(\w+\.py)`", row.split("|")[1])}
    assert named == {path.name for path in (ROOT / "soulrift").glob("*.py")} - {"__init__.py", "__main__.py"}


@pytest.mark.parametrize(
    ("document", "examples_shown"), [("gym.md", 1), ("privacy.md", 2), ("projections.md", 2), ("python.md", 3)]
)
def test_python_examples_print_what_is_shown(
    document: str, examples_shown: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each Python block of a document with a block of text after it runs as it stands, and prints that."""
    monkeypatch.chdir(tmp_path)
    shown = re.findall(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", text(document), re.DOTALL)
    assert len(shown) == examples_shown
    for code, expected in shown:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, document, "exec"), {})  # noqa: S102 - that it runs is the promise
        assert printed.getvalue() == expected


def test_replay_file_in_full_is_what_is_written_and_can_be_computed_anew(tmp_path: Path) -> None:
    """The commands in docs/replay-format.md make the file below them, whose hashes the program below that computes."""
    format_ = text("replay-format.md")
    ((commands, shown, code, printed),) = re.findall(
        r"The commands\n\n(.*?)\n\n.*?```jsonl\n(.*?)```.*?```python\n(.*?)```\n\n```text\n(.*?)```", format_, re.DOTALL
    )
    file, computing = tmp_path / "tiny.soulrift.jsonl", tmp_path / "compute.py"
    file.write_text(shown)
    computing.write_text(code)
    state = State()
    entries = [play(state, decode_command(line.strip())) for line in commands.splitlines()]
    writer = json.loads(shown.splitlines()[-1])["writer"]
    assert b"".join(line + b"\n" for line in match_lines("tiny", entries, writer)).decode() == shown
    assert [found.verdict for found in verify_file(file)] == ["exact"]
    computed = subprocess.run([sys.executable, computing, file], capture_output=True, check=True).stdout.decode()
    assert computed == printed
    assert f"file of {len(entries) + 2} lines and {len(shown.encode()):,} bytes" in format_
    told = {cell for row in format_.splitlines() for cell in re.findall(r"\| `([0-9a-f]{64})` \|$", row)}
    leaves = [sha256(b"\x00" + entry.line).digest() for entry in entries]
    node = sha256(b"\x01" + leaves[0] + leaves[1]).digest()
    assert told == {each.hex() for each in [*leaves, node]} | {line.split()[1] for line in printed.splitlines()}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with all matches of the examples, its views, and a replay file of one of them."""
    store = tmp_path_factory.mktemp("docs") / "games.db"
    for script in sorted((ROOT / "examples").glob("*.jsonl")):
        _run(store, "play", str(script))
    _run(store, "matches")
    _run(store, "export", "long-duel", "-o", "long-duel.soulrift.jsonl.zst")
    return store


def _run(store: Path, *arguments: str) -> str:
    """What the program prints, in the folder of the store."""
    command, environment = [sys.executable, "-m", "soulrift", *arguments], os.environ | {"SOULRIFT_DB": str(store)}
    return subprocess.run(command, capture_output=True, check=True, cwd=store.parent, env=environment).stdout.decode()


OUTPUTS = [
    (path, *found)
    for path in MARKDOWN
    for found in re.findall(r"<!-- output: soulrift (.*?) -->\n```text\n(.*?)```", path.read_text(), re.DOTALL)
]


@pytest.mark.parametrize(("path", "command", "shown"), OUTPUTS, ids=lambda value: str(value)[:40])
def test_outputs_are_what_the_program_prints(path: Path, command: str, shown: str, examples: Path) -> None:
    """What is shown under the name of a command is what it prints."""
    assert _run(examples, *shlex.split(command)) == shown, path


def test_history_in_full_is_what_the_program_prints(examples: Path) -> None:
    """The Soul history in docs/projections.md is the answer of the command above it, but for the line breaks."""
    ((command, shown),) = re.findall(
        r"<!-- json: soulrift (.*?) -->\n```json\n(.*?)```", text("projections.md"), re.DOTALL
    )
    printed = _run(examples, *shlex.split(command), "--format", "json")
    assert printed.replace("\n", "") == json.dumps(json.loads(shown), ensure_ascii=False, separators=(",", ":"))


def test_sql_of_the_views_finds_what_is_shown(examples: Path) -> None:
    """The query in docs/projections.md runs on the views of the examples, and finds the rows below it."""
    ((sql, shown),) = re.findall(r"```sql\n(.*?)```\n\n```text\n(.*?)```", text("projections.md"), re.DOTALL)
    with closing(sqlite3.connect(f"{examples}.views")) as views:
        rows = views.execute(sql).fetchall()
    assert "".join("|".join("" if value is None else str(value) for value in row) + "\n" for row in rows) == shown


def test_decisions_are_numbered_without_gaps() -> None:
    """Decisions are `NNNN-title.md`, from 0001 up, each with its number in its heading."""
    decisions = sorted((DOCS / "decisions").glob("*.md"))
    for number, path in enumerate(decisions, 1):
        assert path.name.startswith(f"{number:04}-")
        assert path.read_text().startswith(f"# {number}. ")


def test_performance_says_when_and_where_it_was_measured() -> None:
    """The table of figures carries its date and machine, has a row for each that is measured, and misses no bar."""
    measured = text("performance.md")
    rows = [line for line in measured.splitlines() if line.startswith("| ") and line.rstrip().endswith("| met |")]
    assert len(rows) >= 10
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", measured)
    assert "cores" in measured
    assert "MISSED" not in measured
