"""The corpora of the benchmarks as counts: real ones from their raw files, and planted ones of any size.

Words of the real corpora, by one public rule: lower-case runs of at least three letters (apostrophes inside count),
none of scikit-learn's English stop words, in at most a tenth of the documents; of these the 2000 in most documents.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
import sys
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from dplda.learning.synthetic import SHORTEST, draw_counts
from dplda.private.attributes import ANSWERS
from dplda.private.store.writer import StoreWriter
from dplda.runs.corpus import CountStore, synthetic
from dplda.text.records import CountedDocuments, document_key

N_WORDS, MOST_DOCUMENTS = 2000, 0.1
LABELS = ("label", "condition")  # fields that say what a document is about
LETTERS = r"(?u)\b[a-z][a-z']{2,}\b"
PLANTED: dict[str, Any] = {"n_documents": 50_000, "n_words": 2000, "n_topics": 10, "alpha0": 1.0, "mean_length": 100.0}
TUNING, REPORTING = 0, 100  # the first seed of planted corpora for tuning, and for reporting
CHUNK = 100_000  # documents of a planted store drawn at a time
MEAN_LENGTH = 70  # tokens of a document of a planted store


@dataclass(frozen=True, eq=False)
class Case:
    """One corpus: counts (n_documents, n_words), its words, the number of topics, and what was planted, if anything.

    `labels` (n_documents,) say what documents are about, where the corpus has them.
    """

    counts: sparse.csr_matrix
    words: list[str]
    n_topics: int
    planted: np.ndarray | None = None
    labels: list[str] | None = None


def lines(path: Path, half: str = "all") -> Case:
    """Film reviews, medical abstracts or news items: compressed lines, each a JSON object with a `text`.

    The even documents are for tuning, the odd ones for reporting; the words are those of all documents.
    """
    records = read_lines(path)
    counts, words = count_words(record["text"] for record in records)
    rows = {"tune": slice(0, None, 2), "report": slice(1, None, 2), "all": slice(None)}[half]
    field = next((name for name in LABELS if name in records[0]), None)
    labels = None if field is None else [str(record[field]) for record in records[rows]]
    return Case(counts[rows], words, n_topics=20, labels=labels)


def texts(path: Path, most: int | None = None) -> list[str]:
    """The texts of compressed JSON lines, the first `most` of them."""
    return [record["text"] for record in read_lines(path, most)]


def read_lines(path: Path, most: int | None = None) -> list[dict[str, Any]]:
    """The objects of compressed JSON lines, the first `most` of them."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in itertools.islice(file, most)]


def newsgroups(path: Path) -> Case:
    """20 newsgroups from its tar archive, one message a file; see `messages`. Labels are the groups."""
    counts, words = count_words(messages(path))
    with tarfile.open(path) as archive:
        labels = [Path(member.name).parent.name for member in archive if member.isfile()]
    return Case(counts, words, n_topics=20, labels=labels)


def messages(path: Path) -> Iterator[str]:
    """The messages of 20 newsgroups from behind their first blank line, where the header ends.

    In most files of the archive tabs stand for line breaks, so that there is no blank line and the header is kept.
    """
    return (message.split("\n\n", 1)[-1] for message in whole_messages(path))


def whole_messages(path: Path) -> Iterator[str]:
    """The messages of 20 newsgroups with their headers, as they are in its tar archive."""
    with tarfile.open(path) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                yield file.read().decode("utf-8", "replace")


def subjects(path: Path) -> list[str]:
    """The subject lines of 20 newsgroups, in an order that does not depend on their group."""
    found = [match[1] for text in whole_messages(path) if (match := re.search(r"Subject: ([^\n\t]*)", text))]
    return [found[index] for index in np.random.default_rng(5).permutation(len(found))]


def planted(seed: int, half: str = "all") -> Case:
    """A corpus drawn from LDA with known topics, another for each seed, and for tuning."""
    first = TUNING if half == "tune" else REPORTING
    counts, topics, _ = synthetic(**PLANTED, seed=first + seed)
    return Case(counts, [f"w{i}" for i in range(len(topics[0]))], len(topics), topics)


