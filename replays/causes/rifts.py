"""Why Rifts opened and closed, and creatures came through: R-1 to R-10."""

from collections.abc import Iterable
from typing import Any

from domain.rules import commands as c
from domain.rules import events as e
from replays.causes.words import Tellers, Told, as_it_came, less, recorded, varied
from replays.provenance import Provenance, Setting


def _rift_opened(record: Provenance, event: e.RiftOpened) -> Told:
    paid = record.before(("payment", event.payment), event.n).n
    taken = [other.n for other in record.of_entry(event.entry)[:1] if isinstance(other, e.EventTaken)]
    what = f"{record.player(event.player)} opens Rift {event.rift}, of rank {event.rank}, by payment {event.payment}"
    return Told(what, ("R-2", "R-7", "R-8"), (*taken, paid))


def _creature_summoned(record: Provenance, event: e.CreatureSummoned) -> Told:
    opened: Any = record.events[record.settings(("rift", event.rift))[0].n - 1]
    lowest = record.ruleset.rift_min_rank
    otherwise, ruled = varied(record, "rift_min_rank")
    card, who = record.card(event.card, event.n), record.player(event.controller)
    through = f"comes through Rift {event.rift}, which lets ranks {lowest} to {opened.rank} through{otherwise}"
    return Told(f"{card}, {who}'s, {through}: {as_it_came(record, event)}", ("R-3",), (*ruled, opened.n))


def _rift_closed(record: Provenance, event: e.RiftClosed) -> Told:
    opened, *changes = [each for each in record.settings(("rift", event.rift)) if each.n < event.n]
    rank: int = getattr(record.events[opened.n - 1], "rank", 0)
    highest = [opened, *changes][-1].value
    unused = rank - highest
    figures = f"rank {less(rank, 'highest', highest)} unused{recorded(unused, event.unused)}"
    through = _through(record, opened, changes)
    because = (opened.n, *(each.n for each in changes))
    if record.command(event.entry)["type"] == c.tag_of(c.CloseRift.__name__):
        rules = ("R-4", "R-5") if not unused else ("R-4", "B-4") if highest else ("R-4", "B-4", "R-6")
        what = f"{record.player(event.player)} closes Rift {event.rift}: {figures}; {through}"
        return Told(what, rules, because)
    why, ends = _by_itself(record, event)
    return Told(
        f"Rift {event.rift} closes by itself, as {why}, and burns nobody: {figures}; {through}",
        ("R-10",),
        (*because, *ends),
    )


def _through(record: Provenance, opened: Setting, changes: Iterable[Setting]) -> str:
    """What made the highest rank through a Rift what it is."""
    before, found = opened.value, "nothing came through"
    for each in changes:
        event = record.events[each.n - 1]
        if isinstance(event, e.RulingMade):
            if each.value != before:
                found = f"rank {each.value} as the ruling of entry {event.entry} has it"
        elif isinstance(event, e.CreatureSummoned) and (each.value != before or found == "nothing came through"):
            found = f"the highest is {record.card(event.card, event.n)}"
        before = each.value
    return found


def _by_itself(record: Provenance, event: e.RiftClosed) -> tuple[str, tuple[int, ...]]:
    """Why a Rift closed without its player's doing, and because of which events of the same entry."""
    before = [other for other in record.of_entry(event.entry) if other.n < event.n]
    defeats = [other for other in before if isinstance(other, e.PlayerDefeated)]
    own = [other.n for other in defeats if other.player == event.player]
    if own:
        return f"{record.player(event.player)} is defeated", tuple(own)
    others = [other.n for other in defeats or before if isinstance(other, e.PlayerDefeated | e.RulingMade)]
    return "the match is over", tuple(others)


TELLERS: Tellers = {
    e.RiftOpened: _rift_opened,
    e.CreatureSummoned: _creature_summoned,
    e.RiftClosed: _rift_closed,
}
