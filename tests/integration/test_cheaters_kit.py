"""The cheater's kit, with bundles and stores: what somebody may try who has both programs and every file, but no key.

Sums and zip files can always be made anew, and are in all of these.
"""

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from domain.check import Check
from replays.evidence import Trust
from replays.verdicts import Verdict
from replays.writing import WRITER
from soulrift import store as stores
from tests.bundles import (
    AUDIT,
    KEYS,
    NOTE,
    README,
    REPLAY,
    REPORT,
    SUMS,
    VERIFY,
    Json,
    checking,
    duel_bundle,
    duel_files,
    judged,
    made,
    overwrite,
    proof,
    remade,
    sums_of,
    unzipped,
    zipped,
)
from tests.evidence import CHEATER, IMPOSTOR, SERVER, pinned, signed
from tests.recordings import DUEL, LIFE_CHANGED, Program, canonical, duel, file_of, in_process, lines, refolded, running

LINES = lines(DUEL)

FILES = duel_files()

RIGHT = pinned(SERVER)

PROOF, OTHER_PROOF = "proofs/entry-7.tlog-proof", "proofs/entry-8.tlog-proof"

FALSE: list[Json] = [
    *DUEL[:7],
    {**DUEL[7], "changes": [{"player": "ada", "delta": -20}]},
    *DUEL[8:],
]
"""The duel as the cheater would have liked it: every command is legal."""


@pytest.fixture
def verdict(tmp_path: Path) -> Callable[..., Verdict]:
    """The verdict on a bundle, whose key is pinned unless told otherwise."""
    return lambda content, trust=RIGHT: judged(tmp_path, content, trust).verdict


Judge = Callable[..., Verdict]


def with_files(changes: dict[str, bytes]) -> bytes:
    return remade({**FILES, **changes})


