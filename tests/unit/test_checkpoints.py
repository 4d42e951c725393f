"""Checkpoints and proofs are read and written as C2SP has them, and stand or fall with every single bit of theirs."""

from base64 import b64encode
from collections.abc import Iterator

import pytest

from replays.checkpoints import Checkpoint, origin_of, parse_checkpoint
from replays.evidence import judge_inclusion
from replays.evidence import signed as who_signed
from replays.lines import header_line
from replays.merkle import EMPTY, ProvingTree, leaf_hash
from replays.notes import NoteError, SignerKey
from replays.proofs import (
    InclusionProof,
    consistency_file,
    entry_number,
    inclusion_file,
    parse_consistency,
    parse_inclusion,
)
from tests.evidence import AT, CHEATER, SERVER, STORE, note, pinned, signed, text_of
from tests.recordings import DUEL, lines, root_of

LINES = lines(DUEL)

TREE = ProvingTree(list(map(leaf_hash, LINES)))

ROOT = b64encode(root_of(LINES)).decode()

ORIGIN = f"soulrift/{STORE}/duel"

KEY = SignerKey(SERVER.name, SERVER.private)


def flips(content: bytes) -> Iterator[bytes]:
    """The same bytes with another one of their bits flipped each time."""
    for bit in range(len(content) * 8):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


# ------------------------------------------------------------ checkpoints


class TestCheckpoints:
    """A checkpoint is a note of three lines or more: origin, size, root."""

    def test_checkpoint_byte_for_byte(self) -> None:
        """It is written as the format has it, and read as it was written."""
        by_hand = f"soulrift/9f2b6c01d4e83a57/duel\n11\n{ROOT}\nat 2026-11-30T18:04:11Z\n".encode()
        checkpoint = Checkpoint(origin_of(STORE, "duel"), 11, root_of(LINES), AT)
        assert checkpoint.text() == by_hand == text_of(LINES)
        assert checkpoint.signed(KEY) == note(by_hand, SERVER)
        found, its_note = parse_checkpoint(note(by_hand, SERVER))
        assert (found, its_note.text) == (checkpoint, by_hand)
        assert (found.store, found.match, found.size, found.at, found.more) == (STORE, "duel", 11, AT, ())

    def test_without_a_time(self) -> None:
        """Whoever signs need not tell when."""
        found, _ = parse_checkpoint(note(text_of(LINES, at=None), SERVER))
        assert (found.at, found.more, found.size) == (None, (), 11)

    @pytest.mark.parametrize("more", [("x",), ("other/1 abc", "at 2027-01-01T00:00:00Z", "ä\u2028b"), (" ", "\x7f")])
    @pytest.mark.parametrize("at", [AT, None])
    def test_lines_of_others_are_kept(self, more: tuple[str, ...], at: str | None) -> None:
        """Extension lines that mean nothing here stand in the text that is signed, and are written as they were."""
        text = text_of(LINES, at=at, more="".join(line + "\n" for line in more))
        found, its_note = parse_checkpoint(note(text, SERVER))
        assert (found.at, found.more) == (at, more)
        assert found.text() == text
        assert its_note.signed_by([SERVER.verifier]) == [SERVER.verifier]

    def test_empty_record(self) -> None:
        """A size of 0 is a size: the root is the hash of nothing."""
        found, _ = parse_checkpoint(signed([]))
        assert (found.size, found.root) == (0, EMPTY)

    @pytest.mark.parametrize(
        "size",
        [
            "",
            "00",
            "011",
            "-1",
            "-0",
            "+11",
            "11 ",
            " 11",
            "1_1",
            "1.0",
            "1e1",
            "0x0b",
            "eleven",
            "\u0661\u0661",
            "1" * 19,
            "9" * 5_000,
        ],
    )
    def test_what_is_no_size(self, size: str) -> None:
        """A size is written in decimal digits in one way, and is not beyond what anybody can have."""
        with pytest.raises(NoteError):
            parse_checkpoint(note(f"{ORIGIN}\n{size}\n{ROOT}\n".encode(), SERVER))

    @pytest.mark.parametrize(
        "root",
        [
            "",
            "AAAA",
            b64encode(bytes(31)).decode(),
            b64encode(bytes(33)).decode(),
            ROOT.rstrip("="),
            ROOT[:-2] + chr(ord(ROOT[-2]) + 1) + "=",  # the same bytes to some decoders
            ROOT + " ",
            "/" * 43 + "=",
            root_of(LINES).hex(),
            "sha256:" + ROOT,
        ],
    )
    def test_what_is_no_root(self, root: str) -> None:
        """A root is the base64 of 32 bytes, in the one way that it is written."""
        with pytest.raises(NoteError):
            parse_checkpoint(note(f"{ORIGIN}\n11\n{root}\n".encode(), SERVER))

    @pytest.mark.parametrize(
        "text",
        [
            "\n",
            "a\n",
            f"{ORIGIN}\n11\n",
            f"\n11\n{ROOT}\n",
            f"{ORIGIN}\n\n11\n{ROOT}\n",
            f"{ORIGIN}\n11\n{ROOT}\n\n",
            f"{ORIGIN}\n11\n{ROOT}\n\nx\n",
            f"11\n{ORIGIN}\n{ROOT}\n",
            f"{ORIGIN}\n{ROOT}\n11\n",
        ],
    )
    def test_what_is_no_checkpoint(self, text: str) -> None:
        """A note with fewer lines, an empty one among them, or another order, is none."""
        with pytest.raises(NoteError):
            parse_checkpoint(note(text.encode(), SERVER))

    def test_every_bit_counts(self) -> None:
        """With any one bit of it flipped, a signed checkpoint is none, or not signed by its signer."""
        content, trust = signed(LINES), pinned(SERVER)
        for changed in flips(content):
            try:
                found, its_note = parse_checkpoint(changed)
            except NoteError:
                continue
            assert who_signed(its_note, found.at, trust).verdict == "unsigned", changed


