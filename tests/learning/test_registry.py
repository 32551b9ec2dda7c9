"""What each sound placement plans: added up anew by another accountant, and split over its edges as asked."""

from __future__ import annotations

import math
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from placement_lists import CALIBRATED, DENSE, EVERY, EXACT, OF_THE_PAPER, PRIVATE, SPLIT
from scipy.stats import norm

from dplda.base.errors import InputError
from dplda.budget.accountant import calibrate
from dplda.learning.model_size import most_topics
from dplda.learning.placements import registry
from dplda.learning.placements.stages import MOST_DENSE_WORDS
from dplda.learning.settings import FitSettings
from dplda.model.prior_topics import PriorTopics

STAGES = {  # what the edges pay for
    "config1": {("e3",): {"tensor"}, ("e4", "e8"): {"moment"}},
    "config2": {("e6",): {"tensor"}, ("e8",): {"moment"}},
    "config3": {("e7",): {"gap", "tensor norm", "decomposition"}, ("e8",): {"moment"}},
    "config4": {("e9",): {"spectrum", "norm", "eigenvalue gap", "topics"}},
    "tensor-power": {("power",): {"tensor"}, ("e8",): {"moment"}},
}
TESTED = {"config3": {"gap", "tensor norm"}, "config4": {"size lower bound", "spectrum", "norm", "eigenvalue gap"}}
SPLITS = {  # far from the placements' own
    "config1": {"e3": 0.7, "e4": 0.1, "e8": 0.2},
    "config2": {"e6": 0.9, "e8": 0.1},
    "config3": {"e7": 0.15, "e8": 0.85},
    "tensor-power": {"power": 0.8, "e8": 0.2},
}
assert STAGES.keys() == {name for name in PRIVATE if registry.find(name).split}, "a placement with edges has no stages"
CASES = [  # placement, split, public words, topics, epsilon, delta
    *[(name, None, True, 5, 0.7, 1e-6) for name in PRIVATE],
    *[(name, SPLITS.get(name), False, 20, 0.3, 1e-9) for name in PRIVATE],
    ("config3", None, False, "auto", 2.0, 1e-5),
    ("tensor-power", None, False, "auto", 0.1, 1e-5),
]


def plan(asked: FitSettings, public: bool = True):
    return registry.find(asked.model.placement, "sound").plan(with_words(asked, 100 if public else None))


def with_words(asked: FitSettings, n: int | None) -> FitSettings:
    """With a public vocabulary of `n` words, or a private one (None)."""
    words = None if n is None else tuple(f"w{i}" for i in range(n))
    return replace(asked, vocabulary=replace(asked.vocabulary, public=words))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Of a mu-GDP mechanism (Balle and Wang 2018, Theorem 8)."""
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))


def stages_by_edges(placement: str) -> dict[tuple[str, ...], set[str]]:
    """The stages whose weight changes with an edge's part of the budget; edges that pay for the same ones together."""
    found, wanted = registry.find(placement), FitSettings.of(placement=placement, topics=5)

    def paid(edge: str) -> frozenset[str]:
        more = found.shares(True, {**found.split, edge: 2 * found.split[edge]}, wanted)
        pairs = zip(found.shares(True, found.split, wanted), more, strict=True)
        return frozenset(share.stage for share, other in pairs if share.weight != other.weight)

    by_stages: dict[frozenset[str], tuple[str, ...]] = {}
    for edge in found.split:
        by_stages[paid(edge)] = (*by_stages.get(paid(edge), ()), edge)
    return {edges: set(stages) for stages, edges in by_stages.items()}


@pytest.mark.parametrize("placement", STAGES)
def test_edges_pay_for_the_stages_that_the_paper_has_there(placement) -> None:
    assert stages_by_edges(placement) == STAGES[placement]


@pytest.mark.parametrize(("placement", "split", "public", "topics", "epsilon", "delta"), CASES)
def test_planned_events_cost_what_is_claimed(placement, split, public, topics, epsilon, delta):
    """By dp_accounting and in closed form, at delta less all failures: at most epsilon, and hardly less."""
    asked = FitSettings.of(placement=placement, topics=topics, epsilon=epsilon, delta=delta, split=split)
    events = calibrate(plan(asked, public), epsilon, delta)
    left = delta - sum(event.count * event.delta for event in events)
    accountant = PLDAccountant()
    for event in set(events):
        accountant.compose(GaussianDpEvent(event.noise_multiplier), events.count(event))
    assert 0.97 * epsilon < accountant.get_epsilon(left) <= epsilon
    mu = math.sqrt(math.fsum(event.noise_multiplier**-2 for event in events))
    assert gaussian_delta(mu, epsilon) <= left <= delta


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("placement", PRIVATE)
def test_whatever_decides_by_a_noisy_bound_has_a_failure_probability(placement, public):
    failing = {share.stage for share in plan(FitSettings.of(placement=placement, topics=5), public) if share.n_may_fail}
    assert failing == TESTED.get(placement, set()) | (set() if public else {"vocabulary"})


