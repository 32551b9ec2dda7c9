"""What is said to be enough is enough, and little less is not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dplda.base.errors import UnsupportedByData
from dplda.budget.accountant import calibrate
from dplda.budget.events import Event, Stage
from dplda.learning.model_size import run_mu
from dplda.learning.placements import default
from dplda.learning.settings import FitSettings
from dplda.runs.enough import require_documents
from dplda.runs.forecast import MANY_SUBJECTS, REFERENCE_CORPORA, ForecastInputs, least_documents, least_epsilon

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


LISTED = tuple(f"word{i}" for i in range(50))


def events_of(settings: FitSettings) -> tuple[Event, ...]:
    shares = default.shares(settings.vocabulary.public is not None, settings.model.topics)
    return calibrate(shares, settings.privacy.epsilon, settings.privacy.delta)


def refusal(documents: float, *, of_prior: bool = False, unit: str = "document", **named: object) -> str:
    """Why a run that released the size `documents` ends; empty if it goes on."""
    settings = FitSettings.of(**named)
    try:
        require_documents(settings, events_of(settings), documents, unit, of_prior=of_prior)
    except UnsupportedByData as error:
        return str(error)
    return ""


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("topics", [1, 4, 20, "auto"])
@pytest.mark.parametrize("of_prior", [False, True])
def test_documents_times_mu_decide_for_public_words_whatever_the_topics(epsilon, topics, of_prior):
    named = {"epsilon": epsilon, "topics": topics, "public": LISTED}
    settings = FitSettings.of(**named)
    (size,) = (event for event in events_of(settings) if event.stage == Stage.SIZE)
    least = (60 if of_prior else 150) / run_mu(settings) / 1.5 - 2 * size.noise_multiplier
    assert refusal(1.02 * least + 2 if least > 0 else 0.98 * least + 2, of_prior=of_prior, **named) == ""
    assert "too few at epsilon" in refusal(
        0.98 * least - 2 if least > 0 else 1.02 * least - 2, of_prior=of_prior, **named
    )


@pytest.mark.parametrize("words", [None, LISTED])
def test_no_run_of_a_hundred_times_one_over_mu_documents_ends_but_by_a_chance_of_a_fortieth(words):
    settings = FitSettings.of(topics=4, public=LISTED)
    (size,) = (event for event in events_of(settings) if event.stage == Stage.SIZE)
    documents = 100 / run_mu(settings)
    assert refusal(documents - 1.95 * size.noise_multiplier, topics=4, public=LISTED) == ""
    assert refusal(40 / run_mu(settings) - 1.95 * size.noise_multiplier, topics=4, public=words, of_prior=True) == ""


def test_words_above_a_threshold_need_more_documents_than_public_or_listed_ones():
    assert (
        refusal(500, topics=4, public=LISTED) == refusal(500, topics=4, of_prior=True) == refusal(1500, topics=4) == ""
    )
    assert " to choose the words for 4 topics privately. " in refusal(500, topics=4, words="private")
    assert " to learn topics from them. " in refusal(500, topics=4)


@pytest.mark.parametrize("documents", [-50.0, 3.0, 100.0])
@pytest.mark.parametrize("case", [{}, {"words": "private"}, {"public": LISTED}, {"of_prior": True}])
def test_the_ways_that_are_told_would_do(monkeypatch, documents, case):
    monkeypatch.setattr("dplda.runs.enough._DEVIATIONS", -1.0)
    told = refusal(documents, topics=4, **case)
    (number,) = (int(each.replace(",", "")) for each in re.findall(r"at least ([\d,]+) documents", told))
    assert refusal(2 * number, topics=4, **case) == ""
    assert refusal(0.5 * number / 1.5, topics=4, **case)
    if found := re.search(r"at least epsilon ([\d.]+)", told):
        (size,) = (event for event in events_of(FitSettings.of(topics=4)) if event.stage == Stage.SIZE)
        for number in (documents, documents - 1.3 * size.noise_multiplier):
            assert refusal(number, topics=4, epsilon=float(found[1]), **case) == ""


def test_a_way_that_would_not_do_is_not_told():
    alone = refusal(-70, topics=4, words="private")
    assert not re.search("epsilon [^2]|--vocabulary|--prior|topics;|fewer", alone)
    assert re.search("--vocabulary.*--prior.*fewer topics", refusal(200, topics=4, words="private"))
    assert re.search("--prior", refusal(500, topics=4))
    assert not re.search("--prior|--vocabulary|fewer", refusal(-100, topics=4, public=LISTED, of_prior=True))


def test_more_epsilon_than_is_usual_is_not_proposed():
    assert re.search(r"at least epsilon [2-9]\.", refusal(1200, topics=4, epsilon=0.5))
    told = refusal(60, topics=4)
    assert "at least epsilon" not in told
    assert re.search("at least .* documents", told)


def test_counts_of_persons_are_proposed_where_persons_are_too_few_for_topics():
    assert refusal(100, topics=4, unit="reporter").endswith("people in categories that you name.")
    assert "dplda count" not in refusal(100, topics=4)


def test_what_was_counted_is_told():
    assert " about 10 documents with words of the word list (noisy, " in refusal(10.4, topics=4, public=LISTED)
    assert " about 0 different values of user (noisy, standard " in refusal(-3, topics=4, unit="user")
