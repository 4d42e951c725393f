"""One suite for all kinds of store: in memory, in a file, on PostgreSQL."""

import json
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from eventsourcing.persistence import OperationalError, PersistenceError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import domain.application
from domain import Refusal, State, decode_command, play
from domain.application import EntryNotFoundError, Matches, MatchNotFoundError
from domain.batch import Answer, Outcome
from domain.check import Check
from domain.codec import Codec, CorruptRecordError
from domain.entry import Entry
from soulrift import store, upkeep
from tests.writers import release, sql, start

GOLDEN = Path(__file__).parents[1] / "golden" / "matches.jsonl"
SCRIPTS: list[list[str]] = [
    [json.dumps(command) for command in json.loads(line)["script"]] for line in GOLDEN.read_text("utf-8").splitlines()
]

SEATS = [{"player": "ada", "name": "Ada"}, {"player": "bo"}]

BATTLE = [
    '{"type": "enter", "card": "k1", "controller": "ada", "name": "Owl", "definition": "o-1"}',
    '{"type": "enter", "card": "k2", "controller": "bo"}',
    '{"type": "destroy", "cards": ["k2"], "cause": "combat"}',
    release(),
    '{"type": "enter", "card": "k3", "controller": "bo", "name": "Fox"}',
    '{"type": "reap", "souls": [1], "card": "k3"}',
    '{"type": "ruling", "judge": "Mo", "reason": "x", "corrections": [{"life": {"player": "ada", "delta": 2}}]}',
    '{"type": "pay", "player": "ada", "amount": 1, "souls": [2], "effect": "Flame"}',
]
"""Nine events: cards with a Soul and without, one that is gone, and an open payment."""

EDITS_OF_SNAPSHOTS = [  # none first
    (b"", b""),
    (b'"entries":9', b'"entries":10'),
    (b'"events":10', b'"events":9'),
    (b'"events":10', b'"events":11'),
    (b'"match":"duel"', b'"match":"dual"'),
    (b'"ada":"Ada"', b'"ada":"Eve"'),
    (b'"ada":"Ada",', b""),
    (b'"name":"Owl"', b'"name":"Elk"'),
    (b'"definition":"o-1"', b'"definition":null'),
    (b'"k3":{"definition"', b'"k4":{"definition"'),
    (b'"k1":{"card"', b'"k0":{"card"'),
    (b'"bo":{"defeated"', b'"bob":{"defeated"'),
    (b'"holders":{"1":"k3"}', b'"holders":{"1":"k1"}'),
    (b'"holders":{"1":"k3"}', b'"holders":{}'),
    (b'"payments":{"1":', b'"payments":{"2":'),
    (b'{"match":', b'{"private":true,"match":'),
]

PAY = '{"type": "pay", "player": "ada", "amount": 9, "souls": [1], "effect": "x"}'
"""A command that is refused: there is no Soul of power 9."""


@pytest.fixture
def matches(any_store: str) -> Iterator[Matches]:
    with store.create(any_store) as opened:
        yield opened


def tables(matches: Matches) -> list[list[tuple[Any, ...]]]:
    """All that is stored of matches."""
    return [
        matches.recorder.query(
            "SELECT originator_id, originator_version, topic, state FROM stored_events ORDER BY 1, 2"
        ),
        matches.recorder.query(
            "SELECT originator_id, originator_version, topic, state FROM stored_snapshots ORDER BY 1, 2"
        ),
        matches.recorder.query(
            "SELECT originator_id, command_id, originator_version FROM command_ids ORDER BY originator_version"
        ),
    ]


def believed(matches: Matches) -> bool:
    """Whether the duel's snapshot is."""
    return matches.snapshots is not None and bool(list(matches.snapshots.get("duel")))


def seen(outcome: Outcome | Entry) -> object:
    """An outcome, to be compared."""
    return outcome.view() if isinstance(outcome, Refusal) else getattr(outcome, "entry", outcome)


