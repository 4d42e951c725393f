"""Determinism: random matches named by a seed, and all the ways to play a match that must lead to the same bytes.

    python -m tests.determinism digest FILE…              prints a word's hash, and a digest of what comes of each file
    python -m tests.determinism store DB first FILE…      plays the first half of each match into a store
    python -m tests.determinism store DB second FILE…     and the second half

A script is a list of command lines, the first a `start_match`; it is played past its refusals, which are compared as
well. Files are scripts (JSON Lines) or replay files, of which only the commands are taken.
"""

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec

import domain.application
from domain import Entry, Refusal, State, canonical_form, decode_command, fold, options, play, quote
from domain.application import Matches
from domain.match import SNAPSHOT_TOPIC, snapshot_state
from domain.rules.commands import MAX_INTEGER
from domain.rules.quotes import best_payments, open_piles
from domain.sqlite import sqlite_settings
from replays.files import opened
from replays.reading import Reader
from replays.verify import verify
from replays.writing import match_lines
from soulrift.script import commands
from tests.kit import Json, of

T = TypeVar("T")

SEEDS = Path(__file__).parent / "golden" / "seeds"
"""Where the scripts of walks are kept that once failed, or are worth keeping."""

ODD_NAMES = (
    *("Zo\u00eb", "Zoe\u0308", 'quo"te', "com,ma|pipe", "back\\slash", "\\u0041", "~0/~1", "null", " ", "x" * 64),
    *("\u05d0\u202e\u05d1", "\u2028", "\ufeff", "\uffee", "\ue000", "\U0001f469\u200d\U0001f467", "\U0010ffff"),
)
"""Look-alikes, what JSON and pointers escape, right-to-left, separators, and those whose order is another in UTF-16."""
PLAYERS = ("a", "b", "c", "A", "p1", *ODD_NAMES)
CARDS = ("k1", "k2", "k3", "k4", "k5", "k6", "a", *ODD_NAMES)
"""Few enough that names come again, while the card is there and after it went."""
TEXTS = ("drain", "lantern", "drain 2", "\U0001f525", "L-4", "\u00e9\u0301", "sealed")

ENDS: dict[str, tuple[Any, Any]] = {
    "release_rank": (0, 3),
    "rift_min_rank": (0, 1),
    "sealed_bonus": (0, 3),
    "soulburn_per_power": (0, 1000),
    "souls_on_leaving": ("return", "lost"),
    "starting_life": (1, 1_000_000),
}
"""The fields of a ruleset with the ends of their ranges; but for `overpay`, which has three values."""
OVERPAY = ("needed", "any", "least")


# ------------------------------------------------------------ random matches


