"""Algebra of LDA's moments: their corrections, those of a known model, and packed symmetric matrices and tensors."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np


def coefficients(alpha0: float) -> tuple[float, float, float]:
    """Return (a, b, c3): M2 = E2 - a m m', M3 = E3 + b P(E2, m) + c3 m^3 (docs/privacy.md, section 0)."""
    return (
        alpha0 / (alpha0 + 1),
        -alpha0 / (alpha0 + 2),
        2 * alpha0**2 / ((alpha0 + 1) * (alpha0 + 2)),
    )


@dataclass(frozen=True, eq=False)
class PopulationMoments:
    """Moments over words: `m` (d,), `E2` and `M2` (d, d), `E3` and `M3` (d, d, d)."""

    m: np.ndarray
    E2: np.ndarray
    E3: np.ndarray
    M2: np.ndarray
    M3: np.ndarray


def population_moments(topics: np.ndarray, alpha: np.ndarray) -> PopulationMoments:
    """Return the moments of LDA with `topics` (k, d), rows on the simplex, and Dirichlet parameters `alpha` (k,).

    Raises `ValueError` unless the shapes agree, the rows are distributions and every alpha is positive.
    """
    topics, alpha = np.asarray(topics, np.float64), np.asarray(alpha, np.float64)
    if topics.ndim != 2 or alpha.shape != topics.shape[:1]:
        raise ValueError(f"need topics (k, d) and alpha (k,), got shapes {topics.shape} and {alpha.shape}")
    if not (topics >= 0).all() or not np.allclose(topics.sum(axis=1), 1.0):
        raise ValueError("every topic must be a distribution over words")
    if not (np.isfinite(alpha) & (alpha > 0)).all():
        raise ValueError("every Dirichlet parameter must be positive")
    alpha0 = alpha.sum()
    urn1, urn2, urn3 = _urn(alpha)
    return PopulationMoments(
        m=urn1 @ topics,
        E2=topics.T @ urn2 @ topics,
        E3=np.einsum("ijl,ia,jb,lc->abc", urn3, topics, topics, topics, optimize=True),
        M2=(topics.T * (alpha / (alpha0 * (alpha0 + 1)))) @ topics,
        M3=np.einsum(
            "i,ia,ib,ic->abc",
            2 * alpha / (alpha0 * (alpha0 + 1) * (alpha0 + 2)),
            topics, topics, topics,
            optimize=True,
        ),
    )  # fmt: skip


def _urn(alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joint probabilities of the topics of one, two and three distinct tokens (Pólya's urn)."""
    alpha0, same = alpha.sum(), np.eye(len(alpha))
    one = alpha / alpha0
    two = one[:, None] * (alpha + same) / (alpha0 + 1)
    three = two[:, :, None] * (alpha + same[:, None, :] + same[None, :, :]) / (alpha0 + 2)
    return one, two, three


def unpack(coordinates: np.ndarray, k: int) -> np.ndarray:
    """Make the symmetric (k, k, k) tensor of `coordinates`, (k (k+1) (k+2) / 6,), at a <= b <= c, row-major."""
    T = np.empty((k, k, k))
    for p in itertools.permutations(rising(k)):
        T[p] = coordinates
    return T


def pack(T: np.ndarray) -> np.ndarray:
    """Return the entries of T (k, k, k) at a <= b <= c, row-major; for symmetric T the inverse of `unpack`."""
    return np.asarray(T[rising(len(T))])


def rising(k: int) -> tuple[np.ndarray, ...]:
    """Return indices (a, b, c) of the coordinates a <= b <= c < k, row-major."""
    i = np.arange(k)
    return np.nonzero((i[:, None, None] <= i[:, None]) & (i[:, None] <= i))


def unpack_matrix(coordinates: np.ndarray, p: int) -> np.ndarray:
    """Return the symmetric (p, p) matrix with entries `coordinates` at i <= j, row-major; (p (p + 1) / 2,)."""
    i, j = np.triu_indices(p)
    A = np.empty((p, p))
    A[i, j] = coordinates
    A[j, i] = coordinates
    return A


def unpack_offsets(coordinates: np.ndarray) -> np.ndarray:
    """Return the symmetric (d, d) matrix with entry `coordinates[i, j]`, (d, d // 2 + 1), at i and (i + j) mod d.

    For even d, rows d // 2 and above of the last column repeat earlier pairs and are ignored.
    """
    d = len(coordinates)
    rows = np.arange(d)
    A = np.empty((d, d))
    for offset in range(d // 2 + 1):
        i = rows[: d // 2] if 0 < 2 * offset == d else rows
        j = (i + offset) % d
        A[i, j] = A[j, i] = coordinates[i, offset]
    return A


def pairings(A: np.ndarray, m: np.ndarray) -> np.ndarray:
    """P(A, m)_abc = A_ab m_c + A_ac m_b + A_bc m_a for symmetric A (k, k) and m (k,)."""
    Am = A[:, :, None] * m
    return np.asarray(Am + Am.transpose(0, 2, 1) + Am.transpose(2, 0, 1))
