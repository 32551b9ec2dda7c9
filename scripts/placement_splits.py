#!/usr/bin/env python
"""How a placement's budget is best parted between the tensor and the second moment, measured on planted topics.

    python scripts/placement_splits.py --synthetic 50000,200,5 --epsilons 1,4 --repeats 5

Prints the mean matched l1 error for each part of the budget (of mu^2) that the tensor's edge gets, the rest going to
the second moment, beside the placement's own part and the part with the least bound by the paper. The paper parts
epsilon, so that its noise goes with 1 / part: a part of mu^2 with the same noise is its square. Noise is simulated.
"""

from __future__ import annotations

import argparse
import math

import dplda
from dplda.comparison.public import Truth, planted
from dplda.errors import UnsupportedByData
from dplda.placements import registry, utility
from dplda.placements.published_noise import EDGES, Quantities

DELTA = 1e-6
PLACEMENTS = ("config1", "config2", "config3", "tensor-power")  # those with a choice
MOMENT = ("e4", "e8")  # edges of the second moment; the other one is the tensor's
PARTS = (0.1, 0.3, 0.5, 0.7, 0.9)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synthetic", required=True, metavar="N,D,K[,LENGTH]")
    parser.add_argument("--placements", nargs="+", choices=PLACEMENTS, default=PLACEMENTS)
    parser.add_argument("--epsilons", default="1,4")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    documents, words, topics, *length = (int(number) for number in options.synthetic.split(","))
    corpus, truth = planted(documents, words, topics, length[0] if length else 100, 1.0, seed=0)
    names = [f"w{i}" for i in range(words)]
    print(f"| placement | ε | {' | '.join(f'{part:g}' for part in PARTS)} | its own | paper's bound |")
    print("|---" * (4 + len(PARTS)) + "|")
    for placement in options.placements:
        for epsilon in (float(number) for number in options.epsilons.split(",")):
            common = {"n_topics": topics, "epsilon": epsilon, "delta": DELTA, "vocabulary": names}
            errors = [
                mean_error(corpus, truth, placement, part, options.repeats, common | {"ledger": False})
                for part in PARTS
            ]
            own = own_part(placement)
            bound = best_part(placement, utility.planted(documents, words, topics), epsilon)
            print(f"| {placement} | {epsilon:g} | {' | '.join(errors)} | {own:g} | {bound} |", flush=True)


def split(placement: str, part: float) -> dict[str, float]:
    """The placement's edges with this `part` for the tensor's; the rest is shared evenly."""
    edges = registry.find(placement, registry.SOUND).split
    rest = [edge for edge in edges if edge in MOMENT]
    return {edge: (1 - part) / len(rest) if edge in rest else part for edge in edges}


def own_part(placement: str) -> float:
    """What the placement's own split gives the tensor's edge."""
    return math.fsum(p for edge, p in registry.find(placement, registry.SOUND).split.items() if edge not in MOMENT)


def best_part(placement: str, quantities: Quantities, epsilon: float) -> str:
    """The tensor's part, of the squares, in the split with the least bound; none for what the paper does not have."""
    if placement not in EDGES:
        return "none"
    squares = {edge: part**2 for edge, part in utility.best_split(placement, quantities, epsilon, DELTA).items()}
    tensor = math.fsum(square for edge, square in squares.items() if edge not in MOMENT)
    return f"{tensor / math.fsum(squares.values()):.2f}"


def mean_error(corpus: dplda.Corpus, truth: Truth, placement: str, part: float, repeats: int, common: dict) -> str:
    """Mean over the runs that end with topics, and how many do not."""
    errors = []
    for seed in range(repeats):
        try:
            model = dplda.fit(corpus, placement=placement, split=split(placement, part), simulate_seed=seed, **common)
        except UnsupportedByData:
            continue
        errors.append(truth.measure(model)["error"])
    if not errors:
        return "no topics"
    missing = f" ({repeats - len(errors)} of {repeats}: no topics)" if len(errors) < repeats else ""
    return f"{math.fsum(errors) / len(errors):.3f}{missing}"


if __name__ == "__main__":
    main()