class Walker:
    """Players who try anything that the rules know, and now and then what they refuse, from a seed."""

    def __init__(self, seed: int, *, blunders: int = 8) -> None:
        """One command in so many `blunders` is not even meant to be legal."""
        self.random = Random(seed)
        self._blunders = blunders
        self._ids = 0

    def one_in(self, count: int) -> bool:
        """Once in so many times."""
        return self.random.random() * count < 1

    def pick(self, of: Iterable[T]) -> T:
        """One of these."""
        among = list(of)
        return among[int(self.random.random() * len(among))]

    def sample(self, of: Iterable[T], most: int) -> list[T]:
        """Some of these, each once: one or more, if there are any."""
        left, found = list(of), list[T]()
        for _ in range(1 + int(self.random.random() * most)):
            if left:
                found.append(left.pop(int(self.random.random() * len(left))))
        return found

    def start(self, match: str, players: int | None = None, ruleset: Json | None = None) -> Json:
        """The first command of a match."""
        wanted = players or self.pick((2, 2, 3, 4))
        names: list[str] = []
        while len(names) < wanted:
            names += [name for name in [self.pick(PLAYERS)] if name not in names]
        seats = [{"player": name, **self._maybe(name=TEXTS)} for name in names]
        if ruleset is None and not self.one_in(4):
            ruleset = self.ruleset()
        chosen = {"ruleset": ruleset} if ruleset else {}
        return of("start_match", match=match, players=seats, **chosen, **self._maybe(origin=[_ORIGIN]))

    def ruleset(self) -> Json:
        """A ruleset in which every field is at one of its ends, at its default, or between."""
        between = {"release_rank": (1, 2), "sealed_bonus": (1, 2), "soulburn_per_power": (3, 1, 7, 3)}
        lives = (30, 30, 200, 6, 20_000)
        wide = {field: ends + between.get(field, ()) for field, ends in ENDS.items()}
        wide["starting_life"] += lives
        return {"overpay": self.pick(OVERPAY), **{field: self.pick(values) for field, values in wide.items()}}

    def command(self, state: State) -> Json:
        """A command for this state; most of them are accepted."""
        kind = self.pick(self._kinds(state))
        made = of(kind, **_BUILDERS[kind](self, state))
        if self.one_in(10):
            self._ids += 1
            made["meta"] = {"id": f"id {self._ids}", **self._maybe(actor=TEXTS, at=_TIMES, expect=[state.entries])}
        return made

    def _kinds(self, state: State) -> list[str]:
        """The types of which a command may well be accepted now, the likeliest more than once."""
        if state.status == "ended" and not self.one_in(3):
            return ["ruling"]
        if self.one_in(40):
            return ["concede", "end_match"]
        if self.one_in(self._blunders):
            return list(_BUILDERS)
        kinds = ["ruling", "change_life"] + ["release"] * (4 if len(state.aether) < 6 else 1)
        kinds += ["enter"] * (4 if len(state.battlefield) < 4 else 1)
        kinds += ["summon", "summon", "close_rift"] if state.rift else ["begin_turn", "begin_turn"]
        if state.turn and state.turn.event is None and not state.rift:
            kinds += ["open_rift"] * 5 + ["take_event"]
        kinds += ["fizzle", "resolve"] if state.payments else ["fizzle"] if self.one_in(9) else []
        kinds += ["pay"] * min(4, len(state.aether) + len(state.holders))
        if state.battlefield:
            kinds += ["destroy", "destroy", "leave", "leave", "change_control", "set_rank", "seal", "unseal"]
            kinds += ["set_soulless"] + ["reap"] * (4 if state.aether else 0)
        return kinds

    def _maybe(self, **choices: Iterable[Any]) -> Json:
        """Optional fields, each there once in four times."""
        return {field: self.pick(values) for field, values in choices.items() if self.one_in(4)}

    # -------------------------------------------------------- what commands name

    def _player(self, state: State) -> str:
        able = [player.player for player in state.players.values() if not player.defeated]
        return self.pick(state.players or PLAYERS) if not able or self.one_in(15) else self.pick(able)

    def _turn_player(self, state: State) -> str:
        return state.turn.player if state.turn and not self.one_in(12) else self._player(state)

    def _card(self, state: State) -> str:
        return self.pick(CARDS) if not state.battlefield or self.one_in(20) else self.pick(state.battlefield)

    def _creature(self, state: State, *, is_sealed: bool | None = None) -> str:
        fit = [
            card.card
            for card in state.battlefield.values()
            if card.kind == "creature" and is_sealed in {None, card.sealed}
        ]
        return self.pick(fit) if fit else self._card(state)

    def _new_card(self, state: State) -> str:
        return self.pick([card for card in CARDS if card not in state.battlefield] if not self.one_in(20) else CARDS)

    def _soul(self, state: State) -> int:
        there = [*state.aether, *state.holders]
        return self.pick(range(state.numbered.souls + 2)) if not there or self.one_in(12) else self.pick(there)

    def _souls(self, state: State, player: str, amount: int) -> list[int]:
        """The Souls of a payment: as quoted, or in another order; sometimes short, with one too many, or any at all."""
        quoted = best_payments(open_piles(state, player), state.ruleset, amount, 6)[0] if amount > 0 else ()
        if not quoted or self.one_in(12):
            return self.sample([*state.aether, *state.holders], 3)
        souls = list(self.pick(quoted).souls)
        if self.one_in(4):
            souls.reverse()
        if self.one_in(20):
            souls += self.sample(state.aether, 1)
        return souls[1:] if self.one_in(20) else souls

    def _payment(self, state: State) -> int:
        return self.pick(state.payments) if state.payments else self.pick(range(state.numbered.payments + 2))

    # -------------------------------------------------------- fields of the commands

    def _start_match(self, _: State) -> Json:
        return {field: value for field, value in self.start("again", 2).items() if field != "type"}

    def _begin_turn(self, state: State) -> Json:
        return {"player": self._player(state)}

    def _take_event(self, state: State) -> Json:
        return {"player": self._turn_player(state), "event": self.pick(TEXTS)}

    def _enter(self, state: State) -> Json:
        fields = {"card": self._new_card(state), "controller": self._player(state)}
        optional = self._maybe(name=TEXTS, definition=TEXTS, owner=[self._player(state)])
        if self.one_in(4):
            return {**fields, **optional, "kind": "other", **self._maybe(deck=("main", "extra"))}
        if self.one_in(3):
            return {**fields, **optional, "deck": "extra", "rank": self.pick((1, 2, 3))}
        return {**fields, **optional, **self._maybe(soulless=[True]), **self._some_rank()}

    def _some_rank(self) -> Json:
        return {} if self.one_in(4) else {"rank": self.pick((0, 1, 2, 3))}

    def _seal(self, state: State) -> Json:
        return {"card": self._creature(state, is_sealed=False)}

    def _unseal(self, state: State) -> Json:
        return {"card": self._creature(state, is_sealed=True)}

    def _set_soulless(self, state: State) -> Json:
        return {"card": self._creature(state), "soulless": self.pick((True, True, False))}

    def _set_rank(self, state: State) -> Json:
        return {"card": self._creature(state), "rank": self.pick((0, 1, 2, 3, None)), **self._maybe(cause=TEXTS)}

    def _change_control(self, state: State) -> Json:
        return {"card": self._card(state), "to": self._player(state)}

    def _destroy(self, state: State) -> Json:
        cards = self.sample(state.battlefield or CARDS, 3)
        creatures = [card for card in cards if card in state.battlefield and state.battlefield[card].kind == "creature"]
        optional = self._maybe(cause=TEXTS, by=state.players or PLAYERS)
        if creatures and self.one_in(3):
            deltas = (1, -1, 2, -3, 0, MAX_INTEGER, -MAX_INTEGER)
            optional["modifiers"] = [
                {"card": self.pick(creatures), "name": name, "delta": self.pick(deltas)}
                for name in self.sample(("blessing", "curse", "rite"), 3)
            ]
        return {"cards": cards, **optional}

    def _leave(self, state: State) -> Json:
        holding = [card.card for card in state.battlefield.values() if card.souls]
        card = self.pick(holding) if holding and self.one_in(2) else self._card(state)
        return {"card": card, "to": self.pick(("hand", "deck")), **self._maybe(by=state.players or PLAYERS)}

    def _release(self, state: State) -> Json:
        return {**self._some_rank(), **self._maybe(cause=TEXTS, by=state.players or PLAYERS)}

    def _reap(self, state: State) -> Json:
        souls = self.sample(state.aether or (1,), 3)
        return {"card": self._card(state), "souls": souls, **self._maybe(cause=TEXTS, by=state.players or PLAYERS)}

    def _pay(self, state: State) -> Json:
        player = self._player(state)
        amount = self.pick((0, 40, -1, MAX_INTEGER)) if self.one_in(25) else self.pick((1, 1, 2, 2, 3, 4, 5))
        what = {"cost": self.pick(TEXTS)} if self.one_in(4) else {"effect": self.pick(TEXTS)}
        souls = self._souls(state, player, amount)
        return {"player": player, "amount": amount, "souls": souls, **what, **self._maybe(source=TEXTS)}

    def _resolve(self, state: State) -> Json:
        return {"payment": self._payment(state)}

    def _fizzle(self, state: State) -> Json:
        unpaid = not state.payments or self.one_in(4)
        what = {"effect": self.pick(TEXTS)} if unpaid else {"payment": self._payment(state)}
        return {**what, **self._maybe(reason=TEXTS)}

    def _open_rift(self, state: State) -> Json:
        player = self._turn_player(state)
        rank = self.pick((0, 4)) if self.one_in(25) else self.pick((1, 1, 2, 3))
        return {"player": player, "rank": rank, "souls": self._souls(state, player, rank)}

    def _summon(self, state: State) -> Json:
        ranks = range(0 if self.one_in(3) else 1, state.rift.rank + 1) if state.rift else (0, 1, 2, 3)
        optional = self._maybe(
            name=TEXTS, definition=TEXTS, owner=[self._player(state)], soulless=[True], deck=("main", "extra", "main")
        )
        player = self._rift_player(state)
        return {"player": player, "card": self._new_card(state), "rank": self.pick(ranks), **optional}

    def _close_rift(self, state: State) -> Json:
        return {"player": self._rift_player(state)}

    def _rift_player(self, state: State) -> str:
        return state.rift.player if state.rift and not self.one_in(15) else self._player(state)

    def _change_life(self, state: State) -> Json:
        lives = {name: player.life for name, player in state.players.items()}
        far = (1000, -1000, MAX_INTEGER, -MAX_INTEGER)
        changes = []
        for name in self.sample(state.players or PLAYERS, 3):
            near = (-1, 2, -2, 9, 40, 0, -lives.get(name, 0), -5 - lives.get(name, 0))
            changes.append({"player": name, "delta": self.pick(far if self.one_in(15) else near)})
        return {"changes": changes, "reason": self.pick(("combat", "healing"))}

    def _concede(self, state: State) -> Json:
        return {"player": self._player(state)}

    def _end_match(self, state: State) -> Json:
        return self._maybe(winner=[self._player(state)], reason=TEXTS)

    # -------------------------------------------------------- rulings

    def _ruling(self, state: State) -> Json:
        corrections = [self._correction(state) for _ in range(self.pick((1, 1, 2, 3)))]
        if state.status == "ended" and not self.one_in(3):
            corrections = self._reopening(state)
        return {
            "judge": self.pick(TEXTS),
            "reason": self.pick(TEXTS),
            "corrections": corrections,
            **self._maybe(about=range(1, state.entries + 1) if state.entries else (1,)),
        }

    def _reopening(self, state: State) -> list[Json]:
        """What lets an ended match go on: players who are in it, with life, and the result undone."""
        made: list[Json] = []
        for name, player in state.players.items():
            if player.defeated:
                made.append({"defeated": {"player": name, "defeated": False}})
            if player.life <= 0:
                made.append({"life": {"player": name, "delta": min(MAX_INTEGER, 30 - player.life)}})
        return [*made, {"result": {"status": "running"}}]

    def _correction(self, state: State) -> Json:
        to: Any = {"card": self._card(state)} if state.battlefield and self.one_in(2) else "aether"
        soul, player = self._soul(state), self._player(state)
        made: list[Json] = [
            {"life": {"player": player, "delta": self.pick((3, -1, -3, 40, -state.players[player].life))}}
            if player in state.players
            else {"event": {"event": None}},
            {"new_soul": {"rank": self.pick((0, 1, 2, 3)), "to": to}},
            {"new_soul": {"rank": self.pick((0, 1, 2, 3)), "to": to}},
            {"defeated": {"player": self.pick(state.players or PLAYERS), "defeated": self.one_in(2)}},
        ]
        if state.aether or state.holders:
            made += [{"soul": {"soul": soul, "to": "gone" if self.one_in(3) else to}}] * 3
            made += [{"rank": {"soul": soul, "rank": self.pick((0, 1, 2, 3))}}] * 3
        if state.turn:
            made += [{"event": {"event": self.pick((None, *TEXTS))}}] * 2
        if state.payments:
            made += [{"payment": {"payment": self._payment(state)}}] * 2
        if state.rift:
            made += [{"rift": {"close": True}}] * 2 + [{"rift": {"highest": self.pick(range(state.rift.rank + 1))}}] * 4
        if self.one_in(12):
            made = [{"result": {"status": "ended", **self._maybe(winner=[player])}}]
        return self.pick(made)


