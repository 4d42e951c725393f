"""The fold: what each event changes in the state.

Lives here: one function an event, and the table of them. Must not know: whether it was allowed. `evolve` never judges
and never fails on a match's own history. Who changes the battlefield or the Aether puts their kept JSON away.
"""

from collections.abc import Callable, Iterable
from typing import Any

from domain.rules import events as e
from domain.rules.corrections import correct
from domain.rules.state import Card, Description, OpenPayment, Player, Rift, State, Turn


def evolve(state: State, event: e.AnyEvent) -> None:
    """Change `state` by what `event` says."""
    _CHANGES[type(event)](state, event)
    state.entries = event.entry
    state.events = event.n


def fold(events: Iterable[e.AnyEvent], state: State | None = None) -> State:
    """The state that these events add up to, from the beginning or onto `state`, which is changed in place."""
    if state is None:
        state = State()
    event = None
    for event in events:
        _CHANGES[type(event)](state, event)
    if event:
        state.entries = event.entry
        state.events = event.n
    return state


def _match_started(state: State, event: e.MatchStarted) -> None:
    state.status = "running"
    state.match = event.match
    state.rules = event.rules
    state.ruleset = event.ruleset
    state.private = event.private
    for seat in event.players:
        state.players[seat.player] = Player(defeated=False, life=event.ruleset.starting_life, player=seat.player)
        state.names[seat.player] = seat.name


def _turn_began(state: State, event: e.TurnBegan) -> None:
    state.turn = Turn(event=None, number=event.number, player=event.player)


def _event_taken(state: State, event: e.EventTaken) -> None:
    state.turn.event = event.event  # type: ignore[union-attr]  # R-1: only taken in a turn


def _card_entered(state: State, event: e.CardEntered | e.CreatureSummoned) -> None:
    card = event.card
    state.battlefield_json = None
    state.battlefield[card] = Card(
        card,
        event.controller,
        event.deck,
        event.entered,
        event.kind,
        event.owner,
        event.rank,
        event.sealed,
        event.soulless,
        [],
    )
    state.descriptions[card] = Description(event.definition, event.name)


def _creature_summoned(state: State, event: e.CreatureSummoned) -> None:
    _card_entered(state, event)
    rift: Any = state.rift
    rift.highest = max(rift.highest, event.rank)


def _creature_sealed(state: State, event: e.CreatureSealed) -> None:
    state.battlefield_json = None
    state.battlefield[event.card].sealed = True


def _creature_unsealed(state: State, event: e.CreatureUnsealed) -> None:
    state.battlefield_json = None
    state.battlefield[event.card].sealed = False


def _soulless_set(state: State, event: e.SoullessSet) -> None:
    state.battlefield_json = None
    state.battlefield[event.card].soulless = event.soulless


def _rank_set(state: State, event: e.RankSet) -> None:
    state.battlefield_json = None
    state.battlefield[event.card].rank = event.rank


def _control_changed(state: State, event: e.ControlChanged) -> None:
    state.battlefield_json = None
    state.battlefield[event.card].controller = event.to


def _card_gone(state: State, event: e.CreatureDestroyed | e.CardDestroyed | e.CardLeft) -> None:
    # Its Souls are on their way: the entry's soul_returned or soul_lost says where they end up.
    state.battlefield_json = None
    del state.battlefield[event.card]
    del state.descriptions[event.card]


def _soul_collected(state: State, event: e.SoulCollected | e.SoulReleased) -> None:
    soul = event.soul
    state.numbered.souls = soul
    state.aether_json = None
    state.aether[soul] = e.Soul(event.rank, soul)


def _soul_reaped(state: State, event: e.SoulReaped) -> None:
    state.aether_json = None
    state.lay(state.aether.pop(event.soul), event.card)


def _soul_returned(state: State, event: e.SoulReturned) -> None:
    del state.holders[event.soul]
    state.aether_json = None
    state.aether[event.soul] = e.Soul(event.rank, event.soul)


def _soul_lost(state: State, event: e.SoulLost) -> None:
    del state.holders[event.soul]
    state.gone += 1


def _cost_paid(state: State, event: e.CostPaid) -> None:
    for spent in event.souls:
        soul = spent.soul
        if spent.card is None:
            state.aether_json = None
            del state.aether[soul]
        else:
            state.battlefield_json = None
            del state.holders[soul]
            card = state.battlefield[spent.card]
            card.souls = [held for held in card.souls if held.soul != soul]
    state.gone += len(event.souls)
    state.numbered.payments = event.payment
    if event.effect is not None:
        state.payments[event.payment] = OpenPayment(
            event.amount, event.effect, event.payment, event.player, event.power
        )


def _soulburn_taken(state: State, event: e.SoulburnTaken) -> None:
    state.players[event.player].life = event.life


def _effect_resolved(state: State, event: e.EffectResolved) -> None:
    del state.payments[event.payment]


def _effect_fizzled(state: State, event: e.EffectFizzled) -> None:
    if event.payment is not None:
        del state.payments[event.payment]


def _rift_opened(state: State, event: e.RiftOpened) -> None:
    state.numbered.rifts = event.rift
    state.rift = Rift(0, event.player, event.rank, event.rift)


def _rift_closed(state: State, _event: e.RiftClosed) -> None:
    state.rift = None


def _life_changed(state: State, event: e.LifeChanged) -> None:
    state.players[event.player].life = event.life


def _player_defeated(state: State, event: e.PlayerDefeated) -> None:
    state.players[event.player].defeated = True


def _match_ended(state: State, event: e.MatchEnded) -> None:
    state.status = "ended"
    state.winner = event.winner


def _ruling_made(state: State, event: e.RulingMade) -> None:
    for correction in event.corrections:
        correct(state, correction)


_CHANGES: dict[type[e.Event], Callable[[State, Any], None]] = {
    e.MatchStarted: _match_started,
    e.TurnBegan: _turn_began,
    e.EventTaken: _event_taken,
    e.CardEntered: _card_entered,
    e.CreatureSealed: _creature_sealed,
    e.CreatureUnsealed: _creature_unsealed,
    e.SoullessSet: _soulless_set,
    e.RankSet: _rank_set,
    e.ControlChanged: _control_changed,
    e.CreatureDestroyed: _card_gone,
    e.CardDestroyed: _card_gone,
    e.CardLeft: _card_gone,
    e.SoulCollected: _soul_collected,
    e.SoulReleased: _soul_collected,
    e.SoulReaped: _soul_reaped,
    e.SoulReturned: _soul_returned,
    e.SoulLost: _soul_lost,
    e.CostPaid: _cost_paid,
    e.SoulburnTaken: _soulburn_taken,
    e.EffectResolved: _effect_resolved,
    e.EffectFizzled: _effect_fizzled,
    e.RiftOpened: _rift_opened,
    e.CreatureSummoned: _creature_summoned,
    e.RiftClosed: _rift_closed,
    e.LifeChanged: _life_changed,
    e.PlayerDefeated: _player_defeated,
    e.MatchEnded: _match_ended,
    e.RulingMade: _ruling_made,
}
