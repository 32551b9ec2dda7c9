"""Pictures of one run: bounds on attacks, budget by stage, topics, and signal against noise."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from dplda.accounting.events import PrivacyStatement
from dplda.model import TopicModel
from dplda.model.topic_groups import hellinger
from dplda.report.attack_bounds import detected_at_most, epsilon_curve, gaussian_curve, noise, stage_shares
from dplda.report.comparison_of_runs import topic_map
from dplda.report.pictures import (
    BLUE,
    FAINT,
    GREY,
    LONGEST,
    ORANGE,
    RED,
    Picture,
    Table,
    dashed_line,
    figure,
    hatched,
    label,
    number,
    percent,
    rows_axis,
    shown,
    wrapped,
)
from dplda.report.promise import unit_of
from dplda.report.wording import ShownTopics

_FALSE_ALARMS = (0.0001, 0.001, 0.01, 0.05, 0.1)  # false-alarm rates in the table; the figure starts at the first


def pictures(model: TopicModel, topics: ShownTopics, prefix: str) -> list[Picture]:
    """All pictures that the released numbers of `model` allow, and words of `topics` with them; `prefix` starts ids."""
    drawn = [
        _attack(model.privacy, prefix),
        _budget(model.privacy, prefix),
        _prevalence(model, topics, prefix),
        _similarity(model, topics, prefix),
        _signal(model, prefix),
    ]
    return [picture for picture in drawn if picture is not None]


def _attack(privacy: PrivacyStatement, prefix: str) -> Picture | None:
    """Bounds on an attack's detection rate by its false-alarm rate; None for a run without a finite guarantee."""
    if not privacy.sound or math.isinf(privacy.epsilon) or math.isinf(noise(privacy)[0]):
        return None
    rates = np.geomspace(_FALSE_ALARMS[0], 1, 81)
    curves = (
        ("this run's noise", gaussian_curve(rates, privacy), BLUE, "solid"),
        ("epsilon and delta alone", epsilon_curve(rates, privacy), ORANGE, "dash"),
        ("guessing", rates, GREY, "dot"),
    )
    hover = "false alarms %{x:.2%}<br>found at most %{y:.1%}<extra>%{fullData.name}</extra>"
    traces = [
        go.Scatter(
            x=rates.tolist(),
            y=curve.tolist(),
            name=name,
            mode="lines",
            line={"color": colour, "dash": dash, "width": 3},
            hovertemplate=hover,
        )
        for name, curve, colour, dash in curves
    ]
    decades = [10.0**power for power in range(round(math.log10(_FALSE_ALARMS[0])), 1)]
    drawn = figure(
        traces,
        height=400,
        x={
            "type": "log",
            "title": "false alarms, of those outside",
            "tickvals": decades,
            "ticktext": [f"{rate:.10g}%" for rate in (100 * decade for decade in decades)],
            "range": [math.log10(_FALSE_ALARMS[0]), 0.05],
        },
        y={"title": "found at most, of those inside", "tickformat": ".0%", "range": [0, 1.02]},
    )
    at = np.array(_FALSE_ALARMS)
    detected = detected_at_most(at, privacy)
    rows = [(f"{rate:.10g}%", percent(most, upwards=True)) for rate, most in zip(100 * at, detected, strict=True)]
    return Picture(
        name=f"{prefix}-attack",
        title="What the best possible attack can find",
        alt=f"Line chart. With false alarms for {rows[2][0]} of those outside, an attack finds at most {rows[2][1]} of "
        "those inside; by guessing it would find as many as it has false alarms.",
        note=f"An attack names those it takes to be inside. Whatever it does, if it also names 1% of those outside, it "
        f"finds at most {rows[2][1]} of those inside. The lower curve of the two holds; the dotted line is guessing.",
        figure=drawn,
        table=Table(("false alarms", "found at most"), rows),
    )


