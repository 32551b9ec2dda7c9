"""Forecasts of fits with the default placement from public numbers; no document is read, nothing is charged.

The constants were measured once on two public corpora in English, with one document per unit and without stop words:
100,000 film reviews (IMDB) and the 18,847 posts of 20 newsgroups. The two corpora's word frequencies and document
lengths differ by at most a tenth. The topics of the film reviews are close together, those of the newsgroups far apart.

The noise of a stage is its noise multiplier times its clipping threshold. Both are as in a fit: the threshold is a
quantile of the norms of the documents' contributions. These norms are nearly log-normal.

Let h be a document's vector of scaled word frequencies (d,), where d is the number of words. Let y be its projection:
on the block of p directions in the subspace and core stages, and on the whitened topics in the tensor stage. l is the
harmonic mean length of a document. Words are scaled by 1 / sqrt(frequency), so the typical norm of a contribution is

mean        |h|, with |h|^2 = d / l.
subspace    |h| |y|, with |y|^2 = p / l for a random block. Later blocks add the eigenvalues that they captured.
core        |y|^2, where y includes the mean direction: 1 + the captured eigenvalues + p / l.
tensor      |y|^3, where |y|^2 is the sum of (eigenvalue + 1 / l) / (eigenvalue used for whitening) over the topics.
refine      The norm of the document's scaled expected counts.

Noise rotates the directions of a block. With noise of spectral norm n, the block captures the share v^2 / (v^2 + n^2)
of an eigenvalue v. Supported topics are counted as in a fit, on simulated cores: diagonal matrices of the captured
eigenvalues, plus noise from a public seed.

`least_epsilon` and `least_documents` search for what supports all topics, and `forecast_prior` forecasts a run with a
prior.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from dplda.base.config import MINIMUM_LENGTH, RANGES
from dplda.budget.accountant import calibrate, cost
from dplda.budget.events import Event, Stage, base_of, is_clip
from dplda.learning.model_size import (
    chosen_words_needed,
    most_paired_words,
    most_topics,
    most_words,
    noise_level,
)
from dplda.learning.placements import default
from dplda.learning.placements.stages import LOW_QUANTILE, POWER_ROUNDS, REFINE_QUANTILE, clip_quantile, word_power
from dplda.learning.recovery import word_scale
from dplda.learning.settings import LISTED, FitSettings
from dplda.private import WordFrequencies
from dplda.private.statistics import NONNEGATIVE, SIGNED
from dplda.private.statistics.expected_counts import MOST_GAIN
from dplda.private.statistics.lda_moments import coefficients
from dplda.runs.enough import DOCUMENTS, VOTE, find_least, scale_events, typical_words, votes_needed, with_epsilon

PICKED = 65.0  # distinct words of a document before a vocabulary is chosen; each gets a vote of 1 / sqrt(their number)
LENGTH = 0.7  # effective document length in the moments, 1 / mean(1 / length), divided by its distinct words
WORD_ENERGY = 0.8  # mean over the words of a document of (count times the share of it assigned to one topic)^2
_DECAY = 0.5  # eigenvalue j of the scaled second moment, orthogonal to the mean direction, is proportional to j^-_DECAY
TOP_WORD = 0.01  # probability of a word near the top of its topic

# Standard deviations of the logarithms of the units' norms, which are nearly normal.
SPREADS: dict[str, float] = {
    Stage.MEAN: 0.3,
    Stage.SUBSPACE: 0.65,
    Stage.CORE: 0.5,
    Stage.TENSOR: 1.1,
    Stage.REFINE: 0.45,
}


@dataclass(frozen=True)
class ReferenceCorpus:
    """A kind of corpus."""

    name: str
    example: str
    eigenvalue: float
    """The first eigenvalue of its scaled second moment, orthogonal to the mean direction."""

    def eigenvalues(self, count: int) -> np.ndarray:
        """Return the first `count` eigenvalues orthogonal to the mean direction without noise, (count,), descending."""
        return np.asarray(self.eigenvalue * np.arange(1, count + 1) ** -_DECAY)


ONE_SUBJECT = ReferenceCorpus("one subject", "film reviews", 0.12)
MANY_SUBJECTS = ReferenceCorpus("many subjects", "newsgroups", 0.28)
REFERENCE_CORPORA = (ONE_SUBJECT, MANY_SUBJECTS)


_CUBIC = 1.66  # norm of symmetric Gaussian noise (k, k, k) over std * sqrt(k) (ground state of the 3-spin model)
_DRAWN = 200  # approximate number of eigenvalues over all draws of the core's noise


@dataclass(frozen=True)
class StageForecast:
    """The noise and the typical signal of a stage, in the same unit."""

    name: str
    multiplier: float
    """The noise multiplier."""
    noise: float
    signal: float


@dataclass(frozen=True)
class Forecast:
    """The expected result of a fit.

    With too few words for the topics, a fit would stop after the vocabulary; then no topic is supported and no later
    stage is listed.
    """

    words: int
    """The number of modelled words."""
    supported: int
    """The number of eigenvalues above the noise."""
    stages: tuple[StageForecast, ...]
    eigenvalues: tuple[float, ...] = ()
    """Those of the second moment without noise, descending."""
    word_power: float = 0.0
    """The refinement scales words by their frequency to the power -`word_power`."""
    from_pairs: bool = False
    """Whether a fit learns from pairs of words; its topics are forecast as for a fit from moments all the same."""


@dataclass(frozen=True)
class ForecastInputs:
    """The public inputs of a forecast; one document is one unit. Raises `InputError` if they are out of range."""

    settings: FitSettings
    documents: int
    public_vocabulary: bool = False

    def __post_init__(self) -> None:
        DOCUMENTS.check("documents", self.documents)

    @property
    def most_topics(self) -> int:
        """The largest number of topics that a fit can return."""
        return most_topics(self.settings)

    @property
    def events(self) -> tuple[Event, ...]:
        """The planned events of a fit."""
        shares = default.shares(self.public_vocabulary, self.settings.model.topics)
        return calibrate(shares, self.settings.privacy.epsilon, self.settings.privacy.delta)

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the budget by stage, with sum 1.

        The share of a stage includes choosing its clipping norm. The share of the words includes the event
        ``vote total``, by which votes for words are divided to give their document frequencies.
        """
        events = self.events
        parts = dict.fromkeys((event.stage for event in events), 0.0)
        for event in events:
            parts[event.stage] += cost([event]).mu_squared / cost(events).mu_squared
        for stage in [stage for stage in parts if is_clip(stage)]:
            parts[base_of(stage)] += parts.pop(stage)
        parts[Stage.FREQUENCY if self.public_vocabulary else Stage.VOCABULARY] += parts.pop(Stage.VOTE_TOTAL)
        return parts

    def forecast(self, kind: ReferenceCorpus) -> Forecast:
        """Return the forecast for a corpus of `kind`."""
        return forecast_with(self, kind, self.events)


