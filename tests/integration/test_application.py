"""Giving commands to matches in a real SQLite file, and reading them back."""

import json
import sqlite3
import threading
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from eventsourcing.persistence import IntegrityError, OperationalError

import domain.application
from domain import Refusal, State, decode_command, fold, play, state_hash
from domain.application import EntryNotFoundError, Matches, MatchNotFoundError
from domain.codec import CorruptRecordError
from domain.rules import commands as c
from domain.rules.commands import NewPlayer, Pay, StartMatch
from domain.sqlite import sqlite_settings

GOLDEN = Path(__file__).parents[1] / "golden" / "matches.jsonl"


def start(name: str | None = "duel", **more: Any) -> str:
    named = {"match": name} if name else {}
    return json.dumps({"type": "start_match", **named, "players": [{"player": "ada"}, {"player": "bo"}], **more})


def release(rank: int = 0, **meta: Any) -> str:
    return json.dumps({"type": "release", "rank": rank, "meta": meta})


NOWHERE = '{"card":"x","entry":3,"n":3,"rank":1,"soul":9,"type":"soul_lost"}'


def replaced(old: str, new: str) -> str:
    return f"UPDATE stored_events SET state=CAST(replace(state, '{old}', '{new}') AS BLOB)"


def rows(path: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = ("stored_events", "command_ids", "stored_snapshots")
        return [row for table in tables for row in connection.execute(f"SELECT * FROM {table}")]


def scripts() -> list[list[dict[str, Any]]]:
    return [json.loads(line)["script"] for line in GOLDEN.read_text().splitlines()]


def played(matches: Matches, script: list[dict[str, Any]]) -> str:
    name: str = script[0]["match"]
    matches.start(json.dumps(script[0]))
    for command in script[1:]:
        try:
            matches.give(name, json.dumps(command))
        except Refusal:
            continue
    return name


def test_rebuilt_match_is_the_one_that_was_played(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A match rebuilt from the store, with and without snapshots, is the one that was played."""
    monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 7)
    with Matches(sqlite_settings(path)) as matches:
        live = {played(matches, script): None for script in scripts()[:6]}
        states = {name: matches.state(name) for name in live}
    with Matches(sqlite_settings(path)) as again:
        assert {name: again.state(name) for name in live} == states
    with Matches(sqlite_settings(path) | {"IS_SNAPSHOTTING_ENABLED": "n"}) as from_events:
        assert {name: from_events.state(name) for name in live} == states


@pytest.mark.parametrize("interval", [1, 5, 1_000])
def test_state_after_each_entry_is_that_of_straight_play(
    path: str, monkeypatch: pytest.MonkeyPatch, interval: int
) -> None:
    """`state(at=N)` is the state of straight play after N entries, whatever snapshots lie on the way."""
    monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", interval)
    with Matches(sqlite_settings(path)) as matches:
        name = played(matches, scripts()[0])
        straight = State()
        for entry in matches.entries(name):
            fold(entry.events, straight)
            assert matches.state(name, entry.number) == straight
            assert entry.state_hash == state_hash(straight)


def test_reopened_match_plays_on_as_if_never_closed(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing and reopening the store between any two commands changes no byte of the record."""
    monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 3)
    script = [json.dumps(command) for command in scripts()[1]]
    straight, lines = State(), []
    for line in script:
        try:
            lines.append(play(straight, decode_command(line)).line)
        except Refusal:
            continue
    for line in script:
        with Matches(sqlite_settings(path)) as matches:
            try:
                if line is script[0]:
                    matches.start(line)
                else:
                    matches.give("vector-2", line)
            except Refusal:
                continue
    with Matches(sqlite_settings(path)) as matches:
        assert [entry.line for entry in matches.entries("vector-2")] == lines


def test_lines_are_canonical_and_hashed(matches: Matches) -> None:
    """A line composed of stored bytes is RFC 8785, and the stored hash is its SHA-256."""
    name = played(matches, scripts()[2])
    for entry in matches.entries(name):
        assert entry.line == rfc8785.dumps(json.loads(entry.line))
        assert entry.line_hash == sha256(entry.line).hexdigest()


def test_rows_hold_what_the_documentation_says(matches: Matches, path: str) -> None:
    """The first row of an entry holds command and hashes under `@entry`, every row its event's canonical JSON."""
    matches.start(start(ruleset={"starting_life": 3}))
    matches.give("duel", release(1, id="r-1"))
    state_hash_2 = state_hash(matches.state("duel"))
    command = b'{"meta":{"id":"r-1"},"rank":1,"type":"release"}'
    event = b'{"by":null,"cause":null,"entry":2,"n":2,"rank":1,"soul":1,"type":"soul_released"}'
    line = b'{"command":%b,"entry":2,"events":[%b],"state_hash":"%b"}' % (command, event, state_hash_2.encode())
    head = b'{"@entry":{"command":%b,"line_sha256":"%b","state_hash":"%b"},' % (
        command,
        sha256(line).hexdigest().encode(),
        state_hash_2.encode(),
    )
    assert rows(path)[1:] == [("duel", 2, "soul_released.v1", head + event[1:]), ("duel", "r-1", 2)]


def test_refused_command_leaves_the_store_as_it_was(matches: Matches, path: str) -> None:
    """A refused command changes no row, and no state."""
    matches.start(start())
    matches.give("duel", release(3))
    before, state = rows(path), matches.state("duel")
    for refused in (
        '{"type": "pay", "player": "ada", "amount": 9, "souls": [1], "effect": "x", "meta": {"id": "p"}}',
        '{"type": "release", "rank": 4}',
        '{"type": "release", "rank": 1.0}',
        start(),
    ):
        with pytest.raises(Refusal):
            matches.give("duel", refused)
    assert rows(path) == before
    assert matches.state("duel") == state


def test_state_is_the_callers_own(matches: Matches) -> None:
    """What a caller does to a state that it was given reaches neither the store nor the next caller."""
    matches.start(start())
    matches.state("duel").players["ada"].life = -100
    assert matches.state("duel").players["ada"].life == 30


class TestRetries:
    """`meta.id` makes a retry harmless."""

    def test_same_id_and_content_get_the_first_answer(self, matches: Matches) -> None:
        """The same id with the same content gets the first answer, events and all, and appends nothing."""
        matches.start(start())
        first = matches.give("duel", release(2, id="a"))
        matches.give("duel", release(1))
        again = matches.give("duel", release(2, id="a", actor="another", at="2026-01-01T00:00:00Z"))
        assert (first.repeated, again.repeated) == (False, True)
        assert again.entry == first.entry
        assert matches.state("duel").entries == 3

    def test_content_is_compared_in_its_normal_form(self, matches: Matches) -> None:
        """Fields at their default say the same whether they are written out or left out."""
        matches.start(start())
        spelled = {"type": "enter", "card": "k", "controller": "ada", "owner": "ada", "deck": "main", "rank": None}
        matches.give("duel", json.dumps(spelled | {"meta": {"id": "e"}}))
        short = {"meta": {"id": "e"}, "controller": "ada", "type": "enter", "card": "k"}
        assert matches.give("duel", json.dumps(short)).repeated

    def test_same_id_with_other_content_is_refused(self, matches: Matches) -> None:
        """An id cannot stand for two commands; the refusal names the entry that has it."""
        matches.start(start())
        matches.give("duel", release(2, id="a"))
        with pytest.raises(Refusal) as refused:
            matches.give("duel", release(1, id="a"))
        assert (refused.value.rule, refused.value.path) == ("input", "/meta/id")
        assert refused.value.details == {"entry": 2}

    def test_ids_survive_a_restart_and_belong_to_their_match(self, path: str) -> None:
        """An id is known after reopening the store, and means nothing in another match."""
        with Matches(sqlite_settings(path)) as matches:
            matches.start(start())
            matches.start(start("other"))
            matches.give("duel", release(2, id="a"))
        with Matches(sqlite_settings(path)) as matches:
            assert matches.give("duel", release(2, id="a")).repeated
            assert not matches.give("other", release(1, id="a")).repeated

    def test_ids_of_refused_commands_are_not_kept(self, matches: Matches) -> None:
        """What was refused once may be sent again under its id, and is judged anew."""
        matches.start(start())
        pay = json.dumps(
            {"type": "pay", "player": "ada", "amount": 1, "souls": [1], "effect": "x", "meta": {"id": "p"}}
        )
        with pytest.raises(Refusal):
            matches.give("duel", pay)
        matches.give("duel", release())
        assert not matches.give("duel", pay).repeated

    def test_retry_comes_before_expect_and_the_end(self, matches: Matches) -> None:
        """A retry gets its answer even if more entries are there than it expected, and after the match's end."""
        matches.start(start())
        matches.give("duel", release(2, id="a", expect=1))
        matches.give("duel", '{"type": "end_match"}')
        assert matches.give("duel", release(2, id="a", expect=1)).repeated
        with pytest.raises(Refusal) as refused:
            matches.give("duel", release(2, expect=1))
        assert (refused.value.path, refused.value.details) == ("/meta/expect", {"entries": 3})

    def test_start_match_is_retried_like_any_command(self, matches: Matches) -> None:
        """A retried `start_match` answers with the match that it began; another one of that name is refused."""
        matches.start(start(meta={"id": "s"}))
        assert matches.start(start(meta={"id": "s"})).repeated
        with pytest.raises(Refusal) as refused:
            matches.start(start())
        assert refused.value.path == "/match"

    def test_second_start_match_of_a_script_is_the_same_command(self, matches: Matches) -> None:
        """A nameless start_match that is sent again to its match is a retry like any other."""
        matches.start(start(None, meta={"id": "s"}), "duel")
        assert matches.give("duel", start(None, meta={"id": "s"})).repeated

    def test_expect_comes_before_the_name_that_is_taken(self, matches: Matches) -> None:
        """Who expects another number of entries is told so first."""
        matches.start(start())
        with pytest.raises(Refusal) as refused:
            matches.start(start(meta={"expect": 0}))
        assert refused.value.path == "/meta/expect"

    def test_unnamed_match_gets_a_name_of_its_own(self, matches: Matches) -> None:
        """A match without a name is called as told, made unique; its retry finds it again."""
        assert matches.start(start(None), "duel").match == "duel"
        second = matches.start(start(None, meta={"id": "s"}), "duel")
        assert second.match == "duel-2"
        assert matches.start(start(None), "duel").match == "duel-3"
        again = matches.start(start(None, meta={"id": "s"}), "duel")
        assert (again.match, again.repeated) == ("duel-2", True)
        assert matches.start(start(None), "d" * 64).match == "d" * 64
        assert matches.start(start(None), "d" * 64).match == "d" * 62 + "-2"

    def test_unnamed_match_that_is_expected_to_be_empty(self, matches: Matches) -> None:
        """Who expects no entries of an unnamed match means the new one, not the one that has its name already."""
        matches.start(start(None), "duel")
        second = matches.start(start(None, meta={"id": "s", "expect": 0}), "duel")
        again = matches.start(start(None, meta={"id": "s", "expect": 0}), "duel")
        assert (second.match, again.match, again.repeated) == ("duel-2", "duel-2", True)
        with pytest.raises(Refusal) as refused:
            matches.start(start(None, meta={"expect": 5}), "duel")
        assert (refused.value.path, refused.value.details) == ("/meta/expect", {"entries": 0})

    @pytest.mark.parametrize("unnamed", ["", "x\0y", "m" * 65, "\ud800"])
    def test_unnamed_match_is_called_nothing_that_is_no_name(self, matches: Matches, unnamed: str) -> None:
        """What an unnamed match is called must be a name of a match, too."""
        with pytest.raises(Refusal) as refused:
            matches.start(start(None), unnamed)
        assert (refused.value.rule, refused.value.path) == ("input", "/match")
        assert not list(matches.recorder.matches())

    @pytest.mark.parametrize(
        ("command", "where"),
        [
            (c.Seal(card="\ud800"), "/card"),
            (c.ChangeLife(changes=(c.LifeChange(player="a", delta=1),), reason="x\udfff"), "/reason"),
            (c.ChangeLife(changes=(c.LifeChange(player="\ud800", delta=1),), reason="x"), "/changes/0/player"),
        ],
    )
    def test_lone_surrogate_in_a_struct(self, matches: Matches, command: Any, where: str) -> None:
        """A command that was made in Python is refused as its JSON would be."""
        matches.start(start())
        with pytest.raises(Refusal) as refused:
            matches.give("duel", command)
        assert (refused.value.rule, refused.value.path) == ("input", where)


class TestWriters:
    """Several writers of one store."""

    def test_two_programs_take_turns_in_one_match(self, path: str) -> None:
        """Each sees what the other appended, and none of it is lost."""
        with Matches(sqlite_settings(path)) as one, Matches(sqlite_settings(path)) as two:
            one.start(start())
            for number in range(20):
                writer = one if number % 2 else two
                assert writer.give("duel", release(number % 4)).entry.number == number + 2
            assert one.state("duel") == two.state("duel")

    def test_threads_share_an_application(self, matches: Matches) -> None:
        """Threads that give commands at once to one application lose and double none."""
        matches.start(start())

        def give() -> None:
            for _ in range(25):
                matches.give("duel", release())

        threads = [threading.Thread(target=give) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert matches.state("duel").numbered.souls == 100
        assert [entry.number for entry in matches.entries("duel")] == list(range(1, 102))

    def test_failed_append_leaves_nothing_behind(self, matches: Matches, monkeypatch: pytest.MonkeyPatch) -> None:
        """When the store fails in the middle of an append, the state in memory is the stored one."""
        matches.start(start())

        def fail(*_: Any, **__: Any) -> None:
            message = "disk full"
            raise sqlite3.OperationalError(message)

        with monkeypatch.context() as broken:
            broken.setattr(matches.events, "put", fail)
            with pytest.raises(OperationalError):
                matches.give("duel", release(3))
        assert matches.give("duel", release(1)).entry.number == 2
        assert matches.state("duel").aether[1].rank == 1


class TestReading:
    """What is not there, and what cannot be."""

    def test_unknown_match_and_entry(self, matches: Matches) -> None:
        """A match or an entry that is not there is named in the error."""
        with pytest.raises(MatchNotFoundError, match='"nobody"'):
            matches.state("nobody")
        with pytest.raises(MatchNotFoundError, match='"nobody"'):
            matches.give("nobody", release())
        with pytest.raises(MatchNotFoundError, match='"nobody"'):
            matches.entries("nobody")
        matches.start(start())
        for at in (0, 2, -1):
            with pytest.raises(EntryNotFoundError, match="1 to 1"):
                matches.state("duel", at)

    @pytest.mark.parametrize(
        ("column", "value", "told"),
        [
            ("topic", "soul_released.v2", "newer Soulrift"),
            ("topic", "souls.v1", 'no event of the topic "souls.v1"'),
            ("topic", "turn_began.v1", "cannot be read"),
            ("state", b"{}", "cannot be read"),
            ("state", b"\xff", "cannot be read"),
            (
                "state",
                b'{"entry":2,"n":2,"rank":1,"soul":1,"type":"soul_released","by":null,"cause":null}',
                "first row",
            ),
        ],
    )
    def test_edited_row_is_a_corrupt_record(
        self, matches: Matches, path: str, column: str, value: object, told: str
    ) -> None:
        """A row that this program cannot have written is named, and is not folded by guess."""
        matches.start(start())
        matches.give("duel", release())
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"UPDATE stored_events SET {column}=? WHERE originator_version=2", (value,))
        with pytest.raises(CorruptRecordError, match=told):
            list(matches.entries("duel"))

    @pytest.mark.parametrize(
        ("edit", "version"),
        [
            ("DELETE FROM stored_events", 1),
            ("DELETE FROM stored_events", 3),
            ("UPDATE stored_events SET originator_version=1000000000000", 5),
            (replaced('"n":5', '"n":9'), 5),
            (replaced('"rank":2', '"rank":7'), 3),
            ("UPDATE stored_events SET state=replace(state, '5', '9')", 5),
            (f"UPDATE stored_events SET topic='soul_lost.v1', state=CAST('{NOWHERE}' AS BLOB)", 3),
            (f"UPDATE stored_events SET topic='soul_lost.v1', state=CAST('{NOWHERE.replace('3', '1')}' AS BLOB)", 1),
        ],
    )
    def test_edited_store_is_neither_shown_nor_played_on(self, path: str, edit: str, version: int) -> None:
        """A record with a hole, a wrong number, an impossible rank or an event from nowhere is not folded."""
        with Matches(sqlite_settings(path)) as matches:
            matches.start(start())
            for _ in range(4):
                matches.give("duel", release(2))
        with closing(sqlite3.connect(path)) as connection, connection:
            assert connection.execute(f"{edit} WHERE originator_version={version}").rowcount
        with Matches(sqlite_settings(path)) as matches:
            with pytest.raises(CorruptRecordError):
                matches.state("duel")
            with pytest.raises(CorruptRecordError):
                matches.give("duel", release())

    @pytest.mark.parametrize(
        "edit",
        [
            "SET state=CAST(replace(state, '\"life\":30', '\"life\":99') AS BLOB)",
            "SET state=CAST('{}' AS BLOB)",
            "SET state=CAST('[' AS BLOB)",
            "SET state='text'",
            "SET originator_version=2",
        ],
    )
    def test_edited_snapshot_is_not_believed(self, path: str, edit: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A snapshot whose state is not the one that the record has a hash of is passed over."""
        monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 4)
        with Matches(sqlite_settings(path)) as matches:
            matches.start(start())
            for _ in range(4):
                matches.give("duel", release(2))
            state = matches.state("duel")
        with closing(sqlite3.connect(path)) as connection, connection:
            assert connection.execute(f"UPDATE stored_snapshots {edit}").rowcount == 1
        with Matches(sqlite_settings(path)) as matches:
            assert matches.state("duel") == state
            assert matches.give("duel", release(2)).entry.number == 6

    def test_edited_entry_is_not_told(self, matches: Matches, path: str) -> None:
        """An event that was edited, in whatever field, is not told: the line has another hash than the recorded one."""
        matches.start(start())
        matches.give("duel", json.dumps({"type": "release", "cause": "lantern"}))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(replaced("lantern", "lanterm"))
        with pytest.raises(CorruptRecordError, match="entry 2 is not as it was written"):
            list(matches.entries("duel"))

    def test_failed_snapshot_does_not_fail_the_command(self, matches: Matches, monkeypatch: pytest.MonkeyPatch) -> None:
        """A command that is stored is answered, and once, whatever becomes of the snapshot after it."""
        monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 1)
        matches.start(start())
        for error in (OperationalError("database is locked"), IntegrityError("there already")):

            def fail(*_: Any, error: Exception = error) -> None:
                raise error

            monkeypatch.setattr(matches.snapshots, "put", fail)
            matches.give("duel", release())
        assert matches.state("duel").entries == 3

    def test_id_that_leads_nowhere_is_a_corrupt_record(self, matches: Matches, path: str) -> None:
        """An index entry without its command is told, not taken for a new command."""
        matches.start(start())
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO command_ids VALUES ('duel', 'a', 99)")
        with pytest.raises(CorruptRecordError, match="event 99"):
            matches.give("duel", release(id="a"))

    def test_snapshot_of_another_version_is_passed_over(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A snapshot that another version wrote is not read: the match is folded from its events."""
        monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 1)
        with Matches(sqlite_settings(path)) as matches:
            matches.start(start())
            matches.give("duel", release(2))
            state = matches.state("duel")
        with closing(sqlite3.connect(path)) as connection, connection:
            assert connection.execute("UPDATE stored_snapshots SET topic='snapshot.v9', state=x'00'").rowcount
        with Matches(sqlite_settings(path)) as matches:
            assert matches.state("duel") == state
            assert matches.state("duel", 2) == state

    def test_library_finds_its_own_ways_to_read(self, matches: Matches) -> None:
        """The event store answers as the library's own would: from, to, backward, and the first few."""
        matches.start(start())
        for _ in range(4):
            matches.give("duel", release())

        def numbers(**how: Any) -> list[int]:
            return [event.n for event in matches.events.get("duel", **how)]  # type: ignore[attr-defined]

        assert numbers() == [1, 2, 3, 4, 5]
        assert numbers(gt=1, lte=4) == [2, 3, 4]
        assert numbers(desc=True, limit=2) == [5, 4]

    def test_matches_of_one_store_do_not_meet(self, matches: Matches) -> None:
        """Names that differ in a quote, a comma, an emoji, an accent or in case are different matches."""
        names = ["duel", "Duel", "duel,", 'du"el', "du'el", "duel|1", "決闘", "duel🜂", "due\u0301l", "duél", "מבחן"]
        for number, name in enumerate(names):
            matches.start(start(name))
            for _ in range(number):
                matches.give(name, release())
        assert [matches.state(name).entries for name in names] == [number + 1 for number in range(len(names))]

    def test_process_environment_has_no_say(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The library's settings in the environment neither move the store nor change how it is written."""
        for key in (
            "SQLITE_DBNAME",
            "SOULRIFT_SQLITE_DBNAME",
            "PERSISTENCE_MODULE",
            "COMPRESSOR_TOPIC",
            "CREATE_TABLE",
        ):
            monkeypatch.setenv(key, "elsewhere")
        with Matches(sqlite_settings(path)) as matches:
            matches.start(start())
        assert rows(path)[0][:3] == ("duel", 1, "match_started.v1")

    def test_store_in_memory_is_like_one_in_a_file(self) -> None:
        """The store in memory takes commands, retries and questions like the file does."""
        with Matches(sqlite_settings(":memory:")) as matches:
            matches.start(start())
            matches.give("duel", release(1, id="a"))
            assert matches.give("duel", release(1, id="a")).repeated
            assert [entry.number for entry in matches.entries("duel")] == [1, 2]


class TestCommandsMadeInPython:
    """Commands need not come as JSON."""

    def test_what_is_no_command_at_all_is_a_type_error(self, matches: Matches) -> None:
        """A dict, which one tries first, is told what is wanted instead."""
        matches.start(start())
        with pytest.raises(TypeError, match="JSON text or a Command, not a dict"):
            matches.give("duel", {"type": "release"})  # type: ignore[arg-type]

    def test_struct_is_as_good_as_its_json(self, matches: Matches) -> None:
        """A command made in Python is recorded as its JSON would be."""
        matches.start(StartMatch(match="duel", players=(NewPlayer(player="ada"), NewPlayer(player="bo"))))
        matches.start(start("other"))
        ours, theirs = (next(iter(matches.entries(name))).command_json for name in ("duel", "other"))
        assert ours.replace(b"duel", b"other") == theirs

    @pytest.mark.parametrize(
        ("command", "pointer"),
        [
            (Pay(player="ada", amount=1.5, souls=(1,), effect="x"), "/amount"),  # type: ignore[arg-type]
            (Pay(player="ada", amount=1, souls=(1,)), "/effect"),
            (Pay(player="a\nda", amount=1, souls=(1,), effect="x"), "/player"),
            (Pay(player=b"\xff", amount=1j, souls=(1,), effect="x"), ""),  # type: ignore[arg-type]
        ],
    )
    def test_senseless_struct_never_reaches_the_store(self, matches: Matches, command: Pay, pointer: str) -> None:
        """What Python lets one build is judged at the same edge as what comes from outside."""
        matches.start(start())
        with pytest.raises(Refusal) as refused:
            matches.give("duel", command)
        assert (refused.value.rule, refused.value.path) == ("input", pointer)
