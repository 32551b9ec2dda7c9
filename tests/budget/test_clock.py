"""What the clock says is shown and nothing else: the order of things is by number."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_helpers import WHOLE, gaussian, spend

from dplda.base.errors import BudgetRefused
from dplda.budget import Ledger, ledger

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RUN_ID = re.compile(r"reviews-[a-z2-7]{8}")


def told(path, hours: list[int], monkeypatch) -> object:
    """What a ledger says of grants and runs made at these hours from noon, run ids and times left out."""
    times = iter(hours)
    monkeypatch.setattr(ledger, "_now", lambda: (NOON + timedelta(hours=next(times, 0))).isoformat())
    kept = Ledger(path)
    kept.grant("reviews", 20.0, 1e-5)
    for number in range(3):
        spend(kept, events=[gaussian(mu_squared=0.4 * WHOLE)])
        kept.grant("reviews", (10.0, 30.0, 5.0)[number], 1e-5)
    with pytest.raises(BudgetRefused) as refusal:
        spend(kept, events=[gaussian(mu_squared=0.1 * WHOLE)])
    record, history = kept.dataset("reviews"), kept.history("reviews")
    assert kept.verify().ok
    texts = [RUN_ID.sub("run", line.text) for line in history]
    return record.spent, record.guaranteed.epsilon, record.remaining, texts, str(refusal.value)


@pytest.mark.full
@settings(max_examples=8)  # every change is forced to disk
@given(hours=st.lists(st.integers(-(10**6), 10**6), min_size=12, max_size=12))
def test_a_clock_moved_back_changes_nothing_but_the_times_shown(tmp_path_factory, hours):
    with pytest.MonkeyPatch.context() as monkeypatch:
        folder = tmp_path_factory.mktemp("clock")
        steady = told(folder / "steady.db", list(range(12)), monkeypatch)
        assert told(folder / "moved.db", hours, monkeypatch) == steady
