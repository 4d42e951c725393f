"""Stepping through recordings: each key does what it is said to do, in the program and in a real terminal."""

import asyncio
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from rich.cells import cell_len
from textual import events
from textual.widgets import Static

from replays.stepping import INTERVAL, Steps
from soulrift.player import KEYS, Player, step_through
from tests.recordings import file_of, lines, script

ROOT = Path(__file__).parents[2]
DUEL = lines(script(ROOT / "examples" / "long-duel.jsonl"))
LAST = len(DUEL)
SIZES = [(80, 24), (200, 50)]
SEATS = [{"player": "a"}, {"player": "b"}]
START = {"type": "start_match", "match": "m", "players": SEATS}


class Look(NamedTuple):
    """What is on the screen."""

    at: int
    head: str
    entries: list[str]
    board: list[str]
    note: str


def look(app: Player) -> Look:
    head, entries, board = ([str(app.query_one(f"#{pane}").render())] for pane in ("head", "entries", "board"))
    note = str(app.query_one("#note", Static).content)
    return Look(app.at, head[0], entries[0].split("\n"), board[0].split("\n"), note)


def stepped(steps: Steps, *keys: str, size: tuple[int, int] = (80, 24)) -> list[Look]:
    """What is on the screen first, and after each of these keys."""

    async def press() -> list[Look]:
        app = Player(steps)
        looks = list[Look]()
        async with app.run_test(size=size) as pilot:
            looks.append(look(app))
            for key in keys:
                if key.startswith("typed ahead: "):
                    for each in key.split(": ")[1].replace("Enter", "\r").replace(" ", ""):
                        name, character = ("enter", "\r") if each == "\r" else (each, each)
                        app.post_message(events.Key(name, character))
                    await pilot.pause()
                else:
                    await pilot.press(key)
                await app.workers.wait_for_complete()
                looks.append(look(app))
        assert app.fault is None
        return looks

    return asyncio.run(press())


def entries_with(fits: Callable[[dict[str, Any]], bool]) -> list[int]:
    """The entries of the long duel in which an event fits, by a plain loop."""
    return [n for n, line in enumerate(DUEL, 1) if any(fits(event) for event in json.loads(line)["events"])]


TURNS = entries_with(lambda event: event["type"] == "turn_began")
BURNS = entries_with(lambda event: event["type"] == "soulburn_taken")
SOUL_5 = entries_with(
    lambda event: (
        (event["type"].startswith("soul_") and event["soul"] == 5)
        or (event["type"] == "cost_paid" and any(spent["soul"] == 5 for spent in event["souls"]))
    )
)


@pytest.fixture(scope="module")
def duel() -> Steps:
    return Steps(DUEL)


