"""The cheater's kit: what somebody with a record in hand may try, and which verdict meets it.

The cheater has the record, this program, and every checkpoint that was handed out; not the server's key.
"""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from replays.checkpoints import parse_checkpoint
from replays.evidence import Evidence, Opened, Trust, judge_extension
from replays.keyring import KnownKey
from replays.merkle import ProvingTree, extends, leaf_hash
from replays.verdicts import gravest
from replays.verify import Verified, verify
from tests.evidence import ANOTHER_STORE, CHEATER, IMPOSTOR, SERVER, Signer, evidence, note, pinned, signed, text_of
from tests.recordings import (
    DUEL,
    LIFE_CHANGED,
    RUNNING,
    archive_of,
    duel,
    file_of,
    lines,
    refolded,
    running,
    unlined,
)

LINES = lines(DUEL)

SIZE = len(LINES)

NOTES = [signed(LINES[:size]) for size in range(1, SIZE + 1)]
"""What the server handed out: a checkpoint as of each entry."""

Json = dict[str, Any]


def judged(file: bytes, *notes: bytes, trust: Trust | None = None) -> list[Verified]:
    """The verdicts on a file, with these checkpoints; the server's key is pinned, unless told otherwise."""
    return list(verify(io.BytesIO(file), evidence(*notes, trust=trust)))


def verdict(file: bytes, *notes: bytes, trust: Trust | None = None) -> str:
    """The verdict on all of it."""
    return gravest({verified.verdict for verified in judged(file, *notes, trust=trust)})


def by_size(file: bytes) -> list[str]:
    """The verdict on a file with each of the checkpoints that were handed out alone."""
    return [verdict(file, each) for each in NOTES]


def replayed(change: Callable[[list[Json]], object], status: str = "ended") -> bytes:
    """The duel played by other commands, recorded and sealed as it should be: nothing in it is wrong."""
    commands: list[Json] = json.loads(json.dumps(DUEL))
    change(commands)
    file = file_of("duel", lines(commands), status)
    assert [verified.verdict for verified in verify(io.BytesIO(file))] == ["exact"]
    return file


# ------------------------------------------------------------ who does not cheat


def test_honest_record_is_exact() -> None:
    """The record as it is fits each checkpoint, and all of them, alone or in an archive."""
    assert by_size(duel()) == ["exact"] * SIZE
    assert verdict(duel(), *NOTES) == "exact"
    archive = archive_of(duel(), running())
    found = judged(archive, *NOTES, signed(lines(RUNNING), "running"))
    assert [(verified.match, verified.verdict, len(verified.checkpoints)) for verified in found] == [
        ("duel", "exact", SIZE),
        ("running", "exact", 1),
    ]


def test_match_that_was_played_on_is_exact() -> None:
    """What came after a checkpoint takes nothing from it."""
    ruling = {
        "type": "ruling",
        "judge": "Mo",
        "reason": "noted",
        "corrections": [{"new_soul": {"rank": 0, "to": "aether"}}],
    }
    assert verdict(replayed(lambda commands: commands.append(ruling)), *NOTES) == "exact"


# ------------------------------------------------------------ events


def test_event_changed() -> None:
    """Life that nobody lost, with every hash after it made anew, diverges: it is judged before all checkpoints."""
    changed = refolded(LINES, LIFE_CHANGED, lambda entry: entry["events"][0].update(delta=-20))
    file = file_of("duel", changed)
    assert verdict(file) == "diverged"
    assert by_size(file) == ["diverged"] * SIZE
    (found,) = judged(file, *NOTES)
    assert (found.verdict, found.entry) == ("diverged", LIFE_CHANGED)
    before, after = found.checkpoints[: LIFE_CHANGED - 1], found.checkpoints[LIFE_CHANGED - 1 :]
    assert {checkpoint.verdict for checkpoint in before} == {"exact"}
    assert {checkpoint.verdict for checkpoint in after} == {None}


def test_event_changed_and_signed_by_the_cheater() -> None:
    """Nor does a signature of the cheater's own help where the record does not follow from its commands."""
    changed = refolded(LINES, LIFE_CHANGED, lambda entry: entry["events"][0].update(delta=-20))
    assert verdict(file_of("duel", changed), signed(changed, by=CHEATER), trust=pinned(CHEATER)) == "diverged"


def test_byte_changed() -> None:
    """A byte changed in place is damage, whatever was signed."""
    assert verdict(duel().replace(b'"delta":-2', b'"delta":-3', 1), *NOTES) in {"diverged", "damaged"}
    assert verdict(duel().replace(b"table-1", b"table-2"), *NOTES) == "damaged"


