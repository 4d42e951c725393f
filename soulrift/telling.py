"""Rows of read models as lines for people."""

from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest

from rich.text import Text

from domain.rules.events import SpentSoul
from projections.census import Census
from projections.life import LifeChange
from projections.matches import MatchRow
from projections.payments import PaymentMade
from projections.players import PlayerRow
from projections.rifts import RiftRecord
from projections.soulburn import Soulburn, SoulburnTotal
from projections.souls import SoulHistory, Use
from replays.names import separable
from soulrift.board import table
from soulrift.charts import Chart
from soulrift.notation import WHY_BURNED, Names, power_told, soul


def matches(rows: Iterable[MatchRow], limit: int) -> Iterator[Text]:
    """A page of at most `limit` matches as a table, and how to turn it, if there is one more."""
    rest = iter(rows)
    page = list(islice(rest, limit))
    yield from table(map(_match, page), ("", "match", "players", "status", "entries", "last entry at"))
    if next(rest, None):
        yield Text(f"  the next page: --before {page[-1].number}", style="dim")


def _match(row: MatchRow) -> tuple[str, ...]:
    names = Names.seated(row.players)
    players = ", ".join(separable(names.player(player)) for player in row.players)
    won = f"{names.player(row.winner)} has won" if row.winner else "a draw"
    status = "running" if row.status == "running" else won
    return (str(row.number), row.match, players, status, str(row.entries), row.at or "")


def history(rows: Iterable[SoulHistory], names: Names) -> Iterator[Text]:
    """Each Soul with its life, a line a step."""
    for row in rows:
        yield Text.assemble((soul(row.soul, row.rank), "cyan bold"), f"  {_released(row)}")
        steps = list(_moved(row, names))
        steps += [(at.entry, f"a ruling makes it rank {at.rank}") for at in row.reranked]
        if row.lost:
            steps.append((row.lost, "lost"))
        for entry, told in sorted(steps, key=lambda step: step[0]):
            yield Text(f"  {entry:>5}  {told}")
        if row.used:
            yield Text.assemble(f"  {row.used.entry:>5}  ", (_used(row.used, names), "yellow"))


def _moved(row: SoulHistory, names: Names) -> Iterator[tuple[int, str]]:
    """Where a Soul went, and whose each card that it was on became, with the entries, in order."""
    controlled = list(row.controlled)
    for move, after in zip_longest(row.moves, row.moves[1:]):
        onto_card = bool(controlled) and (controlled[0].entry, controlled[0].card) == (move.entry, move.to)
        if move.to == "aether" and not onto_card:  # as a card may be called, too
            if move is not row.moves[0]:
                yield move.entry, "back to the Aether"
            continue
        at = controlled.pop(0)
        yield at.entry, f"onto {at.card}, {names.player(at.player)}'s"
        while controlled and (after is None or controlled[0].entry < after.entry):
            at = controlled.pop(0)
            yield at.entry, f"with {at.card}, {names.player(at.player)}'s now"


def _released(row: SoulHistory) -> str:
    released = row.released
    cause = f" by {released.cause}" if released.cause else ""
    if released.source == "ruling":
        return f"released by a judge in entry {released.entry}: {released.cause}"
    if released.source == "effect":
        return f"released{cause} in entry {released.entry}"
    rank = "no rank" if released.creature_rank is None else f"rank {released.creature_rank}"
    parts = [rank, *(f"{modifier.name} {modifier.delta:+}" for modifier in released.modifiers)]
    return f"rose from {released.creature} ({', '.join(parts)}), destroyed{cause} in entry {released.entry}"


def _used(use: Use, names: Names) -> str:
    others = f" with {_numbers(use.with_)}" if use.with_ else ""
    burned = f"; burned {use.burned} life" if use.burned else ""
    return (
        f"spent by {names.player(use.player)} for {_purpose(use.effect, use.cost)} (payment {use.payment}, Soulrift "
        f"{use.amount}, power {use.power}){others}: {use.outcome}{burned}"
    )


def _numbers(souls: Iterable[int]) -> str:
    return ", ".join(f"Soul {number}" for number in souls)


def _purpose(effect: str | None, cost: str | None) -> str:
    return effect or cost or "a Rift"


def life(rows: Iterable[LifeChange], names: Names, entries: int) -> Iterator[Text]:
    """The changes of life as a table, and as a chart where there is a terminal."""
    chart = Chart(entries)

    def cells() -> Iterator[tuple[str, ...]]:
        for row in rows:
            who = names.player(row.player)
            chart.add(who, row.entry, row.life)
            yield (str(row.entry), who, f"{row.delta:+}", str(row.life), _cause(row))

    yield from table(cells(), ("entry", "player", "change", "life", "why"))
    yield from chart.lines()


