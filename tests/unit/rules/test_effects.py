import pytest

from tests.kit import Table, of
from tests.unit.rules.moves import concede, fizzle, open_rift, pay, releases, resolve, turn


def test_E1_payment_for_an_effect_is_open() -> None:
    """Until its effect resolves or fizzles, the state shows the payment."""
    table = Table(*releases(2), pay("a", 2, 1))
    table.holds(payments={"1": {"player": "a", "amount": 2, "power": 3, "effect": "drain"}})
    table.when(resolve(1)).then(of("effect_resolved", payment=1, effect="drain")).holds(payments={})


@pytest.mark.parametrize("first", [resolve(1), fizzle(1)], ids=["resolved", "fizzled"])
@pytest.mark.parametrize("second", [resolve(1), fizzle(1)], ids=["resolve", "fizzle"])
def test_E1_effect_resolves_or_fizzles_once(first: dict[str, object], second: dict[str, object]) -> None:
    """A closed payment's effect neither resolves nor fizzles again."""
    Table(*releases(0), pay("a", 1, 1), first).when(second).refused("E-1", payment=1)


@pytest.mark.parametrize("payment", [0, -1, 2])
def test_E1_payment_that_never_was_is_refused(payment: int) -> None:
    """Only payments that were made have effects."""
    table = Table(*releases(0), pay("a", 1, 1))
    table.when(resolve(payment)).refused("input", "/payment", payment=payment, payments=1)
    table.when(fizzle(payment)).refused("input", "/payment", payment=payment, payments=1)


def test_E1_stays_open_over_turns() -> None:
    """Turns later the effect of a payment still fizzles, and the payer burns."""
    table = Table(turn(), *releases(0), pay("a", 1, 1), turn("b"), turn("a"), turn("b")).when(fizzle(1))
    table.then(of("effect_fizzled", payment=1), of("soulburn_taken", player="a", power=1, life=27))


def test_E1_stays_open_when_its_payer_is_defeated() -> None:
    """The effect of a defeated player resolves, or fizzles without Soulburn (L-3)."""
    table = Table(*releases(0, 0), pay("a", 1, 1), pay("a", 1, 2), concede("a"), players="abc")
    table.holds(payments={"1": {"player": "a"}, "2": {"player": "a"}})
    table.when(resolve(1)).then(of("effect_resolved", payment=1))
    table.when(fizzle(2)).then(of("effect_fizzled", payment=2)).holds(payments={}, players={"a": {"life": 30}})


def test_E2_other_payments_are_settled_at_once() -> None:
    """What was paid for a cost or a Rift is never open, so it neither resolves nor fizzles."""
    table = Table(turn(), *releases(0, 0), pay("a", 1, 1, cost="toll"), open_rift("a", 1, 2)).holds(payments={})
    table.when(fizzle(1)).refused("E-1", payment=1)
    table.when(fizzle(2)).refused("E-1", payment=2)
    table.when(resolve(1)).refused("E-1", payment=1)
    table.when(resolve(2)).refused("E-1", payment=2)


def test_E3_unpaid_effect_fizzles_without_soulburn() -> None:
    """An effect for which no Soulrift was paid fizzles too; nobody burns."""
    table = Table().when(of("fizzle", effect="free spell", reason="no target"))
    table.then(of("effect_fizzled", payment=None, effect="free spell", reason="no target"))
    table.holds(players={"a": {"life": 30}, "b": {"life": 30}})


def test_E3_not_while_a_payment_for_it_is_open() -> None:
    """An effect that was paid for fizzles by its payment's number; once that is closed, the name is free again."""
    table = Table(*releases(0, 0, 0), pay("a", 1, 1), pay("b", 1, 2), pay("a", 1, 3, effect="other"))
    table.when(of("fizzle", effect="drain")).refused("E-1", payments=[1, 2])
    table.given(resolve(1)).when(of("fizzle", effect="drain")).refused("E-1", payments=[2])
    table.given(fizzle(2)).when(of("fizzle", effect="drain")).then(of("effect_fizzled", payment=None))
