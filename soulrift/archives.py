"""`soulrift export` and `soulrift import`: matches between the store and replay files, byte for byte."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal

from eventsourcing.persistence import IntegrityError
from msgspec import Struct

from domain.application import Matches, MatchNotFoundError
from domain.codec import replay
from domain.entry import Entry
from domain.match import Match
from domain.rules import State
from replays.files import opened, written
from replays.merkle import Tree
from replays.reading import DamageError, Reader, Recording
from replays.stepping import entry_of
from replays.verify import Verified, verify_recording
from replays.writing import write_archive, write_match
from soulrift import store
from soulrift.asking import end_of
from soulrift.terminal import Bar, Output, bar, complain
from soulrift.verifying import STATUS, told

AT_ONCE = 2_000
"""So many entries, at most, are stored in one transaction: other writers wait for some hundredths of a second."""


# ------------------------------------------------------------ export


def export(names: Sequence[str], db: str, out: str, *, everything: bool, replace: bool) -> None:
    """Write matches of a store into a file; several of them, or everything there is, as an archive."""
    with store.open_to_read(db) as matches:
        chosen = sorted(matches.recorder.matches()) if everything else list(names)
        if not chosen:
            message = f"there is no match in {matches.env['STORE']}"
            raise MatchNotFoundError(message)
        for name in chosen:
            if not matches.has(name):
                raise matches.not_found(name)
        with _destination(out, replace=replace) as file, bar("exporting") as advance:
            total = end_of(matches)
            recorded = ((name, _counted(matches.entries(name), advance, total)) for name in chosen)
            if everything or len(chosen) > 1:
                write_archive(file, recorded)
            else:
                write_match(file, *next(recorded))
    if out != "-":
        output = Output()
        output.line(f"{out}: {len(chosen):,} {'match' if len(chosen) == 1 else 'matches'}")
        output.end()


def _counted(entries: Iterable[Entry], advance: Bar, total: int) -> Iterator[Entry]:
    for entry in entries:
        advance(len(entry.events), total)
        yield entry


@contextmanager
def _destination(out: str, *, replace: bool) -> Iterator[BinaryIO]:
    if out == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with written(Path(out), replace=replace) as file:
            yield file


# ------------------------------------------------------------ import


class Imported(Struct, frozen=True):
    """What became of a match of the file, of which so many entries are in the store now by it."""

    match: str | None
    outcome: Literal["imported", "there", "refused", "diverged", "damaged", "unverifiable"]
    entries: int
    reason: str | None = None


def import_(path: Path, db: str, form: str, *, salvage: bool) -> int:
    """Store the matches of a file, those that are proven, and tell what became of each; the exit status.

    With `salvage`, of those that are not whole what is proven.
    """
    output, found, status = Output(), list[Imported](), 0
    with bar("verifying") as advance:
        verdicts, damages = _verdicts(path, advance)
    with store.open_to_write(db) as matches, bar("importing") as advance, opened(path) as file:
        total = sum(verified.entries for verified, _ in verdicts)
        for recording, (verified, root) in zip(Reader(file).recordings(), verdicts, strict=False):
            outcome = _import(matches, recording, verified, root, salvage=salvage)
            advance(verified.entries, total)
            found.append(outcome)
            if form == "text":
                _tell(output, outcome)
            status = max(status, STATUS.get(outcome.outcome, int(outcome.outcome == "refused")))
            if verified.verdict != "exact":
                status = max(status, STATUS[verified.verdict])
    for damage in damages:
        status = STATUS["damaged"]
        found.append(Imported(None, "damaged", 0, f"{path}: {damage}"))
        if form == "text":
            complain(f"{path}: damaged: {damage}")
    if form == "json":
        output.data({"matches": found})
    output.end()
    return status


def _verdicts(path: Path, advance: Bar) -> tuple[list[tuple[Verified, str]], list[DamageError]]:
    """For each match of a file the verdict, and by what its record is known; and what else is damaged."""
    verdicts = []
    with opened(path) as file:
        reader = Reader(file)
        for recording in reader.recordings():
            verified = verify_recording(recording)
            root = recording.end[0].root if recording.end else f"the first {verified.entries} entries"
            verdicts.append((verified, root))
            advance(verified.entries, None)
    return verdicts, reader.damages


def _tell(output: Output, outcome: Imported) -> None:
    if outcome.outcome in {"imported", "there"}:
        more = f" ({outcome.reason})" if outcome.reason else ""
        what = "imported" if outcome.outcome == "imported" else "was there already"
        output.line(f"{outcome.match}: {what}, {outcome.entries:,} entries{more}")
    else:
        complain(f"{outcome.match}: {outcome.outcome}: {outcome.reason}")


def _import(matches: Matches, recording: Recording, verified: Verified, root: str, *, salvage: bool) -> Imported:
    """Store a match of a file as far as it was proven, if it is wanted that far."""
    name, entries = recording.match, verified.entries
    if verified.verdict != "exact" and not (salvage and entries):
        return Imported(name, verified.verdict, 0, told(verified))
    lines = islice((found.content for found in recording.lines()), entries)
    match, tree = Match(name, State(), matches.codec), Tree()
    if matches.has(name):
        known = _known(matches, match, tree, lines)
        if known is not None:
            return Imported(name, "refused", 0, known)
        if tree.size == entries:
            return Imported(name, "there", entries)
        if matches.recorder.incomplete(name) != root:
            reason = f"the store has only the first {tree.size:,} of its {entries:,} entries under this name"
            return Imported(name, "refused", 0, reason)
    try:
        while some := list(islice(lines, AT_ONCE)):
            for line in some:
                tree.append(line)
            whole = tree.size == entries
            if whole and verified.verdict == "exact" and tree.root().hex() != root:
                return Imported(name, "damaged", 0, "the file has changed while it was read")
            matches.record(match, [entry_of(line) for line in some], root, whole=whole)
    except IntegrityError as error:
        return Imported(name, "refused", 0, str(error))
    return Imported(name, "imported", entries, None if verified.verdict == "exact" else told(verified))


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
