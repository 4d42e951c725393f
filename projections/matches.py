"""The matches of a store: who plays, how each stands, and when it was last heard of."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from domain.rules import State
from domain.rules.events import MatchStarted
from projections.read_model import Changes, LoggedEntry, ReadModel
from projections.tables import Table
from projections.views import LAST, Views

MATCHES = Table(
    "matches",
    {
        "match": "text",
        "number": "bigint",
        "players": "text",
        "status": "text",
        "winner": "text",
        "entries": "bigint",
        "events": "bigint",
        "at": "text",
        "line_hash": "text",
    },
    key=1,
    means="latest",
    indexes=(("number",), ("status", "number")),
)
"""`players` is JSON, from each player to the name for display; `line_hash` is that of the last entry."""

SEATS = Table(
    "seats",
    {"match": "text", "seat": "bigint", "player": "text", "number": "bigint"},
    key=2,
    indexes=(("player", "number"),),
)
"""The players of each match in its order; `number` is the match's."""

Status = Literal["running", "ended"]


class MatchRow(Struct, frozen=True):
    """A match, the `number`th that began in its store, with its entries so far and its winner, if it has one.

    `players` has the name for display of each, in the match's order; `at` is the `meta.at` of the last entry, null
    where that has none.
    """

    match: str
    number: int
    players: dict[str, str | None]
    status: Status
    winner: str | None
    entries: int
    at: str | None


_players = msgspec.json.Decoder(dict[str, str | None]).decode
_encode = msgspec.json.encode


def matches(
    views: Views,
    *,
    player: str | None = None,
    status: Status | None = None,
    before: int = LAST,
    limit: int | None = None,
) -> Iterator[MatchRow]:
    """The matches of a store, of a player or a status if one is named, the last one begun first.

    `before`: only those of a lower number, so that a page begins where another ended; `limit`: at most so many.
    """
    source, number = ("matches m", "m.number")
    where, asked = list[str](), list[Any]()
    if player is not None:
        source, number = "seats s JOIN matches m ON m.match=s.match", "s.number"
        where.append("s.player=?")
        asked.append(player)
    if status is not None:
        where.append("m.status=?")
        asked.append(status)
    where.append(f"{number} < ?")
    for found, match, players, *rest in views.stream(
        f"SELECT {number}, m.match, m.players, m.status, m.winner, m.entries, m.at FROM {source} "  # noqa: S608 - names of ours
        f"WHERE {' AND '.join(where)} ORDER BY {number} DESC",
        asked,
        key=1,
        start=(before,),
        limit=limit,
    ):
        yield MatchRow(match, found, _players(players), *rest)


def match_row(views: Views, match: str) -> MatchRow:
    """The row of a match that the views tell of."""
    ((name, number, players, *rest),) = views.query(
        "SELECT match, number, players, status, winner, entries, at FROM matches WHERE match=?", (match,)
    )
    return MatchRow(name, number, _players(players), *rest)


def _match_started(changes: Changes, entry: LoggedEntry, _: State, event: MatchStarted) -> None:
    for place, seat in enumerate(event.players):
        changes[SEATS].append((entry.match, place, seat.player, entry.match_number))


def _after_last(changes: Changes, entry: LoggedEntry, state: State) -> None:
    changes[MATCHES].append(
        (
            entry.match,
            entry.match_number,
            _encode(state.names).decode(),
            state.status,
            state.winner,
            entry.number,
            state.events,
            entry.seal.at,
            entry.seal.line_hash,
        )
    )


MODEL = ReadModel("matches", 1, (MATCHES, SEATS), {MatchStarted: _match_started}, after_last=_after_last)
