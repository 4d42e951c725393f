"""Random matches: commands of every kind, good and bad, from a seed; what is refused is passed over."""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from domain.rules import Refusal, State, decide, decode_command, fold
from tests.kit import Json, of
from tests.unit.rules import moves

WALKS = range(8)
"""The seeds that tests walk with."""

_RULESETS: tuple[dict[str, Any], ...] = (
    {},
    {"overpay": "any", "souls_on_leaving": "lost", "sealed_bonus": 2},
    {"overpay": "least", "rift_min_rank": 0, "release_rank": 2},
    {"soulburn_per_power": 0, "starting_life": 5},
)
_PLAYERS = "abc"
_CARDS = ("x", "y", "z", "~", "\uff5e", "\U0001f600")


def walk(seed: int, length: int = 250) -> Iterator[State]:
    """The state after each entry of one random match; it is one state, which goes on changing."""
    random = Random(seed)
    seats = [{"player": name} for name in _PLAYERS]
    state = State()
    asked = [of("start_match", match="walk", players=seats, ruleset=_RULESETS[seed % len(_RULESETS)])]
    while asked:
        try:
            events = decide(state, decode_command(json.dumps(asked.pop())))
        except Refusal:
            events = ()
        if events:
            yield fold(events, state)
        if length > 0:
            length -= 1
            asked.append(random.choice(_KINDS)(random, state))


def _souls(random: Random, state: State) -> list[int]:
    there = [*state.aether, *state.holders]
    return random.sample(there, min(len(there), random.randint(1, 3)))


def _card(random: Random, _: State) -> str:
    return random.choice(_CARDS)


def _player(random: Random) -> str:
    return random.choice(_PLAYERS)


def _turn_player(random: Random, state: State) -> str:
    return state.turn.player if state.turn else _player(random)


def _ruling(random: Random, state: State) -> Json:
    there = [*state.aether, *state.holders]
    number = random.choice(there) if there else 1
    to = random.choice(["aether", {"card": _card(random, state)}])
    corrections: list[Json] = [
        moves.life(_player(random), random.randint(-4, 6)),
        {"soul": {"soul": number, "to": random.choice([to, "gone"])}},
        {"new_soul": {"rank": random.randint(0, 3), "to": to}},
        {"rank": {"soul": number, "rank": random.randint(0, 3)}},
        {"event": {"event": random.choice([None, "omen"])}},
        {"rift": {"close": True}},
    ]
    return moves.ruling(*random.sample(corrections, random.randint(1, 2)))


_Choice = Callable[[Random, State], Json]
_KINDS: tuple[_Choice, ...] = (
    *(lambda r, s: moves.enter(_card(r, s), _player(r), rank=r.randint(0, 3)) for _ in range(3)),
    lambda r, s: moves.enter(_card(r, s), _player(r), kind="other"),
    lambda r, s: of("seal", card=_card(r, s)),
    lambda r, s: of("set_soulless", card=_card(r, s), soulless=r.random() < 0.5),
    lambda r, s: of("set_rank", card=_card(r, s), rank=r.randint(0, 3)),
    lambda r, s: moves.control(_card(r, s), _player(r)),
    *(lambda r, _: moves.destroy(*r.sample(_CARDS, r.randint(1, 2))) for _ in range(3)),
    lambda r, s: moves.leave(_card(r, s)),
    *(lambda r, _: of("release", rank=r.randint(0, 3)) for _ in range(3)),
    *(lambda r, s: moves.reap(_card(r, s), *(_souls(r, s) or [1])) for _ in range(3)),
    *(lambda r, s: moves.pay(_player(r), r.randint(1, 5), *_souls(r, s)) for _ in range(4)),
    lambda r, s: moves.resolve(r.randint(1, s.numbered.payments + 1)),
    lambda r, s: moves.fizzle(r.randint(1, s.numbered.payments + 1)),
    *(lambda r, _: moves.turn(_player(r)) for _ in range(2)),
    *(lambda r, s: moves.open_rift(_turn_player(r, s), r.randint(1, 3), *_souls(r, s)) for _ in range(8)),
    *(lambda r, s: moves.summon(_turn_player(r, s), _card(r, s), r.randint(0, 3)) for _ in range(4)),
    lambda r, s: moves.close_rift(_turn_player(r, s)),
    lambda r, _: moves.lives(a=r.randint(-3, 3), b=r.randint(-3, 3), c=r.randint(-3, 3)),
    _ruling,
)