class TestKeys:
    """Each key leads where the help says."""

    @pytest.mark.parametrize("size", SIZES)
    def test_steps_and_turns(self, duel: Steps, size: tuple[int, int]) -> None:
        """Stepping goes on and back by one entry, t and T from turn to turn, to the ends and back."""
        moves = [("right", 2), ("l", 3), ("space", 4), ("left", 3), ("h", 2), ("end", LAST), ("home", 1)]
        if size == SIZES[0]:
            moves += [("t", turn) for turn in TURNS] + [("t", TURNS[-1]), ("right", TURNS[-1] + 1)]
            moves += [("T", turn) for turn in TURNS[:-5:-1]]
        looks = stepped(duel, *(key for key, _ in moves), size=size)
        assert [seen.at for seen in looks] == [1, *(at for _, at in moves)]
        for seen in looks:
            assert re.match(rf"long-duel  entry {seen.at} of {LAST}\b", seen.head)
            assert [line for line in seen.entries if line.startswith(f"> {seen.at:>5}  ")]
            assert seen.board[0].startswith(f"long-duel, after entry {seen.at}: ")
            assert all(len(pane) <= size[1] - 3 for pane in (seen.entries, seen.board))

    @pytest.mark.parametrize("size", SIZES)
    def test_soulburns_and_souls(self, duel: Steps, size: tuple[int, int]) -> None:
        """With b and B one goes from Soulburn to Soulburn, with s and n from entry to entry that names the Soul."""
        moves = [("b", at) for at in BURNS] + [("b", BURNS[-1]), ("end", LAST)]
        moves += [("B", at) for at in reversed(BURNS)] + [("B", BURNS[0]), ("home", 1)]
        moves += [("s", 1), ("5", 1), ("enter", SOUL_5[0])] + [("n", at) for at in [*SOUL_5[1:], SOUL_5[-1]]]
        looks = stepped(duel, *(key for key, _ in moves), size=size)
        assert (len(BURNS), len(SOUL_5)) == (3, 4)
        assert [seen.at for seen in looks[1:]] == [at for _, at in moves]
        assert looks[len(BURNS) + 1].note == f"no Soulburn after entry {BURNS[-1]}"
        assert looks[-1].note == f"no event of Soul 5 after entry {SOUL_5[-1]}"

    def test_entry_by_its_number(self, duel: Steps) -> None:
        """With g one goes to the entry that is typed, also where all is typed at once; other keys do nothing then."""
        looks = stepped(duel, "g", "4", "9", "t", "left", "up", "?", "b", "backspace", "0", "enter", "enter")
        assert [seen.note for seen in looks[1:4]] == [f"entry (1 to {LAST}): {typed}_" for typed in ("", "4", "49")]
        assert [seen.at for seen in looks[4:]] == [1] * 7 + [40, 40]
        assert stepped(duel, "typed ahead: g41Enter h")[1].at == 40

    def test_play_and_pace(self, duel: Steps) -> None:
        """With p it is played at the pace that + and - set, up to the end or the next p; any move pauses."""

        async def play() -> None:
            app = Player(duel)
            async with app.run_test(size=(80, 24)) as pilot:

                async def until(at: int) -> None:
                    limit = time.monotonic() + 10
                    while app.at < at and time.monotonic() < limit:
                        await pilot.pause(0.01)
                    assert app.at >= at

                paces = []
                for key in "---+++++++":
                    await pilot.press({"-": "minus", "+": "plus"}[key])
                    paces.append(look(app).note)
                slow = ["1 a second", "one in 2 seconds", "one in 2 seconds"]
                assert paces == [*slow, *(f"{n} a second" for n in (1, 2, 4, 8, 16, 32, 32))]
                began = time.monotonic()
                await pilot.press("p")
                assert look(app).head.rstrip().endswith("playing, 32 a second")
                await until(9)
                assert time.monotonic() - began >= 8 / 32 - 0.02
                await pilot.press("p")
                paused = look(app)
                await pilot.pause(0.1)
                assert look(app) == paused
                assert "playing" not in paused.head
                await pilot.press("p", "left")
                assert "playing" not in look(app).head
                await pilot.press("end", "left", "left", "p")
                await until(LAST)
                await pilot.pause(0.1)
                assert look(app).note == "this is the last entry"
                assert "playing" not in look(app).head

        asyncio.run(play())

    def test_help_tells_all_keys(self, duel: Steps) -> None:
        """With ? all keys are told, within 80x24, while they work; ? or Esc leads back."""

        async def read() -> None:
            app = Player(duel)
            async with app.run_test(size=(80, 24)) as pilot:
                told, board = app.query_one("#help", Static), app.query_one("#board")
                for back in ("?", "escape"):
                    await pilot.press("?", "right")
                    assert (told.display, board.display) == (True, False)
                    assert told.size.height >= len(str(told.content).splitlines())
                    await pilot.press(back)
                    assert (told.display, board.display) == (False, True)
                assert app.at == 3
                for keys, _, _, does in KEYS:
                    assert re.search(rf"^{re.escape(keys)} +{re.escape(does)}$", str(told.content), re.MULTILINE)

        asyncio.run(read())

    @pytest.mark.parametrize("key", ["q", "ctrl+c"])
    def test_leaving(self, duel: Steps, key: str) -> None:
        """Both q and Ctrl-C leave; Ctrl-C out of a prompt and out of the help, too."""

        async def leave(*before: str) -> bool:
            app = Player(duel)
            async with app.run_test() as pilot:
                await pilot.press(*before, key)
                return app._exit  # noqa: SLF001 - there is no other way to ask

        assert asyncio.run(leave())
        if key == "ctrl+c":
            assert asyncio.run(leave("g"))
            assert asyncio.run(leave("?"))

    def test_board_longer_than_its_place(self) -> None:
        """With PgDn and PgUp all of the board can be seen; it says how much is below."""
        cards = [{"type": "enter", "card": f"card-{n:02}", "controller": "a"} for n in range(40)]
        keys = ["end", *["pagedown"] * 9, *["up"] * 9]
        looks = stepped(Steps(lines([START, *cards])), *keys)
        seen = {line for each in looks[1:] for line in each.board}
        assert {f"  card-{n:02}   a                    creature" for n in range(40)} <= seen
        assert looks[1].board == looks[-1].board
        assert looks[1].board[-1] == f"… {1 + 3 + 1 + 2 + 40 + 2 - 12} more: PgDn"
        assert looks[10].board[-1].startswith("State hash: ")


