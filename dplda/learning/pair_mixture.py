"""Topics from how often two words occur together: a mixture of pairs of words, fitted to a noisy second moment.

In LDA two tokens of a document are a pair of words (i, j) with probability

    E2_ij = a m_i m_j + (1 - a) sum_z p_z mu_zi mu_zj,    a = alpha0 / (alpha0 + 1),

for word proportions m, topics mu_z and their prevalence p_z: the second moment is a mixture of pairs, in which m is one
more component. Expectation maximisation fits it to the counts of pairs, as in the biterm topic model (Yan et al. 2013;
its background topic is m). This is nonnegative factorisation of E2 with the Kullback-Leibler divergence. The weight of
the background starts at LDA's a and is fitted, too, because documents of a few words are about fewer topics than alpha0
says. One release is enough: all steps after it are post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dplda.base.distributions import match_topics
from dplda.learning.refinement import Guide, first_words, posterior
from dplda.private.statistics.lda_moments import coefficients

_STARTS, _FIRST_STEPS, _STEPS = 10, 30, 70  # random starts, steps of each, and further steps of the likeliest
_SMOOTHING = 1e-3  # share of a topic that is uniform over the words
_CONCENTRATION = 0.5  # of the Dirichlet law of random starts, half of which is the words' frequencies
_PUBLIC_SEED = 2013
_HALVES_STREAM = 100  # of the random streams of this seed, the one for the noise of `NoisyPairs.halves`


@dataclass(frozen=True)
class PairMixture:
    """`topics` (n_words, k), columns on the simplex, and their `prevalence` (k,), which sums to one.

    `background` is the weight of pairs of independent words.
    """

    topics: np.ndarray
    prevalence: np.ndarray
    background: float

    @property
    def weighted(self) -> np.ndarray:
        """The topics with their weights in the mixture, (n_words, k)."""
        return np.asarray((1 - self.background) * self.topics * self.prevalence)

    def expected(self, independent: np.ndarray) -> np.ndarray:
        """Return the probability of each pair of words under the mixture, (n_words, n_words).

        `independent` (n_words, n_words) are the probabilities of pairs of independent words, the background.
        """
        return np.asarray(self.weighted @ self.topics.T + self.background * independent)


@dataclass(frozen=True)
class NoisyPairs:
    """Noisy symmetric counts of pairs of words (n_words, n_words) with noise of `std` off the diagonal.

    `frequencies` (n_words,) are positive and sum to one. The diagonal is not used.
    """

    counts: np.ndarray
    std: float
    frequencies: np.ndarray

    def estimate(self) -> np.ndarray:
        """Return the posterior mean of the counts, nonnegative and with a zero diagonal; see `refinement`."""
        mean = posterior(self.counts, np.full(len(self.counts), self.std), self.frequencies)[0]
        symmetric = np.asarray((mean + mean.T) / 2)
        np.fill_diagonal(symmetric, 0.0)
        return symmetric

    def halves(self) -> tuple[NoisyPairs, NoisyPairs]:
        """Return two counts of the same pairs with independent noises of sqrt(2) times the standard deviation.

        Public noise Z' with the distribution of the counts' own noise Z is added to them and subtracted from them;
        Z + Z' and Z - Z' are independent.
        """
        rng = np.random.default_rng([_PUBLIC_SEED, _HALVES_STREAM])
        upper = np.triu(rng.normal(0.0, self.std, self.counts.shape), 1)
        more, root = upper + upper.T, np.sqrt(2.0) * self.std
        return replace(self, counts=self.counts + more, std=root), replace(self, counts=self.counts - more, std=root)


def fit_mixture(pairs: NoisyPairs, k: int, alpha0: float, guided: Guide, stream: int = 0) -> PairMixture:
    """Return the likeliest mixture of `k` topics; guided ones are pulled to their seed words in every step.

    Starts are drawn from the public random stream of number `stream`, so that the mixture is a function of the released
    `pairs`.
    """
    counts, frequencies, rng = pairs.estimate(), pairs.frequencies, np.random.default_rng([_PUBLIC_SEED, stream])
    independent = np.outer(frequencies, frequencies)

    def refine(mixture: PairMixture, steps: int) -> PairMixture:
        """Return the `mixture` after `steps` of expectation maximisation."""
        for _ in range(steps):
            expected = np.maximum(mixture.expected(independent), 1e-300)
            ratios = counts / expected
            np.fill_diagonal(ratios, counts.sum() / max(1.0 - float(np.trace(expected)), 0.1))  # unknown: as expected
            word_topic_counts = mixture.topics * (ratios @ mixture.weighted)
            sizes = word_topic_counts.sum(axis=0) + 1e-300
            background_size = mixture.background * float((ratios * independent).sum())
            topics = guided.counts(word_topic_counts + _SMOOTHING * sizes.sum() / word_topic_counts.size)
            background = background_size / (background_size + float(sizes.sum()))
            mixture = PairMixture(topics / topics.sum(axis=0), sizes / sizes.sum(), background)
        return mixture

    def likelihood(mixture: PairMixture) -> float:
        return float((counts * np.log(np.maximum(mixture.expected(independent), 1e-300))).sum())

    starts = []
    for _ in range(_STARTS):
        drawn = rng.dirichlet(np.full(len(frequencies), _CONCENTRATION), k).T
        topics = guided.start((drawn + frequencies[:, None]) / 2)
        starts.append(PairMixture(topics, np.full(k, 1 / k), coefficients(alpha0)[0]))
    return refine(max((refine(start, _FIRST_STEPS) for start in starts), key=likelihood), _STEPS)


def agreement(mixture: PairMixture, halves: Sequence[PairMixture]) -> tuple[np.ndarray, np.ndarray]:
    """Compare the topics of a `mixture` with those fitted to each of the `halves`, matched one to one.

    Returns the cosine of each topic and its match in each half, (n_halves, k). Also returns, for each of a topic's
    first ten words, the number of halves in which this word is among the first ten words of the match, (k, 10).
    """
    k = mixture.topics.shape[1]
    top = first_words(mixture.topics)
    found, common = np.zeros((len(halves), k)), np.zeros(top.shape)
    for index, half in enumerate(halves):
        _, matches, found[index] = match_topics(mixture.topics.T, half.topics.T)
        theirs = first_words(half.topics[:, matches])
        common += [[word in row for word in words] for words, row in zip(top, theirs, strict=True)]
    return found, common
