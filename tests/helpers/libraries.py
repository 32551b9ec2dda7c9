"""Matrices with a known leading subspace, and the array libraries that every function must serve."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

LIBRARIES = pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])


def planted(values: list[float], d: int = 30, rest: float = 0.02, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric matrix (d, d) with leading eigenvalues `values` and others `rest`, and its leading eigenvectors."""
    V = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    spectrum = np.concatenate([values, np.full(d - len(values), rest)])
    return (V * spectrum) @ V.T, V[:, : len(values)]


def outside(X: np.ndarray, V: np.ndarray) -> float:
    """Spectral norm of the part of the columns of V that X does not reach."""
    return float(np.linalg.norm(V - X @ (X.T @ V), 2))


def random_rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Rows of length below 1, one direction twice as strong as the others."""
    A = np.random.default_rng(seed).standard_normal((n, d)) * np.array([2.0] + [1.0] * (d - 1))
    return A / (1.5 * np.linalg.norm(A, axis=1).max())