def audit_json(change: Callable[[Json], object]) -> bytes:
    """The judgment with a change, written as the program writes it."""
    judgment: Json = json.loads(FILES[AUDIT])
    change(judgment)
    return json.dumps(judgment, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def false_bundle(folder: Path, **options: Any) -> bytes:
    """The bundle of the match as the cheater would have liked it, by the cheater's key."""
    folder.mkdir()
    return made(folder, FALSE, by=CHEATER, **options)


# ------------------------------------------------------------ the zip file


class TestZip:
    """The same files, otherwise packed."""

    def test_reordered(self, verdict: Judge) -> None:
        """Files in another order are no bundle, even with sums in that order."""
        turned = dict(reversed([(name, data) for name, data in FILES.items() if name != SUMS]))
        assert verdict(zipped({**turned, SUMS: sums_of(turned)})) == "damaged"

    def test_doubled(self, verdict: Judge) -> None:
        """A second page under the same name is no bundle, whichever of both a program would show."""
        content = io.BytesIO(duel_bundle())
        with zipfile.ZipFile(content, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
            file.writestr(REPORT, b"ada never lost a life")
        assert verdict(content.getvalue()) == "damaged"

    def test_a_file_more(self, verdict: Judge) -> None:
        """Nothing can be added to a bundle."""
        for name in ("checkpoints/2.txt", "index.html", "../report.html", "verify.pyc"):
            assert verdict(with_files({name: b"ada never lost a life"})) == "damaged"

    @pytest.mark.parametrize("behind", [b"x\n", running(), duel(), b'{"matches":1}\n', b"\n", b" "])
    def test_more_in_the_record(self, verdict: Judge, behind: bytes, tmp_path: Path) -> None:
        """Nor to its record: whatever stands behind the match is damage, for both programs."""
        content = with_files({REPLAY: FILES[REPLAY] + behind})
        assert verdict(content) == "damaged"
        (tmp_path / "unpacked").mkdir()
        assert checking(tmp_path / "unpacked")(unzipped(content))[0] == 4

    def test_more_behind_a_false_record(self, verdict: Judge) -> None:
        """Whether the record re-executes is judged before what stands behind it."""
        forged = refolded(lines(DUEL), LIFE_CHANGED, lambda entry: entry["events"][0].update(life=30))
        assert verdict(with_files({REPLAY: file_of("duel", forged) + running()})) == "diverged"

    def test_archive_for_a_record(self, verdict: Judge) -> None:
        """A bundle is of one match."""
        archive = b'{"archive":1}\n' + FILES[REPLAY] + running() + b'{"matches":2}\n'
        assert verdict(with_files({REPLAY: archive})) == "damaged"


# ------------------------------------------------------------ what goes with the record


class TestJudgment:
    """What people read, changed under a record that is true."""

    @pytest.mark.parametrize(
        "change",
        [
            lambda audit: audit["players"][0].update(life=30),
            lambda audit: audit["players"][0].update(life=30, changes=0),
            lambda audit: audit["players"].reverse(),
            lambda audit: audit.update(winner="bo"),
            lambda audit: audit.update(ended="a victory of ada's"),
            lambda audit: audit.update(verdict="exact"),
            lambda audit: audit["open_payments"].append({"payment": 1}),
            lambda audit: audit["unusual"].append({"entry": 8, "kind": "actor", "told": "bo cheated"}),
            lambda audit: audit["cheaper"].append({"entry": 7}),
            lambda audit: audit["courses"][0]["points"].append([11, 30]),
            lambda audit: audit.update(more="bo cheated"),
            lambda audit: audit.pop("soulburn"),
            lambda audit: audit.clear(),
        ],
    )
    def test_figures(self, verdict: Judge, change: Callable[[Json], object]) -> None:
        """Another figure in audit.json, and be it one that adds up, is tampered with."""
        assert verdict(with_files({AUDIT: audit_json(change)})) == "tampered"

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff"])
    def test_no_judgment(self, verdict: Judge, content: bytes) -> None:
        """Nor can it be none."""
        assert verdict(with_files({AUDIT: content})) == "tampered"

    @pytest.mark.parametrize("name", [README, VERIFY, REPORT])
    def test_replaced(self, verdict: Judge, name: str) -> None:
        """Another page, README or program is tampered with; a letter is enough."""
        assert verdict(with_files({name: b"print('all of it fits')\n"})) == "tampered"
        assert verdict(with_files({name: FILES[name] + b"\n"})) == "tampered"

    def test_page_of_another_match(self, verdict: Judge, tmp_path: Path) -> None:
        """So is the whole judgment on a match as the cheater would have liked it."""
        other = unzipped(false_bundle(tmp_path / "false"))
        assert verdict(with_files({name: other[name] for name in (AUDIT, REPORT)})) == "tampered"

    @pytest.mark.parametrize("writer", ["soulrift 0.0.9", "soulrift 99", "", None, WRITER + " "])
    def test_in_the_name_of_another_version(self, verdict: Judge, writer: str | None) -> None:
        """Saying that another version wrote it gets no false page past a judge as exact."""
        judgment = audit_json(lambda audit: audit.update(writer=writer))
        false = {AUDIT: judgment, REPORT: b"ada never lost a life", VERIFY: b"print('all of it fits')\n"}
        assert verdict(with_files(false)) not in {"exact", "first-use"}


# ------------------------------------------------------------ what was signed


class TestEvidence:
    """Checkpoints, proofs and keys."""

    def test_proofs_swapped(self, verdict: Judge) -> None:
        """Each proof stands under the number of its entry."""
        swapped = {PROOF: FILES[OTHER_PROOF], OTHER_PROOF: FILES[PROOF]}
        assert verdict(with_files(swapped)) == "tampered"
        assert verdict(with_files({PROOF: FILES[OTHER_PROOF]})) == "tampered"

    def test_proof_of_another_record(self, verdict: Judge) -> None:
        """A proof that leads to a root that nobody signed is tampered with, however well it is made."""
        false = lines(FALSE)
        assert verdict(with_files({PROOF: proof(false, 7, FILES[NOTE])})) == "tampered"
        assert verdict(with_files({PROOF: proof(false, 7, signed(false, by=CHEATER))})) == "tampered"
        assert verdict(with_files({PROOF: proof(LINES, 7, signed(LINES[:9]))})) == "tampered"

    @pytest.mark.parametrize(
        ("note", "expected"),
        [
            (signed(LINES, "another"), "another-history"),
            (signed(lines(FALSE)), "another-history"),
            (signed([*LINES, b"12"]), "incomplete"),
            (signed(LINES, by=CHEATER), "unsigned"),
            (signed(LINES, by=IMPOSTOR), "unsigned"),
            (b"nonsense", "damaged"),
        ],
    )
    def test_other_checkpoint(self, verdict: Judge, note: bytes, expected: Verdict) -> None:
        """A checkpoint of another match, record, time or signer in the place of the true one, or beside it."""
        kept = {name: data for name, data in FILES.items() if not name.startswith("proofs/")}
        assert verdict(remade({**kept, NOTE: note})) == expected
        names = list(kept)
        beside = {}
        for name in names:
            beside[name] = kept[name]
            if name == NOTE:
                beside["checkpoints/2.note"] = note
        assert verdict(remade(beside)) == expected

    def test_no_checkpoint(self, verdict: Judge) -> None:
        """Without any, nobody signed it."""
        kept = {name: data for name, data in FILES.items() if not name.startswith(("proofs/", "checkpoints/"))}
        assert verdict(remade(kept)) == "unsigned"

    def test_record_as_the_cheater_likes_it(self, verdict: Judge, tmp_path: Path) -> None:
        """Another record, legal in each command, under the true checkpoint is another history."""
        false = unzipped(false_bundle(tmp_path / "false"))
        assert verdict(remade({**false, NOTE: FILES[NOTE], KEYS: FILES[KEYS]})) == "another-history"

    def test_false_tail_behind_an_early_checkpoint(self, tmp_path: Path) -> None:
        """What came after the last checkpoint is signed by nobody: whoever reads the verdict is told so."""
        early = signed(LINES[:7])
        (tmp_path / "false").mkdir()
        files = unzipped(made(tmp_path / "false", FALSE, notes=[early]))
        (tmp_path / "unpacked").mkdir()
        _, told = checking(tmp_path / "unpacked")(files, "--key", SERVER.text)
        assert "all of it fits, and it is signed" not in told
        found = judged(tmp_path, remade(files), RIGHT)
        assert "7" in (found.reason or ""), "of 11 entries the first 7 were signed, and the judge reads no word of it"

    def test_signed_anew(self, verdict: Judge, tmp_path: Path) -> None:
        """With a key of the cheater's own that comes along: a first use for who knows no key; else unsigned."""
        content = false_bundle(tmp_path / "false", prove=(8,))
        assert verdict(content, Trust()) == "first-use"
        assert verdict(content, pinned(CHEATER)) == "exact"
        assert verdict(content) == "unsigned"

    def test_signed_anew_in_the_servers_name(self, verdict: Judge, tmp_path: Path) -> None:
        """A key of the same name is another key."""
        (tmp_path / "false").mkdir()
        content = made(tmp_path / "false", FALSE, by=IMPOSTOR)
        assert verdict(content, Trust()) == "first-use"
        assert verdict(content) == "unsigned"

    def test_servers_key_beside(self, verdict: Judge, tmp_path: Path) -> None:
        """Naming the server's key in keys.txt makes nothing its own."""
        false = unzipped(false_bundle(tmp_path / "false"))
        keys = f"{SERVER.text}\n{CHEATER.text}\n".encode()
        assert verdict(remade({**false, KEYS: keys})) == "unsigned"

    def test_keys_of_nobody(self, verdict: Judge) -> None:
        """Keys that signed nothing are none that signed."""
        for keys in (f"{SERVER.text}\n{CHEATER.text}\n", f"{SERVER.text}\n{SERVER.text}\n", SERVER.text):
            assert verdict(with_files({KEYS: keys.encode()})) not in {"exact", "first-use"}

    def test_ruling_passed_off_as_a_rule(self, verdict: Judge, tmp_path: Path) -> None:
        """Life that a judge gave is told as a ruling's; told as anything else it is tampered with, by both programs."""
        back = {"life": {"player": "ada", "delta": 2}}
        ruling = {"type": "ruling", "judge": "Mo", "reason": "seen", "corrections": [back]}
        (tmp_path / "made").mkdir()
        files = unzipped(made(tmp_path / "made", [*DUEL, ruling]))
        judgment = json.loads(files[AUDIT])
        ada = judgment["players"][0]
        assert (ada["changes"], ada["rulings"], ada["life"]) == (-2, 2, 30)
        assert verdict(remade(files)) == "exact"
        ada.update(changes=0, rulings=0)
        judgment["rulings"] = []
        false = remade({**files, AUDIT: canonical(judgment)})
        assert verdict(false) == "tampered"
        as_rule = files[REPLAY].replace(b"ruling_made", b"life_changed")
        assert verdict(remade({**files, REPLAY: as_rule})) in {"diverged", "damaged"}


# ------------------------------------------------------------ stores


class TestStores:
    """What somebody does who has the database, and its own tools."""

    @pytest.fixture
    def store(self, durable_store: str) -> str:
        """A store with the duel."""
        with stores.create(durable_store) as matches:
            matches.start(json.dumps(DUEL[0]))
            matches.give_all("duel", [json.dumps(command) for command in DUEL[1:]])
        return durable_store

    @pytest.fixture
    def program(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
        """The program, in this process."""
        return in_process(monkeypatch, capfd)

    def put(self, store: str, changed: Sequence[bytes]) -> None:
        """Write these lines, as many as there are, in the place of the duel's last ones."""
        for line in changed:
            overwrite(store, line)

    def test_event_edited(self, store: str, program: Program) -> None:
        """Life that nobody lost, with every hash made anew: `check` and `audit` both find the entry."""
        self.put(store, refolded(LINES, LIFE_CHANGED, lambda entry: entry["events"][0].update(delta=-20)))
        assert program("check", "--db", store).status == 1
        done = program("audit", "duel", "--db", store)
        assert done.status == 1
        assert f"entry {LIFE_CHANGED}" in done.out.splitlines()[0]
        with stores.open_to_read(store) as matches:
            found = {(fault.kind, fault.entry) for fault in Check(matches.recorder).faults()}
        assert ("diverged", LIFE_CHANGED) in found

    def test_event_edited_carelessly(self, store: str, program: Program) -> None:
        """Without the hashes it is damage for both."""
        (line,) = refolded(LINES, LIFE_CHANGED, lambda entry: entry["events"][0].update(delta=-20))[7:8]
        overwrite(store, line, line_hash=sha256(LINES[LIFE_CHANGED - 1]).hexdigest())
        assert program("check", "--db", store).status in {1, 4}
        assert program("audit", "duel", "--db", store).status == 4

    def test_history_replaced(self, store: str, program: Program, tmp_path: Path) -> None:
        """Another record, legal in each command, is sound to the store itself; what was signed tells."""
        note = tmp_path / "held.note"
        note.write_bytes(signed(LINES))
        held = ("--checkpoint", note, "--key", SERVER.text)
        assert program("audit", "duel", "--db", store, *held).status == 0
        self.put(store, lines(FALSE))
        assert program("check", "--db", store).status == 0
        assert program("audit", "duel", "--db", store).status == 0
        assert program("audit", "duel", "--db", store, *held).status == 8

    def test_file_of_the_store_before(self, store: str, program: Program, tmp_path: Path) -> None:
        """A store put back to an earlier state is incomplete by what was signed later."""
        note = tmp_path / "held.note"
        note.write_bytes(signed(LINES))
        path = tmp_path / "early.jsonl"
        path.write_bytes(file_of("duel", LINES[:9], "running"))
        early = str(tmp_path / "early.db")
        assert program("import", path, "--db", early).status == 0
        done = program("audit", "duel", "--db", early, "--checkpoint", note, "--key", SERVER.text)
        assert done.status == 7
        assert program("audit", "duel", "--db", store).status == 0
