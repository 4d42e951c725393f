"""Why: chains are worked out by hand from the rule book, and hold together for whatever is played."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import AnyEvent, Entry, State
from domain.codec import CorruptRecordError
from domain.rules import events as e
from domain.rules.book import WORDS, words
from domain.rules.versions import UnknownRulesError
from replays.causes import TELLERS
from replays.why import NotThereError, Reason, why_entry, why_event, why_life
from tests import determinism
from tests.kit import Json, of
from tests.recordings import EXAMPLES, edited, lines, refolded, script

RULE_BOOK = Path(__file__).parents[2] / "docs" / "rules.md"


# ------------------------------------------------------------ what is asked


def match(*commands: Json, players: str = "ab", **ruleset: Any) -> list[bytes]:
    """The lines of a match with these commands."""
    seats = [{"player": name} for name in players]
    return lines([of("start_match", match="m", players=seats, ruleset=ruleset), *commands])


def last(recorded: Sequence[bytes], kind: type[e.Event] | None = None) -> Reason:
    """Why the last event of a match happened, or the last one of this kind."""
    decode = msgspec.json.Decoder(AnyEvent).decode
    events = [decode(json.dumps(event)) for line in recorded for event in json.loads(line)["events"]]
    return why_event(recorded, [event.n for event in events if kind is None or isinstance(event, kind)][-1])


def all_of(reason: Reason) -> Iterator[Reason]:
    """A reason and everything behind it, as it is read."""
    yield reason
    for each in reason.because:
        yield from all_of(each)


def chain(reason: Reason) -> list[int]:
    """The events behind a reason, as they are read."""
    return [each.event for each in all_of(reason) if each.event is not None]


def rules(reason: Reason) -> set[str]:
    return {rule.rule for rule in reason.rules}


def commands(reason: Reason) -> list[str]:
    """The types of the commands at the bottom of the chains."""
    return [each.command["type"] for each in all_of(reason) if each.command is not None]


def told(reason: Reason) -> str:
    """All that is said."""
    return "\n".join(each.what for each in all_of(reason))


def _rift(rank: int = 3) -> list[Json]:
    """The commands that open player a's first Rift, with Soul 1, exactly paid."""
    return [
        of("begin_turn", player="a"),
        of("release", rank=rank - 1),
        of("open_rift", player="a", rank=rank, souls=[1]),
    ]


def _ruling(*corrections: Json, **fields: Any) -> Json:
    return of("ruling", judge="Oke", reason="a slip", corrections=list(corrections), **fields)


# ------------------------------------------------------------ the rule book


def test_book_has_every_rule_and_no_other() -> None:
    """Each rule of docs/rules.md has its words, in the order of the book, and there are no other rules."""
    assert list(WORDS) == re.findall(r"^- \*\*([A-Z]-\d+)\*\*", RULE_BOOK.read_text(), re.MULTILINE)


@pytest.mark.parametrize("rule", WORDS)
def test_words_of_a_rule_are_a_sentence_or_two(rule: str) -> None:
    """They are short, and end where a sentence ends."""
    assert words(rule).endswith(".")
    assert len(words(rule)) < 150


def test_book_knows_no_other_rule() -> None:
    """Words of a rule that is not in the book are an error."""
    with pytest.raises(KeyError):
        words("B-9")


def test_every_event_has_its_teller() -> None:
    """There is no event for which nobody could say why it happened."""
    assert TELLERS.keys() == set(get_args(AnyEvent))


# ------------------------------------------------------------ the worked examples, by hand

WORKED = [
    (1, 5, ["Soul 1 of rank 0", "no rank, which counts as 0"], {"C-1", "C-3", "C-4"}, [5, 4, 3]),
    (2, 9, ["Soul 1 of rank 3", "rank 2: 2 + 1 sealed = 3"], {"C-1", "C-3", "C-7"}, [9, 7, 3, 5]),
    (2, 10, ["Soul 2 of rank 3", "rank 3: 3 + 1 sealed = 4, held at 3"], {"C-1", "C-3", "C-7"}, [10, 8, 4, 6]),
    (3, 6, ["Soulrift 2", "with power 2"], {"P-1", "P-4", "E-1"}, [6, 3]),
    (3, 8, ["Soulrift 2", "with power 1 + 1 = 2"], {"P-1", "P-4", "E-2"}, [8, 4, 5]),
    (4, 5, ["6 Soulburn", "power 3 - cost 1 = 2", "2 x 3 life", "= 6", "30 - 6 = 24"], {"B-1", "B-2"}, [5, 4, 3]),
    (5, 6, ["3 Soulburn", "the whole cost, 1;", "1 x 3 life", "= 3", "30 - 3 = 27"], {"B-1", "B-3"}, [6, 5, 4, 3]),
    (6, 9, ["rank 3 - highest 1 = 2", "2 x 3 life", "= 6", "30 - 6 = 24"], {"B-1", "B-4"}, [9, 8, 6, 7]),
    (7, 8, ["rank 3 - highest 0 = 3", "3 x 3 life", "= 9", "30 - 9 = 21"], {"B-1", "B-4"}, [8, 7, 6]),
    (8, 9, ["Soul 1 of rank 0 returns", "which was destroyed"], {"A-4"}, [9, 4, 6, 8, 3]),
    (8, 11, ["Soul 3 of rank 0 rises"], {"C-1", "C-3", "C-4"}, [11, 8, 3]),
]


