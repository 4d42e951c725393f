"""Archives of runs, part by part: what is done of a long run is kept beside it, until the whole is there.

run.soulrift.jsonl.zst.parts/
run.json            which run this is
00000001.part       the result of the batch that begins with match 1
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout
from msgspec import Struct

from replays.files import written
from replays.lines import ARCHIVE, matches_line
from simulation.batches import SIZE, Result
from simulation.chance import GENERATOR
from simulation.runs import SIMULATOR, Run


class PartsError(Exception):
    """What is kept beside an archive does not belong to this run; the message says what to do."""


class _Kept(Struct, frozen=True):
    run: Run
    matches: int
    cover: bool
    simulator: int = SIMULATOR
    generator: str = GENERATOR
    size: int = SIZE


class Parts:
    """The results of a run that are done, in a folder beside its archive."""

    def __init__(self, archive: Path, run: Run, matches: int, *, cover: bool) -> None:
        self._archive = archive
        self._folder = archive.with_name(archive.name + ".parts")
        self._matches = matches
        kept = msgspec.json.encode(_Kept(run, matches, cover))
        note = self._folder / "run.json"
        if self._folder.exists() and not self._folder.is_dir():
            message = f"{self._folder} is in the way, where parts are kept: remove it"
            raise PartsError(message)
        if note.exists():
            if note.read_bytes() != kept:
                message = (
                    f"{self._folder} holds parts of another run: give the same options to go on with it, or remove it"
                )
                raise PartsError(message)
        else:
            self._folder.mkdir(exist_ok=True)
            self._write(note, kept)
        self._lock = FileLock(self._folder / "lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            message = f"another program is writing {archive}: wait for it"
            raise PartsError(message) from None

    def _write(self, path: Path, content: bytes) -> None:
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)

    def _part(self, first: int) -> Path:
        return self._folder / f"{first:08}.part"

    def done(self) -> int:
        """Of how many matches, from the first one on, the results are there."""
        first = 1
        while first <= self._matches and self._part(first).exists():
            first += SIZE
        return min(first - 1, self._matches)

    def results(self) -> Iterator[Result]:
        """The results that are there, in order."""
        for first in range(1, self.done() + 1, SIZE):
            try:
                yield msgspec.msgpack.decode(self._part(first).read_bytes(), type=Result)
            except msgspec.MsgspecError:
                message = f"{self._part(first)} is damaged: remove it, and its matches are played again"
                raise PartsError(message) from None

    def keep(self, result: Result) -> None:
        """Keep the result of the next batch."""
        self._write(self._part(result.first), msgspec.msgpack.encode(result))

    def finish(self, *, replace: bool) -> int:
        """Write the archive, once all results are there, and remove the parts; how many matches it has.

        Raises:
            FileExistsError: there is one, which is not to be replaced.

        """
        count = 0
        with written(self._archive, replace=replace) as file:
            file.write(ARCHIVE + b"\n")
            for result in self.results():
                count += len(result.tallies)
                file.write(result.lines)
            file.write(matches_line(count) + b"\n")
        self.discard()
        return count

    def discard(self) -> None:
        """Remove what is kept."""
        self.close()
        shutil.rmtree(self._folder)

    def close(self) -> None:
        """Let others write the archive."""
        self._lock.release()
