"""Two and twenty fits at once, on one dataset or on the same documents under many names: never more than the grant."""

from __future__ import annotations

from pathlib import Path

import killing
import pytest

import dplda
from dplda.base.config import DEFAULT_GRANT
from dplda.budget.accountant import capacity, cost

SCRIPT = Path(__file__).parent / "helpers" / "many_fits.py"


@pytest.mark.full
@pytest.mark.parametrize(
    ("fits", "names"),
    [(2, "reviews"), *(pytest.param(20, names, marks=pytest.mark.slow) for names in ("reviews", "a,b,c,d,e"))],
)
def test_fits_at_once_never_exceed_the_grant_together(tmp_path, fits, names):
    (exits,) = killing.killed(SCRIPT, tmp_path, str(fits), names)
    ledger = dplda.Ledger(tmp_path / "ledger.db")
    assert ledger.verify().ok
    assert set(exits) <= {"done", "BudgetRefused"}
    done = [run for run in ledger.runs() if run.status == "done"]
    assert len(done) == exits.count("done")
    assert sum((cost(run.counted) for run in done), start=cost([])).fits(capacity(*DEFAULT_GRANT))
    for dataset in ledger.datasets():
        assert dataset.spent.fits(dataset.grant.capacity)
    if names == "reviews":
        assert len(done) == min(fits, sum_that_fit(done[0]))
    assert all(run.status in ("done", "refused") for run in ledger.runs())


def sum_that_fit(run) -> int:
    """How many runs of this cost fit into the first grant."""
    return int(capacity(*DEFAULT_GRANT).mu_squared / run.cost.mu_squared)
