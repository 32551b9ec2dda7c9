"""The paper's configurations with the noise it prints: reproduced for comparison, not proven private.

size, m, E2, T   exact, through the gate that marks the run
W                from M2 = E2 - a m m', in configuration 1 from M2 + E4
T = M3(W, W, W)  + E3(W, W, W) in configuration 1, + E6 in configuration 2
pairs            robust tensor power method; vectors and values + noise in configuration 3 (edge e7)
topics           unwhitened by M2 + E8 in configurations 1 to 3; + noise on the topics in configuration 4 (edge e9)

What the paper leaves open, and how it is read here; what the authors' code does is named where it decides:

* A symmetric array is noised by a symmetric one. E4, E6 and E8 have the printed standard deviation where indices
  differ (the code symmetrises E6 so); E3 is the symmetric part of independent entries, which is all of the code's
  noise on M3 that a symmetric decomposition can see.
* E4 and E8 are drawn apart, each under its own share, on M2 as in H.1 and H.2; the code adds them to W and to the
  unwhitening instead. Eigenvectors of M2 and M2 + E8 may differ in sign and order, and nothing in the paper joins
  them: the unwhitening is turned to the whitening it belongs to by the rotation that fits best, after (131).
* Vectors and values of configuration 3 are noised by Theorem 6, as the code does, and not by H.3.
* Topics are projected on the simplex without being scaled to sum to 1 first, as the code does.
* No noise is printed for alpha in configuration 4: its topics come with equal prevalence.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

import numpy as np
import scipy.linalg

from dplda import statistics
from dplda.accounting.budget_plan import Share
from dplda.accounting.events import Stage
from dplda.config import FitSettings
from dplda.errors import InputError
from dplda.lda.recovery import Learned, by_prevalence, eigenpairs, prevalence
from dplda.lda.refinement import project_to_simplex
from dplda.lda.whitening import Whitening, second_moment, third_moment
from dplda.mechanisms.curator import Gate, WordFrequencies
from dplda.numerics.threads import one_blas_thread
from dplda.placements.published_noise import EDGES, EdgeNoise, Quantities, edge_budgets, edge_noise
from dplda.statistics.coordinates import unpack, unpack_offsets
from dplda.tensor.eigenpairs import EigenPairs

LEAST_EIGENVALUE = 1e-6  # of the largest, under every whitened one

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
    """The plan: every question once, all answered exactly, so that their parts mean nothing.

    Raises `InputError` for what the paper's configurations cannot do.
    """
    check(settings)
    words = Share(Stage.FREQUENCY, 1.0) if public_vocabulary else Share(Stage.VOCABULARY, 1.0, selects_words=True)
    return (words, Share(Stage.SIZE, 1.0), Share(Stage.MEAN, 1.0), Share(Stage.MOMENT, 1.0), Share(Stage.TENSOR, 1.0))


def check(settings: FitSettings) -> int:
    """The number of topics; raises `InputError` for what the paper's configurations cannot do."""
    if settings.model.topics == "auto":
        raise InputError("topics must be a number with the published calibration, got 'auto'. Ask for a number.")
    edge_budgets(settings.model.placement, settings.privacy.epsilon, settings.privacy.delta, settings.model.split)
    return int(settings.model.topics)


@dataclass
class _Noise:
    """Draws the noise of the edges of one run and records what it drew."""

    settings: FitSettings
    rng: np.random.Generator
    drawn: dict[str, EdgeNoise] = field(default_factory=dict)

    def __contains__(self, edge: str) -> bool:
        return edge in EDGES[self.settings.model.placement]

    def std(self, edge: str, quantities: Quantities) -> float:
        s = self.settings
        budgets = edge_budgets(s.model.placement, s.privacy.epsilon, s.privacy.delta, s.model.split)
        self.drawn[edge] = edge_noise(edge, quantities, *budgets[edge], laplace=self.rng.laplace)
        return self.drawn[edge].std

    def normal(self, std: float, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.normal(0.0, std, shape))


