"""Topic models that protect nobody, to hold `dplda` against: topics of sparse counts, (n_topics, n_words)."""

from __future__ import annotations

import itertools
import os

import numpy as np
from scipy import sparse

SWEEPS, PASSES = 200, 5


def tomotopy_topics(counts: sparse.csr_matrix, n_topics: int, seed: int, sweeps: int = SWEEPS) -> np.ndarray:
    """Collapsed Gibbs sampling by tomotopy with its own defaults."""
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, seed=seed)
    for first, last in itertools.pairwise(counts.indptr):
        if last > first:
            words = np.repeat(counts.indices[first:last], counts.data[first:last].astype(int))
            model.add_doc([str(word) for word in words])
    model.train(sweeps, workers=os.cpu_count() or 1)
    topics = np.zeros((n_topics, counts.shape[1]))
    topics[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(k) for k in range(n_topics)]
    return topics


def gensim_topics(counts: sparse.csr_matrix, n_topics: int, seed: int, passes: int = PASSES) -> np.ndarray:
    """Online variational inference by gensim's LdaMulticore with its own defaults."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaMulticore

    corpus = Sparse2Corpus(counts, documents_columns=False)
    names = {i: str(i) for i in range(counts.shape[1])}
    workers = max((os.cpu_count() or 2) - 1, 1)
    model = LdaMulticore(corpus, n_topics, names, passes=passes, workers=workers, random_state=seed)
    return np.asarray(model.get_topics(), dtype=np.float64)
