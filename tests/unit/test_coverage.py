"""Coverage: each rule is counted where it is used, on matches made by hand."""

import json
from collections import Counter

import pytest

from domain.rules import State, decide, decode_command, fold
from domain.rules.book import WORDS
from simulation.coverage import COMMANDS, EVENTS, JUDGES, Coverage, unused
from simulation.runs import Run, play_match
from tests.kit import Json, of


def start(players: str = "ab", **ruleset: object) -> Json:
    return of("start_match", match="m", players=[{"player": name} for name in players], ruleset=ruleset)


def counts(*commands: Json, begin: Json | None = None) -> Counter[str]:
    """What the last of these commands counts, given those before it."""
    state, coverage = State(), Coverage()
    for command in (begin or start(), *commands):
        decoded = decode_command(json.dumps(command))
        events = decide(state, decoded)
        coverage.counts.clear()
        coverage.watch(state, decoded, events)
        fold(events, state)
    return coverage.counts


def released(*ranks: int) -> list[Json]:
    return [of("release", rank=rank) for rank in ranks]


TURN = of("begin_turn", player="a")
ENTER = of("enter", card="x", controller="a")
RELIC = of("enter", card="x", controller="a", kind="other")
DESTROY = of("destroy", cards=["x"])
PAY = of("pay", player="a", amount=1, souls=[1], effect="e")
OPEN = of("open_rift", player="a", rank=2, souls=[1])
CONCEDE = of("concede", player="a")

USED: dict[str, list[list[Json]]] = {
    "S-1": [[ENTER, DESTROY]],
    "C-1": [[ENTER, DESTROY]],
    "C-2": [[of("enter", card="x", controller="a", soulless=True), DESTROY]],
    "C-3": [
        [ENTER, of("seal", card="x"), DESTROY],
        [ENTER, of("destroy", cards=["x"], modifiers=[{"card": "x", "name": "n", "delta": -1}])],
    ],
    "C-4": [[ENTER, DESTROY]],
    "C-5": [[of("enter", card="x", controller="a", deck="extra", rank=2), DESTROY]],
    "C-6": [[ENTER, of("set_rank", card="x", rank=3)]],
    "C-7": [[ENTER, of("seal", card="x"), DESTROY]],
    "C-8": [
        [ENTER, of("set_rank", card="x", rank=1)],
        [ENTER, of("destroy", cards=["x"], modifiers=[{"card": "x", "name": "n", "delta": 1}])],
    ],
    "C-9": [[of("release")]],
    "C-10": [[RELIC, DESTROY]],
    "C-11": [[ENTER, of("leave", card="x", to="hand")]],
    "C-12": [[ENTER, of("enter", card="y", controller="b"), of("destroy", cards=["y", "x"])]],
    "P-1": [[*released(0), PAY]],
    "P-2": [[*released(0), RELIC, of("reap", card="x", souls=[1]), PAY]],
    "P-3": [[*released(2), PAY]],
    "P-4": [[*released(0), PAY], [*released(0), of("pay", player="a", amount=1, souls=[1], cost="c")]],
    "P-5": [[*released(0, 0), of("pay", player="a", amount=2, souls=[1, 2], effect="e")]],
    "P-7": [[*released(0, 0), of("pay", player="a", amount=2, souls=[1, 2], effect="e")]],
    "B-2": [[*released(2), PAY]],
    "B-3": [[*released(0), PAY, of("fizzle", payment=1)]],
    "B-4": [[TURN, *released(1), OPEN, of("close_rift", player="a")]],
    "E-1": [[*released(0), PAY, of("resolve", payment=1)], [*released(0), PAY, of("fizzle", payment=1)]],
    "E-2": [[*released(0), of("pay", player="a", amount=1, souls=[1], cost="c")], [TURN, *released(1), OPEN]],
    "E-3": [[of("fizzle", effect="e")]],
    "R-1": [[TURN, of("take_event", player="a", event="rite")], [TURN, *released(1), OPEN]],
    "R-2": [[TURN, *released(1), OPEN]],
    "R-3": [[TURN, *released(1), OPEN, of("summon", player="a", card="y", rank=1)]],
    "R-4": [[TURN, *released(1), OPEN, of("close_rift", player="a")]],
    "R-5": [[TURN, *released(1), OPEN, of("close_rift", player="a")]],
    "R-6": [[TURN, *released(1), OPEN, of("close_rift", player="a")]],
    "R-7": [[TURN, *released(1), OPEN]],
    "R-8": [[TURN], [TURN, ENTER, *released(1), OPEN, DESTROY]],
    "R-10": [[TURN, *released(1), OPEN, CONCEDE], [TURN, *released(1), OPEN, of("end_match")]],
    "A-1": [[*released(0), RELIC, of("reap", card="x", souls=[1])]],
    "A-2": [[*released(0), RELIC, of("reap", card="x", souls=[1]), PAY]],
    "A-3": [[*released(0), RELIC, of("reap", card="x", souls=[1]), of("change_control", card="x", to="b")]],
    "A-4": [[*released(0), kind, of("reap", card="x", souls=[1]), DESTROY] for kind in (ENTER, RELIC)],
    "A-5": [[*released(0), RELIC, of("reap", card="x", souls=[1])]],
    "A-6": [[*released(0), RELIC, of("reap", card="x", souls=[1]), of("leave", card="x", to="hand")]],
    "L-1": [[start()]],
    "L-2": [[of("change_life", changes=[{"player": "a", "delta": -31}], reason="r")]],
    "L-3": [[of("change_life", changes=[{"player": "a", "delta": -30}], reason="r")]],
    "L-4": [[CONCEDE]],
    "L-5": [[CONCEDE]],
    "L-6": [[TURN, TURN]],
    "L-7": [[of("end_match", winner="b")], [of("end_match", reason="time")]],
}

