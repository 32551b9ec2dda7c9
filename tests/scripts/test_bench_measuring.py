"""Work is measured as is said: warm, in turns, and alone in a process."""

from __future__ import annotations

import os
import time
from functools import partial

import pytest

from benchmarks.measuring import Stopped, alone, in_turns, least, run_command, spread


def test_the_fewest_seconds_leave_the_first_run_out() -> None:
    ticks, calls = iter([10.0, 12.0, 20.0, 25.0]), []
    assert least(lambda: calls.append(1), 2, lambda: next(ticks)) == 2.0
    assert len(calls) == 3


def test_systems_take_turns() -> None:
    order: list[str] = []

    def work(name: str) -> int:
        order.append(name)
        return len(order)

    runs = in_turns({name: partial(work, name) for name in "ab"}, 2)
    assert order == ["a", "b", "a", "b"]
    assert [run.result for run in runs["b"]] == [2, 4]
    assert all(run.wall >= 0 for run in runs["a"])


def test_a_function_runs_in_a_process_of_its_own() -> None:
    assert alone(os.getpid) != os.getpid()


def test_a_process_that_ends_without_a_result_is_told() -> None:
    with pytest.raises(Stopped, match="ended with status 3"):
        alone(os._exit, 3)


def test_a_process_over_its_limit_is_stopped() -> None:
    start = time.perf_counter()
    with pytest.raises(Stopped, match="not ended after 1 s"):
        alone(time.sleep, 60, limit=1)
    assert time.perf_counter() - start < 30


def test_a_command_tells_its_cost_and_its_end() -> None:
    run = run_command("plan", "--documents", "not a number")
    assert run.status == 2
    assert "not a number" in run.errors
    assert run.memory > 10e6
    assert 0 < run.cores < 60


def test_the_spread_is_median_least_and_most() -> None:
    assert spread([3.0, 1.0, 2.0]) == "2.0 (1.0 to 3.0)"