@pytest.mark.parametrize(("example", "n", "figures", "cited", "events"), WORKED)
def test_worked_examples_are_explained(
    example: int, n: int, figures: list[str], cited: set[str], events: list[int]
) -> None:
    """Each worked example has the figures, rules and events of the rule book, down to commands of its script."""
    (path,) = [path for path in EXAMPLES if path.name.startswith(f"worked-{example}-")]
    given_in_it = [json.loads(line) for line in script(path)]
    reason = why_event(lines(script(path)), n)
    assert all(figure in reason.what for figure in figures), reason.what
    assert (reason.event, rules(reason), chain(reason)) == (n, cited, events)
    found = [each.command for each in all_of(reason) if each.command is not None]
    assert found
    assert all(command in given_in_it for command in found)


def test_rules_come_with_their_words() -> None:
    """Each rule that is cited has the words of the book beside it."""
    reason = last(match(of("release", rank=2), of("pay", player="a", amount=1, souls=[1], effect="Dart")))
    cited = [rule for each in all_of(reason) for rule in each.rules]
    assert cited
    assert all(rule.words == words(rule.rule) for rule in cited)


def test_command_keeps_who_and_when() -> None:
    """The command at the bottom of a chain has its `meta`."""
    meta = {"actor": "ada", "at": "2026-05-09T11:00:12Z"}
    reason = last(match(of("release", rank=1, meta=meta)))
    assert reason.command == {"type": "release", "rank": 1, "meta": meta}
    assert reason.because == ()


# ------------------------------------------------------------ Souls, and how they get their rank


def test_rank_is_the_sum_of_what_made_it_held_within_0_and_3() -> None:
    """Rank 1, Sealed +1 and glory +2 make 4, which is held at 3: each with the command behind it."""
    destroy = of("destroy", cards=["k"], modifiers=[{"card": "k", "name": "glory", "delta": 2}])
    reason = last(match(of("enter", card="k", controller="a", rank=1), of("seal", card="k"), destroy))
    assert reason.what.endswith("rank 1: 1 + 1 sealed + 2 glory = 4, held at 3")
    assert rules(reason) == {"C-1", "C-3", "C-7", "C-8"}
    assert commands(reason) == ["enter", "seal", "destroy"]


def test_rank_below_0_is_held_at_0() -> None:
    """No rank and a curse of -2 make -2, which is held at 0."""
    curse = [{"card": "k", "name": "curse", "delta": -2}]
    reason = last(match(of("enter", card="k", controller="a"), of("destroy", cards=["k"], modifiers=curse)))
    assert reason.what.endswith("no rank, which counts as 0: 0 - 2 curse = -2, held at 0")


def test_rank_of_a_creature_is_the_one_it_had_when_it_died() -> None:
    """What counts is the last that set its rank and its seal; what was undone is not told."""
    turns = [of("seal", card="k"), of("unseal", card="k"), of("set_rank", card="k", rank=2, cause="Tempering")]
    reason = last(match(of("enter", card="k", controller="a"), *turns, of("destroy", cards=["k"])))
    assert reason.what.endswith(": rank 2")
    assert commands(reason) == ["enter", "set_rank", "destroy"]


def test_name_of_a_card_that_comes_again_is_another_card() -> None:
    """A card under the name of one that went is explained by its own entering and sealing alone."""
    one = [of("enter", card="k", controller="a", rank=3), of("seal", card="k"), of("destroy", cards=["k"])]
    reason = last(match(*one, of("enter", card="k", controller="b", rank=1), of("destroy", cards=["k"])))
    assert reason.what.endswith(": rank 1")
    assert chain(reason) == [8, 7, 6]  # events 2 to 5 are of the first


