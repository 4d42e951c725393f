"""Makes the golden corpus of a version of the rules: `python -m tests.golden.make_corpus`.

`rules-N.soulrift.jsonl.zst` is an archive of recorded matches that are judged by version N of the rules: the examples,
the published scripts of `matches.jsonl`, a match for each situation below, and random ones, with every combination of
the ends of the ruleset's fields. It is made once, when a version is released: every later program has to re-execute
it byte for byte.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from domain import RULES_VERSION, Entry, Refusal, State
from domain.rules.commands import MAX_INTEGER
from replays import lines
from replays.files import written
from replays.lines import ARCHIVE, End, end_line, matches_line
from replays.writing import match_lines
from soulrift.script import commands
from tests.determinism import ENDS, ODD_NAMES, OVERPAY, Walker, answer, as_line
from tests.kit import Json, of
from tests.unit.rules import moves

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[1] / "examples"

WRITER = "tests.golden.make_corpus"
"""What the end lines name as the writer: not this program's version, which says nothing about the matches."""

OTHERS = 64
"""How many random matches there are beside those of the ends."""

PUBLISHED = FOLDER / "matches.jsonl"


def corpus(version: int) -> Path:
    """The corpus of a version of the rules."""
    return FOLDER / f"rules-{version}.soulrift.jsonl.zst"


def main() -> str | None:
    """Make it; why it cannot be made."""
    path = corpus(RULES_VERSION)
    if path.exists():
        return f"{path.name} is there already; what was written once is not written anew"
    with written(path, replace=False) as file:
        for line in archive():
            file.write(line + b"\n")
    return None


def archive() -> Iterator[bytes]:
    """The lines of the archive."""
    count = 0
    yield ARCHIVE
    for match, entries in matches():
        count += 1
        *body, last = match_lines(match, entries)
        end = lines.decode(last)
        assert isinstance(end, End)
        yield from body
        yield end_line(body[0], end.entries, bytes.fromhex(end.root), end.status, WRITER)
    yield matches_line(count)


def matches() -> Iterator[tuple[str, list[Entry]]]:
    """The matches: their names and entries."""
    for path in sorted(EXAMPLES.glob("*.jsonl")):
        with path.open("rb") as file:
            yield path.stem, played([line.decode() for _, line in commands(file)], path.stem)
    for published in PUBLISHED.read_text("utf-8").splitlines():
        script = json.loads(published)["script"]
        yield script[0]["match"], played(map(as_line, script), past_refusals=True)
    for name, situation in SITUATIONS.items():
        yield name, played(map(as_line, situation), name)
    for number, chosen in enumerate(product(OVERPAY, *ENDS.values()), 1):
        ruleset = dict(zip(("overpay", *ENDS), chosen, strict=True))
        yield f"ends {number}", list(random_match(f"ends {number}", number, ruleset))
    for number in range(1, OTHERS + 1):
        yield f"random {number}", list(random_match(f"random {number}", 1_000 + number))


def played(script: Iterable[str], name: str | None = None, *, past_refusals: bool = False) -> list[Entry]:
    """The entries of a script; every command must be accepted, unless it is played past its refusals."""
    state, entries = State(), []
    for line in script:
        command = json.loads(line)
        if name and command["type"] == "start_match":
            command["match"] = name
        outcome = answer(state, as_line(command))
        if isinstance(outcome, Entry):
            entries.append(outcome)
        elif not past_refusals:
            message = f"{name}, after entry {state.entries}: {line} is refused, by {outcome}"
            raise ValueError(message)
    return entries


def random_match(name: str, seed: int, ruleset: Json | None = None) -> Iterator[Entry]:
    """The entries of a random match of 2 to 4 players, not long after its end if it ends."""
    walker, state = Walker(seed, blunders=1_000), State()
    left = walker.pick(range(8, 20))
    command = walker.start(name, 2 + seed % 3, ruleset)
    while left > 0:
        outcome = answer(state, as_line(command))
        if not isinstance(outcome, Refusal):
            yield outcome
            left -= 5 if state.status == "ended" else 1
        command = walker.command(state)


# ------------------------------------------------------------ situations


def _start(players: str = "ab", **ruleset: Any) -> Json:
    chosen = {"ruleset": ruleset} if ruleset else {}
    return of("start_match", players=[{"player": name} for name in players], **chosen)


