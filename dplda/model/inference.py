"""Documents under fixed topics: their mean topic proportions (fold-in), and their largest likelihood.

Both are computed from documents without noise, so they are not private.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dplda.base.compiled import compiled
from dplda.base.errors import InputError

_ITERATIONS = 1000  # maximum iterations; real documents need a few dozen
_TOLERANCE = 1e-5  # stop when the mean absolute change of a variational parameter, in word counts, is below this
_CLIMBS = 1000  # maximum steps to the largest likelihood
_GAP = 1e-2  # stop when the log-likelihood (nats) is at most this far below its maximum
_CHUNK = 2048  # number of documents in one task of the thread pool


@compiled()
def _digamma(x: float) -> float:
    """Return the logarithmic derivative of the gamma function for x > 0 (Abramowitz and Stegun 6.3.5, 6.3.18)."""
    shift = 0.0
    while x < 6.0:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series


@compiled(keep=True)
def fold_in(
    by_word: NDArray[np.float64],
    alpha: NDArray[np.float64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int64],
    counts: NDArray[np.float64],
    answer: NDArray[np.float64],
) -> None:
    """Fill `answer` (n_documents, n_topics) with the mean of q(theta) for the documents delimited by `indptr`.

    `by_word` (n_words, n_topics) are the topics, `alpha` (n_topics,) the prior, and `words` and `counts` (nnz,) the
    entries of the documents. Coordinate ascent of Blei, Ng and Jordan (2003), figure 6.
    """
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


@compiled(keep=True)
def largest_likelihood(
    by_word: NDArray[np.float64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int64],
    counts: NDArray[np.float64],
    answer: NDArray[np.float64],
) -> None:
    """Fill `answer` (n_documents,) with the log-likelihood of each document, maximised over its mixture of topics.

    `by_word` (n_words, n_topics) must be positive; `words` and `counts` (nnz,) are the entries of the documents, which
    `indptr` delimits. Expectation-maximisation from equal proportions climbs the log-likelihood, which is concave. The
    value reached is below the maximum by at most the largest component of the gradient minus the document's length (the
    gap of Frank and Wolfe 1956). The ascent ends when this difference is below `_GAP`, or after `_CLIMBS` steps.
    """
    n_topics = by_word.shape[1]
    mixture, gradient = np.empty(n_topics), np.empty(n_topics)
    for n in range(len(answer)):
        length = counts[indptr[n] : indptr[n + 1]].sum()
        mixture[:] = 1 / n_topics
        value = 0.0
        for _ in range(_CLIMBS if length > 0.0 else 0):
            gradient[:] = 0.0
            value = 0.0
            for i in range(indptr[n], indptr[n + 1]):
                row = by_word[words[i]]
                probability = 0.0
                for k in range(n_topics):
                    probability += mixture[k] * row[k]
                value += counts[i] * math.log(probability)
                share = counts[i] / probability
                for k in range(n_topics):
                    gradient[k] += share * row[k]
            if gradient.max() - length < _GAP:
                break
            for k in range(n_topics):
                mixture[k] *= gradient[k] / length
        answer[n] = value


def posterior_mean(
    topics: NDArray[np.float64], alpha: NDArray[np.float64], counts: sparse.csr_matrix
) -> NDArray[np.float64]:
    """Return the mean of q(theta) for each document, ``(n_documents, n_topics)``.

    `topics` is ``(n_topics, n_words)``, `alpha` the prior ``(n_topics,)``, and `counts` ``(n_documents, n_words)``.
    Raises `InputError` if `counts` is malformed or has negative or non-finite entries. Coordinate ascent of Blei, Ng
    and Jordan (2003), figure 6; documents are independent, so the result does not depend on their grouping.
    """
    if counts.nnz and not (np.all(np.isfinite(counts.data)) and counts.data.min() >= 0):
        raise InputError("counts must be finite and nonnegative.")
    try:
        counts.check_format(full_check=True)  # compiled loops check no bounds
    except ValueError:
        raise InputError("counts name a column that the model does not have, or are no valid sparse matrix.") from None
    answer = np.empty((counts.shape[0], len(topics)))
    by_word = np.array(topics.T, np.float64, order="C")
    indptr, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
    data, prior = counts.data.astype(np.float64), np.array(alpha, np.float64)

    def fold(start: int) -> None:
        stop = min(start + _CHUNK, len(answer))
        fold_in(by_word, prior, indptr[start : stop + 1], words, data, answer[start:stop])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(fold, range(0, len(answer), _CHUNK)))
    return answer