def test_soulless_creature_leaves_no_soul() -> None:
    """It is told why no Soul came, and what made the creature Soulless."""
    given_ = [of("enter", card="k", controller="a"), of("set_soulless", card="k", soulless=True)]
    reason = last(match(*given_, of("destroy", cards=["k"])))
    assert "leaves no Soul" in reason.what
    assert rules(reason) == {"C-2"}
    assert commands(reason) == ["enter", "set_soulless", "destroy"]


def test_released_soul_has_the_rank_that_was_given_or_the_usual_one() -> None:
    """Where the effect names a rank it is that one, else `release_rank`."""
    assert "rank 2, which the effect gave" in last(match(of("release", rank=2))).what
    assert "rank 0, for the effect gave none" in last(match(of("release"))).what
    other = last(match(of("release"), release_rank=3))
    assert "rank 3, for the effect gave none (release_rank is 3 in this match, usually 0)" in other.what
    assert commands(other) == ["start_match", "release"]


def test_souls_are_lost_where_the_ruleset_says_so() -> None:
    """Under `souls_on_leaving` "lost" the variant is cited, with the start of the match that chose it."""
    given_ = [of("enter", card="k", controller="a"), of("release"), of("reap", souls=[1], card="k")]
    reason = last(match(*given_, of("leave", card="k", to="hand"), souls_on_leaving="lost"))
    assert "souls_on_leaving is lost in this match, usually return" in reason.what
    assert rules(reason) == {"A-6"}
    assert commands(reason) == ["start_match", "release", "reap", "enter", "leave"]


# ------------------------------------------------------------ payments and Soulburn


def test_stolen_hoard_is_explained_down_to_its_theft() -> None:
    """A Soul on a stolen card: how it came, how it was reaped, and why its payer controls the card (A-3)."""
    given_ = [
        of("enter", card="k", controller="a"),
        of("release", rank=2),
        of("reap", souls=[1], card="k"),
        of("change_control", card="k", to="b"),
    ]
    reason = last(match(*given_, of("pay", player="b", amount=1, souls=[1], effect="Dart")))
    assert "power 3 - cost 1 = 2" in reason.what
    ((soul,),) = [[each for each in all_of(reason) if each.what.startswith("Soul 1 has")]]
    assert soul.what == "Soul 1 has rank 2, so power 2 + 1 = 3; it is on k, which b controls"
    assert rules(soul) == {"S-1", "P-2", "A-3"}
    assert commands(soul) == ["release", "reap", "change_control"]
    assert soul.event is None


def test_soul_on_ones_own_card_is_open_by_its_control() -> None:
    """A card that never changed hands is its controller's since it entered (A-2)."""
    given_ = [of("enter", card="k", controller="a"), of("release"), of("reap", souls=[1], card="k")]
    reason = last(match(*given_, of("pay", player="a", amount=1, souls=[1], cost="toll")))
    (soul,) = [each for each in all_of(reason) if each.what.startswith("Soul 1 has")]
    assert rules(soul) == {"S-1", "P-2", "A-2"}
    assert commands(soul) == ["enter", "release", "reap"]


def test_overpay_of_the_ruleset_is_cited() -> None:
    """Where superfluous Souls are allowed, or only the least power, the payment says so."""
    given_ = [of("release"), of("release")]
    pay = of("pay", player="a", amount=1, souls=[1, 2], effect="Dart")
    some = last(match(*given_, pay, overpay="any"), e.CostPaid)
    asked = "whether each of its Souls is needed is not asked (overpay is any in this match, usually needed)"
    assert some.what.endswith(f"with power 1 + 1 = 2, 1 more than the cost; {asked}")
    least = last(match(of("release", rank=1), {**pay, "souls": [1]}, overpay="least"), e.CostPaid)
    assert "no smaller power that reaches the cost was open (overpay is least" in least.what
    usual = last(match(of("release", rank=1), {**pay, "souls": [1]}), e.CostPaid)
    assert usual.what.endswith("1 more than the cost; without any one of its Souls it would fall short")


def test_rule_that_a_payment_breaks_is_not_cited() -> None:
    """Under overpay "any" power 1 + 2 + 3 pays for 1, against P-5, which is not looked at; the other rules hold."""
    given_ = [of("release", rank=rank) for rank in range(3)]
    pay = of("pay", player="a", amount=1, souls=[1, 2, 3], cost="toll")
    some = last(match(*given_, pay, overpay="any"), e.CostPaid)
    assert "with power 1 + 2 + 3 = 6, 5 more than the cost" in some.what
    assert rules(some) == {"P-1", "P-3", "P-4", "E-2"}
    assert "start_match" in commands(some)
    exact = last(match(of("release"), {**pay, "souls": [1]}, overpay="any"), e.CostPaid)
    assert rules(exact) == {"P-1", "P-4", "E-2"}
    least = last(match(of("release", rank=1), {**pay, "souls": [1]}, overpay="least"), e.CostPaid)
    assert rules(least) == {"P-1", "P-3", "P-4", "P-5", "E-2"}


