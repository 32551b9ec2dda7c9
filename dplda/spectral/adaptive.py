"""Private power iteration on rows, with noise that fits what most rows contribute.

Private power iteration that filters rows by a privately found threshold (Nguyen, Ene and Nguyen, Algorithm 1).

Repaired where the printed algorithm is not private or not what its proof is about (docs/papers.md): the filtered sum
of a a' is applied once, not squared; iterates have unit length, so that thresholds live on a fixed public grid below
1; the number of rows is not used, as it is private when a row may be added; Gaussian noise is exact, and twice the
threshold where a row is replaced.

The block form of adaptive power iteration that the default placement uses: rows are scaled down, not left out.

The same idea as `adaptive_power_iteration`: a row's contribution a a'X has norm |a| |X'a|, mostly far below |a|^2, and
noise need only cover what most rows have. Three differences. The threshold is looked for once, at the first X, by a
noisy histogram of all norms rather than a search that stops; it is a quantile of the norms rather than their maximum,
since topics bear a clip's bias better than its noise; and a longer contribution is scaled down to the clip, which
keeps its direction. The placement does this with the exact integer sums and noise of the curator and with the norms
of a document's second moment; this function is the same on a plain matrix, for study.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from dplda.config import check_choice
from dplda.errors import InputError
from dplda.numerics.arrays import Array, floats, namespace, standard_normal, to_numpy
from dplda.spectral.calibration import (
    REPLACED_ROW,
    ROW,
    ROWS,
    checked_share,
    gaussian_questions,
    pure_questions,
    total_mu,
)
from dplda.spectral.power_method import (
    Subspace,
    checked_rounds,
    checked_start,
    noisy_power_method,
    orthonormal,
    sparse_floats,
)

HALVINGS = 40  # the least threshold is the largest possible score halved so often


def unit_rows(A: Any) -> tuple[Any, Array]:
    """`A` (n, d), an array or scipy sparse matrix, every row longer than 1 scaled down to it, and the lengths (n,).

    Each row is treated by itself, so that a long row neither fails nor changes what others contribute; one whose square
    is no number is scaled down to zero. Raises `InputError` for an `A` that is not real and finite or has no columns.
    """
    if sparse.issparse(A):
        A = sparse_floats(A, "A")
        if not A.has_canonical_format:  # an entry listed twice would hide its length
            A = A.copy()
            A.sum_duplicates()
    else:
        A = floats(A, "A")
    if A.ndim != 2 or A.shape[1] == 0:
        raise InputError(f"A must have shape (n, d) with d >= 1, got {tuple(A.shape)}")
    with np.errstate(over="ignore"):
        norms = lengths(A)
    xp = namespace(norms)
    one = xp.ones_like(norms)
    if not bool(xp.any(norms > 1)):
        return A, norms
    return scaled(A, one / xp.where(norms > 1, norms, one)), xp.where(norms > 1, one, norms)


def lengths(A: Any) -> Array:
    """Euclidean norms (n,) of the rows of `A`, an array or in compressed sparse rows."""
    if sparse.issparse(A):
        squares = sparse.csr_array((A.data**2, A.indices, A.indptr), shape=A.shape)
        return np.sqrt(squares @ np.ones(A.shape[1]))
    xp = namespace(A)
    return xp.sqrt(xp.vecdot(A, A))  # a norm would copy A


def scaled(A: Any, weights: Array) -> Any:
    """diag(weights) A, (n, d)."""
    return sparse.diags_array(weights) @ A if sparse.issparse(A) else A * weights[:, None]


def scores(norms: Array, Z: Array) -> Array:
    """Norms |a| |X'a| (n,) of the contributions a a'X, from the rows' `norms` (n,) and Z = A X (n, p)."""
    return norms * namespace(Z).linalg.vector_norm(Z, axis=1)


def tail_counts(scores: Array) -> np.ndarray:
    """How many `scores` exceed each threshold 2^(j - HALVINGS), j = 0..HALVINGS, (HALVINGS + 1,). Cost: n."""
    mantissas, exponents = np.frexp(to_numpy(scores))
    above = exponents - (mantissas == 0.5) + HALVINGS  # a score exceeds thresholds j < above
    above = np.clip(np.where(mantissas > 0, above, 0), 0, HALVINGS + 1)
    counts = np.bincount(above, minlength=HALVINGS + 2)
    return np.asarray(counts[::-1].cumsum()[::-1][1:])


def threshold(j: int) -> float:
    """The j-th threshold."""
    return float(2.0 ** (j - HALVINGS))


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


CLIP_SHARE = 0.01  # of the budget, for the histogram


def clipped_power_iteration(
    A: Any,
    X: Array,
    rounds: int,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    neighbours: str = ROW,
    beyond: float = 0.1,
) -> Subspace:
    """Leading right singular vectors of `A`, (epsilon, delta)-private for one row, each contribution clipped.

    `A` (n, d), array or scipy sparse, has rows of length at most 1 (longer ones are cut to it), of which one is added
    or removed, or for ``replaced-row`` replaced; `X` (d, p) is a public start. The clip C is the least power of 1/2
    that, by a noisy histogram of the norms |a| |X'a| at `X`, at most the share `beyond` of the rows exceed. In each
    round a row contributes a a'X min(1, C / (|a| |X'a|)), and the sum gets Gaussian noise of the multiplier times C
    (times 2 for ``replaced-row``: clipped contributions may point in opposite directions).

    Cost: `rounds` times A X, A' Z, O(n p) and O(d p^2); memory O((n + d) p) beside A and its cut rows. Seeded
    floating-point noise is for study; a private release of documents takes the curator's exact noise. Raises
    `InputError` for NaN, wrong shapes, a wrong budget (delta must be positive) or `beyond`.
    """
    checked_rounds(rounds)
    check_choice("neighbours", neighbours, ROWS)
    checked_share("beyond", beyond)
    mu = total_mu(epsilon, delta)
    search = gaussian_questions("clip", 1, mu * math.sqrt(CLIP_SHARE))
    step = gaussian_questions("power", rounds, mu * math.sqrt(1 - CLIP_SHARE))
    A, norms = unit_rows(A)
    X = checked_start(X, A.shape[1])
    replaced = neighbours == REPLACED_ROW
    bins = np.sqrt(2.0) if replaced else 1.0
    clip = _clip(scores(norms, A @ orthonormal(X)), beyond, bins * (search.noise_multiplier or math.inf), rng)
    std = (2.0 if replaced else 1.0) * clip * (step.noise_multiplier or math.inf)

    def multiply(X: Array) -> Array:
        """The sum of clipped a a'X, with noise."""
        Z = A @ X
        size = scores(norms, Z)
        xp = namespace(Z)
        factors = clip / xp.where(size > clip, size, xp.full_like(size, clip))
        return A.T @ (Z * factors[:, None]) + std * standard_normal(rng, tuple(X.shape), X)

    return replace(noisy_power_method(multiply, X, rounds), events=(search, step))


def _clip(size: Array, beyond: float, std: float, rng: np.random.Generator) -> float:
    """The least threshold that at most the share `beyond` of scores exceed, by counts of single bins with noise.

    A row lies in one bin: at or below the first threshold, or between two of the others.
    """
    tails = tail_counts(size)
    bins = np.concatenate([[size.shape[0]], tails]) - np.concatenate([tails, [0]])
    noisy = bins + std * rng.standard_normal(len(bins))
    above = noisy[::-1].cumsum()[::-1][1:]
    passed = above <= beyond * noisy.sum()
    return threshold(int(np.argmax(passed)) if passed.any() else HALVINGS)
