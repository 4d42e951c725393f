"""The row of an event: what most of its fields say."""

from collections.abc import Callable, Mapping
from typing import Any

from domain.rules import events as e
from projections.analytics.taken import Row

_N = None

EVENT_ROWS: Mapping[type[e.Event], Callable[[Any], Row]] = {
    # player, card, soul, payment, rift, rank, power, delta, life, detail
    e.MatchStarted: lambda _: (_N, _N, _N, _N, _N, _N, _N, _N, _N, _N),
    e.TurnBegan: lambda x: (x.player, _N, _N, _N, _N, _N, _N, _N, _N, _N),
    e.EventTaken: lambda x: (x.player, _N, _N, _N, _N, _N, _N, _N, _N, x.event),
    e.CardEntered: lambda x: (x.controller, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.definition),
    e.CreatureSealed: lambda x: (_N, x.card, _N, _N, _N, _N, _N, _N, _N, _N),
    e.CreatureUnsealed: lambda x: (_N, x.card, _N, _N, _N, _N, _N, _N, _N, _N),
    e.SoullessSet: lambda x: (_N, x.card, _N, _N, _N, _N, _N, _N, _N, "soulless" if x.soulless else "not soulless"),
    e.RankSet: lambda x: (_N, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.ControlChanged: lambda x: (x.to, x.card, _N, _N, _N, _N, _N, _N, _N, x.from_),
    e.CreatureDestroyed: lambda x: (x.controller, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.CardDestroyed: lambda x: (x.controller, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.CardLeft: lambda x: (x.controller, x.card, _N, _N, _N, x.rank, _N, _N, _N, x.to),
    e.SoulCollected: lambda x: (_N, x.creature, x.soul, _N, _N, x.rank, _N, _N, _N, _N),
    e.SoulReleased: lambda x: (x.by, _N, x.soul, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.SoulReaped: lambda x: (x.by, x.card, x.soul, _N, _N, x.rank, _N, _N, _N, x.cause),
    e.SoulReturned: lambda x: (_N, x.card, x.soul, _N, _N, x.rank, _N, _N, _N, _N),
    e.SoulLost: lambda x: (_N, x.card, x.soul, _N, _N, x.rank, _N, _N, _N, _N),
    e.CostPaid: lambda x: (x.player, _N, _N, x.payment, _N, _N, x.power, _N, _N, x.effect or x.cost),
    e.SoulburnTaken: lambda x: (x.player, _N, _N, x.payment, x.rift, _N, x.power, -x.damage, x.life, x.rule),
    e.EffectResolved: lambda x: (x.player, _N, _N, x.payment, _N, _N, _N, _N, _N, x.effect),
    e.EffectFizzled: lambda x: (x.player, _N, _N, x.payment, _N, _N, _N, _N, _N, x.effect),
    e.RiftOpened: lambda x: (x.player, _N, _N, x.payment, x.rift, x.rank, _N, _N, _N, _N),
    e.CreatureSummoned: lambda x: (x.controller, x.card, _N, _N, x.rift, x.rank, _N, _N, _N, x.definition),
    e.RiftClosed: lambda x: (x.player, _N, _N, _N, x.rift, x.highest, x.burned, _N, _N, _N),
    e.LifeChanged: lambda x: (x.player, _N, _N, _N, _N, _N, _N, x.delta, x.life, x.reason),
    e.PlayerDefeated: lambda x: (x.player, _N, _N, _N, _N, _N, _N, _N, _N, x.because),
    e.MatchEnded: lambda x: (x.winner, _N, _N, _N, _N, _N, _N, _N, _N, x.reason),
    e.RulingMade: lambda x: (_N, _N, _N, _N, _N, _N, _N, _N, _N, x.reason),
}
"""For each event the part of its row behind its type."""

TAGS = {kind: str(kind.__struct_config__.tag) for kind in EVENT_ROWS}
"""What each event is called."""
