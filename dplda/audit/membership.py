"""The membership attack on released topics: was a given document among those that the topics were learned from?

The test statistic is from Manzonelli, Zhang and Vadhan (2024): the log-likelihood of the document under the topics,
maximised over its topic mixture. The scores are the likelihood ratios of Carlini et al. (2022). For each document, the
statistic under the attacked model is compared with the statistics under shadow models that were trained with the
document (`inside`) and without it. A chart shows the share of members found at each rate of false alarms, and the
largest share that the guarantee allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.stats import norm

from dplda.audit.bounds import upper_limit
from dplda.base.errors import InputError
from dplda.base.threads import chunks, run_ranges
from dplda.budget.events import PrivacyStatement
from dplda.model.inference import largest_likelihood
from dplda.report.pictures import COLOURS, SOFT, Chart, log_axis
from dplda.report.promise import epsilon_curve, gaussian_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


OFFLINE, ONLINE = "offline", "online"
DOCUMENTS, CANARIES = "documents", "canaries"
_FALSE_ALARMS = (0.001, 0.01)  # rates at which a table states what is found
_CONFIDENCE = 0.95  # of each interval
# The least probability of a word in a topic, as a part of an equal share: a word that a model leaves out is unlikely,
# but possible, or it would drown what the other words say. Of parts from 0.01 to 1, this one finds most at epsilon 8.
_LEAST_PART = 0.1
_LEAST_STD = 1e-3  # nats, of the normal distributions
_LEAST_MODELS = 2  # needed to fit a normal distribution
_CHUNK = 1024  # documents in one task of the thread pool
_LEAST = 1e-4  # rate of false alarms at which curves begin
_RATES = np.geomspace(_LEAST, 1.0, 121)
_TICKS = {1e-4: "0.01 %", 1e-3: "0.1 %", 1e-2: "1 %", 1e-1: "10 %", 1.0: "100 %"}
_HEIGHT = 400  # CSS pixels


def log_likelihoods(counts: sparse.csr_matrix, topics: np.ndarray) -> np.ndarray:
    """Maximise the log-likelihood (nats) of each row of `counts` (n_documents, n_words) over mixtures of `topics`.

    `topics` are (n_topics, n_words); the answer is (n_documents,).
    """
    by_word = np.maximum(np.ascontiguousarray(topics.T, np.float64), _LEAST_PART / topics.shape[1])
    indptr, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
    amounts, answer = counts.data.astype(np.float64), np.empty(counts.shape[0])

    def climb(first: int, last: int) -> None:
        largest_likelihood(by_word, indptr[first : last + 1], words, amounts, answer[first:last])

    run_ranges(climb, chunks(len(answer), _CHUNK))
    return answer


def scores(likelihoods: np.ndarray, inside: np.ndarray) -> dict[str, np.ndarray]:
    """Return offline and online scores of each model and target, larger for members; arrays are (models, targets).

    `likelihoods` are the test statistics, and `inside` says which targets each model was trained on. The score of a
    model uses the other models as shadow models. One normal distribution is fitted to the statistics of a target under
    the shadow models trained without it, and a second one to the statistics under the shadow models trained with it.
    The offline score is the number of standard deviations above the mean of the first; the online score is the
    logarithm of the ratio of the two densities. If the statistic is missing (NaN), or fewer than two shadow models have
    it, the attacker does not accuse: the score is minus infinity.
    """
    usable = np.isfinite(likelihoods)
    centred = np.where(usable, likelihoods - np.nanmean(likelihoods, axis=0, where=usable), 0.0)
    members, others = _of_other_models(centred, inside & usable), _of_other_models(centred, ~inside & usable)
    return {
        OFFLINE: _known(usable, (centred - others[0]) / others[1]),
        ONLINE: _known(usable, norm.logpdf(centred, *members) - norm.logpdf(centred, *others)),
    }


def _of_other_models(likelihoods: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of `likelihoods` over the `chosen` other models; NaN if too few are left."""
    kept = likelihoods * chosen
    count = chosen.sum(axis=0) - chosen.astype(np.float64)
    count[count < _LEAST_MODELS] = np.nan
    mean = (kept.sum(axis=0) - kept) / count
    square = ((kept**2).sum(axis=0) - kept**2) / count
    return mean, np.sqrt(np.maximum(square - mean**2, _LEAST_STD**2))


def _known(usable: np.ndarray, score: np.ndarray) -> np.ndarray:
    return np.where(usable & ~np.isnan(score), score, -np.inf)


