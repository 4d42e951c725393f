"""Tables proven and migrated: whatever is changed in a folder is found, and a change of columns loses nothing."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import force_setattr

from projections.analytics.asking import connect
from projections.analytics.folder import MANIFEST, Folder, Manifest, TablesError
from projections.analytics.making import Count
from projections.analytics.migrating import migrate
from projections.analytics.parts import File, Part
from projections.analytics.schemas import SOULBURNS, TABLES, of_matches
from projections.analytics.verifying import Proof
from simulation.runs import Run, play_match
from soulrift import store as stores
from tests.exports import (
    END,
    Making,
    assert_same,
    assert_whole,
    columns,
    everything_in,
    is_killed,
    killed_at,
    listed,
    names,
    recorded,
    recording,
    rows_of,
    small_parts,
    taken_in,
)
from tests.recordings import EXAMPLES, Program, in_process, played, script
from tests.unit.rules.moves import life, releases, ruling

Change = Callable[[pa.Table], pa.Table]


@pytest.fixture(autouse=True)
def _no_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls the plug here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    return in_process(monkeypatch, capfd)


LONG_DUEL = next(path for path in EXAMPLES if path.stem == "long-duel")
"""A match that has rows in every table."""

SIMULATED = Run(5)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a long match, a simulated and a short one in one part, and of one that runs."""
    folder = Folder(str(tmp_path_factory.mktemp("proven") / "tables"))
    matches = [played(script(LONG_DUEL)), play_match(SIMULATED, 1, record=True).entries]
    taken_in(folder, *map(recording, [*matches, recorded("short", END), recorded("runs", *releases(1))]))
    return Path(folder.root)


@pytest.fixture
def tables(whole: Path, tmp_path: Path) -> Folder:
    """A copy of them, to be changed."""
    shutil.copytree(whole, tmp_path / "tables")
    return Folder(str(tmp_path / "tables"))


# ------------------------------------------------------------ what somebody does to tables


def told(folder: Folder) -> list[tuple[str, str]]:
    """The faults of tables: the verdict and the place of each."""
    return [(fault.verdict, fault.where) for fault in Proof(folder).faults()]


def file_of(folder: Folder, table: str, part: int = 0) -> File:
    """The file of a table in a part; that of runs in theirs."""
    manifest = folder.manifest()
    parts = [*manifest.parts, *filter(None, [manifest.running])]
    found = manifest.runs if table == "runs" else parts[part]
    assert found
    return next(file for file in found.files if file.table == table)


def changed(folder: Folder, file: File, change: Change) -> None:
    """Change the rows of a file, and mend what the manifest says of it."""
    path = Path(folder.path(file.path))
    before = pq.ParquetFile(path)
    rows = change(before.read())
    pq.write_table(rows.replace_schema_metadata(before.schema_arrow.metadata), path, compression="zstd")
    mended(folder, file, file.path, len(rows))


def mended(folder: Folder, file: File, path: str, rows: int, version: int = 1) -> None:
    """Let the manifest say of a file what it is now."""
    size, digest = folder.digest(msgspec.structs.replace(file, path=path))
    now = msgspec.structs.replace(file, path=path, rows=rows, bytes=size, sha256=digest, version=version)
    text = Path(folder.path(MANIFEST)).read_bytes()
    manifest = msgspec.json.decode(text, type=Manifest)

    def mend(part: Part | None) -> Part | None:
        files = tuple(now if each == file else each for each in part.files) if part else ()
        return msgspec.structs.replace(part, files=files) if part else None

    parts = tuple(part for part in map(mend, manifest.parts) if part)
    running, runs = mend(manifest.running), mend(manifest.runs)
    manifest = msgspec.structs.replace(manifest, parts=parts, running=running, runs=runs)
    Path(folder.path(MANIFEST)).write_bytes(msgspec.json.encode(manifest))


def with_cell(column: str, row: int, other: Callable[[Any], Any]) -> Change:
    """A change of one value."""

    def change(rows: pa.Table) -> pa.Table:
        values = rows[column].to_pylist()
        values[row] = other(values[row])
        place = rows.column_names.index(column)
        return rows.set_column(place, rows.schema.field(place), pa.array(values, rows.schema.field(place).type))

    return change


