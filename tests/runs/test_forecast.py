"""The forecast uses a fit's own plan, agrees with simulated fits, and moves the way budgets and corpora do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dplda
from dplda.base.errors import InputError
from dplda.budget.accountant import calibrate
from dplda.learning.placements import default
from dplda.learning.settings import FitSettings
from dplda.runs.corpus import synthetic
from dplda.runs.enough import word_frequencies
from dplda.runs.forecast import (
    MANY_SUBJECTS,
    ONE_SUBJECT,
    REFERENCE_CORPORA,
    Forecast,
    ForecastInputs,
    ReferenceCorpus,
)

SETTINGS = FitSettings.of(topics=20, epsilon=2.0)
ABOVE_THRESHOLD = FitSettings.of(topics=20, epsilon=2.0, words="private")
PUBLIC = ForecastInputs(SETTINGS, 20_000, public_vocabulary=True)


def stage(forecast: Forecast, name: str):
    return next(stage for stage in forecast.stages if stage.name == name)


@pytest.mark.parametrize("public", [False, True])
def test_multipliers_are_those_of_a_fit(public):
    planned = calibrate(default.shares(public, 20), 2.0, 1e-6)
    forecast = ForecastInputs(SETTINGS, 100_000, public).forecast(ONE_SUBJECT)
    assert {s.name: s.multiplier for s in forecast.stages} == {
        event.stage: event.noise_multiplier
        for event in planned
        if not event.stage.endswith(" clip") and event.stage != "vote total"
    }


@pytest.mark.parametrize("public", [False, True])
def test_shares_are_of_the_stages_shown_and_add_to_one(public):
    outlook = ForecastInputs(SETTINGS, 100_000, public)
    assert list(outlook.shares) == [s.name for s in outlook.forecast(ONE_SUBJECT).stages]
    assert sum(outlook.shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_noise_and_topics_are_those_of_a_simulated_fit(epsilon):
    """Ten topics that stand apart, in documents as long as typical ones; noise within a factor of 1.5."""
    counts, _, _ = synthetic(20_000, 500, 10, mean_length=28, seed=3)
    corpus = dplda.Corpus.from_counts(counts, [f"w{i}" for i in range(500)], public_vocabulary=True)
    model = dplda.fit(corpus, n_topics=10, epsilon=epsilon, ledger=False, simulate_seed=0)
    settings = FitSettings.of(topics=10, epsilon=epsilon, max_vocabulary=500)
    forecast = ForecastInputs(settings, 20_000, public_vocabulary=True).forecast(MANY_SUBJECTS)
    assert 1 / 1.5 < stage(forecast, "core").noise / model.facts.core_noise_level < 1.5
    assert min(forecast.supported, 10) == model.facts.supported_topics == 10


@pytest.mark.parametrize(
    ("kind", "documents", "epsilon", "seen"),
    [
        (ONE_SUBJECT, 100_000, 0.5, 17),
        (ONE_SUBJECT, 100_000, 2.0, 26),
        (ONE_SUBJECT, 20_000, 2.0, 13),
        (MANY_SUBJECTS, 18_847, 1.0, 14),
        (MANY_SUBJECTS, 18_847, 2.0, 23),
        (MANY_SUBJECTS, 18_847, 4.0, 26),
    ],
)
def test_topics_are_about_as_many_as_fits_counted_on_real_corpora(kind, documents, epsilon, seen):
    """Supported topics of fits on film reviews and newsgroups, 2000 public words, k = 20 (docs/benchmarks.md)."""
    forecast = ForecastInputs(FitSettings.of(epsilon=epsilon), documents, public_vocabulary=True).forecast(kind)
    assert abs(forecast.supported - seen) <= 6


@pytest.mark.parametrize("kind", REFERENCE_CORPORA)
@pytest.mark.parametrize("public", [False, True])
def test_topics_grow_from_none_to_all_with_epsilon_and_with_documents(kind, public):
    by_epsilon = [
        ForecastInputs(FitSettings.of(epsilon=epsilon), 30_000, public).forecast(kind).supported
        for epsilon in (0.1, 0.5, 1.0, 2.0, 8.0)
    ]
    by_documents = [
        ForecastInputs(SETTINGS, documents, public).forecast(kind).supported
        for documents in (100, 10_000, 30_000, 1_000_000)
    ]
    for counts in (by_epsilon, by_documents):
        assert counts == sorted(counts)
        assert counts[0] < 3 < counts[-1] == 26


def test_replacing_a_unit_takes_more_noise_than_adding_one():
    replaced = replace(
        PUBLIC, settings=replace(SETTINGS, privacy=replace(SETTINGS.privacy, adjacency="replace"))
    ).forecast(ONE_SUBJECT)
    added = PUBLIC.forecast(ONE_SUBJECT)
    ratios = {s.name: s.noise / stage(added, s.name).noise for s in replaced.stages}
    assert ratios["size"] == 1
    assert ratios["frequency"] == pytest.approx(math.sqrt(2))
    assert min(ratios[name] for name in ("mean", "subspace", "core", "refine")) > 1.2


def test_words_are_those_that_enough_documents_hold():
    forecast = ForecastInputs(ABOVE_THRESHOLD, 30_000).forecast(ONE_SUBJECT)
    frequent, held = np.split(30_000 * word_frequencies(2100), [int((word_frequencies(2100) > 0.1).sum())])
    threshold = stage(forecast, "vocabulary").noise
    assert len(frequent) > 0
    assert 0 < forecast.words < 2000
    assert held[forecast.words - 1] >= threshold > held[forecast.words]


def test_with_too_few_words_nothing_follows():
    forecast = ForecastInputs(ABOVE_THRESHOLD, 1000).forecast(ONE_SUBJECT)
    assert (forecast.supported, [s.name for s in forecast.stages]) == (0, ["size", "vocabulary"])


@pytest.mark.parametrize("documents", [0, -5, 10**13, 2.5, True])
def test_numbers_of_documents_out_of_range_are_refused(documents):
    with pytest.raises(InputError, match=r"^documents "):
        ForecastInputs(SETTINGS, documents)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("documents", [1, 10**12])
@pytest.mark.parametrize(
    ("topics", "words", "epsilon", "delta"),
    [(1, 2, 1e-3, 1e-12), (2, 2, 3.0, 1e-3), ("auto", 2, 1.0, 1e-6), (100, 100_000, 10.0, 1e-6)],
)
def test_corners_give_finite_numbers(topics, words, epsilon, delta, documents, public, adjacency):
    settings = FitSettings.of(topics=topics, max_vocabulary=words, epsilon=epsilon, delta=delta, adjacency=adjacency)
    forecast = ForecastInputs(settings, documents, public).forecast(MANY_SUBJECTS)
    numbers = [number for s in forecast.stages for number in (s.multiplier, s.noise, s.signal)]
    assert np.isfinite([*numbers, *forecast.eigenvalues]).all()
    assert min(numbers[:3]) > 0


def test_typical_words_and_eigenvalues_fall_with_their_rank():
    held = word_frequencies(10**6)
    assert 0 < held.min() <= held.max() < 0.7
    assert (np.diff(held) < 0).all()
    values = ReferenceCorpus("any", "any", 0.2).eigenvalues(50)
    assert (np.diff(values) < 0).all()
    assert values[0] == 0.2
