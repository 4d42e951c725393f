"""What a judge's corrections change (J-1, J-2), one function each; used by the fold and, on a copy, by the decider.

Must not know: whether a correction is allowed (`rulings.py`).
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from domain.rules import commands as c
from domain.rules.events import MadeCorrection, NumberedSoul, Soul
from domain.rules.state import State, by_number


def kind_of(correction: c.Correction) -> str:
    """Which of its fields a correction has."""
    return next(name for name in _CORRECTIONS if getattr(correction, name) is not UNSET)


def correct(state: State, correction: MadeCorrection) -> None:
    """Change `state` by one correction."""
    kind = kind_of(correction)
    _CORRECTIONS[kind](state, getattr(correction, kind))


def take_soul(state: State, soul: int) -> Soul:
    """Take a Soul from where it is, the Aether or a card, and hand it over."""
    if soul in state.aether:
        state.aether_json = None
        return state.aether.pop(soul)
    state.battlefield_json = None
    held = state.battlefield[state.holders.pop(soul)].souls
    return held.pop(bisect_left(held, soul, key=by_number))


def rank_of(state: State, soul: int) -> int:
    """The rank of a Soul in the Aether or on a card."""
    if soul in state.aether:
        return state.aether[soul].rank
    held = state.battlefield[state.holders[soul]].souls
    return held[bisect_left(held, soul, key=by_number)].rank


def _put_soul(state: State, soul: Soul, to: str | c.OnCard) -> None:
    if isinstance(to, c.OnCard):
        state.lay(soul, to.card)
    elif to == "aether":
        state.aether_json = None
        state.aether[soul.soul] = soul
    else:
        state.gone += 1


def _life(state: State, change: c.LifeChange) -> None:
    state.players[change.player].life += change.delta


def _soul(state: State, move: c.SoulMove) -> None:
    _put_soul(state, take_soul(state, move.soul), move.to)


def _new_soul(state: State, new: NumberedSoul) -> None:
    state.numbered.souls = new.soul
    _put_soul(state, Soul(rank=new.rank, soul=new.soul), new.to)


def _rank(state: State, change: c.RankCorrection) -> None:
    to: str | c.OnCard = "aether" if change.soul in state.aether else c.OnCard(card=state.holders[change.soul])
    take_soul(state, change.soul)
    _put_soul(state, Soul(rank=change.rank, soul=change.soul), to)


def _event(state: State, change: c.EventCorrection) -> None:
    turn: Any = state.turn
    turn.event = change.event


def _payment(state: State, change: c.PaymentCorrection) -> None:
    del state.payments[change.payment]


def _rift(state: State, change: c.RiftCorrection) -> None:
    if change.highest is UNSET:
        state.rift = None
    else:
        rift: Any = state.rift
        rift.highest = change.highest


def _defeated(state: State, change: c.DefeatCorrection) -> None:
    state.players[change.player].defeated = change.defeated


def _result(state: State, change: c.ResultCorrection) -> None:
    state.status = change.status
    state.winner = change.winner


_CORRECTIONS: dict[str, Callable[[State, Any], None]] = {
    "defeated": _defeated,
    "event": _event,
    "life": _life,
    "new_soul": _new_soul,
    "payment": _payment,
    "rank": _rank,
    "result": _result,
    "rift": _rift,
    "soul": _soul,
}