def another(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case list():
            return [*value, "more"]
        case _:
            return f"{value}x"


# ------------------------------------------------------------ verified


class TestVerified:
    """`soulrift tables --verify`."""

    def test_exact(self, tables: Folder, program: Program) -> None:
        """Where nothing was changed, everything is counted that was proven; nothing is written."""
        before = everything_in(Path(tables.root))
        done = program("tables", "--verify", tables.address, "--format", "json")
        rows = rows_of(tables)
        assert done.status == 0
        assert json.loads(done.out) == {
            "verdict": "exact",
            "files": len(listed(tables)),
            "matches": 4,
            "rows": sum(map(len, rows.values())) - 1,  # of runs
            "faults": [],
        }
        assert everything_in(Path(tables.root)) == before

    @pytest.mark.parametrize("others", [0, 1], ids=["these", "the others"])
    def test_changed_rows(self, tables: Folder, others: int) -> None:
        """Those tables are named whose rows the record does not make, though their hashes were mended, and no other."""
        some = sorted({table.name for table in of_matches()} - {"matches", "entries"})[others::2]
        for table in some:
            file = file_of(tables, table)
            last = pq.read_table(tables.path(file.path), partitioning=None).slice(file.rows - 1).to_pylist()[0]
            column = [name for name, value in last.items() if value is not None][-1]
            changed(tables, file, with_cell(column, -1, another))
        assert sorted(told(tables)) == [("tampered", table) for table in some]

    def test_reason_is_a_sentence(self, tables: Folder) -> None:
        """It names the row by its key, and tells one value of it that is there, and the one that should be."""
        changed(tables, file_of(tables, "life"), with_cell("life", 3, lambda _: 7))
        changed(tables, file_of(tables, "souls"), lambda rows: rows.slice(0, len(rows) - 1))
        changed(tables, file_of(tables, "rifts"), lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]))
        match, n, part, life_there = columns(rows_of(tables), "life", "match", "n", "part", "life")[3]
        assert (match, life_there) == ("long-duel", 7)
        begins = "its rows are not those that the record makes: "
        reasons = {fault.where: fault.reason for fault in Proof(tables).faults()}
        assert re.fullmatch(
            rf'{begins}in the row of match "long-duel", n {n}, part {part} life is 7 and not \d+', reasons["life"]
        )
        assert re.fullmatch(rf'{begins}the row of match "[\w-]+", soul \d+ is missing', reasons["souls"])
        assert reasons["rifts"] == f'{begins}the row of match "long-duel", rift 1 is not one of them'

    def test_one_of_each(self, tmp_path: Path, program: Program) -> None:
        """What is there once is told so."""
        folder = Folder(str(tmp_path / "tables"))
        taken_in(folder, recording(recorded("short", END)))
        files, rows = len(listed(folder)), sum(map(len, rows_of(folder).values()))
        done = program("tables", "--verify", folder.address)
        assert done.out == f"{folder.address}: exact, {files} files, 1 match, {rows} rows\n"

    @pytest.mark.parametrize(("table", "column"), [("matches", "winner"), ("entries", "turn"), ("entries", "type")])
    def test_changed_row_of_the_match(self, tables: Folder, table: str, column: str) -> None:
        """The same where the record itself is told."""
        changed(tables, file_of(tables, table), with_cell(column, 0, another))
        assert told(tables) == [("tampered", table)]

    @pytest.mark.parametrize("part", [0, 1])
    def test_changed_life(self, tables: Folder, part: int, program: Program) -> None:
        """Also where matches run. The exit status is 1."""
        changed(tables, file_of(tables, "life", part), with_cell("life", -1, another))
        done = program("tables", "--verify", tables.address, "--format", "json")
        assert done.status == 1
        (fault,) = json.loads(done.out)["faults"]
        assert (fault["verdict"], fault["where"]) == ("tampered", "life")

    def test_rows_removed_added_and_swapped(self, tables: Folder) -> None:
        """The first row of a table is gone, the last one of another, a third has one twice, a fourth two in the other
        order.
        """
        changed(tables, file_of(tables, "events"), lambda rows: rows.slice(1))
        changed(tables, file_of(tables, "life"), lambda rows: rows.slice(0, len(rows) - 1))
        changed(tables, file_of(tables, "souls"), lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]))
        changed(tables, file_of(tables, "cards"), lambda rows: rows.take(pa.array([1, 0, *range(2, len(rows))])))
        assert sorted(told(tables)) == [("tampered", table) for table in ("cards", "events", "life", "souls")]

    @pytest.mark.parametrize("table", ["matches", "events", "runs"])
    @pytest.mark.parametrize("place", [0.0, 0.5, 0.999])
    def test_flipped_bit(self, tables: Folder, table: str, place: float) -> None:
        """Whatever it means, the file is named."""
        file = file_of(tables, table)
        path = Path(tables.path(file.path))
        content = bytearray(path.read_bytes())
        content[int(len(content) * place)] ^= 1
        path.write_bytes(content)
        assert told(tables) == [("damaged", file.path)]

    def test_removed_file(self, tables: Folder, program: Program) -> None:
        """The file is named; the exit status is 4."""
        file = file_of(tables, "payments")
        Path(tables.path(file.path)).unlink()
        done = program("tables", "--verify", tables.address)
        assert done.status == 4
        assert f"{file.path} is missing" in done.err
        assert done.out == f"{tables.address}: damaged, {len(listed(tables)) - 1} files, 0 matches, 0 rows, 1 fault\n"

    def test_added_file(self, tables: Folder) -> None:
        """A file that no manifest names is told, as engines that look for files would find it."""
        path = file_of(tables, "soulburns").path
        other = path.replace("schema=1/", "schema=1/batch=more/x")
        Path(tables.path(other)).parent.mkdir(parents=True)
        shutil.copy(tables.path(path), tables.path(other))
        assert told(tables) == [("damaged", other)]

    def test_changed_command(self, tables: Folder, program: Program) -> None:
        """A command that reads otherwise leads to another record than the one with the root: the match is named."""
        place = next(
            number for number, command in enumerate(_commands(tables)) if json.loads(command)["type"] == "change_life"
        )
        smaller = with_cell("command", place, lambda text: text.replace('"delta":-', '"delta":-1'))
        changed(tables, file_of(tables, "entries"), smaller)
        done = program("tables", "--verify", tables.address)
        assert done.status == 1
        assert "long-duel: its commands lead to another record" in done.err

    @pytest.mark.parametrize(
        "other", [lambda _: "{", lambda _: '{"type":"resolve","payment":9}'], ids=["no JSON", "refused"]
    )
    def test_command_that_is_none(self, tables: Folder, other: Callable[[str], str]) -> None:
        """One that cannot be played is told so, with its match."""
        changed(tables, file_of(tables, "entries"), with_cell("command", 1, other))
        assert told(tables) == [("diverged", "long-duel")]

    def test_another_match_with_its_root(self, tables: Folder, tmp_path: Path) -> None:
        """Rows that another record makes, all of them, are not those of a match with this root."""
        other = Folder(str(tmp_path / "other"))
        taken_in(other, recording(played([*script(LONG_DUEL)[:-1], '{"type":"concede","player":"ilse"}'])))
        roots = dict[str, str](columns(rows_of(tables), "matches", "match", "root"))
        for table in of_matches():
            file = file_of(other, table.name)
            rows = pq.read_table(other.path(file.path), partitioning=None)
            changed(tables, file_of(tables, table.name), lambda _, rows=rows: rows)  # type: ignore[misc]
        changed(tables, file_of(tables, "matches"), with_cell("root", 0, lambda _: roots["long-duel"]))
        assert told(tables) == [("diverged", "long-duel")]

    @pytest.mark.parametrize("match", ["long-duel", "run-5-1"])
    def test_changed_root(self, tables: Folder, match: str) -> None:
        """The match is named, and nothing else: no run is missing since a match of it could not be proven."""
        place = names(rows_of(tables)).index(match)
        file = file_of(tables, "matches")
        changed(tables, file, with_cell("root", place, lambda root: root[:-1] + ("0" if root[-1] != "0" else "1")))
        assert told(tables) == [("diverged", match)]

    @pytest.mark.parametrize(("table", "verdict"), [("matches", "diverged"), ("entries", "tampered")])
    def test_match_without_a_row_or_without_entries(self, tables: Folder, table: str, verdict: str) -> None:
        """A match that the table of matches does not list, and one that has no entries, are named."""
        others = pa.compute.not_equal
        changed(tables, file_of(tables, table), lambda rows: rows.filter(others(rows["match"], "short")))
        assert (verdict, "short") in told(tables)

    def test_matches_that_are_there_twice(self, tables: Folder) -> None:
        """They are named, though both of each are what the record makes."""
        manifest = tables.manifest()
        part = manifest.parts[0]
        files = list[File]()
        for file in part.files:
            path = file.path.replace("batch=", "batch=again-")
            Path(tables.path(path)).parent.mkdir(parents=True)
            shutil.copy(tables.path(file.path), tables.path(path))
            files.append(msgspec.structs.replace(file, path=path))
        again = msgspec.structs.replace(part, name="again", files=tuple(files))
        manifest = msgspec.structs.replace(manifest, parts=(*manifest.parts, again))
        Path(tables.path(MANIFEST)).write_bytes(msgspec.json.encode(manifest))
        assert told(tables) == [("tampered", match) for match in ("long-duel", "run-5-1", "short")]

    @pytest.mark.parametrize(
        "change",
        [
            with_cell("seed", 0, lambda _: "6"),
            with_cell("run", 0, another),
            lambda rows: pa.concat_tables([rows, with_cell("run", 0, another)(rows)]),
        ],
        ids=["seed", "name", "one more"],
    )
    def test_changed_run(self, tables: Folder, change: Change) -> None:
        """What the matches tell of their run must be listed, and no other run."""
        changed(tables, file_of(tables, "runs"), change)
        assert {*told(tables)} == {("tampered", "runs")}

    @pytest.mark.parametrize(
        "change",
        [
            lambda rows: rows.drop_columns(["damage"]),
            lambda rows: rows.append_column("more", pa.array(range(len(rows)))),
            lambda rows: rows.set_column(1, "n", pa.array(map(str, rows["n"].to_pylist()))),
        ],
        ids=["less", "more", "another type"],
    )
    def test_changed_columns(self, tables: Folder, change: Change) -> None:
        """A column less, one more or another type than the version of the table has."""
        changed(tables, file_of(tables, "soulburns"), change)
        assert told(tables) == [("tampered", "soulburns")]

    def test_commands_that_are_no_texts(self, tables: Folder, program: Program) -> None:
        """Nor does it fail where there is nothing that could be played."""
        numbers = pa.array(range(len(_commands(tables))))
        place = next(table for table in TABLES if table.name == "entries").arrow.names.index("command")
        changed(tables, file_of(tables, "entries"), lambda rows: rows.set_column(place, "command", numbers))
        assert program("tables", "--verify", tables.address).status in {1, 4}

    def test_file_of_something_else(self, tables: Folder, program: Program) -> None:
        """A file that is no Parquet, with its hash in the manifest, is told by its name."""
        file = file_of(tables, "rifts")
        Path(tables.path(file.path)).write_bytes(b"rifts")
        mended(tables, file, file.path, file.rows)
        done = program("tables", "--verify", tables.address)
        assert done.status == 4
        assert file.path in done.err

    @pytest.mark.parametrize("what", ["rows", "matches", "events"])
    def test_counts_of_the_manifest(self, tables: Folder, what: str) -> None:
        """What the manifest counts must be so."""
        text = json.loads(Path(tables.path(MANIFEST)).read_bytes())
        place = text["parts"][0]["files"][0] if what == "rows" else text["parts"][0]
        place[what] += 1
        Path(tables.path(MANIFEST)).write_text(json.dumps(text))
        assert told(tables) != []

    def test_all_faults_are_told(self, tables: Folder, program: Program) -> None:
        """Of several changes each is told, and the status is that of the gravest."""
        changed(tables, file_of(tables, "matches", 1), with_cell("root", 0, lambda _: "0" * 64))
        changed(tables, file_of(tables, "cards"), with_cell("card", 0, another))
        done = program("tables", "--verify", tables.address, "--format", "json")
        found = {(fault["verdict"], fault["where"]) for fault in json.loads(done.out)["faults"]}
        assert found == {("diverged", "runs"), ("tampered", "cards")}
        assert (done.status, json.loads(done.out)["verdict"]) == (1, "diverged")

    @pytest.mark.parametrize("option", ["--verify", "--migrate"])
    def test_nothing_is_there(self, tmp_path: Path, program: Program, option: str) -> None:
        """Where there are no tables, none are made; the exit status is 2."""
        done = program("tables", option, tmp_path / "tables")
        assert done.status == 2
        assert "there are no tables in" in done.err
        assert list(tmp_path.iterdir()) == []


