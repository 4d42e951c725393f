"""A store is checked after someone has edited it with the database's own tools, on SQLite and on PostgreSQL."""

import json
import os
import re
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

import domain.application
from domain import State, decode_command, fold, line_of, play, state_hash
from domain.application import Matches
from domain.check import Check, Fault
from domain.codec import HEAD, Codec
from domain.privacy import opening
from domain.rules.events import AnyEvent
from domain.schema import KEYS
from soulrift import store as stores
from tests.postgres import fresh_schema

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.jsonl"))

SEATS = [{"player": "ada", "name": "Ada"}, {"player": "bo", "name": "Bo Ångström"}]

DUEL: list[dict[str, Any]] = [
    {"type": "start_match", "match": "duel", "players": SEATS, "meta": {"id": "c-1"}},
    {"type": "begin_turn", "player": "ada"},
    {"type": "enter", "card": "k1", "controller": "ada"},
    {"type": "enter", "card": "k2", "controller": "bo", "rank": 2},
    {"type": "destroy", "cards": ["k1", "k2"], "cause": "combat"},  # two creatures fall and give a Soul each
    {"type": "release", "rank": 1, "cause": "Whisper", "meta": {"id": "c-6", "at": "2026-05-09T11:00:12Z"}},
    {"type": "pay", "player": "bo", "amount": 3, "souls": [2], "effect": "Flame"},
    {"type": "resolve", "payment": 1, "meta": {"id": "c-8"}},
    {"type": "open_rift", "player": "ada", "rank": 2, "souls": [3]},  # takes the Event, pays, opens
    {"type": "summon", "player": "ada", "card": "k3", "rank": 1},
    {"type": "close_rift", "player": "ada"},  # one power is not used, and burns
    {
        "type": "ruling",
        "judge": "Mo",
        "reason": "she meant another",
        "about": 9,
        "corrections": [{"life": {"player": "ada", "delta": 2}}, {"new_soul": {"rank": 0, "to": {"card": "k3"}}}],
        "meta": {"id": "c-12"},
    },
    {"type": "leave", "card": "k3", "to": "hand"},  # its Soul returns
    {
        "type": "change_life",
        "changes": [{"player": "ada", "delta": -2}, {"player": "bo", "delta": 1}],
        "reason": "combat",
    },
    {"type": "concede", "player": "bo"},  # defeated, and the match ends
]

FIRST_ROWS = [1, 2, 3, 4, 5, 9, 10, 11, 12, 15, 16, 18, 19, 21, 23]
"""Where the entries of the duel begin."""

LAST_ROW = 24
ROWS = range(1, LAST_ROW + 1)

SNAPSHOTS = [8, 10, 15, 20]
"""With one at the first entry that passes another five events."""

OTHER = {"type": "start_match", "match": "other", "players": SEATS}

EVENTS = "UPDATE stored_events SET {} WHERE originator_id='duel' AND originator_version="
VALUES = "originator_id, originator_version, topic, state"


def entry_of(row: int) -> int:
    return bisect_right(FIRST_ROWS, row)


class Place:
    """A store with the duel and another match, open to be checked, and to SQL that Soulrift knows nothing of."""

    def __init__(self, store: str) -> None:
        with stores.create(store) as matches, pytest.MonkeyPatch.context() as patch:
            patch.setattr(domain.application, "SNAPSHOT_INTERVAL", 5)
            matches.start(json.dumps(DUEL[0]))
            for command in DUEL[1:]:
                matches.give("duel", json.dumps(command))
            matches.start(json.dumps(OTHER))
        self.is_postgres = stores.is_postgres(store)
        self.position = "notification_id" if self.is_postgres else "rowid"
        self.matches = stores.open_to_read(store)
        self._connection: Any
        if self.is_postgres:
            self._connection = psycopg.connect(store, autocommit=True)
            self.sql("SET synchronous_commit=off")
        else:
            self._connection = sqlite3.connect(store, isolation_level=None)
            self.sql("PRAGMA synchronous=OFF")
        self._tables = {
            "stored_events": f"{self.position}, {VALUES}",
            "stored_snapshots": VALUES,
            "command_ids": "originator_id, command_id, originator_version",
            "openings": "originator_id, commitment, salt, value",
            "incomplete_imports": "originator_id, root",
            "store_identity": "identity",
        }
        for table, columns in self._tables.items():
            self.sql(f"CREATE TEMP TABLE kept_{table} AS SELECT {columns} FROM {table}")
        rows = self.sql(f"SELECT {VALUES} FROM kept_stored_events WHERE originator_id='duel' ORDER BY 2")
        self.rows: list[tuple[int, str, bytes]] = [(row[1], row[2], bytes(row[3])) for row in rows]

    def sql(self, statement: str, *parameters: Any) -> Any:
        """Run a statement with `?` for its parameters; its rows."""
        marked = statement.replace("?", "%s") if self.is_postgres else statement
        done = self._connection.execute(marked, parameters) if parameters else self._connection.execute(marked)
        return done.fetchall() if statement.startswith("SELECT") else done.rowcount

    def restore(self) -> None:
        """Put everything back as it was written."""
        self.sql("BEGIN")
        for table, columns in self._tables.items():
            self.sql(f"DELETE FROM {table}")
            self.sql(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM kept_{table}")
        self.sql("COMMIT")

    def write(self, rows: list[tuple[int, str, bytes]]) -> None:
        """Other rows for the duel, in the positions that it has."""
        for version, topic, state in rows:
            assert self.sql(EVENTS.format("topic=?, state=?") + "?", topic, state, version) == 1

    def faults(self) -> list[Fault]:
        """What a check finds."""
        return list(Check(self.matches.recorder).faults())

    def close(self) -> None:
        """Leave it."""
        self.matches.close()
        self._connection.close()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if request.param == "sqlite":
        place = Place(str(tmp_path_factory.mktemp("check") / "store.db"))
        yield place
        place.close()
        return
    with fresh_schema(request.getfixturevalue("postgres_url"), f"soulrift_check_{os.getpid()}") as store:
        place = Place(store)
        yield place
        place.close()


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Place]:
    place = Place(str(tmp_path / "store.db"))
    yield place
    place.close()


