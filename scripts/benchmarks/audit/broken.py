"""The product, broken on purpose: what an audit that is worth anything must refute. Nothing of this is ever shipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from dplda.audit import catalogue
from dplda.audit.games import Game
from dplda.base.config import PrivacySettings
from dplda.private import curator
from dplda.private.attributes import Answers
from dplda.private.noise import SimulatedNoise, selection_threshold
from dplda.private.passes.local_passes import Passes
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import BOUND
from dplda.private.store import units
from dplda.private.store.units import UnitCounts

FAR = 1024  # clips, at which a forgotten clip still stops, so that integers stay within 64 bits


@contextmanager
def noise_halved() -> Iterator[None]:
    """Half of the standard deviation that was charged."""
    draw = SimulatedNoise.gaussian

    def gaussian(self: SimulatedNoise, scale: float, size: int) -> np.ndarray:
        return draw(self, scale / 2, size)

    with patch.object(SimulatedNoise, "gaussian", gaussian):
        yield


@contextmanager
def clip_not_applied() -> Iterator[None]:
    """Sums of contributions as they are, with the noise of clipped ones."""
    whole = Passes.clipped_sum

    def unclipped(self: Passes, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
        total, mass = whole(self, contribution, FAR * clip)
        return FAR * total, mass

    with patch.object(Passes, "clipped_sum", unclipped):
        yield


@contextmanager
def replacement_forgotten() -> Iterator[None]:
    """Noise for a unit that is added, where one may be replaced by its opposite."""
    with patch.object(curator.Curator, "_sensitivity", lambda self, replace_factor: float(BOUND)):
        yield


@contextmanager
def threshold_lowered() -> Iterator[None]:
    """Words of one unit alone are released: the threshold is a quarter of what it must be."""
    with patch.object(curator, "selection_threshold", lambda *arguments: selection_threshold(*arguments) // 4):
        yield


@contextmanager
def documents_of_a_person_apart() -> Iterator[None]:
    """A person counts in a category once for each document, where the noise is for once."""
    whole = units._whole_units

    def apart(counts: UnitCounts, answers: Answers, n_rows: int) -> UnitCounts:
        return whole(replace(counts, unit_ptr=np.arange(len(counts.indptr))), answers, n_rows)

    with patch.object(units, "_whole_units", apart):
        yield


def mechanism(name: str, settings: PrivacySettings) -> Game:
    """The game of one mechanism."""
    (found,) = [game for game in catalogue.mechanism_games(settings) if game.name == name]
    return found


Broken = tuple[str, Callable[[], AbstractContextManager[None]], Callable[[float], Game]]


def game_of(name: str, adjacency: str = "add-remove") -> Callable[[float], Game]:
    """The function that makes the game `name`, of a mechanism or of ``placement NAME``, at an epsilon."""

    def game(epsilon: float) -> Game:
        settings = PrivacySettings(epsilon=epsilon, adjacency=adjacency)
        kind, _, which = name.partition(" ")
        return catalogue.placement_game(which, settings) if kind == "placement" else mechanism(name, settings)

    return game


BROKEN: tuple[Broken, ...] = (  # what is broken, how, and the game that shows it at an epsilon
    ("noise halved", noise_halved, game_of("mean")),
    ("noise halved", noise_halved, game_of("size")),
    ("noise halved", noise_halved, game_of("placement default")),
    ("clip not applied", clip_not_applied, game_of("refine")),
    ("clip not applied", clip_not_applied, game_of("placement config2")),
    ("sensitivity of one edge forgotten", replacement_forgotten, game_of("tensor", "replace")),
    ("sensitivity of one edge forgotten", replacement_forgotten, game_of("core", "replace")),
    ("vocabulary threshold lowered", threshold_lowered, game_of("vocabulary, unknown words")),
    ("documents of a person apart", documents_of_a_person_apart, game_of("counts of persons")),
)