def _commands(folder: Folder) -> list[str]:
    rows = pq.read_table(folder.path(file_of(folder, "entries").path), partitioning=None)
    return list(rows["command"].to_pylist())


# ------------------------------------------------------------ files that cannot be read


def _with(content: bytes, at: int, *other: int) -> bytes:
    """A content with other bytes at a place."""
    return content[:at] + bytes(other) + content[at:][len(other) :]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "truncated": lambda content: content[:-20],
    "zeros": lambda content: bytes(len(content)),
    "no type": lambda content: _with(content, len(content) - 8 - int.from_bytes(content[-8:-4], "little"), 0x1F),
    "too large": lambda content: _with(
        content, len(content) - 8 - int.from_bytes(content[-8:-4], "little"), 0x18, *[0xFF] * 4, 0x07
    ),
    "footer's length": lambda content: _with(content, len(content) - 7, 0x7F),
    "first page": lambda content: _with(content, 4, *[0xFF] * 40),
    "rows": lambda content: _with(content, 40, *[0] * 40),
}
"""What becomes of a file that counts: nothing, if it is gone."""


@pytest.mark.parametrize("damage", DAMAGES)
def test_file_that_cannot_be_read_is_named(tables: Folder, program: Program, damage: str) -> None:
    """Whoever reads tables of which a file is gone or damaged is told so in one line, which names it, with status 1."""
    file = file_of(tables, "souls")
    path = Path(tables.path(file.path))
    content = DAMAGES[damage](path.read_bytes())
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    sql = ("sql", "SELECT * FROM souls", "--tables", tables.address)
    page = Path(tables.root).parent / "page.html"
    before = {name: each for name, each in everything_in(Path(tables.root)).items() if name != ".lock"}
    for arguments in (sql, ("report", tables.address, "-o", page), ("tables", "--migrate", tables.address)):
        done = program(*arguments)
        assert (done.status, done.out) == (1, ""), arguments
        (line,) = done.err.splitlines()
        assert re.search(rf"{re.escape(str(path))} is (missing|shorter|damaged)", line)
        assert "Exception" not in line
    assert {name: each for name, each in everything_in(Path(tables.root)).items() if name != ".lock"} == before


