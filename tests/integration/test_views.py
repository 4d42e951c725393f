"""Views as they lie in their database: damaged, locked, read-only, on a full disk, or made by several at once."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from threading import Barrier, Timer

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import projections.follower
import projections.sqlite
from domain.application import Matches
from projections.follower import Follower
from projections.models import MODELS
from projections.opening import views_of
from projections.sqlite import SQLiteViews
from projections.views import PROGRESS, Progress, RebuildNeededError, ViewsError
from soulrift import store as stores
from tests.e2e.test_disks import disk, fill, free, mounted, remount
from tests.followers import Rows, assert_as_recomputed, brought_up_to_date, opened, recomputed, rows_of
from tests.torture import Chapter
from tests.writers import begun, finished, release, sql

PAGE = 4096

TABLES = [PROGRESS.name, *(table.name for model in MODELS for table in model.tables)]

_numbers = count(1)


def play(matches: Matches, folder: Path, match: str, turns: int = 3) -> None:
    """A match of some entries of every kind of row."""
    first, *rest = Chapter(folder, match, turns=turns).path.read_bytes().splitlines()
    matches.start(first)
    matches.give_all(match, rest)


@pytest.fixture
def followed(durable_store: str, tmp_path: Path) -> Iterator[Matches]:
    """A store whose views are up to date, which nobody has open."""
    with stores.create(durable_store) as matches:
        play(matches, tmp_path, "one")
        brought_up_to_date(matches)
        yield matches


@pytest.fixture
def in_file(tmp_path: Path) -> Iterator[Matches]:
    """The same in a file."""
    with stores.create(str(tmp_path / "store.db")) as matches:
        play(matches, tmp_path, "one")
        brought_up_to_date(matches)
        yield matches


def views_file(matches: Matches) -> Path:
    """Where the views of a store in a file are."""
    return Path(f"{matches.env['STORE']}.views")


def look(matches: Matches) -> Rows:
    """All that the views of these matches tell, of the whole log."""
    with opened(matches) as (views, follower):
        follower.up_to_date()
        return rows_of(views)


def rebuild(matches: Matches) -> Rows:
    """All that they tell when they were made anew."""
    with opened(matches) as (views, follower):
        follower.rebuild()
        assert_as_recomputed(matches, views)
    return look(matches)


def edit(matches: Matches, statement: str) -> None:
    """Change the views with the database's own tools; `{}` is where their tables are."""
    if stores.is_postgres(matches.env["STORE"]):
        schema = sql(matches.env["STORE"], "SELECT current_schema()")[0][0]
        sql(matches.env["STORE"], statement.format(f"{schema}_views."))
    else:
        sql(str(views_file(matches)), statement.format(""))


# ------------------------------------------------------------ damage


