"""What every read model tells must add up: to the state after each entry, and to what the others tell.

The matches are played at random, rulings among the commands. What is expected is taken from the fold of the events.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import get_args
from unittest.mock import patch

from hypothesis import given, settings

from domain.rules import Refusal, State, decide, fold
from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.corrections import kind_of
from projections import census, life, matches, payments, players, rifts, soulburn, souls
from projections.payments import PaymentMade
from projections.souls import SoulHistory
from tests.read_models import Hall, Store, hall_of, shown, stores

DEFAULT = settings()  # the profile that conftest.py chose
SOME = settings(max_examples=DEFAULT.max_examples * 3 // 10)
FEW = settings(max_examples=DEFAULT.max_examples // 6)


def test_the_random_matches_have_all_there_is_to_tell() -> None:
    """Among the matches of the tests below are events of every type and corrections of every kind."""
    found = Counter[str]()

    @given(stores())
    @settings(max_examples=DEFAULT.max_examples * 2 // 3)
    def play(store: Store) -> None:
        for commands in store.values():
            state = State()
            for command in commands:
                events = decide(state, command)
                fold(events, state)
                found.update(type(event).__name__ for event in events)
                if isinstance(events[0], e.RulingMade):
                    found.update(kind_of(made) for made in events[0].corrections)

    play()
    assert {kind.__name__ for kind in get_args(e.AnyEvent)} | set(c.Correction.__struct_fields__) == set(found)


# ------------------------------------------------------------------------------------------------ life and Soulburn


@given(stores())
@SOME
def test_changes_of_life_add_up_to_the_state(store: Store) -> None:
    """After each entry, the deltas so far sum up to each player's life in the state, and so say the rows themselves."""
    with hall_of(store) as hall:
        for match in store:
            rows = hall.ask(life.life, match)
            states = hall.states(match)
            assert [row.entry for row in rows] == sorted(row.entry for row in rows)
            sums = Counter[str]()
            row_by_row = iter(rows)
            row = next(row_by_row, None)
            for number, state in enumerate(states):
                while row is not None and row.entry == number:
                    sums[row.player] += row.delta
                    assert row.life == sums[row.player]
                    row = next(row_by_row, None)
                assert {name: player.life for name, player in state.players.items()} == {
                    name: sums[name] for name in state.players
                }
            assert row is None, "all changes belong to an entry of the match"


@given(stores())
@SOME
def test_the_ledger_is_the_soulburn_of_the_life_totals(store: Store) -> None:
    """The ledger has the changes of life that are Soulburn, in the same order; `of` - `less` is the level and the level
    times `per_power` the damage.
    """
    with hall_of(store) as hall:
        for match in store:
            per_power = hall.matches.state(match).ruleset.soulburn_per_power
            ledger = hall.ask(soulburn.soulburn, match)
            for row in ledger:
                assert row.of - row.less == row.power > 0
                assert row.less >= 0
                assert row.per_power == per_power
                assert row.damage == row.power * row.per_power
                assert (row.payment is None) == (row.source == "rift") == (row.rift is not None)
            burned = [row for row in hall.ask(life.life, match) if row.cause in {"overpay", "fizzle", "rift"}]
            assert [
                (row.entry, row.player, row.source, row.rule, -row.damage, row.life, row.payment, row.rift)
                for row in ledger
            ] == [
                (row.entry, row.player, row.cause, row.rule, row.delta, row.life, row.payment, row.rift)
                for row in burned
            ]


@given(stores())
@FEW
def test_the_totals_are_the_sums_of_the_ledger(store: Store) -> None:
    """For each match and for all of them, the totals by player and source are sums over the ledger, by player's code
    points, then by rule.
    """
    with hall_of(store) as hall:
        ledgers = {match: hall.ask(soulburn.soulburn, match) for match in store}
        everything = [row for ledger in ledgers.values() for row in ledger]
        for match, ledger in [*ledgers.items(), (None, everything)]:
            sums = defaultdict[tuple[str, str, str], list[int]](lambda: [0, 0, 0])
            for row in ledger:
                for place, amount in enumerate((1, row.power, row.damage)):
                    sums[row.player, row.rule, row.source][place] += amount
            assert [
                ((row.player, row.rule, row.source), [row.times, row.power, row.damage])
                for row in hall.ask(soulburn.totals, match)
            ] == sorted(sums.items())


