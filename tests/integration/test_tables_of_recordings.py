"""Tables made of recordings: whatever they are given, how often and in which order, each match is in them once."""

import gzip
import json
import os
from collections.abc import Callable, Sequence
from itertools import count, permutations
from pathlib import Path
from random import Random

import pytest

import simulation.batches
from domain.entry import Entry
from projections.analytics.folder import MANIFEST, Folder, TablesError
from projections.analytics.making import Count
from replays.files import written
from simulation.runs import Run, play_match
from tests.exports import (
    END,
    END_BY_JUDGE,
    REOPEN,
    ahead,
    assert_exact_of,
    assert_same,
    assert_whole,
    columns,
    everything_in,
    is_killed,
    killed_at,
    listed,
    made_plainly,
    names,
    of_part,
    recorded,
    recording,
    rows_of,
    small_parts,
    taken_in,
)
from tests.kit import Json
from tests.recordings import DUEL, LIFE_CHANGED, Program, archive_of, duel, edited, file_of, in_process
from tests.recordings import lines as lines_of_commands
from tests.unit.rules.moves import life, releases, ruling


@pytest.fixture(autouse=True)
def _no_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls the plug here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A place for tables."""
    return Folder(str(tmp_path / "tables"))


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    return in_process(monkeypatch, capfd)


ONE, TWO = recorded("one", *releases(1, 2), END), recorded("two", *releases(0), END)
RUNS = recorded("runs", *releases(3))
"""Three matches, of which the last one runs."""


# ------------------------------------------------------------ what is there already


class TestArchives:
    """Files of any kind, one after the other."""

    def test_plain_and_compressed(self, tmp_path: Path, program: Program) -> None:
        """Whether they are compressed, and by whom, makes no difference."""
        content = archive_of(*map(recording, (ONE, TWO, RUNS)))
        with written(tmp_path / "a.jsonl.zst", replace=False) as file:
            file.write(content)
        (tmp_path / "b.jsonl").write_bytes(content)
        (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(content))
        for path in sorted(tmp_path.glob("*.jsonl*")):
            tables = tmp_path / f"tables of {path.name}"
            told = program("tables", path, "-o", tables, "--format", "json")
            assert json.loads(told.out) == {"tables": str(tables), "written": 2, "there": 0, "running": 1}
            assert_exact_of(Folder(str(tables)), ONE, TWO, RUNS)

    def test_the_same_one_twice(self, folder: Folder) -> None:
        """The second time nothing is written."""
        content = archive_of(*map(recording, (ONE, TWO, RUNS)))
        assert taken_in(folder, content) == Count(written=2, running=1)
        before = everything_in(Path(folder.root))
        assert taken_in(folder, content) == Count(there=3)
        assert everything_in(Path(folder.root)) == before
        assert_exact_of(folder, ONE, TWO, RUNS)

    @pytest.mark.parametrize("small", [1, 1_000], ids=["many parts", "one part"])
    def test_overlapping_ones(self, folder: Folder, small: int) -> None:
        """A match that several of them have is taken from one; in one call, and in the next."""
        three = recorded("three", END)
        with small_parts(small):
            first = taken_in(folder, *map(recording, (ONE, TWO, ONE)), run=ahead)
            second = taken_in(folder, archive_of(*map(recording, (TWO, three, ONE))), recording(three), run=ahead)
        assert (first, second) == (Count(written=2, there=1), Count(written=1, there=3))
        assert_exact_of(folder, ONE, TWO, three)

    def test_nothing_to_take_in(self, folder: Folder) -> None:
        """An archive without a match makes nothing wrong."""
        assert taken_in(folder, archive_of()) == Count()
        taken_in(folder, recording(ONE))
        assert taken_in(folder, archive_of()) == Count()
        assert_exact_of(folder, ONE)


# ------------------------------------------------------------ a match that has gone on

LONG = recorded("long", *releases(1, 2), END, REOPEN, *releases(3), END_BY_JUDGE, ruling(life("a", 1)))
"""Eight entries: it runs up to the third, ends in the fourth, runs again in the fifth, and ends in the seventh."""


class TestLongerRecords:
    """Of records of one match the longest counts."""

    @pytest.mark.parametrize(("lengths", "together"), [((3, 4, 5), False), ((4, 5, 8), False), ((4, 5, 8), True)])
    def test_in_any_order(self, tmp_path: Path, lengths: tuple[int, ...], *, together: bool) -> None:
        """Whether each of them runs or has ended, and whichever comes first; other matches stay as they are."""
        for order in permutations(lengths):
            folder = Folder(str(tmp_path / str(order)))
            taken_in(folder, recording(RUNS))
            files = [recording(LONG[:length]) for length in order]
            for some in [files] if together else [[file] for file in files]:
                taken_in(folder, *some, run=ahead)
                rows = assert_whole(folder)
            assert_same(rows, made_plainly([("runs", RUNS), ("long", LONG[: max(lengths)])]))
            assert (of_part(folder, "long") == "running") is (max(lengths) == 5)
        assert_exact_of(folder, RUNS, LONG[: max(lengths)])

    def test_shorter_one_changes_nothing(self, folder: Folder) -> None:
        """What is there stays, and the shorter one counts as being there."""
        taken_in(folder, recording(LONG), recording(RUNS))
        before = everything_in(Path(folder.root))
        assert taken_in(folder, recording(LONG[:4]), recording(RUNS[:1])) == Count(there=2)
        assert everything_in(Path(folder.root)) == before

    @pytest.mark.parametrize("seed", range(2))
    def test_random_times(self, folder: Folder, seed: int) -> None:
        """Records of several matches, of any length, in files and calls by chance, in parts of any size."""
        chance, longest = Random(seed), dict[str, Sequence[Entry]]()
        for _ in range(6):
            some = list[Sequence[Entry]]()
            for _ in range(chance.randrange(8)):
                name = f"match-{chance.randrange(5)}"
                record = recorded(name, *releases(*range(len(name) % 3)), END, REOPEN, *releases(1), END)
                some.append(record[: chance.randrange(1, len(record) + 1)])
                longest[name] = max(longest.get(name, []), some[-1], key=len)
            with small_parts(chance.choice([1, 5, 1_000])):
                taken_in(folder, *map(recording, some), run=ahead if chance.random() < 0.5 else map)
            if longest:
                assert_same(assert_whole(folder), made_plainly(longest.items()))
        assert_exact_of(folder, *longest.values())

    def test_killed_at_a_commit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Killed just before any of its commits, and called again with the same files, it makes the same rows."""
        files = [recording(match) for match in (TWO, LONG[:6], RUNS, recorded("three", END))]
        for commit in count(1):
            folder = Folder(str(tmp_path / str(commit)))
            taken_in(folder, *map(recording, (ONE, LONG[:4], RUNS[:1])))
            with monkeypatch.context() as patch, small_parts():
                patch.setattr(Folder, "commit", killed_at(commit))
                killed = is_killed(lambda: taken_in(folder, *files))  # noqa: B023 - called here
            assert_whole(folder)
            taken_in(folder, *files)
            if not killed:
                break
            assert_same(
                assert_whole(folder),
                made_plainly(
                    [("one", ONE), ("two", TWO), ("long", LONG[:6]), ("runs", RUNS), ("three", recorded("three", END))]
                ),
            )
        assert commit > 3
        assert_exact_of(folder, ONE, TWO, LONG[:6], RUNS, recorded("three", END))