def test_soulburn_of_another_figure_is_cited() -> None:
    """`soulburn_per_power` 5 and life 40: 2 levels are 10, and 40 - 10 leave 30."""
    pay = of("pay", player="a", amount=1, souls=[1], effect="Dart")
    reason = last(match(of("release", rank=2), pay, soulburn_per_power=5, starting_life=40))
    assert "2 x 5 life (soulburn_per_power is 5 in this match, usually 3) = 10; 40 - 10 = 30" in reason.what
    assert commands(reason) == ["start_match", "release", "pay"]


def test_sealed_bonus_of_another_figure_is_cited() -> None:
    """`sealed_bonus` 3: rank 0 and 3 are 3."""
    given_ = [of("enter", card="k", controller="a"), of("seal", card="k"), of("destroy", cards=["k"])]
    reason = last(match(*given_, sealed_bonus=3))
    assert "0 + 3 sealed = 3 (sealed_bonus is 3 in this match, usually 1)" in reason.what


def test_fizzling_of_a_defeated_payer_burns_nobody() -> None:
    """It is told that the payer was defeated, and by what."""
    given_ = [of("release"), of("pay", player="a", amount=1, souls=[1], effect="Dart"), of("concede", player="a")]
    reason = last(match(*given_, of("fizzle", payment=1), players="abc"))
    assert reason.what.endswith("the defeated do not burn")
    assert rules(reason) == {"E-1", "L-3"}
    assert commands(reason) == ["release", "pay", "concede", "fizzle"]


def test_unpaid_effect_fizzles_for_free() -> None:
    """An effect that nobody paid for has nothing behind it but its command (E-3)."""
    reason = last(match(of("fizzle", effect="Dart")))
    assert (rules(reason), commands(reason), chain(reason)) == ({"E-3"}, ["fizzle"], [2])


# ------------------------------------------------------------ Rifts


def test_highest_rank_is_told_with_who_came_through() -> None:
    """Of ranks 1, 2 and 1 through a Rift of 3 the highest is 2: 1 rank burns."""
    came = [of("summon", player="a", card=card, rank=rank) for card, rank in (("k", 1), ("l", 2), ("m", 1))]
    reason = last(match(*_rift(), *came, of("close_rift", player="a")), e.RiftClosed)
    assert reason.what == "a closes Rift 1: rank 3 - highest 2 = 1 unused; the highest is l"
    assert rules(reason) == {"R-4", "B-4"}
    assert commands(reason) == ["open_rift", "summon", "summon", "summon", "close_rift"]


def test_used_up_rift_cites_that_nothing_burns() -> None:
    """A creature of the Rift's own rank leaves nothing to burn (R-5)."""
    reason = last(match(*_rift(1), of("summon", player="a", card="k", rank=1), of("close_rift", player="a")))
    assert "rank 1 - highest 1 = 0 unused" in reason.what
    assert rules(reason) == {"R-4", "R-5"}


def test_rift_min_rank_is_cited() -> None:
    """A creature of rank 0 comes through where `rift_min_rank` is 0."""
    reason = last(match(*_rift(), of("summon", player="a", card="k", rank=0), rift_min_rank=0))
    assert "lets ranks 0 to 3 through (rift_min_rank is 0 in this match, usually 1)" in reason.what


def test_falling_to_the_opening_payment_cites_that_no_rift_opens() -> None:
    """With 3 life a Rift of rank 1 for power 4 burns 9: 3 - 9 = -6, the player falls, and no Rift opens (R-9)."""
    given_ = [of("begin_turn", player="a"), of("release", rank=3), of("open_rift", player="a", rank=1, souls=[1])]
    reason = last(match(*given_, players="abc", starting_life=3))
    assert reason.what == "a is defeated: -6 life is not above 0, so no Rift opens"
    assert rules(reason) == {"L-3", "R-9"}
    assert "power 4 - cost 1 = 3; 3 x 3 life (soulburn_per_power) = 9; 3 - 9 = -6" in told(reason)


