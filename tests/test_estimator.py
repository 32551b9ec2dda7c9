"""The scikit-learn estimator keeps scikit-learn's contract and ours."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dplda import Ledger, PrivateLDA
from dplda.corpus import synthetic
from dplda.errors import BudgetRefused, InputError


@pytest.fixture(scope="module")
def planted():
    return synthetic(n_documents=3000, n_words=60, n_topics=3, mean_length=60, seed=5)


@parametrize_with_checks([PrivateLDA(n_components=2, random_state=0)])
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
def test_check_estimator(estimator, check):
    check(estimator)


def test_topics_are_found_again_and_documents_get_proportions(planted):
    counts, topics, _ = planted
    estimator = PrivateLDA(n_components=3, epsilon=20.0, random_state=1).fit(counts)
    distance = np.abs(estimator.components_[:, None] - topics[None]).sum(axis=2)
    assert distance.min(axis=0).mean() < 0.2
    assert estimator.transform(counts).shape == (3000, 3)
    assert estimator.get_feature_names_out().tolist() == ["privatelda0", "privatelda1", "privatelda2"]
    assert not estimator.privacy_.sound


def test_a_fit_without_random_state_is_private_charged_and_refused_in_the_end(planted, tmp_path):
    counts = planted[0][:500]
    ledger = Ledger(tmp_path / "ledger.db")
    estimator = PrivateLDA(n_components=3, epsilon=6.0, dataset="survey", ledger=ledger)
    assert estimator.fit(counts).privacy_.sound
    assert ledger.dataset("survey").spent.mu_squared > 0
    estimator.fit(counts)
    with pytest.raises(BudgetRefused):
        estimator.fit(counts)


def test_unnamed_counts_share_one_budget(planted, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    for rows in (planted[0][:300], planted[0][300:600]):
        PrivateLDA(n_components=2, ledger=ledger).fit(rows)
    assert [record.name for record in ledger.datasets()] == ["unnamed"]


def test_more_topics_than_words_is_bad_input():
    with pytest.raises(InputError, match="topics must not exceed the number of words"):
        PrivateLDA(n_components=5, random_state=0).fit(np.ones((10, 3), int))


def test_it_stands_in_a_pipeline(planted):
    pipeline = make_pipeline(PrivateLDA(n_components=2, random_state=0), Normalizer())
    assert pipeline.fit_transform(planted[0][:200]).shape == (200, 2)


def test_seeded_noise_is_unrecorded_only_where_no_dataset_is_named(planted, tmp_path, monkeypatch):
    monkeypatch.setenv("DPLDA_LEDGER", str(tmp_path / "ledger.db"))
    counts = planted[0][:300]
    PrivateLDA(n_components=2, random_state=0).fit(counts)
    assert Ledger().datasets() == []
    seeded = PrivateLDA(n_components=2, random_state=0, dataset="survey")
    with pytest.raises(BudgetRefused, match="grant survey --unbounded"):
        seeded.fit(counts)
    Ledger().grant("survey", unbounded=True)
    assert not seeded.fit(counts).privacy_.sound
    assert [run.sound for run in Ledger().runs()] == [False]