@pytest.fixture
def place(written: Place) -> Iterator[Place]:
    yield written
    written.restore()


def names(fault: Fault, row: int, *, gap: bool = False) -> bool:
    """Whether a fault names this row of the duel, or its entry, or the row after a gap."""
    return fault.match == "duel" and (
        fault.entry == entry_of(row) or fault.row == row or (gap and fault.row == row + 1)
    )


def kinds(faults: list[Fault]) -> set[str]:
    return {fault.kind for fault in faults}


def with_head(state: bytes, **changed: Any) -> bytes:
    """The first row of an entry with other values in its head."""
    head = json.loads(state)["@entry"] | changed
    raw = msgspec.json.decode(state, type=dict[str, msgspec.Raw])["@entry"]
    return HEAD + msgspec.json.encode(head) + state[len(HEAD) + len(bytes(raw)) :]


# ------------------------------------------------------------ sound stores


def long_match(match: str, *, ids: bool) -> list[str]:
    """One beginning and two hundred times three commands with one event each: 601 events."""
    commands: list[dict[str, Any]] = [{"type": "start_match", "match": match, "players": SEATS}]
    for number in range(1, 201):
        commands += [
            {"type": "release", "cause": "Whisper"},
            {"type": "pay", "player": "bo", "amount": 1, "souls": [number], "effect": "Flame"},
            {"type": "resolve", "payment": number},
        ]
    if ids:
        commands = [{**command, "meta": {"id": f"{match}-{number}"}} for number, command in enumerate(commands)]
    return [json.dumps(command) for command in commands]


def examples() -> list[list[str]]:
    return [[line for line in path.read_text().splitlines() if line and not line.startswith("#")] for path in EXAMPLES]


def test_store_that_was_played_is_sound(durable_store: str) -> None:
    """All examples, rulings among them, and matches with snapshots and ids: no fault, and everything is counted."""
    scripts = [*examples(), long_match("long", ids=False), long_match("long-with-ids", ids=True)]
    events = 0
    with stores.create(durable_store) as matches:
        for script in scripts:
            match = matches.start(script[0]).match
            matches.give_all(match, script[1:])
            state = State()
            events += sum(len(play(state, decode_command(line)).events) for line in script)
    assert any('"ruling"' in line for script in scripts for line in script)
    read = 0

    def advance(rows: int) -> None:
        nonlocal read
        read += rows

    with stores.open_to_read(durable_store) as matches:
        check = Check(matches.recorder, advance)
        assert list(check.faults()) == []
        assert check.total == events
    assert check.matches == len(EXAMPLES) + 2
    assert check.entries == sum(map(len, scripts))
    assert (check.rows, read) == (events, events)
    assert check.snapshots == 2


def test_what_is_edited_below_is_sound_before(place: Place) -> None:
    """The store of these tests has no fault, and the rows and snapshots that are counted on."""
    check = Check(place.matches.recorder)
    assert list(check.faults()) == []
    assert (check.matches, check.entries, check.rows, check.snapshots) == (2, 16, 25, 4)
    assert [row for row, _, _ in place.rows] == list(ROWS)
    assert [row for row, _, state in place.rows if state.startswith(HEAD)] == FIRST_ROWS
    assert [row for (row,) in place.sql("SELECT originator_version FROM stored_snapshots ORDER BY 1")] == SNAPSHOTS


# ------------------------------------------------------------ one column of one row

Edit = Callable[[int, str, bytes], Any]
"""From the number, topic and state of a row to the edited value; to the state itself, or null, for nothing to edit."""

NULL = ("NULL",)


def number_raised(_row: int, _topic: str, state: bytes) -> bytes:
    """The event's own number, one higher."""
    return re.sub(rb'"n":(\d+)', lambda found: b'"n":%d' % (int(found[1]) + 1), state)


def life_changed(_row: int, _topic: str, state: bytes) -> bytes:
    return re.sub(rb'"(life|starting_life)":\d+', rb'"\1":99', state)


