"""The peer: one read model, the life totals, as the library's documentation would write it for PostgreSQL."""

from typing import Any

from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresDatastore, PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from psycopg.sql import SQL, Identifier

from benchmarks.stock import Fact, StockMatches


class StockLifeView(PostgresTrackingRecorder):
    """A table of changes of life; a row and the position it was read at are written in one transaction."""

    def __init__(self, datastore: PostgresDatastore, **kwargs: Any) -> None:
        super().__init__(datastore, **kwargs)
        table = (Identifier(self.datastore.schema), Identifier("stock_life"))
        columns = (
            "(position bigint, part bigint, player text, delta bigint, life bigint, cause text, "
            "PRIMARY KEY (position, part))"
        )
        self.sql_create_statements.append(SQL("CREATE TABLE IF NOT EXISTS {}.{} " + columns).format(*table))
        self._insert = SQL("INSERT INTO {}.{} VALUES (%s, %s, %s, %s, %s, %s)").format(*table)

    def add(self, tracking: Tracking, changes: list[tuple[str, int, int, str]]) -> None:
        """Write the changes of an event."""
        with self.datastore.transaction(commit=True) as c:
            for part, change in enumerate(changes):
                c.execute(self._insert, (tracking.notification_id, part, *change), prepare=True)
            self._insert_tracking(c, tracking)


class StockLife(Projection[StockLifeView]):
    """The life totals."""

    @singledispatchmethod
    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        if type(domain_event).__name__ == "MatchStarted":
            start = domain_event.fact["ruleset"]["starting_life"]
            players = [seat["player"] for seat in domain_event.fact["players"]]
            self.view.add(tracking, [(player, start, start, "start") for player in players])
        elif type(domain_event).__name__ == "SoulburnTaken":
            fact: Fact = domain_event.fact
            self.view.add(tracking, [(fact["player"], -fact["damage"], fact["life"], fact["source"])])
        elif type(domain_event).__name__ == "LifeChanged":
            fact = domain_event.fact
            self.view.add(tracking, [(fact["player"], fact["delta"], fact["life"], "change")])
        else:
            self.view.insert_tracking(tracking)


def run(settings: dict[str, str], events: int) -> None:
    """Run the library's runner over these events of a store until they are taken in."""
    with ProjectionRunner(
        application_class=StockMatches, projection_class=StockLife, view_class=StockLifeView, env=settings
    ) as runner:
        runner.wait(events, timeout=600)
