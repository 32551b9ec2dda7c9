"""Replayed runs differ in nothing but noise, and a run that does is found out, whatever the difference is."""

from __future__ import annotations

from dataclasses import replace as altered
from functools import cache

import numpy as np
import pytest
from full_helpers import full_after
from hypothesis import given
from hypothesis import strategies as st

from dplda.audit import catalogue
from dplda.audit.catalogue import mechanism_games, other_neighbours, placement_game
from dplda.audit.replay import Check, Violation, replay
from dplda.audit.replay import _delta as composed_delta
from dplda.base.config import ADJACENCIES, PrivacySettings
from dplda.base.errors import UnsupportedByData
from dplda.budget.accountant import gaussian_delta
from dplda.budget.events import Event
from dplda.private import curator, statistics

UNTIGHT = {"vocabulary, unknown words"}  # its loss is a failure probability


@cache
def games(adjacency):
    return {game.name: game for game in mechanism_games(PrivacySettings(epsilon=8.0, adjacency=adjacency))}


@cache
def whole_run(placement, adjacency="add-remove"):
    return placement_game(placement, PrivacySettings(epsilon=8.0, adjacency=adjacency))


def checks(game):
    return {violation.check for violation in replay(game).violations}


@pytest.mark.parametrize("adjacency", full_after(1, ADJACENCIES))
@pytest.mark.parametrize("name", full_after(6, games("add-remove")))
def test_every_mechanism_loses_what_it_charges_and_nothing_else(name, adjacency):
    found = replay(games(adjacency)[name])
    assert not found.violations
    assert found.share <= 1 + 1e-5
    assert found.share > 0.98 or name in UNTIGHT


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("placement", full_after(2, catalogue.PLACEMENT_RUNS))
def test_runs_of_placements_differ_in_nothing_but_noise(placement, adjacency):
    found = replay(whole_run(placement, adjacency))
    assert not found.violations
    assert found.queries >= 5
    assert found.share > 0.98


@pytest.mark.parametrize("placement", catalogue.PLACEMENT_RUNS)
def test_no_run_ends_after_its_size_however_small_epsilon_is(placement):
    assert replay(placement_game(placement, PrivacySettings(epsilon=0.05))).queries >= 5


@pytest.mark.parametrize(
    ("placement", "adjacency"),
    full_after(1, [(name, adjacency) for name in catalogue.PLACEMENT_RUNS for adjacency in ADJACENCIES]),
)
def test_no_other_corpora_upset_a_run(placement, adjacency):
    """Neither a document of every word, of counts that no text has, too short or there already, nor other topics."""
    others = list(other_neighbours(whole_run(placement, adjacency)))
    assert len(others) == 5
    assert not [one.violations for one in map(replay, others) if one.violations]


def test_the_replay_of_configuration_4_reaches_its_topics():
    """The other corpora end at a test of stability."""
    (game,) = (game for game in other_neighbours(whole_run("config4")) if game.name.endswith("separate topics"))
    released = []
    found = replay(altered(game, play=lambda gate: released.append(game.play(gate))))
    assert not found.violations
    assert all(one is not None for one in released)
    assert len(released) == 2


@pytest.mark.parametrize("seed", full_after(1, range(1, 20)))
def test_replays_of_other_noise_find_nothing_either(seed):
    assert not replay(whole_run("default"), seed).violations


@given(mu=st.floats(0.05, 5.0), epsilon=st.floats(0.1, 10.0), failure=st.sampled_from([0.0, 1e-9]))
def test_delta_by_integration_is_that_of_the_accountant(mu, epsilon, failure):
    """Two implementations that share nothing: the closed form, and the definition."""
    events = [Event(stage="one", noise_multiplier=2 / mu, delta=failure, count=4)]
    assert composed_delta(events, epsilon) == pytest.approx(
        gaussian_delta(mu, epsilon) + 4 * failure, rel=1e-5, abs=1e-30
    )


def released(gate, quantile=0.5):
    """One sum with its own clip, as a small algorithm."""
    statistic = statistics.first_moment(np.ones(6))
    return gate.release("sum", statistic, gate.clip("sum", statistic, quantile, share=0.5))


def counted(gate):
    """The exact number of units, by reaching around the gate."""
    return gate._curator._passes.count_units()