# ------------------------------------------------------------ another match of the name


OTHERS: dict[str, list[Json]] = {
    "ended": [*releases(2, 2), END],
    "shorter": [END],
    "shorter, runs": [*releases(3)],
    "longer": [*releases(2, 2, 2, 2), END],
    "longer, runs": [*releases(2, 2, 2, 2, 2)],
}
"""Commands of matches that are none of the others, and go another way from their second entry on."""


class TestAnotherMatch:
    """A match that is not the one which the tables have under its name."""

    @pytest.mark.parametrize("other", OTHERS)
    @pytest.mark.parametrize("there", [[*releases(0, 1), END], [*releases(0, 1)]], ids=["ended", "runs"])
    def test_is_refused(self, folder: Folder, there: list[Json], other: str) -> None:
        """Whichever is longer, and whether they run: it is told by its name, and what is there stays."""
        first = recorded("duel", *there)
        taken_in(folder, recording(first))
        with pytest.raises(TablesError, match="has another match of the name duel: give these recordings a folder"):
            taken_in(folder, recording(recorded("duel", *OTHERS[other])))
        assert_exact_of(folder, first)

    @pytest.mark.parametrize("pair", ["ended-longer", "longer-ended", "runs-longer", "longer-runs", "runs-longer runs"])
    def test_is_refused_in_one_call(self, folder: Folder, pair: str) -> None:
        """At most one of the two is taken in, whole."""
        both = [recorded("duel", *TOGETHER[name]) for name in pair.split("-")]
        with pytest.raises(TablesError, match="has another match of the name duel"):
            taken_in(folder, *map(recording, both))
        if Path(folder.root, MANIFEST).exists():
            rows = assert_whole(folder)
            assert rows["events"] in [made_plainly([("duel", match)])["events"] for match in both]


