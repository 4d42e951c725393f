from itertools import permutations

import pytest

from tests.kit import Json, Table, of
from tests.unit.rules.moves import (
    control,
    destroy,
    enter,
    leave,
    modifier,
    open_rift,
    reap,
    releases,
    soul,
    summon,
    turn,
)


def test_C1_destroyed_creature_gives_one_soul() -> None:
    """A destroyed creature leaves, and one new Soul of its rank is in the Aether."""
    table = Table(enter("x", rank=2)).when(destroy("x", cause="battle", by="b"))
    table.then(
        of("creature_destroyed", card="x", rank=2, souls=[], cause="battle", by="b"),
        of("soul_collected", creature="x", soul=1, rank=2, modifiers=[]),
    )
    table.holds(battlefield={}, aether=[soul(1, 2)])


def test_C1_only_what_is_on_the_battlefield_is_destroyed() -> None:
    """A card that is elsewhere cannot be destroyed, and gives nothing."""
    Table(enter("x")).when(destroy("x", "y")).refused("input", "/cards/1")


def test_C2_soulless_creature_gives_none() -> None:
    """A Soulless creature is destroyed like any other, but gives no Soul."""
    table = Table(enter("x", rank=3, soulless=True)).when(destroy("x"))
    table.then(of("creature_destroyed", card="x", soulless=True)).holds(aether=[], numbered={"souls": 0})


def test_C2_soulless_at_that_moment_counts() -> None:
    """What a creature was before does not matter: Soulless when destroyed gives none, no longer Soulless gives one."""
    table = Table(enter("x"), enter("y", soulless=True))
    table.given(of("set_soulless", card="x", soulless=True), of("set_soulless", card="y", soulless=False))
    table.when(destroy("x", "y")).then(
        of("creature_destroyed", card="x"),
        of("creature_destroyed", card="y"),
        of("soul_collected", creature="y", soul=1, rank=0),
    )


@pytest.mark.parametrize(
    ("rank", "deltas", "collected"),
    [
        (3, [-1], 2),
        (3, [2], 3),
        (0, [-2], 0),
        (0, [-2, 3], 1),
        (2, [4, -5], 1),
        (3, [9007199254740991, -9007199254740991], 3),
        (1, [-9007199254740991, -9007199254740991], 0),
    ],
)
def test_C3_rank_is_held_within_0_and_3_only_at_the_end(rank: int, deltas: list[int], collected: int) -> None:
    """All modifiers are summed up first, and only the sum is held within 0 and 3."""
    modifiers = [modifier("x", f"m{i}", delta) for i, delta in enumerate(deltas)]
    table = Table(enter("x", rank=rank)).when(destroy("x", modifiers=modifiers))
    table.then(of("creature_destroyed"), of("soul_collected", rank=collected))


@pytest.mark.parametrize("order", list(permutations([("blessing", 4), ("curse", -3), ("drought", -2)])))
def test_C3_order_of_modifiers_does_not_matter(order: list[tuple[str, int]]) -> None:
    """Rank 2, Sealed, +4, -3 and -2 give 2 + 1 + 4 - 3 - 2 = 2 in every order."""
    table = Table(enter("x", rank=2), of("seal", card="x"))
    table.given(destroy("x", modifiers=[modifier("x", name, delta) for name, delta in order]))
    table.holds(aether=[soul(1, 2)])


def test_C3_sealed_rank_3_with_minus_1_gives_3() -> None:
    """The rule's own example: 3 + 1 - 1 = 3, not min(3, 4) - 1 = 2."""
    table = Table(enter("x", rank=3), of("seal", card="x"), destroy("x", modifiers=[modifier("x", "curse", -1)]))
    table.holds(aether=[soul(1, 3)])


def test_C4_creature_without_rank_counts_as_rank_0() -> None:
    """No rank is rank 0: it gives a rank 0 Soul, and a rank 1 Soul when Sealed."""
    table = Table(enter("x"), enter("y"), of("seal", card="y")).holds(battlefield={"x": {"rank": None}})
    table.given(destroy("x", "y")).holds(aether=[soul(1, 0), soul(2, 1)])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_C5_extra_deck_creature_has_rank_1_to_3(rank: int) -> None:
    """Ranks 1, 2 and 3 are those of the extra deck."""
    Table(enter("x", deck="extra", rank=rank)).holds(battlefield={"x": {"deck": "extra", "rank": rank}})


@pytest.mark.parametrize("rank", [None, 0])
def test_C5_extra_deck_creature_of_no_or_rank_0_is_refused(rank: int | None) -> None:
    """An extra deck creature neither enters without a rank or with rank 0, nor gets there later."""
    Table().when(enter("x", deck="extra", rank=rank)).refused("C-5", rank=rank)
    table = Table(enter("x", deck="extra", rank=1))
    table.when(of("set_rank", card="x", rank=rank)).refused("C-5", rank=rank)


