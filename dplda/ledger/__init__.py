"""What every dataset may spend and has spent: reservations, filters and an intact record of both."""

from dplda.ledger.integrity import Verification
from dplda.ledger.ledger import Ledger
from dplda.ledger.records import DatasetRecord, Grant, HistoryRecord, PlannedEvent, RunRecord
from dplda.ledger.reservation import Reservation

__all__ = [
    "DatasetRecord",
    "Grant",
    "HistoryRecord",
    "Ledger",
    "PlannedEvent",
    "Reservation",
    "RunRecord",
    "Verification",
]
