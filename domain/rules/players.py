"""Deciders of players, turns and the end of a match: R-1, R-8, L-1 to L-7."""

from collections.abc import Iterable

from msgspec import UNSET

from domain.rules import commands as c
from domain.rules import events as e
from domain.rules.ending import Because, defeat, end
from domain.rules.lookups import able, defeated, no_player
from domain.rules.refusal import Refusal, bad_input, pointer
from domain.rules.ruleset import RULES_VERSION, Ruleset
from domain.rules.state import State, Turn


def start_match(state: State, command: c.StartMatch) -> tuple[e.AnyEvent, ...]:
    if state.entries:
        raise bad_input("/type", "the match has begun already: there is no second start_match")
    if command.match is UNSET:
        raise bad_input("/match", "the match has no name")
    if command.private:
        _all_hidden(command.players)
    players = tuple([e.SeatedPlayer(new.name, new.player) for new in command.players])
    ruleset = command.ruleset.complete() if command.ruleset else Ruleset()
    private = command.private or UNSET
    return (e.MatchStarted(1, 1, command.match, command.origin, players, RULES_VERSION, ruleset, private),)


def _all_hidden(players: Iterable[c.NewPlayer]) -> None:
    for index, player in enumerate(players):
        if player.name is not None and not c.is_commitment(player.name):
            path = pointer("players", index, "name")
            raise bad_input(path, "in a private match a commitment stands for the name, made when the match is stored")


def begin_turn(state: State, command: c.BeginTurn) -> tuple[e.AnyEvent, ...]:
    player = state.players.get(command.player)
    if player is None:
        raise no_player(state, command.player, "player")
    if player.defeated:
        raise defeated(player)
    if state.rift:
        raise Refusal(
            "R-8",
            f"no turn begins while a Rift is open: {state.rift.player} must close Rift {state.rift.rift} first",
            rift=state.rift.rift,
            player=state.rift.player,
        )
    number = state.turn.number + 1 if state.turn else 1
    return (e.TurnBegan(state.entries + 1, state.events + 1, number, command.player),)


def take_event(state: State, command: c.TakeEvent) -> tuple[e.AnyEvent, ...]:
    able(state, command.player)
    turn = state.turn
    if turn is None or turn.player != command.player:
        raise Refusal("R-1", f"{command.player} has an Event only on {command.player}'s own turn; {whose_turn(state)}")
    if turn.event is not None:
        raise event_used(turn)
    return (e.EventTaken(state.entries + 1, state.events + 1, command.event, command.player),)


def event_used(turn: Turn) -> Refusal:
    """R-1: one Event in each turn."""
    return Refusal("R-1", f"{turn.player} has used this turn's Event already: {turn.event}", event=turn.event)


def whose_turn(state: State) -> str:
    return f"it is {state.turn.player}'s turn" if state.turn else "no turn has begun yet"


def change_life(state: State, command: c.ChangeLife) -> tuple[e.AnyEvent, ...]:
    events: list[e.AnyEvent] = []
    fallen: dict[str, Because] = {}
    for change in command.changes:
        player = state.players.get(change.player)
        if player is None:
            raise no_player(state, change.player, "changes", len(events), "player")
        life = player.life + change.delta
        if life > c.MAX_INTEGER or life < -c.MAX_INTEGER:
            raise life_out_of_range("changes", len(events), "delta")
        if life <= 0 and not player.defeated:
            fallen[change.player] = "life"
        events.append(
            e.LifeChanged(
                state.entries + 1, state.events + len(events) + 1, change.delta, life, change.player, command.reason
            )
        )
    if fallen:
        defeat(state, events, fallen, state.rift)
    return tuple(events)


def life_out_of_range(*path: str | int) -> Refusal:
    """Life is never clipped (L-2), but it stays a number that every reader keeps exact."""
    told = f"the life that this leaves is beyond {c.MAX_INTEGER} either way"
    return bad_input(pointer(*path), told, highest=c.MAX_INTEGER)


def concede(state: State, command: c.Concede) -> tuple[e.AnyEvent, ...]:
    able(state, command.player)
    events: list[e.AnyEvent] = []
    defeat(state, events, {command.player: "concede"}, state.rift)
    return tuple(events)


def end_match(state: State, command: c.EndMatch) -> tuple[e.AnyEvent, ...]:
    if command.winner is not None:
        able(state, command.winner, "winner")
    events: list[e.AnyEvent] = []
    end(state, events, command.winner, command.reason, state.rift)
    return tuple(events)
