"""What holds in every match, whatever is played: found by playing at random, legally and not.

The ledger keeps its own books from the events alone. It shares no code with the fold, and the state must agree with it.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice, product
from typing import Any

import msgspec
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from msgspec import UNSET

from domain.rules import (
    AnyCommand,
    AnyEvent,
    Payment,
    Refusal,
    State,
    canonical_form,
    decide,
    fold,
    options,
    quote,
    state_hash,
)
from domain.rules import commands as c
from domain.rules import events as e
from tests.strategies import CARDS, commands, matches, opening, outcome, starts, well_formed

AETHER, GONE = "the Aether", "gone"
Place = tuple[str, str]
"""`AETHER`, `GONE`, or a card's name, beside the empty string or "card"."""

DEFAULT = settings()  # the profile that conftest.py chose


# ------------------------------------------------------------------------------------------------ the books


@dataclass
class Paid:
    """One payment and what has burned for it."""

    player: str
    amount: int
    power: int
    open: bool
    overpaid: int = 0
    fizzled: int = 0
    owes: int = 0
    """The power that its fizzling must burn: its amount, unless its payer was defeated."""


@dataclass
class Ledger:
    """What the events say, checked against the rule book as they come."""

    start: int = 0
    per_power: int = 0
    burned: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    defeated: set[str] = field(default_factory=set)
    place: dict[int, Place] = field(default_factory=dict)
    rank: dict[int, int] = field(default_factory=dict)
    controller: dict[str, str] = field(default_factory=dict)
    payments: dict[int, Paid] = field(default_factory=dict)
    rifts: dict[int, int] = field(default_factory=dict)
    rift: int | None = None
    """The open one."""
    ended: bool = False
    events: int = 0
    entries: int = 0
    creatures: dict[str, e.CreatureDestroyed] = field(default_factory=dict)
    """The creatures destroyed in this entry."""
    closed: list[e.RiftClosed] = field(default_factory=list)
    rift_burned: int = 0

    def take(self, command: AnyCommand, events: tuple[AnyEvent, ...]) -> None:
        """Book one entry, and check what must hold after it."""
        assert events, "an accepted command appends something"
        self.entries += 1
        self.creatures, self.closed, self.rift_burned = {}, [], 0
        was_ended = self.ended
        assert not was_ended or isinstance(command, c.Ruling), "an ended match takes only rulings"
        for event in events:
            self.events += 1
            assert (event.n, event.entry) == (self.events, self.entries)
            book: Callable[[Any], None] | None = getattr(self, "_on_" + str(type(event).__struct_config__.tag), None)
            if book:
                book(event)
        ends = [isinstance(event, e.MatchEnded) for event in events]
        assert not any(ends[:-1]), "match_ended is the last event of its entry"
        for paid in self.payments.values():
            assert paid.power == paid.amount + paid.overpaid
            assert paid.fizzled == paid.owes
        assert self.rift_burned == sum(closed.burned for closed in self.closed)
        for closed in self.closed:
            assert closed.burned == (closed.unused if isinstance(command, c.CloseRift) else 0)
            assert isinstance(command, c.CloseRift | c.Ruling) or self.ended or closed.player in self.defeated, "R-10"

    def life(self, player: str) -> int:
        """What L-2 leaves of a player's life."""
        return self.start - self.per_power * self.burned[player] + self.changed[player]

    # The events

    def _on_match_started(self, event: e.MatchStarted) -> None:
        self.start, self.per_power = event.ruleset.starting_life, event.ruleset.soulburn_per_power
        self.burned = {seat.player: 0 for seat in event.players}
        self.changed = dict(self.burned)

    def _on_card_entered(self, event: e.CardEntered | e.CreatureSummoned) -> None:
        assert event.card not in self.controller
        assert event.souls == ()
        self.controller[event.card] = event.controller

    _on_creature_summoned = _on_card_entered

    def _on_control_changed(self, event: e.ControlChanged) -> None:
        assert self.controller[event.card] == event.from_ != event.to
        self.controller[event.card] = event.to

    def _on_creature_destroyed(self, event: e.CreatureDestroyed) -> None:
        self.creatures[event.card] = event
        self._goes(event)

    def _on_card_destroyed(self, event: e.CardDestroyed) -> None:
        self._goes(event)

    def _on_card_left(self, event: e.CardLeft) -> None:
        self._goes(event)

    def _goes(self, event: e.WholeCard) -> None:
        assert self.controller.pop(event.card) == event.controller
        held = [soul for soul, place in self.place.items() if place == (event.card, "card")]
        assert [soul.soul for soul in event.souls] == sorted(held)
        assert all(soul.rank == self.rank[soul.soul] for soul in event.souls)

    def _on_soul_collected(self, event: e.SoulCollected) -> None:
        creature = self.creatures[event.creature]
        rank = (creature.rank or 0) + sum(modifier.delta for modifier in event.modifiers)
        assert event.rank == min(3, max(0, rank)), "the modifiers explain the rank"
        assert not creature.soulless
        self._comes(event.soul, event.rank, (AETHER, ""))

    def _on_soul_released(self, event: e.SoulReleased) -> None:
        self._comes(event.soul, event.rank, (AETHER, ""))

    def _comes(self, soul: int, rank: int, place: Place) -> None:
        assert soul == len(self.place) + 1
        assert rank in range(4)
        self.rank[soul], self.place[soul] = rank, place

    def _on_soul_reaped(self, event: e.SoulReaped) -> None:
        self._moves(event.soul, event.rank, (AETHER, ""), (event.card, "card"))

    def _on_soul_returned(self, event: e.SoulReturned) -> None:
        self._moves(event.soul, event.rank, (event.card, "card"), (AETHER, ""))

    def _on_soul_lost(self, event: e.SoulLost) -> None:
        self._moves(event.soul, event.rank, (event.card, "card"), (GONE, ""))

    def _moves(self, soul: int, rank: int, source: Place, target: Place) -> None:
        assert self.place[soul] == source
        assert self.rank[soul] == rank, "a Soul keeps its rank"
        self.place[soul] = target

    def _on_cost_paid(self, event: e.CostPaid) -> None:
        assert event.payment == len(self.payments) + 1
        assert event.power == sum(spent.power for spent in event.souls) >= event.amount >= 1
        for spent in event.souls:
            source = (AETHER, "") if spent.card is None else (spent.card, "card")
            assert spent.card is None or self.controller[spent.card] == event.player, "P-2"
            self._moves(spent.soul, spent.power - 1, source, (GONE, ""))
        self.payments[event.payment] = Paid(event.player, event.amount, event.power, event.effect is not None)

    def _on_soulburn_taken(self, event: e.SoulburnTaken) -> None:
        assert event.player not in self.defeated, "a defeated player takes no more Soulburn"
        assert event.power > 0
        assert event.damage == event.power * self.per_power
        self.burned[event.player] += event.power
        assert event.life == self.life(event.player)
        if event.source == "rift":
            assert event.payment is None
            assert self.rifts[event.rift or 0] >= event.power
            self.rift_burned += event.power
            return
        assert event.rift is None
        paid = self.payments[event.payment or 0]
        assert paid.player == event.player
        if event.source == "overpay":
            paid.overpaid += event.power
        else:
            paid.fizzled += event.power

    def _on_effect_resolved(self, event: e.EffectResolved) -> None:
        assert self.payments[event.payment].open
        self.payments[event.payment].open = False

    def _on_effect_fizzled(self, event: e.EffectFizzled) -> None:
        if event.payment is None:
            return
        paid = self.payments[event.payment]
        assert paid.open
        paid.open = False
        paid.owes = 0 if paid.player in self.defeated else paid.amount

    def _on_rift_opened(self, event: e.RiftOpened) -> None:
        assert event.rift == len(self.rifts) + 1
        assert self.payments[event.payment].amount == event.rank
        assert self.rift is None
        self.rift, self.rifts[event.rift] = event.rift, event.rank

    def _on_rift_closed(self, event: e.RiftClosed) -> None:
        assert event.unused == self.rifts[event.rift] - event.highest
        assert event.rift == self.rift
        self.rift = None
        self.closed.append(event)

    def _on_life_changed(self, event: e.LifeChanged) -> None:
        self.changed[event.player] += event.delta
        assert event.life == self.life(event.player)

    def _on_player_defeated(self, event: e.PlayerDefeated) -> None:
        assert event.because == "ruling" or event.player not in self.defeated
        assert event.because != "life" or self.life(event.player) <= 0
        self.defeated.add(event.player)

    def _on_match_ended(self, event: e.MatchEnded) -> None:
        assert event.winner is None or event.winner in self.burned
        self.ended = True

    def _on_ruling_made(self, event: e.RulingMade) -> None:
        for correction in event.corrections:
            self._correct(correction)

    def _correct(self, made: e.MadeCorrection) -> None:
        if made.life is not UNSET:
            self.changed[made.life.player] += made.life.delta
        if made.defeated is not UNSET:
            change = self.defeated.add if made.defeated.defeated else self.defeated.remove
            change(made.defeated.player)
        if made.result is not UNSET:
            self.ended = made.result.status == "ended"
        if made.payment is not UNSET:
            assert self.payments[made.payment.payment].open
            self.payments[made.payment.payment].open = False
        if made.rift is not UNSET:
            assert self.rift is not None
            self.rift = None if made.rift.close else self.rift
        if made.rank is not UNSET:
            assert made.rank.rank in range(4)
            self.rank[made.rank.soul] = made.rank.rank
        if made.soul is not UNSET:
            assert self.place[made.soul.soul] != (GONE, ""), "a Soul that is gone stays gone"
            self.place[made.soul.soul] = _corrected_place(made.soul.to)
        if made.new_soul is not UNSET:
            self._comes(made.new_soul.soul, made.new_soul.rank, _corrected_place(made.new_soul.to))


