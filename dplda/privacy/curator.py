"""The single gate: private counts enter here and leave only as charged, noisy sums.

Algorithms hold a `Gate` and ask it for sums of bounded contributions; they never see counts. Each question is
one planned event: it is recorded (on disk, before anything is computed) and may be asked once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from dplda.compute.lattice import BOUND, MARGIN, MASS_SHARE
from dplda.corpus.store import CountStore
from dplda.errors import GateError
from dplda.moments import contributions
from dplda.moments.contributions import NONNEGATIVE, Contribution
from dplda.moments.coordinates import unpack
from dplda.moments.exact_moments import WholeMoments, whole_moments
from dplda.privacy import noisy_values, passes, propose_test_release
from dplda.privacy.decompositions import decompose, spectral_topics
from dplda.privacy.events import EXACT, GAUSSIAN, GAUSSIAN_THRESHOLD, Event
from dplda.privacy.gate import Gate as Gate
from dplda.privacy.gate import Release as Release
from dplda.privacy.gate import WordFrequencies as WordFrequencies
from dplda.privacy.local_sensitivity import PtrResult
from dplda.privacy.noise import Noise, lattice_scale
from dplda.privacy.partition_selection import MOST_WORDS, count_votes, word_hashes
from dplda.privacy.passes import Engine, Local
from dplda.privacy.thresholds import clip_at_quantile, clip_bins, selection_threshold
from dplda.progress import NoProgress, Progress
from dplda.settings import ADJACENCIES


class Curator:
    """The gate. The only object that ever holds private counts; also holds the planned events and the noise.

    `charge` is called with each event before its answer is computed and must make it durable (the ledger's
    reservation); it raises to refuse. Passes over the counts are made by `engine`. Under ``replace`` adjacency
    sensitivities are those of T1.
    """

    def __init__(
        self,
        store: CountStore,
        events: Sequence[Event],
        charge: Callable[[Event], None],
        noise: Noise,
        *,
        adjacency: str = "add-remove",
        progress: Progress | None = None,
        engine: Engine = Local,
    ) -> None:
        if adjacency not in ADJACENCIES:
            raise GateError(f"adjacency must be one of {', '.join(ADJACENCIES)}, got {adjacency!r}")
        self._store = store
        self._planned = list(events)
        self._make_durable = charge
        self._noise = noise
        self._replace = adjacency == "replace"
        self._progress: Progress = progress or NoProgress()
        self._passes = engine(store)
        self._names: tuple[str, ...] | None = None
        self._sizes: list[int] = []

    def choose_words(self) -> WordFrequencies:
        """Select words privately from an unknown key set (T7) and make nothing else known.

        Asks the planned events ``vocabulary`` (weighted Gaussian with threshold) and ``vote total`` (the sum of vote
        weights, which turns votes into document frequencies). Words come ordered by (noisy value, word).
        """
        event = self._charge("vocabulary", GAUSSIAN_THRESHOLD)
        total_event = self._charge("vote total")
        names = self._store.dictionary
        votes, weight = self._passes.added(count_votes, word_hashes(names))
        scale = self._scale(event, NONNEGATIVE)
        failure = event.delta / 2 if self._replace else event.delta
        candidates = {int(index): int(votes[index]) for index in np.flatnonzero(votes)}  # picked by some unit
        passed = self._noise.above_threshold(candidates, scale, selection_threshold(scale, failure, MOST_WORDS))
        ranked = sorted((-value, names[index]) for index, value in passed.items())
        vote_total = max(self._noisy(weight, self._scale(total_event)), BOUND)
        values = np.array([-value for value, _ in ranked], np.float64)
        return WordFrequencies(tuple(word for _, word in ranked), values / vote_total, scale / vote_total)

    def use_words(self, words: Sequence[str]) -> None:
        """Project the counts on public or already released words; every later question is about these."""
        self._names, self._sizes = tuple(words), []
        self._passes.use(self._names)

    def word_frequencies(self) -> WordFrequencies:
        """Noisy document frequencies of the words in use (a known key set: no threshold); event ``frequency``."""
        event = self._charge("frequency")
        total_event = self._charge("vote total")
        names = self._in_use()
        votes, weight = self._passes.added(count_votes, word_hashes(names))
        scale = self._scale(event, NONNEGATIVE)
        noisy = votes + self._noise.gaussian(scale, len(votes))
        vote_total = max(self._noisy(weight, self._scale(total_event)), BOUND)
        return WordFrequencies(names, noisy / vote_total, scale / vote_total)

    def size(self) -> float:
        """Noisy number of eligible units, at least 1; sensitivity 1 under both adjacencies (section 0, N)."""
        event = self._charge("size")
        return max(self._noisy(self._eligible() * BOUND, self._scale(event)) / BOUND, 1.0)

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        """A clip from the noisy histogram of unit norms (section 2.1); charges the event ``<stage> clip``.

        Each unit enters the histogram by a coin of its own, with probability `share`.
        """
        event = self._charge(f"{stage} clip")
        entering = np.flatnonzero(self._noise.coins(share, sum(self._unit_counts())))
        bins = clip_bins(self._norms(contribution, entering))
        return clip_at_quantile(bins + self._noise.gaussian(self._scale(event, NONNEGATIVE), len(bins)), quantile)

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """The clipped sum with exact noise; `clip` may depend on earlier releases only. Asks the event `stage`."""
        event = self._charge(stage)
        multiplier = event.noise_multiplier or 0.0
        sensitivity = self._sensitivity(contribution.replace_factor)
        with ThreadPoolExecutor(1) as beside:  # the noise depends on no data: drawn while the pass runs
            noise = beside.submit(self._column_noise, contribution, multiplier, sensitivity)
            total, mass = self._sum(contribution, clip)
            noisy = total + noise.result()
        step = clip / BOUND
        noisy_mass = self._noisy(mass, lattice_scale(multiplier, sensitivity)) / (MASS_SHARE * BOUND)
        return Release(noisy * step, max(noisy_mass, 1.0), multiplier * sensitivity * step)

    def decompose(self, W: np.ndarray, K: np.ndarray, theta: np.ndarray, clip: float) -> PtrResult:
        """The columns T(v_i, v_i, .), (k, k), of T = clipped mean of E3(W, W, W) + K, by falling eigenvalue (T5).

        W (n_words, k) absorbs the word scale; v_i are the eigenvectors of T(., ., theta). W, K (k, k, k) symmetric,
        theta (k,) and `clip` may depend on earlier releases only. Asks the events ``mass``, ``gap``, ``tensor norm``
        and, if the gap is large enough, ``decomposition``.
        """
        event = self._charge("mass")
        asked = contributions.third_moment(W)
        total, mass = self._sum(asked, clip)
        size = max(self._noisy(mass * round(1 / MASS_SHARE), self._scale(event)) / BOUND, 1.0)
        step = clip / BOUND / size
        change = self._sensitivity(asked.replace_factor) * step
        return propose_test_release.release_decomposition(self._answer, total[0] * step, K, theta, change)

    def final_topics(self, alpha0: float, h: np.ndarray, r: np.ndarray, topics: int) -> PtrResult:
        """The columns w_i (r . mu_i) mu_i, (n_words, topics), of the exact moments of all eligible units (T6).

        h (n_words,) in [0, 1] and r (n_words,) are public; 2 <= topics < n_words. Asks the events ``size lower
        bound``, ``spectrum``, ``norm``, ``eigenvalue gap`` and ``topics``, each if the tests before have passed.
        """
        event = self._charge("size lower bound")
        moments = self._whole(h, r, topics)
        units = noisy_values.release_values(event, self._noise, np.array([float(moments.units)]), 1.0)
        return propose_test_release.release_topics(
            self._answer, units, spectral_topics(*moments.corrected(alpha0, h), r, topics), alpha0
        )

    def exact_sum(self, stage: str, contribution: Contribution) -> Release:
        """The exact sum, for baselines: only where the plan says ``exact``, which marks the run as not private."""
        self._charge(stage, EXACT)
        return self._unclipped(contribution)

    def exact_decomposition(self, W: np.ndarray, K: np.ndarray, theta: np.ndarray) -> PtrResult:
        """`decompose` of the exact, unclipped mean, without tests or noise; not private, see `exact_sum`."""
        self._charge("decomposition", EXACT)
        T = unpack(self._unclipped(contributions.third_moment(W)).mean[0], len(K)) + K
        return PtrResult(decompose(T, theta, math.inf).columns, 0.0, ())

    def exact_final_topics(self, alpha0: float, h: np.ndarray, r: np.ndarray, topics: int) -> PtrResult:
        """`final_topics` without tests or noise; not private, see `exact_sum`."""
        self._charge("topics", EXACT)
        moments = self._whole(h, r, topics).corrected(alpha0, h)
        return PtrResult(spectral_topics(*moments, r, topics).topics, 0.0, ())

    def exact_words(self, most: int) -> WordFrequencies:
        """The exact document frequencies of the `most` most frequent words; not private, see `exact_sum`."""
        self._charge("vocabulary", EXACT)
        names = self._store.dictionary
        votes, weight = self._passes.added(count_votes, word_hashes(names))
        ranked = sorted((-int(votes[index]), names[index]) for index in np.flatnonzero(votes))[:most]
        values = np.array([-value for value, _ in ranked], np.float64)
        return WordFrequencies(tuple(word for _, word in ranked), values / max(weight, 1), 0.0)

    def exact_frequencies(self) -> WordFrequencies:
        """The exact document frequencies of the words in use; not private, see `exact_sum`."""
        self._charge("frequency", EXACT)
        names = self._in_use()
        votes, weight = self._passes.added(count_votes, word_hashes(names))
        return WordFrequencies(names, votes / max(weight, 1), 0.0)

    def exact_size(self) -> float:
        """The exact number of eligible units; not private, see `exact_sum`."""
        self._charge("size", EXACT)
        return float(max(self._eligible(), 1))

    def _charge(self, stage: str, mechanism: str = GAUSSIAN) -> Event:
        """Take the planned event of `stage` off the frozen list and make it durable before anything is computed."""
        for position, event in enumerate(self._planned):
            if (event.stage, event.mechanism) == (stage, mechanism):
                del self._planned[position]
                self._progress.start(stage)
                self._make_durable(event)
                return event
        raise GateError(f"no planned {mechanism} event is left for stage {stage!r}")

    def _sensitivity(self, replace_factor: float) -> float:
        """l2-sensitivity in lattice units of a sum of contributions bounded by B (T1)."""
        return BOUND * (replace_factor if self._replace else 1.0)

    def _scale(self, event: Event, replace_factor: float = 1.0) -> float:
        return lattice_scale(event.noise_multiplier or 0.0, self._sensitivity(replace_factor))

    def _noisy(self, value: int, scale: float) -> float:
        return float(value + int(self._noise.gaussian(scale, 1)[0]))

    def _column_noise(self, contribution: Contribution, multiplier: float, sensitivity: float) -> np.ndarray:
        """Independent noise for each lattice coordinate, variance divided by its column's weight (section 5)."""
        n_rows, width = contribution.shape
        noise = np.empty((n_rows, width), np.int64)
        for weight in np.unique(contribution.weights):
            columns = np.flatnonzero(contribution.weights == weight)
            scale = lattice_scale(multiplier, sensitivity, int(weight))
            noise[:, columns] = self._noise.gaussian(scale, n_rows * len(columns)).reshape(n_rows, -1)
        return noise

    def _unclipped(self, contribution: Contribution) -> Release:
        """The exact sum of whole contributions and their number."""
        everyone = np.arange(sum(self._unit_counts()))
        largest = float(self._norms(contribution, everyone).max(initial=0.0)) or 1.0
        unclipped = largest / math.sqrt(1 - MASS_SHARE**2)  # with the mass coordinate included
        clip = unclipped / (1 - MARGIN / BOUND) * (1 + 1e-9)
        total, mass = self._sum(contribution, clip)
        return Release(total * (clip / BOUND), max(mass / (MASS_SHARE * BOUND), 1.0), 0.0)

    def _answer(self, stage: str, values: np.ndarray, sensitivity: float) -> noisy_values.NoisyValues:
        return noisy_values.release_values(self._charge(stage), self._noise, values, sensitivity)

    def _whole(self, h: np.ndarray, r: np.ndarray, topics: int) -> WholeMoments:
        n_words = len(self._in_use())
        public = len(h) == len(r) == n_words and h.min() >= 0 and h.max() <= 1 and r.any()
        if not (public and 2 <= topics < n_words):
            raise GateError("final topics need h in [0, 1] and r not 0 for each word, and 2 <= topics < words")
        c = self._passes.whole()
        return whole_moments(c.indptr, c.words, c.counts, c.unit_ptr, h)

    def _in_use(self) -> tuple[str, ...]:
        if self._names is None:
            raise GateError("no words are in use yet")
        return self._names

    def _eligible(self) -> int:
        """Exact number of units with an eligible document."""
        self._in_use()
        return int(self._passes.added(passes.eligible)[0])

    def _unit_counts(self) -> list[int]:
        """Exact number of units of each portion."""
        self._in_use()
        self._sizes = self._sizes or self._passes.each(passes.units)
        return self._sizes

    def _norms(self, contribution: Contribution, units: np.ndarray) -> np.ndarray:
        """Exact unclipped norms of `units` (int64, rising), -1 where no document is eligible."""
        first = np.cumsum([0, *self._unit_counts()])
        own = [
            units[a:b] - start for start, (a, b) in zip(first, pairwise(np.searchsorted(units, first)), strict=False)
        ]
        return np.concatenate(self._passes.each(passes.unit_norms, self._about_words(contribution), own=own))

    def _sum(self, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
        """Exact integer sum of clipped contributions (n_rows, width), and of their mass coordinates."""
        total, mass = self._passes.added(passes.clipped_sum, self._about_words(contribution), clip)
        return total, mass

    def _about_words(self, contribution: Contribution) -> Contribution:
        f, n_words = contribution, len(self._in_use())
        if not len(f.scale) == len(f.matrix) == n_words or f.n_rows not in (1, n_words):
            raise GateError("the contribution is not about the words in use")  # compiled loops check no bounds
        return f
