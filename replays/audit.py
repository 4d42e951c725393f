"""The audit of a match: everything that a judge wants to know of it, computed from its entries alone.

Nothing is believed that a record says of itself: whatever adds up is added up here. Where a record does not re-execute,
what is told is of the entries before that.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct

from domain.codec import replay
from domain.entry import Entry
from domain.rules import State
from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.payments import least_power, open_power
from domain.rules.quotes import quote
from replays.evidence import Evidence
from replays.merkle import Tree
from replays.reading import Recording
from replays.stepping import entry_of
from replays.verify import Verified, compared, with_checkpoints

BURST = 10
"""So many commands within a second are told: no person gives them."""


class Account(Struct, frozen=True):
    """A player's life: `start` - `overpay` - `fizzle` - `rift` + `changes` + `rulings` = `life`.

    The first three are Soulburn by its source. `name` is what the player is called, where that is known.
    """

    player: str
    name: str | None
    start: int
    overpay: int
    fizzle: int
    rift: int
    changes: int
    rulings: int
    life: int
    defeated: bool


class Burn(Struct, frozen=True):
    """A Soulburn with its arithmetic: `of` - `less` = `power`; `power` x `per_power` = `damage`; life was `before`.

    For "overpay" `of` is the power consumed and `less` the cost (B-2), for "fizzle" the cost and 0 (B-3), for "rift"
    the Rift's rank and the highest rank that came through it (B-4).
    """

    entry: int
    n: int
    player: str
    source: Literal["overpay", "fizzle", "rift"]
    rule: str
    payment: int | None
    rift: int | None
    of: int
    less: int
    power: int
    per_power: int
    damage: int
    before: int
    life: int


class Cheaper(Struct, frozen=True):
    """A payment for which another one would have burned less: with these Souls `instead`, for so much life."""

    entry: int
    payment: int
    player: str
    amount: int
    souls: tuple[int, ...]
    power: int
    burned: int
    instead: tuple[int, ...]
    would_burn: int


class Open(Struct, frozen=True):
    """A payment whose effect has neither resolved nor fizzled when the record ends (E-1)."""

    payment: int
    entry: int
    player: str
    amount: int
    power: int
    effect: str


class Unusual(Struct, frozen=True):
    """What a judge may want to look at, though no rule forbids it: in which entry, of what kind, and what it is."""

    entry: int
    kind: Literal["time", "burst", "actor"]
    told: str


class Ruled(Struct, frozen=True):
    """A judge's ruling (J-1): who ruled, why, about which entry; the corrections as recorded."""

    entry: int
    about: int | None
    judge: str
    reason: str
    at: str | None
    actor: str | None
    corrections: tuple[e.MadeCorrection, ...]


class Course(Struct, frozen=True):
    """How a figure went: its value after each entry in which it changed."""

    of: str
    points: tuple[tuple[int, int], ...]


class Audit(Struct, frozen=True):
    """The judgment on a match, of which `entries` were proven, with the Merkle `root` over their lines.

    `verified` holds the verdict, with those on the checkpoints; `ended` is why a match that is over is (L-4, or the
    game's word); `opened` is how many names and actors of a private match are told openly, since their openings came
    along.
    """

    match: str
    verified: Verified
    entries: int
    root: str
    rules: int
    ruleset: dict[str, Any]
    private: bool
    opened: int
    status: str
    winner: str | None
    ended: str | None
    turns: int
    players: tuple[Account, ...]
    soulburn: tuple[Burn, ...]
    cheaper: tuple[Cheaper, ...]
    open_payments: tuple[Open, ...]
    unusual: tuple[Unusual, ...]
    rulings: tuple[Ruled, ...]
    courses: tuple[Course, ...]
    """The life of each player, in order, and then how many Souls are in the Aether."""


def audit(
    recording: Recording, evidence: Evidence | None = None, seen: Callable[[Entry], object] | None = None
) -> Audit:
    """The judgment on a match of a file, whose entries are read; `seen` gets each one that is proven.

    A checkpoint of the evidence that is about another match counts against this one.
    """
    books = _Books(seen)
    verified = compared(recording, evidence, books.take)
    if evidence:
        verified = with_checkpoints(verified, evidence.strays([recording.match]))
    return books.closed(recording, verified)