def _corrected_place(to: str | c.OnCard) -> Place:
    if isinstance(to, c.OnCard):
        return to.card, "card"
    return (AETHER, "") if to == "aether" else (GONE, "")


def places(state: State) -> dict[int, tuple[Place, int]]:
    """Where the state has each Soul that is not gone, and its rank; no Soul twice (S-2)."""
    found: dict[int, tuple[Place, int]] = {}
    for number, soul in state.aether.items():
        assert number == soul.soul
        found[number] = (AETHER, ""), soul.rank
    for name, card in state.battlefield.items():
        assert name == card.card
        assert [soul.soul for soul in card.souls] == sorted({soul.soul for soul in card.souls})
        for soul in card.souls:
            assert soul.soul not in found, "a Soul is in one place"
            found[soul.soul] = (name, "card"), soul.rank
    assert state.holders == {soul: place for soul, ((place, kind), _) in found.items() if kind}
    return found


def agree(state: State, ledger: Ledger) -> None:
    """The state is what the ledger says."""
    found = places(state)
    assert {soul: place for soul, (place, _) in found.items()} == {
        soul: place for soul, place in ledger.place.items() if place != (GONE, "")
    }
    assert all(rank == ledger.rank[soul] and 0 <= rank <= 3 for soul, (_, rank) in found.items())
    assert state.numbered.souls == len(ledger.place) == len(found) + state.gone
    assert state.numbered.payments == len(ledger.payments)
    assert state.numbered.rifts == len(ledger.rifts)
    assert list(state.payments) == [number for number, paid in ledger.payments.items() if paid.open]
    assert {name: player.life for name, player in state.players.items()} == {
        name: ledger.life(name) for name in state.players
    }
    assert {name for name, player in state.players.items() if player.defeated} == ledger.defeated
    assert {name: card.controller for name, card in state.battlefield.items()} == ledger.controller
    assert (state.rift.rift if state.rift else None) == ledger.rift
    assert (state.entries, state.events) == (ledger.entries, ledger.events)
    assert state.status == ("ended" if ledger.ended else "running")
    if not ledger.ended:
        undefeated = [player for player in state.players.values() if not player.defeated]
        assert len(undefeated) >= 2
        assert all(player.life > 0 for player in undefeated)
    else:
        assert state.rift is None


