"""What the tables say must add up: to what the projections answer, and to a plain recount of the entries' JSON.

The matches are random walks, which rulings abound in, simulated ones and the examples. SOULRIFT_WALKS=2000 takes so
many walks; 5001-6000 those with these seeds.
"""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache, update_wrapper
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from domain import Entry, State, decode_command, play
from projections import census, life, matches, payments, players, rifts, soulburn, souls
from projections.analytics import parts
from projections.analytics.rows import MatchRows, match_rows
from projections.analytics.schemas import Table, of_matches
from simulation.runs import Run, play_match
from tests.determinism import answer, walk
from tests.kit import Json
from tests.read_models import Hall
from tests.recordings import EXAMPLES, played, root_of, script
from tests.recount import Recount
from tests.table_rows import Rows, columns, rows_of

FEW_WALKS = 60
_FIRST, _, _LAST = os.environ.get("SOULRIFT_WALKS", str(FEW_WALKS)).rpartition("-")
WALKS = range(int(_FIRST or 1), int(_LAST) + 1)

LENGTH = 120
"""How many commands a walk tries."""

SIMULATED = ((Run(5), 6), (Run(6, ("any",) * 4, ("any",) * 4), 2))
"""Runs, and how many matches of each."""


class Told(NamedTuple):
    """A match: its entries, its rows, and the recount of its entries."""

    match: str
    entries: list[Entry]
    rows: Rows
    recount: Recount


def recorded() -> Iterator[list[Entry]]:
    """The entries of each match."""
    for seed in WALKS:
        state = State()
        yield [entry for line in walk(seed, LENGTH) if isinstance(entry := answer(state, line), Entry)]
    for run, count in SIMULATED:
        for number in range(1, count + 1):
            yield play_match(run, number, record=True).entries
    for example in EXAMPLES:
        yield played(script(example))


@cache
def all_told() -> list[Told]:
    """All matches."""
    told = []
    for entries in recorded():
        match = json.loads(entries[0].command_json)["match"]
        told.append(Told(match, entries, rows_of(entries, match), Recount(entry.line for entry in entries)))
    return told


def in_each_match(check: Callable[[Told], None]) -> Callable[[], None]:
    """The test that a check holds in each match; the one in which it does not is named."""

    def test() -> None:
        for told in all_told():
            _named(check, told)

    update_wrapper(test, check)
    del test.__wrapped__  # type: ignore[attr-defined]  # pytest would ask it what it takes
    return test


def _named(check: Callable[[Told], None], told: Told) -> None:
    try:
        check(told)
    except AssertionError as error:
        error.add_note(f"in the match {told.match}")
        raise


def sums(rows: list[Json], by: str, what: str) -> Counter[Any]:
    """The sums of a column, by another; none where it is 0."""
    added = Counter[Any]()
    for row in rows:
        added[row[by]] += row[what]
    return +added


def groups(rows: list[Json], by: str) -> dict[Any, list[Json]]:
    """The rows by the value of a column, in their order."""
    found = defaultdict[Any, list[Json]](list)
    for row in rows:
        found[row[by]].append(row)
    return found


# ------------------------------------------------------------------------------------------------ what is there to tell

ALIKE = {"rules", "private", "origin_match", "origin_entry"}
"""Columns of matches that are the same wherever they have a value: of these matches, not of all."""


def test_every_column_tells_something() -> None:
    """Among these matches each column of each table has values, and not always the same."""
    for table in of_matches():
        rows = [row for told in all_told() for row in told.rows[table.name]]
        for column in table.columns[table.name != "matches" :]:
            values = {row[column.name] for row in rows} - {None}
            fewest = 1 if table.name == "matches" and column.name in ALIKE else 2
            assert len(values) >= fewest, f"{table.name}.{column.name}"


# ------------------------------------------------------------------------------------------------ the projections


@pytest.fixture(scope="module")
def hall() -> Iterator[Hall]:
    """A store in which all these matches are, one after the other, and its views."""
    hall = Hall()
    for told in all_told():
        first, *others = [entry.command_json for entry in told.entries]
        hall.matches.start(first)
        hall.matches.give_all(told.match, others)
    yield hall
    hall.close()


def test_matches_are_as_the_projection_has_them(hall: Hall) -> None:
    """Status, winner, number of entries, and the players in their order with their names."""
    answered = {row.match: row for row in hall.ask(matches.matches)}
    assert len(answered) == len(all_told())
    for told in all_told():
        (row,), now = told.rows["matches"], answered[told.match]
        assert (row["status"], row["winner"], row["entries"]) == (now.status, now.winner, now.entries)
        assert columns(told.rows["players"], "player", "name") == list(now.players.items())


