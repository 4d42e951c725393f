"""`make bench`: commands, folds, rebuilds and hashes against their peers and bounds."""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.analytics import analytics
from benchmarks.evidence import evidence
from benchmarks.filling import one_match
from benchmarks.harness import Row, micro, paired, rate, report, seconds_each
from benchmarks.mix import Table, recorded
from benchmarks.recordings import recordings
from benchmarks.simulation import simulations, uno
from benchmarks.stores import stores
from benchmarks.views import views
from domain.application import SNAPSHOT_INTERVAL, Matches
from domain.codec import Codec
from domain.entry import play
from domain.rules import AnyCommand, AnyEvent, State, canonical_form, decide, fold, state_hash
from domain.sqlite import sqlite_settings

COMMANDS = 50_000
SIZES = (100, 1_000, 10_000, 100_000)
GIVEN = 1_000
"""Commands given at each size of a match."""

_commands = recorded(COMMANDS)
_encode = msgspec.json.Encoder(order="sorted").encode


def _events_of(commands: list[AnyCommand]) -> list[AnyEvent]:
    state, events = State(), list[AnyEvent]()
    for command in commands:
        made = decide(state, command)
        fold(made, state)
        events.extend(made)
    return events


def _decide_and_evolve() -> int:
    state = State()
    for command in _commands:
        fold(decide(state, command), state)
    return len(_commands)


def _whole_entries() -> int:
    state = State()
    for command in _commands:
        play(state, command)
    return len(_commands)


def _random_player() -> int:
    table, state, count = Table(2), State(), 20_000
    fold(decide(state, Table.start()), state)
    for _ in range(count):
        fold(decide(state, table.choose(state)), state)
    return count


def commands_in_memory() -> list[Row]:
    """`decide` + `evolve`, and a random legal player, against rlcard's uno; the whole entry against the former."""
    play_uno = uno()
    ours, peer, ratio = paired(_decide_and_evolve, play_uno, rounds=15)
    rows = [Row("decide + evolve, recorded mix : rlcard uno, random play", rate(ours), rate(peer), ratio, ">=", 20)]
    ours, peer, ratio = paired(_random_player, play_uno, rounds=15)
    rows.append(Row("random legal player : rlcard uno, random play", rate(ours), rate(peer), ratio, ">=", 4))
    ours, peer, ratio = paired(_whole_entries, _decide_and_evolve)
    worth = max(1 / ours / 40_000, 6 * ratio)  # either bar will do
    rows.append(
        Row("whole entry with hashes : 40,000/s, or 6 x decide + evolve", rate(ours), rate(peer), worth, ">=", 1)
    )
    return rows


def folds() -> list[Row]:
    """The fold over decoded events, and decode + fold from bytes, against msgspec decoding the same bytes alone."""
    events = _events_of(_commands)
    lines = [_encode(event) for event in events]
    decode = msgspec.json.Decoder(AnyEvent).decode
    codec, state = Codec(), State()
    rows = [row for command in _commands for row in codec.rows(play(state, command))]

    def fold_only() -> int:
        fold(events)
        return len(events)

    def decode_only() -> int:
        for line in lines:
            decode(line)
        return len(lines)

    def decode_and_fold() -> int:
        fold(codec.events(rows))
        return len(rows)

    ours, peer, ratio = paired(fold_only, decode_only)
    found = [Row("fold over decoded events : msgspec decoding alone", rate(ours), rate(peer), 1 / ratio, "<=", 2)]
    ours, peer, ratio = paired(decode_and_fold, decode_only)
    return [
        *found,
        Row("decode + fold from bytes : msgspec decoding alone", rate(ours), rate(peer), 1 / ratio, "<=", 3),
    ]