def small(play):
    """A game of `play` with a plan for a sum and its clip."""
    clip, total = games("add-remove")["clip"], games("add-remove")["mean"]
    (event,) = total.events
    events = tuple(
        altered(event, stage=stage, noise_multiplier=event.noise_multiplier * 2**0.5) for stage in ("sum", "sum clip")
    )
    return altered(total, name="small", events=events, neighbours=clip.neighbours, play=play)


def test_a_sampled_clip_differs_by_the_canary_alone():
    """Both runs give their common units the same coins, so that a sample of units differs by one at most."""
    assert not replay(small(released)).violations


def test_a_number_that_depends_on_the_documents_is_found_wherever_it_enters():
    assert checks(small(lambda gate: released(gate, 0.5 + counted(gate) / 1e6))) == {Check.FLOW}
    assert checks(small(lambda gate: released(gate).mean / counted(gate))) == {Check.OUTPUT}
    assert not checks(small(lambda gate: released(gate).mean / 600))


def fails_on_the_canary(gate):
    found = released(gate)
    if counted(gate) == 600:
        raise UnsupportedByData("too few")
    return found


@pytest.mark.parametrize(
    ("play", "detail"),
    [
        (
            lambda gate: (released(gate), [gate.size() for _ in range(counted(gate) - 600)]),
            "only one of the runs goes on, with size",
        ),
        (
            lambda gate: gate.size() if counted(gate) == 600 else released(gate),
            "one run asks for size, the other for clip",
        ),
        (lambda gate: (released(gate), counted(gate)), "the results differ"),
        (fails_on_the_canary, "only one of the runs fails"),
    ],
)
def test_runs_that_part_ways_are_found(play, detail):
    game = small(play)
    game = altered(game, events=(*game.events, altered(games("add-remove")["size"].events[0], noise_multiplier=100.0)))
    assert any(detail in violation.detail for violation in replay(game).violations)


def test_a_run_that_fails_on_both_corpora_passes_only_if_the_documents_do_not_support_it():
    def unsupported(gate):
        raise UnsupportedByData("too few")

    assert not replay(small(unsupported)).violations
    (violation,) = replay(small(lambda gate: 1 // 0)).violations
    assert "ZeroDivisionError" in str(violation)


def test_events_that_are_not_planned_and_plans_that_claim_too_much_are_found():
    game = small(released)
    half, twice = (altered(game, epsilon=factor * game.epsilon) for factor in (0.5, 2.0))
    assert [checks(one) for one in (half, twice)] == [{Check.PLAN}] * 2
    assert "not planned" in " ".join(map(str, replay(altered(game, play=twice_charged)).violations))


def twice_charged(gate):
    """Charges an event once more, behind the plan's back."""
    gate._curator._planned.append(gate._curator._planned[0])
    return released(gate), gate.release("sum", statistics.first_moment(np.ones(6)), 1.0)


def uncharged(gate):
    """A sum whose charge reaches nobody."""
    gate._curator._make_durable = lambda event: None
    return released(gate)


def charged_by_the_documents(gate):
    """Charges another event on the corpus with the canary."""
    if counted(gate) > 600:
        gate._curator._planned = [altered(event, noise_multiplier=9.0) for event in gate._curator._planned]
    return released(gate)


def half_a_step(gate):
    """Noise that is no integer, from as many random numbers."""
    draw = gate._curator._column_noise
    gate._curator._column_noise = lambda *arguments: draw(*arguments) + 0.5
    return released(gate)


@pytest.mark.parametrize(
    ("play", "violation"),
    [
        (uncharged, "release: charge: nothing is charged"),
        (charged_by_the_documents, "release: charge: the charges differ"),
        (charged_by_the_documents, "release: noise: the scales of the noise, or a threshold, differ"),
        (half_a_step, "release: noise: values or noise are not integers"),
    ],
)
def test_charges_and_noise_are_compared(play, violation):
    assert violation in map(str, replay(small(play)).violations)


def test_a_violation_reads_as_a_line():
    assert str(Violation(Check.LOSS, "release", "twice")) == "release: privacy loss: twice"


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_too_little_noise_of_a_run_from_a_prior_is_found(monkeypatch, adjacency):
    """The canary counts in all nine events that are spent jointly on the choice of topics."""
    right = curator.joint_multiplier
    monkeypatch.setattr(curator, "joint_multiplier", lambda each: right(each) * (0.5 if len(each) == 9 else 1.0))
    assert Check.LOSS in checks(games(adjacency)["prior"])
