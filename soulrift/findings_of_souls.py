"""What a report finds about Souls: where they lay, what they were worth, and what came through Rifts."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from soulrift import figures
from soulrift.estimates import Estimate, interval, number, percent, ratio
from soulrift.figures import FATES, RANKS
from soulrift.findings import Ask, Finding, Grid, Picture, Record, few_matches, mark, picture, shown, some, spoken
from soulrift.panels import Row, Words

_RANKS = tuple(f"rank {rank}" for rank in range(4))

# ------------------------------------------------------------ the Aether


def aether(ask: Ask) -> Finding:
    """Souls in the Aether and on cards at the end of each turn."""
    lying = {place: {row["turn"]: row for row in ask(query)} for place, query in _PLACES.items()}
    matches = {turn: row["matches"] for turn, row in lying["in the Aether"].items()}
    turns = shown(matches) if matches else []
    held = [place for place, rows in lying.items() if any(rows[turn]["souls"] for turn in turns)]
    if not held:
        return Finding("aether", Markup("No Soul was there when a turn of these matches ended"))
    half = [turn for turn in turns if 2 * matches[turn] >= max(matches.values())]
    most = max(half, key=lambda turn: lying["in the Aether"][turn]["souls"])
    return Finding(
        "aether",
        _fullest(lying["in the Aether"], half, most),
        "How many Souls of each rank lay in the Aether, where everybody can use them, and on cards, when a turn was "
        "over: means of the matches that had the turn. All layers together are all Souls that lay there.",
        [_stacked(lying[place], turns, place) for place in held],
        [
            Grid(
                _PLACES[place],
                (f"turn, {place}", "matches", *_RANKS, "Souls"),
                [_counts(lying[place][turn]) for turn in turns],
            )
            for place in held
        ],
        few_matches(max(matches.values())),
    )


def _fullest(rows: Mapping[int, Record], half: Sequence[int], most: int) -> Markup:
    """When most Souls lie there, in those turns that half of the matches reached."""
    told = (
        "After turn {} the Aether holds {} Souls on average, the most in the {} turns that half of the matches reached"
    )
    return Markup(told).format(most, number(rows[most]["souls"]), half[-1])  # noqa: S704 - ours


_PLACES = {"in the Aether": "aether-by-turn", "on cards": "souls-on-cards-by-turn"}


def _stacked(rows: Mapping[int, Record], turns: Sequence[int], place: str) -> Picture:
    title = f"Souls {place} after each turn"
    layers = [[rows[turn][f"rank_{rank}"] for turn in turns] for rank in range(4)]
    told = "; ".join(f"turn {turn}: {number(rows[turn]['souls'])}" for turn in some(turns))
    return picture(title, figures.areas(turns, layers, _RANKS, Words(_PLACES[place], title, told, "turn")))


def _counts(row: Record) -> tuple[str, ...]:
    means = (number(row[what]) for what in (*(f"rank_{rank}" for rank in range(4)), "souls"))
    return (str(row["turn"]), f"{row['matches']:,}", *means)


# ------------------------------------------------------------ the value of a Soul

_FATES = ("bought something", "burned", "left over", "lost")


def value(ask: Ask) -> Finding:
    """What became of Souls and of their power, by rank."""
    rows, bought = ask("soul-value-by-rank"), ask("power-bought-by-rank")
    if not rows:
        return Finding("value", Markup("No Soul came in these matches"))
    found = {row["rank"]: ratio(row["share"], row["error"], row["matches"]) for row in bought}
    pictures = [_fates(rows)]
    if found:
        title = "Power of spent Souls that bought something, %"
        drawn = [mark(f"Souls of rank {rank}", of, shares=True) for rank, of in found.items()]
        pictures.append(picture(title, figures.dots(drawn, Words("worth", title, spoken(drawn), "%"))))
    return Finding(
        "value",
        _worth(found),
        "A Soul of a rank has one more as power. Power bought something if it was spent and did not burn: beyond the "
        "cost (B-2), for an effect that fizzled (B-3), or for ranks of a Rift that nothing used (B-4). What burns of a "
        "payment burns of all its Souls alike. Left over is what nobody had spent when the match ended.",
        pictures,
        [
            Grid(
                "soul-value-by-rank",
                ("Soul", "came", "a match", "spent", "left over", "lost", "turns until spent"),
                list(map(_souls, rows)),
            ),
            Grid(
                "power-bought-by-rank",
                ("Soul", "spent", "power", "bought", "share", "95 % interval"),
                [_bought(row, found[row["rank"]]) for row in bought],
            ),
        ],
        few_matches(max((of.of for of in found.values()), default=0)),
    )


def _worth(found: Mapping[int, Estimate]) -> Markup:
    if not found:
        return Markup("No Soul was spent")
    low, high = min(found), max(found)
    says = f"Rank {low} Souls put {percent(found[low].value)} of their power to use when they are spent"
    if high > low:
        says += f", rank {high} Souls {percent(found[high].value)}"
    return Markup("{}").format(says)


def _fates(rows: Sequence[Record]) -> Picture:
    title, drawn = "What became of the power of all Souls, %", []
    for row in rows:
        bought = row["spent"] * (row["bought"] or 0)
        parts = tuple(100 * part for part in (bought, row["spent"] - bought, row["left_over"], row["lost"]))
        drawn.append(Row(f"Souls of rank {row['rank']}", f"{row['came']:,}", parts=parts))
    told = "; ".join(
        f"{row.name}: " + ", ".join(f"{name} {part:.0f} %" for name, part in zip(_FATES, row.parts, strict=True))
        for row in drawn
    )
    return picture(title, figures.stacks(drawn, _FATES, FATES, Words("fates", title, told, "%")))


def _souls(row: Record) -> tuple[str, ...]:
    shares = (percent(row[what]) for what in ("spent", "left_over", "lost"))
    turns = "" if row["turns"] is None else number(row["turns"])
    return (f"rank {row['rank']}", f"{row['came']:,}", number(row["per_match"]), *shares, turns)


def _bought(row: Record, of: Estimate) -> tuple[str, ...]:
    counts = (f"{row[what]:,.0f}" for what in ("spent", "power", "bought"))
    return (f"rank {row['rank']}", *counts, percent(of.value), interval(of, shares=True))


# ------------------------------------------------------------ Rifts

_CAME = ("nothing", *_RANKS[1:])


def rifts(ask: Ask) -> Finding:
    """The rank of Rifts against what came through them."""
    found = {(row["rank"], row["highest"]): row for row in ask("rifts-by-highest")}
    if not found:
        return Finding("rifts", Markup("No Rift was opened in these matches"))
    through = ask("creatures-by-rift-rank")
    top = max(rank for rank, _ in found)
    used, empty = (found[top, highest]["share"] if (top, highest) in found else 0 for highest in (top, 0))
    return Finding(
        "rifts",
        Markup("{} of the rank {} Rifts let a creature of their rank through, {} nothing").format(
            percent(used), top, percent(empty)
        ),
        "Each row is what came through the Rifts of a rank: the share by the highest rank that came, and how many "
        "Rifts that were. In the framed cell nothing burned; left of it burned the ranks between (B-4), unless the "
        "match ended first (R-10).",
        [_heat(found), _creatures(through)],
        [
            Grid(
                "rifts-by-highest",
                ("Rift", "highest that came", "Rifts", "share", "life burned"),
                [_cell_told(row) for row in found.values()],
            ),
            Grid(
                "creatures-by-rift-rank",
                ("Rift", "Rifts", *_RANKS, "creatures a Rift"),
                [_came(row) for row in through],
            ),
        ],
        few_matches(sum(row["opened"] for row in through)),
    )


def _heat(found: Mapping[tuple[int, int], Record]) -> Picture:
    title = "Highest rank that came through, by the rank of the Rift"
    drawn = [[_cell(found.get((rank, highest)), rank, highest) for highest in range(4)] for rank in (1, 2, 3)]
    told = "; ".join(
        f"Rifts of rank {rank}, {_CAME[highest]}: {percent(row['share'])}" for (rank, highest), row in found.items()
    )
    words = Words("rifts", title, told, "highest rank that came through")
    return picture(title, figures.cells([f"Rift {each}" for each in _RANKS[1:]], _CAME, drawn, words, framed=True))


def _cell(row: Record | None, rank: int, highest: int) -> tuple[float, str]:
    if highest > rank:
        return -1, ""
    return (row["share"], f"{percent(row['share'])}\n{row['opened']:,}") if row else (0, "none")


def _cell_told(row: Record) -> tuple[str, ...]:
    counts = (f"{row['opened']:,}", percent(row["share"]), f"{row['burned']:,}")
    return (f"rank {row['rank']}", _CAME[row["highest"]], *counts)


def _creatures(rows: Sequence[Record]) -> Picture:
    title, drawn = "Creatures that came through a Rift, on average", []
    for row in rows:
        parts = tuple(row[f"rank_{rank}"] for rank in range(4))
        drawn.append(Row(f"Rift of rank {row['rank']}", number(row["creatures"]), parts=parts))
    words = Words("creatures", title, spoken(drawn), "creatures a Rift")
    return picture(title, figures.stacks(drawn, _RANKS, RANKS, words))


def _came(row: Record) -> tuple[str, ...]:
    creatures = (number(row[f"rank_{rank}"]) for rank in range(4))
    return (f"rank {row['rank']}", f"{row['opened']:,}", *creatures, number(row["creatures"]))
