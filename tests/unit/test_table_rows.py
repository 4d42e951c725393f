"""The rows of the tables that small matches make, worked out by hand from the rule book.

The start of a match is its entry 1 and its event 1; every command after it makes one more entry.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from domain.codec import CorruptRecordError
from domain.rules import AnyEvent
from domain.rules.commands import MAX_INTEGER
from domain.rules.events import EffectResolved, RiftOpened, SoulburnTaken, SoulCollected, SoulReaped
from projections.analytics.rows import match_rows
from projections.analytics.schemas import SOULS as SOULS_TABLE
from simulation.chance import GENERATOR
from simulation.runs import SIMULATOR, Run, play_match
from tests.kit import Json, of
from tests.recordings import lines, played, root_of
from tests.table_rows import Rows, columns, row, rows_of
from tests.unit.rules.moves import (
    close_rift,
    concede,
    control,
    defeated,
    destroy,
    enter,
    fizzle,
    leave,
    life,
    lives,
    modifier,
    open_rift,
    pay,
    reap,
    releases,
    resolve,
    result,
    ruling,
    summon,
    turn,
)

AETHER = "aether"
MISSED = "missed trigger"
"""The reason of every ruling here."""


def seats(players: Iterable[str]) -> list[Json]:
    """Players who sit down, without names for display."""
    return [{"player": player} for player in players]


def tables(*commands: Json, players: Iterable[str] = "ab", **ruleset: Any) -> Rows:
    """The rows of match m of these players, after its start and these commands."""
    return begun(of("start_match", match="m", players=seats(players), ruleset=ruleset), *commands)


def begun(*commands: Json) -> Rows:
    """The rows of match m, whose first command is the first of these."""
    return rows_of(played(commands))


def to_soul(number: int, to: Any) -> Json:
    """The correction of where a Soul is."""
    return {"soul": {"soul": number, "to": to}}


def to_rank(number: int, rank: int) -> Json:
    """The correction of a Soul's rank."""
    return {"rank": {"soul": number, "rank": rank}}


def new_soul(rank: int, to: Any = AETHER) -> Json:
    """The correction that a Soul should be there."""
    return {"new_soul": {"rank": rank, "to": to}}


# ------------------------------------------------------------------------------------------------ matches


FORK: tuple[Json, ...] = (
    of(
        "start_match",
        match="m",
        players=seats("ab"),
        origin={"match": "before", "entry": MAX_INTEGER},
        ruleset={
            "starting_life": 50,
            "soulburn_per_power": 7,
            "sealed_bonus": 2,
            "release_rank": 2,
            "rift_min_rank": 0,
            "souls_on_leaving": "lost",
            "overpay": "any",
        },
        meta={"at": "2026-03-14T20:00:00.5+02:00"},
    ),
    *(turn("b"), of("release"), of("release")),  # 2 to 4: two Souls of rank 2, power 3
    *(pay("a", 3, 1), open_rift("b", 3, 2)),  # 5, 6: the second of three events
    concede("a") | {"meta": {"at": "2026-03-14T18:30:00Z"}},  # 7: a falls, the Rift closes, b wins
)


def test_a_match_is_told_in_full() -> None:
    """A fork that has ended, with every field of its ruleset, its counts, its first and last moment, and its root."""
    assert begun(*FORK)["matches"] == [
        row(
            "matches",
            match="m",
            status="ended",
            winner="b",
            reason="L-4",
            players=2,
            first="b",
            turns=1,
            entries=7,
            events=1 + 1 + 1 + 1 + 1 + 3 + 3,
            souls=2,
            payments=2,
            rifts=1,
            began_at=datetime(2026, 3, 14, 18, 0, 0, 500_000, UTC),
            last_at=datetime(2026, 3, 14, 18, 30, tzinfo=UTC),
            rules=1,
            starting_life=50,
            soulburn_per_power=7,
            sealed_bonus=2,
            release_rank=2,
            rift_min_rank=0,
            souls_on_leaving="lost",
            overpay="any",
            private=False,
            origin_match="before",
            origin_entry=MAX_INTEGER,
            root=root_of(lines(FORK)).hex(),
        )
    ]


def test_a_match_that_has_only_begun() -> None:
    """It runs, nobody has won or had a turn, and its ruleset is the rule book's."""
    start = of("start_match", match="m", players=seats("ab"))
    assert begun(start)["matches"] == [
        row(
            "matches",
            match="m",
            status="running",
            players=2,
            turns=0,
            entries=1,
            events=1,
            souls=0,
            payments=0,
            rifts=0,
            rules=1,
            starting_life=30,
            soulburn_per_power=3,
            sealed_bonus=1,
            release_rank=0,
            rift_min_rank=1,
            souls_on_leaving="return",
            overpay="needed",
            private=False,
            root=root_of(lines([start])).hex(),
        )
    ]


REOPENED = (concede("b"), ruling(defeated("b", to=False), result("running")))


@pytest.mark.parametrize(
    ("commands", "status", "winner", "reason", "results"),
    [
        ((turn(),), "running", None, None, ("running", "running")),
        ((concede("a"),), "ended", "b", "L-4", ("lost", "won")),
        ((lives(a=-30, b=-31),), "ended", None, "L-4", ("drawn", "drawn")),  # both fall by one command
        ((of("end_match"),), "ended", None, None, ("drawn", "drawn")),
        ((of("end_match", winner="a", reason="time"),), "ended", "a", "time", ("won", "lost")),
        ((ruling(result("ended", winner="b")),), "ended", "b", MISSED, ("lost", "won")),
        ((ruling(defeated("b")),), "ended", "a", "L-4", ("won", "lost")),
        (REOPENED, "running", None, None, ("running", "running")),
        ((*REOPENED, of("end_match", reason="agreed")), "ended", None, "agreed", ("drawn", "drawn")),
        ((*REOPENED, lives(a=-30)), "ended", "b", "L-4", ("lost", "won")),
    ],
)
def test_how_a_match_stands(
    commands: tuple[Json, ...], status: str, winner: str | None, reason: str | None, results: tuple[str, str]
) -> None:
    """Running, won or drawn, by life, by the game's word or by a judge's, and why; and so for each player."""
    told = tables(*commands)
    assert columns(told["matches"], "status", "winner", "reason") == [(status, winner, reason)]
    assert columns(told["players"], "result") == [(each,) for each in results]


def test_a_ruling_gives_the_win_to_the_other() -> None:
    """A result that a judge corrects counts as it is now."""
    told = tables(concede("b"), ruling(result("ended", winner="b")))
    assert columns(told["matches"], "status", "winner") == [("ended", "b")]
    assert columns(told["players"], "player", "result") == [("a", "lost"), ("b", "won")]


