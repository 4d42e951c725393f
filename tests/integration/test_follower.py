"""The follower: whatever happens to it, the views hold what the plain function makes of the log, each row once."""

import json
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace as replaced
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Self

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projections.follower
from domain import Refusal
from domain.application import Matches, MatchNotFoundError
from domain.rules import AnyCommand, State
from domain.rules import commands as c
from domain.rules.events import SoulCollected, SoulReleased
from projections.follower import Follower
from projections.matches import SEATS
from projections.models import MODELS
from projections.read_model import Changes, LoggedEntry, ReadModel
from projections.tables import Table
from projections.views import OvertakenError, Progress, ProjectionError, RebuildNeededError, Views
from soulrift import store as stores
from tests.followers import (
    assert_as_rebuilt,
    assert_as_recomputed,
    following,
    opened,
    recomputed,
    rows_of,
    where_they_differ,
)
from tests.postgres import Server, fresh_schema, server
from tests.strategies import matches as random_matches
from tests.torture import KILLS, kill_followers, restart
from tests.writers import COMMANDS, EVENTS, log_of, players, release, sql, start, wait_until

Places = Callable[[], AbstractContextManager[str]]
"""Makes empty places for stores, one after the other."""

_numbers = count(1)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Places:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        return lambda: fresh_schema(url, f"followed_{next(_numbers)}")
    folder = tmp_path_factory.mktemp("followed")

    @contextmanager
    def file() -> Iterator[str]:
        path = folder / f"{next(_numbers)}.db"
        yield str(path)
        for left in folder.glob(f"{path.name}*"):
            left.unlink()

    return file


# ------------------------------------------------------------ random matches


