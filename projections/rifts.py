"""Rifts: opened, paid with what, who came through, and which ranks were left unused (R-1 to R-10, B-4)."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import UNSET, Struct

from domain.rules import AnyEvent, State
from domain.rules.events import CreatureSummoned, RiftClosed, RiftOpened, RulingMade, SoulburnTaken, SpentSoul
from projections.payments import spent_souls
from projections.read_model import Changes, LoggedEntry, ReadModel
from projections.tables import Table
from projections.views import Views

RIFTS = Table(
    "rifts",
    {
        "match": "text",
        "rift": "bigint",
        "entry": "bigint",
        "player": "text",
        "rank": "bigint",
        "payment": "bigint",
    },
    key=2,
)

SUMMONS = Table(
    "rift_summons",
    {
        "match": "text",
        "rift": "bigint",
        "n": "bigint",
        "part": "bigint",
        "entry": "bigint",
        "card": "text",
        "name": "text",
        "rank": "bigint",
    },
    key=4,
)
"""What came through; a row without a card is a ruling on the highest rank that did."""

ENDS = Table(
    "rift_ends",
    {
        "match": "text",
        "rift": "bigint",
        "entry": "bigint",
        "outcome": "text",
        "highest": "bigint",
        "unused": "bigint",
    },
    key=2,
)

Outcome = Literal["open", "closed", "ended", "ruled"]


class Summoned(Struct, frozen=True):
    """A creature that came through a Rift, in an entry; `name` is for display."""

    entry: int
    card: str
    name: str | None
    rank: int


class RiftRecord(Struct, frozen=True):
    """A Rift of this rank, opened in `entry` and paid for by `payment` with these Souls.

    `outcome`: it is "open", was "closed" by its player in entry `ended` (R-4), "ended" with the player or the match
    (R-10), or was "ruled" closed by a judge. `highest` is the highest rank that came through (0: none), `unused` the
    ranks above it, null while it is open, and `burned` the life that they took (B-4).
    """

    rift: int
    entry: int
    player: str
    rank: int
    payment: int
    power: int
    souls: tuple[SpentSoul, ...]
    summoned: tuple[Summoned, ...]
    outcome: Outcome
    ended: int | None
    highest: int
    unused: int | None
    burned: int


_SELECT = (
    "SELECT r.rift, r.entry, r.player, r.rank, r.payment, p.power, p.souls, e.outcome, e.entry, e.highest, e.unused, "
    "CAST(coalesce("
    "(SELECT sum(damage) FROM soulburn b WHERE b.match=r.match AND b.rift=r.rift), 0) AS bigint) "
    "FROM rifts r JOIN payments p ON p.match=r.match AND p.payment=r.payment "
    "LEFT JOIN rift_ends e ON e.match=r.match AND e.rift=r.rift WHERE r.match=? AND r.rift > ? ORDER BY r.rift"
)


def rifts(views: Views, match: str) -> Iterator[RiftRecord]:
    """The Rifts of a match, by number."""
    summons = views.stream(
        "SELECT rift, n, part, entry, card, name, rank FROM rift_summons WHERE match=? AND (rift, n, part) > (?, ?, ?) "
        "ORDER BY rift, n, part",
        (match,),
        key=3,
    )
    came = next(summons, None)
    for number, entry, player, rank, payment, power, souls, outcome, ended, highest, *rest in views.stream(
        _SELECT, (match,), key=1
    ):
        summoned, so_far = [], 0
        while came is not None and came[0] == number:
            so_far = came[6] if came[4] is None else max(so_far, came[6])
            if came[4] is not None:
                summoned.append(Summoned(*came[3:]))
            came = next(summons, None)
        yield RiftRecord(
            number,
            entry,
            player,
            rank,
            payment,
            power,
            spent_souls(souls),
            tuple(summoned),
            outcome or "open",
            ended,
            highest if outcome else so_far,
            *rest,
        )


def _rift_opened(changes: Changes, entry: LoggedEntry, _: State, event: RiftOpened) -> None:
    changes[RIFTS].append((entry.match, event.rift, event.entry, event.player, event.rank, event.payment))


def _creature_summoned(changes: Changes, entry: LoggedEntry, _: State, event: CreatureSummoned) -> None:
    changes[SUMMONS].append(
        (entry.match, event.rift, event.n, 0, event.entry, event.card, event.name, event.rank),
    )


def _is_close_rift(events: Sequence[AnyEvent]) -> bool:
    """Whether an entry is a player's who closes a Rift: that event alone, or with the Soulburn right behind it."""
    return isinstance(events[0], RiftClosed) and (len(events) == 1 or isinstance(events[1], SoulburnTaken))


def _rift_closed(changes: Changes, entry: LoggedEntry, _: State, event: RiftClosed) -> None:
    outcome = "closed" if _is_close_rift(entry.events) else "ended"
    changes[ENDS].append(
        (entry.match, event.rift, event.entry, outcome, event.highest, event.unused),
    )


def _ruling_made(changes: Changes, entry: LoggedEntry, state: State, event: RulingMade) -> None:
    rift = state.rift
    if rift is None:
        return
    highest = rift.highest
    for part, correction in enumerate(event.corrections):
        if correction.rift is UNSET:
            continue
        if correction.rift.highest is not UNSET:
            highest = correction.rift.highest
            changes[SUMMONS].append((entry.match, rift.rift, event.n, part, event.entry, None, None, highest))
        else:
            changes[ENDS].append((entry.match, rift.rift, event.entry, "ruled", highest, rift.rank - highest))


MODEL = ReadModel(
    "rifts",
    1,
    (RIFTS, SUMMONS, ENDS),
    {
        RiftOpened: _rift_opened,
        CreatureSummoned: _creature_summoned,
        RiftClosed: _rift_closed,
        RulingMade: _ruling_made,
    },
)
