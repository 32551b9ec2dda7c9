"""The noisy power method on a matrix that is known only through noisy products (Hardt and Price 2014, Figure 1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def noisy_power_method(
    multiply: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
    rounds: int,
    *,
    away_from: np.ndarray | None = None,
) -> np.ndarray:
    """Orthonormal (d, p) basis of an approximate leading subspace after `rounds` of X <- orth(multiply(X)).

    `multiply` returns A X plus noise for orthonormal X (d, p). With the unit vector `away_from` (d,) every
    iterate is kept orthogonal to it (deflation of a direction that is already known).
    """
    X = _orthonormal(X, away_from)
    for _ in range(rounds):
        X = _orthonormal(multiply(X), away_from)
    return X


def _orthonormal(X: np.ndarray, away_from: np.ndarray | None) -> np.ndarray:
    if away_from is not None:
        X = X - np.outer(away_from, away_from @ X)
    return np.asarray(np.linalg.qr(X)[0])
