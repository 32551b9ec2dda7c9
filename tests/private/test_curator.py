"""The gate's own rules: planned questions only, charged first, noise of the right scale on every number."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from gate_helpers import WORDS, NoNoise, curator, gaussian, passes_over, seal, store_of

from dplda.base.errors import GateError
from dplda.budget.events import EXACT, GAUSSIAN_THRESHOLD, PURE, Event
from dplda.private import statistics
from dplda.private.attributes import Attribute
from dplda.private.curator import Curator
from dplda.private.exact_gate import ExactGate
from dplda.private.noise import ExactNoise, SimulatedNoise, lattice_scale, selection_threshold
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics.clipping import BOUND, CLIP_GRID, MASS_SHARE, MOST_WORDS

CORPUS = [
    ("ann", {"w0": 3, "w1": 1}),
    ("bob", {"w1": 2, "w2": 2}),
    ("ann", {"w5": 1, "w6": 1, "w7": 2}),
    ("cat", {"w3": 4}),
    ("dan", {"w4": 1}),
]
ONES = np.ones(len(WORDS))
MEAN = statistics.first_moment(ONES)
X = np.linalg.qr(np.random.default_rng(0).standard_normal((len(WORDS), 2)))[0]
CITY = Attribute("city")
SELECT = Event(stage="vocabulary", mechanism=GAUSSIAN_THRESHOLD, noise_multiplier=2.0, delta=1e-6)
CONTRIBUTIONS = {
    "first": MEAN,
    "second": statistics.second_moment_times(ONES, X),
    "core": statistics.core(ONES, X),
    "third": statistics.third_moment(X),
    "expected": statistics.expected_counts(np.abs(X) + 0.1, 0.1),
}


def exact(stage):
    return Event(stage=stage, mechanism=EXACT)


QUESTIONS = {
    "choose_words": ([SELECT, gaussian("vote total")], lambda gate: gate.choose_words()),
    "word_frequencies": ([gaussian("frequency"), gaussian("vote total")], lambda gate: gate.word_frequencies()),
    "size": ([gaussian("size")], lambda gate: gate.size()),
    "clip": ([gaussian("mean clip")], lambda gate: gate.clip("mean", MEAN, 0.5)),
    "release": ([gaussian("mean")], lambda gate: gate.release("mean", MEAN, 1.0)),
    "exact release": ([exact("mean")], lambda gate: gate.release("mean", MEAN, 1.0)),
    "exact choose_words": ([exact("vocabulary")], lambda gate: gate.choose_words()),
    "exact word_frequencies": ([exact("frequency")], lambda gate: gate.word_frequencies()),
    "exact size": ([exact("size")], lambda gate: gate.size()),
}
questions = pytest.mark.parametrize("question", QUESTIONS)


def gate_of(question, *given, **options):
    """A curator that may answer `question`: the one without noise if it is exact."""
    return curator(CORPUS, *given, gate=ExactGate if question.startswith("exact") else Curator, **options)


@pytest.fixture
def sealed(monkeypatch):
    """Fail the test if anything private is computed once this is called."""
    return lambda: seal(monkeypatch)


@questions
def test_an_unplanned_question_is_refused_and_nothing_is_computed(question, sealed):
    noise, asked = NoNoise(), []
    gate = gate_of(question, [gaussian("something else")], noise, charge=asked.append)
    sealed()
    with pytest.raises(GateError, match="no planned"):
        QUESTIONS[question][1](gate)
    assert (asked, noise.asked, noise.thresholds) == ([], [], [])


@pytest.mark.parametrize("question", [name for name, (events, _) in QUESTIONS.items() if len(events) > 1])
def test_nothing_is_computed_before_all_events_of_a_question_are_charged(question, sealed):
    events, ask = QUESTIONS[question]
    noise = NoNoise()
    gates = [gate_of(question, [event for event in events if event is not missing], noise) for missing in events]
    sealed()
    for gate in gates:
        with pytest.raises(GateError, match="no planned"):
            ask(gate)
    assert (noise.asked, noise.thresholds) == ([], [])


@questions
def test_a_planned_question_is_answered_once(question, sealed):
    events, ask = QUESTIONS[question]
    asked = []
    gate = gate_of(question, events, charge=asked.append)
    ask(gate)
    assert asked == events
    sealed()
    with pytest.raises(GateError, match="no planned"):
        ask(gate)
    assert asked == events


@questions
def test_if_the_ledger_refuses_nothing_is_computed_and_the_question_is_gone(question, sealed):
    def refuse(event):
        raise OSError("disk full")

    events, ask = QUESTIONS[question]
    noise = NoNoise()
    gate = gate_of(question, events, noise, charge=refuse)
    sealed()
    with pytest.raises(OSError, match="disk full"):
        ask(gate)
    with pytest.raises(GateError):
        ask(gate)
    assert (noise.asked, noise.thresholds) == ([], [])


@questions
def test_a_question_of_another_mechanism_is_refused(question, sealed):
    events, ask = QUESTIONS[question]
    without = [exact(event.stage) for event in events if event.mechanism != EXACT]
    noisy = [gaussian(event.stage) for event in events if event.mechanism == EXACT]
    gate = gate_of(question, without + noisy + [Event(stage="mean", mechanism=PURE, epsilon=1.0)])
    sealed()
    with pytest.raises(GateError, match="no planned"):
        ask(gate)


def test_the_plan_is_a_copy_that_later_changes_do_not_reach():
    events = [gaussian("mean")]
    gate = curator(CORPUS, events)
    events.append(gaussian("size"))
    with pytest.raises(GateError):
        gate.size()


def test_each_round_of_a_stage_is_one_planned_event():
    gate = curator(CORPUS, [gaussian("mean", 1.0), gaussian("mean", 2.0)])
    assert gate.release("mean", MEAN, 1.0).std == BOUND * (1.0 / BOUND)
    assert gate.release("mean", MEAN, 1.0).std == 2.0
    with pytest.raises(GateError):
        gate.release("mean", MEAN, 1.0)


def test_questions_before_words_are_in_use_fail_closed():
    gate = curator(CORPUS, [gaussian("frequency"), gaussian("vote total")], words=None)
    with pytest.raises(GateError, match="no words are in use"):
        gate.word_frequencies()


def test_before_words_are_in_use_units_are_eligible_by_all_their_words():
    gate = Curator(LocalPasses(store_of(CORPUS)), [gaussian("size")] * 2, lambda _: None, NoNoise())
    before = gate.size()
    gate.use_words(["no such word"])
    assert before == 3.0  # dan has one token only
    assert gate.size() == 1.0  # nobody: the least that is told


def test_a_contribution_about_other_words_is_refused_before_compiled_code_sees_it():
    gate = curator(CORPUS, [gaussian("mean")], words=WORDS)
    with pytest.raises(GateError, match="not about the words in use"):
        gate.release("mean", statistics.first_moment(np.ones(3)), 1.0)


MISSTATED = {
    "less noise than its norm allows": replace(MEAN, weights=np.array([10_000])),
    "copies of one number, whose noise averages out": replace(
        statistics.core(ONES, X[:, :1]), weights=np.ones(1000, np.int64)
    ),
    "one noise for all its numbers": replace(CONTRIBUTIONS["core"], weights=np.ones(1, np.int64)),
    "pairs beyond the end of the sum": replace(statistics.second_moment(ONES), weights=np.ones(1, np.int64)),
    "fractions": replace(CONTRIBUTIONS["core"], weights=np.array([0.5, 1.0, 1.0])),
    "more directions than columns": replace(CONTRIBUTIONS["core"], directions=3),
    "a flat matrix": replace(CONTRIBUTIONS["second"], matrix=np.ones(len(WORDS), np.float32)),
}


@pytest.mark.parametrize("wrong", MISSTATED.values(), ids=MISSTATED)
def test_a_contribution_that_misstates_its_sum_is_refused(wrong):
    gate = curator(CORPUS, [gaussian("mean"), gaussian("mean clip")])
    with pytest.raises(GateError, match="not about the words in use"):
        gate.release("mean", wrong, 1.0)
    with pytest.raises(GateError, match="not about the words in use"):
        gate.clip("mean", wrong, 0.5)


@pytest.mark.parametrize("clip", [-1.0, 0.0, math.inf, math.nan])
def test_a_clip_that_is_no_norm_is_refused(clip):
    gate = curator(CORPUS, [gaussian("mean"), gaussian("mass")])
    with pytest.raises(GateError, match="positive and finite"):
        gate.release("mean", MEAN, clip)
    with pytest.raises(GateError, match="positive and finite"):
        gate.decompose(X, np.zeros((2, 2, 2)), np.ones(2), clip)


def test_an_unknown_adjacency_is_refused():
    with pytest.raises(GateError, match="adjacency must be one of"):
        curator(CORPUS, [], adjacency="replace-one")


FACTORS = {"first": math.sqrt(2), "second": 2.0, "core": 2.0, "third": 2.0, "expected": math.sqrt(2)}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("kind", CONTRIBUTIONS)
def test_every_coordinate_gets_its_own_noise_of_the_scale_its_weight_and_adjacency_need(kind, adjacency):
    contribution, noise = CONTRIBUTIONS[kind], NoNoise()
    gate = curator(CORPUS, [gaussian("s", 3.0)], noise, adjacency=adjacency)
    released = gate.release("s", contribution, 0.5)
    sensitivity = BOUND * (FACTORS[kind] if adjacency == "replace" else 1.0)
    expected = [
        (
            lattice_scale(3.0, sensitivity, int(weight)),
            int((contribution.weights == weight).sum()) * contribution.n_rows,
        )
        for weight in np.unique(contribution.weights)
    ]
    assert sorted(noise.asked) == sorted([*expected, (lattice_scale(3.0, sensitivity), 1)])
    assert sum(size for _, size in expected) == math.prod(contribution.shape)
    assert released.std == pytest.approx(3.0 * sensitivity * 0.5 / BOUND)
    assert released.mean_std == pytest.approx(released.std / released.mass)


class Numbered(NoNoise):
    """Gives every sample another number."""

    def gaussian(self, scale, size):
        first = 1 + sum(s for _, s in self.asked)
        super().gaussian(scale, size)
        return np.arange(first, first + size, dtype=np.int64) * BOUND * 1000


@pytest.mark.parametrize("kind", CONTRIBUTIONS)
def test_no_two_coordinates_share_a_sample(kind):
    contribution, events = CONTRIBUTIONS[kind], [gaussian("s")]
    noisy = curator(CORPUS, events, Numbered()).release("s", contribution, 1.0)
    plain = curator(CORPUS, events).release("s", contribution, 1.0)
    samples = np.rint((noisy.total - plain.total) / 1000).ravel()
    assert sorted(samples) == list(range(1, contribution.shape[0] * contribution.shape[1] + 1))
    assert noisy.mass > plain.mass


@pytest.mark.parametrize(
    ("adjacency", "factor", "failure"), [("add-remove", 1.0, 1e-6), ("replace", math.sqrt(2), 5e-7)]
)
def test_word_selection_uses_the_scale_and_failure_probability_of_its_adjacency(adjacency, factor, failure):
    noise = NoNoise()
    gate = curator(CORPUS, [SELECT, gaussian("vote total", 7.0)], noise, adjacency=adjacency)
    gate.choose_words()
    ((candidates, scale, threshold),) = noise.thresholds
    assert scale == lattice_scale(2.0, BOUND * factor)
    assert threshold == selection_threshold(scale, failure, MOST_WORDS)
    vote_total = lattice_scale(7.0, BOUND)  # one vote weight a unit: at most B under both
    assert noise.asked == [(scale, 0), (vote_total, 1)]
    assert min(candidates.values()) > 0

    noise = NoNoise()
    gate = curator(CORPUS, [SELECT, gaussian("vote total", 7.0)], noise, adjacency=adjacency)
    listed = gate.choose_words(["absent", "w0"]).words
    ((others, of_others, same),) = noise.thresholds
    assert (of_others, same, len(others)) == (scale, threshold, len(candidates) - 1)
    assert noise.asked == [(scale, 2), (vote_total, 1)]
    assert {"absent", "w0"} <= set(listed)


def test_a_word_that_is_listed_twice_is_refused() -> None:
    gate = curator(CORPUS, [SELECT, gaussian("vote total", 7.0)], NoNoise())
    with pytest.raises(GateError, match="twice"):
        gate.choose_words(["a", "a"])


@pytest.mark.parametrize(
    ("adjacency", "factor", "failure"), [("add-remove", 1.0, 1e-6), ("replace", math.sqrt(2), 5e-7)]
)
@pytest.mark.parametrize("most", [1, 10])
def test_group_selection_uses_the_scale_and_failure_probability_of_its_adjacency(
    adjacency, factor, failure, most, monkeypatch
):
    def count_group_votes(passes, attribute, at_most):
        assert (attribute, at_most) == (CITY, most)
        return {"york": 3 * BOUND, "bath": BOUND, "rome": 0}, 4 * BOUND

    monkeypatch.setattr(LocalPasses, "count_group_votes", count_group_votes)
    noise = NoNoise()
    gate = curator(CORPUS, [replace(SELECT, stage="groups")], noise, adjacency=adjacency)
    assert gate.choose_groups(CITY, most) == ("bath", "york")
    ((candidates, scale, threshold),) = noise.thresholds
    assert candidates == {0: BOUND, 2: 3 * BOUND}  # of the names in alphabetical order, those with a vote
    assert scale == lattice_scale(2.0, BOUND * factor)
    assert threshold == selection_threshold(scale, failure, most)


@pytest.mark.parametrize("kind", [Curator, ExactGate])
def test_groups_that_are_numbers_are_in_numerical_order(kind, monkeypatch):
    votes = dict.fromkeys(["10", "2", "1", "-3", "2.5"], BOUND)
    monkeypatch.setattr(LocalPasses, "count_group_votes", lambda passes, attribute, at_most: (votes, BOUND))
    events = [exact("groups") if kind is ExactGate else replace(SELECT, stage="groups")]
    gate = curator(CORPUS, events, NoNoise(), gate=kind)
    assert gate.choose_groups(CITY, 1) == ("-3", "1", "2", "2.5", "10")


@pytest.mark.parametrize(("adjacency", "factor"), [("add-remove", 1.0), ("replace", math.sqrt(2))])
def test_frequencies_clips_and_the_size_use_their_sensitivities(adjacency, factor):
    noise = NoNoise()
    events = [
        gaussian("frequency", 2.0),
        gaussian("vote total", 3.0),
        gaussian("mean clip", 4.0),
        gaussian("size", 5.0),
    ]
    gate = curator(CORPUS, events, noise, adjacency=adjacency)
    gate.word_frequencies()
    gate.clip("mean", MEAN, 0.5)
    gate.size()
    assert noise.asked == [
        (lattice_scale(2.0, BOUND * factor), len(WORDS)),
        (lattice_scale(3.0, BOUND), 1),
        (lattice_scale(4.0, BOUND * factor), len(CLIP_GRID) + 1),
        (lattice_scale(5.0, BOUND), 1),
    ]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_clip_looks_only_at_the_units_whose_own_coin_says_so(share, monkeypatch):
    noise, bins = NoNoise(), []
    histogram = LocalPasses.clip_histogram
    monkeypatch.setattr(LocalPasses, "clip_histogram", lambda *a: bins.append(histogram(*a)) or bins[-1])
    gate = curator(CORPUS, [gaussian("mean clip"), gaussian("mean clip")], noise)
    gate.clip("mean", MEAN, 0.5, share)
    assert noise.tossed == [(share, 3)]  # dan, who has one token only, has no coin
    assert np.array_equal(bins[0], histogram(passes_over(CORPUS), MEAN, np.arange(round(3 * share))))
    gate.clip("mean", MEAN, 0.5)
    assert noise.tossed[1] == (1.0, 3)
    assert noise.asked[0] == noise.asked[1]  # the noise does not know of the share


def test_without_noise_answers_are_the_statistics_themselves():
    events = [
        gaussian("size"),
        gaussian("frequency"),
        gaussian("vote total"),
        gaussian("mean"),
        gaussian("mean clip"),
    ]
    gate = curator(CORPUS, events)
    assert gate.size() == 3.0  # dan has one token only
    found = gate.word_frequencies()
    votes = {"w0": 1 / 5**0.5, "w1": 1 / 5**0.5 + 1 / 2**0.5, "w3": 1.0, "w4": 0.0}
    vote_total = 2 / 5**0.5 + 1 / 2**0.5 + 1  # what a word in all of their documents would receive
    for word, vote in votes.items():
        assert found.frequencies[WORDS.index(word)] == pytest.approx(vote / vote_total, abs=1e-5)
    assert gate.clip("mean", MEAN, 0.9) == 1.0
    mean = gate.release("mean", MEAN, 4.0)
    assert mean.mass == pytest.approx(3.0, abs=1e-5)
    expected = np.array([0.375, 0.125 + 0.5, 0.5, 1.0, 0, 0.125, 0.125, 0.25])
    np.testing.assert_allclose(mean.total[:, 0], expected, atol=1e-5)
    np.testing.assert_allclose(mean.mean[:, 0], expected / 3, atol=1e-5)


def test_answers_of_the_exact_gate_are_exact_and_unclipped():
    events = [Event(stage=stage, mechanism=EXACT) for stage in ("size", "frequency", "vocabulary", "mean")]
    gate = curator(CORPUS, events, gate=ExactGate)
    assert gate.size() == 3.0
    assert gate.clip("mean", MEAN, 0.5) == math.inf
    mean = gate.release("mean", statistics.first_moment(1000 * ONES), 0.1)
    np.testing.assert_allclose(mean.mean[:, 0].sum(), 1000.0, rtol=1e-5)
    assert mean.std == 0.0
    words = gate.choose_words()
    assert words.words[0] == "w1"
    gate.use_words(WORDS)
    assert gate.word_frequencies().frequencies[WORDS.index("w1")] == words.frequencies[0]


def test_simulated_noise_repeats_a_release_and_exact_noise_does_not():
    def ask(noise):
        return curator(CORPUS, [gaussian("mean")], noise).release("mean", MEAN, 1.0)

    one, two = ask(SimulatedNoise(3)), ask(SimulatedNoise(3))
    assert np.array_equal(one.total, two.total)
    assert one.mass == two.mass
    assert not np.array_equal(ask(ExactNoise()).total, ask(ExactNoise()).total)


def test_stages_are_announced_without_amounts_which_passes_report():
    class Listening:
        def __init__(self):
            self.heard = []

        def start(self, stage, total=None):
            self.heard.append((stage, total))

        def advance(self, amount=1):
            self.heard.append(amount)

        def estimate(self, share):
            self.heard.append(share)

    listening = Listening()
    gate = Curator(LocalPasses(store_of(CORPUS)), [gaussian("size")], lambda _: None, NoNoise(), progress=listening)
    gate.use_words(WORDS)
    gate.size()
    assert listening.heard == [("size", None), len({unit for unit, _ in CORPUS}) - 1, 1.0]  # all but dan


def test_the_mass_is_measured_on_the_lattice_inside_the_clip():
    gate = curator([("a", {"w0": 3})], [gaussian("mean")])
    released = gate.release("mean", MEAN, 1.0)
    shrink = 1 / math.sqrt(1 + MASS_SHARE**2)
    assert released.total[0, 0] == pytest.approx(shrink, abs=1e-5)
    assert released.mass == 1.0  # never below one: nothing divides by noise around zero


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_joint_release_has_the_noise_of_its_events_together_in_sum_and_mass(adjacency):
    contribution = statistics.second_moment(np.ones(len(WORDS)))  # nonnegative, with columns of two weights
    noise = NoNoise()
    made = curator(CORPUS, [gaussian("a", 3.0), gaussian("b", 4.0)], noise, adjacency=adjacency)
    released = made.release_jointly(["a", "b"], contribution, 2.0)
    sigma = (3.0**-2 + 4.0**-2) ** -0.5
    sensitivity = BOUND * (math.sqrt(2) if adjacency == "replace" else 1.0)
    scales = [scale / sensitivity for scale, _ in noise.asked]
    assert sorted(scales) == pytest.approx(sorted([sigma, sigma / math.sqrt(2), sigma]), rel=1e-6)
    assert released.std == pytest.approx(sigma * sensitivity * 2.0 / BOUND, rel=1e-6)
    with pytest.raises(GateError, match="no planned"):
        made.release("a", contribution, 1.0)
