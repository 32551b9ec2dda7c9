"""Ctrl-C at any step of a change leaves the ledger open for the next one."""

from __future__ import annotations

import signal
import sys
from typing import Any

import pytest
from ledger_helpers import gaussian, reserve

from dplda.budget import Ledger
from dplda.budget.sketches import Fingerprint

pytestmark = pytest.mark.usefixtures("interruptible")


class Interrupter:
    """Interrupts this process at one of the calls and returns of a body; counts them."""

    def __init__(self, at: int) -> None:
        self.at, self.n_events = at, 0

    def __enter__(self) -> Interrupter:
        sys.setprofile(self._see)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: Any, event: str, argument: Any) -> None:
        self.n_events += 1
        if self.n_events == self.at:
            signal.raise_signal(signal.SIGINT)


def test_an_interrupt_at_any_step_of_a_charge_leaves_the_ledger_open(ledger: Ledger) -> None:
    run = reserve(ledger, events=[gaussian(mu_squared=1e-6)] * 60)
    run.bind(Fingerprint("f"))
    run.charge(run.events[0])
    with Interrupter(at=0) as counted:
        run.charge(run.events[1])
    kept = []  # as the interpreter keeps the error that it is handling, and all of its frames
    for step in range(50):
        with pytest.raises(KeyboardInterrupt) as stopped, Interrupter(at=1 + step * counted.n_events // 50):
            run.charge(run.events[2 + step])
        kept.append(stopped)
        ledger.grant("other", 1.0, 1e-6)
    run.abandon("cancelled", "interrupted")
    assert ledger.run(run.run).status == "cancelled"
