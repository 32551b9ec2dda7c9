"""The product is not refuted, and all of its broken variants are."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from full_helpers import full_after

from benchmarks.audit.broken import BROKEN, mechanism
from benchmarks.audit.counterexample import claim, evidence
from dplda.audit import catalogue
from dplda.audit.bounds import lower_bounds
from dplda.audit.catalogue import mechanism_games
from dplda.audit.games import play
from dplda.base.config import PrivacySettings
from dplda.base.errors import InputError
from dplda.base.progress import NoProgress
from dplda.private.noise import SimulatedNoise

SUMS = ("size", "frequency", "mean", "moment", "subspace", "core", "tensor", "refine", "start", "prior gain")
OTHERS = sorted({game.name for game in mechanism_games(PrivacySettings())} - set(SUMS))


def test_the_results_have_a_row_for_every_game():
    page = Path(__file__).parents[2] / "docs" / "audit.md"
    rows = set(re.findall(r"^\| ([^|]+) \| \d\.\d\d \(", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert rows == {*SUMS, *OTHERS, *(f"placement {name}" for name in catalogue.PLACEMENT_RUNS)}


def finding_of(game, runs, seed=0):
    (finding,) = play([(game, runs)], SimulatedNoise(seed), NoProgress())
    return finding


@pytest.mark.parametrize("name", full_after(2, SUMS))
def test_gaussian_sums_show_most_of_their_claim_and_no_more(name):
    finding = finding_of(mechanism(name, PrivacySettings(epsilon=8.0)), 600)
    assert not finding.refuted
    assert finding.shown.gaussian > 0.65 * finding.claim.epsilon


@pytest.mark.parametrize("name", full_after(1, OTHERS))
def test_other_mechanisms_keep_their_claim(name):
    assert not finding_of(mechanism(name, PrivacySettings(epsilon=8.0)), 300).refuted


@pytest.mark.parametrize("name", full_after(2, ["mean", "subspace", "core", "tensor"]))
def test_replacement_is_covered_by_its_own_sensitivity_and_not_by_much_more(name):
    finding = finding_of(mechanism(name, PrivacySettings(epsilon=8.0, adjacency="replace")), 400)
    assert not finding.refuted
    assert finding.shown.gaussian > 0.5 * finding.claim.epsilon


@pytest.mark.parametrize("placement", full_after(0, sorted(catalogue.PLACEMENT_RUNS)))
def test_placements_keep_their_claim(placement):
    assert not finding_of(catalogue.placement_game(placement, PrivacySettings(epsilon=8.0)), 40).refuted


@pytest.mark.full
def test_the_evidence_of_a_whole_placement_is_that_of_all_it_spends():
    """Were a canary clipped away anywhere, or a release not weighed, the two means would lie closer together."""
    game = catalogue.placement_game("config2", PrivacySettings(epsilon=8.0))
    less, more = game.evidence(150, SimulatedNoise(3), NoProgress())
    assert (more.mean() - less.mean()) / np.sqrt((more.var() + less.var()) / 2) > 0.75 * game.claim.mu


def variants():
    """Every broken variant: the first two in the quick run, and half the noise of a placement in `prove`."""
    for number, (what, broken, make) in enumerate(BROKEN):
        game = make(8.0)
        slow = what == "noise halved" and game.name.startswith("placement")
        marks = [pytest.mark.slow] if slow else [pytest.mark.full] if number > 1 else []
        yield pytest.param(broken, game, id=f"{what}, {game.name}", marks=marks)


@pytest.mark.parametrize(("broken", "game"), [*variants()])
def test_broken_variants_are_refuted(broken, game):
    with broken():
        assert finding_of(game, 120 if game.name.startswith("placement") else 300).refuted


@pytest.mark.parametrize(
    ("placement", "documents", "runs"),
    [
        pytest.param("config2", 300_000, 120, marks=pytest.mark.full),
        pytest.param("config3", 1_000_000, 250, marks=pytest.mark.slow),
        ("config4", 200_000, 80),
    ],
)
def test_the_published_calibration_is_refuted(placement, documents, runs):
    promised = claim(2.0, 1e-6)
    shown = lower_bounds(*evidence(placement, 2.0, 1e-6, documents, runs, seed=0), promised, 0.05)
    assert shown.epsilon > promised.epsilon


def test_placements_that_promise_nothing_are_not_audited():
    with pytest.raises(InputError, match="'none'"):
        catalogue.placement_game("none", PrivacySettings())
