"""The corpora of the benchmarks as counts: film reviews and newsgroups from their raw files, and planted topics.

Words of the real corpora, by one public rule: lower-case runs of at least three letters (apostrophes inside count),
none of scikit-learn's English stop words, in at most a tenth of the documents; of these the 2000 in most documents.
"""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from dplda.corpus import synthetic

N_WORDS, MOST_DOCUMENTS = 2000, 0.1
LETTERS = r"(?u)\b[a-z][a-z']{2,}\b"
PLANTED = {"n_documents": 50_000, "n_words": 2000, "n_topics": 10, "alpha0": 1.0, "mean_length": 100.0}
TUNING, REPORTING = 0, 100  # the first seed of planted corpora for tuning, and for reporting


@dataclass(frozen=True, eq=False)
class Case:
    """One corpus: counts (n_documents, n_words), its words, the number of topics, and what was planted, if anything."""

    counts: sparse.csr_matrix
    words: list[str]
    n_topics: int
    planted: np.ndarray | None = None


def reviews(path: Path, half: str = "all") -> Case:
    """Film reviews, one JSON object with a `text` a line; the even ones are for tuning, the odd ones for reporting.

    The words are those of all reviews.
    """
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        counts, words = count_words(json.loads(line)["text"] for line in lines)
    rows = {"tune": slice(0, None, 2), "report": slice(1, None, 2), "all": slice(None)}[half]
    return Case(counts[rows], words, n_topics=20)


def newsgroups(path: Path) -> Case:
    """20 newsgroups from its tar archive, one message a file, without the messages' headers."""
    counts, words = count_words(_messages(path))
    return Case(counts, words, n_topics=20)


def _messages(path: Path) -> Iterator[str]:
    with tarfile.open(path) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                yield file.read().decode("utf-8", "replace").split("\n\n", 1)[-1]


def planted(seed: int, half: str = "all") -> Case:
    """A corpus drawn from LDA with known topics, another for each seed, and for tuning."""
    first = TUNING if half == "tune" else REPORTING
    counts, topics, _ = synthetic(**PLANTED, seed=first + seed)
    return Case(counts, [f"w{i}" for i in range(len(topics[0]))], len(topics), topics)


def count_words(texts: Iterable[str], most: int = N_WORDS) -> tuple[sparse.csr_matrix, list[str]]:
    """Counts (n_documents, n_words) and words by the rule above, the most frequent word first."""
    vectorizer = CountVectorizer(stop_words="english", token_pattern=LETTERS, max_df=MOST_DOCUMENTS)
    counts = vectorizer.fit_transform(texts)
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    kept = np.argsort(-documents, kind="stable")[:most]
    return counts[:, kept].tocsr(), [str(word) for word in vectorizer.get_feature_names_out()[kept]]
