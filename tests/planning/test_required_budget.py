"""What is said to be enough is enough, and little less is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dplda.config import FitSettings
from dplda.planning.forecast import ForecastInputs
from dplda.planning.reference_corpora import MANY_SUBJECTS, REFERENCE_CORPORA
from dplda.planning.required_budget import least_documents, least_epsilon

SETTINGS = FitSettings.of(topics=20, epsilon=2.0)
PUBLIC = ForecastInputs(SETTINGS, 20_000, public_vocabulary=True)


@pytest.mark.parametrize("kind", REFERENCE_CORPORA)
def test_what_is_said_to_be_enough_is_enough_and_less_is_not(kind):
    def all_survive(outlook: ForecastInputs) -> bool:
        return outlook.forecast(kind).supported >= 20

    epsilon, documents = least_epsilon(PUBLIC, kind), least_documents(PUBLIC, kind)
    assert epsilon is not None
    assert documents is not None
    assert all_survive(replace(PUBLIC, settings=FitSettings.of(topics=20, epsilon=1.03 * epsilon)))
    assert not all_survive(replace(PUBLIC, settings=FitSettings.of(topics=20, epsilon=0.9 * epsilon)))
    assert all_survive(replace(PUBLIC, documents=documents))
    assert not all_survive(replace(PUBLIC, documents=round(0.95 * documents)))


def test_a_single_document_is_never_enough():
    assert least_epsilon(ForecastInputs(SETTINGS, 1), MANY_SUBJECTS) is None
