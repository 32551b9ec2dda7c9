"""dplda beside its rivals' own code, and beside what users would take without privacy, on labelled texts.

All systems get the same texts. Those but dplda get their words by the rule of `corpora`, for which the exact document
frequencies are looked at; dplda chooses words from the texts, and pays for it. The noise of dplda is exact and charged.

The topics of Manzonelli, Zhang and Vadhan (2024) are not private for any epsilon: `word_totals` computes from them how
often each word is in all documents, exactly, and so those of one document for who knows the others.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score

import dplda
from benchmarks import corpora, results, rival_code, small, systems, utility
from benchmarks.measuring import timed
from benchmarks.results import Record
from benchmarks.small import Labelled
from dplda.base.errors import InputError, NoisyTopicsWarning, UnsupportedByData
from dplda.runs.grid import diversity, npmi

DELTA = 1e-6
KEY = ("corpus", "system", "settings", "epsilon", "seed")
AUTOMATIC = ", automatic"  # ends the names of systems that determine the number of topics
EVENTS = {"Ottawa": 890, "Germanwings": 469, "Charlie Hebdo": 2079, "Sydney": 1221, "Ferguson": 1143}
"""The tweets of PHEME about each event, in the order of the file, which has no labels (Zubiaga and others 2016)."""
ALL_POSTS, ALL_NEWS_ITEMS = 18_847, 7_600
_NEVER = 1.0  # limit on document frequencies: none
_SIZES, _FEW = 1000, 40  # sizes of a topic tried at a time, and words that they are tried on


@dataclass(frozen=True)
class Options:
    """What is measured: corpora (with the `files` of their texts), systems, epsilons, seeds, the rivals' code."""

    corpora: Sequence[str]
    systems: Sequence[str]
    epsilons: Sequence[float]
    seeds: int
    files: Mapping[str, Path | None]
    manzonelli: Path | None
    python: str


@dataclass(frozen=True, eq=False)
class Found:
    """Topics (n_topics, n_words) over `words`, the topic of each document if the system says it, and seconds."""

    words: Sequence[str]
    topics: np.ndarray
    seconds: float
    assigned: np.ndarray | None = None
    version: str = ""


Learn = Callable[[Labelled, int | None, float | None, int, Options], Found]  # case, topics, epsilon, seed, options


def measure(path: Path, options: Options) -> None:
    """Measure what is missing in the results at `path`, and append it."""
    results.fill(path, KEY, wanted(options), lambda record: one(record, options))


def wanted(options: Options) -> Iterator[Record]:
    """The keys of all measurements asked for, seed by seed: what is interrupted is whole for fewer seeds."""
    for seed, corpus, system in itertools.product(range(options.seeds), options.corpora, options.systems):
        for epsilon in options.epsilons if SYSTEMS[system].private else [None]:
            yield dict(zip(KEY, (corpus, system, SYSTEMS[system].settings(), epsilon, seed), strict=True))


def one(record: Record, options: Options) -> Record:
    """Fit what `record` names: measures of its topics and seconds, or only that there are none."""
    case, system = load(record["corpus"], options), record["system"]
    n_topics = None if system.endswith(AUTOMATIC) else case.topics
    found = SYSTEMS[system].learn(case, n_topics, record["epsilon"], record["seed"], options)
    if len(found.words) < 2:  # no topics, or of one word each
        return {"topics": 0, "seconds": round(found.seconds, 1)}
    counts = case.of(found.words)
    if found.assigned is None:
        nmi = small.agreement(case.labels, found.topics, counts)
    else:
        nmi = float(normalized_mutual_info_score(case.labels, found.assigned))
    measures = {
        "topics": len(found.topics),
        "words": len(found.words),
        "npmi": float(npmi(found.topics, counts).mean()),
        "nmi": nmi,
        "diversity": diversity(found.topics),
        "seconds": round(found.seconds, 1),
    }
    if system == "manzonelli":
        measures["revealed"] = float(np.mean(word_totals(found.topics, 1 / case.topics) == plain_totals(case, found)))
    return measures | ({"version": found.version} if found.version else {})


# Corpora


