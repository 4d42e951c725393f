"""Stores filled with what is measured, without waiting for the disk at each entry."""

from collections.abc import Sequence

import msgspec
from eventsourcing.persistence import StoredEvent

from benchmarks.mix import recorded
from domain.application import SNAPSHOT_INTERVAL, Matches
from domain.codec import Codec
from domain.entry import play
from domain.match import Match
from domain.rules import AnyCommand, State

ROWS = 20_000
"""As many rows, or a few more, go into one transaction."""


def one_match(matches: Matches, name: str, commands: Sequence[AnyCommand]) -> None:
    """A match of these commands, with its snapshots."""
    match, written = Match(name, State(), Codec()), 0
    for command in [msgspec.structs.replace(commands[0], match=name), *commands[1:]]:
        before = match.version
        match.give(command)
        if match.version // SNAPSHOT_INTERVAL > before // SNAPSHOT_INTERVAL and matches.snapshots:
            matches.snapshots.put([match.snapshot()])
        if match.version > written + ROWS:
            written = match.version
            _insert(matches, match)
    _insert(matches, match)


def _insert(matches: Matches, match: Match) -> None:
    matches.recorder.insert_events(
        [StoredEvent(e.originator_id, e.originator_version, e.topic, e.state) for e in match.collect_events()]
    )


def many_matches(matches: Matches, matches_in_all: int) -> None:
    """As many short matches."""
    codec, state = Codec(), State()
    template = [row for command in recorded(8) for row in codec.rows(play(state, command))]
    step = ROWS // len(template)
    for first in range(0, matches_in_all, step):
        matches.recorder.insert_events(
            [
                StoredEvent(f"m{number}", version, topic, stored)
                for number in range(first, min(first + step, matches_in_all))
                for version, topic, stored in template
            ]
        )
