"""Replay files are read, broken, cut and forged: what is not as it was written is told, and where."""

import gzip
import io
import json
import re
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given

from domain import Entry, State, canonical_form, fold, play, state_hash
from domain.rules import AnyCommand, Refusal
from replays.differences import Difference, differences_of
from replays.reading import LONGEST_LINE, Reader
from replays.stepping import INTERVAL, Steps, entry_of
from replays.verify import Verified, verify, verify_file
from replays.writing import WRITER, match_lines
from tests.recordings import (
    DUEL,
    EXAMPLES,
    LIFE_CHANGED,
    RUNNING,
    archive_of,
    canonical,
    duel,
    edited,
    file_of,
    lines,
    names,
    played,
    refolded,
    releases,
    running,
    script,
    unlined,
    verdicts,
)
from tests.strategies import matches

CHANGES = 2_000
CUTS = 200

DUEL_LINES = lines(DUEL)
ENTRIES = len(DUEL)
HEADER_LINE, END_LINE = 1, ENTRIES + 2
"""Of the file of the duel, in which entry n stands in line n + 1."""


def the_one(content: bytes) -> Verified:
    """The verdict on a file of which there is one."""
    (verified,) = verdicts(content)
    return verified


def is_exact(content: bytes) -> bool:
    """Whether all there is to say of a file is that it is exact."""
    return set(names(verdicts(content))) == {"exact"}


PARTS = duel().splitlines()
"""The lines of the duel's file."""


def first_byte(line: int) -> int:
    """The byte at which a line of the duel's file begins."""
    return [0, *accumulate(len(part) + 1 for part in PARTS)][line - 1]


# ------------------------------------------------------------ what is written


class TestWritten:
    """Files as this program writes them."""

    @pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
    def test_every_example_is_exact(self, path: Any) -> None:
        """Each example that is played and written is proven to its last entry."""
        entries = played(script(path))
        name = json.loads(entries[0].command_json)["match"]
        content = unlined(match_lines(name, entries))
        assert the_one(content) == Verified(name, "exact", len(entries))

    @pytest.mark.parametrize("commands", [DUEL, RUNNING], ids=["ended", "running"])
    def test_format_is_the_described_one(self, commands: list[dict[str, Any]]) -> None:
        """A file is, byte for byte, what the format's description alone makes: canonical JSON, root and checksum."""
        name, status = commands[0]["match"], "ended" if commands is DUEL else "running"
        found = unlined(match_lines(name, played(commands)))
        assert found == file_of(name, lines(commands), status, writer=WRITER)
        assert found == unlined(canonical(json.loads(line)) for line in found.splitlines())

    @given(matches())
    def test_any_match_is_exact(self, commands: list[AnyCommand]) -> None:
        """Whatever was played, under any ruleset and names, is proven from its file."""
        state, entries = State(), []
        for command in commands:
            try:
                entries.append(play(state, command))
            except Refusal:
                continue
        if entries:
            content = unlined(match_lines(state.match, entries))
            assert the_one(content) == Verified(state.match, "exact", len(entries))

    def test_archive_of_several(self) -> None:
        """An archive has a verdict for each match, in its order."""
        found = verdicts(archive_of(duel(), running(), duel()))
        assert [(each.match, each.verdict, each.entries) for each in found] == [
            ("duel", "exact", ENTRIES),
            ("running", "exact", len(RUNNING)),
            ("duel", "exact", ENTRIES),
        ]

    def test_ruling_that_reopens_a_match(self) -> None:
        """A match that was ended and goes on by a ruling is written as running, and is exact."""
        undone = [
            {"defeated": {"player": "bo", "defeated": False}},
            {"result": {"status": "running"}},
        ]
        ruling = {"type": "ruling", "judge": "Mo", "reason": "a slip", "corrections": undone}
        content = unlined(match_lines("duel", played([*DUEL, ruling])))
        assert json.loads(content.splitlines()[-1])["status"] == "running"
        assert the_one(content) == Verified("duel", "exact", ENTRIES + 1)


# ------------------------------------------------------------ one byte


