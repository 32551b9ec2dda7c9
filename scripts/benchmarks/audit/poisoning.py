"""Poisoning: does an attacker who adds documents of their own learn a rare attribute of a target's document?

The target's document holds a name, words that the attacker knows, and an attribute. In the question ``attribute`` the
attacker decides between two candidates for it (one document replaced), in ``presence`` whether the document is there
at all (one document added). The attacker adds `POISON` documents, knows all others, and sees the topics, and of dplda
also the released counts and frequencies of words. Shadow models of both worlds tell which statistic separates the
worlds best, and where; both are judged on other models. The attacker's documents are the same in both worlds, so the
bound is that of one document.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import beta, norm

from benchmarks import results
from benchmarks.corpora import names
from benchmarks.results import Record
from benchmarks.systems import dplda_model, tomotopy_topics
from benchmarks.tables import markdown
from dplda.audit.membership import log_likelihoods
from dplda.base.distributions import on_words
from dplda.base.errors import NoisyTopicsWarning
from dplda.budget.accountant import gaussian_budget
from dplda.learning.synthetic import SHORTEST, draw_counts, synthetic

DOCUMENTS, WORDS, PLANTED, TOPICS, LENGTH = 1000, 500, 8, 10, 40
NAME, FIRST, SECOND = WORDS, WORDS + 1, WORDS + 2  # columns of the target's name and of both attributes
ALL_WORDS = WORDS + 3
KNOWN = np.random.default_rng(7).permutation(WORDS)[:15]  # words of the target's document that the attacker knows
REPEATED = 5  # times that the target's document holds the name, and the attribute
RATE = 0.02  # share of the other documents that hold an attribute, once
POISON = 50
SWEEPS = 100
LEVEL = 0.05  # of the intervals
DELTA = 1e-5
LEAST = 1e-12  # probability of a word, so that what is impossible counts as very unlikely

POISONS = ("none", "known words", "known words and candidates")
ADJACENCY = {"attribute": "replace", "presence": "add-remove"}
EPSILONS = {"dplda, epsilon 8": 8.0, "dplda, epsilon 4": 4.0, "dplda, epsilon 1": 1.0}
KEY = ("question", "system", "poison", "world", "seed")

Fit = Callable[[sparse.csr_matrix, int, str], "Released"]


class Released(NamedTuple):
    """What the attacker sees: `topics` (k, ALL_WORDS), and other released numbers for each word, (n, ALL_WORDS)."""

    topics: np.ndarray
    numbers: np.ndarray


def _fit(counts: sparse.csr_matrix, seed: int, adjacency: str, placement: str, epsilon: float) -> Released:
    """Topics by dplda with simulated noise, the sums of the released counts over topics, and the word frequencies."""
    settings: dict[str, Any] = {"placement": placement, "epsilon": epsilon, "delta": DELTA, "adjacency": adjacency}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        model = dplda_model(counts, TOPICS, simulate_seed=seed, **settings)
    words, found = names(ALL_WORDS), model.counts
    of_words = np.zeros((2, len(model.vocabulary)))  # topics from pairs of words come without counts
    if found is not None:
        of_words = np.array([found.sums.counts.sum(axis=1), found.frequencies])
    return Released(on_words(model.topics, model.vocabulary, words), on_words(of_words, model.vocabulary, words))


def _gibbs(counts: sparse.csr_matrix, seed: int, _: str) -> Released:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that two workers make it differ from run to run
        return Released(tomotopy_topics(counts, TOPICS, seed, SWEEPS), np.zeros((0, ALL_WORDS)))


SYSTEMS: dict[str, Fit] = {
    "tomotopy": _gibbs,
    "dplda, no noise": partial(_fit, placement="none", epsilon=8.0),
    **{system: partial(_fit, placement="default", epsilon=epsilon) for system, epsilon in EPSILONS.items()},
}


def measure(path: Path, systems: Sequence[str], questions: Sequence[str], models: int) -> None:
    """Fit the models that are missing in the results at `path`, seed by seed, and append what their topics show."""
    done = {tuple(record[name] for name in KEY) for record in results.read(path)}
    for seed, question, system, poison, world in itertools.product(range(models), questions, systems, POISONS, (0, 1)):
        key = question, system, poison, world, seed
        if key not in done:
            released = SYSTEMS[system](corpus(question, poison, world), 2 * seed + world, ADJACENCY[question])
            shown = [round(value, 4) for value in scores(question, released)]
            results.append(path, dict(zip(KEY, key, strict=True)) | {"scores": shown})


@cache
def others() -> sparse.csr_matrix:
    """The documents that are neither the target's nor the attacker's, (DOCUMENTS - 1, ALL_WORDS)."""
    rng = np.random.default_rng(99)
    topics = synthetic(1, WORDS, PLANTED, zipf=0.5, seed=3)[1]
    proportions = rng.dirichlet(np.full(PLANTED, 1 / PLANTED), DOCUMENTS - 1)
    counts = draw_counts(rng, rng.poisson(LENGTH, DOCUMENTS - 1) + SHORTEST, proportions, topics)
    extra = np.zeros((DOCUMENTS - 1, ALL_WORDS - WORDS), np.int32)
    extra[:, FIRST - WORDS :] = rng.random((DOCUMENTS - 1, 2)) < RATE
    return sparse.csr_matrix(sparse.hstack([counts, sparse.csr_matrix(extra)], dtype=np.int32))


def target(attribute: int | None) -> np.ndarray:
    """The target's document with an attribute, or as far as the attacker knows it, (ALL_WORDS,)."""
    document = np.zeros(ALL_WORDS, np.int32)
    document[KNOWN] = 1
    document[NAME] = REPEATED
    if attribute is not None:
        document[attribute] = REPEATED
    return document


