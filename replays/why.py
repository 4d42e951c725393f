"""Why: the chain behind a recorded fact, through all that led to it, down to the commands.

Lives here: what of a chain is told, each thing once. Must not know: the words for each event (`causes.py`), or how it
is shown. A recording is explained from its events; whether they follow from the commands is for `verify.py`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from domain.rules import AnyEvent
from domain.rules import events as e
from domain.rules.book import words
from domain.rules.lookups import listed
from domain.rules.refusal import quoted
from replays.causes import told
from replays.causes.words import Told
from replays.provenance import AMISS, Provenance, amiss

BRIEF = (
    e.ControlChanged,
    e.CreatureSealed,
    e.CreatureSummoned,
    e.CreatureUnsealed,
    e.EventTaken,
    e.RankSet,
    e.RiftOpened,
    e.SoulReaped,
    e.SoulReturned,
    e.SoullessSet,
)
"""Events which, behind another one, are told with their command alone: what led to them did not lead to that one."""


class NotThereError(LookupError):
    """An event, entry or player that the recording has not; the message says what it has."""


class Rule(Struct, frozen=True):
    """A rule by its number, with its words."""

    rule: str
    words: str


class Reason(Struct, frozen=True):
    """Something that happened, and because of what.

    `event` is its number in the match, null for what is only a part of one; `entry` where it stands; `what` one
    sentence with its figures. At the bottom of a chain is a `command`, with its `meta`: null elsewhere, and where it is
    told above already.
    """

    event: int | None
    entry: int
    what: str
    rules: tuple[Rule, ...] = ()
    command: dict[str, Any] | None = None
    because: tuple["Reason", ...] = ()


def why_event(lines: Iterable[bytes], n: int) -> Reason:
    """Why event `n` of a match happened, 1 to the last; from the lines of its entries, read as far as it takes.

    Raises:
        NotThereError: there is no event of this number.
        CorruptRecordError: an entry cannot be read, or does not follow from those before it.
        UnknownRulesError: this program does not know the rules of the match.

    """
    record = Provenance()
    _read(record, lines, events=n)
    if not 1 <= n <= len(record.events):
        raise NotThereError(_range("events", len(record.events), n))
    return _Telling(record).event(n)


def why_entry(lines: Iterable[bytes], entry: int) -> Reason:
    """Why all events of an entry happened, 1 to the last; what is told is their number, because of each.

    Raises:
        NotThereError, CorruptRecordError, UnknownRulesError: as `why_event`.

    """
    record = Provenance()
    _read(record, lines, entries=entry)
    if not 1 <= entry <= record.entries:
        raise NotThereError(_range("entries", record.entries, entry))
    telling, events = _Telling(record), record.of_entry(entry)
    what = f"entry {entry} has {len(events)} event{'s' if len(events) > 1 else ''}"
    return Reason(None, entry, what, because=tuple(telling.event(event.n) for event in events))


def why_life(lines: Iterable[bytes], player: str) -> Reason:
    """Why a player has so much life at the end of a recording: what it began with, and every change, in order.

    Raises:
        NotThereError: there is no such player.
        CorruptRecordError, UnknownRulesError: as `why_event`.

    """
    record = Provenance()
    _read(record, lines)
    if player not in record.state.players:
        players = f", only {listed(record.state.players)}" if record.state.players else ""
        message = f"there is no player {quoted(player)} in this match{players}"
        raise NotThereError(message)
    telling, changes = _Telling(record), dict.fromkeys(each.n for each in record.settings(("life", player)))
    because = tuple(telling.event(n) for n in changes)
    rules = tuple(Rule(rule, words(rule)) for rule in ("L-1", "L-2"))
    return Reason(None, record.entries, _sum(record, player), rules, because=because)


def _read(record: Provenance, lines: Iterable[bytes], *, events: int = 0, entries: int = 0) -> None:
    """Read so many events or entries, if there are as many; without a number above 0, all."""
    for line in lines:
        record.take(line)
        if 0 < events <= len(record.events) or 0 < entries <= record.entries:
            return


def _range(what: str, last: int, asked: int) -> str:
    return f"the match has {f'the {what} 1 to {last}' if last else f'no {what}'}, not {asked}"


_KINDS: dict[type[e.Event], str] = {e.SoulburnTaken: "Soulburn", e.RulingMade: "by rulings"}


def _sum(record: Provenance, player: str) -> str:
    """A player's life as the sum of what it began with and all changes, by what changed it."""
    first, *rest = record.settings(("life", player))
    before, sums = first.value, defaultdict[str, int](int)
    for n, life in rest:
        sums[_KINDS.get(type(record.events[n - 1]), "reported")] += life - before
        before = life
    shown = [f" {'-' if delta < 0 else '+'} {abs(delta)} {kind}" for kind, delta in sorted(sums.items())]
    return f"{record.player(player)} has {before} life: {first.value} at the start{''.join(shown)} = {before}"


class _Telling:
    """Tells a match's events, each once."""

    def __init__(self, record: Provenance) -> None:
        self._record = record
        self._told: dict[int, str] = {}
        self._commands = set[int]()

    def event(self, n: int, *, behind: bool = False) -> Reason:
        """An event and what led to it; `behind` another one, only as much as that one needs."""
        event = self._record.events[n - 1]
        if n in self._told:
            return Reason(n, event.entry, f"as told above, event {n}: {self._told[n]}")
        try:
            found = told(self._record, event)
        except AMISS:
            raise amiss(event) from None
        self._told[n] = found.what
        rules = tuple(Rule(rule, words(rule)) for rule in found.rules)
        links = () if behind and isinstance(event, BRIEF) else found.because
        because = tuple(self._behind(event, links))
        if self._follows(event, links):
            return Reason(n, event.entry, found.what, rules, because=because)
        return self._commanded(Reason(n, event.entry, found.what, rules, because=because))

    def _behind(self, event: AnyEvent, links: Iterable[int | Told]) -> Iterator[Reason]:
        for link in links:
            if isinstance(link, Told):
                rules = tuple(Rule(rule, words(rule)) for rule in link.rules)
                yield Reason(None, event.entry, link.what, rules, because=tuple(self._behind(event, link.because)))
            elif link >= event.n:
                raise amiss(event)
            elif link > 1 or link not in self._told:  # the ruleset of the match is told once
                yield self.event(link, behind=True)

    def _follows(self, event: AnyEvent, links: Iterable[int | Told]) -> bool:
        """Whether an event follows from another one of its entry, which then leads on to the command."""
        return any(isinstance(link, int) and self._record.events[link - 1].entry == event.entry for link in links)

    def _commanded(self, reason: Reason) -> Reason:
        """The same reason, down to the command of its entry."""
        entry = reason.entry
        again, command = entry in self._commands, None
        if not again:
            self._commands.add(entry)
            command = self._record.command(entry)
        if not reason.because:
            what = f"{reason.what}; the command of entry {entry} is told above" if again else reason.what
            return Reason(reason.event, entry, what, reason.rules, command)
        bottom = Reason(
            None, entry, f"the command of entry {entry}{' is told above' if again else ''}", command=command
        )
        return Reason(reason.event, entry, reason.what, reason.rules, because=(*reason.because, bottom))
