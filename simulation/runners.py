"""Runners: where work is done. Each gives the results in the order of the pieces of work, whichever was done first."""

import logging
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from itertools import islice
from multiprocessing import get_context, resource_tracker
from threading import Thread
from typing import Any, TypeVar

from simulation.interrupts import held_back

W = TypeVar("W")
R = TypeVar("R")
F = TypeVar("F")

AHEAD = 3
"""So many pieces for each worker are under way at once; more would only wait in memory."""

_AGAIN = 0.1
"""Seconds from one look whether somebody interrupts to the next."""

RETRIES = 3
"""So often a task is given to another worker when its own one died."""


class RunnerError(Exception):
    """A runner that cannot run; the message says what is missing."""


class BrokenRunError(Exception):
    """A run that broke off, since those who played it are gone."""


def local(do: Callable[[W], R], work: Iterator[W], jobs: int) -> Generator[R, None, None]:
    """In this process, one after the other."""
    del jobs
    yield from map(do, work)


def processes(do: Callable[[W], R], work: Iterator[W], jobs: int) -> Generator[R, None, None]:
    """In so many processes of this machine."""
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _live_with_the_parent, (os.getpid(),))

    def submit(piece: W) -> Future[R]:
        with _uninterrupted():
            return pool.submit(do, piece)

    try:
        yield from _in_order(work, submit, jobs, _result)
    except BrokenProcessPool:
        message = "a process that did some of the work was ended from outside"
        raise BrokenRunError(message) from None
    finally:
        with _uninterrupted():
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold interrupts back until the end, and for good from the processes and threads that are started meanwhile.

    Ctrl-C in a terminal goes to all processes: one that has only just been started would break off in its imports, and
    so would a pool or a cluster that is half there.
    """
    with held_back():
        if not hasattr(signal, "pthread_sigmask"):
            yield
            return
        resource_tracker.ensure_running()  # or it would be started meanwhile, and unblock the interrupt
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _live_with_the_parent(parent: int) -> None:
    """Leave interrupts to the parent, and end when it is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _result(future: Future[R]) -> R:
    with held_back() as interrupted:
        while not interrupted() and wait([future], _AGAIN).not_done:
            pass
    return future.result()


def _in_order(work: Iterator[W], submit: Callable[[W], F], jobs: int, result_of: Callable[[F], R]) -> Iterator[R]:
    under_way = deque(submit(piece) for piece in islice(work, jobs * AHEAD))
    while under_way:
        result = result_of(under_way.popleft())
        for piece in islice(work, 1):
            under_way.append(submit(piece))
        yield result


def dask(do: Callable[[W], R], work: Iterator[W], jobs: int, scheduler: str | None = None) -> Generator[R, None, None]:
    """On a Dask cluster: that of a scheduler, or one of so many processes on this machine.

    Raises:
        RunnerError: Dask is not there, or the scheduler is not.

    """
    try:
        from dask.distributed import Client, KilledWorker
    except ImportError:
        message = "the runner dask needs an extra: pip install 'soulrift[cluster]'"
        raise RunnerError(message) from None
    with ExitStack() as started:
        try:
            with _uninterrupted():
                where = scheduler or started.enter_context(_closing(_cluster(jobs)))
            client = started.enter_context(_closing(_untyped(Client)(where, timeout=10)))
        except (OSError, TimeoutError, ValueError) as error:
            message = f"the scheduler {scheduler} cannot be reached: {error}"
            raise RunnerError(message) from None

        def submit(piece: W) -> Any:
            return client.submit(do, piece, pure=False, retries=RETRIES)

        try:
            workers = max(len(client.scheduler_info(n_workers=-1)["workers"]), 1) if scheduler else jobs
            yield from _in_order(work, submit, workers, lambda future: future.result())
        except (CancelledError, KilledWorker, OSError, TimeoutError) as error:
            message = f"the cluster broke off: {error!r}"
            raise BrokenRunError(message) from None


@contextmanager
def _closing(opened: Any) -> Iterator[Any]:
    """Close it in the end, all of it."""
    try:
        yield opened
    finally:
        with _uninterrupted():
            opened.close()


def _cluster(jobs: int) -> Any:
    """A Dask cluster of so many processes on this machine; of its workers' troubles the run itself tells."""
    from dask.distributed import LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    return _untyped(LocalCluster)(n_workers=jobs, **options)


def _untyped(maker: Any) -> Any:
    """What Dask makes has no types."""
    return maker


def cores() -> int:
    """How many processors this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
