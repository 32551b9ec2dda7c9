"""`evaluate`: the quality of released topics for documents, by a charged query (docs/privacy.md, T13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

from dplda.base.errors import InputError
from dplda.base.lazy import load_name
from dplda.budget import RunRecord
from dplda.budget.accountant import Share
from dplda.budget.events import PrivacyStatement, Stage, clip_of
from dplda.learning.coherence import (
    Coherence,
    CompletedHalves,
    PairCounts,
    Prediction,
    estimate_coherence,
    paired_words,
)
from dplda.learning.estimates import records
from dplda.learning.settings import DEFAULTS
from dplda.model.topic_model import TopicModel
from dplda.private import QueryGate
from dplda.private.statistics.expected_counts import COMPLETION_CLIP, DOCUMENT_COMPLETION
from dplda.private.statistics.word_pairs import (
    FIRST,
    PAIR_TOTALS,
    PAIRS,
    WORD_PAIRS,
    WORD_WEIGHT,
    norm_limits,
    pair_totals,
    word_pairs,
)
from dplda.runs.charged_query import QueryOptions, ask, plan_query
from dplda.runs.corpus import Corpus
from dplda.runs.run import Run

_EVALUATION = "evaluation"  # the kind of such a run, in its parameters
# Shares of the budget: counts of pairs, numbers of each topic's and of words, their clips, and how words are predicted.
_SHARES = (
    Share(clip_of(Stage.PAIRS), 0.03),
    Share(Stage.PAIRS, 0.30),
    Share(clip_of(Stage.PAIR_TOTALS), 0.03),
    Share(Stage.PAIR_TOTALS, 0.59),
    Share(Stage.PREDICTION, 0.05),
)
# Quantiles of the norms at which units are clipped. What is clipped of pairs is known from totals, which must be whole:
# therefore their clip is larger by a factor, if that is possible.
_PAIRS_QUANTILE, _TOTALS_QUANTILE, _TOTALS_FACTOR = 0.95, 0.995, 1.5


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of `evaluate`: coherence, perplexity and gain of the topics of a run, with intervals.

    ``prediction.gain`` is a logarithm, in nats a token: topics predict a word exp(gain) times as well as its frequency.
    """

    run: str
    """The query."""
    of: str
    """The run whose topics were evaluated."""
    topics: tuple[int, ...]
    """The numbers of its listed topics (`TopicModel.listed_topics`)."""
    coherence: Coherence
    """NPMI and C_v of these topics."""
    prediction: Prediction
    """The perplexity and the gain of all topics of that run.

    The gain tells how much better topics predict a word than its frequency alone: it is the mean of log(p / r), in nats
    a token, where p is the probability of a word under the topics and r its frequency.
    """
    privacy: PrivacyStatement
    """The guarantee of the query."""

    def __repr__(self) -> str:
        measures = (
            ("NPMI", self.coherence.mean),
            ("C_v", self.coherence.c_v),
            ("perplexity", self.prediction.perplexity),
        )
        told = (f"{name} {each.value:.4g} ({each.low:.4g} to {each.high:.4g})" for name, each in measures)
        label = f"{self.privacy.warning_label}: " if self.privacy.warning_label else ""
        return f"Evaluation({label}{', '.join(told)}; coherence of {len(self.topics)} listed topics, perplexity of all)"

    def _repr_html_(self) -> str:
        """Show all measures and the guarantee, in a notebook."""
        shown: str = load_name("dplda.report.notebook", "evaluation_html")(self)
        return shown

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        of_topics = records(self.coherence.topics)
        return {
            "run": self.of,
            "evaluation": self.run,
            "coherence": self.coherence.mean.to_json(),
            "c_v": self.coherence.c_v.to_json(),
            "perplexity": self.prediction.perplexity.to_json(),
            "gain": self.prediction.gain.to_json(),
            "topics": [{"topic": topic, **each} for topic, each in zip(self.topics, of_topics, strict=True)],
            "privacy": self.privacy.to_json(),
        }

    def released(self) -> dict[str, Any]:
        """Return the released numbers as plain JSON, which the ledger records."""
        return self.to_json()