NOT_USED: dict[str, list[list[Json]]] = {
    "C-2": [[ENTER, DESTROY]],
    "C-3": [[ENTER, DESTROY]],
    "C-4": [[of("enter", card="x", controller="a", deck="extra", rank=2), DESTROY]],
    "C-5": [[ENTER, DESTROY]],
    "C-6": [[ENTER, of("set_rank", card="x", rank=2)]],
    "C-7": [[ENTER, DESTROY]],
    "C-8": [[ENTER, of("seal", card="x"), DESTROY]],
    "C-10": [[ENTER, DESTROY]],
    "C-11": [[ENTER, DESTROY]],
    "C-12": [[ENTER, DESTROY]],
    "P-2": [[*released(0), PAY]],
    "P-3": [[*released(0), PAY]],
    "P-5": [[*released(0), PAY]],
    "E-1": [[of("fizzle", effect="e")]],
    "E-2": [[*released(0), PAY]],
    "E-3": [[*released(0), PAY, of("fizzle", payment=1)]],
    "B-3": [[*released(2), PAY]],
    "R-2": [[*released(0), PAY]],
    "R-4": [[TURN, *released(1), OPEN, CONCEDE]],
    "R-6": [
        [
            *(TURN, *released(1), OPEN),
            of("summon", player="a", card="y", rank=1),
            of("close_rift", player="a"),
        ],
        [TURN, *released(1), OPEN, CONCEDE],
    ],
    "R-9": [[TURN, *released(2), OPEN]],
    "R-10": [[TURN, *released(1), OPEN, of("close_rift", player="a")]],
    "A-3": [[ENTER, of("change_control", card="x", to="b")]],
    "A-4": [[ENTER, DESTROY], [RELIC, DESTROY]],
    "A-6": [[ENTER, of("leave", card="x", to="hand")]],
    "L-2": [[of("change_life", changes=[{"player": "a", "delta": -30}], reason="r")]],
    "L-3": [[CONCEDE]],
    "L-4": [[of("end_match", winner="b")]],
    "L-6": [[TURN], [TURN, of("begin_turn", player="b")]],
    "L-7": [[CONCEDE]],
}


