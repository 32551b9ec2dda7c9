"""The paper's sound placements learn what they say: without noise, with a little, and at an ordinary budget."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from full_helpers import full_after
from placement_lists import ALWAYS_ANSWERS, DENSE, MAY_END_WITHOUT_TOPICS

import dplda
from dplda.base.distributions import on_words
from dplda.base.errors import UnsupportedByData
from dplda.base.progress import NoProgress
from dplda.budget import Ledger
from dplda.budget.accountant import exact_events
from dplda.budget.events import Event
from dplda.learning.placements import config1, registry
from dplda.learning.settings import FitSettings
from dplda.learning.synthetic import draw_counts
from dplda.private import PtrResult, StabilityTest, statistics
from dplda.private.curator import Curator
from dplda.private.exact_gate import ExactGate
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics.lda_moments import unpack
from dplda.runs.corpus import synthetic
from dplda.runs.grid import matched_error

ALWAYS = tuple(name for name in ALWAYS_ANSWERS if name in DENSE)


@dataclass(frozen=True)
class Planted:
    """A corpus of a public vocabulary and the topics (k, d) that it was drawn from."""

    corpus: dplda.Corpus
    topics: np.ndarray


def planted(counts, topics) -> Planted:
    words = [f"w{i}" for i in range(topics.shape[1])]
    return Planted(dplda.Corpus.from_counts(counts, words, name="planted", public_vocabulary=True), topics)


@pytest.fixture(scope="module")
def toy() -> Planted:
    """Three topics on ten words."""
    return planted(*synthetic(20_000, 10, 3, mean_length=50)[:2])


@pytest.fixture(scope="module")
def plain() -> Planted:
    """Two topics on four words, as far apart as the tests of configuration 4 need them."""
    random, topics = np.random.default_rng(0), np.array([[0.475, 0.475, 0.025, 0.025], [0.025, 0.025, 0.475, 0.475]])
    proportions = random.dirichlet([0.5, 0.5], 100_000)
    return planted(draw_counts(random, np.full(100_000, 10), proportions, topics), topics)


class ExactOutputs(ExactGate):
    """The gate without noise, with the test that configuration 4 reads the number of units off."""

    def final_topics(self, alpha0, h, r, topics) -> PtrResult:
        tested = super().final_topics(alpha0, h, r, topics)
        return replace(tested, tests=(StabilityTest("units at least", 100_000.0),))


def error_of(model: dplda.TopicModel, of: Planted) -> np.ndarray:
    """The errors (k,) of the topics of `model`; words that are not sure to be in documents have no share in them."""
    words = [f"w{i}" for i in range(of.topics.shape[1])]
    return matched_error(on_words(model.topics, model.vocabulary, words), of.topics)


def learned(placement: str, of: Planted, multiplier: float | None, epsilon: float = 100.0, seed: int = 0):
    """What the placement learns with noise of `multiplier` in every stage; from exact statistics for None."""
    words = of.corpus.public_vocabulary
    settings = FitSettings.of(placement=placement, topics=len(of.topics), epsilon=epsilon, public=words)
    found = registry.find(placement, "sound")
    shares = found.plan(settings)
    noisy = [
        Event(stage=share.stage, noise_multiplier=multiplier or 1.0, delta=1e-9 if share.may_fail else 0.0)
        for share in shares
        for _ in range(share.count)
    ]
    made, events = (ExactOutputs, exact_events(shares)) if multiplier is None else (Curator, noisy)
    gate = made(LocalPasses(of.corpus.open(NoProgress())), events, lambda event: None, SimulatedNoise(seed))
    gate.use_words(of.corpus.public_vocabulary)
    released = found.learn(gate, gate.size(), gate.word_frequencies(), settings, np.random.default_rng(seed))
    return replace(released, topics=on_words(released.topics, released.words, words))


@pytest.mark.parametrize("placement", full_after(2, DENSE))
def test_vanishing_noise_gives_the_topics_of_no_noise_and_more_does_not(placement, toy, plain):
    """Multipliers of 0.03 are near the least that T8 allows; one unit in three hundred is clipped at epsilon 100."""
    of = plain if placement == "config4" else toy
    exact, noisy = learned(placement, of, None), learned(placement, of, 0.03)
    assert matched_error(exact.topics, of.topics).max() < 0.015
    assert matched_error(noisy.topics, exact.topics).max() < 0.005
    np.testing.assert_allclose(noisy.prevalence, exact.prevalence, atol=0.01)
    if placement in ALWAYS:
        loud = learned(placement, of, 30.0)
        assert matched_error(loud.topics, exact.topics).max() > 0.03
    assert noisy.documents == pytest.approx(of.corpus.open(NoProgress()).n_documents, rel=1e-3)


class OneCoordinate:
    """Noise in coordinate `index` alone, of one standard deviation, counted over a whole answer."""

    private = False

    def __init__(self, index: int) -> None:
        self.left = index

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        self.left -= size
        return np.where(np.arange(-size, 0) == self.left, round(scale), 0)

    def above_threshold(self, values, scale, threshold):
        raise NotImplementedError

    def coins(self, share, size):
        raise NotImplementedError


def symmetriser(n: int) -> np.ndarray:
    """The projector (n^3, n^3) on symmetric tensors."""
    order = np.arange(n**3).reshape(n, n, n)
    orders = [np.eye(n**3)[order.transpose(p).ravel()] for p in itertools.permutations(range(3))]
    return np.mean(orders, axis=0)


@dataclass(frozen=True)
class Contracted:
    """Noise (k, k, k) as configuration 1 has it for a random whitening W (d, k), and its law by T3."""

    sensitivity: float
    adjacency: str = "add-remove"
    d: int = 8
    k: int = 3
    clip: float = 0.7
    multiplier: float = 3.0

    def __post_init__(self) -> None:
        random, d, k = np.random.default_rng(0), self.d, self.k
        basis, values = np.linalg.qr(random.standard_normal((d, k)))[0], random.uniform(0.2, 2.0, k)
        too_short = dplda.Corpus.from_counts(np.eye(1, d, dtype=int), [f"w{i}" for i in range(d)])
        more = {"basis": basis, "values": values, "scale": random.uniform(0.5, 2.0, d), "nobody": too_short}
        vars(self).update(more)

    @property
    def W(self) -> np.ndarray:
        return self.basis * self.values**-0.5

    @property
    def eta(self) -> float:
        return self.multiplier * self.sensitivity * self.clip

    def release(self, source) -> np.ndarray:
        """What the run contracts, of a corpus without a document that counts: noise alone."""
        events = [Event(stage="tensor", noise_multiplier=self.multiplier)]
        gate = Curator(
            LocalPasses(self.nobody.open(NoProgress())), events, lambda event: None, source, adjacency=self.adjacency
        )
        gate.use_words([f"w{i}" for i in range(self.d)])
        answer = gate.release("tensor", statistics.projected_third_moment(self.scale, self.basis), self.clip)
        return config1._contracted(answer.total[0], self.values).ravel()

    def per_coordinate(self) -> np.ndarray:
        """Columns (k^3, k (k + 1) (k + 2) / 6): what one standard deviation in each released coordinate becomes."""
        coordinates = self.k * (self.k + 1) * (self.k + 2) // 6
        return np.array([self.release(OneCoordinate(index)) for index in range(coordinates)]).T

    @property
    def covariance(self) -> np.ndarray:
        G, P = self.W.T @ self.W, symmetriser(self.k)
        return self.eta**2 * P @ np.kron(np.kron(G, G), G) @ P


@pytest.mark.parametrize(("adjacency", "sensitivity"), [("add-remove", 1.0), ("replace", 2.0)])
def test_the_noise_of_configuration_1_has_the_law_of_the_whole_tensors(adjacency, sensitivity):
    """T3, exactly: both are linear in independent normal numbers, so that one covariance is one law."""
    of = Contracted(sensitivity, adjacency)
    A = of.per_coordinate()
    assert not of.release(OneCoordinate(A.shape[1])).any()  # what comes after the tensor is its mass
    W, G = of.W, of.W.T @ of.W
    whole = np.kron(np.kron(W, W), W).T @ symmetriser(of.d)
    np.testing.assert_allclose(A @ A.T, of.eta**2 * whole @ whole.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(A @ A.T, of.covariance, rtol=1e-5, atol=1e-6)
    t1, t2, t3 = (np.trace(np.linalg.matrix_power(G, power)) for power in (1, 2, 3))
    assert (A**2).sum() == pytest.approx(of.eta**2 * (t1**3 + 3 * t1 * t2 + 2 * t3) / 6, rel=1e-5)


@pytest.mark.full
def test_twenty_thousand_draws_of_configuration_1_have_the_covariance_of_the_whole_tensors():
    """Exact noise in every coordinate; each of the 378 entries is within five standard errors."""
    of, draws, steps = Contracted(1.0), 20_000, 2.0**20
    A = of.per_coordinate()
    drawn = A @ (ExactNoise().gaussian(steps, A.shape[1] * draws) / steps).reshape(A.shape[1], draws)
    expected, variances = of.covariance, np.diag(of.covariance)
    error = np.sqrt((np.outer(variances, variances) + expected**2) / draws)
    assert np.all(np.abs(drawn @ drawn.T / draws - expected) < 5 * error + 1e-9)


def test_contraction_is_with_the_whitening_and_not_with_its_basis():
    """By hand, k = 1: W = values^(-1/2) Q, three times."""
    assert config1._contracted(np.array([5.0]), np.array([4.0])) == pytest.approx(5 / 8)
    np.testing.assert_allclose(config1._contracted(np.arange(4.0), np.ones(2)), unpack(np.arange(4.0), 2))


class Silence:
    """Adds nothing, and remembers the standard deviations that it was asked for, by stage."""

    private = False

    def __init__(self) -> None:
        self.stage, self.scales = "", dict[str, list[float]]()

    def ask(self, event: Event) -> None:
        self.stage = event.stage

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        self.scales.setdefault(self.stage, []).append(scale)
        return np.zeros(size, np.int64)

    def coins(self, share: float, size: int) -> np.ndarray:
        return np.ones(size, bool)

    def above_threshold(self, values, scale, threshold):
        raise NotImplementedError


@pytest.mark.parametrize("placement", ALWAYS)
def test_replacing_takes_the_noise_of_its_sensitivities(placement):
    """Root two where arrays are nonnegative, two where they are projected or whitened, none for the size (T1)."""
    few, settings = planted(*synthetic(500, 6, 2)[:2]).corpus, FitSettings.of(placement=placement, topics=2)
    public = replace(settings.vocabulary, public=few.public_vocabulary)
    shares = registry.find(placement, "sound").plan(replace(settings, vocabulary=public))
    events = [Event(stage=share.stage, noise_multiplier=2.0) for share in shares for _ in range(share.count)]
    seen = []
    for adjacency in ("add-remove", "replace"):
        noise = Silence()
        gate = Curator(LocalPasses(few.open(NoProgress())), events, noise.ask, noise, adjacency=adjacency)
        gate.use_words(few.public_vocabulary)
        words = gate.word_frequencies()
        registry.find(placement, "sound").learn(gate, gate.size(), words, settings, np.random.default_rng(0))
        seen.append(noise.scales)
    root = np.sqrt(2)
    factors = {"size": 1, "mean clip": root, "mean": root, "moment clip": root, "moment": root}
    for stage, factor in (factors | {"tensor clip": root, "tensor": 2}).items():
        np.testing.assert_allclose(seen[1][stage], factor * np.array(seen[0][stage]), rtol=1e-6)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("placement", full_after(3, ALWAYS))
def test_both_adjacencies_are_fitted_and_stated(placement, adjacency, toy, tmp_path):
    model = dplda.fit(
        toy.corpus, n_topics=3, epsilon=4.0, placement=placement, adjacency=adjacency, ledger=Ledger(tmp_path / "l.db")
    )
    assert (model.privacy.adjacency, model.privacy.sound) == (adjacency, True)
    assert model.privacy.epsilon <= 4.0
    assert error_of(model, toy).max() < 0.5


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("placement", MAY_END_WITHOUT_TOPICS)
def test_tested_placements_end_in_topics_where_the_data_is_stable_enough(placement, adjacency, plain):
    """Simulated, since the public directions that the tests depend on are drawn anew in a private run."""
    asked = {"epsilon": 2.0, "adjacency": adjacency, "ledger": False, "simulate_seed": 0}
    model = dplda.fit(plain.corpus, n_topics=2, placement=placement, **asked)
    assert (model.privacy.adjacency, model.privacy.sound) == (adjacency, False)
    assert error_of(model, plain).max() < 0.2


@pytest.fixture(scope="module")
def many() -> Planted:
    """Five topics on two hundred words."""
    return planted(*synthetic(50_000, 200, 5, mean_length=100)[:2])


@pytest.mark.parametrize("placement", full_after(1, ALWAYS))
def test_planted_topics_are_found_at_epsilon_two(placement, many):
    model = dplda.fit(many.corpus, n_topics=5, placement=placement, ledger=False, simulate_seed=0)
    assert error_of(model, many).mean() < 0.06
    assert model.facts.supported_topics >= 5


def test_topics_are_counted_by_what_stands_above_the_noise(many):
    model = dplda.fit(many.corpus, n_topics="auto", epsilon=1.0, placement="config2", ledger=False, simulate_seed=0)
    assert len(model.topics) == model.facts.supported_topics == 5


def test_configuration_4_needs_a_word_more_than_topics(plain):
    with pytest.raises(UnsupportedByData, match="4 words were found for 4"):
        dplda.fit(plain.corpus, n_topics=4, placement="config4", ledger=False, simulate_seed=0)
