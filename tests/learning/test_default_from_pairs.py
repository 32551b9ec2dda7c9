"""The default placement for few documents or short ones: when it is taken, what it spends, and what it finds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import dplda
from dplda.base.distributions import on_words
from dplda.learning.model_size import PAIRED_PER_AUTOMATIC_TOPIC
from dplda.learning.placements import default
from dplda.learning.placements.registry import find
from dplda.learning.placements.stages import StageReleaser
from dplda.learning.settings import FitSettings
from dplda.private import WordFrequencies
from dplda.private.curator import Curator
from dplda.runs.corpus import synthetic
from dplda.runs.grid import matched_error

N_WORDS = 120
WORDS = tuple(f"w{i}" for i in range(N_WORDS))


def frequencies(total, n_words=N_WORDS):
    return WordFrequencies(tuple(f"w{i}" for i in range(n_words)), np.full(n_words, total / n_words), 0.001)


@pytest.mark.parametrize(
    ("documents", "held", "settings", "pairs"),
    [
        (1e6, 40.0, {}, False),
        (2000.0, 40.0, {}, True),  # mu is 0.45 at epsilon 2
        (5000.0, 40.0, {"epsilon": 4.0}, False),
        (20_000.0, 9.0, {}, True),  # short documents
        (50_000.0, 9.0, {"epsilon": 4.0}, False),
        (100.0, 9.0, {"placement": "none"}, False),
        (100.0, 9.0, {"series": "s", "batch": "b"}, False),
    ],
)
def test_released_numbers_decide_which_way_is_taken(documents, held, settings, pairs):
    assert default.uses_pairs(documents, frequencies(held), FitSettings.of(**settings)) is pairs


def test_a_document_is_not_short_because_there_are_few_words():
    assert not default.uses_pairs(20_000.0, frequencies(8.0, n_words=20), FitSettings.of())


def charged(counts, *, public=True, **settings):
    """The stages that a fit charges, and the model."""
    stages: list[str] = []
    charge = Curator._charge
    corpus = dplda.Corpus.from_counts(counts, WORDS, public_vocabulary=public)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Curator, "_charge", lambda self, stage, *rest: stages.append(stage) or charge(self, stage, *rest))
        return stages, dplda.fit(corpus, ledger=False, simulate_seed=1, **settings)


def planned_stages(plan):
    """How often a plan has an event of each stage."""
    return Counter(share.stage for share in plan for _ in range(share.count))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_both_ways_spend_every_event_of_the_same_plan(adjacency):
    counts, *_ = synthetic(6000, N_WORDS, 3, mean_length=40, seed=1)
    settings = {"n_topics": 3, "epsilon": 2.5, "adjacency": adjacency}
    few, model = charged(counts[:1000], **settings)
    many, _ = charged(counts, **settings)
    plan = find("default").plan(FitSettings.of(topics=3, public=WORDS))
    assert Counter(few) == Counter(many) == planned_stages(plan)
    assert few.index("mean clip") + 1 == few.index("mean") == few.index("refine") - 1, "frequencies first"
    assert many.index("subspace clip") < many.index("refine")
    assert sum(event.count for event in model.privacy.events) == len(few)


def test_few_documents_give_better_topics_from_pairs_than_from_moments(monkeypatch):
    counts, topics, _ = synthetic(1500, N_WORDS, 3, mean_length=20, seed=5)
    corpus = dplda.Corpus.from_counts(counts, WORDS, public_vocabulary=True)
    errors = {}
    for few in (0.0, np.inf):
        monkeypatch.setattr(default, "_FEW", few)
        monkeypatch.setattr(default, "_FEW_SHORT", few)
        models = [
            dplda.fit(corpus, n_topics=3, epsilon=1.0, max_document_frequency=1.0, ledger=False, simulate_seed=seed)
            for seed in range(5)
        ]
        found = [on_words(model.topics, model.vocabulary, WORDS) for model in models]
        errors[few] = np.mean([matched_error(one, topics).mean() for one in found])
    assert errors[np.inf] < 0.9 * errors[0.0]


def test_frequencies_are_better_known_from_both_releases():
    class Gate:
        def use_words(self, words):
            pass

        def clip(self, stage, contribution, quantile, share=1.0):
            return 1.0

        def release_jointly(self, stages, contribution, clip):
            return dplda.private.curator.Release(truth[:, None] * 50 + 5 * noise[1][:, None], 100.0, 5.0)

    truth = np.linspace(1.0, 5.0, N_WORDS)
    noise = np.random.default_rng(0).standard_normal((2, N_WORDS))
    words = WordFrequencies(WORDS, (truth + 0.1 * noise[0]) / 100, 0.001)
    found = default._averaged_frequencies(StageReleaser(Gate(), 1000.0), words, ["mean", "refine"])
    errors = [np.sqrt(np.mean((f - truth / 100) ** 2)) for f in (words.frequencies, found.frequencies)]
    assert errors[1] < 0.8 * errors[0]
    assert found.std == pytest.approx(0.001 / np.sqrt(2), rel=0.05)


def test_a_run_from_pairs_guides_topics_counts_them_and_says_which_way_it_took():
    counts, planted, _ = synthetic(1500, N_WORDS, 4, mean_length=30, seed=3)
    corpus = dplda.Corpus.from_counts(counts, WORDS, public_vocabulary=True)
    settings = {"epsilon": 1.5, "ledger": False, "simulate_seed": 1, "max_document_frequency": 1.0}
    rare = tuple(WORDS[i] for i in np.argsort(planted.sum(axis=0))[88:92])
    model = dplda.fit(corpus, n_topics=4, seed_words={"mine": rare}, **settings)
    plain = dplda.fit(corpus, n_topics=4, **settings)
    assert model.facts.learned_from == plain.facts.learned_from == "pairs of words"
    (guided,) = [topic for topic, name in model.topic_names.items() if name == "mine"]
    held = [
        sum(share for word, share in zip(model.vocabulary, row, strict=True) if word in rare) for row in model.topics
    ]
    assert np.argmax(held) == guided
    assert held[guided] > 0.15
    assert max(plain.topics[:, [plain.vocabulary.index(word) for word in rare if word in plain.vocabulary]].sum(axis=1),
               default=0) < 0.1  # fmt: skip
    for words, top in zip(model.word_probabilities, model.top_words(10), strict=True):
        assert list(words) == [word for word, _ in top]
    assert (np.diff(model.prevalence) <= 0).all()


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        (3, (2, 3)),  # the background takes the place of one
        (12, (60 // PAIRED_PER_AUTOMATIC_TOPIC,)),  # topics of five words each, in a run of 60 words
    ],
)
def test_the_number_of_topics_follows_from_released_eigenvalues_and_words(planted, expected):
    topics = np.kron(np.eye(planted), np.full(60 // planted, planted / 60))
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(30, topics[kind]) for kind in rng.integers(planted, size=1000)])
    corpus = dplda.Corpus.from_counts(counts, [f"w{i}" for i in range(60)], public_vocabulary=True)
    model = dplda.fit(corpus, n_topics="auto", epsilon=3.0, ledger=False, simulate_seed=1, max_document_frequency=1.0)
    assert model.facts.learned_from == "pairs of words"
    assert len(model.topics) in expected


def test_many_topics_or_seed_words_are_not_learned_from_pairs():
    assert default.uses_pairs(1000.0, frequencies(40.0), FitSettings.of(topics=100))
    assert not default.uses_pairs(1000.0, frequencies(40.0), FitSettings.of(topics=101))


@pytest.mark.parametrize("private", [False, True])
def test_a_run_whose_prior_does_not_explain_the_documents_spends_its_plan_on_pairs(private):
    counts, *_ = synthetic(2000, N_WORDS, 3, mean_length=40, seed=1)
    prior = dplda.PriorTopics(np.random.default_rng(0).dirichlet(np.full(N_WORDS, 0.02), 5), WORDS, "other", True)
    settings = {"n_topics": 3, "epsilon": 1.8, "prior": prior, "max_document_frequency": 1.0}
    stages, model = charged(counts, public=not private, **settings)
    assert model.facts.learned_from == "pairs of words"
    words = {} if private else {"public": WORDS}
    plan = find("default").plan(FitSettings.of(topics=3, prior=prior, **words))
    assert Counter(stages) == planned_stages(plan) - Counter(["prior gain"])  # the first one decided
