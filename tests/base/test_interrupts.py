from __future__ import annotations

import signal
import threading

import pytest

from dplda.base.interrupts import interrupts_postponed

pytestmark = pytest.mark.usefixtures("interruptible")


def interrupted(done: list[str]) -> None:
    with interrupts_postponed():
        with interrupts_postponed():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    done.append("after")


def interrupted_and_failed() -> None:
    with interrupts_postponed():
        signal.raise_signal(signal.SIGINT)
        raise ValueError


def test_an_interrupt_waits_for_the_end_of_the_body_and_of_those_around_it():
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(done)
    assert done == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_is_not_lost_if_the_body_raises():
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted_and_failed()
    assert isinstance(caught.value.__context__, ValueError)


def test_other_threads_and_ignored_interrupts_are_left_alone():
    def body() -> None:
        with interrupts_postponed():
            before.append(signal.getsignal(signal.SIGINT))

    before: list[object] = []
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert before == [signal.default_int_handler]
    kept = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        body()
    finally:
        signal.signal(signal.SIGINT, kept)
    assert before[1] is signal.SIG_IGN
