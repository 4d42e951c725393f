"""The library's own published tests of recorders, on the recorders of our stores."""

import sys
import threading
from abc import abstractmethod
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from eventsourcing.persistence import AggregateRecorder, ApplicationRecorder

from domain.application import Matches
from soulrift import store

if find_spec("Crypto") is None:  # their module imports a cipher for tests that are not run here
    sys.modules["eventsourcing.cipher"] = SimpleNamespace(AESCipher=None)  # type: ignore[assignment]
from eventsourcing.tests import persistence

MEASURED = "it measures, and promises nothing"


class _OnStore(persistence.RecorderTestCase):
    """What the library's tests need to know of a store; the ids of our streams are names."""

    @abstractmethod
    def create(self) -> Matches:
        """A new store."""

    def new_originator_id(self) -> str:
        return str(uuid4())

    def opened(self) -> Matches:
        before = set(threading.enumerate())
        matches = self.create()

        def end() -> None:
            for thread in set(threading.enumerate()) - before:
                if "read_continuously" in thread.name:
                    thread.join()  # the library's test only asks its readers to stop
            matches.close()

        self.addCleanup(end)
        return matches


class _SQLiteFile(_OnStore):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.db"

    def create(self) -> Matches:
        return store.create(str(self.path))


class _SQLiteMemory(_OnStore):
    def create(self) -> Matches:
        return store.create(":memory:")


class _Postgres(_OnStore):
    @pytest.fixture(autouse=True)
    def _place(self, postgres_store: str) -> None:
        self.url = postgres_store

    def create(self) -> Matches:
        return store.create(self.url)


class _Record(_OnStore, persistence.ApplicationRecorderTestCase[ApplicationRecorder]):
    """The recorder of the record."""

    def create_recorder(self) -> ApplicationRecorder:
        return self.opened().recorder

    @pytest.mark.skip(reason=MEASURED)
    def test_performance(self) -> None:
        """Left out."""

    @pytest.mark.skip(reason=MEASURED)
    def test_concurrent_throughput(self) -> None:
        """Left out."""


class _Snapshots(_OnStore, persistence.AggregateRecorderTestCase):
    """The recorder of snapshots."""

    def create_recorder(self) -> AggregateRecorder:
        snapshots: Any = self.opened().snapshots
        recorder: AggregateRecorder = snapshots.recorder
        return recorder

    @pytest.mark.skip(reason=MEASURED)
    def test_performance(self) -> None:
        """Left out."""


class _NonInterleaving(_OnStore, persistence.NonInterleavingNotificationIDsBaseCase):
    """Two threads insert a thousand rows each at once."""

    def create_recorder(self) -> ApplicationRecorder:
        return self.opened().recorder


class TestRecordInSQLiteFile(_SQLiteFile, _Record):
    """The record in a file keeps the library's promises."""


class TestRecordInSQLiteMemory(_SQLiteMemory, _Record):
    """The record in memory keeps the library's promises."""


class TestRecordOnPostgres(_Postgres, _Record):
    """The record on PostgreSQL keeps the library's promises, that of subscriptions among them."""

    def test_insert_subscribe(self) -> None:
        """Who subscribes is told all rows, those to come as well."""
        self.optional_test_insert_subscribe()


class TestSnapshotsInSQLiteFile(_SQLiteFile, _Snapshots):
    """Snapshots in a file keep the library's promises."""


class TestSnapshotsInSQLiteMemory(_SQLiteMemory, _Snapshots):
    """Snapshots in memory keep the library's promises."""


class TestSnapshotsOnPostgres(_Postgres, _Snapshots):
    """Snapshots on PostgreSQL keep the library's promises."""


class TestNonInterleavingInSQLiteFile(_SQLiteFile, _NonInterleaving):
    """The rows of one transaction have positions without gaps in a file."""


class TestNonInterleavingInSQLiteMemory(_SQLiteMemory, _NonInterleaving):
    """The rows of one transaction have positions without gaps in memory."""


class TestNonInterleavingOnPostgres(_Postgres, _NonInterleaving):
    """The rows of one transaction have positions without gaps on PostgreSQL."""