PLACES = {
    "the header's first brace": (HEADER_LINE, rb"\{"),
    "the header's key": (HEADER_LINE, rb"match"),
    "the match's name": (HEADER_LINE, rb"duel"),
    "the format's number": (HEADER_LINE, rb"1"),
    "a command's type": (6 + 1, rb"release"),
    "a command's number": (8 + 1, rb"-2"),
    "a command's name": (8 + 1, rb"ada"),
    "meta's id": (6 + 1, rb"c-6"),
    "meta's time": (6 + 1, rb"11:00:12"),
    "meta's actor": (6 + 1, rb"table-1"),
    "the start's meta": (1 + 1, rb"c-1"),
    "the start's match": (1 + 1, rb"duel"),
    "a player's name": (1 + 1, rb"Bo"),
    "a character of two bytes": (1 + 1, "Å".encode()),
    "the rules' version": (1 + 1, rb'(?<="rules":)1'),
    "the ruleset": (1 + 1, rb"(?<=starting_life\":)30"),
    "the entry's number": (8 + 1, rb'(?<="entry":)8(?=,"events")'),
    "an event's entry": (8 + 1, rb'8(?=,"life")'),
    "an event's field": (8 + 1, rb"life(?=\":)"),
    "an event's figure": (8 + 1, rb"28"),
    "an event's n": (8 + 1, rb"11"),
    "an event's type": (8 + 1, rb"life_changed"),
    "an event's null": (10 + 1, rb"null"),
    "a brace": (8 + 1, rb"\}\]"),
    "a comma": (8 + 1, rb","),
    "a colon": (8 + 1, rb":"),
    "a quote": (8 + 1, rb'"'),
    "a state hash": (8 + 1, rb'(?<="state_hash":")[0-9a-f]{64}'),
    "the last state hash": (ENTRIES + 1, rb'(?<="state_hash":")[0-9a-f]{64}'),
    "the checksum": (END_LINE, rb'(?<="checksum":")[0-9a-f]{64}'),
    "the number of entries": (END_LINE, rb"(?<=entries\":)11"),
    "the root": (END_LINE, rb'(?<="root":")[0-9a-f]{64}'),
    "the status": (END_LINE, rb"ended"),
    "the writer": (END_LINE, rb"another program"),
    "the last brace": (END_LINE, rb"\}$"),
}
"""Each kind of place: a line of the duel's file, and what stands there."""


class TestOneByte:
    """One byte of a file of one match is another."""

    @pytest.mark.parametrize("place", PLACES)
    def test_each_kind_of_place(self, place: str) -> None:
        """Each byte of such a place, that is the next one, a digit, a space or no text, shows."""
        line, pattern = PLACES[place]
        found = re.search(pattern, PARTS[line - 1])
        assert found
        for at in range(first_byte(line) + found.start(), first_byte(line) + found.end()):
            for value in {duel()[at] ^ 1, ord("7"), ord(" "), 0xFF} - {duel()[at]}:
                assert_told(at, value)

    def test_every_newline(self) -> None:
        """A newline that is another byte shows, the last one of the file too."""
        ends = [at for at, byte in enumerate(duel()) if byte == ord("\n")]
        assert len(ends) == END_LINE
        for at in ends:
            for value in b"\r \x00}":
                assert_told(at, value)

    def test_any_byte(self) -> None:
        """So does any byte that is any other."""
        chance, content = Random(2), duel()
        for _ in range(CHANGES):
            at = chance.randrange(len(content))
            assert_told(at, (content[at] + chance.randrange(1, 256)) % 256)

    def test_any_byte_of_an_archive(self) -> None:
        """So does any byte of an archive; those of its own two lines are tried with each of some values."""
        content, chance = archive_of(running()), Random(3)
        changes = [(at, value) for at in (*range(15), *range(-15, 0)) for value in b'023456789 a":{}\n\xff']
        changes += [(chance.randrange(len(content)), chance.randrange(256)) for _ in range(CUTS)]
        for at, value in changes:
            if content[at] != value:
                assert not is_exact(with_byte(content, at % len(content), value)), (at, value)

    @pytest.mark.parametrize("number", ["2", "9"])
    def test_archive_of_a_newer_format(self, number: str) -> None:
        """An archive that says it is of a newer format is not said to be exact."""
        content = archive_of(running()).replace(b'"archive":1', f'"archive":{number}'.encode())
        assert "unverifiable" in names(verdicts(content))


def assert_told(at: int, value: int) -> None:
    """A byte of the duel's file that is another is not exact; if it is told to be in a match, it is not before it."""
    found = verdicts(with_byte(duel(), at, value))
    assert found
    assert "exact" not in names(found), (at, value)


def with_byte(content: bytes, at: int, value: int) -> bytes:
    return content[:at] + bytes([value]) + content[at + 1 :]


# ------------------------------------------------------------ cheaters


def changing(event: int, field: str, value: Any) -> Callable[[dict[str, Any]], object]:
    """The change of a field of an entry's event."""
    return lambda entry: entry["events"][event].update({field: value})