def _odd() -> list[Json]:
    """A match in which everything has odd names and texts, up to the longest."""
    first, second, *others = ODD_NAMES
    family = "\U0001f469\u200d\U0001f467"
    long = (family * 167)[:500]
    script = [
        of("start_match", players=[{"player": name, "name": name} for name in (first, second)]),
        of("begin_turn", player=second),
        of("take_event", player=second, event=long),
        of("change_life", changes=[{"player": second, "delta": -1}], reason=long),
    ]
    for number, name in enumerate([*others, family * 21 + "!"], 1):
        script += [
            of("release", rank=number % 4, cause=name, by=first),
            of("enter", card=name, controller=first, name=name, definition=long),
            of("reap", souls=[number], card=name, cause=name),
        ]
    cards = [*others, family * 21 + "!"]
    return [
        *script,
        of("change_control", card=cards[0], to=second),
        of("pay", player=second, amount=2, souls=[1], effect=long, source=long),
        of("fizzle", payment=1, reason=long),
        of("destroy", cards=cards, cause=long, modifiers=[moves.modifier(card, card, -1) for card in cards]),
        of("end_match", winner=second, reason=long),
    ]


SITUATIONS: dict[str, list[Json]] = {
    "R-9: the opening payment takes the last life": [
        _start("abc", starting_life=3),
        *moves.releases(1),
        moves.turn("b"),
        moves.open_rift("b", 1, 1),
        moves.turn("c"),
    ],
    "R-9: and so the match ends": [
        _start(starting_life=6),
        *moves.releases(3),
        moves.turn("a"),
        moves.open_rift("a", 2, 1),
    ],
    "R-10: the player of the Rift concedes": [
        _start("abcd"),
        *moves.releases(2),
        moves.turn("c"),
        moves.open_rift("c", 3, 1),
        moves.summon("c", "k1", 1),
        moves.concede("c"),
        moves.turn("d"),
    ],
    "R-10: the player of the Rift falls with another": [
        _start("abcd"),
        *moves.releases(1),
        moves.turn("a"),
        moves.open_rift("a", 2, 1),
        moves.lives(c=-30, a=-31),
    ],
    "R-10: all others fall while a Rift is open": [
        _start(),
        *moves.releases(0),
        moves.turn("a"),
        moves.open_rift("a", 1, 1),
        moves.lives(b=-99),
    ],
    "R-10: the match is declared over while a Rift is open": [
        _start(),
        *moves.releases(0),
        moves.turn("b"),
        moves.open_rift("b", 1, 1),
        of("end_match", reason="time"),
    ],
    "R-10: a ruling ends the match while a Rift is open": [
        _start(),
        *moves.releases(0),
        moves.turn("b"),
        moves.open_rift("b", 1, 1),
        moves.ruling(moves.defeated("b"), moves.result("ended", winner="a")),
    ],
    "R-5: a creature of full rank that is gone again": [
        _start(),
        *moves.releases(2),
        moves.turn("a"),
        moves.open_rift("a", 3, 1),
        moves.summon("a", "k1", 3, soulless=True),
        moves.destroy("k1"),
        moves.close_rift("a"),
    ],
    "A-4, C-12: cards that hold Souls are destroyed together": [
        _start(),
        *moves.releases(0, 1, 2, 3),
        moves.enter("k1", "a", rank=1),
        moves.enter("k2", "b", kind="other"),
        moves.enter("k3", "b", rank=2, soulless=True),
        moves.reap("k1", 4, 2),
        moves.reap("k2", 1),
        moves.reap("k3", 3),
        moves.destroy("k3", "k2", "k1", by="a", cause="the end of days"),
    ],
    "A-6: Souls come back from a card that leaves": [
        _start(),
        *moves.releases(0, 1),
        moves.enter("k1", "a"),
        moves.reap("k1", 2, 1),
        moves.leave("k1", "hand", by="b"),
    ],
    "A-6: Souls are lost with a card that leaves": [
        _start(souls_on_leaving="lost"),
        *moves.releases(0, 1),
        moves.enter("k1", "a"),
        moves.reap("k1", 2, 1),
        moves.leave("k1", "exile"),
        moves.enter("k1", "b"),
    ],
    "A-3: Souls change hands with their card": [
        _start(),
        *moves.releases(0, 1),
        moves.enter("k1", "a"),
        moves.reap("k1", 2, 1),
        moves.control("k1", "b"),
        moves.pay("b", 3, 2, 1),
        moves.resolve(1),
    ],
    "C-3, C-8: modifiers beyond all bounds": [
        _start(sealed_bonus=3),
        moves.enter("k1", "a", rank=3),
        moves.enter("k2", "b", rank=0),
        moves.enter("k3", "b"),
        of("seal", card="k1"),
        of("seal", card="k3"),
        of("unseal", card="k3"),
        of("set_rank", card="k3", rank=2, cause="growth"),
        of("set_rank", card="k2", rank=None),
        of("set_soulless", card="k3", soulless=True),
        of("set_soulless", card="k3", soulless=False),
        moves.destroy(
            *("k2", "k1", "k3"),
            modifiers=[
                moves.modifier("k1", "doom", -MAX_INTEGER),
                moves.modifier("k1", "bloom", MAX_INTEGER),
                moves.modifier("k2", "doom", -MAX_INTEGER),
                moves.modifier("k3", "bloom", MAX_INTEGER),
            ],
        ),
    ],
    "E-3: effects that cost no Soulrift fizzle": [
        _start(),
        of("fizzle", effect="drain"),
        of("fizzle", effect="drain", reason="no target"),
    ],
    "E-1: effects of a player who is defeated": [
        _start("abc"),
        *moves.releases(0, 1, 2),
        moves.pay("b", 1, 1),
        moves.pay("b", 2, 2),
        moves.pay("b", 3, 3, cost="upkeep"),
        moves.concede("b"),
        moves.fizzle(2),
        moves.resolve(1),
    ],
    "B-3: a fizzling takes the last life": [
        _start("abc", starting_life=3),
        *moves.releases(0),
        moves.pay("c", 1, 1),
        moves.fizzle(1, reason="countered"),
    ],
    "P-5: any payment": [_start(overpay="any"), *moves.releases(3, 3, 0), moves.pay("a", 1, 3, 1, 2)],
    "P-5: the least payment": [_start(overpay="least"), *moves.releases(3, 1, 0), moves.pay("a", 1, 3)],
    "L-2: the largest figures": [
        _start("abc", starting_life=1_000_000),
        moves.lives(a=MAX_INTEGER - 1_000_000, b=-1_000_000),
        moves.lives(b=-MAX_INTEGER, a=-MAX_INTEGER + 1, c=0),
    ],
    "L-3: no healing brings the defeated back": [
        _start("abc"),
        moves.lives(a=-30),
        moves.lives(a=100),
        moves.turn("b"),
    ],
    "L-4: three of four fall at once": [_start("abcd"), moves.lives(d=-30, a=-30, b=-31, c=-29)],
    "L-4: the last ones fall at once": [_start("abc"), moves.concede("a"), moves.lives(c=-30, b=-30)],
    "L-4: all but one concede": [_start("abc"), moves.concede("c"), moves.concede("a")],
    "L-7: a victory of another kind": [_start("abc"), of("end_match", winner="b", reason="deck empty")],
    "L-7: a draw by agreement": [_start("abc"), of("end_match")],
    "J-1: every kind of correction": [
        _start("abc"),
        *moves.releases(1, 2, 0),
        moves.turn("a"),
        moves.enter("k1", "a"),
        moves.open_rift("a", 2, 1),
        moves.pay("b", 1, 3),
        moves.ruling(
            moves.life("b", 4),
            {"soul": {"soul": 2, "to": {"card": "k1"}}},
            {"new_soul": {"rank": 3, "to": "aether"}},
            {"new_soul": {"rank": 0, "to": {"card": "k1"}}},
            {"rank": {"soul": 2, "rank": 0}},
            {"event": {"event": "omen"}},
            {"payment": {"payment": 2}},
            {"rift": {"highest": 1}},
            {"rift": {"close": True}},
            moves.defeated("c"),
            about=7,
        ),
        moves.ruling(
            {"soul": {"soul": 2, "to": "aether"}},
            {"soul": {"soul": 4, "to": "gone"}},
            {"rank": {"soul": 2, "rank": 3}},
            {"event": {"event": None}},
            moves.defeated("c", to=False),
        ),
        moves.ruling(moves.result("ended", winner="b")),
        moves.ruling(moves.life("a", -100)),
        moves.ruling(moves.result("ended")),
        moves.ruling(moves.life("a", 100), moves.result("running")),
        moves.turn("c"),
    ],
    "J-3: those who fall by a ruling": [
        _start("abcd"),
        moves.ruling(moves.life("c", -30), moves.defeated("a"), moves.life("a", -40)),
        moves.ruling(moves.life("b", -30), moves.life("d", -30)),
    ],
    "sixteen players": [
        _start("ponmlkjihgfedcba"),
        *moves.releases(0),
        moves.turn("p"),
        moves.open_rift("p", 1, 1),
        moves.lives(**dict.fromkeys("abcdefghijklmnop", -30)),
    ],
    "odd names": _odd(),
    "meta": [
        {**_start(), "origin": {"match": "before", "entry": 0}, "meta": {"actor": "server"}},
        {**moves.turn(), "meta": {"id": "1", "expect": 1, "actor": "a", "at": "2016-12-31T23:59:60Z"}},
        {**moves.concede("a"), "meta": {"at": "2024-02-29T23:59:59.123456789-12:34"}},
    ],
}
"""A match for each thing that random play seldom comes to."""


if __name__ == "__main__":
    sys.exit(main())
