"""Bundles to be made, broken and put together again by the published formats alone, and audits of any lines."""

import io
import json
import shutil
import subprocess
import sys
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import msgspec

from domain.entry import Entry
from replays.audit import Audit, audit
from replays.evidence import Evidence, Trust
from replays.reading import Reader
from replays.verify import Verified
from soulrift import bundling
from soulrift import store as stores
from tests.evidence import SERVER, STORE, Signer, signed
from tests.recordings import DUEL, canonical, file_of, lines, root_of
from tests.writers import sql

Json = dict[str, Any]

README, VERIFY, REPLAY, KEYS = "README.txt", "verify.py", "replay.soulrift.jsonl", "keys.txt"
AUDIT, REPORT, SUMS, NOTE = "audit.json", "report.html", "SHA256SUMS", "checkpoints/1.note"


# ------------------------------------------------------------ keys and bundles, made by the program


def key_folder(path: Path, *signers: Signer, trusted: Sequence[Signer] = ()) -> Path:
    """A folder in which these keys sign, and those others are trusted."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    for signer in (*signers, *trusted):
        file = path / f"{quote(signer.name, safe='')}+{signer.key_id.hex()}.json"
        file.write_text(json.dumps({"key": signer.text}))
        if signer in signers:
            secret = file.with_suffix(".secret")
            text = b64encode(b"\x01" + signer.secret).decode()
            secret.write_text(f"PRIVATE+KEY+{signer.label}+{text}\n")
            secret.chmod(0o600)
    return path


def made(
    folder: Path,
    commands: Iterable[Json],
    *,
    by: Signer = SERVER,
    prove: tuple[int, ...] = (),
    notes: Sequence[bytes] = (),
    redact: bool = False,
) -> bytes:
    """The bundle of the match that these commands make, in a store of its own, as this program writes it."""
    first, *others = [json.dumps(command) for command in commands]
    db, out = str(folder / "bundled.db"), folder / "bundle.zip"
    with stores.create(db) as matches:
        matches.recorder.identify(STORE)
        match = matches.start(first).match
        for number in range(0, len(others), 500):
            matches.give_all(match, others[number : number + 500])
    held = []
    for number, note in enumerate(notes, 1):
        held.append(folder / f"held-{number}.note")
        held[-1].write_bytes(note)
    request = bundling.Request(match, prove, tuple(held), by.name, key_folder(folder / "keys", by), redact)
    with redirect_stdout(io.StringIO()):
        bundling.make(request, str(out), db, replace=False)
    return out.read_bytes()


@cache
def duel_bundle() -> bytes:
    """A bundle of the duel, with proofs of two entries, that the server signed."""
    with TemporaryDirectory() as folder:
        return made(Path(folder), DUEL, prove=(7, 8))


# ------------------------------------------------------------ by the format alone


def unzipped(content: bytes) -> dict[str, bytes]:
    """The files of a zip file, in its order."""
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {name: found.read(name) for name in found.namelist()}


def zipped(files: Mapping[str, bytes], **fields: Any) -> bytes:
    """A zip file as a bundle is one: stored, without dates; with other values for fields of each of its members."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            for field, value in fields.items():
                setattr(info, field, value)
            file.writestr(info, data)
    return content.getvalue()


def sums_of(files: Mapping[str, bytes]) -> bytes:
    """The SHA256SUMS of files, in their order."""
    return "".join(f"{sha256(data).hexdigest()}  {name}\n" for name, data in files.items() if name != SUMS).encode()


def remade(files: Mapping[str, bytes], **fields: Any) -> bytes:
    """A bundle of these files, in their order, with the SHA256SUMS made anew: what a cheater can always do."""
    named = {name: data for name, data in files.items() if name != SUMS}
    return zipped({**named, SUMS: sums_of(named)}, **fields)


def changed(content: bytes, **files: bytes) -> bytes:
    """A bundle with other contents for these of its files (AUDIT as `audit_json`), and all else made anew."""
    found = unzipped(content)
    named = {"replay": REPLAY, "keys": KEYS, "audit_json": AUDIT, "report": REPORT, "verify": VERIFY, "readme": README}
    return remade({**found, **{named.get(name, NOTE): data for name, data in files.items()}})


def path_to(entries: Sequence[bytes], index: int) -> list[bytes]:
    """The Merkle path of a leaf, word by word as RFC 6962 defines it, the lowest first."""
    if len(entries) == 1:
        return []
    split = 1
    while split * 2 < len(entries):
        split *= 2
    left, right = entries[:split], entries[split:]
    if index < split:
        return [*path_to(left, index), root_of(right)]
    return [*path_to(right, index - split), root_of(left)]


