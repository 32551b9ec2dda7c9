"""A game of an audit: two neighbouring synthetic corpora, the questions of a run, and evidence from many runs on each.

Corpora are synthetic (docs/privacy.md, rule 14): nothing is charged, and no ledger is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dplda.accounting.accountant import cost, run_epsilon
from dplda.accounting.events import Event
from dplda.audit.attacker import Attacker, NoNoise
from dplda.audit.bounds import Claim, Shown, show
from dplda.corpus import Corpus
from dplda.errors import InputError
from dplda.execution.local_passes import LocalPasses
from dplda.mechanisms.curator import Curator
from dplda.mechanisms.noise import ExactNoise, Noise, SimulatedNoise
from dplda.progress import Progress


@dataclass(frozen=True)
class Neighbours:
    """Corpora of counts (n_documents, n_words) over public `words`: `base` with the document `less`, or with `more`.

    Without `less` (None) one document is added, otherwise replaced.
    """

    words: tuple[str, ...]
    base: np.ndarray
    more: np.ndarray
    less: np.ndarray | None = None

    @property
    def adjacency(self) -> str:
        """How they are neighbours."""
        return "add-remove" if self.less is None else "replace"

    def corpora(self) -> tuple[Corpus, Corpus]:
        """Both, the one with `less` first."""
        ends = [[] if self.less is None else [self.less], [self.more]]
        counts = [np.vstack([self.base, *end]) for end in ends]
        first, second = (Corpus.from_counts(matrix, self.words, public_vocabulary=True) for matrix in counts)
        return first, second


@dataclass(frozen=True)
class Game:
    """The audit of `name`: `play` makes one run with the plan `events`, on either of two neighbouring corpora.

    Words are in use from the start if they are `public`.
    """

    name: str
    events: tuple[Event, ...]
    delta: float
    neighbours: Neighbours
    play: Callable[[Attacker], object]
    public: bool = True

    @property
    def claim(self) -> Claim:
        """What is promised of one run."""
        spent = cost(self.events)
        return Claim(run_epsilon(self.events, self.delta), self.delta, float(np.sqrt(spent.mu_squared)), spent.delta)

    def evidence(self, runs: int, noise: Noise, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
        """The evidence of `runs` runs on the corpus with less, and with more, (runs,) each."""
        progress.start(self.name, 2 * runs)
        with _one_core():
            less, more = (self._runs(index, runs, noise, progress) for index in range(2))
        return less, more

    def _runs(self, index: int, runs: int, noise: Noise, progress: Progress) -> np.ndarray:
        evidence = np.empty(runs)
        attacker = self._attacker(index, runs, noise)
        for run in range(runs):
            attacker.evidence = 0.0
            self.play(attacker)
            evidence[run] = attacker.evidence
            progress.advance()
        return evidence

    def _attacker(self, index: int, runs: int, noise: Noise) -> Attacker:
        """Over one of the corpora, with a plan for all runs; exact answers may be asked for twice."""
        stores = [corpus.open() for corpus in self.neighbours.corpora()]
        adjacency = self.neighbours.adjacency

        def curator(which: int, source: Noise) -> Curator:
            return Curator(LocalPasses(stores[which]), 2 * runs * self.events, _unrecorded, source, adjacency=adjacency)

        gates = curator(index, noise), curator(0, NoNoise()), curator(1, NoNoise())
        attacker = Attacker(*gates, events=self.events, adjacency=adjacency)
        if self.public:
            attacker.use_words(self.neighbours.words)
        return attacker


@contextmanager
def _one_core() -> Iterator[None]:
    """Keep this thread on one core: sums over so few documents take less time than handing them to threads."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _unrecorded(event: Event) -> None:
    """Nothing is charged for corpora that belong to nobody."""


def noise_of(seed: int | None) -> Noise:
    """The exact noise of private runs, or simulated noise from a `seed`."""
    if seed is not None and seed < 0:
        raise InputError(f"seed must be at least 0, got {seed}.")
    return ExactNoise() if seed is None else SimulatedNoise(seed)


@dataclass(frozen=True)
class Finding:
    """The result of `runs` runs on each of two neighbouring corpora, beside what is claimed of `name`."""

    name: str
    runs: int
    claim: Claim
    shown: Shown

    @property
    def refuted(self) -> bool:
        """Whether the claim cannot be true, up to the confidence of the audit."""
        return self.shown.refutes(self.claim)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "name": self.name,
            "runs": self.runs,
            "claimed": asdict(self.claim),
            "shown": asdict(self.shown),
            "refuted": self.refuted,
        }


def play(
    games: Sequence[tuple[Game, int]], noise: Noise, progress: Progress, confidence: float = 0.95
) -> Iterator[Finding]:
    """Play each game so many times on either corpus; all bounds together hold with probability `confidence`."""
    for game, runs in games:
        claim = game.claim
        less, more = game.evidence(runs, noise, progress)
        yield Finding(game.name, runs, claim, show(less, more, claim, (1 - confidence) / len(games)))
