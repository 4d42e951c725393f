"""`soulrift audit` as a judge uses it: the verdict, every point of life, as text, data and a page."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from soulrift import store as stores
from tests.bundles import overwrite
from tests.e2e.conftest import PLAYERS, Run, script
from tests.evidence import ANOTHER, SERVER, signed
from tests.recordings import (
    DUEL,
    LIFE_CHANGED,
    Program,
    archive_of,
    canonical,
    duel,
    edited,
    file_of,
    in_process,
    lines,
    refolded,
    running,
)

EXAMPLES = Path(__file__).parents[2] / "examples"

LINES = lines(DUEL)

FALSE_LIFE = refolded(LINES, LIFE_CHANGED, lambda entry: entry["events"][0].update(delta=-20, life=10))

FORMS = ("text", "json", "html")


def put(folder: Path, content: bytes, name: str = "duel.jsonl") -> str:
    (folder / name).write_bytes(content)
    return name


def script_of(commands: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(command) + "\n" for command in commands)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    """The program, in this process."""
    return in_process(monkeypatch, capfd)


class TestForms:
    """What is printed, and where to."""

    def test_text(self, run: Run, tmp_path: Path) -> None:
        """The verdict comes first; then everybody's life as a sum, which adds up: 30 - 2 = 28."""
        done = run("audit", put(tmp_path, duel()))
        assert (done.returncode, done.stderr) == (0, "")
        told = done.stdout.splitlines()
        assert told[0] == "exact: duel: 11 entries, each re-executed"
        (row,) = [line.split() for line in told if line.startswith("  Ada ")]
        assert row[1:] == ["30", "0", "0", "0", "-2", "0", "28"]
        (row,) = [line.split() for line in told if line.startswith("  Bo Ångström ")]
        assert row[2:] == ["30", "0", "0", "0", "0", "0", "30", "defeated"]

    def test_json(self, run: Run, tmp_path: Path) -> None:
        """As data, the verdict comes first, too."""
        done = run("audit", put(tmp_path, duel()), "--format", "json")
        found = json.loads(done.stdout)
        assert list(found)[:3] == ["verdict", "reason", "writer"]
        assert (found["verdict"], found["match"], found["entries"], found["winner"]) == ("exact", "duel", 11, "ada")
        assert [(each["player"], each["changes"], each["life"]) for each in found["players"]] == [
            ("ada", -2, 28),
            ("bo", 0, 30),
        ]
        assert done.stdout.count("\n") == 1

    @pytest.mark.parametrize(
        ("example", "source", "burned"),
        [
            ("worked-4-overpaid", "overpay", 6),
            ("worked-5-effect-fizzles", "fizzle", 3),
            ("worked-6-rift-half-used", "rift", 6),
            ("worked-7-rift-left-empty", "rift", 9),
        ],
    )
    def test_worked_examples(self, run: Run, example: str, source: str, burned: int) -> None:
        """What the rule book says of its examples is what their audits say."""
        run("play", str(EXAMPLES / f"{example}.jsonl"))
        found = json.loads(run("audit", example, "--format", "json").stdout)
        burned_by = {
            (each["player"], name): each[name] for each in found["players"] for name in ("overpay", "fizzle", "rift")
        }
        assert burned_by["ilse", source] == burned
        assert sum(burned_by.values()) == burned

    @pytest.mark.parametrize("form", FORMS)
    def test_file_and_store(self, program: Program, tmp_path: Path, form: str) -> None:
        """A file and the store say the same, byte for byte; so does the file compressed."""
        store, files = str(tmp_path / "s.db"), [tmp_path / f"a.jsonl{ending}" for ending in ("", ".gz", ".zst")]
        (tmp_path / "script").write_text(script_of(DUEL))
        program("play", tmp_path / "script", "--db", store)
        for path in files:
            program("export", "duel", "-o", path, "--db", store)
        told = program("audit", "duel", "--format", form, "--db", store).out
        assert told
        assert {program("audit", path, "--format", form).out for path in files} == {told}

    @pytest.mark.parametrize("form", FORMS)
    def test_into_a_file(self, run: Run, tmp_path: Path, form: str) -> None:
        """Into a file goes what else is printed; the verdict is told. One that is there is replaced on demand."""
        name = put(tmp_path, duel())
        printed = run("audit", name, "--format", form).stdout
        done = run("audit", name, "--format", form, "-o", "out")
        assert (done.returncode, done.stdout) == (0, "out: exact: the audit of duel\n")
        assert (tmp_path / "out").read_text() == printed
        assert run("audit", name, "-o", f"out.{form}").returncode == 0, "the ending of the name says the form"
        assert (tmp_path / f"out.{form}").read_text() == printed
        done = run("audit", name, "--format", form, "-o", "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--force" in done.stderr
        assert run("audit", name, "--format", "text", "-o", "out", "--force").returncode == 0

    def test_never_into_the_store(self, run: Run) -> None:
        """The file of the store is never replaced by an audit of it."""
        run("play", "-", stdin=script_of(DUEL))
        assert run("audit", "duel", "-o", "soulrift.db", "--force").returncode == 2
        assert run("audit", "duel").returncode == 0

    def test_nobody_reads_on(self, run: Run, tmp_path: Path) -> None:
        """A reader that stops is no fault; a full disk is one, told in a line."""
        name = put(tmp_path, duel())
        assert run("--version").returncode == 0
        for form in FORMS:
            audit = f"{sys.executable} -m soulrift audit {name} --format {form}"
            done = subprocess.run(f"{audit} | true", shell=True, cwd=tmp_path, capture_output=True, check=False)
            assert done.stderr == b""
            done = subprocess.run(f"{audit} > /dev/full", shell=True, cwd=tmp_path, capture_output=True, check=False)
            assert (done.returncode, done.stderr.count(b"\n"), b"Traceback" in done.stderr) == (1, 1, False)


class TestStatus:
    """The verdict as the exit status."""

    @pytest.mark.parametrize(
        ("content", "status", "told"),
        [
            (duel(), 0, "exact"),
            (file_of("duel", FALSE_LIFE), 1, "diverged"),
            (duel().replace(b'"rules":1', b'"rules":9'), 3, "unverifiable"),
            (duel().replace(b'"replay":1', b'"replay":9'), 3, "unverifiable"),
            (duel().replace(b"table-1", b"table-2"), 4, "damaged"),
            (duel()[:-1], 4, "damaged"),
            (duel() + b"x\n", 4, "damaged"),
            (duel() + duel(), 4, "damaged"),
            (b"", 4, "damaged"),
            (b"nonsense\n", 4, "damaged"),
            (b"PK\x03\x04", 4, "damaged"),
        ],
        ids=range(11),
    )
    def test_of_a_file(self, program: Program, tmp_path: Path, content: bytes, status: int, told: str) -> None:
        """The audit of a file has the verdict that `soulrift verify` has, in every form."""
        path = tmp_path / put(tmp_path, content)
        assert program("verify", path).status == status
        for form in FORMS:
            done = program("audit", path, "--format", form)
            assert done.status == status, (form, done.out[:200])
            assert told in done.out.lower() + done.err

    def test_damage_names_the_file_once(self, program: Program, tmp_path: Path) -> None:
        """Whatever cannot be read is told with its file in front."""
        put(tmp_path, b"nonsense\n")
        told = program("audit", str(tmp_path / "duel.jsonl")).err
        assert told.startswith(f"damaged: {tmp_path / 'duel.jsonl'}: line 1, byte 0: this is no replay file")

    @pytest.mark.parametrize(
        ("arguments", "status"),
        [
            (("nobody",), 1),
            (("./nobody",), 2),
            (("nobody.jsonl",), 2),
            ((), 2),
            (("duel.jsonl", "--match", "another"), 2),
            (("duel.jsonl", "--checkpoint", "nowhere.note"), 2),
            (("duel.jsonl", "--checkpoint", "duel.jsonl", "--key", "nonsense"), 2),
            (("duel.jsonl", "--format", "pdf"), 2),
            (("duel.jsonl", "-o", "no/such/folder"), 2),
            (("duel.jsonl", "--format", "text", "-o", "page.html"), 2),
        ],
    )
    def test_usage(self, run: Run, tmp_path: Path, arguments: tuple[str, ...], status: int) -> None:
        """What cannot be audited is told in words, and prints nothing."""
        put(tmp_path, duel())
        run("play", "-", stdin=script({"type": "release"}, match="m"))
        done = run("audit", *arguments)
        assert (done.returncode, done.stdout) == (status, "")
        assert done.stderr

    def test_with_checkpoints(self, run: Run, tmp_path: Path) -> None:
        """With checkpoints: 0 by a key that is named, 5 by none of those, 7 shorter, 8 another, 4 no checkpoint."""
        (tmp_path / "good.note").write_bytes(signed(LINES))
        (tmp_path / "other.note").write_bytes(signed(LINES, "another"))
        (tmp_path / "bad.note").write_bytes(b"nonsense")
        whole, cut = put(tmp_path, duel()), put(tmp_path, file_of("duel", LINES[:9], "running"), "cut")
        for name, note, key, status in (
            (whole, "good.note", SERVER, 0),
            (whole, "good.note", ANOTHER, 5),
            (cut, "good.note", SERVER, 7),
            (whole, "other.note", SERVER, 8),
            (whole, "bad.note", SERVER, 4),
        ):
            done = run("audit", name, "--checkpoint", note, "--key", key.text)
            assert done.returncode == status, (note, done.stdout)
            assert done.stdout.count(note) >= 1
        assert run("audit", whole, "--checkpoint", "good.note", "--keys", "none").returncode == 5

    def test_archive(self, run: Run, tmp_path: Path) -> None:
        """Of an archive one match is chosen, and only that one counts."""
        bad = file_of("running", refolded(lines(DUEL[:1]), 1, lambda entry: entry["events"][0].update(match="x")))
        name = put(tmp_path, archive_of(running(), duel()), "all")
        assert run("audit", name).returncode == 2
        done = run("audit", name, "--match", "duel")
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, "exact: duel: 11 entries, each re-executed")
        assert run("audit", put(tmp_path, archive_of(bad, duel()), "half"), "--match", "duel").returncode == 0


