"""Synthetic corpora from a known LDA model, to compare learned topics with true ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dplda.base.config import RANGES, Range
from dplda.base.errors import InputError

_FloatArray = npt.NDArray[np.float64]
_BLOCK_TOKENS = 4_000_000  # maximum tokens drawn in one step, which take about 150 MB
SHORTEST = 3  # minimum tokens of a document, so that every document contributes
_SIZE = Range(low=1, high=2**31 - 2, unit="documents, words or topics", integer=True)
_POSITIVE = Range(low=0.0, high=1e6, unit="a rate", open_low=True)
_SEED = Range(low=0, high=2**63 - 1, unit="seed", integer=True)


def synthetic(
    n_documents: int,
    n_words: int,
    n_topics: int,
    alpha0: float = 1.0,
    mean_length: float = 100,
    seed: int = 0,
    *,
    concentration: float = 0.05,
    zipf: float = 1.0,
) -> tuple[sp.csr_matrix, _FloatArray, _FloatArray]:
    """Draw a corpus from LDA with topics whose words follow Zipf's law. It is public.

    `alpha0` is the sum of the symmetric Dirichlet prior over topics. Documents have 3 tokens and
    Poisson(`mean_length`) more. Topics are Dirichlet with mean proportional to ``rank ** -zipf`` and total mass
    `concentration` times `n_words` (smaller: topics further apart). The same arguments give the same corpus.

    Returns counts (n_documents, n_words) int32 in canonical form, topics (n_topics, n_words) and proportions
    (n_documents, n_topics), both with rows on the simplex. Raises `InputError` for a number out of range.
    """
    n_documents = _SIZE.check("n_documents", n_documents)
    n_words = _SIZE.check("n_words", n_words)
    n_topics = _SIZE.check("n_topics", n_topics)
    mean_length = _POSITIVE.check("mean_length", mean_length)
    concentration = _POSITIVE.check("concentration", concentration)
    alpha0 = RANGES["alpha0"].check("alpha0", alpha0)
    seed = _SEED.check("seed", seed)
    if not 0.0 <= zipf <= 10.0:
        raise InputError(f"zipf must be a number in [0, 10] (exponent), got {zipf!r}.")
    rng = np.random.default_rng(seed)
    base = np.arange(1, n_words + 1, dtype=np.float64) ** -zipf
    topics = rng.dirichlet(concentration * n_words * base / base.sum(), size=n_topics)
    proportions = rng.dirichlet(np.full(n_topics, alpha0 / n_topics), size=n_documents)
    lengths = rng.poisson(mean_length, size=n_documents) + SHORTEST
    return draw_counts(rng, lengths, proportions, topics), topics, proportions


def draw_counts(
    rng: np.random.Generator, lengths: npt.NDArray[np.int64], proportions: _FloatArray, topics: _FloatArray
) -> sp.csr_matrix:
    """Draw documents of the `lengths` (n_documents,): counts (n_documents, n_words) int32.

    A multinomial draw assigns each document's tokens to topics. The words of all tokens of a topic are then drawn
    together by inversion of the topic's distribution function, in time linear in the number of tokens.
    """
    cumulative = np.cumsum(topics, axis=1)
    cumulative /= cumulative[:, -1:]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(np.cumsum(lengths) // _BLOCK_TOKENS)) + 1, [len(lengths)]])
    blocks = [_draw_block(rng, lengths[a:b], proportions[a:b], cumulative) for a, b in pairwise(starts.tolist())]
    return sp.csr_matrix(sp.vstack(blocks, format="csr"))


def _draw_block(
    rng: np.random.Generator,
    lengths: npt.NDArray[np.int64],
    proportions: _FloatArray,
    cumulative: _FloatArray,
) -> sp.csr_matrix:
    n_documents, n_words = len(lengths), cumulative.shape[1]
    per_topic = rng.multinomial(lengths, proportions)
    # One key, document * n_words + word, for each token.
    keys = np.empty(int(lengths.sum()), dtype=np.int64)
    filled = 0
    for distribution, n_tokens in zip(cumulative, per_topic.T, strict=True):
        documents = np.repeat(np.arange(n_documents, dtype=np.int64), n_tokens)
        words = np.searchsorted(distribution, rng.random(len(documents)), side="right")
        keys[filled : filled + len(documents)] = documents * n_words + words
        filled += len(documents)

    keys.sort()  # equal keys, which are the same word in the same document, are counted
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    counts = np.diff(np.append(first, len(keys))).astype(np.int32)
    documents, words = np.divmod(keys[first], n_words)
    starts = np.searchsorted(documents, np.arange(n_documents + 1)).astype(np.int32)
    return sp.csr_matrix((counts, words.astype(np.int32), starts), shape=(n_documents, n_words))