def test_C5_extra_deck_creature_of_rank_0_is_not_summoned() -> None:
    """Also where a Rift lets rank 0 through, a rank 0 creature is not of the extra deck."""
    table = Table(*releases(0), turn(), open_rift("a", 1, 1), rift_min_rank=0)
    table.when(summon("a", "x", 0, deck="extra")).refused("C-5", rank=0)


def test_C5_speaks_of_creatures_only() -> None:
    """A card of the extra deck that is no creature has no rank."""
    Table(enter("x", kind="other", deck="extra")).holds(battlefield={"x": {"deck": "extra", "rank": None}})


@pytest.mark.parametrize("deck", ["main", "extra"])
def test_C6_no_creature_above_rank_3(deck: str) -> None:
    """A creature neither enters with rank 4 nor is raised to it, whatever its deck."""
    Table().when(enter("x", deck=deck, rank=4)).refused("C-6", rank=4, highest=3)
    table = Table(enter("x", deck=deck, rank=3))
    table.when(of("set_rank", card="x", rank=4)).refused("C-6", rank=4, highest=3)


def test_C7_sealed_adds_1() -> None:
    """A Sealed rank 1 creature gives a rank 2 Soul, which says why."""
    table = Table(enter("x", rank=1), of("seal", card="x")).when(destroy("x"))
    table.then(
        of("creature_destroyed", sealed=True),
        of("soul_collected", rank=2, modifiers=[{"name": "sealed", "delta": 1}]),
    )


def test_C7_only_if_sealed_when_destroyed() -> None:
    """The seal that was broken before adds nothing."""
    table = Table(enter("x", rank=1)).when(of("seal", card="x")).then(of("creature_sealed", card="x"))
    table.when(of("unseal", card="x")).then(of("creature_unsealed", card="x"))
    table.when(destroy("x")).then(of("creature_destroyed", sealed=False), of("soul_collected", rank=1, modifiers=[]))


def test_C7_sealing_twice_is_refused() -> None:
    """A creature is Sealed once and unsealed once; other cards never are."""
    table = Table(enter("x"), enter("o", kind="other"))
    table.when(of("unseal", card="x")).refused("input", "/card")
    table.given(of("seal", card="x")).when(of("seal", card="x")).refused("input", "/card")
    table.when(of("seal", card="o")).refused("input", "/card")
    table.when(of("unseal", card="o")).refused("input", "/card")


def test_C8_modifiers_are_recorded_with_the_soul() -> None:
    """Sealed comes first, then the named ones in the order given, zero and negative ones too."""
    table = Table(enter("x", rank=1), of("seal", card="x"))
    named = [modifier("x", "curse", -1), modifier("x", "omen", 0), modifier("x", "blessing", 2)]
    recorded = [
        {"name": "sealed", "delta": 1},
        {"name": "curse", "delta": -1},
        {"name": "omen", "delta": 0},
        {"name": "blessing", "delta": 2},
    ]
    table.when(destroy("x", modifiers=named))
    table.then(of("creature_destroyed"), of("soul_collected", rank=3, modifiers=recorded))


def test_C8_modifier_holds_for_its_card_only() -> None:
    """Of two creatures destroyed together, only the one that is named gets the modifier."""
    table = Table(enter("x"), enter("y")).when(destroy("x", "y", modifiers=[modifier("y", "blessing", 2)]))
    table.then(
        of("creature_destroyed", card="x"),
        of("creature_destroyed", card="y"),
        of("soul_collected", creature="x", rank=0, modifiers=[]),
        of("soul_collected", creature="y", rank=2, modifiers=[{"name": "blessing", "delta": 2}]),
    )


def test_C8_modifier_of_what_is_no_creature_is_refused() -> None:
    """What gives no Soul has no modifiers."""
    table = Table(enter("x"), enter("o", kind="other"))
    named = [modifier("x", "blessing", 1), modifier("o", "blessing", 1)]
    table.when(destroy("x", "o", modifiers=named)).refused("input", "/modifiers/1/card")


def test_C8_effects_change_a_creatures_own_rank() -> None:
    """The rank that an effect gave counts when the creature dies; null takes it away."""
    table = Table(enter("x", rank=1), enter("y", rank=2), enter("o", kind="other"))
    table.when(of("set_rank", card="x", rank=3, cause="growth"))
    table.then(of("rank_set", card="x", rank=3, cause="growth"))
    table.when(of("set_rank", card="y", rank=None)).then(of("rank_set", card="y", rank=None))
    table.when(of("set_rank", card="x", rank=3)).refused("input", "/rank", rank=3)
    table.when(of("set_rank", card="y", rank=None)).refused("input", "/rank", rank=None)
    table.when(of("set_rank", card="o", rank=1)).refused("input", "/card")
    table.given(destroy("x", "y")).holds(aether=[soul(1, 3), soul(2, 0)])


