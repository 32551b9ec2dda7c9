"""Prior topics: public or already released topics, from which a run may start (docs/privacy.md, T12)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dplda.base.distributions import check_simplex, check_words, frozen, on_words
from dplda.base.errors import InputError
from dplda.model.released_counts import ReleasedCounts

_UNKNOWN = 1e-6  # probability, before normalisation, of a word that a prior topic lacks
_MOST_TOPICS = 500  # as many as a run may have


@dataclass(frozen=True, eq=False)
class PriorTopics:
    """Known `topics` (n_topics, n_words) over `words`, each on the simplex; all are public or released privately.

    `source` names where they come from: a public corpus, or the run that released them. `declared_public` is true if
    the topics, or the prior that they were chosen from, are public only because the user declared so. `guarantee` is
    the guarantee of the run that released them, as JSON, and `places` are the real paths of the public files. Raises
    `InputError` for values that are no topics.

    `run` is the id of that run, `counts` are the counts that it released, `names` are the names of its topics, and
    `probabilities` the probabilities that they are real (`TopicModel.probabilities`). The next batch of a series starts
    from these fields. `too_frequent` are the words that the run left out because they were in too many documents.
    """

    topics: np.ndarray
    words: tuple[str, ...]
    source: str
    declared_public: bool
    guarantee: Mapping[str, Any] | None = None
    places: frozenset[str] = field(default_factory=frozenset)
    counts: ReleasedCounts | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    probabilities: tuple[float, ...] = ()
    too_frequent: tuple[str, ...] = ()
    run: str | None = None

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
        """The topics over other `words`, (len(words), n_topics), all positive, each column on the simplex."""
        found = on_words(self.topics, self.words, words).T + _UNKNOWN
        return np.asarray(found / found.sum(axis=0))

    def to_json(self) -> dict[str, Any]:
        """What a run records about its prior; `digest` is a hash of the topics and their words."""
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
