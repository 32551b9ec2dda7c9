"""The membership attack: its statistic is the maximum it says, its scores those of the paper, its rates exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import binomtest, norm

from dplda.audit import membership
from dplda.audit.membership import (
    OFFLINE,
    ONLINE,
    attack_chart,
    detect,
    detection,
    interval,
    log_likelihoods,
    outcomes,
    scores,
)
from dplda.base.errors import InputError
from dplda.budget.events import Event, PrivacyStatement


def gaussian(mu: float, epsilon: float = 8.0) -> PrivacyStatement:
    """A run of one Gaussian event that is `mu`-GDP."""
    return PrivacyStatement(
        epsilon=epsilon,
        delta=1e-6,
        unit="document",
        adjacency="add-remove",
        sound=True,
        events=(Event(stage="size", noise_multiplier=1 / mu),),
    )


def of_planted(mu: float, models: int = 60, targets: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """What models say that hide membership by Gaussian noise alone, and who is inside; both are (models, targets)."""
    rng = np.random.default_rng(seed)
    inside = rng.random((models, targets)) < 0.5
    likelihoods = rng.normal(0, 50, targets) + rng.gamma(2, 3, targets) * (rng.normal(size=inside.shape) + mu * inside)
    return likelihoods, inside


@settings(max_examples=8)
@given(st.integers(0, 999))
def test_the_statistic_is_the_largest_likelihood_over_mixtures(seed):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(6, 0.7), 3)
    counts = rng.integers(0, 4, (4, 6))
    counts[0] = 0
    found = log_likelihoods(sparse.csr_matrix(counts), topics)
    by_word = np.maximum(topics.T, 0.1 / 6)

    def negative(free: np.ndarray, row: np.ndarray) -> float:
        share = np.exp(free - free.max())
        return -float(row @ np.log(by_word @ (share / share.sum())))

    assert found[0] == 0
    for value, row in zip(found[1:], counts[1:], strict=True):
        starts = [np.zeros(3), *(4 * np.eye(3))]
        best = -min(minimize(negative, start, args=(row,), method="BFGS").fun for start in starts)
        assert best - 0.01 - 1e-6 <= value <= best + 1e-3  # the optimiser may stop short of the boundary


def test_a_word_that_no_topic_has_is_unlikely_and_not_impossible():
    topics = np.array([[0.5, 0.5, 0.0, 0.0]])
    found = log_likelihoods(sparse.csr_matrix([[1, 0, 2, 0]]), topics)
    assert found[0] == pytest.approx(np.log(0.5) + 2 * np.log(0.1 / 4))


def test_scores_are_those_of_the_other_models():
    rng = np.random.default_rng(1)
    likelihoods, inside = rng.normal(-300, 2, size=(12, 5)), rng.random((12, 5)) < 0.5
    likelihoods[7, 2] = np.nan
    inside[:, 4] = np.arange(12) < 2  # too few, once one of them is judged
    found = scores(likelihoods, inside)
    for model in range(12):
        for target in range(5):
            others = [m for m in range(12) if m != model and np.isfinite(likelihoods[m, target])]
            value = likelihoods[model, target]
            groups = [likelihoods[[m for m in others if inside[m, target] == side], target] for side in (True, False)]
            with_it, without = groups
            offline = (value - without.mean()) / without.std()
            assert found[OFFLINE][model, target] == pytest.approx(offline) or np.isnan(value)
            if len(with_it) < 2 or np.isnan(value):
                assert found[ONLINE][model, target] == -np.inf
                continue
            online = norm.logpdf(value, with_it.mean(), with_it.std()) - norm.logpdf(
                value, without.mean(), without.std()
            )
            assert found[ONLINE][model, target] == pytest.approx(online)
    assert found[OFFLINE][7, 2] == -np.inf


@pytest.mark.parametrize("ratio", [OFFLINE, ONLINE])
def test_a_member_scores_higher_than_others(ratio):
    likelihoods, inside = of_planted(1.0)
    found = scores(likelihoods, inside)[ratio]
    assert found[inside].mean() > found[~inside].mean() + 0.5


def test_one_model_is_not_judged_by_what_it_says_itself():
    likelihoods, inside = of_planted(0.0, models=20, targets=3)
    changed = likelihoods.copy()
    changed[3] = np.nan
    kept, without = scores(likelihoods, inside)[OFFLINE], scores(changed, inside)[OFFLINE]
    far = likelihoods.copy()
    far[3] += 1e6
    np.testing.assert_allclose(
        scores(far, inside)[OFFLINE][3] - kept[3], 1e6 / _std_without(likelihoods, inside, 3), rtol=1e-6
    )
    assert not np.allclose(kept[4], without[4])


def _std_without(likelihoods: np.ndarray, inside: np.ndarray, model: int) -> np.ndarray:
    rest = np.delete(likelihoods, model, axis=0), np.delete(inside, model, axis=0)
    return np.array([column[~members].std() for column, members in zip(rest[0].T, rest[1].T, strict=True)])


@given(st.integers(0, 99), st.sampled_from([0.0, 0.004, 0.1, 0.5, 1.0]))
def test_the_lowest_threshold_that_accuses_few_enough_is_used(seed, allowed):
    rng = np.random.default_rng(seed)
    values, inside = rng.integers(0, 12, 250).astype(float), rng.random(250) < 0.5
    values[rng.random(250) < 0.2] = -np.inf
    found, accused = (int(x[0]) for x in detect(values, inside, np.array([allowed])))
    fine = [t for t in [-np.inf, *range(13)] if (values[~inside] > t).sum() <= allowed * (~inside).sum()]
    assert accused == (values[~inside] > min(fine)).sum()
    assert found == (values[inside] > min(fine)).sum()


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (17, 4000)])
def test_intervals_are_those_of_clopper_and_pearson(successes, trials):
    exact = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert interval(successes, trials) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("ratio", [OFFLINE, ONLINE])
@pytest.mark.parametrize("mu", [0.0, 0.5, 1.5])
def test_an_attack_on_a_gaussian_comes_close_to_its_limit_and_does_not_exceed_it(mu, ratio):
    likelihoods, inside = of_planted(mu, models=100)
    one = detection(scores(likelihoods, inside)[ratio], inside, 0.01, gaussian(mu) if mu else gaussian(1e-9))
    assert not one.exceeded
    assert one.gaussian == pytest.approx(norm.sf(norm.isf(0.01) - mu), rel=1e-6)
    assert 0.6 * one.gaussian < one.found < 1.1 * one.gaussian
    assert one.low < one.found < one.high


def test_more_than_is_claimed_is_told():
    likelihoods, inside = of_planted(1.5)
    one = detection(scores(likelihoods, inside)[OFFLINE], inside, 0.01, gaussian(0.7))
    assert one.exceeded
    assert one.low > one.limit
    assert not detection(scores(likelihoods, inside)[OFFLINE], inside, 0.01, None).exceeded


@pytest.mark.parametrize("everyone", [True, False])
def test_targets_that_are_all_members_or_none_are_refused(everyone):
    with pytest.raises(InputError, match="all models"):
        detection(np.zeros((8, 1)), np.full((8, 1), everyone), 0.01, None)


def test_the_definition_limits_too():
    likelihoods, inside = of_planted(0.5)
    one = detection(scores(likelihoods, inside)[OFFLINE], inside, 0.01, gaussian(5.0, epsilon=0.1))
    assert one.definition == pytest.approx(np.exp(0.1) * 0.01 + 1e-6)
    assert one.limit == one.definition < one.gaussian


def planted_outcomes() -> list[membership.Outcome]:
    found = []
    for name, mu, statement in (("no noise", 3.0, None), ("default, epsilon 8", 1.0, gaussian(1.0))):
        found += outcomes(name, *of_planted(mu), 30, statement)
    return found


def test_documents_and_canaries_are_told_apart():
    found = planted_outcomes()
    assert [(one.targets, one.ratio) for one in found[:4]] == [
        *(("documents", OFFLINE), ("canaries", OFFLINE), ("documents", ONLINE), ("canaries", ONLINE)),
    ]
    assert [one.scores.shape[1] for one in found[:2]] == [370, 30]
    record = found[-1].to_json()
    assert [(one["system"], one["false_alarms"]) for one in record] == [
        ("default, epsilon 8", f) for f in (0.001, 0.01)
    ]
    assert {one.targets for one in outcomes("x", *of_planted(0.0), 0, None)} == {"documents"}


def test_the_picture_shows_each_system_and_its_limit():
    drawn = attack_chart(planted_outcomes()).file("attack")
    assert drawn == attack_chart(planted_outcomes()).file("attack")
    assert drawn.startswith("<?xml")
    assert "var(--" not in drawn
    for text in (
        "no noise",
        "default, epsilon 8",
        "guessing",
        "false alarms",
        "members found",
        "documents",
        "canaries",
    ):
        assert f">{text}<" in drawn


def test_a_system_is_drawn_by_the_ratio_that_finds_more():
    from matplotlib.figure import Figure

    found = planted_outcomes()
    axes = Figure().subplots(1, 2)
    attack_chart(found).draw(list(axes))
    lines = {line.get_label(): line for line in axes[0].get_lines()}
    best = max(one.detections[-1].found for one in found if (one.system, one.targets) == ("no noise", "documents"))
    x, y = lines["no noise"].get_data()
    assert np.interp(0.01, x, y) == pytest.approx(best, rel=0.02)
