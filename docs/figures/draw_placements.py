#!/usr/bin/env python
"""Draw where each placement puts its noise: one SVG figure a placement, beside this file, for docs/placements.md.

What is drawn is held to what the placements ask: every question of a run is one arrow through the gate, and the named
edges are those of the placement's split. A picture that tells another story is not written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from dplda.learning.placements import registry, stages, tensor_power
from dplda.learning.settings import FitSettings

STEP, ROW, GAP = 190, 100, 150  # points from column to column, from row to row, and across the gate
BOX, HEIGHT = 132, 46  # of a node
LEFT, TOP, LEGEND = 80, 74, 96
INK, PAPER, LINE = "#222222", "#ffffff", "#555555"
NOISE = "#882E72"  # with the two below told apart by the colour-blind; shape and border tell them apart as well
PRIVATE, RELEASED = ("#F6DDC0", "#A65300"), ("#D9EAF8", "#005A8F")  # fill, border


@dataclass(frozen=True)
class Node:
    """What is computed, at a column and row; columns are counted on each side of the gate."""

    text: str
    column: float
    row: float
    released: bool = False


@dataclass(frozen=True)
class Arrow:
    """One thing is computed from another; through the gate by the questions `stages`, on the paper's `edges`.

    `text` stands beside it. It goes `back` where its end is asked anew, and `allows` if it only says whether.
    """

    source: str
    target: str
    stages: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    text: str = ""
    back: bool = False
    allows: bool = False


@dataclass(frozen=True)
class Graph:
    """The nodes, by name, and the arrows of one placement."""

    title: str
    nodes: dict[str, Node]
    arrows: tuple[Arrow, ...]

    @property
    def private_columns(self) -> float:
        """How many columns stand behind the gate."""
        return 1 + max(node.column for node in self.nodes.values() if not node.released)

    @property
    def gate(self) -> float:
        """Where the gate stands."""
        return LEFT + (self.private_columns - 1) * STEP + BOX / 2 + GAP / 2

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the picture."""
        released = max(node.column for node in self.nodes.values() if node.released)
        width = self.gate + GAP / 2 + BOX + released * STEP + LEFT - BOX / 2
        return width, TOP + max(node.row for node in self.nodes.values()) * ROW + HEIGHT + LEGEND

    def at(self, name: str) -> tuple[float, float]:
        """The middle of a node."""
        node = self.nodes[name]
        start = self.gate + GAP / 2 + BOX / 2 if node.released else LEFT
        return start + node.column * STEP, TOP + HEIGHT / 2 + node.row * ROW


def _moments(E3: str, T: str) -> dict[str, Node]:
    """What config1, config2 and tensor-power have in common: `E3` is asked for and `T` is answered."""
    return {
        "D": Node("counts of the\ndocuments", 0, 1),
        "sums": Node("votes, units,\nmean", 1, 0),
        "m": Node("words, N, m", 0, 0, released=True),
        "E2": Node("second moment\nE₂", 1, 1),
        "W": Node("M₂, whitening W", 0, 1, released=True),
        "E3": Node(E3, 1, 2),
        "T": Node(T, 0, 2, released=True),
        "pairs": Node("λᵢ, vᵢ", 1, 2, released=True),
        "topics": Node("topics,\nprevalence", 1, 1, released=True),
    }


_ASKED_FIRST = (
    Arrow("D", "sums"),
    Arrow("sums", "m", ("size", "vocabulary", "vote total", "mean")),
    Arrow("D", "E2"),
    Arrow("m", "W"),
)
_UNWHITENED = Arrow("W", "topics", text="unwhiten"), Arrow("pairs", "topics")

