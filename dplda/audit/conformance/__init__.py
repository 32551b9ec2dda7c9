"""The rules that a budget ledger must keep, as a suite of tests for any ledger (docs/ledger-conformance.md).

An adapter (`BudgetLedger`) lets the suite grant, reserve, charge and finish. `check`, and the command
``python -m dplda.audit.conformance MODULE:FACTORY``, report for each rule whether the ledger keeps it.
"""

from dplda.audit.conformance.interface import BudgetLedger, Factory, Feature, Handle, Measure, Request
from dplda.audit.conformance.suite import RULES, Outcome, Result, check

__all__ = [
    "RULES",
    "BudgetLedger",
    "Factory",
    "Feature",
    "Handle",
    "Measure",
    "Outcome",
    "Request",
    "Result",
    "check",
]