class _Books:
    """What is noted of a match, entry by entry."""

    def __init__(self, seen: Callable[[Entry], object] | None) -> None:
        self.state = State()
        self.tree = Tree()
        self._seen = seen
        self._sums: dict[str, dict[str, int]] = {}
        self._burns: list[Burn] = []
        self._cheaper: list[Cheaper] = []
        self._paid_in: dict[int, int] = {}
        self._rulings: list[Ruled] = []
        self._clock = _Clock()
        self._courses: dict[str, list[tuple[int, int]]] = {}
        self._aether: list[tuple[int, int]] = []
        self._actors: list[tuple[int, str, c.AnyCommand]] = []
        self._ended: str | None = None
        self._payment: e.CostPaid | None = None
        self._rift: e.RiftClosed | None = None

    def take(self, line: bytes) -> None:
        """Take in the line of the next entry, which is proven."""
        self.tree.append(line)
        entry = entry_of(line)
        for event in entry.events:
            self._note(event)
            replay((event,), self.state)
        self._note_course(entry.number)
        if b'"meta":' in entry.command_json:
            self._note_meta(entry)
        if self._seen:
            self._seen(entry)

    def _note_course(self, number: int) -> None:
        for name, player in self.state.players.items():
            _point(self._courses.setdefault(name, []), number, player.life)
        _point(self._aether, number, len(self.state.aether))

    def _note_meta(self, entry: Entry) -> None:
        command = _command(entry.command_json)
        if command.meta is None:
            return
        if command.meta.at is not None:
            self._clock.take(entry.number, command.meta.at)
        if command.meta.actor is not None:
            self._actors.append((entry.number, command.meta.actor, command))
        if isinstance(command, c.Ruling):
            at, actor = command.meta.at, command.meta.actor
            self._rulings[-1] = msgspec.structs.replace(self._rulings[-1], at=at, actor=actor)

    # ------------------------------------------------------------ events, before they are folded

    def _note(self, event: e.AnyEvent) -> None:
        match event:
            case e.MatchStarted():
                self._sums = {seat.player: dict.fromkeys(_SUMS, 0) for seat in event.players}
            case e.CostPaid():
                self._payment = event
                self._paid_in[event.payment] = event.entry
                self._note_cheaper(event)
            case e.RiftClosed():
                self._rift = event
            case e.SoulburnTaken():
                self._note_burn(event)
            case e.LifeChanged():
                self._sums[event.player]["changes"] += event.delta
            case e.MatchEnded():
                self._ended = event.reason
            case e.RulingMade():
                self._note_ruling(event)

    def _note_cheaper(self, event: e.CostPaid) -> None:
        burned = (event.power - event.amount) * self.state.ruleset.soulburn_per_power
        if not burned or least_power(open_power(self.state, event.player), event.amount) == event.power:
            return
        best = quote(self.state, event.player, event.amount, 1).payments[0]
        souls = tuple([spent.soul for spent in event.souls])
        paid = (event.entry, event.payment, event.player, event.amount, souls, event.power, burned)
        self._cheaper.append(Cheaper(*paid, best.souls, best.damage))

    def _note_burn(self, event: e.SoulburnTaken) -> None:
        self._sums[event.player][event.source] += event.damage
        of = event.power
        if event.source == "rift" and self._rift:
            of = self._rift.highest + self._rift.unused
        elif event.source == "overpay" and self._payment:
            of = self._payment.power
        what = (event.entry, event.n, event.player, event.source, event.rule, event.payment, event.rift)
        sums = (of, of - event.power, event.power, self.state.ruleset.soulburn_per_power, event.damage)
        self._burns.append(Burn(*what, *sums, self.state.players[event.player].life, event.life))

    def _note_ruling(self, event: e.RulingMade) -> None:
        why = (event.entry, event.about, event.judge, event.reason)
        self._rulings.append(Ruled(*why, None, None, event.corrections))
        for correction in event.corrections:
            if correction.life is not UNSET:
                self._sums[correction.life.player]["rulings"] += correction.life.delta
            if correction.result is not UNSET:
                self._ended = event.reason if correction.result.status == "ended" else None

    # ------------------------------------------------------------ the end

    def closed(self, recording: Recording, verified: Verified) -> Audit:
        """The judgment, once all is taken in."""
        state = self.state
        known = _opened(recording, verified)
        rulings = [
            msgspec.structs.replace(each, actor=known.get(each.actor or "", each.actor)) for each in self._rulings
        ]
        unusual = sorted([*self._clock.unusual(), *self._acted(known)], key=lambda each: each.entry)
        courses = [Course(player, tuple(points)) for player, points in self._courses.items()]
        return Audit(
            recording.match,
            verified,
            self.tree.size,
            self.tree.root().hex(),
            state.rules,
            msgspec.structs.asdict(state.ruleset),
            state.private is True,
            len(known),
            state.status,
            state.winner,
            self._ended,
            state.turn.number if state.turn else 0,
            tuple(self._accounts(known)),
            tuple(self._burns),
            tuple(self._cheaper),
            tuple(self._open()),
            tuple(unusual),
            tuple(rulings),
            (*courses, Course("", tuple(self._aether))),
        )

    def _accounts(self, known: Mapping[str, str]) -> Iterator[Account]:
        state = self.state
        for name, player in state.players.items():
            recorded = state.names[name]
            shown = None if recorded and c.is_commitment(recorded) else recorded
            yield Account(
                name,
                known.get(recorded or "", shown),
                state.ruleset.starting_life,
                **self._sums[name],
                life=player.life,
                defeated=player.defeated,
            )

    def _open(self) -> Iterator[Open]:
        for number, payment in self.state.payments.items():
            entry = self._paid_in[number]
            yield Open(number, entry, payment.player, payment.amount, payment.power, payment.effect)

    def _acted(self, known: Mapping[str, str]) -> Iterator[Unusual]:
        """Commands that a player sent for another one, and rulings that a player sent."""
        names = {player: known.get(name, name) for player, name in self.state.names.items() if name}
        times = Counter(names.values())
        called = {name: player for player, name in names.items() if times[name] == 1}
        for entry, recorded, command in self._actors:
            actor = known.get(recorded, recorded)
            player = actor if actor in self.state.players else called.get(actor)
            if player is None:
                continue
            told = player if c.is_commitment(actor) else actor
            if isinstance(command, c.Ruling):
                yield Unusual(entry, "actor", f"{told}, who plays in this match, sent the ruling of {command.judge}")
            acts = who_acts(command)
            if acts is not None and acts != player:
                yield Unusual(entry, "actor", f"{told} sent a command by which {acts} acts")


