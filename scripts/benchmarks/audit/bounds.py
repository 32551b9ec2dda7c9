"""The whole audit: the product, the product broken on purpose, and the published calibration.

Every bound has 95 % confidence of its own. Noise is exact where the table says so, else simulated from a seed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.audit import counterexample
from benchmarks.audit.broken import BROKEN
from benchmarks.results import Record
from dplda.audit import catalogue
from dplda.audit.bounds import lower_bounds
from dplda.audit.catalogue import mechanism_games
from dplda.audit.games import Finding, Game, noise_of, play
from dplda.base.config import ADJACENCIES, PrivacySettings
from dplda.base.progress import NoProgress

RUNS = {1.0: 10_000, 8.0: 3_000}  # of a mechanism, on either corpus
PLACEMENT_RUNS = 300
EXACT_RUNS = 1_000
PRINTED = ("config2", "config3", "config4")
PRINTED_EPSILON, PRINTED_DELTA, PRINTED_DOCUMENTS, PRINTED_RUNS = 2.0, 1e-6, 10**6, 500
LEVEL = 0.05

Done = Callable[[Record], bool]
KEY = ("kind", "what", "name", "epsilon", "adjacency", "noise")


def measure(path: Path, part: str | None, scale: float) -> None:
    """Play what is missing in the results at `path`, `scale` times as often, and append what it shows."""
    done = [tuple(record[name] for name in KEY) for record in records(path)]
    for key, finding in wanted(scale, part, done):
        record = key | finding.to_json()
        results.append(path, record | {"claimed": record["claimed"] | {"mu": min(finding.claim.mu, 1e9)}})
        print(f"{' '.join(map(str, key.values()))}: {finding.shown}", file=sys.stderr, flush=True)


def records(path: Path) -> list[Record]:
    """What has been played so far; of the same game, the last time."""
    return list({tuple(record[name] for name in KEY): record for record in results.read(path)}.values())


def wanted(scale: float, part: str | None, done: list[tuple[Any, ...]]) -> Iterator[tuple[Record, Finding]]:
    """Everything that is not `done`, one finding after the other."""
    parts = {"mechanisms": _mechanisms, "placements": _placements, "broken": _broken, "published": _published}
    for name, find in parts.items():
        if part in (None, name):
            yield from find(scale, lambda key: tuple(key[name] for name in KEY) in done)


def _key(kind: str, what: str, name: str, epsilon: float, adjacency: str, noise: str) -> Record:
    return dict(zip(KEY, (kind, what, name, epsilon, adjacency, noise), strict=True))


def _played(game: Game, runs: float, noise: str) -> Finding:
    (finding,) = play([(game, int(runs))], noise_of(None if noise == "exact" else 0), NoProgress(), 1 - LEVEL)
    return finding


def _mechanisms(scale: float, done: Done) -> Iterator[tuple[Record, Finding]]:
    cells = [(8.0, adjacency, "simulated") for adjacency in ADJACENCIES]
    for epsilon, adjacency, noise in [*cells, (8.0, "add-remove", "exact"), (1.0, "add-remove", "simulated")]:
        for game in mechanism_games(PrivacySettings(epsilon=epsilon, adjacency=adjacency)):
            key = _key("mechanism", "product", game.name, epsilon, adjacency, noise)
            if not done(key):
                yield key, _played(game, scale * (EXACT_RUNS if noise == "exact" else RUNS[epsilon]), noise)


def _placements(scale: float, done: Done) -> Iterator[tuple[Record, Finding]]:
    for adjacency in ADJACENCIES:
        for name in catalogue.PLACEMENT_RUNS:
            key = _key("placement", "product", name, 8.0, adjacency, "simulated")
            if not done(key):
                game = catalogue.placement_game(name, PrivacySettings(epsilon=8.0, adjacency=adjacency))
                yield key, _played(game, scale * PLACEMENT_RUNS, "simulated")


def _broken(scale: float, done: Done) -> Iterator[tuple[Record, Finding]]:
    for what, broken, make in BROKEN:
        game = make(8.0)
        runs = PLACEMENT_RUNS if game.name.startswith("placement") else RUNS[8.0]
        key = _key("broken", what, game.name, 8.0, game.neighbours.adjacency, "simulated")
        if not done(key):
            with broken():
                found = _played(game, scale * runs, "simulated")
            yield key, found


def _published(scale: float, done: Done) -> Iterator[tuple[Record, Finding]]:
    claim, runs = counterexample.claim(PRINTED_EPSILON, PRINTED_DELTA), int(scale * PRINTED_RUNS)
    for name in PRINTED:
        key = _key("published", "printed noise", name, PRINTED_EPSILON, "replace", "simulated")
        if not done(key):
            found = counterexample.evidence(name, PRINTED_EPSILON, PRINTED_DELTA, PRINTED_DOCUMENTS, runs, seed=0)
            yield key, Finding(name, runs, claim, lower_bounds(*found, claim, LEVEL))