# ------------------------------------------------------------------------------------------------ what a player may do

Piles = list[tuple[int, ...]]
FEW = 40


def piles_of(state: State) -> Piles:
    """All Souls that are not gone, those of one place and one rank together."""
    piles: dict[tuple[Place, int], list[int]] = {}
    for soul, where in sorted(places(state).items()):
        piles.setdefault(where, []).append(soul)
    return [tuple(pile) for pile in piles.values()]


def choices(piles: Piles) -> Iterator[tuple[int, ...]]:
    """Every number of Souls from each pile, the youngest of it; those of few Souls first when there are many."""
    counts: Iterator[tuple[int, ...]] = product(*(range(len(pile) + 1) for pile in piles))
    if len(piles) > 5:
        counts = islice(sorted(product(*(range(min(len(pile), 2) + 1) for pile in piles[:6])), key=sum), FEW)
    for count in islice(counts, 2 * FEW):
        yield tuple(soul for pile, some in zip(piles, count, strict=False) for soul in pile[len(pile) - some :])


def normal(piles: Piles, souls: tuple[int, ...]) -> tuple[int, ...]:
    """How many Souls of each pile a payment takes."""
    return tuple(sum(soul in pile for soul in souls) for pile in piles)


def accepts(state: State, command: AnyCommand) -> bool:
    """Whether the rules allow this command now."""
    try:
        decide(state, command)
    except Refusal:
        return False
    return True


