"""What a read model is, and the plain function from entries to rows that all of them together are."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from domain.codec import Seal
from domain.rules import AnyEvent, Event, State, evolve
from domain.rules.events import CreatureDestroyed
from projections.tables import Record, Table


class LoggedEntry:
    """An entry as the log has it, of the match that began as the `match_number`th of the store (1 is the first)."""

    def __init__(self, match: str, match_number: int, events: Sequence[AnyEvent], seal: Callable[[], Seal]) -> None:
        self.match = match
        self.match_number = match_number
        self.number = events[0].entry
        self.events = events
        self._seal = seal

    @cached_property
    def seal(self) -> Seal:
        """The hash of its line, and the `meta.at` of its command."""
        return self._seal()

    @cached_property
    def destroyed(self) -> dict[str, CreatureDestroyed]:
        """The creatures that this entry destroyed, each with the event that says so."""
        return {event.card: event for event in self.events if isinstance(event, CreatureDestroyed)}


class Changes(defaultdict[Table, list[Record]]):
    """Rows on their way into their tables, in the order of the events; and the last entry of each match among them."""

    def __init__(self) -> None:
        super().__init__(list)
        self.last: dict[str, tuple[LoggedEntry, State]] = {}


Handler = Callable[[Changes, LoggedEntry, State, Any], None]
"""Adds the rows that an event makes; the state is that just before the event."""

Afterwards = Callable[[Changes, LoggedEntry, State], None]
"""Adds the rows that an entry makes as a whole; the state is that after it."""


@dataclass(frozen=True, eq=False)
class ReadModel:
    """A question that is always answered: its tables, and what each event adds to them.

    `after_entry` is called after an entry with one of the events in `after_events`, `after_last` with the last entry of
    each match before rows are written. A read model never refuses what happened. Its `version` is another one whenever
    it would make other rows.
    """

    name: str
    version: int
    tables: tuple[Table, ...]
    handlers: Mapping[type[Event], Handler]
    after_entry: Afterwards | None = None
    after_events: frozenset[type[Event]] = frozenset()
    after_last: Afterwards | None = None


class Taker:
    """Takes in entries: adds to the changes what each makes of the state before it, and brings that up to date."""

    def __init__(self, models: Iterable[ReadModel]) -> None:
        models = tuple(models)
        self._after_entry = [model for model in models if model.after_entry]
        self._after_last = [model.after_last for model in models if model.after_last]
        self._by_event = {
            kind: (
                [model.handlers[kind] for model in models if kind in model.handlers],
                sum(1 << place for place, model in enumerate(self._after_entry) if kind in model.after_events),
            )
            for kind in get_args(AnyEvent)
        }

    def take(self, changes: Changes, entry: LoggedEntry, state: State) -> None:
        """Take in the next entry of the match that is in this state."""
        woken, by_event = 0, self._by_event
        for event in entry.events:
            handlers, wakes = by_event[type(event)]
            woken |= wakes
            for handle in handlers:
                handle(changes, entry, state, event)
            evolve(state, event)
        if woken:
            for place, model in enumerate(self._after_entry):
                if woken >> place & 1 and model.after_entry:
                    model.after_entry(changes, entry, state)
        changes.last[entry.match] = entry, state

    def finish(self, changes: Changes) -> None:
        """Add what remains to be added before the changes are written."""
        for entry, state in changes.last.values():
            for after_last in self._after_last:
                after_last(changes, entry, state)
