"""Private matches in every kind of store: names are in one table and nowhere else, whatever happens meanwhile."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from eventsourcing.persistence import IntegrityError

import domain.application
from domain import Refusal
from domain.application import Matches, MatchNotFoundError
from domain.batch import Answer
from domain.check import Check
from domain.privacy import Opening, opening
from domain.rules.commands import is_commitment
from replays.writing import match_lines
from soulrift import archives
from soulrift import store as stores
from tests.proxy import Cut, Proxy, commit_answered, commit_sent
from tests.recordings import Program, in_process, names, unlined, verdicts
from tests.writers import release, sql, start, writers

SECRETS = ("Ada Lovelace", "Bo Ångström", "judge Mo")

SEATS = [{"player": "ada", "name": SECRETS[0]}, {"player": "bo", "name": SECRETS[1]}]

START = {"type": "start_match", "match": "quiet", "private": True, "players": SEATS}

ACTED = release(2, actor=SECRETS[2])

PAY = {"type": "pay", "player": "ada", "amount": 9, "souls": [1], "effect": "x", "meta": {"actor": "nobody yet"}}
"""A command that is refused: there is no Soul of power 9."""


@pytest.fixture
def matches(any_store: str) -> Iterator[Matches]:
    with stores.create(any_store) as opened:
        yield opened


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Program:
    """The program, in this process and a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capfd)


def begin(**more: Any) -> str:
    return json.dumps(START | more)


def values(matches: Matches, match: str = "quiet") -> list[str]:
    """Who is hidden in a match, by the openings; each of them opens a commitment of its own."""
    found = matches.openings(match)
    assert all(each.holds() for each in found)
    assert found == sorted(set(found), key=lambda each: each.commitment)
    return sorted(each.value for each in found)


def hidden(matches: Matches, match: str = "quiet") -> list[str]:
    """What stands for names and actors in the lines of a match, in order; each is a commitment."""
    found = []
    for entry in matches.entries(match):
        command = json.loads(entry.command_json)
        actor = command.get("meta", {}).get("actor")
        found += [seat["name"] for seat in command.get("players", ())] + ([actor] if actor else [])
        assert not any(secret in entry.line.decode() for secret in SECRETS)
    assert all(map(is_commitment, found))
    return found


def kept(name: str) -> str:
    """All that a store and its views keep in tables, but for that of the openings; bytes as Python shows them."""
    if not stores.is_postgres(name):
        places = [path for path in (name, f"{name}.views") if Path(path).exists()]
        tables = "SELECT name FROM sqlite_master WHERE type='table' AND name <> 'openings'"
        return str([sql(path, f"SELECT * FROM {table}") for path in places for (table,) in sql(path, tables)])
    schema = sql(name, "SELECT current_schema()")[0][0]
    tables = (
        "SELECT schemaname || '.' || tablename FROM pg_tables "
        f"WHERE schemaname IN ('{schema}', '{schema}_views') AND tablename <> 'openings'"
    )
    return str([sql(name, f"SELECT * FROM {table}") for (table,) in sql(name, tables)])


def assert_nobody_named(name: str) -> None:
    """No name and no actor stands in any table but that of the openings."""
    told = kept(name)
    assert "match_started.v1" in told
    for secret in SECRETS:
        for form in (secret, secret.split()[1], str(secret.encode())[2:-1]):
            assert form not in told


def assert_sound(matches: Matches) -> None:
    assert [str(fault) for fault in Check(matches.recorder).faults()] == []


# ------------------------------------------------------------ play


