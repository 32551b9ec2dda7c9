"""The robust tensor power method (Anandkumar et al. 2014, Algorithm 1; Wang and Anandkumar 2016, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Decomposition:
    """Pairs of a symmetric tensor: `values` (r,) and unit `vectors` (k, r), T ~ sum values v^3."""

    values: np.ndarray
    vectors: np.ndarray


def contract(T: np.ndarray, U: np.ndarray) -> np.ndarray:
    """T(I, u, u) for every column u of U (k, L); (k, L)."""
    k, starts = U.shape
    return np.asarray(T.reshape(k, k * k) @ (U[:, None, :] * U[None, :, :]).reshape(k * k, starts))


def robust_power_method(
    T: np.ndarray, rank: int, generator: np.random.Generator, *, starts: int = 100, iterations: int = 30
) -> Decomposition:
    """Find `rank` eigenpairs of the symmetric tensor T (k, k, k) by power iterations, restarts and deflation.

    Each component runs `starts` random unit vectors for `iterations` steps, keeps the one with the largest
    T(v, v, v), polishes it for as many steps again and subtracts it. Cost: rank * iterations * starts * k^3.
    Raises `ValueError` unless T is a finite cube with 1 <= rank <= k.
    """
    k = T.shape[0] if T.ndim == 3 else 0
    if T.shape != (k, k, k) or not 1 <= rank <= k or not np.isfinite(T).all():
        raise ValueError(f"need a finite (k, k, k) tensor and 1 <= rank <= k, got shape {T.shape}, rank {rank}")
    T = T.copy()
    values, vectors = np.empty(rank), np.empty((k, rank))
    for component in range(rank):
        U = _iterate(T, generator.standard_normal((k, starts)), iterations)
        best = int(np.argmax((contract(T, U) * U).sum(axis=0)))
        v = _iterate(T, U[:, [best]], iterations)
        values[component] = (contract(T, v) * v).sum()
        vectors[:, component] = v[:, 0]
        T -= values[component] * np.einsum("a,b,c->abc", v[:, 0], v[:, 0], v[:, 0])
    return Decomposition(values, vectors)


def _iterate(T: np.ndarray, U: np.ndarray, iterations: int) -> np.ndarray:
    U = U / np.linalg.norm(U, axis=0)
    for _ in range(iterations):
        V = contract(T, U)
        norm = np.linalg.norm(V, axis=0)
        U = np.where(norm > 0, V / np.where(norm > 0, norm, 1.0), U)
    return U
