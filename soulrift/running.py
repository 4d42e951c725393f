"""Where work is done that is cut in pieces: in this process, in several, or on a cluster."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TypeVar

from msgspec import Struct

from simulation import runners

W = TypeVar("W")
R = TypeVar("R")


class Where(Struct, frozen=True):
    """Where it is done: with how many jobs, by which runner, on which scheduler's cluster."""

    jobs: int | None = None
    runner: str | None = None
    scheduler: str | None = None


def done(do: Callable[[W], R], work: Iterator[W], where: Where) -> Generator[R, None, None]:
    """The results of these pieces of work, in their order.

    Raises:
        RunnerError: the runner cannot run.
        BrokenRunError: those who did the work are gone.

    """
    jobs = where.jobs or runners.cores()
    name = where.runner or ("local" if jobs == 1 else "processes")
    if name == "dask":
        results = runners.dask(do, work, jobs, where.scheduler)
    else:
        results = (runners.processes if name == "processes" else runners.local)(do, work, jobs)
    with closing(results):
        yield from results
