"""A game for each placement: everything that `dplda fit` releases with public words, taken together."""

from __future__ import annotations

import contextlib

import numpy as np

from dplda.audit.attacker import Attacker
from dplda.audit.games import Game, Neighbours
from dplda.config import PLACEMENTS, FitSettings, ModelSettings, PrivacySettings, VocabularySettings
from dplda.corpus import synthetic
from dplda.errors import InputError, UnsupportedByData
from dplda.placements import registry
from dplda.request import Request

SOUND = tuple(name for name in PLACEMENTS if not registry.find(name, registry.SOUND).reason)
DOCUMENTS, WORDS, TOPICS, LENGTH = 250, 8, 2, 12
OFTEN = 50  # times that the canary repeats the rarest word: at or above the largest norm of every statistic


def game(placement: str, settings: PrivacySettings) -> Game:
    """A game of `placement` at epsilon, delta and adjacency of `settings`; raises `InputError` if it claims nothing."""
    if placement not in SOUND:
        raise InputError(f"placement must be one of {', '.join(SOUND)}, which promise something, got {placement!r}.")
    neighbours = _planted_neighbours(settings.adjacency)
    asked = FitSettings(
        privacy=settings,
        vocabulary=VocabularySettings(words=neighbours.words),
        model=ModelSettings(placement=placement, topics=TOPICS),
    )
    request = Request(neighbours.corpora()[0], asked, "audit")

    def play(attacker: Attacker) -> None:
        with contextlib.suppress(UnsupportedByData):  # tests failed: what was released until then is the evidence
            request.placement.learn(attacker, attacker.word_frequencies(), asked, np.random.default_rng(0))

    return Game(f"placement {placement}", request.events, settings.delta, neighbours, play)


def _planted_neighbours(adjacency: str) -> Neighbours:
    """Planted topics, of which the last word is left out; the canary holds it alone, which weighs most of all words."""
    counts = synthetic(DOCUMENTS, WORDS - 1, TOPICS, mean_length=LENGTH, concentration=0.5, zipf=0.0)[0].toarray()
    base = np.column_stack([counts, np.zeros(DOCUMENTS, np.int64)])
    canary, other = np.zeros((2, WORDS), np.int64)
    canary[-1], other[0] = OFTEN, OFTEN
    return Neighbours(tuple(f"w{i}" for i in range(WORDS)), base, canary, other if adjacency == "replace" else None)
