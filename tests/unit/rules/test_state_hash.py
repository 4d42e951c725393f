import json
from hashlib import sha256

import pytest
import rfc8785

from domain.rules import State, canonical_form, state_hash
from tests.kit import Json, Table, of
from tests.unit.rules.moves import (
    concede,
    destroy,
    enter,
    life,
    open_rift,
    pay,
    reap,
    releases,
    ruling,
    summon,
    turn,
)
from tests.unit.rules.walks import WALKS, walk

EXAMPLE = (
    b'{"aether":[{"rank":2,"soul":2}],"battlefield":[{"card":"wynn-7","controller":"a","deck":"extra","entered":3,'
    b'"kind":"creature","owner":"b","rank":1,"sealed":false,"soulless":false,"souls":[{"rank":0,"soul":1}]}],'
    b'"gone":0,"numbered":{"payments":0,"rifts":0,"souls":2},"payments":[],"players":[{"defeated":false,"life":30,'
    b'"player":"b"},{"defeated":false,"life":30,"player":"a"}],"rift":null,"rules":1,"ruleset":{"overpay":"needed",'
    b'"release_rank":0,"rift_min_rank":1,"sealed_bonus":1,"soulburn_per_power":3,"souls_on_leaving":"return",'
    b'"starting_life":30},"status":"running","turn":{"event":null,"number":1,"player":"a"},"winner":null}'
)
EXAMPLE_HASH = "7780c0481419a064add3c95e405632e9154b270529df371c7af52c5f33e756c6"


def test_worked_example() -> None:
    """The canonical form of the worked example, byte for byte, and its hash; frozen with version 1 of the rules."""
    wynn = enter("wynn-7", "a", owner="b", deck="extra", rank=1)
    table = Table(turn("a"), wynn, *releases(0, 2), reap("wynn-7", 1), players="ba")
    assert canonical_form(table.state) == EXAMPLE
    assert state_hash(table.state) == sha256(EXAMPLE).hexdigest() == EXAMPLE_HASH
    table.holds(state_hash=EXAMPLE_HASH)


def by_the_contract(state: State) -> Json:
    """What the canonical form holds, put together from the state's view."""
    view = state.view()
    for descriptive in ("match", "entries", "state_hash"):
        del view[descriptive]
    view["players"] = [
        {"player": name, "life": player["life"], "defeated": player["defeated"]}
        for name, player in view["players"].items()
    ]
    view["battlefield"] = [
        {"card": name, **{key: value for key, value in card.items() if key not in {"name", "definition"}}}
        for name, card in sorted(view["battlefield"].items())
    ]
    view["payments"] = [
        {"payment": number, **view["payments"][str(number)]} for number in sorted(map(int, view["payments"]))
    ]
    return view


@pytest.mark.parametrize("seed", WALKS)
def test_canonical_form_is_rfc_8785(seed: int) -> None:
    """After every entry of random matches an independent implementation of RFC 8785 gives the same bytes."""
    for state in walk(seed):
        assert canonical_form(state) == rfc8785.dumps(by_the_contract(state))


ODD = ("\uff5e", "\U0001f600", "~", 'a "quoted" \\ name', "</script>", "\u2028", "e\u0301", "\u202eabc", "\ufeff", "a")
"""Names whose order differs by code point and by UTF-16, or that need care in JSON."""


def test_canonical_form_of_odd_names() -> None:
    """Cards are sorted by code point, and no character is escaped that RFC 8785 leaves as it is."""
    taken = of("take_event", player="a", event=ODD[3])
    paid = pay("b", 1, 1, effect="\u2028 \U0001f600")
    table = Table(turn(), *releases(0), taken, paid, *(enter(name) for name in ODD))
    assert canonical_form(table.state) == rfc8785.dumps(by_the_contract(table.state))
    cards = [card["card"] for card in json.loads(canonical_form(table.state))["battlefield"]]
    assert cards == ["</script>", "a", 'a "quoted" \\ name', "e\u0301", "~", *cards[5:]]
    assert cards[5:] == ["\u2028", "\u202eabc", "\ufeff", "\uff5e", "\U0001f600"]


def test_canonical_form_of_an_open_rift_open_payments_and_an_end() -> None:
    """Rift, payments, slot, defeat and winner are in it."""
    table = Table(turn(), *releases(0, 1, 3), pay("b", 1, 1), pay("a", 2, 2), open_rift("a", 3, 3), summon("a", "x", 1))
    form = json.loads(canonical_form(table.state))
    assert form["rift"] == {"rift": 1, "player": "a", "rank": 3, "highest": 1}
    assert form["payments"] == [
        {"payment": 1, "player": "b", "amount": 1, "power": 1, "effect": "drain"},
        {"payment": 2, "player": "a", "amount": 2, "power": 2, "effect": "drain"},
    ]
    assert form["turn"] == {"number": 1, "player": "a", "event": "rift_summoning"}
    form = json.loads(canonical_form(table.given(concede("b")).state))
    assert (form["status"], form["winner"], form["rift"], form["gone"]) == ("ended", "a", None, 3)


def test_what_only_describes_is_not_in_the_hash() -> None:
    """Names, definitions, causes, reasons, doers and sources make no difference to it."""

    def told(*, described: bool) -> str:
        words = {"cause": "storm", "by": "b"} if described else {}
        named = {"name": "Wynn", "definition": "wynn"} if described else {}
        table = Table(enter("x", **named), of("seal", card="x"), of("release", **words))
        table.given(of("set_rank", card="x", rank=2, **({"cause": "growth"} if described else {})))
        table.given(reap("x", 1, **words), pay("a", 1, 1, **({"source": "Old Altar"} if described else {})))
        table.given(destroy("x", **words), enter("y", **named))
        return state_hash(table.state)

    assert told(described=True) == told(described=False)


def test_match_and_meta_are_not_in_the_hash() -> None:
    """Two matches of other names, with other tellers, have the same hash after the same commands."""
    table = Table(of("release", meta={"id": "1", "actor": "server", "at": "2026-01-31T12:00:00Z", "expect": 1}))
    other = State(match="other", entries=table.state.entries)
    assert state_hash(other) == state_hash(State())
    assert state_hash(table.state) == state_hash(Table(of("release")).state)


def test_everything_else_is_in_the_hash() -> None:
    """Each of these commands leaves a hash of its own."""
    base = (turn(), enter("x"), *releases(0, 0), pay("a", 1, 2))
    each: list[tuple[Json, ...]] = [
        (),
        (turn(),),
        (turn("b"),),
        (of("take_event", player="a", event="omen"),),
        (of("take_event", player="a", event="feast"),),
        (of("seal", card="x"),),
        (of("set_soulless", card="x", soulless=True),),
        (of("set_rank", card="x", rank=0),),
        (of("change_control", card="x", to="b"),),
        (of("leave", card="x", to="hand"),),
        (reap("x", 1),),
        (of("resolve", payment=1),),
        (of("fizzle", payment=1),),
        (open_rift("a", 1, 1),),
        (ruling(life("a", -1)),),
        (ruling({"soul": {"soul": 1, "to": "gone"}}),),
        (ruling({"rank": {"soul": 1, "rank": 1}}),),
        (concede("a"),),
        (of("end_match"),),
        (of("end_match", winner="a"),),
        (enter("y"),),
        (enter("y", owner="b"),),
        (enter("y", kind="other"),),
        (enter("y", deck="extra", rank=1),),
        (of("release"), enter("y")),
        (enter("y"), of("release")),
    ]
    hashes = {state_hash(Table(*base, *more).state) for more in each}
    assert len(hashes) == len(each)
