"""Private power iteration that filters rows by a privately found threshold (Nguyen, Ene and Nguyen, Algorithm 1).

Repaired where the printed algorithm is not private or not what its proof is about (docs/papers.md): the filtered sum
of a a' is applied once, not squared; iterates have unit length, so that thresholds live on a fixed public grid below
1; the number of rows is not used, as it is private when a row may be added; Gaussian noise is exact, and twice the
threshold where a row is replaced.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dplda.compute.arrays import Array, namespace, standard_normal
from dplda.config import check_choice
from dplda.spectral.calibration import checked_share, gaussian_questions, pure_questions, total_mu
from dplda.spectral.neighbours import REPLACED_ROW, ROW, ROWS
from dplda.spectral.power import noisy_power_method
from dplda.spectral.rows import HALVINGS, scores, tail_counts, threshold, unit_rows
from dplda.spectral.subspace import Subspace, checked_rounds, checked_start


def adaptive_power_iteration(
    A: Any,
    X: Array,
    rounds: int,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    neighbours: str = ROW,
    search_share: float = 0.2,
    beta: float = 0.05,
) -> Subspace:
    """Leading right singular vectors of `A`, (epsilon, delta)-private for one row, with noise that fits the rows.

    `A` (n, d), array or scipy sparse, has rows of length at most 1 (longer ones are cut to it), of which one is added
    or removed, or for ``replaced-row`` replaced; `X` (d, p) is a public start, p = 1 in the paper. Each round scores
    every row by |a| |X'a|, the norm of its contribution a a'X; finds by AboveThreshold the least threshold on the grid
    2^-j that few rows exceed; leaves these out; and adds Gaussian noise of the round's multiplier times the threshold
    (twice that for ``replaced-row``). `search_share` of the budget goes to the searches; with probability 1 - `beta` a
    round's search stops no later than where no row exceeds, and leaves out at most 8 ln((J + 2) / beta) / epsilon'
    rows, J = 40 halvings, epsilon' of one search.

    Cost: `rounds` times A X, A' Z, O(n p) and O(d p^2); memory O((n + d) p) beside A and its cut rows. For rows of
    low coherence and a constant gap sin^2 goes with d^2 / (epsilon n)^2 (Table 1; measured in docs/papers.md).
    Seeded floating-point noise is for study; a private release of documents takes the curator's exact noise.
    Raises `InputError` for NaN, wrong shapes, a wrong budget (delta must be positive), share or beta.
    """
    checked_rounds(rounds)
    check_choice("neighbours", neighbours, ROWS)
    checked_share("search_share", search_share)
    checked_share("beta", beta)
    mu = total_mu(epsilon, delta)
    search = pure_questions("threshold", rounds, mu * math.sqrt(search_share))
    step = gaussian_questions("power", rounds, mu * math.sqrt(1 - search_share))
    A, norms = unit_rows(A)
    X = checked_start(X, A.shape[1])
    changes = 2.0 if neighbours == REPLACED_ROW else 1.0

    def multiply(X: Array) -> Array:
        """The sum of a a'X over the rows that the search keeps, with noise."""
        Z = A @ X
        size = scores(norms, Z)
        theta = threshold(above_threshold(tail_counts(size), search.epsilon or 0.0, beta, rng))
        xp = namespace(Z)
        kept = xp.where((size <= theta)[:, None], Z, xp.zeros_like(Z))
        std = changes * theta * (step.noise_multiplier or math.inf)
        return A.T @ kept + std * standard_normal(rng, tuple(X.shape), X)

    return replace(noisy_power_method(multiply, X, rounds), events=(search, step))


def above_threshold(tails: np.ndarray, epsilon: float, beta: float, rng: np.random.Generator) -> int:
    """The first j at which noise lets few rows exceed the j-th threshold, else the last; pure `epsilon`.

    Queries are minus the `tails`, all of which a row changes in the same direction, by at most one: noise Lap(2 /
    epsilon) serves threshold and queries (docs/privacy.md, section 2.1). The threshold allows so many rows that
    with probability 1 - `beta` the search stops where none exceeds.
    """
    scale = 2 / epsilon
    allowed = 2 * scale * math.log((len(tails) + 1) / beta) + rng.laplace(scale=scale)
    passed = tails + rng.laplace(scale=scale, size=len(tails)) <= allowed
    return int(np.argmax(passed)) if passed.any() else HALVINGS
