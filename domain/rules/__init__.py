"""The rules of the game, pure: commands, events, state, `decide` and `fold`, payments, refusals.

No clock, no chance, no input or output: the same commands give the same events in every process and on every machine.
"""

from domain.rules.commands import AnyCommand, Command, CommandMeta
from domain.rules.decide import decide
from domain.rules.events import AnyEvent, Event
from domain.rules.evolve import evolve, fold
from domain.rules.options import Options, options
from domain.rules.quotes import Payment, Quote, quote
from domain.rules.refusal import Refusal
from domain.rules.ruleset import RULES_VERSION, Ruleset
from domain.rules.shape import decode_command
from domain.rules.state import State, canonical_form, state_hash

__all__ = [
    "RULES_VERSION",
    "AnyCommand",
    "AnyEvent",
    "Command",
    "CommandMeta",
    "Event",
    "Options",
    "Payment",
    "Quote",
    "Refusal",
    "Ruleset",
    "State",
    "canonical_form",
    "decide",
    "decode_command",
    "evolve",
    "fold",
    "options",
    "quote",
    "state_hash",
]
