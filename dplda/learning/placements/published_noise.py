"""The noise that the paper (DeCarolis et al. 2020) prints in appendices A, G and H; it is not proven private.

The formulas are the paper's, even where they are wrong: docs/privacy.md, section 1, lists where each proof fails. Where
two printed formulas disagree, or one cannot be evaluated, the authors' code decides. The code's second moment is alpha0
(alpha0 + 1) times the paper's, and its whitened eigenvalues lambda are (alpha0 + 2) / 2 / sqrt(alpha0 (alpha0 + 1))
times the paper's. Its floors are converted to the paper's units here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dplda.base.errors import InputError
from dplda.private.statistics.lda_moments import coefficients

EDGES = {"config1": ("e3", "e4", "e8"), "config2": ("e6", "e8"), "config3": ("e7", "e8"), "config4": ("e9",)}
_FLOOR = 0.1  # noisy eigenvalues and gaps are raised to at least this, in the units of the authors' code
# Number of noisy bounds on local quantities that an edge needs; they and its Gaussian noise share its budget evenly.
_NOISY_BOUNDS = {"e6": 1, "e7": 2, "e9": 3}


@dataclass(frozen=True, kw_only=True)
class Quantities:
    """The quantities in the paper's formulas.

    Numbers of `documents` N, `words` d and `topics` k; `sigma_1` and `sigma_k` are eigenvalues of M2, `tensor_1` the
    largest eigenvalue lambda of the whitened M3, and `gamma_s` a quarter of the least gap between these eigenvalues.
    """

    documents: float
    words: int
    topics: int
    alpha0: float
    sigma_1: float
    sigma_k: float
    tensor_1: float
    gamma_s: float


@dataclass(frozen=True, kw_only=True)
class EdgeNoise:
    """Standard deviation `std` of the noise on an edge of this `sensitivity`, for the edge's own (epsilon, delta)."""

    epsilon: float
    delta: float
    sensitivity: float
    std: float


def equal_split(placement: str) -> dict[str, float]:
    """Equal shares of the budget for the edges of `placement`, as in the authors' code."""
    return dict.fromkeys(EDGES[placement], 1 / len(EDGES[placement]))


def edge_budgets(
    placement: str, epsilon: float, delta: float, split: Mapping[str, float] | None = None
) -> dict[str, tuple[float, float]]:
    """(epsilon, delta) of each edge of `placement` by simple composition (Proposition 23); equal shares by default.

    Raises `InputError` unless `split` has a positive share for each edge of the placement and they sum to 1.
    """
    edges = EDGES[placement]
    shares = dict(split) if split is not None else equal_split(placement)
    if set(shares) != set(edges) or min(shares.values()) <= 0 or abs(sum(shares.values()) - 1) > 1e-6:
        raise InputError(
            f"split must give positive shares that sum to 1 to the edges {', '.join(edges)} of {placement}, "
            f"got {shares!r}."
        )
    return {edge: (shares[edge] * epsilon, shares[edge] * delta) for edge in edges}


def _gaussian_scale(epsilon: float, delta: float) -> float:
    """Standard deviation over sensitivity for any epsilon (Proposition 22); it lacks a factor sqrt(2)."""
    return (math.sqrt(epsilon + math.log(1 / delta)) + math.sqrt(math.log(1 / delta))) / (2 * epsilon)


def delta_2(documents: float, alpha0: float) -> float:
    """l1 sensitivity of M2 (Theorem 4, equation 82)."""
    a, _, _ = coefficients(alpha0)
    return (2 + 4 * a) / documents


def delta_3(documents: float, alpha0: float) -> float:
    """l1 sensitivity of M3 as printed (Theorem 4, equation 96); it is too small.

    The proof counts only one of the three terms of P(E2, m), which LDA's correction multiplies by b (docs/privacy.md).
    """
    _, b, c3 = coefficients(alpha0)
    N = documents
    return (2 - 4 * b + 6 * c3 * (N - 1) / (N - 2)) / N


def m3_norm(documents: float, alpha0: float) -> float:
    """l1 norm of M3, which bounds its other norms (equation 111)."""
    _, b, c3 = coefficients(alpha0)
    N = documents
    return 1 - 6 * b * N / (N - 1) + 3 * c3 * N**2 / ((N - 1) * (N - 2))


