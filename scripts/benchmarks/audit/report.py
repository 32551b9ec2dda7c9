"""The tables and the figure of docs/audit.md, from what the audit found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import picture
from benchmarks.results import Record
from benchmarks.tables import markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFINITION, GAUSSIAN, BEYOND = "#0072B2", "#117733", "#D55E00"  # told apart by the colour-blind, and by shape


def audit(found: Sequence[Record], folder: Path) -> None:
    """Print the tables and draw what was shown at epsilon 8, and of the published calibration."""
    for epsilon in dict.fromkeys(r["epsilon"] for r in found if r["what"] == "product"):
        print(f"\n**The product, epsilon {epsilon:g}**\n")
        print(_product([r for r in found if (r["what"], r["epsilon"]) == ("product", epsilon)]))
    print("\n**Broken**\n")
    columns = ("what", "seen in", "adjacency", "runs", "claimed", "by the definition", "if Gaussian", "")
    print(markdown(columns, [_row(r) for r in found if r["what"] != "product"]))
    _draw(found, folder / "audit-bounds.svg")


def _product(found: Sequence[Record]) -> str:
    """A row for each game, a column for each adjacency and noise: by the definition / if Gaussian."""
    cells = list(dict.fromkeys((r["adjacency"], r["noise"]) for r in found))
    shown = {(r["name"], r["adjacency"], r["noise"]): r for r in found}
    names = dict.fromkeys(r["name"] for r in found)
    rows = [(name, *(_both(shown.get((name, *cell))) for cell in cells)) for name in names]
    return markdown(("audited", *(", ".join(cell) for cell in cells)), rows)


def _both(record: Record | None) -> str:
    if record is None:
        return ""
    shown, claimed = record["shown"], record["claimed"]["epsilon"]
    refuted = ", **refuted**" if record["refuted"] else ""
    return f"{shown['epsilon']:.2f} / {shown['gaussian']:.2f} ({shown['gaussian'] / claimed:.0%}){refuted}"


def _row(record: Record) -> tuple[str, ...]:
    shown, published = record["shown"], record["kind"] == "published"
    return (
        record["what"],
        record["name"],
        record["adjacency"],
        f"2 × {record['runs']:,}",
        f"{record['claimed']['epsilon']:.2f}",
        f"{shown['epsilon']:.2f}",
        "–" if published else f"{shown['gaussian']:.2f}",
        "**refuted**" if record["refuted"] else "not refuted",
    )


def _draw(found: Sequence[Record], path: Path) -> None:
    shown = 8.0, "add-remove", "simulated", "product"
    sound = [r for r in found if (r["epsilon"], r["adjacency"], r["noise"], r["what"]) == shown]
    broken = [r for r in found if r["kind"] in ("broken", "published")]
    with picture(path, 7.2, 0.23 * (len(sound) + len(broken)) + 1.6) as figure:
        axes = figure.subplots(2, 1, height_ratios=[len(sound), len(broken)], sharex=True)
        _dots(axes[0], sound, "The product")
        _dots(axes[1], broken, "Broken on purpose, and the noise that the paper prints")
        axes[1].set_xlabel("lower bound on ε, over the ε that is claimed")
        axes[0].legend(frameon=False, fontsize=8, loc="lower right")


def _dots(ax: Axes, found: Sequence[Record], title: str) -> None:
    places = np.arange(len(found))[::-1]
    claimed = np.array([r["claimed"]["epsilon"] for r in found])
    ax.axvline(1.0, color=BEYOND, linewidth=1.2)
    ax.plot(
        [r["shown"]["epsilon"] for r in found] / claimed, places, "o", color=DEFINITION, label="by the definition alone"
    )
    gaussian = [np.nan if r["kind"] == "published" else r["shown"]["gaussian"] for r in found]
    ax.plot(gaussian / claimed, places, "D", color=GAUSSIAN, markerfacecolor="none", label="if Gaussian as claimed")
    names = [r["name"] if r["what"] == "product" else f"{r['name']}: {r['what']}" for r in found]
    ax.set_yticks(places, names, fontsize=7.5)
    ax.set_xscale("symlog", linthresh=1.0, linscale=1.5)
    ax.set_xlim(left=-0.02)
    ax.set_xticks([0, 0.5, 1, 2, 4, 8], ["0", "0.5", "1", "2", "4", "8"])
    ax.set_title(title, fontsize=9, loc="left")