TOGETHER: dict[str, list[Json]] = {
    "ended": [*releases(1), END],
    "longer": [*releases(2, 2), END],
    "runs": [*releases(3)],
    "longer runs": [*releases(0, 0, 0)],
}
"""Commands of matches that go other ways from the second entry on."""


# ------------------------------------------------------------ damaged, newer, forged


def test_folder_is_made_for_tables_only(tmp_path: Path, program: Program) -> None:
    """Where no table came of it, no folder is left; one that was there before stays."""
    (tmp_path / "no.txt").write_text("no replay file")
    (tmp_path / "there").mkdir()
    for folder in ("new", "there"):
        assert program("tables", tmp_path / "no.txt", "-o", tmp_path / folder).status == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["no.txt", "there"]


class TestDamagedFiles:
    """Files that are not as they were written: what is whole of them is taken in, and the rest is told."""

    @pytest.mark.parametrize(
        ("damage", "whole"),
        [
            (lambda content: content[: content.index(b'"match":"two"') + 300], 1),
            (lambda content: content.replace(b'"rank":0', b'"rank":1', 1), 2),
            (lambda content: content[:-5], 3),
            (lambda content: content + b"more\n", 3),
            (lambda _: b"no recording\n", 0),
            (lambda _: b"", 0),
        ],
        ids=["cut in a match", "a match was edited", "cut at its end", "longer", "something else", "empty"],
    )
    def test_what_is_whole_is_taken_in(
        self, tmp_path: Path, program: Program, damage: Callable[[bytes], bytes], whole: int
    ) -> None:
        """The exit status is 4, and the place is told; once the whole file is there, what was missing is added."""
        path, tables = tmp_path / "games.jsonl", tmp_path / "tables"
        content = archive_of(*map(recording, (ONE, TWO, RUNS)))
        path.write_bytes(damage(content))
        told = program("tables", path, "-o", tables)
        assert told.status == 4
        assert f"{path}: " in told.err
        found = {1: [ONE], 2: [ONE, RUNS], 3: [ONE, TWO, RUNS], 0: []}[whole]
        if found:
            assert_exact_of(Folder(str(tables)), *found)
        path.write_bytes(content)
        assert program("tables", path, "-o", tables).status == 0
        assert_exact_of(Folder(str(tables)), ONE, TWO, RUNS)

    @pytest.mark.parametrize("kind", ["gz", "zst"])
    def test_compressed_bytes_are_damaged(self, tmp_path: Path, program: Program, kind: str) -> None:
        """The same for files whose compressed bytes are cut; the files after them are taken in."""
        path, other = tmp_path / f"games.jsonl.{kind}", tmp_path / "other.jsonl"
        with written(path, replace=False) as file:
            file.write(archive_of(*map(recording, (ONE, TWO))))
        path.write_bytes(path.read_bytes()[:-40])
        other.write_bytes(recording(RUNS))
        told = program("tables", path, other, "-o", tmp_path / "tables")
        assert told.status == 4
        assert path.name in told.err
        assert "runs" in names(assert_whole(Folder(str(tmp_path / "tables"))))

    @pytest.mark.parametrize(
        "change",
        [
            lambda content: content.replace(b'"archive":1', b'"archive":2'),
            lambda content: content.replace(b'"replay":1', b'"replay":2'),
        ],
        ids=["archive", "match"],
    )
    def test_newer_formats(self, tmp_path: Path, program: Program, change: Callable[[bytes], bytes]) -> None:
        """A file of a format that is not known is no success: it is told, and nothing is taken in."""
        path, tables = tmp_path / "games.jsonl", tmp_path / "tables"
        path.write_bytes(change(archive_of(recording(ONE))))
        told = program("tables", path, "-o", tables)
        assert told.status in {3, 4}
        assert "games.jsonl" in told.err
        assert not (tables / "manifest.json").exists() or names(rows_of(Folder(str(tables)))) == []


