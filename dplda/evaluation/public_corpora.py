"""Measures for comparisons on a corpus that was planted or declared public; no other may be measured."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dplda.corpus import Corpus, synthetic
from dplda.evaluation import matching as measures
from dplda.model.inference import counts_for
from dplda.model.topic_model import TopicModel
from dplda.placements.published_noise import Quantities
from dplda.placements.registry import PUBLISHED
from dplda.planning import error_bounds as utility
from dplda.progress import NoProgress, Progress
from dplda.store.fingerprint import fingerprint
from dplda.store.sketches import Fingerprint

Measured = dict[str, Any]  # values of fields of `Outcome`, by their names


class Judge(Protocol):
    """Recognises a public corpus, and measures models of it."""

    def identity(self, key: bytes) -> Fingerprint:
        """What tells the documents from others, under the ledger's `key`."""

    def measure(self, model: TopicModel) -> Measured:
        """How good the topics of `model` are."""


class Documents:
    """Measures models against the documents of `corpus`, which its owner declared public; reads them when made.

    `key` is that of the ledger that will be asked about them, if it is known.
    """

    def __init__(self, corpus: Corpus, progress: Progress, key: bytes | None = None) -> None:
        self._store = corpus.open(progress, key=key)

    def identity(self, key: bytes) -> Fingerprint:
        """See `Judge`."""
        return fingerprint(self._store, key)

    def measure(self, model: TopicModel) -> Measured:
        """NPMI@10 and the share of distinct words among the top tens."""
        counts = counts_for(model, self._store)[0]
        return {
            "coherence": float(measures.npmi(model.topics, counts).mean()),
            "diversity": measures.diversity(model.topics),
        }


class Truth:
    """Measures models against planted topics (n_topics, n_words) over `words`, from which `corpus` was drawn."""

    def __init__(
        self, corpus: Corpus, topics: npt.NDArray[np.float64], words: list[str], quantities: Quantities
    ) -> None:
        self._documents = Documents(corpus, NoProgress())
        self._topics = topics
        self._words = words
        self._quantities = quantities

    def identity(self, key: bytes) -> Fingerprint:
        """See `Judge`."""
        return self._documents.identity(key)

    def measure(self, model: TopicModel) -> Measured:
        """The mean matched l1 error, and the paper's bound on the l2 error if it has one for this run."""
        found = measures.on_words(model.topics, model.vocabulary, self._words)
        return {"error": float(measures.matched_error(found, self._topics).mean()), "bound": self._bound(model)}

    def _bound(self, model: TopicModel) -> float | None:
        """The paper speaks of its own noise, and of as many topics as there are."""
        run = model.parameters
        if run["calibration"] != PUBLISHED or len(model.topics) != len(self._topics):
            return None
        found = utility.bound(run["placement"], self._quantities, run["epsilon"], run["delta"], run.get("split"))
        return found if math.isfinite(found) else None


def planted(
    n_documents: int, n_words: int, n_topics: int, mean_length: float, alpha0: float, seed: int
) -> tuple[Corpus, Truth]:
    """A corpus with known topics over public words, and who knows them; raises `InputError` for sizes out of range."""
    counts, topics, _ = synthetic(n_documents, n_words, n_topics, alpha0=alpha0, mean_length=mean_length, seed=seed)
    words = [f"w{i}" for i in range(n_words)]
    name = f"planted-{n_documents}x{n_words}x{n_topics}"
    corpus = Corpus.from_counts(counts, words, public_vocabulary=True, name=name)
    quantities = utility.planted(n_documents, n_words, n_topics, alpha0, seed=seed)
    return corpus, Truth(corpus, topics, words, quantities)
