"""How hard Hypothesis tries (HYPOTHESIS_PROFILE=deep looks twenty times as long), and stores to test on."""

import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgres import OTHER_SERVER, fresh_schema, server

CI_EXAMPLES = 60

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=CI_EXAMPLES)
settings.register_profile("deep", deadline=None, max_examples=20 * CI_EXAMPLES, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # what tests start hears Ctrl-C, also where they run ignoring it

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server to test on: one for each test process, or another by its URL."""
    if url := os.environ.get(OTHER_SERVER):
        yield url
    else:
        with server(options=("-c", "max_connections=200")) as started:
            yield started.url


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[str]:
    """The name of an empty place for a store on PostgreSQL, not initialised."""
    with fresh_schema(postgres_url, f"soulrift_{os.getpid()}_{next(_numbers)}") as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def durable_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a place for a store that outlasts its program, as --db takes it; not initialised."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return str(request.getfixturevalue("postgres_store"))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a place for a store, as --db takes it; not initialised."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_store"))
    return ":memory:" if request.param == "memory" else str(tmp_path / "store.db")
