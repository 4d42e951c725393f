"""A turn and a match at the table, in situations made by hand: drawing, delays, extra turns, Rifts, the end."""

import pytest

from domain.rules import commands as c
from simulation.decks import Effect
from simulation.table import MOST_ACTIONS
from tests.simulated import Held, Situation, creature, spell

BARE = Held()


# ------------------------------------------------------------ drawing


def test_who_begins_is_drawn() -> None:
    """Of three seats the draw of the table's chance says whose turn is first; the others follow in their order."""
    at = Situation(BARE, BARE, BARE, draws=[1]).start()
    players = [at.seat.player, *(at.act("end").seat.player for _ in range(3))]
    assert players == ["p2", "p3", "p1", "p2"]
    assert at.chance.left == []


def test_a_card_is_drawn_each_turn_and_none_above_eight() -> None:
    """Four cards at first, one more each turn; from eight on what is drawn is lost."""
    at = Situation(Held(draws=[f"beast{number}" for number in range(1, 7)]), BARE).start()
    sizes = [len(at.seat.hand)]
    for _ in range(6):
        at.ends(2)
        sizes.append(len(at.seats[0].hand))
    assert sizes == [5, 6, 7, 8, 8, 8, 8]
    assert at.seats[0].hand[4:] == ["beast1", "beast2", "beast3", "beast4"]
    assert at.life("p1") == 29  # six cards, seven draws


def test_empty_library_takes_more_life_each_time() -> None:
    """Who has no card left to draw loses 1 life, then 2, then 3."""
    at = Situation(Held(draws=[]), BARE).start()
    lives = [at.life("p1"), *(at.ends(2).life("p1") for _ in range(2))]
    assert lives == [29, 27, 24]
    losses = [command for command in at.commands if command["type"] == "change_life"]
    assert losses[1] == {
        "type": "change_life",
        "changes": [{"delta": -2, "player": "p1"}],
        "reason": "no card is left to draw",
    }


def test_who_falls_by_drawing_does_nothing_more() -> None:
    """Who loses the last life to an empty library has no decision any more, and the match is over."""
    at = Situation(BARE, Held(draws=[]), starting_life=1).start()
    at.act("end")
    assert at.actions == []
    assert (at.state.status, at.state.winner) == ("ended", "p1")


# ------------------------------------------------------------ delays, extra turns, Rifts


def test_delayed_effect_happens_at_the_next_turn_before_the_draw() -> None:
    """Paid now, it waits: at its player's next turn it resolves and is done, before anything else."""
    cards = {"curse": spell(Effect(does="strike", amount=8), soulrift=1, delayed=True, name="Curse")}
    at = Situation(Held("curse", draws=["beast1"]), BARE, cards=cards).souls(0).start()
    mark = len(at.commands)
    at.act("play", card="curse")
    assert at.types(mark) == ["pay"]
    assert list(at.state.payments) == [1]
    at.act("end")
    assert at.life("p2") == 30
    mark = len(at.commands)
    at.act("end")
    assert at.types(mark) == ["begin_turn", "resolve", "change_life", "change_life"]  # the last: no card to draw
    assert (at.life("p2"), at.state.payments) == (22, {})


def test_delayed_effect_whose_target_is_gone_fizzles_and_burns() -> None:
    """What it was aimed at has left: the effect fizzles, and burns its whole cost of 2."""
    cards = {"doom": spell(Effect(does="destroy"), soulrift=2, delayed=True, name="Doom")}
    at = Situation(Held("doom"), Held("beast1"), cards=cards, draws=[1]).souls(1).start()
    at.act("play", card="beast1").act("end").act("play", card="doom", target="beast1-1").act("end")
    at.given(c.Leave(card="beast1-1", to="exile"))
    mark = len(at.commands)
    at.act("end")
    assert at.types(mark) == ["begin_turn", "fizzle"]
    assert at.since(mark)[1]["payment"] == 1
    assert at.life("p1") == 30 - 2 * 3


def test_delayed_effect_of_one_who_is_defeated_fizzles() -> None:
    """When the turn of one who fell meanwhile would come, the effect fizzles; it does not stay open for ever."""
    cards = {"curse": spell(Effect(does="strike", amount=8), soulrift=1, delayed=True, name="Curse")}
    at = Situation(Held("curse"), BARE, BARE, cards=cards).souls(0).start()
    at.act("play", card="curse").act("end")
    at.given(c.Concede(player="p1"))
    at.ends(2)
    assert at.life("p2") == at.life("p3") == 30
    assert at.state.payments == {}


def test_second_delayed_effect_of_one_who_falls_by_the_first_fizzles() -> None:
    """Two delayed effects: the first one's fizzling is the end of its player, the second fizzles too, and burns not."""
    cards = {"curse": spell(Effect(does="strike", amount=8), soulrift=1, delayed=True, fickle=50, name="Curse")}
    at = Situation(Held("curse", "curse"), BARE, BARE, cards=cards, draws=[0, 0], starting_life=3).souls(0, 0)
    at.start().act("play", card="curse").act("play", card="curse").act("end").act("end")
    mark = len(at.commands)
    at.act("end")
    assert at.types(mark) == ["begin_turn", "fizzle", "fizzle", "begin_turn"]
    assert at.since(mark)[2]["reason"] == "p1 is defeated"
    assert at.life("p1") == 0
    assert at.seat.player == "p2"


