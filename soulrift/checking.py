"""`soulrift check`: the verdict on a store, in one line, in words and as an exit status."""

from typing import Any

import msgspec

from domain.application import Matches
from domain.check import Check, Fault
from soulrift.terminal import Output, bar, complain

STATUS = {"sound": 0, "diverged": 1, "unverifiable": 3, "damaged": 4}
"""Exit statuses; of several faults the first of these decides: diverged, damaged, unverifiable."""

_GRAVEST_FIRST = ("diverged", "damaged", "unverifiable")


def check(matches: Matches, form: str) -> int:
    """Check a store, tell every fault and the verdict; the exit status."""
    output, faults = Output(), list[Fault]()
    with bar("checking") as advance:
        found = Check(matches.recorder, lambda rows: advance(rows, total))
        total = found.total()
        for fault in found.faults():
            faults.append(fault)
            if form == "text":
                complain(str(fault))
    verdict = next((kind for kind in _GRAVEST_FIRST if any(fault.kind == kind for fault in faults)), "sound")
    if found.rows == 0 and verdict == "sound":
        faults.append(Fault("damaged", None, None, None, "there is no match in it, so there was nothing to check"))
        verdict = "damaged"
        if form == "text":
            complain(str(faults[0]))
    counts = {"matches": found.matches, "entries": found.entries, "events": found.rows, "snapshots": found.snapshots}
    if form == "json":
        output.data({"verdict": verdict, **counts, "faults": msgspec.to_builtins(faults)})
    else:
        output.line(f"{verdict}: {_spelled(counts)}, {len(faults)} {'fault' if len(faults) == 1 else 'faults'}")
    output.end()
    return STATUS[verdict]


def _spelled(counts: dict[str, Any]) -> str:
    return ", ".join(f"{count:,} {what if count != 1 else _one(what)}" for what, count in counts.items())


def _one(plural: str) -> str:
    return {"matches": "match", "entries": "entry"}.get(plural, plural.removesuffix("s"))
