"""What signatures, checkpoints and proofs are worth: each verdict, and which one counts where several would."""

from collections.abc import Callable

import pytest

from replays.checkpoints import parse_checkpoint
from replays.evidence import (
    Comparison,
    Evidence,
    Extension,
    Held,
    Opened,
    Signed,
    Trust,
    judge_extension,
    judge_inclusion,
    signed,
)
from replays.keyring import KnownKey
from replays.merkle import ProvingTree, leaf_hash
from replays.proofs import inclusion_file, parse_inclusion
from replays.verdicts import GRAVEST_FIRST, Judged, Verdict, gravest
from tests import evidence as told
from tests.evidence import (
    ANOTHER,
    ANOTHER_STORE,
    AT,
    CHEATER,
    IMPOSTOR,
    SERVER,
    STORE,
    Signer,
    note,
    pinned,
    text_of,
)
from tests.recordings import DUEL, lines, root_of

LINES = lines(DUEL)

OTHER = lines([*DUEL[:5], {"type": "release", "rank": 2}, *DUEL[6:7]])
"""A match that went another way from entry 6 on."""

TEXT = text_of(LINES)

FORGED = SERVER.line_of(CHEATER.private.sign(TEXT))
"""What says that the server signed the text."""

LATE = "2026-12-24T00:00:00Z"


def who(content: bytes, trust: Trust) -> Signed:
    found, its_note = parse_checkpoint(content)
    return signed(its_note, found.at, trust)


def trusting(*keys: KnownKey, along: tuple[Signer, ...] = ()) -> Trust:
    return Trust(keys, tuple([signer.verifier for signer in along]))


def until(signer: Signer, time: str) -> KnownKey:
    """A key that was retired then."""
    return KnownKey(signer.verifier, None, time)


RETIRED = until(SERVER, "2026-06-01T00:00:00Z")
"""The server's key, retired before the time of all checkpoints here."""


# ------------------------------------------------------------ who signed


