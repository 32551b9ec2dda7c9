"""Are the probabilities calibrated that a run tells of its topics and words? Counted on simulated fits.

A topic is real if ordinary LDA has it (`small.Labelled.in_ordinary`). A word is among the first ten if it is among the
ten first ones of the topic of the fit without noise on the same words that is paired one to one with its topic. What is
shown for a kind of text is what coefficients say that were estimated without this kind of text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from typing import Any
from unittest import mock

import click
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight

import dplda
from benchmarks import corpora, small
from benchmarks.prior import Files
from benchmarks.small import Labelled
from benchmarks.tables import Table
from benchmarks.utility import DELTA
from dplda.base.distributions import match_topics, on_words
from dplda.base.errors import NoisyTopicsWarning, UnsupportedByData
from dplda.learning import verdicts

EPSILONS = 1.0, 2.0, 4.0, 8.0
PUBLIC, PRIOR = "public", "prior"
GUIDED, NOT_GUIDED = "guided", "not guided"  # the topics of runs with seed words
# How words are chosen; public ones are the most frequent of all. In the last way there are prior topics, too.
WAYS = "listed", "private", PUBLIC, PRIOR
# Lists that a person might give for each kind of text, of which half as many as there are topics are taken in turn.
SEED_WORDS = {
    "news items": {
        "iraq war": ["iraq", "baghdad", "fallujah", "troops", "insurgents", "militants"],
        "markets": ["stocks", "shares", "profit", "earnings", "investors", "quarter"],
        "football": ["football", "quarterback", "coach", "touchdown", "soccer"],
        "internet": ["web", "internet", "online", "search", "google", "yahoo"],
        "space": ["nasa", "space", "mars", "moon", "astronaut", "shuttle"],
        "election": ["election", "president", "vote", "votes", "campaign"],
        "oil": ["oil", "crude", "barrel", "prices"],
        "health": ["health", "drug", "patients", "cancer", "study"],
    },
    "abstracts": {
        "heart": ["heart", "cardiac", "coronary", "myocardial", "ventricular"],
        "cancer": ["cancer", "tumor", "carcinoma", "chemotherapy", "metastases"],
        "brain": ["brain", "stroke", "nerve", "seizures", "cerebral"],
        "surgery": ["surgery", "operation", "postoperative", "surgical"],
        "infection": ["infection", "bacterial", "antibiotic", "sepsis", "virus"],
        "children": ["children", "infants", "birth", "pediatric"],
    },
    "posts": {
        "hockey": ["hockey", "team", "season", "nhl", "players"],
        "space": ["nasa", "space", "orbit", "shuttle", "moon"],
        "guns": ["gun", "guns", "firearms", "weapons"],
        "religion": ["god", "jesus", "christian", "bible", "faith"],
        "windows": ["windows", "dos", "driver", "video", "card"],
        "cars": ["car", "cars", "engine", "dealer", "miles"],
        "encryption": ["key", "encryption", "chip", "clipper", "security"],
        "sale": ["sale", "offer", "shipping", "price", "sell"],
        "medicine": ["doctor", "disease", "patients", "medical", "pain"],
        "politics": ["government", "president", "tax", "rights", "law"],
    },
    "reviews": {
        "horror": ["horror", "scary", "blood", "zombie", "killer"],
        "comedy": ["comedy", "funny", "laugh", "jokes", "hilarious"],
        "war": ["war", "soldiers", "army", "battle", "military"],
        "children": ["kids", "children", "disney", "animation", "cartoon"],
        "music": ["music", "songs", "musical", "dance", "singing"],
        "series": ["series", "episode", "episodes", "season"],
        "romance": ["love", "romantic", "romance", "wedding"],
        "crime": ["police", "murder", "detective", "crime", "gangster"],
        "books": ["book", "novel", "author", "read"],
        "space": ["space", "alien", "aliens", "planet", "ship"],
    },
}
FIRST = 10
LEAST_OTHERS = 1000
DECILES = 10
_LOG_SHARE = -4  # the column of a topic's numbers with the log of its share, times the number of topics
# The inverse weight of the squares of coefficients. Few topics of pairs are real, so that their coefficients are held
# closer to 0.
_LOGISTICS = {
    "TOPICS_OF_PAIRS": 0.01,
    "TOPICS_OF_MOMENTS": 0.05,
    "TOPICS_WITH_SEEDS": 0.3,
    "WORDS_OF_PAIRS": 0.05,
    "WORDS_OF_MOMENTS": 0.05,
}


@dataclass(frozen=True, eq=False)
class Told:
    """What one call of a logistic function was asked, and what is true of its topics or words."""

    logistic: str
    """Its name in `dplda.learning.verdicts`, or `PRIOR` for the probability itself."""
    kind: str
    """The kind of text."""
    way: str
    """How words were chosen."""
    numbers: np.ndarray
    true: np.ndarray


def measure(files: Files, seeds: int, *, estimate: bool, guided: bool) -> None:
    """Print for each decile of stated probability the number of topics and words, and the share that is true.

    For runs with seed words instead if they are to be `guided`: then without words. With `estimate`, also print the
    coefficients for `dplda.learning.verdicts`. Those of words and of runs with seed words depend on the probabilities
    of topics, so that a change of topics' coefficients takes a second run.
    """
    told = list(chain.from_iterable(_told(kind, load, seeds, guided=guided) for kind, load in _cases(files)))
    cells: dict[tuple[str, str], list[tuple[np.ndarray, np.ndarray]]] = {}
    cells["TOPICS", PRIOR] = [(one.numbers, one.true) for one in told if one.logistic == PRIOR]
    for name in _LOGISTICS:
        mine = [one for one in told if one.logistic == name]
        for kind in sorted({one.kind for one in mine}):
            others = _estimated([one for one in mine if one.kind != kind])
            for one in (one for one in mine if one.kind == kind):
                cells.setdefault((name.split("_")[0], one.way), []).append((others(one.numbers), one.true))
        if estimate and mine:
            click.echo(f"{name} = {_rounded(_estimated(mine))}")
    asked = [(of, way) for way in WAYS for of in ("TOPICS", "WORDS")]
    columns = chain(*((f"topics, {way} words", "real", "words", "among ten") for way in WAYS))
    if guided:
        asked = [("TOPICS", GUIDED), ("TOPICS", NOT_GUIDED)]
        columns = chain(*((f"topics that are {way}", "real") for _, way in asked))
    table = Table("stated", *columns)
    for low in range(DECILES):
        row = (_cell(cells.get(one, []), low) for one in asked)
        table.row(f"{low / DECILES:g} to {(low + 1) / DECILES:g}", *chain(*row))


def _estimated(told: Sequence[Told]) -> verdicts.Logistic:
    """The likeliest logistic function within the observed ranges, with a ridge; each kind of text weighs the same."""
    numbers, true = np.concatenate([one.numbers for one in told]), np.concatenate([one.true for one in told])
    kinds = np.concatenate([[one.kind] * len(one.true) for one in told])
    least, most = np.quantile(numbers, [0.002, 0.998], axis=0)
    limited = np.clip(numbers, least, most)
    mean, spread = limited.mean(axis=0), np.maximum(limited.std(axis=0), 1e-9)
    fit = LogisticRegression(C=_LOGISTICS[told[0].logistic], max_iter=10_000)
    fit.fit((limited - mean) / spread, true, sample_weight=compute_sample_weight("balanced", kinds))
    slopes = fit.coef_[0] / spread
    return verdicts.Logistic((float(fit.intercept_[0] - slopes @ mean), *slopes), tuple(least), tuple(most))


def _rounded(logistic: verdicts.Logistic) -> verdicts.Logistic:
    """The same with four digits of each number."""
    fields = ("coefficients", "least", "most")
    return verdicts.Logistic(**{f: tuple(float(f"{x:.4g}") for x in getattr(logistic, f)) for f in fields})


def _cell(found: Sequence[tuple[np.ndarray, np.ndarray]], decile: int) -> tuple[str, str]:
    if not found:
        return "", ""
    stated, true = (np.concatenate(parts) for parts in zip(*found, strict=True))
    here = np.minimum((stated * DECILES).astype(int), DECILES - 1) == decile
    return f"{here.sum():,}", f"{true[here].mean():.2f}" if here.any() else ""


def _told(kind: str, load: Callable[[], Labelled], seeds: int, *, guided: bool) -> Iterator[Told]:
    """What fits of the texts were asked and what is true, for all ways to choose words and all budgets."""
    case = load()
    texts = dplda.Corpus.from_texts(case.texts)
    if guided:
        for words, epsilon, seed in product(("listed", "private"), EPSILONS, range(seeds)):
            lists = _some_of(SEED_WORDS[kind], (case.topics + 1) // 2, int(4 * epsilon) + seed)
            asked = {"words": words, "seed_words": lists, "epsilon": epsilon, "delta": DELTA, "simulate_seed": seed}
            yield from _of_one(case, texts, kind, GUIDED, asked)
        return
    _, frequent = corpora.count_words(case.texts)
    public = dplda.Corpus.from_counts(case.of(frequent), frequent, public_vocabulary=True)
    ways: dict[str, dict[str, Any]] = {way: {"words": way} for way in ("listed", "private")} | {PUBLIC: {}}
    if len(case.others) >= LEAST_OTHERS:
        ways[PRIOR] = {"prior": dplda.public_prior(dplda.Corpus.from_texts(case.others, name="others"))}
    for way, asked in ways.items():
        for epsilon in EPSILONS:
            for seed in range(seeds):
                fixed = {"epsilon": epsilon, "delta": DELTA, "simulate_seed": seed}
                yield from _of_one(case, public if way == PUBLIC else texts, kind, way, asked | fixed)


def _some_of(lists: Mapping[str, list[str]], number: int, first: int) -> dict[str, list[str]]:
    """At most `number` of the `lists` of seed words, from the one at `first` on."""
    names = list(lists)
    return {name: lists[name] for name in (names * 2)[first % len(names) :][: min(number, len(names))]}


def _of_one(case: Labelled, corpus: dplda.Corpus, kind: str, way: str, asked: dict[str, Any]) -> Iterator[Told]:
    """What one fit was asked, and what is true; nothing if it ended without a model."""
    numbers: dict[str, np.ndarray] = {}

    def spy(self: verdicts.Logistic, rows: np.ndarray) -> np.ndarray:
        numbers[next(name for name in _LOGISTICS if getattr(verdicts, name) is self)] = rows
        return real_call(self, rows)

    real_call = verdicts.Logistic.__call__
    settings: dict[str, Any] = {"n_topics": case.topics, "ledger": False}
    with warnings.catch_warnings(), mock.patch.object(verdicts.Logistic, "__call__", spy):
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        try:
            model = dplda.fit(corpus, **settings, **asked)
        except UnsupportedByData:
            return
    counts = case.of(model.vocabulary)
    real = case.in_ordinary(model.transform(counts))
    if model.facts.prior_used:
        yield Told(PRIOR, kind, way, np.array(model.probabilities), real)
        return
    order = _as_learned(model, numbers)
    if way == GUIDED:
        rows = numbers["TOPICS_WITH_SEEDS"][order]
        held = rows[:, 2] > 0
        yield Told("TOPICS_WITH_SEEDS", kind, GUIDED, rows[held], real[held])
        yield Told("TOPICS_WITH_SEEDS", kind, NOT_GUIDED, rows[~held], real[~held])
        return
    same_words = dplda.Corpus.from_counts(counts, model.vocabulary, public_vocabulary=True)
    exact = dplda.fit(same_words, placement="none", **settings, simulate_seed=0)
    truth = on_words(exact.topics, exact.vocabulary, model.vocabulary)
    _, partners, _ = match_topics(model.topics, truth)
    first = [{model.vocabulary[w] for w in np.argsort(-truth[p], kind="stable")[:FIRST]} for p in partners]
    among = [[word in first[t] for word in words] for t, words in enumerate(model.word_probabilities)]
    for name, rows in numbers.items():
        by_topic = rows.reshape(len(order), -1, rows.shape[1])[order]
        true = real if name.startswith("TOPICS") else np.ravel(among)
        yield Told(name, kind, way, by_topic.reshape(-1, rows.shape[1]), np.asarray(true, dtype=bool))


def _as_learned(model: dplda.TopicModel, numbers: dict[str, np.ndarray]) -> np.ndarray:
    """The rows of the topics' `numbers` in the order of the topics of `model`, which are sorted by prevalence."""
    rows = next(rows for name, rows in numbers.items() if name.startswith("TOPICS"))
    order = np.argsort(-rows[:, _LOG_SHARE], kind="stable")
    assert np.allclose(np.exp(rows[order, _LOG_SHARE]) / len(rows), np.maximum(model.prevalence, 1e-4), rtol=0.05)
    return order


def _cases(files: Files) -> Iterator[tuple[str, Callable[[], Labelled]]]:
    """Kinds of text and collections of them: short and long ones, 1,000 to 20,000 documents, 4 to 20 topics."""
    for documents, topics in ((1500, 4), (3000, 4), (3000, 8), (7600, 8)):
        yield "news items", partial(small.lines, files.agnews, "news items", "label", topics, documents)
    for documents, topics in ((1400, 5), (2888, 5), (2888, 10)):
        yield "abstracts", partial(small.lines, files.medical, "abstracts", "condition", topics, documents)
    for documents, topics in ((1500, 10), (3000, 5), (3000, 10), (3000, 20), (10_000, 10), (18_846, 20)):
        yield "posts", partial(small.posts, files.news, documents, topics)
    for documents, topics in ((1000, 5), (3000, 5), (6000, 10), (20_000, 20)):
        yield "reviews", partial(small.lines, files.imdb, "reviews", "movie", topics, documents)
