"""Configuration 2 of the paper: noise on the whitened tensor (edge e6) and on the second moment (e8).

m, M2 -> W       as in `whitened`: the whitening is that of the private second moment
E3(W, W, W) + E  each unit clipped by the norm of its whitened third moment (T1, T2 of docs/privacy.md)
T                LDA correction, robust tensor power method, unwhitening
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dplda import statistics
from dplda.accounting.budget_plan import Share
from dplda.accounting.events import Stage, clip_of
from dplda.config import FitSettings
from dplda.lda.recovery import Learned, eigenpairs
from dplda.mechanisms.curator import Gate, WordFrequencies
from dplda.numerics.threads import one_blas_thread
from dplda.placements.stages import EDGES, StageReleaser, clip_quantile, first_shares, moment_shares, whiten
from dplda.statistics.coordinates import unpack

SPLIT = {"e6": 0.3, "e8": 0.7}
QUANTILE = 0.95  # of the units' norms, where the tensor is clipped at least: what a lower clip cuts off is one topic's


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """How the run's mu^2 is divided."""
    tensor = Share(clip_of(Stage.TENSOR), 0.004), Share(Stage.TENSOR, EDGES * split["e6"])
    return *first_shares(public_vocabulary), *moment_shares(split), *tensor


@one_blas_thread()
def learn(gate: Gate, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator) -> Learned:
    """Run every stage after the vocabulary; `rng` draws public starting points only."""
    release = StageReleaser(gate, gate.size())
    whitened = whiten(release, words, settings)
    W = whitened.whitening.W
    quantile = max(QUANTILE, clip_quantile(*whitened.strength))
    tensor = release(Stage.TENSOR, statistics.third_moment(whitened.scale[:, None] * W), quantile)
    T = whitened.corrected(unpack(tensor.mean[0], whitened.k))
    return whitened.learned(eigenpairs(T, rng))
