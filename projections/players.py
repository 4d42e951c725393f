"""Players across matches: how they fare, what Souls they collect and spend, how they burn."""

from collections.abc import Iterator

from msgspec import Struct

from domain.rules import State
from domain.rules.events import CostPaid, MatchStarted, RiftOpened, SoulburnTaken, SoulCollected
from projections.read_model import Changes, LoggedEntry, ReadModel
from projections.tables import Table
from projections.views import Views

_COUNTED = (
    "collected",
    "spent",
    "burned_overpay",
    "burned_fizzle",
    "burned_rift",
    "rifts_1",
    "rifts_2",
    "rifts_3",
)

TALLIES = Table(
    "tallies",
    {"match": "text", "player": "text", **dict.fromkeys(_COUNTED, "bigint")},
    key=2,
    means="amounts",
    indexes=(("player",),),
)
"""What each player did in each match."""


class PlayerRow(Struct, frozen=True):
    """A player's matches, of which so many were won, lost or drawn or run, and what was done in them all.

    `collected` are the Souls of creatures that the player controlled when they were destroyed (C-1), `spent` the Souls
    consumed (P-4), `burned_…` the life that Soulburn took by source (B-2, B-3, B-4), `rifts_…` the Rifts opened, by
    rank, and `damage_per_match` the life that all Soulburn took, a match.
    """

    player: str
    matches: int
    won: int
    lost: int
    drawn: int
    running: int
    collected: int
    spent: int
    burned_overpay: int
    burned_fizzle: int
    burned_rift: int
    rifts_1: int
    rifts_2: int
    rifts_3: int
    damage_per_match: float


def players(views: Views, player: str | None = None) -> Iterator[PlayerRow]:
    """All players of a store by name, or one of them, if there is one of that name."""
    where, asked = ("WHERE t.player=? ", (player,)) if player is not None else ("", ())
    sums = ", ".join(f"CAST(sum(t.{column}) AS bigint)" for column in _COUNTED)
    for row in views.query(
        f"SELECT t.player, count(*), {_ended('m.winner=t.player')}, {_ended('m.winner<>t.player')}, "  # noqa: S608 - names of ours
        f"{_ended('m.winner IS NULL')}, count(CASE WHEN m.status='running' THEN 1 END), {sums} "
        f"FROM tallies t JOIN matches m ON m.match=t.match {where}GROUP BY t.player ORDER BY t.player",
        asked,
    ):
        burned = sum(amount for column, amount in zip(_COUNTED, row[6:], strict=True) if column.startswith("burned"))
        yield PlayerRow(*(*row, burned / row[1]))


def _ended(how: str) -> str:
    return f"count(CASE WHEN m.status='ended' AND {how} THEN 1 END)"


_NOTHING = (0,) * len(_COUNTED)
_BURNED = {"overpay": (1, 0, 0), "fizzle": (0, 1, 0), "rift": (0, 0, 1)}


def _match_started(changes: Changes, entry: LoggedEntry, _: State, event: MatchStarted) -> None:
    for seat in event.players:
        changes[TALLIES].append((entry.match, seat.player, *_NOTHING))


def _soul_collected(changes: Changes, entry: LoggedEntry, _: State, event: SoulCollected) -> None:
    player = entry.destroyed[event.creature].controller
    changes[TALLIES].append((entry.match, player, 1, 0, 0, 0, 0, 0, 0, 0))


def _cost_paid(changes: Changes, entry: LoggedEntry, _: State, event: CostPaid) -> None:
    changes[TALLIES].append((entry.match, event.player, 0, len(event.souls), 0, 0, 0, 0, 0, 0))


def _soulburn_taken(changes: Changes, entry: LoggedEntry, _: State, event: SoulburnTaken) -> None:
    overpay, fizzle, rift = (event.damage * burned for burned in _BURNED[event.source])
    changes[TALLIES].append((entry.match, event.player, 0, 0, overpay, fizzle, rift, 0, 0, 0))


def _rift_opened(changes: Changes, entry: LoggedEntry, _: State, event: RiftOpened) -> None:
    ranks = (int(event.rank == rank) for rank in (1, 2, 3))
    changes[TALLIES].append((entry.match, event.player, 0, 0, 0, 0, 0, *ranks))


MODEL = ReadModel(
    "players",
    1,
    (TALLIES,),
    {
        MatchStarted: _match_started,
        SoulCollected: _soul_collected,
        CostPaid: _cost_paid,
        SoulburnTaken: _soulburn_taken,
        RiftOpened: _rift_opened,
    },
)
