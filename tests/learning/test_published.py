"""The published calibration adds the noise that it says, where the paper has it, and none of it at a large budget."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from full_helpers import full_after
from placement_lists import OF_THE_PAPER
from population_gate import UNEVEN, PopulationGate, planted_topics, some_words

import dplda
from dplda.base.errors import InputError
from dplda.base.progress import NoProgress
from dplda.budget.accountant import exact_events
from dplda.learning.placements import published
from dplda.learning.placements.published import EDGES, Quantities, _sigma_floor, edge_noise, gap_floor
from dplda.learning.recovery import Whitening
from dplda.learning.settings import FitSettings
from dplda.private import Release
from dplda.private.exact_gate import ExactGate
from dplda.private.noise import SimulatedNoise
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics.lda_moments import population_moments
from dplda.runs.corpus import synthetic
from dplda.runs.grid import matched_error

ENOUGH = 1e14  # documents: no noise is left at epsilon 100


def asked_for(placement: str, topics: int = 3, **changes) -> FitSettings:
    return FitSettings.of(placement=placement, topics=topics, **({"epsilon": 1.0, "alpha0": 1.0} | changes))


def learned(placement: str, topics: np.ndarray, alpha: np.ndarray, documents: float, seed: int = 0, **changes):
    k, d = topics.shape
    gate = PopulationGate(topics, alpha, documents)
    return published.learn(
        gate,
        gate.size(),
        some_words(d),
        asked_for(placement, k, alpha0=alpha.sum(), **changes),
        np.random.default_rng(seed),
    )


@pytest.mark.parametrize("placement", EDGES)
@pytest.mark.parametrize("alpha0", [0.3, 1.0, 5.0])
def test_planted_topics_are_found_when_the_budget_leaves_no_noise(placement, alpha0):
    topics, alpha = planted_topics(), alpha0 * UNEVEN
    found = learned(placement, topics, alpha, ENOUGH, epsilon=100.0)
    assert matched_error(found.topics, topics).max() < 1e-3
    expected = UNEVEN if placement != "config4" else np.full(3, 1 / 3)
    np.testing.assert_allclose(found.prevalence, expected, atol=1e-4)


@pytest.mark.parametrize("placement", ["config1", "config2", "config3"])
def test_unwhitening_is_turned_to_its_whitening_where_eigenvalues_tie(placement):
    """Three topics on words of their own with one weight: the least noise turns the eigenvectors of M2 anywhere."""
    topics = np.kron(np.eye(3), np.full((1, 4), 0.25))
    found = learned(placement, topics, np.full(3, 1 / 3), ENOUGH, epsilon=100.0)
    assert matched_error(found.topics, topics).max() < 1e-3


@pytest.mark.parametrize("placement", EDGES)
def test_fewer_documents_cost_accuracy(placement):
    topics = planted_topics()
    error = [
        np.mean([matched_error(learned(placement, topics, UNEVEN, N, s).topics, topics).mean() for s in range(5)])
        for N in (1e10, 1e6, 1e2)
    ]
    assert error == sorted(error)
    assert error[0] < 0.02 < 0.5 < error[2]


@pytest.mark.parametrize("edge", ["e6", "e7", "e9"])
def test_sensitivities_are_of_the_spectrum_of_the_data(edge):
    """lambda_i = 2 / (alpha0 + 2) sqrt(alpha0 (alpha0 + 1) / alpha_i), of which the first two are nearest."""
    placement = next(placement for placement, edges in EDGES.items() if edge in edges)
    values = np.linalg.eigvalsh(population_moments(planted_topics(), UNEVEN).M2)
    lambdas = 2 / 3 * np.sqrt(2 / np.sort(UNEVEN))
    q = Quantities(
        documents=ENOUGH,
        words=12,
        topics=3,
        alpha0=1.0,
        sigma_1=values[-1],
        sigma_k=max(values[-3], _sigma_floor(1.0)),
        tensor_1=lambdas[0],
        gamma_s=(lambdas[0] - lambdas[1]) / 4,
    )
    assert q.gamma_s > gap_floor(1.0)
    found = learned(placement, planted_topics(), UNEVEN, ENOUGH)
    expected = edge_noise(edge, q, 1 / len(EDGES[placement]), 1e-6 / len(EDGES[placement]))
    assert found.facts["published"][edge]["sensitivity"] == pytest.approx(expected.sensitivity, rel=1e-4)
    assert found.facts["published"][edge]["std"] == pytest.approx(expected.std, rel=1e-4)


class Seen:
    """The arrays of a run: second moments whitened, whitened tensors decomposed, and pairs unwhitened."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.M2, self.T, self.values, self.vectors = [], [], [], []
        whitening, method, unwhiten = published._whitening, published.eigenpairs, Whitening.unwhiten

        def whitened(M2, k):
            self.M2.append(M2)
            return whitening(M2, k)

        def decomposed(T, *arguments, **options):
            self.T.append(T)
            return method(T, *arguments, **options)

        def unwhitened(one, values, vectors, alpha0):
            self.values.append(values)
            self.vectors.append(vectors)
            return unwhiten(one, values, vectors, alpha0)

        patch.setattr(published, "_whitening", whitened)
        patch.setattr(published, "eigenpairs", decomposed)
        patch.setattr(Whitening, "unwhiten", unwhitened)


