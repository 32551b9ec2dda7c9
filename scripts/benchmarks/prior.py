"""What prior topics from public text do for private text: NPMI with them and without, beside Gibbs sampling."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

import dplda
from benchmarks import corpora, systems
from benchmarks.tables import Table
from benchmarks.utility import DELTA
from dplda.base.distributions import on_words
from dplda.base.errors import NoisyTopicsWarning
from dplda.model.prior_topics import PriorTopics
from dplda.runs.grid import diversity, npmi

PUBLIC_REVIEWS = 20_000  # reviews among the public text


@dataclass(frozen=True)
class Files:
    """The raw files of the real corpora."""

    news: Path
    imdb: Path
    medical: Path
    agnews: Path


@dataclass(frozen=True, eq=False)
class PriorCase:
    """Private and public counts (n_documents, n_words) over the same words, and the number of topics."""

    private: sparse.csr_matrix
    public: sparse.csr_matrix
    words: list[str]
    n_topics: int


def few_posts(files: Files) -> PriorCase:
    """2,000 posts of 20 newsgroups; public: the other posts, and reviews."""
    posts = posts_of(files.news)
    return _case(posts[:2000], [*posts[2000:], *corpora.texts(files.imdb, PUBLIC_REVIEWS)], 20)


def abstracts(files: Files) -> PriorCase:
    """Medical abstracts; public: posts and reviews, which are about something else."""
    return _case(corpora.texts(files.medical), [*posts_of(files.news), *corpora.texts(files.imdb, PUBLIC_REVIEWS)], 10)


def posts(files: Files) -> PriorCase:
    """All posts of 20 newsgroups; public: reviews, which are about something else."""
    return _case(posts_of(files.news), corpora.texts(files.imdb), 20)


def reviews(files: Files) -> PriorCase:
    """Film reviews; public: posts, which are about something else."""
    return _case(corpora.texts(files.imdb), posts_of(files.news), 20)


def news_items(files: Files) -> PriorCase:
    """3,000 news items; public: the other news items."""
    items = corpora.texts(files.agnews)
    return _case(items[:3000], items[3000:], 10)


def half_of_abstracts(files: Files) -> PriorCase:
    """Half of the medical abstracts; public: the other half."""
    texts = corpora.texts(files.medical)
    return _case(texts[::2], texts[1::2], 10)


def titles(files: Files) -> PriorCase:
    """Subject lines of posts; public: the first sentences of news items and abstracts, about something else."""
    subjects = [re.sub(r"(?i)\bre:", "", subject) for subject in corpora.subjects(files.news)]
    sentences = [*corpora.texts(files.agnews), *corpora.texts(files.medical)]
    return _case(subjects[:8000], [sentence.split(". ", 1)[0] for sentence in sentences], 10)


CASES: dict[str, Callable[[Files], PriorCase]] = {
    "few-posts": few_posts,
    "medical": abstracts,
    "posts": posts,
    "reviews": reviews,
    "news-items": news_items,
    "half-medical": half_of_abstracts,
    "titles": titles,
}


def measure(files: Files, cases: Sequence[str], epsilons: Sequence[float | None], seeds: int) -> None:
    """Print NPMI and diversity of each case with a prior and without, means over `seeds` fits with simulated noise."""
    budgets = ("no noise" if epsilon is None else f"ε = {epsilon:g}" for epsilon in epsilons)
    table = Table("NPMI@10 (diversity)", "prior used", *budgets, f"tomotopy, {systems.SWEEPS} sweeps")
    for name in cases:
        case = CASES[name](files)
        corpus = dplda.Corpus.from_counts(case.private, case.words, public_vocabulary=True)
        public = dplda.Corpus.from_counts(case.public, case.words, public_vocabulary=True, name="public")
        gibbs = systems.tomotopy_topics(case.private, case.n_topics, 0)
        peer = _cell(npmi(gibbs, case.private).mean(), diversity(gibbs))
        for label, prior in (("with prior", dplda.public_prior(public)), ("without", None)):
            fits = [[_one(corpus, case, epsilon, seed, prior) for seed in range(seeds)] for epsilon in epsilons]
            found = np.mean(fits, axis=1)  # (epsilons, measures)
            used = f"{found[:, 2].mean():.0%}" if prior else ""
            cells = (_cell(*measures) for measures in found[:, :2])
            table.row(f"{name}, {label}", used, *cells, "" if prior else peer)


def _cell(coherence: float, distinct: float) -> str:
    return f"{coherence:.3f} ({distinct:.2f})"


def _one(
    corpus: dplda.Corpus, case: PriorCase, epsilon: float | None, seed: int, prior: PriorTopics | None
) -> tuple[float, float, bool]:
    """NPMI and diversity of one fit, and whether the prior was used."""
    settings = {"placement": "none"} if epsilon is None else {"epsilon": epsilon, "delta": DELTA}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        model = dplda.fit(corpus, n_topics=case.n_topics, ledger=False, simulate_seed=seed, prior=prior, **settings)
    topics = on_words(model.topics, model.vocabulary, case.words)
    used = bool(model.facts.prior_used)
    return float(npmi(topics, case.private).mean()), diversity(topics), used


def posts_of(news: Path) -> list[str]:
    """The posts in an order that does not depend on their group."""
    found = list(corpora.messages(news))
    return [found[index] for index in np.random.default_rng(5).permutation(len(found))]


def _case(private: Sequence[str], public: Sequence[str], n_topics: int) -> PriorCase:
    """Counts of the 2,000 most frequent words in at least five private documents and in at most a tenth of them."""
    rule = {"token_pattern": corpora.LETTERS}
    vectorizer = CountVectorizer(
        stop_words="english", min_df=5, max_df=corpora.MOST_DOCUMENTS, max_features=corpora.N_WORDS, **rule
    )
    counts = vectorizer.fit_transform(private).tocsr()
    words = [str(word) for word in vectorizer.get_feature_names_out()]
    return PriorCase(counts, CountVectorizer(vocabulary=words, **rule).transform(public).tocsr(), words, n_topics)
