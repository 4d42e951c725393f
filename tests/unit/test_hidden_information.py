"""What a policy gets tells nothing that its player may not know, and nothing that it does to it changes the match."""

import re
from collections.abc import Iterator

import pytest

from domain.entry import Entry
from simulation.chance import Chance
from simulation.decks import Card, Deck, Effect
from simulation.policies import policy
from simulation.runs import Run, play_match
from tests.policies import Searches
from tests.simulated import Held, Situation

SEED = 7_777_777_777_777_777_001
"""Long, so that it is found wherever it stands, as text or as bytes."""


def marked(sign: str) -> Deck:
    """A deck whose cards occur once each, and nowhere else."""
    cards: dict[str, Card] = {}
    for number in range(30):
        key = f"zq{sign}{number:02}qz"
        if number % 5 == 4:
            cards[key] = Card(f"Name {key}", "spell", effects=(Effect("destroy"),), soulrift=number % 3)
        else:
            cards[key] = Card(f"Name {key}", "creature", attack=1 + number % 4)
    extra = {f"zq{sign}x{number}qz": Card(f"Name {number}", "creature", rank=number, attack=3) for number in (1, 2, 3)}
    return Deck(f"Deck of {sign}", dict.fromkeys(cards, 1), dict.fromkeys(extra, 1), cards={**cards, **extra})


RUN = Run(
    SEED,
    ("marker-of-deck-a", "marker-of-deck-b"),
    ("tests.policies:Searches", "tests.policies:Searches"),
    ({},),
    {"marker-of-deck-a": marked("a"), "marker-of-deck-b": marked("b")},
)


@pytest.fixture(autouse=True)
def seen() -> Iterator[None]:
    """What `Searches` was given is of this test alone."""
    Searches.seen.clear()
    yield
    Searches.seen.clear()


def texts(content: bytes, shown: str) -> str:
    """Everything in a pickle that could be read as text, and what is shown."""
    return content.decode("latin-1") + shown


def test_views_and_actions_name_no_hidden_card() -> None:
    """Of all cards only those in the own hand and extra deck and those on the battlefield occur in what a policy gets:
    none of another's hand, none of any library, the own one included. Each of 20 matches, each decision.
    """
    for number in range(1, 21):
        play_match(RUN, number)
    assert len(Searches.seen) > 500
    for view, _, content, shown in Searches.seen:
        found = set(re.findall(r"zq[ab]x?\d+qz", texts(content, shown)))
        open_cards = {each.definition for each in view.table.descriptions.values()}
        assert found <= {*view.hand, *view.extra, *open_cards}
        assert set(view.hand) <= found


def test_library_does_not_show_in_the_order_of_anything() -> None:
    """The own hand is in the order of drawing, which the player saw; of libraries there is only their size."""
    play_match(RUN, 1)
    for view, _, _, _ in Searches.seen:
        assert set(view.hands) == set(view.libraries) == {"p1", "p2"}
        assert all(isinstance(size, int) for size in (*view.hands.values(), *view.libraries.values()))


def test_views_and_actions_tell_no_seed_match_deck_or_policy() -> None:
    """Neither the seed, nor which match of the run it is, nor what others play with, nor how they decide."""
    play_match(RUN, 12_345)
    for view, _, content, shown in Searches.seen:
        text = texts(content, shown)
        for marker in (str(SEED), f"{SEED:x}", "12345", "12,345", "run-", "marker-of-deck", "Deck of", "Searches"):
            assert marker not in text.replace("tests.policies", ""), marker
        assert SEED.to_bytes(8, "little") not in content
        assert SEED.to_bytes(8, "big") not in content
        assert view.table.match == ""
        assert set(view.table.names.values()) == {None}


def test_view_is_that_of_the_player_asked() -> None:
    """Whose turn it is sees the own hand, and how many cards the others hold."""
    at = Situation(Held("beast1", extra=["rift2"]), Held("beast2", extra=["rift3"])).start()
    view = at.table.view(at.seat)
    assert view.player == "p1"
    assert view.hand == ("beast1", "dear", "dear", "dear", "dear")
    assert view.extra == ("rift2",)
    assert view.hands == {"p1": 5, "p2": 4}
    assert view.libraries == {"p1": 59, "p2": 60}
    other = at.act("end").table.view(at.seat)
    assert (other.player, other.hand[0], other.extra, other.hands) == ("p2", "beast2", ("rift3",), {"p1": 5, "p2": 5})


def test_chance_of_a_policy_is_another_one() -> None:
    """A policy's draws are those of a stream of its own: not the table's, not the other player's."""
    play_match(RUN, 1)
    drawn = {use: Chance(SEED, 1, use) for use in ("table", "seating", "policy of p1", "policy of p2")}
    numbers = {use: [chance.below(2**64) for _ in range(200)] for use, chance in drawn.items()}
    assert len({number for each in numbers.values() for number in each}) == 4 * 200
    for view, _, content, _ in Searches.seen:
        of_others = [use for use in numbers if use != f"policy of {view.player}"]
        assert not any(number.to_bytes(8, "little") in content for use in of_others for number in numbers[use])


def test_draws_of_a_policy_move_no_other_draw() -> None:
    """Cards come in the same order whatever the policies draw: the first hands of a match are the same ones."""
    hands = set[tuple[str, ...]]()
    for other in ("random", "tests.policies:First", "greedy"):
        Searches.seen.clear()
        play_match(Run(SEED, RUN.decks, ("tests.policies:Searches", other), RUN.rulesets, RUN.own), 3)
        hands.add(Searches.seen[0][0].hand[:4])
    assert len(hands) == 1


def lines(policies: tuple[str, str]) -> list[list[Entry]]:
    run = Run(SEED, ("rift", "reap"), policies)
    return [play_match(run, number, record=True).entries for number in range(1, 16)]


def test_spoiling_a_view_changes_nothing() -> None:
    """The view is the policy's own: one that spoils all of it plays the same matches as one that does not."""
    honest, meddling = lines(("tests.policies:Searches",) * 2), lines(("tests.policies:Meddles",) * 2)
    assert [[entry.line for entry in match[1:]] for match in honest] == [
        [entry.line for entry in match[1:]] for match in meddling
    ]


def test_blind_policies_get_no_view() -> None:
    """Who does not look is not shown anything, and is faster."""
    playing = policy("random")(Chance(1, 1, "test"))
    assert getattr(playing, "blind", False)
    assert not getattr(policy("greedy")(Chance(1, 1, "test")), "blind", False)
