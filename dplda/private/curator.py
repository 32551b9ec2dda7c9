"""The curator: the only gate to private counts, which releases charged, noisy results and nothing else.

Algorithms hold a `Gate` and request sums of bounded contributions from it; they never see counts. Every release charges
planned events. Each event may be charged once, and is on disk before anything is computed for it.

T1 to T8 are theorems of docs/privacy.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from dplda.base.config import ADJACENCIES
from dplda.base.errors import GateError
from dplda.base.progress import NoProgress, Progress
from dplda.budget.events import GAUSSIAN, GAUSSIAN_THRESHOLD, Event, Stage, clip_of
from dplda.private import propose_test_release, statistics
from dplda.private.attributes import Answers, Attribute, TableRows, sorted_groups
from dplda.private.gate import PtrResult, Release, WordFrequencies
from dplda.private.noise import Noise, NoisyValues, joint_multiplier, lattice_scale, release_values, selection_threshold
from dplda.private.passes.local_passes import Passes
from dplda.private.propose_test_release import spectral_topics
from dplda.private.statistics import NONNEGATIVE, Contribution
from dplda.private.statistics.clipping import BOUND, MASS_SHARE, MOST_WORDS, clip_at_quantile, clip_in_range
from dplda.private.statistics.exact_moments import ExactMoments

_Integers = TypeVar("_Integers", int, np.ndarray)


class Curator:
    """The only object that makes passes over private counts, with the planned events and the source of noise.

    `charge` is called with each event before its release is computed. It must make the event durable, as the ledger's
    reservation does, or raise an error. Sensitivities follow from T1 for the `adjacency`.
    """

    def __init__(
        self,
        passes: Passes,
        events: Sequence[Event],
        charge: Callable[[Event], None],
        noise: Noise,
        *,
        adjacency: str = "add-remove",
        progress: Progress | None = None,
    ) -> None:
        if adjacency not in ADJACENCIES:
            raise GateError(f"adjacency must be one of {', '.join(ADJACENCIES)}, got {adjacency!r}")
        self._passes = passes
        self._planned = list(events)
        self._make_durable = charge
        self._noise = noise
        self._replace = adjacency == "replace"
        self._progress: Progress = progress or NoProgress()
        passes.progress = self._progress
        self._names: tuple[str, ...] | None = None
        self._rows: TableRows | None = None

    def choose_words(self, listed: Sequence[str] = ()) -> WordFrequencies:
        """Release the noisy frequencies of all public words `listed`, and of the others that a threshold selects (T7″).

        A listed word is released whether or not a document contains it; of the other words, the documents' own, only
        those above the threshold are. One vote of each unit serves both (docs/privacy.md, section 4.4). Charges the
        events ``vocabulary`` (weighted Gaussian with threshold) and ``vote total`` (the votes that a word contained in
        every document would receive; votes are divided by it to give document frequencies). Words are ordered by noisy
        value, then by word. Raises `GateError` for a word that is listed twice.
        """
        event = self._charge(Stage.VOCABULARY, GAUSSIAN_THRESHOLD)
        total_event = self._charge(Stage.VOTE_TOTAL)
        place = {word: index for index, word in enumerate(listed)}
        if len(place) < len(listed):
            raise GateError("a word is listed twice")
        self.use_all_words()
        names = self._passes.dictionary
        votes, full = self._passes.count_votes()
        of_listed, others = np.zeros(len(listed), np.int64), dict[int, int]()
        for index in np.flatnonzero(votes).tolist():  # words that some unit picked
            if (known := place.get(names[index])) is None:
                others[index] = int(votes[index])
            else:
                of_listed[known] = votes[index]
        passed, scale = self._select(event, others, MOST_WORDS)
        noisy = self._add_noise(of_listed, self._noise.gaussian(scale, len(listed)))
        found = [*zip(noisy.tolist(), listed, strict=True), *((value, names[index]) for index, value in passed.items())]
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        vote_total = max(self._noisy(full, self._scale(total_event)), BOUND)
        values = np.array([value for value, _ in found], np.float64)
        return WordFrequencies(tuple(word for _, word in found), values / vote_total, scale / vote_total)

    def use_words(self, words: Sequence[str], rows: TableRows | None = None) -> None:
        """Restrict the counts to public or already released `words` for all later releases.

        With `rows`, whose groups are public or released, documents fall into the rows of a table.
        """
        self._names, self._rows = tuple(words), rows
        self._passes.use_words(self._names, rows)

    def use_answers(self, answers: Sequence[str], rows: TableRows, *, most_of_unit: int = 0, n_rest: int = 0) -> None:
        """Let the documents' answers take the place of words in later releases, after one word that all documents hold.

        The possible `answers` and the groups of `rows` are public or released. With `most_of_unit`, a unit is one
        document, and its words are cells: the answers that its documents in each row have, or how many have them; of
        the last `n_rest`, at most one (`Answers`).
        """
        self._names, self._rows = ("", *answers) * (len(rows) if most_of_unit else 1), rows
        self._passes.use_words(Answers(len(answers), most_of_unit, n_rest), rows)

    def choose_groups(self, attribute: Attribute, most: int) -> tuple[str, ...]:
        """Select groups of documents by `attribute` privately, sorted (T7 with groups for words).

        A unit votes for at most `most` groups, a public number. Charges an event ``groups``.
        """
        event = self._charge(Stage.GROUPS, GAUSSIAN_THRESHOLD)
        votes, _ = self._passes.count_group_votes(attribute, most)
        names = sorted(votes)
        passed, _ = self._select(event, {index: votes[name] for index, name in enumerate(names) if votes[name]}, most)
        return sorted_groups(names[index] for index in passed)

    def _select(self, event: Event, votes: dict[int, int], most: int) -> tuple[dict[int, int], float]:
        """Return the noisy `votes` above the threshold, at most `most` per unit, and the scale of their noise (T7)."""
        scale = self._scale(event, NONNEGATIVE)
        failure = event.delta / 2 if self._replace else event.delta
        return self._noise.above_threshold(votes, scale, selection_threshold(scale, failure, most)), scale

    def use_all_words(self) -> None:
        """Undo `use_words` and `use_answers`."""
        self._names = self._rows = None
        self._passes.use_words(None)

    def word_frequencies(self) -> WordFrequencies:
        """Return noisy document frequencies of the words in use; the words are known, so no threshold is needed.

        Charges the events ``frequency`` and ``vote total`` (see `choose_words`).
        """
        event = self._charge(Stage.FREQUENCY)
        total_event = self._charge(Stage.VOTE_TOTAL)
        names = self._words_in_use()
        votes, full = self._passes.count_votes()
        scale = self._scale(event, NONNEGATIVE)
        noisy = self._add_noise(votes, self._noise.gaussian(scale, len(votes)))
        vote_total = max(self._noisy(full, self._scale(total_event)), BOUND)
        return WordFrequencies(names, noisy / vote_total, scale / vote_total)

    def size(self) -> float:
        """Return the noisy number of eligible units (see `Gate.size`), at least 1.

        Sensitivity 1 under both adjacencies (docs/privacy.md, section 0).
        """
        event = self._charge(Stage.SIZE)
        return max(self._noisy(self._passes.count_units() * BOUND, self._scale(event)) / BOUND, 1.0)

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        """Return a clipping norm: a quantile of the noisy histogram of unit norms (docs/privacy.md, section 2.1).

        Charges ``<stage> clip``. Each unit enters the histogram independently with probability `share`.
        """
        noisy, _ = self._norm_histogram(self._charge(clip_of(stage)), contribution, share)
        return clip_at_quantile(noisy, quantile)

    def clip_within(
        self, stage: str, contribution: Contribution, quantile: float, limits: tuple[float, float]
    ) -> float:
        """Return a clipping norm, as `clip` does, for norms that are 0 or within the public `limits` (`clip_in_range`).

        Charges ``<stage> clip``.
        """
        noisy, scale = self._norm_histogram(self._charge(clip_of(stage)), contribution)
        return clip_in_range(noisy, scale, quantile, *limits)

    def _norm_histogram(self, event: Event, contribution: Contribution, share: float = 1.0) -> tuple[np.ndarray, float]:
        """Return the noisy histogram of unit norms that the charged `event` releases, and the scale of its noise."""
        contribution = self._check_fit(contribution)
        entering = np.flatnonzero(self._noise.coins(share, self._passes.n_units()))
        bins = self._passes.clip_histogram(contribution, entering)
        scale = self._scale(event, NONNEGATIVE)
        return self._add_noise(bins, self._noise.gaussian(scale, len(bins))), scale

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """Charge the event `stage` and return the noisy clipped sum; `clip` may depend on earlier releases only."""
        return self.release_jointly([stage], contribution, clip)

    def release_jointly(self, stages: Sequence[str], contribution: Contribution, clip: float) -> Release:
        """Charge all events in `stages` and return one clipped sum with noise that spends them at once.

        Its multiplier sigma is `joint_multiplier` of theirs (docs/privacy.md, section 4.1).
        """
        multiplier = joint_multiplier([self._charge(stage).noise_multiplier or 0.0 for stage in stages])
        sensitivity = self._sensitivity(contribution.statistic.replace_factor)
        step = clip / BOUND
        with ThreadPoolExecutor(1) as executor:  # the noise depends on no data: drawn while the pass runs
            noise = executor.submit(self._column_noise, contribution, multiplier, sensitivity)
            total, mass = self._clipped_sum(contribution, clip)
            noisy = self._add_noise(total, noise.result())
        noisy_mass = self._noisy(mass, lattice_scale(multiplier, sensitivity)) / (MASS_SHARE * BOUND)
        return Release(noisy * step, max(noisy_mass, 1.0), multiplier * sensitivity * step)

    def decompose(self, W: np.ndarray, K: np.ndarray, theta: np.ndarray, clip: float) -> PtrResult:
        """Return noisy columns T(v_i, v_i, .), (k, k), by descending eigenvalue (T5).

        T is K plus the clipped mean of E3(W, W, W), and v_i are the eigenvectors of T(., ., theta). W (n_words, k)
        includes the word scale. W, LDA's correction K (k, k, k), theta (k,) and `clip` may depend on earlier releases
        only. Charges the events ``mass``, ``gap``, ``tensor norm`` and, if the gap is large enough, ``decomposition``.
        """
        event = self._charge(Stage.MASS)
        contribution = statistics.third_moment(W)
        total, mass = self._clipped_sum(contribution, clip)
        size = max(self._noisy(mass * round(1 / MASS_SHARE), self._scale(event)) / BOUND, 1.0)
        step = clip / BOUND / size
        change = self._sensitivity(contribution.statistic.replace_factor) * step
        return propose_test_release.release_decomposition(self._release_values, total[0] * step, K, theta, change)

    def final_topics(self, alpha0: float, h: np.ndarray, r: np.ndarray, topics: int) -> PtrResult:
        """Return noisy columns (r . x_i) x_i, (n_words, topics), from the exact moments of all eligible units (T6).

        The x_i are defined in `propose_test_release.SpectralTopics`. If LDA's second moment M2 is sum w_i mu_i mu_i',
        as in the population, the columns are w_i (r . mu_i) mu_i.

        The public h (n_words,), in [0, 1], contracts the third moment. The public r (n_words,), scaled to norm 1, makes
        a column independent of the sign of x_i. 2 <= topics < n_words. Charges the events ``size lower bound``,
        ``spectrum``, ``norm``, ``eigenvalue gap`` and ``topics`` until a test fails.
        """
        event = self._charge(Stage.SIZE_LOWER_BOUND)
        moments = self._exact_moments(h, r, topics)
        units = self._noisy_values(event, np.array([float(moments.units)]), 1.0)
        return propose_test_release.release_topics(
            self._release_values, units, spectral_topics(*moments.corrected(alpha0, h), r, topics), alpha0
        )

    def _charge(self, stage: str, mechanism: str = GAUSSIAN) -> Event:
        """Remove the planned event of `stage` from the frozen list and make it durable."""
        for position, event in enumerate(self._planned):
            if (event.stage, event.mechanism) == (stage, mechanism):
                del self._planned[position]
                self._progress.start(stage)
                self._make_durable(event)
                return event
        raise GateError(f"no planned {mechanism} event is left for stage {stage!r}")

    def _sensitivity(self, replace_factor: float) -> float:
        """Return the l2-sensitivity, in lattice units, of a sum of contributions of norm at most B = `BOUND` (T1).

        It is B if a unit is added or removed, and `replace_factor` * B if one is replaced.
        """
        return BOUND * (replace_factor if self._replace else 1.0)

    def _scale(self, event: Event, replace_factor: float = 1.0) -> float:
        return lattice_scale(event.noise_multiplier or 0.0, self._sensitivity(replace_factor))

    def _add_noise(self, values: _Integers, noise: _Integers) -> _Integers:
        """Return the noisy values. Exact values meet noise only here and in `Noise.above_threshold`.

        The audit `dplda.audit.replay` replaces these two functions to record the exact values and their noise.
        """
        noisy: _Integers = values + noise
        return noisy

    def _noisy(self, value: int, scale: float) -> float:
        return float(self._add_noise(value, int(self._noise.gaussian(scale, 1)[0])))

    def _column_noise(self, contribution: Contribution, multiplier: float, sensitivity: float) -> np.ndarray:
        """Draw independent noise; variances are divided by the columns' weights (docs/privacy.md, section 5)."""
        n_rows, width = contribution.shape
        noise = np.empty((n_rows, width), np.int64)
        for weight in np.unique(contribution.weights):
            columns = np.flatnonzero(contribution.weights == weight)
            scale = lattice_scale(multiplier, sensitivity, int(weight))
            noise[:, columns] = self._noise.gaussian(scale, n_rows * len(columns)).reshape(n_rows, -1)
        return noise

    def _release_values(self, stage: str, values: np.ndarray, sensitivity: float) -> NoisyValues:
        return self._noisy_values(self._charge(stage), values, sensitivity)

    def _noisy_values(self, event: Event, values: np.ndarray, sensitivity: float) -> NoisyValues:
        return release_values(event, self._noise, values, sensitivity, self._add_noise)

    def _exact_moments(self, h: np.ndarray, r: np.ndarray, topics: int) -> ExactMoments:
        n_words = len(self._words_in_use())
        public = len(h) == len(r) == n_words and h.min() >= 0 and h.max() <= 1 and r.any()
        if not (public and 2 <= topics < n_words):
            raise GateError("final topics need h in [0, 1] and r not 0 for each word, and 2 <= topics < words")
        return self._passes.exact_moments(h)

    def _clipped_sum(self, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
        if not 0 < clip < math.inf:
            raise GateError("a clip must be positive and finite")  # a negative one turns bounds around
        return self._passes.clipped_sum(self._check_fit(contribution), clip)

    def _words_in_use(self) -> tuple[str, ...]:
        if self._names is None:
            raise GateError("no words are in use yet")
        return self._names

    def _check_fit(self, contribution: Contribution) -> Contribution:
        """Return `contribution` after checking that it fits the words in use: compiled loops check no bounds."""
        if not contribution.is_sound(len(self._words_in_use())):
            raise GateError("the contribution is not about the words in use")
        if contribution.table_rows != (len(self._rows or ()) if contribution.statistic.layout.by_table_row else 0):
            raise GateError("the contribution is not about the table in use")
        return contribution
