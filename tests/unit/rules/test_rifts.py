import pytest

from tests.kit import Table, of
from tests.unit.rules.moves import (
    close_rift,
    concede,
    destroy,
    enter,
    leave,
    lives,
    open_rift,
    pay,
    reap,
    releases,
    ruling,
    soul,
    summon,
    turn,
)

OPEN = (turn(), *releases(2), open_rift("a", 3, 1))


def test_R1_one_event_in_each_own_turn() -> None:
    """A player takes an Event in an own turn, and no second one, a Rift neither."""
    table = Table(turn(), *releases(0)).when(of("take_event", player="a", event="omen"))
    table.then(of("event_taken", player="a", event="omen")).holds(turn={"number": 1, "player": "a", "event": "omen"})
    table.when(of("take_event", player="a", event="feast")).refused("R-1", event="omen")
    table.when(open_rift("a", 1, 1)).refused("R-1", event="omen")


def test_R1_no_event_in_anothers_turn_or_before_the_first() -> None:
    """Only the player whose turn it is has an Event."""
    table = Table().when(of("take_event", player="a", event="omen")).refused("R-1")
    table.given(turn("b")).when(of("take_event", player="a", event="omen")).refused("R-1")


def test_R1_rift_summoning_uses_up_the_event() -> None:
    """After a Rift no other Event is taken, not even after its end."""
    table = Table(*OPEN).holds(turn={"event": "rift_summoning"})
    table.when(of("take_event", player="a", event="omen")).refused("R-1", event="rift_summoning")
    table.given(close_rift("a"), *releases(0))
    table.when(open_rift("a", 1, 2)).refused("R-1", event="rift_summoning")


def test_R1_rift_summoning_is_taken_by_opening_a_rift() -> None:
    """`take_event` takes any Event but Rift Summoning, which is paid for."""
    Table(turn()).when(of("take_event", player="a", event="rift_summoning")).refused("input", "/event")


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_R2_rift_of_rank_x_costs_soulrift_x(rank: int) -> None:
    """Opening a Rift takes the Event, consumes the Souls, and the Rift is open at its rank."""
    table = Table(turn(), *releases(rank - 1)).when(open_rift("a", rank, 1))
    table.then(
        of("event_taken", player="a", event="rift_summoning"),
        of("cost_paid", payment=1, player="a", amount=rank, power=rank, effect=None, cost=None),
        of("rift_opened", rift=1, player="a", rank=rank, payment=1),
    )
    table.holds(rift={"rift": 1, "player": "a", "rank": rank, "highest": 0}, aether=[], gone=1, payments={})


@pytest.mark.parametrize("rank", [-1, 0, 4])
def test_R2_rift_has_rank_1_to_3(rank: int) -> None:
    """There is no Rift of another rank."""
    Table(turn(), *releases(3)).when(open_rift("a", rank, 1)).refused("R-2", rank=rank, lowest=1, highest=3)


def test_R2_payment_rules_hold() -> None:
    """A Rift is paid like any cost, by P-1 to P-7."""
    table = Table(turn(), enter("x", "b"), *releases(0, 0, 1, 3), reap("x", 4))
    table.when(open_rift("a", 2, 1, 1)).refused("P-7", soul=1)
    table.when(open_rift("a", 2, 4)).refused("P-2", soul=4, card="x", controller="b")
    table.when(open_rift("a", 2, 1)).refused("P-1", amount=2, power=1, short=1, available=4)
    table.when(open_rift("a", 2, 1, 3)).refused("P-5", amount=2, power=3, excess=1, superfluous=[1])
    table.when(open_rift("a", 1, 9)).refused("input", "/souls/0", soul=9, souls=4)
    table.holds(turn={"event": None}, rift=None, gone=0)


def test_R2_rift_out_of_reach_is_refused() -> None:
    """A rank 3 Rift needs power 3."""
    Table(turn(), *releases(1)).when(open_rift("a", 3, 1)).refused("P-6", amount=3, available=2)


