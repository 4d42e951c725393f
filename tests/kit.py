"""Given, when, then: a match is brought about by commands, asked one more, and held to its answer.

Commands are plain objects and pass the strict edge, as from a player's wire. What fails prints the history.
"""

import json
from typing import Any, Self

import msgspec

from domain.rules import AnyEvent, Refusal, State, decide, decode_command, fold, state_hash

Json = dict[str, Any]


def of(kind: str, /, **fields: Any) -> Json:
    """A command, or as much of an event as is expected, of this type."""
    return {"type": kind, **fields}


def fits(actual: Any, expected: Any) -> bool:
    """Whether `actual` is `expected`, or has all of its fields with the same values; what is empty fits only itself."""
    if isinstance(expected, dict) and expected and isinstance(actual, dict):
        return all(key in actual and fits(actual[key], value) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(actual, list):
        return len(actual) == len(expected) and all(map(fits, actual, expected))
    return type(actual) is type(expected) and bool(actual == expected)


class Table:
    """One match, and all that was asked and answered in it."""

    answer: Any = None

    def __init__(self, *given: Json, players: str = "ab", **ruleset: Any) -> None:
        self.state, self.history = State(), list[str]()
        seats = [{"player": name} for name in players]
        self.given(of("start_match", match="m", ruleset=ruleset, players=seats), *given)

    def given(self, *commands: Json) -> Self:
        """These commands are accepted, one after the other."""
        return self._expect(all(isinstance(self.when(command).answer, list) for command in commands), "accepted")

    def when(self, command: Json) -> Self:
        """Ask one more; to judge it changes nothing, only its events do."""
        before, events = (self.state.copy(), state_hash(self.state.copy())), tuple[AnyEvent, ...]()
        try:
            events = decide(self.state, decode_command(json.dumps(command)))
            self.answer = json.loads(msgspec.json.encode(events))
        except Refusal as refusal:
            self.answer = refusal.view()
        self.history.append(f"{json.dumps(command)} -> {json.dumps(self.answer)}")
        self._expect((self.state, state_hash(self.state)) == before, "untouched by judging")
        fold(events, self.state)
        return self._expect(state_hash(self.state) == state_hash(self.state.copy()), "hashed as it stands now")

    def then(self, *events: Json) -> Self:
        """Just these events, in this order, with at least these fields."""
        return self._expect(fits(self.answer, list(events)), events)

    def refused(self, rule: str, path: str | None = None, **details: Any) -> Self:
        """No: by this rule, at this path, with just these figures."""
        no = {"rule": rule, "path": path, "details": details}
        return self._expect(fits(self.answer, no) and self.answer["details"] == details, no)

    def holds(self, **parts: Any) -> Self:
        """The state shows at least this."""
        return self._expect(fits(self.state.view(), parts), parts)

    def _expect(self, kept: bool, what: object) -> Self:  # noqa: FBT001 - it is the expectation
        assert kept, "\n".join([*self.history, f"expected: {what}", f"state: {self.state.view()}"])
        return self
