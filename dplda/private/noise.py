"""Noise: exact discrete Gaussians (OpenDP), and seeded noise for simulations (docs/privacy.md, section 5 and rule 9).

Also the scale of a release in lattice steps, noisy values with bounds, and the threshold above which a word of
documents may be released (T7').
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Protocol

import numpy as np
from opendp.domains import atom_domain, map_domain, vector_domain
from opendp.measurements import make_gaussian, make_gaussian_threshold
from opendp.metrics import absolute_distance, l02inf_distance, l2_distance
from opendp.mod import enable_features
from scipy.special import log_ndtr, ndtri

from dplda.base.errors import GateError
from dplda.base.threads import chunks, run_ranges
from dplda.budget.events import Event
from dplda.private.statistics.clipping import BOUND

enable_features("contrib")

EXACT_SOURCE = f"OpenDP {version('opendp')}, randomness of OpenSSL and of the operating system"  # for the records

_CHUNK = 2000  # samples that a thread draws at a time, in about 20 milliseconds
_NOISE_STREAM = (1,)  # spawn key: noise is independent of anything else drawn from the same seed, such as starts
_LARGEST = 2.0**62  # values are clipped to this many lattice steps, which only brings neighbours closer together


class Noise(Protocol):
    """A source of integer Gaussian noise."""

    private: bool

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """Draw `size` independent integers (int64) from the discrete Gaussian of parameter `scale` (lattice units)."""

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """Add noise to each value and keep the keys whose noisy value reaches `threshold`."""

    def coins(self, share: float, size: int) -> np.ndarray:
        """Draw `size` independent booleans, each true with probability `share` in [0, 1], to within 2^-32."""


class ExactNoise:
    """Cryptographically random, exact samples of the discrete Gaussian (Canonne, Kamath and Steinke 2020; OpenDP).

    The probability of z is proportional to exp(-z^2 / (2 scale^2)).
    """

    private = True
    source = EXACT_SOURCE

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """See `Noise`; drawn in threads, about 10 microseconds per sample and core."""

        def part(first: int, last: int) -> np.ndarray:
            domain = vector_domain(atom_domain(T="i64"))
            mechanism = make_gaussian(domain, l2_distance(T=float), scale=scale)
            return np.array(mechanism([0] * (last - first)), np.int64)

        parts = run_ranges(part, chunks(size, _CHUNK))
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """See `Noise`; OpenDP's Gaussian threshold over an unknown key set.

        Threads process parts of the keys separately. This does not change the distribution of the result, because the
        noise of each key is independent of the other keys.
        """
        domain = map_domain(atom_domain(T="i64"), atom_domain(T="i64"))
        metric = l02inf_distance(absolute_distance(T=float))
        items = list(values.items())

        def part(first: int, last: int) -> dict[int, int]:
            mechanism = make_gaussian_threshold(domain, metric, scale=scale, threshold=threshold)
            return dict(mechanism(dict(items[first:last])))

        return {key: value for kept in run_ranges(part, chunks(len(items), _CHUNK)) for key, value in kept.items()}

    def coins(self, share: float, size: int) -> np.ndarray:
        """See `Noise`; from the operating system's entropy."""
        return np.frombuffer(os.urandom(4 * size), np.uint32) < math.floor(share * 2**32)


class SimulatedNoise:
    """Reproducible rounded Gaussian noise for experiments. Never private: anyone with the seed can subtract it.

    Its random stream is not `numpy.random.default_rng(seed)`: a fit with the same seed draws its public starting points
    from that stream, and `dplda.learning.synthetic` its documents.
    """

    private = False
    source = f"simulated by NumPy {np.__version__} from a seed: not private"

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_NOISE_STREAM))

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """See `Noise`."""
        return np.rint(self._rng.normal(0.0, scale, size)).astype(np.int64)

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """See `Noise`."""
        noise = self.gaussian(scale, len(values))
        noisy = {key: value + int(z) for (key, value), z in zip(values.items(), noise, strict=True)}
        return {key: value for key, value in noisy.items() if value >= threshold}

    def coins(self, share: float, size: int) -> np.ndarray:
        """See `Noise`."""
        return self._rng.random(size) < share


def lattice_scale(multiplier: float, sensitivity: float, weight: int = 1) -> float:
    """Return the noise scale multiplier * sensitivity / sqrt(weight), times 1 + 1e-7, rounded up to a multiple of 1/64.

    `sensitivity` is in lattice units, and `weight` is the weight of the column that gets the noise (docs/privacy.md,
    rule 11). The factor covers the difference between discrete and continuous Gaussian noise: by T8, a scale of 10^5,
    about the smallest in use, lowers the effective multiplier by a relative 10^-10. OpenDP computes with the exact
    fraction; a small denominator saves a tenth of the time. Raises `ValueError` for a scale below 10^4.
    """
    scale = multiplier * sensitivity / math.sqrt(weight)
    if scale < 1e4:
        raise ValueError("noise below 10^4 lattice steps is outside the use of T8")
    return math.ceil(64 * scale * (1 + 1e-7)) / 64