class Words(NamedTuple):
    """A text that says what is not so, and how it must be told."""

    text: str
    spelled: str


TURNED = Words("a\u202eb\u2066c", "a\\u202eb\\u2066c")
LINE = Words("a\u2028b", "a\\u2028b")


class TestNames:
    """Whatever things are called."""

    @pytest.mark.parametrize("name", ["a/b", "\U0001f525", "two words", "..", "-x", "it's", "%41", "x" * 64])
    def test_matches(self, run: Run, tmp_path: Path, name: str) -> None:
        """A match is audited by its name, with `--` in front of one like an option."""
        run("play", "-", stdin=script({"type": "release"}, match=name))
        done = run("audit", "--", name)
        assert done.stdout.splitlines()[0] == f"exact: {name}: 2 entries, each re-executed"
        assert run("audit", "--format", "html", "-o", "page.html", "--", name).returncode == 0
        assert (tmp_path / "page.html").stat().st_size > 1_000

    @pytest.mark.parametrize("words", [TURNED, LINE], ids=["turned", "line"])
    def test_no_letter_breaks_a_line(self, run: Run, words: Words) -> None:
        """Characters that break a line, or turn what follows, are spelled out for people, as everywhere."""
        players = [{"player": "ada", "name": words.text}, {"player": "bo"}]
        start = {"type": "start_match", "match": "m", "players": players}
        run("play", "-", stdin=script_of([start, {"type": "end_match", "reason": words.text}]))
        done = run("audit", "m")
        assert words.text not in done.stdout
        assert done.stdout.count(words.spelled) >= 2

    def test_no_terminal_obeys(self, run: Run, tmp_path: Path) -> None:
        """Nor does a false record tell a terminal what to do."""
        changed = refolded(LINES, LIFE_CHANGED, lambda entry: entry["events"][0].update(reason="\u009b31mgreen"))
        done = run("audit", put(tmp_path, file_of("duel", changed)))
        assert done.returncode == 1
        assert "\u009b" not in done.stdout
        assert "\\u009b31mgreen" in done.stdout


