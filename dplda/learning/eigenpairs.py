"""Eigenpairs of a symmetric third-order tensor that is known by its products T(I, u, u).

The robust method is Algorithm 1 of Anandkumar et al. 2014 and of Wang and Anandkumar 2016. The noisy method is the
common part of Algorithms 2 and 3 of Wang and Anandkumar 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dplda.base.arrays import Array, floats, is_whole, like, namespace, rounding, to_numpy
from dplda.base.errors import InputError
from dplda.base.threads import chunks, one_blas_thread, run_ranges
from dplda.budget.events import Event
from dplda.learning.power_method import require_counts

_MANY = 128  # least dimension at which a product takes longer than starting threads
_COLUMNS = 64  # of one product in a thread
_FEW = 100  # starts that are drawn for every pair
_NEAR = 0.5  # least cosine at which a start counts as having led to the pair that was found


@dataclass(frozen=True)
class EigenPairs:
    """Eigenvalues `values` (r,) and unit eigenvectors `vectors` (d, r) of a symmetric tensor T ~ sum values v^3.

    `iterations` counts the power steps of all pairs. `residuals` (r,) are the norms of T(I, u, u) - T(u, u, u) u, which
    are 0 at an eigenvector. T is the (noisy, deflated) tensor, and u is the last vector of each pair for which the
    product was computed. `events` are the releases of a private function.
    """

    values: Array
    vectors: Array
    iterations: int = 0
    residuals: Array = field(default_factory=lambda: np.empty(0))
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Implicit:
    """A symmetric (d, d, d) tensor that is never formed.

    `along` maps the columns u of a (d, L) array to T(I, u, u), (d, L); it may be noisy, or read a stream. `dimension`
    is d; `example` is any array of the library, device and type to compute with.
    """

    along: Callable[[Array], Array]
    dimension: int
    example: Array = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of_vectors(cls, along: Callable[[Array], Array], dimension: int, example: Array | None = None) -> Implicit:
        """Return the tensor whose `along` maps one vector u (d,) to T(I, u, u), (d,)."""

        def columns(U: Array) -> Array:
            return namespace(U).stack([along(U[:, i]) for i in range(U.shape[1])], axis=1)

        return cls(columns, dimension, np.empty(0) if example is None else example)

    def deflate(self, values: Array, vectors: Array) -> Implicit:
        """Return T - sum values v^3 for `values` (r,) and `vectors` (d, r), at a cost of O(d r) a product."""
        if not values.shape[0]:
            return self
        along = self.along
        return replace(self, along=lambda U: along(U) - vectors @ (values[:, None] * (vectors.T @ U) ** 2))

    def directions(self, rng: np.random.Generator, count: int) -> Array:
        """Return independent uniform unit vectors, (d, count)."""
        U = rng.standard_normal((self.dimension, count))
        return like(U / np.linalg.norm(U, axis=0), self.example)


@one_blas_thread()
def robust_power_method(
    T: Array | Implicit,
    rank: int,
    rng: np.random.Generator,
    *,
    starts: int = 100,
    iterations: int = 30,
    tolerance: float = 0.0,
    screen: bool = True,
) -> EigenPairs:
    """Find `rank` eigenpairs of the symmetric tensor T (d, d, d) by power iterations, restarts and deflation.

    For each pair, `starts` random unit vectors take `iterations` steps. The one with the largest T(v, v, v) takes as
    many steps again, and its pair is subtracted from T. The papers have no final steps. Steps end early when no entry
    of a vector changes by more than `tolerance`.

    With `screen`, which the papers do not have, `starts` vectors take a quarter of the steps. Only the best of them,
    starts / 16 or min(starts, 100) / 8 if that is more, then take `iterations` steps. Of these, the vectors that led to
    another pair (cosine below 0.5 in absolute value) are kept as candidates for the next pair. For that pair, at most
    100 new vectors are drawn.

    Cost: rank * iterations * (starts + 1) products T(I, u, u). With `screen`, it is about two fifths of them for ten
    starts or more, and a tenth for many starts. With a dense T each product takes d^2 (d + 1) flops. Memory in addition
    to a dense T: d^2 (d + 1) / 2 + starts * d (d + 1) numbers, or twice T during the test of its symmetry if that is
    more. Raises `InputError` unless T is finite, cubic and symmetric and 1 <= rank <= d.
    """
    require_counts(starts=starts, iterations=iterations)
    tensor = implicit(T, rank)
    xp, done = namespace(tensor.example), 0
    values, vectors, residuals = _no_pairs(tensor)
    _, kept, _ = _no_pairs(tensor)
    for found in range(rank):
        deflated = tensor.deflate(values, vectors)
        U = tensor.directions(rng, min(starts, _FEW) if screen and found else starts)
        if screen:
            U, steps = _iterate(deflated, U, max(1, iterations // 4), tolerance)
            best = max(1, min(starts, _FEW) // 8, starts // 16)
            U, done = _best(deflated, xp.concat([kept, U], axis=1), best), done + steps
        U, steps = _iterate(deflated, U, iterations, tolerance)
        v, polishing = _iterate(deflated, _best(deflated, U, 1), iterations, tolerance)
        product = deflated.along(v)
        value = along_itself(v, product)
        values, vectors = xp.concat([values, value]), xp.concat([vectors, v], axis=1)
        residuals = xp.concat([residuals, xp.linalg.vector_norm(product - value * v, axis=0)])
        done += steps + polishing
        kept = xp.take(U, xp.asarray(np.flatnonzero(np.abs(to_numpy(v.T @ U)[0]) < _NEAR)), axis=1)
    return EigenPairs(values, vectors, done, residuals)


def noisy_tensor_power_method(
    T: Implicit,
    rank: int,
    rng: np.random.Generator,
    *,
    starts: int = 1,
    iterations: int,
    value: Callable[[Array], Array] | None = None,
) -> EigenPairs:
    """Find `rank` eigenpairs of T (d, d, d) by `iterations` products for each, with `starts` vectors together.

    Pairs found earlier are subtracted from the products. Of the final vectors, the one with the largest T(u, u, u) is
    kept. `value` maps the columns u of U (d, L) to T(u, u, u), (L,). Without it, T(u, u, u) is taken at the vectors one
    step earlier, as in Algorithm 2 of Wang and Anandkumar. The products of T may be noisy. T is not tested for
    symmetry, and the result is only as private as the products and values are.

    Cost: rank * iterations products of T with (d, starts) arrays. Memory: O(d (rank + starts)) beyond that of T.
    """
    require_counts(rank=rank, starts=starts, iterations=iterations)
    xp = namespace(T.example)
    values, vectors, residuals = _no_pairs(T)
    for _ in range(rank):
        deflated, U = T.deflate(values, vectors), T.directions(rng, starts)
        for _ in range(iterations):
            before, products = U, deflated.along(U)
            U = scale_to_unit(products, before)
        last = along_itself(before, products)
        scores = last if value is None else value(U) - values @ (vectors.T @ U) ** 3
        best = xp.argmax(scores, keepdims=True)
        residual = xp.linalg.vector_norm(products - last * before, axis=0)
        values, residuals = (xp.concat([a, xp.take(b, best)]) for a, b in ((values, scores), (residuals, residual)))
        vectors = xp.concat([vectors, xp.take(U, best, axis=1)], axis=1)
    return EigenPairs(values, vectors, rank * iterations, residuals)


def _no_pairs(tensor: Implicit) -> tuple[Array, Array, Array]:
    """Return empty values (0,), vectors (d, 0) and residuals (0,), in the array library of `tensor`."""
    nothing = like(np.empty(0), tensor.example)
    return nothing, like(np.empty((tensor.dimension, 0)), tensor.example), nothing


def _best(tensor: Implicit, U: Array, count: int) -> Array:
    """Return the `count` columns of U with the largest T(u, u, u)."""
    xp = namespace(U)
    order = xp.argsort(-along_itself(U, tensor.along(U)), stable=True)
    return xp.take(U, order[:count], axis=1)


def _iterate(tensor: Implicit, U: Array, iterations: int, tolerance: float) -> tuple[Array, int]:
    """Return U after at most `iterations` steps u <- T(I, u, u) / |T(I, u, u)|, and the number of steps taken."""
    xp = namespace(U)
    for step in range(iterations):
        V = scale_to_unit(tensor.along(U), U)
        moved = float(xp.max(xp.abs(V - U)))
        U = V
        if moved <= tolerance:
            return U, step + 1
    return U, iterations


def implicit(T: Array | Implicit, rank: int) -> Implicit:
    """Return T as an `Implicit`; a dense T becomes its d^2 (d + 1) / 2 coefficients of the products u_b u_c, b <= c.

    Raises `InputError` unless T is finite, cubic and symmetric and 1 <= rank <= d. The symmetry of an implicit tensor
    is tested at three fixed vectors.
    """
    T = T if isinstance(T, Implicit) else floats(T, "a tensor")
    shape = (T.dimension,) * 3 if isinstance(T, Implicit) else tuple(T.shape)
    d = shape[0] if len(shape) == 3 else 0
    if shape != (d, d, d) or not is_whole(rank) or not 1 <= rank <= d:
        raise InputError(f"need a (d, d, d) tensor and 1 <= rank <= d, got shape {shape}, rank {rank}")
    if isinstance(T, Implicit):
        _require_symmetric_products(T)
        return T
    xp = namespace(T)
    mirrored = max(float(xp.max(xp.abs(T - xp.permute_dims(T, axes)))) for axes in ((1, 0, 2), (0, 2, 1)))
    if mirrored > rounding(T) * float(xp.max(xp.abs(T))):
        raise InputError("a tensor must be symmetric: average it over the six orders of its axes if that is meant")
    return Implicit(_folded(T), d, T)


def _folded(T: Array) -> Callable[[Array], Array]:
    """Return U -> T(I, u, u) of every column as one matrix product: d^2 (d + 1) flops for a column."""
    xp, d = namespace(T), T.shape[0]
    rows, columns = np.triu_indices(d)
    b, c, both = (xp.asarray(index) for index in (rows, columns, rows * d + columns))
    folded = xp.take(xp.reshape(T, (d, d * d)), both, axis=1) * like(np.where(rows == columns, 1.0, 2.0), T)

    def along(U: Array) -> Array:
        return folded @ (xp.take(U, b, axis=0) * xp.take(U, c, axis=0))

    def in_threads(U: Array) -> Array:
        parts = run_ranges(lambda i, j: along(U[:, i:j]), chunks(U.shape[1], _COLUMNS))
        return np.concatenate([U[:, :0], *parts], axis=1)

    return in_threads if isinstance(T, np.ndarray) and d >= _MANY else along


def _require_symmetric_products(T: Implicit) -> None:
    """Raise `InputError` if x' T(I, y, z), computed by polarisation, depends on the order of fixed x, y, z."""
    x, y, z = np.random.default_rng(0).standard_normal((3, T.dimension))
    sums = like(np.stack([y + z, y - z, x + z, x - z], axis=1), T.example)
    products = T.along(sums)
    if tuple(products.shape) != tuple(sums.shape):
        raise InputError(f"T(I, u, u) of a (d, L) array must be (d, L): {tuple(sums.shape)} became {products.shape}")
    products = to_numpy(floats(products, "T(I, u, u)"))
    xyz, yxz = x @ (products[:, 0] - products[:, 1]), y @ (products[:, 2] - products[:, 3])
    scale = np.abs(products).max() * (np.linalg.norm(x) + np.linalg.norm(y))
    if abs(xyz - yxz) > 10 * rounding(T.example) * scale:
        raise InputError("an implicit tensor must be symmetric: x' T(I, y, z) differs from y' T(I, x, z)")


def scale_to_unit(V: Array, instead: Array) -> Array:
    """Return the columns of V (d, L) scaled to length 1; zero columns are replaced by the columns of `instead`."""
    xp = namespace(V)
    norm = xp.linalg.vector_norm(V, axis=0)
    return xp.where(norm > 0, V / xp.where(norm > 0, norm, xp.ones_like(norm)), instead)


def along_itself(U: Array, products: Array) -> Array:
    """Return T(u, u, u) (L,) of the columns of U (d, L) from `products` T(I, u, u) (d, L)."""
    return namespace(U).sum(U * products, axis=0)
