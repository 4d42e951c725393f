"""`soulrift audit`: the judgment on a match, as text and data; `report.py` has the page."""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click
import msgspec
from rich.text import Text

from domain.codec import CorruptRecordError
from domain.entry import Entry
from domain.rules.ruleset import Ruleset
from replays import bundle
from replays.audit import Audit, Burn, Ruled, audit
from replays.bundle import BundleError
from replays.evidence import Evidence, Trust
from replays.names import separable
from replays.reading import Reader, Recording
from replays.verify import Verified, beside_matches
from replays.writing import WRITER
from soulrift import keyrings
from soulrift.board import table
from soulrift.notation import WHY_BURNED, Names, correction_told, power_told
from soulrift.proving import write
from soulrift.recordings import is_file, recording_of
from soulrift.terminal import Output, bar, complain, spelled_out
from soulrift.verifying import (
    STATUS,
    Against,
    begins_with,
    checkpoint_line,
    differences_table,
    entries_told,
    evidence_of,
    held,
    told,
    untold,
    verdict_style,
)


def run(name: str, db: str, match: str | None, against: Against, form: str, out: str | None, *, replace: bool) -> int:
    """Audit a match, write the judgment, and tell the verdict if that goes into a file; the exit status."""
    entries, beside = list[Entry](), list[Verified]()
    try:
        with _source(name, db, match, against) as (reader, recording, evidence), bar("re-executing"):
            found = audit(recording, evidence, entries.append if form == "html" else None)
            if not reader.archive:  # of which the other matches are nobody's business here
                reader.finish()
                beside += beside_matches(reader)
    except (CorruptRecordError, BundleError) as error:
        return _damaged(name, str(error).removeprefix(f"{name}: "), form)
    if beside and found.verified.line is None:  # something that belongs to no match
        more = msgspec.structs.replace(beside[0], match=found.match, entries=found.entries)
        found = msgspec.structs.replace(found, verified=more)
    verdict = found.verified.verdict
    write(_written(found, entries, form), out, db, f"{verdict}: the audit of {found.match}", replace=replace)
    return STATUS[verdict]


def form_of(form: str | None, out: str | None) -> str:
    """The form that is wanted; where none is told, what the ending of the file's name says.

    Raises:
        click.UsageError: the two are not the same.

    """
    meant = {".html": "html", ".json": "json"}.get(Path(out or "").suffix.lower())
    if form and meant and form != meant:
        raise click.UsageError(f"{out} ends as {meant} does, and --format says {form}")
    return form or meant or "text"


@contextmanager
def _source(
    name: str, db: str, match: str | None, against: Against
) -> Iterator[tuple[Reader, Recording, Evidence | None]]:
    """A recording by its name, and what it is compared with: of a bundle, with what came along too."""
    path = Path(name)
    if not is_file(path) or not begins_with(path, bundle.START):
        with recording_of(name, db, match) as found:
            yield *found, evidence_of(against)
        return
    files = bundle.unpacked(path.read_bytes())
    along = () if against.trusted else bundle.keys(files)  # who names a key wants no other
    trust = Trust(keyrings.trust(against.trusted, against.keys).pinned, along)
    reader = Reader(io.BytesIO(files[bundle.REPLAY]))
    recording = next(reader.recordings(), None)
    if recording is None or reader.archive:
        message = (
            f"{bundle.REPLAY}: {reader.damages[0] if reader.damages else 'an archive is not the record of a match'}"
        )
        raise BundleError(message)
    if match not in {None, recording.match}:
        message = f"there is no match {match} in {path}"
        raise click.UsageError(message)
    yield reader, recording, Evidence([*bundle.held(files), *held(against)], trust)


def _damaged(name: str, reason: str, form: str) -> int:
    """What is to be told of a record of which nothing can be read."""
    if form == "json":
        output = Output()
        output.data({"verdict": "damaged", "reason": reason})
        output.end()
    else:
        complain(f"damaged: {name}: {reason}")
    return STATUS["damaged"]


def _written(found: Audit, entries: Iterable[Entry], form: str) -> bytes:
    if form == "html":
        from soulrift.report import page

        return page(found, entries).encode()
    if form == "json":
        return msgspec.json.encode(as_data(found)) + b"\n"
    return "".join(f"{spelled_out(line.plain)}\n" for line in lines(found)).encode()


def as_data(found: Audit) -> dict[str, Any]:
    """The judgment as data, the verdict first."""
    data = cast("dict[str, Any]", msgspec.to_builtins(found))
    return {"verdict": found.verified.verdict, "reason": told(found.verified), "writer": WRITER, **data}


def lines(found: Audit) -> Iterator[Text]:
    """The judgment as lines of text."""
    names = Names.seated({account.player: account.name for account in found.players})
    yield from _verdict(found)
    if found.players:
        yield from _result(found, names)
        yield from _section("Life", _accounts(found, names))
        yield from _section("Soulburn", _soulburn(found.soulburn, names))
        yield from _section("Payments that could have burned less", _cheaper(found, names))
        yield from _section("Open payments at the end (E-1)", _open(found, names))
        yield from _section("Unusual, though no rule forbids it", _unusual(found))
        yield from _section("Rulings by judges (J-1)", _rulings(found.rulings, names))


def _section(title: str, rows: Iterable[Text]) -> Iterator[Text]:
    yield Text()
    yield Text(title, style="bold")
    none = True
    for row in rows:
        none = False
        yield row
    if none:
        yield Text("  none")


