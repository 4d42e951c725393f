"""What a read model is, and the plain function from entries to rows that all of them together are."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from domain.rules import AnyEvent, Event, State, evolve
from domain.rules.events import CreatureDestroyed
from projections.tables import Record, Table


class Changes(defaultdict[Table, list[Record]]):
    """Rows on their way into their tables, in the order of the events."""

    def __init__(self) -> None:
        super().__init__(list)


class LoggedEntry:
    """An entry as the log has it, of the match that began as the `match_number`th of the store (1 is the first)."""

    def __init__(
        self, match: str, match_number: int, events: tuple[AnyEvent, ...], line_hash: str, at: str | None
    ) -> None:
        self.match = match
        self.match_number = match_number
        self.number = events[0].entry
        self.events = events
        self.line_hash = line_hash
        self.at = at

    @cached_property
    def destroyed(self) -> dict[str, CreatureDestroyed]:
        """The creatures that this entry destroyed, each with the event that says so."""
        return {event.card: event for event in self.events if isinstance(event, CreatureDestroyed)}


Handler = Callable[[Changes, LoggedEntry, State, Any], None]
"""Adds the rows that an event makes; the state is that just before the event."""

AfterEntry = Callable[[Changes, LoggedEntry, State], None]
"""Adds the rows that an entry makes as a whole; the state is that after it."""


@dataclass(frozen=True, eq=False)
class ReadModel:
    """A question that is always answered: its tables, and what each event adds to them.

    A read model never refuses what happened. Its `version` is another one whenever it would make other rows.
    """

    name: str
    version: int
    tables: tuple[Table, ...]
    handlers: Mapping[type[Event], Handler]
    after_entry: AfterEntry | None = None


class Taker:
    """Takes in entries: adds to the changes what each makes of the state before it, and brings that up to date."""

    def __init__(self, models: Iterable[ReadModel]) -> None:
        models = tuple(models)
        self._handlers = defaultdict[type[Event], list[Handler]](list)
        for model in models:
            for kind, handler in model.handlers.items():
                self._handlers[kind].append(handler)
        self._after_entry = [model.after_entry for model in models if model.after_entry]

    def take(self, changes: Changes, entry: LoggedEntry, state: State) -> None:
        """Take in the next entry of the match that is in this state."""
        for event in entry.events:
            for handle in self._handlers[type(event)]:
                handle(changes, entry, state, event)
            evolve(state, event)
        for handle_entry in self._after_entry:
            handle_entry(changes, entry, state)
