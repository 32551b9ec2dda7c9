"""What a run gives on small collections with labels: agreement with the labels, coherence, words and certainty.

The agreement is the normalised mutual information (NMI) of the labels and the largest topic of each document. It does
not depend on the words of a run.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import tarfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import normalized_mutual_info_score

import dplda
from benchmarks import corpora, systems
from benchmarks.tables import Table
from dplda.base.errors import NoisyTopicsWarning, UnsupportedByData
from dplda.learning.settings import WORDS
from dplda.model.topic_model import TopicModel
from dplda.runs.grid import npmi

DOCUMENTS, DELTA = 3000, 1e-6
_TOKENS = r"(?u)\b[^\W\d_][\w']+\b"
_Row = tuple[float, ...]


@dataclass
class Labelled:
    """Texts with a label each, and the number of topics to ask for."""

    name: str
    texts: list[str]
    labels: list[str]
    topics: int
    counts: sparse.csc_matrix = field(init=False)
    """Counts of all words, (n_documents, n_words)."""
    column: dict[str, int] = field(init=False)
    """The column of each word."""

    def __post_init__(self) -> None:
        counter = CountVectorizer(token_pattern=_TOKENS)
        self.counts, self.column = counter.fit_transform(self.texts).tocsc(), counter.vocabulary_

    def of(self, words: Sequence[str]) -> sparse.csr_matrix:
        """Counts of these `words`, (n_documents, len(words))."""
        known = [self.column.get(word) for word in words]
        absent = sparse.csc_matrix((len(self.texts), 1), dtype=self.counts.dtype)
        columns = [absent if at is None else self.counts[:, [at]] for at in known]
        return sparse.hstack(columns).tocsr()

    def agreement(self, proportions: np.ndarray, counts: sparse.csr_matrix) -> float:
        """The NMI of labels and largest topics; documents without any of the words are a topic of their own."""
        held = np.asarray(counts.sum(axis=1)).ravel() > 0
        return float(normalized_mutual_info_score(self.labels, np.where(held, proportions.argmax(axis=1), -1)))


def posts(path: Path) -> Labelled:
    """A sample of 20 newsgroups without headers; tabs stand for line breaks in most files of the archive."""
    with tarfile.open(path) as archive:
        read = {member.name: file.read() for member in archive if (file := archive.extractfile(member)) is not None}
    files = sorted(read.items())
    random.Random(0).shuffle(files)
    chosen = files[:DOCUMENTS]
    bodies = [re.split(r"\n\s*\n|\t\t", raw.decode("utf-8", "replace"), maxsplit=1)[-1] for _, raw in chosen]
    return Labelled("posts", bodies, [name.split("/")[-2] for name, _ in chosen], 10)


def lines(path: Path, name: str, label: str, topics: int) -> Labelled:
    """The first of compressed JSON lines, each with a `text` and the field `label`."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for _, line in zip(range(DOCUMENTS), file, strict=False)]
    return Labelled(name, [record["text"] for record in records], [str(record[label]) for record in records], topics)


def measure(news: Path, medical: Path, agnews: Path, epsilons: Sequence[float], seeds: int) -> None:
    """Print a row for each corpus, way to choose words and epsilon: means over the fits that end with topics."""
    columns = ("corpus", "words chosen", "epsilon", "NMI", "NPMI@10", "words", "mean probability", "fits with topics")
    table = Table(*columns)
    labelled: list[Callable[[], Labelled]] = [
        lambda: posts(news),
        lambda: lines(medical, "medical abstracts", "condition", 5),
        lambda: lines(agnews, "news items", "label", 4),
    ]
    for load in labelled:
        case = load()
        name = f"{len(case.texts):,} {case.name}, {case.topics} topics"
        corpus = dplda.Corpus.from_texts(case.texts)
        for words in WORDS:
            for epsilon in epsilons:
                found = [one for seed in range(seeds) if (one := _one(case, corpus, words, epsilon, seed))]
                means = _shown(np.mean(found, axis=0)) if found else ("", "", "", "")
                table.row(name, words, f"{epsilon:g}", *means, f"{len(found)} of {seeds}")
        table.row(name, "ordinary LDA", "none", *_ordinary(case, seeds), "", "")


def _one(case: Labelled, corpus: dplda.Corpus, words: str, epsilon: float, seed: int) -> _Row | None:
    """NMI, NPMI, number of words and mean probability of a run; None if it ends without topics."""
    asked: dict[str, Any] = {"n_topics": case.topics, "epsilon": epsilon, "delta": DELTA, "words": words}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        try:
            model: TopicModel = dplda.fit(corpus, **asked, ledger=False, simulate_seed=seed)
        except UnsupportedByData:
            return None
    counts = case.of(model.vocabulary)
    coherence = float(npmi(model.topics, counts).mean())
    sure = float(np.mean(model.probabilities))
    return case.agreement(model.transform(counts), counts), coherence, len(model.vocabulary), sure


def _shown(means: np.ndarray) -> tuple[str, ...]:
    return f"{means[0]:.3f}", f"{means[1]:.3f}", f"{means[2]:.0f}", f"{means[3]:.2f}"


def _ordinary(case: Labelled, seeds: int) -> tuple[str, str, str]:
    """NMI, NPMI and number of words of tomotopy's LDA, which protects nobody."""
    counts, words = corpora.count_words(case.texts)
    found = []
    for seed in range(seeds):
        topics = systems.tomotopy_topics(counts, case.topics, seed)
        likelihood = np.log(np.maximum(topics, 1e-12))
        found.append((case.agreement(counts @ likelihood.T, counts), float(npmi(topics, counts).mean())))
    agreement, coherence = np.mean(found, axis=0)
    return f"{agreement:.3f}", f"{coherence:.3f}", f"{len(words):,}"