class TestStores:
    """Matches in a store, also where somebody edited it with the database's own tools."""

    @pytest.fixture
    def audited(self, durable_store: str, program: Program) -> Callable[..., tuple[int, dict[str, Any]]]:
        """The audit of the duel in a store: its exit status, and what it says."""
        with stores.create(durable_store) as matches:
            matches.start(json.dumps(DUEL[0]))
            matches.give_all("duel", [json.dumps(command) for command in DUEL[1:]])

        def audit(*arguments: str) -> tuple[int, dict[str, Any]]:
            done = program("audit", "duel", "--db", durable_store, "--format", "json", *arguments)
            return done.status, json.loads(done.out)

        return audit

    def test_as_played(self, audited: Callable[..., Any]) -> None:
        """The audit of what was played is exact, with the root over its lines."""
        status, found = audited()
        assert (status, found["entries"]) == (0, 11)
        assert [each["life"] for each in found["players"]] == [28, 30]

    def test_event_edited_with_every_hash(self, durable_store: str, audited: Callable[..., Any]) -> None:
        """Life that nobody lost, with all hashes made anew, diverges in its entry."""
        for line in FALSE_LIFE[LIFE_CHANGED - 1 :]:
            overwrite(durable_store, line)
        status, found = audited()
        assert (status, found["verdict"], found["verified"]["entry"]) == (1, "diverged", LIFE_CHANGED)
        assert found["entries"] == LIFE_CHANGED - 1
        assert [each["life"] for each in found["players"]] == [30, 30]

    def test_event_edited_without_hashes(self, durable_store: str, audited: Callable[..., Any]) -> None:
        """Without the hashes it is damage."""
        old = sha256(LINES[LIFE_CHANGED - 1]).hexdigest()
        (line,) = edited(LINES, LIFE_CHANGED, lambda entry: entry["events"][0].update(delta=-20))[
            LIFE_CHANGED - 1 : LIFE_CHANGED
        ]
        overwrite(durable_store, line, line_hash=old)
        status, found = audited()
        assert (status, found["verdict"]) == (4, "damaged")
        assert str(LIFE_CHANGED) in found["reason"]

    def test_damage_is_told_in_every_form(self, run: Run, tmp_path: Path) -> None:
        """Where nothing can be read, people are told in a line, and programs with data."""
        run("play", "-", stdin=script_of(DUEL))
        overwrite(str(tmp_path / "soulrift.db"), LINES[2], line_hash="0" * 64)
        done = run("audit", "duel")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
        assert json.loads(run("audit", "duel", "--format", "json").stdout)["verdict"] == "damaged"