def test_players_are_as_the_projection_has_them(hall: Hall) -> None:
    """Over all matches, each player's results and sums are those that the projection answers."""
    added = defaultdict[str, Counter[str]](Counter)
    summed = ("collected", "spent", "burned_overpay", "burned_fizzle", "burned_rift", "rifts_1", "rifts_2", "rifts_3")
    for row in (row for told in all_told() for row in told.rows["players"]):
        added[row["player"]].update({name: row[name] for name in summed})
        added[row["player"]].update(["matches", row["result"]])
    answered = hall.ask(players.players)
    assert len(answered) == len(added)
    for now in answered:
        for name in (*summed, "matches", "won", "lost", "drawn", "running"):
            assert (now.player, name, getattr(now, name)) == (now.player, name, added[now.player][name])


def test_soulburns_are_as_the_projection_has_them(hall: Hall) -> None:
    """Each with its arithmetic; and so the totals by player and source, in a match and in all."""
    names = ("entry", "player", "source", "rule", "whole", "used", "power", "per_power", "damage", "life")
    everywhere = defaultdict[tuple[str, str], list[int]](lambda: [0, 0, 0])
    for told in all_told():
        here = defaultdict[tuple[str, str], list[int]](lambda: [0, 0, 0])
        rows = told.rows["soulburns"]
        for row in rows:
            for total in (here, everywhere):
                for place, more in enumerate((1, row["power"], row["damage"])):
                    total[row["player"], row["source"]][place] += more
        assert columns(rows, *names, "payment", "rift") == [
            tuple(getattr(now, {"whole": "of", "used": "less"}.get(name, name)) for name in (*names, "payment", "rift"))
            for now in hall.ask(soulburn.soulburn, told.match)
        ]
        assert here == totals(hall, told.match)
    assert everywhere == totals(hall)


def totals(hall: Hall, match: str | None = None) -> dict[tuple[str, str], list[int]]:
    """What the projection answers: how often, at what levels together, for how much life."""
    return {(row.player, row.source): [row.times, row.power, row.damage] for row in hall.ask(soulburn.totals, match)}


def test_payments_are_as_the_projection_has_them(hall: Hall) -> None:
    """Each payment with its outcome, what it burned, and what it had to burn at least."""
    same = ("payment", "entry", "player", "amount", "power", "effect", "cost", "outcome", "burned", "reason", "source")
    for told in all_told():
        answered = hall.ask(payments.payments, told.match)
        assert columns(told.rows["payments"], *same, "least_burn", "end_entry", "souls", "from_cards") == [
            (
                *(getattr(now, name) for name in (*same, "least_burn")),
                *(now.ended, len(now.souls), sum(spent.card is not None for spent in now.souls)),
            )
            for now in answered
        ]


def test_rifts_are_as_the_projection_has_them(hall: Hall) -> None:
    """Each Rift with its end and its figures, and who came through it."""
    same = ("rift", "entry", "player", "rank", "payment", "power", "outcome", "highest", "unused", "burned")
    for told in all_told():
        answered = hall.ask(rifts.rifts, told.match)
        assert columns(told.rows["rifts"], *same, "end_entry", "summoned") == [
            (*(getattr(now, name) for name in same), now.ended, len(now.summoned)) for now in answered
        ]
        assert columns(told.rows["summons"], "rift", "entry", "card", "rank") == [
            (now.rift, came.entry, came.card, came.rank) for now in answered for came in now.summoned
        ]


def test_life_is_as_the_projection_has_it(hall: Hall) -> None:
    """The same changes in the same order."""
    names = ("entry", "player", "delta", "life", "cause", "rule", "reason", "payment", "rift")
    for told in all_told():
        answered = [tuple(getattr(now, name) for name in names) for now in hall.ask(life.life, told.match)]
        assert columns(told.rows["life"], *names) == answered


def test_souls_are_as_the_projection_has_them(hall: Hall) -> None:
    """Each Soul's release, moves, controllers, ranks and end, of the rows of both tables."""
    for told in all_told():
        moved = groups(told.rows["soul_moves"], "soul")
        answered = hall.ask(souls.history, told.match)
        assert len(answered) == len(told.rows["souls"])
        for row, now in zip(told.rows["souls"], answered, strict=True):
            came = now.released
            assert columns([row], "soul", "entry", "rank", "source", "creature", "creature_rank", "cause") == [
                (now.soul, came.entry, came.rank, came.source, came.creature, came.creature_rank, came.cause)
            ]
            assert (row["modifiers"], row["last_rank"]) == (sum(each.delta for each in came.modifiers), now.rank)
            moves = moved[now.soul]
            assert [
                (each["entry"], each["card"] or "aether") for each in moves if each["step"] in {"aether", "card"}
            ] == [(move.entry, move.to) for move in now.moves]
            held = [each for each in moves if each["step"] in {"card", "control"}]
            assert columns(held, "entry", "card", "player") == [(at.entry, at.card, at.player) for at in now.controlled]
            ranked = [each for each in moves if each["step"] == "rank"]
            assert columns(ranked, "entry", "rank") == [(then.entry, then.rank) for then in now.reranked]
            spent = now.used and (now.used.entry, now.used.payment, now.used.player)
            assert spent == ((row["end_entry"], row["payment"], row["player"]) if row["fate"] == "spent" else None)
            assert now.lost == (row["end_entry"] if row["fate"] == "lost" else None)
            assert now.now == {"aether": "aether", "card": held and held[-1]["card"]}.get(row["fate"], "gone")


