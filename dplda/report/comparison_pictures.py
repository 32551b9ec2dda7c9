"""Pictures and tables of a comparison: accuracy and time of each noise placement at each epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dplda.budget import Status
from dplda.budget.comparisons import Comparison, ComparisonKind, Outcome
from dplda.budget.events import Stage
from dplda.learning.placements.registry import NO_NOISE, SOUND
from dplda.report.pictures import COLOURS, SOFT, Bar, Bars, Chart, Picture, Table, log_axis, number, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INTRODUCTIONS = {  # the first paragraph on a comparison, by its kind
    ComparisonKind.PLANTED: (
        "On a synthetic corpus whose topics are known, so that the error of the learned topics can be measured. It is "
        "about nobody."
    ),
    ComparisonKind.PUBLIC: (
        "On a corpus that was declared public, so that the quality of the topics can be measured on it."
    ),
    ComparisonKind.PRIVATE: (
        "On a private corpus. How good the topics are is not measured, because that would read the private text; time "
        "is not shown, because it depends on it. Each run was charged to the dataset's budget, even one without an "
        "answer. The guarantee over all of them is shown by: dplda budget show."
    ),
}
_DASHES = ("-", "--", "-.", ":")  # line styles, one for each calibration
_MARKERS = ("o", "s", "D", "^", "X", "*", "v")  # one for each placement
_STAGES = ("read", *Stage)
_REPEATS = " Points are means over the repeats, bars go from the least to the largest."
_LARGEST_ERROR = math.sqrt(2)  # maximum l2 distance of two topics; a larger bound is vacuous


@dataclass(frozen=True)
class Measure:
    """A quality measure, which is a field of `Outcome`, and its names in the report."""

    field: str
    title: str
    unit: str
    least_is_best: bool = False


_MEASURES = (
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
        """The name of the method in pictures and tables."""
        if self.placement == NO_NOISE:
            return "no noise (not private)"
        return self.placement if self.calibration == SOUND else f"{self.placement}, {self.calibration}"

    @property
    def proven(self) -> bool:
        """Whether its privacy is proven."""
        return self.placement != NO_NOISE and self.calibration == SOUND


def methods(comparison: Comparison) -> list[Method]:
    """Return all methods of the grid in its order; proven ones first, the one without noise last."""
    tried = dict.fromkeys(Method(o.cell.placement, o.cell.calibration) for o in comparison.outcomes)
    return sorted(tried, key=lambda method: (method.placement == NO_NOISE, not method.proven))


def measures(comparison: Comparison) -> list[Measure]:
    """Return the measures that have a value in at least one outcome."""
    return [m for m in _MEASURES if any(_value(outcome, m.field) is not None for outcome in comparison.outcomes)]


def introduction(comparison: Comparison) -> str:
    """Return the first paragraph on a comparison."""
    once = "" if _repeated(comparison) else " Each combination ran once, so that small differences may be chance."
    return _INTRODUCTIONS[comparison.kind] + once


def pictures(comparison: Comparison) -> list[Picture]:
    """Draw all pictures that the outcomes allow."""
    drawn = [
        *(_utility(comparison, measure) for measure in measures(comparison)),
        _bound(comparison),
        _seconds(comparison),
    ]
    return [picture for picture in drawn if picture is not None]


def winners(comparison: Comparison) -> list[tuple[Measure, Table]]:
    """Tabulate for each measure the best placement at each epsilon."""
    several = _repeated(comparison)
    tables = []
    for measure in measures(comparison):
        rows = []
        for row in _best(comparison, measure):
            clear = "–" if row.second is None else "yes" if row.clear else "no: ranges overlap"
            told = {
                "epsilon": number(row.epsilon),
                "best": shown(row.winner.label),
                "mean" if several else measure.field: number(row.point.mean),
                **({"range": _range(row.point)} if several else {}),
                "next": shown(row.second.label) if row.second else "–",
                **({"clear?": clear} if several else {}),
                "better still, but not proven private": shown(row.unproven.label) if row.unproven else "–",
            }
            rows.append(told)
        if rows:
            tables.append((measure, Table(tuple(rows[0]), [tuple(row.values()) for row in rows])))
    return tables


def outcomes(comparison: Comparison) -> Table:
    """Tabulate all runs and their outcomes."""
    rows = [
        (
            shown(o.run) or "–",
            shown(Method(o.cell.placement, o.cell.calibration).label),
            "–" if o.cell.placement == NO_NOISE else number(o.cell.epsilon),
            str(o.cell.repeat + 1),
            "yes" if o.sound else "NO",
            "done" if o.status == Status.DONE else shown(f"{o.status}: {o.message}"),
            *(number(getattr(o, measure.field)) for measure in measures(comparison)),
        )
        for o in comparison.outcomes
    ]
    names = (measure.field for measure in measures(comparison))
    return Table(("run", "placement", "epsilon", "repeat", "placement proven", "ended", *names), rows)


def _utility(comparison: Comparison, measure: Measure) -> Picture:
    """Draw `measure` against epsilon for every method: means over the repeats, with bars for their range."""
    styled = [(method, _points(comparison, method, measure.field)) for method in methods(comparison)]
    epsilons = sorted({p.epsilon for method, ps in styled if method.placement != NO_NOISE for p in ps})
    looks, several = _Looks(comparison), _repeated(comparison)

    def draw(axes: Sequence[Axes]) -> None:
        for method, points in styled:
            if points and method.placement == NO_NOISE:
                mean = math.fsum(p.mean * p.measured for p in points) / sum(p.measured for p in points)
                axes[0].axhline(mean, color=SOFT, linestyle=":", label=shown(method.label))
            elif points:
                looks.line(axes[0], points, method)
        _label(axes[0], epsilons, measure.field)
        if measure.least_is_best:  # small errors differ by factors
            log_axis(axes[0], "y")

    lines = sum(bool(points) for _, points in styled)
    rows = [
        (
            *(shown(method.label), number(p.epsilon), number(p.mean)),
            *([_range(p)] if several else []),
            f"{p.measured} of {p.tried}",
        )
        for method, points in styled
        for p in points
    ]
    better = "lower is better" if measure.least_is_best else "higher is better"
    return Picture(
        name=f"utility-{measure.field}",
        title=f"{measure.title} against epsilon",
        alt=f"Line chart of {measure.field} for {lines} placements at {len(epsilons)} budgets; {better}. "
        "The table below contains every value.",
        note=f"{measure.unit[0].upper()}{measure.unit[1:]}: {better}.{_REPEATS if several else ''} "
        "Runs without an answer are left out here and counted in the table.",
        drawing=Chart(draw, height=380 + 8 * lines, narrow_height=320 + 20 * lines),
        table=Table(
            (
                *("placement", "epsilon", "mean" if several else measure.field),
                *(["range"] if several else []),
                "runs with an answer",
            ),
            rows,
        ),
    )


def _bound(comparison: Comparison) -> Picture | None:
    """Draw the paper's bound on a topic's error beside the measured error; None if no method has both."""
    both = [
        (method, _points(comparison, method, "error"), _points(comparison, method, "bound"))
        for method in methods(comparison)
        if method.placement != NO_NOISE
    ]
    both = [(method, measured, bounds) for method, measured, bounds in both if measured and bounds]
    if not both:
        return None
    epsilons = sorted({p.epsilon for _, measured, bounds in both for p in (*measured, *bounds)})
    looks = _Looks(comparison)

    def draw(axes: Sequence[Axes]) -> None:
        for method, measured, bounds in both:
            looks.line(axes[0], measured, method, "measured")
            looks.line(axes[0], bounds, method, "bound")
        axes[0].axhline(_LARGEST_ERROR, color=SOFT, linestyle="--", linewidth=1)
        _label(axes[0], epsilons, "error of a topic")
        log_axis(axes[0], "y")

    rows = []
    for method, measured, bounds in both:
        proven = {p.epsilon: p.mean for p in bounds}
        rows += [
            (shown(method.label), number(p.epsilon), number(p.mean), number(proven[p.epsilon]))
            for p in measured
            if p.epsilon in proven
        ]
    empty = sum(p.low > _LARGEST_ERROR for _, _, bounds in both for p in bounds)
    count = sum(len(bounds) for _, _, bounds in both)
    return Picture(
        name="bound",
        title="The paper's bound beside what was measured",
        alt=f"Line chart of measured errors and bounds for {len(both)} placements. {empty} of {count} bounds "
        "exceed the largest possible error.",
        note="The bound is on the l2 error of a topic; measured is the mean matched l1 error, which is at least as "
        f"large. No two topics are farther apart in l2 than the square root of 2 (dashed): a bound above it says "
        f"nothing, as {empty} of {count} do here.",
        drawing=Chart(draw, height=400 + 16 * len(both), narrow_height=340 + 40 * len(both)),
        table=Table(("placement", "epsilon", "measured (l1)", "bound (l2)"), rows),
    )


def _seconds(comparison: Comparison) -> Picture | None:
    """Draw the mean time of each stage for every method; None if no time is recorded or may be shown."""
    timed = _stage_seconds(comparison)
    if not timed:
        return None
    place = {stage: position for position, stage in enumerate(_STAGES)}
    stages = sorted(  # in the order of a run, then the others, such as saving
        {stage for by_stage in timed.values() for stage in by_stage},
        key=lambda stage: (place.get(stage, len(_STAGES)), stage),
    )
    bars = [
        Bar(
            shown(method.label),
            parts=tuple(by_stage.get(stage, 0.0) for stage in stages),
            value=f"{math.fsum(by_stage.values()):.2f} s",
        )
        for method, by_stage in timed.items()
    ]
    rows = [
        (shown(method.label), *(f"{by_stage.get(stage, 0.0):.2f}" for stage in stages), f"{sum(by_stage.values()):.2f}")
        for method, by_stage in timed.items()
    ]
    slowest = max(timed, key=lambda method: sum(timed[method].values()))
    return Picture(
        name="seconds",
        title="Time by stage",
        alt=f"Bar chart of {len(timed)} placements. {shown(slowest.label)} takes longest, "
        f"{sum(timed[slowest].values()):.1f} seconds.",
        note="Mean over the runs that ended well, on the machine that made the comparison.",
        drawing=Bars(bars, [shown(stage) for stage in stages]),
        table=Table(("placement", *map(shown, stages), "together"), rows),
    )


class _Looks:
    """Colours and symbols of the lines of a comparison, the same for a placement in all pictures."""

    def __init__(self, comparison: Comparison) -> None:
        cells = [outcome.cell for outcome in comparison.outcomes]
        self._placements = list(dict.fromkeys(cell.placement for cell in cells if cell.placement != NO_NOISE))
        self._calibrations = list(dict.fromkeys(cell.calibration for cell in cells))

    def line(self, axes: Axes, points: list[_Point], method: Method, what: str = "") -> None:
        """Draw a line of means with bars for the ranges; `what` names it if a method has several."""
        which, how = self._placements.index(method.placement), self._calibrations.index(method.calibration)
        bound = what == "bound"
        axes.errorbar(
            [p.epsilon for p in points],
            [p.mean for p in points],
            yerr=None if bound else [[p.mean - p.low for p in points], [p.high - p.mean for p in points]],
            label=shown(f"{method.label}: {what}" if what else method.label),
            color=COLOURS[which % len(COLOURS)],
            linestyle=":" if bound else _DASHES[how % len(_DASHES)],
            marker=_MARKERS[which % len(_MARKERS)],
            markerfacecolor=None if method.proven and not bound else "none",
            markersize=7,
            elinewidth=1.4,
            capsize=3,
        )


def _label(axes: Axes, epsilons: list[float], what: str) -> None:
    if epsilons:
        log_axis(axes, "x", epsilons, [number(epsilon) for epsilon in epsilons])
    axes.set(xlabel="epsilon", ylabel=what)


def _repeated(comparison: Comparison) -> bool:
    """Whether any combination of the grid was tried more than once."""
    return any(outcome.cell.repeat > 0 for outcome in comparison.outcomes)


def _range(point: _Point) -> str:
    return f"{number(point.low)} to {number(point.high)}"


@dataclass(frozen=True)
class _Point:
    """Mean and range of a measure over the repeats at one epsilon (nats); `measured` of the `tried` runs have it."""

    epsilon: float
    mean: float
    low: float
    high: float
    measured: int
    tried: int


@dataclass(frozen=True)
class _Best:
    """The proven method with the best mean at an epsilon."""

    epsilon: float
    winner: Method
    point: _Point
    second: Method | None
    """The proven method with the next mean."""
    clear: bool
    """Whether all proven methods were repeated, and no other range overlaps the winner's."""
    unproven: Method | None
    """The best method without a proof, if it is better than the winner."""