def load(corpus: str, options: Options) -> Labelled:
    """The corpus of that name, from the file that the options name."""
    name, read = CORPORA[corpus]
    path = options.files.get(name)
    if path is None:
        raise click.UsageError(f"--{name} must be given, or leave {corpus} out of --corpus.")
    return read(path)


@functools.cache
def tweets(folder: Path) -> Labelled:
    """The tweets of PHEME without links, and their events, from the `folder` of the code of Manzonelli and others."""
    path = folder / "data" / "pheme_raw.json"
    texts = json.loads(path.read_text(encoding="utf-8"))["text"]
    labels = [event for event, number in EVENTS.items() for _ in range(number)]
    if len(texts) != len(labels):
        raise InputError(f"{path} has {len(texts)} tweets instead of {len(labels)}. Use the file of the repository.")
    return Labelled("tweets", [re.sub(r"https?://\S+", "", text) for text in texts], labels, len(EVENTS))


CORPORA: dict[str, tuple[str, Callable[[Path], Labelled]]] = {  # the option that names its file, and how it is read
    "tweets": ("manzonelli", tweets),
    "few-posts": ("news", functools.cache(small.posts)),
    "posts": ("news", functools.cache(lambda path: small.posts(path, ALL_POSTS, 20))),
    "abstracts": ("medical", functools.cache(lambda path: small.lines(path, "abstracts", "condition", 5))),
    "news-items": (
        "agnews",
        functools.cache(lambda path: small.lines(path, "news items", "label", 4, ALL_NEWS_ITEMS)),
    ),
}


def limit(case: Labelled) -> float:
    """The limit on document frequencies, for all systems: a tenth, and none for tweets, whose events are in more."""
    return _NEVER if case.name == "tweets" else corpora.MOST_DOCUMENTS


@functools.cache
def plain(case: Labelled) -> list[str]:
    """The words by the rule of `corpora` with spaces between them, but those with apostrophes, where rivals split."""
    vectorizer = CountVectorizer(stop_words="english", token_pattern=corpora.LETTERS, max_df=limit(case))
    words = {word for word in vectorizer.fit(case.texts).vocabulary_ if "'" not in word}
    analyze = vectorizer.build_analyzer()
    return [" ".join(word for word in analyze(text) if word in words) for text in case.texts]


# Systems