def proof(entries: Sequence[bytes], number: int, note: bytes) -> bytes:
    """The proof file of an entry among these, for the checkpoint in `note`."""
    hashes = b"".join(b64encode(each) + b"\n" for each in path_to(entries, number - 1))
    line = b64encode(entries[number - 1])
    return b"c2sp.org/tlog-proof@v1\nextra %b\nindex %d\n%b\n%b" % (line, number - 1, hashes, note)


# ------------------------------------------------------------ verdicts


def judged(folder: Path, content: bytes, trust: Trust | None = None) -> Verified:
    """The verdict of `soulrift verify` on a bundle: with these keys named, or else with those that came along."""
    path = folder / "judged.zip"
    path.write_bytes(content)
    return bundling.judge(path, [], Trust() if trust is None else trust, along=not (trust and trust.pinned))


def laid_out(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The files of a bundle in a folder, as whoever unpacks it has them."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def checked(
    folder: Path, *arguments: str, python: str = sys.executable, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """The bundle's own program, run in the folder in which it was unpacked; it never fails but in words."""
    done = subprocess.run(
        [python, "-I", "verify.py", *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        check=False,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in out + err, err
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


# ------------------------------------------------------------ audits


def audited(content: bytes, evidence: Evidence | None = None) -> Audit:
    """The audit of the first match in a file."""
    return audited_with_entries(content, evidence)[0]


def audited_with_entries(content: bytes, evidence: Evidence | None = None) -> tuple[Audit, list[Entry]]:
    """The same, and the entries that were proven."""
    entries = list[Entry]()
    recording = next(Reader(io.BytesIO(content)).recordings())
    return audit(recording, evidence, entries.append), entries


def audit_of(commands: Iterable[Json], status: str = "running") -> Audit:
    """The audit of the match that these commands make."""
    made_lines = lines(commands)
    match = json.loads(made_lines[0])["events"][0]["match"]
    return audited(file_of(match, made_lines, status))


def data_of(value: Any) -> Any:
    """A part of an audit as plain data."""
    return json.loads(msgspec.json.encode(value))


def with_figures(content: bytes, **figures: Any) -> bytes:
    """A bundle whose audit.json has other values for these of its fields."""
    return changed(content, audit_json=canonical({**json.loads(unzipped(content)[AUDIT]), **figures}))


# ------------------------------------------------------------ a bundle of the duel, changed


Files = dict[str, bytes]


@cache
def duel_files() -> Files:
    """The files of the bundle of the duel, which are not to be changed in place."""
    return unzipped(duel_bundle())


def summed(files: Files, changes: Files | None = None) -> Files:
    """The files with these changes and sums to match, as a cheater makes them."""
    made = {**files, **(changes or {})}
    return {**{name: data for name, data in made.items() if name != SUMS}, SUMS: sums_of(made)}


def whole(entries: list[bytes], more: Files | None = None, by: Signer = SERVER) -> Files:
    """A bundle of these lines with one checkpoint and no proofs; the judgment is the duel's."""
    kept = {name: data for name, data in duel_files().items() if not name.startswith("proofs/")}
    made = {REPLAY: file_of("duel", entries), NOTE: signed(entries, by=by, at=None), KEYS: f"{by.text}\n".encode()}
    return summed({**kept, **made, **(more or {})})


def without(name: str) -> Files:
    """The files of the duel's bundle but for one."""
    return {other: data for other, data in duel_files().items() if other != name}


def forged() -> bytes:
    """A checkpoint of the duel under a signature of the server's for another text."""
    text, _, _ = signed(lines(DUEL), at=None).rpartition(b"\n\n")
    return text + b"\n\n" + SERVER.line(b"another text\n")


Check = Callable[..., tuple[int, str]]
"""The program in a bundle, which is called with the files and its arguments."""


def checking(folder: Path) -> Check:
    """The program, on files that are laid out in this folder: its exit status, and what it says."""

    def run(files: Files, *arguments: str, **environment: str) -> tuple[int, str]:
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        done = checked(laid_out(folder, files), *arguments, **environment)
        return done.returncode, done.stdout

    return run


# ------------------------------------------------------------ what somebody with the database's own tools does


def overwrite(store: str, line: bytes, match: str = "duel", line_hash: str | None = None) -> None:
    """Put another line in the place of an entry, event by event, with the hash of it, or with another one."""
    entry = json.loads(line)
    for event in entry["events"]:
        state = canonical(event)
        if event is entry["events"][0]:
            head = {"command": entry["command"], "line_sha256": line_hash or sha256(line).hexdigest()}
            state = b'{"@entry":%b,%b' % (canonical({**head, "state_hash": entry["state_hash"]}), state[1:])
        value = f"decode('{state.hex()}', 'hex')" if stores.is_postgres(store) else f"X'{state.hex()}'"
        where = f"originator_id='{match}' AND originator_version={event['n']}"
        sql(store, f"UPDATE stored_events SET state={value} WHERE {where}")
