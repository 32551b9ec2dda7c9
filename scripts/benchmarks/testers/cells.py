"""A cell of the table of testers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.results import Record


@dataclass(frozen=True)
class Cell:
    """What a `tester` is `fed` with, the `claim`, and the function that finds the rest of the record."""

    tester: str
    fed: str
    claim: str
    find: Callable[[], Record]

    @property
    def key(self) -> Record:
        """What is known before anything is computed."""
        return {"tester": self.tester, "fed": self.fed, "claim": self.claim}
