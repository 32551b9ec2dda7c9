"""The adapters of published testers; the testers themselves are run where their packages are installed."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import commands, options
from benchmarks.audit.broken import noise_halved
from benchmarks.testers import divergences, measure, odds, one_run, peers
from benchmarks.testers.cells import Cell
from dplda.audit.games import NoNoise
from dplda.base.config import PrivacySettings
from dplda.private.noise import SimulatedNoise

EIGHT = PrivacySettings(epsilon=8.0)


def installed(name):
    """The module `name` of a peer, or a skipped test."""
    try:
        return peers.load(name)
    except peers.PeerMissing as error:
        pytest.skip(f"{error} (docs/audit.md)")


def trial(name, canaries, runs=1, settings=EIGHT):
    (found,) = one_run.sums(settings, {name: (canaries, runs)})
    return found


@pytest.mark.parametrize("name", [name for name in one_run.SIZES if name != "frequency"])
def test_contributions_of_single_canaries_add_up_to_those_of_all(name):
    found = trial(name, 12)
    attacker = found._attacker(np.ones(12, bool), NoNoise())
    attacker.use_words(found.words)
    contribution = one_run._contribution(name, 13)
    less, more = attacker._exact([one_run._SUM], contribution, one_run.CLIP)
    alone = []
    for unit in range(12):
        attacker._passes.unit = unit
        alone.append(attacker._alone.release(one_run._SUM, contribution, one_run.CLIP).total)
    np.testing.assert_allclose(sum(alone), more.total - less.total, atol=1e-12)
    squares = np.array([(contribution.weights * one**2).sum() for one in alone])
    np.testing.assert_allclose(np.sqrt(squares), one_run.CLIP, rtol=0.01)  # a canary uses the whole sensitivity


@pytest.mark.parametrize("name", ["frequency", "mean", "refine"])
def test_scores_are_shifted_by_the_squared_mu_and_as_noisy_as_claimed(name):
    """Canaries of different words do not overlap here, so that each is a Gaussian mechanism of its own."""
    found = trial(name, 500)
    included, scores = found.scores(SimulatedNoise(0))
    mu = 1 / found.events[0].noise_multiplier
    assert scores[included].mean() - scores[~included].mean() == pytest.approx(mu**2, rel=0.15)
    assert scores[~included].std() == pytest.approx(mu, rel=0.15)
    assert abs(included.mean() - 0.5) < 0.1


def test_without_noise_every_canary_is_told():
    included, scores = trial("tensor", 60).scores(NoNoise())
    assert scores[included].min() > scores[~included].max()


def test_runs_are_joined_and_have_coins_of_their_own():
    included, scores = trial("mean", 40, runs=3).scores(SimulatedNoise(0))
    assert included.shape == scores.shape == (120,)
    assert (included[:40] != included[40:80]).any()


def test_whole_runs_score_all_releases_and_the_topics():
    run = one_run.WholeRun(canaries=20, documents=400, others=30, topics=2)
    included, scores = run.trial(EIGHT, 1).scores(NoNoise())
    assert scores[included].min() > scores[~included].max()
    included, scores = run.topic_scores(None, 1)
    assert scores[included].min() > scores[~included].max()
    included, scores = run.topic_scores(EIGHT, 1)
    assert included.shape == scores.shape == (20,)


def bounds(found, noise):
    included, scores = found.scores(noise)
    return one_run.bounds(included, scores, EIGHT.delta)


def test_the_audit_in_one_run_stays_below_the_claim_and_refutes_a_quarter_of_the_noise():
    installed("jax_privacy.auditing")
    found = trial("mean", 1500)
    definition, gaussian = bounds(found, SimulatedNoise(0))
    assert 1.5 < definition <= gaussian < 8
    with noise_halved(), noise_halved():
        assert bounds(found, SimulatedNoise(0))[1] > 8
    assert bounds(found, NoNoise())[1] > 8


@pytest.mark.parametrize("compare", odds.COMPARISONS, ids=lambda compare: compare.__name__)
def test_odds_are_those_of_riskcal(compare):
    riskcal = installed("riskcal.analysis")
    record = odds._record(compare, riskcal, odds.COMPARISONS[compare])
    assert record["verdict"] == "agrees", record


@pytest.mark.parametrize("name", divergences.TESTERS)
def test_divergence_testers_accept_the_claimed_noise_and_reject_half_of_it(name):
    installed(f"dp_auditorium.testers.{name}_tester")
    claim = divergences.game("size", "add-remove").claim
    drawn = np.random.default_rng(0).normal(size=(2, 10_000))
    for factor in (1, 2):
        mu = factor * claim.mu
        sampled = (drawn * mu + [[-(mu**2) / 2], [mu**2 / 2]]) / claim.mu
        bound, rejected = divergences.judge(name, claim, sampled)
        assert rejected == (factor == 2), bound


def test_samples_have_the_law_that_the_divergence_testers_expect(monkeypatch):
    monkeypatch.setattr(divergences, "SAMPLES", 800)
    sampled, mu = (
        divergences.samples("size", "add-remove", nullcontext),
        divergences.game("size", "add-remove").claim.mu,
    )
    np.testing.assert_allclose(sampled.mean(axis=1), [-mu / 2, mu / 2], atol=0.15)
    np.testing.assert_allclose(sampled.std(axis=1), 1, atol=0.1)
    divergences.samples.cache_clear()


def test_a_different_statement_is_not_said_to_agree(monkeypatch):
    monkeypatch.setattr(peers, "version", lambda package: "1")
    record = odds._record(lambda riskcal: ([1.0, [2.0]], [1.0, np.array([2.1])]), None, 1e-9)
    assert record["verdict"] == "**differs**"
    assert record["found"] == "1.0e-01 apart at most, of 2 numbers"


@pytest.fixture
def peer_folder(tmp_path, monkeypatch):
    """A folder with a package whose own code cannot be run, and a module that can."""
    inner = tmp_path / "folder" / "strangers" / "inner"
    inner.mkdir(parents=True)
    for package in (inner.parent, inner):
        (package / "__init__.py").write_text("import no_such_package")
    (inner / "tester.py").write_text("from strangers import helper\nfound = helper.found")
    (inner.parent / "helper.py").write_text("found = 3")
    (inner.parent / "needy.py").write_text("import tensorflow_of_nobody")
    (tmp_path / "folder" / "VERSION").write_text('"""The version."""\n1.2.3\n')
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(peers.INSTALL, "strangers", "pip install strangers")
    yield tmp_path / "folder"
    for name in [name for name in sys.modules if name.startswith("strangers")]:
        del sys.modules[name]


def test_modules_are_loaded_without_the_code_of_their_packages(peer_folder):
    with pytest.raises(peers.PeerMissing, match="pip install strangers"):
        peers.load("strangers.inner.tester")
    peers.use([peer_folder])
    assert peers.load("strangers.inner.tester").found == 3
    assert peers.version("strangers") == "1.2.3"
    with pytest.raises(peers.PeerMissing, match="tensorflow_of_nobody"):
        peers.load("strangers.needy")


def test_results_are_kept_and_absent_testers_are_named(tmp_path, monkeypatch, capsys):
    computed = []

    def find(name):
        computed.append(name)
        return {"version": "1", "found": "0.5", "verdict": "not refuted"}

    def cells():
        for name in ("a", "b"):
            yield Cell("tester", name, "epsilon 8", partial(find, name))

    def absent():
        yield Cell("other", "c", "epsilon 8", partial(find, "c"))
        raise peers.PeerMissing("x cannot be loaded: x is not installed. pip install x")

    monkeypatch.setattr(measure, "PARTS", {"here": cells, "absent": absent})
    for _ in range(2):
        measure.measure(tmp_path / "found.jsonl", ("here", "absent"), [])
    assert computed == ["a", "b", "c"]
    told = capsys.readouterr()
    assert told.out.count("| b | epsilon 8 | 0.5 | not refuted |") == 2
    assert told.err.count("absent: x cannot be loaded: x is not installed. pip install x\n") == 2


def test_the_command_knows_the_testers():
    assert tuple(measure.PARTS) == options.TESTED
    refused = CliRunner().invoke(commands.cli, ["testers", "--results", "x", "--part", "none"])
    assert "'none' is not" in refused.output
