"""Life totals: every player's life over the entries, each change with its cause (L-1, L-2)."""

from collections.abc import Iterator
from typing import Literal

from msgspec import UNSET, Struct

from domain.rules import State
from domain.rules.events import LifeChanged, MatchStarted, RulingMade, SoulburnTaken
from projections.read_model import Changes, LoggedEntry, ReadModel
from projections.tables import Table
from projections.views import Views

LIFE = Table(
    "life",
    {
        "match": "text",
        "n": "bigint",
        "part": "bigint",
        "entry": "bigint",
        "player": "text",
        "delta": "bigint",
        "life": "bigint",
        "cause": "text",
        "rule": "text",
        "reason": "text",
        "payment": "bigint",
        "rift": "bigint",
    },
    key=3,
)


class LifeChange(Struct, frozen=True):
    """A change of a player's life by `delta`, to `life`, in an entry.

    `cause`: "start" (L-1), "overpay", "fizzle" or "rift" (Soulburn, by `rule`, for that payment or Rift), "change"
    (what the game reports, for its `reason`, L-2), or "ruling" (for the judge's reason, J-1).
    """

    entry: int
    player: str
    delta: int
    life: int
    cause: Literal["start", "overpay", "fizzle", "rift", "change", "ruling"]
    rule: str
    reason: str | None
    payment: int | None
    rift: int | None


def life(views: Views, match: str) -> Iterator[LifeChange]:
    """The changes of life in a match, in their order, the life that each player starts with first."""
    for _, _, *row in views.stream(
        "SELECT n, part, entry, player, delta, life, cause, rule, reason, payment, rift FROM life "
        "WHERE match=? AND (n, part) > (?, ?) ORDER BY n, part",
        (match,),
        key=2,
    ):
        yield LifeChange(*row)


def _match_started(changes: Changes, entry: LoggedEntry, _: State, event: MatchStarted) -> None:
    start = event.ruleset.starting_life
    for part, seat in enumerate(event.players):
        changes[LIFE].append(
            (entry.match, event.n, part, event.entry, seat.player, start, start, "start", "L-1", None, None, None)
        )


def _soulburn_taken(changes: Changes, entry: LoggedEntry, _: State, event: SoulburnTaken) -> None:
    changes[LIFE].append(
        (
            entry.match,
            event.n,
            0,
            event.entry,
            event.player,
            -event.damage,
            event.life,
            event.source,
            event.rule,
            None,
            event.payment,
            event.rift,
        )
    )


def _life_changed(changes: Changes, entry: LoggedEntry, _: State, event: LifeChanged) -> None:
    changes[LIFE].append(
        (
            entry.match,
            event.n,
            0,
            event.entry,
            event.player,
            event.delta,
            event.life,
            "change",
            "L-2",
            event.reason,
            None,
            None,
        )
    )


def _ruling_made(changes: Changes, entry: LoggedEntry, state: State, event: RulingMade) -> None:
    now: dict[str, int] = {}
    for part, correction in enumerate(event.corrections):
        if correction.life is not UNSET:
            player, delta = correction.life.player, correction.life.delta
            now[player] = now.get(player, state.players[player].life) + delta
            changes[LIFE].append(
                (
                    entry.match,
                    event.n,
                    part,
                    event.entry,
                    player,
                    delta,
                    now[player],
                    "ruling",
                    "J-1",
                    event.reason,
                    None,
                    None,
                )
            )


MODEL = ReadModel(
    "life",
    1,
    (LIFE,),
    {
        MatchStarted: _match_started,
        SoulburnTaken: _soulburn_taken,
        LifeChanged: _life_changed,
        RulingMade: _ruling_made,
    },
)