def rank_changed(_row: int, _topic: str, state: bytes) -> bytes:
    """Every rank but those of the head."""
    cut = state.index(b'"state_hash"') if state.startswith(HEAD) else 0
    return state[:cut] + re.sub(rb'"rank":(\d|null)', b'"rank":7', state[cut:])


def word_changed(_row: int, _topic: str, state: bytes) -> bytes:
    return re.sub(rb'"(card|cards|cause|player|reason|effect|judge)":(\[?)"', rb'"\1":\2"x', state, count=1)


def type_first(_row: int, _topic: str, state: bytes) -> bytes:
    """The key `type` before the others of the event."""
    raw = msgspec.json.decode(state, type=dict[str, msgspec.Raw])
    cut = len(HEAD) + len(bytes(raw["@entry"])) + 1 if state.startswith(HEAD) else 1
    event, kind = state[cut:-1].rsplit(b",", 1)
    return state[:cut] + kind + b"," + event + b"}"


def actor_added(_row: int, _topic: str, state: bytes) -> bytes:
    """The command by somebody else: that decides nothing, and no event tells of it."""
    if not state.startswith(HEAD):
        return state
    command = json.loads(state)["@entry"]["command"]
    return with_head(state, command={**command, "meta": {**command.get("meta", {}), "actor": "Eve"}})


def in_head(**changed: Any) -> Edit:
    return lambda _row, _topic, state: with_head(state, **changed) if state.startswith(HEAD) else state


EDITS: dict[str, tuple[str, Edit]] = {
    "renamed to a name that is new": ("originator_id", lambda *_: "new"),
    "renamed to another match": ("originator_id", lambda row, *_: "other" if row > 1 else None),
    "far up": ("originator_version", lambda *_: 1_000),
    "number zero": ("originator_version", lambda *_: 0),
    "another type": ("topic", lambda _, topic, __: "soul_lost.v1" if topic != "soul_lost.v1" else "rift_opened.v1"),
    "a newer version": ("topic", lambda _, topic, __: topic.replace(".v1", ".v2")),
    "version zero": ("topic", lambda _, topic, __: topic.replace(".v1", ".v0")),
    "an unknown type": ("topic", lambda *_: "banished.v1"),
    "garbage": ("topic", lambda *_: "\N{SKULL} '); DROP TABLE"),
    "empty topic": ("topic", lambda *_: ""),
    "no topic": ("topic", lambda *_: NULL),
    "a space": ("state", lambda _, __, state: state.replace(b",", b", ", 1)),
    "a space at the end": ("state", lambda _, __, state: state + b" "),
    "another order": ("state", type_first),
    "one key more": ("state", lambda _, __, state: state[:-1] + b',"zeal":9}'),
    "another life total": ("state", life_changed),
    "another rank": ("state", rank_changed),
    "another number": ("state", number_raised),
    "another word": ("state", word_changed),
    "another actor in the head": ("state", actor_added),
    "another line hash": ("state", in_head(line_sha256="0" * 64)),
    "another state hash": ("state", in_head(state_hash="0" * 64)),
    "one key more in the head": ("state", in_head(zeal=9)),
    "no hash in the head": ("state", in_head(state_hash=None)),
    "no state": ("state", lambda *_: NULL),
}

EDITED_ROWS = {
    **dict.fromkeys(EDITS, 24),
    **dict.fromkeys((what for what in EDITS if what.endswith(("head", "hash"))), 15),
    "renamed to another match": 23,
    "another life total": 4,
    "another rank": 12,
    "another word": 22,
}
"""In how many of the 24 rows there is something to edit."""

EDITS_ON_SQLITE: dict[str, tuple[str, Edit]] = {
    "without a match": ("originator_id", lambda *_: NULL),
    "match in bytes": ("originator_id", lambda *_: b"duel"),
    "without a number": ("originator_version", lambda *_: NULL),
    "a word for a number": ("originator_version", lambda *_: "one"),
    "bytes for a number": ("originator_version", lambda *_: b"1"),
    "half a number": ("originator_version", lambda row, *_: row + 0.5),
    "topic in bytes": ("topic", lambda _, topic, __: topic.encode()),
    "state as text": ("state", lambda _, __, state: state.decode()),
}
"""What PostgreSQL refuses, or makes the same again."""


def edit_every_row(place: Place, column: str, edit: Edit) -> int:
    """Edit one row after the other, and see that a fault names it; how many there were to edit."""
    edited = 0
    for row, topic, state in place.rows:
        value = edit(row, topic, state)
        if value in (None, state):
            continue
        value = None if value == NULL else value
        assert place.sql(EVENTS.format(f"{column}=?") + "?", value, row) == 1
        faults = place.faults()
        assert any(names(fault, row, gap=column.startswith("originator")) for fault in faults), (row, faults)
        edited += 1
        place.restore()
    return edited


@pytest.mark.parametrize("what", EDITS)
def test_edited_column_is_found_in_every_row(place: Place, what: str) -> None:
    """Whichever row of the match is edited, a fault names it, or its entry, or the gap that it left."""
    assert edit_every_row(place, *EDITS[what]) == EDITED_ROWS[what]


