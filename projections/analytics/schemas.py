"""The tables: what a row of each is, and every column with its type, unit and meaning.

docs/tables.md is generated from this file. A table whose columns change gets another version; columns are added, never
renamed, dropped or given another meaning, so that old and new files are read together.
"""

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa
from msgspec import Struct

_DICTIONARY = pa.dictionary(pa.int32(), pa.string())

_ARROW = {
    "text": pa.string(),
    "word": _DICTIONARY,
    "words": pa.list_(pa.string()),
    "flag": pa.bool_(),
    "small": pa.int8(),
    "count": pa.int32(),
    "amount": pa.int64(),
    "time": pa.timestamp("us", tz="UTC"),
}
"""By what a column holds: text, a text that many rows share, several texts, true or false, a number from 0 to 100, a
number in a match, a number of any size (within ±(2^53 - 1)), a moment.
"""


class Column(Struct, frozen=True, dict=True):
    """A column: its name, what it holds, and what that means. `version` is that of the table that first had it."""

    name: str
    holds: str
    unit: str
    meaning: str
    version: int = 1

    @property
    def arrow(self) -> pa.DataType:
        """Its type in Arrow."""
        return _ARROW[self.holds]


class Table(Struct, frozen=True, dict=True):
    """A table: what a row of it is, and the columns that tell a row from every other one.

    Its first column is the match, unless a row is of a whole run.
    """

    name: str
    row: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    version: int = 1

    @cached_property
    def arrow(self) -> pa.Schema:
        """The schema of its files."""
        return pa.schema([pa.field(column.name, column.arrow) for column in self.columns])


def _columns(*told: tuple[str, str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*each) for each in told)


_MATCH = ("match", "word", "", "The match's name: every table has it, and they join by it.")
_ENTRY = ("entry", "count", "entry", "The entry in which it happened, from 1.")
_TURN = ("turn", "count", "turn", "The turn in which it happened, from 1; 0 before the first.")
_PLAYER = ("player", "word", "", "The player, as commands name them.")
_SOUL = ("soul", "count", "", "The Soul's number in its match, from 1.")
_RANK = "0 to 3 (S-1)"

RUNS = Table(
    "runs",
    "A run of the simulator, of which matches are here.",
    ("run",),
    _columns(
        ("run", "word", "", "The run's name: `run-` and its seed."),
        ("seed", "text", "", "Its seed, in decimal digits: it may be greater than engines' integers."),
        ("simulator", "count", "", "The version of the simulator."),
        ("generator", "text", "", "Where chance came from, with its version."),
        ("decks", "words", "", "The deck of each seat, or `any`; null where the matches came by way of a record."),
        ("policies", "words", "", "The policy of each seat, or `any`; null likewise."),
        ("options", "text", "", "All options of the run, as JSON, its own decks among them; null likewise."),
    ),
)

MATCHES = Table(
    "matches",
    "A match, as it stood in its last entry.",
    ("match",),
    _columns(
        ("match", "word", "", "Its name."),
        ("run", "word", "", "The run that it was simulated in; null for a match that was played."),
        ("number", "count", "", "Its number in the run, from 1; null likewise."),
        ("status", "word", "", "`running` or `ended`."),
        ("winner", "word", "", "The player who won; null while it runs, and for a draw (L-4, L-7)."),
        ("reason", "word", "", "Why it ended: `L-4`, or as the game or a judge said, if so; null while it runs."),
        ("players", "small", "player", "How many sat down, 2 to 16."),
        ("first", "word", "", "The player who had the first turn; null before it."),
        ("turns", "count", "turn", "How many turns began."),
        ("entries", "count", "entry", "How many entries it has."),
        ("events", "count", "event", "How many events it has."),
        ("souls", "count", "Soul", "How many Souls there were in it (C-1, C-9, J-2)."),
        ("payments", "count", "payment", "How many costs were paid in it (P-1)."),
        ("rifts", "count", "Rift", "How many Rifts opened in it (R-2)."),
        ("began_at", "time", "", "The `meta.at` of its first command, if that had one."),
        ("last_at", "time", "", "The `meta.at` of its last command, if that had one."),
        ("rules", "small", "", "The version of the rules that it is played by."),
        ("starting_life", "count", "life", "Of its ruleset (L-1)."),
        ("soulburn_per_power", "count", "life a level", "Of its ruleset (B-1)."),
        ("sealed_bonus", "small", "rank", "Of its ruleset (C-7)."),
        ("release_rank", "small", "rank", "Of its ruleset (C-9)."),
        ("rift_min_rank", "small", "rank", "Of its ruleset (R-3)."),
        ("souls_on_leaving", "word", "", "Of its ruleset: `return` or `lost` (A-6)."),
        ("overpay", "word", "", "Of its ruleset: `needed`, `any` or `least` (P-5)."),
        ("private", "flag", "", "Whether commitments stand for its players' names."),
        ("origin_match", "word", "", "Of a fork: the match that it comes from."),
        ("origin_entry", "amount", "entry", "Of a fork: after which entry of that."),
        ("root", "text", "", "The root of the Merkle tree over the lines of its entries, in hexadecimal (RFC 6962)."),
    ),
)

