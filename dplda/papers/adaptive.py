"""Private power iteration on rows, with noise that fits the contributions of most rows.

A row a contributes a a'X, of norm |a| |X'a|. This norm is mostly far below |a|^2, and noise need only cover most
contributions.

`adaptive_power_iteration` is Algorithm 1 of Nguyen, Ene and Nguyen: rows above a privately found threshold are left
out. It differs where the printed algorithm is not private or does not match its proof (docs/papers.md). The filtered
sum of a a' is applied once, not squared. Iterates have unit length, so that thresholds lie on a fixed public grid below
1. The number of rows is not used, because it is private when a row may be added. Gaussian noise is calibrated exactly,
and to twice the threshold where a row is replaced.

`clipped_power_iteration` is the block form that the default placement uses. It has three differences. The threshold is
chosen once, at the first X, by a noisy histogram of all norms rather than by a search that stops. It is a quantile of
the norms rather than their maximum, because topics are less sensitive to the bias of a clip than to noise. And a longer
contribution is scaled down to the clip, which keeps its direction. The placement does the same with the exact integer
sums and noise of the curator, and with the norms of a document's second moment; this function is for experiments.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from dplda.base.arrays import Array, floats, namespace, standard_normal, to_numpy
from dplda.base.config import check_choice
from dplda.base.errors import InputError
from dplda.learning.power_method import (
    Subspace,
    check_start,
    noisy_power_method,
    orthonormal,
    require_counts,
    sparse_floats,
)
from dplda.papers.neighbours import REPLACED_ROW, ROW, ROWS, gaussian_event, pure_event, require_shares, total_mu

_HALVINGS = 40  # the thresholds are 2^-40, ..., 1/2, 1; no score exceeds 1
_CLIP_SHARE = 0.01  # share of the budget for the histogram that the clipping threshold is chosen from


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
    """Find leading right singular vectors of `A`, (epsilon, delta)-private for one row, without rows above a threshold.

    `A` (n, d), array or scipy sparse, has rows of length at most 1; longer rows are scaled down to length 1. Neighbours
    differ by one added or removed row, or for ``replaced-row`` by one replaced row. `X` (d, p) is a public start, p = 1
    in the paper. Each round scores every row by |a| |X'a|, the norm of its contribution a a'X. AboveThreshold finds the
    least threshold on the grid 2^(j - 40), j = 0..40, that is exceeded by few rows; these rows are left out. The sum of
    the others gets Gaussian noise of the round's multiplier times the threshold (twice that for ``replaced-row``). The
    searches use `search_share` of the budget. With probability 1 - `beta`, the search of a round stops no later than at
    the first threshold that no row exceeds, and leaves out at most 8 ln((J + 2) / beta) / epsilon' rows, where J = 40
    is the number of halvings and epsilon' the epsilon of one search.

    Cost: `rounds` times A X, A' Z, O(n p) and O(d p^2); memory O((n + d) p) in addition to A and its scaled rows. For
    rows of low coherence and a constant gap, the squared sine of the angle to the subspace is of the order d^2 /
    (epsilon n)^2 (Table 1; measured in docs/papers.md). The seeded floating-point noise is for experiments only; for a
    private release of documents use the placements, which draw exact noise. Raises `InputError` for NaN, wrong shapes,
    a wrong budget (delta must be positive), share or beta.
    """
    require_counts(rounds=rounds)
    check_choice("neighbours", neighbours, ROWS)
    require_shares(search_share=search_share, beta=beta)
    mu = total_mu(epsilon, delta)
    search = pure_event("threshold", rounds, mu * math.sqrt(search_share))
    step = gaussian_event("power", rounds, mu * math.sqrt(1 - search_share))
    A, norms = unit_rows(A)
    X = check_start(X, A.shape[1])
    changes = 2.0 if neighbours == REPLACED_ROW else 1.0

    def multiply(X: Array) -> Array:
        """Return the sum of a a'X over the rows that the search keeps, with noise."""
        Z = A @ X
        scores = _scores(norms, Z)
        theta = _threshold(_above_threshold(_tail_counts(scores), search.epsilon or 0.0, beta, rng))
        xp = namespace(Z)
        kept = xp.where((scores <= theta)[:, None], Z, xp.zeros_like(Z))
        std = changes * theta * (step.noise_multiplier or math.inf)
        return A.T @ kept + std * standard_normal(rng, tuple(X.shape), X)

    return replace(noisy_power_method(multiply, X, rounds), events=(search, step))


