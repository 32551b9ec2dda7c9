"""Cutting units into ranges, and running the ranges in threads."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from dplda.base.threads import one_blas_thread, run_ranges, split, thread_count


def cumulative(sizes: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 12))
def test_ranges_cover_everything_once_in_order(sizes, parts):
    ranges = split(cumulative(sizes), parts)
    assert [i for first, last in ranges for i in range(first, last)] == list(range(len(sizes)))
    assert all(first < last for first, last in ranges)
    assert len(ranges) <= parts


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 8))
def test_ranges_carry_about_equal_weight(sizes, parts):
    weights = cumulative(sizes)
    for first, last in split(weights, parts):
        assert weights[last] - weights[first] <= sum(sizes) / parts + max(sizes) + 1e-9


def test_results_come_in_the_order_of_the_ranges_whatever_finishes_first():
    def work(first: int, last: int) -> tuple[int, int]:
        time.sleep(0.01 * (3 - first))
        return first, last

    assert run_ranges(work, [(0, 1), (1, 2), (2, 3)]) == [(0, 1), (1, 2), (2, 3)]
    assert run_ranges(work, []) == []


def test_one_range_runs_in_the_calling_thread():
    assert run_ranges(lambda *_: threading.current_thread(), [(0, 5)]) == [threading.current_thread()]


def test_a_failure_in_a_thread_reaches_the_caller():
    def work(first: int, last: int) -> int:
        return 1 // first

    with pytest.raises(ZeroDivisionError):
        run_ranges(work, [(0, 1), (1, 2)])


def test_there_is_at_least_one_thread():
    assert thread_count() >= 1


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_matrix_products_are_held_to_one_thread_and_set_free_again():
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
