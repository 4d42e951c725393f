"""Tallies and statistics: what is counted of matches is what a plain recomputation from their events counts."""

import json
from collections import Counter
from typing import Any

import pytest

from domain.rules import State, decide, decode_command, fold
from simulation.runs import Run, play_match
from simulation.statistics import Statistics
from simulation.tally import MatchTally, PlayerTally, Tally
from tests.kit import Json, of

RUN = Run(21, rulesets=({}, {"souls_on_leaving": "lost"}, {"soulburn_per_power": 4}))


FIGURES = ("overpay", "fizzle", "rift", "wasted", "paid", "spent", "reaped", "hoards_stolen", "empty")


def recomputed(lines: list[bytes]) -> Json:
    """What a match comes to, counted from the lines of its entries with nothing but JSON."""
    events = [event for line in lines for event in json.loads(line)["events"]]

    def those(kind: str, **fields: Any) -> list[Json]:
        return [e for e in events if e["type"] == kind and all(e[name] == value for name, value in fields.items())]

    def of_player(name: str) -> Json:
        burned, paid = those("soulburn_taken", player=name), those("cost_paid", player=name)
        lives = [event["life"] for event in events if event.get("player") == name and "life" in event]
        return {
            **{
                source: sum(event["damage"] for event in burned if event["source"] == source)
                for source in ("overpay", "fizzle", "rift")
            },
            "wasted": sum(event["power"] for event in burned),
            "paid": sum(event["amount"] for event in paid),
            "spent": sum(len(event["souls"]) for event in paid),
            "reaped": reaped[name],
            "hoards_stolen": stolen[name],
            "empty": len(those("rift_closed", player=name, highest=0)),
            "rifts": [len(those("rift_opened", player=name, rank=rank)) for rank in (1, 2, 3)],
            "through": [len(those("creature_summoned", controller=name, rank=rank)) for rank in (1, 2, 3)],
            "life": lives[-1] if lives else start["ruleset"]["starting_life"],
            "fell": fallen(events, name),
        }

    (start,), turns, (end,) = those("match_started"), those("turn_began"), those("match_ended")
    reaped, stolen = hoards(events)
    return {
        "turns": len(turns),
        "entries": len(lines),
        "events": len(events),
        "souls": len(those("soul_collected")) + len(those("soul_released")),
        "first": turns[0]["player"],
        "winner": end["winner"],
        "ended": end["reason"],
        "players": {each["player"]: of_player(each["player"]) for each in start["players"]},
    }


def hoards(events: list[Json]) -> tuple[Counter[str], Counter[str]]:
    """How many Souls each player reaped, and how often each took a card with Souls on it."""
    reaped, stolen, on_cards, controllers = Counter[str](), Counter[str](), Counter[str](), dict[str, str]()
    for event in events:
        kind, card = event["type"], event.get("card", "")
        if kind in {"card_entered", "creature_summoned"}:
            controllers[card] = event["controller"]
        elif kind == "soul_reaped":
            on_cards[card] += 1
            reaped[controllers[card]] += 1
        elif kind in {"soul_returned", "soul_lost"}:
            on_cards[card] -= 1
        elif kind == "cost_paid":
            on_cards.subtract(soul["card"] for soul in event["souls"] if soul["card"])
        elif kind == "control_changed":
            controllers[card] = event["to"]
            stolen[event["to"]] += on_cards[card] > 0
    return reaped, stolen


def fallen(events: list[Json], name: str) -> str | None:
    """What took the last life of a player who fell."""
    last = ""
    for event in events:
        if event.get("player") == name:
            last = str(event.get("source") or event["reason"]) if "life" in event else last
            if event["type"] == "player_defeated":
                return last if event["because"] == "life" else str(event["because"])
    return None


def told(tally: MatchTally) -> Json:
    """A tally in the form of `recomputed`."""
    return {
        **{name: getattr(tally, name) for name in ("turns", "entries", "events", "souls", "first", "winner", "ended")},
        "players": {
            player.player: {name: getattr(player, name) for name in (*FIGURES, "life", "fell", "rifts", "through")}
            for player in tally.players
        },
    }


def test_tallies_are_what_the_events_say() -> None:
    """Of 150 matches each figure of the tally is the one that is counted from the recorded lines."""
    for number in range(1, 151):
        played = play_match(RUN, number, record=True)
        assert played.tally
        assert told(played.tally) == recomputed([entry.line for entry in played.entries]), number
        assert played.tally.number == number
        assert played.tally.ruleset == (number - 1) % 3


def test_tally_names_deck_and_policy_of_each_seat() -> None:
    """Who plays what in a match stands in its tally and, in the same words, in the record."""
    for number in range(1, 20):
        played = play_match(RUN, number, record=True)
        assert played.tally
        start = json.loads(played.entries[0].command_json)
        shown = [f"{player.deck}, {player.policy}" for player in played.tally.players]
        assert [each["name"] for each in start["players"]] == shown
        assert start["match"] == f"run-21-{number}"
        assert start["meta"] == {"actor": f"simulator 1, philox4x64-10/1, seed 21, match {number}"}


def counted(*commands: Json) -> MatchTally:
    """The tally of a hand-made match of a and b with 10 life each."""
    state, seats = State(), [PlayerTally("a", "rift", "greedy"), PlayerTally("b", "reap", "random")]
    tally = Tally(MatchTally(1, 0, seats))
    start = of("start_match", match="m", players=[{"player": "a"}, {"player": "b"}], ruleset={"starting_life": 10})
    for command in (start, *commands):
        events = decide(state, decode_command(json.dumps(command)))
        fold(events, state)
        tally.take(events, state)
    return tally.end(state)