@pytest.mark.parametrize("last", [(), (concede("a"),), (concede("a"), ruling(life("a", 1))), REOPENED])
def test_what_stands_beside_the_rows(last: tuple[Json, ...]) -> None:
    """The name, the counts and the root are those of the row of matches; `ended` says whether the match has."""
    entries = played([of("start_match", match="m", players=seats("ab")), *last])
    made, told = match_rows("m", entries), rows_of(entries)["matches"][0]
    assert (made.match, made.run, made.entries, made.events) == ("m", None, told["entries"], told["events"])
    assert (made.root, made.ended) == (told["root"], told["status"] == "ended")


def test_a_simulated_match_names_its_run() -> None:
    """The match has its run and number there, the players what they played with; the greatest seed is exact. Of the
    run is told what the record knows of it.
    """
    seed = 2**64 - 1
    entries = play_match(Run(seed, ("blaze", "rift"), ("greedy", "random")), 3, record=True).entries
    match, run = f"run-{seed}-3", match_rows(f"run-{seed}-3", entries).run
    told = rows_of(entries, match)
    assert columns(told["matches"], "match", "run", "number") == [(match, f"run-{seed}", 3)]
    assert columns(told["players"], "player", "name", "deck", "policy") == [
        ("p1", "blaze, greedy", "blaze", "greedy"),
        ("p2", "rift, random", "rift", "random"),
    ]
    known = {"run": f"run-{seed}", "seed": str(seed), "simulator": SIMULATOR, "generator": GENERATOR}
    assert run is not None
    assert run._asdict() == row("runs", **known)


def test_a_player_of_a_run_without_a_name() -> None:
    """Where a match that says it was simulated does not say with what, deck and policy are null."""
    actor = f"simulator 1, {GENERATOR}, seed 7, match 3"
    start = of("start_match", match="run-7-3", players=seats("ab"), meta={"actor": actor})
    assert columns(rows_of(played([start]), "run-7-3")["players"], "name", "deck", "policy") == [(None, None, None)] * 2


@pytest.mark.parametrize(
    ("match", "actor"),
    [
        ("run-7-3", None),
        ("run-7-3", "table 1"),
        ("run-7-3", f"simulator 1, {GENERATOR}, seed 7, match 4"),
        ("run-7-3", f"simulator 1, {GENERATOR}, seed 8, match 3"),
        ("run-7-3", f"simulator 1, {GENERATOR}, seed 7, match 3."),
        ("a fork", f"simulator 1, {GENERATOR}, seed 7, match 3"),
        ("run-7-0", f"simulator 1, {GENERATOR}, seed 7, match 0"),  # they are numbered from 1
        ("run-7-03", f"simulator 1, {GENERATOR}, seed 7, match 03"),  # as no program writes it: 3 is another match
        ("run-07-3", f"simulator 1, {GENERATOR}, seed 07, match 3"),
        ("run-7-\u0663", f"simulator 1, {GENERATOR}, seed 7, match \u0663"),  # a digit, but not one of ours
    ],
)
def test_a_match_that_only_looks_simulated(match: str, actor: str | None) -> None:
    """Unless name and actor agree, a match belongs to no run, and its players have neither deck nor policy."""
    players = [{"player": "a", "name": "blaze, greedy"}, {"player": "b"}]
    start = of("start_match", match=match, players=players, meta={"actor": actor} if actor else {})
    told = rows_of(played([start]), match)
    assert columns(told["matches"], "run", "number") == [(None, None)]
    assert columns(told["players"], "name", "deck", "policy") == [("blaze, greedy", None, None), (None, None, None)]


def test_a_private_match_tells_commitments() -> None:
    """It says that it is private; where names and actors are told, their commitments stand."""
    ada, mo = f"sha256:{'a' * 64}", f"sha256:{'0' * 64}"
    start = of("start_match", match="m", players=[{"player": "a", "name": ada}, {"player": "b"}], private=True)
    told = begun(start, turn() | {"meta": {"actor": mo}})
    assert columns(told["matches"], "private", "run") == [(True, None)]
    assert columns(told["players"], "player", "name") == [("a", ada), ("b", None)]
    assert columns(told["entries"], "actor") == [(None,), (mo,)]


# ------------------------------------------------------------------------------------------------ players

GAME = (
    *(turn(), *releases(2, 1, 0, 3)),  # 2 to 6: Souls 1 to 4, of power 3, 2, 1 and 4
    *(enter("x"), enter("y", "b"), enter("w"), control("w", "b")),  # 7 to 10
    destroy("x", "y", "w", by="a"),  # 11: Soul 5 of a's x, Souls 6 and 7 of b's y and w; power 1 each
    pay("a", 2, 1),  # 12: payment 1, 1 over
    fizzle(1, reason="no target"),  # 13: all of 2
    *(open_rift("a", 1, 3), close_rift("a")),  # 14, 15: payment 2, Rift 1; its only rank unused
    turn("b"),  # 16
    open_rift("b", 3, 4),  # 17: payment 3, 1 over; Rift 2
    *(summon("b", "s", 2, definition="wisp-7"), close_rift("b")),  # 18, 19: 3 - 2 unused
    pay("b", 2, 5, 6, cost="ward", source="Altar"),  # 20: payment 4
    concede("a"),  # 21
)
"""A match with every kind of payment and Soulburn; its events are 36, its lives in the end 18 and 24."""


def test_players_are_told_in_full() -> None:
    """Each player's seat, name, result and life, and the sums of what the player collected, spent and burned."""
    named = [{"player": "a", "name": "Ada"}, {"player": "b"}]
    assert begun(of("start_match", match="m", players=named), *GAME)["players"] == [
        row(
            "players",
            player="a",
            seat=0,
            name="Ada",
            result="lost",
            began=True,
            life=30 - 3 - 6 - 3,
            defeated="concede",
            collected=1,
            spent=2,
            paid=2 + 1,
            burned_overpay=3,
            burned_fizzle=6,
            burned_rift=3,
            wasted=1 + 2 + 1,
            rifts_1=1,
            rifts_2=0,
            rifts_3=0,
        ),
        row(
            "players",
            player="b",
            seat=1,
            result="won",
            began=False,
            life=30 - 3 - 3,
            collected=2,
            spent=3,
            paid=3 + 2,
            burned_overpay=3,
            burned_fizzle=0,
            burned_rift=3,
            wasted=1 + 1,
            rifts_1=0,
            rifts_2=0,
            rifts_3=1,
        ),
    ]


def test_players_of_a_match_in_which_nothing_was_done() -> None:
    """All sums are 0, and nobody began, while no turn has."""
    done = ("collected", "spent", "paid", "wasted", "rifts_1", "rifts_2", "rifts_3")
    nothing = dict.fromkeys((*done, "burned_overpay", "burned_fizzle", "burned_rift"), 0)
    assert tables()["players"][1] == row(
        "players", player="b", seat=1, result="running", began=False, life=30, **nothing
    )


