"""`soulrift quote`: the payments of a cost, for people and for programs."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from domain.rules.corrections import rank_of
from domain.rules.quotes import Quote
from domain.rules.state import State
from soulrift.board import table
from soulrift.notation import Names, soul


def as_data(state: State, player: str, amount: int, found: Quote) -> dict[str, Any]:
    """The quote as JSON: each payment with its Souls as in `cost_paid`, `power`, `excess`, `damage` and `reaped`."""
    payments = [
        {
            "souls": [
                {"soul": number, "power": rank_of(state, number) + 1, "card": state.holders.get(number)}
                for number in payment.souls
            ],
            "power": payment.power,
            "excess": payment.excess,
            "damage": payment.damage,
            "reaped": payment.reaped,
        }
        for payment in found.payments
    ]
    return {
        "match": state.match,
        "player": player,
        "amount": amount,
        "available": found.available,
        "payments": payments,
        "more": found.more,
    }


def lines(state: State, player: str, amount: int, found: Quote) -> Iterator[Text]:
    """The quote as lines of text."""
    names = Names.of(state)
    who = names.player(player)
    if not found.payments:
        yield Text(f"{who} cannot pay Soulrift {amount}: the Souls open to {who} have power {found.available} (P-6)")
        return
    head = f"{who} has Souls of power {found.available} to pay Soulrift {amount}"
    yield Text(f"{head}, best first; of Souls alike the oldest stands for all:", style="bold")
    life = state.players[player].life
    rows = []
    for place, payment in enumerate(found.payments, 1):
        told = []
        for number in payment.souls:
            card = state.holders.get(number)
            told.append(f"{soul(number, rank_of(state, number))} ({names.card(card) if card else 'Aether'})")
        burn = f"{payment.damage}, leaves {life - payment.damage}" if payment.excess else "-"
        rows.append((str(place), ", ".join(told), str(payment.power), str(payment.excess or "-"), burn))
    yield from table(rows, ("", "Souls", "power", "over", "life it burns (B-2)"))
    if found.more:
        yield Text("  … and more, with --limit", style="dim")