@given(stores())
@SOME
def test_payments_and_rifts_have_burned_what_the_ledger_has(store: Store) -> None:
    """The `burned` of the payments and the `damage` of the Rifts, each alone, are together the damage of the ledger."""
    with hall_of(store) as hall:
        for match in store:
            of_payments, of_rifts = Counter[int](), Counter[int]()
            for row in hall.ask(soulburn.soulburn, match):
                if row.payment is not None:
                    of_payments[row.payment] += row.damage
                if row.rift is not None:
                    of_rifts[row.rift] += row.damage
            for payment in hall.ask(payments.payments, match):
                assert payment.burned == of_payments.pop(payment.payment, 0)
            for rift in hall.ask(rifts.rifts, match):
                assert rift.burned == of_rifts.pop(rift.rift, 0)
            assert not of_payments
            assert not of_rifts


# ------------------------------------------------------------------------------------------------ Souls


def places(state: State) -> dict[int, str]:
    """Where the state has each Soul that is not gone."""
    return {
        **dict.fromkeys(state.aether, "aether"),
        **{soul.soul: name for name, card in state.battlefield.items() for soul in card.souls},
    }


def ranks(state: State) -> dict[int, int]:
    """The rank of each Soul that is not gone."""
    on_cards = [soul for card in state.battlefield.values() for soul in card.souls]
    return {soul.soul: soul.rank for soul in [*state.aether.values(), *on_cards]}


def place_after(history: SoulHistory, entry: int) -> str:
    """Where a history has its Soul after an entry: "unborn", "aether", the card, or "gone"."""
    if (history.used and history.used.entry <= entry) or (history.lost is not None and history.lost <= entry):
        return "gone"
    return ["unborn", *(move.to for move in history.moves if move.entry <= entry)][-1]


@given(stores())
@SOME
def test_soul_histories_have_every_soul_where_the_state_has_it(store: Store) -> None:
    """After each entry, the moves, the use and the loss of all Souls leave them where the state has them; `now` is the
    last of these places, and as many Souls came and are gone as the state has counted.
    """
    with hall_of(store) as hall:
        for match in store:
            states = hall.states(match)
            histories = hall.ask(souls.history, match)
            assert [history.soul for history in histories] == list(range(1, states[-1].numbered.souls + 1))
            for number, state in enumerate(states):
                told = {history.soul: place_after(history, number) for history in histories}
                there = {soul: place for soul, place in told.items() if place not in {"unborn", "gone"}}
                assert there == places(state)
                assert sum(place == "gone" for place in told.values()) == state.gone
                assert sum(place != "unborn" for place in told.values()) == state.numbered.souls
            for history in histories:
                assert history.now == place_after(history, len(states))
                assert history.moves[0].entry == history.released.entry
                assert not (history.used and history.lost)


@given(stores())
@SOME
def test_soul_histories_have_the_ranks_of_the_state(store: Store) -> None:
    """After each entry, the rank that a Soul came with, or the last one that a ruling gave it by then, is that of the
    state; and what is told of a creature explains the rank that its Soul came with.
    """
    with hall_of(store) as hall:
        for match in store:
            states = hall.states(match)
            for history in hall.ask(souls.history, match):
                released = history.released
                changes = [(released.entry, released.rank), *((then.entry, then.rank) for then in history.reranked)]
                for number, state in enumerate(states):
                    told = [rank for entry, rank in changes if entry <= number]
                    if history.soul in ranks(state):
                        assert ranks(state)[history.soul] == told[-1]
                assert history.rank == changes[-1][1]
                assert (released.source == "creature") == (released.creature is not None)
                if released.creature is not None:
                    creature = states[released.entry - 1].battlefield[released.creature]
                    assert released.creature_rank == creature.rank
                    rank = (creature.rank or 0) + sum(modifier.delta for modifier in released.modifiers)
                    assert released.rank == min(3, max(0, rank))


