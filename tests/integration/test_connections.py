"""Connections to PostgreSQL: every way to say where it is, what roles may do, and what happens when they break."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import click
import psycopg
import pytest
from eventsourcing.persistence import OperationalError, PersistenceError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import domain.application
import domain.postgres_sessions
from domain import State, decode_command, play
from domain.application import Matches
from domain.batch import Answer
from domain.check import Check
from domain.match import Match
from domain.recorder import RECONNECT_SECONDS, OutcomeUnknownError
from soulrift import store, upkeep
from tests.postgres import Server, fresh_schema, server
from tests.proxy import Cut, Proxy, commit_answered, commit_sent
from tests.writers import ROOT, assert_sound, begun, finished, program, release, sql, start, wait_until

SECRET = "hunter2"  # noqa: S105 - it is to be looked for

Parts = dict[str, str]


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A server that may be stopped, and that wants a password of the role `keeper`."""
    with server() as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE keeper LOGIN SUPERUSER PASSWORD '{SECRET}'".encode())
            hba = running.data / "pg_hba.conf"
            hba.write_text(f"local all keeper scram-sha-256\n{hba.read_text()}")
            connection.execute(b"SELECT pg_reload_conf()")
        wait_until(lambda: not can_connect(make_conninfo(running.url, user="keeper", password="wrong")))  # noqa: S106
        yield running


@pytest.fixture
def own_store(own_server: Server) -> Iterator[str]:
    """An empty place for a store on it."""
    with fresh_schema(own_server.url, "own") as url:
        yield url


def can_connect(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def parts_of(name: str) -> Parts:
    return {key: str(value) for key, value in conninfo_to_dict(name).items()}


def url_of(parts: Parts, scheme: str = "postgresql") -> str:
    """A URL with everything in its place, percent-encoded."""
    user = quote(parts["user"], safe="")
    secret = f":{quote(parts['password'], safe='')}" if "password" in parts else ""
    port = f":{parts['port']}" if "port" in parts else ""
    place = f"{quote(parts['host'], safe='')}{port}/{quote(parts['dbname'], safe='')}"
    return f"{scheme}://{user}{secret}@{place}?options={quote(parts['options'], safe='')}"


def one_line(done: "subprocess.CompletedProcess[str]") -> str:
    """The one line that a failed program says, after those about its usage."""
    assert done.returncode in {1, 2}, done.stderr
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line and not line.startswith(("Usage: ", "Try "))]
    return line


# ------------------------------------------------------------ where it is


def service_file(parts: Parts, folder: Path, **more: str) -> Path:
    path = folder / "services.conf"
    path.write_text("[games]\n" + "".join(f"{key}={value}\n" for key, value in (parts | more).items()))
    return path


def spelled_as_url(parts: Parts, *_: object) -> str:
    return url_of(parts)


def spelled_as_short_url(parts: Parts, *_: object) -> str:
    return url_of(parts, "postgres")


def spelled_as_url_with_query(parts: Parts, *_: object) -> str:
    return "postgresql://?" + "&".join(f"{key}={quote(value, safe='')}" for key, value in parts.items())


def spelled_as_keywords(parts: Parts, *_: object) -> str:
    return " ".join(f"{key}='{value}'" for key, value in parts.items())


def spelled_as_keywords_with_room(parts: Parts, *_: object) -> str:
    return "".join(f"  {key}  =  '{value}'  " for key, value in reversed(parts.items()))


def spelled_in_service_of_environment(parts: Parts, folder: Path, environment: pytest.MonkeyPatch) -> str:
    environment.setenv("PGSERVICEFILE", str(service_file(parts, folder)))
    return "service=games"


def spelled_in_service_of_url(parts: Parts, folder: Path, environment: pytest.MonkeyPatch) -> str:
    environment.setenv("PGSERVICEFILE", str(service_file(parts, folder)))
    return "postgresql://?service=games"


def spelled_in_environment(parts: Parts, _: object, environment: pytest.MonkeyPatch) -> str:
    names = {"user": "PGUSER", "dbname": "PGDATABASE", "options": "PGOPTIONS"}
    for key, value in parts.items():
        environment.setenv(names.get(key, f"PG{key.upper()}"), value)
    return "postgresql://"


def spelled_with_dead_host_first(parts: Parts, *_: object) -> str:
    return make_conninfo(**parts | {"host": f"127.0.0.1,{parts['host']}", "port": f"1,{parts.get('port', '5432')}"})


def spelled_as_url_with_dead_host_first(parts: Parts, *_: object) -> str:
    live = quote(parts["host"], safe="")
    url = url_of(parts | {"host": "HERE"})
    return url.replace("HERE", f"127.0.0.1:1,{live}" + ("" if "port" in parts else ":5432"))


SPELLINGS = [value for name, value in list(globals().items()) if name.startswith("spelled_")]


