"""The default placement asks exactly what it planned, whatever it is told."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dplda.base.errors import UnsupportedByData
from dplda.budget.accountant import exact_events
from dplda.learning.placements import default
from dplda.learning.placements.registry import find
from dplda.learning.settings import FitSettings
from dplda.private import Release, WordFrequencies


class Listening:
    """A gate that answers with numbers from `draw` and counts the questions."""

    def __init__(self, draw):
        self.asked: Counter[str] = Counter()
        self.draw = draw

    def size(self):
        self.asked["size"] += 1
        return 100.0

    def use_words(self, words):
        assert set(words) <= {f"w{i}" for i in range(12)}

    def clip(self, stage, contribution, quantile, share=1.0):
        self.asked[f"{stage} clip"] += 1
        return 1.0

    def release(self, stage, contribution, clip):
        return self.release_jointly([stage], contribution, clip)

    def release_jointly(self, stages, contribution, clip):
        self.asked.update(stages)
        return Release(self.draw(contribution.shape), 100.0, 1.0)


ANSWERS = {
    "noise": lambda shape: np.random.default_rng(0).standard_normal(shape),
    "zeros": np.zeros,
    "large noise": lambda shape: 1e12 * np.random.default_rng(1).standard_normal(shape),
    "constants": lambda shape: np.full(shape, -3.0),
}


@pytest.mark.parametrize("answers", ANSWERS)
@pytest.mark.parametrize("topics", [1, 5, 12, "auto"])
@pytest.mark.parametrize("learn", [default.learn_from_moments, default.learn_from_pairs])
def test_any_answer_gives_topics_and_the_planned_questions(answers, topics, learn):
    gate = Listening(ANSWERS[answers])
    words = WordFrequencies(tuple(f"w{i}" for i in range(12)), np.linspace(-0.01, 0.1, 12), 0.01)
    settings, generator = FitSettings.of(topics=topics), np.random.default_rng(0)
    if topics == "auto" and answers in ("zeros", "constants"):
        with pytest.raises(UnsupportedByData, match="supports no topic at all"):
            learn(gate, gate.size(), words, settings, generator)
        return
    learned = learn(gate, gate.size(), words, settings, generator)
    planned = Counter(
        {s.stage: s.count for s in default.shares(True, 20) if s.stage not in ("frequency", "vote total")}
    )
    assert gate.asked == planned
    assert learned.topics.shape[1] == len(learned.words)
    assert learned.topics.shape[0] == (topics if topics != "auto" else len(learned.prevalence))
    assert np.isfinite(learned.topics).all()
    assert (learned.topics >= 0).all()
    assert learned.topics.sum(axis=1) == pytest.approx(1)
    assert (np.diff(learned.prevalence) <= 0).all()
    assert learned.prevalence.sum() == pytest.approx(1)


def test_private_and_public_vocabularies_differ_in_one_stage_only():
    private, public = default.shares(False, 20), default.shares(True, 20)
    assert (private[:1], private[2:]) == (public[:1], public[2:])
    assert (private[1].stage, public[1].stage) == ("vocabulary", "frequency")
    assert private[1].selects_words
    assert not any(share.selects_words for share in public)


def test_few_topics_leave_more_of_the_budget_to_the_refinement():
    def refinement(topics):
        shares = default.shares(True, topics)
        return shares[-1].weight / sum(share.weight for share in shares)

    assert refinement(5) > refinement(10) > refinement(20) == refinement(50) == refinement("auto")


def test_the_baseline_plans_an_exact_event_for_every_sum_and_none_for_clips():
    stages = Counter(event.stage for event in exact_events(default.shares(False, 20)))
    assert stages == Counter({s.stage: s.count for s in default.shares(False, 20) if "clip" not in s.stage}) - Counter(
        ["vote total"]
    )
    assert all(event.mechanism == "exact" for event in exact_events(default.shares(False, 20)))


def test_without_noise_few_documents_get_the_rounds_that_inference_needs_and_many_the_usual_ones():
    words = WordFrequencies(tuple(f"w{i}" for i in range(12)), np.linspace(0.01, 0.1, 12), 0.0)
    settings = FitSettings.of(topics=2, placement="none")
    for documents, rounds in ((159.0, default.EXACT_ROUNDS), (160.0, default.REFINE_ROUNDS)):
        gate = Listening(lambda shape: np.random.default_rng(0).random(shape))
        default.learn(gate, documents, words, settings, np.random.default_rng(0))
        assert gate.asked["refine"] == rounds
    planned = {share.stage: share.count for share in find("none").plan(settings)}
    assert planned["refine"] == default.EXACT_ROUNDS


def test_topics_are_of_the_words_that_noise_supports():
    gate, n_words = Listening(np.zeros), 400
    gate.use_words = lambda words: None
    words = WordFrequencies(tuple(f"w{i}" for i in range(n_words)), np.linspace(0.01, 0.1, n_words), 0.01)
    for learn, most in ((default.learn_from_moments, 20), (default.learn_from_pairs, 50)):
        learned = learn(gate, 10.0, words, FitSettings.of(topics=2, epsilon=1.0), np.random.default_rng(0))
        assert learned.words == words.words[-most:]
        assert learned.topics.shape == (2, most)
