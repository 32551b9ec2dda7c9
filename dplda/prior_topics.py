"""Prior topics: topics that are public, or were released before, from which a run may start without charge (T12)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

_UNKNOWN = 1e-6  # probability, before normalisation, of a word that a prior topic lacks


@dataclass(frozen=True, eq=False)
class PriorTopics:
    """Known `topics` (n_topics, n_words) over `words`, each on the simplex; none is a function of private documents.

    `source` names where they come from: a public corpus, or the run that released them. `declared_public` is true if
    only the user's word makes them public.
    """

    topics: np.ndarray
    words: tuple[str, ...]
    source: str
    declared_public: bool

    def __len__(self) -> int:
        return len(self.topics)

    def over(self, words: tuple[str, ...]) -> np.ndarray:
        """The topics over other `words`, (len(words), n_topics), all positive, each column on the simplex."""
        place = {word: index for index, word in enumerate(self.words)}
        columns = np.array([place.get(word, -1) for word in words])
        found = np.where(columns >= 0, self.topics[:, columns], 0.0).T + _UNKNOWN
        return np.asarray(found / found.sum(axis=0))

    def to_json(self) -> dict[str, Any]:
        """What a run records about its prior; `digest` is a hash of the topics and their words."""
        digest = hashlib.sha256(np.ascontiguousarray(self.topics, np.float64).tobytes())
        digest.update("\n".join(self.words).encode())
        return {
            "source": self.source,
            "topics": len(self.topics),
            "words": len(self.words),
            "declared_public": self.declared_public,
            "digest": digest.hexdigest()[:16],
        }
