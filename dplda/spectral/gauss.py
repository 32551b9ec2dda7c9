"""Analyze Gauss: Gaussian noise on the covariance, then its eigenvectors (Dwork, Talwar, Thakurta and Zhang 2014)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dplda.compute.arrays import Array, is_whole, namespace, standard_normal
from dplda.config import check_choice
from dplda.errors import InputError
from dplda.spectral.calibration import gaussian_questions, total_mu
from dplda.spectral.neighbours import ROW, ROWS, l2_sensitivity
from dplda.spectral.rows import unit_rows
from dplda.spectral.subspace import Subspace


def analyze_gauss(
    A: Any, k: int, *, epsilon: float, delta: float, rng: np.random.Generator, neighbours: str = ROW
) -> Subspace:
    """The k leading eigenvectors of A'A + E, (epsilon, delta)-private for one row of `A`.

    `A` (n, d), array or scipy sparse, has rows of length at most 1 (longer ones are cut to it). A'A changes by at most
    1 in Frobenius norm when a row is added or removed, by sqrt(2) when one is replaced. E is symmetric Gaussian in
    coordinates that keep this norm: standard deviation s on the diagonal and s / sqrt(2) off it, where the
    paper's Algorithm 1 has s throughout; s is calibrated exactly. `values` (k,) are eigenvalues of A'A + E.

    Cost: A'A, O(d^3); memory O(d^2) beside A and its cut rows. Where s_2 = ... = s_d, sin of the angle to the first
    eigenvector is about sqrt(d / 2) s / (s_1^2 - s_2^2), s_i the singular values of A. Seeded
    floating-point noise is for study; a private release of documents takes the curator's exact noise. Raises
    `InputError` for NaN, wrong shapes, k outside [1, d] or a wrong budget (delta must be positive).
    """
    check_choice("neighbours", neighbours, ROWS)
    event = gaussian_questions("covariance", 1, total_mu(epsilon, delta))
    A, _ = unit_rows(A)
    if not is_whole(k) or not 1 <= k <= A.shape[1]:
        raise InputError(f"k must be a whole number in [1, {A.shape[1]}] (components), got {k!r}.")
    covariance = _dense(A.T @ A)
    xp = namespace(covariance)
    std = (event.noise_multiplier or math.inf) * l2_sensitivity(covariance, neighbours)
    noise = std * standard_normal(rng, tuple(covariance.shape), covariance)
    values, vectors = xp.linalg.eigh(covariance + (noise + noise.T) / 2)
    return Subspace(xp.flip(vectors, axis=1)[:, :k], xp.flip(values)[:k], 0, (), (event,))


def _dense(A: Any) -> Array:
    return A.toarray() if hasattr(A, "toarray") else A
