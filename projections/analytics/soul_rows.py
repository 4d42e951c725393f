"""The rows of Souls: a life each, and each of their moves."""

from collections import defaultdict

from projections import payments, souls
from projections.analytics.taken import Row, Taken, Values


def soul_rows(taken: Taken) -> Values:
    """The table of Souls."""
    changes, turns, rows = taken.changes, taken.turns, Values()
    lives = defaultdict[int, list[Row]](list)
    for step in changes[souls.STEPS]:
        lives[step[1]].append(step)
    by_creature = {stay.soul: stay for stay in taken.told.stays if stay.soul}
    payers = {payment[1]: payment[3] for payment in changes[payments.PAYMENTS]}
    for _, soul, entry, rank, source, creature, creature_rank, modifiers, cause in changes[souls.SOULS]:
        stay, fate, counts = by_creature.get(soul), "aether", dict.fromkeys(("card", "aether", "control"), 0)
        last_rank, end, payment = rank, None, None
        for step in lives[soul]:
            what = step[5]
            if what in counts and step[2] not in taken.told.rulings:
                counts[what] += 1
            if what == "rank":
                last_rank = step[9]
            elif what != "control":
                fate = what
            if what in {"spent", "lost"}:
                end, payment = step[4], step[8]
        gone = stay.gone if stay else None
        rows.extend(
            (
                soul,
                entry,
                turns[entry - 1],
                rank,
                source,
                creature,
                gone and gone.definition,
                gone.controller if gone else taken.told.released_by.get(soul),
                creature_rank,
                gone and gone.sealed,
                0 if modifiers == "[]" else _sum_of(modifiers),
                cause,
                counts["card"],
                counts["aether"] - (source != "ruling"),
                counts["control"],
                last_rank,
                fate,
                end,
                end and turns[end - 1],
                payment,
                payers.get(payment),
            )
        )
    return rows


def move_rows(taken: Taken) -> Values:
    """The table of their moves."""
    turns, rows = taken.turns, Values()
    payers = {payment[1]: payment[3] for payment in taken.changes[payments.PAYMENTS]}
    ranks = {soul[1]: soul[3] for soul in taken.changes[souls.SOULS]}
    places: dict[int, str] = {}
    for _, soul, n, part, entry, step, card, controller, payment, rank in taken.changes[souls.STEPS]:
        came_from = places.get(soul, "new")
        if step == "rank":
            ranks[soul] = rank
        elif step != "control":
            places[soul] = step
        who = payers[payment] if payment else controller
        rows.extend((soul, n, part, entry, turns[entry - 1], step, came_from, card, who, payment, ranks[soul]))
    return rows


_MOST = 2**63 - 1


def _sum_of(modifiers: str) -> int:
    """The sum of modifiers, held within what a column holds: there may be as many of them as fill a line."""
    return max(-_MOST, min(_MOST, sum(each.delta for each in souls.modifiers_of(modifiers))))
