"""The block form of adaptive power iteration that the default placement uses: rows are scaled down, not left out.

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

from dplda.compute.arrays import Array, namespace, standard_normal
from dplda.config import check_choice
from dplda.spectral.calibration import checked_share, gaussian_questions, total_mu
from dplda.spectral.neighbours import REPLACED_ROW, ROW, ROWS
from dplda.spectral.power import noisy_power_method
from dplda.spectral.rows import HALVINGS, scores, tail_counts, threshold, unit_rows
from dplda.spectral.subspace import Subspace, checked_rounds, checked_start, orthonormal

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
