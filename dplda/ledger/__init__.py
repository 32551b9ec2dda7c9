"""The ledger: grants, reservations and filters for each dataset, with a tamper-evident record of all changes."""

from dplda.ledger.comparisons import ComparisonLog
from dplda.ledger.integrity import Verification
from dplda.ledger.ledger import Ledger, new_name
from dplda.ledger.ledger_records import DatasetRecord, Grant, Guarantee, HistoryRecord, PlannedEvent, Quote, RunRecord
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
    "Verification",
    "new_name",
]