@given(stores())
@SOME
def test_controllers_of_souls_are_those_of_their_cards(store: Store) -> None:
    """After each entry, the last of `controlled` so far names the card of each Soul that is on one, and the player who
    controls that in the state; and there is nothing in it from before the Soul came onto a card.
    """
    with hall_of(store) as hall:
        for match in store:
            states = hall.states(match)
            for history in hall.ask(souls.history, match):
                for number, state in enumerate(states):
                    told = [control for control in history.controlled if control.entry <= number]
                    card = state.holders.get(history.soul)
                    if card is not None:
                        assert (told[-1].card, told[-1].player) == (card, state.battlefield[card].controller)
                onto = [(move.entry, move.to) for move in history.moves if move.to != "aether"]
                assert len(history.controlled) >= len(onto)
                for control in history.controlled:
                    assert any(entry <= control.entry and card == control.card for entry, card in onto)


@given(stores())
@FEW
def test_one_soul_is_told_as_among_all(store: Store) -> None:
    """The history of one Soul is the one that it has among those of all; of a number without a Soul there is none."""
    with hall_of(store) as hall:
        for match in store:
            histories = hall.ask(souls.history, match)
            for history in histories:
                assert hall.ask(souls.history, match, history.soul) == [history]
            assert hall.ask(souls.history, match, len(histories) + 1) == []


# ------------------------------------------------------------------------------------------------ payments


@given(stores())
@SOME
def test_open_payments_are_those_of_the_state(store: Store) -> None:
    """After each entry, open are the payments for an effect that were made by then and not ended: those of the state,
    with the same player, amount, power and effect.
    """
    with hall_of(store) as hall:
        for match in store:
            states = hall.states(match)
            made = hall.ask(payments.payments, match)
            assert [payment.payment for payment in made] == list(range(1, states[-1].numbered.payments + 1))
            for number, state in enumerate(states):
                assert {payment.payment: _open(payment) for payment in made if _is_open(payment, number)} == {
                    payment.payment: (payment.player, payment.amount, payment.power, payment.effect)
                    for payment in state.payments.values()
                }
            assert [payment.payment for payment in made if payment.outcome == "open"] == list(states[-1].payments)
            for payment in made:
                assert (payment.ended is None) == (payment.outcome in {"open", "settled"})
                assert (payment.effect is None) == (payment.outcome == "settled")


def _open(payment: PaymentMade) -> tuple[str, int, int, str | None]:
    return payment.player, payment.amount, payment.power, payment.effect


def _is_open(payment: PaymentMade, entry: int) -> bool:
    return payment.effect is not None and payment.entry <= entry and (payment.ended is None or payment.ended > entry)


@given(stores())
@SOME
def test_a_payment_has_the_power_of_its_souls(store: Store) -> None:
    """The power of a payment is that of its Souls, and of the histories of the Souls it consumed, each of which tells
    this payment, with all others of it; what it is above the amount is the overpay.
    """
    with hall_of(store) as hall:
        for match in store:
            spent = defaultdict[int, list[SoulHistory]](list)
            for history in hall.ask(souls.history, match):
                if history.used:
                    spent[history.used.payment].append(history)
            for payment in hall.ask(payments.payments, match):
                assert payment.power == sum(soul.power for soul in payment.souls) == payment.amount + payment.overpay
                assert payment.overpay >= 0
                consumed = spent.pop(payment.payment)
                assert payment.power == sum(history.rank + 1 for history in consumed)
                numbers = sorted(soul.soul for soul in payment.souls)
                assert [history.soul for history in consumed] == numbers
                for history in consumed:
                    used = shown(history.used)
                    assert sorted([history.soul, *used.pop("with")]) == numbers
                    told = shown(payment)
                    assert used == {key: told[key] for key in used}
            assert not spent


def payments_before(hall: Hall, match: str) -> Iterator[tuple[State, e.CostPaid]]:
    """Each payment of a match with the state just before it."""
    state = State()
    for event in (event for entry in hall.events(match) for event in entry):
        if isinstance(event, e.CostPaid):
            yield state.copy(), event
        fold((event,), state)


MOST = 8
"""More Souls than these have too many subsets."""


