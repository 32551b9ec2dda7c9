"""Joint sensitivity of the products T(I, u, u) and T(u, u, u) for several vectors u at once.

A scale is the standard deviation per unit of noise multiplier: where every column's answer is divided by its scale,
the whole batch has l2 sensitivity 1. Asking together is charged as one question. Charging each column by itself would
take sqrt(L) times the scale of that column alone, which is never less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dplda.compute.arrays import Array, like, namespace

ENTRY, UNIT = "entry", "unit"


class Sensitivity(Protocol):
    """Scales of the answers about the unit columns of U (d, L)."""

    def of_products(self, U: Array) -> Array:
        """Scales of T(I, u, u), (L,)."""

    def of_values(self, U: Array) -> Array:
        """Scales of T(u, u, u), (L,)."""


@dataclass(frozen=True)
class EntryLevel:
    """T' - T = +-change * (e_i x e_j x e_k summed over its six orders) (Wang and Anandkumar 2016, Definition 4.2).

    One column alone moves by at most 6 |u|_max^2 and 6 |u|_max^3, at i = j = k. For a batch let a = u / |u|_max. Three
    different indices move the scaled answers by 4 sum (a_j^2 a_k^2 + a_i^2 a_k^2 + a_i^2 a_j^2) <= 4 sum (a_i^4 + a_j^4
    + a_k^4), squared and summed over columns; i = i, k by 4 sum (4 a_i^2 a_k^2 + a_i^4) <= 4 sum (3 a_i^4 + 2 a_k^4).
    Both stay below the 36 sum a_i^4 of i = j = k at the i where that is largest; likewise for values.
    """

    change: float = 1.0

    def of_products(self, U: Array) -> Array:
        """6 change |u|_max^2 (max_i sum a_i^4)^(1/2), (L,)."""
        return self._scales(U, 2)

    def of_values(self, U: Array) -> Array:
        """6 change |u|_max^3 (max_i sum |a_i|^6)^(1/2), (L,)."""
        return self._scales(U, 3)

    def _scales(self, U: Array, power: int) -> Array:
        xp = namespace(U)
        largest = xp.max(xp.abs(U), axis=0)
        together = xp.sqrt(xp.max(xp.sum((U / largest) ** (2 * power), axis=1)))
        return 6 * self.change * largest**power * together


@dataclass(frozen=True)
class UnitLevel:
    """|T' - T|_F <= change: one document or person more or less, `change` the clip of its contribution.

    The answers are F K for the unfolded difference F (d, d^2) and K = [u x u] (d^2, L), so that they move by at most
    |F|_F |K|, and |K|^2 is the largest eigenvalue of the Gram matrix (u' v)^2; of (u' v)^3 for values. Independent
    directions in a high dimension cost little more than one; equal ones as much as if asked one after the other.
    """

    change: float

    def of_products(self, U: Array) -> Array:
        """change |K|, the same for every column, (L,)."""
        return self._scales(U, 2)

    def of_values(self, U: Array) -> Array:
        """change |K| of the cubes, the same for every column, (L,)."""
        return self._scales(U, 3)

    def _scales(self, U: Array, power: int) -> Array:
        xp = namespace(U)
        largest = xp.max(xp.linalg.eigvalsh((U.T @ U) ** power))
        return self.change * xp.sqrt(largest) * like(np.ones(U.shape[1]), U)


SENSITIVITIES: dict[str, Callable[[float], Sensitivity]] = {ENTRY: EntryLevel, UNIT: UnitLevel}
