"""Released word-topic counts with the variance of their noise; the next batch of a series starts from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplda.base.distributions import frozen
from dplda.base.errors import InputError


@dataclass(frozen=True, eq=False)
class CountSums:
    """Noisy word-topic counts of several rounds, summed with weights: `total` (n_words, k).

    `variance` (n_words,) is the variance of the noise in a word's row of `total`, and `weight` the sum of the rounds'
    weights.
    """

    total: NDArray[np.float64]
    variance: NDArray[np.float64]
    weight: float

    def with_round(self, counts: np.ndarray, std: np.ndarray, memory: float) -> CountSums:
        """These sums after one more round of noisy `counts` (n_words, k) of `std` (n_words,).

        The weights of the earlier rounds are multiplied by `memory`.
        """
        total, variance = memory * self.total + counts, memory**2 * self.variance + std**2
        return CountSums(total, variance, memory * self.weight + 1)

    def of_topics(self, topics: Sequence[int] | NDArray[np.int64]) -> CountSums:
        """The sums of some `topics`, in their order."""
        return CountSums(self.total[:, topics], self.variance, self.weight)

    def since(self, earlier: CountSums, factor: float) -> CountSums:
        """The sums of the rounds after `earlier` alone: these sums less `factor` times `earlier`.

        `factor` is the number by which later rounds have multiplied the weights of `earlier`.
        """
        variance = np.maximum(self.variance - factor**2 * earlier.variance, 0.0)
        return CountSums(self.total - factor * earlier.total, variance, self.weight - factor * earlier.weight)

    def of_words(self, words: NDArray[np.bool_]) -> CountSums:
        """The sums of some `words`, a mask (n_words,)."""
        return CountSums(self.total[words], self.variance[words], self.weight)

    def keeping(self, earlier: CountSums, topics: NDArray[np.int64]) -> CountSums:
        """These sums with some `topics` taken from `earlier`, rescaled to the weight of these sums.

        The variance is then the larger one of the two.
        """
        if not len(topics):
            return self
        factor, total = self.weight / earlier.weight, self.total.copy()
        total[:, topics] = earlier.total[:, topics] * factor
        return CountSums(total, np.maximum(self.variance, factor**2 * earlier.variance), self.weight)

    @property
    def shares(self) -> tuple[NDArray[np.float64], float]:
        """The topics' shares of all counts (k,), which noise may make negative, and the noise's standard deviation."""
        sizes = self.total.sum(axis=0)
        whole = max(float(sizes.sum()), 1e-12)
        return sizes / whole, float(np.sqrt(self.variance.sum())) / whole

    @property
    def counts(self) -> NDArray[np.float64]:
        """The average counts of a round, (n_words, k)."""
        return np.asarray(self.total / self.weight)

    @property
    def std(self) -> NDArray[np.float64]:
        """The standard deviation of the noise of `counts`, (n_words,)."""
        return np.asarray(np.sqrt(self.variance) / self.weight)


@dataclass(frozen=True, eq=False)
class ReleasedCounts:
    """The released numbers of a run over its words: count `sums`, and document `frequencies` (n_words,).

    `frequency_std` (n_words,) is the standard deviation of the noise of each frequency. Raises `InputError` for arrays
    that no run releases.
    """

    sums: CountSums
    frequencies: NDArray[np.float64]
    frequency_std: NDArray[np.float64]

    def __post_init__(self) -> None:
        total, weight = frozen(self.sums.total), float(self.sums.weight)
        per_word = [frozen(values) for values in (self.sums.variance, self.frequencies, self.frequency_std)]
        valid = total.ndim == 2 and all(values.shape == (len(total),) for values in per_word)
        finite = all(np.all(np.isfinite(values)) for values in (total, np.array(weight), *per_word))
        variance, frequencies, std = per_word
        if not (valid and finite and weight > 0 and min(variance.min(initial=0.0), std.min(initial=0.0)) >= 0):
            raise InputError(
                "released counts must be finite numbers: for each word a row of counts, a variance, a frequency and "
                "its standard deviation."
            )
        object.__setattr__(self, "sums", CountSums(total, variance, weight))
        object.__setattr__(self, "frequencies", frequencies)
        object.__setattr__(self, "frequency_std", std)

    def of_topics(self, topics: Sequence[int]) -> ReleasedCounts:
        """The counts of some `topics`, in their order."""
        return ReleasedCounts(self.sums.of_topics(topics), self.frequencies, self.frequency_std)

    def over(self, words: Sequence[str], others: Sequence[str]) -> ReleasedCounts:
        """These counts, which are over `words`, indexed by the words `others`.

        Words that are not in `words` get count, frequency and variance 0.
        """
        place = {word: index for index, word in enumerate(words)}
        rows = np.array([place.get(word, -1) for word in others], np.int64)
        known = rows >= 0
        total = np.where(known[:, None], self.sums.total[rows], 0.0)
        variance, frequencies, std = (
            np.where(known, values[rows], 0.0) for values in (self.sums.variance, self.frequencies, self.frequency_std)
        )
        return ReleasedCounts(CountSums(total, variance, self.sums.weight), frequencies, std)