PLAYERS = Table(
    "players",
    "A player of a match, and what that player did in it.",
    ("match", "player"),
    _columns(
        _MATCH,
        _PLAYER,
        ("seat", "small", "", "The place in the match's order, from 0."),
        ("name", "word", "", "The name for display, if one was given; in a private match a commitment."),
        ("deck", "word", "", "The deck, in a simulated match."),
        ("policy", "word", "", "The policy, in a simulated match."),
        ("result", "word", "", "`won`, `lost`, `drawn`, or `running`."),
        ("began", "flag", "", "Whether the first turn was this player's."),
        ("life", "amount", "life", "Life at the end, or now. It may be below zero (L-2)."),
        ("defeated", "word", "", "What defeated the player: `life`, `concede` or `ruling` (L-3); null if nothing did."),
        ("collected", "count", "Soul", "Souls of creatures that the player controlled when they were destroyed (C-1)."),
        ("spent", "count", "Soul", "Souls that the player consumed (P-4)."),
        ("paid", "count", "power", "What they paid for: the sum of all costs (P-1)."),
        ("burned_overpay", "amount", "life", "Life that overpaying took (B-2)."),
        ("burned_fizzle", "amount", "life", "Life that fizzling took (B-3)."),
        ("burned_rift", "amount", "life", "Life that unused ranks of Rifts took (B-4)."),
        ("wasted", "count", "power", "Power levels that burned, of every source (B-1)."),
        ("rifts_1", "count", "Rift", "Rifts of rank 1 that the player opened."),
        ("rifts_2", "count", "Rift", "Of rank 2."),
        ("rifts_3", "count", "Rift", "Of rank 3."),
    ),
)

ENTRIES = Table(
    "entries",
    "An entry: a command that was accepted. With these a match can be played again.",
    ("match", "entry"),
    _columns(
        _MATCH,
        ("entry", "count", "", "Its number in the match, from 1."),
        ("turn", "count", "turn", "The turn in which it happened, from 1; 0 before the first."),
        ("type", "word", "", "What kind of command."),
        ("player", "word", "", "Who did it, as far as the command says: its `player`, `by` or `controller`."),
        ("events", "count", "event", "How many events it made."),
        ("actor", "word", "", "Who sent it (`meta.actor`), if that was told."),
        ("sent_at", "time", "", "When, by the sender's clock (`meta.at`), if that was told."),
        ("command", "text", "", "The command as it was recorded: canonical JSON."),
    ),
)

EVENTS = Table(
    "events",
    "An event, with those of its fields that many events have; other tables have the rest.",
    ("match", "n"),
    _columns(
        _MATCH,
        ("n", "count", "", "Its number in the match, from 1: the order of play."),
        _ENTRY,
        _TURN,
        ("type", "word", "", "What kind of event."),
        (
            "player",
            "word",
            "",
            "Whom it is about: the `player`, the one `by` whom, a controller, or the winner.",
        ),
        ("card", "word", "", "The card."),
        ("soul", "count", "", "The Soul's number."),
        ("payment", "count", "", "The payment's number."),
        ("rift", "count", "", "The Rift's number."),
        ("rank", "small", "rank", "Of the card, Soul or Rift; of `rift_closed` the highest that came through."),
        (
            "power",
            "count",
            "power",
            "Of `cost_paid` all its Souls' power; of `soulburn_taken`, `rift_closed` what burned.",
        ),
        ("delta", "amount", "life", "How this event changed life; what a ruling changed stands in `life`."),
        ("life", "amount", "life", "The life that this left; likewise."),
        (
            "detail",
            "word",
            "",
            "A cause, reason, effect or other cost; where a card went, or from whom; a definition, a rule, the Event.",
        ),
    ),
)