def check_payments(
    piles: Piles, listed: tuple[Payment, ...], accepted: Callable[[tuple[int, ...]], bool], *, more: bool
) -> None:
    """All that is listed is accepted, best first, each once; and nothing accepted is missing, unless there are more."""
    assert all(accepted(payment.souls) for payment in listed)
    order = [(payment.excess, payment.reaped, len(payment.souls), payment.souls) for payment in listed]
    assert order == sorted(order)
    assert all(payment.souls == tuple(sorted(payment.souls)) for payment in listed)
    known = {normal(piles, payment.souls) for payment in listed}
    assert len(known) == len(listed)
    if not more:
        for souls in choices(piles):
            assert accepted(souls) == (normal(piles, souls) in known)


def check_options(state: State, player: str) -> None:
    """What `options` lists is accepted, and no accepted command of its kinds is missing."""
    offered = options(state, player, limit=20)
    assert offered.take_event == accepts(state, c.TakeEvent(player=player, event="omen"))
    assert offered.close_rift == accepts(state, c.CloseRift(player=player))
    assert offered.concede == accepts(state, c.Concede(player=player))
    assert list(offered.summon) == [
        rank for rank in range(-1, 5) if accepts(state, c.Summon(player=player, card="never seen", rank=rank))
    ]
    for number in range(state.numbered.payments + 2):
        mine = number in state.payments and state.payments[number].player == player
        expected = mine and state.status == "running"
        assert (number in offered.open_payments) == expected
        if expected:
            assert accepts(state, c.Resolve(payment=number))
            assert accepts(state, c.Fizzle(payment=number))
    check_rifts(state, player, {rift.rank: (rift.payments, rift.more) for rift in offered.rifts})


def check_rifts(state: State, player: str, offered: dict[int, tuple[tuple[Payment, ...], bool]]) -> None:
    """The part of the options that opens a Rift."""
    piles = piles_of(state)
    if not offered:  # then no payment helps: all Souls together and each alone will do to show it
        piles = [pile[:1] for pile in piles]
    for rank in range(5):
        listed, more = offered.get(rank, ((), False))

        def opens(souls: tuple[int, ...], rank: int = rank) -> bool:
            return accepts(state, c.OpenRift(player=player, rank=rank, souls=souls))

        check_payments(piles, listed, opens, more=more)


