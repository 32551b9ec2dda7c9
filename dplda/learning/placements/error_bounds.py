"""Error bounds of DeCarolis et al. 2020 for a topic (Theorems 10, 12, 14, 16; appendix H), from public numbers.

The proofs state bounds in terms of norms of the noise, (124) to (141), before they hide constants in an O(). This
module evaluates those terms with the noise of `published_noise`, so that a bound and a run with the published
calibration describe the same mechanism. The bounds are on ||mu_i - mu_i^DP||_2 around the topics learned
without noise. Two distributions are at most sqrt(2) apart, so a larger bound is vacuous. The bounds apply the
corrections to the paper listed in docs/privacy.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.optimize import minimize

from dplda.learning.placements.published_noise import (
    EDGES,
    EdgeNoise,
    Quantities,
    edge_budgets,
    edge_noise,
    gap_floor,
    m3_norm,
    topic_scale,
)
from dplda.learning.synthetic import synthetic

_FAILURE = 0.05  # probability with which each bound on a norm of the noise may fail
_LEAST_SHARE = 1e-3  # minimum share of the budget for each edge in a chosen split


def bound(
    placement: str, q: Quantities, epsilon: float, delta: float, split: Mapping[str, float] | None = None
) -> float:
    """Bound on the l2 error of a topic in config1, 2, 3 or 4; `split` divides (epsilon, delta) over the edges.

    `q` are the quantities in the paper's formulas. The mechanism adds noise to its bounds on local sensitivities, too;
    here that noise is taken to be 0, its median. A gap gamma_s of M3 below `published_noise.gap_floor` is raised to it.
    """
    noise = {
        edge: edge_noise(edge, q, *budget) for edge, budget in edge_budgets(placement, epsilon, delta, split).items()
    }
    if placement == "config4":
        return _gaussian_vector_norm(noise["e9"].std, q.words)
    gap, roots = max(q.gamma_s, gap_floor(q.alpha0)), 2 * math.sqrt(q.topics)
    if placement == "config3":
        std = noise["e7"].std
        return _unwhitened(q, _gaussian_vector_norm(std, q.topics), _gaussian_norm(std), noise["e8"])
    tensor = _whitened_noise(q, noise) if placement == "config1" else _gaussian_tensor_norm(noise["e6"].std, q.topics)
    return _unwhitened(q, roots * tensor / gap, roots * tensor / gap, noise["e8"])


def best_split(placement: str, q: Quantities, epsilon: float, delta: float) -> dict[str, float]:
    """The split of the budget over the edges of `placement` with the least `bound`."""
    edges = EDGES[placement]
    if len(edges) == 1:
        return {edges[0]: 1.0}

    def split(logits: np.ndarray) -> dict[str, float]:
        powers = np.exp(np.append(logits, 0.0) - max(float(logits.max()), 0.0))
        shares = _LEAST_SHARE + (1 - _LEAST_SHARE * len(edges)) * powers / powers.sum()
        return dict(zip(edges, shares.tolist(), strict=True))

    best = minimize(
        lambda logits: math.log(bound(placement, q, epsilon, delta, split(logits))),
        np.zeros(len(edges) - 1),
        method="Nelder-Mead",
        options={"xatol": 1e-3, "fatol": 1e-6},
    )
    return split(best.x)


def planted(
    documents: int,
    words: int,
    topics: int,
    alpha0: float = 1.0,
    *,
    concentration: float = 0.05,
    zipf: float = 1.0,
    seed: int = 0,
) -> Quantities:
    """Population quantities of the corpus that `synthetic` draws with these arguments, computed from its topics.

    The prior is symmetric, so that all lambda are equal and gamma_s is zero; `bound` raises gamma_s to its floor.
    """
    mu = synthetic(1, words, topics, alpha0=alpha0, seed=seed, concentration=concentration, zipf=zipf)[1]
    weight = 1 / (topics * (alpha0 + 1))
    values = np.linalg.eigvalsh(weight * mu @ mu.T)  # eigenvalues of M2 = sum of weight mu mu', without its zeros
    return Quantities(
        documents=documents,
        words=words,
        topics=topics,
        alpha0=alpha0,
        sigma_1=float(values[-1]),
        sigma_k=float(values[0]),
        tensor_1=2 / ((alpha0 + 2) * math.sqrt(weight)),
        gamma_s=0.0 if topics > 1 else 1 / (2 * (alpha0 + 2) * math.sqrt(weight)),
    )


def _gaussian_norm(std: float) -> float:
    """Bound on |n| for the noise n of one number, with standard deviation `std`.

    Theorem 40 with log(2 / failure), because both tails count.
    """
    return std * math.sqrt(2 * math.log(2 / _FAILURE))


def _gaussian_vector_norm(std: float, k: int) -> float:
    """Bound on ||Y|| for a noise vector Y (k,) of independent entries (Theorem 41)."""
    t = math.log(1 / _FAILURE)
    return std * math.sqrt(k + 2 * math.sqrt(k * t) + 2 * t)


def _gaussian_matrix_norm(std: float, d: int) -> float:
    """Bound on ||E|| for a symmetric noise matrix E (d, d) with `std` off the diagonal.

    Theorem 42, with the constant 2 of the semicircle law for its O().
    """
    return 2 * math.sqrt(d) * std


def _gaussian_tensor_norm(std: float, d: int) -> float:
    """Bound on ||E|| for a noise tensor E (d, d, d) of independent entries.

    Theorem 43; the variance multiplies both terms.
    """
    covered, missed = 3 * d * math.log(6 / math.log(1.5)), math.log(2 / _FAILURE)
    return std * math.sqrt(8 * (covered + missed))


def _whitened_noise(q: Quantities, noise: Mapping[str, EdgeNoise]) -> float:
    """Bound on ||Phi||, the norm of the error of the whitened M3, in configuration 1 (128).

    The last norm of W is cubed, as the theorem needs but does not print.
    """
    half = math.sqrt(q.sigma_k / 2)
    whitener = _gaussian_matrix_norm(noise["e4"].std, q.words) / (q.sigma_k * half)
    return m3_norm(q.documents, q.alpha0) * whitener**3 + _gaussian_tensor_norm(noise["e3"].std, q.words) / half**3


def _unwhitened(q: Quantities, vectors: float, values: float, e8: EdgeNoise) -> float:
    """Bound on the l2 error of an unwhitened topic (124).

    `vectors` and `values` bound the errors of eigenvectors and eigenvalues, and `e8` is the noise of M2. The parts of
    (124) are bounded by (134), or by (140) if the noise is on the eigenpairs themselves.
    """
    matrix = _gaussian_matrix_norm(e8.std, q.words)
    return topic_scale(q.alpha0) * (
        q.tensor_1 * math.sqrt(q.sigma_1) * (vectors + matrix / q.sigma_k) + math.sqrt(q.sigma_1 + matrix) * values
    )
