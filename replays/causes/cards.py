"""Why cards and Souls came, changed, moved and went: C-1 to C-12, A-1 to A-6."""

from typing import Any

from domain.rules import AnyEvent
from domain.rules import events as e
from domain.rules.cards import MAX_RANK
from replays.causes.words import (
    Tellers,
    Told,
    added,
    as_it_came,
    in_brackets,
    in_order,
    named_rank,
    ranked_by,
    recorded,
    set_by,
    souls_of,
    varied,
)
from replays.provenance import Provenance


def _card_entered(record: Provenance, event: e.CardEntered) -> Told:
    rules = ("C-10",)
    if event.kind == "creature":
        rules = ("C-5",) if event.deck == "extra" else ("C-4",) if event.rank is None else ("C-6",)
    card, who = record.card(event.card, event.n), record.player(event.controller)
    return Told(f"{card} enters, {who}'s: {as_it_came(record, event)}", rules)


def _creature_sealed(record: Provenance, event: e.CreatureSealed) -> Told:
    otherwise, ruled = varied(record, "sealed_bonus")
    bonus = f"destroyed like this, it gives {record.ruleset.sealed_bonus} to its Soul's rank"
    entered = set_by(record, event, "card")
    return Told(f"{record.card(event.card, event.n)} is Sealed: {bonus}{otherwise}", ("C-7",), (*ruled, *entered))


def _creature_unsealed(record: Provenance, event: e.CreatureUnsealed) -> Told:
    what = f"{record.card(event.card, event.n)} is no longer Sealed"
    return Told(what, ("C-7",), set_by(record, event, "sealed"))


def _soulless_set(record: Provenance, event: e.SoullessSet) -> Told:
    then = "Soulless: destroyed, it leaves no Soul" if event.soulless else "no longer Soulless"
    what = f"{record.card(event.card, event.n)} is {then}"
    return Told(what, ("C-2",), set_by(record, event, "soulless"))


def _rank_set(record: Provenance, event: e.RankSet) -> Told:
    before = record.before(("rank", event.card), event.n)
    now = "no rank" if event.rank is None else f"rank {event.rank}"
    ranks = f"{now} instead of {'none' if before.value is None else before.value}"
    rules = ("C-8", "C-4") if event.rank is None else ("C-8", "C-6")
    return Told(f"{record.card(event.card, event.n)} has {ranks}{in_brackets(event.cause)}", rules, (before.n,))


def _control_changed(record: Provenance, event: e.ControlChanged) -> Told:
    before = record.before(("control", event.card), event.n)
    to, card = record.player(event.to), record.card(event.card, event.n)
    what = f"{to} gains control of {card}, and the use of Souls on it, from {record.player(event.from_)}"
    return Told(what, ("A-3", "A-2"), (before.n,))


def _creature_destroyed(record: Provenance, event: e.CreatureDestroyed) -> Told:
    sealed = ", and is Sealed" if event.sealed else ""
    soulless = "; being Soulless, it leaves no Soul" if event.soulless else ""
    facts = ["card", "rank", *["sealed"] * event.sealed, "soulless"]
    rules = ("C-2",) if event.soulless else ("C-1",)
    return Told(
        f"{_gone(record, event)} is destroyed{_by(record, event)}; it has {named_rank(event.rank)}{sealed}{soulless}",
        (*rules, *_together(record, event)),
        set_by(record, event, *facts),
    )


def _card_destroyed(record: Provenance, event: e.CardDestroyed) -> Told:
    what = f"{_gone(record, event)} is destroyed{_by(record, event)}; no creature, it leaves no Soul of its own"
    return Told(what, ("C-10", *_together(record, event)), set_by(record, event, "card"))


def _card_left(record: Provenance, event: e.CardLeft) -> Told:
    by = f", by {record.player(event.by)}" if event.by else ""
    what = f"{_gone(record, event)} leaves for {event.to}{by}; it is not destroyed, and leaves no new Soul"
    return Told(what, ("C-11",), set_by(record, event, "card"))


def _gone(record: Provenance, event: e.CreatureDestroyed | e.CardDestroyed | e.CardLeft) -> str:
    """A card that goes, with the Souls on it."""
    return record.card(event.card, event.n) + (f", with {souls_of(event.souls)} on it," if event.souls else "")


def _by(record: Provenance, event: e.CreatureDestroyed | e.CardDestroyed) -> str:
    return (f" by {record.player(event.by)}" if event.by else "") + in_brackets(event.cause)


