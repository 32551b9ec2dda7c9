"""Pictures of one run: topics and how they relate, bounds on attacks, budget by stage, and signal against noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from dplda.budget.events import PrivacyStatement
from dplda.learning.estimates import Estimates
from dplda.model import TopicModel
from dplda.model.labels import group_labels
from dplda.model.topic_groups import TopicTree, hellinger, plane, topic_tree
from dplda.report.pictures import (
    BLUE,
    ORANGE,
    RED,
    SOFT,
    Bar,
    Bars,
    Chart,
    Picture,
    Table,
    Tree,
    TreeRow,
    log_axis,
    number,
    percent,
    shown,
    with_interval,
)
from dplda.report.promise import detected_at_most, epsilon_curve, gaussian_curve, noise, stage_shares, unit_of
from dplda.report.wording import DIVIDED, ShownTopics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FALSE_ALARMS = (0.0001, 0.001, 0.01, 0.05, 0.1)  # false-alarm rates in the table; the figure starts at the first
_FAR = 0.8  # Hellinger distance: beyond it, topics have too little in common for groups to mean anything
_MAPPED = 8  # topics from which on they are drawn as a map
_LARGEST_CIRCLE = 5200  # area of the most common topic's circle, in square points, on a chart 720 points wide
_DIGITS, _SHIFTS = 16.0, 20  # pixels between the numbers of two circles; how often numbers are shifted for that
_HALVES = np.array([-0.5, 0.5])
_NAMED_BY = 3  # topics by which a group without a label is named, its most common ones


def pictures(
    model: TopicModel, topics: ShownTopics, prefix: str, shares: Estimates[np.ndarray] | None = None
) -> list[Picture]:
    """Draw all pictures that the released numbers of `model` allow, with the names and words in `topics`.

    `prefix` begins the ids of the pictures. `shares` are the topics' shares by a released table, if there is one.
    """
    drawn = [
        _prevalence(model, topics, prefix, shares),
        _relations(model, topics, prefix, model.prevalence if shares is None else shares.value),
        _map(model, topics, prefix, shares),
        _attack(model.privacy, prefix),
        _budget(model, prefix),
        _signal(model, prefix),
    ]
    return [picture for picture in drawn if picture is not None]


def _attack(privacy: PrivacyStatement, prefix: str) -> Picture | None:
    """Draw bounds on an attack's detection rate by its false-alarm rate; None without a finite guarantee."""
    if not privacy.sound or math.isinf(privacy.epsilon) or math.isinf(noise(privacy)[0]):
        return None
    rates = np.geomspace(_FALSE_ALARMS[0], 1, 81)
    curves = (
        ("this run's noise", gaussian_curve(rates, privacy), BLUE, "-"),
        ("epsilon and delta alone", epsilon_curve(rates, privacy), ORANGE, "--"),
        ("guessing", rates, SOFT, ":"),
    )

    def draw(axes: Sequence[Axes]) -> None:
        for name, curve, colour, dashes in curves:
            axes[0].plot(rates, curve, dashes, color=colour, label=name)
        decades = [10.0**power for power in range(round(math.log10(_FALSE_ALARMS[0])), 1)]
        log_axis(axes[0], "x", decades, [f"{100 * rate:.10g}%" for rate in decades])
        axes[0].yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes[0].set(xlabel="false alarms, of those outside", ylabel="found at most, of those inside", ylim=(0, 1.02))

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
        drawing=Chart(draw, height=400),
        table=Table(("false alarms", "found at most"), rows),
    )


def _budget(model: TopicModel, prefix: str) -> Picture | None:
    """Draw each stage's share of mu^2; None if the events have no finite sum."""
    stages = stage_shares(model.privacy.events)
    if not stages:
        return None
    clips = any(stage.clip for stage in stages)
    bars = [
        Bar(shown(s.stage), (s.releases, s.clip) if clips else (s.releases,), percent(s.releases + s.clip))
        for s in stages
    ]
    rows = [(shown(s.stage), percent(s.releases), percent(s.clip), str(s.count), number(s.multiplier)) for s in stages]
    largest = max(stages, key=lambda stage: stage.releases + stage.clip)
    share = percent(largest.releases + largest.clip)
    otherwise = ""  # some stages may spend their budget on something else than their names say
    if model.facts.learned_from is not None:
        otherwise = (
            " Mean and a part of refine were spent jointly on word frequencies, the stages after them on pairs of "
            "words."
        )
    elif model.facts.prior_used:
        otherwise = " Start and refine were spent jointly on how much of the text each prior topic explains."
    return Picture(
        name=f"{prefix}-budget",
        title="How the privacy budget was divided",
        alt=f"Bar chart of {len(stages)} stages. The largest share, {share}, goes to {shown(largest.stage)}.",
        note="Shares of mu squared, the sum in which Gaussian noise adds up, as planned before the first document was "
        f"read. The ledger is charged for the stages that the run reached.{otherwise}",
        drawing=Bars(bars, ("the stage's releases", "placing its clip") if clips else ()),
        table=Table(("stage", "releases", "clip", "number of releases", "least noise over sensitivity"), rows),
    )


