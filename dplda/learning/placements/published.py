"""Configurations 1 to 4 with the noise that the paper (DeCarolis et al. 2020) prints. It is not proven private.

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
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
import scipy.linalg

from dplda.base.errors import InputError
from dplda.base.threads import one_blas_thread
from dplda.budget.budget_plan import Share
from dplda.budget.events import Stage
from dplda.learning.eigenpairs import EigenPairs
from dplda.learning.placements.published_noise import EdgeNoise, Quantities, edge_budgets, edge_noise
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
from dplda.private import statistics
from dplda.private.curator import Gate, WordFrequencies
from dplda.private.statistics.coordinates import unpack, unpack_offsets

_LEAST_EIGENVALUE = 1e-6  # smallest eigenvalue used for whitening, as a share of the largest

REASON = {
    "config1": "the sensitivity printed for M3 counts one of its three terms B (Theorem 4, equation 96) and the "
    "Gaussian rule lacks a factor sqrt(2) (Proposition 22)",
    "config2": "the sensitivity printed for the whitened tensor cubes a difference that enters once and takes the "
    "whitening for unique (Theorem 5, equation 110)",
    "config3": "the sensitivity printed for the decomposition is a convergence theorem read as a stability bound "
    "(Theorem 6), at local gaps that one document can move without bound (Lemma 9)",
    "config4": "the sensitivity printed for the topics rests on Theorems 5 and 6, which fail, and releases k topics at "
    "the price of one (Theorem 7, H.4)",
}


def shares(public_vocabulary: bool, settings: FitSettings) -> tuple[Share, ...]:
    """One share for each exact release; the weights have no meaning.

    Raises `InputError` for settings that the paper's configurations do not support.
    """
    _budgets(settings)
    words = Share(Stage.FREQUENCY, 1.0) if public_vocabulary else Share(Stage.VOCABULARY, 1.0, selects_words=True)
    return words, *(Share(stage, 1.0) for stage in (Stage.SIZE, Stage.MEAN, Stage.MOMENT, Stage.TENSOR))


def _budgets(settings: FitSettings) -> dict[str, tuple[float, float]]:
    """(epsilon, delta) of each edge; raises `InputError` for settings that the configurations do not support."""
    if settings.model.topics == "auto":
        raise InputError("topics must be a number with the published calibration, got 'auto'. Ask for a number.")
    privacy, model = settings.privacy, settings.model
    return edge_budgets(model.placement, privacy.epsilon, privacy.delta, model.split)


@dataclass
class _Noise:
    """Draws the noise of the edges of one run, and records its parameters."""

    budgets: Mapping[str, tuple[float, float]]
    rng: np.random.Generator
    drawn: dict[str, EdgeNoise] = field(default_factory=dict)

    def __contains__(self, edge: str) -> bool:
        return edge in self.budgets

    def draw(self, edge: str, quantities: Quantities, *shape: int) -> np.ndarray:
        """Independent Gaussian noise of `shape` with the standard deviation printed for `edge`."""
        self.drawn[edge] = edge_noise(edge, quantities, *self.budgets[edge], laplace=self.rng.laplace)
        return np.asarray(self.rng.normal(0.0, self.drawn[edge].std, shape))


@one_blas_thread()
def learn(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size and the vocabulary; `rng` draws the noise as well as starting points.

    Raises `InputError` for settings that the paper's configurations do not support.
    """
    noise = _Noise(_budgets(settings), rng)
    k, d, alpha0, ones = int(settings.model.topics), len(words.words), settings.model.alpha0, np.ones(len(words.words))
    mean = gate.release(Stage.MEAN, statistics.first_moment(ones), math.inf)
    m, documents = mean.mean[:, 0], round(mean.mass)  # the documents that are eligible by the words in use
    E2 = unpack_offsets(gate.release(Stage.MOMENT, statistics.second_moment(ones), math.inf).mean)
    M2 = corrected_second_moment(E2, m, alpha0)

    whitening = exact = _whitening(M2, k)
    quantities = _quantities(documents, d, alpha0, exact)
    if "e4" in noise:
        whitening = _whitening(M2 + _symmetric_matrix(noise.draw("e4", quantities, d, d)), k)
    W = whitening.W
    E3 = unpack(gate.release(Stage.TENSOR, statistics.third_moment(W), math.inf).mean[0], k)
    T = corrected_third_moment(E3, W.T @ E2 @ W, W.T @ m, alpha0)
    if "e3" in noise:
        T = T + _contracted_noise(noise.draw("e3", quantities, k, k, k), W)
    if "e6" in noise:
        T = T + math.sqrt(6) * _symmetric_part(noise.draw("e6", quantities, k, k, k))

    pairs = eigenpairs(T, rng)
    quantities = _quantities(documents, d, alpha0, exact, pairs.values)
    if "e7" in noise:
        E7 = noise.draw("e7", quantities, k + 1, k)
        pairs = EigenPairs(pairs.values + E7[0], pairs.vectors + E7[1:])
    vectors = pairs.vectors
    if "e8" in noise:
        unwhitening = _whitening(M2 + _symmetric_matrix(noise.draw("e8", quantities, d, d)), k)
        vectors, whitening = _rotation(unwhitening, whitening) @ vectors, unwhitening
    topics = whitening.unwhiten(pairs.values, vectors, alpha0)
    weights = prevalence(pairs.values, alpha0)
    if "e9" in noise:
        topics, weights = topics + noise.draw("e9", quantities, d, k), np.full(k, 1 / k)
    facts = {"published": {edge: asdict(drawn) for edge, drawn in noise.drawn.items()}}
    return by_prevalence(project_to_simplex(topics), weights, documents, facts)


