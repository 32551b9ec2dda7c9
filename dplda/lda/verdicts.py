"""Verdicts: which topics of a run stand out from its noise, from released numbers alone.

A topic is *clear* if it probably matches a topic of the same fit without noise, *noise* if it probably does not, and
*weak* in between. After the refinement the probability is a logistic function of four numbers, whose coefficients were
estimated from 367 simulated fits of eleven corpora (`docs/benchmarks.md`). Nothing is charged: all of it is
post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dplda.lda.refinement import cosines

CLEAR, WEAK, NOISE = "clear", "weak", "noise"
_INTERCEPT = -3.9
_AGREEMENT, _START, _SIGNAL, _DUPLICATE = 0.58, 4.1, 0.33, -1.8
_CERTAIN = math.log(4)  # log odds of a clear topic: a probability of at least 0.8; at most 0.2 for noise
_LEAST = 1e-6  # bound on logarithms
_LIKELY = 0.84  # standard deviations that a normal variable exceeds with a probability of 0.2
_COPY = 0.9  # cosine from which on two topics count as one


def of_refinement(topics: np.ndarray, start: np.ndarray, agreement: np.ndarray, signal: np.ndarray) -> list[str]:
    """Verdicts of refined `topics` (n_words, k), which started from the spectral topics `start` (n_words, k).

    `agreement` (k,) is the cosine of a topic in the last two rounds, whose noise is independent, and `signal` (k,) the
    mean quotient of the counts of its top words and their noise, infinite without noise.
    """
    if np.isinf(signal).all():
        return [CLEAR] * topics.shape[1]
    kept = cosines(topics, start)
    odds = (
        _INTERCEPT
        - _AGREEMENT * np.log10(np.maximum(1 - agreement, _LEAST))
        + _START * kept
        + _SIGNAL * np.log(np.maximum(signal, 0.1))
        + _DUPLICATE * _nearest(topics)
    )
    return [CLEAR if odd >= _CERTAIN else NOISE if odd <= -_CERTAIN else WEAK for odd in odds]


def no_clearer(judged: list[str], earlier: Sequence[str]) -> list[str]:
    """The verdicts `judged`, none clearer than the `earlier` one of the same topic.

    Each batch of a series starts from the topics of the one before. So a topic that was noise is kept, and agrees with
    itself from then on, whether or not a fit without noise has it (docs/benchmarks.md).
    """
    order = (CLEAR, WEAK, NOISE)
    weaker = [max(pair, key=order.index) for pair in zip(judged, earlier, strict=False)]
    return [*weaker, *judged[len(weaker) :]]


def of_spectrum(topics: np.ndarray, supported: int) -> list[str]:
    """Verdicts of spectral `topics` (n_words, k), of which the released eigenvalues support `supported`.

    Eigenvalues do not say which topics those are: with fewer than k, every topic is weak; with none, all are noise.
    """
    k = topics.shape[1]
    if supported == 0:
        return [NOISE] * k
    return [CLEAR if supported >= k and near < _COPY else WEAK for near in _nearest(topics)]


def of_columns(columns: np.ndarray, std: float) -> list[str]:
    """Verdicts of topics released as noisy `columns` (n_words, k), by their norm over that of their noise."""
    noise = std * math.sqrt(len(columns))
    ratios = np.linalg.norm(columns, axis=0) / noise if noise > 0 else np.full(columns.shape[1], np.inf)
    return [CLEAR if ratio >= 3 else WEAK if ratio >= 1.5 else NOISE for ratio in ratios]


def of_choice(chosen: np.ndarray, others: np.ndarray, std: float) -> list[str]:
    """Verdicts of topics chosen because their noisy sums `chosen` (k,) exceed those of the `others` (r,).

    A topic is clear if its sum exceeds the sum needed to be chosen by so much that it is probably right, else weak.
    With no others to choose from, the sum itself must stand out.
    """
    if not len(others):
        return of_columns(chosen[None], std)
    if std == 0 or not len(chosen):
        return [CLEAR] * len(chosen)
    end = (chosen.min() + others.max()) / 2
    return [CLEAR if held - end >= _LIKELY * std else WEAK for held in chosen]


def _unit(columns: np.ndarray) -> np.ndarray:
    return np.asarray(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300))


def _nearest(topics: np.ndarray) -> np.ndarray:
    """The largest cosine of each topic (n_words, k) with another one, (k,); 0 for a single topic."""
    unit = _unit(topics)
    cosines = unit.T @ unit - 2 * np.eye(topics.shape[1])
    return np.asarray(np.maximum(cosines.max(axis=1), 0.0))
