"""Configurations 1 to 4 with the noise that the paper (DeCarolis et al. 2020) prints; it is not proven private.

It is for comparison only.

size, m, E2   exact, through the gate that marks the run as not private
M2            E2 - a m m'
W             whitening by M2; in configuration 1 by M2 + noise (edge e4)
T             E3(W, W, W) with LDA's correction; + noise in configurations 1 (edge e3) and 2 (edge e6)
pairs         eigenpairs of T by the robust tensor power method; + noise in configuration 3 (edge e7)
topics        pairs unwhitened by M2 + noise in configurations 1 to 3 (edge e8); by M2, + noise on the topics, in
              configuration 4 (edge e9)

The paper leaves details open. They are read as follows; each item says where it follows or leaves the authors' code:

* A symmetric array gets symmetric noise. The noise on e4, e6 and e8 has the printed standard deviation where indices
  differ; the code symmetrises e6 in the same way. On e3 it is the symmetric part of independent entries, which is all
  that a symmetric decomposition can see of the code's noise.
* The noises on e4 and on e8 are drawn separately, each with its own share of the budget, and added to M2 as in H.1
  and H.2; the code adds them to W and to the unwhitening matrix instead. Eigenvectors of M2 and of M2 + noise may
  differ in sign and order, and the paper does not align them: here the orthogonal matrix of best fit
  (Procrustes) aligns the unwhitening with the whitening, as the text after equation 131 suggests.
* In configuration 3 the noise on vectors and values follows Theorem 6, as in the code, and not H.3.
* Topics are projected on the simplex without being scaled to sum to 1 first, as in the code.
* In configuration 4 no noise is printed for alpha, so all topics get the same prevalence.

The formulas of the noise (appendices A, G and H) are the paper's, even where they are wrong: docs/papers.md,
errata, lists where each proof fails. Where two printed formulas disagree, or one cannot be evaluated, the authors'
code decides. The code's second moment is alpha0 (alpha0 + 1) times the paper's, and its whitened eigenvalues lambda are
(alpha0 + 2) / 2 / sqrt(alpha0 (alpha0 + 1)) times the paper's. Its floors are converted to the paper's units here.

`bound` evaluates the paper's bounds on the error of a topic (Theorems 10, 12, 14, 16; appendix H) from public numbers,
for the same noise. The proofs state them in terms of norms of the noise, (124) to (141), before they hide constants in
an O(). They bound ||mu_i - mu_i^DP||_2 around the topics learned without noise. Two distributions are at most sqrt(2)
apart, so a larger bound is vacuous. The corrections listed in docs/papers.md, errata, are applied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import scipy.linalg
from scipy.optimize import minimize

from dplda.base.errors import InputError
from dplda.base.threads import one_blas_thread
from dplda.budget.accountant import Share
from dplda.budget.events import Stage
from dplda.learning.eigenpairs import EigenPairs
from dplda.learning.placements.registry import Placement
from dplda.learning.placements.stages import MOST_DENSE_WORDS
from dplda.learning.recovery import (
    Learned,
    Whitening,
    by_prevalence,
    corrected_second_moment,
    corrected_third_moment,
    eigenpairs,
    prevalence,
    project_to_simplex,
)
from dplda.learning.settings import FitSettings
from dplda.learning.synthetic import synthetic
from dplda.private import Gate, WordFrequencies, statistics
from dplda.private.statistics.lda_moments import coefficients, unpack, unpack_offsets
from dplda.private.statistics.moments import FIRST_MOMENT, SECOND_MOMENT
from dplda.private.statistics.third_moment import THIRD_MOMENT

EDGES = {"config1": ("e3", "e4", "e8"), "config2": ("e6", "e8"), "config3": ("e7", "e8"), "config4": ("e9",)}
_FLOOR = 0.1  # noisy eigenvalues and gaps are raised to at least this, in the units of the authors' code
# Number of noisy bounds on local quantities that an edge needs; they and its Gaussian noise share its budget evenly.
_NOISY_BOUNDS = {"e6": 1, "e7": 2, "e9": 3}
_LEAST_EIGENVALUE = 1e-6  # smallest eigenvalue used for whitening, as a share of the largest


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """Return one share for each exact release; the weights have no meaning.

    Raises `InputError` for settings that the paper's configurations do not support.
    """
    _budgets(settings)
    words = Share(Stage.FREQUENCY, 1.0) if public_vocabulary else Share(Stage.VOCABULARY, 1.0, selects_words=True)
    return words, *(Share(stage, 1.0) for stage in (Stage.SIZE, Stage.MEAN, Stage.MOMENT, Stage.TENSOR))


def _budgets(settings: FitSettings) -> dict[str, tuple[float, float]]:
    """Return (epsilon, delta) of each edge; raises `InputError` for settings that the configurations do not support."""
    if settings.model.topics == "auto":
        raise InputError("topics must be a number with the published calibration, got 'auto'. Ask for a number.")
    privacy, model = settings.privacy, settings.model
    return edge_budgets(model.placement, privacy.epsilon, privacy.delta, model.split)


@one_blas_thread()
def learn(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size and the vocabulary; `rng` draws the noise as well as starting points.

    Raises `InputError` for settings that the paper's configurations do not support.
    """
    budgets, drawn = _budgets(settings), dict[str, EdgeNoise]()

    def noise(edge: str, quantities: Quantities, *shape: int) -> np.ndarray:
        """Return independent Gaussian noise of `shape` with the standard deviation printed for `edge`."""
        drawn[edge] = edge_noise(edge, quantities, *budgets[edge], laplace=rng.laplace)
        return np.asarray(rng.normal(0.0, drawn[edge].std, shape))

    k, d, alpha0, ones = int(settings.model.topics), len(words.words), settings.model.alpha0, np.ones(len(words.words))
    mean = gate.release(Stage.MEAN, statistics.first_moment(ones), math.inf)
    m, documents = mean.mean[:, 0], round(mean.mass)  # the documents that are eligible by the words in use
    E2 = unpack_offsets(gate.release(Stage.MOMENT, statistics.second_moment(ones), math.inf).mean)
    M2 = corrected_second_moment(E2, m, alpha0)

    whitening = exact = _whitening(M2, k)
    quantities = _quantities(documents, d, alpha0, exact)
    if "e4" in budgets:
        whitening = _whitening(M2 + _symmetric_matrix(noise("e4", quantities, d, d)), k)
    W = whitening.W
    E3 = unpack(gate.release(Stage.TENSOR, statistics.third_moment(W), math.inf).mean[0], k)
    T = corrected_third_moment(E3, W.T @ E2 @ W, W.T @ m, alpha0)
    if "e3" in budgets:
        T = T + _contracted_noise(noise("e3", quantities, k, k, k), W)
    if "e6" in budgets:
        T = T + math.sqrt(6) * _symmetric_part(noise("e6", quantities, k, k, k))

    pairs = eigenpairs(T, rng)
    quantities = _quantities(documents, d, alpha0, exact, pairs.values)
    if "e7" in budgets:
        E7 = noise("e7", quantities, k + 1, k)
        pairs = EigenPairs(pairs.values + E7[0], pairs.vectors + E7[1:])
    vectors = pairs.vectors
    if "e8" in budgets:
        unwhitening = _whitening(M2 + _symmetric_matrix(noise("e8", quantities, d, d)), k)
        # The rotation that brings the columns of the unwhitening matrix nearest to those of the whitening matrix.
        columns, target = (each.basis * np.sqrt(each.values) for each in (unwhitening, whitening))
        rotation = scipy.linalg.orthogonal_procrustes(columns, target)[0]
        vectors, whitening = rotation @ vectors, unwhitening
    topics = whitening.unwhiten(pairs.values, vectors, alpha0)
    weights = prevalence(pairs.values, alpha0)
    if "e9" in budgets:
        topics, weights = topics + noise("e9", quantities, d, k), np.full(k, 1 / k)
    facts = {"published": {edge: asdict(each) for edge, each in drawn.items()}}
    return by_prevalence(project_to_simplex(topics), weights, documents, facts)


