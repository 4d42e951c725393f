"""Options: what the rules leave open to a player now, for bots and user interfaces.

Everything listed is accepted by `decide`, and nothing of these kinds that is accepted is missing.
"""

from msgspec import Struct

from domain.rules.cards import MAX_RANK
from domain.rules.lookups import seat
from domain.rules.quotes import LIMIT, Payment, best_payments, open_piles, power_of
from domain.rules.state import State


class RiftOption(Struct, frozen=True, gc=False):
    """A Rift that the player may open now: its rank and its distinct payments, best first; `more` if not all are
    listed.
    """

    rank: int
    payments: tuple[Payment, ...]
    more: bool


class Options(Struct, frozen=True, gc=False):
    """What a player may do now, beside what the game's own effects make happen.

    `summon`: the ranks that may come through the player's open Rift; `open_payments`: the player's payments, whose
    effects are still to resolve or fizzle (a defeated player's too: E-1).
    """

    take_event: bool
    rifts: tuple[RiftOption, ...]
    summon: tuple[int, ...]
    close_rift: bool
    concede: bool
    open_payments: tuple[int, ...]


def options(state: State, player: str, limit: int = LIMIT) -> Options:
    """What the rules leave open to this player; at most `limit` payments for each Rift.

    Raises:
        Refusal: there is no such player (input).

    """
    seated = seat(state, player)
    if state.status == "ended":
        return _NOTHING
    waiting = tuple([payment.payment for payment in state.payments.values() if payment.player == player])
    if seated.defeated:
        return Options(False, (), (), False, False, waiting)
    turn, rift = state.turn, state.rift
    free = turn is not None and turn.player == player and turn.event is None
    mine = rift is not None and rift.player == player
    return Options(
        take_event=free,
        rifts=_rifts(state, player, limit) if free and rift is None else (),
        summon=tuple(range(state.ruleset.rift_min_rank, rift.rank + 1)) if rift is not None and mine else (),
        close_rift=mine,
        concede=True,
        open_payments=waiting,
    )


_NOTHING = Options(False, (), (), False, False, ())


def _rifts(state: State, player: str, limit: int) -> tuple[RiftOption, ...]:
    piles = open_piles(state, player)
    found = []
    for rank in range(1, min(MAX_RANK, power_of(piles)) + 1):
        payments, more = best_payments(piles, state.ruleset, rank, limit)
        found.append(RiftOption(rank, payments, more))
    return tuple(found)
