"""The rooms of the house: who may import what, and what is open to others."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import domain
import soulrift

PACKAGES = {"domain": domain, "soulrift": soulrift}
PURE = [*sorted((Path(domain.__file__).parent / "rules").glob("*.py")), Path(domain.__file__).parent / "entry.py"]
ALLOWED = {
    *(
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "datetime",
        "functools",
        "hashlib",
        "itertools",
        "json",
        "operator",
        "re",
    ),
    *("typing", "msgspec", "domain"),
}


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.name)
def test_rules_import_nothing_that_acts(path: Path) -> None:
    """The rules and the entry import data types, JSON, hashing and msgspec: no clock, chance, store or environment."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module or "")
    assert {name.split(".")[0] for name in imported} <= ALLOWED
    inside = {name for name in imported if name.startswith("domain")}
    assert all(name.startswith(("domain.rules", "domain.entry")) for name in inside)


def test_rules_read_no_clock() -> None:
    """Of datetime, only the calendar is used: nothing asks what time it is."""
    for path in PURE:
        assert not any(call in path.read_text() for call in (".now(", ".today(", ".utcnow(")), path.name


def test_importing_the_domain_loads_no_store() -> None:
    """Whoever only wants the rules gets no database, no event-sourcing library and no terminal."""
    code = "import domain, sys; print(*sorted({'eventsourcing', 'sqlite3', 'click', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_packages_share_one_parent() -> None:
    """`domain` and the others are of one installation: no stranger's package of that name was found first."""
    parents = {Path(str(package.__file__)).parents[1] for package in PACKAGES.values()}
    assert len(parents) == 1


@pytest.mark.parametrize("name", ["domain", "domain.rules"])
def test_exports_are_curated(name: str) -> None:
    """`__all__` is sorted, complete, and names what is there."""
    module = importlib.import_module(name)
    source = ast.parse(Path(str(module.__file__)).read_text())
    imported = [
        alias.asname or alias.name for node in source.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert sorted(module.__all__) == sorted(imported)
    assert module.__all__ == sorted(
        module.__all__, key=lambda export: (export != export.upper(), export[0].islower(), export)
    )
    assert all(hasattr(module, export) for export in module.__all__)


def test_public_names_are_documented() -> None:
    """Every export has a docstring, but for the constants and unions."""
    for export in domain.__all__:
        found = getattr(domain, export)
        if isinstance(found, type) or callable(found):
            assert found.__doc__, export