def check_quote(state: State, player: str, amount: int) -> None:
    """A quote lists the payments that `pay` accepts, best first, with the figures that paying then shows."""
    quoted = quote(state, player, amount, limit=20)
    mine = {name for name, card in state.battlefield.items() if card.controller == player}
    assert quoted.available == sum(
        rank + 1 for (place, kind), rank in places(state).values() if not kind or place in mine
    )
    for few in (1, 3):  # with more than these the payments are searched, not all made and sorted
        shorter = quote(state, player, amount, limit=few)
        assert shorter.payments == quoted.payments[:few]
        assert shorter.more == (quoted.more or len(quoted.payments) > few)
    for payment in quoted.payments:
        paid = decide(state, c.Pay(player=player, amount=amount, souls=payment.souls, cost="toll"))
        assert isinstance(paid[0], e.CostPaid)
        assert paid[0].power == payment.power == amount + payment.excess
        assert sum(soul.card is not None for soul in paid[0].souls) == payment.reaped
        assert sum(event.damage for event in paid if isinstance(event, e.SoulburnTaken)) == payment.damage

    def pays(souls: tuple[int, ...]) -> bool:
        return accepts(state, c.Pay(player=player, amount=amount, souls=souls, effect="drain"))

    check_payments(piles_of(state), quoted.payments, pays, more=quoted.more)


# ------------------------------------------------------------------------------------------------ a match at random


class Match(RuleBasedStateMachine):
    """One match, played at random, and everything that must hold after each of its commands."""

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.ledger = Ledger()
        self.played: list[tuple[AnyCommand, tuple[AnyEvent, ...]]] = []
        self.saved: list[tuple[State, bytes]] = [(State(), msgspec.json.encode(State()))]

    @initialize(start=starts(), dealt=st.integers(0, 2))
    def begin(self, start: c.StartMatch, dealt: int) -> None:
        """Before its start_match, a match takes nothing else."""
        for early in (c.Release(), c.Ruling(judge="j", reason="r", corrections=())):
            assert not accepts(self.state, early)
        for command in (start, *opening(start, dealt)):
            self.play(command)
            assert self.played[-1][0] == well_formed(command)

    @rule(command=st.runner().flatmap(lambda match: commands(match.state)))
    def act(self, command: AnyCommand) -> None:
        """Some command, legal or not."""
        self.play(command)

    def play(self, command: AnyCommand) -> None:
        """Play one command and check everything."""
        before, shown, hashed = self.state.copy(), msgspec.json.encode(self.state), state_hash(self.state)
        formed = well_formed(command)
        if isinstance(formed, Refusal):
            assert formed.rule == "input"
            return
        twin = self.state.copy()
        result = outcome(twin, formed)
        assert (self.state, msgspec.json.encode(self.state), state_hash(self.state)) == (before, shown, hashed)
        if isinstance(result, Refusal):
            assert (twin, msgspec.json.encode(twin), state_hash(twin)) == (before, shown, hashed)
            check_refusal(result)
            return
        assert decide(self.state, formed) == result
        assert (self.state, msgspec.json.encode(self.state), state_hash(self.state)) == (before, shown, hashed)
        assert fold(result, self.state) is self.state
        assert self.state == twin
        self.played.append((formed, result))
        self.saved.append((self.state.copy(), msgspec.json.encode(self.state)))
        self.ledger.take(formed, result)
        self.check()

    def check(self) -> None:
        """What holds after every accepted command."""
        agree(self.state, self.ledger)
        refolded = fold(event for _, events in self.played for event in events)
        assert refolded == self.state
        assert refolded.view() == self.state.view()
        form = canonical_form(self.state)
        assert form == rfc8785.dumps(json.loads(form))
        assert state_hash(self.state) == sha256(form).hexdigest()
        assert msgspec.json.decode(msgspec.json.encode(self.state), type=State) == self.state
        for player in self.state.players:
            check_options(self.state, player)
            if self.state.status == "running" and not self.state.players[player].defeated:
                check_quote(self.state, player, 1 + self.state.entries % 5)

    def teardown(self) -> None:
        """From a copy and from a snapshot at any entry, played on, the match is as it was played straight."""
        for at, (copy, snapshot) in enumerate(self.saved):
            assert copy == fold(event for _, events in self.played[:at] for event in events)
            assert msgspec.json.encode(copy) == snapshot, "what came later left the copy alone"
            for twin in (copy.copy(), msgspec.json.decode(snapshot, type=State)):
                for command, events in self.played[at:]:
                    assert outcome(twin, command) == events
                assert twin == self.state
                assert twin.view() == self.state.view()


