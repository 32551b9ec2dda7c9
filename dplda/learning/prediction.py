"""How well topics predict words of documents, with intervals, from released numbers; not charged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from dplda.learning.estimates import Estimates, within
from dplda.model.topic_model import TopicModel
from dplda.private.gate import Release
from dplda.private.statistics.document_completion import COMPLETION_CLIP, MOST, document_completion

_UNIFORM = 0.01  # weight of equal probabilities in the word frequencies, so that none is 0
_LEAST_UNITS = 3.0  # in standard deviations of their noise; fewer say nothing


@dataclass(frozen=True)
class Prediction:
    """The `perplexity` of words given others of their document, and the `gain` of topics over word frequencies.

    The gain is the mean of log(p / r), in nats a token, where p is the probability of a word under the topics and r its
    frequency.
    """

    perplexity: Estimates[float]
    gain: Estimates[float]


class CompletedHalves:
    """The document-completion contribution for the topics of `model`, and its release converted to a `Prediction`.

    It measures how well the topics predict half of a document's tokens from the other half.
    """

    def __init__(self, model: TopicModel) -> None:
        frequencies = model.prevalence @ model.topics
        reference = (1 - _UNIFORM) * frequencies / frequencies.sum() + _UNIFORM / len(frequencies)
        self._entropy = float(-reference @ np.log(reference))
        self.contribution = document_completion(model.topics.T, float(np.mean(model.alpha)), reference)

    def prediction(self, release: Release, level: float = 0.95) -> Prediction:
        """The `Prediction` from the `release` of the contribution, with intervals of probability `level`."""
        z, units = -ndtri((1 - level) / 2), release.mass
        units_std = release.mass_std(COMPLETION_CLIP)
        gain, surprise = (MOST * float(total) / units for total in release.total[0])
        std = MOST * release.std / units

        def estimate(value: float, noises: int, most: float) -> Estimates[float]:
            """A sum of `noises` released numbers over the number of units."""
            half = z * math.hypot(math.sqrt(noises) * std, value * units_std / units)
            return within(value, half if units > _LEAST_UNITS * units_std else math.inf, -most, most)

        loss = estimate(surprise - gain, 2, 2 * MOST)
        perplexity = Estimates(*(math.exp(self._entropy + each) for each in (loss.value, loss.low, loss.high)))
        return Prediction(perplexity, estimate(gain, 1, MOST))
