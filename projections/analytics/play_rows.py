"""The rows of what players did: payments, what burned, Rifts and who came through, cards, life; and of the players."""

from collections import defaultdict

from domain.rules import State
from domain.rules import events as e
from projections import life, payments, players, rifts, soulburn
from projections.analytics.taken import Taken, Values


def player_rows(taken: Taken, started: e.MatchStarted, *, simulated: bool) -> Values:
    """The table of players; `simulated` ones have decks and policies."""
    state, rows = taken.state, Values()
    tallies = {row[1]: row[2:] for row in players.TALLIES.merged(taken.changes[players.TALLIES])}
    paid, wasted = defaultdict[str, int](int), defaultdict[str, int](int)
    for payment in taken.changes[payments.PAYMENTS]:
        paid[payment[3]] += payment[4]
    for burn in taken.changes[soulburn.SOULBURN]:
        wasted[burn[3]] += burn[6]
    for seat, player in enumerate(started.players):
        name = player.player
        now = state.players[name]
        deck, comma, policy = (player.name or "").rpartition(", ")
        known = simulated and comma
        collected, spent, *burned = tallies[name]
        rows.extend(
            (
                name,
                seat,
                player.name,
                deck if known else None,
                policy if known else None,
                _result(state, name),
                name == taken.told.first,
                now.life,
                taken.told.fallen.get(name, "ruling") if now.defeated else None,
                collected,
                spent,
                paid[name],
                *burned[:3],
                wasted[name],
                *burned[3:],
            )
        )
    return rows


def _result(state: State, player: str) -> str:
    if state.status != "ended":
        return "running"
    if state.winner is None:
        return "drawn"
    return "won" if state.winner == player else "lost"


def payment_rows(taken: Taken) -> Values:
    """The table of payments."""
    changes, turns, rows = taken.changes, taken.turns, Values()
    ends = {end[1]: end[2:] for end in changes[payments.ENDS]}
    opened = {rift[5]: rift[1] for rift in changes[rifts.RIFTS]}
    burned, wasted = defaultdict[int, int](int), defaultdict[int, int](int)
    of_rifts = defaultdict[int, int](int)
    for burn in changes[soulburn.SOULBURN]:
        if burn[10]:
            burned[burn[10]] += burn[8]
            wasted[burn[10]] += burn[6]
        else:
            of_rifts[burn[11]] += burn[6]
    for _, number, entry, player, amount, power, effect, cost, source, spent, least in changes[payments.PAYMENTS]:
        rift = opened.get(number)
        kind = "effect" if effect is not None else "cost" if cost is not None else "rift"
        end, outcome, reason = ends.get(number, (None, "open" if kind == "effect" else "settled", None))
        consumed = payments.spent_souls(spent)
        rows.extend(
            (
                number,
                entry,
                turns[entry - 1],
                player,
                kind,
                effect,
                cost,
                source,
                rift,
                amount,
                power,
                len(consumed),
                sum(each.card is not None for each in consumed),
                outcome,
                end,
                reason,
                burned[number],
                least,
                wasted[number] + (of_rifts[rift] if rift else 0),
            )
        )
    return rows


def soulburn_rows(taken: Taken) -> Values:
    """The table of Soulburns."""
    changes, turns, rows = taken.changes, taken.turns, Values()
    paid = {payment[1]: payment for payment in changes[payments.PAYMENTS]}
    opened = {rift[1]: rift for rift in changes[rifts.RIFTS]}
    for _, n, entry, player, source, rule, power, per_power, damage, left, payment, rift in changes[soulburn.SOULBURN]:
        whole = opened[rift][4] if source == "rift" else paid[payment][5 if source == "overpay" else 4]
        rows.extend(
            (
                n,
                entry,
                turns[entry - 1],
                player,
                source,
                rule,
                whole,
                whole - power,
                power,
                per_power,
                damage,
                left,
                payment,
                rift,
            )
        )
    return rows


def rift_rows(taken: Taken) -> Values:
    """The table of Rifts."""
    changes, turns, rows = taken.changes, taken.turns, Values()
    ends = {end[1]: end[2:] for end in changes[rifts.ENDS]}
    powers = {payment[1]: payment[5] for payment in changes[payments.PAYMENTS]}
    came, highest, burned = defaultdict[int, int](int), defaultdict[int, int](int), defaultdict[int, int](int)
    for _, rift, _n, _part, _entry, card, _name, rank in changes[rifts.SUMMONS]:
        came[rift] += card is not None
        highest[rift] = rank if card is None else max(highest[rift], rank)
    for burn in changes[soulburn.SOULBURN]:
        if burn[11]:
            burned[burn[11]] += burn[8]
    for _, rift, entry, player, rank, payment in changes[rifts.RIFTS]:
        end, outcome, top, unused = ends.get(rift, (None, "open", highest[rift], None))
        rows.extend(
            (
                rift,
                entry,
                turns[entry - 1],
                player,
                rank,
                payment,
                powers[payment],
                came[rift],
                top,
                unused,
                outcome,
                end,
                burned[rift],
            )
        )
    return rows


def summon_rows(taken: Taken) -> Values:
    """The table of creatures that came through them."""
    turns, ranks, rows = taken.turns, {rift[1]: rift[4] for rift in taken.changes[rifts.RIFTS]}, Values()
    for stay in taken.told.stays:
        came = stay.came
        if stay.rift:
            rows.extend(
                (
                    came.n,
                    came.entry,
                    turns[came.entry - 1],
                    stay.rift,
                    came.controller,
                    came.card,
                    came.definition,
                    came.rank,
                    ranks[stay.rift],
                )
            )
    return rows


def card_rows(taken: Taken) -> Values:
    """The table of cards."""
    turns, state = taken.turns, taken.state
    rows = Values()
    for stay in taken.told.stays:
        came, gone = stay.came, stay.gone
        last = gone or state.battlefield[came.card]
        left = isinstance(gone, e.CardLeft)
        rows.extend(
            (
                came.n,
                came.entry,
                turns[came.entry - 1],
                came.card,
                came.name,
                came.definition,
                came.kind,
                came.deck,
                last.rank,
                last.soulless,
                last.sealed,
                came.owner,
                came.controller,
                last.controller,
                stay.rift,
                stay.reaped,
                len(last.souls),
                ("left" if left else "destroyed") if gone else "there",
                gone and gone.entry,
                gone and turns[gone.entry - 1],
                gone and gone.by,
                (gone.to if isinstance(gone, e.CardLeft) else gone.cause) if gone else None,
                stay.soul,
            )
        )
    return rows


def life_rows(taken: Taken) -> Values:
    """The table of changes of life."""
    turns, rows = taken.turns, Values()
    for _, n, part, entry, *rest in taken.changes[life.LIFE]:
        rows.extend((n, part, entry, turns[entry - 1], *rest))
    return rows
