"""Games: the attacker's log likelihood ratios from many runs on each of two neighbouring corpora.

The corpora are synthetic (docs/privacy.md, rule 14), so that nothing is charged and no ledger is opened.
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
    """Neighbouring corpora over public `words`: `base`, (n_documents, n_words), with the document `less` or `more`.

    If `less` is None, one corpus is `base` alone.
    """

    words: tuple[str, ...]
    base: np.ndarray
    more: np.ndarray
    less: np.ndarray | None = None

    @property
    def adjacency(self) -> str:
        """The adjacency under which they are neighbours."""
        return "add-remove" if self.less is None else "replace"

    def corpora(self) -> tuple[Corpus, Corpus]:
        """The corpus with `less`, and the one with `more`."""
        less = self.base if self.less is None else np.vstack([self.base, self.less])
        return self._corpus(less), self._corpus(np.vstack([self.base, self.more]))

    def _corpus(self, counts: np.ndarray) -> Corpus:
        return Corpus.from_counts(counts, self.words, public_vocabulary=True)


@dataclass(frozen=True)
class Game:
    """The audit of `name`: `play` makes one run of the plan `events` on one of two neighbouring corpora.

    If `public`, the words are in use from the start.
    """

    name: str
    events: tuple[Event, ...]
    delta: float
    neighbours: Neighbours
    play: Callable[[Attacker], object]
    public: bool = True

    @property
    def claim(self) -> Claim:
        """The claim of one run."""
        spent = cost(self.events)
        return Claim(run_epsilon(self.events, self.delta), self.delta, float(np.sqrt(spent.mu_squared)), spent.delta)

    def evidence(self, runs: int, noise: Noise, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
        """The log likelihood ratios of `runs` runs on either corpus, `less` first, (runs,) each."""
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
        """An attacker on one of the corpora, with a plan for all runs. Exact answers may be computed twice a run."""
        stores = [corpus.open() for corpus in self.neighbours.corpora()]
        adjacency = self.neighbours.adjacency

        def curator(corpus: int, source: Noise) -> Curator:
            passes = LocalPasses(stores[corpus])
            return Curator(passes, 2 * runs * self.events, _charge_nothing, source, adjacency=adjacency)

        gates = curator(index, noise), curator(0, NoNoise()), curator(1, NoNoise())
        attacker = Attacker(*gates, events=self.events, adjacency=adjacency)
        if self.public:
            attacker.use_words(self.neighbours.words)
        return attacker


@contextmanager
def _one_core() -> Iterator[None]:
    """Keep this thread on one core: for so few documents threads cost more than the sums."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _charge_nothing(event: Event) -> None:
    """Charge nothing: synthetic corpora have no budget."""


def noise_of(seed: int | None) -> Noise:
    """Exact noise, as in private runs, or simulated noise from `seed`."""
    if seed is not None and seed < 0:
        raise InputError(f"seed must be at least 0, got {seed}.")
    return ExactNoise() if seed is None else SimulatedNoise(seed)


@dataclass(frozen=True)
class Finding:
    """The claim of the game `name`, and the bounds that `runs` runs on each corpus show."""

    name: str
    runs: int
    claim: Claim
    shown: Shown

    @property
    def refuted(self) -> bool:
        """Whether the bounds contradict the claim, at the confidence of the audit."""
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
    """Play each game the given number of times on either corpus; all bounds hold together at `confidence`."""
    for game, runs in games:
        claim = game.claim
        less, more = game.evidence(runs, noise, progress)
        yield Finding(game.name, runs, claim, show(less, more, claim, (1 - confidence) / len(games)))