def test_soul_moves_make_the_census_of_the_projection(hall: Hall) -> None:
    """How many Souls of each rank are in the Aether and on cards after each entry, and how many are gone."""
    for told in all_told():
        answered = hall.ask(census.census, told.match, len(told.entries))
        assert list(censuses(told)) == [(now.aether, now.cards, now.gone) for now in answered]


def censuses(told: Told) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """The census after each entry, by the rows of soul_moves alone."""
    moved = groups(sorted(told.rows["soul_moves"], key=lambda row: (row["n"], row["part"])), "entry")
    now = dict[int, tuple[str, int]]()
    for entry in range(1, len(told.entries) + 1):
        for row in moved[entry]:
            place = row["came_from"] if row["step"] in {"control", "rank"} else row["step"]
            now[row["soul"]] = place, row["rank"]
        found = Counter(now.values())
        aether, cards = (tuple(found[place, rank] for rank in range(4)) for place in ("aether", "card"))
        yield aether, cards, sum(count for (place, _), count in found.items() if place in {"spent", "lost"})


# ------------------------------------------------------------------------------------------------ matches and entries


@in_each_match
def test_a_match_counts_what_is_in_it(told: Told) -> None:
    """Entries, events, turns, Souls, payments, Rifts and players are as many as the events say, and as have rows."""
    (row,), count = told.rows["matches"], told.recount
    counted = {
        "entries": len(count.entries),
        "events": len(count.events),
        "turns": len(count.of("turn_began")),
        "souls": len(count.souls),
        "payments": len(count.of("cost_paid")),
        "rifts": len(count.of("rift_opened")),
        "players": len(count.life),
    }
    assert counted == {name: row[name] for name in counted}
    for name in counted.keys() - {"turns"}:
        assert len(told.rows[name]) == row[name]
    began = [event["player"] for event in count.of("turn_began")]
    assert row["first"] == next(iter(began), None)


@in_each_match
def test_a_match_stands_as_its_events_leave_it(told: Told) -> None:
    """Status and winner are those of the last end or ruling; each player's life, result and defeat go with them."""
    (row,), count = told.rows["matches"], told.recount
    assert (row["status"], row["winner"]) == (count.status, count.winner)
    for seat, player in enumerate(told.rows["players"]):
        name = player["player"]
        assert (player["seat"], player["life"]) == (seat, count.life[name])
        won = "drawn" if count.winner is None else "won" if count.winner == name else "lost"
        assert player["result"] == (won if count.status == "ended" else "running")
        assert player["began"] == (name == row["first"])


@in_each_match
def test_what_defeated_each_player(told: Told) -> None:
    """The last event or ruling that did so, unless a ruling has brought the player back since."""
    assert dict(columns(told.rows["players"], "player", "defeated")) == {
        player: told.recount.fallen.get(player) for player in told.recount.life
    }


@in_each_match
def test_a_match_has_its_start(told: Told) -> None:
    """The ruleset, the rules, the origin, and the names of the players are those of its first event."""
    (row,), (start,) = told.rows["matches"], told.recount.of("match_started")
    assert {name: row[name] for name in start["ruleset"]} == start["ruleset"]
    assert (row["match"], row["rules"], row["private"]) == (start["match"], start["rules"], start.get("private", False))
    origin = {"match": row["origin_match"], "entry": row["origin_entry"]}
    assert origin == (start["origin"] or {"match": None, "entry": None})
    assert columns(told.rows["players"], "player", "name") == [
        (seat["player"], seat["name"]) for seat in start["players"]
    ]


@in_each_match
def test_entries_played_again_are_the_record(told: Told) -> None:
    """From the table of entries alone, each command gives the line that it gave, and all of them the match's root."""
    state = State()
    lines = [play(state, decode_command(row["command"])).line for row in told.rows["entries"]]
    assert lines == [entry.line for entry in told.entries]
    assert root_of(lines).hex() == told.rows["matches"][0]["root"]


@in_each_match
def test_entries_are_their_commands(told: Told) -> None:
    """Number, type, player, actor and time are what the command says; the turn and the events are those it led to."""
    for row, entry, turn in zip(told.rows["entries"], told.recount.entries, told.recount.turns, strict=True):
        command = entry["command"]
        meta = command.get("meta", {})
        assert json.loads(row["command"]) == command
        assert columns([row], "entry", "type", "events", "turn", "actor") == [
            (entry["entry"], command["type"], len(entry["events"]), turn, meta.get("actor"))
        ]
        assert row["player"] == command.get("player", command.get("by", command.get("controller")))
        assert row["sent_at"] == (datetime.fromisoformat(meta["at"]) if "at" in meta else None)
        assert row["sent_at"] is None or row["sent_at"].utcoffset() == timedelta()
    first, last = told.rows["entries"][0], told.rows["entries"][-1]
    assert columns(told.rows["matches"], "began_at", "last_at") == [(first["sent_at"], last["sent_at"])]


