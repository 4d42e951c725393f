"""`soulrift verify`: the verdict on replay files, in words, data and exit status."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct
from rich.text import Text

from domain.codec import CorruptRecordError
from replays.differences import Difference
from replays.verdicts import Judged, Verdict, gravest
from replays.verify import Verified, of_checkpoint, verify_file
from soulrift.board import table
from soulrift.terminal import Output, bar, complain

if TYPE_CHECKING:
    from replays.evidence import Evidence, Held

STATUS: dict[Verdict, int] = {
    "exact": 0,
    "diverged": 1,
    "tampered": 1,
    "unverifiable": 3,
    "damaged": 4,
    "unsigned": 5,
    "first-use": 6,
    "incomplete": 7,
    "another-history": 8,
}
"""Exit statuses; those of `soulrift check` are the same. 2 is for usage errors."""

MOST_DIFFERENCES = 20
"""So many are shown to people."""


class Against(Struct, frozen=True):
    """What records are compared with: checkpoints in these files, by the keys of these texts, or else of the folder."""

    checkpoints: tuple[Path, ...]
    trusted: tuple[str, ...]
    keys: Path


def verify(files: Sequence[Path], form: str, against: Against) -> int:
    """Verify files, tell the verdict on each match in them; the exit status is that of the gravest."""
    output, found, verdicts = Output(), list[dict[str, Any]](), set[Verdict]()
    with bar("verifying") as advance:
        for path in files:
            for verified in _verified(path, against):
                advance(verified.entries, None)
                verdicts.add(verified.verdict)
                if form == "json":
                    found.append({"file": name_of(path), **msgspec.to_builtins(verified)})
                else:
                    for line in _lines(path, verified):
                        output.line(line)
    verdict = gravest(verdicts)
    if form == "json":
        output.data({"verdict": verdict, "matches": found})
    output.end()
    return STATUS[verdict]


def name_of(path: Path) -> str:
    """What a file is called, in UTF-8."""
    return os.fsencode(path).decode(errors="backslashreplace")


def _verified(path: Path, against: Against) -> Iterator[Verified]:
    if path.exists() and not path.is_file() and not path.is_dir():
        message = f"{path} is no plain file: save it first, for the beginning of a file is read more than once"
        raise click.UsageError(message)
    try:
        if begins_with(path, b"c2sp.org/tlog-proof"):
            _see_nothing_to_compare(path, against)
            yield _proof(path, against)
        elif begins_with(path, b"PK\x03\x04"):
            from soulrift import bundling, keyrings

            trust = keyrings.trust(against.trusted, against.keys)
            yield bundling.judge(path, held(against), trust, along=not against.trusted)
        else:
            _see_compared(path, against)
            yield from verify_file(path, evidence_of(against))
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise click.UsageError(message) from None


def _see_nothing_to_compare(path: Path, against: Against) -> None:
    if against.checkpoints:
        message = f"{path} is a proof for the checkpoint in it; soulrift consistency compares that with another"
        raise click.UsageError(message)


def _see_compared(path: Path, against: Against) -> None:
    """See that nobody believes a signature was judged where there is none."""
    if against.trusted and not against.checkpoints:
        message = f"--key says whose checkpoints count, but none is given for {path}; give one with --checkpoint"
        raise click.UsageError(message)
    if begins_with(path, b"soulrift/"):
        message = f"{path} is a checkpoint: it is given with --checkpoint, to be compared with a record"
        raise click.UsageError(message)


@contextmanager
def damage_told() -> Iterator[None]:
    """End the program with the verdict where a record cannot be read."""
    try:
        yield
    except CorruptRecordError as error:
        complain(f"damaged: {error}")
        sys.exit(STATUS["damaged"])


def begins_with(path: Path, start: bytes) -> bool:
    """Whether a file does.

    Raises:
        OSError: it cannot be read.

    """
    with path.open("rb") as file:
        return file.read(len(start)) == start


def evidence_of(against: Against) -> "Evidence | None":
    """The checkpoints that records are compared with, if there are any."""
    if not against.checkpoints:
        return None
    from replays.evidence import Evidence
    from soulrift import keyrings

    return Evidence(held(against), keyrings.trust(against.trusted, against.keys))


def held(against: Against) -> "list[Held]":
    """The checkpoints in files that records are compared with."""
    from replays.evidence import Held

    return [Held(name_of(path), path.read_bytes()) for path in against.checkpoints]


def _proof(path: Path, against: Against) -> Verified:
    """The verdict on a proof that an entry is in a record."""
    from replays.evidence import judge_inclusion
    from replays.notes import NoteError
    from replays.proofs import parse_inclusion
    from soulrift import keyrings

    trust = keyrings.trust(against.trusted, against.keys)
    try:
        proof = parse_inclusion(path.read_bytes())
    except NoteError as error:
        return Verified(None, "damaged", 0, str(error))
    judged = judge_inclusion(name_of(path), proof, trust)
    return Verified(proof.checkpoint.match, judged.verdict or "damaged", 0, judged.reason, checkpoints=(judged,))


def verdict_style(verdict: Verdict) -> str:
    """The colour of a verdict."""
    return {"exact": "green", "first-use": "yellow"}.get(verdict, "bold red")


def _lines(path: Path, verified: Verified) -> Iterator[Text | str]:
    place = f"{path}" if verified.match is None else f"{path}: {verified.match}"
    yield Text.assemble(f"{place}: ", (verified.verdict, verdict_style(verified.verdict)), f": {told(verified)}")
    for judged in untold(verified):
        yield Text.assemble("  ", checkpoint_line(judged))
    if verified.differences:
        yield from differences_table(verified.differences, "must be", "is recorded as")


def untold(verified: Verified) -> Iterator[Judged]:
    """The verdicts on checkpoints, but for the one that the reason tells already."""
    return (judged for judged in verified.checkpoints if verified.reason not in {judged.reason, of_checkpoint(judged)})


def checkpoint_line(judged: Judged) -> Text:
    """The verdict on a checkpoint, in one line."""
    at = f" ({judged.at})" if judged.at and judged.signed_by else ""
    verdict, style = (judged.verdict, verdict_style(judged.verdict)) if judged.verdict else ("not compared", "")
    return Text.assemble(f"{judged.checkpoint}: ", (verdict, style), f": {judged.reason}{at}")


def differences_table(
    differences: Sequence[Difference], expected: str, found: str, where: str = "in the entry"
) -> Iterator[Text]:
    """Differences of two values, side by side, under these headings; not more than people read."""
    first = differences[:MOST_DIFFERENCES]
    cells = ((each.path, shown(each.expected), shown(each.found)) for each in first)
    yield from table(cells, (where, expected, found))
    if len(differences) > len(first):
        yield Text(f"  and {len(differences) - len(first)} more places, with --format json")


def shown(value: Any) -> str:
    """A JSON value in a table; nothing as a dash."""
    return msgspec.json.encode(value).decode() if value is not None else "-"


def entries_told(number: int) -> str:
    """So many entries."""
    return f"{number:,} {'entry' if number == 1 else 'entries'}"


def told(verified: Verified) -> str:
    """A verdict's reason, and how far the match is proven, in one line."""
    if verified.line is None and (verified.entries or verified.verdict == "exact"):
        re_executed = f"{entries_told(verified.entries)}, each re-executed" if verified.entries else None
        exact = verified.verdict == "exact"
        parts = (re_executed, verified.reason) if exact else (verified.reason, re_executed)
        return "; ".join(filter(None, parts))
    entry = f"entry {verified.entry}, " if verified.entry is not None else ""
    place = f"{entry}line {verified.line}, byte {verified.byte}: " if verified.line is not None else ""
    proven = "entry 1 is" if verified.entries == 1 else f"the first {verified.entries:,} entries are"
    good = f"; {proven} proven" if verified.entries else ""
    return f"{place}{verified.reason}{good}"
