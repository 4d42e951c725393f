"""The folder of keys: who may read it, which keys sign, which are trusted, from when to when."""

import os
import stat
from pathlib import Path

import msgspec
import pytest

from replays.checkpoints import parse_checkpoint
from replays.evidence import Trust, signed
from replays.keyring import LONGEST_NAME, Keyring, KeyringError, KnownKey
from replays.notes import NoteError, SignerKey, VerifierKey, signer_key
from tests.evidence import ANOTHER, CHEATER, IMPOSTOR, SERVER, note, text_of
from tests.recordings import DUEL, lines

LINES = lines(DUEL)

NEW_YEAR, SPRING, SUMMER, AUTUMN = (f"2026-{month:02}-01T00:00:00Z" for month in (1, 4, 7, 10))

NAME = "games.example/eu"


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    """A folder that is not there yet."""
    return Keyring(tmp_path / "far" / "keys")


def known(keyring: Keyring) -> list[KnownKey]:
    return keyring.keys()


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def checkpoint(key: SignerKey, at: str | None) -> bytes:
    return key.sign(text_of(LINES, at=at))


def verdict(keyring: Keyring, content: bytes) -> str:
    """What a checkpoint is worth by the keys of the folder."""
    found, its_note = parse_checkpoint(content)
    return signed(its_note, found.at, Trust(tuple(keyring.keys()))).verdict


