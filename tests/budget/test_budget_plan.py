"""The plan: frozen before anything is read, in proportion to its shares, within delta."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.budget.accountant import _MOST_FAILURES, FAILURE_SHARE, Share, calibrate, run_epsilon
from dplda.budget.events import GAUSSIAN, GAUSSIAN_THRESHOLD
from dplda.learning.placements.default import shares


def test_every_question_is_one_event_that_cannot_be_changed():
    events = calibrate((Share("a", 1.0), Share("round", 2.0, count=3)), 1.0, 1e-6)
    assert [event.stage for event in events] == ["a", "round", "round", "round"]
    assert all(event.count == 1 for event in events)
    with pytest.raises(dataclasses.FrozenInstanceError):
        events[0].noise_multiplier = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_word_selection_alone_may_fail_and_only_within_one_percent_of_delta(delta):
    events = calibrate(shares(False, 20), 1.0, delta)
    assert [event.stage for event in events if event.mechanism == GAUSSIAN_THRESHOLD] == ["vocabulary"]
    assert all(event.delta == 0 for event in events if event.mechanism == GAUSSIAN)
    assert 0 < sum(event.delta for event in events) <= FAILURE_SHARE * delta


def test_a_public_vocabulary_never_fails():
    assert all(event.delta == 0 for event in calibrate(shares(True, 20), 1.0, 1e-6))


parts = st.lists(st.tuples(st.floats(0.001, 1.0), st.integers(1, 4)), min_size=1, max_size=5)


@settings(deadline=None, max_examples=15)
@given(parts=parts, epsilon=st.floats(0.05, 4.0))
def test_squared_gdp_parameters_follow_the_shares(parts, epsilon):
    asked = tuple(Share(f"s{i}", part, count) for i, (part, count) in enumerate(parts))
    events = calibrate(asked, epsilon, 1e-6)
    spent = {s.stage: math.fsum(e.noise_multiplier**-2 for e in events if e.stage == s.stage) for s in asked}
    per_part = [spent[share.stage] / share.weight for share in asked]
    assert max(per_part) == pytest.approx(min(per_part), rel=1e-9)
    assert run_epsilon(events, 1e-6) <= epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 1e-12), (1e-3, 0.1), (3.0, 1e-12), (1.0, 0.1)])
def test_the_corners_of_the_allowed_budgets_can_be_calibrated(epsilon, delta):
    assert 0 <= run_epsilon(calibrate(shares(False, 20), epsilon, delta), delta) <= epsilon


def test_every_question_that_may_fail_carries_its_part_of_delta_and_costs_nothing_else():
    asked = (Share("vocabulary", 1.0, selects_words=True), Share("a", 1.0), Share("test", 1.0, count=3))
    testing = (*asked[:2], dataclasses.replace(asked[2], may_fail=True))
    plain, tested = calibrate(asked, 1.0, 1e-6), calibrate(testing, 1.0, 1e-6)
    assert [event.delta for event in tested] == pytest.approx([1e-9, 0.0, 1e-9, 1e-9, 1e-9], rel=2e-6)
    assert math.fsum(event.delta for event in [tested[0]] * 10) <= FAILURE_SHARE * 1e-6, "ten such runs fit"
    assert [event.mechanism for event in tested] == [GAUSSIAN_THRESHOLD, *[GAUSSIAN] * 4]
    for one, other in zip(plain, tested, strict=True):
        assert other.noise_multiplier == pytest.approx(one.noise_multiplier, rel=1e-9)
    assert run_epsilon(tested, 1e-6) <= 1.0


def test_more_failures_than_delta_has_room_for_are_refused():
    words = Share("vocabulary", 1.0, selects_words=True)
    events = calibrate((words, Share("test", 1.0, _MOST_FAILURES - 1, may_fail=True)), 1.0, 1e-6)
    assert sum(event.delta for event in events) < FAILURE_SHARE * 1e-6
    with pytest.raises(ValueError, match=r"at most 9 .* 10"):
        calibrate((words, Share("test", 1.0, _MOST_FAILURES, may_fail=True)), 1.0, 1e-6)
