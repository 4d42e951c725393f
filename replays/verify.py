"""Whether a recording re-executes to what it records: every command is judged again, every byte compared."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
from msgspec import Struct

from domain.entry import played
from domain.privacy import hidden_in
from domain.rules.commands import AnyCommand
from domain.rules.refusal import Refusal
from domain.rules.ruleset import RULES_VERSION
from domain.rules.shape import as_a_whole
from domain.rules.state import State
from domain.rules.versions import UnknownRulesError, rules_of
from replays import lines
from replays.differences import Difference, differences_of
from replays.files import DamagedFileError, opened
from replays.merkle import Tree
from replays.reading import DamageError, Found, Reader, Recording, entry_line
from replays.verdicts import GRAVEST_FIRST, Judged, Verdict

if TYPE_CHECKING:
    from replays.evidence import Evidence


MOST_DIFFERENCES = 1_000
"""So many places are told in which events differ."""


class Verified(Struct, frozen=True):
    """The verdict on a match, or on a file beside its matches (`match` is null).

    `entries` from the first on were proven; `entry`, `line` (from 1) and `byte` (in the uncompressed file, from 0) tell
    the place of what is wrong, `differences` what it is where the match diverged. `checkpoints` are the verdicts on
    those that it was compared with.
    """

    match: str | None
    verdict: Verdict
    entries: int
    reason: str | None = None
    entry: int | None = None
    line: int | None = None
    byte: int | None = None
    differences: tuple[Difference, ...] = ()
    checkpoints: tuple[Judged, ...] = ()


class DivergedError(Exception):
    """An entry's command leads to other events than it records."""

    def __init__(self, found: Found, reason: str, differences: tuple[Difference, ...] = ()) -> None:
        super().__init__(reason)
        self.found = found
        self.reason = reason
        self.differences = differences


def verify_file(path: Path, evidence: "Evidence | None" = None) -> Iterator[Verified]:
    """The verdicts on a file: on each match in it, and on the file where it is damaged beside them; at least one.

    The matches are compared with the checkpoints of the `evidence`; the verdict on one that is about none of them comes
    last.

    Raises:
        OSError: it cannot be read.

    """
    try:
        with opened(path) as file:
            yield from verify(file, evidence)
    except DamagedFileError as error:
        yield Verified(None, "damaged", 0, str(error), line=1, byte=0)


def verify(file: BinaryIO, evidence: "Evidence | None" = None) -> Iterator[Verified]:
    """The verdicts on an open file, uncompressed."""
    reader, matches = Reader(file), list[str]()
    for recording in reader.recordings():
        matches.append(recording.match)
        yield compared(recording, evidence)
    yield from beside_matches(reader)
    for judged in evidence.strays(matches) if evidence else ():
        yield Verified(None, judged.verdict or "damaged", 0, of_checkpoint(judged), checkpoints=(judged,))


def compared(
    recording: Recording, evidence: "Evidence | None" = None, seen: Callable[[bytes], object] | None = None
) -> Verified:
    """The verdict on a match that is compared with the checkpoints of it; `seen` gets each line that is proven."""
    if evidence is None:
        return verify_recording(recording, seen)
    comparison = evidence.of(recording.match)

    def both(line: bytes) -> None:
        comparison.seen(line)
        if seen:
            seen(line)

    verified = verify_recording(recording, both)
    return with_checkpoints(verified, comparison.judged(whole=verified.verdict == "exact"))


def with_checkpoints(verified: Verified, judged: Sequence[Judged]) -> Verified:
    """A verdict that takes these on checkpoints in: they decide where the record re-executes."""
    checkpoints = (*verified.checkpoints, *judged)
    if judged and verified.line is None:
        worst = min(checkpoints, key=lambda each: GRAVEST_FIRST.index(each.verdict or "damaged"))
        reason = _unsigned_tail(verified.entries, checkpoints) if worst.verdict == "exact" else of_checkpoint(worst)
        verified = msgspec.structs.replace(verified, verdict=worst.verdict or "damaged", reason=reason)
    return msgspec.structs.replace(verified, checkpoints=checkpoints)


def _unsigned_tail(entries: int, checkpoints: Sequence[Judged]) -> str | None:
    """That the last entries were signed by nobody, where others were."""
    size = max(each.size or 0 for each in checkpoints)
    return f"those behind entry {size:,} were signed by nobody" if size < entries else None


def of_checkpoint(judged: Judged) -> str:
    """The verdict on a checkpoint as the reason of one on a record."""
    return f"{judged.checkpoint}: {judged.reason}"


def beside_matches(reader: Reader) -> Iterator[Verified]:
    """What is wrong with a file beside its matches, once they are read."""
    if reader.newer:
        yield Verified(None, "unverifiable", 0, newer_format(reader.newer), None, 1, 0)
    for damage in reader.damages:
        yield Verified(None, "damaged", 0, damage.reason, line=damage.line, byte=damage.byte)


