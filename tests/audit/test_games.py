"""The product is not refuted, and all of its broken variants are."""

from __future__ import annotations

import pytest
from broken import BROKEN, mechanism
from counterexample import claim, evidence

from dplda.audit import placements
from dplda.audit.bounds import show
from dplda.audit.mechanisms import mechanisms
from dplda.audit.run import play
from dplda.privacy.noise import SimulatedNoise
from dplda.progress import Silent
from dplda.settings import ADJACENCIES, FitSettings

NAMES = [game.name for game in mechanisms(FitSettings())]
GAUSSIAN_SUMS = ("size", "frequency", "mean", "moment", "subspace", "core", "tensor", "refine")


def found(game, runs, seed=0):
    (finding,) = play([(game, runs)], SimulatedNoise(seed), Silent())
    return finding


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", NAMES)
def test_mechanisms_keep_their_claim_and_sums_show_most_of_it(name, adjacency):
    finding = found(mechanism(name, FitSettings(epsilon=8.0, adjacency=adjacency)), 1500)
    assert not finding.refuted
    if name in GAUSSIAN_SUMS:
        assert finding.shown.gaussian > 0.7 * finding.claim.epsilon


@pytest.mark.parametrize("placement", placements.SOUND)
def test_placements_keep_their_claim(placement):
    assert not found(placements.game(placement, FitSettings(epsilon=8.0)), 120).refuted


@pytest.mark.parametrize("variant", BROKEN, ids=[f"{what}, {make(8.0).name}" for what, _, make in BROKEN])
def test_broken_variants_are_refuted(variant):
    _, broken, make = variant
    game = make(8.0)
    runs = 400 if game.name.startswith("placement") else 1500
    with broken():
        assert found(game, runs).refuted


@pytest.mark.parametrize("placement", ["config2", "config3", "config4"])
def test_the_published_calibration_is_refuted(placement):
    promised = claim(1.0, 1e-6)
    shown = show(*evidence(placement, 1.0, 1e-6, 10**6, 300, seed=0), promised, 0.05)
    assert shown.epsilon > promised.epsilon