@dataclass(frozen=True)
class _Noise:
    """Computes the noise of stages from their `multipliers`; `replaces` says whether neighbours replace one unit."""

    documents: int
    multipliers: Mapping[str, float]
    replaces: bool

    def deviation(self, stage: str, replace_factor: float) -> float:
        """Noise standard deviation of a sum of contributions of norm at most 1 (sensitivity 1, or `replace_factor`)."""
        return self.multipliers[stage] * (replace_factor if self.replaces else 1.0)

    def clipped(
        self, stage: str, median: float, quantile: float, replace_factor: float, growth: float = 1.0
    ) -> tuple[float, float]:
        """Return the noise standard deviation of a clipped sum, and the expected sum of its clip factors.

        The clip factor of a document is min(1, threshold / norm). The threshold is the `quantile` of log-normal norms
        with this `median`. The norms have grown by the factor `growth` since the threshold was chosen.
        """
        spread = SPREADS[stage]
        clip = median * math.exp(spread * ndtri(quantile))
        position = math.log(clip / (growth * median)) / spread
        kept = ndtr(position) + clip / (growth * median) * math.exp(spread**2 / 2) * ndtr(-position - spread)
        return self.deviation(stage, replace_factor) * clip, max(self.documents * float(kept), 1.0)

    def of_mean(self, stage: str, median: float, quantile: float, replace_factor: float, growth: float = 1.0) -> float:
        """Noise standard deviation of a clipped mean; the parameters are as in `clipped`."""
        std, mass = self.clipped(stage, median, quantile, replace_factor, growth)
        return std / mass