class TestFolder:
    """Two small files a key, for the owner alone."""

    def test_folder_is_made_with_the_first_key(self, keyring: Keyring) -> None:
        """Before there are keys there need be no folder; asking for keys makes none."""
        assert keyring.keys() == []
        with pytest.raises(KeyringError, match="keys new NAME"):
            keyring.signer()
        assert not keyring.folder.exists()
        keyring.new(NAME, SPRING)
        assert rights(keyring.folder) == 0o700

    @pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
    def test_files_are_the_owners_alone(self, keyring: Keyring, mask: int) -> None:
        """Whatever the umask, nobody else may read or write them."""
        before = os.umask(mask)
        try:
            key = keyring.new(NAME, SPRING)
        finally:
            os.umask(before)
        names = sorted(path.name for path in keyring.folder.iterdir())
        assert names == [f"games.example%2Feu+{key.verifier.key_id.hex()}.{ending}" for ending in ("json", "secret")]
        assert [rights(path) for path in keyring.folder.iterdir()] == [0o600, 0o600]
        assert rights(keyring.folder) == 0o700

    def test_what_stands_in_them(self, keyring: Keyring) -> None:
        """The one file holds the key by which others verify, and since when it signs; the other the one that signs."""
        key = keyring.new(NAME, SPRING)
        public, secret = sorted(keyring.folder.iterdir())
        assert msgspec.json.decode(public.read_bytes()) == {"key": str(key.verifier), "since": SPRING, "until": None}
        assert signer_key(secret.read_text().removesuffix("\n")).verifier == key.verifier

    @pytest.mark.parametrize("name", [NAME, "a/b/c", "..", "../../etc", "名前", "a%2Fb", "-", "😀", "a.b"])
    def test_names_of_any_kind(self, keyring: Keyring, name: str) -> None:
        """Whatever the name of a key, its files lie in the folder, and it is found by its name."""
        key = keyring.new(name, SPRING)
        assert len(list(keyring.folder.iterdir())) == 2
        assert [path.name for path in keyring.folder.parent.iterdir()] == ["keys"]
        assert keyring.signer(name).verifier == keyring.keys()[0].verifier == key.verifier
        assert keyring.retire(name, SUMMER).verifier == key.verifier

    @pytest.mark.parametrize(
        "name", ["", "a b", "a+b", "a\u2003b", "a\n", "x" * (LONGEST_NAME + 1), "é" * 34, "/" * 67]
    )
    def test_what_is_no_name(self, keyring: Keyring, name: str) -> None:
        """A name that no key can have, or that is too long for a file, is refused, and leaves nothing behind."""
        with pytest.raises(KeyringError, match="the name of a key"):
            keyring.new(name, SPRING)
        assert not keyring.folder.exists()

    @pytest.mark.parametrize("name", ["x" * LONGEST_NAME, "é" * 33, "/" * 66])
    def test_longest_names(self, keyring: Keyring, name: str) -> None:
        """The longest name has 200 bytes in the name of its files; they can be written everywhere."""
        assert keyring.new(name, SPRING).verifier == keyring.keys()[0].verifier
        assert max(len(path.name.encode()) for path in keyring.folder.iterdir()) <= 255

    def test_too_long_a_name_of_somebody_else(self, keyring: Keyring) -> None:
        """Nor is a stranger's key of such a name taken in."""
        with pytest.raises(KeyringError, match="too long"):
            keyring.add(str(VerifierKey("x" * 201, SERVER.public)))
        assert keyring.keys() == []

    def test_foreign_files_are_left_alone(self, keyring: Keyring) -> None:
        """What is no key's file, by its ending, does not disturb, and stays."""
        keyring.add(SERVER.text)
        for name in ("README.txt", ".DS_Store", "key.pem", "games.json.bak"):
            (keyring.folder / name).write_text("hello")
        (keyring.folder / "old").mkdir()
        assert [key.verifier for key in known(keyring)] == [SERVER.verifier]
        assert (keyring.folder / "README.txt").read_text() == "hello"

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{}",
            b"[]",
            b"\xff",
            b'{"key":null}',
            b'{"key":"games.example/eu"}',
            b'{"key":"%b","more":1}' % SERVER.text.encode(),
            b'{"key":"%b","since":"yesterday"}' % SERVER.text.encode(),
            b'{"key":"%b","until":"2026-13-01T00:00:00Z"}' % SERVER.text.encode(),
            b'{"key":"%b","since":"%b","until":"%b"}' % (SERVER.text.encode(), SUMMER.encode(), SPRING.encode()),
            b'{"key":"%b"}' % ANOTHER.text.encode(),
            b'{"key":"%b"}' % SERVER.text.replace("d", "e").encode(),
            b'{"key":"%b"' % SERVER.text.encode(),
        ],
    )
    def test_damaged_file(self, keyring: Keyring, content: bytes) -> None:
        """A key's file that is not as it was written is named, and nothing is trusted by guess."""
        keyring.add(SERVER.text)
        keyring.new("mine", SPRING)
        path = keyring.folder / f"games.example%2Feu+{SERVER.key_id.hex()}.json"
        assert path.exists()
        path.write_bytes(content)
        for ask in (
            keyring.keys,
            keyring.signer,
            lambda: keyring.new("b", SPRING),
            lambda: keyring.retire("b", SPRING),
        ):
            with pytest.raises(KeyringError, match=path.name.replace("+", r"\+")):
                ask()

    def test_key_under_another_name(self, keyring: Keyring) -> None:
        """A file that was renamed is not the key's of which it has the name."""
        keyring.add(SERVER.text)
        (path,) = keyring.folder.iterdir()
        path.rename(path.with_name("renamed.json"))
        with pytest.raises(KeyringError, match=r"renamed\.json is no file of a key"):
            keyring.keys()