def _points(comparison: Comparison, method: Method, field: str) -> list[_Point]:
    """Return points of `field` for `method`, by ascending epsilon, without epsilons that have no finite value."""
    outcomes = _of(comparison, method)
    points = []
    for epsilon in sorted({outcome.cell.epsilon for outcome in outcomes}):
        tried = [outcome for outcome in outcomes if outcome.cell.epsilon == epsilon]
        values = [value for outcome in tried if (value := _value(outcome, field)) is not None]
        if values:
            mean = math.fsum(values) / len(values)
            points.append(_Point(epsilon, mean, min(values), max(values), len(values), len(tried)))
    return points


def _best(comparison: Comparison, measure: Measure) -> list[_Best]:
    """Find the best proven method at each epsilon at which some proven method has a value."""
    noisy = [method for method in methods(comparison) if method.placement != NO_NOISE]
    table = [(method, point) for method in noisy for point in _points(comparison, method, measure.field)]
    sign = 1 if measure.least_is_best else -1
    rows = []
    for epsilon in sorted({point.epsilon for _, point in table}):
        ranked = [(method, point) for method, point in table if point.epsilon == epsilon]
        ranked.sort(key=lambda pair: sign * pair[1].mean)
        proven = [(method, point) for method, point in ranked if method.proven]
        if not proven:
            continue
        (winner, point), *others = proven
        apart = all(other.low > point.high or other.high < point.low for _, other in others)
        rows.append(
            _Best(
                epsilon=epsilon,
                winner=winner,
                point=point,
                second=others[0][0] if others else None,
                clear=apart and all(each.measured > 1 for _, each in proven),
                unproven=ranked[0][0] if ranked[0][0] != winner else None,
            )
        )
    return rows


def _stage_seconds(comparison: Comparison) -> dict[Method, dict[str, float]]:
    """Return the mean seconds of each stage over the successful runs of each method.

    Empty for a private corpus: how long a stage takes depends on private data (docs/privacy.md, rule 4).
    """
    if comparison.kind.charged:
        return {}
    answer: dict[Method, dict[str, float]] = {}
    for method in methods(comparison):
        timed = [o.seconds for o in _of(comparison, method) if o.status == Status.DONE and o.seconds]
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
    """Return the outcome's `field` if it is a finite number, else None."""
    value = getattr(outcome, field)
    return float(value) if value is not None and math.isfinite(value) else None
