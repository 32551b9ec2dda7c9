"""Configuration 4 of the paper: noise on the final topics alone (edge e9).

M2, M3(., ., h)  exact, and decomposed, behind the gate, with h public; words are not scaled
tests            a lower bound of the number of units, the spectrum of M2, the norm of M3(., ., h), then the gap of the
                 whitened M3(., ., h): each with noise, and the next only if it leaves room for it
Y + E            y_i = (r . x_i) x_i, x_i the unwhitened eigenvectors and r public, with noise for a bound of the local
                 sensitivity of the whole map (T4, T6 of docs/privacy.md); y_i goes with mu_i, whatever its sign

A failed test ends the run: what was tested and spent is told, and there are no topics.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dplda.accounting.budget_plan import Share
from dplda.accounting.events import Stage
from dplda.config import FitSettings
from dplda.errors import UnsupportedByData
from dplda.lda.recovery import Learned, by_prevalence, to_topics
from dplda.mechanisms.curator import WordFrequencies
from dplda.mechanisms.gate import OutputGate
from dplda.numerics.threads import one_blas_thread
from dplda.placements.stages import word_shares

SPLIT = {"e9": 1.0}


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """How the run's mu^2 is divided."""
    return (
        *word_shares(public_vocabulary),
        Share(Stage.SIZE_LOWER_BOUND, 0.01, may_fail=True),
        Share(Stage.SPECTRUM, 0.15 * split["e9"], may_fail=True),
        Share(Stage.NORM, 0.15 * split["e9"], may_fail=True),
        Share(Stage.EIGENVALUE_GAP, 0.15 * split["e9"], may_fail=True),
        Share(Stage.TOPICS, 0.5 * split["e9"]),
    )


@one_blas_thread()
def learn(gate: OutputGate, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator) -> Learned:
    """Run every stage after the vocabulary; `rng` draws the public h.

    Raises `UnsupportedByData` when a stability test fails, or when there are no more words than topics.
    """
    d, k = len(words.words), int(settings.model.topics)
    if d <= k:
        raise UnsupportedByData(f"placement config4 needs more words than topics, and {d} words were found for {k}.")
    tested = gate.final_topics(settings.model.alpha0, rng.random(d), np.ones(d), k)
    if tested.value is None:
        raise UnsupportedByData(
            f"the topics are not stable enough to be released (placement config4): {tested.findings}. "
            "Use far more documents, fewer topics, or another placement."
        )
    weights = np.maximum(tested.value.sum(axis=0), 1e-12)  # r . mu_i is the same for all topics
    return by_prevalence(to_topics(tested.value), weights / weights.sum(), max(tested.tests[0].bound, 1.0))
