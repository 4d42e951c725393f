"""Audits: everything that is told of a match, worked out by hand or summed up plainly from its events."""

from typing import Any

from domain.privacy import opening
from replays.audit import Audit
from replays.lines import openings_line
from tests.bundles import audit_of, audited, audited_with_entries, data_of
from tests.evidence import evidence, signed
from tests.recordings import SEATS, canonical, file_of, lines, refolded

Json = dict[str, Any]

START: Json = {"type": "start_match", "match": "m", "players": SEATS}

BURNING: list[Json] = [
    START,
    {"type": "begin_turn", "player": "ada"},
    {"type": "release", "rank": 3},  # Soul 1, power 4
    {"type": "release", "rank": 0},  # Soul 2, power 1
    {"type": "release", "rank": 1},  # Soul 3, power 2
    {"type": "pay", "player": "ada", "amount": 1, "souls": [1], "effect": "Flame"},  # 4 - 1 burn: 9 life
    {"type": "fizzle", "payment": 1},  # 1 burns: 3 life
    {"type": "release", "rank": 2},  # Soul 4, power 3
    {"type": "open_rift", "player": "ada", "rank": 3, "souls": [4]},
    {"type": "summon", "player": "ada", "card": "w", "rank": 1},
    {"type": "close_rift", "player": "ada"},  # 3 - 1 burn: 6 life
    {"type": "change_life", "changes": [{"player": "bo", "delta": -4}, {"player": "ada", "delta": 1}], "reason": "x"},
    {"type": "pay", "player": "bo", "amount": 2, "souls": [3], "effect": "Drain"},  # stays open
    {"type": "begin_turn", "player": "bo"},
    {"type": "release", "rank": 2},  # Soul 5, power 3
    {"type": "pay", "player": "bo", "amount": 2, "souls": [5], "cost": "levy"},  # 3 - 2 burn: 3 life; nothing less does
    {
        "type": "ruling",
        "judge": "Mo",
        "reason": "misread",
        "about": 11,
        "corrections": [{"life": {"player": "ada", "delta": 6}}],
        "meta": {"at": "2026-05-09T11:10:10Z", "actor": "desk"},
    },
]
"""A match with every source of Soulburn; what follows is worked out beside it."""


def ruling(*corrections: Json, **more: Any) -> Json:
    return {"type": "ruling", "judge": "Mo", "reason": "seen", "corrections": list(corrections), **more}