def _above_threshold(tails: np.ndarray, epsilon: float, beta: float, rng: np.random.Generator) -> int:
    """Return the first j with a small count `tails[j]` by AboveThreshold, or the last j; `epsilon`-private.

    `tails` (41,) are the numbers of scores above each of the rising thresholds. The queries are minus the `tails`. One
    row changes all of them in the same direction, by at most one, so noise Lap(2 / epsilon) suffices for the bound and
    for the queries (docs/privacy.md, section 2.1). The bound is high enough that, with probability 1 - `beta`, the
    search stops at a tail count of zero at the latest.
    """
    scale = 2 / epsilon
    allowed = 2 * scale * math.log((len(tails) + 1) / beta) + rng.laplace(scale=scale)
    passed = tails + rng.laplace(scale=scale, size=len(tails)) <= allowed
    return int(np.argmax(passed)) if passed.any() else _HALVINGS


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
    """Find leading right singular vectors of `A`, (epsilon, delta)-private for one row, each contribution clipped.

    `A` (n, d), array or scipy sparse, has rows of length at most 1; longer rows are scaled down to length 1. Neighbours
    differ by one added or removed row, or for ``replaced-row`` by one replaced row. `X` (d, p) is a public start. The
    clip C is the least power of 1/2 that is exceeded by at most the share `beyond` of the norms |a| |X'a| at `X`, by a
    noisy histogram of these norms. In each round a row contributes a a'X min(1, C / (|a| |X'a|)), and the sum gets
    Gaussian noise of the multiplier times C (twice that for ``replaced-row``, because clipped contributions may point
    in opposite directions).

    Cost: `rounds` times A X, A' Z, O(n p) and O(d p^2); memory O((n + d) p) in addition to A and its scaled rows.
    The seeded floating-point noise is for experiments only; for a private release of documents use the
    placements, which draw exact noise. Raises `InputError` for NaN, wrong shapes, a wrong budget (delta must be
    positive) or `beyond`.
    """
    require_counts(rounds=rounds)
    check_choice("neighbours", neighbours, ROWS)
    require_shares(beyond=beyond)
    mu = total_mu(epsilon, delta)
    search = gaussian_event("clip", 1, mu * math.sqrt(_CLIP_SHARE))
    step = gaussian_event("power", rounds, mu * math.sqrt(1 - _CLIP_SHARE))
    A, norms = unit_rows(A)
    X = check_start(X, A.shape[1])
    replaced = neighbours == REPLACED_ROW
    bins = np.sqrt(2.0) if replaced else 1.0
    clip = _clip(_scores(norms, A @ orthonormal(X)), beyond, bins * (search.noise_multiplier or math.inf), rng)
    std = (2.0 if replaced else 1.0) * clip * (step.noise_multiplier or math.inf)

    def multiply(X: Array) -> Array:
        """Return the sum of clipped a a'X, with noise."""
        Z = A @ X
        scores = _scores(norms, Z)
        xp = namespace(Z)
        factors = clip / xp.where(scores > clip, scores, xp.full_like(scores, clip))
        return A.T @ (Z * factors[:, None]) + std * standard_normal(rng, tuple(X.shape), X)

    return replace(noisy_power_method(multiply, X, rounds), events=(search, step))


def _clip(scores: Array, beyond: float, std: float, rng: np.random.Generator) -> float:
    """Return the least threshold that at most the share `beyond` of the `scores` (n,) exceeds, by a noisy histogram.

    The bins count the scores up to the first threshold, those between two thresholds, and those above the last. Noise
    of `std` is added to the count of each bin, and a row is in one bin.
    """
    tails = _tail_counts(scores)
    bins = np.concatenate([[scores.shape[0]], tails]) - np.concatenate([tails, [0]])
    noisy = bins + std * rng.standard_normal(len(bins))
    above = noisy[::-1].cumsum()[::-1][1:]
    passed = above <= beyond * noisy.sum()
    return _threshold(int(np.argmax(passed)) if passed.any() else _HALVINGS)


def unit_rows(A: Any) -> tuple[Any, Array]:
    """Return `A` (n, d) with rows scaled down to length at most 1, and the lengths (n,) of the scaled rows.

    `A` is an array or a scipy sparse matrix. Each row is treated separately, so a long row neither fails nor changes
    the contributions of others. A row whose squares overflow is scaled to zero. Raises `InputError` for an `A` that is
    not real and finite or has no columns.
    """
    if sparse.issparse(A):
        A = sparse_floats(A, "A")
        if not A.has_canonical_format:  # the square of an entry that is listed twice would be wrong
            A = A.copy()
            A.sum_duplicates()
    else:
        A = floats(A, "A")
    if A.ndim != 2 or A.shape[1] == 0:
        raise InputError(f"A must have shape (n, d) with d >= 1, got {tuple(A.shape)}")
    with np.errstate(over="ignore"):
        norms = _lengths(A)
    xp = namespace(norms)
    one = xp.ones_like(norms)
    if not bool(xp.any(norms > 1)):
        return A, norms
    shrink = one / xp.where(norms > 1, norms, one)
    scaled = sparse.diags_array(shrink) @ A if sparse.issparse(A) else A * shrink[:, None]
    return scaled, xp.where(norms > 1, one, norms)


def _lengths(A: Any) -> Array:
    """Return the norms (n,) of the rows of `A`, an array or in compressed sparse rows."""
    if sparse.issparse(A):
        squares = sparse.csr_array((A.data**2, A.indices, A.indptr), shape=A.shape)
        return np.sqrt(squares @ np.ones(A.shape[1]))
    xp = namespace(A)
    return xp.sqrt(xp.vecdot(A, A))  # a norm would copy A


def _scores(norms: Array, Z: Array) -> Array:
    """Return the norms |a| |X'a| (n,) of the contributions a a'X, from the rows' `norms` (n,) and Z = A X (n, p)."""
    return norms * namespace(Z).linalg.vector_norm(Z, axis=1)


def _tail_counts(scores: Array) -> np.ndarray:
    """Return how many `scores` (n,) exceed each threshold 2^(j - 40), j = 0..40, (41,). Cost: n."""
    mantissas, exponents = np.frexp(to_numpy(scores))
    above = exponents - (mantissas == 0.5) + _HALVINGS  # a score exceeds the thresholds j < above
    above = np.clip(np.where(mantissas > 0, above, 0), 0, _HALVINGS + 1)
    counts = np.bincount(above, minlength=_HALVINGS + 2)
    return np.asarray(counts[::-1].cumsum()[::-1][1:])


def _threshold(j: int) -> float:
    """Return the j-th threshold, 2^(j - 40)."""
    return float(2.0 ** (j - _HALVINGS))