class TestOrigins:
    """The origin says which match of which store it is, whatever the match is called."""

    @pytest.mark.parametrize(
        ("match", "written"),
        [
            ("duel", "duel"),
            ("long-duel_2.x~", "long-duel_2.x~"),
            ("a/b", "a%2Fb"),
            ("../..", "..%2F.."),
            ("100%", "100%25"),
            ("a%2Fb", "a%252Fb"),
            ("the long duel", "the%20long%20duel"),
            ("a+b", "a%2Bb"),
            ("a\u3000b", "a%E3%80%80b"),
            ("名前", "%E5%90%8D%E5%89%8D"),
            ("😀", "%F0%9F%98%80"),
            ("é", "%C3%A9"),
            ("e\u0301", "e%CC%81"),
            ("?#&=\"'\\", "%3F%23%26%3D%22%27%5C"),
            ("— a b", "%E2%80%94%20a%20b"),
            (".", "."),
        ],
    )
    def test_there_and_back(self, match: str, written: str) -> None:
        """All but letters, digits and -_.~ is written in bytes of UTF-8, %XX; so no name looks like another one's."""
        assert origin_of(STORE, match) == f"soulrift/{STORE}/{written}"
        found, _ = parse_checkpoint(signed(LINES, match))
        assert (found.origin, found.store, found.match) == (f"soulrift/{STORE}/{written}", STORE, match)

    @pytest.mark.parametrize(
        "origin",
        [
            f"soulrift/{STORE}/a%2fb",
            f"soulrift/{STORE}/%64uel",
            f"soulrift/{STORE}/a b",
            f"soulrift/{STORE}/a+b",
            f"soulrift/{STORE}/100%",
            f"soulrift/{STORE}/%zz",
            f"soulrift/{STORE}/名前",
            f"soulrift/{STORE}/%FF",
            f"soulrift/{STORE}/%C3",
            f"soulrift/{STORE}/%ED%A0%80",
            f"soulrift/{STORE}/%C0%AF",
            f"soulrift/{STORE}/a/b",
            f"soulrift/{STORE}/",
            f"soulrift/{STORE}",
            f"soulrift/{STORE.upper()}/duel",
            f"soulrift/{STORE}0/duel",
            f"soulrift/{STORE[1:]}/duel",
            f"soulrift//{STORE}/duel",
            f"/soulrift/{STORE}/duel",
            f"Soulrift/{STORE}/duel",
            f"https://soulrift/{STORE}/duel",
            "go.sum database tree",
            "duel",
        ],
    )
    def test_other_origins_name_no_match(self, origin: str) -> None:
        """An origin that is another's, or a name written in another way, is a checkpoint, but of no match."""
        found, its_note = parse_checkpoint(note(f"{origin}\n11\n{ROOT}\n".encode(), SERVER))
        assert (found.origin, found.store, found.match) == (origin, None, None)
        assert its_note.signed_by([SERVER.verifier])


