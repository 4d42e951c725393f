"""Audits of random matches, against sums that are made plainly from the events, and against all there is to choose."""

import json
from itertools import combinations
from typing import Any

from hypothesis import HealthCheck, given, settings

from domain import State, fold
from domain.application import Matches
from domain.entry import Entry, play
from domain.rules import Refusal
from domain.sqlite import sqlite_settings
from replays.audit import audit
from soulrift.recordings import in_store
from tests.bundles import audit_of, audited
from tests.recordings import file_of, releases
from tests.strategies import matches

Json = dict[str, Any]


def taken(commands: list[Any]) -> list[Entry]:
    """The entries of those commands that are accepted, each `meta.id` once."""
    state, ids, entries = State(), set[str](), list[Entry]()
    for command in commands:
        if command.meta is not None and command.meta.id is not None:
            if command.meta.id in ids:
                continue
            ids.add(command.meta.id)
        try:
            entries.append(play(state, command))
        except Refusal:
            continue
    return entries


def state_of(entries: list[Entry]) -> State:
    state = State()
    for entry in entries:
        fold(entry.events, state)
    return state


def file_of_entries(entries: list[Entry]) -> bytes:
    state = state_of(entries)
    return file_of(state.match, [entry.line for entry in entries], state.status)


def events_of(entries: list[Entry]) -> list[Json]:
    return [event for entry in entries for event in json.loads(entry.line)["events"]]


class Ledger:
    """Soulburn, summed up plainly from events as JSON."""

    def __init__(self) -> None:
        self.burns: list[list[Any]] = []
        self.life: dict[str, int] = {}
        self.per_power = 0
        self.paid: dict[int, Json] = {}
        self.rank = self.highest = 0

    def take(self, event: Json) -> None:
        """Take in the next event."""
        match event["type"]:
            case "match_started":
                self.per_power = event["ruleset"]["soulburn_per_power"]
                self.life = {seat["player"]: event["ruleset"]["starting_life"] for seat in event["players"]}
            case "cost_paid":
                self.paid[event["payment"]] = event
            case "rift_opened":
                self.rank = event["rank"]
            case "rift_closed":
                self.highest = event["highest"]
            case "life_changed":
                self.life[event["player"]] += event["delta"]
            case "ruling_made":
                for each in event["corrections"]:
                    if "life" in each:
                        self.life[each["life"]["player"]] += each["life"]["delta"]
            case "soulburn_taken":
                self.burns.append(self.burned(event))

    def burned(self, event: Json) -> list[Any]:
        """A Soulburn by what was paid, or by the Rift that closed just before."""
        if event["source"] == "rift":
            of, less = self.rank, self.highest
        else:
            payment = self.paid[event["payment"]]
            of, less = payment["amount"], 0
            if event["source"] == "overpay":
                of, less = sum(spent["power"] for spent in payment["souls"]), of
        before, player = self.life[event["player"]], event["player"]
        self.life[player] -= (of - less) * self.per_power
        sums = [of, less, of - less, self.per_power, (of - less) * self.per_power, before, self.life[player]]
        return [event["entry"], event["n"], player, event["source"], *sums]


many = settings(suppress_health_check=[HealthCheck.too_slow])


@many
@given(matches(longest=40))
def test_accounts_add_up(commands: list[Any]) -> None:
    """Each account adds up to the life that the player has, and its parts are the sums of the events."""
    entries = taken(commands)
    state, events = state_of(entries), events_of(entries)
    for account in audited(file_of_entries(entries)).players:
        burned = account.overpay + account.fizzle + account.rift
        assert account.start - burned + account.changes + account.rulings == account.life
        player = state.players[account.player]
        assert (account.life, account.defeated) == (player.life, player.defeated)
        own = [event for event in events if event.get("player") == account.player]
        for source in ("overpay", "fizzle", "rift"):
            took = [each["damage"] for each in own if each["type"] == "soulburn_taken" and each["source"] == source]
            assert sum(took) == getattr(account, source)
        assert sum(each["delta"] for each in own if each["type"] == "life_changed") == account.changes