@pytest.fixture
def seen(monkeypatch) -> Seen:
    return Seen(monkeypatch)


def test_second_moments_get_the_noise_of_their_edges_drawn_apart(seen):
    found = learned("config1", planted_topics(d=100), UNEVEN, 1e6, split={"e3": 0.5, "e4": 0.1, "e8": 0.4})
    exact, of_e4, of_e8 = seen.M2
    E4, E8 = of_e4 - exact, of_e8 - exact
    apart = np.triu_indices(100, 1)
    for E, edge in ((E4, "e4"), (E8, "e8")):
        np.testing.assert_allclose(E, E.T, atol=1e-12)
        assert E[apart].std() == pytest.approx(found.facts["published"][edge]["std"], rel=0.05)
    assert abs(np.corrcoef(E4[apart], E8[apart])[0, 1]) < 0.06
    assert found.facts["published"]["e4"]["std"] > 3 * found.facts["published"]["e8"]["std"]


def test_the_whitened_tensor_gets_its_noise_where_indices_differ(seen):
    runs = [learned("config2", planted_topics(), UNEVEN, 1e6, seed) for seed in range(150)]
    T, stds = np.array(seen.T), [run.facts["published"]["e6"]["std"] for run in runs]
    for p in itertools.permutations((1, 2, 3)):
        np.testing.assert_allclose(T, T.transpose(0, *p), atol=1e-12)
    assert T[:, 0, 1, 2].std() == pytest.approx(np.sqrt(np.mean(np.square(stds))), rel=0.2)
    assert T[:, 0, 0, 0].std() == pytest.approx(np.sqrt(6 * np.mean(np.square(stds))), rel=0.2)


def test_the_decompositions_vectors_and_values_get_one_noise(seen):
    quiet = learned("config3", planted_topics(), UNEVEN, ENOUGH, epsilon=100.0)
    assert quiet.facts["published"]["e7"]["std"] < 1e-6
    runs = [learned("config3", planted_topics(), UNEVEN, 1e9, seed) for seed in range(100)]
    std = np.mean([run.facts["published"]["e7"]["std"] for run in runs])
    values = np.sort(np.array(seen.values), axis=1)
    assert (values[1:] - values[0]).std() == pytest.approx(std, rel=0.15)
    lengths = np.linalg.norm(seen.vectors[1:], axis=1) - 1  # unit but for the noise along each
    assert lengths.std() == pytest.approx(std, rel=0.15)


def test_final_topics_get_noise_in_every_word():
    topics = 0.5 * planted_topics() + 0.5 / 12  # far from the border of the simplex, whose mean is projected away
    found = learned("config4", topics, UNEVEN, 1e9, epsilon=10.0)
    (noise,) = found.facts["published"].values()
    runs = [learned("config4", topics, UNEVEN, 1e9, seed, epsilon=10.0).topics for seed in range(60)]
    nearest = [np.abs(topics[:, None] - run).sum(axis=2).argmin(axis=1) for run in runs]
    spread = np.std([run[near] - topics for run, near in zip(runs, nearest, strict=True)])
    assert noise["std"] < 0.01
    assert spread == pytest.approx(np.sqrt(11 / 12) * noise["std"], rel=0.05)


def test_contracted_noise_has_the_law_of_the_whole_tensor():
    """T3 of docs/privacy.md, exactly: both are linear in independent entries, with one covariance."""
    W = np.random.default_rng(0).standard_normal((4, 2))

    def covariance(size, contracted):
        basis = np.eye(size**3).reshape(-1, size, size, size)
        A = np.array([contracted(Z).ravel() for Z in basis]).T
        return A @ A.T

    def whole(Z):
        E = sum(Z.transpose(p) for p in itertools.permutations(range(3))) / 6
        return np.einsum("xyz,xa,yb,zc->abc", E, W, W, W)

    small = covariance(2, lambda Z: published._contracted_noise(Z, W))
    np.testing.assert_allclose(small, covariance(4, whole), atol=1e-12)


class Answering:
    """A gate that answers with numbers from `draw` and counts the questions."""

    def __init__(self, draw) -> None:
        self.draw, self.asked = draw, Counter()

    def size(self):
        self.asked["size"] += 1
        return 1.0

    def release(self, stage, contribution, clip):
        self.asked[stage] += 1
        return Release(self.draw(contribution.shape), 2.0, 0.0)