def _budget(privacy: PrivacyStatement, prefix: str) -> Picture | None:
    """Each stage's share of mu^2; None if the events have no finite sum."""
    stages = stage_shares(privacy.events)
    if not stages:
        return None
    places = list(range(len(stages)))
    parts = (
        ("the stage's releases", [stage.releases for stage in stages], BLUE, ""),
        ("placing its clip", [stage.clip for stage in stages], ORANGE, "/"),
    )
    traces = [
        go.Bar(
            x=shares,
            y=places,
            orientation="h",
            name=name,
            marker={"color": colour, "pattern": hatched(hatch)},
            customdata=[label(stage.stage) for stage in stages],
            hovertemplate="%{customdata}: %{x:.1%}<extra>%{fullData.name}</extra>",
        )
        for name, shares, colour, hatch in parts
        if any(shares)
    ]
    drawn = figure(
        traces,
        height=110 + 28 * len(stages),
        x={"title": "share of what is spent", "tickformat": ".0%"},
        y=rows_axis([label(stage.stage, LONGEST) for stage in stages]),
        barmode="stack",
        showlegend=len(traces) > 1,
    )
    rows = [(shown(s.stage), percent(s.releases), percent(s.clip), str(s.count), number(s.multiplier)) for s in stages]
    largest = max(stages, key=lambda stage: stage.releases + stage.clip)
    share = percent(largest.releases + largest.clip)
    return Picture(
        name=f"{prefix}-budget",
        title="Where the privacy budget goes",
        alt=f"Bar chart of {len(stages)} stages. The largest share, {share}, goes to {shown(largest.stage)}.",
        note="Shares of mu squared, the sum in which Gaussian noise adds up. All were fixed before the first document "
        "was read.",
        figure=drawn,
        table=Table(("stage", "releases", "clip", "number of releases", "noise over sensitivity"), rows),
    )


def _prevalence(model: TopicModel, topics: ShownTopics, prefix: str) -> Picture:
    """The share of the words of each topic that is shown."""
    listed = model.listed_topics
    n_topics = len(listed)
    trace = go.Bar(
        x=model.prevalence[listed].tolist(),
        y=list(range(n_topics)),
        orientation="h",
        marker={"color": BLUE},
        customdata=[label(f"topic {topic}: {topics.title(topic)}") for topic in listed],
        hovertemplate="%{customdata}<br>%{x:.2%} of the words<extra></extra>",
    )
    labels = [wrapped(f"{topic} {topics.title(topic)}") for topic in listed]
    drawn = figure(
        [trace],
        height=70 + (34 if any("<br>" in line for line in labels) else 24) * n_topics,
        x={"title": "share of the words", "tickformat": ".0%"},
        y=rows_axis(labels),
    )
    rows = [(str(t), percent(float(model.prevalence[t])), shown(topics.title(t))) for t in listed]
    first, share, _ = rows[int(model.prevalence[listed].argmax())]
    return Picture(
        name=f"{prefix}-prevalence",
        title="How common the topics are",
        alt=f"Bar chart of {n_topics} topics. The most common is topic {first} with {share} of the words.",
        note=_what_shares_are(model.privacy),
        figure=drawn,
        table=Table(("topic", "share", "words"), rows),
    )


def _what_shares_are(privacy: PrivacyStatement) -> str:
    """What the prevalence of a topic is a share of (docs/privacy.md, section 0)."""
    unit = unit_of(privacy)
    counted = (
        "each document counts once"
        if unit.name == "document"
        else f"the documents of one {unit.one} are averaged first, so that many documents count no more than one"
    )
    long = " Long documents count no more than ordinary ones." if privacy.sound else ""
    noisy = " Shares are estimated from noisy counts, so that their order may be chance." if privacy.sound else ""
    return (
        f"The share of a topic is the part of an average {unit.one}'s words that belongs to it: {counted}.{long} Only "
        f"words that the run uses are counted.{noisy}"
    )


