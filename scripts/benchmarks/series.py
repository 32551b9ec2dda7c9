"""What a series gives: film reviews in batches, each fitted from where the last one ended."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import dplda
from benchmarks import corpora
from benchmarks.corpora import Case
from benchmarks.tables import Table
from benchmarks.utility import DELTA
from dplda.errors import NoisyTopicsWarning
from dplda.evaluation.topic_quality import diversity, npmi, on_words

N_TOPICS = 20


def measure(
    imdb: Path,
    batches: int,
    batch_size: int,
    epsilons: Sequence[float | None],
    seeds: int,
    shown: Sequence[int],
) -> None:
    """Print a row for each epsilon and each of the batches `shown`, means over `seeds` series with simulated noise.

    Reviews are in random order. NPMI is over the topics that the series began with, on all reviews. ``matched`` counts
    the topics that are most like the topic of the same number one batch before.
    """
    case = corpora.lines(imdb)
    order = np.random.default_rng(99).permutation(case.counts.shape[0])[: batches * batch_size]
    parts = [np.sort(rows) for rows in np.split(order, batches)]
    table = Table("epsilon", "batch", "NPMI", "diversity", "matched", "topics", "words", "clear", "noise")
    for epsilon in epsilons:
        rows = np.mean([_series(case, parts, epsilon, seed) for seed in range(seeds)], axis=0)
        for number, (coherence, distinct, *counted) in enumerate(rows, 1):
            if number in shown:
                name = "none" if epsilon is None else f"{epsilon:g}"
                table.row(name, number, f"{coherence:.3f}", f"{distinct:.2f}", *(f"{value:.1f}" for value in counted))


def _series(case: Case, parts: Sequence[np.ndarray], epsilon: float | None, seed: int) -> list[tuple[float, ...]]:
    """NPMI, diversity, matched topics, topics, words, and clear and noise topics of each batch."""
    settings = {"placement": "none"} if epsilon is None else {"epsilon": epsilon, "delta": DELTA}
    prior, before, found = None, None, list[tuple[float, ...]]()
    for number, rows in enumerate(parts):
        corpus = dplda.Corpus.from_counts(case.counts[rows], case.words, public_vocabulary=True, name=f"batch {number}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisyTopicsWarning)
            model = dplda.fit(
                corpus,
                n_topics=N_TOPICS,
                series="reviews",
                prior=prior,
                ledger=False,
                simulate_seed=1000 * seed + number,
                **settings,
            )
        topics = on_words(model.topics, model.vocabulary, case.words)
        matched = N_TOPICS if before is None else _matched(before, topics)
        verdicts = model.verdicts
        found.append(
            (
                float(npmi(topics[:N_TOPICS], case.counts).mean()),
                diversity(topics[:N_TOPICS]),
                *(matched, len(topics), len(model.vocabulary), verdicts.count("clear"), verdicts.count("noise")),
            )
        )
        prior, before = dplda.released_prior(model, public=True), topics
    return found


def _matched(before: np.ndarray, now: np.ndarray) -> int:
    """The number of topics that the best matching by cosine gives the number that they had `before`."""
    first, second = (topics / np.linalg.norm(topics, axis=1)[:, None] for topics in (before, now))
    ours, theirs = linear_sum_assignment(first @ second.T, maximize=True)
    return int((ours == theirs).sum())