def _prevalence(model: TopicModel, topics: ShownTopics, prefix: str, shares: Estimates[np.ndarray] | None) -> Picture:
    """Draw each listed topic's share (`share_of`), with its interval if the `shares` of a table are known."""
    values = model.prevalence if shares is None else shares.value
    listed = sorted(model.listed_topics, key=lambda topic: -values[topic])
    bars = [
        Bar(
            label=shown(f"{topic} {topics.title(topic)}"),
            parts=(float(values[topic]),),
            value=percent(float(values[topic]))
            if shares is None
            else with_interval(float(values[topic]), float(shares.low[topic]), float(shares.high[topic])),
            interval=None if shares is None else (float(shares.low[topic]), float(shares.high[topic])),
        )
        for topic in listed
    ]
    first = listed[0]
    sure = (
        ""
        if shares is None
        else " The thin lines are 95% intervals: they contain the share without the noise. They are of the documents "
        "that were tabulated."
    )
    return Picture(
        name=f"{prefix}-prevalence",
        title="How common the topics are",
        alt=f"Bar chart of {len(listed)} topics. The most common is topic {first} with {percent(float(values[first]))} "
        f"{share_of(model, '' if shares is None else model.privacy.unit)}.",
        note=_what_shares_are(model, by_table=shares is not None) + sure,
        drawing=Bars(bars),
    )


def share_of(model: TopicModel, unit: str = "") -> str:
    """Say of what the prevalence of a topic is a share; with a `unit`, of what its share in a table of these is one."""
    if unit:
        return shown(f"of the average {unit}")
    return "of what is about these topics" if model.facts.prior_used else "of the words"


def _what_shares_are(model: TopicModel, by_table: bool) -> str:
    """Say what the prevalence of a topic, or with `by_table` its share in a table, is a share of (see `share_of`).

    Prevalence is the topic's part of the words, of which a long document counts no more than an ordinary one, because
    it is clipped. A table averages the proportions of documents (docs/privacy.md, section 2, (vi) and (vii)).
    """
    privacy, unit = model.privacy, unit_of(model.privacy)
    of = f"part of an average {unit.one}'s words" if by_table else f"part {share_of(model)}"
    counted = (
        f": the documents of one {unit.one} are averaged first, so that many documents count no more than one"
        if unit.name != "document"
        else ": each document counts once"
        if by_table
        else ""
    )
    divided = f" Shares are of all known words: {DIVIDED}." if by_table and model.facts.prior_used else ""
    long = " Long documents count no more than ordinary ones." if privacy.sound else ""
    chance = (
        " Shares are estimated from noisy counts: they may be off by several points, and their order may be chance. "
        "A table (dplda tabulate) tells them with intervals."
    )
    return (
        f"The share of a topic is the {of} that belongs to it{counted}.{long} Only words that the run uses are "
        f"counted.{divided}{chance if privacy.sound and not by_table else ''}"
    )