@pytest.mark.parametrize("what", EDITS_ON_SQLITE)
def test_value_of_a_type_that_only_sqlite_stores_is_found(on_sqlite: Place, what: str) -> None:
    """SQLite stores values of any type in any column; those that were never written are found in every row."""
    assert edit_every_row(on_sqlite, *EDITS_ON_SQLITE[what]) == LAST_ROW


def test_text_for_bytes_is_named_with_its_entry(on_sqlite: Place) -> None:
    """A state that became text can still be read: the fault names match, entry and row."""
    for row, _, state in on_sqlite.rows:
        on_sqlite.sql(EVENTS.format("state=CAST(state AS TEXT)") + "?", row)
        fault = on_sqlite.faults()[0]
        assert (fault.match, fault.entry, fault.row) == ("duel", json.loads(state)["entry"], row)
        on_sqlite.restore()


def test_flipped_bit_is_found_in_every_row(place: Place) -> None:
    """One bit of one byte, anywhere behind what makes a row the first of its entry, is found in the row's entry."""
    for row, _, state in place.rows:
        begin = len(HEAD) if state.startswith(HEAD) else 0
        for number, offset in enumerate(range(begin, len(state), (len(state) - begin) // 6)):
            flipped = bytearray(state)
            flipped[offset] ^= 1 << number
            place.sql(EVENTS.format("state=?") + "?", bytes(flipped), row)
            faults = place.faults()
            assert any(names(fault, row) for fault in faults), (row, bytes(flipped), faults)
            place.restore()


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda state: b"[" + state[1:], id="another first byte"),
        pytest.param(lambda state: state.replace(b"@entry", b"@entri", 1), id="another name"),
        pytest.param(lambda _: b"", id="empty"),
    ],
)
def test_entry_that_lost_its_head_is_named(place: Place, edit: Callable[[bytes], bytes]) -> None:
    """Where the first row of an entry is no such row any more, it is this row that is named, not the entry before."""
    for row in FIRST_ROWS:
        place.sql(EVENTS.format("state=?") + "?", edit(place.rows[row - 1][2]), row)
        faults = place.faults()
        assert any(names(fault, row) for fault in faults), (row, faults)
        place.restore()


def test_numbers_swapped_with_the_neighbour_are_found(place: Place) -> None:
    """Two rows in each other's place, within an entry or across two, are found there."""
    for row in range(1, LAST_ROW):
        for old, new in ((row, -1), (row + 1, row), (-1, row + 1)):
            place.sql(EVENTS.format("originator_version=?") + "?", new, old)
        faults = place.faults()
        assert any(names(fault, row) for fault in faults), (row, faults)
        place.restore()


def test_positions_out_of_order_are_found(place: Place) -> None:
    """The log holds the rows of a match in their order: two swapped positions, or a row moved up, are found there."""
    positions = dict(
        place.sql(f"SELECT originator_version, {place.position} FROM stored_events WHERE originator_id='duel'")
    )
    move = EVENTS.format(f"{place.position}=?") + "?"
    for row in range(1, LAST_ROW):
        for new, moved in ((-1, row), (positions[row], row + 1), (positions[row + 1], row)):
            place.sql(move, new, moved)
        assert any(names(fault, row + 1) for fault in place.faults()), row
        place.restore()
        place.sql(move, 1_000, row)
        assert any(names(fault, row, gap=True) for fault in place.faults()), row
        place.restore()


# ------------------------------------------------------------ rows and entries


def test_lost_row_is_found_wherever_it_was(place: Place) -> None:
    """A fault says where the gap is: the row after it, and from which number on rows are missing."""
    for row in range(1, LAST_ROW):
        place.sql("DELETE FROM stored_events WHERE originator_id='duel' AND originator_version=?", row)
        told = f"the rows from {row} up to it are missing"
        assert ("duel", row + 1, told) in [(fault.match, fault.row, fault.message) for fault in place.faults()]
        place.restore()


def test_lost_last_row_of_an_entry_is_found(place: Place) -> None:
    """The end of the last entry is missed, though no row comes after it: its command leads to more."""
    place.sql("DELETE FROM stored_events WHERE originator_id='duel' AND originator_version=24")
    (fault,) = place.faults()
    assert (fault.kind, fault.match, fault.entry) == ("diverged", "duel", 15)


def test_lost_entry_is_found_but_for_the_last(place: Place) -> None:
    """An entry that is missing whole leaves a gap.

    The last ones leave none: that they were there is known only to who kept how many there were, or their hash.
    """
    for first, end in pairwise(FIRST_ROWS):
        place.sql(
            "DELETE FROM stored_events WHERE originator_id='duel' AND originator_version>=? AND originator_version<?",
            first,
            end,
        )
        told = f"the rows from {first} up to it are missing"
        assert ("duel", end, told) in [(fault.match, fault.row, fault.message) for fault in place.faults()]
        place.restore()
    place.sql("DELETE FROM stored_events WHERE originator_id='duel' AND originator_version>=23")
    assert place.faults() == []


