"""The games of an audit: one for each question of the curator, and one for each placement as a whole."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from dplda import statistics
from dplda.accounting.budget_plan import Share, calibrate
from dplda.accounting.events import Stage, clip_of
from dplda.api import Request
from dplda.audit.attacker import Attacker
from dplda.audit.games import Game, Neighbours
from dplda.config import PLACEMENTS, FitSettings, ModelSettings, PrivacySettings, VocabularySettings
from dplda.datasets.synthetic import synthetic
from dplda.errors import InputError, UnsupportedByData
from dplda.placements import registry
from dplda.placements.stages import word_shares
from dplda.statistics import Contribution
from dplda.statistics.norm_histogram import CLIP_GRID
from dplda.statistics.word_votes import MOST_WORDS

WORDS = tuple(f"w{i}" for i in range(6))
SUM = "sum"  # the stage of whatever is asked by itself: plans of one question are alike
UNIT = 3  # tokens of one word: the whole first, second and third moment of a document lies on it
BEYOND = 1e-3  # of the canary's norm, where sums are clipped
HELD = (
    300  # documents of each kind in the base: far above any word's threshold, so that no vote total or mass is cut off
)
W = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]], np.float64)  # what words 1 and 2 add, cancels


def mechanism_games(settings: PrivacySettings) -> Iterator[Game]:
    """A game of each, at the epsilon, delta and adjacency of `settings`."""
    yield _size(settings)
    yield _frequency(settings)
    yield _known_word(settings)
    yield _unknown_words(settings)
    yield _clip(settings)
    for name, (statistic, canary, other) in _statistics().items():
        yield _sum(name, statistic, canary, other, settings)


def _statistics() -> dict[str, tuple[Contribution, dict[int, int], dict[int, int]]]:
    """The sums of docs/privacy.md, section 2, with a canary and a document that it replaces.

    Their contributions are at right angles where they cannot be opposite, and opposite where they can.
    """
    ones, topics = np.ones(len(WORDS)), np.full((len(WORDS), 2), 1 / len(WORDS))
    first_heavy = np.where(np.arange(len(WORDS)) == 0, 1e3, 1.0)
    one, two, balanced = {1: UNIT}, {2: UNIT}, {1: 1, 2: 1, 5: 1}
    return {
        "mean": (statistics.first_moment(ones), one, two),
        "moment": (statistics.second_moment(ones), one, two),
        "subspace": (statistics.second_moment_times(first_heavy, W), {0: 1, 1: 2}, {0: 1, 2: 2}),
        "core": (statistics.core(ones, W), one, balanced),
        "tensor": (statistics.third_moment(W), one, two),
        "tensor, projected": (statistics.projected_third_moment(ones, W), one, two),
        "tensor, along a vector": (statistics.third_moment_along(W, np.array([[1.0], [0.0]])), one, two),
        "refine": (statistics.expected_counts(topics, 0.5), one, two),
    }


def _document(words: dict[int, int], length: int = len(WORDS)) -> np.ndarray:
    counts = np.zeros(length, np.int64)
    for word, count in words.items():
        counts[word] = count
    return counts


def _neighbours(
    settings: PrivacySettings,
    canary: dict[int, int],
    other: dict[int, int],
    words: tuple[str, ...] = WORDS,
) -> Neighbours:
    base = np.repeat([_document({word: UNIT}, len(words)) for word in (1, 2)], HELD, axis=0)
    less = _document(other, len(words)) if settings.adjacency == "replace" else None
    return Neighbours(words, base, _document(canary, len(words)), less)


def _game(
    name: str,
    shares: tuple[Share, ...],
    settings: PrivacySettings,
    neighbours: Neighbours,
    play: Callable[[Attacker], object],
    public: bool = True,
) -> Game:
    events = calibrate(shares, settings.epsilon, settings.delta)
    return Game(name, events, settings.delta, neighbours, play, public)


def _alone(
    name: str, stage: str, settings: PrivacySettings, neighbours: Neighbours, play: Callable[[Attacker], object]
) -> Game:
    """A game of one question, which has the whole budget."""
    game = _game(name, (Share(SUM, 1.0),), settings, neighbours, play)
    return replace(game, events=(replace(game.events[0], stage=stage),))


def _sum(
    name: str, statistic: Contribution, canary: dict[int, int], other: dict[int, int], settings: PrivacySettings
) -> Game:
    def play(attacker: Attacker) -> None:
        attacker.release(SUM, statistic, BEYOND)

    return _alone(name, SUM, settings, _neighbours(settings, canary, other), play)


def _size(settings: PrivacySettings) -> Game:
    too_short = {1: UNIT - 1}
    neighbours = _neighbours(settings, {1: UNIT}, too_short)
    return _alone("size", Stage.SIZE, settings, neighbours, Attacker.size)


def _frequency(settings: PrivacySettings) -> Game:
    neighbours = _neighbours(settings, {1: UNIT}, {2: UNIT})
    return _game("frequency", word_shares(True), settings, neighbours, Attacker.word_frequencies)


def _known_word(settings: PrivacySettings) -> Game:
    neighbours = _neighbours(settings, {1: UNIT}, {2: UNIT})
    return _game(
        "vocabulary, known word", word_shares(False), settings, neighbours, Attacker.choose_words, public=False
    )


def _unknown_words(settings: PrivacySettings) -> Game:
    """As many words as a unit may vote for, that nobody else has: each more is a chance to be released."""
    words = (*WORDS, *(f"own{i}" for i in range(MOST_WORDS)))
    own = dict.fromkeys(range(len(WORDS), len(words)), 1)
    neighbours = _neighbours(settings, own, {2: UNIT}, words=words)
    shares = word_shares(False)
    return _game("vocabulary, unknown words", shares, settings, neighbours, Attacker.choose_words, public=False)


def _clip(settings: PrivacySettings) -> Game:
    """The lowest bin of the histogram is seen through a quantile that it reaches alone or not at all."""
    scale = np.array([2.0**-13, 2.0**25, 2.0**25, 1.0, 1.0, 1.0])
    neighbours = _neighbours(settings, {0: UNIT}, {1: UNIT})
    (event,) = calibrate((Share(SUM, 1.0),), settings.epsilon, settings.delta)
    quantile = (event.noise_multiplier or 0.0) / len(neighbours.base)
    statistic = statistics.first_moment(scale)

    def play(attacker: Attacker) -> None:
        attacker.evidence = 1.0 if attacker.clip(SUM, statistic, quantile) == CLIP_GRID[0] else -1.0

    return _alone("clip", clip_of(SUM), settings, neighbours, play)


SOUND = tuple(name for name in PLACEMENTS if not registry.find(name).reason)
N_DOCUMENTS, N_WORDS, N_TOPICS, LENGTH = 250, 8, 2, 12
OFTEN = 50  # times that the canary repeats the rarest word: at or above the largest norm of every statistic


def placement_game(placement: str, settings: PrivacySettings) -> Game:
    """A game of `placement` at epsilon, delta and adjacency of `settings`; raises `InputError` if it claims nothing."""
    if placement not in SOUND:
        raise InputError(f"placement must be one of {', '.join(SOUND)}, which promise something, got {placement!r}.")
    neighbours = _planted_neighbours(settings.adjacency)
    asked = FitSettings(
        privacy=settings,
        vocabulary=VocabularySettings(words=neighbours.words),
        model=ModelSettings(placement=placement, topics=N_TOPICS),
    )
    request = Request(neighbours.corpora()[0], asked, "audit")

    def play(attacker: Attacker) -> None:
        with contextlib.suppress(UnsupportedByData):  # tests failed: what was released until then is the evidence
            request.placement.learn(attacker, attacker.word_frequencies(), asked, np.random.default_rng(0))

    return Game(f"placement {placement}", request.events, settings.delta, neighbours, play)


def _planted_neighbours(adjacency: str) -> Neighbours:
    """Planted topics, of which the last word is left out; the canary holds it alone, which weighs most of all words."""
    counts = synthetic(N_DOCUMENTS, N_WORDS - 1, N_TOPICS, mean_length=LENGTH, concentration=0.5, zipf=0.0)[0].toarray()
    base = np.column_stack([counts, np.zeros(N_DOCUMENTS, np.int64)])
    canary, other = np.zeros((2, N_WORDS), np.int64)
    canary[-1], other[0] = OFTEN, OFTEN
    return Neighbours(tuple(f"w{i}" for i in range(N_WORDS)), base, canary, other if adjacency == "replace" else None)
