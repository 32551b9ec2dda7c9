"""The systems that are compared: `dplda`, and peers that protect nobody.

All learn topics (n_topics, n_words) from sparse counts (n_documents, n_words); the columns count as a public
vocabulary.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

import dplda
from benchmarks.corpora import names
from dplda.base.distributions import on_words
from dplda.learning.recovery import Whitening, corrected_third_moment, to_topics
from dplda.model import TopicModel
from dplda.private.statistics.lda_moments import coefficients

SWEEPS, PASSES = 200, 5
ROWS = 1000  # whose squares are held at once


def dplda_model(
    counts: sparse.csr_matrix,
    n_topics: int,
    words: Sequence[str] | None = None,
    simulate_seed: int | None = None,
    units: Sequence[int] | None = None,
    **settings: Any,
) -> TopicModel:
    """A fit by `dplda`, with exact noise and a temporary ledger unless `simulate_seed` is given.

    `units` are the persons who wrote the documents.
    """
    chosen = names(counts.shape[1]) if words is None else list(words)
    corpus = dplda.Corpus.from_counts(counts, chosen, units, public_vocabulary=True)
    if simulate_seed is not None:
        return dplda.fit(corpus, n_topics=n_topics, ledger=False, simulate_seed=simulate_seed, **settings)
    return charged_fit(corpus, n_topics, **settings)


def charged_fit(corpus: dplda.Corpus, n_topics: int | Literal["auto"], **settings: Any) -> TopicModel:
    """A fit by `dplda` with exact noise and a temporary ledger."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = dplda.Ledger(Path(folder) / "ledger.db")
        ledger.grant("benchmark", unbounded=True)
        return dplda.fit(corpus, "benchmark", n_topics, ledger=ledger, **settings)


def dplda_topics(
    counts: sparse.csr_matrix,
    n_topics: int,
    words: Sequence[str] | None = None,
    simulate_seed: int | None = None,
    **settings: Any,
) -> np.ndarray:
    """The topics of `dplda_model` over all columns of `counts`; a run learns the words that its noise supports."""
    model = dplda_model(counts, n_topics, words, simulate_seed, **settings)
    return on_words(model.topics, model.vocabulary, words or names(counts.shape[1]))


def random_words(n_topics: int, n_words: int, seed: int) -> np.ndarray:
    """The floor: topics that put all probability on ten words picked at random."""
    picks = np.random.default_rng(seed).random((n_topics, n_words))
    tenth = np.sort(picks, axis=1)[:, -10, None]
    return np.where(picks >= tenth, 0.1, 0.0)


def popular_peers(
    counts: sparse.csr_matrix, n_topics: int, sweeps: int = SWEEPS, passes: int = PASSES
) -> dict[str, Callable[[], np.ndarray]]:
    """A fit by tomotopy and one by gensim, by what tables call them."""
    return {
        f"tomotopy, {sweeps} sweeps": partial(tomotopy_topics, counts, n_topics, 1, sweeps),
        f"gensim LdaMulticore, {passes} passes": partial(gensim_topics, counts, n_topics, 1, passes),
    }


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
    words = {i: str(i) for i in range(counts.shape[1])}
    workers = max((os.cpu_count() or 2) - 1, 1)
    model = LdaMulticore(corpus, n_topics, words, passes=passes, workers=workers, random_state=seed)
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
    T = corrected_third_moment(whitened_third(C, lengths, W), W.T @ second(W), W.T @ m, alpha0)
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
