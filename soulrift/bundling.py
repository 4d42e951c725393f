"""`soulrift bundle`: a record with everything by which a stranger can check it; and bundles, judged."""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from domain.application import Matches
from domain.entry import Entry
from replays import bundle
from replays.audit import Audit, audit
from replays.bundle import BundleError
from replays.checkpoints import Checkpoint, origin_of, parse_checkpoint
from replays.evidence import Evidence, Held, Trust
from replays.merkle import ProvingTree
from replays.notes import VerifierKey
from replays.proofs import InclusionProof, inclusion_file
from replays.reading import Reader, Recording
from replays.verdicts import Verdict
from replays.verify import Verified, beside_matches
from replays.writing import WRITER, write_match
from soulrift import keyrings, store
from soulrift.auditing import as_data
from soulrift.proving import fitting, identity, proven, write
from soulrift.recordings import see_whole
from soulrift.report import page
from soulrift.verifying import damage_told

_HERE = Path(__file__).parent


class Request(Struct, frozen=True):
    """What a bundle is to hold: proofs of these entries, for these checkpoints, or else for one that `signer` signs."""

    match: str
    entries: tuple[int, ...]
    checkpoints: tuple[Path, ...]
    signer: str | None
    keys: Path
    redact: bool


def make(request: Request, out: str, db: str, *, replace: bool) -> None:
    """Write a bundle.

    Raises:
        click.UsageError: a checkpoint is signed by no key of the folder; or an entry came after all of them.

    """
    origin = None if request.checkpoints else origin_of(identity(db), request.match)
    with store.open_to_read(db) as matches:
        replay = _replay(matches, request)
    tree, lines = proven(next(Reader(io.BytesIO(replay)).recordings()), request.entries)
    notes = _notes(origin, tree, request)
    keys = _keys(notes, request)
    files = {
        bundle.REPLAY: replay,
        bundle.KEYS: _key_lines(keys),
        **{bundle.checkpoint_name(number): note for number, note in enumerate(notes, 1)},
        **{bundle.proof_name(entry): _proof(tree, entry, line, notes) for entry, line in lines.items()},
    }
    files |= _made(files, keys)
    told = f"{request.match}, {tree.size:,} entries; checkpoints: {len(notes)}, proofs: {len(lines)}"
    write(bundle.packed(files), out, db, told, replace=replace)


def _replay(matches: Matches, request: Request) -> bytes:
    see_whole(matches, [request.match])
    file = io.BytesIO()
    openings = () if request.redact else matches.openings(request.match)
    with damage_told():
        write_match(file, request.match, matches.entries(request.match), openings)
    return file.getvalue()


def _recording(replay: bytes) -> tuple[Reader, Recording | None]:
    reader = Reader(io.BytesIO(replay))
    return reader, next(reader.recordings(), None)


def _notes(origin: str | None, tree: ProvingTree, request: Request) -> list[bytes]:
    """The checkpoints of a bundle; one that is signed for it tells no time, so that its bytes are always the same."""
    if origin is None:
        return [path.read_bytes() for path in request.checkpoints if fitting(path, tree, request.match)]
    key = keyrings.signer(request.keys, request.signer)
    return [Checkpoint(origin, tree.size, tree.root()).signed(key)]


def _keys(notes: list[bytes], request: Request) -> list[VerifierKey]:
    """The keys of the folder that signed these."""
    known = [key.verifier for key in keyrings.trust((), request.keys).pinned]
    signed = [parse_checkpoint(note)[1].signed_by(known) for note in notes]
    if not all(signed):
        message = f"{request.checkpoints[signed.index([])]} is signed by no key of {request.keys}; soulrift keys add"
        raise click.UsageError(message)
    return list(dict.fromkeys(key for keys in signed for key in keys))


def _proof(tree: ProvingTree, entry: int, line: bytes, notes: list[bytes]) -> bytes:
    """The proof of an entry, for the largest checkpoint."""
    size, note = max((parse_checkpoint(note)[0].size, note) for note in notes)
    if entry > size:
        message = f"entry {entry} came after all of the checkpoints"
        raise click.UsageError(message)
    return inclusion_file(line, entry - 1, tree.inclusion_proof(entry - 1, size), note)


def _made(files: Mapping[str, bytes], keys: list[VerifierKey] | tuple[VerifierKey, ...]) -> dict[str, bytes]:
    """What this program writes beside a record and its evidence; of both alone, whoever makes it."""
    entries = list[Entry]()
    _, recording = _recording(files[bundle.REPLAY])
    if recording is None:
        return {}
    judgment = audit(recording, Evidence(bundle.held(files), Trust(along=tuple(keys))), entries.append)
    return {
        bundle.README: _readme(judgment),
        bundle.VERIFY: (_HERE / "bundle_verify.py").read_bytes(),
        bundle.AUDIT: msgspec.json.encode(as_data(judgment)) + b"\n",
        bundle.REPORT: page(judgment, entries).encode(),
    }


