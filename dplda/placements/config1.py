"""Configuration 1 of the paper: noise on the third moment (edge e3) and on the second (e4 and e8).

m, M2 -> W       as in `whitened`; e4 and e8 are one release
E3 + E           noise on all d^3 coordinates, each unit clipped by the norm of its whole third moment
T                (E3 + E)(W, W, W), LDA correction, robust tensor power method, unwhitening

The d x d x d noise is never materialised: with W = Q L, Q orthonormal, (E3 + E)(Q, Q, Q) has the law of E3(Q, Q, Q)
with isotropic noise on k x k x k (T3 of docs/privacy.md), and is contracted with L afterwards.
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

SPLIT = {"e3": 0.4, "e4": 0.3, "e8": 0.3}


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """How the run's mu^2 is divided."""
    tensor = Share(clip_of(Stage.TENSOR), 0.004), Share(Stage.TENSOR, EDGES * split["e3"])
    return *first_shares(public_vocabulary), *moment_shares(split), *tensor


@one_blas_thread()
def learn(gate: Gate, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator) -> Learned:
    """Run every stage after the vocabulary; `rng` draws public starting points only."""
    release = StageReleaser(gate, gate.size())
    whitened = whiten(release, words, settings)
    E3 = statistics.projected_third_moment(whitened.scale, whitened.whitening.basis)
    tensor = release(Stage.TENSOR, E3, clip_quantile(*whitened.strength))
    T = whitened.corrected(contracted(tensor.mean[0], whitened.whitening.values))
    return whitened.learned(eigenpairs(T, rng))


def contracted(coordinates: np.ndarray, values: np.ndarray) -> np.ndarray:
    """E(W, W, W), (k, k, k), from the `coordinates` of E(Q, Q, Q): W = Q L with L = diag(`values`)^(-1/2), (k,)."""
    root = values**-0.5
    return np.asarray(unpack(coordinates, len(root)) * np.einsum("a,b,c->abc", root, root, root))