@in_each_match
def test_events_are_all_there_are(told: Told) -> None:
    """They are numbered from 1 without a gap, each with its entry and type; so many of each type as in the record."""
    rows = told.rows["events"]
    assert [row["n"] for row in rows] == list(range(1, len(told.recount.events) + 1))
    assert columns(rows, "n", "entry", "type") == [
        (event["n"], event["entry"], event["type"]) for event in told.recount.events
    ]
    assert Counter(row["entry"] for row in rows) == dict(columns(told.rows["entries"], "entry", "events"))
    assert told.rows["matches"][0]["events"] == sum(row["events"] for row in told.rows["entries"])


@in_each_match
def test_events_have_their_own_fields(told: Told) -> None:
    """A column that is named like a field of the event has its value; the others have what is meant."""
    meant: dict[str, dict[str, Callable[[Json], Any]]] = {
        "player": {"soul_released": by, "soul_reaped": by, "control_changed": to, "match_ended": winner},
        "card": {"soul_collected": lambda event: event["creature"]},
        "rank": {"rift_closed": lambda event: event["highest"]},
        "power": {"rift_closed": lambda event: event["burned"]},
        "delta": {"soulburn_taken": lambda event: -event["damage"]},
    }
    for row, event in zip(told.rows["events"], told.recount.events, strict=True):
        for name in ("player", "card", "soul", "payment", "rift", "rank", "power", "delta", "life"):
            field = event.get(name, event.get("controller") if name == "player" else None)
            value = meant.get(name, {}).get(event["type"], lambda _, field=field: field)(event)
            assert (event["type"], name, row[name]) == (event["type"], name, value)


def by(event: Json) -> Any:
    """By whom."""
    return event["by"]


def to(event: Json) -> Any:
    """To whom."""
    return event["to"]


def winner(event: Json) -> Any:
    """Who won."""
    return event["winner"]


# ------------------------------------------------------------------------------------------------ life and Soulburn


@in_each_match
def test_life_adds_up(told: Told) -> None:
    """Everybody starts with the ruleset's life; each row leaves what the changes so far sum up to, the last what there
    is in the end.
    """
    start = told.rows["matches"][0]["starting_life"]
    left = Counter[str]()
    for row in told.rows["life"]:
        left[row["player"]] += row["delta"]
        assert (row["n"], row["life"]) == (row["n"], left[row["player"]])
    assert dict(left) == told.recount.life == dict(columns(told.rows["players"], "player", "life"))
    assert columns(told.rows["life"][: len(left)], "part", "player", "delta", "cause") == [
        (seat, player, start, "start") for seat, player in enumerate(told.recount.life)
    ]


@in_each_match
def test_life_changes_by_what_the_record_says(told: Told) -> None:
    """By the events, and by the corrections of rulings, each in its place."""
    expected = list[tuple[Any, ...]]()
    for event in told.recount.of("soulburn_taken", "life_changed", "ruling_made"):
        if event["type"] == "ruling_made":
            for part, made in enumerate(event["corrections"]):
                if "life" in made:
                    change = made["life"]
                    expected.append((event["n"], part, change["player"], change["delta"], "ruling", event["reason"]))
        elif event["type"] == "life_changed":
            expected.append((event["n"], 0, event["player"], event["delta"], "change", event["reason"]))
        else:
            expected.append((event["n"], 0, event["player"], -event["damage"], event["source"], None))
    changes = [row for row in told.rows["life"] if row["cause"] != "start"]
    assert columns(changes, "n", "part", "player", "delta", "cause", "reason") == expected


@in_each_match
def test_soulburns_are_the_life_that_burned(told: Told) -> None:
    """The same Soulburn in both tables and in the record, with the rule of its source; the arithmetic holds."""
    names = ("n", "entry", "turn", "player", "life", "rule", "payment", "rift")
    burned = [row for row in told.rows["life"] if row["cause"] in {"overpay", "fizzle", "rift"}]
    rows = told.rows["soulburns"]
    assert columns(rows, *names, "source") == columns(burned, *names, "cause")
    assert [-row["damage"] for row in rows] == [row["delta"] for row in burned]
    assert columns(rows, "n", "damage", "power") == [
        (event["n"], event["damage"], event["power"]) for event in told.recount.of("soulburn_taken")
    ]
    for row in rows:
        assert row["rule"] == {"overpay": "B-2", "fizzle": "B-3", "rift": "B-4"}[row["source"]]
        assert row["whole"] - row["used"] == row["power"] > 0
        assert row["damage"] == row["power"] * row["per_power"]
        assert row["per_power"] == told.rows["matches"][0]["soulburn_per_power"]
        assert (row["payment"] is None, row["rift"] is None) == (row["source"] == "rift", row["source"] != "rift")