def test_extra_turn_is_the_same_players_and_only_one() -> None:
    """After an extra turn the order goes on as if it had not been."""
    cards = {"hour": spell(Effect(does="again"), name="Hour")}
    at = Situation(Held("hour"), BARE, cards=cards).start()
    at.act("play", card="hour")
    players = [at.act("end").seat.player for _ in range(3)]
    assert players == ["p1", "p2", "p1"]
    assert at.state.turn
    assert at.state.turn.number == 4


def test_open_rift_offers_what_fits_and_closing_alone() -> None:
    """Through a Rift of rank 2 go ranks 1 and 2; nothing else is done before it closes."""
    at = Situation(Held("beast1", extra=["rift1", "rift3", "rift2", "rift2"]), BARE).souls(1).start()
    at.act("open", rank=2)
    assert [(action.kind, action.card) for action in at.actions] == [
        ("summon", "rift1"),
        ("summon", "rift2"),
        ("close", None),
    ]
    at.act("summon", card="rift2").act("summon", card="rift2")
    assert [(action.kind, action.card) for action in at.actions] == [("summon", "rift1"), ("close", None)]
    at.act("close")
    assert at.seats[0].extra == ["rift1", "rift3"]
    assert at.life("p1") == 30


def test_rift_left_open_is_closed_at_the_end_of_the_turn() -> None:
    """Who has no action left with a Rift open: it is closed, by its player, and burns as always."""
    rifts = [f"rift1-{number}" for number in range(MOST_ACTIONS)]
    cards = {name: creature(1, rank=1) for name in rifts}
    at = Situation(Held(extra=rifts), BARE, cards=cards).souls(2).start()
    at.act("open", rank=3)
    for name in rifts[: MOST_ACTIONS - 2]:
        at.act("summon", card=name)
    mark = len(at.commands)
    at.act("summon", card=rifts[MOST_ACTIONS - 2])
    assert at.types(mark) == ["summon", "close_rift", "begin_turn"]
    assert at.life("p1") == 30 - 2 * 3  # rank 3 less the 1 that came


def test_effect_of_a_summoned_creature_takes_the_first_that_fits() -> None:
    """A creature that destroys as it comes takes the first creature of the others; without any it fizzles."""
    cards = {"devourer": creature(5, rank=1, effects=(Effect(does="destroy", modifier=-1),))}
    held = Held(extra=["devourer", "devourer"])
    at = Situation(held, Held("beast1"), cards=cards, draws=[1]).souls(0).start()
    at.act("play", card="beast1").act("end").act("open", rank=1)
    mark = len(at.commands)
    at.act("summon", card="devourer").act("summon", card="devourer")
    assert at.types(mark) == ["summon", "destroy", "summon", "fizzle"]
    assert at.since(mark)[1]["cards"] == ["beast1-1"]
    assert at.since(mark)[1]["modifiers"] == [{"card": "beast1-1", "delta": -1, "name": "Beast 5"}]


def test_who_falls_while_the_own_rift_is_open_ends_the_turn() -> None:
    """A creature that takes its player's last life: the Rift closes by itself, and the next player's turn begins."""
    cards = {"wound": creature(9, rank=1, effects=(Effect(does="bleed", amount=30),))}
    at = Situation(Held(extra=["wound"]), BARE, BARE, cards=cards).souls(0).start()
    mark = len(at.commands)
    at.act("open", rank=1).act("summon", card="wound")
    assert at.types(mark) == ["open_rift", "summon", "change_life", "begin_turn"]
    assert at.state.rift is None
    assert at.seat.player == "p2"


# ------------------------------------------------------------ the end


def test_conceding_is_offered_in_despair() -> None:
    """With 6 life or less a player may concede, with 7 not."""
    assert Situation(BARE, BARE, starting_life=6).start().offered("concede")
    assert not Situation(BARE, BARE, starting_life=7).start().offered("concede")
    at = Situation(BARE, BARE, starting_life=6).start().act("concede")
    assert (at.state.status, at.state.winner) == ("ended", "p2")


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_match_without_a_winner_ends_after_forty_turns(seats: int) -> None:
    """After 40 turns the match is declared over, a draw, which the reason says."""
    at = Situation(*(BARE for _ in range(seats))).start().ends(40)
    assert at.actions == []
    assert at.commands[-1] == {"type": "end_match", "reason": "nobody has won after 40 turns"}
    assert (at.state.status, at.state.winner) == ("ended", None)
    assert at.state.turn
    assert at.state.turn.number == 40


def test_turns_of_the_defeated_are_not_counted() -> None:
    """Who has fallen has no turns: the other three still play 40 before it is a draw."""
    at = Situation(BARE, BARE, BARE, BARE).start()
    at.given(c.Concede(player="p3")).ends(40)
    assert at.actions == []
    assert at.state.turn
    assert at.state.turn.number == 40


def test_four_seats_go_on_until_one_is_left() -> None:
    """Defeats of a match of four: the order of turns goes on among those who are left, and the last one has won."""
    at = Situation(BARE, BARE, BARE, BARE, starting_life=6).start()
    at.act("concede")
    assert at.seat.player == "p2"
    at.act("end").act("concede")
    assert at.seat.player == "p4"
    assert at.act("end").seat.player == "p2"
    at.act("concede")
    assert (at.state.status, at.state.winner) == ("ended", "p4")
