"""Symmetric third-order tensors by their coordinates a <= b <= c."""

from __future__ import annotations

import itertools

import numpy as np


def unpack(coordinates: np.ndarray, k: int) -> np.ndarray:
    """The symmetric (k, k, k) tensor with entries `coordinates` at a <= b <= c, row-major; (k (k+1) (k+2) / 6,)."""
    a, b, c = (np.array(x) for x in zip(*itertools.combinations_with_replacement(range(k), 3), strict=True))
    T = np.empty((k, k, k))
    for p in itertools.permutations((a, b, c)):
        T[p] = coordinates
    return T


def unpack_matrix(coordinates: np.ndarray, p: int) -> np.ndarray:
    """The symmetric (p, p) matrix with entries `coordinates` at i <= j, row-major; (p (p + 1) / 2,)."""
    i, j = np.triu_indices(p)
    A = np.empty((p, p))
    A[i, j] = coordinates
    A[j, i] = coordinates
    return A


def pairings(A: np.ndarray, m: np.ndarray) -> np.ndarray:
    """P(A, m)_abc = A_ab m_c + A_ac m_b + A_bc m_a for symmetric A (k, k) and m (k,)."""
    Am = A[:, :, None] * m
    return np.asarray(Am + Am.transpose(0, 2, 1) + Am.transpose(2, 0, 1))
