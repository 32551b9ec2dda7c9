"""Budgets: planned events and their accounting, and the ledger of grants, reservations and runs of each dataset."""

from typing import TYPE_CHECKING

from dplda.base.lazy import lazy

if TYPE_CHECKING:
    from dplda.budget.comparisons import ComparisonLog
    from dplda.budget.guarantees import Grant, Guarantee
    from dplda.budget.ledger import Ledger, new_name
    from dplda.budget.ledger_records import (
        DatasetRecord,
        HistoryRecord,
        PlannedEvent,
        RunRecord,
        Status,
    )
    from dplda.budget.quotes import Quote
    from dplda.budget.reservation import Reservation
    from dplda.budget.schema import Verification

__all__ = [
    "ComparisonLog",
    "DatasetRecord",
    "Grant",
    "Guarantee",
    "HistoryRecord",
    "Ledger",
    "PlannedEvent",
    "Quote",
    "Reservation",
    "RunRecord",
    "Status",
    "Verification",
    "new_name",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "ComparisonLog": "comparisons",
        "DatasetRecord": "ledger_records",
        "Grant": "guarantees",
        "Guarantee": "guarantees",
        "HistoryRecord": "ledger_records",
        "Ledger": "ledger",
        "PlannedEvent": "ledger_records",
        "Quote": "quotes",
        "Reservation": "reservation",
        "RunRecord": "ledger_records",
        "Status": "ledger_records",
        "Verification": "schema",
        "new_name": "ledger",
    },
)