class TestSigned:
    """By whom a note is signed, and what that is worth."""

    def test_by_a_pinned_key(self) -> None:
        """A key that is known from elsewhere makes it exact, and is named."""
        assert who(note(TEXT, SERVER), pinned(SERVER)) == Signed("exact", (SERVER.label,), f"signed by {SERVER.label}")

    def test_by_several_pinned_keys(self) -> None:
        """All that signed are named; those that did not are not."""
        assert who(note(TEXT, SERVER, ANOTHER), pinned(ANOTHER, SERVER, CHEATER)).by == (ANOTHER.label, SERVER.label)

    def test_by_a_key_that_came_along(self) -> None:
        """A key that came with the record says only that it was always the same one: first use."""
        found = who(note(TEXT, CHEATER), trusting(along=(CHEATER,)))
        assert (found.verdict, found.by) == ("first-use", (CHEATER.label,))
        assert "came along" in found.reason

    def test_pinned_key_counts_more(self) -> None:
        """Where a pinned key signed as well, it is exact, by that alone; so it is where the pinned key came along."""
        for along in ((CHEATER,), (SERVER,), (CHEATER, SERVER)):
            found = who(note(TEXT, CHEATER, SERVER), trusting(KnownKey(SERVER.verifier), along=along))
            assert (found.verdict, found.by) == ("exact", (SERVER.label,))

    @pytest.mark.parametrize("trust", [trusting(), pinned(ANOTHER), trusting(along=(SERVER,))])
    def test_by_a_stranger(self, trust: Trust) -> None:
        """A key that is neither pinned nor along proves nothing, and is named as what it says it is."""
        found = who(note(TEXT, CHEATER), trust)
        assert (found.verdict, found.by) == ("unsigned", ())
        assert CHEATER.label in found.reason

    def test_by_a_key_with_the_pinned_name(self) -> None:
        """A name is not a key: another key of the server's name is a stranger's."""
        found = who(note(TEXT, IMPOSTOR), pinned(SERVER))
        assert (found.verdict, found.by) == ("unsigned", ())
        assert IMPOSTOR.label in found.reason

    def test_forged_signature_in_a_pinned_name(self) -> None:
        """What a pinned key did not sign, though its name and ID stand there, is told as that."""
        found = who(TEXT + b"\n" + FORGED, pinned(SERVER))
        assert (found.verdict, found.by) == ("unsigned", ())
        assert "is not its own" in found.reason

    @pytest.mark.parametrize("lines_under", [FORGED + ANOTHER.line(TEXT), ANOTHER.line(TEXT) + FORGED])
    def test_forged_signature_beside_a_good_one(self, lines_under: bytes) -> None:
        """A note with a forged signature of a pinned key is nobody's, not even that of another who did sign."""
        found = who(TEXT + b"\n" + lines_under, pinned(SERVER, ANOTHER))
        assert (found.verdict, found.by) == ("unsigned", ())

    def test_forged_signature_beside_a_key_that_came_along(self) -> None:
        """Nor is it a first use of the key that came along with it."""
        found = who(TEXT + b"\n" + FORGED + CHEATER.line(TEXT), trusting(KnownKey(SERVER.verifier), along=(CHEATER,)))
        assert (found.verdict, found.by) == ("unsigned", ())

    def test_retired_key(self) -> None:
        """A time at which the key signed no more makes it unsigned, and both times are told."""
        found = who(note(TEXT, SERVER), trusting(RETIRED))
        assert (found.verdict, found.by) == ("unsigned", ())
        assert AT in found.reason
        assert "2026-06-01T00:00:00Z" in found.reason

    def test_retired_key_beside_a_good_one(self) -> None:
        """Another pinned key that signs still makes it exact."""
        found = who(note(TEXT, SERVER, ANOTHER), trusting(RETIRED, KnownKey(ANOTHER.verifier)))
        assert (found.verdict, found.by) == ("exact", (ANOTHER.label,))

    def test_retired_key_does_not_come_along(self) -> None:
        """A pinned key that is retired is not taken for a first use because it came with the record."""
        assert who(note(TEXT, SERVER), trusting(RETIRED, along=(SERVER,))).verdict == "unsigned"

    def test_without_a_time(self) -> None:
        """A note that tells no time is signed by whoever signed it."""
        assert who(note(text_of(LINES, at=None), SERVER), pinned(SERVER)).verdict == "exact"
        assert who(note(text_of(LINES, at=None), SERVER), pinned(ANOTHER)).verdict == "unsigned"

    def test_time_that_is_none(self) -> None:
        """A pinned key's time that nobody can read is as good as a wrong one."""
        assert who(note(text_of(LINES, at="noon"), SERVER), trusting(RETIRED)).verdict == "unsigned"


# ------------------------------------------------------------ against a record


def compared(entries: list[bytes], *notes: bytes, trust: Trust | None = None, whole: bool = True) -> list[Judged]:
    """The verdicts on checkpoints of the duel, by a record of these lines."""
    comparison: Comparison = told.evidence(*notes, trust=trust).of("duel")
    for line in entries:
        comparison.seen(line)
    return list(comparison.judged(whole=whole))


def verdicts_of(entries: list[bytes], *notes: bytes, trust: Trust | None = None, whole: bool = True) -> list[object]:
    return [judged.verdict for judged in compared(entries, *notes, trust=trust, whole=whole)]


