"""What goes on as long as it is let: a match told live, and the views kept up to date."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from domain.application import Matches
from domain.entry import Entry
from projections.follower import POLL, Follower
from projections.opening import views_of
from replays.writing import status_after
from soulrift import store
from soulrift.notation import Notation
from soulrift.terminal import Output, bar

if TYPE_CHECKING:
    from replays.lines import Status

TELL_SECONDS = 1.0
"""How often is told that events were taken in."""


def follow_match(db: str, match: str, form: str) -> None:
    """Tell the entries of a match, those that are there and then each as it is appended, until the match has ended."""
    output, notation = Output(), Notation()
    with store.open_to_read(db) as matches:
        for entry in _live(matches, match):
            if form == "text":
                output.line(notation.line(entry))
            else:
                output.json(entry.line)
            output.end()  # whoever watches sees it now


def _live(matches: Matches, match: str) -> Iterator[Entry]:
    events = 0
    status: Status = "running"
    while status != "ended":
        for entry in matches.entries(match, events):
            events, status = entry.events[-1].n, status_after(entry, status)
            yield entry
        if status == "ended":
            return
        time.sleep(POLL)


@contextmanager
def _following(db: str) -> Iterator[tuple[Matches, Follower]]:
    with store.open_to_read(db) as matches, closing(views_of(matches)) as views:
        yield matches, Follower(matches, views)


def status(db: str, form: str) -> None:
    """Tell how the views stand."""
    with _following(db) as (_, follower):
        found = follower.status()
    output = Output()
    if form == "json":
        output.data(found)
    else:
        lag = f"{found.lag:,} events behind" if found.lag else "up to date"
        output.line(f"{found.views}: {lag}; {found.events:,} events of {found.matches:,} matches taken in")
        speed = f", at {found.events_per_second:,} events/s" if found.events_per_second else ""
        output.line(
            f"a process follows the log{speed}" if found.followed else "no process follows; whoever asks catches up"
        )
    output.end()


def rebuild(db: str) -> None:
    """Make the views anew, and tell how long that took."""
    with _following(db) as (matches, follower), bar("reading the log") as advance:
        total, start = matches.recorder.end(), time.monotonic()
        events = follower.rebuild(lambda rows: advance(rows, total))
    output = Output()
    seconds = time.monotonic() - start
    output.line(f"{events:,} events taken in, in {seconds:.1f} s ({events / max(seconds, 0.001):,.0f}/s)")
    output.end()


def follow(db: str) -> None:
    """Keep the views up to date, and tell what was taken in, at most once in a second, until interrupted."""
    output = Output()
    with _following(db) as (matches, follower):
        with bar("reading the log") as advance:
            total = matches.recorder.end()
            follower.up_to_date(lambda rows: advance(rows, total))
        events, told, waiting = 0, 0.0, None
        for taken in follower.follow():
            now = time.monotonic()
            if (taken is None) is not waiting:
                waiting = taken is None
                output.line("another process follows the log; waiting" if waiting else "following the log")
                output.end()
            if taken:
                events += taken
            if events and now - told > TELL_SECONDS:
                output.line(f"{events:,} events taken in")
                output.end()
                events, told = 0, now
