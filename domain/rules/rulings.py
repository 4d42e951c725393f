"""The decider of a judge's rulings: J-1 to J-3.

Each correction is judged on a copy of the state to which the ones before it were applied.
"""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.cards import MAX_RANK
from domain.rules.corrections import correct, kind_of, rank_of
from domain.rules.ending import Because, defeat, end, fall
from domain.rules.lookups import missing_soul, numbered_payment, on_battlefield, seat
from domain.rules.players import life_out_of_range
from domain.rules.refusal import Refusal, bad_input, pointer
from domain.rules.state import State

FEWEST_PLAYERS = 2
Path = tuple[str | int, ...]


def ruling(state: State, command: c.Ruling) -> tuple[e.AnyEvent, ...]:
    if command.about is not None and not 1 <= command.about <= state.entries:
        raise bad_input(
            "/about",
            f"there is no entry {command.about}: the match has {state.entries}",
            entry=command.about,
            entries=state.entries,
        )
    mended = state.copy()
    made = tuple([_judge(mended, wanted, index) for index, wanted in enumerate(command.corrections)])
    events: list[e.AnyEvent] = [
        e.RulingMade(
            entry=state.entries + 1,
            n=state.events + 1,
            about=command.about,
            corrections=made,
            judge=command.judge,
            reason=command.reason,
        )
    ]
    _consequences(state, mended, events, command.reason)
    return tuple(events)


def _consequences(before: State, mended: State, events: list[e.AnyEvent], reason: str) -> None:
    """J-3: defeats and the end, judged once, after all corrections."""
    if before.status == mended.status == "ended":
        return
    fallen: dict[str, Because] = {}
    for name, player in mended.players.items():
        if player.defeated and not before.players[name].defeated:
            fallen[name] = "ruling"
        elif player.life <= 0 and not player.defeated:
            fallen[name] = "life"
    if mended.status == "running":
        defeat(mended, events, fallen, mended.rift)
    else:
        end(mended, events, mended.winner, reason, fall(mended, events, fallen, mended.rift))


def _judge(mended: State, wanted: c.Correction, index: int) -> e.MadeCorrection:
    """Judge one correction on what the ones before it left, make it there, and return it as it is recorded."""
    kind = kind_of(wanted)
    path = ("corrections", index, kind)
    change = getattr(wanted, kind)
    _JUDGES[kind](mended, change, path)
    if kind == "new_soul":
        change = e.NumberedSoul(rank=change.rank, soul=mended.numbered.souls + 1, to=change.to)
    made = e.MadeCorrection(**{kind: change})
    correct(mended, made)
    return made


def _no_change(path: Path, what: str, **details: Any) -> Refusal:
    return bad_input(pointer(*path), f"this correction changes nothing: {what} already", **details)


def _soul_rank(rank: int) -> None:
    if not 0 <= rank <= MAX_RANK:
        raise Refusal(
            "J-2", f"even by a ruling a Soul has a rank from 0 to 3, not {rank}", rank=rank, lowest=0, highest=MAX_RANK
        )


def _at_hand(state: State, soul: int, *path: str | int) -> None:
    if soul not in state.aether and soul not in state.holders:
        raise missing_soul(state, soul, *path)


def _life(state: State, change: c.LifeChange, path: Path) -> None:
    player = seat(state, change.player, *path, "player")
    if change.delta == 0:
        raise _no_change((*path, "delta"), f"{change.player} has {player.life} life", life=player.life)
    if abs(player.life + change.delta) > c.MAX_INTEGER:
        raise life_out_of_range(*path, "delta")


def _soul(state: State, move: c.SoulMove, path: Path) -> None:
    _at_hand(state, move.soul, *path, "soul")
    place = state.holders.get(move.soul)
    if isinstance(move.to, c.OnCard):
        on_battlefield(state, move.to.card, *path, "to", "card")
        if place == move.to.card:
            raise _no_change((*path, "to"), f"Soul {move.soul} is on {place}", soul=move.soul)
    elif move.to == "aether" and place is None:
        raise _no_change((*path, "to"), f"Soul {move.soul} is in the Aether", soul=move.soul)


def _new_soul(state: State, new: c.NewSoul, path: Path) -> None:
    if isinstance(new.to, c.OnCard):
        on_battlefield(state, new.to.card, *path, "to", "card")
    _soul_rank(new.rank)


def _rank(state: State, change: c.RankCorrection, path: Path) -> None:
    _at_hand(state, change.soul, *path, "soul")
    _soul_rank(change.rank)
    if rank_of(state, change.soul) == change.rank:
        told = f"Soul {change.soul} is of rank {change.rank}"
        raise _no_change((*path, "rank"), told, soul=change.soul, rank=change.rank)


def _event(state: State, change: c.EventCorrection, path: Path) -> None:
    if state.turn is None:
        raise bad_input(pointer(*path), "no turn has begun, so there is no Event to correct")
    if state.turn.event == change.event:
        raise _no_change((*path, "event"), "the Event is " + (f"used for {change.event}" if change.event else "unused"))


def _payment(state: State, change: c.PaymentCorrection, path: Path) -> None:
    numbered_payment(state, change.payment, *path, "payment")
    if change.payment not in state.payments:
        told = f"payment {change.payment} is not open"
        raise bad_input(pointer(*path, "payment"), told, payment=change.payment)


def _rift(state: State, change: c.RiftCorrection, path: Path) -> None:
    if state.rift is None:
        raise bad_input(pointer(*path), "no Rift is open")
    if change.highest is UNSET:
        return
    if not 0 <= change.highest <= state.rift.rank:
        raise bad_input(
            pointer(*path, "highest"),
            f"through a rank {state.rift.rank} Rift come ranks up to {state.rift.rank}, not {change.highest}",
            given=change.highest,
            highest=state.rift.rank,
        )
    if state.rift.highest == change.highest:
        told = f"{change.highest} is the highest rank that came through"
        raise _no_change((*path, "highest"), told, highest=change.highest)


def _defeated(state: State, change: c.DefeatCorrection, path: Path) -> None:
    if seat(state, change.player, *path, "player").defeated == change.defeated:
        raise _no_change((*path, "defeated"), f"{change.player} is " + ("" if change.defeated else "not ") + "defeated")


def _result(state: State, change: c.ResultCorrection, path: Path) -> None:
    if change.winner is not None:
        seat(state, change.winner, *path, "winner")
    if (state.status, state.winner) == (change.status, change.winner):
        raise _no_change(
            path, f"the match is {state.status}" + (f" and {state.winner} has won" if state.winner else "")
        )
    left = sum([not player.defeated for player in state.players.values()])
    if change.status == "running" and left < FEWEST_PLAYERS:
        raise bad_input(
            pointer(*path, "status"),
            f"a match goes on with two players undefeated, and here are {left}",
            undefeated=left,
        )


_JUDGES: dict[str, Callable[[State, Any, Path], None]] = {
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
