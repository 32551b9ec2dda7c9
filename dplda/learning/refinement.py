"""Refinement of topics by noisy variational rounds (Park et al. 2020; Hoffman et al. 2010), guided by seed words.

A round estimates the true word-topic counts from their noisy sums, by an empirical-Bayes posterior. A true count
(n_words, k) is modelled as f n rho: f is the word's frequency in the corpus, n the number of tokens of the topic, and
rho the word's lift in the topic. The distribution of lifts is estimated from the noisy counts as a mixture on a grid
(Kiefer and Wolfowitz 1956; Efron 2014), separately for groups of words with similar signal-to-noise ratio. Only
released counts are used.

Guided topics (`Guide`) start from words of the user, and are kept near them while they are refined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtr

from dplda.base.errors import UnsupportedByData
from dplda.model.prior_topics import CountSums

SMOOTHING = 0.02  # pseudo-count added for every word in every topic
_GROUPS = 4  # number of groups into which words are divided by signal-to-noise ratio
_LIFTS = 40  # number of components of the mixture
_LEAST_LIFT = 0.02
_WIDTH = 0.25  # standard deviation of a component, relative to its lift
_STEPS = 25  # expectation-maximisation steps for the weights of the mixture
_TOP = 10  # first words of a topic
_SAMPLE = 4000  # number of counts of a group that these weights are estimated from
_START = 0.5  # weight of the seed words in a topic at the start of the refinement
PULL = 0.15  # weight of the seed words in a topic in every round, and in the result
_SEEN = 2.5  # standard deviations of the noise that the words of a list must stand out by to guide a topic
_LEAST = 1e-6  # bound on frequencies

# Maps topics (n_words, k), columns on the simplex, to their noisy expected word-topic counts (n_words, k), and to the
# standard deviation of the noise (n_words,).
ExpectedCounts = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Refined:
    """The result of the refinement, and numbers for the verdicts."""

    counts: np.ndarray  # (n_words, k): positive word-topic counts, estimated from the sums
    sums: CountSums  # released
    agreement: np.ndarray  # (k,): the cosine of the topics at the start of the last two rounds
    signal: np.ndarray  # (k,): the mean quotient of the noisy counts of ten top words and the std of their noise


def variational_rounds(
    expected_counts: ExpectedCounts,
    start: np.ndarray,
    frequencies: np.ndarray,
    rounds: int,
    *,
    memory: float = 0.5,
    smoothing: float = SMOOTHING,
    earlier: CountSums | None = None,
) -> Refined:
    """Return the word-topic counts after `rounds` noisy M-steps, and how far they stand out from noise.

    `start` are the first topics (n_words, k), columns on the simplex; `frequencies` (n_words,) sum to one. Counts, and
    so their noise, are averaged over rounds with weights `memory` ** age. The next round starts from the posterior mean
    of the averaged counts. The result is their posterior median, which has the least l1 error. `smoothing` is added to
    every count. `earlier` are the sums of rounds before these.
    """
    topics = previous = start
    sums = earlier or CountSums(np.zeros_like(start), np.zeros(len(start)), 0.0)
    for number in range(1, rounds + 1):
        sums = sums.with_round(*expected_counts(topics), memory)
        mean, median = posterior(sums.counts, sums.std, frequencies)
        if number < rounds:
            previous, topics = topics, smoothed_topics(mean, smoothing)
    if sums.std.all():
        top = first_words(median / np.maximum(median.sum(axis=0), 1e-300)).T
        signal = np.take_along_axis(sums.counts / sums.std[:, None], top, axis=0).mean(axis=0)
    else:
        signal = np.full(start.shape[1], np.inf)
    return Refined(median + smoothing, sums, cosines(previous, topics), signal)


def smoothed_topics(counts: np.ndarray, smoothing: float) -> np.ndarray:
    """Return topics (n_words, k) that are proportional to `counts` plus `smoothing`."""
    smoothed = counts + smoothing
    return np.asarray(smoothed / smoothed.sum(axis=0))


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosine of each column of `first` (n_words, k) with the same column of `second`, (k,)."""
    norms = np.linalg.norm(first, axis=0) * np.linalg.norm(second, axis=0)
    return np.asarray((first * second).sum(axis=0) / np.maximum(norms, 1e-300))


def first_words(topics: np.ndarray) -> np.ndarray:
    """Return the ten most probable words of each topic (n_words, k), or all if there are fewer, (k, 10)."""
    return np.argsort(-topics, axis=0, kind="stable")[:_TOP].T


