"""The result type of the spectral methods, and the linear algebra that they share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dplda.accounting.events import Event
from dplda.compute.arrays import Array, floats, is_whole, like, namespace
from dplda.errors import InputError


@dataclass(frozen=True, eq=False)
class Subspace:
    """An approximate leading subspace of a symmetric matrix (d, d).

    `components` (d, p) has orthonormal columns. `values` (p,) are in descending order: singular values of the last
    product for a power method, eigenvalues for `analyze_gauss`. `residuals` has one number for each of the
    `iterations`: the sine of the largest angle between successive iterates. `events` are what a private method
    released, empty for any other; ``dplda.accounting.accountant.run_epsilon(events, delta)`` adds them up again for a
    positive delta, on a grid that counts up to 1e-4 nats more for a question: it tells more than was asked where a
    small epsilon is shared by many rounds. The epsilons of pure events alone simply add up.
    """

    components: Array
    values: Array
    iterations: int
    residuals: tuple[float, ...]
    events: tuple[Event, ...] = ()


def random_basis(rng: np.random.Generator, d: int, p: int, array: Array | None = None) -> Array:
    """An orthonormal basis (d, p) of a uniformly random subspace: the usual public start of a power method.

    In the library, on the device and with the type of `array`, or NumPy's float64 without one. Cost: d p^2.
    Raises `InputError` unless 1 <= p <= d.
    """
    if not is_whole(p) or not 1 <= p <= d:
        raise InputError(f"p must be a whole number in [1, {d}] (columns), got {p!r}.")
    basis = np.linalg.qr(rng.standard_normal((d, p)))[0]
    return basis if array is None else like(basis, array)


def checked_start(X: Array, d: int | None = None) -> Array:
    """`X` as a finite (d, p) array with 1 <= p <= d, or `InputError`."""
    X = floats(X, "X")
    if X.ndim != 2 or not 1 <= X.shape[1] <= X.shape[0]:
        raise InputError(f"X must have shape (d, p) with 1 <= p <= d, got {tuple(X.shape)}")
    if d is not None and X.shape[0] != d:
        raise InputError(f"X must have as many rows as the data has columns, {d}, got {X.shape[0]}")
    return X


def checked_rounds(rounds: int) -> None:
    """`InputError` unless at least one round is asked for."""
    if not is_whole(rounds) or rounds < 1:
        raise InputError(f"rounds must be a whole number of at least 1, got {rounds!r}.")


def checked_product(Y: Array, X: Array) -> Array:
    """`Y` = A X as a finite array of the shape of `X`, or `InputError`."""
    Y = floats(Y, "A X")
    if Y.shape != X.shape:
        raise InputError(f"A X must have the shape of X, {tuple(X.shape)}, got {tuple(Y.shape)}")
    return Y


def orthonormal(Y: Array, away_from: Array | None = None) -> Array:
    """The Q of a QR factorization of `Y` (d, p), first made orthogonal to the unit vector `away_from` (d,)."""
    xp = namespace(Y)
    if away_from is not None:
        Y = Y - away_from[:, None] * (away_from @ Y)[None, :]
    return xp.linalg.qr(Y)[0]


def largest_sine(X: Array, Y: Array) -> float:
    """Spectral norm of (I - X X') Y for orthonormal X and Y (d, p): the sine of their largest angle. Cost: d p^2."""
    rest = Y - X @ (X.T @ Y)
    largest = float(namespace(X, Y).linalg.eigvalsh(rest.T @ rest)[-1])
    return math.sqrt(min(max(largest, 0.0), 1.0))
