from json import dumps
from typing import Any

import pytest

from domain.rules import Options, Refusal, State, decide, decode_command, options
from tests.kit import Json, Table, of
from tests.unit.rules.moves import (
    close_rift,
    concede,
    enter,
    fizzle,
    lives,
    open_rift,
    pay,
    reap,
    releases,
    resolve,
    summon,
    turn,
)
from tests.unit.rules.walks import WALKS, walk

NOTHING = Options(take_event=False, rifts=(), summon=(), close_rift=False, concede=False, open_payments=())


def accepted(state: State, command: Json) -> bool:
    """Whether the rules take this command now."""
    try:
        return bool(decide(state, decode_command(dumps(command))))
    except Refusal:
        return False


@pytest.mark.parametrize("seed", WALKS)
def test_options_are_just_what_decide_accepts(seed: int) -> None:
    """After every entry of random matches each option listed is accepted, and none of its kinds that is not listed."""
    for state in walk(seed):
        for player, seated in state.players.items():
            listed = options(state, player)
            assert listed.take_event is accepted(state, of("take_event", player=player, event="feast"))
            assert listed.close_rift is accepted(state, close_rift(player))
            assert listed.concede is accepted(state, concede(player))
            summons = [rank for rank in range(-1, 5) if accepted(state, summon(player, "new", rank))]
            assert list(listed.summon) == summons
            open_payments = [
                number for number in range(state.numbered.payments + 2) if accepted(state, resolve(number))
            ]
            mine = [number for number in open_payments if state.payments[number].player == player]
            assert list(listed.open_payments) == mine
            assert all(accepted(state, fizzle(number)) for number in listed.open_payments)
            for rift in listed.rifts:
                assert rift.payments
                assert all(accepted(state, open_rift(player, rift.rank, *paid.souls)) for paid in rift.payments)
            if not listed.rifts and not seated.defeated and state.status == "running":
                assert not any(accepted(state, open_rift(player, 1, soul)) for soul in [*state.aether, *state.holders])


def test_options_in_an_own_turn() -> None:
    """With power 1 + 2 at hand, Rifts of rank 1 to 3 are open to the player, each with its payments, best first."""
    table = Table(turn(), enter("x"), *releases(0, 1), reap("x", 2))
    listed = options(table.state, "a")
    assert (listed.take_event, listed.concede, listed.close_rift, listed.summon) == (True, True, False, ())
    found = [(rift.rank, [paid.souls for paid in rift.payments], rift.more) for rift in listed.rifts]
    assert found == [(1, [(1,), (2,)], False), (2, [(2,)], False), (3, [(1, 2)], False)]
    assert options(table.state, "b") == Options(
        take_event=False, rifts=(), summon=(), close_rift=False, concede=True, open_payments=()
    )


def test_options_list_only_rifts_that_can_be_paid() -> None:
    """With power 2 together a rank 3 Rift is out of reach."""
    assert [rift.rank for rift in options(Table(turn(), *releases(0, 0)).state, "a").rifts] == [1, 2]


def test_options_keep_to_their_limit() -> None:
    """At most `limit` payments for each Rift, and a word that there are more."""
    (first, *_) = options(Table(turn(), *releases(0, 1, 2, 3)).state, "a", limit=2).rifts
    assert ([paid.souls for paid in first.payments], first.more) == ([(1,), (2,)], True)


@pytest.mark.parametrize(("ruleset", "ranks"), [({}, (1, 2)), ({"rift_min_rank": 0}, (0, 1, 2))], ids=str)
def test_options_with_an_open_rift(ruleset: dict[str, Any], ranks: tuple[int, ...]) -> None:
    """The Rift's player may summon its ranks and close it, but take no Event; the other one may do nothing of it."""
    table = Table(turn(), *releases(1, 0), open_rift("a", 2, 1), **ruleset)
    listed = options(table.state, "a")
    assert (listed.summon, listed.close_rift, listed.take_event, listed.rifts) == (ranks, True, False, ())
    other = options(table.state, "b")
    assert (other.summon, other.close_rift, other.take_event, other.rifts) == ((), False, False, ())


def test_options_of_a_defeated_player_are_open_payments() -> None:
    """E-1: their effects are still to resolve or fizzle; nothing else is left."""
    table = Table(turn(), *releases(0, 0), pay("a", 1, 1), pay("b", 1, 2), lives(a=-30), players="abc")
    assert options(table.state, "a") == Options(
        take_event=False, rifts=(), summon=(), close_rift=False, concede=False, open_payments=(1,)
    )


def test_options_after_the_end_are_none() -> None:
    """An ended match takes no command of a player."""
    table = Table(turn(), *releases(0, 0), pay("a", 1, 1), concede("b"))
    assert options(table.state, "a") == options(table.state, "b") == NOTHING


def test_options_of_a_stranger_are_refused() -> None:
    """Only players of the match have options."""
    with pytest.raises(Refusal) as refused:
        options(Table().state, "nobody")
    assert (refused.value.rule, refused.value.path) == ("input", "/player")