def test_a_player_opens_rifts_of_each_rank() -> None:
    """Rifts count by their rank; the one of a payer who fell was never open (R-9)."""
    opened = [open_rift("a", 1, 1), open_rift("a", 2, 2), open_rift("a", 3, 3), open_rift("a", 2, 4)]  # 8 levels burn
    each = [command for rift in opened for command in (turn(), rift, close_rift("a"))]
    last = (*releases(3), turn(), open_rift("a", 1, 5))  # 4 - 1 over
    told = tables(*releases(0, 1, 2, 1), *each, *last, starting_life=8 + 3, soulburn_per_power=1)
    assert columns(told["players"], "rifts_1", "rifts_2", "rifts_3", "life") == [(1, 2, 1, 0), (0, 0, 0, 11)]


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        ((concede("a"),), "concede"),
        ((lives(a=-30),), "life"),
        ((ruling(life("a", -30)),), "life"),
        ((ruling(defeated("a")),), "ruling"),
        ((ruling(life("a", -30), defeated("a")),), "ruling"),
        ((concede("a"), ruling(defeated("a", to=False))), None),
        ((lives(a=-30), lives(a=60)), "life"),  # no life brings a player back (L-3)
        ((concede("a"), ruling(defeated("a", to=False)), lives(a=-30)), "life"),
        ((concede("a"), ruling(defeated("a", to=False)), ruling(defeated("a"))), "ruling"),
        ((of("end_match"), ruling(defeated("a"))), "ruling"),  # after the end, when no event but the ruling says so
    ],
)
def test_what_defeated_a_player(commands: tuple[Json, ...], told: str | None) -> None:
    """Life, giving up, or a judge, whichever did so last; nothing, once a judge has brought the player back."""
    assert columns(tables(*commands, players="abc")["players"], "player", "defeated")[0] == ("a", told)


def test_a_player_whom_a_judge_defeats_after_the_end() -> None:
    """A judge who brings a player back and takes that back has defeated the player, though the match stays ended."""
    told = tables(concede("a"), ruling(defeated("a", to=False)), ruling(defeated("a")))
    assert columns(told["players"], "player", "defeated") == [("a", "ruling"), ("b", None)]


def test_a_match_of_sixteen() -> None:
    """Every player has a row and a life from the start, in the match's order, whoever falls."""
    names = [f"p{number}" for number in range(16, 0, -1)]
    told = tables(turn("p1"), *map(concede, names[:-1]), players=names)
    assert columns(told["matches"], "players", "winner", "first") == [(16, "p1", "p1")]
    assert columns(told["players"], "player", "seat", "result") == [
        *((name, seat, "lost") for seat, name in enumerate(names[:-1])),
        ("p1", 15, "won"),
    ]
    assert columns(told["life"], "n", "part", "player") == [(1, part, name) for part, name in enumerate(names)]


# ------------------------------------------------------------------------------------------------ entries


def test_entries_are_told_in_full() -> None:
    """A command with who did it, the turn after it, its number of events, and itself in canonical JSON."""
    meta = {"actor": "table 1", "at": "2026-05-09T11:00:12Z"}
    told = tables(
        turn(),
        enter("k", "b") | {"meta": meta},
        of("destroy", by="a", cards=["k"]),
        ruling(life("a", 1)),
        of("change_life", reason="healing", changes=[{"player": "a", "delta": 1}]),
    )
    command = '{"card":"k","controller":"b","meta":{"actor":"table 1","at":"2026-05-09T11:00:12Z"},"type":"enter"}'
    assert told["entries"][2] == row(
        "entries",
        entry=3,
        turn=1,
        type="enter",
        player="b",
        events=1,
        actor="table 1",
        sent_at=datetime(2026, 5, 9, 11, 0, 12, tzinfo=UTC),
        command=command,
    )
    start = '{"match":"m","players":[{"player":"a"},{"player":"b"}],"type":"start_match"}'
    rule = (
        '{"corrections":[{"life":{"delta":1,"player":"a"}}],"judge":"judge","reason":"missed trigger","type":"ruling"}'
    )
    assert columns(told["entries"], "entry", "turn", "type", "player", "events", "actor", "sent_at", "command") == [
        (1, 0, "start_match", None, 1, None, None, start),
        (2, 1, "begin_turn", "a", 1, None, None, '{"player":"a","type":"begin_turn"}'),
        (3, 1, "enter", "b", 1, "table 1", datetime(2026, 5, 9, 11, 0, 12, tzinfo=UTC), command),
        (4, 1, "destroy", "a", 2, None, None, '{"by":"a","cards":["k"],"type":"destroy"}'),
        (5, 1, "ruling", None, 1, None, None, rule),
        (
            *(6, 1, "change_life", None, 1, None, None),
            '{"changes":[{"delta":1,"player":"a"}],"reason":"healing","type":"change_life"}',
        ),
    ]


@pytest.mark.parametrize(
    ("at", "moment"),
    [
        ("2026-03-14T18:30:12Z", datetime(2026, 3, 14, 18, 30, 12, tzinfo=UTC)),
        ("2026-03-14t18:30:12z", datetime(2026, 3, 14, 18, 30, 12, tzinfo=UTC)),
        ("2026-03-14T18:30:12-00:00", datetime(2026, 3, 14, 18, 30, 12, tzinfo=UTC)),
        ("2024-02-29T23:59:59.5+02:00", datetime(2024, 2, 29, 21, 59, 59, 500_000, UTC)),
        ("2026-01-01T01:30:00+05:45", datetime(2025, 12, 31, 19, 45, tzinfo=UTC)),
        ("2026-12-31T23:59:59.9999999Z", datetime(2026, 12, 31, 23, 59, 59, 999_999, UTC)),  # cut, never rounded
        ("2026-12-31T23:59:59.123456789-23:59", datetime(2027, 1, 1, 23, 58, 59, 123_456, UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)),
        ("0001-01-01T00:00:00+00:01", None),  # before the calendar
        ("9999-12-31T23:59:59-00:01", None),  # after it
        ("2016-12-31T23:59:60Z", None),  # a leap second, which it does not have
        (None, None),
    ],
)
def test_moments(at: str | None, moment: datetime | None) -> None:
    """`meta.at` is told in UTC, to the microsecond, in entries and as a match's first and last moment; null where no
    calendar has it.
    """
    meta = {"meta": {"at": at}} if at else {}
    told = begun(of("start_match", match="m", players=seats("ab")) | meta, turn(), turn() | meta)
    assert columns(told["entries"], "sent_at") == [(moment,), (None,), (moment,)]
    assert columns(told["matches"], "began_at", "last_at") == [(moment, moment)]
    for each in told["entries"]:
        assert each["sent_at"] is None or each["sent_at"].utcoffset().total_seconds() == 0


# ------------------------------------------------------------------------------------------------ events

