"""The audit of a match as one page that holds everything it shows, to read, to print and to link into."""

import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct

from domain.entry import Entry
from domain.rules.commands import CommandMeta
from domain.rules.events import RulingMade, SoulburnTaken
from replays.audit import Audit
from replays.names import separable
from replays.writing import WRITER
from soulrift import auditing
from soulrift.drawing import Line, steps
from soulrift.notation import Names, Notation, correction_told
from soulrift.terminal import spelled_out
from soulrift.verifying import checkpoint_line, entries_told, shown, told, untold

LARGEST = 290_000
"""Bytes of a page. Of a match that is too long for that, the entries are told that matter most."""

TABLES = (300, 100, 30)
"""So many rows of each other table are told, at most; fewer where they take more than `LARGEST_TABLES`."""

LARGEST_TABLES = 100_000
"""Bytes of a page without its entries, and without places to link to for them."""

LEAST_ENTRIES = 30_000
"""Bytes of entries that are told even where places for those that are left out take all other room."""

SCRIPT = """
const go = () => {
  const entry = /^#e(\\d+)$/.exec(location.hash);
  if (!entry || document.getElementById("e" + entry[1])) return;
  const places = [...document.querySelectorAll("[id^=e]")];
  const before = places.filter(place => Number(place.id.slice(1)) <= Number(entry[1])).pop();
  if (before) location.replace("#" + before.id);
};
addEventListener("hashchange", go);
go();
"""
"""Takes a link to an entry that has no place of its own to the nearest place before it."""

LONGEST_NAME = 40
"""Characters of a name on the page."""


class Row(Struct):
    """An entry in the page's table. `weight` says how much it matters: 0 like any other, 1 for life that burned or a
    ruling. `before` are the first and last of the entries that are left out above it.
    """

    number: int
    who: str
    told: Markup
    at: str
    weight: int
    before: tuple[int, int] | None = None


def page(found: Audit, entries: Iterable[Entry]) -> str:
    """The page of a judgment; the entries are those that were proven."""
    rows = list(_rows(found, entries))
    whole = _rendered(found, rows, TABLES[0])
    if len(whole.encode()) <= LARGEST:
        return whole
    for longest in TABLES:
        room = LARGEST - len(_rendered(found, [], longest, found.entries).encode())
        if room >= LARGEST - LARGEST_TABLES:
            break
    places = found.entries * len(_PLACE.format(found.entries))
    apart = max(-(-places // (room - LEAST_ENTRIES)), 1)
    return _rendered(found, _chosen(rows, room - places // apart), longest, apart)


def _rendered(found: Audit, rows: list[Row], longest: int, apart: int = 1) -> str:
    """The page with these rows, where each `apart`th entry that is left out has a place to link to."""
    names = _names(found)
    rest = (rows[-1].number + 1 if rows else 1, found.entries)
    gaps = [*(row.before for row in rows if row.before), rest]
    places = sorted({*(row.number for row in rows), *(n for gap in gaps for n in _places(gap, apart))})
    return (
        _environment()
        .get_template("report.html")
        .render(
            audit=found,
            names=names,
            players=[separable(names.player(account.player)) for account in found.players],
            verdict=found.verified.verdict,
            reason=told(found.verified),
            checkpoints=[checkpoint_line(judged).plain for judged in untold(found.verified)],
            differences=found.verified.differences,
            shown=shown,
            opened=auditing.opened_told(found),
            outcome=auditing.outcome(found, names),
            varied=auditing.varied(found),
            accounts=(auditing.ACCOUNT, list(auditing.accounts(found, names))),
            burns=(auditing.BURN, list(auditing.burns(found.soulburn, names))),
            cheaper=(auditing.CHEAPER, list(auditing.cheaper(found, names))),
            ruling_told=auditing.ruling_told,
            correction_told=lambda correction: correction_told(names, correction),
            charts=list(_charts(found, names)),
            rows=rows,
            rest=rest,
            left_out=found.entries - len(rows),
            longest=longest,
            places=lambda gap: Markup("").join(Markup(_PLACE).format(n) for n in _places(gap, apart)),  # noqa: S704
            place=lambda entry: places[bisect_right(places, int(entry)) - 1],
            script=Markup(SCRIPT) if apart > 1 else None,  # noqa: S704 - a constant
            script_hash=b64encode(sha256(SCRIPT.encode()).digest()).decode(),
            writer=WRITER,
        )
    )


_PLACE = "<wbr id=e{}>"


def _places(gap: tuple[int, int], apart: int) -> list[int]:
    """Those of the entries that are left out which have a place to link to: the first of them, and some more."""
    first, last = gap
    return [number for number in range(first, last + 1) if number == first or number % apart == 0]


def _names(found: Audit) -> Names:
    return Names.seated({account.player: account.name for account in found.players}, LONGEST_NAME)


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finished,
    )
    made.filters["comma"] = "{:,}".format
    made.filters["entries"] = entries_told
    return made


def _finished(value: Any) -> Any:
    """A value as the page shows it: nothing for null, and no character that turns the direction of what follows."""
    if value is None:
        return ""
    return spelled_out(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _charts(found: Audit, names: Names) -> Iterator[tuple[str, Markup]]:
    """The captions of the charts, and the charts."""
    if not found.entries:
        return
    *life, aether = found.courses
    lines = [Line(names.player(course.of), course.points) for course in life]
    for title, drawn in (("Life", lines), ("Souls in the Aether", [Line("Souls", aether.points)])):
        told = f"{title} after each entry"
        yield told, Markup(steps(told, drawn, found.entries))  # noqa: S704 - it escapes what it shows


def _rows(found: Audit, entries: Iterable[Entry]) -> Iterator[Row]:
    notation = Notation(Names(LONGEST_NAME))
    matter = {row.entry for row in found.unusual} | {row.entry for row in found.cheaper}
    matter |= {row.entry for row in found.open_payments} | {ruling.about for ruling in found.rulings if ruling.about}
    for entry in entries:
        who, line = notation.told(entry)
        weight = int(
            entry.number in matter or any(isinstance(each, SoulburnTaken | RulingMade) for each in entry.events)
        )
        yield Row(entry.number, spelled_out(who), _whole_rules(spelled_out(line.plain)), _at(entry), weight)


_RULE = re.compile(r"\b[A-Z]-\d+")


def _whole_rules(text: str) -> Markup:
    """A text in which no line ends in the middle of a rule's number."""
    return Markup(_RULE.sub(r"<i>\g<0></i>", str(escape(text))))  # noqa: S704 - it is escaped


class _Meta(Struct):
    meta: CommandMeta | None = None


_decode_meta = msgspec.json.Decoder(_Meta).decode


def _at(entry: Entry) -> str:
    if b'"at":' not in entry.command_json:
        return ""
    meta = _decode_meta(entry.command_json).meta
    return (meta.at or "") if meta else ""


ROW = 200
"""Bytes that a row takes at most beside what it tells, with one above it for those that are left out."""


def _chosen(rows: list[Row], room: int) -> list[Row]:
    """Those rows that matter, and of the others as many from the beginning as there is room for, in bytes."""
    kept = set[int]()
    for row in sorted(rows, key=lambda row: (-row.weight, row.number)):
        room -= ROW + len((escape(row.who) + row.told).encode()) + len(row.at)
        if room < 0:
            break
        kept.add(row.number)
    chosen, first = list[Row](), 1
    for row in rows:
        if row.number in kept:
            row.before = (first, row.number - 1) if first < row.number else None
            chosen.append(row)
            first = row.number + 1
    return chosen
