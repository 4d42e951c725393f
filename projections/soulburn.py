"""The Soulburn ledger: every Soulburn by source and rule, with its arithmetic (B-1 to B-4)."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from domain.rules import State
from domain.rules.events import SoulburnTaken
from projections.read_model import Changes, LoggedEntry, ReadModel
from projections.tables import Table
from projections.views import Views

SOULBURN = Table(
    "soulburn",
    {
        "match": "text",
        "n": "bigint",
        "entry": "bigint",
        "player": "text",
        "source": "text",
        "rule": "text",
        "power": "bigint",
        "per_power": "bigint",
        "damage": "bigint",
        "life": "bigint",
        "payment": "bigint",
        "rift": "bigint",
    },
    key=2,
    indexes=(("match", "payment", "damage"), ("match", "rift", "damage")),
)

Source = Literal["overpay", "fizzle", "rift"]


class Soulburn(Struct, frozen=True):
    """A Soulburn of power level `power`, which took `per_power` life a level (B-1), `damage` in all, and left `life`.

    The level is `of` - `less`: for "overpay" the power consumed less the cost (B-2), for "fizzle" the cost less nothing
    (B-3), for "rift" the rank of the Rift less the highest rank that came through (B-4).
    """

    entry: int
    player: str
    source: Source
    rule: str
    of: int
    less: int
    power: int
    per_power: int
    damage: int
    life: int
    payment: int | None
    rift: int | None


class SoulburnTotal(Struct, frozen=True):
    """How often a player burned by a source, at what power levels together, and how much life that took."""

    player: str
    source: Source
    rule: str
    times: int
    power: int
    damage: int


def soulburn(views: Views, match: str) -> Iterator[Soulburn]:
    """Every Soulburn of a match, in order."""
    for _, *row in views.stream(
        "SELECT b.n, b.entry, b.player, b.source, b.rule, "
        "CASE b.source WHEN 'overpay' THEN p.power WHEN 'fizzle' THEN p.amount ELSE r.rank END, "
        "CASE b.source WHEN 'overpay' THEN p.amount WHEN 'fizzle' THEN 0 ELSE r.rank - b.power END, "
        "b.power, b.per_power, b.damage, b.life, b.payment, b.rift FROM soulburn b "
        "LEFT JOIN payments p ON p.match=b.match AND p.payment=b.payment "
        "LEFT JOIN rifts r ON r.match=b.match AND r.rift=b.rift WHERE b.match=? AND b.n > ? ORDER BY b.n",
        (match,),
        key=1,
    ):
        yield Soulburn(*row)


def totals(views: Views, match: str | None = None) -> Iterator[SoulburnTotal]:
    """The Soulburn of a match, or of all of them, by player and source."""
    where, parameters = ("WHERE match=? ", (match,)) if match is not None else ("", ())
    for row in views.query(
        "SELECT player, source, rule, count(*), CAST(sum(power) AS bigint), "  # noqa: S608 - names of ours
        f"CAST(sum(damage) AS bigint) FROM soulburn {where}GROUP BY player, source, rule ORDER BY player, rule",
        parameters,
    ):
        yield SoulburnTotal(*row)


def _soulburn_taken(changes: Changes, entry: LoggedEntry, state: State, event: SoulburnTaken) -> None:
    changes[SOULBURN].append(
        (
            entry.match,
            event.n,
            event.entry,
            event.player,
            event.source,
            event.rule,
            event.power,
            state.ruleset.soulburn_per_power,
            event.damage,
            event.life,
            event.payment,
            event.rift,
        )
    )


MODEL = ReadModel("soulburn", 1, (SOULBURN,), {SoulburnTaken: _soulburn_taken})