def test_what_leads_to_lost_last_entries_is_found(place: Place) -> None:
    """Ids and snapshots of entries that are cut off are found, until they are cut off, too."""
    place.sql("DELETE FROM stored_events WHERE originator_id='duel' AND originator_version>=18")
    assert {(fault.match, fault.row) for fault in place.faults()} == {("duel", 18), ("duel", 20)}
    place.sql("DELETE FROM command_ids WHERE originator_id='duel' AND command_id='c-12'")
    assert [(fault.match, fault.row) for fault in place.faults()] == [("duel", 20)]
    place.sql("DELETE FROM stored_snapshots WHERE originator_id='duel' AND originator_version=20")
    assert place.faults() == []


def test_entry_that_is_there_twice_is_found(place: Place) -> None:
    """An entry's rows once more, at the end of the match or behind themselves, do not follow from what is before."""
    insert = f"INSERT INTO stored_events ({VALUES}) SELECT originator_id, originator_version+?, topic, state "
    insert += "FROM kept_stored_events WHERE originator_id='duel' AND originator_version>=? AND originator_version<?"
    for first, end in zip(FIRST_ROWS, [*FIRST_ROWS[1:], LAST_ROW + 1], strict=True):
        place.sql(insert, LAST_ROW + 1 - first, first, end)
        assert any(names(fault, LAST_ROW + 1) for fault in place.faults()), first
        place.restore()
        place.sql("DELETE FROM stored_events WHERE originator_id='duel' AND originator_version>=?", first)
        place.sql(insert, 0, first, end)
        place.sql(insert, end - first, first, LAST_ROW + 1)
        assert any(fault.match == "duel" and fault.row == end for fault in place.faults()), first
        place.restore()


def test_match_under_another_name_is_found(place: Place) -> None:
    """A match that is renamed whole, or copied under another name, says itself which one it is."""
    place.sql("UPDATE stored_events SET originator_id='mine' WHERE originator_id='other'")
    assert {fault.match for fault in place.faults()} == {"mine"}
    place.restore()
    for table, columns in (("stored_events", "topic, state"), ("stored_snapshots", "topic, state")):
        place.sql(
            f"INSERT INTO {table} (originator_id, originator_version, {columns}) "
            f"SELECT 'mine', originator_version, {columns} FROM kept_{table} WHERE originator_id='duel'"
        )
    place.sql("INSERT INTO command_ids SELECT 'mine', command_id, originator_version FROM kept_command_ids")
    assert {fault.match for fault in place.faults()} == {"mine"}


def test_other_matches_are_not_blamed(place: Place) -> None:
    """A fault in one match is a fault of that match; the others are checked all the same, and their own found."""
    place.sql(EVENTS.format("topic='x'") + "9")
    assert {fault.match for fault in place.faults()} == {"duel"}
    place.sql("UPDATE stored_events SET topic='y' WHERE originator_id='other'")
    assert {fault.match for fault in place.faults()} == {"duel", "other"}


def test_faults_name_the_entry_of_their_row(place: Place) -> None:
    """Where a fault names both, the row is one of the entry."""
    mislaid = EVENTS.format(f"{place.position}=-7") + "19"
    null = EVENTS.format("topic=NULL") + "19"
    lost = "DELETE FROM stored_events WHERE originator_id='duel' AND originator_version=18"
    moved = "UPDATE stored_snapshots SET originator_version=7 WHERE originator_version=8"
    told: list[tuple[str, int | None, int | None]] = []
    for edit in (mislaid, null, lost, moved):
        place.sql(edit)
        told += [(edit, fault.row, fault.entry) for fault in place.faults() if fault.row in ROWS and fault.entry]
        place.restore()
    place.sql("INSERT INTO command_ids VALUES ('duel', 'more', 9)")
    told += [("a command id", fault.row, fault.entry) for fault in place.faults() if fault.entry]
    assert [(what, row, entry) for what, row, entry in told if entry != entry_of(row or 0)] == []


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM stored_events WHERE originator_id='duel' AND originator_version=9",
        EVENTS.format("topic=NULL") + "9",
        EVENTS.format("state=NULL") + "5",
    ],
)
def test_later_faults_name_their_entry(place: Place, edit: str) -> None:
    """Behind an entry that is lost, or has lost its head, entries have the numbers that they have in the record."""
    place.sql(edit)
    place.sql(EVENTS.format("state=?") + "19", place.rows[18][2].replace(b'"to":"hand"', b'"to":"deck"'))
    assert (19, 13) in [(fault.row, fault.entry) for fault in place.faults()]


# ------------------------------------------------------------ with the hashes made anew


def forged(rows: list[tuple[int, str, bytes]], row: int, old: bytes, new: bytes) -> list[tuple[int, str, bytes]]:
    """All rows with one event edited, and every hash from there on made anew, as the editor could."""
    codec, state, made = Codec(), State(), list[tuple[int, str, bytes]]()
    for entry in codec.entries(rows):
        jsons = [
            json.replace(old, new) if event.n == row else json
            for event, json in zip(entry.events, entry.event_jsons, strict=True)
        ]
        fold([msgspec.json.decode(json, type=AnyEvent) for json in jsons], state)
        changed = state_hash(state)
        line = line_of(entry.number, entry.command_json, tuple(jsons), changed)
        head = b'{"command":%b,"line_sha256":"%b","state_hash":"%b"},' % (
            entry.command_json,
            sha256(line).hexdigest().encode(),
            changed.encode(),
        )
        states = [HEAD + head + jsons[0][1:], *jsons[1:]]
        made += [(event.n, rows[event.n - 1][1], stored) for event, stored in zip(entry.events, states, strict=True)]
    return made