def _similarity(model: TopicModel, topics: ShownTopics, prefix: str) -> Picture | None:
    """A map of topics, in which topics with similar words are close; None for a single topic."""
    listed = model.listed_topics
    n_topics = len(listed)
    if n_topics < 2:
        return None
    rows_of, prevalence = model.topics[listed], model.prevalence[listed]
    plane, words = topic_map(rows_of), [topics.title(topic) for topic in listed]
    distances = hellinger(rows_of, rows_of) + np.diag(np.full(n_topics, np.inf))
    nearest = distances.argmin(axis=1)
    trace = go.Scatter(
        x=plane.points[:, 0].tolist(),
        y=plane.points[:, 1].tolist(),
        mode="markers+text",
        text=[str(topic) for topic in listed],
        textposition="top center",
        marker={
            "size": (8 + 40 * np.sqrt(prevalence)).tolist(),
            "color": BLUE,
            "opacity": 0.6,
            "line": {"color": "white", "width": 1},
        },
        customdata=[
            [label(words[t]), float(prevalence[t]), listed[nearest[t]], float(distances[t, nearest[t]])]
            for t in range(n_topics)
        ],
        hovertemplate="topic %{text}: %{customdata[0]}<br>%{customdata[1]:.1%} of the words<br>nearest: topic "
        "%{customdata[2]}, at distance %{customdata[3]:.2f}<extra></extra>",
        cliponaxis=False,
    )
    bare = {"showticklabels": False, "showgrid": False, "mirror": True}
    drawn = figure([trace], height=420, x=bare, y={**bare, "scaleanchor": "x"})
    rows = [
        (str(listed[t]), str(listed[nearest[t]]), f"{distances[t, nearest[t]]:.2f}", shown(words[t]))
        for t in range(n_topics)
    ]
    one, other = np.unravel_index(distances.argmin(), distances.shape)
    return Picture(
        name=f"{prefix}-map",
        title="Which topics are alike",
        alt=f"Map of {n_topics} topics. The two most alike are topics {listed[one]} and {listed[other]}, at distance "
        f"{distances.min():.2f} of at most 1.",
        note="Topics close together use the same words (Hellinger distance: 0 the same, 1 no word in common); larger "
        f"points are more common. The plane shows {percent(plane.kept)} of the squared distances.",
        figure=drawn,
        table=Table(("topic", "nearest", "distance", "words"), rows),
    )


def _signal(model: TopicModel, prefix: str) -> Picture | None:
    """The noisy eigenvalues of the core moment over the noise level; None if the run did not release them."""
    values, level = model.parameters.get("core_eigenvalues"), model.parameters.get("core_noise_level")
    if not _numbers(values) or not _numbers([level]) or not level:
        return None
    ratios = np.array(values, dtype=np.float64) / float(level)
    positive = np.flatnonzero(ratios > 0)
    above = int((ratios > 1).sum())
    traces = [
        go.Scatter(
            x=(which + 1).tolist(),
            y=ratios[which].tolist(),
            mode="markers",
            name=name,
            marker={"size": 10, "color": colour, "symbol": symbol},
            hovertemplate="direction %{x}<br>%{y:.2f} times the noise<extra></extra>",
        )
        for name, which, colour, symbol in (
            ("above the noise", positive[ratios[positive] > 1], BLUE, "circle"),
            ("not told from noise", positive[ratios[positive] <= 1], RED, "x"),
        )
        if len(which)
    ]
    drawn = figure(
        traces,
        height=360,
        x={"title": "direction, strongest first", "showgrid": False, "range": [0.3, len(ratios) + 0.7]},
        y={"type": "log", "title": "signal over noise", "dtick": 1, "gridcolor": FAINT},
        shapes=[dashed_line(1)],
        showlegend=True,
    )
    hidden = len(ratios) - len(positive)
    return Picture(
        name=f"{prefix}-signal",
        title="Noise against signal",
        alt=f"Chart of {len(ratios)} directions: {above} stand above the noise.",
        note=f"Eigenvalues of the noisy second moment over the noise level (dashed). {above} of {len(ratios)} stand "
        f"above it: no more topics than about so many can be real; {len(model.topics)} were learned."
        + (f" Not positive and left out: {hidden}." if hidden else ""),
        figure=drawn,
        table=Table(("direction", "signal over noise"), [(str(i + 1), number(float(r))) for i, r in enumerate(ratios)]),
    )


def _numbers(values: object) -> bool:
    """Whether `values` is a list of finite numbers."""
    return isinstance(values, list) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values
    )