def _signal(model: TopicModel, prefix: str) -> Picture | None:
    """Draw the noisy eigenvalues of the core moment over the noise level; None if they were not released."""
    values, level = model.facts.core_eigenvalues, model.facts.core_noise_level
    if not values or not level:
        return None
    ratios = np.array(values, dtype=np.float64) / level
    positive = np.flatnonzero(ratios > 0)
    above = int((ratios > 1).sum())

    def draw(axes: Sequence[Axes]) -> None:
        for name, which, colour, marker in (
            ("above the noise", positive[ratios[positive] > 1], BLUE, "o"),
            ("not told from noise", positive[ratios[positive] <= 1], RED, "x"),
        ):
            if len(which):
                axes[0].plot(which + 1, ratios[which], marker, color=colour, label=name, markersize=7)
        axes[0].axhline(1, color=SOFT, linestyle="--", linewidth=1)
        log_axis(axes[0], "y")
        axes[0].set(xlabel="direction, strongest first", ylabel="signal over noise", xlim=(0.3, len(ratios) + 0.7))

    hidden = len(ratios) - len(positive)
    told = "more were not looked at" if above == len(ratios) else "the others may be noise alone"
    return Picture(
        name=f"{prefix}-signal",
        title="Noise against signal",
        alt=f"Chart of {len(ratios)} directions: {above} stand above the noise.",
        note=f"Eigenvalues of the noisy second moment over the noise level (dashed). {above} of {len(ratios)} stand "
        f"above it: {told}. {len(model.topics)} topics were learned."
        + (f" Not positive and left out: {hidden}." if hidden else ""),
        drawing=Chart(draw, height=360),
        table=Table(("direction", "signal over noise"), [(str(i + 1), number(float(r))) for i, r in enumerate(ratios)]),
    )


def _relations(model: TopicModel, topics: ShownTopics, prefix: str, shares: np.ndarray) -> Picture | None:
    """Draw the listed topics, with their `shares`, in groups as `dplda tree`; None for fewer than three topics."""
    tree = topic_tree(model)
    if len(tree.topics) < 3:
        return None
    listed = list(tree.topics)
    distances = hellinger(model.topics[listed], model.topics[listed]) + np.diag(np.full(len(listed), np.inf))
    related = bool(distances.min() < _FAR)
    groups = [list(group) for group in tree.groups(None if related else 1)]
    rows, place = list[TreeRow](), dict[int, float]()
    for count, group in enumerate(groups, start=1):
        if len(groups) > 1:
            share = percent(float(shares[group].sum()))
            rows.append(TreeRow(shown(f"Group {count}: {_named(model, topics, group)}"), share, heading=True))
        for topic in group:
            place[topic] = len(rows) + 0.5
            rows.append(TreeRow(shown(f"{topic} {topics.title(topic)}"), percent(float(shares[topic]))))
    nearest = distances.argmin(axis=1)
    one, other = np.unravel_index(distances.argmin(), distances.shape)
    numbers = [
        (
            f"{topic} {topics.title(topic)}",
            f"{listed[near]} {topics.title(listed[near])}",
            f"{distances[row, near]:.2f}",
        )
        for row, (topic, near) in enumerate(zip(listed, nearest, strict=True))
    ]
    return Picture(
        name=f"{prefix}-relations",
        title="How the topics relate",
        alt=f"Dendrogram of {len(listed)} topics in {len(groups)} groups. The two most alike are topics {listed[one]} "
        f"and {listed[other]}.",
        note="Topics that use the same words are joined: the farther to the right two lines meet, the more alike their "
        "topics are. "
        + (
            "Groups are a cut through the tree, and their shares are the sums of those of their topics."
            if related
            else "No two of these topics have many words in common, so that they are not put into groups."
        ),
        drawing=Tree(rows, _paths(tree, place)),
        table=Table(("topic", "nearest topic", "distance"), [(shown(a), shown(b), c) for a, b, c in numbers]),
        definition="Distance is that of Hellinger between the topics' word probabilities: 0 for equal topics, 1 for "
        "topics without a word in common. The tree is made by Ward's method.",
    )


