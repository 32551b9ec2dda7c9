"""The divergence testers of DP-Auditorium (Google), fed with what the releases of a mechanism say of the canary.

The samples are log likelihood ratios of runs on two neighbouring corpora (`dplda.audit`), over the claimed mu: one
number for each run, computed from its releases alone, so that the mechanism's guarantee holds for it. The runner of
DP-Auditorium squashes them by tanh. A plan claims mu-GDP: (epsilon, delta(epsilon)) at every epsilon, and a Renyi
divergence of alpha mu^2 / 2 at every order alpha. The testers see most at small epsilon.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.audit.broken import clip_not_applied, mechanism, noise_halved, replacement_forgotten
from benchmarks.results import Record
from benchmarks.testers import peers
from benchmarks.testers.cells import Cell
from dplda.audit.bounds import Claim
from dplda.audit.games import Game
from dplda.base.config import PrivacySettings
from dplda.base.progress import NoProgress
from dplda.budget.accountant import gaussian_delta
from dplda.private.noise import SimulatedNoise

EPSILON = 8.0  # budget of each mechanism, from which its mu follows
TESTED_AT = 0.1  # epsilon at which delta is tested
ORDER = 1.5  # of the Renyi divergence
SAMPLES = 10_000  # runs on each corpus
FAILURE = 0.05  # probability with which a tester may reject what holds
_EPOCHS, _BATCH, _RATE = 5, 256, 1e-3  # training of the Renyi tester's network
_BOUND = 1.0  # of the magnitude of its output
_BINS = 10  # of the histogram: its tester allows for more error with more bins

Break = Callable[[], AbstractContextManager[None]]
FED: tuple[tuple[str, str, str, Break], ...] = (  # what is done to the product, the mechanism, adjacency
    ("", "size", "add-remove", nullcontext),
    ("", "mean", "add-remove", nullcontext),
    ("", "tensor", "replace", nullcontext),
    ("", "refine", "add-remove", nullcontext),
    ("noise halved, ", "size", "add-remove", noise_halved),
    ("noise halved, ", "mean", "add-remove", noise_halved),
    ("sensitivity of one edge forgotten, ", "tensor", "replace", replacement_forgotten),
    ("clip not applied, ", "refine", "add-remove", clip_not_applied),
)


def cells() -> Iterator[Cell]:
    """All cells; raises `PeerMissing` where a tester's packages are missing, after the testers that need fewer."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in TESTERS:
        peers.load(f"dp_auditorium.testers.{name}_tester")
        for what, of, adjacency, broken in FED:
            fed = f"{what}{of} ({adjacency}), {SAMPLES:,} runs on each corpus"
            claim = _described(name, game(of, adjacency).claim)
            yield Cell(f"{name.replace('_', '-')} tester", fed, claim, partial(_record, name, of, adjacency, broken))


def game(name: str, adjacency: str) -> Game:
    """The game of one mechanism that has the whole budget."""
    return mechanism(name, PrivacySettings(epsilon=EPSILON, adjacency=adjacency))


def _described(tester: str, claim: Claim) -> str:
    if tester == "renyi":
        return f"Renyi divergence {_renyi(claim):.2f} at order {ORDER:g}"
    return f"delta {_delta(claim):.3f} at epsilon {TESTED_AT:g}"


def _delta(claim: Claim) -> float:
    return gaussian_delta(claim.mu, TESTED_AT) + claim.failure


def _renyi(claim: Claim) -> float:
    return ORDER * claim.mu**2 / 2


def _record(tester: str, name: str, adjacency: str, broken: Break) -> Record:
    bound, rejected = judge(tester, game(name, adjacency).claim, samples(name, adjacency, broken))
    return {
        "version": f"dp_auditorium {peers.version('dp_auditorium')}",
        "bound": bound,
        "found": f"at least {bound:.3f}",
        "verdict": "**refuted**" if rejected else "not refuted",
    }


