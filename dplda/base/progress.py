"""Progress-reporting protocol. Reporters are passed as arguments, never global."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives stage names and amounts of work. Amounts may depend on private counts: show them on screen only."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin `stage`, of `total` units of work if known; ends the previous stage."""

    def advance(self, amount: int = 1) -> None:
        """Report `amount` more units of finished work."""

    def estimate(self, share: float) -> None:
        """Report that about this share of the stage is finished, in [0, 1]; for stages without a `total`."""


class NoProgress:
    """A reporter that does nothing."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Ignore."""

    def advance(self, amount: int = 1) -> None:
        """Ignore."""

    def estimate(self, share: float) -> None:
        """Ignore."""
