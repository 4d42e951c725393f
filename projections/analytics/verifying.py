"""Tables proven: files against the manifest, and every row against the record that it tells of.

The commands of a match stand in its entries. They are played again: the lines that they make must have the root that
the match is listed with, and the rows made of those lines must be the rows that are there.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import zip_longest
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from domain.codec import CorruptRecordError
from domain.rules.refusal import Refusal, quoted
from domain.rules.versions import UnknownRulesError
from projections.analytics.asking import connect
from projections.analytics.folder import MANIFEST, Folder, Manifest, TablesError
from projections.analytics.history import as_now, commands, lines, read
from projections.analytics.parts import File, Part, PartWriter
from projections.analytics.rows import MatchRows, Run, match_rows
from projections.analytics.schemas import MATCHES, RUNS, TABLES, Table, of_matches
from replays.stepping import entry_of
from replays.verdicts import Verdict

_TABLES = {table.name: table for table in TABLES}

_Row = dict[str, Any]


class Fault(Struct, frozen=True):
    """Something that is not as it must be: the verdict that this is, where, and why."""

    verdict: Verdict
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


class Proof:
    """Proves a folder of tables, and counts what it has proven."""

    def __init__(self, folder: Folder, advance: Callable[[int], object] = lambda _: None) -> None:
        self.manifest: Manifest = folder.manifest()
        self.files = self.matches = self.rows = 0
        self._folder = folder
        self._advance = advance
        self._runs: dict[str, Run] = {}
        self._unjudged = False

    def faults(self) -> Iterator[Fault]:
        """All that is wrong; nothing, where the tables are what the records that they tell of make."""
        whole = True
        for path in self._folder.strays(self.manifest):
            yield Fault("damaged", path, f"it does not stand in {MANIFEST}; `soulrift tables` removes such files")
        for part in self.manifest.all_parts():
            for fault in filter(None, map(self._file, part.files)):
                whole = False
                yield fault
        if not whole:
            return
        for name in self._twice():
            yield Fault("tampered", name, "the match is there twice")
        for part in (part for part in self.manifest.all_parts() if part is not self.manifest.runs):
            yield from self._part(part)
        yield from self._listed_runs()

    def _file(self, file: File) -> Fault | None:
        """What is wrong with a file as a file."""
        try:
            size, digest = self._folder.digest(file)
        except (TablesError, OSError) as error:
            return Fault("damaged", file.path, str(error))
        if (size, digest) != (file.bytes, file.sha256):
            return Fault(
                "damaged", file.path, f"its bytes are not those that {MANIFEST} names: their SHA-256 is another"
            )
        table = _TABLES[file.table]
        if file.version > table.version:
            return Fault("unverifiable", file.path, f"it is of version {file.version} of its table, which is not known")
        try:
            with self._folder.opened(file) as content:
                found = pq.ParquetFile(content)
                rows, schema = found.metadata.num_rows, found.schema_arrow
        except (pa.ArrowException, OSError):
            return Fault("damaged", file.path, "it is no Parquet file")
        if rows != file.rows:
            return Fault("tampered", file.table, f"{file.path} has {rows} rows, and not {file.rows} as {MANIFEST} says")
        if [(field.name, field.type) for field in schema] != [
            (column.name, column.arrow) for column in table.columns if column.version <= file.version
        ]:
            return Fault("tampered", file.table, f"{file.path} has not the columns of version {file.version}")
        self.files += 1
        return None

    def _twice(self) -> list[str]:
        with connect(self._folder.address) as tables:
            found = tables.sql("SELECT match FROM matches GROUP BY match HAVING count(*) > 1 ORDER BY match LIMIT 10")
            return [name for (name,) in found.fetchall()]

    # ------------------------------------------------------------ a part

    def _part(self, part: Part) -> Iterator[Fault]:
        """What is wrong with the rows of a part."""
        there = {table.name: _rows(self._folder, part, table) for table in TABLES}
        told = {row["match"]: row for row in there[MATCHES.name].select(["match", "root", "rules"]).to_pylist()}
        kept, played = defaultdict[str, _Kept](_Kept), set[str]()
        with PartWriter(part.name, lambda table: table.name, kept.__getitem__) as writer:
            for match, given in commands(self._folder, part):
                try:
                    made = _played_again(match, given, told.get(match))
                except _FaultError as error:
                    self._unjudged = True
                    yield error.fault
                    return
                if made.run:
                    self._runs.setdefault(made.run.run, made.run)
                played.add(match)
                writer.add(made)
                self._advance(made.events)
            made_part = writer.close()
        if (part.matches, part.entries, part.events) != (made_part.matches, made_part.entries, made_part.events):
            yield Fault("tampered", MANIFEST, f"the part {part.name} has other counts than it says")
        for name in sorted(told.keys() - played):
            yield Fault("tampered", name, "it has no entries")
        for table in of_matches():
            yield from self._compared(table, there[table.name], kept.get(table.name))
        self.matches += len(played)

    def _compared(self, table: Table, there: pa.Table, kept: "_Kept | None") -> Iterator[Fault]:
        """How the rows of a table are not those that its records make."""
        made = _plain(as_now(table, pq.read_table(BytesIO(kept.getvalue()))) if kept else table.arrow.empty_table())
        made = made.select(there.column_names)
        if len(made) == len(there):
            made = _as_migrated(table, made, there)
        self.rows += len(there)
        if made.equals(there):
            return
        both = zip_longest(made.to_pylist(), there.to_pylist())
        first = next(_difference(table, should, row) for should, row in both if should != row)
        yield Fault("tampered", table.name, f"its rows are not those that the record makes: {first}")

    def _listed_runs(self) -> Iterator[Fault]:
        """How the runs that are listed are not those that the matches belong to."""
        rows = _rows(self._folder, self.manifest.runs, RUNS).to_pylist() if self.manifest.runs else []
        listed = {row["run"]: (row["seed"], row["simulator"], row["generator"]) for row in rows}
        for name, run in self._runs.items():
            if listed.pop(name, None) != (run.seed, run.simulator, run.generator):
                yield Fault("tampered", RUNS.name, f"{name} is not listed as its matches tell of it")
        for name in () if self._unjudged else listed:
            yield Fault("tampered", RUNS.name, f"{name} is listed, but has no match")


def _difference(table: Table, should: _Row | None, row: _Row | None) -> str:
    """How a row is not the one that the record makes in its place."""
    place = ", ".join(f"{name} {quoted((row or should or {})[name])}" for name in table.key)
    if should is None or row is None:
        return f"the row of {place} is {'not one of them' if row else 'missing'}"
    column = next(name for name in row if row[name] != should[name])
    return f"in the row of {place} {column} is {quoted(row[column])} and not {quoted(should[column])}"


def _as_migrated(table: Table, made: pa.Table, there: pa.Table) -> pa.Table:
    """Rows without what those that are there do not hold in columns that came later: they may have been migrated."""
    for column in table.columns:
        if column.version > 1 and column.name in made.column_names:
            values = made[column.name]
            known = pc.if_else(pc.is_valid(there[column.name]), values, pa.nulls(len(made), values.type))
            made = made.set_column(made.column_names.index(column.name), column.name, known)
    return made


class _FaultError(Exception):
    def __init__(self, verdict: Verdict, where: str, reason: str) -> None:
        super().__init__(reason)
        self.fault = Fault(verdict, where, reason)


def _played_again(match: str, given: list[bytes], listed: dict[str, Any] | None) -> MatchRows:
    """The rows of a match, from its commands alone."""
    try:
        made = match_rows(match, map(entry_of, lines(given, listed["rules"] if listed else None)))
    except UnknownRulesError as error:
        raise _FaultError("unverifiable", match, str(error)) from None
    except (Refusal, CorruptRecordError, msgspec.MsgspecError, RecursionError) as error:
        raise _FaultError("diverged", match, f"its commands cannot be played: {error}") from None
    if listed is None or made.root != listed["root"]:
        raise _FaultError("diverged", match, "its commands lead to another record than the one with its root")
    return made


class _Kept(BytesIO):
    """A file in memory that can be read after it was closed."""

    def close(self) -> None:
        """Keep it."""


def _rows(folder: Folder, part: Part, table: Table) -> pa.Table:
    """The rows of a table in a part, with the columns that its files have."""
    found = [read(folder, file) for file in part.files if file.table == table.name]
    return _plain(pa.concat_tables(found, promote_options="default") if found else table.arrow.empty_table())


def _plain(rows: pa.Table) -> pa.Table:
    """The same rows with texts as texts, which are equal whatever dictionaries they were written with."""
    columns = [
        pc.cast(column, pa.string()) if pa.types.is_dictionary(column.type) else column for column in rows.columns
    ]
    return pa.table(dict(zip(rows.column_names, columns, strict=True)))
