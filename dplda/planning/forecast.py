"""Forecast of a fit with the default placement, from public numbers alone: nothing is read, charged or spent.

Noise follows from the plan: a stage's multiplier is that of a fit, and its clip is placed where a fit places it, among
norms that are near log-normal. Words are scaled to equal energy, so that medians of the norms follow from the number
of words d, the effective length l of a document, the width p of the block and the eigenvalues:

mean        |h|, |h|^2 = d / l
subspace    |h| |y|, |y|^2 = p / l for a random block, more by the eigenvalues that it has found
core        |y|^2, with the mean direction, of length 1
tensor      |y|^3, |y|^2 = sum of (eigenvalue + 1 / l) / whitened eigenvalue
refine      the norm of the scaled counts

Of an eigenvalue v a block seen with noise n finds v^3 / (v^2 + n^2): the noise turns its direction away. The topics
that a fit would count are counted as it does, on cores of these eigenvalues with noise drawn from a public seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.stats import norm

from dplda.accounting.accountant import cost, gaussian_budget
from dplda.accounting.budget_plan import calibrate
from dplda.accounting.events import Event, Stage, base_of, is_clip
from dplda.config import MINIMUM_LENGTH, RANGES, FitSettings, Range
from dplda.lda.recovery import most_topics, word_scale
from dplda.lda.whitening import noise_level
from dplda.mechanisms.curator import WordFrequencies
from dplda.mechanisms.partition_selection import selection_threshold
from dplda.numerics.lattice import BOUND
from dplda.placements import default
from dplda.placements.stages import LOW_QUANTILE, clip_quantile
from dplda.planning import reference_corpora
from dplda.planning.reference_corpora import ReferenceCorpus
from dplda.statistics import NONNEGATIVE, SIGNED
from dplda.statistics.lda_moments import coefficients
from dplda.statistics.word_votes import MOST_WORDS

DOCUMENTS = Range(low=1, high=10**12, unit="documents", integer=True)
CUBIC = 1.66  # norm of symmetric Gaussian noise (k, k, k) over its std times sqrt(k): the ground state of three spins
DRAWN = 200  # eigenvalues, at least, over all draws of the core's noise


@dataclass(frozen=True)
class StageForecast:
    """A stage's noise `multiplier`, and its `noise` beside a typical `signal`, in the same unit."""

    name: str
    multiplier: float
    noise: float
    signal: float


@dataclass(frozen=True)
class Forecast:
    """The expected result of a fit: the number of `words` modelled, topics `supported`, and the `stages`.

    `eigenvalues` are the core's without its noise, descending. With too few words for the topics the run would end:
    no topic is supported and no stage follows the vocabulary.
    """

    words: int
    supported: int
    stages: tuple[StageForecast, ...]
    eigenvalues: tuple[float, ...] = ()
    word_power: float = 0.0  # words are scaled in the refinement by frequency to minus this


