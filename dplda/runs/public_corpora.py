"""Synthetic corpora with known topics, corpora declared public, and measures of models on them."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dplda.base.config import MINIMUM_LENGTH, PUBLISHED
from dplda.base.distributions import on_words
from dplda.base.errors import InputError
from dplda.base.progress import NoProgress, Progress
from dplda.budget.comparisons import ComparisonKind
from dplda.budget.events import EXACT, Event, Stage
from dplda.budget.sketches import Fingerprint
from dplda.learning.coherence import c_v
from dplda.learning.placements import error_bounds
from dplda.learning.placements.published_noise import Quantities
from dplda.learning.prediction import CompletedHalves
from dplda.model.inference import counts_for
from dplda.model.topic_model import TopicModel
from dplda.private.exact_gate import ExactGate
from dplda.private.noise import ExactNoise
from dplda.private.passes.passes import LocalPasses
from dplda.private.statistics.document_completion import COMPLETION_CLIP
from dplda.private.store.fingerprint import fingerprint
from dplda.runs import topic_quality
from dplda.runs.corpus import Corpus, synthetic

_Measured = dict[str, Any]  # fields of `Outcome` by name


class Judge(Protocol):
    """Identifies a public corpus and measures models of it."""

    kind: ComparisonKind

    def identity(self, key: bytes) -> Fingerprint:
        """The documents' fingerprint under the ledger's `key`."""

    def measure(self, model: TopicModel) -> _Measured:
        """Quality of the topics of `model`."""


class Documents:
    """Measures models against the documents of `corpus`, which its owner declared public; reads them immediately.

    `key` is the key of the ledger in which the documents will be looked up, if it is known.
    """

    kind = ComparisonKind.PUBLIC

    def __init__(self, corpus: Corpus, progress: Progress, key: bytes | None = None) -> None:
        self._store = corpus.open(progress, key=key)

    def identity(self, key: bytes) -> Fingerprint:
        """See `Judge`."""
        return fingerprint(self._store, key)

    def measure(self, model: TopicModel) -> _Measured:
        """NPMI@10, and the share of distinct words among the topics' top ten words."""
        counts = counts_for(model.vocabulary, self._store)[0]
        return {
            "coherence": float(topic_quality.npmi(model.topics, counts).mean()),
            "diversity": topic_quality.diversity(model.topics),
        }

    def evaluate(self, model: TopicModel) -> dict[str, Any]:
        """Coherence, perplexity and gain of the topics of `model` in the documents, all exact.

        ``coherence`` (n_topics,) is NPMI@10 of each topic, and ``c_v`` the mean over `TopicModel.listed_topics`.
        `dplda.learning.prediction.Prediction` explains ``perplexity`` and ``gain``.
        """
        counts = counts_for(model.vocabulary, self._store)[0]
        eligible = counts[np.asarray(counts.sum(axis=1)).ravel() >= MINIMUM_LENGTH]
        if not eligible.shape[0]:
            raise InputError("no document has three words of the topics' vocabulary. Is CORPUS in the same language?")
        pairs = topic_quality.pair_npmi(model.topics, eligible)
        event, halves = Event(stage=Stage.PREDICTION, mechanism=EXACT), CompletedHalves(model)
        gate = ExactGate(LocalPasses(self._store), [event], lambda charged: None, ExactNoise())
        gate.use_words(model.vocabulary)
        prediction = halves.prediction(gate.release(Stage.PREDICTION, halves.contribution, COMPLETION_CLIP))
        return {
            "coherence": pairs.mean(axis=1),
            "c_v": float(c_v(pairs[model.listed_topics]).mean()),
            "perplexity": prediction.perplexity.value,
            "gain": prediction.gain.value,
        }


class Truth:
    """Measures models against known topics (n_topics, n_words) over `words`; `corpus` was drawn from these topics."""

    kind = ComparisonKind.PLANTED

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

    def measure(self, model: TopicModel) -> _Measured:
        """The mean matched l1 error, and the bound of `error_bounds` if it applies to this run."""
        topics = on_words(model.topics, model.vocabulary, self._words)
        return {"error": float(topic_quality.matched_error(topics, self._topics).mean()), "bound": self._bound(model)}

    def _bound(self, model: TopicModel) -> float | None:
        """`error_bounds.bound` on a topic's error; it holds for published noise and the true number of topics."""
        run = model.parameters
        if run["calibration"] != PUBLISHED or len(model.topics) != len(self._topics):
            return None
        bound = error_bounds.bound(run["placement"], self._quantities, run["epsilon"], run["delta"], run.get("split"))
        return bound if math.isfinite(bound) else None


def planted(
    n_documents: int, n_words: int, n_topics: int, mean_length: float, alpha0: float, seed: int
) -> tuple[Corpus, Truth]:
    """Return a synthetic corpus with known topics over public words, and its judge.

    Raises `InputError` for sizes out of range.
    """
    counts, topics, _ = synthetic(n_documents, n_words, n_topics, alpha0=alpha0, mean_length=mean_length, seed=seed)
    words = [f"w{i}" for i in range(n_words)]
    name = f"planted-{n_documents}x{n_words}x{n_topics}"
    corpus = Corpus.from_counts(counts, words, public_vocabulary=True, name=name)
    quantities = error_bounds.planted(n_documents, n_words, n_topics, alpha0, seed=seed)
    return corpus, Truth(corpus, topics, words, quantities)