def top_word_probabilities(sums: CountSums, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each topic's ten words with the largest estimated counts, and the probability that each belongs there.

    Both are (k, 10). The probability is the posterior one: that the word's true count exceeds the middle between the
    tenth and the eleventh largest posterior medians. It is 1 without noise, and with ten words or fewer.
    """
    counts, std = sums.counts, sums.std
    mixtures = list(_mixtures(counts, std, frequencies)) if std.any() else []
    median = _estimates(mixtures, counts)[1]
    order = np.argsort(-median, axis=0, kind="stable")
    top, columns = order[:_TOP].T, np.arange(counts.shape[1])
    if not mixtures or len(order) <= _TOP:
        return top, np.ones(top.shape)
    middle = (median[order[_TOP - 1], columns] + median[order[_TOP], columns]) / 2
    probabilities = np.ones(top.shape)
    for words, mixture in mixtures:
        topics, places = np.nonzero(np.isin(top, words))
        cells = top[topics, places]
        found = mixture.above(
            counts[cells, topics], std[cells], mixture.sizes[topics] * frequencies[cells], middle[topics]
        )
        probabilities[topics, places] = found
    return top, probabilities


def posterior(counts: np.ndarray, std: np.ndarray, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return posterior mean and median of the true counts (n_words, k), both nonnegative, given noisy `counts`.

    The noise is Gaussian with standard deviation `std` (n_words,); `frequencies` (n_words,) sum to one. If `std` is
    zero, the result is the counts, with negative ones set to zero.
    """
    return _estimates(_mixtures(counts, std, frequencies) if std.any() else (), counts)


def _estimates(mixtures: Iterable[tuple[np.ndarray, _Mixture]], counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return posterior mean and median (n_words, k) by the `mixtures`; without any, the nonnegative `counts`."""
    mean = np.maximum(counts, 0.0)
    median = mean.copy()
    for words, mixture in mixtures:
        mean[words], median[words] = (values.reshape(len(words), -1) for values in mixture.estimates)
    return mean, median


def _mixtures(counts: np.ndarray, std: np.ndarray, frequencies: np.ndarray) -> Iterator[tuple[np.ndarray, _Mixture]]:
    """Yield groups of words, and the mixture that is estimated for each."""
    sizes = np.maximum(counts.sum(axis=0), 0.0)
    sizes = np.maximum(sizes, 1e-3 * max(float(sizes.sum()), 1e-9))
    expected = np.outer(frequencies, sizes)
    lifts = np.concatenate([[0.0], np.geomspace(_LEAST_LIFT, 4 * sizes.sum() / sizes.min(), _LIFTS - 1)])
    for words in np.array_split(np.argsort(-frequencies / std, kind="stable"), _GROUPS):
        if len(words):
            noise = np.broadcast_to(std[words, None], (len(words), counts.shape[1]))
            yield words, _Mixture.fit(counts[words].ravel(), noise.ravel(), expected[words].ravel(), lifts, sizes)


@dataclass(frozen=True)
class _Mixture:
    """The mixture of `lifts` with `weights` of one group of words; posterior mean and median of its counts (n,).

    `sizes` (k,) are the topics' numbers of tokens.
    """

    lifts: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    estimates: tuple[np.ndarray, np.ndarray]

    @classmethod
    def fit(
        cls, x: np.ndarray, std: np.ndarray, expected: np.ndarray, lifts: np.ndarray, sizes: np.ndarray
    ) -> _Mixture:
        """Fit the mixture to the noisy counts `x` (n,) with noise of `std`, `expected` at lift 1."""
        x, std, expected = (np.asarray(values, np.float32)[:, None] for values in (x, std, expected))
        centres, spread, variance, likelihood = _components(x, std, expected, lifts)
        sample = likelihood[:: max(1, len(x) // _SAMPLE)]
        weights = np.full(len(lifts), 1 / len(lifts), np.float32)
        for _ in range(_STEPS):
            weights *= (1 / (sample @ weights)) @ sample / np.float32(len(sample))
            weights = np.maximum(weights, np.float32(1e-12))  # so that every count keeps a positive likelihood
        likelihood *= weights
        within = np.maximum(centres + spread / variance * (x - centres), 0)
        whole = likelihood.sum(axis=1)
        middle = (np.cumsum(likelihood, axis=1) < whole[:, None] / 2).sum(axis=1).clip(max=len(lifts) - 1)
        mean = np.einsum("ij,ij->i", likelihood, within) / whole
        return cls(lifts, weights, sizes, (mean, within[np.arange(len(x)), middle]))

    def above(self, x: np.ndarray, std: np.ndarray, expected: np.ndarray, least: np.ndarray) -> np.ndarray:
        """Return the posterior probability (n,) that the true count behind each noisy `x` (n,) exceeds `least` (n,)."""
        x, std, expected = (np.asarray(values, np.float32)[:, None] for values in (x, std, expected))
        centres, spread, variance, likelihood = _components(x, std, expected, self.lifts)
        likelihood = likelihood * self.weights
        within, deviation = centres + spread / variance * (x - centres), np.sqrt(spread / variance) * std
        exceeds = ndtr((within - least[:, None]) / np.maximum(deviation, 1e-9))
        return np.asarray((likelihood * exceeds).sum(axis=1) / likelihood.sum(axis=1))


def _components(
    x: np.ndarray, std: np.ndarray, expected: np.ndarray, lifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the mixture's component of each lift for the noisy counts `x` (n, 1), as four arrays (n, len(lifts)).

    They are the mean and the variance of the true count before `x` is known, the variance of the noisy count, and the
    likelihood of `x` up to a factor for each row.
    """
    centres = expected * lifts.astype(np.float32)
    spread = (np.float32(_WIDTH) * centres) ** 2
    variance = spread + std**2
    log = (x - centres) ** 2 / variance + np.log(variance)
    return centres, spread, variance, np.exp(np.float32(-0.5) * (log - log.min(axis=1, keepdims=True)))


@dataclass(frozen=True)
class Guide:
    """Distributions over the seed words (n_words, n_guided), and the topic that each of them guides, (n_guided,)."""

    seeds: np.ndarray
    columns: np.ndarray

    def start(self, topics: np.ndarray) -> np.ndarray:
        """Mix the guided ones of `topics` (n_words, k) with their seed words, for the first round."""
        return self._mixed(topics, _START)

    def pull(self, expected: ExpectedCounts) -> ExpectedCounts:
        """Return a function that pulls guided topics towards their seed words, and then calls `expected`."""
        return lambda topics: expected(self._mixed(topics, PULL))

    def counts(self, counts: np.ndarray) -> np.ndarray:
        """Pull the guided topics of word-topic `counts` (n_words, k) towards their seed words."""
        return self._mixed(counts, PULL)

    def names(self, names: Sequence[str], k: int) -> list[str]:
        """Return the name of each of `k` topics, empty for one that is not guided; an empty list without `names`."""
        if not names:
            return []
        given = dict(zip(self.columns.tolist(), names, strict=True))
        return [given.get(topic, "") for topic in range(k)]

    def _mixed(self, columns: np.ndarray, weight: float) -> np.ndarray:
        """Replace a share `weight` of each guided one of `columns` by its seed words; sums stay the same."""
        if not len(self.columns):
            return columns
        mixed = columns.copy()
        guided = columns[:, self.columns]
        mixed[:, self.columns] = (1 - weight) * guided + weight * self.seeds * guided.sum(axis=0)
        return mixed


def guide(
    seed_words: Mapping[str, Sequence[str]], words: Sequence[str], frequencies: np.ndarray, topics: np.ndarray
) -> Guide:
    """Match each list of seed words with the one of `topics` (n_words, k) over `words` that fits it best.

    Within a list, words weigh as much as their `frequencies` (n_words,). Lists and topics are matched so that the sum
    of log(1 + lift), averaged over the words of a list, is largest. Raises `UnsupportedByData` for a list without a
    word among `words`.
    """
    seeds = seed_distributions(seed_words, words, frequencies)
    if not seed_words:
        return Guide(seeds, np.zeros(0, np.int64))
    lifts = topics / np.maximum(frequencies, _LEAST)[:, None]
    held = seeds > 0
    fits = held.T @ np.log1p(lifts) / held.sum(axis=0)[:, None]
    return Guide(seeds, linear_sum_assignment(fits, maximize=True)[1])


def seen_lists(
    seed_words: Mapping[str, Sequence[str]] | None,
    words: Sequence[str],
    frequencies: np.ndarray,
    std: float | np.ndarray,
) -> tuple[dict[str, Sequence[str]], dict[str, list[str]]]:
    """Return those lists of `seed_words` that may guide a topic, and the fact ``unseen_seeds``: names of the others.

    The words of the former are in the documents: their noisy document `frequencies` (n_words,) together stand out from
    the noise, of deviation `std`. Any other list would give its name to a topic of some other subject. A list without
    a word among `words` is left to `guide`, which refuses it.
    """
    place = {word: index for index, word in enumerate(words)}
    deviations = np.broadcast_to(std, frequencies.shape)
    seen = dict[str, Sequence[str]]()
    for name, listed in (seed_words or {}).items():
        rows = [place[word] for word in listed if word in place]
        if not rows or frequencies[rows].sum() > _SEEN * np.linalg.norm(deviations[rows]):
            seen[name] = listed
    unseen = [name for name in seed_words or {} if name not in seen]
    return seen, {"unseen_seeds": unseen} if unseen else {}


def seed_distributions(
    seed_words: Mapping[str, Sequence[str]], words: Sequence[str], frequencies: np.ndarray
) -> np.ndarray:
    """Return, for each list of seed words, a distribution over the `words` that it contains, (n_words, n_guided)."""
    place = {word: index for index, word in enumerate(words)}
    seeds = np.zeros((len(words), len(seed_words)))
    for column, (name, listed) in enumerate(seed_words.items()):
        rows = [place[word] for word in listed if word in place]
        if not rows:
            raise UnsupportedByData(
                f"none of the seed words of topic {name!r} is among the {len(words)} words of the run. Give others, or "
                "leave the topic out."
            )
        seeds[rows, column] = np.maximum(frequencies[rows], _LEAST)
    return np.asarray(seeds / seeds.sum(axis=0))
