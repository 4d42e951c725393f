"""Tables of the matches of a store, for tests of what is asked of them."""

from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from domain.application import Matches
from projections.analytics.folder import ALL, RUNNING, Folder
from projections.analytics.parts import Part, PartWriter
from projections.analytics.rows import MatchRows, Run, match_rows


def tables_of(matches: Matches, address: str | Path) -> Folder:
    """The tables of all matches of a store, in a folder that was not there or is written anew."""
    folder = Folder(str(address))
    made = [match_rows(name, matches.entries(name)) for name in matches.recorder.matches()]
    runs = {each.run.run: each.run for each in made if each.run}
    with folder.writing() as before:

        def part(batch: str, rows: Iterable[MatchRows], runs: Collection[Run] = ()) -> Part | None:
            place = folder.place
            with PartWriter(batch, lambda table: place(table, batch, before.commits + 1), folder.create) as writer:
                writer.add_runs(runs)
                for each in rows:
                    writer.add(each)
                written = writer.close()
            return written if written.files else None

        ended = part("00000001", (each for each in made if each.ended))
        changed = msgspec.structs.replace(
            before,
            batches=1,
            parts=(ended,) if ended else (),
            running=part(RUNNING, (each for each in made if not each.ended)),
            runs=part(ALL, (), runs.values()),
        )
        folder.commit(changed, before)
    return folder
