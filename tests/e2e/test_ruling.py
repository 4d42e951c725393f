"""`soulrift ruling` as a judge uses it: looked at first, then given, and told as a ruling ever after."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from domain.application import Matches
from soulrift import store as stores
from tests.e2e.conftest import Run, script
from tests.recordings import Program, in_process

BURNED = script(
    {"type": "begin_turn", "player": "ada"},
    {"type": "release", "rank": 3},
    {"type": "pay", "player": "ada", "amount": 1, "souls": [1], "effect": "Flame"},  # 4 - 1 burn: 9 life
    {"type": "fizzle", "payment": 1},  # 1 burns: 3 life
)
"""A match in which entry 4 burned 9 life of ada's, and entry 5 another 3."""

BACK = '{"life":{"player":"ada","delta":9}}'

JUDGE = ("--judge", "R. Oda", "--reason", "misread card")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    """The program, in this process."""
    return in_process(monkeypatch, capfd)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with that match."""
    return with_match(str(tmp_path / "soulrift.db"))


def with_match(store: str, commands: str = BURNED) -> str:
    first, *others = commands.splitlines()
    with stores.create(store) as matches:
        matches.give_all(matches.start(first).match, others)
    return store


def entries(store: str) -> list[bytes]:
    with stores.open_to_read(store) as matches:
        return [entry.line for entry in matches.entries("duel")]


def on_disk(store: str) -> str:
    """The hash of the store's file; what would be written into it, but is not yet, would stand beside it."""
    log = Path(f"{store}-wal")
    assert not log.exists() or not log.read_bytes()
    return sha256(Path(store).read_bytes()).hexdigest()


class TestPreview:
    """What a ruling would change."""

    def test_changes_nothing(self, run: Run, store: str) -> None:
        """It is told what would change, and as which command; the store has the same bytes as before."""
        before = on_disk(store)
        done = run("ruling", "duel", "--about", "4", *JUDGE, "--correct", BACK)
        assert (done.returncode, done.stderr) == (0, "")
        assert on_disk(store) == before
        assert "The ruling would change:" in done.stdout
        (row,) = [line.split() for line in done.stdout.splitlines() if "/players/ada/life" in line]
        assert row == ["/players/ada/life", "18", "27"]
        command = json.loads(done.stdout.splitlines()[-1])
        assert command == {
            "type": "ruling",
            "judge": "R. Oda",
            "reason": "misread card",
            "about": 4,
            "corrections": [{"life": {"player": "ada", "delta": 9}}],
            "meta": {"id": command["meta"]["id"], "expect": 5},
        }

    def test_command_can_be_played(self, run: Run, store: str) -> None:
        """The command that is shown can be given as it stands, once."""
        shown = run("ruling", "duel", *JUDGE, "--correct", BACK).stdout.splitlines()[-1]
        assert run("play", "-", "--match", "duel", stdin=shown).returncode == 0
        assert len(entries(store)) == 6
        run("play", "-", "--match", "duel", stdin=shown)
        assert len(entries(store)) == 6

    def test_json(self, program: Program, store: str) -> None:
        """As data: the command, the events, and each place of the state that changes, but no hash or count."""
        before = on_disk(store)
        arguments = ("--correct", BACK, "--correct", '{"new_soul":{"rank":1,"to":"aether"}}', "--format", "json")
        done = program("ruling", "duel", *JUDGE, *arguments, "--db", store)
        found = json.loads(done.out)
        assert (done.status, found["given"], found["command"]["meta"]["expect"]) == (0, False, 5)
        assert [event["type"] for event in found["events"]] == ["ruling_made"]
        assert {each["path"]: (each["before"], each["after"]) for each in found["changes"]} == {
            "/players/ada/life": (18, 27),
            "/aether/0": (None, {"rank": 1, "soul": 2}),
            "/numbered/souls": (1, 2),
        }
        assert on_disk(store) == before

    def test_defeat_is_foreseen(self, program: Program, store: str) -> None:
        """What follows from a ruling is told too: somebody falls, and the match ends (J-3)."""
        done = program(
            "ruling",
            "duel",
            *JUDGE,
            "--correct",
            '{"life":{"player":"ada","delta":-18}}',
            "--format",
            "json",
            "--db",
            store,
        )
        found = json.loads(done.out)
        assert [event["type"] for event in found["events"]] == ["ruling_made", "player_defeated", "match_ended"]
        assert {"path": "/winner", "before": None, "after": "bo"} in found["changes"]
        assert len(entries(store)) == 5


