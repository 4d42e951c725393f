"""The Aether census: how many Souls of each rank are in the Aether and on cards, after each entry (S-1, S-2)."""

from collections.abc import Iterator

from msgspec import Struct

from domain.rules import State
from domain.rules import events as e
from domain.rules.corrections import kind_of
from projections.read_model import Changes, LoggedEntry, ReadModel
from projections.tables import Table
from projections.views import Views

CENSUS = Table(
    "census",
    {
        "match": "text",
        "entry": "bigint",
        "aether_0": "bigint",
        "aether_1": "bigint",
        "aether_2": "bigint",
        "aether_3": "bigint",
        "cards_0": "bigint",
        "cards_1": "bigint",
        "cards_2": "bigint",
        "cards_3": "bigint",
        "gone": "bigint",
    },
    key=2,
)
"""A row for the first entry, and for each after which these may be others."""


class Census(Struct, frozen=True):
    """How many Souls of rank 0, 1, 2 and 3 were in the Aether and on cards after an entry, and how many were gone."""

    entry: int
    aether: tuple[int, int, int, int]
    cards: tuple[int, int, int, int]
    gone: int


_MOVES: frozenset[type[e.Event]] = frozenset(
    {
        e.MatchStarted,
        e.SoulCollected,
        e.SoulReleased,
        e.SoulReaped,
        e.SoulReturned,
        e.SoulLost,
        e.CostPaid,
        e.RulingMade,
    }
)


def changes(views: Views, match: str) -> Iterator[Census]:
    """The census of a match after the first entry, and after each that may have changed it."""
    for entry, *counts in views.stream(
        "SELECT entry, aether_0, aether_1, aether_2, aether_3, cards_0, cards_1, cards_2, cards_3, gone FROM census "
        "WHERE match=? AND entry > ? ORDER BY entry",
        (match,),
        key=1,
    ):
        yield Census(entry, tuple(counts[:4]), tuple(counts[4:8]), counts[8])


def census(views: Views, match: str, entries: int) -> Iterator[Census]:
    """The census of a match after each of its entries, of which it has so many."""
    known: Census | None = None
    for found in changes(views, match):
        if known:
            yield from _until(known, found.entry)
        known = found
    if known:
        yield from _until(known, entries + 1)


def _until(known: Census, entry: int) -> Iterator[Census]:
    """What holds from one entry to just before another."""
    for number in range(known.entry, entry):
        yield Census(number, known.aether, known.cards, known.gone)


def _after_entry(rows: Changes, entry: LoggedEntry, state: State) -> None:
    first = entry.events[0]
    if isinstance(first, e.RulingMade) and not any(map(_about_a_soul, first.corrections)):
        return
    aether, cards = [0, 0, 0, 0], [0, 0, 0, 0]
    for soul in state.aether.values():
        aether[soul.rank] += 1
    if state.holders:
        for card in state.battlefield.values():
            for soul in card.souls:
                cards[soul.rank] += 1
    rows[CENSUS].append((entry.match, entry.number, *aether, *cards, state.gone))


def _about_a_soul(correction: e.MadeCorrection) -> bool:
    return kind_of(correction) in {"soul", "new_soul", "rank"}


MODEL = ReadModel("census", 1, (CENSUS,), {}, _after_entry, after_events=_MOVES)