SOULS = Table(
    "souls",
    "A Soul, its whole life.",
    ("match", "soul"),
    _columns(
        _MATCH,
        _SOUL,
        ("entry", "count", "entry", "The entry in which it came."),
        ("turn", "count", "turn", "The turn in which it came; 0 before the first."),
        ("rank", "small", "rank", f"The rank that it came with, {_RANK}."),
        ("source", "word", "", "How it came: `creature` (C-1), `effect` (C-9) or `ruling` (J-2)."),
        ("creature", "word", "", "The card that was destroyed."),
        ("definition", "word", "", "Which card of the card pool that was."),
        ("controller", "word", "", "Who controlled it; of an effect, who released the Soul, if that was told."),
        ("creature_rank", "small", "rank", "The creature's own rank; null counts as 0 (C-4)."),
        ("sealed", "flag", "", "Whether it was Sealed (C-7); null if there was no creature."),
        ("modifiers", "amount", "rank", "The sum of all modifiers, Sealed among them (C-7, C-8), before C-3."),
        ("cause", "word", "", "As the game or the judge gave it."),
        ("reaped", "count", "", "How often it was reaped onto a card (A-1)."),
        ("returned", "count", "", "How often it came back from one (A-4, A-6)."),
        ("stolen", "count", "", "How often control of its card changed while it was there (A-3)."),
        ("last_rank", "small", "rank", "The rank that it has, or had last: another one by a ruling only."),
        ("fate", "word", "", "`aether` or `card`: it is there still; `spent` (P-4); `lost` (A-6, or by a ruling)."),
        ("end_entry", "count", "entry", "The entry in which it was spent or lost."),
        ("end_turn", "count", "turn", "The turn in which it was."),
        ("payment", "count", "", "The payment that consumed it."),
        ("player", "word", "", "Who spent it."),
    ),
)

SOUL_MOVES = Table(
    "soul_moves",
    "Something that happened to a Soul: a place that it came to, or left for good.",
    ("match", "soul", "n", "part"),
    _columns(
        _MATCH,
        _SOUL,
        ("n", "count", "", "The number of the event."),
        ("part", "count", "", "The place in a ruling's corrections, from 0."),
        _ENTRY,
        _TURN,
        (
            "step",
            "word",
            "",
            "It came to `aether` or `card`; its card's `control` changed; `spent`; `lost`; another `rank` by a ruling.",
        ),
        ("came_from", "word", "", "Where it was before: `new`, `aether` or `card`."),
        ("card", "word", "", "The card that it came to, or is on (`control`)."),
        ("player", "word", "", "Who can use it there alone (A-2); of `spent`, who spent it."),
        ("payment", "count", "", "The payment that consumed it."),
        ("rank", "small", "rank", f"The rank that it has from then on, {_RANK}."),
    ),
)

PAYMENTS = Table(
    "payments",
    "A cost that was paid with Souls.",
    ("match", "payment"),
    _columns(
        _MATCH,
        ("payment", "count", "", "Its number in the match, from 1."),
        _ENTRY,
        _TURN,
        _PLAYER,
        ("kind", "word", "", "What for: an `effect`, another `cost`, or a `rift`."),
        ("effect", "word", "", "The effect that was paid for."),
        ("cost", "word", "", "What else was paid for."),
        ("source", "word", "", "Where the cost came from, as the game told."),
        ("rift", "count", "", "The Rift that it opened; null also if none opened (R-9)."),
        ("amount", "count", "power", "The cost: Soulrift N (P-1)."),
        ("power", "count", "power", "What the Souls had together: N or more."),
        ("souls", "count", "Soul", "How many."),
        ("from_cards", "count", "Soul", "How many of them lay on cards (A-2)."),
        (
            "outcome",
            "word",
            "",
            "`resolved`, `fizzled`, `open` (E-1); `settled` at once (E-2); `closed` by a ruling.",
        ),
        ("end_entry", "count", "entry", "The entry in which its effect resolved or fizzled, or a ruling closed it."),
        ("reason", "word", "", "Why it fizzled or was closed, if that was told."),
        ("burned", "amount", "life", "Life that its overpay and its fizzling took (B-2, B-3)."),
        ("least_burn", "amount", "life", "What overpaying alone (B-2) had to take at least, at that moment."),
        ("wasted", "count", "power", "Its power levels that burned (B-2, B-3), and those of its Rift (B-4)."),
    ),
)

SOULBURNS = Table(
    "soulburns",
    "A Soulburn, with its arithmetic: (`whole` - `used`) x `per_power` = `damage`.",
    ("match", "n"),
    _columns(
        _MATCH,
        ("n", "count", "", "The number of the event."),
        _ENTRY,
        _TURN,
        _PLAYER,
        ("source", "word", "", "`overpay`, `fizzle` or `rift`."),
        ("rule", "word", "", "`B-2`, `B-3` or `B-4`."),
        ("whole", "count", "power", "The power paid (B-2), the cost (B-3), or the Rift's rank (B-4)."),
        ("used", "count", "power", "The cost (B-2), 0 (B-3), or the highest rank that came through (B-4)."),
        ("power", "count", "power", "The level: `whole` - `used`."),
        ("per_power", "count", "life a level", "Of the ruleset (B-1)."),
        ("damage", "amount", "life", "The life that it took, 0 or more."),
        ("life", "amount", "life", "The life that it left."),
        ("payment", "count", "", "The payment that burned; null for `rift`."),
        ("rift", "count", "", "The Rift whose ranks burned; null for the others."),
    ),
)

