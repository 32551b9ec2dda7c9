"""Membership inference on released topics: was this document among those the topics were learned from?

The attack is that of Carlini et al. (2022, online, likelihood ratio) with the statistic that Manzonelli, Zhang and
Vadhan (2024) found best for topic models: the document's log-likelihood under the topics, maximised over its mixture.
For each target two normal laws are fitted, to what the other shadow models say with and without it; the score is the
logarithm of their ratio. Documents are synthetic and short; some targets repeat a word that nobody else has.
Noise is simulated, with the law of the exact noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import norm

import dplda
from benchmarks import results
from benchmarks.corpora import names
from benchmarks.systems import dplda_topics, tomotopy_topics
from dplda.accounting.accountant import gaussian_budget
from dplda.corpus import synthetic

DOCUMENTS, WORDS, TOPICS, LENGTH, ALPHA0 = 4000, 2000, 20, 25, 1.0
CANARIES, TARGETS = 40, 400  # targets that repeat a word of their own, and ordinary ones
REPEATED = 12  # times that a canary repeats its word
DELTA = 1e-5
STEPS = 50  # of the maximisation over a document's mixture
LEAST = 1e-12  # probability of a word, so that what is impossible counts as very unlikely

Topics = Callable[[sparse.csr_matrix, int], np.ndarray]


def documents() -> sparse.csr_matrix:
    """All documents (DOCUMENTS, WORDS + CANARIES): canaries first, then those drawn from a known model."""
    counts = synthetic(DOCUMENTS - CANARIES, WORDS, TOPICS, alpha0=ALPHA0, mean_length=LENGTH)[0]
    own = sparse.csr_matrix(REPEATED * np.eye(CANARIES, dtype=np.int32))
    own = sparse.hstack([sparse.csr_matrix((CANARIES, WORDS), dtype=np.int32), own])
    rest = sparse.hstack([counts, sparse.csr_matrix((DOCUMENTS - CANARIES, CANARIES), dtype=np.int32)])
    return sparse.csr_matrix(sparse.vstack([own, rest]))


def fit_dplda(counts: sparse.csr_matrix, seed: int, placement: str, epsilon: float, **more: Any) -> np.ndarray:
    """Topics by dplda with simulated noise."""
    return dplda_topics(
        counts, TOPICS, simulate_seed=seed, placement=placement, epsilon=epsilon, delta=DELTA, alpha0=ALPHA0, **more
    )


def fit_from_prior(counts: sparse.csr_matrix, seed: int, epsilon: float) -> np.ndarray:
    """Topics by dplda from a prior that explains the documents: their planted topics, and as many others."""
    planted = synthetic(2, WORDS, TOPICS, alpha0=ALPHA0, mean_length=LENGTH)[1]
    others = np.random.default_rng(0).permuted(planted, axis=1)
    topics = np.hstack([np.vstack([planted, others]), np.zeros((2 * TOPICS, CANARIES))])
    prior = dplda.PriorTopics(topics, tuple(names(WORDS + CANARIES)), "planted", declared_public=True)
    return fit_dplda(counts, seed, "default", epsilon, prior=prior)


SYSTEMS: dict[str, Topics] = {
    "tomotopy": lambda counts, seed: tomotopy_topics(counts, TOPICS, seed),
    "dplda, no noise": partial(fit_dplda, placement="none", epsilon=8.0),
    "dplda, epsilon 8": partial(fit_dplda, placement="default", epsilon=8.0),
    "dplda, epsilon 1": partial(fit_dplda, placement="default", epsilon=1.0),
    "dplda with a prior, epsilon 8": partial(fit_from_prior, epsilon=8.0),
}
BUDGETS = {"dplda, epsilon 8": 8.0, "dplda, epsilon 1": 1.0, "dplda with a prior, epsilon 8": 8.0}


def measure(path: Path, models: int, systems: Sequence[str]) -> None:
    """Fit the shadow models that are missing in the results at `path`, and append what each says of the targets."""
    done = {(record["system"], record["seed"]) for record in results.read(path)}
    everything = documents()
    for seed in range(models):
        for system in systems:
            if (system, seed) not in done:
                results.append(path, {"system": system, "seed": seed, "said": said(everything, system, seed)})


def members(seed: int) -> np.ndarray:
    """Which documents a shadow model learns from, (DOCUMENTS,): each by a coin of its own."""
    return np.random.default_rng([seed, 1]).random(DOCUMENTS) < 0.5


def said(everything: sparse.csr_matrix, system: str, seed: int) -> list[float]:
    """What the topics of one shadow model say of each target."""
    topics = SYSTEMS[system](everything[members(seed)], seed)
    targets = everything[: CANARIES + TARGETS]
    return [round(float(value), 4) for value in log_likelihoods(targets, topics)]


def log_likelihoods(counts: sparse.csr_matrix, topics: np.ndarray, steps: int = STEPS) -> np.ndarray:
    """The largest log-likelihood of each document of `counts` (n, d) over mixtures of `topics` (k, d), (n,).

    By expectation-maximisation from equal shares, which climbs a concave function.
    """
    rows, words = counts.nonzero()
    amounts, columns = np.asarray(counts[rows, words]).ravel().astype(float), np.maximum(topics.T[words], LEAST)
    total = sparse.csr_matrix((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(counts.shape[0], len(rows)))
    shares = np.full((counts.shape[0], len(topics)), 1 / len(topics))
    for _ in range(steps):
        joint = shares[rows] * columns
        shares = total @ (joint * (amounts / joint.sum(axis=1))[:, None])
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), LEAST)
    return np.asarray(total @ (amounts * np.log((shares[rows] * columns).sum(axis=1))))


def scores(said: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Log ratio of two normal laws for each model and target, from `said` and `inside`, all (models, targets).

    The laws of a target are those of the other models' answers, with and without it.
    """
    laws = []
    for chosen in (inside, ~inside):
        count = chosen.sum(axis=0) - chosen
        mean = ((said * chosen).sum(axis=0) - said * chosen) / count
        square = ((said**2 * chosen).sum(axis=0) - said**2 * chosen) / count
        laws.append(norm.logpdf(said, mean, np.sqrt(np.maximum(square - mean**2, 1e-6))))
    return np.asarray(laws[0] - laws[1])


def roc(scores: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rates at every threshold, rising."""
    order = np.argsort(-scores, kind="stable")
    hits = inside[order]
    return np.cumsum(~hits) / max((~hits).sum(), 1), np.cumsum(hits) / max(hits.sum(), 1)


def rate_at(positives: np.ndarray, hits: np.ndarray, allowed: float) -> float:
    """The true positive rate at a false positive rate of at most `allowed`."""
    return float(hits[np.searchsorted(positives, allowed, side="right") - 1]) if positives[0] <= allowed else 0.0


def allowed(epsilon: float, positives: np.ndarray) -> np.ndarray:
    """The largest true positive rate that a run at `epsilon` allows: that of the Gaussian it is worth (section 4.1)."""
    return np.asarray(norm.sf(norm.isf(positives) - gaussian_budget(epsilon, DELTA)) + 0.01 * DELTA)
