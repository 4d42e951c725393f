"""The one door: what a command makes of a match, by the rules.

Two laws hold here: `decide` judges and changes nothing; what comes before a match has begun or after it has ended is
refused before any decider sees it. Deciders are pure functions of the state and one command; each asks in the
order of the wire contract: names and numbers that must exist, defeated players (L-5), then the rules of its command.
"""

from collections.abc import Callable
from typing import Any

from domain.rules import cards, payments, players, rifts
from domain.rules import commands as c
from domain.rules.events import AnyEvent
from domain.rules.refusal import Refusal, bad_input
from domain.rules.rulings import ruling
from domain.rules.state import State


def decide(state: State, command: c.AnyCommand) -> tuple[AnyEvent, ...]:
    """The events that this command appends, numbered and in order; at least one.

    `command` must be well-formed, as `decode_command` returns it.

    Raises:
        Refusal: a rule, or what the command names, does not allow it. The state is as it was.

    """
    if state.status != "running":
        _in_its_place(state, command)
    return _DECIDERS[type(command)](state, command)


def _in_its_place(state: State, command: c.AnyCommand) -> None:
    """The first command of a match is its start_match, the only ones after its end are rulings (L-5)."""
    if state.status == "unstarted":
        if not isinstance(command, c.StartMatch):
            raise bad_input("/type", "the first command of a match is its start_match")
    elif not isinstance(command, c.Ruling):
        raise Refusal("L-5", f"the match has ended{_result(state)}; only a judge's ruling is still taken")


def _result(state: State) -> str:
    return f", won by {state.winner}" if state.winner else " in a draw"


_DECIDERS: dict[type[c.Command], Callable[[State, Any], tuple[AnyEvent, ...]]] = {
    c.StartMatch: players.start_match,
    c.BeginTurn: players.begin_turn,
    c.TakeEvent: players.take_event,
    c.Enter: cards.enter,
    c.Seal: cards.seal,
    c.Unseal: cards.unseal,
    c.SetSoulless: cards.set_soulless,
    c.SetRank: cards.set_rank,
    c.ChangeControl: cards.change_control,
    c.Destroy: cards.destroy,
    c.Leave: cards.leave,
    c.Release: cards.release,
    c.Reap: cards.reap,
    c.Pay: payments.pay,
    c.Resolve: payments.resolve,
    c.Fizzle: payments.fizzle,
    c.OpenRift: rifts.open_rift,
    c.Summon: rifts.summon,
    c.CloseRift: rifts.close_rift,
    c.ChangeLife: players.change_life,
    c.Concede: players.concede,
    c.EndMatch: players.end_match,
    c.Ruling: ruling,
}
