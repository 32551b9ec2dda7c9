"""A gate that answers with the moments of a known LDA, as if of so many documents."""

from __future__ import annotations

from collections import Counter

import numpy as np

from dplda.private import Release, WordFrequencies
from dplda.private.statistics.lda_moments import pack, population_moments

UNEVEN = np.array([0.6, 0.25, 0.15])  # Dirichlet parameters whose whitened values stand apart


def planted_topics(k: int = 3, d: int = 12, seed: int = 0) -> np.ndarray:
    """Topics (k, d) that stand apart."""
    return np.random.default_rng(seed).dirichlet(np.full(d, 0.3), size=k)


def pairs_by_offset(A: np.ndarray) -> np.ndarray:
    """Entries (d, d // 2 + 1) of the symmetric A (d, d): A[i, i + offset], as the kernel of second moments has them."""
    rows, offsets = np.arange(len(A))[:, None], np.arange(len(A) // 2 + 1)
    return A[rows, (rows + offsets) % len(A)]


def some_words(d: int) -> WordFrequencies:
    return WordFrequencies(tuple(f"w{i}" for i in range(d)), np.full(d, 0.1), 0.0)


class PopulationGate:
    """Exact moments of LDA with `topics` (k, d) and `alpha` (k,), and the questions that were asked."""

    def __init__(self, topics: np.ndarray, alpha: np.ndarray, documents: float) -> None:
        self.moments = population_moments(topics, alpha)
        self.documents = documents
        self.asked: Counter[str] = Counter()

    def size(self):
        self.asked["size"] += 1
        return self.documents

    def release(self, stage, contribution, clip):
        assert clip == np.inf
        self.asked[stage] += 1
        X = contribution.matrix.astype(np.float64)
        answers = {
            "mean": lambda: self.moments.m[:, None],
            "moment": lambda: pairs_by_offset(self.moments.E2),
            "tensor": lambda: pack(np.einsum("abc,ai,bj,cl->ijl", self.moments.E3, X, X, X, optimize=True))[None],
        }
        return Release(self.documents * answers[stage](), self.documents, 0.0)