def newer_format(version: int) -> str:
    """That a file is written in a format which this program does not know."""
    return f"it is written in format {version}; this Soulrift knows formats up to {lines.FORMAT}"


def verify_recording(recording: Recording, seen: Callable[[bytes], object] | None = None) -> Verified:
    """The verdict on a match of a file; its entries are read, and `seen` gets the line of each one that is proven."""
    match, entries, header = recording.match, 0, recording.header
    if recording.version > lines.FORMAT:
        return Verified(match, "unverifiable", 0, newer_format(recording.version), None, header.number, header.byte)
    try:
        for line in proven(recording):
            entries += 1
            if seen:
                seen(line)
    except DivergedError as error:
        place = (entries + 1, error.found.number, error.found.byte)
        return Verified(match, "diverged", entries, error.reason, *place, error.differences)
    except DamageError as error:
        return Verified(match, "damaged", entries, error.reason, entries + 1, error.line, error.byte)
    except UnknownRulesError as error:
        return Verified(match, "unverifiable", 0, str(error), None, header.number, header.byte)
    return Verified(match, "exact", entries)


def proven(recording: Recording) -> Iterator[bytes]:
    """The lines of a recording, each re-executed and found to be as recorded; at the end the whole of it is compared.

    Raises:
        DivergedError: the next entry's command leads to other events.
        DamageError: the next line is not as it was written.
        UnknownRulesError: the rules of this match are not known.

    """
    state, tree, ids, hidden = State(), Tree(), dict[str, int](), set[str]()
    for found in recording.lines():
        content = found.content
        if not state.entries:
            state.rules = _version(found)
            rules_of(state.rules)
        try:
            command = as_a_whole(_command(content).command)
            _, command_json, event_jsons, hash_after, line = played(state, command)
        except (msgspec.MsgspecError, RecursionError, Refusal) as error:
            raise _unplayed(found, state.entries + 1, error) from None
        if line != content:
            raise _fault(found, state.entries, command_json, event_jsons, hash_after)
        if command.meta is not None:
            _see_used_once(command.meta.id, ids, found, state.entries)
        if state.entries == 1 and state.match != recording.match:
            raise recording.header.damage(f"the header names {recording.match}, but the match is {state.match}")
        hidden.update(hidden_in(command_json) if state.private else ())
        tree.append(content)
        yield content
    if recording.end:
        end, found = recording.end
        if end.root != tree.root().hex():
            raise found.damage("the lines of the match are not as they were written: the root over them is another one")
        if end.status != state.status:
            raise found.damage(f"the match is {state.status}, and not {end.status} as its end says")
    recording.see_openings(hidden)


def _version(found: Found) -> int:
    """The version of the rules that the first event of a match names."""
    try:
        version = msgspec.json.decode(found.content)["events"][0]["rules"]
    except (msgspec.MsgspecError, LookupError, TypeError, RecursionError):
        return RULES_VERSION
    return version if isinstance(version, int) else RULES_VERSION


class _Command(Struct, gc=False):
    command: AnyCommand


_command = msgspec.json.Decoder(_Command).decode


def _unplayed(found: Found, number: int, error: Exception) -> DivergedError | DamageError:
    """How the command of a line cannot be played."""
    entry_line(found, number)
    if isinstance(error, Refusal):
        return DivergedError(found, f"its command is refused, by {error}")
    return found.damage(f"its command cannot be read: {error}")


def _see_used_once(command_id: str | None, ids: dict[str, int], found: Found, number: int) -> None:
    """See that no entry before has this `meta.id`."""
    if command_id is not None and ids.setdefault(command_id, number) != number:
        raise found.damage(f"its meta.id is that of entry {ids[command_id]}: a command that was given again")


def _fault(
    found: Found, number: int, command: bytes, events: tuple[bytes, ...], state_hash: str
) -> DivergedError | DamageError:
    """How a line is not that of the entry with these parts."""
    line = entry_line(found, number)
    recorded = tuple([bytes(event) for event in line.events])
    if events != recorded:
        try:
            differences = tuple(islice(differences_of(_value(events), _value(recorded), "events"), MOST_DIFFERENCES))
        except msgspec.MsgspecError as error:
            return found.damage(f"its events cannot be read: {error}")
        if not differences:
            return found.damage("its events are not as they were written: they are not in the canonical form")
        return DivergedError(found, "its command leads to other events than are recorded", differences)
    if command != bytes(line.command):
        return found.damage("its command is not as it was written: it is not in its normal form")
    return found.damage(f"the hash of the state is {state_hash}, and not {line.state_hash} as recorded")


def _value(events: tuple[bytes, ...]) -> list[Any]:
    decoded: list[Any] = msgspec.json.decode(b"[" + b",".join(events) + b"]")
    return decoded
