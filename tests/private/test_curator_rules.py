"""The rules around the theorems (docs/privacy.md, section 8), each by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse
from gate_helpers import WORDS, NoNoise, counts_of, curator, gaussian, passes_over, store_of
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.base.errors import GateError
from dplda.budget.accountant import calibrate, exact_events
from dplda.budget.events import GAUSSIAN_THRESHOLD, Event
from dplda.learning.placements import default
from dplda.learning.settings import FitSettings
from dplda.private import statistics
from dplda.private.curator import Curator
from dplda.private.exact_gate import ExactGate
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.private.passes import local_passes
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics.clipping import BOUND, MASS_SHARE
from dplda.runs.corpus import Corpus

ONES = np.ones(len(WORDS))
MEAN = statistics.first_moment(ONES)
SELECT = Event(stage="vocabulary", mechanism=GAUSSIAN_THRESHOLD, noise_multiplier=2.0, delta=1e-6)


def exact_sum(documents, contribution=MEAN, clip=1.0):
    """The integers that noise would be added to, and the mass."""
    return passes_over(documents).clipped_sum(contribution, clip)


def from_matrix(matrix, units=None):
    passes = LocalPasses(Corpus.from_counts(matrix, WORDS, units).open())
    passes.use_words(WORDS)
    return passes.clipped_sum(MEAN, 1.0)


def length(total, mass):
    """Exact squared norm of a sum of one unit, in integers."""
    return sum(int(z) ** 2 for z in total.ravel()) + int(mass) ** 2


def test_rule_1_an_entry_listed_a_hundred_times_is_merged_and_clipped_as_one():
    repeated = scipy.sparse.csr_array((np.ones(100), np.zeros(100, np.int64), [0, 100]), shape=(1, len(WORDS)))
    once = scipy.sparse.csr_array(([100.0], [0], [0, 1]), shape=(1, len(WORDS)))
    total, mass = from_matrix(repeated)
    assert np.array_equal(total, from_matrix(once)[0])
    assert length(total, mass) <= BOUND**2


@pytest.mark.parametrize("clip", [1e-3, 0.1, 1.0])
def test_rule_1_a_unit_spread_over_distant_blocks_is_clipped_once(clip):
    mine = [("me", {f"w{i % 8}": 3 + i}) for i in range(12)]
    alone = exact_sum(mine, clip=clip)
    assert 0 < length(*alone) <= BOUND**2
    others = [(f"u{i}", {"w1": 3, "w2": i + 1}) for i in range(36)]
    scattered = [entry for i, document in enumerate(mine) for entry in (document, *others[3 * i : 3 * i + 3])]
    with_me, without_me = exact_sum(scattered, clip=clip), exact_sum(others, clip=clip)
    assert np.array_equal(with_me[0] - without_me[0], alone[0])
    assert with_me[1] - without_me[1] == alone[1]


def test_rule_1_documents_of_a_unit_share_its_weight_and_short_ones_have_none():
    average = exact_sum([("a", {"w0": 4}), ("a", {"w1": 5}), ("a", {"w2": 2})], clip=4.0)
    assert np.array_equal(average[0].ravel() > 0, np.isin(WORDS, ["w0", "w1"]))
    assert average[0][0, 0] == average[0][1, 0]
    assert average[1] == exact_sum([("b", {"w0": 4})], clip=4.0)[1]


@pytest.mark.parametrize("bad", [0.5, -1.0, math.nan, math.inf, 2.0**31, 2.0**33])
def test_rule_2_anything_but_nonnegative_whole_counts_contributes_nothing(bad):
    matrix = np.zeros((3, len(WORDS)))
    matrix[0, :2], matrix[1, 2], matrix[2, 3] = (4, 1), 5, 6
    expected = from_matrix(matrix[[0, 2]])
    matrix[1, 4] = bad
    total, mass = from_matrix(matrix)
    assert np.array_equal(total, expected[0])
    assert mass == expected[1]


def test_rule_3_defects_of_a_unit_change_no_other_units_integers():
    good = [("a", {"w0": 3, "w1": 1}), ("b", {"w5": 9})]
    damaged = [("x", {}), ("y", {"w0": 0}), ("z", {"w1": -7, "w2": 3}), ("v", {"w2": 1})]
    total, mass = exact_sum([good[0], *damaged, good[1]])
    assert np.array_equal(total, exact_sum(good)[0])
    assert mass == exact_sum(good)[1]


def test_rule_4_what_holds_counts_prints_none_of_them():
    secret = [("ann", {"w0": 31337, "w1": 31337})]
    gate = curator(secret, [])
    for shown in (repr(gate), str(gate), repr(counts_of(secret)), str(vars(counts_of(secret)).keys())):
        assert "31337" not in shown
    with pytest.raises(GateError) as refusal:
        gate.size()
    assert "31337" not in str(refusal.value)


@given(order=st.permutations(WORDS))
@settings(deadline=None, max_examples=25)
def test_rule_5_released_words_come_by_noisy_value_then_alphabetically(order):
    documents = [
        ("a", {"w3": 3}),
        ("b", {"w1": 3}),
        ("c", {"w2": 3}),
        ("d", {"w2": 3}),
        ("e", {"w7": 3, "w0": 3}),
    ]
    gate = Curator(LocalPasses(store_of(documents, order)), [SELECT, gaussian("vote total")], lambda _: None, NoNoise())
    found = gate.choose_words()
    assert found.words == ("w2", "w1", "w3", "w0", "w7")
    assert list(found.frequencies) == sorted(found.frequencies, reverse=True)


def test_rule_5_the_public_vocabulary_keeps_its_own_order():
    gate = curator([("a", {"w3": 3})], [gaussian("frequency"), gaussian("vote total")], words=WORDS[::-1])
    assert gate.word_frequencies().words == WORDS[::-1]


def test_rule_8_a_round_of_another_stage_cannot_be_spent():
    gate = curator([("a", {"w3": 3})], [gaussian("subspace"), gaussian("subspace")])
    with pytest.raises(GateError):
        gate.release("refine", MEAN, 1.0)


def test_rule_9_a_word_of_one_unit_is_released_only_beyond_the_discrete_tail():
    (threshold,) = _selection([("a", {"w0": 3})])
    assert threshold >= BOUND + 4.7 * 2.0 * BOUND + 2  # isf(1e-6) = 4.75


def _selection(documents):
    noise = NoNoise()
    curator(documents, [SELECT, gaussian("vote total")], noise).choose_words()
    return [threshold for _, _, threshold in noise.thresholds]


def test_rule_9_only_picked_words_are_candidates():
    words = [f"v{i:03d}" for i in range(400)]
    noise = NoNoise()
    gate = Curator(
        LocalPasses(store_of([("a", dict.fromkeys(words, 1))])), [SELECT, gaussian("vote total")], lambda _: None, noise
    )
    gate.choose_words()
    assert len(noise.thresholds[0][0]) == 200


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 1e200])
def test_rule_11_contributions_that_are_not_finite_are_zero_and_stay_in_their_unit(poison):
    scale = ONES.copy()
    scale[3] = poison
    bad, good = ("x", {"w3": 5}), ("a", {"w0": 3})
    total, mass = exact_sum([bad, good], statistics.first_moment(scale))
    expected = exact_sum([good])
    assert np.array_equal(total[[0, 1, 2, 4, 5, 6, 7]], expected[0][[0, 1, 2, 4, 5, 6, 7]])
    assert length(total - expected[0], mass - expected[1]) <= BOUND**2


@pytest.mark.parametrize("clip", [math.nan, math.inf, 0.0, -1.0, 1e-300, 1e300])
def test_rule_11_no_clip_lets_a_unit_exceed_the_bound(clip):
    assert length(*exact_sum([("a", {"w0": 3, "w1": 8})], clip=clip)) <= BOUND**2


@pytest.mark.parametrize("threads", [1, 2, 5, 64])
def test_rule_12_the_sum_does_not_depend_on_how_units_are_cut_into_threads(threads, monkeypatch):
    documents = [(f"u{i % 17}", {f"w{i % 8}": 1 + i % 5, f"w{(3 * i + 1) % 8}": 3}) for i in range(60)]
    X = np.linalg.qr(np.random.default_rng(1).standard_normal((8, 3)))[0]
    contribution = statistics.second_moment_times(1 + np.arange(8.0), X)
    expected = exact_sum(documents, contribution, 0.7)
    monkeypatch.setattr(local_passes, "thread_count", lambda: threads)
    total, mass = exact_sum(documents, contribution, 0.7)
    assert np.array_equal(total, expected[0])
    assert mass == expected[1]


NOBODY = [[], [("a", {})], [("a", {"w0": 1}), ("b", {"w1": 2})], [("a", {"unknown": 9})]]


@pytest.mark.parametrize("documents", NOBODY)
@pytest.mark.parametrize("unit", ["document", "user"])
def test_rule_13_without_eligible_units_every_question_has_an_answer(documents, unit):
    plan = [SELECT, *map(gaussian, ["vote total", "vote total", "frequency", "size", "mean", "mean clip"])]
    gate = Curator(LocalPasses(store_of(documents, unit=unit)), plan, lambda _: None, NoNoise())
    found = gate.choose_words()
    assert set(found.words) <= {"unknown"}
    gate.use_words(WORDS)
    assert gate.size() == 1.0
    assert not gate.word_frequencies().frequencies.any()
    assert math.isfinite(gate.clip("mean", MEAN, 0.5))
    released = gate.release("mean", MEAN, 1.0)
    assert not released.mean.any()
    assert released.mass == 1.0


@pytest.mark.parametrize("learn", [default.learn_from_moments, default.learn_from_pairs])
@pytest.mark.parametrize("documents", NOBODY)
def test_rule_13_the_whole_default_placement_runs_on_nobody_at_all(documents, learn):
    asked = FitSettings.of(topics=3)
    plan = calibrate(default.shares(True, 20), 2.0, 1e-6)
    gate = curator(documents, plan, SimulatedNoise(0))
    found = gate.word_frequencies()
    learned = learn(gate, gate.size(), found, asked, np.random.default_rng(0))
    assert np.isfinite(learned.topics).all()
    np.testing.assert_allclose(learned.topics.sum(axis=1), 1.0)
    assert learned.documents >= 1.0


def test_the_default_placement_asks_exactly_what_it_planned_and_the_baseline_too():
    documents = [(f"u{i}", {f"w{i % 8}": 3, f"w{(i + 1) % 8}": 2}) for i in range(30)]
    private, exact = calibrate(default.shares(True, 20), 2.0, 1e-6), exact_events(default.shares(True, 20))
    for made, plan, learn in (
        (Curator, private, default.learn_from_moments),
        (Curator, private, default.learn_from_pairs),
        (ExactGate, exact, default.learn_from_moments),
    ):
        asked = []
        gate = curator(documents, plan, SimulatedNoise(0), charge=asked.append, gate=made)
        learn(gate, gate.size(), gate.word_frequencies(), FitSettings.of(topics=3), np.random.default_rng(0))
        assert sorted(asked, key=repr) == sorted(plan, key=repr)


def test_the_baselines_own_words_are_planned_too():
    gate = curator([("a", {"w0": 3})], exact_events(default.shares(False, 20)), words=None, gate=ExactGate)
    assert gate.choose_words().words == ("w0",)


def test_the_mass_of_a_unit_that_is_not_clipped_is_its_share_of_the_bound():
    _, mass = exact_sum([("a", {"w0": 3})], clip=1e6)
    assert mass == MASS_SHARE * BOUND


def test_exact_noise_passes_through_the_gate():
    released = curator([("a", {"w0": 3})], [gaussian("mean", 2.0)], ExactNoise()).release("mean", MEAN, 1.0)
    assert 0 < np.abs(released.total - exact_sum([("a", {"w0": 3})])[0] / BOUND).max() < 2.0 * 12
