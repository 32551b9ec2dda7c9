"""How far answers move between neighbouring tensors, by brute force over neighbours."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_tensors import LIBRARIES, symmetrized, unit_columns

from dplda.papers.tensors import PRODUCT, SCALES, VALUE, entry_scales, unit_scales

seeds, sizes, batches = st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 4)


def entry_neighbours(d):
    """Every e_i x e_j x e_k summed over its six orders."""
    for index in itertools.combinations_with_replacement(range(d), 3):
        E = np.zeros((d, d, d))
        E[index] = 1.0
        yield symmetrized(E)


def moved(F, U, scales_of_products, scales_of_values):
    """How far F moves both kinds of scaled answers."""
    products = np.einsum("abc,bl,cl->al", F, U, U)
    return (
        np.linalg.norm(products / scales_of_products),
        np.linalg.norm((U * products).sum(axis=0) / scales_of_values),
    )


@settings(max_examples=60, deadline=None)
@given(seeds, sizes, batches)
def test_no_entry_moves_a_batch_by_more_than_one_and_one_entry_does(seed, d, columns):
    U = unit_columns(d, columns, seed)
    scales = entry_scales(U, PRODUCT, 0.7), entry_scales(U, VALUE, 0.7)
    reached = np.array([moved(0.7 * F, U, *scales) for F in entry_neighbours(d)])
    np.testing.assert_allclose(reached.max(axis=0), 1.0, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(seeds, sizes)
def test_one_column_has_the_noise_of_the_paper(seed, d):
    U = unit_columns(d, 1, seed)
    assert entry_scales(U, PRODUCT) == pytest.approx(6 * np.abs(U).max() ** 2)
    assert entry_scales(U, VALUE) == pytest.approx(6 * np.abs(U).max() ** 3)


def symmetric_basis(d):
    """An orthonormal basis of the symmetric tensors, (coordinates, d, d, d)."""
    basis = np.array(list(entry_neighbours(d)))
    return basis / np.sqrt((basis**2).sum(axis=(1, 2, 3), keepdims=True))


@settings(max_examples=60, deadline=None)
@given(seeds, sizes, batches)
def test_no_contribution_within_the_clip_moves_a_batch_by_more_than_one(seed, d, columns):
    U = unit_columns(d, columns, seed)
    F = symmetric_basis(d)
    products = np.einsum("sabc,bl,cl->sal", F, U, U)
    values = (products * U).sum(axis=1)
    worst_products = 0.7 * np.linalg.norm(products.reshape(len(F), -1), 2)  # over all |F|_F <= 0.7
    worst_values = 0.7 * np.linalg.norm(values, 2)
    assert worst_products <= unit_scales(U, PRODUCT, 0.7)[0] * (1 + 1e-12)
    assert worst_values == pytest.approx(unit_scales(U, VALUE, 0.7)[0])
    if columns == 1:
        assert worst_products == pytest.approx(unit_scales(U, PRODUCT, 0.7)[0])


@pytest.mark.parametrize("neighbours", SCALES)
@settings(max_examples=40, deadline=None)
@given(seed=seeds, d=sizes, columns=batches)
def test_asking_together_never_takes_more_noise_than_asking_one_by_one(neighbours, seed, d, columns):
    U = unit_columns(d, columns, seed)
    scales = SCALES[neighbours]
    for contracted in (PRODUCT, VALUE):
        alone = np.array([scales(U[:, [i]], contracted)[0] for i in range(columns)])
        assert (scales(U, contracted) <= np.sqrt(columns) * alone * (1 + 1e-12)).all()


@pytest.mark.parametrize("neighbours", SCALES)
def test_equal_columns_cost_as_much_as_one_after_the_other(neighbours):
    U = np.repeat(unit_columns(6, 1, seed=1), 4, axis=1)
    scales = SCALES[neighbours]
    np.testing.assert_allclose(scales(U, PRODUCT), 2 * scales(U[:, :1], PRODUCT)[0])


def test_independent_directions_cost_little_more_than_one():
    U = unit_columns(1000, 20, seed=1)
    assert unit_scales(U, PRODUCT)[0] < 1.02
    alone = entry_scales(U[:, :1], PRODUCT)[0]
    assert entry_scales(U, PRODUCT)[0] < 1.7 * alone < np.sqrt(20) * alone


@pytest.mark.parametrize("neighbours", SCALES)
@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_scales_are_the_same_in_every_library(neighbours, library):
    U, scales = unit_columns(5, 3, seed=2), SCALES[neighbours]
    for contracted in (PRODUCT, VALUE):
        np.testing.assert_allclose(np.asarray(scales(library(U), contracted, 2.0)), scales(U, contracted, 2.0))