# ------------------------------------------------------------ manifests that cannot be


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"format":2,"news":[]}', "was written by a newer Soulrift: its manifest has format 2"),
        (b'{"format":"x"}', "cannot be read"),
        (b'{"format":1,"parts":7}', "cannot be read"),
        (b"{}", "cannot be read"),
        (b"", "cannot be read"),
        (b"\xff", "cannot be read"),
    ],
)
def test_manifest_that_cannot_be_read(tables: Folder, program: Program, content: bytes, why: str) -> None:
    """Nobody reads, verifies, migrates or adds to tables whose manifest is of a newer version, or none; all stay."""
    Path(tables.path(MANIFEST)).write_bytes(content)
    before = {path for path in everything_in(Path(tables.root)) if path != ".lock"}
    archive = Path(tables.root).parent / "one.jsonl"
    archive.write_bytes(recording(recorded("one", END)))
    for arguments in (("--verify", tables.address), ("--migrate", tables.address), (archive, "-o", tables.address)):
        done = program("tables", *arguments)
        assert done.status == 2
        assert why in " ".join(done.err.split())
    with pytest.raises(TablesError, match=why.split(":", maxsplit=1)[0]):
        connect(tables.address)
    assert {path for path in everything_in(Path(tables.root)) if path != ".lock"} == before


