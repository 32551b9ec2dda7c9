"""Corpora that break the published calibration: one replaced document turns the whitening of any number of documents.

Three words take part alike: as many documents repeat the first as repeat the second or the third, and the rest hold
all three. The second moment then has one eigenvalue twice, and two topics cut that pair. Which direction of the pair is
kept is for one document to say: by the word that it repeats. Theorem 5 takes the whitening for unique and its change
for one of order 1/N (docs/papers.md, errata); the topics that are released show the word.
"""

from __future__ import annotations

import numpy as np

from dplda.audit.bounds import Claim
from dplda.audit.games import Neighbours, NoNoise
from dplda.budget.events import Event
from dplda.learning.placements import registry
from dplda.learning.settings import FitSettings
from dplda.model import TopicModel
from dplda.private import Release, WordFrequencies
from dplda.private.exact_gate import ExactGate
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics import Contribution
from dplda.runs.fitting import plan_topics
from dplda.runs.run import Run

WORDS = ("first", "second", "third")
TOPICS, LENGTH = 2, 3
REPEATED, MIXED = 5, 9  # documents that repeat a word, for each of the three, to those with all three


class Remembered:
    """The exact answers of a gate, each worked out once: runs differ by the noise that comes after them."""

    def __init__(self, gate: ExactGate) -> None:
        self._gate = gate
        self._size = gate.size()
        self._answers: dict[tuple[str, bytes], Release] = {}

    def size(self) -> float:
        """See `Gate`."""
        return self._size

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """See `Gate`."""
        key = stage, contribution.matrix.tobytes()
        if key not in self._answers:
            self._answers[key] = self._gate.release(stage, contribution, clip)
        return self._answers[key]


def neighbours(documents: int) -> Neighbours:
    """About so many documents, and one that repeats the first word in place of one that repeats the second."""
    parts = documents // (3 * REPEATED + MIXED)
    repeated = np.repeat(LENGTH * np.eye(3, dtype=np.int64), REPEATED * parts, axis=0)
    mixed = np.ones((MIXED * parts, 3), np.int64)
    first, second, _ = LENGTH * np.eye(3, dtype=np.int64)
    return Neighbours(WORDS, np.vstack([repeated, mixed]), first, second)


def claim(epsilon: float, delta: float) -> Claim:
    """What the paper claims: (epsilon, delta), and nothing about a Gaussian."""
    return Claim(epsilon, delta, np.inf)


def evidence(
    placement: str, epsilon: float, delta: float, documents: int, runs: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """What the topics released by `runs` runs on either corpus say for the first word, (runs,) each."""
    settings = FitSettings.of(
        placement=placement,
        calibration="published",
        public=WORDS,
        topics=TOPICS,
        epsilon=epsilon,
        delta=delta,
        adjacency="replace",
        alpha0=1.0,
    )
    algorithm = registry.find(placement, "published")
    generator = np.random.default_rng(seed)
    found = []
    for corpus in neighbours(documents).corpora():
        gate = Remembered(_exposed(plan_topics(corpus, settings, "audit"), runs))
        words = WordFrequencies(WORDS, np.full(3, 1 / 3), 0.0)
        learned = [algorithm.learn(gate, gate.size(), words, settings, generator) for _ in range(runs)]
        found.append(np.array([_weight(placement, one.topics) for one in learned]))
    return found[0], found[1]


def _weight(placement: str, topics: np.ndarray) -> float:
    """How far `topics` (2, 3) lean to the first word instead of the second.

    They lie on either side of the even mixture of all words. The one near it tells the direction, to which the noise
    that unwhitening gets turns both; configuration 4 has none there, but puts it on the topics themselves, and the one
    far from it stands out.
    """
    concentration = topics.max(axis=1)
    if placement == "config4":
        far = topics[concentration.argmax()]
        return float(far[0] - far[1])
    near = topics[concentration.argmin()]
    return float(near[1] - near[0])


def _exposed(run: Run[TopicModel], runs: int) -> ExactGate:
    """The gate of an ordinary run with the published calibration, with a plan for all runs."""
    passes = LocalPasses(run.corpus.open())
    gate = ExactGate(passes, run.events * runs, _unrecorded, NoNoise(), adjacency="replace")
    gate.use_words(WORDS)
    return gate


def _unrecorded(event: Event) -> None:
    """Nothing is charged for a corpus that belongs to nobody."""