GRAPHS = {
    "default": Graph(
        "default: noise on the subspace, the core, the whitened tensor and the refinement",
        {
            "D": Node("counts of the\ndocuments", 0, 2),
            "sums": Node("votes, units,\nmean", 1, 0),
            "m": Node("words, N, m", 0, 0, released=True),
            "E2X": Node("E₂X", 1, 1),
            "X": Node("block X", 0, 1, released=True),
            "core": Node("XᵀE₂X", 1, 2),
            "W": Node("how many topics,\nwhitening W", 0, 2, released=True),
            "E3": Node("E₃(W, W, W)", 1, 3),
            "pairs": Node("T, then λᵢ, vᵢ", 0, 3, released=True),
            "spectral": Node("spectral topics", 1, 3, released=True),
            "counts": Node("expected counts\nof topics", 1, 4),
            "topics": Node("topics,\nprevalence", 0, 4, released=True),
        },
        (
            *(Arrow("D", name) for name in ("sums", "E2X", "core", "E3", "counts")),
            Arrow("sums", "m", ("size", "vocabulary", "vote total", "mean")),
            Arrow("m", "E2X"),
            Arrow("E2X", "X", ("subspace",)),
            Arrow("X", "E2X", text=f"{stages.POWER_ROUNDS} rounds", back=True),
            Arrow("X", "core"),
            Arrow("core", "W", ("core",)),
            Arrow("W", "E3"),
            Arrow("E3", "pairs", ("tensor",)),
            Arrow("pairs", "spectral"),
            Arrow("W", "spectral", text="unwhiten"),
            Arrow("spectral", "counts"),
            Arrow("counts", "topics", ("refine",)),
            Arrow("topics", "counts", text=f"{stages.REFINE_ROUNDS} rounds", back=True),
        ),
    ),
    "config1": Graph(
        "config1: noise on the third moment and on the second",
        _moments("third moment\nE₃", "T = M₃(W, W, W)"),
        (
            *_ASKED_FIRST,
            Arrow("E2", "W", ("moment",), ("e4", "e8")),
            Arrow("D", "E3"),
            Arrow("E3", "T", ("tensor",), ("e3",)),
            Arrow("W", "T"),
            Arrow("T", "pairs"),
            *_UNWHITENED,
        ),
    ),
    "config2": Graph(
        "config2: noise on the whitened tensor and on the second moment",
        _moments("whitened tensor\nE₃(W, W, W)", "T = M₃(W, W, W)"),
        (
            *_ASKED_FIRST,
            Arrow("E2", "W", ("moment",), ("e8",)),
            Arrow("D", "E3"),
            Arrow("W", "E3"),
            Arrow("E3", "T", ("tensor",), ("e6",)),
            Arrow("T", "pairs"),
            *_UNWHITENED,
        ),
    ),
    "config3": Graph(
        "config3: noise on what the decomposition finds and on the second moment",
        {
            "D": Node("counts of the\ndocuments", 0, 1),
            "sums": Node("votes, units,\nmean", 2, 0),
            "m": Node("words, N, m", 0, 0, released=True),
            "E2": Node("second moment\nE₂", 2, 1),
            "W": Node("M₂, whitening W", 0, 1, released=True),
            "T": Node("T = M₃(W, W, W)", 1, 2),
            "Q": Node("qᵢ = T(vᵢ, vᵢ, ·)", 2, 2),
            "gaps": Node("mass, gap γ,\nnorm τ", 2, 3),
            "tests": Node("tests passed?", 0, 3, released=True),
            "pairs": Node("λᵢ, vᵢ", 0, 2, released=True),
            "topics": Node("topics,\nprevalence", 1, 1, released=True),
        },
        (
            *_ASKED_FIRST,
            Arrow("E2", "W", ("moment",), ("e8",)),
            Arrow("D", "T"),
            Arrow("W", "T"),
            Arrow("T", "Q"),
            Arrow("T", "gaps"),
            Arrow("gaps", "tests", ("mass", "gap", "tensor norm"), ("e7",)),
            Arrow("tests", "pairs", allows=True),
            Arrow("Q", "pairs", ("decomposition",), ("e7",)),
            *_UNWHITENED,
        ),
    ),
    "config4": Graph(
        "config4: noise on the topics alone",
        {
            "D": Node("counts of the\ndocuments", 0, 1),
            "sums": Node("votes", 2, 0),
            "m": Node("words", 0, 0, released=True),
            "M2": Node("M₂", 1, 1),
            "B": Node("B = M₃(·, ·, h)", 1, 2),
            "Y": Node("yᵢ = (r·xᵢ) xᵢ", 2, 1),
            "gaps": Node("N, λ₁, λₖ, λₖ₊₁,\n‖B‖, γ", 2, 2),
            "tests": Node("tests passed?", 0, 2, released=True),
            "topics": Node("topics,\nprevalence", 0, 1, released=True),
        },
        (
            Arrow("D", "sums"),
            Arrow("sums", "m", ("size", "vocabulary", "vote total")),
            Arrow("m", "M2"),
            Arrow("D", "M2"),
            Arrow("D", "B"),
            Arrow("M2", "Y"),
            Arrow("B", "Y"),
            Arrow("M2", "gaps"),
            Arrow("B", "gaps"),
            Arrow("gaps", "tests", ("size lower bound", "spectrum", "norm", "eigenvalue gap"), ("e9",)),
            Arrow("tests", "topics", allows=True),
            Arrow("Y", "topics", ("topics",), ("e9",)),
        ),
    ),
    "tensor-power": Graph(
        "tensor-power: noise on every step of the tensor power method and on the second moment",
        _moments("E₃(W, Wu, Wu)", "u, then λᵢ, vᵢ") | {"pairs": Node("all λᵢ, vᵢ", 1, 2, released=True)},
        (
            *_ASKED_FIRST,
            Arrow("E2", "W", ("moment",), ("e8",)),
            Arrow("D", "E3"),
            Arrow("W", "E3"),
            Arrow("E3", "T", ("tensor",), ("power",)),
            Arrow("T", "E3", text=f"{tensor_power.ITERATIONS + 1} times a topic", back=True),
            Arrow("T", "pairs"),
            *_UNWHITENED,
        ),
    ),
}


