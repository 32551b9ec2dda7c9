"""The private tensor power method on the whitened tensor (Wang and Anandkumar 2016, Algorithm 3).

size     noisy number of units
m, M2    noisy first and second moments; whitening W from M2 (`stages.whiten`)
C        clipping norm of a unit's whitened third moment E3(W, W, W)
u        for each topic, R steps u <- T(I, u, u) / |T(I, u, u)| from a random start; each product is a noisy sum over
         units, clipped to C, with LDA's correction
lambda   T(u, u, u) from one more such product at the last u; then deflation by lambda u^3
topics   the pairs (lambda, u), unwhitened

Wang and Anandkumar protect one entry of a tensor, and this placement one unit (docs/papers.md, errata). Every u is
public or released, so LDA's correction and deflation are post-processing. C is a quantile of the norms of whole
tensors, because products at a random u are shorter than those at the u of a topic.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dplda.base.threads import one_blas_thread
from dplda.budget.accountant import Share
from dplda.budget.events import Stage
from dplda.learning.eigenpairs import Implicit, along_itself, noisy_tensor_power_method
from dplda.learning.model_size import most_topics
from dplda.learning.placements.registry import Placement
from dplda.learning.placements.stages import EDGES_WEIGHT, MOST_DENSE_WORDS, StageReleaser, shares_before_tensor, whiten
from dplda.learning.recovery import Learned
from dplda.learning.settings import FitSettings
from dplda.private import Gate, WordFrequencies, statistics
from dplda.private.statistics.moments import FIRST_MOMENT, SECOND_MOMENT
from dplda.private.statistics.third_moment import THIRD_MOMENT, THIRD_MOMENT_ALONG

SPLIT = {"power": 0.3, "e8": 0.7}
ITERATIONS = 8  # R, power iterations per component: convergence is quadratic once one component dominates
_QUANTILE = 0.5  # the clipping norm is at least this quantile of the units' norms


def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    """Return the stages of a run with their parts of its mu^2; the tensor is queried k (R + 1) times."""
    queries = most_topics(settings) * (ITERATIONS + 1)
    return *shares_before_tensor(public_vocabulary, split), Share(Stage.TENSOR, EDGES_WEIGHT * split["power"], queries)


@one_blas_thread()
def learn(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size (`documents`) and the vocabulary; `rng` draws public starting points only."""
    release = StageReleaser(gate, documents)
    whitened = whiten(release, words, settings)
    W, correction = whitened.scaled_W, whitened.correction
    C = release.clip(Stage.TENSOR, statistics.third_moment(W), whitened.clip_quantile(at_least=_QUANTILE))

    def along(U: np.ndarray) -> np.ndarray:
        """Return noisy T(I, u, u) for the only column u of U (k, 1)."""
        E3 = gate.release(Stage.TENSOR, statistics.third_moment_along(W, U), C).mean
        u = U[:, 0]
        return np.asarray(E3.T + np.einsum("abc,b,c->a", correction, u, u)[:, None])

    def value(U: np.ndarray) -> np.ndarray:
        """Return noisy T(u, u, u), (1,)."""
        return np.asarray(along_itself(U, along(U)))

    pairs = noisy_tensor_power_method(Implicit(along, whitened.k), whitened.k, rng, iterations=ITERATIONS, value=value)
    return whitened.learned(pairs)


PLACEMENT = Placement(
    shares=shares,
    learn=learn,
    statistics=(SECOND_MOMENT, FIRST_MOMENT, THIRD_MOMENT, THIRD_MOMENT_ALONG),
    split=SPLIT,
    most_words=MOST_DENSE_WORDS,
)
