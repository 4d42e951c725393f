"""Policies: what those that come along do, and what becomes of one that fails."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from domain.rules import Payment
from simulation.batches import Batch, play_batch
from simulation.chance import Chance
from simulation.decks import Card, pool
from simulation.policies import SHIPPED, PolicyNameError, policy, told
from simulation.runs import Run, play_match
from simulation.views import Action, View
from tests.simulated import Held, Situation

END, CLOSE, CONCEDE = Action("end"), Action("close"), Action("concede")


def paying(amount: int, excess: int = 0, *souls: int, reaped: int = 0) -> Payment:
    """A payment of this amount with so much power too much, each of which burns 3 life."""
    return Payment(excess, reaped, souls or (1,), amount + excess, 3 * excess)


def looking(
    extra: Sequence[str] = (),
    souls: Sequence[int] = (),
    cards: Mapping[str, Card] | None = None,
    hand: Sequence[str] = (),
) -> View:
    """The view of p1 at its first decision, with these cards of the pool in hand, if any are named."""
    at = Situation(Held(extra=extra), Held(), cards=cards).souls(*souls).start()
    view = at.table.view(at.seat)
    return replace(view, hand=tuple(hand), cards={key: pool()[key] for key in hand}) if hand else view


def chosen(name: str, view: View, *actions: Action) -> Action:
    """What a policy takes of these, which is the same in whatever order they are offered."""
    playing = policy(name)
    found = {playing(Chance(1, 1, "test")).choose(view, order) for order in (list(actions), list(actions)[::-1])}
    assert len(found) == 1, found
    return found.pop()


# ------------------------------------------------------------ those that come along


def test_random_takes_each_action_as_likely() -> None:
    """Of four actions each comes about as often, also that of conceding."""
    playing, view = policy("random")(Chance(1, 1, "test")), looking()
    actions = [END, Action("attack", target="p2"), Action("play", "beast1"), CONCEDE]
    found = [playing.choose(view, actions) for _ in range(4_000)]
    assert all(abs(found.count(action) - 1_000) < 4 * 750**0.5 for action in actions)  # four standard deviations


def test_greedy_burns_as_little_as_can_be() -> None:
    """The exact payment before the one that burns, and no card at all if it must burn much for it."""
    exact, burning = Action("play", "dear", paying(2)), Action("play", "dear", paying(2, 2))
    assert chosen("greedy", looking(), exact, burning, END) == exact
    assert chosen("greedy", looking(), burning, END) == END


def test_greedy_opens_rifts_that_it_can_use() -> None:
    """With a creature of rank 2 waiting a Rift of rank 2 is opened, not one of 3; with none, no Rift at all."""
    rifts = [Action("open", None, paying(rank), rank) for rank in (1, 2, 3)]
    assert pool()["dusk-colossus"].rank == 2
    cards = {"dusk-colossus": pool()["dusk-colossus"]}
    assert chosen("greedy", looking(extra=["dusk-colossus"], cards=cards), *rifts, END) == rifts[1]
    assert chosen("greedy", looking(), *rifts, END) == END


def test_greedy_knows_the_ranks_of_own_cards() -> None:
    """So it is with creatures that a deck brings along, here one of rank 3."""
    rifts = [Action("open", None, paying(rank), rank) for rank in (1, 2, 3)]
    assert chosen("greedy", looking(extra=["rift3"]), *rifts, END) == rifts[2]


def test_greedy_attacks_and_uses_its_rift() -> None:
    """It summons before it closes, attacks rather than end the turn, and never concedes."""
    view = looking()
    assert chosen("greedy", view, Action("summon", "rift-moth"), CLOSE) == Action("summon", "rift-moth")
    assert chosen("greedy", view, Action("attack", target="p2"), END, CONCEDE) == Action("attack", target="p2")
    assert chosen("greedy", view, END, CONCEDE) == END


def test_reckless_opens_the_biggest_rift() -> None:
    """Rank 3 before 2 before all else, with the payment that burns most, and whether anything comes through or not."""
    small, big = Action("open", None, paying(2), 2), Action("open", None, paying(3, 2), 3)
    exact = Action("open", None, paying(3), 3)
    play = Action("play", "beast1")
    assert chosen("reckless", looking(), small, exact, big, play, END) == big
    assert chosen("reckless", looking(), small, play, END) == small
    assert chosen("reckless", looking(), Action("summon", "rift1"), CLOSE) == Action("summon", "rift1")


def test_hoarder_reaps_first_and_keeps_its_souls() -> None:
    """A card that reaps comes before any other; of two payments the one that takes no reaped Soul."""
    jar, other = Action("play", "soul-jar"), Action("play", "ash-hound")
    assert chosen("hoarder", looking(hand=("soul-jar", "ash-hound")), other, jar, END) == jar
    own, free = Action("play", "drain", paying(1, reaped=1)), Action("play", "drain", paying(1))
    assert chosen("hoarder", looking(), own, free, END) == free


@pytest.mark.parametrize("card", [key for key, card in pool().items() if any(e.does == "reap" for e in card.effects)])
def test_hoarder_knows_every_card_that_reaps(card: str) -> None:
    """What it plays first is told by what cards do."""
    view = looking(hand=("ash-hound", card))
    assert chosen("hoarder", view, Action("play", "ash-hound"), Action("play", card), END).card == card


def test_searching_tries_what_it_would_burn() -> None:
    """It sees on its own table that a payment burns it to death, and takes the exact one."""
    view = looking(souls=(0, 3))
    exact, deadly = (
        Action("play", "drain", Payment(0, 0, (1,), 1, 0)),
        Action("play", "drain", Payment(3, 0, (2,), 4, 9)),
    )
    assert chosen("searching", view, deadly, exact, END) == exact


def test_searching_leaves_the_view_as_it_was() -> None:
    """What it tries is tried on copies."""
    view = looking(souls=(0, 3))
    before = view.table.copy()
    chosen("searching", view, Action("open", None, Payment(3, 0, (2,), 4, 9), 1), END)
    assert view.table == before


@pytest.mark.parametrize("name", [name for name in SHIPPED if name != "random"])
def test_who_thinks_does_not_give_up(name: str) -> None:
    """No policy but the random one concedes while it may do anything else."""
    assert chosen(name, looking(), CONCEDE, END) == END


@pytest.mark.parametrize("name", SHIPPED)
def test_policy_depends_on_nothing_else(name: str) -> None:
    """With the same chance, view and actions a policy chooses the same."""
    view = looking(souls=(0, 1, 3))
    actions = [*(Action("play", f"beast{attack}") for attack in range(1, 10)), Action("attack", target="p2"), END]
    many = actions + [Action("play", "dear", Payment(0, 0, (1,), 1, 0), None, f"card-{at}") for at in range(30)]
    first, second = (policy(name)(Chance(1, 1, "test")) for _ in range(2))
    assert [first.choose(view, many) for _ in range(20)] == [second.choose(view, many) for _ in range(20)]


# ------------------------------------------------------------ policies by name


def test_policies_have_names() -> None:
    """Those that come along by theirs, one's own by module and class; anything else is told, with what there is."""
    assert set(SHIPPED) == {"random", "greedy", "reckless", "hoarder", "searching"}
    assert policy("tests.policies:First")(Chance(1, 1, "test"))
    for name in ("nobody", "", "tests.policies:Nobody", "no_such_module:First", "tests.policies:", ":First"):
        with pytest.raises(PolicyNameError, match=r"there is no policy|cannot be loaded"):
            policy(name)