def hashes() -> list[Row]:
    """The state hash with nothing kept, by the size of the canonical form, over states along the mix."""
    state, samples = State(), []
    for index, command in enumerate(_commands[:5_000]):
        fold(decide(state, command), state)
        if index % 50 == 49:
            samples.append(state.copy())
    kilobytes = sum(len(canonical_form(sample)) for sample in samples) / 1_000

    def hash_all() -> int:
        for _ in range(20):
            for sample in samples:
                sample.aether_json = sample.battlefield_json = None
                state_hash(sample)
        return 20

    each = median(seconds_each(hash_all) for _ in range(7)) / kilobytes
    size = kilobytes / len(samples)
    return [
        Row(f"state hash, a kB of canonical form ({size:.1f} kB) : 7 µs", micro(each), "7.00 µs", each / 7e-6, "<=", 1)
    ]


def lengths() -> list[Row]:
    """Costs at 100 to 100,000 entries in one match: to be flat."""
    commands = recorded(SIZES[-1] + 2 * GIVEN)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "lengths.db")
        with Matches(sqlite_settings(path)) as matches:
            for size in SIZES:
                one_match(matches, f"m{size}", _cut(commands, size))
        rebuilt = _rebuild_costs(path)
        opened = _opening_costs(path)
        given = _give_costs(path, commands)
    rows = [_flat("command given and stored, 100 to 100,000 entries: worst : best", given)]
    rows.append(_flat("event rebuilt, 100 to 100,000 entries: worst : best", rebuilt))
    ratio = opened[SIZES[-1]] / opened[1_000]
    what = "opening a match of 100,000 entries : of 1,000, with snapshots"
    rows.append(Row(what, micro(opened[SIZES[-1]]), micro(opened[1_000]), ratio, "<=", 1.5))
    return rows


def _cut(commands: list[AnyCommand], size: int) -> list[AnyCommand]:
    """At least `size` commands, as many more as it takes to have half an interval of events after the last snapshot."""
    state = State()
    for number, command in enumerate(commands, 1):
        fold(decide(state, command), state)
        if number >= size and abs(state.events % SNAPSHOT_INTERVAL - SNAPSHOT_INTERVAL // 2) <= 2:
            return commands[:number]
    raise AssertionError(size)


def _flat(what: str, costs: dict[int, float]) -> Row:
    worst, best = max(costs.values()), min(costs.values())
    return Row(what, micro(worst), micro(best), worst / best, "<=", 1.5)


def _rebuild_costs(path: str) -> dict[int, float]:
    """Seconds an event, from the events alone. (At 100 entries the opening itself outweighs the events.)."""
    plain = {"IS_SNAPSHOTTING_ENABLED": "n", "AGGREGATE_CACHE_MAXSIZE": ""}
    with Matches(sqlite_settings(path) | plain) as matches:

        def rebuild(size: int) -> float:
            times = max(1, 20_000 // size)
            return seconds_each(lambda: sum(matches.state(f"m{size}").events for _ in range(times)))

        rounds = [{size: rebuild(size) for size in SIZES} for _ in range(3)]
    return {size: median(costs[size] for costs in rounds) for size in SIZES}


def _opening_costs(path: str) -> dict[int, float]:
    with Matches(sqlite_settings(path) | {"AGGREGATE_CACHE_MAXSIZE": ""}) as matches:

        def opening(size: int) -> float:
            return seconds_each(lambda: len([matches.state(f"m{size}") for _ in range(20)]))

        rounds = [{size: opening(size) for size in SIZES} for _ in range(7)]
    return {size: median(costs[size] for costs in rounds) for size in SIZES}


def _give_costs(path: str, commands: list[AnyCommand]) -> dict[int, float]:
    """Median seconds a command, the sizes in turn for each one: a disk's moods outlast many commands."""
    costs: dict[int, list[float]] = {size: [] for size in SIZES}
    with Matches(sqlite_settings(path)) as matches:
        begun = {size: matches.state(f"m{size}").entries for size in SIZES}
        for number in range(GIVEN):
            for size in SIZES:
                command = commands[begun[size] + number]
                start = time.perf_counter()
                matches.give(f"m{size}", command)
                costs[size].append(time.perf_counter() - start)
    return {size: median(found) for size, found in costs.items()}


if __name__ == "__main__":
    groups = [commands_in_memory, folds, hashes, stores, lengths, views, recordings, evidence, simulations, analytics]
    sys.exit(0 if report(groups, Path("build/bench.json")) else 1)