class TestEnds:
    """The current entry stays where there is nothing further, and the line for notes says so."""

    def test_ends_are_told(self, duel: Steps) -> None:
        """Each move past an end says which end it is, or what is not there."""
        looks = stepped(duel, "left", "T", "B", "end", "right", "t", "b")
        assert [(seen.at, seen.note) for seen in looks[1:]] == [
            (1, "this is the first entry"),
            (1, "no turn begins before entry 1"),
            (1, "no Soulburn before entry 1"),
            (LAST, ""),
            (LAST, "this is the last entry"),
            (LAST, f"no turn begins after entry {LAST}"),
            (LAST, f"no Soulburn after entry {LAST}"),
        ]

    @pytest.mark.parametrize(("key", "what", "last"), [("g", "entry", 89), ("s", "Soul", 13)])
    def test_what_no_prompt_takes(self, duel: Steps, key: str, what: str, last: int) -> None:
        """A number of nothing, or none at all, is told with those that there are; one may go on from there."""
        notes = {
            typed: f"there is no {what} {number}: 1 to {last}"
            for typed, number in (("0", 0), (f"{last + 1}", last + 1), ("9" * 15, 10**12 - 1))
        }
        for typed, note in {"": f"type the number of the {what}, 1 to {last}", **notes}.items():
            *_, refused, on = stepped(duel, f"typed ahead: {key}{typed}Enter", "right")
            assert (refused.at, refused.note, on.at) == (1, note, 2)

    def test_prompt_left_by_escape(self, duel: Steps) -> None:
        """Esc leaves a prompt as if nothing had been asked."""
        looks = stepped(duel, "g", "7", "escape", "right", "n", "escape")
        assert [(seen.at, seen.note) for seen in looks[3:]] == [(1, ""), (2, ""), (2, "Soul (1 to 13): _"), (2, "")]

    def test_recording_of_one_entry(self) -> None:
        """No key leads away from the only entry."""
        moves = [keys.split(",")[0] for _, keys, _, _ in KEYS if keys not in set("gsnp?q")]
        looks = stepped(Steps(lines([START])), *moves, "p", "g", "1", "enter")
        assert {seen.at for seen in looks} == {1}
        assert looks[0].head.rstrip() == "m  entry 1 of 1"

    def test_damaged_recording(self) -> None:
        """What can be read of a damaged recording is seen, and the damage is told all the while."""
        steps = Steps([*DUEL[:20], DUEL[20][:50]])
        looks = stepped(steps, "right", "end", "right")
        note = f"this can be seen up to entry 20 only: {steps.problem}"
        last = f"this is the last entry that can be seen: {steps.problem}"
        assert [(seen.at, seen.note) for seen in looks] == [(1, note), (2, note), (20, note), (20, last)]

    def test_nothing_can_be_read(self) -> None:
        """Of a recording that is damaged from its first line on, the damage is told."""
        looks = stepped(Steps([DUEL[0][:50]]), "right", "end", "home", "b", "B", "t", "T")
        assert {seen.at for seen in looks} == {0}
        assert "up to entry 0 only" in looks[0].note


class Counting(Steps):
    """Steps that take down what is read."""

    def __init__(self, recorded: Iterable[bytes]) -> None:
        super().__init__(recorded)
        self.read = list[tuple[int, int | None]]()

    def between(self, first: int, last: int | None = None) -> Iterator[Any]:
        """The same entries."""
        self.read.append((first, last))
        return super().between(first, last)