class TestByHand:
    """A match of which every figure is known."""

    found: Audit = audit_of(BURNING)

    def test_accounts(self) -> None:
        """Life is an account: what each began with, what burned by source, other changes, rulings, what is left."""
        ada, bo = self.found.players
        assert (ada.player, ada.name, ada.start, ada.overpay, ada.fizzle, ada.rift) == ("ada", "Ada", 30, 9, 3, 6)
        assert (ada.changes, ada.rulings, ada.life, ada.defeated) == (1, 6, 19, False)
        assert (bo.player, bo.name, bo.start, bo.overpay, bo.fizzle, bo.rift) == ("bo", "Bo Ångström", 30, 3, 0, 0)
        assert (bo.changes, bo.rulings, bo.life, bo.defeated) == (-4, 0, 23, False)

    def test_soulburn(self) -> None:
        """Each Soulburn has its event, what it was for, and the arithmetic of its rule (B-1 to B-4)."""
        fields = ("entry", "n", "player", "source", "rule", "payment", "rift")
        sums = ("of", "less", "power", "per_power", "damage", "before", "life")
        found = data_of(self.found.soulburn)
        assert [tuple(row[field] for field in fields) for row in found] == [
            (6, 7, "ada", "overpay", "B-2", 1, None),
            (7, 9, "ada", "fizzle", "B-3", 1, None),
            (11, 16, "ada", "rift", "B-4", None, 1),
            (16, 23, "bo", "overpay", "B-2", 4, None),
        ]
        assert [tuple(row[field] for field in sums) for row in found] == [
            (4, 1, 3, 3, 9, 30, 21),
            (1, 0, 1, 3, 3, 21, 18),
            (3, 1, 2, 3, 6, 18, 12),
            (3, 2, 1, 3, 3, 26, 23),
        ]

    def test_cheaper(self) -> None:
        """Soul 2 alone would have paid Soulrift 1 and burned nothing; for Soulrift 2 nothing was better than Soul 5."""
        assert data_of(self.found.cheaper) == [
            {
                "entry": 6,
                "payment": 1,
                "player": "ada",
                "amount": 1,
                "souls": [1],
                "power": 4,
                "burned": 9,
                "instead": [2],
                "would_burn": 0,
            }
        ]

    def test_open_payments(self) -> None:
        """Drain has neither resolved nor fizzled (E-1); a Rift's payment and one for a cost are never open (E-2)."""
        assert data_of(self.found.open_payments) == [
            {"payment": 3, "entry": 13, "player": "bo", "amount": 2, "power": 2, "effect": "Drain"}
        ]

    def test_ruling(self) -> None:
        """A ruling is told with who sent it, and when."""
        (ruled,) = data_of(self.found.rulings)
        assert ruled == {
            "entry": 17,
            "about": 11,
            "judge": "Mo",
            "reason": "misread",
            "at": "2026-05-09T11:10:10Z",
            "actor": "desk",
            "corrections": [{"life": {"player": "ada", "delta": 6}}],
        }

    def test_courses(self) -> None:
        """Life and the Souls in the Aether, after each entry in which they changed."""
        assert data_of(self.found.courses) == [
            {"of": "ada", "points": [[1, 30], [6, 21], [7, 18], [11, 12], [12, 13], [17, 19]]},
            {"of": "bo", "points": [[1, 30], [12, 26], [16, 23]]},
            {
                "of": "",
                "points": [[1, 0], [3, 1], [4, 2], [5, 3], [6, 2], [8, 3], [9, 2], [13, 1], [15, 2], [16, 1]],
            },
        ]

    def test_the_match(self) -> None:
        """It runs, in its second turn, with all entries proven; nothing is unusual."""
        found = self.found
        assert (found.match, found.verified.verdict, found.entries) == ("m", "exact", 17)
        assert (found.status, found.winner, found.ended, found.turns, found.rules) == ("running", None, None, 2, 1)
        assert (found.private, found.opened, found.unusual) == (False, 0, ())

    def test_every_entry_is_seen(self) -> None:
        """Whoever looks on sees each entry that is proven, in order."""
        _, entries = audited_with_entries(file_of("m", lines(BURNING), "running"))
        assert [entry.line for entry in entries] == lines(BURNING)


class TestEnds:
    """How a match ends, or does not."""

    def test_draw(self) -> None:
        """Both fall by one command: a draw, by L-4."""
        both = [{"player": "ada", "delta": -30}, {"player": "bo", "delta": -31}]
        found = audit_of([START, {"type": "change_life", "changes": both, "reason": "storm"}], "ended")
        assert (found.status, found.winner, found.ended) == ("ended", None, "L-4")
        assert [(each.life, each.changes, each.defeated) for each in found.players] == [(0, -30, True), (-1, -31, True)]

    def test_by_the_games_word(self) -> None:
        """The game may end a match, and say why (L-7)."""
        found = audit_of([START, {"type": "end_match", "winner": "bo", "reason": "time"}], "ended")
        assert (found.status, found.winner, found.ended, found.turns) == ("ended", "bo", "time", 0)
        assert audit_of([START, {"type": "end_match"}], "ended").ended is None

    def test_by_a_ruling(self) -> None:
        """A ruling may end a match; its reason is why."""
        found = audit_of([START, ruling({"result": {"status": "ended", "winner": "bo"}})], "ended")
        assert (found.status, found.winner, found.ended) == ("ended", "bo", "seen")

    def test_reopened_by_a_ruling(self) -> None:
        """A ruling may let a match go on: then it has not ended, by nobody's word."""
        concede = {"type": "concede", "player": "bo"}
        undone = ruling({"defeated": {"player": "bo", "defeated": False}}, {"result": {"status": "running"}})
        found = audit_of([START, concede, undone])
        assert (found.status, found.winner, found.ended) == ("running", None, None)
        assert [each.defeated for each in found.players] == [False, False]
        again = audit_of([START, concede, undone, concede], "ended")
        assert (again.winner, again.ended) == ("ada", "L-4")

    def test_result_of_an_ended_match_corrected(self) -> None:
        """A ruling may give an ended match another winner; then that is why."""
        won = ruling({"result": {"status": "ended", "winner": "bo"}})
        found = audit_of([START, {"type": "end_match", "winner": "ada", "reason": "time"}, won], "ended")
        assert (found.winner, found.ended) == ("bo", "seen")

    def test_rulings_of_all_kinds(self) -> None:
        """Corrections are told as recorded; those of Souls and Events cost nobody life."""
        corrections: list[Json] = [
            {"life": {"player": "bo", "delta": -2}},
            {"life": {"player": "bo", "delta": 1}},
            {"new_soul": {"rank": 2, "to": "aether"}},
            {"event": {"event": "pilgrimage"}},
        ]
        found = audit_of([START, {"type": "begin_turn", "player": "bo"}, ruling(*corrections, about=2)])
        ada, bo = found.players
        assert (ada.rulings, ada.life, bo.rulings, bo.life) == (0, 30, -1, 29)
        (ruled,) = data_of(found.rulings)
        assert ruled["corrections"] == [
            *corrections[:2],
            {"new_soul": {"rank": 2, "soul": 1, "to": "aether"}},
            corrections[3],
        ]

    def test_payment_closed_by_a_ruling(self) -> None:
        """A payment that a judge closes is not open any more, and burns nothing."""
        pay = {"type": "pay", "player": "bo", "amount": 1, "souls": [1], "effect": "Flame"}
        found = audit_of([START, {"type": "release"}, pay, ruling({"payment": {"payment": 1}})])
        assert (found.open_payments, found.soulburn) == ((), ())

    def test_rift_corrected_by_a_ruling(self) -> None:
        """What burns at a Rift's closing is from the highest rank that the judge named: 2 - 1 = 1."""
        found = audit_of(
            [
                START,
                {"type": "begin_turn", "player": "bo"},
                {"type": "release", "rank": 1},
                {"type": "open_rift", "player": "bo", "rank": 2, "souls": [1]},
                ruling({"rift": {"highest": 1}}),
                {"type": "close_rift", "player": "bo"},
            ]
        )
        (burn,) = found.soulburn
        assert (burn.of, burn.less, burn.power, burn.damage, burn.life) == (2, 1, 1, 3, 27)