@pytest.mark.parametrize("placement", PRIVATE)
def test_a_plan_is_about_multipliers_and_so_the_same_for_both_adjacencies(placement):
    one, other = (plan(FitSettings.of(placement=placement, topics=5, adjacency=a)) for a in ("add-remove", "replace"))
    assert one == other


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SPLIT), st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3), st.booleans())
def test_each_edge_gets_its_part_and_no_other_stage_notices(placement, weights, public):
    edges = registry.find(placement, "sound").split
    parts = dict(zip(edges, weights, strict=False))
    split = {edge: part / sum(parts.values()) for edge, part in parts.items()}

    def budgets(split):
        shares = plan(FitSettings.of(placement=placement, topics=5, split=split), public)
        whole = sum(share.weight for share in shares)
        return {share.stage: share.weight / whole for share in shares}

    asked, own = budgets(split), budgets(None)
    for edges_of_stage, stages in stages_by_edges(placement).items():
        paid = sum(asked.pop(stage) for stage in stages) / sum(own.pop(stage) for stage in stages)
        expected = [sum(part[edge] for edge in edges_of_stage) for part in (split, edges)]
        assert paid == pytest.approx(expected[0] / expected[1])
    assert asked == pytest.approx(own)


def test_multipliers_follow_the_split():
    """mu^2 = sum of multiplier^-2 over a stage: nine times as much for e6 at 0.9 as at 0.1, of one total."""

    def spent(part: float) -> float:
        events = calibrate(plan(FitSettings.of(placement="config2", split={"e6": part, "e8": 1 - part})), 0.1, 1e-6)
        stage = math.fsum(event.noise_multiplier**-2 for event in events if event.stage == "tensor")
        return stage / math.fsum(event.noise_multiplier**-2 for event in events)

    assert spent(0.9) / spent(0.1) == pytest.approx(9)


@pytest.mark.parametrize("placement", DENSE)
def test_the_placements_own_split_is_over_all_its_edges(placement):
    found = registry.find(placement, "sound")
    assert set(found.split) == {edge for edges in stages_by_edges(placement) for edge in edges}
    assert all(stages_by_edges(placement).values())
    assert sum(found.split.values()) == pytest.approx(1)
    asked = FitSettings.of(placement=placement, topics=5)
    assert plan(asked) == found.shares(True, found.split, asked)


@pytest.mark.parametrize(("topics", "most"), [(1, 1), (7, 7), ("auto", most_topics(FitSettings.of(topics="auto")))])
def test_power_iterations_are_paid_for_as_many_topics_as_there_may_be(topics, most):
    (tensor,) = [s for s in plan(FitSettings.of(placement="tensor-power", topics=topics)) if s.stage == "tensor"]
    assert tensor.count == 9 * most


@pytest.mark.parametrize(("placement", "calibration"), CALIBRATED)
def test_every_name_leads_to_a_placement(placement, calibration):
    assert isinstance(registry.find(placement, calibration), registry.Placement)


def test_every_placement_is_found_and_published_ones_have_exact_events_only():
    for placement in EVERY:
        found = registry.find(placement)
        assert bool(found.reason) == found.noiseless == (placement in EXACT)
    for placement in OF_THE_PAPER:
        assert registry.find(placement, "published").reason.startswith("NOT PROVEN PRIVATE: ")


@pytest.mark.parametrize("placement", sorted({*EVERY} - {*OF_THE_PAPER}))
def test_a_calibration_that_a_placement_has_not_is_refused_and_those_that_have_it_are_named(placement):
    with pytest.raises(InputError, match=f"{', '.join(OF_THE_PAPER)}, not for {placement}"):
        registry.find(placement, "published")


@pytest.mark.parametrize(
    ("placement", "asked", "message"),
    [
        ("config2", {"split": {"e6": 0.5, "e7": 0.5}}, "its edges e6, e8"),
        ("config2", {"split": {"e6": 1.0}}, "its edges e6, e8"),
        ("default", {"split": {"e6": 1.0}}, "leave it out"),
        ("tensor-power", {"split": {"e6": 0.5, "e8": 0.5}}, "its edges power, e8"),
        ("config4", {"topics": "auto"}, "at least 2, got topics=auto"),
        ("config4", {"topics": 1}, "at least 2, got topics=1"),
    ],
)
def test_what_a_placement_cannot_do_is_refused_when_it_is_planned(placement, asked, message):
    with pytest.raises(InputError, match=message):
        plan(FitSettings.of(placement=placement, **{"topics": 3, **asked}))


@pytest.mark.parametrize("placement", EVERY)
def test_priors_seed_words_and_clusters_are_for_placements_that_say_so(placement):
    found = registry.find(placement)
    assert (found.learn_from_prior is None) == (found.learn_next is None)
    prior = PriorTopics(np.full((3, 4), 0.25), tuple("abcd"), "a test", True)
    for allowed, option in (
        (found.learn_from_prior is not None, {"prior": prior}),
        (found.takes_seed_words, {"seed_words": {"fruit": ("apple",)}}),
        (found.runs_on_cluster, {"engine": "dask"}),
    ):
        with nullcontext() if allowed else pytest.raises(InputError, match=placement):
            FitSettings.of(placement=placement, topics=3, **option)


def test_the_names_of_placements_are_known_without_their_modules():
    code = "import sys, dplda.learning.settings; print(*[name for name in sys.modules if '.placements.' in name])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == ["dplda.learning.placements.registry"]


@pytest.mark.parametrize("placement", DENSE)
def test_dense_moments_end_at_their_most_words_public_or_private(placement):
    found, most = registry.find(placement, "sound"), MOST_DENSE_WORDS
    asked = [FitSettings.of(placement=placement, max_vocabulary=words) for words in (most, most + 1)]
    found.plan(with_words(asked[1], most))
    found.plan(with_words(asked[0], None))
    for words in (most + 1, None):
        with pytest.raises(InputError, match=f"at most {most} words, got {most + 1}"):
            found.plan(with_words(asked[1], words))


def test_the_default_placement_takes_any_number_of_words():
    assert registry.find("default", "sound").plan(with_words(FitSettings(), 1_000_000))