# ------------------------------------------------------------ versions


GONE = "rule"
"""A column of soulburns, from among others, that an older version of the table has not."""


def made_older(folder: Folder) -> None:
    """Make all files of soulburns those of an older version, which lacks a column."""
    _of_version(folder, 2, 1, lambda rows: rows.drop_columns([GONE]))


def made_newer(folder: Folder) -> None:
    """Make them those of a newer version, which has a column more."""
    _of_version(folder, 1, 2, lambda rows: rows.append_column("news", pa.array(range(len(rows)))))


def _of_version(folder: Folder, old: int, new: int, change: Change) -> None:
    for path in [file.path for file in folder.manifest().files("soulburns")]:
        changed(folder, _at(folder, path), change)
        file, moved = _at(folder, path), path.replace(f"schema={old}", f"schema={new}")
        Path(folder.path(moved)).parent.mkdir(parents=True)
        shutil.move(folder.path(path), folder.path(moved))
        mended(folder, file, moved, file.rows, new)
        shutil.rmtree(folder.path(f"soulburns/schema={old}"))


def _at(folder: Folder, path: str) -> File:
    return next(file for file in folder.manifest().files() if file.path == path)


BURNS = "SELECT match, n, rule, damage FROM soulburns ORDER BY match, n"


def burns(folder: Folder) -> list[tuple[Any, ...]]:
    """Soulburns, as they are asked for by SQL."""
    with connect(folder.address) as asked:
        return [*asked.sql(BURNS).fetchall()]


