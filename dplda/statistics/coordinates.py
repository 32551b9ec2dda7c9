"""Symmetric arrays as vectors of their distinct coordinates, in the order of the contributions."""

from __future__ import annotations

import itertools

import numpy as np


def unpack(coordinates: np.ndarray, k: int) -> np.ndarray:
    """The symmetric (k, k, k) tensor with entries `coordinates` at a <= b <= c, row-major; (k (k+1) (k+2) / 6,)."""
    T = np.empty((k, k, k))
    for p in itertools.permutations(_rising(k)):
        T[p] = coordinates
    return T


def pack(T: np.ndarray) -> np.ndarray:
    """The entries of T (k, k, k) at a <= b <= c, row-major; the inverse of `unpack` where T is symmetric."""
    return np.asarray(T[_rising(len(T))])


def _rising(k: int) -> tuple[np.ndarray, ...]:
    return tuple(np.array(x) for x in zip(*itertools.combinations_with_replacement(range(k), 3), strict=True))


def unpack_matrix(coordinates: np.ndarray, p: int) -> np.ndarray:
    """The symmetric (p, p) matrix with entries `coordinates` at i <= j, row-major; (p (p + 1) / 2,)."""
    i, j = np.triu_indices(p)
    A = np.empty((p, p))
    A[i, j] = coordinates
    A[j, i] = coordinates
    return A
