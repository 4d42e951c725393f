"""`soulrift report`: the page of tables, its numbers worked out by hand, and what may not be on it."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from domain.application import Matches
from domain.sqlite import sqlite_settings
from projections.analytics.asking import connect
from projections.analytics.named import named, names
from soulrift import tables_page
from soulrift.figures import SOURCES, stacks
from soulrift.findings_of_players import wins
from soulrift.panels import WIDTH, Row, Words, short
from soulrift.tables_page import page
from tests.e2e.conftest import Run
from tests.recordings import Program, in_process
from tests.tables import tables_of

Json = dict[str, Any]

LARGEST = 1_000_000

LOADING = {"audio", "embed", "iframe", "image", "img", "link", "object", "script", "video", "foreignobject"}
"""Elements that load or run something."""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Program:
    """The program in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOULRIFT_TABLES", raising=False)
    return in_process(monkeypatch, capfd)


# ------------------------------------------------------------ matches


def simulated(number: int, first: str, second: str, *commands: Json) -> list[Json]:
    """A match that says of itself that it is one of run 7, of two decks and their policies, as the simulator does."""
    start = {
        "type": "start_match",
        "match": f"run-7-{number}",
        "players": [{"player": "p1", "name": first}, {"player": "p2", "name": second}],
        "meta": {"actor": f"simulator 1, philox4x64-10/1, seed 7, match {number}"},
    }
    return [start, *commands]


def recorded(match: str, players: Iterable[str], *commands: Json) -> list[Json]:
    """A match that was played."""
    return [{"type": "start_match", "match": match, "players": [{"player": each} for each in players]}, *commands]


def turn(player: str) -> Json:
    return {"type": "begin_turn", "player": player}


def release(rank: int) -> Json:
    return {"type": "release", "rank": rank}


def pay(player: str, soul: int) -> Json:
    return {"type": "pay", "player": player, "amount": 1, "souls": [soul], "effect": "Lash"}


def hit(player: str, life: int = 30) -> Json:
    return {"type": "change_life", "changes": [{"player": player, "delta": -life}], "reason": "combat"}


ALPHA, BETA = "alpha, greedy", "beta, random"

SHORT = simulated(
    1,
    ALPHA,
    BETA,
    turn("p1"),
    release(1),  # a Soul of power 2
    pay("p1", 1),  # 1 too much: 3 life (B-2), 27 left
    {"type": "resolve", "payment": 1},
    turn("p2"),
    release(0),  # of power 1
    pay("p2", 2),
    {"type": "fizzle", "payment": 2},  # 1 power: 3 life (B-3), 27 left
    release(3),  # left over
    hit("p2"),  # p1 wins with 27, p2 has -3
)

LONG = simulated(
    2,
    ALPHA,
    BETA,
    turn("p1"),
    release(2),  # of power 3
    {"type": "open_rift", "player": "p1", "rank": 3, "souls": [1]},
    {"type": "close_rift", "player": "p1"},  # nothing came: 9 life (B-4), 21 left
    turn("p2"),
    turn("p1"),
    hit("p1"),  # p2 wins with 30, p1 has -9
)

GOING_ON = simulated(3, ALPHA, BETA, turn("p1"), release(0))

DRAWN = recorded(
    "drawn", ("ilse", "tomas"), turn("ilse"), {"type": "end_match", "reason": "agreed", "meta": {"actor": "judge"}}
)


@cache
def stored(told: bytes) -> Matches:
    """A store of these matches, in memory."""
    matches = Matches(sqlite_settings(":memory:"))
    for start, *commands in msgspec.json.decode(told):
        matches.start(json.dumps(start))
        for command in commands:
            matches.give(start["match"], json.dumps(command))
    return matches


def tables(folder: Path, *told: list[Json]) -> Path:
    """A folder with the tables of these matches."""
    tables_of(stored(msgspec.json.encode(told)), folder)
    return folder


# ------------------------------------------------------------ pages


