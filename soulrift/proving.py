"""`soulrift checkpoint`, `prove` and `consistency`: what a record is, signed, and proofs of it."""

import secrets
import sys
from collections.abc import Collection
from pathlib import Path

import click
from msgspec import Struct

from domain.application import EntryNotFoundError
from replays.checkpoints import Checkpoint, origin_of, parse_checkpoint
from replays.evidence import Extension, Opened, Trust, judge_extension
from replays.merkle import EMPTY, ProvingTree
from replays.notes import Note, NoteError, SignerKey
from replays.proofs import consistency_file, inclusion_file, parse_consistency
from replays.reading import Recording
from replays.verdicts import Judged, Verdict
from replays.verify import verify_recording
from soulrift import keyrings, store
from soulrift.archives import destination
from soulrift.recordings import in_store, lines_of
from soulrift.terminal import Output, bar, complain
from soulrift.verifying import STATUS, checkpoint_line, damage_told, name_of, told

Lines = dict[int, bytes]
"""Lines of entries, by number."""


def proven(recording: Recording, wanted: Collection[int] = ()) -> tuple[ProvingTree, Lines]:
    """A record that re-executes, as a tree that proves, and the lines of the entries that are wanted.

    The program ends with the verdict where the record does not re-execute.

    Raises:
        EntryNotFoundError: it has not these entries.

    """
    tree, lines = ProvingTree(), Lines()

    def seen(line: bytes) -> None:
        tree.append(line)
        if tree.size in wanted:
            lines[tree.size] = line

    with bar("re-executing"):
        verified = verify_recording(recording, seen)
    if verified.verdict != "exact":
        complain(f"{verified.match}: {verified.verdict}: {told(verified)}; what does not re-execute is not signed")
        sys.exit(STATUS[verified.verdict])
    for entry in wanted:
        _see_entry(tree, recording.match, entry)
    return tree, lines


def _see_entry(tree: ProvingTree, match: str, entry: int) -> None:
    if not 1 <= entry <= tree.size:
        message = f"{match} has the entries 1 to {tree.size}, not {entry}"
        raise EntryNotFoundError(message)


def identity(db: str) -> str:
    """The identity of a store, which gets one now if it has none."""
    with store.open_to_read(db) as matches:
        known = matches.recorder.identity()
    if known is None:
        with store.open_to_go_on(db) as matches:
            known = matches.recorder.identify(secrets.token_hex(8))
    return known


def _signed(tree: ProvingTree, origin: str, key: SignerKey, at: int) -> bytes:
    """The signed checkpoint of a match as of entry `at`."""
    return Checkpoint(origin, at, tree.root(at), keyrings.now()).signed(key)


def checkpoint(
    match: str, at: int | None, signer: str | None, out: str | None, folder: Path, db: str, *, replace: bool
) -> None:
    """Sign what the record of a match is, and write that."""
    key, origin = keyrings.signer(folder, signer), origin_of(identity(db), match)
    with store.open_to_read(db) as matches, damage_told(), in_store(matches, match) as (_, recording):
        tree, _ = proven(recording, [] if at is None else [at])
    size = tree.size if at is None else at
    note = _signed(tree, origin, key, size)
    write(note, out, db, f"{match} as of entry {size:,}, signed by {_signers(note)}", replace=replace)


def _signers(note: bytes) -> str:
    return ", ".join(f"{each.name}+{each.key_id.hex()}" for each in parse_checkpoint(note)[1].signatures)


def write(content: bytes, out: str | None, db: str, told_as: str, *, replace: bool) -> None:
    """Write a file, and say what it is; onto standard output if there is no name for it.

    Raises:
        click.UsageError: it is there already, and not to be replaced.

    """
    try:
        with destination(out or "-", db, replace=replace, compress=False) as file:
            file.write(content)
    except FileExistsError as error:
        message = f"{error}; --force replaces it"
        raise click.UsageError(message) from None
    if out not in {None, "-"}:
        output = Output()
        output.line(f"{out}: {told_as}")
        output.end()


def prove(
    match: str, entry: int, out: str, held: Path | None, signer: str | None, folder: Path, db: str, *, replace: bool
) -> None:
    """Prove that an entry is in the record of a match, and write that."""
    signing = (origin_of(identity(db), match), keyrings.signer(folder, signer)) if held is None else None
    with store.open_to_read(db) as matches, damage_told(), in_store(matches, match) as (_, recording):
        tree, lines = proven(recording, [entry])
    if signing:
        note = _signed(tree, *signing, tree.size)
        of = parse_checkpoint(note)[0]
    elif held:
        of, note = fitting(held, tree, match), held.read_bytes()
    if entry > of.size:
        message = f"{held} is about the first {of.size:,} entries only; entry {entry} came later"
        raise click.UsageError(message)
    proof = inclusion_file(lines[entry], entry - 1, tree.inclusion_proof(entry - 1, of.size), note)
    write(proof, out, db, f"entry {entry} of {match}, among {of.size:,} entries", replace=replace)