class TestForgedRecords:
    """Records that were changed and sealed anew, so that no file shows it."""

    def forged(self) -> bytes:
        """The duel with another figure in it, whole and sealed."""

        def change(entry: Json) -> None:
            entry["events"][0]["delta"] -= 1

        return file_of("duel", edited(lines_of_commands(DUEL), LIFE_CHANGED, change))

    def test_the_true_one_is_there(self, folder: Folder) -> None:
        """A record that was signed anew with other content is another match."""
        taken_in(folder, duel())
        before = listed(folder)
        with pytest.raises(TablesError, match="has another match of the name duel"):
            taken_in(folder, self.forged())
        assert listed(folder) == before

    def test_it_comes_first(self, tmp_path: Path, program: Program) -> None:
        """Tables do not judge what they take in; `--verify` does, and names what its commands do not make."""
        path, tables = tmp_path / "duel.jsonl", tmp_path / "tables"
        path.write_bytes(self.forged())
        assert program("tables", path, "-o", tables).status == 0
        told = program("tables", "--verify", tables)
        assert told.status == 1
        assert "duel: its commands lead to another record" in told.err

    def test_by_newer_rules(self, tmp_path: Path, program: Program) -> None:
        """A match that was played by rules of which nothing is known is told of, and cannot be verified."""
        first, *rest = lines_of_commands(DUEL)
        path, tables = tmp_path / "duel.jsonl", tmp_path / "tables"
        path.write_bytes(file_of("duel", [*edited([first], 1, _by_rules(99)), *rest]))
        assert program("tables", path, "-o", tables).status == 0
        assert columns(assert_whole(Folder(str(tables))), "matches", "rules") == [(99,)]
        told = program("tables", "--verify", tables)
        assert told.status == 3
        assert "duel: " in told.err

    @pytest.mark.parametrize("what", ["missing", "twice", "no JSON", "no such event", "no such number"])
    def test_it_makes_no_sense(self, tmp_path: Path, program: Program, what: str) -> None:
        """What follows from nothing is told by its name, and leaves no trace; what was there stays."""
        entries = lines_of_commands(DUEL)
        changed = {
            "missing": entries[:3] + entries[4:],
            "twice": entries[:4] + entries[3:],
            "no JSON": [*entries[:4], b'{"command":{}', *entries[5:]],
            "no such event": [*entries[:4], entries[4].replace(b"soul_collected", b"soul_married"), *entries[5:]],
            "no such number": [*edited(entries[:1], 1, _by_rules(10**12)), *entries[1:]],
        }[what]
        path, tables = tmp_path / "duel.jsonl", tmp_path / "tables"
        path.write_bytes(recording(ONE))
        assert program("tables", path, "-o", tables).status == 0
        before = listed(Folder(str(tables)))
        path.write_bytes(file_of("duel", changed))
        told = program("tables", path, "-o", tables)
        assert told.status in {1, 3, 4}
        assert "duel" in told.err
        assert listed(Folder(str(tables))) == before
        assert_exact_of(Folder(str(tables)), ONE)


def _by_rules(rules: int) -> Callable[[Json], None]:
    def change(entry: Json) -> None:
        entry["events"][0]["rules"] = rules

    return change


# ------------------------------------------------------------ runs of the simulator


OPTIONS = ("--seed", "5", "--decks", "rift,reap", "--policies", "greedy", "--jobs", "1")
SIMULATED = Run(5, ("rift", "reap"), ("greedy", "greedy"))