def cases(table: dict[str, list[list[Json]]]) -> list[tuple[str, list[Json]]]:
    return [(rule, commands) for rule, situations in table.items() for commands in situations]


@pytest.mark.parametrize(("rule", "commands"), cases(USED), ids=lambda value: value if isinstance(value, str) else "")
def test_rule_is_counted_where_it_is_used(rule: str, commands: list[Json]) -> None:
    """The last command of the situation uses the rule, and it is counted once."""
    begin, *rest = commands if commands[0]["type"] == "start_match" else [start(), *commands]
    assert counts(*rest, begin=begin)[rule] == 1


@pytest.mark.parametrize(
    ("rule", "commands"), cases(NOT_USED), ids=lambda value: value if isinstance(value, str) else ""
)
def test_rule_is_not_counted_where_it_is_not_used(rule: str, commands: list[Json]) -> None:
    """The last command of the situation has nothing to do with the rule."""
    assert counts(*commands)[rule] == 0


def test_who_burns_to_death_at_the_opening_gets_no_rift() -> None:
    """R-9 is counted where the opening payment defeats its player, and no Rift comes of it."""
    dear = [TURN, *released(3), of("open_rift", player="a", rank=1, souls=[1])]
    fatal = counts(*dear, begin=start(starting_life=9))
    assert (fatal["R-9"], fatal["open_rift"], fatal["rift_opened"], fatal["B-2"]) == (1, 1, 0, 1)
    assert counts(*dear, begin=start(starting_life=10))["R-9"] == 0


def test_every_rule_is_tried() -> None:
    """The situations above are about all rules that can be counted from commands and events. S-2, S-3, B-1 and B-5 go
    with others; R-9 has a test of its own; P-6 is counted by the table.
    """
    assert set(WORDS) - set(USED) - JUDGES == {"S-2", "S-3", "B-1", "B-5", "R-9", "P-6"}


def test_commands_and_events_are_counted() -> None:
    """Each command once, each event as often as it comes: two creatures that fall leave two Souls."""
    found = counts(
        ENTER,
        of("enter", card="y", controller="b"),
        of("destroy", cards=["x", "y"]),
    )
    assert (found["destroy"], found["creature_destroyed"], found["soul_collected"]) == (1, 2, 2)
    assert (found["C-12"], found["C-1"], found["C-4"], found["S-2"]) == (1, 2, 2, 1)


def test_unaffordable_cards_are_counted() -> None:
    """P-6 is heeded wherever a card of the hand costs more power than there is."""
    played = play_match(Run(5, ("reap", "reap"), ("random", "random")), 1)
    assert played.unaffordable > 0


def test_unused_names_all_that_was_not_used() -> None:
    """Of a count of nothing everything is unused but what a judge does; of a full one nothing is."""
    everything = [name for name in (*COMMANDS, *EVENTS, *WORDS) if name not in JUDGES]
    assert unused(Counter()) == everything
    assert unused(Counter(everything)) == []
    assert unused(Counter([name for name in everything if name not in {"leave", "soul_lost", "C-9"}])) == [
        "leave",
        "soul_lost",
        "C-9",
    ]
    assert {"ruling", "ruling_made", "J-1", "J-2", "J-3"} == JUDGES
    assert (len(COMMANDS), len(EVENTS)) == (23, 28)


def test_counts_are_those_of_the_record() -> None:
    """Over 40 matches commands and events are counted as often as they stand in the lines."""
    coverage, recorded, run = Coverage(), Counter[str](), Run(5)
    for number in range(1, 41):
        for entry in play_match(run, number, record=True, watch=coverage.watch).entries:
            line = json.loads(entry.line)
            recorded[line["command"]["type"]] += 1
            recorded.update(event["type"] for event in line["events"])
    assert {name: coverage.counts[name] for name in (*COMMANDS, *EVENTS) if coverage.counts[name]} == recorded