def _delta_whitened(q: Quantities) -> float:
    """l2 sensitivity of the whitened M3 (Theorem 5, equation 113).

    The difference of W and W' is cubed, although it enters once (110), and W is assumed to be unique, although it is
    unique only up to a rotation. sigma_k - Delta_2 is at least its floor.
    """
    change = delta_2(q.documents, q.alpha0)
    root = math.sqrt(max(q.sigma_k - change, _sigma_floor(q.alpha0)))
    whitener = (math.sqrt(2 * q.topics) * change / (q.sigma_k * root)) ** 3
    tensor = delta_3(q.documents, q.alpha0) * (math.sqrt(q.topics) / root) ** 3
    return m3_norm(q.documents, q.alpha0) * whitener + tensor


def _delta_pairs(q: Quantities) -> float:
    """l2 sensitivity of each vector and value of the decomposition (Theorem 6); H.3 has sqrt(2 k) for 2 sqrt(k).

    The paper uses a convergence theorem for one tensor as a stability bound between two.
    """
    return 2 * math.sqrt(q.topics) * _delta_whitened(q) / q.gamma_s


def _delta_topics(q: Quantities) -> float:
    """l2 sensitivity of one topic (Theorem 7, equation 117); the paper charges the release of k topics as one."""
    change, scale = delta_2(q.documents, q.alpha0), topic_scale(q.alpha0)
    return scale * (
        q.tensor_1 * math.sqrt(q.sigma_1) * (_delta_pairs(q) + change / q.sigma_k)
        + math.sqrt(q.sigma_1 + change) * _delta_pairs(q)
    )


def topic_scale(alpha0: float) -> float:
    """(alpha0 + 2) / (2 sqrt(alpha0 (alpha0 + 1))), the factor in the paper's unwhitening of topics (G.5 and H).

    The correct factor is this times sqrt(alpha0 (alpha0 + 1)).
    """
    return (alpha0 + 2) / (2 * math.sqrt(alpha0 * (alpha0 + 1)))


def _sigma_floor(alpha0: float) -> float:
    """The least value of noisy eigenvalues of M2, to which smaller ones are raised, in the paper's units."""
    return _FLOOR / (alpha0 * (alpha0 + 1))


def gap_floor(alpha0: float) -> float:
    """The least value of noisy gaps of the whitened M3, to which smaller ones are raised, in the paper's units."""
    return _FLOOR / topic_scale(alpha0)


def _noisy_bounds(q: Quantities, epsilon: float, delta: float, laplace: Callable[[], float]) -> Quantities:
    """`q` with noisy lower bounds on sigma_k and gamma_s and a noisy upper bound on sigma_1 (Lemmas 8 and 9).

    Each bound is (epsilon, 0)-private by Laplace noise, `laplace` times sensitivity over epsilon, and fails with
    probability delta (Lemma 44). Lemma 9 prints the sensitivities 1/N and 2/N for the eigenvalues and 1 for gamma_s;
    the authors' code has Delta_2 and Delta_3. Delta_2 agrees with equation 82.
    """

    def noise_and_margin(sensitivity: float) -> tuple[float, float]:
        return laplace() * sensitivity / epsilon, sensitivity / epsilon * math.log(1 / (2 * delta))

    matrix, tensor = delta_2(q.documents, q.alpha0), delta_3(q.documents, q.alpha0)
    (noise_k, margin_k), (noise_1, margin_1), (noise_s, margin_s) = map(noise_and_margin, (matrix, matrix, tensor))
    return replace(
        q,
        sigma_1=max(q.sigma_1 + noise_1 + margin_1, _sigma_floor(q.alpha0)),
        sigma_k=max(q.sigma_k + noise_k - margin_k, _sigma_floor(q.alpha0)),
        gamma_s=max(q.gamma_s + noise_s - margin_s, gap_floor(q.alpha0)),
    )


def edge_noise(
    edge: str, q: Quantities, epsilon: float, delta: float, laplace: Callable[[], float] = lambda: 0.0
) -> EdgeNoise:
    """The noise of `edge`.

    An edge with n noisy bounds (`_NOISY_BOUNDS`) divides epsilon and delta into n + 1 equal parts: one for each bound,
    and one for its Gaussian noise.
    `laplace` draws standard Laplace noise for the bounds; the default gives their median.
    """
    parts = _NOISY_BOUNDS.get(edge, 0) + 1
    if parts > 1:
        q = _noisy_bounds(q, epsilon / parts, delta / parts, laplace)
    if edge in ("e4", "e8"):
        sensitivity = delta_2(q.documents, q.alpha0)
    elif edge == "e3":
        sensitivity = delta_3(q.documents, q.alpha0)
    else:
        sensitivity = {"e6": _delta_whitened, "e7": _delta_pairs, "e9": _delta_topics}[edge](q)
    std = sensitivity * _gaussian_scale(epsilon / parts, delta / parts)
    return EdgeNoise(epsilon=epsilon, delta=delta, sensitivity=sensitivity, std=std)