@dataclass(frozen=True)
class _Text:
    """The scaled words of typical documents."""

    proportions: np.ndarray
    """The words' frequencies with sum 1, (n_words,)."""
    held: float
    """The number of distinct words of a document."""
    length: float
    """The effective length of a document."""
    mean: float
    """The squared norm of the mean of h; 1 if the frequencies that scale the words carry no noise."""
    flat: float
    """The mean over words of the squared scaling times the proportion; also 1 without noise."""

    @classmethod
    def of(cls, words: WordFrequencies) -> _Text:
        """Return documents that contain these words at their frequencies, scaled as in a fit."""
        held = float(words.frequencies.sum())
        proportions = words.frequencies / held
        energy = word_scale(words) ** 2 * proportions
        length = max(LENGTH * held, MINIMUM_LENGTH)
        return cls(proportions, held, length, float(energy @ proportions), float(energy.mean()))


def forecast_with(inputs: ForecastInputs, kind: ReferenceCorpus, events: Sequence[Event]) -> Forecast:
    """Return the forecast for a corpus of `kind` under `events`, with all stages in the order of a fit."""
    settings = inputs.settings
    multipliers = {event.stage: event.noise_multiplier or 0.0 for event in events}
    noise = _Noise(inputs.documents, multipliers, settings.privacy.adjacency == "replace")
    words, vocabulary, pairs = _words(noise, inputs, sum(event.delta for event in events))
    size = StageForecast(Stage.SIZE, multipliers[Stage.SIZE], noise.deviation(Stage.SIZE, 1.0), float(inputs.documents))
    d = len(words.frequencies)
    if d < (settings.model.least_words if inputs.public_vocabulary else chosen_words_needed(settings)):
        return Forecast(d, 0, (size, vocabulary))
    text = _Text.of(words)
    median = math.sqrt(d * text.flat / text.length)
    mean_noise = noise.of_mean(Stage.MEAN, median, default.MEAN_QUANTILE, NONNEGATIVE) * math.sqrt(d)
    true = text.flat * kind.eigenvalues(min(d - 1, inputs.most_topics + default.OVERSAMPLING))
    std, captured = _capture(noise, text, d, true)
    core_quantile = _core_quantile(np.sqrt(true * captured), std, d, inputs.most_topics)
    core_mean = text.mean + captured.sum() + len(captured) * text.flat / text.length
    core_median = core_mean * math.exp(-(SPREADS[Stage.CORE] ** 2) / 2)  # median of a log-normal distribution
    core_std = noise.of_mean(Stage.CORE, core_median, core_quantile, SIGNED)
    level = noise_level(core_std, len(captured) + 1)
    whole = text.mean + mean_noise**2
    values = np.sort([text.mean**2 / whole - coefficients(settings.model.alpha0)[0] * whole, *captured])[::-1]
    supported = _count_supported(values, core_std)
    k = max(supported, 1) if settings.model.topics == "auto" else int(settings.model.topics)
    k = min(k, inputs.most_topics)
    last = float(np.sort([text.mean, *true])[::-1][k - 1])
    power = word_power(inputs.documents, k, settings)
    # The eigenvalue of the whitened tensor of k equal topics (docs/privacy.md, section 0).
    whitened = 2 * math.sqrt(k * (settings.model.alpha0 + 1)) / (settings.model.alpha0 + 2)
    compared = {
        Stage.MEAN: (mean_noise, math.sqrt(text.mean)),
        Stage.SUBSPACE: (std * (math.sqrt(d) + math.sqrt(len(true))), last),
        Stage.CORE: (level, float(values[k - 1])),
        Stage.TENSOR: (_tensor_noise(noise, text, values[:k], level), whitened),
        Stage.REFINE: _refinement(noise, text, k, power),
    }
    stages = (StageForecast(name, multipliers[name], *pair) for name, pair in compared.items())
    return Forecast(d, supported, (size, vocabulary, *stages), tuple(float(value) for value in values), power, pairs)


