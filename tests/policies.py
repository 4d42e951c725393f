"""Policies for tests: those that fail, those that look into everything, and those that meddle."""

import pickle
from asyncio import CancelledError
from collections.abc import Sequence
from typing import ClassVar

from simulation.chance import Chance
from simulation.views import Action, View


class First:
    """Always the first action."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """The first action."""
        del view
        return actions[0]


class Later(First):
    """The first action, for five decisions; then `fail`."""

    def __init__(self, chance: Chance) -> None:
        super().__init__(chance)
        self.asked = 0

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """The first action, unless this is the sixth decision."""
        self.asked += 1
        return self.fail(actions) if self.asked > 5 else super().choose(view, actions)

    def fail(self, actions: Sequence[Action]) -> Action:
        """What is wrong with it."""
        raise NotImplementedError(actions)


class Raises(Later):
    """Raises."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """Raise."""
        message = f"{len(actions)} are too many"
        raise KeyError(message)


class Nothing(Later):
    """Returns None."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """None."""
        del actions
        return None  # type: ignore[return-value]  # that is what is wrong


class Forges(Later):
    """Returns an action that was not offered."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """A Rift that costs nothing."""
        del actions
        return Action("open", rank=3)


class Appends(Later):
    """Puts an action of its own among those offered, and takes it."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """A card that nobody holds."""
        actions.append(Action("play", "no-such-card"))  # type: ignore[attr-defined]  # that is what is wrong
        return actions[-1]


class Equals(Later):
    """Returns something that says of itself that it equals any action."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """What equals everything."""
        del actions

        class Anything:
            kind = "anything"

            def __eq__(self, _: object) -> bool:
                return True

            __hash__ = None  # type: ignore[assignment]  # it need not be hashed

        return Anything()  # type: ignore[return-value]  # that is what is wrong


class OfAnotherTurn(First):
    """Takes the attack that it was offered once, whenever there is none any more."""

    def __init__(self, chance: Chance) -> None:
        super().__init__(chance)
        self.remembered: Action | None = None

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """An action of an earlier turn, if it is not offered now."""
        if self.remembered is not None and self.remembered not in actions:
            return self.remembered
        self.remembered = self.remembered or next((each for each in actions if each.kind == "attack"), None)
        return super().choose(view, actions)


class Exits(Later):
    """Ends the program."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """Exit."""
        raise SystemExit(len(actions))


class Base(Later):
    """Raises what is no Exception."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """Raise."""
        message = f"{len(actions)} are too many"
        raise BaseException(message)  # noqa: TRY002 - that is what is wrong


class Leaves(Later):
    """Raises what ends a generator."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """Raise."""
        raise GeneratorExit(len(actions))


class Cancels(Later):
    """Raises what ends a task."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """Raise."""
        raise CancelledError(len(actions))


class UnspeakableError(Exception):
    """Says nothing of itself."""

    def __repr__(self) -> str:
        """Raise."""
        raise BaseException  # noqa: TRY002 - that is what is wrong

    __str__ = __repr__


class Unspeakable(Later):
    """Raises what cannot be told."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """Raise."""
        raise UnspeakableError(len(actions))


class VerboseError(Exception):
    """Says too much of itself, on many lines, and with half a character."""

    def __repr__(self) -> str:
        """A million characters."""
        return "much\n\udcff" * 166_667


class Verbose(Later):
    """Raises what tells too much."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """Raise."""
        raise VerboseError(len(actions))


class Hollow(Later):
    """Returns an action whose card cannot be told or compared."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """Such an action."""
        return Action(actions[0].kind, UnspeakableCard())  # type: ignore[arg-type]  # that is what is wrong


class UnspeakableCard:
    """Can be neither told nor compared."""

    def __repr__(self) -> str:
        """Raise."""
        raise BaseException  # noqa: TRY002 - that is what is wrong

    def __eq__(self, _: object) -> bool:
        raise BaseException  # noqa: TRY002 - that is what is wrong

    __hash__ = None  # type: ignore[assignment]  # it need not be hashed


class Interrupts(Later):
    """Is interrupted by whoever sits at the terminal."""

    def fail(self, actions: Sequence[Action]) -> Action:
        """Ctrl-C."""
        raise KeyboardInterrupt(len(actions))


class MissesItself(First):
    """Cannot say whether it is blind."""

    @property
    def blind(self) -> bool:
        """Raise."""
        raise BaseException("whether")  # noqa: TRY002 - that is what is wrong


class CannotBeginAtAll:
    """Cannot be made, for no Exception."""

    def __init__(self, chance: Chance) -> None:
        raise BaseException(type(chance).__name__)  # noqa: TRY002 - that is what is wrong


class CannotBegin:
    """Cannot be made."""

    def __init__(self, chance: Chance) -> None:
        message = f"no {type(chance).__name__} for me"
        raise ValueError(message)


class TakesNoChance:
    """Is made without a chance, which every policy gets."""

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """The first action."""
        del view
        return actions[0]


class Searches(First):
    """Draws from its chance, and notes all that it is given."""

    seen: ClassVar[list[tuple[View, tuple[Action, ...], bytes, str]]] = []

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """Any action, each as likely."""
        content = pickle.dumps((view, list(actions), self.chance))
        self.seen.append((view, tuple(actions), content, repr(view) + repr(actions) + repr(vars(self))))
        return self.chance.pick(actions)


class Meddles(First):
    """Draws as `Searches`, and spoils all that it is given once it has chosen."""

    def choose(self, view: View, actions: Sequence[Action]) -> Action:
        """Any action, each as likely."""
        chosen = self.chance.pick(actions)
        table = view.table
        for player in table.players.values():
            player.life = -1_000
            player.defeated = True
        for card in table.battlefield.values():
            card.controller, card.souls, card.rank = view.player, [], 3
        table.aether.clear()
        table.battlefield.clear()
        table.descriptions.clear()
        table.holders.clear()
        table.payments.clear()
        table.names["p1"] = "me"
        table.status, table.winner, table.rift, table.turn, table.gone, table.entries = (
            "ended",
            view.player,
            None,
            None,
            9,
            9,
        )
        table.numbered.souls = table.numbered.payments = 999
        view.hands.clear()
        view.libraries.clear()
        return chosen