@in_each_match
def test_soulburns_have_the_figures_of_what_burned(told: Told) -> None:
    """Power and cost of the payment, or rank and highest rank of the Rift, as their own rows have them."""
    paid = {row["payment"]: row for row in told.rows["payments"]}
    opened = {row["rift"]: row for row in told.rows["rifts"]}
    for row in told.rows["soulburns"]:
        of = opened[row["rift"]] if row["source"] == "rift" else paid[row["payment"]]
        whole, used = {"overpay": ("power", "amount"), "fizzle": ("amount", ""), "rift": ("rank", "highest")}[
            row["source"]
        ]
        assert (row["whole"], row["used"], row["player"]) == (of[whole], of.get(used, 0), of["player"])


@in_each_match
def test_soulburns_add_up_by_player_and_source(told: Told) -> None:
    """To the sums of the record, and to those in the rows of players, of payments and of Rifts."""
    added, wasted = Counter[tuple[str, str]](), Counter[str]()
    for event in told.recount.of("soulburn_taken"):
        added[event["player"], event["source"]] += event["damage"]
        wasted[event["player"]] += event["power"]
    for row in told.rows["players"]:
        for source in ("overpay", "fizzle", "rift"):
            burned = [each for each in told.rows["soulburns"] if each["source"] == source]
            assert row[f"burned_{source}"] == added[row["player"], source]
            assert row[f"burned_{source}"] == sums(burned, "player", "damage")[row["player"]]
        assert row["wasted"] == wasted[row["player"]]
    burned = told.rows["soulburns"]
    for table, key in (("payments", "payment"), ("rifts", "rift")):
        by_row = [row for row in burned if row[key]]
        assert sums(by_row, key, "damage") == sums(told.rows[table], key, "burned")


# ------------------------------------------------------------------------------------------------ Souls


@in_each_match
def test_souls_came_are_gone_or_are_there(told: Told) -> None:
    """Each Soul is in one place, which the recount knows; those that came are those spent, lost and there."""
    rows, count = told.rows["souls"], told.recount
    assert [row["soul"] for row in rows] == list(range(1, len(rows) + 1))
    assert {row["soul"]: (row["fate"], row["last_rank"]) for row in rows} == {
        soul: (now["at"], now["rank"]) for soul, now in count.souls.items()
    }
    fates = Counter(row["fate"] for row in rows)
    aether, cards, gone = count.censuses[-1]
    assert (fates["aether"], fates["card"], fates["spent"] + fates["lost"]) == (sum(aether), sum(cards), gone)
    assert fates["spent"] == sum(row["souls"] for row in told.rows["payments"])
    assert fates["spent"] == sum(row["spent"] for row in told.rows["players"])
    assert fates["card"] == sum(row["held"] for row in told.rows["cards"] if row["fate"] == "there")


@in_each_match
def test_souls_came_as_the_record_says(told: Told) -> None:
    """Of a creature, by an effect or by a ruling; with the creature as it was when it was destroyed."""
    destroyed = {(event["entry"], event["card"]): event for event in told.recount.of("creature_destroyed")}
    collected = {event["soul"]: event for event in told.recount.of("soul_collected")}
    released = {event["soul"]: event for event in told.recount.of("soul_released")}
    creature = ("definition", "controller", "creature_rank", "sealed", "cause")
    for row in told.rows["souls"]:
        soul, origin = row["soul"], {"creature": collected, "effect": released, "ruling": {}}[row["source"]]
        assert (row["source"] != "ruling") == (soul in origin)
        if row["source"] == "creature":
            event = destroyed[row["entry"], row["creature"]]
            of = tuple(event[name] for name in ("definition", "controller", "rank", "sealed", "cause"))
            assert columns([row], *creature) == [of]
            assert row["modifiers"] == sum(each["delta"] for each in collected[soul]["modifiers"])
            assert row["rank"] == min(3, max(0, (row["creature_rank"] or 0) + row["modifiers"]))  # C-3, C-4
        elif row["source"] == "effect":
            cause, by = origin[soul]["cause"], origin[soul]["by"]
            assert columns([row], "creature", *creature) == [(None, None, by, None, None, cause)]
    owners = Counter(row["controller"] for row in told.rows["souls"] if row["source"] == "creature")
    assert +owners == {row["player"]: row["collected"] for row in told.rows["players"] if row["collected"]}


