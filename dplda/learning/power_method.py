"""Checks of the arguments of methods on matrices and tensors.

Sensitivities of products A X under several neighbouring relations, and events that meet a privacy budget.

`neighbours` says when two symmetric matrices A and A' are neighbours:

entry         They differ in one entry and its mirror image, each by at most `change` (Hardt and Price 2014, Definition
              4.1; their Figure 3 counts only one of the two entries).
spectral      The spectral norm of A - A' is at most `change` (Definition 4.4).
row           A is the sum of a a' over rows a of squared norm at most `change`, and one row is added or removed.
replaced-row  As row, but one row is replaced by another. If a and b are orthogonal unit vectors, a a' - b b' has
              Frobenius norm sqrt(2) and spectral norm 1.

X has orthonormal columns. The l2 sensitivities of A X and the l1 sensitivity for entries are exact; the other l1
sensitivities are upper bounds.

Gaussian queries with noise multipliers z_j compose exactly to mu-GDP with mu^2 = sum of 1 / z_j^2 (Dong, Roth and Su
2022). The conversion between mu and (epsilon, delta) is exact (Balle and Wang 2018). A hundredth of delta is reserved
for the rounding of accountants that compose the events again.

The noisy power method on a matrix known by its products, and on a stream of samples (Hardt and Price 2014).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtr

from dplda.base.arrays import Array, floats, is_whole, like, namespace, rounding, symmetric
from dplda.base.config import RANGES, check_choice
from dplda.base.errors import InputError
from dplda.budget.accountant import gaussian_budget
from dplda.budget.events import PURE, Event


def require_counts(**counts: int) -> None:
    """Raise `InputError` unless every one of the named `counts` is a whole number of at least 1."""
    for name, count in counts.items():
        if not is_whole(count) or count < 1:
            raise InputError(f"{name} must be a whole number of at least 1, got {count!r}.")


def require_up_to(most: int, unit: str, **counts: int) -> None:
    """Raise `InputError` unless every one of the named `counts` is a whole number in [1, `most`].

    The message adds `unit`, which says what `most` is, such as "columns".
    """
    for name, count in counts.items():
        if not is_whole(count) or not 1 <= count <= most:
            raise InputError(f"{name} must be a whole number in [1, {most}] ({unit}), got {count!r}.")


def require_shares(**shares: float) -> None:
    """Raise `InputError` unless every one of the named `shares` lies in (0, 1)."""
    for name, share in shares.items():
        if not 0 < share < 1:
            raise InputError(f"{name} must be in (0, 1), got {share!r}.")


def require_change(change: float) -> None:
    """Raise `InputError` unless `change`, by which neighbours may differ, is positive and finite."""
    if not 0 < change < math.inf:
        raise InputError(f"change must be positive and finite, got {change!r}.")


def checked_start(X: Array, d: int | None = None) -> Array:
    """`X` as a finite (d, p) array with 1 <= p <= d; raises `InputError` for any other."""
    X = floats(X, "X")
    if X.ndim != 2 or not 1 <= X.shape[1] <= X.shape[0]:
        raise InputError(f"X must have shape (d, p) with 1 <= p <= d, got {tuple(X.shape)}")
    if d is not None and X.shape[0] != d:
        raise InputError(f"X must have as many rows as the data has columns, {d}, got {X.shape[0]}")
    return X


def checked_product(Y: Array, X: Array) -> Array:
    """`Y` = A X as a finite array of the shape of `X`; raises `InputError` for any other."""
    Y = floats(Y, "A X")
    if Y.shape != X.shape:
        raise InputError(f"A X must have the shape of X, {tuple(X.shape)}, got {tuple(Y.shape)}")
    return Y


def sparse_floats(A: Any, name: str) -> Any:
    """The scipy sparse `A` in compressed rows and real floating point; raises `InputError` unless it is finite.

    Whole numbers become float64, because their squares and sums might overflow.
    """
    if not np.isdtype(A.dtype, ("bool", "integral", "real floating")):
        raise InputError(f"{name} must hold real numbers, got {A.dtype}")
    A = A.tocsr() if np.isdtype(A.dtype, "real floating") else A.astype(np.float64).tocsr()
    if not np.isfinite(A.data).all():
        raise InputError(f"{name} must be finite, got NaN or infinity")
    return A


def multiplier(A: Any, d: int) -> Callable[[Array], Array]:
    """X -> A X for a symmetric A (d, d): an array, a scipy sparse matrix, or a callable, which is returned as it is.

    Raises `InputError` for an array or sparse matrix that is not finite, square, symmetric and of size d.
    """
    if callable(A):
        product: Callable[[Array], Array] = A
        return product
    A = _symmetric_sparse(A) if sparse.issparse(A) else symmetric(A, "A")
    if A.shape[0] != d:
        raise InputError(f"A must be ({d}, {d}) to go with X, got shape {tuple(A.shape)}")
    return lambda X: A @ X


def _symmetric_sparse(A: Any) -> Any:
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InputError(f"A must be a square matrix, got shape {tuple(A.shape)}")
    A = sparse_floats(A, "A")
    if abs(A - A.T).max() > rounding(A.data) * abs(A).max():
        raise InputError("A must be symmetric; pass (A + A.T) / 2 if that is what is meant")
    return A


ENTRY, SPECTRAL, ROW, REPLACED_ROW = "entry", "spectral", "row", "replaced-row"
NEIGHBOURS = (ENTRY, SPECTRAL, ROW, REPLACED_ROW)
ROWS = (ROW, REPLACED_ROW)


def l2_sensitivity(X: Array, neighbours: str, *, by_largest_entry: bool = False) -> float:
    """Largest Frobenius norm of (A - A') X over neighbours with change 1, for X (d, p) with orthonormal columns.

    For entries it is the square root of the sum of the two largest squared row norms of X. With `by_largest_entry` it
    is replaced by the paper's upper bound sqrt(2 p) max |X_ij|.
    """
    check_choice("neighbours", neighbours, NEIGHBOURS)
    if neighbours == ENTRY:
        return _largest_rows(X, 2, by_largest_entry)
    p = int(X.shape[1])
    return {SPECTRAL: math.sqrt(p), ROW: 1.0, REPLACED_ROW: math.sqrt(min(p, 2))}[neighbours]


def l1_sensitivity(X: Array, neighbours: str, *, by_largest_entry: bool = False) -> float:
    """Largest sum of absolute entries of (A - A') X over neighbours with change 1, or a bound on it.

    The bound for the spectral relation is p sqrt(d), a tenth of the bound in Lemma 4.5. For one row it is sqrt(d p),
    because |a|_1 |X'a|_1 <= sqrt(d p). For a replaced row it is sqrt(d p) times the l2 sensitivity.
    """
    check_choice("neighbours", neighbours, NEIGHBOURS)
    d, p = map(int, X.shape)
    if neighbours == ENTRY:
        return _largest_rows(X, 1, by_largest_entry)
    return {SPECTRAL: p * math.sqrt(d), ROW: math.sqrt(d * p), REPLACED_ROW: math.sqrt(min(p, 2) * d * p)}[neighbours]


def _largest_rows(X: Array, order: int, by_largest_entry: bool) -> float:
    """The `order`-norm of the two rows of X with the largest `order`-norms, or its bound by the largest entry."""
    xp = namespace(X)
    entries = xp.abs(X) ** order
    if by_largest_entry:
        two = 2 * X.shape[1] * float(xp.max(entries))
    else:
        two = float(xp.sum(xp.sort(xp.sum(entries, axis=1))[-2:]))
    return float(two ** (1 / order))


@lru_cache(maxsize=64)
def total_mu(epsilon: float, delta: float) -> float:
    """The GDP parameter mu of (epsilon, delta). Raises `InputError` unless both are in the ranges of a run."""
    RANGES["epsilon"].check("epsilon", epsilon)
    RANGES["delta"].check("delta", delta)
    return gaussian_budget(epsilon, delta)


def gaussian_event(stage: str, count: int, mu: float) -> Event:
    """The event of `count` equal Gaussian queries that together are mu-GDP."""
    return Event(stage=stage, noise_multiplier=math.sqrt(count) / mu, count=count)


def pure_event(stage: str, count: int, mu: float) -> Event:
    """The event of `count` equal pure-epsilon queries that together are mu-GDP (docs/privacy.md, section 4.1)."""
    chance = float(ndtr(mu / math.sqrt(count) / 2))
    return Event(stage=stage, mechanism=PURE, epsilon=math.log(chance / (1 - chance)), count=count)


def calibrated_event(stage: str, count: int, epsilon: float, delta: float) -> Event:
    """The event of `count` equal queries that together meet (epsilon, delta): Gaussian, or pure if delta is 0."""
    if delta != 0:
        return gaussian_event(stage, count, total_mu(epsilon, delta))
    RANGES["epsilon"].check("epsilon", epsilon)
    return Event(stage=stage, mechanism=PURE, epsilon=epsilon / count, count=count)


class StreamEnded(InputError):
    """A stream ended before the requested number of samples had been read."""


class SampleStream:
    """Samples (d,) from `blocks`: arrays (n, d), scipy sparse matrices (n, d) or single samples (d,).

    All blocks have `width` columns, or as many as the first one. Reading raises `InputError` for other blocks and for
    samples that are not real and finite, and `StreamEnded` at the end.
    """

    def __init__(self, blocks: Iterable[Any], width: int | None = None) -> None:
        self._blocks = iter(blocks)
        self._width = width
        self._block: Any = None
        self._first = self._read = 0

    def peek(self, needed: int) -> Any:
        """The current block (n, d), which has unread samples; `needed` is for the message at the end of the stream."""
        while self._block is None or self._first == self._block.shape[0]:
            block = next(self._blocks, None)
            if block is None:
                raise StreamEnded(f"the stream ended after {self._read} samples; this round needs {needed} more.")
            self._block, self._first = self._checked(block), 0
        return self._block

    def read(self, count: int) -> Iterator[Any]:
        """The next `count` samples, in pieces (n, d)."""
        while count:
            block = self.peek(count)
            last = min(block.shape[0], self._first + count)
            piece = _rows(block, self._first, last)
            self._read += last - self._first
            count -= last - self._first
            self._first = last
            yield piece

    def _checked(self, block: Any) -> Any:
        name = "a block of samples"
        block = sparse_floats(block, name) if sparse.issparse(block) else floats(block, name)
        if block.ndim == 1:
            block = block[None, :]
        if block.ndim != 2 or block.shape[1] != (self._width or block.shape[1]):
            raise InputError(
                f"{name} must have shape (n, {self._width or 'd'}), got {tuple(block.shape)} after {self._read} samples"
            )
        self._width = block.shape[1]
        return block


def _rows(Z: Any, first: int, last: int) -> Any:
    """Rows `first` to `last` of `Z`, without a copy if `Z` is sparse."""
    if not sparse.issparse(Z):
        return Z[first:last, :]
    begin, end = Z.indptr[first], Z.indptr[last]
    rows = Z.data[begin:end], Z.indices[begin:end], Z.indptr[first : last + 1] - begin
    return sparse.csr_array(rows, shape=(last - first, Z.shape[1]))


@dataclass(frozen=True, eq=False)
class Subspace:
    """An approximate leading subspace of a symmetric matrix (d, d).

    `components` (d, p) has orthonormal columns. `values` (p,) are in descending order: singular values of the last
    product for a power method, eigenvalues for `analyze_gauss`. `residuals` has one number for each of the
    `iterations`: the sine of the largest angle between successive iterates. `events` are the releases of a private
    method. ``dplda.budget.accountant.run_epsilon(events, delta)`` composes them for a positive delta; with pure
    events it works on a grid, which overstates epsilon by at most 1e-4 nats for each query. If all events are pure, the
    sum of their epsilons also is a valid epsilon.
    """

    components: Array
    values: Array
    iterations: int
    residuals: tuple[float, ...]
    events: tuple[Event, ...] = ()


def random_basis(rng: np.random.Generator, d: int, p: int, array: Array | None = None) -> Array:
    """An orthonormal basis (d, p) of a uniformly random subspace, the usual public start of a power method.

    It has the library, device and type of `array`, or of NumPy's float64 arrays without `array`. Cost: d p^2. Raises
    `InputError` unless 1 <= p <= d.
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

    Let U be the k leading eigenvectors of A, p >= k, s_i the singular values of A, and tau the paper's parameter of the
    failure probability. Suppose that in every round |G| is at most error * (s_k - s_(k+1)) / 5 and |U'G| is at most
    (s_k - s_(k+1)) (sqrt(p) - sqrt(k - 1)) / (5 tau sqrt(d)). Then U lies within an angle of sine `error` of the span
    of X after O(s_k / (s_k - s_(k+1)) log(d tau / error)) rounds (Corollary 1.1).

    Cost: `rounds` products and O(rounds d p^2); memory O(d p) in addition to A. Not private by itself. Raises
    `InputError` for an asymmetric or non-finite A and wrong shapes.
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
    `values` are the singular values of the last sum, divided by `samples`: estimates of eigenvalues of E[z z'].

    Memory: O(d p) and one block. Cost: for each block Z the two products Z' (Z X), and O(d p^2) a round. In the
    spiked covariance model U diag(l1^2, ..., lk^2) U' + s^2 I, n = O~((l1^2 + s^2)^2 (lk^2 + s^2) / (error^2 lk^6) d k)
    samples suffice at p = 2 k (Corollary 3.3). Not private. Raises `InputError` for a stream shorter than one round,
    for blocks of another width and for NaN.
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
