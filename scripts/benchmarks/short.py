"""Short documents: the titles of posts, and messages such as tweets.

NPMI is -1 for a pair of words that never occurs together, so that it is negative on titles, for every system. That of
the same topics on the whole posts says whether their words belong together.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks import corpora
from benchmarks.systems import dplda_topics, tomotopy_topics
from benchmarks.tables import Table
from dplda.base.errors import NoisyTopicsWarning
from dplda.runs.grid import diversity, npmi

TITLE_TOPICS, TWEET_TOPICS = 20, 5
SUBJECT = re.compile(r"(?:^|[\t\r\n])Subject: ([^\t\r\n]*)")  # some of the archive's files have tabs for line breaks
Measures = dict[str, Callable[[np.ndarray], float]]


def measure(news: Path, tweets: Path | None, epsilons: Sequence[float | None], seeds: int) -> None:
    """Print a table of titles and, if there are any, one of `tweets` about five events; means over the seeds."""
    posts = list(corpora.whole_messages(news))
    titles, words = corpora.count_words([(SUBJECT.search(post) or ["", ""])[1] for post in posts])
    whole = CountVectorizer(vocabulary=words, token_pattern=corpora.LETTERS).transform(posts)
    measures: Measures = {"NPMI@10 on titles": _coherence(titles), "on posts": _coherence(whole)}
    _table(titles, words, TITLE_TOPICS, measures, epsilons, seeds)
    if tweets is not None:
        counts, words = corpora.count_words(corpora.texts(tweets), most_documents=1.0)
        print()
        _table(counts, words, TWEET_TOPICS, {"NPMI@10": _coherence(counts)}, epsilons, seeds)


def _coherence(counts: sparse.csr_matrix) -> Callable[[np.ndarray], float]:
    return lambda topics: float(npmi(topics, counts).mean())


def _table(
    counts: sparse.csr_matrix,
    words: list[str],
    n_topics: int,
    measures: Measures,
    epsilons: Sequence[float | None],
    seeds: int,
) -> None:
    """Print a row for ordinary LDA, and one for dplda at each epsilon; None is no noise."""
    counts = counts.astype(np.int32)
    table = Table("system", "epsilon", *measures, "diversity")

    def row(system: str, epsilon: str, fit: Callable[[int], np.ndarray]) -> None:
        fits = [fit(seed) for seed in range(seeds)]
        found = [[of(topics) for topics in fits] for of in measures.values()]
        cells = [f"{np.mean(values):.3f} ± {np.std(values):.3f}" for values in found]
        table.row(system, epsilon, *cells, f"{np.mean([diversity(topics) for topics in fits]):.2f}")

    row("tomotopy, 200 sweeps", "", lambda seed: tomotopy_topics(counts, n_topics, seed))
    for epsilon in epsilons:
        settings: dict[str, Any] = {"placement": "none"} if epsilon is None else {"epsilon": epsilon}
        fit = partial(dplda_topics, counts, n_topics, words, max_document_frequency=1.0, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisyTopicsWarning)
            row("dplda", "no noise" if epsilon is None else f"{epsilon:g}", fit)
