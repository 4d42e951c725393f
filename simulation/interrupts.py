"""Interrupts held back while something must not be left half done."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread


@contextmanager
def held_back() -> Iterator[Callable[[], bool]]:
    """Hold back an interrupt (Ctrl-C) until the end, where it is raised; what is given tells whether one came.

    Python raises it in the main thread wherever that is, also just after it took a lock, which nobody gives back then.
    """
    came: list[int] = []
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False  # nothing is raised here, or whoever holds it back sees to it
        return
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if came:
            raise KeyboardInterrupt
