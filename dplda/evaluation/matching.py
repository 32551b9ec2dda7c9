"""Measures of topics against a corpus or planted topics. They read exact counts: for public corpora and benchmarks
only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linear_sum_assignment

FloatArray = npt.NDArray[np.float64]
FARTHEST = 2.0  # the l1 distance of two topics without a word in common


def npmi(topics: FloatArray, counts: sparse.csr_matrix, top: int = 10) -> FloatArray:
    """Mean NPMI over document co-occurrence of each topic's `top` words, (n_topics,); counts (n_documents, n_words).

    Bouma 2009; pairs that never occur together count -1, pairs in all documents 0.
    """
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
        score[joint[a, b] == 1] = 0.0
        scores.append(np.where(joint[a, b] > 0, score, -1.0).mean())
    return np.array(scores)


def diversity(topics: FloatArray, top: int = 10) -> float:
    """Share of distinct words among all topics' `top` words, topics (n_topics, n_words)."""
    words = np.argsort(-topics, axis=1, kind="stable")[:, :top]
    return len(np.unique(words)) / words.size


def matched_error(found: FloatArray, planted: FloatArray) -> FloatArray:
    """l1 distance of each planted topic (n_topics, n_words) to the found topic matched to it one to one, (n_topics,).

    A planted topic that is left without one, where fewer were found, has the greatest distance there is, 2.
    """
    distance = np.abs(planted[:, None] - found[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(distance)
    errors = np.full(len(planted), FARTHEST)
    errors[rows] = distance[rows, columns]
    return errors


def on_words(topics: FloatArray, words: Sequence[str], wanted: Sequence[str]) -> FloatArray:
    """`topics` over `words`, laid out over `wanted` instead; what is missing is zero."""
    place = {word: index for index, word in enumerate(words)}
    columns = [place.get(word, -1) for word in wanted]
    padded = np.column_stack([topics, np.zeros(len(topics))])
    return np.asarray(padded[:, columns])
