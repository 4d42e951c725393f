"""What an audit tells though no rule forbids it: times, bursts, and who sent what."""

from typing import Any

import pytest

from tests.bundles import audit_of
from tests.recordings import SEATS

Json = dict[str, Any]

START: Json = {"type": "start_match", "match": "m", "players": SEATS}


def ruling(*corrections: Json, **more: Any) -> Json:
    return {"type": "ruling", "judge": "Mo", "reason": "seen", "corrections": list(corrections), **more}


def at(time: str, **meta: str) -> Json:
    """A command that was sent at a time."""
    return {"type": "release", "meta": {"at": time, **meta}}


def unusual(*commands: Json) -> list[tuple[int, str]]:
    """In which entries something unusual is told, and of what kind."""
    return [(each.entry, each.kind) for each in audit_of([START, *commands]).unusual]


def told_of(*commands: Json) -> list[str]:
    return [each.told for each in audit_of([START, *commands]).unusual]


class TestUnusual:
    """What a judge may want to look at."""

    def test_time_going_backwards(self) -> None:
        """An entry that says it was before one in front of it is told, with both times."""
        commands = (at("2026-05-09T11:00:12Z"), {"type": "release"}, at("2026-05-09T11:00:11Z"))
        assert unusual(*commands) == [(4, "time")]
        (told,) = told_of(*commands)
        assert "2026-05-09T11:00:11Z" in told
        assert "2026-05-09T11:00:12Z" in told
        assert "entry 2" in told

    def test_time_in_other_zones(self) -> None:
        """Times are compared as moments: 12:00 in +02:00 is 10:00, before 10:30Z; and 13:00+02:00 is behind it."""
        assert unusual(at("2026-05-09T10:30:00Z"), at("2026-05-09T12:00:00+02:00")) == [(3, "time")]
        assert unusual(at("2026-05-09T10:30:00Z"), at("2026-05-09T13:00:00+02:00")) == []

    def test_after_a_jump_back(self) -> None:
        """Every entry before the latest time is told, not only the first."""
        times = ("11:00:00", "10:00:00", "10:30:00", "11:00:00")
        assert unusual(*(at(f"2026-05-09T{time}Z") for time in times)) == [(3, "time"), (4, "time")]

    @pytest.mark.parametrize("earlier", ["2026-05-09t11:00:11z", "2026-05-09T11:00:11.123456789Z"])
    def test_every_form_of_a_time(self, earlier: str) -> None:
        """RFC 3339 knows small letters, and fractions of any length."""
        assert unusual(at("2026-05-09T11:00:12Z"), at(earlier)) == [(3, "time")]

    def test_leap_second(self) -> None:
        """A leap second is a time like others."""
        assert unusual(at("2026-06-30T23:59:60Z"), at("2026-07-01T00:00:00Z")) == []
        assert unusual(at("2026-07-01T00:00:00Z"), at("2026-06-30T23:59:60Z")) == [(3, "time")]

    def test_burst(self) -> None:
        """Ten commands within a second are told once; nine are not, nor ten over a whole second."""
        assert unusual(*(at("2026-05-09T11:00:12Z") for _ in range(9))) == []
        burst = [at(f"2026-05-09T11:00:12.{n}Z") for n in range(10)]
        assert unusual(*burst) == [(2, "burst")]
        assert "10 commands, entries 2 to 11" in told_of(*burst)[0]
        slow = [at(f"2026-05-09T11:00:{12 + n // 9}.{n % 9}Z") for n in range(10)]
        assert unusual(*slow) == []

    def test_two_bursts(self) -> None:
        """Bursts that are apart are told each."""
        first = [at("2026-05-09T11:00:12Z") for _ in range(10)]
        second = [at("2026-05-09T11:00:15Z") for _ in range(10)]
        assert unusual(*first, *second) == [(2, "burst"), (12, "burst")]

    def test_long_burst(self) -> None:
        """All of a burst is told at once, and one command among it that is dated back does not hide it."""
        first = [at("2026-05-09T11:00:12Z") for _ in range(9)]
        rest = [at("2026-05-09T11:00:12.5z") for _ in range(16)]
        found = unusual(*first, at("2026-05-09T10:00:00Z"), *rest)
        assert found == [(2, "burst"), (11, "time")]
        assert "25 commands, entries 2 to 27" in told_of(*first, at("2026-05-09T10:00:00Z"), *rest)[0]

    def test_actor_for_another_player(self) -> None:
        """A player, by id or by the name for display, who sends what another one does."""
        concede = {"type": "concede", "player": "bo"}
        for actor in ("ada", "Ada"):
            assert unusual({**concede, "meta": {"actor": actor}}) == [(2, "actor")]
            (told,) = told_of({**concede, "meta": {"actor": actor}})
            assert told.startswith(f"{actor} sent a command")
            assert "bo acts" in told
        for actor in ("bo", "Bo Ångström", "table-1"):
            assert unusual({**concede, "meta": {"actor": actor}}) == []

    @pytest.mark.parametrize(
        ("command", "told"),
        [
            ({"type": "enter", "card": "k", "controller": "bo"}, True),
            ({"type": "release", "by": "bo"}, True),
            ({"type": "release"}, False),
            ({"type": "begin_turn", "player": "bo"}, False),
            ({"type": "change_life", "changes": [{"player": "bo", "delta": 1}], "reason": "x"}, False),
            ({"type": "end_match", "winner": "bo"}, False),
        ],
    )
    def test_who_acts(self, command: Json, *, told: bool) -> None:
        """Only where a command says by whom it is: the turn's beginning, life and the end are the game's word."""
        found = audit_of([START, {**command, "meta": {"actor": "ada"}}], "ended" if "winner" in command else "running")
        assert [each.kind for each in found.unusual] == ["actor"] * told

    def test_ruling_sent_by_a_player(self) -> None:
        """A player is no judge of the match."""
        command = ruling({"life": {"player": "bo", "delta": 3}}, meta={"actor": "bo"})
        assert unusual(command) == [(2, "actor")]
        (told,) = told_of(command)
        assert "bo" in told
        assert "Mo" in told
        assert unusual({**command, "meta": {"actor": "judge: Mo"}}) == []

    def test_name_that_two_share(self) -> None:
        """Where two players are called alike, the name alone accuses neither of them."""
        seats = [{"player": "ada", "name": "Sam"}, {"player": "bo", "name": "Sam"}]
        for player in ("ada", "bo"):
            command = {"type": "concede", "player": player, "meta": {"actor": "Sam"}}
            assert audit_of([{**START, "players": seats}, command], "ended").unusual == ()
