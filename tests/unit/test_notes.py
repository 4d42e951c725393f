"""Signed notes and their keys are those of C2SP signed-note.md, down to the byte, and nothing else is taken for one."""

from base64 import b64encode
from hashlib import sha256

import pytest

from replays.notes import (
    MOST_SIGNATURES,
    NoteError,
    SignerKey,
    VerifierKey,
    base64_bytes,
    parse_note,
    signer_key,
    verifier_key,
)
from tests.evidence import ANOTHER, CHEATER, IMPOSTOR, SERVER, Signer, note

TEXT = b"something that was said\nand more of it\n"

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2007\u200a\u2028\u2029\u202f\u205f\u3000"
"""Some of each kind that Unicode has."""


# ------------------------------------------------------------ keys


class TestKeys:
    """A key is its name and its bytes; its ID follows from both, and its text says all three."""

    def test_text_of_a_verifier_key(self) -> None:
        """NAME+ID+BASE64: of the type, 01, and the 32 bytes; there and back."""
        raw = b"\x01" + SERVER.public
        key_id = sha256(b"games.example/eu\n" + raw).hexdigest()[:8]
        text = f"games.example/eu+{key_id}+{b64encode(raw).decode()}"
        key = VerifierKey("games.example/eu", SERVER.public)
        assert (key.key_id.hex(), str(key)) == (key_id, text)
        assert verifier_key(text) == key

    def test_text_of_a_signer_key(self) -> None:
        """PRIVATE+KEY+NAME+ID+BASE64: the ID is that of the public half, the bytes are the secret ones."""
        text = f"PRIVATE+KEY+{SERVER.label}+" + b64encode(b"\x01" + SERVER.secret).decode()
        assert str(SignerKey(SERVER.name, SERVER.private)) == text
        assert str(signer_key(text)) == text
        assert signer_key(text).verifier == SERVER.verifier

    def test_id_is_of_the_name_and_the_bytes(self) -> None:
        """The same bytes by another name, and other bytes by the same name, have another ID."""
        renamed = Signer("games.example/us", SERVER.secret)
        assert len({each.verifier.key_id for each in (SERVER, renamed, IMPOSTOR)}) == 3
        assert [each.verifier.key_id for each in (SERVER, renamed, IMPOSTOR)] == [
            each.key_id for each in (SERVER, renamed, IMPOSTOR)
        ]

    def test_new_keys_are_all_others(self) -> None:
        """A new key is drawn by chance, and signs what it alone verifies."""
        one, two = (SignerKey.generate("a") for _ in range(2))
        assert one.verifier != two.verifier
        assert parse_note(one.sign(TEXT)).signed_by([one.verifier, two.verifier]) == [one.verifier]

    @pytest.mark.parametrize("name", ["a", "games.example/eu", "a/b/c//", "名前", "😀", "über.example", "a-b_c~d%2F"])
    def test_names(self, name: str) -> None:
        """Slashes, other scripts and most signs may be in a name; its notes are read and judged like any other's."""
        key = SignerKey(name, SERVER.private)
        assert verifier_key(str(key.verifier)) == key.verifier == Signer(name, SERVER.secret).verifier
        assert parse_note(key.sign(TEXT)).signed_by([key.verifier]) == [key.verifier]

    @pytest.mark.parametrize("name", ["", "+", "a+b", *SPACES, *(f"a{space}b" for space in SPACES), "a\x00", "a\ud800"])
    def test_what_is_no_name(self, name: str) -> None:
        """A name is not empty, and has no plus, no space of any kind, and nothing that is no text."""
        with pytest.raises(NoteError, match="the name of a key"):
            SignerKey(name, SERVER.private)
        for parse, start in ((verifier_key, ""), (signer_key, "PRIVATE+KEY+")):
            raw = b64encode(b"\x01" + SERVER.public).decode()
            with pytest.raises(NoteError):
                parse(f"{start}{name}+00000000+{raw}")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "games.example/eu",
            SERVER.label,
            SERVER.text + "\n",
            " " + SERVER.text,
            SERVER.text.upper(),
            SERVER.text.replace(SERVER.key_id.hex(), SERVER.key_id.hex().upper()),
            SERVER.text.replace(SERVER.key_id.hex(), ANOTHER.key_id.hex()),
            SERVER.text.replace(SERVER.key_id.hex(), "0" + SERVER.key_id.hex()),
            SERVER.text.replace("games", "gomes"),
            SERVER.text + "=",
            f"{SERVER.label}+" + b64encode(b"\x01" + SERVER.public[:31]).decode(),
            f"{SERVER.label}+" + b64encode(b"\x01" + SERVER.public + b"\x00").decode(),
            f"{SERVER.label}+" + b64encode(b"\x02" + SERVER.public).decode(),
            f"{SERVER.label}+" + b64encode(b"\x04" + SERVER.public).decode(),
            f"{SERVER.label}+" + b64encode(SERVER.public).decode(),
            f"PRIVATE+KEY+{SERVER.label}+" + b64encode(b"\x01" + SERVER.secret).decode(),
        ],
    )
    def test_what_is_no_verifier_key(self, text: str) -> None:
        """Nothing is taken for a key but the one text of it; a secret key is not one that verifies."""
        with pytest.raises(NoteError):
            verifier_key(text)

    @pytest.mark.parametrize(
        "text",
        [
            SERVER.text,
            f"PRIVATE+KEY+{ANOTHER.label}+" + b64encode(b"\x01" + SERVER.secret).decode(),
            f"PRIVATE+KEY+{SERVER.label}+" + b64encode(b"\x01" + SERVER.secret[:31]).decode(),
            f"PRIVATE+KEY+{SERVER.label}+" + b64encode(b"\x01" + CHEATER.secret).decode(),
            f"private+key+{SERVER.label}+" + b64encode(b"\x01" + SERVER.secret).decode(),
        ],
    )
    def test_what_is_no_signer_key(self, text: str) -> None:
        """A secret key is refused where its name and ID are not its own."""
        with pytest.raises(NoteError):
            signer_key(text)

    def test_secret_is_not_told_in_an_error(self) -> None:
        """What is wrong with a secret key is told without it."""
        secret = b64encode(b"\x01" + SERVER.secret).decode()
        for text in (f"PRIVATE+KEY+{ANOTHER.label}+{secret}", f"PRIVATE+KEY+{SERVER.label}{secret}"):
            with pytest.raises(NoteError) as error:
                signer_key(text)
            assert secret not in str(error.value)

    @pytest.mark.parametrize("public", [bytes(32), b"\xff" * 32, b"\x02" + bytes(31)])
    def test_bytes_that_are_no_point(self, public: bytes) -> None:
        """Of 32 bytes that are no public key of anybody, no signature is."""
        assert not VerifierKey("a", public).verifies(TEXT, SERVER.private.sign(TEXT))