TURN = of("begin_turn", player="a")


def released(*ranks: int) -> list[Json]:
    return [of("release", rank=rank) for rank in ranks]


def test_soulburn_by_source_and_the_power_that_was_wasted() -> None:
    """Overpaid by 1 (3 life), a fizzled cost of 1 (3 life), a Rift of rank 1 left empty (3 life): 9 life, 3 wasted."""
    a, b = counted(
        TURN,
        *released(1, 0),
        of("pay", player="a", amount=1, souls=[1], effect="x"),
        of("fizzle", payment=1),
        of("open_rift", player="a", rank=1, souls=[2]),
        of("close_rift", player="a"),
    ).players
    assert (a.overpay, a.fizzle, a.rift, a.wasted, a.life) == (3, 3, 3, 3, 1)
    assert (a.paid, a.spent, a.rifts, a.through, a.empty, a.fell) == (2, 2, [1, 0, 0], [0, 0, 0], 1, None)
    assert b == PlayerTally("b", "reap", "random", life=10)


def test_rifts_and_those_who_come_through() -> None:
    """A Rift of rank 3 for one Soul of power 3, through which ranks 2, 1 and 2 come: one level burns."""
    a, _ = counted(
        TURN,
        *released(2),
        of("open_rift", player="a", rank=3, souls=[1]),
        *(of("summon", player="a", card=f"c{at}", rank=rank) for at, rank in enumerate((2, 1, 2))),
        of("close_rift", player="a"),
    ).players
    assert (a.rifts, a.through, a.empty, a.rift, a.wasted) == ([0, 0, 1], [1, 2, 0], 0, 3, 1)


def test_reaped_souls_and_stolen_hoards() -> None:
    """Two Souls reaped by b's card; a takes it: one hoard stolen. Taking back an empty card steals no hoard."""
    a, b = counted(
        *released(0, 1),
        of("enter", card="jar", controller="b", kind="other"),
        of("reap", card="jar", souls=[1, 2]),
        of("change_control", card="jar", to="a"),
        of("pay", player="a", amount=3, souls=[1, 2], cost="y"),
        of("change_control", card="jar", to="b"),
    ).players
    assert (a.reaped, a.hoards_stolen, a.paid, a.spent) == (0, 1, 3, 2)
    assert (b.reaped, b.hoards_stolen) == (2, 0)


@pytest.mark.parametrize(
    ("commands", "fell"),
    [
        ([of("change_life", changes=[{"player": "a", "delta": -10}], reason="combat")], "combat"),
        ([of("concede", player="a")], "concede"),
        ([*released(3), of("pay", player="a", amount=1, souls=[1], effect="x")], None),
        (
            [
                of("change_life", changes=[{"player": "a", "delta": -1}], reason="combat"),
                *released(3),
                of("pay", player="a", amount=1, souls=[1], effect="x"),
            ],
            "overpay",
        ),
        (
            [
                of("change_life", changes=[{"player": "a", "delta": -7}], reason="combat"),
                *released(0),
                of("pay", player="a", amount=1, souls=[1], effect="x"),
                of("fizzle", payment=1),
            ],
            "fizzle",
        ),
        (
            [
                of("change_life", changes=[{"player": "a", "delta": -1}], reason="combat"),
                *released(2),
                of("open_rift", player="a", rank=3, souls=[1]),
                of("close_rift", player="a"),
            ],
            "rift",
        ),
    ],
)
def test_what_brought_a_player_down(commands: list[Json], fell: str | None) -> None:
    """It is the last thing that took life, or conceding; null for who stands, as after 9 of 10 life burned."""
    tally = counted(TURN, *commands)
    assert tally.players[0].fell == fell
    assert tally.winner == ("b" if fell else None)
    assert tally.ended == ("L-4" if fell else None)


def test_statistics_are_the_sums_of_the_tallies() -> None:
    """Every figure of the statistics over 120 matches, recomputed from their tallies."""
    statistics, matches = Statistics(), [play_match(RUN, number).tally for number in range(1, 121)]
    for match in matches:
        assert match
        statistics.take(match)
    tallies = [match for match in matches if match]
    assert statistics.matches == 120
    for name in ("entries", "events", "turns", "souls"):
        assert getattr(statistics, name) == sum(getattr(match, name) for match in tallies)
    assert statistics.draws == sum(match.winner is None for match in tallies)
    assert statistics.first_won == sum(match.winner == match.first for match in tallies)
    assert statistics.ended == Counter(match.ended for match in tallies)
    seats = [(match, player) for match in tallies for player in match.players]
    assert statistics.fell == Counter(player.fell for _, player in seats if player.fell)
    assert statistics.hoards_stolen == sum(player.hoards_stolen for _, player in seats)
    for shares, which in ((statistics.decks, "deck"), (statistics.policies, "policy")):
        assert set(shares) == {getattr(player, which) for _, player in seats}
        for name, share in shares.items():
            of_it = [(match, player) for match, player in seats if getattr(player, which) == name]
            expected: dict[str, Any] = {
                "matches": len(of_it),
                "won": sum(match.winner == player.player for match, player in of_it),
                "lost": sum(player.fell is not None for _, player in of_it),
                "rifts": [sum(player.rifts[at] for _, player in of_it) for at in range(3)],
                **{
                    sums: sum(getattr(player, sums) for _, player in of_it)
                    for sums in ("overpay", "fizzle", "rift", "wasted", "reaped", "empty")
                },
            }
            assert {name: getattr(share, name) for name in expected} == expected