def straight(script: list[str]) -> tuple[list[object], list[Entry]]:
    """What comes of a script, command by command and without any store; and its entries."""
    state, outcomes, entries = State(), list[object](), list[Entry]()
    for line in script:
        try:
            entries.append(play(state, decode_command(line)))
            outcomes.append(entries[-1])
        except Refusal as refusal:
            outcomes.append(refusal.view())
    return outcomes, entries


def numbers(outcomes: list[Outcome]) -> list[int | str]:
    """The entries that were made, and where it was refused."""
    return [outcome.path or "" if isinstance(outcome, Refusal) else outcome.entry.number for outcome in outcomes]


class TestGive:
    """One command, one transaction."""

    def test_record_is_that_of_straight_play(self, matches: Matches) -> None:
        """Answers, lines, hashes and rows are byte for byte those of play without a store."""
        expected = list[tuple[Any, ...]]()
        for script in SCRIPTS[:3]:
            name = json.loads(script[0])["match"]
            outcomes, entries = straight(script)
            given = [seen(matches.start(script[0]))]
            for line in script[1:]:
                try:
                    given.append(seen(matches.give(name, line)))
                except Refusal as refusal:
                    given.append(seen(refusal))
            assert given == outcomes
            assert list(matches.entries(name)) == entries
            expected += [(name, *row) for entry in entries for row in Codec().rows(entry)]
        assert tables(matches) == [expected, [], []]

    def test_refused_command_changes_nothing(self, matches: Matches) -> None:
        """A refused command leaves every table and the state as they were, whatever it is refused for."""
        matches.start(start())
        matches.give("duel", release(3, id="a"))
        before, state = tables(matches), matches.state("duel")
        for refused in (PAY, "{", "[]", release(4), release(2, id="a"), release(0, expect=1), start()):
            with pytest.raises(Refusal):
                matches.give("duel", refused)
        with pytest.raises(Refusal):
            matches.start(start())
        assert (tables(matches), matches.state("duel")) == (before, state)

    def test_unknown_match(self, matches: Matches) -> None:
        """What is asked of a match that is not there is told so, and leaves nothing behind."""
        for ask in (
            lambda: matches.give("duel", release()),
            lambda: matches.give_all("duel", [release()]),
            lambda: matches.state("duel"),
            lambda: matches.entries("duel"),
        ):
            with pytest.raises(MatchNotFoundError, match="duel"):
                ask()
        assert tables(matches) == [[], [], []]

    def test_unnamed_matches(self, matches: Matches) -> None:
        """A match without a name gets one that is free, and keeps it for a retry."""
        named = [matches.start(start(None)).match for _ in range(3)]
        assert named == ["match", "match-2", "match-3"]
        assert matches.start(start(None, meta={"id": "s"}), "duel").match == "duel"
        again = matches.start(start(None, meta={"id": "s"}), "duel")
        assert (again.match, again.repeated) == ("duel", True)

    def test_names_in_any_script(self, matches: Matches) -> None:
        """Names that differ in a quote, a sign of SQL, an accent, a case or a script are different matches."""
        names = [
            "duel",
            "Duel",
            'du"el',
            "du'el",
            "duel%s",
            "duel?",
            "duel\\",
            "決闘",
            "duel🜂",
            "due\u0301l",
            "du\u00e9l",
        ]
        for count, name in enumerate(names):
            matches.start(start(name))
            matches.give_all(name, [release(id=f"{name}{n}") for n in range(count)])
        assert [matches.state(name).entries for name in names] == [count + 1 for count in range(len(names))]
        assert not list(Check(matches.recorder).faults())

    def test_retry(self, durable_store: str) -> None:
        """A `meta.id` is known after the store was opened anew, and other content with it is refused."""
        with store.create(durable_store) as matches:
            matches.start(start(meta={"id": "s"}))
            first = matches.give("duel", release(2, id="a"))
            matches.give("duel", release())
        with store.open_to_write(durable_store) as matches:
            assert matches.start(start(meta={"id": "s"})).repeated
            again = matches.give("duel", release(2, id="a", actor="another"))
            assert (again.repeated, again.entry) == (True, first.entry)
            with pytest.raises(Refusal) as refused:
                matches.give("duel", release(1, id="a"))
            assert (refused.value.path, refused.value.details) == ("/meta/id", {"entry": 2})
            assert matches.state("duel").entries == 3