@dataclass(frozen=True)
class ForecastInputs:
    """Public numbers behind a forecast; one document is one unit. Raises `InputError` out of range."""

    settings: FitSettings
    documents: int
    public_vocabulary: bool = False

    def __post_init__(self) -> None:
        DOCUMENTS.check("documents", self.documents)

    @property
    def most_topics(self) -> int:
        """The most topics that a fit can end with."""
        return most_topics(self.settings)

    @property
    def events(self) -> tuple[Event, ...]:
        """The planned events, those of a fit."""
        shares = default.shares(self.public_vocabulary, self.settings.model.topics)
        return calibrate(shares, self.settings.privacy.epsilon, self.settings.privacy.delta)

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the budget, adding to 1, by stage; a clip belongs to its stage, the vote total to the words."""
        events = self.events
        parts = dict.fromkeys((event.stage for event in events), 0.0)
        for event in events:
            parts[event.stage] += cost([event]).mu_squared / cost(events).mu_squared
        for stage in [stage for stage in parts if is_clip(stage)]:
            parts[base_of(stage)] += parts.pop(stage)
        parts[events[0].stage] += parts.pop(Stage.VOTE_TOTAL)
        return parts

    def forecast(self, kind: reference_corpora.ReferenceCorpus) -> Forecast:
        """What a corpus of `kind` may expect."""
        return forecast(self, kind, self.events)


@dataclass(frozen=True)
class _Noise:
    """Noise of the stages: `multipliers` by stage, and whether a neighbour replaces a unit."""

    documents: int
    multipliers: Mapping[str, float]
    replaces: bool

    def deviation(self, stage: str, replace_factor: float) -> float:
        """Standard deviation of a sum of contributions of norm at most 1."""
        return self.multipliers[stage] * (replace_factor if self.replaces else 1.0)

    def clipped(
        self, stage: str, median: float, quantile: float, replace_factor: float, growth: float = 1.0
    ) -> tuple[float, float]:
        """Standard deviation of a clipped sum, and its mass: the sum of clip factors.

        The clip is the `quantile` of log-normal norms with this `median`, which have since grown by `growth`.
        """
        spread = reference_corpora.SPREADS[stage]
        clip = median * math.exp(spread * norm.ppf(quantile))
        position = math.log(clip / (growth * median)) / spread
        kept = norm.cdf(position) + clip / (growth * median) * math.exp(spread**2 / 2) * norm.sf(position + spread)
        return self.deviation(stage, replace_factor) * clip, max(self.documents * float(kept), 1.0)

    def of_mean(self, stage: str, median: float, quantile: float, replace_factor: float, growth: float = 1.0) -> float:
        """Standard deviation of a clipped mean."""
        std, mass = self.clipped(stage, median, quantile, replace_factor, growth)
        return std / mass


@dataclass(frozen=True)
class _Text:
    """Documents of scaled words: `proportions` (n_words,), `held`, the distinct words of a document, and its `length`.

    `mean` is the squared length of the mean direction and `flat` the mean energy of a word: both are 1 when the
    frequencies that scale the words carry no noise.
    """

    proportions: np.ndarray
    held: float
    length: float
    mean: float
    flat: float

    @classmethod
    def of(cls, words: WordFrequencies) -> _Text:
        """Documents of these words, scaled as a fit scales them."""
        held = float(words.frequencies.sum())
        proportions = words.frequencies / held
        energy = word_scale(words) ** 2 * proportions
        length = max(reference_corpora.LENGTH * held, MINIMUM_LENGTH)
        return cls(proportions, held, length, float(energy @ proportions), float(energy.mean()))


def forecast(outlook: ForecastInputs, kind: reference_corpora.ReferenceCorpus, events: Sequence[Event]) -> Forecast:
    """What a corpus of `kind` may expect of these events: all stages in the order of a fit."""
    settings = outlook.settings
    multipliers = {event.stage: event.noise_multiplier or 0.0 for event in events}
    noise = _Noise(outlook.documents, multipliers, settings.privacy.adjacency == "replace")
    words, vocabulary = _words(noise, outlook, sum(event.delta for event in events))
    d = len(words.frequencies)
    if d < (2 if settings.model.topics == "auto" else max(2, int(settings.model.topics))):
        return Forecast(d, 0, (vocabulary,))
    text = _Text.of(words)
    mean_noise = _mean_noise(noise, text, d)
    true = text.flat * kind.eigenvalues(min(d - 1, outlook.most_topics + default.OVERSAMPLING))
    std, found = _found(noise, text, d, true)
    core_std = _core_noise(noise, text, found, _core_quantile(np.sqrt(true * found), std, d, outlook.most_topics))
    level = noise_level(core_std, len(found) + 1)
    whole = text.mean + mean_noise**2
    values = np.sort([text.mean**2 / whole - coefficients(settings.model.alpha0)[0] * whole, *found])[::-1]
    supported = _counted(values, core_std)
    k = max(supported, 1) if settings.model.topics == "auto" else int(settings.model.topics)
    k = min(k, outlook.most_topics)
    last = float(np.sort([text.mean, *true])[::-1][k - 1])
    power = default.word_power(outlook.documents, k, settings)
    compared = {
        Stage.SIZE: (noise.deviation(Stage.SIZE, 1.0), float(outlook.documents)),
        Stage.MEAN: (mean_noise, math.sqrt(text.mean)),
        Stage.SUBSPACE: (std * (math.sqrt(d) + math.sqrt(len(true))), last),
        Stage.CORE: (level, float(values[k - 1])),
        Stage.TENSOR: (_tensor_noise(noise, text, values[:k], level), _whitened(k, settings.model.alpha0)),
        Stage.REFINE: _refinement(noise, text, k, power),
    }
    stages = (StageForecast(name, multipliers[name], *pair) for name, pair in compared.items())
    return Forecast(d, supported, (vocabulary, *stages), tuple(float(value) for value in values), power)


def _words(noise: _Noise, outlook: ForecastInputs, failure: float) -> tuple[WordFrequencies, StageForecast]:
    """The words that are modelled. Noise and signal are documents: what a word must be in, and what the rarest is in.

    A public vocabulary needs no threshold; its noise is that of a count.
    """
    wanted = reference_corpora.word_frequencies(outlook.settings.vocabulary.max_vocabulary)
    stage = Stage.FREQUENCY if outlook.public_vocabulary else Stage.VOCABULARY
    std = noise.deviation(stage, NONNEGATIVE)
    if outlook.public_vocabulary:
        picked, needed = max(reference_corpora.LENGTH * float(wanted.sum()), 1.0), std
    else:
        failure /= 2 if noise.replaces else 1
        picked, needed = reference_corpora.PICKED, selection_threshold(std * BOUND, failure, MOST_WORDS) / BOUND
    per_document = 1 / (reference_corpora.VOTE * noise.documents)
    kept = wanted if outlook.public_vocabulary else wanted[wanted >= needed * per_document]
    found = WordFrequencies((), kept, std * math.sqrt(picked) / noise.documents)
    signal = float(wanted[-1]) * noise.documents
    return found, StageForecast(stage, noise.multipliers[stage], needed / reference_corpora.VOTE, signal)


def _mean_noise(noise: _Noise, text: _Text, d: int) -> float:
    median = math.sqrt(d * text.flat / text.length)
    return noise.of_mean(Stage.MEAN, median, default.MEAN_QUANTILE, NONNEGATIVE) * math.sqrt(d)


def _found(noise: _Noise, text: _Text, d: int, true: np.ndarray) -> tuple[float, np.ndarray]:
    """Noise of the subspace's last round, by coordinate, and what its block finds of the `true` eigenvalues (p,)."""
    random = len(true) * text.flat / text.length
    median = math.sqrt(d * text.flat / text.length * random)
    found = np.zeros_like(true)
    for _ in range(default.POWER_ROUNDS):
        growth = math.sqrt(1 + found.sum() / random)
        std = noise.of_mean(Stage.SUBSPACE, median, LOW_QUANTILE, SIGNED, growth)
        found = true**3 / (true**2 + d * std**2)
    return std, found


