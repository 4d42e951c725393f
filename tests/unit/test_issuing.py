"""Checkpoints as a match goes on: when they are signed, and over which record, whatever became of the store."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from domain import Entry
from domain.application import Matches
from domain.sqlite import sqlite_settings
from replays import issuing
from replays.checkpoints import Checkpoint, origin_of, parse_checkpoint
from replays.issuing import Issued, Issuer, When
from replays.notes import SignerKey
from tests.evidence import SERVER, STORE
from tests.recordings import DUEL, played, releases, root_of

ENTRIES = played(DUEL)

LINES = [entry.line for entry in ENTRIES]

KEY = SignerKey(SERVER.name, SERVER.private)

EVERY_ENTRY = When(1)

TURN, LAST = 2, 11
"""The entries of the duel in which a turn begins, and in which it ends."""


class Table:
    """An issuer with its surroundings: what the store has of each match, and what was handed out."""

    def __init__(self, when: When = EVERY_ENTRY) -> None:
        self.records: dict[str, list[Entry]] = {}
        self.issued: list[Issued] = []
        self.read: list[str] = []
        ticks = count(1)
        self.issuer = Issuer(
            STORE, KEY, when, lambda: f"2026-11-30T00:00:{next(ticks):02}Z", self.entries, self.issued.append
        )

    def entries(self, match: str, after: int = 0) -> Iterable[Entry]:
        """What the store has, behind this event; what is read from its beginning is noted."""
        if not after:
            self.read.append(match)
        return (entry for entry in self.records[match] if entry.events[0].n > after)

    def append(self, *entries: Entry, match: str = "duel", told: bool = True) -> None:
        """Store entries; and tell the issuer, unless another program stored them."""
        self.records.setdefault(match, []).extend(entries)
        if told:
            self.issuer.appended(match, entries)

    def sizes(self) -> list[int]:
        """As of which entries checkpoints were signed; each is over the record as it was then."""
        for issued in self.issued:
            checkpoint, note = parse_checkpoint(issued.note)
            lines = [entry.line for entry in self.records[issued.match]][: issued.size]
            assert (checkpoint.size, checkpoint.root) == (issued.size, root_of(lines))
            assert checkpoint.origin == origin_of(STORE, issued.match)
            assert note.signed_by([SERVER.verifier]) == [SERVER.verifier]
        return [issued.size for issued in self.issued]


class TestWhen:
    """After which entries a checkpoint is due."""

    @pytest.mark.parametrize(
        ("when", "sizes"),
        [
            (When(), [TURN, LAST]),
            (When(0), [TURN, LAST]),
            (When(turns=False), [LAST]),
            (When(end=False), [TURN]),
            (When(turns=False, end=False), []),
            (When(1, turns=False, end=False), list(range(1, 12))),
            (When(3, turns=False, end=False), [3, 6, 9]),
            (When(3), [TURN, 3, 6, 9, LAST]),
            (When(4, turns=False), [4, 8, LAST]),
            (When(11), [TURN, LAST]),
            (When(100), [TURN, LAST]),
        ],
    )
    @pytest.mark.parametrize("batch", [1, 2, 5, 11])
    def test_entries_after_which_one_is_signed(self, when: When, sizes: list[int], batch: int) -> None:
        """Every so many entries, at turns, at the end; one where there are several reasons; however they are stored."""
        table = Table(when)
        for at in range(0, len(ENTRIES), batch):
            table.append(*ENTRIES[at : at + batch])
        assert table.sizes() == sizes
        assert len(table.read) <= 1  # while the record has one entry, that is read again

    def test_checkpoint_byte_for_byte(self) -> None:
        """It tells the store, the match, the size, the root and the time, and is signed by the key."""
        table = Table(When(turns=False))
        table.append(*ENTRIES)
        (issued,) = table.issued
        by_hand = Checkpoint(f"soulrift/{STORE}/duel", 11, root_of(LINES), "2026-11-30T00:00:01Z")
        assert issued == Issued("duel", 11, by_hand.signed(KEY))

    @pytest.mark.parametrize(
        ("match", "name"),
        [
            ("duel", "duel-000011.note"),
            ("a/b", "a%2Fb-000011.note"),
            ("..", "..-000011.note"),
            ("the duel", "the%20duel-000011.note"),
            ("名", "%E5%90%8D-000011.note"),
        ],
    )
    def test_names_of_files(self, match: str, name: str) -> None:
        """Whatever a match is called, its checkpoints have names that files can have, and sort by size."""
        assert Issued(match, 11, b"").file_name == name
        by_size = [Issued(match, size, b"").file_name for size in (1, 9, 10, 99, 100, 12_345)]
        assert sorted(by_size) == by_size

    @pytest.mark.parametrize("letter", ["x", "/", "é", "名", "😀"])
    def test_names_of_files_are_not_too_long(self, letter: str) -> None:
        """A match may have 64 characters of any kind for its name; no file's name may be longer than 255 bytes."""
        matches = [letter * 64, letter * 63 + "z", "z" + letter * 63]
        names = [Issued(match, 1_000_000, b"").file_name for match in matches]
        assert max(len(name.encode()) for name in names) <= 255
        assert len(set(names)) == 3


