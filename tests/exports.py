"""Tables made of a store, and what they must hold: each row of each match once, as the record makes it."""

import io
import json
import pickle
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from domain.application import Matches
from domain.entry import Entry
from projections.analytics import of_recordings, of_store
from projections.analytics.folder import Folder, Manifest, TablesError
from projections.analytics.history import as_now
from projections.analytics.making import Count, Made, Work, part_of_matches
from projections.analytics.of_recordings import lines_of
from projections.analytics.parts import File, Part
from projections.analytics.schemas import MATCHES, TABLES, Table, of_matches
from replays.reading import Reader
from replays.writing import match_lines
from tests import table_rows
from tests.followers import where_they_differ
from tests.kit import Json, of
from tests.recordings import played
from tests.unit.rules.moves import concede, defeated, result, ruling

Runner = Callable[[Callable[[Work], Made], Iterator[Work]], Iterator[Made]]
"""Makes parts, in their order."""

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]
"""The rows of each table, by its name, in the order of their keys."""

Listed = dict[str, str]
"""The hashes of the files that a manifest names, by their paths."""

# ------------------------------------------------------------ what tables hold


def rows_of(folder: Folder) -> Rows:
    """All that tables hold."""
    manifest = folder.manifest()
    return {
        table.name: by_key(table, [row for file in manifest.files(table.name) for row in _rows(folder, table, file)])
        for table in TABLES
    }


def _rows(folder: Folder, table: Table, file: File) -> list[Row]:
    """The rows of a file, which must be as it was written."""
    assert folder.digest(file) == (file.bytes, file.sha256), file.path
    if file.sha256 not in _read:
        with folder.opened(file) as content:
            rows = as_now(table, pq.read_table(content, partitioning=None, use_threads=False))
        _read[file.sha256] = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    assert len(_read[file.sha256]) == file.rows, file.path
    return _read[file.sha256]


_read = dict[str, list[Row]]()
"""The rows of files that were read, by their hashes."""


def by_key(table: Table, rows: Iterable[Row]) -> list[Row]:
    """The rows in the order of the columns that tell one from another."""
    places = [table.arrow.names.index(name) for name in table.key]
    return sorted(rows, key=lambda row: [row[place] for place in places])


def made_plainly(all_entries: Iterable[tuple[str, Iterable[Entry]]]) -> Rows:
    """The rows that these matches make, but for those of runs: no files, no positions, one match after the other."""
    rows = dict[str, list[Row]]()
    for match, entries in all_entries:
        for table, found in table_rows.rows_of(entries, match).items():
            first = () if table == MATCHES.name else (match,)
            rows.setdefault(table, []).extend((*first, *map(_as_read, each.values())) for each in found)
    return {table.name: by_key(table, rows.get(table.name, [])) for table in of_matches()}


def _as_read(value: Any) -> Any:
    """A value as Parquet gives it back."""
    return list(value) if isinstance(value, tuple) else value


def columns(rows: Rows, table: str, *names: str) -> list[Row]:
    """These columns of the rows of a table."""
    places = [TABLE_COLUMNS[table].index(name) for name in names]
    return [tuple(row[place] for place in places) for row in rows[table]]


def names(rows: Rows) -> list[str]:
    """The matches that rows tell of."""
    return [row[0] for row in rows["matches"]]


def listed(folder: Folder) -> Listed:
    """The files that count."""
    return {file.path: file.sha256 for file in folder.manifest().files()}


def everything_in(place: Path) -> dict[str, bytes]:
    """All files of a folder of whatever kind, and what is in them."""
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


# ------------------------------------------------------------ that they hold it once


def assert_whole(folder: Folder) -> Rows:
    """Every file that counts is there as it was written, no match is in it twice, and all counts are right."""
    manifest = folder.manifest()
    rows = rows_of(folder)
    again = [name for name, count in Counter(names(rows)).items() if count > 1]
    assert again == []
    parts = [part for part in manifest.all_parts() if part is not manifest.runs]
    assert sum(part.matches for part in parts) == len(rows["matches"])
    assert sum(part.entries for part in parts) == len(rows["entries"])
    assert sum(part.events for part in parts) == len(rows["events"])
    assert len({file.path for file in manifest.files()}) == sum(1 for _ in manifest.files())
    return rows


def assert_exact(folder: Folder, matches: Matches) -> Rows:
    """The tables hold what the plain function makes of the store and what tables hold that are made at once of it.

    Beside them nothing lies in the folder.
    """
    rows = assert_whole(folder)
    assert folder.strays(folder.manifest()) == []
    assert names(rows) == sorted(matches.recorder.matches())
    assert_same(rows, plain(matches))
    with TemporaryDirectory() as place:
        fresh = Folder(f"{place}/fresh")
        of_store.of_store(fresh, matches)
        assert_same(rows, rows_of(fresh))
    return rows


def assert_consistent(folder: Folder, matches: Matches) -> None:
    """The tables are whole, and hold each match as it was after one of its entries, in all of them."""
    rows = assert_whole(folder)
    entries = TABLE_COLUMNS["matches"].index("entries")
    told = {row[0]: row[entries] for row in rows["matches"]}
    assert_same(rows, made_plainly((name, islice(matches.entries(name), count)) for name, count in told.items()))


def plain(matches: Matches) -> Rows:
    """What the plain function makes of a store."""
    return made_plainly((name, matches.entries(name)) for name in matches.recorder.matches())