def joint_multiplier(multipliers: Sequence[float]) -> float:
    """Return the multiplier sigma of one release with the privacy loss of separate releases with `multipliers` sigma_j.

    sigma^-2 = sum sigma_j^-2, rounded up; a single multiplier is returned as it is (docs/privacy.md, section 4.1).
    """
    if not multipliers:
        raise GateError("a release must spend an event")
    if len(multipliers) == 1:
        return multipliers[0]
    return (1 + 1e-12) / math.sqrt(math.fsum(1 / multiplier**2 for multiplier in multipliers))


@dataclass(frozen=True)
class NoisyValues:
    """Released values with discrete Gaussian noise."""

    values: np.ndarray
    step: float  # of the lattice, in the unit of `values`
    scale: float  # of the noise, in lattice steps
    failure: float  # total probability that bounds derived from the values fail

    @property
    def std(self) -> float:
        """The standard deviation of the noise, in the unit of `values`."""
        return self.scale * self.step

    def margin(self, bounds: int = 1, terms: int = 1) -> float:
        """Return the margin of a one-sided bound that fails with probability at most `failure` / `bounds`.

        The bound is on a sum or difference of `terms` values. A discrete Gaussian is stochastically below a continuous
        one plus a step, and each value was rounded by at most half a step.
        """
        if self.failure <= 0:
            raise GateError("a tested stage needs a failure probability in the plan")
        quantile = float(-ndtri(self.failure / bounds))
        return self.step * (quantile * math.sqrt(terms) * self.scale + 1.5 * terms)


ReleaseValues = Callable[[str, np.ndarray, float], NoisyValues]  # stage, exact values, their l2-sensitivity


def release_values(
    event: Event,
    noise: Noise,
    values: np.ndarray,
    sensitivity: float,
    add: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.add,
) -> NoisyValues:
    """Release `values` of any shape and l2-sensitivity `sensitivity` with the noise of `event`.

    Values are rounded to multiples of sensitivity / B, B = `BOUND`, which makes their sensitivity B + sqrt(number of
    values) in lattice units; the noise is scaled to that. NaN counts as 0. `add` adds integers and their noise.
    """
    step = sensitivity / BOUND
    integers = np.nan_to_num(np.clip(np.rint(values / step), -_LARGEST, _LARGEST)).astype(np.int64)
    scale = lattice_scale(event.noise_multiplier or 0.0, BOUND + math.ceil(math.sqrt(integers.size)))
    noisy = add(integers, noise.gaussian(scale, integers.size).reshape(integers.shape))
    return NoisyValues(noisy * step, step, scale, event.delta)


@lru_cache(maxsize=16)
def selection_threshold(scale: float, delta: float, most_words: int) -> int:
    """Return the least lattice value at which a word may be released (T7', with the discrete tail of rule 9).

    A unit votes for at most `most_words` words that no other unit contains, with weights of norm at most B = `BOUND`.
    The probability that one of these words is released is largest if one word has a share y of the squared norm, thus
    the weight sqrt(y) B, and all others have equal weights (T7'). Bisection finds the least threshold at which this
    probability is at most `delta` for every y in [0, 1]. T7' holds for thresholds of at least 2 B. The discrete
    Gaussian of parameter `scale` has P(Z >= z) <= 1 - Phi((z - 1) / scale), hence the extra step.
    """
    low, high = 0.0, 2.0 * BOUND + 40.0 * scale
    while high - low > max(1.0, 1e-9 * high):
        middle = (low + high) / 2
        low, high = (middle, high) if _leak(middle, scale, most_words) > delta else (low, middle)
    return max(math.ceil(high), 2 * BOUND) + 2


def _leak(threshold: float, scale: float, most_words: int) -> float:
    """Return an upper bound on the probability that a word that only one unit contains is released (T7').

    The bound holds whatever share y in [0, 1] of the unit's squared norm one word has. A grid divides [0, 1] into cells
    [y, y']. In each cell, the weight of this word is taken at y', since it rises with y. The weight of the other words
    is taken at y, since it falls with y.
    """
    y = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 2000)])
    one = log_ndtr((threshold - BOUND * np.sqrt(y[1:])) / scale)
    others = log_ndtr((threshold - BOUND * np.sqrt((1 - y[:-1]) / max(most_words - 1, 1))) / scale)
    return float(-np.expm1((one + (most_words - 1) * others).min()))
