"""Combat and cards at the table, in situations made by hand."""

from domain.rules import commands as c
from simulation.decks import Effect
from tests.simulated import Held, Situation, creature, relic, spell

BARE = Held()


def combat(attackers: list[str], blockers: list[str]) -> Situation:
    """A turn of p1, whose creatures these attackers are; p2 has the blockers. All were there before the turn."""
    at = Situation(Held(*attackers), Held(*blockers)).start()
    for _ in range(4):  # two turns each, as two cards a turn are free
        while at.offered("play"):
            at.act("play")
        at.act("end")
    return at


# ------------------------------------------------------------ combat


def test_strongest_blocks_strongest_and_the_weaker_of_a_pair_falls() -> None:
    """Attackers 5 and 3 meet blockers 4 and 3: 5 beats 4, 3 and 3 fall together, and nobody loses life."""
    at = combat(["beast3", "beast5"], ["beast3", "beast4"])
    mark = len(at.commands)
    at.act("attack", target="p2")
    destroyed, *rest = at.since(mark)
    assert destroyed["type"] == "destroy"
    assert [name.split("-")[0] for name in destroyed["cards"]] == ["beast4", "beast3", "beast3"]
    assert destroyed["cause"] == "combat"
    assert destroyed["by"] == "p1"
    assert [command["type"] for command in rest] == ["begin_turn"]
    assert (at.life("p1"), at.life("p2")) == (30, 30)
    assert [name.split("-")[0] for name in at.on_table("p1")] == ["beast5"]
    assert at.on_table("p2") == []


def test_what_is_not_blocked_takes_life() -> None:
    """Attackers 5, 4 and 3 meet one blocker of 6: it meets the 5; the other two take 4 + 3 life."""
    at = combat(["beast3", "beast4", "beast5"], ["beast6"])
    mark = len(at.commands)
    at.act("attack", target="p2")
    destroyed, life, _ = at.since(mark)
    assert [name.split("-")[0] for name in destroyed["cards"]] == ["beast5"]
    assert life == {"type": "change_life", "changes": [{"delta": -7, "player": "p2"}], "reason": "combat"}
    assert at.life("p2") == 30 - 7


def test_attack_without_blockers_destroys_nothing() -> None:
    """One creature of attack 4 against nobody takes 4 life, and no destruction is reported."""
    at = combat(["beast4"], [])
    mark = len(at.commands)
    at.act("attack", target="p2")
    assert at.types(mark) == ["change_life", "begin_turn"]
    assert at.life("p2") == 26


def test_creatures_without_attack_block_but_do_not_attack() -> None:
    """A creature of attack 0 stops an attacker, and falls; with it alone there is no attack to make."""
    at = combat(["beast4"], ["beast0"])
    at.act("attack", target="p2")
    assert at.life("p2") == 30
    assert at.on_table("p2") == []
    alone = combat(["beast0"], [])
    assert not alone.offered("attack")


def test_fresh_creatures_do_not_attack_but_block() -> None:
    """A creature attacks from its player's next turn on; it blocks at once."""
    at = Situation(Held("beast4"), Held("beast5")).start()
    at.act("play", card="beast4")
    assert not at.offered("attack")
    at.act("end").act("play", card="beast5")
    assert not at.offered("attack")
    at.act("end")
    assert at.seat.player == "p1"
    at.act("attack", target="p2")
    assert at.on_table("p1") == []
    assert [name.split("-")[0] for name in at.on_table("p2")] == ["beast5"]


def test_attack_ends_the_turn_and_only_those_in_the_match_are_attacked() -> None:
    """With three players the attacker chooses; who has fallen is not offered, and the turn is over afterwards."""
    at = Situation(Held("beast4"), BARE, BARE).start()
    at.act("play", card="beast4").act("end").ends(2)
    assert [action.target for action in at.offered("attack")] == ["p2", "p3"]
    at.given(c.Concede(player="p2"))
    at.ends(2)
    assert at.seat.player == "p1"
    assert [action.target for action in at.offered("attack")] == ["p3"]
    at.act("attack", target="p3")
    assert at.seat.player == "p3"
    assert at.life("p3") == 26


# ------------------------------------------------------------ cards


