"""`evaluate`: how good released topics are, as a charged question about documents (docs/privacy.md, T13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

from dplda.accounting.budget_plan import Share
from dplda.accounting.events import PrivacyStatement, Stage, clip_of
from dplda.config import DEFAULTS
from dplda.corpus import Corpus
from dplda.errors import InputError
from dplda.lda.coherence import Coherence, PairCounts, estimated, first_words
from dplda.mechanisms.curator import Curator
from dplda.model.topic_model import TopicModel
from dplda.questions import Asked, ask
from dplda.statistics.word_pairs import FIRST, PAIR_TOTALS, PAIRS, WORD_PAIRS, WORD_WEIGHT, pair_totals, word_pairs

EVALUATION = "evaluation"  # the kind of such a run, in its parameters
# Shares of the budget: counts of pairs, the number of each topic's, their clips and the number of documents.
_SHARES = (
    Share(Stage.SIZE, 0.02),
    Share(clip_of(Stage.PAIRS), 0.03),
    Share(Stage.PAIRS, 0.32),
    Share(clip_of(Stage.PAIR_TOTALS), 0.03),
    Share(Stage.PAIR_TOTALS, 0.60),
)
# Units' norms are clipped at this quantile, those of totals at the factor times it: near their 98.5 % quantile in posts
# and reviews, which a noisy histogram does not tell.
_QUANTILE, _TOTALS_FACTOR = 0.9, 2.3


@dataclass(frozen=True)
class Evaluation:
    """The coherence (NPMI) of the `topics` of the run `of`, with intervals, and its guarantee."""

    run: str
    of: str
    topics: tuple[int, ...]
    coherence: Coherence
    privacy: PrivacyStatement

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        c = self.coherence
        return {
            "run": self.of,
            "evaluation": self.run,
            "coherence": {"value": c.mean, "low": c.low, "high": c.high},
            "topics": [
                {"topic": topic, "value": float(value), "low": float(low), "high": float(high)}
                for topic, value, low, high in zip(self.topics, c.topics, c.topics_low, c.topics_high, strict=True)
            ],
            "privacy": self.privacy.to_json(),
        }

    def released(self) -> dict[str, Any]:
        """What the ledger keeps."""
        return self.to_json()


def evaluate(
    model: TopicModel,
    corpus: Corpus,
    epsilon: float = DEFAULTS.privacy.epsilon,
    delta: float = DEFAULTS.privacy.delta,
    **asked: Unpack[Asked],
) -> Evaluation:
    """Estimate the coherence of the listed topics of `model` in `corpus` under (epsilon, delta) differential privacy.

    Coherence is the mean normalised pointwise mutual information (NPMI) of pairs of a topic's ten most probable words,
    counted in documents: 1 if they always occur together, 0 if independently. `asked` are the options of
    `dplda.questions.Asked`. Raises `InputError` for bad input, such as a model of fewer than ten words, and
    `BudgetRefused`.
    """
    if len(model.vocabulary) < FIRST:
        raise InputError(f"coherence is that of {FIRST} words of a topic, and the model has {len(model.vocabulary)}.")
    topics = tuple(model.listed_topics)
    words = first_words(model, topics)

    def answer(curator: Curator, about: dict[str, Any]) -> Evaluation:
        n_words, k = len(model.vocabulary), len(topics)
        curator.use_words(model.vocabulary)
        documents = curator.size()
        of_pairs, of_totals = word_pairs(words, n_words), pair_totals(words, n_words)
        pairs = curator.release(Stage.PAIRS, of_pairs, curator.clip(Stage.PAIRS, of_pairs, _QUANTILE))
        clip = _TOTALS_FACTOR * curator.clip(Stage.PAIR_TOTALS, of_totals, _QUANTILE)
        totals = curator.release(Stage.PAIR_TOTALS, of_totals, clip)
        counts = PairCounts(
            pairs=pairs.total[0, : PAIRS * k].reshape(k, PAIRS),
            pairs_std=pairs.std,
            words=pairs.total[0, PAIRS * k :] / WORD_WEIGHT,
            clipped=pairs.mass,
            totals=totals.total[0],
            totals_std=totals.std,
            documents=documents,
        )
        return Evaluation(topics=topics, coherence=estimated(model, topics, counts), **about)

    statistics = [WORD_PAIRS, PAIR_TOTALS]
    return ask(EVALUATION, model, corpus, epsilon, delta, answer, shares=_SHARES, statistics=statistics, **asked)