class TestGiveAll:
    """Several commands, one transaction."""

    @pytest.mark.parametrize("size", [1, 7, 1000])
    def test_batches_make_the_record_of_one_by_one(self, matches: Matches, size: int) -> None:
        """However the commands are batched, past every refusal: outcomes, lines and rows are those of straight play."""
        script = SCRIPTS[1]
        outcomes, entries = straight(script)
        given: list[Outcome] = [matches.start(script[0])]
        for at in range(1, len(script), size):
            given += matches.give_all("vector-2", script[at : at + size], keep_going=True)
        assert [seen(outcome) for outcome in given] == outcomes
        assert list(matches.entries("vector-2")) == entries
        assert tables(matches)[0] == [("vector-2", *row) for entry in entries for row in Codec().rows(entry)]

    def test_ends_at_the_first_refusal(self, matches: Matches) -> None:
        """What comes before the refusal is stored, what comes after it is not even judged."""
        matches.start(start())
        outcomes = matches.give_all("duel", [release(1), release(2), PAY, release(3)])
        assert [type(outcome) for outcome in outcomes] == [Answer, Answer, Refusal]
        assert matches.state("duel").entries == 3

    def test_keeps_going_past_refusals(self, matches: Matches) -> None:
        """A refused command, ill-formed or against the rules, changes nothing for the ones after it."""
        matches.start(start())
        outcomes = matches.give_all("duel", [release(1), PAY, "{", release(9), release(2)], keep_going=True)
        assert [type(outcome) for outcome in outcomes] == [Answer, Refusal, Refusal, Refusal, Answer]
        _, entries = straight([start(), release(1), release(2)])
        assert list(matches.entries("duel")) == entries
        assert [soul.rank for soul in matches.state("duel").aether.values()] == [1, 2]

    def test_nothing_but_refusals_and_nothing_at_all(self, matches: Matches) -> None:
        """A batch that appends nothing leaves the store as it was."""
        matches.start(start())
        before = tables(matches)
        outcomes = matches.give_all("duel", ["{", release(9)], keep_going=True)
        assert [type(outcome) for outcome in outcomes] == [Refusal, Refusal]
        assert matches.give_all("duel", []) == []
        assert tables(matches) == before

    def test_same_id_twice_in_a_batch_has_one_effect(self, matches: Matches) -> None:
        """A retry within a batch, and in the next one, gets the first answer."""
        matches.start(start())
        for repeated in (False, True):
            first, other, again = matches.give_all("duel", [release(2, id="a"), release(1, id="b"), release(2, id="a")])
            assert isinstance(first, Answer)
            assert isinstance(other, Answer)
            assert isinstance(again, Answer)
            assert (first.repeated, other.repeated, again.repeated) == (repeated, repeated, True)
            assert first.entry == again.entry
            assert (first.entry.number, other.entry.number) == (2, 3)
        assert matches.state("duel").entries == 3
        assert tables(matches)[2] == [("duel", "a", 2), ("duel", "b", 3)]

    def test_same_id_with_other_content_in_a_batch_is_refused(self, matches: Matches) -> None:
        """An id cannot stand for two commands of one batch either."""
        matches.start(start())
        outcomes = matches.give_all("duel", [release(2, id="a"), release(1, id="a"), release(3)], keep_going=True)
        assert numbers(outcomes) == [2, "/meta/id", 3]
        refusal = outcomes[1]
        assert isinstance(refusal, Refusal)
        assert refusal.details == {"entry": 2}

    def test_id_of_a_refused_command_is_free_in_the_same_batch(self, matches: Matches) -> None:
        """What was refused under an id may be given under it again, and then is judged anew."""
        matches.start(start())
        pay = json.dumps(
            {"type": "pay", "player": "ada", "amount": 1, "souls": [1], "effect": "x", "meta": {"id": "p"}}
        )
        outcomes = matches.give_all("duel", [pay, release(), pay, pay], keep_going=True)
        assert [isinstance(outcome, Answer) and outcome.repeated for outcome in outcomes] == [False, False, False, True]
        assert numbers(outcomes[1:]) == [2, 3, 3]

    def test_expect_counts_the_entries_of_the_batch(self, matches: Matches) -> None:
        """`meta.expect` is about the match as the commands before it in the batch left it."""
        matches.start(start())
        given = [release(expect=1), release(expect=2), release(expect=2), release(expect=3)]
        assert numbers(matches.give_all("duel", given, keep_going=True)) == [2, 3, "/meta/expect", 4]
        assert numbers(matches.give_all("duel", [release(expect=1), release()])) == ["/meta/expect"]
        assert matches.state("duel").entries == 4

    def test_all_or_none(self, any_store: str) -> None:
        """When the disk is full in the middle of a batch, none of it is stored; when there is room, all of it is."""
        batch = [release(n % 4, id=f"{n}") for n in range(200)]
        with store.create(any_store) as matches:
            matches.start(start())
            before, state = tables(matches), matches.state("duel")
            with full_disk(matches, any_store), pytest.raises(OperationalError, match=r"full|disk I/O error"):
                matches.give_all("duel", batch)
            assert (tables(matches), matches.state("duel")) == (before, state)
            assert numbers(matches.give_all("duel", batch)) == list(range(2, 202))
            assert not list(Check(matches.recorder).faults())


