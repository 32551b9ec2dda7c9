"""Released tensors are decomposed in whatever library a run computes with."""

from __future__ import annotations

import array_api_strict
import numpy as np

from dplda.base.arrays import computing_with, to_device
from dplda.learning import recovery
from dplda.learning.recovery import eigenpairs


def test_pairs_are_found_in_the_library_of_the_run_and_come_back_in_numpys(monkeypatch):
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    T = np.einsum("r,ar,br,cr->abc", np.arange(6.0, 0, -1), vectors, vectors, vectors)
    seen, method = [], recovery.robust_power_method
    monkeypatch.setattr(recovery, "robust_power_method", lambda T, *a, **o: seen.append(type(T)) or method(T, *a, **o))
    with computing_with(array_api_strict):
        found = eigenpairs(T, np.random.default_rng(1))
    here = eigenpairs(T, np.random.default_rng(1))
    assert seen == [type(array_api_strict.zeros(1)), np.ndarray]
    assert type(found.values) is type(found.vectors) is type(found.residuals) is np.ndarray
    np.testing.assert_allclose(np.sort(found.values), np.arange(1.0, 7), atol=1e-8)
    np.testing.assert_allclose(found.vectors, here.vectors, atol=1e-8)
    assert type(to_device(T)) is np.ndarray