def learn_dplda(case: Labelled, n_topics: int | None, epsilon: float | None, seed: int, options: Options) -> Found:
    """A whole charged run on the texts; `seed` only counts, for the noise has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        try:
            model, seconds, _ = timed(
                lambda: systems.charged_fit(
                    dplda.Corpus.from_texts(case.texts, name=case.name),
                    "auto" if n_topics is None else n_topics,
                    epsilon=epsilon,
                    delta=DELTA,
                    max_document_frequency=limit(case),
                )
            )
        except UnsupportedByData:
            return Found([], np.empty((0, 0)), 0.0)
    counts = case.of(model.vocabulary)
    return Found(model.vocabulary, model.topics, seconds, small.largest_topics(model.transform(counts), counts))


def learn_counts(fit: Callable[..., np.ndarray]) -> Learn:
    """A system that learns topics from the counts of frequent words, a number of topics and a seed."""

    def learn(case: Labelled, n_topics: int | None, epsilon: float | None, seed: int, options: Options) -> Found:
        def topics() -> tuple[np.ndarray, list[str]]:
            counts, words = corpora.count_words(case.texts, most_documents=limit(case))
            return fit(counts, n_topics, seed), words

        (found, words), seconds, _ = timed(topics)
        return Found(words, found, seconds)

    return learn


def sklearn_topics(counts: Any, n_topics: int, seed: int) -> np.ndarray:
    """Variational inference by scikit-learn with its own defaults."""
    components = LatentDirichletAllocation(n_topics, random_state=seed).fit(counts).components_
    topics: np.ndarray = components / components.sum(axis=1, keepdims=True)
    return topics


def learn_nmf(case: Labelled, n_topics: int | None, epsilon: float | None, seed: int, options: Options) -> Found:
    """Non-negative matrix factors of TF-IDF by scikit-learn with its own defaults; documents by its own weights."""

    def factors() -> tuple[Any, list[str], np.ndarray, np.ndarray]:
        counts, words = corpora.count_words(case.texts, most_documents=limit(case))
        model = NMF(n_topics, random_state=seed)
        weights = model.fit_transform(TfidfTransformer().fit_transform(counts))
        return counts, words, weights, model.components_

    (counts, words, weights, topics), seconds, _ = timed(factors)
    return Found(words, topics, seconds, small.largest_topics(weights, counts))


def elsewhere(name: str) -> Learn:
    """A system that runs in a Python of its own; see `rival_code`."""

    def learn(case: Labelled, n_topics: int | None, epsilon: float | None, seed: int, options: Options) -> Found:
        if name == "manzonelli" and options.manzonelli is None:
            raise click.UsageError("--manzonelli must name their code, or leave manzonelli out of --system.")
        asked = {"system": name, "n_topics": n_topics, "epsilon": epsilon, "delta": DELTA, "seed": seed}
        asked_texts = {"documents": plain(case), "code": str(options.manzonelli)}
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "asked.json").write_text(json.dumps(asked | asked_texts), encoding="utf-8")
            command = [options.python, "-I", rival_code.__file__, folder]  # -I: none of our folders to import from
            if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
                raise InputError(f"{options.python} did not run {name} to its end. Install there what it requires.")
            with np.load(Path(folder) / "found.npz") as found:
                words, topics, assigned = ([*map(str, found["words"])], found["topics"], found["assigned"])
                seconds, told = float(found["seconds"]), str(found["version"])
        return Found(words, topics, seconds, assigned if len(assigned) else None, told)

    return learn


def word_totals(topics: np.ndarray, prior: float, most: int = 10_000_000) -> np.ndarray:
    """How often each word is in the documents, from the published topics (n_topics, n_words) of Gibbs samples alone.

    A topic is `(count of the word + prior) / (size + prior * n_words)`. Its size is the number that makes all counts
    whole. Not finite if a topic has no such size below `most` words.
    """
    return np.sum([_topic_counts(topic, prior, most) for topic in topics], axis=0)


def _topic_counts(topic: np.ndarray, prior: float, most: int) -> np.ndarray:
    largest = np.sort(topic)[-_FEW:]
    for first in range(0, most, _SIZES):
        totals = np.arange(first, first + _SIZES) + prior * len(topic)
        counts = totals[:, None] * largest - prior
        for total in totals[np.abs(counts - counts.round()).max(axis=1) < 1e-6]:
            exact = total * topic - prior
            if np.abs(exact - exact.round()).max() < 1e-6:
                return exact.round()
    return np.full(len(topic), np.nan)


def plain_totals(case: Labelled, found: Found) -> np.ndarray:
    """How often each of the found words is in the documents, counted."""
    totals = CountVectorizer(vocabulary=list(found.words)).transform(plain(case)).sum(axis=0)
    return np.asarray(totals).ravel()


def exact_settings() -> str:
    """The settings of dplda."""
    return utility.dplda_settings(utility.Options([], [], exact=True))


@dataclass(frozen=True)
class System:
    """How topics are found, whether an epsilon is given, and the settings that identify them."""

    learn: Learn
    settings: Callable[[], str]
    private: bool = False


SYSTEMS = {
    "dplda": System(learn_dplda, exact_settings, private=True),
    "manzonelli": System(elsewhere("manzonelli"), lambda: f"{rival_code.SWEEPS} sweeps", private=True),
    "tomotopy": System(
        learn_counts(systems.tomotopy_topics), lambda: f"{version('tomotopy')}, {systems.SWEEPS} sweeps"
    ),
    "gensim": System(learn_counts(systems.gensim_topics), lambda: f"{version('gensim')}, {systems.PASSES} passes"),
    "sklearn": System(learn_counts(sklearn_topics), lambda: version("scikit-learn")),
    "nmf": System(learn_nmf, lambda: version("scikit-learn")),
    "bertopic": System(elsewhere("bertopic"), lambda: ""),
    f"dplda{AUTOMATIC}": System(learn_dplda, exact_settings, private=True),
    f"bertopic{AUTOMATIC}": System(elsewhere("bertopic"), lambda: ""),
}
