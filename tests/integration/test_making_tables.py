"""Tables made of a store: whenever they are made, and whatever has happened to it since, each match is in them once."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from itertools import count, zip_longest
from pathlib import Path
from random import Random

import duckdb
import fsspec
import pyarrow.dataset
import pytest

from domain.codec import CorruptRecordError
from domain.match import Match
from domain.rules import State
from projections.analytics.folder import MANIFEST, Folder, TablesError
from projections.analytics.making import Count, Made, Work, part_of_matches
from projections.analytics.of_recordings import lines_of, of_recordings
from projections.analytics.of_store import of_store
from projections.analytics.parts import TableFile
from replays.reading import Reader
from soulrift import store as stores
from tests.exports import (
    END,
    END_BY_JUDGE,
    OPEN_AGAIN,
    REOPEN,
    Killed,
    Making,
    ahead,
    assert_consistent,
    assert_same,
    assert_whole,
    columns,
    everything_in,
    is_killed,
    killed_at,
    listed,
    names,
    of_part,
    plain,
    rows_of,
    small_parts,
)
from tests.followers import recomputed
from tests.kit import Json
from tests.makers import Players
from tests.recordings import EXAMPLES, Program, duel, in_process, running, script
from tests.unit.rules.moves import life, releases, ruling
from tests.writers import log_of, sql


@pytest.fixture(autouse=True)
def _no_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls the plug here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def made(durable_store: str, tmp_path: Path) -> Iterator[Making]:
    """A store, and a place for tables."""
    with stores.create(durable_store) as matches:
        yield Making(matches, Folder(str(tmp_path / "tables")))


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Making]:
    """The same in memory, for what does not depend on the store."""
    with stores.create(":memory:") as matches:
        yield Making(matches, Folder(str(tmp_path / "tables")))


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    return in_process(monkeypatch, capfd)


# ------------------------------------------------------------ what is new


class TestWhatIsNew:
    """Tables are brought up to date by what came behind the position that they tell of."""

    def test_first_time(self, made: Making) -> None:
        """All matches of a store are in them: those that have ended, and those that run."""
        for path in EXAMPLES:
            first, *rest = script(path)
            made.matches.give_all(made.matches.start(first).match, rest)
        ended = sum(made.matches.state(name).status == "ended" for name in made.matches.recorder.matches())
        assert made.make() == Count(written=ended, running=len(EXAMPLES) - ended)
        rows, views = made.exact(), recomputed(made.matches)
        assert len(rows["souls"]) == len(views["souls"]) > 0
        assert len(rows["soulburns"]) == len(views["soulburn"]) > 0
        assert len(rows["life"]) == len(views["life"]) > 0
        assert len(rows["events"]) == len(log_of(made.matches))

    def test_nothing_is_new(self, made: Making) -> None:
        """Then no file is written, and the manifest stays as it is; whether something runs or not."""
        made.begin("one", END)
        made.make()
        ended = everything_in(Path(made.folder.root))
        assert made.make() == Count(there=1)
        assert everything_in(Path(made.folder.root)) == ended
        made.begin("two")
        made.make()
        running = everything_in(Path(made.folder.root))
        assert made.make() == Count(there=1, running=1)
        assert everything_in(Path(made.folder.root)) == running
        made.exact()

    def test_new_matches(self, made: Making) -> None:
        """They come in files of their own; those of matches that had ended stay as they are."""
        made.begin("one", *releases(1, 2), END)
        made.begin("two", *releases(3))
        made.make()
        running = {path for path in listed(made.folder) if "running" in path}
        before = {path: hash_ for path, hash_ in listed(made.folder).items() if path not in running}
        made.begin("three", *releases(0), END)
        made.begin("four")
        assert made.make() == Count(written=1, there=1, running=2)
        after = listed(made.folder)
        assert before.items() <= after.items()
        assert not {path for path in after if "running" in path} & running
        made.exact()

    def test_matches_that_run_and_then_end(self, made: Making) -> None:
        """They are no longer among those that run, be they the last ones of these or not."""
        for name in ("one", "two"):
            made.begin(name, *releases(1))
        made.make()
        made.give("one", *releases(2), END)
        assert made.make() == Count(written=1, running=1)
        made.exact()
        made.give("two", END)
        assert made.make() == Count(written=1, there=1, running=0)
        made.exact()
        assert made.folder.manifest().running is None

    def test_match_of_one_entry(self, made: Making) -> None:
        """It has begun, and nothing more."""
        made.begin("one")
        assert made.make() == Count(running=1)
        assert {table: len(rows) for table, rows in made.exact().items() if rows} == {
            "matches": 1,
            "players": 2,
            "entries": 1,
            "events": 1,
            "life": 2,
        }

    def test_store_without_a_match(self, made: Making) -> None:
        """Its tables have no rows, and take in what comes."""
        assert made.make() == Count()
        assert sum(map(len, made.exact().values())) == 0
        assert made.make() == Count()
        made.begin("one", END)
        assert made.make() == Count(written=1)
        made.exact()

    def test_import_that_is_unfinished(self, made: Making) -> None:
        """What is there of a match counts as one that runs; once the rest is there, it is there whole."""
        with stores.create(":memory:") as other:
            source = Making(other, made.folder)
            source.begin("one", *releases(1, 2, 3), END)
            entries = list(other.entries("one"))
        match = Match("one", State(), made.matches.codec)
        made.matches.record(match, entries[:3], "root", whole=False)
        assert made.make() == Count(running=1)
        made.exact()
        made.matches.record(match, entries[3:], "root", whole=True)
        assert made.make() == Count(written=1)
        assert len(made.exact()["entries"]) == 5


# ------------------------------------------------------------ rulings


class TestRulings:
    """A judge may change a match after its end."""

    def test_after_the_end(self, made: Making) -> None:
        """The match's old rows are gone and the new ones there, once; the other matches of its part stay."""
        made.begin("one", *releases(1), END)
        made.begin("two", *releases(2, 3), END)
        made.begin("three")
        made.make()
        before = of_part(made.folder, "one")
        made.give("two", ruling(life("a", 7)))
        assert made.make() == Count(written=1, there=1, running=1)
        rows = made.exact()
        assert ("two", 5, "a", 7, 37) in columns(rows, "life", "match", "entry", "player", "delta", "life")
        assert of_part(made.folder, "one") == before != of_part(made.folder, "two")

    def test_on_the_only_match_of_a_part(self, made: Making) -> None:
        """That part is gone."""
        made.begin("one", END)
        made.make()
        made.give("one", ruling(life("a", 1)))
        made.make()
        made.exact()
        assert len(made.folder.manifest().parts) == 1

    def test_that_open_a_match_again(self, made: Making) -> None:
        """It is among those that run, until it ends once more, by play or by a judge."""
        made.begin("one", *releases(1), END)
        made.begin("two", END)
        made.make()
        for name in ("one", "two"):
            made.give(name, REOPEN, *releases(2))
        assert made.make() == Count(running=2)
        made.exact()
        made.give("one", END)
        made.give("two", END_BY_JUDGE)
        assert made.make() == Count(written=2)
        made.exact()

    @pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
    @pytest.mark.parametrize("small", [False, True], ids=["one part", "many parts"])
    def test_in_the_time_in_which_it_ended(self, quick: Making, *, known: bool, small: bool) -> None:
        """Whatever became of a match between two times, it is told of once, as it is, whatever else there is."""
        for name in COURSES:
            quick.begin(name, *releases(1))
        if known:
            quick.make()
        for number, commands in enumerate(zip_longest(*COURSES.values())):
            quick.begin(f"between-{number}", END)
            for name, command in zip(COURSES, commands, strict=True):
                quick.give(name, *filter(None, [command]))
        with small_parts() if small else nullcontext():
            quick.make()
        run = {match for match, status in columns(quick.exact(), "matches", "match", "status") if status == "running"}
        assert run == {name for name in COURSES if "runs" in name}
        assert run == {name for name in COURSES if of_part(quick.folder, name) == "running"}


