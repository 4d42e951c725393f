"""Forks, what-ifs and differences: recordings played on changed ground, and compared."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain import Refusal, decode_command
from domain.application import EntryNotFoundError, Matches, MatchNotFoundError
from domain.check import Check
from domain.entry import line_of
from domain.rules.versions import UnknownRulesError
from replays.branches import Change, Illegal, what_if
from replays.diff import diff
from soulrift import store as stores

EXAMPLE = Path(__file__).parents[2] / "examples" / "long-duel.jsonl"
COMMANDS = [line for line in EXAMPLE.read_bytes().splitlines() if line.startswith(b"{")]


@pytest.fixture
def duel(any_store: str) -> Any:
    """A store with the long duel of the examples: 89 entries, won by ilse."""
    with stores.create(any_store) if any_store != ":memory:" else stores.open_to_write(any_store) as matches:
        matches.start(COMMANDS[0], "long-duel")
        matches.give_all("long-duel", COMMANDS[1:])
        yield matches


def lines(matches: Matches, match: str = "long-duel") -> list[bytes]:
    return [entry.line for entry in matches.entries(match)]


class TestFork:
    """A match that begins with the first commands of another one."""

    @pytest.mark.parametrize("at", [1, 50, 89])
    def test_it_is_the_same_so_far(self, duel: Matches, at: int) -> None:
        """All lines but the first are those of the original; the first names the fork and where it comes from."""
        answer = duel.fork("long-duel", at, "fork")
        assert answer.entry.number == at
        original, forked = lines(duel)[:at], lines(duel, "fork")
        assert forked[1:] == original[1:]
        start = json.loads(forked[0])["events"][0]
        assert (start["match"], start["origin"]) == ("fork", {"match": "long-duel", "entry": at})
        assert json.loads(forked[0])["state_hash"] == json.loads(original[0])["state_hash"]
        assert list(Check(duel.recorder).faults()) == []

    def test_it_goes_its_own_way(self, duel: Matches) -> None:
        """What is played in the fork is not in the original, and can be forked again."""
        duel.fork("long-duel", 50, "fork")
        duel.give("fork", json.dumps({"type": "concede", "player": "ilse"}))
        duel.fork("fork", 51, "again")
        assert duel.state("again").winner == "tomas"
        assert duel.state("long-duel").entries == 89

    @pytest.mark.parametrize("at", [0, -1, 90])
    def test_there_must_be_such_an_entry(self, duel: Matches, at: int) -> None:
        """Entries are numbered from 1 to the last; nothing begins at another one."""
        with pytest.raises(EntryNotFoundError, match="1 to 89"):
            duel.fork("long-duel", at, "fork")
        assert not duel.has("fork")

    def test_a_taken_name_is_refused(self, duel: Matches) -> None:
        """A match of that name stays as it is."""
        before = lines(duel)
        with pytest.raises(Refusal, match="there is a match"):
            duel.fork("long-duel", 20, "long-duel")
        assert lines(duel) == before

    def test_there_must_be_such_a_match(self, duel: Matches) -> None:
        """A fork of nothing is none."""
        with pytest.raises(MatchNotFoundError):
            duel.fork("short-duel", 1, "fork")


class TestWhatIf:
    """A recording with a change."""

    def test_nothing_is_otherwise(self, duel: Matches) -> None:
        """With the command that it had, the match is what it was."""
        found = what_if(lines(duel), Change(at=43, instead=decode_command(COMMANDS[42])))
        assert (found.illegal, found.changed) == ((), ())
        assert found.recorded == found.otherwise
        assert found.recorded.winner == "ilse"

    def test_dearer_soulburn_ends_it_sooner(self, duel: Matches) -> None:
        """At 9 life a power, not 3, tomas burns 9 in entry 21 and 18 in entry 61: 27 - 9 - 4 - 3 - 2 - 18 = -9."""
        found = what_if(lines(duel), Change(ruleset={"soulburn_per_power": 9}))
        assert found.otherwise.life == {"ilse": 18, "tomas": -9}
        assert (found.otherwise.status, found.otherwise.winner, found.otherwise.entries) == ("ended", "ilse", 61)
        assert [(each.entry, each.rule) for each in found.illegal] == [(entry, "L-5") for entry in range(62, 90)]
        first, last = found.changed
        assert (first.entry, last.entry) == (21, 61)
        assert [(each.path, each.expected, each.found) for each in first.differences] == [("/1/damage", 3, 9)]

    def test_a_soul_laid_elsewhere_is_not_at_hand(self, duel: Matches) -> None:
        """Soul 5 on ilse's lantern is never tomas's, so that he cannot open the Rift of entry 59 with it (P-2)."""
        instead = decode_command('{"type": "reap", "souls": [5], "card": "i-lantern"}')
        found = what_if(lines(duel), Change(at=43, instead=instead))
        assert (found.illegal[0].entry, found.illegal[0].command, found.illegal[0].rule) == (59, "open_rift", "P-2")
        assert all(isinstance(each, Illegal) for each in found.illegal)
        assert duel.state("long-duel").entries == 89

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            (Change(ruleset={"soulburn_per_power": -1}), Refusal),
            (Change(ruleset={"no_such_field": 1}), Refusal),
            (Change(at=2, instead=decode_command('{"type": "release", "rank": 9}')), Refusal),
            (Change(rules=2), UnknownRulesError),
        ],
    )
    def test_a_change_that_cannot_be_is_refused(self, duel: Matches, change: Change, error: type[Exception]) -> None:
        """The changed command itself must be legal, the ruleset one that a match can have, the rules known."""
        with pytest.raises(error):
            what_if(lines(duel), change)


class TestDiff:
    """Two recordings."""

    def test_the_same(self, duel: Matches) -> None:
        """A match, its fork and its record with other meta are the same as far as they go."""
        duel.fork("long-duel", 89, "fork")
        found = diff(lines(duel), lines(duel, "fork"))
        assert (found.entry, found.part, found.before) == (None, None, None)
        assert found.first == found.second
        assert (found.first.life, found.first.souls, found.first.gone) == ({"ilse": 13, "tomas": -3}, 13, 11)

    @pytest.mark.parametrize("turned", [False, True])
    def test_one_ends_sooner(self, duel: Matches, turned: bool) -> None:  # noqa: FBT001 - a parameter
        """The entry that only one of them has is named, and how both stood before it."""
        pair = [lines(duel), lines(duel)[:20]]
        found = diff(*(reversed(pair) if turned else pair))
        assert (found.entry, found.part, found.differences) == (21, "length", ())
        assert found.before is not None
        assert found.before.life == {"ilse": 28, "tomas": 27}
        assert {found.first.entries, found.second.entries} == {20, 89}

    def test_another_command(self, duel: Matches) -> None:
        """A fork that goes another way differs in the command of its first entry of its own."""
        duel.fork("long-duel", 20, "fork")
        duel.give("fork", json.dumps({"type": "resolve", "payment": 1}))
        found = diff(lines(duel), lines(duel, "fork"))
        assert (found.entry, found.part) == (21, "command")
        assert ("/command/type", "fizzle", "resolve") in [
            (each.path, each.expected, each.found) for each in found.differences
        ]
        assert (found.first.entries, found.second.entries) == (89, 21)

    @pytest.mark.parametrize(("part", "path"), [("events", "/events/1/life"), ("state", "/state")])
    def test_other_events_or_state(self, duel: Matches, part: str, path: str) -> None:
        """With the same command the events are compared, then the state's hash."""
        changed = lines(duel)
        entry = json.loads(changed[20])
        if part == "events":
            entry["events"][1]["life"] += 1
        else:
            entry["state_hash"] = "0" * 64
        events = tuple(msgspec.json.encode(event, order="sorted") for event in entry["events"])
        changed[20] = line_of(21, msgspec.json.encode(entry["command"], order="sorted"), events, entry["state_hash"])
        found = diff(lines(duel), changed)
        assert (found.entry, found.part) == (21, part)
        assert [each.path for each in found.differences] == [path]
