"""Configuration 3 of the paper: noise on the eigenpairs of the tensor (edge e7) and on the second moment (e8).

m, M2 -> W       as in `whitened`
T = M3(W, W, W)  exact, and decomposed, behind the gate: v_i the eigenvectors of T(., ., theta), theta public
test             is T's eigenvalue gap, less what noise and its margin take, above what one unit can move it?
Q + E            q_i = T(v_i, v_i, .), with noise for a bound of its local sensitivity (T4, T5 of docs/privacy.md)

A failed test ends the run: what was tested and spent is told, and there are no topics.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dplda import statistics
from dplda.accounting.budget_plan import Share
from dplda.accounting.events import Stage, clip_of
from dplda.config import FitSettings
from dplda.errors import UnsupportedByData
from dplda.lda.recovery import Learned
from dplda.mechanisms.curator import WordFrequencies
from dplda.mechanisms.gate import OutputGate
from dplda.numerics.threads import one_blas_thread
from dplda.placements.stages import EDGES, StageReleaser, clip_quantile, first_shares, moment_shares, whiten
from dplda.tensor.eigenpairs import EigenPairs

SPLIT = {"e7": 0.8, "e8": 0.2}
QUANTILE = 0.5  # of the units' norms, where the tensor is clipped at least
TESTS = 0.2  # part of e7 that each of the two tests takes


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """How the run's mu^2 is divided."""
    part = EDGES * split["e7"]
    tensor = (
        Share(clip_of(Stage.TENSOR), 0.004),
        Share(Stage.MASS, 0.004),
        Share(Stage.GAP, TESTS * part, may_fail=True),
        Share(Stage.TENSOR_NORM, TESTS * part, may_fail=True),
        Share(Stage.DECOMPOSITION, (1 - 2 * TESTS) * part),
    )
    return *first_shares(public_vocabulary), *moment_shares(split), *tensor


@one_blas_thread()
def learn(gate: OutputGate, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator) -> Learned:
    """Run every stage after the vocabulary; `rng` draws the public theta.

    Raises `UnsupportedByData` when the stability test fails.
    """
    release = StageReleaser(gate, gate.size())
    whitened = whiten(release, words, settings)
    W = whitened.scale[:, None] * whitened.whitening.W
    quantile = max(QUANTILE, clip_quantile(*whitened.strength))
    clip = release.clip(Stage.TENSOR, statistics.third_moment(W), quantile)
    correction = whitened.corrected(np.zeros((whitened.k,) * 3))
    tested = gate.decompose(W, correction, rng.standard_normal(whitened.k), clip)
    if tested.value is None:
        raise UnsupportedByData(
            f"the decomposition is not stable enough to be released (placement config3): {tested.findings}. "
            "Use far more documents, fewer topics, or another placement."
        )
    values = np.linalg.norm(tested.value, axis=0)
    return whitened.learned(EigenPairs(values, tested.value / np.maximum(values, 1e-300)))
