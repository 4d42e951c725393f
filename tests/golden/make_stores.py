"""Makes the golden stores of a new format from the example scripts: `python -m tests.golden.make_stores`.

`store-N.db` is an SQLite file of format N; `store-N.csv` holds the rows that the same matches have on PostgreSQL, with
the name of their table before them, and bytes in PostgreSQL's own hexadecimal; `store-N.lines` holds the line of every
entry, after the name of its match and a tab. They are made once: every later version has to read them as they are.
"""

import csv
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg

import domain.application
from domain.recorder import COMMAND_IDS, EVENTS, FORMAT, SNAPSHOTS, STORE_FORMAT
from domain.sqlite_files import backup
from soulrift import store as stores
from tests.postgres import server

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[1] / "examples"

TABLES = (EVENTS, SNAPSHOTS, COMMAND_IDS, STORE_FORMAT)

INTERVAL = 50
"""More snapshots than there would be: the examples are short."""


def files(number: int = FORMAT) -> tuple[Path, Path, Path]:
    """The golden files of a format: SQLite, CSV, lines."""
    database, rows, lines = (FOLDER / f"store-{number}.{suffix}" for suffix in ("db", "csv", "lines"))
    return database, rows, lines


def main() -> str | None:
    """Make them; why they cannot be made."""
    if there := [path.name for path in files() if path.exists()]:
        return f"{', '.join(there)} are there already; what was written once is not written anew"
    database, rows, lines = files()
    with tempfile.TemporaryDirectory() as folder, server() as running:
        path = Path(folder) / "store.db"
        lines.write_bytes(_play(str(path)))
        backup(path, database, lambda *_: None)
        _play(running.url)
        with psycopg.connect(running.url) as connection, rows.open("w", encoding="utf-8", newline="") as file:
            _write_rows(connection, file)
    return None


def _play(store: str) -> bytes:
    vars(domain.application)["SNAPSHOT_INTERVAL"] = INTERVAL
    told = []
    with stores.create(store) as matches:
        for path in sorted(EXAMPLES.glob("*.jsonl")):
            commands = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
            match = matches.start(commands[0]).match
            for command in commands[1:]:
                matches.give(match, command)
            told += [b"%b\t%b\n" % (match.encode(), entry.line) for entry in matches.entries(match)]
    return b"".join(told)


def _write_rows(connection: psycopg.Connection[Any], file: Any) -> None:
    write = csv.writer(file, lineterminator="\n").writerow
    for table in TABLES:
        order = "1" if table == STORE_FORMAT else "1, 2"
        found = connection.execute(f"SELECT * FROM {table} ORDER BY {order}".encode())
        write([table, *(column.name for column in found.description or ())])
        for row in found:
            write([table, *(f"\\x{value.hex()}" if isinstance(value, bytes) else value for value in row)])


if __name__ == "__main__":
    sys.exit(main())