def check_refusal(refusal: Refusal) -> None:
    """A refusal names a rule, has a path if it is one of input, and can be shown."""
    assert refusal.message
    assert (refusal.rule == "input") == (refusal.path is not None)
    assert "\n" not in refusal.message
    assert json.loads(msgspec.json.encode(refusal.view())).keys() == {"rule", "message", "path", "details"}


def test_every_match_keeps_the_laws() -> None:
    """After every command of any match the Souls, life, payments, numbers, options and quotes add up, a refused command
    has changed nothing, and the match can be rebuilt, copied, snapshotted and played on from every entry.
    """
    run_state_machine_as_test(
        Match, settings=settings(max_examples=DEFAULT.max_examples * 3 // 2, stateful_step_count=40)
    )


# ------------------------------------------------------------------------------------------------ order, and bytes


@st.composite
def boards(draw: st.DrawFn) -> tuple[c.StartMatch, list[c.Enter], list[c.Enter], list[AnyCommand]]:
    """A start, cards that enter in two orders, and what is played after that."""
    start = well_formed(draw(starts()))
    assert isinstance(start, c.StartMatch)
    names = draw(st.lists(st.sampled_from(CARDS), min_size=2, max_size=6, unique=True))
    seats = st.sampled_from([player.player for player in start.players])
    ranks = st.integers(1, 3)
    entering = [
        c.Enter(card=name, controller=draw(seats), rank=draw(ranks), soulless=draw(st.integers(1, 4)) == 4)
        for name in names
    ]
    state = State()
    opening: list[AnyCommand] = [start, *entering]
    for command in opening:
        fold(decide(state, command), state)
    after: list[AnyCommand] = []
    for _ in range(draw(st.integers(0, 20))):
        formed = well_formed(draw(commands(state)))
        if not isinstance(formed, Refusal):
            after.append(formed)
            outcome(state, formed)
    return start, entering, draw(st.permutations(entering)), after


def timeless(value: Any, entered: set[int]) -> Any:
    """A view without the entries in which those cards entered that came in another order."""
    if isinstance(value, dict):
        return {
            key: "then" if key == "entered" and inner in entered else timeless(inner, entered)
            for key, inner in value.items()
            if key != "state_hash"
        }
    return [timeless(inner, entered) for inner in value] if isinstance(value, list) else value


@given(boards())
@settings(max_examples=2 * DEFAULT.max_examples)
def test_the_order_of_entering_changes_nothing_else(
    board: tuple[c.StartMatch, list[c.Enter], list[c.Enter], list[AnyCommand]],
) -> None:
    """Cards that enter in another order differ in `entered`, and in nothing that is decided or offered later."""
    start, entering, permuted, after = board
    one, other = State(), State()
    for state, order in ((one, entering), (other, permuted)):
        fold(decide(state, start), state)
        for enter in order:
            fold(decide(state, enter), state)
    came = set(range(2, 2 + len(entering)))
    for command in after:
        results = outcome(one, command), outcome(other, command)
        shown = [
            result.view() if isinstance(result, Refusal) else json.loads(msgspec.json.encode(result))
            for result in results
        ]
        assert timeless(shown[0], came) == timeless(shown[1], came)
        assert timeless(one.view(), came) == timeless(other.view(), came)
        for player in one.players:
            assert options(one, player) == options(other, player)
    for state in (one, other):
        for card in state.battlefield.values():
            card.entered = 0 if card.entered in came else card.entered
    assert canonical_form(one.copy()) == canonical_form(other.copy())  # which keep no JSON of before


@given(matches())
@settings(max_examples=2 * DEFAULT.max_examples)
def test_events_are_canonical_json(played: list[AnyCommand]) -> None:
    """Events encoded with sorted keys are RFC 8785 to the byte, whatever their texts, and decode to themselves."""
    state = State()
    decode = msgspec.json.Decoder(e.AnyEvent).decode
    for command in played:
        result = outcome(state, command)
        for event in () if isinstance(result, Refusal) else result:
            encoded = msgspec.json.encode(event, order="sorted")
            assert encoded == rfc8785.dumps(json.loads(encoded))
            assert decode(encoded) == event