def test_two_free_cards_a_turn() -> None:
    """Of cards that cost no Souls two are played a turn; those that cost some are still offered."""
    cards = {"cheap": spell(Effect(does="strike"), soulrift=1)}
    at = Situation(Held("beast1", "beast2", "beast3", "cheap"), BARE, cards=cards).souls(0).start()
    at.act("play", card="beast1")
    assert at.offered("play", card="beast3")
    at.act("play", card="beast2")
    assert [action.card for action in at.offered("play")] == ["cheap"]
    at.act("end").act("end")
    assert at.offered("play", card="beast3")


def test_event_is_used_once_a_turn() -> None:
    """A card that takes the Event leaves none for a Rift or another such card, and a Rift none for a card."""
    cards = {"rite": spell(Effect(does="heal"), event=True, name="Rite")}
    at = Situation(Held("rite", "rite"), Held("rite"), cards=cards).souls(0, 0).start()
    assert at.offered("open", rank=1)
    mark = len(at.commands)
    at.act("play", card="rite")
    assert at.since(mark)[0] == {"type": "take_event", "event": "Rite", "player": "p1"}
    assert not at.offered("open")
    assert not at.offered("play", card="rite")
    at.act("end").act("open", rank=1).act("close")
    assert not at.offered("play", card="rite")
    assert not at.offered("open")


def test_card_that_costs_is_paid_before_its_effect() -> None:
    """A spell: paid, resolved, done. A creature whose effect costs: it enters first, and is the payment's source."""
    cards = {
        "dart": spell(Effect(does="strike", amount=7), soulrift=1, name="Dart"),
        "keeper": creature(2, soulrift=1, effects=(Effect(does="reap"),)),
    }
    at = Situation(Held("dart", "keeper"), BARE, cards=cards).souls(0, 0, 2).start()
    mark = len(at.commands)
    at.act("play", card="dart").act("play", card="keeper")
    assert at.since(mark) == [
        {"type": "pay", "amount": 1, "effect": "Dart", "player": "p1", "souls": [1]},
        {"type": "resolve", "payment": 1},
        {"type": "change_life", "changes": [{"delta": -7, "player": "p2"}], "reason": "Dart"},
        {"type": "enter", "card": "keeper-1", "controller": "p1", "definition": "keeper", "name": "Beast 2"},
        {"type": "pay", "amount": 1, "effect": "Beast 2", "player": "p1", "source": "keeper-1", "souls": [2]},
        {"type": "resolve", "payment": 2},
        {"type": "reap", "by": "p1", "card": "keeper-1", "cause": "Beast 2", "souls": [3]},
    ]


def test_cost_of_a_card_is_settled_before_it_comes() -> None:
    """A card that `pays` a cost is paid first, and nothing of it can fizzle."""
    cards = {"brute": creature(6, soulrift=2, pays="cost")}
    at = Situation(Held("brute"), BARE, cards=cards).souls(1).start()
    mark = len(at.commands)
    at.act("play", card="brute")
    assert at.types(mark) == ["pay", "enter"]
    assert at.since(mark)[0]["cost"] == "Beast 6"
    assert at.state.payments == {}


def test_who_falls_by_paying_a_cost_gets_no_card() -> None:
    """Burning to death for a cost, the card does not enter."""
    cards = {"brute": creature(6, soulrift=2, pays="cost")}
    at = Situation(Held("brute"), BARE, cards=cards, starting_life=3).souls(2).start()
    mark = len(at.commands)
    at.act("play", card="brute")
    assert at.types(mark) == ["pay"]
    assert at.state.winner == "p2"


def test_effect_of_one_who_falls_by_paying_fizzles() -> None:
    """With three players the payment of one who burned to death fizzles at once, and the others play on."""
    cards = {"dart": spell(Effect(does="strike"), soulrift=1, name="Dart")}
    at = Situation(Held("dart"), BARE, BARE, cards=cards, starting_life=3).souls(1).start()
    mark = len(at.commands)
    at.act("play", card="dart")
    assert at.types(mark) == ["pay", "fizzle", "begin_turn"]
    assert at.state.payments == {}
    assert [at.life(player) for player in ("p1", "p2", "p3")] == [0, 3, 3]