class TestComparison:
    """A checkpoint against the lines of a record."""

    @pytest.mark.parametrize("size", range(len(LINES) + 1))
    def test_record_that_begins_with_what_was_signed(self, size: int) -> None:
        """At each size, none and all among them, it is exact, and all that the checkpoint says is told."""
        (judged,) = compared(LINES, told.signed(LINES[:size]))
        origin, root = f"soulrift/{STORE}/duel", root_of(LINES[:size]).hex()
        assert judged == Judged("note-1", "exact", judged.reason, origin, size, root, AT, (SERVER.label,))
        assert f"first {size} entries are as they were signed" in judged.reason

    @pytest.mark.parametrize("size", range(6, len(OTHER) + 1))
    def test_record_of_another_history(self, size: int) -> None:
        """From the first other entry on, every checkpoint tells that it is another history."""
        assert verdicts_of(LINES, told.signed(OTHER[:size])) == ["another-history"]

    def test_history_up_to_where_it_parted(self) -> None:
        """The checkpoints from before are exact for either."""
        assert verdicts_of(LINES, *(told.signed(OTHER[:size]) for size in range(6))) == ["exact"] * 6

    def test_record_that_is_shorter(self) -> None:
        """A record that ends before is incomplete, by one entry or by all, whatever it holds."""
        for size in range(len(LINES)):
            assert verdicts_of(LINES[:size], told.signed(LINES)) == ["incomplete"]
        (judged,) = compared(OTHER, told.signed(LINES))
        assert judged.verdict == "incomplete"
        assert "has 7 entries; 11 were" in judged.reason

    def test_record_that_could_not_be_read_so_far(self) -> None:
        """Where the record is damaged before, nothing is said against its length; what was read is compared."""
        notes = [told.signed(LINES), told.signed(LINES[:3]), told.signed([*LINES[:2], b"x"])]
        assert verdicts_of(LINES[:5], *notes, whole=False) == [None, "exact", "another-history"]

    def test_signature_is_judged_before_the_entries(self) -> None:
        """What nobody known signed is unsigned, whether or not the record is like it."""
        for entries in (LINES, OTHER, LINES[:3], []):
            assert verdicts_of(entries, told.signed(LINES, by=CHEATER)) == ["unsigned"]
            assert verdicts_of(entries, told.signed(LINES, by=CHEATER), whole=False) == ["unsigned"]

    def test_by_a_key_that_came_along(self) -> None:
        """First use is said of a record that is as signed; one that is not is told as that."""
        trust = trusting(along=(SERVER,))
        signed_notes = [told.signed(LINES), told.signed(LINES[:5]), told.signed(OTHER), told.signed([*LINES, b"x"])]
        expected = ["first-use", "first-use", "another-history", "incomplete"]
        assert verdicts_of(LINES, *signed_notes, trust=trust) == expected

    def test_empty_record_of_another_root(self) -> None:
        """A size of 0 has one root; another one is another history, whatever was recorded."""
        text = text_of([]).replace(b"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", b"A" * 43 + b"=")
        assert verdicts_of(LINES, note(text, SERVER)) == ["another-history"]

    def test_several_checkpoints(self) -> None:
        """Each has a verdict of its own, in the order in which they were given; the same one twice has two."""
        notes = [
            told.signed(LINES),
            told.signed(OTHER),
            told.signed([*LINES, b"more"]),
            told.signed(LINES, by=CHEATER),
            told.signed(LINES, at=None),
            told.signed(LINES),
        ]
        expected = ["exact", "another-history", "incomplete", "unsigned", "exact", "exact"]
        found = compared(LINES, *notes)
        assert [judged.verdict for judged in found] == expected
        assert [judged.checkpoint for judged in found] == [f"note-{number}" for number in range(1, 7)]
        assert [judged.at for judged in found] == [AT, AT, AT, AT, None, AT]
        assert [judged.signed_by for judged in found] == [(SERVER.label,)] * 3 + [()] + [(SERVER.label,)] * 2

    def test_checkpoint_of_another_store(self) -> None:
        """A record says of no store that it is its own: what counts is what the match is called, and its entries."""
        assert verdicts_of(LINES, told.signed(LINES, store=ANOTHER_STORE)) == ["exact"]


