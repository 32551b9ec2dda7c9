"""Configuration 1 of DeCarolis et al. 2020: noise on the third moment (edge e3) and the second (edges e4, e8).

size     noisy number of units
m, M2    noisy first and second moments; whitening W = Q diag(values)^(-1/2) from M2 (`stages.whiten`)
E3       noisy third moment, seen as E3(Q, Q, Q); units are clipped by an upper bound on the norm of their whole E3
T        E3(W, W, W) with LDA's correction
topics   eigenpairs of T by the robust tensor power method, unwhitened

E3 gets noise on all d x d x d coordinates, but only k x k x k of them are computed: for orthonormal Q, E3(Q, Q, Q) with
isotropic noise has the law of the noisy E3 contracted with Q (T3 of docs/privacy.md).
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
from dplda.private.statistics.third_moment import PROJECTED_THIRD_MOMENT

SPLIT = {"e3": 0.4, "e4": 0.3, "e8": 0.3}


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """Return the stages of a run with their parts of its mu^2."""
    return *shares_before_tensor(public_vocabulary, split), Share(Stage.TENSOR, EDGES_WEIGHT * split["e3"])


@one_blas_thread()
def learn(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size (`documents`) and the vocabulary; `rng` draws public starting points only."""
    release = StageReleaser(gate, documents)
    whitened = whiten(release, words, settings)
    contribution = statistics.projected_third_moment(whitened.scale, whitened.whitening.basis)
    E3 = release(Stage.TENSOR, contribution, whitened.clip_quantile()).mean[0]
    T = whitened.corrected(_contracted(E3, whitened.whitening.values))
    return whitened.learned(eigenpairs(T, rng))


def _contracted(coordinates: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return E3(W, W, W) (k, k, k) from the `coordinates` of E3(Q, Q, Q), for W = Q diag(values)^(-1/2)."""
    root = values**-0.5
    return np.asarray(unpack(coordinates, len(root)) * np.einsum("a,b,c->abc", root, root, root))


PLACEMENT = Placement(
    shares=shares,
    learn=learn,
    statistics=(SECOND_MOMENT, FIRST_MOMENT, PROJECTED_THIRD_MOMENT),
    split=SPLIT,
    most_words=MOST_DENSE_WORDS,
)