COURSES: dict[str, list[Json]] = {
    "ends, ruled on": [END, ruling(life("a", 1))],
    "ends, opened, runs": [END, REOPEN],
    "ends, opened, ends": [END, REOPEN, END],
    "ends, opened, ends, opened, runs": [END, REOPEN, END, REOPEN],
    "ruled on, runs": [ruling(life("a", 1))],
    "ruled on, ends": [ruling(life("a", 1)), END],
    "ended by a judge": [END_BY_JUDGE],
    "ended by a judge, opened, runs": [END_BY_JUDGE, OPEN_AGAIN],
}
"""What becomes of a match that has begun, in its name."""


# ------------------------------------------------------------ what happens while tables are made


MEANWHILE: dict[str, list[Json]] = {
    "runs, goes on": [*releases(1)],
    "runs, ends": [END],
    "runs, ends, is ruled on": [END, ruling(life("a", 1))],
    "runs, ends, is opened again": [END, REOPEN],
    "ruled on, ends": [END],
    "ruled on, ends, is opened again": [END, REOPEN],
    "ended, is ruled on": [ruling(life("a", 1))],
    "ended, is opened again": [REOPEN],
    "ended, is opened again, ends": [REOPEN, END],
    "known, is ruled on": [ruling(life("a", 1))],
    "known, is opened again": [REOPEN],
    "known, is opened again, ends": [REOPEN, END],
    "opened again, ends": [END],
    "opened again, is ruled on": [ruling(life("a", 1))],
}
"""What happens to matches while a part is made; what they were before that, in their names."""

