"""Conversion between symmetric matrices or tensors and the vectors of their distinct coordinates."""

from __future__ import annotations

import itertools

import numpy as np


def unpack(coordinates: np.ndarray, k: int) -> np.ndarray:
    """The symmetric (k, k, k) tensor with entries `coordinates` at a <= b <= c, row-major; (k (k+1) (k+2) / 6,)."""
    T = np.empty((k, k, k))
    for p in itertools.permutations(rising(k)):
        T[p] = coordinates
    return T


def pack(T: np.ndarray) -> np.ndarray:
    """The entries of T (k, k, k) at a <= b <= c, row-major; for symmetric T the inverse of `unpack`."""
    return np.asarray(T[rising(len(T))])


def rising(k: int) -> tuple[np.ndarray, ...]:
    """Indices (a, b, c) of the coordinates a <= b <= c < k, row-major."""
    i = np.arange(k)
    return np.nonzero((i[:, None, None] <= i[:, None]) & (i[:, None] <= i))


def unpack_matrix(coordinates: np.ndarray, p: int) -> np.ndarray:
    """The symmetric (p, p) matrix with entries `coordinates` at i <= j, row-major; (p (p + 1) / 2,)."""
    i, j = np.triu_indices(p)
    A = np.empty((p, p))
    A[i, j] = coordinates
    A[j, i] = coordinates
    return A


def unpack_offsets(coordinates: np.ndarray) -> np.ndarray:
    """The symmetric (d, d) matrix with entry `coordinates[i, j]`, (d, d // 2 + 1), at i and (i + j) mod d.

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