class TestGiven:
    """A ruling that is appended."""

    def test_appended(self, run: Run, store: str) -> None:
        """It is one entry more, with the time and how many entries there were; what stands before it stays."""
        before = entries(store)
        done = run("ruling", "duel", "--about", "4", *JUDGE, "--correct", BACK, "--give")
        assert (done.returncode, done.stderr) == (0, "")
        assert "The ruling changes:" in done.stdout
        after = entries(store)
        assert after[:-1] == before
        entry = json.loads(after[-1])
        assert entry["command"]["meta"]["expect"] == 5
        assert entry["command"]["meta"]["at"].endswith("Z")
        assert "actor" not in entry["command"]["meta"]
        assert (entry["events"][0]["type"], entry["events"][0]["about"]) == ("ruling_made", 4)

    def test_told_as_a_ruling(self, run: Run, store: str) -> None:
        """Life, history, why and the audit tell the life that came back as a ruling's, by J-1."""
        new_soul = '{"new_soul":{"rank":2,"to":"aether"}}'
        run("ruling", "duel", "--about", "4", *JUDGE, "--correct", BACK, "--correct", new_soul, "--give")
        (row,) = [line for line in run("life", "duel").stdout.splitlines() if "+9" in line]
        assert "misread card" in row
        assert "J-1" in row
        assert "by a judge" in run("history", "duel").stdout
        told = run("why", "duel", "--life", "ada").stdout
        assert "R. Oda" in told
        assert "J-1" in told
        found = json.loads(run("audit", "duel", "--format", "json").stdout)
        (ada,) = [each for each in found["players"] if each["player"] == "ada"]
        assert (ada["overpay"], ada["fizzle"], ada["changes"], ada["rulings"], ada["life"]) == (9, 3, 0, 9, 27)
        assert [(each["entry"], each["about"], each["judge"]) for each in found["rulings"]] == [(6, 4, "R. Oda")]
        assert run("check").returncode == 0
        assert len(entries(store)) == 6

    def test_in_any_store(self, program: Program, durable_store: str) -> None:
        """A ruling is shown and given in every kind of store; the same words again are the same ruling, given once."""
        with_match(durable_store)
        arguments = ("ruling", "duel", *JUDGE, "--correct", BACK, "--db", durable_store)
        assert program(*arguments).status == 0
        assert len(entries(durable_store)) == 5
        assert program(*arguments, "--give").status == 0
        again = program(*arguments, "--give")
        assert (again.status, again.out, "entry 6" in again.err) == (2, "", True)
        assert len(entries(durable_store)) == 6
        assert program(*arguments, "--about", "4", "--give").status == 0
        assert len(entries(durable_store)) == 7

    def test_reopened(self, program: Program, tmp_path: Path) -> None:
        """A match that has ended may go on by a ruling."""
        store = with_match(str(tmp_path / "soulrift.db"), BURNED + '{"type":"concede","player":"bo"}\n')
        undone = ("--correct", '{"defeated":{"player":"bo","defeated":false}}')
        running = ("--correct", '{"result":{"status":"running"}}')
        done = program("ruling", "duel", *JUDGE, *undone, *running, "--give", "--db", store)
        assert done.status == 0
        shown = json.loads(program("show", "duel", "--format", "json", "--db", store).out)
        assert (shown["status"], shown["winner"], shown["players"]["bo"]["defeated"]) == ("running", None, False)
        found = json.loads(program("audit", "duel", "--format", "json", "--db", store).out)
        assert (found["status"], found["ended"]) == ("running", None)

    def test_private_match(self, program: Program, tmp_path: Path) -> None:
        """A ruling in a private match names nobody, neither before nor after it is given."""
        start = {"type": "start_match", "match": "duel", "private": True}
        players = [{"player": "ada", "name": "Ada Lovelace"}, {"player": "bo", "name": "Bo"}]
        store = with_match(str(tmp_path / "soulrift.db"), json.dumps({**start, "players": players}) + "\n")
        for more in ((), ("--give",)):
            done = program("ruling", "duel", *JUDGE, "--correct", BACK, *more, "--db", store)
            assert (done.status, "Lovelace" in done.out, "sha256" in done.out) == (0, False, False)
        assert program("check", "--db", store).status == 0


