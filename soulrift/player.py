"""Stepping through a recording on a terminal: the entries around the current one, and the board after it.

Lives here: the screen and its keys. Must not know: how a recording is kept (`replays/stepping.py`), or the rules.
"""

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import groupby, islice
from typing import Any, ClassVar

import click
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from domain.entry import Entry
from domain.rules import events as e
from domain.rules.state import State
from replays.stepping import INTERVAL, Steps
from soulrift.board import board
from soulrift.notation import Names, Notation, soul

try:
    from textual import app, binding, containers, timer, widget, widgets
except ModuleNotFoundError:
    extra = "stepping through a recording needs an extra: pip install 'soulrift[player]'; "
    raise click.UsageError(extra + "--at, --from and --to show parts of it") from None

KEYS = (
    ("→ l Space", "right,l,space", "step(1)", "one entry on"),
    ("← h", "left,h", "step(-1)", "one entry back"),
    ("Home", "home", "edge(-1)", "the first entry"),
    ("End", "end", "edge(1)", "the last entry"),
    ("g", "g", "ask('entry')", "an entry, by its number"),
    ("t", "t", "turn(1)", "where the next turn begins"),
    ("T", "T", "turn(-1)", "where this turn began, or the one before"),
    ("b", "b", "burn(1)", "the next Soulburn"),
    ("B", "B", "burn(-1)", "the Soulburn before"),
    ("s", "s", "ask('Soul')", "a Soul, by its number: the next entry that names it"),
    ("n", "n", "soul", "the next entry that names this Soul"),
    ("p", "p", "play", "play, or pause; whatever else moves pauses, too"),
    ("+", "+", "faster(2)", "play twice as fast, up to 32 entries a second"),
    ("-", "-", "faster(0.5)", "play half as fast, down to an entry in 2 seconds"),
    ("↓ PgDn", "down,pagedown", "scroll(1)", "down the board, where it is longer than its place"),
    ("↑ PgUp", "up,pageup", "scroll(-1)", "up the board"),
    ("?", "?", "help", "these keys"),
    ("Esc", "escape", "drop", "leave a prompt, a search or these keys"),
    ("q Ctrl-C", "q", "leave", "leave"),
)
"""The keys as they are told, as they are bound, what they call, and what that does or where it leads."""

_MAIN_KEYS = "←/→ step  t turn  b Soulburn  s Soul  g go to  p play  ? help  q leave"
_HELP = "\n".join([*(f"{keys:<11}{does}" for keys, _, _, does in KEYS), "", "? again leads back"])
_SLOWEST, _FASTEST = 0.5, 32.0
_DIGITS = 12
_HANG = 4
_AT_ONCE = 20
"""Intervals that are searched before the next key is heard."""
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_JOINED = re.compile(
    "\u200d[\u2600-\u2bff\U0001f000-\U0001faff]|[\U0001f3fb-\U0001f3ff\ufe00-\ufe0e\U000e0020-\U000e007f]"
)
"""What makes several emoji one, as wide as the first of them."""
_MADE_EMOJI = re.compile("(.)\ufe0f")
_CONSOLE = Console()


def step_through(steps: Steps) -> None:
    """Step through a recording, until the user leaves."""
    player = Player(steps)
    player.run(mouse=False)
    if player.fault:
        raise player.fault