def test_long_recordings_are_read_where_they_are_looked_at() -> None:
    """A step reads no more than may be on the screen, and a search what lies between, an interval at a time."""
    burn: list[dict[str, Any]] = [{"type": "release"}]
    burn += [{"type": "open_rift", "player": "a", "rank": 1, "souls": [1]}, {"type": "close_rift", "player": "a"}]
    turns = [{"type": "begin_turn", "player": "ab"[n % 2]} for n in range(1, 3 * INTERVAL)]
    steps = Counting(lines([START, {"type": "begin_turn", "player": "a"}, *burn, *turns]))
    (burned,) = [entry.number for entry in steps.between(1) if b"soulburn_taken" in entry.line]
    steps.read.clear()
    end, back, burnt, on = stepped(steps, "end", "left", "B", "b")[1:]
    assert [end.at, back.at, burnt.at, on.at] == [steps.entries, steps.entries - 1, burned, burned]
    assert on.note == f"no Soulburn after entry {burned}"
    assert all(last is not None and last - first < max(INTERVAL, 2 * 24) for first, last in steps.read)


STRANGE = ["שלום עולם", "👨‍👩‍👧 Fam ❤️ 👍🏽", "アダ・ラブレス", "नमस्ते 🇩🇪", "x\u202e [b]龍[/b]"]


def strange() -> list[bytes]:
    """A match of players and cards with names in many scripts."""
    seats = [{"player": f"p{n}", "name": name} for n, name in enumerate(STRANGE)]
    cards = [
        {"type": "enter", "card": f"k{n}", "controller": f"p{n % 5}", "name": "🐉 龍 سيف" * (n + 1)} for n in range(6)
    ]
    start: dict[str, Any] = {"type": "start_match", "match": "名前", "players": seats}
    return lines([start, *cards])


@pytest.mark.parametrize("size", [*SIZES, (20, 6)])
def test_names_in_any_script_stay_in_their_place(size: tuple[int, int]) -> None:
    """No line is wider than its place, and nothing that acts on the terminal gets there, whatever a record says."""
    hostile = [line.replace(b"\xf0\x9f\x90\x89", b"\\u001b[2J\\n") for line in strange()]
    for recorded in (strange(), hostile):
        for seen in stepped(Steps(recorded), "end", "left", size=size):
            shown = [seen.head, *seen.entries, *seen.board, seen.note]
            assert not [line for line in shown if cell_len(line) > size[0] or not line.isprintable()]


class Broken(Steps):
    """Steps of which the entries cannot be had."""

    def between(self, first: int, last: int | None = None) -> Iterator[Any]:
        """No entries."""
        raise LookupError(first, last)


def test_fault_is_left_to_the_command_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """What cannot be shown ends the player with its error, and prints nothing of its own."""
    run = Player.run
    monkeypatch.setattr(Player, "run", lambda player, **_: run(player, headless=True))
    with pytest.raises(LookupError):
        step_through(Broken(DUEL))
    assert capfd.readouterr() == ("", "")