class Parsed(HTMLParser):
    """A page: its elements, its texts, its pictures and the rows of its tables by the query that they come from."""

    def __init__(self, content: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.pictures: dict[str, str] = {}
        self.grids: dict[str, list[list[str]]] = {}
        self.headings: list[str] = []
        self._open: list[str] = []
        self._query = ""
        self.feed(content.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "tr":
            self.grids.setdefault(self._query, []).append([])
        if tag in {"td", "th"}:
            self.grids[self._query][-1].append("")
        if tag == "h2":
            self.headings.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that is closed at once, as those of pictures are."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Leave an element, and those in it that have no end."""
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Take in text where it stands."""
        if "style" in self._open:
            return
        self.text += data
        if found := re.fullmatch(r"soulrift sql --named (\S+)", data):
            self._query = found[1]
        if {"td", "th"} & set(self._open):
            self.grids[self._query][-1][-1] += data.replace("\N{NO-BREAK SPACE}", " ")
        if "h2" in self._open:
            self.headings[-1] += data.replace("\N{NO-BREAK SPACE}", " ")
        if self._open[-1:] == ["desc"]:
            title = next(attrs["aria-label"] for tag, attrs in reversed(self.tags) if tag == "svg")
            self.pictures[str(title)] = data.replace("\N{NO-BREAK SPACE}", " ")


def sound(content: bytes) -> Parsed:
    """A page that is what every page must be: whole by itself, small, and with a text for each picture."""
    assert len(content) < LARGEST
    parsed = Parsed(content)
    assert not LOADING & {tag for tag, _ in parsed.tags}
    policy = {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"}
    assert ("meta", policy) in parsed.tags
    ids = [attrs["id"] for _, attrs in parsed.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for tag, attrs in parsed.tags:
        assert not any(name.startswith("on") for name in attrs), attrs
        links = [str(attrs[name]) for name in ("href", "src", "xlink:href") if name in attrs]
        links += [f"#{name}" for value in attrs.values() for name in re.findall(r"url\(#?([^)]*)\)", value or "")]
        assert all(link[:1] == "#" and link[1:] in ids for link in links), (tag, links)
        assert not any("://" in (value or "") for value in attrs.values()), attrs
    shown = [attrs for tag, attrs in parsed.tags if tag == "svg"]
    assert all(attrs.get("role") == "img" and attrs.get("aria-label") for attrs in shown)
    assert len(parsed.pictures) == len(shown)
    assert all(parsed.pictures.values())
    return parsed


def page_of(folder: Path, *told: list[Json], title: str | None = None) -> Parsed:
    """The page of these matches, which is sound."""
    content, _ = page(str(tables(folder / "tables", *told)), title)
    return sound(content)


# ------------------------------------------------------------ numbers


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """The tables of two matches of a run, and of one that runs; and their page."""
    folder = tables(tmp_path_factory.mktemp("numbers") / "tables", SHORT, LONG, GOING_ON)
    return folder, page(str(folder))[0]


@pytest.fixture(scope="module")
def parsed(two: tuple[Path, bytes]) -> Parsed:
    """The page of the two matches, which is sound."""
    return sound(two[1])


class TestNumbers:
    """The numbers of two matches, worked out by hand."""

    def test_what_it_is_of_is_told(self, parsed: Parsed) -> None:
        """Matches, those that run, seed, versions, decks, policies and the ruleset are named."""
        assert "What happened in 2 matches" in parsed.text
        assert "2 simulated matches of Soulrift" in parsed.text
        assert "1 more still run and are left out." in parsed.text
        assert "run-7 with 2 matches (seed 7, simulator 1, philox4x64-10/1)" in parsed.text
        assert "alpha at 2 seats" in parsed.text
        assert "random at 2 seats" in parsed.text
        assert "usual in 2 matches" in parsed.text
        assert "of 2 matches only, too few to tell anything yet" in parsed.text
        assert "soulrift 0.1.0" in parsed.text
        assert "soulrift sql --named waste-by-deck (power wasted, version 1):" in parsed.text

    def test_wins(self, parsed: Parsed) -> None:
        """Each deck won one of two: 50 %, by Wilson 9.5 to 90.5 (0.5 -+ 1.96 sqrt(0.5 + 0.96) / (2 + 3.84))."""
        rows = [
            ["alpha", "2", "1", "0", "50.0 %", "9.5 to 90.5", "50.0 %"],
            ["beta", "2", "1", "0", "50.0 %", "9.5 to 90.5", "50.0 %"],
        ]
        assert parsed.grids["win-rate-by-deck"][1:] == rows
        assert parsed.pictures["By deck: matches won, %"] == "alpha: 50.0 % (9.5 to 90.5); beta: 50.0 % (9.5 to 90.5)"
        first = ["first of 2 players", "2", "1", "0", "50.0 %", "9.5 to 90.5", "50.0 %"]
        assert parsed.grids["first-player-advantage"][1:] == [first]
        assert parsed.headings[0] == "Too few matches to tell which deck wins most"

    def test_life(self, parsed: Parsed) -> None:
        """After turn 1 the winners have 27 and 30, the losers 30 and 21; the longer match alone has a turn 3."""
        rows = [
            ["0", "2", "30", "30", "30", "30", "30", "30"],
            ["1", "2", "27", "27", "30", "21", "21", "30"],
            ["2", "2", "27", "27", "30", "-3", "-3", "21"],
            ["3", "1", "30", "30", "30", "-9", "-9", "-9"],
        ]
        assert parsed.grids["life-spread-by-turn"][1:] == rows
        assert parsed.headings[1].startswith("After turn 3, which half of the matches reached, winners are at 30 life")

    def test_soulburn(self, parsed: Parsed) -> None:
        """3 by overpaying, 3 by fizzling and 9 by unused ranks, in two matches: 7.5 a match."""
        rows = [
            ["paid too much", "1.50", "", "20.0 %"],
            ["fizzled", "1.50", "", "20.0 %"],
            ["unused ranks", "4.50", "", "60.0 %"],
            ["all", "7.50", "", "100.0 %"],
        ]
        assert parsed.grids["soulburn-of-a-match"][1:] == rows
        levels = [["paid too much", "1", "1", "3"], ["fizzled", "1", "1", "3"], ["unused ranks", "3", "1", "9"]]
        assert parsed.grids["soulburn-by-level"][1:] == levels
        by_soul = [
            ["rank 0", "1", "0", "3", "0", "3", "3.00"],
            ["rank 1", "1", "3", "0", "0", "3", "3.00"],
            ["rank 2", "1", "0", "0", "9", "9", "9.00"],
        ]
        assert parsed.grids["soulburn-by-rank"][1:] == by_soul
        assert parsed.pictures["Life a match by unused ranks, by the rank of the Rift"].endswith(
            "Rifts of rank 3: 4.50"
        )

    def test_souls(self, parsed: Parsed) -> None:
        """Of the power that was spent, half of the rank 1 Soul's bought something; the rank 3 Soul is left over."""
        rows = [
            ["rank 0", "1", "0.50", "100.0 %", "0.0 %", "0.0 %", "0.00"],
            ["rank 1", "1", "0.50", "100.0 %", "0.0 %", "0.0 %", "0.00"],
            ["rank 2", "1", "0.50", "100.0 %", "0.0 %", "0.0 %", "0.00"],
            ["rank 3", "1", "0.50", "0.0 %", "100.0 %", "0.0 %", ""],
        ]
        assert parsed.grids["soul-value-by-rank"][1:] == rows
        bought = [
            ["rank 0", "1", "1", "0", "0.0 %", ""],
            ["rank 1", "1", "2", "1", "50.0 %", ""],
            ["rank 2", "1", "3", "0", "0.0 %", ""],
        ]
        assert parsed.grids["power-bought-by-rank"][1:] == bought
        assert parsed.grids["aether-by-turn"][2] == ["2", "2", "0.00", "0.00", "0.00", "0.50", "0.50"]
        assert (
            parsed.headings[4] == "Rank 0 Souls put 0.0 % of their power to use when they are spent, rank 2 Souls 0.0 %"
        )

    def test_rifts(self, parsed: Parsed) -> None:
        """The one Rift had rank 3, and nothing came through it."""
        assert parsed.grids["rifts-by-highest"][1:] == [["rank 3", "nothing", "1", "100.0 %", "9"]]
        assert parsed.grids["creatures-by-rift-rank"][1:] == [["rank 3", "1", "0.00", "0.00", "0.00", "0.00", "0.00"]]
        assert parsed.headings[5] == "0.0 % of the rank 3 Rifts let a creature of their rank through, 100.0 % nothing"

    def test_waste(self, parsed: Parsed) -> None:
        """Alpha paid with 2 and 3 and wasted 1 and 3 of that; beta wasted all it paid, which was 1."""
        rows = [
            ["alpha", "2", "5", "1", "0", "3", "4", "80.0 %", ""],
            ["beta", "2", "1", "0", "1", "0", "1", "100.0 %", ""],
        ]
        assert parsed.grids["waste-by-deck"][1:] == rows
        assert [row[0] for row in parsed.grids["waste-by-policy"][1:]] == ["greedy", "random"]


def test_enough_matches_are_compared(tmp_path: Path) -> None:
    """Of 40 matches alpha won 36: 90.0 % (by Wilson 76.9 to 96.0), beyond doubt more than beta, and more than even."""
    won = [simulated(n, ALPHA, BETA, turn("p1"), hit("p2" if n > 4 else "p1")) for n in range(1, 41)]
    mirror = simulated(41, ALPHA, ALPHA, turn("p2"), hit("p1"))
    parsed = page_of(tmp_path, *won, mirror)
    assert parsed.headings[0] == "The deck alpha wins most: 90.0 % against others"
    assert parsed.grids["win-rate-by-deck"][1] == ["alpha", "40", "36", "0", "90.0 %", "76.9 to 96.0", "50.0 %"]
    assert "too few" not in parsed.text
    assert parsed.headings[2:7] == [
        "Soulburn took no life in these matches",
        "No Soul was there when a turn of these matches ended",
        "No Soul came in these matches",
        "No Rift was opened in these matches",
        "Nobody can be compared by waste",
    ]


def test_recorded_matches_are_told_by_player(tmp_path: Path) -> None:
    """Matches without decks are told by player; a draw is won by nobody, and nobody's life can be compared by it."""
    parsed = page_of(tmp_path, DRAWN)
    assert "1 recorded match of Soulrift" in parsed.text
    rows = [
        ["ilse", "1", "0", "1", "0.0 %", "0.0 to 79.3", "50.0 %"],
        ["tomas", "1", "0", "1", "0.0 %", "0.0 to 79.3", "50.0 %"],
    ]
    assert parsed.grids["win-rate-by-player"][1:] == rows
    assert "win-rate-by-deck" not in parsed.grids
    assert parsed.headings[:2] == [
        "Too few matches to tell which player wins most",
        "No match was won, so there are no winners whose life could be told",
    ]
    assert "fewer than 30 matches each, and tells next to nothing yet" in parsed.text


def test_few_players_do_not_crowd_out_decks(tmp_path: Path) -> None:
    """Where decks are told, players of single matches are left to the numbers, and that is said."""
    won = [simulated(n, ALPHA, BETA, turn("p1"), hit("p2")) for n in range(1, 31)]
    parsed = page_of(tmp_path, *won, DRAWN)
    assert "By player, in recorded matches: matches won, %" not in parsed.pictures
    assert "win-rate-by-player" in parsed.grids
    assert "What has fewer than 30 matches is left to the numbers." in parsed.text


def test_most_players_are_counted_and_some_are_shown(tmp_path: Path) -> None:
    """Of 16 players those 12 are shown who played most, the others are counted; rulesets that differ are warned of."""
    crowd = recorded("crowd", [f"player-{n:02}" for n in range(16)], turn("player-00"))
    crowd[0]["ruleset"] = {"starting_life": 20}
    crowd.append({"type": "end_match", "reason": "time"})
    parsed = page_of(tmp_path, crowd, DRAWN)
    shown = [row[0] for row in parsed.grids["win-rate-by-player"][1:]]
    assert shown == ["ilse", *(f"player-{n:02}" for n in range(11))]
    assert "And 6 more, which the query lists." in parsed.text
    assert "starting_life=20 in 1 match" in parsed.text
    assert "the matches were played by 2 rulesets" in parsed.text


def test_interval_may_be_as_narrow_as_rounding() -> None:
    """A bar whose parts add up to 0.30000000000000004 is drawn with an interval from 0.3 to 0.3."""
    row = Row("alpha", "0.30", parts=(0.1, 0.2), low=0.3, high=0.3)
    assert "alpha" in stacks([row], ("one", "two"), SOURCES, Words("narrow", "Narrow", "alpha: 0.30", "power"))


# ------------------------------------------------------------ names

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "\u202eevil\u2066",
    "שלום \u0639\u0631\u0628",
    "林小雨🦊" * 12,
    "{{ 7 * 7 }} & url(http://evil.example/)",
    ']]></text></svg> id="wins"',
    "w" * 64,
)


def test_hostile_names_are_text(tmp_path: Path) -> None:
    """Decks, policies and players of any name break nothing, become no element, and turn no text around."""
    decks = [
        simulated(n, f"{name}, {name[::-1].replace(',', '')}", BETA, turn("p1"), release(1), pay("p1", 1), hit("p2"))
        for n, name in enumerate(HOSTILE, 1)
    ]
    players = [recorded(f"m{n}", (name, "bo"), turn("bo"), hit("bo")) for n, name in enumerate(HOSTILE, 1)]
    for kind, told in (("decks", decks), ("players", players)):
        parsed = page_of(tmp_path / kind, *told, title=HOSTILE[0])
        assert "<script>alert(1)</script>" in parsed.text
        assert "{{ 7 * 7 }}" in parsed.text
        assert not set("\u202e\u2066") & set(parsed.text)
        assert "\\u202eevil\\u2066" in parsed.text


@pytest.mark.parametrize("name", [each * 40 for each in ("W", "w", "M", "DECK ", "mmm ", "a", "漢", "i")])
def test_long_names_are_cut_beside_their_figures(name: str) -> None:
    """Broad letters leave room for fewer of them: a gap before the figure, and a sign that more follow."""
    cut = short(name)
    widths = [
        TextPath((0, 0), text, size=11, prop=FontProperties(family="DejaVu Sans", weight=weight)).get_extents().width
        for text, weight in ((cut.replace("漢", "—"), "bold"), ("100.0 % (100.0 to 100.0)", "normal"))
    ]
    assert sum(widths) < WIDTH - 2 * 14 - 4
    assert cut.endswith("…")
    assert len(cut) >= (12 if name[0] in "WM漢" else 15)


# ------------------------------------------------------------ the command


def test_report_as_users_run_it(run: Run, tmp_path: Path, two: tuple[Path, bytes]) -> None:
    """The command writes the page and says so; another process makes the same bytes of the same tables elsewhere."""
    folder, content = two
    shutil.copytree(folder, tmp_path / "others")
    done = run("report", "-o", "report.html", SOULRIFT_TABLES="others")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"report.html: 2 matches, {len(content) / 1000:.0f} kB\n"
    assert (tmp_path / "report.html").read_bytes() == content


def test_tables_that_tell_nothing_make_no_page(program: Program, tmp_path: Path) -> None:
    """No tables, tables without a match, and such with running matches only are told in a line; nothing is written."""
    tables(tmp_path / "running", GOING_ON)
    tables(tmp_path / "none")
    (tmp_path / "other").mkdir()
    for folder, told in (
        ("running", "no match in running has ended: 1 still run, so there is nothing to report yet"),
        ("none", "no match in none has ended, so there is nothing to report yet"),
        ("other", "there are no tables in other; `soulrift tables -o other` makes them"),
        ("nowhere", "there are no tables in nowhere; `soulrift tables -o nowhere` makes them"),
    ):
        done = program("report", folder, "-o", "report.html")
        assert (done.status, done.out) == (2, "")
        assert told in " ".join(done.err.split())
    assert not (tmp_path / "report.html").exists()


def test_bad_input_is_told(program: Program, tmp_path: Path) -> None:
    """A file that is there (unless it is to be replaced), a folder that is not, damaged tables: told in a sentence."""
    folder = tables(tmp_path / "tables", SHORT)
    (tmp_path / "there.html").write_text("mine")
    done = program("report", "-o", "there.html")
    assert (done.status, (tmp_path / "there.html").read_text()) == (2, "mine")
    assert "there is a there.html already; --force replaces it" in " ".join(done.err.split())
    assert program("report", "-o", "there.html", "--force", "--title", "Season 3 <of> 2026").status == 0
    assert b"<h1>Season 3 &lt;of&gt; 2026</h1>" in (tmp_path / "there.html").read_bytes()
    assert "there is no folder for no/page.html" in program("report", "-o", "no/page.html").err
    assert "Missing option '-o'" in program("report").err
    file = next((folder / "life").rglob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-300] + bytes(300))
    done = program("report", "-o", "page.html")
    assert done.status == 1
    assert f"{file.relative_to(tmp_path)} is damaged" in done.err
    assert not (tmp_path / "page.html").exists()
    file.unlink()
    assert "is missing, which the manifest names" in " ".join(program("report", "-o", "page.html").err.split())


