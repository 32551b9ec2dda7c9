"""Configuration 3 of DeCarolis et al. 2020: noise on the tensor's eigenpairs (e7) and the second moment (e8).

size     noisy number of units
m, M2    noisy first and second moments; whitening W from M2 (`stages.whiten`)
C        clipping norm of a unit's whitened third moment E3(W, W, W)
T        exact clipped mean of E3(W, W, W) with LDA's correction; eigenvectors v_i of T(., ., theta), theta public
tests    noisy lower bound on the least eigenvalue gap, which must exceed its largest change by one unit, and noisy
         upper bound on the norm of T
Q        noisy q_i = T(v_i, v_i, .), with noise scaled to the bound on its local sensitivity (T4, T5 of docs/privacy.md)
topics   eigenpairs |q_i| and q_i / |q_i|, unwhitened

T and v_i are computed by the curator and never released. If a test fails, the run ends without topics; the results of
the tests are released and their budget is spent.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dplda.base.threads import one_blas_thread
from dplda.budget.accountant import Share
from dplda.budget.events import Stage
from dplda.learning.eigenpairs import EigenPairs
from dplda.learning.placements.registry import Placement
from dplda.learning.placements.stages import (
    EDGES_WEIGHT,
    MOST_DENSE_WORDS,
    StageReleaser,
    released_value,
    shares_before_tensor,
    whiten,
)
from dplda.learning.recovery import Learned
from dplda.learning.settings import FitSettings
from dplda.private import OutputGate, WordFrequencies, statistics
from dplda.private.statistics.moments import FIRST_MOMENT, SECOND_MOMENT
from dplda.private.statistics.third_moment import THIRD_MOMENT

SPLIT = {"e7": 0.8, "e8": 0.2}
_QUANTILE = 0.5  # the clipping norm is at least this quantile of the units' norms
_TEST = 0.2  # share of the budget of e7 that each of the two tests gets


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """Return the stages of a run with their parts of its mu^2."""
    weight = EDGES_WEIGHT * split["e7"]
    return (
        *shares_before_tensor(public_vocabulary, split),
        Share(Stage.MASS, 0.004),
        Share(Stage.GAP, _TEST * weight, may_fail=True),
        Share(Stage.TENSOR_NORM, _TEST * weight, may_fail=True),
        Share(Stage.DECOMPOSITION, (1 - 2 * _TEST) * weight),
    )


@one_blas_thread()
def learn(
    gate: OutputGate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size (`documents`) and the vocabulary; `rng` draws the public theta.

    Raises `UnsupportedByData` if a stability test fails.
    """
    release = StageReleaser(gate, documents)
    whitened = whiten(release, words, settings)
    W, quantile = whitened.scaled_W, whitened.clip_quantile(at_least=_QUANTILE)
    C = release.clip(Stage.TENSOR, statistics.third_moment(W), quantile)
    result = gate.decompose(W, whitened.correction, rng.standard_normal(whitened.k), C)
    Q = released_value(result, "the decomposition is", settings)
    values = np.linalg.norm(Q, axis=0)
    return whitened.learned(EigenPairs(values, Q / np.maximum(values, 1e-300)))


PLACEMENT = Placement(
    shares=shares,
    learn=learn,
    statistics=(SECOND_MOMENT, FIRST_MOMENT, THIRD_MOMENT),
    split=SPLIT,
    most_words=MOST_DENSE_WORDS,
)