def evaluate(
    model: TopicModel,
    corpus: Corpus,
    epsilon: float = DEFAULTS.privacy.epsilon,
    delta: float = DEFAULTS.privacy.delta,
    **options: Unpack[QueryOptions],
) -> Evaluation:
    """Estimate how good the topics of `model` are for `corpus` under (epsilon, delta) differential privacy.

    Coherence is the mean normalised pointwise mutual information (NPMI) of pairs of a topic's ten most probable words,
    counted in documents: 1 if they always occur together, 0 if independently. It is estimated for the topics in
    `TopicModel.listed_topics`. Perplexity is estimated for half of a document's tokens, given the other half, under all
    topics. `Evaluation` explains the gain. `options` are those of `dplda.runs.charged_query.QueryOptions`. Raises
    `InputError` for bad input, such as a model of fewer than ten words, and `BudgetRefused`.
    """
    return ask(plan_evaluation(model, corpus, epsilon, delta, **options), options)


def is_evaluation(run: RunRecord) -> bool:
    """Whether `run` is a finished run of `evaluate`; its result is what `Evaluation.to_json` returned."""
    return run.parameters.get("kind") == _EVALUATION and run.result is not None


def plan_evaluation(
    model: TopicModel, corpus: Corpus, epsilon: float, delta: float, **options: Unpack[QueryOptions]
) -> Run[Evaluation]:
    """Plan what `evaluate` does; nothing is spent or read."""
    if not isinstance(model, TopicModel):
        raise InputError(f"evaluate takes a model and then a corpus, got {type(model).__name__} first.")
    if len(model.vocabulary) < FIRST:
        raise InputError(f"coherence is that of {FIRST} words of a topic, and the model has {len(model.vocabulary)}.")
    topics = tuple(model.listed_topics)
    words, halves = paired_words(model, topics), CompletedHalves(model)

    def answer(gate: QueryGate, about: dict[str, Any]) -> Evaluation:
        n_words, k = len(model.vocabulary), len(topics)
        gate.use_words(model.vocabulary)
        of_pairs, of_totals = word_pairs(words, n_words), pair_totals(words, n_words)
        of_one_pair, of_words = norm_limits(k)
        pairs_clip = gate.clip_within(Stage.PAIRS, of_pairs, _PAIRS_QUANTILE, of_one_pair)
        pairs = gate.release(Stage.PAIRS, of_pairs, pairs_clip)
        totals_clip = gate.clip_within(Stage.PAIR_TOTALS, of_totals, _TOTALS_QUANTILE, of_words)
        totals_clip = min(_TOTALS_FACTOR * totals_clip, of_words[1])
        totals = gate.release(Stage.PAIR_TOTALS, of_totals, totals_clip)
        counts = PairCounts(
            pairs=pairs.total[0].reshape(k, PAIRS),
            pairs_std=pairs.std,
            totals=totals.total[0, :k],
            totals_std=totals.std,
            words=totals.total[0, k:] / WORD_WEIGHT,
            words_std=totals.std / WORD_WEIGHT,
            documents=totals.mass,
            documents_std=totals.mass_std(totals_clip),
        )
        prediction = halves.prediction(gate.release(Stage.PREDICTION, halves.contribution, COMPLETION_CLIP))
        return Evaluation(
            topics=topics, coherence=estimate_coherence(model, topics, counts), prediction=prediction, **about
        )

    return plan_query(
        _EVALUATION,
        model,
        corpus,
        epsilon,
        delta,
        options,
        shares=_SHARES,
        statistics=[WORD_PAIRS, PAIR_TOTALS, DOCUMENT_COMPLETION],
        answer=answer,
    )