def test_C9_release_puts_a_soul_into_the_aether() -> None:
    """A released Soul has the rank that is named, and rank 0 when none is."""
    table = Table().when(of("release", rank=2, cause="omen", by="b"))
    table.then(of("soul_released", soul=1, rank=2, cause="omen", by="b"))
    table.when(of("release")).then(of("soul_released", soul=2, rank=0))
    table.holds(aether=[soul(1, 2), soul(2, 0)])


def test_C10_other_card_gives_no_new_soul() -> None:
    """A destroyed card that is no creature gives no Soul of its own, but gives up those on it."""
    table = Table(enter("o", kind="other"), *releases(1), reap("o", 1)).when(destroy("o"))
    table.then(
        of("card_destroyed", card="o", kind="other", rank=None, souls=[soul(1, 1)]),
        of("soul_returned", soul=1, card="o"),
    )
    table.holds(aether=[soul(1, 1)], numbered={"souls": 1})


@pytest.mark.parametrize("to", ["hand", "deck", "banished", "sacrificed", "material"])
def test_C11_leaving_otherwise_gives_no_soul(to: str) -> None:
    """A creature that leaves without being destroyed gives no Soul, however it leaves."""
    table = Table(enter("x", rank=2)).when(leave("x", to, by="b"))
    table.then(of("card_left", card="x", to=to, rank=2, souls=[], by="b")).holds(aether=[], battlefield={})


def test_C11_card_may_come_again_as_a_fresh_one() -> None:
    """A card that left enters again under its name, and nothing sticks to it."""
    table = Table(enter("x", rank=2), of("seal", card="x"), leave("x"), enter("x", "b"))
    table.holds(battlefield={"x": {"rank": None, "sealed": False, "controller": "b", "entered": 5, "souls": []}})


def test_C12_all_leave_first_then_each_gives_up_its_souls() -> None:
    """All destructions come first; then, in the command's order, each card's Souls by number and its own new one."""
    table = Table(enter("x", rank=1), enter("y", "b", rank=2), *releases(0, 1, 2, 3))
    table.given(reap("y", 3), reap("y", 1), reap("x", 4, 2)).when(destroy("y", "x"))
    table.then(
        of("creature_destroyed", card="y", souls=[soul(1, 0), soul(3, 2)]),
        of("creature_destroyed", card="x", souls=[soul(2, 1), soul(4, 3)]),
        of("soul_returned", soul=1, card="y"),
        of("soul_returned", soul=3, card="y"),
        of("soul_collected", soul=5, creature="y", rank=2),
        of("soul_returned", soul=2, card="x"),
        of("soul_returned", soul=4, card="x"),
        of("soul_collected", soul=6, creature="x", rank=1),
    )
    table.holds(aether=[soul(1, 0), soul(2, 1), soul(3, 2), soul(4, 3), soul(5, 2), soul(6, 1)], battlefield={})


@pytest.mark.parametrize("order", list(permutations("xyo")))
def test_C12_order_of_entry_decides_nothing(order: tuple[str, ...]) -> None:
    """In whatever order the cards came, the command's order decides what they give."""
    cards: dict[str, Json] = {"x": {"rank": 1}, "y": {"rank": 2}, "o": {"kind": "other"}}
    table = Table(*(enter(card, **cards[card]) for card in order), *releases(0), reap("o", 1))
    table.when(destroy("x", "o", "y")).then(
        of("creature_destroyed", card="x"),
        of("card_destroyed", card="o"),
        of("creature_destroyed", card="y"),
        of("soul_collected", soul=2, creature="x", rank=1),
        of("soul_returned", soul=1, card="o"),
        of("soul_collected", soul=3, creature="y", rank=2),
    )


def test_C12_stolen_creature_records_owner_and_controller() -> None:
    """The destruction of a stolen creature shows whose card it is and who controlled it."""
    table = Table(enter("x", "a", rank=1, name="Wynn", definition="wynn"), control("x", "b"))
    table.given(of("seal", card="x"))
    table.when(destroy("x")).then(
        of(
            "creature_destroyed",
            card="x",
            owner="a",
            controller="b",
            name="Wynn",
            definition="wynn",
            kind="creature",
            deck="main",
            rank=1,
            sealed=True,
            soulless=False,
            entered=2,
            souls=[],
        ),
        of("soul_collected", creature="x", rank=2),
    )
