"""The private tensor power method: its noise has the law that its events state, and they keep to the budget."""

from __future__ import annotations

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from known_tensors import LIBRARIES, planted

from dplda.base.errors import InputError
from dplda.budget.accountant import run_epsilon
from dplda.papers import Implicit, private_tensor_power_method
from dplda.papers.tensors import PRODUCT, SCALES, VALUE

DELTA = 1e-6
D = 60


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
@pytest.mark.parametrize("neighbours", SCALES)
def test_events_add_up_to_the_budget_and_no_more(epsilon, neighbours):
    T, _ = planted(np.array([3.0, 2.0]), 5, seed=1)
    found = private_tensor_power_method(
        T, 2, np.random.default_rng(0), epsilon=epsilon, delta=DELTA, neighbours=neighbours, starts=3, iterations=4
    )
    (event,) = found.events
    assert event.count == 2 * (4 + 1)
    accountant = PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(event.noise_multiplier), event.count)
    assert 0.98 * epsilon < accountant.get_epsilon(DELTA) <= epsilon
    assert run_epsilon(found.events, DELTA) <= epsilon


def asked(neighbours, starts, iterations, seed):
    """What a run on the zero tensor asked, in multiples of the noise's stated scale, and its iterates."""
    batches = []

    def along(U):
        batches.append(U)
        return np.zeros_like(U)

    found = private_tensor_power_method(
        Implicit(along, D), 1, np.random.default_rng(seed), epsilon=1.0, delta=DELTA, change=0.7,
        neighbours=neighbours, starts=starts, iterations=iterations,
    )  # fmt: skip
    return found, batches[1:]  # after the test of symmetry


@pytest.mark.parametrize("neighbours", SCALES)
def test_noise_has_the_stated_multiplier_of_the_sensitivity(neighbours):
    squares, values = [], []
    for seed in range(60):
        found, (U, _) = asked(neighbours, 1, 1, seed)
        multiplier, scales = found.events[0].noise_multiplier, SCALES[neighbours]
        v = found.vectors
        values.append(found.values[0] / scales(v, VALUE, 0.7)[0] / multiplier)
        # the answer z about u is known from its direction v and the residual |z - (z.u) u|
        length = found.residuals[0] / np.linalg.norm(v - (v.T @ U) * U)
        squares.append((length / scales(U, PRODUCT, 0.7)[0] / multiplier) ** 2 / D)
    assert np.mean(squares) == pytest.approx(1, rel=0.1)  # 60 D squared normal numbers: 2.4 %
    assert np.std(values) == pytest.approx(1, rel=0.3)  # 60 normal numbers: 9 %


@pytest.mark.parametrize("neighbours", SCALES)
def test_the_tensor_is_asked_as_often_as_is_charged(neighbours):
    found, batches = asked(neighbours, starts=5, iterations=3, seed=0)
    assert len(batches) == found.events[0].count == 4
    assert {batch.shape for batch in batches} == {(D, 5)}


class Recorded:
    """A generator that keeps what it draws."""

    def __init__(self):
        self.random, self.drawn = np.random.default_rng(4), []

    def standard_normal(self, shape):
        self.drawn.append(self.random.standard_normal(shape))
        return self.drawn[-1]


@pytest.mark.parametrize("neighbours", SCALES)
def test_restarts_have_the_noise_of_their_joint_sensitivity_and_the_largest_noisy_value_wins(neighbours):
    """On the zero tensor answers are noise, so that everything found follows from what was drawn."""
    random, scales = Recorded(), SCALES[neighbours]
    found = private_tensor_power_method(
        Implicit(np.zeros_like, 4), 1, random, epsilon=1.0, delta=DELTA, change=0.7, neighbours=neighbours,
        starts=6, iterations=1,
    )  # fmt: skip
    start, products, values = random.drawn
    multiplier = found.events[0].noise_multiplier
    U = start / np.linalg.norm(start, axis=0)
    products = multiplier * scales(U, PRODUCT, 0.7) * products
    V = products / np.linalg.norm(products, axis=0)
    values = multiplier * scales(V, VALUE, 0.7) * values
    best = np.argmax(values)
    assert found.values[0] == pytest.approx(values[best])
    np.testing.assert_allclose(found.vectors[:, 0], V[:, best])
    residual = products - (products * U).sum(axis=0) * U
    assert found.residuals[0] == pytest.approx(np.linalg.norm(residual[:, best]))


def test_a_generous_budget_finds_the_components():
    T, V = planted(np.array([900.0, 600.0]), 10, seed=2)
    for library in LIBRARIES.values():
        found = private_tensor_power_method(
            library(T), 2, np.random.default_rng(1), epsilon=50.0, delta=DELTA, starts=6
        )
        np.testing.assert_allclose(np.asarray(found.vectors), V, atol=0.1)
        np.testing.assert_allclose(np.asarray(found.values), [900.0, 600.0], rtol=0.05)


def test_half_the_change_is_half_the_noise():
    T, _ = planted(np.array([1000.0]), 10, seed=2)
    errors = []
    for change in (0.5, 1.0):
        found = [
            private_tensor_power_method(
                T, 1, np.random.default_rng(s), epsilon=20.0, delta=DELTA, change=change, starts=4
            )
            for s in range(30)
        ]
        errors.append(np.sqrt(np.mean([(one.values[0] - 1000.0) ** 2 for one in found])))
    assert errors[1] / errors[0] == pytest.approx(2, rel=0.4)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"neighbours": "row"}, "neighbours must be one of entry, unit"),
        ({"change": 0.0}, "change"),
        ({"change": np.inf}, "change"),
        ({"starts": 0}, "starts"),
        ({"starts": 1.5}, "starts"),
        ({"iterations": -1}, "iterations"),
        ({"T": np.full((2, 2, 2), np.nan)}, "finite"),
        ({"rank": 3}, "rank 3"),
    ],
)
def test_what_cannot_be_private_or_decomposed_is_refused(more, message):
    usual = {"T": np.zeros((2, 2, 2)), "rank": 1, "epsilon": 1.0, "delta": DELTA}
    with pytest.raises(InputError, match=message):
        private_tensor_power_method(rng=np.random.default_rng(0), **{**usual, **more})