@contextmanager
def full_disk(matches: Matches, name: str) -> Iterator[None]:
    """A store with room for some events, but not for a hundred."""
    if store.is_postgres(name):
        sql(name, FULL_DISK)
        yield
        sql(name, "DROP TRIGGER full_disk ON stored_events")
    elif name == ":memory:":
        ((pages,),) = matches.recorder.query("PRAGMA page_count")
        matches.recorder.query(f"PRAGMA max_page_count={pages + 2}")
        yield
        matches.recorder.query("PRAGMA max_page_count=1000000")
    else:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (Path(f"{name}-wal").stat().st_size + 10_000, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


FULL_DISK = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'disk full' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON stored_events FOR EACH ROW
    WHEN (NEW.originator_version = 100) EXECUTE FUNCTION full_disk();
"""


class TestLogged:
    """The entries of all matches, as they were committed."""

    @pytest.mark.parametrize("limit", [1, 3, 1_000])
    def test_whole_entries_in_order(self, matches: Matches, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
        """However few rows are read at a time, each entry is told whole, with the position of its last row."""
        monkeypatch.setattr(domain.application, "BATCH", limit)
        assert list(matches.logged()) == []
        given = [matches.start(start(name)) for name in ("duel", "other")]
        for name in ("other", "other", "duel"):
            given.append(matches.give(name, release(1)))
            enter = {"type": "enter", "card": f"x{len(given)}", "controller": "ada"}
            given.append(matches.give(name, json.dumps(enter)))
        given.append(matches.give("other", '{"type": "destroy", "cards": ["x3", "x5"]}'))
        told = list(matches.logged())
        assert [(each.match, each.entry) for each in told] == [(answer.match, answer.entry) for answer in given]
        rows = [len(answer.entry.events) for answer in given]
        assert rows == [1] * 8 + [4]
        assert [each.position - told[0].position for each in told] == [*range(8), 11]
        for place, each in enumerate(told, 1):
            assert list(matches.logged(each.position)) == told[place:]
        with pytest.raises(CorruptRecordError, match="first row is missing"):
            list(matches.logged(told[-1].position - 1))


class TestSnapshots:
    """They make a rebuild short, and change nothing else."""

    def test_state_at_every_entry(self, matches: Matches) -> None:
        """`state(at=N)` is the state after N entries of straight play, on either side of a snapshot and on it."""
        script = long_script()
        self._play(matches, script)
        assert [row[:3] for row in tables(matches)[1]] == [("long", 521, "snapshot.v1")]
        for at, state in straight_states(script, {1, 2, 499, 500, 520, 521, 522, 530}).items():
            assert matches.state("long", at) == state
        assert matches.state("long") == matches.state("long", 530)
        for at in (0, -1, 531):
            with pytest.raises(EntryNotFoundError):
                matches.state("long", at)

    def test_reopened_match_is_the_one_that_was_played(self, durable_store: str) -> None:
        """After more than 500 events a match that is opened again is what all its events add up to, and plays on so."""
        script = long_script()
        with store.create(durable_store) as matches:
            self._play(matches, script)
            assert len(tables(matches)[1]) == 1
        states = straight_states([*script, release(3)], {530, 531})
        with store.open_to_write(durable_store) as matches:
            assert matches.state("long") == states[530]
            assert matches.give("long", release(3)).entry.number == 531
            assert matches.state("long") == states[531]
            assert not list(Check(matches.recorder).faults())

    def test_snapshot_that_does_not_agree_with_the_record_is_not_believed(
        self, durable_store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing of an edited snapshot gets into the record, whether the state hash holds it or not."""
        monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 8)
        with store.create(durable_store) as matches:
            matches.start(json.dumps({**json.loads(start()), "players": SEATS}))
            matches.give_all("duel", BATTLE)
            right = matches.state("duel")
            ((_, _, _, stored),) = tables(matches)[1]
            assert believed(matches)
        for old, new in EDITS_OF_SNAPSHOTS:
            edited = bytes(stored).replace(old, new)
            value = f"'\\x{edited.hex()}'" if store.is_postgres(durable_store) else f"x'{edited.hex()}'"
            number = json.loads(edited)["events"]
            sql(durable_store, f"UPDATE stored_snapshots SET state={value}, originator_version={number}")
            with store.open_to_read(durable_store) as matches:
                assert believed(matches) == (old == new)
                assert matches.state("duel") == right, (old, new)

    def _play(self, matches: Matches, script: list[str]) -> None:
        matches.start(script[0])
        for at in range(1, 521, 130):
            matches.give_all("long", script[at : at + 130])
        for line in script[521:]:
            matches.give("long", line)


