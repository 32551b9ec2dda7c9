"""The ledger: grants, reservations and filters of datasets, in a tamper-evident record."""

from dplda.budget.comparisons import ComparisonLog
from dplda.budget.grants import Grant, Guarantee
from dplda.budget.integrity import Verification
from dplda.budget.ledger import Ledger, new_name
from dplda.budget.ledger_records import DatasetRecord, HistoryRecord, PlannedEvent, Quote, RunRecord, Status
from dplda.budget.reservation import Reservation

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