def poisoned(poison: str) -> np.ndarray:
    """The attacker's documents, (POISON or 0, ALL_WORDS): the target's as far as known, or with either candidate."""
    if poison == "none":
        return np.zeros((0, ALL_WORDS), np.int32)
    added = (None, None) if poison == "known words" else (FIRST, SECOND)
    return np.array([target(added[number % 2]) for number in range(POISON)])


def corpus(question: str, poison: str, world: int) -> sparse.csr_matrix:
    """All documents in one of the two worlds: in world 1 the target's document holds the first attribute."""
    absent = [target(SECOND)] if question == "attribute" else []
    chosen = np.array([*([target(FIRST)] if world else absent), *poisoned(poison)], np.int32).reshape(-1, ALL_WORDS)
    return sparse.csr_matrix(sparse.vstack([sparse.csr_matrix(chosen), others()], format="csr", dtype=np.int32))


def scores(question: str, released: Released) -> list[float]:
    """Statistics of what is `released`, larger ones for world 1: six of the topics, and one of each other number."""
    shown = _statistics(released, FIRST)
    return list(shown - _statistics(released, SECOND) if question == "attribute" else shown)


def _statistics(released: Released, attribute: int) -> np.ndarray:
    """How well the topics fit the target's document with an attribute, and how close the attribute is to the target.

    The log-likelihood of the document, and logarithms of the attribute's probability: in the topic of the name, in that
    of the known words, its mean with the topics' parts of the name as weights, in all topics and in the topic where it
    is largest. Then the other numbers of the attribute.
    """
    topics, numbers = released
    likely = log_likelihoods(sparse.csr_matrix(target(attribute)[None]), topics)[0]
    held = np.log(np.maximum(topics[:, attribute], LEAST))
    weights = np.maximum(topics[:, NAME], LEAST)
    near = held[weights.argmax()], held[topics[:, KNOWN].sum(axis=1).argmax()], held @ weights / weights.sum()
    return np.array([likely, *near, np.log(np.exp(held).sum()), held.max(), *numbers[:, attribute]])


def successes(found: np.ndarray) -> tuple[int, int]:
    """Right guesses and guesses on the scores (2 worlds, models, statistics), each half judged by the other half."""
    half = found.shape[1] // 2
    halves = found[:, :half], found[:, half:]
    right = sum(_right(shadow, judged) for shadow, judged in (halves, halves[::-1]))
    return right, 2 * found.shape[1]


def _right(shadow: np.ndarray, judged: np.ndarray) -> int:
    """Right guesses on `judged` with the statistic and the threshold that separate `shadow` best."""
    direction = _discriminant(shadow)
    shadow, judged = (np.concatenate([part, part @ direction[:, None]], axis=2) for part in (shadow, judged))
    cuts = [_cut(*shadow[:, :, column]) for column in range(shadow.shape[2])]
    column = int(np.argmax([rate for rate, _ in cuts]))
    above = judged[:, :, column] > cuts[column][1]
    return int(above[1].sum() + (~above[0]).sum())


def _discriminant(shadow: np.ndarray) -> np.ndarray:
    """Fisher's linear discriminant of the two worlds, (statistics,)."""
    within = sum(np.cov(world, rowvar=False) for world in shadow)
    return np.asarray(np.linalg.pinv(np.atleast_2d(within)) @ (shadow[1] - shadow[0]).mean(axis=0))


def _cut(without: np.ndarray, with_it: np.ndarray) -> tuple[float, float]:
    """The largest rate of right guesses by a threshold, and the threshold."""
    values = np.unique(np.concatenate([without, with_it]))
    thresholds = np.concatenate([values[:1] - 1, (values[:-1] + values[1:]) / 2])
    rates = (with_it[None] > thresholds[:, None]).mean(axis=1) + (without[None] <= thresholds[:, None]).mean(axis=1)
    best = int(rates.argmax())
    return float(rates[best] / 2), float(thresholds[best])


def most(epsilon: float) -> float:
    """The largest rate of right guesses that the Gaussian mechanism of a plan at `epsilon` allows, from even odds."""
    return float(norm.cdf(gaussian_budget(epsilon, DELTA) / 2) + 0.01 * DELTA)


def interval(right: int, guesses: int) -> tuple[float, float]:
    """The two-sided interval of Clopper and Pearson for a rate, at `LEVEL`."""
    low = beta.ppf(LEVEL / 2, right, guesses - right + 1) if right else 0.0
    high = beta.ppf(1 - LEVEL / 2, right + 1, guesses - right) if right < guesses else 1.0
    return float(low), float(high)


def table(records: Sequence[Record]) -> str:
    """Right guesses for each question, system and poison, with intervals, beside the limit."""
    rows = []
    for question, system in itertools.product(ADJACENCY, SYSTEMS):
        chosen = [r for r in records if (r["question"], r["system"]) == (question, system)]
        if chosen:
            limit = f"{100 * most(EPSILONS[system]):.0f}" if system in EPSILONS else ""
            cells = (_cell([r for r in chosen if r["poison"] == poison]) for poison in POISONS)
            rows.append([question, system, *cells, limit])
    return markdown(["question", "system", *(f"poison: {poison}" for poison in POISONS), "at most"], rows)


def _cell(records: Sequence[Record]) -> str:
    by_world = [{r["seed"]: r["scores"] for r in records if r["world"] == world} for world in (0, 1)]
    seeds = sorted(by_world[0].keys() & by_world[1].keys())
    if len(seeds) < 8:
        return ""
    right, guesses = successes(np.array([[world[seed] for seed in seeds] for world in by_world]))
    low, high = interval(right, guesses)
    return f"{100 * right / guesses:.0f} ({100 * low:.0f} to {100 * high:.0f}) of {guesses}"