@many
@given(matches(longest=40))
def test_every_soulburn_is_right(commands: list[Any]) -> None:
    """Each Soulburn's arithmetic is that of the events before it, summed up plainly, and none is left out."""
    entries = taken(commands)
    ledger = Ledger()
    for event in events_of(entries):
        ledger.take(event)
    found = audited(file_of_entries(entries)).soulburn
    assert [
        [b.entry, b.n, b.player, b.source, b.of, b.less, b.power, b.per_power, b.damage, b.before, b.life]
        for b in found
    ] == ledger.burns


@many
@given(matches(longest=40))
def test_cheaper_is_right(commands: list[Any]) -> None:
    """A payment is told just if some other choice of the Souls open to the player, of all there are, burned less."""
    entries = taken(commands)
    state, expected = State(), dict[int, tuple[int, int]]()
    for entry in entries:
        for event in entry.events:
            paid = json.loads(entry.line)["events"][event.n - entry.events[0].n]
            burn = state.ruleset.soulburn_per_power
            if paid["type"] == "cost_paid" and burn and paid["power"] > paid["amount"]:
                powers = [soul.rank + 1 for soul in open_to(state, paid["player"])]
                sums = {sum(some) for size in range(len(powers) + 1) for some in combinations(powers, size)}
                least = min(total for total in sums if total >= paid["amount"])
                if least < paid["power"]:
                    expected[paid["payment"]] = ((least - paid["amount"]) * burn, least)
            fold((event,), state)
    found = audited(file_of_entries(entries))
    assert {each.payment: each.would_burn for each in found.cheaper} == {n: least for n, (least, _) in expected.items()}
    ranks = {event["soul"]: event["rank"] for event in events_of(entries) if event["type"].startswith("soul_")}
    assert all(each.burned > each.would_burn for each in found.cheaper)
    if not any(entry.line.count(b'"rank":{') or b"new_soul" in entry.line for entry in entries):
        for each in found.cheaper:  # no ruling gave a Soul another rank
            assert sum(ranks[soul] + 1 for soul in each.instead) == expected[each.payment][1]


def open_to(state: State, player: str) -> list[Any]:
    """The Souls that are open to a player (P-2); few enough to try all of them."""
    reaped = [soul for card in state.battlefield.values() if card.controller == player for soul in card.souls]
    return [*state.aether.values(), *reaped][:16]


@many
@given(matches(longest=40))
def test_open_payments_are_those_of_the_state(commands: list[Any]) -> None:
    """Open in the end is what the state has open, each with the entry in which it was paid."""
    entries = taken(commands)
    paid_in = {event["payment"]: event["entry"] for event in events_of(entries) if event["type"] == "cost_paid"}
    found = audited(file_of_entries(entries)).open_payments
    assert {each.payment: (each.entry, each.player, each.amount, each.power, each.effect) for each in found} == {
        number: (paid_in[number], each.player, each.amount, each.power, each.effect)
        for number, each in state_of(entries).payments.items()
    }


@settings(many, max_examples=15)
@given(matches(longest=30))
def test_file_and_store_are_audited_alike(commands: list[Any]) -> None:
    """The audit of a match is the same, of its file and of the store that has played it."""
    entries = taken(commands)
    state = state_of(entries)
    with Matches(sqlite_settings(":memory:")) as stored:
        stored.start(entries[0].command_json)
        for entry in entries[1:]:
            stored.give(state.match, entry.command_json)
        with in_store(stored, state.match) as (_, recording):
            assert audit(recording) == audited(file_of_entries(entries))


def test_long_match() -> None:
    """A thousand entries are audited as ten are."""
    found = audit_of(releases("long", 1_000))
    assert (found.entries, found.unusual, found.verified.verdict) == (1_000, (), "exact")
