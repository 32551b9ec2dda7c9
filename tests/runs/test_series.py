"""Series in Python: where a run is recorded, and which number a topic gets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import dplda
from dplda.base.distributions import on_words
from dplda.base.errors import DpldaWarning, InputError, UnsupportedByData
from dplda.budget import Ledger
from dplda.learning.recovery import Learned
from dplda.model.prior_topics import PriorTopics
from dplda.model.run_facts import RunFacts
from dplda.runs.corpus import synthetic
from dplda.runs.estimator import PrivateLDA
from dplda.runs.series import batches, renumber_topics

COUNTS, PLANTED, _ = synthetic(3000, 200, 4, mean_length=60, seed=4)
WORDS = [f"w{i}" for i in range(200)]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "l.db")


def part(number):
    return dplda.Corpus.from_counts(COUNTS[1000 * number : 1000 * number + 1000], WORDS, public_vocabulary=True)


def fitted(number, ledger, tmp_path, **options):
    options = {"series": "s", "batch": f"b{number}", "n_topics": 4, "epsilon": 3.0} | options
    return dplda.fit(part(number), ledger=ledger, models=tmp_path / "models", **options)


def test_a_batch_goes_on_from_the_one_before_it_also_when_it_is_fitted_again(ledger, tmp_path):
    models = [fitted(number, ledger, tmp_path) for number in range(3)]
    sources = [model.facts.prior and model.facts.prior.source for model in models]
    runs = [model.facts.run for model in models]
    assert sources == [None, f"run {runs[0]}", f"run {runs[1]}"]
    again = fitted(1, ledger, tmp_path)
    assert again.facts.prior.source == f"run {runs[0]}"
    assert [run.id for run in batches(ledger, "s")] == [runs[0], again.facts.run, runs[2]]
    kept = dplda.load(tmp_path / "models" / runs[2])
    assert np.array_equal(kept.counts.sums.total, models[2].counts.sums.total)
    assert kept.counts.sums.weight == models[2].counts.sums.weight
    assert np.array_equal(kept.counts.frequency_std, models[2].counts.frequency_std)


def test_the_first_batch_ends_if_it_is_too_small_and_a_later_one_does_not(ledger, tmp_path, monkeypatch):
    ledger.grant("s", unbounded=True)
    monkeypatch.setattr("dplda.runs.enough._LEAST_SIGNAL", 1e9)
    with pytest.raises(UnsupportedByData, match="epsilon 3"):
        fitted(0, ledger, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("dplda.runs.enough._LEAST_SIGNAL", 0.0)
        first = fitted(0, ledger, tmp_path)
    second = fitted(1, ledger, tmp_path)
    assert second.facts.prior.source == f"run {first.facts.run}"


def test_the_earlier_batch_may_be_named_and_stands_for_its_series(ledger, tmp_path):
    first = fitted(0, ledger, tmp_path)
    with pytest.raises(InputError, match=r"released_prior takes a model, got str\. That of a run: dplda\.load"):
        dplda.released_prior(first.facts.run)
    with pytest.raises(InputError, match="prior must be prior topics, got TopicModel"):
        dplda.fit(part(0), prior=first, ledger=ledger)
    prior = dplda.released_prior(first)
    second = dplda.fit(part(1), prior=prior, batch="next", epsilon=3.0, ledger=ledger)
    assert (second.facts.series, second.facts.batch) == ("s", "next")
    elsewhere = dplda.fit(part(2), "other", 4, prior=prior, epsilon=3.0, ledger=ledger)
    assert elsewhere.facts.series is None
    assert elsewhere.facts.prior_used is not None


def test_a_run_without_a_series_may_begin_one_later(ledger, tmp_path):
    ledger.grant("before", unbounded=True)  # with less epsilon, so few documents are learned from pairs of words
    first = fitted(0, ledger, tmp_path, series=None, batch=None, dataset="before", epsilon=25.0)
    then = fitted(1, ledger, tmp_path, prior=dplda.released_prior(first))
    assert (then.facts.series, then.facts.new_topics) == ("s", ())


def test_a_series_that_cannot_continue_a_run_says_so(ledger, tmp_path):
    ledger.grant("before", unbounded=True)
    first = fitted(0, ledger, tmp_path, series=None, batch=None, dataset="before", epsilon=2.0)
    assert first.facts.learned_from == "pairs of words"
    with pytest.warns(DpldaWarning, match=f"Run {first.facts.run} released no counts that a series continues"):
        fitted(1, ledger, tmp_path, prior=dplda.released_prior(first))


def test_a_prior_stands_for_its_series_only_where_no_other_budget_may_be_meant(ledger, tmp_path):
    prior = dplda.released_prior(fitted(0, ledger, tmp_path))
    ledger.grant("tickets", 1.0, 1e-5)
    tickets = dplda.Corpus.from_counts(COUNTS[1000:2000], WORDS, public_vocabulary=True, name="tickets")
    with pytest.raises(InputError, match=r"'tickets'.* --series s or --dataset t"):
        dplda.fit(tickets, prior=prior, epsilon=4.0, ledger=ledger)
    elsewhere = Ledger(tmp_path / "other.db")
    model = dplda.fit(tickets, n_topics=4, prior=prior, epsilon=3.0, ledger=elsewhere)
    assert model.facts.dataset == "tickets"


def test_a_private_batch_does_not_follow_the_numbers_of_one_that_is_not(ledger, tmp_path):
    ledger.grant("s", unbounded=True)
    fitted(0, ledger, tmp_path, placement="none")
    ledger.grant("s", 8.0, 1e-5)
    public = PriorTopics(np.vstack([PLANTED] * 2), tuple(WORDS), "a test", True)
    with pytest.raises(InputError, match="fitted without privacy"):
        fitted(1, ledger, tmp_path, prior=public)


def test_models_of_batches_are_kept_beside_the_ledger(ledger):
    options = {"epsilon": 3.0, "ledger": ledger, "public_vocabulary": WORDS, "series": "s"}
    PrivateLDA(4, batch="one", **options).fit(COUNTS[:1000])
    second = PrivateLDA(batch="two", **options).fit(COUNTS[1000:2000]).model_
    assert len(second.topics) == 4
    assert second.facts.new_topics == ()
    with pytest.raises(InputError, match="4 topics, got topics=20"):
        PrivateLDA(20, batch="three", **options).fit(COUNTS[2000:])
    with pytest.raises(InputError, match="topics must be a whole number"):
        PrivateLDA("many", batch="three", **options).fit(COUNTS[2000:])


def test_a_batch_needs_a_name(ledger, tmp_path):
    with pytest.raises(InputError, match="--batch NAME"):
        fitted(0, ledger, tmp_path, batch=None)
    assert ledger.runs() == []


def test_the_estimator_takes_a_series(ledger):
    options = {"epsilon": 3.0, "ledger": ledger, "public_vocabulary": WORDS, "series": "s"}
    model = PrivateLDA(4, batch="one", seed_words={"named": ["w1", "w2"]}, **options).fit(COUNTS[:1000]).model_
    assert list(model.topic_names.values()) == ["named"]
    assert [run.batch for run in ledger.runs()] == ["one"]


def test_topics_of_a_prior_keep_the_numbers_of_the_batch_before(ledger, tmp_path):
    others = np.random.default_rng(1).dirichlet(np.full(200, 0.05), size=16)
    known = PriorTopics(np.vstack([PLANTED, others]), tuple(WORDS), "a test", True)
    models = [fitted(number, ledger, tmp_path, prior=known) for number in range(3)]
    for earlier, later in pairwise(models):
        assert later.facts.new_topics == ()
        common = on_words(earlier.topics, earlier.vocabulary, later.vocabulary)
        assert np.abs(common - later.topics).max() < 0.02


def test_a_topic_that_is_like_none_gets_a_number_that_is_left():
    eye = np.eye(4)
    earlier = dplda.TopicModel(
        topics=eye[:3],
        prevalence=np.full(3, 1 / 3),
        vocabulary=["a", "b", "c", "d"],
        privacy=dplda.PrivacyStatement(
            epsilon=1.0, delta=1e-6, unit="document", adjacency="add-remove", sound=True, events=()
        ),
        facts=RunFacts(alpha=[1.0] * 3),
    )
    facts = {"verdicts": ["clear", "weak", "noise"]}
    learned = Learned(eye[[3, 2, 0]], np.array([0.5, 0.3, 0.2]), 100.0, facts)
    found = renumber_topics(learned, ("a", "b", "c", "d"), earlier)
    assert found.topics.tolist() == eye[[0, 3, 2]].tolist()
    assert found.prevalence.tolist() == [0.2, 0.5, 0.3]
    assert (found.facts["verdicts"], found.facts["new_topics"]) == (["noise", "clear", "weak"], [1])
