"""What of the rule book a run used: every command, event and rule, and how often.

A rule that only forbids is counted where it was heeded: P-7, "each Soul once", at every payment of several Souls.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, get_args

from msgspec import UNSET

from domain.rules import AnyCommand, AnyEvent, State
from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.book import WORDS
from domain.rules.commands import tag_of

JUDGES = frozenset({"ruling", "ruling_made", "J-1", "J-2", "J-3"})
"""No simulated match has a judge."""

COMMANDS = tuple(tag_of(kind.__name__) for kind in get_args(AnyCommand))
EVENTS = tuple(tag_of(kind.__name__) for kind in get_args(AnyEvent))


class Coverage:
    """Counts; `watch` is told of each command before the state changes by its events."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def watch(self, state: State, command: AnyCommand, events: tuple[AnyEvent, ...]) -> None:
        """Count a command, its events, and the rules that they used."""
        counts = self.counts
        counts[tag_of(type(command).__name__)] += 1
        counts["S-2"] += 1
        for event in events:
            counts[tag_of(type(event).__name__)] += 1
            for rules in _RULES.get(type(event), ()):
                counts.update(rules(state, event))
        counts.update(_by_command(state, command, events))


def unused(counts: Counter[str]) -> list[str]:
    """What was never used, of all that a simulated match can use."""
    return [name for name in (*COMMANDS, *EVENTS, *WORDS) if not counts[name] and name not in JUDGES]


def _by_command(state: State, command: AnyCommand, events: tuple[AnyEvent, ...]) -> list[str]:
    rules = []
    if isinstance(command, c.Destroy) and len(command.cards) > 1:
        rules.append("C-12")
    if isinstance(command, c.Release) and command.rank is UNSET:
        rules.append("C-9")
    if isinstance(command, c.BeginTurn):
        again = state.turn is not None and state.turn.player == command.player
        rules += ["R-8", "L-6"] if again else ["R-8"]
    if isinstance(command, c.OpenRift) and not isinstance(events[-1], e.RiftOpened):
        rules.append("R-9")
    if isinstance(command, c.Destroy) and state.rift is not None:
        rules.append("R-8")
    if any(isinstance(event, e.RiftClosed) for event in events):
        rules.append("R-4" if isinstance(command, c.CloseRift) else "R-10")
    if isinstance(command, c.Resolve | c.Fizzle) and command.payment is not UNSET:
        rules.append("E-1")
    return rules


Rules = Callable[[State, Any], list[str]]


def _collected(state: State, event: e.SoulCollected) -> list[str]:
    card = state.battlefield[event.creature]
    raw = (card.rank or 0) + sum(each.delta for each in event.modifiers)
    rules = ["C-1", "S-1", "S-3"]
    rules += ["C-4"] if card.rank is None else ["C-5"]
    rules += ["C-7"] if card.sealed else []
    rules += ["C-3"] if raw != event.rank or event.modifiers else []
    return rules + (["C-8"] if any(each.name != "sealed" for each in event.modifiers) else [])


def _destroyed(state: State, event: e.CreatureDestroyed) -> list[str]:
    del state
    return (["C-2"] if event.soulless else []) + (["A-4"] if event.souls else [])


def _card_destroyed(_: State, event: e.CardDestroyed) -> list[str]:
    return ["C-10"] + (["A-4"] if event.souls else [])


def _left(_: State, event: e.CardLeft) -> list[str]:
    return ["C-11"] + (["A-6"] if event.souls else [])


def _paid(state: State, event: e.CostPaid) -> list[str]:
    rules = ["P-1", "P-4"]
    rules += ["P-2", "A-2"] if any(spent.card for spent in event.souls) else []
    rules += ["P-3"] if event.power > event.amount else []
    rules += ["P-5", "P-7"] if len(event.souls) > 1 else []
    rules += ["E-2"] if event.effect is None else []
    return rules + (["R-2"] if event.effect is event.cost is None else []) + ([] if state.rift is None else ["R-8"])


def _burned(_: State, event: e.SoulburnTaken) -> list[str]:
    return ["B-1", "B-5", event.rule]


def _fizzled(_: State, event: e.EffectFizzled) -> list[str]:
    return ["E-3"] if event.payment is None else []


def _closed(_: State, event: e.RiftClosed) -> list[str]:
    return ["R-5", *(["R-6"] if event.highest == 0 and event.burned else [])]


def _controlled(state: State, event: e.ControlChanged) -> list[str]:
    return ["A-3"] if state.battlefield[event.card].souls else []


def _life(_: State, event: e.LifeChanged) -> list[str]:
    return ["L-2"] if event.life < 0 else []


def _defeated(_: State, event: e.PlayerDefeated) -> list[str]:
    return ["L-3"] if event.because == "life" else []


def _ended(_: State, event: e.MatchEnded) -> list[str]:
    return ["L-4", "L-5"] if event.reason == "L-4" else ["L-7"]


def _always(*rules: str) -> Rules:
    return lambda _, __: list(rules)


def _ranked(_: State, event: e.RankSet) -> list[str]:
    return ["C-8", *(["C-6"] if event.rank == 3 else [])]  # noqa: PLR2004 - the highest


_RULES: dict[type[e.Event], tuple[Rules, ...]] = {
    e.MatchStarted: (_always("L-1"),),
    e.EventTaken: (_always("R-1"),),
    e.CreatureSummoned: (_always("R-3", "C-5", "C-6"),),
    e.RankSet: (_ranked,),
    e.ControlChanged: (_controlled,),
    e.CreatureDestroyed: (_destroyed,),
    e.CardDestroyed: (_card_destroyed,),
    e.CardLeft: (_left,),
    e.SoulCollected: (_collected,),
    e.SoulReaped: (_always("A-1", "A-5"),),
    e.CostPaid: (_paid,),
    e.SoulburnTaken: (_burned,),
    e.EffectFizzled: (_fizzled,),
    e.RiftOpened: (_always("R-7"),),
    e.RiftClosed: (_closed,),
    e.LifeChanged: (_life,),
    e.PlayerDefeated: (_defeated,),
    e.MatchEnded: (_ended,),
}