# ------------------------------------------------------------ notes


class TestNotes:
    """A note is a text, an empty line, and the lines of its signatures."""

    def test_note_byte_for_byte(self) -> None:
        """What is signed is the text with its last newline; the line has the key's name, its ID and the signature."""
        signature = SERVER.private.sign(TEXT)
        by_hand = TEXT + b"\n\xe2\x80\x94 games.example/eu " + b64encode(SERVER.key_id + signature) + b"\n"
        assert SignerKey(SERVER.name, SERVER.private).sign(TEXT) == by_hand == note(TEXT, SERVER)

    def test_what_is_read(self) -> None:
        """The text with its last newline, and each signature under it, by whomever."""
        found = parse_note(note(TEXT, SERVER, CHEATER))
        assert found.text == TEXT
        assert [(each.name, each.key_id) for each in found.signatures] == [
            (each.name, each.key_id) for each in (SERVER, CHEATER)
        ]
        assert [each.signature for each in found.signatures] == [each.private.sign(TEXT) for each in (SERVER, CHEATER)]

    @pytest.mark.parametrize(
        "text", [b"a\n\nb\n", b"a\n\n", b"\n\n\n", b"a\n\n\xe2\x80\x94 a b\n", "ä😀\u2028\x7f\n".encode()]
    )
    def test_empty_lines_belong_to_the_text(self, text: bytes) -> None:
        """The signatures stand behind the last empty line; those before it, and what looks like one, are text."""
        found = parse_note(note(text, SERVER))
        assert found.text == text
        assert found.signed_by([SERVER.verifier]) == [SERVER.verifier]

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\n",
            b"\n\n",
            TEXT,
            TEXT + b"\n",
            TEXT + SERVER.line(TEXT),  # no empty line
            TEXT.rstrip() + SERVER.line(TEXT),
            SERVER.line(TEXT),
            note(TEXT, SERVER)[:-1],  # no newline at its end
            note(TEXT, SERVER) + b"\n",
            note(TEXT, SERVER) + b"x\n",
            note(TEXT, SERVER) + b" ",
            b"\n" + SERVER.line(TEXT),
            note(TEXT, SERVER).replace(b"\n", b"\r\n"),
            note(TEXT.replace(b" ", b"\t"), SERVER),
            note(TEXT.replace(b" ", b"\x00"), SERVER),
            note(TEXT.replace(b" ", b"\x1f"), SERVER),
            note(TEXT.replace(b" ", b"\xff"), SERVER),
            note(TEXT.replace(b" ", b"\xed\xa0\x80"), SERVER),  # a surrogate
            b"\xef\xbb\xbf",
            b"\xff" * 100,
            TEXT + b"\n- games.example/eu " + b64encode(SERVER.key_id + SERVER.private.sign(TEXT)) + b"\n",
            TEXT + b"\n\xe2\x80\x94 games.example/eu\n",
            TEXT + b"\n\xe2\x80\x94  AAAAAAAA\n",
            TEXT + b"\n\xe2\x80\x94 a+b AAAAAAAA\n",
            TEXT + b"\n\xe2\x80\x94 a\xc2\xa0b AAAAAAAA\n",
            TEXT + b"\n\xe2\x80\x94 a\xe3\x80\x80 AAAAAAAA\n",
            TEXT + b"\n\xe2\x80\x94 a AAAAAAAA \n",
            TEXT + b"\n\xe2\x80\x94  a AAAAAAAA\n",
            TEXT + b"\n \xe2\x80\x94 a AAAAAAAA\n",
            TEXT + b"\n\xe2\x80\x94 a AAAA\n",  # three bytes
            TEXT + b"\n\xe2\x80\x94 a AAAAAA==\n",  # an ID, and no signature
            b"a" * (1 << 20) + note(TEXT, SERVER),
        ],
    )
    def test_what_is_no_note(self, content: bytes) -> None:
        """Whatever lacks its empty line or its last newline, has control characters, or is too long, is refused."""
        with pytest.raises(NoteError):
            parse_note(content)

    @pytest.mark.parametrize(
        "written",
        [
            "AAAAAAB=",
            "AAAAAAC",
            "AAAAAA=",
            "AAAAAA==AAAA",
            "AAAA AAAA",
            "AAAAAA-_",
            "AAAAAAA*",
            "=AAAAAAA",
            "AAAAAAA\u0661",
        ],
    )
    def test_base64_that_is_not_as_it_would_be_written(self, written: str) -> None:
        """Bytes have one base64 text; another one that some decoders would take for the same bytes is refused."""
        with pytest.raises(NoteError):
            base64_bytes(written)
        with pytest.raises(NoteError):
            parse_note(TEXT + f"\n— a {written}\n".encode())

    def test_base64(self) -> None:
        """Any bytes are read as they were written."""
        for size in range(40):
            assert base64_bytes(b64encode(bytes(range(size))).decode()) == bytes(range(size))

    def test_most_signatures(self) -> None:
        """A note has 64 signatures at most; one more, and it is refused before any is judged."""
        signers = [Signer(f"witness-{number}", bytes([number]) * 32) for number in range(MOST_SIGNATURES)]
        assert MOST_SIGNATURES == 64
        full = note(TEXT, *signers)
        assert parse_note(full).signed_by([signers[-1].verifier]) == [signers[-1].verifier]
        with pytest.raises(NoteError, match="more than 64"):
            parse_note(full + SERVER.line(TEXT))


