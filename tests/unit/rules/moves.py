"""Short calls for the commands that most tests need; each returns the plain object of the wire."""

from typing import Any

from tests.kit import Json, of


def turn(player: str = "a") -> Json:
    """A turn of this player begins."""
    return of("begin_turn", player=player)


def enter(card: str, controller: str = "a", **fields: Any) -> Json:
    """A card enters under this player's control."""
    return of("enter", card=card, controller=controller, **fields)


def releases(*ranks: int) -> tuple[Json, ...]:
    """One Soul of each of these ranks, in order, numbered from the next number up."""
    return tuple(of("release", rank=rank) for rank in ranks)


def reap(card: str, *souls: int, **fields: Any) -> Json:
    """These Souls move onto the card."""
    return of("reap", card=card, souls=list(souls), **fields)


def control(card: str, to: str) -> Json:
    """This player gains control of the card."""
    return of("change_control", card=card, to=to)


def destroy(*cards: str, **fields: Any) -> Json:
    """These cards are destroyed together."""
    return of("destroy", cards=list(cards), **fields)


def modifier(card: str, name: str, delta: int) -> Json:
    """A modifier of a destruction."""
    return {"card": card, "name": name, "delta": delta}


def leave(card: str, to: str = "hand", **fields: Any) -> Json:
    """The card leaves without being destroyed."""
    return of("leave", card=card, to=to, **fields)


def pay(player: str, amount: int, *souls: int, **fields: Any) -> Json:
    """Soulrift `amount` for an effect, or for the `cost` that is named."""
    what = fields if "cost" in fields else {"effect": "drain", **fields}
    return of("pay", player=player, amount=amount, souls=list(souls), **what)


def resolve(payment: int) -> Json:
    """The effect of this payment resolves."""
    return of("resolve", payment=payment)


def fizzle(payment: int, **fields: Any) -> Json:
    """The effect of this payment fizzles."""
    return of("fizzle", payment=payment, **fields)


def open_rift(player: str, rank: int, *souls: int) -> Json:
    """A Rift of this rank, paid with these Souls."""
    return of("open_rift", player=player, rank=rank, souls=list(souls))


def summon(player: str, card: str, rank: int, **fields: Any) -> Json:
    """A creature of this rank comes through the Rift."""
    return of("summon", player=player, card=card, rank=rank, **fields)


def close_rift(player: str) -> Json:
    """The player is done with the Rift."""
    return of("close_rift", player=player)


def lives(**deltas: int) -> Json:
    """Combat changes the life of these players, in this order."""
    changes = [{"player": player, "delta": delta} for player, delta in deltas.items()]
    return of("change_life", changes=changes, reason="combat")


def concede(player: str) -> Json:
    """The player gives up."""
    return of("concede", player=player)


def ruling(*corrections: Json, **fields: Any) -> Json:
    """A judge's ruling with these corrections."""
    return of("ruling", judge="judge", reason="missed trigger", corrections=list(corrections), **fields)


def life(player: str, delta: int) -> Json:
    """The correction of a player's life."""
    return {"life": {"player": player, "delta": delta}}


def defeated(player: str, *, to: bool = True) -> Json:
    """The correction of whether a player is defeated."""
    return {"defeated": {"player": player, "defeated": to}}


def result(status: str, **fields: Any) -> Json:
    """The correction of the match's result."""
    return {"result": {"status": status, **fields}}


def soul(number: int, rank: int) -> Json:
    """A Soul as the state and the events show it."""
    return {"soul": number, "rank": rank}
