"""Short documents: the titles of posts, where most pairs of words of a topic never occur in one document.

NPMI is -1 for a pair of words that never occurs together, so that it is negative on titles, for every system. That of
the same topics on the whole posts says whether their words belong together.
"""

from __future__ import annotations

import re
import tarfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks import corpora
from benchmarks.systems import dplda_topics, tomotopy_topics
from benchmarks.tables import Table
from dplda.errors import NoisyTopicsWarning
from dplda.evaluation.topic_quality import diversity, npmi

TOPICS = 20
SUBJECT = re.compile(r"(?:^|[\t\r\n])Subject: ([^\t\r\n]*)")  # some of the archive's files have tabs for line breaks


def measure(news: Path, epsilons: Sequence[float | None], seeds: int) -> None:
    """Print a row for each system and epsilon: NPMI on titles and on posts, and diversity, means over the seeds."""
    posts = list(_files(news))
    titles, words = corpora.count_words([(SUBJECT.search(post) or ["", ""])[1] for post in posts])
    titles = titles.astype(np.int32)
    whole = CountVectorizer(vocabulary=words, token_pattern=corpora.LETTERS).transform(posts)
    table = Table("system", "epsilon", "NPMI@10 on titles", "on posts", "diversity")

    def row(system: str, epsilon: str, fit: Callable[[int], np.ndarray]) -> None:
        found = [
            (npmi(topics, titles).mean(), npmi(topics, whole).mean(), diversity(topics))
            for topics in map(fit, range(seeds))
        ]
        means, stds = np.mean(found, axis=0), np.std(found, axis=0)
        cells = [f"{mean:.3f} ± {std:.3f}" for mean, std in zip(means[:2], stds[:2], strict=True)]
        table.row(system, epsilon, *cells, f"{means[2]:.2f}")

    row("tomotopy, 200 sweeps", "", lambda seed: tomotopy_topics(titles, TOPICS, seed))
    for epsilon in epsilons:
        settings: dict[str, Any] = {"placement": "none"} if epsilon is None else {"epsilon": epsilon}
        fit = partial(dplda_topics, titles, TOPICS, words, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisyTopicsWarning)
            row("dplda", "no noise" if epsilon is None else f"{epsilon:g}", fit)


def _files(news: Path) -> Iterator[str]:
    with tarfile.open(news) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                yield file.read().decode("utf-8", "replace")
