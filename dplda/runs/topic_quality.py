"""Quality of topics: coherence, diversity, and error against known topics.

The measures are exact, so they are for public corpora only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linear_sum_assignment

_FloatArray = npt.NDArray[np.float64]
_LARGEST_L1 = 2.0  # l1 distance of two topics without a common word


def npmi(topics: _FloatArray, counts: sparse.csr_matrix, top: int = 10) -> _FloatArray:
    """Coherence: mean NPMI over pairs of each topic's `top` words, (n_topics,); see `pair_npmi`."""
    return np.asarray(pair_npmi(topics, counts, top).mean(axis=1))


def pair_npmi(topics: _FloatArray, counts: sparse.csr_matrix, top: int = 10) -> _FloatArray:
    """NPMI of pairs of each topic's `top` words by co-occurrence in documents, (n_topics, n_pairs).

    `counts` is (n_documents, n_words). NPMI (Bouma 2009) is -1 for a pair that never occurs together; a pair that is in
    all documents counts 0.
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
        scores.append(np.where(joint[a, b] > 0, score, -1.0))
    return np.array(scores)


def diversity(topics: _FloatArray, top: int = 10) -> float:
    """Share of distinct words among the `top` words of all `topics` (n_topics, n_words)."""
    words = np.argsort(-topics, axis=1, kind="stable")[:, :top]
    return len(np.unique(words)) / words.size


def matched_error(found: _FloatArray, planted: _FloatArray) -> _FloatArray:
    """l1 distance (n_topics,) of each known topic in `planted` (n_topics, n_words) to its match in `found`.

    Topics are matched one to one. If fewer topics were found, the known topics without a match have the largest
    distance, 2.
    """
    distance = np.abs(planted[:, None] - found[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(distance)
    errors = np.full(len(planted), _LARGEST_L1)
    errors[rows] = distance[rows, columns]
    return errors