def _map(model: TopicModel, topics: ShownTopics, prefix: str, shares: Estimates[np.ndarray] | None) -> Picture | None:
    """Draw the listed topics as circles, near ones close together; None for fewer than eight topics."""
    listed = model.listed_topics
    if len(listed) < _MAPPED:
        return None
    distances = hellinger(model.topics[listed], model.topics[listed])
    np.fill_diagonal(distances, 0.0)  # whatever the rounding
    points, kept = plane(distances)
    sizes = np.maximum((model.prevalence if shares is None else shares.value)[listed], 0.0)
    areas = sizes / (sizes.max() or 1.0)
    order = np.argsort(-areas, kind="stable")  # small circles above large ones

    def draw(axes: Sequence[Axes]) -> None:
        chart = axes[0]
        discs = _LARGEST_CIRCLE * (chart.figure.bbox.width / 720) ** 2 * areas
        for place in order:
            x, y = points[place]
            chart.scatter(x, y, discs[place], color=(BLUE, 0.25), edgecolor=BLUE)
        radii = np.sqrt(discs) / 2 * chart.figure.dpi / 72
        middle, extent = _room(points, radii, np.array(chart.bbox.size))
        chart.set(xlim=middle[0] + extent[0] * _HALVES, ylim=middle[1] + extent[1] * _HALVES)
        centres = chart.transData.transform(points)
        shifts = (_apart(centres, _DIGITS) - centres) * 72 / chart.figure.dpi
        for topic, point, shift in zip(listed, points, shifts, strict=True):
            chart.annotate(
                str(topic), point, shift, textcoords="offset points", ha="center", va="center", weight="bold"
            )
        chart.grid(visible=False)
        chart.set(xticks=[], yticks=[])
        chart.spines[:].set_visible(False)

    pairs = distances + np.diag(np.full(len(listed), np.inf))
    one, other = np.unravel_index(pairs.argmin(), pairs.shape)
    rows = [
        (shown(f"{topic} {topics.title(topic)}"), percent(float(size)), f"{x:.2f}", f"{y:.2f}")
        for topic, size, (x, y) in zip(listed, sizes, points, strict=True)
    ]
    return Picture(
        name=f"{prefix}-map",
        title="A map of the topics",
        alt=f"Map of {len(listed)} topics, drawn as circles with their numbers. The two most alike are topics "
        f"{listed[one]} and {listed[other]}. The numbers below give the place of each topic.",
        note="Topics with many words in common are close together, and the area of a circle is the topic's share. The "
        f"directions mean nothing. Numbers are those of the topics. A flat map keeps {kept:.0%} of the differences "
        "between these topics: which are the most alike, the tree tells better.",
        drawing=Chart(draw, height=460, narrow_height=340),
        table=Table(("topic", "share", "to the right", "up"), rows),
        definition="Classical multidimensional scaling of the Hellinger distances between the topics' word "
        "probabilities; the percentage is the share of their variance in the plane.",
    )


def _room(points: np.ndarray, radii: np.ndarray, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle and the extent (2,) of a map of so many `pixels` that shows `points` (n, 2) as whole circles.

    `radii` (n,) are in pixels. A pixel is as wide as it is high, and there is a twentieth more room than needed.
    """
    width = float((np.ptp(points, axis=0) / pixels).max()) or 1.0  # of a pixel; a map of circles has larger ones
    for _ in range(_SHIFTS):
        ends = np.array([(points - radii[:, None] * width).min(axis=0), (points + radii[:, None] * width).max(axis=0)])
        width = 1.05 * float((np.ptp(ends, axis=0) / pixels).max())
    return ends.mean(axis=0), width * pixels


def _apart(points: np.ndarray, least: float) -> np.ndarray:
    """Move `points` (n, 2) that are nearer to each other than `least` apart, both by the same distance."""
    moved = points.copy()
    for _ in range(_SHIFTS):
        near = np.argwhere(np.triu(cdist(moved, moved) < least * (1 - 1e-6), 1))
        if not len(near):
            break
        for one, other in near:
            gap = moved[other] - moved[one]
            distance = float(np.hypot(*gap))
            way = gap / distance if distance else np.array([1.0, 0.0])
            shift = max(least - distance, 0.0) / 2 * way
            moved[one] -= shift
            moved[other] += shift
    return moved


def _named(model: TopicModel, topics: ShownTopics, group: Sequence[int]) -> str:
    """Return the label of a group of topics, or the names or first words of its most common ones, and how many more."""
    label = group_labels(model).get(tuple(sorted(group)))
    if label is not None:
        return label.name
    common = sorted(group, key=lambda topic: -model.prevalence[topic])[:_NAMED_BY]
    more = [f"and {len(group) - len(common):,} more"] if len(group) > len(common) else []
    return "; ".join([*(topics.title(topic, 1) for topic in common), *more])


def _paths(tree: TopicTree, place: dict[int, float]) -> list[str]:
    """Return SVG paths of the merges: two children, joined at their height; `place` is a topic's place from the top."""
    highest = float(tree.merges[:, 2].max()) or 1.0
    at = [(100.0, place[topic]) for topic in tree.topics]
    paths = []
    for first, second, height, _ in tree.merges:
        (x, y), (other_x, other_y) = at[int(first)], at[int(second)]
        joint = 100 * (1 - float(height) / highest)
        paths.append(f"M{x:.1f} {y:.2f}H{joint:.1f}V{other_y:.2f}H{other_x:.1f}")
        at.append((joint, (y + other_y) / 2))
    return paths
