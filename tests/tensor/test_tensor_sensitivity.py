"""How far answers move between neighbouring tensors, by brute force over neighbours."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_tensors import LIBRARIES, symmetrized, unit_columns

from dplda.tensor.private_eigenpairs import SENSITIVITIES, EntryLevel, UnitLevel

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
    sensitivity = EntryLevel(0.7)
    scales = sensitivity.of_products(U), sensitivity.of_values(U)
    reached = np.array([moved(0.7 * F, U, *scales) for F in entry_neighbours(d)])
    np.testing.assert_allclose(reached.max(axis=0), 1.0, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(seeds, sizes)
def test_one_column_has_the_noise_of_the_paper(seed, d):
    U = unit_columns(d, 1, seed)
    assert EntryLevel().of_products(U) == pytest.approx(6 * np.abs(U).max() ** 2)
    assert EntryLevel().of_values(U) == pytest.approx(6 * np.abs(U).max() ** 3)


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
    sensitivity = UnitLevel(0.7)
    worst_products = 0.7 * np.linalg.norm(products.reshape(len(F), -1), 2)  # over all |F|_F <= 0.7
    worst_values = 0.7 * np.linalg.norm(values, 2)
    assert worst_products <= sensitivity.of_products(U)[0] * (1 + 1e-12)
    assert worst_values == pytest.approx(sensitivity.of_values(U)[0])
    if columns == 1:
        assert worst_products == pytest.approx(sensitivity.of_products(U)[0])


@pytest.mark.parametrize("neighbours", SENSITIVITIES)
@settings(max_examples=40, deadline=None)
@given(seed=seeds, d=sizes, columns=batches)
def test_asking_together_never_takes_more_noise_than_asking_one_by_one(neighbours, seed, d, columns):
    U = unit_columns(d, columns, seed)
    sensitivity = SENSITIVITIES[neighbours](1.0)
    for scales in (sensitivity.of_products, sensitivity.of_values):
        alone = np.array([scales(U[:, [i]])[0] for i in range(columns)])
        assert (scales(U) <= np.sqrt(columns) * alone * (1 + 1e-12)).all()


@pytest.mark.parametrize("neighbours", SENSITIVITIES)
def test_equal_columns_cost_as_much_as_one_after_the_other(neighbours):
    U = np.repeat(unit_columns(6, 1, seed=1), 4, axis=1)
    sensitivity = SENSITIVITIES[neighbours](1.0)
    np.testing.assert_allclose(sensitivity.of_products(U), 2 * sensitivity.of_products(U[:, :1])[0])


def test_independent_directions_cost_little_more_than_one():
    U = unit_columns(1000, 20, seed=1)
    assert UnitLevel(1.0).of_products(U)[0] < 1.02
    alone = EntryLevel(1.0).of_products(U[:, :1])[0]
    assert EntryLevel(1.0).of_products(U)[0] < 1.7 * alone < np.sqrt(20) * alone


@pytest.mark.parametrize("neighbours", SENSITIVITIES)
@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_scales_are_the_same_in_every_library(neighbours, library):
    U, sensitivity = unit_columns(5, 3, seed=2), SENSITIVITIES[neighbours](2.0)
    for scales in (sensitivity.of_products, sensitivity.of_values):
        np.testing.assert_allclose(np.asarray(scales(library(U))), scales(U))
