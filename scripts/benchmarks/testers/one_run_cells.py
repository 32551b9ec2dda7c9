"""What the audit in one run is fed with: the product at several budgets, without noise, and broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import numpy as np

from benchmarks.audit.broken import clip_not_applied, mechanism, noise_halved, threshold_lowered
from benchmarks.results import Record
from benchmarks.testers import one_run, peers
from benchmarks.testers.cells import Cell
from benchmarks.testers.one_run import Trial, WholeRun
from dplda.audit.catalogue import mechanism_games
from dplda.audit.games import Game, NoNoise
from dplda.base.config import PrivacySettings
from dplda.private.noise import ExactNoise, SimulatedNoise

TESTER = "audit in one run"
EPSILONS = (8.0, 4.0, 1.0)
AT_EACH = ("mean", "refine")  # sums that are audited at each epsilon; the others at the first
REPEATED_RUNS = 2000  # runs with one canary each
WHOLE_RUNS = {8.0: 24, 4.0: 4, 1.0: 4}
TOPIC_RUNS = 8
BROKEN_RUNS = 4  # of a sum with half of the noise
TOPICS_ALONE = "default placement, topics alone"
LEFT_OUT = ("prior",)  # a whole run, 30 times as long as a single sum

Scores = tuple[np.ndarray, np.ndarray]  # coins and scores
Find = Callable[[], Scores]
Break = Callable[[], AbstractContextManager[None]]


def cells() -> Iterator[Cell]:
    """All cells; raises `PeerMissing` before anything is computed."""
    peers.load("jax_privacy.auditing")
    for epsilon in EPSILONS:
        yield from _whole(PrivacySettings(epsilon=epsilon))
    yield from _noiseless()
    for epsilon in EPSILONS:
        settings = PrivacySettings(epsilon=epsilon)
        for trial in one_run.sums(settings):
            if epsilon == EPSILONS[0] or trial.name in AT_EACH:
                yield _cell(_described(trial), settings, partial(trial.scores, ExactNoise()))
    yield from _broken()
    yield from _repeated(PrivacySettings(epsilon=EPSILONS[0]))


def _described(trial: Trial) -> str:
    runs = "1 run" if trial.runs == 1 else f"{trial.runs} runs"
    return f"{trial.name}: {runs}, {len(trial.canaries):,} canaries each"


def _whole(settings: PrivacySettings) -> Iterator[Cell]:
    run = WholeRun()
    trial = run.trial(settings, WHOLE_RUNS[settings.epsilon])
    yield _cell(_described(trial), settings, partial(trial.scores, ExactNoise()))
    yield _cell(_topics_alone(run), settings, partial(run.topic_scores, settings, TOPIC_RUNS))


def _topics_alone(run: WholeRun) -> str:
    return f"{TOPICS_ALONE}: {TOPIC_RUNS} runs, {run.canaries} canaries each"


def _repeated(settings: PrivacySettings) -> Iterator[Cell]:
    for game in mechanism_games(settings):
        if game.name not in LEFT_OUT:
            yield _cell(_each_run(game), settings, _one_coin_each_run(game))


def _each_run(game: Game) -> str:
    return f"{game.name}: {REPEATED_RUNS:,} runs, 1 canary each"


def _one_coin_each_run(game: Game) -> Find:
    return partial(one_run.one_coin_each_run, game, REPEATED_RUNS, SimulatedNoise(0))


def _noiseless() -> Iterator[Cell]:
    settings, run = PrivacySettings(epsilon=8.0), WholeRun()
    (mean,) = one_run.sums(settings, {"mean": one_run.SIZES["mean"]})
    yield _cell(f"without noise, {_described(mean)}", None, partial(mean.scores, NoNoise()))
    yield _cell(f"without noise, {_topics_alone(run)}", None, partial(run.topic_scores, None, TOPIC_RUNS))


def _broken() -> Iterator[Cell]:
    for epsilon, name, runs, what, broken in (
        (8.0, "mean", BROKEN_RUNS, "noise halved", noise_halved),
        (8.0, "refine", 1, "clip not applied", clip_not_applied),
        (4.0, "refine", 1, "clip not applied", clip_not_applied),
    ):
        settings = PrivacySettings(epsilon=epsilon)
        (trial,) = one_run.sums(settings, {name: (one_run.SIZES[name][0], runs)})
        yield _cell(f"{what}, {_described(trial)}", settings, partial(trial.scores, SimulatedNoise(0)), broken)
    settings = PrivacySettings(epsilon=8.0)
    trial = WholeRun().trial(settings, WHOLE_RUNS[settings.epsilon])
    yield _cell(f"noise halved, {_described(trial)}", settings, partial(trial.scores, SimulatedNoise(0)), noise_halved)
    game = mechanism("vocabulary, unknown words", settings)
    what = f"vocabulary threshold lowered, {_each_run(game)}"
    yield _cell(what, settings, _one_coin_each_run(game), threshold_lowered)


def _cell(fed: str, settings: PrivacySettings | None, find: Find, broken: Break = nullcontext) -> Cell:
    """A cell; None stands for no claim."""

    def found() -> Record:
        with broken():
            included, scores = find()
        delta = PrivacySettings().delta if settings is None else settings.delta
        bounds = one_run.bounds(included, scores, delta)
        return {
            "version": f"jax_privacy {peers.version('jax_privacy')}",
            "bounds": bounds,
            "found": "{:.2f} / {:.2f}".format(*bounds),
            "verdict": _verdict(bounds, settings),
        }

    return Cell(TESTER, fed, "none" if settings is None else f"epsilon {settings.epsilon:g}", found)


def _verdict(bounds: tuple[float, float], settings: PrivacySettings | None) -> str:
    if settings is None:
        return "found"
    return "**refuted**" if max(bounds) > settings.epsilon else "not refuted"