EVENTFUL = (
    *(turn(), enter("k", rank=2, definition="golem-3"), enter("altar", "b", kind="other")),  # 2 to 4
    *(of("seal", card="k"), of("unseal", card="k")),  # 5, 6
    *(of("set_soulless", card="k", soulless=True), of("set_soulless", card="k", soulless=False)),  # 7, 8
    *(of("set_rank", card="k", rank=3, cause="blessing"), control("k", "b")),  # 9, 10
    *(of("release", rank=1, by="a", cause="Lantern"), reap("altar", 1, by="b", cause="Hunger")),  # 11, 12
    destroy("k", "altar", by="a", cause="Pyre"),  # 13: both go, k gives Soul 2, Soul 1 comes back from the altar
    *(of("take_event", player="a", event="pilgrimage"), pay("a", 3, 2), resolve(1)),  # 14 to 16: 4 - 3 over
    *(of("fizzle", effect="lantern"), enter("z"), reap("z", 1), leave("z")),  # 17 to 20: Soul 1 is lost with z
    *(turn("b"), *releases(1), open_rift("b", 2, 3)),  # 21 to 23
    *(summon("b", "s", 1, definition="wisp-1"), close_rift("b")),  # 24, 25: 2 - 1 unused
    *(of("change_life", reason="healing", changes=[{"player": "a", "delta": 2}]), ruling(life("b", -1))),  # 26, 27
    lives(b=-26),  # 28: 30 - 3 - 1 - 26, and so a wins
)
"""Commands that make an event of every type."""


def event(n: int, entry: int, kind: str, **values: Any) -> Json:
    """An event without its turn."""
    told = row("events", n=n, entry=entry, type=kind, **values)
    return {name: value for name, value in told.items() if name != "turn"}


def test_events_of_every_type() -> None:
    """Each event in the order of play, with those of its fields that have a column here."""
    told = tables(*EVENTFUL, souls_on_leaving="lost")["events"]
    burned = {"power": 1, "delta": -3, "life": 27}
    assert [{name: value for name, value in each.items() if name != "turn"} for each in told] == [
        event(1, 1, "match_started"),
        event(2, 2, "turn_began", player="a"),
        event(3, 3, "card_entered", player="a", card="k", rank=2, detail="golem-3"),
        event(4, 4, "card_entered", player="b", card="altar"),
        event(5, 5, "creature_sealed", card="k"),
        event(6, 6, "creature_unsealed", card="k"),
        event(7, 7, "soulless_set", card="k", detail="soulless"),
        event(8, 8, "soulless_set", card="k", detail="not soulless"),
        event(9, 9, "rank_set", card="k", rank=3, detail="blessing"),
        event(10, 10, "control_changed", player="b", card="k", detail="a"),
        event(11, 11, "soul_released", player="a", soul=1, rank=1, detail="Lantern"),
        event(12, 12, "soul_reaped", player="b", card="altar", soul=1, rank=1, detail="Hunger"),
        event(13, 13, "creature_destroyed", player="b", card="k", rank=3, detail="Pyre"),
        event(14, 13, "card_destroyed", player="b", card="altar", detail="Pyre"),
        event(15, 13, "soul_collected", card="k", soul=2, rank=3),
        event(16, 13, "soul_returned", card="altar", soul=1, rank=1),
        event(17, 14, "event_taken", player="a", detail="pilgrimage"),
        event(18, 15, "cost_paid", player="a", payment=1, power=4, detail="drain"),
        event(19, 15, "soulburn_taken", player="a", payment=1, detail="B-2", **burned),
        event(20, 16, "effect_resolved", player="a", payment=1, detail="drain"),
        event(21, 17, "effect_fizzled", detail="lantern"),
        event(22, 18, "card_entered", player="a", card="z"),
        event(23, 19, "soul_reaped", card="z", soul=1, rank=1),
        event(24, 20, "card_left", player="a", card="z", detail="hand"),
        event(25, 20, "soul_lost", card="z", soul=1, rank=1),
        event(26, 21, "turn_began", player="b"),
        event(27, 22, "soul_released", soul=3, rank=1),
        event(28, 23, "event_taken", player="b", detail="rift_summoning"),
        event(29, 23, "cost_paid", player="b", payment=2, power=2),
        event(30, 23, "rift_opened", player="b", payment=2, rift=1, rank=2),
        event(31, 24, "creature_summoned", player="b", card="s", rift=1, rank=1, detail="wisp-1"),
        event(32, 25, "rift_closed", player="b", rift=1, rank=1, power=1),
        event(33, 25, "soulburn_taken", player="b", rift=1, detail="B-4", **burned),
        event(34, 26, "life_changed", player="a", delta=2, life=29, detail="healing"),
        event(35, 27, "ruling_made", detail=MISSED),
        event(36, 28, "life_changed", player="b", delta=-26, life=0, detail="combat"),
        event(37, 28, "player_defeated", player="b", detail="life"),
        event(38, 28, "match_ended", player="a", detail="L-4"),
    ]


def test_an_effect_that_was_paid_for_fizzles() -> None:
    """The event names the payment and its player; an unpaid cost of another kind tells what it was for."""
    told = tables(*releases(0, 0), pay("b", 1, 1), fizzle(1), pay("b", 1, 2, cost="ward"))["events"]
    assert told[4] == row("events", n=5, entry=5, turn=0, type="effect_fizzled", player="b", payment=1, detail="drain")
    assert told[6] == row(
        "events", n=7, entry=6, turn=0, type="cost_paid", player="b", payment=2, power=1, detail="ward"
    )


def test_an_event_has_the_turn_of_its_entry() -> None:
    """Before the first turn it is 0; the beginning of a turn is in that turn, as its entry is."""
    told = tables(*releases(0), turn(), *releases(0), turn("b"), concede("a"))
    assert columns(told["entries"], "turn") == [(0,), (0,), (1,), (1,), (2,), (2,)]
    assert columns(told["events"], "turn") == [(0,), (0,), (1,), (1,), (2,), (2,), (2,)]


# ------------------------------------------------------------------------------------------------ Souls

SOULS = (
    *(turn(), enter("k", rank=1, definition="golem-3"), of("seal", card="k"), control("k", "b")),  # 2 to 5
    destroy("k", modifiers=[modifier("k", "rite", 3), modifier("k", "curse", -1)], cause="Pyre"),  # 6: 1 + 1 + 3 - 1
    *(turn("b"), of("release", rank=2, by="a", cause="Lantern")),  # 7, 8: Soul 2
    *(enter("altar", kind="other"), reap("altar", 1, 2), control("altar", "b"), leave("altar")),  # 9 to 12
    *(enter("altar", "b"), reap("altar", 1), pay("b", 4, 1)),  # 13 to 15
    ruling(new_soul(0), to_rank(2, 0)),  # 16: Soul 3
    *(ruling(to_soul(3, {"card": "altar"})), ruling(to_soul(2, "gone")), ruling(to_soul(3, AETHER))),  # 17 to 19
    reap("altar", 3),  # 20
)
"""Souls of all three sources; what a ruling moves was neither reaped nor returned."""


