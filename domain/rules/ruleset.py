"""The ruleset: the points in which a match may be started otherwise than the rule book has them."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

RULES_VERSION = 1


class Ruleset(Struct, frozen=True, kw_only=True, gc=False):
    """A match's ruleset, the rule book's own values as defaults. The order of the fields is the canonical one."""

    overpay: Literal["needed", "any", "least"] = "needed"
    """P-5: no Soul superfluous; no check; or no more power than this player's least."""
    release_rank: Annotated[int, Meta(ge=0, le=3)] = 0
    """C-9: the rank of a released Soul when none is named, 0 to 3."""
    rift_min_rank: Annotated[int, Meta(ge=0, le=1)] = 1
    """R-3: the lowest rank that a Rift lets through, 0 or 1."""
    sealed_bonus: Annotated[int, Meta(ge=0, le=3)] = 1
    """C-7: what Sealed adds to a Soul's rank, 0 to 3."""
    soulburn_per_power: Annotated[int, Meta(ge=0, le=1000)] = 3
    """B-1: life lost for each point of Soulburn's power level, 0 to 1,000."""
    souls_on_leaving: Literal["return", "lost"] = "return"
    """A-6: what becomes of the Souls on a card that leaves without being destroyed."""
    starting_life: Annotated[int, Meta(ge=1, le=1_000_000)] = 30
    """L-1: every player's life at the start, 1 to 1,000,000."""


class ChosenRuleset(Ruleset, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The ruleset as a command names it: fields at the rule book's value are left out, unknown ones refused."""

    def complete(self) -> Ruleset:
        """The same ruleset with every field written out."""
        return Ruleset(**msgspec.structs.asdict(self))