def _opened(recording: Recording, verified: Verified) -> dict[str, str]:
    """What commitments stand for, as far as openings came along that prove themselves."""
    if recording.openings is None or verified.verdict in {"diverged", "damaged", "unverifiable"}:
        return {}
    return {opening.commitment: opening.value for opening in recording.openings[0].openings}


def _point(points: list[tuple[int, int]], number: int, value: int) -> None:
    if not points or points[-1][1] != value:
        points.append((number, value))


def who_acts(command: c.AnyCommand) -> str | None:
    """The player who acts by a command, where it says so; the turn's beginning is nobody's act."""
    if isinstance(command, c.BeginTurn):
        return None
    if isinstance(command, c.Enter):
        return command.controller
    return getattr(command, "player", None) or getattr(command, "by", None)


_command = msgspec.json.Decoder(c.AnyCommand).decode

_SUMS = ("overpay", "fizzle", "rift", "changes", "rulings")


class _Clock:
    """The times that commands tell: where they go backwards, and where many come within a second."""

    def __init__(self) -> None:
        self._times: list[tuple[float, int]] = []
        self._backwards: list[Unusual] = []
        self._latest: tuple[float, str, int] | None = None

    def take(self, entry: int, at: str) -> None:
        """Take in the time of an entry."""
        when = _seconds(at)
        if when is None:
            return
        self._times.append((when, entry))
        if self._latest and when < self._latest[0]:
            _, latest, before = self._latest
            told = f"at {at}, which is before {latest}, the time of entry {before}"
            self._backwards.append(Unusual(entry, "time", told))
        else:
            self._latest = (when, at, entry)

    def unusual(self) -> Iterator[Unusual]:
        """What is unusual about them."""
        yield from self._backwards
        times = sorted(self._times)
        first = last = -1  # of the burst that is being looked at
        for at in range(BURST - 1, len(times)):
            begin = at - BURST + 1
            if times[at][0] - times[begin][0] >= 1:
                continue
            if begin > last:
                yield from _burst(times[first : last + 1])
                first = begin
            last = at
        yield from _burst(times[first : last + 1])


def _burst(times: Sequence[tuple[float, int]]) -> Iterator[Unusual]:
    """So many commands that came in one go, if there were any."""
    if times:
        entries = [entry for _, entry in times]
        told = (
            f"{len(entries):,} commands, entries {min(entries)} to {max(entries)}, came {BURST} or more within a second"
        )
        yield Unusual(min(entries), "burst", told)


def _seconds(at: str) -> float | None:
    """A time as seconds; the calendar knows no leap seconds."""
    try:
        return datetime.fromisoformat(at.upper().replace(":60", ":59")).timestamp()
    except ValueError:
        return None