BEFORE: dict[str, list[Json]] = {
    "runs": [*releases(0)],
    "ruled on": [ruling(life("a", 2))],
    "ended": [END],
    "known": [],
    "opened again": [REOPEN],
}
"""By which commands they became so since tables were made."""


@pytest.mark.parametrize("place", [1, 2, 3], ids=["ended", "ruled on", "running"])
def test_what_happens_while_tables_are_made(quick: Making, place: int) -> None:
    """Whatever it is, and whichever part is being made: each match is there as it was at some moment, the same one in
    all tables; the next time as it is.
    """
    before = {name: name.split(",")[0] for name in MEANWHILE}
    for name in (name for name, was in before.items() if was in {"known", "opened again"}):
        quick.begin(name, END)
    quick.make()
    for name, was in before.items():
        if was not in {"known", "opened again"}:
            quick.begin(name)
        quick.give(name, *BEFORE[was])
    parts = count(1)

    def meanwhile() -> None:
        if next(parts) == place:
            quick.begin("begins")
            quick.begin("begins, ends", END)
            for name, commands in MEANWHILE.items():
                quick.give(name, *commands)

    quick.make(meanwhile)
    assert next(parts) > place
    assert_consistent(quick.folder, quick.matches)
    quick.make()
    quick.exact()


@pytest.mark.parametrize("seed", range(2))
def test_random_times(quick: Making, seed: int) -> None:
    """Matches begin, go on, end, are ruled on and opened again, also while tables are made, in parts of any size."""
    chance = Random(seed)
    players = Players(quick.matches, chance)
    for _ in range(6):
        for _ in range(chance.randrange(12)):
            players.do()
        with small_parts(chance.choice([1, 3, 8, 1_000])):
            quick.make(lambda: players.do() if chance.random() < 0.3 else None, ahead if chance.random() < 0.5 else map)
        assert_consistent(quick.folder, quick.matches)
        if chance.random() < 0.5:
            quick.make()
            assert_same(rows_of(quick.folder), plain(quick.matches))
    quick.make()
    quick.exact()


# ------------------------------------------------------------ killed


def storyline(made: Making) -> None:
    """Tables are there; then comes all that is written in commits of its own."""
    made.begin("there", END)
    made.begin("opened", END)
    made.begin("runs")
    made.make()
    made.begin("ruled", ruling(life("a", 1)))
    made.begin("two", *releases(1), END)
    made.give("opened", REOPEN)
    made.give("there", ruling(life("b", 1)))
    made.begin("three", END)
    made.give("ruled", END)
    made.begin("four")