def test_tables_that_are_written_meanwhile_are_not_mixed(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page is of one state of the tables: if they are written while it is made, that is said, and there is none."""
    folder = tables(tmp_path / "tables", SHORT)

    def written(ask: Any) -> Any:
        shutil.copytree(tables(tmp_path / "newer", SHORT, LONG), folder, dirs_exist_ok=True)
        return wins(ask)

    monkeypatch.setattr(tables_page, "FINDINGS", (written,))
    done = program("report", "-o", "page.html")
    assert (done.status, done.out) == (1, "")
    assert "tables was written meanwhile: ask again" in done.err
    assert not (tmp_path / "page.html").exists()


def test_report_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a library is missing, the extra is named that brings it."""
    monkeypatch.delitem(sys.modules, "soulrift.tables_page")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(click.UsageError) as refused:
        __import__("soulrift.tables_page")
    assert refused.value.message == "a report needs an extra: pip install 'soulrift[analytics]'"


CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine, which would print the page")
def test_numbers_are_open_in_print(tmp_path: Path, two: tuple[Path, bytes]) -> None:
    """A browser prints the numbers behind the pictures, though nobody opened them: told six times, they fill sheets."""
    often = re.sub(rb"<details>.*?</details>", lambda found: 6 * found[0], two[1], flags=re.DOTALL)
    (tmp_path / "page.html").write_bytes(often)
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'browser'}")
    command = [str(CHROMIUM), *options, f"--print-to-pdf={tmp_path / 'page.pdf'}", (tmp_path / "page.html").as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") > 9  # it is 5 sheets without them


# ------------------------------------------------------------ the definitions

METRICS = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_every_named_query_follows_a_definition() -> None:
    """Each definition that a named query follows is a chapter of docs/metrics.md with that version, which names it."""
    chapters = dict(_chapters(METRICS.read_text()))
    for name in names():
        told = named(name).about
        (line,) = re.findall(r"Definitions?: (.*)", told)
        for definition, version in re.findall(r"([^;,]+), version (\d+)", line):
            title = f"{definition.strip()[0].upper()}{definition.strip()[1:]}"
            assert f"`{name}`" in chapters[title], (title, name)
            assert f"Version {version}" in chapters[title], title


def _chapters(text: str) -> Iterator[tuple[str, str]]:
    for chapter in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = chapter.partition("\n")
        yield title, rest


def test_examples_of_the_definitions_run(tmp_path: Path) -> None:
    """Every block of SQL in docs/metrics.md runs on tables, and finds something."""
    blocks = re.findall(r"```sql\n(.*?)```", METRICS.read_text(), re.DOTALL)
    assert blocks
    with closing(connect(str(tables(tmp_path / "tables", SHORT, LONG, DRAWN)))) as connection:
        for block in blocks:
            assert connection.execute(block).fetchall(), block
