"""The outcomes of a comparison, grouped by placement and epsilon, with their spread over repeats."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dplda.comparison.records import DONE, Comparison, Outcome

NO_NOISE = "none"  # the placement without noise, whose epsilon says nothing
SOUND = "sound"


@dataclass(frozen=True)
class Measure:
    """A number of `Outcome` by which runs are compared."""

    field: str
    title: str
    unit: str
    least_is_best: bool = False


MEASURES = (
    Measure("error", "Error of the topics", "mean matched l1 distance to the planted topics, 0 to 2", True),
    Measure("coherence", "Coherence of the topics", "NPMI of the top ten words, -1 to 1"),
    Measure("diversity", "Diversity of the topics", "share of distinct words among all top tens, 0 to 1"),
)


@dataclass(frozen=True, order=True)
class Method:
    """A placement with its calibration."""

    placement: str
    calibration: str

    @property
    def label(self) -> str:
        """How it is called in pictures and tables."""
        if self.placement == NO_NOISE:
            return "no noise (not private)"
        return self.placement if self.calibration == SOUND else f"{self.placement}, {self.calibration}"

    @property
    def proven(self) -> bool:
        """Whether its privacy rests on a proof."""
        return self.placement != NO_NOISE and self.calibration == SOUND


@dataclass(frozen=True)
class Point:
    """A measure over the repeats at one epsilon (nats): its mean and range, and how many of `tried` have it."""

    epsilon: float
    mean: float
    low: float
    high: float
    measured: int
    tried: int


@dataclass(frozen=True)
class Best:
    """The method with the best mean at an epsilon.

    `clear` if each was repeated and no other proven one's range reaches its range; `unproven` is the best method
    without a proof, if it is better still.
    """

    epsilon: float
    winner: Method
    point: Point
    second: Method | None
    clear: bool
    unproven: Method | None


def methods(comparison: Comparison) -> list[Method]:
    """Every method tried, proven ones first, each in the order of the grid."""
    found = dict.fromkeys(Method(o.cell.placement, o.cell.calibration) for o in comparison.outcomes)
    return sorted(found, key=lambda method: (method.placement == NO_NOISE, not method.proven))


def measures(comparison: Comparison) -> list[Measure]:
    """The measures that at least one outcome has."""
    return [m for m in MEASURES if any(_value(outcome, m.field) is not None for outcome in comparison.outcomes)]


def points(comparison: Comparison, method: Method, field: str) -> list[Point]:
    """`field` of the outcomes of `method` for each epsilon, ascending; epsilons without a finite value are left out."""
    mine = _of(comparison, method)
    answer = []
    for epsilon in sorted({outcome.cell.epsilon for outcome in mine}):
        tried = [outcome for outcome in mine if outcome.cell.epsilon == epsilon]
        values = [value for outcome in tried if (value := _value(outcome, field)) is not None]
        if values:
            mean = math.fsum(values) / len(values)
            answer.append(Point(epsilon, mean, min(values), max(values), len(values), len(tried)))
    return answer


def best(comparison: Comparison, measure: Measure) -> list[Best]:
    """The best proven method at each epsilon at which one has a value."""
    noisy = [method for method in methods(comparison) if method.placement != NO_NOISE]
    table = [(method, point) for method in noisy for point in points(comparison, method, measure.field)]
    sign = 1 if measure.least_is_best else -1
    rows = []
    for epsilon in sorted({point.epsilon for _, point in table}):
        here = [(method, point) for method, point in table if point.epsilon == epsilon]
        here.sort(key=lambda pair: sign * pair[1].mean)
        if any(method.proven for method, _ in here):
            rows.append(_best(epsilon, here))
    return rows


def _best(epsilon: float, ranked: list[tuple[Method, Point]]) -> Best:
    (winner, point), *others = [pair for pair in ranked if pair[0].proven]
    apart = all(other.low > point.high or other.high < point.low for _, other in others)
    repeated = all(p.measured > 1 for p in (point, *(other for _, other in others)))
    return Best(
        epsilon=epsilon,
        winner=winner,
        point=point,
        second=others[0][0] if others else None,
        clear=apart and repeated,
        unproven=ranked[0][0] if ranked[0][0] != winner else None,
    )


def stage_seconds(comparison: Comparison) -> dict[Method, dict[str, float]]:
    """Mean seconds of each stage, over the runs of a method that ended well.

    Empty for a private corpus: how long a stage takes depends on private data (docs/privacy.md, rule 4).
    """
    if comparison.kind == "private":
        return {}
    answer: dict[Method, dict[str, float]] = {}
    for method in methods(comparison):
        timed = [o.seconds for o in _of(comparison, method) if o.status == DONE and o.seconds]
        stages = dict.fromkeys(stage for seconds in timed for stage in seconds)
        if timed:
            answer[method] = {
                stage: math.fsum(seconds.get(stage, 0.0) for seconds in timed) / len(timed) for stage in stages
            }
    return answer


def _of(comparison: Comparison, method: Method) -> list[Outcome]:
    key = method.placement, method.calibration
    return [outcome for outcome in comparison.outcomes if (outcome.cell.placement, outcome.cell.calibration) == key]


def _value(outcome: Outcome, field: str) -> float | None:
    """A finite number, or None."""
    value = getattr(outcome, field)
    return float(value) if value is not None and math.isfinite(value) else None
