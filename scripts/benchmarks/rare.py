"""How rare may a topic be? The least share of documents at which a planted topic is found, by epsilon and size.

Documents are drawn from topics far apart, as those of newsgroups are. One topic is rare: a share of the documents is
about it, with `OWN` of their tokens from it, and the others hold nothing of it. Words are chosen privately, unless
prior topics bring theirs. The topic is found if the topic that is matched with it has a cosine of at least `FOUND`;
two topics merged in equal parts would have 0.71. Noise is simulated.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import dplda
from benchmarks import results
from benchmarks.corpora import names
from benchmarks.results import Record
from benchmarks.tables import markdown
from benchmarks.utility import DELTA
from dplda.base.distributions import match_topics, on_words
from dplda.base.errors import NoisyTopicsWarning, UnsupportedByData
from dplda.learning.synthetic import SHORTEST, draw_counts, synthetic

WORDS, TOPICS, LENGTH, ALPHA0 = 2000, 10, 60, 1.0
LAW: dict[str, Any] = {"concentration": 0.05, "zipf": 0.5}  # of topics: a mean cosine of 0.1, 90 effective words each
OWN = 0.7
FOUND = 0.8
FIRST = 10  # words of the rare topic that guide it, and that are counted among the chosen ones
OTHERS = 30  # prior topics that the documents do not hold
KEY = ("given", "documents", "share", "epsilon", "seed")
MEASURES = {"cosine": "all words", "other_words": "words that are not first"}
GIVEN = ("nothing", "seed words", "prior")


@dataclass(frozen=True, eq=False)
class Case:
    """Counts (n_documents, n_words), and the planted topics (n_topics, n_words), the rare one last."""

    counts: sparse.csr_matrix
    topics: np.ndarray

    @property
    def first_words(self) -> np.ndarray:
        """The most probable words of the rare topic, as columns (FIRST,)."""
        return np.argsort(-self.topics[-1], kind="stable")[:FIRST]


def measure(
    path: Path,
    given: Sequence[str],
    documents: Sequence[int],
    shares: Sequence[float],
    epsilons: Sequence[float | None],
    seeds: int,
) -> None:
    """Measure what is missing in the results at `path`, seed by seed, and append it."""
    done = {tuple(record[name] for name in KEY) for record in results.read(path)}
    for seed, n, share in itertools.product(range(seeds), documents, shares):
        runs = [(name, n, share, epsilon, seed) for name in given for epsilon in epsilons]
        if missing := [run for run in runs if run not in done]:
            case = planted(n, share, seed)
            for run in missing:
                results.append(path, dict(zip(KEY, run, strict=True)) | fitted(case, run[0], run[3], seed))


def planted(n_documents: int, share: float, seed: int) -> Case:
    """A corpus whose last topic is in a `share` of the documents, at least one."""
    rng = np.random.default_rng([seed, n_documents])
    topics = synthetic(1, WORDS, TOPICS, seed=seed, **LAW)[1]
    common = rng.dirichlet(np.full(TOPICS - 1, ALPHA0 / (TOPICS - 1)), size=n_documents)
    rare = np.zeros(n_documents)
    rare[: documents_of(n_documents, share)] = OWN
    proportions = np.column_stack([(1 - rare)[:, None] * common, rare])
    return Case(draw_counts(rng, rng.poisson(LENGTH, n_documents) + SHORTEST, proportions, topics), topics)


def fitted(case: Case, given: str, epsilon: float | None, seed: int) -> Record:
    """What a fit found: `found` of it, and how many of the rare topic's first words are `words` of the fit."""
    words = names(WORDS)
    settings: dict[str, Any] = {"placement": "none"} if epsilon is None else {"epsilon": epsilon, "delta": DELTA}
    settings["max_document_frequency"] = 1.0  # planted texts have no words that are in most of them
    if given == "seed words":
        settings["seed_words"] = {"rare": [words[word] for word in case.first_words]}
    if given == "prior":
        others = synthetic(1, WORDS, OTHERS, seed=1000 + seed, **LAW)[1]
        known = np.vstack([case.topics, others])
        settings["prior"] = dplda.PriorTopics(known, tuple(words), "planted", declared_public=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        try:
            corpus = dplda.Corpus.from_counts(case.counts, words)
            model = dplda.fit(corpus, n_topics=TOPICS, ledger=False, simulate_seed=seed, **settings)
        except UnsupportedByData:
            return {"cosine": 0.0, "other_words": 0.0, "common": 0, "words": 0}
    chosen = set(model.vocabulary)
    listed = sum(words[word] in chosen for word in case.first_words)
    return found(case, on_words(model.topics, model.vocabulary, words)) | {"words": listed}


def found(case: Case, topics: np.ndarray) -> Record:
    """How much of the planted topics the `topics` (k, n_words) hold.

    The `cosine` of the rare topic and its match; the same without the first words (`other_words`), which are in a
    guided topic whatever the documents say; and how many `common` topics are found.
    """
    others = case.topics.copy(), topics.copy()
    for each in others:
        each[:, case.first_words] = 0
    cosines = matched_cosines(topics, case.topics)
    return {
        "cosine": round(float(cosines[-1]), 4),
        "other_words": round(float(matched_cosines(others[1], others[0])[-1]), 4),
        "common": int((cosines[:-1] >= FOUND).sum()),
    }


def matched_cosines(topics: np.ndarray, planted: np.ndarray) -> np.ndarray:
    """The cosine of each planted topic (n, n_words) and its one-to-one match in `topics`, (n,); 0 for no match."""
    matched = np.zeros(len(planted))
    rows, _, cosines = match_topics(planted, topics)
    matched[rows] = cosines
    return matched


def least_share(records: Sequence[Record], measure: str = "cosine") -> float | None:
    """The least share from which on the topic is found in at least half of the runs; None if it is at no share."""
    least = None
    for share in sorted({record["share"] for record in records}, reverse=True):
        if np.mean([record[measure] >= FOUND for record in records if record["share"] == share]) < 0.5:
            break
        least = share
    return least


def table(records: Sequence[Record]) -> str:
    """For each size and epsilon the least share at which the topic is found, and the number of its documents."""
    epsilons = sorted({r["epsilon"] for r in records}, key=lambda epsilon: epsilon or np.inf)
    heads = ["no noise" if epsilon is None else f"epsilon {epsilon:g}" for epsilon in epsilons]
    return markdown(["given", "found by", "documents", *heads], _rows(records, epsilons))


def _rows(records: Sequence[Record], epsilons: Sequence[float | None]) -> Iterator[list[str]]:
    for given, by in itertools.product(dict.fromkeys(r["given"] for r in records), MEASURES):
        for n in sorted({r["documents"] for r in records if r["given"] == given}):
            row = [r for r in records if (r["given"], r["documents"]) == (given, n)]
            cells = (_cell([r for r in row if r["epsilon"] == epsilon], n, by) for epsilon in epsilons)
            yield [given, MEASURES[by], f"{n:,}", *cells]


def _cell(records: Sequence[Record], n: int, measure: str) -> str:
    if not records:
        return ""
    least = least_share(records, measure)
    return "none" if least is None else f"{100 * least:.3g} % ({documents_of(n, least):,})"


def documents_of(n_documents: int, share: float) -> int:
    """The number of documents about the rare topic."""
    return max(1, round(share * n_documents))
