"""A folder of tables: its files, and the manifest that says which of them count.

    games/
      manifest.json                                       what does not stand here does not exist
      soulburns/schema=1/batch=000001204-000058311/00000003-9f86d081.parquet
      soulburns/schema=1/batch=running/00000007-60303ae2.parquet   of matches that have not ended; replaced whole
      .writing/                                           what is not finished

The folder may be a local one or an address that fsspec knows (`s3://...`). A file's name is the number of the commit
that it came with, and a token of whoever wrote it. On the local disk, files are written aside and moved into place just
before the manifest is replaced; an object store cannot rename, so there they are written in place, and the manifest's
write is the commit.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, cast

import fsspec
import msgspec
from filelock import FileLock, Timeout
from fsspec.implementations.local import LocalFileSystem
from msgspec import Struct

from projections.analytics.parts import File, Part
from projections.analytics.schemas import TABLES, Table

FORMAT = 1
"""The version of the manifest."""

MANIFEST = "manifest.json"
WRITING = ".writing"
RUNNING = "running"
"""The batch of matches that have not ended."""

ALL = "all"
"""The batch of all runs."""

_CHUNK = 1 << 20

_OURS = re.compile(rf"({'|'.join(table.name for table in TABLES)})/schema=\d+/batch=[^/]+/\d+-\w+\.parquet")


class TablesError(Exception):
    """A folder that is no folder of tables, or not as its manifest says; the message says what to do."""


class UnreadableError(TablesError):
    """A file that the manifest names is missing or damaged; the message names it."""


class Source(Struct, frozen=True):
    """Which log the tables were made of, and up to which position: the `digest` is of rows up to there."""

    position: int
    digest: str


class Manifest(Struct, frozen=True, kw_only=True):
    """What a folder of tables holds.

    `commits` is how often it was written, `batches` how many parts were ever made. `source` is null where the tables
    come from replay files or simulations. `open` are the matches of a store that had not ended; their rows are in the
    part `running`, once all else is there.
    `ruled` are those that a judge ruled on, as long as it was not looked whether that is in their rows. `runs` is the
    part with the rows of runs.
    """

    format: int = FORMAT
    commits: int = 0
    writer: str = ""
    source: Source | None = None
    batches: int = 0
    parts: tuple[Part, ...] = ()
    running: Part | None = None
    open: tuple[str, ...] = ()
    ruled: tuple[str, ...] = ()
    runs: Part | None = None

    def all_parts(self) -> Iterator[Part]:
        """All parts, those of running matches and of runs among them."""
        yield from self.parts
        yield from filter(None, (self.running, self.runs))

    def files(self, table: str | None = None) -> Iterator[File]:
        """The files of all tables, or of one."""
        return (file for part in self.all_parts() for file in part.files if table in {None, file.table})


class Folder:
    """A folder of tables, at a local path or an address that fsspec knows.

    The `token` is in the names of the files that are written through it, so that no two programs write the same ones.

    Raises:
        TablesError: the address cannot be used.

    """

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address = address
        self.token = token or secrets.token_hex(4)
        try:
            self.fs, self.root = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            message = f"{address} cannot be used: {error}"
            raise TablesError(message) from None
        self.local = isinstance(self.fs, LocalFileSystem)

    def path(self, inner: str) -> str:
        """The whole path of something in it."""
        return f"{self.root}/{inner}"

    # ------------------------------------------------------------ reading

    def manifest(self) -> Manifest:
        """The manifest.

        Raises:
            TablesError: there is none, or it cannot be read.

        """
        found = self._manifest()
        if found is None:
            message = f"there are no tables in {self.address}; `soulrift tables -o {self.address}` makes them"
            raise TablesError(message)
        return found

    def _manifest(self) -> Manifest | None:
        try:
            content = self.fs.cat_file(self.path(MANIFEST))
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            told = msgspec.json.decode(content, type=_AnyManifest)
            if told.format > FORMAT:
                message = (
                    f"{self.address} was written by a newer Soulrift: its manifest has format {told.format}, this one "
                    f"knows {FORMAT}"
                )
                raise TablesError(message)
            return msgspec.json.decode(content, type=Manifest)
        except msgspec.MsgspecError as error:
            message = f"{self.path(MANIFEST)} cannot be read: {error}; make the tables anew in another folder"
            raise TablesError(message) from None

    def opened(self, file: File) -> BinaryIO:
        """A file, to be read.

        Raises:
            UnreadableError: it is not there.

        """
        try:
            return cast("BinaryIO", self.fs.open(self.path(file.path), "rb"))
        except FileNotFoundError:
            message = f"{self.path(file.path)} is missing, which the manifest names: make the tables anew"
            raise UnreadableError(message) from None

    def digest(self, file: File) -> tuple[int, str]:
        """How many bytes a file has, and their SHA-256."""
        hashed, size = sha256(), 0
        with self.opened(file) as content:
            while chunk := content.read(_CHUNK):
                hashed.update(chunk)
                size += len(chunk)
        return size, hashed.hexdigest()

    def damage(self, file: File) -> str | None:
        """What is wrong with the bytes of a file, in a sentence; nothing, if they are those that were written."""
        whole = self.path(file.path)
        try:
            if self.digest(file) == (file.bytes, file.sha256):
                return None
        except UnreadableError as error:
            return str(error)
        except OSError as error:
            return f"{whole} cannot be read: {error.strerror or error}"
        return f"{whole} is damaged: its bytes are not those that were written; make the tables anew, in another folder"

    def strays(self, manifest: Manifest) -> list[str]:
        """Files of tables that are there, but not in the manifest: of a program that was ended before its commit."""
        listed = {file.path for file in manifest.files()}
        found = [
            str(path)[len(self.root) + 1 :]
            for table in TABLES
            if self.fs.isdir(self.path(table.name))
            for path in self.fs.find(self.path(table.name))
        ]
        return sorted(path for path in found if path not in listed)

    # ------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[Manifest]:
        """Let nobody else write meanwhile; gives the manifest, an empty one where there is none yet.

        Raises:
            TablesError: another program is at it, or this is a folder of something else.

        """
        self._see_ours()
        if not self.local:
            yield self._cleared()
            return
        new = not Path(self.root).exists()
        try:
            Path(self.root).mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path(".lock"))
            lock.acquire(timeout=0)
        except Timeout:
            message = f"another program is writing {self.address}: wait for it"
            raise TablesError(message) from None
        except OSError as error:
            message = f"no tables can be written in {self.address}: {error.strerror or error}"
            raise TablesError(message) from None
        try:
            yield self._cleared()
        finally:
            self._clear()
            if new and [path.name for path in Path(self.root).iterdir()] == [".lock"]:
                shutil.rmtree(self.root)
            lock.release()

    def _see_ours(self) -> None:
        """See that nothing lies here but tables, or what was left of them before there was a manifest."""
        if self._manifest() is not None or not self.fs.isdir(self.root):
            return
        ours = {".lock", f".{MANIFEST}"}
        found = sorted(str(path)[len(self.root) + 1 :] for path in self.fs.find(self.root))
        for path in found:
            if path not in ours and not path.startswith(f"{WRITING}/") and not _OURS.fullmatch(path):
                message = f"{self.address} is a folder of something else: it has {path}, and no {MANIFEST}"
                raise TablesError(message)

    def _cleared(self) -> Manifest:
        """The manifest, once what was left behind by a program that was ended is gone."""
        found = self._manifest()
        manifest = found or Manifest()
        self._clear()
        strays = self.strays(manifest)
        if not self.local:  # another program may be at it, whose files have later numbers
            strays = [path for path in strays if int(path.rpartition("/")[2].split("-")[0]) <= manifest.commits]
        self._remove(strays)
        return manifest

    def place(self, table: Table, batch: str, commit: int) -> str:
        """Where the file of a table in a part belongs."""
        return f"{table.name}/schema={table.version}/batch={batch}/{commit:08}-{self.token}.parquet"

    def create(self, path: str) -> BinaryIO:
        """A file that is to be written."""
        whole = self._written_at(path)
        self.fs.makedirs(whole.rpartition("/")[0], exist_ok=True)
        return cast("BinaryIO", self.fs.open(whole, "wb"))

    def _written_at(self, path: str) -> str:
        return self.path(f"{WRITING}/{path}" if self.local else path)

    def commit(self, manifest: Manifest, before: Manifest) -> Manifest:
        """Make a manifest the one that counts, with its new files; then remove those that it names no more.

        Raises:
            TablesError: somebody else has written meanwhile.

        """
        told = msgspec.structs.replace(manifest, commits=before.commits + 1)
        old = {file.path for file in before.files()}
        new = [file.path for file in told.files() if file.path not in old]
        if self.local:
            self._move(new)
        now = self._manifest()
        if (now.commits if now else 0) != before.commits:
            message = f"another program has written {self.address} meanwhile; nothing was changed: try again"
            raise TablesError(message)
        content = msgspec.json.format(msgspec.json.encode(told), indent=1)
        if self.local:
            self._replace(content)
        else:
            self.fs.pipe_file(self.path(MANIFEST), content)
        self._remove(old - {file.path for file in told.files()})
        return told

    def _clear(self) -> None:
        """Remove what was written aside, and is in its place or of no use now."""
        if self.local:
            shutil.rmtree(self.path(WRITING), ignore_errors=True)

    def _move(self, paths: list[str]) -> None:
        """Move files, which are on the disk then, to where they belong."""
        for path in paths:
            written, here = Path(self._written_at(path)), Path(self.path(path))
            with written.open("rb") as file:
                os.fsync(file.fileno())
            here.parent.mkdir(parents=True, exist_ok=True)
            written.replace(here)
            _sync(here.parent)

    def _replace(self, content: bytes) -> None:
        partial = Path(self.path(f".{MANIFEST}"))
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path(MANIFEST))
        _sync(Path(self.root))

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                self.fs.rm_file(self.path(path))
            if self.local:
                folder = Path(self.path(path)).parent
                while folder != Path(self.root) and folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
                    folder = folder.parent


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)


class _AnyManifest(Struct):
    """As much as every version of the manifest has."""

    format: int
