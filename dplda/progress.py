"""Progress-reporting protocol. A reporter is passed in, never global."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives stage names and amounts of work. Amounts may depend on private counts: they stay on the screen."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin `stage`, of `total` units of work if known; ends the stage before."""

    def advance(self, amount: int = 1) -> None:
        """Report `amount` more units of work done."""


class NoProgress:
    """A reporter that does nothing."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Ignore."""

    def advance(self, amount: int = 1) -> None:
        """Ignore."""
