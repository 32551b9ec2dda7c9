"""The poisoning attack: both worlds differ in one document, guesses are right where there is a trace, limits hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.audit import poisoning
from benchmarks.audit.poisoning import ALL_WORDS, FIRST, NAME, SECOND, Released
from dplda.budget.accountant import gaussian_budget


@pytest.mark.parametrize("poison", poisoning.POISONS)
def test_worlds_differ_in_one_document(poison):
    for question, other in (("attribute", SECOND), ("presence", None)):
        worlds = [poisoning.corpus(question, poison, world) for world in (0, 1)]
        more = 0 if question == "attribute" else 1
        assert worlds[1].shape[0] - worlds[0].shape[0] == more
        added = poisoning.POISON if poison != "none" else 0
        assert worlds[1].shape == (poisoning.DOCUMENTS + added, ALL_WORDS)
        assert (worlds[1][1:] != worlds[0][1 - more :]).nnz == 0
        assert worlds[1][0, FIRST] == worlds[1][0, NAME] == poisoning.REPEATED
        if other:
            assert worlds[0][0, other] == poisoning.REPEATED


def test_the_attacker_repeats_what_is_known_and_nothing_else():
    for poison, held in (("known words", 0), ("known words and candidates", poisoning.POISON // 2)):
        documents = poisoning.poisoned(poison)
        assert (documents[:, poisoning.KNOWN] == 1).all()
        assert (documents[:, NAME] == poisoning.REPEATED).all()
        assert ((documents[:, [FIRST, SECOND]] > 0).sum(axis=0) == held).all()
    assert poisoning.others()[:, NAME].nnz == 0


def test_every_score_is_larger_if_the_attribute_stands_beside_the_name():
    topics = np.full((3, ALL_WORDS), 1.0)
    topics[2, [NAME, *poisoning.KNOWN]] = 50
    with_it = topics.copy()
    with_it[2, FIRST] = 40
    plain, more = (Released(each / each.sum(axis=1, keepdims=True), each[2:]) for each in (topics, with_it))
    assert np.allclose(poisoning.scores("attribute", plain), 0)
    assert (np.array(poisoning.scores("attribute", more)) > 0).all()
    assert (np.array(poisoning.scores("presence", more)) > poisoning.scores("presence", plain)).all()


def test_a_trace_is_found_by_one_statistic_and_by_several_together_and_no_trace_is_guessing():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(2, 400, 6))
    one = noise.copy()
    one[1, :, 3] += 6
    together = noise.copy()
    together[:, :, 0] = 20 * noise[:, :, 1] + 0.1 * noise[:, :, 0]
    together[1, :, 0] += 0.5
    for found, low, high in ((one, 0.98, 1.0), (together, 0.95, 1.0), (noise, 0.44, 0.56)):
        right, guesses = poisoning.successes(found)
        assert guesses == 800
        assert low <= right / guesses <= high


def test_a_gaussian_mechanism_reaches_the_limit_and_no_more():
    for epsilon in (1.0, 8.0):
        mu = gaussian_budget(epsilon, poisoning.DELTA)
        found = np.random.default_rng(1).normal(size=(2, 4000, 1))
        found[1] += mu
        right, guesses = poisoning.successes(found)
        assert right / guesses == pytest.approx(poisoning.most(epsilon), abs=0.02)
        assert poisoning.most(epsilon) <= (math.exp(epsilon) + poisoning.DELTA) / (1 + math.exp(epsilon))


def test_intervals_are_those_of_clopper_and_pearson():
    assert poisoning.interval(0, 10) == pytest.approx((0, 0.3085), abs=1e-4)
    assert poisoning.interval(5, 10) == pytest.approx((0.1871, 0.8129), abs=1e-4)
    assert poisoning.interval(10, 10) == pytest.approx((0.6915, 1), abs=1e-4)


def test_a_model_is_fitted_once_and_its_guesses_stand_in_the_table(tmp_path, monkeypatch):
    fits = []

    def topics(counts, seed, adjacency):
        fits.append((seed, adjacency))
        return Released(np.full((2, ALL_WORDS), 1 / ALL_WORDS), np.zeros((0, ALL_WORDS)))

    monkeypatch.setattr(poisoning, "SYSTEMS", {"dplda, epsilon 8": topics})
    arguments = (tmp_path / "results", ["dplda, epsilon 8"], ["presence"], 8)
    poisoning.measure(*arguments)
    poisoning.measure(*arguments)
    assert len(fits) == 8 * 2 * len(poisoning.POISONS)
    assert {adjacency for _, adjacency in fits} == {"add-remove"}
    line = poisoning.table(poisoning.results.read(arguments[0])).splitlines()[2]
    assert line.startswith("| presence | dplda, epsilon 8 | 50 (25 to 75) of 16 |")
    assert line.endswith(f"| {100 * poisoning.most(8.0):.0f} |")
