"""Run the games of an audit and compare the epsilon they show with the epsilon claimed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dplda.audit.bounds import Claim, Shown, show
from dplda.audit.games import Game
from dplda.mechanisms.noise import Noise
from dplda.progress import Progress


@dataclass(frozen=True)
class Finding:
    """The result of `runs` runs on each of two neighbouring corpora, beside what is claimed of `name`."""

    name: str
    runs: int
    claim: Claim
    shown: Shown

    @property
    def refuted(self) -> bool:
        """Whether the claim cannot be true, up to the confidence of the audit."""
        return self.shown.refutes(self.claim)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "name": self.name,
            "runs": self.runs,
            "claimed": asdict(self.claim),
            "shown": asdict(self.shown),
            "refuted": self.refuted,
        }


def play(
    games: Sequence[tuple[Game, int]], noise: Noise, progress: Progress, confidence: float = 0.95
) -> Iterator[Finding]:
    """Play each game so many times on either corpus; all bounds together hold with probability `confidence`."""
    for game, runs in games:
        claim = game.claim
        less, more = game.evidence(runs, noise, progress)
        yield Finding(game.name, runs, claim, show(less, more, claim, (1 - confidence) / len(games)))