@pytest.mark.parametrize(
    ("command", "players", "why"),
    [
        (of("concede", player="a"), "abc", "as a is defeated"),
        (of("concede", player="b"), "ab", "as the match is over"),
        (of("end_match"), "ab", "as the match is over"),
        (_ruling({"result": {"status": "ended"}}), "ab", "as the match is over"),
    ],
)
def test_rift_that_closes_by_itself_burns_nobody(command: Json, players: str, why: str) -> None:
    """It is told that R-10 closed it, for which defeat or end, and how much would have been unused."""
    reason = last(match(*_rift(2), command, players=players), e.RiftClosed)
    assert f"closes by itself, {why}, and burns nobody: rank 2 - highest 0 = 2 unused" in reason.what
    assert rules(reason) == {"R-10"}
    assert commands(reason)[-1] == command["type"]


# ------------------------------------------------------------ life, defeat, the end


def _life_lost(player: str, delta: int) -> Json:
    return of("change_life", changes=[{"player": player, "delta": delta}], reason="combat")


def test_defeat_is_explained_by_what_took_the_last_life() -> None:
    """30 - 20 = 10 was not it, 10 - 12 = -2 was."""
    recorded = match(_life_lost("a", -20), _life_lost("a", -12), players="abc")
    reason = last(recorded)
    assert reason.what == "a is defeated: -2 life is not above 0"
    assert [each.what for each in reason.because] == ["the life of a changes (combat): 10 - 12 = -2"]


def test_end_is_explained_by_all_defeats() -> None:
    """Of three players one conceded and one fell: the third has won by both (L-4)."""
    reason = last(match(of("concede", player="b"), _life_lost("c", -30), players="abc"))
    assert reason.what == "the match is over, and a has won: the last one standing, with b and c defeated"
    assert rules(reason) == {"L-4"}
    assert commands(reason) == ["concede", "change_life"]


def test_draw_is_explained_by_those_who_fell_together() -> None:
    """Where the last ones fall by one command nobody has won."""
    both = [{"player": player, "delta": -30} for player in "ab"]
    reason = last(match(of("change_life", changes=both, reason="ruin")))
    assert reason.what == "the match is over, and it is a draw: nobody is left, with a and b defeated"
    assert chain(reason) == [6, 4, 2, 5, 3]


def test_declared_end_has_only_its_command() -> None:
    """The game's own word ends a match (L-7)."""
    reason = last(match(of("end_match", winner="b", reason="time")))
    assert reason.what == "the game declares the match over (time), and b has won"
    assert (rules(reason), commands(reason)) == ({"L-7"}, ["end_match"])


def test_life_is_what_it_began_with_and_every_change() -> None:
    """30 - 6 Soulburn - 4 combat + 1 by a ruling are 21; each change is told in order with what it left."""
    given_ = [
        of("release", rank=2),
        of("pay", player="a", amount=1, souls=[1], effect="Dart"),
        _life_lost("b", -7),
        _life_lost("a", -4),
        _ruling({"life": {"player": "a", "delta": 1}}),
    ]
    reason = why_life(match(*given_), "a")
    assert reason.what == "a has 21 life: 30 at the start - 6 Soulburn + 1 by rulings - 4 reported = 21"
    sums = [re.findall(r"-?\d+ [+-] \d+ = -?\d+$", each.what) for each in reason.because]
    assert sums == [[], ["30 - 6 = 24"], ["24 - 4 = 20"], ["20 + 1 = 21"]]
    assert [each.event for each in reason.because] == [1, 4, 6, 7]


# ------------------------------------------------------------ rulings

_OPEN = [*_rift(), of("release", rank=1), of("enter", card="k", controller="a"), of("release")]
_PAID = [*_OPEN, of("pay", player="b", amount=1, souls=[3], effect="Dart")]


