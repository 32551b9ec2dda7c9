"""Worker processes that leave Ctrl-C to the process that started them."""

from __future__ import annotations

import multiprocessing.resource_tracker
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from joblib.externals.loky.backend import resource_tracker


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Context manager: an interrupt waits until its end, and processes started in it never see one.

    A terminal sends Ctrl-C to all processes. A new process that has not begun to ignore it would print a traceback; it
    inherits the mask of signals from the thread that starts it, and is never without.
    """
    if not hasattr(signal, "pthread_sigmask"):  # missing on some platforms
        yield
        return
    for tracker in (resource_tracker, multiprocessing.resource_tracker):
        tracker.ensure_running()  # starting it unblocks interrupts, so it must not start with the first process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
