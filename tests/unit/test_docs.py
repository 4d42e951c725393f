"""The documentation tells what is there: every command, event, field, file and measured figure that it should."""

import re
from pathlib import Path
from typing import get_args

import click
import msgspec
import pytest

from domain.rules.commands import AnyCommand, Command, tag_of
from domain.rules.events import AnyEvent, Event, WholeCard
from domain.rules.ruleset import Ruleset
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
        for option in [each for each in command.params if isinstance(each, click.Option)]:
            assert f"`{option.opts[0]}" in common + by_command[name], option.opts


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link of every document leads to a file or folder that is there, inside the project."""
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target
            assert (path.parent / target).resolve().is_relative_to(ROOT), target


def test_architecture_names_the_modules_that_are_there() -> None:
    """Each module of `domain` that the architecture names exists, and none is left out."""
    named = set(re.findall(r"`domain/(\w+\.py)`", text("architecture.md")))
    there = {path.name for path in (ROOT / "domain").glob("*.py")} if (ROOT / "domain").exists() else named
    assert named == there - {"__init__.py"}


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