_ORIGIN = {"match": "before", "entry": 3}
_TIMES = ("2026-11-30T10:37:54Z", "2024-02-29T23:59:59.5+02:00")

_BUILDERS: dict[str, Callable[[Walker, State], Json]] = {
    kind: getattr(Walker, f"_{kind}")
    for kind in (
        *("start_match", "begin_turn", "take_event", "enter", "seal", "unseal", "set_soulless", "set_rank"),
        *("change_control", "destroy", "leave", "release", "reap", "pay", "resolve", "fizzle", "open_rift", "summon"),
        *("close_rift", "change_life", "concede", "end_match", "ruling"),
    )
}


def as_line(command: Json) -> str:
    """A command as a line of a script."""
    return json.dumps(command, ensure_ascii=False)


def steps(seed: int, length: int = 60) -> Iterator[str]:
    """The commands of a random match, the refused ones among them, each before it is played."""
    walker, state = Walker(seed), State()
    line = as_line(walker.start(f"walk {seed}"))
    for _ in range(length):
        yield line
        answer(state, line)
        line = as_line(walker.command(state))


def walk(seed: int, length: int = 60) -> list[str]:
    """The script of a random match."""
    return list(steps(seed, length))


def answer(state: State, line: str) -> Entry | Refusal:
    """What comes of a command: the entry, by which the state is changed, or the refusal."""
    try:
        return play(state, decode_command(line))
    except Refusal as refusal:
        return refusal


