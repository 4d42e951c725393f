"""The rules by version: a match is judged for ever by those under which it began.

When the rules change, the modules of the old version stay as they are, under a name of their own, and its line stays in
`RULES`; what each version does is held fixed by recorded matches (`tests/golden/`).
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from domain.rules.commands import AnyCommand
from domain.rules.decide import decide
from domain.rules.events import AnyEvent
from domain.rules.evolve import fold
from domain.rules.state import State


class UnknownRulesError(Exception):
    """A match is played by rules of a version that this program does not know."""


class Rules(Struct, frozen=True):
    """A version of the rules: how it judges commands, and what its events change."""

    decide: Callable[[State, AnyCommand], tuple[AnyEvent, ...]]
    fold: Callable[[Iterable[AnyEvent], State], Any]


RULES = {1: Rules(decide, fold)}


def rules_of(version: int) -> Rules:
    """The rules of a version.

    Raises:
        UnknownRulesError: there are none of it.

    """
    try:
        return RULES[version]
    except KeyError:
        known = ", ".join(map(str, RULES))
        message = f"the match is played by version {version} of the rules; this Soulrift knows {known}"
        raise UnknownRulesError(message) from None
