"""The array handle: one answer for NumPy and for a library that knows nothing of NumPy."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from dplda.base.arrays import floats, like, namespace, standard_normal, symmetric, to_numpy
from dplda.base.errors import InputError

LIBRARIES = pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])


@LIBRARIES
def test_values_go_there_and_back(xp):
    values = np.arange(6.0).reshape(2, 3)
    there = like(values, xp.asarray([1.0]))
    assert type(there) is type(xp.asarray([1.0]))
    np.testing.assert_array_equal(to_numpy(there), values)
    assert like(values, xp.asarray([1.0], dtype=xp.float32)).dtype == xp.float32


@LIBRARIES
def test_a_seed_gives_the_same_draws_in_every_library(xp):
    drawn = standard_normal(np.random.default_rng(3), (4, 2), xp.asarray([1.0]))
    np.testing.assert_array_equal(to_numpy(drawn), np.random.default_rng(3).standard_normal((4, 2)))


@LIBRARIES
def test_what_is_no_real_finite_array_is_refused(xp):
    assert floats(xp.asarray([1, 2]), "A").dtype == xp.float64
    assert floats(xp.asarray([1.0], dtype=xp.float32), "A").dtype == xp.float32
    for bad in (float("nan"), float("inf")):
        with pytest.raises(InputError, match="A must be finite"):
            floats(xp.asarray([1.0, bad]), "A")
    with pytest.raises(InputError, match="real numbers"):
        floats(xp.asarray([1.0 + 1j]), "A")


@LIBRARIES
def test_only_symmetric_matrices_pass_and_rounding_is_averaged_away(xp):
    A = np.array([[1.0, 2.0], [2.0 + 1e-9, 3.0]])
    np.testing.assert_array_equal(to_numpy(symmetric(xp.asarray(A), "A")), (A + A.T) / 2)
    with pytest.raises(InputError, match="must be symmetric"):
        symmetric(xp.asarray([[1.0, 2.0], [2.1, 3.0]]), "A")
    for shape in ((2, 3), (2,), (0, 0)):
        with pytest.raises(InputError, match="square"):
            symmetric(xp.zeros(shape), "A")


def test_lists_and_mixed_libraries_are_refused():
    for arrays in (([1.0],), (np.ones(1), array_api_strict.ones(1)), ()):
        with pytest.raises(InputError, match="one library"):
            namespace(*arrays)
