"""The page of `dplda ask`: each question in the user's words, and its answer."""

from __future__ import annotations

from pathlib import Path

from dplda.runs.questions import Findings


def write_answers(findings: Findings, path: str | Path) -> None:
    """Write the answers as one self-contained HTML page to `path`."""
    raise NotImplementedError
