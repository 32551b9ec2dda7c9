"""Real numbers computed from exact data, as noisy whole steps of a lattice, with bounds that hold with high probability
(docs/privacy.md, section 5 and rule 9)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from dplda.accounting.events import Event
from dplda.compute.lattice import BOUND
from dplda.errors import GateError
from dplda.mechanisms.noise import Noise, lattice_scale

LARGEST = 2.0**62  # steps; what lies beyond is cut, which only brings neighbours closer together


@dataclass(frozen=True)
class NoisyValues:
    """Released `values` with discrete Gaussian noise of `scale` lattice steps of size `step`.

    `failure` is the probability with which bounds drawn from this answer may fail, all together.
    """

    values: np.ndarray
    step: float
    scale: float
    failure: float

    @property
    def std(self) -> float:
        """Standard deviation of the noise, in the unit of `values`."""
        return self.scale * self.step

    def margin(self, bounds: int = 1, terms: int = 1) -> float:
        """What to add to a value for a bound that fails with probability at most `failure` / `bounds`.

        The bound is one-sided and about a sum or difference of `terms` values. A discrete Gaussian is stochastically
        below a continuous one plus a step, and each value was rounded by at most half a step.
        """
        if self.failure <= 0:
            raise GateError("a tested stage needs a failure probability in the plan")
        quantile = float(norm.isf(self.failure / bounds))
        return self.step * (quantile * math.sqrt(terms) * self.scale + 1.5 * terms)


ReleaseValues = Callable[[str, np.ndarray, float], NoisyValues]  # stage, exact values, their l2-sensitivity


def release_values(event: Event, noise: Noise, values: np.ndarray, sensitivity: float) -> NoisyValues:
    """`values` of any shape and of l2-sensitivity `sensitivity`, with the noise of `event`.

    They are rounded to steps of sensitivity / B, and the sensitivity of whole vectors, B + sqrt(number of values), is
    what the noise is scaled to. What is not a number counts as 0.
    """
    step = sensitivity / BOUND
    whole = np.nan_to_num(np.clip(np.rint(values / step), -LARGEST, LARGEST)).astype(np.int64)
    scale = lattice_scale(event.noise_multiplier or 0.0, BOUND + math.ceil(math.sqrt(whole.size)))
    noisy = whole + noise.gaussian(scale, whole.size).reshape(whole.shape)
    return NoisyValues(noisy * step, step, scale, event.delta)