def test_R3_any_number_of_creatures_of_rank_1_to_x() -> None:
    """Creatures of every rank up to the Rift's come through, with all that the command tells of them."""
    table = Table(*OPEN).when(summon("a", "x", 1))
    table.then(
        of(
            "creature_summoned",
            rift=1,
            card="x",
            controller="a",
            owner="a",
            deck="extra",
            kind="creature",
            rank=1,
            name=None,
            definition=None,
            sealed=False,
            soulless=False,
            entered=5,
            souls=[],
        )
    )
    table.given(summon("a", "y", 3)).holds(rift={"highest": 3}).given(summon("a", "z", 2)).holds(rift={"highest": 3})
    table.when(summon("a", "w", 1, deck="main", name="Wynn", definition="wynn", owner="b", soulless=True))
    table.then(of("creature_summoned", deck="main", name="Wynn", definition="wynn", owner="b", soulless=True))
    table.holds(battlefield={"w": {"owner": "b", "controller": "a", "soulless": True, "entered": 8}})


@pytest.mark.parametrize("rank", [-1, 0, 3, 4])
def test_R3_no_creature_of_another_rank(rank: int) -> None:
    """Through a rank 2 Rift come ranks 1 and 2 only."""
    table = Table(turn(), *releases(1), open_rift("a", 2, 1))
    table.when(summon("a", "x", rank)).refused("R-3", rank=rank, lowest=1, highest=2)


def test_R3_only_through_ones_own_open_rift() -> None:
    """Without a Rift, through another's, or after it closed nobody summons."""
    table = Table(turn()).when(summon("a", "x", 1)).refused("R-3")
    table = Table(*OPEN).when(summon("b", "x", 1)).refused("R-3", player="a")
    table.given(close_rift("a")).when(summon("a", "x", 1)).refused("R-3")


def test_R3_summoned_creature_needs_a_free_name() -> None:
    """A card of that name on the battlefield is in the way, an owner that does not play as well."""
    table = Table(*OPEN, enter("x", "b"))
    table.when(summon("a", "x", 1)).refused("input", "/card")
    table.when(summon("a", "y", 1, owner="nobody")).refused("input", "/owner")


def test_R4_player_closes_the_rift() -> None:
    """Only the player of the open Rift closes it, once."""
    table = Table(turn()).when(close_rift("a")).refused("R-4")
    table = Table(*OPEN).when(close_rift("b")).refused("R-4", player="a")
    table.when(close_rift("a")).then(of("rift_closed", rift=1), of("soulburn_taken")).holds(rift=None)
    table.when(close_rift("a")).refused("R-4")


@pytest.mark.parametrize("gone", [destroy("x"), leave("x"), of("set_rank", card="x", rank=1)])
def test_R5_creature_of_rank_x_counts_whatever_became_of_it(gone: dict[str, object]) -> None:
    """A rank 3 creature came through a rank 3 Rift: nothing burns, though it died, left or shrank since."""
    table = Table(*OPEN, summon("a", "x", 3), gone).when(close_rift("a"))
    table.then(of("rift_closed", highest=3, unused=0, burned=0)).holds(players={"a": {"life": 30}})


def test_R5_rank_grown_later_does_not_count() -> None:
    """A rank 1 creature that grew to rank 3 came through as rank 1: 2 burn. Nor does one that entered otherwise."""
    grown = of("set_rank", card="x", rank=3)
    table = Table(*OPEN, summon("a", "x", 1), grown, enter("y", rank=3, deck="extra")).when(close_rift("a"))
    table.then(of("rift_closed", highest=1, unused=2, burned=2), of("soulburn_taken", power=2, damage=6))


def test_R6_summoning_nothing_is_allowed() -> None:
    """It burns all of the Rift's rank, and the Event is used up."""
    table = Table(turn(), *releases(1, 0), open_rift("a", 2, 1)).when(close_rift("a"))
    table.then(of("rift_closed", highest=0, unused=2, burned=2), of("soulburn_taken", power=2, damage=6, life=24))
    table.when(of("take_event", player="a", event="omen")).refused("R-1", event="rift_summoning")


def test_R7_only_in_an_own_turn() -> None:
    """Nobody opens a Rift in another's turn, or before the first."""
    table = Table(*releases(0)).when(open_rift("a", 1, 1)).refused("R-7")
    table.given(turn("b")).when(open_rift("a", 1, 1)).refused("R-7")
    table.given(turn("a")).when(open_rift("a", 1, 1)).then(of("event_taken"), of("cost_paid"), of("rift_opened"))


