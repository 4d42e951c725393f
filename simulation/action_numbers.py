"""The numbers of actions: each means the same in every match, whoever plays and however many.

Lives here: the numbering, over the cards that come along, and which of the numbers a table offers now. Must not know:
what may be done (the table), how an agent is asked (the gym). docs/gym.md has it as tables.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from simulation.decks import TARGETED, Card, pool
from simulation.offers import CHOICES, PAYMENTS
from simulation.views import Action, Kind

MOST_SEATS = 4
RANKS = (1, 2, 3)

MAIN = tuple(key for key, card in pool().items() if card.rank is None)
"""The cards that are drawn and played, in the order of the pool."""

EXTRA = tuple(key for key, card in pool().items() if card.rank is not None)
"""The cards that come through Rifts, in the order of the pool."""

AIMED = tuple(key for key in MAIN if any(effect.does in TARGETED for effect in pool()[key].effects))
"""The cards that are played on a card, which the player chooses."""


class Meaning(Struct, frozen=True):
    """What a number means, for whoever acts.

    `card` is what the pool calls it; `rank` that of a Rift, 1 to 3. `payment` says which of the payments that the table
    offers, the best first, from 1 to 3; 0: nothing is paid. `target` says which of the cards on which it can be played,
    the oldest first, from 1 to 4; 0: none. `seat` says how many places after the player the attacked one sits, 1 to 3.
    """

    kind: Kind
    card: str | None = None
    rank: int = 0
    payment: int = 0
    target: int = 0
    seat: int = 0

    def __str__(self) -> str:
        said = [self.kind, *([self.card] if self.card else [])]
        figures = {"rank": self.rank, "payment": self.payment, "target": self.target, "seat": self.seat}
        return " ".join([*said, *(f"{name} {figure}" for name, figure in figures.items() if figure)])


def _meanings() -> Iterator[Meaning]:
    yield from (Meaning("end"), Meaning("concede"), Meaning("close"))
    for seat in range(1, MOST_SEATS):
        yield Meaning("attack", seat=seat)
    for rank in RANKS:
        for payment in range(1, PAYMENTS + 1):
            yield Meaning("open", rank=rank, payment=payment)
    for key in EXTRA:
        yield Meaning("summon", key)
    for key in MAIN:
        yield from _plays(key, pool()[key])


def _plays(key: str, card: Card) -> Iterator[Meaning]:
    for payment in range(1, PAYMENTS + 1) if card.soulrift else (0,):
        for target in _targets(key, card):
            yield Meaning("play", key, payment=payment, target=target)


def _targets(key: str, card: Card) -> tuple[int, ...]:
    """What a card can be aimed at; whatever is more than its effect can be played without an aim, too."""
    if key not in AIMED:
        return (0,)
    slots = tuple(range(1, CHOICES + 1))
    return slots if card.kind == "spell" else (*slots, 0)


MEANINGS = tuple(_meanings())
"""The meaning of each number, from 0."""


def _firsts() -> dict[tuple[Kind, str | None, int | None], tuple[int, int]]:
    """Of each kind of action with its card or rank: its first number, and how many there are for one payment."""
    firsts: dict[tuple[Kind, str | None, int | None], tuple[int, int]] = {}
    for number, meaning in enumerate(MEANINGS):
        aims = len(_targets(meaning.card, pool()[meaning.card])) if meaning.kind == "play" and meaning.card else 1
        firsts.setdefault((meaning.kind, meaning.card, meaning.rank or None), (number, aims))
    return firsts


_FIRSTS = _firsts()


def numbered(actions: Sequence[Action], after: Mapping[str, int]) -> dict[int, Action]:
    """The actions that a table offers, by their numbers; `after`: how many places after the player each other one sits.

    The payments of a card stand together in the order in which they are offered, and so do the targets of a payment:
    which of them one is, is counted.
    """
    found: dict[int, Action] = {}
    before, payment, nth, aim = -1, None, 0, 0
    for action in actions:
        first, aims = _FIRSTS[action.kind, action.card, action.rank]
        if first != before:
            before, payment, nth, aim = first, action.payment, 0, 0
        elif action.payment is not payment:
            payment, nth, aim = action.payment, nth + 1, 0
        else:
            aim += 1
        if action.kind == "attack":
            found[first + after[str(action.target)] - 1] = action
        else:
            found[first + nth * aims + (aims - 1 if action.target is None else aim)] = action
    return found
