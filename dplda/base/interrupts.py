"""Interrupts (Ctrl-C) that wait until they harm nothing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_postponed() -> Iterator[None]:
    """Context manager: an interrupt of this process takes effect at its end, whatever the body raised.

    An interrupt may come between any two steps of Python, also where a library has taken a lock or begun a transaction
    and has not yet noted it, so that nothing would release it. Interrupts reach the main thread only. Blocking the
    signal is not enough: the system would give it to another thread, and Python still hands it to the main thread.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    postponed: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: postponed.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if postponed:
            before(*postponed[0])