class TestEvidence:
    """Checkpoints of many matches, and what is none."""

    def test_each_match_has_its_own(self) -> None:
        """A match is compared with those that name it, and no others."""
        evidence = told.evidence(told.signed(LINES), told.signed(LINES, "another"), told.signed(LINES, "a/b c"))
        for match, name in (("duel", "note-1"), ("another", "note-2"), ("a/b c", "note-3")):
            comparison = evidence.of(match)
            assert [judged.checkpoint for judged in comparison.judged(whole=True)] == [name]
        assert evidence.of("nobody").judged(whole=True) == ()
        assert evidence.strays(["duel", "another", "a/b c"]) == ()

    def test_what_is_about_no_match_here(self) -> None:
        """Signed by a known key, it is about another history, and it is told of which match; by none, unsigned."""
        notes = [told.signed(LINES, "another"), told.signed(LINES, "another", by=CHEATER), told.signed(LINES)]
        known, unknown = told.evidence(*notes).strays(["duel"])
        assert (known.checkpoint, known.verdict) == ("note-1", "another-history")
        assert known.reason == "it is about the match another, not about duel"
        assert (unknown.checkpoint, unknown.verdict) == ("note-2", "unsigned")

    def test_what_is_about_no_match_at_all(self) -> None:
        """A checkpoint of another program's log is about none, and is told by its origin."""
        text = TEXT.replace(f"soulrift/{STORE}/duel".encode(), b"go.sum database tree")
        (stray,) = told.evidence(note(text, SERVER)).strays(["duel"])
        assert stray.verdict == "another-history"
        assert "go.sum database tree" in stray.reason

    @pytest.mark.parametrize(
        "origin",
        [f"soulrift/{STORE}/%FF", f"soulrift/{STORE}/%ED%A0%80", f"soulrift/{STORE}/%64uel", "soulrift/x/duel"],
    )
    def test_origin_in_another_writing(self, origin: str) -> None:
        """A name that is not written as it would be here is no match's, whoever signed it."""
        text = TEXT.replace(f"soulrift/{STORE}/duel".encode(), origin.encode())
        evidence = told.evidence(note(text, SERVER))
        assert evidence.of("duel").judged(whole=True) == ()
        assert [stray.verdict for stray in evidence.strays(["duel"])] == ["another-history"]

    @pytest.mark.parametrize("content", [b"", b"\xff", TEXT, b"duel\n\n\xe2\x80\x94 a AAAAAAAA\n", b"x" * 100_000])
    def test_what_is_no_checkpoint(self, content: bytes) -> None:
        """It is damaged, and told before all others; it is about no match."""
        evidence = told.evidence(told.signed(LINES, "another"), content)
        assert evidence.of("duel").judged(whole=True) == ()
        assert [(stray.checkpoint, stray.verdict) for stray in evidence.strays(["duel"])] == [
            ("note-2", "damaged"),
            ("note-1", "another-history"),
        ]

    def test_nothing_is_held(self) -> None:
        """Without checkpoints there is nothing to judge."""
        assert Evidence([], pinned(SERVER)).strays([]) == ()
        (stray,) = Evidence([Held("n", told.signed(LINES))], pinned(SERVER)).strays([])
        assert "anything here" in stray.reason


def test_gravest_verdict() -> None:
    """Of several verdicts the gravest is that of all: what is wrong with the play, the file, the history, the key."""
    by_hand = (
        *("diverged", "tampered", "damaged", "unverifiable"),
        *("another-history", "incomplete", "unsigned", "first-use", "exact"),
    )
    assert by_hand == GRAVEST_FIRST
    for at, verdict in enumerate(GRAVEST_FIRST):
        assert gravest(set(GRAVEST_FIRST[at:])) == verdict
        assert gravest({verdict}) == verdict


# ------------------------------------------------------------ proofs

TREE = ProvingTree(list(map(leaf_hash, LINES)))


class TestInclusion:
    """A proof that an entry is in a record that somebody signed."""

    @staticmethod
    def _judged(entry: int, content: bytes, trust: Trust, *, of: int | None = None) -> Judged:
        proof = TREE.inclusion_proof((of or entry) - 1, len(LINES))
        return judge_inclusion("p", parse_inclusion(inclusion_file(LINES[entry - 1], entry - 1, proof, content)), trust)

    def test_each_verdict(self) -> None:
        """Exact by a pinned key, first use by one that came along, unsigned by none; another history if it fails."""
        content = told.signed(LINES)
        assert self._judged(3, content, pinned(SERVER)).verdict == "exact"
        assert self._judged(3, content, trusting(along=(SERVER,))).verdict == "first-use"
        assert self._judged(3, content, pinned(ANOTHER)).verdict == "unsigned"
        assert self._judged(3, content, trusting(RETIRED)).verdict == "unsigned"
        assert self._judged(3, content, pinned(SERVER), of=4).verdict == "another-history"
        assert self._judged(3, told.signed(OTHER), pinned(SERVER)).verdict == "another-history"
        assert self._judged(3, told.signed([]), pinned(SERVER)).verdict == "another-history"

    def test_signature_is_judged_before_the_proof(self) -> None:
        """A proof that does not hold, for a checkpoint that nobody known signed, is unsigned."""
        assert self._judged(3, told.signed(OTHER, by=CHEATER), pinned(SERVER)).verdict == "unsigned"

    def test_what_is_told(self) -> None:
        """The entry, and of which record, by whom."""
        judged = self._judged(3, told.signed(LINES), pinned(SERVER))
        assert judged.reason == f"entry 3 is among the 11 that were signed by {SERVER.label}"
        assert (judged.checkpoint, judged.size, judged.signed_by) == ("p", 11, (SERVER.label,))


