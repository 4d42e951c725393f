"""Runners: where batches are played. Each gives the results in the order of the batches, whoever was first."""

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from typing import Any

from simulation.batches import Batch, Result, play_batch

AHEAD = 3
"""So many batches for each worker are under way at once; more would only wait in memory."""

RETRIES = 3
"""So often a task is given to another worker when its own one died."""


class RunnerError(Exception):
    """A runner that cannot run; the message says what is missing."""


def local(batches: Iterator[Batch], jobs: int) -> Generator[Result, None, None]:
    """In this process, one after the other."""
    del jobs
    yield from map(play_batch, batches)


def processes(batches: Iterator[Batch], jobs: int) -> Generator[Result, None, None]:
    """In so many processes of this machine."""
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _leave_interrupts_to_the_parent)
    try:
        yield from _in_order(batches, lambda batch: pool.submit(play_batch, batch), jobs)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _in_order(batches: Iterator[Batch], submit: Callable[[Batch], Future[Result]], jobs: int) -> Iterator[Result]:
    under_way = deque(submit(batch) for batch in islice(batches, jobs * AHEAD))
    while under_way:
        result = under_way.popleft().result()
        for batch in islice(batches, 1):
            under_way.append(submit(batch))
        yield result


def dask(batches: Iterator[Batch], jobs: int, scheduler: str | None = None) -> Generator[Result, None, None]:
    """On a Dask cluster: that of a scheduler, or one of so many processes on this machine.

    Raises:
        RunnerError: Dask is not there, or the scheduler is not.

    """
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        message = "the runner dask needs an extra: pip install 'soulrift[cluster]'"
        raise RunnerError(message) from None
    try:
        cluster = (
            None if scheduler else _untyped(LocalCluster)(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
        )
        client = _untyped(Client)(scheduler or cluster, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        message = f"the scheduler {scheduler} cannot be reached: {error}"
        raise RunnerError(message) from None
    try:
        workers = jobs if cluster else max(len(client.scheduler_info(n_workers=-1)["workers"]), 1)

        def submit(batch: Batch) -> Any:
            return client.submit(play_batch, batch, pure=False, retries=RETRIES)

        yield from _in_order(batches, submit, workers)
    finally:
        for each in filter(None, (client, cluster)):
            each.close()


def _untyped(maker: Any) -> Any:
    """What Dask makes has no types."""
    return maker


def cores() -> int:
    """How many processors this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