@in_each_match
def test_moves_are_a_chain(told: Told) -> None:
    """Each Soul comes from nowhere once, each move starts where the one before ended, and nothing follows its end."""
    for soul, moves in groups(told.rows["soul_moves"], "soul").items():
        assert [(row["n"], row["part"]) for row in moves] == sorted((row["n"], row["part"]) for row in moves)
        place, card, row = "new", None, told.rows["souls"][soul - 1]
        assert (moves[0]["entry"], moves[0]["rank"], moves[0]["step"] in {"aether", "card"}) == (
            row["entry"],
            row["rank"],
            True,
        )
        rank = row["rank"]
        for move in moves:
            assert move["came_from"] == place not in {"spent", "lost"}
            assert (move["step"] == "rank") == (move["rank"] != rank)
            if move["step"] == "control":
                assert (place, move["card"]) == ("card", card)
            elif move["step"] != "rank":
                place, card = move["step"], move["card"]
            rank = move["rank"]
            assert (move["payment"] is not None) == (move["step"] == "spent")
        assert (place, rank) == (row["fate"], row["last_rank"])
        ended = moves[-1]["entry"] if place in {"spent", "lost"} else None
        assert (row["end_entry"], row["payment"]) == (ended, moves[-1]["payment"])
        if place == "card":
            now = told.recount.souls[soul]["card"]
            assert (card, [each for each in moves if each["card"]][-1]["player"]) == (
                now,
                told.recount.cards[now]["controller"],
            )


@in_each_match
def test_moves_make_the_census_of_the_recount(told: Told) -> None:
    """After every entry the Souls are where the recount has them, with the ranks that it has."""
    assert list(censuses(told)) == told.recount.censuses


@in_each_match
def test_reaped_returned_and_stolen_count_events(told: Told) -> None:
    """What a ruling moves counts as neither; a Soul is stolen as often as control of its card changes under it."""
    for name, kind in (("reaped", "soul_reaped"), ("returned", "soul_returned")):
        assert sums(told.rows["souls"], "soul", name) == Counter(event["soul"] for event in told.recount.of(kind))
    stolen = Counter(row["soul"] for row in told.rows["soul_moves"] if row["step"] == "control")
    assert sums(told.rows["souls"], "soul", "stolen") == stolen
    assert {row["n"] for row in told.rows["soul_moves"] if row["step"] == "control"} <= {
        event["n"] for event in told.recount.of("control_changed")
    }
    reaped = Counter(event["card"] for event in told.recount.of("soul_reaped"))
    assert sums(told.rows["cards"], "card", "reaped") == reaped


# ------------------------------------------------------------------------------------------------ payments and Rifts


@in_each_match
def test_payments_are_those_of_the_record(told: Told) -> None:
    """With the Souls that they consumed, whose ranks make their power."""
    spent = groups([row for row in told.rows["souls"] if row["fate"] == "spent"], "payment")
    for row, event in zip(told.rows["payments"], told.recount.of("cost_paid"), strict=True):
        same = ("payment", "entry", "player", "effect", "cost", "source", "amount", "power")
        assert columns([row], *same) == [tuple(event[name] for name in same)]
        souls = spent.pop(row["payment"])
        assert row["power"] == sum(soul["last_rank"] + 1 for soul in souls) >= row["amount"] > 0
        assert sorted(soul["soul"] for soul in souls) == sorted(each["soul"] for each in event["souls"])
        assert (row["souls"], row["from_cards"]) == (
            len(souls),
            sum(each["card"] is not None for each in event["souls"]),
        )
        assert {soul["player"] for soul in souls} == {row["player"]}
        assert {soul["end_entry"] for soul in souls} == {row["entry"]}
        assert row["kind"] == ("effect" if row["effect"] else "cost" if row["cost"] else "rift")
    assert not spent
    assert sums(told.rows["payments"], "player", "amount") == sums(told.rows["players"], "player", "paid")


@in_each_match
def test_payments_end_as_the_record_says(told: Told) -> None:
    """What was not paid for an effect is settled; an effect has its one end, or is open as the recount has it."""
    ended = {
        event["payment"]: (event["type"].removeprefix("effect_"), event["entry"], event.get("reason"))
        for event in told.recount.of("effect_resolved", "effect_fizzled")
    }
    for event in told.recount.of("ruling_made"):
        for made in event["corrections"]:
            if "payment" in made:
                ended[made["payment"]["payment"]] = ("closed", event["entry"], event["reason"])
    for row in told.rows["payments"]:
        still = ("open" if row["kind"] == "effect" else "settled", None, None)
        assert columns([row], "outcome", "end_entry", "reason") == [ended.get(row["payment"], still)]
    assert [row["payment"] for row in told.rows["payments"] if row["outcome"] == "open"] == list(told.recount.open)