# ------------------------------------------------------------ the tail


@pytest.mark.parametrize("kept", range(1, SIZE))
def test_tail_cut(kept: int) -> None:
    """A record that ends early, sealed as it should be, fits checkpoints so far, and is incomplete by later ones."""
    file = file_of("duel", LINES[:kept], "running")
    assert by_size(file) == ["exact"] * kept + ["incomplete"] * (SIZE - kept)
    (found,) = judged(file, *NOTES)
    assert found.verdict == "incomplete"
    assert f"has {kept} entries" in str(found.reason)


def test_tail_cut_without_an_end() -> None:
    """Cut off without a new end the file is damaged; nothing is said of the checkpoints that it does not reach."""
    (found, *_) = judged(unlined(duel().splitlines()[:6]), *NOTES)
    assert (found.verdict, found.entries) == ("damaged", 5)
    assert [checkpoint.verdict for checkpoint in found.checkpoints] == ["exact"] * 5 + [None] * 6


@pytest.mark.parametrize("kept", range(1, SIZE - 1))
def test_tail_cut_and_regrown(kept: int) -> None:
    """Played on another way, the record is another history by each checkpoint that is later and not beyond its end."""
    file = replayed(lambda commands: commands.__setitem__(slice(kept, None), [{"type": "release"}] * 3), "running")
    grown = min(kept + 3, SIZE)
    expected = ["exact"] * kept + ["another-history"] * (grown - kept) + ["incomplete"] * (SIZE - grown)
    assert by_size(file) == expected
    assert verdict(file, *NOTES) == "another-history"


def test_defeat_undone() -> None:
    """The last entry, a defeat, played as the other one's, is another history."""
    assert verdict(replayed(lambda commands: commands[-1].update(player="ada")), NOTES[-1]) == "another-history"


# ------------------------------------------------------------ entries


@pytest.mark.parametrize("number", [6, 8, 10])
def test_entry_dropped(number: int) -> None:
    """An entry left out, all after it renumbered and replayed: another history, by every checkpoint from there on."""
    file = replayed(lambda commands: commands.pop(number - 1))
    assert by_size(file) == ["exact"] * (number - 1) + ["another-history"] * (SIZE - number) + ["incomplete"]


def test_entry_dropped_where_only_a_later_checkpoint_is_held() -> None:
    """Whoever holds the last checkpoint alone sees that an entry is missing, not which."""
    file = replayed(lambda commands: commands.pop(7))
    assert verdict(file, NOTES[-1]) == "incomplete"
    assert verdict(file, NOTES[-2]) == "another-history"


def test_entry_put_in() -> None:
    """An entry more, and all others after it as they were played, is another history from there on."""
    file = replayed(lambda commands: commands.insert(7, {"type": "release", "rank": 0}))
    assert by_size(file) == ["exact"] * 7 + ["another-history"] * (SIZE - 7)


def test_entries_swapped() -> None:
    """Two entries in the other order, replayed, are another history, though the state at the end be the same."""

    def swap(commands: list[Json]) -> None:
        commands[5], commands[7] = commands[7], commands[5]

    assert by_size(replayed(swap)) == ["exact"] * 5 + ["another-history"] * (SIZE - 5)


def test_meta_changed() -> None:
    """Who gave a command, and when, changes nothing in the match; it is signed all the same."""
    file = replayed(lambda commands: commands[5]["meta"].update(at="2026-05-09T10:00:00Z"))
    assert by_size(file) == ["exact"] * 5 + ["another-history"] * (SIZE - 5)


def test_ruleset_changed() -> None:
    """Another ruleset in the first entry, and everything replayed by it, is another history from there on."""
    file = replayed(lambda commands: commands[0].update(ruleset={"starting_life": 99}))
    assert by_size(file) == ["another-history"] * SIZE


@pytest.mark.parametrize("players", [["bo", "ada"], ["ada", "bob"]])
def test_players_changed(players: Sequence[str]) -> None:
    """So are other seats."""

    def change(commands: list[Json]) -> None:
        commands[0]["players"] = [{"player": player} for player in players]
        if "bo" not in players:
            del commands[1:]

    file = replayed(change, "running" if "bo" not in players else "ended")
    assert verdict(file, NOTES[0]) == "another-history"
    assert verdict(file, *NOTES) == "another-history"


# ------------------------------------------------------------ other matches