class TestConnectionStrings:
    """Whatever PostgreSQL's own client understands, as a URL or as keywords."""

    @pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling.__name__.removeprefix("spelled_"))
    def test_every_form_leads_to_the_store(
        self,
        postgres_store: str,
        spelling: Callable[..., str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The store is made, played into and read in the schema that the string's options name."""
        name = spelling(parts_of(postgres_store), tmp_path, monkeypatch)
        with store.create(name) as matches:
            matches.start(start())
        with store.open_to_write(name) as matches:
            matches.give("duel", release())
        with store.open_to_read(name) as matches:
            assert matches.state("duel").entries == 2
        monkeypatch.undo()
        assert sql(postgres_store, "SELECT originator_version FROM stored_events ORDER BY 1") == [(1,), (2,)]

    def test_names_in_need_of_quoting(self, own_server: Server) -> None:
        """Names of databases, roles and schemas may hold what a URL, a keyword or SQL has another use for."""
        database, role, schema = "spiel & spaß/100%?", "a@b:c/d e", 'Mein "Schema"'
        with psycopg.connect(own_server.url, autocommit=True) as connection:
            for statement in (
                f'CREATE ROLE "{role}" LOGIN',
                f'CREATE DATABASE "{database}" OWNER "{role}"',
            ):
                connection.execute(statement.encode())
        parts = parts_of(own_server.url) | {"dbname": database, "user": role}
        quoted_schema = schema.replace('"', '""')
        with psycopg.connect(make_conninfo(**parts), autocommit=True) as connection:
            connection.execute(f'CREATE SCHEMA "{quoted_schema}"'.encode())
        escaped = f'"{quoted_schema}"'.replace(" ", r"\ ")
        parts["options"] = f"-csearch_path={escaped}"
        for name in (url_of(parts), make_conninfo(**parts)):
            with store.create(name) as matches:
                assert matches.start(start(None)).match
        question = f"""SELECT count(*) FROM "{quoted_schema}".stored_events"""
        assert sql(make_conninfo(**parts), question) == [(2,)]
        sql(own_server.url, f'DROP DATABASE "{database}" WITH (FORCE)')
        sql(own_server.url, f'DROP ROLE "{role}"')

    def test_password_from_every_place(self, own_store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A password comes from the string, the environment or a password file, and is asked for by the server."""
        keeper = parts_of(own_store) | {"user": "keeper"}
        passfile = tmp_path / "passfile"
        passfile.write_text(f"*:*:*:keeper:{SECRET}\n")
        passfile.chmod(0o600)
        store.create(own_store).close()
        for name in (url_of(keeper | {"password": SECRET}), make_conninfo(**keeper, passfile=str(passfile))):
            store.open_to_read(name).close()
        for variable, value in (("PGPASSWORD", SECRET), ("PGPASSFILE", str(passfile))):
            with monkeypatch.context() as environment:
                environment.setenv(variable, value)
                store.open_to_read(url_of(keeper)).close()
        with pytest.raises(OperationalError, match="no password supplied"):
            store.open_to_read(url_of(keeper))

    @pytest.mark.parametrize("keyword", [default.keyword.decode() for default in psycopg.pq.Conninfo.get_defaults()])
    def test_string_may_begin_with_any_keyword(self, keyword: str) -> None:
        """A string of keywords is one whichever comes first, and not taken for the name of a file."""
        assert store.is_postgres(f"{keyword}=x host=localhost dbname=games")

    def test_file_may_have_any_other_name(self) -> None:
        """A file's name is not taken for a connection string because it has an equals sign or a colon in it."""
        for name in ("a=b.db", "C:/games.db", "host.db", "my host=1.db", "./user=ada.db", "postgresql", ":memory:"):
            assert not store.is_postgres(name)


class TestSettings:
    """What the string, the environment, the role or the server says counts; what nobody says is ours."""

    OURS = ("30s", "10s", "30s")

    def test_limits_are_ours_where_there_are_none(self, postgres_store: str) -> None:
        """Statements, waits for locks and idle transactions are limited."""
        with store.create(postgres_store) as matches:
            assert limits(matches) == self.OURS

    def test_limits_of_the_string_win(self, postgres_store: str) -> None:
        """A limit in the string's options stays, even if it is none at all; the others are ours."""
        options = conninfo_to_dict(postgres_store)["options"]
        with store.create(make_conninfo(postgres_store, options=f"{options} -c statement_timeout=1234")) as matches:
            assert limits(matches) == ("1234ms", "10s", "30s")
        with store.create(make_conninfo(postgres_store, options=f"{options} -c lock_timeout=0")) as matches:
            assert limits(matches) == ("30s", "0", "30s")

    def test_limits_of_role_and_server_win(self, own_store: str) -> None:
        """What an administrator has set for a role or the whole server stays."""
        sql(own_store, "CREATE ROLE hasty LOGIN SUPERUSER; ALTER ROLE hasty SET statement_timeout = '7s'")
        sql(own_store, "ALTER SYSTEM SET lock_timeout = '3s'")
        sql(own_store, "SELECT pg_reload_conf()")
        wait_until(lambda: sql(own_store, "SHOW lock_timeout") == [("3s",)])
        try:
            with store.create(make_conninfo(own_store, user="hasty")) as matches:
                assert limits(matches) == ("7s", "3s", "30s")
        finally:
            sql(own_store, "ALTER SYSTEM RESET lock_timeout")
            sql(own_store, "SELECT pg_reload_conf()")
            sql(own_store, "DROP OWNED BY hasty; DROP ROLE hasty")

    @pytest.mark.parametrize("place", ["nowhere", "string", "environment", "service"])
    def test_application_name(
        self, postgres_store: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The name by which administrators see a session is the one that was given, or else `soulrift`."""
        name = postgres_store
        if place == "string":
            name = make_conninfo(name, application_name="table 7")
        elif place == "environment":
            monkeypatch.setenv("PGAPPNAME", "table 7")
        elif place == "service":
            path = service_file(parts_of(name), tmp_path, application_name="table 7")
            monkeypatch.setenv("PGSERVICEFILE", str(path))
            name = "service=games"
        with store.create(name) as matches:
            ((pid, seen),) = matches.recorder.query("SELECT pg_backend_pid(), current_setting('application_name')")
            monkeypatch.undo()
            assert seen == ("soulrift" if place == "nowhere" else "table 7")
            question = f"SELECT application_name FROM pg_stat_activity WHERE pid = {pid}"
            assert sql(postgres_store, question) == [(seen,)]

    def test_connect_timeout(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that never answers is given up after the seconds that the string or the environment says, or 5."""

        def waited(name: str) -> float:
            took, message = failure(lambda: store.open_to_read(name))
            assert "timeout" in message
            return took

        with ThreadPoolExecutor(4) as threads, socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/games"
            with monkeypatch.context() as environment:
                environment.setenv("PGCONNECT_TIMEOUT", "2")
                by_environment = threads.submit(waited, url)
                connected, _ = silent.accept()
            place = {"host": "127.0.0.1", "port": str(silent.getsockname()[1])}
            monkeypatch.setenv("PGSERVICEFILE", str(service_file(place, tmp_path)))
            by_service = threads.submit(waited, "service=games")
            by_string = threads.submit(waited, f"{url}?connect_timeout=3")
            by_nobody = threads.submit(waited, url)
            with connected:
                assert 1.9 < by_environment.result() < 3
            assert 2.9 < by_string.result() < 4
            assert 4.9 < by_nobody.result() < 6
            wait_until(by_service.done, 3)
            assert 4.9 < by_service.result() < 6

    def test_lock_timeout_ends_a_wait(self, postgres_store: str) -> None:
        """A writer who waits too long for another says so, stores nothing, and goes on once there is room."""
        options = conninfo_to_dict(postgres_store)["options"]
        hasty = make_conninfo(postgres_store, options=f"{options} -c lock_timeout=100ms")
        with store.create(hasty) as matches, store.open_to_write(postgres_store) as other:
            matches.start(start())
            with other.recorder.writing("duel"):
                assert other.has("duel")  # with the lock
                with pytest.raises(OperationalError, match="lock timeout"):
                    matches.give("duel", release())
            assert matches.give("duel", release()).entry.number == 2
        assert_sound(postgres_store, entries=2, rows=2)


def limits(matches: Matches) -> tuple[str, ...]:
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    return tuple(matches.recorder.query("SELECT current_setting(?)", (name,))[0][0] for name in names)


def all_at_once(runs: list[tuple[str, ...]]) -> list["subprocess.CompletedProcess[str]"]:
    return [finished(process) for process in [begun("soulrift", *arguments) for arguments in runs]]


# ------------------------------------------------------------ what goes wrong at once


class TestErrors:
    """What cannot be opened is told in one line, and without a secret."""

    def test_wrong_place(self, own_store: str) -> None:
        """A string that leads nowhere is refused with the reason."""
        parts = parts_of(own_store)
        wrong = {
            make_conninfo(**parts | {"dbname": "nowhere"}): 'database "nowhere" does not exist',
            make_conninfo(**parts | {"user": "nobody"}): 'role "nobody" does not exist',
            make_conninfo(**parts | {"host": "/nowhere"}): "No such file or directory",
            make_conninfo(**parts | {"host": "127.0.0.1", "port": "1"}): "Connection refused",
            make_conninfo(**parts | {"port": "x"}): 'invalid integer value "x" for connection option "port"',
            make_conninfo(**parts | {"sslmode": "perhaps"}): 'invalid sslmode value: "perhaps"',
            make_conninfo(**parts | {"options": "-csearch_path=nowhere"}): "search_path .* names no schema that exists",
            make_conninfo(**parts | {"options": "-cno_such_setting=1"}): "no_such_setting",
            make_conninfo(**parts | {"user": "keeper", "password": f"{SECRET}3"}): "password authentication failed",
            "service=nowhere": 'definition of service "nowhere" not found',
            "postgresql://localhost/games?colour=red": "invalid URI query parameter",
            "host=localhost colour=red": "invalid connection option",
            "mysql://localhost/games": "mysql:// names no kind of store",
            f" postgresql://keeper:{SECRET}@localhost/games": "begins with postgresql://",
            f"postgres:/keeper:{SECRET}@localhost/games": "begins with postgresql://",
        }
        for name, told in wrong.items():
            for opener in (store.open_to_read, store.open_to_write, store.create):
                with pytest.raises((click.UsageError, PersistenceError), match=told) as refused:
                    opener(name)
                assert SECRET not in str(refused.value)

    def test_one_line(self, own_store: str) -> None:
        """What is wrong, however many lines the server or its client makes of it, is one line of the program."""
        wrong = [{"host": "/nowhere"}, {"options": "-csearch_path=no"}]
        names = [make_conninfo(**parts_of(own_store) | different) for different in wrong]
        said = [one_line(end) for end in all_at_once([("check", "--db", name) for name in names])]
        for line, part in zip(said, ["accepting connections on", "names no schema"], strict=True):
            assert part in line

    def test_tls_that_the_server_has_not(self, own_store: str) -> None:
        """Where TLS is required and the server has none, nothing is sent."""
        with Proxy(own_store) as proxy:
            name = make_conninfo(proxy.url, sslmode="require")
            assert "server does not support SSL, but SSL was required" in one_line(program("show", "x", "--db", name))

    @pytest.mark.parametrize(
        "malformed",
        [
            f"postgresql://ada:{SECRET}@[::1/games",
            f"postgresql://ada:{SECRET}%zz@localhost/games",
            f"postgresql://ada:{SECRET}@localhost/games?sslmode",
            f"POSTGRESQL://ada:{SECRET}@localhost/games",
            f"postgresql://localhost/games?password={SECRET}%",
            f"host=localhost password=my {SECRET}",
            f"host=localhost password={SECRET} x",
            f"host=localhost password='{SECRET}",
            f"mysql://ada:{SECRET}@localhost/games",
        ],
    )
    def test_malformed_string(self, malformed: str) -> None:
        """A string that cannot be read is refused as one, and what may be its password is not repeated."""
        with pytest.raises(click.UsageError) as refused:
            store.open_to_read(malformed)
        assert SECRET not in str(refused.value)
        assert refused.value.__cause__ is None

    def test_password_is_in_no_message(self, own_store: str, tmp_path: Path) -> None:
        """Whatever is done with a store, and whether it works or not, nothing says the password: no log, no answer."""
        store.create(own_store).close()
        script = tmp_path / "duel.jsonl"
        script.write_text(start())
        right = parts_of(own_store) | {"user": "keeper", "password": SECRET}
        runs = [
            ("--log", "debug", *arguments, "--db", name)
            for arguments, name in [
                (("play", str(script)), url_of(right)),
                (("backup", "x.db"), make_conninfo(**right)),
                (("init",), url_of(right | {"password": f"{SECRET}3"})),
                (("show", "duel"), make_conninfo(**right | {"host": "/nowhere"})),
            ]
        ]
        for run, end in zip(runs, all_at_once(runs), strict=True):
            assert end.stderr, run
            assert SECRET not in end.stdout + end.stderr, run

    def test_keys_are_as_secret_as_passwords(self) -> None:
        """No part of a string with which one could log in is shown in a store's name."""
        secrets = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
        known = {default.keyword.decode() for default in psycopg.pq.Conninfo.get_defaults()}
        name = make_conninfo("host=localhost", **{key: SECRET for key in secrets if key in known})
        assert domain.postgres_sessions.display_name(name) == "host=localhost"


class TestMissingExtra:
    """PostgreSQL is an extra."""

    @pytest.mark.parametrize("hidden", ["psycopg", "psycopg_pool"])
    def test_it_is_named(self, hidden: str) -> None:
        """Without its client a store on PostgreSQL is refused, and what to install is said."""
        end = without(hidden, "show", "duel", "--db", "postgresql://localhost/games")
        assert end.returncode == 2
        assert one_line(end) == "Error: a store on PostgreSQL needs an extra: pip install 'soulrift[postgres]'"

    def test_client_without_its_library(self) -> None:
        """Where the client is there but not the library that it needs, the extra is named as well."""
        end = program("show", "duel", "--db", "postgresql://localhost/games", PSYCOPG_IMPL="none")
        assert "pip install 'soulrift[postgres]'" in one_line(end)

    def test_files_need_none(self, tmp_path: Path) -> None:
        """Without it stores in a file are played into and checked."""
        path, script = str(tmp_path / "store.db"), tmp_path / "duel.jsonl"
        script.write_text(start())
        for arguments in (("play", str(script)), ("check",)):
            assert without("psycopg", *arguments, "--db", path).returncode == 0


def without(module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the program as if a module were not installed."""
    code = f"import sys; sys.modules[{module!r}] = None; from soulrift.__main__ import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


# ------------------------------------------------------------ roles


@pytest.fixture
def roles(own_store: str, capsys: pytest.CaptureFixture[str]) -> Iterator[dict[str, str]]:
    """A store, and the connection strings of roles with just the rights that `soulrift init` says they need."""
    upkeep.init(own_store)
    said = " ".join(capsys.readouterr().out.split())
    schema = "own"
    for role, rights in re.findall(r"to (play|read): (.*?)(?= to read:| Nobody)", said):
        statements = [f"CREATE ROLE {role} LOGIN", f"GRANT USAGE ON SCHEMA {schema} TO {role}"]
        for right in rights.split("; "):
            what, where = right.split(" on ")
            objects = ", ".join(f"{schema}.{name}" for name in where.removeprefix("the sequence ").split(", "))
            if where == "all four tables":
                objects = f"ALL TABLES IN SCHEMA {schema}"
            if where.startswith("the sequence"):
                objects = f"SEQUENCE {objects}"
            statements.append(f"GRANT {what} ON {objects} TO {role}")
        for statement in statements:
            sql(own_store, statement)
    sql(own_store, "CREATE ROLE nothing LOGIN")
    sql(own_store, "GRANT USAGE ON SCHEMA own TO nothing")
    names = ("play", "read", "nothing")
    yield {role: make_conninfo(own_store, user=role) for role in names}
    for role in names:
        sql(own_store, f"DROP OWNED BY {role}")
        sql(own_store, f"DROP ROLE {role}")


class TestRoles:
    """Nobody needs more rights than `soulrift init` says."""

    def test_rights_of_who_plays(self, roles: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        """With them one begins matches, plays, takes snapshots, retries, and gets over a broken connection."""
        monkeypatch.setattr(domain.application, "SNAPSHOT_INTERVAL", 2)
        with Proxy(roles["play"]) as proxy, store.open_to_write(proxy.url) as matches:
            matches.start(start())
            assert matches.give("duel", release(id="a")).entry.number == 2
            assert matches.give("duel", release(id="a")).repeated
            assert len(matches.give_all("duel", [release(), release(id="b")])) == 2
            proxy.cut(Cut("client", commit_sent, half=True))
            assert matches.give("duel", release()).entry.number == 5
            assert proxy.cuts == 1
            assert matches.state("duel", 3).entries == 3
            assert matches.recorder.query("SELECT originator_version FROM stored_snapshots ORDER BY 1") == [(2,), (4,)]
        assert_sound(roles["play"], entries=5, rows=5)

    def test_rights_of_who_reads(self, roles: dict[str, str]) -> None:
        """With them one shows, lists, follows and checks, but does not play."""
        with store.open_to_write(roles["play"]) as matches:
            matches.start(start())
        with store.open_to_read(roles["read"]) as matches:
            assert matches.state("duel").entries == 1
            assert matches.state("duel", 1).entries == 1
            assert len(list(matches.entries("duel"))) == 1
            assert len(matches.recorder.select_notifications(None, 10)) == 1
            with pytest.raises(PersistenceError, match="permission denied for table"):
                matches.give("duel", release())
        assert_sound(roles["read"], entries=1, rows=1)

    def test_role_with_no_rights(self, roles: dict[str, str]) -> None:
        """Who may do nothing is told so in one line."""
        told = one_line(program("check", "--db", roles["nothing"]))
        assert re.search(r"permission denied for table \w+; `soulrift init` tells the rights", told)

    def test_init_needs_the_right_to_create(self, own_store: str) -> None:
        """A role that may not create tables makes no store, and is told so in one line."""
        sql(own_store, "CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA own TO guest")
        try:
            end = program("init", "--db", make_conninfo(own_store, user="guest"))
            assert "permission denied for schema own" in one_line(end)
        finally:
            sql(own_store, "DROP OWNED BY guest; DROP ROLE guest")
        assert sql(own_store, "SELECT count(*) FROM pg_tables WHERE schemaname = 'own'") == [(0,)]

    def test_init_changes_nothing_where_a_store_is(self, roles: dict[str, str]) -> None:
        """Where the store is there already, `init` needs no right to create."""
        assert program("init", "--db", roles["play"]).returncode == 0


# ------------------------------------------------------------ what breaks on the way

CUTS = {
    "the answer is lost": Cut("server", commit_answered),
    "the order is lost": Cut("client", commit_sent),
    "the order is lost, and the server waits for it": Cut("client", commit_sent, half=True),
}


@pytest.fixture
def proxy(postgres_store: str) -> Iterator[Proxy]:
    """A way to a store with a match of two entries, on which nothing waits longer than it must."""
    with store.create(postgres_store) as matches:
        matches.start(start())
        matches.give("duel", release())
    with Proxy(postgres_store) as made:
        yield made


class TestLostConnections:
    """A command is stored once, whatever becomes of the connection meanwhile."""

    @pytest.mark.parametrize("command_id", [None, "a"], ids=["without an id", "with an id"])
    @pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
    def test_in_a_commit(self, postgres_store: str, proxy: Proxy, cut: Cut, command_id: str | None) -> None:
        """A command whose COMMIT, or the answer to it, is lost is stored once, and answered as if nothing had been."""
        with store.open_to_write(proxy.url) as matches:
            for _ in range(6):  # the client prepares what it sends often
                matches.give("duel", release())
            proxy.cut(cut)
            answer = matches.give("duel", release(2, **({"id": command_id} if command_id else {})))
            assert (proxy.cuts, answer.entry.number, answer.repeated) == (1, 9, False)
            assert matches.give("duel", release()).entry.number == 10
        assert_sound(postgres_store, entries=10, rows=10)

    @pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
    def test_in_the_first_command_and_in_a_batch(self, postgres_store: str, proxy: Proxy, cut: Cut) -> None:
        """The start of a match and a batch are stored once and whole as well."""
        with store.open_to_write(proxy.url) as matches:
            proxy.cut(cut)
            assert matches.start(start(None)).match == "match"
            proxy.cut(cut)
            outcomes = matches.give_all("match", [release(), release(1, id="a"), release(2)])
            given = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
            assert [(answer.entry.number, answer.repeated) for answer in given] == [(2, False), (3, False), (4, False)]
            assert proxy.cuts == 2
            assert matches.give("match", release(1, id="a")).repeated
        assert_sound(postgres_store, entries=6, rows=6)

    @pytest.mark.parametrize("side", ["client", "server"])
    def test_anywhere(
        self, postgres_store: str, proxy: Proxy, side: Literal["client", "server"], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A command is stored once even if the connection is cut at any other message, either way."""
        monkeypatch.setattr(domain.application, "PAUSE", 0.01)
        commands = 0
        with store.open_to_write(proxy.url) as matches:
            for number in count(1, 2):
                passing = count(1)
                proxy.cut(Cut(side, lambda *_, passing=passing, last=number: next(passing) == last))
                commands += 1
                answer = matches.give("duel", release(number % 4))
                assert (answer.entry.number, answer.repeated) == (2 + commands, False)
                if proxy.cuts < commands:  # it has no more messages
                    break
            assert commands > 10
        assert_sound(postgres_store, entries=2 + commands, rows=2 + commands)

    def test_in_a_program(self, postgres_store: str, proxy: Proxy, tmp_path: Path) -> None:
        """`soulrift play` gets over it without a word."""
        script = tmp_path / "script.jsonl"
        script.write_text("\n".join([start("other"), *[release()] * 3]))
        proxy.cut(Cut("server", commit_answered))
        end = program("play", str(script), "--db", proxy.url)
        assert (proxy.cuts, end.returncode, end.stderr) == (1, 0, "")
        assert_sound(postgres_store, entries=6, rows=6)

    @pytest.mark.parametrize("how", CUTS)
    def test_record_from_elsewhere(self, postgres_store: str, proxy: Proxy, how: str) -> None:
        """A record that is imported is stored once, too."""
        state = State()
        entries = [play(state, decode_command(command)) for command in (start("other"), release(), release(1, id="a"))]
        with store.open_to_write(proxy.url) as matches:
            proxy.cut(CUTS[how])
            matches.record(Match("other", State(), matches.codec), entries, "0" * 64, whole=True)
        assert proxy.cuts == 1
        assert_sound(postgres_store, entries=5, rows=5)

    def test_terminated_in_a_transaction(
        self, postgres_store: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An administrator who ends the session in the middle of a command does not end the command."""
        with store.open_to_write(postgres_store) as matches, monkeypatch.context() as once:
            insert = matches.recorder.insert_events

            def terminate(*rows: Any, **more: Any) -> Any:
                once.undo()
                ((pid,),) = matches.recorder.query("SELECT pg_backend_pid()")
                assert sql(postgres_store, f"SELECT pg_terminate_backend({pid}, 5000)") == [(True,)]
                return insert(*rows, **more)

            once.setattr(matches.recorder, "insert_events", terminate)
            assert matches.give("duel", release(3)).entry.number == 3
        assert_sound(proxy.url, entries=3, rows=3)

    def test_terminated_between_commands(
        self, postgres_store: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Sessions that are ended while nothing is asked of them are made anew, whatever is asked next."""
        monkeypatch.setattr(domain.postgres_sessions, "PAUSE", 0.01)
        name = make_conninfo(postgres_store, application_name="victim")
        kill = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'victim'"
        with store.open_to_write(name) as matches:
            asked: list[tuple[Callable[[], Any], Any]] = [
                (lambda: [entry.number for entry in matches.entries("duel")], [1, 2]),
                (lambda: matches.state("duel").entries, 2),
                (lambda: matches.state("duel").entries, 2),
                (lambda: matches.state("duel", 1).entries, 1),
                (lambda: len(matches.recorder.select_notifications(None, 10)), 2),
                (matches.recorder.max_notification_id, 2),
                (lambda: len(matches.recorder.select_events("duel")), 2),
                (lambda: list(Check(matches.recorder).faults()), []),
                (lambda: matches.give("duel", release()).entry.number, 3),
            ]
            wrong = list[object]()
            for number, (ask, expected) in enumerate(asked):
                wait_until(lambda: sql(postgres_store, kill) != [])
                try:
                    wrong += [] if ask() == expected else [number]
                except PersistenceError as error:
                    wrong.append((number, error))
            assert wrong == []
        assert_sound(proxy.url, entries=3, rows=3)

    def test_nobody_can_be_asked(self, postgres_store: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the server cannot be asked what became of a command, that is said, with what to do; an id helps."""
        for module in (domain.application, domain.postgres_sessions):
            monkeypatch.setattr(module, "RECONNECT_SECONDS", 0.5)
        monkeypatch.setattr(domain.postgres_sessions, "CONNECT_SECONDS", 1)

        def answered(kind: bytes, text: bytes) -> bool:
            lost = commit_answered(kind, text)
            if lost:
                proxy.refuse()
            return lost

        with store.open_to_write(proxy.url) as matches:
            proxy.cut(Cut("server", answered))
            with pytest.raises(OutcomeUnknownError, match=r"with the same meta\.id it has one effect"):
                matches.give("duel", release(2, id="a"))
        with store.open_to_write(postgres_store) as matches:
            assert matches.give("duel", release(2, id="a")).repeated
        assert_sound(postgres_store, entries=3, rows=3)


class TestServer:
    """The server comes and goes."""

    @pytest.mark.parametrize("how", ["in good order", "at once"])
    def test_restarts_between_two_commands(self, own_server: Server, own_store: str, how: str) -> None:
        """After a restart an open application goes on where it was."""
        with store.create(own_store) as matches:
            matches.start(start())
            if how == "in good order":
                own_server.stop()
            else:
                own_server.kill(signal.SIGQUIT)
            own_server.start()
            assert matches.give("duel", release()).entry.number == 2
            assert matches.state("duel").entries == 2
        assert_sound(own_store, entries=2, rows=2)

    def test_is_away_for_a_moment(self, own_server: Server, own_store: str) -> None:
        """What is asked while the server is away is answered when it is back."""
        with store.create(own_store) as matches, ThreadPoolExecutor(2) as threads:
            matches.start(start())
            own_server.stop()
            giving = threads.submit(matches.give, "duel", release())
            asking = threads.submit(matches.recorder.query, "SELECT 1")
            time.sleep(1)  # that long it is away
            own_server.start()
            assert giving.result().entry.number == 2
            assert asking.result() == [(1,)]

    def test_hangs_in_a_commit(self, own_server: Server, own_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is waited for once: then a new connection asks what became of the command, and is not answered either."""
        monkeypatch.setattr("domain.postgres_sessions._Connection.patience", 3)
        for module in (domain.application, domain.postgres_sessions):
            monkeypatch.setattr(module, "RECONNECT_SECONDS", 0)
        with store.create(make_conninfo(own_store, connect_timeout=2)) as matches, ExitStack() as hanging:
            matches.start(start())
            insert = matches.recorder.insert_events

            def hang(*rows: Any, **more: Any) -> Any:
                hanging.enter_context(own_server.hanging())
                return insert(*rows, **more)

            with monkeypatch.context() as once:
                once.setattr(matches.recorder, "insert_events", hang)
                with pytest.raises(OutcomeUnknownError, match=r"meta\.id") as told:
                    matches.give("duel", release(2, id="a"))
            assert "timeout expired" in str(told.value)
            assert "not answered" not in str(told.value)
            hanging.close()
            assert matches.give("duel", release(2, id="a")).entry.number == 2
        assert_sound(own_store, entries=2, rows=2)

    def test_is_down_for_good(self, own_server: Server, own_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Then writers and readers are told within 15 seconds what is wrong, and programs at once."""
        assert RECONNECT_SECONDS + domain.postgres_sessions.CONNECT_SECONDS <= 15
        for module in (domain.application, domain.postgres_sessions):
            monkeypatch.setattr(module, "RECONNECT_SECONDS", 1)
        monkeypatch.setattr(domain.postgres_sessions, "CONNECT_SECONDS", 2)
        with (
            store.create(own_store) as matches,
            store.open_to_read(own_store) as reader,
            ThreadPoolExecutor(2) as threads,
        ):
            matches.start(start())
            own_server.stop()
            try:
                giving = threads.submit(failure, lambda: matches.give("duel", release()))
                asking = threads.submit(failure, lambda: reader.state("duel"))
                assert "No such file or directory" in one_line(program("show", "duel", "--db", own_store))
                for took, message in (giving.result(), asking.result()):
                    assert "No such file or directory" in message
                    assert took < 1 + 2 + 1
            finally:
                own_server.start()
            assert matches.give("duel", release()).entry.number == 2


def failure(ask: Callable[[], object]) -> tuple[float, str]:
    """How long it takes until something fails, and what is said."""
    begin = time.monotonic()
    with pytest.raises(PersistenceError) as failed:
        ask()
    return time.monotonic() - begin, str(failed.value)


class TestWhichStore:
    """A connection that leads to another store than the one that is meant, or to parts of two."""

    def test_restored_into_another_database(self, own_server: Server) -> None:
        """Where nobody says which schema, a store in another one is named, and none is made beside it."""
        sql(own_server.url, "CREATE DATABASE restored")
        name = make_conninfo(own_server.url, dbname="restored")
        sql(name, "CREATE SCHEMA games")
        named = make_conninfo(name, options="-csearch_path=games")
        with store.create(named) as matches:
            matches.start(start())
        for opener in (store.open_to_read, store.open_to_write, store.create):
            with pytest.raises(click.UsageError, match=r"store in the schema games.*\?options=-csearch_path%3Dgames"):
                opener(name)
        with store.create(make_conninfo(name, options="-csearch_path=public")) as another:
            assert not another.has("duel")
        with store.open_to_read(named) as matches:
            assert matches.has("duel")

    def test_hidden_table(self, own_store: str) -> None:
        """A table of another schema that would be taken for one of the store's is named."""
        with store.create(own_store):
            pass
        sql(own_store, "DROP SCHEMA IF EXISTS evil CASCADE")
        sql(own_store, "CREATE SCHEMA evil")
        sql(own_store, "CREATE TABLE evil.command_ids (originator_id text, command_id text, originator_version bigint)")
        schema = sql(own_store, "SELECT current_schema()")[0][0]
        with pytest.raises(click.UsageError, match=f"table command_ids, too, in front of that of the schema {schema}"):
            store.open_to_read(make_conninfo(own_store, options=f"-csearch_path=evil,{schema}"))

    def test_encodings(self, own_server: Server, own_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever encoding the client would have, any name goes through; a database that cannot is refused."""
        monkeypatch.setenv("PGCLIENTENCODING", "SQL_ASCII")
        with store.create(own_store) as matches:
            assert matches.start(start("Дуэль")).match == "Дуэль"
        sql(own_server.url, "CREATE DATABASE western ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
        with pytest.raises(click.UsageError, match="the database is in LATIN1"):
            store.create(make_conninfo(own_server.url, dbname="western"))


def with_option(name: str, option: str) -> str:
    """A connection string with one more setting of its sessions."""
    return make_conninfo(name, options=f"{conninfo_to_dict(name)['options']} -c {option}")


class TestGoingOn:
    """What a server refuses once is no matter to what is asked of it later."""

    @pytest.mark.parametrize("good", [0, 5, 7])
    def test_failed_appends_leave_nothing_behind(self, postgres_store: str, good: int) -> None:
        """Commands that fail since somebody has locked the table leave connections on which all later ones work."""
        name = with_option(postgres_store, "lock_timeout=20")
        with store.create(name) as matches:
            matches.start(start())
            for _ in range(good):
                matches.give("duel", release())
            with psycopg.connect(postgres_store) as other:
                other.execute("LOCK TABLE stored_events IN SHARE MODE")
                for _ in range(5):
                    with pytest.raises(OperationalError, match="lock timeout"):
                        matches.give("duel", release())
            for number in range(20):
                assert matches.give("duel", release()).entry.number == 2 + good + number
        assert_sound(postgres_store, entries=21 + good, rows=21 + good)

    @pytest.mark.parametrize("level", ["repeatable read", "serializable"])
    def test_database_with_another_isolation(self, postgres_store: str, level: str) -> None:
        """Players of one match take turns, whatever the database's sessions isolate by default."""
        name = with_option(postgres_store, "default_transaction_isolation=" + level.replace(" ", "\\ "))
        with ExitStack() as opened, ThreadPoolExecutor(3) as pool:
            players = [opened.enter_context(store.create(name)) for _ in range(3)]
            assert players[0].recorder.query("SHOW default_transaction_isolation") == [(level,)]
            players[0].start(start())
            for given in [pool.submit(lambda m: [m.give("duel", release()) for _ in range(15)], m) for m in players]:
                given.result()
        assert_sound(postgres_store, entries=46, rows=46)