@pytest.mark.parametrize(
    ("row", "old", "new"),
    [
        (1, b'"starting_life":30', b'"starting_life":40'),
        (4, b'"rank":2', b'"rank":3'),
        (8, b'"rank":2', b'"rank":3'),
        (9, b'"rank":1', b'"rank":2'),
        (17, b'"life":27', b'"life":28'),
        (18, b'"delta":2', b'"delta":3'),
        (21, b'"life":27', b'"life":29'),
        (24, b'"winner":"ada"', b'"winner":"bo"'),
    ],
)
def test_forger_who_makes_the_hashes_anew_is_found(place: Place, row: int, old: bytes, new: bytes) -> None:
    """An edited event does not follow from its command, whatever the hashes say, there and in all entries after it."""
    rows = forged(place.rows, row, old, new)
    assert rows[row - 1] != place.rows[row - 1]
    place.write(rows)
    fault, *_ = place.faults()
    assert (fault.kind, fault.match, fault.entry, fault.row) == ("diverged", "duel", entry_of(row), row)


def test_forging_nothing_makes_the_stored_rows(place: Place) -> None:
    """The forger of these tests is as good as the program."""
    assert forged(place.rows, 1, b"", b"") == place.rows


# ------------------------------------------------------------ what is newer


def test_newer_rows_are_unverifiable(place: Place) -> None:
    """An event of a version that is not known yet is not called damaged; what comes after it is not judged."""
    for row in ROWS:
        place.sql(EVENTS.format("topic=replace(topic, '.v1', '.v9')") + "?", row)
        (fault,) = place.faults()
        assert (fault.kind, fault.match, fault.entry) == ("unverifiable", "duel", entry_of(row))
        assert "newer Soulrift" in fault.message
        place.restore()


def test_match_of_other_rules_is_unverifiable(place: Place) -> None:
    """A match that was played by other rules is not judged by these; its lines are held to their hashes."""
    place.write(forged(place.rows, 1, b'"rules":1', b'"rules":2'))
    (fault,) = place.faults()
    assert (fault.kind, fault.match, fault.entry, fault.row) == ("unverifiable", "duel", 1, 1)
    assert "version 2 of the rules" in fault.message
    place.sql(EVENTS.format("topic='life_changed.v1', state=?") + "22", place.rows[21][2].replace(b"31", b"32"))
    assert [(fault.kind, fault.entry) for fault in place.faults()] == [("unverifiable", 1), ("damaged", 14)]


def test_entry_of_a_newer_command_is_unverifiable(place: Place) -> None:
    """What a newer version wrote may have commands that are not known, or are refused, here: that is not damage."""
    for command in ({"type": "banish", "card": "k1"}, {"type": "begin_turn", "player": "bo", "extra": True}):
        place.sql(EVENTS.format("topic='turn_began.v9', state=?") + "2", with_head(place.rows[1][2], command=command))
        assert kinds(place.faults()) == {"unverifiable"}
        place.restore()


# ------------------------------------------------------------ snapshots and ids


@pytest.mark.parametrize(
    ("edit", "row"),
    [
        ("state=CAST('{}' AS %)", 8),
        ("state=NULL", 8),
        ("state=(SELECT state FROM kept_stored_snapshots WHERE originator_version=10)", 8),
        ("originator_version=7", 7),
        ("originator_version=9", 9),
        ("originator_version=99", 99),
        ("originator_version=0", 0),
    ],
)
def test_edited_snapshot_is_found(place: Place, edit: str, row: int) -> None:
    """A snapshot that is not what the events add up to, or of no entry's end, is named by the event it is at."""
    place.sql(
        f"UPDATE stored_snapshots SET {edit.replace('%', 'BYTEA' if place.is_postgres else 'BLOB')} "
        "WHERE originator_version=8"
    )
    assert [(fault.kind, fault.match, fault.row) for fault in place.faults()] == [("damaged", "duel", row)]


def test_snapshot_with_another_life_total_is_found(place: Place) -> None:
    """A snapshot that reads well, and is wrong, is found."""
    for row in SNAPSHOTS:
        stored = place.sql("SELECT state FROM stored_snapshots WHERE originator_version=?", row)
        ((state,),) = stored
        changed = re.sub(rb'"life":\d+', b'"life":77', bytes(state))
        place.sql("UPDATE stored_snapshots SET state=? WHERE originator_version=?", changed, row)
        assert [(fault.kind, fault.match, fault.row) for fault in place.faults()] == [("damaged", "duel", row)]
        place.restore()


def test_snapshots_are_no_part_of_the_record(place: Place) -> None:
    """A snapshot that is missing, or of another version, is passed over wherever it would be read: no fault."""
    place.sql("DELETE FROM stored_snapshots WHERE originator_version=8")
    place.sql("UPDATE stored_snapshots SET topic='snapshot.v9' WHERE originator_version=10")
    assert place.faults() == []