def long_script() -> list[str]:
    """530 commands that make one event each."""
    return [start("long"), *(release(n % 4) for n in range(529))]


def straight_states(script: list[str], after: set[int]) -> dict[int, State]:
    """The states of straight play after these entries."""
    state, states = State(), dict[int, State]()
    for number, line in enumerate(script, 1):
        play(state, decode_command(line))
        if number in after:
            states[number] = state.copy()
    return states


class TestFormat:
    """A store says which format it has; another one is not touched."""

    OPENERS = (store.open_to_read, store.open_to_write, store.create)

    @pytest.mark.parametrize(
        ("edit", "told"),
        [
            ("UPDATE store_format SET format = 2", "it has format 2, this Soulrift knows formats up to 1; use a newer"),
            ("DELETE FROM store_format", "its table store_format does not hold one number"),
            ("INSERT INTO store_format VALUES (7)", "its table store_format does not hold one number"),
            ("UPDATE store_format SET format = 0", "its table store_format does not hold one number"),
            ("DROP TABLE store_format", "no table store_format|another program's table"),
            ("DROP TABLE command_ids", "no table command_ids|another program's table"),
            ("DROP TABLE stored_snapshots", "no table stored_snapshots|another program's table"),
        ],
    )
    def test_other_format_is_refused(self, durable_store: str, edit: str, told: str) -> None:
        """A store of a newer format, or whose format cannot be told, is not opened: to read, to write or anew."""
        with store.create(durable_store) as matches:
            matches.start(start())
        sql(durable_store, edit)
        for opener in self.OPENERS:
            with pytest.raises(click.UsageError, match=told):
                opener(durable_store)
        assert len(sql(durable_store, "SELECT * FROM stored_events")) == 1

    def test_no_store(self, postgres_store: str, tmp_path: Path) -> None:
        """Where there is none, reading makes none; on PostgreSQL writing does not either, and `init` is named."""
        with pytest.raises(click.UsageError, match="there is no store"):
            store.open_to_read(str(tmp_path / "none.db"))
        assert not list(tmp_path.iterdir())
        for opener in (store.open_to_read, store.open_to_write):
            with pytest.raises(click.UsageError, match="`soulrift init` makes them"):
                opener(postgres_store)


