"""What a judge ruled, each correction with what was before: J-1 to J-3."""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from domain.rules import commands as c
from domain.rules import events as e
from replays.causes.words import Tellers, Told, added, place_of
from replays.provenance import Place, Provenance


def _ruling_made(record: Provenance, event: e.RulingMade) -> Told:
    about = f" about entry {event.about}" if event.about is not None else ""
    mended = record.mended[event.n]
    made = "; ".join(
        _CORRECTED[each.kind](record, event, each.before, getattr(each.correction, each.kind)) for each in mended
    )
    kinds = {each.kind for each in mended}
    rules = (
        "J-1",
        *["J-2"] * bool(kinds & {"soul", "new_soul", "rank"}),
        *["J-3"] * bool(kinds & {"life", "defeated", "result"}),
    )
    return Told(f"judge {event.judge} rules{about} ({event.reason}): {made}", rules)


def _ruled_life(record: Provenance, _: e.RulingMade, before: int, change: c.LifeChange) -> str:
    return f"the life of {record.player(change.player)} is {added(before, (change.delta, ''))}"


def _ruled_soul(record: Provenance, event: e.RulingMade, before: Place, move: c.SoulMove) -> str:
    places = f"{place_of(record, move.to, event.n)}, not {place_of(record, before, event.n)}"
    return f"Soul {move.soul} is {places}"


def _ruled_new_soul(record: Provenance, event: e.RulingMade, _: None, new: e.NumberedSoul) -> str:
    return f"a new Soul {new.soul} of rank {new.rank} is {place_of(record, new.to, event.n)}"


def _ruled_rank(_: Provenance, __: e.RulingMade, before: int, change: c.RankCorrection) -> str:
    return f"Soul {change.soul} is of rank {change.rank}, not {before}"


def _ruled_event(_: Provenance, __: e.RulingMade, before: str | None, change: c.EventCorrection) -> str:
    used, was = (f"used for {taken}" if taken else "unused" for taken in (change.event, before))
    return f"the turn's Event is {used}, not {was}"


def _ruled_payment(_: Provenance, __: e.RulingMade, before: str | None, change: c.PaymentCorrection) -> str:
    return f"payment {change.payment} for {before} is closed, and nothing burns"


def _ruled_rift(_: Provenance, __: e.RulingMade, before: int, change: c.RiftCorrection) -> str:
    if change.highest is UNSET:
        return "the Rift is closed, and nothing burns"
    return f"the highest rank through the Rift is {change.highest}, not {before}"


def _ruled_defeated(record: Provenance, _: e.RulingMade, __: object, change: c.DefeatCorrection) -> str:
    return f"{record.player(change.player)} is {'' if change.defeated else 'not '}defeated"


def _ruled_result(
    record: Provenance, _: e.RulingMade, before: tuple[str, str | None], change: c.ResultCorrection
) -> str:
    now = "goes on" if change.status == "running" else f"is {_end(record, change.winner)}"
    was = "does not go on" if before[0] == "running" else f"is not {_end(record, before[1])}"
    return f"the match {now}, and {was}"


def _end(record: Provenance, winner: str | None) -> str:
    return f"won by {record.player(winner)}" if winner is not None else "a draw"


_CORRECTED: dict[str, Callable[[Provenance, e.RulingMade, Any, Any], str]] = {
    "life": _ruled_life,
    "soul": _ruled_soul,
    "new_soul": _ruled_new_soul,
    "rank": _ruled_rank,
    "event": _ruled_event,
    "payment": _ruled_payment,
    "rift": _ruled_rift,
    "defeated": _ruled_defeated,
    "result": _ruled_result,
}

TELLERS: Tellers = {e.RulingMade: _ruling_made}