def test_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Textual, it is said what to install, and what can be seen without it."""
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.delitem(sys.modules, "soulrift.player")
    with pytest.raises(click.UsageError) as told:
        importlib.import_module("soulrift.player")
    assert str(told.value) == (
        "stepping through a recording needs an extra: pip install 'soulrift[player]'; --at, --from and --to show "
        "parts of it"
    )


def test_document_has_the_keys() -> None:
    """The table in docs/replay.md is that of the help."""
    told = re.findall(r"^\| (`.*`) \| (.*) \|$", (ROOT / "docs" / "replay.md").read_text(), re.MULTILINE)
    assert told == [(" ".join(f"`{key}`" for key in shown.split()), does) for shown, _, _, does in KEYS]


TMUX = shutil.which("tmux") or ""


class Terminal:
    """A real terminal, in which a shell runs a command."""

    def __init__(self, folder: Path, size: tuple[int, int], command: str) -> None:
        self.folder = folder
        self.sockets = tempfile.mkdtemp(prefix="tmux-")  # of a short name, as sockets must have
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), command)

    def tmux(self, *arguments: str) -> str:
        """What tmux answers."""
        inside = {"TMUX", "NO_COLOR", "COLUMNS", "LINES"}  # what would tell the program of another terminal
        environment = {key: value for key, value in os.environ.items() if key not in inside}
        environment |= {"TMUX_TMPDIR": self.sockets, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            [TMUX, "-L", "soulrift-test", *arguments],
            capture_output=True,
            check=True,
            cwd=self.folder,
            env=environment,
        ).stdout.decode()

    def press(self, *keys: str) -> None:
        """Press keys, one right after the other."""
        self.tmux("send-keys", "--", *keys)

    def screen(self) -> str:
        """What is on the screen."""
        return self.tmux("capture-pane", "-p")

    def until(self, *shown: str) -> str:
        """What is on the screen once all of this is."""
        limit = time.monotonic() + 20
        while not all(part in (screen := self.screen()) for part in shown):
            assert time.monotonic() < limit, f"{shown} is not there:\n{screen}"
            time.sleep(0.05)
        return screen

    def columns_of(self, sign: str, rows: int) -> set[int]:
        """Where the terminal itself has a sign, in so many rows."""
        self.tmux("copy-mode")
        self.tmux("send-keys", "-X", "top-line")
        found = set()
        for _ in range(rows):
            self.tmux("send-keys", "-X", "search-forward-text", sign)
            found.add(int(self.tmux("display-message", "-p", "#{copy_cursor_x}")))
        self.tmux("send-keys", "-X", "cancel")
        return found

    def close(self) -> None:
        """Close the terminal, and end what runs in it."""
        self.tmux("kill-server")
        shutil.rmtree(self.sockets)


Open = Callable[[tuple[int, int], Sequence[bytes]], Terminal]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    """Opens a terminal in which a recording is stepped through, between two looks at the terminal's settings."""
    if not TMUX:
        pytest.skip("there is no tmux to have a terminal from: apt-get install tmux")
    opened = []

    def open_it(size: tuple[int, int], recorded: Sequence[bytes]) -> Terminal:
        match = json.loads(recorded[0])["events"][0]["match"]
        (tmp_path / "recording").write_bytes(file_of(match, recorded))
        command = (
            f"stty -g >before; {sys.executable} -m soulrift replay recording; echo left with $?; stty -g >after; cat"
        )
        opened.append(Terminal(tmp_path, size, command))
        return opened[-1]

    yield open_it
    for each in opened:
        each.close()


def documented() -> str:
    """The screen in docs/replay.md."""
    (shown,) = re.findall(
        r"<!-- screen: .* -->\n```text\n(.*?)```", (ROOT / "docs" / "replay.md").read_text(), re.DOTALL
    )
    return str(shown)


@pytest.mark.parametrize("size", SIZES)
def test_in_a_real_terminal(terminal: Open, size: tuple[int, int], tmp_path: Path) -> None:
    """Keys sent to a terminal lead there; the terminal is used to its size, followed in it, and left as it was."""
    opened = terminal(size, DUEL)
    opened.until("long-duel  entry 1 of 89", "> ", "? help  q leave")
    assert opened.tmux("display-message", "-p", "#{alternate_on}") == "1\n"
    opened.press("b", "b", "b")
    screen = opened.until(f"entry {BURNS[2]} of 89", f"after entry {BURNS[2]}:")
    assert ("│" in screen) == (size[0] >= 120)
    if size == (80, 24):
        opened.until(documented())
    opened.press("s", "5", "Enter")
    opened.until(f"no event of Soul 5 after entry {BURNS[2]}")
    opened.press("g", "4", "0", "Enter", "Right")
    opened.until("entry 41 of 89", "> " + f"{41:>5}  Ilse Marrow  Wynn Soulkeeper enters")
    opened.press("?")
    opened.until("? again leads back", "q Ctrl-C   leave")
    opened.press("?", "End", "Space")
    opened.until("entry 89 of 89", "this is the last entry")
    opened.tmux("resize-window", "-x", "150", "-y", "30")
    opened.until("long-duel, after entry 89: Ilse Marrow has won", "│")
    opened.press("q")
    assert "entry 89" not in opened.until("left with 0")
    assert opened.tmux("display-message", "-p", "#{alternate_on}#{cursor_flag}#{mouse_any_flag}") == "010\n"
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text() != ""


def test_damage_and_strange_names_in_a_real_terminal(terminal: Open, tmp_path: Path) -> None:
    """The terminal has the line between entries and board in one column; damage is told, and Ctrl-C leaves with 1."""
    opened = terminal((200, 50), [*strange(), b'{"command":'])
    screen = opened.until("名前  entry 1 of 7", "this can be seen up to entry 7 only")
    assert STRANGE[0] in screen
    opened.press("End")
    opened.until("entry 7 of 7", "after entry 7:")
    assert len(opened.columns_of("│", 40)) == 1
    opened.press("C-c")
    opened.until("recording can be seen up to entry 7 only", "left with 1")
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text() != ""