# ------------------------------------------------------------ scripts in files


def scripts(path: Path) -> Iterator[list[str]]:
    """The scripts of a file."""
    if ".soulrift.jsonl" not in path.name:
        with path.open("rb") as file:
            yield [line.decode() for _, line in commands(file)]
        return
    with opened(path) as file:
        for recording in Reader(file).recordings():
            yield [bytes(line.command).decode() for _, line in recording.entries()]


def keep(folder: Path, name: str, script: Sequence[str], why: str) -> Path:
    """Write a script into a folder, to be played again from now on."""
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{line}\n" for line in (f"# {why}", *script)), "utf-8")
    return path


# ------------------------------------------------------------ what is compared


def told(outcome: Entry | Refusal) -> bytes:
    """What comes of a command, in bytes."""
    return outcome.line if isinstance(outcome, Entry) else _encode(outcome.view())


def answers(state: State) -> bytes:
    """What can be asked of a state: its view, what each player may do, and what each could pay with."""
    found: list[Any] = [state.view()]
    for player in state.players:
        found.append(options(state, player, 4))
        for amount in (1, 3, 6):
            try:
                found.append(quote(state, player, amount, 4))
            except Refusal as refusal:
                found.append(refusal.view())
    return _encode(found)


_encode = msgspec.json.Encoder(order="sorted").encode


