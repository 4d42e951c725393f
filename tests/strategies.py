"""Hypothesis strategies: odd rulesets, two to four players, and commands for a given state, legal and illegal ones.

The commands are well-formed but for what `checked` judges: decode their encoding before they are decided.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from domain.rules import AnyCommand, AnyEvent, CommandMeta, Refusal, State, decide, decode_command, fold
from domain.rules import commands as c
from domain.rules.quotes import best_payments, open_piles
from domain.rules.ruleset import ChosenRuleset

T = TypeVar("T")
Builder = Callable[[st.DrawFn, State], AnyCommand]

# ------------------------------------------------------------------------------------------------ names and texts

NOBODY = "nobody"
PLAYERS = (
    "a",
    "b",
    "p1",
    "A",
    "Zo\u00eb",
    "Zoe\u0308",
    'quo"te',
    "com,ma|pipe",
    "\u05d0\u202e\u05d1",
    "\uffee",
    "\U0001f469\u200d\U0001f467",
)
"""Look-alikes, right-to-left, emoji, and two whose order differs by code point and by UTF-16."""
CARDS = (
    *("k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "a"),
    *("~0/~1", "\\u0041", "\u2028", "\ufeff", "null", " ", "\uffee", "\U0001f525", "x" * 64),
)
"""Few enough that names come again, while the card is there and after it went."""
EFFECTS = ("drain", "lantern", "\U0001f525", "drain 2")


def characters() -> st.SearchStrategy[str]:
    """Every character that a name may have."""
    return st.characters(exclude_categories=["Cc", "Cs"])


def texts() -> st.SearchStrategy[str]:
    """Texts of a command, a few of them of odd characters or as long as they may be."""
    return st.sampled_from((*EFFECTS, "L-4", "t" * 500)) | st.text(characters(), min_size=1, max_size=12)


def players() -> st.SearchStrategy[list[str]]:
    """Two to four names of players."""
    return st.lists(st.sampled_from(PLAYERS), min_size=2, max_size=4, unique=True)


def rulesets() -> st.SearchStrategy[ChosenRuleset]:
    """Rulesets with the ends of every range, in all combinations; life is mostly high enough for a long match."""
    return st.builds(
        ChosenRuleset,
        overpay=st.sampled_from(("needed", "any", "least")),
        release_rank=st.integers(0, 3),
        rift_min_rank=st.integers(0, 1),
        sealed_bonus=st.integers(0, 3),
        soulburn_per_power=st.sampled_from((3, 0, 1, 7, 1000)),
        souls_on_leaving=st.sampled_from(("return", "lost")),
        starting_life=st.sampled_from((30, 1_000_000, 200, 20_000, 30, 1_000_000, 6, 1)),
    )


@st.composite
def starts(draw: st.DrawFn) -> c.StartMatch:
    """The first command of a match."""
    seated = tuple(c.NewPlayer(player=name, name=draw(st.none() | texts())) for name in draw(players()))
    origin = draw(st.none() | st.just(c.Origin(match="before", entry=3)))
    return c.StartMatch(
        match=draw(st.sampled_from(("m", *PLAYERS))),
        players=seated,
        ruleset=draw(st.none() | rulesets()),
        origin=origin,
    )


def opening(start: c.StartMatch, dealt: int) -> list[AnyCommand]:
    """What brings a match on: 0 nothing; 1 Souls, shared and on cards of two players; 2 an open Rift too."""
    one, other = start.players[0].player, start.players[1].player
    souls: list[AnyCommand] = [c.Release(rank=rank) for rank in (1, 0, 1, 2, 0, 3)]
    cards: list[AnyCommand] = [
        c.Enter(card="k1", controller=one, rank=2),
        c.Enter(card="k2", controller=other, kind="other"),
        c.Reap(souls=(1,), card="k1"),
        c.Reap(souls=(4, 2), card="k2"),
    ]
    rift: list[AnyCommand] = [c.BeginTurn(player=one), c.OpenRift(player=one, rank=2, souls=(3,))]
    return [[], souls + cards, souls + cards + rift][dealt]


# ------------------------------------------------------------------------------------------------ choices


def one_in(draw: st.DrawFn, count: int) -> bool:
    """Once in so many times, and never in a minimal example."""
    return draw(st.integers(1, count)) == count


def pick(draw: st.DrawFn, of: Iterable[T]) -> T:
    """One of these, the first in a minimal example."""
    return draw(st.sampled_from(list(of)))


def _player(draw: st.DrawFn, state: State) -> str:
    return NOBODY if one_in(draw, 20) else pick(draw, state.players)


def _turn_player(draw: st.DrawFn, state: State) -> str:
    return state.turn.player if state.turn and not one_in(draw, 6) else _player(draw, state)


def _maybe_player(draw: st.DrawFn, state: State) -> str | None:
    return _player(draw, state) if one_in(draw, 5) else None


def _owner(draw: st.DrawFn, state: State) -> str | UnsetType:
    return _player(draw, state) if one_in(draw, 4) else UNSET


def _cause(draw: st.DrawFn) -> str | None:
    return draw(texts()) if one_in(draw, 5) else None


def _card(draw: st.DrawFn, state: State) -> str:
    there = list(state.battlefield)
    return pick(draw, CARDS) if not there or one_in(draw, 15) else pick(draw, there)


def _creature(draw: st.DrawFn, state: State) -> str:
    there = [card.card for card in state.battlefield.values() if card.kind == "creature"]
    return _card(draw, state) if not there or one_in(draw, 10) else pick(draw, there)


def _new_card(draw: st.DrawFn, state: State) -> str:
    absent = [card for card in CARDS if card not in state.battlefield]
    return pick(draw, CARDS) if not absent or one_in(draw, 12) else pick(draw, absent)


def _any_soul(draw: st.DrawFn, state: State) -> int:
    """A Soul wherever it is, mostly; else one that is gone or was never given out."""
    there = [*state.aether, *state.holders]
    if there and not one_in(draw, 8):
        return pick(draw, there)
    numbers: list[int] = [*range(1, state.numbered.souls + 2), 0, -1, c.MAX_INTEGER]
    return pick(draw, numbers)


def _free_soul(draw: st.DrawFn, state: State) -> int:
    if state.holders and one_in(draw, 8):
        return pick(draw, state.holders)
    return _any_soul(draw, state) if not state.aether or one_in(draw, 12) else pick(draw, state.aether)


def _rank(draw: st.DrawFn) -> int | None:
    return pick(draw, (0, 1, 2, 3, None, 4)) if one_in(draw, 3) else draw(st.integers(0, 3))


def _payment_number(draw: st.DrawFn, state: State) -> int:
    if state.payments and not one_in(draw, 8):
        return pick(draw, state.payments)
    return draw(st.integers(0, state.numbered.payments + 1))


def souls_to_pay(draw: st.DrawFn, state: State, player: str, amount: int) -> tuple[int, ...]:
    """The Souls of a payment: right, in another order, short, with one too many, with one twice, or any at all."""
    quoted = best_payments(open_piles(state, player), state.ruleset, amount, 8)[0] if amount > 0 else ()
    how = pick(
        draw, ("right", "right", "right", "right", "right", "shuffled", "short", "more", "twice", "others", "any")
    )
    if not quoted or how == "any":
        return tuple([_any_soul(draw, state) for _ in range(draw(st.integers(0, 4)))])
    right = pick(draw, quoted).souls
    if how == "shuffled":
        return tuple(draw(st.permutations(right)))
    if how == "short":
        return right[1:]
    if how == "more":
        spare = [soul for soul in state.aether if soul not in right]
        return (*right, pick(draw, spare) if spare else _any_soul(draw, state))
    if how == "others":
        theirs = [soul for soul, card in state.holders.items() if state.battlefield[card].controller != player]
        return (*right[1:], *theirs[:1])
    return (*right, right[0]) if how == "twice" else right


# ------------------------------------------------------------------------------------------------ the commands


def _start_match(draw: st.DrawFn, _: State) -> AnyCommand:
    return draw(starts())


def _begin_turn(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.BeginTurn(player=_player(draw, state))


def _take_event(draw: st.DrawFn, state: State) -> AnyCommand:
    event = "rift_summoning" if one_in(draw, 10) else draw(texts())
    return c.TakeEvent(player=_turn_player(draw, state), event=event)


def _enter(draw: st.DrawFn, state: State) -> AnyCommand:
    kind: c.CardKind = pick(draw, ("creature", "creature", "creature", "other"))
    deck: c.Deck = pick(draw, ("main", "main", "extra"))
    return c.Enter(
        card=_new_card(draw, state),
        controller=_player(draw, state),
        owner=_owner(draw, state),
        kind=kind,
        deck=deck,
        rank=_rank(draw) if kind == "creature" or one_in(draw, 8) else None,
        soulless=one_in(draw, 8),
        name=_cause(draw),
        definition=_cause(draw),
    )


def _seal(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.Seal(card=_creature(draw, state))


def _unseal(draw: st.DrawFn, state: State) -> AnyCommand:
    is_sealed = [card.card for card in state.battlefield.values() if card.sealed]
    return c.Unseal(card=pick(draw, is_sealed) if is_sealed else _creature(draw, state))


def _set_soulless(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.SetSoulless(card=_creature(draw, state), soulless=draw(st.booleans()))


def _set_rank(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.SetRank(card=_creature(draw, state), rank=_rank(draw), cause=_cause(draw))


def _change_control(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.ChangeControl(card=_card(draw, state), to=_player(draw, state))


def _destroy(draw: st.DrawFn, state: State) -> AnyCommand:
    cards = tuple([_card(draw, state) for _ in range(draw(st.integers(1, 3)))])
    if not one_in(draw, 12):
        cards = tuple(dict.fromkeys(cards))
    modifiers = None
    if one_in(draw, 3):
        count = draw(st.integers(0, 3))
        modifiers = tuple([_modifier(draw, state, cards) for _ in range(count)])
    return c.Destroy(cards=cards, modifiers=modifiers, cause=_cause(draw), by=_maybe_player(draw, state))


def _modifier(draw: st.DrawFn, state: State, cards: Sequence[str]) -> c.NamedModifier:
    card = _card(draw, state) if one_in(draw, 12) else pick(draw, cards)
    delta = pick(draw, (1, -1, 2, -3, 0, c.MAX_INTEGER, -c.MAX_INTEGER))
    return c.NamedModifier(card=card, name=pick(draw, ("blessing", "curse", "rite", "sealed")), delta=delta)


def _leave(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.Leave(card=_card(draw, state), to=pick(draw, ("hand", "deck", "banished")), by=_maybe_player(draw, state))


def _release(draw: st.DrawFn, state: State) -> AnyCommand:
    rank = pick(draw, (0, 1, 2, 3, 3, 2, 1, 4, -1))
    return c.Release(rank=UNSET if one_in(draw, 8) else rank, cause=_cause(draw), by=_maybe_player(draw, state))


def _reap(draw: st.DrawFn, state: State) -> AnyCommand:
    souls = [_free_soul(draw, state) for _ in range(draw(st.integers(1, 3)))]
    if not one_in(draw, 10):
        souls = list(dict.fromkeys(souls))
    return c.Reap(souls=tuple(souls), card=_card(draw, state), cause=_cause(draw), by=_maybe_player(draw, state))


def _pay(draw: st.DrawFn, state: State) -> AnyCommand:
    player = _player(draw, state)
    amount = pick(draw, (0, -1, 20, c.MAX_INTEGER)) if one_in(draw, 12) else draw(st.integers(1, 6))
    souls = souls_to_pay(draw, state, player, amount)
    effect, cost = pick(draw, ((1, 0), (1, 0), (1, 0), (1, 0), (0, 1), (0, 1), (1, 0), (1, 1), (0, 0)))
    return c.Pay(
        player=player,
        amount=amount,
        souls=souls,
        effect=pick(draw, EFFECTS) if effect else UNSET,
        cost=draw(texts()) if cost else UNSET,
        source=_cause(draw),
    )


def _resolve(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.Resolve(payment=_payment_number(draw, state))


def _fizzle(draw: st.DrawFn, state: State) -> AnyCommand:
    if one_in(draw, 5):
        return c.Fizzle(effect=pick(draw, EFFECTS), reason=_cause(draw))
    effect = pick(draw, EFFECTS) if one_in(draw, 20) else UNSET
    return c.Fizzle(payment=_payment_number(draw, state), effect=effect, reason=_cause(draw))


def _open_rift(draw: st.DrawFn, state: State) -> AnyCommand:
    player = _turn_player(draw, state)
    rank = pick(draw, (0, 4, -1)) if one_in(draw, 15) else draw(st.integers(1, 3))
    return c.OpenRift(player=player, rank=rank, souls=souls_to_pay(draw, state, player, rank))


def _summon(draw: st.DrawFn, state: State) -> AnyCommand:
    rift = state.rift
    rank = draw(st.integers(0, 3)) if rift is None or one_in(draw, 4) else draw(st.integers(1, rift.rank))
    return c.Summon(
        player=_rift_player(draw, state),
        card=_new_card(draw, state),
        rank=rank,
        deck=pick(draw, (UNSET, UNSET, "main", "extra")),
        name=_cause(draw),
        owner=_owner(draw, state),
        soulless=one_in(draw, 8),
    )


def _close_rift(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.CloseRift(player=_rift_player(draw, state))


def _rift_player(draw: st.DrawFn, state: State) -> str:
    return state.rift.player if state.rift and not one_in(draw, 10) else _player(draw, state)


def _change_life(draw: st.DrawFn, state: State) -> AnyCommand:
    names = [_player(draw, state) for _ in range(draw(st.integers(1, 3)))]
    if not one_in(draw, 15):
        names = list(dict.fromkeys(names))
    deltas = (-1, 5, -4, 0, -40, 1000, -c.MAX_INTEGER, c.MAX_INTEGER) if one_in(draw, 4) else (-1, 2, -2, 9)
    lives = {name: player.life for name, player in state.players.items()}
    changes = tuple(
        [
            c.LifeChange(player=name, delta=-lives.get(name, 1) if one_in(draw, 12) else pick(draw, deltas))
            for name in names
        ]
    )
    return c.ChangeLife(changes=changes, reason=pick(draw, ("combat", "healing")))


def _concede(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.Concede(player=_player(draw, state))


def _end_match(draw: st.DrawFn, state: State) -> AnyCommand:
    return c.EndMatch(winner=_maybe_player(draw, state), reason=_cause(draw))


# ------------------------------------------------------------------------------------------------ rulings


def _ruling(draw: st.DrawFn, state: State) -> AnyCommand:
    corrections = [correction(draw, state) for _ in range(draw(st.integers(1, 3)))]
    if state.status == "ended" and not one_in(draw, 3):
        corrections = _reopening(draw, state) + corrections[1:]
    about = draw(st.integers(0, state.entries + 1)) if one_in(draw, 3) else None
    return c.Ruling(judge="judge", reason=draw(texts()), about=about, corrections=tuple(corrections))


def _reopening(draw: st.DrawFn, state: State) -> list[c.Correction]:
    """What lets an ended match go on: players who are in it, with life, and the result undone."""
    made = []
    for player in state.players.values():
        if player.defeated:
            made.append(c.Correction(defeated=c.DefeatCorrection(player=player.player, defeated=False)))
        if player.life <= 0 and not one_in(draw, 6):
            delta = min(c.MAX_INTEGER, 30 - player.life)
            made.append(c.Correction(life=c.LifeChange(player=player.player, delta=delta)))
    return [*made, c.Correction(result=c.ResultCorrection(status="running"))]


def correction(draw: st.DrawFn, state: State) -> c.Correction:
    """One correction, of every kind, that may or may not be possible."""
    if one_in(draw, 40):
        two = one_in(draw, 2)
        return c.Correction(
            payment=c.PaymentCorrection(payment=1), event=c.EventCorrection(event=None) if two else UNSET
        )
    return _CORRECTIONS["result" if one_in(draw, 30) else pick(draw, _corrected(draw, state))](draw, state)


def _corrected(draw: st.DrawFn, state: State) -> list[str]:
    """The kinds of corrections that may well be possible now; sometimes all kinds."""
    kinds = ["rift"] * 4 if state.rift else []
    kinds += ["payment"] * 2 if state.payments else []
    kinds += ["rank", "rank", "soul", "soul"] if state.aether or state.holders else []
    kinds += ["event"] if state.turn else []
    return list(_CORRECTIONS) if one_in(draw, 6) else [*kinds, "new_soul", "new_soul", "life", "defeated"]


def _life_correction(draw: st.DrawFn, state: State) -> c.Correction:
    delta = pick(draw, (3, -1, 1, -3, 0, -40, c.MAX_INTEGER))
    return c.Correction(life=c.LifeChange(player=_player(draw, state), delta=delta))


def _soul_correction(draw: st.DrawFn, state: State) -> c.Correction:
    soul = _any_soul(draw, state)
    on_card = c.OnCard(card=_card(draw, state))
    to = draw(st.sampled_from(("aether", "gone")) | st.just(on_card))
    return c.Correction(soul=c.SoulMove(soul=soul, to=to))  # type: ignore[arg-type]  # str: one of its two literals


def _new_soul_correction(draw: st.DrawFn, state: State) -> c.Correction:
    to = c.OnCard(card=_card(draw, state)) if draw(st.booleans()) else "aether"
    return c.Correction(new_soul=c.NewSoul(rank=_soul_rank(draw), to=to))  # type: ignore[arg-type]  # the same


def _rank_correction(draw: st.DrawFn, state: State) -> c.Correction:
    return c.Correction(rank=c.RankCorrection(soul=_any_soul(draw, state), rank=_soul_rank(draw)))


def _soul_rank(draw: st.DrawFn) -> int:
    return pick(draw, (-1, 4)) if one_in(draw, 8) else draw(st.integers(0, 3))


def _event_correction(draw: st.DrawFn, _: State) -> c.Correction:
    return c.Correction(event=c.EventCorrection(event=draw(st.none() | texts())))


def _payment_correction(draw: st.DrawFn, state: State) -> c.Correction:
    return c.Correction(payment=c.PaymentCorrection(payment=_payment_number(draw, state)))


def _defeat_correction(draw: st.DrawFn, state: State) -> c.Correction:
    return c.Correction(defeated=c.DefeatCorrection(player=_player(draw, state), defeated=one_in(draw, 4)))


def _result_correction(draw: st.DrawFn, state: State) -> c.Correction:
    status: Literal["running", "ended"] = "ended" if draw(st.booleans()) else "running"
    return c.Correction(result=c.ResultCorrection(status=status, winner=_maybe_player(draw, state)))


def _rift_correction(draw: st.DrawFn, _: State) -> c.Correction:
    highest, close = draw(st.integers(-1, 4)), not one_in(draw, 8)
    both = one_in(draw, 12)
    one = draw(st.booleans())
    return c.Correction(
        rift=c.RiftCorrection(highest=highest if one or both else UNSET, close=UNSET if one and not both else close)
    )


_CORRECTIONS: dict[str, Callable[[st.DrawFn, State], c.Correction]] = {
    "new_soul": _new_soul_correction,
    "soul": _soul_correction,
    "rank": _rank_correction,
    "life": _life_correction,
    "event": _event_correction,
    "payment": _payment_correction,
    "rift": _rift_correction,
    "defeated": _defeat_correction,
    "result": _result_correction,
}


# ------------------------------------------------------------------------------------------------ any command

BUILDERS: dict[str, Builder] = {
    "release": _release,
    "enter": _enter,
    "pay": _pay,
    "begin_turn": _begin_turn,
    "open_rift": _open_rift,
    "summon": _summon,
    "close_rift": _close_rift,
    "reap": _reap,
    "destroy": _destroy,
    "leave": _leave,
    "change_control": _change_control,
    "resolve": _resolve,
    "fizzle": _fizzle,
    "change_life": _change_life,
    "ruling": _ruling,
    "take_event": _take_event,
    "set_rank": _set_rank,
    "seal": _seal,
    "unseal": _unseal,
    "set_soulless": _set_soulless,
    "concede": _concede,
    "end_match": _end_match,
    "start_match": _start_match,
}
"""How a command of each type is made."""

_SELDOM = ("concede", "end_match", "start_match")
_USUAL = tuple([kind for kind in BUILDERS if kind not in _SELDOM])


@st.composite
def commands(draw: st.DrawFn, state: State) -> AnyCommand:
    """A command for this state, legal or illegal; of every type, those that end the match seldom."""
    kind = _kind(draw, state)
    command = BUILDERS[kind](draw, state)
    if one_in(draw, 12):
        meta = CommandMeta(id=draw(texts()), actor=_cause(draw), at="2024-02-29T23:59:59.5+02:00", expect=state.entries)
        command = msgspec.structs.replace(command, meta=meta)
    return command


def _kind(draw: st.DrawFn, state: State) -> str:
    if state.status == "ended" and not one_in(draw, 3):
        return "ruling"
    if one_in(draw, 40):
        return pick(draw, _SELDOM)
    return pick(draw, _USUAL if one_in(draw, 5) else _sensible(state))


def _sensible(state: State) -> list[str]:
    """The types of which some command may well be accepted now, the likeliest more than once."""
    kinds: list[str] = []
    if state.rift:
        kinds += ["summon"] * 3 + ["close_rift"] * 2
        undefeated = [player for player in state.players.values() if not player.defeated]
        kinds += ["concede"] if len(undefeated) > 2 else []
    elif state.turn and state.turn.event is None:
        kinds += ["open_rift"] * 4 + ["take_event"]
    if state.payments:
        kinds += ["fizzle", "fizzle", "resolve"]
    if state.aether or state.holders:
        kinds += ["pay"] * (4 if len(state.aether) > 2 else 2)
    if state.battlefield:
        kinds += ["reap"] * 3 if state.aether else []
        kinds += ["destroy", "destroy", "leave", "change_control", "set_rank", "seal", "unseal", "set_soulless"]
    kinds += ["release"] * (4 if len(state.aether) < 8 else 1)
    kinds += ["enter"] * (3 if len(state.battlefield) < 5 else 1)
    return [*kinds, "ruling", "ruling", "change_life"] + ["begin_turn"] * (0 if state.rift else 2)


# ------------------------------------------------------------------------------------------------ what a command does

Outcome = tuple[AnyEvent, ...] | Refusal


def outcome(state: State, command: AnyCommand) -> Outcome:
    """What a well-formed command does to a state: the events, which are folded onto it, or the refusal."""
    try:
        events = decide(state, command)
    except Refusal as refusal:
        return refusal
    fold(events, state)
    return events


def well_formed(command: AnyCommand) -> AnyCommand | Refusal:
    """The command as it comes out of its own JSON."""
    try:
        return decode_command(msgspec.json.encode(command))
    except Refusal as refusal:
        return refusal


@st.composite
def matches(draw: st.DrawFn, longest: int = 25) -> list[AnyCommand]:
    """Well-formed commands, the first a start_match, each made for the state that the ones before it left."""
    state = State()
    played: list[AnyCommand] = []
    command: AnyCommand = draw(starts())
    for _ in range(draw(st.integers(1, longest))):
        formed = well_formed(command)
        if not isinstance(formed, Refusal):
            played.append(formed)
            outcome(state, formed)
        command = draw(commands(state))
    return played
