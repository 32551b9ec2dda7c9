"""Planted corpora of any size: drawn a chunk at a time into a prepared store, and read back as counts.

Word i is the i-th of the store's dictionary and the i-th most frequent to expect, so that "the first words" are a
public choice. A store of the same numbers of words and topics has the same topics, however many documents it has.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from dplda.corpus.planted import SHORTEST, draw_counts
from dplda.corpus.store import CountStore
from dplda.corpus.writer import StoreWriter
from dplda.text.records import CountedDocuments, document_key

CHUNK = 100_000  # documents drawn at a time
MEAN_LENGTH = 70


def names(n: int) -> list[str]:
    """The first `n` words."""
    return [f"word{i}" for i in range(n)]


def write(path: Path, n_documents: int, n_words: int, n_topics: int) -> None:
    """Write a store of documents of about 60 distinct words, telling how far it is."""
    random = np.random.default_rng(0)
    topics = _draw_topics(random, n_words, n_topics)
    start = time.perf_counter()
    with StoreWriter(path, name="planted") as writer:
        for first in range(0, n_documents, CHUNK):
            n = min(CHUNK, n_documents - first)
            proportions = random.dirichlet(np.full(n_topics, 1 / n_topics), size=n)
            counts = draw_counts(random, random.poisson(MEAN_LENGTH, size=n) + SHORTEST, proportions, topics)
            numbers = range(first, first + n)
            writer.append(
                CountedDocuments(
                    words=names(n_words),
                    indptr=counts.indptr.astype(np.int64),
                    indices=counts.indices.astype(np.int64),
                    counts=counts.data.astype(np.int64),
                    ids=[str(number) for number in numbers],
                    units=[document_key(number) for number in numbers],
                )
            )
            print(f"{first + n} documents, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def planted_topics(n_words: int, n_topics: int, first: int) -> np.ndarray:
    """The topics of such a store over its `first` words, (n_topics, first), each summing to one there."""
    topics = _draw_topics(np.random.default_rng(0), n_words, n_topics)[:, :first]
    return topics / topics.sum(axis=1, keepdims=True)


def counts_of(path: Path, n_documents: int, n_words: int) -> sparse.csr_matrix:
    """The first documents of a store over its first words, (n_documents, n_words) int32 with sorted rows."""
    parts, store = [], CountStore.open(path)
    for block in store.blocks():
        shape = block.n_documents, len(store.words)
        parts.append(sparse.csr_matrix((block.counts, block.words, block.indptr), shape=shape)[:, :n_words])
        if sum(part.shape[0] for part in parts) >= n_documents:
            break
    counts = sparse.csr_matrix(sparse.vstack(parts, format="csr")[:n_documents])
    counts.sort_indices()
    return counts


def _draw_topics(random: np.random.Generator, n_words: int, n_topics: int) -> np.ndarray:
    base = 1.0 / np.arange(1, n_words + 1)
    return random.dirichlet(0.05 * n_words * base / base.sum(), size=n_topics)