def restored(state: State) -> State:
    """The same state, saved as a snapshot and read back."""
    found = snapshot_state(SNAPSHOT_TOPIC, _snapshot(state))
    assert found is not None
    return found


_snapshot = msgspec.json.Encoder().encode


def reordered(state: State, random: Random) -> State:
    """The same state, in whose dictionaries everything came in another order.

    The order of `players` is the rules' own, and so is that of `payments`, which is by number.
    """
    assert list(state.payments) == sorted(state.payments)
    twin = state.copy()
    for field in ("aether", "battlefield", "descriptions", "holders", "names"):
        items = list(getattr(twin, field).items())
        random.shuffle(items)
        setattr(twin, field, dict(items))
    return twin


class NotTheSameError(Exception):
    """A way of playing leads elsewhere than straight play does."""

    def __init__(self, step: int, way: str, straight: bytes, other: bytes) -> None:
        super().__init__(f"command {step}, {way}:\n{straight.decode()}\nis now\n{other.decode()}")
        self.step = step


def compare(script: Sequence[str], seed: int = 0, each: int = 1) -> list[Entry]:
    """Play a script straight, and in every other way beside it; the entries.

    Every other way brings its own state, before each command, into the form that is its own. All that comes of the
    commands is compared, and after one command in `each` all that can be asked.

    Raises:
        NotTheSameError: a way leads elsewhere.

    """
    random = Random(seed)
    ways: dict[str, Callable[[State], State]] = {
        "saved and restored": restored,
        "on a copy": State.copy,
        "in another order": lambda state: reordered(state, random),
    }
    straight, entries = State(), list[Entry]()
    others = {way: State() for way in ways}
    for step, line in enumerate(script, 1):
        outcome = answer(straight, line)
        if isinstance(outcome, Entry):
            entries.append(outcome)
        asked = answers(straight) if step % each == 0 else b""
        for way, changed in ways.items():
            before = others[way]
            saved = _snapshot(before)
            others[way] = changed(before)
            _same(step, way, told(outcome), told(answer(others[way], line)))
            _same(step, way, canonical_form(straight), canonical_form(others[way]))
            _same(step, way, asked, answers(others[way]) if asked else b"")
            _same(step, f"{way}: the state that it was made from", saved, _snapshot(before))
    _compare_recording(straight, entries, len(script))
    return entries