class TestVersions:
    """Tables of which some were made by an older version of Soulrift, or by a newer one."""

    @pytest.fixture
    def _second_version(self) -> Iterator[None]:
        """The column came with a second version of its table, which is the one of now."""
        column = next(column for column in SOULBURNS.columns if column.name == GONE)
        force_setattr(SOULBURNS, "version", 2)
        force_setattr(column, "version", 2)
        yield
        force_setattr(SOULBURNS, "version", 1)
        force_setattr(column, "version", 1)

    @pytest.fixture
    def made(self, tmp_path: Path) -> Iterator[Making]:
        """Old tables of a match with Soulburn, and of another one that runs."""
        with stores.create(":memory:") as matches:
            made = Making(matches, Folder(str(tmp_path / "tables")))
            first, *rest = script(LONG_DUEL)
            matches.give_all(matches.start(first).match, rest)
            made.begin("runs")
            made.make()
            yield made

    def add(self, made: Making) -> None:
        """Another match with the same Soulburn, by the version of now."""
        first, *rest = script(LONG_DUEL)
        made.matches.give_all(made.matches.start(first.replace('"long-duel"', '"new"')).match, rest)
        made.make()

    @pytest.mark.usefixtures("_second_version")
    def test_read_together(self, made: Making) -> None:
        """What an old part lacks is null there, and no column is lost of the others: by our views and by anybody's."""
        expected = burns(made.folder)
        made_older(made.folder)
        self.add(made)
        old = [(match, n, None, damage) for match, n, _, damage in expected]
        new = [("new", *more) for _, *more in expected]
        assert burns(made.folder) == [*old, *new]
        with duckdb.connect() as asked:
            files = f"read_parquet('{made.folder.root}/soulburns/**/*.parquet', union_by_name=true)"
            assert asked.sql(BURNS.replace("soulburns", files)).fetchall() == [*old, *new]
        assert {file.version for file in made.folder.manifest().files("soulburns")} == {1, 2}
        assert told(made.folder) == []

    @pytest.mark.usefixtures("_second_version")
    def test_ruling_on_an_old_match(self, made: Making) -> None:
        """It is made anew with all columns."""
        expected = burns(made.folder)
        made_older(made.folder)
        made.give("long-duel", ruling({"life": {"player": "ilse", "delta": 1}}))
        made.make()
        assert burns(made.folder) == expected
        made.exact()
        assert told(made.folder) == []

    @pytest.mark.usefixtures("_second_version")
    def test_ruling_on_another_match_of_its_part(self, made: Making) -> None:
        """An old match that stays in its part is still told as it was, and can be proven."""
        made.begin("other", END)
        with small_parts(1_000):
            made.make()
        made_older(made.folder)
        migrate(made.folder)
        before = burns(made.folder)
        made.give("other", ruling(life("a", 1)))
        made.make()
        assert burns(made.folder) == before
        assert told(made.folder) == []

    @pytest.mark.usefixtures("_second_version")
    def test_migrated(self, made: Making) -> None:
        """Then all files are of this version and rows are as before; a match can be proven still, and all goes on."""
        made_older(made.folder)
        self.add(made)
        before = rows_of(made.folder)
        migrate(made.folder)
        assert {file.version for file in made.folder.manifest().files("soulburns")} == {2}
        assert not Path(made.folder.path("soulburns/schema=1")).exists()
        after = assert_whole(made.folder)
        others = {table: rows for table, rows in before.items() if table != "soulburns"}
        assert_same(after, others)
        kept = [column.name for column in SOULBURNS.columns if column.name != GONE]
        assert columns(after, "soulburns", *kept) == columns(before, "soulburns", *kept)
        assert told(made.folder) == []
        assert made.make() == Count(there=2, running=1)
        made.give("runs", END)
        assert made.make() == Count(written=1, there=2)

    @pytest.mark.parametrize("what", ["migrated", "ruled on"])
    def test_column_of_a_newer_version(self, made: Making, what: str) -> None:
        """It is read; and who does not know it does not lose it: what would write it anew is refused, or keeps it."""
        made_newer(made.folder)
        question = "SELECT n, news FROM soulburns WHERE news IS NOT NULL ORDER BY news"
        with connect(made.folder.address) as asked:
            news = asked.sql(question).fetchall()
        assert len(news) == 3
        made.begin("other", END)
        made.make()
        with suppress(TablesError):
            if what == "migrated":
                migrate(made.folder)
            else:
                made.give("other", ruling(life("a", 1)))
                made.make()
        with connect(made.folder.address) as asked:
            assert asked.sql(question).fetchall() == news

    def test_newer_version_cannot_be_verified(self, made: Making, program: Program) -> None:
        """Rows of a version that is not known are not called tampered with: they are unverifiable, with status 3."""
        made_newer(made.folder)
        assert program("tables", "--verify", made.folder.address).status == 3


