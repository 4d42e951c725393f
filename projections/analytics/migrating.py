"""Tables written anew: with the columns of today, and in fewer and larger files."""

from collections.abc import Callable, Iterator

import msgspec

from projections.analytics.folder import ALL, RUNNING, Folder, Manifest
from projections.analytics.history import rewritten
from projections.analytics.parts import ENTRIES, Part
from replays.writing import WRITER


def migrate(folder: Folder, advance: Callable[[int], object] = lambda _: None) -> Manifest:
    """Write all tables anew, whatever versions they are of; the manifest that counts then.

    Columns that came later hold nothing in the rows of before. The old files count until all new ones are there.

    Raises:
        TablesError: there are none, or another program writes them.

    """
    with folder.writing() as before:
        folder.manifest()
        commit, parts, batches = before.commits + 1, list[Part](), 0
        for some in _together(before.parts):
            batches += 1
            part = rewritten(folder, some, f"{before.batches + batches:08}", commit)
            parts += [part] if part else []
            advance(sum(each.events for each in some))
        running = rewritten(folder, [before.running], RUNNING, commit) if before.running else None
        runs = rewritten(folder, [before.runs], ALL, commit) if before.runs else None
        after = msgspec.structs.replace(
            before, writer=WRITER, batches=before.batches + batches, parts=tuple(parts), running=running, runs=runs
        )
        return folder.commit(after, before)


def _together(parts: tuple[Part, ...]) -> Iterator[list[Part]]:
    """Parts that follow each other, as many as fill one."""
    some, entries = list[Part](), 0
    for part in parts:
        if some and entries + part.entries > ENTRIES:
            yield some
            some, entries = [], 0
        some.append(part)
        entries += part.entries
    if some:
        yield some