# ------------------------------------------------------------ proofs of inclusion


def inclusion(entry: int, size: int = len(LINES), content: bytes | None = None) -> bytes:
    """A `.tlog-proof` by hand, of the tree's proof."""
    hashes = "".join(b64encode(each).decode() + "\n" for each in TREE.inclusion_proof(entry - 1, size))
    extra = b64encode(LINES[entry - 1]).decode()
    head = f"c2sp.org/tlog-proof@v1\nextra {extra}\nindex {entry - 1}\n{hashes}\n"
    return head.encode() + (signed(LINES[:size]) if content is None else content)


class TestInclusion:
    """A `.tlog-proof` file shows to whoever has it alone that an entry was in a record that somebody signed."""

    @pytest.mark.parametrize("entry", range(1, len(LINES) + 1))
    def test_proof_of_each_entry(self, entry: int) -> None:
        """It is written as the format has it, read as it was written, and holds."""
        by_hand = inclusion(entry)
        hashes = TREE.inclusion_proof(entry - 1, len(LINES))
        assert inclusion_file(LINES[entry - 1], entry - 1, hashes, signed(LINES)) == by_hand
        proof = parse_inclusion(by_hand)
        assert (proof.line, proof.index, proof.hashes) == (LINES[entry - 1], entry - 1, tuple(hashes))
        assert proof.checkpoint == parse_checkpoint(signed(LINES))[0]
        assert proof.holds()
        assert judge_inclusion("proof", proof, pinned(SERVER)).verdict == "exact"

    def test_proof_in_a_record_of_one_entry(self) -> None:
        """Such a proof has no hashes: there are two empty lines' worth of it, and it holds."""
        by_hand = inclusion(1, 1)
        assert b"\nindex 0\n\nsoulrift/" in by_hand
        assert parse_inclusion(by_hand).holds()

    def test_line_of_another_entry_does_not_hold(self) -> None:
        """A line that is well-formed and has the right number, but was not recorded, is not among the entries."""
        other = lines([*DUEL[:2], {"type": "enter", "card": "k1", "controller": "bo"}])
        assert entry_number(other[2]) == 3
        changed = inclusion(3).replace(b64encode(LINES[2]), b64encode(other[2]))
        assert not parse_inclusion(changed).holds()

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"tlog-proof@v1", b"tlog-proof@v2"),
            (b"c2sp.org/", b"C2SP.org/"),
            (b"index 2", b"index 02"),
            (b"index 2", b"index -2"),
            (b"index 2", b"index 3"),
            (b"index 2", b"index " + b"9" * 5_000),
            (b"index 2", b"index \xd9\xa2"),
            (b"index 2\n", b""),
            (b"index 2\n", b"index 2\nindex 2\n"),
            (b"\nextra ", b"\nextra  "),
            (b"\nextra ", b"\nextra A"),
            (b"\nextra " + b64encode(LINES[2]), b""),
            (b64encode(LINES[2]), b""),
            (b64encode(LINES[2]), b64encode(LINES[2] + b"\n")),
            (b64encode(LINES[2]), b64encode(LINES[2].replace(b":", b": ", 1))),
            (b64encode(LINES[2]), b64encode(header_line("duel"))),
            (b64encode(LINES[2]), b64encode(b"")),
            (b64encode(LINES[2]), b64encode(b"\xff")),
            (b64encode(LINES[2]), b64encode(b'{"command":' + b"[" * 5_000)),
            (b"\n\nsoulrift/", b"\nsoulrift/"),
            (b"\n\nsoulrift/", b"\n\n\nsoulrift/"),
            (b"\n\nsoulrift/", b"\n" + b"A" * 43 + b"=\n" * 200 + b"\n\nsoulrift/"),
            (b"\n\nsoulrift/", b"\nAAAAAAB=\n\nsoulrift/"),
            (b"\n", b"\r\n"),
        ],
    )
    def test_what_is_no_proof(self, old: bytes, new: bytes) -> None:
        """Another version, an index that is not that of the line, or a line that is no entry's, make it no proof."""
        content = inclusion(3)
        assert old in content
        with pytest.raises(NoteError):
            parse_inclusion(content.replace(old, new))

    def test_hash_that_is_too_short_does_not_hold(self) -> None:
        """What stands for a hash has 32 bytes, or the proof does not hold."""
        first = b64encode(TREE.inclusion_proof(2, len(LINES))[0])
        content = inclusion(3)
        assert content.count(first) == 1
        for size in (31, 33):
            assert not parse_inclusion(content.replace(first, b64encode(bytes(size)))).holds()

    def test_every_bit_counts(self) -> None:
        """With any one bit of it flipped, a proof is none, or not signed by its signer, or does not hold."""
        trust = pinned(SERVER)
        for changed in flips(inclusion(2)):
            try:
                proof: InclusionProof = parse_inclusion(changed)
            except NoteError:
                continue
            assert judge_inclusion("proof", proof, trust).verdict in {"unsigned", "another-history"}, changed


