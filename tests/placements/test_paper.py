"""The paper's sound placements learn what they say: without noise, with a little, and at an ordinary budget."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dplda
from dplda.comparison.measures import matched_error
from dplda.corpus import synthetic
from dplda.corpus.planted import draw_counts
from dplda.errors import UnsupportedByData
from dplda.ledger import Ledger
from dplda.moments import contributions
from dplda.moments.coordinates import unpack
from dplda.placements import config1, none, registry
from dplda.privacy import stability
from dplda.privacy.curator import Curator
from dplda.privacy.events import Event
from dplda.privacy.noise import SimulatedNoise
from dplda.progress import Silent
from dplda.settings import FitSettings

ALWAYS = ("config1", "config2", "tensor-power")  # those that test nothing
PAPER = (*ALWAYS, "config3", "config4")


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


@dataclass(frozen=True)
class ExactOutputs(none.Exposed):
    """The gate without noise, for placements that perturb outputs too."""

    def decompose(self, W, K, theta, clip) -> stability.Tested:
        return self.curator.expose_decomposition(W, K, theta)

    def final_topics(self, alpha0, h, r, topics) -> stability.Tested:
        tested = self.curator.expose_final_topics(alpha0, h, r, topics)
        return replace(tested, tests=(stability.Test("units at least", 100_000.0),))


def learned(placement: str, of: Planted, multiplier: float | None, epsilon: float = 100.0, seed: int = 0):
    """What the placement learns with noise of `multiplier` in every stage; from exact statistics for None."""
    k, d = of.topics.shape
    settings = FitSettings(placement=placement, topics=k, epsilon=epsilon)
    found = registry.find(placement, "sound")
    shares = found.plan(d, settings)
    noisy = [
        Event(stage=share.stage, noise_multiplier=multiplier or 1.0, delta=1e-9 if share.fails else 0.0)
        for share in shares
        for _ in range(share.count)
    ]
    events = none.events(shares) if multiplier is None else noisy
    curator = Curator(of.corpus.open(Silent()), events, lambda event: None, SimulatedNoise(seed))
    gate = ExactOutputs(curator, d) if multiplier is None else curator
    gate.use_words(of.corpus.public_vocabulary)
    return found.learn(gate, gate.word_frequencies(), settings, np.random.default_rng(seed))


@pytest.mark.parametrize("placement", PAPER)
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
    assert noisy.documents == pytest.approx(of.corpus.open(Silent()).n_documents, rel=1e-3)


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
    return sum(np.eye(n**3)[order.transpose(p).ravel()] for p in itertools.permutations(range(3))) / 6


@pytest.mark.parametrize(("adjacency", "sensitivity"), [("add-remove", 1.0), ("replace", 2.0)])
def test_the_noise_of_configuration_1_has_the_law_of_the_whole_tensors(adjacency, sensitivity):
    """T3, exactly: both are linear in independent normal numbers, so that one covariance is one law."""
    d, k, clip, multiplier, random = 8, 3, 0.7, 3.0, np.random.default_rng(0)
    Q, values = np.linalg.qr(random.standard_normal((d, k)))[0], random.uniform(0.2, 2.0, k)
    scale, W = random.uniform(0.5, 2.0, d), Q * values**-0.5
    empty = dplda.Corpus.from_counts(np.eye(1, d, dtype=int), [f"w{i}" for i in range(d)])  # one token: too short

    def noise(index: int) -> np.ndarray:
        events = [Event(stage="tensor", noise_multiplier=multiplier)]
        gate = Curator(empty.open(Silent()), events, lambda event: None, OneCoordinate(index), adjacency=adjacency)
        gate.use_words([f"w{i}" for i in range(d)])
        answer = gate.release("tensor", contributions.projected_third_moment(scale, Q), clip)
        return config1.contracted(answer.total[0], values).ravel()

    A = np.array([noise(index) for index in range(k * (k + 1) * (k + 2) // 6)]).T
    assert not noise(A.shape[1]).any()  # what comes after the tensor is its mass
    eta, G, P = multiplier * sensitivity * clip, W.T @ W, symmetriser(k)
    whole = np.kron(np.kron(W, W), W).T @ symmetriser(d)
    np.testing.assert_allclose(A @ A.T, eta**2 * whole @ whole.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(A @ A.T, eta**2 * P @ np.kron(np.kron(G, G), G) @ P, rtol=1e-5, atol=1e-6)
    t1, t2, t3 = (np.trace(np.linalg.matrix_power(G, power)) for power in (1, 2, 3))
    assert (A**2).sum() == pytest.approx(eta**2 * (t1**3 + 3 * t1 * t2 + 2 * t3) / 6, rel=1e-5)


def test_contraction_is_with_the_whitening_and_not_with_its_basis():
    """By hand, k = 1: W = values^(-1/2) Q, three times."""
    assert config1.contracted(np.array([5.0]), np.array([4.0])) == pytest.approx(5 / 8)
    np.testing.assert_allclose(config1.contracted(np.arange(4.0), np.ones(2)), unpack(np.arange(4.0), 2))


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
    few, settings = planted(*synthetic(500, 6, 2)[:2]).corpus, FitSettings(placement=placement, topics=2)
    shares = registry.find(placement, "sound").plan(6, settings)
    events = [Event(stage=share.stage, noise_multiplier=2.0) for share in shares for _ in range(share.count)]
    seen = []
    for adjacency in ("add-remove", "replace"):
        noise = Silence()
        gate = Curator(few.open(Silent()), events, noise.ask, noise, adjacency=adjacency)
        gate.use_words(few.public_vocabulary)
        words = gate.word_frequencies()
        registry.find(placement, "sound").learn(gate, words, settings, np.random.default_rng(0))
        seen.append(noise.scales)
    root = np.sqrt(2)
    factors = {"size": 1, "mean clip": root, "mean": root, "moment clip": root, "moment": root}
    for stage, factor in (factors | {"tensor clip": root, "tensor": 2}).items():
        np.testing.assert_allclose(seen[1][stage], factor * np.array(seen[0][stage]), rtol=1e-6)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("placement", ALWAYS)
def test_both_adjacencies_are_fitted_and_stated(placement, adjacency, toy, tmp_path):
    model = dplda.fit(
        toy.corpus, n_topics=3, epsilon=1.0, placement=placement, adjacency=adjacency, ledger=Ledger(tmp_path / "l.db")
    )
    assert (model.privacy.adjacency, model.privacy.sound) == (adjacency, True)
    assert model.privacy.epsilon <= 1.0
    assert matched_error(model.topics, toy.topics).max() < 0.5


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("placement", ["config3", "config4"])
def test_tested_placements_end_in_topics_where_the_data_is_stable_enough(placement, adjacency, plain):
    """Simulated, since the public directions that the tests depend on are drawn anew in a private run."""
    asked = {"epsilon": 2.0, "adjacency": adjacency, "ledger": False, "simulate_seed": 0}
    model = dplda.fit(plain.corpus, n_topics=2, placement=placement, **asked)
    assert (model.privacy.adjacency, model.privacy.sound) == (adjacency, False)
    assert matched_error(model.topics, plain.topics).max() < 0.2


@pytest.fixture(scope="module")
def many() -> Planted:
    """Five topics on two hundred words."""
    return planted(*synthetic(50_000, 200, 5, mean_length=100)[:2])


@pytest.mark.parametrize("placement", ALWAYS)
def test_planted_topics_are_found_at_epsilon_two(placement, many):
    model = dplda.fit(many.corpus, n_topics=5, placement=placement, ledger=False, simulate_seed=0)
    assert matched_error(model.topics, many.topics).mean() < 0.06
    assert model.parameters["supported_topics"] >= 5


def test_topics_are_counted_by_what_stands_above_the_noise(many):
    model = dplda.fit(many.corpus, n_topics="auto", epsilon=1.0, placement="config2", ledger=False, simulate_seed=0)
    assert len(model.topics) == model.parameters["supported_topics"] == 5


def test_configuration_4_needs_a_word_more_than_topics(plain):
    with pytest.raises(UnsupportedByData, match="needs more words than topics, and 4 words were found for 4"):
        dplda.fit(plain.corpus, n_topics=4, placement="config4", ledger=False, simulate_seed=0)