class TestRecord:
    """Over which entries a checkpoint is signed."""

    def test_matches_are_apart(self) -> None:
        """Entries of several matches, as they come, make a tree each."""
        table = Table()
        others = played(releases("other", 11))
        for one, other in zip(ENTRIES, others, strict=True):
            table.append(one)
            table.append(other, match="other")
        assert table.sizes() == [size for size in range(1, 12) for _ in range(2)]

    @pytest.mark.parametrize("before", range(1, 11))
    def test_record_that_began_before(self, before: int) -> None:
        """Of a match that this program did not see from its beginning, what there was is read from the record, once."""
        table = Table()
        table.append(*ENTRIES[:before], told=False)
        for entry in ENTRIES[before:]:
            table.append(entry)
        assert table.sizes() == list(range(before + 1, 12))
        assert table.read == ["duel"]

    @pytest.mark.parametrize("gap", range(1, 8))
    def test_gap(self, gap: int) -> None:
        """Entries that another program appended meanwhile are caught up from the record."""
        table = Table()
        table.append(*ENTRIES[:2])
        table.append(*ENTRIES[2 : 2 + gap], told=False)
        table.append(*ENTRIES[2 + gap :])
        assert table.sizes() == [1, 2, *range(3 + gap, 12)]
        assert table.read == []  # from its beginning

    def test_more_is_stored_already(self) -> None:
        """What was appended behind the entries that are told of, when they are, is not taken for what came before."""
        table = Table()
        table.records["duel"] = list(ENTRIES)
        table.issuer.appended("duel", ENTRIES[4:6])
        table.issuer.appended("duel", ENTRIES[6:])
        assert table.sizes() == list(range(5, 12))

    @pytest.mark.parametrize("kept", range(1, 8))
    def test_store_that_was_put_back(self, kept: int) -> None:
        """After a restore to an earlier state the match goes on from there, and so do its checkpoints."""
        table = Table()
        table.append(*ENTRIES[:8])
        table.sizes()
        table.issued.clear()
        other = played([*DUEL[:kept], {"type": "release", "rank": 3}, {"type": "release", "rank": 2}])
        del table.records["duel"][kept:]
        table.append(other[kept])
        table.append(other[kept + 1])
        assert table.sizes() == [kept + 1, kept + 2]

    def test_store_that_was_put_back_to_nothing(self) -> None:
        """So it does where the match is begun anew."""
        table = Table()
        table.append(*ENTRIES[:8])
        table.issued.clear()
        table.records.clear()
        table.append(*played([*DUEL[:1], {"type": "release"}]))
        assert table.sizes() == [1, 2]

    def test_store_that_was_put_back_and_played_on_by_others(self) -> None:
        """Nor is what was undone signed where another program has brought the match to the same length since."""
        table = Table()
        table.append(*ENTRIES[:4])
        table.issued.clear()
        other = played([*DUEL[:2], *({"type": "release", "rank": rank} for rank in (1, 2, 3))])
        del table.records["duel"][2:]
        table.append(*other[2:4], told=False)
        table.append(other[4])
        assert table.sizes() == [5]

    def test_record_that_is_read_short(self) -> None:
        """Where the record as it is read lacks entries before those that are told of, nothing false is signed."""
        table = Table()
        table.records["duel"] = ENTRIES[:3]
        with suppress(Exception):
            table.issuer.appended("duel", ENTRIES[5:6])
        assert table.issued == []

    def test_forgotten_matches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The trees of the matches that were played last are at hand; that of another one is made again."""
        monkeypatch.setattr(issuing, "MATCHES_AT_HAND", 2)
        table = Table()
        for match in "abc":
            table.append(*ENTRIES[:2], match=match)
        table.append(ENTRIES[2], match="b")
        table.append(ENTRIES[2], match="c")
        assert table.read == []
        table.append(ENTRIES[2], match="a")
        assert table.read == ["a"]
        table.append(ENTRIES[3], match="c")
        assert table.read == ["a"]
        table.append(ENTRIES[3], match="b")
        assert table.read == ["a", "b"]
        assert table.sizes() == [1, 2, 1, 2, 1, 2, 3, 3, 3, 4, 4]

    def test_handing_out_that_fails(self) -> None:
        """Who hands out may raise; the checkpoints after that are over the whole record all the same."""
        table, fail = Table(), iter([False, True, True, *[False] * 9])

        def hand_out(issued: Issued) -> None:
            if next(fail):
                message = "the disk is full"
                raise OSError(message)
            table.issued.append(issued)

        issuer = Issuer(STORE, KEY, EVERY_ENTRY, lambda: "2026-11-30T00:00:00Z", table.entries, hand_out)
        table.records["duel"] = list(ENTRIES)
        for some in (ENTRIES[:1], ENTRIES[1:4], ENTRIES[4:6]):
            try:
                issuer.appended("duel", some)
            except OSError:
                continue
        issuer.appended("duel", ENTRIES[6:])
        assert table.sizes() == [1, *range(7, 12)]


class TestApplication:
    """`Matches.on_appended`: told of what is stored, and of nothing else; what it does takes nothing back."""

    @pytest.fixture
    def matches(self) -> Iterator[Matches]:
        """An application in memory."""
        with Matches(sqlite_settings(":memory:")) as opened:
            yield opened

    @staticmethod
    def _start(matches: Matches, name: str = "duel") -> None:
        matches.start(f'{{"type":"start_match","match":"{name}","players":[{{"player":"ada"}},{{"player":"bo"}}]}}')

    def test_told_of_what_is_stored(self, matches: Matches) -> None:
        """Of each transaction once, in order; not of what is refused, and not of what is answered as before."""
        told: list[tuple[str, list[int]]] = []

        def on_appended(match: str, entries: Sequence[Entry]) -> None:
            stored = [entry.line for entry in matches.entries(match)]
            assert [entry.line for entry in entries] == stored[entries[0].number - 1 :]
            told.append((match, [entry.number for entry in entries]))

        matches.on_appended = on_appended
        self._start(matches)
        with_id = '{"type":"release","meta":{"id":"r"}}'
        matches.give("duel", with_id)
        matches.give("duel", with_id)
        refused = '{"type":"pay","player":"ada","amount":1,"souls":[9],"effect":"x"}'
        matches.give_all("duel", [with_id, '{"type":"release"}', refused, '{"type":"release"}'], keep_going=True)
        matches.give_all("duel", [with_id, refused], keep_going=True)
        assert told == [("duel", [1]), ("duel", [2]), ("duel", [3, 4])]

    def test_fork_is_told_of(self, matches: Matches) -> None:
        """A fork is a match of its own, whose entries are all new."""
        self._start(matches)
        matches.give("duel", '{"type":"release"}')
        issued: list[Issued] = []
        issuer = Issuer(STORE, KEY, EVERY_ENTRY, lambda: "2026-11-30T00:00:00Z", matches.entries, issued.append)
        matches.on_appended = issuer.appended
        matches.fork("duel", 2, "other")
        assert [(each.match, each.size) for each in issued] == [("other", 1), ("other", 2)]
        lines = [entry.line for entry in matches.entries("other")]
        assert parse_checkpoint(issued[1].note)[0].root == root_of(lines)

    def test_checkpoints_of_what_is_stored(self, matches: Matches) -> None:
        """With an issuer, from the middle of a match on, each checkpoint has the root of the record at its size."""
        self._start(matches)
        matches.give("duel", '{"type":"release"}')
        issued: list[Issued] = []
        issuer = Issuer(STORE, KEY, When(2), lambda: "2026-11-30T00:00:00Z", matches.entries, issued.append)
        matches.on_appended = issuer.appended
        matches.give("duel", '{"type":"begin_turn","player":"ada"}')
        matches.give_all("duel", ['{"type":"release"}'] * 3)
        matches.on_appended = None
        matches.give("duel", '{"type":"release"}')
        matches.on_appended = issuer.appended
        matches.give("duel", '{"type":"concede","player":"bo"}')
        lines = [entry.line for entry in matches.entries("duel")]
        assert [each.size for each in issued] == [3, 4, 6, 8]
        for each in issued:
            assert parse_checkpoint(each.note)[0].root == root_of(lines[: each.size])

    def test_what_is_raised_loses_no_command(self, matches: Matches, caplog: pytest.LogCaptureFixture) -> None:
        """The entries are stored and answered, the error is in the log, and the next command is told of as well."""
        told: list[Any] = []

        def on_appended(match: str, entries: Sequence[Entry]) -> None:
            told.append((match, len(entries)))
            message = "nobody is at home"
            raise RuntimeError(message)

        matches.on_appended = on_appended
        with caplog.at_level(logging.ERROR, logger="soulrift.store"):
            self._start(matches)
            answer = matches.give("duel", '{"type":"release"}')
        assert (answer.entry.number, answer.repeated) == (2, False)
        assert [entry.number for entry in matches.entries("duel")] == [1, 2]
        assert told == [("duel", 1), ("duel", 1)]
        assert [vars(record)["reason"] for record in caplog.records] == ["nobody is at home"] * 2
        assert [vars(record)["match"] for record in caplog.records] == ["duel"] * 2
