"""Configurations 3 and 4 at the gate: what is asked, with what noise, and what one unit can change of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from full_helpers import full_after
from gate_helpers import WORDS, NoNoise, curator, gaussian, passes_over, seal, store_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dplda.base.errors import GateError
from dplda.budget.events import EXACT, Event
from dplda.private import statistics
from dplda.private.curator import Curator
from dplda.private.exact_gate import ExactGate
from dplda.private.noise import ExactNoise, SimulatedNoise, lattice_scale
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.propose_test_release import _SOLVER, KAPPA, decomposition_sensitivity
from dplda.private.statistics.clipping import BOUND
from dplda.runs.corpus import Corpus

FIVE = WORDS[:5]
H, R = np.array([0.0, 0.2, 0.5, 0.8, 1.0]), np.ones(5)
TESTED = {
    "decompose": ("mass", "gap", "tensor norm", "decomposition"),
    "final_topics": ("size lower bound", "spectrum", "norm", "eigenvalue gap", "topics"),
}
CERTAIN = ("mass", "decomposition", "topics")  # stages that nothing is tested by


def plan(multiplier=3.0, failure=1e-9):
    """Events of both chains; `multiplier` and `failure` are those of every stage."""
    return [
        Event(stage=stage, noise_multiplier=multiplier, delta=0.0 if stage in CERTAIN else failure)
        for stages in TESTED.values()
        for stage in stages
    ]


def exact_plan():
    return [Event(stage=stage, mechanism=EXACT) for stage in ("decomposition", "topics")]


def corpus(n, seed=0, per_unit=1) -> tuple[np.ndarray, list[str]]:
    """Counts (n, 5) of a planted corpus of two topics, and the unit of each document."""
    random = np.random.default_rng(seed)
    topics = np.array([[0.5, 0.3, 0.2, 0.0, 0.0], [0.0, 0.0, 0.1, 0.3, 0.6]])
    counts = random.multinomial(30, random.dirichlet([0.4, 0.6], n) @ topics)
    return counts, [f"u{i // per_unit}" for i in range(n)]


def over(counts, units, events, noise=None, **options):
    """A curator over a matrix of counts."""
    asked, made = options.pop("asked", []), options.pop("gate", Curator)
    store = Corpus.from_counts(counts, list(FIVE), units).open()
    gate = made(LocalPasses(store), events, asked.append, noise or NoNoise(), **options)
    gate.use_words(FIVE)
    return gate


def whitening(k=2, words=5):
    """A released W (words, k) and direction (k,)."""
    return 3 * np.random.default_rng(0).standard_normal((words, k)), np.array([0.8, 0.6, 0.1])[:k]


def ask_decompose(gate, clip=30.0, k=2):
    W, theta = whitening(k, len(gate._words_in_use()))
    return gate.decompose(W, np.zeros((k, k, k)), theta, clip)


def ask_topics(gate, topics=2):
    return gate.final_topics(1.0, np.resize(H, len(gate._words_in_use())), np.ones(len(gate._words_in_use())), topics)


ASK = {"decompose": ask_decompose, "final_topics": ask_topics}
chains = pytest.mark.parametrize("chain", ASK)


@chains
def test_a_corpus_that_passes_is_asked_every_event_in_order_and_gets_its_output(chain):
    asked = []
    gate = over(*corpus(20_000), plan(), SimulatedNoise(1), asked=asked)
    tested = ASK[chain](gate)
    assert [event.stage for event in asked] == list(TESTED[chain])
    assert tested.value.shape == ((2, 2) if chain == "decompose" else (5, 2))
    assert all(test.passed for test in tested.tests)
    with pytest.raises(GateError, match="no planned"):
        ASK[chain](gate)


@chains
def test_with_hardly_any_noise_the_output_is_the_exact_one(chain):
    counts, units = corpus(20_000)
    gate = over(counts, units, plan(0.011), ExactNoise())
    without_noise = over(counts, units, exact_plan(), gate=ExactGate)
    if chain == "decompose":
        tested, (W, theta) = ask_decompose(gate, clip=400.0), whitening()
        exact = without_noise.decompose(W, np.zeros((2, 2, 2)), theta, 1.0)
    else:
        tested = ask_topics(gate)
        exact = without_noise.final_topics(1.0, H, R, 2)
    assert (exact.std, exact.tests) == (0.0, ())
    assert tested.std > 0
    assert np.abs(tested.value - exact.value).max() < 6 * tested.std + 1e-4 * np.abs(exact.value).max()
    assert tested.std < 0.02 * np.abs(exact.value).max()


@chains
def test_a_refusal_asks_nothing_further_and_says_what_was_found(chain):
    asked = []
    gate = over(*corpus(40), plan(), SimulatedNoise(1), asked=asked)
    tested = ask_decompose(gate, clip=1e6) if chain == "decompose" else ask_topics(gate)
    assert tested.value is None
    assert tested.std == 0.0
    last = {"decompose": "tensor norm", "final_topics": "spectrum"}[chain]
    assert [event.stage for event in asked] == list(TESTED[chain][: TESTED[chain].index(last) + 1])
    assert not all(test.passed for test in tested.tests)
    assert "needed: more than" in tested.findings


def test_topics_are_refused_after_the_gap_where_only_the_gap_is_too_small():
    asked = []
    gate = over(*corpus(1_500), plan(0.5), NoNoise(), asked=asked)
    tested = ask_topics(gate)
    assert tested.value is None
    assert asked[-1].stage == "eigenvalue gap"
    assert [test.passed for test in tested.tests] == [True] * 5 + [False]


@pytest.mark.parametrize(("adjacency", "factor"), [("add-remove", 1.0), ("replace", 2.0)])
def test_the_decomposition_gets_noise_of_the_sensitivity_its_bounds_prove(adjacency, factor):
    noise, clip = NoNoise(), 5.0
    gate = over(*corpus(20_000), plan(), noise, adjacency=adjacency)
    tested = ask_decompose(gate, clip)
    _, mass = gate._passes.clipped_sum(statistics.third_moment(whitening()[0]), clip)
    change = factor * clip / (8 * mass / BOUND)
    gap, norm = tested.tests
    assert gap.above == pytest.approx(KAPPA * change, rel=1e-3)
    proven = decomposition_sensitivity(gap.bound, norm.bound, change)
    assert tested.std == pytest.approx(3.0 * proven, rel=1e-3)
    scales = [(lattice_scale(3.0, BOUND), 1), *[(lattice_scale(3.0, BOUND + 1), 1)] * 2]
    assert noise.asked == [*scales, (lattice_scale(3.0, BOUND + 2), 4)]


def test_topics_get_noise_of_the_lattice_of_every_stage():
    noise = NoNoise()
    gate = over(*corpus(20_000), plan(), noise, adjacency="replace")
    tested = ask_topics(gate)
    sizes = (1, 3, 1, 1, 10)
    assert noise.asked == [(lattice_scale(3.0, BOUND + math.ceil(math.sqrt(size))), size) for size in sizes]
    assert tested.tests[0].bound == pytest.approx(20_000 - 6 * 3, abs=0.01)


def spied(gate):
    """Make `gate` note what it answers: stage to (values, sensitivity)."""
    noted, answer = {}, gate._release_values

    def note(stage, values, sensitivity):
        noted[stage] = values, sensitivity
        return answer(stage, values, sensitivity)

    gate._release_values = note
    return noted


def neighbours(counts, units, adjacency, random):
    """The corpus without its unit u0, with a unit more or with another u0; documents are moved about too."""
    others = counts[[u != "u0" for u in units]]
    names = [u for u in units if u != "u0"]
    fresh = random.multinomial(random.integers(3, 60), np.eye(5)[random.integers(5)] * 0.8 + 0.04, size=3)
    if adjacency == "replace":
        return [(np.vstack([fresh, others]), ["u0"] * 3 + names)]
    return [(others, names), (np.vstack([fresh, counts]), ["new"] * 3 + list(units))]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("per_unit", [1, 3])
def test_no_neighbour_moves_the_decomposition_beyond_the_sensitivities_of_its_tests(adjacency, per_unit):
    random, worst = np.random.default_rng(per_unit), 0.0
    for seed in range(3):
        counts, units = corpus(900, seed, per_unit)
        released = []
        for matrix, names in [(counts, units), *neighbours(counts, units, adjacency, random)]:
            gate = over(matrix, names, plan(0.5), adjacency=adjacency)
            gate._noisy = lambda *_: 250 * BOUND  # the mass that was released; the rest is given it
            noted = spied(gate)
            tested = ask_decompose(gate, clip=8.0)
            assert tested.value is not None
            released.append(noted)
        base = released[0]
        for other in released[1:]:
            for stage, (values, sensitivity) in base.items():
                moved = np.linalg.norm(other[stage][0] - values)
                assert moved <= sensitivity
                worst = max(worst, moved / sensitivity)
    assert worst > 0.05


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("per_unit", full_after(1, [3, 1]))
def test_no_neighbour_moves_the_topics_beyond_the_sensitivities_of_their_tests(adjacency, per_unit):
    random, worst = np.random.default_rng(per_unit), 0.0
    for seed in range(3):
        counts, units = corpus(9_000 * per_unit, seed, per_unit)
        released = []
        for matrix, names in [(counts, units), *neighbours(counts, units, adjacency, random)]:
            gate = over(matrix, names, plan(0.1), adjacency=adjacency)
            noted = spied(gate)
            assert ask_topics(gate).value is not None
            released.append(noted)
        base = released[0]
        for other in released[1:]:
            for stage, (values, sensitivity) in base.items():
                moved = np.linalg.norm(other[stage][0] - values)
                assert moved <= sensitivity
                worst = max(worst, moved / sensitivity)
    assert worst > 0.05


relaxed = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
documents = st.lists(st.dictionaries(st.sampled_from(WORDS), st.integers(1, 9), max_size=4), min_size=1, max_size=3)


@relaxed
@given(unit=documents, clip=st.sampled_from([1e-3, 0.3, 1e4]))
def test_the_mass_of_a_unit_is_at_most_one_step_of_its_noise(unit, clip):
    W = np.random.default_rng(0).standard_normal((len(WORDS), 2))
    _, mass = passes_over([("a", c) for c in unit]).clipped_sum(statistics.third_moment(W), clip)
    assert 0 <= 8 * mass <= BOUND


def test_the_clip_moves_the_normaliser_with_the_sum():
    counts, units = corpus(3_000)
    norms = []
    for clip in (1e4, 1.0):
        noted = spied(gate := over(counts, units, plan(0.5)))
        ask_decompose(gate, clip)
        norms.append(float(noted["tensor norm"][0][0]))
    assert norms[1] > 0.2 * norms[0]  # divided by the number of units it would be a fiftieth


NOBODY = [[], [("a", {})], [("a", {"w0": 1}), ("b", {"w1": 2})], [("a", {"unknown": 9})]]


@pytest.mark.parametrize("documents", NOBODY)
@pytest.mark.parametrize("unit", ["document", "user"])
@chains
def test_rule_13_without_eligible_units_the_tests_fail_and_nothing_else(chain, unit, documents):
    passes = LocalPasses(store_of(documents, unit=unit))
    gate = Curator(passes, plan(), lambda _: None, SimulatedNoise(0))
    gate.use_words(WORDS)
    assert ASK[chain](gate).value is None
    without_noise = ExactGate(passes, exact_plan(), lambda _: None, NoNoise())
    without_noise.use_words(WORDS)
    assert not ASK[chain](without_noise).value.any()


@pytest.mark.parametrize("documents", [NOBODY[0], [("a", {"w0": 3, "w1": 5})]])
def test_rule_13_even_tests_that_fail_to_fail_end_in_numbers(documents):
    class Flattering(NoNoise):
        """Noise that makes every test pass."""

        def gaussian(self, scale, size):
            super().gaussian(scale, size)
            return np.rint(1e3 * scale * np.arange(size, 0, -1)).astype(np.int64)

    gate = curator(documents, plan(), Flattering())
    for tested in (ask_decompose(gate), ask_topics(gate)):
        assert tested.value is not None
        assert np.isfinite(tested.value).all()
        assert np.isfinite(tested.std)


def test_a_decomposition_along_one_direction_is_its_number():
    tested = ask_decompose(over(*corpus(2_000), plan(0.5)), k=1)
    exact = ask_decompose(over(*corpus(2_000), exact_plan(), gate=ExactGate), k=1)
    assert tested.value == pytest.approx(exact.value, rel=1e-4)


def test_a_shift_that_is_not_symmetric_is_made_so():
    counts, units = corpus(3_000)
    K = np.random.default_rng(1).standard_normal((2, 2, 2))
    skew = K + K.transpose(1, 0, 2) + K.transpose(2, 1, 0) + K.transpose(0, 2, 1)
    even = skew.copy()
    even[0, 1, 0] = even[1, 0, 0] = even[0, 0, 1]
    even[1, 0, 1] = even[1, 1, 0] = even[0, 1, 1]
    W = np.random.default_rng(0).standard_normal((5, 2))
    found = [over(counts, units, plan(0.5)).decompose(W, shift, np.array([0.6, 0.8]), 9.0) for shift in (skew, even)]
    assert not np.array_equal(skew, even)
    assert np.array_equal(found[0].value, found[1].value)


@pytest.mark.parametrize(
    ("h", "r", "topics"),
    [(H, R, 1), (H, R, 5), (H - 0.1, R, 2), (H + 0.1, R, 2), (H, 0 * R, 2), (H[:4], R, 2), (H * math.nan, R, 2)],
)
def test_topics_that_t6_is_not_about_are_refused(h, r, topics):
    for gate in (over(*corpus(100), plan()), over(*corpus(100), exact_plan(), gate=ExactGate)):
        with pytest.raises(GateError, match="final topics need"):
            gate.final_topics(1.0, h, r, topics)


@chains
def test_an_unplanned_question_is_refused_and_nothing_is_computed(chain, monkeypatch):
    noise, asked = NoNoise(), []
    gate = curator([("a", {"w0": 3})], [gaussian("something else")], noise, charge=asked.append)
    seal(monkeypatch)
    with pytest.raises(GateError, match="no planned"):
        ASK[chain](gate)
    assert (asked, noise.asked) == ([], [])


@chains
def test_a_plan_without_failure_probabilities_is_refused(chain):
    gate = over(*corpus(100), plan(failure=0.0))
    with pytest.raises(GateError, match="failure probability"):
        ASK[chain](gate)


def test_the_solvers_are_exact_for_a_problem_well_within_what_is_allowed_for():
    random = np.random.default_rng(0)
    for size in (3, 40, 300):
        A = random.standard_normal((size, size))
        A = (A + A.T) / 2
        values, V = np.linalg.eigh(A)
        U, _, Vt = np.linalg.svd(V)
        exact = U @ Vt  # the nearest orthonormal vectors
        assert np.linalg.norm((exact * values) @ exact.T - A) < 0.1 * _SOLVER * np.linalg.norm(A)