class TestCheater:
    """Records that are changed consistently, with all hashes made anew."""

    @pytest.mark.parametrize(
        ("number", "event", "field", "value"),
        [
            (LIFE_CHANGED, 0, "life", 30),
            (LIFE_CHANGED, 0, "player", "bo"),
            (6, 0, "rank", 3),
            (6, 0, "cause", "Whisper"),
            (1, 0, "origin", {"entry": 1, "match": "before"}),
            (5, 2, "rank", 1),
            (ENTRIES, 1, "winner", "bo"),
        ],
    )
    def test_changed_event(self, number: int, event: int, field: str, value: Any) -> None:
        """A changed event is told with its entry, line, byte and field, what it must hold and what it does."""
        written = json.loads(DUEL_LINES[number - 1])["events"][event][field]
        forged = file_of("duel", refolded(DUEL_LINES, number, changing(event, field, value)))
        verified = the_one(forged)
        assert (verified.verdict, verified.match, verified.entries) == ("diverged", "duel", number - 1)
        assert (verified.entry, verified.line, verified.byte) == (number, number + 1, first_byte(number + 1))
        assert verified.differences[0].path.startswith(f"/events/{event}/{field}")
        if not isinstance(value, dict):
            assert verified.differences == (Difference(f"/events/{event}/{field}", written, value),)

    def test_two_fields(self) -> None:
        """All fields that were changed are named."""

        def richer(entry: dict[str, Any]) -> None:
            entry["events"][0].update(delta=5, life=35)

        verified = the_one(file_of("duel", refolded(DUEL_LINES, LIFE_CHANGED, richer)))
        assert {(each.path, each.expected, each.found) for each in verified.differences} == {
            ("/events/0/delta", -2, 5),
            ("/events/0/life", 28, 35),
        }

    def test_event_more_and_less(self) -> None:
        """An event that was left out, or put in, is named as a whole."""
        last = json.loads(DUEL_LINES[-1])["events"][1]
        verified = the_one(file_of("duel", refolded(DUEL_LINES, ENTRIES, lambda e: e["events"].pop()), "running"))
        assert (verified.verdict, verified.differences) == ("diverged", (Difference("/events/1", last, None),))
        more = {**json.loads(DUEL_LINES[9])["events"][0], "n": 14, "soul": 5}
        verified = the_one(
            file_of("duel", refolded(DUEL_LINES[:10], 10, lambda e: e["events"].append(more)), "running")
        )
        assert (verified.verdict, verified.differences) == ("diverged", (Difference("/events/1", None, more),))

    def test_other_legal_command(self) -> None:
        """A command that was replaced by another legal one does not lead to the recorded events."""
        forged = edited(DUEL_LINES, 6, lambda entry: entry["command"].update(rank=2))
        verified = the_one(file_of("duel", forged))
        assert (verified.verdict, verified.entry, verified.entries) == ("diverged", 6, 5)
        assert verified.differences == (Difference("/events/0/rank", 2, 1),)

    @pytest.mark.parametrize(
        ("number", "command", "rule"),
        [
            (7, {"type": "pay", "player": "bo", "amount": 9, "souls": [2], "effect": "Flame"}, "P-"),
            (9, {"type": "resolve", "payment": 7}, "input"),
            (2, {"type": "begin_turn", "player": "nobody"}, "input"),
            (3, {"type": "start_match", "match": "duel", "players": [{"player": "a"}, {"player": "b"}]}, "input"),
        ],
    )
    def test_illegal_command(self, number: int, command: dict[str, Any], rule: str) -> None:
        """A command that the rules refuse is told with the rule."""
        forged = edited(DUEL_LINES, number, lambda entry: entry.update(command=command))
        verified = the_one(file_of("duel", forged))
        assert (verified.verdict, verified.entry, verified.entries) == ("diverged", number, number - 1)
        assert re.search(rf"refused, by {rule}", str(verified.reason))

    def test_changed_meta(self) -> None:
        """Who gave a command decides nothing, so a change of it with everything made anew is another true record."""
        forged = edited(DUEL_LINES, 6, lambda entry: entry["command"]["meta"].update(actor="table-2"))
        assert names(verdicts(file_of("duel", forged))) == ["exact"]
        root = json.loads(PARTS[-1])["root"]
        assert the_one(file_of("duel", forged, root=root)).line == END_LINE

    @pytest.mark.parametrize("number", [1, 6, ENTRIES])
    def test_state_hash_alone(self, number: int) -> None:
        """A state hash that is another one is damage, told with its line."""
        forged = edited(DUEL_LINES, number, lambda entry: entry.update(state_hash="0" * 64))
        verified = the_one(file_of("duel", forged))
        assert (verified.verdict, verified.line, verified.entry) == ("damaged", number + 1, number)
        assert verified.byte == first_byte(number + 1)
        assert verified.entries == number - 1
        assert "0" * 64 in str(verified.reason)

    def test_unknown_rules(self) -> None:
        """A match by newer rules, whole in itself, cannot be verified, and is not said to be wrong."""
        forged = refolded(DUEL_LINES, 1, changing(0, "rules", 2))
        verified = the_one(file_of("duel", forged))
        assert (verified.verdict, verified.match, verified.entries) == ("unverifiable", "duel", 0)
        assert "version 2 of the rules" in str(verified.reason)

    @pytest.mark.parametrize(
        "text",
        ["0", "-1", str(2**64), str(2**70), "9" * 5000, "true", "null", '"1"', "1.0", "1e0", "1e999", "[1]", "{}"],
        ids=lambda text: text[:24],
    )
    def test_odd_rules(self, text: str) -> None:
        """Rules that are no version that ever was are not exact, and the other matches are judged."""
        first = DUEL_LINES[0].replace(b'"rules":1', b'"rules":' + text.encode())
        found = verdicts(archive_of(file_of("duel", [first, *DUEL_LINES[1:]]), running()))
        assert [(each.match, each.entries) for each in found] == [("duel", 0), ("running", len(RUNNING))]
        assert found[0].verdict != "exact"

    @pytest.mark.parametrize("header", [{"replay": 2}, {"replay": 2**40}])
    def test_unknown_format(self, header: dict[str, int]) -> None:
        """A match in a newer format cannot be verified, and the verdict says which formats could be."""
        found = file_of("duel", DUEL_LINES, **header)
        verified = the_one(found)
        assert (verified.verdict, verified.match, verified.line, verified.byte) == ("unverifiable", "duel", 1, 0)
        assert str(header["replay"]) in str(verified.reason)
        assert "up to 1" in str(verified.reason)

    def test_unknown_format_with_other_lines(self) -> None:
        """What a newer format adds to its header and lines is not judged by this one, and hides no other match."""
        newer = b'{"match":"new","replay":2,"signed":"x"}\n{"command":7}\n{"checksum":"?"}\n'
        found = verdicts(archive_of(newer, duel()))
        assert [(each.match, each.verdict) for each in found] == [("new", "unverifiable"), ("duel", "exact")]

    @pytest.mark.parametrize("header", [{"match": "another"}, {"match": "Duel"}])
    def test_another_name(self, header: dict[str, str]) -> None:
        """A match under another's name, sealed anew, is damaged at its header."""
        verified = the_one(file_of("duel", DUEL_LINES, **header))
        assert (verified.verdict, verified.line) == ("damaged", 1)

    def test_another_status(self) -> None:
        """A match that is said to go on, but has ended, is damaged at its end."""
        verified = the_one(file_of("duel", DUEL_LINES, "running"))
        assert (verified.verdict, verified.line, verified.entries) == ("damaged", END_LINE, ENTRIES)

    @pytest.mark.parametrize(
        ("written", "otherwise"),
        [
            (b'{"rank":2,"type":"release"}', b'{"type":"release","rank":2}'),
            (b'{"rank":2,"type":"release"}', b'{"rank":2,"type": "release"}'),
            (b'{"rank":2,"type":"release"}', b'{"by":null,"rank":2,"type":"release"}'),
            (b'{"rank":2,"type":"release"}', b'{"rank":2,"type":"rel\\u0065ase"}'),
        ],
    )
    def test_command_in_another_form(self, written: bytes, otherwise: bytes) -> None:
        """A command that says the same in other bytes is damage: there is one way to write it."""
        assert written in DUEL_LINES[9]
        forged = [*DUEL_LINES]
        forged[9] = forged[9].replace(written, otherwise)
        verified = the_one(file_of("duel", forged))
        assert (verified.verdict, verified.entry, verified.entries) == ("damaged", 10, 9)

    @pytest.mark.parametrize("otherwise", [b'{"by": null', b'{"by":null,"by":null', b'{"\\u0062y":null'])
    def test_event_in_another_form(self, otherwise: bytes) -> None:
        """An event that says the same in other bytes is damage too: it does follow from its command."""
        forged = [*DUEL_LINES]
        forged[9] = forged[9].replace(b'{"by":null', otherwise)
        verified = the_one(file_of("duel", forged))
        assert (verified.verdict, verified.entry, verified.entries) == ("damaged", 10, 9)

    @pytest.mark.parametrize(
        "text",
        [
            b'"a":' + b"9" * 5000,
            b'"a":1e999',
            b'"a":-1e999',
            b'"a":"\\ud800"',
            b'"a":' + b"[" * 900 + b"]" * 900,
            b'"a":' + b"[" * 100_000 + b"]" * 100_000,
            b'"a":NaN',
            b'"a":1.0',
            b'"a":{"":{"~/":[]}}',
            b'"a":null',
            b'"n":1,"n":1',
        ],
        ids=lambda text: text[:24].decode(),
    )
    @pytest.mark.parametrize("where", [b'"events":[{', b'"command":{'], ids=["event", "command"])
    def test_odd_json(self, where: bytes, text: bytes) -> None:
        """Whatever JSON is put into an event or a command, the verdict names its entry and the rest is judged."""
        forged = [*DUEL_LINES]
        forged[7] = forged[7].replace(where, where + text + b",", 1)
        found = verdicts(archive_of(file_of("duel", forged), running()))
        assert [each.match for each in found] == ["duel", "running"]
        assert names(found) in (["diverged", "exact"], ["damaged", "exact"])
        assert (found[0].entry, found[0].entries) == (8, 7)