def test_souls_are_told_in_full() -> None:
    """What a Soul came from and what explains its rank, how often it moved, and its end."""
    assert tables(*SOULS)["souls"] == [
        row(
            "souls",
            soul=1,
            entry=6,
            turn=1,
            rank=3,  # 4 is held at 3 (C-3)
            source="creature",
            creature="k",
            definition="golem-3",
            controller="b",
            creature_rank=1,
            sealed=True,
            modifiers=1 + 3 - 1,
            cause="Pyre",
            reaped=2,
            returned=1,
            stolen=1,
            last_rank=3,
            fate="spent",
            end_entry=15,
            end_turn=2,
            payment=1,
            player="b",
        ),
        row(
            "souls",
            soul=2,
            entry=8,
            turn=2,
            rank=2,
            source="effect",
            controller="a",
            modifiers=0,
            cause="Lantern",
            reaped=1,
            returned=1,
            stolen=1,
            last_rank=0,
            fate="lost",
            end_entry=18,
            end_turn=2,
        ),
        row(
            "souls",
            soul=3,
            entry=16,
            turn=2,
            rank=0,
            source="ruling",
            modifiers=0,
            cause=MISSED,
            reaped=1,
            returned=0,
            stolen=0,
            last_rank=0,
            fate="card",
        ),
    ]


def test_every_move_of_those_souls() -> None:
    """Each place that a Soul came to, from where, who can use it there, its rank from then on, and its end."""

    def move(soul: int, n: int, entry: int, step: str, came_from: str, **values: Any) -> Json:
        now = {"part": 0, "turn": 1 if entry == 6 else 2, **values}
        return row("soul_moves", soul=soul, n=n, entry=entry, step=step, came_from=came_from, **now)

    told = tables(*SOULS)["soul_moves"]
    assert sorted(told, key=lambda each: (each["soul"], each["n"], each["part"])) == [
        move(1, 7, 6, "aether", "new", rank=3),
        move(1, 11, 10, "card", "aether", card="altar", player="a", rank=3),
        move(1, 13, 11, "control", "card", card="altar", player="b", rank=3),
        move(1, 15, 12, "aether", "card", rank=3),
        move(1, 18, 14, "card", "aether", card="altar", player="b", rank=3),
        move(1, 19, 15, "spent", "card", player="b", payment=1, rank=3),
        move(2, 9, 8, "aether", "new", rank=2),
        move(2, 12, 10, "card", "aether", card="altar", player="a", rank=2),
        move(2, 13, 11, "control", "card", card="altar", player="b", rank=2),
        move(2, 16, 12, "aether", "card", rank=2),
        move(2, 20, 16, "rank", "aether", part=1, rank=0),
        move(2, 22, 18, "lost", "aether", rank=0),
        move(3, 20, 16, "aether", "new", rank=0),
        move(3, 21, 17, "card", "aether", card="altar", player="b", rank=0),
        move(3, 23, 19, "aether", "card", rank=0),
        move(3, 24, 20, "card", "aether", card="altar", player="b", rank=0),
    ]


def test_a_ruling_moves_and_ranks_a_soul_several_times() -> None:
    """Each correction is a step of its own, in its place; a new Soul may begin on a card."""
    corrected = (
        new_soul(1, {"card": "x"}),
        to_rank(1, 3),
        to_soul(1, {"card": "y"}),
        to_rank(1, 2),
        to_soul(1, "gone"),
    )
    told = tables(enter("x"), enter("y", "b"), ruling(*corrected))
    assert columns(told["soul_moves"], "n", "part", "step", "came_from", "card", "player", "rank") == [
        (4, 0, "card", "new", "x", "a", 1),
        (4, 1, "rank", "card", None, None, 3),
        (4, 2, "card", "card", "y", "b", 3),
        (4, 3, "rank", "card", None, None, 2),
        (4, 4, "lost", "card", None, None, 2),
    ]
    soul = ("rank", "last_rank", "reaped", "returned", "fate", "end_entry", "end_turn")
    assert columns(told["souls"], *soul) == [(1, 2, 0, 0, "lost", 4, 0)]


@pytest.mark.parametrize(
    ("lost", "goes", "fate", "returned", "end"),
    [
        ("lost", leave("k"), "lost", 0, 5),
        ("lost", destroy("k"), "aether", 1, None),
        ("return", leave("k"), "aether", 1, None),
    ],
)
def test_a_soul_whose_card_goes(lost: str, goes: Json, fate: str, returned: int, end: int | None) -> None:
    """With a card that leaves it is lost where the ruleset says so (A-6); else it returns (A-4)."""
    told = tables(*releases(1), enter("k", kind="other"), reap("k", 1), goes, souls_on_leaving=lost)
    assert columns(told["souls"], "fate", "returned", "end_entry", "payment") == [(fate, returned, end, None)]
    last = told["soul_moves"][-1]
    assert last == row("soul_moves", soul=1, n=6, part=0, entry=5, turn=0, step=fate, came_from="card", rank=1)


@pytest.mark.parametrize(
    ("rank", "deltas", "expected"),
    [
        (None, (), (0, 0)),  # no rank counts as 0 (C-4)
        (None, (-2,), (0, -2)),
        (2, (MAX_INTEGER, -MAX_INTEGER), (2, 0)),
        (1, (MAX_INTEGER,), (3, MAX_INTEGER)),
        (3, (-MAX_INTEGER,), (0, -MAX_INTEGER)),
    ],
)
def test_modifiers_are_summed_before_they_are_held(
    rank: int | None, deltas: tuple[int, ...], expected: tuple[int, int]
) -> None:
    """The Soul's rank is held within 0 and 3; the sum of its modifiers is told as it was before, however large."""
    modifiers = [modifier("k", f"m{place}", delta) for place, delta in enumerate(deltas)]
    told = tables(enter("k", rank=rank), destroy("k", modifiers=modifiers))["souls"]
    assert columns(told, "creature_rank", "sealed", "rank", "modifiers") == [(rank, False, *expected)]


@pytest.mark.parametrize("delta", [MAX_INTEGER, -MAX_INTEGER])
def test_modifiers_beyond_all_bounds(delta: int) -> None:
    """However many and large they are, their sum is a value that its column can hold: at most 2^63 - 1 either way."""
    modifiers = [modifier("k", f"m{place}", delta) for place in range(1025)]  # one fewer, and it would be less
    (told,) = tables(enter("k"), destroy("k", modifiers=modifiers))["souls"]
    (column,) = [column for column in SOULS_TABLE.columns if column.name == "modifiers"]
    assert pa.array([told["modifiers"]], column.arrow).to_pylist() == [told["modifiers"]]
    assert (told["rank"], told["modifiers"]) == ((3, 2**63 - 1) if delta > 0 else (0, 1 - 2**63))


