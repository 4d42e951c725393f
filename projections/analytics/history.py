"""What tables hold already: which matches, by which record; and their parts without some of them."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from domain.entry import played
from domain.rules import State
from domain.rules.commands import AnyCommand
from domain.rules.shape import as_a_whole
from projections.analytics.folder import Folder, TablesError, UnreadableError
from projections.analytics.parts import File, Part, TableFile
from projections.analytics.schemas import ENTRIES, MATCHES, TABLES, Table
from replays import merkle

_TABLES = {table.name: table for table in TABLES}


class Known(Struct, frozen=True):
    """A match that tables hold: in which part, how long its record is there, and the root over that."""

    match: str
    part: str
    entries: int
    events: int
    root: str


def known(folder: Folder, parts: Iterable[Part], matches: Collection[str]) -> dict[str, Known]:
    """Those of these matches that parts hold."""
    if not matches:
        return {}
    wanted, found = pa.array(list(matches), pa.string()), dict[str, Known]()
    columns = ["match", "entries", "events", "root"]
    for part in parts:
        for file in _of(part, MATCHES):
            there = read(folder, file, columns)
            there = there.filter(pc.is_in(there["match"].cast(pa.string()), wanted))
            found |= {row["match"]: Known(part=part.name, **row) for row in there.to_pylist()}
    return found


def _of(part: Part, table: Table) -> Iterator[File]:
    return (file for file in part.files if file.table == table.name)


def read(folder: Folder, file: File, columns: list[str] | None = None) -> pa.Table:
    """The rows of a file, or some of its columns.

    Raises:
        UnreadableError: it is not there, or cannot be read.

    """
    try:
        with folder.opened(file) as content:
            return pq.read_table(content, columns=columns, partitioning=None)
    except (pa.ArrowException, OSError):
        message = folder.damage(file) or f"{folder.path(file.path)} cannot be read: it is no Parquet file"
        raise UnreadableError(message) from None


def as_now(table: Table, rows: pa.Table) -> pa.Table:
    """Rows of whatever version as those of this one: columns that were not there yet hold nothing."""
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(len(rows), field.type)
        for field in table.arrow
    ]
    return pa.Table.from_arrays(columns, schema=table.arrow)


def without(folder: Folder, part: Part, matches: Collection[str], commit: int) -> Part | None:
    """A part written anew without some of its matches; null where nothing is left."""
    gone = pa.array(list(matches), pa.string())
    others = partial(_others, gone)
    return rewritten(folder, [part], part.name, commit, others)


def _others(gone: pa.Array, rows: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows["match"].cast(pa.string()), gone)))


def rewritten(
    folder: Folder,
    parts: list[Part],
    name: str,
    commit: int,
    change: Callable[[pa.Table], pa.Table] = lambda rows: rows,
) -> Part | None:
    """Parts written as one, in the tables' present versions; null where no row is left."""
    files, counted = list[File](), pa.table({"entries": [], "events": []})
    for table in TABLES:
        old = [file for part in parts for file in _of(part, table)]
        if any(file.version > table.version for file in old):
            message = f"{folder.address} has rows of a newer Soulrift, which it would lose: use that one"
            raise TablesError(message)
        rows = [change(as_now(table, read(folder, file))) for file in old]
        whole = pa.concat_tables(rows) if rows else None
        if not whole:
            continue
        if table is MATCHES:
            counted = whole
        path = folder.place(table, name, commit)
        file = TableFile(table, path, folder.create(path))
        file.write(whole.unify_dictionaries())
        files.append(file.close())
    if not files:
        return None
    entries, events = (pc.sum(counted[column]).as_py() or 0 for column in ("entries", "events"))
    return Part(name, tuple(files), len(counted), entries, events)


# ------------------------------------------------------------ the record behind the rows


class NotPlayedError(Exception):
    """Commands that do not lead to the record that is told of; the message says which."""


_command = msgspec.json.Decoder(AnyCommand).decode


def commands(folder: Folder, part: Part) -> Iterator[tuple[str, list[bytes]]]:
    """The matches of a part, each with the commands of its entries, in the order of its files."""
    last, given = None, list[bytes]()
    for file in _of(part, ENTRIES):
        rows = read(folder, file, ["match", "command"])
        for match, command in zip(rows["match"].to_pylist(), rows["command"].to_pylist(), strict=True):
            if match != last:
                if last is not None:
                    yield last, given
                last, given = match, []
            given.append(command.encode())
    if last is not None:
        yield last, given


def lines(given: Iterable[bytes], rules: int | None = None) -> Iterator[bytes]:
    """The lines of the entries that commands make, by a version of the rules.

    Raises:
        Refusal, UnknownRulesError, msgspec.MsgspecError: they cannot be played.

    """
    state = State()
    if rules is not None:
        state.rules = rules
    for command in given:
        yield played(state, as_a_whole(_command(command)))[-1]


def root_of(given: Iterable[bytes], rules: int | None = None) -> str:
    """The root over the lines of these commands' entries.

    Raises:
        Refusal, UnknownRulesError, msgspec.MsgspecError: as `lines`.

    """
    return merkle.root_of(lines(given, rules)).hex()