def test_killed_at_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed just before any of its commits, and run again, it ends with the rows that it would have made."""
    for commit in count(1):
        with stores.create(":memory:") as matches:
            made = Making(matches, Folder(str(tmp_path / str(commit))))
            storyline(made)
            with monkeypatch.context() as patch, small_parts():
                patch.setattr(Folder, "commit", killed_at(commit))
                killed = is_killed(made.make)
            assert_consistent(made.folder, matches)
            made.make()
            if not killed:
                made.exact()
                break
            assert_same(rows_of(made.folder), plain(matches))
    assert commit > 3


@pytest.mark.parametrize("there", [False, True], ids=["first", "later"])
def test_killed_while_the_manifest_is_replaced(quick: Making, monkeypatch: pytest.MonkeyPatch, *, there: bool) -> None:
    """Killed when the new manifest is written but has not taken the place of the old one, it is run again as ever."""
    quick.begin("one", END)
    if there:
        quick.make()
        quick.begin("two", END)
    before = everything_in(Path(quick.folder.root)).get(MANIFEST)
    replace = Path.replace

    def killed(path: Path, target: str | Path) -> Path:
        if Path(target).name == MANIFEST:
            raise Killed
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        assert is_killed(quick.make)
    assert everything_in(Path(quick.folder.root)).get(MANIFEST) == before
    quick.make()
    quick.exact()


def test_what_a_killed_run_left_is_removed(made: Making) -> None:
    """Files of tables that no manifest names, and what was being written, are gone the next time."""
    made.begin("one", END)
    made.make()
    root = Path(made.folder.root)
    (path,) = (path for path in listed(made.folder) if path.startswith("events"))
    strays = [path.replace("/00000001", "/00000009"), path.replace("batch=", "batch=9"), f".writing/{path}"]
    for stray in strays:
        (root / stray).parent.mkdir(parents=True, exist_ok=True)
        (root / stray).write_bytes((root / path).read_bytes())
    assert assert_whole(made.folder)
    made.make()
    assert not any((root / stray).exists() for stray in strays)
    assert not (root / strays[1]).parent.exists()
    made.exact()


def test_worker_that_outlives_a_killed_run_spoils_nothing(quick: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of a killed run that still begins to write a part, and is gone then, spoils none of the next run's."""
    quick.begin("one", END)
    works = list[Work]()

    def killed(work: Work) -> Made:
        works.append(work)
        raise Killed

    def do(work: Work) -> Made:
        made = part_of_matches(work, quick.matches.entries)
        if len(works) == 1:
            with monkeypatch.context() as patch, suppress(Killed):
                patch.setattr(TableFile, "write", lambda *_: killed(work))
                part_of_matches(works[0], quick.matches.entries)
        return made

    with pytest.raises(Killed):
        of_store(quick.folder, quick.matches, killed)
    of_store(Folder(quick.folder.address), quick.matches, do)
    quick.exact()


# ------------------------------------------------------------ two at once


def test_two_at_once(made: Making) -> None:
    """While one makes tables, another one is told so and leaves them alone; afterwards it may."""
    made.begin("one", END)
    other = Making(made.matches, Folder(made.folder.address))
    told = list[str]()

    def meanwhile() -> None:
        with pytest.raises(TablesError) as refused:
            other.make()
        told.append(str(refused.value))

    made.make(meanwhile)
    assert told
    assert all(f"another program is writing {made.folder.address}" in each for each in told)
    assert other.make() == Count(there=1)
    made.exact()


def test_nobody_is_kept_out_after_an_error(quick: Making) -> None:
    """Whoever failed is no longer at it."""
    quick.begin("one", END)

    def fail() -> None:
        raise Killed

    with pytest.raises(Killed):
        quick.make(fail)
    quick.make()
    quick.exact()


# ------------------------------------------------------------ another log than the one before