@in_each_match
def test_what_a_payment_wasted(told: Told) -> None:
    """The power above its cost, the cost itself if the effect fizzled and its payer still burned, and the ranks of its
    Rift that burned; it took life as the ruleset says, and what the cheapest payment would have taken is told too.
    """
    burned = {row["payment"]: row["unused"] for row in told.rows["rifts"] if row["outcome"] == "closed"}
    each = told.rows["matches"][0]["soulburn_per_power"]
    for row in told.rows["payments"]:
        over = row["power"] - row["amount"]
        fizzled = row["outcome"] == "fizzled" and row["payment"] not in told.recount.unburned
        own = over + (row["amount"] if fizzled else 0)
        assert (row["burned"], row["wasted"]) == (own * each, own + burned.get(row["payment"], 0))
        least = told.recount.least[row["payment"]] - row["amount"]
        assert 0 <= row["least_burn"] == least * each <= over * each
    assert sums(told.rows["payments"], "player", "wasted") == sums(told.rows["players"], "player", "wasted")


@in_each_match
def test_rifts_are_those_of_the_record(told: Told) -> None:
    """Each with its payment, which says the same, and with its end: by its player, by R-10, by a judge, or not yet."""
    paid = {row["payment"]: row for row in told.rows["payments"]}
    closed = {event["rift"]: event for event in told.recount.of("rift_closed")}
    burned = {event["rift"] for event in told.recount.of("soulburn_taken") if event["rift"]}
    for row, event in zip(told.rows["rifts"], told.recount.of("rift_opened"), strict=True):
        same = ("rift", "entry", "player", "rank", "payment")
        assert columns([row], *same) == [tuple(event[name] for name in same)]
        assert columns([paid[row["payment"]]], "rift", "entry", "player", "amount", "power", "kind") == [
            (row["rift"], row["entry"], row["player"], row["rank"], row["power"], "rift")
        ]
        end = closed.get(row["rift"])
        if end:
            assert columns([row], "end_entry", "highest", "unused") == [(end["entry"], end["highest"], end["unused"])]
            first = told.recount.entries[end["entry"] - 1]["command"]["type"]
            assert row["outcome"] == ("closed" if first == "close_rift" else "ended")
        else:
            assert row["outcome"] == ("open" if told.recount.rift.get("rift") == row["rift"] else "ruled")
        assert row["unused"] == (None if row["outcome"] == "open" else row["rank"] - row["highest"])
        assert (row["rift"] in burned) == (row["outcome"] == "closed" and row["unused"] > 0)
        if row["outcome"] == "open":
            assert row["highest"] == told.recount.rift["highest"]
    opened = Counter((row["player"], row["rank"]) for row in told.rows["rifts"])
    for player in told.rows["players"]:
        for rank in (1, 2, 3):
            assert player[f"rifts_{rank}"] == opened[player["player"], rank]


@in_each_match
def test_summons_are_those_of_the_record(told: Told) -> None:
    """Each creature that came through, with its Rift's rank; the Rift counts them, and no judge was needed for it to
    know the highest.
    """
    names = ("n", "entry", "rift", "card", "definition", "rank")
    rows = told.rows["summons"]
    assert columns(rows, *names, "player") == [
        (*(event[name] for name in names), event["controller"]) for event in told.recount.of("creature_summoned")
    ]
    ruled = {"rift" in made for event in told.recount.of("ruling_made") for made in event["corrections"]}
    came = groups(rows, "rift")
    for rift in told.rows["rifts"]:
        through = came[rift["rift"]]
        assert rift["summoned"] == len(through)
        assert {row["rift_rank"] for row in through} <= {rift["rank"]}
        if True not in ruled:
            assert rift["highest"] == max((row["rank"] for row in through), default=0)


# ------------------------------------------------------------------------------------------------ cards


@in_each_match
def test_cards_that_are_there_are_the_battlefield(told: Told) -> None:
    """In the end, with rank, controller, Sealed, Soulless and as many Souls as the recount has on them."""
    there = [row for row in told.rows["cards"] if row["fate"] == "there"]
    names = ("card", "last_controller", "rank", "sealed", "soulless", "held", "n")
    assert sorted(columns(there, *names)) == sorted(
        (
            name,
            card["controller"],
            card["rank"],
            card["sealed"],
            card["soulless"],
            len(told.recount.on(name)),
            card["came"],
        )
        for name, card in told.recount.cards.items()
    )


@in_each_match
def test_cards_come_and_go_as_the_record_says(told: Told) -> None:
    """A row for each that came, as it came; the next going of that name is its own, as it was then; and the Soul of a
    destroyed one names it.
    """
    came = told.recount.of("card_entered", "creature_summoned")
    went = told.recount.of("creature_destroyed", "card_destroyed", "card_left")
    souls = {(event["entry"], event["creature"]): event["soul"] for event in told.recount.of("soul_collected")}
    same = ("n", "entry", "card", "name", "definition", "kind", "deck", "owner")
    for row, event in zip(told.rows["cards"], came, strict=True):
        assert columns([row], *same, "player", "rift") == [
            (*(event[name] for name in same), event["controller"], event.get("rift"))
        ]
        end = next((each for each in went if each["card"] == row["card"] and each["entered"] == row["entry"]), None)
        assert (end is None) == (row["fate"] == "there")
        if end:
            fate = "left" if end["type"] == "card_left" else "destroyed"
            assert columns([row], "fate", "end_entry", "rank", "last_controller", "sealed", "soulless", "done_by") == [
                (fate, *(end[name] for name in ("entry", "rank", "controller", "sealed", "soulless", "by")))
            ]
            assert (row["held"], row["detail"]) == (len(end["souls"]), end["to"] if fate == "left" else end["cause"])
        assert row["soul"] == (souls.get((end["entry"], row["card"])) if end else None)


