"""Fixtures of the tests of reports."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from dplda.report.pictures import Chart


@pytest.fixture
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with an empty picture for each chart, for tests of sentences. Most of a page's time is that of charts."""
    monkeypatch.setattr(Chart, "svg", lambda chart, name: Markup("<svg></svg>"))
