"""Configuration 4 of DeCarolis et al. 2020: noise on the final topics alone (edge e9).

words    those that documents are sure to contain, by their noisy frequencies
X        exact: x_i, the unwhitened eigenvectors of the whitened M3(., ., h), for public h; words are not scaled
tests    noisy bounds on the number of units, the spectrum of M2, the norm of M3(., ., h), and the least eigenvalue gap
         of the whitened M3(., ., h); each is released only if the bound on the local sensitivity can still be finite
Y        noisy y_i = (r . x_i) x_i for public r, with noise scaled to the bound on the local sensitivity of the whole
         map (T4, T6 of docs/privacy.md); y_i is proportional to mu_i, and does not depend on the sign of x_i
topics   y_i divided by its sum and projected on the simplex; prevalence proportional to that sum

X is computed by the curator and never released. If a test fails, the run ends without topics; the results of the tests
are released and their budget is spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dplda.base.errors import UnsupportedByData
from dplda.base.threads import one_blas_thread
from dplda.budget.accountant import Share
from dplda.budget.events import Stage
from dplda.learning import verdicts
from dplda.learning.model_size import certain_words
from dplda.learning.placements.registry import Placement
from dplda.learning.placements.stages import MOST_DENSE_WORDS, SIZE_SHARE, released_value, word_shares
from dplda.learning.recovery import Learned, by_prevalence, to_topics
from dplda.learning.settings import FitSettings
from dplda.private import OutputGate, WordFrequencies

SPLIT = {"e9": 1.0}


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """Return the stages of a run with their parts of its mu^2."""
    return (
        SIZE_SHARE,
        *word_shares(public_vocabulary),
        Share(Stage.SIZE_LOWER_BOUND, 0.01, may_fail=True),
        Share(Stage.SPECTRUM, 0.15 * split["e9"], may_fail=True),
        Share(Stage.NORM, 0.15 * split["e9"], may_fail=True),
        Share(Stage.EIGENVALUE_GAP, 0.15 * split["e9"], may_fail=True),
        Share(Stage.TOPICS, 0.5 * split["e9"]),
    )


@one_blas_thread()
def learn(
    gate: OutputGate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size and the vocabulary; `rng` draws the public h, and r is a vector of ones.

    Raises `UnsupportedByData` if a stability test fails, or if there are no more words than topics.
    """
    words = certain_words(words, settings)
    gate.use_words(words.words)
    d, k = len(words.words), int(settings.model.topics)
    if d <= k:
        raise UnsupportedByData(
            f"placement config4 needs more words than topics, and {d} words were found for {k} "
            "topics. Ask for fewer topics, or use more documents or a larger epsilon."
        )
    h, r = rng.random(d), np.ones(d)
    result = gate.final_topics(settings.model.alpha0, h, r, k)
    Y = released_value(result, "the topics are", settings)
    weights = np.maximum(Y.sum(axis=0), 1e-12)  # r . mu_i is the same for all topics
    judged = verdicts.of_columns(Y, result.std)
    documents = max(result.tests[0].bound, 1.0)
    learned = by_prevalence(to_topics(Y), weights / weights.sum(), documents, verdicts=judged)
    return replace(learned, words=words.words)


PLACEMENT = Placement(
    shares=shares,
    learn=learn,
    split=SPLIT,
    most_words=MOST_DENSE_WORDS,
    least_topics=2,
    runs_on_cluster=False,  # it needs the exact moments of all documents in one place
)