def _whitening(M2: np.ndarray, k: int) -> Whitening:
    """Whitening by the k leading eigenpairs of M2 (d, d), with eigenvalues bounded away from zero."""
    d = len(M2)
    values, vectors = scipy.linalg.eigh((M2 + M2.T) / 2, subset_by_index=(d - k, d - 1))
    floor = max(_LEAST_EIGENVALUE * values[-1], 1e-12)
    return Whitening(vectors[:, ::-1], np.maximum(values[::-1], floor))


def _quantities(
    documents: float, d: int, alpha0: float, exact: Whitening, values: np.ndarray | None = None
) -> Quantities:
    """Exact quantities of the data; without the tensor's eigenvalues `values` (k,), its quantities are zero."""
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


def _rotation(unwhitening: Whitening, whitening: Whitening) -> np.ndarray:
    """The rotation R (k, k) that brings the columns of the unwhitening matrix nearest to the whitening matrix."""
    columns = unwhitening.basis * np.sqrt(unwhitening.values)
    return np.asarray(scipy.linalg.orthogonal_procrustes(columns, whitening.basis * np.sqrt(whitening.values))[0])


def _symmetric_matrix(Z: np.ndarray) -> np.ndarray:
    """A symmetric matrix from independent entries Z (d, d), with their standard deviation off the diagonal."""
    return np.asarray((Z + Z.T) / math.sqrt(2))


def _symmetric_part(Z: np.ndarray) -> np.ndarray:
    """The symmetric part of Z (k, k, k): isotropic among symmetric tensors if Z has independent normal entries."""
    Z = (Z + Z.transpose(1, 0, 2)) / 2
    return np.asarray((Z + Z.transpose(0, 2, 1) + Z.transpose(2, 1, 0)) / 3)


def _contracted_noise(Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Noise with the law of E(W, W, W), E the symmetric part of (d, d, d) independent entries like Z's (k, k, k).

    With L'L = W'W it is g(L, L, L), g the symmetric part of Z (T3 of docs/privacy.md), so nothing has size d^3.
    """
    L = np.linalg.qr(W, mode="r")
    return np.asarray(np.einsum("xyz,xa,yb,zc->abc", _symmetric_part(Z), L, L, L, optimize=True))