class TestPrivate:
    """Private matches."""

    COMMANDS = script_of(
        [
            {"type": "start_match", "match": "quiet", "private": True, "players": PLAYERS},
            {"type": "concede", "player": "bo", "meta": {"actor": "Ada"}},
        ]
    )

    @pytest.mark.parametrize("form", FORMS)
    def test_redacted_file_names_nobody(self, run: Run, form: str) -> None:
        """The audit of a redacted file names nobody, and tells all the same that one sent what the other did."""
        run("play", "-", stdin=self.COMMANDS)
        run("export", "quiet", "-o", "redacted", "--redact")
        run("export", "quiet", "-o", "whole")
        redacted, whole = (run("audit", name, "--format", form) for name in ("redacted", "whole"))
        assert (redacted.returncode, whole.returncode) == (0, 0)
        assert "Ada" not in redacted.stdout
        assert "Ada" in whole.stdout
        assert "bo acts" in redacted.stdout
        if form == "text":
            assert "sha256:" not in redacted.stdout


CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine, which would print the page")
@pytest.mark.parametrize("example", ["long-duel", "four-players"])
def test_page_is_printed(run: Run, tmp_path: Path, example: str) -> None:
    """A browser prints the page, on a few sheets."""
    run("play", str(EXAMPLES / f"{example}.jsonl"))
    assert run("audit", example, "--format", "html", "-o", "page.html").returncode == 0
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'browser'}")
    command = [str(CHROMIUM), *options, f"--print-to-pdf={tmp_path / 'page.pdf'}", (tmp_path / "page.html").as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    printed = (tmp_path / "page.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert 1 <= printed.count(b"/Type /Page\n") <= 12


def test_canonical_is_what_is_stored() -> None:
    """What these tests put into stores is what the program would."""
    assert [canonical(json.loads(line)) for line in LINES] == LINES
