"""The notation: a match as lines that a player enjoys reading, one an entry.

    12  Ada  pays Soulrift 2 for Drain with Soul 4★★ (Aether); 1 power burns (overpaid, B-2): -3 life, Ada 27

Who acts, what happened, which Souls (a star a rank) and from where, what burned by which rule, and the life after.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from rich.cells import cell_len
from rich.text import Text

from domain.entry import Entry
from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.ruleset import Ruleset
from domain.rules.state import State, called
from replays.names import separable

_STYLES: dict[type[e.Event], str] = {
    e.MatchStarted: "bold",
    e.TurnBegan: "dim",
    e.SoulCollected: "cyan",
    e.SoulReleased: "cyan",
    e.SoulReaped: "cyan",
    e.SoulReturned: "cyan",
    e.SoulLost: "cyan",
    e.CostPaid: "yellow",
    e.SoulburnTaken: "bold red",
    e.EffectFizzled: "red",
    e.RiftOpened: "magenta",
    e.CreatureSummoned: "magenta",
    e.RiftClosed: "magenta",
    e.PlayerDefeated: "bold",
    e.MatchEnded: "bold",
    e.RulingMade: "bold blue",
}


WHY_BURNED = {"overpay": "overpaid", "fizzle": "fizzled", "rift": "unused ranks"}
"""What a source of Soulburn is called."""


def power_told(source: str, of: int, less: int) -> str:
    """The power level of a Soulburn as a sum (B-2 to B-4)."""
    if source == "fizzle":
        return f"{of} cost"
    return f"{of} paid - {less} cost = {of - less}" if source == "overpay" else f"rank {of} - {less} = {of - less}"


def soul(number: int, rank: int) -> str:
    """A Soul with a star for each rank above 0."""
    return f"Soul {number}{'★' * rank}"


class Names:
    """What players and cards are called: the display name, as long as it says which one is meant.

    A commitment says nothing: who has one for a name is called as in commands.
    """

    def __init__(self, longest: int | None = None) -> None:
        self.players: dict[str, str] = {}
        self._longest = longest
        self._cards: dict[str, str] = {}
        self._living: Counter[str] = Counter()

    @classmethod
    def of(cls, state: State) -> "Names":
        """The names in a state."""
        names = cls()
        names.players = called(state.names)
        for card, described in state.descriptions.items():
            names._enter(card, described.name)
        return names

    @classmethod
    def seated(cls, players: dict[str, str | None], longest: int | None = None) -> "Names":
        """The names of players alone, from each to the name for display; cut to this length, if one is given."""
        names = cls(longest)
        names.players = called(players)
        return names

    def learn(self, entry: Entry) -> None:
        """Take up the names that an entry brings."""
        for event in entry.events:
            if isinstance(event, e.MatchStarted):
                self.players = called({seat.player: seat.name for seat in event.players})
            elif isinstance(event, e.CardEntered | e.CreatureSummoned):
                self._enter(event.card, event.name)

    def forget(self, entry: Entry) -> None:
        """Drop the cards that an entry took away."""
        for event in entry.events:
            if isinstance(event, e.CreatureDestroyed | e.CardDestroyed | e.CardLeft):
                self._living[self._cards[event.card]] -= 1

    def _enter(self, card: str, name: str | None) -> None:
        self._cards[card] = name or card
        self._living[self._cards[card]] += 1

    def player(self, player: str | None) -> str:
        """What this player is called; nothing for nobody."""
        return self._short(self.players.get(player, player)) if player else ""

    def _short(self, name: str) -> str:
        """A name, cut where there is little room."""
        return name if self._longest is None or len(name) <= self._longest else name[: self._longest - 1] + "…"

    def card(self, card: str) -> str:
        """What this card is called; its own name beside it where several are called so."""
        shown = self._short(self._cards.get(card, card))
        return f"{shown} [{card}]" if shown != card and self._living[self._cards.get(card, card)] > 1 else shown


class Notation:
    """Tells the entries of one match, from its first one on, or from where these names were known."""

    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self._who_width = 0

    def line(self, entry: Entry) -> Text:
        """An entry's line."""
        who, told = self.told(entry)
        if self.names.players and not self._who_width:
            self._who_width = max(cell_len(name) for name in self.names.players.values())
        line = Text(f"{entry.number:>5}  ", style="dim")
        line.append(who + " " * (self._who_width - cell_len(who)) + "  ", style="not dim bold")
        return line.append_text(told)

    def told(self, entry: Entry) -> tuple[str, Text]:
        """Who acts in an entry, nothing for nobody, and what happens."""
        self.names.learn(entry)
        told = Text()
        for index, event in enumerate(entry.events):
            if index:
                told.append("; ", style="not dim")
            told.append(_TELLERS[type(event)](self.names, event), style="not dim " + _STYLES.get(type(event), ""))
        self.names.forget(entry)
        return self.names.player(_who(entry)), told


