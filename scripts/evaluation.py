"""Measures of topics against a corpus or planted topics. They read the exact counts: for benchmarks and tests only."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment


def npmi(topics: np.ndarray, counts: sparse.csr_matrix, top: int = 10) -> np.ndarray:
    """Mean NPMI over document co-occurrence of each topic's `top` words, (n_topics,); counts (n_documents, n_words)."""
    present = (sparse.csc_matrix(counts) > 0).astype(np.float64)
    frequency = np.asarray(present.sum(axis=0)).ravel() / present.shape[0]
    scores = []
    for row in topics:
        words = np.argsort(-row, kind="stable")[:top]
        joint = (present[:, words].T @ present[:, words]).toarray() / present.shape[0]
        a, b = np.triu_indices(len(words), 1)
        expected = frequency[words[a]] * frequency[words[b]]
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.log(joint[a, b] / expected) / -np.log(joint[a, b])
        scores.append(np.where(joint[a, b] > 0, score, -1.0).mean())
    return np.array(scores)


def diversity(topics: np.ndarray, top: int = 10) -> float:
    """Share of distinct words among all topics' `top` words."""
    words = np.argsort(-topics, axis=1, kind="stable")[:, :top]
    return len(np.unique(words)) / words.size


def matched_error(found: np.ndarray, planted: np.ndarray) -> np.ndarray:
    """l1 distance of each planted topic (n_topics, n_words) to the found topic matched to it one to one."""
    distance = np.abs(planted[:, None] - found[None]).sum(axis=2)
    return np.asarray(distance[linear_sum_assignment(distance)])


def on_words(topics: np.ndarray, words: list[str], wanted: list[str]) -> np.ndarray:
    """`topics` over `words`, laid out over `wanted` instead; what is missing is zero."""
    place = {word: index for index, word in enumerate(words)}
    columns = [place.get(word, -1) for word in wanted]
    padded = np.column_stack([topics, np.zeros(len(topics))])
    return np.asarray(padded[:, columns])
