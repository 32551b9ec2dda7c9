"""A statistic that the package does not know is one file: this one, about how rich the words of documents are."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from emulated import EmulatedGpu
from gate_helpers import WORDS, curator, gaussian, passes_over
from tiny_units import contribution_of, lattice_sum, make_units, norms

from dplda.base.compiled import compiled
from dplda.base.errors import InputError
from dplda.private.statistics import NONNEGATIVE, Contribution, Statistic, statistic
from dplda.private.statistics.clipping import BOUND, FAST
from dplda.private.statistics.gpu_sums import GpuSums
from dplda.private.statistics.moments import FIRST_MOMENT
from dplda.private.statistics.statistic import ONE_ROW, as_float32, equal_weights
from dplda.private.statistics.unit_sums import _loop_over_units


@compiled(fastmath=FAST, error_model="numpy")
def _contribution(words, counts, first, last, length, scale, matrix, shape, room, out):
    """Distinct words over tokens, and the share of tokens that are a word's only occurrence."""
    once = np.float32(0.0)
    for e in range(first, last):
        once += np.float32(counts[e] == 1)
    out[0], out[1] = np.float32((last - first) / length), once / np.float32(length)


RICHNESS = Statistic(
    name=f"{__name__}:RICHNESS",
    layout=ONE_ROW,
    replace_factor=NONNEGATIVE,
    contribution=_contribution,
    row=lambda k, directions: 2,
    places=lambda k, directions: np.arange(2),
)


def richness(n_words: int) -> Contribution:
    """Type-token ratio and share of hapax legomena, sum of shape (1, 2)."""
    unused = as_float32(np.zeros((n_words, 1)))
    return Contribution(RICHNESS, as_float32(np.ones(n_words)), unused, equal_weights(2))


REPEATING, VARIED = [(0, 9), (1, 1)], [(0, 1), (2, 1), (5, 1), (6, 1)]


def test_documents_and_units_are_measured_and_summed():
    f = richness(len(WORDS))
    np.testing.assert_allclose(contribution_of(f, REPEATING), [[0.2, 0.1]], rtol=1e-6)
    units = make_units([[REPEATING], [VARIED], [REPEATING, VARIED], [[(0, 2)]]])
    np.testing.assert_allclose(norms(f, units), [np.hypot(0.2, 0.1), np.sqrt(2), np.hypot(0.6, 0.55), -1], rtol=1e-6)
    total, _ = lattice_sum(f, units, 4.0)
    np.testing.assert_allclose(total * (4.0 / BOUND), [[1.8, 1.65]], atol=1e-4)


def test_the_curator_releases_it_like_any_other():
    documents = [("ann", {"w0": 9, "w1": 1}), ("bob", {"w0": 1, "w2": 1, "w5": 1, "w6": 1})]
    gate, f = curator(documents, [gaussian("richness clip"), gaussian("richness")]), richness(len(WORDS))
    assert gate.clip("richness", f, 1.0) == pytest.approx(np.sqrt(2), rel=0.2)
    released = gate.release("richness", f, 4.0)
    np.testing.assert_allclose(released.mean, [[0.6, 0.55]], atol=1e-4)
    assert released.std == pytest.approx(4.0)


def test_one_unit_moves_it_by_no_more_than_the_bound():
    f, clip = richness(len(WORDS)), 1e-3
    more, less = (
        passes_over(d).clipped_sum(f, clip) for d in ([("ann", {"w0": 3}), ("bob", {"w1": 4})], [("bob", {"w1": 4})])
    )
    assert sum(int(z) ** 2 for z in (more[0] - less[0]).ravel()) + (more[1] - less[1]) ** 2 <= BOUND**2


def test_it_is_not_kept_where_only_the_packages_own_changes_are_noticed():
    assert _loop_over_units(RICHNESS).stats.cache_path is None
    assert _contribution.stats.cache_path is None


def test_an_altered_copy_is_not_kept_or_sent_under_the_name_of_another():
    copy = replace(FIRST_MOMENT, contribution=_contribution)
    assert _loop_over_units(FIRST_MOMENT).stats.cache_path
    assert _loop_over_units(copy).stats.cache_path is None
    with pytest.raises(TypeError, match=r"no statistic of this kind is found at .*:FIRST_MOMENT"):
        pickle.dumps(copy)


def test_workers_find_it_by_its_name():
    assert pickle.loads(pickle.dumps(richness(3))).statistic is RICHNESS


def test_workers_with_another_version_of_its_file_refuse_it(monkeypatch):
    sent = pickle.dumps(RICHNESS)
    monkeypatch.setattr(statistic, "_source", lambda name: "edited")
    with pytest.raises(ImportError, match=r"another version of .*:RICHNESS"):
        pickle.loads(sent)


def test_a_gpu_says_that_it_has_no_kernel_for_it():
    with pytest.raises(InputError, match=r"^the statistic .*:RICHNESS has no CUDA kernel: use --device cpu\.$"):
        GpuSums(EmulatedGpu(), richness(3))
