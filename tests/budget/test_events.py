"""Events are well formed or not made, and survive JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from dplda.budget.events import EXACT, GAUSSIAN_THRESHOLD, PURE, Event, PrivacyStatement, Stage, at_least, merge_events


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"noise_multiplier": 0.0},
        {"noise_multiplier": -1.0},
        {"noise_multiplier": math.inf},
        {"noise_multiplier": math.nan},
        {"noise_multiplier": 1.0, "epsilon": 1.0},
        {"mechanism": PURE},
        {"mechanism": PURE, "epsilon": 0.0},
        {"mechanism": PURE, "noise_multiplier": 1.0},
        {"mechanism": EXACT, "noise_multiplier": 1.0},
        {"mechanism": "laplace", "epsilon": 1.0},
        {"noise_multiplier": 1.0, "delta": -1e-9},
        {"noise_multiplier": 1.0, "delta": 1.0},
        {"noise_multiplier": 1.0, "delta": math.nan},
        {"noise_multiplier": 1.0, "count": 0},
    ],
)
def test_an_event_without_a_definite_price_cannot_be_made(fields):
    with pytest.raises(ValueError, match="event 'sum'"):
        Event(stage="sum", **fields)


def test_events_and_statements_survive_json():
    events = (
        Event(stage="words", mechanism=GAUSSIAN_THRESHOLD, noise_multiplier=7.25, delta=1e-9),
        Event(stage="round", noise_multiplier=5.0, count=4),
        Event(stage="test", mechanism=PURE, epsilon=0.5),
        Event(stage="all", mechanism=EXACT),
    )
    for epsilon, reason in ((1.5, ""), (math.inf, "NOT PRIVATE")):
        statement = PrivacyStatement(
            epsilon=epsilon,
            delta=1e-6,
            unit="document",
            adjacency="replace",
            sound=not reason,
            events=events,
            reason=reason,
        )
        text = json.dumps(statement.to_json(), allow_nan=False)
        assert PrivacyStatement.from_json(json.loads(text)) == statement


def test_json_leaves_out_what_an_event_does_not_have():
    assert Event(stage="a", noise_multiplier=2.0).to_json() == {
        "stage": "a",
        "mechanism": "gaussian",
        "noise_multiplier": 2.0,
        "count": 1,
    }


def test_merging_keeps_order_and_the_number_of_questions():
    a, b = Event(stage="a", noise_multiplier=2.0), Event(stage="b", noise_multiplier=2.0, count=2)
    twice = merge_events([a, b, a, b])
    assert [(event.stage, event.count) for event in twice] == [("a", 2), ("b", 4)]


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (1.9993961, "2"),
        (1.2341, "1.235"),
        (0.05, "0.05"),
        (0.050001, "0.05001"),
        (0.5, "0.5"),
        (99.914, "99.92"),
        (0.0, "0"),
        (math.inf, "inf"),
    ],
)
def test_an_epsilon_is_told_rounded_up(epsilon: float, text: str) -> None:
    assert at_least(epsilon) == text
    assert float(at_least(epsilon)) >= epsilon


def test_a_statement_is_shown_in_words_with_its_releases():
    events = (
        Event(stage=Stage.MEAN, noise_multiplier=2.5, count=2),
        Event(stage=Stage.VOCABULARY, mechanism=GAUSSIAN_THRESHOLD, noise_multiplier=9, delta=1e-8),
        Event(stage=Stage.MEAN, mechanism=PURE, epsilon=0.5),
        Event(stage=Stage.MEAN, mechanism=EXACT),
    )
    sound = PrivacyStatement(epsilon=1, delta=1e-6, unit="person", adjacency="replace", sound=True, events=events)
    assert repr(sound) == f"PrivacyStatement({sound.in_words}; 5 releases)"
    first, *lines = str(sound).splitlines()
    assert first == sound.in_words
    assert lines[0] == f"  {Stage.MEAN}: 2 x gaussian, noise 2.5 times the sensitivity"
    assert lines[1].endswith("noise 9 times the sensitivity, failure probability 1e-08 each")
    assert lines[2].endswith("1 x pure, epsilon 0.5 each")
    assert lines[3].endswith("1 x exact")
    assert "why" in str(replace(sound, sound=False, reason="why"))
