#!/usr/bin/env python
"""Draw the folders of the code in the layers that `lint-imports` enforces, as rooms.svg beside this file."""

from __future__ import annotations

import re
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH, ROW, GAP, LEFT = 860, 50, 8, 20
INK, LINE = "#222222", "#555555"
FILLS = {"private": "#F6DDC0", "released": "#D9EAF8", "side": "#E8D5E8", "plain": "#F3F3F3"}
KINDS = {
    "private": "sees private counts, and releases noisy sums of them through the gate",
    "released": "does not see private counts",
    "side": "loaded by its own commands only",
    "plain": "public, or text of single documents",
}
PRIVATE, SIDE, PLAIN = ("private",), ("audit", "papers"), ("base", "text", "budget")


def layers() -> list[list[str]]:
    """The rooms of each layer, the highest layer first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (contract,) = [c for c in contracts if c["type"] == "layers" and "containers" not in c]
    return [re.findall(r"dplda\.([a-z_]+)", layer) for layer in contract["layers"]]


def draw() -> str:
    """The picture as SVG."""
    rows = layers()
    height = len(rows) * ROW + 3 * ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" font-family="system-ui, sans-serif" font-size="14" fill="{INK}">',
        "<title>The folders of dplda in layers: each imports from the layers below it only</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, rooms in enumerate(rows):
        width = (WIDTH - 2 * LEFT - GAP * (len(rooms) - 1)) / len(rooms)
        for place, room in enumerate(rooms):
            parts += _box(LEFT + place * (width + GAP), GAP + number * ROW, width, room)
    for number, (kind, text) in enumerate(KINDS.items()):
        x, y = LEFT + number % 2 * WIDTH / 2, len(rows) * ROW + 28 + number // 2 * 30
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="22" height="16" fill="{FILLS[kind]}" stroke="{LINE}"/>')
        parts.append(f'<text x="{x + 30:g}" y="{y + 13:g}">{escape(text)}</text>')
    note = "Each folder imports from the rows below it only."
    parts.append(f'<text x="{LEFT}" y="{height - 24}" font-size="12">{escape(note)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _box(x: float, y: float, width: float, room: str) -> list[str]:
    kinds = {**dict.fromkeys(PRIVATE, "private"), **dict.fromkeys(SIDE, "side"), **dict.fromkeys(PLAIN, "plain")}
    kind = kinds.get(room, "released")
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{ROW - GAP}" rx="4" '
        f'fill="{FILLS[kind]}" stroke="{LINE}"/>',
        f'<text x="{x + width / 2:g}" y="{y + 26:g}" text-anchor="middle">{escape(room)}</text>',
    ]


if __name__ == "__main__":
    Path(__file__).with_name("rooms.svg").write_text(draw(), "utf-8")
