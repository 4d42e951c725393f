"""The golden corpus: recorded matches by which every version of the rules is held fixed for ever."""

import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import chain, product
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest
from msgspec import UnsetType

from domain.entry import Entry
from domain.rules import commands as c
from domain.rules import events as e
from domain.rules import versions
from domain.rules.ruleset import ChosenRuleset, Ruleset
from domain.rules.state import State
from domain.rules.versions import RULES, Rules
from replays.files import DamagedFileError, opened
from replays.reading import Reader
from replays.stepping import entry_of
from replays.verify import verify, verify_file
from tests.determinism import ENDS, ODD_NAMES, OVERPAY
from tests.golden import make_corpus
from tests.golden.make_corpus import corpus

HASHES = {1: "832d48b3a2d0f9da7bcfda40da3630e9ac86e4e31c94f3d722e26652bcb834ba"}
"""By version, the SHA-256 of its corpus when it was made."""

VERSIONS = sorted(int(path.name.split(".")[0].removeprefix("rules-")) for path in make_corpus.FOLDER.glob("rules-*"))

WHAT_TO_DO = """\

{name} is not re-executed byte for byte by version {version} of the rules.

Either this is a bug: then mend it. Or the rules, the state, its hash or an event have changed on purpose: then they
have another version, and matches that began under version {version} still go by the old one. Keep the old modules
under a name of their own and version {version} callable in domain/rules/versions.py, raise RULES_VERSION, add the new
version to RULES, and make its own corpus: python -m tests.golden.make_corpus. Never make {name}
anew: it is the promise that recorded matches stay what they were.

{found}"""


class Played:
    """A match of the corpus: its name and its entries."""

    def __init__(self, match: str, entries: list[Entry]) -> None:
        self.match = match
        self.entries = entries
        self.lines = [entry.line for entry in entries]
        self.commands: list[Any] = [json.loads(entry.command_json) for entry in entries]
        self.events: list[list[Any]] = [[json.loads(event) for event in entry.event_jsons] for entry in entries]

    @property
    def ruleset(self) -> dict[str, Any]:
        """The complete one."""
        found: dict[str, Any] = self.events[0][0]["ruleset"]
        return found


def read(version: int) -> list[Played]:
    with opened(corpus(version)) as file:
        return [
            Played(recording.match, [entry_of(found.content) for found in recording.lines()])
            for recording in Reader(file).recordings()
        ]


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: f"rules {version}")
def version(request: pytest.FixtureRequest) -> int:
    chosen: int = request.param
    return chosen


@pytest.fixture(scope="module")
def matches(version: int) -> list[Played]:
    return read(version)


def problems(version: int) -> Iterator[str]:
    """What is wrong with the corpus of a version, or with what the rules make of it; and what is to be done then."""
    for verified in verify_file(corpus(version)):
        if verified.verdict != "exact":
            found = json.dumps(msgspec.to_builtins(verified), ensure_ascii=False, indent=2)
            yield WHAT_TO_DO.format(name=corpus(version).name, version=version, found=found)


def test_every_version_of_the_rules_has_its_corpus() -> None:
    """No version of the rules is without recorded matches that hold it fixed."""
    assert sorted(RULES) == VERSIONS


def test_corpus_is_the_one_that_was_made(version: int) -> None:
    """A corpus is never made anew: its file is held by its hash."""
    assert sha256(corpus(version).read_bytes()).hexdigest() == HASHES[version]


def test_every_match_is_exact(version: int) -> None:
    """Each recorded match re-executes byte for byte, under the version of the rules that recorded it."""
    found = list(problems(version))
    if found:
        pytest.fail(f"{found[0]}\n\nThis is the first of {len(found)} like it.", pytrace=False)


def test_every_match_is_of_this_version(version: int, matches: list[Played]) -> None:
    """There are 200 matches or more, all of them by this version of the rules, each with a name of its own."""
    assert len(matches) >= 200
    assert {played.events[0][0]["rules"] for played in matches} == {version}
    assert len({played.match for played in matches}) == len(matches)


# ------------------------------------------------------------ that it is noticed