# ------------------------------------------------------------ cuts


class TestCut:
    """Files that end too early."""

    def test_at_every_line(self) -> None:
        """A match that is cut after any of its lines is damaged at its end, and all entries before that are proven."""
        for kept in range(1, END_LINE):
            verified = the_one(unlined(PARTS[:kept]))
            assert (verified.verdict, verified.match, verified.entries) == ("damaged", "duel", kept - 1)
            assert (verified.line, verified.byte) == (kept + 1, first_byte(kept + 1))

    def test_at_any_byte(self) -> None:
        """A match that is cut anywhere is damaged; each entry whose line is whole is proven."""
        content, chance = duel(), Random(4)
        for size in [len(content) - 1, *(chance.randrange(len(PARTS[0]) + 1, len(content)) for _ in range(CUTS))]:
            verified = the_one(content[:size])
            whole = content[:size].count(b"\n") - 1
            assert (verified.verdict, verified.entries) == ("damaged", whole), size
            assert verified.byte == size

    def test_in_the_header(self) -> None:
        """A file that is cut within its first line, or is empty, is damaged and has no match."""
        for size in range(len(PARTS[0]) + 1):
            verified = the_one(duel()[:size])
            assert (verified.verdict, verified.match, verified.entries) == ("damaged", None, 0)

    def test_archive_at_any_byte(self) -> None:
        """An archive that is cut anywhere is damaged; the matches before the cut keep their verdicts."""
        content, chance = archive_of(running(), duel(), running()), Random(5)
        first = len(archive_of(running())) - len(b'{"matches":1}\n')
        second = first + len(duel())
        for size in [first, second, len(content) - 1, *(chance.randrange(len(content)) for _ in range(CUTS))]:
            found = verdicts(content[:size])
            assert "damaged" in names(found), size
            assert found[: size >= first] == [Verified("running", "exact", len(RUNNING))][: size >= first]
            assert found[1:2][: size >= second] == [Verified("duel", "exact", ENTRIES)][: size >= second]

    def test_archive_exactly_behind_a_match(self) -> None:
        """An archive of which only the first match is left is not taken for a whole one."""
        content = archive_of(running(), duel())
        cut = content[: content.index(duel())]
        found = verdicts(cut)
        assert [(each.match, each.verdict, each.entries) for each in found] == [
            ("running", "exact", len(RUNNING)),
            (None, "damaged", 0),
        ]
        assert (found[1].line, found[1].byte) == (cut.count(b"\n") + 1, len(cut))

    @pytest.mark.parametrize("rest", [b"x", b"{", b'{"match"', b'{"matches":1}', b"\x00", b"\n", b" \n", b"\r\n"])
    @pytest.mark.parametrize("whole", [duel(), archive_of(running())], ids=["match", "archive"])
    def test_bytes_behind_the_end(self, whole: bytes, rest: bytes) -> None:
        """Bytes behind the end of a file, with a newline or without one, are damage at their place."""
        *exact, damaged = verdicts(whole + rest)
        assert names(exact) == ["exact"]
        assert (damaged.verdict, damaged.match, damaged.line) == ("damaged", None, whole.count(b"\n") + 1)