def _who(entry: Entry) -> str | None:
    """Who does what an entry tells, where it says so."""
    event = entry.events[0]
    if isinstance(event, e.LifeChanged):
        return None
    if isinstance(event, e.CardEntered | e.CreatureSummoned):
        return event.controller
    return getattr(event, "player", None) or getattr(event, "by", None)


def _list(words: Iterable[str]) -> str:
    *first, last = [*words] or ["nobody"]
    return f"{', '.join(first)} and {last}" if first else last


def _because(reason: str | None) -> str:
    return f" ({reason})" if reason else ""


def _rank(rank: int | None) -> str:
    return "no rank" if rank is None else f"rank {rank}"


def _card_as_it_came(names: Names, event: e.WholeCard) -> str:
    traits = [] if event.rank is None else [_rank(event.rank)]
    traits += ["Soulless"] if event.soulless else []
    traits += [f"owned by {names.player(event.owner)}"] if event.owner != event.controller else []
    return names.card(event.card) + (f" ({', '.join(traits)})" if traits else "")


def _match_started(names: Names, event: e.MatchStarted) -> str:
    usual = msgspec.structs.asdict(Ruleset())
    varied = [f"{k} {v}" for k, v in msgspec.structs.asdict(event.ruleset).items() if v != usual[k]]
    fork = f", a fork of {event.origin.match} after entry {event.origin.entry}" if event.origin else ""
    varied_text = f"; ruleset: {', '.join(varied)}" if varied else ""
    seats = _list(separable(names.player(seat.player)) for seat in event.players)
    return f"{event.match} begins{fork}: {seats}, {event.ruleset.starting_life} life each{varied_text}"


def _control_changed(names: Names, event: e.ControlChanged) -> str:
    return f"{names.card(event.card)} goes from {names.player(event.from_)} to {names.player(event.to)}"


def _destroyed(names: Names, event: e.CreatureDestroyed | e.CardDestroyed) -> str:
    return f"{names.card(event.card)} is destroyed{_because(event.cause)}"


def _soul_collected(names: Names, event: e.SoulCollected) -> str:
    parts = [f"{modifier.name} {modifier.delta:+}" for modifier in event.modifiers]
    return f"{soul(event.soul, event.rank)} rises from {names.card(event.creature)}{_because(', '.join(parts))}"


def purpose(event: e.CostPaid) -> str:
    """What a cost was paid for."""
    return event.effect or event.cost or "a Rift"


def _cost_paid(names: Names, event: e.CostPaid) -> str:
    source = f" of {event.source}" if event.source and event.source not in purpose(event) else ""
    souls = _list(
        f"{soul(spent.soul, spent.power - 1)} ({names.card(spent.card) if spent.card else 'Aether'})"
        for spent in event.souls
    )
    return f"pays Soulrift {event.amount} for {purpose(event)}{source} with {souls}"


def _soulburn_taken(names: Names, event: e.SoulburnTaken) -> str:
    why = WHY_BURNED[event.source]
    loss = f"-{event.damage} life, {names.player(event.player)} {event.life}"
    return f"{event.power} power burns ({why}, {event.rule}): {loss}"


def _rift_closed(_: Names, event: e.RiftClosed) -> str:
    if event.unused and not event.burned:
        return f"the rank {event.highest + event.unused} Rift closes, nothing burns (R-10)"
    unused = "fully used" if not event.unused else f"{event.unused} of its ranks unused"
    return f"the Rift closes, {unused}"


def _life_changed(names: Names, event: e.LifeChanged) -> str:
    return f"{names.player(event.player)} {event.delta:+} life{_because(event.reason)}: {event.life}"


def _player_defeated(names: Names, event: e.PlayerDefeated) -> str:
    if event.because == "concede":
        return "concedes (L-4)"  # as the one who acts
    how = {"life": "has no life left (L-3)", "ruling": "is out by a ruling (J-1)"}
    return f"{names.player(event.player)} {how[event.because]}"


def _match_ended(names: Names, event: e.MatchEnded) -> str:
    result = f"{names.player(event.winner)} wins" if event.winner else "a draw"
    return result + _because(event.reason)


