"""`soulrift export` and `soulrift import`: matches between the store and replay files, byte for byte."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, zip_longest
from pathlib import Path
from typing import BinaryIO, Literal

import click
from eventsourcing.persistence import IntegrityError
from msgspec import Struct

from domain.application import Matches, MatchNotFoundError
from domain.codec import replay
from domain.entry import Entry
from domain.match import Match
from domain.privacy import Opening
from domain.rules import State
from replays.files import DamagedFileError, opened, written
from replays.merkle import Tree
from replays.reading import DamageError, Reader, Recording
from replays.stepping import entry_of
from replays.verdicts import Verdict, gravest
from replays.verify import Verified, beside_matches, verify_recording
from replays.writing import no_openings, write_archive, write_match
from soulrift import store
from soulrift.recordings import see_whole
from soulrift.terminal import Bar, Output, bar, complain
from soulrift.verifying import STATUS, told

AT_ONCE = 2_000
"""So many entries, at most, are stored in one transaction: other writers wait for some hundredths of a second.

By this number, which stays as it is, a check knows where an import can have been interrupted.
"""


# ------------------------------------------------------------ export


def export(names: Sequence[str], db: str, out: str, *, everything: bool, replace: bool, redact: bool) -> int:
    """Write matches of a store into a file; several of them, or everything there is, as an archive. The exit status.

    What the commitments of private matches stand for is written too, unless it is to `redact` that.
    """
    with store.open_to_read(db) as matches:
        incomplete = set(matches.recorder.all_incomplete())
        chosen = [name for name in sorted(matches.recorder.matches()) if name not in incomplete]
        if not everything:
            chosen = list(dict.fromkeys(names))
        elif not chosen:
            message = f"there is no match in {matches.env['STORE']}"
            raise MatchNotFoundError(message)
        see_whole(matches, chosen)
        with destination(out, db, replace=replace) as file, bar("exporting") as advance:
            total = matches.recorder.end()
            recorded = ((name, _counted(matches.entries(name), advance, total)) for name in chosen)
            openings = no_openings if redact else matches.openings
            if everything or len(chosen) > 1:
                write_archive(file, recorded, openings)
            else:
                write_match(file, *next(recorded), openings(chosen[0]))
    if out != "-":
        output = Output()
        output.line(f"{out}: {len(chosen):,} {'match' if len(chosen) == 1 else 'matches'}")
        output.end()
    for name in incomplete if everything else ():
        complain(f"{name} is left out: only a part of it was imported")
    return int(everything and bool(incomplete))


def _counted(entries: Iterable[Entry], advance: Bar, total: int) -> Iterator[Entry]:
    for entry in entries:
        advance(len(entry.events), total)
        yield entry


@contextmanager
def destination(out: str, db: str, *, replace: bool, compress: bool = True) -> Iterator[BinaryIO]:
    """What is written into a file that appears when it is whole, compressed as it is called; - is standard output.

    Raises:
        click.UsageError: it cannot be there, or belongs to the store.
        FileExistsError: there is one, which is not to be replaced.

    """
    if out == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(out)
    if not path.absolute().parent.is_dir():
        message = f"there is no folder for {out}"
        raise click.UsageError(message)
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        message = f"{out} is no plain file that could be replaced"
        raise click.UsageError(message)
    of_store = [
        Path(os.path.realpath(db) + end)
        for end in ("", "-wal", "-shm", ".views", ".views-wal", ".views-shm", ".views.lease")
    ]
    if path.exists() and any(each.exists() and each.samefile(path) for each in of_store if not store.is_postgres(db)):
        message = f"{out} belongs to the store itself"
        raise click.UsageError(message)
    with written(path, replace=replace, compress=compress) as file:
        yield file


# ------------------------------------------------------------ import


class Imported(Struct, frozen=True):
    """What became of a match of the file, of which so many entries are in the store now by it, and its verdict.

    The outcome is the verdict, where that is why nothing was stored. `openings` tells how many were stored with it; of
    a match that was there already, those that the store lacked.
    """

    match: str | None
    outcome: Literal["imported", "there", "refused"] | Verdict
    entries: int
    verdict: Verdict
    reason: str | None = None
    openings: int = 0


def import_(path: Path, db: str, form: str, *, salvage: bool) -> int:
    """Store the matches of a file, those that are proven, and tell what became of each; the exit status.

    With `salvage`, of those that are not whole what is proven.
    """
    if not path.is_file():
        there = "is no file that can be read twice, to prove it and to store it" if path.exists() else "is not there"
        message = f"{path} {there}"
        raise click.UsageError(message)
    output, found = Output(), list[Imported]()
    for outcome in _outcomes(path, db, salvage=salvage):
        found.append(outcome)
        if form == "text":
            _tell(output, path, outcome)
    if form == "json":
        output.data({"matches": found})
    output.end()
    return STATUS[gravest({outcome.verdict for outcome in found})] or int(
        any(outcome.outcome == "refused" for outcome in found)
    )


def _outcomes(path: Path, db: str, *, salvage: bool) -> Iterator[Imported]:
    """What becomes of each match of a file, and what is wrong beside them. A store is opened if one is needed."""
    with bar("verifying") as advance:
        proofs, beside = _proofs(path, advance)
    wanted = [proof.verified.verdict == "exact" or (salvage and proof.verified.entries > 0) for proof in proofs]
    if not any(wanted):
        yield from (_left_out(proof.verified) for proof in proofs)
    else:
        with store.open_to_write(db) as matches, bar("importing") as advance, opened(path) as file:
            total = sum(proof.verified.entries for proof in proofs)
            for recording, proof, want in zip_longest(Reader(file).recordings(), proofs, wanted):
                if recording is None or proof is None or recording.match != proof.verified.match:
                    yield Imported(None, "damaged", 0, "damaged", _CHANGED)
                else:
                    yield _import(matches, recording, proof) if want else _left_out(proof.verified)
                    advance(proof.verified.entries, total)
    yield from map(_left_out, beside)


def _left_out(verified: Verified) -> Imported:
    return Imported(verified.match, verified.verdict, 0, verified.verdict, told(verified))


_CHANGED = "the file has changed while it was read"


class _Proof(Struct):
    """What a match of the file was found to be: the verdict, by what its record is known, the Merkle root after each
    `AT_ONCE` entries, and after the last; and its openings, if it is exact.
    """

    verified: Verified
    record: str
    roots: list[bytes]
    openings: Sequence[Opening]


def _proofs(path: Path, advance: Bar) -> tuple[list[_Proof], list[Verified]]:
    """What each match of a file was found to be, and what is wrong beside them."""
    proofs = list[_Proof]()
    try:
        with opened(path) as file:
            reader = Reader(file)
            for recording in reader.recordings():
                proofs.append(_proof(recording))
                advance(proofs[-1].verified.entries, None)
            return proofs, list(beside_matches(reader))
    except DamagedFileError as error:
        return [], [Verified(None, "damaged", 0, str(error), None, 1, 0)]


def _proof(recording: Recording) -> _Proof:
    tree, roots = Tree(), list[bytes]()

    def seen(line: bytes) -> None:
        tree.append(line)
        if tree.size % AT_ONCE == 0:
            roots.append(tree.root())

    verified = verify_recording(recording, seen)
    record = recording.end[0].root if recording.end else f"the first {verified.entries} entries"
    openings = recording.openings[0].openings if recording.openings and verified.verdict == "exact" else []
    return _Proof(verified, record, [*roots, tree.root()], openings)


def _tell(output: Output, path: Path, outcome: Imported) -> None:
    if outcome.outcome in {"imported", "there"}:
        more = f" ({outcome.reason})" if outcome.reason else ""
        what = "imported" if outcome.outcome == "imported" else "was there already"
        added = f", {outcome.openings:,} openings added" if outcome.openings else ""
        output.line(f"{outcome.match}: {what}, {outcome.entries:,} entries{added}{more}")
    else:
        complain(f"{outcome.match or path}: {outcome.outcome}: {outcome.reason}")


def _import(matches: Matches, recording: Recording, proof: _Proof) -> Imported:
    """Store a match of a file as far as it was proven."""
    name, verified, entries = recording.match, proof.verified, proof.verified.entries
    reason = None if verified.verdict == "exact" else told(verified)
    lines = islice((found.content for found in recording.lines()), entries)
    match, tree = Match(name, State(), matches.codec), Tree()
    if matches.has(name):
        known = _known(matches, match, tree, lines)
        if known is None and tree.size < entries and matches.recorder.incomplete(name) != proof.record:
            known = f"the store has only the first {tree.size:,} of its {entries:,} entries under this name"
        if known is not None:
            return Imported(name, "refused", 0, verified.verdict, known)
        if tree.size == entries:
            _finish(matches, match, proof)
            added = matches.add_openings(name, proof.openings) if proof.openings else 0
            return Imported(name, "there", entries, verified.verdict, reason, added)
    try:
        as_proven = _store(matches, match, tree, lines, proof)
    except IntegrityError as error:
        return Imported(name, "refused", 0, verified.verdict, f"{error}; import it again")
    if not as_proven:
        return Imported(name, "damaged", 0, "damaged", _CHANGED)
    return Imported(name, "imported", entries, verified.verdict, reason, len(proof.openings))


def _finish(matches: Matches, match: Match, proof: _Proof) -> None:
    """A match whose record is there, and is not the beginning of another one that is, takes commands from now on."""
    recorder = matches.recorder
    if recorder.incomplete(match.id) is None:
        return
    with recorder.writing(match.id):
        is_all = proof.verified.verdict == "exact" and recorder.last_version(match.id) == match.version
        if is_all or recorder.incomplete(match.id) == proof.record:
            recorder.mark_incomplete(match.id, None)


def _store(matches: Matches, match: Match, tree: Tree, lines: Iterator[bytes], proof: _Proof) -> bool:
    """Store the entries of these lines, which follow those in the tree; whether all were those that were proven."""
    entries = proof.verified.entries
    try:
        while some := list(islice(lines, AT_ONCE - tree.size % AT_ONCE)):
            for line in some:
                tree.append(line)
            if tree.root() != proof.roots[(tree.size - 1) // AT_ONCE]:
                return False
            whole = tree.size == entries
            openings = proof.openings if whole else ()
            matches.record(match, [entry_of(line) for line in some], proof.record, whole=whole, openings=openings)
    except DamageError:
        return False
    return tree.size == entries


def _known(matches: Matches, match: Match, tree: Tree, lines: Iterator[bytes]) -> str | None:
    """Take in the entries of a match that the store has already; why they are not those of the file, if so."""
    for stored in matches.entries(match.id):
        line = next(lines, None)
        if line is None:
            break  # it was played on
        if line != stored.line:
            return f"the store has another record under this name: entry {stored.number} differs"
        tree.append(line)
        replay(stored.events, match.state)
    return None