def _words(noise: _Noise, inputs: ForecastInputs, failure: float) -> tuple[WordFrequencies, StageForecast, bool]:
    """Return the modelled words, the forecast of the stage that finds them, and whether a fit learns from word pairs.

    The stage's noise is the number of documents at which a word is selected with probability 1/2, and its signal the
    number that contain the rarest word. Words that are public or listed need no selection: the noise is that of counts.
    """
    stage = Stage.FREQUENCY if inputs.public_vocabulary else Stage.VOCABULARY
    std = noise.deviation(stage, NONNEGATIVE)
    wanted = typical_words(inputs.settings)
    if inputs.public_vocabulary:
        kept, picked, needed = wanted, max(LENGTH * float(wanted.sum()), 1.0), std
    elif inputs.settings.vocabulary.words == LISTED:
        kept, picked, needed = wanted, PICKED, std
    else:
        needed = votes_needed(noise.multipliers[stage], failure, inputs.settings.privacy.adjacency)
        picked, kept = PICKED, typical_words(inputs.settings, needed / (VOTE * noise.documents))
    pairs = default.uses_pairs(noise.documents, WordFrequencies((), kept, std), inputs.settings)
    limit = (most_paired_words if pairs else most_words)(noise.documents, inputs.settings)
    words = WordFrequencies((), kept[:limit], std * math.sqrt(picked) / noise.documents)
    signal = float(wanted[-1]) * noise.documents if len(wanted) else 0.0
    return words, StageForecast(stage, noise.multipliers[stage], needed / VOTE, signal), pairs


def units_needed(events: Sequence[Event], adjacency: str) -> float | None:
    """Return about how many units use a word that a run of `events` releases with probability 1/2.

    None unless the run chose its words privately; if it compared them with a list, this is of words outside the list.
    Assumes that a unit votes for a word as a mean document of the reference corpora would.
    """
    event = next((event for event in events if event.stage == Stage.VOCABULARY), None)
    if event is None or event.noise_multiplier is None:
        return None
    return votes_needed(event.noise_multiplier, event.delta, adjacency) / VOTE