class TestDamage:
    """Views that are not as they were written say that they must be made anew, and a rebuild mends them."""

    @pytest.mark.parametrize("table", TABLES)
    def test_table_is_missing(self, followed: Matches, tmp_path: Path, table: str) -> None:
        """A table is gone: whoever reads it is told, and of an entry that has rows for it nothing is written at all."""
        before = brought_up_to_date(followed)
        edit(followed, f"DROP TABLE {{}}{table}")
        with pytest.raises(RebuildNeededError, match="rebuild"):
            look(followed)
        play(followed, tmp_path, "two")
        with pytest.raises(RebuildNeededError, match="rebuild"):
            look(followed)
        if recomputed(followed).get(table):
            with opened(followed) as (views, _):
                assert views.progress() == before
        rebuild(followed)

    def test_table_is_missing_in_an_answer(self, followed: Matches) -> None:
        """A table is gone, which is noticed in the middle of an answer."""
        edit(followed, "DROP TABLE {}souls")
        with (
            opened(followed) as (_, follower),
            pytest.raises(RebuildNeededError, match="rebuild"),
            follower.answering() as views,
        ):
            views.query("SELECT * FROM souls")

    def test_table_has_other_columns(self, followed: Matches) -> None:
        """A column has another name."""
        edit(followed, "ALTER TABLE {}souls RENAME COLUMN rank TO worth")
        with pytest.raises(RebuildNeededError, match="rebuild"):
            look(followed)
        rebuild(followed)

    def test_progress_is_lost(self, followed: Matches) -> None:
        """Views that do not say how far they tell are not believed."""
        edit(followed, "DELETE FROM {}progress")
        with pytest.raises(RebuildNeededError, match="rebuild"):
            look(followed)
        rebuild(followed)

    def test_schema_is_dropped_under_open_views(self, postgres_store: str, tmp_path: Path) -> None:
        """A schema that goes while it is open is told of; a rebuild makes it again."""
        with stores.create(postgres_store) as matches, opened(matches) as (views, follower):
            play(matches, tmp_path, "one")
            follower.up_to_date()
            schema = sql(postgres_store, "SELECT current_schema()")[0][0]
            sql(postgres_store, f"DROP SCHEMA {schema}_views CASCADE")
            with pytest.raises(RebuildNeededError, match="rebuild"):
                follower.up_to_date()
            follower.rebuild()
            assert_as_recomputed(matches, views)

    @pytest.mark.parametrize(
        "content",
        [b"garbage\n" * 2_000, bytes(3 * PAGE), b"SQLite format 3\x00", b"SQLite format 3\x00" + bytes(PAGE)],
        ids=["garbage", "zeros", "half a head", "half a head and zeros"],
    )
    def test_file_of_something_else(self, in_file: Matches, content: bytes) -> None:
        """A file that never held views is told of, and a rebuild puts views in its place."""
        overwrite(views_file(in_file), content)
        with pytest.raises(RebuildNeededError, match="rebuild"):
            look(in_file)
        rebuild(in_file)

    def test_database_of_somebody_else(self, in_file: Matches) -> None:
        """A database with other tables, a store for instance, is neither taken for views nor ever made into them."""
        overwrite(views_file(in_file), b"")
        sql(str(views_file(in_file)), "CREATE TABLE recipes (name TEXT)")
        before = views_file(in_file).read_bytes()
        with pytest.raises(ViewsError, match="another program's file"):
            look(in_file)
        assert views_file(in_file).read_bytes() == before

    @pytest.mark.parametrize("left", [None, b"", b"x"], ids=["gone", "empty", "a byte"])
    def test_nothing_is_left(self, in_file: Matches, left: bytes | None) -> None:
        """Views that are gone, or of which next to nothing is left, are made again by whoever asks."""
        overwrite(views_file(in_file), left or b"")
        if left is None:
            views_file(in_file).unlink()
        with opened(in_file) as (views, follower):
            follower.up_to_date()
            assert_as_recomputed(in_file, views)

    def test_file_that_ends_early(self, in_file: Matches) -> None:
        """A file cut off anywhere is told of, or what was cut off is of no use; never are there wrong rows."""
        good, rows = views_file(in_file).read_bytes(), look(in_file)
        ends = [512, 2_000, *range(PAGE, len(good), PAGE), len(good) - 1]
        noticed = 0
        for end in ends:
            overwrite(views_file(in_file), good[:end])
            noticed += not is_as_before(in_file, rows)
            assert rebuild(in_file) == rows
        assert noticed >= len(ends) - 2  # the last page may be an index's

    @pytest.mark.parametrize("with_what", ["chance", "zeros"])
    def test_page_is_overwritten(self, in_file: Matches, with_what: str) -> None:
        """A page whose beginning is overwritten is told of once it is read, and never are there wrong rows."""
        good, rows, chance = views_file(in_file).read_bytes(), look(in_file), Random(1)
        noticed = 0
        for begin in range(0, len(good), PAGE):
            damage = chance.randbytes(100) if with_what == "chance" else bytes(100)
            overwrite(views_file(in_file), good[:begin] + damage + good[begin + 100 :])
            noticed += not is_as_before(in_file, rows)
            assert rebuild(in_file) == rows
        assert noticed >= len(TABLES)  # there are indexes as well, which nobody asked

    @pytest.mark.parametrize("at", [19, 44, 56], ids=["version", "schema", "encoding"])
    def test_file_of_another_format(self, in_file: Matches, at: int) -> None:
        """A file that says that SQLite of another age made it is told of."""
        good = views_file(in_file).read_bytes()
        overwrite(views_file(in_file), good[:at] + b"\x77" * (4 if at > 20 else 1) + good[at + (4 if at > 20 else 1) :])
        with pytest.raises(RebuildNeededError, match="rebuild"):
            look(in_file)
        rebuild(in_file)


def is_as_before(matches: Matches, rows: Rows) -> bool:
    """Whether the views tell the same as before; else they say that they must be made anew."""
    try:
        told = look(matches)
    except RebuildNeededError:
        return False
    assert told == rows
    return True