RIFTS = Table(
    "rifts",
    "A Rift that opened.",
    ("match", "rift"),
    _columns(
        _MATCH,
        ("rift", "count", "", "Its number in the match, from 1."),
        _ENTRY,
        _TURN,
        _PLAYER,
        ("rank", "small", "rank", "Its rank, 1 to 3 (R-2)."),
        ("payment", "count", "", "The payment for it."),
        ("power", "count", "power", "The power paid."),
        ("summoned", "count", "creature", "How many came through."),
        ("highest", "small", "rank", "The highest rank among them, or as a judge said; 0: none, or rank 0 only (B-4)."),
        ("unused", "small", "rank", "Its rank less that; null while open. Of `ended` and `ruled` none of it burned."),
        ("outcome", "word", "", "`open`; `closed` by its player (R-4); `ended` (R-10); `ruled` closed by a judge."),
        ("end_entry", "count", "entry", "The entry in which it closed."),
        ("burned", "amount", "life", "Life that its unused ranks took (B-4)."),
    ),
)

SUMMONS = Table(
    "summons",
    "A creature that came through a Rift.",
    ("match", "n"),
    _columns(
        _MATCH,
        ("n", "count", "", "The number of the event."),
        _ENTRY,
        _TURN,
        ("rift", "count", "", "The Rift's number."),
        _PLAYER,
        ("card", "word", "", "The creature."),
        ("definition", "word", "", "Which card of the card pool it is."),
        ("rank", "small", "rank", "Its rank; null: none."),
        ("rift_rank", "small", "rank", "The Rift's."),
    ),
)

CARDS = Table(
    "cards",
    "A stay of a card on the battlefield, from when it came to when it left.",
    ("match", "n"),
    _columns(
        _MATCH,
        ("n", "count", "", "The number of the event by which it came."),
        _ENTRY,
        _TURN,
        ("card", "word", "", "Its name; it may come again under the same one."),
        ("name", "word", "", "The name for display, if there is one."),
        ("definition", "word", "", "Which card of the card pool it is."),
        ("kind", "word", "", "`creature` or `other`."),
        ("deck", "word", "", "`main` or `extra`."),
        ("rank", "small", "rank", "The rank that it had last; null: none."),
        ("soulless", "flag", "", "Whether it was Soulless at the end (C-2)."),
        ("sealed", "flag", "", "Whether it was Sealed at the end (C-7)."),
        ("owner", "word", "", "Whose it is."),
        ("player", "word", "", "Who controlled it first."),
        ("last_controller", "word", "", "Who controlled it last."),
        ("rift", "count", "", "The Rift that it came through."),
        ("reaped", "count", "Soul", "How many Souls were reaped onto it (A-1)."),
        ("held", "count", "Soul", "How many lay on it at the end."),
        ("fate", "word", "", "`there` still, `destroyed`, or `left`."),
        ("end_entry", "count", "entry", "The entry in which it was destroyed, or left."),
        ("end_turn", "count", "turn", "The turn in which it was."),
        ("done_by", "word", "", "The player who did it, if that was told."),
        ("detail", "word", "", "The cause of its destruction, or where it went."),
        ("soul", "count", "", "The Soul that it gave (C-1)."),
    ),
)

LIFE = Table(
    "life",
    "A change of a player's life; the first rows are what everybody starts with (L-1).",
    ("match", "n", "part"),
    _columns(
        _MATCH,
        ("n", "count", "", "The number of the event."),
        ("part", "count", "", "The seat (L-1), or the place in a ruling's corrections, from 0."),
        _ENTRY,
        _TURN,
        _PLAYER,
        ("delta", "amount", "life", "By how much."),
        ("life", "amount", "life", "The life that this left. It may be below zero (L-2)."),
        ("cause", "word", "", "`start`, `overpay`, `fizzle`, `rift`, `change` (what the game reports, L-2), `ruling`."),
        ("rule", "word", "", "The rule: `L-1`, `B-2`, `B-3`, `B-4`, `L-2`, `J-1`."),
        ("reason", "word", "", "As the game or the judge gave it."),
        ("payment", "count", "", "The payment that burned."),
        ("rift", "count", "", "The Rift whose ranks burned."),
    ),
)

TABLES = (
    RUNS,
    MATCHES,
    PLAYERS,
    ENTRIES,
    EVENTS,
    SOULS,
    SOUL_MOVES,
    PAYMENTS,
    SOULBURNS,
    RIFTS,
    SUMMONS,
    CARDS,
    LIFE,
)
"""All of them; `runs` alone is not made of the rows of one match after the other."""


def of_matches() -> Iterator[Table]:
    """The tables that every match has its rows in."""
    return iter(TABLES[1:])