@cache
def samples(name: str, adjacency: str, broken: Break) -> np.ndarray:
    """Log likelihood ratios over mu of runs of a mechanism on its two corpora, (2, SAMPLES)."""
    played = game(name, adjacency)
    with broken():
        return np.array(played.evidence(SAMPLES, SimulatedNoise(0), NoProgress())) / played.claim.mu


def judge(name: str, claim: Claim, sampled: np.ndarray) -> tuple[float, bool]:
    """The lower bound on the divergence of the two rows of `sampled`, and whether the runner rejects the claim."""
    runner = peers.load("dp_auditorium.privacy_test_runner")
    config = peers.load("dp_auditorium.configs.privacy_test_runner_config")
    settings = config.PrivacyTestRunnerConfig(
        property_tester=config.PropertyTester[f"{name.upper()}_TESTER"],
        max_num_trials=1,
        failure_probability=FAILURE,
        num_samples=sampled.shape[1],
        post_processing=config.PostProcessing.TANH,
    )

    def run(dataset: int, num_samples: int) -> np.ndarray:
        found = sampled[dataset, :num_samples]
        return found[:, None].astype(np.float32) if name in TRAINED else found  # networks take columns

    with redirect_stdout(io.StringIO()):  # networks show their progress
        tested = runner.PrivacyTestRunner(settings, lambda divergence: (0, 1), TESTERS[name](claim))
        found = tested.test_privacy(run, name)
    return float(found.lower_bound_divergence_estimates[-1]), found.found_privacy_violation is not None


def _configs() -> tuple[Any, Any]:
    """The modules of testers' and of properties' configurations."""
    names = ("property_tester_config", "privacy_property")
    tester, prop = (peers.load(f"dp_auditorium.configs.{name}") for name in names)
    return tester, prop


def _approximate(claim: Claim) -> Any:
    return _configs()[1].ApproximateDp(TESTED_AT, _delta(claim))


def _histogram(claim: Claim) -> Any:
    settings = _configs()[0].HistogramPropertyTesterConfig(
        test_discrete_mechanism=False, histogram_size=_BINS, min_value=-1.0, max_value=1.0,
        approximate_dp=_approximate(claim),
    )  # fmt: skip
    return peers.load("dp_auditorium.testers.histogram_tester").HistogramTester(settings)


def _mmd(claim: Claim) -> Any:
    config = _configs()[0]
    settings = config.MMDPropertyTesterConfig(config.Kernel.KERNEL_RBF, 2.0, _approximate(claim))
    return peers.load("dp_auditorium.testers.mmd_tester").MMDPropertyTester(settings)


def _hockey_stick(claim: Claim) -> Any:
    module = peers.load("dp_auditorium.testers.hockey_stick_tester")
    module.tf.keras.utils.set_random_seed(0)
    training = module.make_default_hs_training_config()
    settings = _configs()[0].HockeyStickPropertyTesterConfig(training, _approximate(claim))
    return module.HockeyStickPropertyTester(settings, module.make_default_hs_base_model())


def _renyi_tester(claim: Claim) -> Any:
    module, (config, prop) = peers.load("dp_auditorium.testers.renyi_tester"), _configs()
    module.tf.keras.utils.set_random_seed(0)
    divergence = prop.PrivacyProperty(renyi_dp=prop.RenyiDp(ORDER, _renyi(claim)))
    training = config.TrainingConfig(_EPOCHS, _BATCH, _RATE, model_output_coordinate_bound=_BOUND)
    settings = config.RenyiPropertyTesterConfig(ORDER, training, divergence)
    return module.RenyiPropertyTester(settings, module.make_default_renyi_base_model())


TRAINED = ("hockey_stick", "renyi")  # need TensorFlow
TESTERS: dict[str, Callable[[Claim], Any]] = {
    "histogram": _histogram,
    "mmd": _mmd,
    "hockey_stick": _hockey_stick,
    "renyi": _renyi_tester,
}
