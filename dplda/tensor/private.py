"""The private tensor power method (Wang and Anandkumar 2016, Algorithm 3), calibrated exactly."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dplda.compute.arrays import Array, standard_normal
from dplda.config import check_choice
from dplda.errors import InputError
from dplda.spectral.calibration import gaussian_questions, total_mu
from dplda.tensor.implicit import Implicit, along_itself, implicit, require_counts
from dplda.tensor.noisy import noisy_power_method
from dplda.tensor.power import EigenPairs
from dplda.tensor.sensitivity import ENTRY, SENSITIVITIES


def private_power_method(
    T: Array | Implicit,
    rank: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    delta: float,
    neighbours: str = ENTRY,
    change: float = 1.0,
    starts: int = 1,
    iterations: int = 8,
) -> EigenPairs:
    """Find `rank` pairs of the private symmetric tensor T (d, d, d) within (`epsilon` in nats, `delta`).

    `neighbours` "entry": T' - T is +-`change` times e_i x e_j x e_k summed over its six orders (Definition 4.2).
    "unit": |T' - T|_F <= `change`, as for a sum of contributions of documents or persons, each clipped to `change` in
    Frobenius norm, when one is added or removed; for a replaced one pass twice the clip, for an average divide it by
    the (public) number.

    Every power step, and the values after the last, are one Gaussian question about all `starts` vectors; its noise is
    the multiplier of rank * (iterations + 1) equal questions times the scales of `dplda.tensor.sensitivity`.
    Normalising and deflating are post-processing. Differs from the paper: nu, which follows from no composition
    theorem (docs/privacy.md, section 1), is exact composition instead; and restarts asked together cost their joint
    sensitivity, where K = k L (R + 1) counts each by itself.

    Seeded floating-point noise is for study: a private release of documents goes through the curator's exact noise,
    as in `dplda.placements.tensor_power`.

    Cost: rank * (iterations + 1) products of T with (d, starts) arrays; memory as in `robust_power_method`. Raises
    `InputError` unless T is finite, cubic and symmetric and 1 <= rank <= d, and for a wrong budget (delta must be
    positive), neighbours or change.
    """
    require_counts(starts=starts, iterations=iterations)
    if not 0 < change < math.inf:
        raise InputError(f"change must be positive and finite, got {change}")
    check_choice("neighbours", neighbours, tuple(SENSITIVITIES))
    tensor, sensitivity = implicit(T, rank), SENSITIVITIES[neighbours](change)
    event = gaussian_questions("tensor power", rank * (iterations + 1), total_mu(epsilon, delta))
    multiplier = event.noise_multiplier or math.inf

    def along(U: Array) -> Array:
        noise = standard_normal(rng, tuple(U.shape), U)
        return tensor.along(U) + multiplier * sensitivity.of_products(U) * noise

    def value(U: Array) -> Array:
        noise = standard_normal(rng, (U.shape[1],), U)
        return along_itself(U, tensor.along(U)) + multiplier * sensitivity.of_values(U) * noise

    noisy = replace(tensor, along=along)
    found = noisy_power_method(noisy, rank, rng, starts=starts, iterations=iterations, value=value)
    return replace(found, events=(event,))