def test_R8_one_rift_at_a_time() -> None:
    """While a Rift is open no second one is, of nobody."""
    table = Table(*OPEN, *releases(0))
    table.when(open_rift("a", 1, 2)).refused("R-8", rift=1, player="a")
    table.when(open_rift("b", 1, 2)).refused("R-8", rift=1, player="a")


def test_R8_no_turn_begins_while_a_rift_is_open() -> None:
    """Neither another's turn nor an extra one; after the Rift closed, any."""
    table = Table(*OPEN)
    table.when(turn("b")).refused("R-8", rift=1, player="a")
    table.when(turn("a")).refused("R-8", rift=1, player="a")
    table.given(close_rift("a")).when(turn("b")).then(of("turn_began", number=2, player="b"))


def test_R8_souls_collected_meanwhile_do_not_add_to_it() -> None:
    """A creature that dies while the Rift is open gives its Soul to the Aether; the Rift's rank stays."""
    table = Table(turn(), *releases(0), open_rift("a", 1, 1), summon("a", "x", 1), destroy("x"))
    table.holds(aether=[soul(2, 1)], rift={"rank": 1})
    table.when(summon("a", "y", 2)).refused("R-3", rank=2, lowest=1, highest=1)


def test_R9_no_rift_opens_for_a_player_whom_its_payment_defeats() -> None:
    """Power 4 for a rank 1 Rift burns 9 of 9 life: the Event is taken, the Soul is gone, and there is no Rift."""
    table = Table(turn(), *releases(3), lives(a=-21), players="abc").when(open_rift("a", 1, 1))
    table.then(
        of("event_taken", player="a"),
        of("cost_paid", payment=1),
        of("soulburn_taken", power=3, damage=9, life=0, payment=1, rule="B-2"),
        of("player_defeated", player="a", because="life"),
    )
    table.holds(rift=None, gone=1, turn={"event": "rift_summoning"}, numbered={"rifts": 0, "payments": 1})


def test_R9_may_end_the_match() -> None:
    """With two players the other one wins by it, and no Rift closes, as none opened."""
    table = Table(turn(), *releases(3), lives(a=-22)).when(open_rift("a", 1, 1))
    table.then(
        of("event_taken"),
        of("cost_paid"),
        of("soulburn_taken", life=-1),
        of("player_defeated", player="a"),
        of("match_ended", winner="b", reason="L-4"),
    )


def test_R10_rift_of_a_defeated_player_closes_unburned() -> None:
    """The Rift's player is defeated in the middle: the Rift closes after that defeat and before the next one."""
    table = Table(*OPEN, summon("a", "x", 1), players="abcd").when(lives(b=-30, a=-31))
    table.then(
        of("life_changed", player="b", life=0),
        of("life_changed", player="a", life=-1),
        of("player_defeated", player="a", because="life"),
        of("rift_closed", rift=1, highest=1, unused=2, burned=0),
        of("player_defeated", player="b", because="life"),
    )
    table.holds(rift=None, status="running", players={"a": {"life": -1}})


def test_R10_end_of_the_match_closes_the_rift_unburned() -> None:
    """The winner's own Rift closes before the match ends, and nothing burns."""
    table = Table(*OPEN).when(concede("b"))
    table.then(
        of("player_defeated", player="b", because="concede"),
        of("rift_closed", rift=1, highest=0, unused=3, burned=0),
        of("match_ended", winner="a", reason="L-4"),
    )
    table.holds(players={"a": {"life": 30}}, rift=None)


def test_R10_holds_for_the_games_word_and_for_rulings() -> None:
    """However the match ends, the open Rift closes first, and nothing burns."""
    closed = of("rift_closed", rift=1, unused=3, burned=0)
    Table(*OPEN).when(of("end_match", reason="time")).then(closed, of("match_ended", winner=None, reason="time"))
    ended = ruling({"result": {"status": "ended", "winner": "b"}})
    Table(*OPEN).when(ended).then(of("ruling_made"), closed, of("match_ended", winner="b", reason="missed trigger"))


def test_R10_paying_oneself_to_death_closes_the_own_rift() -> None:
    """The player of an open Rift who burns out by a payment loses the Rift with the life, unburned."""
    table = Table(*OPEN, *releases(3), lives(a=-25), players="abc").when(pay("a", 2, 2))
    table.then(
        of("cost_paid"),
        of("soulburn_taken", power=2, damage=6, life=-1),
        of("player_defeated", player="a"),
        of("rift_closed", burned=0),
    )
