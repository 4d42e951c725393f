import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
RULE_BOOK = TESTS.parent / "docs" / "rules.md"
LAST_NUMBERS = {"S": 3, "C": 12, "P": 7, "B": 5, "E": 3, "R": 10, "A": 6, "L": 7, "J": 3}


def rules_of_the_book() -> set[str]:
    """The numbers that `docs/rules.md` gives to its rules, as test names spell them: P5 for P-5."""
    return {chapter + number for chapter, number in re.findall(r"\*\*([A-Z])-(\d+)\*\*", RULE_BOOK.read_text("utf-8"))}


def names_of_tests() -> Iterator[str]:
    """The names of all tests, read from their files without importing them."""
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield node.name


def rules_named_by_tests() -> set[str]:
    """The rules that tests are named after, as in `test_P5_superfluous_soul_is_refused`."""
    return {found[1] for name in names_of_tests() if (found := re.match(r"test_([A-Z]\d+)_", name))}


def test_every_rule_has_a_test() -> None:
    """No rule of the book is without a test that is named after it."""
    assert sorted(rules_of_the_book() - rules_named_by_tests()) == []


def test_every_rule_that_a_test_names_exists() -> None:
    """No test is named after a rule that the book does not have."""
    assert sorted(rules_named_by_tests() - rules_of_the_book()) == []


def test_rule_book_has_all_of_its_rules() -> None:
    """Rules are added to the book, never renumbered or dropped: tests, refusals and recordings cite them."""
    known = {f"{chapter}{number}" for chapter, last in LAST_NUMBERS.items() for number in range(1, last + 1)}
    assert known <= rules_of_the_book()