@given(stores())
@SOME
def test_least_burn_is_that_of_the_cheapest_payment_allowed(store: Store) -> None:
    """Of all sets of Souls that the rules would have taken at that moment, `least_burn` is the smallest overpay."""
    with hall_of(store) as hall:
        for match in store:
            made = hall.ask(payments.payments, match)
            for payment, (state, event) in zip(made, payments_before(hall, match), strict=True):
                mine = [
                    soul.soul
                    for card in state.battlefield.values()
                    for soul in card.souls
                    if card.controller == event.player
                ]
                at_hand = [*state.aether, *mine]
                if len(at_hand) <= MOST:
                    assert payment.least_burn == cheapest(state, event.player, event.amount, at_hand)
                overpaid = payment.overpay * state.ruleset.soulburn_per_power
                assert 0 <= payment.least_burn <= overpaid
                if state.ruleset.overpay == "least":
                    assert payment.least_burn == overpaid


def cheapest(state: State, player: str, amount: int, at_hand: list[int]) -> int:
    """The least damage of overpaying, found by asking for leave to pay with every set of these Souls."""
    damages = []
    for count in range(1, len(at_hand) + 1):
        for chosen in combinations(at_hand, count):
            try:
                events = decide(state, c.Pay(player=player, amount=amount, souls=chosen, cost="toll"))
            except Refusal:
                continue
            damages.append(sum(event.damage for event in events if isinstance(event, e.SoulburnTaken)))
    return min(damages)


# ------------------------------------------------------------------------------------------------ Rifts


@given(stores())
@SOME
def test_rifts_are_those_of_the_state(store: Store) -> None:
    """After each entry the Rift that was opened by then and not ended is the state's; its figures add up, and its
    payment is the one of its rank with the same Souls.
    """
    with hall_of(store) as hall:
        for match in store:
            states = hall.states(match)
            told = hall.ask(rifts.rifts, match)
            made = {payment.payment: payment for payment in hall.ask(payments.payments, match)}
            assert [rift.rift for rift in told] == list(range(1, states[-1].numbered.rifts + 1))
            for number, state in enumerate(states):
                still = [rift for rift in told if rift.entry <= number and (rift.ended is None or rift.ended > number)]
                known = [state.rift] if state.rift else []
                assert [(rift.rift, rift.player, rift.rank) for rift in still] == [
                    (rift.rift, rift.player, rift.rank) for rift in known
                ]
            for rift in told:
                paid = made[rift.payment]
                assert (paid.entry, paid.player, paid.amount, paid.power, paid.souls) == (
                    *(rift.entry, rift.player, rift.rank, rift.power),
                    rift.souls,
                )
                last = states[rift.ended - 1 if rift.ended else -1].rift
                assert last is not None
                if rift.outcome == "open":
                    assert (rift.highest, rift.unused, rift.burned) == (last.highest, None, 0)
                else:
                    assert rift.unused == rift.rank - rift.highest
                    assert rift.burned in {0, rift.unused * states[-1].ruleset.soulburn_per_power}
                assert [(came.entry, came.card, came.name, came.rank) for came in rift.summoned] == [
                    (event.entry, event.card, event.name, event.rank)
                    for entry in hall.events(match)
                    for event in entry
                    if isinstance(event, e.CreatureSummoned) and event.rift == rift.rift
                ]


# ------------------------------------------------------------------------------------------------ the census


def counts(state: State) -> tuple[list[int], list[int], int]:
    """How many Souls of each rank are in the Aether and on cards, and how many are gone."""
    aether = [soul.rank for soul in state.aether.values()]
    cards = [soul.rank for card in state.battlefield.values() for soul in card.souls]
    return [aether.count(rank) for rank in range(4)], [cards.count(rank) for rank in range(4)], state.gone


@given(stores())
@SOME
def test_the_census_counts_the_souls_of_the_state(store: Store) -> None:
    """After each entry, the census is the count of the Souls in the state; and they add up to all that ever came."""
    with hall_of(store) as hall:
        for match in store:
            states = hall.states(match)[1:]
            told = hall.ask(census.census, match, len(states))
            assert [row.entry for row in told] == list(range(1, len(states) + 1))
            assert [(list(row.aether), list(row.cards), row.gone) for row in told] == [
                counts(state) for state in states
            ]
            for row, state in zip(told, states, strict=True):
                assert sum(row.aether) + sum(row.cards) + row.gone == state.numbered.souls