# ------------------------------------------------------------ proofs of consistency


class TestConsistency:
    """A proof of consistency shows that the record of one checkpoint begins with that of an older one."""

    @pytest.mark.parametrize("old", range(1, len(LINES) + 1))
    def test_proof_of_each_size(self, old: int) -> None:
        """It is written as witnesses are asked, read as it was written, and holds for that older checkpoint alone."""
        hashes, content = TREE.consistency_proof(old, len(LINES)), signed(LINES)
        told = "".join(b64encode(each).decode() + "\n" for each in hashes)
        by_hand = f"old {old}\n{told}\n".encode() + content
        assert consistency_file(old, hashes, content) == by_hand
        proof = parse_consistency(by_hand)
        assert (proof.old, proof.hashes) == (old, tuple(hashes))
        for size in range(len(LINES) + 1):
            older, _ = parse_checkpoint(signed(LINES[:size]))
            assert proof.extends(older) == (size == old)

    def test_another_history_is_not_extended(self) -> None:
        """An older checkpoint of the same size, but of other entries, is refused by the same proof."""
        proof = parse_consistency(consistency_file(4, TREE.consistency_proof(4, len(LINES)), signed(LINES)))
        others = [*LINES[:3], LINES[4]]
        assert not proof.extends(parse_checkpoint(signed(others))[0])

    @pytest.mark.parametrize("head", [b"", b"old\n", b"old -1\n", b"old 04\n", b"old 4", b"OLD 4\n", b"old 4\n4\n-\n"])
    def test_what_is_no_proof(self, head: bytes) -> None:
        """What does not begin with the old size is no such proof."""
        with pytest.raises(NoteError):
            parse_consistency(head + b"\n" + signed(LINES, by=CHEATER))
        with pytest.raises(NoteError):
            parse_consistency(head + b"\n\xff")
