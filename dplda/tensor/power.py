"""The robust tensor power method (Anandkumar et al. 2014, Algorithm 1; Wang and Anandkumar 2016, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dplda.compute.threads import one_blas_thread


@dataclass(frozen=True)
class Decomposition:
    """Pairs of a symmetric tensor: `values` (r,) and unit `vectors` (k, r), T ~ sum values v^3."""

    values: np.ndarray
    vectors: np.ndarray


@one_blas_thread()
def robust_power_method(
    T: np.ndarray, rank: int, generator: np.random.Generator, *, starts: int = 100, iterations: int = 30
) -> Decomposition:
    """Find `rank` eigenpairs of the symmetric tensor T (k, k, k) by power iterations, restarts and deflation.

    Each component runs `starts` random unit vectors for a quarter of `iterations` steps and the eighth of them with
    the largest T(v, v, v) for all of them, keeps the best, polishes it for as many steps again and subtracts it.
    Cost: about rank * iterations * starts * k^3 / 6. Raises `ValueError` unless T is a finite cube with
    1 <= rank <= k.
    """
    k = T.shape[0] if T.ndim == 3 else 0
    if T.shape != (k, k, k) or not 1 <= rank <= k or not np.isfinite(T).all():
        raise ValueError(f"need a finite (k, k, k) tensor and 1 <= rank <= k, got shape {T.shape}, rank {rank}")
    T = T.copy()
    values, vectors = np.empty(rank), np.empty((k, rank))
    for component in range(rank):
        folded = _fold(T)
        U = _iterate(folded, generator.standard_normal((k, starts)), max(1, iterations // 4))
        U = _iterate(folded, _best(folded, U, max(1, starts // 8)), iterations)
        v = _iterate(folded, _best(folded, U, 1), iterations)
        values[component] = (_contract(folded, v) * v).sum()
        vectors[:, component] = v[:, 0]
        T -= values[component] * np.einsum("a,b,c->abc", v[:, 0], v[:, 0], v[:, 0])
    return Decomposition(values, vectors)


def _fold(T: np.ndarray) -> np.ndarray:
    """T(I, ., .) on the products u_b u_c, b <= c, of a vector with itself: (k, k (k + 1) / 2)."""
    b, c = np.triu_indices(len(T))
    return np.asarray(T[:, b, c] * np.where(b == c, 1.0, 2.0))


def _contract(folded: np.ndarray, U: np.ndarray) -> np.ndarray:
    b, c = np.triu_indices(len(U))
    return np.asarray(folded @ (U[b] * U[c]))


def _best(folded: np.ndarray, U: np.ndarray, count: int) -> np.ndarray:
    """The `count` columns of U with the largest T(u, u, u)."""
    return U[:, np.argsort(-(_contract(folded, U) * U).sum(axis=0), kind="stable")[:count]]


def _iterate(folded: np.ndarray, U: np.ndarray, iterations: int) -> np.ndarray:
    U = U / np.linalg.norm(U, axis=0)
    for _ in range(iterations):
        V = _contract(folded, U)
        norm = np.linalg.norm(V, axis=0)
        U = np.where(norm > 0, V / np.where(norm > 0, norm, 1.0), U)
    return U
