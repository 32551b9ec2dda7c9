"""What a planned run would cost, before it."""

from __future__ import annotations

from dplda.budget import Ledger, Quote
from dplda.runs.recording import Planned


def quote(plan: Planned, ledger: Ledger) -> Quote:
    """The cost of the run of this `plan`. Raises `BudgetRefused` if the budget does not allow it."""
    return ledger.quote(
        dataset=plan.dataset,
        unit=plan.corpus.unit,
        adjacency=plan.privacy.adjacency,
        delta=plan.privacy.delta,
        plans=[plan.events],
        sound=not plan.reason,
        batch=plan.batch,
        id_field=plan.id_field,
        parameters=plan.parameters(),
    )