def _same(step: int, way: str, straight: bytes, other: bytes) -> None:
    if straight != other:
        raise NotTheSameError(step, way, straight, other)


def _compare_recording(state: State, entries: Sequence[Entry], step: int) -> None:
    """The events alone lead to the state; commands are in their normal form; a file of the match is proven."""
    folded = fold(event for entry in entries for event in entry.events)
    _same(step, "folded from its events", answers(state), answers(folded))
    again = [told(answer(twin, entry.command_json.decode())) for twin in [State()] for entry in entries]
    _same(step, "played from its record", b"\n".join(entry.line for entry in entries), b"\n".join(again))
    file = io.BytesIO(b"".join(line + b"\n" for line in match_lines(state.match, entries)))
    found = [(verified.verdict, verified.entries) for verified in verify(file)]
    _same(step, "verified", _encode([("exact", len(entries))]), _encode(found))


# ------------------------------------------------------------ in processes of their own


def digest(path: Path) -> str:
    """How many matches and entries are in a file, and the digests of all that comes of the commands, and of what can
    be asked after some of them.
    """
    matches, entries = 0, 0
    came, asked = sha256(), sha256()
    for script in scripts(path):
        matches, state = matches + 1, State()
        for step, line in enumerate(script):
            outcome = answer(state, line)
            entries += isinstance(outcome, Entry)
            came.update(told(outcome) + b"\n")
            if step % 16 == 0:
                asked.update(answers(state) + b"\n")
    return f"{matches} {entries} {came.hexdigest()} {asked.hexdigest()}"


SNAPSHOTS = 7
"""So many events are between two snapshots here: a second process is to go on from one."""


def play_half(store: str, half: str, paths: Iterable[Path]) -> None:
    """Play the first or the second half of each match into a store on SQLite."""
    vars(domain.application)["SNAPSHOT_INTERVAL"] = SNAPSHOTS
    with Matches(sqlite_settings(store)) as kept:
        for script in chain.from_iterable(map(scripts, paths)):
            name, middle = json.loads(script[0])["match"], len(script) // 2
            if half == "first":
                kept.start(script[0])
                kept.give_all(name, script[1:middle], keep_going=True)
            else:
                kept.give_all(name, script[max(middle, 1) :], keep_going=True)


def main(arguments: Sequence[str]) -> None:
    """What is told above."""
    if arguments[0] == "digest":
        sys.stdout.write(f"{hash('soul')}\n")
        for path in arguments[1:]:
            sys.stdout.write(f"{digest(Path(path))}\n")
    else:
        play_half(arguments[1], arguments[2], map(Path, arguments[3:]))


if __name__ == "__main__":
    main(sys.argv[1:])