def _cause(row: LifeChange) -> str:
    where = f", payment {row.payment}" if row.payment else f", Rift {row.rift}" if row.rift else ""
    burned = WHY_BURNED.get(row.cause)
    told = f"Soulburn: {burned}{where}" if burned else row.reason or "the match begins"
    return f"{told} ({row.rule})"


def soulburn(rows: Iterable[Soulburn], names: Names) -> Iterator[Text]:
    """The ledger as a table."""
    head = ("entry", "player", "for", "power", "life each", "burns", "leaves", "why")
    return table((_soulburn(row, names) for row in rows), head)


def _soulburn(row: Soulburn, names: Names) -> tuple[str, ...]:
    power = power_told(row.source, row.of, row.less)
    for_what = f"Rift {row.rift}" if row.rift else f"payment {row.payment}"
    why = f"{WHY_BURNED[row.source]} ({row.rule})"
    burns = (str(row.per_power), str(row.damage), str(row.life))
    return (str(row.entry), names.player(row.player), for_what, power, *burns, why)


def totals(rows: Iterable[SoulburnTotal], names: Names) -> Iterator[Text]:
    """Totals of the ledger as a table."""

    def cells() -> Iterator[tuple[str, ...]]:
        for row in rows:
            why = f"{WHY_BURNED[row.source]} ({row.rule})"
            yield (names.player(row.player), why, *map(str, (row.times, row.power, row.damage)))

    return table(cells(), ("player", "why", "times", "power", "life it took"))


def payments(rows: Iterable[PaymentMade], names: Names) -> Iterator[Text]:
    """The payments as a table."""
    head = ("", "entry", "player", "cost", "for", "Souls", "power", "became", "burned", "least overpay")
    return table((_payment(row, names) for row in rows), head)


def _payment(row: PaymentMade, names: Names) -> tuple[str, ...]:
    became = row.outcome if row.ended is None else f"{row.outcome} in {row.ended}"
    need = str(row.least_burn) if row.overpay else "-"
    return (
        str(row.payment),
        str(row.entry),
        names.player(row.player),
        str(row.amount),
        _purpose(row.effect, row.cost),
        _spent(row.souls),
        str(row.power),
        became,
        str(row.burned or "-"),
        need,
    )


def _spent(souls: Iterable[SpentSoul]) -> str:
    return ", ".join(soul(spent.soul, spent.power - 1) for spent in souls)


def rifts(rows: Iterable[RiftRecord], names: Names) -> Iterator[Text]:
    """The Rifts as a table."""
    head = ("", "entry", "player", "rank", "paid with", "came through", "unused", "life burned", "became")
    return table((_rift(row, names) for row in rows), head)


def _rift(row: RiftRecord, names: Names) -> tuple[str, ...]:
    return (
        str(row.rift),
        str(row.entry),
        names.player(row.player),
        str(row.rank),
        _spent(row.souls),
        ", ".join(f"{came.name or came.card} ({came.rank})" for came in row.summoned) or "nothing",
        str(row.unused or "-"),
        str(row.burned or "-"),
        row.outcome if row.ended is None else f"{row.outcome} in {row.ended}",
    )


def census(rows: Iterable[Census], entries: int) -> Iterator[Text]:
    """The census as a table, and as a chart where there is a terminal."""
    chart = Chart(entries)

    def cells() -> Iterator[tuple[str, ...]]:
        for row in rows:
            chart.add("in the Aether", row.entry, sum(row.aether))
            chart.add("on cards", row.entry, sum(row.cards))
            counts = (*row.aether, *row.cards, row.gone)
            yield (str(row.entry), *(str(count or "·") for count in counts))

    stars = ("☆", "★", "★★", "★★★")
    head = ("entry", *(f"Aether {star}" for star in stars), *(f"cards {star}" for star in stars), "gone")
    yield from table(cells(), head)
    yield from chart.lines()


def players(rows: Iterable[PlayerRow]) -> Iterator[Text]:
    """The players as a table."""
    cells = (
        (
            row.player,
            *map(str, (row.matches, row.won, row.lost, row.drawn, row.running, row.collected, row.spent)),
            *map(str, (row.burned_overpay, row.burned_fizzle, row.burned_rift)),
            f"{row.damage_per_match:.1f}",
            f"{row.rifts_1} {row.rifts_2} {row.rifts_3}",
        )
        for row in rows
    )
    head = ("player", "matches", "won", "lost", "drawn", "running", "Souls in", "spent")
    return table(cells, (*head, "overpaid", "fizzled", "unused ranks", "life a match", "Rifts of rank 1 2 3"))