def _ruling_made(names: Names, event: e.RulingMade) -> str:
    about = f" on entry {event.about}" if event.about else ""
    made = "; ".join(correction_told(names, correction) for correction in event.corrections)
    return f"judge {event.judge} rules{about}{_because(event.reason)}: {made}"


def _place(names: Names, to: str | c.OnCard) -> str:
    if isinstance(to, c.OnCard):
        return f"onto {names.card(to.card)}"
    return "to the Aether" if to == "aether" else "gone"


def correction_told(names: Names, correction: e.MadeCorrection) -> str:  # noqa: C901 - one line a kind
    """What a correction of a ruling changes."""
    match correction:
        case e.MadeCorrection(life=c.LifeChange(player=player, delta=delta)):
            return f"{names.player(player)} {delta:+} life"
        case e.MadeCorrection(soul=c.SoulMove(soul=number, to=to)):
            return f"Soul {number} {_place(names, to)}"
        case e.MadeCorrection(new_soul=e.NumberedSoul(soul=number, rank=rank, to=to)):
            return f"a new {soul(number, rank)} {_place(names, to)}"
        case e.MadeCorrection(rank=c.RankCorrection(soul=number, rank=rank)):
            return f"Soul {number} is of rank {rank}"
        case e.MadeCorrection(event=c.EventCorrection(event=event)):
            return f"the Event is used for {event}" if event else "the Event is unused"
        case e.MadeCorrection(payment=c.PaymentCorrection(payment=payment)):
            return f"payment {payment} is closed"
        case e.MadeCorrection(rift=c.RiftCorrection(highest=int(highest))):
            return f"rank {highest} is the highest that came through the Rift"
        case e.MadeCorrection(rift=c.RiftCorrection()):
            return "the Rift is closed"
        case e.MadeCorrection(defeated=c.DefeatCorrection(player=player, defeated=defeated)):
            return f"{names.player(player)} is {'' if defeated else 'not '}defeated"
        case e.MadeCorrection(result=c.ResultCorrection(status="running")):
            return "the match goes on"
        case e.MadeCorrection(result=c.ResultCorrection(winner=winner)):
            return f"{names.player(winner)} has won" if winner else "the match is a draw"
    raise AssertionError(correction)


_TELLERS: dict[type[e.Event], Callable[[Names, Any], str]] = {
    e.MatchStarted: _match_started,
    e.TurnBegan: lambda _, event: f"turn {event.number}",
    e.EventTaken: lambda _, event: f"takes the Event for {event.event.replace('_', ' ')}",
    e.CardEntered: lambda names, event: f"{_card_as_it_came(names, event)} enters",
    e.CreatureSealed: lambda names, event: f"{names.card(event.card)} is Sealed",
    e.CreatureUnsealed: lambda names, event: f"{names.card(event.card)} is no longer Sealed",
    e.SoullessSet: lambda names, event: f"{names.card(event.card)} is {'' if event.soulless else 'not '}Soulless now",
    e.RankSet: lambda names, event: f"{names.card(event.card)} has {_rank(event.rank)} now{_because(event.cause)}",
    e.ControlChanged: _control_changed,
    e.CreatureDestroyed: _destroyed,
    e.CardDestroyed: _destroyed,
    e.CardLeft: lambda names, event: f"{names.card(event.card)} leaves ({event.to})",
    e.SoulCollected: _soul_collected,
    e.SoulReleased: lambda _, event: f"{soul(event.soul, event.rank)} is released{_because(event.cause)}",
    e.SoulReaped: lambda names, event: f"{soul(event.soul, event.rank)} is reaped onto {names.card(event.card)}",
    e.SoulReturned: lambda names, event: f"{soul(event.soul, event.rank)} returns from {names.card(event.card)}",
    e.SoulLost: lambda names, event: f"{soul(event.soul, event.rank)} is lost with {names.card(event.card)}",
    e.CostPaid: _cost_paid,
    e.SoulburnTaken: _soulburn_taken,
    e.EffectResolved: lambda _, event: f"{event.effect} resolves",
    e.EffectFizzled: lambda _, event: f"{event.effect} fizzles{_because(event.reason)}",
    e.RiftOpened: lambda _, event: f"a rank {event.rank} Rift opens",
    e.CreatureSummoned: lambda names, event: f"{_card_as_it_came(names, event)} comes through the Rift",
    e.RiftClosed: _rift_closed,
    e.LifeChanged: _life_changed,
    e.PlayerDefeated: _player_defeated,
    e.MatchEnded: _match_ended,
    e.RulingMade: _ruling_made,
}
