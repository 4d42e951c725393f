"""What a report finds about players: who wins, and how their life goes."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from soulrift import figures
from soulrift.estimates import Estimate, interval, percent, share
from soulrift.figures import Band
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
    shown,
    some,
    spoken,
    told_apart,
)
from soulrift.panels import Words

# ------------------------------------------------------------ who wins


def wins(ask: Ask) -> Finding:
    """Who wins: by deck and policy, by player where matches were played, and whether it helps to begin."""
    pictures, grids, says, all_found = list[Picture](), list[Grid](), list[Markup](), list[Mapping[str, Estimate]]()
    for one, title in KINDS.items():
        query = f"win-rate-by-{one}"
        if rows := ask(query, "played", MOST):
            found = {row[one]: share(row["won"], row["played"]) for row in rows}
            all_found.append(found)
            grids.append(_won(query, one, rows, found))
            if told_apart(found) or not pictures:
                pictures.append(_rates(query, f"{title}: matches won, %", rows, found))
                says += compared(found, one, "wins", "of the matches" if one == "player" else "against others")
    pictures += _against(ask("win-rate-by-matchup"))
    if rows := [{"first": f"first of {row['players']} players", **row} for row in ask("first-player-advantage")]:
        found = {row["first"]: share(row["won"], row["matches"]) for row in rows}
        all_found.append(found)
        pictures.append(_rates("first", "Who began: matches won, %", rows, found))
        grids.append(
            _won("first-player-advantage", "first", [{"played": row["matches"], **row} for row in rows], found)
        )
        most = max(rows, key=lambda row: row["matches"])
        says.append(Markup("Who began won {}").format(percent(found[most["first"]].value)))
    return Finding(
        "wins",
        says[0] if says else Markup("Nobody can be compared by wins"),
        "A mark is the share of matches that were won, the line through it its 95 % interval, and the dash across what "
        "it would be if everybody won equally often. A draw is won by nobody. Of a deck or a policy, those matches "
        "count in which it met another one." + left_out(all_found),
        pictures,
        grids,
        hollow(all_found),
    )


def _rates(name: str, title: str, rows: Sequence[Record], found: Mapping[str, Estimate]) -> Picture:
    """Shares, the greatest first, each with its chance."""
    chances = dict(zip(found, (100 * row["chance"] for row in rows), strict=True))
    drawn = [mark(each, of, shares=True, even=chances[each]) for each, of in ranked(told_apart(found) or found)]
    return picture(title, figures.dots(drawn, Words(name, title, spoken(drawn), "%")))


_WINS = ("matches", "won", "drawn", "win rate", "95 % interval", "if all were equal")


def _won(query: str, one: str, rows: Sequence[Record], found: Mapping[str, Estimate]) -> Grid:
    told_rows = [
        (
            row[one],
            *(f"{row[count]:,}" for count in ("played", "won", "drawn")),
            percent(found[row[one]].value),
            interval(found[row[one]], shares=True),
            percent(row["chance"]),
        )
        for row in rows
    ]
    return Grid(query, (one, *_WINS), told_rows, rows[0].get("of", len(rows)) - len(rows))


LEAST_AGAINST, MOST_AGAINST = 3, 6
"""So many decks are shown one against the other; of two, the win rates say it."""


def _against(rows: Sequence[Record]) -> list[Picture]:
    """Deck against deck."""
    decks = sorted({row["deck"] for row in rows})
    if not LEAST_AGAINST <= len(decks) <= MOST_AGAINST:
        return []
    rates = {(row["deck"], row["against"]): row for row in rows}
    title = "Deck against deck: matches that the row's one won"
    found = [[_cell(rates.get((deck, against))) for against in decks] for deck in decks]
    told_rates = "; ".join(
        f"{deck} against {other}: {percent(row['win_rate'])}" for (deck, other), row in rates.items()
    )
    return [picture(title, figures.cells(decks, decks, found, Words("against", title, told_rates, "against")))]


def _cell(row: Record | None) -> tuple[float, str]:
    return (row["win_rate"], f"{percent(row['win_rate'])}\nof {row['played']:,}") if row else (-1, "")


# ------------------------------------------------------------ life

_QUARTERS = ("low", "median", "high")
_RESULTS = ("winners", "losers")


def life(ask: Ask) -> Finding:
    """Winners' and losers' life at the end of each turn."""
    rows = {row["turn"]: row for row in ask("life-spread-by-turn")}
    if not rows:
        return Finding("life", Markup("No match was won, so there are no winners whose life could be told"))
    matches = {turn: row["matches"] for turn, row in rows.items()}
    turns = shown(matches)
    half = max(turn for turn in turns if 2 * matches[turn] >= matches[turns[0]])
    drawn = [
        Band(name, *([rows[turn][f"{name}_{which}"] for turn in turns] for which in _QUARTERS)) for name in _RESULTS
    ]
    title, going = "Life after each turn: the median, and the middle half", "Matches that reached each turn, %"
    at = {turn: [rows[turn][f"{name}_median"] for name in _RESULTS] for turn in turns}
    told_life = "; ".join(f"turn {turn}: winners {at[turn][0]}, losers {at[turn][1]}" for turn in some(turns))
    told_going = "; ".join(f"turn {turn}: {matches[turn]:,}" for turn in some(turns))
    reached = [[100 * matches[turn] / matches[turns[0]] for turn in turns]]
    return Finding(
        "life",
        Markup("After turn {}, which half of the matches reached, winners are at {} life and losers at {}").format(
            half, *map("{:,}".format, at[half])
        ),
        "The lines are medians at the end of each turn, anybody's turn counted; the bands hold the middle half of the "
        "players. A match counts as long as it lasts, so later turns tell of long matches only. Draws are left out.",
        [
            picture(title, figures.bands(turns, drawn, Words("life", title, told_life, "turn"))),
            picture(going, figures.areas(turns, reached, [going], Words("turns", going, told_going, "turn"))),
        ],
        [Grid("life-spread-by-turn", _LIFE, [_quarters(rows[turn]) for turn in turns])],
        few_matches(matches[turns[0]]),
    )


_LIFE = (
    "turn",
    "matches",
    *(f"{name}, {which}" for name in _RESULTS for which in ("lower quarter", "median", "upper quarter")),
)


def _quarters(row: Record) -> tuple[str, ...]:
    told_life = (f"{row[f'{name}_{which}']:,}" for name in _RESULTS for which in _QUARTERS)
    return (str(row["turn"]), f"{row['matches']:,}", *told_life)