def test_snapshot_of_no_topic_is_found(place: Place) -> None:
    """What is no snapshot of any version is named: nothing would tell what it is."""
    for topic in ("snapshot.v0", "snapshot.v01", "snapshot.v1x", "snapshot", "turn_began.v1", "", None):
        place.sql("UPDATE stored_snapshots SET topic=? WHERE originator_version=10", topic)
        assert [(fault.kind, fault.match, fault.row) for fault in place.faults()] == [("damaged", "duel", 10)]


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE stored_snapshots SET originator_id='nobody' WHERE originator_version=8",
        "UPDATE command_ids SET originator_id='nobody' WHERE originator_version=1",
        "INSERT INTO incomplete_imports VALUES ('nobody', 'the first 3 entries')",
    ],
)
def test_what_belongs_to_no_match_is_found(place: Place, edit: str) -> None:
    """Snapshots, ids and marks of a match that is not there are named with it."""
    place.sql(edit)
    faults = place.faults()
    assert "nobody" in {fault.match for fault in faults}
    assert kinds(faults) == {"damaged"}


def test_opening_of_what_no_command_has_is_found(place: Place) -> None:
    """An opening may hold, and yet open nothing in its match."""
    opened = opening(bytes(16), "Ada")
    place.sql("INSERT INTO openings VALUES ('duel', ?, ?, ?)", opened.commitment, opened.salt, opened.value)
    (fault,) = place.faults()
    assert (fault.kind, fault.match) == ("damaged", "duel")
    assert opened.commitment in fault.message


def test_identity_that_is_none_is_found(place: Place) -> None:
    """A store has one identity of 16 hexadecimal digits, or none yet."""
    place.sql("INSERT INTO store_identity VALUES ('0123456789abcdef')")
    assert place.faults() == []
    place.sql("INSERT INTO store_identity VALUES ('fedcba9876543210')")
    assert kinds(place.faults()) == {"damaged"}
    for identity in ("0123456789ABCDEF", "0123456789abcdef\n", ""):
        place.sql("DELETE FROM store_identity")
        place.sql("INSERT INTO store_identity VALUES (?)", identity)
        assert kinds(place.faults()) == {"damaged"}


# ------------------------------------------------------------ the tables


@pytest.fixture
def rebuilt(durable_store: str) -> Iterator[Place]:
    """A store of the test's own, whose tables may be made anew."""
    place = Place(durable_store)
    yield place
    place.close()


def test_table_without_its_key_is_found(rebuilt: Place) -> None:
    """A table that was made anew from its rows keeps nothing unique; a snapshot that is there twice is named, too."""
    for table in KEYS:
        rebuilt.sql(f"ALTER TABLE {table} RENAME TO other")
        rebuilt.sql(f"CREATE TABLE {table} AS SELECT * FROM other")
        assert {fault.message.split(":")[0].rpartition(" ")[2] for fault in rebuilt.faults()} == {table}
        if table == "stored_snapshots":
            rebuilt.sql("INSERT INTO stored_snapshots SELECT * FROM other WHERE originator_version=8")
            assert [(fault.match, fault.row) for fault in rebuilt.faults()] == [(None, None), ("duel", 8)]
        rebuilt.sql(f"DROP TABLE {table}")
        rebuilt.sql(f"ALTER TABLE other RENAME TO {table}")
    assert rebuilt.faults() == []


def test_trigger_is_found(rebuilt: Place) -> None:
    """What runs when our tables are written is none of ours; other tables may have what they like."""
    trigger = "CREATE TRIGGER t{} AFTER DELETE ON {} BEGIN DELETE FROM stored_events; END"
    if rebuilt.is_postgres:
        trigger = "CREATE TRIGGER t{} AFTER DELETE ON {} EXECUTE FUNCTION suppress_redundant_updates_trigger()"
        rebuilt.sql("CREATE RULE t9 AS ON DELETE TO stored_events DO INSTEAD NOTHING")
    rebuilt.sql("CREATE TABLE others (number INTEGER)")
    for number, table in enumerate(["stored_events", "openings", "others"]):
        rebuilt.sql(trigger.format(number, table))
    told = [fault.message.split(",")[0] for fault in rebuilt.faults()]
    more = ['stored_events has "t9"'] * rebuilt.is_postgres
    assert told == ['openings has "t1"', 'stored_events has "t0"', *more]


@pytest.mark.parametrize(
    ("edit", "row"),
    [
        ("DELETE FROM command_ids WHERE command_id='c-8'", 11),
        ("UPDATE command_ids SET originator_version=12 WHERE command_id='c-8'", 11),
        ("UPDATE command_ids SET originator_version=0 WHERE command_id='c-8'", 11),
        ("UPDATE command_ids SET command_id='c-9' WHERE command_id='c-8'", 11),
        ("UPDATE command_ids SET originator_id='other' WHERE command_id='c-8'", 11),
        ("INSERT INTO command_ids VALUES ('duel', 'c-9', 12)", 12),
        ("INSERT INTO command_ids VALUES ('duel', 'c-9', 11)", 11),
        ("INSERT INTO command_ids VALUES ('duel', 'c-9', 99)", 99),
    ],
)
def test_edited_command_id_is_found(place: Place, edit: str, row: int) -> None:
    """An id that does not lead to its command would let a retry take effect again; one of no command is a stranger."""
    place.sql(edit)
    faults = place.faults()
    assert ("damaged", "duel", row) in [(fault.kind, fault.match, fault.row) for fault in faults]
    assert kinds(faults) == {"damaged"}