def _together(record: Provenance, event: AnyEvent) -> tuple[str, ...]:
    """C-12, where several cards are destroyed at once."""
    first_two = record.of_entry(event.entry)[:2]
    together = len([other for other in first_two if isinstance(other, e.CreatureDestroyed | e.CardDestroyed)])
    return ("C-12",) if together > 1 else ()


def _soul_collected(record: Provenance, event: e.SoulCollected) -> Told:
    destroyed = record.before(("gone", event.creature), event.n).n
    creature: Any = record.events[destroyed - 1]
    sealed = any(modifier.name == "sealed" for modifier in event.modifiers)
    otherwise, ruled = varied(record, "sealed_bonus") if sealed else ("", ())
    terms = [(modifier.delta, modifier.name) for modifier in event.modifiers]
    rank: int = (creature.rank or 0) + sum(delta for delta, _ in terms)
    held = min(max(rank, 0), MAX_RANK)
    kept = f", held at {held}" if held != rank else ""
    figures = named_rank(creature.rank)
    if terms:
        figures = f"{figures}: {added(creature.rank or 0, *terms)}{kept}{otherwise}"
    what = f"Soul {event.soul} of rank {event.rank} rises from {record.card(event.creature, event.n)}: {figures}"
    rules = ["C-1", "C-3", *["C-4"] * (creature.rank is None), *["C-7"] * sealed, *["C-8"] * (len(terms) > sealed)]
    return Told(what + recorded(held, event.rank), tuple(rules), (*ruled, destroyed))


def _soul_released(record: Provenance, event: e.SoulReleased) -> Told:
    by = f" by {record.player(event.by)}" if event.by else ""
    what = f"Soul {event.soul} is released{by}{in_brackets(event.cause)} with rank {event.rank}"
    if "rank" in record.command(event.entry):
        return Told(f"{what}, which the effect gave", ("C-9",))
    otherwise, ruled = varied(record, "release_rank")
    wrong = recorded(record.ruleset.release_rank, event.rank)
    return Told(f"{what}, for the effect gave none{otherwise}{wrong}", ("C-9",), ruled)


def _soul_reaped(record: Provenance, event: e.SoulReaped) -> Told:
    card, control = record.card(event.card, event.n), record.before(("control", event.card), event.n)
    place = record.before(("place", event.soul), event.n)
    who = record.player(control.value)
    what = f"Soul {event.soul} is reaped onto {card}{in_brackets(event.cause)}, for {who} to use"
    because = in_order(*ranked_by(record, event.soul, event.n), place.n, control.n)
    return Told(what, ("A-1", "A-2", "A-5"), because)


def _soul_returned(record: Provenance, event: e.SoulReturned) -> Told:
    gone, because = _off_card(record, event)
    destroyed = not isinstance(record.events[gone - 1], e.CardLeft)
    how = "which was destroyed" if destroyed else "which left undestroyed"
    card = record.card(event.card, event.n)
    what = f"Soul {event.soul} of rank {event.rank} returns to the Aether from {card}, {how}"
    return Told(what, ("A-4",) if destroyed else ("A-6",), because)


def _soul_lost(record: Provenance, event: e.SoulLost) -> Told:
    _, because = _off_card(record, event)
    otherwise, ruled = varied(record, "souls_on_leaving")
    card = record.card(event.card, event.n)
    what = f"Soul {event.soul} of rank {event.rank} is lost with {card}, which left undestroyed{otherwise}"
    return Told(what, ("A-6",), (*ruled, *because))


def _off_card(record: Provenance, event: e.SoulReturned | e.SoulLost) -> tuple[int, tuple[int, ...]]:
    """How the card of a Soul went; and with it how the Soul came, got its rank, and came onto the card."""
    gone = record.before(("gone", event.card), event.n).n
    place = record.before(("place", event.soul), event.n).n
    return gone, in_order(*ranked_by(record, event.soul, event.n), place, gone)


TELLERS: Tellers = {
    e.CardEntered: _card_entered,
    e.CreatureSealed: _creature_sealed,
    e.CreatureUnsealed: _creature_unsealed,
    e.SoullessSet: _soulless_set,
    e.RankSet: _rank_set,
    e.ControlChanged: _control_changed,
    e.CreatureDestroyed: _creature_destroyed,
    e.CardDestroyed: _card_destroyed,
    e.CardLeft: _card_left,
    e.SoulCollected: _soul_collected,
    e.SoulReleased: _soul_released,
    e.SoulReaped: _soul_reaped,
    e.SoulReturned: _soul_returned,
    e.SoulLost: _soul_lost,
}
