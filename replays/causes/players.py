"""Why turns began, life changed, players fell and the match ended: L-1 to L-7."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import UNSET

from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.lookups import listed
from replays.causes.words import USUAL, Tellers, Told, added, in_brackets, in_order, recorded
from replays.provenance import TURN, Mended, Provenance


def _match_started(record: Provenance, event: e.MatchStarted) -> Told:
    fork = f", a fork of {event.origin.match} after entry {event.origin.entry}" if event.origin else ""
    usual, here = msgspec.structs.asdict(USUAL), msgspec.structs.asdict(event.ruleset)
    otherwise = [f"{field} {here[field]} (usually {usual[field]})" for field in usual if here[field] != usual[field]]
    ruleset = f", played with {listed(otherwise)}" if otherwise else ""
    players = listed([record.player(seat.player) for seat in event.players])
    what = f"{event.match} begins{fork}: {players}, with {event.ruleset.starting_life} life each{ruleset}"
    return Told(what, ("L-1",))


def _turn_began(record: Provenance, event: e.TurnBegan) -> Told:
    return Told(f"turn {event.number} begins, {record.player(event.player)}'s, with an unused Event", ("L-6", "R-1"))


def _event_taken(record: Provenance, event: e.EventTaken) -> Told:
    turn = record.before(TURN, event.n)
    what = f"{record.player(event.player)} takes the Event of turn {turn.value} for {event.event.replace('_', ' ')}"
    return Told(what, ("R-1",), (turn.n,))


def _life_changed(record: Provenance, event: e.LifeChanged) -> Told:
    before = record.before(("life", event.player), event.n).value
    figures = added(before, (event.delta, "")) + recorded(before + event.delta, event.life)
    return Told(f"the life of {record.player(event.player)} changes{in_brackets(event.reason)}: {figures}", ("L-2",))


def _player_defeated(record: Provenance, event: e.PlayerDefeated) -> Told:
    who, first = record.player(event.player), record.of_entry(event.entry)[0]
    ruled = (first.n,) if isinstance(first, e.RulingMade) else ()
    if event.because == "concede":
        return Told(f"{who} concedes, and is defeated", ("L-4",))
    if event.because == "ruling":
        return Told(f"{who} is defeated by a judge's ruling", ("J-1", "J-3"), ruled)
    life = record.before(("life", event.player), event.n).value
    no_rift = _fell_paying_for_a_rift(record, event)
    what = f"{who} is defeated: {life} life is not above 0{', so no Rift opens' if no_rift else ''}"
    rules = ("L-3", *["R-9"] * no_rift, *["J-3"] * bool(ruled))
    return Told(what, rules, in_order(*_fatal(record, event.player, event.n), *ruled))


def _fell_paying_for_a_rift(record: Provenance, event: e.PlayerDefeated) -> bool:
    return any(
        isinstance(other, e.CostPaid) and other.player == event.player and other.effect is other.cost is None
        for other in record.of_entry(event.entry)
    )


def _fatal(record: Provenance, player: str, n: int) -> Iterator[int]:
    """The change of life before event `n` that took the last of it."""
    after = None
    for each in reversed(record.settings(("life", player))):
        if each.n < n:
            if each.value > 0:
                break
            after = each.n
    if after is not None:
        yield after


def _match_ended(record: Provenance, event: e.MatchEnded) -> Told:
    result = f"{record.player(event.winner)} has won" if event.winner is not None else "it is a draw"
    first = record.of_entry(event.entry)[0]
    if isinstance(first, e.RulingMade) and _ends(record.mended[first.n]):
        return Told(f"the match is over by a judge's ruling, and {result}", ("J-1", "J-3"), (first.n,))
    if record.command(event.entry)["type"] == c.tag_of(c.EndMatch.__name__):
        return Told(f"the game declares the match over{in_brackets(event.reason)}, and {result}", ("L-7",))
    defeats = [(player, record.before(("defeated", player), event.n)) for player in record.state.players]
    fallen = [(player, each.n) for player, each in defeats if each.value]
    names = listed([record.player(player) for player, _ in fallen])
    left = "the last one standing" if event.winner is not None else "nobody is left"
    return Told(
        f"the match is over, and {result}: {left}, with {names} defeated", ("L-4",), in_order(*(n for _, n in fallen))
    )


def _ends(mended: Iterable[Mended]) -> bool:
    """Whether a ruling says itself that the match is over."""
    status = [each.correction.result.status for each in mended if each.correction.result is not UNSET]
    return status[-1:] == ["ended"]


TELLERS: Tellers = {
    e.MatchStarted: _match_started,
    e.TurnBegan: _turn_began,
    e.EventTaken: _event_taken,
    e.LifeChanged: _life_changed,
    e.PlayerDefeated: _player_defeated,
    e.MatchEnded: _match_ended,
}