ANSWERS = {
    "noise": np.random.default_rng(0).standard_normal,
    "zeros": np.zeros,
    "large noise": lambda shape: 1e12 * np.random.default_rng(1).standard_normal(shape),
    "constants": lambda shape: np.full(shape, -3.0),
}


@pytest.mark.parametrize("placement", EDGES)
@pytest.mark.parametrize("answers", ANSWERS)
@pytest.mark.parametrize("topics", [1, 5, 12])
def test_any_answer_gives_topics_and_the_planned_questions(placement, answers, topics):
    gate, settings = Answering(ANSWERS[answers]), asked_for(placement, topics, epsilon=0.01)
    found = published.learn(gate, gate.size(), some_words(12), settings, np.random.default_rng(0))
    planned = Counter(event.stage for event in exact_events(published.shares(True, {}, settings)))
    assert gate.asked == planned - Counter(["frequency"])
    assert set(found.facts["published"]) == set(EDGES[placement])
    assert found.topics.shape == (topics, 12)
    assert (found.topics >= 0).all()
    assert found.topics.sum(axis=1) == pytest.approx(1)
    assert found.prevalence.sum() == pytest.approx(1)
    assert (np.diff(found.prevalence) <= 0).all()


def test_all_events_are_exact_and_each_placement_says_why_it_is_not_proven_private():
    for public, words in ((True, "frequency"), (False, "vocabulary")):
        events = exact_events(published.shares(public, {}, asked_for("config2")))
        assert [event.stage for event in events] == [words, "size", "mean", "moment", "tensor"]
        assert {event.mechanism for event in events} == {"exact"}
    assert set(OF_THE_PAPER) == set(EDGES)


def test_what_the_configurations_cannot_do_is_refused_before_anything_is_asked():
    with pytest.raises(InputError, match="published calibration, got 'auto'"):
        published.shares(True, {}, asked_for("config1", "auto"))
    with pytest.raises(InputError, match="edges e9 of config4"):
        published.shares(True, {}, asked_for("config4", split={"e8": 1.0}))


@pytest.fixture(scope="module")
def small_corpora() -> list[tuple]:
    corpora = []
    for seed in range(20):
        counts, topics, _ = synthetic(10_000, 10, 3, mean_length=50, seed=seed)
        corpus = dplda.Corpus.from_counts(counts, [f"w{i}" for i in range(10)], public_vocabulary=True)
        corpora.append((corpus, topics))
    return corpora


@pytest.mark.parametrize(
    ("placement", "epsilon", "authors"),
    full_after(
        2,
        [
            ("config1", 1, 0.39),
            ("config2", 4, 0.60),
            ("config1", 4, 0.30),
            ("config2", 1, 0.77),
            ("config3", 1, 0.92),
            ("config4", 1, 1.44),
        ],
    ),
)
def test_errors_on_small_corpora_are_those_of_the_authors_code(small_corpora, placement, epsilon, authors):
    """Mean matched l1 error over 20 corpora at its default delta, 0.1; standard errors of the mean are up to 0.1."""
    settings = asked_for(placement, epsilon=float(epsilon), delta=0.1)
    errors = []
    for seed, (corpus, topics) in enumerate(small_corpora):
        store = corpus.open(NoProgress())
        planned = exact_events(published.shares(True, {}, settings))
        gate = ExactGate(LocalPasses(store), planned, lambda event: None, SimulatedNoise(seed))
        gate.use_words(corpus.public_vocabulary)
        found = published.learn(gate, gate.size(), gate.word_frequencies(), settings, np.random.default_rng(seed))
        errors.append(matched_error(found.topics, topics).mean())
    assert np.mean(errors) == pytest.approx(authors, abs=0.12)


def test_exact_statistics_reach_the_run_through_the_gate(seen):
    """M2 of a corpus of one document, by hand: counts (2, 1, 1), alpha0 = 1, m = c / 4, E2 = (c c' - diag c) / 12."""
    c = np.array([2.0, 1.0, 1.0])
    corpus = dplda.Corpus.from_counts(c[None].astype(int), ["a", "b", "c"], public_vocabulary=True)
    settings = asked_for("config4", 2)
    planned = exact_events(published.shares(True, {}, settings))
    gate = ExactGate(LocalPasses(corpus.open(NoProgress())), planned, lambda event: None, SimulatedNoise(0))
    gate.use_words(corpus.public_vocabulary)
    published.learn(gate, gate.size(), gate.word_frequencies(), settings, np.random.default_rng(0))
    by_hand = (np.outer(c, c) - np.diag(c)) / 12 - np.outer(c, c) / 32
    np.testing.assert_allclose(seen.M2[0], by_hand, atol=1e-6)
    moments = population_moments(planted_topics(), UNEVEN)
    learned("config4", planted_topics(), UNEVEN, 1e6)
    np.testing.assert_allclose(seen.M2[-1], moments.M2, atol=1e-6)
