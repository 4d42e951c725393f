from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.application import Matches
from domain.sqlite import sqlite_settings


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture
def matches(path: str) -> Iterator[Matches]:
    with Matches(sqlite_settings(path)) as opened:
        yield opened
