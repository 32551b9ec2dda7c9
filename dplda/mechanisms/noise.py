"""Exact discrete Gaussian noise (OpenDP), and seeded noise for simulations."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from opendp.domains import atom_domain, map_domain, vector_domain
from opendp.measurements import make_gaussian, make_gaussian_threshold
from opendp.metrics import absolute_distance, l02inf_distance, l2_distance
from opendp.mod import enable_features

from dplda.compute.threads import thread_count

enable_features("contrib")

CHUNK = 2000  # samples a thread draws at a time, about 20 milliseconds


class Noise(Protocol):
    """A source of integer Gaussian noise."""

    private: bool

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """`size` independent integers (int64) from the discrete Gaussian of parameter `scale` (lattice units)."""

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """Add noise to each value and keep the keys whose noisy value reaches `threshold`."""

    def coins(self, share: float, size: int) -> np.ndarray:
        """`size` independent booleans, each true with probability `share` in [0, 1], to within 2^-32."""


class ExactNoise:
    """Cryptographically random, exact samples: mass at z proportional to exp(-z^2 / (2 scale^2)) (Canonne, Kamath
    and Steinke 2020, as built in OpenDP)."""

    private = True

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """See `Noise`; about 10 microseconds a sample and core, drawn in threads."""
        sizes = [min(CHUNK, size - first) for first in range(0, size, CHUNK)]
        with ThreadPoolExecutor(thread_count()) as pool:
            parts = list(pool.map(lambda n: _gaussian(scale, n), sizes))
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """See `Noise`; OpenDP's Gaussian threshold over an unknown key set."""
        domain = map_domain(atom_domain(T="i64"), atom_domain(T="i64"))
        metric = l02inf_distance(absolute_distance(T=float))
        mechanism = make_gaussian_threshold(domain, metric, scale=scale, threshold=threshold)
        return dict(mechanism(dict(values)))

    def coins(self, share: float, size: int) -> np.ndarray:
        """See `Noise`; from the operating system's entropy."""
        return np.frombuffer(os.urandom(4 * size), np.uint32) < math.floor(share * 2**32)


def _gaussian(scale: float, size: int) -> np.ndarray:
    domain = vector_domain(atom_domain(T="i64"))
    mechanism = make_gaussian(domain, l2_distance(T=float), scale=scale)
    return np.array(mechanism([0] * size), np.int64)


class SimulatedNoise:
    """Reproducible rounded Gaussian noise for experiments. Never private: whoever knows the seed can subtract it."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """See `Noise`."""
        return np.rint(self._generator.normal(0.0, scale, size)).astype(np.int64)

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """See `Noise`."""
        noise = self.gaussian(scale, len(values))
        noisy = {key: value + int(z) for (key, value), z in zip(values.items(), noise, strict=True)}
        return {key: value for key, value in noisy.items() if value >= threshold}

    def coins(self, share: float, size: int) -> np.ndarray:
        """See `Noise`."""
        return self._generator.random(size) < share


def lattice_scale(multiplier: float, sensitivity: float, weight: int = 1) -> float:
    """Standard deviation multiplier * sensitivity / sqrt(weight), rounded up (docs/privacy.md, rule 11).

    `sensitivity` is in lattice units. T8 lets the multiplier stand for a continuous Gaussian only while the scale
    is far above 2 lattice steps; the least scale in use here is about 10^5, where T8 costs 10^-10 of it, which
    the factor below adds back. The result is a whole number of 64ths: OpenDP computes with its exact fraction, and a
    short one takes a tenth less time.
    """
    scale = multiplier * sensitivity / math.sqrt(weight)
    if scale < 1e4:
        raise ValueError("noise below 10^4 lattice steps is outside the use of T8")
    return math.ceil(64 * scale * (1 + 1e-7)) / 64
