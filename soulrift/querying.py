"""`soulrift sql`: queries of the tables for analytics, and their answers in whatever form."""

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import click
from msgspec import Struct
from rich.text import Text

from replays.files import written
from simulation.interrupts import held_back
from soulrift import bars
from soulrift.answer_forms import Answer, FormError, as_csv, as_json, as_table, see_names
from soulrift.board import table
from soulrift.terminal import Output, complain

try:
    import duckdb
    import pyarrow.parquet as pq

    from projections.analytics import named
    from projections.analytics.asking import QueryError, queries, read_only, why
    from projections.analytics.folder import TablesError, UnreadableError
except ImportError as error:
    if (error.name or "").partition(".")[0] not in {"duckdb", "fsspec", "pyarrow"}:
        raise
    NEEDED = "analytics needs an extra: pip install 'soulrift[analytics]'"
    raise click.UsageError(NEEDED) from None

SHOWN = 1_000
"""So many rows are shown on a terminal."""

_FETCHED = 2_000
"""Rows that are taken from DuckDB at a time."""

_AGAIN = 0.05
"""Seconds from one look at what happens to the next."""

_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|BIGNUM")

FAILURES = (QueryError, FormError)
"""A query that cannot be answered, or not in this form."""


class Wanted(Struct, frozen=True):
    """In which form answers are wanted, and in which file, if not on standard output."""

    form: str
    out: Path | None = None
    replace: bool = False


_ENDINGS = {".csv": "csv", ".json": "json", ".parquet": "parquet"} | dict.fromkeys(bars.PICTURES, "chart")
"""Which form the ending of a file's name says."""

_COMPRESSED = {".gz", ".zst"}


def wanted(form: str | None, out: str | None, *, replace: bool) -> Wanted:
    """What is wanted, once it fits together; where no form is told, the ending of the file says it.

    Raises:
        click.UsageError: it does not.

    """
    path = Path(out) if out is not None else None
    meant = _ending(path) if path else None
    form = form or meant or "table"
    if form == "parquet" and path is None:
        raise click.UsageError("Parquet needs a file: -o FILE")
    if path and meant not in {None, form}:
        raise click.UsageError(f"{path} ends as {meant} does, and --format says {form}")
    if form == "parquet" and path and path.suffix in _COMPRESSED:
        raise click.UsageError(f"Parquet is compressed in itself, and {path} would be once more")
    if form == "chart" and path and path.suffix.lower() not in bars.PICTURES:
        raise click.UsageError(f"the name of a chart ends with .svg or .png, and {path} does not")
    return Wanted(form, path, replace)


def _ending(path: Path) -> str | None:
    """The form that the ending of a file's name says, if it does: the one in front of that of a compression."""
    name = path.with_suffix("") if path.suffix in _COMPRESSED else path
    return _ENDINGS.get(name.suffix.lower())


# ------------------------------------------------------------ asking


def ask(address: str, text: str, wish: Wanted) -> int:
    """Ask the tables of a folder these queries, and tell the answers; 1 if one cannot be answered."""
    try:
        asked = queries(text)
        if not asked:
            raise click.UsageError("there is no query: give one, or name one of those that --list tells")
        if len(asked) > 1 and (wish.form != "table" or wish.out):
            raise click.UsageError(f"these are {len(asked)} queries, and only tables on standard output tell several")
        with closing(opened(address)) as connection:
            for number, statement in enumerate(asked):
                if number:
                    Output().line()
                tell(address, connection, statement, wish)
    except FAILURES as error:
        complain(f"error: {error}")
        return 1
    return 0


def opened(address: str) -> duckdb.DuckDBPyConnection:
    """The tables of a folder, to be read and nothing else.

    Raises:
        click.UsageError: there are none.
        click.ClickException: a file of theirs cannot be read.

    """
    try:
        return read_only(address)
    except UnreadableError as error:
        raise click.ClickException(str(error)) from None
    except TablesError as error:
        raise click.UsageError(str(error)) from None