class TestExtension:
    """Whether one checkpoint extends an older one."""

    @staticmethod
    def _judged(old: bytes, new: bytes, trust: Trust, found: Callable[[], Extension] = lambda: "extends") -> Judged:
        older, newer = Opened("old", *parse_checkpoint(old)), Opened("new", *parse_checkpoint(new))
        return judge_extension(older, newer, trust, found)

    @pytest.mark.parametrize(
        ("by_old", "by_new", "verdict", "about"),
        [
            (SERVER, SERVER, "exact", "new"),
            (SERVER, ANOTHER, "exact", "new"),
            (SERVER, CHEATER, "first-use", "new"),
            (CHEATER, SERVER, "first-use", "new"),
            (CHEATER, CHEATER, "first-use", "new"),
            (IMPOSTOR, SERVER, "unsigned", "old"),
            (SERVER, IMPOSTOR, "unsigned", "new"),
            (IMPOSTOR, IMPOSTOR, "unsigned", "old"),
        ],
    )
    def test_signatures(self, by_old: Signer, by_new: Signer, verdict: Verdict, about: str) -> None:
        """Both have to be signed by keys that count; the worse of the two is what it is worth."""
        trust = trusting(KnownKey(SERVER.verifier), KnownKey(ANOTHER.verifier), along=(CHEATER,))
        judged = self._judged(told.signed(LINES[:4], by=by_old), told.signed(LINES, by=by_new), trust)
        assert (judged.verdict, judged.checkpoint) == (verdict, about)

    @pytest.mark.parametrize(
        ("answer", "verdict"),
        [
            ("extends", "exact"),
            ("contradicts", "another-history"),
            ("too short", "incomplete"),
            ("another record", "another-history"),
            ("no proof", "another-history"),
        ],
    )
    def test_each_answer(self, answer: Extension, verdict: Verdict) -> None:
        """It extends it, or does not, or nothing is shown; nobody is accused but where it does not."""
        judged = self._judged(told.signed(LINES[:4]), told.signed(LINES), pinned(SERVER), lambda: answer)
        assert judged.verdict == verdict
        assert ("do not begin with" in judged.reason) is (answer == "contradicts")
        assert ("says nothing about who signed" in judged.reason) is (answer in {"another record", "no proof"})

    @pytest.mark.parametrize(("match", "store"), [("duel", ANOTHER_STORE), ("another", STORE)])
    def test_of_another_match_or_store(self, match: str, store: str) -> None:
        """A checkpoint extends none of another match, nor of one of the same name in another store; none is read."""
        new = told.signed(LINES, match, store=store)

        def asked() -> Extension:
            pytest.fail("the roots say nothing about two matches")

        assert self._judged(told.signed(LINES[:4]), new, pinned(SERVER), asked).verdict == "another-history"

    def test_retired_key_of_the_older_one(self) -> None:
        """The older one may be signed by a key that is retired now, if it was not then."""
        trust = trusting(until(SERVER, LATE), KnownKey(ANOTHER.verifier))
        later = told.signed(LINES, by=ANOTHER, at="2027-01-01T00:00:00Z")
        assert self._judged(told.signed(LINES[:4]), later, trust).verdict == "exact"
        assert self._judged(told.signed(LINES[:4], at="2027-01-01T00:00:00Z"), later, trust).verdict == "unsigned"
