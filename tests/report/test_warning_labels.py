"""What is not private says so wherever Python shows it: in titles, in one line, and in frames."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from answer_data import BY_TEAM, count_table, counts, word_table, words
from report_data import run_model, tables

from dplda.budget.events import PrivacyStatement
from dplda.learning.coherence import Coherence, Prediction
from dplda.learning.estimates import Estimates
from dplda.model.topic_groups import contrast
from dplda.runs.evaluation import Evaluation
from dplda.runs.released_table import Tables

SOUND = run_model().privacy
SIMULATED = replace(SOUND, sound=False, epsilon=math.inf, reason="NOT PRIVATE: simulated noise from a known seed")
UNPROVEN = replace(SIMULATED, reason="the noise that the paper prints")
LABELS = pytest.mark.parametrize(
    ("privacy", "label"), [(SOUND, ""), (SIMULATED, "NOT PRIVATE"), (UNPROVEN, "NOT PROVEN PRIVATE")]
)


def results(privacy: PrivacyStatement) -> list[Tables]:
    by_topic = (tables(run_model(), (2000, 1500, 900), by=(name,)) for name in ("month(day)", "product"))
    found = (*by_topic, counts(count_table()), counts(BY_TEAM), words(word_table()))
    return [replace(each, privacy=privacy) for each in found]


def label_of(frame: Any) -> str:
    label: str = frame.columns.name or ""
    assert frame.attrs["private"] == (not label)
    if len(frame):
        assert label in repr(frame).splitlines()[0]
        assert label in frame._repr_html_()
    return label


@LABELS
def test_tables_are_marked_if_they_are_not_private(privacy: PrivacyStatement, label: str) -> None:
    mark = f"{label}: " if label else ""
    for found in results(privacy):
        title, told = found.plot().get_suptitle(), repr(found)
        assert title.startswith(mark)
        assert f"({found.run}, {label or 'epsilon=1'}: {type(found[0]).__name__}({mark}" in told
        if not label:
            assert "PRIVATE" not in title + told
        again = type(found).of_released(found.released(), run=found.run, of=found.of)
        for table in (found[0], again[0], found[0].whole()):
            assert label_of(table.to_frame()) == label
        assert "PRIVATE" not in str(found[0].released()), "released numbers stay as they are"


@LABELS
def test_shares_from_tables_that_are_not_private_are_marked(privacy: PrivacyStatement, label: str) -> None:
    for found in (results(privacy)[0], results(privacy)[0][0]):
        title = run_model().plot("shares", found).get_suptitle()
        assert title.startswith(f"{label}: " if label else "How common")


@LABELS
def test_models_and_comparisons_of_models_are_marked(privacy: PrivacyStatement, label: str) -> None:
    model = replace(run_model(), privacy=privacy)
    assert label_of(model.to_frame()) == label
    assert (label or "epsilon=1") in repr(model)
    for found in (contrast(model, run_model()), contrast(run_model(), model)):
        assert repr(found).startswith(f"ComparedTopics({label}: " if label else "ComparedTopics(")
        assert ("PRIVATE" in repr(found)) == bool(label)
        assert label_of(found.to_frame()) == label
    both = contrast(replace(model, privacy=UNPROVEN), replace(model, privacy=SIMULATED))
    assert both.warning_label == "NOT PRIVATE"


@LABELS
def test_an_evaluation_is_marked(privacy: PrivacyStatement, label: str) -> None:
    one, npmi = Estimates(0.5, 0.4, 0.6), Estimates(np.array([0.5]), np.array([0.4]), np.array([0.6]))
    found = Evaluation("run", "of", (0,), Coherence(npmi, one, one), Prediction(one, one), privacy)
    assert repr(found).startswith(f"Evaluation({label}: NPMI" if label else "Evaluation(NPMI")
