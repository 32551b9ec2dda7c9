"""Configuration 2 of DeCarolis et al. 2020: noise on the whitened tensor (edge e6) and the second moment (e8).

size     noisy number of units
m, M2    noisy first and second moments; whitening W from M2 (`stages.whiten`)
E3       noisy whitened third moment E3(W, W, W); each unit is clipped by the norm of its E3(W, W, W) (T1, T2 of
         docs/privacy.md)
T        E3 with LDA's correction
topics   eigenpairs of T by the robust tensor power method, unwhitened

W comes from the released M2, so it is a public constant for the release of E3.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dplda.base.threads import one_blas_thread
from dplda.budget.accountant import Share
from dplda.budget.events import Stage
from dplda.learning.placements.registry import Placement
from dplda.learning.placements.stages import EDGES_WEIGHT, MOST_DENSE_WORDS, StageReleaser, shares_before_tensor, whiten
from dplda.learning.recovery import Learned, eigenpairs
from dplda.learning.settings import FitSettings
from dplda.private import Gate, WordFrequencies, statistics
from dplda.private.statistics.lda_moments import unpack
from dplda.private.statistics.moments import FIRST_MOMENT, SECOND_MOMENT
from dplda.private.statistics.third_moment import THIRD_MOMENT

SPLIT = {"e6": 0.3, "e8": 0.7}
# The clipping norm of E3 is at least this quantile of the units' norms: the longest tensors may be those of one topic.
_QUANTILE = 0.95


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """Return the stages of a run with their parts of its mu^2."""
    return *shares_before_tensor(public_vocabulary, split), Share(Stage.TENSOR, EDGES_WEIGHT * split["e6"])


@one_blas_thread()
def learn(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size (`documents`) and the vocabulary; `rng` draws public starting points only."""
    release = StageReleaser(gate, documents)
    whitened = whiten(release, words, settings)
    contribution = statistics.third_moment(whitened.scaled_W)
    E3 = release(Stage.TENSOR, contribution, whitened.clip_quantile(at_least=_QUANTILE)).mean[0]
    T = whitened.corrected(unpack(E3, whitened.k))
    return whitened.learned(eigenpairs(T, rng))


PLACEMENT = Placement(
    shares=shares,
    learn=learn,
    statistics=(SECOND_MOMENT, FIRST_MOMENT, THIRD_MOMENT),
    split=SPLIT,
    most_words=MOST_DENSE_WORDS,
)
