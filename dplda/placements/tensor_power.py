"""The private tensor power method on the whitened tensor (Wang and Anandkumar 2016, Algorithm 3).

m, M2 -> W       as in `whitened`
u <- T(I, u, u)  for each topic power iterations, every one a noisy clipped sum over units: their algorithm protects
                 one entry of a tensor, this one a unit (docs/privacy.md, section 1, gives the difference)
lambda           from one more such question at the last u; then deflation by lambda u^3, which is released already

Clips are those of whole whitened tensors: one placed at a random u would cut off what a topic's own u brings out.
T is asked at public or released u only, so that LDA's correction and the deflation are post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dplda import statistics
from dplda.accounting.budget_plan import Share
from dplda.accounting.events import Stage, clip_of
from dplda.config import FitSettings
from dplda.lda.recovery import Learned, most_topics
from dplda.mechanisms.curator import Gate, WordFrequencies
from dplda.numerics.threads import one_blas_thread
from dplda.placements.stages import EDGES, StageReleaser, clip_quantile, first_shares, moment_shares, whiten
from dplda.tensor.implicit import Implicit, along_itself
from dplda.tensor.private_eigenpairs import noisy_power_method

SPLIT = {"power": 0.3, "e8": 0.7}
QUANTILE = 0.5  # of the units' norms, where the tensor is clipped at least
ITERATIONS = 8  # R: from a random start, quadratic once a component leads


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """How the run's mu^2 is divided: K = k (R + 1) questions of the tensor."""
    questions = most_topics(settings) * (ITERATIONS + 1)
    power = Share(clip_of(Stage.TENSOR), 0.004), Share(Stage.TENSOR, EDGES * split["power"], questions)
    return *first_shares(public_vocabulary), *moment_shares(split), *power


@one_blas_thread()
def learn(gate: Gate, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator) -> Learned:
    """Run every stage after the vocabulary; `rng` draws public starting points only."""
    release = StageReleaser(gate, gate.size())
    whitened = whiten(release, words, settings)
    k, correction = whitened.k, whitened.corrected(np.zeros((whitened.k,) * 3))
    scaled = whitened.scale[:, None] * whitened.whitening.W
    quantile = max(QUANTILE, clip_quantile(*whitened.strength))
    clip = release.clip(Stage.TENSOR, statistics.third_moment(scaled), quantile)

    def along(U: np.ndarray) -> np.ndarray:
        """T(I, u, u), with noise, for the one column u of U."""
        E3 = gate.release(Stage.TENSOR, statistics.third_moment_along(scaled, U), clip).mean
        u = U[:, 0]
        return np.asarray(E3.T + np.einsum("abc,b,c->a", correction, u, u)[:, None])

    def value(U: np.ndarray) -> np.ndarray:
        return np.asarray(along_itself(U, along(U)))

    pairs = noisy_power_method(Implicit(along, k), k, rng, iterations=ITERATIONS, value=value)
    return whitened.learned(pairs)
