"""Published bugs of libraries for differential privacy, each put into the product on purpose. Nothing of it is shipped.

Those of `PAPER` are the violations that Cebere et al. (2026, arXiv 2602.17454) found, as far as their artifact and the
issues that its authors filed name them; those of `OTHERS` are the paper's remark on values that are not numbers, and
bugs that were published elsewhere. A variant is not the library's code: it makes the same mistake at the corresponding
place of the product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.audit.broken import clip_not_applied, game_of, replacement_forgotten
from dplda.audit import games
from dplda.audit.games import Game, Neighbours
from dplda.audit.replay import Check
from dplda.budget import accountant
from dplda.budget.accountant import cost
from dplda.budget.events import GAUSSIAN, GAUSSIAN_THRESHOLD, Event, Stage, clip_of
from dplda.learning.placements import default
from dplda.learning.refinement import Refined, variational_rounds
from dplda.private import Release, WordFrequencies, curator, statistics
from dplda.private.curator import Curator
from dplda.private.passes.local_passes import LocalPasses, Passes
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.expected_counts import LIKELIHOOD_GAIN
from dplda.private.statistics.third_moment import THIRD_MOMENT
from dplda.private.store.count_store import CountStore
from dplda.private.store.units import UnitCounts

EPSILON = 8.0
_PARTS = 3
_PLANTED_DOCUMENTS = 250  # of the corpus without the canary, in games of whole runs
Broken = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class PublishedBug:
    """A `bug` of a `library`, where it was published, and the check that must find its variant in the `game`."""

    library: str
    bug: str
    source: str
    broken: Broken
    game: Callable[[], Game]
    check: Check

    @property
    def variant(self) -> str:
        """What the product does with the bug."""
        return (self.broken.__doc__ or "").strip()


def _mechanism(name: str, adjacency: str = "add-remove") -> Callable[[], Game]:
    return lambda: game_of(name, adjacency)(EPSILON)


def _unguarded(multiplier: float, sensitivity: float, weight: int = 1) -> float:
    """`lattice_scale` as a library without its lower limit has it."""
    return multiplier * sensitivity / math.sqrt(weight)


@contextmanager
def exact_number_as_divisor() -> Iterator[None]:
    """Means are sums over the exact number of units."""
    whole = Curator.release_jointly

    def divided(self: Curator, stages: Sequence[str], contribution: Contribution, clip: float) -> Release:
        return replace(whole(self, stages, contribution, clip), mass=float(self._passes.count_units()))

    with patch.object(Curator, "release_jointly", divided):
        yield


@contextmanager
def exact_size() -> Iterator[None]:
    """The number of units is charged, and released as it is."""

    def size(self: Curator) -> float:
        self._charge(Stage.SIZE)
        return float(self._passes.count_units())

    with patch.object(Curator, "size", size):
        yield


@contextmanager
def sensitivity_of_zero() -> Iterator[None]:
    """One of the sums has the sensitivity 0, and so no noise."""
    draw = Curator._column_noise

    def noise(self: Curator, contribution: Contribution, multiplier: float, sensitivity: float) -> np.ndarray:
        return draw(self, contribution, multiplier, 0.0 if contribution.statistic is THIRD_MOMENT else sensitivity)

    with patch.object(curator, "lattice_scale", _unguarded), patch.object(Curator, "_column_noise", noise):
        yield


@contextmanager
def branch_on_exact_value() -> Iterator[None]:
    """Words that no document holds have the frequency 0 without noise."""
    whole = Curator.word_frequencies

    def frequencies(self: Curator) -> WordFrequencies:
        noisy, (votes, _) = whole(self), self._passes.count_votes()
        return replace(noisy, frequencies=np.where(votes > 0, noisy.frequencies, 0.0))

    with patch.object(Curator, "word_frequencies", frequencies):
        yield


@contextmanager
def words_of_the_documents() -> Iterator[None]:
    """The vocabulary is that of the documents; the frequencies have noise."""

    def choose_words(self: Curator, listed: Sequence[str] = ()) -> WordFrequencies:
        assert not listed
        scale = self._scale(self._charge(Stage.VOCABULARY, GAUSSIAN_THRESHOLD))
        self._charge(Stage.VOTE_TOTAL)
        self.use_all_words()
        votes, full = self._passes.count_votes()
        present = np.flatnonzero(votes)
        noisy = self._add_noise(votes[present], self._noise.gaussian(scale, len(present)))
        return WordFrequencies(tuple(self._passes.dictionary[word] for word in present), noisy / full, scale / full)

    with patch.object(Curator, "choose_words", choose_words):
        yield


@contextmanager
def clip_at_the_largest_norm() -> Iterator[None]:
    """The clip is the largest norm of a unit."""

    def clip(self: Curator, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        self._charge(clip_of(stage))
        return self._passes.largest_norm(contribution)

    with patch.object(Curator, "clip", clip):
        yield


@contextmanager
def raw_votes() -> Iterator[None]:
    """A unit has a whole vote for each of its words, and the noise is for votes of norm B."""

    def count_votes(self: LocalPasses) -> tuple[np.ndarray, int]:
        counts = self.range_counts(0)
        return np.bincount(counts.words, minlength=counts.n_words) * BOUND, counts.n_units * BOUND

    with patch.object(LocalPasses, "count_votes", count_votes):
        yield


def _accountant(linear: Callable[[float], float]) -> Broken:
    """An accountant with epsilon = mu^2 / 2 + `linear`(delta) mu; with sqrt(2 log(1 / delta)) it would be a bound."""

    def run_epsilon(events: Iterable[Event], delta: float) -> float:
        mu = math.sqrt(cost(events).mu_squared)
        return mu**2 / 2 + linear(delta) * mu

    def gaussian_budget(epsilon: float, delta: float) -> float:
        return math.sqrt(linear(delta) ** 2 + 2 * epsilon) - linear(delta)

    @contextmanager
    def broken() -> Iterator[None]:
        """Plans are calibrated by a formula for epsilon with a wrong term."""
        accountant.calibrate.cache_clear()
        with (
            patch.object(accountant, "run_epsilon", run_epsilon),
            patch.object(accountant, "gaussian_budget", gaussian_budget),
        ):
            yield
        accountant.calibrate.cache_clear()

    return broken


@contextmanager
def two_releases_for_one_charge() -> Iterator[None]:
    """The vote total is released with the noise of the frequencies, and without a charge of its own."""
    whole, charged = Curator._charge, dict[int, Event]()

    def charge(self: Curator, stage: str, mechanism: str = GAUSSIAN) -> Event:
        if stage != Stage.VOTE_TOTAL:
            charged[id(self)] = whole(self, stage, mechanism)
        return charged[id(self)]

    with patch.object(Curator, "_charge", charge):
        yield


@contextmanager
def both_terms_of_a_difference() -> Iterator[None]:
    """Each of the two log-likelihoods of the gain is clipped, and their difference has the noise of one."""
    whole = Passes.clipped_sum

    def clipped_sum(self: Passes, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
        total, mass = whole(self, contribution, clip)
        return (2 * total if contribution.statistic is LIKELIHOOD_GAIN else total), mass

    with patch.object(Passes, "clipped_sum", clipped_sum):
        yield


@contextmanager
def replaced_counts() -> Iterator[None]:
    """Votes have the sensitivity of a unit that is added, where one is replaced."""
    with patch.object(curator, "NONNEGATIVE", 1.0):
        yield


@contextmanager
def nan_passes_the_clip() -> Iterator[None]:
    """A contribution that is not a number is not above the clip, and is cast to an integer."""
    whole = Passes.clipped_sum

    def clipped_sum(self: Passes, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
        total, mass = whole(self, contribution, clip)
        if not math.isfinite(self.largest_norm(contribution)):
            total[-1] = np.iinfo(np.int64).min
        return total, mass

    with patch.object(Passes, "clipped_sum", clipped_sum):
        yield


@contextmanager
def noise_drawn_once() -> Iterator[None]:
    """Sums of the same shape get the same random numbers."""
    draw, drawn = Curator._column_noise, dict[tuple[int, tuple[int, int]], np.ndarray]()

    def noise(self: Curator, contribution: Contribution, multiplier: float, sensitivity: float) -> np.ndarray:
        key = id(self), contribution.shape
        if key not in drawn:
            drawn[key] = draw(self, contribution, multiplier, sensitivity)
        return drawn[key]

    with patch.object(Curator, "_column_noise", noise):
        yield


@contextmanager
def floating_point_noise() -> Iterator[None]:
    """Noise is drawn in floating-point numbers."""

    def noise(self: Curator, contribution: Contribution, multiplier: float, sensitivity: float) -> np.ndarray:
        return np.random.default_rng(0).normal(0.0, multiplier * sensitivity, contribution.shape)

    with patch.object(Curator, "_column_noise", noise):
        yield


@contextmanager
def noise_for_a_mean() -> Iterator[None]:
    """The noise of a mean, which is smaller by the number of units, is added to the sum."""
    draw = Curator._column_noise

    def noise(self: Curator, contribution: Contribution, multiplier: float, sensitivity: float) -> np.ndarray:
        return draw(self, contribution, multiplier, sensitivity / self._passes.count_units())

    with patch.object(curator, "lattice_scale", _unguarded), patch.object(Curator, "_column_noise", noise):
        yield


@contextmanager
def one_part_for_all() -> Iterator[None]:
    """Documents are summed in three parts, and each of them is the last one."""
    part = LocalPasses.range_counts

    def last_part(self: LocalPasses, index: int) -> UnitCounts:
        return part(self, _PARTS - 1)

    def passes(store: CountStore) -> LocalPasses:
        return LocalPasses(store, _PARTS)

    with patch.object(LocalPasses, "range_counts", last_part), patch.object(games, "LocalPasses", passes):
        yield


@contextmanager
def rounds_that_the_documents_decide() -> Iterator[None]:
    """The refinement stops early where there are enough documents, by their exact number."""
    size, units = Curator.size, list[int]()

    def noisy_size(self: Curator) -> float:
        units.append(self._passes.count_units())
        return size(self)

    def fewer(expected: Any, start: np.ndarray, frequencies: np.ndarray, rounds: int) -> Refined:
        return variational_rounds(expected, start, frequencies, 2 if units[-1] > _PLANTED_DOCUMENTS else rounds)

    with patch.object(Curator, "size", noisy_size), patch.object(default, "variational_rounds", fewer):
        yield


def _of_every_word() -> Game:
    """The game of frequencies with a canary of every word."""
    game = _mechanism("frequency")()
    return replace(game, neighbours=replace(game.neighbours, more=np.ones(len(game.neighbours.words), np.int64)))


def _not_a_number() -> Game:
    """A game of a sum whose last word, which the canary alone has, has an infinite scale."""
    game, last = _mechanism("mean")(), np.zeros(6, np.int64)
    last[-1] = 3
    statistic = statistics.first_moment(np.array([1.0, 1.0, 1.0, 1.0, 1.0, np.inf]))
    (event,) = game.events
    return replace(
        game,
        neighbours=Neighbours(game.neighbours.words, game.neighbours.base, last),
        play=lambda gate: gate.release(event.stage, statistic, 1.0),
    )


_ARTIFACT = "artifact of arXiv 2602.17454"
_SMARTNOISE, _DIFFPRIVLIB = "opendp/smartnoise-sdk", "IBM/differential-privacy-library"

PAPER = (
    PublishedBug(
        "Opacus",
        "the number of records sets the divisor of the noisy sum",
        f"{_ARTIFACT}, experiment 1; meta-pytorch/opacus#571",
        exact_number_as_divisor,
        _mechanism("mean"),
        Check.OUTPUT,
    ),
    PublishedBug(
        "Synthcity",
        "the number of records is used as if it were public",
        f"{_ARTIFACT}, test_buggy_private_mean",
        exact_size,
        _mechanism("size"),
        Check.OUTPUT,
    ),
    PublishedBug(
        "Synthcity",
        "PrivBayes: the sensitivity is 0 where the degree equals the number of columns",
        f"{_ARTIFACT}, test_noise_miscalibration",
        sensitivity_of_zero,
        _mechanism("placement config2"),
        Check.LOSS,
    ),
    PublishedBug(
        "Synthcity",
        "PrivBayes: a branch on exact mutual information",
        f"{_ARTIFACT}, audit harness (is_weak_mi)",
        branch_on_exact_value,
        _mechanism("placement config2"),
        Check.OUTPUT,
    ),
    PublishedBug(
        "diffprivlib",
        "linear regression: the sensitivity takes the lower bound twice",
        f"{_DIFFPRIVLIB}#105",
        replacement_forgotten,
        _mechanism("tensor", "replace"),
        Check.LOSS,
    ),
    PublishedBug(
        "diffprivlib",
        "logistic regression: the classes are those of the data",
        f"{_DIFFPRIVLIB}#106",
        words_of_the_documents,
        _mechanism("vocabulary, unknown words"),
        Check.FLOW,
    ),
    PublishedBug(
        "dpmm",
        "the domain is the maximum of each column",
        "sassoftware/dpmm#18",
        clip_at_the_largest_norm,
        _mechanism("placement config2"),
        Check.OUTPUT,
    ),
    PublishedBug(
        "dpmm",
        "raw data are summed, with the sensitivity of bounded data",
        f"{_ARTIFACT}, test_sensitivity_miscalibration",
        raw_votes,
        _of_every_word,
        Check.LOSS,
    ),
    PublishedBug(
        "SmartNoise SDK",
        "covariance: clipped data are computed, and the raw data used",
        f"{_SMARTNOISE}#622",
        clip_not_applied,
        _mechanism("refine"),
        Check.LOSS,
    ),
    PublishedBug(
        "SmartNoise SDK",
        "odometer: a logarithm is missing in the formula",
        f"{_SMARTNOISE}#621",
        _accountant(lambda delta: math.sqrt(2 / delta)),
        _mechanism("mean"),
        Check.PLAN,
    ),
    PublishedBug(
        "MOSTLY AI",
        "two queries are charged as one",
        f"{_ARTIFACT}, test_double_spending",
        two_releases_for_one_charge,
        _mechanism("frequency"),
        Check.LOSS,
    ),
    PublishedBug(
        "mbi (Private-PGM)",
        "JAM: a score of two private terms has the sensitivity of one",
        "ryan112358/mbi#65",
        both_terms_of_a_difference,
        _mechanism("prior gain"),
        Check.LOSS,
    ),
    PublishedBug(
        "mbi (Private-PGM)",
        "JAM: counts have the sensitivity of an added record where one is replaced",
        f"{_ARTIFACT}, audit harness (distance 1.414, sensitivity 1)",
        replaced_counts,
        _mechanism("frequency", "replace"),
        Check.LOSS,
    ),
)

OTHERS = (
    PublishedBug(
        "SmartNoise Synth, dpmm, Synthcity, Opacus, diffprivlib",
        "values that are not numbers pass the clip",
        f"{_ARTIFACT}, test_nan_injection",
        nan_passes_the_clip,
        _not_a_number,
        Check.LOSS,
    ),
    PublishedBug(
        "SmartNoise Core",
        "a sign in the formula of the Gaussian mechanism makes its noise too small",
        "opendp/smartnoise-core#316",
        _accountant(lambda delta: -math.sqrt(2 * math.log(1 / delta))),
        _mechanism("mean"),
        Check.PLAN,
    ),
    PublishedBug(
        "DataSynthesizer",
        "counts get the noise of proportions, which is smaller by the number of records",
        "DataResponsibly/DataSynthesizer#34",
        noise_for_a_mean,
        _mechanism("mean"),
        Check.NOISE,
    ),
    PublishedBug(
        "JAX, example of private training",
        "several gradients get noise from the same key",
        "jax-ml/jax#3646",
        noise_drawn_once,
        _mechanism("placement default"),
        Check.NOISE,
    ),
    PublishedBug(
        "diffprivlib and others",
        "noise in floating-point numbers",
        f"Mironov 2012; {_DIFFPRIVLIB}#94",
        floating_point_noise,
        _mechanism("mean"),
        Check.NOISE,
    ),
    PublishedBug(
        "PATE-GAN",
        "every teacher gets the same part of the data",
        "vanderschaarlab/mlforhealthlabpub#29",
        one_part_for_all,
        _mechanism("mean"),
        Check.LOSS,
    ),
    PublishedBug(
        "DPWGAN of a challenge of NIST",
        "exact values stop the training early",
        "arXiv 2405.10994",
        rounds_that_the_documents_decide,
        _mechanism("placement default"),
        Check.FLOW,
    ),
)