@given(stores())
@FEW
def test_the_changes_of_the_census_are_all_there_are(store: Store) -> None:
    """The changes begin with entry 1, and every entry after which the counts are others has its row."""
    with hall_of(store) as hall:
        for match in store:
            states = hall.states(match)
            told = hall.ask(census.changes, match)
            entries = [row.entry for row in told]
            assert entries == sorted(set(entries))
            assert {1} <= set(entries)
            assert {
                number for number in range(2, len(states)) if counts(states[number]) != counts(states[number - 1])
            } <= set(entries)
            for row in told:
                assert (list(row.aether), list(row.cards), row.gone) == counts(states[row.entry])


# ------------------------------------------------------------------------------------------------ matches and players


@given(stores())
@SOME
def test_a_match_stands_as_in_its_state(store: Store) -> None:
    """Each match has the players, status, winner and entries of its state, and the `at` of its last entry; they come
    the last one begun first, and under each filter are those to which it applies.
    """
    with hall_of(store) as hall:
        told = hall.ask(matches.matches)
        numbers = {match: number for number, match in enumerate(store, 1)}
        assert [(row.match, row.number) for row in told] == list(reversed(numbers.items()))
        for row in told:
            state = hall.matches.state(row.match)
            last = store[row.match][-1]
            assert list(row.players.items()) == list(state.names.items())
            assert (row.status, row.winner, row.entries) == (state.status, state.winner, state.entries)
            assert row.at == (last.meta.at if last.meta else None)
        for name in {name for row in told for name in row.players}:
            for status in (None, "running", "ended"):
                assert hall.ask(matches.matches, player=name, status=status) == [
                    row for row in told if name in row.players and status in {None, row.status}
                ]


@given(stores())
@SOME
def test_players_have_what_their_matches_have(store: Store) -> None:
    """A player's figures are sums over all matches: of their results, the ledger, the payments, the Rifts and the Souls
    of creatures that the player controlled; players come by their names' code points.
    """
    with hall_of(store) as hall:
        sums = defaultdict[str, Counter[str]](Counter)
        for match in store:
            states = hall.states(match)
            for name in states[-1].players:
                sums[name]["matches"] += 1
                sums[name][result(states[-1], name)] += 1
            for burned in hall.ask(soulburn.soulburn, match):
                sums[burned.player][f"burned_{burned.source}"] += burned.damage
            for payment in hall.ask(payments.payments, match):
                sums[payment.player]["spent"] += len(payment.souls)
            for rift in hall.ask(rifts.rifts, match):
                sums[rift.player][f"rifts_{rift.rank}"] += 1
            for history in hall.ask(souls.history, match):
                released = history.released
                if released.creature is not None:
                    sums[states[released.entry - 1].battlefield[released.creature].controller]["collected"] += 1
        told = hall.ask(players.players)
        assert [row.player for row in told] == sorted(sums)
        for row in told:
            assert hall.ask(players.players, row.player) == [row]
            figures = shown(row)
            del figures["player"]
            damage = sum(sums[row.player][f"burned_{source}"] for source in ("overpay", "fizzle", "rift"))
            assert figures.pop("damage_per_match") == damage / row.matches
            assert figures == {key: sums[row.player][key] for key in figures}
            assert row.matches == row.won + row.lost + row.drawn + row.running


def result(state: State, player: str) -> str:
    """How a match stands for a player."""
    if state.status == "running":
        return "running"
    return "drawn" if state.winner is None else "won" if state.winner == player else "lost"


# ------------------------------------------------------------------------------------------------ pages


@given(stores())
@FEW
def test_pages_make_no_difference(store: Store) -> None:
    """Every query answers the same whether it reads its rows one by one, two at a time, or all at once."""
    with hall_of(store) as hall:
        at_once = everything(hall, store)
        for few in (1, 2):
            with patch("projections.views.PAGE", few):
                assert everything(hall, store) == at_once


def everything(hall: Hall, store: Store) -> list[object]:
    """What all queries answer."""
    told: list[object] = [*hall.ask(matches.matches), *hall.ask(players.players), *hall.ask(soulburn.totals)]
    for match in store:
        told += hall.ask(souls.history, match)
        told += hall.ask(life.life, match)
        told += hall.ask(soulburn.soulburn, match)
        told += hall.ask(payments.payments, match)
        told += hall.ask(rifts.rifts, match)
        told += hall.ask(census.changes, match)
    return told