def test_tails_swapped() -> None:
    """The ends of two matches, each put behind the other's beginning and replayed, are another history of either."""
    other = [*DUEL[:3], *({"type": "release", "rank": rank} for rank in (3, 2, 1, 0))]
    other[0] = {**other[0], "match": "other"}
    other_notes = [signed(lines(other)[:size], "other") for size in range(1, 8)]
    mine, theirs = [*DUEL[:3], *other[3:]], [*other[:3], *DUEL[3:7]]
    archive = archive_of(file_of("duel", lines(mine), "running"), file_of("other", lines(theirs), "running"))
    found = judged(archive, *NOTES[:7], *other_notes)
    for verified in found:
        assert verified.verdict == "another-history"
        assert [checkpoint.verdict for checkpoint in verified.checkpoints] == ["exact"] * 3 + ["another-history"] * 4


def test_lines_swapped_as_they_are() -> None:
    """Put behind another beginning as they are, the lines have the hashes of states that never were: damaged."""
    beginning = lines([*DUEL[:2], {"type": "release"}])
    assert verdict(file_of("duel", [*beginning, *LINES[3:]]), *NOTES) == "damaged"


def test_checkpoint_of_another_match() -> None:
    """A checkpoint of another match is not one of this, even over the very same entries."""
    for match in ("another", "Duel", "duel ", "duel/", "duel%20"):
        assert verdict(duel(), signed(LINES, match)) == "another-history"
    (record, stray) = judged(duel(), signed(lines(RUNNING), "running"))
    assert (record.match, record.verdict, record.checkpoints) == ("duel", "exact", ())
    assert (stray.match, stray.verdict) == (None, "another-history")


def test_record_under_another_name() -> None:
    """A match that is called otherwise in its header is damaged; called so throughout, it is not what was signed."""
    assert verdict(file_of("other", LINES), NOTES[-1]) == "damaged"
    renamed = [{**DUEL[0], "match": "other"}, *DUEL[1:]]
    assert verdict(file_of("other", lines(renamed)), NOTES[-1]) == "another-history"


def test_same_match_twice_in_an_archive() -> None:
    """A true record beside a false one of the same name hides nothing: both are compared."""
    false = replayed(lambda commands: commands[-1].update(player="ada"))
    found = judged(archive_of(duel(), false), NOTES[-1])
    assert [verified.verdict for verified in found] == ["exact", "another-history"]


def test_same_name_in_another_store() -> None:
    """A record does not say of which store it is; but no checkpoint of another store's match extends this one's."""
    theirs = [*DUEL[:4], {"type": "concede", "player": "ada"}]
    assert verdict(file_of("duel", lines(theirs)), NOTES[3]) == "exact"
    old, new = (
        Opened(name, *parse_checkpoint(content))
        for name, content in (("mine", NOTES[3]), ("theirs", signed(lines(theirs), store=ANOTHER_STORE)))
    )
    tree = ProvingTree(list(map(leaf_hash, lines(theirs))))
    proof = tree.consistency_proof(4, 5)
    assert extends(old.checkpoint.root, 4, new.checkpoint.root, 5, proof)
    assert judge_extension(old, new, pinned(SERVER), lambda: "extends").verdict == "another-history"


# ------------------------------------------------------------ keys


FALSE = [*LINES[:-1], lines([*DUEL[:-1], {"type": "concede", "player": "ada"}])[-1]]
"""A record that the cheater likes better; it re-executes."""


def test_key_of_the_cheaters_own() -> None:
    """A false record with a checkpoint that the cheater signed is not signed by anybody known."""
    assert verdict(file_of("duel", FALSE), signed(FALSE, by=CHEATER)) == "unsigned"


def test_key_of_the_cheaters_own_that_comes_along() -> None:
    """Whoever has no key pinned is told that it is a first use; whoever has, is not deceived by what comes along."""
    along = Trust((), (CHEATER.verifier,))
    assert verdict(file_of("duel", FALSE), signed(FALSE, by=CHEATER), trust=along) == "first-use"
    both = Trust((KnownKey(SERVER.verifier),), (CHEATER.verifier,))
    assert verdict(file_of("duel", FALSE), signed(FALSE, by=CHEATER), NOTES[-1], trust=both) == "another-history"


def test_key_of_the_cheaters_own_with_the_pinned_name() -> None:
    """Calling the key as the server's is called makes it no other: names are told, keys are compared."""
    assert verdict(file_of("duel", FALSE), signed(FALSE, by=IMPOSTOR)) == "unsigned"