def test_souls_of_cards_destroyed_together() -> None:
    """Each is told of its own creature; a Soulless one, and what is no creature, give none (C-2, C-10, C-12)."""
    told = tables(
        *(enter("x", rank=3, definition="one"), enter("y", "b", definition="two"), enter("z", soulless=True)),
        *(enter("v", kind="other"), of("seal", card="y"), destroy("y", "z", "v", "x", cause="Storm")),
        sealed_bonus=3,
    )
    soul = ("soul", "creature", "definition", "controller", "creature_rank", "sealed", "modifiers", "rank", "cause")
    assert columns(told["souls"], *soul) == [
        (1, "y", "two", "b", None, True, 3, 3, "Storm"),
        (2, "x", "one", "a", 3, False, 0, 3, "Storm"),
    ]
    assert columns(told["cards"], "card", "soul") == [("x", 2), ("y", 1), ("z", None), ("v", None)]


def test_souls_of_one_name_after_the_other() -> None:
    """A card that comes again under the same name is another one, whose Soul is its own."""
    told = tables(
        *(enter("k", definition="one"), destroy("k"), enter("k", "b", definition="two"), leave("k")),
        *(enter("k", "b", definition="three"), destroy("k", by="a")),
    )
    assert columns(told["souls"], "soul", "creature", "definition", "controller") == [
        (1, "k", "one", "a"),
        (2, "k", "three", "b"),
    ]
    assert columns(told["cards"], "card", "definition", "fate", "soul") == [
        ("k", "one", "destroyed", 1),
        ("k", "two", "left", None),
        ("k", "three", "destroyed", 2),
    ]


# ------------------------------------------------------------------------------------------------ payments and Soulburn


def test_payments_are_told_in_full() -> None:
    """For an effect that fizzled, for two Rifts, and for another cost: with what, what became of it, what it burned."""
    one = {"entry": 12, "turn": 1, "player": "a", "kind": "effect", "effect": "drain", "amount": 2, "power": 3}
    two = {"entry": 14, "turn": 1, "player": "a", "kind": "rift", "rift": 1, "amount": 1, "power": 1}
    three = {"entry": 17, "turn": 2, "player": "b", "kind": "rift", "rift": 2, "amount": 3, "power": 4}
    four = {"entry": 20, "turn": 2, "player": "b", "kind": "cost", "cost": "ward", "source": "Altar"}
    fizzled = {"outcome": "fizzled", "end_entry": 13, "reason": "no target", "burned": 3 + 6, "wasted": 1 + 2}
    settled = {"outcome": "settled", "burned": 0, "least_burn": 0, "from_cards": 0}
    assert tables(*GAME)["payments"] == [
        row("payments", payment=1, souls=1, from_cards=0, least_burn=0, **one, **fizzled),  # Soul 2 would have done
        row("payments", payment=2, souls=1, **two, **settled, wasted=1),  # by its Rift
        row("payments", payment=3, souls=1, **three, **settled | {"burned": 3}, wasted=1 + 1),  # Souls 2 and 5: exact
        row("payments", payment=4, souls=2, amount=2, power=2, **four, **settled, wasted=0),
    ]


PAYMENTS = (
    *(*releases(0, 1, 2, 0, 0, 3, 0), enter("k"), reap("k", 2), turn("b")),  # 2 to 11: Souls of power 1 2 3 1 1 4 1
    pay("a", 3, 2, 1, source="Dart"),  # 12
    pay("b", 2, 3, effect="lantern"),  # 13: 1 over, where Souls 4 and 5 would have been exact
    *(pay("a", 1, 4, effect="omen"), pay("a", 1, 5, cost="ward")),  # 14, 15
    *(open_rift("b", 3, 6), pay("b", 1, 7, effect="echo")),  # 16: 1 over, which could not be helped; 17
    *(fizzle(2, reason="no target"), ruling({"payment": {"payment": 3}}), resolve(1), close_rift("b")),  # 18 to 21
)


def test_what_becomes_of_payments() -> None:
    """Resolved, fizzled, closed by a ruling, settled, or open still; from cards or not; and what of it burned."""
    told = tables(*PAYMENTS)["payments"]
    assert columns(told, "payment", "effect", "souls", "from_cards", "source") == [
        (1, "drain", 2, 1, "Dart"),
        (2, "lantern", 1, 0, None),
        (3, "omen", 1, 0, None),
        (4, None, 1, 0, None),
        (5, None, 1, 0, None),
        (6, "echo", 1, 0, None),
    ]
    assert columns(told, "outcome", "end_entry", "reason", "burned", "least_burn", "wasted") == [
        ("resolved", 20, None, 0, 0, 0),
        ("fizzled", 18, "no target", 3 + 6, 0, 1 + 2),
        ("closed", 19, MISSED, 0, 0, 0),
        ("settled", None, None, 0, 0, 0),
        ("settled", None, None, 3, 3, 1 + 3),  # its Rift was left empty
        ("open", None, None, 0, 0, 0),
    ]


def test_a_payer_who_fell_burns_no_more() -> None:
    """The effect of a defeated payer fizzles without Soulburn (L-3), so none of its power is told as burned."""
    told = tables(*releases(1), pay("a", 2, 1), concede("a"), fizzle(1), players="abc")
    assert columns(told["payments"], "outcome", "end_entry", "burned", "wasted") == [("fizzled", 5, 0, 0)]
    assert told["soulburns"] == []


def test_R9_payment_for_a_rift_that_never_opened() -> None:
    """It was paid for a Rift and settled, but there is no Rift; what burned is its overpay alone."""
    told = tables(turn(), *releases(3), open_rift("a", 1, 1), starting_life=9)
    paid = ("kind", "rift", "amount", "power", "outcome", "burned", "least_burn", "wasted")
    assert columns(told["payments"], *paid) == [("rift", None, 1, 4, "settled", 9, 9, 3)]
    assert (told["rifts"], told["summons"]) == ([], [])
    assert columns(told["players"], "life", "defeated", "rifts_1", "burned_overpay") == [
        (0, "life", 0, 9),
        (9, None, 0, 0),
    ]
    assert columns(told["matches"], "payments", "rifts") == [(1, 0)]


def test_soulburns_are_told_in_full() -> None:
    """Each with its arithmetic: the power paid less the cost, all of the cost, or the Rift's rank less the highest."""

    def burn(n: int, entry: int, player: str, source: str, rule: str, **values: Any) -> Json:
        now = {"turn": 1 if player == "a" else 2, "per_power": 3, **values}
        return row("soulburns", n=n, entry=entry, player=player, source=source, rule=rule, **now)

    assert tables(*GAME)["soulburns"] == [
        burn(18, 12, "a", "overpay", "B-2", whole=3, used=2, power=1, damage=3, life=27, payment=1),
        burn(20, 13, "a", "fizzle", "B-3", whole=2, used=0, power=2, damage=6, life=21, payment=1),
        burn(25, 15, "a", "rift", "B-4", whole=1, used=0, power=1, damage=3, life=18, rift=1),
        burn(29, 17, "b", "overpay", "B-2", whole=4, used=3, power=1, damage=3, life=27, payment=3),
        burn(33, 19, "b", "rift", "B-4", whole=3, used=2, power=1, damage=3, life=24, rift=2),
    ]