class TestLines:
    """Lines that are missing, or stand where they should not."""

    def test_missing(self) -> None:
        """A line that is missing is told; the entries before it are proven."""
        for gone in range(ENTRIES):
            verified = the_one(unlined([*PARTS[: gone + 1], *PARTS[gone + 2 :]]))
            assert (verified.verdict, verified.entries) != ("exact", ENTRIES)
            assert verified.verdict in {"damaged", "diverged"}
            assert verified.entries == gone

    def test_missing_with_the_end_made_anew(self) -> None:
        """An entry that was left out shows by the numbers of those after it, whatever root and checksum say."""
        for gone in range(ENTRIES - 1):
            verified = the_one(file_of("duel", [*DUEL_LINES[:gone], *DUEL_LINES[gone + 1 :]]))
            assert verified.verdict in {"damaged", "diverged"}
            assert verified.entries == gone

    def test_last_one_missing_with_the_end_made_anew(self) -> None:
        """A match without its last entry is another match, that goes on: it is exact, with another root."""
        assert the_one(file_of("duel", DUEL_LINES[:-1], "running")) == Verified("duel", "exact", ENTRIES - 1)

    def test_repeated(self) -> None:
        """A line that stands twice is told at its second place."""
        for twice in range(ENTRIES):
            content = [*PARTS[: twice + 2], *PARTS[twice + 1 :]]
            verified = the_one(unlined(content))
            assert verified.verdict in {"damaged", "diverged"}
            assert (verified.entries, verified.line) == (twice + 1, twice + 3)

    def test_swapped(self) -> None:
        """Two lines in each other's places are told at the first of them, whatever root and checksum say."""
        for first in range(ENTRIES - 1):
            swapped = [*DUEL_LINES]
            swapped[first], swapped[first + 1] = swapped[first + 1], swapped[first]
            verified = the_one(file_of("duel", swapped))
            assert verified.verdict in {"damaged", "diverged"}
            assert (verified.entries, verified.line) == (first, first + 2)

    @pytest.mark.parametrize("number", range(1, ENTRIES))
    def test_stray_line(self, number: int) -> None:
        """A line that belongs nowhere, in the midst of a match, ends what is proven of it."""
        for stray in (b"", b" ", b"{}", b"[]", b"null", b"\xff", b'{"events":[]}', b'{"checksum":1}', b'{"command":1}'):
            content = unlined([*PARTS[: number + 1], stray, *PARTS[number + 1 :]])
            verified = verdicts(content)[0]
            assert (verified.verdict, verified.entries, verified.line) == ("damaged", number, number + 2)

    @pytest.mark.parametrize(
        "stray", [b"", b"{}", b"\xff", DUEL_LINES[3], PARTS[-1], b'{"archive":1}', b'{"matches":1}']
    )
    def test_stray_line_between_matches(self, stray: bytes) -> None:
        """A line between two matches of an archive is told, and both matches have their verdicts."""
        found = verdicts(b'{"archive":1}\n' + running() + stray + b"\n" + duel() + b'{"matches":2}\n')
        assert [each.verdict for each in found if each.match] == ["exact", "exact"]
        assert "damaged" in names(found)

    def test_line_before_the_header(self) -> None:
        """An entry before any header is told with its line, and the match after it has its verdict."""
        found = verdicts(DUEL_LINES[0] + b"\n" + duel())
        assert sorted((str(each.match), each.verdict) for each in found) == [("None", "damaged"), ("duel", "exact")]

    def test_two_files_in_one(self) -> None:
        """Two files behind each other are not one file, though each match is exact."""
        found = verdicts(duel() + running())
        assert [(each.match, each.verdict) for each in found] == [
            ("duel", "exact"),
            ("running", "exact"),
            (None, "damaged"),
        ]
        assert (found[2].line, found[2].byte) == (END_LINE + 1, len(duel()))

    def test_two_archives_in_one(self) -> None:
        """Nor are two archives, or an archive and a file."""
        for second in (archive_of(duel()), duel()):
            found = verdicts(archive_of(running()) + second)
            assert [each.verdict for each in found if each.match] == ["exact", "exact"]
            assert "damaged" in names(found)

    @pytest.mark.parametrize("matches", [0, 1, 3, -1, 2**63])
    def test_archive_with_another_count(self, matches: int) -> None:
        """An archive that has not as many matches as its end says is damaged there."""
        content = b'{"archive":1}\n' + running() + duel() + b'{"matches":%d}\n' % matches
        found = verdicts(content)
        assert names(found) == ["exact", "exact", "damaged"]
        assert found[-1].line == content.count(b"\n")

    def test_bad_match_hides_no_other(self) -> None:
        """Whatever is wrong with one match of an archive, the others have their verdicts, with their right places."""
        broken = {
            "diverged": [file_of("duel", refolded(DUEL_LINES, LIFE_CHANGED, changing(0, "life", 30)))],
            "unverifiable": [file_of("duel", DUEL_LINES, replay=2)],
            "damaged": [
                duel().replace(b'"root":"', b'"root":"0', 1),
                duel().replace(b'{"match"', b'{"watch"', 1),
                unlined(PARTS[:5]),
                unlined(PARTS[1:]),
                unlined([*PARTS[:4], b"garbage", *PARTS[4:]]),
                duel().replace(b"k1", b"\xff\xff"),
                file_of("duel", DUEL_LINES, entries=7),
                file_of("duel", []),
                b"",
            ],
        }
        for verdict, contents in broken.items():
            for content in contents:
                found = verdicts(archive_of(running(), content, running()))
                exact = [each for each in found if each.match == "running"]
                assert exact == [Verified("running", "exact", len(RUNNING))] * 2
                assert verdict in names(found)

    def test_line_endings_of_windows(self) -> None:
        """CRLF is not how lines were written."""
        assert set(names(verdicts(duel().replace(b"\n", b"\r\n")))) == {"damaged"}
        assert set(names(verdicts(archive_of(duel()).replace(b"\n", b"\r\n")))) == {"damaged"}

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "latin-1"])
    def test_other_encodings(self, encoding: str) -> None:
        """Nor is a byte order mark, or any other encoding."""
        assert set(names(verdicts(duel().decode().encode(encoding)))) == {"damaged"}

    @pytest.mark.parametrize(
        "content", [b"", b"\n", b"\n" * 1000, b" ", b"\x00" * 1000, b"{}", b"[]\n", b'{"match":"duel"}\n']
    )
    def test_no_replay_file_at_all(self, content: bytes) -> None:
        """A file without a match is damaged, and has no entries."""
        found = verdicts(content)
        assert {(each.verdict, each.match, each.entries) for each in found} == {("damaged", None, 0)}

    def test_huge_line(self) -> None:
        """A line longer than any is damage; it is not read to its end."""
        endless = _Endless(duel()[:-1])
        verified = the_one_of(endless)
        assert (verified.verdict, verified.entries, verified.line) == ("damaged", ENTRIES, END_LINE)
        assert endless.given <= 2 * LONGEST_LINE