def write(folder: Path) -> None:
    """Write the figures into `folder`."""
    for name, graph in GRAPHS.items():
        check(name, graph)
        (folder / f"placement-{name}.svg").write_text(draw(graph), encoding="utf-8")


def check(name: str, graph: Graph) -> None:
    """Raise `ValueError` unless `graph` shows every question of the placement, its edges, and no way past the gate.

    Clips' thresholds are left out: each stage's clip is a noisy histogram of the same quantity.
    """
    placement = registry.find(name)
    plan = placement.plan(FitSettings.of(placement=name, topics=10))
    asked = {share.stage for share in plan if not share.stage.endswith(" clip")}
    drawn = [stage for arrow in graph.arrows for stage in arrow.stages]
    if sorted(drawn) != sorted(asked):
        raise ValueError(f"{name} asks {sorted(asked)}, and {sorted(drawn)} is drawn.")
    edges = {edge for arrow in graph.arrows for edge in arrow.edges}
    if edges != set(placement.split):
        raise ValueError(f"{name} has noise on {sorted(placement.split)}, and {sorted(edges)} is drawn.")
    for arrow in graph.arrows:
        outwards = not graph.nodes[arrow.source].released and graph.nodes[arrow.target].released
        if outwards != bool(arrow.stages):
            raise ValueError(f"the arrow from {arrow.source} to {arrow.target} of {name} must carry noise outwards.")


def draw(graph: Graph) -> str:
    """The picture as SVG."""
    width, height = graph.size
    edges = sorted({edge for arrow in graph.arrows for edge in arrow.edges})
    told = f"Noise on {', '.join(edges)}." if edges else "Noise on the answer to every question."
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="\'DejaVu Sans\', Verdana, Arial, sans-serif" font-size="12">',
        f"<title>{escape(graph.title)}</title><desc>{told} Private quantities stand left of the gate.</desc>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse" markerUnits="userSpaceOnUse">'
        f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{PAPER}"/>',
        *_gate(graph),
        *(part for arrow in graph.arrows for part in _arrow(graph, arrow)),
        *(part for name in graph.nodes for part in _box(graph.at(name), graph.nodes[name])),
        *(part for arrow in graph.arrows for part in _beside(graph, arrow)),
        *_legend(graph),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _gate(graph: Graph) -> Iterable[str]:
    x, (width, height) = graph.gate, graph.size
    yield _line([(x, 40), (x, height - LEGEND + 34)], f'stroke="{INK}" stroke-width="1.5" stroke-dasharray="2 5"')
    yield _text((x, 26), "the gate", weight="bold")
    yield _text((x / 2, 26), "private", colour=PRIVATE[1], weight="bold")
    yield _text(((x + width) / 2, 26), "released", colour=RELEASED[1], weight="bold")


def _box(at: tuple[float, float], node: Node) -> Iterable[str]:
    fill, border = RELEASED if node.released else PRIVATE
    x, y = at
    look = 'rx="12"' if node.released else 'stroke-dasharray="6 3"'
    yield (
        f'<rect x="{x - BOX / 2:g}" y="{y - HEIGHT / 2:g}" width="{BOX}" height="{HEIGHT}" {look} '
        f'fill="{fill}" stroke="{border}" stroke-width="1.5"/>'
    )
    lines = node.text.split("\n")
    for number, line in enumerate(lines):
        yield _text((x, y + 4 + 16 * (number - (len(lines) - 1) / 2)), line, rim=fill)


