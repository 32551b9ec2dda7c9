"""Products of dense and implicit tensors against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_tensors import LIBRARIES, planted, symmetrized, unit_columns

from dplda.base.errors import InputError
from dplda.learning.eigenpairs import implicit, scale_to_unit
from dplda.papers import Implicit


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 7), columns=st.integers(1, 5))
def test_products_are_those_of_the_definition(library, seed, d, columns):
    random = np.random.default_rng(seed)
    T, U = symmetrized(random.standard_normal((d, d, d))), random.standard_normal((d, columns))
    found = implicit(library(T), 1).along(library(U))
    np.testing.assert_allclose(np.asarray(found), np.einsum("abc,bl,cl->al", T, U, U), rtol=1e-9, atol=1e-9)


def test_deflated_products_lack_the_pairs():
    T, V = planted(np.array([3.0, 2.0, 1.0]), 6, seed=1)
    U = unit_columns(6, 4, seed=2)
    rest = np.einsum("r,ar,br,cr->abc", [1.0], V[:, 2:], V[:, 2:], V[:, 2:])
    found = implicit(T, 1).deflate(np.array([3.0, 2.0]), V[:, :2]).along(U)
    np.testing.assert_allclose(found, np.einsum("abc,bl,cl->al", rest, U, U), atol=1e-12)


def test_a_function_of_one_vector_serves_columns():
    T, _ = planted(np.array([3.0, 2.0]), 5, seed=3)
    U = unit_columns(5, 3, seed=4)
    tensor = Implicit.of_vectors(lambda u: np.einsum("abc,b,c->a", T, u, u), 5)
    np.testing.assert_allclose(tensor.along(U), implicit(T, 1).along(U), atol=1e-12)


def test_whole_numbers_and_single_precision_are_taken():
    T = symmetrized(np.arange(27).reshape(3, 3, 3))
    U = unit_columns(3, 2, seed=0)
    wanted = np.einsum("abc,bl,cl->al", T, U, U)
    np.testing.assert_allclose(implicit(T, 1).along(U), wanted)
    single = implicit((T / 7).astype(np.float32), 1)
    assert single.example.dtype == np.float32
    np.testing.assert_allclose(single.along(U.astype(np.float32)) * 7, wanted, rtol=1e-5)


def bump(d: int, *index: int) -> np.ndarray:
    T = np.zeros((d, d, d))
    T[index] = 1e-3
    return T


@pytest.mark.parametrize("index", [(0, 1, 2), (0, 0, 1), (1, 0, 0), (2, 1, 2)])
def test_one_entry_without_its_mirror_images_is_found(index):
    T, _ = planted(np.array([3.0, 2.0]), 3, seed=1)
    bad = T + bump(3, *index)
    with pytest.raises(InputError, match="must be symmetric"):
        implicit(bad, 1)
    with pytest.raises(InputError, match="must be symmetric"):
        implicit(Implicit(lambda U: np.einsum("abc,bl,cl->al", bad, U, U), 3), 1)


@pytest.mark.parametrize(
    ("T", "rank", "message"),
    [
        (np.zeros((3, 3, 2)), 1, "got shape"),
        (np.zeros((3, 3)), 1, "got shape"),
        (np.zeros(()), 1, "got shape"),
        (np.zeros((0, 0, 0)), 0, "got shape"),
        (np.zeros((2, 2, 2)), 0, "rank 0"),
        (np.zeros((2, 2, 2)), 3, "rank 3"),
        (Implicit(lambda U: U, 2), 3, "rank 3"),
        (np.full((2, 2, 2), np.nan), 1, "finite"),
        (np.full((2, 2, 2), np.inf), 1, "finite"),
        (np.full((2, 2, 2), 1j), 1, "real"),
        (np.zeros((2, 2, 2)).tolist(), 1, "one library"),
        (np.zeros((2, 2, 2)), 1.0, "rank 1.0"),
        (Implicit(lambda U: U * np.nan, 2), 1, "finite"),
        (Implicit(lambda U: U[:, 0], 2), 1, r"must be \(d, L\)"),
    ],
)
def test_what_is_no_finite_symmetric_cube_or_no_possible_rank_is_refused(T, rank, message):
    with pytest.raises(InputError, match=message):
        implicit(T, rank)


def test_columns_of_length_zero_keep_what_they_were():
    V, before = np.array([[3.0, 0.0], [4.0, 0.0]]), np.array([[1.0, 0.6], [0.0, 0.8]])
    np.testing.assert_allclose(scale_to_unit(V, before), [[0.6, 0.6], [0.8, 0.8]])
