"""Chart of the membership attack: the share of members found by the rate of false alarms, and the allowed maximum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dplda.audit.membership import Outcome, detected, limits
from dplda.report.charts import COLOURS, SOFT, Chart, log_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 1e-4  # rate of false alarms at which curves begin
_RATES = np.geomspace(_LEAST, 1.0, 121)
_TICKS = {1e-4: "0.01 %", 1e-3: "0.1 %", 1e-2: "1 %", 1e-1: "10 %", 1.0: "100 %"}
_HEIGHT = 400  # CSS pixels


def attack_chart(outcomes: Sequence[Outcome]) -> Chart:
    """A chart with panels for documents and for canaries: a curve for each system, and its limit as a dotted line.

    A system's curve shows the score, offline or online, that finds more members at the largest rate of false alarms in
    `Outcome.detections`. `dplda.audit.membership` explains systems, targets and scores.
    """
    best: dict[str, dict[str, Outcome]] = {}
    for outcome in outcomes:
        systems = best.setdefault(outcome.targets, {})
        other = systems.setdefault(outcome.system, outcome)
        if outcome.detections[-1].found > other.detections[-1].found:
            systems[outcome.system] = outcome
    panels = {kind: list(systems.values()) for kind, systems in best.items()}
    return Chart(_drawing(panels), _HEIGHT, panels=len(panels))


def _drawing(panels: Mapping[str, Sequence[Outcome]]) -> Callable[[Sequence[Axes]], None]:
    def draw(axes: Sequence[Axes]) -> None:
        for panel, (title, curves) in zip(axes, panels.items(), strict=True):
            panel.set_title(title, loc="left")
            for which in ("x", "y"):
                log_axis(panel, which, list(_TICKS), list(_TICKS.values()))
            panel.set(xlim=(_LEAST, 1), ylim=(_LEAST, 1.1), xlabel="false alarms")
            panel.plot(_RATES, _RATES, color=SOFT, linewidth=1, linestyle="--", label="guessing")
            if any(curve.statement for curve in curves):
                panel.plot([], [], color=SOFT, linewidth=1.4, linestyle=":", label="the most that is allowed")
            for number, curve in enumerate(curves):
                _draw_curve(panel, curve, COLOURS[number % len(COLOURS)])
        axes[0].set_ylabel("members found")

    return draw


def _draw_curve(panel: Axes, curve: Outcome, colour: str) -> None:
    found, accused = detected(curve.scores, curve.inside, _RATES)
    shares = accused / (~curve.inside).sum(), found / curve.inside.sum()
    panel.plot(*shares, color=colour, label=curve.system)
    if curve.statement is not None:
        most = np.minimum(*limits(_RATES, curve.statement))
        panel.plot(_RATES, most, color=colour, linestyle=":", linewidth=1.4)