@pytest.mark.parametrize(("per_power", "left"), [(0, 30), (1000, 30 - 2000)])
def test_soulburn_by_other_rulesets(per_power: int, left: int) -> None:
    """A level may take no life, and the Soulburn is told all the same; or much, and life is not clipped (L-2)."""
    told = tables(*releases(2), pay("a", 1, 1), soulburn_per_power=per_power)
    burned = ("power", "per_power", "damage", "life")
    assert columns(told["soulburns"], *burned) == [(2, per_power, 2 * per_power, left)]
    assert columns(told["life"][2:], "delta", "life", "cause") == [(-2 * per_power, left, "overpay")]
    assert columns(told["payments"], "burned", "least_burn", "wasted") == [(2 * per_power, 2 * per_power, 2)]


# ------------------------------------------------------------------------------------------------ Rifts


def test_rifts_and_summons_are_told_in_full() -> None:
    """A Rift with its payment, what came through, what was unused and burned; and each creature that came."""
    told = tables(*GAME)
    first = {"entry": 14, "turn": 1, "player": "a", "rank": 1, "payment": 2, "power": 1}
    second = {"entry": 17, "turn": 2, "player": "b", "rank": 3, "payment": 3, "power": 4}
    closed = {"unused": 1, "outcome": "closed", "burned": 3}
    assert told["rifts"] == [
        row("rifts", rift=1, **first, summoned=0, highest=0, end_entry=15, **closed),
        row("rifts", rift=2, **second, summoned=1, highest=2, end_entry=19, **closed),
    ]
    came = {"card": "s", "definition": "wisp-7", "rank": 2, "rift_rank": 3}
    assert told["summons"] == [row("summons", n=31, entry=18, turn=2, rift=2, player="b", **came)]


ENDS = ("summoned", "highest", "unused", "outcome", "end_entry", "burned")

CAME = (turn(), *releases(2), open_rift("a", 3, 1), summon("a", "x", 1))
"""A rank 3 Rift of a's, through which a creature of rank 1 came in entry 5."""


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ((), (1, 1, None, "open", None, 0)),
        ((summon("a", "y", 3), summon("a", "z", 2)), (3, 3, None, "open", None, 0)),
        ((close_rift("a"),), (1, 1, 2, "closed", 6, 6)),
        ((summon("a", "y", 3), destroy("y"), close_rift("a")), (2, 3, 0, "closed", 8, 0)),
        ((concede("a"),), (1, 1, 2, "ended", 6, 0)),
        ((lives(a=-30),), (1, 1, 2, "ended", 6, 0)),
        ((of("end_match"),), (1, 1, 2, "ended", 6, 0)),
        ((ruling(defeated("a")),), (1, 1, 2, "ended", 6, 0)),
        ((ruling({"rift": {"close": True}}),), (1, 1, 2, "ruled", 6, 0)),
        ((ruling({"rift": {"highest": 2}}, {"rift": {"close": True}}),), (1, 2, 1, "ruled", 6, 0)),
        ((ruling({"rift": {"highest": 3}}),), (1, 3, None, "open", None, 0)),
        ((ruling({"rift": {"highest": 3}}), ruling({"rift": {"highest": 0}})), (1, 0, None, "open", None, 0)),
        ((ruling({"rift": {"highest": 0}}), close_rift("a")), (1, 0, 3, "closed", 7, 9)),
        ((ruling({"rift": {"highest": 2}}), summon("a", "y", 1)), (2, 2, None, "open", None, 0)),
    ],
)
def test_how_a_rift_ends(after: tuple[Json, ...], expected: tuple[Any, ...]) -> None:
    """By its player (R-4), with its player or the match (R-10), by a judge, or not yet; only the first burns."""
    assert columns(tables(*CAME, *after, players="abc")["rifts"], *ENDS) == [expected]


def test_rank_0_comes_through_a_rift() -> None:
    """Where the ruleset lets it, it counts among those who came, and uses no rank."""
    told = tables(turn(), *releases(0), open_rift("a", 1, 1), summon("a", "x", 0), close_rift("a"), rift_min_rank=0)
    assert columns(told["rifts"], *ENDS) == [(1, 0, 1, "closed", 6, 3)]
    assert columns(told["summons"], "rank", "rift_rank") == [(0, 1)]


# ------------------------------------------------------------------------------------------------ cards


def test_cards_are_told_in_full() -> None:
    """Each stay of a card, as it came and as it went: destroyed, left, or there still; the same name comes again."""
    told = tables(
        turn(),
        enter("k", name="Golem", definition="golem-3", deck="extra", rank=2, owner="b"),  # 3
        *(of("seal", card="k"), of("set_rank", card="k", rank=3), *releases(0), reap("k", 1), control("k", "b")),
        destroy("k", by="a", cause="Pyre"),  # 9: Soul 2
        *(turn("b"), enter("k", "b", kind="other"), leave("k", "banished", by="b")),  # 10 to 12
        *(enter("k", soulless=True), destroy("k")),  # 13, 14
        *(open_rift("b", 1, 1), summon("b", "s", 1, deck="main", soulless=True), ruling(new_soul(2, {"card": "s"}))),
    )
    ada, bo = ({"owner": name, "player": name, "last_controller": name} for name in "ab")
    other = {"turn": 2, "card": "k", "deck": "main", "soulless": False, "sealed": False, "reaped": 0, "held": 0}
    plain = {**other, "end_turn": 2}
    assert told["cards"] == [
        row(
            "cards",
            n=3,
            entry=3,
            turn=1,
            card="k",
            name="Golem",
            definition="golem-3",
            kind="creature",
            deck="extra",
            rank=3,
            soulless=False,
            sealed=True,
            owner="b",
            player="a",
            last_controller="b",
            reaped=1,
            held=1,
            fate="destroyed",
            end_entry=9,
            end_turn=1,
            done_by="a",
            detail="Pyre",
            soul=2,
        ),
        row(
            "cards",
            n=13,
            entry=11,
            kind="other",
            **plain,
            **bo,
            fate="left",
            end_entry=12,
            done_by="b",
            detail="banished",
        ),
        row(
            "cards",
            n=15,
            entry=13,
            kind="creature",
            **plain | {"soulless": True},
            **ada,
            fate="destroyed",
            end_entry=14,
        ),
        row(
            "cards",
            n=20,
            entry=16,
            kind="creature",
            **other | {"card": "s", "soulless": True, "held": 1},
            **bo,
            rank=1,
            rift=1,
            fate="there",
        ),
    ]