def detect(scores: np.ndarray, inside: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count members found and others falsely accused, at each rate `allowed` of false alarms, (n,) each.

    The threshold is the lowest that accuses at most this share of the others. Targets with equal scores are accused
    together or not at all.
    """
    members, others = np.sort(scores[inside]), np.sort(scores[~inside])
    # All others up to this position are spared, and at most the allowed share of them lies above it.
    spared = len(others) - 1 - (np.asarray(allowed) * len(others)).astype(np.int64)
    thresholds = others[np.maximum(spared, 0)]
    found, accused = (len(x) - np.searchsorted(x, thresholds, side="right") for x in (members, others))
    return found, accused


def interval(successes: int, trials: int, confidence: float = _CONFIDENCE) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson (1934) for a probability."""
    level = (1 - confidence) / 2
    counted = np.array([trials - successes, successes])
    missed, found = upper_limit(counted, trials, level)
    return float(1 - missed), float(found)


@dataclass(frozen=True)
class Detection:
    """The result of an attack at one rate of false alarms."""

    false_alarms: float
    found: float
    """The share of the members that are found at a rate of at most `false_alarms`."""
    low: float
    """The lower end of the interval of Clopper and Pearson of `found`."""
    high: float
    members: int
    """The number of pairs of a model and a document that it was trained on."""
    gaussian: float | None
    """No attack can find a larger share, by the noise of the plan; None if the system is not private."""
    definition: float | None
    """No attack can find a larger share, by epsilon and delta alone; None if the system is not private."""
    exceeded: bool
    """Whether `low` is above the smaller limit at the upper confidence limit of the counted rate of false alarms."""

    @property
    def limit(self) -> float | None:
        """The smaller of the two limits."""
        return None if self.gaussian is None or self.definition is None else min(self.gaussian, self.definition)


def detection(scores: np.ndarray, inside: np.ndarray, allowed: float, statement: PrivacyStatement | None) -> Detection:
    """Return what `scores` find at the rate `allowed` of false alarms, with the limits that `statement` implies.

    `statement` is None without privacy. Raises `InputError` if all pairs of a model and a target are members, or if no
    pair is a member.
    """
    members = int(inside.sum())
    if not 0 < members < inside.size:
        raise InputError("these targets are members in all models, or in none. Use more models or more canaries.")
    found, accused = (int(counted[0]) for counted in detect(scores, inside, np.array([allowed])))
    low, high = interval(found, members)
    gaussian, definition = (None, None) if statement is None else limits(np.array(allowed), statement)
    surely = interval(accused, int((~inside).sum()))[1]
    exceeded = statement is not None and bool(low > min(limits(np.array(surely), statement)))
    return Detection(
        allowed,
        found / members,
        low,
        high,
        members,
        None if gaussian is None else float(gaussian),
        None if definition is None else float(definition),
        exceeded,
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one score finds in one system."""

    system: str
    targets: str
    """`DOCUMENTS` or `CANARIES`."""
    ratio: str
    """`OFFLINE` or `ONLINE`."""
    scores: np.ndarray
    """(models, targets)."""
    inside: np.ndarray
    """Which targets are members, (models, targets)."""
    statement: PrivacyStatement | None
    """The guarantee of the system; None without privacy."""
    detections: tuple[Detection, ...]

    @property
    def exceeds(self) -> bool:
        """Whether more is found than the guarantee allows."""
        return any(one.exceeded for one in self.detections)

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain JSON, a record for each rate of false alarms."""
        common = {"system": self.system, "targets": self.targets, "ratio": self.ratio}
        return [common | asdict(one) for one in self.detections]


def outcomes(
    system: str, likelihoods: np.ndarray, inside: np.ndarray, canaries: int, statement: PrivacyStatement | None
) -> list[Outcome]:
    """Return outcomes of both scores, for documents and the last `canaries` targets; arrays are (models, targets)."""
    first = likelihoods.shape[1] - canaries
    kinds = {DOCUMENTS: slice(first)} | ({CANARIES: slice(first, None)} if canaries else {})
    found = []
    for ratio, score in scores(likelihoods, inside).items():
        for kind, part in kinds.items():
            chosen, members = score[:, part], inside[:, part]
            detections = tuple(detection(chosen, members, allowed, statement) for allowed in _FALSE_ALARMS)
            found.append(Outcome(system, kind, ratio, chosen, members, statement, detections))
    return found


def limits(false_alarms: np.ndarray, statement: PrivacyStatement) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest detection rates at `false_alarms` by the curve of the noise, and by (epsilon, delta)."""
    return gaussian_curve(false_alarms, statement), epsilon_curve(false_alarms, statement)


def attack_chart(outcomes: Sequence[Outcome]) -> Chart:
    """Draw a chart with panels for documents and for canaries: a curve for each system, and its limit as a dotted line.

    A system's curve shows the score, offline or online, that finds more members at the largest rate of false alarms in
    `Outcome.detections`.
    """
    best: dict[str, dict[str, Outcome]] = {}
    for outcome in outcomes:
        systems = best.setdefault(outcome.targets, {})
        other = systems.setdefault(outcome.system, outcome)
        if outcome.detections[-1].found > other.detections[-1].found:
            systems[outcome.system] = outcome

    def draw(axes: Sequence[Axes]) -> None:
        for panel, (title, systems) in zip(axes, best.items(), strict=True):
            panel.set_title(title, loc="left")
            for which in ("x", "y"):
                log_axis(panel, which, list(_TICKS), list(_TICKS.values()))
            panel.set(xlim=(_LEAST, 1), ylim=(_LEAST, 1.1), xlabel="false alarms")
            panel.plot(_RATES, _RATES, color=SOFT, linewidth=1, linestyle="--", label="guessing")
            if any(curve.statement for curve in systems.values()):
                panel.plot([], [], color=SOFT, linewidth=1.4, linestyle=":", label="the most that is allowed")
            for number, curve in enumerate(systems.values()):
                colour = COLOURS[number % len(COLOURS)]
                found, accused = detect(curve.scores, curve.inside, _RATES)
                shares = accused / (~curve.inside).sum(), found / curve.inside.sum()
                panel.plot(*shares, color=colour, label=curve.system)
                if curve.statement is not None:
                    most = np.minimum(*limits(_RATES, curve.statement))
                    panel.plot(_RATES, most, color=colour, linestyle=":", linewidth=1.4)
        axes[0].set_ylabel("members found")

    return Chart(draw, _HEIGHT, panels=len(best))