def _arrow(graph: Graph, arrow: Arrow) -> Iterable[str]:
    start, end = _ends(graph, arrow)
    look = f'stroke="{LINE}" stroke-width="1.3" fill="none" marker-end="url(#head)"'
    if arrow.stages:
        yield _line(_wave(start, end), f'stroke="{NOISE}" stroke-width="2.2" fill="none" marker-end="url(#head)"')
    elif arrow.back:
        low = start[1] + 22
        yield f'<path d="M{_point(start)}C{_point((start[0], low))} {_point((end[0], low))} {_point(end)}" {look}/>'
    else:
        yield _line([start, end], look + (' stroke-dasharray="5 4"' if arrow.allows else ""))


def _ends(graph: Graph, arrow: Arrow) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where an arrow leaves its source's border and meets its target's."""
    a, b = graph.at(arrow.source), graph.at(arrow.target)
    if arrow.back:
        return (a[0] - BOX / 4, a[1] + HEIGHT / 2), (b[0] + BOX / 4, b[1] + HEIGHT / 2 + 2)
    return _border(a, b, 0), _border(b, a, 2)


def _border(inside: tuple[float, float], towards: tuple[float, float], room: float) -> tuple[float, float]:
    dx, dy = towards[0] - inside[0], towards[1] - inside[1]
    reach = min((BOX / 2 + room) / abs(dx) if dx else math.inf, (HEIGHT / 2 + room) / abs(dy) if dy else math.inf)
    return inside[0] + reach * dx, inside[1] + reach * dy


def _wave(start: tuple[float, float], end: tuple[float, float]) -> list[tuple[float, float]]:
    """A sine between two points, with straight ends."""
    length = math.dist(start, end)
    along = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    first, last = 8.0, length - 14.0
    turns = max(1, round((last - first) / 16))
    points = [start]
    for step in range(8 * turns + 1):
        at = first + (last - first) * step / (8 * turns)
        high = 5 * math.sin(2 * math.pi * step / 8)
        points.append((start[0] + at * along[0] - high * along[1], start[1] + at * along[1] + high * along[0]))
    return [*points, end]


def _beside(graph: Graph, arrow: Arrow) -> Iterable[str]:
    """What is written at an arrow."""
    (x1, y1), (x2, y2) = _ends(graph, arrow)
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    if arrow.stages:
        named = f"{', '.join(arrow.edges)}: + N(0, ·)" if arrow.edges else "+ N(0, ·)"
        yield _text((graph.gate, y - 12), named, colour=NOISE, weight="bold")
        for number, line in enumerate(_wrapped(arrow.stages)):
            yield _text((graph.gate, y + 19 + 13 * number), line, size=10)
    elif arrow.text:
        at = (graph.gate, y + 30) if arrow.back else (x, y - 6)
        yield _text(at, arrow.text, size=10)


def _wrapped(stages: tuple[str, ...]) -> list[str]:
    """Names of stages in lines that fit between the columns."""
    lines = [""]
    for stage in stages:
        longer = f"{lines[-1]}, {stage}" if lines[-1] else stage
        lines = [*lines[:-1], longer] if len(longer) <= 22 else [*lines[:-1], lines[-1] + ",", stage]
    return lines


def _legend(graph: Graph) -> Iterable[str]:
    y = graph.size[1] - LEGEND + 56
    yield _line(_wave((24, y), (96, y)), f'stroke="{NOISE}" stroke-width="2.2" fill="none" marker-end="url(#head)"')
    yield _text((106, y + 4), "a question, answered with Gaussian noise and charged", anchor="start")
    yield _line([(24, y + 22), (94, y + 22)], f'stroke="{LINE}" stroke-width="1.3" marker-end="url(#head)"')
    yield _text((106, y + 26), "computed from (dashed: only if)", anchor="start")


def _line(points: list[tuple[float, float]], look: str) -> str:
    return f'<path d="M{"L".join(_point(point) for point in points)}" {look}/>'


def _point(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _text(
    at: tuple[float, float],
    text: str,
    colour: str = INK,
    size: int = 12,
    weight: str = "normal",
    anchor: str = "middle",
    rim: str = PAPER,
) -> str:
    """Text with a rim, so that lines behind it do not matter."""
    return (
        f'<text x="{at[0]:g}" y="{at[1]:g}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
        f'fill="{colour}" stroke="{rim}" stroke-width="3" paint-order="stroke" stroke-linejoin="round">'
        f"{escape(text)}</text>"
    )


if __name__ == "__main__":
    write(Path(__file__).parent)
