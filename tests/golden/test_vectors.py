import json
from pathlib import Path

import msgspec
import pytest

from domain.rules import AnyEvent, Refusal, State, decide, decode_command, fold
from tests.kit import Json, fits

MATCHES = [json.loads(line) for line in Path(__file__).with_name("matches.jsonl").read_text("utf-8").splitlines()]


def test_all_published_scripts_are_here() -> None:
    """There are 24 of them."""
    assert len(MATCHES) == 24


IDS = [vector["script"][0]["match"] for vector in MATCHES]


def play(script: list[Json]) -> tuple[State, list[AnyEvent], list[Json]]:
    """The state, all events and all refusals of a script, which goes on after each refusal."""
    state, events, refusals = State(), list[AnyEvent](), list[Json]()
    for line, command in enumerate(script, 1):
        try:
            appended = decide(state, decode_command(json.dumps(command)))
        except Refusal as refusal:
            refusals.append({"line": line, "rule": refusal.rule})
        else:
            fold(appended, state)
            events += appended
    return state, events, refusals


@pytest.mark.parametrize("vector", MATCHES, ids=IDS)
def test_script_comes_out_as_published(vector: Json) -> None:
    """A script played past every refusal gives just the published events, refusals and state, its hash included."""
    state, events, refusals = play(vector["script"])
    expected, view = vector["expect"], state.view()
    assert refusals == expected["refusals"]
    for event, published in zip(json.loads(msgspec.json.encode(events)), expected["events"], strict=True):
        assert fits(event, published), (event, published)
    assert view["state_hash"] == expected["state"]["state_hash"]
    assert fits(view, expected["state"]), (view, expected["state"])
    for part in ("players", "battlefield", "payments"):
        assert view[part].keys() == expected["state"][part].keys()


@pytest.mark.parametrize("vector", MATCHES, ids=IDS)
def test_events_alone_rebuild_the_state(vector: Json) -> None:
    """The events, folded from the beginning in one go, add up to the state that was reached command by command."""
    state, events, _ = play(vector["script"])
    assert fold(events) == state