def fitting(path: Path, tree: ProvingTree, match: str) -> Checkpoint:
    """The checkpoint of a file, which must be of this record; otherwise the program ends with the verdict."""
    of, _ = read_checkpoint(path)
    if of.match == match and of.size <= tree.size and tree.root(of.size) == of.root:
        return of
    verdict: Verdict = "another-history"
    reason = f"the record of {match} is not the one of this checkpoint"
    if of.match != match:
        reason = f"it is about the match {of.match}, not about {match}" if of.match else f"it is about {of.origin}"
    elif of.size > tree.size:
        verdict, reason = "incomplete", f"it is about {of.size:,} entries, and {match} has {tree.size:,}"
    complain(f"{path}: {verdict}: {reason}")
    sys.exit(STATUS[verdict])


def read_checkpoint(path: Path) -> tuple[Checkpoint, Note]:
    """The checkpoint of a file; if it is none, the program ends with the verdict."""
    try:
        return parse_checkpoint(path.read_bytes())
    except NoteError as error:
        complain(f"{path}: damaged: it is no checkpoint: {error}")
        sys.exit(STATUS["damaged"])


# ------------------------------------------------------------ consistency


class Source(Struct, frozen=True):
    """By what it is judged whether one checkpoint extends another: a record, in a file or in the store, or a proof."""

    record: str | None
    match: str | None
    proof: Path | None
    db: str


def consistency(
    old: Path, new: Path, source: Source, out: str | None, trusted: Trust, form: str, *, replace: bool
) -> int:
    """Tell whether a checkpoint extends an older one; the exit status."""
    opened, opened_new = (Opened(name_of(path), *read_checkpoint(path)) for path in (old, new))
    older, newer = opened.checkpoint, opened_new.checkpoint
    if older.size > newer.size and older.origin == newer.origin:
        message = f"{old} has {older.size:,} entries and {new} {newer.size:,}: name the older one first"
        raise click.UsageError(message)
    tree = ProvingTree()

    def found() -> Extension:
        if older.size in {0, newer.size} and out is None:  # that needs neither record nor proof
            return "extends" if older.root == (newer.root if older.size else EMPTY) else "contradicts"
        if source.proof is not None:
            return "extends" if _proves(source.proof, older, newer) else "no proof"
        _read(tree, source, newer)
        if tree.size < newer.size:
            return "too short"
        if tree.root(newer.size) != newer.root:
            return "another record"
        return "extends" if tree.root(older.size) == older.root else "contradicts"

    judged = judge_extension(opened, opened_new, trusted, found)
    if out is not None and judged.verdict in {"exact", "first-use"}:
        if not older.size:
            message = f"{old} is about no entries: every record extends it, and there is nothing to prove"
            raise click.UsageError(message)
        proof = consistency_file(older.size, tree.consistency_proof(older.size, newer.size), new.read_bytes())
        write(proof, out, source.db, f"{new} extends {old}", replace=replace)
    else:
        _tell(judged, form)
    return STATUS[judged.verdict or "damaged"]


def _proves(path: Path, older: Checkpoint, newer: Checkpoint) -> bool:
    try:
        proof = parse_consistency(path.read_bytes())
    except NoteError as error:
        complain(f"{path}: damaged: {error}")
        sys.exit(STATUS["damaged"])
    return proof.checkpoint == newer and proof.extends(older)


def _read(tree: ProvingTree, source: Source, newer: Checkpoint) -> None:
    """Take the record's lines into a tree: of the record that was named, or else of the store's match."""
    with damage_told():
        if source.record is not None:
            with lines_of(source.record, source.db, source.match) as (_, lines):
                for line in lines:
                    tree.append(line)
            return
        if newer.match is None or source.match is not None:
            message = f"say where the record of {newer.origin} is, with --record"
            raise click.UsageError(message)
        with store.open_to_read(source.db) as matches:
            for entry in matches.entries(newer.match):
                tree.append(entry.line)


def _tell(judged: Judged, form: str) -> None:
    output = Output()
    if form == "json":
        output.data(judged)
    else:
        output.line(checkpoint_line(judged))
    output.end()