class TestSecrets:
    """What signs is kept from others."""

    @pytest.fixture
    def secret(self, keyring: Keyring) -> Path:
        """The file of a secret key."""
        keyring.new(NAME, SPRING)
        (path,) = keyring.folder.glob("*.secret")
        return path

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o666, 0o610, 0o601, 0o777])
    def test_secret_on_which_others_have_rights(self, keyring: Keyring, secret: Path, mode: int) -> None:
        """It signs nothing until that is mended: it may be known to others."""
        secret.chmod(mode)
        with pytest.raises(KeyringError, match="chmod 600"):
            keyring.signer()
        secret.chmod(0o600)
        assert keyring.signer().verifier == keyring.keys()[0].verifier

    @pytest.mark.parametrize("content", [b"", b"\xff", b"PRIVATE+KEY+", SERVER.text.encode()])
    def test_damaged_secret(self, keyring: Keyring, secret: Path, content: bytes) -> None:
        """A secret that is not as it was written signs nothing."""
        secret.write_bytes(content)
        with pytest.raises(KeyringError, match="is no file of a secret key"):
            keyring.signer()

    def test_secret_of_another_key(self, keyring: Keyring, secret: Path) -> None:
        """Nor does one that is another key's: the checkpoints would be a stranger's."""
        secret.write_text(str(SignerKey(NAME, IMPOSTOR.private)))
        with pytest.raises(KeyringError, match="the secret of another key"):
            keyring.signer()

    def test_error_does_not_tell_the_secret(self, keyring: Keyring, secret: Path) -> None:
        """What is wrong with a secret is told without it."""
        text = secret.read_text()
        secret.write_text(text.replace("PRIVATE", "private"))
        with pytest.raises(KeyringError) as error:
            keyring.signer()
        assert text.split("+")[-1].strip() not in str(error.value)

    def test_lost_secret(self, keyring: Keyring, secret: Path) -> None:
        """A key whose secret is gone is trusted as ever, and signs no more; another one may take its name."""
        old = keyring.keys()[0]
        secret.unlink()
        assert [key.signs for key in known(keyring)] == [False]
        with pytest.raises(KeyringError, match="no key in"):
            keyring.signer()
        assert keyring.new(NAME, SUMMER).verifier != old.verifier


class TestWhichKey:
    """Which key signs, by its name or by name and ID."""

    def test_only_key(self, keyring: Keyring) -> None:
        """Where one key signs, it need not be named; those that are only trusted do not count."""
        keyring.add(SERVER.text)
        key = keyring.new("mine", SPRING)
        assert keyring.signer().verifier == keyring.signer("mine").verifier == keyring.signer(key.label).verifier
        assert keyring.signer().verifier == key.verifier

    def test_several_keys(self, keyring: Keyring) -> None:
        """Of several it has to be said which, and they are told."""
        keys = [keyring.new(name, SPRING) for name in ("a", "b")]
        with pytest.raises(KeyringError, match="say which") as error:
            keyring.signer()
        assert all(key.label in str(error.value) for key in keys)
        assert keyring.signer("b").verifier == keys[1].verifier

    @pytest.mark.parametrize("name", ["c", "", "mine+00000000", "min", "MINE", SERVER.name, SERVER.label])
    def test_no_such_key(self, keyring: Keyring, name: str) -> None:
        """A name that no signing key has, be it that of a trusted one, is refused."""
        keyring.add(SERVER.text)
        keyring.new("mine", SPRING)
        with pytest.raises(KeyringError, match="no active key"):
            keyring.signer(name)

    def test_second_active_key_of_a_name(self, keyring: Keyring) -> None:
        """A name has one key that signs at most; the next comes when that is retired."""
        keyring.new(NAME, SPRING)
        with pytest.raises(KeyringError, match="retire it first"):
            keyring.new(NAME, SUMMER)
        assert len(keyring.keys()) == 1

    def test_strangers_key_of_the_same_name(self, keyring: Keyring) -> None:
        """Somebody else's key may have the name of one's own: both are known, and only the own one signs."""
        own = keyring.new(NAME, SPRING)
        keyring.add(IMPOSTOR.text)
        assert {key.verifier for key in known(keyring)} == {own.verifier, IMPOSTOR.verifier}
        assert keyring.signer(NAME).verifier == own.verifier
        with pytest.raises(KeyringError, match="say which"):
            keyring.retire(NAME, SUMMER)
        assert keyring.retire(IMPOSTOR.label, SUMMER).verifier == IMPOSTOR.verifier
        assert keyring.signer(NAME).verifier == own.verifier


