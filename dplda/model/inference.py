"""Topic proportions of documents under fixed topics (fold-in).

They are computed from documents without noise, so they are not private.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dplda.errors import InputError
from dplda.model.topic_model import TopicModel

if TYPE_CHECKING:
    from dplda.store.count_store import CountStore

_ITERATIONS = 1000  # maximum iterations; real documents need a few dozen
_TOLERANCE = 1e-5  # stop when the mean absolute change of a variational parameter, in word counts, is below this
_CHUNK = 2048  # number of documents in one task of the thread pool


def posterior_mean(
    topics: NDArray[np.float64], alpha: NDArray[np.float64], counts: sparse.csr_matrix
) -> NDArray[np.float64]:
    """Mean of q(theta) for each document, ``(n_documents, n_topics)``.

    `topics` is ``(n_topics, n_words)``, `alpha` the prior ``(n_topics,)``, and `counts` ``(n_documents, n_words)``.
    Raises `InputError` if `counts` has negative or non-finite entries. Coordinate ascent of Blei, Ng and Jordan (2003),
    figure 6; documents are independent, so the result does not depend on their grouping.
    """
    if counts.nnz and not (np.all(np.isfinite(counts.data)) and counts.data.min() >= 0):
        raise InputError("counts must be finite and nonnegative.")
    answer = np.empty((counts.shape[0], len(topics)))
    by_word = np.ascontiguousarray(topics.T)
    indptr, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)

    def fold(start: int) -> None:
        stop = min(start + _CHUNK, len(answer))
        _fold_in(by_word, alpha, indptr[start : stop + 1], words, counts.data, answer[start:stop])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(fold, range(0, len(answer), _CHUNK)))
    return answer


@numba.njit(nogil=True)
def _digamma(x: float) -> float:
    """The logarithmic derivative of the gamma function for x > 0 (Abramowitz and Stegun 6.3.5, 6.3.18)."""
    shift = 0.0
    while x < 6.0:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series


@numba.njit(nogil=True)
def _fold_in(
    by_word: NDArray[np.float64],
    alpha: NDArray[np.float64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int64],
    counts: NDArray[np.float64],
    answer: NDArray[np.float64],
) -> None:
    """Fill `answer` with the mean of q(theta) for the documents delimited by `indptr`."""
    n_topics = len(alpha)
    gamma, fresh, weight = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for n in range(len(answer)):
        gamma[:] = alpha + counts[indptr[n] : indptr[n + 1]].sum() / n_topics
        for _ in range(_ITERATIONS):
            largest = _digamma(gamma.max())
            for k in range(n_topics):
                # Relative to the largest topic: the common factor cancels, and the weights cannot all underflow.
                weight[k] = math.exp(_digamma(gamma[k]) - largest)
            fresh[:] = alpha
            for i in range(indptr[n], indptr[n + 1]):
                row = by_word[words[i]]
                total = 0.0
                for k in range(n_topics):
                    total += weight[k] * row[k]
                if total > 0.0:  # skip a word that no topic can produce
                    share = counts[i] / total
                    for k in range(n_topics):
                        fresh[k] += share * weight[k] * row[k]
            change = 0.0
            for k in range(n_topics):
                change += abs(fresh[k] - gamma[k])
                gamma[k] = fresh[k]
            if change < _TOLERANCE * n_topics:
                break
        answer[n] = gamma / gamma.sum()


def counts_for(model: TopicModel, store: CountStore) -> tuple[sparse.csr_matrix, list[str], int, int]:
    """Counts of a prepared corpus in the model's words: ``(counts, ids, unknown_tokens, total_tokens)``.

    `counts` is ``(n_documents, n_words)``. Words that the model does not know are left out; `unknown_tokens` counts
    their tokens. All four values are private.
    """
    column = {word: j for j, word in enumerate(model.vocabulary)}
    columns = np.array([column.get(word, -1) for word in store.dictionary], dtype=np.int64)
    parts, ids = [], []
    unknown = total = 0
    for block in store.blocks():
        target = columns[block.words]
        known = target >= 0
        counts = block.counts
        total += int(counts.sum(dtype=np.int64))
        unknown += int(counts[~known].sum(dtype=np.int64))
        # The cumulative count of known entries maps old row boundaries to new ones.
        boundaries = np.concatenate(([0], np.cumsum(known)))[block.indptr]
        shape = (len(block.indptr) - 1, len(model.vocabulary))
        parts.append(sparse.csr_matrix((counts[known], target[known], boundaries), shape=shape))
        ids.extend(block.ids.to_pylist())
    whole = sparse.vstack(parts, format="csr") if parts else sparse.csr_matrix((0, len(column)), dtype=np.int64)
    return whole, ids, unknown, total