class _Endless(io.RawIOBase):
    """Some bytes, and the letter x for ever."""

    def __init__(self, begin: bytes) -> None:
        self._begin = begin
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        begin, self._begin = self._begin[: len(buffer)], self._begin[len(buffer) :]
        buffer[:] = begin + b"x" * (len(buffer) - len(begin))
        self.given += len(buffer)
        return len(buffer)


def the_one_of(file: io.RawIOBase) -> Verified:
    (verified,) = verify(io.BufferedReader(file, 1 << 20))
    return verified


# ------------------------------------------------------------ steps


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    """A match of more than two intervals, whose last block is not full."""
    return played(releases("long", 2 * INTERVAL + 37))


class TestSteps:
    """A recording that is stepped through."""

    def test_state_at_any_entry(self, entries: list[Entry]) -> None:
        """The state after any entry, asked for in any order, is that of the fold over all events up to it."""
        steps, chance = Steps(entry.line for entry in entries), Random(6)
        assert (steps.entries, steps.problem) == (len(entries), None)
        edges = [0, 1, INTERVAL - 1, INTERVAL, INTERVAL + 1, 2 * INTERVAL, 2 * INTERVAL + 1, len(entries)]
        for at in [*edges, *(chance.randrange(len(entries) + 1) for _ in range(40))]:
            straight = fold([event for entry in entries[:at] for event in entry.events], State())
            found = steps.state(at)
            assert found.entries == at
            assert canonical_form(found) == canonical_form(straight)
            assert at == 0 or state_hash(found) == entries[at - 1].state_hash

    def test_state_is_the_callers_own(self, entries: list[Entry]) -> None:
        """What somebody does to a state that was asked for changes none that is asked for later."""
        steps = Steps(entry.line for entry in entries)
        for at in (0, 3, INTERVAL + 3):
            steps.state(at).players.clear()
            steps.state(at).aether.clear()
            assert at == 0 or state_hash(steps.state(at)) == entries[at - 1].state_hash

    def test_entries_between(self, entries: list[Entry]) -> None:
        """The entries from one to another are those that were recorded, byte for byte."""
        steps, chance = Steps(entry.line for entry in entries), Random(7)
        total = len(entries)
        spans = [
            (1, None),
            (1, 1),
            (INTERVAL, INTERVAL + 1),
            (INTERVAL + 1, INTERVAL + 1),
            (total, None),
            (5, total + 9),
        ]
        spans += [(1 + chance.randrange(total), 1 + chance.randrange(total)) for _ in range(40)]
        for first, last in spans:
            assert list(steps.between(first, last)) == entries[first - 1 : last]

    def test_turns(self, entries: list[Entry]) -> None:
        """Each turn's entry is known."""
        turns = [entry.number for entry in entries if json.loads(entry.command_json)["type"] == "begin_turn"]
        assert Steps(entry.line for entry in entries).turns == turns

    @pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
    def test_every_example(self, path: Any) -> None:
        """Every entry of every example is as it was played, and so is every state."""
        entries = played(script(path))
        steps = Steps(entry.line for entry in entries)
        assert list(steps.between(1)) == entries == [entry_of(entry.line) for entry in entries]
        assert [state_hash(steps.state(entry.number)) for entry in entries] == [each.state_hash for each in entries]

    @pytest.mark.parametrize("count", [0, 1, INTERVAL, INTERVAL + 1])
    def test_any_length(self, entries: list[Entry], count: int) -> None:
        """A recording may have no entry, one, a whole block or one more."""
        steps = Steps(entry.line for entry in entries[:count])
        assert (steps.entries, steps.problem, list(steps.between(1))) == (count, None, entries[:count])
        assert steps.state(count).entries == count

    @pytest.mark.parametrize("good", [0, 5, INTERVAL - 1, INTERVAL, INTERVAL + 5])
    @pytest.mark.parametrize(
        "bad",
        [
            b"",
            b"garbage",
            b"\xff",
            b'{"command":{},"entry":6,"events":[{"type":"new_thing"}],"state_hash":"%b"}' % (b"0" * 64),
            b'{"command":{},"entry":6,"events":[{"a":1e999}],"state_hash":"%b"}' % (b"0" * 64),
            b'{"command":{},"entry":6,"events":[%b],"state_hash":"%b"}' % (b"[" * 5000 + b"]" * 5000, b"0" * 64),
            b'{"command":{},"entry":6,"events":[{"entry":6,"n":6,"card":"k9","type":"creature_sealed"}],"state_hash":"%b"}'
            % (b"0" * 64),
            b'{"command":{},"entry":6,"events":[],"state_hash":"0"}',
            b'{"command":{},"entries":6,"events":[],"state_hash":"%b"}' % (b"0" * 64),
        ],
        ids=["empty", "garbage", "bytes", "unknown", "number", "deep", "impossible", "hash", "field"],
    )
    def test_damaged_in_the_middle(self, entries: list[Entry], good: int, bad: bytes) -> None:
        """A recording that cannot be read on from some entry can be seen up to there, and `problem` says so."""
        record = [entry.line for entry in entries]
        steps = Steps([*record[:good], bad, *record[good + 1 :]])
        assert steps.problem
        assert (steps.entries, list(steps.between(1))) == (good, entries[:good])
        assert good == 0 or state_hash(steps.state(good)) == entries[good - 1].state_hash

    def test_damaged_file(self, entries: list[Entry]) -> None:
        """So does one in a file that is cut off: what the reader finds wrong is the problem."""
        content = file_of("long", [entry.line for entry in entries], "running")
        cut = content[: content.index(b'"entry":300,')]
        (recording,) = [Steps(found.content for found in one.lines()) for one in Reader(io.BytesIO(cut)).recordings()]
        assert recording.entries == 299
        assert "cut off" in str(recording.problem)
        assert list(recording.between(290)) == entries[289:299]

    def test_cheater_is_watched(self) -> None:
        """A recording is watched from its events, whatever its commands say."""
        forged = refolded(DUEL_LINES, LIFE_CHANGED, changing(0, "life", 30))
        assert Steps(forged).state(LIFE_CHANGED).players["ada"].life == 30


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PK\x03\x04 and so on\n", "replay.soulrift.jsonl"),
        (b"SQLite format 3\x00\n", "--db"),
        (b"# a duel\n", "soulrift play"),
        (b'{"type":"start_match"}\n', "soulrift play"),
        (b"hello\n", "none of its lines"),
    ],
)
def test_what_else_a_file_is(content: bytes, told: str) -> None:
    """Of a bundle, a store and a script it is said what to do with it."""
    (verified,) = verify(io.BytesIO(content))
    assert (verified.verdict, verified.line, verified.byte) == ("damaged", 1, 0)
    assert told in str(verified.reason)


def test_gzip_that_is_cut(tmp_path: Path) -> None:
    """Where compressed bytes end too early, what is whole before that is proven."""
    path, content = tmp_path / "cut.gz", archive_of(*[duel()] * 20)
    path.write_bytes(gzip.compress(content)[:-9])  # eight bytes are the checksum and the length
    *found, last = verify_file(path)
    assert [verified.verdict for verified in found] == ["exact"] * 20
    assert last.verdict == "damaged"
    assert last.line == content.count(b"\n") + 1
    assert "compressed bytes" in str(last.reason)


def test_null_is_not_nothing() -> None:
    """A key that is not there, and an item behind the end, differ from one that is null."""
    assert list(differences_of({"a": None}, {})) == [Difference("/a", None, None)]
    assert list(differences_of([1], [1, None])) == [Difference("/1", None, None)]
    assert list(differences_of({"a": None, "b": [None]}, {"a": None, "b": [None]})) == []
