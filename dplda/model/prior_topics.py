"""What a run may start from: prior topics, and the counts that the previous batch of a series released.

Both are public or already released, so that reading them costs nothing (docs/privacy.md, T12).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplda.base.distributions import check_simplex, check_words, frozen, on_words
from dplda.base.errors import InputError

_UNKNOWN = 1e-6  # probability, before normalisation, of a word that a prior topic lacks
_MOST_TOPICS = 500  # as many as a run may have


@dataclass(frozen=True, eq=False)
class CountSums:
    """Noisy word-topic counts of several rounds, summed with weights."""

    total: NDArray[np.float64]
    """The weighted sums, (n_words, k)."""
    variance: NDArray[np.float64]
    """The variance of the noise in a word's row of `total`, (n_words,)."""
    weight: float
    """The sum of the rounds' weights."""

    def with_round(self, counts: np.ndarray, std: np.ndarray, memory: float) -> CountSums:
        """Return these sums after one more round of noisy `counts` (n_words, k) of `std` (n_words,).

        The weights of the earlier rounds are multiplied by `memory`.
        """
        total, variance = memory * self.total + counts, memory**2 * self.variance + std**2
        return CountSums(total, variance, memory * self.weight + 1)

    def of_topics(self, topics: Sequence[int] | NDArray[np.int64]) -> CountSums:
        """Keep the sums of some `topics`, in their order."""
        return CountSums(self.total[:, topics], self.variance, self.weight)

    def since(self, earlier: CountSums, factor: float) -> CountSums:
        """Return the sums of only the rounds after `earlier`: these sums less `factor` times `earlier`.

        Later rounds have multiplied the weights of `earlier` by `factor`.
        """
        variance = np.maximum(self.variance - factor**2 * earlier.variance, 0.0)
        return CountSums(self.total - factor * earlier.total, variance, self.weight - factor * earlier.weight)

    def of_words(self, words: NDArray[np.bool_]) -> CountSums:
        """Keep the sums of some `words`, a mask (n_words,)."""
        return CountSums(self.total[words], self.variance[words], self.weight)

    def keeping(self, earlier: CountSums, topics: NDArray[np.int64]) -> CountSums:
        """Return these sums with some `topics` taken from `earlier`, rescaled to the weight of these sums.

        Each variance is then the larger of the two.
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
    """The released numbers of a run over its words. Raises `InputError` for arrays that no run releases."""

    sums: CountSums
    frequencies: NDArray[np.float64]
    """The document frequency of each word, (n_words,)."""
    frequency_std: NDArray[np.float64]
    """The standard deviation of its noise, (n_words,)."""

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
        """Keep the counts of some `topics`, in their order."""
        return ReleasedCounts(self.sums.of_topics(topics), self.frequencies, self.frequency_std)

    def over(self, words: Sequence[str], others: Sequence[str]) -> ReleasedCounts:
        """Return these counts, which are over `words`, indexed by the words `others`.

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


def public_source(name: str | None) -> str:
    """Return the `source` of prior topics that were learned from the public corpus `name`."""
    return f"public corpus {name or 'without a name'}"


@dataclass(frozen=True, eq=False)
class PriorTopics:
    """Known topics, public or released privately. Raises `InputError` for values that are no topics.

    The next batch of a series starts from `counts` and the fields after it.
    """

    topics: np.ndarray
    """Distributions over `words`, (n_topics, n_words)."""
    words: tuple[str, ...]
    source: str
    """Where the topics come from: a public corpus, or the run that released them."""
    declared_public: bool
    """Whether the topics, or the prior they were chosen from, are public only because the user declared so."""
    guarantee: Mapping[str, Any] | None = None
    """The guarantee of the run that released them, as JSON."""
    places: frozenset[str] = field(default_factory=frozenset)
    """The real paths of the public files."""
    counts: ReleasedCounts | None = None
    """The counts that the run released."""
    names: Mapping[int, str] = field(default_factory=dict)
    """The names of its topics, by number."""
    made_names: frozenset[int] = frozenset()
    """The topics whose names no person gave (`RunFacts.made_names`)."""
    probabilities: tuple[float, ...] = ()
    """The probabilities that they are real (`TopicModel.probabilities`)."""
    too_frequent: tuple[str, ...] = ()
    """The words that the run left out because they were in too many documents."""
    run: str | None = None
    """The id of the run."""

    def __post_init__(self) -> None:
        topics, words = frozen(self.topics), tuple(self.words)
        object.__setattr__(self, "topics", topics)
        object.__setattr__(self, "words", words)
        check_words("the words of a prior", words)
        if topics.ndim != 2 or not 1 <= len(topics) <= _MOST_TOPICS or topics.shape[1] != len(words):
            raise InputError(
                f"a prior must have 1 to {_MOST_TOPICS} topics with a probability for each word, got an array of shape "
                f"{topics.shape} for {len(words)} words."
            )
        check_simplex("the topics of a prior", topics)
        if self.counts is not None and self.counts.sums.total.T.shape != topics.shape:
            raise InputError(
                "the released counts of a prior must have a row for each word and a column for each topic."
            )

    def __len__(self) -> int:
        return len(self.topics)

    def over(self, words: tuple[str, ...]) -> np.ndarray:
        """Return the topics over other `words`, (len(words), n_topics), all positive, each column on the simplex."""
        found = on_words(self.topics, self.words, words).T + _UNKNOWN
        return np.asarray(found / found.sum(axis=0))

    def to_json(self) -> dict[str, Any]:
        """Return what a run records about its prior; `digest` is a hash of the topics and their words."""
        digest = hashlib.sha256(self.topics.tobytes())
        digest.update("\n".join(self.words).encode())
        return {
            "source": self.source,
            "topics": len(self.topics),
            "words": len(self.words),
            "declared_public": self.declared_public,
            "digest": digest.hexdigest()[:16],
            **({} if self.guarantee is None else {"guarantee": dict(self.guarantee)}),
        }