def tell(address: str, connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, wish: Wanted) -> None:
    """Tell the answer to a query. Another thread does it, since Ctrl-C reaches this one only while DuckDB is not in it.

    Raises:
        QueryError: it cannot be answered.
        FormError: not in this form.
        KeyboardInterrupt: it was broken off.

    """
    try:
        with ThreadPoolExecutor(1) as pool, held_back() as interrupted:
            told = pool.submit(_tell, connection, statement, wish)
            while wait([told], _AGAIN).not_done:
                if interrupted():
                    connection.interrupt()  # which DuckDB forgets, unless the query has begun: so again and again
            told.result()
    except duckdb.Error as error:
        raise QueryError(why(address, error)) from None


# ------------------------------------------------------------ telling


def _tell(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, wish: Wanted) -> None:
    if wish.form == "parquet":
        _as_parquet(connection.sql(statement), wish)
        return
    answer = _answer(connection.execute(statement))
    if wish.form == "chart" and wish.out:
        picture = bars.picture(bars.chart(answer), wish.out.suffix.lower())
        with _file(wish) as file:
            file.write(picture)
        return
    lines = _lines(answer, wish, plan=statement.type == duckdb.StatementType.EXPLAIN)
    if wish.out:
        with _file(wish) as file:
            file.writelines(f"{line}\n".encode() for line in lines)
        return
    output = Output()
    for line in lines:
        if isinstance(line, Text):
            output.line(line)
        else:
            output.json(line.encode())
    output.end()


def _answer(asked: duckdb.DuckDBPyConnection) -> Answer:
    columns = asked.description or []
    numbers = tuple(_NUMBER.fullmatch(str(column[1])) is not None for column in columns)
    blocks = iter(lambda: asked.fetchmany(_FETCHED), [])
    return Answer(tuple(column[0] for column in columns), numbers, chain.from_iterable(blocks))


def _lines(answer: Answer, wish: Wanted, *, plan: bool) -> Iterator[Text | str]:
    """The answer as lines; the `plan` of a query is a drawing, and no table of rows."""
    if wish.form == "csv":
        return as_csv(answer)
    if wish.form == "json":
        return as_json(answer)
    if wish.form == "chart":
        return bars.lines(bars.chart(answer))
    if plan:
        return (line for row in answer.rows for line in row[-1].splitlines())
    return as_table(answer, SHOWN if sys.stdout.isatty() and not wish.out else None)


def _as_parquet(answer: duckdb.DuckDBPyRelation | None, wish: Wanted) -> None:
    if answer is None:
        raise FormError("this has no answer of rows")
    see_names(tuple(answer.columns))
    batches = answer.to_arrow_reader()
    with _file(wish) as file, pq.ParquetWriter(file, batches.schema, compression="zstd") as parquet:
        for batch in batches:
            parquet.write_batch(batch)


@contextmanager
def _file(wish: Wanted) -> Iterator[BinaryIO]:
    """The file that is wanted; it appears when it is whole.

    Raises:
        click.UsageError: it cannot be there.

    """
    path = wish.out or Path()
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"there is no folder for {path}")
    try:
        with written(path, replace=wish.replace, compress=wish.form in {"csv", "json", "table"}) as file:
            yield file
    except FileExistsError as error:
        raise click.UsageError(f"{error}; --force replaces it") from None


# ------------------------------------------------------------ the library


def library() -> Iterator[Text]:
    """The named queries, a line each."""
    return table(((name, named.named(name).title) for name in named.names()), ("name", "what it answers"))


def text_of(name: str) -> str:
    """The text of a named query.

    Raises:
        click.UsageError: there is none of this name.

    """
    try:
        return named.named(name).sql
    except named.UnknownQueryError as error:
        raise click.UsageError(str(error)) from None


def tell_library(name: str | None) -> None:
    """Tell which named queries there are, or the whole of one."""
    output = Output()
    for line in text_of(name).splitlines() if name is not None else library():
        output.line(line)
    output.end()


def from_standard_input() -> str:
    """The queries on standard input.

    Raises:
        click.UsageError: they are no text.

    """
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"standard input is no text in UTF-8: {error}") from None
