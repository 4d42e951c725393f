"""The views of a store, brought up to date before they are asked."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from domain.application import Matches
from projections.follower import Follower
from projections.opening import views_in_memory, views_of
from projections.views import Views, ViewsError
from soulrift import store
from soulrift.terminal import bar, complain

MANY = 20_000
"""So many events take about half a second."""


@contextmanager
def asking(db: str, match: str | None = None, *, counted: bool = False) -> Iterator[Views]:
    """The views of the store of this name with all that is in it; those of a match, if one is named.

    `counted`: it is seen that the store still has as many events as they were made of.

    Where views can neither be written nor read as they are, they are made in memory, for this one answer.

    Raises:
        MatchNotFoundError: there is no such match.

    """
    with store.open_to_read(db) as matches:
        try:
            views = views_of(matches)
            try:
                follower = _up_to_date(matches, views)
            except BaseException:
                views.close()
                raise
        except ViewsError as error:
            complain(f"{' '.join(str(error).split())}; they are made in memory, for this answer alone")
            views = views_in_memory()
            follower = _up_to_date(matches, views)
        with closing(views), follower.answering(match) as found:
            if counted:
                follower.see_all_counted()
            yield found


def _up_to_date(matches: Matches, views: Views) -> Follower:
    follower = Follower(matches, views)
    total = matches.recorder.end() - views.progress().position
    with bar("reading the log", worth_it=total > MANY) as advance:
        follower.up_to_date(lambda rows: advance(rows, total))
    return follower
