import json
from pathlib import Path

import msgspec
import pytest

from domain.rules import Refusal, State, decide, decode_command, fold
from tests.kit import Json, fits

MATCHES = [json.loads(line) for line in Path(__file__).with_name("matches.jsonl").read_text("utf-8").splitlines()]


def test_all_published_scripts_are_here() -> None:
    """There are 24 of them."""
    assert len(MATCHES) == 24


@pytest.mark.parametrize("vector", MATCHES, ids=lambda vector: vector["script"][0]["match"])
def test_script_comes_out_as_published(vector: Json) -> None:
    """Played to its end past every refusal, a script gives just these events, refusals and state, its hash included."""
    state, events, refusals = State(), [], []
    for line, command in enumerate(vector["script"], 1):
        try:
            appended = decide(state, decode_command(json.dumps(command)))
        except Refusal as refusal:
            refusals.append({"line": line, "rule": refusal.rule})
        else:
            fold(appended, state)
            events += json.loads(msgspec.json.encode(appended))
    expected, view = vector["expect"], state.view()
    assert refusals == expected["refusals"]
    for position, (event, published) in enumerate(zip(events, expected["events"], strict=False)):
        assert fits(event, published), (position, event, published)
    assert len(events) == len(expected["events"])
    assert view["state_hash"] == expected["state"]["state_hash"]
    assert fits(view, expected["state"])
    for part in ("players", "battlefield", "payments"):
        assert view[part].keys() == expected["state"][part].keys()


@pytest.mark.parametrize("vector", MATCHES, ids=lambda vector: vector["script"][0]["match"])
def test_events_alone_rebuild_the_state(vector: Json) -> None:
    """The events, folded from the beginning in one go, add up to the state that was reached command by command."""
    state = State()
    events = []
    for command in vector["script"]:
        try:
            appended = decide(state, decode_command(json.dumps(command)))
        except Refusal:
            continue
        fold(appended, state)
        events += appended
    assert fold(events) == state
