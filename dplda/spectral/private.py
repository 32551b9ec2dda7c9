"""The private power method and private low-rank approximation (Hardt and Price 2014, Figure 3 and Corollary 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dplda.accounting.events import Event
from dplda.compute.arrays import Array, like, standard_normal
from dplda.errors import InputError
from dplda.settings import check_choice
from dplda.spectral.calibration import equal_questions
from dplda.spectral.neighbours import ENTRY, NEIGHBOURS, l1_sensitivity, l2_sensitivity
from dplda.spectral.operators import multiplier
from dplda.spectral.power import noisy_power_method
from dplda.spectral.subspace import Subspace, checked_product, checked_rounds, checked_start


def private_power_method(
    A: Any,
    X: Array,
    rounds: int,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    neighbours: str = ENTRY,
    change: float = 1.0,
    by_largest_entry: bool = False,
) -> Subspace:
    """The private power method: X <- orth(A X + G), (epsilon, delta)-private for one neighbour of A.

    `A` (d, d) is an array, a scipy sparse matrix or a callable X -> A X, symmetric; a callable is trusted to be. `X`
    (d, p) is a public start, see `random_basis`. `neighbours` and `change` say what is protected
    (`dplda.spectral.neighbours`); that data keep to them is the caller's word. G is Gaussian, with the exact
    multiplier of `rounds` questions times the l2 sensitivity at the last, already released X; with delta 0 it is
    Laplace, by the l1 sensitivity. With `by_largest_entry` entry-level noise goes by max |X_ij| as in Figure 3,
    else by the two largest rows of X, which is never more.

    Differs from the paper: sigma = sqrt(4 p L log(1/delta)) / epsilon is exact composition instead, a symmetric pair
    of entries counts twice, and Laplace noise is p L sqrt(d) / epsilon without the factor 10 of Lemma 4.5.
    Cost: `rounds` products, O(rounds d p^2); memory O(d p) beside A. Seeded floating-point noise is for study; a
    private release of documents takes the curator's exact noise. Raises `InputError` as `noisy_power_method` does,
    and for a wrong budget, `neighbours` or `change`.
    """
    checked_rounds(rounds)
    event = equal_questions("power", rounds, epsilon, delta)
    noise = _noise(event, rng, neighbours, change, by_largest_entry)
    return replace(noisy_power_method(A, X, rounds, noise=noise), events=(event,))


@dataclass(frozen=True, eq=False)
class LowRank:
    """B = `left` @ `right`.T of rank at most p: `left` (d, p) orthonormal, `right` (d, p) the noisy product A left.

    `subspace` is how `left` was found; its `events` and these are the same, all that was released.
    """

    left: Array
    right: Array
    subspace: Subspace
    events: tuple[Event, ...]

    @property
    def matrix(self) -> Array:
        """B (d, d)."""
        return self.left @ self.right.T


def private_low_rank(
    A: Any,
    X: Array,
    rounds: int,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    neighbours: str = ENTRY,
    change: float = 1.0,
    by_largest_entry: bool = False,
) -> LowRank:
    """A private approximation B = X Y' of a symmetric A, of rank p; the corollary takes p = 2 k for rank k.

    Arguments, errors and noise as in `private_power_method`, with `rounds` + 1 questions: the last one asks for
    Y = A X + G at the final X. The spectral norm of A - B is at most s_k+1 + O~(s_1 sqrt((k / gap) d log d
    log(1/delta)) / (epsilon (s_k - s_k+1))), gap = 1 - s_k+1 / s_k (Corollary 4.3). Cost: one product more.
    """
    checked_rounds(rounds)
    event = equal_questions("power", rounds + 1, epsilon, delta)
    noise = _noise(event, rng, neighbours, change, by_largest_entry)
    multiply = multiplier(A, checked_start(X).shape[0])
    found = noisy_power_method(multiply, X, rounds, noise=noise)
    left = found.components
    right = checked_product(multiply(left), left) + noise(left)
    return LowRank(left, right, replace(found, events=(event,)), (event,))


def _noise(
    event: Event, rng: np.random.Generator, neighbours: str, change: float, by_largest_entry: bool
) -> Callable[[Array], Array]:
    """The noise of one question of `event` at X."""
    check_choice("neighbours", neighbours, NEIGHBOURS)
    if not 0 < change < float("inf"):
        raise InputError(f"change must be positive and finite, got {change!r}.")
    if event.noise_multiplier is None:
        scale = change / (event.epsilon or 0.0)
        return lambda X: like(
            rng.laplace(
                scale=scale * l1_sensitivity(X, neighbours, by_largest_entry=by_largest_entry), size=tuple(X.shape)
            ),
            X,
        )
    std = change * event.noise_multiplier
    return lambda X: (
        std * l2_sensitivity(X, neighbours, by_largest_entry=by_largest_entry) * standard_normal(rng, tuple(X.shape), X)
    )