def _core_quantile(block: np.ndarray, std: float, d: int, topics: int) -> float:
    """Where a fit clips the core, by the singular values (p,) of the last `block` beside their noise.

    Noise lifts a singular value v to sqrt((v^2 + d n^2) (v^2 + p n^2)) / v (Benaych-Georges and Nadakuditi 2012).
    """
    p = len(block)
    last = float(block[min(max(topics - 1, 1), p) - 1])
    level = std * (math.sqrt(d) + math.sqrt(p))
    lifted = (
        math.sqrt((last**2 + d * std**2) * (last**2 + p * std**2)) / last if last > (d * p) ** 0.25 * std else level
    )
    return clip_quantile(lifted - level, level / 3)


def _core_noise(noise: _Noise, text: _Text, found: np.ndarray, quantile: float) -> float:
    """Standard deviation of the core's noise, on its diagonal."""
    mean = text.mean + found.sum() + len(found) * text.flat / text.length
    median = mean * math.exp(-(reference_corpora.SPREADS[Stage.CORE] ** 2) / 2)  # of a log-normal law
    return noise.of_mean(Stage.CORE, median, quantile, SIGNED)


def _counted(values: np.ndarray, std: float) -> int:
    """How many eigenvalues of a core with these `values` (p,) and noise exceed the noise level; mean over draws."""
    seen = np.linalg.eigvalsh(np.diag(values) + std * _symmetric_noise(len(values)))
    return round(float((seen > noise_level(std, len(values))).sum(axis=1).mean()))