class Player(app.App[None]):
    """The screen. The current entry is `at`: 1 to the last, or 0 if there is none."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[Any]] = [
        *((keys, action, "") for _, keys, action, _ in KEYS),
        *((digit, f"type({digit!r})", "") for digit in "0123456789"),
        ("backspace", "type('')", ""),
        ("enter", "take", ""),
        binding.Binding("ctrl+c", "quit", priority=True),
    ]
    CSS = """
    #head { height: 1; text-style: reverse; }
    #panes, #board, #entries { height: 1fr; }
    #board { height: 2fr; border-top: solid ansi_default; }
    .-wide #panes { layout: horizontal; }
    .-wide #entries { width: 3fr; height: 100%; }
    .-wide #board { width: 2fr; height: 100%; border-top: none; border-left: solid ansi_default; padding-left: 1; }
    #help { display: none; height: 1fr; }
    .helping #help { display: block; }
    .helping #entries, .helping #board { display: none; }
    #note { height: auto; max-height: 3; text-style: bold; }
    #keys { height: 1; text-style: dim; }
    """

    def __init__(self, steps: Steps) -> None:
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]
        self.at = min(1, steps.entries)
        self.fault: Exception | None = None
        self._steps, self._state = steps, steps.state(self.at)
        self._end = steps.state(steps.entries)
        self._top = 0  # line of the board
        self._asked, self._typed, self._soul = "", "", 0
        self._speed, self._playing = 2.0, list[timer.Timer]()

    def compose(self) -> app.ComposeResult:
        """What is on the screen, from top to bottom."""
        yield _Pane(self._head, id="head")
        with containers.Container(id="panes"):
            yield _Pane(self._entries, id="entries")
            yield _Pane(self._board, id="board")
            yield widgets.Static(_HELP, id="help", markup=False)
        yield widgets.Static(id="note", markup=False)
        yield widgets.Static(_MAIN_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        """Tell from the start what cannot be seen."""
        self._say()

    def _handle_exception(self, error: Exception) -> None:
        """Leave with the error, for the command line to tell, instead of printing all that led to it."""
        self.fault = self.fault or error
        self.exit(return_code=1)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """While a number is asked for, other keys do nothing."""
        return super().check_action(action, parameters) is True and (
            not self._asked or action in {"type", "take", "drop", "quit"}
        )

    def _head(self, width: int, _: int) -> list[Text]:
        rest = f"  entry {self.at} of {self._steps.entries}"
        if self._state.turn:
            rest += f"  turn {self._state.turn.number} of {len(self._steps.turns)}"
        if self._playing:
            rest += f"  playing, {self._pace()}"
        match = _seen(Text(self._state.match))
        match.truncate(max(width - len(rest), 1), overflow="ellipsis")
        return [match + Text(rest.ljust(width - match.cell_len)[: width - match.cell_len])]

    def _entries(self, width: int, height: int) -> list[Text]:
        """As many entries as there is place for, with the current one in the middle."""
        lines, start, tall, first = list[Text](), 0, 0, max(self.at - height, 1)
        notation = Notation(Names.of(self._steps.state(first - 1)))
        for number, entry in enumerate(self._steps.between(first, self.at + height), first):
            told = _wrapped(notation.line(entry), width - 2, max(7, len(f"{number}  ")), whole=True)
            if number == self.at:
                start, tall = len(lines), len(told)
                told = [Text(line.plain + " " * (width - 2 - line.cell_len), "bold reverse") for line in told]
            lines += [Text("> " if number == self.at else "  ") + line for line in told]
        top = max(start - max(height - tall, 0) // 2, 0)
        return lines[min(top, max(len(lines) - height, 0)) :][:height]

    def _board(self, width: int, height: int) -> list[Text]:
        lines = [part for line in _arranged(self._state) for part in _wrapped(line, width, _HANG)]
        self._top = min(self._top, max(len(lines) - height, 0))
        shown = lines[self._top :][:height]
        if (more := len(lines) - self._top - height) > 0:
            shown[-1:] = [Text(f"… {more + 1} more: PgDn")]
        return shown

    def _say(self, note: str = "") -> None:
        """Tell something in the line for it; where there is nothing to tell, that the recording cannot be read on."""
        if not note and self._steps.problem:
            note = f"this can be seen up to entry {self._steps.entries} only: {self._steps.problem}"
        self.query_one("#note", widgets.Static).update(_seen(Text(note)))
        self.query_one("#head").refresh()

    def _go(self, to: int) -> None:
        """Make `to` the current entry."""
        self.at, self._state, self._top = to, self._steps.state(to), 0
        self.query(_Pane).refresh()
        self._say()

    def _still(self) -> None:
        """Play and search no more."""
        self.workers.cancel_group(self, "search")
        while self._playing:
            self._playing.pop().stop()

    def _action_step(self, by: int) -> None:
        self._still()
        self._step(by)

    def _step(self, by: int) -> None:
        if 1 <= self.at + by <= self._steps.entries:
            self._go(self.at + by)
            return
        self._still()
        first_or_last = "last" if by > 0 else "first"
        because = f" that can be seen: {self._steps.problem}" if by > 0 and self._steps.problem else ""
        self._say(f"this is the {first_or_last} entry{because}")

    def _action_edge(self, way: int) -> None:
        self._still()
        self._go(self._steps.entries if way > 0 else min(1, self._steps.entries))

    def _action_turn(self, way: int) -> None:
        self._still()
        turns = self._steps.turns
        index = bisect_right(turns, self.at) if way > 0 else bisect_left(turns, self.at) - 1
        if 0 <= index < len(turns):
            self._go(turns[index])
        else:
            self._say(f"no turn begins {_side(way)} entry {self.at}")

    def _action_burn(self, way: int) -> None:
        self._search(lambda entry: any(isinstance(event, e.SoulburnTaken) for event in entry.events), "Soulburn", way)

    def _action_soul(self) -> None:
        if self._soul:
            self._search(lambda entry: self._soul in _souls_of(entry), f"event of Soul {self._soul}", 1)
        else:
            self._action_ask("Soul")

    def _search(self, fits: Callable[[Entry], bool], what: str, way: int) -> None:
        """Go to the nearest entry that fits: at once, or, where that takes longer, while keys are heard."""
        self._still()
        search = self._find(fits, what, way)
        for _ in islice(search, _AT_ONCE):
            pass
        self.run_worker(self._search_on(search), group="search")

    async def _search_on(self, search: Iterator[None]) -> None:
        for _ in search:
            await asyncio.sleep(0)

    def _find(self, fits: Callable[[Entry], bool], what: str, way: int) -> Iterator[None]:
        """The search, which stops after each interval to be asked on."""
        low, high = (self.at + 1, self._steps.entries) if way > 0 else (1, self.at - 1)
        for block in range((low - 1) // INTERVAL, -(-high // INTERVAL))[::way]:
            first, last = max(block * INTERVAL + 1, low), min((block + 1) * INTERVAL, high)
            found = [number for number, each in enumerate(self._steps.between(first, last), first) if fits(each)]
            if found:
                self._go(found[0] if way > 0 else found[-1])
                return
            self._say(f"looking for {what}: entry {last if way > 0 else first}")
            yield
        self._say(f"no {what} {_side(way)} entry {self.at}")

    def _action_play(self) -> None:
        played = bool(self._playing)
        self._still()
        if not played:
            self._play()
        self._say()

    def _play(self) -> None:
        self._playing.append(self.set_interval(1 / self._speed, lambda: self._step(1)))

    def _action_faster(self, times: float) -> None:
        self._speed = min(max(self._speed * times, _SLOWEST), _FASTEST)
        if self._playing:
            self._still()
            self._play()
        self._say(self._pace())

    def _pace(self) -> str:
        return f"{self._speed:g} a second" if self._speed >= 1 else "one in 2 seconds"

    def _action_scroll(self, way: int) -> None:
        shown = self.query_one("#board")
        self._top = max(self._top + way * max(shown.size.height // 2, 1), 0)
        shown.refresh()

    def _action_help(self) -> None:
        self._still()
        self.query_one("#panes").toggle_class("helping")

    def _action_ask(self, what: str) -> None:
        self._action_drop()
        self._asked = what
        self._action_type("")

    def _action_type(self, digit: str) -> None:
        """Put a digit behind the number that is asked for, or take the last one away."""
        if self._asked:
            self._typed = (self._typed + digit)[:_DIGITS] if digit else self._typed[:-1]
            self._say(f"{self._asked} (1 to {self._last_asked()}): {self._typed}_")

    def _last_asked(self) -> int:
        return self._steps.entries if self._asked == "entry" else self._end.numbered.souls

    def _action_take(self) -> None:
        """Go where the number says."""
        if not self._asked:
            return
        asked, last, typed = self._asked, self._last_asked(), self._typed
        number = int(typed or 0)
        self._action_drop()
        if not typed:
            self._say(f"type the number of the {asked}, 1 to {last}")
        elif not 1 <= number <= last:
            self._say(f"there is no {asked} {number}: 1 to {last}")
        elif asked == "entry":
            self._go(number)
        else:
            self._soul = number
            self._action_soul()

    def _action_drop(self) -> None:
        self._still()
        self._asked = self._typed = ""
        self.query_one("#panes").remove_class("helping")
        self._say()

    def _action_leave(self) -> None:
        self.exit()


class _Pane(widget.Widget):
    """A place for lines, which are made for its size."""

    def __init__(self, lines: Callable[[int, int], list[Text]], id: str) -> None:  # noqa: A002 - as Textual has it
        super().__init__(id=id)
        self._lines = lines

    def render(self) -> Text:
        return Text("\n").join(self._lines(*self.size))


def _side(way: int) -> str:
    return "after" if way > 0 else "before"


def _arranged(state: State) -> Iterator[Text]:
    """The board, with what is open first, and the Souls in the Aether by rank."""
    ranked = groupby(sorted(state.aether.values(), key=lambda one: (-one.rank, one.soul)), lambda one: one.rank)
    aether = "; ".join(", ".join(soul(one.soul, one.rank) for one in same) for _, same in ranked)
    status, *rest = board(state)
    yield status
    for line in sorted(rest, key=lambda line: not line.plain.startswith("Open ")):
        yield Text(f"Aether: {aether}") if aether and line.plain.startswith("Aether: ") else line


def _souls_of(entry: Entry) -> Iterator[int]:
    """The Souls that the events of an entry are about."""
    for event in entry.events:
        if isinstance(event, e.CostPaid):
            yield from (spent.soul for spent in event.souls)
        elif isinstance(event, e.RulingMade):
            for made in event.corrections:
                yield from (part.soul for part in (made.soul, made.new_soul, made.rank) if part)
        else:
            yield getattr(event, "soul", 0)


def _seen(text: Text) -> Text:
    """The same text, but for characters that a terminal must not get, or that not all of them place alike."""
    plain = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", _JOINED.sub("", text.plain))
    plain = _MADE_EMOJI.sub(lambda found: found[1] + " " * (2 - cell_len(found[1])), plain)
    return text if plain == text.plain else Text(plain)


def _wrapped(text: Text, width: int, indent: int, *, whole: bool = False) -> list[Text]:
    """A line as lines of this width, the further ones indented; with `whole`, by its head, which is as wide as that."""
    head, seen = indent if whole else 0, _seen(text)
    if seen.cell_len <= width:
        return [seen]
    first, *more = seen[head:].wrap(_CONSOLE, max(width - indent, 2))
    return [seen[:head] + first, *(Text(" " * indent) + line for line in more)]