class TestRuns:
    """Tables of matches as they are simulated."""

    @pytest.fixture(autouse=True)
    def _small_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(simulation.batches, "SIZE_OF_TABLES", 4)

    def simulated(self, program: Program, tables: Path, matches: int, *options: str) -> str:
        """Simulate into tables; what is told."""
        told = program("simulate", "--matches", matches, *OPTIONS, *options, "--tables", tables)
        assert told.status == 0, told.err
        return told.out

    def test_gone_on_with(self, tmp_path: Path, program: Program) -> None:
        """Whatever is there of a run, only what is missing is played, and a run of fewer matches plays nothing."""
        folder = Folder(str(tmp_path / "tables"))
        self.simulated(program, tmp_path / "tables", 6)
        before = listed(folder)
        assert "6 of them were there already" in self.simulated(program, tmp_path / "tables", 11)
        assert {path for path in before if "runs" not in path} <= listed(folder).keys()
        told = self.simulated(program, tmp_path / "tables", 3)
        assert told == f"{tmp_path / 'tables'}: 11 matches\nall of them were there already\n"
        rows = assert_whole(folder)
        matches = [play_match(SIMULATED, number, record=True).entries for number in range(1, 12)]
        named = {f"run-5-{number}": entries for number, entries in enumerate(matches, 1)}
        assert_same(rows, made_plainly(named.items()))
        assert columns(rows, "runs", "run", "seed", "decks", "policies") == [
            ("run-5", "5", ["rift", "reap"], ["greedy", "greedy"])
        ]
        assert sorted(part.name for part in folder.manifest().parts) == [
            "run-5-000000001-000000004",
            "run-5-000000005-000000006",
            "run-5-000000007-000000010",
            "run-5-000000011-000000011",
        ]
        assert program("tables", "--verify", folder.address).status == 0

    def test_killed_at_a_commit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
        """What was not committed is played again, and nothing else."""
        folder = Folder(str(tmp_path / "tables"))
        for commit, after in ((2, False), (1, True)):
            with monkeypatch.context() as patch:
                patch.setattr(Folder, "commit", killed_at(commit, after=after))
                assert is_killed(lambda: self.simulated(program, tmp_path / "tables", 10))
            assert_whole(folder)
        assert len(names(rows_of(folder))) == 8
        self.simulated(program, tmp_path / "tables", 10)
        self.simulated(program, tmp_path / "fresh", 10)
        assert_same(assert_whole(folder), rows_of(Folder(str(tmp_path / "fresh"))))

    def test_other_runs(self, tmp_path: Path, program: Program) -> None:
        """Another run of the same seed is refused; one of another seed has a place beside it, and so have archives."""
        tables, archive = tmp_path / "tables", tmp_path / "run.jsonl"
        self.simulated(program, tables, 2)
        before = listed(Folder(str(tables)))
        told = program("simulate", "--matches", 4, *OPTIONS, "--policies", "random", "--tables", tables)
        assert told.status == 2
        assert "has matches of another run of seed 5: take another" in told.err
        assert listed(Folder(str(tables))) == before
        self.simulated(program, tables, 2, "--seed", "6")
        assert program("simulate", "--matches", 3, *OPTIONS, "-o", archive).status == 0
        told = program("tables", archive, "-o", tables, "--format", "json")
        assert json.loads(told.out) == {"tables": str(tables), "written": 1, "there": 2, "running": 0}
        rows = assert_whole(Folder(str(tables)))
        assert names(rows) == ["run-5-1", "run-5-2", "run-5-3", "run-6-1", "run-6-2"]
        assert columns(rows, "runs", "run") == [("run-5",), ("run-6",)]
        assert program("tables", "--verify", tables).status == 0

    def test_tables_of_a_store(self, tmp_path: Path, program: Program) -> None:
        """They take in no simulation; nor do those of simulations take in a store."""
        store, tables = tmp_path / "store.db", tmp_path / "tables"
        assert program("simulate", "--matches", 2, *OPTIONS, "--store", store).status == 0
        assert program("tables", "--db", store, "-o", tables).status == 0
        before = listed(Folder(str(tables)))
        told = program("simulate", "--matches", 4, *OPTIONS, "--tables", tables)
        assert told.status == 2
        assert "was made of a store: give simulations a folder of their own" in told.err
        assert listed(Folder(str(tables))) == before
        self.simulated(program, tmp_path / "simulated", 2)
        told = program("tables", "--db", store, "-o", tmp_path / "simulated")
        assert told.status == 2
        assert "give a store a folder of its own" in told.err

    def test_somebody_else_is_at_it(self, tmp_path: Path, program: Program) -> None:
        """Then nothing is played."""
        with Folder(str(tmp_path / "tables")).writing():
            told = program("simulate", "--matches", 4, *OPTIONS, "--tables", tmp_path / "tables")
        assert told.status == 2
        assert "another program is writing" in told.err