# ------------------------------------------------------------------------------------------------ keys, joins, files


@in_each_match
def test_keys_are_unique(told: Told) -> None:
    """No two rows of a table have the same values in the columns of its key, none of which is null."""
    for table in of_matches():
        key = [name for name in table.key if name != "match"]
        found = columns(told.rows[table.name], *key)
        assert (table.name, len(found)) == (table.name, len(set(found)))
        assert not any(None in each for each in found)


JOINS = {
    "entry": ("entries", "entry"),
    "end_entry": ("entries", "entry"),
    "n": ("events", "n"),
    "payment": ("payments", "payment"),
    "rift": ("rifts", "rift"),
    "soul": ("souls", "soul"),
    **dict.fromkeys(
        ("player", "controller", "owner", "last_controller", "done_by", "winner", "first"), ("players", "player")
    ),
}
"""By the name of a column, in whatever table: of which one it names a row."""


@in_each_match
def test_what_a_row_names_is_there(told: Told) -> None:
    """Whatever player, entry, event, payment, Rift or Soul a row names has a row in its own table."""
    known = {place: {row[place[1]] for row in told.rows[place[0]]} for place in set(JOINS.values())}
    for table in of_matches():
        for column in table.columns:
            place = JOINS.get(column.name)
            if place:
                named = {row[column.name] for row in told.rows[table.name]} - {None}
                assert (table.name, column.name, named - known[place]) == (table.name, column.name, set())
    assert columns(told.rows["summons"], "n", "card") == [
        (row["n"], row["card"]) for row in told.rows["cards"] if row["rift"]
    ]


@in_each_match
def test_turns_are_those_of_the_entries(told: Told) -> None:
    """In every table, the turn of a row is that of the entry that it names; so is the turn of an end."""
    turns: dict[int | None, int | None] = {None: None, **dict(columns(told.rows["entries"], "entry", "turn"))}
    for table in of_matches():
        names = [column.name for column in table.columns]
        for turn, entry in (("turn", "entry"), ("end_turn", "end_entry")):
            if turn in names:
                wrong = [row for row in told.rows[table.name] if row[turn] != turns[row[entry]]]
                assert (table.name, wrong) == (table.name, [])


def made() -> list[MatchRows]:
    """What the matches of these tests make."""
    return [match_rows(told.match, told.entries) for told in all_told()]


@pytest.mark.parametrize("at_once", [100_000, 7])
def test_files_hold_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """Read back from Parquet, each table has its schema, and all rows with the match that they are of; however many are
    written together.
    """
    monkeypatch.setattr(parts, "ROWS", at_once)
    writer = parts.PartWriter("all", lambda table: table.name, lambda path: (tmp_path / path).open("wb"))
    matches = made() if at_once > len(WALKS) else made()[-12:]
    for each in matches:
        writer.add(each)
    part = writer.close()
    assert (part.matches, part.entries, part.events) == (
        len(matches),
        sum(each.entries for each in matches),
        sum(each.events for each in matches),
    )
    told = {each.match: each.rows for each in all_told() if each.match in {one.match for one in matches}}
    for table in of_matches():
        expected = [{"match": match, **row} for match, rows in told.items() for row in rows[table.name]]
        found = pq.read_table(tmp_path / table.name)
        assert found.schema.equals(table.arrow)
        assert found.to_pylist() == expected
    for file in part.files:
        assert file.rows == pq.read_metadata(tmp_path / file.path).num_rows


@pytest.mark.parametrize("table", list(of_matches()), ids=lambda table: table.name)
def test_values_fit_their_columns(table: Table) -> None:
    """Each value of a column is of its Arrow type, as Arrow itself says, and comes back the same."""
    rows = [row for told in all_told() for row in told.rows[table.name]]
    for column in table.columns[table.name != "matches" :]:
        values = [row[column.name] for row in rows]
        found = pa.array(values, column.arrow)
        found.validate(full=True)
        assert found.to_pylist() == values


def test_rows_stand_in_the_order_of_play() -> None:
    """In every table the rows of a match are in the order of the record."""
    for told in all_told():
        for table, by in {"events": "n", "soulburns": "n", "summons": "n", "cards": "n", "life": "n"}.items():
            numbers = [row[by] for row in told.rows[table]]
            assert numbers == sorted(numbers)
        assert [soul for soul, _ in groupby(told.rows["souls"], key=lambda row: row["soul"])] == list(
            range(1, len(told.rows["souls"]) + 1)
        )