@pytest.mark.parametrize(
    ("correction", "figures", "cited"),
    [
        ({"life": {"player": "a", "delta": -4}}, "the life of a is 30 - 4 = 26", {"J-1", "J-3"}),
        ({"soul": {"soul": 2, "to": {"card": "k"}}}, "Soul 2 is on k, not in the Aether", {"J-1", "J-2"}),
        ({"new_soul": {"rank": 3, "to": "aether"}}, "a new Soul 4 of rank 3 is in the Aether", {"J-1", "J-2"}),
        ({"rank": {"soul": 2, "rank": 3}}, "Soul 2 is of rank 3, not 1", {"J-1", "J-2"}),
        ({"event": {"event": None}}, "the turn's Event is unused, not used for rift_summoning", {"J-1"}),
        ({"payment": {"payment": 2}}, "payment 2 for Dart is closed, and nothing burns", {"J-1"}),
        ({"rift": {"highest": 2}}, "the highest rank through the Rift is 2, not 0", {"J-1"}),
        ({"rift": {"close": True}}, "the Rift is closed, and nothing burns", {"J-1"}),
        ({"defeated": {"player": "c", "defeated": True}}, "c is defeated", {"J-1", "J-3"}),
        (
            {"result": {"status": "ended", "winner": "b"}},
            "the match is won by b, and does not go on",
            {"J-1", "J-3"},
        ),
    ],
)
def test_ruling_says_what_it_corrected(correction: Json, figures: str, cited: set[str]) -> None:
    """Each kind of correction is told with what was before; the ruling by its judge, reason and entry."""
    reason = last(match(*_PAID, _ruling(correction, about=3), players="abc"), e.RulingMade)
    assert reason.what == f"judge Oke rules about entry 3 (a slip): {figures}"
    assert (rules(reason), commands(reason)) == (cited, ["ruling"])


def test_corrections_of_one_ruling_build_on_each_other() -> None:
    """The second correction of a life begins with what the first left."""
    twice = [{"life": {"player": "a", "delta": delta}} for delta in (-4, 6)]
    assert last(match(_ruling(*twice))).what.endswith("the life of a is 30 - 4 = 26; the life of a is 26 + 6 = 32")


@pytest.mark.parametrize(
    ("first", "then", "figures"),
    [
        ({"status": "ended", "winner": "b"}, {"status": "running"}, "goes on, and is not won by b"),
        ({"status": "ended"}, {"status": "running"}, "goes on, and is not a draw"),
        ({"status": "ended", "winner": "a"}, {"status": "ended", "winner": "b"}, "is won by b, and is not won by a"),
        ({"status": "ended", "winner": "a"}, {"status": "ended"}, "is a draw, and is not won by a"),
    ],
)
def test_ruling_on_the_result_says_what_it_was(first: Json, then: Json, figures: str) -> None:
    """Each result with the one before; of several corrections one sees where each ends."""
    new = {"new_soul": {"rank": 3, "to": "aether"}}
    reason = last(match(_ruling({"result": first}), _ruling({"result": then}, new)), e.RulingMade)
    assert reason.what.endswith(f": the match {figures}; a new Soul 1 of rank 3 is in the Aether")


@pytest.mark.parametrize(
    ("rank", "had"),
    [({}, "no rank, which counts as 0, and is Sealed"), ({"rank": 2}, "rank 2, and is Sealed")],
)
def test_rank_and_seal_are_told_apart(rank: Json, had: str) -> None:
    """A Sealed creature without a rank: what counts as 0 is the rank."""
    given_ = [of("enter", card="k", controller="a", **rank), of("seal", card="k"), of("destroy", cards=["k"])]
    assert last(match(*given_), e.CreatureDestroyed).what == f"k is destroyed; it has {had}"


def test_names_with_commas_are_quoted_in_lists() -> None:
    """One sees where a name ends; one without a comma stands as it is."""
    seats = [{"player": "a", "name": "reap, hoarder"}, {"player": "b", "name": "blaze, random"}, {"player": "c"}]
    fallen = [of("concede", player=player) for player in "ab"]
    recorded = lines([of("start_match", match="m", players=seats), *fallen])
    assert why_event(recorded, 1).what == 'm begins: "reap, hoarder", "blaze, random" and c, with 30 life each'
    assert last(recorded).what.endswith('with "reap, hoarder" and "blaze, random" defeated')
    assert why_event(recorded, 2).what == '"reap, hoarder" concedes, and is defeated'


def test_rank_that_a_ruling_set_is_explained_by_it() -> None:
    """A payment with a Soul whose rank was corrected rests on how it came, and on the ruling."""
    given_ = [of("release"), _ruling({"rank": {"soul": 1, "rank": 2}})]
    reason = last(match(*given_, of("pay", player="a", amount=1, souls=[1], effect="Dart")))
    assert "Soul 1 has rank 2, so power 2 + 1 = 3" in told(reason)
    assert commands(reason) == ["release", "ruling", "pay"]


def test_soul_that_a_ruling_made_or_moved_is_explained_by_it() -> None:
    """A new Soul's origin is the ruling; and so is the place of one that was moved."""
    moved = [of("enter", card="k", controller="a"), of("release"), _ruling({"soul": {"soul": 1, "to": {"card": "k"}}})]
    reason = last(match(*moved, of("pay", player="a", amount=1, souls=[1], cost="toll")))
    assert commands(reason) == ["enter", "release", "ruling", "pay"]
    made = [_ruling({"new_soul": {"rank": 0, "to": "aether"}})]
    reason = last(match(*made, of("pay", player="a", amount=1, souls=[1], cost="toll")))
    assert commands(reason) == ["ruling", "pay"]