def count_words(
    texts: Iterable[str], most: int = N_WORDS, most_documents: float = MOST_DOCUMENTS
) -> tuple[sparse.csr_matrix, list[str]]:
    """Counts (n_documents, n_words) and words by the rule above, the most frequent word first."""
    vectorizer = CountVectorizer(stop_words="english", token_pattern=LETTERS, max_df=most_documents)
    counts = vectorizer.fit_transform(texts)
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    kept = np.argsort(-documents, kind="stable")[:most]
    return counts[:, kept].tocsr(), [str(word) for word in vectorizer.get_feature_names_out()[kept]]


def read_counts(source: Path) -> sparse.csr_matrix:
    """The counts of a prepared store, an .npz matrix, compressed JSON lines or an archive; int32 with sorted rows."""
    if source.is_dir():
        return stored_counts(source)
    if source.suffix == ".npz":
        counts = sparse.csr_matrix(sparse.load_npz(source))
    elif source.name.endswith(".jsonl.gz"):
        counts = lines(source).counts
    else:
        counts = newsgroups(source).counts
    counts = counts.astype(np.int32)
    counts.sort_indices()
    return counts


def names(n: int) -> list[str]:
    """Words for `n` columns that have none."""
    return [f"word{i}" for i in range(n)]


def write_store(
    path: Path,
    n_documents: int,
    n_words: int,
    n_topics: int,
    groups: Callable[[range], list[tuple[str, ...]]] | None = None,
    categories: Mapping[str, Any] | None = None,
    drawn: int | None = None,
) -> None:
    """Draw documents of about 60 distinct words, a chunk at a time, into a prepared store; prints progress.

    `groups` gives the product and the date of documents by their numbers, and their answers and codes of texts if the
    facts of `categories` are given. Only the first chunks, of `drawn` documents, are drawn if that is given, and the
    others repeat them.

    Word i is the i-th of the store's dictionary and the i-th most frequent in expectation, so that "the first words"
    are a public choice. Stores with the same numbers of words and topics have the same topics.
    """
    rng = np.random.default_rng(0)
    topics = _draw_topics(rng, n_words, n_topics)
    start = time.perf_counter()
    columns = ("product", "date", *((ANSWERS,) if categories else ())) if groups else ()
    chunks: list[sparse.csr_matrix] = []  # to repeat
    with StoreWriter(path, name="planted", group_columns=columns, categories=categories) as writer:
        for first in range(0, n_documents, CHUNK):
            n = min(CHUNK, n_documents - first)
            if drawn is None or first < drawn:
                proportions = rng.dirichlet(np.full(n_topics, 1 / n_topics), size=n)
                counts = draw_counts(rng, rng.poisson(MEAN_LENGTH, size=n) + SHORTEST, proportions, topics)
                chunks += [counts] if drawn is not None else []
            else:
                counts = chunks[first // CHUNK % len(chunks)][:n]
            numbers = range(first, first + n)
            writer.append(
                CountedDocuments(
                    words=names(n_words),
                    indptr=counts.indptr.astype(np.int64),
                    indices=counts.indices.astype(np.int64),
                    counts=counts.data.astype(np.int64),
                    ids=[str(number) for number in numbers],
                    units=[document_key(number) for number in numbers],
                    groups=groups(numbers) if groups else (),
                )
            )
            print(f"{first + n} documents, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def planted_topics(n_words: int, n_topics: int, first: int) -> np.ndarray:
    """The topics of such a store over its `first` words, (n_topics, first), each summing to one there."""
    topics = _draw_topics(np.random.default_rng(0), n_words, n_topics)[:, :first]
    found: np.ndarray = topics / topics.sum(axis=1, keepdims=True)
    return found


def stored_counts(path: Path, n_documents: int | None = None, n_words: int | None = None) -> sparse.csr_matrix:
    """The first documents of a store over its first words, (n_documents, n_words) int32 with sorted rows."""
    parts, store = [], CountStore.open(path)
    for block in store.blocks():
        shape = block.n_documents, len(store.words)
        parts.append(sparse.csr_matrix((block.counts, block.words, block.indptr), shape=shape)[:, :n_words])
        if n_documents is not None and sum(part.shape[0] for part in parts) >= n_documents:
            break
    counts = sparse.csr_matrix(sparse.vstack(parts, format="csr")[:n_documents])
    counts.sort_indices()
    return counts


def _draw_topics(rng: np.random.Generator, n_words: int, n_topics: int) -> np.ndarray:
    base = 1.0 / np.arange(1, n_words + 1)
    return rng.dirichlet(0.05 * n_words * base / base.sum(), size=n_topics)
