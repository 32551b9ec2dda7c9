"""Symmetric tensors whose components are known, in every array library that is tested."""

from __future__ import annotations

import itertools

import array_api_strict
import numpy as np

LIBRARIES = {"numpy": np.asarray, "array API": array_api_strict.asarray}  # the second stands in for CuPy


def planted(values: np.ndarray, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A tensor with orthonormal components (d, len(values)), and those components."""
    V = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0][:, : len(values)]
    return np.einsum("r,ar,br,cr->abc", values, V, V, V), V


def symmetrized(E: np.ndarray) -> np.ndarray:
    """The sum over the six orders of the axes."""
    return np.sum([E.transpose(order) for order in itertools.permutations(range(3))], axis=0)


def unit_columns(d: int, count: int, seed: int) -> np.ndarray:
    """Random unit vectors, (d, count)."""
    U = np.random.default_rng(seed).standard_normal((d, count))
    return U / np.linalg.norm(U, axis=0)