def test_fickle_effect_goes_astray_by_chance() -> None:
    """Of a hundred draws those below `fickle` make it fizzle: 24 does at 25, 25 does not."""
    cards = {"lash": spell(Effect(does="strike", amount=7), soulrift=1, fickle=25, name="Lash")}
    astray = Situation(Held("lash"), BARE, cards=cards, draws=[0, 24]).souls(0).start()
    mark = len(astray.commands)
    astray.act("play", card="lash")
    assert astray.types(mark) == ["pay", "fizzle"]
    assert (astray.life("p1"), astray.life("p2")) == (27, 30)
    hit = Situation(Held("lash"), BARE, cards=cards, draws=[0, 25]).souls(0).start()
    hit.act("play", card="lash")
    assert (hit.life("p1"), hit.life("p2")) == (30, 23)


def test_effect_without_anything_to_do_fizzles() -> None:
    """To reap from an empty Aether comes to nothing: unpaid it burns nobody."""
    cards = {"jar": relic(Effect(does="reap"), name="Jar")}
    at = Situation(Held("jar"), BARE, cards=cards).start()
    mark = len(at.commands)
    at.act("play", card="jar")
    assert at.types(mark) == ["enter", "fizzle"]
    assert at.since(mark)[1] == {"type": "fizzle", "effect": "Jar", "reason": "there is nothing for it"}
    assert at.life("p1") == 30


def test_spell_that_chooses_needs_something_to_choose() -> None:
    """A spell with a target is offered for each card that fits, at most four, and not at all without any."""
    cards = {"strings": spell(Effect(does="steal"))}
    at = Situation(Held("strings"), Held("beast1", "beast2", "beast3", "beast4"), cards=cards).start()
    assert not at.offered("play", card="strings")
    at.act("end").act("play", card="beast1").act("play", card="beast2").act("end")
    assert [action.target for action in at.offered("play", card="strings")] == ["beast1-1", "beast2-2"]
    at.act("end").act("play", card="beast3").act("play", card="beast4").act("end")
    at.act("play", card="strings", target="beast2-2")
    assert at.on_table("p1") == ["beast2-2"]


def test_stolen_creature_attacks_at_once_with_its_strength() -> None:
    """What was there before the turn attacks for whoever controls it."""
    cards = {"strings": spell(Effect(does="steal"))}
    at = Situation(Held("strings"), Held("beast7"), cards=cards).start()
    at.act("end").act("play", card="beast7").act("end")
    assert not at.offered("attack")
    at.act("play", card="strings", target="beast7-1").act("attack", target="p2")
    assert at.life("p2") == 23


def test_bounced_card_goes_back_to_its_owner() -> None:
    """A stolen creature that is bounced is in its owner's hand again, and one of the extra deck back in that."""
    cards = {
        "strings": spell(Effect(does="steal")),
        "gale": spell(Effect(does="bounce", whose="all")),
    }
    at = Situation(Held("strings", "gale"), Held("beast7"), cards=cards).start()
    at.act("end").act("play", card="beast7").act("end").act("play", card="strings")
    before = len(at.seats[1].hand)
    at.act("play", card="gale", target="beast7-1")
    assert at.seats[1].hand[before:] == ["beast7"]
    assert at.on_table("p1") == []


def test_bounced_creature_of_the_extra_deck_goes_back_there() -> None:
    """It can come through another Rift, not out of a hand."""
    cards = {"gale": spell(Effect(does="bounce"))}
    at = Situation(Held(extra=["rift1"]), Held("gale"), cards=cards).souls(0).start()
    at.act("open", rank=1).act("summon", card="rift1")
    assert at.seats[0].extra == []
    at.act("close").act("end").act("play", card="gale", target="rift1-1")
    assert at.seats[0].extra == ["rift1"]
    assert "rift1" not in at.seats[0].hand


def test_cards_of_two_decks_may_share_a_name() -> None:
    """Each player's own card of that name does what it does: p1's chooses nothing, p2's a creature of the others."""
    mine, yours = {"x": spell(Effect(does="heal"))}, {"x": spell(Effect(does="destroy"))}
    at = Situation(Held("x", "beast1"), Held("x"), own=[mine, yours]).start()
    at.act("play", card="beast1").act("play", card="x", target=None).act("end")
    at.act("play", card="x", target="beast1-1")
    assert at.on_table("p1") == []
