"""The audit in one run: many canaries, each in the data by a coin of its own, and a guess for each from the releases.

Steinke, Nasr and Jagielski 2023 bound epsilon by the number of right guesses; Mahloujifar, Melis and Chaudhuri 2024
bound the mu of a Gaussian mechanism. Both bounds are computed by `jax_privacy.auditing` of Google DeepMind. The score
of a canary is the correlation of all releases, less their mean over the coins, with the canary's own contribution: up
to a constant, the log likelihood ratio of the releases for this canary if there were no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from benchmarks.systems import dplda_topics
from benchmarks.testers import peers
from dplda.audit.games import Attacker, Game, NoNoise, one_core
from dplda.base.config import PrivacySettings
from dplda.base.progress import NoProgress
from dplda.budget.accountant import Share, calibrate
from dplda.budget.events import Event
from dplda.learning.placements import default
from dplda.learning.placements.registry import NO_NOISE
from dplda.learning.placements.stages import word_shares
from dplda.learning.settings import FitSettings, ModelSettings, VocabularySettings
from dplda.private import Release, WordFrequencies, statistics
from dplda.private.attributes import TableRows
from dplda.private.curator import Curator
from dplda.private.noise import Noise
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics import Contribution
from dplda.private.store.count_store import CountStore
from dplda.private.store.units import UnitCounts
from dplda.runs.corpus import Corpus, synthetic
from dplda.runs.fitting import plan_topics
from dplda.runs.words import find_words

LEVEL = 0.05  # each bound is too large with at most this probability
REPEATED = 50  # count of a canary's own word: its norm is then beyond every clipping norm
CLIP = 1e-3  # clipping norm of single sums, far below a canary's norm
_SUM = "sum"


class OneUnit(LocalPasses):
    """Passes over a single unit of a store: that with the index `unit`."""

    unit = 0

    def _everything(self) -> UnitCounts:
        counts = super()._everything()
        return replace(counts, unit_ptr=counts.unit_ptr[self.unit : self.unit + 2])


class CanaryScores(Attacker):
    """An attacker who scores each canary: `scores` (n_canaries,) grows with every release of words and sums.

    `less` and `more` answer exactly without any and with all canaries, and `alone` for the canary of `passes.unit`. The
    mean of exact answers over fair coins is the midpoint of `less` and `more`, since sums add up over documents.
    """

    def __init__(
        self,
        gates: tuple[Curator, Curator, Curator],
        alone: Curator,
        passes: OneUnit,
        n_canaries: int,
        events: Sequence[Event],
    ) -> None:
        super().__init__(*gates, events=events, adjacency="add-remove")
        self.scores = np.zeros(n_canaries)
        self._alone, self._passes = alone, passes

    def use_words(self, words: Sequence[str], rows: TableRows | None = None) -> None:
        """See `OutputGate`."""
        super().use_words(words, rows)
        self._alone.use_words(words, rows)

    def word_frequencies(self) -> WordFrequencies:
        """See `OutputGate`."""
        seen = self._gate.word_frequencies()
        less, more = self._once("word_frequencies")
        self._correlate(_votes(seen) - (_votes(less) + _votes(more)) / 2, self._alone.word_frequencies)
        return seen

    def release_jointly(self, stages: Sequence[str], contribution: Contribution, clip: float) -> Release:
        """See `OutputGate`."""
        seen = self._gate.release_jointly(stages, contribution, clip)
        less, more = self._exact(stages, contribution, clip)
        noise = contribution.weights * (seen.total - (less.total + more.total) / 2)
        self._correlate(noise / seen.std**2, partial(self._alone.release_jointly, stages, contribution, clip))
        return seen

    def _correlate(self, noise: np.ndarray, alone: Callable[[], Release | WordFrequencies]) -> None:
        """Add the inner product of each canary's contribution with `noise`, which is divided by its variance."""
        for unit in range(len(self.scores)):
            self._passes.unit = unit
            released = alone()
            contribution = released.total if isinstance(released, Release) else _votes(released)
            self.scores[unit] += float((noise * contribution).sum())


