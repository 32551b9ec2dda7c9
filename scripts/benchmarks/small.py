"""What a run gives on small collections with labels: agreement with the labels, coherence, words and certainty.

The agreement is the normalised mutual information (NMI) of the labels and the largest topic of each document. It does
not depend on the words of a run. A topic is *in ordinary LDA* if a topic of an ordinary fit, without privacy and on the
most frequent words of all, collects the same documents: one to one, with a correlation of the documents' proportions of
at least 0.5.
"""

from __future__ import annotations

import random
import re
import tarfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import normalized_mutual_info_score

import dplda
from benchmarks import corpora, systems
from benchmarks.tables import Table
from dplda.base.errors import NoisyTopicsWarning, UnsupportedByData
from dplda.learning.settings import WORDS
from dplda.model.inference import posterior_mean
from dplda.model.topic_model import TopicModel
from dplda.runs.grid import npmi

DOCUMENTS, DELTA = 3000, 1e-6
_OTHERS = 8000  # most other texts about the same things
_PRIOR = 0.1  # of each topic in a document
_SAME = 0.5  # least correlation of the proportions of two topics that collect the same documents
_TOKENS = r"(?u)\b[^\W_][\w']+\b"
_Row = tuple[float, ...]


@dataclass(eq=False)
class Labelled:
    """Texts with a label each, and the number of topics to ask for."""

    name: str
    texts: list[str]
    labels: list[str]
    topics: int
    others: list[str] = field(default_factory=list)
    """Other texts about the same things."""
    counts: sparse.csc_matrix = field(init=False)
    """Counts of all words, (n_documents, n_words)."""
    column: dict[str, int] = field(init=False)
    """The column of each word."""

    def __post_init__(self) -> None:
        counter = CountVectorizer(token_pattern=_TOKENS)
        self.counts, self.column = counter.fit_transform(self.texts).tocsc(), counter.vocabulary_

    @cached_property
    def _ordinary(self) -> tuple[np.ndarray, float]:
        counts, _ = corpora.count_words(self.texts)
        topics = systems.tomotopy_topics(counts, self.topics, seed=0)
        return folded_in(topics, counts), float(npmi(topics, counts).mean())

    @property
    def ordinary(self) -> np.ndarray:
        """The documents' proportions of the topics of tomotopy's LDA, (n_documents, topics)."""
        return self._ordinary[0]

    @property
    def ordinary_npmi(self) -> float:
        """The mean NPMI of these topics."""
        return self._ordinary[1]

    def of(self, words: Sequence[str]) -> sparse.csr_matrix:
        """Counts of these `words`, (n_documents, len(words))."""
        known = [self.column.get(word) for word in words]
        absent = sparse.csc_matrix((len(self.texts), 1), dtype=self.counts.dtype)
        columns = [absent if at is None else self.counts[:, [at]] for at in known]
        return sparse.hstack(columns).tocsr()

    def agreement(self, proportions: np.ndarray, counts: sparse.csr_matrix) -> float:
        """The NMI of labels and largest topics; documents without any of the words are a topic of their own."""
        return float(normalized_mutual_info_score(self.labels, largest_topics(proportions, counts)))

    def in_ordinary(self, proportions: np.ndarray) -> np.ndarray:
        """Which topics (k,), with these `proportions` (n_documents, k), are in ordinary LDA."""
        both = np.hstack([proportions, self.ordinary])
        correlations = np.nan_to_num(np.corrcoef(both.T)[: proportions.shape[1], proportions.shape[1] :])
        rows, columns = linear_sum_assignment(-correlations)
        found = np.zeros(proportions.shape[1], dtype=bool)
        found[rows] = correlations[rows, columns] >= _SAME
        return found


def folded_in(topics: np.ndarray, counts: sparse.csr_matrix) -> np.ndarray:
    """The documents' proportions of `topics` (n_topics, n_words) under one prior for all, (n_documents, n_topics)."""
    return posterior_mean(topics, np.full(len(topics), _PRIOR), counts.astype(float))


def largest_topics(proportions: np.ndarray, counts: sparse.csr_matrix) -> np.ndarray:
    """The largest topic of each document, (n_documents,); -1 for one without any of the words of `counts`."""
    held = np.asarray(counts.sum(axis=1)).ravel() > 0
    return np.where(held, proportions.argmax(axis=1), -1)