def test_a_card_that_is_there_is_told_as_it_is_now() -> None:
    """Its rank, controller, state and Souls are those after the last entry."""
    told = tables(
        *(enter("k", rank=1), of("seal", card="k"), of("set_rank", card="k", rank=None), *releases(0, 1, 2)),
        *(
            reap("k", 1, 2),
            control("k", "b"),
            reap("k", 3),
            pay("b", 3, 3),
            of("set_soulless", card="k", soulless=True),
        ),
    )
    card = ("rank", "soulless", "sealed", "owner", "player", "last_controller", "reaped", "held", "fate", "end_turn")
    assert columns(told["cards"], *card) == [(None, True, True, "a", "a", "b", 3, 2, "there", None)]


# ------------------------------------------------------------------------------------------------ life


def test_life_is_told_in_full() -> None:
    """What everybody starts with, and every change: Soulburn by source, the game's, and a judge's one by one."""
    told = tables(*GAME[:-1], lives(b=-4, a=2), ruling(life("a", -5), new_soul(0), life("b", 1), life("a", 2)))
    start = {"entry": 1, "turn": 0, "delta": 30, "life": 30, "cause": "start", "rule": "L-1"}
    over = {"delta": -3, "cause": "overpay", "rule": "B-2"}
    rift = {"delta": -3, "cause": "rift", "rule": "B-4"}
    combat = {"entry": 21, "turn": 2, "cause": "change", "rule": "L-2", "reason": "combat"}
    judged = {"n": 37, "entry": 22, "turn": 2, "cause": "ruling", "rule": "J-1", "reason": MISSED}
    one = {"part": 0, "turn": 1, "player": "a"}
    two = {"part": 0, "turn": 2, "player": "b"}
    assert told["life"] == [
        row("life", n=1, part=0, player="a", **start),
        row("life", n=1, part=1, player="b", **start),
        row("life", n=18, entry=12, life=27, payment=1, **one, **over),
        row("life", n=20, entry=13, life=21, payment=1, **one, delta=-6, cause="fizzle", rule="B-3"),
        row("life", n=25, entry=15, life=18, rift=1, **one, **rift),
        row("life", n=29, entry=17, life=27, payment=3, **two, **over),
        row("life", n=33, entry=19, life=24, rift=2, **two, **rift),
        row("life", n=35, part=0, player="b", delta=-4, life=20, **combat),
        row("life", n=36, part=0, player="a", delta=2, life=20, **combat),
        row("life", part=0, player="a", delta=-5, life=15, **judged),
        row("life", part=2, player="b", delta=1, life=21, **judged),
        row("life", part=3, player="a", delta=2, life=17, **judged),
    ]


def test_life_is_as_large_as_it_may_be() -> None:
    """Up to 2^53 - 1 either way it is exact, in the change, in what it leaves, and in the player's row."""
    told = tables(lives(a=MAX_INTEGER - 30, b=-MAX_INTEGER), ruling(life("b", -30)), players="abc")
    assert columns(told["life"][3:], "player", "delta", "life") == [
        ("a", MAX_INTEGER - 30, MAX_INTEGER),
        ("b", -MAX_INTEGER, 30 - MAX_INTEGER),
        ("b", -30, -MAX_INTEGER),
    ]
    assert columns(told["players"], "life") == [(MAX_INTEGER,), (-MAX_INTEGER,), (30,)]
    assert columns(told["events"][1:3], "delta", "life") == [
        (MAX_INTEGER - 30, MAX_INTEGER),
        (-MAX_INTEGER, 30 - MAX_INTEGER),
    ]


# ------------------------------------------------------------------------------------------------ names, and no match


@pytest.mark.parametrize(
    "name", ["\U0001f469\u200d\U0001f467", 'quo"te', "com,ma|pipe", "null", " ", "\u2028", "x" * 64]
)
def test_names_are_told_as_they_are(name: str) -> None:
    """Whatever a name is made of, it is the same in every column."""
    start = of("start_match", match=name, players=[{"player": name, "name": name}, {"player": "b"}])
    acts = (turn(name), enter(name, name, name=name, definition=name), destroy(name, by=name, cause=name), concede("b"))
    told = rows_of(played([start, *acts]), name)
    assert columns(told["matches"], "match", "winner", "first") == [(name, name, name)]
    assert columns(told["players"], "player", "name")[0] == (name, name)
    assert columns(told["souls"], "creature", "definition", "controller", "cause") == [(name,) * 4]
    assert columns(told["cards"], "card", "name", "definition", "player", "done_by", "detail") == [(name,) * 6]
    assert columns(told["events"][2:3], "player", "card", "detail") == [(name,) * 3]
    assert columns(told["entries"], "player")[1:4] == [(name,)] * 3


def test_no_rows_without_entries() -> None:
    """A match without entries is no match."""
    with pytest.raises(CorruptRecordError, match="m has no entry"):
        match_rows("m", [])


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_no_rows_of_a_record_with_a_gap(missing: int) -> None:
    """Where an entry is missing, that place is named, and no row is made."""
    entries = played([of("start_match", match="m", players=seats("ab")), turn(), *releases(0, 0)])
    with pytest.raises(CorruptRecordError, match=f"entry {missing + 2} of m"):
        match_rows("m", entries[:missing] + entries[missing + 1 :])


def test_no_rows_of_entries_that_do_not_follow() -> None:
    """What was played in another match is found, by its entry, when it cannot have happened in this one."""
    start = of("start_match", match="m", players=seats("ab"))
    here, there = played([start, *releases(0, 0, 0)]), played([start, *releases(0), pay("a", 1, 1), resolve(1)])
    with pytest.raises(CorruptRecordError, match="entry 4 of m"):
        match_rows("m", here[:3] + there[3:])


@pytest.mark.parametrize(
    "forged",
    [
        SoulburnTaken(2, 2, 3, 27, 9, "a", 1, None, "B-2", "overpay"),
        SoulburnTaken(2, 2, 3, 27, None, "a", 1, 9, "B-4", "rift"),
        RiftOpened(2, 2, 9, "a", 1, 1),
        SoulReaped(2, 2, None, "k", None, 0, 9),
        SoulCollected(2, 2, "k", (), 0, 1),
        EffectResolved(2, 2, "drain", 9, "a"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_no_rows_of_what_was_never_there(forged: AnyEvent) -> None:
    """An event about a payment, a Rift, a card or a Soul that there is not is of no match, and said to be so."""
    start, second = played([of("start_match", match="m", players=seats("ab")), turn()])
    with pytest.raises(CorruptRecordError, match=r"\bm\b"):
        match_rows("m", [start, replace(second, events=(forged,))])
