"""How units are divided into ranges changes no sum, and larger stores are read a range at a time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from full_helpers import full_after
from hypothesis import given, settings
from hypothesis import strategies as st
from small_store import WORDS, D, everything

import dplda
from dplda.base.threads import add
from dplda.private import statistics
from dplda.private.passes import local_passes
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics.unit_sums import UnitSums
from dplda.private.store.units import UnitRange, project


@pytest.mark.parametrize("n", full_after(2, [2, 3, 7, 40]))
def test_ranges_change_nothing(store, n):
    for one, many in zip(everything(LocalPasses(store, 1)), everything(LocalPasses(store, n)), strict=True):
        np.testing.assert_array_equal(one, many)


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_ranges_one_after_the_other_are_the_whole(store, n):
    whole = project(store, WORDS)
    parts = [project(store, WORDS, UnitRange(i, n)) for i in range(n)]
    np.testing.assert_array_equal(np.concatenate([part.words for part in parts]), whole.words)
    np.testing.assert_array_equal(np.concatenate([part.counts for part in parts]), whole.counts)
    documents = [np.diff(part.indptr)[a:b].sum() for part in parts for a, b in zip(part.unit_ptr, part.unit_ptr[1:])]  # noqa: B905
    expected = [np.diff(whole.indptr)[a:b].sum() for a, b in zip(whole.unit_ptr, whole.unit_ptr[1:])]  # noqa: B905
    assert documents == expected


def test_a_fit_of_a_store_too_large_to_keep_is_the_fit_of_one_that_is_kept(store, monkeypatch):
    corpus = dplda.read_corpus(store.path)

    def fit():
        return dplda.fit(corpus, n_topics=2, vocabulary=WORDS, epsilon=8, ledger=False, simulate_seed=1)

    whole, seen, read = fit(), [], local_passes.project
    monkeypatch.setattr(local_passes, "_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(local_passes, "RANGE_BYTES", store.n_bytes // 5)
    monkeypatch.setattr(local_passes, "project", lambda *a: seen.append(a[2]) or read(*a))
    np.testing.assert_array_equal(fit().topics, whole.topics)
    assert {units.of for units in seen} == {-(-store.n_bytes // local_passes.RANGE_BYTES)}


def test_kernels_are_compiled_once_whether_or_not_arrays_may_be_written(store):
    """What has come over a network cannot be; another compilation might add in another order."""
    counts, contribution = project(store, WORDS), statistics.first_moment(np.ones(D))
    chosen = np.arange(counts.n_units)
    UnitSums(contribution).total(counts, chosen, 0.05)
    loop = UnitSums(contribution)._loop
    compiled = len(loop.signatures)
    for array in (*vars(counts).values(), *vars(contribution).values()):
        if isinstance(array, np.ndarray):
            array.flags.writeable = not array.flags.writeable
    UnitSums(contribution).total(counts, chosen, 0.05)
    assert len(loop.signatures) == compiled


@given(st.lists(st.tuples(st.integers(-9, 9), st.lists(st.integers(-9, 9), min_size=2, max_size=2)), min_size=1))
@settings(deadline=None)
def test_adding_is_addition(parts):
    whole, arrays = add((a, np.array(b)) for a, b in parts)
    assert whole == sum(a for a, _ in parts)
    assert arrays.tolist() == np.sum([b for _, b in parts], axis=0).tolist()


def test_passes_in_memory_report_what_they_finish_and_slices_change_nothing(store, monkeypatch):
    whole = everything(LocalPasses(store, 1))
    monkeypatch.setattr("dplda.private.passes.local_passes._SLICE_UNITS", 3)
    seen = []
    passes = LocalPasses(store, 1)
    passes.progress = SimpleNamespace(advance=lambda n: seen.append(n), estimate=lambda share: seen.append(share))
    for one, sliced in zip(whole, everything(passes), strict=True):
        np.testing.assert_array_equal(one, sliced)
    assert sum(seen[:-1:2][: seen[1::2].index(1.0) + 1]) == passes.n_units()
    assert len(set(seen[1::2])) > 2