def _whitening(M2: np.ndarray, k: int) -> Whitening:
    """Return the whitening by the k leading eigenpairs of M2 (d, d), with eigenvalues bounded away from zero."""
    d = len(M2)
    values, vectors = scipy.linalg.eigh((M2 + M2.T) / 2, subset_by_index=(d - k, d - 1))
    floor = max(_LEAST_EIGENVALUE * values[-1], 1e-12)
    return Whitening(vectors[:, ::-1], np.maximum(values[::-1], floor))


def _quantities(
    documents: float, d: int, alpha0: float, exact: Whitening, values: np.ndarray | None = None
) -> Quantities:
    """Return the exact quantities of the data; those of the tensor are zero without its eigenvalues `values` (k,)."""
    falling = -np.sort(-values) if values is not None else np.zeros(1)
    return Quantities(
        documents=max(documents, 3.0),
        words=d,
        topics=len(exact.values),
        alpha0=alpha0,
        sigma_1=float(exact.values[0]),
        sigma_k=float(exact.values[-1]),
        tensor_1=float(falling[0]),
        gamma_s=float(-np.diff(falling, append=0.0).max()) / 4,
    )


def _symmetric_matrix(Z: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix from independent entries Z (d, d), with their standard deviation off the diagonal."""
    return np.asarray((Z + Z.T) / math.sqrt(2))


def _symmetric_part(Z: np.ndarray) -> np.ndarray:
    """Return the symmetric part of Z (k, k, k), which is isotropic if Z has independent normal entries."""
    Z = (Z + Z.transpose(1, 0, 2)) / 2
    return np.asarray((Z + Z.transpose(0, 2, 1) + Z.transpose(2, 1, 0)) / 3)


def _contracted_noise(Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return noise with the law of E(W, W, W), E the symmetric part of (d, d, d) entries independent like those of Z.

    With L'L = W'W it is g(L, L, L), g the symmetric part of Z (T3 of docs/privacy.md), so nothing has size d^3.
    """
    L = np.linalg.qr(W, mode="r")
    return np.asarray(np.einsum("xyz,xa,yb,zc->abc", _symmetric_part(Z), L, L, L, optimize=True))


@dataclass(frozen=True, kw_only=True)
class Quantities:
    """The quantities in the paper's formulas."""

    documents: float  # N
    words: int  # d
    topics: int  # k
    alpha0: float
    sigma_1: float  # the largest eigenvalue of M2
    sigma_k: float  # its k-th eigenvalue
    tensor_1: float  # the largest eigenvalue lambda of the whitened M3
    gamma_s: float  # a quarter of the least gap between these eigenvalues


@dataclass(frozen=True, kw_only=True)
class EdgeNoise:
    """Standard deviation `std` of the noise on an edge of this `sensitivity`, for the edge's own (epsilon, delta)."""

    epsilon: float
    delta: float
    sensitivity: float
    std: float


def equal_split(placement: str) -> dict[str, float]:
    """Return equal shares of the budget for the edges of `placement`, as in the authors' code."""
    return dict.fromkeys(EDGES[placement], 1 / len(EDGES[placement]))


def edge_budgets(
    placement: str, epsilon: float, delta: float, split: Mapping[str, float] | None = None
) -> dict[str, tuple[float, float]]:
    """Return (epsilon, delta) of each edge by simple composition (Proposition 23); equal shares by default.

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
    """Return standard deviation over sensitivity, for any epsilon (Proposition 22); it lacks a factor sqrt(2)."""
    return (math.sqrt(epsilon + math.log(1 / delta)) + math.sqrt(math.log(1 / delta))) / (2 * epsilon)


def delta_2(documents: float, alpha0: float) -> float:
    """Return the l1 sensitivity of M2 (Theorem 4, equation 82)."""
    a, _, _ = coefficients(alpha0)
    return (2 + 4 * a) / documents


def delta_3(documents: float, alpha0: float) -> float:
    """Return the l1 sensitivity of M3 as printed (Theorem 4, equation 96); it is too small.

    The proof counts only one of the three terms of P(E2, m), which LDA's correction multiplies by b (docs/privacy.md).
    """
    _, b, c3 = coefficients(alpha0)
    N = documents
    return (2 - 4 * b + 6 * c3 * (N - 1) / (N - 2)) / N


def m3_norm(documents: float, alpha0: float) -> float:
    """Return the l1 norm of M3, which bounds its other norms (equation 111)."""
    _, b, c3 = coefficients(alpha0)
    N = documents
    return 1 - 6 * b * N / (N - 1) + 3 * c3 * N**2 / ((N - 1) * (N - 2))


def _delta_whitened(q: Quantities) -> float:
    """Return the l2 sensitivity of the whitened M3 (Theorem 5, equation 113).

    The difference of W and W' is cubed, although it enters once (110), and W is assumed to be unique, although it is
    unique only up to a rotation. sigma_k - Delta_2 is at least its floor.
    """
    change = delta_2(q.documents, q.alpha0)
    root = math.sqrt(max(q.sigma_k - change, _sigma_floor(q.alpha0)))
    whitener = (math.sqrt(2 * q.topics) * change / (q.sigma_k * root)) ** 3
    tensor = delta_3(q.documents, q.alpha0) * (math.sqrt(q.topics) / root) ** 3
    return m3_norm(q.documents, q.alpha0) * whitener + tensor


def _delta_pairs(q: Quantities) -> float:
    """Return the l2 sensitivity of each eigenvector and eigenvalue (Theorem 6); H.3 has sqrt(2 k) for 2 sqrt(k).

    The paper uses a convergence theorem for one tensor as a stability bound between two.
    """
    return 2 * math.sqrt(q.topics) * _delta_whitened(q) / q.gamma_s


def _delta_topics(q: Quantities) -> float:
    """Return the l2 sensitivity of one topic (Theorem 7, equation 117); the paper charges k topics as one."""
    change, scale = delta_2(q.documents, q.alpha0), topic_scale(q.alpha0)
    return scale * (
        q.tensor_1 * math.sqrt(q.sigma_1) * (_delta_pairs(q) + change / q.sigma_k)
        + math.sqrt(q.sigma_1 + change) * _delta_pairs(q)
    )


def topic_scale(alpha0: float) -> float:
    """Return (alpha0 + 2) / (2 sqrt(alpha0 (alpha0 + 1))), the factor in the paper's unwhitening of topics (G.5 and H).

    The correct factor is this times sqrt(alpha0 (alpha0 + 1)).
    """
    return (alpha0 + 2) / (2 * math.sqrt(alpha0 * (alpha0 + 1)))


def _sigma_floor(alpha0: float) -> float:
    """Return the floor for noisy eigenvalues of M2, in the paper's units; smaller ones are raised to it."""
    return _FLOOR / (alpha0 * (alpha0 + 1))


def gap_floor(alpha0: float) -> float:
    """Return the floor for noisy gaps of the whitened M3, in the paper's units; smaller ones are raised to it."""
    return _FLOOR / topic_scale(alpha0)


def _noisy_bounds(q: Quantities, epsilon: float, delta: float, laplace: Callable[[], float]) -> Quantities:
    """Return `q` with noisy lower bounds on sigma_k and gamma_s and a noisy upper bound on sigma_1 (Lemmas 8 and 9).

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
    """Return the noise of `edge`.

    An edge with n noisy bounds (`_NOISY_BOUNDS`) divides epsilon and delta into n + 1 equal parts: one for each bound,
    and one for its Gaussian noise. `laplace` draws standard Laplace noise for the bounds; the default gives their
    median.
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


_FAILURE = 0.05  # probability with which each bound on a norm of the noise may fail
_LEAST_SHARE = 1e-3  # minimum share of the budget for each edge in a chosen split


def bound(
    placement: str, q: Quantities, epsilon: float, delta: float, split: Mapping[str, float] | None = None
) -> float:
    """Return a bound on the l2 error of a topic in config1, 2, 3 or 4; `split` divides (epsilon, delta) over the edges.

    `q` are the quantities in the paper's formulas. The mechanism adds noise to its bounds on local sensitivities, too;
    here that noise is taken to be 0, its median. A gap gamma_s of M3 below `gap_floor` is raised to it.
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
    """Return the split of the budget over the edges of `placement` with the least `bound`."""
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


def planted_quantities(
    documents: int,
    words: int,
    topics: int,
    alpha0: float = 1.0,
    *,
    concentration: float = 0.05,
    zipf: float = 1.0,
    seed: int = 0,
) -> Quantities:
    """Return the population quantities of the corpus that `synthetic` draws with these arguments.

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
    """Return a bound on |n| for the noise n of one number, with standard deviation `std`.

    Theorem 40 with log(2 / failure), because both tails count.
    """
    return std * math.sqrt(2 * math.log(2 / _FAILURE))


def _gaussian_vector_norm(std: float, k: int) -> float:
    """Return a bound on ||Y|| for a noise vector Y (k,) of independent entries (Theorem 41)."""
    t = math.log(1 / _FAILURE)
    return std * math.sqrt(k + 2 * math.sqrt(k * t) + 2 * t)


def _gaussian_matrix_norm(std: float, d: int) -> float:
    """Return a bound on ||E|| for a symmetric noise matrix E (d, d) with `std` off the diagonal.

    Theorem 42, with the constant 2 of the semicircle law for its O().
    """
    return 2 * math.sqrt(d) * std


def _gaussian_tensor_norm(std: float, d: int) -> float:
    """Return a bound on ||E|| for a noise tensor E (d, d, d) of independent entries.

    Theorem 43; the variance multiplies both terms.
    """
    covered, missed = 3 * d * math.log(6 / math.log(1.5)), math.log(2 / _FAILURE)
    return std * math.sqrt(8 * (covered + missed))


def _whitened_noise(q: Quantities, noise: Mapping[str, EdgeNoise]) -> float:
    """Return a bound on ||Phi||, the norm of the error of the whitened M3, in configuration 1 (128).

    The last norm of W is cubed, as the theorem needs but does not print.
    """
    half = math.sqrt(q.sigma_k / 2)
    whitener = _gaussian_matrix_norm(noise["e4"].std, q.words) / (q.sigma_k * half)
    return m3_norm(q.documents, q.alpha0) * whitener**3 + _gaussian_tensor_norm(noise["e3"].std, q.words) / half**3


def _unwhitened(q: Quantities, vectors: float, values: float, e8: EdgeNoise) -> float:
    """Return a bound on the l2 error of an unwhitened topic (124).

    `vectors` and `values` bound the errors of eigenvectors and eigenvalues, and `e8` is the noise of M2. The parts of
    (124) are bounded by (134), or by (140) if the noise is on the eigenpairs themselves.
    """
    matrix = _gaussian_matrix_norm(e8.std, q.words)
    return topic_scale(q.alpha0) * (
        q.tensor_1 * math.sqrt(q.sigma_1) * (vectors + matrix / q.sigma_k) + math.sqrt(q.sigma_1 + matrix) * values
    )


def _placement(name: str, flaw: str) -> Placement:
    return Placement(
        shares=shares,
        learn=learn,
        statistics=(SECOND_MOMENT, FIRST_MOMENT, THIRD_MOMENT),
        split=equal_split(name),
        most_words=MOST_DENSE_WORDS,
        least_topics=2,
        reason=f"NOT PROVEN PRIVATE: {flaw}",
    )


CONFIG1 = _placement(
    "config1",
    "the sensitivity printed for M3 counts one of its three terms B (Theorem 4, equation 96) and the Gaussian rule "
    "lacks a factor sqrt(2) (Proposition 22)",
)
CONFIG2 = _placement(
    "config2",
    "the sensitivity printed for the whitened tensor cubes a difference that enters once and takes the whitening for "
    "unique (Theorem 5, equation 110)",
)
CONFIG3 = _placement(
    "config3",
    "the sensitivity printed for the decomposition is a convergence theorem read as a stability bound (Theorem 6), at "
    "local gaps that one document can move without bound (Lemma 9)",
)
CONFIG4 = _placement(
    "config4",
    "the sensitivity printed for the topics rests on Theorems 5 and 6, which fail, and releases k topics at the price "
    "of one (Theorem 7, H.4)",
)