def overwrite(path: Path, content: bytes) -> None:
    """Other bytes for a database that nobody has open."""
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    path.write_bytes(content)


# ------------------------------------------------------------ nothing may be written


class TestReadOnlyFolder:
    """Neither the store nor the views can be written."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Iterator[Path]:
        """A disk that can be made read-only."""
        with disk(tmp_path / "disk", 10) as place:
            yield place

    def test_views_that_tell_everything_are_read(self, place: Path, tmp_path: Path) -> None:
        """Questions are answered of views that lack nothing."""
        store = self.made(place, tmp_path)
        with stores.open_to_read(store) as matches:
            expected = recomputed(matches)
        remount(place, "ro")
        with stores.open_to_read(store) as matches, opened(matches) as (views, follower):
            assert not views.writable
            with follower.answering("one"):
                assert rows_of(views) == expected

    def test_status(self, place: Path, tmp_path: Path) -> None:
        """It can be asked how the views stand."""
        store = self.made(place, tmp_path)
        remount(place, "ro")
        with stores.open_to_read(store) as matches, opened(matches) as (_, follower):
            assert (follower.status().lag, follower.status().followed) == (0, False)

    def test_views_that_are_behind(self, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A question that they cannot answer ends soon, in words."""
        monkeypatch.setattr(projections.follower, "PATIENCE_TO_READ", 0.2)
        store = self.made(place, tmp_path)
        with stores.open_to_write(store) as matches:
            matches.give("one", release())
        remount(place, "ro")
        with (
            stores.open_to_read(store) as matches,
            opened(matches) as (_, follower),
            pytest.raises(ViewsError, match="may not be written"),
        ):
            follower.up_to_date()

    def test_no_views(self, place: Path, tmp_path: Path) -> None:
        """Where there are none, and none can be made, that is said."""
        store = self.made(place, tmp_path)
        for path in place.glob("*.views*"):
            path.unlink()
        remount(place, "ro")
        with stores.open_to_read(store) as matches, pytest.raises(ViewsError, match="no views can be made"):
            views_of(matches)

    def test_views_of_a_killed_follower(self, place: Path, tmp_path: Path) -> None:
        """What is only in the write-ahead log of the views is told too."""
        store = self.made(place, tmp_path)
        with stores.open_to_write(store) as matches:
            matches.give("one", release())
            expected = recomputed(matches)
            process = begun("tests.followers", "stay", store)
            assert process.stdout is not None
            assert int(process.stdout.readline()) == 32
            process.kill()
            process.communicate()
            assert Path(f"{store}.views-wal").stat().st_size
        remount(place, "ro")
        with stores.open_to_read(store) as matches, opened(matches) as (views, follower):
            follower.up_to_date()
            assert rows_of(views) == expected

    def test_views_file(self, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A views file that cannot be written, in a folder that can, is read, and not written."""
        monkeypatch.setattr(projections.follower, "PATIENCE_TO_READ", 0.2)
        store = self.made(place, tmp_path)
        path = Path(f"{store}.views")
        with stores.open_to_write(store) as matches, mounted(path, "--bind", str(path)):
            remount_bound(path)
            with opened(matches) as (views, follower):
                follower.up_to_date()
                assert rows_of(views) == recomputed(matches)
                matches.give("one", release())
                with pytest.raises(ViewsError, match="may not be written"):
                    follower.up_to_date()
            assert path.exists()

    def made(self, place: Path, folder: Path) -> str:
        """A store with views."""
        store = str(place / "store.db")
        with stores.create(store) as matches:
            play(matches, folder, "one")
            brought_up_to_date(matches)
        return store


def remount_bound(path: Path) -> None:
    remount(path, "ro,bind")


class TestReadOnlyRole:
    """A role of PostgreSQL that may only read, or a server that lets nobody write."""

    @pytest.fixture
    def reader(self, postgres_store: str, tmp_path: Path) -> Iterator[str]:
        """The same store, for somebody who may only read it."""
        role = f"reader_{next(_numbers)}"
        with stores.create(postgres_store) as matches:
            play(matches, tmp_path, "one")
        schema = sql(postgres_store, "SELECT current_schema()")[0][0]
        sql(postgres_store, f"DROP ROLE IF EXISTS {role}")
        sql(postgres_store, f"CREATE ROLE {role} LOGIN")
        grant(postgres_store, schema, role)
        yield make_conninfo(postgres_store, user=role)
        sql(postgres_store, f"DROP OWNED BY {role}; DROP ROLE {role}")

    @pytest.fixture(params=["role", "server"])
    def read_only(self, request: pytest.FixtureRequest, postgres_store: str, reader: str) -> str:
        """The reader's store; or the owner's, of a server that is read-only."""
        if request.param == "role":
            return reader
        options = conninfo_to_dict(postgres_store)["options"]
        return make_conninfo(postgres_store, options=f"{options} -c default_transaction_read_only=on")

    def test_no_views(self, read_only: str) -> None:
        """Where there are none, and none can be made, that is said."""
        with stores.open_to_read(read_only) as matches, pytest.raises(ViewsError, match="no views can be made"):
            views_of(matches)

    def test_views_of_somebody_else(self, postgres_store: str, read_only: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The owner's views are read as long as they tell everything; else it is said that they do not."""
        monkeypatch.setattr(projections.follower, "PATIENCE_TO_READ", 0.2)
        with stores.open_to_write(postgres_store) as owner:
            brought_up_to_date(owner)
            grant_views(postgres_store, read_only)
            with stores.open_to_read(read_only) as matches, opened(matches) as (views, follower):
                with follower.answering("one"):
                    assert rows_of(views) == recomputed(matches)
                assert follower.status().lag == 0
                owner.give("one", release())
                with pytest.raises(ViewsError, match="may not be written"):
                    follower.up_to_date()
                brought_up_to_date(owner)
                follower.up_to_date()
                assert_as_recomputed(matches, views)

    def test_views_that_may_not_be_read(self, postgres_store: str, reader: str) -> None:
        """Views that somebody else has for himself are told of in words."""
        with stores.open_to_write(postgres_store) as owner:
            brought_up_to_date(owner)
        with stores.open_to_read(reader) as matches, pytest.raises(ViewsError, match="permission denied"):
            brought_up_to_date(matches)


def grant(store: str, schema: str, role: str) -> None:
    """Let a role read a schema."""
    sql(store, f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    sql(store, f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")


def grant_views(store: str, reader: str) -> None:
    schema = sql(store, "SELECT current_schema()")[0][0]
    grant(store, f"{schema}_views", str(conninfo_to_dict(reader)["user"]))


# ------------------------------------------------------------ names


@pytest.mark.parametrize("schema", ["Mein Schema", 'a"b', "x" * 57, "x" * 58, "x" * 62])
def test_schema_of_any_name(postgres_url: str, tmp_path: Path, schema: str) -> None:
    """Whatever a store's schema is called, its views are beside it, and are found again; the store is left alone."""
    with store_in(postgres_url, schema) as store:
        with stores.create(store) as matches:
            play(matches, tmp_path, "one")
        for _ in range(2):
            with stores.open_to_read(store) as matches, opened(matches) as (views, follower):
                follower.up_to_date()
                assert_as_recomputed(matches, views)
                follower.rebuild()
                assert_as_recomputed(matches, views)


def test_schema_of_the_longest_name(postgres_url: str, tmp_path: Path) -> None:
    """Where the name leaves no room for another, the store is not taken for its views: they work, or there are none."""
    with store_in(postgres_url, "x" * 63) as store, stores.create(store) as matches:
        play(matches, tmp_path, "one")
        with suppress(ViewsError), opened(matches) as (views, follower):
            follower.rebuild()
            assert_as_recomputed(matches, views)
        assert matches.state("one").entries == 22


@contextmanager
def store_in(url: str, schema: str) -> Iterator[str]:
    """A place for a store in a schema of this name, gone afterwards with whatever has a name like it."""
    quoted = '"' + schema.replace('"', '""') + '"'
    path = quoted.replace(" ", r"\ ")
    like = b"SELECT quote_ident(nspname) FROM pg_namespace WHERE starts_with(nspname, left(%s, 57))"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {quoted}".encode())
        try:
            yield make_conninfo(url, options=f"-csearch_path={path}")
        finally:
            for (name,) in connection.execute(like, (schema,)).fetchall():
                connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


# ------------------------------------------------------------ several at once


class TestAtOnce:
    """Several open the views of a store at the same time, where there are none yet."""

    def test_processes(self, durable_store: str, tmp_path: Path) -> None:
        """Eight processes that begin at once are all answered, and the views hold each row once."""
        with stores.create(durable_store) as matches:
            play(matches, tmp_path, "one")
            rows = matches.recorder.max_notification_id()
            processes = [begun("tests.followers", "open", durable_store) for _ in range(8)]
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            for process in processes:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            ends = [finished(process) for process in processes]
            assert [(end.returncode, end.stdout, end.stderr) for end in ends] == [(0, f"{rows}\n", "")] * 8
            with opened(matches) as (views, _):
                assert_as_recomputed(matches, views)

    def test_threads(self, durable_store: str, tmp_path: Path) -> None:
        """Time after time, eight threads that open them at once all find them."""
        with stores.create(durable_store) as matches:
            play(matches, tmp_path, "one", turns=1)
            for _ in range(10):
                remove(matches)
                barrier = Barrier(8, timeout=30)

                def look_at_once(barrier: Barrier = barrier) -> int:
                    barrier.wait()
                    return brought_up_to_date(matches).events

                with ThreadPoolExecutor(8) as threads:
                    found = [thread.result() for thread in [threads.submit(look_at_once) for _ in range(8)]]
                assert found == [11] * 8

    def test_new_file_that_another_program_is_making(self, tmp_path: Path) -> None:
        """SQLite makes nobody wait for the log to be turned on; whoever comes second tries again."""
        path = tmp_path / "views.db"
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as first:
            first.execute("BEGIN IMMEDIATE")
            Timer(0.3, first.rollback).start()
            with closing(SQLiteViews(str(path), MODELS)) as views:
                assert views.progress() == Progress()

    def test_answer_is_of_one_moment(self, durable_store: str, tmp_path: Path) -> None:
        """What is asked in one answer does not change though somebody else follows the log meanwhile."""
        with stores.create(durable_store) as matches, opened(matches) as (_, follower):
            play(matches, tmp_path, "one")
            with stores.open_to_write(durable_store) as other, follower.answering() as views:
                rows = rows_of(views)
                play(other, tmp_path, "two")
                brought_up_to_date(other)
                assert rows_of(views) == rows
            with follower.answering() as views:
                assert_as_recomputed(matches, views)


def remove(matches: Matches) -> None:
    """Remove the views of a store."""
    if stores.is_postgres(matches.env["STORE"]):
        schema = sql(matches.env["STORE"], "SELECT current_schema()")[0][0]
        sql(matches.env["STORE"], f"DROP SCHEMA IF EXISTS {schema}_views CASCADE")
    else:
        for end in ("", "-wal", "-shm"):
            Path(f"{views_file(matches)}{end}").unlink(missing_ok=True)


# ------------------------------------------------------------ no room, no turn


def test_full_disk(tmp_path: Path) -> None:
    """Without room for the views there is an error, and what they tell stays right; with room again they go on."""
    with (
        disk(tmp_path / "disk", 10) as place,
        stores.create(str(tmp_path / "store.db")) as matches,
        closing(SQLiteViews(str(place / "views"), MODELS)) as views,
    ):
        follower = Follower(matches, views)
        play(matches, tmp_path, "one")
        follower.up_to_date()
        fill(place, leaving=100)
        play(matches, tmp_path, "two", turns=300)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(projections.follower, "BATCH", 50)
            for _ in range(2):
                with pytest.raises((sqlite3.OperationalError, ViewsError), match="full"):
                    follower.up_to_date()
                progress = views.progress()
                assert rows_of(views) == recomputed(matches, up_to=progress.position)
        assert 31 < progress.events < 31 + 3001
        free(place)
        follower.up_to_date()
        assert_as_recomputed(matches, views)


def test_locked_views(in_file: Matches, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another program locks the views there is an error in good time; afterwards they go on."""
    monkeypatch.setattr(projections.sqlite, "LOCK_SECONDS", 0.3)
    in_file.give("one", release())
    with (
        opened(in_file) as (views, follower),
        closing(sqlite3.connect(views_file(in_file), isolation_level=None)) as other,
    ):
        before = views.progress()
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TimeoutError, match="locked"):
            follower.up_to_date()
        assert views.progress() == before
        other.execute("ROLLBACK")
        follower.up_to_date()
        assert_as_recomputed(in_file, views)


def test_locked_views_are_read(in_file: Matches) -> None:
    """While another program writes to the views, those who lack nothing are answered, also if they come only now."""
    with closing(sqlite3.connect(views_file(in_file), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(projections.sqlite, "LOCK_SECONDS", 0.3)
            assert look(in_file) == recomputed(in_file)