def test_highest_rank_that_a_ruling_set_is_explained_by_it() -> None:
    """After a summons of rank 1 a judge sets the highest to 2: 3 - 2 = 1 burns."""
    given_ = [*_rift(), of("summon", player="a", card="k", rank=1), _ruling({"rift": {"highest": 2}})]
    reason = last(match(*given_, of("close_rift", player="a")), e.RiftClosed)
    assert reason.what.endswith("rank 3 - highest 2 = 1 unused; rank 2 as the ruling of entry 6 has it")
    assert commands(reason) == ["open_rift", "summon", "ruling", "close_rift"]


def test_life_after_a_ruling_is_what_it_left() -> None:
    """Soulburn after a ruling that took 4 begins with 26."""
    given_ = [of("release", rank=1), _ruling({"life": {"player": "a", "delta": -4}})]
    assert "26 - 3 = 23" in last(match(*given_, of("pay", player="a", amount=1, souls=[1], effect="Dart"))).what


def test_defeat_by_a_ruling_is_explained_by_it() -> None:
    """Marked as defeated, or fallen to a correction of life: behind it is the ruling (J-3)."""
    marked = last(match(_ruling({"defeated": {"player": "a", "defeated": True}}), players="abc"))
    assert (rules(marked), commands(marked)) == ({"J-1", "J-3"}, ["ruling"])
    fallen = last(match(_ruling({"life": {"player": "a", "delta": -31}}), players="abc"))
    assert fallen.what == "a is defeated: -1 life is not above 0"
    assert (rules(fallen), commands(fallen)) == ({"L-3", "J-3"}, ["ruling"])


def test_who_is_brought_back_without_life_falls_by_both() -> None:
    """A player at -1 who is no longer defeated falls at once: by the loss of the life, and by the ruling."""
    back = _ruling({"defeated": {"player": "a", "defeated": False}})
    reason = last(match(_life_lost("a", -31), back, players="abc"))
    assert isinstance(reason.event, int)
    assert commands(reason) == ["change_life", "ruling"]


def test_result_by_a_ruling_is_explained_by_it() -> None:
    """A match that a judge ends is over by J-1, not for want of players."""
    reason = last(match(_ruling({"result": {"status": "ended", "winner": "a"}})))
    assert reason.what == "the match is over by a judge's ruling, and a has won"
    assert (rules(reason), commands(reason)) == ({"J-1", "J-3"}, ["ruling"])


# ------------------------------------------------------------ what is told once


def test_nothing_is_told_twice() -> None:
    """Two Souls of one destruction: the second refers to its command, and a repeated event to the first telling."""
    given_ = [
        of("enter", card="k", controller="a"),
        of("enter", card="l", controller="a"),
        of("destroy", cards=["k", "l"]),
    ]
    recorded = match(*given_, of("pay", player="a", amount=2, souls=[1, 2], effect="Dart"))
    assert told(last(recorded)).count("the command of entry 4 is told above") == 1
    entry = why_entry(match(of("release", rank=1), of("pay", player="a", amount=1, souls=[1], effect="Dart")), 3)
    paid, burned = entry.because
    assert entry.what == "entry 3 has 2 events"
    assert [each.what for each in burned.because] == [f"as told above, event 3: {paid.what}"]


def test_players_and_cards_are_called_by_their_names() -> None:
    """A name for display where there is one; a player's own beside it where two share it, a card's always."""
    seats = [{"player": "a", "name": "Ada"}, {"player": "b", "name": "Bo"}, {"player": "c", "name": "Bo"}]
    enter = [of("enter", card=f"k{player}", controller=player, name="Hound") for player in "abc"]
    recorded = lines([of("start_match", match="m", players=seats), *enter])
    said = [why_event(recorded, n).what.split(":")[0] for n in (2, 3, 4)]
    assert said == ["Hound [ka] enters, Ada's", "Hound [kb] enters, Bo (b)'s", "Hound [kc] enters, Bo (c)'s"]


def test_explanation_reads_no_further_than_it_must() -> None:
    """What comes after the event that is asked about is not looked at."""
    recorded = match(of("release"), of("release"))

    def read() -> Iterator[bytes]:
        yield from recorded[:2]
        message = "read on"
        raise AssertionError(message)

    assert why_event(read(), 2) == why_event(recorded, 2)
    assert why_entry(read(), 2) == why_entry(recorded, 2)