def test_changed_rules_are_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that burn a little less are noticed, and what is told says how the old ones are to be kept."""

    def milder(state: State, command: c.AnyCommand) -> tuple[e.AnyEvent, ...]:
        return tuple(
            [
                msgspec.structs.replace(event, damage=event.damage - 1, life=event.life + 1)
                if isinstance(event, e.SoulburnTaken) and event.rule == "B-4"
                else event
                for event in RULES_1.decide(state, command)
            ]
        )

    RULES_1 = versions.RULES[1]  # noqa: N806 - it is one
    monkeypatch.setitem(versions.RULES, 1, Rules(milder, RULES_1.fold))
    first = next(problems(1))
    for words in ("bug", "domain/rules/versions.py", "make_corpus", "Never make rules-1", '"diverged"', "/damage"):
        assert words in first


def test_changed_state_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another state hash is noticed, though every event is as it was."""
    monkeypatch.setattr("domain.entry.state_hash", lambda state: f"{state.entries:064}")
    assert '"damaged"' in next(problems(1))


@pytest.mark.parametrize("part", range(40))
def test_no_compressed_byte_can_change(version: int, part: int, tmp_path: Path) -> None:
    """A flipped bit, anywhere in the file, is noticed before anything of it is believed."""
    content = bytearray(corpus(version).read_bytes())
    content[(len(content) - 1) * part // 39] ^= 1 << part % 8
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(DamagedFileError), opened(path) as file:
        file.read()


def test_no_byte_of_a_line_can_change(version: int) -> None:
    """Every other value of a byte, tried on each byte of a short match, is damage or a divergence."""
    with opened(corpus(version)) as file:
        recording = next(found for found in Reader(file).recordings() if found.match.startswith("E-3"))
        body = [found.content for found in recording.lines()]
        assert recording.end is not None
        content = b"".join(line + b"\n" for line in (recording.header.content, *body, recording.end[1].content))
    assert [verified.verdict for verified in verify(io.BytesIO(content))] == ["exact"]
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        assert {verified.verdict for verified in verify(io.BytesIO(changed))} != {"exact"}, place


# ------------------------------------------------------------ other records of the same


def test_examples_are_as_the_golden_stores_have_them(matches: list[Played]) -> None:
    """The matches of the examples have the lines that stand in the golden store, which was written before."""
    golden: dict[str, list[bytes]] = {}
    for told in (make_corpus.FOLDER / "store-1.lines").read_bytes().splitlines():
        match, line = told.split(b"\t", 1)
        golden.setdefault(match.decode(), []).append(line)
    recorded = {played.match: played.lines for played in matches}
    assert sorted(golden) == sorted(path.stem for path in make_corpus.EXAMPLES.glob("*.jsonl"))
    assert {match: recorded[match] for match in golden} == golden


def test_published_scripts_come_out_as_published(matches: list[Played]) -> None:
    """The matches of the published scripts have the events and, in the end, the state hashes that were published."""
    recorded = {played.match: played for played in matches}
    for published in make_corpus.PUBLISHED.read_text("utf-8").splitlines():
        vector = json.loads(published)
        played = recorded[vector["script"][0]["match"]]
        assert played.entries[-1].state_hash == vector["expect"]["state"]["state_hash"]
        assert sum(map(len, played.events)) == len(vector["expect"]["events"])


# ------------------------------------------------------------ coverage

Seen = set[tuple[str, str, Any]]
"""Values of fields: (type, field, value), where the value is a boolean, a literal, null, "there" or "left out"."""

NEVER: dict[str, set[tuple[str, Any]]] = {
    "card_entered": {("sealed", True)},
    "creature_summoned": {("kind", "other"), ("sealed", True), ("rank", None)},
    "creature_destroyed": {("kind", "other")},
    "card_destroyed": {("kind", "creature"), ("rank", "there"), ("sealed", True), ("soulless", True)},
    "rift": {("close", False)},
    "start_match": {("match", "left out")},
    "summon": {("deck", "extra")},
}
"""What the rules or the wire format leave no room for."""

LATER: Seen = {
    (tag, "private", value) for tag in ("start_match", "match_started") for value in (True, "there")
}  # tests/unit/test_privacy.py
"""What came after the corpus was made, which is not made anew; it is held fixed where it is said here."""


def wanted(tag: str, struct: Any) -> Seen:
    """What the fields of a struct can be, but for what never comes: each must occur."""
    found: Seen = set()
    for field in msgspec.structs.fields(struct):
        kinds = get_args(field.type) or (field.type,)
        literals = [value for kind in (field.type, *kinds) if get_origin(kind) is Literal for value in get_args(kind)]
        values: set[Any] = {*literals, *((True, False) if bool in kinds else ())}
        if type(None) in kinds and not (issubclass(struct, c.Part) and field.default is None):
            values.add(None)
        if not field.required:
            values = {*values, "left out"} - {field.default}
        found |= {(tag, field.encode_name, value) for value in values or {"there"}}
        found |= {(tag, field.encode_name, "there")}
    return found - {(tag, field, value) for field, value in NEVER.get(tag, ())}


def seen(tag: str, struct: Any, value: dict[str, Any]) -> Seen:
    """What the fields of an object are."""
    found: Seen = set()
    for field in msgspec.structs.fields(struct):
        name = field.encode_name
        there = value.get(name, "left out")
        found.add((tag, name, there if isinstance(there, str | bool | None) else "there"))
        if there is not None and there != "left out":
            found.add((tag, name, "there"))
    return found


def parts(command: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """The objects within a command, each with its struct and a name for it."""
    tag = command["type"]
    yield tag, _COMMANDS[tag], command
    for field, struct in (("meta", c.CommandMeta), ("origin", c.Origin), ("ruleset", ChosenRuleset)):
        if field in command:
            yield field, struct, command[field]
    for field, each in (("players", c.NewPlayer), ("modifiers", c.NamedModifier), ("changes", c.LifeChange)):
        for part in command.get(field, ()):
            yield field, each, part
    for correction in command.get("corrections", ()):
        ((kind, change),) = correction.items()
        yield kind, _CORRECTIONS[kind], change


_COMMANDS: dict[str, Any] = {c.tag_of(struct.__name__): struct for struct in get_args(c.AnyCommand)}
_EVENTS: dict[str, Any] = {c.tag_of(struct.__name__): struct for struct in get_args(e.AnyEvent)}
_CORRECTIONS: dict[str, Any] = {
    field.name: next(kind for kind in get_args(field.type) if kind is not UnsetType)
    for field in msgspec.structs.fields(c.Correction)
}
_PARTS: dict[str, Any] = {
    **_COMMANDS,
    **_CORRECTIONS,
    "meta": c.CommandMeta,
    "origin": c.Origin,
    "ruleset": ChosenRuleset,
    "players": c.NewPlayer,
    "modifiers": c.NamedModifier,
    "changes": c.LifeChange,
}


def test_every_field_of_every_command_is_there(matches: list[Played]) -> None:
    """Each command, each of its parts and each kind of correction: every field is sent, and left out if it can be."""
    found: Seen = set()
    for played in matches:
        for command in played.commands:
            for tag, struct, value in parts(command):
                found |= seen(tag, struct, value)
    assert set().union(*(wanted(tag, struct) for tag, struct in _PARTS.items())) - LATER - found == set()


def test_every_field_of_every_event_is_there(matches: list[Played]) -> None:
    """Each event type occurs, with every literal and boolean, and null where it can be null and a value where not."""
    found: Seen = set()
    for played in matches:
        for event in chain.from_iterable(played.events):
            found |= seen(event["type"], _EVENTS[event["type"]], event)
    assert set().union(*(wanted(tag, struct) for tag, struct in _EVENTS.items())) - LATER - found == set()


# ------------------------------------------------------------ the ruleset


def test_every_combination_of_the_ends_of_a_ruleset_is_played(matches: list[Played]) -> None:
    """Each value of `overpay` with each end of each other field, in all combinations; and the book's own ruleset."""
    fields = ("overpay", *ENDS)
    assert set(fields) == set(Ruleset.__struct_fields__)
    chosen = {tuple(played.ruleset[field] for field in fields) for played in matches}
    assert set(product(OVERPAY, *ENDS.values())) - chosen == set()
    assert tuple(getattr(Ruleset(), field) for field in fields) in chosen


@pytest.mark.parametrize(("field", "end"), [(field, end) for field, ends in ENDS.items() for end in ends])
def test_ends_are_those_of_the_ruleset(field: str, end: Any) -> None:
    """A ruleset may have each of these values, and of numbers none beyond them."""
    msgspec.convert({field: end}, ChosenRuleset)
    if not isinstance(end, str):
        beyond = end + (1 if end == max(ENDS[field]) else -1)
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({field: beyond}, ChosenRuleset)


class Told:
    """An entry as it is recorded, with the ruleset of its match."""

    def __init__(self, ruleset: dict[str, Any], command: dict[str, Any], events: list[dict[str, Any]]) -> None:
        self.ruleset = ruleset
        self.command = command
        self.kind: str = command["type"]
        self.events = events
        self.kinds = [event["type"] for event in events]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Its events of this type."""
        return [event for event in self.events if event["type"] == kind]

    def has(self, kind: str, **fields: Any) -> bool:
        """Whether it has such an event."""
        return any(fields.items() <= event.items() for event in self.of(kind))

    @property
    def excess(self) -> list[int]:
        """By how much the payment goes beyond the amount, and the powers of its Souls."""
        return [
            part
            for paid in self.of("cost_paid")
            for part in (paid["power"] - paid["amount"], *map(power, paid["souls"]))
        ]

    @property
    def falls(self) -> int:
        """How many fall in it."""
        return len(self.of("player_defeated"))


def power(soul: dict[str, int]) -> int:
    return soul["power"]


SHOWS: dict[str, Callable[[Told], bool]] = {
    "overpay needed: a Soul beyond the amount": lambda t: t.ruleset["overpay"] == "needed" and t.excess[:1] > [0],
    "overpay any: a Soul that is not needed": lambda t: bool(t.excess) and t.excess[0] >= min(t.excess[1:]),
    "overpay least: the least there is": lambda t: t.ruleset["overpay"] == "least" and t.excess[:1] > [0],
    "release_rank 0": lambda t: t.kind == "release" and "rank" not in t.command and t.has("soul_released", rank=0),
    "release_rank 3": lambda t: t.kind == "release" and "rank" not in t.command and t.has("soul_released", rank=3),
    "rift_min_rank 0": lambda t: t.has("creature_summoned", rank=0),
    "sealed_bonus 0": lambda t: any(
        {"delta": 0, "name": "sealed"} in soul["modifiers"] for soul in t.of("soul_collected")
    ),
    "sealed_bonus 3": lambda t: any(
        {"delta": 3, "name": "sealed"} in soul["modifiers"] for soul in t.of("soul_collected")
    ),
    "soulburn_per_power 0": lambda t: t.has("soulburn_taken", damage=0),
    "soulburn_per_power 1000": lambda t: any(burn["damage"] >= 1000 for burn in t.of("soulburn_taken")),
    "starting_life 1: a last life": lambda t: (
        t.ruleset["starting_life"] == 1 and t.has("player_defeated", because="life")
    ),
    "starting_life 1000000": lambda t: any(life["life"] > 900_000 for life in t.of("life_changed")),
    "two corrections of a kind": lambda t: (
        len(t.command.get("corrections", [])) > len({*map(str, map(list, t.command.get("corrections", [])))})
    ),
    "A-4: Souls return from a destroyed creature": lambda t: t.has("creature_destroyed") and t.has("soul_returned"),
    "A-4: Souls return from another destroyed card": lambda t: t.has("card_destroyed") and t.has("soul_returned"),
    "A-6: Souls return from a card that leaves": lambda t: t.has("card_left") and t.has("soul_returned"),
    "A-6: Souls are lost with a card that leaves": lambda t: t.has("card_left") and t.has("soul_lost"),
    "C-2: a Soulless creature": lambda t: t.kind == "destroy" and t.has("creature_destroyed", soulless=True),
    "C-12: several at once, with Souls": lambda t: t.has("soul_returned") and t.kinds[:2] == ["creature_destroyed"] * 2,
    "P-2: Souls of a card and of the Aether": lambda t: (
        len({soul["card"] is None for paid in t.of("cost_paid") for soul in paid["souls"]}) > 1
    ),
    "B-2 for a Rift": lambda t: t.kind == "open_rift" and t.has("soulburn_taken", rule="B-2", rift=None),
    "B-2 takes the last life": lambda t: t.kind == "pay" and t.falls == 1,
    "B-3 takes the last life": lambda t: t.kind == "fizzle" and t.falls == 1,
    "B-4 takes the last life": lambda t: t.kind == "close_rift" and t.falls == 1,
    "B-4 in part": lambda t: any(
        0 < closed["burned"] < closed["burned"] + closed["highest"] for closed in t.of("rift_closed")
    ),
    "R-5: a Rift used to the full": lambda t: t.kind == "close_rift" and t.has("rift_closed", unused=0),
    "R-6: a Rift left empty": lambda t: t.kind == "close_rift" and t.has("rift_closed", highest=0),
    "R-9: no Rift": lambda t: t.kind == "open_rift" and t.falls == 1 and not t.has("rift_opened"),
    "R-10: its player is defeated": lambda t: (
        [*zip(t.kinds, t.kinds[1:], strict=False)].count(("player_defeated", "rift_closed")) > 0
        and not t.has("match_ended")
    ),
    "R-10: the match is over": lambda t: (
        [*zip(t.kinds, t.kinds[1:], strict=False)].count(("rift_closed", "match_ended")) > 0 and not t.falls
    ),
    "R-10: nothing burns": lambda t: (
        any(closed["burned"] < closed["unused"] for closed in t.of("rift_closed")) and not t.has("soulburn_taken")
    ),
    "E-1: the payer is defeated": lambda t: (
        t.kind == "fizzle" and "payment" in t.command and not t.has("soulburn_taken")
    ),
    "E-3: nothing was paid": lambda t: t.has("effect_fizzled", payment=None, player=None),
    "L-2: life beyond counting": lambda t: t.has("life_changed", life=c.MAX_INTEGER),
    "L-2: and below": lambda t: t.has("life_changed", life=-c.MAX_INTEGER),
    "L-4: several fall, one is left": lambda t: t.falls > 1 and any(end["winner"] for end in t.of("match_ended")),
    "L-4: several fall, and the match goes on": lambda t: t.falls > 1 and not t.has("match_ended"),
    "L-4: a draw": lambda t: t.falls > 1 and t.has("match_ended", winner=None, reason="L-4"),
    "L-4: a concession": lambda t: t.kind == "concede" and not t.has("match_ended"),
    "L-4: the last concession": lambda t: t.kind == "concede" and t.has("match_ended"),
    "L-7: with a winner": lambda t: t.kind == "end_match" and "winner" in t.command,
    "L-7: without one": lambda t: t.kind == "end_match" and t.has("match_ended", winner=None),
    "J-1: a match goes on again": lambda t: {"result": {"status": "running"}} in t.command.get("corrections", []),
    "J-2: a Soul is gone": lambda t: any(
        kind.get("soul", {}).get("to") == "gone" for kind in t.command.get("corrections", [])
    ),
    "J-3: several fall by a ruling": lambda t: t.kind == "ruling" and t.falls > 1,
    "J-3: a ruling ends the match": lambda t: t.kind == "ruling" and t.has("match_ended"),
}
"""What must come in the corpus, at least once each."""


def test_what_the_rules_provide_for_comes(matches: list[Played]) -> None:
    """Each end of the ruleset takes effect, and each turn that the rules can take is taken at least once."""
    told = [
        Told(played.ruleset, command, events)
        for played in matches
        for command, events in zip(played.commands, played.events, strict=True)
    ]
    assert [name for name, shows in SHOWS.items() if not any(map(shows, told))] == []


def test_every_kind_of_correction_in_every_form(matches: list[Played]) -> None:
    """Souls are moved and made wherever they can be; Rifts are corrected and closed; results of every kind are set."""
    corrections = [
        correction for played in matches for command in played.commands for correction in command.get("corrections", ())
    ]
    assert {kind for correction in corrections for kind in correction} == set(c.Correction.__struct_fields__)
    forms = {
        (kind, field, "card" if isinstance(value, dict) else value if field in {"to", "status"} else "")
        for correction in corrections
        for kind, change in correction.items()
        for field, value in change.items()
    }
    assert forms >= {
        *(("soul", "to", "aether"), ("soul", "to", "gone"), ("soul", "to", "card")),
        *(("new_soul", "to", "aether"), ("new_soul", "to", "card")),
        *(("rift", "close", ""), ("rift", "highest", "")),
        *(("result", "status", "running"), ("result", "status", "ended"), ("result", "winner", "")),
    }


def test_two_to_four_players_and_sixteen(matches: list[Played]) -> None:
    """Two, three and four players have 40 matches and more each; sixteen, the most there can be, have one."""
    seats = Counter(len(played.commands[0]["players"]) for played in matches)
    assert min(seats[2], seats[3], seats[4]) >= 40
    assert seats[16] >= 1


def test_odd_names(matches: list[Played]) -> None:
    """Every odd name is that of a player and of a card; names and texts are as long as they may be."""
    events = [event for played in matches for event in chain.from_iterable(played.events)]
    players = {seat["player"] for event in events if event["type"] == "match_started" for seat in event["players"]}
    cards = {event["card"]: event["definition"] for event in events if event["type"] == "card_entered"}
    assert players >= set(ODD_NAMES)
    assert cards.keys() >= set(ODD_NAMES[2:])
    assert max(len(card.encode("utf-16-le")) for card in cards) > 2 * 64 == 2 * max(map(len, cards))
    assert max(len(definition or "") for definition in cards.values()) == 500


# ------------------------------------------------------------ how it is made


def test_it_is_not_made_anew() -> None:
    """The generator leaves a corpus that is there as it is, and says so."""
    before = corpus(max(VERSIONS)).read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden.make_corpus"],
        cwd=make_corpus.FOLDER.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.endswith(" is there already; what was written once is not written anew\n")
    assert corpus(max(VERSIONS)).read_bytes() == before
