"""The noisy power method on a matrix known by its products, and on a stream of samples (Hardt and Price 2014)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from dplda.accounting.events import Event
from dplda.errors import InputError
from dplda.numerics.arrays import Array, is_whole, like, namespace
from dplda.spectral.arguments import checked_product, checked_start, multiplier, require_counts, require_up_to
from dplda.spectral.sample_stream import SampleStream, StreamEnded


@dataclass(frozen=True, eq=False)
class Subspace:
    """An approximate leading subspace of a symmetric matrix (d, d).

    `components` (d, p) has orthonormal columns. `values` (p,) are in descending order: singular values of the last
    product for a power method, eigenvalues for `analyze_gauss`. `residuals` has one number for each of the
    `iterations`: the sine of the largest angle between successive iterates. `events` are the releases of a private
    method. ``dplda.accounting.accountant.run_epsilon(events, delta)`` composes them for a positive delta; with pure
    events it works on a grid, which adds up to 1e-4 nats for each query. The epsilons of pure events alone add up.
    """

    components: Array
    values: Array
    iterations: int
    residuals: tuple[float, ...]
    events: tuple[Event, ...] = ()


def random_basis(rng: np.random.Generator, d: int, p: int, array: Array | None = None) -> Array:
    """An orthonormal basis (d, p) of a uniformly random subspace, the usual public start of a power method.

    It has the library, device and type of `array`, or is in NumPy's float64 without one. Cost: d p^2.
    Raises `InputError` unless 1 <= p <= d.
    """
    require_up_to(d, "columns", p=p)
    basis = np.linalg.qr(rng.standard_normal((d, p)))[0]
    return basis if array is None else like(basis, array)


def noisy_power_method(
    A: Any,
    X: Array,
    rounds: int,
    *,
    noise: Callable[[Array], Array] | None = None,
    away_from: Array | None = None,
) -> Subspace:
    """An approximate leading subspace of a symmetric A after `rounds` of X <- orth(A X + G).

    `A` is an array (d, d), a scipy sparse matrix, or any callable from orthonormal X (d, p) to A X, which may add
    noise of its own. `noise` maps X to G (d, p): any distribution, fixed or adaptive. `X` (d, p) is the start, see
    `random_basis`; NumPy or CuPy. With the unit vector `away_from` (d,), every iterate is orthogonal to it (deflation
    of a known direction), provided that A X + G has p directions orthogonal to it.

    Cost: `rounds` products and O(rounds d p^2); memory O(d p) in addition to A. With p >= k, |G| of at most a fifth of
    error * (s_k - s_k+1) and |U'G| of at most (s_k - s_k+1) (sqrt(p) - sqrt(k - 1)) / (5 tau sqrt(d)) in every round,
    the k leading eigenvectors U lie within `error` after O(s_k / (s_k - s_k+1) log(d tau / error)) rounds
    (Corollary 1.1). Not private by itself. Raises `InputError` for an asymmetric or non-finite A and wrong shapes.
    """
    require_counts(rounds=rounds)
    X = checked_start(X)
    multiply = multiplier(A, X.shape[0])
    X, Y, residuals = orthonormal(X, away_from), X, []
    for _ in range(rounds):
        Y = checked_product(multiply(X), X)
        if noise is not None:
            Y = Y + noise(X)
        last, X = X, orthonormal(Y, away_from)
        residuals.append(_largest_sine(last, X))
    return Subspace(X, namespace(Y).linalg.svdvals(Y), rounds, tuple(residuals))


def streaming_power_method(blocks: Iterable[Any], X: Array, samples: int, *, rounds: int | None = None) -> Subspace:
    """The streaming power method: X <- orth(sum of z z' X) over `samples` fresh samples z in each round.

    `blocks` is any iterable of blocks of samples: arrays (n, d) of the library of `X`, scipy sparse matrices (n, d) or
    single samples (d,). A round may begin inside a block. `X` (d, p) is the start, see `random_basis`. Stops after
    `rounds`, or when the stream ends; samples after the last full round are not used (T = floor(m / L) in the paper).
    `values` are the singular values of the last sum over `samples`: estimates of eigenvalues of E[z z'].

    Memory: O(d p) and one block. Cost: for each block Z the two products Z' (Z X), and O(d p^2) a round. In the
    spiked covariance model n = O~((l1^2 + s^2)^2 (lk^2 + s^2) / (error^2 lk^6) d k) samples suffice at p = 2 k
    (Corollary 3.3). Not private. Raises `InputError` for a stream shorter than one round, for blocks of another
    width and for NaN.
    """
    X = checked_start(X)
    if rounds is not None:
        require_counts(rounds=rounds)
    if not is_whole(samples) or samples < X.shape[1]:
        raise InputError(f"samples must be a whole number of at least the columns of X, {X.shape[1]}; got {samples!r}.")
    stream, X, total = SampleStream(blocks, X.shape[0]), orthonormal(X), None
    residuals: list[float] = []
    while len(residuals) != rounds:
        try:
            total = _sum_of_products(stream.read(samples), X)
        except StreamEnded:
            if total is None:
                raise
            break
        before, X = X, orthonormal(total)
        residuals.append(_largest_sine(before, X))
    return Subspace(X, namespace(total).linalg.svdvals(total) / samples, len(residuals), tuple(residuals))


def _sum_of_products(blocks: Iterable[Any], X: Array) -> Array:
    """The sum of Z' Z X over `blocks` Z (n, d)."""
    return reduce(operator.add, (Z.T @ (Z @ X) for Z in blocks))


def orthonormal(Y: Array, away_from: Array | None = None) -> Array:
    """The Q of a QR factorization of `Y` (d, p), after projection orthogonal to the unit vector `away_from` (d,)."""
    xp = namespace(Y)
    if away_from is not None:
        Y = Y - away_from[:, None] * (away_from @ Y)[None, :]
    return xp.linalg.qr(Y)[0]


def _largest_sine(X: Array, Y: Array) -> float:
    """Spectral norm of (I - X X') Y for orthonormal X and Y (d, p), the sine of their largest angle. Cost: d p^2."""
    rest = Y - X @ (X.T @ Y)
    largest = float(namespace(X, Y).linalg.eigvalsh(rest.T @ rest)[-1])
    return math.sqrt(min(max(largest, 0.0), 1.0))
