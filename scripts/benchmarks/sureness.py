"""Are the probabilities calibrated that a run tells of its topics and words? Counted on simulated fits.

A topic is real if it is paired one to one with a topic of the fit without noise on the same words, with a cosine of at
least 0.6; a word is among the first ten if it is among those of that topic.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

import dplda
from benchmarks import corpora
from benchmarks.prior import Files, posts_of
from benchmarks.tables import Table
from benchmarks.utility import DELTA
from dplda.base.distributions import match_topics, on_words
from dplda.base.errors import NoisyTopicsWarning, UnsupportedByData
from dplda.runs.corpus import synthetic

EPSILONS, TOPICS = (0.5, 1.0, 2.0, 4.0, 8.0), (10, 20)
REAL, FIRST = 0.6, 10
DECILES = 10
Case = tuple[sparse.csr_matrix, list[str]]  # counts and words
Pairs = list[tuple[float, bool]]  # stated probabilities, and whether the statement is true


def measure(files: Files, seeds: int, first_seed: int) -> None:
    """Print for each decile of stated probability the number of topics and words, and the share that is true."""
    cases = list(_cases(files))
    counted = {
        kind: _counted(cases, seeds, first_seed, private_words=kind == "private") for kind in ("public", "private")
    }
    heads = (
        (f"topics ({fits} fits, {kind} words)", "real", "words", "among ten") for kind, (fits, *_) in counted.items()
    )
    table = Table("stated", *chain(*heads))
    for low in range(DECILES):
        cells = (cell for _, *found in counted.values() for pairs in found for cell in _cell(pairs, low))
        table.row(f"{low / DECILES:g} to {(low + 1) / DECILES:g}", *cells)


def _counted(cases: Sequence[Case], seeds: int, first_seed: int, *, private_words: bool) -> tuple[int, Pairs, Pairs]:
    """The number of fits that ended with topics, and what they tell of their topics and words."""
    topics, words, fits = Pairs(), Pairs(), 0
    for counts, vocabulary in cases:
        for epsilon in EPSILONS:
            for n_topics in TOPICS if counts.shape[0] < 15_000 else TOPICS[-1:]:
                for seed in range(first_seed, first_seed + seeds):
                    found = _one(counts, vocabulary, epsilon, n_topics, seed, private_words=private_words)
                    if found is not None:
                        topics, words, fits = topics + found[0], words + found[1], fits + 1
    return fits, topics, words


def _cell(pairs: Pairs, decile: int) -> tuple[str, str]:
    so = [so for told, so in pairs if min(int(told * DECILES), DECILES - 1) == decile]
    return f"{len(so):,}", f"{np.mean(so):.2f}" if so else ""


def _one(
    counts: sparse.csr_matrix, names: list[str], epsilon: float, n_topics: int, seed: int, *, private_words: bool
) -> tuple[Pairs, Pairs] | None:
    """What one fit tells of its topics and words; None if it ended without a model."""
    corpus = dplda.Corpus.from_counts(counts, names, public_vocabulary=not private_words)
    settings: dict[str, Any] = {"n_topics": n_topics, "ledger": False, "simulate_seed": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        try:
            model = dplda.fit(corpus, epsilon=epsilon, delta=DELTA, **settings)
        except UnsupportedByData:
            return None
    place = {name: index for index, name in enumerate(names)}
    same_words = counts[:, [place[word] for word in model.vocabulary]]
    exact = dplda.fit(
        dplda.Corpus.from_counts(same_words, model.vocabulary, public_vocabulary=True), placement="none", **settings
    )
    truth = on_words(exact.topics, exact.vocabulary, model.vocabulary)
    _, partners, cosines = match_topics(model.topics, truth)
    topics, words = Pairs(), Pairs()
    for topic, (partner, cosine, told) in enumerate(zip(partners, cosines, model.probabilities, strict=True)):
        topics.append((told, bool(cosine >= REAL)))
        first = {model.vocabulary[word] for word in np.argsort(-truth[partner], kind="stable")[:FIRST]}
        words += [(chance, word in first) for word, chance in model.word_probabilities[topic].items()]
    return topics, words


def _cases(files: Files) -> Iterator[Case]:
    """Posts, reviews, abstracts and planted topics."""
    posts, reviews = posts_of(files.news), corpora.texts(files.imdb, 20_000)
    texts = [posts[:n] for n in (1000, 2000, 6000, len(posts))]
    texts += [reviews[:n] for n in (2000, 20_000)]
    for listed in [*texts, corpora.texts(files.medical)]:
        vectorizer = CountVectorizer(
            stop_words="english",
            token_pattern=corpora.LETTERS,
            max_df=corpora.MOST_DOCUMENTS,
            min_df=3,
            max_features=corpora.N_WORDS,
        )
        yield vectorizer.fit_transform(listed).tocsr(), [str(w) for w in vectorizer.get_feature_names_out()]
    for seed, (n, n_words, k) in enumerate([(1000, 500, 10), (3000, 1000, 20), (10_000, 1000, 10)], 100):
        counts, _, _ = synthetic(n, n_words, k, mean_length=50, seed=seed)
        yield counts, [f"w{word}" for word in range(n_words)]
