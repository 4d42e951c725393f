"""The page of an audit: whole, safe against what names say, small, with places to link to, and right in its charts."""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache, partial
from hashlib import sha256
from html.parser import HTMLParser
from itertools import cycle, islice, pairwise
from typing import Any

import msgspec
import pytest

from soulrift.drawing import Line, steps
from soulrift.report import SCRIPT, page
from tests.bundles import audited_with_entries
from tests.evidence import evidence, signed
from tests.recordings import EXAMPLES, file_of, lines, refolded, releases, script

Json = dict[str, Any]

LARGEST = 300_000

VOID = {"meta", "wbr", "br"}

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "'; drop--&amp;<!--",
    "\u202eevil\u2066",
    "</td></table></title></style></svg>",
    "{{ 7 * 7 }}{% raw %}",
    "]]><![CDATA[",
    "\u2028line\u2029",
    "javascript:alert(1)//http://evil.example/",
)


class Parsed(HTMLParser):
    """A page, parsed with a stack of its open elements."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.style = ""
        self.script = ""
        self.comments: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Push an element, but for those that have no end; no attribute occurs twice."""
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Elements that close themselves are those of pictures."""
        assert "svg" in self.stack
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Pop the element that is open."""
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take in text."""
        if self.stack and self.stack[-1] == "style":
            self.style += data
        elif self.stack and self.stack[-1] == "script":
            self.script += data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        """There is none, but it is seen."""
        self.comments.append(data)

    @property
    def anchors(self) -> set[str]:
        """Places to link to."""
        return {str(attrs["id"]) for _, attrs in self.tags if "id" in attrs}

    @property
    def policy(self) -> str | None:
        """What the page allows itself."""
        (policy,) = [attrs["content"] for _, attrs in self.tags if attrs.get("http-equiv")]
        return policy

    @property
    def links(self) -> set[str]:
        """Where links lead."""
        return {str(attrs["href"]) for _, attrs in self.tags if "href" in attrs}


def page_of(commands: list[Any], status: str = "running") -> str:
    """The page of the match that these commands make."""
    return page_of_lines(lines(commands), status)


def page_of_lines(made: list[bytes], status: str = "running", notes: Sequence[bytes] = ()) -> str:
    match = json.loads(made[0])["events"][0]["match"]
    return page(*audited_with_entries(file_of(match, made, status), evidence(*notes) if notes else None))


@cache
def example(name: str) -> str:
    """The page of an example that is called so."""
    commands = script(next(path for path in EXAMPLES if path.stem == name))
    return page_of(commands, "ended" if name in ENDED else "running")


ENDED = ("long-duel", "four-players")


def sound(text: str) -> Parsed:
    """A page that is what every page must be."""
    parsed = Parsed(text)
    assert len(text.encode()) < LARGEST
    assert parsed.comments == []
    anchors = [attrs["id"] for _, attrs in parsed.tags if "id" in attrs]
    assert len(anchors) == len(set(anchors))
    assert {link[1:] for link in parsed.links} <= parsed.anchors
    assert all(link.startswith("#e") for link in parsed.links)
    names = {tag for tag, _ in parsed.tags}
    assert [tag for tag, _ in parsed.tags if tag == "script"] == ["script"] * bool(parsed.script)
    assert parsed.script in {"", SCRIPT}
    assert not names & {"img", "link", "iframe", "object", "embed", "form", "base", "image", "use", "a:href"}
    assert not any(name.startswith("on") or name in {"src", "xlink:href"} for _, attrs in parsed.tags for name in attrs)
    assert "url(" not in parsed.style
    assert "@import" not in parsed.style
    return parsed


def burning(count: int, players: list[Json], *, every: str = "x") -> list[Json]:
    """A match in which everybody overpays, is ruled on, sends for others and leaves payments open, so many times."""
    ruleset = {"starting_life": 1_000_000}
    commands: list[Json] = [{"type": "start_match", "match": "m", "players": players, "ruleset": ruleset}]
    souls = 0
    for number in range(count):
        player, other = (players[(number + more) % len(players)] for more in (0, 1))
        commands += [{"type": "release", "rank": 1}, {"type": "release", "cause": every}]
        pay = {"type": "pay", "player": player["player"], "amount": 1, "souls": [souls + 1], "effect": every}
        back = {"life": {"player": player["player"], "delta": 3}}
        meta = {"actor": other.get("name", other["player"]), "at": f"2026-05-09T11:{59 - number % 60:02}:12Z"}
        commands += [{**pay, "meta": meta}]
        commands += [
            {
                "type": "ruling",
                "judge": every,
                "reason": every,
                "about": len(commands),
                "corrections": [back],
                "meta": meta,
            }
        ]
        commands += [{"type": "pay", "player": player["player"], "amount": 1, "souls": [souls + 2], "cost": every}]
        souls += 2
    return commands


def changed_event(change: Json, entry: Json) -> None:
    entry["events"][0].update(change)


class TestSafe:
    """Nothing that stands in a record does anything in the page."""

    @pytest.mark.parametrize("evil", HOSTILE)
    def test_names_everywhere(self, evil: str) -> None:
        """Wherever a text of a record is shown, it is text: in tables, captions, pictures, the title, the verdict."""
        name, short = evil, evil[:64]
        players = [{"player": short, "name": name}, {"player": f"2{short}"[:64], "name": f"{name}2"}]
        commands = burning(2, players, every=name)
        commands[0]["match"] = short
        card = {"type": "enter", "card": short, "controller": short, "name": name}
        commands += [card, {"type": "leave", "card": short, "to": name}, {"type": "end_match", "reason": name}]
        text = page_of(commands, "ended")
        parsed = sound(text)
        assert text.isprintable() or not re.search("[\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)
        spelled = re.sub("[\u2028-\u202e\u2066-\u2069]", lambda found: f"\\u{ord(found[0]):04x}", evil)
        assert spelled in parsed.text
        assert {tag for tag, _ in parsed.tags} == {tag for tag, _ in sound(page_of(burning(2, PLAYERS))).tags}

    @pytest.mark.parametrize("evil", HOSTILE)
    def test_what_diverges(self, evil: str) -> None:
        """So is what a record says falsely."""
        made = refolded(lines(burning(2, PLAYERS)), 4, lambda entry: entry["events"][0].update(source=evil))
        parsed = sound(page_of_lines(made))
        assert ("script" in evil) <= ("alert(1)" in parsed.text)

    def test_self_contained(self) -> None:
        """It asks for nothing from anywhere, and its policy would not let it."""
        text = example("long-duel")
        parsed = sound(text)
        assert not re.search(r"https?:|src=|//[a-z]", text)
        assert parsed.policy == "default-src 'none'; style-src 'unsafe-inline'"
        assert text.index("Content-Security-Policy") < text.index("<style>")


PLAYERS = [{"player": "ada", "name": "Ada"}, {"player": "bo", "name": "Bo"}]

WIDEST = ("\U0001f525" * 500, '"' * 500, "\u202e" * 500, "x" * 500)
"""Names that take the most bytes: as UTF-8, escaped, spelled out; and plain ones."""


class TestSmall:
    """A page is one that can be sent by mail."""

    @pytest.mark.parametrize("size", [10, 1_000, 10_001, 15_000])
    def test_anchors(self, size: int) -> None:
        """Each entry of a match has its place to link to, as long as there is room; such a page has no script."""
        parsed = sound(quiet(size))
        assert parsed.anchors == {f"e{number}" for number in range(1, size + 1)}
        assert parsed.script == ""

    @pytest.mark.parametrize("size", [20_000, 60_000])
    def test_more_entries(self, size: int) -> None:
        """Beyond that a script takes a link to the place before it, which stands for the entries left out there."""
        text = quiet(size)
        parsed = sound(text)
        assert parsed.script == SCRIPT
        places = sorted(int(anchor[1:]) for anchor in parsed.anchors)
        assert places[0] == 1
        assert len(places) > 10_000
        assert max(after - before for before, after in pairwise([*places, size + 1])) <= size / 10_000
        gaps = re.findall(r">(\d+) to (\d+) are left out", text)
        assert gaps
        assert {int(first) for first, _ in gaps} <= set(places)
        rows = len(re.findall("<tr id=", text))
        assert rows + sum(int(last) - int(first) + 1 for first, last in gaps) == size
        assert f"{size - rows:,} entries are left out" in parsed.text

    def test_script_is_the_only_one(self) -> None:
        """The page's policy lets that script run, by its hash, and no other."""
        digest = b64encode(sha256(SCRIPT.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        assert sound(quiet(60_000)).policy == policy

    def test_one_entry_left_out(self) -> None:
        """Where Soulburn takes all the room, the first entry is left out; it is told as one, and has its place."""
        made, entries = audited_with_entries(file_of("m", lines(burning(1, PLAYERS)), "running"))
        more = [msgspec.structs.replace(entries[3], number=number) for number in range(2, 5_000)]
        text = page(msgspec.structs.replace(made, entries=4_999), [entries[0], *more])
        assert ">1 is left out<" in text
        assert {f"e{number}" for number in range(1, 5_000)} == sound(text).anchors

    def test_whole_where_there_is_room(self) -> None:
        """A match of usual length is told whole."""
        parsed = sound(example("long-duel"))
        assert "left out" not in parsed.text
        assert len(parsed.anchors) == 89

    @pytest.mark.parametrize("letters", WIDEST, ids=["emoji", "quotes", "turns", "plain"])
    def test_long_names(self, letters: str) -> None:
        """However long names and reasons are, hundreds of Soulburns, rulings and unusual things fit, each linked."""
        players = [{"player": f"p{n}", "name": letters[:498] + f"{n:02}"} for n in range(16)]
        sound(page_of(burning(210, players, every=letters)))

    @pytest.mark.parametrize("more", [8_000, 9_000])
    def test_many_short_rows(self, more: int) -> None:
        """Hundreds of Soulburns in a match of thousands of entries fit as well, and each leads to its entry."""
        sound(page_of([*burning(320, PLAYERS), *turns(more)]))

    def test_many_corrections(self) -> None:
        """So does a ruling with thousands of corrections."""
        corrections = [{"life": {"player": "ada", "delta": 1}}, {"life": {"player": "ada", "delta": -1}}] * 3_000
        ruling = {"type": "ruling", "judge": "Mo", "reason": "seen", "corrections": corrections}
        sound(page_of([{"type": "start_match", "match": "m", "players": PLAYERS}, ruling]))

    def test_long_differences(self) -> None:
        """And a record that diverges in what has no end."""
        many: Json = {f"<{n}" * 1_000: n for n in range(60)}
        for change in ({"x" * 400_000: 1}, {"source": "<" * 400_000}, many):
            changed = refolded(lines(burning(2, PLAYERS)), 4, partial(changed_event, change))
            assert "diverged" in sound(page_of_lines(changed)).text

    def test_many_checkpoints(self) -> None:
        """And hundreds of checkpoints that are another's."""
        made = lines(burning(2, PLAYERS))
        notes = [signed(made, "x" * 64, at=f"2026-05-09T11:00:{n % 60:02}Z") for n in range(700)]
        sound(page_of_lines(made, notes=notes))

    def test_beyond_five_digits(self) -> None:
        """What happened in entry 100,000 is told as in any other: the number stands once."""
        made, entries = audited_with_entries(file_of("m", lines(releases("m", 2)), "running"))
        late = msgspec.structs.replace(entries[1], number=100_003)
        text = page(made, [entries[0], late])
        assert re.search(r'<td><a href="#e100003">100003</a></td><td>[^<]*</td><td>\D', text)


@cache
def quiet(size: int) -> str:
    """The page of a match of turns, of so many entries."""
    made, entries = audited_with_entries(file_of("quiet", lines([QUIET, *turns(1)]), "running"))
    more = [msgspec.structs.replace(entries[1], number=number) for number in range(2, size + 1)]
    return page(msgspec.structs.replace(made, entries=size), [entries[0], *more])


QUIET = {"type": "start_match", "match": "quiet", "players": PLAYERS}


def turns(count: int, players: list[Json] = PLAYERS) -> list[Json]:
    return [{"type": "begin_turn", "player": player["player"]} for player in islice(cycle(players), count)]


class TestPage:
    """What stands in it."""

    def test_equal(self) -> None:
        """The same match makes the same bytes."""
        again = page_of(script(next(path for path in EXAMPLES if path.stem == "long-duel")), "ended")
        assert again == example("long-duel")

    def test_long_match_equal(self) -> None:
        """So does a long one."""
        assert quiet.__wrapped__(20_000) == quiet(20_000)

    def test_cells_are_printed_in_one_line(self) -> None:
        """On paper nothing short is broken: only what happened, and names beyond 32 letters."""
        long, short = "x" * 33, "x" * 32
        text = page_of(burning(2, [{"player": "a", "name": long}, {"player": "b", "name": short}]))
        assert f'<td class="l">{long}</td>' in text
        assert f"<td>{short}</td>" in text
        printed = sound(text).style.split("@media print")[1]
        assert "td, th" not in printed
        assert ".l, .l td { white-space: normal;" in printed

    def test_rules_are_whole(self) -> None:
        """No line ends within a rule's number; what looks like a tag beside one is none."""
        players = [{"player": "a", "name": "<i>&B-2"}, {"player": "b"}]
        text = page_of(burning(1, players))
        assert "(overpaid, <i>B-2</i>): -3 life, &lt;i&gt;&amp;<i>B-2</i> " in text
        assert "(overpaid, B-2): -3 life, <i>&B-2 " in sound(text).text
        assert ".entries i { font-style: normal; white-space: nowrap; }" in text

    def test_names_with_commas(self) -> None:
        """A name with a comma is quoted among others."""
        players = [{"player": "a", "name": "reap, hoarder"}, {"player": "b", "name": "Bo"}]
        text = sound(page_of(burning(1, players))).text
        assert '"reap, hoarder", Bo; running, 0 turns so far.' in text
        assert 'm begins: "reap, hoarder" and Bo, 1000000 life each' in text

    def test_one_entry(self) -> None:
        """A match of one entry has one entry."""
        assert "1 entries" not in quiet(1)
        assert "Root over 1 entry:" in quiet(1)
        assert "exact: 1 entry, each re-executed" in sound(page_of([QUIET])).text

    @pytest.mark.parametrize("name", [path.stem for path in EXAMPLES])
    def test_examples(self, name: str) -> None:
        """Each example has a sound page, with each of its entries."""
        parsed = sound(example(name))
        count = len(script(next(path for path in EXAMPLES if path.stem == name)))
        assert parsed.anchors == {f"e{number}" for number in range(1, count + 1)}
        assert parsed.text.strip().startswith(f"exact: {name}")

    def test_pictures_are_told(self) -> None:
        """Whoever cannot see a chart hears what it shows, and from where to where each figure goes."""
        text = example("worked-4-overpaid")
        charts = [attrs for tag, attrs in sound(text).tags if tag == "svg"]
        assert [(each["role"], each["aria-label"]) for each in charts] == [
            ("img", "Life after each entry"),
            ("img", "Souls in the Aether after each entry"),
        ]
        assert "Ilse Marrow from 30 to 24" in text
        assert "Souls from 0 to 0" in text

    def test_language_and_size(self) -> None:
        """It says its language, its letters, and that it fits a small screen."""
        tags = sound(example("worked-4-overpaid")).tags
        assert ("html", {"lang": "en"}) in tags
        assert ("meta", {"charset": "utf-8"}) in tags
        assert any(attrs.get("name") == "viewport" for _, attrs in tags)

    def test_nothing_proven(self) -> None:
        """A record of which nothing is proven has a page with the reason."""
        made = refolded(
            lines(burning(1, PLAYERS)), 1, lambda entry: entry["events"][0]["ruleset"].update(starting_life=4)
        )
        parsed = sound(page_of_lines(made))
        assert "diverged" in parsed.text
        assert parsed.anchors == set()


def points(drawn: str) -> list[list[tuple[float, float]]]:
    """Where each figure of a chart turns."""
    found = []
    for path in re.findall(r'<path class="line"[^>]* d="M([^"]*)"', drawn):
        x, y = map(float, path.split("H")[0].split(" "))
        at = [(x, y)]
        for step in path.split("H")[1:]:
            x, _, height = step.partition("V")
            at.append((float(x), float(height) if height else at[-1][1]))
        found.append(at)
    return found


class TestCharts:
    """Charts, whose places are known: 720 wide with 76 and 130 free, 220 high with 12 and 28 free."""

    def test_two_points(self) -> None:
        """From 30 to 24 in the last of four entries: x is 76 and 590, y 12 and, of 180 to 0, 12 + 180 * 6/30 = 48."""
        drawn = steps("Life", [Line("Ada", ((1, 30), (4, 24)))], 4)
        assert points(drawn) == [[(76.0, 12.0), (590.0, 48.0), (590.0, 48.0)]]

    def test_in_between(self) -> None:
        """Entry 2 of 5 is at 76 + 514/4 = 204.5; 10 of a range from -10 to 30 is at 12 + 180 * 20/40 = 102."""
        drawn = steps("Life", [Line("Ada", ((1, 30), (2, 10), (4, -10)))], 5)
        assert points(drawn) == [[(76.0, 12.0), (204.5, 102.0), (461.5, 192.0), (590.0, 192.0)]]

    def test_one_entry(self) -> None:
        """A match of one entry is a point."""
        assert points(steps("Life", [Line("Ada", ((1, 30),))], 1)) == [[(76.0, 12.0), (76.0, 12.0)]]

    def test_thinned(self) -> None:
        """Of many points on one place the lowest, the highest and the last are kept; the picture stays small."""
        course = [(n, 500 + (n * 7919) % 100) for n in range(1, 20_001)]
        course[7_000] = (7_001, 1_000)
        course[13_000] = (13_001, 0)
        drawn = steps("Life", [Line("Ada", course)], 20_000)
        (found,) = points(drawn)
        heights = [y for _, y in found]
        assert (min(heights), max(heights)) == (12.0, 192.0)
        assert found[-1] == (590.0, round(12 + 180 * (1_000 - course[-1][1]) / 1_000, 1))
        assert len(found) < 3 * 514 + 3
        assert [x for x, _ in found] == sorted(x for x, _ in found)

    def test_figures_beyond_reason(self) -> None:
        """Figures as large as a record can hold are drawn as others are."""
        most = 2**53 - 1
        drawn = steps("Life", [Line("Ada", ((1, most), (2, -most)))], 2)
        assert points(drawn) == [[(76.0, 12.0), (590.0, 192.0), (590.0, 192.0)]]
        assert drawn.count("<text") < 15

    @pytest.mark.parametrize("count", [1, 2, 8, 16])
    def test_labels_stay_inside(self, count: int) -> None:
        """Each figure has its name beside it, none over another and none outside, wherever the figures end."""
        for ends in ([0] * count, [30] * count, list(range(count))):
            drawn = steps("Life", [Line(f"p{n}", ((1, 30), (2, end))) for n, end in enumerate(ends)], 2)
            labels = sorted(float(y) for y in re.findall(r'<text x="596" y="([\d.]+)"', drawn))
            assert len(labels) == count
            height = int(re.findall(r'viewBox="0 0 720 (\d+)"', drawn)[0])
            assert all(0 < y <= height for y in labels)
            assert all(after - before > 8 for before, after in pairwise(labels))

    def test_names_are_cut_and_escaped(self) -> None:
        """Beside a chart there is room for 18 letters; in its text the whole name stands, escaped."""
        drawn = steps("<i>", [Line("<b>" + "x" * 30, ((1, 30), (2, 24)))], 2)
        assert "<b>" not in drawn
        assert "<i>" not in drawn
        assert f"&lt;b&gt;{'x' * 14}…</text>" in drawn
        assert f"&lt;b&gt;{'x' * 30} from 30 to 24" in drawn

    def test_figures_are_told_apart(self) -> None:
        """Sixteen figures differ in colour or in their dashes, for whoever prints without colours or sees few."""
        drawn = steps("Life", [Line(f"p{n}", ((1, 30), (2, n))) for n in range(16)], 2)
        styles = re.findall(r'<path class="line" (stroke="#\w+"(?: stroke-dasharray="[\d ]+")?)', drawn)
        assert len(set(styles)) == 16