def _votes(released: WordFrequencies) -> np.ndarray:
    """Votes over the standard deviation of their noise."""
    return released.frequencies / released.std


@dataclass(frozen=True)
class Trial:
    """A plan of `events`, carried out by `play` on the documents `base` (n_documents, n_words) and some `canaries`.

    `canaries` is (n_canaries, n_words); `words` are public. A run is repeated `runs` times with other coins: each
    canary of each run has a coin and a release of its own, so that the bounds hold for all of them together.
    """

    name: str
    events: tuple[Event, ...]
    words: tuple[str, ...]
    base: np.ndarray
    canaries: np.ndarray
    play: Callable[[Attacker], object]
    runs: int = 1

    def scores(self, noise: Noise) -> tuple[np.ndarray, np.ndarray]:
        """Coins and scores of the canaries of all runs, (runs * n_canaries,) each."""
        with one_core():
            return _joined([self._run(coins(seed, len(self.canaries)), noise) for seed in range(self.runs)])

    def _run(self, included: np.ndarray, noise: Noise) -> tuple[np.ndarray, np.ndarray]:
        attacker = self._attacker(included, noise)
        attacker.use_words(self.words)
        self.play(attacker)
        return included, attacker.scores

    def _attacker(self, included: np.ndarray, noise: Noise) -> CanaryScores:
        def charge(event: Event) -> None:
            """Charge nothing: synthetic corpora have no budget."""

        def curator(passes: LocalPasses, source: Noise, times: int = 1) -> Curator:
            return Curator(passes, times * self.events, charge, source)

        seen, less, more = (
            curator(LocalPasses(self._store(np.vstack([self.base, canaries]))), source)
            for canaries, source in (
                (self.canaries[included], noise),
                (self.canaries[:0], NoNoise()),
                (self.canaries, NoNoise()),
            )
        )
        single = OneUnit(self._store(self.canaries))
        alone = curator(single, NoNoise(), len(self.canaries))
        return CanaryScores((seen, less, more), alone, single, len(self.canaries), self.events)

    def _store(self, counts: np.ndarray) -> CountStore:
        return Corpus.from_counts(counts, self.words, public_vocabulary=True).open()


def coins(seed: int, size: int) -> np.ndarray:
    """Which canaries are in the data of a run: each by a fair coin of its own."""
    return np.random.default_rng([seed, 1]).random(size) < 0.5