def _verdict(found: Audit) -> Iterator[Text]:
    verified = found.verified
    style = verdict_style(verified.verdict)
    yield Text.assemble((verified.verdict, style), f": {found.match}: {told(verified)}")
    for judged in untold(verified):
        yield Text.assemble("  ", checkpoint_line(judged))
    if verified.differences:
        yield from differences_table(verified.differences, "must be", "is recorded as")
    if verified.line is not None:
        yield Text(f"What follows is of the {entries_told(found.entries)} before that.")
    yield Text(f"  root over {entries_told(found.entries)}: {found.root}", style="dim")


def _result(found: Audit, names: Names) -> Iterator[Text]:
    yield Text()
    yield Text("The match", style="bold")
    players = [separable(names.player(account.player)) for account in found.players]
    yield Text(f"  {', '.join(players)}; {outcome(found, names)}")
    yield Text(f"  rules of version {found.rules}; {varied(found)}")
    if found.private:
        yield Text(f"  a private match: names and actors are hidden in its lines; {opened_told(found)}")


def opened_told(found: Audit) -> str:
    """How many of the hidden names are known."""
    if not found.opened:
        return "they are not known here"
    return f"{found.opened} of them {'is' if found.opened == 1 else 'are'} told here"


def outcome(found: Audit, names: Names) -> str:
    """How the match stands, and why."""
    turns = f"{found.turns} turns" if found.turns != 1 else "1 turn"
    if found.status != "ended":
        return f"running, {turns} so far"
    result = f"{names.player(found.winner)} has won" if found.winner else "a draw"
    return f"{result}, after {turns} ({found.ended or 'no reason is given'})"


def varied(found: Audit) -> str:
    """In what the ruleset departs from the usual one."""
    usual = msgspec.structs.asdict(Ruleset())
    fields = [f"{name} {value}" for name, value in found.ruleset.items() if value != usual[name]]
    return f"ruleset: {', '.join(fields)}" if fields else "the usual ruleset"


ACCOUNT = ("player", "start", "overpaid", "fizzled", "unused ranks", "other changes", "rulings", "life", "")


def accounts(found: Audit, names: Names) -> Iterator[tuple[str, ...]]:
    """Each player's life as a sum, in the columns of `ACCOUNT`."""
    for each in found.players:
        sums = (-each.overpay, -each.fizzle, -each.rift, each.changes, each.rulings)
        defeated = "defeated" if each.defeated else ""
        yield (
            names.player(each.player),
            str(each.start),
            *(f"{n:+}" if n else "0" for n in sums),
            str(each.life),
            defeated,
        )


def _accounts(found: Audit, names: Names) -> Iterator[Text]:
    return table(accounts(found, names), ACCOUNT)


BURN = ("entry", "event", "player", "for", "power", "life each", "life", "why")


def burns(rows: Iterable[Burn], names: Names) -> Iterator[tuple[str, ...]]:
    """Each Soulburn with its arithmetic, in the columns of `BURN`."""
    for row in rows:
        power = power_told(row.source, row.of, row.less)
        what = f"Rift {row.rift}" if row.rift else f"payment {row.payment}"
        why = f"{WHY_BURNED[row.source]} ({row.rule})"
        life = f"{row.before} - {row.damage} = {row.life}"
        yield str(row.entry), str(row.n), names.player(row.player), what, power, str(row.per_power), life, why


def _soulburn(rows: Iterable[Burn], names: Names) -> Iterator[Text]:
    cells = list(burns(rows, names))
    return table(cells, BURN) if cells else iter(())


CHEAPER = ("entry", "payment", "player", "cost", "Souls", "burned", "could have been", "burning")


def cheaper(found: Audit, names: Names) -> Iterator[tuple[str, ...]]:
    """Payments for which others would have burned less, in the columns of `CHEAPER`."""
    for row in found.cheaper:
        souls, instead = (", ".join(map(str, numbers)) for numbers in (row.souls, row.instead))
        who = names.player(row.player)
        yield (
            str(row.entry),
            str(row.payment),
            who,
            str(row.amount),
            souls,
            str(row.burned),
            instead,
            str(row.would_burn),
        )


def _cheaper(found: Audit, names: Names) -> Iterator[Text]:
    cells = list(cheaper(found, names))
    return table(cells, CHEAPER) if cells else iter(())


def _open(found: Audit, names: Names) -> Iterator[Text]:
    for row in found.open_payments:
        yield Text(
            f"  payment {row.payment} of {names.player(row.player)} in entry {row.entry}: Soulrift {row.amount} for "
            f"{row.effect}"
        )


def _unusual(found: Audit) -> Iterator[Text]:
    for row in found.unusual:
        yield Text(f"  entry {row.entry}: {row.told}")


def _rulings(rows: Iterable[Ruled], names: Names) -> Iterator[Text]:
    for row in rows:
        yield Text(f"  entry {row.entry}: {ruling_told(row)}")
        for correction in row.corrections:
            yield Text(f"    {correction_told(names, correction)}")


def ruling_told(row: Ruled) -> str:
    """Who ruled, on what and why."""
    about = f" on entry {row.about}" if row.about else ""
    at = f", at {row.at}" if row.at else ""
    sent = f", sent by {row.actor}" if row.actor else ""
    return f"judge {row.judge}{about}: {row.reason}{at}{sent}"