@pytest.mark.parametrize("also", [(), (CHEATER,)])
def test_signature_taken_from_another_checkpoint(also: tuple[Signer, ...]) -> None:
    """The server's signature of one text under another, alone or beside the cheater's, is the server's of neither."""
    text = text_of(FALSE)
    taken = b"".join(NOTES[-1].splitlines(keepends=True)[-1:])
    forged = text + b"\n" + taken + b"".join(signer.line(text) for signer in also)
    for trust in (pinned(SERVER), Trust((KnownKey(SERVER.verifier),), (CHEATER.verifier,)), pinned(SERVER, CHEATER)):
        assert verdict(file_of("duel", FALSE), forged, trust=trust) == "unsigned"


def test_checkpoint_with_another_size_or_root() -> None:
    """A checkpoint that was changed is not signed any more; cut to pieces, it is none."""
    for old, new in ((b"\n11\n", b"\n10\n"), (b"2026-11", b"2026-12"), (b"/duel", b"/feud")):
        assert verdict(duel(), NOTES[-1].replace(old, new)) == "unsigned"
    assert verdict(duel(), NOTES[-1].replace(b"\n11\n", b"\n")) == "damaged"
    assert verdict(duel(), NOTES[-1][:-1]) == "damaged"


def test_checkpoint_that_is_left_out() -> None:
    """Who holds a checkpoint cannot be answered with an older one: all that are held count."""
    cut = file_of("duel", LINES[:5], "running")
    assert verdict(cut, *NOTES[:5]) == "exact"
    assert verdict(cut, *NOTES[:5], NOTES[7]) == "incomplete"


@pytest.mark.parametrize("name", ["%FF", "%ED%A0%80", "%C3", "%64uel"])
def test_origin_that_no_match_has(name: str) -> None:
    """A checkpoint whose origin is written to confuse, by somebody unknown, is unsigned, and nothing breaks."""
    text = text_of(LINES).replace(b"/duel\n", f"/{name}\n".encode())
    assert verdict(duel(), note(text, CHEATER)) == "unsigned"
    assert verdict(duel(), note(text, SERVER)) == "another-history"


def test_stolen_key_after_its_retirement() -> None:
    """A key that was retired when the checkpoint says that it was signed signs nothing for whoever knows that."""
    retired = Trust((KnownKey(SERVER.verifier, None, "2026-06-01T00:00:00Z"),))
    assert verdict(file_of("duel", FALSE), signed(FALSE), trust=retired) == "unsigned"


# ------------------------------------------------------------ a ruling passed off as a rule

RULED: list[Json] = [
    *DUEL[:5],
    {"type": "ruling", "judge": "Mo", "reason": "slow play", "corrections": [{"life": {"player": "bo", "delta": -5}}]},
    {"type": "release", "rank": 1},
]
"""A judge takes five life."""

CHANGE_LIFE: Json = {"type": "change_life", "changes": [{"player": "bo", "delta": -5}], "reason": "combat"}
"""The same, as if it were by the rules."""


def test_ruling_recorded_as_a_change_of_life() -> None:
    """A ruling whose events are recorded as those of a rule, all hashes made anew, diverges."""
    recorded = lines(RULED)
    assert [event["type"] for event in json.loads(recorded[5])["events"]] == ["ruling_made"]
    as_rule = json.loads(lines([*RULED[:5], CHANGE_LIFE])[5])["events"]
    assert [event["type"] for event in as_rule] == ["life_changed"]
    changed = refolded(recorded, 6, lambda entry: entry.update(events=as_rule))
    file = file_of("duel", changed, "running")
    assert verdict(file) == "diverged"
    assert verdict(file, *(signed(recorded[:size]) for size in range(1, 8))) == "diverged"


def test_ruling_replayed_as_a_change_of_life() -> None:
    """Given as a command of its own and replayed, what a judge ruled re-executes; but it is another history."""
    recorded = lines(RULED)
    false = lines([*RULED[:5], CHANGE_LIFE, *RULED[6:]])
    file = file_of("duel", false, "running")
    assert verdict(file) == "exact"
    notes = [signed(recorded[:size]) for size in range(1, 8)]
    assert [verdict(file, each) for each in notes] == ["exact"] * 5 + ["another-history"] * 2


def test_evidence_is_used_for_one_file_after_the_other() -> None:
    """Checkpoints that were compared with one record are compared with the next one anew."""
    held: Evidence = evidence(NOTES[-1])
    false = file_of("duel", FALSE)
    for file, expected in ((duel(), "exact"), (false, "another-history"), (duel(), "exact")):
        assert [verified.verdict for verified in verify(io.BytesIO(file), held)] == [expected]