class TestRandomMatches:
    """Several random matches at once, followed while they are played."""

    @settings(max_examples=settings().max_examples // 6)
    @given(scripts=st.lists(random_matches(), min_size=1, max_size=3), seed=st.integers(0, 2**32))
    def test_following_live_rebuilding_and_recomputing_agree(
        self, places: Places, scripts: list[list[AnyCommand]], seed: int
    ) -> None:
        """Catching up at any moments in batches of any size, a rebuild and the plain function make the same rows."""
        chance = Random(seed)
        with places() as store, stores.create(store) as matches, LiveFollower(matches, chance) as live:
            for match, command in interleaved(scripts, chance):
                give(matches, match, command)
                if chance.random() < 0.4:
                    live.catch_up()
            live.catch_up()
            assert_as_recomputed(matches, live.views)
            assert_as_rebuilt(matches, live.views)
            live.rebuild()
            assert_as_recomputed(matches, live.views)


def interleaved(scripts: list[list[AnyCommand]], chance: Random) -> Iterator[tuple[str, AnyCommand]]:
    """The commands of several matches, each in its order."""
    left = {f"match {number}": iter(script) for number, script in enumerate(scripts)}
    while left:
        match = chance.choice(list(left))
        command = next(left[match], None)
        if command is None:
            del left[match]
        else:
            yield match, command


def give(matches: Matches, match: str, command: AnyCommand) -> None:
    """Give a command, which may be refused, to a match, which it may begin."""
    if isinstance(command, c.StartMatch):
        command = msgspec.structs.replace(command, match=match)
    try:
        if isinstance(command, c.StartMatch) and not matches.has(match):
            matches.start(command)
        else:
            matches.give(match, command)
    except Refusal:
        return


class LiveFollower:
    """A follower that takes in batches of random sizes, remembers little, and is another one now and then."""

    def __init__(self, matches: Matches, chance: Random) -> None:
        self._matches, self._chance, self._stack = matches, chance, ExitStack()
        self.views, self._follower = self._open()

    def _open(self) -> tuple[Views, Follower]:
        return self._stack.enter_context(opened(self._matches))

    def catch_up(self) -> None:
        """Take in what is new."""
        if self._chance.random() < 0.3:
            self._stack.close()
            self.views, self._follower = self._open()
        with self._small():
            self._follower.up_to_date()

    def rebuild(self) -> None:
        """Make the views anew."""
        with self._small():
            self._follower.rebuild()

    @contextmanager
    def _small(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(projections.follower, "BATCH", self._chance.randint(1, 7))
            patch.setattr(projections.follower, "KNOWN", self._chance.randint(0, 2))
            yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


# ------------------------------------------------------------ kills


def test_killed_follower_leaves_each_row_once(durable_store: str, tmp_path: Path) -> None:
    """Whenever one is killed, the views hold just what they tell of, and the next one goes on from there."""
    tally = kill_followers(durable_store, tmp_path)
    assert not tally.faults, "\n".join(tally.faults)
    assert tally.kills == KILLS
    assert tally.unfinished >= KILLS // 2


# ------------------------------------------------------------ writers


def test_four_writers_and_two_followers(durable_store: str) -> None:
    """While four write, whoever follows or asks takes in each row once, and in the end there is none missing."""
    rounds, names = 15, ["duel", "other"]
    with stores.create(durable_store) as matches:
        for name in names:
            matches.start(start(name))
    with (
        following(durable_store, batch=7),
        following(durable_store),
        players(durable_store, rounds, [["duel"], ["other"], names, names[::-1]]) as playing,
        stores.open_to_read(durable_store) as matches,
        opened(matches) as (views, follower),
    ):
        for writer in playing:
            writer.tell()
        while not all(writer.has_ended() for writer in playing):
            asked = matches.recorder.max_notification_id() or 0
            follower.up_to_date()
            assert views.progress().position >= asked
        for writer in playing:
            writer.end()
        follower.up_to_date()
        assert views.progress().events == 2 + 4 * rounds * EVENTS
        assert views.query("SELECT sum(events), sum(entries) FROM matches") == [
            (2 + 4 * rounds * EVENTS, 2 + 4 * rounds * COMMANDS)
        ]
        assert views.query("SELECT count(*) FROM souls") == [(2 * 4 * rounds,)]
        assert views.query("SELECT sum(collected), sum(spent) FROM tallies") == [(2 * 4 * rounds, 2 * 4 * rounds)]
        assert_as_recomputed(matches, views)


# ------------------------------------------------------------ the lease


class Duel:
    """A store with a match, open to write to; its views, open in this process, with a follower that has no lease."""

    def __init__(self, store: str, stack: ExitStack) -> None:
        self.store = store
        self.matches = stack.enter_context(stores.create(store))
        self.matches.start(start())
        self.views, self.follower = stack.enter_context(opened(self.matches))

    def release(self, times: int = 1) -> None:
        """Write so many entries, of a row each."""
        for _ in range(times):
            self.matches.give("duel", release())

    @property
    def followed(self) -> int:
        """How many rows of the log the views tell of."""
        return self.views.progress().events


@pytest.fixture
def duel(durable_store: str) -> Iterator[Duel]:
    with ExitStack() as stack:
        yield Duel(durable_store, stack)


class TestLease:
    """Of several followers one follows, and the others wait for it."""

    def test_next_one_takes_over_when_the_first_is_killed(self, duel: Duel) -> None:
        """A second follower takes in nothing while the first one lives, and goes on where that was killed."""
        with following(duel.store) as first:
            first.hear_of(1)
            with following(duel.store) as second:
                duel.release(3)
                first.hear_of(4)
                first.kill()
                duel.release(2)
                second.hear_of(2)
                assert duel.followed == 6
                assert_as_recomputed(duel.matches, duel.views)
                assert second.said[-1] == 2  # and none of the first one's

    def test_asking_waits_for_the_one_that_follows(self, duel: Duel) -> None:
        """Without the lease, `up_to_date` comes back when all that was in the log has been taken in, by the other."""
        with following(duel.store, batch=1) as other:
            other.hear_of(1)
            for rows in range(2, 12):
                duel.release()
                duel.follower.up_to_date()
                assert duel.followed == rows
            other.hear_of(11)

    def test_holder_that_stands_still_is_told(self, duel: Duel, monkeypatch: pytest.MonkeyPatch) -> None:
        """A holder of the lease that takes in nothing leads to a TimeoutError; once it goes on, so do questions."""
        monkeypatch.setattr(projections.follower, "PATIENCE", 0.3)
        with following(duel.store) as holder:
            holder.hear_of(1)
            holder.stop()
            duel.follower.up_to_date()  # nothing is missing yet
            duel.release()
            with pytest.raises(TimeoutError, match="another process follows"):
                duel.follower.up_to_date()
            assert duel.followed == 1
            holder.send(signal.SIGCONT)
            monkeypatch.undo()
            duel.follower.up_to_date()
            assert duel.followed == 2

    def test_rebuild_waits_for_the_lease(self, duel: Duel, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody makes the views anew under a follower: a TimeoutError says so, and they stay as they are."""
        monkeypatch.setattr(projections.follower, "RECONNECT_SECONDS", 0.3)
        with following(duel.store) as holder:
            holder.hear_of(1)
            with pytest.raises(TimeoutError, match="another process follows"):
                duel.follower.rebuild()
            assert duel.followed == 1
        assert duel.follower.rebuild() == 1
        assert_as_recomputed(duel.matches, duel.views)

    def test_status_tells_whether_somebody_follows(self, duel: Duel) -> None:
        """The status counts rows and matches, what is missing, and says whether a process follows."""
        duel.follower.up_to_date()
        duel.release(5)
        status = duel.follower.status()
        assert (status.events, status.matches, status.lag, status.followed) == (1, 1, 5, False)
        with following(duel.store) as holder:
            holder.hear_of(5)
            status = duel.follower.status()
            assert (status.events, status.matches, status.lag, status.followed) == (6, 1, 0, True)


class TestOvertaken:
    """Two write to the views at once, though one of them alone should."""

    def test_second_one_writes_nothing(self, duel: Duel) -> None:
        """Rows that follow a position which is no longer the views' are refused, and none of them is there."""
        with opened(duel.matches) as (others, _):
            before = duel.views.progress()
            after = Progress(1, 1, 1, "digest", 1, 1)
            rows = Changes()
            rows[SEATS].append(("duel", 0, "ada", 1))
            duel.views.write(rows, before, after)
            rows[SEATS][:] = [("duel", 1, "bo", 1)]
            with pytest.raises(OvertakenError):
                others.write(rows, before, after)
            assert others.progress() == after
            assert rows_of(others)["seats"] == [("duel", 0, "ada", 1)]

    def test_followers_that_all_believe_to_hold_the_lease(self, duel: Duel, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each row is taken in once, even if four followers write at the same time."""
        monkeypatch.setattr(projections.follower, "BATCH", 2)
        monkeypatch.setattr(type(duel.views), "lease", lambda _: nullcontext(lambda: True))
        duel.release(60)

        def follow() -> None:
            with stores.open_to_read(duel.store) as matches, opened(matches) as (_, follower):
                follower.up_to_date()

        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(follow) for _ in range(4)]:
                done.result()
        assert duel.followed == 61
        assert_as_recomputed(duel.matches, duel.views)


# ------------------------------------------------------------ the server goes away


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A server that may be killed."""
    with server("--no-sync") as running:
        yield running


@pytest.fixture
def served(own_server: Server) -> Iterator[Duel]:
    with fresh_schema(own_server.url, f"served_{next(_numbers)}") as store, ExitStack() as stack:
        yield Duel(store, stack)


def has_taken(taken: list[int], rows: int) -> bool:
    return sum(taken) >= rows


class TestServerRestarts:
    """PostgreSQL is killed and started again."""

    def test_under_one_that_follows(self, own_server: Server, served: Duel) -> None:
        """It goes on when the server is back, and takes in each row once."""
        with following(served.store) as follower:
            for rows in (1, 5):
                follower.hear_of(rows)
                own_server.kill()
                restart(own_server)
                served.release(4)
            follower.hear_of(9)
            assert_as_recomputed(served.matches, served.views)

    def test_lease_is_taken_again(self, own_server: Server, served: Duel) -> None:
        """One that follows has the lease again when the server is back, though there was nothing new meanwhile."""
        with following(served.store) as follower:
            follower.hear_of(1)
            own_server.kill()
            restart(own_server)
            wait_until(lambda: served.follower.status().followed, seconds=5)

    def test_under_a_question(self, own_server: Server, served: Duel, monkeypatch: pytest.MonkeyPatch) -> None:
        """`up_to_date` goes on when the server is back, wherever it was, and takes in each row once."""
        monkeypatch.setattr(projections.follower, "BATCH", 1)
        taken = list[int]()
        for rows in (40, 80):
            served.release(40)
            with ThreadPoolExecutor(1) as thread:
                asking = thread.submit(served.follower.up_to_date, taken.append)
                wait_until(partial(has_taken, taken, rows - 30))
                own_server.kill()
                restart(own_server)
                asking.result()
        assert served.followed == 81
        assert_as_recomputed(served.matches, served.views)


# ------------------------------------------------------------ another log than the one that was followed


class Followed:
    """A store with the matches `one`, `two` and `three`, of seven rows each, and views that tell of all of them."""

    NAMES = ("one", "two", "three")

    def __init__(self, store: str) -> None:
        self.store = store
        with stores.create(store) as matches:
            for name in self.NAMES:
                begin(matches, name)
            with opened(matches) as (views, follower):
                follower.up_to_date()
                self.rows = rows_of(views)
            self.position = matches.recorder.POSITION

    def cut(self, rows: int) -> None:
        """Delete so many rows at the end of the log."""
        last = f"SELECT {self.position} FROM stored_events ORDER BY 1 DESC LIMIT {rows}"
        self.sql(f"DELETE FROM stored_events WHERE {self.position} IN ({last})")

    def delete(self, match: str) -> None:
        """Delete a match."""
        for table in ("stored_events", "stored_snapshots", "command_ids"):
            self.sql(f"DELETE FROM {table} WHERE originator_id='{match}'")

    def sql(self, statement: str) -> None:
        """Change the store with the database's own tools."""
        sql(self.store, statement)

    def ask(self, ask: Callable[[Follower], object] = Follower.up_to_date) -> None:
        """Ask once."""
        with stores.open_to_read(self.store) as matches, opened(matches) as (_, follower):
            ask(follower)

    def assert_rebuild_needed(self, ask: Callable[[Follower], object] = Follower.up_to_date) -> None:
        """Whoever asks is told so, and the views stay as they are; a rebuild mends it."""
        with stores.open_to_read(self.store) as matches, opened(matches) as (views, follower):
            for _ in range(2):
                with pytest.raises(RebuildNeededError, match="rebuild"):
                    ask(follower)
                assert where_they_differ(rows_of(views), self.rows) == []
            follower.rebuild()
            ask(follower)
            follower.see_all_counted()
            assert where_they_differ(rows_of(views), recomputed(matches)) == []


def begin(matches: Matches, name: str, **more: Any) -> None:
    """A match of four entries, of one, one, one and four rows."""
    matches.start(start(name, **more))
    for card in ("k1", "k2"):
        matches.give(name, json.dumps({"type": "enter", "card": card, "controller": "ada"}))
    matches.give(name, json.dumps({"type": "destroy", "cards": ["k1", "k2"]}))


def answer(match: str) -> Callable[[Follower], object]:
    """Ask about a match."""

    def ask(follower: Follower) -> None:
        with follower.answering(match):
            pass

    return ask


@pytest.fixture
def followed(durable_store: str) -> Followed:
    return Followed(durable_store)


class TestOtherLog:
    """The log is not the one that the views were made of: that is told, and no wrong rows are shown or made."""

    @pytest.mark.parametrize("rows", [4, 5, 7, 11])
    def test_last_entries_are_gone(self, followed: Followed, rows: int) -> None:
        """The end of the log was cut off."""
        followed.cut(rows)
        followed.assert_rebuild_needed()

    @pytest.mark.parametrize("rows", [1, 3])
    def test_last_rows_of_an_entry_are_gone(self, followed: Followed, rows: int) -> None:
        """The end of the log was cut off within an entry."""
        followed.cut(rows)
        with pytest.raises(RebuildNeededError, match="rebuild"):
            followed.ask()

    @pytest.mark.parametrize("rows", [1, 3, 4, 7, 21])
    def test_last_rows_are_gone_and_others_came(self, followed: Followed, rows: int) -> None:
        """What was cut off has others in its place, which on SQLite have the positions of those that went."""
        followed.cut(rows)
        with stores.open_to_write(followed.store) as matches:
            for number in range(rows):
                matches.start(start(f"new {number}"))
        with pytest.raises(RebuildNeededError, match="rebuild"):
            followed.ask()

    @pytest.mark.parametrize("more", [0, 2], ids=["shorter", "longer"])
    def test_another_store_in_its_place(self, followed: Followed, more: int) -> None:
        """The whole store is another one, with other matches."""
        replace(followed.store)
        with stores.open_to_write(followed.store) as matches:
            for number in range(2 + more):
                begin(matches, f"other {number}")
        followed.assert_rebuild_needed()

    @pytest.mark.parametrize("what", ["{", '{"@entry":{"command":{'], ids=["no JSON", "half a head"])
    def test_last_entry_is_damaged(self, followed: Followed, what: str) -> None:
        """What is at the position of the last entry cannot be read any more."""
        spoil(followed.store, "three", 4, f"state=B'{what}'")
        for ask in (Follower.up_to_date, Follower.see_all_counted, answer("three")):
            with pytest.raises(RebuildNeededError, match="rebuild"):
                followed.ask(ask)

    def test_empty_store_in_its_place(self, followed: Followed) -> None:
        """The whole store is a new one, without a match."""
        replace(followed.store)
        followed.assert_rebuild_needed()

    def test_last_match_is_deleted(self, followed: Followed) -> None:
        """The match that has the end of the log is gone."""
        followed.delete("three")
        followed.assert_rebuild_needed()

    @pytest.mark.parametrize("name", ["one", "two"])
    def test_earlier_match_is_deleted(self, followed: Followed, name: str) -> None:
        """A match before the end of the log is gone: counting finds it."""
        followed.delete(name)
        followed.assert_rebuild_needed(Follower.see_all_counted)

    def test_deleted_match_is_asked_about(self, followed: Followed) -> None:
        """Whoever asks about a match that was deleted is told to rebuild, and then that there is none."""
        followed.delete("two")
        with stores.open_to_read(followed.store) as matches, opened(matches) as (_, follower):
            answer("one")(follower)
            with pytest.raises(RebuildNeededError, match="rebuild"):
                answer("two")(follower)
            follower.rebuild()
            with pytest.raises(MatchNotFoundError, match="two"):
                answer("two")(follower)

    def test_match_that_never_was(self, followed: Followed) -> None:
        """To ask about no match of the store is no reason to rebuild."""
        with pytest.raises(MatchNotFoundError, match="nobody"):
            followed.ask(answer("nobody"))

    @pytest.mark.parametrize("releases", [0, 3, 20], ids=["shorter", "as long", "longer"])
    @pytest.mark.parametrize(("name", "known"), [("two", 0), ("two", 10), ("three", 0)])
    def test_match_has_begun_anew(
        self, followed: Followed, monkeypatch: pytest.MonkeyPatch, name: str, releases: int, known: int
    ) -> None:
        """A match was deleted and begun again under its name, whether its state is at hand or not."""
        monkeypatch.setattr(projections.follower, "KNOWN", known)
        with stores.open_to_write(followed.store) as matches, opened(matches) as (_, follower):
            for other in followed.NAMES:
                matches.give(other, release())
            follower.up_to_date()
            followed.rows = recomputed(matches)
            followed.delete(name)
            matches.start(start(name))
            for _ in range(releases):
                matches.give(name, release(2))
            with pytest.raises(RebuildNeededError, match="rebuild"):
                follower.up_to_date()
        followed.assert_rebuild_needed(answer(name))

    def test_other_versions_of_the_read_models(self, followed: Followed) -> None:
        """Views that other versions made, or of other models, are not read; a rebuild makes them of these."""
        newer = tuple(replaced(model, version=2) if model.name == "life" else model for model in MODELS)
        for models in (newer, MODELS[:-1], MODELS):
            with stores.open_to_read(followed.store) as matches, opened(matches, models) as (views, follower):
                for ask in (Follower.up_to_date, Follower.see_all_counted, Follower.status, answer("one")):
                    with pytest.raises(RebuildNeededError, match="rebuild"):
                        ask(follower)
                follower.rebuild()
                assert where_they_differ(rows_of(views), recomputed(matches, models)) == []


def replace(store: str) -> None:
    """Another store in the same place, with nothing in it."""
    if stores.is_postgres(store):
        sql(store, "TRUNCATE stored_events, stored_snapshots, command_ids RESTART IDENTITY")
        return
    for end in ("", "-wal", "-shm"):
        Path(store + end).unlink(missing_ok=True)
    stores.create(store).close()


# ------------------------------------------------------------ events that cannot be taken in


DAMAGE = {
    "a row that is no JSON": (6, "state=B'{'"),
    "a row of a topic that nobody knows": (6, "topic='soul_married.v1'"),
    "a row of a newer version": (6, "topic='creature_destroyed.v2'"),
    "a row with another number": (7, "originator_version=70"),
    "an entry without a row within": (6, ""),
    "a first row with half a head": (4, """state=B'{"@entry":{"command":{'"""),
}
"""What is done to a row of the fourth entry of match `two`, which has the rows 4 to 7."""

HEADLESS = {
    "an entry without its first row": (4, ""),
    "a first row that is no JSON": (4, "state=B'{'"),
    "a first row without its head": (4, """state=B'{"n":4}'"""),
}
"""The same, where its rows cannot always be told from those of the entry before."""


class TestDamagedEvents:
    """An event that cannot be taken in stops whoever follows before its entry."""

    @pytest.mark.parametrize("damage", DAMAGE | HEADLESS)
    def test_what_was_before_it_is_there(
        self, durable_store: str, monkeypatch: pytest.MonkeyPatch, damage: str
    ) -> None:
        """The error names the match; the views tell of all before that entry, and of nothing after it."""
        row, change = (DAMAGE | HEADLESS)[damage]
        with stores.create(durable_store) as matches:
            for name in ("one", "two", "three"):
                begin(matches, name)
            log = [position for position, *_ in log_of(matches)]
            entries = 2 if damage in HEADLESS else 1
            before = {position: recomputed(matches, up_to=position) for position in log[7 + 3 - entries : 7 + 3]}
            spoil(durable_store, "two", row, change)
            with opened(matches) as (views, follower):
                for batch, ask in ((1, Follower.up_to_date), (1, Follower.up_to_date), (2_000, Follower.rebuild)):
                    monkeypatch.setattr(projections.follower, "BATCH", batch)
                    with pytest.raises(ProjectionError, match="two"):
                        ask(follower)
                    position = views.progress().position
                    assert position in before
                    assert where_they_differ(rows_of(views), before[position]) == []

    def test_error_names_the_event(self, durable_store: str) -> None:
        """The error names the event and its row."""
        with stores.create(durable_store) as matches, opened(matches) as (_, follower):
            begin(matches, "one")
            spoil(durable_store, "one", 2, "state=B'{'")
            with pytest.raises(ProjectionError, match=r"(?=.*event 2\b)(?=.*\bone\b)(?=.*row 2\b)"):
                follower.up_to_date()

    def test_damage_behind_the_views(self, durable_store: str) -> None:
        """A match that has damage before what is new is not gone on with."""
        with stores.create(durable_store) as matches, opened(matches) as (views, follower):
            begin(matches, "one")
            follower.up_to_date()
            rows = rows_of(views)
            matches.give("one", release())
            spoil(durable_store, "one", 2, "state=B'{'")
            with opened(matches) as (_, another), pytest.raises(ProjectionError, match="one"):
                another.up_to_date()
            assert rows_of(views) == rows

    def test_row_without_head_is_no_part_of_another_match(self, durable_store: str) -> None:
        """A row is not taken for one of the match whose row is before it, though its number would fit."""
        with stores.create(durable_store) as matches, opened(matches) as (views, follower):
            matches.start(start("two"))
            matches.start(start("one"))
            rows = recomputed(matches)
            matches.give("two", release(3))
            ((state,),) = matches.recorder.query("SELECT state FROM stored_events WHERE originator_version=2")
            event = json.loads(state)
            del event["@entry"]
            plain = json.dumps(event, separators=(",", ":")).encode().hex()
            literal = f"decode('{plain}', 'hex')" if stores.is_postgres(durable_store) else f"X'{plain}'"
            sql(durable_store, f"UPDATE stored_events SET state={literal} WHERE originator_version=2")
            with pytest.raises(ProjectionError, match="two"):
                follower.up_to_date()
            assert where_they_differ(rows_of(views), rows) == []

    @pytest.mark.parametrize("what", ["'text'", "NULL", "7"])
    def test_row_that_holds_no_bytes(self, tmp_path: Path, what: str) -> None:
        """SQLite stores anything in a row; what is no bytes stops whoever follows, as other damage does."""
        store = str(tmp_path / "store.db")
        with stores.create(store) as matches, opened(matches) as (views, follower):
            begin(matches, "one")
            sql(store, f"UPDATE stored_events SET state={what} WHERE originator_version=3")
            with pytest.raises(ProjectionError, match="one"):
                follower.up_to_date()
            assert views.progress().position in {1, 2}  # whose row it is, cannot be told


def spoil(store: str, match: str, row: int, change: str) -> None:
    """Change a row of a match, or delete it."""
    if change.startswith("state=B"):
        text = change.removeprefix("state=B").strip("'").encode().hex()
        change = f"state=decode('{text}', 'hex')" if stores.is_postgres(store) else f"state=X'{text}'"
    what = f"UPDATE stored_events SET {change}" if change else "DELETE FROM stored_events"
    sql(store, f"{what} WHERE originator_id='{match}' AND originator_version={row}")


class TestBatches:
    """How the log is divided."""

    @pytest.mark.parametrize("batch", [1, 2, 39, 40, 41])
    def test_entry_of_more_rows_than_a_batch(
        self, durable_store: str, monkeypatch: pytest.MonkeyPatch, batch: int
    ) -> None:
        """An entry is taken in as a whole, however many rows it has."""
        monkeypatch.setattr(projections.follower, "BATCH", batch)
        cards = [f"k{number}" for number in range(20)]
        with stores.create(durable_store) as matches, opened(matches) as (views, follower):
            begin(matches, "one")
            for card in cards:
                matches.give("one", json.dumps({"type": "enter", "card": card, "controller": "bo"}))
            matches.give("one", json.dumps({"type": "destroy", "cards": cards}))
            for _ in range(2):
                matches.give("one", release())
            follower.up_to_date()
            assert views.query("SELECT count(*), max(entry) FROM souls WHERE match='one'") == [(2 + 20 + 2, 27)]
            assert_as_recomputed(matches, views)

    def test_nothing_to_take_in(self, durable_store: str) -> None:
        """Of an empty store there is nothing to tell."""
        with stores.create(durable_store) as matches, opened(matches) as (views, follower):
            follower.up_to_date()
            assert follower.rebuild() == 0
            assert views.progress() == Progress()
            assert all(not rows for rows in rows_of(views).values())
            with pytest.raises(MatchNotFoundError):
                answer("duel")(follower)

    def test_advance_is_told_of_every_row(self, any_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """While it is brought up to date, it is told how many rows were taken in."""
        monkeypatch.setattr(projections.follower, "BATCH", 3)
        told = list[int]()
        with stores.create(any_store) as matches, opened(matches) as (views, follower):
            begin(matches, "one")
            follower.up_to_date(told.append)
            assert sum(told) == 7
            assert len(told) > 1
            assert_as_recomputed(matches, views)
            told.clear()
            assert follower.rebuild(told.append) == 7
            assert sum(told) == 7


# ------------------------------------------------------------ a read model of one's own


NOTES = Table("notes", {"match": "text", "soul": "bigint", "rank": "bigint"}, key=2)


class Notes:
    """A read model that notes Souls, and cannot bear those of rank 3 unless it is told to."""

    brave = False

    def __init__(self) -> None:
        self.models = (
            MODELS[0],
            ReadModel("notes", 1, (NOTES,), {SoulReleased: self._note, SoulCollected: self._note}),
        )

    def _note(self, changes: Changes, entry: LoggedEntry, _: State, event: SoulReleased | SoulCollected) -> None:
        if event.rank == 3 and not self.brave:
            message = "no such rank"
            raise ArithmeticError(message)
        changes[NOTES].append((entry.match, event.soul, event.rank))


class TestHandlerThatRaises:
    """A read model fails at an event."""

    @pytest.mark.parametrize("batch", [1, 2_000])
    def test_nothing_is_skipped(self, durable_store: str, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
        """The views stand before that entry, and the error names the event; with it mended, they go on."""
        monkeypatch.setattr(projections.follower, "BATCH", batch)
        notes = Notes()
        with stores.create(durable_store) as matches, opened(matches, notes.models) as (views, follower):
            matches.start(start())
            for rank in (1, 2, 3, 0):
                matches.give("duel", release(rank))
            for _ in range(2):
                with pytest.raises(ProjectionError, match=r"event 4 of duel\b.*no such rank"):
                    follower.up_to_date()
                assert rows_of(views)["notes"] == [("duel", 1, 1), ("duel", 2, 2)]
                assert views.query("SELECT entries FROM matches") == [(3,)]
            notes.brave = True
            follower.up_to_date()
            assert rows_of(views)["notes"] == [("duel", 1, 1), ("duel", 2, 2), ("duel", 3, 3), ("duel", 4, 0)]
            assert where_they_differ(rows_of(views), recomputed(matches, notes.models)) == []

    def test_event_within_an_entry(self, durable_store: str) -> None:
        """None of the rows of that entry is there, though only its last event fails."""
        notes = Notes()
        with stores.create(durable_store) as matches, opened(matches, notes.models) as (views, follower):
            matches.start(start())
            for card, rank in (("k1", 1), ("k2", 3)):
                matches.give("duel", json.dumps({"type": "enter", "card": card, "controller": "bo", "rank": rank}))
            follower.up_to_date()
            events = matches.give("duel", json.dumps({"type": "destroy", "cards": ["k1", "k2"]})).entry.events
            (failing,) = [event.n for event in events if isinstance(event, SoulCollected) and event.rank == 3]
            with pytest.raises(ProjectionError, match=rf"event {failing} of duel\b"):
                follower.up_to_date()
            assert rows_of(views)["notes"] == []
            assert views.progress().events == 3