class TestRulesets:
    """Matches by other figures."""

    def test_departing(self) -> None:
        """Each figure is that of the match's ruleset: 7 life a level, from 50."""
        ruleset = {"soulburn_per_power": 7, "starting_life": 50, "overpay": "any"}
        pay = {"type": "pay", "player": "bo", "amount": 1, "souls": [1, 2], "effect": "Flame"}
        souls: list[Json] = [{"type": "release", "rank": 1}, {"type": "release"}]
        found = audit_of([{**START, "ruleset": ruleset}, *souls, pay])
        assert {name: found.ruleset[name] for name in ruleset} == ruleset
        (burn,) = found.soulburn
        assert (burn.of, burn.less, burn.per_power, burn.damage, burn.before, burn.life) == (3, 1, 7, 14, 50, 36)
        (cheaper,) = found.cheaper
        assert (cheaper.souls, cheaper.burned, cheaper.instead, cheaper.would_burn) == ((1, 2), 14, (2,), 0)

    def test_burning_for_nothing(self) -> None:
        """Where a level costs no life, Soulburn is told all the same, and no payment could have burned less."""
        pay = {"type": "pay", "player": "bo", "amount": 1, "souls": [1], "effect": "Flame"}
        start = {**START, "ruleset": {"soulburn_per_power": 0}}
        found = audit_of([start, {"type": "release", "rank": 1}, {"type": "release"}, pay])
        assert [(burn.power, burn.damage, burn.life) for burn in found.soulburn] == [(1, 0, 30)]
        assert found.cheaper == ()

    def test_cheaper_counts_only_what_is_open(self) -> None:
        """A Soul on the other player's card is out of reach (P-2): nothing was cheaper for bo, but it was for ada."""
        given: list[Json] = [
            {"type": "release"},
            {"type": "release", "rank": 1},
            {"type": "release", "rank": 1},
            {"type": "enter", "card": "k", "controller": "ada"},
            {"type": "reap", "souls": [1], "card": "k"},
        ]
        bo = {"type": "pay", "player": "bo", "amount": 1, "souls": [2], "cost": "x"}
        found = audit_of([START, *given, bo, {**bo, "player": "ada", "souls": [3]}])
        assert [(each.player, each.instead) for each in found.cheaper] == [("ada", (1,))]
        assert [burn.player for burn in found.soulburn] == ["bo", "ada"]


