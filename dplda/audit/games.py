"""Games on two neighbouring corpora, played by the attacker in the definition of differential privacy.

The attacker knows all other documents and sees every release. A game is played many times; its log likelihood ratios
give the bounds of `dplda.audit.bounds`. The corpora are synthetic (docs/privacy.md, rule 14), so that nothing is
charged and no ledger is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dplda.audit.bounds import Claim, LowerBounds, lower_bounds
from dplda.base.errors import InputError
from dplda.base.progress import Progress
from dplda.budget.accountant import cost, run_epsilon
from dplda.budget.events import Event, Stage
from dplda.private import OutputGate, PtrResult, Release, WordFrequencies
from dplda.private.attributes import OTHER_WORDS, TableRows
from dplda.private.curator import Curator
from dplda.private.noise import ExactNoise, Noise, SimulatedNoise
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics import NONNEGATIVE, Contribution
from dplda.runs.corpus import Corpus

_Numbers = np.ndarray | float
_CERTAIN = 1e6  # log likelihood ratio added for a released word that only one of the corpora contains
_MOST = 3.0  # largest log likelihood ratio, in magnitude, of one output of an exact computation
_GROWTH = 1.001  # factor on W that has the effect of dividing the normaliser by the factor's cube


class NoNoise:
    """A noise source that returns zeros. It gives the attacker the exact results of both corpora."""

    private = False

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """Return zeros."""
        return np.zeros(size, np.int64)

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """Return all values."""
        return dict(values)

    def coins(self, share: float, size: int) -> np.ndarray:
        """Return all true."""
        return np.ones(size, bool)


class Attacker:
    """A gate that forwards every query to `gate` and sums the log likelihood ratios of its answers.

    The gates `less` and `more` answer the same queries about the two neighbouring corpora without noise. With Gaussian
    noise of the claimed scale, `evidence` is the log likelihood ratio of all releases that count, also if later queries
    depend on earlier answers; by the lemma of Neyman and Pearson, no test of these releases has more power. Three kinds
    of release are not counted: clipping norms, the noisy masses of sums (`Release.mass`), and the stability tests of
    the placements ``config3`` and ``config4``, except for the lower bound on the number of units.
    """

    def __init__(
        self, gate: OutputGate, less: OutputGate, more: OutputGate, events: Sequence[Event], adjacency: str
    ) -> None:
        self.evidence = 0.0
        self._gate, self._less, self._more = gate, less, more
        self._gates: tuple[Any, ...] = gate, less, more  # also for the queries of `QueryGate`
        self._multipliers = {event.stage: event.noise_multiplier or 0.0 for event in events}
        self._votes = NONNEGATIVE if adjacency == "replace" else 1.0
        self._sums: dict[tuple[str, ...], tuple[Contribution, float, Release, Release]] = {}
        self._known: dict[str, tuple[Any, Any]] = {}  # exact results, which are equal in every run

    def choose_words(self, listed: Sequence[str] = ()) -> WordFrequencies:
        """See `OutputGate`."""
        return self._weigh_words(self._gate.choose_words(listed), *self._once("choose_words", listed))

    def use_words(self, words: Sequence[str], rows: TableRows | None = None) -> None:
        """See `OutputGate`."""
        for gate in self._gates:
            gate.use_words(words, rows)

    def use_answers(self, answers: Sequence[str], rows: TableRows, *, most_of_unit: int = 0, n_rest: int = 0) -> None:
        """See `OutputGate`."""
        for gate in self._gates:
            gate.use_answers(answers, rows, most_of_unit=most_of_unit, n_rest=n_rest)

    def word_frequencies(self) -> WordFrequencies:
        """See `OutputGate`."""
        return self._weigh_words(self._gate.word_frequencies(), *self._once("word_frequencies"))

    def size(self) -> float:
        """See `OutputGate`."""
        seen = self._gate.size()
        self._weigh(seen, *self._once("size"), self._multipliers[Stage.SIZE])
        return seen

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        """See `OutputGate`; not counted in the log likelihood ratio."""
        return self._gate.clip(stage, contribution, quantile, share)

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """See `OutputGate`."""
        return self.release_jointly([stage], contribution, clip)

    def release_jointly(self, stages: Sequence[str], contribution: Contribution, clip: float) -> Release:
        """See `OutputGate`."""
        seen = self._gate.release_jointly(stages, contribution, clip)
        less, more = self._exact(stages, contribution, clip)
        root = np.sqrt(contribution.weights)  # scales all coordinates to the same standard deviation
        self._weigh(root * seen.total, root * less.total, root * more.total, seen.std)
        return seen

    def decompose(self, W: np.ndarray, K: np.ndarray, theta: np.ndarray, clip: float) -> PtrResult:
        """See `OutputGate`.

        The log likelihood ratio ignores the component of the output along the change that a slightly larger mass (the
        divisor of the mean) would cause, because the noisy mass itself is not released.
        """
        seen, less, more = (gate.decompose(W, K, theta, clip) for gate in (self._gate, self._less, self._more))
        smaller = self._less.decompose(_GROWTH * W, K, theta, _GROWTH**3 * clip)
        return self._weigh_value(seen, less, more, smaller)

    def final_topics(self, alpha0: float, h: np.ndarray, r: np.ndarray, topics: int) -> PtrResult:
        """See `OutputGate`."""
        seen, less, more = (gate.final_topics(alpha0, h, r, topics) for gate in (self._gate, self._less, self._more))
        n_seen, n_less, n_more = (result.tests[0].bound for result in (seen, less, more))
        self._weigh(n_seen, n_less, n_more, self._multipliers[Stage.SIZE_LOWER_BOUND])
        return self._weigh_value(seen, less, more)

    def _once(self, query: str, *arguments: Any) -> tuple[Any, Any]:
        """Return the exact results of both corpora for a query whose arguments never change, computed once."""
        if query not in self._known:
            self._known[query] = getattr(self._less, query)(*arguments), getattr(self._more, query)(*arguments)
        return self._known[query]

    def _exact(self, stages: Sequence[str], contribution: Contribution, clip: float) -> tuple[Release, Release]:
        """Return the exact releases of both corpora, cached in case the next query that spends `stages` is the same."""
        known = self._sums.get(tuple(stages))
        if known is None or known[0] is not contribution or known[1] != clip:
            less, more = (gate.release_jointly(stages, contribution, clip) for gate in (self._less, self._more))
            known = self._sums[tuple(stages)] = (contribution, clip, less, more)
        return known[2:]

    def _weigh_words(self, seen: WordFrequencies, less: WordFrequencies, more: WordFrequencies) -> WordFrequencies:
        """Add the log likelihood ratios of votes and the vote total, from frequencies and their standard deviation."""
        votes = [dict(zip(r.words, r.frequencies / r.std, strict=True)) for r in (seen, less, more)]
        shared = [word for word in seen.words if word in votes[1] and word in votes[2]]
        of_seen, of_less, of_more = (np.array([of_word[word] for word in shared]) for of_word in votes)
        self._weigh(of_seen, of_less, of_more, 1.0)
        self.evidence += _CERTAIN * sum((word in votes[2]) - (word in votes[1]) for word in seen.words)
        stage = Stage.FREQUENCY if Stage.FREQUENCY in self._multipliers else Stage.VOCABULARY
        scale = self._votes * self._multipliers[stage] / self._multipliers[Stage.VOTE_TOTAL]
        self._weigh(scale / seen.std, scale / less.std, scale / more.std, 1.0)
        return seen

    def _weigh_value(
        self, seen: PtrResult, less: PtrResult, more: PtrResult, other: PtrResult | None = None
    ) -> PtrResult:
        """Add the log likelihood ratio of the output of an exact computation, limited to +-`_MOST`.

        Adds nothing if an output is missing. `other` is the output for `less` with a slightly larger mass; the
        component along `other` - `less` does not count.
        """
        if seen.value is None or less.value is None or more.value is None:
            return seen
        away = np.zeros_like(less.value) if other is None or other.value is None else other.value - less.value
        before = self.evidence  # so that only what this output adds is limited
        self._weigh(seen.value, less.value, more.value, seen.std, away)
        self.evidence = before + min(max(self.evidence - before, -_MOST), _MOST)
        return seen

    def _weigh(self, seen: _Numbers, less: _Numbers, more: _Numbers, std: float, away: _Numbers = 0.0) -> None:
        """Add the log likelihood ratio of `seen`, with normal noise of `std`, for the mean `more` against `less`.

        The component of `seen` in the direction `away` does not count.
        """
        change, middle = np.asarray(more) - less, (np.asarray(more) + less) / 2
        change = change - away * (change * away).sum() / max(float(np.square(away).sum()), 1e-300)
        # The logarithm of the ratio of two normal densities, with the means `more` and `less`.
        self.evidence += float((change * (seen - middle)).sum()) / std**2


@dataclass(frozen=True)
class Neighbours:
    """Two neighbouring corpora over public words, which differ in one document, or in one person's documents."""

    words: tuple[str, ...]
    base: np.ndarray
    """The documents that both corpora hold, (n_documents, n_words)."""
    more: np.ndarray
    """The further document of one corpus, (n_words,); or a further person's documents, (n, n_words)."""
    less: np.ndarray | None = None
    """The further document of the other corpus, or person's documents; None if it holds `base` alone."""
    groups: Mapping[str, tuple[str, str | Sequence[str], str | Sequence[str]]] = field(default_factory=dict)
    """The values of all documents of `base`, of `more` and of `less` in further columns."""

    @property
    def adjacency(self) -> str:
        """The adjacency under which they are neighbours."""
        return "add-remove" if self.less is None else "replace"

    def corpora(self) -> tuple[Corpus, Corpus]:
        """Make the corpus with `less`, and the one with `more`."""
        return self._corpus(self.less, 2), self._corpus(self.more, 1)

    def _corpus(self, further: np.ndarray | None, place: int) -> Corpus:
        n_base = len(self.base)
        counts = self.base if further is None else np.vstack([self.base, further])
        values = {name: [of[0]] * n_base for name, of in self.groups.items()}
        if further is not None:
            for name, of in self.groups.items():
                values[name] += np.broadcast_to(of[place], len(counts) - n_base).tolist()
        units = None if self.more.ndim == 1 else np.minimum(np.arange(len(counts)), n_base).tolist()
        return Corpus.from_counts(counts, self.words, units, public_vocabulary=True, groups=values)


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread on one core in a `with` block: for so few documents, several threads are slower."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class Game:
    """The audit of one plan: a run can be played on either of two neighbouring corpora."""

    name: str
    events: tuple[Event, ...]
    """The plan of one run."""
    epsilon: float
    """What the events were planned for, at `delta`."""
    delta: float
    neighbours: Neighbours
    play: Callable[[Any], object]
    """Makes one run: takes the gate, or an object that forwards to it, and returns what the run released."""
    public: bool = True
    """Whether the words are public; the game then begins after `use_words`."""
    rows: TableRows | None = None
    """The rows of a table that documents fall into."""
    answers: tuple[str, ...] = ()
    """The possible answers of documents, if these take the place of words."""
    most_of_unit: int = 0
    """If positive, the answers of all documents of a person are one document (`Answers`)."""

    @property
    def claim(self) -> Claim:
        """The claim of one run."""
        spent = cost(self.events)
        return Claim(run_epsilon(self.events, self.delta), self.delta, float(np.sqrt(spent.mu_squared)), spent.delta)

    def evidence(self, runs: int, noise: Noise, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
        """Return the log likelihood ratios of `runs` runs on each of the two corpora, `less` first, (runs,) each."""
        progress.start(self.name, 2 * runs)
        evidence = np.empty((2, runs))
        with one_core():
            for index in range(2):
                # Plans hold each event twice per run, because `Attacker.decompose` queries the gate of `less` twice.
                sources: Sequence[tuple[int, Noise]] = (index, noise), (0, NoNoise()), (1, NoNoise())
                gate, less, more = (self.curator(corpus, source, 2 * runs) for corpus, source in sources)
                attacker = Attacker(gate, less, more, events=self.events, adjacency=self.neighbours.adjacency)
                self.begin(attacker)
                for run in range(runs):
                    attacker.evidence = 0.0
                    self.play(attacker)
                    evidence[index, run] = attacker.evidence
                    progress.advance()
        return evidence[0], evidence[1]

    def begin(self, gate: Any) -> None:
        """Tell `gate` what is public before the first query."""
        if self.answers and self.rows is not None:
            gate.use_answers(self.answers, self.rows, most_of_unit=self.most_of_unit)
        elif self.public:
            others = () if self.rows is None else (OTHER_WORDS,)  # documents count whatever words they have (T17)
            gate.use_words((*self.neighbours.words, *others), self.rows)

    def curator(
        self,
        index: int,
        noise: Noise,
        copies: int = 1,
        kind: Callable[..., Curator] = Curator,
        charge: Callable[[Event], None] = lambda event: None,  # synthetic corpora have no budget
    ) -> Curator:
        """Make a curator of `kind` over corpus `index` (0: `less`, 1: `more`), with the plan of `copies` runs."""
        corpus = self.neighbours.corpora()[index]
        passes = LocalPasses(corpus.open())
        return kind(passes, copies * self.events, charge, noise, adjacency=self.neighbours.adjacency)


def noise_of(seed: int | None) -> Noise:
    """Return exact noise, as in private runs, or simulated noise from `seed`."""
    if seed is not None and seed < 0:
        raise InputError(f"seed must be at least 0, got {seed}.")
    return ExactNoise() if seed is None else SimulatedNoise(seed)


@dataclass(frozen=True)
class Finding:
    """The claim of a game, and the lower bounds that its runs show."""

    name: str
    runs: int  # on each corpus
    claim: Claim
    shown: LowerBounds

    @property
    def refuted(self) -> bool:
        """Whether the bounds contradict the claim, at the confidence of the audit."""
        return self.shown.refutes(self.claim)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
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
    """Play each game the given number of times on each of its two corpora; all bounds hold together at `confidence`."""
    for game, runs in games:
        claim = game.claim
        less, more = game.evidence(runs, noise, progress)
        yield Finding(game.name, runs, claim, lower_bounds(less, more, claim, (1 - confidence) / len(games)))
