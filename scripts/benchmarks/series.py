"""What a series gives: film reviews in batches, each fitted from where the last one ended."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dplda
from benchmarks import corpora
from benchmarks.corpora import Case
from benchmarks.tables import Table
from benchmarks.utility import DELTA
from dplda.base.distributions import match_topics, on_words
from dplda.base.errors import NoisyTopicsWarning
from dplda.runs.grid import diversity, npmi

N_TOPICS = 20


def measure(
    imdb: Path,
    batches: int,
    batch_size: int,
    epsilons: Sequence[float | None],
    seeds: int,
    shown: Sequence[int],
) -> None:
    """Print a row for each epsilon, means over `seeds` series with simulated noise.

    Reviews are in random order. NPMI is over the topics that the series began with, on all reviews, for the batches
    `shown`. ``matched`` counts the topics that are most like the topic of the same number one batch before.
    """
    case = corpora.lines(imdb)
    order = np.random.default_rng(99).permutation(case.counts.shape[0])[: batches * batch_size]
    parts = [np.sort(rows) for rows in np.split(order, batches)]
    last = ("matched", "topics", "words", "clear", "noise")
    table = Table(
        "NPMI@10 (diversity)", *(f"batch {number}" for number in shown), *(f"{name}, last batch" for name in last)
    )
    for epsilon in epsilons:
        found = np.mean([_series(case, parts, epsilon, seed) for seed in range(seeds)], axis=0)
        cells = (f"{found[number - 1][0]:.3f} ({found[number - 1][1]:.2f})" for number in shown)
        counted = (f"{value:.4g}" for value in found[-1][2:])
        table.row("no noise" if epsilon is None else f"ε = {epsilon:g} a batch", *cells, *counted)


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
    ours, theirs, _ = match_topics(before, now)
    return int((ours == theirs).sum())
