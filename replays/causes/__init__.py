"""What is behind each event: one sentence with its figures, the rules that it rests on, and the events that led to it.

Lives here: one function an event, and the table of them. Must not know: how much of a chain is told (`replays/why.py`).
Figures are worked out anew from what was before; where another one is recorded, it is said.
"""

from domain.rules import AnyEvent
from replays.causes import cards, payments, players, rifts, rulings
from replays.causes.words import Told
from replays.provenance import Provenance


def told(record: Provenance, event: AnyEvent) -> Told:
    """What is behind an event. All that led to it has a lower number.

    Raises:
        AMISS: it does not follow from the events before it.

    """
    found: Told = TELLERS[type(event)](record, event)
    return found


TELLERS = {**cards.TELLERS, **payments.TELLERS, **players.TELLERS, **rifts.TELLERS, **rulings.TELLERS}
