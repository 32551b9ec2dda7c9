"""A released model: topics, prevalence, vocabulary and privacy statement. It holds nothing private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplda.base.distributions import check_simplex, check_words, frozen
from dplda.base.errors import InputError
from dplda.base.lazy import found
from dplda.budget.events import PrivacyStatement
from dplda.model.released_counts import ReleasedCounts

_PROBABILITY_WEIGHT = 0.6  # of a word's log probability in its relevance; the rest is that of its lift
VERDICTS = ("clear", "weak", "noise")
PER_TOPIC = ("verdicts", "topic_names", "topic_sentences", "topic_probabilities", "word_probabilities")  # parameters
_LEAST_PRIOR = 1e-9  # minimum of each topic's prior parameter, as a share of their sum


@dataclass(frozen=True, kw_only=True, eq=False)
class TopicModel:
    """A released topic model.

    `topics` is ``(n_topics, n_words)``, each row a distribution over `vocabulary`; `prevalence` is
    ``(n_topics,)`` and sums to 1; `privacy` states the guarantee; `parameters` holds the public settings of
    the run and the LDA prior ``alpha`` (a list of n_topics nonnegative numbers). `counts` are the released counts from
    which the topics were estimated, if the run released any. Raises `InputError` if the fields are inconsistent.
    """

    topics: NDArray[np.float64]
    prevalence: NDArray[np.float64]
    vocabulary: list[str]
    privacy: PrivacyStatement
    parameters: Mapping[str, Any]
    counts: ReleasedCounts | None = None

    def __post_init__(self) -> None:
        topics = frozen(self.topics)
        prevalence = frozen(self.prevalence)
        words = list(self.vocabulary)
        check_words("vocabulary", words)
        if topics.ndim != 2 or topics.shape[1] != len(words) or not topics.size:
            raise InputError(f"topics must have one column per word, got {topics.shape} for {len(words)} words.")
        check_simplex("topics", topics)
        if prevalence.shape != (len(topics),):
            raise InputError(f"prevalence must have shape ({len(topics)},), got {prevalence.shape}.")
        check_simplex("prevalence", prevalence)
        _check_alpha(self.parameters, len(topics))
        if self.counts is not None and self.counts.sums.total.T.shape != topics.shape:
            raise InputError("the released counts must have a row for each word and a column for each topic.")
        object.__setattr__(self, "topics", topics)
        object.__setattr__(self, "prevalence", prevalence)
        object.__setattr__(self, "vocabulary", words)

    def __repr__(self) -> str:
        """A one-line summary without the arrays."""
        promise = f"epsilon={self.privacy.epsilon:g}" if self.privacy.sound else "NOT PRIVATE"
        return f"TopicModel({len(self.topics)} topics, {len(self.vocabulary)} words, {promise})"

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The Dirichlet prior of topic proportions, ``(n_topics,)``, positive.

        A released prevalence of 0 becomes a negligible positive prior, because inference divides by it.
        """
        alpha: NDArray[np.float64] = np.array(self.parameters["alpha"], dtype=np.float64)
        alpha[alpha == 0] = _LEAST_PRIOR * alpha.sum()
        return alpha

    @property
    def verdicts(self) -> tuple[str, ...]:
        """For each topic ``"clear"``, ``"weak"`` or ``"noise"``: how far it stands out from the run's noise.

        From released numbers alone, see `dplda.learning.verdicts`. Empty if the run gave none.
        """
        given = self.parameters.get("verdicts")
        if not isinstance(given, list) or len(given) != len(self.topics) or not all(name in VERDICTS for name in given):
            return ()
        return tuple(given)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """For each topic the probability that it is real: that the same fit without noise has it. Empty if not known.

        From released numbers alone, see `dplda.learning.verdicts`.
        """
        given = self.parameters.get("topic_probabilities")
        if not isinstance(given, list) or len(given) != len(self.topics) or not all(map(_is_probability, given)):
            return ()
        return tuple(map(float, given))

    @property
    def word_probabilities(self) -> tuple[dict[str, float], ...]:
        """For each topic its first ten words, each with the probability that it would be among them without noise.

        This is the probability that the same fit without noise has the word among the ten most probable ones of this
        topic or, if the topic is not real, of the most similar topic. Empty if the probabilities are not known.
        """
        given = self.parameters.get("word_probabilities")
        if not isinstance(given, list) or len(given) != len(self.topics):
            return ()
        if not all(isinstance(words, dict) and all(map(_is_probability, words.values())) for words in given):
            return ()
        return tuple(dict(words) for words in given)

    @property
    def topic_names(self) -> dict[int, str]:
        """The names of topics, by their number: those of seed words, and those that `dplda label` gave."""
        return self._texts("topic_names")

    @property
    def topic_sentences(self) -> dict[int, str]:
        """The sentences about topics that `dplda label` gave, by the number of the topic; empty if there are none."""
        return self._texts("topic_sentences")

    def _texts(self, parameter: str) -> dict[int, str]:
        """The texts in the list ``parameters[parameter]``, by the number of the topic.

        The list has a place for each topic; topics without a text are left out.
        """
        given = self.parameters.get(parameter)
        if not isinstance(given, list) or len(given) != len(self.topics):
            return {}
        return {topic: text for topic, text in enumerate(given) if isinstance(text, str) and text}

    @property
    def listed_topics(self) -> list[int]:
        """The numbers of the topics to show: those with a verdict other than ``"noise"``, or all if there are none."""
        kept = [topic for topic, verdict in enumerate(self.verdicts) if verdict != "noise"]
        return kept or list(range(len(self.topics)))

    def top_words(self, n: int = 10) -> list[list[tuple[str, float]]]:
        """The `n` most probable words of each topic and their probabilities; ties are in alphabetical order."""
        return self._first_words(self.topics, n)

    def relevant_words(self, n: int = 10, weight: float = _PROBABILITY_WEIGHT) -> list[list[tuple[str, float]]]:
        """The `n` most relevant words of each topic and their probabilities, as reports and the command line list them.

        Relevance (Sievert and Shirley 2014) is w log p + (1 - w) log(p / q) for the `weight` w in [0, 1]. Here p is a
        word's probability in the topic, and q its probability in the text as a whole. Words with p < q, or p = 0, are
        left out.
        """
        overall = self.prevalence @ self.topics
        listed = (self.topics > 0) & (self.topics >= overall * (1 - 1e-9))  # whatever the rounding of `overall`
        with np.errstate(divide="ignore", invalid="ignore"):
            relevance = np.log(self.topics) - (1 - weight) * np.log(overall)
        return self._first_words(np.where(listed, relevance, -np.inf), n)

    def _first_words(self, scores: NDArray[np.float64], n: int) -> list[list[tuple[str, float]]]:
        alphabetical = np.argsort(np.argsort(np.array(self.vocabulary, dtype=object)))
        chosen = [np.lexsort((alphabetical, -row))[: max(n, 0)] for row in scores]
        rows = zip(self.topics, scores, chosen, strict=True)
        return [
            [(self.vocabulary[w], float(row[w])) for w in order if score[w] > -np.inf] for row, score, order in rows
        ]

    def transform(self, counts: Any) -> NDArray[np.float64]:
        """Topic proportions of documents, ``(n_documents, n_topics)``. The result is NOT private.

        `counts` is ``(n_documents, n_words)``, dense or scipy sparse, in the order of `vocabulary`. The
        result is the posterior mean under fixed topics by variational inference (Blei, Ng and Jordan 2003,
        section 5.2); a document without a word of the model gets the prior mean. Raises `InputError` for
        a wrong shape, and for negative or non-finite counts.
        """
        from scipy import sparse  # imported here, as numba is, so that the command line starts fast

        from dplda.model.inference import posterior_mean

        matrix = counts if sparse.issparse(counts) else np.asarray(counts)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.vocabulary):
            raise InputError(
                f"counts must have shape (n_documents, {len(self.vocabulary)}), got {matrix.shape}. "
                "Give one column per word of the model's vocabulary, in its order."
            )
        return posterior_mean(self.topics, self.alpha, sparse.csr_matrix(matrix, dtype=np.float64))

    def tabulate(self, corpus: Any, by: str | Sequence[str], **options: Any) -> Any:
        """Topics of `corpus` by group and period, with intervals, charged to its budget: see `dplda.tabulate`."""
        # It reads documents and charges a ledger, and models import neither: it is imported when it is called.
        return found("dplda.runs.tabulation", "tabulate")(self, corpus, by, **options)

    def evaluate(self, corpus: Any, **options: Any) -> Any:
        """Coherence, perplexity and gain of the topics in `corpus`, charged to its budget: see `dplda.evaluate`."""
        return found("dplda.runs.evaluation", "evaluate")(self, corpus, **options)

    def save(self, directory: str | Path) -> None:
        """Write the model into a new or empty folder. Raises `InputError` on failure."""
        from dplda.model.model_files import save

        save(self, directory)


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _check_alpha(parameters: Mapping[str, Any], n_topics: int) -> None:
    alpha = parameters.get("alpha")
    if not isinstance(alpha, list) or len(alpha) != n_topics:
        raise InputError(f"parameters['alpha'] must be a list of {n_topics} numbers.")
    numbers = all(isinstance(a, int | float) and not isinstance(a, bool) for a in alpha)
    if not numbers or not all(0 <= a < float("inf") for a in alpha) or not sum(alpha) > 0:
        raise InputError("parameters['alpha'] must hold nonnegative, finite numbers, not all 0.")