class TestPlay:
    """What is recorded of a private match."""

    def test_names_are_in_no_line(self, matches: Matches) -> None:
        """Names and actors are replaced before anything is judged; each has one commitment, and its opening is kept."""
        answer = matches.start(begin(meta={"actor": SECRETS[2]}))
        matches.give("quiet", ACTED)
        matches.give("quiet", release())
        matches.give_all("quiet", [ACTED, release(1, actor=SECRETS[0])])
        assert json.loads(answer.entry.command_json)["private"] is True
        ada, bo, *actors = hidden(matches)
        assert len({ada, bo, *actors}) == 3
        assert actors == [actors[0], actors[0], actors[0], ada]
        assert values(matches) == sorted(SECRETS)
        assert {each.commitment for each in matches.openings("quiet")} == {ada, bo, actors[0]}
        assert len({each.salt for each in matches.openings("quiet")}) == 3
        assert_sound(matches)

    def test_same_person_in_another_match_has_another_commitment(self, matches: Matches) -> None:
        """Commitments of two matches are not to be compared: nobody sees that the same people played."""
        matches.start(begin())
        matches.start(begin(match="other"))
        assert set(hidden(matches)).isdisjoint(hidden(matches, "other"))
        assert values(matches) == values(matches, "other") == sorted(SECRETS[:2])

    def test_names_are_in_no_table_but_one(
        self, durable_store: str, monkeypatch: pytest.MonkeyPatch, program: Program
    ) -> None:
        """Events, snapshots, ids and the views of all questions are without names and actors."""
        monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 2)
        with stores.create(durable_store) as matches:
            matches.start(begin(meta={"id": "s", "actor": SECRETS[2]}))
            matches.give_all("quiet", [release(1, id=str(n), actor=SECRETS[n % 3]) for n in range(5)])
            assert matches.recorder.query("SELECT count(*) FROM stored_snapshots") == [(1,)]
            assert matches.recorder.query("SELECT count(*) FROM command_ids") == [(6,)]
        for question in ("matches", "players", "life", "census"):
            of = [] if question in {"matches", "players"} else ["quiet"]
            told = program(question, *of, "--db", durable_store)
            assert (told.status, told.err) == (0, "")
            assert "sha256:" not in told.out
        as_json = program("matches", "--db", durable_store, "--format", "json")
        assert as_json.out.count("sha256:") == 2
        assert_nobody_named(durable_store)
        assert set(SECRETS) <= {value for (value,) in sql(durable_store, "SELECT value FROM openings")}

    def test_ordinary_match_has_no_openings(self, matches: Matches, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another match keeps its names as they are given, and the table of openings is not even looked for."""
        asked, has_table = list[str](), matches.recorder.has_table

        def noted(table: str) -> bool:
            asked.append(table)
            return has_table(table)

        monkeypatch.setattr(matches.recorder, "has_table", noted)
        matches.start(begin(private=False, meta={"id": "s"}))
        assert matches.start(begin(private=False, meta={"id": "s"})).repeated
        matches.give_all("quiet", [ACTED, ACTED])
        assert matches.fork("quiet", 2, "branch").entry.number == 2
        assert "openings" not in asked
        (first, *_) = matches.entries("quiet")
        assert b'"name":"Ada Lovelace"' in first.line
        assert b"private" not in first.line

    def test_no_such_match(self, matches: Matches) -> None:
        """Openings of a match that is not there are asked for in vain, and of an ordinary one there are none."""
        matches.start(start())
        assert matches.openings("duel") == []
        with pytest.raises(MatchNotFoundError, match="quiet"):
            matches.openings("quiet")

    def test_commitment_for_a_name_is_a_name_like_any_other(self, matches: Matches) -> None:
        """Who gives what looks like a commitment gets a commitment to that: nobody takes another's place by it."""
        matches.start(begin())
        ada = hidden(matches)[0]
        matches.give("quiet", release(actor=ada))
        actor = hidden(matches)[-1]
        assert actor != ada
        assert values(matches) == sorted([*SECRETS[:2], ada])

    def test_name_of_full_length(self, matches: Matches) -> None:
        """Any text that a name may be is hidden: the longest ones, and of characters of every kind."""
        odd = ["x" * 500, "\U0010ffff" * 500, "%s", "?", "'\"\\", "sha256:"]
        seats = [{"player": f"p{n}", "name": name} for n, name in enumerate(odd)]
        matches.start(begin(players=seats))
        assert values(matches) == sorted(odd)
        assert_sound(matches)


class TestRefused:
    """What is refused leaves nothing."""

    def test_refused_command_leaves_no_opening(self, matches: Matches) -> None:
        """A refused command changes no table; later commands of its actor get a commitment as if it had never been."""
        matches.start(begin())
        with pytest.raises(Refusal):
            matches.give("quiet", json.dumps(PAY))
        with pytest.raises(Refusal):
            matches.start(begin(match="quiet", players=[{"player": "a", "name": "Eve"}, {"player": "b"}]))
        assert values(matches) == sorted(SECRETS[:2])

    def test_refused_command_of_a_batch_leaves_no_opening(self, matches: Matches) -> None:
        """In a batch that goes on past refusals only actors of accepted commands are kept."""
        matches.start(begin())
        outcomes = matches.give_all("quiet", [json.dumps(PAY), ACTED, json.dumps(PAY), ACTED], keep_going=True)
        assert [isinstance(outcome, Answer) for outcome in outcomes] == [False, True, False, True]
        assert values(matches) == sorted(SECRETS)
        _, _, one, other = hidden(matches)
        assert one == other

    def test_refused_start_leaves_no_match(self, matches: Matches) -> None:
        """A private match whose start is refused is not there, and nobody is named."""
        with pytest.raises(Refusal):
            matches.start(begin(meta={"expect": 7, "actor": SECRETS[2]}))
        assert not matches.has("quiet")
        assert matches.recorder.query("SELECT * FROM openings") == []


class TestAgain:
    """Retries, restarts, other writers and lost connections."""

    def test_retry_gets_the_first_answer(self, durable_store: str) -> None:
        """A command with a known `meta.id`, the start among them, is answered from the record, from any process."""
        with stores.create(durable_store) as matches:
            first = matches.start(begin(meta={"id": "s"}))
            given = matches.give("quiet", release(2, id="a", actor=SECRETS[2]))
            assert matches.start(begin(meta={"id": "s"})).repeated
        with stores.open_to_write(durable_store) as matches:
            again = matches.start(begin(meta={"id": "s", "actor": "somebody else"}))
            assert (again.repeated, again.entry) == (True, first.entry)
            again = matches.give("quiet", release(2, id="a", actor="somebody else"))
            assert (again.repeated, again.entry) == (True, given.entry)
            assert values(matches) == sorted(SECRETS)

    def test_retry_without_a_name_of_its_own(self, matches: Matches) -> None:
        """A nameless start that is given again goes on with the match that it began."""
        nameless = json.dumps({key: value for key, value in START.items() if key != "match"} | {"meta": {"id": "s"}})
        assert matches.start(nameless, "table").match == "table"
        again = matches.start(nameless, "table")
        assert (again.match, again.repeated) == ("table", True)

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param({"private": False}, id="in the open"),
            pytest.param({"players": SEATS[::-1]}, id="seats changed"),
            pytest.param({"players": [SEATS[0], SEATS[1] | {"name": "Eve"}]}, id="another name"),
            pytest.param({"players": [SEATS[0], {"player": "bo"}]}, id="no name"),
        ],
    )
    def test_other_content_under_the_same_id_is_refused(self, matches: Matches, other: dict[str, Any]) -> None:
        """An id stands for one start: with other names it is refused, and the names are not kept."""
        matches.start(begin(meta={"id": "s"}))
        with pytest.raises(Refusal) as refused:
            matches.start(begin(meta={"id": "s"}, **other))
        assert refused.value.path == "/meta/id"
        assert values(matches) == sorted(SECRETS[:2])

    def test_id_twice_in_a_batch(self, matches: Matches) -> None:
        """A retry within a batch has one effect and needs no second commitment."""
        matches.start(begin(meta={"id": "s"}))
        batch = [begin(meta={"id": "s"}), release(id="a", actor=SECRETS[2]), release(id="a", actor="x")]
        outcomes = matches.give_all("quiet", batch)
        assert [isinstance(outcome, Answer) and outcome.repeated for outcome in outcomes] == [True, False, True]
        assert values(matches) == sorted(SECRETS)

    def test_other_process_uses_the_same_commitments(self, durable_store: str) -> None:
        """Processes that play one match in turn, each from its own memory, hide a person by one commitment."""
        with stores.create(durable_store) as matches:
            matches.start(begin())
            with writers([("relay", durable_store)] * 2) as both:
                for number in range(2, 8):
                    for writer in both:
                        writer.tell("quiet\t" + release(id=f"{number}", actor=SECRETS[number % 3]))
                    assert sorted(writer.hear() for writer in both) == [f"new {number}", f"repeated {number}"]
            matches.give("quiet", ACTED)
            ada, bo, *actors = hidden(matches)
            assert (len(actors), len({ada, bo, *actors})) == (7, 3)
            assert values(matches) == sorted(SECRETS)
        assert_nobody_named(durable_store)

    def test_lost_race(self, durable_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """When a writer outside of the queue was first, nothing of the attempt stays: no salt that nobody needs."""
        with stores.create(durable_store) as matches:
            put, lost = matches.events.put, [2]

            def lose(*arguments: Any, **options: Any) -> Any:
                put(*arguments, **options)
                lost[0] -= 1
                if lost[0] >= 0:
                    raise IntegrityError

            monkeypatch.setattr(matches.events, "put", lose)
            matches.start(begin())
            assert lost == [-1]
            lost[0] = 2
            matches.give("quiet", ACTED)
            assert set(hidden(matches)) == {each.commitment for each in matches.openings("quiet")}
            assert values(matches) == sorted(SECRETS)
            assert len(list(matches.entries("quiet"))) == 2

    @pytest.mark.parametrize("cut", [Cut("client", commit_sent, half=True), Cut("server", commit_answered, half=True)])
    def test_lost_connection(self, postgres_store: str, cut: Cut) -> None:
        """A connection that breaks in a commit leaves each command stored once, with the openings that it needs."""
        stores.create(postgres_store).close()
        with Proxy(postgres_store) as proxy, stores.open_to_write(proxy.url) as matches:
            matches.start(start())
            proxy.cut(cut)
            matches.start(begin(meta={"id": "s"}))
            proxy.cut(cut)
            matches.give("quiet", release(id="a", actor=SECRETS[2]))
            assert proxy.cuts == 2
            assert set(hidden(matches)) == {each.commitment for each in matches.openings("quiet")}
            assert values(matches) == sorted(SECRETS)
            assert len(list(matches.entries("quiet"))) == 2
            assert_sound(matches)

    def test_after_a_snapshot(self, durable_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A match that is opened from a snapshot is private as it was."""
        monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 2)
        with stores.create(durable_store) as matches:
            matches.start(begin())
            matches.give_all("quiet", [ACTED] * 5)
        with stores.open_to_write(durable_store) as matches:
            assert matches.state("quiet", 6).private
            matches.give("quiet", ACTED)
            assert len(set(hidden(matches)[2:])) == 1
            assert_sound(matches)


class TestOldStores:
    """Stores made before there were private matches."""

    def test_table_is_made_when_it_is_needed(self, durable_store: str) -> None:
        """Without the table everything else goes on, and the first private match makes it."""
        with stores.create(durable_store) as matches:
            matches.start(start())
        sql(durable_store, "DROP TABLE openings")
        with stores.open_to_write(durable_store) as matches:
            matches.give("duel", release(actor=SECRETS[0]))
            assert matches.openings("duel") == []
            assert_sound(matches)
            assert not matches.recorder.has_table("openings")
            matches.start(begin())
            assert values(matches) == sorted(SECRETS[:2])
            assert_sound(matches)

    def test_several_make_it_at_once(self, durable_store: str) -> None:
        """Programs that begin their first private matches at the same moment all succeed."""
        stores.create(durable_store).close()
        sql(durable_store, "DROP TABLE openings")
        barrier, failed = Barrier(6, timeout=30), list[BaseException]()

        def play(name: str) -> None:
            try:
                with stores.open_to_write(durable_store) as matches:
                    barrier.wait()
                    matches.start(begin(match=name))
            except BaseException as error:  # noqa: BLE001 - told below
                failed.append(error)

        threads = [Thread(target=play, args=(f"quiet-{n}",)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        with stores.open_to_read(durable_store) as matches:
            assert [values(matches, f"quiet-{n}") for n in range(6)] == [sorted(SECRETS[:2])] * 6


class TestFork:
    """A fork of a private match is as private."""

    def test_commitments_are_copied(self, matches: Matches) -> None:
        """The commands are as recorded; openings of those who occur go along, and no commitment is committed to."""
        matches.start(begin(meta={"id": "s"}))
        matches.give_all("quiet", [release(actor=SECRETS[0]), release(actor=SECRETS[2])])
        matches.fork("quiet", 2, "branch")
        assert hidden(matches, "branch") == hidden(matches)[:3]
        assert values(matches, "branch") == sorted(SECRETS[:2])
        assert json.loads(next(iter(matches.entries("branch"))).command_json)["private"] is True
        assert_sound(matches)

    def test_fork_is_played_on(self, matches: Matches) -> None:
        """Who acts on in a fork keeps the commitment that came along; others get one that is the fork's own."""
        matches.start(begin())
        matches.give("quiet", ACTED)
        matches.fork("quiet", 1, "branch")
        matches.give_all("branch", [release(actor=SECRETS[0]), ACTED])
        ada, _, first, second = hidden(matches, "branch")
        assert first == ada
        assert second != hidden(matches)[-1]
        assert values(matches, "branch") == sorted(SECRETS)
        exported = match_lines("branch", matches.entries("branch"), openings=matches.openings("branch"))
        assert names(verdicts(unlined(exported))) == ["exact"]

    def test_fork_of_a_match_that_is_closed_to_us(self, matches: Matches) -> None:
        """Without openings the commitments are copied all the same."""
        matches.start(begin())
        matches.recorder.execute("DELETE FROM openings")
        matches.fork("quiet", 1, "branch")
        assert hidden(matches, "branch") == hidden(matches)
        assert values(matches, "branch") == []


# ------------------------------------------------------------ files


def played(store: str) -> str:
    """A store with a private match and another one."""
    with stores.create(store) as matches:
        matches.start(begin(meta={"id": "s"}))
        matches.give_all("quiet", [release(1, id="a", actor=SECRETS[2]), release(2)])
        matches.start(start(players=SEATS))
    return store


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A store from which files come."""
    return played(str(tmp_path / "source.db"))


@pytest.fixture
def other(durable_store: str) -> str:
    """An empty store into which they go."""
    stores.create(durable_store).close()
    return durable_store


def root(path: Path) -> str:
    return str(json.loads(path.read_bytes().splitlines()[-1])["root"])


def openings_of(store: str) -> list[Opening]:
    with stores.open_to_read(store) as matches:
        return matches.openings("quiet")


class TestFiles:
    """Private matches go through files, with their openings or without."""

    def test_redacted_file_differs_by_one_line(self, source: str, program: Program) -> None:
        """`--redact` leaves out the openings and nothing else: root and verdict are the same, and nobody is named."""
        assert program("export", "quiet", "--db", source, "-o", "whole.jsonl").status == 0
        assert program("export", "quiet", "--db", source, "-o", "redacted.jsonl", "--redact").status == 0
        whole, redacted = Path("whole.jsonl"), Path("redacted.jsonl")
        lines = whole.read_bytes().splitlines()
        assert [*lines[:-2], lines[-1]] == redacted.read_bytes().splitlines()
        assert root(whole) == root(redacted)
        assert not any(secret.encode() in redacted.read_bytes() for secret in SECRETS)
        assert all(secret.encode() in whole.read_bytes() for secret in SECRETS)
        assert program("verify", "whole.jsonl", "redacted.jsonl").status == 0

    def test_archive(self, source: str, program: Program) -> None:
        """In an archive the private match has its openings, and the other one is as ever; redacted, neither has any."""
        assert program("export", "--all", "--db", source, "-o", "all.jsonl").status == 0
        assert program("export", "--all", "--db", source, "-o", "redacted.jsonl", "--redact").status == 0
        whole, redacted = Path("all.jsonl").read_bytes(), Path("redacted.jsonl").read_bytes()
        assert (whole.count(b'{"openings":'), redacted.count(b'{"openings":')) == (1, 0)
        assert redacted == b"".join(line for line in whole.splitlines(keepends=True) if b'{"openings":' not in line)
        assert names(verdicts(whole)) == names(verdicts(redacted)) == ["exact", "exact"]

    @pytest.mark.parametrize("order", [("whole", "redacted"), ("redacted", "whole")])
    def test_import_in_either_order(self, source: str, other: str, order: tuple[str, str], program: Program) -> None:
        """The openings come with the file that has them, sooner or later; the one that lacks them takes none away."""
        program("export", "quiet", "--db", source, "-o", "whole.jsonl")
        program("export", "quiet", "--db", source, "-o", "redacted.jsonl", "--redact")
        told = [program("import", f"{name}.jsonl", "--db", other) for name in (*order, *order)]
        assert [done.status for done in told] == [0, 0, 0, 0]
        first, second, *_ = [done.out.strip() for done in told]
        if order[0] == "whole":
            assert first == "quiet: imported, 3 entries, 3 openings added"
            assert second == "quiet: was there already, 3 entries"
        else:
            assert first == "quiet: imported, 3 entries"
            assert second == "quiet: was there already, 3 entries, 3 openings added"
        assert [done.out.strip() for done in told[2:]] == ["quiet: was there already, 3 entries"] * 2
        assert openings_of(other) == openings_of(source)
        assert program("export", "quiet", "--db", other, "-o", "again.jsonl").status == 0
        assert Path("again.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
        assert program("check", "--db", other).status == 0

    def test_import_as_data(self, source: str, other: str, program: Program) -> None:
        """As JSON it is told how many openings were stored with a match."""
        program("export", "quiet", "--db", source, "-o", "whole.jsonl")
        for expected in (("imported", 3), ("there", 0)):
            (told,) = json.loads(program("import", "whole.jsonl", "--db", other, "--format", "json").out)["matches"]
            assert (told["outcome"], told["openings"]) == expected

    def test_imported_match_is_played_on(self, source: str, other: str, program: Program) -> None:
        """In another store retries are known, and people keep their commitments, where the openings came along."""
        program("export", "quiet", "--db", source, "-o", "whole.jsonl")
        assert program("import", "whole.jsonl", "--db", other).status == 0
        with stores.open_to_write(other) as matches:
            assert matches.start(begin(meta={"id": "s"})).repeated
            matches.give("quiet", release(actor=SECRETS[0]))
            assert hidden(matches)[-1] == hidden(matches)[0]

    def test_redacted_match_is_played_on(self, source: str, other: str, program: Program) -> None:
        """Where they did not, a person gets another commitment, and openings that come later find both."""
        program("export", "quiet", "--db", source, "-o", "whole.jsonl")
        program("export", "quiet", "--db", source, "-o", "redacted.jsonl", "--redact")
        assert program("import", "redacted.jsonl", "--db", other).status == 0
        with stores.open_to_write(other) as matches:
            with pytest.raises(Refusal) as refused:
                matches.start(begin(meta={"id": "s"}))  # nobody can tell any more whose names these were
            assert refused.value.path == "/meta/id"
            matches.give("quiet", release(actor=SECRETS[0]))
        assert program("import", "whole.jsonl", "--db", other).status == 0
        with stores.open_to_write(other) as matches:
            assert matches.start(begin(meta={"id": "s"})).repeated
            assert values(matches) == sorted([*SECRETS, SECRETS[0]])
            assert program("export", "quiet", "--db", other, "-o", "longer.jsonl").status == 0
        assert program("verify", "longer.jsonl").status == 0

    @pytest.mark.parametrize("salvage", [False, True])
    def test_false_openings_are_not_stored(self, source: str, other: str, salvage: bool, program: Program) -> None:  # noqa: FBT001
        """A file whose openings are false is damaged; what is salvaged of it is the match without any openings."""
        program("export", "quiet", "--db", source, "-o", "whole.jsonl")
        path = Path("whole.jsonl")
        path.write_bytes(path.read_bytes().replace(SECRETS[0].encode(), b"Somebody Else"))
        done = program("import", path, "--db", other, *(["--salvage"] if salvage else []))
        assert done.status == 4
        with stores.open_to_read(other) as matches:
            assert matches.has("quiet") is salvage
        if salvage:
            assert openings_of(other) == []
            assert program("export", "quiet", "--db", other, "-o", "salvaged.jsonl").status == 0
            assert program("verify", "salvaged.jsonl").status == 0

    def test_import_that_was_cut_short(
        self, source: str, other: str, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Openings are stored with the last entries: a match that is whole has them, whenever the import was killed."""
        monkeypatch.setattr(archives, "AT_ONCE", 2)
        program("export", "quiet", "--db", source, "-o", "whole.jsonl")
        record = Matches.record

        def once(self: Matches, *arguments: Any, **options: Any) -> None:
            record(self, *arguments, **options)
            raise KeyboardInterrupt

        monkeypatch.setattr(Matches, "record", once)
        assert program("import", "whole.jsonl", "--db", other).status != 0
        assert openings_of(other) == []
        monkeypatch.setattr(Matches, "record", record)
        assert program("import", "whole.jsonl", "--db", other).status == 0
        assert openings_of(other) == openings_of(source)

    def test_other_record_under_the_same_name(self, source: str, other: str, program: Program) -> None:
        """Openings of a match that the store has otherwise are refused with it."""
        program("export", "quiet", "--db", source, "-o", "whole.jsonl")
        with stores.open_to_write(other) as matches:
            matches.start(begin(meta={"id": "s"}))
            before = matches.openings("quiet")
        assert program("import", "whole.jsonl", "--db", other).status == 1
        assert openings_of(other) == before

    def test_openings_of_nobody_are_not_exported(self, source: str, program: Program) -> None:
        """What the table has beside the match, by whatever hand, makes no damaged file."""
        with stores.open_to_write(source) as matches:
            matches.add_openings("quiet", [opening(bytes(16), "stray")])
        assert program("export", "quiet", "--db", source, "-o", "whole.jsonl").status == 0
        assert program("verify", "whole.jsonl").status == 0
        assert b"stray" not in Path("whole.jsonl").read_bytes()

    def test_many_actors(self, source: str, other: str, program: Program) -> None:
        """A match in which hundreds act has an opening for each, through files as well."""
        actors = [f"actor {n}" for n in range(250)]
        with stores.open_to_write(source) as matches:
            matches.give_all("quiet", [release(n % 4, actor=actor) for n, actor in enumerate(actors)])
            assert values(matches) == sorted([*SECRETS, *actors])
        program("export", "quiet", "--db", source, "-o", "whole.jsonl.zst")
        assert program("import", "whole.jsonl.zst", "--db", other).status == 0
        assert openings_of(other) == openings_of(source)


class TestCheck:
    """The check knows openings."""

    @pytest.mark.parametrize(
        ("statement", "told"),
        [
            pytest.param("UPDATE openings SET value='Eve' WHERE value='judge Mo'", "another salt or value", id="value"),
            pytest.param("UPDATE openings SET salt='0'", "another salt or value", id="salt"),
            pytest.param(f"UPDATE openings SET commitment='sha256:{'0' * 64}' WHERE value='judge Mo'", "0000", id="of"),
            pytest.param(
                "INSERT INTO openings SELECT 'gone', commitment, salt, value FROM openings", "no such match", id="match"
            ),
        ],
    )
    def test_false_opening_is_found(self, durable_store: str, statement: str, told: str) -> None:
        """An opening that opens nothing, or of a match that is not there, is damage; the names are not told."""
        source = played(durable_store)
        with stores.open_to_read(source) as matches:
            assert_sound(matches)
        sql(source, statement)
        with stores.open_to_read(source) as matches:
            found = list(Check(matches.recorder).faults())
        assert found
        assert {fault.kind for fault in found} == {"damaged"}
        assert told in str(found[0])
        assert not any(secret in str(fault) for fault in found for secret in SECRETS)

    @pytest.mark.parametrize(
        ("statement", "left"),
        [
            ("DELETE FROM openings WHERE originator_id = 'quiet'", []),
            (f"DELETE FROM openings WHERE value IN ('{SECRETS[0]}', 'ada@example.com')", [*SECRETS[1:]]),
        ],
        ids=["a match", "a person"],
    )
    def test_names_can_be_forgotten(self, durable_store: str, statement: str, left: list[str]) -> None:
        """Openings can be deleted: the store is sound, the lines stay as they are, and the match is played on."""
        played(durable_store)
        with stores.open_to_write(durable_store) as matches:
            before = [entry.line for entry in matches.entries("quiet")]
            sql(durable_store, statement)
            assert values(matches) == sorted(left)
            assert_sound(matches)
            assert [entry.line for entry in matches.entries("quiet")] == before
            exported = list(match_lines("quiet", matches.entries("quiet"), openings=matches.openings("quiet")))
            assert names(verdicts(unlined(exported))) == ["exact"]
            with pytest.raises(Refusal):
                matches.start(begin(meta={"id": "s"}))
            matches.give("quiet", release(actor=SECRETS[0]))
            assert hidden(matches)[-1] != hidden(matches)[0]
            assert values(matches) == sorted([*left, SECRETS[0]])
