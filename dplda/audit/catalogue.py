"""The catalogue of audits: a game for each query of the curator, and one for each placement."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import methodcaller
from typing import Any

import numpy as np

from dplda.audit.games import Attacker, Game, Neighbours
from dplda.base.config import PrivacySettings
from dplda.base.errors import InputError, UnsupportedByData
from dplda.budget.accountant import Share, calibrate
from dplda.budget.events import Stage, clip_of
from dplda.learning.placements import default, from_prior, registry
from dplda.learning.placements.registry import Learn
from dplda.learning.placements.stages import word_shares
from dplda.learning.recovery import Learned
from dplda.learning.settings import FitSettings, ModelSettings, VocabularySettings
from dplda.learning.synthetic import synthetic
from dplda.model.prior_topics import PriorTopics
from dplda.private import statistics
from dplda.private.attributes import ANSWERS, HOW_MANY, Attribute, Axis, TableRows
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import CLIP_GRID, MOST_WORDS
from dplda.private.statistics.word_indicators import (
    INDICATOR_CLIP,
    answer_indicators,
    person_counts,
    word_indicators,
)
from dplda.runs.fitting import plan_topics
from dplda.runs.words import find_words

_WORDS = tuple(f"w{i}" for i in range(6))
_SUM = "sum"  # name of the only stage of a game with one query; the plan does not depend on it
_TOKENS = 3  # number of tokens of a one-word document, all of whose moments lie on that word
_CLIP = 1e-3  # clipping norm of sums, far below the canary's norm
# Copies of each document of the base: so many that votes exceed every threshold and no vote total or mass is truncated.
_COPIES = 300
_ANSWERS = ("1", "2", "3")  # their numbers are their names
_W = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]], np.float64)  # a row per word; words 1 and 2 cancel

FEW_DOCUMENTS = "default, few documents"  # the default placement where it learns from pairs of words
PLACEMENT_RUNS = *registry.PRIVATE, FEW_DOCUMENTS
_N_DOCUMENTS, _N_WORDS, _N_TOPICS, _LENGTH = 250, 8, 2, 12
_HUGE = 10**9  # count of each word of a document that is longer than any book
_PLANTED_WORDS = tuple(f"w{i}" for i in range(_N_WORDS))
_REPEATS = 50  # count of the canary's word: its norm is then among the largest in every statistic


def mechanism_games(settings: PrivacySettings) -> Iterator[Game]:
    """Yield a game of each query of the curator, at the epsilon, delta and adjacency of `settings`."""
    one, two, too_short = {1: _TOKENS}, {2: _TOKENS}, {1: _TOKENS - 1}
    neighbours = _neighbours(settings, one, two)
    yield _alone("size", Stage.SIZE, settings, _neighbours(settings, one, too_short), methodcaller("size"))
    yield _game("frequency", word_shares(True), settings, neighbours, methodcaller("word_frequencies"))
    choose = methodcaller("choose_words")
    yield _game("vocabulary, known word", word_shares(False), settings, neighbours, choose, public=False)
    # The canary's word is listed, and no other document contains it: it is released with noise all the same.
    of_canary = _neighbours(settings, {len(_WORDS): _TOKENS}, two, words=(*_WORDS, "listed"))
    listed = methodcaller("choose_words", ("listed",))
    yield _game("vocabulary, listed word", word_shares(False), settings, of_canary, listed, public=False)
    # Here the canary contains as many words as a unit may vote for, and no other document contains these words. The
    # attacker wins if one of them is released. Noise makes this happen with a small probability.
    words = (*_WORDS, *(f"own{i}" for i in range(MOST_WORDS)))
    neighbours = _neighbours(settings, dict.fromkeys(range(len(_WORDS), len(words)), 1), two, words=words)
    yield _game("vocabulary, unknown words", word_shares(False), settings, neighbours, choose, public=False)
    yield _clip(settings)
    for name, (statistic, canary, other) in _statistics().items():
        release = methodcaller("release", _SUM, statistic, _CLIP)
        yield _alone(name, _SUM, settings, _neighbours(settings, canary, other), release)
    yield from _group_games(settings)
    yield _prior_game(settings)


def _group_games(settings: PrivacySettings) -> Iterator[Game]:
    """Yield games of the queries of `dplda count` and `dplda words`. A replaced canary is in another group.

    In the first three, the canary has as many answers as count in full; its contribution is then as large as any. In
    the second, it is a person whose answers are in two documents, one of which repeats an answer of the other. In the
    third, it is a person with two documents, where one of a person counts in full.
    """
    rows = TableRows((Axis(Attribute("group"), ("canary", "other")),))
    groups = {"group": ("base", "canary", "other")}
    neighbours = _neighbours(settings, {1: _TOKENS}, {2: _TOKENS})
    contribution = answer_indicators(len(_ANSWERS), len(_ANSWERS), len(rows))
    game = _alone(
        "counts of answers",
        Stage.TABLE,
        settings,
        replace(neighbours, groups={**groups, ANSWERS: ("1", " ".join(_ANSWERS), " ".join(_ANSWERS))}),
        methodcaller("release", Stage.TABLE, contribution, INDICATOR_CLIP),
    )
    yield replace(game, answers=_ANSWERS, rows=rows)
    contribution = person_counts(len(_ANSWERS), len(_ANSWERS), len(rows))
    for name, of_person, most_of_unit in (
        ("counts of persons", ("1 2", "2 3"), 1),
        ("counts of documents of persons", (" ".join(_ANSWERS),) * 2, HOW_MANY),
    ):
        twice = replace(
            neighbours,
            more=np.tile(neighbours.more, (2, 1)),
            less=None if neighbours.less is None else np.tile(neighbours.less, (2, 1)),
            groups={**groups, ANSWERS: ("1", of_person, of_person)},
        )
        release = methodcaller("release", Stage.TABLE, contribution, INDICATOR_CLIP)
        game = _alone(name, Stage.TABLE, settings, twice, release)
        yield replace(game, answers=_ANSWERS, rows=rows, most_of_unit=most_of_unit)
    contribution = word_indicators(np.append(np.ones(len(_WORDS)), 0.0), 1.0, len(rows))
    game = _alone(
        "words by group",
        Stage.TABLE,
        settings,
        replace(neighbours, groups=groups),
        methodcaller("release", Stage.TABLE, contribution, INDICATOR_CLIP),
    )
    yield replace(game, rows=rows)


def _statistics() -> dict[str, tuple[Contribution, dict[int, int], dict[int, int]]]:
    """List the sums of docs/privacy.md, section 2, each with a canary and the document that replaces the canary.

    The canary is the document by which the two corpora differ. Where a statistic allows it, the contributions of the
    canary and of the document that replaces it are opposite; otherwise they are orthogonal.
    """
    ones, topics = np.ones(len(_WORDS)), np.full((len(_WORDS), 2), 1 / len(_WORDS))
    separate = np.array([[1e-6, 1e-6], [1, 1e-6], [1e-6, 1]] + 3 * [[1e-6, 1e-6]])
    first_rare = np.array([0.1, 0.1, 0.5, 0.1, 0.1, 0.1])
    first_heavy = np.where(np.arange(len(_WORDS)) == 0, 1e3, 1.0)
    one, two, balanced = {1: _TOKENS}, {2: _TOKENS}, {1: 1, 2: 1, 5: 1}
    return {
        "mean": (statistics.first_moment(ones), one, two),
        "moment": (statistics.second_moment(ones), one, two),
        "subspace": (statistics.second_moment_times(first_heavy, _W), {0: 1, 1: 2}, {0: 1, 2: 2}),
        "core": (statistics.core(ones, _W), one, balanced),
        "tensor": (statistics.third_moment(_W), one, two),
        "tensor, projected": (statistics.projected_third_moment(ones, _W), one, two),
        "tensor, along a vector": (statistics.third_moment_along(_W, np.array([[1.0], [0.0]])), one, two),
        "refine": (statistics.expected_counts(topics, 0.5), one, two),
        "start": (statistics.topic_proportions(separate, 0.5), one, two),
        "prior gain": (statistics.likelihood_gain(separate, 0.5, first_rare), one, {0: _TOKENS}),
    }


def _document(words: dict[int, int], length: int = len(_WORDS)) -> np.ndarray:
    counts = np.zeros(length, np.int64)
    for word, count in words.items():
        counts[word] = count
    return counts


def _neighbours(
    settings: PrivacySettings,
    canary: dict[int, int],
    other: dict[int, int],
    words: tuple[str, ...] = _WORDS,
) -> Neighbours:
    base = np.repeat([_document({word: _TOKENS}, len(words)) for word in (1, 2)], _COPIES, axis=0)
    less = _document(other, len(words)) if settings.adjacency == "replace" else None
    return Neighbours(words, base, _document(canary, len(words)), less)


def _game(
    name: str,
    shares: tuple[Share, ...],
    settings: PrivacySettings,
    neighbours: Neighbours,
    play: Callable[[Any], object],
    public: bool = True,
) -> Game:
    events = calibrate(shares, settings.epsilon, settings.delta)
    return Game(name, events, settings.epsilon, settings.delta, neighbours, play, public)


def _alone(
    name: str, stage: str, settings: PrivacySettings, neighbours: Neighbours, play: Callable[[Any], object]
) -> Game:
    """Make a game of a single query that gets the whole budget."""
    game = _game(name, (Share(_SUM, 1.0),), settings, neighbours, play)
    return replace(game, events=(replace(game.events[0], stage=stage),))


def _clip(settings: PrivacySettings) -> Game:
    """Make a game of the query `clip`: the evidence is 1 if the lowest bin reaches the quantile, else -1."""
    scale = np.array([2.0**-13, 2.0**25, 2.0**25, 1.0, 1.0, 1.0])
    neighbours = _neighbours(settings, {0: _TOKENS}, {1: _TOKENS})
    (event,) = calibrate((Share(_SUM, 1.0),), settings.epsilon, settings.delta)
    quantile = (event.noise_multiplier or 0.0) / len(neighbours.base)
    statistic = statistics.first_moment(scale)

    def play(attacker: Attacker) -> None:
        attacker.evidence = 1.0 if attacker.clip(_SUM, statistic, quantile) == CLIP_GRID[0] else -1.0

    return _alone("clip", clip_of(_SUM), settings, neighbours, play)


def placement_game(placement: str, settings: PrivacySettings) -> Game:
    """Make a game of a whole run of `placement`, one of `PLACEMENT_RUNS`; raises `InputError` if it is not private.

    The corpus has so few documents that the default placement by itself learns from pairs of words.
    """
    if placement not in PLACEMENT_RUNS:
        raise InputError(
            f"placement must be one of {', '.join(registry.PRIVATE)}, which are private, got {placement!r}."
        )
    name = "default" if placement == FEW_DOCUMENTS else placement
    learn = default.learn_from_moments if placement == "default" else registry.find(name).learn
    return _whole_run(f"placement {placement}", settings, ModelSettings(placement=name, topics=_N_TOPICS), learn)


def other_neighbours(game: Game) -> Iterator[Game]:
    """Yield games of the same run on further pairs of neighbouring corpora.

    In some pairs an unusual document, which may upset a run, takes the place of the canary. In another, topics are so
    far apart that the placement ``config4`` passes its stability tests.
    """
    everything, (first, second) = np.ones(_N_WORDS, np.int64), _LENGTH * np.eye(2, _N_WORDS, dtype=np.int64)
    neighbours = game.neighbours
    pairs = {
        "every word": replace(neighbours, more=everything),
        "huge counts": replace(neighbours, more=np.where(np.arange(_N_WORDS) < _N_WORDS // 2, _HUGE, everything)),
        "too short": replace(neighbours, more=_document({0: 1}, _N_WORDS)),
        "a copy": replace(neighbours, more=neighbours.base[0]),
        "separate topics": replace(neighbours, base=np.repeat([first, second], [1800, 1200], axis=0)),
    }
    for name, pair in pairs.items():
        yield replace(game, name=f"{game.name}, {name}", neighbours=pair)


def _prior_game(settings: PrivacySettings) -> Game:
    """Make a game of a whole run of the default placement from prior topics: random ones, and one for each word.

    The canary's word is a seed word, or it would be left out as one that the documents do not contain.
    """
    topics = np.random.default_rng(0).dirichlet(np.full(_N_WORDS, 0.5), size=4)
    prior = PriorTopics(np.vstack([topics, np.eye(_N_WORDS)]), _PLANTED_WORDS, "audit", True)
    model = ModelSettings(topics=_N_TOPICS, seed_words={"last": (_PLANTED_WORDS[-1],)})
    return _whole_run("prior", settings, model, from_prior.learn_from_prior, prior)


def _whole_run(
    name: str, settings: PrivacySettings, model: ModelSettings, learn: Learn, prior: PriorTopics | None = None
) -> Game:
    """Make a game of all queries of a run over public words by `learn`, from `prior` if there is one."""
    neighbours = _planted_neighbours(settings.adjacency)
    vocabulary = VocabularySettings(public=neighbours.words)
    fit_settings = FitSettings(privacy=settings, vocabulary=vocabulary, model=model, prior=prior)
    run = plan_topics(neighbours.corpora()[0], fit_settings, "audit")

    def play(attacker: Attacker) -> Learned | None:
        with contextlib.suppress(UnsupportedByData):  # a test failed: only the earlier releases count
            # not private: so that few documents do not end a run before its queries
            found = find_words(attacker, fit_settings, run.events, run.corpus, private=False)
            return learn(attacker, found.documents, found.words, fit_settings, np.random.default_rng(0))
        return None

    return Game(name, run.events, settings.epsilon, settings.delta, neighbours, play)


def _planted_neighbours(adjacency: str) -> Neighbours:
    """Draw neighbouring corpora from planted topics. The canary repeats the last word, which no topic contains.

    The rarest word has the largest word scale, so that the canary contributes most.
    """
    planted, *_ = synthetic(_N_DOCUMENTS, _N_WORDS - 1, _N_TOPICS, mean_length=_LENGTH, concentration=0.5, zipf=0.0)
    base = np.column_stack([planted.toarray(), np.zeros(_N_DOCUMENTS, np.int64)])
    canary, other = np.zeros((2, _N_WORDS), np.int64)
    canary[-1], other[0] = _REPEATS, _REPEATS
    return Neighbours(_PLANTED_WORDS, base, canary, other if adjacency == "replace" else None)
