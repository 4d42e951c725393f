"""Runs: what is simulated, and each match of it, which its number gives again."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from domain.entry import Entry
from domain.entry import play as played
from domain.rules import AnyCommand, AnyEvent, Refusal, State, decide, fold
from domain.rules import commands as c
from domain.rules.ruleset import ChosenRuleset
from domain.rules.shape import as_a_whole
from simulation.chance import GENERATOR, Chance
from simulation.decks import SHIPPED as DECKS
from simulation.decks import Deck, cards_of, shipped_deck
from simulation.policies import SHIPPED as POLICIES
from simulation.policies import policy, told
from simulation.seats import Seat
from simulation.table import PolicyError, Table
from simulation.tally import MatchTally, PlayerTally, Tally

SIMULATOR = 1
"""The version of the simulator. With other tables, cards or policies the same seed makes other matches."""

ANY = "any"
"""A deck or a policy that is drawn for each match, from those that come along."""


class Run(Struct, frozen=True):
    """A run: its seed, and for each seat the deck and the policy; the rulesets are taken in turn, match by match.

    `own` are the decks that do not come along, by what `decks` calls them.
    """

    seed: int
    decks: tuple[str, ...] = (ANY, ANY)
    policies: tuple[str, ...] = (ANY, ANY)
    rulesets: tuple[dict[str, Any], ...] = ({},)
    own: dict[str, Deck] = {}

    def match_name(self, number: int) -> str:
        """What match `number`, from 1, is called."""
        return f"{self.name}-{number}"

    @property
    def name(self) -> str:
        """What the run is called."""
        return f"run-{self.seed}"


class Failed(Struct, frozen=True):
    """A match that could not be played to its end, since a policy failed: its number in the run, and how."""

    number: int
    seed: str
    reason: str
    entries: int


class Played(Struct):
    """A match of a run: its tally, or how it failed; and its entries, if they were wanted."""

    number: int
    tally: MatchTally | None
    failed: Failed | None
    entries: list[Entry]
    unaffordable: int = 0


Watcher = Callable[[State, AnyCommand, tuple[AnyEvent, ...]], object]
"""Is told of each command before the state changes by its events."""


def play_match(run: Run, number: int, *, record: bool = False, watch: Watcher | None = None) -> Played:
    """Play match `number` of a run, from 1; with its entries, if they are to be recorded."""
    names = [f"p{place}" for place in range(1, len(run.decks) + 1)]
    chance = partial(Chance, run.seed, number)
    decks = [drawn_for(chance, f"deck of {name}", deck, DECKS) for name, deck in zip(names, run.decks, strict=True)]
    policies = [
        drawn_for(chance, f"policy for {name}", wanted, tuple(POLICIES))
        for name, wanted in zip(names, run.policies, strict=True)
    ]
    ruleset = (number - 1) % len(run.rulesets)
    players = [PlayerTally(*each) for each in zip(names, decks, policies, strict=True)]
    tally, state, entries = Tally(MatchTally(number, ruleset, players)), State(), list[Entry]()

    def give(command: AnyCommand) -> None:
        if watch or not record:
            events = decide(state, command)
            if watch:
                watch(state, command, events)
        if record:
            entry = played(state, command)
            entries.append(entry)
            events = entry.events
        else:
            fold(events, state)
        tally.take(events, state)

    give(_start(run, number, decks, policies, run.rulesets[ruleset]))
    failed, unaffordable = None, 0
    try:
        seats = [_seat(run, number, *each) for each in zip(names, decks, policies, strict=True)]
        table = Table(seats, state, give, chance("table"))
        table.play()
        unaffordable = table.offers.unaffordable
    except (PolicyError, Refusal) as error:
        failed = Failed(number, str(run.seed), str(error), state.entries)
    return Played(number, None if failed else tally.end(state), failed, entries, unaffordable)


def drawn_for(chance: Callable[[str], Chance], use: str, name: str, choices: tuple[str, ...]) -> str:
    """What is wanted; one of the choices, by a stream for this use alone, where anything is."""
    return chance(use).pick(choices) if name == ANY else name


def _seat(run: Run, number: int, player: str, deck_name: str, policy_name: str) -> Seat:
    deck = run.own.get(deck_name) or shipped_deck(deck_name)
    cards = cards_of(deck)
    chance = Chance(run.seed, number, f"library of {player}")
    library = chance.shuffled([key for key, count in deck.main.items() for _ in range(count)])
    extra = [key for key, count in deck.extra.items() for _ in range(count)]
    try:
        playing = policy(policy_name)(Chance(run.seed, number, f"policy of {player}"))
        return Seat(player, library, extra, playing, cards)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever somebody's policy does
        message = f"the policy of {player} cannot be made: {told(error)}"
        raise PolicyError(message) from error


def _start(run: Run, number: int, decks: list[str], policies: list[str], ruleset: dict[str, Any]) -> AnyCommand:
    """The command that begins a match: it says how to make the match again."""
    players = [
        c.NewPlayer(player=f"p{place}", name=f"{deck}, {policy_name}"[:500])
        for place, (deck, policy_name) in enumerate(zip(decks, policies, strict=True), 1)
    ]
    told = f"simulator {SIMULATOR}, {GENERATOR}, seed {run.seed}, match {number}"
    return as_a_whole(
        c.StartMatch(
            match=run.match_name(number),
            players=tuple(players),
            ruleset=msgspec.convert(ruleset, ChosenRuleset) if ruleset else None,
            meta=c.CommandMeta(actor=told),
        )
    )
