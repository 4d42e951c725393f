"""What the causes have in common: what is told of an event, and how figures, ranks and places read."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.lookups import listed
from domain.rules.ruleset import Ruleset
from replays.provenance import Place, Provenance

USUAL = Ruleset()
"""The ruleset as it is in the rule book."""


class Told(NamedTuple):
    """What happened, in a sentence; the numbers of the rules; and because of what: events by number, or parts of it."""

    what: str
    rules: tuple[str, ...]
    because: tuple["int | Told", ...] = ()


Tellers = Mapping[type[e.Event], Callable[[Provenance, Any], Told]]


def added(first: int, *terms: tuple[int, str]) -> str:
    """A sum as people write it: "1 + 1 sealed - 2 curse = 0"."""
    shown = [f" {'-' if delta < 0 else '+'} {abs(delta)}{f' {name}' if name else ''}" for delta, name in terms]
    return f"{first}{''.join(shown)} = {first + sum(delta for delta, _ in terms)}"


def less(whole: int, name: str, part: int) -> str:
    """A difference as people write it: "3 - cost 1 = 2"."""
    return f"{whole} - {name} {part} = {whole - part}"


def recorded(found: int, figure: int) -> str:
    """That another figure is recorded than was found."""
    return "" if found == figure else f" (but {figure} is recorded)"


def varied(record: Provenance, field: str) -> tuple[str, tuple[int, ...]]:
    """Where this match is played otherwise than usual: how, and the event that says so."""
    here, usual = getattr(record.ruleset, field), getattr(USUAL, field)
    return ("", ()) if here == usual else (f" ({field} is {here} in this match, usually {usual})", (1,))


def in_brackets(reason: str | None) -> str:
    """A reason or cause, if one was given."""
    return f" ({reason})" if reason else ""


def named_rank(rank: int | None) -> str:
    """A creature's own rank (C-4)."""
    return "no rank, which counts as 0" if rank is None else f"rank {rank}"


def place_of(record: Provenance, place: Place, n: int) -> str:
    """Where a Soul is, as things are called at event `n`."""
    if isinstance(place, c.OnCard):
        return f"on {record.card(place.card, n)}"
    return "in the Aether" if place == "aether" else "gone"


def souls_of(souls: Iterable[e.Soul]) -> str:
    """One Soul or more, with their ranks."""
    return listed([f"Soul {soul.soul} of rank {soul.rank}" for soul in souls])


def as_it_came(record: Provenance, event: e.WholeCard) -> str:
    """What a card is that comes onto the battlefield."""
    kind = "a creature without a rank" if event.rank is None else f"a creature of rank {event.rank}"
    traits = [kind if event.kind == "creature" else "no creature"]
    traits += ["Soulless"] if event.soulless else []
    traits += [f"owned by {record.player(event.owner)}"] if event.owner != event.controller else []
    return ", ".join(traits)


def in_order(*numbers: int) -> tuple[int, ...]:
    """Numbers of events, each once."""
    return tuple(sorted(set(numbers)))


def set_by(record: Provenance, event: Any, *facts: str) -> tuple[int, ...]:
    """The events that set these facts of an event's card, before it."""
    return in_order(*(record.before((fact, event.card), event.n).n for fact in facts))


def ranked_by(record: Provenance, soul: int, n: int) -> tuple[int, ...]:
    """What a Soul's rank comes from, before event `n`: its origin, and the ruling that set it last, if any did."""
    return in_order(record.settings(("soul", soul))[0].n, record.before(("soul", soul), n).n)
