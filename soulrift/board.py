"""A state as players see it on the table, and what became of its Souls."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from rich.cells import cell_len
from rich.text import Text

from domain.entry import Entry
from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.state import Card, State, state_hash
from soulrift.notation import Names, purpose, soul

MEASURED = 500
"""So many rows of a table are laid out before the first is written."""


def table(rows: Iterable[tuple[str, ...]], head: tuple[str, ...]) -> Iterator[Text]:
    """Rows under a heading, in columns aligned by display width; of a long table, by that of its first rows."""
    rest = iter(rows)
    first = [head, *islice(rest, MEASURED)]
    widths = [max(cell_len(row[column]) for row in first) for column in range(len(head))]
    for index, row in enumerate(chain(first, rest)):
        cells = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        yield Text("  " + "   ".join(cells).rstrip(), style="" if index else "dim")


def board(state: State) -> Iterator[Text]:
    """The state as lines of text."""
    names = Names.of(state)
    yield Text(f"{state.match}, after entry {state.entries}: {_status(state, names)}", style="bold")
    yield from table(
        (
            (names.player(player.player), str(player.life), "defeated" if player.defeated else "")
            for player in state.players.values()
        ),
        ("player", "life", ""),
    )
    yield Text(f"Aether: {_souls(state.aether[number] for number in sorted(state.aether))}")
    if state.battlefield:
        yield Text("Battlefield:")
        yield from table(
            (_card(card, names) for card in state.battlefield.values()),
            ("card", "controller", "owner", "is", "Souls on it"),
        )
    else:
        yield Text("Battlefield: empty")
    if state.rift:
        yield Text(
            f"Open Rift: rank {state.rift.rank}, {names.player(state.rift.player)}'s; "
            f"highest rank summoned {state.rift.highest or 'none'}"
        )
    for payment in state.payments.values():
        yield Text(
            f"Open payment {payment.payment}: {names.player(payment.player)}, "
            f"Soulrift {payment.amount} for {payment.effect}"
        )
    yield Text(f"Souls: {state.numbered.souls} came, {state.gone} gone", style="dim")
    yield Text(f"State hash: {state_hash(state)}", style="dim")


def _status(state: State, names: Names) -> str:
    if state.status == "ended":
        return f"{names.player(state.winner)} has won" if state.winner else "a draw"
    if state.turn is None:
        return "no turn has begun"
    event = f"used for {state.turn.event.replace('_', ' ')}" if state.turn.event else "unused"
    return f"turn {state.turn.number}, {names.player(state.turn.player)}'s, Event {event}"


def _souls(souls: Iterable[e.Soul]) -> str:
    return ", ".join(soul(one.soul, one.rank) for one in souls) or "empty"


def _card(card: Card, names: Names) -> tuple[str, ...]:
    traits = (
        ["creature" if card.kind == "creature" else "not a creature"] if card.rank is None else [f"rank {card.rank}"]
    )
    traits += ["Sealed"] * card.sealed + ["Soulless"] * card.soulless
    owner = "" if card.owner == card.controller else names.player(card.owner)
    held = _souls(card.souls) if card.souls else ""
    return (names.card(card.card), names.player(card.controller), owner, ", ".join(traits), held)


class Whereabouts:
    """Where each Soul of a match came from and where it is, or what it was spent for; from the entries in order."""

    def __init__(self) -> None:
        self._names = Names()
        self._souls: dict[int, tuple[str, str, str]] = {}

    def take(self, entry: Entry) -> None:
        """Take up the next entry."""
        self._names.learn(entry)
        for event in entry.events:
            self._take(event)
        self._names.forget(entry)

    def lines(self) -> Iterator[Text]:
        """A line for each Soul."""
        rows = [row for _, row in sorted(self._souls.items())]
        return table(rows, ("Soul", "from", "where it went"))

    def _take(self, event: e.AnyEvent) -> None:
        names = self._names
        match event:
            case e.SoulCollected():
                self._souls[event.soul] = (soul(event.soul, event.rank), names.card(event.creature), "in the Aether")
            case e.SoulReleased():
                self._souls[event.soul] = (soul(event.soul, event.rank), event.cause or "an effect", "in the Aether")
            case e.SoulReaped():
                self._now(event.soul, f"on {names.card(event.card)}")
            case e.SoulReturned():
                self._now(event.soul, "in the Aether")
            case e.SoulLost():
                self._now(event.soul, f"lost with {names.card(event.card)}")
            case e.CostPaid():
                for spent in event.souls:
                    self._now(spent.soul, f"spent by {names.player(event.player)} for {purpose(event)}")
            case e.RulingMade():
                for correction in event.corrections:
                    self._correct(correction, event.judge)

    def _now(self, number: int, where: str) -> None:
        shown, origin, _ = self._souls[number]
        self._souls[number] = (shown, origin, where)

    def _correct(self, correction: e.MadeCorrection, judge: str) -> None:
        match correction:
            case e.MadeCorrection(soul=c.SoulMove(soul=number, to=to)):
                self._now(number, self._where(to))
            case e.MadeCorrection(new_soul=e.NumberedSoul(soul=number, rank=rank, to=to)):
                self._souls[number] = (soul(number, rank), f"judge {judge}", self._where(to))
            case e.MadeCorrection(rank=c.RankCorrection(soul=number, rank=rank)):
                _, origin, where = self._souls[number]
                self._souls[number] = (soul(number, rank), origin, where)

    def _where(self, to: str | c.OnCard) -> str:
        if isinstance(to, c.OnCard):
            return f"on {self._names.card(to.card)}"
        return "in the Aether" if to == "aether" else "gone by a ruling"