# ------------------------------------------------------------ what is not there, or not as it was


@pytest.mark.parametrize("n", [0, -1, 4, 2**63])
def test_numbers_that_are_not_there_name_the_range(n: int) -> None:
    """An event or entry that the match has not is an error that says which it has."""
    recorded = match(of("release"), of("release"))
    with pytest.raises(NotThereError, match=f"the events 1 to 3, not {n}"):
        why_event(recorded, n)
    with pytest.raises(NotThereError, match=f"the entries 1 to 3, not {n}"):
        why_entry(recorded, n)
    with pytest.raises(NotThereError, match="no events"):
        why_event([], n)


def test_player_who_is_not_there_is_answered_with_those_who_are() -> None:
    """The life of a stranger is an error that names the players."""
    with pytest.raises(NotThereError, match='no player "c" in this match, only a and b'):
        why_life(match(), "c")
    with pytest.raises(NotThereError, match='no player "c" in this match'):
        why_life([], "c")


def test_figures_that_do_not_add_up_are_said() -> None:
    """Whoever forges a Soulburn finds beside it what it should have been: 2 x 3 are 6, and 30 - 5 are 25."""
    recorded = match(of("release", rank=2), of("pay", player="a", amount=1, souls=[1], effect="Dart"))

    def milder(entry: dict[str, Any]) -> None:
        entry["events"][1].update(damage=5, life=26)

    what = why_event(refolded(recorded, 3, milder), 4).what
    assert "2 x 3 life (soulburn_per_power) = 6 (but 5 is recorded); 30 - 5 = 25 (but 26 is recorded)" in what


def test_what_does_not_follow_is_a_corrupt_record() -> None:
    """A Soul of a creature that was never destroyed, an event out of number, other rules: each is named as an error."""
    recorded = match(of("enter", card="k", controller="a"), of("destroy", cards=["k"]))
    with pytest.raises(CorruptRecordError, match="event 4 of entry 3 does not follow"):
        why_event(edited(recorded, 3, lambda entry: entry["events"][1].update(creature="l")), 4)
    renumbered = edited(recorded, 3, lambda entry: entry["events"][0].update(entry=2))
    with pytest.raises(CorruptRecordError):
        why_event(renumbered, 4)
    with pytest.raises(UnknownRulesError):
        why_event(edited(recorded, 1, lambda entry: entry["events"][0].update(rules=99)), 4)
    with pytest.raises(CorruptRecordError, match="the command of entry 2 cannot be read"):
        why_event(edited(recorded, 2, lambda entry: entry.update(command=None)), 4)


# ------------------------------------------------------------ whatever is played


def _recorded(seed: int, length: int) -> tuple[State, list[bytes]]:
    """A random match: its state, and its lines."""
    state = State()
    answers = [determinism.answer(state, line) for line in determinism.walk(seed, length)]
    return state, [answer.line for answer in answers if isinstance(answer, Entry)]


@given(seed=st.integers(0, 2**32), length=st.integers(1, 50))
def test_every_event_of_a_match_is_explained_down_to_commands(seed: int, length: int) -> None:
    """Whatever is played: each chain goes back in time and ends in commands, no figure is amiss, the same each time."""
    state, recorded = _recorded(seed, length)
    for n in range(1, state.events + 1):
        reason = why_event(recorded, n)
        assert reason == why_event(recorded, n)
        assert max(chain(reason)) == n
        assert "is recorded" not in told(reason)
        for each in all_of(reason):
            bottom = not each.because
            assert (each.command is not None) == (bottom and "told above" not in each.what), each
            assert each.entry <= reason.entry


@given(seed=st.integers(0, 2**32))
def test_life_adds_up_to_that_of_the_state(seed: int) -> None:
    """What is told of a life begins with that of the ruleset, goes from each change to the next, and ends as it is."""
    state, recorded = _recorded(seed, 80)
    for name, player in state.players.items():
        reason = why_life(recorded, name)
        figures = reason.what.rpartition(f" has {player.life} life: ")[2]
        parts = re.fullmatch(r"(\d+) at the start((?: [+-] \d+ (?:Soulburn|by rulings|reported))*) = (-?\d+)", figures)
        assert parts
        changes = [int(sign + figure) for sign, figure in re.findall(r"([+-]) (\d+)", parts[2])]
        assert state.ruleset.starting_life + sum(changes) == player.life == int(parts[3])
        assert "is recorded" not in told(reason)
