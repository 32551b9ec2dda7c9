"""Progress-reporting protocol. Reporters are passed as arguments, never global.

`following` chooses a reporter where the caller gave none: a bar in a notebook, nothing elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from typing import Any, Protocol
from uuid import uuid4

_STEPS = 20  # of a bar in a notebook
_BAR = (
    '<div style="display: flex; gap: 0.8rem; align-items: center; font: 14px system-ui, sans-serif">'
    '<span style="min-width: 12rem">{stage} …</span>'
    '<span style="width: 16rem; height: 0.6rem; border-radius: 0.1rem; background: rgba(128, 128, 128, 0.3)">'
    '<span style="display: block; width: {percent}%; height: 100%; border-radius: 0.1rem; background: #3d8fc9"></span>'
    "</span></div>"
)


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


class _NotebookBar:
    """One line below a cell: the current stage and how much of it is done, in steps of a twentieth.

    Notebooks keep what cells show. Amounts and times may depend on private counts, so that neither is shown, and
    `close` empties the line.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._line = uuid4().hex
        self._shown = False
        self._stage, self._total, self._done, self._step = "", 0, 0, 0

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin `stage`, of `total` units of work if known; ends the previous stage."""
        self._stage, self._total, self._done, self._step = stage, total or 0, 0, 0
        self._show()

    def advance(self, amount: int = 1) -> None:
        """Report `amount` more units of finished work."""
        self._done += amount
        if self._total:
            self._reach(self._done / self._total)

    def estimate(self, share: float) -> None:
        """Report that about this share of the stage is finished; for a stage whose total is unknown."""
        if not self._total:
            self._reach(share)

    def close(self) -> None:
        """Empty the line."""
        self._stage = ""
        if self._shown:
            self._show()

    def _reach(self, share: float) -> None:
        step = min(int(_STEPS * share), _STEPS)
        if step != self._step:
            self._step = step
            self._show()

    def _show(self) -> None:
        page = _BAR.format(stage=escape(self._stage), percent=100 * self._step // _STEPS) if self._stage else ""
        shown = {"text/html": page, "text/plain": f"{self._stage} ..." if self._stage else ""}
        with suppress(Exception):  # a run that has spent budget must not end because its bar cannot be shown
            self._shell.display_pub.publish(shown, transient={"display_id": self._line}, update=self._shown)
            self._shown = True


@contextmanager
def following(progress: Progress | None) -> Iterator[Progress]:
    """Yield `progress`; if it is None, a bar in a notebook, which goes at the end, and `NoProgress` elsewhere."""
    shell = _kernel_shell() if progress is None else None
    if shell is None:
        yield progress or NoProgress()
        return
    bar = _NotebookBar(shell)
    try:
        yield bar
    finally:
        bar.close()


def _kernel_shell() -> Any:
    """Return IPython's shell if this code runs in a notebook's kernel; otherwise None. Nothing is imported."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if hasattr(shell, "kernel") else None