def assert_same(rows: Rows, expected: Rows) -> None:
    """The tables that are expected are so."""
    assert where_they_differ({name: rows[name] for name in expected}, expected) == []


TABLE_COLUMNS = {table.name: [column.name for column in table.columns] for table in TABLES}


# ------------------------------------------------------------ matches to make them of


END, REOPEN = concede("b"), ruling(defeated("b", to=False), result("running"))
"""What ends a match of `a` and `b`, and what a judge opens it again by."""

END_BY_JUDGE, OPEN_AGAIN = ruling(result("ended", winner="a")), ruling(result("running"))
"""What a judge ends it by, and opens it again."""


def begun(name: str) -> Json:
    """The command that begins a match of `a` and `b`."""
    return of("start_match", match=name, players=[{"player": "a"}, {"player": "b"}])


def recorded(name: str, *commands: Json) -> list[Entry]:
    """The entries of a match of `a` and `b` with these commands."""
    return played([begun(name), *commands])


def recording(entries: Iterable[Entry]) -> bytes:
    """The file of a match with these entries."""
    first, *rest = entries
    match = json.loads(first.command_json)["match"]
    return b"".join(line + b"\n" for line in match_lines(match, [first, *rest]))


def taken_in(folder: Folder, *files: bytes, run: Runner = map) -> Count:
    """Take the matches of these files into tables, in one call."""
    recordings = chain.from_iterable(Reader(io.BytesIO(file)).recordings() for file in files)
    return of_recordings.of_recordings(folder, map(lines_of, recordings), run)


def assert_exact_of(folder: Folder, *matches: Sequence[Entry]) -> Rows:
    """The tables hold what the plain function makes of these matches, and what those hold that take them in at once."""
    rows = assert_whole(folder)
    assert folder.strays(folder.manifest()) == []
    named = {json.loads(entries[0].command_json)["match"]: entries for entries in matches}
    assert_same(rows, made_plainly(named.items()))
    with TemporaryDirectory() as place:
        fresh = Folder(f"{place}/fresh")
        taken_in(fresh, *map(recording, matches))
        assert_same(rows, rows_of(fresh))
    return rows


class Making:
    """A store, tables of it, and what both must hold after each time that they are made."""

    def __init__(self, matches: Matches, folder: Folder) -> None:
        self.matches = matches
        self.folder = folder

    def begin(self, name: str, *commands: Json) -> None:
        """Begin a match."""
        self.matches.start(encoded(begun(name)))
        self.give(name, *commands)

    def give(self, name: str, *commands: Json) -> None:
        """Go on with it."""
        for answer in self.matches.give_all(name, map(encoded, commands)):
            assert not isinstance(answer, Exception), answer

    def make(self, meanwhile: Callable[[], object] = lambda: None, run: Runner = map) -> Count:
        """Make the tables, or bring them up to date; `meanwhile` this happens, each time before a part is made."""

        def do(work: Work) -> Made:
            meanwhile()
            return part_of_matches(work, self.matches.entries)

        return of_store.of_store(self.folder, self.matches, do, run)

    def exact(self) -> Rows:
        """The rows, which are those of the store."""
        return assert_exact(self.folder, self.matches)

    def refused(self, because: str) -> None:
        """The tables are not made, and stay as they are."""
        before = listed(self.folder)
        with pytest.raises(TablesError, match=because):
            self.make()
        assert listed(self.folder) == before
        assert_whole(self.folder)


def encoded(command: Json) -> bytes:
    """A command as JSON."""
    return msgspec.json.encode(command)


def of_part(folder: Folder, match: str) -> str:
    """The name of the part that a match is in."""
    return next(part.name for part in folder.manifest().all_parts() if match in _matches_of(folder, part))


def _matches_of(folder: Folder, part: Part) -> list[str]:
    return [row[0] for file in part.files if file.table == "matches" for row in _rows(folder, TABLES[1], file)]


@contextmanager
def small_parts(entries: int = 1) -> Iterator[None]:
    """Parts are full once they have so many entries."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (of_store, of_recordings):
            patch.setattr(module, "ENTRIES", entries)
        yield


# ------------------------------------------------------------ ways to make them


class Killed(BaseException):
    """In the place of a kill: nobody who handles errors handles it."""


def killed_at(number: int, *, after: bool = False) -> Callable[[Folder, Manifest, Manifest], Manifest]:
    """A commit that is killed before the one of this number is done, or after."""
    commits, commit = count(1), Folder.commit

    def killed(folder: Folder, manifest: Manifest, before: Manifest) -> Manifest:
        dies = next(commits) == number
        if dies and not after:
            raise Killed
        manifest = commit(folder, manifest, before)
        if dies:
            raise Killed
        return manifest

    return killed


def is_killed(make: Callable[[], object]) -> bool:
    """Whether that is killed."""
    try:
        make()
    except Killed:
        return True
    return False


def ahead(do: Callable[[Work], Made], works: Iterator[Work]) -> Iterator[Made]:
    """A runner as others are: it asks for work before it has done what it has, and sends all of it elsewhere."""
    waiting = deque(islice(works, 3))
    while waiting:
        work = pickle.loads(pickle.dumps(waiting.popleft()))  # noqa: S301 - our own
        waiting.extend(islice(works, 1))
        yield pickle.loads(pickle.dumps(do(work)))  # noqa: S301 - our own