class TestTrust:
    """Keys of others."""

    def test_key_of_somebody_else(self, keyring: Keyring) -> None:
        """It is trusted for all times, and does not sign; twice added, it is there once."""
        added = keyring.add(f"  {SERVER.text}\n")
        assert added == keyring.add(SERVER.text) == KnownKey(SERVER.verifier)
        assert keyring.keys() == [added]
        assert verdict(keyring, note(text_of(LINES), SERVER)) == "exact"
        assert verdict(keyring, note(text_of(LINES), CHEATER)) == "unsigned"

    def test_own_key_added_again(self, keyring: Keyring) -> None:
        """A key of one's own stays as it is: it signs, since the same time."""
        own = keyring.new(NAME, SPRING)
        assert keyring.add(str(own.verifier)) == own
        assert keyring.signer().verifier == own.verifier

    def test_retired_key_added_again(self, keyring: Keyring) -> None:
        """A key that is retired does not come back by that."""
        keyring.add(SERVER.text)
        retired = keyring.retire(SERVER.name, SUMMER)
        assert keyring.add(SERVER.text) == retired
        assert verdict(keyring, note(text_of(LINES, at=AUTUMN), SERVER)) == "unsigned"

    @pytest.mark.parametrize("text", ["", "x", SERVER.label, SERVER.text[:-1], "a b+00000000+AQ=="])
    def test_what_is_no_key(self, keyring: Keyring, text: str) -> None:
        """What is no key's text is refused, and no folder is made for it."""
        with pytest.raises(KeyringError):
            keyring.add(text)
        assert not keyring.folder.exists()

    def test_another_key_with_the_same_id_replaces_nothing(
        self, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An ID has four bytes only: whoever finds a key with name and ID of a trusted one takes nothing over."""
        monkeypatch.setattr(VerifierKey, "key_id", property(lambda _: b"same"))
        keyring.add(str(SERVER.verifier))
        with pytest.raises(KeyringError):
            keyring.add(str(IMPOSTOR.verifier))
        assert [key.verifier for key in known(keyring)] == [SERVER.verifier]

    def test_order(self, keyring: Keyring) -> None:
        """They are told by name, and those of a name by age."""
        first = keyring.new("b", SPRING)
        keyring.retire("b", SUMMER)
        second, other = keyring.new("b", SUMMER), keyring.new("a", AUTUMN)
        assert [key.verifier for key in known(keyring)] == [other.verifier, first.verifier, second.verifier]

    def test_order_of_one_moment(self, keyring: Keyring) -> None:
        """Keys made and retired within a second: the one that signs is the last of its name, whatever its ID."""
        for _ in range(8):
            keyring.new(NAME, SPRING)
            keyring.retire(NAME, SPRING)
        keyring.new(NAME, SPRING)
        assert [key.until for key in known(keyring)] == [SPRING] * 8 + [None]


class TestTimes:
    """A key counts from when it was made to when it was retired."""

    def test_retired_key_signs_no_more(self, keyring: Keyring) -> None:
        """Its secret is deleted, and it is still known."""
        key = keyring.new(NAME, SPRING)
        retired = keyring.retire(NAME, SUMMER)
        assert (retired.until, retired.signs) == (SUMMER, False)
        assert keyring.keys() == [KnownKey(key.verifier, SPRING, SUMMER, signs=False)]
        assert [path.suffix for path in keyring.folder.iterdir()] == [".json"]
        assert rights(next(keyring.folder.iterdir())) == 0o600
        with pytest.raises(KeyringError, match="no key in"):
            keyring.signer()
        for name in (NAME, key.label):
            with pytest.raises(KeyringError, match="no active key"):
                keyring.retire(name, AUTUMN)

    @pytest.mark.parametrize(
        ("at", "expected"),
        [
            (NEW_YEAR, "unsigned"),
            ("2026-03-31T23:59:59Z", "unsigned"),
            (SPRING, "exact"),
            ("2026-05-09T11:00:12Z", "exact"),
            ("2026-05-09T11:00:12.5+02:00", "exact"),
            (SUMMER, "exact"),
            ("2026-07-01T00:00:01Z", "unsigned"),
            ("2026-07-01T01:00:00+01:00", "exact"),
            ("2026-07-01T00:00:00-01:00", "unsigned"),
            (AUTUMN, "unsigned"),
            ("2026-05-09T11:00:12", "unsigned"),  # of which zone?
            ("2026-02-30T00:00:00Z", "unsigned"),
            ("soon", "unsigned"),
            ("", "unsigned"),
        ],
    )
    def test_checkpoints_by_their_time(self, keyring: Keyring, at: str, expected: str) -> None:
        """What a key signed while it did is signed for ever; what is dated before or after that never was."""
        keyring.new(NAME, SPRING)
        key = keyring.signer()
        keyring.retire(NAME, SUMMER)
        assert verdict(keyring, checkpoint(key, at)) == expected

    def test_active_key_has_no_end(self, keyring: Keyring) -> None:
        """A key that signs counts from when it was made on."""
        keyring.new(NAME, SPRING)
        assert verdict(keyring, checkpoint(keyring.signer(), "2999-01-01T00:00:00Z")) == "exact"
        assert verdict(keyring, checkpoint(keyring.signer(), NEW_YEAR)) == "unsigned"

    def test_rotation(self, keyring: Keyring) -> None:
        """After a key comes another one of its name: each verifies what it signed in its own time."""
        keyring.new(NAME, SPRING)
        old = keyring.signer(NAME)
        keyring.retire(NAME, SUMMER)
        keyring.new(NAME, SUMMER)
        new = keyring.signer(NAME)
        assert old.verifier != new.verifier
        assert [key.verifier for key in known(keyring)] == [old.verifier, new.verifier]
        told = [verdict(keyring, checkpoint(key, at)) for key in (old, new) for at in ("2026-05-01T00:00:00Z", AUTUMN)]
        assert told == ["exact", "unsigned", "unsigned", "exact"]

    def test_clock_that_was_put_back(self, keyring: Keyring) -> None:
        """A key that is retired at a time before it was made leaves the folder readable, and the other keys of use."""
        keyring.new("other", SPRING)
        keyring.new(NAME, SUMMER)
        try:
            keyring.retire(NAME, SPRING)
        except KeyringError:
            assert all(key.until is None for key in known(keyring))
        assert {key.verifier.name for key in known(keyring)} == {"other", NAME}
        assert keyring.signer("other").verifier.name == "other"

    def test_retirement_that_was_cut_short(self, keyring: Keyring, monkeypatch: pytest.MonkeyPatch) -> None:
        """Killed before the secret was deleted, the key is retired all the same, and its name can be taken anew."""
        keyring.new(NAME, SPRING)

        def killed(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as now:
            now.setattr(Path, "unlink", killed)
            with pytest.raises(KeyboardInterrupt):
                keyring.retire(NAME, SUMMER)
        with pytest.raises(KeyringError):
            keyring.signer(NAME)
        assert keyring.new(NAME, SUMMER).signs
        assert keyring.signer(NAME).verifier.name == NAME


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file cannot be written, there is none, and no part of one beside it."""
    keyring = Keyring(tmp_path)

    def full(_: int) -> None:
        message = "no space left"
        raise OSError(message)

    monkeypatch.setattr("replays.keyring.os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        keyring.new(NAME, SPRING)
    assert list(tmp_path.iterdir()) == []
    assert keyring.keys() == []


def test_key_without_its_public_file_is_no_key(keyring: Keyring) -> None:
    """A secret alone, as a crash may leave it, is no key: nobody was told of it."""
    keyring.new(NAME, SPRING)
    next(keyring.folder.glob("*.json")).unlink()
    assert keyring.keys() == []
    with pytest.raises(KeyringError):
        keyring.signer()
    with pytest.raises(NoteError):
        signer_key("")
