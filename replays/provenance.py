"""Where the facts of a match come from: which event set each one, and to what. One pass over the lines of its entries.

Lives here: the index, and what a fact was before an event. Must not know: in which words it is told (`causes.py`), or
how much of it is asked for (`why.py`).
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct

from domain.codec import CorruptRecordError
from domain.rules import AnyEvent, State
from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.corrections import kind_of
from domain.rules.ruleset import Ruleset
from domain.rules.state import called
from domain.rules.versions import rules_of
from replays.names import separable
from replays.stepping import take

Fact = tuple[str, str | int]
"""What can be set: ("life", player), ("defeated", player), ("soul", number) for its rank, ("place", number), ("card",
card) for what it is called, ("gone", card), ("control", card), ("rank", card), ("sealed", card), ("soulless", card),
("payment", number), ("rift", number) for the highest rank that came through, `TURN`, `TAKEN` and `RESULT`.
"""
TURN: Fact = ("turn", "")
TAKEN: Fact = ("event", "")
RESULT: Fact = ("result", "")

Place = str | c.OnCard
"""Where a Soul is: "aether", a card, or "gone"."""

AMISS = (AttributeError, LookupError, TypeError)
"""What comes of events that do not follow from those before them."""


class Setting(NamedTuple):
    """A fact was set by event `n`, to `value`."""

    n: int
    value: Any


class Mended(NamedTuple):
    """A correction of a ruling, and what it corrected was `before`."""

    kind: str
    correction: e.MadeCorrection
    before: Any


class Provenance:
    """The events and commands of a match as far as they were taken, and which event set which fact."""

    def __init__(self) -> None:
        self.state = State()
        self.events: list[AnyEvent] = []
        """Event n is at n - 1."""
        self.mended: dict[int, tuple[Mended, ...]] = {}
        """What each ruling corrected, by the number of its event."""
        self.rift = 0
        """The number of the Rift that was opened last."""
        self._commands: list[bytes] = []
        self._firsts: list[int] = []
        self._settings: dict[Fact, list[Setting]] = {}
        self._players: dict[str, str] = {}

    # ------------------------------------------------------------ taking in

    def take(self, line: bytes) -> None:
        """Take in the line of the next entry.

        Raises:
            CorruptRecordError: it is not that, or its events do not follow from those before.
            UnknownRulesError: the match is played by rules of a version that this program does not know.

        """
        events = take(line, self.state)
        if not self._commands:
            rules_of(self.state.rules)
            self._players = called(self.state.names)
        self._firsts.append(len(self.events) + 1)
        self._commands.append(bytes(_line(line).command))
        for event in events:
            if (event.n, event.entry) != (len(self.events) + 1, self.entries):
                message = f"event {event.n} of entry {event.entry} stands where event {len(self.events) + 1} must be"
                raise CorruptRecordError(message)
            self.events.append(event)
            try:
                _NOTES.get(type(event), _nothing)(self, event)
            except AMISS:
                raise amiss(event) from None

    def note(self, fact: Fact, n: int, value: Any) -> None:
        """Event `n` set this fact."""
        self._settings.setdefault(fact, []).append(Setting(n, value))

    # ------------------------------------------------------------ looking up

    @property
    def entries(self) -> int:
        """How many entries were taken in."""
        return len(self._commands)

    @property
    def ruleset(self) -> Ruleset:
        """The ruleset of the match."""
        return self.state.ruleset

    def of_entry(self, entry: int) -> Sequence[AnyEvent]:
        """The events of an entry, 1 to the last, in order."""
        ends = self._firsts[entry] - 1 if entry < len(self._firsts) else len(self.events)
        return self.events[self._firsts[entry - 1] - 1 : ends]

    def command(self, entry: int) -> dict[str, Any]:
        """The command of an entry.

        Raises:
            CorruptRecordError: it cannot be read.

        """
        try:
            command: dict[str, Any] = _command(self._commands[entry - 1])
        except (msgspec.MsgspecError, RecursionError) as error:
            message = f"the command of entry {entry} cannot be read: {error}"
            raise CorruptRecordError(message) from None
        return command

    def settings(self, fact: Fact) -> Sequence[Setting]:
        """All that set a fact, in order.

        Raises:
            KeyError: nothing did.

        """
        return self._settings[fact]

    def before(self, fact: Fact, n: int) -> Setting:
        """What set a fact last before event `n`.

        Raises:
            KeyError: nothing did.

        """
        settings = self._settings[fact]
        place = bisect_left(settings, n, key=attrgetter("n"))
        if not place:
            raise KeyError(fact)
        return settings[place - 1]

    def now(self, fact: Fact) -> Any:
        """What a fact was set to last."""
        return self._settings[fact][-1].value

    def player(self, player: str) -> str:
        """What a player is called, in a sentence."""
        return separable(self._players.get(player, player))

    def card(self, card: str, n: int) -> str:
        """What a card is called at event `n`, with its own name beside it."""
        name = self.before(("card", card), n + 1).value
        return card if name in {None, card} else f"{name} [{card}]"


def amiss(event: AnyEvent) -> CorruptRecordError:
    """The error of an event that does not follow from those before it."""
    return CorruptRecordError(f"event {event.n} of entry {event.entry} does not follow from the ones before")


class _Line(Struct, gc=False):
    command: Raw


_line = msgspec.json.Decoder(_Line).decode
_command = msgspec.json.Decoder(dict[str, Any]).decode


# ------------------------------------------------------------ what each event sets


def _nothing(record: Provenance, event: AnyEvent) -> None:
    """It sets nothing that is asked for."""


def _match_started(record: Provenance, event: e.MatchStarted) -> None:
    record.note(RESULT, event.n, ("running", None))
    for seat in event.players:
        record.note(("life", seat.player), event.n, event.ruleset.starting_life)
        record.note(("defeated", seat.player), event.n, False)


def _turn_began(record: Provenance, event: e.TurnBegan) -> None:
    record.note(TURN, event.n, event.number)
    record.note(TAKEN, event.n, None)


def _event_taken(record: Provenance, event: e.EventTaken) -> None:
    record.note(TAKEN, event.n, event.event)


def _card_entered(record: Provenance, event: e.CardEntered | e.CreatureSummoned) -> None:
    set_to = {
        "card": event.name,
        "control": event.controller,
        "rank": event.rank,
        "sealed": event.sealed,
        "soulless": event.soulless,
    }
    for what, value in set_to.items():
        record.note((what, event.card), event.n, value)


def _creature_summoned(record: Provenance, event: e.CreatureSummoned) -> None:
    _card_entered(record, event)
    rift = ("rift", event.rift)
    record.note(rift, event.n, max(record.now(rift), event.rank or 0))


def _sealed(record: Provenance, event: e.CreatureSealed | e.CreatureUnsealed) -> None:
    record.note(("sealed", event.card), event.n, isinstance(event, e.CreatureSealed))


def _soulless_set(record: Provenance, event: e.SoullessSet) -> None:
    record.note(("soulless", event.card), event.n, event.soulless)


def _rank_set(record: Provenance, event: e.RankSet) -> None:
    record.note(("rank", event.card), event.n, event.rank)


def _control_changed(record: Provenance, event: e.ControlChanged) -> None:
    record.note(("control", event.card), event.n, event.to)


def _card_gone(record: Provenance, event: e.CreatureDestroyed | e.CardDestroyed | e.CardLeft) -> None:
    record.note(("gone", event.card), event.n, None)


def _soul_came(record: Provenance, event: e.SoulCollected | e.SoulReleased) -> None:
    record.note(("soul", event.soul), event.n, event.rank)
    record.note(("place", event.soul), event.n, "aether")


def _soul_reaped(record: Provenance, event: e.SoulReaped) -> None:
    record.note(("place", event.soul), event.n, c.OnCard(card=event.card))


def _soul_left_card(record: Provenance, event: e.SoulReturned | e.SoulLost) -> None:
    record.note(("place", event.soul), event.n, "aether" if isinstance(event, e.SoulReturned) else "gone")


def _cost_paid(record: Provenance, event: e.CostPaid) -> None:
    record.note(("payment", event.payment), event.n, event.effect)
    for spent in event.souls:
        record.note(("place", spent.soul), event.n, "gone")


def _rift_opened(record: Provenance, event: e.RiftOpened) -> None:
    record.rift = event.rift
    record.note(("rift", event.rift), event.n, 0)


def _life(record: Provenance, event: e.SoulburnTaken | e.LifeChanged) -> None:
    record.note(("life", event.player), event.n, event.life)


def _player_defeated(record: Provenance, event: e.PlayerDefeated) -> None:
    record.note(("defeated", event.player), event.n, True)


def _match_ended(record: Provenance, event: e.MatchEnded) -> None:
    record.note(RESULT, event.n, ("ended", event.winner))


def _ruling_made(record: Provenance, event: e.RulingMade) -> None:
    made = []
    for correction in event.corrections:
        kind = kind_of(correction)
        fact = _corrected(record, kind, getattr(correction, kind))
        before = None if kind == "new_soul" else record.now(fact)
        made.append(Mended(kind, correction, before))
        record.note(fact, event.n, _corrected_to(kind, getattr(correction, kind), before))
        if kind == "new_soul" and correction.new_soul is not UNSET:
            record.note(("place", correction.new_soul.soul), event.n, correction.new_soul.to)
    record.mended[event.n] = tuple(made)


def _corrected(record: Provenance, kind: str, change: Any) -> Fact:
    """The fact that a correction is about."""
    match kind:
        case "life" | "defeated":
            return kind, change.player
        case "soul":
            return "place", change.soul
        case "new_soul" | "rank":
            return "soul", change.soul
        case "payment":
            return kind, change.payment
        case "rift":
            return kind, record.rift
    return TAKEN if kind == "event" else RESULT


def _corrected_to(kind: str, change: Any, before: Any) -> Any:
    """What a correction sets its fact to."""
    match kind:
        case "life":
            return before + change.delta
        case "soul":
            return change.to
        case "rift":
            return before if change.highest is UNSET else change.highest
        case "payment":
            return before
        case "result":
            return change.status, change.winner
        case "new_soul":
            return change.rank
    return getattr(change, kind)


_NOTES: dict[type[e.Event], Callable[[Provenance, Any], None]] = {
    e.MatchStarted: _match_started,
    e.TurnBegan: _turn_began,
    e.EventTaken: _event_taken,
    e.CardEntered: _card_entered,
    e.CreatureSummoned: _creature_summoned,
    e.CreatureSealed: _sealed,
    e.CreatureUnsealed: _sealed,
    e.SoullessSet: _soulless_set,
    e.RankSet: _rank_set,
    e.ControlChanged: _control_changed,
    e.CreatureDestroyed: _card_gone,
    e.CardDestroyed: _card_gone,
    e.CardLeft: _card_gone,
    e.SoulCollected: _soul_came,
    e.SoulReleased: _soul_came,
    e.SoulReaped: _soul_reaped,
    e.SoulReturned: _soul_left_card,
    e.SoulLost: _soul_left_card,
    e.CostPaid: _cost_paid,
    e.SoulburnTaken: _life,
    e.LifeChanged: _life,
    e.RiftOpened: _rift_opened,
    e.PlayerDefeated: _player_defeated,
    e.MatchEnded: _match_ended,
    e.RulingMade: _ruling_made,
}