@pytest.mark.parametrize(
    "content", ["x = (", "raise RuntimeError('no')", "raise BaseException('no')", "import no_such_module_at_all"]
)
def test_policy_whose_module_fails_is_told(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that cannot be imported is a fault of its own, whatever it raises."""
    (tmp_path / "failing_module.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PolicyNameError, match="the policy failing_module:Mine cannot be loaded"):
        policy("failing_module:Mine")


def test_what_makes_no_policy_is_told() -> None:
    """What is named must be something that makes a policy."""
    with pytest.raises(PolicyNameError):
        policy("tests.simulated:CARDS")


# ------------------------------------------------------------ policies that fail


FAILING = {
    "Raises": "raised KeyError",
    "Nothing": "None",
    "Forges": "open",
    "Appends": "no-such-card",
    "Equals": "Anything",
    "OfAnotherTurn": "attack",
    "CannotBegin": "no Chance for me",
    "TakesNoChance": "",
    "Exits": "",
    "Base": "raised BaseException('",
    "Leaves": "raised GeneratorExit(",
    "Cancels": "raised CancelledError(",
    "Unspeakable": "raised <class 'tests.policies.UnspeakableError'>",
    "Verbose": "raised much \\udcffmuch \\udcffmuch",
    "Hollow": "raised BaseException()",
    "MissesItself": "cannot be made: BaseException('whether')",
    "CannotBeginAtAll": "cannot be made: BaseException('Chance')",
}


@pytest.mark.parametrize(("name", "reason"), FAILING.items())
def test_policy_that_fails_is_reported_and_the_others_are_played(name: str, reason: str) -> None:
    """A policy that raises, or does what it may not, ends its match alone, with its number, the seed and the reason."""
    run = Run(77, ("blaze", "rift"), ("random", f"tests.policies:{name}"))
    result = play_batch(Batch(run, 1, 6, record=True, cover=True))
    assert result.failed, name
    assert len(result.failed) + len(result.tallies) == 6
    for failed in result.failed:
        assert failed.seed == "77"
        assert 1 <= failed.number <= 6
        assert "p2" in failed.reason
        assert reason in failed.reason
        assert failed.reason.isprintable()
        assert len(failed.reason) < 300
        assert play_match(run, failed.number).failed == failed
    assert len(list(result.matches())) == len(result.tallies)


def test_interrupt_within_a_policy_is_an_interrupt() -> None:
    """It is the run that is interrupted, not a fault of the policy."""
    with pytest.raises(KeyboardInterrupt):
        play_match(Run(77, ("blaze", "rift"), ("random", "tests.policies:Interrupts")), 1)


def test_what_a_policy_says_is_cut() -> None:
    """200 characters are told whole, of more the first 200 and that there are more."""
    assert told("a" * 198) == repr("a" * 198)
    assert told("a" * 199) == "'" + "a" * 199 + "…"


def test_failed_matches_are_not_counted() -> None:
    """What a match that failed used is in no count of the coverage, as it is in no other figure."""
    run = Run(77, ("blaze", "rift"), ("random", "tests.policies:OfAnotherTurn"))
    result = play_batch(Batch(run, 1, 6, cover=True))
    assert result.failed
    assert result.counts.get("start_match", 0) == len(result.tallies)


def test_failed_match_has_the_entries_up_to_the_failure() -> None:
    """What was played before a policy failed can be looked at."""
    played = play_match(Run(77, ("blaze", "rift"), ("random", "tests.policies:Raises")), 1, record=True)
    assert played.failed
    assert played.tally is None
    assert played.failed.entries == len(played.entries) > 1