def _joined(runs: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    included, scores = zip(*runs, strict=True)
    return np.concatenate(included), np.concatenate(scores)


def bounds(included: np.ndarray, scores: np.ndarray, delta: float) -> tuple[float, float]:
    """Lower bounds on epsilon, by the definition and if Gaussian; each is too large with probability `LEVEL` at most.

    Half of the canaries choose the threshold, and the others are guessed.
    """
    auditing = peers.load("jax_privacy.auditing")
    auditor = auditing.CanaryScoreAuditor(scores[included], scores[~included])
    halves = auditing.Split(seed=0)
    found = (auditor.epsilon_one_run, auditor.epsilon_one_run_fdp)
    definition, gaussian = (bound(LEVEL, delta, threshold_strategy=halves) for bound in found)
    return float(definition), float(gaussian)


def one_coin_each_run(game: Game, runs: int, noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Coins and log likelihood ratios of `runs` runs of `game`, (runs,) each; the canary is in a run by its coin."""
    less, more = game.evidence(runs, noise, NoProgress())
    included = coins(0, runs)
    return included, np.where(included, more, less)


SIZES = {  # canaries of a run, and runs, of each sum: where contributions overlap or arrays are large, more runs
    "frequency": (4000, 1),
    "mean": (4000, 1),
    "moment": (300, 5),
    "subspace": (4000, 1),
    "core": (400, 5),
    "tensor": (1000, 2),
    "refine": (4000, 1),
}


def sums(settings: PrivacySettings, sizes: Mapping[str, tuple[int, int]] = SIZES) -> list[Trial]:
    """Trials of word frequencies and of each sum whose releases have room for many canaries."""
    return [_trial(name, settings, *size) for name, size in sizes.items()]


def _trial(name: str, settings: PrivacySettings, canaries: int, runs: int) -> Trial:
    """A trial in which each canary repeats a word of its own, and a single other document the last word."""
    d = canaries + 1

    def play(attacker: Attacker) -> None:
        if name == "frequency":
            attacker.word_frequencies()
        else:
            attacker.release(_SUM, _contribution(name, d), CLIP)

    shares = word_shares(True) if name == "frequency" else (Share(_SUM, 1.0),)
    events = calibrate(shares, settings.epsilon, settings.delta)
    documents = REPEATED * np.eye(d, dtype=np.int64)
    return Trial(name, events, tuple(f"w{i}" for i in range(d)), documents[-1:], documents[:-1], play, runs)


def _contribution(name: str, d: int) -> Contribution:
    ones = np.ones(d)
    makers: dict[str, Callable[[], Contribution]] = {
        "mean": lambda: statistics.first_moment(ones),
        "moment": lambda: statistics.second_moment(ones),
        "subspace": lambda: statistics.second_moment_times(ones, _directions(d, 20)),
        "core": lambda: statistics.core(ones, _directions(d, 40)),
        "tensor": lambda: statistics.third_moment(_directions(d, 30)),
        "refine": lambda: statistics.expected_counts(np.full((d, 2), 1 / d), 0.5),
    }
    return makers[name]()


def _directions(rows: int, columns: int) -> np.ndarray:
    """Random rows of norm 1, so that canaries of different words hardly overlap."""
    drawn = np.random.default_rng(0).normal(size=(rows, columns))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


@dataclass(frozen=True)
class WholeRun:
    """Whole runs over planted documents, the first words of which are the canaries' own."""

    canaries: int = 250
    documents: int = 5000
    others: int = 100  # words of the planted documents
    topics: int = 5

    @property
    def words(self) -> tuple[str, ...]:
        """Public words: one for each canary, then those of the planted documents."""
        return tuple(f"w{i}" for i in range(self.canaries + self.others))

    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The planted documents and the canaries, (documents, n_words) and (canaries, n_words)."""
        planted, *_ = synthetic(self.documents, self.others, self.topics, mean_length=25)
        base = np.hstack([np.zeros((self.documents, self.canaries), np.int64), planted.toarray()])
        return base, REPEATED * np.eye(self.canaries, self.canaries + self.others, dtype=np.int64)

    def trial(self, settings: PrivacySettings, runs: int) -> Trial:
        """Runs of the default placement, of which all releases are seen."""
        base, canaries = self.tables()
        fit_settings = FitSettings(
            privacy=settings,
            vocabulary=VocabularySettings(public=self.words),
            model=ModelSettings(topics=self.topics),
        )
        run = plan_topics(Corpus.from_counts(base, self.words, public_vocabulary=True), fit_settings, "audit")

        def play(attacker: Attacker) -> None:
            found = find_words(attacker, fit_settings, run.events, run.corpus, private=True)
            default.learn(attacker, found.documents, found.words, fit_settings, np.random.default_rng(0))

        return Trial("default placement", run.events, self.words, base, canaries, play, runs)

    def topic_scores(self, settings: PrivacySettings | None, runs: int) -> tuple[np.ndarray, np.ndarray]:
        """Coins and scores from released topics alone; None: without noise.

        The score rises with a canary's likelihood, maximised over mixtures of topics: for a document that repeats one
        word, it is the largest probability of the word in a topic.
        """
        base, canaries = self.tables()
        found = []
        for seed in range(runs):
            included = coins(seed, self.canaries)
            chosen = (
                {"placement": NO_NOISE} if settings is None else {"epsilon": settings.epsilon, "delta": settings.delta}
            )
            counts = sparse.csr_matrix(np.vstack([base, canaries[included]]))
            topics = dplda_topics(counts, self.topics, self.words, simulate_seed=seed, **chosen)
            found.append((included, topics.max(axis=0)[: self.canaries]))
        return _joined(found)
