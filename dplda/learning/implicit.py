"""A symmetric third-order tensor given by its products T(I, u, u)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dplda.base.arrays import Array, floats, is_whole, like, namespace, rounding, to_numpy
from dplda.base.errors import InputError
from dplda.base.threads import chunks, run_ranges

_MANY = 128  # dimension from which on a product takes longer than starting threads
_COLUMNS = 64  # of one product in a thread


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
        """The tensor whose `along` maps one vector u (d,) to T(I, u, u), (d,)."""

        def columns(U: Array) -> Array:
            return namespace(U).stack([along(U[:, i]) for i in range(U.shape[1])], axis=1)

        return cls(columns, dimension, np.empty(0) if example is None else example)

    def less(self, values: Array, vectors: Array) -> Implicit:
        """Deflation: T - sum values v^3 for `values` (r,) and `vectors` (d, r), at a cost of O(d r) a product."""
        if not values.shape[0]:
            return self
        along = self.along
        return replace(self, along=lambda U: along(U) - vectors @ (values[:, None] * (vectors.T @ U) ** 2))

    def directions(self, rng: np.random.Generator, count: int) -> Array:
        """Independent uniform unit vectors, (d, count)."""
        U = rng.standard_normal((self.dimension, count))
        return like(U / np.linalg.norm(U, axis=0), self.example)


def implicit(T: Array | Implicit, rank: int) -> Implicit:
    """T as an `Implicit`; a dense T is stored as its d^2 (d + 1) / 2 coefficients of the products u_b u_c, b <= c.

    Raises `InputError` unless T is finite, cubic and symmetric and 1 <= rank <= d. The symmetry of an implicit tensor
    is tested at three fixed vectors.
    """
    if isinstance(T, Implicit):
        _require(T.dimension, rank, (T.dimension,) * 3)
        _require_symmetric_products(T)
        return T
    T, xp = floats(T, "a tensor"), namespace(T)
    d = T.shape[0] if T.ndim == 3 else 0
    _require(d, rank, tuple(T.shape))
    mirrored = max(float(xp.max(xp.abs(T - xp.permute_dims(T, axes)))) for axes in ((1, 0, 2), (0, 2, 1)))
    if mirrored > rounding(T) * float(xp.max(xp.abs(T))):
        raise InputError("a tensor must be symmetric: average it over the six orders of its axes if that is meant")
    return Implicit(_folded(T), d, T)


def _folded(T: Array) -> Callable[[Array], Array]:
    """U -> T(I, u, u) of every column as one matrix product: d^2 (d + 1) flops for a column."""
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


def _require(d: int, rank: int, shape: tuple[int, ...]) -> None:
    if shape != (d, d, d) or not is_whole(rank) or not 1 <= rank <= d:
        raise InputError(f"need a (d, d, d) tensor and 1 <= rank <= d, got shape {shape}, rank {rank}")


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


def scaled_to_unit(V: Array, instead: Array) -> Array:
    """The columns of V (d, L) scaled to length 1; zero columns are replaced by the columns of `instead`."""
    xp = namespace(V)
    norm = xp.linalg.vector_norm(V, axis=0)
    return xp.where(norm > 0, V / xp.where(norm > 0, norm, xp.ones_like(norm)), instead)


def along_itself(U: Array, products: Array) -> Array:
    """T(u, u, u) (L,) of the columns of U (d, L) from `products` T(I, u, u) (d, L)."""
    return namespace(U).sum(U * products, axis=0)