def _readme(judgment: Audit) -> bytes:
    title = f"The match {judgment.match}"
    template = (_HERE / "bundle_readme.txt").read_text("utf-8")
    names = {"replay": bundle.REPLAY, "keys": bundle.KEYS, "report": bundle.REPORT, "audit": bundle.AUDIT}
    return template.format(match=judgment.match, underline="=" * len(title), **names).encode()


# ------------------------------------------------------------ judging one


def judge(path: Path, more: Sequence[Held], trust: Trust, *, along: bool) -> Verified:
    """The verdict on a bundle: on the record, its evidence and more of it, and whether the rest says what they say.

    `along`: the keys that came along with it count, for what that is worth.
    """
    try:
        files = bundle.unpacked(path.read_bytes())
        keys = bundle.keys(files)
        proofs = bundle.proofs(files)
    except BundleError as error:
        return Verified(None, "damaged", 0, str(error))
    reader, recording = _recording(files[bundle.REPLAY])
    lines, held = list[bytes](), bundle.held(files)
    evidence = Evidence([*held, *more], Trust(trust.pinned, keys if along else ()))
    found = audit(recording, evidence, lambda entry: lines.append(entry.line)).verified if recording else None
    if found and found.line is not None:  # it does not re-execute, which is judged first
        return found
    reader.finish()
    beside = next(beside_matches(reader), None)
    if found is None or beside or reader.archive:
        return beside or Verified(None, "damaged", 0, f"{bundle.REPLAY} is an archive, not the record of a match")
    if found.verdict not in {"exact", "first-use"}:
        return found
    if not held:
        return _changed(found, "unsigned", "there is no checkpoint in it")
    fault = _fault(files, proofs, lines) or _false_key(files, keys, held)
    return _changed(found, "tampered", fault) if fault else _compared(files, keys, found)


def _fault(files: Mapping[str, bytes], proofs: Mapping[str, InclusionProof], lines: Sequence[bytes]) -> str | None:
    """Which proof is none of this record, for a checkpoint that is in the bundle, by the name of its entry."""
    notes = {each.content for each in bundle.held(files)}
    for name, proof in proofs.items():
        at = proof.index
        fits = proof.holds() and lines[at : at + 1] == [proof.line] and name == bundle.proof_name(at + 1)
        if not fits or _note_of(files[name]) not in notes:
            return f"{name} is no proof of this entry for a checkpoint of this record"
    return None


def _false_key(files: Mapping[str, bytes], keys: Sequence[VerifierKey], held: Sequence[Held]) -> str | None:
    """That the keys are not those that signed, each once."""
    notes = [parse_checkpoint(each.content)[1] for each in held]
    signed = dict.fromkeys(key for note in notes for key in note.signed_by(keys))
    if files[bundle.KEYS] == _key_lines(signed):
        return None
    return f"{bundle.KEYS} holds other keys than those that signed"


def _key_lines(keys: Iterable[VerifierKey]) -> bytes:
    return "".join(f"{key}\n" for key in keys).encode()


def _note_of(proof: bytes) -> bytes:
    return proof.partition(b"\n\n")[2]


def _changed(found: Verified, verdict: Verdict, reason: str) -> Verified:
    return msgspec.structs.replace(found, verdict=verdict, reason=reason)


_FIGURES = (
    "match",
    "entries",
    "root",
    "rules",
    "ruleset",
    "status",
    "winner",
    "turns",
    "players",
    "soulburn",
    "rulings",
)
"""What every version of an audit tells in the same way."""


def _compared(files: Mapping[str, bytes], keys: tuple[VerifierKey, ...], found: Verified) -> Verified:
    """The verdict, once it is seen that what goes with a record says what the record does."""
    made = _made(files, keys)
    try:
        told, computed = (_object(each[bundle.AUDIT]) for each in (files, made))
    except msgspec.MsgspecError as error:
        return _changed(found, "tampered", f"{bundle.AUDIT} cannot be read: {error}")
    wrong = next((name for name in _FIGURES if told.get(name) != computed[name]), None)
    if wrong:
        return _changed(found, "tampered", f"{bundle.AUDIT} says of {wrong} something else than the record")
    if told.get("writer") != WRITER:
        others = ", ".join(name for name in made if name != bundle.AUDIT)
        reason = (
            f"{others} are of {told.get('writer')!r}, and cannot be compared by {WRITER}; the record is {found.verdict}"
        )
        return _changed(found, "unverifiable", reason)
    changed = next((name for name, content in made.items() if files[name] != content), None)
    if changed:
        return _changed(found, "tampered", f"{changed} is not what goes with this record")
    return found


def _object(content: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(content, type=dict[str, Any])
    return decoded
