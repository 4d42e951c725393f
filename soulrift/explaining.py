"""`soulrift why`: the chain behind a recorded fact as a tree for people, and as JSON."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator

import click
import msgspec
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from domain.codec import CorruptRecordError
from domain.rules.book import WORDS
from replays.why import NotThereError, Reason
from soulrift.recordings import lines_of
from soulrift.terminal import Output

Asked = Callable[[Iterable[bytes]], Reason]
"""What is asked, of the lines of a recording."""


def why(name: str, db: str, match: str | None, asked: Asked, form: str) -> None:
    """Tell why something in a recording is as it is.

    Raises:
        click.UsageError: the recording has not what is asked about.
        CorruptRecordError: it cannot be told.

    """
    output = Output()
    try:
        with lines_of(name, db, match) as (_, lines):
            reason = asked(lines)
        told = [msgspec.json.encode(reason).decode()] if form == "json" else list(_lines(reason))
    except NotThereError as error:
        raise click.UsageError(str(error)) from None
    except RecursionError:
        message = f"{name} cannot be explained: something in it is nested too deeply"
        raise CorruptRecordError(message) from None
    for line in told:
        if isinstance(line, str):
            output.json(line.encode())
        else:
            output.line(line)
    output.end()


def _lines(reason: Reason) -> Iterator[Text]:
    """The tree, and below it the words of the rules that are cited in it."""
    if sys.stdout.isatty():
        yield from _drawn(_tree(reason))
    else:
        yield from _indented(reason)
    cited = _cited(reason)
    if cited:
        yield Text("The rules:", style="bold")
    width = max(map(len, cited), default=0)
    for rule in WORDS:
        if rule in cited:
            yield Text(f"  {rule:<{width}}  {WORDS[rule]}", style="dim")


def _label(reason: Reason) -> Text:
    """A reason in one line: its event, the sentence, the rules."""
    label = Text()
    if reason.event is not None and reason.rules:  # what is told above says which event it is
        label.append(f"event {reason.event}, entry {reason.entry}: ", style="dim")
    label.append(reason.what, style="" if reason.because or reason.command else "dim")
    if reason.rules:
        label.append(f" [{', '.join(rule.rule for rule in reason.rules)}]", style="cyan")
    return label


def _command(reason: Reason) -> Text:
    return Text(f"command of entry {reason.entry}: {msgspec.json.encode(reason.command).decode()}", style="green")


def _below(reason: Reason) -> Iterator[Reason | Text]:
    """What stands below a reason; a command that is all there is to a reason stands for it."""
    for each in reason.because:
        yield _command(each) if each.event is None and each.command is not None else each
    if reason.command is not None:
        yield _command(reason)


def _indented(reason: Reason, depth: int = 0) -> Iterator[Text]:
    """The tree as plain text, two spaces a level."""
    yield Text("  " * depth).append_text(_label(reason))
    for each in _below(reason):
        if isinstance(each, Reason):
            yield from _indented(each, depth + 1)
        else:
            yield Text("  " * (depth + 1)).append_text(each)


def _tree(reason: Reason, under: Tree | None = None) -> Tree:
    tree = Tree(_label(reason), guide_style="dim") if under is None else under.add(_label(reason))
    for each in _below(reason):
        if isinstance(each, Reason):
            _tree(each, tree)
        else:
            tree.add(each)
    return tree


def _drawn(tree: Tree) -> Iterator[Text]:
    """The tree as it fits the width of the terminal, with guides beside lines that go on."""
    console = Console(file=io.StringIO(), force_terminal=True, width=Console(file=sys.stdout).width)
    for line in console.render_lines(tree, pad=False):
        yield Text.assemble(*((each.text, each.style or "") for each in line))


def _cited(reason: Reason) -> set[str]:
    """The numbers of the rules in a tree."""
    return {rule.rule for rule in reason.rules}.union(*map(_cited, reason.because))
