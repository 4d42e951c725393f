"""What a report finds about what burned: the life that Soulburn took, and the power that was wasted."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from soulrift import figures
from soulrift.estimates import Estimate, interval, mean, number, percent, ratio
from soulrift.figures import RANKS, SOURCES
from soulrift.findings import (
    KINDS,
    MOST,
    Ask,
    Finding,
    Grid,
    Picture,
    Record,
    compared,
    few_matches,
    hollow,
    left_out,
    mark,
    picture,
    ranked,
    spoken,
    told_apart,
)
from soulrift.panels import Row, Words

PARTS = {"overpay": "paid too much", "fizzle": "fizzled", "rift": "unused ranks"}
"""What a source of Soulburn is called."""

# ------------------------------------------------------------ Soulburn


def soulburn(ask: Ask) -> Finding:
    """The life that burned: by source, by power level, by the Souls that paid, and by the rank of a Rift."""
    rows = {row["source"]: row for row in ask("soulburn-of-a-match")}
    found = {source: mean(row["mean"], row["spread"], row["matches"]) for source, row in rows.items()}
    whole = found.pop("all")
    if not whole.value:
        return Finding("soulburn", Markup("Soulburn took no life in these matches"))
    levels, by_soul, by_rift = ask("soulburn-by-level"), ask("soulburn-by-rank"), ask("rifts-by-highest")
    return Finding(
        "soulburn",
        _burned(found, whole),
        "Life that Soulburn took in a match, of all its players together: where more was paid than the cost (B-2), "
        "where what was paid for fizzled (B-3), and where ranks of a Rift were not used (B-4). The level is the power "
        "that burned at once. What a payment burned is shared among its Souls by their power. Lines through marks are "
        "95 % intervals.",
        [_sources(found), _levels(levels, whole.of), _paying(by_soul, whole.of), *_of_rifts(by_rift, whole.of)],
        [
            Grid("soulburn-of-a-match", ("source", "life a match", "95 % interval", "share"), _shares(found, whole)),
            Grid(
                "soulburn-by-level",
                ("source", "level", "times", "life"),
                [
                    (PARTS[row["source"]], _level(row["level"]), f"{row['times']:,}", f"{row['burned']:,}")
                    for row in levels
                ],
            ),
            Grid(
                "soulburn-by-rank", ("Soul", "spent", *PARTS.values(), "life", "life a Soul"), list(map(_paid, by_soul))
            ),
        ],
        few_matches(whole.of),
    )


def _burned(found: Mapping[str, Estimate], whole: Estimate) -> Markup:
    (first, most), (_, second) = sorted(found.items(), key=lambda each: -each[1].value)[:2]
    says = f"Soulburn takes {number(whole.value)} life a match"
    if most.above(second):
        says += f", most of all where {_WHERE[first]}: {percent(most.value / whole.value)}"
    return Markup("{}").format(says)


_WHERE = {"overpay": "too much was paid", "fizzle": "an effect fizzled", "rift": "ranks of a Rift were not used"}


def _shares(found: Mapping[str, Estimate], whole: Estimate) -> list[tuple[str, ...]]:
    return [
        (PARTS.get(source, "all"), number(of.value), interval(of, shares=False), percent(of.value / whole.value))
        for source, of in (*found.items(), ("all", whole))
    ]


def _sources(found: Mapping[str, Estimate]) -> Picture:
    title, drawn = "Life a match, by source", [mark(PARTS[each], of, shares=False) for each, of in found.items()]
    return picture(title, figures.dots(drawn, Words("burn", title, spoken(drawn), "life a match")))


def _levels(rows: Sequence[Record], matches: int) -> Picture:
    drawn = []
    for level in sorted({row["level"] for row in rows}):
        by_source = {row["source"]: row["burned"] / matches for row in rows if row["level"] == level}
        parts = tuple(by_source.get(source, 0.0) for source in PARTS)
        drawn.append(Row(f"level {_level(level)}", number(sum(parts)), parts=parts))
    return _burning("burn-levels", "Life a match, by source and power level", drawn)


def _level(level: int) -> str:
    return f"{level} and more" if level == HIGHEST else str(level)


HIGHEST = 5
"""Levels from here on are counted together."""


def _paying(rows: Sequence[Record], matches: int) -> Picture:
    drawn = [
        Row(
            f"Souls of rank {row['rank']}",
            f"{number(row['burned'] / matches)}; {number(row['per_soul'])} a Soul",
            parts=tuple(row[source] / matches for source in PARTS),
        )
        for row in rows
    ]
    return _burning("burn-souls", "Life a match, by source and the rank of the Souls", drawn)


def _burning(name: str, title: str, drawn: Sequence[Row]) -> Picture:
    words = Words(name, title, spoken(drawn), "life a match")
    return picture(title, figures.stacks(drawn, tuple(PARTS.values()), SOURCES, words))


def _paid(row: Record) -> tuple[str, ...]:
    counts = (f"{row[what]:,.0f}" for what in ("spent", *PARTS, "burned"))
    return (f"rank {row['rank']}", *counts, number(row["per_soul"]))


def _of_rifts(rows: Sequence[Record], matches: int) -> list[Picture]:
    """The life that unused ranks took, by the rank of the Rift and how many of its ranks that were."""
    if not any(row["burned"] for row in rows):
        return []
    title, drawn = "Life a match by unused ranks, by the rank of the Rift", []
    for rank in (1, 2, 3):
        by_unused = {rank - row["highest"]: row["burned"] / matches for row in rows if row["rank"] == rank}
        parts = tuple(by_unused.get(unused, 0.0) for unused in (1, 2, 3))
        drawn.append(Row(f"Rifts of rank {rank}", number(sum(parts)), parts=parts))
    words = Words("burn-rifts", title, spoken(drawn), "life a match")
    return [picture(title, figures.stacks(drawn, ("1 unused", "2 unused", "3 unused"), RANKS[1:], words))]


# ------------------------------------------------------------ waste

_WASTE = ("matches", "power paid", *PARTS.values(), "wasted", "share", "95 % interval")


def waste(ask: Ask) -> Finding:
    """What power was wasted: by deck and policy, and by player where matches were played."""
    pictures, grids, says, all_found = list[Picture](), list[Grid](), list[Markup](), list[Mapping[str, Estimate]]()
    for one, title in KINDS.items():
        query = f"waste-by-{one}"
        rows = [row for row in ask(query, "seats", MOST) if row["paid"]]
        if not rows:
            continue
        found = {row[one]: ratio(row["share"], row["error"], row["seats"]) for row in rows}
        all_found.append(found)
        if told_apart(found) or not pictures:
            pictures.append(_wasted_bars(query, f"{title}: power wasted, %", one, rows, found))
            says += compared(found, one, "wastes", "of the power paid")
        told_rows = [_wasted(row[one], row, found[row[one]]) for row in rows]
        grids.append(Grid(query, (one, *_WASTE), told_rows, rows[0]["of"] - len(rows)))
    return Finding(
        "waste",
        says[0] if says else Markup("Nobody can be compared by waste"),
        "A bar is the share of all power paid that bought nothing: beyond the cost (B-2), for an effect that fizzled "
        "(B-3), or for ranks of a Rift that nothing used (B-4). The thin line is the 95 % interval of the whole bar."
        + left_out(all_found),
        pictures,
        grids,
        hollow(all_found),
    )


def _wasted_bars(query: str, title: str, one: str, rows: Sequence[Record], found: Mapping[str, Estimate]) -> Picture:
    drawn, by_name = [], {row[one]: row for row in rows}
    for name, of in ranked(told_apart(found) or found):
        row = mark(name, of, shares=True)
        parts = tuple(100 * by_name[name][part] / by_name[name]["paid"] for part in PARTS)
        drawn.append(Row(name, row.told, row.value, parts, row.low, row.high))
    words = Words(query, title, spoken(drawn), "% of the power paid")
    return picture(title, figures.stacks(drawn, tuple(PARTS.values()), SOURCES, words))


def _wasted(name: str, row: Record, of: Estimate) -> tuple[str, ...]:
    counts = (f"{row[what]:,}" for what in ("seats", "paid", *PARTS, "wasted"))
    return (name, *counts, percent(of.value), interval(of, shares=True))