def agreement(labels: Sequence[str], topics: np.ndarray, counts: sparse.csr_matrix) -> float:
    """The NMI of labels and largest topics, for any system's `topics` (n_topics, n_words) over the words of `counts`.

    Documents without a word that any topic produces are a topic of their own.
    """
    known = np.flatnonzero(topics.sum(axis=0))
    counts = sparse.csr_matrix(counts[:, known])
    found = largest_topics(folded_in(topics[:, known], counts), counts)
    return float(normalized_mutual_info_score(labels, found))


def posts(path: Path, documents: int = DOCUMENTS, topics: int = 10) -> Labelled:
    """A sample of 20 newsgroups without headers; tabs stand for line breaks in most files of the archive."""
    with tarfile.open(path) as archive:
        read = {member.name: file.read() for member in archive if (file := archive.extractfile(member)) is not None}
    files = sorted(read.items())
    random.Random(0).shuffle(files)
    bodies = [re.split(r"\n\s*\n|\t\t", raw.decode("utf-8", "replace"), maxsplit=1)[-1] for _, raw in files]
    labels = [name.split("/")[-2] for name, _ in files[:documents]]
    return Labelled("posts", bodies[:documents], labels, topics, bodies[documents:][:_OTHERS])


def lines(path: Path, name: str, label: str, topics: int, documents: int = DOCUMENTS) -> Labelled:
    """The first of compressed JSON lines, each with a `text` and the field `label`."""
    records = corpora.read_lines(path, documents + _OTHERS)
    texts, labels = [record["text"] for record in records], [str(record[label]) for record in records[:documents]]
    return Labelled(name, texts[:documents], labels, topics, texts[documents:])


def measure(news: Path, medical: Path, agnews: Path, epsilons: Sequence[float], seeds: int) -> None:
    """Print a row for each corpus, way to choose words and epsilon: means over the fits that end with topics.

    The last line says whether runs that call their topics surer agree better with the labels, relative to ordinary LDA.
    """
    columns = ("corpus", "words chosen", "epsilon", "NMI", "NPMI@10", "words", "mean probability", "in ordinary LDA")
    table = Table(*columns, "fits with topics")
    labelled: list[Callable[[], Labelled]] = [
        lambda: posts(news),
        lambda: lines(medical, "medical abstracts", "condition", 5),
        lambda: lines(agnews, "news items", "label", 4),
    ]
    judged: list[tuple[float, float]] = []  # of each fit: the mean probability, and the NMI over that of ordinary LDA
    for load in labelled:
        case = load()
        ordinary = float(normalized_mutual_info_score(case.labels, case.ordinary.argmax(axis=1)))
        name = f"{len(case.texts):,} {case.name}, {case.topics} topics"
        corpus = dplda.Corpus.from_texts(case.texts)
        for words in WORDS:
            for epsilon in epsilons:
                found = [one for seed in range(seeds) if (one := _one(case, corpus, words, epsilon, seed))]
                judged += [(one[3], one[0] / ordinary) for one in found]
                means = _shown(np.mean(found, axis=0)) if found else ("", "", "", "", "")
                table.row(name, words, f"{epsilon:g}", *means, f"{len(found)} of {seeds}")
        shown = f"{ordinary:.3f}", f"{case.ordinary_npmi:.3f}", f"{corpora.N_WORDS:,}"
        table.row(name, "ordinary LDA", "none", *shown, "", "", "")
    correlation = spearmanr(np.array(judged)).statistic
    click.echo(f"rank correlation of mean probability and relative NMI over {len(judged)} fits: {correlation:.2f}")


def _one(case: Labelled, corpus: dplda.Corpus, words: str, epsilon: float, seed: int) -> _Row | None:
    """NMI, NPMI, number of words, mean probability and share in ordinary LDA of a run; None if it ends early."""
    asked: dict[str, Any] = {"n_topics": case.topics, "epsilon": epsilon, "delta": DELTA, "words": words}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        try:
            model: TopicModel = dplda.fit(corpus, **asked, ledger=False, simulate_seed=seed)
        except UnsupportedByData:
            return None
    counts = case.of(model.vocabulary)
    coherence = float(npmi(model.topics, counts).mean())
    sure, proportions = float(np.mean([chance or 0.0 for chance in model.probabilities])), model.transform(counts)
    agreement, found = case.agreement(proportions, counts), float(case.in_ordinary(proportions).mean())
    return agreement, coherence, len(model.vocabulary), sure, found


def _shown(means: np.ndarray) -> tuple[str, ...]:
    return f"{means[0]:.3f}", f"{means[1]:.3f}", f"{means[2]:.0f}", f"{means[3]:.2f}", f"{means[4]:.2f}"