class TestSignatures:
    """Whose signatures count, and what the others do to a note."""

    def test_known_keys_that_signed(self) -> None:
        """Of the known keys those that signed are named, in their own order; once each."""
        found = parse_note(note(TEXT, CHEATER, SERVER, ANOTHER))
        keys = [ANOTHER.verifier, SERVER.verifier, SERVER.verifier]
        assert found.signed_by(keys) == [ANOTHER.verifier, SERVER.verifier]
        assert found.signed_by([]) == []

    def test_unknown_signatures_are_passed_over(self) -> None:
        """Neither strangers, nor signatures of another type, whatever their length, take anything from a known one."""
        strange = b"".join(
            b"\xe2\x80\x94 %b %b\n" % (name, b64encode(raw))
            for name, raw in ((b"witness.example", b"\x04" * 76), (b"big.example", b"\x06" * 2_424), (b"a", b"12345"))
        )
        for content in (note(TEXT, SERVER) + strange, TEXT + b"\n" + strange + SERVER.line(TEXT)):
            assert parse_note(content).signed_by([SERVER.verifier]) == [SERVER.verifier]

    def test_same_name_with_another_id_is_passed_over(self) -> None:
        """A key is known by name and ID: another one of the same name is a stranger, and no fault of the known one."""
        assert parse_note(note(TEXT, IMPOSTOR)).signed_by([SERVER.verifier]) == []
        assert parse_note(note(TEXT, IMPOSTOR, SERVER)).signed_by([SERVER.verifier]) == [SERVER.verifier]

    def test_same_id_with_another_name_is_passed_over(self) -> None:
        """Nor is it known by its ID alone."""
        line = b"\xe2\x80\x94 somebody %b\n" % b64encode(SERVER.key_id + SERVER.private.sign(TEXT))
        assert parse_note(TEXT + b"\n" + line).signed_by([SERVER.verifier]) == []

    @pytest.mark.parametrize(
        "signature",
        [
            SERVER.private.sign(TEXT + b"\n"),
            SERVER.private.sign(TEXT[:-1]),
            CHEATER.private.sign(TEXT),
            bytes(64),
            SERVER.private.sign(TEXT)[:63],
            SERVER.private.sign(TEXT) + b"\x00",
            b"\x00",
        ],
    )
    def test_bad_signature_of_a_known_key_spoils_the_note(self, signature: bytes) -> None:
        """What says that a known key signed it, and that is not so, is by nobody: not by other known keys either."""
        forged = SERVER.line_of(signature)
        both = [ANOTHER.verifier, SERVER.verifier]
        for lines in (forged, forged + ANOTHER.line(TEXT), ANOTHER.line(TEXT) + forged, forged + SERVER.line(TEXT)):
            assert parse_note(TEXT + b"\n" + lines).signed_by(both) == []
        assert parse_note(TEXT + b"\n" + forged + ANOTHER.line(TEXT)).signed_by([ANOTHER.verifier]) == [
            ANOTHER.verifier
        ]

    def test_signature_is_of_one_text(self) -> None:
        """A signature taken from one note is no signature of another."""
        for other in (TEXT + b"more\n", b"\n" + TEXT, TEXT.upper(), TEXT[:-1] + b" \n"):
            assert parse_note(other + b"\n" + SERVER.line(TEXT)).signed_by([SERVER.verifier]) == []