@one_blas_thread()
def learn(gate: Gate, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator) -> Learned:
    """Run every stage after the vocabulary; `rng` draws the noise as well as starting points.

    Raises `InputError` where `check` does.
    """
    k, d, alpha0, ones = check(settings), len(words.words), settings.model.alpha0, np.ones(len(words.words))
    noise = _Noise(settings, rng)
    documents = gate.size()
    m = gate.release(Stage.MEAN, statistics.first_moment(ones), math.inf).mean[:, 0]
    E2 = unpack_offsets(gate.release(Stage.MOMENT, statistics.second_moment(ones), math.inf).mean)
    M2 = second_moment(E2, m, alpha0)

    whitening = exact = _whitening(M2, k)
    known = _quantities(documents, d, alpha0, exact)
    if "e4" in noise:
        whitening = _whitening(M2 + symmetric_matrix(noise.normal(noise.std("e4", known), d, d)), k)
    W = whitening.W
    E3 = unpack(gate.release(Stage.TENSOR, statistics.third_moment(W), math.inf).mean[0], k)
    T = third_moment(E3, W.T @ E2 @ W, W.T @ m, alpha0)
    if "e3" in noise:
        T = T + contracted_noise(noise.normal(noise.std("e3", known), k, k, k), W)
    if "e6" in noise:
        T = T + math.sqrt(6) * symmetric_part(noise.normal(noise.std("e6", known), k, k, k))

    pairs = eigenpairs(T, rng)
    known = _quantities(documents, d, alpha0, exact, pairs.values)
    if "e7" in noise:
        std = noise.std("e7", known)
        pairs = EigenPairs(pairs.values + noise.normal(std, k), pairs.vectors + noise.normal(std, k, k))
    vectors = pairs.vectors
    if "e8" in noise:
        unwhitening = _whitening(M2 + symmetric_matrix(noise.normal(noise.std("e8", known), d, d)), k)
        vectors, whitening = _turn(unwhitening, whitening) @ vectors, unwhitening
    topics = whitening.unwhiten(pairs.values, vectors, alpha0)
    shares = prevalence(pairs.values, alpha0)
    if "e9" in noise:
        topics, shares = topics + noise.normal(noise.std("e9", known), d, k), np.full(k, 1 / k)
    facts = {"published": {edge: asdict(drawn) for edge, drawn in noise.drawn.items()}}
    return by_prevalence(project_to_simplex(topics), shares, documents, facts)


def _whitening(M2: np.ndarray, k: int) -> Whitening:
    """By the k leading eigenpairs of M2 (d, d), kept off zero so that any answer can be whitened."""
    d = len(M2)
    values, vectors = scipy.linalg.eigh((M2 + M2.T) / 2, subset_by_index=(d - k, d - 1))
    floor = max(LEAST_EIGENVALUE * values[-1], 1e-12)
    return Whitening(vectors[:, ::-1], np.maximum(values[::-1], floor))


def _quantities(
    documents: float, d: int, alpha0: float, exact: Whitening, values: np.ndarray | None = None
) -> Quantities:
    """Exact quantities of the data; those of the tensor are zero before it is decomposed."""
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


def _turn(unwhitening: Whitening, whitening: Whitening) -> np.ndarray:
    """The rotation R (k, k) for which the unwhitening's columns come nearest to the whitening's own."""
    columns = unwhitening.basis * np.sqrt(unwhitening.values)
    return np.asarray(scipy.linalg.orthogonal_procrustes(columns, whitening.basis * np.sqrt(whitening.values))[0])


def symmetric_matrix(Z: np.ndarray) -> np.ndarray:
    """From independent entries Z (d, d) of one standard deviation: symmetric, with the same where i differs from j."""
    return np.asarray((Z + Z.T) / math.sqrt(2))


def symmetric_part(Z: np.ndarray) -> np.ndarray:
    """The symmetric part of Z (k, k, k): isotropic among symmetric tensors if Z has independent normal entries."""
    Z = (Z + Z.transpose(1, 0, 2)) / 2
    return np.asarray((Z + Z.transpose(0, 2, 1) + Z.transpose(2, 1, 0)) / 3)


def contracted_noise(Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Noise with the law of E(W, W, W), E the symmetric part of (d, d, d) independent entries like Z's (k, k, k).

    With L'L = W'W it is g(L, L, L), g the symmetric part of Z (T3 of docs/privacy.md): nothing of size d^3 is made.
    """
    L = np.linalg.qr(W, mode="r")
    return np.asarray(np.einsum("xyz,xa,yb,zc->abc", symmetric_part(Z), L, L, L, optimize=True))