class TestInit:
    """`soulrift init`."""

    def test_twice_is_as_good_as_once(self, durable_store: str, capsys: pytest.CaptureFixture[str]) -> None:
        """It says the same each time, and leaves what is there as it is."""
        upkeep.init(durable_store)
        first = capsys.readouterr().out
        schema = store.is_postgres(durable_store) and sql(durable_store, "SELECT current_schema()")[0][0]
        assert ("is a store of format 1" + (f", in the schema {schema}" if schema else "") + "\n") in first
        with store.open_to_write(durable_store) as matches:
            matches.start(start())
            matches.give("duel", release(1, id="a"))
            before = tables(matches)
        upkeep.init(durable_store)
        assert capsys.readouterr().out == first
        with store.open_to_read(durable_store) as matches:
            assert tables(matches) == before

    def test_store_in_memory_cannot_be_made(self) -> None:
        """It would be gone at once, and that is said."""
        with pytest.raises(click.UsageError, match="lasts as long as its program"):
            upkeep.init(":memory:")


def read_all(matches: Matches) -> None:
    """Everything that can be asked."""
    assert matches.state("long").entries == 530
    assert matches.state("long", 525).entries == 525
    assert len(list(matches.entries("long"))) == 530
    assert matches.has("long")
    assert not list(Check(matches.recorder).faults())
    assert len(matches.recorder.select_notifications(start=None, limit=1000)) == 530


class TestReading:
    """A store that is opened to read is not written."""

    def test_on_postgres(self, postgres_store: str) -> None:
        """All that readers ask is answered to a session that may not write."""
        script = long_script()
        with store.create(postgres_store) as matches:
            matches.start(script[0])
            matches.give_all("long", script[1:])
        options = f"{conninfo_to_dict(postgres_store)['options']} -c default_transaction_read_only=on"
        with store.open_to_read(make_conninfo(postgres_store, options=options)) as matches:
            read_all(matches)
            with pytest.raises(PersistenceError, match="read-only"):
                matches.give("long", release())

    @pytest.mark.parametrize("writer", ["has it open", "was killed", "is gone"])
    def test_in_a_file(self, tmp_path: Path, writer: str) -> None:
        """Neither the file nor its write-ahead log changes, whoever has it open, or left it as it is."""
        (tmp_path / "a").mkdir()
        original = tmp_path / "a" / "store.db"
        script = long_script()
        with store.create(str(original)) as matches:
            matches.start(script[0])
            matches.give_all("long", script[1:])
            folder = original.parent
            if writer == "has it open":
                self._read(folder)
            if writer == "was killed":
                folder = tmp_path / "b"
                shutil.copytree(original.parent, folder, ignore=shutil.ignore_patterns("*-shm"))
                assert (folder / "store.db-wal").stat().st_size
        if writer != "has it open":
            self._read(folder)

    def _read(self, folder: Path) -> None:
        before = contents(folder)
        assert "store.db" in before
        with store.open_to_read(str(folder / "store.db")) as matches:
            read_all(matches)
        assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    """What all files hold, but for the index of the log, which readers share, and those that hold nothing."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
    return {name: content for name, content in files.items() if content}