# ------------------------------------------------------------ migrated


class TestMigrated:
    """`soulrift tables --migrate`."""

    def many(self, folder: Folder) -> None:
        """Tables of five parts, and of two matches that run."""
        with small_parts():
            taken_in(folder, *(recording(recorded(f"match-{n}", *releases(n % 4), END)) for n in range(5)))
            taken_in(folder, *(recording(recorded(f"runs-{n}")) for n in range(2)))
            taken_in(folder, recording(play_match(Run(5), 1, record=True).entries), recording(recorded("runs-2")))

    def test_fewer_files(self, tmp_path: Path, program: Program) -> None:
        """No row is lost, and none is there twice; what was there before is gone."""
        folder = Folder(str(tmp_path / "tables"))
        self.many(folder)
        before, files = rows_of(folder), len(listed(folder))
        done = program("tables", "--migrate", folder.address, "--format", "json")
        assert done.status == 0
        assert_same(assert_whole(folder), before)
        assert len(listed(folder)) == json.loads(done.out)["files"] < files / 2
        assert folder.strays(folder.manifest()) == []
        assert [part.matches for part in folder.manifest().all_parts()] == [6, 3, 0]
        assert told(folder) == []
        assert taken_in(folder, recording(recorded("match-1", *releases(1), END)), recording(recorded("runs-1"))) == (
            Count(there=2)
        )

    def test_parts_are_full(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Parts are put together until one is full, in their order."""
        folder = Folder(str(tmp_path / "tables"))
        self.many(folder)
        before = rows_of(folder)
        monkeypatch.setattr("projections.analytics.migrating.ENTRIES", 6)
        migrate(folder)
        assert [part.matches for part in folder.manifest().parts] == [2, 2, 1, 1]
        assert_same(assert_whole(folder), before)

    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    def test_killed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, after: bool) -> None:
        """The old files count until all new ones are there."""
        folder = Folder(str(tmp_path / "tables"))
        self.many(folder)
        before, files = rows_of(folder), listed(folder)
        with monkeypatch.context() as patch:
            patch.setattr(Folder, "commit", killed_at(1, after=after))
            assert is_killed(lambda: migrate(folder))
        assert (listed(folder) == files) is not after
        assert_same(assert_whole(folder), before)
        migrate(folder)
        assert_same(assert_whole(folder), before)
        assert folder.strays(folder.manifest()) == []

    def test_somebody_else_is_at_it(self, tables: Folder) -> None:
        """Then nothing is done."""
        with Folder(tables.address).writing(), pytest.raises(TablesError, match="another program is writing"):
            migrate(tables)
        assert names(assert_whole(tables)) == ["long-duel", "run-5-1", "runs", "short"]