def forget(store: str, match: str) -> None:
    """Delete a match."""
    for table in ("stored_events", "stored_snapshots", "command_ids"):
        sql(store, f"DELETE FROM {table} WHERE originator_id='{match}'")


class TestOtherLog:
    """What the tables tell of is no longer in the store."""

    @pytest.fixture
    def made(self, durable_store: str, tmp_path: Path) -> Iterator[Making]:
        """Tables of the matches one and two, which have ended, and three, which runs."""
        folder = Folder(str(tmp_path / "tables"))
        with stores.create(durable_store) as matches:
            made = Making(matches, folder)
            for name in ("one", "two"):
                made.begin(name, *releases(1), END)
            made.begin("three")
            made.make()
        with stores.create(durable_store) as matches:
            yield Making(matches, folder)

    @pytest.fixture
    def _long_log(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The log is so long that nothing is known of most of its rows."""
        monkeypatch.setattr("projections.analytics.of_store.SAMPLE", 1)

    @pytest.mark.usefixtures("_long_log")
    def test_match_has_begun_anew_and_ended(self, made: Making, durable_store: str) -> None:
        """Of a match that was deleted and begun anew it is told that it was: tables do not mix two matches."""
        forget(durable_store, "one")
        made.begin("one", *releases(2), END)
        made.refused(r"the match one has begun anew .* in another folder")

    @pytest.mark.usefixtures("_long_log")
    def test_match_has_begun_anew_and_runs(self, made: Making, durable_store: str) -> None:
        """The same if the new one runs: the old one is in the tables."""
        forget(durable_store, "one")
        made.begin("one", *releases(2))
        made.refused(r"the match one has begun anew .* in another folder")

    @pytest.mark.usefixtures("_long_log")
    def test_match_that_ran_has_begun_anew(self, made: Making, durable_store: str) -> None:
        """One that was among those that run is replaced as they are, whether the new one runs or has ended."""
        forget(durable_store, "three")
        made.begin("four")
        made.begin("three", *releases(3))
        with suppress(TablesError):  # the last row of the log was its own
            made.make()
            made.exact()

    @pytest.mark.usefixtures("_long_log")
    def test_match_that_ran_is_gone(self, made: Making, durable_store: str) -> None:
        """It is gone from the tables."""
        made.begin("four")
        made.make()
        forget(durable_store, "three")
        made.begin("five")
        assert made.make() == Count(there=2, running=2)
        assert names(made.exact()) == ["five", "four", "one", "two"]

    @pytest.mark.parametrize("match", ["one", "three"])
    def test_match_is_gone(self, made: Making, durable_store: str, match: str) -> None:
        """That a match was deleted is noticed, whether it had ended or not: the tables would tell of it for ever."""
        made.begin("four")
        made.make()
        forget(durable_store, match)
        made.refused("is of another store, or its log was cut")

    @pytest.mark.parametrize(("row", "known"), [(2, False), (3, True), (4, False), (7, True), (10, False), (11, True)])
    def test_changed_row_of_a_longer_log(
        self, durable_store: str, tmp_path: Path, row: int, monkeypatch: pytest.MonkeyPatch, *, known: bool
    ) -> None:
        """Of a log with more rows than are sampled, those are known that lie evenly spaced before the last one."""
        monkeypatch.setattr("projections.analytics.of_store.SAMPLE", 3)
        with stores.create(durable_store) as matches:
            made = Making(matches, Folder(str(tmp_path / "tables")))
            for number in range(11):
                made.begin(f"match-{number}")
            made.make()
            assert [position for position, *_ in log_of(matches)] == list(range(1, 12))
            position = "notification_id" if stores.is_postgres(durable_store) else "rowid"
            sql(durable_store, f"UPDATE stored_events SET topic='other.v1' WHERE {position}={row}")
            if known:
                made.refused("is of another store, or its log was cut")
            else:
                assert made.make() == Count(running=11)

    @pytest.mark.parametrize("rows", [1, 2, 4])
    def test_log_was_cut(self, made: Making, durable_store: str, rows: int) -> None:
        """The last rows of the log are gone."""
        self._cut(durable_store, rows)
        made.refused("is of another store, or its log was cut")

    def test_log_was_cut_and_others_came(self, made: Making, durable_store: str) -> None:
        """Others have come since, which on SQLite take the positions of those that are gone."""
        last = made.matches.recorder.end()
        forget(durable_store, "three")
        with stores.open_to_write(durable_store) as matches:
            again = Making(matches, made.folder)
            again.begin("four", END)
            assert stores.is_postgres(durable_store) or log_of(matches)[-3][0] == last
            again.refused("is of another store, or its log was cut")

    def test_another_store(self, made: Making, tmp_path: Path) -> None:
        """The tables were made of another store, which had fewer matches, as many, or none."""
        for length in (0, 3, 9):
            with stores.create(str(tmp_path / f"{length}.db")) as matches:
                other = Making(matches, made.folder)
                for number in range(length):
                    other.begin(f"match-{number}", *releases(1), END)
                other.refused("is of another store, or its log was cut")

    @pytest.mark.parametrize("first", ["one", "two"])
    def test_another_store_with_the_same_end(self, made: Making, tmp_path: Path, first: str) -> None:
        """It is noticed where another match of equal length was played before the same last one."""
        with stores.create(str(tmp_path / "other.db")) as matches:
            other = Making(matches, made.folder)
            for name in ("one", "two"):
                other.begin(name, *releases(2 if name == first else 1), END)
            other.begin("three")
            assert matches.recorder.select_log(5, 9)[-1] == made.matches.recorder.select_log(5, 9)[-1]
            other.refused("is of another store, or its log was cut")

    def _cut(self, store: str, rows: int) -> None:
        position = "notification_id" if stores.is_postgres(store) else "rowid"
        last = f"SELECT {position} FROM stored_events ORDER BY 1 DESC LIMIT {rows}"
        sql(store, f"DELETE FROM stored_events WHERE {position} IN ({last})")


def test_restored_copy(quick: Making, tmp_path: Path, program: Program) -> None:
    """A copy of a store is the same one: its tables go on."""
    store, copy = tmp_path / "store.db", tmp_path / "copy.db"
    with stores.create(str(store)) as matches:
        made = Making(matches, quick.folder)
        made.begin("one", END)
        made.begin("two")
        made.make()
    assert program("backup", copy, "--db", store).status == 0
    with stores.open_to_write(str(copy)) as matches:
        made = Making(matches, quick.folder)
        made.give("two", END)
        assert made.make() == Count(written=1, there=1)
        made.exact()


# ------------------------------------------------------------ another folder than one of these tables


@pytest.mark.parametrize(
    "there",
    [
        ["notes.txt"],
        [".hidden"],
        ["events/2026.csv"],
        ["matches/schema=1/mine.parquet"],
        ["events/2026.csv", "notes.txt"],
    ],
    ids="-".join,
)
def test_folder_of_something_else(quick: Making, there: list[str]) -> None:
    """A folder in which other things lie and no manifest is refused, and nothing in it is touched."""
    quick.begin("one", END)
    for name in there:
        path = Path(quick.folder.root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    before = everything_in(Path(quick.folder.root))
    with pytest.raises(TablesError, match="a folder of something else"):
        quick.make()
    assert everything_in(Path(quick.folder.root)) == before


def test_file_in_the_place_of_a_folder(quick: Making) -> None:
    """What is no folder is refused in words."""
    path = Path(quick.folder.root)
    path.write_text("mine")
    with pytest.raises(TablesError, match="no tables can be written"):
        quick.make()
    assert path.read_text() == "mine"


@pytest.mark.parametrize("recording", [duel, running])
def test_tables_of_recordings(quick: Making, recording: Callable[[], bytes]) -> None:
    """Those of recordings take in no store: no match is ever of both. That one of them runs makes no difference."""
    of_recordings(quick.folder, map(lines_of, Reader(io.BytesIO(recording())).recordings()))
    quick.begin("one", END)
    quick.refused("give a store a folder of its own")


@pytest.mark.parametrize("commands", [None, [], [END]], ids=["empty", "runs", "ended"])
def test_recordings_for_tables_of_a_store(quick: Making, commands: list[Json] | None) -> None:
    """Nor do those of a store take in recordings, be there any match in it or not."""
    if commands is not None:
        quick.begin("one", *commands)
    quick.make()
    with pytest.raises(TablesError, match="was made of a store: give recordings a folder of their own"):
        of_recordings(quick.folder, map(lines_of, Reader(io.BytesIO(duel())).recordings()))
    quick.exact()


def test_match_that_cannot_be_read(made: Making, durable_store: str, program: Program) -> None:
    """It is told by its name; the tables stay as they are until the store is mended."""
    made.begin("one", END)
    made.make()
    made.begin("two", END)
    ((state,),) = made.matches.recorder.query(
        "SELECT state FROM stored_events WHERE originator_id='two' AND originator_version=2"
    )
    change = "state=convert_to('{', 'utf8')" if stores.is_postgres(durable_store) else "state=CAST('{' AS BLOB)"
    where = "WHERE originator_id='two' AND originator_version=2"
    sql(durable_store, f"UPDATE stored_events SET {change} {where}")
    before = listed(made.folder)
    with pytest.raises(CorruptRecordError):
        made.make()
    told = program("tables", "--db", durable_store, "-o", made.folder.address)
    assert told.status == 1
    assert "two" in told.err
    assert listed(made.folder) == before
    back = f"decode('{state.hex()}', 'hex')" if stores.is_postgres(durable_store) else f"X'{state.hex()}'"
    sql(durable_store, f"UPDATE stored_events SET state={back} {where}")
    assert made.make() == Count(written=1, there=1)
    made.exact()


def test_file_that_is_missing(quick: Making, tmp_path: Path, program: Program) -> None:
    """Where somebody removed a file that counts, it is told what to do; those of matches that run are made anew."""
    store = str(tmp_path / "store.db")
    with stores.create(store) as matches:
        made = Making(matches, quick.folder)
        made.begin("one", END)
        made.begin("two")
        made.make()
        root = Path(made.folder.root)
        for path in (path for path in listed(made.folder) if "running" in path):
            (root / path).unlink()
        made.begin("three", END)
        told = program("tables", "--db", store, "-o", made.folder.address)
        assert told.status == 0 or "make the tables anew" in told.err
        if told.status == 0:
            made.exact()
        made.give("one", ruling(life("a", 1)))
        for path in (path for path in listed(made.folder) if path.startswith("matches")):
            (root / path).unlink(missing_ok=True)
        told = program("tables", "--db", store, "-o", made.folder.address)
        assert told.status == 1
        assert "make the tables anew" in told.err


# ------------------------------------------------------------ many parts, processes, engines


def test_parts_follow_the_log(quick: Making) -> None:
    """However far ahead they are made, parts come in the order in which their matches ended, and those of later rulings
    last.
    """
    for number in range(5):
        quick.begin(f"match-{number}", END)
        quick.begin(f"running-{number}")
    quick.make()
    quick.give("match-1", ruling(life("a", 1)))
    for number in range(4, -1, -1):
        quick.give(f"running-{number}", END)
    with small_parts():
        assert quick.make(run=ahead) == Count(written=6, there=4)
    first, *running, last = (part.name for part in quick.folder.manifest().parts)
    assert [of_part(quick.folder, f"match-{number}") for number in range(5)] == [first, last, first, first, first]
    assert [of_part(quick.folder, f"running-{number}") for number in range(4, -1, -1)] == running == sorted(running)
    quick.exact()


def test_engines_count_every_match_once(quick: Making) -> None:
    """Whoever reads all Parquet files of a table, wherever they lie in its folder, finds each match once."""
    for path in EXAMPLES[:4]:
        first, *rest = script(path)
        quick.matches.give_all(quick.matches.start(first).match, rest)
        quick.make()
    rows = quick.exact()
    expected = (len(rows["soulburns"]), sum(damage for (damage,) in columns(rows, "soulburns", "damage")))
    root = quick.folder.root
    with duckdb.connect() as connection:
        files = f"read_parquet('{root}/soulburns/**/*.parquet', union_by_name=true)"
        assert connection.sql(f"SELECT count(*), sum(damage) FROM {files}").fetchall() == [expected]
        files = f"read_parquet('{root}/matches/**/*.parquet', union_by_name=true)"
        found = connection.sql(f"SELECT match FROM {files} ORDER BY match").fetchall()
        assert [match for (match,) in found] == names(rows)
    burns = pyarrow.dataset.dataset(f"{root}/soulburns", partitioning="hive").to_table()
    assert (len(burns), sum(burns["damage"].to_pylist())) == expected
    polars = pytest.importorskip("polars")
    scanned = polars.scan_parquet(f"{root}/soulburns/**/*.parquet").collect()
    assert (len(scanned), scanned["damage"].sum()) == expected


# ------------------------------------------------------------ an object store


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Making]:
    """A place for tables where nothing can be locked or renamed."""
    address = f"memory://{tmp_path.name}/tables"
    with stores.create(":memory:") as matches:
        yield Making(matches, Folder(address))
    fsspec.filesystem("memory").rm(tmp_path.name, recursive=True)


class TestObjectStore:
    """Tables in an object store: the manifest is written last."""

    def test_brought_up_to_date(self, remote: Making) -> None:
        """All goes as on a disk, and nothing lies there but tables."""
        storyline(remote)
        with small_parts():
            remote.make()
        remote.exact()
        found = {path.removeprefix(f"{remote.folder.root}/") for path in remote.folder.fs.find(remote.folder.root)}
        assert found == {MANIFEST, *listed(remote.folder)}

    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    def test_killed_at_its_manifest(self, remote: Making, monkeypatch: pytest.MonkeyPatch, *, after: bool) -> None:
        """Until the manifest is written the old tables are whole; from then on the new ones are."""
        remote.begin("one", END)
        remote.begin("two")
        remote.make()
        before = rows_of(remote.folder)
        remote.begin("three", END)
        fs = type(remote.folder.fs)
        write = fs.pipe_file

        def killed(*arguments: object, **options: object) -> None:
            if after:
                write(*arguments, **options)
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(fs, "pipe_file", killed)
            assert is_killed(remote.make)
        assert (assert_whole(remote.folder) == before) is not after
        remote.make()
        remote.exact()

    def test_folder_of_something_else(self, remote: Making) -> None:
        """It is refused there, too, and nothing is removed."""
        path = remote.folder.path("events/mine.csv")
        remote.folder.fs.pipe_file(path, b"mine")
        with pytest.raises(TablesError, match="a folder of something else"):
            remote.make()
        assert remote.folder.fs.cat_file(path) == b"mine"

    def test_second_one_is_told(self, remote: Making) -> None:
        """Of two at once, the one that comes second to its manifest is told so; what the first one wrote is whole."""
        remote.begin("one", END)
        other = Making(remote.matches, Folder(remote.folder.address))
        first = iter([True])

        def meanwhile() -> None:
            if next(first, False):
                other.make()
                remote.give("one", ruling(life("a", 1)))

        with pytest.raises(TablesError, match="another program has written"):
            remote.make(meanwhile)
        assert_whole(remote.folder)
        remote.make()
        remote.exact()

    def test_one_that_begins_meanwhile_takes_nothing_away(self, remote: Making) -> None:
        """One that begins while another is at it and does not get far leaves the other's files alone."""
        remote.begin("one", END)

        def do(work: Work) -> Made:
            made = part_of_matches(work, remote.matches.entries)
            with Folder(remote.folder.address).writing():
                return made

        with suppress(TablesError):  # it may be told so
            of_store(remote.folder, remote.matches, do)
        if remote.folder.fs.exists(remote.folder.path(MANIFEST)):
            assert_whole(remote.folder)
        remote.make()
        remote.exact()