class TestSuggestion:
    """What gives back the life that burned."""

    def test_what_burned(self, program: Program, store: str) -> None:
        """With an entry alone, it is told how its 9 life are given back; nothing is done."""
        before = on_disk(store)
        done = program("ruling", "duel", "--about", "4", *JUDGE, "--db", store)
        assert (done.status, done.out) == (2, "")
        (told,) = [part for part in done.err.replace("\n", "").split("'") if part.startswith("{")]
        assert json.loads(told) == {"life": {"player": "ada", "delta": 9}}
        given = program("ruling", "duel", "--about", "4", *JUDGE, "--correct", told, "--give", "--db", store)
        assert given.status == 0
        assert before

    @pytest.mark.parametrize("about", [("--about", "3"), ()])
    def test_nothing_burned(self, program: Program, store: str, about: tuple[str, ...]) -> None:
        """Where nothing burned, it is asked what is to be corrected."""
        done = program("ruling", "duel", *about, *JUDGE, "--db", store)
        assert (done.status, done.out) == (2, "")
        assert "--correct" in done.err
        assert "given back" not in done.err


class TestRefused:
    """Rulings that cannot be."""

    @pytest.mark.parametrize(
        ("correction", "status", "told"),
        [
            ('{"new_soul":{"rank":4,"to":"aether"}}', 1, "J-2"),
            ('{"soul":{"soul":1,"to":"aether"}}', 1, "input"),
            ('{"life":{"player":"eve","delta":3}}', 1, "input"),
            ('{"life":{"player":"ada","delta":0}}', 1, "input"),
            ('{"life":{"player":"ada"}}', 1, "input"),
            ('{"mercy":true}', 1, "input"),
            ("{}", 1, "input"),
            ("[]", 2, "--correct"),
            ("nonsense", 2, "--correct"),
            ('{"life":', 2, "--correct"),
            ("", 2, "--correct"),
        ],
    )
    def test_corrections(self, program: Program, store: str, correction: str, status: int, told: str) -> None:
        """What the rules refuse is told by its rule, what cannot be read by its option; nothing is appended."""
        before = on_disk(store)
        for more in ((), ("--give",)):
            done = program("ruling", "duel", *JUDGE, "--correct", correction, *more, "--db", store)
            assert (done.status, done.out) == (status, "")
            assert told in done.err
            assert len(entries(store)) == 5
        assert on_disk(store) == before

    @pytest.mark.parametrize(
        ("arguments", "status"),
        [
            (("nobody", *JUDGE, "--correct", BACK), 1),
            (("duel", *JUDGE, "--about", "0", "--correct", BACK), 2),
            (("duel", *JUDGE, "--about", "6", "--correct", BACK), 2),
            (("duel", *JUDGE, "--about", str(2**70), "--correct", BACK), 2),
            (("duel", "--judge", "R. Oda", "--correct", BACK), 2),
            (("duel", "--judge", "", "--reason", "x", "--correct", BACK), 1),
            (("duel", "--judge", "x" * 501, "--reason", "x", "--correct", BACK), 1),
            (("duel", "--judge", "a\nb", "--reason", "x", "--correct", BACK), 1),
        ],
    )
    def test_usage(self, program: Program, store: str, arguments: tuple[str, ...], status: int) -> None:
        """Matches and entries that are not there, and words that no record takes."""
        done = program("ruling", *arguments, "--db", store)
        assert (done.status, done.out) == (status, "")
        assert done.err
        assert len(entries(store)) == 5

    def test_no_store_is_made(self, run: Run, tmp_path: Path) -> None:
        """Whoever asks where there is no store makes none."""
        for more in ((), ("--give",)):
            assert run("ruling", "duel", *JUDGE, "--correct", BACK, *more).returncode == 2
        assert list(tmp_path.iterdir()) == []

    def test_match_that_went_on(self, program: Program, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A ruling on a match that went on meanwhile is refused: whoever rules has not seen what came."""
        state = Matches.state

        def and_then(matches: Any, match: str, *more: Any) -> Any:
            found = state(matches, match, *more)
            monkeypatch.undo()
            with stores.open_to_go_on(store) as others:
                others.give(match, '{"type":"release"}')
            return found

        monkeypatch.setattr(Matches, "state", and_then)
        done = program("ruling", "duel", *JUDGE, "--correct", BACK, "--give", "--db", store)
        assert (done.status, len(entries(store))) == (1, 6)
        assert "6" in done.err