def _capture(noise: _Noise, text: _Text, d: int, true: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the noise per coordinate in the last round of the subspace stage, and the captured eigenvalues (p,).

    `true` (p,) are the eigenvalues without noise.
    """
    random = len(true) * text.flat / text.length
    median = math.sqrt(d * text.flat / text.length * random)
    captured = np.zeros_like(true)
    for _ in range(POWER_ROUNDS):
        growth = math.sqrt(1 + captured.sum() / random)
        std = noise.of_mean(Stage.SUBSPACE, median, LOW_QUANTILE, SIGNED, growth)
        captured = true**3 / (true**2 + d * std**2)
    return std, captured


def _core_quantile(block: np.ndarray, std: float, d: int, topics: int) -> float:
    """Return the quantile at which a fit clips the core.

    A fit derives it from the singular values of the last block; `block` (p,) are these values without noise. Noise of
    standard deviation n per coordinate (`std`) raises a singular value v to sqrt((v^2 + d n^2) (v^2 + p n^2)) / v
    (Benaych-Georges and Nadakuditi 2012).
    """
    p = len(block)
    last = float(block[min(max(topics - 1, 1), p) - 1])
    level = std * (math.sqrt(d) + math.sqrt(p))
    lifted = (
        math.sqrt((last**2 + d * std**2) * (last**2 + p * std**2)) / last if last > (d * p) ** 0.25 * std else level
    )
    return clip_quantile(lifted - level, level / 3)


def _count_supported(values: np.ndarray, std: float) -> int:
    """The mean number of eigenvalues above the noise level in a core with eigenvalues `values` (p,) plus noise."""
    seen = np.linalg.eigvalsh(np.diag(values) + std * _symmetric_noise(len(values)))
    return round(float((seen > noise_level(std, len(values))).sum(axis=1).mean()))


@lru_cache(maxsize=4)
def _symmetric_noise(p: int) -> np.ndarray:
    """Fixed draws of a symmetric matrix (n, p, p), of standard deviation 1 on the diagonal and 1 / sqrt(2) off it."""
    drawn = np.random.default_rng(0).standard_normal((max(1, _DRAWN // p), p, p))
    return np.asarray((drawn + drawn.transpose(0, 2, 1)) / 2)


def _tensor_noise(noise: _Noise, text: _Text, values: np.ndarray, level: float) -> float:
    """Spectral norm of the noise on the tensor, whitened by the core eigenvalues `values` (k,), descending.

    Eigenvalues below `level`, the noise level of the core, are raised to it, or to a thousandth of the first if that is
    more.
    """
    floored = np.maximum(values, max(level, 1e-3 * values[0]))
    square = float(((np.maximum(values, 0.0) + text.flat / text.length) / floored).sum())
    median = square**1.5 * math.exp(-(SPREADS[Stage.TENSOR] ** 2) / 3)  # median of the cube of a log-normal length
    quantile = clip_quantile(float(values[-1]), level)
    return _CUBIC * math.sqrt(len(values)) * noise.of_mean(Stage.TENSOR, median, quantile, SIGNED)


def _refinement(noise: _Noise, text: _Text, k: int, power: float) -> tuple[float, float]:
    """Return the noise, in one round, of the count of a word near the top of one of k equal topics, and the mean count.

    Words are scaled by their frequency to the power -`power`.
    """
    scale = (text.proportions + 1e-5) ** -power
    median = math.sqrt(WORD_ENERGY * text.held * float(text.proportions @ (scale / scale.mean()) ** 2))
    std, mass = noise.clipped(Stage.REFINE, median, REFINE_QUANTILE, NONNEGATIVE)
    top = (TOP_WORD / k + 1e-5) ** -power / scale.mean()
    return float(std / top), TOP_WORD * mass * text.held / k


def least_epsilon(inputs: ForecastInputs, kind: ReferenceCorpus) -> float | None:
    """Return the least epsilon in range at which a corpus of `kind` supports all requested topics, or None.

    Multipliers are inversely proportional to the total GDP parameter, so one calibration serves all budgets.
    """
    settings, events = inputs.settings, inputs.events

    def supports(epsilon: float) -> bool:
        changed = replace(inputs, settings=with_epsilon(settings, epsilon))
        return forecast_with(changed, kind, scale_events(events, settings, epsilon)).supported >= inputs.most_topics

    return find_least(supports, RANGES["epsilon"])


def least_documents(inputs: ForecastInputs, kind: ReferenceCorpus) -> int | None:
    """Return the least number of documents at which a corpus of `kind` supports all requested topics, or None."""
    events = inputs.events

    def supports(documents: float) -> bool:
        changed = replace(inputs, documents=math.ceil(documents))
        return forecast_with(changed, kind, events).supported >= inputs.most_topics

    least = find_least(supports, DOCUMENTS)
    return None if least is None else math.ceil(least)


_STANDS_OUT = 3.0  # a sum this many standard deviations above 0 stands out from its noise
_GAIN = 0.1  # a document's mean gain less the least one, for public text about the same things (docs/design-log.md)
_PRIOR_DEVIATIONS = 4.0  # of the noise of the test, above which it succeeds nearly always


@dataclass(frozen=True)
class PriorForecast:
    """The expected result if the prior explains the documents.

    `least_share` is the least share of the text at which a topic stands out from the noise. `least_documents` is the
    least number of documents at which the test of the prior succeeds nearly always.
    """

    least_share: float
    least_documents: int


def forecast_prior(settings: FitSettings, documents: int, *, public_vocabulary: bool) -> PriorForecast:
    """Return the forecast for a run over `documents` with a prior."""
    shares = default.shares(public_vocabulary, settings.model.topics, with_prior=True)
    events = calibrate(shares, settings.privacy.epsilon, settings.privacy.delta)
    replaces = settings.privacy.adjacency == "replace"
    sums = [event for event in events if event.stage in (Stage.START, Stage.REFINE)]
    precision = sum((event.noise_multiplier or math.inf) ** -2 for event in sums)
    std = precision**-0.5 * (NONNEGATIVE if replaces else 1.0)
    test, _ = (event for event in events if event.stage == Stage.PRIOR_GAIN)  # the second one decides less often
    noise = (test.noise_multiplier or 0.0) * MOST_GAIN * (SIGNED if replaces else 1.0)
    return PriorForecast(min(1.0, _STANDS_OUT * std / documents), math.ceil(_PRIOR_DEVIATIONS * noise / _GAIN))
