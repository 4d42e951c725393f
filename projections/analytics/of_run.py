"""Tables of a simulated run: batches of its matches, as they are played, each match once."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from projections.analytics.asking import connect
from projections.analytics.folder import Folder, Manifest, TablesError
from projections.analytics.history import known, read
from projections.analytics.making import Made, Making
from projections.analytics.rows import Run

_DONE = """
SELECT CAST(min(number) AS BIGINT), CAST(max(number) AS BIGINT)
FROM (SELECT number, number - row_number() OVER (ORDER BY number) AS stretch FROM matches WHERE run = ?)
GROUP BY stretch ORDER BY 1
"""


@contextmanager
def of_run(folder: Folder, run: Run) -> Iterator["RunTables"]:
    """Let batches of a run be added to tables, while nobody else writes them; where there are none, they are made.

    Raises:
        TablesError: they are of a store, or have another run of the same name; or another program writes them.

    """
    with folder.writing() as before:
        yield RunTables(folder, before, run)


class RunTables(Making):
    """The tables of a run, as it is played."""

    def __init__(self, folder: Folder, before: Manifest, run: Run) -> None:
        super().__init__(folder, before)
        self._run = run
        if before.source:
            message = f"{folder.address} was made of a store: give simulations a folder of their own"
            raise TablesError(message)
        rows = read(folder, before.runs.files[0]).to_pylist() if before.runs else []
        there = next((Run(*row.values()) for row in rows if row["run"] == run.run), None)
        if there and (there.options, there.simulator, there.generator) != (run.options, run.simulator, run.generator):
            which = "another run" if there.options else "a run"
            where = "" if there.options else " from a record, which does not say whether they are the same"
            message = f"{folder.address} has matches of {which} of seed {run.seed}{where}: take another folder, or seed"
            raise TablesError(message)

    def done(self) -> list[tuple[int, int]]:
        """Which matches of the run are there: from each first one to each last one, in order."""
        if not self.manifest.parts:
            return []
        with connect(self.folder.address) as tables:
            return [(first, last) for first, last in tables.execute(_DONE, [self._run.run]).fetchall()]

    def add_batch(self, made: Made) -> None:
        """Add a batch, and make it count.

        Raises:
            TablesError: some of its matches are there.

        """
        if again := known(self.folder, self.manifest.parts, made.matches):
            message = f"{self.folder.address} has the match {min(again)} already"
            raise TablesError(message)
        self.add(msgspec.structs.replace(made, runs=(self._run,)))