@lru_cache(maxsize=4)
def _symmetric_noise(p: int) -> np.ndarray:
    """Draws of a symmetric matrix (n, p, p), of deviation 1 on the diagonal and 1 / sqrt(2) off it; always the same."""
    drawn = np.random.default_rng(0).standard_normal((max(1, DRAWN // p), p, p))
    return np.asarray((drawn + drawn.transpose(0, 2, 1)) / 2)


def _tensor_noise(noise: _Noise, text: _Text, values: np.ndarray, level: float) -> float:
    """Spectral norm of the whitened tensor's noise, for the eigenvalues (k,) that are whitened."""
    floored = np.maximum(values, max(level, 1e-3 * values[0]))
    square = float(((np.maximum(values, 0.0) + text.flat / text.length) / floored).sum())
    median = square**1.5 * math.exp(
        -(reference_corpora.SPREADS[Stage.TENSOR] ** 2) / 3
    )  # of the cube of a log-normal length
    quantile = clip_quantile(float(values[-1]), level)
    return CUBIC * math.sqrt(len(values)) * noise.of_mean(Stage.TENSOR, median, quantile, SIGNED)


def _whitened(k: int, alpha0: float) -> float:
    """Eigenvalue of the whitened tensor of k equal topics (docs/privacy.md, section 0)."""
    return 2 * math.sqrt(k * (alpha0 + 1)) / (alpha0 + 2)


def _refinement(noise: _Noise, text: _Text, k: int, power: float) -> tuple[float, float]:
    """Noise of the count of a word near the top of one of k equal topics, in a round, and that count."""
    scale = (text.proportions + 1e-5) ** -power
    median = math.sqrt(
        reference_corpora.WORD_ENERGY * text.held * float(text.proportions @ (scale / scale.mean()) ** 2)
    )
    std, mass = noise.clipped(Stage.REFINE, median, default.REFINE_QUANTILE, NONNEGATIVE)
    top = (reference_corpora.TOP_WORD / k + 1e-5) ** -power / scale.mean()
    return float(std / top), reference_corpora.TOP_WORD * mass * text.held / k


STEPS = 16  # of bisection: to a thousandth, far below what a forecast can tell apart


def least_epsilon(outlook: ForecastInputs, kind: ReferenceCorpus) -> float | None:
    """The least epsilon in range at which a corpus of `kind` supports all topics asked for; None if none does.

    Multipliers go with the inverse of the whole GDP parameter, so that one calibration serves all budgets.
    """
    settings, events = outlook.settings, outlook.events
    now = gaussian_budget(settings.privacy.epsilon, settings.privacy.delta)

    def supports(epsilon: float) -> bool:
        factor = now / gaussian_budget(epsilon, settings.privacy.delta)
        scaled = [replace(event, noise_multiplier=factor * (event.noise_multiplier or 0.0)) for event in events]
        asked = replace(settings, privacy=replace(settings.privacy, epsilon=epsilon))
        return forecast(replace(outlook, settings=asked), kind, scaled).supported >= outlook.most_topics

    return _least(supports, RANGES["epsilon"])


def least_documents(outlook: ForecastInputs, kind: ReferenceCorpus) -> int | None:
    """The least number of documents at which a corpus of `kind` supports all topics asked for; None if none does."""
    events = outlook.events

    def supports(documents: float) -> bool:
        asked = replace(outlook, documents=math.ceil(documents))
        return forecast(asked, kind, events).supported >= outlook.most_topics

    least = _least(supports, DOCUMENTS)
    return None if least is None else math.ceil(least)


def _least(holds: Callable[[float], bool], within: Range) -> float | None:
    """The least number of a range at which `holds`, by bisection of its logarithm."""
    low, high = within.low, within.high
    if not holds(high):
        return None
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
