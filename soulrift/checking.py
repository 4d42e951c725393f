"""`soulrift check`: the verdict on a store, in one line, in words and as an exit status."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec
from eventsourcing.persistence import DatabaseError

from domain.application import Matches
from domain.check import Check, Fault, shown
from domain.recorder import INCOMPLETE
from replays.merkle import Tree
from soulrift import archives, store
from soulrift.terminal import Output, bar, complain

STATUS = {"sound": 0, "diverged": 1, "unverifiable": 3, "damaged": 4}
"""Exit statuses; of several faults the first of these decides: diverged, damaged, unverifiable."""

_GRAVEST_FIRST = ("diverged", "damaged", "unverifiable")


def check(name: str, form: str) -> int:
    """Check a store, tell every fault and the verdict; the exit status."""
    faults, counts = list[Fault](), dict.fromkeys(("matches", "entries", "events", "snapshots"), 0)
    try:
        with store.open_to_read(name) as matches, bar("checking") as advance:
            found = Check(matches.recorder, lambda rows: advance(rows, found.total))
            for fault in found.faults():
                _tell(fault, faults, form)
            counts = {
                "matches": found.matches,
                "entries": found.entries,
                "events": found.rows,
                "snapshots": found.snapshots,
            }
            for fault in _unfinished(matches, {fault.match for fault in faults}):
                _tell(fault, faults, form)
        if not found.total:
            _tell(
                Fault("damaged", None, None, None, "there is no match in it, so there was nothing to check"),
                faults,
                form,
            )
    except (DatabaseError, sqlite3.DatabaseError) as error:
        if not _is_damage(error):
            raise
        _tell(Fault("damaged", None, None, None, str(error)), faults, form)
    verdict = next((kind for kind in _GRAVEST_FIRST if any(fault.kind == kind for fault in faults)), "sound")
    output = Output()
    if form == "json":
        output.data({"verdict": verdict, **counts, "faults": msgspec.to_builtins(faults)})
    else:
        output.line(f"{verdict}: {_spelled(counts)}, {len(faults)} {'fault' if len(faults) == 1 else 'faults'}")
    output.end()
    return STATUS[verdict]


def _unfinished(matches: Matches, faulty: set[str | None]) -> Iterator[Fault]:
    """Tell of the parts of imported matches; those that are marked as such, and are none, are faults."""
    with matches.recorder.reading():
        for match in filter(matches.has, matches.recorder.all_incomplete()):
            wrong = None if shown(match) in faulty else _no_part(matches, match)
            if wrong:
                yield Fault("damaged", shown(match), None, None, f"{INCOMPLETE} has it, but {wrong}")
            else:
                complain(f"{shown(match)} is only a part of an imported match: import its file again")


def _no_part(matches: Matches, match: str) -> str | None:
    """Why a match cannot be a part of an imported one, if so. Nobody but its file knows what else there is."""
    tree = Tree()
    for entry in matches.entries(match):
        tree.append(entry.line)
    if matches.recorder.incomplete(match) in {tree.root().hex(), f"the first {tree.size} entries"}:
        return "it is whole: import its file again"
    if tree.size % archives.AT_ONCE:
        return f"no import is interrupted behind entry {tree.size}: import its file again"
    return None


def _tell(fault: Fault, faults: list[Fault], form: str) -> None:
    faults.append(fault)
    if form == "text":
        complain(str(fault))


def _is_damage(error: Exception) -> bool:
    """Whether SQLite says of a file that it cannot be what SQLite wrote."""
    cause = error if isinstance(error, sqlite3.Error) else error.__cause__
    code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    return code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def _spelled(counts: dict[str, Any]) -> str:
    return ", ".join(f"{count:,} {what if count != 1 else _one(what)}" for what, count in counts.items())


def _one(plural: str) -> str:
    return {"matches": "match", "entries": "entry"}.get(plural, plural.removesuffix("s"))
