"""Pictures and tables of a comparison: accuracy and cost of each noise placement at each epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import plotly.graph_objects as go

from dplda.accounting.events import Stage
from dplda.ledger import Status
from dplda.ledger.comparisons import Comparison, Outcome
from dplda.report.pictures import (
    COLOURS,
    GREY,
    HATCHES,
    LONGEST,
    SYMBOLS,
    Picture,
    Table,
    figure,
    hatched,
    label,
    number,
    rows_axis,
    shown,
)

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
    """A finite number, or None."""
    value = getattr(outcome, field)
    return float(value) if value is not None and math.isfinite(value) else None


DASHES = ("solid", "dash", "dashdot", "dot")  # one for each calibration
STAGES = ("read", *Stage)
ERRORS = {"type": "log", "dtick": "D2"}  # the good ones differ by factors
LARGEST_ERROR = math.sqrt(2)  # l2 distance of any two topics is at most this: a larger bound says nothing


def pictures(comparison: Comparison) -> list[Picture]:
    """Every picture that the outcomes allow."""
    drawn = [
        *(utility(comparison, measure) for measure in measures(comparison)),
        bound(comparison),
        seconds(comparison),
    ]
    return [picture for picture in drawn if picture is not None]


def winners(comparison: Comparison) -> list[tuple[Measure, Table]]:
    """For each measure, which placement is best at which epsilon."""
    columns = ("epsilon", "best", "mean", "range", "next", "clear?", "better still, but not proven private")
    tables = []
    for measure in measures(comparison):
        rows = [
            (
                number(row.epsilon),
                shown(row.winner.label),
                number(row.point.mean),
                _range(row.point),
                shown(row.second.label) if row.second else "–",
                _clear(row),
                shown(row.unproven.label) if row.unproven else "–",
            )
            for row in best(comparison, measure)
        ]
        if rows:
            tables.append((measure, Table(columns, rows)))
    return tables


def _clear(row: Best) -> str:
    if row.second is None:
        return "–"
    return "yes" if row.clear else "no: ranges overlap, or not repeated"


def outcomes(comparison: Comparison) -> Table:
    """Every run of the grid and what came of it."""
    rows = [
        (
            shown(o.run),
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


def utility(comparison: Comparison, measure: Measure) -> Picture:
    """`measure` against epsilon for every method: the mean of the repeats, and bars from the least to the largest."""
    styled = [(method, points(comparison, method, measure.field)) for method in methods(comparison)]
    epsilons = sorted({p.epsilon for method, ps in styled if method.placement != NO_NOISE for p in ps})
    traces = []
    for method, found in styled:
        if found and method.placement == NO_NOISE:
            traces.append(_baseline(found, epsilons, method))
        elif found:
            traces.append(_line(found, method, comparison))
    drawn = figure(
        traces,
        height=380 + 20 * len(traces),
        x=_epsilon_axis(epsilons),
        y={"title": measure.field} | (ERRORS if measure.least_is_best else {}),
        showlegend=True,
    )
    rows = [
        (shown(method.label), number(p.epsilon), number(p.mean), _range(p), f"{p.measured} of {p.tried}")
        for method, found in styled
        for p in found
    ]
    better = "lower is better" if measure.least_is_best else "higher is better"
    return Picture(
        name=f"utility-{measure.field}",
        title=f"{measure.title} against epsilon",
        alt=f"Line chart of {measure.field} for {len(traces)} placements at {len(epsilons)} budgets; {better}. "
        "The table below holds every value.",
        note=f"{measure.unit[0].upper()}{measure.unit[1:]}: {better}. Points are means over the repeats, bars go from "
        "the least to the largest. Runs without an answer are left out here and counted in the table.",
        figure=drawn,
        table=Table(("placement", "epsilon", "mean", "range", "runs with an answer"), rows),
    )


def bound(comparison: Comparison) -> Picture | None:
    """The paper's bound on a topic's error beside the measured one; None where no outcome has both."""
    both = [
        (method, points(comparison, method, "error"), points(comparison, method, "bound"))
        for method in methods(comparison)
        if method.placement != NO_NOISE
    ]
    both = [(method, measured, bounds) for method, measured, bounds in both if measured and bounds]
    if not both:
        return None
    traces = []
    for method, measured, bounds in both:
        traces.append(_line(measured, method, comparison, name=f"{method.label}: measured"))
        line = _line(bounds, method, comparison, name=f"{method.label}: bound")
        traces.append(line.update(line={"dash": "dot"}, marker={"symbol": line.marker.symbol + "-dot"}, error_y=None))
    epsilons = sorted({p.epsilon for _, measured, bounds in both for p in (*measured, *bounds)})
    level = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": LARGEST_ERROR, "y1": LARGEST_ERROR}
    drawn = figure(
        traces,
        height=400 + 20 * len(traces),
        x=_epsilon_axis(epsilons),
        y={"type": "log", "title": "error of a topic", "exponentformat": "power", "dtick": 1},
        shapes=[{**level, "line": {"color": GREY, "dash": "dash"}}],
        showlegend=True,
    )
    rows = []
    for method, measured, bounds in both:
        proven = {p.epsilon: p.mean for p in bounds}
        rows += [
            (shown(method.label), number(p.epsilon), number(p.mean), number(proven[p.epsilon]))
            for p in measured
            if p.epsilon in proven
        ]
    empty = sum(p.low > LARGEST_ERROR for _, _, bounds in both for p in bounds)
    count = sum(len(bounds) for _, _, bounds in both)
    return Picture(
        name="bound",
        title="The paper's bound beside what was measured",
        alt=f"Line chart of measured errors and bounds for {len(both)} placements. {empty} of {count} bounds "
        "exceed the largest possible error.",
        note="The bound is on the l2 error of a topic; measured is the mean matched l1 error, which is at least as "
        f"large. No two topics are farther apart in l2 than the square root of 2 (dashed): a bound above it says "
        f"nothing, as {empty} of {count} do here.",
        figure=drawn,
        table=Table(("placement", "epsilon", "measured (l1)", "bound (l2)"), rows),
    )


def seconds(comparison: Comparison) -> Picture | None:
    """Mean time of each stage for every method; None if there is none to show."""
    timed = stage_seconds(comparison)
    if not timed:
        return None
    stages = _in_order({stage for by_stage in timed.values() for stage in by_stage})
    traces = [
        go.Bar(
            x=[by_stage.get(stage, 0.0) for by_stage in timed.values()],
            y=list(range(len(timed))),
            orientation="h",
            name=label(stage),
            marker={
                "color": (*COLOURS, GREY)[i % (len(COLOURS) + 1)],
                "pattern": hatched(HATCHES[i % len(HATCHES)]),
            },
            customdata=[label(method.label) for method in timed],
            hovertemplate="%{customdata}: %{x:.2f} s<extra>%{fullData.name}</extra>",
        )
        for i, stage in enumerate(stages)
    ]
    drawn = figure(
        traces,
        height=200 + 30 * len(timed) + 8 * len(stages),
        x={"title": "seconds"},
        y=rows_axis([label(method.label, LONGEST) for method in timed]),
        barmode="stack",
        showlegend=True,
    )
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
        figure=drawn,
        table=Table(("placement", *map(shown, stages), "together"), rows),
    )


def _in_order(stages: Iterable[str]) -> list[str]:
    """`stages` as they follow each other in a run; others, such as saving, last and alphabetically."""
    place = {stage: position for position, stage in enumerate(STAGES)}
    return sorted(stages, key=lambda stage: (place.get(stage, len(STAGES)), stage))


def _line(found: list[Point], method: Method, comparison: Comparison, name: str | None = None) -> go.Scatter:
    """Means as a line with bars to the range; the same colour and symbol wherever the placement appears."""
    placements = list(dict.fromkeys(o.cell.placement for o in comparison.outcomes if o.cell.placement != NO_NOISE))
    calibrations = list(dict.fromkeys(o.cell.calibration for o in comparison.outcomes))
    which, how = placements.index(method.placement), calibrations.index(method.calibration)
    return go.Scatter(
        x=[p.epsilon for p in found],
        y=[p.mean for p in found],
        name=label(name or method.label),
        mode="lines+markers",
        line={"color": COLOURS[which % len(COLOURS)], "dash": DASHES[how % len(DASHES)], "width": 2},
        marker={"symbol": SYMBOLS[which % len(SYMBOLS)] + ("" if method.proven else "-open"), "size": 9},
        error_y={
            "type": "data",
            "array": [p.high - p.mean for p in found],
            "arrayminus": [p.mean - p.low for p in found],
            "thickness": 1.5,
        },
        customdata=[[p.low, p.high, p.measured, p.tried] for p in found],
        hovertemplate="epsilon %{x:.4~g}: %{y:.4~g}<br>from %{customdata[0]:.4~g} to %{customdata[1]:.4~g}"
        "<br>%{customdata[2]} of %{customdata[3]} runs<extra>%{fullData.name}</extra>",
    )


def _baseline(found: list[Point], epsilons: list[float], method: Method) -> go.Scatter:
    """The runs without noise, which no epsilon describes, as a level line."""
    mean = math.fsum(p.mean * p.measured for p in found) / sum(p.measured for p in found)
    return go.Scatter(
        x=epsilons or [1.0],
        y=[mean] * max(len(epsilons), 1),
        name=label(method.label),
        mode="lines",
        line={"color": GREY, "dash": "dot", "width": 2},
        hovertemplate="%{y:.4~g}<extra>%{fullData.name}</extra>",
    )


def _epsilon_axis(epsilons: list[float]) -> dict[str, object]:
    return {
        "type": "log",
        "title": "epsilon",
        "tickvals": epsilons,
        "ticktext": [number(epsilon) for epsilon in epsilons],
    }


def _range(point: Point) -> str:
    return f"{number(point.low)} to {number(point.high)}"
