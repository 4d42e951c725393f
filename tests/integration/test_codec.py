"""Stored bytes: stable topics, versions and the chain of upcasters."""

from hashlib import sha256
from typing import Any

import msgspec
import pytest

from domain import State, decode_command, line_of, play
from domain.codec import Codec, CorruptRecordError, Row
from domain.rules.events import SoulReleased

TOPICS = [
    "match_started",
    "turn_began",
    "event_taken",
    "card_entered",
    "creature_sealed",
    "creature_unsealed",
    "soulless_set",
    "rank_set",
    "control_changed",
    "creature_destroyed",
    "card_destroyed",
    "card_left",
    "soul_collected",
    "soul_released",
    "soul_reaped",
    "soul_returned",
    "soul_lost",
    "cost_paid",
    "soulburn_taken",
    "effect_resolved",
    "effect_fizzled",
    "rift_opened",
    "creature_summoned",
    "rift_closed",
    "life_changed",
    "player_defeated",
    "match_ended",
    "ruling_made",
]

START = '{"type": "start_match", "match": "m", "players": [{"player": "a"}, {"player": "b"}]}'


def released(codec: Codec, rank: int = 2) -> Row:
    state = State()
    play(state, decode_command(START))
    return codec.rows(play(state, decode_command(f'{{"type": "release", "rank": {rank}}}')))[0]


@pytest.mark.parametrize("name", TOPICS)
def test_every_event_has_a_stable_topic(name: str) -> None:
    """No stored byte names a module or class: the topics are the wire format's names, with their version."""
    assert Codec({name: 2}, {(name, 1): dict})._topics[_kind(name)] == f"{name}.v2"  # noqa: SLF001
    assert Codec()._topics[_kind(name)] == f"{name}.v1"  # noqa: SLF001


def _kind(name: str) -> Any:
    return Codec()._kinds[name]  # noqa: SLF001


def test_there_are_no_other_topics() -> None:
    """The table above is complete."""
    assert sorted(Codec()._kinds) == sorted(TOPICS)  # noqa: SLF001


def test_unknown_fields_of_events_are_ignored() -> None:
    """A newer program may add fields to an event; this one reads what it knows."""
    version, topic, state = released(Codec())
    assert Codec().events([(version, topic, state[:-1] + b',"zeal":9}')], 1) == Codec().events(
        [(version, topic, state)], 1
    )


class TestUpcasters:
    """A shape of an older version is led to the present one, for the fold only."""

    @staticmethod
    def third() -> Codec:
        """A codec in whose third version `strength` became `level`, which became `rank`."""
        return Codec(
            {"soul_released": 3},
            {
                ("soul_released", 1): lambda shape: {**shape, "level": shape["strength"]},
                ("soul_released", 2): lambda shape: {**shape, "rank": shape["level"] - 1},
            },
        )

    def test_each_old_version_is_read(self) -> None:
        """A row of version 1 passes both steps, one of version 2 the second, one of version 3 none."""
        common = b'"by":null,"cause":null,"entry":2,"n":2,"soul":1,"type":"soul_released"}'
        rows = [
            (2, "soul_released.v1", b'{"strength":3,' + common),
            (2, "soul_released.v2", b'{"level":3,' + common),
            (2, "soul_released.v3", b'{"rank":2,' + common),
        ]
        expected = SoulReleased(entry=2, n=2, by=None, cause=None, rank=2, soul=1)
        assert [self.third().events([row], 1) for row in rows] == [[expected]] * 3

    def test_recorded_bytes_stay_as_they_are(self) -> None:
        """The entry of an old row is told in its recorded bytes, not in upcast ones."""
        state, codec = State(), Codec()
        play(state, decode_command(START))
        entry = play(state, decode_command('{"type": "release", "rank": 2}'))
        (old,) = (json.replace(b'"rank":2', b'"strength":3') for json in entry.event_jsons)
        line = line_of(entry.number, entry.command_json, (old,), entry.state_hash)
        recorded = msgspec.structs.replace(entry, event_jsons=(old,), line_hash=sha256(line).hexdigest())
        (entry,) = self.third().entries([(2, "soul_released.v1", codec.rows(recorded)[0][2])], 1)
        assert b'"strength":3' in entry.event_jsons[0]
        assert entry.events == (SoulReleased(entry=2, n=2, by=None, cause=None, rank=2, soul=1),)

    @pytest.mark.parametrize(
        ("versions", "upcasters"),
        [
            ({"soul_released": 3}, [("soul_released")]),
            ({"soul_released": 3}, [("soul_released", 1)]),
            ({}, [("soul_released", 1)]),
            ({"soul_released": 2}, [("soul_released", 1), ("soul_released")]),
        ],
    )
    def test_broken_chain_is_noticed_when_it_is_built(
        self, versions: dict[str, int], upcasters: list[tuple[str, int]]
    ) -> None:
        """A gap, or an upcaster that leads nowhere, is an error before anything is read."""
        with pytest.raises(ValueError, match="upcaster chain is broken"):
            Codec(versions, dict.fromkeys(upcasters, dict))

    def test_failing_upcaster_is_a_corrupt_record(self) -> None:
        """A row of an old version that lacks what its upcaster needs is named."""
        with pytest.raises(CorruptRecordError, match=r"soul_released\.v1 cannot be read"):
            self.third().events([(2, "soul_released.v1", b'{"entry":2,"n":2}')])