# ------------------------------------------------------------ whatever is stored


SENSELESS = [
    {"type": "destroy", "cards": ["k1", "k1"]},
    {"type": "ruling", "judge": "Mo", "reason": "none", "corrections": [{}]},
    {"type": "start_match", "players": SEATS},
    {"type": "fizzle"},
    {"type": "fizzle", "effect": "Flame", "payment": 1},
    {"type": "pay", "amount": 1, "player": "ada", "souls": [1]},
    {"type": "reap", "souls": [1, 1], "card": "k1"},
    {"type": "release", "rank": 2**53 - 1},
    {"type": "enter", "card": "k9", "controller": "nobody"},
]


@pytest.mark.parametrize("command", SENSELESS, ids=lambda command: str(command["type"]))
def test_senseless_stored_command_is_a_fault(place: Place, command: dict[str, Any]) -> None:
    """A command that would never have passed the edge, written into the record, ends the check of no store."""
    for row in FIRST_ROWS[:8]:
        place.sql(EVENTS.format("state=?") + "?", with_head(place.rows[row - 1][2], command=command), row)
        assert any(names(fault, row) for fault in place.faults())
        place.restore()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        pytest.param("state", b'{"x":' * 100_000, id="a state nested too deeply"),
        pytest.param("topic", "soul_released.v" + "9" * 5_000, id="a version of too many digits"),
        pytest.param("topic", "soul_released.v\N{ARABIC-INDIC DIGIT ONE}", id="a version in other digits"),
        pytest.param("topic", "soul_released.v01", id="a version with a zero before it"),
    ],
)
def test_strangest_rows_are_faults(place: Place, column: str, value: Any) -> None:
    """No stored value, however strange, keeps the check from its verdict."""
    place.sql(EVENTS.format(f"{column}=?") + "9", value)
    assert any(names(fault, 9) for fault in place.faults())


@pytest.mark.parametrize("column", ["originator_id", "topic", "state"])
def test_text_that_is_not_utf8_is_a_fault(on_sqlite: Place, column: str) -> None:
    """SQLite stores any bytes as text; a row with some that are no UTF-8 is named. PostgreSQL stores none such."""
    on_sqlite.sql(EVENTS.format(f"{column}=CAST(x'ff41' AS TEXT)") + "9")
    assert any(names(fault, 9, gap=True) for fault in on_sqlite.faults())


@pytest.mark.parametrize("table", ["stored_snapshots", "command_ids", "openings", "incomplete_imports"])
def test_match_that_is_not_utf8_is_a_fault_in_every_table(on_sqlite: Place, table: str) -> None:
    """The name of such a match is told with its bytes spelled out."""
    on_sqlite.sql("INSERT INTO openings VALUES ('duel', 'a', 'b', 'c')")
    on_sqlite.sql("INSERT INTO incomplete_imports VALUES ('duel', 'a')")
    one = "originator_version=8" if table == "stored_snapshots" else "rowid=1"
    on_sqlite.sql(f"UPDATE {table} SET originator_id=CAST(x'ff41' AS TEXT) WHERE {one}")
    assert "\\udcffA" in {fault.match for fault in on_sqlite.faults()}


def test_snapshots_of_no_number_are_faults(on_sqlite: Place) -> None:
    """SQLite stores words for numbers; snapshots of an event "one", and of one within an entry, are both named."""
    on_sqlite.sql("UPDATE stored_snapshots SET originator_version='one' WHERE originator_version=8")
    on_sqlite.sql("UPDATE stored_snapshots SET originator_version=7 WHERE originator_version=10")
    assert [(fault.kind, fault.match) for fault in on_sqlite.faults()] == [("damaged", "duel")] * 2


def test_many_matches_and_long_ones_are_read_in_batches(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever one batch of rows ends and the next begins, within a match or between two, nothing is missed."""
    for size in (1, 2, 3, 7, 24, 25):
        monkeypatch.setattr("domain.recorder.BATCH", size)
        check = Check(place.matches.recorder)
        assert list(check.faults()) == []
        assert (check.matches, check.entries, check.rows, check.snapshots) == (2, 16, 25, 4)


def test_check_and_play_do_not_wait_for_each_other(durable_store: str) -> None:
    """A check sees one moment of the store; what is played meanwhile is neither hindered nor seen."""
    with stores.create(durable_store) as writer, stores.open_to_read(durable_store) as reader:
        writer.start(json.dumps(OTHER))
        check = Check(reader.recorder, lambda _: _give(writer))
        assert list(check.faults()) == []
        assert (check.entries, writer.state("other").entries) == (1, 2)


def _give(matches: Matches) -> None:
    matches.give("other", '{"type": "release"}')
