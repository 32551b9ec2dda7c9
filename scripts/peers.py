"""Topic models that protect nobody, to hold `dplda` against: topics of sparse counts, (n_topics, n_words)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from dplda.placements.result import to_topics
from dplda.spectral.whitening import Whitening, coefficients, third_moment

SWEEPS, PASSES = 200, 5
ROWS = 1000  # whose squares are held at once


def tomotopy_topics(counts: sparse.csr_matrix, n_topics: int, seed: int, sweeps: int = SWEEPS) -> np.ndarray:
    """Collapsed Gibbs sampling by tomotopy with its own defaults."""
    return next(tomotopy_sweeps(counts, n_topics, seed, sweeps))


def tomotopy_sweeps(counts: sparse.csr_matrix, n_topics: int, seed: int, sweeps: int) -> Iterator[np.ndarray]:
    """The topics after each `sweeps` sweeps more, without end."""
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, seed=seed)
    for first, last in itertools.pairwise(counts.indptr):
        if last > first:
            words = np.repeat(counts.indices[first:last], counts.data[first:last].astype(int))
            model.add_doc([str(word) for word in words])
    while True:
        model.train(sweeps, workers=os.cpu_count() or 1)
        topics = np.zeros((n_topics, counts.shape[1]))
        topics[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(k) for k in range(n_topics)]
        yield topics


def gensim_topics(counts: sparse.csr_matrix, n_topics: int, seed: int, passes: int = PASSES) -> np.ndarray:
    """Online variational inference by gensim's LdaMulticore with its own defaults."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaMulticore

    corpus = Sparse2Corpus(counts, documents_columns=False)
    names = {i: str(i) for i in range(counts.shape[1])}
    workers = max((os.cpu_count() or 2) - 1, 1)
    model = LdaMulticore(corpus, n_topics, names, passes=passes, workers=workers, random_state=seed)
    return np.asarray(model.get_topics(), dtype=np.float64)


def tensorly_topics(counts: sparse.csr_matrix, n_topics: int, seed: int, alpha0: float = 1.0) -> np.ndarray:
    """The tensor method with TensorLy's own decomposition and its defaults, on exact moments whitened by SciPy.

    For want of TensorLy's `tlda`, which pip does not find, this is whitening and the power method of Anandkumar et al.
    2014, Algorithm 1, on sparse counts, where `tlda` takes dense ones. Documents below three words are left out.
    """
    from tensorly.decomposition import symmetric_parafac_power_iteration

    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    C, lengths = sparse.csr_matrix(counts[lengths >= 3], dtype=np.float64), lengths[lengths >= 3]
    m = C.T @ (1 / lengths) / len(lengths)
    pairs = C.multiply((1 / (lengths * (lengths - 1)))[:, None]).tocsr()
    diagonal, first = np.asarray(pairs.sum(axis=0)).ravel(), coefficients(alpha0)[0]

    def second(X: np.ndarray) -> np.ndarray:
        return (C.T @ (pairs @ X) - (diagonal * X.T).T) / len(lengths)

    M2 = LinearOperator((len(m), len(m)), matvec=lambda x: second(x) - first * m * (m @ x), dtype=np.float64)
    start = np.random.default_rng(seed).standard_normal(len(m))
    values, vectors = eigsh(M2, n_topics, which="LA", v0=start)
    whitening = Whitening(vectors, np.maximum(values, 1e-3 * values[-1]))
    W = whitening.W
    T = third_moment(whitened_third(C, lengths, W), W.T @ second(W), W.T @ m, alpha0)
    np.random.seed(seed)  # TensorLy's starts
    weights, found = symmetric_parafac_power_iteration(T, n_topics)
    return to_topics(whitening.unwhiten(weights, found, alpha0)).T


def whitened_third(C: sparse.csr_matrix, lengths: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The mean over documents of (y^3 - P(R, y) + 2 Q) / (l (l - 1) (l - 2)), y = W'c, (k, k, k)."""
    a, Y = 1 / (lengths * (lengths - 1) * (lengths - 2)), C @ W
    mixed = _cubes(W, C.T @ (Y * a[:, None]))
    mixed = mixed + mixed.transpose(0, 2, 1) + mixed.transpose(2, 1, 0)
    return (_cubes(Y, Y * a[:, None]) - mixed + 2 * _cubes(W, W * (C.T @ a)[:, None])) / len(a)


def _cubes(Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Sum over rows y of Y and z of Z of y y z, (k, k, k)."""
    k = Y.shape[1]
    total = np.zeros((k * k, k))
    for rows in (slice(first, first + ROWS) for first in range(0, len(Y), ROWS)):
        total += (Y[rows, :, None] * Y[rows, None, :]).reshape(-1, k * k).T @ Z[rows]
    return total.reshape(k, k, k)
