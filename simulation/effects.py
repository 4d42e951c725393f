"""What cards do: each effect as the commands that a game server would give for it."""

from collections.abc import Callable

from domain.rules import State
from domain.rules import commands as c
from domain.rules.cards import MAX_RANK
from domain.rules.state import Card as OnTable
from simulation.decks import TARGETED, Effect


class Doing:
    """An effect as it happens: on which table, by which player, from which card, to which one if it chooses."""

    def __init__(self, state: State, player: str, source: str | None, name: str, target: str | None) -> None:
        self.state = state
        self.player = player
        self.source = source
        self.name = name
        self.target = target

    @property
    def opponents(self) -> list[str]:
        """Those who still play against the player."""
        return [name for name, seat in self.state.players.items() if name != self.player and not seat.defeated]


def fits(card: OnTable, effect: Effect, player: str) -> bool:
    """Whether this effect of a player can be done to a card."""
    if (card.kind == "creature") is not (effect.on == "creature"):
        return False
    if effect.whose != "all" and (card.controller == player) is not (effect.whose == "own"):
        return False
    condition = _CONDITIONS.get(effect.does)
    return condition(card) if condition else True


_CONDITIONS: dict[str, Callable[[OnTable], bool]] = {
    "seal": lambda card: not card.sealed,
    "unseal": lambda card: card.sealed,
    "hollow": lambda card: not card.soulless,
    "wake": lambda card: card.soulless,
    "raise": lambda card: (card.rank or 0) < MAX_RANK,
}


def commands(effect: Effect, doing: Doing) -> list[c.AnyCommand] | None:
    """The commands of an effect, in order; null if there is nothing for it to be done to, so that it fizzles."""
    if effect.does in TARGETED:
        card = doing.state.battlefield.get(doing.target or "")
        if card is None or not fits(card, effect, doing.player):
            return None
    if effect.does == "again":  # the table gives another turn: no card or Soul has to do with it
        return []
    return _DOES[effect.does](effect, doing) or None


def _destroy(effect: Effect, doing: Doing) -> list[c.AnyCommand]:
    return [_destroyed([str(doing.target)], effect, doing)]


def _sweep(effect: Effect, doing: Doing) -> list[c.AnyCommand]:
    creatures = [name for name, card in doing.state.battlefield.items() if card.kind == "creature"]
    return [_destroyed(creatures, effect, doing)] if creatures else []


def _destroyed(cards: list[str], effect: Effect, doing: Doing) -> c.Destroy:
    modifiers = None
    if effect.modifier and effect.on == "creature":
        modifiers = tuple([c.NamedModifier(card=card, delta=effect.modifier, name=doing.name) for card in cards])
    return c.Destroy(cards=tuple(cards), modifiers=modifiers, cause=doing.name, by=doing.player)


def _release(effect: Effect, doing: Doing) -> list[c.AnyCommand]:
    if effect.rank is None:
        return [c.Release(cause=doing.name, by=doing.player)]
    return [c.Release(rank=effect.rank, cause=doing.name, by=doing.player)]


def _reap(effect: Effect, doing: Doing) -> list[c.AnyCommand]:
    """The strongest Souls of the Aether, the oldest of equals, onto the card that does it."""
    aether = doing.state.aether
    strongest = sorted(aether, key=lambda number: (-aether[number].rank, number))[: effect.amount]
    if not strongest or doing.source not in doing.state.battlefield:
        return []
    return [c.Reap(souls=tuple(strongest), card=str(doing.source), cause=doing.name, by=doing.player)]


def _life(own: int, theirs: int) -> Callable[[Effect, Doing], list[c.AnyCommand]]:
    """Life that the player gains and the opponents lose, so many times the amount."""

    def change(effect: Effect, doing: Doing) -> list[c.AnyCommand]:
        deltas = {doing.player: own * effect.amount, **dict.fromkeys(doing.opponents, theirs * effect.amount)}
        changes = tuple([c.LifeChange(player=name, delta=delta) for name, delta in deltas.items() if delta])
        return [c.ChangeLife(changes=changes, reason=doing.name)] if changes else []

    return change


def _scorch(effect: Effect, doing: Doing) -> list[c.AnyCommand]:
    """Everybody who still plays loses the same, at once."""
    losses = [c.LifeChange(player=name, delta=-effect.amount) for name in (doing.player, *doing.opponents)]
    return [c.ChangeLife(changes=tuple(losses), reason=doing.name)]


def _raise(_: Effect, doing: Doing) -> list[c.AnyCommand]:
    rank = doing.state.battlefield[str(doing.target)].rank or 0
    return [c.SetRank(card=str(doing.target), rank=rank + 1, cause=doing.name)]


def _on_target(make: Callable[[str, Doing], c.AnyCommand]) -> Callable[[Effect, Doing], list[c.AnyCommand]]:
    return lambda _, doing: [make(str(doing.target), doing)]


_DOES: dict[str, Callable[[Effect, Doing], list[c.AnyCommand]]] = {
    "banish": _on_target(lambda card, doing: c.Leave(card=card, to="exile", by=doing.player)),
    "bleed": _life(-1, 0),
    "bounce": _on_target(lambda card, doing: c.Leave(card=card, to="hand", by=doing.player)),
    "destroy": _destroy,
    "drain": _life(1, -1),
    "heal": _life(1, 0),
    "hollow": _on_target(lambda card, _: c.SetSoulless(card=card, soulless=True)),
    "raise": _raise,
    "reap": _reap,
    "release": _release,
    "scorch": _scorch,
    "seal": _on_target(lambda card, _: c.Seal(card=card)),
    "steal": _on_target(lambda card, doing: c.ChangeControl(card=card, to=doing.player)),
    "strike": _life(0, -1),
    "sweep": _sweep,
    "unseal": _on_target(lambda card, _: c.Unseal(card=card)),
    "wake": _on_target(lambda card, _: c.SetSoulless(card=card, soulless=False)),
}


def targets(effect: Effect, state: State, player: str) -> list[str]:
    """The cards to which this effect of a player could be done, in the order in which they came."""
    kind = "creature" if effect.on == "creature" else "other"
    everybody, own = effect.whose == "all", effect.whose == "own"
    condition = _CONDITIONS.get(effect.does)
    return [
        name
        for name, card in state.battlefield.items()
        if card.kind == kind
        and (everybody or (card.controller == player) is own)
        and (condition is None or condition(card))
    ]
