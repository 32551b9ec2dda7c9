"""The ledger: grants, reservations and filters of datasets, in a tamper-evident record."""

from dplda.ledger.comparisons import ComparisonLog
from dplda.ledger.grants import Grant, Guarantee
from dplda.ledger.integrity import Verification
from dplda.ledger.ledger import Ledger, new_name
from dplda.ledger.ledger_records import (
    DatasetRecord,
    HistoryRecord,
    PlannedEvent,
    Quote,
    RunRecord,
    Status,
)
from dplda.ledger.reservation import Reservation

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