class TestDiverged:
    """Records of which only a part is proven."""

    def test_told_is_the_proven_part(self) -> None:
        """Entry 12 says that bo lost 14: what is told is of the eleven entries before, and ada's 12 life of them."""
        changed = refolded(lines(BURNING), 12, lambda entry: entry["events"][0].update(delta=-14, life=16))
        found, entries = audited_with_entries(file_of("m", changed, "running"))
        assert (found.verified.verdict, found.verified.entry, found.entries) == ("diverged", 12, 11)
        assert len(entries) == 11
        assert [(each.player, each.life) for each in found.players] == [("ada", 12), ("bo", 30)]
        assert found.root == audit_of(BURNING[:11]).root
        assert (len(found.soulburn), found.rulings, found.open_payments) == (3, (), ())

    def test_nothing_is_proven(self) -> None:
        """Of a record that goes wrong with its first entry there are no players to tell of."""
        changed = refolded(lines(BURNING), 1, lambda entry: entry["events"][0]["ruleset"].update(starting_life=40))
        found = audited(file_of("m", changed, "running"))
        assert (found.verified.verdict, found.entries, found.players) == ("diverged", 0, ())
        assert [course.points for course in found.courses] == [()]

    def test_with_checkpoints(self) -> None:
        """Checkpoints decide where the record re-executes; one of another match counts against this one."""
        entries = lines(BURNING)
        file = file_of("m", entries, "running")
        good, stray = signed(entries, "m"), signed(entries, "another")
        assert audited(file, evidence(good)).verified.verdict == "exact"
        assert audited(file, evidence(good, stray)).verified.verdict == "another-history"
        assert audited(file, evidence(b"nonsense")).verified.verdict == "damaged"
        assert audited(file_of("m", entries[:9], "running"), evidence(good)).verified.verdict == "incomplete"


class TestPrivate:
    """Private matches, whose lines hide names and actors."""

    ADA, BO, DESK = (opening(bytes([n]) * 16, value) for n, value in enumerate(("Ada", "Bo", "desk")))
    COMMANDS = (
        {
            **START,
            "private": True,
            "players": [{"player": "ada", "name": ADA.commitment}, {"player": "bo", "name": BO.commitment}],
        },
        {"type": "concede", "player": "bo", "meta": {"actor": ADA.commitment}},
        ruling({"life": {"player": "bo", "delta": 1}}, meta={"actor": DESK.commitment}),
    )

    def file(self, *openings: Any) -> bytes:
        """The record with these openings."""
        whole = file_of("m", lines(self.COMMANDS)).splitlines(keepends=True)
        told = [openings_line(openings) + b"\n"] if openings else []
        return b"".join([*whole[:-1], *told, whole[-1]])

    def test_with_openings(self) -> None:
        """What came along is told by its name: players, and who sent what."""
        found = audited(self.file(self.ADA, self.BO, self.DESK))
        assert (found.verified.verdict, found.private, found.opened) == ("exact", True, 3)
        assert [each.name for each in found.players] == ["Ada", "Bo"]
        assert [each.actor for each in found.rulings] == ["desk"]
        assert [(each.entry, each.told.partition(" ")[0]) for each in found.unusual] == [(2, "Ada")]

    def test_without_openings(self) -> None:
        """Who is the same is known without openings: that is told, but nobody's name."""
        found = audited(self.file())
        assert (found.verified.verdict, found.private, found.opened) == ("exact", True, 0)
        assert [(each.entry, each.kind) for each in found.unusual] == [(2, "actor")]
        assert b"Ada" not in canonical(data_of(found))

    def test_with_some(self) -> None:
        """Some may be named, and others not."""
        found = audited(self.file(self.BO))
        assert (found.opened, [each.name for each in found.players]) == (1, [None, "Bo"])

    def test_false_opening_names_nobody(self) -> None:
        """A name that does not belong to its commitment is damage, and is told of nobody."""
        file = self.file(self.ADA, self.BO).replace(b'"value":"Ada"', b'"value":"Eve"')
        found = audited(file)
        assert (found.verified.verdict, found.opened) == ("damaged", 0)
        assert b"Eve" not in canonical(data_of(found.players))

    def test_root_is_that_of_the_lines(self) -> None:
        """Openings are no part of what is proven."""
        assert audited(self.file(self.ADA)).root == audited(self.file()).root
